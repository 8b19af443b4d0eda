/* SPDX-License-Identifier: Apache-2.0 */
// Heston Monte Carlo: a kernel per time step
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>
__device__ unsigned hash(unsigned a, unsigned b) { a ^= b * 0x9e3779b9u; a ^= a >> 16; a *= 0x7feb352du; a ^= a >> 15; a *= 0x846ca68bu; a ^= a >> 16; return a; }
__global__ void init_paths(float *s, float *v, float *avg, float *mx, float s0, float v0, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { s[i] = s0; v[i] = v0; avg[i] = 0; mx[i] = s0; }
}
__global__ void normals(float *z1, float *z2, int step, unsigned seed, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned a = hash(i, seed + 2 * step), b = hash(i, seed + 2 * step + 1);
        float u1 = ((a >> 8) + 1) * (1.0f / 16777217.0f), u2 = (b >> 8) * (1.0f / 16777216.0f);
        float r = sqrtf(-2.0f * logf(u1));
        z1[i] = r * cosf(6.2831853f * u2); z2[i] = r * sinf(6.2831853f * u2);
    }
}
__global__ void correlate(const float *z1, float *z2, float rho, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        z2[i] = rho * z1[i] + sqrtf(1 - rho * rho) * z2[i];
}
__global__ void step_variance(float *v, const float *z2, float kappa, float theta, float xi, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float vp = fmaxf(v[i], 0.0f); v[i] = v[i] + kappa * (theta - vp) * dt + xi * sqrtf(vp * dt) * z2[i]; }
}
__global__ void step_price(float *s, const float *v, const float *z1, float r, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float vp = fmaxf(v[i], 0.0f); s[i] *= expf((r - 0.5f * vp) * dt + sqrtf(vp * dt) * z1[i]); }
}
__global__ void observe(const float *s, float *avg, float *mx, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { avg[i] += (s[i] - avg[i]) / (step + 1); mx[i] = fmaxf(mx[i], s[i]); }
}
__global__ void payoff(const float *s, const float *avg, const float *mx, float k, float *pay, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pay[i] = fmaxf(avg[i] - k, 0.0f) + 0.1f * fmaxf(mx[i] - s[i], 0.0f);
}
__global__ void reduce(const float *x, double *out, int n)
{
    extern __shared__ double sh[];
    double a = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) a += x[i];
    sh[threadIdx.x] = a; __syncthreads();
    for (int o = blockDim.x / 2; o; o >>= 1) { if (threadIdx.x < o) sh[threadIdx.x] += sh[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0) out[blockIdx.x] = sh[0];
}
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 24, n = argc > 2 ? atoi(argv[2]) : 40000;
    float *s, *v, *avg, *mx, *z1, *z2, *pay; double *part, hp[32], total = 0;
    cudaMalloc(&s, n * 4); cudaMalloc(&v, n * 4); cudaMalloc(&avg, n * 4); cudaMalloc(&mx, n * 4); cudaMalloc(&z1, n * 4); cudaMalloc(&z2, n * 4); cudaMalloc(&pay, n * 4); cudaMalloc(&part, 32 * 8);
    int b = 256, g = (n + b - 1) / b; float dt = 1.0f / steps;
    init_paths<<<g, b>>>(s, v, avg, mx, 100, 0.04f, n);
    for (int t = 0; t < steps; t++) {
        normals<<<64, b>>>(z1, z2, t, 777, n);
        correlate<<<64, b>>>(z1, z2, -0.7f, n);
        step_variance<<<g, b>>>(v, z2, 1.5f, 0.04f, 0.3f, dt, n);
        step_price<<<g, b>>>(s, v, z1, 0.03f, dt, n);
        observe<<<g, b>>>(s, avg, mx, t, n);
    }
    payoff<<<g, b>>>(s, avg, mx, 100, pay, n);
    reduce<<<32, b, b * sizeof(double)>>>(pay, part, n);
    cudaMemcpy(hp, part, sizeof hp, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) total += hp[i];
    printf("price %.17g\n", exp(-0.03) * total / n);
}
