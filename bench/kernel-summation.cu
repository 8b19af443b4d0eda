/* SPDX-License-Identifier: Apache-2.0
 * Kernel summation as in Wang, Khawaja, Biros, Gerstlauer and John, "Optimizing GPGPU kernel summation for
 * performance and energy efficiency": v[i] = sum over j of w[j] exp(-|a[i] - b[j]|^2 / 2h^2), with m points a
 * and n points b of k coordinates. The scalar products come from one matrix product, the sums from one of
 * matrix and vector: plain kernels, or cuBLAS, with the evaluation between; or all by hand in the kernel of
 * the matrix product. */
#include "bench.h"
#include "routines/cublas.cuh"
#include "routines/gemm.cuh"
#include <math.h>

/* The squared length of each point, a warp a point. */
__global__ void squares_kernel(int points, int k, const float *a, float *squares)
{
    int point = blockIdx.x * blockDim.y + threadIdx.y;
    if (point >= points) return;
    float sum = 0;
    for (int i = threadIdx.x; i < k; i += 32) sum += a[point * k + i] * a[point * k + i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) squares[point] = sum;
}

static void squares(int points, int k, const float *a, float *squares)
{
    squares_kernel<<<blocks_for(points, 8), dim3(32, 8)>>>(points, k, a, squares);
}

__device__ static float gaussian(float square_a, float square_b, float product, float scale)
{
    return expf(-scale * (square_a + square_b - 2 * product));
}

/* In place: from scalar products to the kernel's values, a tile a block, a thread the elements that it has in
 * the product, row by row, so that many threads have room. */
__global__ void __launch_bounds__(GEMM_THREADS, 4)
    evaluate_kernel(int m, int n, float scale, const float *__restrict__ squares_a,
                    const float *__restrict__ squares_b, float *__restrict__ c)
{
    float squares[GEMM_SIDE];
    for (int j = 0; j < GEMM_SIDE; j++) squares[j] = gemm_column(j) < n ? squares_b[gemm_column(j)] : 0;
#pragma unroll
    for (int i = 0; i < GEMM_SIDE; i++) {
        float elements[GEMM_SIDE], square = gemm_row(i) < m ? squares_a[gemm_row(i)] : 0;
        gemm_load_row(m, n, c, i, elements);
        for (int j = 0; j < GEMM_SIDE; j++) elements[j] = gaussian(square, squares[j], elements[j], scale);
        gemm_store_row(m, n, elements, i, c);
    }
}

static void evaluate(int m, int n, float scale, const float *squares_a, const float *squares_b, float *c)
{
    dim3 grid(blocks_for(n, TILE), blocks_for(m, TILE)), block(GEMM_BLOCK, GEMM_BLOCK);
    evaluate_kernel<<<grid, block>>>(m, n, scale, squares_a, squares_b, c);
}

/* The same as those who need no tiles would write it: a thread has four columns of a row, and no kernel that
 * writes memory is faster. */
__global__ void evaluate_flat_kernel(int m, int n, float scale, const float *__restrict__ squares_a,
                                     const float *__restrict__ squares_b, float *__restrict__ c)
{
    int row = blockIdx.x, first = (blockIdx.y * blockDim.x + threadIdx.x) * 4;
    if (first >= n) return;
    float square = squares_a[row];
    size_t at = (size_t)row * n + first;
    if (n % 4 == 0) {
        float4 values = *(const float4 *)(c + at), squares = *(const float4 *)(squares_b + first);
        values.x = gaussian(square, squares.x, values.x, scale);
        values.y = gaussian(square, squares.y, values.y, scale);
        values.z = gaussian(square, squares.z, values.z, scale);
        values.w = gaussian(square, squares.w, values.w, scale);
        *(float4 *)(c + at) = values;
    } else {
        for (int j = 0; j < 4 && first + j < n; j++)
            c[at + j] = gaussian(square, squares_b[first + j], c[at + j], scale);
    }
}

static void evaluate_flat(int m, int n, float scale, const float *squares_a, const float *squares_b, float *c)
{
    evaluate_flat_kernel<<<dim3(m, blocks_for(n, 4 * 256)), 256>>>(m, n, scale, squares_a, squares_b, c);
}

/* Product, evaluation and partial sums of a tile. Of the 32 partial sums that gemv_tiles has of a row, one a
 * lane, a thread here has two, 16 lanes apart, and adds them in the same order. */
__global__ void __launch_bounds__(GEMM_THREADS, 2)
    hand_kernel(int m, int n, int k, float scale, const float *__restrict__ a, const float *__restrict__ b,
                const float *__restrict__ squares_a, const float *__restrict__ squares_b,
                const float *__restrict__ w, float *__restrict__ partial)
{
    float elements[GEMM_SIDE][GEMM_SIDE] = {}, squares[GEMM_SIDE], weights[GEMM_SIDE];
    gemm_elements(m, n, k, a, b, elements);
    for (int j = 0; j < GEMM_SIDE; j++) {
        squares[j] = gemm_column(j) < n ? squares_b[gemm_column(j)] : 0;
        weights[j] = gemm_column(j) < n ? w[gemm_column(j)] : 0;
    }
    for (int i = 0; i < GEMM_SIDE; i++) {
        int row = gemm_row(i);
        float sums[2] = {}, square = row < m ? squares_a[row] : 0;
        for (int j = 0; j < GEMM_SIDE; j++)
            sums[j % 2] += gaussian(square, squares[j], elements[i][j], scale) * weights[j];
        float sum = sums[0] + sums[1];
        for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset, 16);
        if (threadIdx.x == 0 && row < m) partial[blockIdx.x * m + row] = sum;
    }
}

/* --- variants */
struct problem {
    cudaEvent_t begin;
    int m, n, k, rows;
    float scale, *a, *b, *w, *squares_a, *squares_b, *c, *v, *partial;
};

static void plain(const struct problem *p)
{
    gemm(p->m, p->n, p->k, p->a, p->b, p->c);
    evaluate(p->m, p->n, p->scale, p->squares_a, p->squares_b, p->c);
    if (p->rows)
        gemv(p->m, p->n, 1, p->c, p->w, 0, p->v);
    else
        gemv_tiles(p->m, p->n, 1, p->c, p->w, 0, p->v, p->partial);
}

static void flat(const struct problem *p)
{
    gemm(p->m, p->n, p->k, p->a, p->b, p->c);
    evaluate_flat(p->m, p->n, p->scale, p->squares_a, p->squares_b, p->c);
    gemv_tiles(p->m, p->n, 1, p->c, p->w, 0, p->v, p->partial);
}

static void by_cublas(const struct problem *p)
{
    cublas_gemm(p->m, p->n, p->k, p->a, p->b, p->c);
    evaluate_flat(p->m, p->n, p->scale, p->squares_a, p->squares_b, p->c);
    cublas_gemv(p->m, p->n, 1, p->c, p->w, 0, p->v);
}

static void limit(const struct problem *p)
{
    dim3 grid(blocks_for(p->n, TILE), blocks_for(p->m, TILE)), block(GEMM_BLOCK, GEMM_BLOCK);
    hand_kernel<<<grid, block>>>(p->m, p->n, p->k, p->scale, p->a, p->b, p->squares_a, p->squares_b, p->w,
                                 p->partial);
    add_tiles(p->m, grid.x, 1, p->partial, 0, p->v);
}

static const struct variant {
    const char *name;
    void (*run)(const struct problem *);
} variants[] = {{"plain", plain}, {"flat", flat}, {"cublas", by_cublas}, {"limit", limit}};

struct run {
    struct problem problem;
    const struct variant *variant;
};

/* Begins with an event: steps are separate calls, not one long sequence. */
static void step(void *context, long)
{
    const struct run *run = (const struct run *)context;
    const struct problem *p = &run->problem;
    CHECK(cudaEventRecord(p->begin));
    squares(p->m, p->k, p->a, p->squares_a);
    squares(p->n, p->k, p->b, p->squares_b);
    run->variant->run(p);
}

/* --- data */
static __host__ __device__ float initial(unsigned i, unsigned seed)
{
    return (float)(int)((i + 1000 * seed) * 2654435761u) * (0.7f / 2147483648.0f);
}

__global__ void fill(float *x, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = initial(i, seed);
}

static float *allocate(int n, unsigned seed)
{
    float *array;
    CHECK(cudaMalloc((void **)&array, n * sizeof *array));
    fill<<<blocks_for(n, 256), 256>>>(array, seed, n);
    CHECK(cudaDeviceSynchronize());
    return array;
}

enum { SEED_A = 1, SEED_B, SEED_W };
static void prepare(struct problem *p)
{
    p->a = allocate(p->m * p->k, SEED_A);
    p->b = allocate(p->n * p->k, SEED_B);
    p->w = allocate(p->n, SEED_W);
    p->squares_a = allocate(p->m, 0);
    p->squares_b = allocate(p->n, 0);
    p->c = allocate(p->m * p->n, 0);
    p->v = allocate(p->m, 0);
    p->partial = allocate(p->m * blocks_for(p->n, TILE), 0);
    p->scale = 2.0f / p->k; /* 1 / 2h^2 */
    CHECK(cudaEventCreate(&p->begin));
}

/* v[i] in double precision, and what an error of it is measured against: for each term as many roundings as
 * the sums that its exponent and v are made of have terms, the latter by 32, as it is always added up in
 * parts. */
static double exact(const struct problem *p, int i, double *bound)
{
    double sum = 0;
    *bound = 0;
    for (int j = 0; j < p->n; j++) {
        double square = 0, magnitude = 0;
        for (int x = 0; x < p->k; x++) {
            double a = initial(i * p->k + x, SEED_A), b = initial(j * p->k + x, SEED_B);
            square += (a - b) * (a - b);
            magnitude += a * a + b * b + 2 * fabs(a * b);
        }
        double term = initial(j, SEED_W) * exp(-p->scale * square);
        sum += term;
        *bound += fabs(term) * ldexp((p->k + 8) * p->scale * magnitude + 64 + p->n / 32, -24);
    }
    return sum;
}

/* Against the host, for a thousand of the points at most. */
static bool check(const struct problem *p)
{
    float *v = (float *)malloc(p->m * sizeof *v);
    CHECK(cudaMemcpy(v, p->v, p->m * sizeof *v, cudaMemcpyDeviceToHost));
    bool fine = true;
    double worst = 0;
    for (int i = 0; i < p->m; i += p->m / 1000 + 1) {
        double bound, value = exact(p, i, &bound), share = fabs(v[i] - value) / bound;
        fine = fine && share <= 1;
        if (share > worst) worst = share;
    }
    printf("error v %.4f of the bound\n", worst);
    free(v);
    return fine;
}

static void mistake(const char *text)
{
    fprintf(stderr, "kernel-summation: %s (see --help)\n", text);
    exit(2);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    struct run run = {};
    struct problem *p = &run.problem;
    long m = 1024, n = 1024, k = 32;
    int with_check = 0;
    const char *name = "plain";
    const struct option own[] = {
        {"m", &m, NULL, NULL, "points at which sums are wanted"},
        {"n", &n, NULL, NULL, "points that are summed over"},
        {"k", &k, NULL, NULL, "coordinates of a point"},
        {"variant", NULL, &name, NULL,
         "plain, flat (evaluated element by element), cublas (so too; 77 without it) or limit (by hand)"},
        {"rows", NULL, NULL, &p->rows, "plain: sum whole rows in order, not tile by tile"},
        {"check", NULL, NULL, &with_check, "compare with the host's result in double precision"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Summation of Gaussian kernels, single precision.", own);
    if (m > 1 << 20 || n > 1 << 20 || k > 4096 || m * n > 1 << 30 || m * k > 1 << 30 || n * k > 1 << 30)
        mistake("too many points");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (strcmp(variants[i].name, name) == 0) run.variant = &variants[i];
    if (!run.variant) mistake("no such variant");
    if (run.variant->run == by_cublas && !cublas_start()) return 77;
    p->m = (int)m, p->n = (int)n, p->k = (int)k;
    prepare(p);
    if (bench.time) {
        step(&run, 0); /* what loads code may wait for the GPU, which --ahead has wait for the host */
        CHECK(cudaDeviceSynchronize());
    }
    bench_loop(&bench, step, &run);
    if (with_check && !check(p)) return 1;
    if (bench.time) return 0;
    const struct result results[] = {{"v", p->v, m * sizeof *p->v}};
    bench_results(&bench, results, 1);
    return 0;
}
