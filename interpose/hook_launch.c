/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of launches. One that begins no pattern while nothing is held costs a few loads and compares, and
 * no lock (is_plain). */
#include "interpose/hook.h"

#include "interpose/blocked.h"
#include "interpose/chain.h"
#include "interpose/queue.h"
#include "interpose/starts.h"

static __thread bool is_inside; /* the driver may call its own exported symbols */

static inline bool try_to_hold(const struct record_shape *shape)
{
    if (!replay_is_on() || is_inside) return false;
    struct track_kernel *kernel = track_kernel_find(shape->function);
    int32_t index = kernel ? replay_index(kernel) : TRACK_PLAN_NONE;
    return queue_launch(shape, kernel, index);
}

/* Recording, or not held. */
static __attribute__((noinline)) CUresult
issue_watched(CUresult (*issue)(const struct record_shape *shape, const void *rest),
              const struct record_shape *shape, const void *rest, bool may_hold)
{
    struct record_launch record;
    CUresult result;
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (is_inside) return issue(shape, rest);
    if (!may_hold && shim_has_attention(ATTENTION_QUEUE)) queue_flush();
    GATE;
    record.is_on = false;
    if (shim_has_attention(ATTENTION_RECORD)) record_launch_begin(&record, shape);
    int64_t begun_ns = blocked_begin(), chain_ns = may_hold && chain_on() ? shim_now_ns() : 0;
    is_inside = true;
    result = issue(shape, rest);
    is_inside = false;
    if (chain_ns && result == CUDA_SUCCESS) queue_note_launch(shape, shim_now_ns() - chain_ns);
    blocked_end(begun_ns);
    record_launch_end(&record, result);
    shim_count(COUNT_ISSUED);
    return shim_result(result);
}

/* Off the fast path: recording, or a kernel of the plan, or something is held. */
static inline __attribute__((always_inline)) CUresult
launch_slowly(CUresult (*issue)(const struct record_shape *shape, const void *rest),
              const struct record_shape *shape, const void *rest, bool may_hold)
{
    if (shim_has_attention(ATTENTION_SPAN)) shim_span_begin();
    if (may_hold && try_to_hold(shape)) return shim_result(CUDA_SUCCESS);
    return issue_watched(issue, shape, rest, may_hold);
}

/* Nothing is held, the launch begins no pattern of the plan, and nothing else wants to see it. Neither this
 * nor count_plain calls a function, so that a wrapper's arguments stay where they are. */
static inline bool is_plain(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                            void **parameters)
{
    if (shim_has_attention(~(uint32_t)ATTENTION_CONTENTS) || !shim_own_counts || chain_on()) return false;
    if (!replay_is_on()) return true;
    const struct track_kernel *kernel = track_kernel_find(function);
    if (!kernel) return true;
    int32_t index = atomic_load_explicit(&kernel->plan, memory_order_relaxed);
    if (index < 0) return index == TRACK_PLAN_NONE;
    const struct starts_table *table = starts_tables[index];
    if (!table) return true;
    return !starts_may_fit(table, starts_shape(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared),
                           parameters);
}

static inline void count_plain(void)
{
    struct shim_count_slot *slot = shim_own_counts;
    shim_count_in(slot, COUNT_LAUNCHES);
    shim_count_in(slot, COUNT_ISSUED);
}

#define LAUNCH(symbol)                                                                                       \
    static CUresult issue_##symbol(const struct record_shape *shape, const void *rest)                       \
    {                                                                                                        \
        (void)rest;                                                                                          \
        return REAL(symbol)(shape->function, shape->grid[0], shape->grid[1], shape->grid[2],                 \
                            shape->block[0], shape->block[1], shape->block[2], shape->dynamic_shared,        \
                            shape->stream, shape->parameters, shape->extra);                                 \
    }                                                                                                        \
    static __attribute__((noinline))                                                                         \
    CUresult slow_##symbol(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,           \
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,            \
                           CUstream stream, void **parameters, void **extra)                                 \
    {                                                                                                        \
        shim_count(COUNT_LAUNCHES);                                                                          \
        CUstream on = hook_stream(#symbol, stream);                                                          \
        struct record_shape shape = {function,                                                               \
                                     {grid_x, grid_y, grid_z},                                               \
                                     {block_x, block_y, block_z},                                            \
                                     shared,                                                                 \
                                     on,                                                                     \
                                     parameters,                                                             \
                                     extra,                                                                  \
                                     on == CU_STREAM_PER_THREAD ? TRACE_LAUNCH_PER_THREAD : 0};              \
        return launch_slowly(issue_##symbol, &shape, NULL, true);                                            \
    }                                                                                                        \
    HOOK(symbol, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
         unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,            \
         void **extra)                                                                                       \
    {                                                                                                        \
        if (!is_plain(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, parameters))      \
            return slow_##symbol(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,        \
                                 stream, parameters, extra);                                                 \
        count_plain();                                                                                       \
        return REAL(symbol)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,     \
                            parameters, extra);                                                              \
    }
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

#define LAUNCH_EX(symbol)                                                                                    \
    static CUresult issue_##symbol(const struct record_shape *shape, const void *rest)                       \
    {                                                                                                        \
        return REAL(symbol)(rest, shape->function, shape->parameters, shape->extra);                         \
    }                                                                                                        \
    static __attribute__((noinline)) CUresult slow_##symbol(                                                 \
        const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)                  \
    {                                                                                                        \
        shim_count(COUNT_LAUNCHES);                                                                          \
        CUstream on = hook_stream(#symbol, config->hStream);                                                 \
        struct record_shape shape = {function,                                                               \
                                     {config->gridDimX, config->gridDimY, config->gridDimZ},                 \
                                     {config->blockDimX, config->blockDimY, config->blockDimZ},              \
                                     config->sharedMemBytes,                                                 \
                                     on,                                                                     \
                                     parameters,                                                             \
                                     extra,                                                                  \
                                     (on == CU_STREAM_PER_THREAD ? TRACE_LAUNCH_PER_THREAD : 0) |            \
                                         (config->numAttrs ? TRACE_LAUNCH_ATTRIBUTES : 0)};                  \
        return launch_slowly(issue_##symbol, &shape, config, !config->numAttrs);                             \
    }                                                                                                        \
    HOOK(symbol, const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)         \
    {                                                                                                        \
        if (!config) {                                                                                       \
            shim_enter_flush();                                                                              \
            shim_count(COUNT_LAUNCHES);                                                                      \
            shim_count(COUNT_ISSUED);                                                                        \
            return REAL(symbol)(config, function, parameters, extra);                                        \
        }                                                                                                    \
        if (!is_plain(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,     \
                      config->blockDimY, config->blockDimZ, config->sharedMemBytes, parameters))             \
            return slow_##symbol(config, function, parameters, extra);                                       \
        count_plain();                                                                                       \
        return REAL(symbol)(config, function, parameters, extra);                                            \
    }
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

#define LAUNCH_COOPERATIVE(symbol)                                                                           \
    static CUresult issue_##symbol(const struct record_shape *shape, const void *rest)                       \
    {                                                                                                        \
        (void)rest;                                                                                          \
        return REAL(symbol)(shape->function, shape->grid[0], shape->grid[1], shape->grid[2],                 \
                            shape->block[0], shape->block[1], shape->block[2], shape->dynamic_shared,        \
                            shape->stream, shape->parameters);                                               \
    }                                                                                                        \
    HOOK(symbol, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
         unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters)            \
    {                                                                                                        \
        shim_count(COUNT_LAUNCHES);                                                                          \
        struct record_shape shape = {                                                                        \
            function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters,     \
            NULL,     TRACE_LAUNCH_COOPERATIVE};                                                             \
        return launch_slowly(issue_##symbol, &shape, NULL, false);                                           \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)
