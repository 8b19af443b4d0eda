/* SPDX-License-Identifier: Apache-2.0
 * Addresses and the loads whose contents are known: parameters, and module variables that the trace holds. */
#include "fuser/access/analysis.h"

#include <string.h>

static bool is_same_base(const struct base *a, const struct base *b)
{
    if (a->kind != b->kind || a->argument_offset != b->argument_offset) return false;
    return a->kind != BASE_VARIABLE || strcmp(a->variable, b->variable) == 0;
}

static uint32_t find_base(struct analysis *analysis, struct base base)
{
    for (uint32_t i = 0; i < analysis->base_count; i++)
        if (is_same_base(&analysis->bases[i], &base)) return i;
    if (analysis->base_count == analysis->base_capacity) {
        uint32_t capacity = 2 * analysis->base_capacity + 8;
        void *bases =
            arena_grow(analysis->arena, analysis->bases, analysis->base_count, capacity, sizeof base);
        if (!bases) return 0; /* the unknown one */
        analysis->bases = bases;
        analysis->base_capacity = capacity;
    }
    analysis->bases[analysis->base_count] = base;
    return analysis->base_count++;
}

static const struct value *base_pointer(struct analysis *analysis, struct base base, int64_t offset)
{
    return value_pointer(analysis, find_base(analysis, base), affine_constant(analysis, offset),
                         range_point(offset), NULL, NULL);
}

/* A kernel parameter's place in the buffer; false when the variable is none. */
static bool find_parameter(const struct analysis *analysis, const char *name, uint32_t *offset)
{
    const struct ptx_function *function = analysis->function;

    for (uint32_t p = 0; p < function->parameter_count; p++)
        if (strcmp(function->parameters[p].name, name) == 0) {
            *offset = function->parameters[p].offset;
            return true;
        }
    return false;
}

static const struct value *symbol_address(struct analysis *analysis, const struct ptx_operand *operand)
{
    const struct ptx_variable *variable = operand->variable;
    uint32_t offset;
    struct base base = {.kind = BASE_UNKNOWN};

    if (!variable)
        return value_unknown(analysis, 64, true,
                             legality_at(analysis, analysis->instruction, "address of a function"));
    switch (variable->space) {
    case PTX_PARAM:
        if (find_parameter(analysis, variable->name, &offset))
            return base_pointer(analysis, (struct base){.kind = BASE_PARAMETER}, offset + operand->value);
        break;
    case PTX_LOCAL:
        base.kind = BASE_LOCAL;
        break;
    case PTX_SHARED:
        base.kind = BASE_SHARED;
        break;
    case PTX_GLOBAL:
    case PTX_CONST:
        base = (struct base){.kind = BASE_VARIABLE, .variable = variable->name, .space = variable->space};
        break;
    case PTX_GENERIC:
    case PTX_SPACE_COUNT:
        break;
    }
    if (base.kind == BASE_UNKNOWN)
        return value_unknown(analysis, 64, true,
                             legality_at(analysis, analysis->instruction, "an unknown address"));
    return base_pointer(analysis, base, operand->value);
}

const struct value *evaluate_address(struct analysis *analysis, const struct ptx_operand *operand)
{
    if (operand->reg < 0 && operand->symbol) return symbol_address(analysis, operand);
    if (operand->reg < 0) return value_number(analysis, 64, operand->value, NULL);
    struct ptx_operand reg = {
        .kind = PTX_OPERAND_REGISTER, .reg = operand->reg, .component = operand->component};
    const struct value *address = evaluate_operand(analysis, &reg, 64);
    if (operand->value == 0 || address->bits != 64) return address;
    return value_add(analysis, address, value_number(analysis, 64, operand->value, NULL), 64);
}

const struct ptx_operand *evaluate_find_address(const struct ptx_instruction *instruction)
{
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (instruction->operands[o].kind == PTX_OPERAND_ADDRESS) return &instruction->operands[o];
    return NULL;
}

/* --- known contents ---------------------------------------------------------------------------------- */

static const struct value *number_of_bytes(struct analysis *analysis, const unsigned char *bytes,
                                           enum ptx_type type, const uint64_t *sources, unsigned bits)
{
    unsigned size = ptx_type_bytes(type);
    uint64_t number = 0;

    if (size > 8 || 8 * size > bits)
        return evaluate_give_up(analysis, NULL, 0, bits, "a word of more than 64 bits");
    memcpy(&number, bytes, size);
    wide value = number;
    if (ptx_type_is_signed(type) && number >> (8 * size - 1) & 1) value -= wide_power(8 * size);
    return value_number(analysis, bits, value, sources);
}

static const struct value *load_parameter(struct analysis *analysis, uint32_t offset, enum ptx_type type,
                                          unsigned bits)
{
    const struct launch_input *input = analysis->input;
    uint32_t size = ptx_type_bytes(type);

    for (uint32_t p = 0; p < input->pointer_count; p++) {
        uint32_t start = input->pointers[p].offset;
        if (start + 8 <= offset || start >= offset + size) continue;
        if (start == offset && size == 8 && bits == 64)
            return base_pointer(analysis, (struct base){.kind = BASE_ARGUMENT, .argument_offset = start}, 0);
        return value_unknown(analysis, bits, true,
                             legality_at(analysis, analysis->instruction, "part of a pointer"));
    }
    if ((uint64_t)offset + size > input->arguments_size)
        return evaluate_give_up(analysis, NULL, 0, bits, "beyond the recorded arguments");
    const struct value *shift = shifts_load(analysis, offset, size, bits);
    if (shift) return shift;
    return number_of_bytes(analysis, input->arguments + offset, type,
                           sources_of(analysis, NULL, offset, size), bits);
}

static const struct value *load_variable(struct analysis *analysis, const struct base *base, wide offset,
                                         enum ptx_type type, unsigned bits)
{
    const struct launch_input *input = analysis->input;
    uint32_t size = ptx_type_bytes(type);

    for (uint32_t v = 0; v < input->variable_count; v++) {
        const struct launch_variable *variable = &input->variables[v];
        if (strcmp(variable->name, base->variable) != 0 || !variable->contents) continue;
        if (offset < 0 || offset + size > (wide)variable->size || offset > UINT32_MAX) break;
        if (base->space != PTX_CONST && !analysis->trusts_device_variables) break;
        if (base->space != PTX_CONST) analysis->used_device_variable = true;
        return number_of_bytes(analysis, variable->contents + offset, type,
                               sources_of(analysis, base->variable, (uint32_t)offset, size), bits);
    }
    return evaluate_give_up(analysis, NULL, 0, bits, "loaded from memory");
}

const struct value *evaluate_load(struct analysis *analysis, const struct ptx_instruction *instruction,
                                  unsigned element, unsigned bits)
{
    const struct ptx_operand *operand = evaluate_find_address(instruction);
    const struct value *address = operand ? evaluate_address(analysis, operand) : NULL;
    enum ptx_type type =
        instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_NO_TYPE;

    if (!address || address->kind != VALUE_POINTER || !address->form || !range_is_point(address->range) ||
        ptx_type_is_float(type) || bits == 1)
        return evaluate_give_up(analysis, NULL, 0, bits, "loaded from memory");
    const struct base *base = &analysis->bases[address->base];
    wide offset = address->range.low + (wide)element * ptx_type_bytes(type);
    const struct value *loaded = NULL;
    if (base->kind == BASE_PARAMETER && offset >= 0 && offset < UINT32_MAX)
        loaded = load_parameter(analysis, (uint32_t)offset, type, bits);
    else if (base->kind == BASE_VARIABLE && !ptx_has_modifier(instruction, PTX_MOD_VOLATILE))
        loaded = load_variable(analysis, base, offset, type, bits);
    if (!loaded) return evaluate_give_up(analysis, NULL, 0, bits, "loaded from memory");
    return value_with_sources(analysis, loaded, address->sources);
}
