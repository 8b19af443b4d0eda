/* SPDX-License-Identifier: Apache-2.0
 * The routines by cuBLAS, which is looked up when it is asked for: programs build and run without it. To
 * cuBLAS, which stores matrices column by column, ours are transposed. */
#ifndef BENCH_ROUTINES_CUBLAS_CUH
#define BENCH_ROUTINES_CUBLAS_CUH
#include "../bench.h"
#include "library.cuh"
#include <dlfcn.h>

/* name, arguments after the handle */
#define CUBLAS_FUNCTIONS(X)                                                                                  \
    X(SetPointerMode_v2, int)                                                                                \
    X(Scopy_v2, int, const float *, int, float *, int)                                                       \
    X(Sscal_v2, int, const float *, float *, int)                                                            \
    X(Saxpy_v2, int, const float *, const float *, int, float *, int)                                        \
    X(Sdot_v2, int, const float *, int, const float *, int, float *)                                         \
    X(Sger_v2, int, int, const float *, const float *, int, const float *, int, float *, int)                \
    X(Sgemv_v2, int, int, int, const float *, const float *, int, const float *, int, const float *,         \
      float *, int)                                                                                          \
    X(Sgeam, int, int, int, int, const float *, const float *, int, const float *, const float *, int,       \
      float *, int)                                                                                          \
    X(Sgemm_v2, int, int, int, int, int, const float *, const float *, int, const float *, int,              \
      const float *, float *, int)

enum { CUBLAS_PLAIN, CUBLAS_TRANSPOSED };          /* cublasOperation_t */
enum { CUBLAS_SCALAR_HOST, CUBLAS_SCALAR_DEVICE }; /* cublasPointerMode_t */

#define CUBLAS_MEMBER(name, ...) int (*name)(void *, __VA_ARGS__);
static struct {
    void *handle;
    CUBLAS_FUNCTIONS(CUBLAS_MEMBER)
} cublas;

#define CHECK_CUBLAS(function, ...)                                                                          \
    do {                                                                                                     \
        int status = cublas.function(cublas.handle, __VA_ARGS__);                                            \
        if (status != 0) {                                                                                   \
            fprintf(stderr, "%s:%d: cublas" #function ": status %d\n", __FILE__, __LINE__, status);          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* False, and said why, where there is no cuBLAS. */
static bool cublas_start(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    void *file = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names && !file; k++) file = dlopen(names[k], RTLD_NOW);
    bool found = file != NULL;
#define CUBLAS_LOOKUP(name, ...)                                                                             \
    found = found && (cublas.name = (int (*)(void *, __VA_ARGS__))dlsym(file, "cublas" #name)) != NULL;
    CUBLAS_FUNCTIONS(CUBLAS_LOOKUP)
    int (*create)(void **) = found ? (int (*)(void **))dlsym(file, "cublasCreate_v2") : NULL;
    if (create && create(&cublas.handle) == 0) return true;
    fprintf(stderr, "no cuBLAS: %s\n", create ? "it does not start" : dlerror());
    return false;
}

static void cublas_copy(int n, const float *x, float *y)
{
    CHECK_CUBLAS(Scopy_v2, n, x, 1, y, 1);
}

static void cublas_copy_matrix(int rows, int columns, const float *a, float *b)
{
    CHECK_CUBLAS(Scopy_v2, rows * columns, a, 1, b, 1);
}

static void cublas_scal(int n, float alpha, float *x)
{
    CHECK_CUBLAS(Sscal_v2, n, &alpha, x, 1);
}

static void cublas_axpy(int n, float alpha, const float *x, float *y)
{
    CHECK_CUBLAS(Saxpy_v2, n, &alpha, x, 1, y, 1);
}

static void cublas_dot(int n, const float *x, const float *y, float *, float *result)
{
    CHECK_CUBLAS(SetPointerMode_v2, CUBLAS_SCALAR_DEVICE);
    CHECK_CUBLAS(Sdot_v2, n, x, 1, y, 1, result);
    CHECK_CUBLAS(SetPointerMode_v2, CUBLAS_SCALAR_HOST);
}

static void cublas_ger(int rows, int columns, float alpha, const float *x, const float *y, float *a)
{
    CHECK_CUBLAS(Sger_v2, columns, rows, &alpha, y, 1, x, 1, a, columns);
}

static void cublas_gemv(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                        float *y)
{
    CHECK_CUBLAS(Sgemv_v2, CUBLAS_TRANSPOSED, columns, rows, &alpha, a, columns, x, 1, &beta, y, 1);
}

static void cublas_gemv_tiles(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                              float *y, float *)
{
    cublas_gemv(rows, columns, alpha, a, x, beta, y);
}

static void cublas_gemvt(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                         float *y, float *)
{
    CHECK_CUBLAS(Sgemv_v2, CUBLAS_PLAIN, columns, rows, &alpha, a, columns, x, 1, &beta, y, 1);
}

/* c = a b' */
static void cublas_gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    const float one = 1, zero = 0;
    CHECK_CUBLAS(Sgemm_v2, CUBLAS_TRANSPOSED, CUBLAS_PLAIN, n, m, k, &one, b, k, a, k, &zero, c, n);
}

/* c = a + b */
static void cublas_geam(int rows, int columns, const float *a, const float *b, float *c)
{
    const float one = 1;
    CHECK_CUBLAS(Sgeam, CUBLAS_PLAIN, CUBLAS_PLAIN, columns, rows, &one, a, columns, &one, b, columns, c,
                 columns);
}

static const struct library<float> cublas_library = {
    cublas_copy, cublas_copy_matrix, cublas_scal, cublas_axpy, cublas_dot, cublas_ger, cublas_gemv,
        cublas_gemv_tiles, cublas_gemvt
};

#endif
