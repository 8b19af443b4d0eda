/* SPDX-License-Identifier: Apache-2.0
 * NVRTC in a process of its own: it ends when time is over, its memory goes back, and where it crashes that
 * is an error like others. What it has compiled once for any of a crew's processes, it does not compile
 * again. */
#ifndef KFUSE_FUSER_CODEGEN_COMPILER_H
#define KFUSE_FUSER_CODEGEN_COMPILER_H

#include "fuser/codegen/nvrtc.h"
#include "fuser/solver/answers.h"
#include "fuser/solver/deadline.h"

struct compiler {
    struct answers *answers;   /* NULL: nothing is kept */
    struct deadline *deadline; /* NULL: none */
};

/* The error of what took more than half of the time that was left: something smaller may still be compiled in
 * the rest. */
extern const char compiler_too_long[];

/* As nvrtc_compile, and in this process if compiler is NULL. */
void compiler_compile(const struct compiler *compiler, struct arena *arena, const char *name,
                      const char *source, const char *architecture, uint32_t max_registers,
                      struct nvrtc_output *output);

#endif
