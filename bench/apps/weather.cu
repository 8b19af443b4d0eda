/* SPDX-License-Identifier: Apache-2.0 */
/* Vertical-slice weather toy: (x,z) arrays, dynamics + column physics, forward-backward */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>
#define NFLD 6
enum { U, W, TH, QV, QC, QR };
typedef struct { float *u, *w, *th, *qv, *qc, *qr; } state_t;
typedef struct { int nx, nz; float dx, dz, dt; } dims_t;
#define I2(i, k) ((k) * d.nx + (i))

__global__ void pressure(dims_t d, const float *th, float *p, const float *pbase)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < d.nx && k < d.nz) p[I2(i, k)] = pbase[k] * powf(th[I2(i, k)] / 300.0f, 1.4f);
}
__global__ void tend_u(dims_t d, state_t s, const float *p, float *du)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    int im = i == 0 ? d.nx - 1 : i - 1;
    du[I2(i, k)] += -(p[I2(i, k)] - p[I2(im, k)]) / d.dx;
}
__global__ void tend_w(dims_t d, state_t s, const float *p, float *dw)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    if (k == 0) { dw[I2(i, k)] = 0; return; }
    float b = 9.81f * (s.th[I2(i, k)] - 300.0f) / 300.0f - 9.81f * s.qc[I2(i, k)];
    dw[I2(i, k)] += b - 0.001f * (p[I2(i, k)] - p[I2(i, k - 1)]) / d.dz;
}
__global__ void diffusion(dims_t d, float kdiff, const float *f, float *df)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    int im = (i - 1 + d.nx) % d.nx, ip = (i + 1) % d.nx, km = max(k - 1, 0), kp = min(k + 1, d.nz - 1);
    df[I2(i, k)] += kdiff * ((f[I2(im, k)] - 2 * f[I2(i, k)] + f[I2(ip, k)]) / (d.dx * d.dx) + (f[I2(i, km)] - 2 * f[I2(i, k)] + f[I2(i, kp)]) / (d.dz * d.dz));
}
__global__ void semilag(dims_t d, const float *u, const float *w, const float *old, float *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    float x = i - u[I2(i, k)] * d.dt / d.dx, z = k - w[I2(i, k)] * d.dt / d.dz;
    z = fminf(fmaxf(z, 0.0f), d.nz - 1.001f);
    int i0 = (int)floorf(x), k0 = (int)z;
    float fx = x - i0, fz = z - k0;
    i0 = (i0 % d.nx + d.nx) % d.nx;
    int i1 = (i0 + 1) % d.nx;
    f[I2(i, k)] = (1 - fz) * ((1 - fx) * old[I2(i0, k0)] + fx * old[I2(i1, k0)]) + fz * ((1 - fx) * old[I2(i0, k0 + 1)] + fx * old[I2(i1, k0 + 1)]);
}
__global__ void update(dims_t d, float *f, const float *df)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < d.nx && k < d.nz) f[I2(i, k)] += d.dt * df[I2(i, k)];
}
__global__ void condensation(dims_t d, state_t s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    int c = I2(i, k);
    float qs = 0.01f * expf(0.06f * (s.th[c] - 300.0f)) * expf(-0.05f * k);
    float ex = s.qv[c] - qs;
    if (ex < 0) ex = fmaxf(ex, -s.qc[c]);
    s.qv[c] -= ex; s.qc[c] += ex; s.th[c] += 2.5e6f / 1004.0f * ex * 0.1f;
}
__global__ void autoconversion(dims_t d, state_t s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz) return;
    int c = I2(i, k);
    float a = fmaxf(s.qc[c] - 5e-4f, 0.0f) * 0.001f * d.dt + 2.2f * s.qc[c] * powf(fmaxf(s.qr[c], 0.0f), 0.875f) * d.dt;
    a = fminf(a, s.qc[c]);
    s.qc[c] -= a; s.qr[c] += a;
}
__global__ void sedimentation(dims_t d, state_t s, float *precip)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= d.nx) return;
    float flux_above = 0;
    for (int k = d.nz - 1; k >= 0; k--) {
        float qr = s.qr[I2(i, k)];
        float flux = 5.0f * qr * d.dt / d.dz;
        s.qr[I2(i, k)] = qr - flux + flux_above;
        flux_above = flux;
    }
    precip[i] += flux_above;
}
__global__ void radiation(dims_t d, state_t s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= d.nx) return;
    float tau = 0;
    for (int k = d.nz - 1; k >= 0; k--) {
        tau += 10.0f * (s.qv[I2(i, k)] + 20.0f * s.qc[I2(i, k)]) * 0.01f;
        s.th[I2(i, k)] -= d.dt * 2e-4f * expf(-tau);
    }
}
__global__ void surface(dims_t d, state_t s, const float *tsfc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= d.nx) return;
    s.th[i] += 0.01f * d.dt * (tsfc[i] - s.th[i]);
    s.qv[i] += 0.001f * d.dt * (0.012f - s.qv[i]);
    s.u[i] *= 1.0f - 0.01f * d.dt;
}
__global__ void rayleigh(dims_t d, state_t s, int ktop)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.nx || k >= d.nz || k < ktop) return;
    float r = 0.05f * (k - ktop) / (d.nz - ktop);
    s.w[I2(i, k)] *= 1 - r; s.th[I2(i, k)] -= r * (s.th[I2(i, k)] - 300.0f);
}
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 8;
    dims_t d; d.nx = argc > 2 ? atoi(argv[2]) : 384; d.nz = 64; d.dx = 500; d.dz = 200; d.dt = 2;
    int n = d.nx * d.nz; size_t bytes = n * sizeof(float);
    float *f[NFLD], *old[NFLD], *df[NFLD], *p, *pb, *precip, *ts;
    for (int v = 0; v < NFLD; v++) { cudaMalloc((void **)&f[v], bytes); cudaMalloc((void **)&old[v], bytes); cudaMalloc((void **)&df[v], bytes); }
    cudaMalloc((void **)&p, bytes); cudaMalloc((void **)&pb, d.nz * 4); cudaMalloc((void **)&precip, d.nx * 4); cudaMalloc((void **)&ts, d.nx * 4);
    float *h = (float *)malloc(bytes);
    for (int v = 0; v < NFLD; v++) {
        for (int k = 0; k < d.nz; k++) for (int i = 0; i < d.nx; i++) {
            float x = (i - d.nx / 2) / 20.0f, z = (k - 15) / 6.0f, bub = expf(-x * x - z * z);
            h[I2(i, k)] = v == U ? 5.0f + 0.1f * k : v == TH ? 300 + 2 * bub : v == QV ? 0.012f * expf(-0.05f * k) : 0;
        }
        cudaMemcpy(f[v], h, bytes, cudaMemcpyHostToDevice);
    }
    for (int k = 0; k < d.nz; k++) h[k] = 1000.0f * expf(-0.02f * k);
    cudaMemcpy(pb, h, d.nz * 4, cudaMemcpyHostToDevice);
    for (int i = 0; i < d.nx; i++) h[i] = 302 + (i % 10) * 0.1f;
    cudaMemcpy(ts, h, d.nx * 4, cudaMemcpyHostToDevice);
    cudaMemset(precip, 0, d.nx * 4);
    state_t s = {f[U], f[W], f[TH], f[QV], f[QC], f[QR]};
    dim3 b(32, 8), g((d.nx + 31) / 32, (d.nz + 7) / 8); int gc = (d.nx + 63) / 64;
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < NFLD; v++) cudaMemsetAsync(df[v], 0, bytes);
        pressure<<<g, b>>>(d, s.th, p, pb);
        tend_u<<<g, b>>>(d, s, p, df[U]);
        tend_w<<<g, b>>>(d, s, p, df[W]);
        for (int v = 0; v < NFLD; v++) diffusion<<<g, b>>>(d, 50.0f, f[v], df[v]);
        for (int v = 0; v < NFLD; v++) cudaMemcpyAsync(old[v], f[v], bytes, cudaMemcpyDeviceToDevice);
        for (int v = TH; v < NFLD; v++) semilag<<<g, b>>>(d, s.u, s.w, old[v], f[v]);
        for (int v = 0; v < NFLD; v++) update<<<g, b>>>(d, f[v], df[v]);
        condensation<<<g, b>>>(d, s);
        autoconversion<<<g, b>>>(d, s);
        sedimentation<<<gc, 64>>>(d, s, precip);
        radiation<<<gc, 64>>>(d, s);
        surface<<<gc, 64>>>(d, s, ts);
        rayleigh<<<g, b>>>(d, s, 48);
    }
    double c = 0;
    for (int v = 0; v < NFLD; v++) { cudaMemcpy(h, f[v], bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n; i++) c += h[i] * (v + 1); }
    cudaMemcpy(h, precip, d.nx * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < d.nx; i++) c += 1000 * h[i];
    printf("checksum %.17g\n", c);
    return 0;
}
