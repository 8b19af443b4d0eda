/* SPDX-License-Identifier: Apache-2.0
 * Starting a program with libkfuse.so preloaded: shared by record and run. */
#ifndef KFUSE_TOOLS_PRELOAD_H
#define KFUSE_TOOLS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* An absolute form of path, which need not exist; false when it does not fit. */
bool preload_absolute(const char *path, char *absolute, size_t size);
/* Puts the library first into LD_PRELOAD, with emulate the emulator's folder first into LD_LIBRARY_PATH, and
 * makes the library's warnings appear on standard error unless KFUSE_LOG says otherwise; then becomes the
 * program. Returns only on failure, with the exit status; the message has been printed. command: for
 * messages. */
int preload_program(const char *command, char **program, bool emulate);

#endif
