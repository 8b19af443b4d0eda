// SPDX-License-Identifier: Apache-2.0
// Index arithmetic: wraps, clamps, divisions, overflow, widths.
// launch wrap_remainder grid 4 1 1 block 64 1 1 args p:1000 p:1000 i32:250
// launch wrap_select grid 4 1 1 block 64 1 1 args p:1000 p:1000 i32:250
// launch wrap_2d grid 4 5 1 block 8 4 1 args p:4096 p:4096 i32:30 i32:19
// launch clamp grid 4 1 1 block 64 1 1 args p:1000 p:1000 i32:250
// launch divide_constants grid 4 1 1 block 64 1 1 args p:1024 p:1024 i32:250
// launch divide_signed grid 4 1 1 block 64 1 1 args p:4096@2048 p:4096@2048 i32:250
// launch divide_run_time grid 4 1 1 block 64 1 1 args p:4096 i32:17 u32:13 i32:240
// launch negative_offsets grid 4 1 1 block 64 1 1 args p:1000 p:1000 i32:250
// analyse may_overflow grid 4096 1 1 block 256 1 1 args p:1000 i32:70000
// launch may_overflow grid 1 1 1 block 64 1 1 args p:1000 i32:3
// launch wide_index grid 4 1 1 block 64 1 1 args p:4096 i64:250 i64:2
// launch unsigned_window grid 4 1 1 block 64 1 1 args p:1000 p:1000 u32:250
// launch small_types grid 2 1 1 block 64 1 1 args p:4096 i16:100 u8:3
// launch bits grid 2 1 1 block 64 1 1 args p:4096
// launch volume grid 2 3 4 block 16 4 2 args p:65536 p:65536 i32:30 i32:11 i32:7
// launch from_end grid 4 1 1 block 64 1 1 args p:1000@1000 p:1000@1000 p:1000@1000 i32:250
// launch transpose grid 4 4 1 block 8 8 1 args p:4096 p:4096 i32:31 i32:29

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL wrap_remainder(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i < n) x[i] = y[(i + 1) % n] - y[(i + n - 1) % n];
}

KERNEL wrap_select(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i >= n) return;
    int right = i + 1 == n ? 0 : i + 1, left = i == 0 ? n - 1 : i - 1;
    x[i] = y[right] - y[left];
}

KERNEL wrap_2d(float *a, const float *b, int width, int height)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int east = x + 1 < width ? x + 1 : 0, north = y + 1 < height ? y + 1 : 0;
    a[y * width + x] = b[y * width + east] + b[north * width + x] + b[north * width + east];
}

KERNEL clamp(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i >= n) return;
    x[i] = y[min(i + 1, n - 1)] + y[max(i - 1, 0)];
}

KERNEL divide_constants(unsigned *x, const unsigned *y, unsigned n)
{
    unsigned i = INDEX;
    if (i >= n) return;
    x[i] = y[i / 2] + y[i / 3] + y[i / 5] + y[i / 7] + y[i / 10] + y[i % 3] + y[i % 7] + y[i % 10] + y[i / 641];
}

KERNEL divide_signed(int *x, const int *y, int n)
{
    int i = (int)INDEX - n / 2;
    x[i] = y[i / 2] + y[i / 3] + y[i / 5] + y[i / 7] + y[i / 10] + y[i % 4] + y[i % 7] + y[i / -3];
}

KERNEL divide_run_time(int *x, int row, unsigned column, int n)
{
    int i = INDEX;
    if (i >= n) return;
    x[i / row + 20 * (i % row)] = x[512 + (unsigned)i / column + (unsigned)i % column];
}

KERNEL negative_offsets(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i >= 2 && i < n - 2) x[i] = y[i - 2] - y[i - 1] + y[i + 1] - y[i + 2];
}

KERNEL may_overflow(float *x, int stride)
{
    int i = INDEX;
    x[i * stride] = 1;
}

KERNEL wide_index(float *x, long long n, long long stride)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i * stride] = x[(n - 1 - i) * stride + 1];
}

KERNEL unsigned_window(float *x, const float *y, unsigned n)
{
    unsigned i = INDEX;
    if (i - 1 < n - 2) x[i] = y[i - 1] + y[i + 1];
}

KERNEL small_types(float *x, short n, unsigned char step)
{
    short i = (short)INDEX;
    if (i < n) x[(unsigned char)(i * step) + (unsigned short)i] = 1;
}

KERNEL bits(float *x)
{
    unsigned i = INDEX;
    x[(i & 31) * 4 | (i >> 5)] = x[(i ^ 127) + ((i >> 2) & 3)] + x[i & ~7u] + x[i & 0x38];
}

KERNEL from_end(float *x, const float *y, const char *z, int n)
{
    int i = INDEX;
    if (i < n) x[-1 - i] = y[~i] + (float)z[((i & 15) ^ 12) - 16];
}

KERNEL volume(float *a, const float *b, int nx, int ny, int nz)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
        int i = (z * ny + y) * nx + x;
        a[i] = b[i - 1] + b[i + 1] + b[i - nx] + b[i + nx] + b[i - nx * ny] + b[i + nx * ny] - 6 * b[i];
    }
}

KERNEL transpose(float *a, const float *b, int width, int height)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) a[x * height + y] = b[y * width + x];
}
