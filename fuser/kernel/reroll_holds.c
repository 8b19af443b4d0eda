/* SPDX-License-Identifier: Apache-2.0
 * See reroll.h: numbers between bounds, by intervals. */
#include "fuser/kernel/reroll.h"

#include <string.h>

struct interval {
    int64_t least, most;
};
struct asking {
    const struct symbols *symbols;
    const struct reroll_launch *launch;
    unsigned char *uses;
};
enum { DEPTH = 8 };
#define MOST_TERM (INT64_C(1) << 55)

static bool is_small(const struct interval *interval)
{
    return interval->least >= INT32_MIN && interval->most <= INT32_MAX;
}

static struct interval product(const struct interval *a, const struct interval *b)
{
    int64_t corners[4] = {a->least * b->least, a->least * b->most, a->most * b->least, a->most * b->most};
    struct interval result = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        if (corners[i] < result.least) result.least = corners[i];
        if (corners[i] > result.most) result.most = corners[i];
    }
    return result;
}

static bool of_form(const struct asking *asking, const struct form *form, unsigned depth,
                    struct interval *interval);

static bool of_parameter(const struct asking *asking, uint32_t offset, uint32_t bytes,
                         struct interval *interval)
{
    int64_t value = 0;
    int32_t word;
    if ((bytes != 4 && bytes != 8) || offset > asking->launch->parameter_bytes ||
        asking->launch->parameter_bytes - offset < bytes)
        return false;
    memcpy(bytes == 4 ? (void *)&word : (void *)&value, asking->launch->parameters + offset, bytes);
    if (bytes == 4) value = word;
    memset(asking->uses + offset, 1, bytes);
    *interval = (struct interval){value, value};
    return true;
}

static bool of_special(const struct asking *asking, uint32_t special, struct interval *interval)
{
    uint32_t axis = (special - PTX_SPECIAL_TID_X) % 3;
    int64_t block = asking->launch->block[axis], grid = asking->launch->grid[axis];
    if (special < PTX_SPECIAL_NTID_X)
        *interval = (struct interval){0, block - 1};
    else if (special < PTX_SPECIAL_CTAID_X)
        *interval = (struct interval){block, block};
    else if (special < PTX_SPECIAL_NCTAID_X)
        *interval = (struct interval){0, grid - 1};
    else
        *interval = (struct interval){grid, grid};
    return special <= PTX_SPECIAL_NCTAID_Z;
}

/* A number with a sign, of 32 bits. */
static bool of_atom(const struct asking *asking, uint32_t atom, unsigned depth, struct interval *interval)
{
    struct operation operation = symbols_get_operation(asking->symbols, atom);
    struct interval a, b;
    if (operation.count < 2) return false;
    switch (operation.words[0]) {
    case TAG_PARAMETER:
        return operation.count == 3 &&
               of_parameter(asking, operation.words[1], operation.words[2], interval) && is_small(interval);
    case TAG_SPECIAL:
        return of_special(asking, operation.words[1], interval);
    case TAG_PRODUCT:
        if (operation.count != 4 ||
            !of_form(asking, symbols_get_form(asking->symbols, operation.words[2]), depth + 1, &a) ||
            !of_form(asking, symbols_get_form(asking->symbols, operation.words[3]), depth + 1, &b) ||
            !is_small(&a) || !is_small(&b))
            return false;
        *interval = product(&a, &b);
        return is_small(interval);
    default:
        return false;
    }
}

static bool of_form(const struct asking *asking, const struct form *form, unsigned depth,
                    struct interval *interval)
{
    if (!form || depth > DEPTH) return false;
    struct form whole = form_resize(form, 64);
    *interval = (struct interval){(int64_t)whole.constant, (int64_t)whole.constant};
    if (!is_small(interval)) return false;
    for (uint32_t i = 0; i < whole.count; i++) {
        int64_t factor = (int64_t)whole.terms[i].factor;
        struct interval of, times = {factor, factor};
        if (!is_small(&times) || !of_atom(asking, whole.terms[i].atom, depth, &of)) return false;
        of = product(&of, &times);
        if (of.least < -MOST_TERM || of.most > MOST_TERM) return false;
        interval->least += of.least;
        interval->most += of.most;
    }
    return true;
}

bool reroll_holds(const struct reroll *reroll, const struct reroll_launch *launch, unsigned char *uses)
{
    const struct symbolic_run *run = &reroll->run;
    struct asking asking = {run->symbols, launch, uses};
    for (uint32_t i = 0; i < run->widened_count; i++) {
        const struct widened *widened = &run->widened[i];
        struct interval rest, index = {0, launch->greatest}, times = {widened->of_index, widened->of_index};
        if (!of_form(&asking, symbols_get_form(run->symbols, widened->rest), 0, &rest)) return false;
        index = product(&index, &times);
        rest.least += index.least;
        rest.most += index.most;
        if (!is_small(&rest) || (!widened->is_signed && rest.least < 0)) return false;
    }
    return true;
}
