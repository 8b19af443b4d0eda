// SPDX-License-Identifier: Apache-2.0
// Loops: grid stride, nests, unrolling, early exits, what cannot be counted.
// launch grid_stride grid 3 1 1 block 32 1 1 args p:1000 p:1000 i32:250
// launch grid_stride_unrolled grid 3 1 1 block 32 1 1 args p:4000 p:4000 i32:1000
// launch columns grid 2 2 1 block 8 4 1 args p:8192 p:8192 i32:15 i32:7 i32:9
// launch nest grid 1 1 1 block 32 1 1 args p:16384 p:16384 i32:5 i32:6 i32:30
// launch unrolled grid 1 1 1 block 32 1 1 args p:16384 p:16384 i32:27 i32:32
// launch triangle grid 1 1 1 block 32 1 1 args p:16384 p:4096 i32:32
// launch count_down grid 1 1 1 block 32 1 1 args p:16384 i32:13
// launch pointer_walk grid 1 1 1 block 32 1 1 args p:16384 p:16384 i32:11
// launch early_exit grid 1 1 1 block 32 1 1 args p:4096 i32:40 i32:20
// launch data_exit grid 1 1 1 block 32 1 1 args p:4096:100 p:4096 i32:40
// launch while_data grid 1 1 1 block 32 1 1 args p:4096:3 p:4096
// launch geometric grid 1 1 1 block 64 1 1 args p:4096 i32:64
// launch after_loop grid 1 1 1 block 32 1 1 args p:4096 i32:10 i32:7
// launch two_loops grid 1 1 1 block 32 1 1 args p:4096 p:4096 i32:9 i32:5
// launch sparse_rows grid 1 1 1 block 32 1 1 args p:132:4 p:4096:16 p:4096 p:128 i32:30
// launch skip grid 1 1 1 block 32 1 1 args p:8192 i32:20
// launch late grid 1 1 1 block 32 1 1 args p:8192 p:8192 i32:20 i32:37 i32:32
// launch late grid 1 1 1 block 32 1 1 args p:8192 p:8192 i32:20 i32:-32 i32:32
// launch late grid 1 1 1 block 32 1 1 args p:8192 p:8192 i32:0 i32:37 i32:32
// launch late grid 1 1 1 block 32 1 1 args p:8192 p:8192 i32:1 i32:37 i32:32

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL grid_stride(float *x, const float *y, int n)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) x[i] = 2 * y[i];
}

KERNEL grid_stride_unrolled(float *x, const float *y, int n)
{
#pragma unroll 4
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) x[i] = 2 * y[i];
}

KERNEL columns(float *a, const float *b, int nx, int ny, int nz)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
#pragma unroll 1
    for (int k = 1; k < nz - 1; k++) {
        int i = (k * ny + y) * nx + x;
        a[i] = b[i - nx * ny] + b[i + nx * ny];
    }
}

KERNEL nest(float *a, const float *b, int rows, int columns, int n)
{
    int i = INDEX;
    if (i >= n) return;
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < columns; c++) sum += b[(r * columns + c) * n + i];
        a[r * n + i] = sum;
    }
}

KERNEL unrolled(float *a, const float *b, int m, int n)
{
    int i = INDEX;
    for (int k = 0; k < m; k++) a[k * n + i] = b[k * n + i] + 1;
}

KERNEL triangle(float *a, const float *b, int n)
{
    int i = INDEX;
    float sum = 0;
    for (int k = 0; k <= i; k++) sum += a[i * n + k] * b[k];
    a[i * n + i] = sum;
}

KERNEL count_down(float *a, int n)
{
    int i = INDEX;
#pragma unroll 1
    for (unsigned k = n; k != 0; --k) a[32 * k + i] = 1;
}

KERNEL pointer_walk(float *a, const float *b, int n)
{
    const float *p = b + threadIdx.x, *end = p + 32 * n;
    float sum = 0;
    for (; p != end; p += 32) sum += *p;
    a[threadIdx.x] = sum;
}

KERNEL early_exit(float *a, int n, int limit)
{
    int i = INDEX;
    for (int k = 0; k < n; k++) {
        if (k + i == limit) break;
        a[k + i * 8] = 1;
    }
}

KERNEL data_exit(const int *a, int *b, int n)
{
    int i = INDEX;
    for (int k = 0; k < n; k++) {
        if (a[k * 8 + i] > 90) break;
        b[k * 8 + i] = k;
    }
}

KERNEL while_data(const int *next, int *b)
{
    int i = INDEX, count = 0;
    while (next[i + count] != 0) count++;
    b[i] = count;
}

KERNEL geometric(float *a, int n)
{
    int i = INDEX;
    for (int s = n / 2; s > 0; s /= 2)
        if (i < s) a[i] += a[i + s];
}

KERNEL after_loop(float *a, int n, int step)
{
    int i = INDEX, k = i;
#pragma unroll 1
    while (k < n * step) {
        a[k] = 0;
        k += step;
    }
    a[k + 100] = 1;
}

KERNEL two_loops(float *a, float *b, int n, int m)
{
    int i = INDEX, k = 0;
#pragma unroll 1
    for (; k < n; k++) a[k * 32 + i] = 1;
#pragma unroll 1
    for (; k < n + m; k++) b[k * 32 + i] = 2;
}

KERNEL sparse_rows(const int *rows, const int *columns, const float *x, float *y, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++) sum += x[columns[k]];
    y[i] = sum;
}

KERNEL skip(float *a, int n)
{
    int i = INDEX;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        if ((k + i) % 3 == 0) continue;
        a[k * 32 + i] = 1;
    }
}

/* before: what at was an iteration ago. */
KERNEL late(const float *a, float *b, int n, int first, int pitch)
{
    int at = INDEX, before = at + first;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        b[before + 64] = a[at];
        before = at;
        at += pitch;
    }
}
