/* SPDX-License-Identifier: Apache-2.0
 * Arrays of the programs that tell of each by its hash. Of one file each. */
#ifndef KFUSE_TESTS_BENCH_ARRAYS_H
#define KFUSE_TESTS_BENCH_ARRAYS_H

#include "bench/bench.h"

static size_t count; /* elements of each array */
static float *host;  /* room for one */

/* On the device; value: of element number at. */
static float *array_of(float (*value)(size_t))
{
    float *array;
    for (size_t i = 0; i < count; i++) host[i] = value(i);
    CHECK(cudaMalloc(&array, count * sizeof *array));
    CHECK(cudaMemcpy(array, host, count * sizeof *array, cudaMemcpyHostToDevice));
    return array;
}

static void tell(const char *name, const float *array, size_t elements)
{
    unsigned long long hash = 1469598103934665603ull;
    CHECK(cudaMemcpy(host, array, elements * sizeof *array, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < elements * sizeof *array; i++)
        hash = (hash ^ ((unsigned char *)host)[i]) * 1099511628211ull;
    printf("%s %016llx\n", name, hash);
}

#endif
