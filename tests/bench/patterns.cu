/* SPDX-License-Identifier: Apache-2.0
 * Neighbouring launches in the ways that programs have them, one pattern a mode, some rounds of each. --vary
 * changes what a plan of the run without it must not take for granted: distances, aliases, scalars. */
#include "bench/bench.h"
#include "tests/bench/block_kernels.h"
#include "tests/bench/modes.h"
#include "tests/bench/pattern_kernels.h"

static float *x, *y, *z, *sums; /* N, N, 2 N and 64 elements; x, y and z follow each other nowhere */
static double *d, *e;
static int *index_of, *counts;
static unsigned char *bytes;
static cudaStream_t first, second;
static int vary;
static long seed = 1;

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

/* Streams that the null stream waits for, and that wait for it. */
static void blocking_streams(int round)
{
    static cudaStream_t stream;
    if (!stream) CHECK(cudaStreamCreate(&stream));
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    scale<<<BLOCKS, THREADS, 0, stream>>>(x, 0.25f, N);
    add<<<BLOCKS, THREADS, 0, stream>>>(y, x, y, N);
    add<<<BLOCKS, THREADS>>>(x, x, y, N);
    scale<<<BLOCKS, THREADS>>>(y, 0.5f, N);
}

/* Constants that the host changes, one of them part of addresses. */
static void constants(int round)
{
    const int offset = vary ? round : round / 3;
    const float factor = 0.5f + 0.125f * round;
    CHECK(cudaMemcpyToSymbol(offset_of_all, &offset, sizeof offset));
    CHECK(cudaMemcpyToSymbol(factor_of_all, &factor, sizeof factor));
    scale_constant<<<BLOCKS, THREADS>>>(y, x, N);
    shift<<<BLOCKS, THREADS>>>(y, 1.0f, N);
    scale_constant<<<BLOCKS, THREADS>>>(x, y, N);
}

static void tables(int round)
{
    float *of_table;
    CHECK(cudaGetSymbolAddress((void **)&of_table, table));
    to_table<<<BLOCKS, THREADS>>>(x, round % 2, N);
    scale<<<BLOCKS, THREADS>>>(of_table + 1024 * (round % 2), 0.5f, N);
    from_table<<<BLOCKS, THREADS>>>(x, round % 2, N);
    shift<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

static void leaving(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    leave_early<<<BLOCKS, THREADS>>>(x, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N - 10);
    add<<<BLOCKS, THREADS>>>(y, x, y, N);
}

static void rows(int round)
{
    scale_rows<<<1, THREADS>>>(x, 0.5f, 50, 20);
    sum_rows<<<1, THREADS>>>(y, x, 50, 20);
    shift<<<1, THREADS>>>(y, 1.0f + round, 50);
    CHECK(cudaDeviceSynchronize());
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_rows<<<1, THREADS>>>(z, x, 50, 20);
    CHECK(cudaDeviceSynchronize());
}

static void iterated(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 10.0f * round, N);
    halve_until<<<BLOCKS, THREADS>>>(x, 3.0f, N);
    shift<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

static void wrapped(int round)
{
    all_but_first<<<BLOCKS, THREADS>>>(y, x, vary ? 900u - round : 900u);
    all_but_first<<<BLOCKS, THREADS>>>(x, y, 900u);
    shift_long<<<BLOCKS, THREADS>>>(x, 0.5f * round, 800);
}

static void half_floats(int round)
{
    halves<<<BLOCKS, THREADS>>>((__half *)z, 0.5f + 0.25f * round, N);
    halves<<<BLOCKS, THREADS>>>((__half *)z, 0.75f, N);
}

static void from_one(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    scale_from_one<<<BLOCKS, THREADS>>>(x - 1, 0.5f, N);
    shift<<<BLOCKS, THREADS>>>(x, 1.0f, N);
}

/* One element that another thread has written goes to one thread. */
static void last_element(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    last_of<<<1, 32>>>(sums + round, x, N);
    add_one_of<<<BLOCKS, THREADS>>>(y, sums + round, N);
}

/* A sum a block, in the ways that programs have; what is summed was written just before. */
static void block_sums(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_blocks<<<BLOCKS, THREADS>>>(sums, x, N);
    sum_blocks<<<BLOCKS, THREADS>>>(sums + 32, x, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

static void barriers_under_a_test(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_blocks_under<<<BLOCKS, THREADS>>>(sums, x, N);
    sum_blocks<<<BLOCKS, THREADS>>>(sums + 32, x, N);
}

/* The last warp would arrive in two parts. */
static void warps_parted_at_barriers(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_blocks_leaving<<<BLOCKS, THREADS>>>(sums, x, N);
}

/* Whole warps leave. */
static void barriers_after_leaving(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_blocks_leaving<<<BLOCKS, THREADS>>>(sums, x, N / 32 * 32);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
    sum_blocks_leaving<<<BLOCKS - 1, THREADS>>>(sums + 32, x, N - 10);
}

static void warp_sums(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_warps<<<BLOCKS, THREADS>>>(sums, x, N);
    sum_warps<<<BLOCKS, THREADS>>>(sums + 32, x, N - 40);
}

static void warps_that_leave(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_warps_leaving<<<BLOCKS, THREADS>>>(sums, x, N);
}

static void dynamic_shared(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    turn_blocks<<<BLOCKS, THREADS, THREADS * sizeof *x>>>(y, x, N);
    sum_blocks<<<BLOCKS, THREADS>>>(sums, y, N);
    turn_blocks<<<BLOCKS, THREADS, THREADS * sizeof *x>>>(x, y, N);
}

/* More than a kernel may declare. */
static void much_dynamic_shared(int round)
{
    cudaFuncSetAttribute(turn_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    turn_blocks<<<BLOCKS, THREADS, 64 << 10>>>(y, x, N);
}

static void within_blocks(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    add_next_in_block<<<BLOCKS - 1, THREADS>>>(y, x, N);
    scale<<<BLOCKS, THREADS>>>(y, 0.5f, N);
    add_next_in_block<<<BLOCKS - 1, THREADS>>>(x, y, N);
}

static void within_blocks_in_place(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    double_in_block<<<BLOCKS, THREADS>>>(x, N);
    double_in_block<<<BLOCKS, THREADS>>>(x, N);
    scale<<<BLOCKS, THREADS>>>(x, 0.5f, N);
}

/* Blocks that must stay whole, of two shapes. */
static void blocks_of_two_shapes(int round)
{
    sum_blocks<<<BLOCKS, THREADS>>>(sums, x, N);
    sum_blocks<<<2 * BLOCKS, THREADS / 2>>>(sums + 32, x, N);
    CHECK(cudaDeviceSynchronize());
    shift<<<1, 1>>>(x, round, 1);
    CHECK(cudaDeviceSynchronize());
}

static void block_votes(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    count_in_block<<<BLOCKS, THREADS>>>((int *)(sums + 48), x, 2.0f, N);
    shift<<<BLOCKS, THREADS>>>(x, -3.0f, N);
}

/* Blocks that a member with uneven barriers does not have pass no barrier there. */
static void blocks_that_skip_barriers(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    sum_blocks_leaving<<<BLOCKS - 2, THREADS>>>(sums, z, (N - 2 * THREADS - 100) / 32 * 32);
    add_next_in_block<<<BLOCKS - 1, THREADS>>>(y, x, N);
}

static void blocks_that_skip_shared(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    turn_blocks<<<BLOCKS, THREADS, THREADS * sizeof *x>>>(y, x, N);
    write_over_in_block<<<BLOCKS - 2, THREADS>>>(z, N);
    turn_blocks<<<BLOCKS, THREADS, THREADS * sizeof *x>>>(x, y, N);
}

static void barriers_in_both_branches(int round)
{
    write_over_in_block<<<BLOCKS, THREADS>>>(x, N);
    add_first_halves<<<BLOCKS, THREADS>>>(y, x, N);
    shift<<<BLOCKS, THREADS>>>(y, 1.0f + round, N);
}

static void votes_before_leaving(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    count_before_leaving<<<BLOCKS, THREADS>>>(y, x, N / 32 * 32);
}

static void aligned_shared(int round)
{
    shift<<<BLOCKS, THREADS>>>(x, 1.0f + round, N);
    turn_aligned<<<BLOCKS, THREADS, THREADS * sizeof *x>>>(y, x, N);
}

static void CUDART_CB say(void *text)
{
    printf("called: %a\n", *(float *)text);
}

/* The host is called from the stream. */
static void host_function(int round)
{
    static float *seen;
    if (!seen) CHECK(cudaMallocHost((void **)&seen, ROUNDS * sizeof *seen));
    shift<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f + round, N);
    scale<<<BLOCKS, THREADS, 0, first>>>(x, 0.5f, N);
    CHECK(cudaMemcpyAsync(seen + round, x + 5, sizeof *seen, cudaMemcpyDeviceToHost, first));
    CHECK(cudaLaunchHostFunc(first, say, seen + round));
    shift<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f, N);
    scale<<<BLOCKS, THREADS, 0, first>>>(x, 0.5f, N);
}

/* Managed memory is seen by the host without a copy. */
static void managed(int round)
{
    static float *m;
    if (!m) {
        CHECK(cudaMallocManaged((void **)&m, N * sizeof *m, cudaMemAttachGlobal));
        memset(m, 0, N * sizeof *m);
    }
    shift<<<BLOCKS, THREADS>>>(m, 1.0f + round, N);
    scale<<<BLOCKS, THREADS>>>(m, 0.5f, N);
    add<<<BLOCKS, THREADS>>>(x, x, m, N);
    CHECK(cudaDeviceSynchronize());
    printf("%d: %a\n", round, m[round]);
    m[round] = 3.0f;
}

static unsigned draw(unsigned *state, unsigned count)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % count;
}

/* Arrays and places in them drawn by lot. Within one launch the places are equal or apart. */
static float *place(unsigned *state, int *array, int *from)
{
    static float **const arrays[] = {&x, &y, &z};
    int before = *array;
    *array = draw(state, 3);
    if (*array != before || before < 0) *from = draw(state, 3) ? 0 : draw(state, N / 2);
    return *arrays[*array] + *from;
}

/* Which kernels follow each other --seed decides; --vary draws other arrays, places, sizes and shapes now and
 * then. */
static void drawn(int round)
{
    static const int blocks[] = {128, 128, 128, 96, 256};
    unsigned kernels = (unsigned)seed * 7919u, shapes = (unsigned)seed * 104729u;
    for (int i = 0; i < 10; i++) {
        if (vary && round % 2 && i == 4) shapes += round;
        int array = -1, from = 0, n = draw(&shapes, 3) ? N / 2 : N / 2 - draw(&shapes, 20);
        float *a = place(&shapes, &array, &from), *b = place(&shapes, &array, &from);
        unsigned threads = blocks[draw(&shapes, 5)], grid = (n + threads - 1) / threads;
        switch (draw(&kernels, 10)) {
        case 0:
            scale<<<grid, threads>>>(a, 0.75f, n);
            break;
        case 1:
            shift<<<grid, threads>>>(a, 0.5f + round, n);
            break;
        case 2:
            add<<<grid, threads>>>(a, b, a, n);
            break;
        case 3:
            add<<<grid, threads>>>(a, b, b, n);
            break;
        case 4:
            clamp<<<grid, threads>>>(a, 2.0f + round, n);
            break;
        case 5:
            scale_strided<<<2, threads>>>(a, 0.75f, n);
            break;
        case 6:
            leave_early<<<grid, threads>>>(a, n);
            break;
        case 7:
            reduce<<<1, THREADS>>>(sums + i, a, n);
            break;
        case 8:
            add_one_of<<<grid, threads>>>(a, sums + draw(&kernels, 10), n);
            break;
        case 9:
            shift_long<<<grid, threads>>>(a, 0.25f, n);
            break;
        }
    }
    CHECK(cudaDeviceSynchronize());
}

static const struct pattern {
    const char *name;
    void (*round)(int round);
} patterns[] = {
#define PATTERN(name)                                                                                        \
    {                                                                                                        \
#name, name                                                                                          \
    }
    PATTERN(passed_before),
    PATTERN(passed_after),
    PATTERN(needed_between),
    PATTERN(on_a_stream),
    PATTERN(two_streams),
    PATTERN(two_streams_joined),
    PATTERN(distance),
    PATTERN(distances),
    PATTERN(alias),
    PATTERN(aliases),
    PATTERN(scalar),
    PATTERN(scalars),
    PATTERN(block_sizes),
    PATTERN(planes),
    PATTERN(strided),
    PATTERN(strided_otherwise),
    PATTERN(host_read),
    PATTERN(set_between),
    PATTERN(copy_between),
    PATTERN(structs),
    PATTERN(integers),
    PATTERN(doubles),
    PATTERN(indexed),
    PATTERN(indexed_written),
    PATTERN(reallocated),
    PATTERN(mirrored),
    PATTERN(stencil),
    PATTERN(conditional),
    PATTERN(vectors),
    PATTERN(atomics),
    PATTERN(host_write),
    PATTERN(blocking_streams),
    PATTERN(constants),
    PATTERN(tables),
    PATTERN(leaving),
    PATTERN(rows),
    PATTERN(iterated),
    PATTERN(wrapped),
    PATTERN(half_floats),
    PATTERN(from_one),
    PATTERN(block_sums),
    PATTERN(barriers_under_a_test),
    PATTERN(barriers_after_leaving),
    PATTERN(warps_parted_at_barriers),
    PATTERN(warp_sums),
    PATTERN(warps_that_leave),
    PATTERN(dynamic_shared),
    PATTERN(much_dynamic_shared),
    PATTERN(within_blocks),
    PATTERN(within_blocks_in_place),
    PATTERN(blocks_of_two_shapes),
    PATTERN(block_votes),
    PATTERN(last_element),
    PATTERN(blocks_that_skip_barriers),
    PATTERN(blocks_that_skip_shared),
    PATTERN(barriers_in_both_branches),
    PATTERN(votes_before_leaving),
    PATTERN(aligned_shared),
    PATTERN(host_function),
    PATTERN(managed),
    PATTERN(drawn),
#undef PATTERN
};

static void *array(size_t size)
{
    void *memory;
    CHECK(cudaMalloc(&memory, size));
    bench_clear(memory, size);
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
        {"seed", &seed, NULL, NULL, "of what is drawn"},
        {"vary", NULL, NULL, &vary, "other distances, aliases and scalars"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Patterns of neighbouring launches.", own);
    const auto *pattern = find_mode("patterns", patterns, name);
    make_arrays();
    for (int round = 0; round < ROUNDS; round++) pattern->round(round);
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
