/* SPDX-License-Identifier: Apache-2.0
 * Copies a function, and in place of each call the function that it calls: its registers, labels and local
 * variables anew each time. The memory of a .param variable of a call is a storage that caller and callee
 * name alike (ISA 7.1): a register for each piece of it. Where an access is no such piece, the storage is
 * made local memory, and the copy is begun again. */
#include "fuser/kernel/inline.h"
#include "fuser/kernel/inline_move.h"

#include <string.h>

enum { MOST_INSTRUCTIONS = 50000, MOST_DEPTH = 24, MOST_STORAGES = 20000, MOST_INSTANCES = 5000 };
enum { NO_LABEL = UINT32_MAX };

struct storage {
    struct inline_piece *pieces;
    uint32_t piece_count;
    const struct ptx_variable *local; /* in place of pieces */
    uint32_t number;
};
struct place { /* what a variable of a function is in the copy */
    const struct ptx_variable *variable;
    const struct ptx_variable *copy; /* a local variable; NULL: a storage */
    struct storage *storage;
};
struct instance { /* of a function that is copied */
    const struct instance *caller;
    const struct ptx_function *function;
    uint32_t depth, first_register, first_label, first_table, end_label;
    struct place *places;
    uint32_t place_count;
};
struct inlining {
    struct inline_output output;
    struct ptx_function *copy;
    uint32_t instances, storages;
    bool *is_local; /* by storage */
    bool is_mixed;  /* a storage has just become local: again */
};

static bool copy_body(struct inlining *inlining, struct instance *instance);

/* --- what is called -------------------------------------------------------------------------------- */

struct call {
    const struct ptx_operand *returns, *arguments, *target;
};

static struct call parts_of(const struct ptx_instruction *instruction)
{
    struct call call = {0};
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct ptx_operand *operand = &instruction->operands[i];
        if (operand->kind == PTX_OPERAND_LIST && !call.target)
            call.returns = operand;
        else if (operand->kind == PTX_OPERAND_LIST)
            call.arguments = operand;
        else if (!call.target)
            call.target = operand;
    }
    return call;
}

static uint32_t length_of(const struct ptx_operand *list)
{
    return list ? list->element_count : 0;
}

static const struct ptx_function *callee_of(const struct ptx_function *function, const struct call *call)
{
    if (!call->target || call->target->kind == PTX_OPERAND_REGISTER || !call->target->symbol) return NULL;
    const struct ptx_function *callee = ptx_find_function(function->module, call->target->symbol);
    return callee && !callee->is_declaration && !callee->is_entry && !callee->unreadable ? callee : NULL;
}

const struct ptx_function *inline_callee(const struct ptx_function *function,
                                         const struct ptx_instruction *instruction)
{
    struct call call = parts_of(instruction);
    return instruction->opcode == PTX_OP_CALL ? callee_of(function, &call) : NULL;
}

const char *inline_obstacle(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    struct call call = parts_of(instruction);
    if (call.target && call.target->kind == PTX_OPERAND_REGISTER)
        return "calls a function through a pointer: what it touches is not known";
    if (!callee_of(function, &call))
        return "calls a function that its PTX does not hold: what it touches is not known";
    return "calls a function that calls itself, or that does too much to stand in its place";
}

static bool is_running(const struct instance *instance, const struct ptx_function *function)
{
    for (; instance; instance = instance->caller)
        if (instance->function == function) return true;
    return false;
}

static bool all_are_variables(const struct ptx_operand *list)
{
    for (uint32_t i = 0; i < length_of(list); i++) {
        const struct ptx_operand *actual = &list->elements[i];
        if (actual->kind != PTX_OPERAND_SYMBOL || !actual->variable || actual->variable->space != PTX_PARAM ||
            actual->value)
            return false;
    }
    return true;
}

static bool may_replace(const struct inlining *inlining, const struct instance *instance,
                        const struct call *call)
{
    const struct ptx_function *callee = callee_of(instance->function, call);
    return callee && !is_running(instance, callee) && instance->depth < MOST_DEPTH &&
           inlining->instances < MOST_INSTANCES &&
           inlining->output.instruction_count + callee->instruction_count < MOST_INSTRUCTIONS &&
           length_of(call->arguments) == callee->parameter_count &&
           length_of(call->returns) == callee->return_count && all_are_variables(call->arguments) &&
           all_are_variables(call->returns);
}

/* --- places ---------------------------------------------------------------------------------------- */

static struct place *find_place(const struct instance *instance, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; variable && i < instance->place_count; i++)
        if (instance->places[i].variable == variable) return &instance->places[i];
    return NULL;
}

static const struct ptx_variable *new_local(struct inlining *inlining, const struct ptx_variable *original)
{
    struct ptx_variable *local = arena_alloc(inlining->output.arena, sizeof *local);
    if (!local) return NULL;
    *local = *original;
    local->space = PTX_LOCAL;
    local->name = arena_printf(inlining->output.arena, "%s$i%u", original->name, inlining->instances);
    return inline_add_variable(&inlining->output, local) ? local : NULL;
}

static struct storage *new_storage(struct inlining *inlining, const struct ptx_variable *variable)
{
    struct storage *storage = arena_calloc(inlining->output.arena, 1, sizeof *storage);
    if (!storage || inlining->storages == MOST_STORAGES) {
        inlining->output.has_failed = true;
        return NULL;
    }
    storage->number = inlining->storages++;
    if (inlining->is_local[storage->number]) storage->local = new_local(inlining, variable);
    return storage;
}

static void make_local(struct inlining *inlining, const struct storage *storage)
{
    inlining->is_local[storage->number] = inlining->is_mixed = true;
}

/* The function's own variables: a place for each, but shared memory, which is one for all instances. */
static bool place_variables(struct inlining *inlining, struct instance *instance)
{
    const struct ptx_function *function = instance->function;
    for (uint32_t i = 0; i < function->variable_count; i++) {
        const struct ptx_variable *variable = function->variables[i];
        struct place *place = &instance->places[instance->place_count];
        bool is_own = variable->space == PTX_PARAM || (variable->space == PTX_LOCAL && instance->caller);
        if (!is_own && !inline_add_variable(&inlining->output, variable)) return false;
        if (!is_own) continue;
        *place = (struct place){.variable = variable};
        if (variable->space == PTX_PARAM)
            place->storage = new_storage(inlining, variable);
        else
            place->copy = new_local(inlining, variable);
        if (!place->storage && !place->copy) return false;
        instance->place_count++;
    }
    return true;
}

/* --- instructions ---------------------------------------------------------------------------------- */

/* The operand as the copy has it. */
static bool copy_operand(struct inlining *inlining, const struct instance *instance,
                         struct ptx_operand *operand)
{
    const struct place *place = find_place(instance, operand->variable);
    if (operand->reg >= 0 && (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS))
        operand->reg += (int32_t)instance->first_register;
    if (operand->kind == PTX_OPERAND_LABEL && operand->label >= 0)
        operand->label += (int32_t)instance->first_label;
    if (operand->kind == PTX_OPERAND_SYMBOL && operand->label >= 0)
        operand->label += (int32_t)instance->first_table;
    if (place) {
        operand->variable = place->copy ? place->copy : place->storage->local;
        if (operand->variable)
            operand->symbol = operand->variable->name;
        else
            make_local(inlining, place->storage); /* its address is taken */
    }
    if (!operand->element_count) return true;
    struct ptx_operand *elements =
        arena_alloc(inlining->output.arena, operand->element_count * sizeof *elements);
    if (!elements) return false;
    memcpy(elements, operand->elements, operand->element_count * sizeof *elements);
    operand->elements = elements;
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (!copy_operand(inlining, instance, &elements[i])) return false;
    return true;
}

static bool copy_plain(struct inlining *inlining, const struct instance *instance,
                       const struct ptx_instruction *instruction)
{
    struct ptx_instruction copy = *instruction;
    size_t size = copy.operand_count * sizeof *copy.operands;
    if (copy.guard >= 0) copy.guard += (int32_t)instance->first_register;
    copy.operands = arena_alloc(inlining->output.arena, size + 1);
    if (!copy.operands) return false;
    if (size) memcpy(copy.operands, instruction->operands, size);
    for (uint32_t i = 0; i < copy.operand_count; i++)
        if (!copy_operand(inlining, instance, &copy.operands[i])) return false;
    return inline_add_instruction(&inlining->output, &copy);
}

/* A load or store of the parameter space that a storage is in place of. */
static bool copy_access(struct inlining *inlining, const struct instance *instance,
                        const struct ptx_instruction *instruction, struct storage *storage)
{
    const struct ptx_operand *address = ptx_address_operand(instruction);
    if (!storage || storage->local) {
        struct ptx_instruction local = *instruction;
        local.space = PTX_LOCAL;
        local.mnemonic = inline_local_mnemonic(inlining->output.arena, instruction->mnemonic);
        return local.mnemonic.text && copy_plain(inlining, instance, &local);
    }
    struct inline_access access = {.instruction = instruction,
                                   .first_register = instance->first_register,
                                   .offset = address->value,
                                   .pieces = &storage->pieces,
                                   .piece_count = &storage->piece_count};
    switch (inline_move(&inlining->output, &access)) {
    case INLINE_MOVED:
        return true;
    case INLINE_MIXED:
        make_local(inlining, storage);
        return true;
    case INLINE_FAILED:
        break;
    }
    return false;
}

/* The label behind the call: there is none where nobody needs it, as a label ends a block. */
static uint32_t end_of(struct inlining *inlining, struct instance *instance)
{
    struct inline_output *output = &inlining->output;
    if (instance->end_label == NO_LABEL)
        instance->end_label =
            inline_add_label(output, arena_printf(output->arena, "return$i%u", output->label_count));
    return instance->end_label;
}

static bool copy_return(struct inlining *inlining, struct instance *instance,
                        const struct ptx_instruction *instruction)
{
    int32_t guard = instruction->guard < 0 ? -1 : instruction->guard + (int32_t)instance->first_register;
    return inline_add_branch(&inlining->output, instruction, guard, instruction->guard_negated,
                             end_of(inlining, instance));
}

/* --- calls ----------------------------------------------------------------------------------------- */

static bool bind(struct inlining *inlining, const struct instance *caller, struct instance *callee,
                 const struct ptx_operand *list, const struct ptx_variable *formals)
{
    for (uint32_t i = 0; i < length_of(list); i++) {
        const struct place *place = find_place(caller, list->elements[i].variable);
        if (!place || !place->storage) {
            inlining->output.has_failed = true;
            return false;
        }
        callee->places[callee->place_count++] =
            (struct place){.variable = &formals[i], .storage = place->storage};
    }
    return true;
}

static bool copy_call(struct inlining *inlining, const struct instance *instance,
                      const struct ptx_instruction *instruction, const struct call *call)
{
    struct inline_output *output = &inlining->output;
    const struct ptx_function *function = callee_of(instance->function, call);
    struct instance callee = {
        .caller = instance, .function = function, .depth = instance->depth + 1, .end_label = NO_LABEL};
    uint32_t places = function->variable_count + function->parameter_count + function->return_count;
    callee.places = arena_calloc(output->arena, places + 1, sizeof *callee.places);
    if (!callee.places || output->has_failed) return false;
    if (instruction->guard >= 0 &&
        !inline_add_branch(output, instruction, instruction->guard + (int32_t)instance->first_register,
                           !instruction->guard_negated, end_of(inlining, &callee)))
        return false;
    if (!bind(inlining, instance, &callee, call->arguments, function->parameters) ||
        !bind(inlining, instance, &callee, call->returns, function->returns) || !copy_body(inlining, &callee))
        return false;
    if (callee.end_label != NO_LABEL) inline_set_label(output, callee.end_label);
    return true;
}

static bool copy_instruction(struct inlining *inlining, struct instance *instance, uint32_t index)
{
    const struct ptx_function *function = instance->function;
    const struct ptx_instruction *instruction = &function->instructions[index];
    const struct ptx_operand *address =
        instruction->space == PTX_PARAM ? ptx_address_operand(instruction) : NULL;
    const struct place *place = address ? find_place(instance, address->variable) : NULL;
    bool is_memory = ptx_is_load(instruction) || ptx_is_store(instruction);
    if (instruction->opcode == PTX_OP_CALL) {
        struct call call = parts_of(instruction);
        if (may_replace(inlining, instance, &call)) return copy_call(inlining, instance, instruction, &call);
    } else if (instruction->opcode == PTX_OP_RET && instance->caller) {
        bool is_last = index + 1 == function->instruction_count;
        return is_last || copy_return(inlining, instance, instruction);
    } else if (is_memory && address && (place || (instance->caller && address->reg >= 0))) {
        return copy_access(inlining, instance, instruction, place ? place->storage : NULL);
    }
    return copy_plain(inlining, instance, instruction);
}

/* Registers, labels and tables of the function behind those that are there. */
static bool copy_declarations(struct inlining *inlining, struct instance *instance)
{
    struct inline_output *output = &inlining->output;
    const struct ptx_function *function = instance->function;
    instance->first_register = output->register_count;
    instance->first_label = output->label_count;
    instance->first_table = output->table_count;
    uint32_t number = inlining->instances++;
    for (uint32_t i = 0; i < function->register_count; i++) {
        struct ptx_register reg = function->registers[i];
        if (instance->caller) reg.name = arena_printf(output->arena, "%s_i%u", reg.name, number);
        if (!reg.name) return false;
        inline_add_register(output, reg);
    }
    for (uint32_t i = 0; i < function->label_count; i++)
        inline_add_label(output, instance->caller
                                     ? arena_printf(output->arena, "%s$i%u", function->labels[i].name, number)
                                     : function->labels[i].name);
    for (uint32_t i = 0; i < function->table_count; i++)
        inline_add_table(output, function->tables[i], instance->first_label);
    return !output->has_failed && place_variables(inlining, instance);
}

static bool copy_body(struct inlining *inlining, struct instance *instance)
{
    const struct ptx_function *function = instance->function;
    if (!copy_declarations(inlining, instance)) return false;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        for (uint32_t label = 0; label < function->label_count; label++)
            if (function->labels[label].instruction == i)
                inline_set_label(&inlining->output, instance->first_label + label);
        if (i < function->instruction_count && !copy_instruction(inlining, instance, i)) return false;
    }
    return !inlining->output.has_failed;
}

/* --- the whole ------------------------------------------------------------------------------------- */

static bool copy_function(struct inlining *inlining, const struct ptx_function *function)
{
    struct arena *arena = inlining->output.arena;
    struct instance instance = {.function = function};
    inlining->output = (struct inline_output){.arena = arena};
    inlining->instances = inlining->storages = 0;
    inlining->is_mixed = false;
    instance.places = arena_calloc(arena, function->variable_count + 1, sizeof *instance.places);
    return instance.places && copy_body(inlining, &instance);
}

static bool has_calls(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].opcode == PTX_OP_CALL) return true;
    return false;
}

const struct ptx_function *inline_calls(struct arena *arena, const struct ptx_function *function)
{
    struct inlining inlining = {.output.arena = arena};
    if (!has_calls(function)) return function;
    struct ptx_function *copy = arena_alloc(arena, sizeof *copy);
    inlining.is_local = arena_calloc(arena, MOST_STORAGES, sizeof *inlining.is_local);
    if (!copy || !inlining.is_local) return function;
    do {
        if (!copy_function(&inlining, function)) return function;
    } while (inlining.is_mixed);
    *copy = *function;
    inline_take(&inlining.output, copy);
    return copy;
}
