/* SPDX-License-Identifier: Apache-2.0
 * Lane operations: what one PTX arithmetic instruction does to all 32 lanes of a warp at once, on plain
 * arrays. A register is an array of 32 values of its width; a predicate is one 32-bit mask. Operations
 * compute every lane, whether it is active or not: the caller keeps the old value of the others. The
 * lanes_*.c files are compiled twice on x86-64, for any processor and for those with AVX2, FMA and F16C
 * (lanes_fast.c); LANES(name) gives each copy its own name. */
#ifndef KFUSE_EMULATOR_LANES_H
#define KFUSE_EMULATOR_LANES_H

#include "ptx/ptx.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANE_COUNT = 32 };

/* destination, up to four sources, and what the instruction fixes (a lookup table, flags) */
typedef void (*lane_op)(void *d, const void *a, const void *b, const void *c, const void *e, uint64_t extra);

/* Which form of an opcode is meant, beside its type. */
enum lane_form {
    LANE_PLAIN = 0,
    LANE_FTZ = 1, /* f32: subnormal inputs and results become zero */
    LANE_SAT = 2, /* integer add, sub */
    LANE_LO = 4,
    LANE_HI = 8,
    LANE_WIDE = 16,
    LANE_APPROX = 32, /* approximations: exact here, with the documented exceptions */
    LANE_NAN = 64,    /* min.NaN, max.NaN */
    LANE_WRAP = 128,  /* shf.wrap */
    LANE_LEFT = 256,  /* shf.l, dp2a.lo has LANE_LO */
    LANE_SHIFTAMT = 512,
    LANE_RELU = 1024,
    LANE_CARRY = 2048,   /* the carry of add, sub instead of the sum */
    LANE_XORSIGN = 4096, /* min, max .xorsign.abs */
};

enum lane_relation { LANE_EQ, LANE_LT, LANE_LE, LANE_LG, LANE_NUM };
enum {                         /* extra of a comparison */
       LANE_INVERT = 1,        /* the relation is negated */
       LANE_NEGATE_C = 2,      /* !c */
       LANE_COMBINE_SHIFT = 2, /* enum lane_combine */
};
enum lane_combine { LANE_ALONE, LANE_AND, LANE_OR, LANE_XOR };

struct lane_span {      /* of the addresses of active lanes */
    uint64_t low, high; /* first bytes */
    uint64_t bits;      /* all addresses ORed */
    bool is_contiguous; /* lane i is at low + i * bytes, all 32 active */
};

enum lane_integral {
    LANE_NEAREST,
    LANE_ZERO,
    LANE_DOWN,
    LANE_UP,
    LANE_INTEGRAL_FTZ = 4
}; /* cvt .rni .rzi ... */

enum { LANE_TF32_RELU = 8 }; /* beside enum half_rounding */

/* The selectors return NULL where there is no such operation. Widths are of registers, in bytes. */
struct lanes {
    lane_op (*integer)(enum ptx_opcode opcode, enum ptx_type type, enum ptx_type second, unsigned form);
    lane_op (*floating)(enum ptx_opcode opcode, enum ptx_type type, unsigned form);
    lane_op (*half)(enum ptx_opcode opcode, enum ptx_type type);
    lane_op (*compare)(enum lane_relation relation, enum ptx_type type, unsigned form);
    lane_op (*predicate)(enum ptx_opcode opcode); /* and, or, xor, not, mov on predicates */
    lane_op (*select)(unsigned width);            /* selp: d = c ? a : b */
    lane_op (*move)(unsigned width);
    lane_op (*fill)(unsigned width);         /* d = extra in all lanes */
    lane_op (*saturate)(enum ptx_type type); /* d = a clamped to [0, 1] */
    lane_op (*convert)(enum ptx_type to, enum ptx_type from, bool is_integral, bool is_ftz);
    lane_op (*widen)(unsigned to_width, enum ptx_type from, unsigned from_width); /* sign or zero extension */
    lane_op (*clamp)(void);
    lane_op (*pack)(unsigned width); /* d = a below b, of half the width */
    void (*addresses)(uint64_t *out, const void *base, unsigned width, uint64_t offset);
    struct lane_span (*span)(const uint64_t *addresses, unsigned bytes);
    void (*blend)(void *d, const void *values, uint32_t mask, unsigned bytes); /* bytes 0: a predicate */
    bool (*gather)(void *d, const uint64_t *addresses, unsigned bytes);
};
const struct lanes *lanes_best(void); /* for this processor */

#ifndef LANES
#define LANES(name) name##_plain
#endif

/* Defines an operation: x, y, z, w are the sources' values of one lane; result is what d gets. */
#define LANE_OP(name, D, A, B, C, E, result)                                                                 \
    static void LANES(name)(void *d_, const void *a_, const void *b_, const void *c_, const void *e_,        \
                            uint64_t extra)                                                                  \
    {                                                                                                        \
        D *d = d_;                                                                                           \
        const A *a = a_;                                                                                     \
        const B *b = b_;                                                                                     \
        const C *c = c_;                                                                                     \
        const E *e = e_;                                                                                     \
        (void)extra;                                                                                         \
        _Pragma("GCC ivdep") for (int i = 0; i < LANE_COUNT; i++)                                            \
        {                                                                                                    \
            A x = a[i];                                                                                      \
            B y = b[i];                                                                                      \
            C z = c[i];                                                                                      \
            E w = e[i];                                                                                      \
            (void)x, (void)y, (void)z, (void)w;                                                              \
            d[i] = (result);                                                                                 \
        }                                                                                                    \
    }
#define LANE_OP1(name, T, result) LANE_OP(name, T, T, T, T, T, result)

#endif
