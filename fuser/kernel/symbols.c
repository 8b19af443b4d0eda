/* SPDX-License-Identifier: Apache-2.0
 * See symbols.h. */
#include "fuser/kernel/symbols.h"

#include <string.h>
#include <uthash.h>

struct symbol {
    bool is_form;
    uint32_t id, size; /* bytes of the key */
    const void *key;
    UT_hash_handle hh;
};
struct symbols {
    struct arena *arena;
    struct symbol *table, **by_id;
    uint32_t count, capacity;
};

struct symbols *symbols_open(struct arena *arena)
{
    struct symbols *symbols = arena_calloc(arena, 1, sizeof *symbols);
    if (symbols) symbols->arena = arena;
    return symbols;
}

void symbols_close(struct symbols *symbols)
{
    if (symbols) HASH_CLEAR(hh, symbols->table);
}

static bool reserve(struct symbols *symbols)
{
    if (symbols->count < symbols->capacity) return true;
    uint32_t capacity = symbols->capacity ? 2 * symbols->capacity : 1024;
    struct symbol **grown =
        arena_grow(symbols->arena, symbols->by_id, symbols->count, capacity, sizeof *grown);
    if (!grown || capacity > SYMBOLS_MOST) return false;
    symbols->by_id = grown;
    symbols->capacity = capacity;
    return true;
}

/* Forms and operations have keys of different lengths, modulo 8 bytes. */
static uint32_t intern(struct symbols *symbols, const void *key, uint32_t size, bool is_form)
{
    struct symbol *symbol;
    HASH_FIND(hh, symbols->table, key, size, symbol);
    if (symbol) return symbol->id;
    void *copy =
        arena_calloc(symbols->arena, 1, is_form ? sizeof(struct form) : size); /* a form is read as one */
    symbol = arena_alloc(symbols->arena, sizeof *symbol);
    if (!reserve(symbols) || !symbol || !copy) return SYMBOL_NONE;
    memcpy(copy, key, size);
    *symbol = (struct symbol){.is_form = is_form, .id = symbols->count + 1, .size = size, .key = copy};
    symbols->by_id[symbols->count++] = symbol;
    HASH_ADD_KEYPTR(hh, symbols->table, symbol->key, symbol->size, symbol);
    return symbol->id;
}

uint32_t symbols_operation(struct symbols *symbols, const uint32_t *words, uint32_t count)
{
    uint32_t key[64] = {0};
    if (count > 60) return SYMBOL_NONE;
    memcpy(key + 1, words, count * sizeof *words);
    key[0] = count;
    count += count % 2; /* an odd number of words follows the first */
    return intern(symbols, key, (count + 1) * (uint32_t)sizeof *key, false);
}

uint32_t symbols_form(struct symbols *symbols, const struct form *form)
{
    struct form key;
    uint32_t size = (uint32_t)(offsetof(struct form, terms) + form->count * sizeof form->terms[0]);
    memset(&key, 0, sizeof key);
    key.bits = form->bits;
    key.count = form->count;
    key.constant = form->constant;
    for (uint32_t i = 0; i < form->count; i++) {
        key.terms[i].factor = form->terms[i].factor;
        key.terms[i].atom = form->terms[i].atom;
    }
    return intern(symbols, &key, size, true);
}

const struct form *symbols_get_form(const struct symbols *symbols, uint32_t value)
{
    if (!value || value > symbols->count || !symbols->by_id[value - 1]->is_form) return NULL;
    return symbols->by_id[value - 1]->key;
}

struct operation symbols_get_operation(const struct symbols *symbols, uint32_t value)
{
    if (!value || value > symbols->count || symbols->by_id[value - 1]->is_form) return (struct operation){0};
    const uint32_t *key = symbols->by_id[value - 1]->key;
    return (struct operation){key[0], key + 1};
}

static uint64_t reduce(uint32_t bits, uint64_t number)
{
    return bits == 32 ? (uint32_t)number : number;
}

struct form form_of_constant(uint32_t bits, uint64_t constant)
{
    return (struct form){.bits = bits, .constant = reduce(bits, constant)};
}

struct form form_of_atom(uint32_t bits, uint32_t atom)
{
    return (struct form){.bits = bits, .count = 1, .terms = {{1, atom}}};
}

static void take_out(struct form *form, uint32_t at)
{
    memmove(&form->terms[at], &form->terms[at + 1], (--form->count - at) * sizeof form->terms[0]);
}

static bool add_term(struct form *form, uint32_t atom, uint64_t factor)
{
    uint32_t at = 0;
    while (at < form->count && form->terms[at].atom < atom) at++;
    if (at < form->count && form->terms[at].atom == atom) {
        form->terms[at].factor = reduce(form->bits, form->terms[at].factor + factor);
        if (!form->terms[at].factor) take_out(form, at);
        return true;
    }
    if (!reduce(form->bits, factor)) return true;
    if (form->count == FORM_TERMS) return false;
    memmove(&form->terms[at + 1], &form->terms[at], (form->count++ - at) * sizeof form->terms[0]);
    form->terms[at] = (struct form_term){reduce(form->bits, factor), atom};
    return true;
}

bool form_add(struct form *sum, const struct form *other, uint64_t factor)
{
    struct form copy = *other;
    bool fits = true;
    sum->constant = reduce(sum->bits, sum->constant + copy.constant * factor);
    for (uint32_t i = 0; fits && i < copy.count; i++)
        fits = add_term(sum, copy.terms[i].atom, copy.terms[i].factor * factor);
    return fits;
}

static uint64_t resize(uint64_t number, uint32_t from, uint32_t to)
{
    return from < to ? (uint64_t)(int64_t)(int32_t)number : reduce(to, number);
}

struct form form_resize(const struct form *form, uint32_t bits)
{
    struct form resized = form_of_constant(bits, resize(form->constant, form->bits, bits));
    for (uint32_t i = 0; i < form->count; i++)
        add_term(&resized, form->terms[i].atom, resize(form->terms[i].factor, form->bits, bits));
    return resized;
}

uint64_t form_factor(const struct form *form, uint32_t atom)
{
    for (uint32_t i = 0; i < form->count; i++)
        if (form->terms[i].atom == atom) return form->terms[i].factor;
    return 0;
}
