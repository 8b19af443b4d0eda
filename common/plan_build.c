/* SPDX-License-Identifier: Apache-2.0
 * Builds plan.bin: one growing table a kind of entry, laid out one after the other when the file is written.
 * Interning is by linear search: plans have tens of kernels. */
#include "common/plan_build.h"
#include "common/own_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct build_table {
    unsigned char *bytes;
    uint32_t count, capacity; /* entries */
    uint32_t entry_size;
};

struct plan_builder {
    struct arena *arena;
    struct plan_header header;
    struct build_table modules, variables, sums, kernels, groups, steps, guards, masks, parameters, effects,
        renames, stales, overwrites, covers, boxes, variants, strings, code;
    bool failed;
};

/* Where each table stands in the builder and in the header. */
static const struct build_place {
    size_t table, header;
    uint32_t entry_size;
} places[] = {
#define PLACE(name, type)                                                                                    \
    {                                                                                                        \
        offsetof(struct plan_builder, name), offsetof(struct plan_header, name), sizeof(type)                \
    }
    PLACE(modules, struct plan_module),
    PLACE(variables, struct plan_variable),
    PLACE(sums, struct plan_sum),
    PLACE(kernels, struct plan_kernel),
    PLACE(groups, struct plan_group),
    PLACE(steps, struct plan_step),
    PLACE(guards, struct guard_check),
    PLACE(masks, unsigned char),
    PLACE(parameters, struct plan_parameter),
    PLACE(effects, struct plan_effect),
    PLACE(renames, struct plan_rename),
    PLACE(stales, struct plan_stale),
    PLACE(overwrites, struct plan_overwrite),
    PLACE(covers, struct plan_cover),
    PLACE(boxes, struct plan_box),
    PLACE(variants, struct plan_variant),
    PLACE(strings, char),
    PLACE(code, unsigned char),
#undef PLACE
};
enum { PLACES = sizeof places / sizeof *places };

static struct build_table *table_at(struct plan_builder *builder, const struct build_place *place)
{
    return (struct build_table *)((char *)builder + place->table);
}

/* Appends count entries (zeros when entries is NULL) and returns the first one's index. */
static uint32_t append(struct plan_builder *builder, struct build_table *table, const void *entries,
                       uint64_t count)
{
    uint32_t first = table->count;
    if (builder->failed || count > (uint64_t)(UINT32_MAX / 4) - first) {
        builder->failed = true;
        return 0;
    }
    if (first + count > table->capacity) {
        uint32_t capacity = (uint32_t)(first + count) * 2 + 16;
        unsigned char *grown = arena_grow(builder->arena, table->bytes, first, capacity, table->entry_size);
        if (!grown) {
            builder->failed = true;
            return 0;
        }
        table->bytes = grown;
        table->capacity = capacity;
    }
    size_t size = (size_t)count * table->entry_size;
    unsigned char *to = table->bytes + (size_t)first * table->entry_size;
    if (size && entries) memcpy(to, entries, size);
    table->count += (uint32_t)count;
    return first;
}

static uint32_t intern(struct plan_builder *builder, struct build_table *table, const void *entry)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (!memcmp(table->bytes + (size_t)i * table->entry_size, entry, table->entry_size)) return i;
    return append(builder, table, entry, 1);
}

struct plan_builder *plan_build_start(struct arena *arena)
{
    struct plan_builder *builder = arena_alloc(arena, sizeof *builder);
    if (!builder) return NULL;
    builder->arena = arena;
    for (int i = 0; i < PLACES; i++) table_at(builder, &places[i])->entry_size = places[i].entry_size;
    memcpy(builder->header.magic, PLAN_MAGIC, sizeof builder->header.magic);
    builder->header.version = PLAN_VERSION;
    builder->header.header_size = sizeof builder->header;
    plan_build_string(builder, "");
    return builder;
}

void plan_build_device(struct plan_builder *builder, const char *name, uint32_t compute_major,
                       uint32_t compute_minor, uint32_t driver_version, bool is_emulated)
{
    struct plan_header *header = &builder->header;
    memset(header->device_name, 0, sizeof header->device_name);
    memcpy(header->device_name, name, strnlen(name, sizeof header->device_name - 1));
    header->compute_major = compute_major;
    header->compute_minor = compute_minor;
    header->driver_version = driver_version;
    header->is_emulated = is_emulated;
}

void plan_build_source(struct plan_builder *builder, struct hash128 hash)
{
    builder->header.plan_hash = hash;
}

uint32_t plan_build_string(struct plan_builder *builder, const char *text)
{
    const struct build_table *strings = &builder->strings;
    size_t size = strlen(text) + 1;
    for (uint32_t at = 0; at < strings->count; at += (uint32_t)strlen((const char *)strings->bytes + at) + 1)
        if (strings->count - at >= size && !memcmp(strings->bytes + at, text, size)) return at;
    return append(builder, &builder->strings, text, size);
}

uint32_t plan_build_module(struct plan_builder *builder, struct hash128 hash)
{
    return intern(builder, &builder->modules, &(struct plan_module){.hash = hash});
}

uint32_t plan_build_variables(struct plan_builder *builder, const char *const *names, uint32_t count)
{
    if (!count) return 0;
    struct plan_variable *entries = arena_calloc(builder->arena, count, sizeof *entries);
    if (!entries) builder->failed = true;
    for (uint32_t i = 0; entries && i < count; i++) entries[i].name = plan_build_string(builder, names[i]);
    const struct build_table *table = &builder->variables;
    size_t size = count * sizeof *entries;
    for (uint32_t at = 0; entries && at + count <= table->count; at++)
        if (!memcmp(table->bytes + at * sizeof *entries, entries, size)) return at;
    return append(builder, &builder->variables, entries, entries ? count : 0);
}

uint32_t plan_build_sums(struct plan_builder *builder, const struct plan_sum *sums, uint32_t count)
{
    const struct build_table *table = &builder->sums;
    if (!count) return 0;
    for (uint32_t at = 0; at + count <= table->count; at++)
        if (!memcmp(table->bytes + at * sizeof *sums, sums, count * sizeof *sums)) return at;
    return append(builder, &builder->sums, sums, count);
}

uint32_t plan_build_kernel(struct plan_builder *builder, const struct plan_kernel *kernel)
{
    return intern(builder, &builder->kernels, kernel);
}

uint32_t plan_build_group(struct plan_builder *builder, const char *name, uint32_t flags,
                          uint64_t projected_gain_ns, uint64_t projected_ns)
{
    struct plan_group group = {.name = plan_build_string(builder, name),
                               .flags = flags,
                               .first_step = builder->steps.count,
                               .first_variant = builder->variants.count,
                               .first_effect = builder->effects.count,
                               .first_overwrite = builder->overwrites.count,
                               .projected_gain_ns = projected_gain_ns,
                               .projected_ns = projected_ns};
    return append(builder, &builder->groups, &group, 1);
}

/* NULL, and the plan failed, when no group has begun. */
static struct plan_group *last_group(struct plan_builder *builder)
{
    if (builder->failed || !builder->groups.count) {
        builder->failed = true;
        return NULL;
    }
    return (struct plan_group *)builder->groups.bytes + builder->groups.count - 1;
}

uint32_t plan_build_step(struct plan_builder *builder, const struct plan_step *step,
                         const unsigned char *mask, const unsigned char *value,
                         const struct guard_check *guards, uint32_t guard_count)
{
    struct plan_group *group = last_group(builder);
    if (!group) return 0;
    struct plan_step copy = *step;
    copy.mask = append(builder, &builder->masks, mask, step->arguments_size);
    append(builder, &builder->masks, value, step->arguments_size);
    copy.guard_count = guard_count;
    copy.first_guard = append(builder, &builder->guards, guards, guard_count);
    append(builder, &builder->steps, &copy, 1);
    return group->step_count++;
}

void plan_build_effect(struct plan_builder *builder, const struct plan_effect *effect,
                       const struct plan_box *boxes)
{
    struct plan_group *group = last_group(builder);
    if (!group) return;
    struct plan_effect copy = *effect;
    copy.first_box = append(builder, &builder->boxes, boxes, copy.box_count);
    append(builder, &builder->effects, &copy, 1);
    group->effect_count++;
}

void plan_build_overwrite(struct plan_builder *builder, const struct plan_overwrite *overwrite,
                          const struct plan_cover *covers, uint32_t cover_count)
{
    struct plan_group *group = last_group(builder);
    if (!group) return;
    struct plan_overwrite copy = *overwrite;
    copy.cover_count = cover_count;
    copy.first_cover = append(builder, &builder->covers, covers, cover_count);
    append(builder, &builder->overwrites, &copy, 1);
    group->overwrite_count++;
}

static uint64_t add_code(struct plan_builder *builder, const void *code, size_t size)
{
    const struct plan_variant *variants = (const struct plan_variant *)builder->variants.bytes;
    for (uint32_t i = 0; i < builder->variants.count; i++)
        if (variants[i].code_size == size && !memcmp(builder->code.bytes + variants[i].code, code, size))
            return variants[i].code;
    append(builder, &builder->code, NULL, -builder->code.count & 7u);
    return append(builder, &builder->code, code, size);
}

void plan_build_variant(struct plan_builder *builder, const struct plan_variant *variant, const char *entry,
                        const void *code, size_t code_size, const struct plan_parameter *parameters,
                        uint32_t parameter_count, const struct guard_check *guards, uint32_t guard_count)
{
    struct plan_group *group = last_group(builder);
    if (!group) return;
    struct plan_variant copy = *variant;
    copy.entry = plan_build_string(builder, entry);
    copy.code = add_code(builder, code, code_size);
    copy.code_size = code_size;
    copy.parameter_count = parameter_count;
    copy.first_parameter = append(builder, &builder->parameters, parameters, parameter_count);
    copy.guard_count = guard_count;
    copy.first_guard = append(builder, &builder->guards, guards, guard_count);
    copy.rename_count = 0;
    copy.first_rename = builder->renames.count;
    copy.stale_count = 0;
    copy.first_stale = builder->stales.count;
    append(builder, &builder->variants, &copy, 1);
    group->variant_count++;
}

/* NULL, and the plan failed, when the last group has none. */
static struct plan_variant *last_variant(struct plan_builder *builder)
{
    const struct plan_group *group = last_group(builder);
    builder->failed |= !group || !group->variant_count;
    return builder->failed ? NULL
                           : (struct plan_variant *)builder->variants.bytes + builder->variants.count - 1;
}

void plan_build_rename(struct plan_builder *builder, const struct plan_rename *rename)
{
    struct plan_variant *variant = last_variant(builder);
    if (!variant) return;
    append(builder, &builder->renames, rename, 1);
    variant->rename_count++;
}

void plan_build_stale(struct plan_builder *builder, const struct plan_stale *stale)
{
    struct plan_variant *variant = last_variant(builder);
    if (!variant) return;
    append(builder, &builder->stales, stale, 1);
    variant->stale_count++;
}

void *plan_build_bytes(struct plan_builder *builder, size_t *size, char *error, size_t error_size)
{
    struct plan_header header = builder->header;
    uint64_t total = sizeof header;
    for (int i = 0; i < PLACES; i++) {
        const struct build_table *table = table_at(builder, &places[i]);
        struct plan_table *entry = (struct plan_table *)((char *)&header + places[i].header);
        *entry = (struct plan_table){.offset = total, .count = table->count};
        total += ((uint64_t)table->count * table->entry_size + 7) & ~7ull;
    }
    unsigned char *bytes = builder->failed ? NULL : arena_alloc(builder->arena, total);
    if (!bytes) {
        snprintf(error, error_size,
                 "the plan could not be built: out of memory, or something outside its group");
        return NULL;
    }
    header.file_size = *size = total;
    for (int i = 0; i < PLACES; i++) {
        const struct build_table *table = table_at(builder, &places[i]);
        const struct plan_table *entry = (const struct plan_table *)((char *)&header + places[i].header);
        if (table->count)
            memcpy(bytes + entry->offset, table->bytes, (size_t)table->count * table->entry_size);
    }
    memcpy(bytes, &header, sizeof header);
    header.check = plan_check(bytes, total);
    memcpy(bytes, &header, sizeof header);
    return bytes;
}

bool plan_build_write(struct plan_builder *builder, const char *directory, char *error, size_t error_size)
{
    size_t size;
    const unsigned char *bytes = plan_build_bytes(builder, &size, error, error_size);
    char *path = arena_printf(builder->arena, "%s/plan.bin", directory);
    char *temporary = arena_printf(builder->arena, "%s/.plan.bin.%ld", directory, (long)getpid());
    if (!bytes || !path || !temporary) return false;
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written = file >= 0 && own_write(file, bytes, size);
    int reason = errno;
    if (file >= 0 && close(file) && written) {
        written = false;
        reason = errno;
    }
    if (written && !rename(temporary, path)) return true;
    if (written) reason = errno;
    if (file >= 0) unlink(temporary);
    snprintf(error, error_size, "%s: cannot be written: %s; choose another folder with -o", path,
             strerror(reason));
    return false;
}
