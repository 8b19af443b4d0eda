/* SPDX-License-Identifier: Apache-2.0
 * Grids of two and three dimensions as many programs launch them: a line of threads, one an element, row after row. Row and column
 * by division (pair, layers), by clamped numbers of elements (clamped), or as array libraries work on parts of an array, an
 * operation a kernel (slices: a heat equation). */
#include "../../bench/bench.h"

#define NUMBER int i = blockIdx.x * blockDim.x + threadIdx.x

/* --- five points, row and column by division */
__global__ void smooth(float *out, const float *in, int nx, int ny)
{
    NUMBER;
    if (i >= nx * ny) return;
    int y = i / nx, x = i % nx;
    float west = in[y * nx + max(x - 1, 0)], east = in[y * nx + min(x + 1, nx - 1)];
    float south = in[max(y - 1, 0) * nx + x], north = in[min(y + 1, ny - 1) * nx + x];
    out[i] = 0.2f * (in[i] + west + east + south + north);
}

/* --- five points by numbers: the end of a row lies beside the next one's beginning */
__global__ void spread(float *out, const float *in, int nx, int n)
{
    NUMBER;
    if (i >= n) return;
    float west = in[max(i - 1, 0)], east = in[min(i + 1, n - 1)];
    float south = in[max(i - nx, 0)], north = in[min(i + nx, n - 1)];
    out[i] = 0.2f * (in[i] + west + east + south + north);
}

/* --- seven points, periodic along y */
__global__ void relax(float *out, const float *in, int nx, int ny, int nz)
{
    NUMBER;
    if (i >= nx * ny * nz) return;
    int z = i / (nx * ny), y = i / nx % ny, x = i % nx, layer = nx * ny;
    float sum = in[i];
    if (x > 0) sum += in[i - 1];
    if (x < nx - 1) sum += in[i + 1];
    sum += in[z * layer + (y ? y - 1 : ny - 1) * nx + x] + in[z * layer + (y < ny - 1 ? y + 1 : 0) * nx + x];
    if (z > 0) sum += in[i - layer];
    if (z < nz - 1) sum += in[i + layer];
    out[i] = 0.125f * sum;
}

/* --- parts of arrays, by operations */
struct part { /* of a row-major array: its first element, its row's length, and how far its rows lie apart */
    float *first;
    int row, pitch;
};
__device__ float *at(const part &p, int i)
{
    return p.first + i / p.row * p.pitch + i % p.row;
}
__global__ void add(part out, part a, part b, int n)
{
    NUMBER;
    if (i < n) *at(out, i) = *at(a, i) + *at(b, i);
}
__global__ void subtract(part out, part a, part b, int n)
{
    NUMBER;
    if (i < n) *at(out, i) = *at(a, i) - *at(b, i);
}
__global__ void add_times(part out, part a, float factor, part b, int n)
{
    NUMBER;
    if (i < n) *at(out, i) = *at(a, i) + factor * *at(b, i);
}

__global__ void fill(float *x, unsigned seed, int n)
{
    NUMBER;
    if (i < n) x[i] = ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0f / 1048576.0f);
}

struct grids {
    float *of[6];
    int nx, ny, nz, n, threads;
    const char *kind;
};

static int blocks(const struct grids *g, int n)
{
    return (n + g->threads - 1) / g->threads;
}

static void difference(struct grids *g, part out, part a, part b, int rows)
{
    int n = out.row * rows;
    subtract<<<blocks(g, n), g->threads>>>(out, a, b, n);
}

/* along_x = u[:, 1:] - u[:, :-1]; along_y = u[1:, :] - u[:-1, :]; next[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * the same differences of
 * these: each array of its own shape, and a row of its own length. */
static void heat(struct grids *g)
{
    int nx = g->nx, ny = g->ny, row = nx - 2, n = row * (ny - 2);
    float *u = g->of[0], *x = g->of[2], *y = g->of[3];
    part along_x = {x, nx - 1, nx - 1}, along_y = {y, nx, nx}, s = {g->of[4], row, row}, t = {g->of[5], row, row};
    difference(g, along_x, {u + 1, nx - 1, nx}, {u, nx - 1, nx}, ny);
    difference(g, along_y, {u + nx, nx, nx}, {u, nx, nx}, ny - 1);
    difference(g, s, {x + nx, row, nx - 1}, {x + nx - 1, row, nx - 1}, ny - 2);
    difference(g, t, {y + nx + 1, row, nx}, {y + 1, row, nx}, ny - 2);
    add<<<blocks(g, n), g->threads>>>(s, s, t, n);
    add_times<<<blocks(g, n), g->threads>>>({g->of[1] + nx + 1, row, nx}, {u + nx + 1, row, nx}, 0.1f, s, n);
}

static void step(void *context, long)
{
    struct grids *g = (struct grids *)context;
    int count = blocks(g, g->n);
    switch (g->kind[0]) {
    case 'd':
        smooth<<<count, g->threads>>>(g->of[1], g->of[0], g->nx, g->ny * g->nz);
        smooth<<<count, g->threads>>>(g->of[2], g->of[1], g->nx, g->ny * g->nz);
        break;
    case 'c':
        spread<<<count, g->threads>>>(g->of[1], g->of[0], g->nx, g->n);
        spread<<<count, g->threads>>>(g->of[2], g->of[1], g->nx, g->n);
        break;
    case 'l':
        relax<<<count, g->threads>>>(g->of[1], g->of[0], g->nx, g->ny, g->nz);
        relax<<<count, g->threads>>>(g->of[2], g->of[1], g->nx, g->ny, g->nz);
        break;
    default:
        heat(g);
    }
    int last = g->kind[0] == 's' ? 1 : 2;
    float *u = g->of[0];
    g->of[0] = g->of[last], g->of[last] = u;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"division", "clamped", "layers", "slices"};
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    long nx = 101, ny = 67, nz = 1, threads = 128, kind = 1;
    const struct option own[] = {
        {"nx", &nx, NULL, NULL, "elements of a row"},
        {"ny", &ny, NULL, NULL, "rows"},
        {"nz", &nz, NULL, NULL, "layers"},
        {"threads", &threads, NULL, NULL, "of a block"},
        {"kind", &kind, NULL, NULL, "1: row and column by division; 2: clamped numbers; 3: seven points; 4: slices"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Stencils by lines of threads.", own);
    struct grids g = {{}, (int)nx, (int)ny, (int)nz, (int)(nx * ny * nz), (int)threads, kinds[(kind - 1) & 3]};
    struct result results[6];
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    for (int k = 0; k < 6; k++) {
        CHECK(cudaMalloc((void **)&g.of[k], (size_t)g.n * sizeof(float)));
        fill<<<blocks(&g, g.n), g.threads>>>(g.of[k], 1000 * k, g.n);
        results[k] = (struct result){names[k], g.of[k], (size_t)g.n * sizeof(float)};
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &g);
    bench_results(&bench, results, 6);
    return 0;
}
