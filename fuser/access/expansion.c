/* SPDX-License-Identifier: Apache-2.0
 * Finds the iterations of a launch's loops and what each of them touches: see expansion.h. */
#include "fuser/access/expansion.h"
#include "fuser/kernel/ssa.h"
#include "fuser/solver/quota.h"

#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>

enum { ITERATION = ACCESS_THREAD_DIMENSIONS, UNWIND_OPERATIONS = 500000 };

const struct expansion_loop *expansion_loop_at(const struct expansion *expansion, uint32_t header)
{
    for (uint32_t l = 0; l < expansion->loop_count; l++)
        if (expansion->loops[l].header == header) return &expansion->loops[l];
    return NULL;
}

const struct expansion_loop *expansion_loop_left_at(const struct expansion *expansion, uint32_t latch)
{
    for (uint32_t l = 0; l < expansion->loop_count; l++)
        if (expansion->loops[l].latch == latch) return &expansion->loops[l];
    return NULL;
}

bool expansion_is_passed(const struct expansion *expansion, const struct expansion_loop *loop)
{
    return loop->first + loop->iterations < expansion->iterations;
}

/* --- how often a loop iterates
 * ------------------------------------------------------------------------------ */

static uint32_t first_of(const struct expanding *expanding, uint32_t block)
{
    return expanding->cfg->blocks[block].first;
}

/* The instances of an access that every iteration makes, exactly known, or NULL. */
static __isl_give isl_set *iterations_of(const struct expanding *expanding, int32_t number,
                                         const struct expansion_loop *loop)
{
    const struct access_summary *summary = expanding->summary;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        uint32_t block = expanding->cfg->block_of[access->instruction];
        if (!access->relation || !access->domain_is_exact || expanding->forest->loop_of[block] != number ||
            summary->function->instructions[access->instruction].guard >= 0)
            continue;
        if (dominators_dominates(expanding->forest->dominators, block, loop->latch))
            return isl_set_reset_tuple_id(isl_map_domain(isl_map_copy(access->relation)));
    }
    return NULL;
}

/* Each thread that is in the set is in it with the iterations 0 .. count - 1. */
static bool are_iterations(__isl_keep isl_set *set, uint32_t count)
{
    isl_set *all =
        isl_set_add_dims(isl_set_project_out(isl_set_copy(set), isl_dim_set, ITERATION, 1), isl_dim_set, 1);
    all = isl_set_lower_bound_si(all, isl_dim_set, ITERATION, 0);
    all = isl_set_upper_bound_si(all, isl_dim_set, ITERATION, (int)count - 1);
    isl_bool equal = isl_set_is_equal(set, all);
    isl_set_free(all);
    return equal == isl_bool_true;
}

static bool count_iterations(struct expanding *expanding, int32_t number, struct expansion_loop *loop)
{
    isl_set *set = iterations_of(expanding, number, loop);
    bool is_known = false;
    if (set && isl_set_is_empty(set) == isl_bool_true) {
        is_known = true;
    } else if (set) {
        isl_val *last = isl_set_dim_max_val(isl_set_copy(set), ITERATION);
        if (last && isl_val_is_int(last) && isl_val_cmp_si(last, EXPANSION_MOST_ITERATIONS) < 0) {
            loop->iterations = (uint32_t)isl_val_get_num_si(last) + 1;
            is_known = are_iterations(set, loop->iterations);
        }
        isl_val_free(last);
    }
    isl_set_free(set);
    return is_known ||
           expansion_refuse(expanding, first_of(expanding, loop->header),
                            "how often the loop goes round is not known, or not equal for all threads");
}

static bool is_idle(const struct expanding *expanding, uint32_t block)
{
    return expanding->summary->is_idle && expanding->summary->is_idle[block];
}

/* The outermost loops, in reverse postorder. */
static bool find_loops(struct expanding *expanding, struct expansion *expansion)
{
    const struct loop_forest *forest = expanding->forest;
    expansion->loops = arena_calloc(expanding->arena, forest->loop_count + 1, sizeof *expansion->loops);
    if (!expansion->loops) return expansion_refuse(expanding, 0, "memory is out");
    for (int32_t number = 0; number < (int32_t)forest->loop_count; number++) {
        struct expansion_loop *loop = &expansion->loops[expansion->loop_count];
        *loop =
            (struct expansion_loop){.header = forest->loops[number].header, .first = expansion->iterations};
        if (forest->loops[number].parent != LOOPS_NONE || is_idle(expanding, loop->header)) continue;
        loop->latch = loops_latch(forest, number);
        if (loop->latch == UINT32_MAX || loop->header == 0)
            return expansion_refuse(expanding, first_of(expanding, loop->header),
                                    "the loop is not left at its end only");
        if (!count_iterations(expanding, number, loop)) return false;
        expansion->iterations += loop->iterations;
        expansion->loop_count += loop->iterations > 0;
        if (expansion->iterations > EXPANSION_MOST_ITERATIONS)
            return expansion_refuse(expanding, first_of(expanding, loop->header), "it goes round too often");
    }
    return expansion->loop_count || expansion_refuse(expanding, 0, "no thread enters its loop");
}

static bool find_steps(struct expanding *expanding, struct expansion *expansion)
{
    const struct loop_forest *forest = expanding->forest;
    for (uint32_t l = 0; l < expansion->loop_count; l++) {
        struct expansion_loop *loop = &expansion->loops[l];
        if (!expansion_find_steps(expanding, forest->loop_of[loop->header],
                                  expansion_is_passed(expansion, loop), loop))
            return false;
    }
    return true;
}

/* --- what an iteration touches
 * -------------------------------------------------------------------------------------- */

/* The loop that the access is in, or NULL. */
static const struct expansion_loop *loop_around(const struct expanding *expanding,
                                                const struct expansion *expansion, uint32_t instruction)
{
    const struct loop_forest *forest = expanding->forest;
    int32_t inner = forest->loop_of[expanding->cfg->block_of[instruction]];
    for (uint32_t l = 0; inner != LOOPS_NONE && l < expansion->loop_count; l++)
        if (loops_contains(forest, forest->loop_of[expansion->loops[l].header], inner))
            return &expansion->loops[l];
    return NULL;
}

/* { thread, iteration, inner iterations -> thread and iteration, inner iterations }, of one loop. */
static __isl_give isl_map *iterations_of_loop(isl_ctx *ctx, const struct expansion_loop *loop, unsigned inner)
{
    isl_space *space = isl_space_alloc(ctx, 0, ITERATION + 1 + inner, ITERATION + inner);
    isl_map *map = isl_map_universe(space);
    for (unsigned d = 1; d < ITERATION; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    for (unsigned d = 0; d < inner; d++)
        map = isl_map_equate(map, isl_dim_in, ITERATION + 1 + d, isl_dim_out, ITERATION + d);
    isl_constraint *number =
        isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(map)));
    number = isl_constraint_set_coefficient_si(number, isl_dim_in, ITERATION, 1);
    number = isl_constraint_set_coefficient_si(number, isl_dim_out, 0, -1);
    map = isl_map_add_constraint(map, isl_constraint_set_constant_si(number, (int)loop->first));
    map = isl_map_lower_bound_si(map, isl_dim_in, ITERATION, 0);
    return isl_map_upper_bound_si(map, isl_dim_in, ITERATION, (int)loop->iterations - 1);
}

/* { thread -> thread and iteration }, any iteration. */
static __isl_give isl_map *all_iterations(isl_ctx *ctx, uint32_t count)
{
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, ITERATION, ITERATION));
    for (unsigned d = 1; d < ITERATION; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    map = isl_map_lower_bound_si(map, isl_dim_out, 0, 0);
    return isl_map_upper_bound_si(map, isl_dim_out, 0, (int)count - 1);
}

static bool expand_access(struct expanding *expanding, const struct expansion *expansion,
                          struct access *access)
{
    const struct expansion_loop *loop = loop_around(expanding, expansion, access->instruction);
    isl_size count = access->relation ? isl_map_dim(access->relation, isl_dim_in) : 0;
    if (access->kind == ACCESS_ATOMIC)
        return expansion_refuse(expanding, access->instruction, "an atomic in a member with a loop");
    if (!loop && access->kind == ACCESS_WRITE &&
        !is_idle(expanding, expanding->cfg->block_of[access->instruction]))
        return expansion_refuse(expanding, access->instruction, "a store outside of the loop");
    access->is_once = loop ? count == ITERATION + 1 : access->is_once;
    access->domain_is_exact = access->domain_is_exact && loop;
    access->most_instances = access->is_once;
    if (!access->relation) return true;
    if (count < ITERATION + (loop != NULL))
        return expansion_refuse(expanding, access->instruction, "an address that is not known");
    isl_ctx *ctx = isl_map_get_ctx(access->relation);
    isl_map *iterations;
    if (loop)
        iterations = iterations_of_loop(ctx, loop, (unsigned)count - ITERATION - 1);
    else
        iterations = isl_map_add_dims(all_iterations(ctx, expansion->iterations), isl_dim_in,
                                      (unsigned)count - ITERATION);
    isl_map *bytes = isl_map_reset_tuple_id(isl_map_copy(access->relation), isl_dim_in);
    bytes = isl_map_coalesce(isl_map_apply_domain(bytes, iterations));
    access->relation = isl_map_set_tuple_name(bytes, isl_dim_in, "L");
    return access->relation || expansion_refuse(expanding, access->instruction, "isl gave up");
}

/* Threads of the expanded launch that may store. */
static __isl_give isl_set *storing(const struct access_summary *summary, __isl_take isl_set *none)
{
    for (uint32_t i = 0; i < summary->access_count; i++) {
        if (summary->accesses[i].kind == ACCESS_READ) continue;
        isl_map *bytes = access_thread_relation(&summary->accesses[i]);
        none = isl_set_union(none, bytes ? isl_map_domain(bytes) : isl_set_copy(summary->threads));
    }
    return isl_set_coalesce(none);
}

static bool expand_summary(struct expanding *expanding, struct expansion *expansion)
{
    const struct access_summary *whole = expanding->summary;
    struct access_summary *summary = &expansion->summary;
    uint32_t count = whole->access_count;
    *summary = *whole;
    summary->expansion = NULL;
    summary->ways = NULL;
    summary->threads = summary->effective = NULL;
    summary->grid[2] = expansion->iterations;
    summary->access_count = 0;
    summary->accesses = arena_calloc(expanding->arena, count + 1, sizeof *summary->accesses);
    if (!summary->accesses) return expansion_refuse(expanding, 0, "memory is out");
    for (uint32_t i = 0; i < count; i++) {
        struct access *access = &summary->accesses[i];
        *access = whole->accesses[i];
        if (!expand_access(expanding, expansion, access)) return false;
        summary->access_count++;
    }
    isl_ctx *ctx = isl_set_get_ctx(whole->threads);
    isl_set *threads = isl_set_reset_tuple_id(isl_set_copy(whole->threads));
    threads = isl_set_apply(threads, all_iterations(ctx, expansion->iterations));
    summary->threads = isl_set_set_tuple_name(threads, "L");
    summary->effective = storing(summary, isl_set_empty(isl_set_get_space(summary->threads)));
    return (summary->threads && summary->effective) || expansion_refuse(expanding, 0, "isl gave up");
}

/* --- the whole
 * ------------------------------------------------------------------------------------------------ */

static bool build(struct expanding *expanding, struct expansion *expansion)
{
    const struct access_summary *summary = expanding->summary;
    const char *reason = NULL;
    if ((uint64_t)summary->grid[2] * summary->block[2] != 1)
        return expansion_refuse(expanding, 0, "its launch has threads along z, and its threads loops");
    if (summary->has_local || summary->whole_block || summary->has_atomic)
        return expansion_refuse(expanding, 0,
                                "it has memory of its threads or blocks, or atomics, and a loop");
    struct ptx_cfg *cfg = ptx_cfg_build(expanding->arena, summary->function, &reason);
    struct dominators *dominators = cfg ? dominators_build(expanding->arena, cfg) : NULL;
    expanding->cfg = expansion->cfg = cfg;
    expanding->forest = dominators ? loops_build(expanding->arena, dominators, &reason) : NULL;
    expanding->ssa = expanding->forest ? ssa_build(expanding->arena, dominators) : NULL;
    if (!expanding->ssa) return expansion_refuse(expanding, 0, reason ? reason : "memory is out");
    if (!find_loops(expanding, expansion)) return false;
    const char *why = liveness_compute(&expanding->liveness, expanding->arena, expanding->ssa);
    if (why) return expansion_refuse(expanding, 0, why);
    return find_steps(expanding, expansion) && expand_summary(expanding, expansion);
}

const struct expansion *expansion_of(const struct access_summary *summary)
{
    if (!summary->has_loop || !summary->expansion) return NULL;
    if (*summary->expansion) return *summary->expansion;
    struct expansion *expansion = arena_calloc(summary->arena, 1, sizeof *expansion);
    if (!expansion) return NULL;
    struct expanding expanding = {.arena = summary->arena, .summary = summary};
    struct quota quota = quota_begin(isl_set_get_ctx(summary->threads), UNWIND_OPERATIONS);
    if (!build(&expanding, expansion)) expansion->refusal = expanding.why;
    quota_end(&quota);
    *summary->expansion = expansion;
    return expansion;
}
