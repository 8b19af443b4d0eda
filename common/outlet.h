/* SPDX-License-Identifier: Apache-2.0
 * Where the log and the counts go: a file of their own, or a stream that the program was started with. To a
 * stream they go through the stream, so that nothing the program writes there is overwritten or cut off. */
#ifndef KFUSE_COMMON_OUTLET_H
#define KFUSE_COMMON_OUTLET_H

#include "common/own_file.h"

#include <stdbool.h>
#include <stddef.h>

struct outlet {
    const char *path;
    struct own_file stream; /* descriptor -1: path is a file of its own */
};

/* At the program's start. path stays the caller's: "-" is standard error; /dev/stdout, /dev/stderr, /dev/fd/N
 * and every name of a file that the program has open for writing are that stream. */
struct outlet outlet_of(const char *path);
/* The descriptor, below 32, by which this process has the file open for writing; -1: none. */
int outlet_open_stream(const struct stat *status);
/* Makes this the contents of the file, or writes it to the stream behind all that was printed. False with
 * errno. */
bool outlet_write(const struct outlet *outlet, const void *bytes, size_t size);

#endif
