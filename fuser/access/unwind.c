/* SPDX-License-Identifier: Apache-2.0
 * Finds the turns of a launch's loops and what each of them touches: see unwind.h. */
#include "fuser/access/unwind.h"
#include "fuser/kernel/ssa.h"
#include "fuser/solver/quota.h"

#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>

enum { ITERATION = ACCESS_THREAD_DIMENSIONS, UNWIND_OPERATIONS = 500000 };

const struct unwind_loop *unwind_loop_at(const struct unwound *unwound, uint32_t header)
{
    for (uint32_t l = 0; l < unwound->loop_count; l++)
        if (unwound->loops[l].header == header) return &unwound->loops[l];
    return NULL;
}

const struct unwind_loop *unwind_loop_left_at(const struct unwound *unwound, uint32_t latch)
{
    for (uint32_t l = 0; l < unwound->loop_count; l++)
        if (unwound->loops[l].latch == latch) return &unwound->loops[l];
    return NULL;
}

bool unwind_is_passed(const struct unwound *unwound, const struct unwind_loop *loop)
{
    return loop->first + loop->turns < unwound->turns;
}

/* --- how often a loop goes round
 * ------------------------------------------------------------------------------ */

static uint32_t first_of(const struct unwinding *unwinding, uint32_t block)
{
    return unwinding->cfg->blocks[block].first;
}

/* The instances of an access that every iteration makes, exactly known, or NULL. */
static __isl_give isl_set *iterations_of(const struct unwinding *unwinding, int32_t number,
                                         const struct unwind_loop *loop)
{
    const struct access_summary *summary = unwinding->summary;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        uint32_t block = unwinding->cfg->block_of[access->instruction];
        if (!access->relation || !access->domain_is_exact || unwinding->forest->loop_of[block] != number ||
            summary->function->instructions[access->instruction].guard >= 0)
            continue;
        if (dominators_dominates(unwinding->forest->dominators, block, loop->latch))
            return isl_set_reset_tuple_id(isl_map_domain(isl_map_copy(access->relation)));
    }
    return NULL;
}

/* Each thread that is in the set is in it with the iterations 0 .. turns - 1. */
static bool are_iterations(__isl_keep isl_set *set, uint32_t turns)
{
    isl_set *all =
        isl_set_add_dims(isl_set_project_out(isl_set_copy(set), isl_dim_set, ITERATION, 1), isl_dim_set, 1);
    all = isl_set_lower_bound_si(all, isl_dim_set, ITERATION, 0);
    all = isl_set_upper_bound_si(all, isl_dim_set, ITERATION, (int)turns - 1);
    isl_bool equal = isl_set_is_equal(set, all);
    isl_set_free(all);
    return equal == isl_bool_true;
}

static bool count_turns(struct unwinding *unwinding, int32_t number, struct unwind_loop *loop)
{
    isl_set *set = iterations_of(unwinding, number, loop);
    bool is_known = false;
    if (set && isl_set_is_empty(set) == isl_bool_true) {
        is_known = true;
    } else if (set) {
        isl_val *last = isl_set_dim_max_val(isl_set_copy(set), ITERATION);
        if (last && isl_val_is_int(last) && isl_val_cmp_si(last, UNWIND_MOST_TURNS) < 0) {
            loop->turns = (uint32_t)isl_val_get_num_si(last) + 1;
            is_known = are_iterations(set, loop->turns);
        }
        isl_val_free(last);
    }
    isl_set_free(set);
    return is_known ||
           unwind_refuse(unwinding, first_of(unwinding, loop->header),
                         "how often the loop goes round is not known, or not equal for all threads");
}

static bool is_idle(const struct unwinding *unwinding, uint32_t block)
{
    return unwinding->summary->is_idle && unwinding->summary->is_idle[block];
}

/* The outermost loops, in reverse postorder. */
static bool find_loops(struct unwinding *unwinding, struct unwound *unwound)
{
    const struct loop_forest *forest = unwinding->forest;
    unwound->loops = arena_calloc(unwinding->arena, forest->loop_count + 1, sizeof *unwound->loops);
    if (!unwound->loops) return unwind_refuse(unwinding, 0, "memory is out");
    for (int32_t number = 0; number < (int32_t)forest->loop_count; number++) {
        struct unwind_loop *loop = &unwound->loops[unwound->loop_count];
        *loop = (struct unwind_loop){.header = forest->loops[number].header, .first = unwound->turns};
        if (forest->loops[number].parent != LOOPS_NONE || is_idle(unwinding, loop->header)) continue;
        loop->latch = loops_latch(forest, number);
        if (loop->latch == UINT32_MAX || loop->header == 0)
            return unwind_refuse(unwinding, first_of(unwinding, loop->header),
                                 "the loop is not left at its end only");
        if (!count_turns(unwinding, number, loop)) return false;
        unwound->turns += loop->turns;
        unwound->loop_count += loop->turns > 0;
        if (unwound->turns > UNWIND_MOST_TURNS)
            return unwind_refuse(unwinding, first_of(unwinding, loop->header), "it goes round too often");
    }
    return unwound->loop_count || unwind_refuse(unwinding, 0, "no thread enters its loop");
}

static bool find_steps(struct unwinding *unwinding, struct unwound *unwound)
{
    const struct loop_forest *forest = unwinding->forest;
    for (uint32_t l = 0; l < unwound->loop_count; l++) {
        struct unwind_loop *loop = &unwound->loops[l];
        if (!unwind_find_steps(unwinding, forest->loop_of[loop->header], unwind_is_passed(unwound, loop),
                               loop))
            return false;
    }
    return true;
}

/* --- what a turn touches
 * -------------------------------------------------------------------------------------- */

/* The loop that the access is in, or NULL. */
static const struct unwind_loop *loop_around(const struct unwinding *unwinding, const struct unwound *unwound,
                                             uint32_t instruction)
{
    const struct loop_forest *forest = unwinding->forest;
    int32_t inner = forest->loop_of[unwinding->cfg->block_of[instruction]];
    for (uint32_t l = 0; inner != LOOPS_NONE && l < unwound->loop_count; l++)
        if (loops_contains(forest, forest->loop_of[unwound->loops[l].header], inner))
            return &unwound->loops[l];
    return NULL;
}

/* { thread, iteration, inner iterations -> thread and turn, inner iterations }, of one loop. */
static __isl_give isl_map *turns_of_loop(isl_ctx *ctx, const struct unwind_loop *loop, unsigned inner)
{
    isl_space *space = isl_space_alloc(ctx, 0, ITERATION + 1 + inner, ITERATION + inner);
    isl_map *map = isl_map_universe(space);
    for (unsigned d = 1; d < ITERATION; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    for (unsigned d = 0; d < inner; d++)
        map = isl_map_equate(map, isl_dim_in, ITERATION + 1 + d, isl_dim_out, ITERATION + d);
    isl_constraint *turn = isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(map)));
    turn = isl_constraint_set_coefficient_si(turn, isl_dim_in, ITERATION, 1);
    turn = isl_constraint_set_coefficient_si(turn, isl_dim_out, 0, -1);
    map = isl_map_add_constraint(map, isl_constraint_set_constant_si(turn, (int)loop->first));
    map = isl_map_lower_bound_si(map, isl_dim_in, ITERATION, 0);
    return isl_map_upper_bound_si(map, isl_dim_in, ITERATION, (int)loop->turns - 1);
}

/* { thread -> thread and turn }, any turn. */
static __isl_give isl_map *all_turns(isl_ctx *ctx, uint32_t turns)
{
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, ITERATION, ITERATION));
    for (unsigned d = 1; d < ITERATION; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    map = isl_map_lower_bound_si(map, isl_dim_out, 0, 0);
    return isl_map_upper_bound_si(map, isl_dim_out, 0, (int)turns - 1);
}

static bool unwind_access(struct unwinding *unwinding, const struct unwound *unwound, struct access *access)
{
    const struct unwind_loop *loop = loop_around(unwinding, unwound, access->instruction);
    isl_size count = access->relation ? isl_map_dim(access->relation, isl_dim_in) : 0;
    if (access->kind == ACCESS_ATOMIC)
        return unwind_refuse(unwinding, access->instruction, "an atomic in a member with a loop");
    if (!loop && access->kind == ACCESS_WRITE &&
        !is_idle(unwinding, unwinding->cfg->block_of[access->instruction]))
        return unwind_refuse(unwinding, access->instruction, "a store outside of the loop");
    access->is_once = loop ? count == ITERATION + 1 : access->is_once;
    access->domain_is_exact = access->domain_is_exact && loop;
    access->most_instances = access->is_once;
    if (!access->relation) return true;
    if (count < ITERATION + (loop != NULL))
        return unwind_refuse(unwinding, access->instruction, "an address that is not known");
    isl_ctx *ctx = isl_map_get_ctx(access->relation);
    isl_map *turns;
    if (loop)
        turns = turns_of_loop(ctx, loop, (unsigned)count - ITERATION - 1);
    else
        turns = isl_map_add_dims(all_turns(ctx, unwound->turns), isl_dim_in, (unsigned)count - ITERATION);
    isl_map *bytes = isl_map_reset_tuple_id(isl_map_copy(access->relation), isl_dim_in);
    bytes = isl_map_coalesce(isl_map_apply_domain(bytes, turns));
    access->relation = isl_map_set_tuple_name(bytes, isl_dim_in, "L");
    return access->relation || unwind_refuse(unwinding, access->instruction, "isl gave up");
}

/* Threads of the unwound launch that may store. */
static __isl_give isl_set *storing(const struct access_summary *summary, __isl_take isl_set *none)
{
    for (uint32_t i = 0; i < summary->access_count; i++) {
        if (summary->accesses[i].kind == ACCESS_READ) continue;
        isl_map *bytes = access_thread_relation(&summary->accesses[i]);
        none = isl_set_union(none, bytes ? isl_map_domain(bytes) : isl_set_copy(summary->threads));
    }
    return isl_set_coalesce(none);
}

static bool unwind_summary(struct unwinding *unwinding, struct unwound *unwound)
{
    const struct access_summary *whole = unwinding->summary;
    struct access_summary *summary = &unwound->summary;
    uint32_t count = whole->access_count;
    *summary = *whole;
    summary->unwound = NULL;
    summary->threads = summary->effective = NULL;
    summary->grid[2] = unwound->turns;
    summary->access_count = 0;
    summary->accesses = arena_calloc(unwinding->arena, count + 1, sizeof *summary->accesses);
    if (!summary->accesses) return unwind_refuse(unwinding, 0, "memory is out");
    for (uint32_t i = 0; i < count; i++) {
        struct access *access = &summary->accesses[i];
        *access = whole->accesses[i];
        if (!unwind_access(unwinding, unwound, access)) return false;
        summary->access_count++;
    }
    isl_ctx *ctx = isl_set_get_ctx(whole->threads);
    isl_set *threads = isl_set_reset_tuple_id(isl_set_copy(whole->threads));
    threads = isl_set_apply(threads, all_turns(ctx, unwound->turns));
    summary->threads = isl_set_set_tuple_name(threads, "L");
    summary->effective = storing(summary, isl_set_empty(isl_set_get_space(summary->threads)));
    return (summary->threads && summary->effective) || unwind_refuse(unwinding, 0, "isl gave up");
}

/* --- the whole
 * ------------------------------------------------------------------------------------------------ */

static bool build(struct unwinding *unwinding, struct unwound *unwound)
{
    const struct access_summary *summary = unwinding->summary;
    const char *reason = NULL;
    if ((uint64_t)summary->grid[2] * summary->block[2] != 1)
        return unwind_refuse(unwinding, 0, "its launch has threads along z, and its threads loops");
    if (summary->has_local || summary->whole_block || summary->has_atomic)
        return unwind_refuse(unwinding, 0, "it has memory of its threads or blocks, or atomics, and a loop");
    struct ptx_cfg *cfg = ptx_cfg_build(unwinding->arena, summary->function, &reason);
    struct dominators *dominators = cfg ? dominators_build(unwinding->arena, cfg) : NULL;
    unwinding->cfg = unwound->cfg = cfg;
    unwinding->forest = dominators ? loops_build(unwinding->arena, dominators, &reason) : NULL;
    unwinding->ssa = unwinding->forest ? ssa_build(unwinding->arena, dominators) : NULL;
    if (!unwinding->ssa) return unwind_refuse(unwinding, 0, reason ? reason : "memory is out");
    if (!find_loops(unwinding, unwound)) return false;
    const char *why = liveness_find(&unwinding->liveness, unwinding->arena, unwinding->ssa);
    if (why) return unwind_refuse(unwinding, 0, why);
    return find_steps(unwinding, unwound) && unwind_summary(unwinding, unwound);
}

const struct unwound *unwind_launch(const struct access_summary *summary)
{
    if (!summary->has_loop || !summary->unwound) return NULL;
    if (*summary->unwound) return *summary->unwound;
    struct unwound *unwound = arena_calloc(summary->arena, 1, sizeof *unwound);
    if (!unwound) return NULL;
    struct unwinding unwinding = {.arena = summary->arena, .summary = summary};
    struct quota quota = quota_begin(isl_set_get_ctx(summary->threads), UNWIND_OPERATIONS);
    if (!build(&unwinding, unwound)) unwound->refusal = unwinding.why;
    quota_end(&quota);
    *summary->unwound = unwound;
    return unwound;
}
