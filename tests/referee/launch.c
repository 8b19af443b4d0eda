/* SPDX-License-Identifier: Apache-2.0
 * Soundness of a launch by enumeration: every byte that a thread touches is marked in its array. */
#include "tests/referee/launch.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1, SEVERAL = -2, ATTEMPTS = 24 };

struct byte_marks { /* threads, or NOBODY, SEVERAL */
    int32_t writer, reader, adder;
    bool is_constant; /* read through const __restrict__ */
};
struct check {
    const struct launch *launch;
    const struct launch_arrays *arrays;
    struct byte_marks *marks[LAUNCH_ARRAYS];
};

static void mark(int32_t *who, int32_t thread)
{
    *who = *who == NOBODY || *who == thread ? thread : SEVERAL;
}

/* Two threads may share a byte only when both read it, or both add to it. */
static bool is_race(const struct byte_marks *marks)
{
    if (marks->writer == SEVERAL) return true;
    if (marks->writer != NOBODY && marks->is_constant) return true;
    if (marks->adder != NOBODY && (marks->writer != NOBODY || marks->reader != NOBODY)) return true;
    return marks->writer != NOBODY && marks->reader != NOBODY && marks->reader != marks->writer;
}

/* Another pointer to its array. */
static bool has_others(const struct launch *launch, uint32_t pointer)
{
    for (uint32_t p = 0; p < launch->kernel->pointer_count; p++)
        if (p != pointer && launch->places[p].array == launch->places[pointer].array) return true;
    return false;
}

static bool check_access(void *context, const struct kernel_access *access, int32_t thread, int64_t from,
                         int64_t to, bool for_any)
{
    struct check *check = context;
    const struct launch_place *place = &check->launch->places[access->pointer];
    bool is_constant = check->launch->kernel->pointers[access->pointer].is_read_only;
    if (access->is_handed) return !has_others(check->launch, access->pointer);
    from += place->offset;
    to += place->offset;
    if (from < 0 || to > check->arrays->sizes[place->array]) return false;
    for (int64_t byte = from; byte < to; byte++) {
        struct byte_marks *marks = &check->marks[place->array][byte];
        mark(access->is_atomic  ? &marks->adder
             : access->is_write ? &marks->writer
                                : &marks->reader,
             access->map == MAP_CHOSEN ? INT32_MAX - (int32_t)access->pointer
             : for_any                 ? SEVERAL
                                       : thread);
        marks->is_constant |= is_constant;
        if (is_race(marks)) return false;
    }
    return true;
}

bool launch_is_sound(const struct launch *launch, const struct launch_arrays *arrays)
{
    struct check check = {.launch = launch, .arrays = arrays};
    bool is_sound = true;
    for (uint32_t p = 0; p < launch->kernel->pointer_count; p++) {
        uint32_t array = launch->places[p].array;
        if (check.marks[array]) continue;
        size_t count = (size_t)arrays->sizes[array];
        check.marks[array] = malloc(count * sizeof *check.marks[array]);
        if (!check.marks[array]) abort();
        for (size_t i = 0; i < count; i++)
            check.marks[array][i] = (struct byte_marks){NOBODY, NOBODY, NOBODY, false};
    }
    is_sound = kernel_enumerate(launch->kernel, &launch->numbers, check_access, &check);
    for (uint32_t a = 0; a < LAUNCH_ARRAYS; a++) free(check.marks[a]);
    return is_sound;
}

/* --- reach and places --- */

struct reach {
    int64_t from[KERNEL_POINTERS], to[KERNEL_POINTERS];
};

static bool widen(void *context, const struct kernel_access *access, int32_t thread, int64_t from, int64_t to,
                  bool for_any)
{
    struct reach *reach = context;
    (void)thread;
    (void)for_any;
    if (from < reach->from[access->pointer]) reach->from[access->pointer] = from;
    if (to > reach->to[access->pointer]) reach->to[access->pointer] = to;
    return true;
}

static void find_reach(const struct launch *launch, struct reach *reach)
{
    for (uint32_t p = 0; p < KERNEL_POINTERS; p++) {
        reach->from[p] = INT64_MAX;
        reach->to[p] = INT64_MIN;
    }
    kernel_enumerate(launch->kernel, &launch->numbers, widen, reach);
}

static bool writes_through(const struct kernel *kernel, uint32_t pointer)
{
    for (uint32_t a = 0; a < kernel->access_count; a++)
        if (kernel->accesses[a].is_write && kernel->accesses[a].pointer == pointer) return true;
    return false;
}

uint32_t launch_output(const struct launch *launch, uint32_t unknown)
{
    if (launch->kernel->role) {
        for (uint32_t p = 3; p >= 2; p--)
            if (writes_through(launch->kernel, p) && launch->places[p].array != launch->lane)
                return launch->places[p].array;
        return unknown;
    }
    for (uint32_t p = 0; p < launch->kernel->pointer_count; p++)
        if (!launch->kernel->pointers[p].variable && writes_through(launch->kernel, p))
            return launch->places[p].array;
    return unknown;
}

static uint32_t array_in_lane(const struct launch *launch, const struct launch_arrays *arrays,
                              uint32_t number)
{
    uint32_t count = (arrays->count - launch->lane + arrays->lanes - 1) / arrays->lanes;
    return launch->lane + arrays->lanes * (number % count);
}

/* The lane's first array is the state, the others take turns; the last one counts. */
static uint32_t draw_step_array(const struct launch *launch, const struct launch_arrays *arrays,
                                struct random *random, uint32_t pointer)
{
    enum kernel_role role = launch->kernel->role;
    uint32_t state = launch->lane, latest = arrays->latest[launch->lane] / arrays->lanes;
    uint32_t count = (arrays->count - launch->lane + arrays->lanes - 1) / arrays->lanes;
    if (!latest) latest = 1; /* before the first launch */
    bool writes_state = role == ROLE_SOURCE || role == ROLE_UPDATE;
    if (random_chance(random, pointer == 1 ? 15 : 4))
        return array_in_lane(launch, arrays, random_below(random, arrays->count * 12));
    if (pointer == 4) return array_in_lane(launch, arrays, count - 1);
    if (pointer == 0) return role == ROLE_DERIVE ? state : array_in_lane(launch, arrays, latest);
    if (pointer == 1 && role == ROLE_NEIGHBOURS) return state;
    if (pointer == 2 && writes_state) return state;
    uint32_t turns = count > 2 ? count - 1 : 1;
    if (pointer == 1)
        return array_in_lane(launch, arrays, role == ROLE_DERIVE ? latest : 1 + (latest + turns - 2) % turns);
    uint32_t turn = (latest - 1) + (pointer - 1 - writes_state);
    return array_in_lane(launch, arrays, 1 + turn % turns);
}

/* Any; a stencil mostly reads what was written last, and writes another one. */
static uint32_t draw_array(const struct launch *launch, const struct launch_arrays *arrays,
                           struct random *random, uint32_t pointer)
{
    uint32_t latest = arrays->latest[launch->lane];
    if (launch->kernel->slots[pointer] && !random_chance(random, 3))
        return (launch->kernel->slots[pointer] - 1 + arrays->turn) % arrays->count;
    if (launch->kernel->role) return draw_step_array(launch, arrays, random, pointer);
    if (!launch->kernel->is_stencil || random_chance(random, pointer == 1 ? 90 : 15))
        return array_in_lane(launch, arrays, random_below(random, arrays->count * 12));
    return pointer == 2 ? array_in_lane(launch, arrays, latest / arrays->lanes + 1) : latest;
}

uint32_t launch_own(const struct launch_arrays *arrays, char variable)
{
    static const char letters[] = "tcfkzqub";
    return arrays->count + (uint32_t)(strchr(letters, variable) - letters);
}

/* The start of an array mostly; its end; anywhere. */
static bool place_one(struct launch *launch, const struct launch_arrays *arrays, struct random *random,
                      const struct reach *reach, uint32_t pointer)
{
    int64_t size = launch->kernel->pointers[pointer].type->size;
    int64_t from = reach->from[pointer], to = reach->to[pointer];
    uint32_t array = draw_array(launch, arrays, random, pointer);
    bool is_start = random_chance(random, launch->kernel->slots[pointer] || launch->kernel->role ? 95
                                          : launch->kernel->is_plain                             ? 70
                                                                                                 : 0);
    uint32_t what = random_below(random, is_start ? 75 : 100);
    if (launch->kernel->pointers[pointer].variable) {
        launch->places[pointer] =
            (struct launch_place){launch_own(arrays, launch->kernel->pointers[pointer].variable), 0};
        return true;
    }
    if (from > to) from = to = 0;
    int64_t low = from < 0 ? -from : 0, high = arrays->sizes[array] - to;
    high = high < 0 ? -1 : high / size * size;
    if (high < low) return false;
    int64_t offset = low;
    if (what >= 75 && what < 88) offset = high;
    if (what >= 88) offset = low + (int64_t)random_below(random, (uint32_t)((high - low) / size + 1)) * size;
    if (from > 0 && what < 4) offset = -from; /* as x - 1 for an array that counts from 1 */
    launch->places[pointer] = (struct launch_place){array, offset};
    return true;
}

bool launch_bind(struct launch *launch, const struct launch_arrays *arrays, struct random *random)
{
    struct reach reach;
    find_reach(launch, &reach);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        bool is_placed = true;
        for (uint32_t p = 0; p < launch->kernel->pointer_count; p++)
            is_placed &= place_one(launch, arrays, random, &reach, p);
        if (is_placed && launch_is_sound(launch, arrays)) return true;
    }
    return false;
}

bool launch_bind_one(struct launch *launch, const struct launch_arrays *arrays, struct random *random,
                     uint32_t pointer)
{
    struct reach reach;
    struct launch_place before = launch->places[pointer];
    find_reach(launch, &reach);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++)
        if (place_one(launch, arrays, random, &reach, pointer) && launch_is_sound(launch, arrays))
            return true;
    launch->places[pointer] = before;
    return false;
}

bool launch_touches(const struct launch *launch, uint32_t array, bool writes)
{
    for (uint32_t a = 0; a < launch->kernel->access_count; a++) {
        const struct kernel_access *access = &launch->kernel->accesses[a];
        if (launch->places[access->pointer].array == array && (access->is_write || !writes)) return true;
    }
    return false;
}

static bool add_footprint(void *context, const struct kernel_access *access, int32_t thread, int64_t from,
                          int64_t to, bool for_any)
{
    uint64_t *sum = context;
    struct random mixed = {(uint64_t)from * 1000003u + (uint64_t)to * 31u + access->pointer * 7u +
                           access->is_write};
    (void)thread;
    (void)for_any;
    *sum += random_next(&mixed);
    return true;
}

uint64_t launch_footprint(const struct launch *launch)
{
    uint64_t sum = 0;
    kernel_enumerate(launch->kernel, &launch->numbers, add_footprint, &sum);
    return sum;
}

bool launch_conflicts(const struct launch *a, const struct launch *b)
{
    for (uint32_t p = 0; p < a->kernel->pointer_count; p++) {
        uint32_t array = a->places[p].array;
        if (launch_touches(b, array, true)) return true;
        if (launch_touches(a, array, true) && launch_touches(b, array, false)) return true;
    }
    return false;
}
