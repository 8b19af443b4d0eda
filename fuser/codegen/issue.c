/* SPDX-License-Identifier: Apache-2.0
 * Loops come in the order of the stages, a stage's two versions in any: the interior one is the shorter. Where blocks march,
 * versions stand between marks. */
#include "fuser/codegen/issue.h"
#include "fuser/codegen/stage_code.h"
#include "fuser/kernel/loops.h"
#include "fuser/kernel/ssa.h"

#include <string.h>

struct issue {
    const struct ptx_function *function;
    const struct ptx_cfg *cfg;
    const struct ssa *ssa;
    bool *is_used, *is_live; /* by register, by instruction */
};

static bool is_needed(const struct issue *issue, uint32_t index)
{
    const struct ssa_list *written = &issue->ssa->definitions[index];
    if (!written->count || ptx_is_store(&issue->function->instructions[index])) return true;
    for (uint32_t i = 0; i < written->count; i++)
        if (issue->is_used[written->items[i].reg]) return true;
    return false;
}

/* From what has effects back to what that needs. */
static void mark(struct issue *issue)
{
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t b = issue->cfg->block_count; b-- > 0;) {
            const struct ptx_block *block = &issue->cfg->blocks[b];
            if (!dominators_is_reachable(issue->ssa->dominators, b)) continue;
            for (uint32_t i = block->first + block->count; i-- > block->first;) {
                if (issue->is_live[i] || !is_needed(issue, i)) continue;
                const struct ssa_list *read = &issue->ssa->uses[i];
                for (uint32_t k = 0; k < read->count; k++) issue->is_used[read->items[k].reg] = true;
                issue->is_live[i] = changes = true;
            }
        }
    }
}

/* Copies, and what is no instruction of the machine. */
static bool is_free(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_MOV || instruction->opcode == PTX_OP_CVTA ||
           (instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM) ||
           (instruction->opcode == PTX_OP_BRA && instruction->guard < 0) ||
           instruction->opcode == PTX_OP_PRAGMA;
}

static double live_of(const struct issue *issue, const struct loop_forest *forest, int32_t loop)
{
    double live = 0;
    for (uint32_t b = 0; b < issue->cfg->block_count; b++) {
        const struct ptx_block *block = &issue->cfg->blocks[b];
        if (!loops_contains_block(forest, loop, b)) continue;
        for (uint32_t i = block->first; i < block->first + block->count; i++)
            live += issue->is_live[i] && !is_free(&issue->function->instructions[i]);
    }
    return live;
}

/* The outermost loop from this one on, or as many as there are. */
static uint32_t outermost(const struct loop_forest *forest, uint32_t loop)
{
    while (loop < forest->loop_count && forest->loops[loop].parent != LOOPS_NONE) loop++;
    return loop;
}

/* Most blocks run no member of the stage. */
static bool is_idle(const struct codegen_result *result, const struct group_stage *stage)
{
    bool is = true;
    for (uint32_t m = 0; m < stage->member_count; m++) is &= result->is_idle[stage->first_member + m];
    return is;
}

static bool fill(const struct issue *issue, const struct loop_forest *forest,
                 const struct codegen_result *result, const struct group *group, double *counts)
{
    double all = live_of(issue, forest, LOOPS_NONE);
    uint32_t loop = outermost(forest, 0);
    for (uint32_t stage = 0; stage < group->stage_count; stage++) {
        if (loop == forest->loop_count) return false;
        double live = live_of(issue, forest, (int32_t)loop);
        loop = outermost(forest, loop + 1);
        if (result->is_twice[stage]) {
            if (loop == forest->loop_count) return false;
            double other = live_of(issue, forest, (int32_t)loop);
            if (other < live) live = other;
            loop = outermost(forest, loop + 1);
        }
        counts[stage] = is_idle(result, &group->stages[stage]) ? 0 : live / all * result->instructions;
    }
    return all > 0 &&
           (loop == forest->loop_count || group->last_first); /* there may be loops behind the stages */
}

/* Of the marks' PTX, the first from this instruction on; or as many as there are. */
static uint32_t find_mark(const struct issue *issue, struct arena *arena, const char *what, uint32_t stage,
                          uint32_t from)
{
    const struct ptx_function *function = issue->function;
    const char *name = arena_printf(arena, "%%" STAGE_MARK "%s_%u", what, stage);
    uint32_t i = from;
    for (; name && i < function->instruction_count; i++) {
        const struct ptx_operand *to = &function->instructions[i].operands[0];
        if (function->instructions[i].opcode == PTX_OP_MOV && to->kind == PTX_OPERAND_REGISTER &&
            !strcmp(function->registers[to->reg].name, name))
            break;
    }
    return i;
}

static double live_between(const struct issue *issue, uint32_t first, uint32_t end)
{
    double live = 0;
    for (uint32_t i = first; i < end; i++)
        live += issue->is_live[i] && !is_free(&issue->function->instructions[i]);
    return live;
}

static bool fill_marked(const struct issue *issue, struct arena *arena, const struct codegen_result *result,
                        const struct group *group, double *counts)
{
    uint32_t all = issue->function->instruction_count;
    double whole = live_between(issue, 0, all);
    for (uint32_t stage = 0; stage < group->stage_count; stage++) {
        double least = 0;
        for (uint32_t end, begin = 0; (begin = find_mark(issue, arena, "begin", stage, begin)) < all;
             begin = end) {
            end = find_mark(issue, arena, "end", stage, begin);
            double live = live_between(issue, begin, end);
            if (!least || live < least) least = live;
        }
        if (!least) return false;
        counts[stage] = is_idle(result, &group->stages[stage]) ? 0 : least / whole * result->instructions;
    }
    return whole > 0;
}

double *issue_count(struct arena *arena, const struct codegen_result *result, const struct group *group)
{
    const char *error = NULL, *reason = NULL;
    struct arena *scratch = arena_create();
    if (!scratch) return NULL;
    struct ptx_module *module = ptx_parse(result->entry, result->ptx, strlen(result->ptx), &error);
    const struct ptx_function *function = module ? ptx_find_function(module, result->entry) : NULL;
    struct ptx_cfg *cfg =
        function && !function->unreadable ? ptx_cfg_build(scratch, function, &reason) : NULL;
    struct dominators *dominators = cfg ? dominators_build(scratch, cfg) : NULL;
    struct ssa *ssa = dominators ? ssa_build(scratch, dominators) : NULL;
    struct loop_forest *forest = ssa ? loops_build(scratch, dominators, &reason) : NULL;
    double *counts = forest ? arena_calloc(arena, group->stage_count + 1, sizeof *counts) : NULL;
    if (counts) {
        struct issue issue = {function, cfg, ssa,
                              arena_calloc(scratch, function->register_count + 1, sizeof(bool)),
                              arena_calloc(scratch, function->instruction_count + 1, sizeof(bool))};
        bool is_known = issue.is_used && issue.is_live;
        if (is_known) mark(&issue);
        is_known = is_known && (group->march ? fill_marked(&issue, scratch, result, group, counts)
                                             : fill(&issue, forest, result, group, counts));
        if (!is_known) counts = NULL;
    }
    ptx_module_free(module);
    arena_free(scratch);
    return counts;
}
