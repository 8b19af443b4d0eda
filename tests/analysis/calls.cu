// SPDX-License-Identifier: Apache-2.0
// Functions that nvcc leaves to be called: what they touch is what their callers touch.
// launch index_by_call grid 2 1 1 block 32 1 1 args p:4096 p:4096 i32:50
// launch write_by_call grid 2 1 1 block 32 1 1 args p:4096 i32:50
// launch called_twice grid 2 1 1 block 32 1 1 args p:4096 i32:50
// launch struct_by_call grid 2 1 1 block 32 1 1 args p:4096 i32:50
// launch sum_by_call grid 2 1 1 block 32 1 1 args p:4096 p:8192 i32:50
// launch narrow_by_call grid 2 1 1 block 32 1 1 args p:4096
// launch bytes_by_call grid 2 1 1 block 32 1 1 args p:4096
// launch nested_calls grid 2 1 1 block 32 1 1 args p:4096
// analyse pointer_call grid 2 1 1 block 32 1 1 args p:4096
// analyse recursive_call grid 2 1 1 block 32 1 1 args p:4096
// analyse undefined_call grid 2 1 1 block 32 1 1 args p:4096

#include <stdio.h>

#define KERNEL extern "C" __global__ void
#define CALLED extern "C" __device__ __noinline__
#define I (int)(blockIdx.x * blockDim.x + threadIdx.x)

CALLED int mirrored(int i, int n)
{
    if (i < 3) return i;
    return n - 1 - i;
}

CALLED void write_at(float *to, int i, float value)
{
    to[i + 1] = value;
}

struct place {
    int row, column;
    double weight;
};

CALLED place turned(place from)
{
    place to = {from.column, from.row, from.weight + 1.0};
    return to;
}

CALLED float sum_of_four(const float *from)
{
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 4; k++) sum += from[k];
    return sum;
}

CALLED short narrowed(signed char a, unsigned short b)
{
    return (short)(a * b);
}

struct eight {
    unsigned char bytes[8];
};

CALLED unsigned long long folded(eight in)
{
    unsigned long long all = 0;
    for (int k = 0; k < 8; k++) all = all * 31 + in.bytes[k];
    return all;
}

CALLED int deeper(int i)
{
    return mirrored(i, 64) + 1;
}

CALLED int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1) + factorial(n - 2);
}

KERNEL index_by_call(float *out, const float *in, int n)
{
    if (I < n) out[I] = in[mirrored(I, n)];
}

KERNEL write_by_call(float *out, int n)
{
    if (I < n) write_at(out, I, 1.0f * I);
}

KERNEL called_twice(float *out, int n)
{
    if (I >= n) return;
    write_at(out, I, 2.0f);
    write_at(out + 200, 2 * I, 3.0f);
}

KERNEL struct_by_call(double *out, int n)
{
    if (I >= n) return;
    place from = {I, 2 * I, 0.5};
    place to = turned(from);
    out[to.row + to.column] = to.weight;
}

KERNEL sum_by_call(float *out, const float *in, int n)
{
    if (I < n) out[I] = sum_of_four(in + 4 * I);
}

KERNEL narrow_by_call(int *out)
{
    out[I] = narrowed((signed char)(100 + 3 * I), (unsigned short)(2 * I));
}

KERNEL bytes_by_call(unsigned long long *out)
{
    eight in;
    for (int k = 0; k < 8; k++) in.bytes[k] = (unsigned char)(k * I);
    out[I] = folded(in);
}

KERNEL nested_calls(int *out)
{
    out[deeper(I)] = mirrored(I, 10);
}

__device__ int one(int i) { return i; }
__device__ int two(int i) { return 2 * i; }
__device__ int (*const either[2])(int) = {one, two};

KERNEL pointer_call(int *out)
{
    out[I] = either[I & 1](I);
}

KERNEL recursive_call(int *out)
{
    out[I] = factorial(I);
}

KERNEL undefined_call(int *out)
{
    printf("%d\n", out[I]);
    out[I] = 0;
}
