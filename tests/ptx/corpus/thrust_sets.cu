// SPDX-License-Identifier: Apache-2.0
// What thrust adds to the algorithms of cub: sets, searches, gathers, shuffles, numbers made on the device.
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/random.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

struct noise {
    __device__ float operator()(int i) const
    {
        thrust::minstd_rand engine(i);
        thrust::uniform_real_distribution<float> distribution(-1, 1);
        return distribution(engine);
    }
};

template <typename T> static long use(T *a, T *b, T *c, int *index, int count)
{
    auto device = thrust::device;
    thrust::set_union(device, a, a + count, b, b + count, c);
    thrust::set_intersection(device, a, a + count, b, b + count, c);
    thrust::set_difference(device, a, a + count, b, b + count, c);
    thrust::lower_bound(device, a, a + count, b, b + count, index);
    thrust::gather(device, index, index + count, a, c);
    thrust::scatter(device, a, a + count, index, c);
    thrust::sequence(device, a, a + count);
    thrust::fill(device, b, b + count, T(1));
    thrust::transform(device, a, a + count, b, c, thrust::multiplies<T>());
    thrust::unique(device, a, a + count);
    thrust::sort(device, a, a + count, thrust::greater<T>());
    long ones = thrust::count(device, a, a + count, T(1));
    return ones + long(thrust::inner_product(device, a, a + count, b, T(0))) + (thrust::max_element(device, a, a + count) - a);
}

long sets(void *a, void *b, void *c, int *index, int count)
{
    thrust::tabulate(thrust::device, static_cast<float *>(a), static_cast<float *>(a) + count, noise());
    return use(static_cast<int *>(a), static_cast<int *>(b), static_cast<int *>(c), index, count) +
           use(static_cast<double *>(a), static_cast<double *>(b), static_cast<double *>(c), index, count);
}
