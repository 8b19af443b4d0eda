/* SPDX-License-Identifier: Apache-2.0
 * How many thread instructions a second the engine runs, and what a launch of one block of 64 threads costs:
 * bench_engine [WORKERS]. Prints a line a kernel and setting. */
#include "tests/emulator/engine_fixture.h"

#include <stdio.h>
#include <time.h>

enum { COUNT = 1 << 21, BLOCK = 256, REPEATS = 5, SMALL = 64, SMALL_LAUNCHES = 2000 };

static double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void bench_kernel(const char *name, const void *parameters, const char *setting)
{
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now();
        if (!fixture_run_packed(name, COUNT / BLOCK, BLOCK, 0, parameters))
            fprintf(stderr, "%s\n", fixture.fault.message);
        double rate = (double)fixture.counts.instructions / (bench_now() - start);
        best = rate > best ? rate : best;
    }
    printf("%-12s %-22s %8.0f million instructions a second\n", name, setting, best * 1e-6);
}

static void bench_small(const char *name, const void *parameters, const char *setting)
{
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now();
        for (int launch = 0; launch < SMALL_LAUNCHES; launch++) {
            if (!fixture_run_packed(name, 1, SMALL, 0, parameters))
                fprintf(stderr, "%s\n", fixture.fault.message);
        }
        double each = (bench_now() - start) / SMALL_LAUNCHES;
        best = best == 0 || each < best ? each : best;
    }
    printf("%-12s %-22s %8.2f microseconds a launch of 64 threads\n", name, setting, best * 1e6);
}

static void bench_settings(void (*bench)(const char *, const void *, const char *), const char *name,
                           const void *parameters)
{
    static const struct {
        const char *name;
        struct emu_settings settings;
    } rows[] = {
        {"1 worker", {.workers = 1}},
        {"random order", {.seed = 1}},
        {"race report", {.report_races = true}},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture.settings = rows[i].settings;
        bench(name, parameters, rows[i].name);
    }
}

int main(int count, char **arguments)
{
    static const char *const kernels[] = {"add_arrays", "polynomial", "stencil"};
    uint32_t workers = count > 1 ? (uint32_t)atoi(arguments[1]) : 2;
    if (fixture_open(NULL) != 0) return 1;
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        double *w = fixture_memory(8 * COUNT), *y = fixture_memory(8 * COUNT), *x = fixture_memory(8 * COUNT);
        struct {
            double *x, *w, *y;
            int n;
        } parameters = {x, w, y, COUNT};
        char setting[64];
        snprintf(setting, sizeof setting, "%u workers", workers);
        fixture.settings = (struct emu_settings){.workers = workers};
        bench_kernel(kernels[i], &parameters, setting);
        bench_settings(bench_kernel, kernels[i], &parameters);
        parameters.n = SMALL;
        bench_settings(bench_small, kernels[i], &parameters);
        fixture_free(w);
        fixture_free(y);
        fixture_free(x);
    }
    fixture_close(NULL);
    return 0;
}
