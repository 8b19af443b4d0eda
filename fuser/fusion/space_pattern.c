/* SPDX-License-Identifier: Apache-2.0
 * See space_pattern.h. */
#include "fuser/fusion/space_pattern.h"
#include "fuser/fusion/coarsening.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATTERN_OPERATIONS =
        20000 /* of isl: those that were read took a hundredth of it; some take seconds, and are not read */
};

/* A block of the member is the block of the same number, and its threads are those of the same linear number.
 */
static bool keeps_blocks(const struct space *space, uint32_t member)
{
    const struct access_summary *summary = space->members[member].summary;
    enum remap_kind kind = space->remaps[member].kind;
    return kind == REMAP_SAME ||
           (kind == REMAP_LINEAR && remap_keeps_blocks(summary, space->grid, space->block)) ||
           (kind == REMAP_GLOBAL && !memcmp(summary->block, space->block, sizeof space->block));
}

/* { F[bz, by, bx, tz, ty, tx, counters] -> [byte] }, from { L[..] -> [byte] }. The passes of a coarsened
 * member are counted, too, first. */
static __isl_give isl_map *seen_from_space(const struct space *space, uint32_t member,
                                           __isl_take isl_map *bytes)
{
    isl_size dimensions = isl_map_dim(bytes, isl_dim_in);
    if (dimensions < ACCESS_THREAD_DIMENSIONS) return isl_map_free(bytes); /* isl gave up */
    unsigned counters = (unsigned)dimensions - ACCESS_THREAD_DIMENSIONS;
    bool is_coarsened = space->remaps[member].kind == REMAP_COARSENED;
    isl_map *remap = is_coarsened ? coarsening_passes(space, member, space->remaps[member].coarsening)
                                  : isl_map_copy(space->maps[member]);
    remap = isl_map_add_dims(remap, isl_dim_in, counters);
    remap = isl_map_add_dims(remap, isl_dim_out, counters);
    for (unsigned c = 0; c < counters; c++)
        remap = isl_map_equate(remap, isl_dim_in, (int)(ACCESS_THREAD_DIMENSIONS + is_coarsened + c),
                               isl_dim_out, (int)(ACCESS_THREAD_DIMENSIONS + c));
    remap = isl_map_reset_tuple_id(isl_map_reset_tuple_id(remap, isl_dim_in), isl_dim_out);
    return isl_map_coalesce(isl_map_apply_range(remap, bytes));
}

/* --- what was read before: a pattern is kept with its pieces behind it, and their conditions behind these --- */

struct kept_pattern {
    enum { KEPT_PATTERN, KEPT_NONE, KEPT_GIVEN_UP } state; /* NONE: it is no such function */
    struct pattern pattern;
};

static size_t conditions_size(const struct pattern_piece *piece)
{
    return piece->condition_count * sizeof *piece->conditions;
}

static void keep(struct memo *memo, const struct memo_question *question, struct arena *arena,
                 const struct kept_pattern *kept)
{
    const struct pattern *pattern = &kept->pattern;
    uint32_t count = kept->state == KEPT_PATTERN ? pattern->piece_count : 0;
    size_t size = sizeof *kept + count * sizeof *pattern->pieces;
    for (uint32_t p = 0; p < count; p++) size += conditions_size(&pattern->pieces[p]);
    unsigned char *bytes = arena_alloc(arena, size), *next = bytes + sizeof *kept;
    if (!bytes) return;
    memcpy(bytes, kept, sizeof *kept);
    memcpy(next, pattern->pieces, count * sizeof *pattern->pieces);
    next += count * sizeof *pattern->pieces;
    for (uint32_t p = 0; p < count; p++) {
        memcpy(next, pattern->pieces[p].conditions, conditions_size(&pattern->pieces[p]));
        next += conditions_size(&pattern->pieces[p]);
    }
    memo_keep_bytes(memo, question, bytes, size);
}

/* False: memory is out. Conditions stay in the memo, pieces may be changed (pattern_set_step). */
static bool recall(const struct kept_pattern *kept, struct arena *arena, struct pattern *pattern)
{
    *pattern = kept->pattern;
    const struct pattern_piece *pieces = (const struct pattern_piece *)(kept + 1);
    struct pattern_condition *conditions = (struct pattern_condition *)(pieces + pattern->piece_count);
    pattern->pieces = arena_alloc(arena, pattern->piece_count * sizeof *pieces + 1);
    if (!pattern->pieces) return false;
    memcpy(pattern->pieces, pieces, pattern->piece_count * sizeof *pieces);
    for (uint32_t p = 0; p < pattern->piece_count; p++) {
        pattern->pieces[p].conditions = conditions;
        conditions += pieces[p].condition_count;
    }
    return true;
}

/* What isl prints of it: relations that were made in other ways are often equal, but not as isl holds them. It counts for nobody. */
static bool name_of(struct memo *memo, __isl_keep isl_map *bytes, struct hash128 *name)
{
    struct quota quota = quota_begin(memo->ctx, 0);
    char *text = isl_map_to_str(bytes);
    quota_end(&quota);
    if (text) *name = hash_bytes(text, strlen(text));
    free(text);
    return text;
}

static bool open_once(struct pattern *pattern, struct arena *arena, struct memo *memo,
                      __isl_keep isl_map *bytes, const struct pattern_shape *shape)
{
    struct hash128 name;
    struct quota quota;
    if (!name_of(memo, bytes, &name) || !quota_ask(&quota, memo->ctx)) return false;
    const struct memo_question question = {.kind = MEMO_PATTERN,
                                           .words = {name.low, name.high, shape->grid[0], shape->grid[1],
                                                     shape->grid[2], shape->block[0], shape->block[1],
                                                     shape->block[2]}};
    const struct kept_pattern *known = memo_bytes(memo, &question);
    struct kept_pattern read;
    bool is_open;
    if (known) {
        is_open = known->state == KEPT_PATTERN && recall(known, arena, pattern);
    } else {
        struct quota own = quota_begin(memo->ctx, PATTERN_OPERATIONS);
        is_open = pattern_open(pattern, arena, bytes, shape);
        memset(&read, 0, sizeof read);
        read.state = is_open ? KEPT_PATTERN : quota_is_used_up(memo->ctx) ? KEPT_GIVEN_UP : KEPT_NONE;
        read.pattern = *pattern;
        quota_end(&own);
        keep(memo, &question, arena, &read);
        known = &read;
    }
    quota_answer(&quota, known->state != KEPT_GIVEN_UP);
    return is_open;
}

bool space_pattern_open(struct pattern *pattern, struct arena *arena, const struct space *space,
                        const struct placed_access *placed)
{
    const struct bound_launch *launch = &space->members[placed->member];
    struct pattern_shape shape;
    isl_map *bytes = isl_map_copy(placed->access->relation);
    memcpy(shape.grid, space->grid, sizeof shape.grid);
    memcpy(shape.block, space->block, sizeof shape.block);
    if (!bytes) return false;
    bytes = isl_map_reset_tuple_id(bytes, isl_dim_in);
    if (keeps_blocks(space, placed->member))
        memcpy(shape.block, launch->summary->block, sizeof shape.block);
    else
        bytes = seen_from_space(space, placed->member, bytes);
    bytes = overlap_moved(bytes, launch->bindings[placed->access->base].offset);
    bool is_known = bytes && open_once(pattern, arena, space->memo, bytes, &shape);
    isl_map_free(bytes);
    return is_known;
}
