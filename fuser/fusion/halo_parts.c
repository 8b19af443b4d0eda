/* SPDX-License-Identifier: Apache-2.0
 * See halo_parts.h. */
#include "fuser/fusion/halo_parts.h"

#include <stdio.h>

bool halo_refuse(struct halo *halo, const struct placed_access *a, const struct placed_access *b,
                 const char *why)
{
    const struct access_summary *p = halo_summary(halo, a->member), *q = halo_summary(halo, b->member);
    struct placement_failure *failure = halo->failure;
    if (quota_is_used_up(halo->space->ctx)) return false; /* nothing is known of them */
    if (!failure->reason[0]) {
        failure->last = a->member > b->member ? a->member : b->member;
        snprintf(failure->reason, sizeof failure->reason, "kernel %s line %u and kernel %s line %u: %s",
                 p->function->name, a->access->line, q->function->name, b->access->line, why);
    }
    if (failure->hazard_count < PLACEMENT_HAZARDS_MOST)
        failure->hazards[failure->hazard_count++] =
            (struct placement_hazard){a->member, b->member, a->index, b->index};
    else
        failure->has_more = true;
    return false;
}
