/* SPDX-License-Identifier: Apache-2.0
 * Opens plan.bin and checks everything in it once, so that replay can follow any index blindly. The file is
 * copied into read-only memory: a file that is cut short later must not raise SIGBUS in the program. Every
 * check is linear in the file's size: entries may not be shared between groups. */
#include "common/plan.h"
#include "common/trusted.h"
#include "common/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLAN_PATH = 4096,
    VARIABLES_LIMIT = 1024, /* of one kernel */
    SUMS_LIMIT = 1024       /* likewise */
};

struct check { /* one file being checked */
    const struct plan *plan;
    char *error;
    size_t error_size;
    uint64_t steps, guards, parameters, effects, renames, stales, overwrites, covers, boxes,
        variants; /* entries used so far */
};

static bool reject(const struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool reject(const struct check *check, const char *format, ...)
{
    char what[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    size_t used = strnlen(check->error, check->error_size); /* the file's name is there already */
    snprintf(check->error + used, check->error_size - used, "%s; make it again with `kfuse plan`", what);
    return false;
}

static bool is_table_inside(const struct plan *plan, const struct plan_table *table, size_t entry_size)
{
    if (table->offset % 8 || table->offset < sizeof *plan->header || table->offset > plan->size) return false;
    return (plan->size - table->offset) / entry_size >= table->count;
}

static bool check_header(const struct check *check)
{
    const struct plan *plan = check->plan;
    const struct plan_header *header = plan->header;
    if (plan->size < sizeof *header || memcmp(header->magic, PLAN_MAGIC, sizeof header->magic))
        return reject(check, "is not a kfuse plan");
    if (header->version != PLAN_VERSION)
        return reject(check, "has format version %u and this kfuse reads version %d", header->version,
                      PLAN_VERSION);
    if (header->header_size != sizeof *header) return reject(check, "has a header of an unknown size");
    if (header->file_size != plan->size) return reject(check, "is cut short or has something appended");
    if (header->check != plan_check(header, plan->size))
        return reject(check, "is damaged (its check differs)");
    if (!memchr(header->device_name, 0, sizeof header->device_name))
        return reject(check, "has a bad device name");
    return true;
}

static bool check_tables(const struct check *check)
{
    const struct plan *plan = check->plan;
    const struct plan_header *header = plan->header;
#define CHECK_TABLE(name)                                                                                    \
    if (!is_table_inside(plan, &header->name, sizeof *plan->name))                                           \
        return reject(check, "has its table of " #name " outside the file");
    CHECK_TABLE(modules)
    CHECK_TABLE(variables)
    CHECK_TABLE(sums)
    CHECK_TABLE(kernels)
    CHECK_TABLE(groups)
    CHECK_TABLE(steps)
    CHECK_TABLE(guards)
    CHECK_TABLE(masks)
    CHECK_TABLE(parameters)
    CHECK_TABLE(effects)
    CHECK_TABLE(renames)
    CHECK_TABLE(stales)
    CHECK_TABLE(overwrites)
    CHECK_TABLE(covers)
    CHECK_TABLE(boxes)
    CHECK_TABLE(variants)
    CHECK_TABLE(strings)
    CHECK_TABLE(code)
#undef CHECK_TABLE
    return true;
}

static void find_tables(struct plan *plan)
{
    const char *start = (const char *)plan->header;
    const struct plan_header *header = plan->header;
#define FIND_TABLE(name) plan->name = (const void *)(start + header->name.offset);
    FIND_TABLE(modules)
    FIND_TABLE(variables)
    FIND_TABLE(sums)
    FIND_TABLE(kernels)
    FIND_TABLE(groups)
    FIND_TABLE(steps)
    FIND_TABLE(guards)
    FIND_TABLE(masks)
    FIND_TABLE(parameters)
    FIND_TABLE(effects)
    FIND_TABLE(renames)
    FIND_TABLE(stales)
    FIND_TABLE(overwrites)
    FIND_TABLE(covers)
    FIND_TABLE(boxes)
    FIND_TABLE(variants)
    FIND_TABLE(strings)
    FIND_TABLE(code)
#undef FIND_TABLE
}

/* first..first+count lies in a table of total entries, and all ranges together use no more than there are. */
static bool take_range(uint32_t first, uint32_t count, uint32_t total, uint64_t *used)
{
    *used += count;
    return first <= total && count <= total - first && *used <= total;
}

static bool is_name(const struct plan *plan, uint32_t offset)
{
    return offset < plan->header->strings.count && plan->strings[offset];
}

static bool is_shape(const uint32_t grid[3], const uint32_t block[3])
{
    for (int i = 0; i < 3; i++)
        if (!grid[i] || !block[i] || block[i] > 1024 || grid[i] > INT32_MAX) return false;
    return (uint64_t)block[0] * block[1] * block[2] <= 1024;
}

static bool is_sum(const struct plan_sum *sum, uint32_t parameter_bytes, uint32_t variable_count)
{
    uint32_t size = sum->terms[0].size;
    if (sum->kind == PLAN_CONTENTS)
        return sum->pointer < variable_count && !sum->term_count &&
               (size == 1 || size == 2 || size == 4 || size == 8);
    if (sum->kind != PLAN_SUM) return false;
    if (sum->term_count > PLAN_SUM_TERMS || parameter_bytes < 8 || sum->pointer > parameter_bytes - 8)
        return false;
    for (uint32_t i = 0; i < sum->term_count; i++) {
        const struct plan_term *term = &sum->terms[i];
        if (term->size != 4 && term->size != 8) return false;
        if (term->size > parameter_bytes || term->offset > parameter_bytes - term->size) return false;
    }
    return true;
}

static bool is_kernel_or_memop(const struct plan_kernel *kernel)
{
    uint32_t width = kernel->memop_width;
    if (kernel->memop == MEMOP_NONE) return true;
    return kernel->memop < MEMOP_KINDS && width && width <= MEMOP_WIDEST && !(width & (width - 1)) &&
           kernel->parameter_bytes == MEMOP_ARGUMENT_BYTES && !kernel->variable_count;
}

static bool check_names_and_kernels(const struct check *check)
{
    const struct plan *plan = check->plan;
    const struct plan_table *strings = &plan->header->strings;
    uint32_t variables = plan->header->variables.count, sums = plan->header->sums.count;
    if (!strings->count || plan->strings[strings->count - 1])
        return reject(check, "has names without an end");
    for (uint32_t i = 0; i < plan->header->kernels.count; i++) {
        const struct plan_kernel *kernel = &plan->kernels[i];
        if (kernel->module >= plan->header->modules.count)
            return reject(check, "kernel %u is of no module", i);
        if (!is_name(plan, kernel->name)) return reject(check, "kernel %u has no name", i);
        if (!is_kernel_or_memop(kernel)) return reject(check, "kernel %u is no memory operation", i);
        if (kernel->variable_count > VARIABLES_LIMIT || kernel->first_variable > variables ||
            kernel->variable_count > variables - kernel->first_variable)
            return reject(check, "kernel %u has variables outside their table", i);
        if (kernel->sum_count > SUMS_LIMIT || kernel->first_sum > sums ||
            kernel->sum_count > sums - kernel->first_sum)
            return reject(check, "kernel %u has sums outside their table", i);
        for (uint32_t k = 0; k < kernel->sum_count; k++)
            if (!is_sum(&plan->sums[kernel->first_sum + k], kernel->parameter_bytes, kernel->variable_count))
                return reject(check, "kernel %u makes an address of what it has not", i);
    }
    for (uint32_t i = 0; i < variables; i++)
        if (!is_name(plan, plan->variables[i].name)) return reject(check, "variable %u has no name", i);
    return true;
}

static bool is_inside_words(const struct plan *plan, const struct plan_step *step, uint32_t offset,
                            uint32_t size)
{
    uint32_t end = plan_words_size(plan, step);
    return offset <= end && size <= end - offset;
}

/* steps: of the group; only the first `arrived` of them may be named. */
static bool is_guard(const struct plan *plan, const struct guard_check *guard, const struct plan_step *steps,
                     uint32_t arrived)
{
    bool is_value = guard->kind == GUARD_VALUE || guard->kind == GUARD_BETWEEN;
    bool is_size = guard->size == 4 || guard->size == 8 ||
                   (guard->kind == GUARD_VALUE && (guard->size == 1 || guard->size == 2));
    if (guard->kind >= GUARD_KINDS || guard->step_a >= arrived || guard->step_b >= arrived) return false;
    if (is_value && !is_size) return false;
    if (!is_inside_words(plan, &steps[guard->step_a], guard->offset_a, is_value ? guard->size : 8))
        return false;
    return !guard_is_pair(guard->kind) || is_inside_words(plan, &steps[guard->step_b], guard->offset_b, 8);
}

static bool check_guards(struct check *check, uint32_t first, uint32_t count, const struct plan_step *steps,
                         uint32_t arrived)
{
    const struct plan *plan = check->plan;
    if (!take_range(first, count, plan->header->guards.count, &check->guards))
        return reject(check, "has guards outside their table");
    for (uint32_t i = 0; i < count; i++)
        if (!is_guard(plan, &plan->guards[first + i], steps, arrived))
            return reject(check, "guard %u is malformed", first + i);
    return true;
}

static bool check_steps(struct check *check, const struct plan_group *group)
{
    const struct plan *plan = check->plan;
    const struct plan_step *steps = plan->steps + group->first_step;
    bool has_member = false;
    for (uint32_t i = 0; i < group->step_count; i++) {
        const struct plan_step *step = &steps[i];
        uint64_t mask_end = step->mask + 2 * (uint64_t)step->arguments_size;
        if (step->kernel >= plan->header->kernels.count || step->role > PLAN_AFTER ||
            !is_shape(step->grid, step->block))
            return reject(check, "step %u is malformed", group->first_step + i);
        if (step->arguments_size > PLAN_PARAMETERS_LIMIT || mask_end > plan->header->masks.count)
            return reject(check, "step %u has arguments outside their table", group->first_step + i);
        if (!check_guards(check, step->first_guard, step->guard_count, steps, i + 1)) return false;
        has_member |= step->role == PLAN_MEMBER;
    }
    return has_member || reject(check, "a group has no member");
}

static bool is_code(const struct plan *plan, const struct plan_variant *variant)
{
    uint32_t total = plan->header->code.count;
    if (variant->code % 8 || variant->code > total || variant->code_size > total - variant->code)
        return false;
    struct image image = image_examine(plan->code + variant->code, variant->code_size);
    /* the driver reads text up to its NUL */
    if (image.kind == IMAGE_PTX) return image.size < variant->code_size;
    return image.kind != IMAGE_UNKNOWN && image.size <= variant->code_size;
}

static bool are_apart(uint32_t first, uint32_t first_size, uint32_t second, uint32_t second_size)
{
    return first + (uint64_t)first_size <= second || second + (uint64_t)second_size <= first;
}

/* Not empty, inside the range, and its rows do not overlap. */
static bool is_box(const struct plan_box *box, uint64_t bytes)
{
    uint64_t rows, end;
    if (!box->width || !box->rows || !box->layers || box->reserved) return false;
    if (box->rows > 1 && box->width > box->row_pitch) return false;
    if (box->layers > 1 && (box->rows > box->layer_rows || box->width > box->row_pitch)) return false;
    rows = (uint64_t)(box->layers - 1) * box->layer_rows + box->rows - 1;
    return !__builtin_mul_overflow(rows, box->row_pitch, &end) &&
           !__builtin_add_overflow(end, box->width, &end) && !__builtin_add_overflow(end, box->from, &end) &&
           end <= bytes;
}

static bool is_written(const struct plan_rename *rename)
{
    static const struct plan_box none = {0};
    if (rename->flags == PLAN_RENAME_PARTIAL) return is_box(&rename->written, rename->bytes);
    return !rename->flags && !memcmp(&rename->written, &none, sizeof none);
}

/* Its distances lie alone in the parameters, but for the renames before it, which have been looked at. */
static bool is_rename(const struct plan *plan, const struct plan_group *group,
                      const struct plan_variant *variant, const struct plan_rename *rename)
{
    enum { DISTANCES = 16 };
    const struct plan_step *steps = plan->steps + group->first_step;
    uint32_t at = rename->destination_offset;
    if (rename->step >= group->step_count || !is_written(rename)) return false;
    if (!is_inside_words(plan, &steps[rename->step], rename->offset, 8)) return false;
    if (rename->before > rename->bytes || rename->behind > rename->bytes - rename->before ||
        (rename->before + rename->behind && !(rename->flags & PLAN_RENAME_PARTIAL)))
        return false;
    if (!rename->bytes || rename->bytes > INT64_MAX || rename->from > INT64_MAX - (int64_t)rename->bytes)
        return false;
    if (at % 8 || at > variant->parameter_bytes || variant->parameter_bytes - at < DISTANCES) return false;
    for (uint32_t i = 0; i < variant->parameter_count; i++) {
        const struct plan_parameter *piece = &plan->parameters[variant->first_parameter + i];
        if (!are_apart(at, DISTANCES, piece->destination_offset, piece->size)) return false;
    }
    for (const struct plan_rename *other = &plan->renames[variant->first_rename]; other < rename; other++)
        if (!are_apart(at, DISTANCES, other->destination_offset, DISTANCES)) return false;
    return true;
}

static bool check_renames(struct check *check, const struct plan_group *group, uint32_t index)
{
    const struct plan *plan = check->plan;
    const struct plan_variant *variant = &plan->variants[index];
    uint32_t first = variant->first_rename, count = variant->rename_count;
    if (count > PLAN_RENAMES_LIMIT || !take_range(first, count, plan->header->renames.count, &check->renames))
        return reject(check, "variant %u has renames outside their table", index);
    for (uint32_t i = first; i < first + count; i++)
        if (!is_rename(plan, group, variant, &plan->renames[i]))
            return reject(check, "rename %u is malformed", i);
    return true;
}

static bool is_left(const struct plan_stale *stale)
{
    static const struct plan_box none = {0};
    if (stale->flags & PLAN_STALE_PARTIAL) return is_box(&stale->left, stale->bytes);
    return !memcmp(&stale->left, &none, sizeof none);
}

static bool is_stale(const struct plan *plan, const struct plan_group *group, const struct plan_stale *stale)
{
    const struct plan_step *steps = plan->steps + group->first_step;
    return stale->step < group->step_count && is_inside_words(plan, &steps[stale->step], stale->offset, 8) &&
           stale->bytes && stale->bytes <= INT64_MAX && stale->from <= INT64_MAX - (int64_t)stale->bytes &&
           stale->flags <= PLAN_STALE_PARTIAL && !stale->reserved && is_left(stale);
}

/* Members, of a group whose steps have a bit each. */
static bool is_rematerialisation(const struct plan *plan, const struct plan_group *group,
                                 uint32_t rematerialisation)
{
    if (!rematerialisation || group->step_count > 32) return false;
    for (uint32_t i = 0; i < 32; i++) {
        if (!(rematerialisation >> i & 1)) continue;
        if (i >= group->step_count || plan->steps[group->first_step + i].role != PLAN_MEMBER) return false;
    }
    return true;
}

/* Another form that stores everything comes next. */
static bool check_stales(struct check *check, const struct plan_group *group, uint32_t index)
{
    const struct plan *plan = check->plan;
    const struct plan_variant *variant = &plan->variants[index];
    uint32_t first = variant->first_stale, count = variant->stale_count;
    if (count > PLAN_STALES_LIMIT || !take_range(first, count, plan->header->stales.count, &check->stales))
        return reject(check, "variant %u has stale ranges outside their table", index);
    if (!count)
        return !variant->rematerialisation ||
               reject(check, "variant %u has a rematerialisation for nothing", index);
    bool has_next = index + 1 < group->first_variant + group->variant_count;
    if (!is_rematerialisation(plan, group, variant->rematerialisation) || !has_next ||
        plan->variants[index + 1].stale_count)
        return reject(check, "variant %u leaves ranges stale for which there is no help", index);
    for (uint32_t i = first; i < first + count; i++)
        if (!is_stale(plan, group, &plan->stales[i])) return reject(check, "stale range %u is malformed", i);
    return true;
}

static bool is_arrivals(const struct plan_variant *variant)
{
    uint32_t end = variant->arrivals_end;
    return !end || (end % 4 == 0 && end <= variant->parameter_bytes);
}

static bool check_variant(struct check *check, const struct plan_group *group, uint32_t index)
{
    const struct plan *plan = check->plan;
    const struct plan_variant *variant = &plan->variants[index];
    const struct plan_step *steps = plan->steps + group->first_step;
    if (!is_name(plan, variant->entry) || !is_shape(variant->grid, variant->block))
        return reject(check, "variant %u has no name or no shape", index);
    if (!is_code(plan, variant)) return reject(check, "variant %u has no code that could be loaded", index);
    if (variant->parameter_bytes > PLAN_PARAMETERS_LIMIT ||
        !take_range(variant->first_parameter, variant->parameter_count, plan->header->parameters.count,
                    &check->parameters))
        return reject(check, "variant %u has parameters outside their table", index);
    for (uint32_t i = 0; i < variant->parameter_count; i++) {
        const struct plan_parameter *parameter = &plan->parameters[variant->first_parameter + i];
        if (parameter->step >= group->step_count ||
            !is_inside_words(plan, &steps[parameter->step], parameter->source_offset, parameter->size) ||
            parameter->destination_offset > variant->parameter_bytes ||
            parameter->size > variant->parameter_bytes - parameter->destination_offset)
            return reject(check, "parameter %u lies outside its buffer", variant->first_parameter + i);
    }
    if (!is_arrivals(variant))
        return reject(check, "variant %u has its counter's number outside its parameters", index);
    if (!check_renames(check, group, index) || !check_stales(check, group, index)) return false;
    return check_guards(check, variant->first_guard, variant->guard_count, steps, group->step_count);
}

static bool check_boxes(struct check *check, const struct plan_effect *effect)
{
    const struct plan *plan = check->plan;
    if (!take_range(effect->first_box, effect->box_count, plan->header->boxes.count, &check->boxes))
        return false;
    for (uint32_t i = 0; i < effect->box_count; i++)
        if (!is_box(&plan->boxes[effect->first_box + i], (uint64_t)(effect->to - effect->from))) return false;
    return true;
}

static bool check_effects(struct check *check, const struct plan_group *group)
{
    const struct plan *plan = check->plan;
    for (uint32_t i = group->first_effect; i < group->first_effect + group->effect_count; i++) {
        const struct plan_effect *effect = &plan->effects[i];
        if (effect->kind >= PLAN_EFFECT_KINDS || effect->step >= group->step_count ||
            effect->from > effect->to || effect->flags > PLAN_TOUCH_MOVABLE || effect->reserved ||
            !check_boxes(check, effect) ||
            !is_inside_words(plan, &plan->steps[group->first_step + effect->step], effect->offset, 8))
            return reject(check, "effect %u is malformed", i);
    }
    return true;
}

static bool check_covers(struct check *check, const struct plan_overwrite *overwrite)
{
    const struct plan *plan = check->plan;
    uint32_t first = overwrite->first_cover, count = overwrite->cover_count;
    if (!take_range(first, count, plan->header->covers.count, &check->covers)) return false;
    for (uint32_t i = first; i < first + count; i++)
        if (plan->covers[i].stale >= plan->header->stales.count || plan->covers[i].reserved) return false;
    return true;
}

static bool is_overwrite(const struct plan *plan, const struct plan_group *group,
                         const struct plan_overwrite *overwrite)
{
    const struct plan_step *steps = plan->steps + group->first_step;
    return overwrite->step < group->step_count &&
           is_inside_words(plan, &steps[overwrite->step], overwrite->offset, 8) && overwrite->bytes &&
           overwrite->bytes <= INT64_MAX && overwrite->from <= INT64_MAX - (int64_t)overwrite->bytes &&
           overwrite->flags <= PLAN_OVERWRITE_COMPLETE && !overwrite->reserved;
}

static bool check_overwrites(struct check *check, const struct plan_group *group)
{
    const struct plan *plan = check->plan;
    uint32_t first = group->first_overwrite, count = group->overwrite_count;
    if (!take_range(first, count, plan->header->overwrites.count, &check->overwrites))
        return reject(check, "a group has overwritten ranges outside their table");
    for (uint32_t i = first; i < first + count; i++)
        if (!is_overwrite(plan, group, &plan->overwrites[i]) || !check_covers(check, &plan->overwrites[i]))
            return reject(check, "overwritten range %u is malformed", i);
    return true;
}

static bool check_group(struct check *check, const struct plan_group *group)
{
    const struct plan *plan = check->plan;
    const struct plan_header *header = plan->header;
    if (!is_name(plan, group->name)) return reject(check, "a group has no name");
    if (!group->step_count || group->step_count > UINT16_MAX ||
        !take_range(group->first_step, group->step_count, header->steps.count, &check->steps))
        return reject(check, "group %s has steps outside their table", plan->strings + group->name);
    bool is_bystander = group->flags & PLAN_BYSTANDER;
    if (is_bystander ? group->variant_count || group->step_count != 1 : !group->variant_count)
        return reject(check, "group %s has too few or too many variants", plan->strings + group->name);
    if (!take_range(group->first_variant, group->variant_count, header->variants.count, &check->variants))
        return reject(check, "group %s has variants outside their table", plan->strings + group->name);
    if (!take_range(group->first_effect, group->effect_count, header->effects.count, &check->effects))
        return reject(check, "group %s has effects outside their table", plan->strings + group->name);
    if (!check_steps(check, group)) return false;
    for (uint32_t i = 0; i < group->variant_count; i++)
        if (!check_variant(check, group, group->first_variant + i)) return false;
    return check_effects(check, group) && check_overwrites(check, group);
}

static bool check_plan(struct check *check, struct plan *plan)
{
    if (!check_header(check) || !check_tables(check)) return false;
    find_tables(plan);
    if (!check_names_and_kernels(check)) return false;
    for (uint32_t i = 0; i < plan->header->groups.count; i++)
        if (!check_group(check, &plan->groups[i])) return false;
    return true;
}

static bool read_whole(int file, unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t got = read(file, bytes, size);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO; /* shorter than it said */
        if (got <= 0) return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

/* Where a plan is. why: what is not to be trusted, or empty; NULL: nobody asks. */
struct source {
    int folder;
    const char *path;
    char *why;
    size_t why_size;
};

static int open_in(const struct source *source, const char *name)
{
    if (source->why)
        return trusted_open_in(source->folder, source->path, name, source->why, source->why_size);
    return openat(source->folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A copy of the file in read-only memory, to be unmapped; NULL with errno set. Folders and empty files are
 * EINVAL. */
static void *load(const struct source *source, const char *name, size_t *size)
{
    struct stat status;
    int file = open_in(source, name);
    if (file < 0) return NULL;
    void *bytes = MAP_FAILED;
    bool loaded = false;
    if (!fstat(file, &status)) {
        *size = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0; /* mmap refuses nothing with EINVAL */
        bytes = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        loaded = bytes != MAP_FAILED && read_whole(file, bytes, *size);
    }
    int reason = errno;
    close(file);
    if (loaded) {
        mprotect(bytes, *size, PROT_READ);
        return bytes;
    }
    if (bytes != MAP_FAILED) munmap(bytes, *size);
    errno = reason;
    return NULL;
}

static bool is_written_as(const struct source *source, const char *name, struct hash128 expected,
                          bool *is_there)
{
    size_t size = 0;
    void *bytes = load(source, name, &size);
    *is_there = bytes || errno != ENOENT;
    if (!bytes) return false;
    bool is_same = hash_equal(hash_bytes(bytes, size), expected);
    munmap(bytes, size);
    return is_same;
}

/* plan.json beside the plan must be as the planner wrote it: an edit is proved by planning again. A folder
 * without it will do, and a plan that names none. Where the planner was interrupted it has not yet its name.
 */
static bool check_source(const struct check *check, const struct source *source)
{
    struct hash128 expected = check->plan->header->plan_hash;
    bool is_there, is_staged;
    if (hash_equal(expected, (struct hash128){0, 0})) return true;
    if (is_written_as(source, "plan.json", expected, &is_there) || !is_there) return true;
    if (is_written_as(source, PLAN_STAGED "plan.json", expected, &is_staged)) return true;
    return reject(check, "does not belong to the plan.json beside it, which was edited or cannot be read");
}

/* False with a message: another than that of the check where something is not to be trusted. */
static bool map(struct plan *plan, struct check *check, const struct source *source)
{
    if (source->folder >= 0) plan->header = load(source, "plan.bin", &plan->size);
    if (plan->header) return check_plan(check, plan) && check_source(check, source);
    if (source->why && source->why[0]) {
        snprintf(check->error, check->error_size, "%s", source->why);
        return false;
    }
    if (errno == EINVAL) return reject(check, "is empty or not a file");
    return reject(check, "cannot be read: %s", strerror(errno));
}

static bool map_from(struct plan *plan, struct source *source, char *error, size_t error_size)
{
    struct check check = {.plan = plan, .error = error, .error_size = error_size};
    *plan = (struct plan){0};
    snprintf(error, error_size, "%s/plan.bin: ", source->path);
    bool is_mapped = map(plan, &check, source);
    if (source->folder >= 0) close(source->folder);
    if (is_mapped)
        error[0] = 0;
    else
        plan_unmap(plan);
    return is_mapped;
}

bool plan_map(struct plan *plan, const char *directory, char *error, size_t error_size)
{
    struct source source = {.folder = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), .path = directory};
    return map_from(plan, &source, error, error_size);
}

bool plan_map_trusted(struct plan *plan, const char *directory, char *error, size_t error_size)
{
    char why[PLAN_PATH];
    struct source source = {.folder = trusted_open(directory, O_DIRECTORY, why, sizeof why),
                            .path = directory,
                            .why = why,
                            .why_size = sizeof why};
    return map_from(plan, &source, error, error_size);
}

void plan_unmap(struct plan *plan)
{
    if (plan->header) munmap((void *)plan->header, plan->size);
    *plan = (struct plan){0};
}
