/* SPDX-License-Identifier: Apache-2.0
 * x = w + y + z as two vector additions, in place or through a temporary; the same by hand in one kernel, and
 * a copy, to compare with. */
#include "bench.h"

__global__ void add(const float *a, const float *b, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

__global__ void add_to(float *x, const float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + a[i];
}

__global__ void add_three(const float *w, const float *y, const float *z, float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (w[i] + y[i]) + z[i];
}

__global__ void add_three_keep(const float *w, const float *y, const float *z, float *t, float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = w[i] + y[i];
        t[i] = sum;
        x[i] = sum + z[i];
    }
}

__global__ void fill(float *x, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (float)((i + seed) * 2654435761u >> 8) * (1.0f / 16777216.0f) - 0.5f;
}

enum form { INPLACE, TEMPORARY, HAND_INPLACE, HAND_TEMPORARY, COPY, FORMS };
static const struct {
    const char *name;
    int arrays_moved; /* what has to be read and written once, in arrays */
} forms[FORMS] = {
    [INPLACE] = {"inplace", 4},
    [TEMPORARY] = {"temporary", 5},
    [HAND_INPLACE] = {"hand-inplace", 4},
    [HAND_TEMPORARY] = {"hand-temporary", 5},
    [COPY] = {"copy", 2},
};

struct arrays {
    enum form form;
    int n, blocks;
    float *w, *x, *y, *z, *t;
};

static void step(void *context, long)
{
    struct arrays *a = (struct arrays *)context;
    switch (a->form) {
    case INPLACE:
        add<<<a->blocks, 256>>>(a->w, a->y, a->x, a->n);
        add_to<<<a->blocks, 256>>>(a->x, a->z, a->n);
        break;
    case TEMPORARY:
        add<<<a->blocks, 256>>>(a->w, a->y, a->t, a->n);
        add<<<a->blocks, 256>>>(a->t, a->z, a->x, a->n);
        break;
    case HAND_INPLACE:
        add_three<<<a->blocks, 256>>>(a->w, a->y, a->z, a->x, a->n);
        break;
    case HAND_TEMPORARY:
        add_three_keep<<<a->blocks, 256>>>(a->w, a->y, a->z, a->t, a->x, a->n);
        break;
    case COPY:
        CHECK(cudaMemcpyAsync(a->x, a->w, a->n * sizeof(float), cudaMemcpyDeviceToDevice, 0));
        break;
    case FORMS:
        break;
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    long size = 1 << 20;
    const char *name = "inplace";
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in each vector, up to 2^28"},
        {"form", NULL, &name, NULL, "inplace, temporary, hand-inplace, hand-temporary or copy"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Vector additions: x = w + y, then x = x + z.", own);
    struct arrays a = {};
    while (a.form < FORMS && strcmp(forms[a.form].name, name) != 0) a.form = (enum form)(a.form + 1);
    if (a.form == FORMS || size > 1 << 28) {
        fprintf(stderr, "vadd: bad form or size (see --help)\n");
        return 2;
    }

    a.n = (int)size;
    a.blocks = (a.n + 255) / 256;
    size_t bytes = size * sizeof(float);
    float **vectors[] = {&a.w, &a.x, &a.y, &a.z, &a.t};
    for (int k = 0; k < 5; k++) {
        CHECK(cudaMalloc((void **)vectors[k], bytes));
        fill<<<a.blocks, 256>>>(*vectors[k], 1000 * k, a.n);
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &a);
    if (bench.time) printf("bytes %zu\n", bytes * forms[a.form].arrays_moved);

    const struct result results[] = {{"x", a.x, bytes}, {"t", a.t, bytes}};
    bench_results(&bench, results, 2);
    return 0;
}
