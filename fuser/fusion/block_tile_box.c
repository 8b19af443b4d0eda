/* SPDX-License-Identifier: Apache-2.0
 * The box of a block tile: from the bytes that stores write, one block of each class at a time, to rows and
 * columns. */
#include "fuser/fusion/block_tile.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_PITCHES = 8, TILE_SMALL = 1 << 10, WARP = 32, BANKS = 32, BANK_BYTES = 4 };

static int64_t floor_modulo(int64_t value, int64_t divisor)
{
    int64_t rest = value % divisor;
    return rest < 0 ? rest + divisor : rest;
}

uint32_t tile_place(const struct group_block_tile *tile, int64_t byte)
{
    int64_t column = byte - tile->origin;
    if (column < 0) return UINT32_MAX;
    int64_t layer = tile->layer_pitch ? column / tile->layer_pitch : 0;
    column -= layer * tile->layer_pitch;
    int64_t row = tile->pitch ? column / tile->pitch : 0;
    column -= row * tile->pitch;
    if (layer >= tile->layers || row >= tile->rows || column >= tile->width) return UINT32_MAX;
    return (uint32_t)((layer * tile->rows + row) * tile->width + column);
}

/* --- runs of bytes ---------------------------------------------------------------------------------------
 */

static bool add_run(void *context, uint32_t thread, int64_t byte)
{
    struct tile_runs *runs = context;
    struct tile_run *last = runs->count ? &runs->list[runs->count - 1] : NULL;
    (void)thread;
    if (last && last->to == byte) {
        last->to += runs->width;
        return true;
    }
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity * 2 + 1024;
        struct tile_run *list = realloc(runs->list, capacity * sizeof *list);
        if (!list) return false;
        runs->list = list;
        runs->capacity = capacity;
    }
    runs->list[runs->count++] = (struct tile_run){byte, byte + runs->width};
    return true;
}

static int compare_runs(const void *a, const void *b)
{
    const struct tile_run *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

void tile_runs_unite(struct tile_runs *runs)
{
    size_t count = 0;
    if (runs->count) qsort(runs->list, runs->count, sizeof *runs->list, compare_runs);
    for (size_t i = 0; i < runs->count; i++) {
        struct tile_run *last = count ? &runs->list[count - 1] : NULL;
        if (!last || last->to < runs->list[i].from)
            runs->list[count++] = runs->list[i];
        else if (last->to < runs->list[i].to)
            last->to = runs->list[i].to;
    }
    runs->count = count;
}

bool tile_runs_add(struct tile_runs *runs, const struct pattern *pattern, const uint32_t block[3],
                   uint32_t width)
{
    runs->width = width;
    return pattern_visit(pattern, block, add_run, runs);
}

static bool find_runs(struct tile_runs *runs, const struct tile_uses *uses, uint32_t last)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct tile_use *use = &uses->list[i];
        if (!use->is_store || use->placed->member > last) continue;
        for (uint32_t class = 0; class < uses->classes.count; class ++)
            if (!tile_runs_add(runs, &use->pattern, uses->classes.blocks[class], use->placed->access->width))
                return false;
    }
    tile_runs_unite(runs);
    return runs->count > 0;
}

/* --- rows ------------------------------------------------------------------------------------------------
 */

/* Rows so far apart; false where a run leaves its row. */
static bool cut_rows(struct group_block_tile *tile, const struct tile_runs *runs, int64_t pitch)
{
    uint32_t width = 0;
    int64_t rows = 1;
    for (size_t i = 0; i < runs->count; i++) {
        int64_t from = runs->list[i].from - tile->origin, length = runs->list[i].to - runs->list[i].from;
        int64_t column = pitch ? from % pitch : from;
        if (column + length > (pitch ? pitch : (int64_t)1 << 30)) return false;
        if (column + length > width) width = (uint32_t)(column + length);
        if (pitch && from / pitch + 1 > rows) rows = from / pitch + 1;
    }
    if (pitch > (int64_t)1 << 30 || rows > (int64_t)1 << 20 || (double)rows * (double)pitch > 0x1p30)
        return false;
    tile->layers = 1;
    tile->pitch = (uint32_t)pitch;
    tile->rows = (uint32_t)rows;
    tile->width = tile->row_bytes = width;
    return true;
}

/* The pitch is the distance of two runs that lie further apart than all before. Rows cost arithmetic: they
 * must save something. */
static bool choose_rows(struct group_block_tile *tile, const struct tile_runs *runs)
{
    struct group_block_tile trial = *tile;
    int64_t widest = 0;
    uint32_t tried = 0;
    bool found = false;
    for (size_t i = 0; i < runs->count && tried < TILE_PITCHES; i++) {
        int64_t gap = i ? runs->list[i].from - runs->list[i - 1].to : 1;
        if (gap <= widest && i) continue;
        if (i) widest = gap;
        tried++;
        if (!cut_rows(&trial, runs, i ? runs->list[i].from - runs->list[i - 1].from : 0)) continue;
        if (found && 4 * group_tile_bytes(&trial) > 3 * group_tile_bytes(tile)) continue;
        if (found && group_tile_bytes(tile) <= TILE_SMALL) continue;
        *tile = trial;
        found = true;
    }
    return found;
}

/* The runs of all layers, one over the other, and how many layers there are; false where a run leaves its
 * layer, or memory is out. */
static bool stack_layers(const struct tile_runs *runs, int64_t origin, int64_t pitch,
                         struct tile_runs *stacked, int64_t *layers)
{
    *layers = 1;
    for (size_t i = 0; i < runs->count; i++) {
        int64_t from = runs->list[i].from - origin, length = runs->list[i].to - runs->list[i].from;
        if (from % pitch + length > pitch) return false;
        if (from / pitch + 1 > *layers) *layers = from / pitch + 1;
        stacked->width = (uint32_t)length;
        if (!add_run(stacked, 0, origin + from % pitch)) return false;
    }
    tile_runs_unite(stacked);
    return true;
}

/* Layers where rows alone leave much of the tile empty: their pitch is found as that of rows is. */
static void choose_layers(struct group_block_tile *tile, const struct tile_runs *runs)
{
    int64_t widest = 0;
    uint32_t tried = 0;
    for (size_t i = 1; i < runs->count && tried < TILE_PITCHES; i++) {
        int64_t gap = runs->list[i].from - runs->list[i - 1].to, layers;
        int64_t pitch = runs->list[i].from - runs->list[0].from;
        if (gap <= widest) continue;
        widest = gap;
        tried++;
        if (pitch > (int64_t)1 << 28) continue;
        struct group_block_tile trial = *tile;
        struct tile_runs stacked = {0};
        bool is_fine =
            stack_layers(runs, tile->origin, pitch, &stacked, &layers) && choose_rows(&trial, &stacked);
        free(stacked.list);
        if (!is_fine || layers < 2 || (double)layers * (double)pitch > 0x1p30) continue;
        trial.layers = (uint32_t)layers;
        trial.layer_pitch = (uint32_t)pitch;
        if (4 * group_tile_bytes(&trial) <= 3 * group_tile_bytes(tile)) *tile = trial;
    }
}

static uint32_t widest_access(const struct tile_uses *uses)
{
    uint32_t widest = BANK_BYTES;
    for (uint32_t i = 0; i < uses->count; i++)
        if (uses->list[i].is_known && uses->list[i].placed->access->width > widest)
            widest = uses->list[i].placed->access->width;
    return widest;
}

bool tile_box_smallest(struct group_block_tile *tile, const struct tile_uses *uses, uint32_t last,
                       uint32_t most)
{
    struct tile_runs runs = {0};
    bool found = find_runs(&runs, uses, last);
    if (found) {
        tile->origin = runs.list[0].from - floor_modulo(runs.list[0].from, widest_access(uses));
        found = choose_rows(tile, &runs);
        if (found && tile->rows > 1) choose_layers(tile, &runs);
        found = found && group_tile_bytes(tile) <= most;
    }
    free(runs.list);
    return found;
}

/* --- padding ---------------------------------------------------------------------------------------------
 */

struct warp { /* the first place of each thread of the first warp; UINT32_MAX: none */
    const struct group_block_tile *tile;
    uint32_t places[WARP];
};

static bool add_place(void *context, uint32_t thread, int64_t byte)
{
    struct warp *warp = context;
    if (thread >= WARP) return false;
    if (warp->places[thread] == UINT32_MAX) warp->places[thread] = tile_place(warp->tile, byte);
    return true;
}

/* Wavefronts that shared memory takes for the warp, when rows are so many bytes long. */
static uint32_t wavefronts_of_warp(const struct warp *warp, uint32_t width, uint32_t row_bytes)
{
    uint32_t at_once = width > BANK_BYTES ? WARP * BANK_BYTES / width : WARP, wavefronts = 0;
    for (uint32_t first = 0; first < WARP; first += at_once) {
        uint32_t words[WARP][BANKS], counts[BANKS] = {0}, most = 0;
        for (uint32_t t = first; t < first + at_once; t++) {
            uint32_t place = warp->places[t];
            if (place == UINT32_MAX) continue;
            place = place / warp->tile->width * row_bytes + place % warp->tile->width;
            for (uint32_t word = place / BANK_BYTES; word <= (place + width - 1) / BANK_BYTES; word++) {
                uint32_t bank = word % BANKS, k = 0;
                while (k < counts[bank] && words[k][bank] != word) k++;
                if (k < counts[bank] || k == WARP) continue;
                words[counts[bank]++][bank] = word;
                if (counts[bank] > most) most = counts[bank];
            }
        }
        wavefronts += most;
    }
    return wavefronts;
}

static uint64_t wavefronts_of(const struct group_block_tile *tile, const struct tile_uses *uses,
                              const uint32_t *block, uint32_t row_bytes)
{
    uint64_t wavefronts = 0;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct tile_use *use = &uses->list[i];
        struct warp warp = {.tile = tile};
        if (!use->is_store && !use->is_served) continue;
        memset(warp.places, 0xff, sizeof warp.places);
        pattern_visit(&use->pattern, block, add_place, &warp);
        wavefronts += wavefronts_of_warp(&warp, use->placed->access->width, row_bytes);
    }
    return wavefronts;
}

struct alignment {
    const struct group_block_tile *tile;
    uint32_t width;
};

static bool is_aligned(void *context, uint32_t thread, int64_t byte)
{
    const struct alignment *alignment = context;
    (void)thread;
    uint32_t place = tile_place(alignment->tile, byte);
    return place == UINT32_MAX || place % alignment->tile->width % alignment->width == 0;
}

static bool all_aligned(const struct group_block_tile *tile, const struct tile_uses *uses)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct tile_use *use = &uses->list[i];
        struct alignment alignment = {tile, use->placed->access->width};
        if (!use->is_store && !use->is_served) continue;
        for (uint32_t class = 0; class < uses->classes.count; class ++)
            if (!pattern_visit(&use->pattern, uses->classes.blocks[class], is_aligned, &alignment))
                return false;
    }
    return true;
}

static uint32_t largest_class(const struct pattern_classes *classes)
{
    uint32_t largest = 0;
    for (uint32_t class = 1; class < classes->count; class ++)
        if (classes->sizes[class] > classes->sizes[largest]) largest = class;
    return largest;
}

bool tile_box_pad(struct group_block_tile *tile, const struct tile_uses *uses, uint32_t most)
{
    uint32_t unit = widest_access(uses), row_bytes = (tile->width + unit - 1) / unit * unit;
    if (!all_aligned(tile, uses)) return false;
    const uint32_t *block = uses->classes.blocks[largest_class(&uses->classes)];
    tile->row_bytes = row_bytes;
    uint64_t least = wavefronts_of(tile, uses, block, row_bytes);
    for (uint32_t padded = row_bytes + unit; tile->rows > 1 && padded < row_bytes + BANKS * BANK_BYTES;
         padded += unit) {
        if ((uint64_t)padded * tile->rows * tile->layers > most) break;
        uint64_t wavefronts = wavefronts_of(tile, uses, block, padded);
        if (wavefronts >= least) continue;
        least = wavefronts;
        tile->row_bytes = padded;
    }
    return group_tile_bytes(tile) <= most;
}
