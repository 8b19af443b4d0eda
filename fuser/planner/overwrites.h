/* SPDX-License-Identifier: Apache-2.0
 * What a use of a group, or a launch alone, overwrites (doc/fusion.md, deferred stores): ranges of bytes that it writes whatever the
 * data, and before any of its launches reads one of them. So nobody wants what an earlier use has left stale there. They are
 *  - the ranges that the group may leave stale itself (stale.h), whether it does or not: what reads them has it from its own stores;
 *  - boxes that one launch writes through one pointer, while neither it nor a launch before it, in the order of the program, reads
 *    any of their range. What launches behind it read there, it has written.
 * None where a launch that is passed over is not known whole, and no range that the group renames: its new contents lie elsewhere. */
#ifndef KFUSE_FUSER_PLANNER_OVERWRITES_H
#define KFUSE_FUSER_PLANNER_OVERWRITES_H

#include "fuser/access/array_range.h"
#include "fuser/planner/search.h"

enum {
    OVERWRITES_MOST = 32,             /* ranges of a use */
    OVERWRITES_NOT_STALE = UINT32_MAX /* it is no range that the group may leave stale */
};
struct overwrite {
    uint32_t step, argument_offset; /* the pointer: a word of the step's */
    int64_t from;                   /* the range's first byte, seen from that pointer */
    uint64_t bytes;
    struct group_box written; /* counted from the range's first byte; width 0: it is no box */
    bool is_complete;         /* every byte of the range */
    bool is_used;             /* something was stale there, in the recorded program */
    uint32_t stale;           /* its number among the group's stale ranges, or OVERWRITES_NOT_STALE */
};
struct overwrites {
    struct overwrite items[OVERWRITES_MOST];
    uint32_t count;
};
/* Range `by` of a use of one group (or bystander) overwrites what range `of` of another leaves stale, which begins so many bytes
 * behind it. */
struct search_cover {
    const struct search_group *by_group, *of_group;
    uint32_t by, of;
    int64_t distance;
};
/* A range of a use of the group that is stale, and where. */
struct overwrites_stale {
    const struct search_group *group; /* has a deferring form */
    uint32_t index;
    struct array_range range;
};

/* The use of the group that begins with this launch writes all of it, reading nothing of it before. What plan and replay need to know
 * for this is noted in search->covers, and what is overwritten in part in the group's search_deferred. Nothing is overwritten when
 * memory is out. */
bool overwrites_meet(struct search *search, struct search_group *by, uint32_t first,
                     const struct overwrites_stale *stale);

#endif
