/* SPDX-License-Identifier: Apache-2.0
 * Conflicts between two launches p (earlier) and q: the relation { thread of p -> thread of q : they touch
 * the same byte and one writes } decides which fusion is legal (doc/fusion.md has the kinds). */
#ifndef KFUSE_FUSER_FUSION_CONFLICT_H
#define KFUSE_FUSER_FUSION_CONFLICT_H

#include "fuser/access/binding.h"
#include "fuser/solver/memo.h"

enum conflict_class {
    CONFLICT_NONE,
    CONFLICT_THREAD,     /* each conflicting pair is one thread of each, by a remap: see remap */
    CONFLICT_BLOCK,      /* each conflicting pair is in one block of the fused kernel, by a remap: a barrier
                        between */
    CONFLICT_HALO,       /* a block can compute what it needs of the other's neighbouring threads: halo.h */
    CONFLICT_RENAMED,    /* one of these, if one array is written into a second buffer: rename.h */
    CONFLICT_LAST_BLOCK, /* q can run in that block of p that ends last: last_block.h */
    CONFLICT_OTHER,
    CONFLICT_UNKNOWN, /* a may access without bound, or isl gave up */
};
struct conflict_witness { /* a concrete pair of threads, bz by bx tz ty tx, and a byte that both touch */
    int32_t p[6], q[6];
    int64_t byte; /* from where the pointer of p's access leads: the same where other launches lie alike */
};
struct conflict {
    enum conflict_class class;
    /* the first conflict that is not within one thread, or any: indices in the summaries' accesses */
    uint32_t access_p, access_q;
    bool has_witness;
    bool in_one_block; /* BLOCK: only in a launch of one block; the reason is why no other kind serves */
    struct conflict_witness witness;
    uint64_t shared_bytes; /* bytes that both touch: what fusing could save, an estimate from above */
    char reason[800];      /* for `kfuse explain`: kernels, array, PTX lines, threads */
};
/* Some two threads of theirs touch one byte that either writes, or it is not known: access_p and access_q. */
bool conflict_may_be(struct memo *memo, const struct bound_launch *p, const struct bound_launch *q,
                     struct conflict *conflict);
/* Fills *conflict, which owns nothing. */
void conflict_between(struct memo *memo, const struct bound_launch *p, const struct bound_launch *q,
                      struct conflict *conflict);

#endif
