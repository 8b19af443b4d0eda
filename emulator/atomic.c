/* SPDX-License-Identifier: Apache-2.0
 * One lane's atomic operation -- ISA 9.7.13.15. Atomic for all workers: every operation is a compare-and-swap
 * loop on the host, the common sums excepted. */
#include "emulator/machine.h"
#include "emulator/half.h"

static uint32_t atomic_flush(uint32_t bits, bool is_flushed)
{
    return is_flushed && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

/* f32 sums in global memory flush subnormals, those in shared memory do not */
static uint32_t atomic_sum32(uint32_t a, uint32_t b, bool is_flushed)
{
    float x, y;
    a = atomic_flush(a, is_flushed);
    b = atomic_flush(b, is_flushed);
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof x);
    return x != x ? 0x7fffffff : atomic_flush(a, is_flushed);
}

/* Of two NaNs, global memory takes the operand's and leaves it as it is, shared memory keeps its own, made
 * quiet: measured */
static uint64_t atomic_sum64(uint64_t a, uint64_t b, bool is_shared)
{
    double x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (!is_shared && (x != x || y != y)) return y != y ? b : a;
    x = x != x ? x + x : x + y;
    memcpy(&a, &x, sizeof x);
    return a;
}

static uint16_t atomic_sum16(uint16_t a, uint16_t b, enum half_format format)
{
    return half_round(half_sum_odd(half_value(a, format), half_value(b, format)), format, HALF_RN);
}

static uint64_t atomic_sum(enum ptx_type type, uint64_t old, uint64_t value, bool is_shared)
{
    enum half_format format = type == PTX_F16 || type == PTX_F16X2 ? HALF_F16 : HALF_BF16;
    switch ((int)type) {
    case PTX_F32:
        return atomic_sum32((uint32_t)old, (uint32_t)value, !is_shared);
    case PTX_F64:
        return atomic_sum64(old, value, is_shared);
    case PTX_F16:
    case PTX_BF16:
        return atomic_sum16((uint16_t)old, (uint16_t)value, format);
    case PTX_F16X2:
    case PTX_BF16X2:
        return atomic_sum16((uint16_t)old, (uint16_t)value, format) |
               (uint32_t)atomic_sum16((uint16_t)(old >> 16), (uint16_t)(value >> 16), format) << 16;
    }
    return old + value;
}

static bool atomic_is_less(enum ptx_type type, uint64_t a, uint64_t b)
{
    if (type == PTX_S32) return (int32_t)a < (int32_t)b;
    if (type == PTX_S64) return (int64_t)a < (int64_t)b;
    return a < b;
}

static uint64_t atomic_compute(const struct step_memory *memory, uint64_t old, uint64_t value, uint64_t swap,
                               bool is_shared)
{
    switch ((int)memory->operation) {
    case PTX_MOD_ADD:
        return atomic_sum(memory->type, old, value, is_shared);
    case PTX_MOD_MIN:
        return atomic_is_less(memory->type, value, old) ? value : old;
    case PTX_MOD_MAX:
        return atomic_is_less(memory->type, old, value) ? value : old;
    case PTX_MOD_AND:
        return old & value;
    case PTX_MOD_OR:
        return old | value;
    case PTX_MOD_XOR:
        return old ^ value;
    case PTX_MOD_EXCH:
        return value;
    case PTX_MOD_CAS:
        return old == value ? swap : old;
    case PTX_MOD_INC:
        return old >= value ? 0 : old + 1;
    case PTX_MOD_DEC:
        return old == 0 || old > value ? value : old - 1;
    }
    return old;
}

#define ATOMIC_LOOP(T)                                                                                       \
    {                                                                                                        \
        T *target = place, old = __atomic_load_n(target, __ATOMIC_RELAXED), fresh;                           \
        do fresh = (T)atomic_compute(memory, old, value, swap, is_shared);                                   \
        while (                                                                                              \
            !__atomic_compare_exchange_n(target, &old, fresh, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));   \
        return old;                                                                                          \
    }

uint64_t atomic_apply(const struct step_memory *memory, void *place, uint64_t value, uint64_t swap,
                      bool is_shared)
{
    bool is_sum = memory->operation == PTX_MOD_ADD && !ptx_type_is_float(memory->type);
    switch (memory->bytes) {
    case 2:
        ATOMIC_LOOP(uint16_t)
    case 4:
        if (is_sum) return __atomic_fetch_add((uint32_t *)place, (uint32_t)value, __ATOMIC_SEQ_CST);
        ATOMIC_LOOP(uint32_t)
    case 8:
        if (is_sum) return __atomic_fetch_add((uint64_t *)place, value, __ATOMIC_SEQ_CST);
        ATOMIC_LOOP(uint64_t)
    }
    return 0;
}
