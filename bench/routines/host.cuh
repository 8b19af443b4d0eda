/* SPDX-License-Identifier: Apache-2.0
 * The routines on the host in double precision. With MAGNITUDE each term counts as its absolute value: what
 * rounding errors are measured against. */
#ifndef BENCH_ROUTINES_HOST_CUH
#define BENCH_ROUTINES_HOST_CUH
#include "library.cuh"
#include <math.h>

template <bool MAGNITUDE> struct host {
    static double factor(double alpha)
    {
        return MAGNITUDE ? fabs(alpha) : alpha;
    }
    static void copy(int n, const double *x, double *y)
    {
        memcpy(y, x, n * sizeof *x);
    }
    static void copy_matrix(int rows, int columns, const double *a, double *b)
    {
        memcpy(b, a, (size_t)rows * columns * sizeof *a);
    }
    static void scal(int n, double alpha, double *x)
    {
        for (int i = 0; i < n; i++) x[i] *= factor(alpha);
    }
    static void axpy(int n, double alpha, const double *x, double *y)
    {
        for (int i = 0; i < n; i++) y[i] += factor(alpha) * x[i];
    }
    static void dot(int n, const double *x, const double *y, double *, double *result)
    {
        *result = 0;
        for (int i = 0; i < n; i++) *result += x[i] * y[i];
    }
    static void ger(int rows, int columns, double alpha, const double *x, const double *y, double *a)
    {
        for (int row = 0; row < rows; row++) axpy(columns, alpha * x[row], y, a + (size_t)row * columns);
    }
    static void gemv(int rows, int columns, double alpha, const double *a, const double *x, double beta,
                     double *y)
    {
        for (int row = 0; row < rows; row++) {
            double sum;
            dot(columns, a + (size_t)row * columns, x, NULL, &sum);
            y[row] = factor(alpha) * sum + (beta == 0 ? 0 : factor(beta) * y[row]);
        }
    }
    static void gemv_tiles(int rows, int columns, double alpha, const double *a, const double *x, double beta,
                           double *y, double *)
    {
        gemv(rows, columns, alpha, a, x, beta, y);
    }
    static void gemvt(int rows, int columns, double alpha, const double *a, const double *x, double beta,
                      double *y, double *)
    {
        for (int column = 0; column < columns; column++) y[column] = beta == 0 ? 0 : factor(beta) * y[column];
        for (int row = 0; row < rows; row++) axpy(columns, alpha * x[row], a + (size_t)row * columns, y);
    }
    static constexpr struct library<double> library = {
        copy, copy_matrix, scal, axpy, dot, ger, gemv, gemv_tiles, gemvt
    };
};

#endif
