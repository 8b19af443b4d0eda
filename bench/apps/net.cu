/* SPDX-License-Identifier: Apache-2.0 */
// forward pass of a few transformer-ish blocks (without the big GEMMs): bias, gelu, layernorm, residual, softmax
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

__global__ void add_bias(float *x, const float *bias, int d)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (c < d) x[row * d + c] += bias[c];
}
__global__ void gelu(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float v = x[i]; y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }
}
__global__ void residual(float *y, const float *x, const float *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + r[i];
}
__global__ void scale_mask(float *s, float a, const unsigned char *mask, int d)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (c < d) s[row * d + c] = mask[c] ? s[row * d + c] * a : -1e30f;
}
__inline__ __device__ float warp_sum(float v) { for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o); return v; }
__inline__ __device__ float warp_max(float v) { for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); return v; }
__inline__ __device__ float block_sum(float v)
{
    static __shared__ float sh[32];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    v = warp_sum(v);
    if (lane == 0) sh[wid] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x >> 5) ? sh[lane] : 0.0f;
    v = warp_sum(v);
    if (threadIdx.x == 0) sh[0] = v;
    __syncthreads();
    v = sh[0];
    __syncthreads();
    return v;
}
__global__ void layernorm(float *y, const float *x, const float *gamma, const float *beta, int d)
{
    int row = blockIdx.y;
    float s = 0, s2 = 0;
    for (int c = threadIdx.x; c < d; c += blockDim.x) s += x[row * d + c];
    float mean = block_sum(s) / d;
    for (int c = threadIdx.x; c < d; c += blockDim.x) { float v = x[row * d + c] - mean; s2 += v * v; }
    float inv = rsqrtf(block_sum(s2) / d + 1e-5f);
    for (int c = threadIdx.x; c < d; c += blockDim.x) y[row * d + c] = (x[row * d + c] - mean) * inv * gamma[c] + beta[c];
}
__global__ void softmax_warp(float *y, const float *x, int rows, int d)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float m = -INFINITY, s = 0;
    for (int c = lane; c < d; c += 32) m = fmaxf(m, x[row * d + c]);
    m = warp_max(m);
    for (int c = lane; c < d; c += 32) s += expf(x[row * d + c] - m);
    s = warp_sum(s);
    for (int c = lane; c < d; c += 32) y[row * d + c] = expf(x[row * d + c] - m) / s;
}
__global__ void dropout(float *x, unsigned seed, float p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = i * 2654435761u ^ seed; h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13;
    x[i] = (h >> 8) * (1.0f / 16777216.0f) < p ? 0.0f : x[i] / (1 - p);
}
__global__ void colmean(float *out, const float *x, int rows, int d)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= d) return;
    float s = 0;
    for (int r = 0; r < rows; r++) s += x[r * d + c];
    out[c] = s / rows;
}
int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 5, rows = argc > 2 ? atoi(argv[2]) : 128, d = 512, n = rows * d;
    float *x, *h, *y, *r, *ga, *be, *bi, *m; unsigned char *mask;
    cudaMalloc(&x, n * 4); cudaMalloc(&h, n * 4); cudaMalloc(&y, n * 4); cudaMalloc(&r, n * 4);
    cudaMalloc(&ga, d * 4); cudaMalloc(&be, d * 4); cudaMalloc(&bi, d * 4); cudaMalloc(&m, d * 4); cudaMalloc(&mask, d);
    std::vector<float> v(n); std::vector<unsigned char> mk(d);
    for (int i = 0; i < n; i++) v[i] = sinf(i * 0.37f);
    cudaMemcpy(x, v.data(), n * 4, cudaMemcpyHostToDevice);
    for (int i = 0; i < d; i++) { v[i] = 1 + 0.01f * (i % 9); mk[i] = i % 11 != 0; }
    cudaMemcpy(ga, v.data(), d * 4, cudaMemcpyHostToDevice);
    for (int i = 0; i < d; i++) v[i] = 0.02f * (i % 5) - 0.04f;
    cudaMemcpy(be, v.data(), d * 4, cudaMemcpyHostToDevice); cudaMemcpy(bi, v.data(), d * 4, cudaMemcpyHostToDevice); cudaMemcpy(mask, mk.data(), d, cudaMemcpyHostToDevice);
    dim3 eg((d + 255) / 256, rows), ln(1, rows); int f = (n + 255) / 256;
    for (int s = 0; s < steps; s++)
        for (int l = 0; l < 2; l++) {
            layernorm<<<ln, 256>>>(h, x, ga, be, d);
            scale_mask<<<eg, 256>>>(h, 0.125f, mask, d);
            softmax_warp<<<(rows + 3) / 4, 128>>>(y, h, rows, d);
            dropout<<<f, 256>>>(y, s * 17u + l, 0.1f, n);
            residual<<<f, 256>>>(r, x, y, n);
            layernorm<<<ln, 256>>>(h, r, ga, be, d);
            add_bias<<<eg, 256>>>(h, bi, d);
            gelu<<<f, 256>>>(y, h, n);
            add_bias<<<eg, 256>>>(y, bi, d);
            dropout<<<f, 256>>>(y, s * 31u + l + 7, 0.1f, n);
            residual<<<f, 256>>>(x, y, r, n);
            colmean<<<(d + 63) / 64, 64>>>(m, x, rows, d);
        }
    double c = 0;
    cudaMemcpy(v.data(), x, n * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < n; i++) c += v[i] * (1 + i % 3);
    cudaMemcpy(v.data(), m, d * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < d; i++) c += v[i];
    printf("checksum %.17g\n", c);
}
