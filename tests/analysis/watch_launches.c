/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into a program on the emulator: holds what its launches touch against the analysis. Like the
 * planner it analyses one launch of each kernel, shape and set of pointer arguments for all whose used words
 * are the same; of these MOST_ALIKE are watched. The file that KFUSE_WATCH names gets a line each:
 *
 *   held KERNEL ACCESSES EXACT WRONG    accesses of the analysis, those that were compared for equality
 *   refused KERNEL WHY                  for each analysis
 *
 * KFUSE_WATCH_OFFSET: arrays are taken to lie so many bytes further on, which must be found. */
#include "emulator/watch.h"

#include "common/hash.h"
#include "fuser/kernel/plain.h"
#include "tests/analysis/soundness.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <isl/options.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ALIKE = 3, POINTERS_MOST = 256 };

struct module { /* the program may unload its own */
    struct module *next;
    uint64_t hash; /* of the text */
    struct ptx_module *ptx;
};
struct analysed { /* an analysis and the launches that it was made for */
    struct analysed *next;
    const struct ptx_function *function;
    uint32_t grid[3], block[3], shared, size, pointer_count, watched;
    struct launch_pointer pointers[POINTERS_MOST];
    unsigned char *arguments;
    uint64_t seen[MOST_ALIKE]; /* hashes of the arguments that were watched */
    struct access_summary *summary;
};

static struct watching {
    int file;
    uint64_t offset;
    isl_ctx *ctx;
    struct arena *arena;
    struct module *modules;
    struct analysed *list;
    struct soundness soundness; /* of the launch that runs */
} watching = {.file = -1};

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    if (write(watching.file, line, (size_t)length + 1) < 0) abort();
}

/* --- the analysis of a launch --- */

/* The launch's function, in a module of our own. */
static const struct ptx_function *find_function(const struct ptx_function *theirs)
{
    const struct ptx_module *text = theirs->module;
    uint64_t hash = hash_check(text->text, text->length);
    struct module *module = watching.modules;
    const char *error = NULL;
    while (module && module->hash != hash) module = module->next;
    if (!module) {
        module = arena_alloc(watching.arena, sizeof *module);
        if (!module) abort();
        *module =
            (struct module){watching.modules, hash, ptx_parse("module", text->text, text->length, &error)};
        if (!module->ptx || error) abort();
        watching.modules = module;
    }
    return ptx_find_function(module->ptx, theirs->name);
}

/* As fuser/planner/program.c finds them in a trace. */
static void find_pointers(const struct emu_watch_launch *launch, struct analysed *analysed)
{
    for (uint32_t i = 0; i < launch->function->parameter_count; i++) {
        const struct ptx_variable *parameter = &launch->function->parameters[i];
        uint64_t end = parameter->offset + parameter->size;
        for (uint64_t at = (parameter->offset + 7) & ~7ull; at + 8 <= end; at += 8) {
            struct emu_allocation allocation;
            uint64_t value;
            memcpy(&value, (const char *)launch->launch->parameters + at, sizeof value);
            if (analysed->pointer_count < POINTERS_MOST && launch->find_allocation(value, &allocation))
                analysed->pointers[analysed->pointer_count++].offset = (uint32_t)at;
        }
    }
}

static bool is_same_shape(const struct analysed *a, const struct analysed *b)
{
    return a->function == b->function && a->shared == b->shared && a->pointer_count == b->pointer_count &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           memcmp(a->pointers, b->pointers, a->pointer_count * sizeof *a->pointers) == 0;
}

static bool agrees(const struct analysed *analysed, const unsigned char *arguments)
{
    const struct access_summary *summary = analysed->summary;
    for (uint32_t w = 0; w < summary->word_count; w++)
        if (memcmp(analysed->arguments + summary->words[w].offset, arguments + summary->words[w].offset,
                   summary->words[w].size) != 0)
            return false;
    return true;
}

static void analyse(struct analysed *analysed)
{
    struct launch_input input = {.function = plain_function(watching.arena, analysed->function),
                                 .dynamic_shared = analysed->shared,
                                 .arguments = analysed->arguments,
                                 .arguments_size = analysed->size,
                                 .pointers = analysed->pointers,
                                 .pointer_count = analysed->pointer_count};
    memcpy(input.grid, analysed->grid, sizeof input.grid);
    memcpy(input.block, analysed->block, sizeof input.block);
    analysed->summary = access_analyse(watching.ctx, &input);
    if (!analysed->summary) abort();
    if (analysed->summary->refusal)
        tell("refused %s %s", analysed->function->name, analysed->summary->refusal);
}

/* That the launch is held against; its analysis is made where there is none. */
static struct analysed *find_analysed(const struct emu_watch_launch *launch)
{
    const struct emu_launch *shape = launch->launch;
    const unsigned char *arguments = shape->parameters;
    struct analysed *own = calloc(1, sizeof *own);
    if (!own) abort();
    own->function = find_function(launch->function);
    if (!own->function) abort();
    own->shared = shape->dynamic_shared;
    own->size = launch->function->parameter_bytes;
    memcpy(own->grid, shape->grid, sizeof own->grid);
    memcpy(own->block, shape->block, sizeof own->block);
    find_pointers(launch, own);
    for (struct analysed *other = watching.list; other; other = other->next) {
        if (!is_same_shape(own, other) || (!other->summary->refusal && !agrees(other, arguments))) continue;
        free(own);
        return other;
    }
    own->arguments = arena_alloc(watching.arena, own->size + 1);
    if (own->size) memcpy(own->arguments, arguments, own->size);
    own->next = watching.list;
    watching.list = own;
    analyse(own);
    return own;
}

/* --- one launch --- */

/* Where a hull is known, it is what the analysis claims, and it is held against the allocation by guards. A
 * pointer that lies in no allocation keeps the launch from every group, so it promises nothing but its
 * relations. */
static struct soundness_base place_of(const struct emu_watch_launch *launch, const struct access_base *base)
{
    struct soundness_base place = {.end = UINT64_MAX};
    struct emu_allocation allocation;
    uint64_t size;
    if (base->kind == ACCESS_BASE_VARIABLE &&
        launch->find_variable(launch->program, base->variable, &place.address, &size))
        return (struct soundness_base){place.address, place.address, place.address + size};
    if (base->kind != ACCESS_BASE_ARGUMENT) return (struct soundness_base){0};
    memcpy(&place.address, (const char *)launch->launch->parameters + base->argument_offset,
           sizeof place.address);
    if (!base->is_bounded && launch->find_allocation(place.address, &allocation)) {
        place.start = allocation.start;
        place.end = allocation.start + allocation.size;
    }
    return place;
}

static bool is_new(struct analysed *analysed, const void *arguments)
{
    uint64_t hash = hash_check(arguments, analysed->size);
    for (uint32_t i = 0; i < analysed->watched; i++)
        if (analysed->seen[i] == hash) return false;
    if (analysed->watched == MOST_ALIKE) return false;
    analysed->seen[analysed->watched++] = hash;
    return true;
}

static emu_watch begin(const struct emu_watch_launch *launch, void **context)
{
    struct analysed *analysed = find_analysed(launch);
    const struct access_summary *summary = analysed->summary;
    if (summary->refusal || !is_new(analysed, launch->launch->parameters)) return NULL;
    struct soundness_base *bases = calloc(summary->base_count + 1, sizeof *bases);
    if (!bases) abort();
    for (uint32_t b = 0; b < summary->base_count; b++) {
        bases[b] = place_of(launch, &summary->bases[b]);
        bases[b].address += watching.offset;
    }
    watching.soundness = (struct soundness){.summary = summary, .bases = bases};
    *context = &watching.soundness;
    return soundness_watch;
}

static void end(void *context)
{
    struct soundness *soundness = context;
    const struct access_summary *summary = soundness->summary;
    unsigned exact = 0, wrong = soundness_check(soundness, &exact);
    tell("held %s %u %u %u", summary->function->name, summary->access_count, exact, wrong);
    free((void *)soundness->bases);
}

__attribute__((constructor)) static void start(void)
{
    static const struct emu_watcher watcher = {begin, end};
    const char *path = getenv("KFUSE_WATCH");
    void *driver = path ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    void *subscribe = driver ? dlsym(driver, "emuWatchSubscribe") : NULL;
    emu_watch_subscribe function;
    if (!subscribe) return;
    watching.file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    watching.ctx = isl_ctx_alloc();
    watching.arena = arena_create();
    if (watching.file < 0 || !watching.ctx || !watching.arena) abort();
    watching.offset = getenv("KFUSE_WATCH_OFFSET") ? strtoull(getenv("KFUSE_WATCH_OFFSET"), NULL, 0) : 0;
    isl_options_set_on_error(watching.ctx, ISL_ON_ERROR_CONTINUE);
    memcpy(&function, &subscribe, sizeof function);
    function(&watcher);
}
