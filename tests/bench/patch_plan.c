/* SPDX-License-Identifier: Apache-2.0
 * patch_plan PLAN.BIN device|driver|entry|grid|code|wrong|rotate|unsure|narrow|unverified|flip: turns a good
 * plan into one for another device or driver, or whose code lacks the entry, cannot be launched, is damaged,
 * calculates something else, or gets its pointers in other places; or whose groups write one knows not what
 * or more than they say, or need verification; with its check made to fit again. Or flips one bit of its last
 * table and leaves the check as it was. */
#include "common/plan.h"

#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "r+b") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0) return 2;
    size_t size = (size_t)ftell(file);
    struct plan_header *header = malloc(size + 1);
    rewind(file);
    if (!header || fread(header, 1, size, file) != size || size < sizeof *header || header->file_size != size)
        return 2;

    if (header->check != plan_check(header, size)) return 3; /* the plan was not good */
    struct plan_variant *variants = (struct plan_variant *)((char *)header + header->variants.offset);
    const uint32_t variant_count = header->variants.count;
    if (strcmp(argv[2], "device") == 0) {
        snprintf(header->device_name, sizeof header->device_name, "Another Device 9000");
        header->compute_minor++;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "driver") == 0) {
        header->driver_version += 10;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "entry") == 0) {
        for (uint32_t i = 0; i < variant_count; i++) variants[i].entry++;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "grid") == 0) {
        for (uint32_t i = 0; i < variant_count; i++) variants[i].grid[1] = 70000;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "code") == 0) {
        for (uint32_t i = 0; i < variant_count; i++)
            memset((char *)header + header->code.offset + variants[i].code + 256, 0,
                   variants[i].code_size - 256);
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "wrong") == 0) {
        int changed = 0;
        for (uint32_t i = 0; i < variant_count; i++)
            changed |=
                make_wrong((char *)header + header->code.offset + variants[i].code, variants[i].code_size);
        if (!changed) return 4;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "rotate") == 0) {
        int changed = 0;
        for (uint32_t i = 0; i < variant_count; i++) changed |= rotate_pointers(header, &variants[i]);
        if (!changed) return 4;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "unsure") == 0) {
        struct plan_effect *effects = (struct plan_effect *)((char *)header + header->effects.offset);
        for (uint32_t i = 0; i < header->effects.count; i++) effects[i].is_exact = 0;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "narrow") == 0) {
        struct plan_effect *effects = (struct plan_effect *)((char *)header + header->effects.offset);
        for (uint32_t i = 0; i < header->effects.count; i++) effects[i].to = effects[i].from + 16;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "unverified") == 0) {
        struct plan_group *groups = (struct plan_group *)((char *)header + header->groups.offset);
        for (uint32_t i = 0; i < header->groups.count; i++) groups[i].flags |= PLAN_NEEDS_VERIFICATION;
        header->check = plan_check(header, size);
    } else if (strcmp(argv[2], "flip") == 0) {
        ((unsigned char *)header)[size - 1] ^= 1;
    } else {
        return 2;
    }
    rewind(file);
    return fwrite(header, 1, size, file) == size && fclose(file) == 0 ? 0 : 2;
}
