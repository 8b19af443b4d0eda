/* SPDX-License-Identifier: Apache-2.0
 * Programs that a fusion could get wrong: each mode launches kernels whose data meet in an unusual way. A
 * plan is made from variant 1; other variants pass other pointers, sizes or values, which the plan must tell
 * apart. */
#include "bench/bench.h"
#include "tests/bench/modes.h"

enum { N = 1024, THREADS = 128, BLOCKS = N / THREADS, ROUNDS = 3, ARRAYS = 4 };
static float *a, *b, *c, *d, *pool; /* N each, N / 2 apart inside pool */
static long variant = 1;

__global__ void fill(float *x, int n, float seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = seed + 0.25f * (float)(i % 97);
}

__global__ void scale(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i] * 1.5f + 0.125f;
}

__global__ void add(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + y[i];
}

/* Reads through a pointer behind the last element. */
__global__ void scale_from_end(float *x, const float *end, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = end[-1 - i] * 0.75f;
}

/* Rows and columns count from 1: y points to before its array, mostly into another one. */
enum { PITCH = 128 };
__global__ void scale_from_one(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[PITCH + 1 + n - 1 - i] * 0.75f;
}

__global__ void shifted(float *x, const float *y, int from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i + from] + 1.0f;
}

__global__ void shifted_unsigned(float *x, const float *y, unsigned from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i + from] + 1.0f;
}

__global__ void shifted_long(float *x, const float *y, long from, long n)
{
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i + from] + 1.0f;
}

/* A pointer that may be null. */
__global__ void add_perhaps(float *x, const float *perhaps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += perhaps ? perhaps[n - 1 - i] : 2.0f;
}

struct view {
    float *data;
    int pitch, rows;
    long origin;
};

__global__ void rows_add(struct view to, struct view from)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < to.pitch && y < to.rows)
        to.data[to.origin + y * to.pitch + x] += from.data[from.origin + y * from.pitch + x] * 0.5f;
}

/* x[i] is written by the thread that reads it through another pointer. */
__global__ void in_place(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = x[i] + 1.0f;
        x[i] = x[i] * y[i];
    }
}

__global__ void halves(unsigned short *x, const unsigned short *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (unsigned short)(y[i] * 3 + x[i]);
}

__global__ void bytes(unsigned char *x, const signed char *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (unsigned char)(y[i] / 3 - x[i]);
}

__global__ void words(unsigned *x, const unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i] * 2654435761u + 1u;
}

__global__ void quads(float4 *x, const float4 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 value = y[i];
        x[i] = make_float4(value.y, value.x + 1.0f, value.w, value.z * 2.0f);
    }
}

/* Four elements a thread. */
__global__ void four_each(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++)
        if (4 * i + k < n) x[4 * i + k] = y[4 * i + k] * 0.5f + (float)k;
}

/* A grid-stride loop. */
__global__ void strided(float *x, const float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = y[i] * 0.5f + 1.0f;
}

/* Stores that depend on data. */
__global__ void store_if(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && y[i] > 10.0f) x[i] = y[i] - 10.0f;
}

__global__ void early(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 3 == 1) return;
    x[i] = y[i] + x[i] * 0.25f;
}

__global__ void count(unsigned *sum, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && y[i] > 5.0f) atomicAdd(sum + i % 4, 1u);
}

__global__ void use_count(float *x, const unsigned *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += (float)sum[i % 4];
}

__global__ void reverse_block(float *x)
{
    __shared__ float tile[THREADS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = tile[THREADS - 1 - threadIdx.x];
}

__global__ void local_table(float *x, const float *y, int n)
{
    float table[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 8; k++) table[k] = y[i] + (float)k;
    x[i] = table[((int)y[i]) & 7];
}

__device__ float offset_of_all;
__constant__ float factor_of_all = 0.5f;
__device__ float middle[N];

__global__ void set_offset(const float *y, int at)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) offset_of_all = y[at];
}
__global__ void use_offset(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * factor_of_all + offset_of_all;
}
__global__ void to_middle(const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) middle[i] = y[i] * 2.0f;
}
__global__ void from_middle(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += middle[n - 1 - i];
}

/* A product that the next one adds: not to be contracted. */
__global__ void product(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * y[i];
}
__global__ void sum(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + y[i];
}
__global__ void special_numbers(unsigned *x, int n)
{
    const unsigned values[] = {0x80000000u, 0x7fc12345u, 0xff812345u, 0x00000001u,
                               0x7f800000u, 0xff800000u, 0x3f800001u, 0x807fffffu};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = values[i & 7];
}
__global__ void copy_bits(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[i];
}
__global__ void greater(float *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaxf(x[i], -y[i]) / y[n > 0 ? i : 0];
}

__global__ void box(float *x, const float *y, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < nx && j < ny && k < nz) x[(k * ny + j) * nx + i] = y[(k * ny + j) * nx + i] * 0.5f + 3.0f;
}
__global__ void box_transposed(float *x, const float *y, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < nx && j < ny && k < nz) x[(i * ny + j) * nz + k] = y[(i * ny + j) * nz + k] - 1.0f;
}

/* Leaves x alone or not by a value that is no index. */
__global__ void switched(float *x, const float *y, float threshold, unsigned char flag, short from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threshold > 1.0f) x[i] = y[i];
    if (flag) x[i] += y[(i + from) & (N - 1)];
}

/* Indices from arguments by way of division, selection, loops and bits. */
__global__ void woven(float *x, const float *y, int width, int most, unsigned short step, long bits, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / width, column = i % width, at = min(row * width + column, most) ^ (int)(bits & 1);
    if (i < n && at < N) x[i] = y[at] + (bits & 2 ? 1.0f : 2.0f);
    if (i < step * 64)
        for (int k = i; k < n; k += step * 64) x[N + k] = y[k] * 0.5f;
}

static void mode_arguments(void)
{
    int width = variant == 2 ? 7 : 32, most = variant == 3 ? N / 2 : N - 1;
    unsigned short step = variant == 4 ? 1 : 16;
    long bits = variant == 5 ? 1 : variant == 2 ? 4 : 0;
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    woven<<<BLOCKS, THREADS>>>(pool, b, width, most, step, bits, N);
    woven<<<BLOCKS, THREADS>>>(pool + 2 * N, pool + N, width, most, 16, bits | 2, N);
    scale<<<BLOCKS, THREADS>>>(a, pool + 3 * N, N);
}
/* Places that depend on data; the arrays change. */
__global__ void gather(float *x, const float *y, const float *place, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = y[(int)place[i] & (n - 1)] + x[i];
}
static void mode_gather(void)
{
    float *y = variant == 2 ? b : variant == 3 ? c : pool, *other = variant == 4 ? pool + 2 * N : d;
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    gather<<<BLOCKS, THREADS>>>(c, y, a, N);
    gather<<<BLOCKS, THREADS>>>(other, y, b, N);
    scale<<<BLOCKS, THREADS>>>(a, other, N);
}
static void mode_chain(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    scale<<<BLOCKS, THREADS>>>(c, b, N - (variant == 2));
    add<<<BLOCKS, THREADS>>>(variant == 3 ? c : d, variant == 4 ? c + 1 : c, N - 1);
}
static void mode_end(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    scale_from_end<<<BLOCKS, THREADS>>>(c, b + N, N);
    scale<<<BLOCKS, THREADS>>>(a, c, N);
}
static void mode_one(void)
{
    scale<<<BLOCKS, THREADS>>>(b, d, N);
    scale_from_one<<<BLOCKS, THREADS>>>(c, b - 1 - PITCH, N);
    scale<<<BLOCKS, THREADS>>>(d, b, N);
}
static void mode_pool(void)
{
    static const int distance[] = {0, N, N - 1, 0, N / 2, 1};
    float *x = pool, *y = pool + distance[variant];
    add<<<BLOCKS, THREADS>>>(x, a, N);
    add<<<BLOCKS, THREADS>>>(y, x, N);
    add<<<BLOCKS, THREADS>>>(x, y, N);
}
static void mode_shift(void)
{
    int from = variant == 1 ? 0 : (int)variant - 3;
    scale<<<BLOCKS, THREADS>>>(pool + N, a, N);
    shifted<<<BLOCKS, THREADS>>>(b, pool + N, from, N);
    scale<<<BLOCKS, THREADS>>>(pool + N, a, N);
    shifted_unsigned<<<BLOCKS, THREADS>>>(c, pool + N, (unsigned)(from < 0 ? 1 : from), N);
    scale<<<BLOCKS, THREADS>>>(pool + N, b, N);
    shifted_long<<<BLOCKS, THREADS>>>(d, pool + N, from, N);
}
static void mode_null(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    add_perhaps<<<BLOCKS, THREADS>>>(c, variant == 1 ? NULL : variant == 2 ? b : a, N);
    scale<<<BLOCKS, THREADS>>>(variant == 3 ? a : d, c, N);
}
static void mode_null_last(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    add_perhaps<<<BLOCKS, THREADS>>>(c, variant == 1 ? d : variant == 2 ? b : NULL, N);
    scale<<<BLOCKS, THREADS>>>(a, c, N);
}
static void mode_views(void)
{
    dim3 grid(2, 4), block(16, 8);
    struct view x = {pool, 32, 32, 0}, y = {variant == 2 ? pool : pool + 2 * N, 32, 32, variant == 3 ? 1 : 0},
                z = {b, 32, 32, 0};
    if (variant == 4) x.pitch = 31;
    rows_add<<<grid, block>>>(x, y);
    rows_add<<<grid, block>>>(z, x);
    rows_add<<<grid, block>>>(y, z);
}
static void mode_in_place(void)
{
    in_place<<<BLOCKS, THREADS>>>(a, variant == 1 ? a : variant == 2 ? a - 0 + 1 : b, N - 1);
    in_place<<<BLOCKS, THREADS>>>(b, a, N - 1);
    in_place<<<BLOCKS, THREADS>>>(a, b, N - 1);
    in_place<<<BLOCKS, THREADS>>>(a + 1, a + 1, N - 1);
}
static void mode_widths(void)
{
    halves<<<BLOCKS, THREADS>>>((unsigned short *)a, (unsigned short *)b, N);
    halves<<<BLOCKS, THREADS>>>((unsigned short *)c, (unsigned short *)a, N);
    bytes<<<BLOCKS, THREADS>>>((unsigned char *)c, (signed char *)a, N);
    bytes<<<BLOCKS, THREADS>>>((unsigned char *)d, (signed char *)c, N);
    words<<<BLOCKS, THREADS>>>((unsigned *)b, (unsigned *)d, N);
    halves<<<BLOCKS, THREADS>>>((unsigned short *)b, (unsigned short *)d, N);
    words<<<BLOCKS, THREADS>>>((unsigned *)d, (unsigned *)b, N);
}
static void mode_pairs(void)
{
    words<<<BLOCKS, THREADS>>>((unsigned *)b, (unsigned *)a, N);
    halves<<<2 * BLOCKS, THREADS>>>((unsigned short *)b, (unsigned short *)b, 2 * N);
    words<<<BLOCKS, THREADS>>>((unsigned *)c, (unsigned *)b, N);
    bytes<<<4 * BLOCKS, THREADS>>>((unsigned char *)d, (signed char *)c, 4 * N);
    words<<<BLOCKS, THREADS>>>((unsigned *)a, (unsigned *)d, N);
}
static void mode_vectors(void)
{
    quads<<<BLOCKS / 4, THREADS>>>((float4 *)b, (float4 *)a, N / 4);
    four_each<<<BLOCKS / 4, THREADS>>>(c, b, N);
    quads<<<BLOCKS / 4, THREADS>>>((float4 *)d, (float4 *)c, N / 4);
    add<<<BLOCKS, THREADS>>>(a, d, N);
    four_each<<<BLOCKS / 4, THREADS>>>(d + 1, a, N - 1);
    quads<<<BLOCKS / 4, THREADS>>>((float4 *)a, (float4 *)d, N / 4);
}
static void mode_strides(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    strided<<<3, THREADS>>>(c, b, N);
    strided<<<2, 96>>>(d, c, N);
    add<<<BLOCKS / 2, 2 * THREADS>>>(a, d, N);
    add<<<BLOCKS * 2, THREADS / 2>>>(a, b, N - 3);
}
static void mode_conditions(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    store_if<<<BLOCKS, THREADS>>>(b, a, N);
    store_if<<<BLOCKS, THREADS>>>(c, b, N - 5);
    early<<<BLOCKS, THREADS>>>(c, b, N / 2 + 1);
    early<<<BLOCKS, THREADS>>>(d, c, N);
    add<<<BLOCKS, THREADS>>>(d, b, N - 9);
    scale<<<BLOCKS + 1, THREADS>>>(a, d, N);
}
static void mode_atomics(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    count<<<BLOCKS, THREADS>>>((unsigned *)pool, b, N);
    use_count<<<BLOCKS, THREADS>>>(b, (unsigned *)pool, N);
    count<<<BLOCKS, THREADS>>>((unsigned *)pool, a, N);
    add<<<BLOCKS, THREADS>>>(a, b, N);
}
static void mode_shared(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    reverse_block<<<BLOCKS, THREADS>>>(variant == 2 ? b : c);
    add<<<BLOCKS, THREADS>>>(b, d, N);
    reverse_block<<<BLOCKS, THREADS>>>(variant == 3 ? b : d);
    add<<<BLOCKS, THREADS>>>(variant == 4 ? c : a, b, N);
    local_table<<<BLOCKS, THREADS>>>(c, a, N);
    local_table<<<BLOCKS, THREADS>>>(d, c, N);
}
static void mode_variables(void)
{
    float *address;
    CHECK(cudaGetSymbolAddress((void **)&address, middle));
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    set_offset<<<1, 32>>>(b, 7);
    use_offset<<<BLOCKS, THREADS>>>(b, N);
    use_offset<<<BLOCKS, THREADS>>>(c, N);
    set_offset<<<1, 32>>>(c, 9);
    use_offset<<<BLOCKS, THREADS>>>(a, N);
    to_middle<<<BLOCKS, THREADS>>>(a, N);
    add<<<BLOCKS, THREADS>>>(address, b, N);
    from_middle<<<BLOCKS, THREADS>>>(c, N);
    add<<<BLOCKS, THREADS>>>(d, address, N);
}
static void mode_numbers(void)
{
    product<<<BLOCKS, THREADS>>>(a, b, N);
    sum<<<BLOCKS, THREADS>>>(a, c, N);
    product<<<BLOCKS, THREADS>>>(c, a, N);
    special_numbers<<<BLOCKS, THREADS>>>((unsigned *)d, N);
    copy_bits<<<BLOCKS, THREADS>>>(b, d, N);
    greater<<<BLOCKS, THREADS>>>(d, b, N);
    greater<<<BLOCKS, THREADS>>>(b, d, N);
}
static void mode_boxes(void)
{
    dim3 flat(2, 4, 8), block(4, 4, 2), wide(1, 2, 16), tall(8, 8, 1), turned(1, 4, 4), cube(16, 4, 2);
    box<<<flat, block>>>(b, a, 8, 16, 8);
    box<<<wide, tall>>>(c, b, 8, 16, 8);
    box<<<flat, block>>>(d, c, 8, 15, 8);
    box_transposed<<<turned, cube>>>(a, d, 8, 16, 8);
    box<<<flat, block>>>(b, a, 8, 16, 8);
    add<<<BLOCKS, THREADS>>>(c, b, N);
}
static void mode_passed(void)
{
    float *x = variant == 2 ? b : variant == 3 ? a : variant == 4 ? c : d;
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    reverse_block<<<BLOCKS, THREADS>>>(x);
    add<<<BLOCKS, THREADS>>>(c, b, N);
    reverse_block<<<BLOCKS, THREADS>>>(variant == 5 ? c : d);
    add<<<BLOCKS, THREADS>>>(b, c, N);
}
static void mode_switch(void)
{
    scale<<<BLOCKS, THREADS>>>(b, a, N);
    switched<<<BLOCKS, THREADS>>>(c, b, variant == 2 ? 2.0f : 0.5f, variant == 3 || variant == 4,
                                  (short)(variant == 4 ? -1 : 0), N);
    switched<<<BLOCKS, THREADS>>>(d, c, variant == 2 ? 2.0f : 0.5f, 1, 0, N);
    scale<<<BLOCKS, THREADS>>>(a, d, N);
}
/* Arrays come and go between rounds. */
static void mode_renew(void)
{
    float *x;
    CHECK(cudaMalloc((void **)&x, N * sizeof *x));
    scale<<<BLOCKS, THREADS>>>(x, a, N);
    add<<<BLOCKS, THREADS>>>(b, x, N);
    CHECK(cudaFree(x));
    CHECK(cudaMalloc((void **)&x, (variant == 2 ? 2 : 1) * N * sizeof *x));
    scale<<<BLOCKS, THREADS>>>(x, b, N);
    add<<<BLOCKS, THREADS>>>(c, x, N);
    CHECK(cudaFree(x));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"chain", mode_chain},
                 {"end", mode_end},
                 {"one", mode_one},
                 {"pool", mode_pool},
                 {"shift", mode_shift},
                 {"null", mode_null},
                 {"null-last", mode_null_last},
                 {"views", mode_views},
                 {"in-place", mode_in_place},
                 {"widths", mode_widths},
                 {"pairs", mode_pairs},
                 {"vectors", mode_vectors},
                 {"strides", mode_strides},
                 {"conditions", mode_conditions},
                 {"atomics", mode_atomics},
                 {"shared", mode_shared},
                 {"variables", mode_variables},
                 {"numbers", mode_numbers},
                 {"boxes", mode_boxes},
                 {"passed", mode_passed},
                 {"switch", mode_switch},
                 {"renew", mode_renew},
                 {"arguments", mode_arguments},
                 {"gather", mode_gather}};
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "";
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "what to do"},
        {"variant", &variant, NULL, NULL, "with which pointers, sizes and values"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Kernels whose data meet in unusual ways.", own);
    float **arrays[ARRAYS] = {&a, &b, &c, &d};
    for (int i = 0; i < ARRAYS; i++) CHECK(cudaMalloc((void **)arrays[i], N * sizeof(float)));
    CHECK(cudaMalloc((void **)&pool, 4 * N * sizeof(float)));
    for (int i = 0; i < ARRAYS; i++) fill<<<BLOCKS, THREADS>>>(*arrays[i], N, (float)i);
    fill<<<4 * BLOCKS, THREADS>>>(pool, 4 * N, 0.5f);
    CHECK(cudaDeviceSynchronize());
    const auto *mode = find_mode("attack", modes, name);
    for (int round = 0; round < ROUNDS; round++) mode->run();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const struct result results[] = {{"a", a, N * sizeof *a},
                                     {"b", b, N * sizeof *b},
                                     {"c", c, N * sizeof *c},
                                     {"d", d, N * sizeof *d},
                                     {"pool", pool, 4 * N * sizeof *pool}};
    bench_results(&bench, results, 5);
    return 0;
}
