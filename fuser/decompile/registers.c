/* SPDX-License-Identifier: Apache-2.0
 * Definitions of registers, and what C declares them as. */
#include "fuser/decompile/code.h"

#include <string.h>

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

bool registers_collect(struct code *code)
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

bool registers_is_parameter(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM &&
           instruction->operand_count == 2 && instruction->operands[1].reg < 0 &&
           instruction->operands[1].variable;
}

struct piece { /* of a parameter, as a load has it */
    int64_t offset;
    uint32_t bytes;
    bool is_float;
};

static uint32_t piece_count(const struct ptx_instruction *load)
{
    return load->vector > 1 ? load->vector : 1;
}

static struct piece piece_of(const struct code *code, const struct ptx_instruction *load, uint32_t index)
{
    const struct ptx_operand *to = &load->operands[0];
    uint32_t bytes = ptx_type_bytes(load->types[0]);
    if (to->kind == PTX_OPERAND_VECTOR && index < to->element_count) to = &to->elements[index];
    enum ptx_type type = to->kind == PTX_OPERAND_REGISTER ? code->registers[to->reg].type : load->types[0];
    return (struct piece){load->operands[1].value + index * bytes, bytes, ptx_type_is_float(type)};
}

static bool is_read_otherwise(const struct code *code, const struct piece *own,
                              const struct ptx_instruction *at)
{
    for (uint32_t i = 0; i < piece_count(at); i++) {
        struct piece piece = piece_of(code, at, i);
        bool is_same =
            piece.offset == own->offset && piece.bytes == own->bytes && piece.is_float == own->is_float;
        if (!is_same && piece.offset < own->offset + own->bytes && own->offset < piece.offset + piece.bytes)
            return true;
    }
    return false;
}

bool registers_overlap(const struct code *code, uint32_t load)
{
    const struct ptx_function *function = code->function;
    const struct ptx_instruction *own = &function->instructions[load];
    for (uint32_t p = 0; p < piece_count(own); p++) {
        struct piece piece = piece_of(code, own, p);
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *at = &function->instructions[i];
            if (registers_is_parameter(at) && at->operands[1].variable == own->operands[1].variable &&
                is_read_otherwise(code, &piece, at))
                return true;
        }
    }
    return false;
}

bool registers_is_plain(const struct code *code, int32_t reg)
{
    int32_t definition = code->registers[reg].definition;
    if (definition == CODE_NONE) return false;
    const struct ptx_instruction *instruction = &code->function->instructions[definition];
    if (registers_is_parameter(instruction)) return true;
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
