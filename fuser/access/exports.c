/* SPDX-License-Identifier: Apache-2.0
 * Values across loops: after those that they were computed in (what the counter was when each instance left), and where paths
 * meet. */
#include "fuser/access/analysis.h"

/* All instances that leave a loop from blocks that `block` dominates; the loop's own counter kept. */
static isl_set *exits_after(struct analysis *analysis, uint32_t block, int32_t loop)
{
    isl_set *all = isl_set_copy(analysis->empty_set);

    for (uint32_t i = 0; i < analysis->dominators->order_count; i++) {
        uint32_t from = analysis->dominators->order[i];
        if (!loops_contains_block(analysis->forest, loop, from) ||
            !dominators_dominates(analysis->dominators, block, from))
            continue;
        for (uint32_t s = 0; s < analysis->cfg->blocks[from].successor_count; s++) {
            uint32_t to = analysis->cfg->blocks[from].successors[s];
            if (loops_contains_block(analysis->forest, loop, to)) continue;
            all = isl_set_union(all, instances_of_edge(analysis, from, to, loop).set);
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
                                 reason_at(analysis, analysis->instruction, why));
        return value_give_up(analysis, NULL, 0, value->bits, why);
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

static const struct value *along_edge(struct analysis *analysis, const struct value *value, int32_t inside,
                                      int32_t loop, isl_set *edge)
{
    while (!loops_contains(analysis->forest, inside, loop)) {
        isl_set *exits =
            affine_forget_from(analysis, isl_set_copy(edge), affine_counter(analysis, inside) + 1);
        value = leave_loop(analysis, value, inside, exits);
        inside = analysis->forest->loops[inside].parent;
    }
    return value;
}

const struct value *exports_value_in(struct analysis *analysis, uint32_t ssa_value, int32_t loop)
{
    const struct ssa_value *definition = &analysis->ssa->values[ssa_value];
    const struct value *value = analysis->values[ssa_value];
    int32_t inside = analysis->forest->loop_of[definition->block];
    isl_set *domain = analysis->domain;

    if (!value)
        return value_give_up(
            analysis, NULL, 0, definition->reg >= 0 ? value_register_bits(analysis, definition->reg) : 64,
            analysis->is_relevant[ssa_value] ? "never set on some path" : "computed from data");
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

const struct value *exports_phi(struct analysis *analysis, uint32_t ssa_value, int32_t loop)
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
        isl_set *leaving = instances_of_edge(analysis, from, phi->block, from_loop).set;
        const struct value *argument = exports_value_in(analysis, phi->arguments[p], from_loop);
        candidates[count].value = along_edge(analysis, argument, from_loop, loop, leaving);
        candidates[count++].set = instances_of_edge(analysis, from, phi->block, loop).set;
        isl_set_free(leaving);
    }
    merged = value_merge(analysis, candidates, count);
    for (uint32_t i = 0; i < count; i++) isl_set_free(candidates[i].set);
    if (merged->bits != value_register_bits(analysis, phi->reg))
        return value_give_up(analysis, &merged, 1, value_register_bits(analysis, phi->reg),
                             "never set on some path");
    return merged;
}
