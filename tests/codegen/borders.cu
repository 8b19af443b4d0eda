/* SPDX-License-Identifier: Apache-2.0
 * Small kernels between large ones: they fill the border of an array whose inside (nx x ny) a large kernel writes, and
 * whose whole another one reads. borders.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o borders.ptx borders.cu                                            */
#define X (blockIdx.x * blockDim.x + threadIdx.x)
#define Y (blockIdx.y * blockDim.y + threadIdx.y)

extern "C" __global__ void inside(float *f, const float *a, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x < nx && y < ny) f[here] = a[here] * 1.5f + a[here - 1];
}

extern "C" __global__ void around(float *g, const float *f, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x >= nx || y >= ny) return;
    g[here] = f[here - 1] + 2 * f[here + 1] - f[here - pitch] * f[here + pitch] + f[here];
}

extern "C" __global__ void diagonals(float *g, const float *f, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x >= nx || y >= ny) return;
    g[here] = f[here - pitch - 1] + 2 * f[here - pitch + 1] - f[here + pitch - 1] * f[here + pitch + 1];
}

/* Nothing is contracted. */
extern "C" __global__ void inside_sum(float *f, const float *a, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x < nx && y < ny) f[here] = a[here] + a[here - 1];
}

extern "C" __global__ void around_sum(float *g, const float *f, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x >= nx || y >= ny) return;
    g[here] = f[here - 1] + f[here + 1] - f[here - pitch] - f[here + pitch] + f[here];
}

/* Few threads need f, their own element of it. */
extern "C" __global__ void crest(float *g, const float *f, const float *a, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x >= nx || y >= ny) return;
    float sum = a[here] * 0.75f;
    if (y == 0 || y == ny - 1) sum += f[here];
    g[here] = sum;
}

/* --- periodic --- */
extern "C" __global__ void rows(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x > nx) return;
    f[x] = f[ny * pitch + x];
    f[(ny + 1) * pitch + x] = f[pitch + x];
}

extern "C" __global__ void columns(float *f, int nx, int ny)
{
    int y = X + 1, pitch = nx + 2;
    if (y > ny) return;
    f[y * pitch] = f[y * pitch + nx];
    f[y * pitch + nx + 1] = f[y * pitch + 1];
}

extern "C" __global__ void corners(float *f, int nx, int ny)
{
    int pitch = nx + 2;
    f[0] = f[ny * pitch + nx];
    f[nx + 1] = f[ny * pitch + 1];
    f[(ny + 1) * pitch] = f[pitch + nx];
    f[(ny + 1) * pitch + nx + 1] = f[pitch + 1];
}

/* The corners with them: what `rows` wrote is copied on. */
extern "C" __global__ void long_columns(float *f, int nx, int ny)
{
    int y = X, pitch = nx + 2;
    if (y > ny + 1) return;
    f[y * pitch] = f[y * pitch + nx];
    f[y * pitch + nx + 1] = f[y * pitch + 1];
}

extern "C" __global__ void long_rows(float *f, int nx, int ny)
{
    int x = X, pitch = nx + 2;
    if (x > nx + 1) return;
    f[x] = f[ny * pitch + x];
    f[(ny + 1) * pitch + x] = f[pitch + x];
}

/* --- walls --- */
extern "C" __global__ void walls(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x > nx) return;
    f[x] = -f[pitch + x];
    f[(ny + 1) * pitch + x] = 2 * f[ny * pitch + x] - f[(ny - 1) * pitch + x];
}

extern "C" __global__ void sides(float *f, float left, float right, int nx, int ny)
{
    int y = X + 1, pitch = nx + 2;
    if (y > ny) return;
    f[y * pitch] = left;
    f[y * pitch + nx + 1] = right;
}

/* Not for every thread: what is read is not known. */
extern "C" __global__ void some_rows(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x <= nx && f[pitch + x] > 0) f[x] = f[pitch + x];
}

/* Data keep threads from storing. */
extern "C" __global__ void inside_where(float *f, const float *a, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x < nx && y < ny && a[here] > 0) f[here] = a[here] + a[here - 1];
}

/* The first row of the inside is written again. */
extern "C" __global__ void first_row(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x <= nx) f[pitch + x] = 0.5f;
}

extern "C" __global__ void first_column(float *f, int nx, int ny)
{
    int y = X + 1, pitch = nx + 2;
    if (y <= ny) f[y * pitch + 1] = 0.125f;
}

extern "C" __global__ void last_row(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x <= nx) f[ny * pitch + x] = f[(ny - 1) * pitch + x];
}

extern "C" __global__ void both_rows(float *f, int nx, int ny)
{
    int x = X + 1, pitch = nx + 2;
    if (x > nx) return;
    f[pitch + x] = 0.5f;
    f[ny * pitch + x] = 0.25f;
}

/* --- the next step --- */
extern "C" __global__ void take(float *f, const float *g, int nx, int ny)
{
    int x = X, y = Y, pitch = nx + 2, here = (y + 1) * pitch + x + 1;
    if (x < nx && y < ny) f[here] = 0.25f * f[here] + g[here];
}
