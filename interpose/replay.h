/* SPDX-License-Identifier: Apache-2.0
 * Replay: a mapped plan, the checks that it is for this program, device and driver, and the loading of its
 * code. */
#ifndef KFUSE_INTERPOSE_REPLAY_H
#define KFUSE_INTERPOSE_REPLAY_H

#include "interpose/entry.h"
#include "interpose/track.h"

#include <stdatomic.h>
#include <stdio.h>

/* Maps the plan. False when it holds no group, or, latched and with a log line, when it cannot be used. */
bool replay_open(const char *directory);

extern atomic_bool replay_is_mapped;
static inline bool replay_is_on(void)
{
    return atomic_load_explicit(&replay_is_mapped, memory_order_acquire);
}

/* The plan's index of a kernel, or TRACK_PLAN_NONE; looks once a kernel, at its first launch. */
int32_t replay_bind(struct track_kernel *kernel);
static inline int32_t replay_index(struct track_kernel *kernel)
{
    int32_t index = atomic_load_explicit(&kernel->plan, memory_order_acquire);
    return index != TRACK_PLAN_UNBOUND ? index : replay_bind(kernel);
}

/* A module was loaded: groups may have become possible. */
void replay_module_loaded(const struct track_module *module);
/* Loads code that is waiting, where a context is current and no stream is being captured: of all groups the
 * first time, as far as 10 ms go, then of those whose modules are loaded. Called after calls at which loading
 * a module disturbs nothing; costs one load when nothing waits. */
void replay_service(void);
/* Returns when no other thread is loading code, which would invalidate a capture. */
void replay_await_service(void);
/* The context is about to go. */
void replay_context_gone(CUcontext context);
/* The device's primary context has gone. */
void replay_device_gone(CUdevice device);

void replay_write_stats(FILE *file);
/* At exit, of a program of which no launch was held: says so, where groups were ready. */
void replay_tell_unused(void);

#endif
