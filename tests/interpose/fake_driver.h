/* SPDX-License-Identifier: Apache-2.0
 * A driver library for tests: accepts what it is told, launches nothing, and remembers every call in order. A
 * kernel's name spells its parameters: "scale:8,8,4" has two pointers and an int. */
#ifndef KFUSE_TESTS_FAKE_DRIVER_H
#define KFUSE_TESTS_FAKE_DRIVER_H

#include <stddef.h>

/* With FAKE_LOG=file in the environment the calls are also written there.
 * Calls since the last clear, one line each, e.g. "cuMemFree_v2 1000". */
size_t fake_count(void);
const char *fake_line(size_t index);
void fake_clear(void);
/* Called by the hooks under test too: thread safe. */
void fake_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on launches of kernels whose name begins so return this CUresult; NULL: all succeed again. */
void fake_fail_launch(const char *prefix, int result);
/* cuModuleLoadData of images that begin so fails. */
void fake_fail_load(const char *prefix);
/* From now on the host's monotonic clock stands but for what launches that are slow and fake_stay pass of it, and a little a
 * reading: however busy the machine is, a run takes as long as the last one. What waits in the kernel does so in real time. */
void fake_own_clock(void);
/* The host does nothing for so long. */
void fake_stay(unsigned microseconds);
/* Every launch stays so long inside the driver. */
void fake_slow_launch(unsigned microseconds);
/* From now on kernels whose name begins so take the device so long; at first none takes any time. Events have
 * the time at which they were recorded. */
void fake_set_time(const char *prefix, unsigned nanoseconds);
/* The device has nothing to do for so long. */
void fake_pass_time(unsigned nanoseconds);
/* From now on no event can be made, or recorded. */
void fake_fail_events(int at_creation, int at_record);
/* Copies to the device and the unknown entry point stay so long inside the driver before they do anything,
 * or until all that stay are let go. */
void fake_slow_copy(unsigned microseconds);
void fake_let_go(void);
/* How many have begun to stay so far. */
unsigned fake_slow_copies(void);
/* From now on so many bytes of device memory can be allocated in all. */
void fake_limit_memory(size_t bytes);
/* While set, streams and events are not ready when they are asked. */
void fake_set_busy(int is_busy);
/* While set, copies from device to device fail so, those of boxes or those of bytes. */
void fake_fail_copy(int of_boxes, int of_bytes);
/* While set, cuStreamIsCapturing says yes. */
void fake_set_capturing(int is_capturing);
void fake_set_device_name(const char *name);

/* From now on such calls return this CUresult, or 0: succeed. Of graphs launched there is one line, "graph KERNELS STREAM", and then
 * a line each kernel. */
enum fake_graph_call {
    FAKE_GRAPH_CREATE,
    FAKE_GRAPH_ADD,
    FAKE_GRAPH_INSTANTIATE,
    FAKE_GRAPH_UPDATE,
    FAKE_GRAPH_LAUNCH,
    FAKE_GRAPH_CALLS
};
void fake_fail_graphs(enum fake_graph_call call, int result);
/* That there are, executable or not. */
unsigned fake_graphs(void);
/* The stream has this priority, and belongs to this context; NULL: to any. */
void fake_set_stream(void *stream, int priority, void *context);

/* An entry point that no table knows; reached through cuGetProcAddress only. */
typedef int (*fake_future_function)(long a, long b, long c, long d, long e, long f, long g, double x,
                                    double y);

#endif
