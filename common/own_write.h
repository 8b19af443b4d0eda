/* SPDX-License-Identifier: Apache-2.0
 * Writing inside somebody else's program: a pipe without a reader or a limit on the size of files is an
 * error, never a signal that ends the program. */
#ifndef KFUSE_COMMON_OWN_WRITE_H
#define KFUSE_COMMON_OWN_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all of it, at the descriptor's place. False, with errno set, when it cannot be; what fits may have
 * been written. A SIGPIPE or SIGXFSZ that was pending before stays so. */
bool own_write(int descriptor, const void *bytes, size_t size);
/* The same at offset, which moves on by what was written. */
bool own_write_at(int descriptor, const void *bytes, size_t size, off_t *offset);

#endif
