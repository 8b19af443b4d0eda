/* SPDX-License-Identifier: Apache-2.0 */
// 3-D acoustic wave, 4th order in space, sponge layer, one source, a line of receivers
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

struct Grid { int nx, ny, nz; float dx, dt; };

__global__ void step_kernel(Grid g, const float *__restrict__ vel, const float *__restrict__ u, float *__restrict__ unew, const float *__restrict__ uold)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= g.nx - 2 || y >= g.ny - 2)
        return;
    const int sy = g.nx, sz = g.nx * g.ny;
    for (int z = 2; z < g.nz - 2; z++) {
        int c = z * sz + y * sy + x;
        float lap = 3.0f * -2.5f * u[c];
        lap += 4.0f / 3.0f * (u[c - 1] + u[c + 1] + u[c - sy] + u[c + sy] + u[c - sz] + u[c + sz]);
        lap -= 1.0f / 12.0f * (u[c - 2] + u[c + 2] + u[c - 2 * sy] + u[c + 2 * sy] + u[c - 2 * sz] + u[c + 2 * sz]);
        float k = vel[c] * g.dt / g.dx;
        unew[c] = 2.0f * u[c] - uold[c] + k * k * lap;
    }
}

__global__ void damp_kernel(Grid g, int width, const float *__restrict__ coef, float *unew, float *u)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= g.nx || y >= g.ny) return;
    int d = min(min(min(x, g.nx - 1 - x), min(y, g.ny - 1 - y)), min(z, g.nz - 1 - z));
    if (d < width) {
        size_t c = ((size_t)z * g.ny + y) * g.nx + x;
        float a = coef[d];
        unew[c] *= a;
        u[c] *= a;
    }
}

__global__ void inject(Grid g, float *u, int sx, int sy, int sz, const float *wavelet, int it)
{
    size_t c = ((size_t)sz * g.ny + sy) * g.nx + sx;
    u[c] += wavelet[it] * g.dt * g.dt;
}

__global__ void sample(Grid g, const float *u, const int *rx, int ry, int rz, float *trace, int it, int nrec, int nt)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < nrec)
        trace[(size_t)r * nt + it] = u[((size_t)rz * g.ny + ry) * g.nx + rx[r]];
}

int main(int argc, char **argv)
{
    int nt = argc > 1 ? atoi(argv[1]) : 16, n = argc > 2 ? atoi(argv[2]) : 56;
    Grid g = {n, n, n, 10.0f, 0.001f};
    size_t cells = (size_t)n * n * n;
    float *vel, *u0, *u1, *u2, *coef, *wav, *trace; int *rx;
    cudaMalloc(&vel, cells * 4); cudaMalloc(&u0, cells * 4); cudaMalloc(&u1, cells * 4); cudaMalloc(&u2, cells * 4);
    float *h = new float[cells];
    for (size_t i = 0; i < cells; i++) h[i] = 1500.0f + 1000.0f * (i / ((size_t)n * n)) / n;
    cudaMemcpy(vel, h, cells * 4, cudaMemcpyHostToDevice);
    cudaMemset(u0, 0, cells * 4); cudaMemset(u1, 0, cells * 4); cudaMemset(u2, 0, cells * 4);
    const int width = 8; float hc[width];
    for (int i = 0; i < width; i++) hc[i] = expf(-powf(0.03f * (width - i), 2));
    cudaMalloc(&coef, sizeof hc); cudaMemcpy(coef, hc, sizeof hc, cudaMemcpyHostToDevice);
    float *hw = new float[nt];
    for (int i = 0; i < nt; i++) { float a = 3.14159f * 25 * (i * g.dt - 0.008f); hw[i] = 1e6f * (1 - 2 * a * a) * expf(-a * a); }
    cudaMalloc(&wav, nt * 4); cudaMemcpy(wav, hw, nt * 4, cudaMemcpyHostToDevice);
    int nrec = n - 8; int *hr = new int[nrec];
    for (int i = 0; i < nrec; i++) hr[i] = i + 4;
    cudaMalloc(&rx, nrec * 4); cudaMemcpy(rx, hr, nrec * 4, cudaMemcpyHostToDevice);
    cudaMalloc(&trace, (size_t)nrec * nt * 4);
    float *uold = u0, *u = u1, *unew = u2;
    dim3 b(32, 4), gr((n + 31) / 32, (n + 3) / 4), gr3(gr.x, gr.y, n);
    for (int it = 0; it < nt; it++) {
        inject<<<1, 1>>>(g, u, n / 2, n / 2, n / 3, wav, it);
        step_kernel<<<gr, b>>>(g, vel, u, unew, uold);
        damp_kernel<<<gr3, b>>>(g, width, coef, unew, u);
        sample<<<(nrec + 63) / 64, 64>>>(g, unew, rx, n / 2, 4, trace, it, nrec, nt);
        float *t = uold; uold = u; u = unew; unew = t;
    }
    float *ht = new float[(size_t)nrec * nt];
    cudaMemcpy(ht, trace, (size_t)nrec * nt * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(h, u, cells * 4, cudaMemcpyDeviceToHost);
    double a = 0, c = 0;
    for (int i = 0; i < nrec * nt; i++) a += fabs(ht[i]);
    for (size_t i = 0; i < cells; i++) c += h[i] * (1 + i % 3);
    printf("traces %.17g field %.17g\n", a, c);
}
