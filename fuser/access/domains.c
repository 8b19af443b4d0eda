/* SPDX-License-Identifier: Apache-2.0
 * Path conditions: the instances that enter a block, and those that leave it by each edge. All sets are supersets; is_exact says where they are more. */
#include "fuser/access/analysis.h"

#include <string.h>

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

/* Where all paths from the dominator come back together, what enters is what entered the dominator. */
static bool dominator_entry(struct analysis *analysis, uint32_t block, int32_t loop, bool always,
                            struct instances *entry)
{
    int32_t above = analysis->dominators->parent[block];

    if (above == DOMINATORS_NONE) return false;
    uint32_t node = loops_node(analysis->forest, loop, (uint32_t)above);
    if (!always && !is_postdominated(analysis, node, block, loop)) return false;
    int32_t own = analysis->forest->loop_of[node];
    *entry = own == loop ? analysis->blocks[node].in : analysis->loops[own].entry;
    entry->set = isl_set_copy(entry->set);
    return true;
}

/* The instances of the body of `loop` that come to block, other than by a back edge. */
struct instances domains_find_entry(struct analysis *analysis, uint32_t block, int32_t loop)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    struct instances entry = {.is_exact = true};

    if (dominator_entry(analysis, block, loop, false, &entry)) return entry;
    entry.set = isl_set_copy(block == 0 ? analysis->threads : analysis->empty_set);
    for (uint32_t p = 0; p < info->predecessor_count; p++) {
        uint32_t from = info->predecessors[p];
        if (!dominators_is_reachable(analysis->dominators, from)) continue;
        if (loops_is_back_edge(analysis->forest, from, block)) continue;
        if (p > 0 && info->predecessors[p - 1] == from) continue;
        struct instances edge = instances_of_edge(analysis, from, block, loop);
        entry.set = isl_set_union(entry.set, edge.set);
        if (entry.is_exact) entry.culprit = edge.culprit;
        entry.is_exact = entry.is_exact && edge.is_exact;
    }
    entry.set = isl_set_coalesce(entry.set);
    if (entry.set && affine_is_simple_set(entry.set)) return entry;
    isl_set_free(entry.set);
    affine_recover(analysis);
    if (!dominator_entry(analysis, block, loop, true, &entry)) entry.set = isl_set_copy(analysis->threads);
    if (entry.is_exact) entry.culprit = info->first;
    entry.is_exact = false;
    return entry;
}

/* brx.idx: where the index selects a label of this block. NULL: not known. */
static isl_set *table_set(struct analysis *analysis, const struct ptx_instruction *branch, uint32_t target)
{
    const struct ptx_function *function = analysis->function;
    const struct value *index = operand_value(analysis, &branch->operands[0], 32);
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

/* Takes condition; NULL: always. is_exact: that is just when. */
static void set_edge(struct analysis *analysis, uint32_t block, uint32_t successor, isl_set *condition,
                     bool is_exact)
{
    const struct instances *in = &analysis->blocks[block].in;
    struct instances *edge = &analysis->blocks[block].edges[successor];
    isl_set *set = condition ? isl_set_intersect(isl_set_copy(in->set), condition) : isl_set_copy(in->set);

    set = isl_set_coalesce(set);
    isl_set_free(edge->set);
    *edge = (struct instances){.set = set,
                               .is_exact = in->is_exact && is_exact && set,
                               .culprit = in->is_exact ? analysis->instruction : in->culprit};
    if (set) return;
    affine_recover(analysis);
    edge->set = isl_set_copy(in->set);
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
        const struct value *guard = operand_guard(analysis, last);
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

void domains_walk_block(struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];

    for (uint32_t k = info->first; k < info->first + info->count; k++) {
        const struct ssa_list *definitions = &analysis->ssa->definitions[k];
        for (uint32_t d = 0; d < definitions->count; d++) {
            uint32_t value = definitions->items[d].value;
            if (!analysis->is_relevant[value] || analysis->values[value]) continue;
            analysis->values[value] = evaluate_definition(analysis, value);
        }
    }
    find_edges(analysis, block);
}
