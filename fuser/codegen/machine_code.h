/* SPDX-License-Identifier: Apache-2.0
 * Counts opcode classes in a cubin: whether contraction was the same in a fused kernel as in its members. */
#ifndef KFUSE_FUSER_CODEGEN_MACHINE_CODE_H
#define KFUSE_FUSER_CODEGEN_MACHINE_CODE_H

#include <stdbool.h>
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
    MACHINE_CODE_CLASSES,                     /* those above are counted */
    MACHINE_CODE_NONE = MACHINE_CODE_CLASSES, /* contraction makes and removes no such instruction */
};

struct machine_code_counts {
    /* Without the instructions that only move, negate or load a constant. */
    int64_t of[MACHINE_CODE_CLASSES];
    int64_t functions;      /* approximated by the device: a reciprocal, a root, an exponential .. (MUFU) */
    int64_t instructions;   /* all, the padding behind the kernel's end too */
    int64_t unknown;        /* with an opcode that machine_code.def does not have: any class is possible */
    uint32_t first_unknown; /* its low nine bits */
};

/* Instructions of the kernel itself, without the slow paths behind it. False when the cubin has no such
 * kernel or cannot be read. */
bool machine_code_count(const void *cubin, size_t size, const char *kernel,
                        struct machine_code_counts *counts);
/* The same with the slow paths, and with functions that it calls and that are part of its code. */
bool machine_code_count_all(const void *cubin, size_t size, const char *kernel,
                            struct machine_code_counts *counts);
const char *machine_code_class_name(enum machine_code_class class);

#endif
