/* SPDX-License-Identifier: Apache-2.0
 * Loads, stores, atomics, and what works on addresses: cvta, isspacep -- ISA 9.7.9. */
#include "emulator/decode.h"
#include "emulator/memory.h"

static bool decode_symbol_address(struct decoder *decoder, const struct ptx_operand *operand,
                                  struct step_memory *memory)
{
    struct decode_place place;
    if (operand->variable == NULL) return decode_fail(decoder, "unknown symbol %s", operand->symbol);
    if (!decode_place_of(decoder, operand->variable, &place)) return false;
    memory->space = place.space;
    memory->offset += place.address;
    if (place.is_dynamic) decode_late(decoder, &memory->offset);
    return true;
}

static bool decode_address(struct decoder *decoder, const struct ptx_operand *operand,
                           struct step_memory *memory)
{
    if (operand->kind != PTX_OPERAND_ADDRESS) return decode_fail(decoder, "an address was expected");
    memory->offset = (uint64_t)operand->value;
    if (operand->symbol != NULL && !decode_symbol_address(decoder, operand, memory)) return false;
    if (operand->reg >= 0) {
        struct ptx_operand base = {.kind = PTX_OPERAND_REGISTER, .reg = operand->reg};
        uint32_t width = decode_operand_width(decoder, &base);
        if (width != 4 && width != 8)
            return decode_fail(decoder, "an address in a register of %u bytes", width);
        memory->base_width = (uint8_t)width;
        memory->base = decoder->instance->slots[operand->reg];
    }
    return true;
}

static bool decode_is_strong(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_VOLATILE) ||
           ptx_has_modifier(instruction, PTX_MOD_RELAXED) || ptx_has_modifier(instruction, PTX_MOD_ACQUIRE) ||
           ptx_has_modifier(instruction, PTX_MOD_RELEASE) || ptx_has_modifier(instruction, PTX_MOD_MMIO);
}

static struct step_memory *decode_memory(struct decoder *decoder, const struct ptx_instruction *instruction,
                                         const struct ptx_operand *address)
{
    struct step_memory *memory = arena_alloc(decoder->arena, sizeof *memory);
    memory->space = instruction->space;
    memory->type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
    memory->bytes = (uint8_t)ptx_type_bytes(memory->type);
    memory->count = instruction->vector ? instruction->vector : 1;
    memory->is_signed = ptx_type_is_signed(memory->type);
    memory->is_strong = decode_is_strong(instruction);
    if (memory->bytes == 0 || memory->bytes > 8 || memory->count > 8) {
        decode_fail(decoder, "this type is not emulated");
        return NULL;
    }
    return decode_address(decoder, address, memory) ? memory : NULL;
}

static bool decode_values(struct decoder *decoder, const struct ptx_operand *operand,
                          struct step_memory *memory, bool is_load)
{
    uint32_t count = operand->kind == PTX_OPERAND_VECTOR ? operand->element_count : 1;
    if (count != memory->count) return decode_fail(decoder, "a vector of %u was expected", memory->count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *element =
            operand->kind == PTX_OPERAND_VECTOR ? &operand->elements[i] : operand;
        uint32_t width = decode_operand_width(decoder, element);
        if (is_load) {
            memory->values[i] = decode_destination(decoder, element, &width);
            if (width == DECODE_NONE) {
                memory->values[i] = UINT32_MAX;
                continue;
            }
        } else {
            if (width == DECODE_NONE) width = decode_register_width(memory->type);
            static const enum ptx_type types[9] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
            enum ptx_type type = decode_operand_width(decoder, element) == DECODE_NONE ? memory->type
                                 : width <= 8                                          ? types[width]
                                                                                       : PTX_NO_TYPE;
            memory->values[i] = decode_source(decoder, element, type);
        }
        if (width < 2 || width > 8 || width < memory->bytes ||
            (memory->value_width && memory->value_width != width))
            return decode_fail(decoder, "registers of these sizes are not emulated");
        memory->value_width = (uint8_t)width;
    }
    return true;
}

/* ld.param of a scalar: the value is put into a slot before the launch. */
static bool decode_parameter(struct decoder *decoder, const struct step_memory *memory)
{
    struct code *code = decoder->code;
    struct code_parameter parameter = {.offset = (uint32_t)memory->offset,
                                       .bytes = memory->bytes,
                                       .width = memory->value_width,
                                       .is_signed = memory->is_signed};
    for (uint32_t i = 0; i < memory->count; i++) {
        if (memory->values[i] == UINT32_MAX) continue;
        if (code->parameter_count == decoder->parameter_capacity) {
            decoder->parameter_capacity = decoder->parameter_capacity ? decoder->parameter_capacity * 2 : 16;
            code->parameters = arena_grow(decoder->arena, code->parameters, code->parameter_count,
                                          decoder->parameter_capacity, sizeof *code->parameters);
        }
        parameter.slot = decode_temporary(decoder, memory->value_width);
        parameter.offset = (uint32_t)memory->offset + i * memory->bytes;
        code->parameters[code->parameter_count++] = parameter;
        if (!decode_lanes(decoder, decoder->lanes->move(memory->value_width), memory->value_width,
                          memory->values[i], parameter.slot, decoder->sink, decoder->sink, decoder->sink, 0))
            return false;
    }
    return true;
}

bool decode_load(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (instruction->operand_count < 2) return decode_fail(decoder, "operands are missing");
    struct step_memory *memory = decode_memory(decoder, instruction, &instruction->operands[1]);
    if (memory == NULL || !decode_values(decoder, &instruction->operands[0], memory, true)) return false;
    bool is_inside =
        memory->offset + (uint64_t)memory->bytes * memory->count <= decoder->kernel->parameter_bytes;
    if (memory->space == PTX_PARAM && memory->base_width == 0 && is_inside)
        return decode_parameter(decoder, memory);
    decode_step(decoder, STEP_LOAD)->memory = memory;
    return true;
}

bool decode_store(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (instruction->operand_count < 2) return decode_fail(decoder, "operands are missing");
    struct step_memory *memory = decode_memory(decoder, instruction, &instruction->operands[0]);
    if (memory == NULL || !decode_values(decoder, &instruction->operands[1], memory, false)) return false;
    decode_step(decoder, STEP_STORE)->memory = memory;
    return true;
}

static enum ptx_modifier decode_operation(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier operations[] = {PTX_MOD_ADD,  PTX_MOD_INC, PTX_MOD_DEC, PTX_MOD_MIN,
                                                   PTX_MOD_MAX,  PTX_MOD_AND, PTX_MOD_OR,  PTX_MOD_XOR,
                                                   PTX_MOD_EXCH, PTX_MOD_CAS};
    for (uint32_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (ptx_has_modifier(instruction, operations[i])) return operations[i];
    }
    return PTX_MOD_NONE;
}

bool decode_atomic(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t first = instruction->opcode == PTX_OP_ATOM ? 1 : 0, width = 0;
    if (instruction->operand_count < first + 2) return decode_fail(decoder, "operands are missing");
    struct step_memory *memory = decode_memory(decoder, instruction, &instruction->operands[first]);
    if (memory == NULL) return false;
    memory->operation = decode_operation(instruction);
    memory->is_strong = true;
    memory->is_device = !ptx_has_modifier(instruction, PTX_MOD_CTA);
    memory->acquires =
        ptx_has_modifier(instruction, PTX_MOD_ACQUIRE) || ptx_has_modifier(instruction, PTX_MOD_ACQ_REL);
    memory->releases =
        ptx_has_modifier(instruction, PTX_MOD_RELEASE) || ptx_has_modifier(instruction, PTX_MOD_ACQ_REL);
    memory->value_width = (uint8_t)decode_register_width(memory->type);
    memory->is_sink = first == 0 || instruction->operands[0].kind == PTX_OPERAND_NONE;
    if (memory->operation == PTX_MOD_NONE || memory->count != 1)
        return decode_fail(decoder, "this atomic operation is not emulated");
    memory->values[0] = decode_source(decoder, &instruction->operands[first + 1], memory->type);
    if (memory->operation == PTX_MOD_CAS) {
        if (instruction->operand_count < first + 3) return decode_fail(decoder, "operands are missing");
        memory->values[1] = decode_source(decoder, &instruction->operands[first + 2], memory->type);
    }
    uint32_t destination =
        memory->is_sink ? decoder->sink : decode_destination(decoder, &instruction->operands[0], &width);
    if (!memory->is_sink && width != memory->value_width)
        return decode_fail(decoder, "a destination of another size");
    struct step *step = decode_step(decoder, STEP_ATOMIC);
    step->memory = memory;
    step->d = destination;
    step->width = memory->value_width;
    return true;
}

/* Offset of a space's window in the generic addresses; false for spaces that are generic as they are. */
static bool decode_window(enum ptx_space space, uint64_t *start)
{
    *start = emu_memory_window();
    switch (space) {
    case PTX_SHARED:
        *start += WINDOW_SHARED;
        return true;
    case PTX_LOCAL:
        *start += WINDOW_LOCAL;
        return true;
    case PTX_PARAM:
        *start += WINDOW_PARAM;
        return true;
    case PTX_GENERIC:
    case PTX_GLOBAL:
    case PTX_CONST:
    case PTX_SPACE_COUNT:
        break;
    }
    return false;
}

static bool decode_cvta_symbol(struct decoder *decoder, const struct ptx_operand *operand,
                               enum ptx_space *space)
{
    struct decode_place place;
    if (operand->kind != PTX_OPERAND_SYMBOL || operand->variable == NULL) return true;
    if (!decode_place_of(decoder, operand->variable, &place)) return false;
    *space = place.space;
    return true;
}

bool decode_cvta(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_U64;
    enum ptx_space space = instruction->space;
    uint32_t width;
    uint64_t start;
    if (instruction->operand_count != 2 || !decode_cvta_symbol(decoder, &instruction->operands[1], &space))
        return decode_fail(decoder, "operands are missing");
    uint32_t source = decode_source(decoder, &instruction->operands[1], type);
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    if (!decode_window(space, &start))
        return decode_lanes(decoder, decoder->lanes->move(width), width, d, source, source, source, source,
                            0);
    bool is_to = ptx_has_modifier(instruction, PTX_MOD_TO);
    return decode_lanes(
        decoder, decoder->lanes->integer(is_to ? PTX_OP_SUB : PTX_OP_ADD, type, PTX_NO_TYPE, LANE_PLAIN),
        width, d, source, decode_constant(decoder, width, start), source, source, 0);
}

bool decode_isspacep(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t width;
    uint64_t start;
    if (instruction->operand_count != 2) return decode_fail(decoder, "operands are missing");
    uint32_t source = decode_source(decoder, &instruction->operands[1], PTX_U64);
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    uint32_t offset = decode_temporary(decoder, 8);
    bool has_window = decode_window(instruction->space, &start);
    uint64_t bytes = has_window ? WINDOW_BYTES : EMU_WINDOW_BYTES;
    if (instruction->space == PTX_CONST) bytes = 0;
    lane_op subtract = decoder->lanes->integer(PTX_OP_SUB, PTX_U64, PTX_NO_TYPE, LANE_PLAIN);
    return decode_lanes(decoder, subtract, 8, offset, source, decode_constant(decoder, 8, start), source,
                        source, 0) &&
           decode_lanes(decoder, decoder->lanes->compare(LANE_LT, PTX_U64, LANE_PLAIN), 0, d, offset,
                        decode_constant(decoder, 8, bytes), decoder->always, decoder->always,
                        instruction->space == PTX_GLOBAL ? LANE_INVERT : 0);
}
