// SPDX-License-Identifier: Apache-2.0
// Control flow that is no loop, arguments of every kind, and what bars a kernel.
// variable size i32:100 i32:7
// variable table i32:3 i32:1 i32:2 i32:0
// launch struct_arguments grid 1 1 1 block 128 1 1 args p:4096 p:4096 i32:100 i32:3 f64:2 i64:5
// launch switch_cases grid 1 1 1 block 32 1 1 args p:4096 i32:30
// launch switch_table grid 1 1 1 block 32 1 1 args p:4096 p:4096
// launch data_branch grid 1 1 1 block 64 1 1 args p:256 p:256
// launch data_index grid 1 1 1 block 64 1 1 args p:4096:16 p:4096
// launch scalar_branch grid 1 1 1 block 64 1 1 args p:4096 p:4096 i32:1 f32:2
// launch scalar_branch grid 1 1 1 block 64 1 1 args p:4096 p:4096 i32:0 f32:2
// launch stored_scalar grid 1 1 1 block 64 1 1 args p:4096 i32:42 i32:60
// launch null_pointer grid 1 1 1 block 64 1 1 args p:4096 i64:0 i32:60
// launch vectors grid 1 1 1 block 64 1 1 args p:4096 p:4096
// launch vectors64 grid 1 1 1 block 64 1 1 args p:4096 p:4096
// launch atomics grid 1 1 1 block 64 1 1 args p:4096:16 p:4096 p:4096
// launch integer_atomics grid 1 1 1 block 64 1 1 args p:4096
// launch constants grid 1 1 1 block 128 1 1 args p:4096
// launch constant_table grid 1 1 1 block 64 1 1 args p:4096
// launch device_variable grid 1 1 1 block 64 1 1 args p:4096
// launch barriers grid 1 1 1 block 64 1 1 args p:4096
// launch warp_sum grid 1 1 1 block 64 1 1 args p:4096
// launch local_array grid 1 1 1 block 64 1 1 args p:4096 i32:3
// launch chase grid 1 1 1 block 32 1 1 args p:4096:1
// launch two_pointers grid 1 1 1 block 64 1 1 args p:4096 p:4096 i32:1
// launch pick_pointer grid 1 1 1 block 64 1 1 args p:4096 p:4096
// launch volatile_load grid 1 1 1 block 64 1 1 args p:4096
// launch boundary grid 2 2 1 block 16 16 1 args p:16384 i32:30 i32:28
// launch constant_scalar grid 1 1 1 block 64 1 1 args p:4096 f64:1.5
// launch several_signs grid 1 1 1 block 64 1 1 args p:4096 i32:60 i32:5 i32:9
// launch sign_after_loop grid 1 1 1 block 64 1 1 args p:4096 i32:6 i32:9
// launch every_other grid 1 1 1 block 64 1 1 args p:256

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

struct field {
    float *out;
    const float *in;
    int n, stride;
    double factor;
    long long offset;
};
__constant__ int size[2];
__constant__ int table[4];
__device__ int counter;

KERNEL struct_arguments(struct field f)
{
    int i = INDEX;
    if (i < f.n) f.out[i * f.stride + f.offset] = (float)(f.in[i] * f.factor);
}

KERNEL switch_cases(float *a, int n)
{
    int i = INDEX;
    switch (i % 4) {
    case 0: a[i] = 1; break;
    case 1: a[i + 100] = 2; break;
    case 2:
        if (i < n) a[i + 200] = 3;
        break;
    default: return;
    }
    a[i + 300] = 4;
}

KERNEL switch_table(float *a, const float *b)
{
    int i = INDEX;
    float value;
    switch (i) {
    case 0: value = b[40] * 2; break;
    case 1: value = __sinf(b[51]); break;
    case 2: value = b[62] / 3; a[999] = 2; break;
    case 3: value = sqrtf(b[73]); break;
    case 4: value = b[84] + b[85]; break;
    case 5: value = __expf(b[95]); break;
    case 6: value = b[106] - 1; break;
    case 7: value = __logf(b[117]); a[1000] = 1; break;
    default: value = 0; break;
    }
    a[i] = value;
}

KERNEL data_branch(const float *a, float *b)
{
    int i = INDEX;
    if (a[i] > 0)
        b[i] = 1;
    else if (i < 32)
        b[i + 16] = 2;
}

KERNEL data_index(const int *a, float *b)
{
    int i = INDEX;
    b[a[i]] = 1;
    b[i + 200] = 2;
}

KERNEL scalar_branch(float *a, float *b, int which, float factor)
{
    int i = INDEX;
    if (which)
        a[i] = factor;
    else
        b[i] = factor;
}

KERNEL stored_scalar(int *a, int value, int n)
{
    int i = INDEX;
    if (i < n) a[i] = value;
}

KERNEL null_pointer(float *a, const float *b, int n)
{
    int i = INDEX;
    if (i < n) a[i] = b ? b[i] : 0;
}

KERNEL vectors(float4 *a, const float4 *b)
{
    int i = INDEX;
    float4 v = b[i];
    v.x += v.w;
    a[i] = v;
}

KERNEL vectors64(double2 *a, const float2 *b)
{
    int i = INDEX;
    float2 v = b[i + 1];
    a[i] = make_double2(v.x, v.y);
}

KERNEL atomics(const int *bins, int *histogram, float *sum)
{
    int i = INDEX;
    atomicAdd(&histogram[bins[i]], 1);
    atomicAdd(&sum[i % 4], 1.0f);
    histogram[100 + atomicAdd(&histogram[64], 1)] = i;
}

KERNEL integer_atomics(int *a)
{
    int i = INDEX;
    atomicAdd(&a[i % 8], 1);
    atomicMax(&a[16 + i / 8], i);
}

KERNEL constants(float *a)
{
    int i = INDEX;
    if (i < size[0]) a[i * size[1]] = 1;
}

KERNEL constant_table(float *a)
{
    int i = INDEX;
    a[table[i & 3] * 64 + i] = 1;
}

KERNEL device_variable(float *a)
{
    int i = INDEX;
    if (i == 0) counter = 5;
    a[i] = (float)i;
}

KERNEL barriers(float *a)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = tile[63 - threadIdx.x];
}

KERNEL warp_sum(float *a)
{
    float v = a[threadIdx.x];
    v += __shfl_down_sync(0xffffffff, v, 1);
    a[threadIdx.x] = v;
}

KERNEL local_array(float *a, int n)
{
    float values[16];
    for (int k = 0; k < 16; k++) values[k] = a[threadIdx.x + k];
    a[threadIdx.x] = values[(threadIdx.x * n) & 15];
}

KERNEL chase(float **a)
{
    if (a[threadIdx.x]) a[threadIdx.x][0] = 1;
}

KERNEL two_pointers(float *a, float *b, int which)
{
    float *p = which ? a : b;
    p[threadIdx.x] = 1;
}

KERNEL pick_pointer(float *a, float *b)
{
    float *p = threadIdx.x & 1 ? a : b;
    p[threadIdx.x] = 1;
}

KERNEL volatile_load(volatile int *a)
{
    a[threadIdx.x] = a[threadIdx.x + 64];
}

KERNEL boundary(float *a, int width, int height)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        a[y * width + x] = 0;
    else
        a[y * width + x] = a[y * width + x] * 2;
}

KERNEL constant_scalar(double *a, double factor)
{
    int i = INDEX;
    a[i] = a[i] > factor ? factor : a[i];
}

/* Several indices tested at once, by the sign of their or. */
KERNEL several_signs(float *a, int n, int before, int skipped)
{
    int i = INDEX - before, j = INDEX - skipped, k = n - 1 - (int)INDEX;
    if ((i | j | k) < 0) return;
    a[i] = 1;
    if ((i | (before - 2 - i)) >= 0) a[i + 64] = 2;
}

/* The or belongs to the loop's last round. */
KERNEL sign_after_loop(float *a, int n, int limit)
{
    int sign = 0;
    for (int r = 0; r < n; r++) {
        a[threadIdx.x + 64 * r] = 1;
        sign = (limit - 7 * r - (int)threadIdx.x) | ((int)threadIdx.x - 3 * r);
    }
    if (sign < 0) a[threadIdx.x + 512] = 2;
}

/* The test comes as mov.pred p, 0 and xor.pred. */
KERNEL every_other(float *a)
{
    int i = INDEX;
    if (i % 2 == 0) a[i] = 1;
}
