// SPDX-License-Identifier: Apache-2.0
// Scans: exclusive and inclusive, by key, own operators.
#include <cub/device/device_scan.cuh>

struct larger {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename T> static void use(void *space, size_t &size, void *in, void *out, const int *keys, int count)
{
    const T *from = static_cast<const T *>(in);
    T *to = static_cast<T *>(out);
    cub::DeviceScan::ExclusiveSum(space, size, from, to, count);
    cub::DeviceScan::InclusiveScan(space, size, from, to, larger(), count);
    cub::DeviceScan::InclusiveSumByKey(space, size, keys, from, to, count);
}

void scans(void *space, size_t &size, void *in, void *out, const int *keys, int count)
{
    use<unsigned char>(space, size, in, out, keys, count);
    use<int>(space, size, in, out, keys, count);
    use<unsigned long long>(space, size, in, out, keys, count);
    use<float>(space, size, in, out, keys, count);
    use<double>(space, size, in, out, keys, count);
}
