/* SPDX-License-Identifier: Apache-2.0
 * Definitions and uses of registers, and which of them are written in the place of their single use. That is
 * right for a register with one definition: what that reads has not changed at the use, unless it has several
 * definitions itself or lies in memory; then both must stand in one block, with nothing between that may
 * change it. */
#include "fuser/decompile/code.h"

#include <string.h>

enum { MOST_FOLDED = 14 }; /* in one statement: what still reads well */

int32_t registers_destination(const struct ptx_instruction *instruction)
{
    if (!ptx_opcode_info(instruction->opcode)->has_destination || !instruction->operand_count)
        return CODE_NONE;
    const struct ptx_operand *operand = &instruction->operands[0];
    return operand->kind == PTX_OPERAND_REGISTER && !operand->component ? operand->reg : CODE_NONE;
}

static void add_definition(struct code *code, const struct ptx_operand *operand, uint32_t instruction,
                           bool count_only)
{
    if (operand->kind == PTX_OPERAND_REGISTER) {
        struct code_register *info = &code->registers[operand->reg];
        if (!count_only) code->definitions[operand->reg][info->definition_count] = instruction;
        info->definition_count++;
    }
    for (uint32_t i = 0; i < operand->element_count; i++)
        add_definition(code, &operand->elements[i], instruction, count_only);
}

static void add_definitions(struct code *code, bool count_only)
{
    const struct ptx_function *function = code->function;
    for (uint32_t r = 0; r < function->register_count; r++) code->registers[r].definition_count = 0;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        bool is_call = instruction->opcode == PTX_OP_CALL;
        if (!instruction->operand_count ||
            (!is_call && !ptx_opcode_info(instruction->opcode)->has_destination))
            continue;
        if (!is_call || instruction->operands[0].kind == PTX_OPERAND_LIST)
            add_definition(code, &instruction->operands[0], i, count_only);
    }
}

/* %r12 is r12, %p3 is a condition; C needs names without %, $ and dots. */
static const char *variable_name(struct code *code, const char *name)
{
    const struct decompile_names *names = code->options->names;
    char *text = arena_printf(code->arena, "%s%s", names && names->prefix ? names->prefix : "",
                              name[0] == '%' ? name + 1 : name);
    for (char *c = text; c && *c; c++)
        if (strchr("$%.@<>", *c)) *c = '_';
    if (text && name[0] == '%' && name[1] == 'p' && name[2] >= '0' && name[2] <= '9')
        return arena_printf(code->arena, "%sis%s", names && names->prefix ? names->prefix : "", name + 2);
    return text;
}

const char *registers_type(const struct code_register *info)
{
    return info->pointer == CODE_NONE ? types_name(info->type) : "char *";
}

bool registers_find(struct code *code)
{
    const struct ptx_function *function = code->function;
    add_definitions(code, true);
    code->definitions = arena_calloc(code->arena, function->register_count + 1, sizeof *code->definitions);
    for (uint32_t r = 0; code->definitions && r < function->register_count; r++) {
        code->definitions[r] =
            arena_calloc(code->arena, code->registers[r].definition_count + 1, sizeof(uint32_t));
        if (!code->definitions[r]) return false;
    }
    if (!code->definitions) return false;
    add_definitions(code, false);
    for (uint32_t r = 0; r < function->register_count; r++) {
        struct code_register *info = &code->registers[r];
        uint32_t at = info->definition_count == 1 ? code->definitions[r][0] : 0;
        bool is_whole = info->definition_count == 1 && function->instructions[at].guard < 0 &&
                        registers_destination(&function->instructions[at]) == (int32_t)r;
        info->definition = is_whole ? (int32_t)at : CODE_NONE;
        info->name = variable_name(code, function->registers[r].name);
        if (!info->name) return false;
    }
    return true;
}

bool registers_may_change(const struct code *code, int32_t reg, uint32_t from, uint32_t to)
{
    const struct code_register *info = &code->registers[reg];
    if (info->definition_count <= 1) return false;
    if (code->cfg->block_of[from] != code->cfg->block_of[to] || from > to) return true;
    for (uint32_t i = 0; i < info->definition_count; i++) {
        uint32_t at = code->definitions[reg][i];
        if (at >= from && at < to) return true;
    }
    return false;
}

static bool is_parameter_load(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM &&
           instruction->operand_count == 2 && instruction->operands[1].variable;
}

bool registers_is_plain(const struct code *code, int32_t reg)
{
    int32_t definition = code->registers[reg].definition;
    if (definition == CODE_NONE) return false;
    const struct ptx_instruction *instruction = &code->function->instructions[definition];
    if (is_parameter_load(instruction)) return true;
    if (instruction->opcode != PTX_OP_MOV && instruction->opcode != PTX_OP_CVTA) return false;
    const struct ptx_operand *from = &instruction->operands[1];
    switch (from->kind) {
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_FLOAT:
    case PTX_OPERAND_SYMBOL:
        return true;
    case PTX_OPERAND_SPECIAL:
        return from->special <= PTX_SPECIAL_NCTAID_Z;
    case PTX_OPERAND_REGISTER:
        return !from->component && code->registers[from->reg].definition_count == 1;
    default:
        return false;
    }
}

/* --- folding ------------------------------------------------------------------------------------------- */

static bool is_foldable(const struct code *code, uint32_t at)
{
    const struct ptx_instruction *instruction = &code->function->instructions[at];
    if (ptx_is_load(instruction))
        return !statement_is_placed(code, at) && instruction->vector <= 1 &&
               instruction->space != PTX_PARAM && !ptx_has_modifier(instruction, PTX_MOD_VOLATILE) &&
               !ptx_has_modifier(instruction, PTX_MOD_RELAXED) &&
               !ptx_has_modifier(instruction, PTX_MOD_ACQUIRE);
    return expression_is_known(instruction);
}

static bool may_write_memory(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    return class != PTX_CLASS_ARITHMETIC && class != PTX_CLASS_CONTROL && !ptx_is_load(instruction);
}

static bool memory_may_change(const struct code *code, uint32_t from, uint32_t to)
{
    if (code->cfg->block_of[from] != code->cfg->block_of[to] || from > to) return true;
    for (uint32_t i = from + 1; i < to; i++)
        if (may_write_memory(&code->function->instructions[i])) return true;
    return false;
}

/* Whether what the instruction reads, directly or through what is folded into it, is the same at `to`. */
static bool is_same_at(struct code *code, uint32_t instruction, uint32_t to)
{
    code->at = instruction;
    code->seen_count = 0;
    code->line_count = 0;
    expression_of(code, instruction);
    for (uint32_t i = 0; i < code->seen_count; i++)
        if (registers_may_change(code, code->seen[i], instruction, to)) return false;
    return code->line_count == 0 || !memory_may_change(code, instruction, to);
}

/* Needs references and reference_at of every register that is written as a variable. Statements are taken
 * from the last to the first, so that the place where a use is written is known. */
void registers_fold(struct code *code)
{
    const struct ptx_function *function = code->function;
    uint32_t count = function->instruction_count;
    uint32_t *root = arena_calloc(code->arena, count + 1, sizeof *root);
    uint32_t *folded = arena_calloc(code->arena, count + 1, sizeof *folded);
    code->seen = arena_calloc(code->arena, (size_t)function->register_count + 1, sizeof *code->seen);
    if (!root || !folded || !code->seen) return;
    for (uint32_t i = 0; i < count; i++) root[i] = i;
    for (uint32_t i = count; i-- > 0;) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        int32_t reg = registers_destination(instruction);
        if (reg < 0 || code->registers[reg].definition != (int32_t)i || code->registers[reg].references != 1)
            continue;
        struct code_register *info = &code->registers[reg];
        uint32_t to = info->reference_at > i ? root[info->reference_at] : i;
        if (to == i || folded[to] == MOST_FOLDED || !is_foldable(code, i) || !is_same_at(code, i, to))
            continue;
        info->is_folded = true;
        root[i] = to;
        folded[to]++;
    }
    code->seen = NULL;
}
