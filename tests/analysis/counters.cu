// SPDX-License-Identifier: Apache-2.0
// Loop counters that are kept twice: as the 32-bit number of the program and, extended, beside a 64-bit bound.
// launch long_bound grid 3 1 1 block 32 1 1 args p:1000 p:1000 i64:250
// launch long_bound_unsigned grid 2 1 1 block 32 1 1 args p:4000 i64:200
// launch other_start grid 1 1 1 block 1 1 1 args p:4000 i64:100
// launch narrowed grid 1 1 1 block 32 1 1 args p:4000 i32:700

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL long_bound(float *x, const float *y, size_t n)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) x[i] = 2 * y[i];
}

KERNEL long_bound_unsigned(float *x, size_t n)
{
#pragma unroll 1
    for (unsigned i = INDEX; i < n; i += gridDim.x * blockDim.x) x[i] = 1;
}

// starts at 0, and goes on from 8: not the other counter's conversion
KERNEL other_start(float *x, long n)
{
    int i = 5;
    long k = 0;
#pragma unroll 1
    do {
        x[k] = 1;
        i += 3;
        k = i;
    } while (k < n);
}

// what is kept is the low 8 bits: 4, 104, 204, 48, 148, 248, 92
KERNEL narrowed(float *x, int n)
{
    int i = 4;
    unsigned char low = 4;
#pragma unroll 1
    do {
        x[low * 1 + threadIdx.x] = 1;
        i += 100;
        low = (unsigned char)i;
    } while (i < n);
}
