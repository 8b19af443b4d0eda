/* SPDX-License-Identifier: Apache-2.0
 * plan.bin: as it is, and with size and check made right. What is accepted is followed without further
 * checks, and its own steps are matched against it. */
#include "common/plan.h"
#include "interpose/match.h"
#include "tests/common/follow_plan.h"
#include "tests/fuzz/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/kfuse-fuzz-XXXXXX", entry[sizeof folder + 16];

static void remove_folder(void)
{
    unlink(entry);
    rmdir(folder);
}

/* A folder whose plan.bin is the file in memory. */
static void make_folder(const char *path)
{
    if (entry[0]) return;
    if (!mkdtemp(folder)) abort();
    snprintf(entry, sizeof entry, "%s/plan.bin", folder);
    if (symlink(path, entry)) abort();
    atexit(remove_folder);
}

static bool is_allocated(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    (void)context;
    *start = address & ~UINT64_C(4095);
    *size = 4096;
    return true;
}

/* Launches exactly what the group's steps ask for. */
static void match_group(const struct match *match, const struct plan *plan, const struct plan_group *group)
{
    enum { LAUNCHES = 64 };
    const unsigned char *arguments[LAUNCHES];
    uint32_t sizes[LAUNCHES];
    struct match_state state;
    match_start(&state);
    for (uint32_t i = 0; i < group->step_count && i < LAUNCHES; i++) {
        const struct plan_step *step = &plan->steps[group->first_step + i];
        arguments[i] = plan->masks + step->mask + step->arguments_size;
        sizes[i] = step->arguments_size; /* guards on variables read beyond, and fail */
        struct match_launch launch = {.kernel = step->kernel,
                                      .dynamic_shared = step->dynamic_shared,
                                      .arguments_size = step->arguments_size,
                                      .arguments = arguments[i]};
        memcpy(launch.grid, step->grid, sizeof launch.grid);
        memcpy(launch.block, step->block, sizeof launch.block);
        struct guard_view view = {arguments, sizes, i + 1, is_allocated, is_allocated, NULL, NULL};
        if (!match_take(match, &state, &launch, &view)) return;
        if (match_is_final(match, &state)) return;
    }
}

static void use(const struct plan *plan)
{
    follow_plan_copy(plan);
    struct match *match = match_create(plan);
    if (!match) abort();
    for (uint32_t i = 0; i < plan->header->groups.count; i++) match_enable(match, i, true);
    for (uint32_t i = 0; i < plan->header->groups.count; i++) match_group(match, plan, &plan->groups[i]);
    match_free(match);
}

static void read_plan(const void *bytes, size_t size)
{
    char error[256];
    struct plan plan;
    make_folder(memory_file_path(bytes, size));
    if (plan_map(&plan, folder, error, sizeof error)) use(&plan);
    plan_unmap(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    unsigned char *mended = malloc(size + !size);
    if (!mended) abort();
    memcpy(mended, bytes, size);
    if (size >= sizeof(struct plan_header)) {
        struct plan_header *header = (struct plan_header *)mended;
        header->file_size = size;
        header->check = plan_check(mended, size);
    }
    if (memcmp(mended, bytes, size)) read_plan(bytes, size);
    read_plan(mended, size);
    free(mended);
    return 0;
}
