// SPDX-License-Identifier: Apache-2.0
// Kernels for images.sh: one that is right, and one of each kind that is not.
#include <cstdint>
__constant__ uint32_t factor = 3;
extern "C" __global__ void right(uint32_t *x)
{
    x[threadIdx.x] = factor * threadIdx.x;
}
extern "C" __global__ void beyond(uint32_t *x)
{
    x[threadIdx.x + 100000] = 1;
}
extern "C" __global__ void askew(uint32_t *x)
{
    *(uint64_t *)((char *)x + 4) = 1;
}
extern "C" __global__ void hung(volatile uint32_t *x)
{
    while (x[0] != 12345) x[1] = 1;
}
extern "C" __global__ void racing(uint32_t *x)
{
    x[0] = threadIdx.x;
}
extern "C" __global__ void trapped(uint32_t *)
{
    asm volatile("trap;");
}
