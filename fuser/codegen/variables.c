/* SPDX-License-Identifier: Apache-2.0
 * Variables of the program's module in a member's body. Their addresses are words of the launch, so that the
 * fused kernel uses the program's own: reads and writes of __device__ variables stay what they are. Memory of
 * a __constant__ variable is global memory too, at another address than in the constant space: its loads
 * become loads of global memory, and its address must serve for nothing else. Words of it that a guard holds to
 * one value are numbers: a load of an index would delay each load that needs it. */
#include "fuser/codegen/body.h"

#include <string.h>

static bool add_variables(struct body *body)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    const struct variables *variables = &summary->variables;
    body->variables = arena_calloc(body->arena, variables->count + 1, sizeof *body->variables);
    if (!body->variables) return body_refuse(body, NULL, "out of memory");
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct ptx_variable *variable = variables->items[i];
        struct body_word word = {variables_offset(body->function, i), PTX_U64, 8};
        if (variable->is_managed) return body_refuse(body, NULL, "uses a managed variable");
        if (variable->is_extern || ptx_find_variable(body->function->module, variable->name) != variable)
            return body_refuse(body, NULL, "uses a variable that is not its module's own");
        if (!body_add_word(body, word)) return body_refuse(body, NULL, "out of memory");
        uint32_t index = 0;
        while (body->words[index].offset != word.offset) index++;
        body->variables[i] = (struct body_variable){
            variable, index, arena_printf(body->arena, "%%m%u_word_%u", body->member, index)};
    }
    body->variable_count = variables->count;
    return true;
}

/* --- the constant space ------------------------------------------------------------------------------ */

struct following {
    struct body *body;
    const struct ptx_variable *
        *held; /* by register: the constant variable or table into which its address points */
    bool has_changed;
};

static const struct ptx_variable *held_by(const struct following *following,
                                          const struct ptx_operand *operand)
{
    const struct ptx_variable *held = NULL;
    if (operand->kind == PTX_OPERAND_REGISTER) return following->held[operand->reg];
    if (operand->kind == PTX_OPERAND_SYMBOL)
        return operand->variable && operand->variable->space == PTX_CONST ? operand->variable : NULL;
    for (uint32_t i = 0; operand->kind != PTX_OPERAND_ADDRESS && i < operand->element_count && !held; i++)
        held = held_by(following, &operand->elements[i]);
    return held;
}

/* The operand's address, with something added. */
static bool keeps_distance(const struct body *body, const struct ptx_instruction *instruction,
                           uint32_t operand)
{
    const struct ptx_operand *to = &instruction->operands[0];
    if (to->kind != PTX_OPERAND_REGISTER || ptx_type_bytes(body->function->registers[to->reg].type) != 8)
        return false;
    switch ((int)instruction->opcode) {
    case PTX_OP_MOV:
    case PTX_OP_ADD:
    case PTX_OP_SELP:
    case PTX_OP_CVTA:
        return true;
    case PTX_OP_SUB:
        return operand == 1;
    case PTX_OP_MAD:
        return operand == 3;
    }
    return false;
}

static bool refuse_address(struct following *following, const struct ptx_instruction *instruction)
{
    return body_refuse(following->body, instruction, "uses the address of a constant for more than to load");
}

/* False with body->error set. */
static bool follow_instruction(struct following *following, const struct ptx_instruction *instruction)
{
    uint32_t first = ptx_opcode_info(instruction->opcode)->has_destination ? 1 : 0, count = 0;
    const struct ptx_variable *held = NULL;
    bool keeps = true;
    for (uint32_t i = first; i < instruction->operand_count; i++) {
        const struct ptx_variable *variable = held_by(following, &instruction->operands[i]);
        if (!variable) continue;
        if (held && held != variable) return refuse_address(following, instruction);
        held = variable;
        keeps = keeps && keeps_distance(following->body, instruction, i);
        count++;
    }
    if (!held || (count == 2 && instruction->opcode == PTX_OP_SETP)) return true;
    if (!keeps || (count > 1 && instruction->opcode != PTX_OP_SELP))
        return variables_is_table(held) || refuse_address(following, instruction);
    const struct ptx_variable **to = &following->held[instruction->operands[0].reg];
    if (*to && *to != held) return refuse_address(following, instruction);
    following->has_changed |= !*to;
    *to = held;
    return true;
}

/* The base of an instruction that reads or writes global or constant memory; NULL: it never runs, or uses
 * other memory. */
static const struct access_base *base_of(const struct body *body, uint32_t instruction)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction)
            return &summary->bases[summary->accesses[i].base];
    return NULL;
}

static bool move_instruction(struct following *following, uint32_t index)
{
    struct body *body = following->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    if (instruction->opcode == PTX_OP_ISSPACEP)
        return body_refuse(body, instruction, "asks for the space of an address");
    if (instruction->opcode == PTX_OP_CVTA && instruction->space == PTX_CONST) {
        const struct ptx_variable *held = held_by(following, &instruction->operands[1]);
        body->is_moved[index] = held && !variables_is_table(held);
    }
    if (instruction->space != PTX_CONST || !ptx_is_load(instruction)) return true;
    const struct access_base *base = base_of(body, index);
    if (base && base->kind != ACCESS_BASE_VARIABLE)
        return body_refuse(body, instruction, "reads a constant that is not known");
    body->is_moved[index] = base && base->argument_offset != ACCESS_NO_WORD;
    return true;
}

static bool move_constants(struct body *body)
{
    const struct ptx_function *function = body->function;
    struct following following = {.body = body, .has_changed = true};
    following.held = arena_calloc(body->arena, function->register_count + 1, sizeof *following.held);
    if (!following.held) return body_refuse(body, NULL, "out of memory");
    while (following.has_changed) {
        following.has_changed = false;
        for (uint32_t i = 0; i < function->instruction_count; i++)
            if (!follow_instruction(&following, &function->instructions[i])) return false;
    }
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (!move_instruction(&following, i)) return false;
    return true;
}

/* As the load leaves it in a register of `wide` bytes. */
static uint64_t widened(uint64_t value, enum ptx_type type, uint32_t wide)
{
    uint32_t unused = 64 - 8 * ptx_type_bytes(type);
    value <<= unused;
    value = ptx_type_is_signed(type) ? (uint64_t)((int64_t)value >> unused) : value >> unused;
    return wide < 8 ? value & ((UINT64_C(1) << 8 * wide) - 1) : value;
}

bool body_known_constant(const struct body *body, uint32_t index, uint64_t *value)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    const struct ptx_instruction *load = &body->function->instructions[index];
    if (!body->is_specialized || summary->has_pipeline || !body->is_moved[index] || !ptx_is_load(load) ||
        load->vector > 1)
        return false;
    const struct ptx_operand *to = &load->operands[0], *from = &load->operands[1];
    uint32_t bytes = ptx_type_bytes(load->types[0]);
    if (!from->variable || from->reg >= 0 || to->kind != PTX_OPERAND_REGISTER) return false;
    uint32_t wide = ptx_type_bytes(body->function->registers[to->reg].type);
    for (uint32_t i = 0; wide >= 4 && i < summary->content_count; i++) {
        const struct access_contents *known = &summary->contents[i];
        if (strcmp(known->variable, from->variable->name) || (int64_t)known->words.offset != from->value ||
            known->words.size != bytes)
            continue;
        *value = widened(known->value, load->types[0], wide);
        return true;
    }
    return false;
}

bool body_collect_variables(struct body *body)
{
    bool has_constants = false;
    if (!add_variables(body)) return false;
    for (uint32_t i = 0; i < body->variable_count; i++)
        has_constants |= body->variables[i].variable->space == PTX_CONST;
    return !has_constants || move_constants(body);
}
