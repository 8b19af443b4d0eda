/* SPDX-License-Identifier: Apache-2.0
 * Shallow-water equations on a staggered periodic grid (R. Sadourny, J. Atmos. Sci. 32, 1975; the computation
 * of SPEC's swim): leapfrog in time with a time filter. u, v and p live on n x n points, i running fastest.
 * In one form neighbours beyond an edge are found by their index, in the other the arrays have a border,
 * which small kernels copy from the opposite edge. */
#include "bench.h"

#include <math.h>

struct grid {
    int n;
    double dx, dy;
};

/* A point and its neighbours: the element of column west in row south is south + west. */
struct around {
    int row, south, north, column, west, east;
};

template <bool BORDER> static __host__ __device__ __forceinline__ int pitch_of(struct grid g)
{
    return BORDER ? g.n + 2 : g.n;
}

template <bool BORDER> static __device__ __forceinline__ struct around around(struct grid g, int i, int j)
{
    int pitch = pitch_of<BORDER>(g);
    if (BORDER) {
        int row = (j + 1) * pitch;
        return {row, row - pitch, row + pitch, i + 1, i, i + 2};
    }
    int south = j == 0 ? g.n - 1 : j - 1, north = j == g.n - 1 ? 0 : j + 1;
    return {j * pitch, south * pitch, north * pitch, i, i == 0 ? g.n - 1 : i - 1, i == g.n - 1 ? 0 : i + 1};
}

/* Mass fluxes cu, cv, potential vorticity z, height h. */
template <bool BORDER>
__global__ void fluxes(struct grid g, const double *u, const double *v, const double *p, double *cu,
                       double *cv, double *z, double *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    struct around at = around<BORDER>(g, i, j);
    int here = at.row + at.column, west = at.row + at.west, east = at.row + at.east;
    int south = at.south + at.column, north = at.north + at.column;

    cu[here] = 0.5 * (p[here] + p[west]) * u[here];
    cv[here] = 0.5 * (p[here] + p[south]) * v[here];
    z[here] = (4.0 / g.dx * (v[here] - v[west]) - 4.0 / g.dy * (u[here] - u[south])) /
              (p[at.south + at.west] + p[south] + p[here] + p[west]);
    h[here] =
        p[here] + 0.25 * (u[east] * u[east] + u[here] * u[here] + v[north] * v[north] + v[here] * v[here]);
}

/* New velocities and pressure at one point, from the fluxes and the old values. */
static __device__ __forceinline__ void advance(struct grid g, double dt, struct around at, const double *uold,
                                               const double *vold, const double *pold, const double *cu,
                                               const double *cv, const double *z, const double *h,
                                               double *unew, double *vnew, double *pnew)
{
    int here = at.row + at.column, west = at.row + at.west, east = at.row + at.east;
    int south = at.south + at.column, north = at.north + at.column;

    *unew = uold[here] +
            dt / 8.0 * (z[north] + z[here]) * (cv[north] + cv[at.north + at.west] + cv[west] + cv[here]) -
            dt / g.dx * (h[here] - h[west]);
    *vnew = vold[here] -
            dt / 8.0 * (z[east] + z[here]) * (cu[east] + cu[here] + cu[south] + cu[at.south + at.east]) -
            dt / g.dy * (h[here] - h[south]);
    *pnew = pold[here] - dt / g.dx * (cu[east] - cu[here]) - dt / g.dy * (cv[north] - cv[here]);
}

template <bool BORDER>
__global__ void update(struct grid g, double dt, const double *uold, const double *vold, const double *pold,
                       const double *cu, const double *cv, const double *z, const double *h, double *unew,
                       double *vnew, double *pnew)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    struct around at = around<BORDER>(g, i, j);
    int here = at.row + at.column;
    advance(g, dt, at, uold, vold, pold, cu, cv, z, h, &unew[here], &vnew[here], &pnew[here]);
}

/* The first step has no older level to smooth with. */
template <bool BORDER>
__global__ void first_levels(struct grid g, double *u, double *v, double *p, const double *unew,
                             const double *vnew, const double *pnew, double *uold, double *vold, double *pold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    struct around at = around<BORDER>(g, i, j);
    int here = at.row + at.column;
    uold[here] = u[here];
    vold[here] = v[here];
    pold[here] = p[here];
    u[here] = unew[here];
    v[here] = vnew[here];
    p[here] = pnew[here];
}

/* Time smoothing; the new values become the current ones. */
template <bool BORDER>
__global__ void smooth(struct grid g, double alpha, double *u, double *v, double *p, const double *unew,
                       const double *vnew, const double *pnew, double *uold, double *vold, double *pold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    struct around at = around<BORDER>(g, i, j);
    int here = at.row + at.column;
    uold[here] = u[here] + alpha * (unew[here] - 2.0 * u[here] + uold[here]);
    vold[here] = v[here] + alpha * (vnew[here] - 2.0 * v[here] + vold[here]);
    pold[here] = p[here] + alpha * (pnew[here] - 2.0 * p[here] + pold[here]);
    u[here] = unew[here];
    v[here] = vnew[here];
    p[here] = pnew[here];
}

/* update and smooth in one kernel, by hand: what fusing can reach at best. */
template <bool BORDER>
__global__ void update_and_smooth(struct grid g, double dt, double alpha, double *u, double *v, double *p,
                                  double *unew, double *vnew, double *pnew, double *uold, double *vold,
                                  double *pold, const double *cu, const double *cv, const double *z,
                                  const double *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    struct around at = around<BORDER>(g, i, j);
    int here = at.row + at.column;
    double un, vn, pn;
    advance(g, dt, at, uold, vold, pold, cu, cv, z, h, &un, &vn, &pn);
    unew[here] = un;
    vnew[here] = vn;
    pnew[here] = pn;
    uold[here] = u[here] + alpha * (un - 2.0 * u[here] + uold[here]);
    vold[here] = v[here] + alpha * (vn - 2.0 * v[here] + vold[here]);
    pold[here] = p[here] + alpha * (pn - 2.0 * p[here] + pold[here]);
    u[here] = un;
    v[here] = vn;
    p[here] = pn;
}

/* --- the border: first and last row, first and last column, the corners */
__global__ void border_rows(int n, double *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, pitch = n + 2;
    if (i > n) return;
    f[i] = f[n * pitch + i];
    f[(n + 1) * pitch + i] = f[pitch + i];
}

__global__ void border_columns(int n, double *f)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1, pitch = n + 2;
    if (j > n) return;
    f[j * pitch] = f[j * pitch + n];
    f[j * pitch + n + 1] = f[j * pitch + 1];
}

__global__ void border_corners(int n, double *f)
{
    int pitch = n + 2;
    f[0] = f[n * pitch + n];
    f[n + 1] = f[n * pitch + 1];
    f[(n + 1) * pitch] = f[pitch + n];
    f[(n + 1) * pitch + n + 1] = f[pitch + 1];
}

static void copy_border(int n, double *f)
{
    border_rows<<<(n + 255) / 256, 256>>>(n, f);
    border_columns<<<(n + 255) / 256, 256>>>(n, f);
    border_corners<<<1, 1>>>(n, f);
}

struct model {
    struct grid g;
    double dt, alpha;
    int by_hand, has_border;
    dim3 blocks, threads;
    double *u, *v, *p, *unew, *vnew, *pnew, *uold, *vold, *pold, *cu, *cv, *z, *h;
};

template <bool BORDER> static void run(const struct model *m, long index)
{
    double dt = index == 0 ? m->dt : 2 * m->dt;
    fluxes<BORDER><<<m->blocks, m->threads>>>(m->g, m->u, m->v, m->p, m->cu, m->cv, m->z, m->h);
    double *const fluxes_of[] = {m->cu, m->cv, m->z, m->h}, *const fields[] = {m->u, m->v, m->p};
    for (int k = 0; BORDER && k < 4; k++) copy_border(m->g.n, fluxes_of[k]);
    if (m->by_hand && index > 0) {
        update_and_smooth<BORDER><<<m->blocks, m->threads>>>(m->g, dt, m->alpha, m->u, m->v, m->p, m->unew,
                                                             m->vnew, m->pnew, m->uold, m->vold, m->pold,
                                                             m->cu, m->cv, m->z, m->h);
    } else {
        update<BORDER><<<m->blocks, m->threads>>>(m->g, dt, m->uold, m->vold, m->pold, m->cu, m->cv, m->z,
                                                  m->h, m->unew, m->vnew, m->pnew);
        if (index == 0)
            first_levels<BORDER><<<m->blocks, m->threads>>>(m->g, m->u, m->v, m->p, m->unew, m->vnew, m->pnew,
                                                            m->uold, m->vold, m->pold);
        else
            smooth<BORDER><<<m->blocks, m->threads>>>(m->g, m->alpha, m->u, m->v, m->p, m->unew, m->vnew,
                                                      m->pnew, m->uold, m->vold, m->pold);
    }
    for (int k = 0; BORDER && k < 3; k++) copy_border(m->g.n, fields[k]);
}

static void step(void *context, long index)
{
    const struct model *m = (const struct model *)context;
    if (m->has_border)
        run<true>(m, index);
    else
        run<false>(m, index);
}

/* A stream function with one wave in each direction, and the pressure that goes with it. */
static void initial_state(struct model *m)
{
    const double amplitude = 1e6, pi = 3.14159265358979323846;
    int n = m->g.n;
    double wave = 2 * pi / n, length = n * m->g.dx;
    double pressure = pi * pi * amplitude * amplitude / (length * length);
    int border = m->has_border != 0, pitch = n + 2 * border;
    size_t bytes = (size_t)pitch * pitch * sizeof(double);
    double *u = (double *)malloc(bytes), *v = (double *)malloc(bytes), *p = (double *)malloc(bytes);
    double *sine = (double *)malloc((n + 1) * sizeof *sine);
    if (!u || !v || !p || !sine) {
        fprintf(stderr, "shallow: out of memory\n");
        exit(1);
    }
    for (int i = 0; i <= n; i++) sine[i] = sin((i + 0.5) * wave);
    for (int row = 0; row < pitch; row++)
        for (int column = 0; column < pitch; column++) {
            int here = row * pitch + column, i = (column - border + n) % n, j = (row - border + n) % n;
            u[here] = -amplitude * sine[i] * (sine[j + 1] - sine[j]) / m->g.dy;
            v[here] = amplitude * (sine[i + 1] - sine[i]) * sine[j] / m->g.dx;
            p[here] = pressure * (cos(2.0 * i * wave) + cos(2.0 * j * wave)) + 50000.0;
        }
    double **levels[3][3] = {
        {&m->u, &m->uold, &m->unew}, {&m->v, &m->vold, &m->vnew}, {&m->p, &m->pold, &m->pnew}};
    const double *host[3] = {u, v, p};
    for (int field = 0; field < 3; field++)
        for (int level = 0; level < 3; level++) {
            CHECK(cudaMalloc((void **)levels[field][level], bytes));
            CHECK(cudaMemcpy(*levels[field][level], host[field], bytes, cudaMemcpyHostToDevice));
        }
    double **work[4] = {&m->cu, &m->cv, &m->z, &m->h};
    for (int k = 0; k < 4; k++) CHECK(cudaMalloc((void **)work[k], bytes));
    free(u);
    free(v);
    free(p);
    free(sine);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 100, 1, NULL, 0, 0};
    struct model m = {};
    long size = 1024;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "points in each direction"},
        {"border", NULL, NULL, &m.has_border, "arrays with a border, copied by small kernels"},
        {"hand", NULL, NULL, &m.by_hand, "smooth in the kernel that updates: the fusion done by hand"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Shallow-water equations on a periodic n x n grid of doubles.", own);

    m.g.n = (int)size;
    m.g.dx = m.g.dy = 1e5;
    m.dt = 20.0;
    m.alpha = 0.001;
    m.threads = dim3(32, 8);
    m.blocks = dim3((unsigned)((size + 31) / 32), (unsigned)((size + 7) / 8));
    initial_state(&m);
    bench_loop(&bench, step, &m);

    int pitch = m.has_border ? pitch_of<true>(m.g) : pitch_of<false>(m.g);
    size_t bytes = (size_t)pitch * pitch * sizeof(double);
    const struct result results[] = {
        {"u", m.u, bytes},       {"v", m.v, bytes},       {"p", m.p, bytes},
        {"uold", m.uold, bytes}, {"vold", m.vold, bytes}, {"pold", m.pold, bytes},
        {"unew", m.unew, bytes}, {"vnew", m.vnew, bytes}, {"pnew", m.pnew, bytes}};
    bench_results(&bench, results, 9);
    return 0;
}
