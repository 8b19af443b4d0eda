/* SPDX-License-Identifier: Apache-2.0
 * patch_trace TRACE: says that the recorded device is a real one, which runs the machine code of the images
 * and not their PTX. So the planner's arguments for exactness are tested without one.
 * patch_trace TRACE without-ptx: says that modules that came as PTX text came as machine code, as those of
 * libraries do. */
#include "common/image.h"
#include "common/trace.h"
#include "tests/common/patched_file.h"

#include <string.h>

static bool make_real(struct trace_record *record)
{
    if (record->kind != TRACE_DEVICE) return false;
    ((struct trace_device *)(record + 1))->is_emulated = 0;
    return true;
}

static bool take_ptx(struct trace_record *record)
{
    struct trace_module *module = (struct trace_module *)(record + 1);
    if (record->kind != TRACE_MODULE || module->image_kind != IMAGE_PTX) return false;
    module->image_kind = IMAGE_ELF;
    module->stored_size = 0;
    return true;
}

/* Checks are made to fit again. False when there was nothing to change. */
static bool patch(unsigned char *bytes, size_t size, bool (*change)(struct trace_record *record))
{
    bool has_changed = false;
    for (size_t at = sizeof(struct trace_file_header); size - at > sizeof(struct trace_record);) {
        struct trace_record *record = (struct trace_record *)(bytes + at);
        if (record->size < sizeof *record || record->size > size - at) return false;
        if (change(record)) {
            record->check = hash_check(record + 1, record->size - sizeof *record);
            has_changed = true;
        }
        at += record->size;
    }
    return has_changed;
}

int main(int argc, char **argv)
{
    struct patched_file file;
    bool without_ptx = argc == 3 && !strcmp(argv[2], "without-ptx");
    if ((argc != 2 && !without_ptx) || !patched_file_read(&file, argv[1])) return 2;
    if (!patch(file.bytes, file.size, without_ptx ? take_ptx : make_real)) return 2;
    return patched_file_write(&file) ? 0 : 2;
}
