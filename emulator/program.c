/* SPDX-License-Identifier: Apache-2.0
 * Loaded modules: their variables in device memory, their kernels. */
#include "emulator/clock.h"
#include "emulator/engine.h"
#include "emulator/memory.h"

#include <stdlib.h>
#include <string.h>

uint64_t program_address(const struct emu_program *program, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        if (program->variables[i].variable == variable) return program->variables[i].address;
    }
    for (uint32_t i = 0; i < program->variable_count; i++) { /* a declaration beside the definition */
        if (strcmp(program->variables[i].variable->name, variable->name) == 0)
            return program->variables[i].address;
    }
    return 0;
}

uint64_t program_function_address(const struct emu_program *program, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < program->module->function_count; i++) {
        if (strcmp(program->module->functions[i]->name, name) == 0) return program->functions + i;
    }
    return 0;
}

static bool program_relocate(const struct emu_program *program, const struct program_variable *entry,
                             char **error)
{
    for (uint32_t i = 0; i < entry->variable->relocation_count; i++) {
        const struct ptx_relocation *relocation = &entry->variable->relocations[i];
        const struct ptx_variable *symbol = ptx_find_variable(program->module, relocation->symbol);
        uint64_t address = symbol != NULL ? program_address(program, symbol)
                                          : program_function_address(program, relocation->symbol);
        if (address == 0 || relocation->offset + 8 > entry->variable->size) {
            if (asprintf(error, "%s: variable %s refers to %s, which is not there", program->module->name,
                         entry->variable->name, relocation->symbol) < 0)
                *error = NULL;
            return false;
        }
        address += (uint64_t)relocation->addend;
        memcpy((void *)(uintptr_t)(entry->address + relocation->offset), &address, sizeof address);
    }
    return true;
}

/* What the variables hold at first. */
static bool program_values(const struct emu_program *program, char **error)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct ptx_variable *variable = program->variables[i].variable;
        void *place = (void *)(uintptr_t)program->variables[i].address;
        if (variable->initial != NULL)
            memcpy(place, variable->initial, variable->size);
        else
            memset(place, 0, variable->size);
    }
    for (uint32_t i = 0; i < program->variable_count; i++) {
        if (!program_relocate(program, &program->variables[i], error)) return false;
    }
    return true;
}

static uint32_t program_threads(const uint32_t dimensions[3])
{
    uint32_t threads = dimensions[0];
    for (int i = 1; i < 3; i++) threads *= dimensions[i] ? dimensions[i] : 1;
    return threads;
}

static bool program_variables(struct emu_program *program, char **error)
{
    struct ptx_module *module = program->module;
    program->variables = calloc(module->variable_count + 1, sizeof *program->variables);
    if (program->variables == NULL) return false;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const struct ptx_variable *variable = module->variables[i];
        if ((variable->space != PTX_GLOBAL && variable->space != PTX_CONST) || variable->is_extern) continue;
        enum emu_memory_kind kind = variable->is_managed ? EMU_MEMORY_MANAGED : EMU_MEMORY_VARIABLE;
        uint64_t address = emu_memory_allocate(variable->size, kind);
        if (address == 0) {
            if (asprintf(error, "%s: no device memory for variable %s", module->name, variable->name) < 0)
                *error = NULL;
            return false;
        }
        program->variables[program->variable_count++] = (struct program_variable){variable, address};
    }
    return program_values(program, error);
}

void emu_program_reset(struct emu_program *program)
{
    char *error = NULL;
    program_values(program, &error); /* as when it was loaded */
    free(error);
}

static bool program_kernels(struct emu_program *program)
{
    struct ptx_module *module = program->module;
    program->kernels = calloc(module->function_count + 1, sizeof *program->kernels);
    program->functions = emu_memory_allocate(module->function_count + 1, EMU_MEMORY_VARIABLE);
    if (program->kernels == NULL || program->functions == 0) return false;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = module->functions[i];
        if (!function->is_entry || function->is_declaration) continue;
        program->kernels[program->kernel_count++] =
            (struct emu_kernel){.program = program, .function = function};
    }
    return true;
}

struct emu_program *emu_program_load(const char *name, const char *ptx, char **error)
{
    const char *problem = NULL;
    struct emu_program *program = calloc(1, sizeof *program);
    *error = NULL;
    if (program == NULL || (program->module = ptx_parse(name, ptx, strlen(ptx), &problem)) == NULL) {
        *error = strdup("out of host memory");
        free(program);
        return NULL;
    }
    pthread_mutex_init(&program->lock, NULL);
    if (problem != NULL)
        *error = strdup(problem);
    else if (program_kernels(program) && program_variables(program, error))
        return program;
    if (*error == NULL) *error = strdup("out of memory");
    emu_program_unload(program);
    return NULL;
}

void emu_program_unload(struct emu_program *program)
{
    if (program == NULL) return;
    for (uint32_t i = 0; i < program->variable_count; i++) emu_memory_release(program->variables[i].address);
    for (uint32_t i = 0; i < program->kernel_count; i++) arena_free(program->kernels[i].arena);
    if (program->functions != 0) emu_memory_release(program->functions);
    free(program->variables);
    free(program->kernels);
    pthread_mutex_destroy(&program->lock);
    ptx_module_free(program->module);
    free(program);
}

const struct emu_kernel *emu_program_kernel(const struct emu_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        if (strcmp(program->kernels[i].function->name, name) == 0) return &program->kernels[i];
    }
    return NULL;
}

uint32_t emu_program_kernel_count(const struct emu_program *program)
{
    return program->kernel_count;
}

const struct emu_kernel *emu_program_kernel_at(const struct emu_program *program, uint32_t index)
{
    return index < program->kernel_count ? &program->kernels[index] : NULL;
}

bool emu_program_variable(const struct emu_program *program, const char *name, uint64_t *address,
                          uint64_t *size)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct program_variable *entry = &program->variables[i];
        if (strcmp(entry->variable->name, name) == 0) {
            *address = entry->address;
            *size = entry->variable->size;
            return true;
        }
    }
    return false;
}

const struct code *emu_kernel_code(const struct emu_kernel *kernel)
{
    struct emu_program *program = kernel->program;
    struct emu_kernel *own = &program->kernels[kernel - program->kernels];
    pthread_mutex_lock(&program->lock);
    if (own->code == NULL && (own->arena = arena_create()) != NULL) {
        own->code = decode_kernel(own->arena, program, own->function);
        own->registers = own->function->unreadable ? 0 : liveness_registers(own->function);
    }
    pthread_mutex_unlock(&program->lock);
    return own->code;
}

/* The assembler spills rather than that a block of the most threads that were asked for did not fit. */
static uint32_t keep_within_block(const struct ptx_function *function, uint32_t registers)
{
    const uint32_t *most = function->reqntid[0] ? function->reqntid : function->maxntid;
    uint32_t threads = most[0] ? (program_threads(most) + 31) / 32 * 32 : 0;
    uint32_t room = threads ? emu_clock_device.registers_per_multiprocessor / threads / 8 * 8 : registers;
    return registers < room ? registers : room;
}

void emu_kernel_info(const struct emu_kernel *kernel, struct emu_kernel_info *info)
{
    const struct ptx_function *function = kernel->function;
    const struct code *code = emu_kernel_code(kernel);
    *info = (struct emu_kernel_info){.name = function->name,
                                     .parameter_count = function->parameter_count,
                                     .parameter_bytes = function->parameter_bytes,
                                     .max_threads = 1024};
    if (function->maxntid[0] != 0) info->max_threads = program_threads(function->maxntid);
    if (function->reqntid[0] != 0) {
        info->max_threads = program_threads(function->reqntid);
        for (int i = 0; i < 3; i++) info->required[i] = function->reqntid[i] ? function->reqntid[i] : 1;
    }
    if (code == NULL) return;
    info->registers = keep_within_block(function, kernel->registers);
    info->static_shared = code->shared_bytes;
    info->local_bytes = code->local_bytes;
    for (uint32_t i = 0; i < kernel->program->variable_count; i++) {
        const struct ptx_variable *variable = kernel->program->variables[i].variable;
        if (variable->space == PTX_CONST) info->constant_bytes += (uint32_t)variable->size;
    }
}

bool emu_kernel_parameter(const struct emu_kernel *kernel, uint32_t index, uint32_t *offset, uint32_t *size)
{
    if (index >= kernel->function->parameter_count) return false;
    *offset = kernel->function->parameters[index].offset;
    *size = (uint32_t)kernel->function->parameters[index].size;
    return true;
}
