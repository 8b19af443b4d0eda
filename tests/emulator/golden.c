/* SPDX-License-Identifier: Apache-2.0
 * The cases of golden_cases.def as PTX, and their inputs: special values first, then pseudo-random ones. */
#include "tests/emulator/golden.h"

#include <stdio.h>
#include <string.h>

enum golden_set { FLOAT, DOUBLE, HALF, PAIRS, INTEGER, SHIFT, NANS };
struct golden_case {
    enum golden_set set;
    unsigned bits[4]; /* d, a, b, c */
    const char *instruction;
};
static const struct golden_case golden_cases[] = {
#define CASE(set, d, a, b, c, instruction) {set, {d, a, b, c}, instruction},
#include "tests/emulator/golden_cases.def"
#undef CASE
};

uint32_t golden_count(void)
{
    return sizeof golden_cases / sizeof *golden_cases;
}

const char *golden_name(uint32_t index)
{
    return golden_cases[index].instruction;
}

static void golden_operand(char *text, char name, unsigned bits, unsigned offset)
{
    size_t length = strlen(text);
    if (bits == 0) return;
    snprintf(text + length, GOLDEN_TEXT - length,
             "    .reg .b%u %%%c;\n    ld.global.b64 %%w, [%%in+%u];\n    %s %%%c, %%w;\n", bits, name,
             offset,
             bits == 64   ? "mov.b64"
             : bits == 32 ? "cvt.u32.u64"
                          : "cvt.u16.u64",
             name);
}

void golden_ptx(uint32_t index, char text[GOLDEN_TEXT])
{
    const struct golden_case *row = &golden_cases[index];
    snprintf(text, GOLDEN_TEXT,
             ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry run(.param .u64 p_in, .param "
             ".u64 p_out)\n{\n"
             "    .reg .b64 %%in, %%out, %%w;\n    .reg .b32 %%n, %%odd;\n    .reg .pred %%p;\n"
             "    mov.u32 %%n, %%tid.x;\n    and.b32 %%odd, %%n, 1;\n    setp.ne.u32 %%p, %%odd, 0;\n"
             "    ld.param.u64 %%in, [p_in];\n    ld.param.u64 %%out, [p_out];\n"
             "    mad.wide.u32 %%in, %%n, 24, %%in;\n    mad.wide.u32 %%out, %%n, 8, %%out;\n");
    for (unsigned i = 0; i < 3; i++) golden_operand(text, "abc"[i], row -> bits[i + 1], 8 * i);
    size_t length = strlen(text);
    if (row->bits[0] == 1)
        snprintf(text + length, GOLDEN_TEXT - length,
                 "    .reg .pred %%d;\n    %s\n    selp.b64 %%w, 1, 0, %%d;\n    st.global.b64 [%%out], "
                 "%%w;\n    ret;\n}\n",
                 row->instruction);
    else
        snprintf(
            text + length, GOLDEN_TEXT - length,
            "    .reg .b%u %%d;\n    %s\n    %s %%w, %%d;\n    st.global.b64 [%%out], %%w;\n    ret;\n}\n",
            row->bits[0], row->instruction,
            row->bits[0] == 64   ? "mov.b64"
            : row->bits[0] == 32 ? "cvt.u64.u32"
                                 : "cvt.u64.u16");
}

static uint64_t golden_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static const uint64_t golden_floats[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x3f000000, 0xbf000000, 0x3fc00000,
    0x40200000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000,
    0x5f800000, 0x43000000, 0xc3008000, 0x437f8000, 0x47000000, 0x477fff80, 0x477ff000, 0x33800000,
    0x34000000, 0x3eaaaaab, 0x00400000, 0x80000001, 0x7e800000, 0x7f000001, 0xb8d1b717, 0x387fe000};
static const uint64_t golden_doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x0000000000000001,
    0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0xfff8000000012345, 0x7ff0000000000001, 0x3fe0000000000000, 0xbfe0000000000000,
    0x3ff8000000000000, 0x4004000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000,
    0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000,
    0x43f0000000000000, 0x3810000000000000, 0x36a0000000000001, 0xb69fffffffffffff, 0x47efffffefffffff,
    0x47effffff0000000, 0x3fd5555555555555, 0x0008000000000000, 0x4060200000000000, 0xc060100000000000,
    0x40effe0000000000, 0x40f0000000000000, 0x3e60000000000000, 0x3f10000000000001, 0xffefffffffffffff};
static const uint64_t golden_halves[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                         0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0x3800, 0xb800, 0x3e00,
                                         0x4100, 0x0200, 0x8001, 0x3bff, 0x7800, 0xfbff, 0x3555, 0x5bf8,
                                         0x7f80, 0xff80, 0x7f81, 0x7fc0, 0x0080, 0x007f, 0x7f7f, 0x3f80,
                                         0xbf80, 0x4b00, 0x6400, 0x1400, 0x57f8, 0xd808, 0x8400, 0x3c01};
static const uint64_t golden_integers[] = {0,
                                           1,
                                           0xffffffffffffffff,
                                           0x7fff,
                                           0x8000,
                                           0xffff,
                                           0x10000,
                                           0x7f,
                                           0x80,
                                           0xff,
                                           0x7fffffff,
                                           0x80000000,
                                           0xffffffff,
                                           0x100000000,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0x8000000000000001,
                                           2,
                                           3,
                                           10,
                                           0xfffffffffffffff6,
                                           0xffffff80,
                                           0xffffff7f,
                                           0xffff8000,
                                           0xffff7fff,
                                           0x1000000,
                                           0x1000001,
                                           0x1000003,
                                           0x20000000000001,
                                           0x20000000000003,
                                           0x7fffffbf,
                                           0x7fffffffffffff00,
                                           0xfffffffffffffbff,
                                           0x123456789abcdef0,
                                           0xfffffffeffffffff,
                                           0x55555555aaaaaaaa,
                                           0x7fffff,
                                           0x800000,
                                           0xff800000,
                                           0xffff0000};
enum { GOLDEN_SPECIALS = 40 };

static uint64_t golden_value(enum golden_set set, unsigned place, uint64_t *state, unsigned operand)
{
    uint64_t random = golden_random(state);
    switch (set) {
    case FLOAT:
        if (place < GOLDEN_SPECIALS) return golden_floats[place];
        return place & 1 ? random & 0xffffffff : 0x3f000000 + (random & 0x81ffffff);
    case DOUBLE:
        if (place < GOLDEN_SPECIALS) return golden_doubles[place];
        return place & 1 ? random : 0x3fe0000000000000 + (random & 0x803fffffffffffff);
    case HALF:
        return place < GOLDEN_SPECIALS ? golden_halves[place] : random & 0xffff;
    case PAIRS:
        return place < GOLDEN_SPECIALS
                   ? golden_halves[place] | golden_halves[(place + 11) % GOLDEN_SPECIALS] << 16
                   : random & 0xffffffff;
    case INTEGER:
        break;
    case NANS: /* NaNs with their operand's number, quiet or not, of both signs; infinities, zeros, ones */
        return random % 3 ? 0x7ff0000000000000 | (random & 0x8008000000000000) | (operand + 1) << 8 | place
                          : golden_doubles[random / 8 % 10];
    case SHIFT:
        if (operand > 0) return place < 40 ? place : place < 60 ? random % 70 : random;
        break;
    }
    return place < GOLDEN_SPECIALS ? golden_integers[place] : random >> (random & 31);
}

void golden_inputs(uint32_t index, uint64_t rows[GOLDEN_ROWS][3])
{
    enum golden_set set = golden_cases[index].set;
    uint64_t state = 0x6b66757365 + index;
    for (unsigned i = 0; i < GOLDEN_ROWS; i++) {
        rows[i][0] = golden_value(set, i, &state, 0);
        rows[i][1] = golden_value(set, (unsigned)(golden_random(&state) % GOLDEN_ROWS), &state, 1);
        rows[i][2] = golden_value(set, (unsigned)(golden_random(&state) % GOLDEN_ROWS), &state, 2);
    }
}
