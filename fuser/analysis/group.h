/* SPDX-License-Identifier: Apache-2.0
 * Legality of an inner-thread group: members run one after the other inside one thread of the fused kernel.
 * Decides the fused grid and block, each member's remap, which values pass in registers, which stores can be
 * dropped. */
#ifndef KFUSE_FUSER_ANALYSIS_GROUP_H
#define KFUSE_FUSER_ANALYSIS_GROUP_H

#include "fuser/analysis/conflict.h"

enum remap_kind {
    REMAP_SAME,   /* fused (block, thread) is the member's (block, thread): shapes are equal */
    REMAP_GLOBAL, /* per dimension, block * ntid + tid is equal; threads beyond the member's launch skip it */
    REMAP_LINEAR, /* the linear id over the whole launch is equal, and the member runs once a fused thread */
    REMAP_STRIDE, /* fused thread f of F runs the member's linear threads f, f + F, f + 2F, ... in turn */
    REMAP_AFFINE, /* a quasi-affine function from the conflict relation: coordinates */
};
enum remap_guard { /* what becomes of fused threads that have no thread of the member to run */
                   REMAP_GUARD_SKIP,  /* they go on with the next member */
                   REMAP_GUARD_LEAVE, /* they have nothing to do later either: they leave the fused kernel */
                   REMAP_GUARD_NONE,  /* there are none */
};
struct remap {
    enum remap_kind kind;
    isl_pw_multi_aff
        *coordinates; /* AFFINE: { F[bz..tx] -> L[bz..tx] } on the threads that run the member; else NULL */
    enum remap_guard guard;
};

struct group_forward { /* the load gets its value in a register from an earlier access of the group, same
                          bytes */
    uint32_t from_member, from_instruction; /* a store (its stored value) or a load (its loaded value) */
    uint32_t to_member, to_instruction; /* a load; both in no loop; widths, types' sizes and vectors equal */
    bool round_product; /* the stored value may be an unrounded product with no other use: give it .rn */
};
struct group_drop { /* a store that is overwritten by the same thread in the group, unread in between except
                       by forwards */
    uint32_t member, instruction;
};
struct group_demote { /* ld.global.nc of an array that another member writes: a plain ld.global */
    uint32_t member, instruction;
};
/* A conditional jump to the member's end (or predicated ret). Without these, each member would test again
 * what the first one has tested, and no load could move up over the branches. */
enum group_exit_kind {
    GROUP_EXIT_ALL,   /* threads that leave here have nothing to do in later members: they leave the fused
                         kernel */
    GROUP_EXIT_NEVER, /* no thread that arrives at the member leaves here: the jump goes away */
};
struct group_exit {
    uint32_t member, instruction;
    enum group_exit_kind kind;
};

struct group {
    uint32_t member_count;
    const struct bound_launch *members;
    uint32_t grid[3], block[3];
    struct remap *remaps; /* one a member */
    struct group_forward *forwards;
    uint32_t forward_count;
    struct group_drop *drops;
    uint32_t drop_count;
    struct group_demote *demotes;
    uint32_t demote_count;
    struct group_exit *exits;
    uint32_t exit_count;
    uint64_t bytes_saved; /* traffic of forwarded loads and dropped stores, all threads */
    const char *refusal; /* NULL: legal; else why not, with kernels, array, PTX lines and a pair of threads */
    struct arena *arena;
};
/* members: 1 or more, in program order; kept by reference. Never NULL except out of memory. */
struct group *group_decide(isl_ctx *ctx, const struct bound_launch *members, uint32_t member_count);
void group_free(struct group *group);

#endif
