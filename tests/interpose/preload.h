/* SPDX-License-Identifier: Apache-2.0
 * Tests of the preloaded library run as a program of their own that is started again with LD_PRELOAD and the
 * fake driver; each case gets a process, because the library decides its mode once. */
#ifndef KFUSE_TESTS_PRELOAD_H
#define KFUSE_TESTS_PRELOAD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct preload_case {
    const char *name;
    void (*body)(void);        /* in the preloaded process; exits 1 through CHECK */
    void (*prepare)(void);     /* before it: environment, files; may be NULL */
    void (*after)(int status); /* when it has ended; may be NULL: then the status must be 0 */
};

/* Aborts the test with the place and the calls that the driver saw. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) preload_failed(__FILE__, __LINE__, #condition);                                    \
    } while (0)
void preload_failed(const char *file, int line, const char *condition);

/* The k-th call that the fake driver saw is this line. */
#define CHECK_LINE(index, text) preload_check_line(__FILE__, __LINE__, index, text)
void preload_check_line(const char *file, int line, size_t index, const char *text);

/* main of a test program. */
int preload_main(int argc, char **argv, const struct preload_case *cases, size_t count);

/* A folder for this test program, emptied. */
const char *preload_folder(void);

#endif
