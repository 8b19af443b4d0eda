/* SPDX-License-Identifier: Apache-2.0
 * Loops that may wait for another thread: what ends them is loaded, and would be for ever what it is unless somebody
 * else wrote it.
 *
 * A loop that goes by weak loads waits for nobody: who writes meanwhile what they read has a data race. Yet programs
 * poll so. So each load that decides whether a loop goes on must also make way by itself. Either its address follows
 * from something that the loop counts or walks on (rows, lists, searches), or what it loads is only compared with such
 * a thing, which does not depend on it. That nobody in a group writes what ends a loop is asked where it is known
 * to which arrays pointers lead (overlap_ends_loop). */
#include "fuser/access/analysis.h"

#include <string.h>

struct waiting {
    struct analysis *analysis;
    int32_t loop;
    bool *slice, *other; /* SSA values in the loop that something is computed from */
    bool *is_split;      /* values whose conditions have been told apart */
    uint32_t *stack, *todo;
    uint32_t todo_count;
    bool *address;   /* a slice, too */
    bool *ends_loop; /* instructions: loads that end a loop */
};

static bool is_in_loop(const struct waiting *waiting, uint32_t value)
{
    return value != SSA_NO_VALUE && loops_contains_block(waiting->analysis->forest, waiting->loop,
                                                         waiting->analysis->ssa->values[value].block);
}

static bool is_header_phi(const struct waiting *waiting, uint32_t value)
{
    const struct ssa_value *definition = &waiting->analysis->ssa->values[value];
    return definition->kind == SSA_PHI &&
           definition->block == waiting->analysis->forest->loops[waiting->loop].header;
}

/* The register that decides where a block goes on; -1: none does. */
static int32_t decider_of(const struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    if (info->count == 0) return -1;
    const struct ptx_instruction *last = &analysis->function->instructions[info->first + info->count - 1];
    if (last->guard >= 0) return last->guard;
    bool is_table =
        last->opcode == PTX_OP_BRX && last->operand_count && last->operands[0].kind == PTX_OPERAND_REGISTER;
    return is_table ? last->operands[0].reg : -1;
}

static uint32_t condition_of(const struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    int32_t reg = decider_of(analysis, block);
    return reg < 0 ? SSA_NO_VALUE : ssa_use(analysis->ssa, info->first + info->count - 1, reg);
}

/* Whether the block's branch may decide which argument a phi behind it takes. */
static bool selects(const struct waiting *waiting, uint32_t block, uint32_t phi)
{
    const struct analysis *analysis = waiting->analysis;
    uint32_t at = analysis->ssa->values[phi].block;
    int32_t above = analysis->dominators->parent[at];
    return block != at && above != DOMINATORS_NONE && dominators_is_reachable(analysis->dominators, block) &&
           loops_contains_block(analysis->forest, waiting->loop, block) &&
           dominators_dominates(analysis->dominators, (uint32_t)above, block) &&
           !dominators_dominates(analysis->dominators, at, block);
}

static void push(const struct waiting *waiting, bool *slice, uint32_t value, uint32_t *depth)
{
    if (!is_in_loop(waiting, value) || slice[value]) return;
    slice[value] = true;
    waiting->stack[(*depth)++] = value;
}

/* What the value is computed from, itself included, and what decides which argument a phi takes. */
static void follow(const struct waiting *waiting, uint32_t first, bool *slice)
{
    const struct analysis *analysis = waiting->analysis;
    uint32_t depth = 0;
    push(waiting, slice, first, &depth);
    while (depth) {
        uint32_t value = waiting->stack[--depth];
        const struct ssa_value *definition = &analysis->ssa->values[value];
        if (definition->kind == SSA_PHI) {
            for (uint32_t p = 0; p < analysis->cfg->blocks[definition->block].predecessor_count; p++)
                push(waiting, slice, definition->arguments[p], &depth);
            for (uint32_t b = 0; !is_header_phi(waiting, value) && b < analysis->cfg->block_count; b++)
                if (selects(waiting, b, value)) push(waiting, slice, condition_of(analysis, b), &depth);
        } else if (definition->kind == SSA_DEFINITION) {
            const struct ssa_list *uses = &analysis->ssa->uses[definition->instruction];
            push(waiting, slice, definition->previous, &depth);
            for (uint32_t u = 0; u < uses->count; u++) push(waiting, slice, uses->items[u].value, &depth);
        }
    }
}

/* What the phi of the loop's header is computed from in the iteration before. */
static bool *find_carried(const struct waiting *waiting, uint32_t phi)
{
    const struct analysis *analysis = waiting->analysis;
    memset(waiting->other, 0, analysis->ssa->value_count * sizeof *waiting->other);
    const struct ssa_value *definition = &analysis->ssa->values[phi];
    for (uint32_t p = 0; p < analysis->cfg->blocks[definition->block].predecessor_count; p++)
        follow(waiting, definition->arguments[p], waiting->other);
    return waiting->other;
}

/* The load, or atomic, that the value is; NULL: it is none, or nobody writes what it reads. */
static const struct ptx_instruction *load_of(const struct waiting *waiting, uint32_t value)
{
    const struct analysis *analysis = waiting->analysis;
    const struct ssa_value *definition = &analysis->ssa->values[value];
    if (definition->kind != SSA_DEFINITION) return NULL;
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition->instruction];
    bool is_private = instruction->space == PTX_PARAM || instruction->space == PTX_CONST ||
                      instruction->space == PTX_LOCAL || ptx_has_modifier(instruction, PTX_MOD_NC);
    bool reads = ptx_is_load(instruction) || ptx_is_atomic(instruction);
    return reads && !is_private ? instruction : NULL;
}

/* A load that no promise of order or of freshness comes with. */
static bool is_weak(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier fresh[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                              PTX_MOD_MMIO,     PTX_MOD_CV,      PTX_MOD_CG};
    for (size_t m = 0; m < sizeof fresh / sizeof *fresh; m++)
        if (ptx_has_modifier(instruction, fresh[m])) return false;
    return ptx_is_load(instruction);
}

/* The slice has something that each iteration computes from what it was in the one before, and not from the load
 * (NO_VALUE: or from any). */
static bool makes_way(const struct waiting *waiting, const bool *slice, uint32_t load)
{
    const struct analysis *analysis = waiting->analysis;
    const struct ssa_list *phis = &analysis->ssa->phis[analysis->forest->loops[waiting->loop].header];
    for (uint32_t i = 0; i < phis->count; i++) {
        uint32_t phi = phis->items[i].value;
        const bool *carried = slice[phi] ? find_carried(waiting, phi) : NULL;
        if (carried && carried[phi] && (load == SSA_NO_VALUE || !carried[load])) return true;
    }
    return false;
}

static bool address_makes_way(const struct waiting *waiting, uint32_t load)
{
    const struct analysis *analysis = waiting->analysis;
    uint32_t instruction = analysis->ssa->values[load].instruction;
    const struct ptx_operand *address = ptx_address_operand(&analysis->function->instructions[instruction]);
    memset(waiting->address, 0, analysis->ssa->value_count * sizeof *waiting->address);
    if (!address || address->reg < 0) return false;
    follow(waiting, ssa_use(analysis->ssa, instruction, address->reg), waiting->address);
    return makes_way(waiting, waiting->address, SSA_NO_VALUE);
}

/* One condition under which the loop goes on, or its two sides. The instruction that may wait, or -1. */
static int64_t check_condition(const struct waiting *waiting, const uint32_t *sides, uint32_t count)
{
    const struct analysis *analysis = waiting->analysis;
    uint32_t values = analysis->ssa->value_count;
    memset(waiting->slice, 0, values * sizeof *waiting->slice);
    for (uint32_t i = 0; i < count; i++) follow(waiting, sides[i], waiting->slice);
    for (uint32_t v = 1; v < values; v++) {
        const struct ptx_instruction *load = waiting->slice[v] ? load_of(waiting, v) : NULL;
        if (!load) continue;
        uint32_t at = analysis->ssa->values[v].instruction;
        if (!is_weak(load)) return at;
        if (!address_makes_way(waiting, v) && !makes_way(waiting, waiting->slice, v)) return at;
        waiting->ends_loop[at] = true;
    }
    return -1;
}

/* Conditions that are combined are told apart: one that may wait is not helped by another one that does not. */
static void add(struct waiting *waiting, uint32_t value)
{
    if (!is_in_loop(waiting, value) || waiting->is_split[value]) return;
    waiting->is_split[value] = true;
    waiting->todo[waiting->todo_count++] = value;
}

static bool has_vector(const struct ptx_instruction *instruction)
{
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (instruction->operands[o].element_count) return true;
    return false;
}

/* Each operand by itself, from this one on. */
static void add_operands(struct waiting *waiting, uint32_t at, uint32_t first)
{
    const struct ptx_instruction *instruction = &waiting->analysis->function->instructions[at];
    for (uint32_t o = first; o < instruction->operand_count; o++)
        if (instruction->operands[o].kind == PTX_OPERAND_REGISTER)
            add(waiting, ssa_use(waiting->analysis->ssa, at, instruction->operands[o].reg));
}

static int64_t check_comparison(struct waiting *waiting, uint32_t at)
{
    const struct analysis *analysis = waiting->analysis;
    const struct ptx_operand *operands = analysis->function->instructions[at].operands;
    bool has_two = operands[1].kind == PTX_OPERAND_REGISTER && operands[2].kind == PTX_OPERAND_REGISTER;
    add_operands(waiting, at, has_two ? 3 : 1);
    if (!has_two) return -1;
    const uint32_t sides[2] = {ssa_use(analysis->ssa, at, operands[1].reg),
                               ssa_use(analysis->ssa, at, operands[2].reg)};
    return check_condition(waiting, sides, 2);
}

static void add_arguments(struct waiting *waiting, uint32_t phi)
{
    const struct analysis *analysis = waiting->analysis;
    const struct ssa_value *definition = &analysis->ssa->values[phi];
    for (uint32_t p = 0; p < analysis->cfg->blocks[definition->block].predecessor_count; p++)
        add(waiting, definition->arguments[p]);
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++)
        if (selects(waiting, b, phi)) add(waiting, condition_of(analysis, b));
}

static int64_t check_value(struct waiting *waiting, uint32_t value)
{
    const struct analysis *analysis = waiting->analysis;
    const struct ssa_value *definition = &analysis->ssa->values[value];
    if (definition->kind == SSA_PHI && !is_header_phi(waiting, value)) {
        add_arguments(waiting, value);
        return -1;
    }
    if (definition->kind != SSA_DEFINITION || definition->previous != SSA_NO_VALUE)
        return check_condition(waiting, &value, 1);
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition->instruction];
    switch ((int)instruction->opcode) {
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_SELP:
        if (has_vector(instruction)) break;
        add_operands(waiting, definition->instruction, 1);
        return -1;
    case PTX_OP_SETP:
        return check_comparison(waiting, definition->instruction);
    }
    return check_condition(waiting, &value, 1);
}

static bool leaves(const struct waiting *waiting, uint32_t block)
{
    const struct ptx_block *info = &waiting->analysis->cfg->blocks[block];
    for (uint32_t s = 0; s < info->successor_count; s++)
        if (!loops_contains_block(waiting->analysis->forest, waiting->loop, info->successors[s])) return true;
    return false;
}

static int64_t check_loop(struct waiting *waiting)
{
    const struct analysis *analysis = waiting->analysis;
    int64_t found = -1;
    memset(waiting->is_split, 0, analysis->ssa->value_count * sizeof *waiting->is_split);
    waiting->todo_count = 0;
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++)
        if (dominators_is_reachable(analysis->dominators, b) &&
            loops_contains_block(analysis->forest, waiting->loop, b) && leaves(waiting, b))
            add(waiting, condition_of(analysis, b));
    while (found < 0 && waiting->todo_count)
        found = check_value(waiting, waiting->todo[--waiting->todo_count]);
    return found;
}

int64_t waiting_find(struct analysis *analysis)
{
    struct arena *arena = analysis->arena;
    uint32_t values = analysis->ssa->value_count;
    struct waiting waiting = {.analysis = analysis,
                              .slice = arena_calloc(arena, values, sizeof *waiting.slice),
                              .other = arena_calloc(arena, values, sizeof *waiting.other),
                              .is_split = arena_calloc(arena, values, sizeof *waiting.is_split),
                              .stack = arena_calloc(arena, values, sizeof *waiting.stack),
                              .todo = arena_calloc(arena, values, sizeof *waiting.todo),
                              .address = arena_calloc(arena, values, sizeof *waiting.address),
                              .ends_loop = arena_calloc(arena, analysis->function->instruction_count + 1,
                                                        sizeof *waiting.ends_loop)};
    int64_t found = -1;
    if (analysis->forest->loop_count == 0) return -1;
    if (!waiting.slice || !waiting.other || !waiting.is_split || !waiting.stack || !waiting.todo ||
        !waiting.address || !waiting.ends_loop)
        return analysis->cfg->blocks[analysis->forest->loops[0].header].first;
    for (; found < 0 && waiting.loop < (int32_t)analysis->forest->loop_count; waiting.loop++)
        found = check_loop(&waiting);
    analysis->ends_loop = waiting.ends_loop;
    return found;
}
