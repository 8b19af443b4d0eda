/* SPDX-License-Identifier: Apache-2.0
 * The kernels of a lecture on kernel fusion (S. Dey, High Performance Parallel Programming, IIT Kharagpur): c
 * = sin a + cos b, d = log a, output = sqrt(c) * d; and two independent ones on vectors of different sizes.
 */
#include "bench.h"

__device__ static int linear_thread(void)
{
    int block = blockIdx.z * (gridDim.x * gridDim.y) + blockIdx.y * gridDim.x + blockIdx.x;
    int thread = threadIdx.z * (blockDim.x * blockDim.y) + threadIdx.y * blockDim.x + threadIdx.x;
    return block * (blockDim.x * blockDim.y * blockDim.z) + thread;
}

__global__ void process_kernel1(const float *a, const float *b, float *c, int datasize)
{
    int i = linear_thread();
    if (i < datasize) c[i] = sin(a[i]) + cos(b[i]);
}

__global__ void process_kernel2(const float *a, float *d, int datasize)
{
    int i = linear_thread();
    if (i < datasize) d[i] = log(a[i]);
}

__global__ void process_kernel3(const float *c, const float *d, float *output, int datasize)
{
    int i = linear_thread();
    if (i < datasize) output[i] = sqrt(c[i]) * d[i];
}

struct arrays {
    int n, n2, is_dependent;
    float *a, *b, *c, *d, *output;
};

static void step(void *context, long)
{
    struct arrays *s = (struct arrays *)context;
    process_kernel1<<<(s->n + 127) / 128, 128>>>(s->a, s->b, s->c, s->n);
    process_kernel2<<<(s->n2 + 127) / 128, 128>>>(s->a, s->d, s->n2);
    if (s->is_dependent) process_kernel3<<<(s->n + 127) / 128, 128>>>(s->c, s->d, s->output, s->n);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    long size = 65536, size2 = 0;
    const char *form = "dependent";
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in the vectors"},
        {"size2", &size2, NULL, NULL, "floats of the second kernel; 0: as many"},
        {"form", NULL, &form, NULL, "dependent: all three kernels; independent: the first two"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "sin + cos, log, and sqrt times: the kernels of the lecture.", own);
    if (size2 == 0) size2 = size;
    struct arrays s = {(int)size, (int)size2, strcmp(form, "dependent") == 0, NULL, NULL, NULL, NULL, NULL};
    if ((!s.is_dependent && strcmp(form, "independent") != 0) || (s.is_dependent && size2 < size)) {
        fprintf(stderr, "lecture: bad form, or size2 is below size (see --help)\n");
        return 2;
    }

    size_t count = size > size2 ? size : size2, bytes = count * sizeof(float);
    float *host = (float *)malloc(bytes);
    for (size_t i = 0; i < count; i++)
        host[i] = 0.0625f + (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
    float **vectors[] = {&s.a, &s.b, &s.c, &s.d, &s.output};
    for (int k = 0; k < 5; k++) {
        CHECK(cudaMalloc((void **)vectors[k], bytes));
        CHECK(cudaMemcpy(*vectors[k], host, bytes, cudaMemcpyHostToDevice));
    }
    free(host);
    bench_loop(&bench, step, &s);

    const struct result results[] = {{"c", s.c, bytes}, {"d", s.d, bytes}, {"output", s.output, bytes}};
    bench_results(&bench, results, 3);
    return 0;
}
