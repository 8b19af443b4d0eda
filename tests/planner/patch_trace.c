/* SPDX-License-Identifier: Apache-2.0
 * patch_trace TRACE: says that the recorded device is a real one, which runs the machine code of the images
 * and not their PTX. So the planner's arguments for exactness are tested without one. */
#include "common/trace.h"
#include "tests/common/patched_file.h"

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
    struct patched_file file;
    if (argc != 2 || !patched_file_read(&file, argv[1]) || !patch(file.bytes, file.size)) return 2;
    return patched_file_write(&file) ? 0 : 2;
}
