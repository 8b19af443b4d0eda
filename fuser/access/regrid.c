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
#include <string.h>

enum { BLOCK_X = 2, ITERATION = ACCESS_THREAD_DIMENSIONS, REGRID_OPERATIONS = 200000 };

/* { [bz, by, bx, tz, ty, tx, iteration] -> [bz, by, tz, ty, i] } */
static __isl_give isl_map *numbers(isl_ctx *ctx, const struct access_summary *summary)
{
    static const unsigned kept[] = {0, 1, 3, 4};
    enum { KEPT = 4 };
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, ITERATION + 1, KEPT + 1));
    for (unsigned d = 0; d < KEPT; d++)
        map = isl_map_equate(map, isl_dim_in, (int)kept[d], isl_dim_out, (int)d);
    int64_t block = summary->block[0], stride = block * summary->grid[0];
    isl_constraint *sum = isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(map)));
    sum = isl_constraint_set_coefficient_si(sum, isl_dim_out, KEPT, -1);
    sum = isl_constraint_set_coefficient_val(sum, isl_dim_in, BLOCK_X, isl_val_int_from_si(ctx, block));
    sum = isl_constraint_set_coefficient_si(sum, isl_dim_in, ITERATION - 1, 1);
    sum = isl_constraint_set_coefficient_val(sum, isl_dim_in, ITERATION, isl_val_int_from_si(ctx, stride));
    return isl_map_add_constraint(map, sum);
}

/* Iterations that are begun, by number; NULL: not known exactly. */
static __isl_give isl_set *begun(const struct access_summary *summary, uint32_t header)
{
    isl_set *rounds = header < summary->round_count ? summary->rounds[header] : NULL;
    if (summary->refusal || !rounds) return NULL;
    return isl_set_apply(isl_set_reset_tuple_id(isl_set_copy(rounds)),
                         numbers(isl_set_get_ctx(rounds), summary));
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

/* Threads begin the loop several times; blocks of another grid that begin it once each. */
static bool find_extent(const struct access_summary *recorded, uint32_t header, uint32_t *blocks)
{
    int64_t iterations, number;
    isl_set *set = begun(recorded, header);
    bool found = set && greatest(isl_set_copy(recorded->rounds[header]), ITERATION, &iterations) &&
                 greatest(isl_set_copy(set), 4, &number) && iterations > 0;
    isl_set_free(set);
    if (!found) return false;
    int64_t count = number / recorded->block[0] + 1;
    *blocks = (uint32_t)count;
    return number >= 0 && count * recorded->block[0] <= INT32_MAX &&
           (int64_t)recorded->grid[0] * recorded->block[0] <= INT32_MAX;
}

/* Rule 1, with a loop as before. */
static bool begins_the_same(isl_ctx *ctx, const struct launch_input *other, uint32_t header,
                            const struct access_summary *recorded)
{
    struct access_summary *summary = access_analyse(ctx, other);
    int64_t iterations;
    isl_set *a = begun(recorded, header), *b = summary ? begun(summary, header) : NULL;
    bool is_same = a && b && greatest(isl_set_copy(summary->rounds[header]), ITERATION, &iterations) &&
                   iterations == 0 && isl_set_is_equal(a, b) == isl_bool_true;
    isl_set_free(a);
    isl_set_free(b);
    access_summary_free(summary);
    return is_same;
}

bool regrid_input(struct arena *arena, isl_ctx *ctx, const struct launch_input *input,
                  struct launch_input *other, struct access_summary **recorded)
{
    struct grid_stride loop;
    *recorded = NULL;
    if (!grid_stride_find(arena, input->function, input->grid, input->block, &loop)) return false;
    *recorded = access_analyse(ctx, input);
    if (!*recorded || !is_of_threads(*recorded)) return false;
    *other = *input;
    struct quota quota = quota_begin(ctx, REGRID_OPERATIONS);
    bool is_known = find_extent(*recorded, loop.header, &other->grid[0]);
    quota_end(&quota);
    if (!is_known || !begins_the_same(ctx, other, loop.header, *recorded)) return false;
    other->function = loop.once;
    other->is_regridded = true;
    return true;
}

static bool has_words(const struct access_words *words, uint32_t count, const struct access_words *word)
{
    uint32_t from = word->offset, to = word->offset + word->size;
    for (uint32_t i = 0; i < count && from < to; i++)
        if (words[i].offset <= from && from < words[i].offset + words[i].size)
            from = words[i].offset + words[i].size;
    return from >= to;
}

static bool has_contents(const struct access_summary *summary, const struct access_contents *contents)
{
    for (uint32_t i = 0; i < summary->content_count; i++) {
        const struct access_contents *own = &summary->contents[i];
        if (!strcmp(own->variable, contents->variable) && has_words(&own->words, 1, &contents->words))
            return true;
    }
    return false;
}

bool regrid_is_guarded(const struct access_summary *recorded, const struct access_summary *other)
{
    for (uint32_t i = 0; i < recorded->word_count; i++)
        if (!has_words(other->words, other->word_count, &recorded->words[i])) return false;
    for (uint32_t i = 0; i < recorded->content_count; i++)
        if (!has_contents(other, &recorded->contents[i])) return false;
    return true;
}

static bool is_apart(struct memo *memo, struct touches *touches, uint32_t a, uint32_t b)
{
    const struct bound_launch *launch = touches->launch;
    const struct access *first = &launch->summary->accesses[a], *second = &launch->summary->accesses[b];
    if (!overlap_may_conflict(launch, first, launch, second)) return true;
    if (launch->bindings[first->base].array != launch->bindings[second->base].array) return false;
    enum overlap overlap =
        overlap_test(memo, touches_get(memo, touches, a), touches_get(memo, touches, b), OVERLAP_SAME);
    return overlap == OVERLAP_NONE || overlap == OVERLAP_SAME;
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
