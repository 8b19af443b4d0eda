// SPDX-License-Identifier: Apache-2.0
// Choosing elements: by predicate, by flag, the first of equal ones; partitions.
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

struct is_positive {
    template <typename T> __host__ __device__ bool operator()(T a) const { return a > T(0); }
};

template <typename T> static void use(void *space, size_t &size, void *in, void *out, const char *flags, int *chosen, int count)
{
    const T *from = static_cast<const T *>(in);
    T *to = static_cast<T *>(out);
    cub::DeviceSelect::If(space, size, from, to, chosen, count, is_positive());
    cub::DeviceSelect::Flagged(space, size, from, flags, to, chosen, count);
    cub::DeviceSelect::Unique(space, size, from, to, chosen, count);
    cub::DevicePartition::If(space, size, from, to, chosen, count, is_positive());
}

void selections(void *space, size_t &size, void *in, void *out, const char *flags, int *chosen, int count)
{
    use<signed char>(space, size, in, out, flags, chosen, count);
    use<int>(space, size, in, out, flags, chosen, count);
    use<float>(space, size, in, out, flags, chosen, count);
    use<double>(space, size, in, out, flags, chosen, count);
}
