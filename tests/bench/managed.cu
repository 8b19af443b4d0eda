/* SPDX-License-Identifier: Apache-2.0
 * A program whose arrays are managed memory, which the host reads and writes without a call once it has waited, or such as a stream
 * allocates and frees: by the mode. What the host has seen is part of the results. */
#include "bench/bench.h"
#include "tests/bench/modes.h"

enum { N = 4000, THREADS = 128, STEPS = 8 };

__global__ void scale(float *to, const float *from, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[i] = from[i] * by + 0.125f;
}

__global__ void add(float *to, const float *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[i] += from[i];
}

__global__ void smooth(float *to, const float *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[i] = 0.5f * from[i] + 0.25f * (from[i ? i - 1 : 0] + from[i + 1 < N ? i + 1 : i]);
}

#define EACH(kernel, ...)                                                                                    \
    do {                                                                                                     \
        kernel<<<(N + THREADS - 1) / THREADS, THREADS, 0, stream>>>(__VA_ARGS__);                            \
        CHECK(cudaGetLastError());                                                                           \
    } while (0)

static float *a, *b, *c, *t, *own; /* own: device memory in each mode */
static float seen[4 * STEPS];
static cudaStream_t stream;

static void look(long number)
{
    const float *arrays[] = {a, b, c, t};
    CHECK(cudaStreamSynchronize(stream));
    for (int k = 0; k < 4; k++) {
        float sum = 0;
        for (int i = 0; i < N; i++) sum += arrays[k][i] * (1 + i % 3);
        seen[4 * (number % STEPS) + k] = sum;
    }
}

/* A temporary that is overwritten in each step, and that the host reads. */
static void step_temporary(long number)
{
    EACH(scale, t, a, 0.5f);
    EACH(add, b, t);
    EACH(scale, a, b, 0.25f);
    look(number);
    a[number] += 1; /* by the host */
    t[number] = 3;
}

/* A second buffer would have the new contents of what the host reads. */
static void step_buffer(long number)
{
    EACH(smooth, b, a);
    EACH(scale, a, b, 0.75f);
    EACH(add, c, a);
    look(number);
}

/* Made again of what the host has changed meanwhile, the temporary would be another. */
static void step_again(long number)
{
    EACH(scale, own, a, 0.5f);
    EACH(add, b, own);
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++) a[i] += 0.5f;
    EACH(add, c, own);
    look(number);
}

/* Nobody looks in between. */
static void step_pair(long number)
{
    EACH(scale, t, a, 0.5f);
    EACH(scale, b, t, 0.25f);
    EACH(scale, a, b, 2.0f);
    if (number == STEPS - 1) look(number);
}

/* Arrays of a stream, new in each step. */
static void step_pool(long number)
{
    float *x, *y;
    CHECK(cudaMallocAsync((void **)&x, N * sizeof *x, stream));
    CHECK(cudaMallocAsync((void **)&y, N * sizeof *y, stream));
    EACH(scale, x, own, 0.5f);
    EACH(scale, y, x, 0.75f);
    EACH(add, own, y);
    CHECK(cudaFreeAsync(x, stream));
    CHECK(cudaFreeAsync(y, stream));
    if (number == STEPS - 1) look(number);
}

static const struct mode {
    const char *name;
    void (*step)(long number);
} modes[] = {{"temporary", step_temporary}, {"buffer", step_buffer}, {"again", step_again},
             {"pair", step_pair},           {"pool", step_pool}};

static void step(void *context, long number)
{
    ((const struct mode *)context)->step(number);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, STEPS, 1, NULL, 0, 0};
    const char *name = "pair";
    int own_stream = 0;
    const struct option own_options[] = {
        {"mode", NULL, &name, NULL, "what the steps do"},
        {"stream", NULL, NULL, &own_stream, "in a stream of its own"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Managed memory, and arrays of a stream.", own_options);
    const struct mode *mode = find_mode("managed", modes, name);
    float **arrays[] = {&a, &b, &c, &t};
    for (int k = 0; k < 4; k++) {
        CHECK(cudaMallocManaged((void **)arrays[k], N * sizeof **arrays[k]));
        for (int i = 0; i < N; i++) (*arrays[k])[i] = (float)((i * (k + 1)) % 19) / 19;
    }
    CHECK(cudaMalloc((void **)&own, N * sizeof *own));
    CHECK(cudaMemcpy(own, a, N * sizeof *own, cudaMemcpyDefault));
    if (own_stream) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, (void *)mode);
    float *seen_there;
    CHECK(cudaMalloc((void **)&seen_there, sizeof seen));
    CHECK(cudaMemcpy(seen_there, seen, sizeof seen, cudaMemcpyHostToDevice));
    const struct result results[] = {{"a", a, N * sizeof *a},     {"b", b, N * sizeof *b},
                                     {"c", c, N * sizeof *c},     {"t", t, N * sizeof *t},
                                     {"own", own, N * sizeof *a}, {"seen", seen_there, sizeof seen}};
    bench_results(&bench, results, 6);
    return 0;
}
