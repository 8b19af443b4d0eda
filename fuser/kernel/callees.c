/* SPDX-License-Identifier: Apache-2.0
 * See callees.h: a walk over the calls that ends a function behind all that it calls, turned round. */
#include "fuser/kernel/callees.h"

#include "fuser/kernel/inline.h"

static bool has(const struct callees *callees, const struct ptx_function *function)
{
    for (uint32_t i = 0; i < callees->count; i++)
        if (callees->functions[i] == function) return true;
    return false;
}

/* met: those that the walk has entered. */
static void walk(struct callees *callees, struct callees *met, const struct ptx_function *function)
{
    if (has(met, function)) return;
    met->functions[met->count++] = function;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_function *callee = inline_callee(function, &function->instructions[i]);
        if (callee) walk(callees, met, callee);
    }
    callees->functions[callees->count++] = function;
    callees->instruction_count += function->instruction_count;
}

bool callees_find(struct arena *arena, const struct ptx_function *kernel, struct callees *callees)
{
    size_t most = (size_t)kernel->module->function_count + 1; /* a copy of a kernel is none of them */
    struct callees met = {.functions = arena_calloc(arena, most, sizeof *met.functions)};
    *callees = (struct callees){.functions = arena_calloc(arena, most, sizeof *callees->functions)};
    if (!met.functions || !callees->functions) return false;
    walk(callees, &met, kernel);
    for (uint32_t i = 0; i < callees->count / 2; i++) {
        const struct ptx_function *other = callees->functions[i];
        callees->functions[i] = callees->functions[callees->count - 1 - i];
        callees->functions[callees->count - 1 - i] = other;
    }
    return true;
}

uint32_t callees_first(const struct callees *callees, uint32_t index)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < index; i++) first += callees->functions[i]->instruction_count;
    return first;
}
