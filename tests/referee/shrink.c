/* SPDX-License-Identifier: Apache-2.0
 * Shrinks what fails: whole programs first, then runs of lines, halving their length, as long as anything can
 * go. A text that fails in another way (it does not compile, has races of its own, names what is gone) is not
 * taken. */
#include "tests/referee/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIALS_MOST = 400 };

struct lines {
    const char **starts;
    bool *is_gone;
    uint32_t count;
};
struct shrinking {
    const struct judge *judge;
    struct arena *arena;
    const char *why;
    struct lines lines;
    uint32_t trials;
};

/* What ends a worker is tried in a process of its own. */
static bool dies(const struct judge *judge, struct batch *batch)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        judge_batch(judge, batch);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && status != 0;
}

static bool fails_alike(struct shrinking *shrinking, const char *text)
{
    const char *error;
    bool found = false;
    struct batch *batch = batch_read(text, &error);
    shrinking->trials++;
    if (batch && !error && batch->count && strncmp(shrinking->why, "crash", 5) == 0) {
        found = dies(shrinking->judge, batch);
    } else if (batch && !error && batch->count) {
        judge_batch(shrinking->judge, batch);
        for (uint32_t i = 0; i < batch->count; i++)
            found |= batch->programs[i].is_failed && judge_same_kind(batch->programs[i].why, shrinking->why);
    }
    batch_free(batch);
    return found;
}

static void split(struct shrinking *shrinking, const char *text)
{
    struct lines *lines = &shrinking->lines;
    uint32_t capacity = 1;
    for (const char *c = text; *c; c++) capacity += *c == '\n';
    lines->count = 0;
    lines->starts = arena_calloc(shrinking->arena, capacity, sizeof *lines->starts);
    lines->is_gone = arena_calloc(shrinking->arena, capacity, sizeof *lines->is_gone);
    if (!lines->starts || !lines->is_gone) abort();
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        lines->starts[lines->count++] = line;
        if (!strchr(line, '\n')) break;
    }
}

static const char *join(struct shrinking *shrinking)
{
    const struct lines *lines = &shrinking->lines;
    size_t size = 1;
    for (uint32_t i = 0; i < lines->count; i++) size += strcspn(lines->starts[i], "\n") + 1;
    char *text = arena_alloc(shrinking->arena, size), *at = text;
    for (uint32_t i = 0; text && i < lines->count; i++) {
        if (lines->is_gone[i]) continue;
        size_t length = strcspn(lines->starts[i], "\n");
        memcpy(at, lines->starts[i], length);
        at[length] = '\n';
        at += length + 1;
    }
    return text;
}

/* Lines that no text can do without. */
static bool must_stay(const char *line)
{
    static const char *const words[] = {"program ", "source\n", "end\n", "done\n", "{\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0) return true;
    return false;
}

static bool leave_out(struct shrinking *shrinking, uint32_t first, uint32_t count)
{
    struct lines *lines = &shrinking->lines;
    uint32_t taken = 0;
    bool *before = arena_calloc(shrinking->arena, lines->count, sizeof *before);
    memcpy(before, lines->is_gone, lines->count * sizeof *before);
    for (uint32_t i = first; i < lines->count && i < first + count; i++) {
        if (lines->is_gone[i] || must_stay(lines->starts[i])) continue;
        lines->is_gone[i] = true;
        taken++;
    }
    if (taken && fails_alike(shrinking, join(shrinking))) return true;
    memcpy(lines->is_gone, before, lines->count * sizeof *before);
    return false;
}

/* A kernel that no launch names is text that nobody needs, but of several lines that belong together. */
static void leave_out_kernels(struct shrinking *shrinking)
{
    struct lines *lines = &shrinking->lines;
    for (uint32_t i = 0; i < lines->count; i++) {
        bool is_head = strncmp(lines->starts[i], "extern \"C\"", 10) == 0;
        if (!is_head && strncmp(lines->starts[i], "struct ", 7) != 0) continue;
        uint32_t end = i + 1;
        while (is_head && end < lines->count && strncmp(lines->starts[end], "extern", 6) != 0 &&
               strncmp(lines->starts[end], "struct", 6) != 0 && strncmp(lines->starts[end], "end\n", 4) != 0)
            end++;
        bool *before = arena_calloc(shrinking->arena, lines->count, sizeof *before);
        memcpy(before, lines->is_gone, lines->count * sizeof *before);
        for (uint32_t k = i; k < end; k++) lines->is_gone[k] = true;
        if (!fails_alike(shrinking, join(shrinking)))
            memcpy(lines->is_gone, before, lines->count * sizeof *before);
    }
}

static void leave_out_lines(struct shrinking *shrinking)
{
    bool changed = true;
    for (uint32_t run = shrinking->lines.count / 2; run >= 1 && shrinking->trials < TRIALS_MOST;) {
        changed = false;
        for (uint32_t i = 0; i < shrinking->lines.count && shrinking->trials < TRIALS_MOST; i += run)
            changed |= leave_out(shrinking, i, run);
        if (run == 1 && !changed) break;
        run = run > 1 ? run / 2 : 1;
    }
}

const char *shrink(const struct judge *judge, struct arena *arena, const char *text, const char *why)
{
    struct shrinking shrinking = {.judge = judge, .arena = arena, .why = why};
    if (!fails_alike(&shrinking, text)) return NULL;
    split(&shrinking, text);
    leave_out_lines(&shrinking);
    leave_out_kernels(&shrinking);
    text = join(&shrinking);
    split(&shrinking, text);
    leave_out_lines(&shrinking);
    return join(&shrinking);
}
