/* SPDX-License-Identifier: Apache-2.0
 * Random sequences of kernels on few arrays, with random shapes and lengths: whatever group_decide accepts
 * must leave the memory of the originals. KFUSE_TEST_SCENES sets how many of each kind: 20 unless set, with KFUSE_TEST_LONG 60;
 * KFUSE_TEST_SEED where they start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARRAYS = 4, ELEMENTS = 1024, MEMBERS_MAX = 5 };

struct random {
    uint64_t state;
};

static uint32_t pick(struct random *random, uint32_t count)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % count;
}

/* Arguments by letter: a: array, A: array other than the last one, n: length, x: number. */
static const struct {
    const char *kernel, *arguments;
} kernels[] = {
    {"add", "aaan"},       {"add_to", "aan"},     {"multiply", "aaan"},   {"chain_step", "axxn"},
    {"clear_even", "an"},  {"clip", "axn"},       {"read_only", "aAn"},   {"square_and_shift", "aAxn"},
    {"stencil", "aAn"},    {"reversed", "aAn"},   {"chain_step", "axxn"}, {"add_to", "aan"},
    {"take_away", "aAxn"}, {"take_away", "aAxn"},
};

static struct scene_launch random_launch(struct random *random)
{
    static const uint32_t blocks[] = {64, 96, 128, 256}, lengths[] = {1000, 1000, 1000, 700, 1024, 1};
    struct scene_launch launch = {.block = {1, 1, 1}, .grid = {1, 1, 1}};
    uint32_t which = pick(random, sizeof kernels / sizeof kernels[0]), array = 0;
    launch.kernel = kernels[which].kernel;
    launch.block[0] = pick(random, 3) ? 128 : blocks[pick(random, 4)];
    uint32_t length = pick(random, 2) ? 1000 : lengths[pick(random, 6)];
    launch.grid[0] = (length + launch.block[0] - 1) / launch.block[0] + (pick(random, 8) == 0);
    for (int i = 0; kernels[which].arguments[i]; i++) {
        struct scene_argument *argument = &launch.arguments[i];
        switch (kernels[which].arguments[i]) {
        case 'a':
            array = pick(random, ARRAYS);
            *argument = (struct scene_argument)POINTER(array);
            break;
        case 'A':
            array = (array + 1 + pick(random, ARRAYS - 1)) % ARRAYS;
            *argument = (struct scene_argument)POINTER(array);
            break;
        case 'n':
            *argument = (struct scene_argument)INT((int32_t)length);
            break;
        case 'x':
            *argument = (struct scene_argument)FLOAT(pick(random, 64) / 16.0 - 2.0);
            break;
        }
    }
    return launch;
}

struct box { /* as in kernels.cu */
    double scale;
    int nx, ny;
    signed char shift;
    unsigned short mask;
};

/* Planes and lines over the same elements: tiles, rows, lines and grid strides of different sizes. */
static struct scene_launch random_plane(struct random *random)
{
    static const struct box boxes[] = {{0.25, 40, 25, -3, 60000}, {1.5, 64, 15, 7, 3}, {0.5, 32, 31, 1, 2}};
    static const uint32_t tiles[][2] = {{32, 8}, {16, 16}, {32, 1}, {64, 2}, {8, 8}};
    const struct box *box = &boxes[pick(random, 8) ? 0 : pick(random, 3)];
    const uint32_t *tile = tiles[pick(random, 5)];
    uint32_t first = pick(random, ARRAYS), second = (first + 1 + pick(random, ARRAYS - 1)) % ARRAYS;
    int32_t length = box->nx * box->ny;
    uint32_t threads = 32 * (1 + pick(random, 8)), blocks = ((uint32_t)length + threads - 1) / threads;
    switch (pick(random, 5)) {
    case 0:
    case 1:
        return (struct scene_launch){
            "plane",
            {((uint32_t)box->nx + tile[0] - 1) / tile[0], ((uint32_t)box->ny + tile[1] - 1) / tile[1], 1},
            {tile[0], tile[1], 1},
            {POINTER(first), POINTER(second), BYTES(box)}};
    case 2:
        return (struct scene_launch){
            "line", {blocks, 1, 1}, {threads, 1, 1}, {POINTER(first), POINTER(second), INT(length)}};
    case 3:
        return (struct scene_launch){
            "line_away", {blocks, 1, 1}, {threads, 1, 1}, {POINTER(first), POINTER(second), INT(length)}};
    default:
        return (struct scene_launch){"grid_stride",
                                     {1 + pick(random, 4), 1, 1},
                                     {threads, 1, 1},
                                     {POINTER(first), POINTER(second), INT(length)}};
    }
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static uint32_t scene_count(void)
{
    return setting("KFUSE_TEST_SCENES", setting("KFUSE_TEST_LONG", 0) ? 60 : 20);
}

static void run_scenes(struct scene_launch (*make)(struct random *random), struct scene_array array,
                       uint32_t count)
{
    uint32_t seed = setting("KFUSE_TEST_SEED", 1), fused = 0, forwards = 0, contracted = 0,
             kinds[REMAP_INTER_BLOCK + 1] = {0};
    for (uint32_t index = seed; index < seed + count; index++) {
        struct random random = {index * 0x9e3779b97f4a7c15u};
        struct scene scene = {0};
        struct scene_run run;
        uint32_t members = 2 + pick(&random, MEMBERS_MAX - 1);
        for (int i = 0; i < ARRAYS; i++) scene.arrays[i] = array;
        for (uint32_t i = 0; i < members; i++) scene.launches[i] = make(&random);
        print_message("scene %u\n", index);
        scene_open(&run, &scene);
        if (!run.group->refusal && scene_compare(&run, &scene)) {
            fused++;
            contracted += scene_compare_contracted(&run, &scene);
            forwards += run.group->forward_count;
            for (uint32_t i = 0; i < run.launch_count; i++) kinds[run.group->remaps[i].kind]++;
        }
        scene_close(&run);
    }
    print_message("%u of %u scenes fused, %u with products contracted, %u forwards; remaps: %u same, %u "
                  "global, %u linear, "
                  "%u stride, %u affine\n",
                  fused, count, contracted, forwards, kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]);
    assert_true(fused > count / 10);
    assert_true(forwards > 0);
    assert_true(contracted > 0);
}

static void vectors(void **state)
{
    (void)state;
    run_scenes(random_launch, (struct scene_array){4 * ELEMENTS, 'f'}, scene_count());
}

static void planes(void **state)
{
    (void)state;
    run_scenes(random_plane, (struct scene_array){8 * ELEMENTS, 'd'}, scene_count());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
