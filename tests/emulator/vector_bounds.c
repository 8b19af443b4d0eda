/* SPDX-License-Identifier: Apache-2.0
 * Approximate results compared: as numbers, within the bound and the half ulp by which the emulator's may be
 * off. */
#include "tests/emulator/vector_bounds.h"

#include <math.h>
#include <string.h>

enum bound_kind { ULPS, RELATIVE, ABSOLUTE, WAVE, LOGARITHM };
struct bound {
    const char *mnemonic;
    enum bound_kind kind;
    double size;
};
static const struct bound bounds[] = {
#define BOUND(mnemonic, kind, size) {mnemonic, kind, size},
#include "tests/emulator/vector_bounds.def"
#undef BOUND
};

struct format {
    unsigned bits, fraction;
    int most; /* the largest exponent, which is also the bias */
};

static const struct bound *bound_of(const char *mnemonic)
{
    for (unsigned i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (strcmp(bounds[i].mnemonic, mnemonic) == 0) return &bounds[i];
    }
    return NULL;
}

bool vector_is_approximate(const char *mnemonic)
{
    return bound_of(mnemonic) != NULL;
}

const char *vector_approximate(unsigned n)
{
    return n < sizeof bounds / sizeof *bounds ? bounds[n].mnemonic : NULL;
}

static struct format format_of(enum ptx_type type)
{
    switch ((int)type) {
    case PTX_F64:
        return (struct format){64, 52, 1023};
    case PTX_F16:
    case PTX_F16X2:
        return (struct format){16, 10, 15};
    case PTX_BF16:
    case PTX_BF16X2:
        return (struct format){16, 7, 127};
    }
    return (struct format){32, 23, 127};
}

/* An infinity counts as the power of two above the largest number. NaN: NaN. */
static double value_of(uint64_t bits, struct format format)
{
    uint64_t fraction = bits & ((UINT64_C(1) << format.fraction) - 1);
    int exponent = (int)(bits >> format.fraction & (uint64_t)(2 * format.most + 1));
    double sign = bits >> (format.bits - 1) & 1 ? -1 : 1;
    if (exponent == 2 * format.most + 1)
        return fraction ? NAN : format.most == 1023 ? sign * INFINITY : sign * ldexp(1, format.most + 1);
    if (exponent > 0) fraction |= UINT64_C(1) << format.fraction;
    return sign * ldexp((double)fraction, (exponent ? exponent : 1) - format.most - (int)format.fraction);
}

static double ulp_of(double value, struct format format)
{
    int exponent = value == 0 ? -format.most : ilogb(value);
    if (exponent < 1 - format.most) exponent = 1 - format.most;
    return ldexp(1, exponent - (int)format.fraction);
}

static double allowed(const struct bound *bound, double operand, double result, double ulp)
{
    double magnitude = fabs(operand);
    switch (bound->kind) {
    case ULPS:
        return (bound->size + 0.5) * ulp;
    case RELATIVE:
        return bound->size * fabs(result) + 0.5 * ulp;
    case ABSOLUTE:
        return bound->size + 0.5 * ulp;
    case WAVE:
        return magnitude <= 2 * M_PI     ? exp2(-20.5) + 0.5 * ulp
               : magnitude <= 100 * M_PI ? exp2(-14.7) + 0.5 * ulp
                                         : 2;
    case LOGARITHM:
        return bound->size * (operand > 0.5 && operand < 2 ? 1 : fabs(result)) + 0.5 * ulp;
    }
    return 0;
}

static bool is_plain(double operand, struct format format) /* neither zero, infinite nor NaN */
{
    return operand == operand && operand != 0 && fabs(operand) < ldexp(1, format.most) * 2;
}

static bool is_near(const struct bound *bound, struct format format, uint64_t a, uint64_t b, bool has_two,
                    uint64_t got, uint64_t expected)
{
    double x = value_of(a, format), y = value_of(b, format), result = value_of(got, format),
           other = value_of(expected, format);
    if (got == expected) return true;
    if (!is_plain(x, format) || (has_two && !is_plain(y, format))) return false;
    if (result != result || other != other || (result == 0 && other == 0) || isinf(result) || isinf(other))
        return false;
    if (bound->kind == WAVE && fabs(other) > 1) return false;
    return fabs(result - other) <= allowed(bound, x, result, ulp_of(result, format));
}

bool vector_is_near(const struct emu_form *form, const uint64_t operands[VECTOR_OPERANDS], uint64_t got,
                    uint64_t expected)
{
    const struct bound *bound = bound_of(form->mnemonic);
    enum ptx_type type = vector_result_type(form);
    struct format format = format_of(type);
    unsigned parts = type == PTX_F16X2 || type == PTX_BF16X2 ? 2 : 1;
    bool has_two = strlen(form->registers) > 2;
    uint64_t mask = format.bits == 64 ? UINT64_MAX : (UINT64_C(1) << format.bits) - 1;
    for (unsigned i = 0; i < parts; i++) {
        unsigned shift = 16 * i;
        if (!is_near(bound, format, operands[0] >> shift & mask, operands[1] >> shift & mask, has_two,
                     got >> shift & mask, expected >> shift & mask))
            return false;
    }
    return true;
}
