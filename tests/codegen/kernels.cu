/* SPDX-License-Identifier: Apache-2.0
 * Kernels that the fusion tests join. kernels.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o kernels.ptx kernels.cu                                          */
#include <cuda_fp16.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void add(float *x, const float *w, const float *y, int n)
{
    int i = INDEX;
    if (i < n) x[i] = w[i] + y[i];
}

extern "C" __global__ void add_to(float *x, const float *z, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] + z[i];
}

extern "C" __global__ void multiply(float *x, const float *w, const float *y, int n)
{
    int i = INDEX;
    if (i < n) x[i] = w[i] * y[i];
}

extern "C" __global__ void square_and_shift(float *x, float *y, float c, int n)
{
    int i = INDEX;
    if (i >= n) return;
    float square = x[i] * x[i];
    y[i] = square + c; /* contracted: the product must not be forwarded */
    x[i] = square;
}

extern "C" __global__ void chain_step(float *x, float a, float b, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] * a + b;
}

extern "C" __global__ void grid_stride(double *x, const double *__restrict__ w, int n)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) x[i] += w[i];
}

extern "C" __global__ void scale_double(double *x, double a, int n)
{
    int i = INDEX;
    if (i < n) x[i] = a * x[i];
}

struct box {
    double scale;
    int nx, ny;
    signed char shift;
    unsigned short mask;
};

extern "C" __global__ void plane(double *u, const double *v, box b)
{
    int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < b.nx && y < b.ny) u[y * b.nx + x] = b.scale * v[y * b.nx + x] + b.shift + b.mask;
}

extern "C" __global__ void line(double *u, double *w, int n)
{
    int i = INDEX;
    if (i < n) w[i] = u[i] - 1.0;
}

extern "C" __global__ void stencil(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];
}

extern "C" __global__ void reversed(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[n - 1 - i];
}

extern "C" __global__ void shifted(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i + 1] = x[i] + 1.0f;
}

extern "C" __global__ void bytes(unsigned char *b, const short *s, int n)
{
    int i = INDEX;
    if (i < n) b[i] = (unsigned char)(s[i] * 3);
}

extern "C" __global__ void from_bytes(int *r, const unsigned char *b, int n)
{
    int i = INDEX;
    if (i < n) r[i] = (signed char)b[i] + r[i];
}

extern "C" __global__ void pairs(float2 *p, const float2 *q, int n)
{
    int i = INDEX;
    if (i < n) {
        float2 value = q[i];
        p[i] = make_float2(value.y, value.x + 1.0f);
    }
}

extern "C" __global__ void pairs_again(float2 *p, int n)
{
    int i = INDEX;
    if (i < n) {
        float2 value = p[i];
        p[i] = make_float2(value.x * 0.5f, value.y);
    }
}

extern "C" __global__ void clear_even(float *x, int n)
{
    int i = INDEX;
    if (i < n && i % 2 == 0) x[i] = 0.0f;
}

extern "C" __global__ void clip(float *x, float limit, int n)
{
    int i = INDEX;
    if (i < n)
        if (x[i] > limit) x[i] = limit; /* a store that data decides */
}

extern "C" __global__ void read_only(float *y, const float *__restrict__ x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * 2.0f;
}

extern "C" __global__ void sum_loop(float *y, const float *x, int n, int terms)
{
    int i = INDEX;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < terms; k++) sum += x[i * terms + k];
    y[i] = sum;
}

extern "C" __global__ void count_up(int *c, int n)
{
    int i = INDEX;
    if (i < n) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(&c[i / 2])), "r"(1) : "memory");
}

extern "C" __global__ void half_multiply(__half2 *x, const __half2 *w, int n)
{
    int i = INDEX;
    if (i < n) x[i] = __hmul2(w[i], x[i]);
}

extern "C" __global__ void half_add(__half2 *x, const __half2 *w, int n)
{
    int i = INDEX;
    if (i < n) x[i] = __hadd2(x[i], w[i]);
}

extern "C" __global__ void half_scalars(__half *x, __half a, int n)
{
    int i = INDEX;
    if (i < n) x[i] = __hadd(x[i], a);
}

extern "C" __global__ void watched(volatile float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] + 1.0f;
}

extern "C" __global__ void predicated(float *x, const float *y, int n)
{
    int i = INDEX;
    asm volatile("{ .reg .pred p; .reg .f32 a; setp.lt.s32 p, %0, %1;\n"
                 "mov.f32 a, 0f3F800000; @p ld.global.f32 a, [%2]; @!p bra done; add.f32 a, a, 0f3F800000;\n"
                 "@p st.global.f32 [%3], a;\ndone:\n}" ::"r"(i),
                 "r"(n), "l"(__cvta_generic_to_global(y + i)), "l"(__cvta_generic_to_global(x + i))
                 : "memory");
}

extern "C" __global__ void sorted(float *x, const float *y, int n, int rank)
{
    int i = INDEX;
    if (i >= n) return;
    float window[5]; /* indexed by a variable: local memory */
    for (int k = 0; k < 5; k++) window[k] = y[i] * (k - 2);
    x[i] = window[rank] + window[(rank + 1) % 5];
}

extern "C" __global__ void nested(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i < n) {
        float value = y[i];
        if (value > 0.0f) {
            for (int k = 0; k < 3 && value < 8.0f; k++) value = value * value + 0.5f;
        } else {
            value = -value;
        }
        x[i] = value;
    }
}

extern "C" __global__ void longs(long long *x, const int *y, unsigned long long a, int n)
{
    int i = INDEX;
    if (i < n) x[i] = (x[i] ^ (long long)a) / (y[i] | 1);
}

extern "C" __global__ void sincos_of(float *x, const float *y, int n)
{
    int i = INDEX;
    if (i < n) x[i] = sinf(y[i]) + cosf(y[i]);
}

extern "C" __global__ void log_of(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = logf(fabsf(x[i]) + 1e-3f) / 3.0f;
}

/* Products that only the assembler contracts, into differences. */
extern "C" __global__ void take_away(float *x, const float *w, float a, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] - a * w[i];
}

extern "C" __global__ void line_away(double *u, double *w, int n)
{
    int i = INDEX;
    if (i < n) w[i] = u[i] * 0.3 - w[i] * u[i] * w[i];
}

/* Wants registers; the other leaves few of them. */
extern "C" __global__ void many_values(float *x, const float *w, int n)
{
    float values[64];
    int i = INDEX;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < 64; k++) values[k] = w[(i + k) % n];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 64; k++) sum = sum * values[63 - k] + values[k];
    x[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 8) in_many_blocks(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] + 1;
}

__device__ float root_of(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

/* A root of what every launch of the group has in common, and of each element. */
extern "C" __global__ void by_root(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * root_of((float)n);
}

extern "C" __global__ void roots(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = root_of(x[i]);
}

extern "C" __global__ void sevens(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = 7;
}

/* It asks for nothing. */
extern "C" __global__ void idle()
{
    asm volatile("{ .reg .b32 seven; mov.b32 seven, 7; }");
}
