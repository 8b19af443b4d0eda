/* SPDX-License-Identifier: Apache-2.0
 * Path conditions: for every block the instances that enter it, loop by loop, together with the values of its
 * instructions. All sets are supersets; is_exact says where they are more.
 *
 * A loop is walked twice. First its counter is unbounded and integers are taken not to wrap: that gives, for
 * each instance, whether it goes round once more, and so the iterations that are reached before one does not.
 * Then it is walked with just these iterations and every proof is made; if the iterations come out the same,
 * they are the right ones (by induction on the counter: what is computed in iteration i depends on iterations
 * up to i only). */
#include "fuser/analysis/analysis.h"

#include <string.h>

static bool walk_body(struct analysis *analysis, int32_t loop);

static bool is_body_block(const struct analysis *analysis, uint32_t block, int32_t loop)
{
    return loops_contains(analysis->forest, loop, analysis->forest->loop_of[block]);
}

static void enter_block(struct analysis *analysis, uint32_t block)
{
    analysis->block = block;
    analysis->instruction = analysis->cfg->blocks[block].first;
    if (analysis->instruction >= analysis->function->instruction_count && analysis->instruction > 0)
        analysis->instruction = analysis->function->instruction_count - 1;
    analysis->domain = analysis->blocks[block].domain;
    affine_begin(analysis);
}

/* The instances that take an edge, the counters of loops that it leaves forgotten; an own reference. */
static isl_set *edge_set(struct analysis *analysis, uint32_t from, uint32_t to, int32_t loop, bool *is_exact)
{
    const struct ptx_block *block = &analysis->cfg->blocks[from];
    const struct block_state *state = &analysis->blocks[from];
    isl_set *set = isl_set_copy(analysis->empty_set);
    unsigned depth = loop == LOOPS_NONE ? 0 : analysis->forest->loops[loop].depth;

    for (uint32_t s = 0; s < block->successor_count; s++) {
        if (block->successors[s] != to || !state->edges[s]) continue;
        set = isl_set_union(set, isl_set_copy(state->edges[s]));
        if (is_exact) *is_exact = *is_exact && state->edge_is_exact[s];
    }
    if (analysis->forest->loop_of[from] != loop)
        set = affine_forget_from(analysis, set, ACCESS_THREAD_DIMENSIONS + depth);
    return isl_set_coalesce(set);
}

/* --- values across loops
 * --------------------------------------------------------------------------------------------- */

/* All instances that leave a loop from blocks that `block` dominates; the loop's own counter kept. */
static isl_set *exits_after(struct analysis *analysis, uint32_t block, int32_t loop)
{
    isl_set *all = isl_set_copy(analysis->empty_set);

    for (uint32_t i = 0; i < analysis->dominators->order_count; i++) {
        uint32_t from = analysis->dominators->order[i];
        if (!is_body_block(analysis, from, loop) || !dominators_dominates(analysis->dominators, block, from))
            continue;
        for (uint32_t s = 0; s < analysis->cfg->blocks[from].successor_count; s++) {
            uint32_t to = analysis->cfg->blocks[from].successors[s];
            if (is_body_block(analysis, to, loop)) continue;
            all = isl_set_union(all, edge_set(analysis, from, to, loop, NULL));
        }
    }
    return isl_set_coalesce(all);
}

/* The instance at which each outer instance leaves, or NULL when that is not one. Takes exits. */
static isl_pw_multi_aff *last_instance(struct analysis *analysis, isl_set *exits, unsigned counter)
{
    isl_map *last = isl_map_universe(isl_space_map_from_set(isl_space_copy(analysis->space)));

    for (unsigned d = 0; d < analysis->dimensions; d++)
        if (d != counter) last = isl_map_equate(last, isl_dim_in, d, isl_dim_out, d);
    last = isl_map_coalesce(isl_map_intersect_range(last, exits));
    last = isl_map_detect_equalities(last);
    if (isl_map_is_single_valued(last) == isl_bool_true) return isl_pw_multi_aff_from_map(last);
    isl_map_free(last);
    return NULL;
}

static const struct value *substituted(struct analysis *analysis, const struct value *value, isl_pw_aff *form)
{
    if (value->kind == VALUE_POINTER)
        return value_pointer(analysis, value->base, form, value->range, value->sources, NULL);
    return value_annotate(analysis, value_integer(analysis, value->bits, form, value->range, value->sources),
                          (struct value){.zeros = value->zeros});
}

/* value after `loop`, which is left at exits (with the loop's counter); takes exits. */
static const struct value *leave_loop(struct analysis *analysis, const struct value *value, int32_t loop,
                                      isl_set *exits)
{
    unsigned counter = affine_counter(analysis, loop);
    bool is_form = (value->kind == VALUE_INTEGER || value->kind == VALUE_POINTER) && value->form;
    const char *why = "which iteration was the last depends on data";

    if (value->kind != VALUE_PREDICATE && (!is_form || !affine_involves_from(value->form, counter))) {
        isl_set_free(exits);
        return value;
    }
    isl_pw_multi_aff *last = last_instance(analysis, exits, counter);
    if (!last) {
        affine_recover(analysis);
        if (value->kind == VALUE_POINTER)
            return value_pointer(analysis, value->base, NULL, range_point(0), NULL,
                                 legality_at(analysis, analysis->instruction, why));
        return evaluate_give_up(analysis, NULL, 0, value->bits, why);
    }
    if (is_form)
        return substituted(analysis, value,
                           isl_pw_aff_pullback_pw_multi_aff(isl_pw_aff_copy(value->form), last));
    isl_set *when_true =
        isl_set_preimage_pw_multi_aff(isl_set_copy(value->when_true), isl_pw_multi_aff_copy(last));
    isl_set *when_false = isl_set_preimage_pw_multi_aff(isl_set_copy(value->when_false), last);
    return value_predicate(analysis, when_true, when_false, value->sources);
}

static const struct value *find_exported(const struct analysis *analysis, uint32_t ssa_value, int32_t loop)
{
    const struct exported_value *exported = analysis->exported[ssa_value];

    while (exported && exported->loop != loop) exported = exported->next;
    return exported ? exported->value : NULL;
}

static void remember_exported(struct analysis *analysis, uint32_t ssa_value, int32_t loop,
                              const struct value *value)
{
    struct exported_value *exported = arena_alloc(analysis->arena, sizeof *exported);

    if (!exported) return;
    *exported = (struct exported_value){.loop = loop, .value = value, .next = analysis->exported[ssa_value]};
    analysis->exported[ssa_value] = exported;
}

/* value, known in loop `inside`, as it is in `loop` around it, when `edge` leaves all loops between. */
static const struct value *value_after_edge(struct analysis *analysis, const struct value *value,
                                            int32_t inside, int32_t loop, isl_set *edge)
{
    while (!loops_contains(analysis->forest, inside, loop)) {
        isl_set *exits =
            affine_forget_from(analysis, isl_set_copy(edge), affine_counter(analysis, inside) + 1);
        value = leave_loop(analysis, value, inside, exits);
        inside = analysis->forest->loops[inside].parent;
    }
    return value;
}

const struct value *domains_value_in(struct analysis *analysis, uint32_t ssa_value, int32_t loop)
{
    const struct ssa_value *definition = &analysis->ssa->values[ssa_value];
    const struct value *value = analysis->values[ssa_value];
    int32_t inside = analysis->forest->loop_of[definition->block];
    isl_set *domain = analysis->domain;

    if (!value)
        return evaluate_give_up(analysis, NULL, 0,
                                definition->reg >= 0 ? evaluate_register_bits(analysis, definition->reg) : 64,
                                "never set on some path");
    while (!loops_contains(analysis->forest, inside, loop)) {
        int32_t parent = analysis->forest->loops[inside].parent;
        const struct value *known = find_exported(analysis, ssa_value, parent);
        if (!known) {
            /* What is remembered must hold for every user, not only in the domain of this one. */
            analysis->domain = analysis->universe;
            known = leave_loop(analysis, value, inside, exits_after(analysis, definition->block, inside));
            analysis->domain = domain;
            remember_exported(analysis, ssa_value, parent, known);
        }
        value = known;
        inside = parent;
    }
    return value;
}

/* --- blocks
 * -----------------------------------------------------------------------------------------------------------
 */

static bool is_postdominated(const struct analysis *analysis, uint32_t node, uint32_t by, int32_t loop)
{
    const struct loop_forest *forest = analysis->forest;
    int32_t walk = (int32_t)node;

    while (walk != LOOPS_NONE && walk != (int32_t)by) {
        int32_t own = forest->loop_of[walk];
        walk = own == loop ? forest->postdominator[walk] : forest->loops[own].postdominator;
    }
    return walk == (int32_t)by;
}

/* Where all paths from the dominator come back together, the domain is the dominator's. */
static isl_set *dominator_domain(struct analysis *analysis, uint32_t block, int32_t loop, bool always,
                                 bool *is_exact)
{
    int32_t above = analysis->dominators->parent[block];

    if (above == DOMINATORS_NONE) return NULL;
    uint32_t node = loops_node(analysis->forest, loop, (uint32_t)above);
    if (!always && !is_postdominated(analysis, node, block, loop)) return NULL;
    int32_t own = analysis->forest->loop_of[node];
    *is_exact = own == loop ? analysis->blocks[node].is_exact : analysis->loops[own].entry_is_exact;
    return isl_set_copy(own == loop ? analysis->blocks[node].domain : analysis->loops[own].entry);
}

/* The instances of the body of `loop` that come to block, other than by a back edge. */
static isl_set *entry_domain(struct analysis *analysis, uint32_t block, int32_t loop, bool *is_exact)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    isl_set *domain = dominator_domain(analysis, block, loop, false, is_exact);

    if (domain) return domain;
    *is_exact = true;
    domain = isl_set_copy(block == 0 ? analysis->threads : analysis->empty_set);
    for (uint32_t p = 0; p < info->predecessor_count; p++) {
        uint32_t from = info->predecessors[p];
        if (!dominators_is_reachable(analysis->dominators, from)) continue;
        if (loops_is_back_edge(analysis->forest, from, block)) continue;
        if (p > 0 && info->predecessors[p - 1] == from) continue;
        domain = isl_set_union(domain, edge_set(analysis, from, block, loop, is_exact));
    }
    domain = isl_set_coalesce(domain);
    if (domain && isl_set_n_basic_set(domain) <= ANALYSIS_PIECE_LIMIT) return domain;
    isl_set_free(domain);
    affine_recover(analysis);
    domain = dominator_domain(analysis, block, loop, true, is_exact);
    *is_exact = false;
    return domain ? domain : isl_set_copy(analysis->threads);
}

static const struct value *phi_value(struct analysis *analysis, uint32_t ssa_value, int32_t loop)
{
    const struct ssa_value *phi = &analysis->ssa->values[ssa_value];
    const struct ptx_block *block = &analysis->cfg->blocks[phi->block];
    struct candidate *candidates =
        arena_calloc(analysis->arena, block->predecessor_count + 1, sizeof *candidates);
    uint32_t count = 0;
    const struct value *merged;

    affine_begin(analysis);
    for (uint32_t p = 0; candidates && p < block->predecessor_count; p++) {
        uint32_t from = block->predecessors[p];
        if (!dominators_is_reachable(analysis->dominators, from)) continue;
        if (loops_is_back_edge(analysis->forest, from, phi->block)) continue;
        if (p > 0 && block->predecessors[p - 1] == from) continue;
        int32_t from_loop = analysis->forest->loop_of[from];
        isl_set *leaving = edge_set(analysis, from, phi->block, from_loop, NULL);
        const struct value *argument = domains_value_in(analysis, phi->arguments[p], from_loop);
        candidates[count].value = value_after_edge(analysis, argument, from_loop, loop, leaving);
        candidates[count++].set = edge_set(analysis, from, phi->block, loop, NULL);
        isl_set_free(leaving);
    }
    merged = value_merge(analysis, candidates, count);
    for (uint32_t i = 0; i < count; i++) isl_set_free(candidates[i].set);
    if (merged->bits != evaluate_register_bits(analysis, phi->reg))
        return evaluate_give_up(analysis, &merged, 1, evaluate_register_bits(analysis, phi->reg),
                                "never set on some path");
    return merged;
}

/* brx.idx: where the index selects a label of this block. NULL: not known. */
static isl_set *table_set(struct analysis *analysis, const struct ptx_instruction *branch, uint32_t target)
{
    const struct ptx_function *function = analysis->function;
    const struct value *index = evaluate_operand(analysis, &branch->operands[0], 32);
    const struct ptx_table *table = NULL;
    struct range range;

    for (uint32_t t = 0; t < function->table_count; t++)
        if (branch->operands[1].symbol && strcmp(function->tables[t].name, branch->operands[1].symbol) == 0)
            table = &function->tables[t];
    isl_pw_aff *form = table ? value_as_unsigned(analysis, index, &range) : NULL;
    if (!form) return NULL;
    sources_use(analysis, index->sources);
    isl_set *set = isl_set_copy(analysis->empty_set);
    for (uint32_t k = 0; k < table->label_count; k++) {
        uint32_t instruction = function->labels[table->labels[k]].instruction;
        if (analysis->cfg->block_of[instruction] != target) continue;
        set = isl_set_union(set, isl_pw_aff_eq_set(isl_pw_aff_copy(form), affine_constant(analysis, k)));
    }
    isl_pw_aff_free(form);
    return set;
}

static void set_edge(struct analysis *analysis, uint32_t block, uint32_t successor, isl_set *condition,
                     bool is_exact)
{
    struct block_state *state = &analysis->blocks[block];
    isl_set *edge =
        condition ? isl_set_intersect(isl_set_copy(state->domain), condition) : isl_set_copy(state->domain);

    edge = isl_set_coalesce(edge);
    state->edge_is_exact[successor] = state->is_exact && is_exact && edge;
    if (!edge) {
        affine_recover(analysis);
        edge = isl_set_copy(state->domain);
    }
    isl_set_free(state->edges[successor]);
    state->edges[successor] = edge;
}

static void find_edges(struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    const struct ptx_instruction *last =
        info->count ? &analysis->function->instructions[info->first + info->count - 1] : NULL;
    bool is_table = last && last->opcode == PTX_OP_BRX;

    affine_begin(analysis);
    if (last) analysis->instruction = info->first + info->count - 1;
    if (last && last->guard >= 0 && info->successor_count == 2 && !is_table) {
        const struct value *guard = evaluate_guard(analysis, last);
        bool exact = value_is_exact(analysis, guard, analysis->domain);
        sources_use(analysis, guard->sources);
        set_edge(analysis, block, 0, isl_set_copy(guard->when_true), exact);
        set_edge(analysis, block, 1, isl_set_copy(guard->when_false), exact);
        return;
    }
    for (uint32_t s = 0; s < info->successor_count; s++) {
        isl_set *condition =
            is_table && last->guard < 0 ? table_set(analysis, last, info->successors[s]) : NULL;
        set_edge(analysis, block, s, condition, info->successor_count == 1 || condition);
    }
}

static void walk_block(struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];

    for (uint32_t k = info->first; k < info->first + info->count; k++) {
        const struct ssa_list *definitions = &analysis->ssa->definitions[k];
        for (uint32_t d = 0; d < definitions->count; d++) {
            uint32_t value = definitions->items[d].value;
            if (analysis->is_relevant[value] && !analysis->values[value])
                analysis->values[value] = evaluate_definition(analysis, value);
        }
    }
    find_edges(analysis, block);
}

static void set_domain(struct analysis *analysis, uint32_t block, isl_set *domain, bool is_exact)
{
    struct block_state *state = &analysis->blocks[block];

    isl_set_free(state->domain);
    state->domain = domain;
    state->is_exact = is_exact;
}

/* --- loops
 * ------------------------------------------------------------------------------------------------------------
 */

/* Iterations from 0, however many. */
static isl_set *all_iterations(struct analysis *analysis, int32_t loop)
{
    unsigned counter = affine_counter(analysis, loop);
    isl_set *set = isl_set_lower_bound_si(isl_set_copy(analysis->loops[loop].entry), isl_dim_set, counter, 0);

    return isl_set_upper_bound_val(set, isl_dim_set, counter,
                                   affine_value(analysis, wide_power(ANALYSIS_COUNTER_BITS)));
}

/* Those of `all` before which every iteration went round once more; *is_exact is cleared where that depends
 * on data. */
static isl_set *reached_iterations(struct analysis *analysis, int32_t loop, isl_set *all, bool *is_exact)
{
    uint32_t header = analysis->forest->loops[loop].header;
    const struct ptx_block *info = &analysis->cfg->blocks[header];
    unsigned counter = affine_counter(analysis, loop);
    isl_set *again = isl_set_copy(analysis->empty_set);

    for (uint32_t p = 0; p < info->predecessor_count; p++)
        if (loops_is_back_edge(analysis->forest, info->predecessors[p], header))
            again = isl_set_union(again, edge_set(analysis, info->predecessors[p], header, loop, is_exact));
    isl_set *last = isl_set_subtract(isl_set_copy(all), isl_set_coalesce(again));
    isl_map *later = isl_map_universe(isl_space_map_from_set(isl_space_copy(analysis->space)));
    for (unsigned d = 0; d < counter; d++) later = isl_map_equate(later, isl_dim_in, d, isl_dim_out, d);
    later = isl_map_order_lt(later, isl_dim_in, counter, isl_dim_out, counter);
    isl_set *beyond = isl_set_apply(isl_set_coalesce(last), later);
    return isl_set_coalesce(isl_set_subtract(all, isl_set_coalesce(beyond)));
}

static void forget_values(struct analysis *analysis, int32_t loop)
{
    for (uint32_t v = 1; v < analysis->ssa->value_count; v++)
        if (is_body_block(analysis, analysis->ssa->values[v].block, loop)) {
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

/* Walks the body with these iterations; takes domain. */
static bool walk_iterations(struct analysis *analysis, int32_t loop, isl_set *domain, bool is_exact)
{
    uint32_t header = analysis->forest->loops[loop].header;
    int32_t parent = analysis->forest->loops[loop].parent;

    if (!domain) return false;
    forget_values(analysis, loop);
    affine_begin(analysis);
    find_last_counter(analysis, loop, domain);
    set_domain(analysis, header, domain, is_exact);
    enter_block(analysis, header);
    const struct ssa_list *phis = &analysis->ssa->phis[header];
    for (uint32_t i = 0; i < phis->count; i++) {
        uint32_t phi = phis->items[i].value;
        if (!analysis->is_relevant[phi]) continue;
        /* What comes in is seen with the entry's domain, from outside. */
        analysis->domain = analysis->loops[loop].entry;
        const struct value *initial = phi_value(analysis, phi, parent);
        analysis->domain = analysis->blocks[header].domain;
        analysis->values[phi] = induction_value(analysis, phi, initial, loop);
    }
    enter_block(analysis, header);
    walk_block(analysis, header);
    return walk_body(analysis, loop);
}

/* What was exact for each iteration is not for the launch: which iterations there are is a superset. */
static void mark_inexact(struct analysis *analysis, int32_t loop)
{
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++) {
        if (!is_body_block(analysis, b, loop)) continue;
        analysis->blocks[b].is_exact = false;
        for (uint32_t s = 0; s < analysis->cfg->blocks[b].successor_count; s++)
            analysis->blocks[b].edge_is_exact[s] = false;
    }
    for (int32_t l = 0; l < (int32_t)analysis->forest->loop_count; l++)
        if (loops_contains(analysis->forest, loop, l) && l != loop) analysis->loops[l].entry_is_exact = false;
}

static bool walk_loop(struct analysis *analysis, int32_t loop, isl_set *entry, bool entry_is_exact)
{
    struct loop_state *state = &analysis->loops[loop];
    bool was_optimistic = analysis->is_optimistic, is_exact = true;

    isl_set_free(state->entry);
    state->entry = entry;
    state->entry_is_exact = entry_is_exact;
    isl_set *all = all_iterations(analysis, loop);
    analysis->is_optimistic = true;
    bool walked = walk_iterations(analysis, loop, isl_set_copy(all), true);
    isl_set *guess = walked ? reached_iterations(analysis, loop, isl_set_copy(all), &is_exact) : NULL;
    analysis->is_optimistic = was_optimistic;
    if (!guess) {
        affine_recover(analysis);
        guess = isl_set_copy(all);
        is_exact = false;
    }
    walked = walk_iterations(analysis, loop, isl_set_copy(guess), true);
    bool still_exact = true;
    isl_set *proved = walked ? reached_iterations(analysis, loop, isl_set_copy(all), &still_exact) : NULL;
    bool confirmed = proved && isl_set_is_subset(proved, guess) == isl_bool_true;
    is_exact = is_exact && still_exact && confirmed && isl_set_is_equal(proved, guess) == isl_bool_true;
    isl_set_free(proved);
    /* A wrong guess: nothing is known about how often it goes round. */
    if (walked && !confirmed && !was_optimistic)
        walked = walk_iterations(analysis, loop, isl_set_copy(all), false);
    if (walked && !(is_exact && entry_is_exact)) mark_inexact(analysis, loop);
    isl_set_free(guess);
    isl_set_free(all);
    return walked;
}

/* The blocks of a loop's body but the header, or (LOOPS_NONE) of the function; inner loops as a whole. */
static bool walk_body(struct analysis *analysis, int32_t loop)
{
    const struct loop_forest *forest = analysis->forest;

    for (uint32_t i = 0; i < analysis->dominators->order_count; i++) {
        uint32_t block = analysis->dominators->order[i];
        int32_t own = forest->loop_of[block];
        bool is_inner = own != loop && own != LOOPS_NONE && forest->loops[own].header == block &&
                        forest->loops[own].parent == loop;
        bool is_exact = true;
        if ((own != loop && !is_inner) || (loop != LOOPS_NONE && forest->loops[loop].header == block))
            continue;
        if (analysis->quota_failures > ANALYSIS_QUOTA_FAILURES) return false;
        affine_begin(analysis);
        isl_set *domain = entry_domain(analysis, block, loop, &is_exact);
        if (!domain) return false;
        if (is_inner) {
            if (!walk_loop(analysis, own, domain, is_exact)) return false;
            continue;
        }
        set_domain(analysis, block, domain, is_exact);
        enter_block(analysis, block);
        const struct ssa_list *phis = &analysis->ssa->phis[block];
        for (uint32_t p = 0; p < phis->count; p++)
            if (analysis->is_relevant[phis->items[p].value])
                analysis->values[phis->items[p].value] = phi_value(analysis, phis->items[p].value, loop);
        enter_block(analysis, block);
        walk_block(analysis, block);
    }
    return true;
}

bool domains_find(struct analysis *analysis)
{
    if (walk_body(analysis, LOOPS_NONE)) return true;
    if (!analysis->refusal)
        analysis->refusal =
            arena_printf(analysis->arena, "kernel %s: its index arithmetic takes too long to analyse",
                         analysis->function->name);
    return false;
}
