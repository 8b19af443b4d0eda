/* SPDX-License-Identifier: Apache-2.0
 * Runs a program on the emulator's engine, in this process and in program order. Every launch that differs
 * from those before it is watched: its accesses must lie in the relations of the analysis, and equal those
 * that claim to be exact. */
#include "common/hash.h"
#include "emulator/memory.h"
#include "fuser/kernel/plain.h"
#include "tests/analysis/soundness.h"
#include "tests/referee/judge.h"
#include "tests/referee/script.h"

#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_BYTES = 1 << 28, LAUNCH_STEPS = 50 * 1000 * 1000, WATCHED_MOST = 256, WAITING_MOST = 64 };

struct observation {
    struct batch *batch;
    struct judge_program *program;
    struct emu_program *module, *libraries[2]; /* of the program; bare, debug */
    struct ptx_module *ptx;
    isl_ctx *ctx;
    uint64_t arrays[SCRIPT_ARRAYS], sizes[SCRIPT_ARRAYS];
    uint64_t seen[WATCHED_MOST]; /* hashes of the launches that were watched */
    bool is_unprinted[SCRIPT_ARRAYS];
    uint32_t seen_count, calls;
    bool is_holding; /* what goes to one stream waits */
    uint32_t held_stream, waiting_count;
    const struct script_operation *waiting[WAITING_MOST];
    FILE *out;
};

static void *host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static uint64_t address_of(const struct observation *seen, struct script_place place)
{
    return seen->arrays[place.array] + (uint64_t)place.offset;
}

/* --- one launch --- */

enum { VARIABLES_MOST = 8 };

/* Those that launches find something in that shapes what they do. */
static uint32_t find_constants(const struct observation *seen, struct launch_variable *found)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < seen->ptx->variable_count && count < VARIABLES_MOST; i++) {
        const struct ptx_variable *variable = seen->ptx->variables[i];
        uint64_t address, size;
        if (variable->space != PTX_CONST ||
            !emu_program_variable(seen->module, variable->name, &address, &size))
            continue;
        found[count++] = (struct launch_variable){variable->name, host(address), size};
    }
    return count;
}

static bool is_new(struct observation *seen, const struct script_launch *launch)
{
    struct launch_variable constants[VARIABLES_MOST];
    uint64_t parts[4] = {hash_check(launch->kernel, strlen(launch->kernel)),
                         hash_check(launch->grid, sizeof launch->grid + sizeof launch->block),
                         hash_check(launch->arguments, launch->size)};
    for (uint32_t i = 0, count = find_constants(seen, constants); i < count; i++)
        parts[3] = parts[3] * 31 + hash_check(constants[i].contents, constants[i].size);
    uint64_t hash = hash_check(parts, sizeof parts);
    for (uint32_t i = 0; i < launch->pointer_count; i++) hash = hash * 31 + launch->pointers[i].array;
    for (uint32_t i = 0; i < seen->seen_count; i++)
        if (seen->seen[i] == hash) return false;
    if (seen->seen_count == WATCHED_MOST) return false;
    seen->seen[seen->seen_count++] = hash;
    return true;
}

static struct soundness_base base_place(const struct observation *seen, const struct script_launch *launch,
                                        const struct access_base *base)
{
    uint64_t size = 0;
    struct soundness_base place = {0};
    if (base->kind == ACCESS_BASE_VARIABLE &&
        emu_program_variable(seen->module, base->variable, &place.address, &size))
        return (struct soundness_base){place.address, place.address, place.address + size};
    for (uint32_t i = 0; base->kind == ACCESS_BASE_ARGUMENT && i < launch->pointer_count; i++) {
        uint32_t array = launch->pointers[i].array;
        int64_t offset;
        if (launch->pointers[i].offset != base->argument_offset) continue;
        memcpy(&offset, launch->arguments + launch->pointers[i].offset, sizeof offset);
        uint64_t start = seen->arrays[array];
        return (struct soundness_base){start + (uint64_t)offset, start, start + seen->sizes[array]};
    }
    return place;
}

static struct access_summary *analyse(struct observation *seen, const struct script_launch *launch,
                                      const unsigned char *arguments)
{
    struct launch_pointer pointers[SCRIPT_POINTERS];
    struct launch_variable constants[VARIABLES_MOST];
    const struct ptx_function *function = ptx_find_function(seen->ptx, launch->kernel);
    struct launch_input input = {.function = function ? plain_function(seen->ptx->arena, function) : NULL,
                                 .dynamic_shared = launch->shared,
                                 .arguments = arguments,
                                 .arguments_size = launch->size,
                                 .pointers = pointers,
                                 .pointer_count = launch->pointer_count,
                                 .variables = constants,
                                 .variable_count = find_constants(seen, constants)};
    memcpy(input.grid, launch->grid, sizeof input.grid);
    memcpy(input.block, launch->block, sizeof input.block);
    for (uint32_t i = 0; i < launch->pointer_count; i++) pointers[i].offset = launch->pointers[i].offset;
    return input.function ? access_analyse(seen->ctx, &input) : NULL;
}

static void fail(struct observation *seen, const struct script_operation *operation, const char *kind,
                 const char *what)
{
    batch_fail(seen->batch, seen->program, "%s: line %u, %s: %.300s", kind, operation->line,
               operation->launch->kernel, what);
}

/* What soundness.c and witness.c want to know of one launch. */
struct watched {
    struct observation *seen;
    struct soundness soundness;
    uint32_t kernel;
};

static uint32_t kernel_number(const char *name)
{
    uint32_t kernel = 0;
    sscanf(name, "p%*uk%u", &kernel);
    return kernel;
}

static void watch(void *context, const struct ptx_instruction *instruction, const uint32_t block[3],
                  const uint32_t thread[3], uint64_t address, uint32_t bytes, bool is_write)
{
    struct watched *watched = context;
    const struct observation *seen = watched->seen;
    struct witness_touch touch = {.kernel = watched->kernel,
                                  .line = instruction->line,
                                  .bytes = bytes,
                                  .place = address,
                                  .is_write = is_write};
    soundness_watch(&watched->soundness, instruction, block, thread, address, bytes, is_write);
    for (int i = 0; i < 6; i++) touch.thread[i] = (uint16_t)(i < 3 ? block[i] : thread[i - 3]);
    for (uint32_t a = 0; a < SCRIPT_ARRAYS; a++)
        if (seen->arrays[a] && address - seen->arrays[a] < seen->sizes[a]) touch.start = seen->arrays[a];
    for (uint32_t b = 0; b < watched->soundness.summary->base_count; b++) {
        const struct soundness_base *base = &watched->soundness.bases[b];
        if (address >= base->start && address < base->end) touch.start = base->start;
    }
    touch.place = address - touch.start;
    witness_add(&seen->program->log, &touch);
}

static void note_exact(struct observation *seen, const struct access_summary *summary, uint32_t kernel)
{
    for (uint32_t a = 0; a < summary->access_count; a++) {
        const struct access *access = &summary->accesses[a];
        if (access->relation && access->address_is_exact && access->domain_is_exact)
            witness_add_exact(&seen->program->log, kernel, access->line);
    }
}

static void run_watched(struct observation *seen, const struct script_operation *operation,
                        struct emu_launch *own, const struct emu_settings *settings)
{
    const struct script_launch *launch = operation->launch;
    struct access_summary *summary = analyse(seen, launch, own->parameters);
    struct soundness_base *bases = calloc(summary ? summary->base_count + 1 : 1, sizeof *bases);
    struct watched watched = {.seen = seen,
                              .soundness = {.summary = summary, .bases = bases},
                              .kernel = kernel_number(launch->kernel)};
    bool is_known = summary && !summary->refusal && bases;
    struct emu_counts counts;
    struct emu_fault fault = {0};
    for (uint32_t b = 0; is_known && b < summary->base_count; b++)
        bases[b] = base_place(seen, launch, &summary->bases[b]);
    if (!emu_run(settings, own, &counts, &fault, is_known ? watch : NULL, &watched))
        fail(seen, operation, "program", fault.message);
    unsigned compared = 0;
    if (is_known && soundness_check(&watched.soundness, &compared) > 0)
        fail(seen, operation, "soundness", "the launch did what the analysis does not know");
    if (is_known) note_exact(seen, summary, watched.kernel);
    seen->program->watched += is_known;
    seen->program->compared += compared;
    if (!is_known) judge_count_refusal(seen->batch, summary ? summary->refusal : "no summary", 1);
    access_summary_free(summary);
    free(bases);
}

static struct emu_program *load(const char *ptx)
{
    char *error = NULL;
    struct emu_program *module = emu_program_load("random.ptx", ptx, &error);
    if (!module) abort();
    return module;
}

static const struct emu_kernel *kernel_of(struct observation *seen, const char *name)
{
    const char *library = script_library(name);
    struct emu_program **module = library ? &seen->libraries[*name == 'd'] : &seen->module;
    if (library && !*module) *module = load(library);
    return emu_program_kernel(*module, name);
}

static void launch(struct observation *seen, const struct script_operation *operation)
{
    const struct script_launch *wanted = operation->launch;
    unsigned char arguments[SCRIPT_ARGUMENT_BYTES];
    struct emu_settings settings = {.report_races = true, .workers = 1, .step_limit = LAUNCH_STEPS};
    struct emu_launch own = {
        .kernel = kernel_of(seen, wanted->kernel), .dynamic_shared = wanted->shared, .parameters = arguments};
    struct emu_counts counts;
    struct emu_fault fault = {0};
    memcpy(arguments, wanted->arguments, sizeof arguments);
    for (uint32_t i = 0; i < wanted->pointer_count; i++) {
        uint64_t pointer;
        memcpy(&pointer, arguments + wanted->pointers[i].offset, sizeof pointer);
        pointer += seen->arrays[wanted->pointers[i].array];
        memcpy(arguments + wanted->pointers[i].offset, &pointer, sizeof pointer);
    }
    memcpy(own.grid, wanted->grid, sizeof own.grid);
    memcpy(own.block, wanted->block, sizeof own.block);
    if (!own.kernel)
        fail(seen, operation, "program", "no such kernel");
    else if (is_new(seen, wanted))
        run_watched(seen, operation, &own, &settings);
    else if (!emu_run(&settings, &own, &counts, &fault, NULL, NULL))
        fail(seen, operation, "program", fault.message);
}

/* --- everything else --- */

static void tell(struct observation *seen, const char *what, uint32_t number, uint64_t address, uint64_t size)
{
    fprintf(seen->out, "%s%u %016llx\n", what, number, (unsigned long long)hash_check(host(address), size));
}

static void point(struct observation *seen, const struct script_operation *operation, uint64_t to)
{
    uint64_t address = address_of(seen, operation->source);
    memcpy(host(to), &address, sizeof address);
}

static void perform(struct observation *seen, const struct script_operation *operation)
{
    uint64_t address, size;
    uint32_t array = operation->place.array;
    switch (operation->kind) {
    case SCRIPT_ALLOC:
        seen->arrays[array] = emu_memory_allocate(operation->bytes, EMU_MEMORY_DEVICE);
        seen->sizes[array] = operation->bytes;
        seen->is_unprinted[array] = operation->type == 'u';
        if (!seen->arrays[array]) abort();
        memset(host(seen->arrays[array]), 0, operation->bytes);
        break;
    case SCRIPT_FREE:
        if (seen->arrays[array]) emu_memory_release(seen->arrays[array]);
        seen->arrays[array] = 0;
        break;
    case SCRIPT_LAUNCH:
        launch(seen, operation);
        break;
    case SCRIPT_FILL:
        script_data(host(address_of(seen, operation->place)), operation->bytes, operation->type,
                    operation->seed);
        break;
    case SCRIPT_SET:
        memset(host(address_of(seen, operation->place)), (int)operation->seed, operation->bytes);
        break;
    case SCRIPT_COPY:
        memcpy(host(address_of(seen, operation->place)), host(address_of(seen, operation->source)),
               operation->bytes);
        break;
    case SCRIPT_READ:
        tell(seen, "read ", operation->number, address_of(seen, operation->place), operation->bytes);
        break;
    case SCRIPT_VARIABLE:
        if (emu_program_variable(seen->module, operation->name, &address, &size))
            script_data(host(address), operation->bytes < size ? operation->bytes : size, operation->type,
                        operation->seed);
        break;
    case SCRIPT_BAD:
        fprintf(seen->out, "bad %u 1\n", operation->number); /* CUDA_ERROR_INVALID_VALUE */
        break;
    case SCRIPT_CALL:
        seen->calls++;
        break;
    case SCRIPT_RELOAD:
        emu_program_unload(seen->module);
        seen->module = load(seen->program->ptx);
        break;
    case SCRIPT_POINT:
        point(seen, operation, address_of(seen, operation->place));
        break;
    case SCRIPT_AIM:
        if (emu_program_variable(seen->module, operation->name, &address, &size))
            point(seen, operation, address + (uint64_t)operation->place.offset);
        break;
    case SCRIPT_PUT:
        if (emu_program_variable(seen->module, operation->name, &address, &size))
            memcpy(host(address + (uint64_t)operation->place.offset), operation->data, operation->bytes);
        break;
    case SCRIPT_POLL:
        tell(seen, "read ", operation->number, address_of(seen, operation->source), operation->bytes);
        break;
    case SCRIPT_HOLD:
    case SCRIPT_OPEN: /* follow_order */
    case SCRIPT_AWAIT:
    case SCRIPT_JOIN:
    case SCRIPT_RENEW:
    case SCRIPT_STREAM:
    case SCRIPT_SYNC:
    case SCRIPT_RECORD:
    case SCRIPT_WAIT:
    case SCRIPT_QUERY:
    case SCRIPT_PAUSE:
    case SCRIPT_REPLAY:
    case SCRIPT_OPERATIONS:
        break;
    }
}

static bool waits_for_host(const struct observation *seen, const struct script_operation *operation)
{
    bool is_in_stream =
        operation->kind == SCRIPT_LAUNCH || (operation->kind == SCRIPT_PUT && operation->has_stream);
    return seen->is_holding && is_in_stream && operation->stream == seen->held_stream &&
           seen->waiting_count < WAITING_MOST;
}

/* Does it, or has it wait; what waited comes when the host is there. */
static void follow_order(struct observation *seen, const struct script_operation *operation)
{
    if (operation->kind == SCRIPT_HOLD) seen->held_stream = operation->stream;
    if (waits_for_host(seen, operation)) {
        seen->waiting[seen->waiting_count++] = operation;
        return;
    }
    seen->is_holding = operation->kind == SCRIPT_HOLD ||
                       (seen->is_holding && operation->kind != SCRIPT_OPEN && operation->kind != SCRIPT_SYNC);
    for (uint32_t i = 0; !seen->is_holding && i < seen->waiting_count; i++) perform(seen, seen->waiting[i]);
    if (!seen->is_holding) seen->waiting_count = 0;
    perform(seen, operation);
}

/* Whether every place that an operation names exists: shrinking may have taken an allocation away. */
static bool is_possible(const struct observation *seen, const struct script_operation *operation)
{
    const uint64_t *arrays = seen->arrays, *sizes = seen->sizes;
    const struct script_place *places[] = {&operation->place, &operation->source};
    bool touches = operation->kind == SCRIPT_FILL || operation->kind == SCRIPT_SET ||
                   operation->kind == SCRIPT_COPY || operation->kind == SCRIPT_READ ||
                   operation->kind == SCRIPT_POINT;
    for (int i = 0; touches && i < (operation->kind == SCRIPT_COPY ? 2 : 1); i++)
        if (!arrays[places[i]->array] || places[i]->offset < 0 ||
            (uint64_t)places[i]->offset + operation->bytes > sizes[places[i]->array])
            return false;
    bool has_source =
        operation->kind == SCRIPT_POINT || operation->kind == SCRIPT_AIM || operation->kind == SCRIPT_POLL;
    if (has_source && !arrays[operation->source.array]) return false;
    for (uint32_t i = 0; operation->launch && i < operation->launch->pointer_count; i++)
        if (!arrays[operation->launch->pointers[i].array]) return false;
    return operation->kind != SCRIPT_ALLOC || !arrays[operation->place.array];
}

char *observe_program(struct batch *batch, struct judge_program *program)
{
    struct observation seen = {.batch = batch, .program = program};
    char *text = NULL, *error = NULL;
    const char *parse_error = NULL;
    size_t size = 0;
    seen.out = open_memstream(&text, &size);
    if (!seen.out || !emu_memory_open(DEVICE_BYTES)) abort();
    seen.module = emu_program_load("random.ptx", program->ptx, &error);
    seen.ptx = ptx_parse("random.ptx", program->ptx, strlen(program->ptx), &parse_error);
    seen.ctx = isl_ctx_alloc();
    isl_options_set_on_error(seen.ctx, ISL_ON_ERROR_CONTINUE);
    if (!seen.module || !seen.ptx)
        batch_fail(batch, program, "load: %s", error ? error : parse_error ? parse_error : "no module");
    for (uint32_t i = 0; i < program->script->count && !program->is_failed; i++) {
        const struct script_operation *operation = &program->script->operations[i];
        if (!is_possible(&seen, operation))
            batch_fail(batch, program, "program: line %u names what is not there", operation->line);
        else
            follow_order(&seen, operation);
    }
    follow_order(&seen, &(struct script_operation){.kind = SCRIPT_OPEN});
    fprintf(seen.out, "calls %u\n", seen.calls);
    for (uint32_t a = 0; a < SCRIPT_ARRAYS; a++)
        if (seen.arrays[a] && !seen.is_unprinted[a]) tell(&seen, "end a", a, seen.arrays[a], seen.sizes[a]);
    for (uint32_t a = 0; a < SCRIPT_ARRAYS; a++)
        if (seen.arrays[a]) emu_memory_release(seen.arrays[a]);
    isl_ctx_free(seen.ctx);
    if (seen.ptx) ptx_module_free(seen.ptx);
    if (seen.module) emu_program_unload(seen.module);
    for (int i = 0; i < 2; i++)
        if (seen.libraries[i]) emu_program_unload(seen.libraries[i]);
    free(error);
    fclose(seen.out);
    return text;
}
