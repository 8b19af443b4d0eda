/* SPDX-License-Identifier: Apache-2.0
 * See scene.h. Arrays live as long as their scene. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/kernel/plain.h"
#include "tests/codegen/device.h"
#include "tests/codegen/hand.h"
#include "tests/fusion/shadow.h"
#include "tests/codegen/scene.h"

#include "fuser/codegen/reference.h"
#include "fuser/codegen/recover.h"

#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct device *the_device(void)
{
    const char *name = getenv("KFUSE_TEST_DEVICE");
    return name && !strcmp(name, "gpu") ? &device_gpu : &device_emulator;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill(unsigned char *bytes, const struct scene_array *array, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    if (array->element == 'f') {
        for (uint32_t i = 0; i + 4 <= array->bytes; i += 4) {
            float value = (float)((double)(int64_t)next_random(&state) / 0x1p61);
            memcpy(bytes + i, &value, 4);
        }
    } else if (array->element == 'd') {
        for (uint32_t i = 0; i + 8 <= array->bytes; i += 8) {
            double value = (double)(int64_t)next_random(&state) / 0x1p61;
            memcpy(bytes + i, &value, 8);
        }
    } else {
        for (uint32_t i = 0; i < array->bytes; i++) bytes[i] = (unsigned char)next_random(&state);
    }
}

static void put_argument(const struct scene_run *run, unsigned char *to, uint32_t size,
                         const struct scene_argument *argument)
{
    uint64_t address = run->addresses[argument->array] + argument->offset;
    float number = (float)argument->number;
    switch (argument->kind) {
    case SCENE_END:
        fail_msg("a launch has too few arguments");
        break;
    case SCENE_POINTER:
        memcpy(to, &address, 8);
        break;
    case SCENE_INT:
        memcpy(to, &argument->integer, 4);
        break;
    case SCENE_FLOAT:
        memcpy(to, &number, 4);
        break;
    case SCENE_DOUBLE:
        memcpy(to, &argument->number, 8);
        break;
    case SCENE_BYTES:
        memcpy(to, argument->bytes, size);
        break;
    }
}

static const struct scene_argument *argument_at(const struct ptx_function *function,
                                                const struct scene_launch *launch, uint32_t offset)
{
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].offset == offset) return &launch->arguments[i];
    return NULL;
}

static void open_launch(struct scene_run *run, const struct scene *scene, uint32_t index)
{
    const struct scene_launch *launch = &scene->launches[index];
    const struct ptx_function *function = ptx_find_function(run->module, launch->kernel);
    assert_non_null(function);
    function = plain_function(run->arena, function);
    struct launch_pointer *pointers = arena_calloc(run->arena, 8, sizeof *pointers);
    struct launch_input input = {
        .function = function, .pointers = pointers, .arguments_size = function->parameter_bytes};
    run->arguments[index] = arena_alloc(run->arena, function->parameter_bytes);
    input.arguments = run->arguments[index];
    memcpy(input.grid, launch->grid, sizeof input.grid);
    memcpy(input.block, launch->block, sizeof input.block);
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *parameter = &function->parameters[i];
        put_argument(run, run->arguments[index] + parameter->offset, (uint32_t)parameter->size,
                     &launch->arguments[i]);
        if (launch->arguments[i].kind == SCENE_POINTER)
            pointers[input.pointer_count++].offset = parameter->offset;
    }
    struct access_summary *summary = access_analyse(run->ctx, &input);
    assert_non_null(summary);
    if (summary->refusal) fail_msg("%s", summary->refusal);
    struct array_binding *bindings = arena_calloc(run->arena, summary->base_count + 1, sizeof *bindings);
    for (uint32_t i = 0; i < summary->base_count; i++) {
        if (summary->bases[i].kind == ACCESS_BASE_VARIABLE) { /* tables of the mathematical library */
            bindings[i] = (struct array_binding){
                .array = SCENE_ARRAYS, .size = 1 << 20, .is_plain = true, .is_private = true};
            continue;
        }
        const struct scene_argument *argument =
            argument_at(function, launch, summary->bases[i].argument_offset);
        assert_non_null(argument);
        bindings[i] = (struct array_binding){.array = argument->array,
                                             .offset = argument->offset,
                                             .size = scene->arrays[argument->array].bytes,
                                             .is_plain = true,
                                             .is_private = true};
    }
    run->members[index] = (struct bound_launch){summary, bindings};
}

void scene_open(struct scene_run *run, const struct scene *scene)
{
    if (!the_device()->open()) exit(77); /* no such device: skipped */
    memset(run, 0, sizeof *run);
    run->ctx = isl_ctx_alloc();
    isl_options_set_on_error(run->ctx, ISL_ON_ERROR_CONTINUE);
    run->memo = memo_open(run->ctx);
    run->memo.without_one_block = !scene->in_one_block; /* the launches are small */
    run->memo.without_last_block = !scene->last_first;
    run->memo.without_halo = scene->in_one_block || scene->last_first;
    run->memo.march_layers = scene->march_layers;
    run->arena = arena_create();
    run->module = hand_module(scene->module ? scene->module : "kernels.ptx");
    for (uint32_t i = 0; i < SCENE_ARRAYS && scene->arrays[i].bytes; i++)
        run->addresses[i] = the_device()->allocate(scene->arrays[i].bytes);
    for (uint32_t i = 0; i < SCENE_LAUNCHES && scene->launches[i].kernel; i++, run->launch_count++)
        open_launch(run, scene, i);
    run->group = scene->inter_block ? group_decide_inter_block(&run->memo, run->members, run->launch_count)
                 : scene->last_first
                     ? group_decide_last_block(&run->memo, run->members, run->launch_count, scene->last_first)
                     : group_decide(&run->memo, run->members, run->launch_count);
    assert_non_null(run->group);
    shadow_group(&run->memo, run->members, run->launch_count, run->group);
}

static void run_originals(struct scene_run *run, void *module)
{
    for (uint32_t i = 0; i < run->launch_count; i++) {
        const struct access_summary *summary = run->members[i].summary;
        struct device_launch launch = {.kernel = summary->function->name,
                                       .grid = summary->grid,
                                       .block = summary->block,
                                       .parameters = run->arguments[i],
                                       .parameter_bytes = summary->function->parameter_bytes};
        the_device()->launch(module, &launch);
    }
}

/* --- renamed ranges: by turns the old contents lie in the array, and in the second buffer --- */

static uint64_t range_address(const struct scene_run *run, const struct group_rename *rename)
{
    uint64_t pointer;
    memcpy(&pointer, run->arguments[rename->member] + rename->argument_offset, 8);
    return pointer + (uint64_t)rename->from;
}

static void copy_range(uint64_t to, uint64_t from, uint64_t size)
{
    unsigned char *bytes = malloc(size);
    the_device()->read(from, bytes, size);
    the_device()->write(to, bytes, size);
    free(bytes);
}

static void copy_box(uint64_t to, uint64_t from, const struct group_box *box)
{
    for (uint32_t layer = 0; layer < box->layers; layer++)
        for (uint32_t row = 0; row < box->rows; row++) {
            uint64_t at = (uint64_t)box->from + ((uint64_t)layer * box->layer_rows + row) * box->row_pitch;
            copy_range(to + at, from + at, box->width);
        }
}

/* What is there must not matter. */
static void spoil_range(uint64_t address, uint64_t size)
{
    unsigned char *bytes = malloc(size);
    memset(bytes, 0xa5, size);
    the_device()->write(address, bytes, size);
    free(bytes);
}

/* distances: old and new of each rename. */
static void open_ranges(struct scene_run *run, bool is_swapped, uint64_t *buffers, int64_t *distances)
{
    for (uint32_t i = 0; i < run->group->rename_count; i++) {
        const struct group_rename *rename = &run->group->renames[i];
        uint64_t array = range_address(run, rename);
        buffers[i] = the_device()->allocate(rename->bytes);
        copy_range(buffers[i], array, rename->bytes);
        if (!rename->is_partial) spoil_range(is_swapped ? array : buffers[i], rename->bytes);
        distances[2 * i + !is_swapped] = (int64_t)(buffers[i] - array);
        distances[2 * i + is_swapped] = 0;
    }
}

static void close_ranges(struct scene_run *run, bool is_swapped, const uint64_t *buffers)
{
    for (uint32_t i = 0; i < run->group->rename_count; i++) {
        const struct group_rename *rename = &run->group->renames[i];
        if (!is_swapped) copy_box(range_address(run, rename), buffers[i], &rename->written);
        the_device()->release(buffers[i]);
    }
}

static void run_fused(struct scene_run *run, const struct codegen_result *result, uint64_t seed)
{
    void *module = the_device()->load(result->ptx, result->cubin);
    unsigned char *parameters = calloc(1, result->parameter_bytes + 1);
    uint64_t *buffers = calloc(run->group->rename_count + 1, sizeof *buffers);
    int64_t *distances = calloc(2 * run->group->rename_count + 1, sizeof *distances);
    uint32_t next = 0;
    open_ranges(run, seed % 2, buffers, distances);
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        const struct codegen_parameter *parameter = &result->parameters[i];
        if (parameter->is_arrivals) continue;
        if (parameter->is_distance) {
            memcpy(parameters + parameter->destination_offset, &distances[next++], 8);
            continue;
        }
        memcpy(parameters + parameter->destination_offset,
               run->arguments[parameter->member] + parameter->source_offset, parameter->size);
    }
    struct device_launch launch = {.kernel = result->entry,
                                   .grid = run->group->grid,
                                   .block = run->group->block,
                                   .parameters = parameters,
                                   .parameter_bytes = result->parameter_bytes,
                                   .dynamic_shared = result->dynamic_shared,
                                   .seed = seed};
    the_device()->launch(module, &launch);
    close_ranges(run, seed % 2, buffers);
    free(parameters);
    free(buffers);
    free(distances);
    the_device()->unload(module);
}

static void set_arrays(const struct scene_run *run, const struct scene *scene)
{
    for (uint32_t i = 0; i < SCENE_ARRAYS && scene->arrays[i].bytes; i++) {
        unsigned char *bytes = calloc(1, scene->arrays[i].bytes);
        fill(bytes, &scene->arrays[i], i + 1);
        the_device()->write(run->addresses[i], bytes, scene->arrays[i].bytes);
        free(bytes);
    }
}

/* Saves (is_check false) or compares the arrays. */
static void compare_arrays(const struct scene_run *run, const struct scene *scene, unsigned char **saved,
                           bool is_check)
{
    for (uint32_t i = 0; i < SCENE_ARRAYS && scene->arrays[i].bytes; i++) {
        unsigned char *bytes = calloc(1, scene->arrays[i].bytes);
        the_device()->read(run->addresses[i], bytes, scene->arrays[i].bytes);
        if (is_check)
            assert_memory_equal(bytes, saved[i], scene->arrays[i].bytes);
        else
            memcpy(saved[i], bytes, scene->arrays[i].bytes);
        free(bytes);
    }
}

/* The pointers that the members have in common. */
static uint32_t find_aliases(const struct scene *scene, const struct scene_run *run,
                             struct codegen_alias *aliases)
{
    uint32_t count = 0;
    for (uint32_t member = 1; member < run->launch_count; member++)
        for (uint32_t i = 0; i < 8 && scene->launches[member].arguments[i].kind; i++)
            for (uint32_t k = 0; k < 8 && scene->launches[0].arguments[k].kind; k++) {
                const struct scene_argument *a = &scene->launches[member].arguments[i];
                const struct scene_argument *b = &scene->launches[0].arguments[k];
                if (a->kind != SCENE_POINTER || b->kind != SCENE_POINTER || a->array != b->array ||
                    a->offset != b->offset)
                    continue;
                aliases[count++] = (struct codegen_alias){
                    member, run->members[member].summary->function->parameters[i].offset, 0,
                    run->members[0].summary->function->parameters[k].offset};
            }
    return count;
}

/* module: the originals. False when the compiled kernel was rejected, as scene_compare's. */
static bool compare_with(struct scene_run *run, const struct scene *scene, const char *module_text,
                         const struct codegen_reference *references)
{
    struct codegen_alias aliases[SCENE_LAUNCHES * 8];
    struct codegen_request request = {.group = run->group,
                                      .name = "fused",
                                      .sm = the_device()->open(),
                                      .aliases = aliases,
                                      .references = references};
    struct codegen_result result;
    unsigned char *saved[SCENE_ARRAYS];
    if (run->group->refusal) fail_msg("%s", run->group->refusal);
    request.alias_count = find_aliases(scene, run, aliases);
    codegen_compile(&request, &result);
    if (result.error && strstr(result.error, "not bit-exact for certain")) {
        codegen_result_clear(&result);
        return false;
    }
    if (result.error) fail_msg("%s\n%s", result.error, result.source ? result.source : "");
    void *module = the_device()->load(module_text, NULL);
    for (uint32_t i = 0; i < SCENE_ARRAYS; i++)
        saved[i] = arena_alloc(run->arena, scene->arrays[i].bytes + 1);
    set_arrays(run, scene);
    run_originals(run, module);
    compare_arrays(run, scene, saved, false);
    for (uint64_t seed = 0; seed < 3; seed++) {
        set_arrays(run, scene);
        run_fused(run, &result, seed);
        compare_arrays(run, scene, saved, true);
    }
    the_device()->unload(module);
    codegen_result_clear(&result);
    return true;
}

/* --- as an assembler contracts --- */

static unsigned contracted; /* scenes */
static void say_contracted(void)
{
    if (contracted) fprintf(stderr, "%u scenes compared with products contracted\n", contracted);
    contracted = 0;
}

static const struct contraction *recover_member(struct scene_run *run, const struct ptx_function *function)
{
    struct nvrtc_output output;
    struct cubin cubin;
    reference_compile(NULL, run->arena, run->module, &function, 1, the_device()->open(), 0, &output);
    if (output.error || !cubin_open(&cubin, output.cubin, output.cubin_size)) return NULL;
    struct callees callees;
    if (!callees_find(run->arena, function, &callees)) return NULL;
    return recover_contractions(NULL, run->arena, &callees, &cubin, the_device()->open(), 0);
}

/* The module with the functions of the references so that nothing is left to an assembler. */
static char *contracted_text(struct scene_run *run, const struct codegen_reference *references)
{
    struct ptx_module module = *run->module;
    size_t size = module.function_count * sizeof *module.functions;
    char *text = NULL;
    module.functions = arena_alloc(run->arena, size);
    memcpy(module.functions, run->module->functions, size);
    for (uint32_t f = 0; f < module.function_count; f++)
        for (uint32_t i = 0; i < run->launch_count; i++) {
            const struct ptx_function *function = run->members[i].summary->function;
            if (run->module->functions[f] != function) continue;
            module.functions[f] = arena_alloc(run->arena, sizeof *function);
            assert_true(
                contraction_apply(run->arena, function, references[i].contractions, module.functions[f]));
        }
    FILE *out = open_memstream(&text, &size);
    ptx_print_module(out, &module);
    fclose(out);
    return text;
}

bool scene_compare(struct scene_run *run, const struct scene *scene)
{
    if (!getenv("KFUSE_TEST_CONTRACTED")) return compare_with(run, scene, run->module->text, NULL);
    if (!contracted) atexit(say_contracted);
    contracted += scene_compare_contracted(run, scene);
    return true; /* as it is, its contraction is not certain */
}

bool scene_compare_contracted(struct scene_run *run, const struct scene *scene)
{
    struct codegen_reference references[SCENE_LAUNCHES] = {{0}};
    bool contracts = false;
    for (uint32_t i = 0; i < run->launch_count; i++) {
        const struct ptx_function *function = run->members[i].summary->function;
        references[i].contractions = recover_member(run, function);
        if (!references[i].contractions) return false;
        for (uint32_t k = 0; k < function->instruction_count; k++)
            contracts |= references[i].contractions[k].summand != 0;
    }
    if (!contracts) return false;
    char *text = contracted_text(run, references);
    bool is_compared = compare_with(run, scene, text, references);
    free(text);
    return is_compared;
}

void scene_close(struct scene_run *run)
{
    group_free(run->group);
    for (uint32_t i = 0; i < run->launch_count; i++)
        access_summary_free((struct access_summary *)run->members[i].summary);
    for (uint32_t i = 0; i < SCENE_ARRAYS; i++)
        if (run->addresses[i]) the_device()->release(run->addresses[i]);
    ptx_module_free(run->module);
    arena_free(run->arena);
    memo_close(&run->memo);
    isl_ctx_free(run->ctx);
}
