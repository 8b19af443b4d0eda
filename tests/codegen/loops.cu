/* SPDX-License-Identifier: Apache-2.0
 * Kernels with a loop inside the thread, as over the height of a column. x[k * n + i]: level k of column i. loops.ptx is
 * made from this file by
 *   nvcc -arch=sm_90 -ptx -o loops.ptx loops.cu                                                                       */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define COLUMN                                                                                                         \
    int i = INDEX;                                                                                                     \
    if (i >= n) return;
#define LEVELS _Pragma("unroll 1") for (int k = 0; k < levels; k++)
#define AT(x) (x)[k * n + i]

/* --- not unrolled --- */
extern "C" __global__ void double_column(float *y, const float *x, int n, int levels)
{
    COLUMN LEVELS AT(y) = AT(x) + AT(x);
}

extern "C" __global__ void add_column(float *z, const float *y, const float *x, int n, int levels)
{
    COLUMN LEVELS AT(z) = AT(y) + AT(x);
}

extern "C" __global__ void multiply_column(float *z, const float *y, const float *x, int n, int levels)
{
    COLUMN LEVELS AT(z) = AT(y) * AT(x);
}

/* reads the level above, or below, what it writes itself */
extern "C" __global__ void from_below(float *z, const float *y, int n, int levels)
{
    COLUMN LEVELS AT(z) = AT(y) + (k > 0 ? y[(k - 1) * n + i] : 1.0f);
}

extern "C" __global__ void from_above(float *z, const float *y, int n, int levels)
{
    COLUMN LEVELS AT(z) = k + 1 < levels ? y[(k + 1) * n + i] : 2.0f;
}

/* a value before the loop, a sum carried through it, a value behind it */
extern "C" __global__ void column_sum(float *sums, float *partial, const float *x, int n, int levels)
{
    COLUMN float sum = sums[i];
    LEVELS
    {
        sum += AT(x);
        AT(partial) = sum;
    }
    sums[i] = sum;
}

extern "C" __global__ void column_scale(float *y, const float *x, const float *sums, int n, int levels)
{
    COLUMN float scale = sums[i];
    LEVELS AT(y) = AT(x) * scale;
}

/* loads behind the loop */
extern "C" __global__ void column_then_copy(float *y, const float *x, float *to, const float *from, int n, int levels)
{
    COLUMN LEVELS AT(y) = AT(x) + AT(x);
    to[i] = from[i];
}

/* no loop */
extern "C" __global__ void surface(float *z, const float *y, int n)
{
    COLUMN z[i] = y[i] + 1.0f;
}

/* from the top: other iterations meet */
extern "C" __global__ void downwards(float *z, const float *y, int n, int levels)
{
    COLUMN
    _Pragma("unroll 1") for (int k = levels - 1; k >= 0; k--) AT(z) = AT(y) + 1.0f;
}

/* as many levels as the column says: it depends on data */
extern "C" __global__ void deep_column(float *z, const float *y, const int *depth, int n)
{
    COLUMN int levels = depth[i] & 15;
    LEVELS AT(z) = AT(y) + 0.5f;
}

/* an inner loop, and a level that is passed over */
extern "C" __global__ void powers(float *z, const float *y, int n, int levels)
{
    COLUMN LEVELS
    {
        if (AT(y) < 0.0f) continue;
        float value = AT(y);
        _Pragma("unroll 1") for (int p = 0; p < k; p++) value *= 0.75f;
        AT(z) = value;
    }
}

/* two loops */
extern "C" __global__ void two_loops(float *y, float *z, const float *x, int n, int levels)
{
    COLUMN LEVELS AT(y) = AT(x) + 1.0f;
    _Pragma("unroll 1") for (int k = 0; k < levels - 1; k++) AT(z) = y[(k + 1) * n + i];
}

/* between neighbouring levels */
extern "C" __global__ void differences(float *z, const float *y, int n, int levels)
{
    COLUMN
    _Pragma("unroll 1") for (int k = 1; k < levels; k++) AT(z) = AT(y) - y[(k - 1) * n + i];
}

/* what the levels below have become */
extern "C" __global__ void rising(float *y, int n, int levels)
{
    COLUMN
    _Pragma("unroll 1") for (int k = 1; k < levels; k++) AT(y) = AT(y) + y[(k - 1) * n + i];
}

extern "C" __global__ void first_level(float *z, const float *y, int n, int levels)
{
    COLUMN z[i] = y[i];
    LEVELS AT(z) = AT(z) + AT(y);
}

/* --- unrolled by nvcc: a loop by 4, and the rest --- */
extern "C" __global__ void double_levels(float *y, const float *x, int n, int levels)
{
    COLUMN for (int k = 0; k < levels; k++) AT(y) = AT(x) + AT(x);
}

extern "C" __global__ void add_levels(float *z, const float *y, const float *x, int n, int levels)
{
    COLUMN for (int k = 0; k < levels; k++) AT(z) = AT(y) + AT(x);
}

extern "C" __global__ void dot_levels(float *sum, const float *a, const float *x, int n, int levels)
{
    COLUMN float value = 0.0f;
    for (int k = 0; k < levels; k++) value += AT(a) * x[k];
    sum[i] = value;
}

extern "C" __global__ void level_differences(float *z, const float *y, int n, int levels)
{
    COLUMN for (int k = 1; k < levels; k++) AT(z) = AT(y) - y[(k - 1) * n + i];
}
