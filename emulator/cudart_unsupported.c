/* SPDX-License-Identifier: Apache-2.0
 * Functions that the runtime exports and that have no implementation here (cudart_unsupported.def). They take
 * whatever they are given, so NVIDIA's declarations of them must not be seen in this file. */
#include <driver_types.h>
#include <stdbool.h>

extern cudaError_t cudart_unsupported(const char *name, bool *is_said);
extern cudaError_t cudart_return(cudaError_t error);

#define UNSUPPORTED(name)                                                                                    \
    __attribute__((visibility("default"))) cudaError_t name(void);                                           \
    cudaError_t name(void)                                                                                   \
    {                                                                                                        \
        static bool is_said;                                                                                 \
        return cudart_return(cudart_unsupported(#name, &is_said));                                           \
    }
#include "emulator/cudart_unsupported.def"
