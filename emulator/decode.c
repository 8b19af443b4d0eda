/* SPDX-License-Identifier: Apache-2.0
 * A kernel to steps: its body and, in place of every call, the body of the function called. */
#include "emulator/decode.h"
#include "emulator/forms.h"

#include <stdarg.h>
#include <string.h>

bool decode_fail(struct decoder *decoder, const char *format, ...)
{
    if (decoder->code->fault != NULL) return false;
    va_list arguments;
    va_start(arguments, format);
    const char *reason = arena_vprintf(decoder->arena, format, arguments);
    va_end(arguments);
    const struct ptx_instruction *instruction = decoder->instruction;
    if (instruction == NULL) {
        decoder->code->fault = arena_printf(decoder->arena, "kernel %s: %s", decoder->kernel->name, reason);
        return false;
    }
    decoder->code->fault_line = instruction->line;
    decoder->code->fault =
        arena_printf(decoder->arena, "kernel %s, line %u: %s: %.*s", decoder->kernel->name, instruction->line,
                     reason, (int)instruction->text.length, instruction->text.text);
    return false;
}

struct step *decode_step(struct decoder *decoder, enum step_kind kind)
{
    struct code *code = decoder->code;
    if (code->count == DECODE_STEPS_MOST) {
        decode_fail(decoder, "the kernel with all functions that it calls is too large");
        code->count = 0;
    }
    if (code->count == decoder->step_capacity) {
        decoder->step_capacity = decoder->step_capacity ? decoder->step_capacity * 2 : 64;
        code->steps =
            arena_grow(decoder->arena, code->steps, code->count, decoder->step_capacity, sizeof *code->steps);
    }
    struct step *step = &code->steps[code->count++];
    *step = (struct step){.kind = (uint8_t)kind, .guard = decoder->guard, .guard_flip = decoder->guard_flip};
    step->issues = decoder->issues;
    step->source = decoder->instruction;
    step->a = step->b = step->c = step->e = step->d = decoder->always;
    decoder->issues = 0;
    return step;
}

bool decode_lanes(struct decoder *decoder, lane_op run, uint32_t width, uint32_t d, uint32_t a, uint32_t b,
                  uint32_t c, uint32_t e, uint64_t extra)
{
    if (run == NULL) return decode_fail(decoder, "this form is not emulated");
    struct step *step = decode_step(decoder, STEP_LANES);
    step->run = run;
    step->width = (uint8_t)width;
    step->d = d;
    step->a = a;
    step->b = b;
    step->c = c;
    step->e = e;
    step->extra = extra;
    return true;
}

static void decode_fixup_add(struct decoder *decoder, uint32_t step, uint32_t *target, uint32_t label)
{
    struct decode_instance *instance = decoder->instance;
    if (instance->fixup_count == instance->fixup_capacity) {
        instance->fixup_capacity = instance->fixup_capacity ? instance->fixup_capacity * 2 : 16;
        instance->fixups = arena_grow(decoder->arena, instance->fixups, instance->fixup_count,
                                      instance->fixup_capacity, sizeof *instance->fixups);
    }
    instance->fixups[instance->fixup_count++] = (struct decode_fixup){step, label, target};
}

static bool decode_branch(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (instruction->operand_count != 1 || instruction->operands[0].kind != PTX_OPERAND_LABEL ||
        instruction->operands[0].label < 0)
        return decode_fail(decoder, "a branch without a label");
    decode_step(decoder, STEP_BRANCH);
    decode_fixup_add(decoder, decoder->code->count - 1, NULL, (uint32_t)instruction->operands[0].label);
    return true;
}

static bool decode_branch_table(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    const struct ptx_function *function = decoder->instance->function;
    if (instruction->operand_count != 2)
        return decode_fail(decoder, "brx.idx takes an index and a list of labels");
    const struct ptx_operand *list = &instruction->operands[1];
    for (uint32_t i = 0; i < function->table_count; i++) {
        const struct ptx_table *table = &function->tables[i];
        if (table->label_count == 0 || strlen(table->name) != list->text.length ||
            memcmp(table->name, list->text.text, list->text.length) != 0)
            continue;
        uint32_t *targets = arena_calloc(decoder->arena, table->label_count, sizeof *targets);
        for (uint32_t k = 0; k < table->label_count; k++)
            decode_fixup_add(decoder, 0, &targets[k], (uint32_t)table->labels[k]);
        uint32_t index = decode_source(decoder, &instruction->operands[0], PTX_U32);
        struct step *step = decode_step(decoder, STEP_BRANCH_TABLE);
        step->a = index;
        step->targets = targets;
        step->extra = table->label_count;
        return true;
    }
    return decode_fail(decoder, "unknown list of branch targets");
}

static void decode_return(struct decoder *decoder)
{
    if (decoder->instance->caller == NULL) {
        decode_step(decoder, STEP_EXIT);
        return;
    }
    decode_step(decoder, STEP_BRANCH);
    decode_fixup_add(decoder, decoder->code->count - 1, NULL, DECODE_NONE);
}

static bool is_device_fence(const struct ptx_instruction *instruction)
{
    return !ptx_has_modifier(instruction, PTX_MOD_CTA) && !ptx_has_modifier(instruction, PTX_MOD_PROXY) &&
           !ptx_has_modifier(instruction, PTX_MOD_CLUSTER);
}

static bool decode_other(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_BRA:
        return decode_branch(decoder, instruction);
    case PTX_OP_BRX:
        return decode_branch_table(decoder, instruction);
    case PTX_OP_RET:
        decode_return(decoder);
        return true;
    case PTX_OP_EXIT:
        decode_step(decoder, STEP_EXIT);
        return true;
    case PTX_OP_CALL:
        return decode_call(decoder, instruction);
    case PTX_OP_TRAP:
        decode_step(decoder, STEP_TRAP);
        return true;
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        return decode_barrier(decoder, instruction);
    case PTX_OP_LD:
    case PTX_OP_LDU:
        return decode_load(decoder, instruction);
    case PTX_OP_ST:
        return decode_store(decoder, instruction);
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        return decode_atomic(decoder, instruction);
    case PTX_OP_FENCE:
    case PTX_OP_MEMBAR:
        if (is_device_fence(instruction)) decode_step(decoder, STEP_FENCE);
        return true;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_PRAGMA:
        return true;
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT:
    case PTX_OP_ACTIVEMASK:
        return decode_warp(decoder, instruction);
    }
    return decode_fail(decoder, "the opcode is not emulated");
}

static bool decode_instruction(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (!emu_form_is_known(instruction)) return decode_fail(decoder, "this form is not emulated");
    switch ((int)instruction->opcode) {
    case PTX_OP_MOV:
        return decode_move(decoder, instruction);
    case PTX_OP_CVT:
        return decode_convert(decoder, instruction);
    case PTX_OP_CVTA:
        return decode_cvta(decoder, instruction);
    case PTX_OP_ISSPACEP:
        return decode_isspacep(decoder, instruction);
    case PTX_OP_SET:
    case PTX_OP_SETP:
        return decode_compare(decoder, instruction);
    case PTX_OP_SELP:
        return decode_select(decoder, instruction);
    }
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    if (info != NULL && info->class == PTX_CLASS_ARITHMETIC) return decode_arithmetic(decoder, instruction);
    return decode_other(decoder, instruction);
}

static void decode_registers(struct decoder *decoder, struct decode_instance *instance)
{
    const struct ptx_function *function = instance->function;
    instance->slots = arena_calloc(decoder->arena, function->register_count, sizeof *instance->slots);
    for (uint32_t i = 0; i < function->register_count; i++) {
        uint32_t width = decode_register_width(function->registers[i].type);
        uint32_t parts = function->registers[i].vector ? function->registers[i].vector : 1;
        instance->slots[i] = decode_temporary(decoder, width);
        for (uint32_t part = 1; part < parts; part++) decode_temporary(decoder, width);
    }
}

/* Registers that may be read before they are written start as zero: the same in every run. */
static void decode_clear(struct decoder *decoder, const struct decode_instance *instance)
{
    const struct ptx_function *function = instance->function;
    bool *undefined = arena_calloc(decoder->arena, function->register_count + 1, sizeof *undefined);
    decoder->guard = decoder->always;
    decoder->guard_flip = 0;
    decoder->issues = 0;
    liveness_undefined(function, undefined);
    for (uint32_t i = 0; i < function->register_count; i++) {
        uint32_t width = decode_register_width(function->registers[i].type), slot = instance->slots[i];
        uint32_t parts = function->registers[i].vector ? function->registers[i].vector : 1;
        lane_op clear = width == 0 ? decoder->lanes->predicate(PTX_OP_XOR) : decoder->lanes->fill(width);
        for (uint32_t part = 0; undefined[i] && part < parts; part++)
            decode_lanes(decoder, clear, width, slot + part * width * LANE_COUNT, decoder->always,
                         decoder->always, decoder->always, decoder->always, 0);
    }
}

static void decode_resolve(struct decoder *decoder, struct decode_instance *instance, const uint32_t *step_of)
{
    const struct ptx_function *function = instance->function;
    for (uint32_t i = 0; i < instance->fixup_count; i++) {
        const struct decode_fixup *fixup = &instance->fixups[i];
        uint32_t at = fixup->label == DECODE_NONE ? function->instruction_count
                                                  : function->labels[fixup->label].instruction;
        if (fixup->target != NULL)
            *fixup->target = step_of[at];
        else
            decoder->code->steps[fixup->step].target = step_of[at];
    }
}

bool decode_body(struct decoder *decoder, struct decode_instance *instance)
{
    const struct ptx_function *function = instance->function;
    if (function->unreadable != NULL)
        return decode_fail(decoder, "%s cannot be read: %s", function->name, function->unreadable);
    uint32_t *step_of = arena_calloc(decoder->arena, function->instruction_count + 1, sizeof *step_of);
    struct decode_instance *caller = decoder->instance;
    const struct ptx_instruction *call = decoder->instruction;
    decoder->instance = instance;
    if (instance->slots == NULL) decode_registers(decoder, instance);
    decode_clear(decoder, instance);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        step_of[i] = decoder->code->count;
        decoder->instruction = instruction;
        decoder->issues = 1;
        decoder->guard = instruction->guard < 0 ? decoder->always : instance->slots[instruction->guard];
        decoder->guard_flip = instruction->guard >= 0 && instruction->guard_negated ? UINT32_MAX : 0;
        if (!decode_instruction(decoder, instruction)) {
            decode_fail(decoder, "not emulated");
            break;
        }
    }
    decoder->guard = decoder->always;
    decoder->guard_flip = 0;
    step_of[function->instruction_count] = decoder->code->count;
    if (caller == NULL) decode_step(decoder, STEP_EXIT);
    if (decoder->code->fault == NULL) decode_resolve(decoder, instance, step_of);
    decoder->instance = caller;
    decoder->instruction = call;
    return decoder->code->fault == NULL;
}

static void decode_dynamic_shared(struct decoder *decoder)
{
    struct code *code = decoder->code;
    uint32_t alignment = code->dynamic_alignment;
    uint64_t start = ((uint64_t)code->shared_bytes + alignment - 1) / alignment * alignment;
    for (uint32_t i = 0; i < decoder->late_count; i++) *decoder->late[i] += start;
    for (uint32_t i = 0; i < code->constant_count; i++)
        if (code->constants[i].is_late) code->constants[i].value += start;
}

static bool decode_is_order_sensitive(const struct step *step)
{
    if (step->kind != STEP_ATOMIC || step->memory->space == PTX_SHARED) return false;
    return !step->memory->is_sink || ptx_type_is_float(step->memory->type) ||
           step->memory->operation == PTX_MOD_EXCH || step->memory->operation == PTX_MOD_CAS;
}

struct code *decode_kernel(struct arena *arena, struct emu_program *program,
                           const struct ptx_function *function)
{
    struct code *code = arena_alloc(arena, sizeof *code);
    if (code == NULL) return NULL;
    code->dynamic_alignment = 16;
    struct decoder decoder = {
        .arena = arena, .program = program, .lanes = lanes_best(), .code = code, .kernel = function};
    decoder.always = decode_constant(&decoder, 0, UINT32_MAX);
    decoder.sink = decode_temporary(&decoder, 16);
    decoder.carry = decode_temporary(&decoder, 0);
    struct decode_instance instance = {.function = function};
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *parameter = &function->parameters[i];
        decode_place_add(&decoder, &instance,
                         (struct decode_place){parameter, PTX_PARAM, parameter->offset, false});
    }
    if (function->unreadable == NULL) decode_registers(&decoder, &instance);
    decode_body(&decoder, &instance);
    decode_dynamic_shared(&decoder);
    code->frame_bytes = (code->frame_bytes + 63) / 64 * 64;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct step *step = &code->steps[i];
        code->is_order_sensitive |= decode_is_order_sensitive(step);
        bool has_memory = step->kind == STEP_LOAD || step->kind == STEP_STORE || step->kind == STEP_ATOMIC;
        code->needs_all_warps |=
            step->kind == STEP_BARRIER || step->kind == STEP_ATOMIC ||
            (has_memory && (step->memory->is_strong || step->memory->space == PTX_SHARED));
    }
    return code;
}
