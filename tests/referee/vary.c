/* SPDX-License-Identifier: Apache-2.0
 * Variants of a sequence: the same launches with other scalars, arrays, shapes, order, or something between.
 */
#include "tests/referee/sequence.h"

#include <string.h>

void vary_data(struct generator *generator, struct sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct item *item = &sequence->items[i];
        item->seed += 17;
        if (item->kind != ITEM_LAUNCH || random_chance(&generator->random, 50)) continue;
        item->launch.numbers.s += 0.25f;
        item->launch.numbers.t -= 0.125f;
    }
}

static void swap_items(struct sequence *sequence, uint32_t i)
{
    if (i + 1 >= sequence->count) return;
    struct item kept = sequence->items[i];
    sequence->items[i] = sequence->items[i + 1];
    sequence->items[i + 1] = kept;
}

static void change_numbers(struct generator *generator, struct launch *launch)
{
    struct random *random = &generator->random;
    struct launch changed = *launch;
    struct kernel_numbers *numbers = &changed.numbers;
    uint32_t what = random_below(random, 4);
    if (what == 0)
        numbers->o = random_of(random, 0, 1, 2, 3, 8, 16);
    else if (what == 1 && !launch->kernel->is_exact && numbers->n > 4)
        numbers->n -= 1 + (int32_t)random_below(random, (uint32_t)numbers->n / 2);
    else if (what == 2 && !launch->kernel->is_exact)
        numbers->grid[0] += 1;
    else
        sequence_draw_numbers(generator, launch->kernel, generator->theme.length, numbers);
    if (launch_is_sound(&changed, &generator->arrays)) *launch = changed;
}

static bool move_places(struct generator *generator, struct launch *launch, uint32_t from,
                        struct launch_place to)
{
    for (uint32_t p = 0; p < launch->kernel->pointer_count; p++) {
        if (launch->kernel->pointers[p].variable || launch->places[p].array != from) continue;
        launch->places[p].array = to.array;
        launch->places[p].offset += to.offset;
    }
    return launch_is_sound(launch, &generator->arrays);
}

/* What was one array becomes a part of another, in every launch: distances stay, what was apart may overlap.
 */
static void merge_arrays(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    uint32_t from = random_below(random, generator->arrays.count);
    const struct launch_place to = {random_below(random, generator->arrays.count),
                                    16 * random_of(random, 0, 0, 1, 4, 16)};
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct launch moved = sequence->items[i].launch;
        if (sequence->items[i].kind == ITEM_LAUNCH && !move_places(generator, &moved, from, to)) return;
    }
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->items[i].kind == ITEM_LAUNCH)
            move_places(generator, &sequence->items[i].launch, from, to);
}

void vary_something(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    if (!sequence->count) return;
    uint32_t at = random_below(random, sequence->count), what = random_below(random, 100);
    struct item *item = &sequence->items[at], other;
    if (what < 12) {
        swap_items(sequence, at);
    } else if (what < 20) {
        memmove(item, item + 1, (sequence->count-- - at - 1) * sizeof *item);
    } else if (what < 48 && sequence->count < ITEMS_MOST) {
        sequence_draw_other(generator, &other);
        if (item->kind == ITEM_LAUNCH) sequence_aim(generator, &other, &item->launch);
        memmove(item + 1, item, (sequence->count++ - at) * sizeof *item);
        *item = other;
    } else if (item->kind == ITEM_LAUNCH && what < 53) {
        item->launch.stream = item->stream = random_below(random, generator->stream_count);
    } else if (item->kind == ITEM_LAUNCH && what < 76) {
        launch_bind_one(&item->launch, &generator->arrays, random,
                        random_below(random, item->launch.kernel->pointer_count));
    } else if (item->kind == ITEM_LAUNCH && what < 86) {
        merge_arrays(generator, sequence);
    } else if (item->kind == ITEM_LAUNCH) {
        change_numbers(generator, &item->launch);
    }
}
