/* SPDX-License-Identifier: Apache-2.0
 * Sparse matrices, lists and searches as users write them: loops that end by what they load, elements that data
 * name. One pattern a mode, some rounds of each. --vary changes what a plan of the run without it must not take
 * for granted: the tables, by which loops get other lengths, and in some modes shapes and pointers. */
#include "bench/bench.h"
#include "tests/bench/modes.h"

enum { N = 1000, THREADS = 128, BLOCKS = 8, ROUNDS = 6, MOST_ENTRIES = 8 * N };

static int *rows, *columns, *table; /* table: N numbers below N */
static double *values, *x, *y, *z, *w, *p, *partial, *scalars;
static int vary;

/* --- kernels --- */

#define INDEX                                                                                                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    if (i >= n) return

__global__ void fill(double *a, double base, int n)
{
    INDEX;
    a[i] = base + 0.5 * (i % 37);
}

__global__ void scale(double *a, double by, int n)
{
    INDEX;
    a[i] *= by;
}

__global__ void multiply(int n, const int *rows, const int *columns, const double *values, const double *x,
                         double *y)
{
    INDEX;
    double sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++) sum += values[k] * x[columns[k]];
    y[i] = sum;
}

/* The sum is kept in memory, so that the row's end is loaded again each time. */
__global__ void multiply_in_memory(int n, const int *rows, const int *columns, const double *values,
                                   const double *x, double *y)
{
    INDEX;
    y[i] = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++) y[i] += values[k] * x[columns[k]];
}

/* Of the rows that a row has entries in. */
__global__ void sum_of_rows(int n, const int *rows, const int *columns, const double *values, double *y)
{
    INDEX;
    y[i] = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++)
        for (int j = rows[columns[k]]; j < rows[columns[k] + 1]; j++) y[i] += values[j];
}

__global__ void axpy(int n, const double *by, double sign, const double *a, double *b)
{
    INDEX;
    b[i] += sign * *by * a[i];
}

__global__ void xpay(int n, const double *by, const double *a, double *b)
{
    INDEX;
    b[i] = a[i] + *by * b[i];
}

__global__ void dot_blocks(int n, const double *a, const double *b, double *partial)
{
    __shared__ double sums[THREADS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? a[i] * b[i] : 0;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

/* scalars: the quotient that is asked for, then r * r. */
__global__ void quotient(const double *partial, double *scalars, int is_step)
{
    double sum = 0;
    for (int i = 0; i < BLOCKS; i++) sum += partial[i];
    scalars[0] = is_step ? scalars[1] / sum : sum / scalars[1];
    if (!is_step) scalars[1] = sum;
}

__global__ void walk(int n, const int *next, const double *from, double *out)
{
    INDEX;
    double sum = 0;
    for (int at = next[i]; at > 3; at = next[at] % at) sum += from[at];
    out[i] = sum;
}

__global__ void search(int n, const int *keys, double *out)
{
    INDEX;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keys[middle] < 3 * i)
            low = middle + 1;
        else
            high = middle;
    }
    out[i] += low;
}

__global__ void stride(int n, const int *steps, const double *from, double *out)
{
    INDEX;
    double sum = out[i];
    for (int at = i; at < n; at += steps[at] / 8 + 1) sum += from[at];
    out[i] = sum;
}

__global__ void first_above(int n, const double *from, double limit, double *out)
{
    INDEX;
    int k = 0;
    while (k < n && from[(i + k) % n] < limit) {
        out[i] += 0.25;
        k++;
    }
}

/* The next row's end depends on what another thread computes. */
__global__ void lengthen(int n, int *rows, int limit)
{
    INDEX;
    if (rows[i + 1] > limit) rows[i + 1] = limit;
}

__global__ void wait_flag(const int *flag, double *out, int n)
{
    INDEX;
    do out[i] = 1;
    while (flag[0] == 0);
    out[i] += flag[0];
}

__global__ void set_flag(int *flag, int value)
{
    flag[0] = value;
}

/* --- kernels that write anywhere: which element, the table says; each has one writer --- */

__global__ void scatter(int n, const int *to, const double *a, double *out)
{
    INDEX;
    out[(i + to[0]) % n] = a[i];
}

__global__ void scatter_rows(int n, const int *rows, const double *a, double *out)
{
    INDEX;
    for (int k = rows[i]; k < rows[i + 1]; k++) out[k % (2 * N)] = a[i] + k;
}

__global__ void count(int n, const int *of, int *counts)
{
    INDEX;
    atomicAdd(&counts[of[i]], 1);
}

/* Steps that are no constants. */
__global__ void set_powers(int n, double value, double *out)
{
    INDEX;
    if (i == 0)
        for (int at = 1; at < n; at *= 2) out[at] = value + at;
}

__global__ void sum_halves(int n, const double *from, double *out)
{
    INDEX;
    double sum = 0;
    for (int at = n / 2; at > 0; at >>= 1) sum += from[(i + at) % n];
    out[i] = sum;
}

/* --- kernels that add up in floating point; the sums here are exact, so that their order does not matter --- */

__global__ void sum_up(int n, const double *a, double *sums)
{
    INDEX;
    atomicAdd(&sums[i % 8], a[i]);
}

__global__ void sum_up_rows(int n, const int *rows, const int *columns, const double *a, double *out)
{
    INDEX;
    for (int k = rows[i]; k < rows[i + 1]; k++) atomicAdd(&out[columns[k]], a[i]);
}

/* Its threads add to sums of their block. */
__global__ void sum_up_block(int n, const double *a, double *out)
{
    __shared__ double sums[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 4) sums[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&sums[i % 4], a[i]);
    __syncthreads();
    if (i < n) out[i] = sums[i % 4];
}

/* --- patterns: one round each --- */

static void product(int round)
{
    multiply<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, y);
    scale<<<BLOCKS, THREADS>>>(y, 0.5, N);
    axpy<<<BLOCKS, THREADS>>>(vary ? N / 2 : N, scalars, 1, y, z);
}

static void product_in_memory(int round)
{
    multiply_in_memory<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, y);
    scale<<<BLOCKS, THREADS>>>(y, 0.5, N);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, z);
}

static void rows_of_rows(int round)
{
    fill<<<BLOCKS, THREADS>>>(z, round, N);
    sum_of_rows<<<BLOCKS, THREADS>>>(N, rows, columns, values, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, z);
}

static void walks(int round)
{
    scale<<<BLOCKS, THREADS>>>(z, 0.5, N);
    walk<<<BLOCKS, THREADS>>>(N, table, x, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, z);
}

static void searches(int round)
{
    fill<<<BLOCKS, THREADS>>>(y, round, N);
    search<<<BLOCKS, THREADS>>>(N, rows, y);
    axpy<<<BLOCKS, THREADS>>>(vary ? N / 2 : N, scalars, 1, y, z);
}

static void strides(int round)
{
    fill<<<BLOCKS, THREADS>>>(y, round, N);
    stride<<<BLOCKS, THREADS>>>(N, table, x, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, z);
}

static void firsts(int round)
{
    fill<<<BLOCKS, THREADS>>>(y, round, N);
    first_above<<<BLOCKS, THREADS>>>(N, x, 12.0 + vary, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, z);
}

/* With --vary what is written lies in what is read anywhere, behind it. */
static void products_beside(int round)
{
    double *out = vary ? x + N : y;
    multiply_in_memory<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, out);
    scale<<<BLOCKS, THREADS>>>(out, 0.5, N);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, out, z);
}

/* What ends the loop is written by a launch before. */
static void rows_of_written(int round)
{
    lengthen<<<BLOCKS, THREADS>>>(N, rows, MOST_ENTRIES - 1000 * round);
    multiply_in_memory<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, y);
    CHECK(cudaDeviceSynchronize());
}

/* It waits for a launch of another stream. */
static void polls(int round)
{
    static cudaStream_t other;
    if (!other) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMemset(table, 0, sizeof *table));
    CHECK(cudaDeviceSynchronize());
    fill<<<BLOCKS, THREADS>>>(y, round, N);
    wait_flag<<<BLOCKS, THREADS>>>(table, y, N);
    scale<<<BLOCKS, THREADS>>>(y, 0.5, N);
    set_flag<<<1, 1, 0, other>>>(table, round + 1);
    CHECK(cudaDeviceSynchronize());
}

/* With --vary, what is written and what is gone over anywhere are of one allocation. */
static void scatters(int round)
{
    double *other = vary ? y + N : z;
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    scatter<<<BLOCKS, THREADS>>>(N, table, x, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, x, other);
}

/* A launch before or behind touches what is written. */
static void scatters_to_read(int round)
{
    scatter<<<BLOCKS, THREADS>>>(N, table, x, y);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, y, x);
    CHECK(cudaDeviceSynchronize());
    fill<<<BLOCKS, THREADS>>>(z, round, N);
    scatter<<<BLOCKS, THREADS>>>(N, table, x, z);
    CHECK(cudaDeviceSynchronize());
}

/* The launch in between belongs to the group, and the first and the last one do not meet it. */
static void scatters_between(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    scatter_rows<<<BLOCKS, THREADS>>>(N / 2, rows, p, y);
    scale<<<BLOCKS, THREADS>>>(x, 0.5, N);
    axpy<<<BLOCKS, THREADS>>>(vary ? N / 2 : N, scalars, 1, x, z);
    scale<<<BLOCKS, THREADS>>>(y, 0.5, 2 * N);
}

/* Two arrays that are gone over anywhere, one of them read; with --vary it is one. */
static void scatters_and_products(int round)
{
    fill<<<BLOCKS, THREADS>>>(p, round, N);
    multiply<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, y);
    scatter<<<BLOCKS, THREADS>>>(N, table, p, vary && round % 2 ? x : w);
    multiply<<<BLOCKS, THREADS>>>(N, rows, columns, values, x, z);
    CHECK(cudaDeviceSynchronize());
}

static void scatters_to_within(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    scatter<<<BLOCKS, THREADS>>>(N / 2, table, x, y + 8);
    CHECK(cudaDeviceSynchronize());
}

static void histograms(int round)
{
    int *counts = (int *)w;
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    count<<<BLOCKS, THREADS>>>(N, table, vary ? counts + 8 : counts);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, x, z);
}

static void powers(int round)
{
    fill<<<BLOCKS, THREADS>>>(y, round, N);
    set_powers<<<BLOCKS, THREADS>>>(N, round, w);
    sum_halves<<<BLOCKS, THREADS>>>(N, x, z);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, z, vary ? w : y);
}

/* With --vary, one of the others touches what is added up. */
static void sums(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    sum_up<<<BLOCKS, THREADS>>>(N, x, w);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, x, vary ? w + 4 : z);
}

static void sums_anywhere(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    sum_up_rows<<<BLOCKS, THREADS>>>(N, rows, columns, x, w);
    axpy<<<BLOCKS, THREADS>>>(vary ? N / 2 : N, scalars, 1, x, z);
}

static void sums_of_sums(int round)
{
    sum_up<<<BLOCKS, THREADS>>>(N, x, w);
    sum_up<<<BLOCKS, THREADS>>>(N, y, w);
    CHECK(cudaDeviceSynchronize());
    sum_up<<<BLOCKS, THREADS>>>(8, y, w);
    fill<<<BLOCKS, THREADS>>>(w, round, 8);
    CHECK(cudaDeviceSynchronize());
}

static void sums_of_blocks(int round)
{
    fill<<<BLOCKS, THREADS>>>(x, round, N);
    sum_up_block<<<BLOCKS, THREADS>>>(N, x, y);
    CHECK(cudaDeviceSynchronize());
}

/* Conjugate gradients: x is the solution, y the residual, p the direction, z the matrix times that. */
static void gradients(int round)
{
    if (round == 0) {
        fill<<<BLOCKS, THREADS>>>(y, 1, N);
        fill<<<BLOCKS, THREADS>>>(p, 1, N);
        fill<<<BLOCKS, THREADS>>>(x, 0, N);
        const double start[2] = {0, 112387.5};
        CHECK(cudaMemcpy(scalars, start, sizeof start, cudaMemcpyHostToDevice));
    }
    multiply<<<BLOCKS, THREADS>>>(N, rows, columns, values, p, z);
    dot_blocks<<<BLOCKS, THREADS>>>(N, p, z, partial);
    quotient<<<1, 1>>>(partial, scalars, 1);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, 1, p, x);
    axpy<<<BLOCKS, THREADS>>>(N, scalars, -1, z, y);
    dot_blocks<<<BLOCKS, THREADS>>>(N, y, y, partial);
    quotient<<<1, 1>>>(partial, scalars, 0);
    xpay<<<BLOCKS, THREADS>>>(N, scalars, y, p);
}

#define PATTERN(name)                                                                                        \
    {                                                                                                        \
#name, name                                                                                          \
    }
static const struct {
    const char *name;
    void (*round)(int round);
} patterns[] = {
    PATTERN(product),
    PATTERN(product_in_memory),
    PATTERN(products_beside),
    PATTERN(rows_of_rows),
    PATTERN(walks),
    PATTERN(searches),
    PATTERN(strides),
    PATTERN(firsts),
    PATTERN(polls),
    PATTERN(rows_of_written),
    PATTERN(gradients),
    PATTERN(scatters),
    PATTERN(scatters_to_read),
    PATTERN(scatters_between),
    PATTERN(scatters_to_within),
    PATTERN(histograms),
    PATTERN(scatters_and_products),
    PATTERN(powers),
    PATTERN(sums),
    PATTERN(sums_anywhere),
    PATTERN(sums_of_sums),
    PATTERN(sums_of_blocks),
};

/* --- data --- */

static unsigned draw(void)
{
    static unsigned state = 12345;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) + (vary ? 17 : 0);
}

template <typename T> static T *array(size_t count, const T *contents)
{
    T *memory;
    CHECK(cudaMalloc((void **)&memory, count * sizeof *memory));
    CHECK(cudaMemset(memory, 0, count * sizeof *memory));
    CHECK(cudaDeviceSynchronize());
    if (contents) CHECK(cudaMemcpy(memory, contents, count * sizeof *memory, cudaMemcpyHostToDevice));
    return memory;
}

/* Rows of 0 to 7 entries; the diagonal outweighs the others. */
static void make_matrix(void)
{
    static int row[N + 1], column[MOST_ENTRIES], number[N];
    static double value[MOST_ENTRIES];
    int at = 0;
    for (int i = 0; i < N; i++) {
        int length = draw() % 8;
        row[i] = at;
        for (int k = 0; k < length; k++, at++) {
            column[at] = k ? draw() % N : i;
            value[at] = k ? -0.125 * (draw() % 8) : 8 + draw() % 4;
        }
        number[i] = draw() % N;
    }
    row[N] = at;
    rows = array(N + 1, row);
    columns = array(MOST_ENTRIES, column);
    values = array(MOST_ENTRIES, value);
    table = array(N, number);
}

static double *vector(double base)
{
    double *memory = array<double>(2 * N, NULL);
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
        {"vary", NULL, NULL, &vary, "other tables, shapes and pointers"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Sparse matrices, lists and searches.", own);
    const auto *pattern = find_mode("sparse", patterns, name);
    const double one[2] = {0.5, 1};
    make_matrix();
    x = vector(1);
    y = vector(2);
    z = vector(3);
    w = vector(0);
    p = vector(0);
    partial = array<double>(BLOCKS, NULL);
    scalars = array(2, one);
    for (int round = 0; round < ROUNDS; round++) pattern->round(round);
    CHECK(cudaDeviceSynchronize());
    const struct result results[] = {
        {"x", x, 2 * N * sizeof *x}, {"y", y, 2 * N * sizeof *y}, {"z", z, 2 * N * sizeof *z},
        {"w", w, 2 * N * sizeof *w}, {"p", p, 2 * N * sizeof *p}, {"table", table, N * sizeof *table},
    };
    bench_results(&bench, results, sizeof results / sizeof results[0]);
    return 0;
}
