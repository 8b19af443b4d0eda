/* SPDX-License-Identifier: Apache-2.0
 * The planner, one pass after the other: read the trace, analyse launch classes, search groups, write the
 * folder. */
#include "fuser/planner/planner.h"

#include "fuser/planner/deferred.h"
#include "fuser/planner/early.h"
#include "fuser/planner/plan_folder.h"
#include "fuser/planner/plan_write.h"
#include "fuser/planner/varying.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void planner_defaults(struct planner_options *options)
{
    *options = (struct planner_options){.margin = 0.03, .most_seconds = 600};
}

static bool can_plan(const struct program *program, const char *path, char *error, size_t error_size)
{
    if (!program->launch_count) {
        snprintf(
            error, error_size,
            "%s: no kernel launch was recorded: check that the program launches kernels%s, and record it "
            "again",
            path,
            program->device.is_emulated
                ? " and holds PTX, which is what the emulator runs (nvcc -arch=sm_NN, not -arch=native)"
                : "");
        return false;
    }
    if (!program->has_device) {
        snprintf(error, error_size, "%s: the trace names no device: record it again", path);
        return false;
    }
    return true;
}

/* The files' names, in the arena; NULL: memory is out. */
static const char *names_of_traces(struct arena *arena, const struct planner_options *options)
{
    const char *names = "";
    for (uint32_t i = 0; names && i < options->trace_count; i++) {
        const char *path = options->trace_paths[i], *slash = strrchr(path, '/');
        names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", slash ? slash + 1 : path);
    }
    return names;
}

static bool plan_program(const struct planner_options *options, struct program *program,
                         struct deadline *deadline, struct planner_summary *summary, char *error,
                         size_t error_size)
{
    struct launch_classes classes = {0};
    struct pairs pairs = {0};
    struct search search = {0};
    const char *names = names_of_traces(program->arena, options);
    char *json = NULL;
    struct early early;
    early_open(&early, options);
    const struct launch_watch watch = {options->progress, early_look, options->context, &early};
    bool planned = names && launch_classes_build(&classes, program, deadline, &watch) &&
                   varying_find(&classes) && pairs_open(&pairs, &classes, options);
    early_end(&early);
    planned = planned && search_run(&search, options, &pairs) && deferred_choose(&search) &&
              (json = plan_json(&search, names, summary));
    deadline_leave(deadline);
    if (!planned)
        snprintf(error, error_size, "%s: %s", options->trace_paths[0],
                 search.error ? search.error : "out of memory");
    planned = planned && plan_write(&search, options->plan_path, json, error, error_size);
    free(json);
    deferred_free(&search);
    search_free(&search);
    pairs_close(&pairs);
    launch_classes_free(&classes);
    return planned;
}

bool planner_run(const struct planner_options *options, struct planner_summary *summary, char *error,
                 size_t error_size)
{
    double start = deadline_now();
    *summary = (struct planner_summary){0};
    if (!plan_folder_may_hold(options->plan_path, error, error_size)) return false;
    struct runs *runs = runs_open(options->trace_paths, options->trace_count, true, error, error_size);
    struct program *program = program_read(runs, error, error_size);
    if (!program) return false;
    summary->runs = program->run_count;
    summary->trace_damaged_bytes = runs_damaged_bytes(runs, &summary->damaged_trace);
    bool planned = can_plan(program, options->trace_paths[0], error, error_size);
    if (planned) {
        isl_ctx *ctx = isl_ctx_alloc();
        isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
        struct deadline deadline;
        struct answers *answers = answers_open();
        struct compiler compiler = {answers, &deadline};
        deadline_open(&deadline, ctx, options->since > 0 ? options->since : start, options->most_seconds);
        program->compiler = &compiler;
        planned = plan_program(options, program, &deadline, summary, error, error_size);
        deadline_close(&deadline);
        answers_close(answers);
        isl_ctx_free(ctx);
    }
    program_free(program);
    summary->seconds = deadline_now() - start;
    return planned;
}
