/* SPDX-License-Identifier: Apache-2.0
 * Conflicts and groups of kernels whose accesses are given by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/hand.h"

#include <isl/options.h>
#include <string.h>

/* { L -> [byte] } of element i = bx * block + tx, below n */
#define LINE(block, n, size)                                                                                 \
    "{ L[bz, by, bx, tz, ty, tx] -> [" #size " * (" #block " bx + tx)] : " #block " bx + tx < " #n " }"
#define LINE_AT(block, from, to, size, shift)                                                                \
    "{ L[bz, by, bx, tz, ty, tx] -> [" #size " * (" #block " bx + tx) + " #shift "] : " #from " <= " #block  \
    " bx + tx < " #to " }"

#define AT(argument, relation)                                                                               \
    {                                                                                                        \
        argument, relation, false                                                                            \
    }

struct fixture {
    isl_ctx *ctx;
    struct memo memo;
    struct arena *arena;
    struct ptx_module *module;
    struct bound_launch members[8];
    uint32_t count;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    fixture.ctx = isl_ctx_alloc();
    isl_options_set_on_error(fixture.ctx, ISL_ON_ERROR_CONTINUE);
    fixture.memo = memo_open(fixture.ctx);
    fixture.memo.without_one_block = true; /* the launches are small */
    fixture.memo.without_last_block = true;
    fixture.arena = arena_create();
    fixture.module = hand_module("kernels.ptx");
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < fixture->count; i++) hand_release(&fixture->members[i]);
    arena_free(fixture->arena);
    ptx_module_free(fixture->module);
    memo_close(&fixture->memo);
    isl_ctx_free(fixture->ctx);
    return 0;
}

static struct bound_launch *bind(struct fixture *fixture, const struct hand_launch *launch)
{
    struct bound_launch *bound = &fixture->members[fixture->count++];
    *bound = hand_bind(fixture->ctx, fixture->arena, fixture->module, launch);
    return bound;
}

/* x = w + y on arrays 0, 1, 2 */
static const struct hand_launch add_launch = {
    "add",
    {4, 1, 1},
    {256, 1, 1},
    {AT(16, LINE(256, 1000, 4)), AT(8, LINE(256, 1000, 4)), AT(0, LINE(256, 1000, 4))},
    {2, 1, 0}};
/* x = x + z on arrays 0, 3 */
static const struct hand_launch add_to_launch = {
    "add_to",
    {4, 1, 1},
    {256, 1, 1},
    {AT(8, LINE(256, 1000, 4)), AT(0, LINE(256, 1000, 4)), AT(0, LINE(256, 1000, 4))},
    {3, 0}};

/* y from x and its neighbours, on arrays 0, 1 */
static const struct hand_launch stencil_launch = {
    "stencil",
    {4, 1, 1},
    {256, 1, 1},
    {AT(8, LINE_AT(256, 1, 999, 4, -4)), AT(8, LINE_AT(256, 1, 999, 4, 0)), AT(8, LINE_AT(256, 1, 999, 4, 4)),
     AT(0, LINE_AT(256, 1, 999, 4, 0))},
    {0, 1}};

static void disjoint_arrays_do_not_conflict(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch other = add_to_launch;
    other.arrays[1] = 7;
    struct bound_launch *p = bind(fixture, &add_launch), *q = bind(fixture, &other);
    struct conflict conflict;
    conflict_between(&fixture->memo, p, q, &conflict);
    assert_int_equal(conflict.class, CONFLICT_NONE);
}

/* The last member's load of array 0 ends a loop: who writes it must have ended. */
static void what_ends_a_loop_is_written_by_no_member(void **state)
{
    struct fixture *fixture = *state;
    for (int ends_loop = 0; ends_loop < 2; ends_loop++) {
        struct bound_launch members[2] = {*bind(fixture, &add_launch), *bind(fixture, &add_to_launch)};
        struct conflict conflict;
        members[1].summary->accesses[1].ends_loop = ends_loop;
        conflict_between(&fixture->memo, &members[0], &members[1], &conflict);
        assert_int_equal(conflict.class, ends_loop ? CONFLICT_OTHER : CONFLICT_THREAD);
        struct group *group = group_decide(&fixture->memo, members, 2);
        assert_non_null(group);
        assert_int_equal(group->refusal != NULL, ends_loop);
        if (ends_loop) assert_non_null(strstr(group->refusal, "a loop of kernel add_to ends by what line"));
        group_free(group);
    }
}

static void elementwise_kernels_meet_in_one_thread(void **state)
{
    struct fixture *fixture = *state;
    struct bound_launch *p = bind(fixture, &add_launch), *q = bind(fixture, &add_to_launch);
    struct conflict conflict;
    conflict_between(&fixture->memo, p, q, &conflict);
    assert_int_equal(conflict.class, CONFLICT_THREAD);
    assert_int_equal(conflict.shared_bytes, 4000);
}

/* It overwrites what other blocks would need to compute again. */
static void a_stencil_is_refused_with_two_threads(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch stencil = stencil_launch;
    stencil.arrays[1] = 0;
    struct bound_launch *p = bind(fixture, &add_launch), *q = bind(fixture, &stencil);
    struct conflict conflict;
    conflict_between(&fixture->memo, p, q, &conflict);
    assert_int_equal(conflict.class, CONFLICT_OTHER);
    assert_true(conflict.has_witness);
    int32_t first = conflict.witness.p[2] * 256 + conflict.witness.p[5];
    int32_t second = conflict.witness.q[2] * 256 + conflict.witness.q[5];
    assert_true(first - second == 1 || first - second == -1);
    assert_int_equal(conflict.witness.byte, 4 * first); /* add's third array */
    assert_non_null(strstr(conflict.reason, "kernel add line"));
    assert_non_null(strstr(conflict.reason, "kernel stencil line"));
    assert_non_null(strstr(conflict.reason, "thread ("));
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_non_null(group->refusal);
    group_free(group);
}

/* What add reads, a second buffer keeps. */
static void a_stencil_that_overwrites_needs_a_second_buffer(void **state)
{
    struct fixture *fixture = *state;
    struct bound_launch *p = bind(fixture, &add_launch), *q = bind(fixture, &stencil_launch);
    struct conflict conflict;
    conflict_between(&fixture->memo, p, q, &conflict);
    assert_int_equal(conflict.class, CONFLICT_RENAMED);
}

static void an_unknown_address_conflicts_with_its_array(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch unknown = add_to_launch;
    unknown.accesses[1].relation = unknown.accesses[2].relation = NULL;
    struct bound_launch *p = bind(fixture, &add_launch), *q = bind(fixture, &unknown);
    struct conflict conflict;
    conflict_between(&fixture->memo, p, q, &conflict);
    assert_int_equal(conflict.class, CONFLICT_UNKNOWN);
}

static void values_pass_in_registers_and_the_first_store_goes(void **state)
{
    struct fixture *fixture = *state;
    bind(fixture, &add_launch);
    bind(fixture, &add_to_launch);
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_null(group->refusal);
    assert_int_equal(group->remaps[0].kind, REMAP_SAME);
    assert_int_equal(group->remaps[1].kind, REMAP_SAME);
    assert_int_equal(group->forward_count, 1);
    assert_int_equal(group->forwards[0].from_member, 0);
    assert_int_equal(group->forwards[0].to_member, 1);
    assert_int_equal(group->forwards[0].to_instruction, fixture->members[1].summary->accesses[1].instruction);
    assert_false(group->forwards[0].round_product);
    assert_int_equal(group->drop_count, 1);
    assert_int_equal(group->drops[0].member, 0);
    assert_int_equal(group->bytes_saved, 8000);
    assert_int_equal(group->exit_count, 2);
    assert_int_equal(group->exits[0].kind, GROUP_EXIT_ALL);
    assert_int_equal(group->exits[1].kind, GROUP_EXIT_NEVER);
    group_free(group);
}

/* What the block's other threads have loaded is in a cache; other arrays, and what only the last block
 * touches, are not. */
static void a_block_finds_in_the_cache_what_it_touched(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch shifted = {
        "add",
        {4, 1, 1},
        {256, 1, 1},
        {AT(16, LINE_AT(256, 0, 999, 4, 4)), AT(8, LINE_AT(256, 0, 999, 4, 4)), AT(0, LINE(256, 1000, 4))},
        {1, 4, 3}};
    bind(fixture, &add_launch);
    bind(fixture, &shifted);
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_null(group->refusal);
    assert_int_equal(group->forward_count, 0);
    assert_int_equal(group->cached_count, 1);
    assert_int_equal(group->cached[0].member, 1);
    assert_int_equal(group->cached[0].instruction, fixture->members[1].summary->accesses[0].instruction);
    assert_in_range(group->bytes_cached, 3900, 4096);
    assert_in_range(group->block_bytes, 5 * 999, 5 * 1024); /* of five arrays */
    group_free(group);
    fixture->members[1].bindings =
        (const struct array_binding[]){{.array = 5, .size = 4096, .is_plain = true, .is_private = true},
                                       {.array = 4, .size = 4096, .is_plain = true, .is_private = true},
                                       {.array = 3, .size = 4096, .is_plain = true, .is_private = true}};
    group = group_decide(&fixture->memo, fixture->members, 2);
    assert_int_equal(group->cached_count, 0);
    group_free(group);
}

static void a_product_that_is_only_stored_is_rounded(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch multiply = add_launch;
    multiply.kernel = "multiply";
    bind(fixture, &multiply);
    bind(fixture, &add_to_launch);
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_int_equal(group->forward_count, 1);
    assert_true(group->forwards[0].round_product);
    assert_int_equal(group->drop_count, 1);
    group_free(group);
}

static void a_product_with_another_use_keeps_store_and_load(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch square = {
        "square_and_shift",
        {4, 1, 1},
        {256, 1, 1},
        {AT(0, LINE(256, 1000, 4)), AT(8, LINE(256, 1000, 4)), AT(0, LINE(256, 1000, 4))},
        {0, 4}};
    bind(fixture, &square);
    bind(fixture, &add_to_launch);
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_null(group->refusal);
    assert_int_equal(group->forward_count, 0);
    assert_int_equal(group->drop_count, 0);
    group_free(group);
}

static void a_store_that_data_decide_neither_forwards_nor_overwrites(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch clip = {
        "clip", {4, 1, 1}, {256, 1, 1}, {AT(0, LINE(256, 1000, 4)), {0, LINE(256, 1000, 4), true}}, {0}};
    bind(fixture, &add_launch);
    bind(fixture, &clip);
    bind(fixture, &add_to_launch);
    struct group *group = group_decide(&fixture->memo, fixture->members, 3);
    assert_null(group->refusal);
    assert_int_equal(group->forward_count, 1); /* clip's load alone */
    assert_int_equal(group->forwards[0].to_member, 1);
    assert_int_equal(group->drop_count, 0); /* add_to must load what add stored where clip stored nothing */
    group_free(group);
}

static void shorter_launches_do_not_lead_longer_ones_out(void **state)
{
    struct fixture *fixture = *state;
    struct hand_launch shorter = add_launch;
    for (int i = 0; i < 3; i++) shorter.accesses[i].relation = LINE(256, 700, 4);
    bind(fixture, &shorter);
    bind(fixture, &add_to_launch);
    struct group *group = group_decide(&fixture->memo, fixture->members, 2);
    assert_null(group->refusal);
    assert_int_equal(group->forward_count, 0); /* elements from 700 on must be loaded */
    assert_int_equal(group->drop_count, 0);    /* and so add's store must be there */
    for (uint32_t i = 0; i < group->exit_count; i++) assert_int_not_equal(group->exits[i].member, 0);
    group_free(group);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(disjoint_arrays_do_not_conflict),
        CASE(what_ends_a_loop_is_written_by_no_member),
        CASE(elementwise_kernels_meet_in_one_thread),
        CASE(a_stencil_is_refused_with_two_threads),
        CASE(a_stencil_that_overwrites_needs_a_second_buffer),
        CASE(an_unknown_address_conflicts_with_its_array),
        CASE(values_pass_in_registers_and_the_first_store_goes),
        CASE(a_block_finds_in_the_cache_what_it_touched),
        CASE(a_product_that_is_only_stored_is_rounded),
        CASE(a_product_with_another_use_keeps_store_and_load),
        CASE(a_store_that_data_decide_neither_forwards_nor_overwrites),
        CASE(shorter_launches_do_not_lead_longer_ones_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
