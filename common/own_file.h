/* SPDX-License-Identifier: Apache-2.0
 * A descriptor that we hold inside somebody else's program: the program may close it (daemons close all) and
 * open a file of its own under the same number. Ask before each write whether it is still ours. */
#ifndef KFUSE_COMMON_OWN_FILE_H
#define KFUSE_COMMON_OWN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

struct own_file {
    int descriptor;
    dev_t device;
    ino_t inode;
};

/* status: from fstat of the descriptor just opened. */
static inline struct own_file own_file_of(int descriptor, const struct stat *status)
{
    return (struct own_file){.descriptor = descriptor, .device = status->st_dev, .inode = status->st_ino};
}

static inline bool own_file_is_ours(const struct own_file *file)
{
    struct stat status;
    return !fstat(file->descriptor, &status) && status.st_dev == file->device && status.st_ino == file->inode;
}

#endif
