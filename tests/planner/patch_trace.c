/* SPDX-License-Identifier: Apache-2.0
 * patch_trace TRACE: says that the recorded device is a real one, which runs the machine code of the images
 * and not their PTX. So the planner's arguments for exactness are tested without one.
 * patch_trace TRACE without-ptx: says that modules that came as PTX text came as machine code, as those of
 * libraries do. */
#include "tests/common/patched_file.h"
#include "tests/common/patched_trace.h"

#include <string.h>

static bool make_real(struct trace_record *record)
{
    if (record->kind != TRACE_DEVICE) return false;
    ((struct trace_device *)(record + 1))->is_emulated = 0;
    return true;
}

int main(int argc, char **argv)
{
    struct patched_file file;
    bool without_ptx = argc == 3 && !strcmp(argv[2], "without-ptx");
    if ((argc != 2 && !without_ptx) || !patched_file_read(&file, argv[1])) return 2;
    if (!patched_trace_change_all(file.bytes, file.size, without_ptx ? patched_trace_take_ptx : make_real))
        return 2;
    return patched_file_write(&file) ? 0 : 2;
}
