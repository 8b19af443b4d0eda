/* SPDX-License-Identifier: Apache-2.0
 * The race report on kernels of a few lines each: what is ordered by which barrier, and what is not. Every
 * kernel is run in its plain order and under several seeds. */
#include "tests/emulator/engine_fixture.h"

#include <stdio.h>

/* A kernel's body: %d address of an array, %t thread, %w warp, %r and %q scratch, %s 64-bit scratch. */
static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry e(.param .u64 a)\n{\n"
                           "  .reg .b32 %r, %q, %t, %w, %l, %b; .reg .b64 %d, %s; .reg .pred %p, %o;\n"
                           "  .shared .align 4 .b8 s[512];\n"
                           "  ld.param.u64 %d, [a]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; shr.u32 %w, "
                           "%t, 5; and.b32 %l, %t, 31;\n"
                           "  mov.u32 %r, 1;\n";

enum { SEEDS = 8 };

/* Under how many seeds a race is reported. */
static unsigned run(const char *body, uint32_t blocks, uint32_t threads, uint64_t address)
{
    char text[4096], *error;
    unsigned races = 0;
    snprintf(text, sizeof text, "%s%s\n  ret;\n}\n", head, body);
    struct emu_program *program = emu_program_load("races", text, &error);
    if (program == NULL) fail_msg("%s", error);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct emu_settings settings = {.seed = seed, .report_races = true};
        struct emu_launch launch = {.kernel = emu_program_kernel(program, "e"),
                                    .grid = {blocks, 1, 1},
                                    .block = {threads, 1, 1},
                                    .parameters = &address};
        bool is_good = emu_run(&settings, &launch, &fixture.counts, &fixture.fault, NULL, NULL);
        if (!is_good && fixture.fault.kind != EMU_FAULT_RACE) fail_msg("%s", fixture.fault.message);
        races += !is_good;
    }
    emu_program_unload(program);
    return races;
}

struct example {
    const char *name, *body;
    uint32_t blocks, threads;
};

/* Two blocks of 64 threads: each writes its part; the one that arrives last reads the other's. */
#define PART(block) block " mad.lo.u32 %q, %q, 64, %t; mul.wide.u32 %s, %q, 4; add.u64 %s, %s, %d;"
#define WRITE       PART("mov.u32 %q, %b;") "st.global.u32 [%s], %r;"
#define ARRIVE(how) "setp.eq.u32 %p, %t, 0; @%p atom" how ".global.inc.u32 %q, [%d+2048], 1;"
#define FENCE       "@%p fence.acq_rel.gpu;"
#define TELL        "@%p st.shared.u32 [s], %q; bar.sync 0; ld.shared.u32 %q, [s]; setp.eq.u32 %o, %q, 1;"
#define READ        PART("xor.b32 %q, %b, 1;") "@%o ld.global.u32 %q, [%s];"

static const struct example racing[] = {
    {"an arrival that releases nothing", WRITE "bar.sync 0;" ARRIVE(".relaxed.gpu") FENCE TELL READ, 2, 64},
    {"an arrival before others of the block have written", WRITE ARRIVE(".release.gpu") FENCE TELL READ, 2,
     64},
    {"a last block that acquires nothing", WRITE "bar.sync 0;" ARRIVE(".release.gpu") TELL READ, 2, 64},
    {"a fence of the block alone",
     WRITE "bar.sync 0; fence.acq_rel.cta;" ARRIVE(".relaxed.gpu") FENCE TELL READ, 2, 64},
    {"an arrival of the block alone", WRITE "bar.sync 0;" ARRIVE(".release.cta") FENCE TELL READ, 2, 64},
    {"threads of the last block that have not met",
     WRITE "bar.sync 0;" ARRIVE(".release.gpu") FENCE "setp.ne.u32 %o, %b, 5;" READ, 2, 64},
    {"an atomic, then a plain read",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 1; @%p red.global.add.u32 [%d], 1; @%o ld.global.u32 %q, "
     "[%d];",
     1, 32},
    {"a plain read, then an atomic",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 1; @%p ld.global.u32 %q, [%d]; @%o red.global.add.u32 [%d], "
     "1;",
     1, 32},
    {"an atomic in one block, a plain read in another",
     "setp.eq.u32 %p, %b, 0; @%p red.global.add.u32 [%d], 1; @!%p ld.global.u32 %q, [%d];", 2, 1},
    {"a volatile write, then a plain read",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 40; @%p st.volatile.global.u32 [%d], %r; @%o ld.global.u32 "
     "%q, [%d];",
     1, 64},
    {"an atomic in shared memory, then a plain read",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 1; @%p red.shared.add.u32 [s], 1; @%o ld.shared.u32 %q, "
     "[s];",
     1, 32},
    {"an atomic, then a plain write",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 1; @%p red.global.add.u32 [%d], 1; @%o st.global.u32 [%d], "
     "%r;",
     1, 32},
    {"a plain write, then a volatile read",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %o, %t, 1; @%p st.global.u32 [%d], %r; @%o ld.volatile.global.u32 "
     "%q, [%d];",
     1, 32},
    {"two plain writes of one value", "st.global.u32 [%d], %r;", 1, 2},
    {"a byte inside a word",
     "setp.eq.u32 %p, %t, 0; @%p st.global.u32 [%d], %r; @!%p ld.global.u8 %q, [%d+3];", 1, 2},
    {"a read, then a write after a barrier of other warps", /* warps 1 to 3 meet, warp 0 does not */
     "setp.eq.u32 %p, %w, 3; @!%p ld.global.u32 %q, [%d]; setp.eq.u32 %o, %w, 0; @%o bra end; bar.sync 1, 96;"
     "setp.eq.u32 %o, %t, 96; @%o st.global.u32 [%d], %r; end:",
     1, 128},
    {"a write after bar.arrive", /* what an arriving warp does later is not seen by those that wait */
     "setp.eq.u32 %p, %w, 0; @%p bra first; bar.sync 1, 64; ld.global.u32 %q, [%d]; bra end;"
     "first: bar.arrive 1, 64; setp.eq.u32 %o, %t, 0; @%o st.global.u32 [%d], %r; end:",
     1, 64},
    {"a barrier of half a warp", /* lane 20 is not one of those that meet */
     "setp.eq.u32 %o, %l, 20; @%o st.global.u32 [%d], %r; setp.ge.u32 %p, %l, 16; @%p bra end;"
     "bar.warp.sync 0xffff; setp.eq.u32 %o, %l, 0; @%o ld.global.u32 %q, [%d]; end:",
     1, 32},
    {"halves of a warp that meet apart",
     "setp.eq.u32 %o, %l, 20; @%o st.global.u32 [%d], %r; setp.ge.u32 %p, %l, 16; @%p bra high;"
     "bar.warp.sync 0xffff; bra join; high: bar.warp.sync 0xffff0000;"
     "join: setp.eq.u32 %o, %l, 0; @%o ld.global.u32 %q, [%d];",
     1, 32},
    {"a warp's barrier orders no other warp",
     "setp.eq.u32 %p, %t, 0; @%p st.global.u32 [%d], %r; bar.warp.sync 0xffffffff; setp.eq.u32 %o, %t, 32;"
     "@%o ld.global.u32 %q, [%d];",
     1, 64},
};

static const struct example ordered[] = {
    {"the last block to arrive", WRITE "bar.sync 0;" ARRIVE(".release.gpu") FENCE TELL READ, 2, 64},
    {"the last block to arrive, by fences", WRITE "bar.sync 0; membar.gl;" ARRIVE("") "membar.gl;" TELL READ,
     2, 64},
    {"each thread fences", WRITE "membar.gl; bar.sync 0;" ARRIVE(".acq_rel.gpu") TELL READ, 2, 64},
    {"a thread fences what it has written itself",
     "setp.eq.u32 %p, %t, 0; mul.wide.u32 %s, %b, 4; add.u64 %s, %s, %d; @%p st.global.u32 [%s], %r; @%p "
     "membar.gl;"
     "@%p atom.global.inc.u32 %q, [%d+2048], 1; @%p membar.gl; setp.eq.u32 %o, %q, 1; and.pred %o, %o, %p;"
     "xor.b32 %q, %b, 1; mul.wide.u32 %s, %q, 4; add.u64 %s, %s, %d; @%o ld.global.u32 %q, [%s];",
     2, 32},
    {"atomics of all", "red.global.add.u32 [%d], 1; ld.volatile.global.u32 %q, [%d];", 4, 64},
    {"an atomic, a barrier, a plain read", "red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %q, [s];", 2,
     64},
    {"a plain write, a barrier, an atomic, a barrier, a plain read",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [s], %r; bar.sync 0; red.shared.add.u32 [s], 1; bar.sync 0;"
     "ld.shared.u32 %q, [s];",
     3, 128},
    {"reads of all", "ld.global.u32 %q, [%d];", 4, 64},
    {"one thread reads and writes",
     "setp.eq.u32 %p, %t, 7; @%p red.global.add.u32 [%d], 1; @%p ld.global.u32 %q, [%d];"
     "@%p st.global.u32 [%d], %q;",
     1, 64},
    {"neighbours in a warp meet",
     "shl.b32 %q, %t, 2; mov.u32 %r, s; add.u32 %r, %r, %q; st.shared.u32 [%r], %t; bar.warp.sync 0xffffffff;"
     "xor.b32 %q, %q, 4; mov.u32 %r, s; add.u32 %r, %r, %q; ld.shared.u32 %q, [%r];",
     2, 64},
    {"neighbours in half a warp meet",
     "shl.b32 %q, %t, 2; mov.u32 %r, s; add.u32 %r, %r, %q; st.shared.u32 [%r], %t; setp.ge.u32 %p, %l, 16;"
     "@%p bra high; bar.warp.sync 0xffff; bra join; high: bar.warp.sync 0xffff0000; join:"
     "xor.b32 %q, %q, 4; mov.u32 %r, s; add.u32 %r, %r, %q; ld.shared.u32 %q, [%r];",
     2, 64},
    {"halves meet, then the warp, then the block",
     "setp.eq.u32 %o, %t, 20; @%o st.global.u32 [%d], %r; setp.ge.u32 %p, %l, 16; @%p bra high;"
     "bar.warp.sync 0xffff; bra join; high: bar.warp.sync 0xffff0000; join: bar.warp.sync 0xffffffff;"
     "setp.eq.u32 %o, %t, 0; @%o ld.global.u32 %q, [%d]; bar.sync 0; setp.eq.u32 %o, %t, 40; @%o "
     "st.global.u32 [%d], "
     "%r;",
     1, 64},
    {"a write before bar.arrive",
     "setp.eq.u32 %p, %w, 0; @%p bra first; bar.sync 1, 64; ld.global.u32 %q, [%d]; bra end;"
     "first: setp.eq.u32 %o, %t, 0; @%o st.global.u32 [%d], %r; bar.arrive 1, 64; end:",
     1, 64},
    {"reads of three warps before a write of the fourth",
     "setp.eq.u32 %p, %w, 3; @!%p ld.global.u32 %q, [%d]; bar.sync 1, 128; setp.eq.u32 %o, %t, 96;"
     "@%o st.global.u32 [%d], %r;",
     1, 128},
    {"lanes arrive at one barrier from two places",
     "st.shared.u32 [s], %r; and.b32 %q, %t, 1; setp.eq.u32 %p, %q, 0; @%p bra even; bar.sync 0; bra join;"
     "even: bar.sync 0; join: ld.shared.u32 %q, [s];",
     1, 1},
};

static void finds_races(void **state)
{
    (void)state;
    uint32_t *memory = fixture_memory(4096);
    for (size_t i = 0; i < sizeof racing / sizeof *racing; i++) {
        const struct example *example = &racing[i];
        unsigned races = run(example->body, example->blocks, example->threads, ADDRESS(memory));
        if (races != SEEDS) fail_msg("seen under %u of %u seeds: %s", races, SEEDS, example->name);
    }
    fixture_free(memory);
}

static void finds_no_others(void **state)
{
    (void)state;
    uint32_t *memory = fixture_memory(4096);
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        const struct example *example = &ordered[i];
        unsigned races = run(example->body, example->blocks, example->threads, ADDRESS(memory));
        if (races != 0) fail_msg("%s: %s", example->name, fixture.fault.message);
    }
    fixture_free(memory);
}

/* Host memory that kernels may touch is watched like the device's. */
static void finds_races_in_host_memory(void **state)
{
    (void)state;
    static uint32_t host[16];
    assert_true(emu_memory_register(ADDRESS(host), sizeof host));
    assert_int_equal(run("st.global.u32 [%d], %t;", 1, 2, ADDRESS(host)), SEEDS);
    assert_true(emu_memory_release(ADDRESS(host)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_races, fixture_reset),
        cmocka_unit_test_setup(finds_no_others, fixture_reset),
        cmocka_unit_test_setup(finds_races_in_host_memory, fixture_reset),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
