/* SPDX-License-Identifier: Apache-2.0
 * Measurements: what is read of a file is within its bounds, and has a gain; and it can be added again. */
#include "common/measured.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>

static volatile double sink;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct measured measured;
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "r") : NULL;
    if (!file) return 0;
    measured_start(&measured, "a device", 13000);
    measured_read_stream(&measured, file);
    fclose(file);
    if (measured.group_count > MEASURED_GROUPS) abort();
    for (uint32_t i = 0; i < measured.group_count; i++) {
        const struct measured_group group = measured.groups[i];
        if (group.round_count > GAIN_MOST) abort();
        struct gain gain = measured_gain(&group);
        if (gain.count > 1 && !(gain.low <= gain.mean && gain.mean <= gain.high)) abort();
        sink += gain.mean + measured_mean_ns(&group, true);
        measured_add(&measured, &group);
    }
    return 0;
}
