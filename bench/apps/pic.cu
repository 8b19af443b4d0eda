/* SPDX-License-Identifier: Apache-2.0 */
// electrostatic particle-in-cell, 2-D, periodic
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
struct Particles { float2 *pos, *vel; int n; };

__global__ void clear(int *rho, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) rho[i] = 0; }
__global__ void deposit(Particles P, int *rho, int nx, int ny)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= P.n) return;
    float2 r = P.pos[p];
    int i = (int)r.x, j = (int)r.y;
    float fx = r.x - i, fy = r.y - j;
    int i1 = (i + 1) & (nx - 1), j1 = (j + 1) & (ny - 1);
    atomicAdd(&rho[j * nx + i], (int)(1024 * (1 - fx) * (1 - fy)));
    atomicAdd(&rho[j * nx + i1], (int)(1024 * fx * (1 - fy)));
    atomicAdd(&rho[j1 * nx + i], (int)(1024 * (1 - fx) * fy));
    atomicAdd(&rho[j1 * nx + i1], (int)(1024 * fx * fy));
}
__global__ void charge(const int *rho, float *rhs, float mean, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rhs[i] = rho[i] / 1024.0f - mean;
}
__global__ void jacobi(const float *phi, const float *rhs, float *out, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int l = (i + nx - 1) & (nx - 1), r = (i + 1) & (nx - 1), b = (j + ny - 1) & (ny - 1), t = (j + 1) & (ny - 1);
    out[j * nx + i] = 0.25f * (phi[j * nx + l] + phi[j * nx + r] + phi[b * nx + i] + phi[t * nx + i] + rhs[j * nx + i]);
}
__global__ void efield(const float *phi, float2 *E, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int l = (i + nx - 1) & (nx - 1), r = (i + 1) & (nx - 1), b = (j + ny - 1) & (ny - 1), t = (j + 1) & (ny - 1);
    E[j * nx + i] = make_float2(0.5f * (phi[j * nx + l] - phi[j * nx + r]), 0.5f * (phi[b * nx + i] - phi[t * nx + i]));
}
__global__ void push_velocity(Particles P, const float2 *E, int nx, int ny, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= P.n) return;
    float2 r = P.pos[p], v = P.vel[p];
    int i = (int)r.x, j = (int)r.y;
    float2 e = E[j * nx + i];
    v.x += dt * e.x; v.y += dt * e.y;
    P.vel[p] = v;
}
__global__ void push_position(Particles P, int nx, int ny, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= P.n) return;
    float2 r = P.pos[p], v = P.vel[p];
    r.x += dt * v.x; r.y += dt * v.y;
    if (r.x < 0) r.x += nx; if (r.x >= nx) r.x -= nx;
    if (r.y < 0) r.y += ny; if (r.y >= ny) r.y -= ny;
    P.pos[p] = r;
}
__global__ void energy(Particles P, float *out)
{
    __shared__ float s[256];
    float a = 0;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < P.n; p += gridDim.x * blockDim.x)
        a += P.vel[p].x * P.vel[p].x + P.vel[p].y * P.vel[p].y;
    s[threadIdx.x] = a; __syncthreads();
    for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 8, nx = argc > 2 ? atoi(argv[2]) : 128, ny = nx, n = nx * ny, np = 4 * n;
    Particles P; P.n = np; cudaMalloc(&P.pos, np * 8); cudaMalloc(&P.vel, np * 8);
    int *rho; float *rhs, *phi, *phi2, *en; float2 *E;
    cudaMalloc(&rho, n * 4); cudaMalloc(&rhs, n * 4); cudaMalloc(&phi, n * 4); cudaMalloc(&phi2, n * 4); cudaMalloc(&E, n * 8); cudaMalloc(&en, 64 * 4);
    float2 *h = (float2 *)malloc(np * 8); unsigned s = 12345;
    for (int i = 0; i < np; i++) { s = s * 1664525u + 1013904223u; float x = (s >> 8) / 16777216.0f; s = s * 1664525u + 1013904223u; h[i] = make_float2(x * nx * 0.999f, (s >> 8) / 16777216.0f * ny * 0.999f); }
    cudaMemcpy(P.pos, h, np * 8, cudaMemcpyHostToDevice);
    for (int i = 0; i < np; i++) h[i] = make_float2(i & 1 ? 0.2f : -0.2f, 0.01f * (i % 7));
    cudaMemcpy(P.vel, h, np * 8, cudaMemcpyHostToDevice);
    cudaMemset(phi, 0, n * 4); cudaMemset(phi2, 0, n * 4);
    dim3 b(16, 16), g(nx / 16, ny / 16); int gp = (np + 127) / 128, gn = (n + 127) / 128;
    for (int t = 0; t < steps; t++) {
        clear<<<gn, 128>>>(rho, n);
        deposit<<<gp, 128>>>(P, rho, nx, ny);
        charge<<<gn, 128>>>(rho, rhs, 4.0f, n);
        for (int k = 0; k < 10; k++) { jacobi<<<g, b>>>(phi, rhs, phi2, nx, ny); float *x = phi; phi = phi2; phi2 = x; }
        efield<<<g, b>>>(phi, E, nx, ny);
        push_velocity<<<gp, 128>>>(P, E, nx, ny, 0.1f);
        push_position<<<gp, 128>>>(P, nx, ny, 0.1f);
        energy<<<64, 256>>>(P, en);
    }
    float he[64]; double c = 0, k = 0; cudaMemcpy(he, en, sizeof he, cudaMemcpyDeviceToHost); for (float x : he) k += x;
    cudaMemcpy(h, P.pos, np * 8, cudaMemcpyDeviceToHost); for (int i = 0; i < np; i++) c += h[i].x + 2 * h[i].y;
    printf("kinetic %.17g checksum %.17g\n", k, c);
}
