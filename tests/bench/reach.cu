/* SPDX-License-Identifier: Apache-2.0
 * What kernels reach beside the arrays of their arguments: variables and constants of their module, functions
 * that they call, elements that data name. One pattern a mode, some rounds of each. --vary changes what a
 * plan of the run without it must not take for granted. */
#include "bench/bench.h"
#include "tests/bench/modes.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { N = 1000, THREADS = 128, BLOCKS = 8, ROUNDS = 6 };

struct weights {
    float left, right;
    int shift;
    float more[8];
};
__constant__ float factor;
__constant__ weights weight;
static __constant__ float of_file[4] = {0.5f, 0.25f, 2.0f, 1.5f};
__device__ float saved[N];
extern "C" {
__device__ float kept[N];
}
__device__ int total;
__device__ float4 pairs[N];
__managed__ float shared_factor = 1.5f;

static float *x, *y, *z, *w; /* of 2 N elements, the upper half 0 at first */
static int vary;

/* --- kernels --- */

#define INDEX                                                                                                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    if (i >= n) return

__global__ void fill(float *a, float base, int n)
{
    INDEX;
    a[i] = base + 0.5f * (i % 37);
}

__global__ void by_factor(float *a, int n)
{
    INDEX;
    a[i] = a[i] * factor;
}

__global__ void by_weights(float *out, const float *a, int n)
{
    INDEX;
    float sum = a[i] * weight.left;
    for (int k = 0; k < 8; k++) sum += weight.more[k];
    out[i] = sum * weight.right;
}

__global__ void by_own_weight(float *a, int n)
{
    INDEX;
    a[i] = a[i] * weight.more[i % 8] + of_file[i / 4 % 4];
}

/* Which constant is a matter of data. */
__global__ void by_drawn_weight(float *a, int n)
{
    INDEX;
    a[i] = a[i] + weight.more[(int)a[i] & 7];
}

__global__ void by_shared(float *a, int n)
{
    INDEX;
    a[i] = a[i] * shared_factor;
}

__global__ void save(const float *a, int n)
{
    INDEX;
    saved[i] = a[i] + 1.0f;
}

__global__ void restore(float *a, int n)
{
    INDEX;
    a[i] = saved[i] * 0.5f;
}

__global__ void restore_neighbour(float *a, int n)
{
    INDEX;
    a[i] = saved[(i + 1) % n] * 0.5f;
}

__global__ void count_above(const float *a, float limit, int n)
{
    INDEX;
    if (a[i] > limit) atomicAdd(&total, 1);
}

__global__ void to_pairs(const float *a, int n)
{
    INDEX;
    pairs[i] = make_float4(a[i], 2.0f * a[i], 3.0f, 4.0f);
}

__global__ void from_pairs(float *a, int n)
{
    INDEX;
    float4 p = pairs[i];
    a[i] = p.x + p.y + p.z + p.w;
}

/* A constant by a pointer, in a function and in a loop. */
__device__ __noinline__ float weight_at(const weights *from, int k)
{
    return from->more[k & 7] * from->left;
}

__global__ void by_pointer(float *a, int n)
{
    INDEX;
    a[i] += weight_at(&weight, i);
}

__global__ void by_loop(float *a, int n)
{
    INDEX;
    float sum = a[i];
#pragma unroll 1
    for (const float *at = weight.more; at != weight.more + 8; at++) sum = sum * 0.5f + *at;
    a[i] = sum;
}

/* A place inside a variable, which compilers mostly reach by an addition. */
__global__ void keep(const float *a, int n)
{
    INDEX;
    float *place;
    asm("mov.u64 %0, kept+16;" : "=l"(place));
    if (i + 4 < n) place[i] = a[i];
}

__global__ void take_kept(float *a, int n)
{
    INDEX;
    a[i] = kept[i] - 1.0f;
}

/* The address itself is a value of the program. */
__device__ const float *constant_at;
__global__ void note_constant(float *a, int n)
{
    INDEX;
    if (i == 0) constant_at = &weight.more[2];
    a[i] += weight.right;
}

/* --- narrow types, vectors, local arrays --- */

__global__ void half_pairs(__half2 *out, const __half2 *a, int n)
{
    INDEX;
    out[i] = __hfma2(a[i], __float2half2_rn(0.5f), out[i]);
}

__global__ void brain_floats(__nv_bfloat162 *out, const __nv_bfloat162 *a, int n)
{
    INDEX;
    out[i] = __hmax2(a[i], __hadd2(out[i], a[i]));
}

__global__ void byte_quads(uchar4 *out, const uchar4 *a, int n)
{
    INDEX;
    uchar4 p = a[i], q = out[i];
    out[i] = make_uchar4(p.x + q.x, p.y * q.y, p.z - q.z, p.w);
}

__global__ void flags(bool *out, const float *a, int n)
{
    INDEX;
    out[i] = a[i] > 3.0f;
}

__global__ void by_flags(float *a, const bool *flag, int n)
{
    INDEX;
    if (flag[i]) a[i] *= 0.5f;
}

__global__ void shuffle_own(float *a, int n)
{
    INDEX;
    float own[8];
    for (int k = 0; k < 8; k++) own[(k * (i | 1)) & 7] = a[i] + k;
    int first = i & 7;
    own[first] += 2.0f;
    a[i] = own[(first * 3) & 7] + own[first];
}

/* --- kernels that read anywhere --- */

__global__ void gather(float *out, const float *from, const float *at, int n)
{
    INDEX;
    out[i] = from[(int)at[i] & 255] + 1.0f;
}

__global__ void gather_into(float *out, const float *from, const float *at, int n)
{
    INDEX;
    out[i] = from[(int)at[i] & 255] * 0.5f + out[i];
}

__global__ void walk_list(float *out, const int *next, const float *from, int n)
{
    INDEX;
    int at = i;
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        sum += from[at];
        at = next[at];
    }
    out[i] = sum;
}

__global__ void link(int *next, int n)
{
    INDEX;
    next[i] = (i * 7 + 3) % n;
}

/* --- kernels that call --- */

struct pair {
    float first;
    double second;
};
struct word {
    unsigned char bytes[8];
};

__device__ __noinline__ float blend(float a, int k)
{
    if (k > 3) return a * 2.0f;
    return a + k;
}

__device__ __noinline__ pair turn(pair in, short k)
{
    pair out = {(float)in.second, (double)in.first + k};
    return out;
}

__device__ __noinline__ void put(float *at, float value)
{
    *at = blend(value, 2) - 0.5f;
}

/* Wants its parameter in other pieces than it is passed in. */
__device__ __noinline__ unsigned add_bytes(word w, int from)
{
    unsigned sum = 0;
    for (int k = 0; k < 8; k++) sum += w.bytes[(from + k) & 7] << (k & 3);
    return sum;
}

__device__ __noinline__ int steps_of(int n, unsigned char most)
{
    int steps = 0;
    for (; n > 1 && steps < most; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

__global__ void blend_all(float *a, int n)
{
    INDEX;
    a[i] = blend(a[i], i & 7);
    if (i % 3) a[i] += blend(a[i], 4);
}

__global__ void turn_all(float *a, float *b, int n)
{
    INDEX;
    pair given = {a[i], b[i]};
    pair taken = turn(given, (short)i);
    a[i] = taken.first;
    b[i] = (float)taken.second;
}

__global__ void put_all(float *out, const float *a, int n)
{
    INDEX;
    put(out + i, a[i]);
}

__global__ void add_all_bytes(float *a, int n)
{
    INDEX;
    word w;
    for (int k = 0; k < 8; k++) w.bytes[k] = (unsigned char)(i * (k + 3));
    a[i] += (float)add_bytes(w, i & 3);
}

__global__ void walk(float *a, int n)
{
    INDEX;
    a[i] += (float)steps_of(i, (unsigned char)(i + 100));
}

__global__ void sines(float *a, int n)
{
    INDEX;
    a[i] = (float)(sin((double)a[i]) + pow(1.0 + i, 0.25));
}

/* --- patterns: one round each --- */

static weights draw(int round)
{
    weights drawn = {0.5f + round, 1.0f / (1 + round), round, {}};
    for (int k = 0; k < 8; k++) drawn.more[k] = 0.25f * k - round + (vary ? 3.0f : 0.0f);
    return drawn;
}

static void constants(int round)
{
    const float value = 1.0f + 0.25f * round + (vary ? 1.0f : 0.0f);
    const weights drawn = draw(round);
    CHECK(cudaMemcpyToSymbol(factor, &value, sizeof value));
    CHECK(cudaMemcpyToSymbol(weight, &drawn, sizeof drawn));
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    by_weights<<<BLOCKS, THREADS>>>(y, x, N);
    by_own_weight<<<BLOCKS, THREADS>>>(y, N);
}

/* Between launches of which the first would be held. */
static void constants_set_between(int round)
{
    float value = 1.0f + 0.25f * round;
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    CHECK(cudaMemcpyToSymbol(factor, &value, sizeof value));
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    by_factor<<<BLOCKS, THREADS>>>(y, N);
    value += vary ? 0.5f : 0.25f;
    CHECK(cudaMemcpyToSymbolAsync(factor, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    CHECK(cudaDeviceSynchronize());
}

static void constants_drawn(int round)
{
    const weights drawn = draw(round);
    CHECK(cudaMemcpyToSymbol(weight, &drawn, sizeof drawn));
    by_drawn_weight<<<BLOCKS, THREADS>>>(x, N);
    by_weights<<<BLOCKS, THREADS>>>(y, x, N);
}

static void variables(int round)
{
    save<<<BLOCKS, THREADS>>>(x, N);
    restore<<<BLOCKS, THREADS>>>(y, N);
    save<<<BLOCKS, THREADS>>>(y, vary ? N / 2 : N);
    if (round % 2) CHECK(cudaMemcpyFromSymbol(z, saved, N * sizeof *z, 0, cudaMemcpyDeviceToDevice));
    restore<<<BLOCKS, THREADS>>>(x, N);
}

/* What another thread has written, other values in every round. */
static void variables_of_neighbours(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    CHECK(cudaDeviceSynchronize());
    save<<<BLOCKS, THREADS>>>(x, N);
    restore_neighbour<<<BLOCKS, THREADS>>>(y, N);
    CHECK(cudaDeviceSynchronize());
}

static void counters(int round)
{
    int counted = 0;
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    count_above<<<BLOCKS, THREADS>>>(x, 0.5f * round, N);
    count_above<<<BLOCKS, THREADS>>>(y, 0.25f * round, N);
    CHECK(cudaMemcpyFromSymbol(&counted, total, sizeof counted));
    fill<<<BLOCKS, THREADS>>>(z, (float)counted, vary ? N / 2 : N);
}

static void vectors(int round)
{
    to_pairs<<<BLOCKS, THREADS>>>(x, N);
    from_pairs<<<BLOCKS, THREADS>>>(y, vary ? N / 2 : N);
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
}

/* An argument that points to what another launch knows by name. */
static void addresses(int round)
{
    float *address = y;
    if (vary && round % 2) CHECK(cudaGetSymbolAddress((void **)&address, saved));
    save<<<BLOCKS, THREADS>>>(x, N);
    fill<<<BLOCKS, THREADS>>>(address, (float)round, N);
    restore<<<BLOCKS, THREADS>>>(z, N);
}

static void constants_by_pointer(int round)
{
    const weights drawn = draw(round);
    CHECK(cudaMemcpyToSymbol(weight, &drawn, sizeof drawn));
    by_pointer<<<BLOCKS, THREADS>>>(x, N);
    by_loop<<<BLOCKS, THREADS>>>(x, N);
    by_pointer<<<BLOCKS, THREADS>>>(y, vary ? N / 2 : N);
}

static void constants_as_values(int round)
{
    const weights drawn = draw(round);
    CHECK(cudaMemcpyToSymbol(weight, &drawn, sizeof drawn));
    note_constant<<<BLOCKS, THREADS>>>(x, N);
    note_constant<<<BLOCKS, THREADS>>>(y, N);
}

static void places_in_variables(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    keep<<<BLOCKS, THREADS>>>(x, N);
    fill<<<BLOCKS, THREADS>>>(y, (float)round, N);
    CHECK(cudaDeviceSynchronize());
    take_kept<<<BLOCKS, THREADS>>>(x, N);
    fill<<<BLOCKS, THREADS>>>(y, 1.0f, vary ? N / 2 : N);
}

static void halves(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    half_pairs<<<BLOCKS, THREADS>>>((__half2 *)y, (__half2 *)x, N);
    half_pairs<<<BLOCKS, THREADS>>>((__half2 *)z, (__half2 *)y, N);
    brain_floats<<<BLOCKS, THREADS>>>((__nv_bfloat162 *)w, (__nv_bfloat162 *)z, vary ? N / 2 : N);
}

static void narrow(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    byte_quads<<<BLOCKS, THREADS>>>((uchar4 *)y, (uchar4 *)x, N);
    byte_quads<<<BLOCKS, THREADS>>>((uchar4 *)z, (uchar4 *)y, N);
    flags<<<BLOCKS, THREADS>>>((bool *)w, x, N);
    by_flags<<<BLOCKS, THREADS>>>(x, (bool *)w, vary ? N / 2 : N);
}

static void local_arrays(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    shuffle_own<<<BLOCKS, THREADS>>>(x, N);
    shuffle_own<<<BLOCKS, THREADS>>>(x, vary ? N / 2 : N);
}

/* z is read anywhere; with --vary, what is written lies in it. */
static void gathers(int round)
{
    float *out = vary ? z + 1000 : y;
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    gather<<<BLOCKS, THREADS>>>(out, z, x, N);
    by_factor<<<BLOCKS, THREADS>>>(out, N);
    by_factor<<<BLOCKS, THREADS>>>(x, N);
}

/* Two arrays that are read anywhere; one allocation holds what is written, too. */
static void gathers_beside_writes(int round)
{
    gather_into<<<BLOCKS, THREADS>>>(z + N, z, x, N);
    fill<<<BLOCKS, THREADS>>>(vary ? w + 10 : y, (float)round, N);
    gather<<<BLOCKS, THREADS>>>(x, w, z + N, N);
}

/* Another member writes what is read anywhere. */
static void gathers_of_written(int round)
{
    fill<<<BLOCKS, THREADS>>>(z, (float)round, N);
    gather<<<BLOCKS, THREADS>>>(y, z, x, N);
    CHECK(cudaDeviceSynchronize());
}

/* A pointer into the middle of an allocation says little about where it leads. */
static void gathers_from_within(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    gather<<<BLOCKS, THREADS>>>(y, z + 8, x, N);
    CHECK(cudaDeviceSynchronize());
}

static void lists(int round)
{
    if (round == 0) link<<<BLOCKS, THREADS>>>((int *)w, N);
    CHECK(cudaDeviceSynchronize());
    walk_list<<<BLOCKS, THREADS>>>(x, (int *)w, z, N);
    by_factor<<<BLOCKS, THREADS>>>(x, N);
    walk_list<<<BLOCKS, THREADS>>>(y, (int *)w, z, vary ? N / 2 : N);
}

static void calls(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    blend_all<<<BLOCKS, THREADS>>>(x, N);
    put_all<<<BLOCKS, THREADS>>>(y, x, N);
    turn_all<<<BLOCKS, THREADS>>>(x, y, vary ? N / 2 : N);
}

static void calls_with_bytes(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, (float)round, N);
    add_all_bytes<<<BLOCKS, THREADS>>>(x, N);
    walk<<<BLOCKS, THREADS>>>(x, vary ? N / 2 : N);
}

static void calls_of_mathematics(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, 1e6f * round, N);
    sines<<<BLOCKS, THREADS>>>(x, N);
    put_all<<<BLOCKS, THREADS>>>(y, x, vary ? N / 2 : N);
}

static void managed(int round)
{
    by_shared<<<BLOCKS, THREADS>>>(x, N);
    by_shared<<<BLOCKS, THREADS>>>(x, N);
    CHECK(cudaDeviceSynchronize());
    shared_factor = 1.0f + round + vary;
}

#define PATTERN(name)                                                                                        \
    {                                                                                                        \
#name, name                                                                                          \
    }
static const struct {
    const char *name;
    void (*round)(int round);
} patterns[] = {
    PATTERN(constants),
    PATTERN(constants_set_between),
    PATTERN(constants_drawn),
    PATTERN(variables),
    PATTERN(variables_of_neighbours),
    PATTERN(counters),
    PATTERN(vectors),
    PATTERN(addresses),
    PATTERN(constants_by_pointer),
    PATTERN(constants_as_values),
    PATTERN(places_in_variables),
    PATTERN(halves),
    PATTERN(narrow),
    PATTERN(local_arrays),
    PATTERN(gathers),
    PATTERN(gathers_beside_writes),
    PATTERN(gathers_of_written),
    PATTERN(gathers_from_within),
    PATTERN(lists),
    PATTERN(calls),
    PATTERN(calls_with_bytes),
    PATTERN(calls_of_mathematics),
    PATTERN(managed),
};

static float *array(float base)
{
    float *memory;
    CHECK(cudaMalloc((void **)&memory, 2 * N * sizeof *memory));
    CHECK(cudaMemset(memory, 0, 2 * N * sizeof *memory));
    CHECK(cudaDeviceSynchronize());
    fill<<<BLOCKS, THREADS>>>(memory, base, N);
    CHECK(cudaDeviceSynchronize());
    return memory;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "";
    long seed = 0;
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "name of the pattern"},
        {"seed", &seed, NULL, NULL, "not used"},
        {"vary", NULL, NULL, &vary, "other values, shapes and pointers"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "What kernels reach beside the arrays of their arguments.", own);
    const auto *pattern = find_mode("reach", patterns, name);
    x = array(1.0f);
    y = array(2.0f);
    z = array(3.0f);
    w = array(0.0f);
    for (int round = 0; round < ROUNDS; round++) pattern->round(round);
    CHECK(cudaDeviceSynchronize());
    void *variable;
    CHECK(cudaGetSymbolAddress(&variable, saved));
    const struct result results[] = {
        {"x", x, N * sizeof *x},
        {"y", y, N * sizeof *y},
        {"z", z, 2 * N * sizeof *z},
        {"w", w, 2 * N * sizeof *w},
        {"saved", variable, N * sizeof *x},
    };
    bench_results(&bench, results, sizeof results / sizeof results[0]);
    return 0;
}
