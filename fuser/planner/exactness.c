/* SPDX-License-Identifier: Apache-2.0
 * The arguments in the order of their cost: an emulated device, the PTX alone, the machine code. */
#include "fuser/planner/exactness.h"

#include "fuser/codegen/cubin.h"
#include "fuser/codegen/reference.h"
#include "fuser/codegen/recover.h"
#include "fuser/kernel/plain.h"
#include "fuser/kernel/product.h"
#include "fuser/planner/exactness_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t device_sm(const struct program *program)
{
    return program->device.compute_major * 10 + program->device.compute_minor;
}

/* What the PTX leaves to the compiler; NULL: nothing. */
static const char *choice_of(struct arena *arena, const struct ptx_function *function)
{
    struct product_choice choice;
    if (!product_find_choice(function, &choice)) return "it calls functions that were not followed";
    if (choice.sum != PRODUCT_NOWHERE)
        return arena_printf(arena, "the product of line %u may be contracted into the sum of line %u",
                            function->instructions[choice.product].line,
                            function->instructions[choice.sum].line);
    if (choice.expansion == PRODUCT_NOWHERE) return NULL;
    const struct ptx_instruction *instruction = &function->instructions[choice.expansion];
    return arena_printf(arena, "%.*s of line %u is expanded by the compiler",
                        (int)instruction->mnemonic.length, instruction->mnemonic.text, instruction->line);
}

/* "-maxrregcount 32" among the options of the program's code */
static uint32_t most_registers(const struct program_module *module)
{
    struct cubin cubin;
    const char *options = NULL, *option = NULL;
    if (!module->loaded_count || !cubin_open(&cubin, module->loaded[0].bytes, module->loaded[0].size))
        return 0;
    cubin_assembler(&cubin, &options);
    if (options) option = strstr(options, "-maxrregcount ");
    return option ? (uint32_t)strtoul(strchr(option, ' '), NULL, 10) : 0;
}

/* Every kernel of the module that was launched, in one go. */
static void compile_launched(struct program *program, struct program_module *module)
{
    const struct ptx_function **functions =
        arena_calloc(program->arena, program->kernel_count + 1, sizeof *functions);
    uint32_t count = 0;
    module->reference.error = "out of memory";
    for (uint32_t k = 0; functions && k < program->kernel_count; k++) {
        const struct program_kernel *kernel = &program->kernels[k];
        if (!kernel->record || !kernel->launches || &program->modules[kernel->record->module] != module)
            continue;
        const struct ptx_function *function = ptx_find_function(module->ptx, kernel->name);
        if (function && !function->unreadable) functions[count++] = function;
    }
    if (functions)
        reference_compile(program->compiler, program->arena, module->ptx, functions, count,
                          device_sm(program), most_registers(module), &module->reference);
}

/* One kernel that cannot be assembled must not cost the others their proof. */
static const struct nvrtc_output *compile_kernel(struct program *program, struct program_module *module,
                                                 const struct ptx_function *function)
{
    if (!module->is_compiled) compile_launched(program, module);
    module->is_compiled = true;
    if (!module->reference.error || module->reference.is_missing) return &module->reference;
    struct nvrtc_output *single = arena_alloc(program->arena, sizeof *single);
    if (!single) return &module->reference;
    reference_compile(program->compiler, program->arena, module->ptx, &function, 1, device_sm(program),
                      most_registers(module), single);
    return single;
}

static const char *first_line(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strcspn(text, "\n"));
}

/* Compares with every code of the image that the driver may have chosen; NULL when all are reproduced. */
static const char *loaded_difference(struct program *program, const struct program_module *module,
                                     const char *kernel, const struct nvrtc_output *ours)
{
    struct arena *arena = program->arena;
    struct cubin reference, loaded;
    if (!cubin_open(&reference, ours->cubin, ours->cubin_size)) return "our code cannot be read";
    for (uint32_t i = 0; i < module->loaded_count; i++) {
        if (!cubin_open(&loaded, module->loaded[i].bytes, module->loaded[i].size))
            return "the loaded code cannot be read";
        const char *difference = cubin_difference(arena, &loaded, kernel, &reference, kernel);
        if (!difference && module->is_other_architecture && cubin_uses_variables(&loaded, kernel))
            difference = "it uses variables, which may differ";
        if (!difference) continue;
        const char *own_options, *options;
        const char *own = cubin_assembler(&reference, &own_options);
        const char *assembler = cubin_assembler(&loaded, &options);
        if (!assembler)
            return arena_printf(arena, "%s; the loaded one does not say by what it was made", difference);
        return arena_printf(arena, "%s; the loaded one was made by ptxas %s %s, ours by %s", difference,
                            assembler, options ? options : "", own ? own : "an unknown one");
    }
    return NULL;
}

/* --- kernels that call ------------------------------------------------------------------------------ */

static bool leaves_choice(const struct callees *callees, const struct contraction *contractions)
{
    for (uint32_t i = 0; i < callees->count; i++)
        if (contraction_leaves_choice(callees->functions[i], contractions + callees_first(callees, i)))
            return true;
    return false;
}

/* exactness->contractions: of the original and what it calls. The code is no measure for the copy: it has functions apart, or
 * other loads. */
static void recover_rewritten(struct arena *arena, const struct program_kernel *kernel,
                              const struct callees *callees, struct exactness *exactness, const char *choice)
{
    exactness->cubin = NULL;
    if (callees->count > 1 && exactness->contractions && leaves_choice(callees, exactness->contractions))
        exactness->contractions = NULL; /* what is contracted there the copy's own code does not tell */
    exactness->contractions = exactness_copy(arena, callees, exactness->contractions, kernel->function);
    bool is_of_calls = callees->count > 1;
    exactness->text =
        is_of_calls
            ? "exact: PTX compiled alone reproduces the loaded code, and what it calls becomes part of it"
            : "exact: PTX compiled alone reproduces the loaded code, whose loads become several";
    if (exactness->contractions) return;
    exactness->kind = EXACTNESS_UNPROVEN;
    exactness->text =
        arena_printf(arena, "to be verified: %s, and %s", choice,
                     is_of_calls ? "it calls functions, which become part of it" : "loads become several");
}

static void compare_code(struct program *program, struct program_module *module,
                         const struct program_kernel *kernel, struct exactness *exactness, const char *choice)
{
    struct arena *arena = program->arena;
    const struct nvrtc_output *ours = compile_kernel(program, module, kernel->original);
    const char *difference =
        ours->error ? first_line(arena, ours->error) : loaded_difference(program, module, kernel->name, ours);
    struct cubin cubin;
    struct cubin_code code;
    if (difference) {
        exactness->text = arena_printf(arena, "to be verified: %s, and its PTX compiled alone %s%s",
                                       choice ? choice : "code and PTX have two architectures",
                                       ours->error ? "fails: " : "gives other code: ", difference);
        return;
    }
    exactness->kind = EXACTNESS_SAME_CODE;
    exactness->text = "exact: no product feeds a sum";
    if (kernel->is_rewritten && !choice) return;
    exactness->kernel = kernel->name;
    exactness->cubin = module->loaded[0].bytes;
    exactness->cubin_size = module->loaded[0].size;
    if (!cubin_open(&cubin, exactness->cubin, exactness->cubin_size) ||
        !cubin_find_code(&cubin, kernel->name, &code))
        return;
    struct callees callees;
    if (!callees_find(arena, kernel->original, &callees)) return;
    exactness->contractions = recover_contractions(program->compiler, arena, &callees, &cubin,
                                                   device_sm(program), most_registers(module));
    if (kernel->is_rewritten) {
        recover_rewritten(arena, kernel, &callees, exactness, choice);
        return;
    }
    bool is_whole =
        exactness->contractions && !contraction_leaves_choice(kernel->original, exactness->contractions);
    exactness->text =
        arena_printf(arena, "exact: PTX compiled alone reproduces the loaded code, %zu instructions%s",
                     code.size / CUBIN_INSTRUCTION_BYTES,
                     is_whole ? "" : "; in the group, contraction is compared by its counts alone");
}

static void decide(struct program *program, const struct program_kernel *kernel, struct exactness *exactness)
{
    struct program_module *module = &program->modules[kernel->record->module];
    if (program->device.is_emulated) {
        exactness->kind = EXACTNESS_EMULATED;
        exactness->text = "exact: the emulator runs the PTX itself";
        return;
    }
    const char *choice = choice_of(program->arena, kernel->function);
    exactness->kind = EXACTNESS_UNPROVEN;
    if (!choice && !module->is_other_architecture) {
        exactness->kind = EXACTNESS_NO_CHOICE;
        exactness->text = "exact: no product feeds a sum";
    } else if (module->loaded_count) {
        compare_code(program, module, kernel, exactness, choice);
    } else {
        exactness->text = arena_printf(
            program->arena, "to be verified: %s, and the code that runs is not in the trace: %s", choice,
            module->record->flags & TRACE_MODULE_FROM_NVRTC
                ? "the program compiles it at run time"
                : arena_printf(program->arena, "the image holds PTX alone for sm_%u", device_sm(program)));
    }
}

const struct exactness *exactness_of(struct program *program, struct program_kernel *kernel)
{
    if (kernel->exactness) return kernel->exactness;
    struct exactness *exactness = arena_calloc(program->arena, 1, sizeof *exactness);
    if (!exactness) return NULL;
    decide(program, kernel, exactness);
    if (!exactness->text) exactness->text = "to be verified: out of memory";
    kernel->exactness = exactness;
    return exactness;
}

/* What is said of the kernel, of a copy with other instructions. */
static void decide_copy(struct program *program, const struct program_kernel *kernel,
                        const struct ptx_function *copy, struct exactness *exactness)
{
    if (exactness->kind != EXACTNESS_NO_CHOICE && exactness->kind != EXACTNESS_SAME_CODE) return;
    const char *choice = choice_of(program->arena, copy);
    const struct contraction *contractions = exactness->contractions;
    struct callees own;
    exactness->cubin = NULL; /* its code has other counts */
    exactness->contractions = NULL;
    if (!choice) return;
    if (contractions && callees_find(program->arena, kernel->function, &own))
        exactness->contractions = exactness_copy(program->arena, &own, contractions, copy);
    if (exactness->contractions) return;
    exactness->kind = EXACTNESS_UNPROVEN;
    exactness->text = arena_printf(program->arena, "to be verified: %s, and it is written otherwise", choice);
}

const struct exactness *exactness_of_copy(struct program *program, struct program_kernel *kernel,
                                          const struct ptx_function *copy)
{
    const struct exactness *own = exactness_of(program, kernel);
    if (!own || !plain_is_renumbered(kernel->function, copy)) return own;
    for (const struct exactness_of *known = kernel->copies; known; known = known->next)
        if (known->copy == copy) return &known->exactness;
    struct exactness_of *found = arena_calloc(program->arena, 1, sizeof *found);
    if (!found) return NULL;
    *found = (struct exactness_of){.exactness = *own, .copy = copy, .next = kernel->copies};
    decide_copy(program, kernel, copy, &found->exactness);
    kernel->copies = found;
    return &found->exactness;
}
