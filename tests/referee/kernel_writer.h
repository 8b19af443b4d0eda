/* SPDX-License-Identifier: Apache-2.0
 * What draws the statements of a kernel, as CUDA C and as data: kernel.c, and kernel_step.c for those of a
 * time step. */
#ifndef KFUSE_TESTS_REFEREE_KERNEL_WRITER_H
#define KFUSE_TESTS_REFEREE_KERNEL_WRITER_H

#include "tests/referee/kernel.h"

#include <stddef.h>

struct text {
    char bytes[8192];
    size_t size;
};

struct writer {
    struct kernel *kernel;
    struct random *random;
    const struct kernel_theme *theme;
    struct text text;
    uint32_t values; /* v0, v1 ... */
    bool is_parted;  /* barriers no longer wait for the whole block */
    bool is_written[KERNEL_POINTERS];
    uint32_t program;
};

__attribute__((format(printf, 2, 3))) void kernel_say(struct writer *writer, const char *format, ...);
const char *kernel_value_type(const struct writer *writer);
const struct kernel_type *kernel_draw_type(struct writer *writer);
/* The numbers of an access whose map and guard are known. */
void kernel_draw_constants(struct writer *writer, struct kernel_access *access);

/* One statement. Of a value there is one more behind it; access may be NULL: none. */
void kernel_write_load(struct writer *writer, struct kernel_access *access);
void kernel_write_compute(struct writer *writer);
void kernel_write_inline(struct writer *writer);
void kernel_write_store(struct writer *writer, const struct kernel_access *access);
void kernel_write_atomic(struct writer *writer);

/* kernel_step.c: reads 0 and 1, writes 2, often 3, and sometimes places of 2 again. */
void kernel_write_step(struct writer *writer);

#endif
