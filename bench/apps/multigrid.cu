/* SPDX-License-Identifier: Apache-2.0 */
/* 2-D Poisson multigrid V-cycles, weighted Jacobi */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>
#define MAXL 10
typedef struct { int n; double h; double *u, *f, *r, *t; } level_t;
#define A(i, j) ((j) * (n + 1) + (i))
__global__ void smooth(int n, double h2, const double *u, const double *f, double *t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < n && j < n)
        t[A(i, j)] = u[A(i, j)] + 0.8 * 0.25 * (u[A(i - 1, j)] + u[A(i + 1, j)] + u[A(i, j - 1)] + u[A(i, j + 1)] - 4 * u[A(i, j)] + h2 * f[A(i, j)]);
}
__global__ void resid(int n, double rh2, const double *u, const double *f, double *r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < n && j < n)
        r[A(i, j)] = f[A(i, j)] - rh2 * (4 * u[A(i, j)] - u[A(i - 1, j)] - u[A(i + 1, j)] - u[A(i, j - 1)] - u[A(i, j + 1)]);
}
__global__ void restrict_fw(int nc, int n, const double *r, double *fc, double *uc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < nc && j < nc) {
        int x = 2 * i, y = 2 * j;
        double s = 4 * r[A(x, y)] + 2 * (r[A(x - 1, y)] + r[A(x + 1, y)] + r[A(x, y - 1)] + r[A(x, y + 1)]) + r[A(x - 1, y - 1)] + r[A(x + 1, y - 1)] + r[A(x - 1, y + 1)] + r[A(x + 1, y + 1)];
        fc[j * (nc + 1) + i] = s / 16;
        uc[j * (nc + 1) + i] = 0;
    }
}
__global__ void prolong(int n, int nc, const double *uc, double *u)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < n && j < n) {
        int x = i / 2, y = j / 2, x1 = (i + 1) / 2, y1 = (j + 1) / 2, p = nc + 1;
        u[A(i, j)] += 0.25 * (uc[y * p + x] + uc[y * p + x1] + uc[y1 * p + x] + uc[y1 * p + x1]);
    }
}
__global__ void norm_part(int n, const double *r, double *part)
{
    __shared__ double s[256];
    int t = threadIdx.y * 32 + threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    s[t] = i < n && j < n ? r[A(i, j)] * r[A(i, j)] : 0;
    __syncthreads();
    for (int o = 128; o > 0; o /= 2) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    if (t == 0) part[blockIdx.y * gridDim.x + blockIdx.x] = s[0];
}
static level_t L[MAXL]; static int nl;
static dim3 B(32, 8);
static dim3 G(int n) { return dim3((n - 1 + 31) / 32, (n - 1 + 7) / 8); }
static void relax(level_t *l, int sweeps)
{
    for (int s = 0; s < sweeps; s++) {
        smooth<<<G(l->n), B>>>(l->n, l->h * l->h, l->u, l->f, l->t);
        double *x = l->u; l->u = l->t; l->t = x;
    }
}
static void vcycle(int k)
{
    level_t *l = &L[k];
    if (k == nl - 1) { relax(l, 20); return; }
    relax(l, 2);
    resid<<<G(l->n), B>>>(l->n, 1 / (l->h * l->h), l->u, l->f, l->r);
    restrict_fw<<<G(L[k + 1].n), B>>>(L[k + 1].n, l->n, l->r, L[k + 1].f, L[k + 1].u);
    vcycle(k + 1);
    prolong<<<G(l->n), B>>>(l->n, L[k + 1].n, L[k + 1].u, l->u);
    relax(l, 2);
}
int main(int argc, char **argv)
{
    int cycles = argc > 1 ? atoi(argv[1]) : 5, n = argc > 2 ? atoi(argv[2]) : 256;
    for (nl = 0; n >= 8 && nl < MAXL; n /= 2, nl++) {
        size_t b = (size_t)(n + 1) * (n + 1) * 8; level_t *l = &L[nl]; l->n = n; l->h = 1.0 / n;
        cudaMalloc((void **)&l->u, b); cudaMalloc((void **)&l->f, b); cudaMalloc((void **)&l->r, b); cudaMalloc((void **)&l->t, b);
        cudaMemset(l->u, 0, b); cudaMemset(l->f, 0, b); cudaMemset(l->r, 0, b); cudaMemset(l->t, 0, b);
    }
    n = L[0].n; size_t b = (size_t)(n + 1) * (n + 1) * 8; double *h = (double *)malloc(b);
    for (int j = 0; j <= n; j++) for (int i = 0; i <= n; i++) h[A(i, j)] = sin(3.1 * i / n) * j * (n - j) / (double)(n * n) * 50 + (i * j % 7);
    cudaMemcpy(L[0].f, h, b, cudaMemcpyHostToDevice);
    dim3 g = G(n); double *part, *hp; cudaMalloc((void **)&part, g.x * g.y * 8); hp = (double *)malloc(g.x * g.y * 8);
    for (int c = 0; c < cycles; c++) {
        vcycle(0);
        resid<<<g, B>>>(n, 1 / (L[0].h * L[0].h), L[0].u, L[0].f, L[0].r);
        norm_part<<<g, B>>>(n, L[0].r, part);
        cudaMemcpy(hp, part, g.x * g.y * 8, cudaMemcpyDeviceToHost);
        double s = 0; for (unsigned i = 0; i < g.x * g.y; i++) s += hp[i];
        printf("cycle %d residual %.17g\n", c, sqrt(s));
    }
    cudaMemcpy(h, L[0].u, b, cudaMemcpyDeviceToHost); double s = 0; for (size_t i = 0; i < b / 8; i++) s += h[i] * (1 + i % 3);
    printf("checksum %.17g\n", s);
}
