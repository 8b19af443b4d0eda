/* SPDX-License-Identifier: Apache-2.0
 * The kernels A to E of the listings in Wahib and Maruyama, "Scalable Kernel Fusion for Memory-Bound GPU Applications"
 * (SC14, figure 3), written for double precision. The barrier inside their kernel A does not reach other blocks, so
 * A is two launches here. A (both) and B may become the paper's kernel X, C to E its kernel Y. With --loop the loop
 * over k stands inside the thread, as in the paper; without, k is the grid's third dimension. */
#include "bench.h"

struct box {
    int nx, ny, nz;
};
#define AT(i, j, k) (((long)(k)*box.ny + (j)) * box.nx + (i))
#define W(f) f[AT(i - 1, j, k)]
#define S(f) f[AT(i, j - 1, k)]
#define SW(f) f[AT(i - 1, j - 1, k)]
#define O(f) f[AT(i, j, k)]

/* Every kernel as the work of one cell, for all or for the interior, with k from the grid or from a loop. */
#define KERNEL(name, first, body, ...)                                                                       \
    template <bool LOOP> __global__ void name(__VA_ARGS__, struct box box)                                   \
    {                                                                                                        \
        int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;            \
        if (i < first || j < first || i >= box.nx || j >= box.ny) return;                                    \
        if (LOOP)                                                                                            \
            for (int k = 0; k < box.nz; k++) body else                                                       \
            {                                                                                                \
                int k = blockIdx.z;                                                                          \
                body                                                                                         \
            }                                                                                                \
    }

KERNEL(kernel_a, 0, { O(a) = O(b) + O(c); }, double *a, const double *b, const double *c)
KERNEL(kernel_a_rest, 1, { O(d) = dtr * (O(a) + W(a) + S(a) + SW(a)); }, double *d, const double *a, double dtr)
KERNEL(
    kernel_b, 1,
    {
        O(mx) = dtr * ((W(a) - O(a)) + (S(a) - O(a)) + (SW(a) - O(a)));
        O(mn) = dtr * ((O(a) - W(a)) + (O(a) - S(a)) + (O(a) - SW(a)));
    },
    double *mx, double *mn, const double *a, double dtr)
KERNEL(
    kernel_c, 1,
    {
        O(r) = W(t) + O(t) + S(t);
        O(w) = fmin(W(v), O(v));
    },
    double *r, double *w, const double *t, const double *v)
KERNEL(kernel_d, 1, { O(p) = (W(q) * S(q) / O(q)) + (O(q) / W(q) * S(q)); }, double *p, const double *q)
KERNEL(kernel_e, 1, { O(u) = (W(t) + O(t) + S(t)) - (O(q) * (W(q) - S(q))) * (W(v) / O(v)); }, double *u,
       const double *t, const double *q, const double *v)

/* Kernel X by hand: each block computes A on its tile and one more row and column. */
enum { HAND_X = 32, HAND_Y = 8 };
__global__ void kernel_x(double *a, double *d, double *mx, double *mn, const double *b, const double *c,
                         double dtr, struct box box)
{
    __shared__ double tile[HAND_Y + 1][HAND_X + 1];
    int x = threadIdx.x, y = threadIdx.y, k = blockIdx.z;
    int i = blockIdx.x * HAND_X + x, j = blockIdx.y * HAND_Y + y;
    bool inside = i < box.nx && j < box.ny;
    if (inside) tile[y + 1][x + 1] = O(a) = O(b) + O(c);
    if (inside && x == 0 && i > 0) tile[y + 1][0] = W(b) + W(c);
    if (inside && y == 0 && j > 0) tile[0][x + 1] = S(b) + S(c);
    if (inside && x == 0 && y == 0 && i > 0 && j > 0) tile[0][0] = SW(b) + SW(c);
    __syncthreads();
    if (!inside || i < 1 || j < 1) return;
    double o = tile[y + 1][x + 1], w = tile[y + 1][x], s = tile[y][x + 1], sw = tile[y][x];
    O(d) = dtr * (o + w + s + sw);
    O(mx) = dtr * ((w - o) + (s - o) + (sw - o));
    O(mn) = dtr * ((o - w) + (o - s) + (o - sw));
}

__global__ void fill(double *x, unsigned seed, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1 + ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0 / 1048576.0);
}

enum { A, B, C, D, MX, MN, P, Q, R, T, U, V, WW, ARRAYS };
static const char *const names[ARRAYS] = {"a", "b", "c", "d", "mx", "mn", "p", "q", "r", "t", "u", "v", "w"};
struct arrays {
    struct box box;
    int loop, hand;
    const char *part;
    double *of[ARRAYS];
    cudaEvent_t begin;
};

template <bool LOOP> static void launch(const struct arrays *s)
{
    const struct box box = s->box;
    const double dtr = 0.125;
    double *const *f = s->of;
    dim3 block(32, 8), grid((box.nx + 31) / 32, (box.ny + 7) / 8, LOOP ? 1 : box.nz);
    if (strchr(s->part, 'x') && s->hand) {
        kernel_x<<<grid, block>>>(f[A], f[D], f[MX], f[MN], f[B], f[C], dtr, box);
    } else if (strchr(s->part, 'x')) {
        kernel_a<LOOP><<<grid, block>>>(f[A], f[B], f[C], box);
        kernel_a_rest<LOOP><<<grid, block>>>(f[D], f[A], dtr, box);
        kernel_b<LOOP><<<grid, block>>>(f[MX], f[MN], f[A], dtr, box);
    }
    if (!strchr(s->part, 'y')) return;
    kernel_c<LOOP><<<grid, block>>>(f[R], f[WW], f[T], f[V], box);
    kernel_d<LOOP><<<grid, block>>>(f[P], f[Q], box);
    kernel_e<LOOP><<<grid, block>>>(f[U], f[T], f[Q], f[V], box);
}

/* Begins with an event: the same step again overwrites all results, and is no part of one long sequence. */
static void step(void *context, long)
{
    const struct arrays *s = (const struct arrays *)context;
    CHECK(cudaEventRecord(s->begin));
    if (s->loop)
        launch<true>(s);
    else
        launch<false>(s);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    long nx = 256, ny = 128, nz = 16;
    struct arrays s = {};
    s.part = "xy";
    const struct option own[] = {
        {"nx", &nx, NULL, NULL, "cells along x"},
        {"ny", &ny, NULL, NULL, "cells along y"},
        {"nz", &nz, NULL, NULL, "cells along z"},
        {"part", NULL, &s.part, NULL, "x: kernels A and B, y: C to E, xy: all"},
        {"loop", NULL, NULL, &s.loop, "the loop over z inside the thread"},
        {"hand", NULL, NULL, &s.hand, "kernel X fused by hand"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Kernels A to E of the SC14 paper on kernel fusion.", own);
    if (nx > 1 << 20 || ny > 1 << 20 || nz > 65535) {
        fprintf(stderr, "listings: too many cells (see --help)\n");
        return 2;
    }
    s.box = (struct box){(int)nx, (int)ny, (int)nz};
    long cells = nx * ny * nz;
    struct result results[ARRAYS];
    for (int k = 0; k < ARRAYS; k++) {
        CHECK(cudaMalloc((void **)&s.of[k], cells * sizeof(double)));
        fill<<<(int)((cells + 255) / 256), 256>>>(s.of[k], 1000 * k, cells);
        results[k] = (struct result){names[k], s.of[k], cells * sizeof(double)};
    }
    CHECK(cudaEventCreate(&s.begin));
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &s);
    bench_results(&bench, results, ARRAYS);
    return 0;
}
