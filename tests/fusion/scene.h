/* SPDX-License-Identifier: Apache-2.0
 * Random groups of tiny launches with a random schedule, legal or not, for the legality test and its oracle. Same seed, same
 * scene. */
#ifndef KFUSE_TESTS_FUSION_SCENE_H
#define KFUSE_TESTS_FUSION_SCENE_H

#include "fuser/fusion/check.h"

#include <stdio.h>

enum scene_kind {
    SCENE_ANY,    /* any accesses; threads by any map, iterations joined or not, barriers or not */
    SCENE_SERVED, /* the same, with loads that are served and stores that are left out */
    SCENE_HALO,   /* tiles with a border that is recomputed */
    SCENE_MARCH,  /* planes in turn, in a ring of a few */
    SCENE_CARRY,  /* loads that go from turn to turn in registers */
    SCENE_KINDS,
};
enum { SCENE_MEMBERS = 4, SCENE_STATEMENTS = 8, SCENE_ACCESSES = 20, SCENE_STORAGES = 4 };
struct scene {
    struct check_group group;
    struct schedule_space orders[SCENE_MEMBERS];
    struct check_statement statements[SCENE_STATEMENTS];
    struct check_access accesses[SCENE_ACCESSES];
    struct check_storage storages[SCENE_STORAGES];
    struct check_barrier barriers[SCENE_STATEMENTS];
    uint64_t state; /* of the generator */
};

/* Draws one; release with scene_close. */
void scene_draw(struct scene *scene, isl_ctx *ctx, enum scene_kind kind, uint64_t seed);
void scene_close(struct scene *scene);
void scene_print(FILE *out, const struct scene *scene);
extern const char *const scene_names[SCENE_KINDS];

#endif
