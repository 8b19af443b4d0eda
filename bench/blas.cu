/* SPDX-License-Identifier: Apache-2.0
 * The sequences of linear algebra of Filipovic, Madzin, Fousek and Matyska, "Optimizing CUDA code by kernel
 * fusion: application on BLAS" (table 1), in single precision: from plain kernels, one routine a file in
 * routines/, from cuBLAS, and fused by hand. What fusion can't improve, or hardly, is a control. */
#include "bench.h"
#include "routines/by_hand.cuh"
#include "routines/cublas.cuh"
#include "routines/host.cuh"
#include "routines/sequences.cuh"

/* --- fused by hand */
static void axpydot_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    int blocks = blocks_for(d.n, VECTOR_TILE);
    hand_axpydot<<<blocks, VECTOR_BLOCK>>>(d.n, alpha, f[W], f[V], f[U], f[Z],
                                           blocks == 1 ? f[R] : d.partial[0]);
    dot_finish(d.n, d.partial[0], f[R]);
}

static void vadd_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    hand_add_three<<<blocks_for(d.n, VECTOR_TILE), VECTOR_BLOCK>>>(d.n, f[W], f[Y], f[Z], f[X]);
}

static void waxpby_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    hand_waxpby<<<blocks_for(d.n, VECTOR_TILE), VECTOR_BLOCK>>>(d.n, alpha, f[X], beta, f[Y], f[W]);
}

static void madd_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    int n = d.rows * d.columns;
    hand_add<<<blocks_for(n, VECTOR_TILE), VECTOR_BLOCK>>>(n, f[A], f[B], f[C]);
}

/* cuBLAS has a routine for the whole. */
static void madd_geam(const struct data<float> &d)
{
    cublas_geam(d.rows, d.columns, d.of[A], d.of[B], d.of[C]);
}

static void bicgk_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    dim3 grid(blocks_for(d.columns, TILE), blocks_for(d.rows, TILE)), block(TILE_X, TILE_Y);
    hand_bicgk<<<grid, block>>>(d.rows, d.columns, f[A], f[P], f[R], d.partial[0], d.partial[1]);
    add_tiles(d.rows, grid.x, 1, d.partial[0], 0, f[Q]);
    add_tiles(d.columns, grid.y, 1, d.partial[1], 0, f[S]);
}

static void gemver_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    dim3 grid(blocks_for(d.columns, TILE), blocks_for(d.rows, TILE)), block(TILE_X, TILE_Y);
    hand_gemver<<<grid, block>>>(d.rows, d.columns, f[A], f[U1], f[V1], f[U2], f[V2], f[Y], f[B],
                                 d.partial[0]);
    copy(d.columns, f[Z], f[X]);
    add_tiles(d.columns, grid.y, beta, d.partial[0], 1, f[X]);
    gemv(d.rows, d.columns, alpha, f[B], f[X], 0, f[W]);
}

static void gesummv_limit(const struct data<float> &d)
{
    float *const *f = d.of;
    hand_gesummv<<<blocks_for(d.rows, GEMV_ROWS), dim3(32, GEMV_ROWS)>>>(d.rows, d.columns, alpha, f[A], beta,
                                                                         f[B], f[X], f[Y]);
}

/* --- the table */
struct operand {
    int of;
    enum shape shape;
    bool result;
};
static const struct sequence {
    const char *name;
    void (*on_device)(const struct library<float> &, const struct data<float> &);
    void (*on_host)(const struct library<double> &, const struct data<double> &);
    void (*limit)(const struct data<float> &); /* fused by hand */
    void (*geam)(const struct data<float> &);  /* by the one routine of cuBLAS that does the whole */
    int vectors, matrices;                     /* that have to be read or written, however it is done */
    struct operand operands[OPERANDS];
} sequences[] = {
#define BOTH(function) function<float>, function<double>
    /* clang-format off */
    {"axpydot", BOTH(axpydot), axpydot_limit, NULL, 4, 0,
     {{W, VECTOR}, {V, VECTOR}, {U, VECTOR}, {Z, VECTOR, true}, {R, ONE, true}}},
    {"vadd", BOTH(vadd), vadd_limit, NULL, 4, 0, {{W, VECTOR}, {Y, VECTOR}, {Z, VECTOR}, {X, VECTOR, true}}},
    {"waxpby", BOTH(waxpby), waxpby_limit, NULL, 3, 0, {{X, VECTOR}, {Y, VECTOR}, {W, VECTOR, true}}},
    {"madd", BOTH(madd), madd_limit, madd_geam, 0, 3, {{A, MATRIX}, {B, MATRIX}, {C, MATRIX, true}}},
    {"bicgk", BOTH(bicgk), bicgk_limit, NULL, 0, 1,
     {{A, MATRIX}, {P, COLUMNS}, {R, ROWS}, {Q, ROWS, true}, {S, COLUMNS, true}}},
    {"gemver", BOTH(gemver), gemver_limit, NULL, 0, 3,
     {{A, MATRIX}, {U1, ROWS}, {V1, COLUMNS}, {U2, ROWS}, {V2, COLUMNS}, {Y, ROWS}, {Z, COLUMNS},
      {B, MATRIX, true}, {X, COLUMNS, true}, {W, ROWS, true}}},
    {"bicgk-rows", BOTH(bicgk_rows), NULL, NULL, 0, 2,
     {{A, MATRIX}, {P, COLUMNS}, {R, ROWS}, {Q, ROWS, true}, {S, COLUMNS, true}}},
    {"atax", BOTH(atax), NULL, NULL, 0, 2, {{A, MATRIX}, {X, COLUMNS}, {W, ROWS, true}, {Y, COLUMNS, true}}},
    {"sgemv", BOTH(sgemv), NULL, NULL, 0, 1, {{A, MATRIX}, {X, COLUMNS}, {Z, ROWS, true}}},
    {"sgemvt", BOTH(sgemvt), NULL, NULL, 0, 2,
     {{A, MATRIX}, {Y, ROWS}, {Z, COLUMNS}, {X, COLUMNS, true}, {W, ROWS, true}}},
    {"sscal", BOTH(sscal), NULL, NULL, 2, 0, {{X, VECTOR, true}}},
    {"gesummv", BOTH(gesummv), gesummv_limit, NULL, 0, 2,
     {{A, MATRIX}, {B, MATRIX}, {X, COLUMNS}, {Y, ROWS, true}}},
    /* clang-format on */
};

/* --- data */
/* Between -0.7 and 0.7, and such that few sums of them are exact. */
static __host__ __device__ float initial(unsigned i, int operand)
{
    return (float)(int)((i + 1000 * operand) * 2654435761u) * (0.7f / 2147483648.0f);
}

__global__ void fill(float *x, int operand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = initial(i, operand);
}

template <class T> static int elements(const struct data<T> &d, enum shape shape)
{
    switch (shape) {
    case ONE:
        return 1;
    case VECTOR:
        return d.n;
    case ROWS:
        return d.rows;
    case COLUMNS:
        return d.columns;
    case MATRIX:
        return d.rows * d.columns;
    case NONE:
        break;
    }
    return 0;
}

static int allocate(const struct sequence *sequence, struct data<float> *d, struct result *results)
{
    int count = 0;
    for (const struct operand *operand = sequence->operands; operand->shape != NONE; operand++) {
        int n = elements(*d, operand->shape);
        float **array = &d->of[operand->of];
        CHECK(cudaMalloc((void **)array, n * sizeof **array));
        fill<<<blocks_for(n, 256), 256>>>(*array, operand->of, n);
        CHECK(cudaDeviceSynchronize());
        if (operand->result)
            results[count++] = (struct result){names[operand->of], *array, n * sizeof **array};
    }
    int by_rows = d->rows * blocks_for(d->columns, TILE), by_columns = d->columns * blocks_for(d->rows, TILE);
    int n = sequence->matrices == 0 ? dot_partials(d->n) : by_rows > by_columns ? by_rows : by_columns;
    for (int k = 0; k < 2; k++) CHECK(cudaMalloc((void **)&d->partial[k], n * sizeof(float)));
    return count;
}

/* --- results against the host */
/* The sequence once on the host, in double precision. */
template <bool MAGNITUDE>
static struct data<double> on_host(const struct sequence *sequence, const struct data<float> &device) {
    struct data<double> d = {
        device.n, device.rows, device.columns
    };
    for (const struct operand *operand = sequence->operands; operand->shape != NONE; operand++) {
        int n = elements(d, operand->shape);
        double *array = d.of[operand->of] = (double *)malloc(n * sizeof *array);
        for (int i = 0; i < n; i++) {
            double value = initial(i, operand->of);
            array[i] = MAGNITUDE ? fabs(value) : value;
        }
    }
    sequence->on_host(host<MAGNITUDE>::library, d);
    return d;
}

/* Fails where a result is farther from the host's than so many roundings of all its terms: 64, and one more
 * for every 32 terms of the longest sum, as such a sum is always added up in parts. */
static bool
check(const struct sequence *sequence, const struct data<float> &d)
{
    struct data<double> exact = on_host<false>(sequence, d), magnitude = on_host<true>(sequence, d);
    int longest = sequence->matrices == 0 ? d.n : d.rows + d.columns;
    double roundings = (64 + longest / 32) * ldexp(1, -24);
    bool fine = true;
    for (const struct operand *operand = sequence->operands; operand->shape != NONE; operand++) {
        if (!operand->result) continue;
        int n = elements(d, operand->shape);
        float *values = (float *)malloc(n * sizeof *values);
        CHECK(cudaMemcpy(values, d.of[operand->of], n * sizeof *values, cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < n; i++) {
            double error = fabs(values[i] - exact.of[operand->of][i]);
            double share = error == 0 ? 0 : error / (roundings * magnitude.of[operand->of][i]);
            fine = fine && share <= 1;
            if (share > worst) worst = share;
        }
        printf("error %s %.4f of the bound\n", names[operand->of], worst);
        free(values);
    }
    for (int k = 0; k < OPERANDS; k++) {
        free(exact.of[k]);
        free(magnitude.of[k]);
    }
    return fine;
}

/* --- one run */
struct run {
    cudaEvent_t begin;
    const struct sequence *sequence;
    const struct library<float> *library;
    void (*whole)(const struct data<float> &); /* if not from a library */
    struct data<float> data;
};

/* Begins with an event: steps are separate calls of the sequence, not one long sequence. */
static void step(void *context, long)
{
    const struct run *run = (const struct run *)context;
    CHECK(cudaEventRecord(run->begin));
    if (run->whole)
        run->whole(run->data);
    else
        run->sequence->on_device(*run->library, run->data);
}

static void mistake(const char *text, const char *value)
{
    fprintf(stderr, "blas: %s: %s (see --help)\n", text, value);
    exit(2);
}

static void choose(struct run *run, const char *sequence, const char *variant)
{
    for (size_t k = 0; k < sizeof sequences / sizeof *sequences; k++)
        if (strcmp(sequences[k].name, sequence) == 0) run->sequence = &sequences[k];
    if (!run->sequence) mistake("no such sequence", sequence);
    run->library = &plain_library;
    if (strcmp(variant, "plain") == 0) return;
    if (strcmp(variant, "limit") == 0)
        run->whole = run->sequence->limit;
    else if (strcmp(variant, "geam") == 0)
        run->whole = run->sequence->geam;
    else if (strcmp(variant, "cublas") != 0)
        mistake("no such variant", variant);
    if (!run->whole && strcmp(variant, "cublas") != 0) mistake("not of this sequence", variant);
    if (strcmp(variant, "limit") == 0) return;
    run->library = &cublas_library;
    if (!cublas_start()) exit(77);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 10, 1, NULL, 0, 0};
    long size = 1024, columns = 0;
    int with_check = 0, list = 0;
    const char *sequence = "axpydot", *variant = "plain";
    const struct option own[] = {
        {"sequence", NULL, &sequence, NULL, "one of those that --list names"},
        {"variant", NULL, &variant, NULL,
         "plain, cublas (77 without it), limit (by hand) or, for madd, geam"},
        {"size", &size, NULL, NULL, "elements of a vector, or rows and columns of a matrix"},
        {"columns", &columns, NULL, NULL, "columns, if other than rows"},
        {"check", NULL, NULL, &with_check,
         "one step, and compare with the host's result in double precision"},
        {"list", NULL, NULL, &list, "the sequences, what they move at least, and whether fused by hand"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Sequences of linear algebra, single precision.", own);
    if (list) {
        for (size_t k = 0; k < sizeof sequences / sizeof *sequences; k++)
            printf("%s %d vectors %d matrices%s\n", sequences[k].name, sequences[k].vectors,
                   sequences[k].matrices, sequences[k].limit ? " limit" : "");
        return 0;
    }
    struct run run = {};
    choose(&run, sequence, variant);
    if (columns == 0) columns = size;
    if (run.sequence->matrices ? size > 46340 || columns > 46340 : size > 1 << 29)
        mistake("too large", "size");
    run.data.n = run.data.rows = (int)size;
    run.data.columns = (int)columns;

    struct result results[OPERANDS];
    int count = allocate(run.sequence, &run.data, results);
    CHECK(cudaEventCreate(&run.begin));
    if (with_check) bench.steps = bench.repeat = 1;
    if (bench.time) {
        step(&run, 0); /* what loads code may wait for the GPU, which --ahead has wait for the host */
        CHECK(cudaDeviceSynchronize());
    }
    bench_loop(&bench, step, &run);
    if (with_check && !check(run.sequence, run.data)) return 1;
    if (bench.time) {
        double moved = run.sequence->vectors * (double)size + run.sequence->matrices * (double)size * columns;
        printf("bytes %.0f\n", moved * sizeof(float));
        return 0;
    }
    bench_results(&bench, results, count);
    return 0;
}
