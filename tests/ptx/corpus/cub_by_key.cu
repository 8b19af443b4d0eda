// SPDX-License-Identifier: Apache-2.0
// Runs of equal keys: reduced, counted, found.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>

struct add {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

template <typename K, typename V> static void use(void *space, size_t &size, void *in, void *out, int *runs, int count)
{
    const K *keys = static_cast<const K *>(in);
    K *unique = static_cast<K *>(out);
    cub::DeviceReduce::ReduceByKey(space, size, keys, unique, static_cast<const V *>(in), static_cast<V *>(out), runs, add(),
                                   count);
    cub::DeviceRunLengthEncode::Encode(space, size, keys, unique, runs, runs, count);
    cub::DeviceRunLengthEncode::NonTrivialRuns(space, size, keys, runs, runs, runs, count);
}

void by_key(void *space, size_t &size, void *in, void *out, int *runs, int count)
{
    use<unsigned char, float>(space, size, in, out, runs, count);
    use<int, int>(space, size, in, out, runs, count);
    use<long long, double>(space, size, in, out, runs, count);
    use<float, unsigned long long>(space, size, in, out, runs, count);
}
