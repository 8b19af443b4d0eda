/* SPDX-License-Identifier: Apache-2.0
 * What one block touches through an access, element by element. The relation is taken out of isl once, as
 * forms in plain integers, and evaluated for each thread; blocks in which all conditions come out alike are
 * one class, of which one is enough to be looked at. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_BLOCK_PATTERN_H
#define KFUSE_FUSER_FUSION_BLOCK_PATTERN_H

#include "common/arena.h"

#include <isl/map.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PATTERN_COUNTERS = 8,   /* of loops, at most */
    PATTERN_DIVISIONS = 12, /* of one piece, at most */
    PATTERN_DIMENSIONS = 6 + PATTERN_COUNTERS + PATTERN_DIVISIONS,
    PATTERN_CLASSES = 64, /* of blocks, at most */
};

struct pattern_shape { /* blocks of the fused launch, and how their threads are counted: x y z */
    uint32_t grid[3], block[3];
};
/* Dimensions: bz by bx, tz ty tx, counters; divisions last. */
struct pattern_form {
    int64_t constant, of[PATTERN_DIMENSIONS];
};
struct pattern_division { /* the floor of numerator / denominator, which do not depend on the block */
    struct pattern_form numerator;
    int64_t denominator, block[3]; /* what has to be added for the block */
};
struct pattern_condition {
    struct pattern_form form; /* is 0, or is not negative */
    bool is_equality;
};
struct pattern_piece {
    struct pattern_form byte;
    bool is_fixed[3]; /* only blocks of one number have it: isl may have put that number into byte */
    int64_t fixed[3];
    struct pattern_condition *conditions;
    uint32_t condition_count;
    struct pattern_division divisions[PATTERN_DIVISIONS];
    uint32_t division_count;
};
struct pattern {
    struct pattern_shape shape;
    unsigned dimensions; /* without divisions */
    struct pattern_piece *pieces;
    uint32_t piece_count;
    int64_t last[PATTERN_COUNTERS]; /* the largest number of each counter */
    int64_t step[3];                /* of the byte, from block to block: bz by bx */
    bool is_any[3];                 /* it has blocks of one number: pattern_set_step may choose the step */
    uint64_t points;                /* threads and counters to look at in a block */
    uint64_t instances;             /* of a block, at most: points, and what only does the same again */
};

/* bytes: { F[bz, by, bx, tz, ty, tx, counters] -> [first byte] }, borrowed. False where it is no such
 * function in integers, or moves on unequally from block to block. */
bool pattern_open(struct pattern *pattern, struct arena *arena, __isl_keep isl_map *bytes,
                  const struct pattern_shape *shape);
/* False where the step is another. */
bool pattern_set_step(struct pattern *pattern, unsigned dimension, int64_t step);
/* One instance: the thread counted in the block, x fastest; the first byte, from that of block 0. False ends
 * it. */
typedef bool pattern_visitor(void *context, uint32_t thread, int64_t byte);
/* All instances of a block (bz by bx), in order of threads; false when the visitor ended it. */
bool pattern_visit(const struct pattern *pattern, const uint32_t block[3], pattern_visitor *visitor,
                   void *context);

struct pattern_classes {
    uint32_t blocks[PATTERN_CLASSES][3]; /* one block of each: bz by bx */
    uint64_t sizes[PATTERN_CLASSES];     /* blocks in the class */
    uint32_t count;
};
/* Every block of the launch does through every pattern what the one of its class does, thread by thread.
 * False where there are too many classes. All patterns are of one shape. */
bool pattern_classify(struct pattern_classes *classes, struct arena *arena,
                      const struct pattern *const *patterns, uint32_t count);

#endif
