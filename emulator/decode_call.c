/* SPDX-License-Identifier: Apache-2.0
 * Calls -- ISA 7, 9.7.12.5. The callee's body is decoded in place, its parameters being the caller's .param
 * variables. A call through a register becomes a chain of comparisons with the functions of the module that
 * fit. Of functions without a body the machine has vprintf and __assertfail. */
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

/* Places of a callee's parameters, in the instance in their order, and of its returns behind them. */
static void decode_bind_all(struct decoder *decoder, struct decode_instance *instance,
                            const struct ptx_operand *returns, const struct ptx_operand *arguments,
                            bool *is_new_return)
{
    const struct ptx_function *callee = instance->function;
    for (uint32_t i = 0; i < callee->parameter_count; i++) {
        bool is_new;
        const struct ptx_operand *actual = &arguments->elements[i];
        struct decode_place place = decode_bind(decoder, actual, &callee->parameters[i], &is_new);
        if (is_new) decode_memory_step(decoder, STEP_STORE, actual, &place, &callee->parameters[i]);
        decode_place_add(decoder, instance, place);
    }
    for (uint32_t i = 0; i < callee->return_count; i++)
        decode_place_add(decoder, instance,
                         decode_bind(decoder, &returns->elements[i], &callee->returns[i], &is_new_return[i]));
}

static void decode_take_returns(struct decoder *decoder, const struct decode_instance *instance,
                                const struct ptx_operand *returns, const bool *is_new_return)
{
    const struct ptx_function *callee = instance->function;
    for (uint32_t i = 0; i < callee->return_count; i++) {
        if (is_new_return[i])
            decode_memory_step(decoder, STEP_LOAD, &returns->elements[i],
                               &instance->places[callee->parameter_count + i], &callee->returns[i]);
    }
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
    bool is_new_return[return_count + 1];
    decode_bind_all(decoder, &instance, returns, arguments, is_new_return);
    if (!decode_body(decoder, &instance)) return false;
    decode_take_returns(decoder, &instance, returns, is_new_return);
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

static const struct call_form {
    const char *name;
    int function;
    uint32_t argument_count, result_bytes;
    uint8_t bytes[5]; /* of arguments */
} call_forms[] = {
    {"vprintf", CALL_VPRINTF, 2, 4, {8, 8}},
    {"__assertfail", CALL_ASSERTFAIL, 5, 0, {8, 8, 4, 8, 8}},
};

static bool call_fits(const struct call_form *form, const struct ptx_function *callee)
{
    bool fits = strcmp(form->name, callee->name) == 0 && callee->parameter_count == form->argument_count &&
                callee->return_count == (form->result_bytes != 0) &&
                (form->result_bytes == 0 || callee->returns[0].size == form->result_bytes);
    for (uint32_t i = 0; fits && i < form->argument_count; i++)
        fits = callee->parameters[i].size == form->bytes[i];
    return fits;
}

/* A function of the machine's. */
static bool decode_known(struct decoder *decoder, const struct call_form *form,
                         const struct ptx_function *callee, const struct ptx_operand *returns,
                         const struct ptx_operand *arguments)
{
    if ((arguments ? arguments->element_count : 0) != callee->parameter_count ||
        (returns ? returns->element_count : 0) != callee->return_count)
        return decode_fail(decoder, "%s takes other parameters", callee->name);
    struct decode_instance instance = {.caller = decoder->instance, .function = callee};
    struct step_call *call = arena_alloc(decoder->arena, sizeof *call);
    bool is_new_return[2];
    decode_bind_all(decoder, &instance, returns, arguments, is_new_return);
    call->function = form->function;
    call->memory.space = PTX_GENERIC;
    for (uint32_t i = 0; i < form->argument_count; i++)
        call->arguments[i] = (uint32_t)instance.places[i].address;
    if (form->result_bytes) call->result = (uint32_t)instance.places[form->argument_count].address;
    if (form->function == CALL_VPRINTF) decoder->code->is_order_sensitive = true;
    decode_step(decoder, STEP_CALL)->call = call;
    decode_take_returns(decoder, &instance, returns, is_new_return);
    return true;
}

static bool decode_external(struct decoder *decoder, const char *name, const struct ptx_function *callee,
                            const struct ptx_operand *returns, const struct ptx_operand *arguments)
{
    for (size_t i = 0; callee && i < sizeof call_forms / sizeof *call_forms; i++)
        if (call_fits(&call_forms[i], callee))
            return decode_known(decoder, &call_forms[i], callee, returns, arguments);
    struct step *step = decode_step(decoder, STEP_TRAP);
    step->extra =
        (uint64_t)(uintptr_t)arena_printf(decoder->arena, "a call of %s, which is not emulated", name);
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
        is_done =
            callee == NULL || callee->is_declaration
                ? decode_external(decoder, target->symbol ? target->symbol : "?", callee, returns, arguments)
                : decode_inline(decoder, callee, returns, arguments);
    }
    if (skip != DECODE_NONE) decoder->code->steps[skip].target = decoder->code->count;
    return is_done;
}
