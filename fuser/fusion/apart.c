/* SPDX-License-Identifier: Apache-2.0
 * See apart.h. */
#include "fuser/fusion/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form {
    FORM_NONE,
    FORM_ANY,
    FORM_COORDINATES, /* block and thread, a number a dimension */
    FORM_GLOBAL,      /* a number a dimension: block times extent plus thread */
    FORM_LINEAR,      /* the number of the thread in the launch */
};

/* A thread that runs others in turn has the number of the first. */
static const enum form forms[] = {
    [REMAP_SAME] = FORM_ANY,      [REMAP_GLOBAL] = FORM_GLOBAL,    [REMAP_LINEAR] = FORM_LINEAR,
    [REMAP_STRIDE] = FORM_LINEAR, [REMAP_AFFINE] = FORM_NONE,      [REMAP_COARSENED] = FORM_NONE,
    [REMAP_CELLS] = FORM_NONE,    [REMAP_INTER_BLOCK] = FORM_NONE,
};

static enum form form_of(const struct space *space, uint32_t p, uint32_t q)
{
    enum remap_kind a = space->remaps[p].kind, b = space->remaps[q].kind;
    enum form first = forms[a], second = forms[b];
    if (a == REMAP_SAME && b == REMAP_SAME) return FORM_COORDINATES;
    if (first == FORM_ANY || second == FORM_ANY) return first == FORM_ANY ? second : first;
    return first == second ? first : FORM_NONE;
}

/* The coordinates' names of the first and the second thread. */
static const char *const block_names[2] = {"c", "d"}, *const thread_names[2] = {"u", "v"};

static void write_thread(FILE *text, enum form form, const struct space *space, uint32_t member, int side,
                         int d)
{
    const struct access_summary *summary = space->members[member].summary;
    const char *block = block_names[side], *thread = thread_names[side];
    bool repeats = space->remaps[member].kind == REMAP_STRIDE;
    if (form == FORM_COORDINATES) {
        fprintf(text, "%s%c", thread, "xyz"[d]);
        return;
    }
    if (form == FORM_GLOBAL) {
        fprintf(text, "%u %s%c + %s%c", summary->block[d], block, "xyz"[d], thread, "xyz"[d]);
        return;
    }
    fprintf(text, repeats ? "((" : "");
    remap_write_linear(text, block, thread, summary->grid, summary->block);
    if (repeats) fprintf(text, ") mod %llu)", (unsigned long long)remap_threads(space->grid, space->block));
}

/* The fused block's number. */
static void write_block(FILE *text, enum form form, const struct space *space, uint32_t member, int side,
                        int d)
{
    static const uint32_t one[3] = {1, 1, 1};
    const struct access_summary *summary = space->members[member].summary;
    uint64_t extent = form == FORM_LINEAR ? remap_threads(one, space->block) : space->block[d];
    if (form == FORM_LINEAR && remap_keeps_blocks(summary, space->grid, space->block)) {
        remap_write_linear(text, block_names[side], thread_names[side], summary->grid, one);
    } else if (form == FORM_COORDINATES || (form == FORM_GLOBAL && summary->block[d] == space->block[d])) {
        fprintf(text, "%s%c", block_names[side], "xyz"[d]);
    } else {
        fprintf(text, "floor((");
        write_thread(text, form, space, member, side, d);
        fprintf(text, ")/%llu)", (unsigned long long)extent);
    }
}

static char *number_text(enum form form, const struct space *space, uint32_t member, int side, int d,
                         bool is_block)
{
    char *string = NULL;
    size_t length;
    FILE *text = open_memstream(&string, &length);
    if (!text) return NULL;
    if (is_block)
        write_block(text, form, space, member, side, d);
    else
        write_thread(text, form, space, member, side, d);
    if (!fclose(text)) return string;
    free(string);
    return NULL;
}

/* Two conditions: the first thread's number is less than the second one's, or more. */
static bool add_numbers(struct overlap_apart *apart, struct memo *memo, const char *first, const char *second,
                        bool is_block)
{
    for (int more = 0; first && second && more < 2; more++) {
        char *text = NULL;
        if (asprintf(&text, "{ [cz, cy, cx, uz, uy, ux, dz, dy, dx, vz, vy, vx] -> [s, t] : %s %c %s }",
                     first, "<>"[more], second) < 0)
            return false;
        struct {
            struct hash128 before, text;
            uint64_t is_block;
        } name = {apart->name, hash_bytes(text, strlen(text)), is_block};
        apart->name = hash_bytes(&name, sizeof name);
        isl_map *condition = memo_read(memo, text);
        free(text);
        if (!condition) return false;
        apart->conditions[apart->count++] = condition;
    }
    return first && second;
}

static bool add_all(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q,
                    enum form form, bool is_block)
{
    const struct access_summary *a = space->members[p].summary, *b = space->members[q].summary;
    for (int d = 0; d < (form == FORM_LINEAR ? 1 : 3); d++) {
        bool is_one = a->grid[d] == 1 && a->block[d] == 1 && b->grid[d] == 1 && b->block[d] == 1;
        if (form != FORM_LINEAR && is_one) continue;
        char *first = number_text(form, space, p, 0, d, is_block),
             *second = number_text(form, space, q, 1, d, is_block);
        bool done = add_numbers(apart, space->memo, first, second, is_block);
        free(first);
        free(second);
        if (!done) return false;
    }
    return true;
}

static bool open_by(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q,
                    enum form form)
{
    *apart = (struct overlap_apart){0};
    if (form == FORM_NONE) return false;
    bool done = add_all(apart, space, p, q, form, true);
    apart->block_count = apart->count;
    if (done && add_all(apart, space, p, q, form, false)) return true;
    apart_close(apart);
    return false;
}

bool apart_open(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q)
{
    enum form form = form_of(space, p, q);
    return open_by(apart, space, p, q, form == FORM_COORDINATES ? FORM_NONE : form);
}

bool apart_open_members(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q)
{
    return open_by(apart, space, p, q, form_of(space, p, q));
}

void apart_close(struct overlap_apart *apart)
{
    for (uint32_t i = 0; i < apart->count; i++) isl_map_free(apart->conditions[i]);
    apart->count = 0;
}
