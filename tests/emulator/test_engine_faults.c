/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong is reported with its place: addresses, barriers, opcodes, endless loops, races; and what is
 * right is not. */
#include "tests/emulator/engine_fixture.h"

#include <stdio.h>

static void test_bounds(void **state)
{
    (void)state;
    int *out = fixture_memory(256), *freed = fixture_memory(256);
    assert_true(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(out), 0ull));
    assert_false(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(out), 10ull));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_ADDRESS);
    assert_true(fixture.fault.address == ADDRESS(out + 64));
    assert_non_null(
        strstr(fixture.fault.message, "kernel write_at, block (0,0,0), thread (54,0,0), PTX line"));
    assert_non_null(strstr(fixture.fault.message, "st.global"));
    assert_false(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(out), (uint64_t)-1));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_ADDRESS);
    assert_true(fixture.fault.address == ADDRESS(out - 1));
    fixture_free(freed);
    assert_false(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(freed), 0ull));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_ADDRESS);
    assert_false(fixture_run("write_at", 1, 1, 0, 2, ADDRESS(out) + 2, 0ull));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_ALIGNMENT);
    assert_false(fixture_run("dynamic_shared", 1, 64, 128, 1, ADDRESS(out)));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_ADDRESS);
    fixture_free(out);
}

/* 64-bit addresses just below 0 of shared, local and parameter memory. */
static void test_bounds_below_zero(void **state)
{
    (void)state;
    static const char *const accesses[] = {"ld.shared.u32 %r, [%d];", "st.shared.u32 [%d], %r;",
                                           "ld.local.u32 %r, [%d];",  "st.local.u32 [%d], %r;",
                                           "ld.param.u32 %r, [%d];",  "atom.shared.add.u32 %r, [%d], 1;"};
    for (size_t i = 0; i < 2 * sizeof accesses / sizeof *accesses; i++) {
        char text[512], *error;
        snprintf(
            text, sizeof text,
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry e(.param .u64 p)\n{\n"
            ".reg .b32 %%r; .reg .b64 %%d; .reg .pred %%o; .shared .align 4 .b8 s[64];\n"
            ".local .align 4 .b8 l[64]; mov.u32 %%r, %%tid.x; setp.eq.u32 %%o, %%r, 0; mov.u64 %%d, -4;\n"
            "%s %s ret;\n}\n",
            i % 2 ? "@%o" : "", accesses[i / 2]);
        struct emu_program *program = emu_program_load("bounds", text, &error);
        if (program == NULL) fail_msg("%s", error);
        uint64_t parameter = 0;
        struct emu_launch launch = {.kernel = emu_program_kernel(program, "e"),
                                    .grid = {1, 1, 1},
                                    .block = {32, 1, 1},
                                    .parameters = &parameter};
        if (emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL))
            fail_msg("no fault: %s", accesses[i / 2]);
        assert_int_equal(fixture.fault.kind, EMU_FAULT_ADDRESS);
        emu_program_unload(program);
    }
}

static void test_registered(void **state)
{
    (void)state;
    static int host[64];
    assert_false(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(host), 0ull));
    assert_true(emu_memory_register(ADDRESS(host), sizeof host));
    assert_true(fixture_run("write_at", 1, 64, 0, 2, ADDRESS(host), 0ull));
    assert_int_equal(host[63], 1);
    assert_true(emu_memory_release(ADDRESS(host)));
}

static void test_stuck(void **state)
{
    (void)state;
    int *out = fixture_memory(256);
    assert_false(fixture_run("stuck", 1, 64, 0, 1, ADDRESS(out)));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_BARRIER);
    assert_non_null(strstr(fixture.fault.message, "barrier 1 is never completed: 32 of 64"));
    fixture.settings.step_limit = 1000000;
    assert_false(fixture_run("forever", 1, 1, 0, 1, ADDRESS(out + 1)));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_HUNG);
    fixture.settings.step_limit = 1;
    assert_false(fixture_run("trapped", 1, 64, 0, 1, 64ull)); /* found when the block has ended */
    assert_int_equal(fixture.fault.kind, EMU_FAULT_HUNG);
    fixture.settings.step_limit = 1000000;
    assert_false(fixture_run("trapped", 1, 64, 0, 1, 40ull));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_TRAP);
    assert_non_null(strstr(fixture.fault.message, "thread (40,0,0)"));
    assert_true(fixture_run("trapped", 1, 64, 0, 1, 64ull));
    fixture_free(out);
}

static void test_unknown_opcode(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.6\n.target sm_90\n.address_size 64\n"
        ".visible .entry fine()\n{\n    ret;\n}\n"
        ".visible .entry odd()\n{\n    .reg .b32 %r<3>;\n    frobnicate.b32 %r1, %r2;\n    ret;\n}\n";
    char *error;
    struct emu_program *program = emu_program_load("odd", text, &error);
    assert_non_null(program);
    struct emu_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    launch.kernel = emu_program_kernel(program, "odd");
    assert_non_null(launch.kernel);
    assert_false(emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_OPCODE);
    assert_int_equal(fixture.fault.line, 11);
    assert_non_null(strstr(fixture.fault.message, "kernel odd, line 11"));
    assert_non_null(strstr(fixture.fault.message, "frobnicate.b32"));
    launch.kernel = emu_program_kernel(program, "fine");
    assert_true(emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL));
    emu_program_unload(program);
}

static void test_resources(void **state)
{
    (void)state;
    int *out = fixture_memory(256);
    assert_false(fixture_run("write_at", 1, 1025, 0, 2, ADDRESS(out), 0ull));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_RESOURCES);
    assert_false(fixture_run("dynamic_shared", 1, 32, 300000, 1, ADDRESS(out)));
    assert_int_equal(fixture.fault.kind, EMU_FAULT_RESOURCES);
    fixture_free(out);
}

static void test_races(void **state)
{
    (void)state;
    int *a = fixture_memory(4096 + 256), *out = fixture_memory(4096);
    for (uint64_t seed = 0; seed < 4; seed++) {
        fixture.settings = (struct emu_settings){.seed = seed, .report_races = true};
        assert_false(fixture_run("neighbours", 4, 64, 0, 1, ADDRESS(a)));
        assert_int_equal(fixture.fault.kind, EMU_FAULT_RACE);
        assert_non_null(strstr(fixture.fault.message, "race in global memory"));
        assert_false(fixture_run("shared_race", 1, 64, 0, 2, ADDRESS(out), 0ull));
        assert_int_equal(fixture.fault.kind, EMU_FAULT_RACE);
        assert_non_null(strstr(fixture.fault.message, "race in shared memory"));
        assert_false(fixture_run("across_blocks", 4, 64, 0, 2, ADDRESS(out), ADDRESS(a)));
        assert_int_equal(fixture.fault.kind, EMU_FAULT_RACE);
        /* the launch has finished all the same */
        for (int i = 0; i < 64; i++) assert_int_equal(out[i], i);
    }
    fixture_free(a);
    fixture_free(out);
}

static void test_no_false_races(void **state)
{
    (void)state;
    int *a = fixture_memory(65536), *out = fixture_memory(65536);
    for (uint64_t seed = 0; seed < 4; seed++) {
        fixture.settings = (struct emu_settings){.seed = seed, .report_races = true};
        assert_true(fixture_run("shared_race", 1, 64, 0, 2, ADDRESS(out), 1ull));
        assert_true(fixture_run("bytes_apart", 4, 64, 0, 1, ADDRESS(a)));
        assert_true(fixture_run("reduce", 4, 256, 0, 3, ADDRESS(out), ADDRESS(a), 1000ull));
        assert_true(fixture_run("named_barriers", 1, 128, 0, 1, ADDRESS(out)));
        assert_true(fixture_run("early_exit", 1, 128, 0, 1, ADDRESS(out)));
        a[0] = 0;
        assert_true(fixture_run("count_up", 4, 64, 0, 2, ADDRESS(a), ADDRESS(out)));
    }
    fixture_free(a);
    fixture_free(out);
}

/* Shared memory that nobody wrote holds 0 in plain order, and something else under a seed. */
static void test_unwritten_shared(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry e(.param .u64 out)\n{\n"
        ".reg .b32 %r; .reg .b64 %d; .shared .align 4 .b8 s[64];\n"
        "ld.param.u64 %d, [out]; ld.shared.u32 %r, [s+4]; st.global.u32 [%d], %r; ret;\n}\n";
    char *error;
    uint32_t *out = fixture_memory(4);
    uint64_t parameter = ADDRESS(out);
    struct emu_program *program = emu_program_load("shared", text, &error);
    assert_non_null(program);
    struct emu_launch launch = {.kernel = emu_program_kernel(program, "e"),
                                .grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .parameters = &parameter};
    for (uint64_t seed = 0; seed < 8; seed++) {
        fixture.settings.seed = seed;
        assert_true(emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL));
        uint32_t first = *out;
        assert_int_equal(first == 0, seed == 0);
        assert_true(emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL));
        assert_int_equal(*out, first);
    }
    emu_program_unload(program);
    fixture_free(out);
}

static void order_of(uint64_t seed, int *count, int *order, int *copy)
{
    fixture.settings.seed = seed;
    *count = 0;
    assert_true(fixture_run("count_up", 8, 64, 0, 2, ADDRESS(count), ADDRESS(order)));
    memcpy(copy, order, 512 * sizeof *copy);
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void test_seeds(void **state)
{
    (void)state;
    int *count = fixture_memory(4), *order = fixture_memory(2048), first[512], again[512], other[512];
    order_of(7, count, order, first);
    order_of(7, count, order, again);
    order_of(8, count, order, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    qsort(other, 512, sizeof *other, compare_ints);
    for (int i = 0; i < 512; i++) assert_int_equal(other[i], i); /* every thread once */
    fixture_free(count);
    fixture_free(order);
}

struct seen {
    unsigned reads, writes;
    uint64_t low, high;
};
static void see(void *context, const struct ptx_instruction *instruction, const uint32_t block[3],
                const uint32_t thread[3], uint64_t address, uint32_t bytes, bool is_write)
{
    struct seen *seen = context;
    assert_non_null(instruction);
    assert_true(block[0] < 2 && thread[0] < 64 && bytes == 4);
    seen->reads += !is_write;
    seen->writes += is_write;
    seen->low = address < seen->low ? address : seen->low;
    seen->high = address + bytes > seen->high ? address + bytes : seen->high;
}

static void test_watch(void **state)
{
    (void)state;
    int *a = fixture_memory(516);
    struct seen seen = {.low = UINT64_MAX};
    fixture.watch = see;
    fixture.watch_context = &seen;
    assert_true(fixture_run("neighbours", 2, 64, 0, 1, ADDRESS(a)));
    assert_int_equal(seen.reads, 128);
    assert_int_equal(seen.writes, 128);
    assert_true(seen.low == ADDRESS(a) && seen.high == ADDRESS(a + 129));
    assert_int_equal(fixture.counts.load_bytes, 544);
    assert_int_equal(fixture.counts.store_bytes, 512);
    fixture_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bounds, fixture_reset),
        cmocka_unit_test_setup(test_bounds_below_zero, fixture_reset),
        cmocka_unit_test_setup(test_registered, fixture_reset),
        cmocka_unit_test_setup(test_stuck, fixture_reset),
        cmocka_unit_test_setup(test_unknown_opcode, fixture_reset),
        cmocka_unit_test_setup(test_resources, fixture_reset),
        cmocka_unit_test_setup(test_races, fixture_reset),
        cmocka_unit_test_setup(test_no_false_races, fixture_reset),
        cmocka_unit_test_setup(test_unwritten_shared, fixture_reset),
        cmocka_unit_test_setup(test_seeds, fixture_reset),
        cmocka_unit_test_setup(test_watch, fixture_reset),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
