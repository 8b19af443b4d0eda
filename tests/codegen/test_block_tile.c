/* SPDX-License-Identifier: Apache-2.0
 * Values that a block hands on in shared memory: which loads are served, which stores stay out of memory, and
 * that the results are the originals' bits, under every order of threads and without a race. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <stdio.h>
#include <string.h>

enum { N = 192, LARGE = 256 };

#define ROW .grid = {3, 1, 1}, .block = {64, 1, 1}
#define FLOATS(bytes)                                                                                        \
    {                                                                                                        \
        (bytes), 'f'                                                                                         \
    }
#define ARRAYS(bytes) {FLOATS(bytes), FLOATS(bytes), FLOATS(bytes), FLOATS(bytes)}, .module = "handed.ptx"

/* rows (of all layers), width, row_bytes: of the first tile, 0: there is none. loads: that tiles serve;
 * stores: into tiles, and out of memory */
struct expected {
    uint32_t rows, width, row_bytes, loads, stores, left_out;
};

static void expect(const struct scene *scene, struct expected expected)
{
    struct scene_run run;
    struct expected found = {0};
    scene_open(&run, scene);
    assert_true(scene_compare(&run, scene));
    const struct group *group = run.group;
    if (group->block_tile_count)
        found = (struct expected){group->block_tiles->layers * group->block_tiles->rows,
                                  group->block_tiles->width,
                                  group->block_tiles->row_bytes,
                                  0,
                                  0,
                                  0};
    for (uint32_t i = 0; i < group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &group->tile_accesses[i];
        const struct ptx_function *function = group->members[tiled->member].summary->function;
        bool is_store = ptx_is_store(&function->instructions[tiled->instruction]);
        *(is_store ? &found.stores : &found.loads) += 1;
        found.left_out += is_store && !tiled->is_global;
    }
    if (memcmp(&found, &expected, sizeof found))
        fail_msg("%u rows of %u bytes, %u in the tile; %u loads, %u stores, %u left out; not %u, %u, %u; %u, "
                 "%u, %u",
                 found.rows, found.width, found.row_bytes, found.loads, found.stores, found.left_out,
                 expected.rows, expected.width, expected.row_bytes, expected.loads, expected.stores,
                 expected.left_out);
    scene_close(&run);
}

/* Whether all that reads the array in the group reads the tile. */
static void expect_private(const struct scene *scene, bool is_private)
{
    struct scene_run run;
    scene_open(&run, scene);
    assert_int_equal(run.group->block_tile_count, 1);
    assert_int_equal(run.group->block_tiles->is_private, is_private);
    scene_close(&run);
}

static void expect_none(const struct scene *scene)
{
    expect(scene, (struct expected){0});
}

/* --- one row */

static void another_thread_has_it(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"doubled", ROW, {POINTER(1), POINTER(0)}}, {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 1, 1, 0});
}

static void pointers_into_the_array(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled", ROW, {POINTER_AT(1, 512), POINTER(0)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER_AT(1, 512)}}},
                                ARRAYS(8 * N)};
    expect(&scene, (struct expected){1, 256, 256, 1, 1, 0});
}

static void members_have_shared_memory_of_their_own(void **state)
{
    (void)state;
    const struct scene scene = {{{"mirrored_apart", ROW, {POINTER(1), POINTER(0)}},
                                 {"mirrored_apart", ROW, {POINTER(2), POINTER(1)}},
                                 {"mirrored_apart", ROW, {POINTER(3), POINTER(2)}}},
                                ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 2, 2, 0});
}

static void overwritten_in_place(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled", ROW, {POINTER(1), POINTER(0)}},
                                 {"mirrored_in_place", ROW, {POINTER(1)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
                                ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 2, 2, 1});
    expect_private(&scene, true);
}

static void what_is_read_in_memory_goes_there(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled_even", ROW, {POINTER(1), POINTER(0)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER(1)}},
                                 {"doubled", ROW, {POINTER(1), POINTER(0)}},
                                 {"mirrored", ROW, {POINTER(3), POINTER(1)}}},
                                ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 1, 2, 0});
    expect_private(&scene, false);
}

static void some_are_overwritten(void **state)
{
    (void)state;
    struct scene scene = {{{"doubled", ROW, {POINTER(1), POINTER(0)}},
                           {"doubled_if_positive", ROW, {POINTER(1), POINTER(3)}},
                           {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
                          ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 2, 2, 0});
    scene.launches[1].kernel = "doubled_even";
    expect(&scene, (struct expected){1, 256, 256, 2, 2, 0});
}

static void later_stores_stay_out(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled", ROW, {POINTER(1), POINTER(0)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER(1)}},
                                 {"doubled_even", ROW, {POINTER(1), POINTER(0)}}},
                                ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 256, 256, 1, 1, 0});
}

static void the_last_block_is_smaller(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled_below", ROW, {POINTER(1), POINTER(0), INT(N - 5)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
                                ARRAYS(4 * N)};
    expect_none(&scene);
    const struct scene fits = {{{"doubled_below", ROW, {POINTER(1), POINTER(0), INT(N)}},
                                {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
                               ARRAYS(4 * N)};
    expect(&fits, (struct expected){1, 256, 256, 1, 1, 0});
}

static void half_of_it_is_enough(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"doubled_even", ROW, {POINTER(1), POINTER(0)}}, {"mirrored_even", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(4 * N)};
    expect(&scene, (struct expected){1, 252, 252, 2, 1, 0});
}

/* --- vectors */

static void vectors_are_taken_apart(void **state)
{
    (void)state;
    const struct scene ones = {
        {{"fours", ROW, {POINTER(1), POINTER(0)}}, {"mirrored_ones", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(16 * N)};
    expect(&ones, (struct expected){1, 1024, 1024, 4, 1, 0});
    const struct scene twos = {
        {{"fours", ROW, {POINTER(1), POINTER(0)}}, {"mirrored_twos", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(16 * N)};
    expect(&twos, (struct expected){1, 1024, 1024, 2, 1, 0});
}

static void vectors_are_put_together(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"mirrored_twos", ROW, {POINTER(1), POINTER(0)}}, {"fours", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(16 * N)};
    expect(&scene, (struct expected){1, 1024, 1024, 1, 2, 0});
}

static void single_bytes(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"bytes", ROW, {POINTER(1), POINTER(0)}}, {"mirrored_bytes", ROW, {POINTER(2), POINTER(1)}}},
        {{N, 'b'}, {N, 'b'}, {N, 'b'}},
        .module = "handed.ptx"};
    expect(&scene, (struct expected){1, 64, 64, 2, 1, 0});
}

/* --- not handed on */

static void bytes_that_were_there_before(void **state)
{
    (void)state;
    struct scene scene = {
        {{"doubled_even", ROW, {POINTER(1), POINTER(0)}}, {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
        ARRAYS(4 * N)};
    expect_none(&scene);
    scene.launches[0].kernel = "doubled_if_positive";
    expect_none(&scene);
}

static void much_is_stored_and_little_read(void **state)
{
    (void)state;
    const struct scene scene = {{{"fours", ROW, {POINTER(1), POINTER(0)}},
                                 {"fours", ROW, {POINTER(2), POINTER(1)}},
                                 {"two_bytes_of_four", ROW, {POINTER(3), POINTER(2)}}},
                                ARRAYS(16 * N)};
    expect_none(&scene);
}

static void atomics(void **state)
{
    (void)state;
    const struct scene scene = {{{"doubled", ROW, {POINTER(1), POINTER(0)}},
                                 {"added_atomically", ROW, {POINTER(1)}},
                                 {"mirrored", ROW, {POINTER(2), POINTER(1)}}},
                                ARRAYS(4 * N)};
    expect_none(&scene);
}

/* --- tiles of a matrix */

#define TILES .grid = {3, 2, 1}, .block = {32, 8, 1}

static void a_matrix(int m, int n, struct expected expected)
{
    const struct scene scene = {{{"scaled_tile", TILES, {POINTER(1), POINTER(0), INT(m), INT(n)}},
                                 {"transposed_tile", TILES, {POINTER(2), POINTER(1), INT(m), INT(n)}}},
                                ARRAYS(4 * 64 * 96)};
    expect(&scene, expected);
}

static void rows_in_loops(void **state)
{
    (void)state;
    a_matrix(64, 96, (struct expected){32, 128, 132, 1, 1, 0});
    a_matrix(61, 90, (struct expected){32, 128, 132, 1, 1, 0}); /* 360 is no power of two */
    a_matrix(33, 65, (struct expected){32, 128, 132, 1, 1, 0});
}

static void one_block_has_all_rows(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"scaled_tile", .grid = {1, 1, 1}, .block = {32, 8, 1}, {POINTER(1), POINTER(0), INT(32), INT(32)}},
         {"transposed_tile",
          .grid = {1, 1, 1},
          .block = {32, 8, 1},
          {POINTER(2), POINTER(1), INT(32), INT(32)}}},
        ARRAYS(4096)};
    expect(&scene, (struct expected){1, 4096, 4096, 1, 1, 0});
}

static void boxes_of_a_volume(void **state)
{
    (void)state;
    const int extents[][2] = {{12, 16}, {13, 270}, {8, 512}};
    for (int i = 0; i < 3; i++) {
        int m = extents[i][0], n = extents[i][1];
        const struct scene scene = {
            {{"filled_box", .grid = {2, 2, 2}, .block = {8, 4, 4}, {POINTER(1), POINTER(0), INT(m), INT(n)}},
             {"turned_box", .grid = {2, 2, 2}, .block = {8, 4, 4}, {POINTER(2), POINTER(1), INT(m), INT(n)}}},
            ARRAYS(4 * 8 * 13 * 512)};
        expect(&scene, i ? (struct expected){16, 32, 40, 2, 1, 0} : (struct expected){4, 224, 224, 2, 1, 0});
    }
}

static void larger_than_may_be_declared(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"large_tile", .grid = {2, 2, 1}, .block = {16, 16, 1}, {POINTER(1), POINTER(0), INT(LARGE)}},
         {"large_tile_in_rows", .grid = {2, 2, 1}, .block = {32, 8, 1}, {POINTER(1), INT(LARGE)}},
         {"large_tile_in_rows", .grid = {2, 2, 1}, .block = {32, 8, 1}, {POINTER(1), INT(LARGE)}}},
        ARRAYS(4 * LARGE * LARGE)};
    expect(&scene, (struct expected){128, 512, 520, 32, 48, 32});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_thread_has_it),
        cmocka_unit_test(pointers_into_the_array),
        cmocka_unit_test(members_have_shared_memory_of_their_own),
        cmocka_unit_test(overwritten_in_place),
        cmocka_unit_test(what_is_read_in_memory_goes_there),
        cmocka_unit_test(some_are_overwritten),
        cmocka_unit_test(later_stores_stay_out),
        cmocka_unit_test(the_last_block_is_smaller),
        cmocka_unit_test(half_of_it_is_enough),
        cmocka_unit_test(vectors_are_taken_apart),
        cmocka_unit_test(vectors_are_put_together),
        cmocka_unit_test(single_bytes),
        cmocka_unit_test(bytes_that_were_there_before),
        cmocka_unit_test(much_is_stored_and_little_read),
        cmocka_unit_test(atomics),
        cmocka_unit_test(rows_in_loops),
        cmocka_unit_test(one_block_has_all_rows),
        cmocka_unit_test(boxes_of_a_volume),
        cmocka_unit_test(larger_than_may_be_declared),
    };
    return cmocka_run_group_tests_name("block tiles", tests, NULL, NULL);
}
