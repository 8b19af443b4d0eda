/* SPDX-License-Identifier: Apache-2.0
 * Neighbouring launches in the ways that programs have them, one pattern a mode, some rounds of each. --vary
 * changes what a plan of the run without it must not take for granted: distances, aliases, scalars. */
#include "bench/bench.h"

enum { N = 1000, ROUNDS = 6, THREADS = 128, BLOCKS = (N + THREADS - 1) / THREADS };

struct pair { /* a struct argument */
    float *out;
    const float *in;
    int n;
    float factor;
};

static float *x, *y, *z, *sums; /* N, N, 2 N and 64 elements; x, y and z follow each other nowhere */
static double *d, *e;
static int *index_of, *counts;
static unsigned char *bytes;
static cudaStream_t first, second;
static int vary;

#define ELEMENT (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void fill(float *a, int n, float from)
{
    int i = ELEMENT;
    if (i < n) a[i] = from + 0.25f * (i % 17);
}

__global__ void scale(float *a, float factor, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] * factor;
}

__global__ void shift(float *a, float by, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + by;
}

__global__ void add(float *out, const float *a, const float *b, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = a[i] + b[i];
}

/* Has a barrier: it may be passed over but is no member. */
__global__ void reduce(float *sum, const float *a, int n)
{
    __shared__ float part[THREADS];
    float own = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) own += a[i];
    part[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *sum = part[0] * 1e-3f;
}

__global__ void add_one_of(float *a, const float *one, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + *one;
}

__global__ void gather(float *out, const float *a, int offset, int n)
{
    int i = ELEMENT;
    if (i < n - offset) out[i] = a[i + offset];
}

__global__ void scale_strided(float *a, float factor, int n)
{
    for (int i = ELEMENT; i < n; i += gridDim.x * blockDim.x) a[i] = a[i] * factor;
}

__global__ void shift_strided(float *a, float by, int n)
{
    for (int i = ELEMENT; i < n; i += gridDim.x * blockDim.x) a[i] = a[i] + by;
}

__global__ void scale_pair(struct pair pair)
{
    int i = ELEMENT;
    if (i < pair.n) pair.out[i] = pair.in[i] * pair.factor;
}

__global__ void shift_pair(struct pair pair)
{
    int i = ELEMENT;
    if (i < pair.n) pair.out[i] = pair.in[i] + pair.factor;
}

__global__ void mix_integers(int *a, unsigned char *b, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    a[i] = a[i] * 1103515245 + (i ^ 12345);
    b[i] = (unsigned char)(a[i] >> 13);
}

__global__ void spread_integers(int *a, const unsigned char *b, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = (a[i] >> 3) - (int)b[i] * 77 + (a[i] % 1000);
}

__global__ void step_double(double *a, const double *b, double dt, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + dt * b[i] * (1.0 - a[i]);
}

__global__ void turn_double(double *b, const double *a, int n)
{
    int i = ELEMENT;
    if (i < n) b[i] = sqrt(1.0 + a[i] * a[i]) / 3.0;
}

__global__ void point_at(int *index, int value, int n)
{
    int i = ELEMENT;
    if (i < n) index[i] = value;
}

__global__ void point_at_seven(int *index, int n)
{
    int i = ELEMENT;
    if (i < n) index[i] = 7;
}

__global__ void gather_by(float *out, const float *a, const int *index, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = a[index[i]] + 0.5f;
}

__global__ void mirror(float *out, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) out[n - 1 - i] = a[i] * 0.75f;
}

__global__ void blur(float *out, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = 0.5f * a[i] + 0.25f * (a[(i + 1) % n] + a[(i + n - 1) % n]);
}

__global__ void clamp(float *a, float limit, int n)
{
    int i = ELEMENT;
    if (i < n && a[i] > limit) a[i] = limit;
}

__global__ void scale_by_four(float4 *a, float factor, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    float4 v = a[i];
    a[i] = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
}

__global__ void count(int *counts, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) atomicAdd(&counts[a[i] > 1.0f], 1);
}

__global__ void scale_plane(float *a, float factor, int width, int height)
{
    int i = ELEMENT, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width && j < height) a[j * width + i] *= factor;
}

__global__ void shift_plane(float *a, float by, int width, int height)
{
    int i = ELEMENT, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width && j < height) a[j * width + i] += by;
}

/* --- patterns: one round each --- */

/* What stands between runs before the fused kernel: it touches nothing of the member before it. */
static void passed_before(int round)
{
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    reduce<<<1, THREADS>>>(sums + round, z, N);
    add_one_of<<<BLOCKS, THREADS>>>(x, sums + round, N);
}

/* What stands between runs after the fused kernel: it reads what the first member writes. */
static void passed_after(int round)
{
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    reduce<<<1, THREADS>>>(sums + round, x, N);
    add<<<BLOCKS, THREADS>>>(y, x, y, N);
    add_one_of<<<BLOCKS, THREADS>>>(z, sums + round, N);
}

/* What stands between needs the first member, and the last one needs it: all stay apart. */
static void needed_between(int round)
{
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    reduce<<<1, THREADS>>>(sums + round, x, N);
    add_one_of<<<BLOCKS, THREADS>>>(x, sums + round, N);
    CHECK(cudaDeviceSynchronize());
}

static void on_a_stream(int round)
{
    scale<<<BLOCKS, THREADS, 0, first>>>(x, 0.5f, N);
    shift<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f + round, N);
}

static void two_streams(int round)
{
    scale<<<BLOCKS, THREADS, 0, first>>>(x, 0.5f, N);
    scale<<<BLOCKS, THREADS, 0, second>>>(y, 0.25f, N);
    shift<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f + round, N);
    shift<<<BLOCKS, THREADS, 0, second>>>(y, 2.0f, N);
}

static void two_streams_joined(int round)
{
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    scale<<<BLOCKS, THREADS, 0, first>>>(x, 0.5f, N);
    shift<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f + round, N);
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(second, done, 0));
    scale<<<BLOCKS, THREADS, 0, second>>>(x, 0.25f, N);
    shift<<<BLOCKS, THREADS, 0, second>>>(x, 2.0f, N);
    CHECK(cudaEventRecord(done, second));
    CHECK(cudaStreamWaitEvent(first, done, 0));
    CHECK(cudaEventDestroy(done));
}

/* Both pointers are into z; --vary lets what they point to overlap by all but a few elements. */
static void distance(int round)
{
    float *far = z + (vary && round % 2 ? round : N);
    scale<<<BLOCKS, THREADS>>>(z, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(far, far, x, N);
    add<<<BLOCKS, THREADS>>>(y, z, y, N);
}

/* The same, in the recording already. */
static void distances(int round)
{
    float *far = z + (round % 3 == 0 ? N : round);
    scale<<<BLOCKS, THREADS>>>(z, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(far, far, x, N);
    add<<<BLOCKS, THREADS>>>(y, z, y, N);
}

/* With --vary the second launch writes what the first one has read, elements later. */
static void alias(int round)
{
    float *out = vary && round % 2 ? x + 1 : y;
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(out, x, z, N - 1);
    add<<<BLOCKS, THREADS>>>(x, x, out, N - 1);
    CHECK(cudaDeviceSynchronize());
}

static void aliases(int round)
{
    float *out = round % 2 ? x : y;
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(out, x, z, N);
    add<<<BLOCKS, THREADS>>>(x, y, out, N);
    CHECK(cudaDeviceSynchronize());
}

/* A scalar that shapes addresses, and one that does not. */
static void scalar(int round)
{
    scale<<<BLOCKS, THREADS>>>(x, 0.5f + 0.125f * round, N);
    gather<<<BLOCKS, THREADS>>>(y, x, vary && round % 2 ? 3 + round : 0, N);
    shift<<<BLOCKS, THREADS>>>(x, 0.5f * round, vary && round % 3 == 2 ? N / 2 : N);
    CHECK(cudaDeviceSynchronize());
}

static void scalars(int round)
{
    scale<<<BLOCKS, THREADS>>>(x, 0.5f + 0.125f * round, N);
    gather<<<BLOCKS, THREADS>>>(y, x, round % 2 ? round : 0, N);
    shift<<<BLOCKS, THREADS>>>(x, 0.5f * round, N);
    CHECK(cudaDeviceSynchronize());
}

static void block_sizes(int round)
{
    scale<<<(N + 255) / 256, 256>>>(x, 0.5f, N);
    shift<<<(N + 63) / 64, 64>>>(x, 1.0f + round, N);
    scale<<<(N + 95) / 96, 96>>>(x, 0.25f, N - 30);
}

static void planes(int round)
{
    scale_plane<<<dim3(2, 5), dim3(32, 4)>>>(x, 0.5f, 50, 20);
    shift_plane<<<dim3(4, 2), dim3(16, 16)>>>(x, 1.0f + round, 50, 20);
    scale_plane<<<dim3(2, 5), dim3(32, 4)>>>(x, 0.25f, 50, 19);
}

static void strided(int round)
{
    scale_strided<<<3, THREADS>>>(x, 0.5f, N);
    shift_strided<<<3, THREADS>>>(x, 1.0f + round, N);
}

static void strided_otherwise(int round)
{
    scale_strided<<<3, THREADS>>>(x, 0.5f, N);
    shift_strided<<<2, 96>>>(x, 1.0f + round, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.25f, N);
}

static void host_read(int round)
{
    float seen;
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    CHECK(cudaMemcpy(&seen, x + N - 1, sizeof seen, cudaMemcpyDeviceToHost));
    shift<<<BLOCKS, THREADS>>>(x, seen, N);
    CHECK(cudaMemcpy(&seen, x + round, sizeof seen, cudaMemcpyDeviceToHost));
    printf("%d: %a\n", round, seen);
}

static void set_between(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    CHECK(cudaMemset(x, round, N * sizeof *x / 2));
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    CHECK(cudaMemsetAsync(x + N / 2, round, 8, 0));
}

static void copy_between(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    CHECK(cudaMemcpyAsync(y, x, N * sizeof *x, cudaMemcpyDeviceToDevice, 0));
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(x, x, y, N);
    CHECK(cudaMemcpyAsync(z, x, N * sizeof *x, cudaMemcpyDeviceToDevice, 0));
}

static void structs(int round)
{
    const struct pair to_y = {y, x, N, 0.5f}, to_x = {x, y, N, 1.0f + round};
    scale_pair<<<BLOCKS, THREADS>>>(to_y);
    shift_pair<<<BLOCKS, THREADS>>>(to_x);
}

static void integers(int round)
{
    (void)round;
    mix_integers<<<BLOCKS, THREADS>>>(index_of, bytes, N);
    spread_integers<<<BLOCKS, THREADS>>>(index_of, bytes, N);
}

static void doubles(int round)
{
    step_double<<<BLOCKS, THREADS>>>(d, e, 1e-3 * (round + 1), N);
    turn_double<<<BLOCKS, THREADS>>>(e, d, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

/* A kernel writes the index that the next one reads; what it indexes is written by nobody in between. */
static void indexed(int round)
{
    point_at<<<BLOCKS, THREADS>>>(index_of, round * 31, N);
    gather_by<<<BLOCKS, THREADS>>>(x, z, index_of, N);
    point_at_seven<<<BLOCKS, THREADS>>>(index_of, N);
    gather_by<<<BLOCKS, THREADS>>>(y, z, index_of, N);
}

/* What it indexes is written just before: another thread's element is read. */
static void indexed_written(int round)
{
    point_at_seven<<<BLOCKS, THREADS>>>(index_of, N);
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    gather_by<<<BLOCKS, THREADS>>>(y, x, index_of, N);
    CHECK(cudaDeviceSynchronize());
}

/* An array of its own each round, at an address that another one had. */
static void reallocated(int round)
{
    float *t, *u;
    size_t size = (N + (vary ? 500 * (round % 3) : 0)) * sizeof *t;
    CHECK(cudaMalloc((void **)&t, size));
    CHECK(cudaMalloc((void **)&u, size));
    if (round % 2) {
        float *swapped = t;
        t = u;
        u = swapped;
    }
    fill<<<BLOCKS, THREADS>>>(t, N, (float)round);
    add<<<BLOCKS, THREADS>>>(u, t, x, N);
    CHECK(cudaFree(t));
    CHECK(cudaMalloc((void **)&t, size));
    fill<<<BLOCKS, THREADS>>>(t, N, 0.5f);
    add<<<BLOCKS, THREADS>>>(x, u, t, N);
    CHECK(cudaFree(u));
    CHECK(cudaFree(t));
}

static void mirrored(int round)
{
    mirror<<<BLOCKS, THREADS>>>(y, x, N);
    shift<<<BLOCKS, THREADS>>>(y, 1.0f + round, N);
    mirror<<<BLOCKS, THREADS>>>(x, y, N);
}

static void stencil(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    blur<<<BLOCKS, THREADS>>>(y, x, N);
    CHECK(cudaDeviceSynchronize());
    blur<<<BLOCKS, THREADS>>>(x, y, N);
    CHECK(cudaDeviceSynchronize());
}

/* A store that not every thread makes. */
static void conditional(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    clamp<<<BLOCKS, THREADS>>>(x, 2.0f + 0.25f * round, N);
    scale<<<BLOCKS, THREADS>>>(x, 1.0625f, N);
}

/* Elements one by one and by four. */
static void vectors(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    scale_by_four<<<2, THREADS>>>((float4 *)x, 0.5f, N / 4);
    scale_by_four<<<2, THREADS>>>((float4 *)x, 0.75f, N / 4);
}

static void atomics(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 0.125f * round, N);
    count<<<BLOCKS, THREADS>>>(counts, x, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

/* What the host changes between two rounds, through a pointer that a launch is waiting for. */
static void host_write(int round)
{
    float value = (float)round;
    shift<<<BLOCKS, THREADS>>>(x, 1.0f, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    CHECK(cudaMemcpy(x + round, &value, sizeof value, cudaMemcpyHostToDevice));
    shift<<<BLOCKS, THREADS>>>(x, 1.0f, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

static const struct pattern {
    const char *name;
    void (*round)(int round);
} patterns[] = {
#define PATTERN(name)                                                                                        \
    {                                                                                                        \
#name, name                                                                                          \
    }
    PATTERN(passed_before),     PATTERN(passed_after), PATTERN(needed_between),
    PATTERN(on_a_stream),       PATTERN(two_streams),  PATTERN(two_streams_joined),
    PATTERN(distance),          PATTERN(distances),    PATTERN(alias),
    PATTERN(aliases),           PATTERN(scalar),       PATTERN(scalars),
    PATTERN(block_sizes),       PATTERN(planes),       PATTERN(strided),
    PATTERN(strided_otherwise), PATTERN(host_read),    PATTERN(set_between),
    PATTERN(copy_between),      PATTERN(structs),      PATTERN(integers),
    PATTERN(doubles),           PATTERN(indexed),      PATTERN(indexed_written),
    PATTERN(reallocated),       PATTERN(mirrored),     PATTERN(stencil),
    PATTERN(conditional),       PATTERN(vectors),      PATTERN(atomics),
    PATTERN(host_write),
#undef PATTERN
};

static void *array(size_t size)
{
    void *memory;
    CHECK(cudaMalloc(&memory, size));
    CHECK(cudaMemset(memory, 0, size));
    return memory;
}

static void make_arrays(void)
{
    x = (float *)array(N * sizeof *x);
    y = (float *)array(N * sizeof *y);
    z = (float *)array(2 * N * sizeof *z);
    sums = (float *)array(64 * sizeof *sums);
    d = (double *)array(N * sizeof *d);
    e = (double *)array(N * sizeof *e);
    index_of = (int *)array(N * sizeof *index_of);
    counts = (int *)array(2 * sizeof *counts);
    bytes = (unsigned char *)array(N);
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    fill<<<BLOCKS, THREADS>>>(x, N, 1.0f);
    CHECK(cudaDeviceSynchronize());
    fill<<<BLOCKS, THREADS>>>(y, N, 2.0f);
    CHECK(cudaDeviceSynchronize());
    fill<<<2 * BLOCKS, THREADS>>>(z, 2 * N, 3.0f);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "";
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "name of the pattern"},
        {"vary", NULL, NULL, &vary, "other distances, aliases and scalars"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Patterns of neighbouring launches.", own);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(patterns[i].name, name) != 0) continue;
        make_arrays();
        for (int round = 0; round < ROUNDS; round++) patterns[i].round(round);
        CHECK(cudaDeviceSynchronize());
        const struct result results[] = {
            {"x", x, N * sizeof *x},
            {"y", y, N * sizeof *y},
            {"z", z, 2 * N * sizeof *z},
            {"sums", sums, 64 * sizeof *sums},
            {"d", d, N * sizeof *d},
            {"e", e, N * sizeof *e},
            {"index", index_of, N * sizeof *index_of},
            {"counts", counts, 2 * sizeof *counts},
            {"bytes", bytes, N},
        };
        bench_results(&bench, results, sizeof results / sizeof results[0]);
        return 0;
    }
    fprintf(stderr, "patterns: %s: no such pattern\n", name);
    return 2;
}
