// SPDX-License-Identifier: Apache-2.0
// Reductions of whole arrays: sums, extremes with and without their place, own operators.
#include <cub/device/device_reduce.cuh>

struct larger_magnitude {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a * a > b * b ? a : b; }
};

template <typename T> static void reduce(void *space, size_t &size, const T *in, T *out, int *place, int count)
{
    cub::DeviceReduce::Sum(space, size, in, out, count);
    cub::DeviceReduce::Max(space, size, in, out, count);
    cub::DeviceReduce::Min(space, size, in, out, count);
    cub::DeviceReduce::ArgMin(space, size, in, out, place, count);
    cub::DeviceReduce::Reduce(space, size, in, out, count, larger_magnitude(), T(0));
}
template <typename T> static void use(void *space, size_t &size, void *in, void *out, int count)
{
    reduce(space, size, static_cast<const T *>(in), static_cast<T *>(out), nullptr, count);
}

void reductions(void *space, size_t &size, void *in, void *out, int count)
{
    use<signed char>(space, size, in, out, count);
    use<unsigned>(space, size, in, out, count);
    use<long long>(space, size, in, out, count);
    use<float>(space, size, in, out, count);
    use<double>(space, size, in, out, count);
}
