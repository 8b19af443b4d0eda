/* SPDX-License-Identifier: Apache-2.0
 * See coarsening.h. A guess: what one block touches of an array, and the next ones along each dimension, is
 * touched by cells that boxes bound; how far these lie apart are the steps. */
#include "fuser/fusion/coarsening.h"

#include "fuser/fusion/block_tile.h"
#include "fuser/fusion/space_pattern.h"

#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>

enum {
    SHARE_OPERATIONS = 40000, /* of isl, for one member: twice what it took where it ended, or more */
    SHARE_POINTS = 1 << 18,   /* instances that are looked at, for one array */
    SHARE_ARRAYS = 4,         /* that are tried */
};

static const uint32_t one[3] = {1, 1, 1}; /* block */

/* --- the guess -------------------------------------------------------------------------------------------
 */

/* What blocks touch of the array that an access of the member is to, where the two may conflict. */
struct touched {
    struct arena *arena;
    uint64_t points;       /* that were looked at */
    struct tile_runs runs; /* of a block, seen from block 0's */
    int64_t here;          /* from block 0 to one that is not at an edge, if there is one */
    int64_t step[3];       /* from block to block, x y z */
    bool has_step;
};

/* By two blocks, one of which may be cut off by an edge. */
static bool add_touched(struct touched *touched, const struct space *space,
                        const struct placed_access *placed)
{
    struct pattern pattern;
    if (!space_pattern_open(&pattern, touched->arena, space, placed) ||
        (touched->points += pattern.points) > SHARE_POINTS)
        return false;
    for (int d = 0; d < 3; d++) {
        if (touched->has_step && touched->step[d] != pattern.step[2 - d]) return false;
        touched->step[d] = pattern.step[2 - d];
    }
    touched->has_step = true;
    for (uint32_t number = 0; number < 2; number++) {
        uint32_t block[3]; /* z y x */
        for (int d = 0; d < 3; d++) block[d] = number && space->grid[2 - d] > 1;
        if (!tile_runs_add(&touched->runs, &pattern, block, placed->access->width)) return false;
    }
    return true;
}

static bool find_touched(struct touched *touched, const struct space *space, uint32_t member,
                         const struct access *own)
{
    for (uint32_t other = 0; other < space->member_count; other++) {
        if (!space->maps[other] || other == member) continue;
        for (uint32_t i = 0; i < space->members[other].summary->access_count; i++) {
            const struct placed_access *placed = &space->accesses[other][i];
            if (!overlap_may_conflict(&space->members[other], placed->access, &space->members[member], own))
                continue;
            if (!add_touched(touched, space, placed)) return false;
        }
    }
    for (int d = 0; d < 3; d++) touched->here += (space->grid[d] > 2) * touched->step[d];
    tile_runs_unite(&touched->runs);
    return touched->runs.count > 0;
}

struct bounds {
    int64_t least[3], most[3]; /* cells, x y z */
};

static bool take_value(__isl_take isl_val *value, int64_t *number)
{
    bool is_fine = value && isl_val_is_int(value);
    *number = is_fine ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_fine;
}

/* Of the cells that touch the run, moved on by a distance, through an access. */
static bool bound_run(struct space *space, uint32_t member, const struct coarsening *coarsening,
                      const struct access *access, const struct tile_run *run, int64_t distance,
                      struct bounds *bounds)
{
    isl_map *bytes = overlap_thread_bytes(&space->members[member], access);
    isl_set *range = bytes ? isl_set_universe(isl_space_range(isl_map_get_space(bytes))) : NULL;
    range = isl_set_lower_bound_val(
        range, isl_dim_set, 0, isl_val_int_from_si(space->ctx, run->from + distance + 1 - access->width));
    range = isl_set_upper_bound_val(range, isl_dim_set, 0,
                                    isl_val_int_from_si(space->ctx, run->to + distance - 1));
    isl_set *cells = isl_set_apply(isl_map_domain(isl_map_intersect_range(bytes, range)),
                                   coarsening_cells(space, member, coarsening));
    bool found = cells;
    for (int d = 0; found && d < 3; d++)
        found = take_value(isl_set_dim_min_val(isl_set_copy(cells), 2 - d), &bounds->least[d]) &&
                take_value(isl_set_dim_max_val(isl_set_copy(cells), 2 - d), &bounds->most[d]);
    isl_set_free(cells);
    return found;
}

/* The cell that touches the first byte of the block. */
static bool find_first(struct space *space, uint32_t member, const struct coarsening *coarsening,
                       const struct access *access, const struct touched *touched, int64_t distance,
                       struct bounds *first)
{
    const struct tile_run run = {touched->runs.list[0].from, touched->runs.list[0].from + 1};
    return bound_run(space, member, coarsening, access, &run, distance, first);
}

/* Runs that begin as far apart as the first two. */
static size_t rows_of(const struct tile_runs *runs)
{
    size_t count = 1;
    int64_t pitch = runs->count > 1 ? runs->list[1].from - runs->list[0].from : 0;
    while (count < runs->count && runs->list[count].from - runs->list[count - 1].from == pitch) count++;
    return count;
}

/* Along a line, how many cells further the run begins than the first one; 0: isl cannot tell. */
static int64_t cells_between(struct space *space, uint32_t member, const struct coarsening *coarsening,
                             const struct access *access, const struct touched *touched, size_t run)
{
    struct bounds first, next;
    int64_t distance = touched->here;
    if (!find_first(space, member, coarsening, access, touched, distance, &first)) return 0;
    distance += touched->runs.list[run].from - touched->runs.list[0].from;
    return find_first(space, member, coarsening, access, touched, distance, &next)
               ? next.least[0] - first.least[0]
               : 0;
}

/* Into rows, and layers of them, as the bytes lie. */
static bool cut_line(struct space *space, uint32_t member, struct coarsening *coarsening,
                     const struct access *access, const struct touched *touched)
{
    size_t rows = rows_of(&touched->runs);
    if (touched->runs.count < 2 || coarsening->extents[1] > 1 || coarsening->extents[2] > 1) return true;
    int64_t pitch = cells_between(space, member, coarsening, access, touched, 1),
            layer = (int64_t)coarsening->cells;
    if (rows < touched->runs.count) layer = cells_between(space, member, coarsening, access, touched, rows);
    if (pitch <= 0 || layer <= 0 || (rows < touched->runs.count && layer % pitch)) return false;
    coarsening->extents[0] = (uint32_t)pitch;
    coarsening->extents[1] = (uint32_t)((layer + pitch - 1) / pitch);
    coarsening->extents[2] = (uint32_t)((coarsening->cells + (uint64_t)layer - 1) / (uint64_t)layer);
    return true;
}

/* Finds the first cell of a block, and makes room for those of its first and its last run, seen from that
 * one: what lies between them, lies between their cells. */
static bool widen(struct space *space, uint32_t member, const struct coarsening *coarsening,
                  const struct access *access, const struct touched *touched, int64_t distance,
                  struct bounds *first, struct bounds *around)
{
    const struct tile_run *ends[] = {touched->runs.list, touched->runs.list + touched->runs.count - 1};
    struct bounds bounds;
    if (!find_first(space, member, coarsening, access, touched, distance, first)) return false;
    for (int end = 0; end < 2; end++) {
        if (!bound_run(space, member, coarsening, access, ends[end], distance, &bounds)) continue;
        for (int d = 0; d < 3; d++) {
            if (bounds.least[d] - first->least[d] < around->least[d])
                around->least[d] = bounds.least[d] - first->least[d];
            if (bounds.most[d] - first->least[d] > around->most[d])
                around->most[d] = bounds.most[d] - first->least[d];
        }
    }
    return true;
}

/* To the next block along d, or from the one before. */
static bool find_step(struct space *space, uint32_t member, struct coarsening *coarsening,
                      const struct access *access, const struct touched *touched, const struct bounds *here,
                      int d)
{
    struct bounds other;
    bool has_next =
        find_first(space, member, coarsening, access, touched, touched->here + touched->step[d], &other);
    if (!has_next &&
        !find_first(space, member, coarsening, access, touched, touched->here - touched->step[d], &other))
        return false;
    for (int k = 0; k < 3; k++)
        coarsening->step[d][k] = has_next ? other.least[k] - here->least[k] : here->least[k] - other.least[k];
    return true;
}

/* The box that has room for block 0 and for one that is not at an edge, and how far the next ones' boxes lie
 * from that one's. */
static bool find_box(struct space *space, uint32_t member, struct coarsening *coarsening,
                     const struct access *access, const struct touched *touched)
{
    struct bounds around = {{0}, {0}}, first, other;
    if (!cut_line(space, member, coarsening, access, touched) ||
        !widen(space, member, coarsening, access, touched, touched->here, &first, &around))
        return false;
    if (touched->here) widen(space, member, coarsening, access, touched, 0, &other, &around);
    for (int d = 0; d < 3; d++) {
        coarsening->box[d] = (uint32_t)(around.most[d] - around.least[d]) + 1;
        coarsening->origin[d] = first.least[d] + around.least[d];
    }
    for (int d = 0; d < 3; d++) {
        if (space->grid[d] == 1) continue;
        if (!find_step(space, member, coarsening, access, touched, &first, d)) return false;
        for (int k = 0; k < 3; k++) coarsening->origin[k] -= (space->grid[d] > 2) * coarsening->step[d][k];
    }
    return true;
}

static bool guess(struct space *space, uint32_t member, struct coarsening *coarsening,
                  const struct access *access)
{
    struct touched touched = {.arena = arena_create()};
    bool found = touched.arena && find_touched(&touched, space, member, access) &&
                 find_box(space, member, coarsening, access, &touched);
    free(touched.runs.list);
    arena_free(touched.arena);
    return found;
}

/* --- the proof -------------------------------------------------------------------------------------------
 */

/* No cell lies in the boxes of two blocks, and every thread that writes lies in one. */
static bool coarsening_covers(const struct space *space, uint32_t member, const struct coarsening *coarsening)
{
    isl_map *boxes = coarsening_boxes(space, member, coarsening);
    bool is_apart = isl_map_is_injective(boxes) == isl_bool_true;
    isl_map *cells =
        isl_map_intersect_range(coarsening_cells(space, member, coarsening), isl_map_range(boxes));
    isl_set *run = isl_map_domain(cells);
    bool covers =
        is_apart && isl_set_is_subset(space->members[member].summary->effective, run) == isl_bool_true;
    isl_set_free(run);
    return covers;
}

static bool count_passes(const struct space *space, struct coarsening *coarsening)
{
    uint64_t cells = (uint64_t)coarsening->box[0] * coarsening->box[1],
             threads = remap_threads(one, space->block);
    if (coarsening->box[2] > UINT32_MAX / (cells ? cells : 1)) return false;
    cells *= coarsening->box[2];
    uint64_t passes = coarsening->of_blocks ? cells : (cells + threads - 1) / threads;
    coarsening->passes = (uint32_t)passes;
    return passes && passes <= COARSENING_PASSES;
}

/* Code counts cells in 32 bits, those beyond the launch too. */
static bool stays_small(const struct space *space, const struct coarsening *coarsening)
{
    uint64_t all = 1;
    for (int d = 0; d < 3; d++) {
        int64_t least = coarsening->origin[d], most = coarsening->origin[d] + coarsening->box[d];
        for (int k = 0; k < 3; k++) {
            int64_t last = coarsening->step[k][d] * (int64_t)(space->grid[k] - 1);
            *(last < 0 ? &least : &most) += last;
        }
        if (least < INT32_MIN || most > INT32_MAX || (all *= coarsening->extents[d]) > INT32_MAX)
            return false;
    }
    return true;
}

static bool may_be_coarsened(const struct space *space, const struct access_summary *summary)
{
    uint64_t fused = remap_threads(space->grid, space->block);
    if (summary->whole_block && remap_threads(one, summary->block) != remap_threads(one, space->block))
        return false;
    return remap_threads(summary->grid, summary->block) <= fused * COARSENING_PASSES;
}

/* What lies between two blocks' boxes conflicts with neither: the first one's runs it. */
static bool close_gaps(const struct space *space, struct coarsening *coarsening)
{
    bool has_gaps = false;
    for (int k = 0; k < 3; k++) {
        uint32_t moving = 0;
        int64_t step = 0;
        for (int d = 0; d < 3; d++) {
            if (space->grid[d] == 1 || !coarsening->step[d][k]) continue;
            step = coarsening->step[d][k] < 0 ? -coarsening->step[d][k] : coarsening->step[d][k];
            moving++;
        }
        if (moving != 1 || step <= coarsening->box[k]) continue;
        coarsening->box[k] = (uint32_t)step;
        has_gaps = true;
    }
    return has_gaps;
}

static bool is_proved(const struct space *space, uint32_t member, struct coarsening *coarsening)
{
    return count_passes(space, coarsening) && stays_small(space, coarsening) &&
           coarsening_covers(space, member, coarsening);
}

static struct coarsening *coarsening_begin(const struct space *space, const struct access_summary *summary)
{
    struct coarsening *coarsening =
        may_be_coarsened(space, summary) ? arena_alloc(space->arena, sizeof *coarsening) : NULL;
    if (!coarsening) return NULL;
    *coarsening = (struct coarsening){.of_blocks = summary->whole_block != NULL, .cells = 1};
    for (int d = 0; d < 3; d++) {
        uint64_t extent = (uint64_t)summary->grid[d] * (coarsening->of_blocks ? 1 : summary->block[d]);
        if (extent > INT32_MAX || (coarsening->cells *= extent) > INT32_MAX) return NULL;
        coarsening->extents[d] = (uint32_t)extent;
    }
    return coarsening;
}

/* A conflict is possible, and no access before reads, or writes, the same array. */
static bool tells_more(const struct space *space, uint32_t member, uint32_t index)
{
    const struct bound_launch *own = &space->members[member];
    const struct access *access = &own->summary->accesses[index];
    for (uint32_t i = 0; i < index; i++) {
        const struct access *before = &own->summary->accesses[i];
        if (own->bindings[before->base].array == own->bindings[access->base].array &&
            (before->kind == ACCESS_READ) == (access->kind == ACCESS_READ))
            return false;
    }
    for (uint32_t other = 0; other < space->member_count; other++)
        for (uint32_t i = 0; space->maps[other] && i < space->members[other].summary->access_count; i++)
            if (other != member &&
                overlap_may_conflict(&space->members[other], space->accesses[other][i].access, own, access))
                return true;
    return false;
}

/* From the first of its arrays that tells one. */
struct coarsening *coarsening_derive(struct space *space, uint32_t member)
{
    const struct access_summary *summary = space->members[member].summary;
    struct coarsening *coarsening = NULL;
    struct quota quota = quota_begin(space->ctx, SHARE_OPERATIONS);
    bool found = false;
    for (uint32_t i = 0, arrays = 0; !found && i < summary->access_count && arrays < SHARE_ARRAYS; i++) {
        if (!tells_more(space, member, i)) continue;
        if (!(coarsening = coarsening_begin(space, summary))) break;
        found = guess(space, member, coarsening, &summary->accesses[i]) &&
                (is_proved(space, member, coarsening) ||
                 (close_gaps(space, coarsening) && is_proved(space, member, coarsening)));
        arrays++;
    }
    quota_end(&quota);
    return found ? coarsening : NULL;
}
