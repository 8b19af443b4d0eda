/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit heat equation, backward Euler, matrix-free conjugate gradients. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

static const int NT = 256;
static const int NB = 64;

__global__ void k_apply(int n, int nx, double lambda, const double *__restrict__ p, double *__restrict__ q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = i % nx, y = i / nx;
    int o = (y + 1) * (nx + 2) + x + 1;
    int w = nx + 2;
    q[o] = (1.0 + 4.0 * lambda) * p[o] - lambda * (p[o - 1] + p[o + 1] + p[o - w] + p[o + w]);
}

__global__ void k_dot1(int n, int nx, const double *a, const double *b, double *partial)
{
    __shared__ double cache[NT];
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int o = (i / nx + 1) * (nx + 2) + i % nx + 1;
        s += a[o] * b[o];
    }
    cache[threadIdx.x] = s;
    __syncthreads();
    for (unsigned k = NT / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) cache[threadIdx.x] += cache[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
}

__global__ void k_dot2(int m, const double *partial, double *result)
{
    __shared__ double cache[NB];
    cache[threadIdx.x] = threadIdx.x < m ? partial[threadIdx.x] : 0;
    __syncthreads();
    for (unsigned k = NB / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) cache[threadIdx.x] += cache[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = cache[0];
}

__global__ void k_alpha(const double *rr, const double *pq, double *alpha) { *alpha = *rr / *pq; }
__global__ void k_beta(const double *rrnew, double *rr, double *beta) { *beta = *rrnew / *rr; *rr = *rrnew; }

__global__ void k_axpy(int n, int nx, const double *alpha, double sign, const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int o = (i / nx + 1) * (nx + 2) + i % nx + 1;
    y[o] += sign * *alpha * x[o];
}

__global__ void k_xpay(int n, int nx, const double *beta, const double *r, double *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int o = (i / nx + 1) * (nx + 2) + i % nx + 1;
    p[o] = r[o] + *beta * p[o];
}

__global__ void k_rhs(int n, int nx, double t, double dt, const double *told, double *b, double *tnew)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = i % nx, y = i / nx;
    int o = (y + 1) * (nx + 2) + x + 1;
    double src = (x == nx / 2 && y == nx / 3) ? 100.0 * sin(t) : 0.0;
    b[o] = told[o] + dt * src;
    tnew[o] = told[o];
}

__global__ void k_residual(int n, int nx, const double *b, const double *q, double *r, double *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int o = (i / nx + 1) * (nx + 2) + i % nx + 1;
    double v = b[o] - q[o];
    r[o] = v;
    p[o] = v;
}

static void dot(int n, int nx, const double *a, const double *b, double *partial, double *out)
{
    k_dot1<<<NB, NT>>>(n, nx, a, b, partial);
    k_dot2<<<1, NB>>>(NB, partial, out);
}

int main(int argc, char **argv)
{
    int nx = argc > 2 ? atoi(argv[2]) : 256, ny = nx, n = nx * ny, steps = argc > 1 ? atoi(argv[1]) : 3, iters = 12;
    size_t bytes = (size_t)(nx + 2) * (ny + 2) * sizeof(double);
    double *t[2], *b, *r, *p, *q, *scal, *partial;
    cudaMalloc((void **)&t[0], bytes); cudaMalloc((void **)&t[1], bytes);
    cudaMalloc((void **)&b, bytes); cudaMalloc((void **)&r, bytes); cudaMalloc((void **)&p, bytes); cudaMalloc((void **)&q, bytes);
    cudaMalloc((void **)&scal, 8 * sizeof(double)); cudaMalloc((void **)&partial, NB * sizeof(double));
    double *hi = (double *)calloc(bytes, 1);
    for (int y = 1; y <= ny; y++) for (int x = 1; x <= nx; x++) hi[y * (nx + 2) + x] = 20.0 + 5.0 * sin(0.05 * x) * cos(0.03 * y);
    cudaMemcpy(t[0], hi, bytes, cudaMemcpyHostToDevice); cudaMemset(t[1], 0, bytes); cudaMemset(b, 0, bytes);
    cudaMemset(r, 0, bytes); cudaMemset(p, 0, bytes); cudaMemset(q, 0, bytes);
    int g = (n + NT - 1) / NT, cur = 0;
    double lambda = 0.8, dt = 0.1;
    double *rr = scal, *pq = scal + 1, *alpha = scal + 2, *beta = scal + 3, *rrnew = scal + 4;
    for (int s = 0; s < steps; s++) {
        double *old = t[cur], *nw = t[1 - cur];
        k_rhs<<<g, NT>>>(n, nx, s * dt, dt, old, b, nw);
        k_apply<<<g, NT>>>(n, nx, lambda, nw, q);
        k_residual<<<g, NT>>>(n, nx, b, q, r, p);
        dot(n, nx, r, r, partial, rr);
        for (int k = 0; k < iters; k++) {
            k_apply<<<g, NT>>>(n, nx, lambda, p, q);
            dot(n, nx, p, q, partial, pq);
            k_alpha<<<1, 1>>>(rr, pq, alpha);
            k_axpy<<<g, NT>>>(n, nx, alpha, 1.0, p, nw);
            k_axpy<<<g, NT>>>(n, nx, alpha, -1.0, q, r);
            dot(n, nx, r, r, partial, rrnew);
            k_beta<<<1, 1>>>(rrnew, rr, beta);
            k_xpay<<<g, NT>>>(n, nx, beta, r, p);
        }
        double res;
        cudaMemcpy(&res, rr, sizeof res, cudaMemcpyDeviceToHost);
        printf("step %d residual %.17g\n", s, sqrt(res));
        cur = 1 - cur;
    }
    double *h = (double *)malloc(bytes), sum = 0;
    cudaMemcpy(h, t[cur], bytes, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < bytes / 8; i++) sum += h[i] * (1 + i % 7);
    printf("checksum %.17g %s\n", sum, cudaGetErrorString(cudaGetLastError()));
}
