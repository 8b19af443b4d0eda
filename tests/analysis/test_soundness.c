/* SPDX-License-Identifier: Apache-2.0
 * Runs every launch in the comments of the golden PTX files (or of the files named) on the emulator and holds
 * the analysis against what happened. */
#include "tests/analysis/soundness.h"

#include "emulator/memory.h"
#include "tests/analysis/launch_run.h"

#include <glob.h>
#include <isl/options.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_SEEDS = 2 };

struct run {
    struct emu_program *program;
    struct launch_line *line;
    struct access_summary *summary;
    uint64_t starts[LAUNCH_FILE_POINTERS];
};

static struct soundness_base place_base(const struct run *run, const struct access_base *base)
{
    struct soundness_base place = {0};
    uint64_t size = 0;

    if (base->kind == ACCESS_BASE_VARIABLE &&
        emu_program_variable(run->program, base->variable, &place.address, &size))
        return (struct soundness_base){place.address, place.address, place.address + size};
    for (uint32_t b = 0; base->kind == ACCESS_BASE_ARGUMENT && b < run->line->buffer_count; b++) {
        const struct launch_buffer *buffer = &run->line->buffers[b];
        if (buffer->offset == base->argument_offset)
            return (struct soundness_base){run->starts[b] + buffer->inside, run->starts[b],
                                           run->starts[b] + buffer->size};
    }
    return place;
}

static unsigned run_once(struct run *run, uint32_t seed, unsigned *compared)
{
    struct soundness_base *bases = calloc(run->summary->base_count + 1, sizeof *bases);
    struct soundness soundness = {.summary = run->summary, .bases = bases};
    struct emu_settings settings = {.step_limit = 100000000};
    struct emu_launch launch = {.kernel = emu_program_kernel(run->program, run->line->kernel),
                                .dynamic_shared = run->line->shared,
                                .parameters = run->line->arguments};
    struct emu_counts counts;
    struct emu_fault fault = {0};
    unsigned wrong = 0;

    memcpy(launch.grid, run->line->grid, sizeof launch.grid);
    memcpy(launch.block, run->line->block, sizeof launch.block);
    if (!bases || !launch.kernel || !launch_place(run->program, run->line, seed, run->starts)) {
        fprintf(stderr, "kernel %s cannot be run\n", run->line->kernel);
        free(bases);
        return 1;
    }
    for (uint32_t b = 0; b < run->summary->base_count; b++)
        bases[b] = place_base(run, &run->summary->bases[b]);
    if (!emu_run(&settings, &launch, &counts, &fault, soundness_watch, &soundness)) {
        fprintf(stderr, "%s\n", fault.message);
        wrong++;
    }
    wrong += soundness_check(&soundness, compared);
    launch_release(run->line, run->starts);
    free(bases);
    return wrong;
}

/* With next to no operations. */
static unsigned check_refusal(isl_ctx *ctx, struct launch_input input)
{
    input.most_operations = 1;
    struct access_summary *summary = access_analyse(ctx, &input);
    bool is_refused =
        summary && summary->takes_too_long && summary->refusal && strstr(summary->refusal, "takes too long");
    if (!is_refused) fprintf(stderr, "%s: analysed without looking\n", input.function->name);
    access_summary_free(summary);
    return !is_refused;
}

static unsigned check_file(isl_ctx *ctx, const char *path)
{
    const char *error = NULL;
    char *text = launch_file_read(path), *load_error = NULL;
    struct ptx_module *module = ptx_parse(path, text, strlen(text), &error);
    struct run run = {.program = emu_program_load(path, text, &load_error),
                      .line = calloc(1, sizeof *run.line)};
    unsigned wrong = 0, launches = 0, accesses = 0, compared = 0;

    if (!module || error || !run.program || !run.line) {
        fprintf(stderr, "%s: %s\n", path, error ? error : load_error ? load_error : "out of memory");
        exit(1);
    }
    for (const char *cursor = text; launch_file_next(&cursor, run.line);) {
        struct launch_input input;
        if (!run.line->may_run) continue;
        launch_file_input(run.line, module, &input);
        wrong += check_refusal(ctx, input);
        run.summary = access_analyse(ctx, &input);
        launches++;
        if (!run.summary || run.summary->refusal) {
            fprintf(stderr, "%s\n", run.summary ? run.summary->refusal : "out of memory");
            exit(1);
        }
        for (uint32_t seed = 0; seed < DATA_SEEDS; seed++)
            wrong += run_once(&run, seed, seed == 0 ? &compared : &(unsigned){0});
        accesses += run.summary->access_count;
        access_summary_free(run.summary);
    }
    printf("%s: %u launches, %u accesses, %u compared instance by instance, %u wrong\n", path, launches,
           accesses, compared, wrong);
    emu_program_unload(run.program);
    ptx_module_free(module);
    free(run.line);
    free(text);
    return wrong;
}

int main(int count, char **arguments)
{
    isl_ctx *ctx = isl_ctx_alloc();
    glob_t files = {0};
    char pattern[4096];
    unsigned wrong = 0;
    const char *source = getenv("top_srcdir");

    if (!ctx || !emu_memory_open((uint64_t)1 << 30)) return 99;
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    for (int i = 1; i < count; i++) wrong += check_file(ctx, arguments[i]);
    snprintf(pattern, sizeof pattern, "%s/tests/analysis/*.ptx", source ? source : ".");
    if (count == 1 && glob(pattern, 0, NULL, &files) != 0) {
        fprintf(stderr, "%s: no such files\n", pattern);
        return 1;
    }
    for (size_t f = 0; f < files.gl_pathc; f++) wrong += check_file(ctx, files.gl_pathv[f]);
    globfree(&files);
    isl_ctx_free(ctx);
    return wrong > 0;
}
