/* SPDX-License-Identifier: Apache-2.0
 * A file that is no deeper than memory: written tens of thousands of times a second. */
#include "tests/fuzz/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char *memory_file_path(const void *bytes, size_t size)
{
    static char path[64];
    static int file = -1;
    if (file < 0) file = memfd_create("kfuse-fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size) {
        perror("file in memory");
        exit(99);
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    return path;
}
