/* SPDX-License-Identifier: Apache-2.0
 * Launches in slices: a launch that is interrupted gives what an uninterrupted one gives, and blocks that
 * wait for later blocks of their launch get what they wait for. */
#include "tests/emulator/engine_fixture.h"

/* sum: a[b] = the sum of all threads' loops, by way of shared memory and barriers. chain: every block but the
 * last waits for the next one. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry sum(.param .u64 a)\n{\n"
    "  .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;\n  .shared .align 4 .u32 s;\n"
    "  ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;\n"
    "  setp.eq.u32 %p, %r1, 0; @%p st.shared.u32 [s], %r3; bar.sync 0;\n"
    "loop:\n  add.u32 %r3, %r3, 1; setp.le.u32 %p, %r3, %r1; @%p bra loop;\n"
    "  red.shared.add.u32 [s], %r3; bar.sync 0; ld.shared.u32 %r4, [s];\n"
    "  mul.wide.u32 %d2, %r2, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r4; ret;\n}\n"
    ".visible .entry chain(.param .u64 a)\n{\n"
    "  .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;\n"
    "  ld.param.u64 %d1, [a]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; sub.u32 %r3, %r3, 1;\n"
    "  mul.wide.u32 %d2, %r2, 4; add.s64 %d1, %d1, %d2; mov.u32 %r4, 0; setp.eq.u32 %p, %r2, %r3; @%p bra "
    "end;\n"
    "wait:\n  ld.volatile.global.u32 %r4, [%d1+4]; setp.eq.u32 %p, %r4, 0; @%p bra wait;\n"
    "end:\n  add.u32 %r4, %r4, 1; st.volatile.global.u32 [%d1], %r4; ret;\n}\n";

enum { BLOCKS = 6, THREADS = 96, SLICES_MOST = 1 << 20 };
static struct emu_program *program;

static int load(void **state)
{
    char *error;
    fixture_open(state);
    program = emu_program_load("run", text, &error);
    return program == NULL;
}

static int unload(void **state)
{
    emu_program_unload(program);
    return fixture_close(state);
}

/* How many slices it took. */
static unsigned run(const char *kernel, struct emu_settings settings, uint64_t turns,
                    struct emu_counts *counts, uint32_t *memory)
{
    uint64_t address = ADDRESS(memory);
    unsigned slices = 1;
    struct emu_launch launch = {.kernel = emu_program_kernel(program, kernel),
                                .grid = {BLOCKS, 1, 1},
                                .block = {THREADS, 1, 1},
                                .parameters = &address};
    memset(memory, 0, BLOCKS * sizeof *memory);
    struct emu_run *run = emu_run_open(&settings, &launch, &fixture.fault, NULL, NULL);
    if (run == NULL) fail_msg("%s", fixture.fault.message);
    while (!emu_run_go(run, turns) && slices < SLICES_MOST) slices++;
    if (!emu_run_close(run, counts, &fixture.fault)) fail_msg("%s", fixture.fault.message);
    return slices;
}

static void slices_change_nothing(void **state)
{
    (void)state;
    uint32_t *memory = fixture_memory(BLOCKS * sizeof *memory);
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct emu_settings settings = {.seed = seed, .workers = 1};
        struct emu_counts whole, sliced;
        assert_int_equal(run("sum", settings, UINT64_MAX, &whole, memory), 1);
        for (uint64_t turns = 1; turns < 100; turns *= 3) {
            unsigned slices = run("sum", settings, turns, &sliced, memory);
            assert_true(seed == 0 || turns > 9 || slices > 2 * BLOCKS);
            assert_memory_equal(&whole, &sliced, sizeof whole);
            for (uint32_t b = 0; b < BLOCKS; b++) assert_int_equal(memory[b], THREADS * (THREADS + 1) / 2);
        }
    }
    fixture_free(memory);
}

static void blocks_wait_for_later_ones(void **state)
{
    (void)state;
    uint32_t *memory = fixture_memory(BLOCKS * sizeof *memory);
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct emu_settings settings = {.seed = seed};
        struct emu_counts counts;
        run("chain", settings, 1 << 12, &counts, memory);
        for (uint32_t b = 0; b < BLOCKS; b++) assert_int_equal(memory[b], BLOCKS - b);
    }
    fixture_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slices_change_nothing, fixture_reset),
        cmocka_unit_test_setup(blocks_wait_for_later_ones, fixture_reset),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
