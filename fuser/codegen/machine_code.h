/* SPDX-License-Identifier: Apache-2.0
 * Counts opcode classes in a cubin: whether contraction was the same in a fused kernel as in its members. */
#ifndef KFUSE_FUSER_CODEGEN_MACHINE_CODE_H
#define KFUSE_FUSER_CODEGEN_MACHINE_CODE_H

#include <stddef.h>
#include <stdint.h>

enum machine_code_class {
    MACHINE_CODE_FMUL,
    MACHINE_CODE_FADD,
    MACHINE_CODE_FFMA,
    MACHINE_CODE_DMUL,
    MACHINE_CODE_DADD,
    MACHINE_CODE_DFMA,
    MACHINE_CODE_HALF,
    MACHINE_CODE_CLASSES
};

/* Instructions of that class in the kernel's code, without those that only move, negate or load a constant;
 * -1 when the cubin has no such kernel or cannot be read. */
int64_t machine_code_count(const void *cubin, size_t size, const char *kernel, enum machine_code_class class);
const char *machine_code_class_name(enum machine_code_class class);

#endif
