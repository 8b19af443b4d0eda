/* SPDX-License-Identifier: Apache-2.0
 * Values of code that is run symbolically, each a number: equal numbers, equal values. Integers of 32 and 64 bits are linear forms
 * over atoms, modulo 2^bits; all else is an operation over values, of which only equality is known (hash-consing). */
#ifndef KFUSE_FUSER_KERNEL_SYMBOLS_H
#define KFUSE_FUSER_KERNEL_SYMBOLS_H

#include "common/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { SYMBOL_NONE = 0, FORM_TERMS = 8, SYMBOLS_MOST = 1 << 18 };
struct form { /* constant + the sum of factor * atom, modulo 2^bits; terms by atom, no factor is 0 */
    uint32_t bits, count;
    uint64_t constant;
    struct form_term {
        uint64_t factor;
        uint32_t atom; /* an operation */
    } terms[FORM_TERMS];
};
/* The words of an operation, the caller's: what it is, then its arguments. */
struct operation {
    uint32_t count;
    const uint32_t *words;
};
struct symbols;

/* In the arena, but for a table that symbols_close frees. NULL: memory is out. */
struct symbols *symbols_open(struct arena *arena);
void symbols_close(struct symbols *symbols);
/* SYMBOL_NONE: too many, or memory is out. */
uint32_t symbols_operation(struct symbols *symbols, const uint32_t *words, uint32_t count);
uint32_t symbols_form(struct symbols *symbols, const struct form *form);
/* Of a value that is a form; NULL: it is an operation. */
const struct form *symbols_get_form(const struct symbols *symbols, uint32_t value);
/* Of one that is an operation; count 0: it is a form. */
struct operation symbols_get_operation(const struct symbols *symbols, uint32_t value);

struct form form_of_constant(uint32_t bits, uint64_t constant);
struct form form_of_atom(uint32_t bits, uint32_t atom);
/* *sum += factor * other, modulo 2^(bits of *sum). False: too many terms. */
bool form_add(struct form *sum, const struct form *other, uint64_t factor);
/* Read with other bits: fewer, or more where factors and constant are numbers with signs. */
struct form form_resize(const struct form *form, uint32_t bits);
uint64_t form_factor(const struct form *form, uint32_t atom);

#endif
