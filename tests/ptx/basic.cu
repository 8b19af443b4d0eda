// SPDX-License-Identifier: Apache-2.0
// What scientists write: struct arguments, constants, shared tiles, loops, divisions, early returns.
#include <cstdio>

struct grid {
    double dx, dy;
    int width, height;
};

__constant__ float coefficients[8] = {1.0f, -2.5f, 3.25f};
__device__ int counter = 7;
__device__ const int *pointer_to_counter = &counter;
__device__ double table[3][2] = {{1, 2}, {3}, {5, 6}};

__global__ void update(grid g, const double *__restrict__ in, double *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.width || y >= g.height) return;
    int left = (x + g.width - 1) % g.width;
    out[y * g.width + x] = (in[y * g.width + x] - in[y * g.width + left]) / g.dx + table[x % 3][y % 2];
}

__global__ void tile_sum(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    extern __shared__ double dynamic[];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i] * coefficients[i & 7];
    tile[threadIdx.x] = sum;
    dynamic[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
        __syncthreads();
    }
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0u, sum, lane);
    if (threadIdx.x == 0) atomicAdd(out, tile[0] + (float)dynamic[1] + sum);
}

__device__ __noinline__ double slow(double x, int *status)
{
    *status += atomicAdd(&counter, *pointer_to_counter);
    return sin(x) + exp(x) * log(x);
}

typedef double (*function)(double, int *);
__device__ function chosen = slow;

__global__ void __launch_bounds__(128, 2) calls(double *x, int n, int kind)
{
    int status = 0, i = threadIdx.x;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        switch (kind + j) {
        case 0: x[i] = slow(x[i], &status); break;
        case 1: x[i] = chosen(x[i], &status); break;
        case 2: x[i] *= 3; break;
        case 3: x[i] = sqrt(x[i]); break;
        case 4: x[i] -= status; break;
        case 5: printf("%d %f\n", i, x[i]); break;
        case 6: x[i] = __popc(i) + __brev(i); break;
        default: x[i] = -x[i];
        }
    }
    asm volatile("{\n .reg .pred p;\n .reg .b32 r;\n setp.gt.s32 p, %0, 3;\n"
                 "@p bra DONE;\n mov.b32 r, %0;\n add.s32 %0, r, 1;\nDONE:\n}" : "+r"(status));
    asm volatile("{\n .reg .pred p;\n .reg .b32 r;\n setp.gt.s32 p, %0, 5;\n"
                 "@p bra DONE;\n mov.b32 r, %0;\n add.s32 %0, r, 2;\nDONE:\n}" : "+r"(status));
    x[i] += status;
}
