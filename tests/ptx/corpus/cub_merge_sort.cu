// SPDX-License-Identifier: Apache-2.0
// Merge sorts with own orders, of keys and of pairs.
#include <cub/device/device_merge_sort.cuh>

struct point {
    float x, y;
};
struct order {
    __host__ __device__ bool operator()(const point &a, const point &b) const
    {
        return a.x < b.x || (a.x == b.x && a.y < b.y);
    }
    template <typename T> __host__ __device__ bool operator()(T a, T b) const { return b < a; }
};

template <typename K> static void use(void *space, size_t &size, void *keys, int *values, int count)
{
    cub::DeviceMergeSort::SortKeys(space, size, static_cast<K *>(keys), count, order());
    cub::DeviceMergeSort::StableSortPairs(space, size, static_cast<K *>(keys), values, count, order());
}

void merge_sorts(void *space, size_t &size, void *keys, int *values, int count)
{
    use<point>(space, size, keys, values, count);
    use<short>(space, size, keys, values, count);
    use<float>(space, size, keys, values, count);
    use<long long>(space, size, keys, values, count);
}
