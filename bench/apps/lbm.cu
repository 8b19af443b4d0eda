/* SPDX-License-Identifier: Apache-2.0 */
// D2Q9 lattice Boltzmann, lid-driven cavity / obstacle
#include <stdio.h>
#include <stdlib.h>
#include <utility>
#include <cuda_runtime.h>
#define Q 9
__constant__ float w[Q];
__constant__ int ex[Q], ey[Q], opp[Q];

__global__ void collide(float *f, const unsigned char *solid, float *rho_out, float *ux_out, float *uy_out, int nx, int ny, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int n = nx * ny, id = y * nx + x;
    if (solid[id]) return;
    float fl[Q], rho = 0, ux = 0, uy = 0;
    for (int k = 0; k < Q; k++) {
        fl[k] = f[k * n + id];
        rho += fl[k];
        ux += fl[k] * ex[k];
        uy += fl[k] * ey[k];
    }
    ux /= rho; uy /= rho;
    float u2 = ux * ux + uy * uy;
    for (int k = 0; k < Q; k++) {
        float eu = ex[k] * ux + ey[k] * uy;
        float feq = w[k] * rho * (1.0f + 3.0f * eu + 4.5f * eu * eu - 1.5f * u2);
        f[k * n + id] = fl[k] + omega * (feq - fl[k]);
    }
    rho_out[id] = rho; ux_out[id] = ux; uy_out[id] = uy;
}

__global__ void stream(const float *f, float *g, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int n = nx * ny;
    for (int k = 0; k < Q; k++) {
        int xs = (x - ex[k] + nx) % nx, ys = (y - ey[k] + ny) % ny;
        g[k * n + y * nx + x] = f[k * n + ys * nx + xs];
    }
}

__global__ void bounce(float *g, const unsigned char *solid, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int n = nx * ny, id = y * nx + x;
    if (!solid[id]) return;
    float t[Q];
    for (int k = 0; k < Q; k++) t[k] = g[k * n + id];
    for (int k = 0; k < Q; k++) g[opp[k] * n + id] = t[k];
}

__global__ void inlet(float *g, int nx, int ny, float u0)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < 1 || y >= ny - 1) return;
    int n = nx * ny, id = y * nx;
    float rho = (g[id] + g[2 * n + id] + g[4 * n + id] + 2.0f * (g[3 * n + id] + g[6 * n + id] + g[7 * n + id])) / (1.0f - u0);
    g[1 * n + id] = g[3 * n + id] + 2.0f / 3.0f * rho * u0;
    g[5 * n + id] = g[7 * n + id] + 1.0f / 6.0f * rho * u0;
    g[8 * n + id] = g[6 * n + id] + 1.0f / 6.0f * rho * u0;
}
__global__ void outlet(float *g, int nx, int ny)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= ny) return;
    int n = nx * ny, id = y * nx + nx - 1;
    for (int k = 0; k < Q; k++) g[k * n + id] = g[k * n + id - 1];
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 20, nx = argc > 2 ? atoi(argv[2]) : 256, ny = nx / 2, n = nx * ny;
    float hw[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    int hex[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, hey[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1}, hopp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    cudaMemcpyToSymbol(w, hw, sizeof hw); cudaMemcpyToSymbol(ex, hex, sizeof hex);
    cudaMemcpyToSymbol(ey, hey, sizeof hey); cudaMemcpyToSymbol(opp, hopp, sizeof hopp);
    float *f, *g, *rho, *ux, *uy; unsigned char *solid;
    cudaMalloc(&f, Q * n * 4); cudaMalloc(&g, Q * n * 4); cudaMalloc(&rho, n * 4); cudaMalloc(&ux, n * 4); cudaMalloc(&uy, n * 4); cudaMalloc(&solid, n);
    float *h = (float *)malloc(Q * n * 4); unsigned char *hs = (unsigned char *)calloc(n, 1);
    for (int k = 0; k < Q; k++) for (int i = 0; i < n; i++) h[k * n + i] = hw[k] * (1.0f + 0.01f * (i % 17));
    for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) {
        int a = x - nx / 4, b = y - ny / 2;
        hs[y * nx + x] = y == 0 || y == ny - 1 || a * a + b * b < ny * ny / 100;
    }
    cudaMemcpy(f, h, Q * n * 4, cudaMemcpyHostToDevice); cudaMemcpy(solid, hs, n, cudaMemcpyHostToDevice);
    dim3 b(64, 2), gr((nx + 63) / 64, (ny + 1) / 2);
    for (int s = 0; s < steps; s++) {
        collide<<<gr, b>>>(f, solid, rho, ux, uy, nx, ny, 1.2f);
        stream<<<gr, b>>>(f, g, nx, ny);
        bounce<<<gr, b>>>(g, solid, nx, ny);
        inlet<<<(ny + 127) / 128, 128>>>(g, nx, ny, 0.05f);
        outlet<<<(ny + 127) / 128, 128>>>(g, nx, ny);
        std::swap(f, g);
    }
    cudaMemcpy(h, f, Q * n * 4, cudaMemcpyDeviceToHost);
    double c = 0; for (int i = 0; i < Q * n; i++) c += h[i] * (1 + i % 5);
    cudaMemcpy(h, ux, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) c += hs[i] ? 0 : h[i];
    printf("checksum %.17g\n", c);
}
