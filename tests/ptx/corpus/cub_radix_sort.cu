// SPDX-License-Identifier: Apache-2.0
// Radix sorts of keys and of pairs, up and down.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_fp16.h>

template <typename K> static void keys(void *space, size_t &size, void *in, void *out, int count)
{
    cub::DeviceRadixSort::SortKeys(space, size, static_cast<const K *>(in), static_cast<K *>(out), count);
}
template <typename K, typename V> static void pairs(void *space, size_t &size, void *in, void *out, int count)
{
    cub::DeviceRadixSort::SortPairsDescending(space, size, static_cast<const K *>(in), static_cast<K *>(out),
                                              static_cast<const V *>(in), static_cast<V *>(out), count);
}

void radix_sorts(void *space, size_t &size, void *in, void *out, int count)
{
    keys<unsigned char>(space, size, in, out, count);
    keys<double>(space, size, in, out, count);
    keys<__half>(space, size, in, out, count);
    pairs<int, float>(space, size, in, out, count);
    pairs<unsigned long long, unsigned>(space, size, in, out, count);
}
