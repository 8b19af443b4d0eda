/* SPDX-License-Identifier: Apache-2.0
 * What the emulated driver tells a profiler beside the driver API; it stands in for CUPTI. libkfuse.so looks it up by
 * name in the driver library that it found. */
#ifndef KFUSE_EMULATOR_ACTIVITY_H
#define KFUSE_EMULATOR_ACTIVITY_H

#include <stdint.h>

struct emu_activity { /* one kernel launch, reported when it has run */
    uint64_t start_ns, end_ns;
    uint32_t registers, static_shared, dynamic_shared, local_per_thread;
    uint64_t tag; /* what emuActivityTag set before the launch in the launching thread */
};
typedef void (*emu_activity_callback)(void *context, const struct emu_activity *activity);
/* exported by the emulated libcuda.so.1 */
typedef int (*emu_activity_subscribe)(emu_activity_callback callback,
                                      void *context); /* "emuActivitySubscribe" */
typedef void (*emu_activity_tag)(uint64_t tag);       /* "emuActivityTag" */

#endif
