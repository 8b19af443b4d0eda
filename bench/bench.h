/* SPDX-License-Identifier: Apache-2.0
 * What the programs of this folder share: error checks, options, the timed step loop, the dump of results.
 * Everything is static: each program is one .cu file and this header. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t check_error = (call);                                                                    \
        if (check_error != cudaSuccess) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error));  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* By the host: what a program begins with is no part of a group, as a set would be. */
static inline void bench_clear(void *array, size_t bytes)
{
    void *zeros = calloc(1, bytes);
    CHECK(cudaMemcpy(array, zeros, bytes, cudaMemcpyHostToDevice));
    free(zeros);
}

/* --- options
 * ------------------------------------------------------------------------------------------------- */
struct option {
    const char *name; /* without the dashes; a table ends with NULL */
    long *number;     /* one of the three is set; a flag takes no value */
    const char **text;
    int *flag;
    const char *help;
};

struct bench {
    const char *program;
    long steps, repeat;
    const char *dump;
    int time, ahead;
};

static void bench_usage(FILE *out, const char *program, const char *summary, const struct option *own,
                        const struct option *common)
{
    fprintf(out, "usage: %s [OPTION]...\n%s\n\n", program, summary);
    for (const struct option *table = own; table; table = table == own ? common : NULL)
        for (const struct option *option = table; option->name; option++) {
            char left[40];
            snprintf(left, sizeof left, "--%s%s", option->name,
                     option->number ? " N"
                     : option->text ? " TEXT"
                                    : "");
            fprintf(out, "  %-16s %s", left, option->help);
            if (option->number) fprintf(out, " [%ld]", *option->number);
            if (option->text && *option->text) fprintf(out, " [%s]", *option->text);
            fprintf(out, "\n");
        }
}

static const struct option *bench_find(const struct option *table, const char *name, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) return table;
    return NULL;
}

/* Reads the options; --help prints and ends with 0, a mistake ends with 2. */
static void bench_options(struct bench *bench, int argc, char **argv, const char *summary,
                          const struct option *own)
{
    int help = 0;
    const char *slash = strrchr(argv[0], '/');
    bench->program = slash ? slash + 1 : argv[0];
    const struct option common[] = {
        {"steps", &bench->steps, NULL, NULL, "steps of the loop"},
        {"repeat", &bench->repeat, NULL, NULL, "times that the loop is run"},
        {"dump", NULL, &bench->dump, NULL, "write the resulting arrays to this file"},
        {"time", NULL, NULL, &bench->time, "print medians of the time a step takes, first loop not counted"},
        {"ahead", NULL, NULL, &bench->ahead,
         "with --time: let the host queue a whole loop before the GPU starts"},
        {"help", NULL, NULL, &help, "print this text"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + 2;
        const char *equals = strchr(argv[i], '=');
        const struct option *option = NULL;
        if (strncmp(argv[i], "--", 2) == 0) {
            size_t length = equals ? (size_t)(equals - name) : strlen(name);
            option = bench_find(own, name, length);
            if (!option) option = bench_find(common, name, length);
        }
        const char *value = equals ? equals + 1 : option && !option->flag && i + 1 < argc ? argv[++i] : NULL;
        char *end = NULL;
        if (option && option->flag && !equals)
            *option->flag = 1;
        else if (option && option->text && value)
            *option->text = value;
        else if (option && option->number && value && (*option->number = strtol(value, &end, 0)) > 0 && !*end)
            continue;
        else {
            fprintf(stderr, "%s: bad option: %s (see --help)\n", bench->program, argv[i]);
            exit(2);
        }
    }
    if (help) {
        bench_usage(stdout, bench->program, summary, own, common);
        exit(0);
    }
}

/* --- the step loop
 * -------------------------------------------------------------------------------------------- */
static double bench_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double bench_median(double *values, long count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Keeps the stream waiting until the host has queued everything, two seconds at most. */
static void CUDART_CB bench_wait_for_host(void *flag)
{
    double limit = bench_now_us() + 2e6;
    while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE) && bench_now_us() < limit)
        ;
}

/* One timed loop: microseconds on the GPU and on the host's clock. */
static void bench_timed_loop(const struct bench *bench, void (*step)(void *, long), void *context, long first,
                             double *kernel_us, double *wall_us)
{
    static cudaEvent_t start, stop;
    static int go;
    if (!start) {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    CHECK(cudaDeviceSynchronize());
    go = 0;
    if (bench->ahead) CHECK(cudaLaunchHostFunc(0, bench_wait_for_host, &go));
    double begin = bench_now_us();
    CHECK(cudaEventRecord(start));
    for (long i = 0; i < bench->steps; i++) step(context, first + i);
    CHECK(cudaEventRecord(stop));
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    CHECK(cudaDeviceSynchronize());
    *wall_us = bench_now_us() - begin;
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    *kernel_us = milliseconds * 1e3;
}

/* Runs step(context, i) steps * repeat times, i counting on. With --time, one more loop warms up, and the
 * medians over the loops are printed: kernel_us between two events around a loop, wall_us of the host until
 * all is done, a step. total_us: all of the loops, the first one too. */
static void bench_loop(const struct bench *bench, void (*step)(void *, long), void *context)
{
    if (!bench->time) {
        for (long i = 0; i < bench->steps * bench->repeat; i++) step(context, i);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        return;
    }
    double *kernel_us = (double *)malloc((bench->repeat + 1) * sizeof *kernel_us);
    double *wall_us = (double *)malloc((bench->repeat + 1) * sizeof *wall_us);
    double begin = bench_now_us();
    for (long r = 0; r <= bench->repeat; r++)
        bench_timed_loop(bench, step, context, r * bench->steps, &kernel_us[r], &wall_us[r]);
    double total_us = bench_now_us() - begin;
    CHECK(cudaGetLastError());
    printf("kernel_us %.3f\n", bench_median(kernel_us + 1, bench->repeat) / bench->steps);
    if (!bench->ahead) printf("wall_us %.3f\n", bench_median(wall_us + 1, bench->repeat) / bench->steps);
    printf("total_us %.0f\n", total_us);
    free(kernel_us);
    free(wall_us);
}

/* --- results
 * -------------------------------------------------------------------------------------------------- */
struct result {
    const char *name;
    const void *device;
    size_t bytes;
};

/* Copies each array to the host, prints a checksum of its bytes, and writes it to the dump. */
static void bench_results(const struct bench *bench, const struct result *results, int count)
{
    enum { CHUNK = 1 << 24 };
    unsigned char *buffer = (unsigned char *)malloc(CHUNK);
    FILE *dump = bench->dump ? fopen(bench->dump, "wb") : NULL;
    if (!buffer || (bench->dump && !dump)) {
        fprintf(stderr, "%s: %s: cannot be written\n", bench->program, bench->dump ? bench->dump : "memory");
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        uint64_t sum = 0xcbf29ce484222325u;
        for (size_t at = 0; at < results[i].bytes; at += CHUNK) {
            size_t size = results[i].bytes - at < CHUNK ? results[i].bytes - at : CHUNK;
            CHECK(cudaMemcpy(buffer, (const char *)results[i].device + at, size, cudaMemcpyDeviceToHost));
            for (size_t k = 0; k + 4 <= size; k += 4) {
                uint32_t word;
                memcpy(&word, buffer + k, 4);
                sum = (sum ^ word) * 0x100000001b3u;
            }
            if (dump && fwrite(buffer, 1, size, dump) != size) {
                fprintf(stderr, "%s: %s: cannot be written\n", bench->program, bench->dump);
                exit(1);
            }
        }
        printf("checksum %s %016llx\n", results[i].name, (unsigned long long)sum);
    }
    if (dump) fclose(dump);
    free(buffer);
}

#endif
