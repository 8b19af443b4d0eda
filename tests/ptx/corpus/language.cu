// SPDX-License-Identifier: Apache-2.0
// What CUDA C++ can make of PTX, one kernel a subject: calls, tables, strings, half precision, tensor cores, asynchronous
// copies, clusters, textures, atomics of every kind. Compiled only.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <alloca.h>
#include <stdio.h>

__constant__ float weights[3][5] = {{1, 2, 3, 4, 5}, {-1, -2}, {0.5f}};
__constant__ struct {
    char name[6];
    short code;
    double values[2];
} records[2] = {{"first", 1, {1.5, -2.5}}, {"other", -2, {1e300, 1e-300}}};
__device__ unsigned long long counter = 0xfedcba9876543210ull;
__managed__ int shared_with_host = 7;
__device__ unsigned long long *pointer_to_counter = &counter;

struct shape {
    __device__ virtual float area() const = 0;
};
struct square : shape {
    float side;
    __device__ square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct circle : shape {
    float radius;
    __device__ circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159f * radius * radius; }
};
typedef float (*operation)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ operation operations[2] = {add, multiply};
__device__ __noinline__ long long ackermann(long long m, long long n)
{
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void virtual_calls(float *out, int which)
{
    square s(out[0]);
    circle c(out[1]);
    const shape *chosen = which + threadIdx.x & 1 ? static_cast<const shape *>(&s) : &c;
    out[threadIdx.x] = chosen->area();
}
__global__ void calls_through_a_table(float *out, int which) { out[threadIdx.x] = operations[which & 1](out[0], out[1]); }
__global__ void recursion(long long *out) { out[threadIdx.x] = ackermann(out[0], threadIdx.x); }
__global__ void prints(int n) { printf("%d of %s: %f\n", n, records[n & 1].name, records[n & 1].values[0]); }
__global__ void constants(float *out, int i, int j) { out[threadIdx.x] = weights[i][j] + records[i].code + counter + shared_with_host + *pointer_to_counter; }
__global__ void switches(int *out, int n)
{
    switch (n) {
    case 0: out[0] = 1; break;
    case 1: out[1] = n * 77; break;
    case 2: out[2] = out[3] / n; break;
    case 3: out[3] = __popc(out[n]); break;
    case 4: out[4] = __brev(out[n]); break;
    case 5: out[5] = __clz(out[n]); break;
    case 6: out[6] = __byte_perm(out[n], out[0], 0x5140); break;
    case 7: out[7] = __ffs(out[n]); break;
    case 8: out[8] = out[9] % 10; break;
    default: __trap();
    }
}
template <typename T> __global__ void arithmetic(T *x, T *y)
{
    T a = x[threadIdx.x], b = y[threadIdx.x];
    x[threadIdx.x] = a * b + a / b - (a < b ? a : b);
    y[threadIdx.x] = a == b ? T(0) : a;
}
template __global__ void arithmetic(signed char *, signed char *);
template __global__ void arithmetic(unsigned short *, unsigned short *);
template __global__ void arithmetic(int *, int *);
template __global__ void arithmetic(unsigned *, unsigned *);
template __global__ void arithmetic(long long *, long long *);
template __global__ void arithmetic(unsigned long long *, unsigned long long *);
template __global__ void arithmetic(float *, float *);
template __global__ void arithmetic(double *, double *);
template __global__ void arithmetic(__half *, __half *);
__global__ void wide_integers(__int128 *x) { x[threadIdx.x] = x[0] * x[1] / (x[2] | 1) + (x[3] >> threadIdx.x); }
template <typename T> __global__ void functions(T *x)
{
    T a = x[threadIdx.x];
    x[threadIdx.x] = sin(a) + exp(a) * pow(a, T(1.7)) - log(a) + sqrt(a) / cbrt(a) + erf(a) + fmod(a, T(3)) + tgamma(a);
}
template __global__ void functions(float *);
template __global__ void functions(double *);
__global__ void rounding(float *x, double *y, int *i)
{
    x[0] = __fadd_rd(x[1], x[2]) + __fmul_ru(x[3], x[4]) + __fdiv_rz(x[5], x[6]) + __fsqrt_rn(x[7]) + __frcp_ru(x[8]);
    y[0] = __dadd_rz(y[1], y[2]) * __dmul_rd(y[3], y[4]) + __fma_ru(y[5], y[6], y[7]);
    i[0] = __float2int_rd(x[9]) + __double2int_ru(y[8]) + __float2int_rz(__sinf(x[10])) + __float_as_int(__saturatef(x[11]));
    x[1] = __int2float_ru(i[1]) + __ull2float_rz(counter) + __expf(x[2]) + rsqrtf(x[3]) + __fdividef(x[4], x[5]);
}
__global__ void halves(__half2 *x, __nv_bfloat162 *y, float *z)
{
    x[0] = __hfma2(x[1], x[2], x[3]);
    x[4] = h2exp(x[5]);
    y[0] = __hmul2(y[1], __float2bfloat162_rn(z[0]));
    z[1] = __half2float(__low2half(x[6])) + __bfloat162float(y[2].x);
}
__global__ void atomics(int *i, unsigned long long *u, float *f, double *d, unsigned short *h)
{
    atomicAdd(i, 1), atomicMax(i + 1, 3), atomicMin(i + 2, 4), atomicExch(i + 3, 5), atomicCAS(i + 4, 6, 7);
    atomicAnd(i + 5, 8), atomicOr(i + 6, 9), atomicXor(i + 7, 10), atomicInc((unsigned *)i + 8, 11), atomicDec((unsigned *)i + 9, 12);
    u[0] = atomicAdd(u + 1, 13ull) + atomicCAS_system(u + 2, 14ull, 15ull) + atomicMax_block(u + 3, 16ull);
    f[0] = atomicAdd(f + 1, 1.0f) + atomicExch(f + 2, 2.0f);
    d[0] = atomicAdd(d + 1, 3.0);
    h[0] = atomicCAS(h + 1, (unsigned short)1, (unsigned short)2);
    __threadfence(), __threadfence_block(), __threadfence_system();
}
__global__ void warps(int *x)
{
    unsigned mask = __activemask();
    int a = x[threadIdx.x];
    a += __shfl_sync(mask, a, 3) + __shfl_up_sync(mask, a, 1) + __shfl_down_sync(mask, a, 2, 16) + __shfl_xor_sync(mask, a, 4);
    a += __ballot_sync(mask, a > 3) + __any_sync(mask, a) + __all_sync(mask, a) + __match_any_sync(mask, a);
    __syncwarp(mask);
    x[threadIdx.x] = a + __syncthreads_count(a) + __syncthreads_or(a) + __syncthreads_and(a);
}
__global__ void groups(int *x)
{
    namespace cg = cooperative_groups;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    x[tile.thread_rank()] = tile.shfl_down(x[0], 1) + cg::coalesced_threads().num_threads();
    cg::this_grid().sync();
}
__global__ void textures(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float4 *out, int x)
{
    out[0] = tex2D<float4>(texture, 0.5f, 1.5f);
    out[1] = tex1Dfetch<float4>(texture, x);
    out[2] = tex3D<float4>(texture, 0.5f, 1.5f, 2.5f);
    out[3] = tex2DLayered<float4>(texture, 0.5f, 1.5f, 3);
    out[4] = tex2Dgather<float4>(texture, 0.5f, 1.5f, 1);
    out[5] = texCubemap<float4>(texture, 0.5f, 1.5f, 2.5f);
    surf2Dwrite(out[6], surface, x * 16, 2);
    surf1Dread(&out[7], surface, x * 16);
}
__global__ void tensor_cores(const __half *a, const __half *b, float *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, col_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    fill_fragment(sum, 0);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(c, sum, 16, mem_row_major);
}
__global__ void copies_in_flight(const int4 *in, int4 *out)
{
    extern __shared__ int4 stage[];
    __pipeline_memcpy_async(stage + threadIdx.x, in + threadIdx.x, 16);
    __pipeline_memcpy_async((int *)stage + threadIdx.x, (const int *)in + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = stage[threadIdx.x ^ 1];
}
__global__ void caches(const double2 *in, double2 *out)
{
    double2 a = __ldg(in), b = __ldcs(in + 1), c = __ldcg(in + 2), d = __ldlu(in + 3), e = __ldcv(in + 4);
    __stcs(out, a), __stcg(out + 1, b), __stwt(out + 2, c), __stwb(out + 3, d);
    out[4] = e;
    out[5] = *const_cast<const double2 *>(in + __isGlobal(in) + __isShared(in));
}
__global__ void __launch_bounds__(128, 4) bounds(float *x) { x[threadIdx.x] *= 2; }
__global__ void dynamic_stack(char *out, int n)
{
    char *space = static_cast<char *>(alloca(n));
    for (int i = 0; i < n; i++) space[i] = out[i];
    for (int i = 0; i < n; i++) out[i] = space[n - 1 - i];
}
__global__ void by_value(const __grid_constant__ float4 a, char3 b, double c, short d, float4 *out)
{
    out[threadIdx.x] = make_float4(a.x + b.x, a.y * b.y, a.z - b.z, float(c) + d);
}
__global__ void clocks(long long *out)
{
    unsigned sm, lane;
    asm volatile("mov.u32 %0, %%smid;\n\tmov.u32 %1, %%laneid;" : "=r"(sm), "=r"(lane));
    out[0] = clock64() + clock() + sm + lane;
}
