/* SPDX-License-Identifier: Apache-2.0
 * The trie of patterns by itself: ambiguity, priority, masks, groups that are off. What may begin a pattern.
 * And the table of ranges. */
#include "common/plan_build.h"
#include "interpose/match.h"
#include "interpose/starts.h"
#include "interpose/track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Groups are spelled: a letter a step, its argument's 8 bytes must equal the digit behind it; '.' for any. */
static struct plan plan;
static struct match *match;
static struct arena *arena;

static void add(struct plan_builder *builder, const char *spelling)
{
    struct plan_kernel kernel = {.module = plan_build_module(builder, (struct hash128){1, 2}),
                                 .parameter_bytes = 8};
    plan_build_group(builder, spelling, 0, 1, 0);
    for (const char *at = spelling; *at; at += 2) {
        uint64_t mask = at[1] == '.' ? 0 : UINT64_MAX, value = at[1] == '.' ? 0 : (uint64_t)(at[1] - '0');
        kernel.name = plan_build_string(builder, (char[2]){at[0], 0});
        struct plan_step step = {.kernel = plan_build_kernel(builder, &kernel),
                                 .grid = {1, 1, 1},
                                 .block = {1, 1, 1},
                                 .arguments_size = 8};
        plan_build_step(builder, &step, (unsigned char *)&mask, (unsigned char *)&value, NULL, 0);
    }
    struct plan_variant variant = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    plan_build_variant(builder, &variant, "fused", ".version 8.0", 13, NULL, 0, NULL, 0);
}

static void open_built(struct plan_builder *builder)
{
    char folder[] = "/tmp/kfuse-match-XXXXXX", error[256], command[64];
    assert_non_null(mkdtemp(folder));
    assert_true(plan_build_write(builder, folder, error, sizeof error));
    assert_true(plan_map(&plan, folder, error, sizeof error));
    snprintf(command, sizeof command, "%s/plan.bin", folder);
    unlink(command);
    rmdir(folder);
    match = match_create(&plan);
    assert_non_null(match);
    for (uint32_t i = 0; i < plan.header->groups.count; i++) match_enable(match, i, true);
}

static struct plan_builder *start_plan(void)
{
    arena = arena_create();
    struct plan_builder *builder = plan_build_start(arena);
    plan_build_device(builder, "none", 9, 0, 13000, false);
    return builder;
}

static void open_plan(const char *const *spellings)
{
    struct plan_builder *builder = start_plan();
    for (; *spellings; spellings++) add(builder, *spellings);
    open_built(builder);
}
#define OPEN(...) open_plan((const char *const[]){__VA_ARGS__, NULL})

static void close_plan(void)
{
    match_free(match);
    plan_unmap(&plan);
    arena_free(arena);
}

static uint32_t kernel_named(char letter)
{
    for (uint32_t i = 0; i < plan.header->kernels.count; i++)
        if (plan.strings[plan.kernels[i].name] == letter) return i;
    return UINT32_MAX;
}

/* The group that is complete after the last launch that could be taken, or NULL; *depth: launches taken. */
static const char *follow(const char *launches, uint32_t *depth, bool *is_final)
{
    struct match_state state;
    uint64_t values[16];
    const unsigned char *arguments[16];
    uint32_t sizes[16];
    match_start(&state);
    for (uint32_t i = 0; launches[2 * i]; i++) {
        values[i] = (uint64_t)(launches[2 * i + 1] - '0');
        arguments[i] = (unsigned char *)&values[i];
        sizes[i] = 8;
        struct match_launch launch = {
            kernel_named(launches[2 * i]), {1, 1, 1}, {1, 1, 1}, 0, 8, arguments[i]};
        struct guard_view view = {.arguments = arguments, .argument_sizes = sizes, .steps = i + 1};
        if (!match_take(match, &state, &launch, &view)) break;
    }
    *depth = state.depth;
    *is_final = match_is_final(match, &state);
    return state.group < 0 ? NULL : plan.strings + plan.groups[state.group].name;
}

static void expect(const char *launches, const char *group, uint32_t depth, bool is_final)
{
    uint32_t taken;
    bool ends;
    const char *found = follow(launches, &taken, &ends);
    if (!group) assert_null(found);
    if (group) assert_non_null(found);
    if (group) assert_string_equal(found, group);
    assert_int_equal(taken, depth);
    assert_int_equal(ends, is_final);
}

static void follows_to_the_end(void **state)
{
    (void)state;
    OPEN("a1b2", "a1b2c.");
    expect("a1", NULL, 1, false);
    expect("a1b2", "a1b2", 2, false);
    expect("a1b2c7", "a1b2c.", 3, true);
    expect("a1b2a1", "a1b2", 2, false);
    expect("a2", NULL, 0, false);
    expect("a1b3", NULL, 1, false);
    close_plan();
}

/* The first step fits two patterns; only what comes later tells which. */
static void keeps_all_paths(void **state)
{
    (void)state;
    OPEN("a.b2", "a1b3", "a.b.c4");
    expect("a1b2", "a.b2", 2, false);
    expect("a1b3", "a1b3", 2, false);
    expect("a2b3", NULL, 2, false);
    expect("a2b2c4", "a.b.c4", 3, true);
    expect("a1b3c5", "a1b3", 2, false);
    close_plan();
}

static void first_in_the_plan_wins(void **state)
{
    (void)state;
    OPEN("a.b.", "a1b.", "a.b2");
    expect("a1b2", "a.b.", 2, true);
    match_enable(match, 0, false);
    expect("a1b2", "a1b.", 2, true);
    match_enable(match, 1, false);
    expect("a1b2", "a.b2", 2, true);
    match_enable(match, 2, false);
    expect("a1b2", NULL, 0, true);
    match_enable(match, 1, true);
    match_enable(match, 1, true);
    expect("a1b2", "a1b.", 2, true);
    close_plan();
}

static void equal_patterns_share_nodes(void **state)
{
    (void)state;
    OPEN("a1b2", "a1b2");
    expect("a1b2", "a1b2", 2, true);
    match_enable(match, 0, false);
    expect("a1b2", "a1b2", 2, true);
    match_enable(match, 1, false);
    expect("a1b2", NULL, 0, true);
    close_plan();
}

/* A step of size bytes of arguments, of which every other one is compared. */
static void add_sized(struct plan_builder *builder, uint32_t size)
{
    unsigned char mask[32], value[32];
    struct plan_kernel kernel = {.module = plan_build_module(builder, (struct hash128){1, 2}),
                                 .name = plan_build_string(builder, "k"),
                                 .parameter_bytes = size};
    struct plan_step step = {.kernel = plan_build_kernel(builder, &kernel),
                             .grid = {1, 2, 3},
                             .block = {4, 5, 6},
                             .dynamic_shared = 7,
                             .arguments_size = size};
    struct plan_variant variant = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    for (uint32_t i = 0; i < size; i++) {
        mask[i] = i % 2 ? 0xff : 0;
        value[i] = i % 2 ? (unsigned char)(100 + i) : 0;
    }
    plan_build_group(builder, "sized", 0, 1, 0);
    plan_build_step(builder, &step, mask, value, NULL, 0);
    plan_build_variant(builder, &variant, "fused", ".version 8.0", 13, NULL, 0, NULL, 0);
}

static bool takes(const struct match_launch *launch)
{
    struct match_state state;
    const struct guard_view view = {
        .arguments = &launch->arguments, .argument_sizes = &launch->arguments_size, .steps = 1};
    match_start(&state);
    return match_take(match, &state, launch, &view);
}

/* The buffer is exactly as long as the arguments, so that a sanitizer sees a read past its end. */
static void every_compared_byte_counts(void **state)
{
    (void)state;
    for (uint32_t size = 0; size <= 24; size++) {
        struct plan_builder *builder = start_plan();
        add_sized(builder, size);
        open_built(builder);
        unsigned char *arguments = malloc(size + !size);
        for (uint32_t i = 0; i < size; i++) arguments[i] = (unsigned char)(100 + i);
        struct match_launch launch = {0, {1, 2, 3}, {4, 5, 6}, 7, size, arguments};
        assert_true(takes(&launch));
        for (uint32_t i = 0; i < size; i++) {
            arguments[i] ^= 0x10;
            assert_int_equal(takes(&launch), i % 2 == 0);
            arguments[i] ^= 0x10;
        }
        uint32_t *const shape[] = {&launch.kernel,   &launch.grid[0],        &launch.grid[1],
                                   &launch.grid[2],  &launch.block[0],       &launch.block[1],
                                   &launch.block[2], &launch.dynamic_shared, &launch.arguments_size};
        for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
            ++*shape[i];
            assert_false(takes(&launch));
            --*shape[i];
        }
        free(arguments);
        close_plan();
    }
}

static void ranges_are_found(void **state)
{
    struct track_range range;
    uint64_t start, size;
    (void)state;
    track_memory_add(0x3000, 0x100, TRACE_MEMORY_DEVICE);
    track_memory_add(0x1000, 0x100, TRACE_MEMORY_DEVICE);
    track_memory_add(0x2000, 0x100, TRACE_MEMORY_HOST);
    track_memory_add(0x4000, 0, TRACE_MEMORY_DEVICE);
    assert_true(track_memory_find(0x10ff, &range) && range.start == 0x1000);
    assert_false(track_memory_find(0x1100, &range));
    assert_false(track_memory_find(0xfff, &range));
    assert_false(track_memory_find(0x4000, &range));
    assert_true(track_memory_plain(NULL, 0x3010, &start, &size) && start == 0x3000 && size == 0x100);
    assert_false(track_memory_plain(NULL, 0x2010, &start, &size));
    track_memory_add(0x1080, 0x1000, TRACE_MEMORY_DEVICE); /* replaces what it overlaps */
    assert_false(track_memory_find(0x1010, &range));
    assert_true(track_memory_find(0x2010, &range) && range.start == 0x1080);
    assert_false(track_memory_remove(0x2000, &range));
    assert_true(track_memory_remove(0x1080, &range) && range.size == 0x1000);
    assert_true(track_memory_remove(0x3000, &range));
    assert_false(track_memory_find(0x3010, &range));
    for (uint64_t i = 0; i < 1000; i++)
        track_memory_add((i * 7919 % 1000 + 1) << 12, 0x800, TRACE_MEMORY_DEVICE);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_true(track_memory_plain(NULL, (i << 12) + 0x7ff, &start, &size) && start == i << 12);
        assert_false(track_memory_plain(NULL, (i << 12) + 0x800, &start, &size));
    }
}

static bool may_start(uint64_t value, uint32_t grid_x)
{
    void *parameters[] = {&value};
    return starts_may_fit(starts_tables[kernel_named('a')], starts_shape(grid_x, 1, 1, 1, 1, 1, 0),
                          parameters);
}

/* What lets a launch through that begins no pattern costs time; what stops one that does would be wrong. */
static void starts_are_filtered(void **state)
{
    (void)state;
    const struct trace_parameter parameter = {.offset = 0, .size = 8};
    OPEN("a1b.", "a3c.", "a.d.");
    assert_true(starts_create(&plan));
    assert_null(starts_tables[kernel_named('b')]);
    assert_false(may_start(1, 1)); /* no group is on */
    starts_switch(0, true);
    assert_true(may_start(2, 1)); /* nobody knows where the argument is */
    starts_bind(kernel_named('a'), &parameter, 1);
    assert_true(may_start(1, 1));
    assert_false(may_start(3, 1) || may_start(1, 2) || may_start((uint64_t)1 << 32 | 1, 1));
    assert_true(starts_may_fit(starts_tables[kernel_named('a')], starts_shape(1, 1, 1, 1, 1, 1, 0), NULL));
    starts_switch(1, true);
    assert_true(may_start(1, 1) && may_start(3, 1));
    assert_false(may_start(2, 1) || may_start(5, 1)); /* in bits that both want alike */
    starts_switch(2, true);
    assert_true(may_start(1, 1) && may_start(3, 1) && may_start(2, 1));
    starts_switch(2, false);
    starts_switch(0, false);
    assert_true(may_start(3, 1));
    assert_false(may_start(1, 1));
    starts_switch(1, false);
    assert_false(may_start(3, 1));
    close_plan();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_to_the_end),         cmocka_unit_test(keeps_all_paths),
        cmocka_unit_test(first_in_the_plan_wins),     cmocka_unit_test(equal_patterns_share_nodes),
        cmocka_unit_test(every_compared_byte_counts), cmocka_unit_test(ranges_are_found),
        cmocka_unit_test(starts_are_filtered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
