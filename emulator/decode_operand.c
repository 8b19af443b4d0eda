/* SPDX-License-Identifier: Apache-2.0
 * Operands to slots of the frame: registers, constants, special registers, addresses of variables. */
#include "emulator/decode.h"
#include "emulator/memory.h"

#include <string.h>

uint32_t decode_register_width(enum ptx_type type)
{
    unsigned bytes = ptx_type_bytes(type);
    return type == PTX_PRED ? 0 : bytes < 2 ? 2 : bytes;
}

static uint32_t decode_slot(struct decoder *decoder, uint32_t width)
{
    struct code *code = decoder->code;
    uint32_t alignment = width == 0 ? 4 : 64;
    uint32_t slot = (code->frame_bytes + alignment - 1) / alignment * alignment;
    code->frame_bytes = slot + (width == 0 ? 4 : width * LANE_COUNT);
    return slot;
}

uint32_t decode_temporary(struct decoder *decoder, uint32_t width)
{
    return decode_slot(decoder, width);
}

static uint32_t add_constant(struct decoder *decoder, uint32_t width, uint64_t value)
{
    struct code *code = decoder->code;
    if (code->constant_count == decoder->constant_capacity) {
        decoder->constant_capacity = decoder->constant_capacity ? decoder->constant_capacity * 2 : 32;
        code->constants = arena_grow(decoder->arena, code->constants, code->constant_count,
                                     decoder->constant_capacity, sizeof *code->constants);
    }
    struct code_slot constant = {.slot = decode_slot(decoder, width), .width = width, .value = value};
    code->constants[code->constant_count++] = constant;
    return constant.slot;
}

uint32_t decode_constant(struct decoder *decoder, uint32_t width, uint64_t value)
{
    const struct code *code = decoder->code;
    if (width < 8 && width > 0) value &= (1ull << width * 8) - 1;
    for (uint32_t i = 0; i < code->constant_count; i++) {
        const struct code_slot *constant = &code->constants[i];
        if (constant->width == width && constant->value == value && !constant->is_late) return constant->slot;
    }
    return add_constant(decoder, width, value);
}

static uint32_t decode_special(struct decoder *decoder, enum ptx_special special, uint32_t width)
{
    struct code *code = decoder->code;
    for (uint32_t i = 0; i < code->special_count; i++) {
        if (code->specials[i].width == width && code->specials[i].special == special)
            return code->specials[i].slot;
    }
    if (code->special_count == decoder->special_capacity) {
        decoder->special_capacity = decoder->special_capacity ? decoder->special_capacity * 2 : 16;
        code->specials = arena_grow(decoder->arena, code->specials, code->special_count,
                                    decoder->special_capacity, sizeof *code->specials);
    }
    struct code_slot slot = {.slot = decode_slot(decoder, width), .width = width, .special = special};
    code->specials[code->special_count++] = slot;
    return slot.slot;
}

static bool decode_is_clock(enum ptx_special special)
{
    return special == PTX_SPECIAL_CLOCK || special == PTX_SPECIAL_CLOCK_HI ||
           special == PTX_SPECIAL_CLOCK64 || special == PTX_SPECIAL_GLOBALTIMER ||
           special == PTX_SPECIAL_GLOBALTIMER_LO || special == PTX_SPECIAL_GLOBALTIMER_HI;
}

static uint32_t decode_special_source(struct decoder *decoder, const struct ptx_operand *operand,
                                      uint32_t width)
{
    if (operand->special == PTX_SPECIAL_OTHER) {
        decode_fail(decoder, "the special register is not emulated");
        return decoder->sink;
    }
    if (!decode_is_clock(operand->special)) return decode_special(decoder, operand->special, width);
    uint32_t slot = decode_temporary(decoder, width);
    struct step *step = decode_step(decoder, STEP_CLOCK);
    step->d = slot;
    step->width = (uint8_t)width;
    step->extra = operand->special;
    return slot;
}

void decode_place_add(struct decoder *decoder, struct decode_instance *instance, struct decode_place place)
{
    if (instance->place_count == instance->place_capacity) {
        instance->place_capacity = instance->place_capacity ? instance->place_capacity * 2 : 8;
        instance->places = arena_grow(decoder->arena, instance->places, instance->place_count,
                                      instance->place_capacity, sizeof *instance->places);
    }
    instance->places[instance->place_count++] = place;
}

uint32_t decode_local(struct decoder *decoder, uint64_t size, uint32_t alignment)
{
    struct code *code = decoder->code;
    if (alignment == 0) alignment = 1;
    uint64_t place = (code->local_bytes + (uint64_t)alignment - 1) / alignment * alignment;
    if (place + size > WINDOW_BYTES / 2) {
        decode_fail(decoder, "more local memory than a thread can have");
        return 0;
    }
    code->local_bytes = (uint32_t)(place + size);
    return (uint32_t)place;
}

static struct decode_place decode_shared(struct decoder *decoder, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < decoder->shared_count; i++) {
        if (decoder->shared[i].variable == variable) return decoder->shared[i];
    }
    struct code *code = decoder->code;
    struct decode_place place = {.variable = variable, .space = PTX_SHARED};
    uint32_t alignment = variable->alignment ? variable->alignment : ptx_type_bytes(variable->type);
    if (variable->size == 0) {
        place.is_dynamic = true;
        if (alignment > code->dynamic_alignment) code->dynamic_alignment = alignment;
    } else {
        place.address = (code->shared_bytes + (uint64_t)alignment - 1) / alignment * alignment;
        code->shared_bytes = (uint32_t)(place.address + variable->size);
    }
    if (decoder->shared_count == decoder->shared_capacity) {
        decoder->shared_capacity = decoder->shared_capacity ? decoder->shared_capacity * 2 : 8;
        decoder->shared = arena_grow(decoder->arena, decoder->shared, decoder->shared_count,
                                     decoder->shared_capacity, sizeof *decoder->shared);
    }
    return decoder->shared[decoder->shared_count++] = place;
}

bool decode_place_of(struct decoder *decoder, const struct ptx_variable *variable, struct decode_place *place)
{
    for (struct decode_instance *instance = decoder->instance; instance != NULL;
         instance = instance->caller) {
        for (uint32_t i = 0; i < instance->place_count; i++) {
            if (instance->places[i].variable == variable) {
                *place = instance->places[i];
                return true;
            }
        }
    }
    if (variable->space == PTX_SHARED) {
        *place = decode_shared(decoder, variable);
        return true;
    }
    if (variable->space == PTX_LOCAL || variable->space == PTX_PARAM) {
        *place = (struct decode_place){.variable = variable, .space = PTX_LOCAL};
        place->address = decode_local(decoder, variable->size, variable->alignment);
        decode_place_add(decoder, decoder->instance, *place);
        return true;
    }
    *place = (struct decode_place){.variable = variable, .space = variable->space};
    place->address = program_address(decoder->program, variable);
    return place->address != 0 || decode_fail(decoder, "variable %s has no address", variable->name);
}

void decode_late(struct decoder *decoder, uint64_t *value)
{
    if (decoder->late_count == decoder->late_capacity) {
        decoder->late_capacity = decoder->late_capacity ? decoder->late_capacity * 2 : 8;
        decoder->late = arena_grow(decoder->arena, decoder->late, decoder->late_count, decoder->late_capacity,
                                   sizeof *decoder->late);
    }
    decoder->late[decoder->late_count++] = value;
}

static uint32_t decode_dynamic_constant(struct decoder *decoder, uint32_t width, uint64_t offset)
{
    uint32_t slot = add_constant(decoder, width, offset);
    decoder->code->constants[decoder->code->constant_count - 1].is_late = true;
    return slot;
}

static uint32_t decode_symbol(struct decoder *decoder, const struct ptx_operand *operand, uint32_t width)
{
    if (operand->variable == NULL) {
        uint64_t address = program_function_address(decoder->program, operand->symbol);
        if (address == 0) decode_fail(decoder, "unknown symbol %s", operand->symbol);
        return decode_constant(decoder, width, address);
    }
    struct decode_place place;
    if (!decode_place_of(decoder, operand->variable, &place)) return decoder->sink;
    uint64_t address = place.address + (uint64_t)operand->value;
    return place.is_dynamic ? decode_dynamic_constant(decoder, width, address)
                            : decode_constant(decoder, width, address);
}

static uint64_t decode_float_bits(const struct ptx_operand *operand, enum ptx_type type)
{
    uint64_t bits = (uint64_t)operand->value;
    double wide;
    float narrow;
    if (type == PTX_F32 && operand->is_float64) {
        memcpy(&wide, &bits, sizeof wide);
        narrow = (float)wide;
        bits = 0;
        memcpy(&bits, &narrow, sizeof narrow);
    } else if (type == PTX_F64 && !operand->is_float64) {
        memcpy(&narrow, &bits, sizeof narrow);
        wide = narrow;
        memcpy(&bits, &wide, sizeof wide);
    }
    return bits;
}

static uint32_t decode_register(struct decoder *decoder, const struct ptx_operand *operand, uint32_t *width)
{
    const struct ptx_register *reg = &decoder->instance->function->registers[operand->reg];
    *width = decode_register_width(reg->type);
    uint32_t part = operand->component ? operand->component - 1u : 0;
    return decoder->instance->slots[operand->reg] + part * *width * LANE_COUNT;
}

uint32_t decode_operand_width(const struct decoder *decoder, const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPERAND_REGISTER) return DECODE_NONE;
    return decode_register_width(decoder->instance->function->registers[operand->reg].type);
}

static uint32_t decode_register_source(struct decoder *decoder, const struct ptx_operand *operand,
                                       uint32_t width)
{
    uint32_t own, slot = decode_register(decoder, operand, &own);
    if (own != width && (own == 0 || width == 0 || own > 8 || width > 8)) {
        decode_fail(decoder, "register %s has the wrong size",
                    decoder->instance->function->registers[operand->reg].name);
        return decoder->sink;
    }
    if (width == 0 && operand->is_negated) {
        uint32_t inverse = decode_temporary(decoder, 0);
        decode_lanes(decoder, decoder->lanes->predicate(PTX_OP_NOT), 0, inverse, slot, slot, slot, slot, 0);
        return inverse;
    }
    if (own == width) return slot;
    static const enum ptx_type by_width[9] = {[2] = PTX_U16, [4] = PTX_U32, [8] = PTX_U64};
    uint32_t copy = decode_temporary(decoder, width);
    decode_lanes(decoder, decoder->lanes->widen(width, by_width[own < width ? own : width], own), width, copy,
                 slot, slot, slot, slot, 0);
    return copy;
}

uint32_t decode_source(struct decoder *decoder, const struct ptx_operand *operand, enum ptx_type type)
{
    uint32_t width = decode_register_width(type);
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        return decode_register_source(decoder, operand, width);
    case PTX_OPERAND_INTEGER:
        if (width == 0)
            return decode_constant(decoder, 0, (operand->value != 0) != operand->is_negated ? UINT32_MAX : 0);
        return decode_constant(decoder, width, (uint64_t)operand->value);
    case PTX_OPERAND_FLOAT:
        return decode_constant(decoder, width, decode_float_bits(operand, type));
    case PTX_OPERAND_SPECIAL:
        return decode_special_source(decoder, operand, width);
    case PTX_OPERAND_SYMBOL:
        return decode_symbol(decoder, operand, width);
    case PTX_OPERAND_NONE:
        return decode_constant(decoder, width, 0);
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_LABEL:
        break;
    }
    decode_fail(decoder, "an operand of an unexpected kind");
    return decoder->sink;
}

uint32_t decode_destination(struct decoder *decoder, const struct ptx_operand *operand, uint32_t *width)
{
    if (operand->kind == PTX_OPERAND_REGISTER) return decode_register(decoder, operand, width);
    if (operand->kind != PTX_OPERAND_NONE) decode_fail(decoder, "a destination of an unexpected kind");
    *width = DECODE_NONE;
    return decoder->sink;
}
