/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a module compiled alone, from their PTX as it is: the machine code that the program's own must
 * equal if both compilers made the same choices. The assembler is NVRTC's, the one that fused kernels pass
 * through. */
#ifndef KFUSE_FUSER_CODEGEN_REFERENCE_H
#define KFUSE_FUSER_CODEGEN_REFERENCE_H

#include "fuser/codegen/compiler.h"
#include "fuser/codegen/contraction.h"
#include "fuser/kernel/callees.h"

/* sm: the device's. max_registers: as the program's code was assembled with, 0: without. The kernels keep
 * their names in output->cubin. */
void reference_compile(const struct compiler *compiler, struct arena *arena, const struct ptx_module *module,
                       const struct ptx_function *const *kernels, uint32_t kernel_count, uint32_t sm,
                       uint32_t max_registers, struct nvrtc_output *output);
/* One kernel, with what it calls, in several forms (contraction.h), each an array with one entry an instruction of them all; a
 * function of form i has the name reference_form_name(arena, function, i). */
void reference_compile_forms(const struct compiler *compiler, struct arena *arena,
                             const struct callees *callees, const struct contraction *const *forms,
                             uint32_t count, uint32_t sm, uint32_t max_registers,
                             struct nvrtc_output *output);
const char *reference_form_name(struct arena *arena, const struct ptx_function *function, uint32_t form);

#endif
