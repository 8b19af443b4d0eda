/* SPDX-License-Identifier: Apache-2.0
 * Entry points that wait for the device, ask how far it is, or mark a place in its work: nobody sees memory
 * by them alone. Known to replay, which need not bring memory up to date before them, and to the planner,
 * which reads their names in traces. */
#ifndef KFUSE_COMMON_WAITS_H
#define KFUSE_COMMON_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool waits_only(const char *entry_point)
{
    static const char *const names[] = {
        "cuCtxSynchronize",   "cuCtxSynchronize_v2",   "cuStreamSynchronize", "cuStreamQuery",
        "cuEventSynchronize", "cuEventQuery",          "cuEventRecord",       "cuEventRecordWithFlags",
        "cuEventElapsedTime", "cuEventElapsedTime_v2", "cuStreamWaitEvent",   "cuEventDestroy",
        "cuEventDestroy_v2",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(entry_point, names[i])) return true;
    return false;
}

#endif
