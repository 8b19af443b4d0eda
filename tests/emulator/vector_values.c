/* SPDX-License-Identifier: Apache-2.0
 * Special values by type (zeros, denormals, infinities, NaNs with payloads, extremes, bounds and ties of
 * conversions) and pseudo-random ones: any bits, small magnitudes, halves of integers, neighbours of the
 * first operand. */
#include "tests/emulator/vector_values.h"

enum {
    SPECIAL_COUNT = 48,
    PAIR_ROWS = 288,
    MANTISSA_64 = 52,
    MANTISSA_32 = 23,
    MANTISSA_16 = 10,
    MANTISSA_BRAIN = 7
};

static const uint32_t special_floats[SPECIAL_COUNT] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff812345, 0x7fffffff, 0x3f000000,
    0xbf000000, 0x3fc00000, 0x40200000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff,
    0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x43000000, 0xc3008000, 0x437f8000, 0x47000000,
    0x477fff80, 0x477ff000, 0x33800000, 0x34000000, 0x3eaaaaab, 0x00400000, 0x80000001, 0x7e800000,
    0x7f000001, 0xb8d1b717, 0x387fe000, 0x3f7fffff, 0x3f800001, 0xff7fffff, 0x80800000, 0x40490fdb};
static const uint64_t special_doubles[SPECIAL_COUNT] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x0000000000000001,
    0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0xfff8000000012345, 0x7ff0000000000001, 0xfff0000123456789, 0x7fffffffffffffff,
    0x3fe0000000000000, 0xbfe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x41dfffffffc00000,
    0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000,
    0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x3810000000000000, 0x36a0000000000001,
    0xb69fffffffffffff, 0x47efffffefffffff, 0x47effffff0000000, 0x3fd5555555555555, 0x0008000000000000,
    0x4060200000000000, 0xc060100000000000, 0x40effe0000000000, 0x40f0000000000000, 0x3e60000000000000,
    0x3f10000000000001, 0xffefffffffffffff, 0x3fefffffffffffff, 0x3ff0000000000001, 0x8010000000000000,
    0x380fffffe0000000, 0x47efffffefffffff, 0xc1efffffffc00000};
static const uint16_t special_halves[SPECIAL_COUNT] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe12,
    0x7c01, 0xfc55, 0x7fff, 0x3800, 0xb800, 0x3e00, 0x4100, 0x0200, 0x8001, 0x3bff, 0x7800, 0xfbff,
    0x3555, 0x5bf8, 0x5800, 0xd800, 0x57f8, 0xd808, 0x8400, 0x3c01, 0x4b00, 0x6400, 0x1400, 0x77ff,
    0x0801, 0x8801, 0x5c01, 0xdc00, 0x3400, 0xb400, 0x4500, 0xc500, 0x2e66, 0x3266, 0x7a00, 0x03ff};
static const uint16_t special_brains[SPECIAL_COUNT] = {
    0x0000, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x807f, 0x0080, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0xffc5,
    0x7f81, 0xff92, 0x7fff, 0x3f00, 0xbf00, 0x3fc0, 0x4020, 0x0040, 0x8001, 0x3f7f, 0x7f00, 0xff7f,
    0x3eab, 0x4300, 0xc301, 0x4380, 0x4f00, 0xcf00, 0x4f80, 0x5f00, 0xdf00, 0x5f80, 0x3380, 0x3400,
    0x7e80, 0xb8d2, 0x3880, 0x3f81, 0x4780, 0x477f, 0x4049, 0xc2c8, 0x0100, 0x8100, 0x4000, 0x42fe};
static const uint64_t special_integers[SPECIAL_COUNT] = {0,
                                                         1,
                                                         0xffffffffffffffff,
                                                         0x7fff,
                                                         0x8000,
                                                         0xffff,
                                                         0x10000,
                                                         0x7f,
                                                         0x80,
                                                         0xff,
                                                         0x100,
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
                                                         0xffff0000,
                                                         0xfffffffffffffffe,
                                                         0xffffffff80000000,
                                                         0xffffffff7fffffff,
                                                         0x8080000000000001,
                                                         0x80008000,
                                                         0xffffffffffff8000,
                                                         0x4040000000000001};

static uint64_t value_random(uint64_t seed)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* A float of any format: near one, a half of an integer, or the first operand's neighbour, by kind. */
static uint64_t value_near(unsigned bits, unsigned mantissa, uint64_t random, uint64_t first, unsigned kind)
{
    uint64_t one = ((UINT64_C(1) << (bits - 2 - mantissa)) - 1) << mantissa, sign = (random & 1)
                                                                                    << (bits - 1);
    uint64_t fraction = (UINT64_C(1) << mantissa) - 1, draw = random >> 2;
    unsigned power = (unsigned)(random >> 58) % (mantissa + 2);
    switch (kind) {
    case 0: /* between 1/8 and 8 */
        return sign | ((one - (UINT64_C(3) << mantissa)) + draw % (UINT64_C(6) << mantissa));
    case 1: /* few bits: sums and products are exact or ties */
        return sign | (one + ((uint64_t)power << mantissa)) | (draw & fraction & ~(fraction >> (power + 1)));
    default: /* cancels with the first operand, or nearly */
        return (first ^ (UINT64_C(1) << (bits - 1))) + (draw & 3) - 1;
    }
}

static uint64_t value_of_float(unsigned bits, unsigned mantissa, uint64_t special, unsigned row,
                               unsigned operand, uint64_t first)
{
    uint64_t random = value_random(((uint64_t)bits << 32 | mantissa << 24 | operand << 16) + row + 1);
    if (row < PAIR_ROWS) return special;
    if (row % 4 == 3 || (row % 4 == 2 && operand == 0)) return random;
    return value_near(bits, mantissa, random, first, row % 4);
}

/* Which special value: row by row for the first operand; all pairs are spread over the others. */
static unsigned special_place(unsigned row, unsigned operand)
{
    if (operand == 0) return row % SPECIAL_COUNT;
    return (unsigned)(value_random(0x5eed + row * 4 + operand) % SPECIAL_COUNT);
}

static uint64_t value_of_half(bool is_brain, unsigned row, unsigned operand, unsigned part)
{
    unsigned place = (special_place(row, operand) + part * 11) % SPECIAL_COUNT,
             mantissa = is_brain ? MANTISSA_BRAIN : MANTISSA_16;
    uint64_t first = 0;
    if (operand > 0 && row >= PAIR_ROWS) first = value_of_half(is_brain, row, 0, part);
    uint64_t special = is_brain ? special_brains[place] : special_halves[place];
    return value_of_float(16, mantissa, special, row, operand + part * 8, first) & 0xffff;
}

uint64_t vector_value(enum ptx_type type, unsigned row, unsigned operand)
{
    unsigned place = special_place(row, operand);
    uint64_t first = operand > 0 && row >= PAIR_ROWS ? vector_value(type, row, 0) : 0;
    uint64_t random = value_random(0x696e7400 + row * 8 + operand);
    switch ((int)type) {
    case PTX_F32:
    case PTX_TF32:
        return value_of_float(32, MANTISSA_32, special_floats[place], row, operand, first) & 0xffffffff;
    case PTX_F64:
        return value_of_float(64, MANTISSA_64, special_doubles[place], row, operand, first);
    case PTX_F16:
    case PTX_BF16:
        return value_of_half(type == PTX_BF16, row, operand, 0);
    case PTX_F16X2:
    case PTX_BF16X2:
        return value_of_half(type == PTX_BF16X2, row, operand, 0) |
               value_of_half(type == PTX_BF16X2, row, operand, 1) << 16;
    }
    return row < PAIR_ROWS ? special_integers[place] : random >> (random >> 6 & (row & 1 ? 63 : 7));
}

uint64_t vector_amount(unsigned row, unsigned operand)
{
    uint64_t random = value_random(0x73686966 + row * 8 + operand);
    return row % 8 < 7 ? (operand == 1 ? row % 71 : random % 71) : row % 16 < 8 ? random : random & 0x1ff;
}
