/* SPDX-License-Identifier: Apache-2.0
 * See staging.h. The function is analysed with numbers for the addresses of its shared variables, each far from the others. */
#include "fuser/access/staging_finding.h"
#include "fuser/solver/quota.h"

#include <string.h>

enum { MOST_OPERATIONS = 2000000 };

/* --- the function with numbers ----------------------------------------------------------------------- */

/* All arrays of no size lie in one place. */
static int64_t number_of(struct finding *finding, const struct ptx_variable *variable)
{
    uint32_t v = 0;
    while (v < finding->variable_count && finding->variables[v] != variable &&
           (finding->variables[v]->size || variable->size))
        v++;
    if (v == STAGING_MOST_VARIABLES) return 0;
    if (v == finding->variable_count) finding->variables[finding->variable_count++] = variable;
    return (int64_t)(v + 1) << STAGING_VARIABLE_SHIFT;
}

static bool number_operand(struct finding *finding, const struct ptx_instruction *instruction,
                           struct ptx_operand *operand)
{
    if (operand->element_count || !operand->variable || operand->variable->space != PTX_SHARED)
        return !operand->element_count || !ptx_address_operand(instruction) ||
               ptx_address_operand(instruction) != operand;
    int64_t number = number_of(finding, operand->variable);
    bool is_move = instruction->opcode == PTX_OP_MOV && instruction->type_count == 1 &&
                   ptx_type_bytes(instruction->types[0]) >= 4;
    if (!number || operand->reg >= 0 || (!is_move && instruction->space != PTX_SHARED)) return false;
    operand->variable = NULL;
    operand->symbol = NULL;
    operand->value += number;
    operand->text = (struct ptx_span){0};
    if (operand->kind == PTX_OPERAND_SYMBOL) operand->kind = PTX_OPERAND_INTEGER;
    return true;
}

static bool names_shared(const struct ptx_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((operands[i].variable && operands[i].variable->space == PTX_SHARED) ||
            names_shared(operands[i].elements, operands[i].element_count))
            return true;
    return false;
}

static const struct ptx_function *with_numbers(struct finding *finding, struct arena *arena)
{
    const struct ptx_function *function = finding->function;
    struct ptx_function *copy = arena_alloc(arena, sizeof *copy);
    struct ptx_instruction *instructions =
        arena_calloc(arena, function->instruction_count + 1, sizeof *instructions);
    if (!copy || !instructions) return NULL;
    memcpy(instructions, function->instructions, function->instruction_count * sizeof *instructions);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        struct ptx_instruction *instruction = &instructions[i];
        if (!names_shared(instruction->operands, instruction->operand_count)) continue;
        struct ptx_operand *operands = arena_calloc(arena, instruction->operand_count, sizeof *operands);
        if (!operands) return NULL;
        memcpy(operands, instruction->operands, instruction->operand_count * sizeof *operands);
        instruction->operands = operands;
        for (uint32_t k = 0; k < instruction->operand_count; k++)
            if (!number_operand(finding, instruction, &operands[k])) return NULL;
    }
    *copy = *function;
    copy->instructions = instructions;
    return copy;
}

bool staging_may_be(const struct ptx_function *function)
{
    bool stores = false, loads = false, waits = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
        bool is_shared = instruction->space == PTX_SHARED;
        stores |= is_shared && ptx_is_store(instruction);
        loads |= is_shared && ptx_is_load(instruction);
        waits |= ptx_is_block_barrier(instruction);
        if (class == PTX_CLASS_WARP || class == PTX_CLASS_FENCE || class == PTX_CLASS_ATOMIC ||
            (is_shared && !ptx_is_store(instruction) && !ptx_is_load(instruction)))
            return false;
    }
    return stores && loads && waits;
}

/* --- addresses --------------------------------------------------------------------------------------- */

/* Where variables lie is not known but for their alignment: sums alone are looked at, or one of two. */
static bool is_of_sums(const struct ptx_instruction *instruction, uint32_t operand)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_MOV:
        return true;
    case PTX_OP_SELP:
        return operand != 3;
    case PTX_OP_SUB:
        return operand == 1;
    case PTX_OP_MAD:
        return operand == 3;
    case PTX_OP_LD:
    case PTX_OP_ST:
        return instruction->space == PTX_SHARED && instruction->operands[operand].kind == PTX_OPERAND_ADDRESS;
    }
    return false;
}

/* Sets is_changed where another register may hold an address. False: one is used otherwise. */
static bool spread(const struct ptx_instruction *instruction, bool *holds, bool *is_changed)
{
    bool has = false;
    for (uint32_t k = 0; k < instruction->operand_count; k++) {
        const struct ptx_operand *operand = &instruction->operands[k];
        bool is_result = k == 0 && ptx_opcode_info(instruction->opcode)->has_destination;
        bool is_named = operand->variable && operand->variable->space == PTX_SHARED;
        if (is_result || (!is_named && (operand->reg < 0 || !holds[operand->reg]))) continue;
        if (!is_of_sums(instruction, k)) return false;
        has |= !ptx_address_operand(instruction);
    }
    if (!has) return true;
    const struct ptx_operand *result = &instruction->operands[0];
    if (result->kind != PTX_OPERAND_REGISTER || result->reg < 0) return false;
    *is_changed |= !holds[result->reg];
    holds[result->reg] = true;
    return true;
}

static bool has_sums_alone(const struct ptx_function *function, struct arena *arena)
{
    bool *holds = arena_calloc(arena, function->register_count + 1, sizeof *holds), is_changed = holds;
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = 0; i < function->instruction_count; i++)
            if (!spread(&function->instructions[i], holds, &is_changed)) return false;
    }
    return holds;
}

/* --- the whole --------------------------------------------------------------------------------------- */

static bool add_all(struct finding *finding, bool stores)
{
    bool is = true;
    for (uint32_t i = 0; is && i < finding->function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &finding->function->instructions[i];
        if (instruction->space != PTX_SHARED ||
            !dominators_is_reachable(finding->analysis->dominators, staging_block_of(finding, i)))
            continue;
        if (ptx_is_store(instruction) == stores)
            is = stores ? staging_add_store(finding, i) : staging_add_load(finding, i);
    }
    return is;
}

static void visit(struct analysis *analysis, void *context)
{
    struct finding *finding = context;
    if (analysis->summary->no_member || analysis->summary->has_local || analysis->summary->has_atomic) return;
    finding->analysis = analysis;
    finding->stores = arena_calloc(analysis->arena, STAGING_MOST_STORES, sizeof *finding->stores);
    struct quota quota = quota_begin(analysis->ctx, MOST_OPERATIONS);
    finding->is_told = finding->stores && staging_find_barriers(finding) && add_all(finding, true) &&
                       add_all(finding, false);
    quota_end(&quota);
    for (uint32_t s = 0; finding->stores && s < finding->store_count; s++) {
        isl_map_free(finding->stores[s].bytes);
        for (uint32_t k = 0; k < finding->stores[s].origin_count; k++) {
            isl_set_free(finding->stores[s].origins[k].instances);
            isl_map_free(finding->stores[s].origins[k].bytes);
        }
    }
}

/* Loads from shared memory and barriers lie in no loop, which is seen sooner than all else. */
static bool meets_outside_loops(const struct ptx_function *function, struct arena *arena)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    struct loop_forest *forest = dominators ? loops_build(arena, dominators, &reason) : NULL;
    for (uint32_t i = 0; forest && i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        bool meets = ptx_is_block_barrier(instruction) ||
                     (instruction->space == PTX_SHARED && ptx_is_load(instruction));
        if (meets && dominators_is_reachable(dominators, cfg->block_of[i]) &&
            forest->loop_of[cfg->block_of[i]] != LOOPS_NONE)
            return false;
    }
    return forest;
}

bool staging_find(isl_ctx *ctx, const struct launch_input *input, struct staging *staging)
{
    *staging = (struct staging){.arena = arena_create()};
    struct finding *finding = staging->arena ? arena_calloc(staging->arena, 1, sizeof *finding) : NULL;
    if (!finding) return false;
    staging->loads = arena_calloc(staging->arena, STAGING_MOST_LOADS, sizeof *staging->loads);
    *finding = (struct finding){.staging = staging, .function = input->function};
    struct launch_input numbered = *input;
    numbered.function = staging->loads && meets_outside_loops(input->function, staging->arena) &&
                                has_sums_alone(input->function, staging->arena)
                            ? with_numbers(finding, staging->arena)
                            : NULL;
    numbered.shift_count = 0;
    if (!numbered.function) return false;
    staging->summary = access_analyse_with(ctx, &numbered, visit, finding);
    return staging->summary && !staging->summary->refusal && finding->is_told && staging->load_count;
}

void staging_close(struct staging *staging)
{
    for (uint32_t i = 0; i < staging->load_count; i++) {
        isl_set_free(staging->loads[i].threads);
        for (uint32_t p = 0; p < staging->loads[i].piece_count; p++)
            isl_set_free(staging->loads[i].pieces[p].threads);
    }
    access_summary_free(staging->summary);
    arena_free(staging->arena);
}
