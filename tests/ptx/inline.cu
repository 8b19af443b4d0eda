// SPDX-License-Identifier: Apache-2.0
// What the compiler rarely writes by itself: vectors, halves, warp operations, atomics, fences, asynchronous copies,
// video instructions, predicates in pairs, texture fetches, nested scopes with equal names.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void vectors(const float4 *in, float4 *out, const __half2 *halves, __half2 *sums, __nv_bfloat16 *b)
{
    int i = threadIdx.x;
    float4 v = __ldg(&in[i]);
    out[i] = make_float4(v.w, v.z, v.y, v.x);
    sums[i] = __hfma2(halves[i], halves[i + 1], __float2half2_rn(0.5f));
    b[i] = __hadd(b[i], __float2bfloat16(1.5f));
    __stcg(&out[i + 64], __ldcs(&in[i + 64]));
    __stwt(&out[i + 65], __ldlu(&in[i + 65]));
}

__global__ void warps(unsigned *x, unsigned long long *y, float *f, double *d)
{
    unsigned i = threadIdx.x, v = x[i];
    v += __ballot_sync(~0u, v > 3) + __any_sync(~0u, v) + __all_sync(~0u, v) + __match_any_sync(~0u, v);
    v += __reduce_add_sync(~0u, v) + __shfl_xor_sync(~0u, v, 3) + __shfl_up_sync(~0u, v, 1) + __activemask();
    int all;
    v += __match_all_sync(~0u, v, &all) + all;
    v += __dp4a(v, v, 3u) + __vabsdiffu4(v, 7) + __vadd2(v, 3) + __byte_perm(v, v, 0x1234) + __funnelshift_l(v, v, 3);
    atomicAdd(&f[i], 1.0f);
    atomicMax(&x[i + 1], v);
    atomicCAS(&y[i], 1ull, 2ull);
    atomicExch_system(&x[i], v);
    y[i] = atomicAdd_block(&y[i + 1], 3ull);
    d[i] = __fma_rz(d[i], 2.0, 1e-300) + __dsqrt_rd(d[i]) + rsqrt(d[i]);
    f[i] = __sinf(f[i]) + __expf(f[i]) + __fdividef(f[i], 3.0f) + __frcp_rn(f[i]) + tanhf(f[i]);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __syncwarp(0xff);
    __nanosleep(100);
    x[i] = v + __syncthreads_count(v) + clock() + (unsigned)clock64();
    if (v == 77) __trap();
    if (v == 78) __brkpt();
}

__global__ void assembly(unsigned *x, float *f, cudaTextureObject_t texture, cudaSurfaceObject_t surface)
{
    __shared__ alignas(16) unsigned tile[128];
    unsigned i = threadIdx.x, v = x[i];
    f[i] = tex2D<float>(texture, i, 1) + tex1Dfetch<float>(texture, i);
    surf2Dwrite(f[i], surface, 4 * i, 0);
    for (int j = 0; j < 3; j++)
        asm volatile("{\n\t.reg .pred p, q;\n\t.reg .b32 r<3>;\n\tmov.b32 r0, 1 + 2 * (3 << 2);\n"
                     "\tsetp.lt.and.u32 p|q, %0, r0, !p;\n\t{\n\t.reg .b32 r0;\n\t.reg .pred p;\n\tmov.b32 r0, WARP_SZ;\n"
                     "\tadd.u32 %0, %0, r0;\n\tsetp.eq.u32 p, r0, 5;\n\t@!p bra AGAIN;\n\tadd.u32 %0, %0, 1;\nAGAIN:\n\t}\n"
                     "\t@q bra AGAIN;\n\tsub.u32 %0, %0, -3;\nAGAIN:\n\tadd.u32 r1, %0, r0;\n\tmov.b32 %0, r1;\n\t}"
                     : "+r"(v));
    unsigned address = (unsigned)__cvta_generic_to_shared(tile);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(x + 4) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0+64], 32;" ::"r"(address) : "memory");
    asm volatile("ld.global.L1::evict_last.L2::128B.v4.u32 {%0, _, _, _}, [%1+-16];" : "=r"(v) : "l"(x + 16));
    asm volatile("vadd.u32.u32.u32.sat %0, %0.b1, %1.h1;" : "+r"(v) : "r"(i));
    asm volatile("st.volatile.shared.v2.u32 [%0+8], {%1, 0xFFU};" ::"r"(address), "r"(v) : "memory");
    asm volatile("bar.sync 1, 64;\n\tbarrier.cta.arrive 2, 64;" ::: "memory");
    asm volatile("add.cc.u32 %0, %0, %1;\n\taddc.u32 %0, %0, 0;" : "+r"(v) : "r"(i));
    asm volatile("mov.u32 %0, %%envreg3;\n\tmov.u32 %0, %%cluster_ctaid.x;\n\tmov.u32 %0, %%lanemask_lt;" : "=r"(v));
    asm volatile("fma.rn.f32 %0, %0, 1.5, 0f3F800000;" : "+f"(f[i]));
    x[i] = v + tile[i];
}

__global__ void __cluster_dims__(2, 1, 1) clusters(int *x)
{
    __shared__ int tile[32];
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    tile[threadIdx.x] = x[threadIdx.x];
    cluster.sync();
    x[threadIdx.x] = cluster.map_shared_rank(tile, 1)[threadIdx.x];
    cooperative_groups::this_grid().sync();
}

__global__ void __launch_bounds__(256, 2, 4) bounds(const __grid_constant__ float4 big, float *out)
{
    out[threadIdx.x] = big.x + big.w + ((const float *)&big)[threadIdx.x & 3];
}
