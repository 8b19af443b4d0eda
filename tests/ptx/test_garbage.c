/* SPDX-License-Identifier: Apache-2.0
 * The parser on damaged texts: it ends, stays inside its memory; a text that it reads without complaint
 * prints to something that it reads and prints the same way. Damage is by a fixed seed; `test_garbage ROUNDS
 * [SEED]` runs more. */
#include "ptx/ptx.h"
#include "tests/ptx/reread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned rounds = 3000;
static uint64_t seed = 1;

static const char sample[] =
    ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n"
    ".global .align 8 .u64 table[3] = {generic(table)+8, 0xFF00(table), -5};\n.const .f32 pi = 0f40490FDB;\n"
    ".extern .func (.param .b32 r) f(.param .b64 x, .param .align 8 .b8 y[16]);\n.alias g, f;\n"
    ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .u32 n)\n.maxntid 256, 1, 1\n{\n"
    "\t.reg .pred %p<3>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<5>;\n\t.reg .v4 .f32 %q;\n\t.shared .align 4 "
    ".b8 s[64];\n"
    "T: .branchtargets A, B;\n\t.loc 1 2 3, function_name A+4, inlined_at 1 2 3\n\tld.param.u64 %rd1, [a];\n"
    "\tmov.u32 %r1, %tid.x;\n\tsetp.ge.s32 %p1|%p2, %r1, (3+4)*-2;\n\t@!%p1 bra $A;\n\t.pragma "
    "\"nounroll\";\n"
    "{ // callseq 0\n\t.param .b64 param0;\n\tst.param.b64 [param0+0], %rd1;\n\tcall.uni (_), f, (param0, "
    "s);\n}\n"
    "$A:\n\tld.global.nc.v4.u32 {%r1, _, %r2, %r3}, [%rd1+-16];\n\ttex.2d.v4.f32.f32 {%r1,%r2,%r3,%r4}, "
    "[%rd1, {%r1, %r2}];\n"
    "A:\tbrx.idx %r1, T;\nB:\tvadd.u32.u32.u32 %r1, %r2.b0, -%r3, 1.5;\n\tfrob.x %r1, [s+4], "
    "{1,{2}};\n\tret;\n}\n";

static uint64_t random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Changes, removes, repeats or moves a few pieces. */
static size_t damage(char *text, size_t length, size_t capacity)
{
    static const char marks[] = "{}[]();,:.|@!<>-+*/%\"\\\n 0x9aZ$_";
    for (unsigned changes = 1 + random_number() % 4; changes && length > 2; changes--) {
        size_t from = random_number() % length, to = random_number() % length;
        size_t size = 1 + random_number() % 40;
        if (size > length - from) size = length - from;
        switch (random_number() % 4) {
        case 0:
            text[to] = marks[random_number() % (sizeof marks - 1)];
            break;
        case 1:
            text[to] = (char)random_number();
            break;
        case 2:
            memmove(text + from, text + from + size, length - from - size);
            length -= size;
            break;
        case 3:
            if (length + size > capacity) break;
            memmove(text + to + size, text + to, length - to);
            for (size_t i = 0; i < size; i++) text[to + i] = text[(from + i) % length];
            length += size;
            break;
        }
    }
    return length;
}

static void check(const char *text, size_t length)
{
    if (!reread_is_stable(text, length)) fail_msg("printed twice, it differs");
}

static void survives_damage(void **state)
{
    (void)state;
    size_t capacity = 2 * sizeof sample;
    check(sample, sizeof sample - 1);
    for (unsigned i = 0; i < rounds; i++) {
        char *text = malloc(capacity);
        memcpy(text, sample, sizeof sample);
        size_t length = damage(text, sizeof sample - 1, capacity);
        char *exact = malloc(length ? length : 1);
        memcpy(exact, text, length);
        check(exact, length);
        free(exact);
        free(text);
    }
}

static void survives_every_end(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof sample; length++) {
        char *exact = malloc(length ? length : 1);
        memcpy(exact, sample, length);
        check(exact, length);
        free(exact);
    }
}

static void survives_noise(void **state)
{
    (void)state;
    char text[512];
    for (unsigned i = 0; i < rounds; i++) {
        size_t length = random_number() % sizeof text;
        for (size_t j = 0; j < length; j++) text[j] = (char)random_number();
        const char *error;
        struct ptx_module *module = ptx_parse("noise", text, length, &error);
        assert_non_null(module);
        assert_non_null(error);
        ptx_module_free(module);
    }
}

/* A megabyte of each: what is not linear would take minutes, and the alarm ends it. */
static void reads_repetition_in_linear_time(void **state)
{
    (void)state;
    static const struct {
        const char *before, *again, *after;
    } examples[] = {
        {"", ".section x {", ""},
        {"", ".alias .file ", ""},
        {"", ".entry k(){ ", ""},
        {"", ".entry (", ""},
        {"", ".target sm_90, texmode_independent", ""},
        {".target sm_90", ", texmode_independent", "\n"},
        {"", ".global .b8 x[100000000] = {1};", ""},
        {".global .b8 x[] = {", "1,", "1};"},
        {".entry k(){", "{", ""},
        {".entry k(){", "{.param .b32 p; L: bra L;}", "}"},
        {".entry k(){", "{L:}{L$2:}{L$2$2:}", "}"},
        {".entry k(){", "bra L;", "L:}"},
        {".entry k(){", ".reg .b32 r<9>;", "}"},
        {".entry k(){ .reg .b32 r; L:", "T: .branchtargets L; brx.idx r, T;", "}"},
        {".entry k(){", "odd [;", "}"},
        {".entry k(", ".param .b32 p, ", ".param .b32 p){}"},
    };
    enum { LENGTH = 1 << 20 };
    static const char header[] = ".version 9.0\n.target sm_90\n.address_size 64\n";
    char *text = malloc(LENGTH + 1000);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        size_t at = (size_t)sprintf(text, "%s%s", header, examples[i].before),
               step = strlen(examples[i].again);
        for (; at < LENGTH; at += step) memcpy(text + at, examples[i].again, step + 1);
        at += (size_t)sprintf(text + at, "%s", examples[i].after);
        check(text, at);
    }
    free(text);
}

int main(int argc, char **argv)
{
    if (argc > 1) rounds = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10) | 1;
    if (argc <= 1) alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(survives_every_end),
        cmocka_unit_test(survives_noise),
        cmocka_unit_test(reads_repetition_in_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
