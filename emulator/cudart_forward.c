/* SPDX-License-Identifier: Apache-2.0
 * Runtime functions that are one driver call (cudart_forward.def). */
#include "emulator/cudart.h"

static CUmemLocation driver_location(struct cudaMemLocation location)
{
    return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

#define CALL(needs, name, parameters, call)                                                                  \
    cudaError_t name parameters                                                                              \
    {                                                                                                        \
        cudaError_t error = cudart_##needs();                                                                \
        return cudart_return(error == cudaSuccess ? (cudaError_t)cudart_driver.call : error);                \
    }
#define STREAM_CALL(name, parameters, call)                                                                  \
    CALL(enter, name, parameters, call)                                                                      \
    CUDART_EXPORT cudaError_t name##_ptsz parameters;                                                        \
    cudaError_t name##_ptsz parameters                                                                       \
    {                                                                                                        \
        cudaError_t error = cudart_enter();                                                                  \
        stream = cudart_thread_stream(stream);                                                               \
        return cudart_return(error == cudaSuccess ? (cudaError_t)cudart_driver.call : error);                \
    }
#include "emulator/cudart_forward.def"
