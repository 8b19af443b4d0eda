/* SPDX-License-Identifier: Apache-2.0
 * Binds a kernel to arrays by lot, and tells whether the launch is sound: inside its arrays, free of races.
 */
#ifndef KFUSE_TESTS_REFEREE_LAUNCH_H
#define KFUSE_TESTS_REFEREE_LAUNCH_H

#include "tests/referee/kernel.h"

enum {
    LAUNCH_OWN = 8 /* t c f k z q: struct kernel_pointer; u b: kernel_constant.c */,
    LAUNCH_ARRAYS = 8 + LAUNCH_OWN,
    LAUNCH_LANES = 2
};

struct launch_place {
    uint32_t array;
    int64_t offset;
};
struct launch_arrays {
    uint32_t count;
    uint32_t lanes; /* launches of one lane draw every lanes-th array: lanes do not depend on each other */
    uint32_t latest[LAUNCH_LANES]; /* what the launch drawn last in a lane wrote; not the state of steps */
    uint32_t turn;                 /* the array that is a scene's first */
    int64_t sizes[LAUNCH_ARRAYS];  /* bytes; behind the last one those of t, c, f, k, z, q, u and b */
};
struct launch {
    const struct kernel *kernel;
    struct kernel_numbers numbers;
    struct launch_place places[KERNEL_POINTERS];
    uint32_t stream, lane;
};

/* The array that a variable is. */
uint32_t launch_own(const struct launch_arrays *arrays, char variable);
/* Draws places for all pointers until the launch is sound; false when none were found. */
bool launch_bind(struct launch *launch, const struct launch_arrays *arrays, struct random *random);
/* Draws a place for one pointer; the others stay. */
bool launch_bind_one(struct launch *launch, const struct launch_arrays *arrays, struct random *random,
                     uint32_t pointer);
bool launch_is_sound(const struct launch *launch, const struct launch_arrays *arrays);
/* An array that the launch writes; unknown: what it is when it writes none. */
uint32_t launch_output(const struct launch *launch, uint32_t unknown);
/* Depends on all bytes that it touches, not on which thread does. */
uint64_t launch_footprint(const struct launch *launch);
/* Whether one writes an array that the other touches. */
bool launch_conflicts(const struct launch *a, const struct launch *b);
/* Whether it reads or writes (or writes) something of an array. */
bool launch_touches(const struct launch *launch, uint32_t array, bool writes);

#endif
