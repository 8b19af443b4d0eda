/* SPDX-License-Identifier: Apache-2.0
 * patch_trace TRACE: says that the recorded device is a real one, which runs the machine code of the images
 * and not their PTX. So the planner's arguments for exactness are tested without one. */
#include "common/trace.h"

#include <stdio.h>
#include <stdlib.h>

/* The device's record, which is one of the first; its check is made to fit again. */
static bool patch(unsigned char *bytes, size_t size)
{
    for (size_t at = sizeof(struct trace_file_header); size - at > sizeof(struct trace_record);) {
        struct trace_record *record = (struct trace_record *)(bytes + at);
        if (record->size < sizeof *record || record->size > size - at) return false;
        if (record->kind == TRACE_DEVICE) {
            ((struct trace_device *)(record + 1))->is_emulated = 0;
            record->check = hash_check(record + 1, record->size - sizeof *record);
            return true;
        }
        at += record->size;
    }
    return false;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r+b") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0) return 2;
    size_t size = (size_t)ftell(file);
    unsigned char *bytes = malloc(size + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, size, file) != size || !patch(bytes, size)) return 2;
    rewind(file);
    return fwrite(bytes, 1, size, file) == size && fclose(file) == 0 ? 0 : 2;
}
