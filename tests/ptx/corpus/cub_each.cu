// SPDX-License-Identifier: Apache-2.0
// Element by element: transformations, differences of neighbours, copies of many ranges, for each.
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>

struct axpy {
    template <typename T> __host__ __device__ T operator()(T x, T y) const { return T(3) * x + y; }
};
struct doubled {
    template <typename T> __device__ void operator()(T &x) const { x += x; }
};
struct difference {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a - b; }
};

template <typename T> static void use(void *space, size_t &size, void *in, void *out, int count)
{
    T *from = static_cast<T *>(in), *to = static_cast<T *>(out);
    cub::DeviceTransform::Transform(cuda::std::make_tuple(from, to), to, count, axpy());
    cub::DeviceFor::ForEachN(to, count, doubled());
    cub::DeviceFor::ForEachCopyN(from, count, [] __device__(T) {});
    cub::DeviceAdjacentDifference::SubtractLeftCopy(space, size, from, to, count, difference());
    cub::DeviceAdjacentDifference::SubtractRight(space, size, to, count, difference());
    cub::DeviceMerge::MergeKeys(space, size, from, count, from, count, to);
    cub::DeviceCopy::Batched(space, size, static_cast<T **>(in), static_cast<T **>(out), static_cast<int *>(in), count);
}

void each(void *space, size_t &size, void *in, void *out, int count)
{
    use<short>(space, size, in, out, count);
    use<int>(space, size, in, out, count);
    use<float>(space, size, in, out, count);
    use<double>(space, size, in, out, count);
    cub::DeviceMemcpy::Batched(space, size, static_cast<void **>(in), static_cast<void **>(out), static_cast<int *>(in), count);
}
