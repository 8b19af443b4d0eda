/* SPDX-License-Identifier: Apache-2.0
 * NVRTC by dlopen: a missing one is a message, not a crash. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_NVRTC_H
#define KFUSE_FUSER_CODEGEN_NVRTC_H

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvrtc_output {
    const char *ptx, *log;
    const void *cubin;
    size_t cubin_size;
    const char *error; /* NULL, or the message with its next step */
    bool is_missing;   /* the error is that there is no NVRTC */
};
/* Compiles CUDA C for one architecture, with the contraction that members need (-fmad=true). All results
 * belong to the arena. max_registers 0: no cap. */
void nvrtc_compile(struct arena *arena, const char *name, const char *source, const char *architecture,
                   uint32_t max_registers, struct nvrtc_output *output);

#endif
