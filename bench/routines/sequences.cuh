/* SPDX-License-Identifier: Apache-2.0
 * The sequences of bench/blas.cu as calls of any library, and the operands that they name. */
#ifndef BENCH_ROUTINES_SEQUENCES_CUH
#define BENCH_ROUTINES_SEQUENCES_CUH
#include "library.cuh"

enum { A, B, C, P, Q, R, S, U, U1, U2, V, V1, V2, W, X, Y, Z, OPERANDS };
static const char *const names[OPERANDS] = {"A",  "B", "C",  "p",  "q", "r", "s", "u", "u1",
                                            "u2", "v", "v1", "v2", "w", "x", "y", "z"};
enum shape { NONE, ONE, VECTOR, ROWS, COLUMNS, MATRIX };

/* What a sequence works on; partial has room for the partial sums of two routines. */
template <class T> struct data {
    int n, rows, columns;
    T *of[OPERANDS], *partial[2];
};

static const float alpha = -0.875f, beta = 0.75f;

/* --- the sequences, from any library */
#define SEQUENCE(name)                                                                                       \
    template <class T> static void name(const struct library<T> &use, const struct data<T> &d)

SEQUENCE(axpydot) /* z = w + alpha v, r = z'u */
{
    T *const *f = d.of;
    use.copy(d.n, f[W], f[Z]);
    use.axpy(d.n, alpha, f[V], f[Z]);
    use.dot(d.n, f[Z], f[U], d.partial[0], f[R]);
}

SEQUENCE(vadd) /* x = w + y + z */
{
    T *const *f = d.of;
    use.copy(d.n, f[W], f[X]);
    use.axpy(d.n, 1, f[Y], f[X]);
    use.axpy(d.n, 1, f[Z], f[X]);
}

SEQUENCE(waxpby) /* w = alpha x + beta y */
{
    T *const *f = d.of;
    use.copy(d.n, f[X], f[W]);
    use.scal(d.n, alpha, f[W]);
    use.axpy(d.n, beta, f[Y], f[W]);
}

SEQUENCE(madd) /* C = A + B */
{
    T *const *f = d.of;
    use.copy(d.rows * d.columns, f[A], f[C]);
    use.axpy(d.rows * d.columns, 1, f[B], f[C]);
}

SEQUENCE(bicgk) /* q = A p, s = A'r */
{
    T *const *f = d.of;
    use.gemv_tiles(d.rows, d.columns, 1, f[A], f[P], 0, f[Q], d.partial[0]);
    use.gemvt_tiles(d.rows, d.columns, 1, f[A], f[R], 0, f[S], d.partial[1]);
}

SEQUENCE(bicgk_rows) /* the same; q is summed row by row */
{
    T *const *f = d.of;
    use.gemv(d.rows, d.columns, 1, f[A], f[P], 0, f[Q]);
    use.gemvt_tiles(d.rows, d.columns, 1, f[A], f[R], 0, f[S], d.partial[1]);
}

SEQUENCE(gemver) /* B = A + u1 v1' + u2 v2', x = beta B'y + z, w = alpha B x */
{
    T *const *f = d.of;
    use.copy_matrix(d.rows, d.columns, f[A], f[B]);
    use.ger(d.rows, d.columns, 1, f[U1], f[V1], f[B]);
    use.ger(d.rows, d.columns, 1, f[U2], f[V2], f[B]);
    use.copy(d.columns, f[Z], f[X]);
    use.gemvt_tiles(d.rows, d.columns, beta, f[B], f[Y], 1, f[X], d.partial[0]);
    use.gemv(d.rows, d.columns, alpha, f[B], f[X], 0, f[W]);
}

SEQUENCE(atax) /* y = A'(A x) */
{
    T *const *f = d.of;
    use.gemv(d.rows, d.columns, 1, f[A], f[X], 0, f[W]);
    use.gemvt_tiles(d.rows, d.columns, 1, f[A], f[W], 0, f[Y], d.partial[0]);
}

SEQUENCE(sgemv) /* z = alpha A x + beta z */
{
    T *const *f = d.of;
    use.gemv(d.rows, d.columns, alpha, f[A], f[X], beta, f[Z]);
}

SEQUENCE(sgemvt) /* x = beta A'y + z, w = alpha A x */
{
    T *const *f = d.of;
    use.copy(d.columns, f[Z], f[X]);
    use.gemvt_tiles(d.rows, d.columns, beta, f[A], f[Y], 1, f[X], d.partial[0]);
    use.gemv(d.rows, d.columns, alpha, f[A], f[X], 0, f[W]);
}

SEQUENCE(sscal) /* x = alpha x */
{
    T *const *f = d.of;
    use.scal(d.n, alpha, f[X]);
}

SEQUENCE(gesummv) /* y = alpha A x + beta B x */
{
    T *const *f = d.of;
    use.gemv(d.rows, d.columns, alpha, f[A], f[X], 0, f[Y]);
    use.gemv(d.rows, d.columns, beta, f[B], f[X], 1, f[Y]);
}

#endif
