/* SPDX-License-Identifier: Apache-2.0
 * Compares observed accesses with relations. */
#include "tests/analysis/soundness.h"

#include "tests/analysis/members.h"

#include <isl/point.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

struct soundness_event {
    uint32_t line;
    int32_t thread[ACCESS_THREAD_DIMENSIONS]; /* bz by bx tz ty tx */
    uint64_t address;
    uint32_t bytes;
    bool is_write;
};

enum { MESSAGE_LIMIT = 5, POINT_LIMIT = 4000000 };

void soundness_watch(void *context, const struct ptx_instruction *instruction, const uint32_t block[3],
                     const uint32_t thread[3], uint64_t address, uint32_t bytes, bool is_write)
{
    struct soundness *soundness = context;

    /* An atomic is seen as a read and a write. */
    if (ptx_is_atomic(instruction) && !is_write) return;
    if (soundness->count == soundness->capacity) {
        soundness->capacity = 2 * soundness->capacity + 1024;
        soundness->events = realloc(soundness->events, soundness->capacity * sizeof *soundness->events);
        if (!soundness->events) abort();
    }
    soundness->events[soundness->count++] =
        (struct soundness_event){.line = instruction->line,
                                 .thread = {(int32_t)block[2], (int32_t)block[1], (int32_t)block[0],
                                            (int32_t)thread[2], (int32_t)thread[1], (int32_t)thread[0]},
                                 .address = address,
                                 .bytes = bytes,
                                 .is_write = is_write};
}

static int compare_events(const void *left, const void *right)
{
    const struct soundness_event *a = left, *b = right;

    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++)
        if (a->thread[d] != b->thread[d]) return a->thread[d] < b->thread[d] ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static void print_event(const struct soundness *soundness, const struct soundness_event *event,
                        const char *what)
{
    fprintf(stderr, "kernel %s, line %u, block (%d, %d, %d), thread (%d, %d, %d), %u bytes at 0x%llx: %s\n",
            soundness->summary->function->name, event->line, event->thread[2], event->thread[1],
            event->thread[0], event->thread[5], event->thread[4], event->thread[3], event->bytes,
            (unsigned long long)event->address, what);
}

/* --- the relation's points as events
 * -------------------------------------------------------------------------- */

struct enumeration {
    const struct access *access;
    uint64_t base;
    uint32_t bytes;
    struct soundness_event *events;
    size_t count, capacity;
};

static int64_t coordinate(isl_point *point, unsigned position)
{
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, (int)position);
    int64_t number = isl_val_get_num_si(value);

    isl_val_free(value);
    return number;
}

static isl_stat add_point(isl_point *point, void *context)
{
    struct enumeration *enumeration = context;
    isl_space *space = isl_point_get_space(point);
    unsigned last = (unsigned)isl_space_dim(space, isl_dim_set) - 1;
    struct soundness_event event = {.line = enumeration->access->line,
                                    .bytes = enumeration->bytes,
                                    .is_write = enumeration->access->kind != ACCESS_READ};

    isl_space_free(space);
    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) event.thread[d] = (int32_t)coordinate(point, d);
    uint64_t first = enumeration->base + (uint64_t)coordinate(point, last);
    for (uint32_t part = 0; part < enumeration->access->width; part += enumeration->bytes) {
        event.address = first + part;
        if (enumeration->count == enumeration->capacity) {
            enumeration->capacity = 2 * enumeration->capacity + 1024;
            enumeration->events = realloc(enumeration->events, enumeration->capacity * sizeof event);
            if (!enumeration->events) abort();
        }
        enumeration->events[enumeration->count++] = event;
    }
    isl_point_free(point);
    return enumeration->count < POINT_LIMIT ? isl_stat_ok : isl_stat_error;
}

/* Every instance of an exact access happened, and nothing else. */
static unsigned check_equal(const struct soundness *soundness, const struct access *access,
                            const struct soundness_event *events, size_t count)
{
    struct enumeration expected = {.access = access,
                                   .base = soundness->bases[access->base].address,
                                   .bytes = count > 0 ? events[0].bytes : access->width};
    unsigned wrong = 0;
    size_t i = 0, j = 0;
    isl_set *instances = isl_set_flatten(isl_map_wrap(isl_map_copy(access->relation)));

    if (isl_set_foreach_point(instances, add_point, &expected) != isl_stat_ok) {
        fprintf(stderr, "kernel %s, line %u: the relation cannot be enumerated, or has too many points\n",
                soundness->summary->function->name, access->line);
        wrong++;
    }
    isl_set_free(instances);
    if (expected.count > 0) qsort(expected.events, expected.count, sizeof *expected.events, compare_events);
    while (wrong < MESSAGE_LIMIT && (i < count || j < expected.count)) {
        int order = i == count            ? 1
                    : j == expected.count ? -1
                                          : compare_events(&events[i], &expected.events[j]);
        if (order < 0) print_event(soundness, &events[i], "happened, but is not in the exact relation");
        if (order > 0)
            print_event(soundness, &expected.events[j], "is in the exact relation, but did not happen");
        wrong += order != 0;
        i += order <= 0;
        j += order >= 0;
    }
    free(expected.events);
    return wrong;
}

/* --- supersets
 * ----------------------------------------------------------------------------------------------------- */

/* What a line's events are held against; relation is NULL where nothing is known, or all is compared below.
 */
struct known {
    const struct access *access;
    struct members *relation, *effective;
};

static struct known known_of(const struct soundness *soundness, const struct access *access,
                             bool with_relation)
{
    struct known known = {.access = access,
                          .effective = members_new(isl_set_copy(soundness->summary->effective))};

    if (with_relation && access->relation) {
        isl_map *relation = isl_map_copy(access->relation);
        unsigned dimensions = (unsigned)isl_map_dim(relation, isl_dim_in);
        relation = isl_map_project_out(relation, isl_dim_in, ACCESS_THREAD_DIMENSIONS,
                                       dimensions - ACCESS_THREAD_DIMENSIONS); /* its iterations */
        known.relation = members_new(isl_set_flatten(isl_map_wrap(relation)));
    }
    return known;
}

static void known_free(struct known *known)
{
    members_free(known->relation);
    members_free(known->effective);
}

static bool is_in_relation(const struct known *known, const struct soundness_event *event, int64_t byte)
{
    int64_t point[ACCESS_THREAD_DIMENSIONS + 1];

    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) point[d] = event->thread[d];
    /* A part of a vector lies width bytes or less above its first byte. */
    for (int64_t first = byte + event->bytes - known->access->width; first <= byte; first++) {
        point[ACCESS_THREAD_DIMENSIONS] = first;
        if (members_has(known->relation, point)) return true;
    }
    return false;
}

static bool is_effective(const struct known *known, const struct soundness_event *event)
{
    int64_t point[ACCESS_THREAD_DIMENSIONS];

    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) point[d] = event->thread[d];
    return members_has(known->effective, point);
}

/* NULL, or what is wrong with one event. */
static const char *check_event(const struct soundness *soundness, const struct known *known,
                               const struct soundness_event *event)
{
    const struct access *access = known->access;
    const struct access_base *base = &soundness->summary->bases[access->base];
    const struct soundness_base *place = &soundness->bases[access->base];
    int64_t byte = (int64_t)(event->address - place->address);

    if (event->is_write ? !base->is_written : !base->is_read) return "its base is not said to be accessed so";
    if (base->kind == ACCESS_BASE_UNKNOWN) return NULL;
    if (event->address < place->start || event->address + event->bytes > place->end)
        return "not in the base's allocation";
    if (base->is_bounded && (byte < base->from || byte + event->bytes > base->to))
        return "beyond the base's hull";
    if (known->relation && !is_in_relation(known, event, byte)) return "not in the relation";
    if (event->is_write && !is_effective(known, event)) return "not an effective thread";
    return NULL;
}

static const struct access *find_access(const struct access_summary *summary, uint32_t line)
{
    for (uint32_t a = 0; a < summary->access_count; a++)
        if (summary->accesses[a].line == line) return &summary->accesses[a];
    return NULL;
}

static uint32_t count_accesses(const struct access_summary *summary, uint32_t line)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < summary->access_count; a++) count += summary->accesses[a].line == line;
    return count;
}

/* A line of a function that is called at several places: each event is one of its accesses. */
static unsigned check_shared_line(const struct soundness *soundness, const struct soundness_event *events,
                                  size_t count)
{
    const struct access_summary *summary = soundness->summary;
    bool *is_known = calloc(count, sizeof *is_known);
    unsigned wrong = 0;
    if (!is_known) abort();
    for (uint32_t a = 0; a < summary->access_count; a++) {
        if (summary->accesses[a].line != events[0].line) continue;
        struct known known = known_of(soundness, &summary->accesses[a], true);
        for (size_t i = 0; i < count; i++)
            is_known[i] = is_known[i] || !check_event(soundness, &known, &events[i]);
        known_free(&known);
    }
    for (size_t i = 0; i < count && wrong < MESSAGE_LIMIT; i++) {
        if (!is_known[i]) print_event(soundness, &events[i], "none of the accesses of its line");
        wrong += !is_known[i];
    }
    free(is_known);
    return wrong;
}

static unsigned check_line(const struct soundness *soundness, const struct soundness_event *events,
                           size_t count, unsigned *compared)
{
    const struct access *access = find_access(soundness->summary, events[0].line);
    unsigned wrong = 0;

    if (count_accesses(soundness->summary, events[0].line) > 1)
        return check_shared_line(soundness, events, count);

    if (!access) {
        print_event(soundness, &events[0], "the analysis lists no access in this line");
        return 1;
    }
    bool exact = access->relation && access->address_is_exact && access->domain_is_exact;
    struct known known = known_of(soundness, access, !exact);
    for (size_t i = 0; i < count && wrong < MESSAGE_LIMIT; i++) {
        const char *what = check_event(soundness, &known, &events[i]);
        if (what) print_event(soundness, &events[i], what);
        wrong += what != NULL;
    }
    known_free(&known);
    if (!exact) return wrong;
    *compared += 1;
    return wrong + check_equal(soundness, access, events, count);
}

unsigned soundness_check(struct soundness *soundness, unsigned *compared)
{
    const struct access_summary *summary = soundness->summary;
    bool *seen = calloc(summary->access_count + 1, sizeof *seen);
    unsigned wrong = 0;

    if (!seen) abort();
    if (soundness->count > 0)
        qsort(soundness->events, soundness->count, sizeof *soundness->events, compare_events);
    for (size_t first = 0, end; first < soundness->count; first = end) {
        uint32_t line = soundness->events[first].line;
        for (end = first; end < soundness->count && soundness->events[end].line == line;) end++;
        wrong += check_line(soundness, soundness->events + first, end - first, compared);
        for (uint32_t a = 0; a < summary->access_count; a++) seen[a] |= summary->accesses[a].line == line;
    }
    /* An exact access that nobody saw must have no instances. */
    for (uint32_t a = 0; a < summary->access_count; a++) {
        const struct access *access = &summary->accesses[a];
        if (seen[a] || !access->relation || !access->address_is_exact || !access->domain_is_exact) continue;
        wrong += check_equal(soundness, access, NULL, 0);
    }
    free(seen);
    free(soundness->events);
    soundness->events = NULL;
    soundness->count = soundness->capacity = 0;
    return wrong;
}
