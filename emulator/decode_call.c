/* SPDX-License-Identifier: Apache-2.0
 * Calls -- ISA 7, 9.7.12.5. The callee's body is decoded in place, its parameters being the caller's .param
 * variables. A call through a register becomes a chain of comparisons with the functions of the module that
 * fit. */
#include "emulator/decode.h"

#include <string.h>

static bool decode_memory_step(struct decoder *decoder, enum step_kind kind,
                               const struct ptx_operand *operand, const struct decode_place *place,
                               const struct ptx_variable *variable)
{
    uint32_t width;
    struct step_memory *memory = arena_alloc(decoder->arena, sizeof *memory);
    memory->space = PTX_LOCAL;
    memory->type = variable->type;
    memory->bytes = (uint8_t)ptx_type_bytes(variable->type);
    memory->count = 1;
    memory->is_signed = ptx_type_is_signed(variable->type);
    memory->offset = place->address;
    if (kind == STEP_LOAD) {
        memory->values[0] = decode_destination(decoder, operand, &width);
    } else {
        width = decode_register_width(variable->type);
        memory->values[0] = decode_source(decoder, operand, variable->type);
    }
    memory->value_width = (uint8_t)(width == DECODE_NONE ? 8 : width);
    decode_step(decoder, kind)->memory = memory;
    return true;
}

/* Where the callee's parameter lies: in the caller's .param variable, or in a new place (is_new). */
static struct decode_place decode_bind(struct decoder *decoder, const struct ptx_operand *actual,
                                       const struct ptx_variable *formal, bool *is_new)
{
    struct decode_place place = {.variable = formal, .space = PTX_LOCAL};
    *is_new = actual->kind != PTX_OPERAND_SYMBOL || actual->variable == NULL ||
              actual->variable->space != PTX_PARAM;
    if (*is_new) {
        place.address = decode_local(decoder, formal->size ? formal->size : 8, 8);
    } else if (decode_place_of(decoder, actual->variable, &place)) {
        place.variable = formal;
    }
    return place;
}

static bool decode_is_running(const struct decoder *decoder, const struct ptx_function *function)
{
    for (const struct decode_instance *instance = decoder->instance; instance != NULL;
         instance = instance->caller) {
        if (instance->function == function) return true;
    }
    return false;
}

static bool decode_inline(struct decoder *decoder, const struct ptx_function *callee,
                          const struct ptx_operand *returns, const struct ptx_operand *arguments)
{
    uint32_t argument_count = arguments ? arguments->element_count : 0;
    uint32_t return_count = returns ? returns->element_count : 0;
    if (decode_is_running(decoder, callee))
        return decode_fail(decoder, "recursive calls are not emulated (%s)", callee->name);
    if (decoder->instance->depth == DECODE_DEPTH_MOST) return decode_fail(decoder, "calls nested too deeply");
    if (argument_count != callee->parameter_count || return_count != callee->return_count)
        return decode_fail(decoder, "%s takes other parameters", callee->name);
    struct decode_instance instance = {
        .caller = decoder->instance, .function = callee, .depth = decoder->instance->depth + 1};
    for (uint32_t i = 0; i < argument_count; i++) {
        bool is_new;
        const struct ptx_operand *actual = &arguments->elements[i];
        struct decode_place place = decode_bind(decoder, actual, &callee->parameters[i], &is_new);
        if (is_new) decode_memory_step(decoder, STEP_STORE, actual, &place, &callee->parameters[i]);
        decode_place_add(decoder, &instance, place);
    }
    bool is_new_return[return_count + 1];
    for (uint32_t i = 0; i < return_count; i++) {
        struct decode_place place =
            decode_bind(decoder, &returns->elements[i], &callee->returns[i], &is_new_return[i]);
        decode_place_add(decoder, &instance, place);
    }
    if (!decode_body(decoder, &instance)) return false;
    for (uint32_t i = 0; i < return_count; i++) {
        if (is_new_return[i])
            decode_memory_step(decoder, STEP_LOAD, &returns->elements[i],
                               &instance.places[argument_count + i], &callee->returns[i]);
    }
    return true;
}

static bool decode_fits(const struct ptx_function *function, const struct ptx_operand *returns,
                        const struct ptx_operand *arguments)
{
    if (function->is_entry || function->is_declaration || function->unreadable != NULL ||
        function->parameter_count != (arguments ? arguments->element_count : 0) ||
        function->return_count != (returns ? returns->element_count : 0))
        return false;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *actual = arguments->elements[i].variable;
        if (actual != NULL && actual->space == PTX_PARAM && actual->size != function->parameters[i].size)
            return false;
    }
    return true;
}

static bool decode_indirect(struct decoder *decoder, const struct ptx_operand *target,
                            const struct ptx_operand *returns, const struct ptx_operand *arguments)
{
    const struct ptx_module *module = decoder->program->module;
    uint32_t address = decode_source(decoder, target, PTX_U64), count = 0;
    uint32_t *ends = arena_calloc(decoder->arena, module->function_count, sizeof *ends);
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = module->functions[i];
        if (!decode_fits(function, returns, arguments) || decode_is_running(decoder, function)) continue;
        uint32_t is_it = decode_temporary(decoder, 0);
        uint32_t wanted =
            decode_constant(decoder, 8, program_function_address(decoder->program, function->name));
        decode_lanes(decoder, decoder->lanes->compare(LANE_EQ, PTX_U64, 0), 0, is_it, address, wanted,
                     decoder->always, decoder->always, 0);
        decoder->guard = is_it;
        decoder->guard_flip = UINT32_MAX;
        uint32_t skip = decoder->code->count;
        decode_step(decoder, STEP_BRANCH);
        decoder->guard = decoder->always;
        decoder->guard_flip = 0;
        if (!decode_inline(decoder, function, returns, arguments)) return false;
        ends[count++] = decoder->code->count;
        decode_step(decoder, STEP_BRANCH);
        decoder->code->steps[skip].target = decoder->code->count;
    }
    struct step *none = decode_step(decoder, STEP_TRAP);
    none->extra = (uint64_t)(uintptr_t) "a call through a pointer to no function that fits";
    for (uint32_t i = 0; i < count; i++) decoder->code->steps[ends[i]].target = decoder->code->count;
    return true;
}

static bool decode_external(struct decoder *decoder, const char *name)
{
    struct step *step = decode_step(decoder, STEP_TRAP);
    const char *reason = strcmp(name, "__assertfail") == 0 || strcmp(name, "__assert_fail") == 0
                             ? "an assertion failed"
                             : arena_printf(decoder->arena, "a call of %s, which is not emulated", name);
    step->extra = (uint64_t)(uintptr_t)reason;
    return true;
}

bool decode_call(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *returns = NULL, *arguments = NULL, *target = NULL;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct ptx_operand *operand = &instruction->operands[i];
        if (operand->kind == PTX_OPERAND_LIST && target == NULL)
            returns = operand;
        else if (operand->kind == PTX_OPERAND_LIST)
            arguments = operand;
        else if (target == NULL)
            target = operand;
    }
    if (target == NULL) return decode_fail(decoder, "a call of nothing");
    uint32_t skip = DECODE_NONE;
    if (instruction->guard >= 0) {
        decoder->guard_flip = ~decoder->guard_flip;
        skip = decoder->code->count;
        decode_step(decoder, STEP_BRANCH);
        decoder->guard = decoder->always;
        decoder->guard_flip = 0;
    }
    bool is_done;
    if (target->kind == PTX_OPERAND_REGISTER) {
        is_done = decode_indirect(decoder, target, returns, arguments);
    } else {
        const struct ptx_function *callee =
            target->symbol ? ptx_find_function(decoder->program->module, target->symbol) : NULL;
        is_done = callee == NULL || callee->is_declaration
                      ? decode_external(decoder, target->symbol ? target->symbol : "?")
                      : decode_inline(decoder, callee, returns, arguments);
    }
    if (skip != DECODE_NONE) decoder->code->steps[skip].target = decoder->code->count;
    return is_done;
}
