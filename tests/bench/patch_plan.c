/* SPDX-License-Identifier: Apache-2.0
 * patch_plan PLAN.BIN device|driver|entry|grid|code|wrong|rotate|unsure|narrow|unverified|flip: turns a good
 * plan into one for another device or driver, or whose code lacks the entry, cannot be launched, is damaged,
 * calculates something else, or gets its pointers in other places; or whose groups write one knows not what
 * or more than they say, or need verification; with its check made to fit again. Or flips one bit of its last
 * table and leaves the check as it was. */
#include "common/plan.h"
#include "tests/common/patched_file.h"

#include <string.h>

/* In the PTX: operations on floating-point numbers become others. */
static int make_wrong(char *code, size_t size)
{
    static const char *const from[] = {"add.f", "mul.f", "add.rn.f", "mul.rn.f"};
    int changed = 0;
    for (size_t k = 0; k < sizeof from / sizeof from[0]; k++)
        for (size_t i = 0; i + strlen(from[k]) < size; i++)
            if (!memcmp(code + i, from[k], strlen(from[k]))) {
                memcpy(code + i, from[k][0] == 'a' ? "sub" : "add", 3);
                changed = 1;
            }
    return changed;
}

/* Every pointer goes where the one before it went, the first where the last went. */
static int rotate_pointers(const struct plan_header *header, const struct plan_variant *variant)
{
    struct plan_parameter *parameters =
        (struct plan_parameter *)((char *)header + header->parameters.offset) + variant->first_parameter;
    struct plan_parameter *before = NULL;
    uint32_t first = 0;
    for (uint32_t i = 0; i < variant->parameter_count; i++) {
        if (parameters[i].size != 8) continue;
        uint32_t own = parameters[i].destination_offset;
        if (!before) first = own;
        if (before) {
            parameters[i].destination_offset = first;
            before->destination_offset = own;
        }
        before = &parameters[i];
    }
    return before != NULL;
}

static struct plan_variant *variants_of(struct plan_header *header)
{
    return (struct plan_variant *)((char *)header + header->variants.offset);
}

static char *code_of(struct plan_header *header, const struct plan_variant *variant)
{
    return (char *)header + header->code.offset + variant->code;
}

static int patch_device(struct plan_header *header)
{
    snprintf(header->device_name, sizeof header->device_name, "Another Device 9000");
    header->compute_minor++;
    return 1;
}

static int patch_driver(struct plan_header *header)
{
    header->driver_version += 10;
    return 1;
}

static int patch_entry(struct plan_header *header)
{
    for (uint32_t i = 0; i < header->variants.count; i++) variants_of(header)[i].entry++;
    return 1;
}

static int patch_grid(struct plan_header *header)
{
    for (uint32_t i = 0; i < header->variants.count; i++) variants_of(header)[i].grid[1] = 70000;
    return 1;
}

static int patch_code(struct plan_header *header)
{
    const struct plan_variant *variants = variants_of(header);
    for (uint32_t i = 0; i < header->variants.count; i++)
        memset(code_of(header, &variants[i]) + 256, 0, variants[i].code_size - 256);
    return 1;
}

static int patch_wrong(struct plan_header *header)
{
    const struct plan_variant *variants = variants_of(header);
    int changed = 0;
    for (uint32_t i = 0; i < header->variants.count; i++)
        changed |= make_wrong(code_of(header, &variants[i]), variants[i].code_size);
    return changed;
}

static int patch_rotate(struct plan_header *header)
{
    int changed = 0;
    for (uint32_t i = 0; i < header->variants.count; i++)
        changed |= rotate_pointers(header, &variants_of(header)[i]);
    return changed;
}

static int patch_unsure(struct plan_header *header)
{
    struct plan_effect *effects = (struct plan_effect *)((char *)header + header->effects.offset);
    for (uint32_t i = 0; i < header->effects.count; i++) effects[i].is_exact = 0;
    return 1;
}

static int patch_unverified(struct plan_header *header)
{
    struct plan_group *groups = (struct plan_group *)((char *)header + header->groups.offset);
    for (uint32_t i = 0; i < header->groups.count; i++) groups[i].flags |= PLAN_NEEDS_VERIFICATION;
    return 1;
}

/* As if all were added up in an order that is open; groups need verification. */
static int patch_unordered(struct plan_header *header)
{
    struct plan_effect *effects = (struct plan_effect *)((char *)header + header->effects.offset);
    for (uint32_t i = 0; i < header->effects.count; i++)
        if (effects[i].kind == PLAN_WRITES) effects[i].kind = PLAN_WRITES_UNORDERED;
    return patch_unverified(header);
}

static int patch_narrow(struct plan_header *header)
{
    struct plan_effect *effects = (struct plan_effect *)((char *)header + header->effects.offset);
    for (uint32_t i = 0; i < header->effects.count; i++) effects[i].to = effects[i].from + 16;
    return 1;
}

/* NULL: flip. */
static const struct kind {
    const char *name;
    int (*patch)(struct plan_header *header); /* 0: there was nothing to change */
} kinds[] = {{"device", patch_device}, {"driver", patch_driver}, {"entry", patch_entry},
             {"grid", patch_grid},     {"code", patch_code},     {"wrong", patch_wrong},
             {"rotate", patch_rotate}, {"unsure", patch_unsure}, {"unordered", patch_unordered},
             {"narrow", patch_narrow}, {"flip", NULL},           {"unverified", patch_unverified}};

int main(int argc, char **argv)
{
    struct patched_file file;
    const struct kind *kind = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, argv[2]) == 0) kind = &kinds[i];
    if (!kind || !patched_file_read(&file, argv[1])) return 2;
    struct plan_header *header = (struct plan_header *)file.bytes;
    if (file.size < sizeof *header || header->file_size != file.size) return 2;
    if (header->check != plan_check(header, file.size)) return 3; /* the plan was not good */
    if (kind->patch) {
        if (!kind->patch(header)) return 4;
        header->check = plan_check(header, file.size);
    } else {
        file.bytes[file.size - 1] ^= 1;
    }
    return patched_file_write(&file) ? 0 : 2;
}
