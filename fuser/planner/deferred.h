/* SPDX-License-Identifier: Apache-2.0
 * Which groups leave which ranges stale (doc/fusion.md; fuser/fusion/stale.h). What can be left is played
 * through the recorded program as replay would do it. A use makes a deferred store. A later use that writes
 * the same ranges, or a launch alone that does (overwrites.h), or their free, drops it; whoever else may touch them, or
 * overwrites what their rematerialisation reads, has it materialised. A range that is wanted too often is
 * stored after all, or the part of it that the next use leaves out (stale_narrow). Launches in between that belong to no group are *bystanders*: the plan lists what they
 * touch and overwrite, so that replay knows what they mean to deferred stores. Not where the program uses more than the
 * default stream: see interpose/deferred.h. */
#ifndef KFUSE_FUSER_PLANNER_DEFERRED_H
#define KFUSE_FUSER_PLANNER_DEFERRED_H

#include "fuser/fusion/stale.h"
#include "fuser/planner/search.h"

struct search_deferred {
    struct stale stale;
    struct group *group; /* without the stores */
    struct codegen_result code;
    struct projected projected;       /* of one use, rematerialisations included */
    uint64_t deferrals, materialised; /* in the recorded program */
    uint32_t wanted[STALE_MOST];
    uint32_t
        spoiler; /* the launch that has last overwritten what the rematerialisation reads, or DEFERRED_NONE */
    uint32_t prefix, prefix_at; /* launches from there to the next use, in one window, at most; that use */
    bool prefix_is_tried;
    /* By range: what is left stale of it and overwritten by all that overwrite some; width 0: it is not known that they do. */
    struct group_box overwritten[STALE_MOST];
    uint32_t narrowed[STALE_MOST]; /* so often */
};
enum { DEFERRED_NONE = UINT32_MAX };

/* Sets search_group.deferred of kept groups, with code, and search.bystanders. False when memory is out. */
bool deferred_choose(struct search *search);
void deferred_free(struct search *search);

/* deferred_prefix.c: moves uses of the group to one that has deferred->prefix launches more before it. False
 * when memory is out. */
bool deferred_prefix(struct search *search, struct search_group *group, bool *has_moved);

#endif
