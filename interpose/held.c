/* SPDX-License-Identifier: Apache-2.0
 * Launches that are made late. */
#include "interpose/held.h"

#include "common/log.h"
#include "interpose/blocked.h"
#include "interpose/memop.h"
#include "interpose/shim.h"

static CUresult issue_packed(CUfunction function, const uint32_t grid[3], const uint32_t block[3],
                             uint32_t shared, CUstream stream, void *arguments, size_t size)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    return REAL(cuLaunchKernel)(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                                stream, NULL, size ? extra : NULL);
}

CUresult held_launch_packed(CUfunction function, const uint32_t grid[3], const uint32_t block[3],
                            uint32_t shared, CUstream stream, void *arguments, size_t size)
{
    shim_count(COUNT_ISSUED);
    int64_t begun_ns = blocked_begin();
    CUresult result = issue_packed(function, grid, block, shared, stream, arguments, size);
    blocked_end(begun_ns);
    return result;
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
