/* SPDX-License-Identifier: Apache-2.0
 * See pointer_words.h. */
#include "fuser/planner/pointer_words.h"

#include <string.h>

enum { LOWER = 1, UPPER = 2, BOTH = LOWER | UPPER };

static const struct ptx_variable *parameter_of(const struct ptx_function *function,
                                               const struct ptx_variable *named)
{
    for (uint32_t p = 0; named && named->space == PTX_PARAM && p < function->parameter_count; p++)
        if (!strcmp(function->parameters[p].name, named->name)) return &function->parameters[p];
    return NULL;
}

/* Of the parameter buffer, bytes from first up to end. */
static void note(unsigned char *halves, uint32_t words, uint64_t first, uint64_t end)
{
    for (uint64_t half = first / 4; half * 4 < end && half / 2 < words; half++)
        halves[half / 2] |= half % 2 ? UPPER : LOWER;
}

/* A load of a parameter reads so many bytes of it; whatever else names it may read all. */
static void note_operand(const struct ptx_function *function, const struct ptx_instruction *instruction,
                         uint32_t index, unsigned char *halves, uint32_t words)
{
    const struct ptx_operand *operand = &instruction->operands[index];
    const struct ptx_variable *parameter = parameter_of(function, operand->variable);
    for (uint32_t e = 0; e < operand->element_count; e++) {
        const struct ptx_variable *named = parameter_of(function, operand->elements[e].variable);
        if (named) note(halves, words, named->offset, named->offset + named->size);
    }
    if (!parameter) return;
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
    uint32_t bytes = ptx_type_bytes(type), elements = instruction->operands[0].element_count;
    bool is_load = instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM && index == 1 &&
                   operand->reg < 0 && operand->value >= 0 && bytes;
    uint64_t first = parameter->offset + (is_load ? (uint64_t)operand->value : 0);
    note(halves, words, first,
         first + (is_load ? (uint64_t)bytes * (elements ? elements : 1) : parameter->size));
}

/* Which halves of its words the kernel reads, a byte a word; NULL: not known. */
static const unsigned char *find_halves(struct program *program, const struct ptx_function *function)
{
    uint32_t words = function->parameter_bytes / 8 + 1;
    unsigned char *halves = arena_calloc(program->arena, words, 1);
    for (uint32_t i = 0; halves && i < function->instruction_count; i++)
        for (uint32_t o = 0; o < function->instructions[i].operand_count; o++)
            note_operand(function, &function->instructions[i], o, halves, words);
    return halves;
}

void pointer_words_trim(struct program *program, struct program_launch *launch)
{
    struct program_kernel *kernel = &program->kernels[launch->record->kernel];
    uint32_t kept = 0;
    if (!launch->pointer_count || program_special_launch(program, launch->record)) return;
    if (!kernel->halves_are_known) {
        const struct ptx_function *function = program_function(program, kernel);
        kernel->halves_are_known = true;
        kernel->halves = function ? find_halves(program, function) : NULL;
    }
    if (!kernel->halves || launch->record->arguments_size != kernel->function->parameter_bytes) return;
    for (uint32_t i = 0; i < launch->pointer_count; i++)
        if (kernel->halves[launch->pointers[i].offset / 8] == BOTH)
            launch->pointers[kept++] = launch->pointers[i];
    launch->pointer_count = kept;
}
