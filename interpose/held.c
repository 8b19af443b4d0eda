/* SPDX-License-Identifier: Apache-2.0
 * Launches that are made late. */
#include "interpose/held.h"

#include "common/log.h"
#include "interpose/blocked.h"
#include "interpose/chain.h"
#include "interpose/memop.h"
#include "interpose/own_stream.h"
#include "interpose/shim.h"

CUresult held_launch_directly(const struct chain_launch *launch)
{
    size_t size = launch->size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    const uint32_t *grid = launch->grid, *block = launch->block;
    shim_count(COUNT_ISSUED);
    int64_t begun_ns = blocked_begin(), chain_ns = chain_on() ? shim_now_ns() : 0;
    CUresult result =
        REAL(cuLaunchKernel)(launch->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                             launch->shared, own_stream_here(launch->stream), NULL, size ? extra : NULL);
    blocked_end(begun_ns);
    if (chain_ns && result == CUDA_SUCCESS) chain_note(launch, shim_now_ns() - chain_ns);
    return result;
}

CUresult held_launch_packed(CUfunction function, const uint32_t grid[3], const uint32_t block[3],
                            uint32_t shared, CUstream stream, void *arguments, size_t size)
{
    const struct chain_launch launch = {.function = function,
                                        .grid = {grid[0], grid[1], grid[2]},
                                        .block = {block[0], block[1], block[2]},
                                        .shared = shared,
                                        .stream = stream,
                                        .arguments = arguments,
                                        .size = size};
    if (chain_take(&launch)) return CUDA_SUCCESS;
    chain_submit();
    return held_launch_directly(&launch);
}

CUresult held_launch(const struct held *held)
{
    const struct match_launch *shape = &held->launch;
    CUresult result =
        held->memop ? memop_issue(held)
                    : held_launch_packed(held->function, shape->grid, shape->block, shape->dynamic_shared,
                                         held->stream, held->arguments, shape->arguments_size);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED)
        log_write(LOG_WARNING, "queue", "a launch that was held failed on release: CUDA error %d",
                  (int)result);
    shim_remember_error(result);
    return result;
}
