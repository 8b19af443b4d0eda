/* SPDX-License-Identifier: Apache-2.0
 * What the search wants to know of members as a group, in bytes, so that a worker can tell it (ahead.h): the
 * group itself is decided again where it is needed, which is for those alone that are chosen. */
#ifndef KFUSE_FUSER_PLANNER_VERDICT_H
#define KFUSE_FUSER_PLANNER_VERDICT_H

#include "fuser/fusion/rename.h"
#include "fuser/planner/profit.h"

#include <uthash.h>

struct verdict {
    struct hash128 key; /* pairs_key of the members, and dead_stores_name */
    UT_hash_handle hh;
    const char *refusal;   /* NULL: legal */
    uint32_t refused_from; /* as group's */
    enum group_kind kind;
    bool has_stages, may_save_more; /* with fewer members */
    bool has_repeats;               /* some thread runs several of a member's: with fewer members none may */
    uint32_t rename_count;
    struct group_rename renames[RENAME_MOST]; /* bytes and is_partial alone */
    double saved_ns;                          /* profit_saved_ns, and the next */
    double dead_ns;                           /* dead_stores.h */
    struct projected projected;               /* without what copying costs */
};

/* Of the planned group's members. Owned by the search; NULL when memory is out, or time is over. */
const struct verdict *verdict_of(struct search *search, const struct search_group *planned);
/* As profit_copying_ns. */
double verdict_copying_ns(const struct search *search, const struct verdict *verdict,
                          const struct profit_copies *copies);
/* Sets planned->group, whose verdict is that it is legal. False when memory is out, or time is over. */
bool verdict_carry_out(struct search *search, struct search_group *planned);

#endif
