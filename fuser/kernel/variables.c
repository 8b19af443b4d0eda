/* SPDX-License-Identifier: Apache-2.0
 * Finds the module's variables among a function's operands. */
#include "fuser/kernel/variables.h"

#include <string.h>

bool variables_is_table(const struct ptx_variable *variable)
{
    return !strncmp(variable->name, "__cudart_", 9) && !variable->is_extern && !variable->relocation_count &&
           variable->size && (variable->space == PTX_GLOBAL || variable->space == PTX_CONST);
}

bool variables_is_one(const struct ptx_variable *variable)
{
    return (variable->space == PTX_GLOBAL || variable->space == PTX_CONST) && !variables_is_table(variable);
}

/* Calls visit for each of the function's operands that names a variable of the module; false ends the walk.
 */
typedef bool visit_variable(void *context, const struct ptx_variable *variable);

static bool each_of(const struct ptx_operand *operands, uint32_t count, visit_variable *visit, void *context)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_variable *variable = operands[i].variable;
        bool is_named = operands[i].kind == PTX_OPERAND_SYMBOL || operands[i].kind == PTX_OPERAND_ADDRESS;
        if (is_named && variable && variables_is_one(variable) && !visit(context, variable)) return false;
        if (!each_of(operands[i].elements, operands[i].element_count, visit, context)) return false;
    }
    return true;
}

static bool each(const struct ptx_function *function, visit_variable *visit, void *context)
{
    for (uint32_t k = 0; k < function->instruction_count; k++) {
        const struct ptx_instruction *instruction = &function->instructions[k];
        if (!each_of(instruction->operands, instruction->operand_count, visit, context)) return false;
    }
    return true;
}

struct collecting {
    struct arena *arena;
    struct variables *variables;
};

static bool collect(void *context, const struct ptx_variable *variable)
{
    const struct collecting *collecting = context;
    struct variables *variables = collecting->variables;
    uint32_t count = variables->count;
    for (uint32_t i = 0; i < count; i++)
        if (variables->items[i] == variable) return true;
    variables->items =
        arena_grow(collecting->arena, variables->items, count, count + 1, sizeof *variables->items);
    if (!variables->items) return false;
    variables->items[variables->count++] = variable;
    return true;
}

bool variables_collect(struct arena *arena, const struct ptx_function *function, struct variables *variables)
{
    struct collecting collecting = {arena, variables};
    *variables = (struct variables){0};
    return each(function, collect, &collecting);
}

uint32_t variables_offset(const struct ptx_function *function, uint32_t index)
{
    return ((function->parameter_bytes + 7) & ~7u) + 8 * index;
}
