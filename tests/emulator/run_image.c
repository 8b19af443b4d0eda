/* SPDX-License-Identifier: Apache-2.0
 * run_image FILE [KERNEL]: loads a PTX file, fatbin or cubin and launches one kernel of it with 64 threads.
 * Prints the error's name, or the last of the 64 words that the kernel wrote. */
#include <stdint.h>
#include <stdio.h>

#include <cuda.h>

static int report(const char *call, CUresult result)
{
    const char *name = "?";
    cuGetErrorName(result, &name);
    printf("%s: %s\n", call, name);
    return 1;
}

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        CUresult result = call;                                                                              \
        if (result != CUDA_SUCCESS) return report(#call, result);                                            \
    } while (0)

int main(int count, char **arguments)
{
    CUcontext context;
    CUmodule module;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr x;
    uint32_t out[64] = {0};
    if (count < 2) return 2;
    const char *name = count > 2 ? arguments[2] : "right";
    TRY(cuInit(0));
    TRY(cuCtxCreate(&context, NULL, 0, 0));
    TRY(cuModuleLoad(&module, arguments[1]));
    TRY(cuModuleGetFunction(&function, module, name));
    TRY(cuLibraryLoadFromFile(&library, arguments[1], NULL, NULL, 0, NULL, NULL, 0));
    TRY(cuLibraryGetKernel(&kernel, library, name));
    TRY(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&x};
    TRY(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    TRY(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    TRY(cuCtxSynchronize());
    TRY(cuMemcpyDtoH(out, x, sizeof out));
    printf("%u\n", out[63]);
    TRY(cuModuleUnload(module));
    TRY(cuCtxDestroy(context));
    return 0;
}
