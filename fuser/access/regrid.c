/* SPDX-License-Identifier: Apache-2.0
 * See regrid.h. */
#include "fuser/access/regrid.h"
#include "fuser/access/overlap.h"
#include "fuser/solver/quota.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 2,
    ITERATION = ACCESS_THREAD_DIMENSIONS,
    NUMBER = 4,
    MOST_BLOCKS_YZ = 65535,
    REGRID_OPERATIONS = 200000
};

/* { [bz, by, bx, tz, ty, tx, iteration] -> [the other axes' blocks, their threads, i] } */
static __isl_give isl_map *numbers(isl_ctx *ctx, const struct access_summary *summary, int axis)
{
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, ITERATION + 1, NUMBER + 1));
    int next = 0;
    for (int d = 0; d < ITERATION; d++)
        if (d % 3 != BLOCK - axis) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, next++);
    int64_t block = summary->block[axis], stride = block * summary->grid[axis];
    isl_constraint *sum = isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(map)));
    sum = isl_constraint_set_coefficient_si(sum, isl_dim_out, NUMBER, -1);
    sum = isl_constraint_set_coefficient_val(sum, isl_dim_in, BLOCK - axis, isl_val_int_from_si(ctx, block));
    sum = isl_constraint_set_coefficient_si(sum, isl_dim_in, ITERATION - 1 - axis, 1);
    sum = isl_constraint_set_coefficient_val(sum, isl_dim_in, ITERATION, isl_val_int_from_si(ctx, stride));
    return isl_map_add_constraint(map, sum);
}

/* Iterations that are begun, by number; NULL: not known exactly. */
static __isl_give isl_set *begun(const struct access_summary *summary, int axis, uint32_t header)
{
    isl_set *rounds = header < summary->round_count ? summary->rounds[header] : NULL;
    if (summary->refusal || !rounds) return NULL;
    return isl_set_apply(isl_set_reset_tuple_id(isl_set_copy(rounds)),
                         numbers(isl_set_get_ctx(rounds), summary, axis));
}

static bool greatest(__isl_take isl_set *set, int coordinate, int64_t *most)
{
    isl_val *value = isl_set_dim_max_val(set, coordinate);
    bool is_known = value && isl_val_is_int(value);
    if (is_known) *most = isl_val_get_num_si(value);
    isl_val_free(value);
    return is_known;
}

static bool is_of_threads(const struct access_summary *summary)
{
    return !summary->refusal && !summary->no_member && !summary->whole_block && !summary->has_local &&
           !summary->has_atomic && summary->has_loop && summary->rounds;
}

/* Of one loop: iterations that a thread begins, at most, and the greatest number; -1: none is begun. */
static bool find_greatest(const struct access_summary *summary, int axis, uint32_t header, int64_t *iteration,
                          int64_t *number)
{
    isl_set *set = begun(summary, axis, header);
    isl_bool is_empty = set ? isl_set_is_empty(set) : isl_bool_error;
    *iteration = *number = -1;
    bool found =
        is_empty == isl_bool_true || (is_empty == isl_bool_false &&
                                      greatest(isl_set_copy(summary->rounds[header]), ITERATION, iteration) &&
                                      greatest(isl_set_copy(set), NUMBER, number) && *number >= 0);
    isl_set_free(set);
    return found;
}

/* So many blocks begin each iteration in a thread of its own; the last iteration's number. */
static bool find_extent(const struct access_summary *recorded, const struct grid_stride *loops,
                        uint32_t *blocks, bool *has_several, int64_t *last)
{
    int64_t block = recorded->block[loops->axis], most = -1;
    for (uint32_t l = 0; l < loops->count; l++) {
        int64_t iteration, number;
        if (!find_greatest(recorded, loops->axis, loops->headers[l], &iteration, &number)) return false;
        if (number > most) most = number;
        *has_several |= iteration > 0;
    }
    int64_t count = most / block + 1;
    *blocks = (uint32_t)count;
    *last = most;
    return most >= 0 && most < INT32_MAX && count * block <= INT32_MAX - GRID_STRIDE_MOST_FIRST &&
           recorded->grid[loops->axis] * block <= INT32_MAX - GRID_STRIDE_MOST_FIRST;
}

/* Rule 1, of the function with its loops. */
static bool begins_the_same(const struct access_summary *recorded, const struct access_summary *other,
                            int axis, uint32_t header)
{
    int64_t iteration, number;
    isl_set *a = begun(recorded, axis, header), *b = begun(other, axis, header);
    bool is_same = a && b && find_greatest(other, axis, header, &iteration, &number) && iteration <= 0 &&
                   isl_set_is_equal(a, b) == isl_bool_true;
    isl_set_free(a);
    isl_set_free(b);
    return is_same;
}

static bool all_begin_the_same(isl_ctx *ctx, const struct grid_stride *loops,
                               const struct access_summary *recorded, const struct access_summary *other)
{
    bool is_same = other;
    struct quota quota = quota_begin(ctx, REGRID_OPERATIONS);
    for (uint32_t l = 0; is_same && l < loops->count; l++)
        is_same = begins_the_same(recorded, other, loops->axis, loops->headers[l]);
    quota_end(&quota);
    return is_same;
}

/* Along one axis; *other is the launch before and after. */
static bool change(isl_ctx *ctx, const struct grid_stride *loops, struct launch_input *other,
                   struct access_summary **recorded, struct access_summary **larger, int64_t *last)
{
    *recorded = access_analyse(ctx, other);
    if (!*recorded || !is_of_threads(*recorded)) return false;
    struct quota quota = quota_begin(ctx, REGRID_OPERATIONS);
    bool is_known = find_extent(*recorded, loops, &other->grid[loops->axis], &other->is_regridded, last);
    quota_end(&quota);
    if (is_known) *larger = access_analyse(ctx, other);
    if (!is_known || !all_begin_the_same(ctx, loops, *recorded, *larger)) return false;
    other->function = loops->once;
    return true;
}

/* Rule 2 of a loop that was unrolled, the launch's only one; last: the last iteration's number. */
static bool rolled_holds(const struct grid_strides *strides, const struct launch_input *input, int64_t last,
                         struct regrid_seen *seen)
{
    int axis = strides->of[0].axis;
    struct reroll_launch launch = {.parameters = input->arguments, .parameter_bytes = input->arguments_size};
    if (strides->count != 1) return false;
    memcpy(launch.grid, input->grid, sizeof launch.grid);
    memcpy(launch.block, input->block, sizeof launch.block);
    launch.greatest = last + GRID_STRIDE_MOST_FIRST + (int64_t)input->grid[axis] * input->block[axis];
    seen->is_used = calloc(input->arguments_size + 1, 1);
    return seen->is_used && launch.greatest <= INT32_MAX &&
           reroll_holds(strides->rolled, &launch, seen->is_used);
}

bool regrid_input(isl_ctx *ctx, const struct grid_strides *strides, const struct launch_input *input,
                  struct launch_input *other, struct regrid_seen *seen)
{
    bool is_done = true;
    int64_t last = 0;
    *other = *input;
    *seen = (struct regrid_seen){.arguments_size = input->arguments_size};
    if (strides->rolled) other->function = strides->rolled->function;
    for (uint32_t s = 0; is_done && s < strides->count; s++)
        is_done =
            change(ctx, &strides->of[s], other, &seen->summaries[2 * s], &seen->summaries[2 * s + 1], &last);
    if (is_done && strides->rolled) is_done = rolled_holds(strides, input, last, seen);
    return is_done && other->grid[1] <= MOST_BLOCKS_YZ && other->grid[2] <= MOST_BLOCKS_YZ;
}

void regrid_close(struct regrid_seen *seen)
{
    for (uint32_t s = 0; s < 2 * GRID_STRIDE_AXES; s++) access_summary_free(seen->summaries[s]);
    free(seen->is_used);
}

bool regrid_guard(const struct regrid_seen *seen, struct access_summary *other)
{
    bool is = true;
    for (uint32_t i = 0; is && seen->is_used && i < seen->arguments_size; i++)
        if (seen->is_used[i]) is = access_summary_add_word(other, (struct access_words){i, 1});
    for (uint32_t s = 0; is && s < 2 * GRID_STRIDE_AXES; s++)
        if (seen->summaries[s]) is = access_summary_rest_on(other, seen->summaries[s]);
    return is;
}

static bool is_apart(struct memo *memo, struct touches *touches, uint32_t a, uint32_t b)
{
    const struct bound_launch *launch = touches->launch;
    const struct access *first = &launch->summary->accesses[a], *second = &launch->summary->accesses[b];
    if (!overlap_may_conflict(launch, first, launch, second)) return true;
    if (launch->bindings[first->base].array != launch->bindings[second->base].array) return false;
    enum overlap overlap =
        overlap_test(memo, touches_get(memo, touches, a), touches_get(memo, touches, b), OVERLAP_SAME);
    bool was_staged = first->was_staged || second->was_staged; /* by another thread, and earlier */
    return overlap == OVERLAP_NONE || (overlap == OVERLAP_SAME && !was_staged);
}

bool regrid_is_apart(struct memo *memo, const struct bound_launch *launch)
{
    struct touches touches;
    bool is = touches_open(&touches, launch);
    struct quota quota = quota_begin(memo->ctx, REGRID_OPERATIONS);
    for (uint32_t a = 0; a < launch->summary->access_count; a++)
        for (uint32_t b = a; is && b < launch->summary->access_count; b++)
            is = is_apart(memo, &touches, a, b);
    quota_end(&quota);
    touches_close(&touches);
    return is;
}

bool regrid_may_be_apart(isl_ctx *ctx, const struct access_summary *summary)
{
    struct array_binding *bindings = calloc(summary->base_count + 1, sizeof *bindings);
    struct bound_launch launch = {summary, bindings};
    struct memo memo = memo_open(ctx);
    for (uint32_t b = 0; bindings && b < summary->base_count; b++)
        bindings[b] =
            (struct array_binding){.array = b, .size = INT64_MAX, .is_plain = true, .is_private = true};
    bool may_be = bindings && regrid_is_apart(&memo, &launch);
    memo_close(&memo);
    free(bindings);
    return may_be;
}
