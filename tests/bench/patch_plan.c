/* SPDX-License-Identifier: Apache-2.0
 * patch_plan PLAN.BIN device|driver|entry|grid|code|flip: turns a good plan into one for another device or
 * driver, or whose code lacks the entry, cannot be launched or is damaged, with its check made to fit again;
 * or flips one bit of its last table and leaves the check as it was. */
#include "common/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    } else if (strcmp(argv[2], "flip") == 0) {
        ((unsigned char *)header)[size - 1] ^= 1;
    } else {
        return 2;
    }
    rewind(file);
    return fwrite(header, 1, size, file) == size && fclose(file) == 0 ? 0 : 2;
}
