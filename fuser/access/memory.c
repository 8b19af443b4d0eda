/* SPDX-License-Identifier: Apache-2.0
 * Loads whose contents are known: parameters, and module variables that the trace holds. */
#include "fuser/access/analysis.h"

#include <string.h>

static const struct value *number_of_bytes(struct analysis *analysis, const unsigned char *bytes,
                                           enum ptx_type type, const uint64_t *sources, unsigned bits)
{
    unsigned size = ptx_type_bytes(type);
    uint64_t number = 0;

    if (size > 8 || 8 * size > bits)
        return value_give_up(analysis, NULL, 0, bits, "a word of more than 64 bits");
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
            return bases_pointer(analysis, (struct base){.kind = BASE_ARGUMENT, .argument_offset = start}, 0);
        return value_unknown(analysis, bits, true,
                             reason_at(analysis, analysis->instruction, "part of a pointer"));
    }
    if ((uint64_t)offset + size > input->arguments_size)
        return value_give_up(analysis, NULL, 0, bits, "beyond the recorded arguments");
    const struct value *shift = shifts_load(analysis, offset, size, bits);
    if (shift) return shift;
    for (uint32_t w = 0; w < input->open_count; w++)
        if (input->open[w].offset < offset + size && offset < input->open[w].offset + input->open[w].size)
            return value_give_up(analysis, NULL, 0, bits, "an argument that may have any value");
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
    return value_give_up(analysis, NULL, 0, bits, "loaded from memory");
}

const struct value *memory_load(struct analysis *analysis, const struct ptx_instruction *instruction,
                                unsigned element, unsigned bits)
{
    const struct ptx_operand *operand = ptx_address_operand(instruction);
    const struct value *address = operand ? operand_address(analysis, operand) : NULL;
    enum ptx_type type =
        instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_NO_TYPE;

    if (!address || address->kind != VALUE_POINTER || !address->form || !range_is_point(address->range) ||
        ptx_type_is_float(type) || bits == 1)
        return value_give_up(analysis, NULL, 0, bits, "loaded from memory");
    const struct base *base = &analysis->bases[address->base];
    wide offset = address->range.low + (wide)element * ptx_type_bytes(type);
    const struct value *loaded = NULL;
    if (base->kind == BASE_PARAMETER && offset >= 0 && offset < UINT32_MAX)
        loaded = load_parameter(analysis, (uint32_t)offset, type, bits);
    else if (base->kind == BASE_VARIABLE && !ptx_has_modifier(instruction, PTX_MOD_VOLATILE))
        loaded = load_variable(analysis, base, offset, type, bits);
    if (!loaded) return value_give_up(analysis, NULL, 0, bits, "loaded from memory");
    return value_with_sources(analysis, loaded, address->sources);
}
