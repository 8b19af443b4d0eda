/* SPDX-License-Identifier: Apache-2.0
 * Launch classes: a hash table by kernel, shape and pointer words; inside a bucket the argument words that
 * the analysis used are compared. */
#include "fuser/planner/launch_class.h"

#include "common/hash.h"
#include "fuser/access/array_range.h"
#include "fuser/access/moved.h"
#include "fuser/access/regrid.h"
#include "fuser/access/unstage.h"
#include "fuser/codegen/codegen.h"
#include "fuser/planner/contents.h"
#include "fuser/planner/grids.h"
#include "fuser/planner/memop.h"
#include "fuser/planner/pointer_words.h"
#include "fuser/planner/shift.h"

#include <isl/options.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { OPERATIONS_PER_LAUNCH = 20 * 1000 * 1000, VARIABLE_ARRAYS = 1u << 30 };

struct class_bucket {
    struct hash128 key;
    uint32_t number; /* from 0, in order of the first launch */
    uint32_t *classes;
    uint32_t count, capacity;
    UT_hash_handle hh;
};

struct written_function {
    const struct ptx_function *function;
    struct hash128 hash; /* of its text */
    struct written_function *next;
};

static struct hash128 bucket_key(const struct program_launch *launch)
{
    const struct trace_launch *record = launch->record;
    struct {
        uint32_t kernel, grid[3], block[3], shared, size;
    } fixed = {.kernel = record->kernel, .shared = record->dynamic_shared, .size = record->arguments_size};
    memcpy(fixed.grid, record->grid, sizeof fixed.grid);
    memcpy(fixed.block, record->block, sizeof fixed.block);
    struct hash128 key = hash_bytes(&fixed, sizeof fixed);
    for (uint32_t i = 0; i < launch->pointer_count; i++) {
        uint64_t mixed[3] = {key.low, key.high, launch->pointers[i].offset};
        key = hash_bytes(mixed, sizeof mixed);
    }
    return key;
}

bool launch_class_fits(struct program *program, const struct launch_class *class,
                       const struct program_launch *launch)
{
    const struct access_summary *summary = class->summary;
    for (uint32_t i = 0; summary && i < summary->word_count; i++) {
        const struct access_words *words = &summary->words[i];
        if (memcmp(launch->arguments + words->offset, class->example->arguments + words->offset, words->size))
            return false;
    }
    if (summary && !contents_agree(program, summary, class->example, launch)) return false;
    return shift_fits(class, launch);
}

static bool words_meet(const struct access_words *a, const struct access_words *b)
{
    return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

/* A word may not vary that something else rests on. */
static bool has_varying_word(const struct launch_class *class, const struct access_summary *summary)
{
    for (uint32_t i = 0; i < summary->word_count; i++) {
        const struct access_words *word = &summary->words[i];
        for (uint32_t k = 0; k < class->shift_count; k++)
            if (words_meet(word, &(struct access_words){class->shifts[k].offset, class->shifts[k].size}))
                return true;
        for (uint32_t k = 0; k < class->open_count; k++)
            if (words_meet(word, &class->open[k])) return true;
    }
    return false;
}

/* As a launch with a thread for each iteration, where it can be seen so; or NULL. */
static struct access_summary *analyse_regridded(struct launch_classes *classes, struct launch_class *class,
                                                const struct launch_input *input)
{
    struct launch_input other;
    struct access_summary *summary = NULL;
    struct regrid_seen seen;
    const struct grid_strides *strides = grids_loops(classes->grids, class->example->record);
    if (!strides) return NULL;
    if (regrid_input(classes->ctx, strides, input, &other, &seen))
        summary = shift_analyse(classes->program, class, classes->ctx, &other);
    bool is_sound = summary && !summary->refusal && !summary->no_member &&
                    (!summary->is_regridded || regrid_may_be_apart(classes->ctx, summary)) &&
                    regrid_guard(&seen, summary) && !has_varying_word(class, summary);
    regrid_close(&seen);
    if (is_sound) return summary;
    access_summary_free(summary);
    class->shifts = NULL;
    class->shift_count = 0;
    return NULL;
}

/* The same function for the same text, so that classes can be alike. */
static const struct ptx_function *known_function(struct launch_classes *classes,
                                                 const struct ptx_function *function)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) ptx_print_function(out, function);
    if (!out || fclose(out)) return NULL;
    struct hash128 hash = hash_bytes(text, length);
    free(text);
    struct written_function *written = classes->written;
    while (written && (written->function->module != function->module || !hash_equal(written->hash, hash)))
        written = written->next;
    if (written) return written->function;
    written = arena_alloc(classes->program->arena, sizeof *written);
    if (!written) return NULL;
    *written = (struct written_function){function, hash, classes->written};
    classes->written = written;
    return function;
}

/* As a launch without what it stages in shared memory, where it can be seen so; or NULL. */
static struct access_summary *analyse_unstaged(struct launch_classes *classes,
                                               const struct launch_class *class,
                                               const struct launch_input *input)
{
    struct arena *arena = classes->program->arena;
    struct staging staging;
    struct launch_input other = *input;
    struct access_summary *summary = NULL;
    if (!staging_may_be(input->function)) return NULL;
    other.function = staging_find(classes->ctx, input, &staging)
                         ? unstage_function(arena, input->function, &staging)
                         : NULL;
    if (other.function) other.function = known_function(classes, other.function);
    other.was_staged = other.function ? unstage_loads(arena, input->function, other.function) : NULL;
    other.dynamic_shared = 0;
    other.is_regridded = true;
    if (other.was_staged) summary = access_analyse(classes->ctx, &other);
    const struct regrid_seen seen = {.summaries = {staging.summary}};
    bool is_sound = summary && !summary->refusal && !summary->no_member && !summary->whole_block &&
                    unstage_is_simple(summary) && regrid_may_be_apart(classes->ctx, summary) &&
                    regrid_guard(&seen, summary) && !has_varying_word(class, summary);
    staging_close(&staging);
    if (is_sound) return summary;
    access_summary_free(summary);
    return NULL;
}

static bool describe(struct launch_classes *classes, const struct launch_class *class,
                     const struct ptx_function *function, struct launch_input *input)
{
    struct program *program = classes->program;
    const struct program_launch *launch = class->example;
    const struct trace_launch *record = launch->record;
    struct launch_pointer *pointers =
        arena_calloc(program->arena, launch->pointer_count + 1, sizeof *pointers);
    if (!pointers) return false;
    for (uint32_t i = 0; i < launch->pointer_count; i++) pointers[i].offset = launch->pointers[i].offset;
    *input = (struct launch_input){
        .function = function,
        .dynamic_shared = record->dynamic_shared,
        .arguments = launch->arguments,
        .arguments_size = record->arguments_size,
        .pointers = pointers,
        .pointer_count = launch->pointer_count,
        .open = class->open,
        .open_count = class->open_count,
    };
    memcpy(input->grid, record->grid, sizeof input->grid);
    memcpy(input->block, record->block, sizeof input->block);
    contents_of_launch(program, launch, function, input);
    return true;
}

static void analyse(struct launch_classes *classes, struct launch_class *class)
{
    struct program *program = classes->program;
    const struct trace_launch *record = class->example->record;
    struct program_kernel *kernel = &program->kernels[class->kernel];
    class->refusal = program_special_launch(program, record);
    if (!class->refusal && deadline_is_over(classes->deadline)) class->refusal = classes->too_late;
    if (!class->refusal) class->refusal = kernel->takes_too_long;
    const struct ptx_function *function = class->refusal ? NULL : program_function(program, kernel);
    if (!function) {
        if (!class->refusal) class->refusal = kernel->refusal;
        return;
    }
    struct launch_input input;
    if (!describe(classes, class, function, &input)) {
        class->refusal = "out of memory";
        return;
    }
    isl_ctx_reset_operations(classes->ctx);
    isl_ctx_set_max_operations(classes->ctx, OPERATIONS_PER_LAUNCH);
    class->summary = analyse_regridded(classes, class, &input);
    if (!class->summary) class->summary = analyse_unstaged(classes, class, &input);
    if (!class->summary) class->summary = shift_analyse(program, class, classes->ctx, &input);
    isl_ctx_set_max_operations(classes->ctx, 0);
    isl_ctx_reset_error(classes->ctx);
    class->refusal = class->summary ? class->summary->refusal : "out of memory";
    if (deadline_is_over(classes->deadline)) {
        access_summary_free(class->summary);
        class->summary = NULL;
        class->refusal = classes->too_late;
        return;
    }
    if (class->summary && class->summary->takes_too_long && !class->open_count)
        kernel->takes_too_long = class->refusal;
    if (class->summary)
        class->no_member =
            class->summary->no_member ? class->summary->no_member : class->summary->no_whole_block;
    if (class->summary) class->keeps_place = class->summary->keeps_place;
    uint64_t shared = (uint64_t)kernel->record->static_shared + record->dynamic_shared;
    if (class->summary && !class->summary->is_unstaged && !class->no_member && shared > GROUP_MOST_SHARED)
        class->no_member =
            arena_printf(program->arena, "it uses %llu bytes of shared memory: a fused kernel may declare %d",
                         (unsigned long long)shared, GROUP_MOST_SHARED);
    if (class->summary && !contents_name_words(program, kernel, class->summary))
        class->refusal = class->no_member = "it depends on too many words of __constant__ variables";
    if (class->summary && class->summary->variables.count &&
        record->arguments_size != function->parameter_bytes)
        class->refusal = "its arguments are not those of its PTX";
}

static struct launch_class *append_class(struct launch_classes *classes, const struct program_launch *launch)
{
    struct arena *arena = classes->program->arena;
    if (classes->count == classes->capacity) {
        uint32_t capacity = classes->capacity ? 2 * classes->capacity : 64;
        void *grown = arena_grow(arena, classes->classes, classes->count, capacity, sizeof *classes->classes);
        if (!grown) return NULL;
        classes->classes = grown;
        classes->capacity = capacity;
    }
    struct launch_class *class = arena_alloc(arena, sizeof *class);
    if (!class) return NULL;
    *class = (struct launch_class){.id = classes->count,
                                   .kernel = launch->record->kernel,
                                   .bucket = LAUNCH_CLASS_ALONE,
                                   .example = launch,
                                   .like = class};
    classes->classes[classes->count++] = class;
    return class;
}

static struct class_bucket *find_bucket(struct launch_classes *classes, struct hash128 key)
{
    struct class_bucket *bucket;
    HASH_FIND(hh, classes->buckets, &key, sizeof key, bucket);
    if (bucket) return bucket;
    bucket = arena_alloc(classes->program->arena, sizeof *bucket);
    if (!bucket) return NULL;
    *bucket = (struct class_bucket){.key = key, .number = classes->bucket_count++};
    HASH_ADD(hh, classes->buckets, key, sizeof key, bucket);
    return bucket;
}

static void find_like(struct launch_classes *classes, const struct class_bucket *bucket,
                      struct launch_class *class)
{
    int64_t *distances = NULL;
    if (class->refusal || !class->summary) return;
    distances = arena_calloc(classes->program->arena, class->summary->base_count + 1, sizeof *distances);
    for (uint32_t i = 0; distances && i < bucket->count; i++) {
        struct launch_class *other = classes->classes[bucket->classes[i]];
        if (other->like != other || other->refusal || !other->summary) continue;
        if (!access_is_moved(other->summary, class->summary, distances)) continue;
        class->like = other;
        class->moved = distances;
        return;
    }
}

static struct launch_class *classify(struct launch_classes *classes, const struct program_launch *launch)
{
    struct class_bucket *bucket = find_bucket(classes, bucket_key(launch));
    if (!bucket) return NULL;
    for (uint32_t i = 0; i < bucket->count; i++) {
        struct launch_class *class = classes->classes[bucket->classes[i]];
        if (launch_class_fits(classes->program, class, launch) &&
            !program_special_launch(classes->program, class->example->record) ==
                !program_special_launch(classes->program, launch->record))
            return class;
    }
    if (bucket->count == bucket->capacity) {
        uint32_t capacity = bucket->capacity ? 2 * bucket->capacity : 4;
        void *grown =
            arena_grow(classes->program->arena, bucket->classes, bucket->count, capacity, sizeof(uint32_t));
        if (!grown) return NULL;
        bucket->classes = grown;
        bucket->capacity = capacity;
    }
    struct launch_class *class = append_class(classes, launch);
    if (!class) return NULL;
    class->bucket = bucket->number;
    analyse(classes, class);
    find_like(classes, bucket, class);
    bucket->classes[bucket->count++] = class->id;
    return class;
}

/* --- launches that need no analysis of their own --- */

struct spared_kernel {
    struct launch_class *first[2];  /* with and without dynamic shared memory, which no member may have */
    struct launch_class *spared[2]; /* made when needed */
};

static bool has_dynamic_shared(const struct program_launch *launch)
{
    return launch->record->dynamic_shared > 0;
}

/* What can't be a member is a matter of the kernel's instructions, so its first launch tells. */
static bool find_first(struct launch_classes *classes, struct spared_kernel *kernels)
{
    struct program *program = classes->program;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        struct program_launch *launch = &program->launches[i];
        if (!launch->memop && !deadline_is_over(classes->deadline)) pointer_words_trim(program, launch);
        struct launch_class **first = &kernels[launch->record->kernel].first[has_dynamic_shared(launch)];
        if (!launch->memop && !*first && !(*first = classify(classes, launch))) return false;
    }
    return true;
}

/* Whole blocks are a matter of the launch. */
static bool may_be_member_elsewhere(const struct launch_class *class)
{
    return class->summary ? !class->summary->no_member : !class->no_member;
}

static bool may_be_member(const struct spared_kernel *kernels, const struct program_launch *launch)
{
    return launch->memop ||
           may_be_member_elsewhere(kernels[launch->record->kernel].first[has_dynamic_shared(launch)]);
}

/* Sets is_between[launch] where a launch that may be a member comes before it in its window, and one after.
 */
static void find_between(const struct program *program, const struct spared_kernel *kernels, bool *is_between)
{
    for (uint32_t i = 0, end; i < program->launch_count; i = end) {
        uint32_t first = UINT32_MAX, last = 0, window = program->launches[i].window;
        for (end = i; end < program->launch_count && program->launches[end].window == window; end++) {
            if (!may_be_member(kernels, &program->launches[end])) continue;
            if (first == UINT32_MAX) first = end;
            last = end;
        }
        for (uint32_t k = i; k < end; k++) is_between[k] = k > first && k < last;
    }
}

static struct launch_class *class_for(struct launch_classes *classes, struct spared_kernel *kernels,
                                      const struct program_launch *launch, bool is_between)
{
    if (launch->memop) return classify(classes, launch);
    struct spared_kernel *kernel = &kernels[launch->record->kernel];
    bool with = has_dynamic_shared(launch);
    const struct launch_class *first = kernel->first[with];
    if (is_between || first->refusal || may_be_member_elsewhere(first) ||
        program_special_launch(classes->program, launch->record))
        return classify(classes, launch);
    struct launch_class **spared = &kernel->spared[with];
    if (!*spared && (*spared = append_class(classes, launch))) {
        (*spared)->refusal = (*spared)->no_member = first->no_member;
        (*spared)->is_spared = true;
    }
    return *spared;
}

/* sign: 1: one launch more of the class, -1: one less. */
static void count_launch(struct launch_class *class, const struct program_launch *launch, int sign)
{
    uint64_t one = (uint64_t)sign, time = one * launch->time_ns;
    class->launches += one;
    if (!launch->end_ns && !launch->memop) return;
    class->timed_launches += one;
    class->time_ns += time;
    class->like->alike_timed_launches += one;
    class->like->alike_time_ns += time;
}

static bool join_class(struct launch_classes *classes, uint32_t number, struct launch_class *class)
{
    if (!class) return false;
    classes->of_launch[number] = class->id;
    count_launch(class, &classes->program->launches[number], 1);
    return true;
}

struct launch_class *launch_class_open(struct launch_classes *classes, uint32_t launch,
                                       const struct access_words *open, uint32_t count)
{
    struct launch_class *class = append_class(classes, &classes->program->launches[launch]);
    if (!class) return NULL;
    class->open = open;
    class->open_count = count;
    analyse(classes, class);
    return class;
}

void launch_class_move(struct launch_classes *classes, uint32_t launch, struct launch_class *class)
{
    count_launch(launch_class_of(classes, launch), &classes->program->launches[launch], -1);
    join_class(classes, launch, class);
}

static bool add_to_classes(struct launch_classes *classes, struct spared_kernel *kernels,
                           const bool *is_between, bool memops, const struct launch_watch *watch)
{
    const struct program *program = classes->program;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        const struct program_launch *launch = &program->launches[i];
        bool is_memop = launch->memop;
        if (is_memop != memops) continue;
        if (!join_class(classes, i, class_for(classes, kernels, launch, is_between[i]))) return false;
        if (watch->progress && (i % 256 == 0 || i + 1 == program->launch_count))
            watch->progress(watch->progress_context, "analysing launches", i + 1, program->launch_count);
        if (watch->classes && !memops) watch->classes(watch->classes_context, classes, i + 1);
    }
    return true;
}

bool launch_classes_build(struct launch_classes *classes, struct program *program, struct deadline *deadline,
                          const struct launch_watch *watch)
{
    *classes = (struct launch_classes){.program = program, .ctx = deadline->ctx, .deadline = deadline};
    classes->too_late = arena_printf(
        program->arena, "planning had taken its %g seconds before; `kfuse plan --seconds` gives it more",
        deadline->most);
    deadline_enter(deadline, DEADLINE_ANALYSE);
    classes->of_launch = arena_calloc(program->arena, program->launch_count + 1, sizeof *classes->of_launch);
    struct spared_kernel *kernels = arena_calloc(program->arena, program->kernel_count + 1, sizeof *kernels);
    bool *is_between = arena_calloc(program->arena, program->launch_count + 1, sizeof *is_between);
    classes->grids = grids_find(program);
    if (!classes->of_launch || !classes->too_late || !kernels || !is_between || !find_first(classes, kernels))
        return false;
    find_between(program, kernels, is_between);
    /* What sets and copies are like, the others tell. */
    if (!add_to_classes(classes, kernels, is_between, false, watch) || !memop_shape(classes) ||
        !add_to_classes(classes, kernels, is_between, true, watch))
        return false;
    return true;
}

bool launch_classes_cut(struct launch_classes *classes, uint32_t launches)
{
    struct program *program = classes->program;
    struct launch_class *later = launches ? append_class(classes, &program->launches[0]) : NULL;
    if (!later) return false;
    later->refusal = "it is not classed yet";
    program->launch_count = launches;
    for (uint32_t i = 0; i < launches; i++)
        if (program->launches[i].memop) classes->of_launch[i] = later->id;
    return true;
}

void launch_classes_free(struct launch_classes *classes)
{
    for (uint32_t i = 0; i < classes->count; i++) access_summary_free(classes->classes[i]->summary);
    HASH_CLEAR(hh, classes->buckets);
    grids_free(classes->grids);
    classes->count = 0;
}

uint64_t launch_class_time(const struct launch_class *class)
{
    const struct launch_class *like = class->like;
    return like->alike_timed_launches ? like->alike_time_ns / like->alike_timed_launches : 0;
}

struct class_variable {
    uint32_t module;
    const char *name;
};

/* The same number for the same variable of a module; ARRAY_RANGE_UNKNOWN when memory is out. */
static uint32_t variable_array(struct launch_classes *classes, uint32_t module, const char *name)
{
    uint32_t count = classes->variable_count;
    for (uint32_t i = 0; i < count; i++)
        if (classes->variables[i].module == module && !strcmp(classes->variables[i].name, name))
            return VARIABLE_ARRAYS + i;
    struct class_variable *grown =
        arena_grow(classes->program->arena, classes->variables, count, count + 1, sizeof *classes->variables);
    if (!grown) return ARRAY_RANGE_UNKNOWN;
    grown[count] = (struct class_variable){module, name};
    classes->variables = grown;
    classes->variable_count++;
    return VARIABLE_ARRAYS + count;
}

struct array_binding launch_binding(struct launch_classes *classes, const struct access_base *base,
                                    uint32_t number)
{
    const struct program_launch *launch = &classes->program->launches[number];
    const struct array_binding unknown = {.array = ARRAY_RANGE_UNKNOWN, .size = INT64_MAX};
    if (base->kind == ACCESS_BASE_UNKNOWN) return unknown;
    if (base->kind == ACCESS_BASE_VARIABLE) {
        uint32_t module = classes->program->kernels[launch->record->kernel].record->module;
        uint32_t array = variable_array(classes, module, base->variable);
        const struct ptx_function *function = launch_class_of(classes, number)->summary->function;
        const struct ptx_variable *variable = ptx_find_variable(function->module, base->variable);
        bool is_known = array != ARRAY_RANGE_UNKNOWN && variable && !variable->is_managed;
        return (struct array_binding){.array = array,
                                      .size = is_known ? (int64_t)variable->size : INT64_MAX,
                                      .is_plain = is_known,
                                      .is_private = is_known};
    }
    for (uint32_t i = 0; i < launch->pointer_count; i++) {
        const struct program_pointer *pointer = &launch->pointers[i];
        if (pointer->offset == base->pointer)
            return (struct array_binding){pointer->array,
                                          pointer->array_offset +
                                              shift_of(launch_class_of(classes, number), base, launch),
                                          pointer->array_size, pointer->is_plain, pointer->is_private};
    }
    return unknown;
}

const struct array_binding *launch_bindings(struct launch_classes *classes, uint32_t launch)
{
    const struct access_summary *summary = launch_class_of(classes, launch)->summary;
    struct array_binding *bindings =
        arena_calloc(classes->program->arena, summary->base_count + 1, sizeof *bindings);
    for (uint32_t i = 0; bindings && i < summary->base_count; i++)
        bindings[i] = launch_binding(classes, &summary->bases[i], launch);
    return bindings;
}
