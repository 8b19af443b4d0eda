/* SPDX-License-Identifier: Apache-2.0
 * Reads a cubin (ELF64) without NVIDIA's tools: the code of a kernel, how it was assembled, and whether two
 * cubins hold the same kernel. Every offset is checked; nothing is copied: the bytes are the caller's and
 * outlive the view. */
#ifndef KFUSE_FUSER_CODEGEN_CUBIN_H
#define KFUSE_FUSER_CODEGEN_CUBIN_H

#include "common/arena.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUBIN_INSTRUCTION_BYTES = 16 }; /* sm_70 and later */

struct cubin {
    const unsigned char *bytes;
    size_t size;
    uint32_t sm;                   /* 90 */
    const unsigned char *sections; /* Elf64_Shdr, section_count of them, at any alignment */
    uint32_t section_count;
    Elf64_Shdr names; /* of the sections */
};

struct cubin_code { /* section .text.KERNEL */
    const unsigned char *bytes;
    size_t
        size; /* with the toolkit's slow paths (division, square root), which ptxas appends once a kernel */
    size_t own_size; /* without them: up to the first function inside the section */
    uint32_t section;
};

/* False when it is no ELF64 file whose section table lies inside it. */
bool cubin_open(struct cubin *cubin, const void *bytes, size_t size);
bool cubin_find_code(const struct cubin *cubin, const char *kernel, struct cubin_code *code);
/* Made by nvcc -G: has DWARF of variables or the assembler's option -g. Line tables alone (-lineinfo) are
 * none. */
bool cubin_is_debug(const struct cubin *cubin);
/* What the cubin says of its assembler (section .note.nv.tkinfo, CUDA 12.4 and later): "V13.0.88" and the
 * options. NULL when it says nothing. Belongs to the cubin. */
const char *cubin_assembler(const struct cubin *cubin, const char **options);

/* NULL when kernel is in both, byte for byte: code, constant banks, shared memory, what is relocated and to
 * what; else the first difference. The names of the kernel and its slow paths may differ. */
const char *cubin_difference(struct arena *arena, const struct cubin *a, const char *kernel_a,
                             const struct cubin *b, const char *kernel_b);
/* Whether the kernel's code takes the address of a variable of its module, whose contents it does not hold.
 */
bool cubin_uses_variables(const struct cubin *cubin, const char *kernel);

#endif
