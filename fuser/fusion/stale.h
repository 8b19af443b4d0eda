/* SPDX-License-Identifier: Apache-2.0
 * Deferred stores (doc/fusion.md): ranges that a fused kernel may leave stale, since nothing in the group
 * loads them from memory, and how they are made again if somebody wants them after all: by the
 * rematerialisation, the members that write them, launched as the program launched them.
 *
 * The unit is a range of an array (array_range.h). The rules:
 * 1. No member has atomics. Each base of the range is a pointer among the arguments and has a hull.
 * 2. The range's stores are known exactly and could be left out each (forward.h, drops); so every use of the
 * group with these arguments writes the same bytes.
 * 3. Members load some of it, and none takes it from memory: it has its value in a register or from shared
 * memory, put there by a store of the group. (What no member loads is a result.) So whatever a member of the
 * rematerialisation reads of stale ranges, the rematerialisation has written before.
 * 4. A member of the rematerialisation writes stale ranges only, and what it reads of others neither it nor a
 * later member writes.
 * 5. Of a range, a part may be left stale, a box: what the next writer overwrites (box.h). Cells whose bytes are all in
 * it do not store, the others do (group_kept). So sweeps along different axes may leave the same array stale, of which
 * each writes an edge that the other does not. In halo fusions alone, of members whose cells are threads.
 * Whether anybody is likely to want the range is the planner's to know
 * (fuser/planner/deferred.h); that nobody sees it stale is replay's (interpose/deferred.h). Not yet: groups
 * whose iterations are expanded.
 * 6. New contents of renamed ranges are no such ranges. What the rematerialisation reads of old or new contents, it reads in their
 * buffer. So their members' pointers to it must be words that can be moved, which the planner looks at (planner/redirect.h). A member
 * behind the first writer that reads old contents (rename.h, rule 5) is not repeated: its word would be moved to the new. */
#ifndef KFUSE_FUSER_FUSION_STALE_H
#define KFUSE_FUSER_FUSION_STALE_H

#include "fuser/access/array_range.h"
#include "fuser/fusion/group.h"
#include "fuser/solver/memo.h"

enum {
    STALE_MOST = 16,
    STALE_MOST_MEMBERS = 32
}; /* ranges of a group; members of one that leaves some stale */
struct stale_range {
    struct array_range range;
    uint32_t argument_offset; /* of the pointer among the writer's words */
    int64_t from;             /* the range's first byte, seen from that pointer */
    bool is_complete;         /* every byte of it is written */
    bool is_stale;            /* else it is one that must be stored */
    /* Counted from the range's first byte; width 0 where it is no box. left: what is left stale of it; width 0: all. */
    struct group_box written, left;
};
struct stale {
    struct stale_range ranges[STALE_MOST];
    uint32_t count;
    uint32_t rematerialisation; /* members, a bit each; none: nothing may be left stale */
};

/* What can be left stale at most. The members' summaries and bindings must still be there. */
void stale_find(const struct group *group, struct stale *stale);
/* The same, and which bytes are written. */
void stale_collect(struct memo *memo, const struct group *group, struct stale *stale);
/* After is_stale was taken from some range: takes it from those that rule 4 forbids then; sets the
 * rematerialisation. */
void stale_restrict(const struct group *group, struct stale *stale);
/* What this member writes is to be stored; then as stale_restrict. False when it leaves nothing stale. */
bool stale_store(const struct group *group, struct stale *stale, uint32_t member);
/* What the range leaves stale, as a box: what is written, or a part. width 0: it is none. */
const struct group_box *stale_left(const struct stale_range *range);
/* Of this range of stale, no more than this is left stale from now on. False, and nothing has changed, where its cells cannot
 * store one by one, or would store too much. */
bool stale_narrow(const struct group *group, struct stale *stale, uint32_t range,
                  const struct group_box *left);
/* The same group without the stores of the stale ranges, in the arena; it must not be freed but by stale_group_free, nor
 * outlive the group. NULL when memory is out, or isl gave up. */
struct group *stale_group(const struct group *group, const struct stale *stale, struct arena *arena);
/* NULL is none. */
void stale_group_free(struct group *group);

#endif
