/* SPDX-License-Identifier: Apache-2.0
 * See pieces.h. */
#include "fuser/access/pieces.h"

#include "fuser/access/array_range.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PIECE = 1u << 28 /* below ARRAY_RANGE_FIRST_NEW, and more than arrays that a program has */ };

struct reach {
    uint32_t array, base; /* base: in order of the launches */
    int64_t from, to;
    uint32_t piece; /* base that stands for it: the first one */
};

static int compare_reaches(const void *a, const void *b)
{
    const struct reach *x = a, *y = b;
    if (x->array != y->array) return x->array < y->array ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->base > y->base) - (x->base < y->base);
}

static struct reach reach_of(const struct bound_launch *launch, uint32_t base)
{
    const struct access_base *of = &launch->summary->bases[base];
    const struct array_binding *binding = &launch->bindings[base];
    struct reach reach = {.array = binding->array, .from = INT64_MIN, .to = INT64_MAX};
    if (!of->is_bounded || !binding->is_plain || binding->array == ARRAY_RANGE_UNKNOWN) return reach;
    reach.from = binding->offset + (of->from < 0 ? of->from : 0);
    reach.to = binding->offset + (of->to > 1 ? of->to : 1);
    return reach;
}

static uint32_t count_bases(const struct bound_launch *launches, uint32_t count)
{
    uint32_t bases = 0;
    for (uint32_t i = 0; i < count; i++) bases += launches[i].summary ? launches[i].summary->base_count : 0;
    return bases;
}

/* Reaches that meet, one by one, are one piece. */
static void join_reaches(const struct reach *reaches, uint32_t count, uint32_t *pieces)
{
    for (uint32_t i = 0, end; i < count; i = end) {
        int64_t to = reaches[i].to;
        uint32_t first = reaches[i].base;
        for (end = i + 1; end < count && reaches[end].array == reaches[i].array && reaches[end].from < to;
             end++) {
            if (reaches[end].to > to) to = reaches[end].to;
            if (reaches[end].base < first) first = reaches[end].base;
        }
        for (uint32_t k = i; k < end; k++) pieces[reaches[k].base] = first;
    }
}

/* numbers has arrays, and gets those of pieces. */
static void name_pieces(const struct reach *reaches, uint32_t count, const uint32_t *pieces,
                        uint32_t *numbers)
{
    uint32_t next = FIRST_PIECE;
    for (uint32_t i = 0, end; i < count; i = end) { /* the array's first base */
        uint32_t first = reaches[i].base;
        for (end = i; end < count && reaches[end].array == reaches[i].array; end++)
            if (reaches[end].base < first) first = reaches[end].base;
        for (uint32_t k = i; k < end; k++) {
            uint32_t base = reaches[k].base;
            if (pieces[base] == base && pieces[base] != pieces[first]) numbers[base] = next++;
        }
    }
    for (uint32_t b = 0; b < count; b++) numbers[b] = numbers[pieces[b]];
}

bool pieces_number(const struct bound_launch *launches, uint32_t count, uint32_t *numbers)
{
    uint32_t bases = count_bases(launches, count), at = 0;
    struct reach *reaches = calloc(bases + 1, sizeof *reaches);
    uint32_t *pieces = calloc(bases + 1, sizeof *pieces);
    for (uint32_t i = 0; reaches && pieces && i < count; i++)
        for (uint32_t b = 0; launches[i].summary && b < launches[i].summary->base_count; b++, at++) {
            reaches[at] = reach_of(&launches[i], b);
            reaches[at].base = at;
            numbers[at] = reaches[at].array;
        }
    bool done = reaches && pieces;
    if (done) {
        qsort(reaches, bases, sizeof *reaches, compare_reaches);
        join_reaches(reaches, bases, pieces);
        name_pieces(reaches, bases, pieces, numbers);
    }
    free(reaches);
    free(pieces);
    return done;
}

static bool give_numbers(struct arena *arena, struct bound_launch *launch, const uint32_t *numbers)
{
    uint32_t count = launch->summary->base_count;
    bool is_same = true;
    for (uint32_t b = 0; b < count; b++) is_same &= numbers[b] == launch->bindings[b].array;
    if (is_same) return true;
    struct array_binding *bindings = arena_alloc(arena, (count + 1) * sizeof *bindings);
    if (!bindings) return false;
    memcpy(bindings, launch->bindings, count * sizeof *bindings);
    for (uint32_t b = 0; b < count; b++) bindings[b].array = numbers[b];
    launch->bindings = bindings;
    return true;
}

bool pieces_part(struct arena *arena, struct bound_launch *launches, uint32_t count)
{
    uint32_t *numbers = calloc(count_bases(launches, count) + 1, sizeof *numbers), at = 0;
    bool done = numbers && pieces_number(launches, count, numbers);
    for (uint32_t i = 0; done && i < count; i++) {
        if (!launches[i].summary) continue;
        done = give_numbers(arena, &launches[i], &numbers[at]);
        at += launches[i].summary->base_count;
    }
    free(numbers);
    return done;
}
