/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, predicates, selection, moves, and the address arithmetic of memory instructions, on 32 lanes.
 */
#include "emulator/lanes.h"

/* Combines a comparison's mask with the predicate c -- ISA 9.7.6.2 */
static inline uint32_t LANES(finish)(uint32_t mask, const void *c, uint64_t extra)
{
    mask ^= extra & LANE_INVERT ? UINT32_MAX : 0;
    uint32_t other = *(const uint32_t *)c ^ (extra & LANE_NEGATE_C ? UINT32_MAX : 0);
    switch ((enum lane_combine)(extra >> LANE_COMBINE_SHIFT)) {
    case LANE_ALONE:
        return mask;
    case LANE_AND:
        return mask & other;
    case LANE_OR:
        return mask | other;
    case LANE_XOR:
        return mask ^ other;
    }
    return mask;
}

#define COMPARE_OP(name, T, relation)                                                                        \
    static void LANES(name)(void *d, const void *a_, const void *b_, const void *c, const void *e,           \
                            uint64_t extra)                                                                  \
    {                                                                                                        \
        const T *a = a_, *b = b_;                                                                            \
        uint32_t mask = 0;                                                                                   \
        (void)e;                                                                                             \
        for (int i = 0; i < LANE_COUNT; i++) {                                                               \
            T x = a[i], y = b[i];                                                                            \
            mask |= (uint32_t)(relation) << i;                                                               \
        }                                                                                                    \
        *(uint32_t *)d = LANES(finish)(mask, c, extra);                                                      \
    }
#define COMPARE_INTEGER(T)                                                                                   \
    COMPARE_OP(eq_##T, T, x == y)                                                                            \
    COMPARE_OP(lt_##T, T, x < y)                                                                             \
    COMPARE_OP(le_##T, T, x <= y)
COMPARE_INTEGER(uint16_t)
COMPARE_INTEGER(int16_t)
COMPARE_INTEGER(uint32_t)
COMPARE_INTEGER(int32_t)
COMPARE_INTEGER(uint64_t)
COMPARE_INTEGER(int64_t)

static inline float LANES(flushed)(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = bits & 0x7f800000 ? bits : bits & 0x80000000;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
#define SAME(v) (v)
#define COMPARE_FLOAT(suffix, T, F)                                                                          \
    COMPARE_OP(eq_##suffix, T, F(x) == F(y))                                                                 \
    COMPARE_OP(lt_##suffix, T, F(x) < F(y))                                                                  \
    COMPARE_OP(le_##suffix, T, F(x) <= F(y))                                                                 \
    COMPARE_OP(lg_##suffix, T, (F(x) < F(y)) | (F(x) > F(y)))                                                \
    COMPARE_OP(num_##suffix, T, (x == x) & (y == y))
COMPARE_FLOAT(f32, float, SAME)
COMPARE_FLOAT(f32_ftz, float, LANES(flushed))
COMPARE_FLOAT(f64, double, SAME)

#define RELATIONS(suffix)                                                                                    \
    {                                                                                                        \
        [LANE_EQ] = LANES(eq_##suffix), [LANE_LT] = LANES(lt_##suffix), [LANE_LE] = LANES(le_##suffix)       \
    }
#define FLOAT_RELATIONS(suffix)                                                                              \
    {                                                                                                        \
        [LANE_EQ] = LANES(eq_##suffix), [LANE_LT] = LANES(lt_##suffix), [LANE_LE] = LANES(le_##suffix),      \
        [LANE_LG] = LANES(lg_##suffix), [LANE_NUM] = LANES(num_##suffix)                                     \
    }

lane_op LANES(lanes_compare)(enum lane_relation relation, enum ptx_type type, unsigned form);
lane_op LANES(lanes_compare)(enum lane_relation relation, enum ptx_type type, unsigned form)
{
    static const lane_op u16[5] = RELATIONS(uint16_t), s16[5] = RELATIONS(int16_t),
                         u32[5] = RELATIONS(uint32_t), s32[5] = RELATIONS(int32_t),
                         u64[5] = RELATIONS(uint64_t), s64[5] = RELATIONS(int64_t),
                         f32[5] = FLOAT_RELATIONS(f32), f32_ftz[5] = FLOAT_RELATIONS(f32_ftz),
                         f64[5] = FLOAT_RELATIONS(f64);
    switch ((int)type) {
    case PTX_B16:
    case PTX_U16:
        return u16[relation];
    case PTX_S16:
        return s16[relation];
    case PTX_B32:
    case PTX_U32:
        return u32[relation];
    case PTX_S32:
        return s32[relation];
    case PTX_B64:
    case PTX_U64:
        return u64[relation];
    case PTX_S64:
        return s64[relation];
    case PTX_F32:
        return form & LANE_FTZ ? f32_ftz[relation] : f32[relation];
    case PTX_F64:
        return f64[relation];
    }
    return NULL;
}

#define PREDICATE_OP(name, result)                                                                           \
    static void LANES(name)(void *d, const void *a, const void *b, const void *c, const void *e,             \
                            uint64_t extra)                                                                  \
    {                                                                                                        \
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;                                         \
        (void)y, (void)c, (void)e, (void)extra;                                                              \
        *(uint32_t *)d = (result);                                                                           \
    }
PREDICATE_OP(predicate_and, x &y)
PREDICATE_OP(predicate_or, x | y)
PREDICATE_OP(predicate_xor, x ^ y)
PREDICATE_OP(predicate_not, ~x)
PREDICATE_OP(predicate_move, x)

lane_op LANES(lanes_predicate)(enum ptx_opcode opcode);
lane_op LANES(lanes_predicate)(enum ptx_opcode opcode)
{
    switch ((int)opcode) {
    case PTX_OP_AND:
        return LANES(predicate_and);
    case PTX_OP_OR:
        return LANES(predicate_or);
    case PTX_OP_XOR:
        return LANES(predicate_xor);
    case PTX_OP_NOT:
        return LANES(predicate_not);
    case PTX_OP_MOV:
        return LANES(predicate_move);
    }
    return NULL;
}

#define MOVE_OPS(T, bytes)                                                                                   \
    static void LANES(select_##bytes)(void *d_, const void *a_, const void *b_, const void *c,               \
                                      const void *e, uint64_t extra)                                         \
    {                                                                                                        \
        T *d = d_;                                                                                           \
        const T *a = a_, *b = b_;                                                                            \
        uint32_t mask = *(const uint32_t *)c;                                                                \
        (void)e, (void)extra;                                                                                \
        _Pragma("GCC ivdep") for (int i = 0; i < LANE_COUNT; i++)                                            \
        {                                                                                                    \
            T x = a[i], y = b[i];                                                                            \
            d[i] = mask & 1u << i ? x : y;                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    LANE_OP1(move_##bytes, T, x)                                                                             \
    static void LANES(fill_##bytes)(void *d_, const void *a, const void *b, const void *c, const void *e,    \
                                    uint64_t extra)                                                          \
    {                                                                                                        \
        T *d = d_;                                                                                           \
        (void)a, (void)b, (void)c, (void)e;                                                                  \
        for (int i = 0; i < LANE_COUNT; i++) d[i] = (T)extra;                                                \
    }                                                                                                        \
    static void LANES(blend_##bytes)(T * d, const T *values, uint32_t mask)                                  \
    {                                                                                                        \
        _Pragma("GCC ivdep") for (int i = 0; i < LANE_COUNT; i++)                                            \
        {                                                                                                    \
            T x = values[i], y = d[i];                                                                       \
            d[i] = mask & 1u << i ? x : y;                                                                   \
        }                                                                                                    \
    }
MOVE_OPS(uint16_t, 2)
MOVE_OPS(uint32_t, 4)
MOVE_OPS(uint64_t, 8)
MOVE_OPS(unsigned __int128, 16)

#define BY_BYTES(name)                                                                                       \
    (bytes == 2    ? LANES(name##_2)                                                                         \
     : bytes == 4  ? LANES(name##_4)                                                                         \
     : bytes == 8  ? LANES(name##_8)                                                                         \
     : bytes == 16 ? LANES(name##_16)                                                                        \
                   : NULL)
lane_op LANES(lanes_select)(unsigned bytes);
lane_op LANES(lanes_select)(unsigned bytes)
{
    return BY_BYTES(select);
}
lane_op LANES(lanes_move)(unsigned bytes);
lane_op LANES(lanes_move)(unsigned bytes)
{
    return BY_BYTES(move);
}
lane_op LANES(lanes_fill)(unsigned bytes);
lane_op LANES(lanes_fill)(unsigned bytes)
{
    return BY_BYTES(fill);
}

LANE_OP(pack_4, uint32_t, uint16_t, uint16_t, uint16_t, uint16_t, x | (uint32_t)y << 16)
LANE_OP(pack_8, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, x | (uint64_t)y << 32)
lane_op LANES(lanes_pack)(unsigned width);
lane_op LANES(lanes_pack)(unsigned width)
{
    return width == 4 ? LANES(pack_4) : width == 8 ? LANES(pack_8) : NULL;
}

void LANES(lanes_blend)(void *d, const void *values, uint32_t mask, unsigned bytes);
void LANES(lanes_blend)(void *d, const void *values, uint32_t mask, unsigned bytes)
{
    switch (bytes) {
    case 0:
        *(uint32_t *)d = (*(uint32_t *)d & ~mask) | (*(const uint32_t *)values & mask);
        break;
    case 2:
        LANES(blend_2)(d, values, mask);
        break;
    case 4:
        LANES(blend_4)(d, values, mask);
        break;
    case 8:
        LANES(blend_8)(d, values, mask);
        break;
    case 16:
        LANES(blend_16)(d, values, mask);
        break;
    }
}

void LANES(lanes_addresses)(uint64_t *out, const void *base, unsigned width, uint64_t offset);
void LANES(lanes_addresses)(uint64_t *out, const void *base, unsigned width, uint64_t offset)
{
    if (width == 8) {
        const uint64_t *wide = base;
        for (int i = 0; i < LANE_COUNT; i++) out[i] = wide[i] + offset;
    } else {
        const uint32_t *narrow = base;
        for (int i = 0; i < LANE_COUNT; i++) out[i] = (uint32_t)(narrow[i] + offset);
    }
}

struct lane_span LANES(lanes_span)(const uint64_t *addresses, unsigned bytes);
struct lane_span LANES(lanes_span)(const uint64_t *addresses, unsigned bytes)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t bits = 0, differs = 0;
    for (int i = 0; i < LANE_COUNT; i++) {
        int64_t address = (int64_t)addresses[i];
        low = address < low ? address : low;
        high = address > high ? address : high;
        bits |= addresses[i];
        differs |= addresses[i] ^ (addresses[0] + (uint64_t)(unsigned)i * bytes);
    }
    return (struct lane_span){(uint64_t)low, (uint64_t)high, bits, differs == 0};
}

/* Loads from addresses that have been checked. False when there is no such width. */
#define GATHER(T)                                                                                            \
    for (int i = 0; i < LANE_COUNT; i++) ((T *)d)[i] = *(const T *)(uintptr_t)addresses[i]
bool LANES(lanes_gather)(void *d, const uint64_t *addresses, unsigned bytes);
bool LANES(lanes_gather)(void *d, const uint64_t *addresses, unsigned bytes)
{
    switch (bytes) {
    case 2:
        GATHER(uint16_t);
        return true;
    case 4:
        GATHER(uint32_t);
        return true;
    case 8:
        GATHER(uint64_t);
        return true;
    }
    return false;
}
