/* SPDX-License-Identifier: Apache-2.0
 * Kernels with a loop inside the thread whose iterations read what other threads of the kernel before wrote. x[(k * m + j) *
 * n + i]: level k of column (i, j). expansion.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o expansion.ptx expansion.cu                                                            */
#define COLUMN                                                                                                         \
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;                          \
    if (i >= n || j >= m) return;
#define LEVELS _Pragma("unroll 1") for (int k = 0; k < levels; k++)
#define AT(x, di, dj, dk) (x)[((k + (dk)) * m + j + (dj)) * n + i + (di)]
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__, int n, int m, int levels)

/* --- not unrolled --- */
KERNEL(make, float *y, const float *x)
{
    COLUMN LEVELS AT(y, 0, 0, 0) = AT(x, 0, 0, 0) * 1.5f + k;
}

KERNEL(corner, float *z, const float *y)
{
    COLUMN if (i < 1 || j < 1) return;
    LEVELS AT(z, 0, 0, 0) = AT(y, -1, 0, 0) + AT(y, 0, -1, 0) + AT(y, -1, -1, 0) - AT(y, 0, 0, 0);
}

KERNEL(periodic, float *z, const float *y)
{
    COLUMN int w = i == 0 ? n - 1 : i - 1, e = i == n - 1 ? 0 : i + 1;
    LEVELS AT(z, 0, 0, 0) = y[(k * m + j) * n + w] - y[(k * m + j) * n + e];
}

/* the level above and the level below */
KERNEL(levels_around, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    _Pragma("unroll 1") for (int k = 1; k < levels - 1; k++) AT(z, 0, 0, 0) = AT(y, -1, 0, -1) - AT(y, 0, 0, 1);
}

/* from the top */
KERNEL(downwards, float *y, const float *x)
{
    COLUMN _Pragma("unroll 1") for (int k = levels - 1; k >= 0; k--) AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + 0.25f;
}

/* a branch in the iteration, and an inner loop */
KERNEL(powers, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    LEVELS
    {
        float value = AT(y, -1, 0, 0) + AT(y, 0, 0, 0);
        if (value < 0.0f) continue;
        _Pragma("unroll 1") for (int p = 0; p < i; p++) value *= 0.875f;
        AT(z, 0, 0, 0) = value;
    }
}

/* a part of the threads enters a first loop, all the second */
KERNEL(two_loops, float *y, const float *x)
{
    COLUMN
    if (i < n / 2) LEVELS AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + 1.0f;
    if (i >= n / 2) LEVELS AT(y, 0, 0, 0) = AT(x, 0, 0, 0) - 1.0f;
}

/* the second begins where the first ended */
KERNEL(continued, float *y, const float *x)
{
    COLUMN int k = 0;
    _Pragma("unroll 1") do AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + 1.0f;
    while (++k < levels / 2);
    _Pragma("unroll 1") do AT(y, 0, 0, 0) = AT(x, 0, 0, 0) * 0.5f + k;
    while (++k < levels);
}

/* one level a block along z: no loop */
KERNEL(flat, float *y, const float *x)
{
    COLUMN int k = blockIdx.z;
    AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + 2.0f;
}

/* asks for its place along z, where there is but one */
KERNEL(deep, float *y, const float *x)
{
    COLUMN LEVELS AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + (threadIdx.z + blockIdx.z * blockDim.z) + gridDim.z;
}

/* --- unrolled by nvcc: a loop by 4, and the rest --- */
KERNEL(make_levels, float *y, const float *x)
{
    COLUMN for (int k = 0; k < levels; k++) AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + AT(x, 0, 0, 0);
}

KERNEL(corner_levels, float *z, const float *y)
{
    COLUMN if (i < 1 || j < 1) return;
    for (int k = 0; k < levels; k++) AT(z, 0, 0, 0) = AT(y, -1, 0, 0) + AT(y, 0, -1, 0) + AT(y, -1, -1, 0);
}

KERNEL(upper_levels, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    for (int k = 0; k < levels - 1; k++) AT(z, 0, 0, 0) = AT(y, -1, 0, 1) + AT(y, 0, 0, 0);
}

/* --- refused --- */
KERNEL(sums, float *y, const float *x)
{
    COLUMN float sum = 0.0f;
    LEVELS
    {
        sum += AT(x, 0, 0, 0);
        AT(y, 0, 0, 0) = sum;
    }
}

KERNEL(doubling, float *y, const float *x)
{
    COLUMN int step = 1;
    LEVELS
    {
        AT(y, 0, 0, 0) = AT(x, 0, 0, 0) + step;
        step = step * 3 + 1;
    }
}

KERNEL(behind, float *y, const float *x)
{
    COLUMN LEVELS AT(y, 0, 0, 0) = AT(x, 0, 0, 0);
    int k = levels;
    AT(y, 0, 0, 0) = 1.0f;
}

KERNEL(triangle, float *y, const float *x)
{
    COLUMN _Pragma("unroll 1") for (int k = 0; k <= i % levels; k++) AT(y, 0, 0, 0) = AT(x, 0, 0, 0);
}

KERNEL(last_wins, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    LEVELS z[j * n + i] = AT(y, -1, 0, 0) + AT(y, 0, 0, 0);
}

KERNEL(rising, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    _Pragma("unroll 1") for (int k = 1; k < levels; k++)
        AT(z, 0, 0, 0) = AT(z, 0, 0, -1) + AT(y, -1, 0, 0) + AT(y, 0, 0, 0);
}

/* what is read before the loop is written in it */
KERNEL(first_kept, float *z, const float *y)
{
    COLUMN if (i < 1) return;
    float first = z[j * n + i];
    LEVELS AT(z, 0, 0, 0) = AT(y, -1, 0, 0) + AT(y, 0, 0, 0) + first;
}

KERNEL(two_ends, float *y, const float *x)
{
    COLUMN LEVELS
    {
        AT(y, 0, 0, 0) = AT(x, 0, 0, 0);
        if (i == k) break;
    }
}
