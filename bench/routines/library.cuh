/* SPDX-License-Identifier: Apache-2.0
 * The routines as one table, so that a sequence of calls is written once: plain kernels here, cuBLAS in
 * cublas.cuh, the host in host.cuh. */
#ifndef BENCH_ROUTINES_LIBRARY_CUH
#define BENCH_ROUTINES_LIBRARY_CUH
#include "axpy.cuh"
#include "copy.cuh"
#include "dot.cuh"
#include "gemv.cuh"
#include "gemv_tiles.cuh"
#include "gemvt_tiles.cuh"
#include "ger.cuh"
#include "scal.cuh"

/* Matrices are rows times columns, row by row; partial is room for partial sums that may be needed. */
template <class T> struct library {
    void (*copy)(int n, const T *x, T *y);
    void (*copy_matrix)(int rows, int columns, const T *a, T *b);
    void (*scal)(int n, T alpha, T *x);
    void (*axpy)(int n, T alpha, const T *x, T *y);
    void (*dot)(int n, const T *x, const T *y, T *partial, T *result);
    void (*ger)(int rows, int columns, T alpha, const T *x, const T *y, T *a);
    void (*gemv)(int rows, int columns, T alpha, const T *a, const T *x, T beta, T *y);
    void (*gemv_tiles)(int rows, int columns, T alpha, const T *a, const T *x, T beta, T *y, T *partial);
    void (*gemvt_tiles)(int rows, int columns, T alpha, const T *a, const T *x, T beta, T *y, T *partial);
};

static const struct library<float> plain_library = {
    copy, copy_matrix, scal, axpy, dot, ger, gemv, gemv_tiles, gemvt_tiles
};

#endif
