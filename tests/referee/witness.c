/* SPDX-License-Identifier: Apache-2.0
 * Reads reasons of the form that fuser/fusion/place.c gives them, and looks for what they name. */
#include "tests/referee/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named { /* an access of one thread */
    uint32_t program, kernel, line;
    uint16_t thread[6];
};

void witness_add(struct witness_log *log, const struct witness_touch *touch)
{
    if (log->count == log->capacity) {
        log->capacity = 2 * log->capacity + 4096;
        log->touches = realloc(log->touches, log->capacity * sizeof *log->touches);
        if (!log->touches) abort();
    }
    log->touches[log->count++] = *touch;
    log->is_sorted = false;
}

void witness_add_exact(struct witness_log *log, uint32_t kernel, uint32_t line)
{
    if (log->exact_count == log->exact_capacity) {
        log->exact_capacity = 2 * log->exact_capacity + 64;
        log->exact_lines = realloc(log->exact_lines, log->exact_capacity * sizeof *log->exact_lines);
        if (!log->exact_lines) abort();
    }
    log->exact_lines[log->exact_count++] = kernel << 20 | line;
}

void witness_free(struct witness_log *log)
{
    free(log->touches);
    free(log->exact_lines);
    memset(log, 0, sizeof *log);
}

static int compare(const void *left, const void *right)
{
    const struct witness_touch *a = left, *b = right;
    if (a->kernel != b->kernel) return a->kernel < b->kernel ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return memcmp(a->thread, b->thread, sizeof a->thread);
}

/* The touches of a named access: *count of them. */
static const struct witness_touch *find(struct witness_log *log, const struct named *named, size_t *count)
{
    struct witness_touch key = {.kernel = named->kernel, .line = named->line};
    memcpy(key.thread, named->thread, sizeof key.thread);
    if (!log->is_sorted && log->count) qsort(log->touches, log->count, sizeof *log->touches, compare);
    log->is_sorted = true;
    size_t low = 0, high = log->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&log->touches[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < log->count && compare(&log->touches[low + *count], &key) == 0) ++*count;
    return log->touches + low;
}

static bool is_exact(const struct witness_log *log, const struct named *named)
{
    for (uint32_t i = 0; i < log->exact_count; i++)
        if (log->exact_lines[i] == (named->kernel << 20 | named->line)) return true;
    return false;
}

static bool read_access(const char *text, struct named *named)
{
    return sscanf(text, "kernel p%uk%u line %u", &named->program, &named->kernel, &named->line) == 3;
}

static bool read_thread(const char *text, struct named *named)
{
    uint16_t *t = named->thread;
    return sscanf(text, "block (%hu,%hu,%hu) thread (%hu,%hu,%hu)", &t[0], &t[1], &t[2], &t[3], &t[4],
                  &t[5]) == 6;
}

/* byte: that both touch, from the start of the array. */
static bool read_reason(const char *reason, struct named *first, struct named *second, uint64_t *byte)
{
    const char *other = strstr(reason, ", kernel "), *threads = strstr(reason, "e.g. block (");
    const char *last = threads ? strstr(threads, " and block (") : NULL;
    const char *place = last ? strstr(last, ", at byte ") : NULL;
    return other && place && sscanf(place, ", at byte %" SCNu64, byte) == 1 && read_access(reason, first) &&
           read_access(other + 2, second) && read_thread(threads + 5, first) && read_thread(last + 5, second);
}

bool witness_program(const char *reason, uint32_t *program)
{
    struct named named;
    bool is_named = read_access(reason, &named);
    if (is_named) *program = named.program;
    return is_named;
}

static bool touches(const struct witness_touch *touch, uint64_t byte)
{
    return byte >= touch->place && byte - touch->place < touch->bytes;
}

enum witness_verdict witness_check(struct witness_log *log, const char *reason)
{
    struct named first, second;
    size_t first_count, second_count;
    uint64_t byte;
    if (!read_reason(reason, &first, &second, &byte)) return WITNESS_NONE;
    const struct witness_touch *a = find(log, &first, &first_count), *b = find(log, &second, &second_count);
    for (size_t i = 0; i < first_count; i++)
        for (size_t k = 0; k < second_count; k++)
            if (a[i].start == b[k].start && touches(&a[i], byte) && touches(&b[k], byte) &&
                (a[i].is_write || b[k].is_write))
                return WITNESS_SEEN;
    return is_exact(log, &first) && is_exact(log, &second) ? WITNESS_UNTRUE : WITNESS_POSSIBLE;
}
