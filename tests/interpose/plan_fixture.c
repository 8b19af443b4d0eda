/* SPDX-License-Identifier: Apache-2.0
 * See plan_fixture.h. */
#include "tests/interpose/plan_fixture.h"

#include "common/plan_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 4 };
struct pattern {
    uint32_t bit;
    const char *name, *entry;
    uint32_t steps;
    char kernels[MOST_STEPS];
    enum plan_step_role roles[MOST_STEPS];
    struct guard_check guards[MOST_STEPS]; /* one a step; kind GUARD_KINDS: none */
    uint32_t parameter_count, parameter_bytes;
    struct plan_parameter parameters[4];
};
#define NO_GUARD                                                                                             \
    {                                                                                                        \
        .kind = GUARD_KINDS                                                                                  \
    }

static const struct pattern patterns[] = {
    {FIXTURE_AB,
     "ab",
     "ab:8,4,8",
     2,
     "ab",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, {.kind = GUARD_DIFFERENCE, .step_a = 0, .step_b = 1}},
     3,
     24,
     {{0, 0, 0, 8}, {0, 8, 8, 4}, {1, 8, 16, 8}}},
    {FIXTURE_LAZY,
     "lazy",
     "ab:8,4,8",
     2,
     "ab",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, {.kind = GUARD_DIFFERENCE, .step_a = 0, .step_b = 1}},
     3,
     24,
     {{0, 0, 0, 8}, {0, 8, 8, 4}, {1, 8, 16, 8}}},
    {FIXTURE_ABC,
     "abc",
     "abc:8,8",
     3,
     "abc",
     {PLAN_MEMBER, PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, {.kind = GUARD_DIFFERENCE, .step_a = 0, .step_b = 1}, NO_GUARD},
     2,
     16,
     {{0, 0, 0, 8}, {2, 0, 8, 8}}},
    {FIXTURE_BCB,
     "bcb",
     "bb:8,8",
     3,
     "bcb",
     {PLAN_MEMBER, PLAN_BEFORE, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD, NO_GUARD},
     2,
     16,
     {{0, 0, 0, 8}, {2, 0, 8, 8}}},
    {FIXTURE_BCA,
     "bca",
     "ba:8,8",
     3,
     "bca",
     {PLAN_MEMBER, PLAN_AFTER, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD, NO_GUARD},
     2,
     16,
     {{0, 0, 0, 8}, {2, 0, 8, 8}}},
    {FIXTURE_CAB,
     "cab",
     "ab:8,4,8",
     3,
     "cab",
     {PLAN_BEFORE, PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD, {.kind = GUARD_DIFFERENCE, .step_a = 1, .step_b = 2}},
     3,
     24,
     {{1, 0, 0, 8}, {1, 8, 8, 4}, {2, 8, 16, 8}}},
    {FIXTURE_CC,
     "cc",
     "cc:8,8",
     2,
     "cc",
     {PLAN_MEMBER, PLAN_MEMBER},
     {{.kind = GUARD_INSIDE, .value = {0, 4096}}, {.kind = GUARD_INSIDE, .step_a = 1, .value = {0, 4096}}},
     2,
     16,
     {{0, 0, 0, 8}, {1, 0, 8, 8}}},
    {FIXTURE_DD,
     "dd",
     "dd:8,8",
     2,
     "dd",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, {.kind = GUARD_DIFFERENCE, .step_a = 0, .offset_a = 8, .step_b = 1, .offset_b = 8}},
     2,
     16,
     {{0, 0, 0, 8}, {1, 8, 8, 8}}},
    {FIXTURE_RENAME,
     "renamed",
     "renamed:8,8,8,8",
     2,
     "ab",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD},
     2,
     32,
     {{0, 0, 0, 8}, {1, 8, 8, 8}}},
    {FIXTURE_BOX_BB,
     "box_bb",
     "box_bb:8,8,8,8",
     2,
     "bb",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD},
     2,
     32,
     {{0, 0, 0, 8}, {1, 8, 8, 8}}},
    {FIXTURE_BOX,
     "box",
     "renamed:8,8,8,8",
     2,
     "ab",
     {PLAN_MEMBER, PLAN_MEMBER},
     {NO_GUARD, NO_GUARD},
     2,
     32,
     {{0, 0, 0, 8}, {1, 8, 8, 8}}},
};

#define BOX(number)                                                                                          \
    {                                                                                                        \
        .bytes = 256, .destination_offset = 16, .flags = PLAN_RENAME_PARTIAL, .written = {                   \
            .from = 80,                                                                                      \
            .width = 16,                                                                                     \
            .row_pitch = 64,                                                                                 \
            .rows = number,                                                                                  \
            .layers = 1                                                                                      \
        }                                                                                                    \
    }
static const struct {
    uint32_t bit;
    struct plan_rename rename;
} renames[] = {
    {FIXTURE_RENAME, {.bytes = 256, .destination_offset = 16}},
    {FIXTURE_BOX, BOX(3)},
    {FIXTURE_BOX_BB, BOX(2)},
};

static struct plan_kernel kernel_of(const struct fixture *fixture, struct plan_builder *builder, char letter)
{
    const char *name = letter == 'a'   ? FIXTURE_A
                       : letter == 'b' ? FIXTURE_B
                       : letter == 'c' ? FIXTURE_C
                                       : FIXTURE_D;
    const char *variable = fixture->variable ? fixture->variable : "v";
    uint32_t variables = letter == 'd';
    const char *image = fixture->image ? fixture->image : FIXTURE_IMAGE;
    return (struct plan_kernel){.module = plan_build_module(builder, hash_bytes(image, strlen(image))),
                                .name = plan_build_string(builder, name),
                                .registers = fixture->registers ? fixture->registers : 16,
                                .parameter_bytes = letter == 'a'   ? 12
                                                   : letter == 'b' ? 16
                                                                   : 8,
                                .first_variable = plan_build_variables(builder, &variable, variables),
                                .variable_count = variables};
}

static void add_group(const struct fixture *fixture, struct plan_builder *builder,
                      const struct pattern *pattern)
{
    char code[64];
    plan_build_group(builder, pattern->name, fixture->flags, fixture->gains_nothing ? 0 : 1000,
                     fixture->takes_ns);
    for (uint32_t i = 0; i < pattern->steps; i++) {
        struct plan_kernel kernel = kernel_of(fixture, builder, pattern->kernels[i]);
        struct plan_step step = {.kernel = plan_build_kernel(builder, &kernel),
                                 .role = pattern->roles[i],
                                 .grid = {4, 1, 1},
                                 .block = {32, 1, 1},
                                 .arguments_size = kernel.parameter_bytes};
        unsigned char mask[12] = {[8] = 0xff, 0xff, 0xff, 0xff}, value[12] = {0};
        bool is_compared = fixture->compared && pattern->kernels[i] == 'a';
        memcpy(value + 8, &fixture->compared, 4);
        plan_build_step(builder, &step, is_compared ? mask : NULL, is_compared ? value : NULL,
                        &pattern->guards[i], pattern->guards[i].kind != GUARD_KINDS);
    }
    if (fixture->written)
        plan_build_effect(
            builder, &(struct plan_effect){.kind = PLAN_WRITES, .is_exact = 1, .to = fixture->written}, NULL);
    struct plan_variant variant = {
        .grid = {4, 1, 1}, .block = {32, 1, 1}, .parameter_bytes = pattern->parameter_bytes, .registers = 16};
    snprintf(code, sizeof code, ".version 8.0 // code of %s", pattern->name);
    if (pattern->bit == FIXTURE_LAZY) {
        struct plan_variant lazy = variant;
        lazy.rematerialisation = 1;
        plan_build_variant(builder, &lazy, "lazy:8,4,8", code, strlen(code) + 1, pattern->parameters,
                           pattern->parameter_count, NULL, 0);
        plan_build_stale(builder, &(struct plan_stale){.bytes = 256});
        plan_build_overwrite(
            builder, &(struct plan_overwrite){.bytes = 256, .flags = PLAN_OVERWRITE_COMPLETE}, NULL, 0);
    }
    plan_build_variant(builder, &variant, pattern->entry, code, strlen(code) + 1, pattern->parameters,
                       pattern->parameter_count, NULL, 0);
    for (size_t i = 0; i < sizeof renames / sizeof renames[0]; i++)
        if (renames[i].bit == pattern->bit) plan_build_rename(builder, &renames[i].rename);
}

void fixture_write(const struct fixture *fixture, const char *directory)
{
    static const char json[] = "{}\n";
    char error[512] = "out of memory", path[4096];
    struct arena *arena = arena_create();
    struct plan_builder *builder = plan_build_start(arena);
    plan_build_device(builder, fixture->device ? fixture->device : "fake device", 9, 0,
                      fixture->driver_version ? fixture->driver_version : 13000, false);
    plan_build_source(builder, hash_bytes(json, sizeof json - 1));
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (fixture->groups & patterns[i].bit) add_group(fixture, builder, &patterns[i]);
    snprintf(path, sizeof path, "%s/plan.json", directory);
    FILE *file = fopen(path, "w");
    if (!file || fputs(json, file) < 0 || fclose(file) ||
        !plan_build_write(builder, directory, error, sizeof error)) {
        fprintf(stderr, "%s: %s\n", directory, error);
        exit(1);
    }
    arena_free(arena);
}
