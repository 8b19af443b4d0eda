/* SPDX-License-Identifier: Apache-2.0
 * Fused kernels leave the same memory as their originals, in every order of blocks and warps; and what may
 * not be fused is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000, BYTES_F = 4 * 1024, BYTES_D = 8 * 1024 };

/* Compares memory and checks what the group made of the scene. */
static void expect(const struct scene *scene, uint32_t forwards, uint32_t drops, const char *remaps)
{
    struct scene_run run;
    scene_open(&run, scene);
    assert_true(scene_compare(&run, scene));
    assert_int_equal(run.group->forward_count, forwards);
    assert_int_equal(run.group->drop_count, drops);
    for (uint32_t i = 0; i < run.launch_count; i++)
        assert_int_equal("SGLTA"[run.group->remaps[i].kind], remaps[i]);
    scene_close(&run);
}

static void expect_refusal(const struct scene *scene, const char *text)
{
    struct scene_run run;
    scene_open(&run, scene);
    assert_non_null(run.group->refusal);
    if (!strstr(run.group->refusal, text)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

#define ROW(blocks, threads) .grid = {blocks, 1, 1}, .block = {threads, 1, 1}
#define FLOATS                                                                                               \
    {                                                                                                        \
        BYTES_F, 'f'                                                                                         \
    }
#define DOUBLES                                                                                              \
    {                                                                                                        \
        BYTES_D, 'd'                                                                                         \
    }

static void vadd_in_place(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void vadd_with_a_temporary_keeps_its_store(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"add", ROW(4, 256), {POINTER(3), POINTER(0), POINTER(2), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 2, 0, "SS"); /* the sum, and y that both load */
}

static void a_chain_of_eight(void **state)
{
    (void)state;
    struct scene scene = {.arrays = {FLOATS}};
    for (int i = 0; i < 8; i++)
        scene.launches[i] = (struct scene_launch){
            "chain_step", ROW(4, 256), {POINTER(0), FLOAT(1.0 + i / 8.0), FLOAT(i - 3.5), INT(N)}};
    expect(&scene, 7, 7, "SSSSSSSS");
}

static void different_block_sizes(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(8, 128), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}},
                                 {"chain_step", ROW(11, 96), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 2, 2, "GGS");
}

static void early_returns_at_different_lengths(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(1000)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(700)}},
                                 {"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(900)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 1, 0, "SSS");
}

static void longer_after_shorter(void **state)
{
    (void)state;
    const struct scene scene = {{{"add_to", ROW(3, 256), {POINTER(0), POINTER(3), INT(700)}},
                                 {"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(900)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 0, 0, "GS");
}

static void a_product_is_rounded_when_it_is_forwarded(void **state)
{
    (void)state;
    const struct scene scene = {{{"multiply", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void a_contracted_product_is_reloaded(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"square_and_shift", ROW(4, 256), {POINTER(0), POINTER(1), FLOAT(0.7), INT(N)}},
         {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}}},
        {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 0, 0, "SS");
}

static void grid_stride_with_a_full_launch(void **state)
{
    (void)state;
    const struct scene scene = {{{"grid_stride", ROW(2, 128), {POINTER(0), POINTER(1), INT(N)}},
                                 {"scale_double", ROW(4, 256), {POINTER(0), DOUBLE(0.3), INT(N)}}},
                                {DOUBLES, DOUBLES}};
    expect(&scene, 0, 0, "ST");
}

static void full_launch_with_grid_stride(void **state)
{
    (void)state;
    const struct scene scene = {{{"scale_double", ROW(4, 256), {POINTER(0), DOUBLE(0.3), INT(N)}},
                                 {"grid_stride", ROW(2, 128), {POINTER(0), POINTER(1), INT(N)}}},
                                {DOUBLES, DOUBLES}};
    expect(&scene, 0, 0, "TS");
}

static void grid_stride_twice(void **state)
{
    (void)state;
    const struct scene scene = {{{"grid_stride", ROW(2, 128), {POINTER(0), POINTER(1), INT(N)}},
                                 {"grid_stride", ROW(2, 128), {POINTER(1), POINTER(0), INT(N)}}},
                                {DOUBLES, DOUBLES}};
    expect(&scene, 2, 0, "SS"); /* in each iteration of both loops */
}

struct box {
    double scale;
    int nx, ny;
    signed char shift;
    unsigned short mask;
};
static const struct box box = {0.25, 40, 25, -3, 60000};

static void planes_of_different_tiles(void **state)
{
    (void)state;
    const struct scene scene = {{{"plane", {2, 4, 1}, {32, 8, 1}, {POINTER(0), POINTER(1), BYTES(&box)}},
                                 {"plane", {3, 2, 1}, {16, 16, 1}, {POINTER(2), POINTER(0), BYTES(&box)}}},
                                {DOUBLES, DOUBLES, DOUBLES}};
    expect(&scene, 1, 0, "SG");
}

static void a_plane_and_a_line(void **state)
{
    (void)state;
    const struct scene scene = {{{"plane", {2, 4, 1}, {32, 8, 1}, {POINTER(0), POINTER(1), BYTES(&box)}},
                                 {"line", ROW(4, 256), {POINTER(0), POINTER(2), INT(N)}}},
                                {DOUBLES, DOUBLES, DOUBLES}};
    expect(&scene, 1, 0, "SA");
}

static void rows_and_a_line(void **state)
{
    (void)state;
    static const struct box wide = {0.25, 64, 15, 3, 7};
    const struct scene scene = {{{"plane", {2, 15, 1}, {32, 1, 1}, {POINTER(0), POINTER(1), BYTES(&wide)}},
                                 {"line", ROW(5, 192), {POINTER(0), POINTER(2), INT(960)}}},
                                {DOUBLES, DOUBLES, DOUBLES}};
    expect(&scene, 1, 0, "SL");
}

static void reversed_index(void **state)
{
    (void)state;
    const struct scene scene = {{{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}},
                                 {"reversed", ROW(4, 256), {POINTER(1), POINTER(0), INT(N)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 1, 0, "SA");
}

static void bytes_are_not_forwarded(void **state)
{
    (void)state;
    const struct scene scene = {{{"bytes", ROW(4, 256), {POINTER(0), POINTER(1), INT(N)}},
                                 {"from_bytes", ROW(4, 256), {POINTER(2), POINTER(0), INT(N)}}},
                                {{1024, 'b'}, {2048, 'b'}, {4096, 'b'}}};
    expect(&scene, 0, 0, "SS");
}

static void vectors_pass_whole(void **state)
{
    (void)state;
    const struct scene scene = {{{"pairs", ROW(2, 256), {POINTER(0), POINTER(1), INT(500)}},
                                 {"pairs_again", ROW(2, 256), {POINTER(0), INT(500)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void a_store_of_half_the_elements(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"clear_even", ROW(4, 256), {POINTER(0), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 0, 0, "SSS"); /* what add_to loads comes from either; what they stored is loaded */
}

static void a_store_that_data_decide(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"clip", ROW(4, 256), {POINTER(0), FLOAT(0.5), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(0), POINTER(3), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 1, 0, "SSS");
}

static void noncoherent_loads_become_plain(void **state)
{
    (void)state;
    const struct scene scene = {{{"clip", ROW(4, 256), {POINTER(0), FLOAT(0.5), INT(N)}},
                                 {"read_only", ROW(4, 256), {POINTER(1), POINTER(0), INT(N)}}},
                                {FLOATS, FLOATS}};
    struct scene_run run;
    scene_open(&run, &scene);
    assert_int_equal(run.group->demote_count, 1);
    scene_close(&run);
    expect(&scene, 0, 0, "SS");
}

static void a_loop_then_its_result(void **state)
{
    (void)state;
    const struct scene scene = {{{"sum_loop", ROW(1, 128), {POINTER(0), POINTER(1), INT(100), INT(7)}},
                                 {"chain_step", ROW(1, 128), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(100)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void atomics_keep_their_place(void **state)
{
    (void)state;
    const struct scene scene = {{{"count_up", ROW(4, 256), {POINTER(0), INT(N)}},
                                 {"add", ROW(4, 256), {POINTER(1), POINTER(2), POINTER(3), INT(N)}}},
                                {{4096, 'b'}, FLOATS, FLOATS, FLOATS}};
    expect(&scene, 0, 0, "SS");
}

static void half_precision_products(void **state)
{
    (void)state;
    const struct scene scene = {{{"half_multiply", ROW(4, 256), {POINTER(0), POINTER(1), INT(N)}},
                                 {"half_add", ROW(4, 256), {POINTER(0), POINTER(1), INT(N)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 2, 1, "SS");
}

static void sixteen_bits_pass_in_sixteen_bit_registers(void **state)
{
    (void)state;
    static const unsigned short one = 0x3c00, two = 0x4000;
    const struct scene scene = {{{"half_scalars", ROW(4, 256), {POINTER(0), BYTES(&one), INT(N)}},
                                 {"half_scalars", ROW(4, 256), {POINTER(0), BYTES(&two), INT(N)}}},
                                {FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void volatile_accesses_stay(void **state)
{
    (void)state;
    const struct scene scene = {{{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}},
                                 {"watched", ROW(4, 256), {POINTER(0), INT(N)}},
                                 {"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}}},
                                {FLOATS}};
    struct scene_run run;
    scene_open(&run, &scene);
    if (!run.group->refusal) { /* it may also be refused: volatile loads may wait */
        assert_int_equal(run.group->forward_count, 0);
        assert_int_equal(run.group->drop_count, 0);
    }
    scene_close(&run);
}

static void predicated_accesses(void **state)
{
    (void)state;
    const struct scene scene = {{{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}},
                                 {"predicated", ROW(4, 256), {POINTER(1), POINTER(0), INT(900)}},
                                 {"chain_step", ROW(4, 256), {POINTER(1), FLOAT(2.0), FLOAT(1.0), INT(900)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 2, 1, "SSS");
}

static void nested_branches_and_loops(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"nested", ROW(4, 256), {POINTER(1), POINTER(0), INT(N)}},
                                 {"nested", ROW(4, 256), {POINTER(0), POINTER(1), INT(N)}},
                                 {"add_to", ROW(4, 256), {POINTER(1), POINTER(0), INT(N)}}},
                                {FLOATS, FLOATS, FLOATS}};
    expect(&scene, 4, 2, "SSSS");
}

static void integers_of_64_bits(void **state)
{
    (void)state;
    static const unsigned long long mask = 0x123456789abcdef0u;
    const struct scene scene = {{{"longs", ROW(4, 256), {POINTER(0), POINTER(1), BYTES(&mask), INT(N)}},
                                 {"longs", ROW(4, 256), {POINTER(0), POINTER(1), BYTES(&mask), INT(N)}}},
                                {{BYTES_D, 'b'}, {4096, 'b'}}};
    expect(&scene, 2, 1, "SS");
}

static void mathematical_functions(void **state)
{
    (void)state;
    const struct scene scene = {{{"sincos_of", ROW(4, 256), {POINTER(0), POINTER(1), INT(N)}},
                                 {"log_of", ROW(4, 256), {POINTER(0), INT(N)}}},
                                {FLOATS, FLOATS}};
    expect(&scene, 1, 1, "SS");
}

static void local_arrays(void **state)
{
    (void)state;
    const struct scene scene = {{{"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}},
                                 {"sorted", ROW(4, 256), {POINTER(1), POINTER(0), INT(N), INT(3)}}},
                                {FLOATS, FLOATS, FLOATS}};
    struct scene_run run;
    scene_open(&run, &scene);
    if (!run.group->refusal) assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void a_missing_compiler_is_named(void **state)
{
    (void)state;
    const struct scene scene = {{{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}}},
                                {FLOATS}};
    struct scene_run run;
    struct codegen_result result;
    scene_open(&run, &scene);
    struct codegen_request request = {.group = run.group, .name = "alone", .sm = 90};
    setenv("KFUSE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    codegen_compile(&request, &result);
    unsetenv("KFUSE_NVRTC");
    assert_non_null(result.source);
    assert_non_null(result.error);
    assert_non_null(strstr(result.error, "CUDA_HOME"));
    codegen_result_clear(&result);
    scene_close(&run);
}

static void a_shift_in_place_is_refused(void **state)
{
    (void)state;
    const struct scene scene = {{{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(N)}},
                                 {"shifted", ROW(4, 256), {POINTER(0), INT(N)}}},
                                {FLOATS}};
    expect_refusal(&scene, "from another thread");
}

/* An element that a thread writes is the next one's: a block has another box of the second launch. */
static void an_offset_pointer_is_seen(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"chain_step", ROW(4, 256), {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(900)}},
         {"chain_step", ROW(4, 256), {POINTER_AT(0, 4), FLOAT(2.0), FLOAT(1.0), INT(900)}}},
        {FLOATS}};
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->remaps[1].kind, REMAP_COARSENED);
    assert_int_equal(run.group->remaps[1].coarsening->origin[0], -1);
    scene_close(&run);
}

/* What the second works on begins inside the last pair. */
static void half_of_the_last_element_is_seen(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"pairs", ROW(2, 256), {POINTER(0), POINTER(1), INT(500)}},
         {"chain_step", ROW(1, 256), {POINTER_AT(0, 3996), FLOAT(2.0), FLOAT(1.0), INT(20)}}},
        {FLOATS, FLOATS}};
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_non_null(run.group->barriers);
    assert_true(run.group->barriers[1]);
    scene_close(&run);
}

/* With 32 registers a thread, as the second was made, the first would spill. */
static void blocks_that_a_member_asked_for_are_given_up(void **state)
{
    (void)state;
    const struct scene scene = {{{"many_values", ROW(4, 256), {POINTER(0), POINTER(1), INT(1000)}},
                                 {"in_many_blocks", ROW(4, 256), {POINTER(2), POINTER(0), INT(1000)}}},
                                {FLOATS, FLOATS, FLOATS}};
    expect(&scene, 1, 0, "SS");
}

static void a_member_that_asks_for_nothing(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"idle", ROW(4, 256)}, {"add", ROW(4, 256), {POINTER(0), POINTER(1), POINTER(2), INT(N)}}},
        {FLOATS, FLOATS, FLOATS}};
    expect(&scene, 0, 0, "SS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vadd_in_place),
        cmocka_unit_test(vadd_with_a_temporary_keeps_its_store),
        cmocka_unit_test(a_chain_of_eight),
        cmocka_unit_test(different_block_sizes),
        cmocka_unit_test(early_returns_at_different_lengths),
        cmocka_unit_test(longer_after_shorter),
        cmocka_unit_test(a_product_is_rounded_when_it_is_forwarded),
        cmocka_unit_test(a_contracted_product_is_reloaded),
        cmocka_unit_test(grid_stride_with_a_full_launch),
        cmocka_unit_test(full_launch_with_grid_stride),
        cmocka_unit_test(grid_stride_twice),
        cmocka_unit_test(planes_of_different_tiles),
        cmocka_unit_test(a_plane_and_a_line),
        cmocka_unit_test(rows_and_a_line),
        cmocka_unit_test(reversed_index),
        cmocka_unit_test(bytes_are_not_forwarded),
        cmocka_unit_test(vectors_pass_whole),
        cmocka_unit_test(a_store_of_half_the_elements),
        cmocka_unit_test(a_store_that_data_decide),
        cmocka_unit_test(noncoherent_loads_become_plain),
        cmocka_unit_test(a_loop_then_its_result),
        cmocka_unit_test(atomics_keep_their_place),
        cmocka_unit_test(half_precision_products),
        cmocka_unit_test(sixteen_bits_pass_in_sixteen_bit_registers),
        cmocka_unit_test(volatile_accesses_stay),
        cmocka_unit_test(predicated_accesses),
        cmocka_unit_test(nested_branches_and_loops),
        cmocka_unit_test(integers_of_64_bits),
        cmocka_unit_test(mathematical_functions),
        cmocka_unit_test(local_arrays),
        cmocka_unit_test(a_missing_compiler_is_named),
        cmocka_unit_test(a_shift_in_place_is_refused),
        cmocka_unit_test(an_offset_pointer_is_seen),
        cmocka_unit_test(half_of_the_last_element_is_seen),
        cmocka_unit_test(blocks_that_a_member_asked_for_are_given_up),
        cmocka_unit_test(a_member_that_asks_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
