/* SPDX-License-Identifier: Apache-2.0
 * Shallow-water equations on a staggered periodic grid (R. Sadourny, J. Atmos. Sci. 32, 1975; the computation
 * of SPEC's swim): leapfrog in time with a time filter. u, v and p live on n x n points, i running fastest.
 */
#include "bench.h"

#include <math.h>

struct grid {
    int n;
    double dx, dy;
};

/* Mass fluxes cu, cv, potential vorticity z, height h. */
__global__ void fluxes(struct grid g, const double *u, const double *v, const double *p, double *cu,
                       double *cv, double *z, double *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    int west = i == 0 ? g.n - 1 : i - 1, east = i == g.n - 1 ? 0 : i + 1;
    int south = j == 0 ? g.n - 1 : j - 1, north = j == g.n - 1 ? 0 : j + 1;
    int here = j * g.n + i;

    cu[here] = 0.5 * (p[here] + p[j * g.n + west]) * u[here];
    cv[here] = 0.5 * (p[here] + p[south * g.n + i]) * v[here];
    z[here] = (4.0 / g.dx * (v[here] - v[j * g.n + west]) - 4.0 / g.dy * (u[here] - u[south * g.n + i])) /
              (p[south * g.n + west] + p[south * g.n + i] + p[here] + p[j * g.n + west]);
    h[here] = p[here] + 0.25 * (u[j * g.n + east] * u[j * g.n + east] + u[here] * u[here] +
                                v[north * g.n + i] * v[north * g.n + i] + v[here] * v[here]);
}

/* New velocities and pressure at one point, from the fluxes and the old values. */
static __device__ __forceinline__ void advance(struct grid g, double dt, int i, int j, const double *uold,
                                               const double *vold, const double *pold, const double *cu,
                                               const double *cv, const double *z, const double *h,
                                               double *unew, double *vnew, double *pnew)
{
    int west = i == 0 ? g.n - 1 : i - 1, east = i == g.n - 1 ? 0 : i + 1;
    int south = j == 0 ? g.n - 1 : j - 1, north = j == g.n - 1 ? 0 : j + 1;
    int here = j * g.n + i;

    *unew = uold[here] +
            dt / 8.0 * (z[north * g.n + i] + z[here]) *
                (cv[north * g.n + i] + cv[north * g.n + west] + cv[j * g.n + west] + cv[here]) -
            dt / g.dx * (h[here] - h[j * g.n + west]);
    *vnew = vold[here] -
            dt / 8.0 * (z[j * g.n + east] + z[here]) *
                (cu[j * g.n + east] + cu[here] + cu[south * g.n + i] + cu[south * g.n + east]) -
            dt / g.dy * (h[here] - h[south * g.n + i]);
    *pnew = pold[here] - dt / g.dx * (cu[j * g.n + east] - cu[here]) -
            dt / g.dy * (cv[north * g.n + i] - cv[here]);
}

__global__ void update(struct grid g, double dt, const double *uold, const double *vold, const double *pold,
                       const double *cu, const double *cv, const double *z, const double *h, double *unew,
                       double *vnew, double *pnew)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    int here = j * g.n + i;
    advance(g, dt, i, j, uold, vold, pold, cu, cv, z, h, &unew[here], &vnew[here], &pnew[here]);
}

/* The first step has no older level to smooth with. */
__global__ void first_levels(int points_x, int points_y, double *u, double *v, double *p, const double *unew,
                             const double *vnew, const double *pnew, double *uold, double *vold, double *pold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= points_x || j >= points_y) return;
    int here = j * points_x + i;
    uold[here] = u[here];
    vold[here] = v[here];
    pold[here] = p[here];
    u[here] = unew[here];
    v[here] = vnew[here];
    p[here] = pnew[here];
}

/* Time smoothing; the new values become the current ones. */
__global__ void smooth(int points_x, int points_y, double alpha, double *u, double *v, double *p,
                       const double *unew, const double *vnew, const double *pnew, double *uold, double *vold,
                       double *pold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= points_x || j >= points_y) return;
    int here = j * points_x + i;
    uold[here] = u[here] + alpha * (unew[here] - 2.0 * u[here] + uold[here]);
    vold[here] = v[here] + alpha * (vnew[here] - 2.0 * v[here] + vold[here]);
    pold[here] = p[here] + alpha * (pnew[here] - 2.0 * p[here] + pold[here]);
    u[here] = unew[here];
    v[here] = vnew[here];
    p[here] = pnew[here];
}

/* update and smooth in one kernel, by hand: what fusing can reach at best. */
__global__ void update_and_smooth(struct grid g, double dt, double alpha, double *u, double *v, double *p,
                                  double *unew, double *vnew, double *pnew, double *uold, double *vold,
                                  double *pold, const double *cu, const double *cv, const double *z,
                                  const double *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.n || j >= g.n) return;
    int here = j * g.n + i;
    double un, vn, pn;
    advance(g, dt, i, j, uold, vold, pold, cu, cv, z, h, &un, &vn, &pn);
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

struct model {
    struct grid g;
    double dt, alpha;
    int by_hand;
    dim3 blocks, threads;
    double *u, *v, *p, *unew, *vnew, *pnew, *uold, *vold, *pold, *cu, *cv, *z, *h;
};

static void step(void *context, long index)
{
    struct model *m = (struct model *)context;
    double dt = index == 0 ? m->dt : 2 * m->dt;
    fluxes<<<m->blocks, m->threads>>>(m->g, m->u, m->v, m->p, m->cu, m->cv, m->z, m->h);
    if (m->by_hand && index > 0) {
        update_and_smooth<<<m->blocks, m->threads>>>(m->g, dt, m->alpha, m->u, m->v, m->p, m->unew, m->vnew,
                                                     m->pnew, m->uold, m->vold, m->pold, m->cu, m->cv, m->z,
                                                     m->h);
        return;
    }
    update<<<m->blocks, m->threads>>>(m->g, dt, m->uold, m->vold, m->pold, m->cu, m->cv, m->z, m->h, m->unew,
                                      m->vnew, m->pnew);
    if (index == 0)
        first_levels<<<m->blocks, m->threads>>>(m->g.n, m->g.n, m->u, m->v, m->p, m->unew, m->vnew, m->pnew,
                                                m->uold, m->vold, m->pold);
    else
        smooth<<<m->blocks, m->threads>>>(m->g.n, m->g.n, m->alpha, m->u, m->v, m->p, m->unew, m->vnew,
                                          m->pnew, m->uold, m->vold, m->pold);
}

/* A stream function with one wave in each direction, and the pressure that goes with it. */
static void initial_state(struct model *m)
{
    const double amplitude = 1e6, pi = 3.14159265358979323846;
    int n = m->g.n;
    double wave = 2 * pi / n, length = n * m->g.dx;
    double pressure = pi * pi * amplitude * amplitude / (length * length);
    size_t bytes = (size_t)n * n * sizeof(double);
    double *u = (double *)malloc(bytes), *v = (double *)malloc(bytes), *p = (double *)malloc(bytes);
    double *sine = (double *)malloc((n + 1) * sizeof *sine);
    if (!u || !v || !p || !sine) {
        fprintf(stderr, "shallow: out of memory\n");
        exit(1);
    }
    for (int i = 0; i <= n; i++) sine[i] = sin((i + 0.5) * wave);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int here = j * n + i;
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

    size_t bytes = (size_t)size * size * sizeof(double);
    const struct result results[] = {
        {"u", m.u, bytes},       {"v", m.v, bytes},       {"p", m.p, bytes},
        {"uold", m.uold, bytes}, {"vold", m.vold, bytes}, {"pold", m.pold, bytes},
        {"unew", m.unew, bytes}, {"vnew", m.vnew, bytes}, {"pnew", m.pnew, bytes}};
    bench_results(&bench, results, 9);
    return 0;
}
