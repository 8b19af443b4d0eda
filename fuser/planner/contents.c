/* SPDX-License-Identifier: Apache-2.0
 * See contents.h. A variable has versions, each from a launch on. */
#include "fuser/planner/contents.h"

#include <string.h>

struct program_version {
    uint32_t since; /* launch */
    bool is_resolved;
    const unsigned char *written; /* bytes from offset on; NULL: not known */
    uint64_t offset, bytes;
    bool is_initial;            /* as the image has it */
    const unsigned char *whole; /* is_resolved: the variable, or NULL: not known */
};
struct program_variable {
    const char *name;
    uint32_t module;
    uint64_t address, size;
    bool is_gone; /* with the run that it was looked up in; not yet in the next */
    bool is_lost; /* its module is loaded at several addresses, or kernels are given its own */
    struct program_version *versions;
    uint32_t version_count, version_capacity;
};

enum { MOST_BYTES = 16 << 20 /* of versions */, MOST_WORDS = 64 /* of a kernel */ };

static struct program_variable *find(const struct program *program, uint32_t module, const char *name)
{
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (program->variables[i].module == module && !strcmp(program->variables[i].name, name))
            return &program->variables[i];
    return NULL;
}

bool contents_add(struct program *program, const struct trace_variable *variable, const char *name)
{
    struct program_variable *known = find(program, variable->module, name);
    if (known) {
        known->is_lost |= !known->is_gone && known->address != variable->address;
        known->is_gone = false;
        known->address = variable->address;
        return true;
    }
    uint32_t count = program->variable_count;
    struct program_variable *grown =
        arena_grow(program->arena, program->variables, count, count + 1, sizeof *grown);
    if (!grown) return false;
    grown[count] = (struct program_variable){
        .name = name, .module = variable->module, .address = variable->address, .size = variable->size};
    program->variables = grown;
    program->variable_count++;
    return true;
}

/* From the next launch on. */
static bool add_version(struct program *program, struct program_variable *variable,
                        struct program_version version)
{
    uint32_t count = variable->version_count;
    if (count == variable->version_capacity) {
        uint32_t capacity = count ? 2 * count : 4;
        void *grown =
            arena_grow(program->arena, variable->versions, count, capacity, sizeof *variable->versions);
        if (!grown) return false;
        variable->versions = grown;
        variable->version_capacity = capacity;
    }
    version.since = program->launch_count;
    variable->versions[variable->version_count++] = version;
    return true;
}

bool contents_write(struct program *program, uint64_t address, uint64_t size, const unsigned char *bytes)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        struct program_variable *variable = &program->variables[i];
        if (variable->is_gone || address >= variable->address + variable->size ||
            variable->address >= address + size)
            continue;
        bool is_inside = address >= variable->address && address + size <= variable->address + variable->size;
        if (!add_version(program, variable,
                         (struct program_version){.written = is_inside ? bytes : NULL,
                                                  .offset = address - variable->address,
                                                  .bytes = size}))
            return false;
    }
    return true;
}

bool contents_forget(struct program *program)
{
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (!add_version(program, &program->variables[i], (struct program_version){0})) return false;
    return true;
}

bool contents_reset(struct program *program)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        program->variables[i].is_gone = true;
        if (!add_version(program, &program->variables[i], (struct program_version){.is_initial = true}))
            return false;
    }
    return true;
}

/* Those that the image begins with, in the arena. */
static const unsigned char *initial_bytes(const struct program *program, const struct ptx_variable *declared)
{
    if (declared->is_extern || declared->relocation_count || !declared->size) return NULL;
    return declared->initial ? declared->initial : arena_calloc(program->arena, 1, declared->size);
}

/* What a version is, behind `before`. */
static const unsigned char *resolve(struct program *program, const struct program_variable *variable,
                                    const struct program_version *version, const unsigned char *before)
{
    bool is_whole = !version->offset && version->bytes == variable->size;
    if (!version->written || is_whole) return version->written;
    program->contents_bytes += variable->size;
    unsigned char *after =
        before && program->contents_bytes <= MOST_BYTES ? arena_alloc(program->arena, variable->size) : NULL;
    if (!after) return NULL;
    memcpy(after, before, variable->size);
    memcpy(after + version->offset, version->written, version->bytes);
    return after;
}

static const unsigned char *bytes_of_version(struct program *program, const struct program_variable *variable,
                                             const struct ptx_variable *declared, uint32_t index)
{
    uint32_t first = index;
    while (first && !variable->versions[first].is_resolved) first--;
    const unsigned char *before = first || !declared ? NULL : initial_bytes(program, declared);
    for (uint32_t i = first; i <= index; i++) {
        struct program_version *version = &variable->versions[i];
        if (!version->is_resolved && version->is_initial)
            version->whole = declared ? initial_bytes(program, declared) : NULL;
        else if (!version->is_resolved)
            version->whole = resolve(program, variable, version, before);
        version->is_resolved = true;
        before = version->whole;
    }
    return before;
}

/* How many versions are there by then: a program may write before every launch. */
static uint32_t versions_until(const struct program_variable *variable, uint32_t launch)
{
    uint32_t low = 0, high = variable->version_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (variable->versions[middle].since <= launch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What the launch finds in the variable, or NULL. */
static const unsigned char *bytes_at(struct program *program, uint32_t module,
                                     const struct ptx_variable *declared, uint32_t launch)
{
    const struct program_variable *variable = find(program, module, declared->name);
    if (declared->size > PLAN_CONTENTS_LIMIT) return NULL;
    if (variable && (variable->is_lost || variable->size != declared->size)) return NULL;
    uint32_t count = variable ? versions_until(variable, launch) : 0;
    return count ? bytes_of_version(program, variable, declared, count - 1)
                 : initial_bytes(program, declared);
}

void contents_expose(struct program *program, const struct program_launch *launch)
{
    for (uint32_t at = 0; program->variable_count && at + 8 <= launch->record->arguments_size; at += 8) {
        uint64_t word;
        memcpy(&word, launch->arguments + at, sizeof word);
        for (uint32_t i = 0; i < program->variable_count; i++)
            if (!program->variables[i].is_gone &&
                word - program->variables[i].address < program->variables[i].size)
                program->variables[i].is_lost = true;
    }
}

static uint32_t module_of(const struct program *program, const struct program_launch *launch)
{
    return program->kernels[launch->record->kernel].record->module;
}

void contents_of_launch(struct program *program, const struct program_launch *launch,
                        const struct ptx_function *function, struct launch_input *input)
{
    struct variables named;
    if (launch->memop || !function->module || !variables_collect(program->arena, function, &named) ||
        !named.count)
        return;
    struct launch_variable *variables = arena_calloc(program->arena, named.count, sizeof *variables);
    input->variables = variables;
    for (uint32_t i = 0; variables && i < named.count; i++) {
        if (named.items[i]->space != PTX_CONST) continue;
        variables[input->variable_count++] =
            (struct launch_variable){.name = named.items[i]->name,
                                     .contents = bytes_at(program, module_of(program, launch), named.items[i],
                                                          (uint32_t)(launch - program->launches)),
                                     .size = named.items[i]->size};
    }
}

static const unsigned char *word_at(struct program *program, const struct access_summary *summary,
                                    uint32_t index, const struct program_launch *launch)
{
    const struct access_contents *word = &summary->contents[index];
    const struct ptx_variable *declared = ptx_find_variable(summary->function->module, word->variable);
    const unsigned char *bytes =
        bytes_at(program, module_of(program, launch), declared, (uint32_t)(launch - program->launches));
    return bytes ? bytes + word->words.offset : NULL;
}

bool contents_agree(struct program *program, const struct access_summary *summary,
                    const struct program_launch *example, const struct program_launch *launch)
{
    for (uint32_t i = 0; i < summary->content_count; i++) {
        const unsigned char *taken = word_at(program, summary, i, example),
                            *found = word_at(program, summary, i, launch);
        if (!taken || !found || memcmp(taken, found, summary->contents[i].words.size)) return false;
    }
    return true;
}

/* --- words --- */

static uint32_t variable_index(const struct access_summary *summary, const char *name)
{
    uint32_t index = 0;
    while (index < summary->variables.count && strcmp(summary->variables.items[index]->name, name)) index++;
    return index;
}

static uint32_t find_word(const struct program_kernel *kernel, uint32_t variable,
                          const struct access_words *word)
{
    uint32_t index = 0;
    for (; index < kernel->sum_count; index++) {
        const struct plan_sum *sum = &kernel->sums[index];
        if (sum->kind == PLAN_CONTENTS && sum->pointer == variable && sum->terms[0].offset == word->offset &&
            sum->terms[0].size == word->size)
            break;
    }
    return index;
}

static bool name_word(struct program *program, struct program_kernel *kernel,
                      const struct access_summary *summary, const struct access_contents *contents)
{
    uint32_t variable = variable_index(summary, contents->variable), count = kernel->sum_count;
    const struct access_words *word = &contents->words;
    if (variable == summary->variables.count || word->size > 8) return false;
    if (find_word(kernel, variable, word) < count) return true;
    if (count == MOST_WORDS) return false;
    struct plan_sum *grown = arena_grow(program->arena, kernel->sums, count, count + 1, sizeof *grown);
    if (!grown) return false;
    grown[count] = (struct plan_sum){
        .kind = PLAN_CONTENTS, .pointer = variable, .terms = {{word->offset, word->size, 0}}};
    const unsigned char *initial = summary->variables.items[variable]->initial;
    if (initial) memcpy(&grown[count].terms[0].factor, initial + word->offset, word->size);
    kernel->sums = grown;
    kernel->sum_count++;
    return true;
}

bool contents_name_words(struct program *program, struct program_kernel *kernel,
                         const struct access_summary *summary)
{
    for (uint32_t i = 0; i < summary->content_count; i++)
        if (!name_word(program, kernel, summary, &summary->contents[i])) return false;
    return true;
}

uint32_t contents_offset(const struct program_kernel *kernel, const struct access_summary *summary,
                         uint32_t index)
{
    const struct access_contents *contents = &summary->contents[index];
    uint32_t word = find_word(kernel, variable_index(summary, contents->variable), &contents->words);
    return variables_offset(summary->function, summary->variables.count + word);
}
