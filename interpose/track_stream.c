/* SPDX-License-Identifier: Apache-2.0
 * Small numbers for contexts, streams, events and threads, and the count of stream captures under way. */
#include "interpose/track.h"

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* else uthash exits */
#include <uthash.h>

struct handle_id {
    const void *handle;
    uint32_t id;
    UT_hash_handle hh;
};
static struct {
    pthread_mutex_t lock;
    struct handle_id *ids[TRACK_HANDLE_KINDS];
    uint32_t last[TRACK_HANDLE_KINDS];
    _Atomic uint32_t threads;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Atomic int track_captures;

uint32_t track_id(enum track_handle_kind kind, const void *handle)
{
    struct handle_id *entry;
    uint32_t id = 0;
    if (!handle || (kind == TRACK_STREAM && handle == (const void *)CU_STREAM_LEGACY)) return 0;
    pthread_mutex_lock(&streams.lock);
    HASH_FIND_PTR(streams.ids[kind], &handle, entry);
    if (!entry && (entry = calloc(1, sizeof *entry))) {
        entry->handle = handle;
        entry->id = ++streams.last[kind];
        HASH_ADD_PTR(streams.ids[kind], handle, entry);
    }
    if (entry) id = entry->id;
    pthread_mutex_unlock(&streams.lock);
    return id;
}

void track_id_forget(enum track_handle_kind kind, const void *handle)
{
    struct handle_id *entry;
    pthread_mutex_lock(&streams.lock);
    HASH_FIND_PTR(streams.ids[kind], &handle, entry);
    if (entry) {
        HASH_DEL(streams.ids[kind], entry);
        free(entry);
    }
    pthread_mutex_unlock(&streams.lock);
}

uint32_t track_thread_id(void)
{
    static __thread uint32_t id;
    if (!id) id = atomic_fetch_add_explicit(&streams.threads, 1, memory_order_relaxed) + 1;
    return id;
}

void track_capture_began(void)
{
    atomic_fetch_add(&track_captures, 1);
}

void track_capture_ended(void)
{
    int captures = atomic_load(&track_captures);
    while (captures > 0 && !atomic_compare_exchange_weak(&track_captures, &captures, captures - 1)) continue;
}

CUcontext track_current_context(void)
{
    CUcontext context = NULL;
    return REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS ? context : NULL;
}

void track_memory_fork_child(void);
void track_module_fork_child(void);
void track_fork_child(void)
{
    pthread_mutex_init(&streams.lock, NULL);
    track_memory_fork_child();
    track_module_fork_child();
}
