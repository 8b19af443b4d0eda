/* SPDX-License-Identifier: Apache-2.0
 * A file that a tool of the tests changes in place: read whole, written whole, of the same size. */
#ifndef TESTS_COMMON_PATCHED_FILE_H
#define TESTS_COMMON_PATCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct patched_file {
    FILE *file;
    unsigned char *bytes;
    size_t size;
};

/* False when it cannot be read. */
bool patched_file_read(struct patched_file *self, const char *path);
/* Ends the use of it; false when it cannot be written. */
bool patched_file_write(struct patched_file *self);

#endif
