/* SPDX-License-Identifier: Apache-2.0
 * The walk over a function, loop by loop, which finds the iterations of each.
 *
 * A loop is walked twice. First its counter is unbounded and integers are taken not to wrap: that gives, for
 * each instance, whether it iterates once more, and so the iterations that are reached before one does not.
 * Then it is walked with just these iterations and every proof is made; if the iterations come out the same,
 * they are the right ones (by induction on the counter: what is computed in iteration i depends on iterations
 * up to i only). */
#include "fuser/access/analysis.h"

/* Iterations from 0, however many. */
static isl_set *all_iterations(struct analysis *analysis, int32_t loop)
{
    unsigned counter = affine_counter(analysis, loop);
    isl_set *set =
        isl_set_lower_bound_si(isl_set_copy(analysis->loops[loop].entry.set), isl_dim_set, counter, 0);

    return isl_set_upper_bound_val(set, isl_dim_set, counter,
                                   affine_value(analysis, wide_power(ANALYSIS_COUNTER_BITS)));
}

/* Those of `all` before which every iteration was followed by another; not exact where that depends on data. */
static struct instances reached_iterations(struct analysis *analysis, int32_t loop, isl_set *all)
{
    uint32_t header = analysis->forest->loops[loop].header;
    const struct ptx_block *info = &analysis->cfg->blocks[header];
    unsigned counter = affine_counter(analysis, loop);
    isl_set *again = isl_set_copy(analysis->empty_set);
    struct instances reached = {.is_exact = true};

    for (uint32_t p = 0; p < info->predecessor_count; p++) {
        if (!loops_is_back_edge(analysis->forest, info->predecessors[p], header)) continue;
        struct instances edge = instances_of_edge(analysis, info->predecessors[p], header, loop);
        again = isl_set_union(again, edge.set);
        if (reached.is_exact) reached.culprit = edge.culprit;
        reached.is_exact = reached.is_exact && edge.is_exact;
    }
    isl_set *last = isl_set_subtract(isl_set_copy(all), isl_set_coalesce(again));
    isl_map *later = isl_map_universe(isl_space_map_from_set(isl_space_copy(analysis->space)));
    for (unsigned d = 0; d < counter; d++) later = isl_map_equate(later, isl_dim_in, d, isl_dim_out, d);
    later = isl_map_order_lt(later, isl_dim_in, counter, isl_dim_out, counter);
    isl_set *beyond = isl_set_apply(isl_set_coalesce(last), later);
    reached.set = isl_set_coalesce(isl_set_subtract(all, isl_set_coalesce(beyond)));
    return reached;
}

static void forget_values(struct analysis *analysis, int32_t loop)
{
    for (uint32_t v = 1; v < analysis->ssa->value_count; v++)
        if (loops_contains_block(analysis->forest, loop, analysis->ssa->values[v].block)) {
            analysis->values[v] = NULL;
            analysis->exported[v] = NULL;
        }
}

static void find_last_counter(struct analysis *analysis, int32_t loop, isl_set *domain)
{
    struct range range = {0, wide_power(ANALYSIS_COUNTER_BITS)};
    isl_pw_aff *counter = affine_dimension(analysis, affine_counter(analysis, loop));

    affine_bounds(analysis, counter, domain, &range);
    isl_pw_aff_free(counter);
    analysis->loops[loop].last_counter = range.high;
}

/* The blocks of a loop's body but the header, or (LOOPS_NONE) of the function; inner loops as a whole. */
static bool walk_body(struct analysis *analysis, int32_t loop);

/* Walks the body with these iterations, taken to be exact; takes them. */
static bool walk_once(struct analysis *analysis, int32_t loop, isl_set *iterations)
{
    uint32_t header = analysis->forest->loops[loop].header;
    int32_t parent = analysis->forest->loops[loop].parent;

    if (!iterations) return false;
    forget_values(analysis, loop);
    affine_begin(analysis);
    find_last_counter(analysis, loop, iterations);
    instances_set_entry(analysis, header, (struct instances){.set = iterations, .is_exact = true});
    instances_enter(analysis, header);
    const struct ssa_list *phis = &analysis->ssa->phis[header];
    for (uint32_t i = 0; i < phis->count; i++) {
        uint32_t phi = phis->items[i].value;
        if (!analysis->is_relevant[phi]) continue;
        /* What comes in is seen with the entry's domain, from outside. */
        analysis->domain = analysis->loops[loop].entry.set;
        const struct value *initial = exports_phi(analysis, phi, parent);
        analysis->domain = analysis->blocks[header].in.set;
        analysis->values[phi] = induction_value(analysis, phi, initial, loop);
    }
    instances_enter(analysis, header);
    domains_walk_block(analysis, header);
    return walk_body(analysis, loop);
}

/* What was exact for each iteration is not for the launch: which iterations there are is a superset. */
static void mark_inexact(struct analysis *analysis, int32_t loop, uint32_t culprit)
{
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++) {
        struct block_state *state = &analysis->blocks[b];
        if (!loops_contains_block(analysis->forest, loop, b)) continue;
        if (state->in.is_exact) state->in.culprit = culprit;
        state->in.is_exact = false;
        for (uint32_t s = 0; s < analysis->cfg->blocks[b].successor_count; s++) {
            if (state->edges[s].is_exact) state->edges[s].culprit = culprit;
            state->edges[s].is_exact = false;
        }
    }
    for (int32_t l = 0; l < (int32_t)analysis->forest->loop_count; l++) {
        struct instances *entry = &analysis->loops[l].entry;
        if (!loops_contains(analysis->forest, loop, l) || l == loop) continue;
        if (entry->is_exact) entry->culprit = culprit;
        entry->is_exact = false;
    }
}

/* Walks with the guess and makes every proof; *confirmed: no other iterations are reached. */
static bool prove(struct analysis *analysis, int32_t loop, isl_set *all, struct instances *guess,
                  bool *confirmed)
{
    if (!walk_once(analysis, loop, isl_set_copy(guess->set))) return false;
    struct instances proved = reached_iterations(analysis, loop, isl_set_copy(all));
    *confirmed = proved.set && isl_set_is_subset(proved.set, guess->set) == isl_bool_true;
    if (guess->is_exact) guess->culprit = proved.culprit;
    guess->is_exact = guess->is_exact && proved.is_exact && *confirmed &&
                      isl_set_is_equal(proved.set, guess->set) == isl_bool_true;
    isl_set_free(proved.set);
    return true;
}

static bool walk_loop(struct analysis *analysis, int32_t loop, struct instances entry)
{
    bool was_optimistic = analysis->is_optimistic, confirmed = false;
    struct instances guess = {.culprit = analysis->cfg->blocks[analysis->forest->loops[loop].header].first};

    isl_set_free(analysis->loops[loop].entry.set);
    analysis->loops[loop].entry = entry;
    isl_set *all = all_iterations(analysis, loop);
    analysis->is_optimistic = true;
    if (walk_once(analysis, loop, isl_set_copy(all)))
        guess = reached_iterations(analysis, loop, isl_set_copy(all));
    analysis->is_optimistic = was_optimistic;
    if (!guess.set) {
        affine_recover(analysis);
        guess.set = isl_set_copy(all);
        guess.is_exact = false;
    }
    bool walked = prove(analysis, loop, all, &guess, &confirmed);
    /* A wrong guess: nothing is known about how often it iterates. */
    if (walked && !confirmed && !was_optimistic) walked = walk_once(analysis, loop, isl_set_copy(all));
    if (!entry.is_exact)
        mark_inexact(analysis, loop, entry.culprit);
    else if (!guess.is_exact)
        mark_inexact(analysis, loop, guess.culprit);
    isl_set_free(guess.set);
    isl_set_free(all);
    return walked;
}

static bool walk_body(struct analysis *analysis, int32_t loop)
{
    const struct loop_forest *forest = analysis->forest;

    for (uint32_t i = 0; i < analysis->dominators->order_count; i++) {
        uint32_t block = analysis->dominators->order[i];
        int32_t own = forest->loop_of[block];
        bool is_inner = own != loop && own != LOOPS_NONE && forest->loops[own].header == block &&
                        forest->loops[own].parent == loop;
        if ((own != loop && !is_inner) || (loop != LOOPS_NONE && forest->loops[loop].header == block))
            continue;
        analysis->summary->takes_too_long |= analysis->operations > analysis->most_operations;
        if (analysis->quota_failures > ANALYSIS_QUOTA_FAILURES || analysis->summary->takes_too_long)
            return false;
        affine_begin(analysis);
        struct instances entry = domains_find_entry(analysis, block, loop);
        if (!entry.set) return false;
        if (is_inner) {
            if (!walk_loop(analysis, own, entry)) return false;
            continue;
        }
        instances_set_entry(analysis, block, entry);
        instances_enter(analysis, block);
        const struct ssa_list *phis = &analysis->ssa->phis[block];
        for (uint32_t p = 0; p < phis->count; p++)
            if (analysis->is_relevant[phis->items[p].value])
                analysis->values[phis->items[p].value] = exports_phi(analysis, phis->items[p].value, loop);
        instances_enter(analysis, block);
        domains_walk_block(analysis, block);
    }
    return true;
}

bool iterations_walk(struct analysis *analysis)
{
    if (walk_body(analysis, LOOPS_NONE)) return true;
    if (!analysis->refusal)
        analysis->refusal =
            arena_printf(analysis->arena, "kernel %s: its index arithmetic takes too long to analyse",
                         analysis->function->name);
    return false;
}
