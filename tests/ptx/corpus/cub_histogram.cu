// SPDX-License-Identifier: Apache-2.0
// Histograms: even and given bounds, one channel and four.
#include <cub/device/device_histogram.cuh>

template <typename T, typename Level> static void use(void *space, size_t &size, void *in, int *bins, Level *levels, int count)
{
    const T *samples = static_cast<const T *>(in);
    cub::DeviceHistogram::HistogramEven(space, size, samples, bins, 257, Level(0), Level(256), count);
    cub::DeviceHistogram::HistogramRange(space, size, samples, bins, 257, levels, count);
}

void histograms(void *space, size_t &size, void *in, int *bins, int *levels, double *bounds, int count)
{
    use<unsigned char, int>(space, size, in, bins, levels, count);
    use<short, int>(space, size, in, bins, levels, count);
    use<float, float>(space, size, in, bins, reinterpret_cast<float *>(bounds), count);
    use<double, double>(space, size, in, bins, bounds, count);
    int *channels[3] = {bins, bins, bins}, sizes[3] = {257, 257, 257}, low[3] = {}, high[3] = {256, 256, 256};
    cub::DeviceHistogram::MultiHistogramEven<4, 3>(space, size, static_cast<const unsigned char *>(in), channels, sizes, low,
                                                   high, count);
}
