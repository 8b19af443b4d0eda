/* SPDX-License-Identifier: Apache-2.0
 * Which threads of two launches touch the same byte. */
#ifndef KFUSE_FUSER_ACCESS_OVERLAP_H
#define KFUSE_FUSER_ACCESS_OVERLAP_H

#include "common/hash.h"
#include "fuser/access/binding.h"
#include "fuser/solver/memo.h"

enum overlap {
    OVERLAP_UNTESTED,
    OVERLAP_NONE,  /* no common byte */
    OVERLAP_SAME,  /* common bytes only within one fused thread */
    OVERLAP_BLOCK, /* common bytes only within one fused block; told only where the space's reach is BLOCK */
    OVERLAP_OTHER, /* some common byte is touched by two different fused threads */
    OVERLAP_UNKNOWN, /* an access without a relation, or isl gave up */
};

/* What threads touch of an array. */
struct touch {
    isl_map *bytes; /* { thread -> [first byte] } from the start of the array; NULL: any byte of it */
    uint32_t width;
    int64_t stride, residue; /* every first byte is the residue modulo the stride */
    int64_t from, to;        /* of all first bytes; INT64_MIN, INT64_MAX: isl cannot tell */
    uint32_t number; /* in the memo, of the bytes counted from the first one, so that only where it lies tells
                        one row from the next; 0: none */
};

uint64_t overlap_common_divisor(uint64_t a, uint64_t b);
/* From a set of first bytes to all bytes of elements so wide. */
__isl_give isl_set *overlap_all_bytes(__isl_take isl_set *first, uint32_t width);
/* { thread -> [byte + distance] }; NULL for NULL. */
__isl_give isl_map *overlap_moved(__isl_take isl_map *bytes, int64_t distance);
/* Borrows the bytes. */
struct touch touch_of(struct memo *memo, __isl_keep isl_map *bytes, uint32_t width);
/* The same of what a launch touches by an access, in other threads that run all of its own: measured by its
 * own, which takes isl less. */
struct touch touch_of_all(struct memo *memo, __isl_keep isl_map *bytes, const struct bound_launch *launch,
                          const struct access *access);
/* What a launch's accesses touch in its own threads, each looked at when it is first asked for. */
struct touches {
    const struct bound_launch *launch;
    struct touch *of; /* by access; of no width: not looked at yet */
};
/* False when memory is out. The launch must outlive it. Release with touches_close, which takes one of zeroes. */
bool touches_open(struct touches *touches, const struct bound_launch *launch);
void touches_close(struct touches *touches);
const struct touch *touches_get(struct memo *memo, struct touches *touches, uint32_t access);
/* { thread of a -> thread of b : the bytes of a's thread and those of b's share one }, in one array. */
__isl_give isl_map *overlap_relation(const struct touch *a, const struct touch *b);
/* Tests of overlap_relation, which they do not compute: that takes long. */
isl_bool overlap_is_empty(struct memo *memo, const struct touch *a, const struct touch *b);
/* Each thread's bytes of the inner one are the outer one's of that thread; false: or it is not known. */
bool overlap_covers(struct memo *memo, const struct touch *outer, const struct touch *inner);
/* Of the threads of one space. Not empty: OVERLAP_SAME at least; BLOCK only where that is the reach. */
enum overlap overlap_test(struct memo *memo, const struct touch *a, const struct touch *b,
                          enum overlap reach);
/* What tells threads of two launches apart that are placed in one space, where that is affine in their own
 * coordinates: { [thread of a, thread of b] -> [byte, byte] } where a number of the one is less, or more,
 * than the other's. Threads of other blocks differ in some of the first, other threads of a block in some of
 * the rest. Owned. */
enum { OVERLAP_MOST_APART = 12 };
struct overlap_apart {
    isl_map *conditions[OVERLAP_MOST_APART];
    uint32_t block_count, count;
    struct hash128 name; /* of what they say */
};
/* overlap_test of threads that are placed so, by what they touch in their own launches. */
enum overlap overlap_test_apart(struct memo *memo, const struct touch *a, const struct touch *b,
                                const struct overlap_apart *apart, enum overlap reach);
/* Two threads that are told apart so and share a byte, bz by bx tz ty tx each. False: there are none, or isl gave up. */
bool overlap_sample_apart(struct memo *memo, const struct touch *a, const struct touch *b,
                          const struct overlap_apart *apart, int32_t thread_a[ACCESS_THREAD_DIMENSIONS],
                          int32_t thread_b[ACCESS_THREAD_DIMENSIONS]);
/* The access's threads -> first byte from the start of its array, in the launch's own threads; NULL: any
 * byte. */
__isl_give isl_map *overlap_thread_bytes(const struct bound_launch *launch, const struct access *access);
/* Whether two accesses of two launches conflict as far as arrays, kinds and hulls tell. */
bool overlap_may_conflict(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                          const struct access *b);
/* Whether q may write what decides when a loop of p ends; that load and the write, by index. */
bool overlap_ends_loop(const struct bound_launch *p, const struct bound_launch *q, uint32_t *load,
                       uint32_t *write);
/* Whether an unordered access of either launch may touch what the other one touches; both accesses, by index. */
bool overlap_unordered(const struct bound_launch *p, const struct bound_launch *q, uint32_t *of_p,
                       uint32_t *of_q);
bool overlap_may_share(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                       const struct access *b);

#endif
