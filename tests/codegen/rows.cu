/* SPDX-License-Identifier: Apache-2.0
 * Lines of threads over the rows of an array. rows.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o rows.ptx rows.cu                                          */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void scale(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * 1.5f;
}

/* Every thread has an element. */
extern "C" __global__ void scale_all(float *y, const float *x)
{
    y[INDEX] = x[INDEX] * 1.5f;
}

/* --- neighbours: by row and column, by number alone --- */
extern "C" __global__ void five(float *out, const float *in, int nx, int ny)
{
    int i = INDEX, y = i / nx, x = i % nx;
    if (y >= ny) return;
    float west = in[y * nx + max(x - 1, 0)], east = in[y * nx + min(x + 1, nx - 1)];
    float south = in[max(y - 1, 0) * nx + x], north = in[min(y + 1, ny - 1) * nx + x];
    out[i] = in[i] - west + 0.5f * east - south + 0.25f * north;
}

extern "C" __global__ void five_by_number(float *out, const float *in, int nx, int n)
{
    int i = INDEX;
    if (i >= n) return;
    out[i] = in[i] - in[max(i - 1, 0)] + 0.5f * in[min(i + 1, n - 1)] - in[max(i - nx, 0)] +
             0.25f * in[min(i + nx, n - 1)];
}

extern "C" __global__ void seven(float *out, const float *in, int nx, int ny, int nz)
{
    int i = INDEX, x = i % nx, y = i / nx % ny, z = i / (nx * ny), layer = nx * ny;
    if (z >= nz) return;
    float sum = in[i];
    if (x > 0) sum += in[i - 1];
    if (x < nx - 1) sum -= in[i + 1];
    if (y > 0) sum += in[i - nx];
    if (y < ny - 1) sum -= in[i + nx];
    if (z > 0) sum += in[i - layer];
    if (z < nz - 1) sum -= in[i + layer];
    out[i] = sum;
}

/* The inside of one array, row after row, to one that has nothing else. */
extern "C" __global__ void inside(float *out, const float *in, int nx, int ny)
{
    int i = INDEX, row = nx - 2;
    if (i >= row * (ny - 2)) return;
    const float *at = in + (i / row + 1) * nx + i % row + 1;
    out[i] = at[-1] - at[1] + at[-nx] - 0.5f * at[nx];
}

/* What jumps at rows' ends, but is no part of rows; and threads that count down. */
extern "C" __global__ void biased(float *out, const float *in, const float *bias, int nx, int n)
{
    int i = INDEX;
    if (i < n) out[i] = in[i] + bias[i % nx];
}

extern "C" __global__ void backward(float *out, const float *in, int nx, int n)
{
    int i = n - 1 - (int)INDEX;
    if (i >= 0) out[i] = in[i] + in[max(i - nx, 0)] - in[min(i + nx, n - 1)];
}

/* --- threads and blocks --- */
extern "C" __global__ void who(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] + threadIdx.x + 1000 * blockIdx.x + blockDim.x + gridDim.x + threadIdx.y;
}

/* A part of each block. */
extern "C" __global__ void in_block(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n && threadIdx.x + 7 < blockDim.x) y[i] = x[i] * 1.5f;
}

extern "C" __global__ void count(float *y, const float *x, int *counter, int n)
{
    int i = INDEX;
    if (i >= n) return;
    y[i] = x[i];
    if (x[i] > 0) atomicAdd(counter, 1);
}

extern "C" __global__ void in_place(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] + 1.0f;
}

/* Loops: over what others do not write, and over rows. */
extern "C" __global__ void weigh(float *y, const float *x, const float *w, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 5; k++) sum += x[i] * w[(i + k) % 512];
    y[i] = sum;
}

extern "C" __global__ void column(float *y, const float *x, int nx, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 3; k++) sum += x[min(i + k * nx, n - 1)];
    y[i] = sum;
}

extern "C" __global__ void turned(float *y, const float *x, int n)
{
    __shared__ float mine[1024];
    int i = INDEX;
    mine[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = mine[blockDim.x - 1 - threadIdx.x];
}

/* --- threads of a plane --- */
extern "C" __global__ void plane(float *out, const float *in, int nx, int ny)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    float west = in[y * nx + max(x - 1, 0)], east = in[y * nx + min(x + 1, nx - 1)];
    float south = in[max(y - 1, 0) * nx + x], north = in[min(y + 1, ny - 1) * nx + x];
    out[y * nx + x] = west - 0.5f * east + south - 0.25f * north;
}

/* --- a few threads --- */
extern "C" __global__ void first_row(float *x, int nx, int ny)
{
    int i = INDEX;
    if (i < nx) x[i] = x[(ny - 2) * nx + i];
}
