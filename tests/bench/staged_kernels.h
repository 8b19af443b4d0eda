/* SPDX-License-Identifier: Apache-2.0
 * Stencils and filters whose blocks stage what they read in shared memory, in the ways that programs do, and kernels that only look
 * like such. */
#ifndef KFUSE_TESTS_BENCH_STAGED_KERNELS_H
#define KFUSE_TESTS_BENCH_STAGED_KERNELS_H

enum { B = 16, R = 2 };

__global__ void scale(float *to, const float *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] * 0.75f + 0.125f;
}

#define PLACE                                                                                                \
    int x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y, tx = threadIdx.x + 1,            \
        ty = threadIdx.y + 1;                                                                                \
    bool is_in = x < width && y < height
#define STAR(s) (0.5f * s[ty][tx] + 0.125f * (s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx]))

/* The border by threads at the block's edges, where there is one; interior points alone read it. */
__global__ void edges(const float *in, float *out, int width, int height)
{
    __shared__ float s[B + 2][B + 2];
    PLACE;
    int i = y * width + x;
    if (is_in) {
        s[ty][tx] = in[i];
        if (tx == 1 && x > 0) s[ty][0] = in[i - 1];
        if (tx == B && x < width - 1) s[ty][B + 1] = in[i + 1];
        if (ty == 1 && y > 0) s[0][tx] = in[i - width];
        if (ty == B && y < height - 1) s[B + 1][tx] = in[i + width];
    }
    __syncthreads();
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) out[i] = STAR(s);
}

/* All threads load the tile and its border, whose index is clamped. */
__global__ void clamped(const float *in, float *out, int width, int height)
{
    __shared__ float s[B + 2][B + 2];
    PLACE;
    for (int j = threadIdx.y; j < B + 2; j += B)
        for (int i = threadIdx.x; i < B + 2; i += B)
            s[j][i] = in[min(max((int)(blockIdx.y * B) - 1 + j, 0), height - 1) * width +
                         min(max((int)(blockIdx.x * B) - 1 + i, 0), width - 1)];
    __syncthreads();
    if (is_in) out[y * width + x] = STAR(s);
}

/* The same counted through, with zeros behind the border, and 25 points. */
__global__ void box(const float *in, float *out, int width, int height)
{
    __shared__ float s[B + 2 * R][B + 2 * R];
    PLACE;
    for (int k = threadIdx.y * B + threadIdx.x; k < (B + 2 * R) * (B + 2 * R); k += B * B) {
        int v = blockIdx.y * B - R + k / (B + 2 * R), u = blockIdx.x * B - R + k % (B + 2 * R);
        s[k / (B + 2 * R)][k % (B + 2 * R)] =
            u >= 0 && u < width && v >= 0 && v < height ? in[v * width + u] : 0;
    }
    __syncthreads();
    if (!is_in) return;
    float sum = 0;
    for (int j = 0; j < 2 * R + 1; j++)
        for (int i = 0; i < 2 * R + 1; i++) sum += s[ty - 1 + j][tx - 1 + i];
    out[y * width + x] = sum * 0.04f;
}

/* By a loop that the compiler leaves one, in blocks of another shape. */
enum { WIDE = 32, LOW = 8, G = 3 };
__global__ void counted(const float *in, float *out, int width, int height)
{
    __shared__ float s[LOW + 2 * G][WIDE + 2 * G];
    int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * LOW, x = x0 + threadIdx.x, y = y0 + threadIdx.y;
#pragma unroll 1
    for (int k = threadIdx.y * WIDE + threadIdx.x; k < (LOW + 2 * G) * (WIDE + 2 * G); k += LOW * WIDE) {
        int a = k % (WIDE + 2 * G), b = k / (WIDE + 2 * G), u = min(max(x0 + a - G, 0), width - 1),
            v = min(max(y0 + b - G, 0), height - 1);
        s[b][a] = in[v * width + u];
    }
    __syncthreads();
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int k = -G; k <= G; k++)
        sum += s[threadIdx.y + G][threadIdx.x + G + k] - 0.5f * s[threadIdx.y + G + k][threadIdx.x + G];
    out[y * width + x] = sum * 0.25f;
}

__global__ void periodic(const float *in, float *out, int width, int height)
{
    __shared__ float s[B + 2][B + 2];
    PLACE;
    if (is_in) {
        s[ty][tx] = in[y * width + x];
        if (tx == 1) s[ty][0] = in[y * width + (x ? x - 1 : width - 1)];
        if (tx == B || x == width - 1) s[ty][tx + 1] = in[y * width + (x < width - 1 ? x + 1 : 0)];
        if (ty == 1) s[0][tx] = in[(y ? y - 1 : height - 1) * width + x];
        if (ty == B || y == height - 1) s[ty + 1][tx] = in[(y < height - 1 ? y + 1 : 0) * width + x];
    }
    __syncthreads();
    if (is_in) out[y * width + x] = STAR(s);
}

/* The tile is cleared first, in a phase of its own. */
__global__ void cleared(const float *in, float *out, int width, int height)
{
    __shared__ float s[B + 2][B + 2];
    PLACE;
    for (int k = threadIdx.y * B + threadIdx.x; k < (B + 2) * (B + 2); k += B * B)
        s[k / (B + 2)][k % (B + 2)] = 2;
    __syncthreads();
    if (is_in) s[ty][tx] = in[y * width + x];
    __syncthreads();
    if (is_in) out[y * width + x] = STAR(s);
}

/* Along rows, in dynamic shared memory. */
__global__ void row(const float *in, float *out, int n)
{
    extern __shared__ float line[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + R;
    line[t] = i < n ? in[i] : 0;
    if (threadIdx.x < R) {
        line[threadIdx.x] = i >= R ? in[i - R] : 0;
        line[t + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    if (i < n) out[i] = 0.25f * (line[t - R] + line[t - 1] + line[t + 1] + line[t + R]);
}

/* Of bytes, which are converted before they are staged; and the same without a tile. */
__global__ void grey(const unsigned char *in, unsigned char *out, int width, int height)
{
    __shared__ float s[B + 2][B + 2];
    PLACE;
    for (int j = threadIdx.y; j < B + 2; j += B)
        for (int i = threadIdx.x; i < B + 2; i += B) {
            int u = blockIdx.x * B - 1 + i, v = blockIdx.y * B - 1 + j;
            s[j][i] = u >= 0 && u < width && v >= 0 && v < height ? (float)in[v * width + u] : 128;
        }
    __syncthreads();
    if (is_in) out[y * width + x] = (unsigned char)STAR(s);
}

static __device__ int signed_byte(const signed char *from)
{
    int value;
    asm("ld.global.s8 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

__global__ void plain_grey(const signed char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x, sum = in[i];
    if (x > 0) sum += signed_byte(&in[i - 1]) / 2;
    if (y > 0) sum -= signed_byte(&in[i - width]) / 2;
    out[i] = (unsigned char)sum;
}

/* Which of its neighbours, an argument tells. */
__global__ void beside(const float *in, float *out, int n, int distance)
{
    __shared__ float line[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) line[threadIdx.x] = in[i];
    __syncthreads();
    if (threadIdx.x < 64 && i + 64 < n) out[i] = line[threadIdx.x + distance];
}

/* What others look at, it changes: a barrier is what parts them. */
__global__ void in_place(float *array, int n)
{
    __shared__ float line[128];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    if (i < n) line[t] = array[i];
    __syncthreads();
    if (i < n && t < 127 && i + 1 < n) array[i] = 0.5f * (line[t] + line[t + 1]);
}

/* It changes what it has staged before it looks at that, each thread its own. */
__global__ void late(float *array, float *out, int n)
{
    __shared__ float line[128];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    if (i < n) line[t] = array[i];
    __syncthreads();
    if (i < n) array[i] = 3;
    __syncthreads();
    if (i < n) out[i] = line[t];
}

/* The second half of a tile is written while the first one is read. */
__global__ void refilled(const float *in, float *out, int n)
{
    __shared__ float line[128];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    line[t] = i < n ? in[i] : 0;
    __syncthreads();
    float before = line[127 - t];
    __syncthreads();
    line[t] = before * 3;
    __syncthreads();
    if (i < n) out[i] = line[t] + line[127 - t];
}

/* The sum of the block's: more than is staged. */
__global__ void sums(const float *in, float *out, int n)
{
    __shared__ float line[128];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    line[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (t < k) line[t] += line[t + k];
        __syncthreads();
    }
    if (i < n) out[i] = line[0] + in[i];
}

#endif
