/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose blocks store what other threads of the block load in a later launch: rows, and tiles of a matrix of m rows and
 * n columns. handed.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o handed.ptx handed.cu                                                                       */
#define INDEX      (blockIdx.x * blockDim.x + threadIdx.x)
#define MIRRORED   (blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x)
#define KERNEL     extern "C" __global__ void
enum { SIDE = 32, STEP = 8, LARGE = 128 };

KERNEL doubled(float *y, const float *x)
{
    y[INDEX] = x[INDEX] + x[INDEX];
}

KERNEL mirrored(float *y, const float *x)
{
    y[INDEX] = x[MIRRORED] - x[INDEX] * 0.5f;
}

/* the block meets, in memory of its own */
KERNEL mirrored_apart(float *y, const float *x)
{
    __shared__ float shared[64];
    shared[threadIdx.x] = x[MIRRORED];
    __syncthreads();
    y[INDEX] = shared[(threadIdx.x + 1) % 64];
}

KERNEL mirrored_in_place(float *x)
{
    float value = x[MIRRORED];
    __syncthreads();
    x[INDEX] = value + 1.0f;
}

KERNEL doubled_below(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] + x[i];
}

/* what is stored depends on data */
KERNEL doubled_if_positive(float *y, const float *x)
{
    if (x[INDEX] > 0) y[INDEX] = x[INDEX] + x[INDEX];
}

KERNEL doubled_even(float *y, const float *x)
{
    if (threadIdx.x % 2 == 0) y[INDEX] = x[INDEX] + x[INDEX];
}

KERNEL mirrored_even(float *y, const float *x)
{
    if (threadIdx.x % 2 == 1) y[INDEX] = x[MIRRORED] - x[INDEX - 1];
}

KERNEL added_atomically(int *y)
{
    atomicAdd(&y[INDEX], 1);
}

KERNEL fours(float4 *y, const float4 *x)
{
    float4 value = x[INDEX];
    y[INDEX] = make_float4(value.w, value.x, value.y, value.z);
}

KERNEL mirrored_ones(float *y, const float *x)
{
    int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    for (int k = 0; k < 4; k++)
        y[first + k * blockDim.x] = x[2 * blockIdx.x * blockDim.x * 4 + blockDim.x * 4 - 1 - first - k * blockDim.x];
}

KERNEL mirrored_twos(float2 *y, const float2 *x)
{
    int first = blockIdx.x * blockDim.x * 2;
    y[first + threadIdx.x] = x[first + 2 * blockDim.x - 1 - threadIdx.x];
    y[first + blockDim.x + threadIdx.x] = x[first + blockDim.x - 1 - threadIdx.x];
}

KERNEL bytes(unsigned char *y, const unsigned char *x)
{
    y[INDEX] = x[INDEX] ^ 0x5a;
}

KERNEL mirrored_bytes(unsigned char *y, const unsigned char *x)
{
    y[INDEX] = x[MIRRORED] + x[INDEX];
}

/* of sixteen bytes that a thread of fours stores, two */
KERNEL two_bytes_of_four(unsigned char *y, const unsigned char *x)
{
    y[INDEX] = x[MIRRORED * 16 + 3] ^ x[INDEX * 16];
}

/* --- tiles of a matrix: a block has SIDE rows and columns, STEP rows at a time --- */

#define ROW(at)    (blockIdx.y * SIDE + (at))
#define COLUMN(at) (blockIdx.x * SIDE + (at))
#define ROWS       _Pragma("unroll 1") for (int k = 0; k < SIDE; k += STEP)

KERNEL scaled_tile(float *y, const float *x, int m, int n)
{
    ROWS if (ROW(threadIdx.y + k) < m && COLUMN(threadIdx.x) < n)
    {
        int at = ROW(threadIdx.y + k) * n + COLUMN(threadIdx.x);
        y[at] = x[at] * 3.0f;
    }
}

KERNEL transposed_tile(float *y, const float *x, int m, int n)
{
    ROWS if (ROW(threadIdx.x) < m && COLUMN(threadIdx.y + k) < n)
    {
        int at = ROW(threadIdx.x) * n + COLUMN(threadIdx.y + k);
        y[at] = x[at] + 1.0f;
    }
}

KERNEL row_sums_of_tile(float *y, const float *x, int m, int n)
{
    int row = ROW(threadIdx.y * blockDim.x + threadIdx.x);
    float sum = 0;
    if (threadIdx.y > 0 || row >= m) return;
    for (int k = 0; k < SIDE; k++) sum += COLUMN(k) < n ? x[row * n + COLUMN(k)] : 0;
    y[blockIdx.x * m + row] = sum;
}

/* --- a tile that is larger than a kernel may declare: 16 times 16 threads, 8 times 8 elements each --- */

KERNEL large_tile(float *y, const float *x, int n)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            int at = (blockIdx.y * LARGE + threadIdx.y * 8 + i) * n + blockIdx.x * LARGE + threadIdx.x + j * 16;
            y[at] = x[at] + 2.0f;
        }
}

KERNEL large_tile_in_rows(float *y, int n)
{
    for (int k = threadIdx.y; k < LARGE; k += STEP)
        for (int j = 0; j < 4; j++) {
            int at = (blockIdx.y * LARGE + k) * n + blockIdx.x * LARGE + threadIdx.x + j * 32;
            y[at] = y[at] * y[at];
        }
}

/* --- a box of a volume: 8 times 4 times 4 elements, of rows of n and layers of n times m --- */

#define BOX(column, row, layer)                                                                                         \
    (((blockIdx.z * 4 + (layer)) * m + blockIdx.y * 4 + (row)) * n + blockIdx.x * 8 + (column))

KERNEL filled_box(float *y, const float *x, int m, int n)
{
    int at = BOX(threadIdx.x, threadIdx.y, threadIdx.z);
    y[at] = x[at] * 0.25f;
}

KERNEL turned_box(float *y, const float *x, int m, int n)
{
    int at = BOX(threadIdx.x, threadIdx.z, threadIdx.y);
    y[BOX(threadIdx.x, threadIdx.y, threadIdx.z)] = x[at] + x[BOX(7 - threadIdx.x, threadIdx.y, threadIdx.z)];
}
