// SPDX-License-Identifier: Apache-2.0
// Kernels of test_engine.c; engine_kernels.ptx is made from this file by
//   nvcc -arch=sm_90 -ptx -o engine_kernels.ptx engine_kernels.cu
#define GLOBAL extern "C" __global__ void

GLOBAL branches(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i], sum = 0;
    for (int k = 0; k < value; k++) {
        if (k % 3 == 0)
            continue;
        if (k > 20 && (i & 1))
            break;
        sum += (k & 1) ? k * i : -k;
    }
    switch (value & 7) {
    case 0: sum += 100; break;
    case 1: sum -= 7; break;
    case 2: sum *= 3; break;
    case 3: sum ^= 0x55; break;
    case 4: sum = ~sum; break;
    case 5: sum <<= 2; break;
    default: sum += i; break;
    }
    if (value < 0)
        return;
    out[i] = sum;
}

GLOBAL reduce(int *out, const int *in, int n)
{
    __shared__ int part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

/* half of the threads are gone when the others meet at the barrier */
GLOBAL early_exit(int *out)
{
    __shared__ int part[128];
    if (threadIdx.x & 1)
        return;
    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = part[(threadIdx.x + 2) % 128];
}

GLOBAL barrier_votes(int *out)
{
    int count = __syncthreads_count(threadIdx.x % 3 == 0);
    int all = __syncthreads_and(threadIdx.x < 1000), some = __syncthreads_or(threadIdx.x == 77);
    out[threadIdx.x] = count * 4 + all * 2 + some;
}

/* warps 0-1 and 2-3 meet at barriers of their own, 4 times */
GLOBAL named_barriers(int *out)
{
    __shared__ int part[128];
    int half = threadIdx.x / 64;
    part[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < 4; k++) {
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        int next = part[half * 64 + (threadIdx.x + 33) % 64];
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        part[threadIdx.x] = next + 1;
    }
    out[threadIdx.x] = part[threadIdx.x];
}

GLOBAL shuffles(int *out)
{
    int lane = threadIdx.x & 31, v = threadIdx.x * 3;
    int *row = out + threadIdx.x * 12;
    row[0] = __shfl_sync(~0u, v, 5);
    row[1] = __shfl_up_sync(~0u, v, 3);
    row[2] = __shfl_down_sync(~0u, v, 4, 8);
    row[3] = __shfl_xor_sync(~0u, v, 9);
    row[4] = __shfl_sync(~0u, v, lane + 1, 16);
    row[5] = __ballot_sync(~0u, lane % 5 == 0);
    row[6] = __any_sync(~0u, lane == 40) * 2 + __all_sync(~0u, lane < 32);
    row[7] = __match_any_sync(~0u, lane / 7);
    int same;
    row[8] = __match_all_sync(~0u, 12, &same) + same;
    row[9] = __reduce_add_sync(~0u, (unsigned)lane);
    row[10] = __reduce_max_sync(~0u, lane - 40);
    row[11] = lane < 10 ? __activemask() : __shfl_xor_sync(0xfffffc00u, v, 1);
}

GLOBAL atomics(int *counters, float *sum, double *sum64, unsigned long long *big)
{
    __shared__ int local[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 4)
        local[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counters[0], 1);
    atomicMax(&counters[1], i);
    atomicMin(&counters[2], -i);
    atomicXor(&counters[3], i);
    atomicOr(&counters[4], 1 << (i & 31));
    atomicAnd(&counters[5], ~(1 << (i & 15)));
    atomicAdd(&local[i & 3], 2);
    atomicAdd(big, 0x100000001ull);
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&counters[6], local[threadIdx.x]);
    if (sum) {
        atomicAdd(sum, 0.5f);
        atomicAdd(sum64, 0.25);
        atomicInc((unsigned *)&counters[7], 99);
        int old = counters[8], seen;
        do {
            seen = old;
            old = atomicCAS(&counters[8], seen, seen + 2);
        } while (old != seen);
        atomicAdd(&counters[9], atomicExch(&counters[10], i));
    }
}

GLOBAL dynamic_shared(int *out)
{
    extern __shared__ int pool[];
    __shared__ int fixed[32];
    fixed[threadIdx.x & 31] = 5;
    pool[threadIdx.x] = threadIdx.x * 2;
    __syncthreads();
    out[threadIdx.x] = pool[blockDim.x - 1 - threadIdx.x] + fixed[3];
}

GLOBAL local_array(int *out, int n)
{
    int a[32];
    for (int k = 0; k < 32; k++)
        a[(k * 7 + n) & 31] = k + threadIdx.x;
    int s = 0;
    for (int k = 0; k < 32; k++)
        s = s * 3 + a[(k + threadIdx.x) & 31];
    out[threadIdx.x] = s;
}

struct settings { double scale; int offset; short step[3]; char tag; };
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int variable = 17;
__device__ int *pointer_to_variable = &variable;

GLOBAL variables(double *out, settings s)
{
    int i = threadIdx.x;
    out[i] = s.scale * table[i & 7] + s.offset + s.step[i % 3] + s.tag + *pointer_to_variable;
}

__device__ __noinline__ int triangle(int n, int *extra)
{
    int s = 0;
    for (int k = 0; k <= n; k++)
        s += k;
    *extra += s;
    return s;
}
__device__ __noinline__ float half_of(float x) { return x / 2; }
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float twice_plus(float x) { return twice(x) + 1; }

GLOBAL calls(int *out, int n)
{
    int extra = threadIdx.x;
    int s = threadIdx.x < n ? triangle(threadIdx.x, &extra) : -1;
    out[threadIdx.x] = s + 2 * extra;
}

typedef float (*function)(float);
__device__ function functions[3] = {half_of, twice, twice_plus};
GLOBAL indirect(float *out)
{
    out[threadIdx.x] = functions[threadIdx.x % 3](threadIdx.x);
}

GLOBAL generic(int *out, int use_shared)
{
    __shared__ int a[64];
    int b[4] = {1, 2, 3, 4};
    a[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int *p = use_shared ? &a[threadIdx.x ^ 1] : threadIdx.x & 1 ? &b[threadIdx.x & 3] : &out[64 + threadIdx.x];
    *p += 10;
    __syncthreads();
    out[threadIdx.x] = *p + b[3] + a[threadIdx.x];
}

GLOBAL vectors(float4 *out, const float4 *in, const unsigned char *bytes, short2 *shorts)
{
    int i = threadIdx.x;
    float4 v = in[i];
    v.x += bytes[i];
    v.w = v.y * v.z;
    out[i] = v;
    shorts[i] = make_short2(-i, (signed char)bytes[i]);
}

/* --- faults and races */
GLOBAL write_at(int *out, long long index) { out[index + threadIdx.x] = 1; }
GLOBAL forever(volatile int *flag) { while (*flag == 0) { } }
GLOBAL stuck(int *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    out[0] = 1;
}
GLOBAL trapped(int n) { if (threadIdx.x == n) __trap(); }
GLOBAL neighbours(int *a) /* a race: every thread reads what the next one writes */
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = a[i + 1] + 1;
}
GLOBAL shared_race(int *out, int has_barrier)
{
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    if (has_barrier)
        __syncthreads();
    out[threadIdx.x] = part[63 - threadIdx.x];
}
GLOBAL across_blocks(int *out, int *a) /* block b reads what block b - 1 writes */
{
    int i = threadIdx.x;
    a[blockIdx.x * 64 + i] = i;
    __syncthreads();
    out[blockIdx.x * 64 + i] = a[(blockIdx.x ? blockIdx.x - 1 : 0) * 64 + i];
}
GLOBAL bytes_apart(char *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
GLOBAL count_up(int *a, int *order) { order[atomicAdd(a, 1)] = blockIdx.x * blockDim.x + threadIdx.x; }
/* a lock held by one lane of a warp after the other */
GLOBAL locked(int *lock, int *value)
{
    while (atomicCAS(lock, 0, 1) != 0) { }
    *(volatile int *)value = *(volatile int *)value + 1;
    __threadfence();
    atomicExch(lock, 0);
}
/* warp 1 waits for warp 0, without a barrier */
GLOBAL handshake(int *out)
{
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        while (flag == 0) { }
    if (threadIdx.x == 32)
        flag = 1;
    out[threadIdx.x] = threadIdx.x;
}
/* --- bench_engine.c */
GLOBAL add_arrays(float *x, const float *w, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = w[i] + y[i];
}
GLOBAL polynomial(float *x, const float *w, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = w[i], b = y[i];
#pragma unroll 1
    for (int k = 0; k < 100; k++)
        a = a * b + 0.5f;
    x[i] = a;
}
GLOBAL stencil(double *x, const double *w, const double *y, int n)
{
    int width = 1 << 11, i = blockIdx.x * blockDim.x + threadIdx.x, column = i & (width - 1), row = i / width;
    if (column == 0 || row == 0 || column == width - 1 || i + width >= n)
        return;
    double flux = (w[i + 1] - w[i - 1]) * y[i] + (w[i + width] - w[i - width]) * y[i + 1];
    x[i] = w[i] * 0.5 + flux / (1.0 + y[i] * y[i]);
}
GLOBAL __launch_bounds__(1024) many_values(double *x)
{
    double values[80], sum = 0;
#pragma unroll
    for (int k = 0; k < 80; k++)
        values[k] = ((volatile double *)x)[k * 1024 + threadIdx.x];
#pragma unroll
    for (int k = 0; k < 80; k++)
        sum = sum * values[k] + values[79 - k];
    x[threadIdx.x] = sum;
}
