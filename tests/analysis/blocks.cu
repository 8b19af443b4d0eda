/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose threads wait for each other: which barriers and warp collectives all that they wait for reach. */
#define KERNEL extern "C" __global__ void
// launch tree grid 4 1 1 block 128 1 1 args p:4096 p:4096 i32:500
// launch tree_under_test grid 4 1 1 block 128 1 1 args p:4096 p:4096 i32:500
// launch leave_first grid 4 1 1 block 128 1 1 args p:4096 p:4096 i32:512
// launch leave_first grid 4 1 1 block 128 1 1 args p:4096 p:4096 i32:500
// launch whole_blocks_leave grid 4 1 1 block 128 1 1 args p:4096 i32:2
// launch by_data grid 1 1 1 block 128 1 1 args p:1024 i32:3
// launch rounds_by_thread grid 1 1 1 block 128 1 1 args p:512 i32:3
// launch barrier_after_rounds grid 1 1 1 block 128 1 1 args p:512
// launch first_warp grid 1 1 1 block 128 1 1 args p:512
// launch part_of_warp grid 1 1 1 block 128 1 1 args p:512
// launch two_dimensions grid 1 1 1 block 16 8 1 args p:512
// launch count_of_part grid 1 1 1 block 128 1 1 args p:512 p:512 i32:100
// launch left_by_data grid 1 1 1 block 128 1 1 args p:512 p:512
// launch part_from_second_round grid 1 1 1 block 128 1 1 args p:512 p:512 i32:4

/* Even, although the number of rounds is no constant. */
KERNEL tree(float *sums, const float *a, int n)
{
    __shared__ float part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

KERNEL tree_under_test(float *sums, const float *a, int n)
{
    __shared__ float part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2)
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* Even where the array fills the blocks. */
KERNEL leave_first(float *out, const float *a, int n)
{
    __shared__ float turned[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    turned[threadIdx.x] = a[i];
    __syncthreads();
    out[i] = turned[127 - threadIdx.x];
}

KERNEL whole_blocks_leave(float *a, int blocks)
{
    if (blockIdx.x >= blocks) return;
    float own = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = own;
}

/* What is loaded may differ, whoever loads it. */
KERNEL by_data(float *a, int n)
{
    for (int r = 0; r < n && a[r] > 0; r++) __syncthreads();
    a[threadIdx.x + 64] = 1;
}

KERNEL rounds_by_thread(float *a, int n)
{
    for (int r = threadIdx.x; r < n; r++) __syncthreads();
    a[threadIdx.x] = 1;
}

/* All meet again behind the loop. */
KERNEL barrier_after_rounds(float *a)
{
    float own = 0;
    for (int r = threadIdx.x; r < 128; r += 7) own += a[r];
    __syncthreads();
    a[threadIdx.x] = own;
}

KERNEL first_warp(float *a)
{
    float own = a[threadIdx.x];
    if (threadIdx.x < 32) own += __shfl_down_sync(~0u, own, 16);
    if (threadIdx.x / 32 == 2) own += __shfl_down_sync(~0u, own, 8);
    a[threadIdx.x] = own;
}

KERNEL part_of_warp(float *a)
{
    float own = a[threadIdx.x];
    if (threadIdx.x < 48) own += __shfl_down_sync(~0u, own, 8);
    a[threadIdx.x] = own;
}

/* Two rows are a warp. */
KERNEL two_dimensions(float *a)
{
    int i = threadIdx.y * 16 + threadIdx.x;
    float own = a[i];
    if (threadIdx.y < 4) own += __shfl_down_sync(~0u, own, 8);
    a[i] = own;
}

KERNEL count_of_part(int *count, const float *a, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    int own = __syncthreads_count(a[i] > 0);
    if (i == 0) *count = own;
}

KERNEL left_by_data(float *out, const float *a)
{
    float own = a[threadIdx.x];
    if (own > 0) return;
    out[threadIdx.x] = __shfl_xor_sync(~0u, own, 1);
}

/* The outer test divides the threads only from the second round on, the inner loop from the first. */
KERNEL part_from_second_round(float *a, const int *b, int n)
{
    int q = 0;
    float own = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        if (q & 1) {
            int j = 0;
#pragma unroll 1
            do {
                own = own * 2 + j;
            } while (++j < (b[threadIdx.x] & 7));
            __syncthreads();
        }
        q = q * 3 + threadIdx.x / 32;
    }
    a[threadIdx.x] = own;
}
