/* SPDX-License-Identifier: Apache-2.0
 * The command kfuse, in which each group that is decided is held against the legality test (shadow.h): linked with
 * --wrap=group_decide. */
#include "tests/fusion/shadow.h"

struct group *__real_group_decide(struct memo *memo, const struct bound_launch *members,
                                  uint32_t member_count);
struct group *__wrap_group_decide(struct memo *memo, const struct bound_launch *members,
                                  uint32_t member_count);

struct group *__wrap_group_decide(struct memo *memo, const struct bound_launch *members,
                                  uint32_t member_count)
{
    struct group *group = __real_group_decide(memo, members, member_count);
    if (group) shadow_group(memo, members, member_count, group);
    return group;
}
