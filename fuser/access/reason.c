/* SPDX-License-Identifier: Apache-2.0
 * Why something is not known, for people: with the kernel and the line of PTX. */
#include "fuser/access/analysis.h"

const char *reason_at(struct analysis *analysis, uint32_t instruction, const char *why)
{
    if (instruction >= analysis->function->instruction_count)
        return arena_printf(analysis->arena, "kernel %s: %s", analysis->function->name, why);
    const struct ptx_instruction *at = &analysis->function->instructions[instruction];
    return arena_printf(analysis->arena, "kernel %s, line %u: %.*s \u2014 %s", analysis->function->name,
                        at->line, (int)at->text.length, at->text.text, why);
}
