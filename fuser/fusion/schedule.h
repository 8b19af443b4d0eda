/* SPDX-License-Identifier: Apache-2.0
 * Schedules, and the order that a schedule keeps. A schedule maps the instances of a statement to points
 *     { I -> [launch, bz, by, bx, tz, ty, tx, time...] }
 * of a space: which launch, block and thread runs the instance, and when. Time is compared lexicographically. Each
 * component of time says which barrier separates its values: all threads of that scope, with the components before it
 * alike, have passed it before the next value begins. One thread runs its own points in the order of time.
 *
 * Ordered(x, y): x is in an earlier launch; or of one launch, in the first component in which they differ, x has the
 * smaller value and the barrier's scope holds both threads (SCHEDULE_NONE: it is the same thread). Points of one thread
 * that are alike in all run by their statements' numbers, and within one instance by the accesses' positions.
 * Several images of one instance recompute it. The order of the launches as they were is a schedule too, in which each
 * member is a launch of its own.
 *
 * Order is given as pieces: conjunctions of comparisons between coordinates of x and the same ones of y. Each is convex,
 * so that isl is asked about one after the other. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_SCHEDULE_H
#define KFUSE_FUSER_FUSION_SCHEDULE_H

#include <isl/map.h>
#include <stdbool.h>
#include <stdint.h>

enum schedule_barrier {
    SCHEDULE_NONE,
    SCHEDULE_WARP, /* orders no more than NONE here: lanes that belong together are not told apart */
    SCHEDULE_BLOCK,
    SCHEDULE_CLUSTER, /* no more than BLOCK */
    SCHEDULE_GRID,
};
enum {
    SCHEDULE_LAUNCH,
    SCHEDULE_FIRST_BLOCK,
    SCHEDULE_FIRST_THREAD = 4,
    SCHEDULE_PLACE = 7, /* coordinates before time */
    SCHEDULE_MOST_TIME = 8,
};
struct schedule_space {
    uint32_t time_count;
    enum schedule_barrier barriers[SCHEDULE_MOST_TIME];
};

struct schedule {
    isl_map *images; /* { I -> F } */
    isl_map *owners; /* of the images, the one that stores to memory; NULL: all, as no instance has two */
};

/* Of two accesses x and y: what orders points that are alike. */
enum schedule_tie {
    SCHEDULE_TIE_BEFORE,          /* x's statement has the lower number */
    SCHEDULE_TIE_BEHIND,          /* the higher number */
    SCHEDULE_TIE_INSTANCE_BEFORE, /* one statement, and x's position is the lower: ordered in one instance alone */
    SCHEDULE_TIE_INSTANCE_BEHIND,
};

enum schedule_comparison { SCHEDULE_LESS, SCHEDULE_EQUAL, SCHEDULE_MORE };
struct schedule_term {
    bool is_instance; /* a coordinate of the instance; else of the point */
    uint32_t coordinate;
    enum schedule_comparison comparison; /* x's against y's */
};
enum { SCHEDULE_MOST_TERMS = 32 };
struct schedule_piece {
    struct schedule_term terms[SCHEDULE_MOST_TERMS];
    uint32_t count;
};
struct schedule_pieces { /* their union; owned, freed by schedule_clear */
    struct schedule_piece *all;
    uint32_t count, capacity;
    bool is_lost; /* memory ran out, or a piece has too many terms: then they say nothing */
};

/* Where Ordered(x, y) holds, and where it does not. instance_count: coordinates of an instance, for ties within a
 * statement. */
struct schedule_pieces schedule_ordered(const struct schedule_space *space, enum schedule_tie tie,
                                        uint32_t instance_count);
struct schedule_pieces schedule_unordered(const struct schedule_space *space, enum schedule_tie tie,
                                          uint32_t instance_count);
/* Where two instances of a statement differ. */
struct schedule_pieces schedule_differing(uint32_t instance_count);
void schedule_clear(struct schedule_pieces *pieces);

#endif
