/* SPDX-License-Identifier: Apache-2.0
 * Entry points of the driver for programs of the runtime. */
#ifndef TESTS_BENCH_DRIVER_CALL_H
#define TESTS_BENCH_DRIVER_CALL_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *driver_call(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *entry = library ? dlsym(library, name) : NULL;
    if (entry) return entry;
    fprintf(stderr, "no %s in libcuda.so.1\n", name);
    exit(1);
}
#define DRIVER_CALL(symbol) ((__typeof__(&symbol))driver_call(#symbol))

#endif
