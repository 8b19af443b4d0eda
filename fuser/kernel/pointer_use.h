/* SPDX-License-Identifier: Apache-2.0
 * What a kernel does with a pointer among its parameters. Where it only loads and stores through it, a launch may be given the
 * address of another buffer with the same contents (interpose/rename.h), and nobody can tell. */
#ifndef KFUSE_FUSER_KERNEL_POINTER_USE_H
#define KFUSE_FUSER_KERNEL_POINTER_USE_H

#include "ptx/ptx.h"

#include <stdbool.h>
#include <stdint.h>

/* The 8 bytes at this offset of the parameter buffer are loaded as one word, and what is computed from it is addresses of
 * loads, stores and atomics, and nothing else: it is not compared, stored, masked or subtracted. False where memory is out. */
bool pointer_use_is_address(const struct ptx_function *function, uint32_t offset);

#endif
