/* SPDX-License-Identifier: Apache-2.0
 * Kernels of renamed.c, as PTX: members that read an array and rewrite it, and what they are fused to, with the
 * distances to the old and the new contents. */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void gather(const unsigned *a, unsigned *b, unsigned n)
{
    unsigned i = INDEX;
    if (i < n) b[i] = a[i] + a[i + 1 == n ? 0 : i + 1];
}

extern "C" __global__ void store(unsigned *a, const unsigned *b, unsigned n)
{
    unsigned i = INDEX;
    if (i < n) a[i] = 3 * b[i] + 1;
}

static __device__ unsigned *at(unsigned *array, unsigned i, long long distance)
{
    return (unsigned *)((char *)(array + i) + distance);
}

extern "C" __global__ void gather_store(unsigned *a, unsigned *b, unsigned n, long long from, long long to)
{
    unsigned i = INDEX;
    if (i >= n) return;
    unsigned value = *at(a, i, from) + *at(a, i + 1 == n ? 0 : i + 1, from);
    b[i] = value;
    *at(a, i, to) = 3 * value + 1;
}

static __device__ bool is_inside(unsigned i, unsigned width, unsigned height, unsigned depth)
{
    unsigned x = i % width, y = i / width % height, z = i / width / height;
    return x > 0 && x + 1 < width && y > 0 && y + 1 < height && z > 0 && z + 1 < depth;
}

extern "C" __global__ void cross(const unsigned *a, unsigned *b, unsigned width, unsigned height, unsigned depth)
{
    unsigned i = INDEX;
    if (!is_inside(i, width, height, depth)) return;
    b[i] = a[i - 1] + a[i + 1] + a[i - width] + a[i + width] + a[i - width * height] + a[i + width * height];
}

extern "C" __global__ void inside(unsigned *a, const unsigned *b, unsigned width, unsigned height, unsigned depth)
{
    unsigned i = INDEX;
    if (is_inside(i, width, height, depth)) a[i] = b[i] + 1;
}

extern "C" __global__ void cross_inside(unsigned *a, unsigned *b, unsigned width, unsigned height, unsigned depth,
                                        long long from, long long to)
{
    unsigned i = INDEX;
    if (!is_inside(i, width, height, depth)) return;
    unsigned value = *at(a, i - 1, from) + *at(a, i + 1, from) + *at(a, i - width, from) +
                     *at(a, i + width, from) + *at(a, i - width * height, from) +
                     *at(a, i + width * height, from);
    b[i] = value;
    *at(a, i, to) = value + 1;
}

/* In no group. */
extern "C" __global__ void touch(unsigned *a, unsigned n)
{
    unsigned i = INDEX;
    if (i < n) a[i] += 5;
}
