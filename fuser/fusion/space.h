/* SPDX-License-Identifier: Apache-2.0
 * A fused iteration space: the threads of one fused launch { F[bz, by, bx, tz, ty, tx] } and the members that
 * are placed in it, each by a remap. All tests of legality and of forwarding are questions about the members'
 * accesses seen from a space: does one thread, or do two, touch the same byte? Answers are kept by access
 * shape, so that a chain of kernels on the same arrays costs a handful of isl operations. Internal to
 * fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_SPACE_H
#define KFUSE_FUSER_FUSION_SPACE_H

#include "fuser/access/overlap.h"
#include "fuser/fusion/group.h"
#include "fuser/solver/quota.h"

#include <stdio.h>

struct placed_access {
    const struct access *access;
    uint32_t member, index; /* of the access in its summary */
    uint32_t shape;         /* accesses of one shape touch the same bytes from the same fused threads */
};

static inline bool placed_writes(const struct placed_access *access)
{
    return access->access->kind != ACCESS_READ;
}

struct space {
    isl_ctx *ctx;
    struct memo *memo;
    struct arena *arena;
    const struct bound_launch *members;
    uint32_t member_count;
    uint32_t grid[3], block[3];
    enum overlap reach;              /* of conflicts between members: SAME, or BLOCK with barriers between */
    bool has_coarsening;             /* members may be placed by COARSENED, in place of AFFINE */
    bool is_one_block;               /* the launch: what meets, meets within it, known or not */
    struct remap *remaps;            /* a member's kind is valid once it is placed */
    isl_map **maps;                  /* { F -> L }; NULL: not placed */
    struct placed_access **accesses; /* a member's, in program order */
    struct touches *own;             /* of members, in their own threads; opened when asked for */
    /* of a halo fusion, by member: values pass in registers within one; NULL: inner-thread */
    uint32_t *stages;
    struct space_shape {
        uint32_t array;
        bool is_plain;
        struct touch touch; /* of F */
    } * shapes;
    uint32_t shape_count, shape_capacity;
    unsigned char *overlaps, *covers; /* shape by shape, enum overlap; covers: 0 untested, 1 no, 2 yes */
    uint32_t table_size;
};

/* An empty space of that shape over the members; false when memory is out. Release with space_clear. */
bool space_open(struct space *space, struct memo *memo, struct arena *arena,
                const struct bound_launch *members, uint32_t member_count, const uint32_t grid[3],
                const uint32_t block[3]);
void space_clear(struct space *space);
/* Places a member by a remap of this kind; AFFINE and COARSENED are derived from its conflicts with the
 * members that are placed. False when the kind does not fit the shapes or would not run each effective thread
 * exactly once. */
bool space_place(struct space *space, uint32_t member, enum remap_kind kind);
/* Of a member that is placed legally: finds what code needs, the coordinates of AFFINE. False, and it is
 * placed no more, where isl gives up. */
bool space_complete(struct space *space, uint32_t member);
/* Places it anew, so. */
bool space_place_by(struct space *space, uint32_t member, __isl_take isl_map *map);
void space_unplace(struct space *space, uint32_t member);

/* Both are placed. a is earlier or the same member. */
enum overlap space_overlap(struct space *space, const struct placed_access *a, const struct placed_access *b);
/* Each fused thread's bytes of `inner` are exactly those of `outer`, wherever inner has any (widths are
 * equal). */
bool space_covers(struct space *space, const struct placed_access *outer, const struct placed_access *inner);
/* The first pair of conflicting accesses of two placed members that is beyond the space's reach. */
bool space_violation(struct space *space, uint32_t p, uint32_t q, const struct placed_access **access_p,
                     const struct placed_access **access_q);
/* --- place.c */
enum { PLACEMENT_REASON_BYTES = 512, PLACEMENT_HAZARDS_MOST = 8 };
struct placement_hazard { /* two accesses that must not meet as they do */
    uint32_t p, q, access_p, access_q;
};
struct placement_failure { /* of the first attempt: the conflict that is not within one thread */
    uint32_t p, q, access_p, access_q;
    bool has_witness, is_unknown;
    struct conflict_witness witness;
    /* one an array, of all arrays where not has_more */
    struct placement_hazard hazards[PLACEMENT_HAZARDS_MOST];
    uint32_t hazard_count;
    bool has_more;
    uint32_t last; /* the first so many members do without what the reason names; 0: not known */
    char reason[PLACEMENT_REASON_BYTES];
};
/* Opens a space whose shape and remaps keep every conflict of the members within one fused thread, or else
 * within one fused block. False when there is none, with *failure filled; nothing is left open then. */
bool space_place_all(struct space *space, struct memo *memo, struct arena *arena,
                     const struct bound_launch *members, uint32_t member_count,
                     struct placement_failure *failure);
/* The same within a block, where members may be coarsened (coarsening.h). */
bool space_place_coarsened(struct space *space, struct memo *memo, struct arena *arena,
                           const struct bound_launch *members, uint32_t member_count);

/* The same in a launch of one block, where all that conflicts has a barrier between, whatever it is: for launches of few
 * threads, which each would hardly use the device. */
bool space_place_in_one_block(struct space *space, struct memo *memo, struct arena *arena,
                              const struct bound_launch *members, uint32_t member_count,
                              uint32_t most_threads);
enum { SPACE_BLOCK_MOST = 1024 }; /* threads of a block */
/* Of such a block. Members whose blocks must stay whole have one, and all of them as many threads: the block has these. Else it has
 * those of the largest launch, whole warps, or the most that it may have. 0: there is no such block. */
uint32_t space_one_block_threads(const struct bound_launch *members, uint32_t member_count,
                                 uint32_t most_threads);

/* --- failure.c */
/* Fills the failure: these accesses of two placed members conflict beyond the reach. */
void failure_describe(struct space *space, const struct placed_access *a, const struct placed_access *b,
                      struct placement_failure *failure);
/* The same where no shape fits the members. */
void failure_describe_shapes(struct memo *memo, const struct bound_launch *members, uint32_t member_count,
                             struct placement_failure *failure);

/* --- remap.c */
bool remap_shapes_equal(const struct access_summary *summary, const uint32_t grid[3],
                        const uint32_t block[3]);
/* The linear id over the whole launch keeps blocks together, and warps. */
bool remap_keeps_blocks(const struct access_summary *summary, const uint32_t grid[3],
                        const uint32_t block[3]);
/* As isl text, with coordinates' names before x, y, z: " and 0 <= bx < 4 ..", and the number of a thread in
 * the launch, x fastest, all threads of a block before the next block. */
void remap_write_bounds(FILE *text, const char *block_name, const char *thread_name, const uint32_t grid[3],
                        const uint32_t block[3]);
void remap_write_linear(FILE *text, const char *block_name, const char *thread_name, const uint32_t grid[3],
                        const uint32_t block[3]);
/* { F -> L } of every kind but AFFINE, COARSENED and CELLS; NULL when the kind does not fit the shapes. */
__isl_give isl_map *remap_relation(struct memo *memo, enum remap_kind kind, const uint32_t grid[3],
                                   const uint32_t block[3], const struct access_summary *summary);

#endif
