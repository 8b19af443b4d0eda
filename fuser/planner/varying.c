/* SPDX-License-Identifier: Apache-2.0
 * See varying.h. */
#include "fuser/planner/varying.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY = 8,           /* numbers that differ: fewer may be parities, or parts of a step */
    MOST_IN_A_ROW = 16, /* launches with one number: more are worth a group of their own */
    MOST_OPENED = 16,   /* classes of one kernel and shape */
    WORD_BYTES = 4,
};

struct write {
    uint32_t array, launch;
};

struct finding {
    struct launch_classes *classes;
    uint32_t *launches;    /* by bucket, then in order */
    uint32_t *firsts;      /* of each bucket's launches, and of none */
    struct write *written; /* sorted; NULL: not asked yet */
    uint32_t written_count;
};

static struct arena *arena_of(const struct finding *finding)
{
    return finding->classes->program->arena;
}

/* --- launches by bucket --- */

static uint32_t bucket_of(const struct launch_classes *classes, uint32_t launch)
{
    uint32_t bucket = launch_class_of(classes, launch)->bucket;
    return bucket == LAUNCH_CLASS_ALONE ? classes->bucket_count : bucket;
}

static bool sort_launches(struct finding *finding)
{
    struct launch_classes *classes = finding->classes;
    uint32_t count = classes->program->launch_count, buckets = classes->bucket_count;
    finding->launches = arena_calloc(arena_of(finding), count + 1, sizeof *finding->launches);
    finding->firsts = arena_calloc(arena_of(finding), buckets + 3, sizeof *finding->firsts);
    if (!finding->launches || !finding->firsts) return false;
    for (uint32_t i = 0; i < count; i++) finding->firsts[bucket_of(classes, i) + 2]++;
    for (uint32_t b = 0; b <= buckets; b++) finding->firsts[b + 2] += finding->firsts[b + 1];
    for (uint32_t i = 0; i < count; i++) finding->launches[finding->firsts[bucket_of(classes, i) + 1]++] = i;
    return true;
}

/* --- words whose values do not come again --- */

static uint32_t word_of(const struct finding *finding, uint32_t at, uint32_t offset)
{
    uint32_t word;
    memcpy(&word, finding->classes->program->launches[finding->launches[at]].arguments + offset, sizeof word);
    return word;
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t count_different(uint32_t *words, uint32_t count)
{
    uint32_t different = 0;
    qsort(words, count, sizeof *words, compare_words);
    for (uint32_t i = 0; i < count; i++) different += !i || words[i] != words[i - 1];
    return different;
}

/* A value is left for others, and hardly one is come back to. */
static bool is_new_each_time(const struct finding *finding, uint32_t bucket, uint32_t offset, uint32_t *room)
{
    uint32_t from = finding->firsts[bucket], to = finding->firsts[bucket + 1], rows = 0;
    for (uint32_t i = from; i < to; i++)
        if (i == from || word_of(finding, i, offset) != word_of(finding, i - 1, offset))
            room[rows++] = word_of(finding, i, offset);
    if (rows < MANY || (to - from) / rows > MOST_IN_A_ROW) return false;
    uint32_t different = count_different(room, rows);
    return different >= MANY && rows <= different + different / 4;
}

static bool is_pointer(const struct program_launch *launch, uint32_t offset)
{
    for (uint32_t p = 0; p < launch->pointer_count; p++)
        if (launch->pointers[p].offset < offset + WORD_BYTES && offset < launch->pointers[p].offset + 8)
            return true;
    return false;
}

/* Those that the class rests on. */
static uint32_t open_words(struct finding *finding, uint32_t bucket, const struct launch_class *class,
                           struct access_words *open)
{
    uint32_t count = 0, size = class->example->record->arguments_size;
    uint32_t launches = finding->firsts[bucket + 1] - finding->firsts[bucket];
    uint32_t *room = malloc(launches * sizeof *room);
    for (uint32_t w = 0; room && w < class->summary->word_count; w++) {
        const struct access_words *words = &class->summary->words[w];
        for (uint32_t at = words->offset / WORD_BYTES * WORD_BYTES; at < words->offset + words->size;
             at += WORD_BYTES)
            if ((!count || open[count - 1].offset < at) && at + WORD_BYTES <= size &&
                !is_pointer(class->example, at) && is_new_each_time(finding, bucket, at, room))
                open[count++] = (struct access_words){at, WORD_BYTES};
    }
    free(room);
    return count;
}

/* --- what is lost --- */

static int compare_writes(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    if (x->array != y->array) return x->array < y->array ? -1 : 1;
    return (x->launch > y->launch) - (x->launch < y->launch);
}

static bool find_written(struct finding *finding)
{
    struct launch_classes *classes = finding->classes;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < classes->program->launch_count; i++) {
        const struct access_summary *summary = launch_class_of(classes, i)->summary;
        for (uint32_t b = 0; summary && !summary->refusal && b < summary->base_count; b++) {
            if (!summary->bases[b].is_written) continue;
            if (finding->written_count + 1 >= capacity) {
                uint32_t more = capacity ? 2 * capacity : 64;
                finding->written =
                    arena_grow(arena_of(finding), finding->written, capacity, more, sizeof *finding->written);
                if (!finding->written) return false;
                capacity = more;
            }
            finding->written[finding->written_count++] =
                (struct write){launch_binding(classes, &summary->bases[b], i).array, i};
        }
    }
    if (finding->written)
        qsort(finding->written, finding->written_count, sizeof *finding->written, compare_writes);
    return true;
}

/* From the bucket's first launch to its last one, nobody writes what the base of this launch leads to. */
static bool is_read_only(struct finding *finding, uint32_t bucket, const struct access_base *base,
                         uint32_t launch)
{
    const uint32_t *launches = finding->launches;
    struct write first = {launch_binding(finding->classes, base, launch).array,
                          launches[finding->firsts[bucket]]};
    uint32_t last = launches[finding->firsts[bucket + 1] - 1], low = 0;
    if (!finding->written && !find_written(finding)) return false;
    for (uint32_t high = finding->written_count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_writes(&finding->written[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct write *next = low < finding->written_count ? &finding->written[low] : NULL;
    return !next || next->array != first.array || next->launch > last;
}

/* Nothing is known less well than with the numbers, but what is read of arrays that nobody writes. */
static bool is_as_good(struct finding *finding, uint32_t bucket, const struct launch_class *opened,
                       uint32_t launch)
{
    const struct access_summary *open = opened->summary;
    const struct access_summary *known = launch_class_of(finding->classes, launch)->summary;
    if (!open || opened->refusal || opened->no_member || opened->keeps_place) return false;
    if (open->function != known->function || open->access_count != known->access_count ||
        open->is_regridded != known->is_regridded || !open->whole_block != !known->whole_block)
        return false;
    for (uint32_t i = 0; i < open->access_count; i++) {
        const struct access *a = &open->accesses[i], *b = &known->accesses[i];
        bool is_worse = a->instruction != b->instruction || !a->relation > !b->relation ||
                        a->address_is_exact < b->address_is_exact ||
                        a->domain_is_exact < b->domain_is_exact ||
                        open->bases[a->base].is_bounded < known->bases[b->base].is_bounded;
        if (is_worse && (a->instruction != b->instruction || a->kind != ACCESS_READ ||
                         b->kind != ACCESS_READ || a->domain_is_exact < b->domain_is_exact ||
                         !is_read_only(finding, bucket, &open->bases[a->base], launch)))
            return false;
    }
    return true;
}

/* --- the whole --- */

static bool may_be_opened(const struct launch_class *class)
{
    return !class->example->memop && class->summary && !class->refusal && !class->no_member &&
           !class->keeps_place;
}

static struct launch_class *class_that_fits(const struct finding *finding, struct launch_class *const *opened,
                                            uint32_t count, uint32_t launch)
{
    struct program *program = finding->classes->program;
    for (uint32_t i = 0; i < count; i++)
        if (launch_class_fits(program, opened[i], &program->launches[launch])) return opened[i];
    return NULL;
}

static bool open_bucket(struct finding *finding, uint32_t bucket)
{
    struct launch_classes *classes = finding->classes;
    struct launch_class *opened[MOST_OPENED];
    struct access_words *open = NULL;
    uint32_t count = 0, open_count = 0;
    for (uint32_t i = finding->firsts[bucket]; i < finding->firsts[bucket + 1]; i++) {
        uint32_t launch = finding->launches[i];
        struct launch_class *class = launch_class_of(classes, launch);
        if (!may_be_opened(class)) return true;
        if (!open) {
            open = arena_calloc(arena_of(finding), class->example->record->arguments_size / WORD_BYTES + 2,
                                sizeof *open);
            if (!open) return false;
            open_count = open_words(finding, bucket, class, open);
            if (!open_count) return true;
        }
        struct launch_class *fits = class_that_fits(finding, opened, count, launch);
        if (!fits && count < MOST_OPENED) {
            fits = launch_class_open(classes, launch, open, open_count);
            if (!fits) return false;
            if (!is_as_good(finding, bucket, fits, launch)) return true;
            opened[count++] = fits;
        }
        if (fits) launch_class_move(classes, launch, fits);
    }
    return true;
}

/* Launches of one kernel and shape, of which hardly two are alike. */
static bool mark_once(struct finding *finding, uint32_t bucket)
{
    uint32_t from = finding->firsts[bucket], count = finding->firsts[bucket + 1] - from;
    uint32_t *ids = malloc(count * sizeof *ids);
    if (!ids) return false;
    for (uint32_t i = 0; i < count; i++) ids[i] = finding->classes->of_launch[finding->launches[from + i]];
    uint32_t different = count_different(ids, count);
    free(ids);
    for (uint32_t i = 0; different >= MANY && count <= different + different / 4 && i < count; i++) {
        struct launch_class *class = launch_class_of(finding->classes, finding->launches[from + i]);
        class->comes_once = class->launches == 1;
    }
    return true;
}

bool varying_find(struct launch_classes *classes)
{
    struct finding finding = {.classes = classes};
    if (!sort_launches(&finding)) return false;
    for (uint32_t b = 0; b < classes->bucket_count; b++) {
        if (finding.firsts[b + 1] - finding.firsts[b] < MANY) continue;
        if (!open_bucket(&finding, b) || !mark_once(&finding, b)) return false;
    }
    return true;
}
