/* SPDX-License-Identifier: Apache-2.0
 * Stencils as codes on structured grids have them, in double precision unless said. Forms, a time step each:
 *   pair    t = u + k lap(u); v = t + k lap(t), seven points in three dimensions; u and v swap, t is a temporary
 *   phase   mu = f(c) - kappa lap(c), seven points; six boundary kernels of mu; c' = c + dt lap(mu), 27 points; six boundary
 *           kernels of c'; c and c' swap
 *   wave    a wave equation of fourth order in space, then damping in place; three arrays turn
 *   heat    v = u + k lap(u), seven points; u and v swap
 *   jacobi  the same with five points in two dimensions, single precision
 *   advect  in two dimensions: a pressure of each cell; its flux through the cell's side, from upwind and limited by the slope
 *           there; the cells take what flows in, in place
 *   ring    the same, and behind it the last cells of each row become those after its first ones, and these those before its last ones
 * --flat: the kernels of cells are launched as a line of threads, row and column by division. --by-hand: pair as one kernel that
 * marches along z, its planes of t in shared memory; t is not stored. */
#include "bench.h"

struct grid {
    int nx, ny, nz;
};
struct place {
    int x, y, z;
    size_t at;
    bool is_cell, is_inner;
};

template <bool FLAT> __device__ place find_place(grid g, int border)
{
    place p;
    if (FLAT) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        p.x = i % g.nx, p.y = i / g.nx % g.ny, p.z = i / (g.nx * g.ny);
    } else {
        p.x = blockIdx.x * blockDim.x + threadIdx.x;
        p.y = blockIdx.y * blockDim.y + threadIdx.y;
        p.z = blockIdx.z * blockDim.z + threadIdx.z;
    }
    p.at = ((size_t)p.z * g.ny + p.y) * g.nx + p.x;
    p.is_cell = p.x < g.nx && p.y < g.ny && p.z < g.nz;
    p.is_inner = p.x >= border && p.x < g.nx - border && p.y >= border && p.y < g.ny - border &&
                 (g.nz == 1 || (p.z >= border && p.z < g.nz - border));
    return p;
}

__device__ double laplacian(const double *u, size_t at, grid g)
{
    size_t row = g.nx, plane = (size_t)g.nx * g.ny;
    return u[at - 1] + u[at + 1] + u[at - row] + u[at + row] + u[at - plane] + u[at + plane] - 6.0 * u[at];
}

/* The boundary keeps its values. */
template <bool FLAT> __global__ void diffuse(const double *u, double *v, double k, grid g)
{
    place p = find_place<FLAT>(g, 1);
    if (!p.is_cell) return;
    if (p.is_inner)
        v[p.at] = u[p.at] + k * laplacian(u, p.at, g);
    else
        v[p.at] = u[p.at];
}

/* --- phase */
template <bool FLAT> __global__ void potential(const double *c, double *mu, double kappa, grid g)
{
    place p = find_place<FLAT>(g, 1);
    if (!p.is_inner) return;
    double value = c[p.at];
    mu[p.at] = value * value * value - value - kappa * laplacian(c, p.at, g);
}

template <bool FLAT>
__global__ void advance(const double *c, const double *mu, double *next, double dt, grid g)
{
    place p = find_place<FLAT>(g, 1);
    if (!p.is_inner) return;
    size_t row = g.nx, plane = (size_t)g.nx * g.ny;
    double faces = 0, edges = 0, corners = 0;
    for (int z = -1; z <= 1; z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++) {
                double value = mu[p.at + z * (long)plane + y * (long)row + x];
                int distance = x * x + y * y + z * z;
                if (distance == 1) faces += value;
                if (distance == 2) edges += value;
                if (distance == 3) corners += value;
            }
    next[p.at] = c[p.at] + dt * ((14.0 * faces + 3.0 * edges + corners - 128.0 * mu[p.at]) / 30.0);
}

/* Zero gradient at both ends of an axis: a thread a cell of the face. */
__global__ void boundary_x(double *u, grid g)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= g.ny || z >= g.nz) return;
    double *row = u + ((size_t)z * g.ny + y) * g.nx;
    row[0] = row[1];
    row[g.nx - 1] = row[g.nx - 2];
}
__global__ void boundary_y(double *u, grid g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.nx || z >= g.nz) return;
    double *column = u + (size_t)z * g.ny * g.nx + x;
    column[0] = column[g.nx];
    column[(size_t)(g.ny - 1) * g.nx] = column[(size_t)(g.ny - 2) * g.nx];
}
__global__ void boundary_z(double *u, grid g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.nx || y >= g.ny) return;
    size_t plane = (size_t)g.nx * g.ny;
    double *column = u + (size_t)y * g.nx + x;
    column[0] = column[plane];
    column[(g.nz - 1) * plane] = column[(g.nz - 2) * plane];
}

/* --- wave */
template <bool FLAT>
__global__ void wave(const double *speed, const double *u, const double *before, double *next, grid g)
{
    place p = find_place<FLAT>(g, 2);
    if (!p.is_inner) return;
    size_t row = g.nx, plane = (size_t)g.nx * g.ny;
    double near = laplacian(u, p.at, g) + 6.0 * u[p.at];
    double far = u[p.at - 2] + u[p.at + 2] + u[p.at - 2 * row] + u[p.at + 2 * row] + u[p.at - 2 * plane] +
                 u[p.at + 2 * plane];
    double second = (16.0 * near - far - 90.0 * u[p.at]) / 12.0;
    next[p.at] = 2.0 * u[p.at] - before[p.at] + speed[p.at] * second;
}
template <bool FLAT> __global__ void damp(const double *taper, double *u, double *next, grid g)
{
    place p = find_place<FLAT>(g, 0);
    if (!p.is_cell) return;
    u[p.at] *= taper[p.at];
    next[p.at] *= taper[p.at];
}

/* --- jacobi */
template <bool FLAT> __global__ void relax(const float *u, float *v, grid g)
{
    place p = find_place<FLAT>(g, 1);
    if (!p.is_inner) return;
    v[p.at] = 0.25f * (u[p.at - 1] + u[p.at + 1] + u[p.at - g.nx] + u[p.at + g.nx]);
}

/* --- advect */
template <bool FLAT> __global__ void press(const double *q, const double *energy, double *pressure, grid g)
{
    place p = find_place<FLAT>(g, 0);
    if (p.is_cell) pressure[p.at] = 0.4 * q[p.at] * energy[p.at];
}
template <bool FLAT> __global__ void flow(const double *energy, const double *pressure, double *flux, grid g)
{
    place p = find_place<FLAT>(g, 2);
    if (!p.is_inner) return;
    double speed = energy[p.at] - 0.97;
    int up, donor, down;
    if (speed > 0.0) {
        up = p.x - 2;
        donor = p.x - 1;
        down = p.x;
    } else {
        up = min(p.x + 1, g.nx - 1);
        donor = p.x;
        down = p.x - 1;
    }
    const double *row = pressure + (p.at - p.x);
    double behind = row[donor] - row[up], ahead = row[down] - row[donor], slope = 0.0;
    if (behind * ahead > 0.0) slope = copysign(fmin(fabs(behind), fabs(ahead)), ahead);
    flux[p.at] = speed * (row[donor] + 0.5 * (1.0 - fabs(speed)) * slope);
}
template <bool FLAT> __global__ void take(const double *flux, double *q, grid g)
{
    place p = find_place<FLAT>(g, 3);
    if (p.is_inner) q[p.at] += 0.5 * (flux[p.at] - flux[p.at + 1]);
}

/* --- ring */
__global__ void close_rows(double *q, grid g)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= g.ny) return;
    double *row = q + (size_t)y * g.nx;
    for (int k = 0; k < 3; k++) row[k] = row[g.nx - 6 + k], row[g.nx - 3 + k] = row[3 + k];
}

/* --- pair by hand: a block marches along a column of tiles */
enum { TILE_X = 64, TILE_Y = 8, RING = 4 };
__global__ void __launch_bounds__(256) pair_by_hand(const double *u, double *v, double k, grid g, int chunk)
{
    __shared__ double ring[RING][TILE_Y + 2][TILE_X + 2];
    int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y, z0 = blockIdx.z * chunk;
    for (int turn = -1; turn <= chunk; turn++) {
        int z = z0 + turn;
        for (int i = threadIdx.x; i < (TILE_Y + 2) * (TILE_X + 2); i += blockDim.x) {
            int ly = i / (TILE_X + 2), lx = i % (TILE_X + 2), x = x0 + lx - 1, y = y0 + ly - 1;
            if (x < 0 || y < 0 || z < 0 || x >= g.nx || y >= g.ny || z >= g.nz) continue;
            size_t at = ((size_t)z * g.ny + y) * g.nx + x;
            bool inner = x > 0 && y > 0 && z > 0 && x < g.nx - 1 && y < g.ny - 1 && z < g.nz - 1;
            ring[(turn + 1) % RING][ly][lx] = inner ? u[at] + k * laplacian(u, at, g) : u[at];
        }
        __syncthreads();
        z = z0 + turn - 1;
        if (turn < 1 || z >= g.nz) continue;
        const double(*below)[TILE_X + 2] = ring[(turn + 3) % RING], (*here)[TILE_X + 2] = ring[turn % RING],
                                      (*above)[TILE_X + 2] = ring[(turn + 1) % RING];
        for (int i = threadIdx.x; i < TILE_Y * TILE_X; i += blockDim.x) {
            int ly = i / TILE_X + 1, lx = i % TILE_X + 1, x = x0 + lx - 1, y = y0 + ly - 1;
            if (x >= g.nx || y >= g.ny) continue;
            size_t at = ((size_t)z * g.ny + y) * g.nx + x;
            double value = here[ly][lx];
            if (x > 0 && y > 0 && z > 0 && x < g.nx - 1 && y < g.ny - 1 && z < g.nz - 1)
                value += k * (here[ly][lx - 1] + here[ly][lx + 1] + here[ly - 1][lx] + here[ly + 1][lx] +
                              below[ly][lx] + above[ly][lx] - 6.0 * value);
            v[at] = value;
        }
    }
}

/* --- the program */
struct stencil {
    void *of[4];
    grid g;
    const char *form;
    bool is_flat, is_by_hand;
    long threads, chunk;
};

static dim3 blocks(const struct stencil *s, dim3 block)
{
    grid g = s->g;
    if (s->is_flat) return dim3(((size_t)g.nx * g.ny * g.nz + block.x - 1) / block.x);
    return dim3((g.nx + block.x - 1) / block.x, (g.ny + block.y - 1) / block.y,
                (g.nz + block.z - 1) / block.z);
}
#define CELLS(kernel, ...)                                                                                   \
    (s->is_flat ? kernel<true><<<blocks(s, dim3(256)), dim3(256)>>>(__VA_ARGS__)                             \
                : kernel<false><<<blocks(s, dim3(32, 8)), dim3(32, 8)>>>(__VA_ARGS__))

static void boundaries(const struct stencil *s, double *u)
{
    dim3 block(32, 8), g((unsigned)s->g.nx, (unsigned)s->g.ny, (unsigned)s->g.nz);
    boundary_x<<<dim3((g.y + 31) / 32, (g.z + 7) / 8), block>>>(u, s->g);
    boundary_y<<<dim3((g.x + 31) / 32, (g.z + 7) / 8), block>>>(u, s->g);
    boundary_z<<<dim3((g.x + 31) / 32, (g.y + 7) / 8), block>>>(u, s->g);
}

static void step(void *context, long i)
{
    struct stencil *s = (struct stencil *)context;
    double *u = (double *)s->of[i % 2], *v = (double *)s->of[1 - i % 2], *t = (double *)s->of[2];
    switch (s->form[0]) {
    case 'p':
        if (s->form[1] == 'h') {
            CELLS(potential, u, t, 0.02, s->g);
            boundaries(s, t);
            CELLS(advance, u, t, v, 0.01, s->g);
            boundaries(s, v);
        } else if (s->is_by_hand) {
            dim3 grid((s->g.nx + TILE_X - 1) / TILE_X, (s->g.ny + TILE_Y - 1) / TILE_Y,
                      (s->g.nz + s->chunk - 1) / s->chunk);
            pair_by_hand<<<grid, 256>>>(u, v, 0.05, s->g, (int)s->chunk);
        } else {
            CELLS(diffuse, u, t, 0.05, s->g);
            CELLS(diffuse, t, v, 0.05, s->g);
        }
        break;
    case 'w':
        u = (double *)s->of[i % 3], v = (double *)s->of[(i + 1) % 3], t = (double *)s->of[(i + 2) % 3];
        CELLS(wave, (double *)s->of[3], u, t, v, s->g);
        CELLS(damp, (double *)s->of[3], u, v, s->g);
        break;
    case 'a':
    case 'r':
        u = (double *)s->of[0], v = (double *)s->of[1];
        CELLS(press, u, (double *)s->of[3], t, s->g);
        CELLS(flow, (double *)s->of[3], t, v, s->g);
        CELLS(take, v, u, s->g);
        if (s->form[0] == 'r') close_rows<<<(s->g.ny + 127) / 128, 128>>>(u, s->g);
        break;
    case 'h':
        CELLS(diffuse, u, v, 0.05, s->g);
        break;
    case 'j':
        CELLS(relax, (float *)u, (float *)v, s->g);
        break;
    }
}

static void fill(void *array, size_t count, bool is_float, unsigned seed, double least)
{
    double *values = (double *)malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        double value = least + (seed >> 8) * (1.0 / 16777216.0) * (0.99 - least);
        if (is_float)
            ((float *)values)[i] = (float)value;
        else
            values[i] = value;
    }
    CHECK(cudaMemcpy(array, values, count * (is_float ? 4 : 8), cudaMemcpyHostToDevice));
    free(values);
}

int main(int argc, char **argv)
{
    struct stencil s = {};
    struct bench bench = {};
    long size = 64, chunk = 32;
    int flat = 0, by_hand = 0;
    s.form = "pair";
    bench.steps = 20, bench.repeat = 1;
    const struct option options[] = {
        {"size", &size, NULL, NULL, "cells along each axis"},
        {"form", NULL, &s.form, NULL, "pair, phase, wave, heat, jacobi, advect or ring"},
        {"flat", NULL, NULL, &flat, "a line of threads"},
        {"by-hand", NULL, NULL, &by_hand, "pair as one kernel"},
        {"chunk", &chunk, NULL, NULL, "planes that a block of it marches through"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Stencils in two and three dimensions.", options);
    bool is_float = s.form[0] == 'j';
    bool is_plane = is_float || s.form[0] == 'a' || s.form[0] == 'r';
    s.g = {(int)size, (int)size, is_plane ? 1 : (int)size};
    s.is_flat = flat, s.is_by_hand = by_hand, s.chunk = chunk;
    size_t count = (size_t)s.g.nx * s.g.ny * s.g.nz, bytes = count * (is_float ? 4 : 8);
    struct result results[4];
    const char *names[] = {"u", "v", "t", "c"};
    for (int i = 0; i < 4; i++) {
        CHECK(cudaMalloc(&s.of[i], bytes));
        fill(s.of[i], count, is_float, 7u + i, i == 3 ? 0.95 : 0.0);
        results[i] = {names[i], s.of[i], bytes};
    }
    if (s.form[0] == 'p' && s.form[1] == 'a')
        results[2] = results[3]; /* t is none: by hand it is not stored */
    bench_loop(&bench, step, &s);
    bench_results(&bench, results, 4);
}
