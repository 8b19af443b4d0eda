/* SPDX-License-Identifier: Apache-2.0
 * The instances that are known of blocks and edges, and the block where evaluation is. */
#include "fuser/access/analysis.h"

void instances_set_entry(struct analysis *analysis, uint32_t block, struct instances in)
{
    isl_set_free(analysis->blocks[block].in.set);
    analysis->blocks[block].in = in;
}

struct instances instances_of_edge(struct analysis *analysis, uint32_t from, uint32_t to, int32_t loop)
{
    const struct ptx_block *block = &analysis->cfg->blocks[from];
    const struct block_state *state = &analysis->blocks[from];
    struct instances all = {.set = isl_set_copy(analysis->empty_set), .is_exact = true};
    unsigned depth = loop == LOOPS_NONE ? 0 : analysis->forest->loops[loop].depth;

    for (uint32_t s = 0; s < block->successor_count; s++) {
        if (block->successors[s] != to || !state->edges[s].set) continue;
        all.set = isl_set_union(all.set, isl_set_copy(state->edges[s].set));
        if (all.is_exact) all.culprit = state->edges[s].culprit;
        all.is_exact = all.is_exact && state->edges[s].is_exact;
    }
    if (analysis->forest->loop_of[from] != loop)
        all.set = affine_forget_from(analysis, all.set, analysis->first_counter + depth);
    all.set = isl_set_coalesce(all.set);
    return all;
}

void instances_enter(struct analysis *analysis, uint32_t block)
{
    analysis->block = block;
    analysis->instruction = analysis->cfg->blocks[block].first;
    if (analysis->instruction >= analysis->function->instruction_count && analysis->instruction > 0)
        analysis->instruction = analysis->function->instruction_count - 1;
    analysis->domain = analysis->blocks[block].in.set;
    affine_begin(analysis);
}
