/* SPDX-License-Identifier: Apache-2.0
 * Variants of a sequence: the same launches with other scalars, arrays, shapes, order, or something between.
 */
#include "tests/referee/sequence.h"

#include <string.h>

/* The number of the round, as a time level is one, in all launches that can have it. */
static void vary_level(struct generator *generator, struct sequence *sequence)
{
    int32_t further = random_of(&generator->random, 1, 1, 1, 2, 4, 16, -1);
    generator->level += further;
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct launch changed = sequence->items[i].launch;
        if (sequence->items[i].kind != ITEM_LAUNCH) continue;
        changed.numbers.o += further;
        if (changed.numbers.o >= 0 && launch_is_sound(&changed, &generator->arrays))
            sequence->items[i].launch = changed;
    }
}

void vary_data(struct generator *generator, struct sequence *sequence)
{
    if (generator->theme.levels_of && (generator->theme.has_rings || random_chance(&generator->random, 85)))
        vary_level(generator, sequence);
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct item *item = &sequence->items[i];
        item->seed += 17;
        if (item->kind != ITEM_LAUNCH || random_chance(&generator->random, 80)) continue;
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

/* One number of it, or all of them. */
static void draw_change(struct generator *generator, const struct kernel *kernel,
                        struct kernel_numbers *numbers)
{
    struct random *random = &generator->random;
    bool is_plane = kernel->shape == KERNEL_PLANE;
    switch (random_below(random, 11)) {
    case 0:
        numbers->o = random_of(random, 0, 1, 2, 3, 8, 16);
        break;
    case 1: /* the pitch of a plane */
        numbers->m = is_plane ? numbers->m - 1 : random_of(random, 1, 2, 3, 4, 5);
        break;
    case 2:
        if (is_plane) numbers->h -= 1 + (int32_t)random_below(random, (uint32_t)numbers->h);
        break;
    case 3:
    case 4:
        numbers->n -= 1 + (int32_t)random_below(random, (uint32_t)numbers->n);
        break;
    case 5:
        numbers->grid[(kernel->is_wide || is_plane) && random_chance(random, 30)] += 1;
        break;
    case 6:
    case 7:
        if (numbers->grid[0] > 1) numbers->grid[0] -= 1 + random_below(random, numbers->grid[0] - 1);
        break;
    case 8:
        numbers->block[0] = (uint32_t)random_of(random, 32, 64, 96, 128, 256) / numbers->block[1];
        break;
    case 9: /* fewer threads in as many blocks; half a warp would exchange values with threads that are not
               there */
        if (kernel->shape == KERNEL_BLOCK && numbers->block[0] * numbers->block[1] % 64) break;
        if (numbers->block[0] >= 16) numbers->block[0] /= 2;
        break;
    default:
        sequence_draw_numbers(generator, kernel, generator->theme.length, numbers);
    }
}

static void change_numbers(struct generator *generator, struct launch *launch)
{
    for (int attempt = 0; attempt < 12; attempt++) {
        struct launch changed = *launch;
        draw_change(generator, launch->kernel, &changed.numbers);
        if (changed.numbers.n < 1 || changed.numbers.h < 1 || changed.numbers.m < 1) continue;
        bool matters = launch_footprint(&changed) != launch_footprint(launch);
        if (!matters && random_chance(&generator->random, 85)) continue;
        if (!launch_is_sound(&changed, &generator->arrays)) continue;
        *launch = changed;
        return;
    }
}

/* The number of a launch is another one, and so it is for all that look there. */
static void change_contents(struct generator *generator, struct sequence *sequence, uint32_t at)
{
    struct random *random = &generator->random;
    struct launch changed = sequence->items[at].launch;
    for (uint32_t s = 0; changed.kernel->scalars[s]; s++) {
        int32_t *number = contents_number(&changed, s);
        if (!changed.kernel->is_constant[s] || random_chance(random, 40)) continue;
        *number += random_of(random, -1, -1, -2, -7, 1, 2, 8);
    }
    if (changed.numbers.n < 1 || changed.numbers.h < 1 || changed.numbers.m < 1 || changed.numbers.o < 0)
        return;
    if (!launch_is_sound(&changed, &generator->arrays)) return;
    sequence->items[at].launch = changed;
    contents_agree(generator, sequence, at);
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

/* What was one array becomes a part of another, in these launches: distances stay, what was apart may
 * overlap. */
static bool move_array(struct generator *generator, struct sequence *sequence, uint32_t first, uint32_t end,
                       uint32_t from, struct launch_place to)
{
    for (uint32_t i = first; i < end; i++) {
        struct launch moved = sequence->items[i].launch;
        if (sequence->items[i].kind == ITEM_LAUNCH && !move_places(generator, &moved, from, to)) return false;
    }
    for (uint32_t i = first; i < end; i++)
        if (sequence->items[i].kind == ITEM_LAUNCH)
            move_places(generator, &sequence->items[i].launch, from, to);
    return true;
}

/* An argument of a launch, or of one of the two behind it. */
static uint32_t near_array(struct generator *generator, const struct sequence *sequence, uint32_t at)
{
    struct random *random = &generator->random;
    uint32_t near = at + random_below(random, 3);
    const struct item *item = &sequence->items[near < sequence->count ? near : at];
    if (item->kind != ITEM_LAUNCH) return random_below(random, generator->arrays.count);
    uint32_t pointer = random_below(random, item->launch.kernel->pointer_count);
    if (item->launch.kernel->pointers[pointer].variable) return random_below(random, generator->arrays.count);
    return item->launch.places[pointer].array;
}

static void merge_arrays(struct generator *generator, struct sequence *sequence, uint32_t at)
{
    struct random *random = &generator->random;
    for (int attempt = 0; attempt < 6; attempt++) {
        uint32_t from = near_array(generator, sequence, at);
        const struct launch_place to = {near_array(generator, sequence, at),
                                        16 * random_of(random, 0, 0, 1, 1, 2, 4, 16)};
        bool is_whole = random_chance(random, 40);
        uint32_t first = is_whole || at < 2 ? 0 : at - 2, end = is_whole ? sequence->count : at + 4;
        if (end > sequence->count) end = sequence->count;
        if (from != to.array && move_array(generator, sequence, first, end, from, to)) return;
    }
}

static uint32_t other_stream(struct generator *generator, uint32_t stream)
{
    uint32_t count = generator->stream_count, other = random_below(&generator->random, count);
    for (int attempt = 0; attempt < 4 && (other == stream || other == NULL_STREAM); attempt++)
        other = random_below(&generator->random, count);
    return other;
}

/* Numbers launches so that those which depend on each other, over others or not, have the same number. */
static void find_chains(const struct sequence *sequence, uint32_t chains[ITEMS_MOST])
{
    const struct item *items = sequence->items;
    for (uint32_t i = 0; i < sequence->count; i++) {
        chains[i] = i;
        for (uint32_t j = 0; j < i && items[i].kind == ITEM_LAUNCH; j++) {
            if (items[j].kind != ITEM_LAUNCH || !launch_conflicts(&items[j].launch, &items[i].launch))
                continue;
            for (uint32_t k = 0, old = chains[j]; k < i; k++)
                if (chains[k] == old) chains[k] = i;
        }
    }
}

/* Launches that do not depend on each other go to two streams, without any event, after the device has done
 * all; and with some of them what is in order with their stream only. */
static bool has_chains(const struct sequence *sequence)
{
    uint32_t chains[ITEMS_MOST], first = ITEMS_MOST;
    find_chains(sequence, chains);
    for (uint32_t i = 0; i < sequence->count; i++) {
        if (sequence->items[i].kind != ITEM_LAUNCH) continue;
        if (first != ITEMS_MOST && chains[i] != first) return true;
        first = chains[i];
    }
    return false;
}

static void deal_streams(struct generator *generator, struct sequence *sequence, uint32_t at)
{
    struct random *random = &generator->random;
    const struct item sync = {.kind = ITEM_SYNC};
    uint32_t chains[ITEMS_MOST], streams[2] = {sequence->items[at].stream};
    bool is_second[ITEMS_MOST] = {false};
    struct item use;
    streams[1] = other_stream(generator, streams[0]);
    find_chains(sequence, chains);
    bool next = random_chance(random, 50);
    for (uint32_t i = 0; i < sequence->count; i++) /* a chain has the number of its last launch */
        if (chains[i] == i) is_second[i] = next = sequence->items[i].kind == ITEM_LAUNCH ? !next : next;
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->items[i].kind == ITEM_LAUNCH)
            sequence->items[i].stream = sequence->items[i].launch.stream = streams[is_second[chains[i]]];
    uint32_t end = sequence->count; /* of the launches */
    while (end > 1 && sequence->items[end - 1].kind != ITEM_LAUNCH) end--;
    for (uint32_t i = sequence->count, used = 0; i-- > 0 && used != 3;) {
        const struct launch launch = sequence->items[i].launch;
        uint32_t side = 1 + is_second[chains[i]];
        if (sequence->items[i].kind != ITEM_LAUNCH || (used & side)) continue;
        used |= side; /* the last launch of either stream */
        sequence_draw_use(generator, &use, &launch, launch.stream);
        sequence_insert(sequence, random_chance(random, 90) ? end : i + 1, &use);
    }
    sequence_insert(sequence, 0, &sync);
}

/* Something behind a launch, and where it puts streams in order a use of the launch's arrays in another one.
 */
static void interrupt(struct generator *generator, struct sequence *sequence, uint32_t at)
{
    const struct launch launch = sequence->items[at].launch;
    struct item item, use;
    sequence_draw_between(generator, &item, &launch);
    if (!sequence_insert(sequence, at + 1, &item)) return;
    if (item.kind != ITEM_CALL && item.kind != ITEM_JOIN && item.kind != ITEM_SYNC) return;
    sequence_draw_use(generator, &use, &launch,
                      random_chance(&generator->random, 30) ? NULL_STREAM
                                                            : other_stream(generator, item.stream));
    sequence_insert(sequence, at + 2, &use);
}

static uint32_t any_launch(struct generator *generator, const struct sequence *sequence)
{
    uint32_t at = random_below(&generator->random, sequence->count);
    for (uint32_t i = 0; i < sequence->count && sequence->items[at].kind != ITEM_LAUNCH; i++)
        at = (at + 1) % sequence->count;
    return at;
}

/* A pointer is to another array: one that the kernel is not given as an argument, or around temporaries any.
 */
static void point_elsewhere(struct generator *generator, struct sequence *sequence)
{
    for (int attempt = 0; attempt < 20; attempt++) {
        struct item *item = &sequence->items[random_below(&generator->random, sequence->count)];
        struct launch changed = item->launch;
        if (item->kind != ITEM_LAUNCH) continue;
        uint32_t pointer = random_below(&generator->random, changed.kernel->pointer_count);
        const struct kernel_pointer *changing = &changed.kernel->pointers[pointer];
        if (changing->variable || (!changing->entry && !generator->theme.is_unseen)) continue;
        changed.places[pointer].array =
            near_array(generator, sequence, random_below(&generator->random, sequence->count));
        if (!launch_is_sound(&changed, &generator->arrays)) continue;
        item->launch = changed;
        return;
    }
}

static bool has_hidden(const struct sequence *sequence)
{
    bool has = false;
    for (uint32_t i = 0; i < sequence->count; i++) {
        enum kernel_sight sight =
            sequence->items[i].kind == ITEM_LAUNCH ? sequence->items[i].launch.kernel->sight : SIGHT_WHOLE;
        has |= sight == SIGHT_TABLE || sight == SIGHT_VARIABLE;
    }
    return has;
}

void vary_contents(struct generator *generator, struct sequence *sequence)
{
    if (!sequence->count) return;
    uint32_t at = any_launch(generator, sequence);
    for (int attempt = 0; attempt < 4 && sequence->items[at].kind == ITEM_LAUNCH; attempt++)
        change_contents(generator, sequence, at);
    if (random_chance(&generator->random, 50)) contents_move_apart(generator, sequence);
}

void vary_something(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    if (!sequence->count) return;
    uint32_t at = any_launch(generator, sequence), what = random_below(random, 100);
    bool may_deal = generator->stream_count > 1 && has_chains(sequence);
    struct item *item = &sequence->items[at], other;
    if ((has_hidden(sequence) || generator->theme.is_unseen) && random_chance(random, 25)) {
        point_elsewhere(generator, sequence);
    } else if (may_deal && random_chance(random, 20)) {
        deal_streams(generator, sequence, at);
    } else if (what < 3) { /* what had begun ends here */
        const struct item sync = {.kind = ITEM_SYNC};
        sequence->count = at + 1;
        sequence_insert(sequence, at + 1, &sync);
    } else if (what < 7) {
        swap_items(sequence, at);
    } else if (what < 11) {
        memmove(item, item + 1, (sequence->count-- - at - 1) * sizeof *item);
    } else if (what < 20) {
        sequence_draw_other(generator, &other);
        if (item->kind == ITEM_LAUNCH) sequence_aim(generator, &other, &item->launch);
        sequence_insert(sequence, at + random_below(random, 2), &other);
    } else if (item->kind != ITEM_LAUNCH) {
        return;
    } else if (what < 49) {
        interrupt(generator, sequence, at);
    } else if (what < 60) {
        launch_bind_one(&item->launch, &generator->arrays, random,
                        random_below(random, item->launch.kernel->pointer_count));
    } else if (what < 72) {
        merge_arrays(generator, sequence, at);
    } else {
        change_numbers(generator, &item->launch);
    }
}
