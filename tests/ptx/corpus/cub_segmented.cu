// SPDX-License-Identifier: Apache-2.0
// Many arrays at once: reductions and sorts of segments.
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>

template <typename T> static void use(void *space, size_t &size, void *in, void *out, const int *starts, int count, int segments)
{
    const T *from = static_cast<const T *>(in);
    T *to = static_cast<T *>(out);
    cub::DeviceSegmentedReduce::Sum(space, size, from, to, segments, starts, starts + 1);
    cub::DeviceSegmentedReduce::ArgMax(space, size, from, static_cast<cub::KeyValuePair<int, T> *>(out), segments, starts,
                                       starts + 1);
    cub::DeviceSegmentedSort::SortKeys(space, size, from, to, count, segments, starts, starts + 1);
    cub::DeviceSegmentedRadixSort::SortPairs(space, size, from, to, starts, static_cast<int *>(out), count, segments, starts,
                                             starts + 1);
}

void segmented(void *space, size_t &size, void *in, void *out, const int *starts, int count, int segments)
{
    use<int>(space, size, in, out, starts, count, segments);
    use<float>(space, size, in, out, starts, count, segments);
    use<unsigned long long>(space, size, in, out, starts, count, segments);
}
