/* SPDX-License-Identifier: Apache-2.0
 * The least host time that a chain of launches can take when one launch replaces them all: the runtime's
 * calls over a cuLaunchKernel that does nothing, then one real launch of the whole chain. Needs the static
 * runtime, whose dlsym it answers itself. */
#include "bench.h"
#include "chain.h"

#include <cuda.h>
#include <dlfcn.h>

static int is_floor; /* launches that come through the runtime vanish */
static CUresult (*real_launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, CUstream, void **, void **);
static CUresult (*real_get_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                       void **arguments, void **extra)
{
    if (is_floor) return CUDA_SUCCESS;
    return real_launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments,
                       extra);
}

static CUresult get_address_11(const char *symbol, void **function, int version, cuuint64_t flags);
static CUresult get_address(const char *symbol, void **function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult *status)
{
    CUresult result = real_get_address(symbol, function, version, flags, status);
    if (result != CUDA_SUCCESS || !function || !*function) return result;
    if (strcmp(symbol, "cuGetProcAddress") == 0) /* the runtime asks for both forms and goes on with these */
        *function = version >= 12000 ? (void *)get_address : (void *)get_address_11;
    if (strcmp(symbol, "cuLaunchKernel") == 0) {
        if (!(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) *(void **)&real_launch = *function;
        *function = (void *)launch;
    }
    return result;
}

static CUresult get_address_11(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    return get_address(symbol, function, version, flags, &status);
}

extern "C" void *dlsym(void *library, const char *name) noexcept
{
    static void *(*real_dlsym)(void *, const char *);
    if (!real_dlsym) *(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *symbol = real_dlsym(library, name);
    if (symbol && strcmp(name, "cuGetProcAddress_v2") == 0) {
        *(void **)&real_get_address = symbol;
        return (void *)get_address;
    }
    return symbol;
}

struct chain {
    float *x;
    int n, length, blocks;
    CUfunction whole;
};

static void step(void *context, long)
{
    struct chain *c = (struct chain *)context;
    is_floor = 1;
    for (int k = 0; k < c->length; k++) chain_links[k % 4]<<<c->blocks, 256>>>(c->x, c->n);
    is_floor = 0;
    void *arguments[] = {&c->x, &c->n, &c->length};
    if (real_launch(c->whole, c->blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL) != CUDA_SUCCESS) {
        fprintf(stderr, "floor: the launch failed\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 100, 1, NULL, 0, 0};
    long size = 65536, length = 8;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in the vector"},
        {"length", &length, NULL, NULL, "kernels in the chain"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv,
                  "The floor of a chain's host time: calls that do nothing and one launch.", own);

    struct chain c = {chain_vector(size), (int)size, (int)length, (int)((size + 255) / 256), NULL};
    for (int k = 0; k < 4; k++) chain_links[k]<<<1, 32>>>(c.x, 0); /* the runtime looks each kernel up once */
    cudaFunction_t whole;
    CHECK(cudaGetFuncBySymbol(&whole,
                              length == 8 ? (const void *)whole_chain<8> : (const void *)whole_chain<0>));
    c.whole = (CUfunction)whole;
    CHECK(cudaDeviceSynchronize());
    if (!real_launch) {
        fprintf(stderr, "floor: the runtime's launch was not found\n");
        return 1;
    }
    bench_loop(&bench, step, &c);

    const struct result results[] = {{"x", c.x, size * sizeof(float)}};
    bench_results(&bench, results, 1);
    return 0;
}
