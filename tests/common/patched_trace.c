/* SPDX-License-Identifier: Apache-2.0
 * See patched_trace.h. */
#include "tests/common/patched_trace.h"

#include "common/image.h"

bool patched_trace_take_ptx(struct trace_record *record)
{
    struct trace_module *module = (struct trace_module *)(record + 1);
    if (record->kind != TRACE_MODULE || module->image_kind != IMAGE_PTX) return false;
    module->image_kind = IMAGE_ELF;
    module->stored_size = 0;
    return true;
}

bool patched_trace_change_all(unsigned char *bytes, size_t size, patched_trace_change *change)
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
