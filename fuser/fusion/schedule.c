/* SPDX-License-Identifier: Apache-2.0
 * See schedule.h. Two points are as far apart as thread, block or launch says. At each distance an order takes a barrier
 * of at least that scope, so that what is unordered is the union, over the distances, of what no such barrier orders. */
#include "fuser/fusion/schedule.h"

#include <stdlib.h>

static bool grow(struct schedule_pieces *pieces)
{
    uint32_t capacity = pieces->capacity ? 2 * pieces->capacity : 16;
    struct schedule_piece *all = realloc(pieces->all, capacity * sizeof *all);
    if (!all) return false;
    pieces->all = all;
    pieces->capacity = capacity;
    return true;
}

static void add_piece(struct schedule_pieces *pieces, const struct schedule_piece *piece)
{
    if (piece->count > SCHEDULE_MOST_TERMS || (pieces->count == pieces->capacity && !grow(pieces)))
        pieces->is_lost = true;
    else
        pieces->all[pieces->count++] = *piece;
}

static void add_term(struct schedule_piece *piece, bool is_instance, uint32_t coordinate,
                     enum schedule_comparison comparison)
{
    if (piece->count < SCHEDULE_MOST_TERMS)
        piece->terms[piece->count] = (struct schedule_term){is_instance, coordinate, comparison};
    piece->count++; /* beyond the most, add_piece sees it */
}

static void add_equal(struct schedule_piece *piece, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) add_term(piece, false, i, SCHEDULE_EQUAL);
}

/* The prefix, and then a piece for each way to differ in the coordinates from first to end. */
static void add_differing(struct schedule_pieces *pieces, const struct schedule_piece *prefix,
                          bool is_instance, uint32_t first, uint32_t end)
{
    struct schedule_piece equal = *prefix;
    for (uint32_t i = first; i < end; i++) {
        for (int more = 0; more < 2; more++) {
            struct schedule_piece piece = equal;
            add_term(&piece, is_instance, i, more ? SCHEDULE_MORE : SCHEDULE_LESS);
            add_piece(pieces, &piece);
        }
        add_term(&equal, is_instance, i, SCHEDULE_EQUAL);
    }
}

/* The barriers that order threads of one block, or of two: what a scope counts as. */
static enum schedule_barrier scope_of(enum schedule_barrier barrier)
{
    switch (barrier) {
    case SCHEDULE_NONE:
    case SCHEDULE_WARP:
        return SCHEDULE_NONE;
    case SCHEDULE_BLOCK:
    case SCHEDULE_CLUSTER:
        return SCHEDULE_BLOCK;
    case SCHEDULE_GRID:
        return SCHEDULE_GRID;
    }
    return SCHEDULE_NONE;
}

/* Components from the first to the last that orders at this distance. */
static uint32_t ordering_count(const struct schedule_space *space, enum schedule_barrier distance)
{
    uint32_t count = space->time_count;
    while (count && scope_of(space->barriers[count - 1]) < distance) count--;
    return count;
}

/* Of points that are at this distance: what none of its barriers orders. The tie is asked of one thread alone. */
static void add_unordered_time(struct schedule_pieces *pieces, const struct schedule_space *space,
                               const struct schedule_piece *apart, enum schedule_barrier distance)
{
    struct schedule_piece prefix = *apart;
    uint32_t count = ordering_count(space, distance);
    for (uint32_t k = 0; k < count; k++) {
        struct schedule_piece piece = prefix;
        add_term(&piece, false, SCHEDULE_PLACE + k, SCHEDULE_MORE);
        add_piece(pieces, &piece);
        if (scope_of(space->barriers[k]) < distance) {
            piece = prefix;
            add_term(&piece, false, SCHEDULE_PLACE + k, SCHEDULE_LESS);
            add_piece(pieces, &piece);
        }
        add_term(&prefix, false, SCHEDULE_PLACE + k, SCHEDULE_EQUAL);
    }
    if (distance != SCHEDULE_NONE) add_piece(pieces, &prefix);
}

/* The coordinates in which points at this distance differ. */
static void add_apart(struct schedule_pieces *pieces, enum schedule_barrier distance)
{
    struct schedule_piece equal = {.count = 0};
    bool is_block = distance == SCHEDULE_BLOCK;
    add_equal(&equal, SCHEDULE_LAUNCH, is_block ? SCHEDULE_FIRST_THREAD : SCHEDULE_FIRST_BLOCK);
    add_differing(pieces, &equal, false, is_block ? SCHEDULE_FIRST_THREAD : SCHEDULE_FIRST_BLOCK,
                  is_block ? SCHEDULE_PLACE : SCHEDULE_FIRST_THREAD);
}

static void add_unordered_apart(struct schedule_pieces *pieces, const struct schedule_space *space,
                                enum schedule_barrier distance)
{
    struct schedule_pieces apart = {0};
    add_apart(&apart, distance);
    for (uint32_t i = 0; i < apart.count; i++) add_unordered_time(pieces, space, &apart.all[i], distance);
    pieces->is_lost |= apart.is_lost;
    schedule_clear(&apart);
}

struct schedule_pieces schedule_unordered(const struct schedule_space *space, enum schedule_tie tie,
                                          uint32_t instance_count)
{
    struct schedule_pieces pieces = {0};
    struct schedule_piece same = {.count = 0}, later = {.count = 0};
    add_unordered_apart(&pieces, space, SCHEDULE_GRID);
    add_unordered_apart(&pieces, space, SCHEDULE_BLOCK);
    add_equal(&same, SCHEDULE_LAUNCH, SCHEDULE_PLACE);
    add_unordered_time(&pieces, space, &same, SCHEDULE_NONE);
    add_equal(&same, SCHEDULE_PLACE, SCHEDULE_PLACE + space->time_count);
    if (tie == SCHEDULE_TIE_INSTANCE_BEFORE)
        add_differing(&pieces, &same, true, 0, instance_count);
    else if (tie != SCHEDULE_TIE_BEFORE)
        add_piece(&pieces, &same);
    add_term(&later, false, SCHEDULE_LAUNCH, SCHEDULE_MORE);
    add_piece(&pieces, &later);
    return pieces;
}

struct schedule_pieces schedule_ordered(const struct schedule_space *space, enum schedule_tie tie,
                                        uint32_t instance_count)
{
    struct schedule_pieces pieces = {0};
    struct schedule_piece launch = {.count = 0}, same = {.count = 0};
    add_term(&launch, false, SCHEDULE_LAUNCH, SCHEDULE_LESS);
    add_piece(&pieces, &launch);
    for (uint32_t k = 0; k < space->time_count; k++) {
        struct schedule_piece piece = {.count = 0};
        enum schedule_barrier scope = scope_of(space->barriers[k]);
        add_equal(&piece, SCHEDULE_LAUNCH,
                  scope == SCHEDULE_NONE    ? SCHEDULE_PLACE
                  : scope == SCHEDULE_BLOCK ? SCHEDULE_FIRST_THREAD
                                            : SCHEDULE_FIRST_BLOCK);
        add_equal(&piece, SCHEDULE_PLACE, SCHEDULE_PLACE + k);
        add_term(&piece, false, SCHEDULE_PLACE + k, SCHEDULE_LESS);
        add_piece(&pieces, &piece);
    }
    add_equal(&same, SCHEDULE_LAUNCH, SCHEDULE_PLACE + space->time_count);
    for (uint32_t i = 0; tie == SCHEDULE_TIE_INSTANCE_BEFORE && i < instance_count; i++)
        add_term(&same, true, i, SCHEDULE_EQUAL);
    if (tie == SCHEDULE_TIE_BEFORE || tie == SCHEDULE_TIE_INSTANCE_BEFORE) add_piece(&pieces, &same);
    return pieces;
}

struct schedule_pieces schedule_differing(uint32_t instance_count)
{
    struct schedule_pieces pieces = {0};
    struct schedule_piece none = {.count = 0};
    add_differing(&pieces, &none, true, 0, instance_count);
    return pieces;
}

void schedule_clear(struct schedule_pieces *pieces)
{
    free(pieces->all);
    *pieces = (struct schedule_pieces){0};
}
