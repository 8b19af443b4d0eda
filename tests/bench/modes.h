/* SPDX-License-Identifier: Apache-2.0
 * For programs whose --mode chooses one of several things to do: a table of rows that have a name. */
#ifndef TESTS_BENCH_MODES_H
#define TESTS_BENCH_MODES_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row of this name; where there is none, says which there are, and ends with 2. */
template <typename Mode, size_t count>
static const Mode *find_mode(const char *program, const Mode (&modes)[count], const char *name)
{
    for (const Mode &mode : modes)
        if (strcmp(mode.name, name) == 0) return &mode;
    fprintf(stderr, "%s: %s: no such mode; there are:", program, name);
    for (const Mode &mode : modes) fprintf(stderr, " %s", mode.name);
    fputc('\n', stderr);
    exit(2);
}

#endif
