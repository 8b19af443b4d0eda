/* SPDX-License-Identifier: Apache-2.0
 * Projected time of a group: see projection.h. Constants that a trace does not tell are in one table. */
#include "fuser/planner/projection.h"

#include <math.h>
#include <stdlib.h>

static const struct { /* measured on an H100 (80 GB HBM3); used where the trace has no times */
    double gap_ns, floor_ns, bytes_per_ns, host_ns;
    double latency_ns;      /* of a load from memory, under some traffic */
    double bandwidth_share; /* of the theoretical bandwidth that a copy reaches */
    double largest_gap_ns;  /* beyond it the host, not the launch, was slow */
    double load_ns;         /* to load the code of one group */
    double cache_share;     /* of the shared cache that data stay in until they are used again */
    double cached_gain; /* of the time of memory traffic, what is saved where the shared cache serves it */
    double either_cost; /* of a member's time, what it costs that loads look first whether a tile has their
                           value */
    double
        apart_cost; /* of a member's time, what it costs to run it in threads that others have, one after the
                       other, where nothing passes between them: seven regions of a wave, 400^3, took 8% */
} fallback = {1000, 1500, 1000, 3200, 700, 0.89, 5000, 100e3, 0.5, 0.5, 0.15, 0.08};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_gap(const struct program *program)
{
    double *gaps = calloc(program->launch_count + 1, sizeof *gaps);
    uint32_t count = 0;
    for (uint32_t i = 1; gaps && i < program->launch_count; i++) {
        const struct program_launch *before = &program->launches[i - 1], *after = &program->launches[i];
        if (before->window != after->window || after->is_behind_wait || !before->end_ns ||
            after->start_ns < before->end_ns)
            continue;
        double gap = (double)(after->start_ns - before->end_ns);
        gaps[count++] = gap < fallback.largest_gap_ns ? gap : fallback.largest_gap_ns;
    }
    double median = fallback.gap_ns;
    if (count) {
        qsort(gaps, count, sizeof *gaps, compare_doubles);
        median = gaps[count / 2];
    }
    free(gaps);
    return median;
}

struct projection projection_calibrate(const struct program *program)
{
    const struct trace_device *device = &program->device;
    struct projection projection = {
        .bytes_per_ns = fallback.bytes_per_ns,
        .floor_ns = fallback.floor_ns,
        .gap_ns = median_gap(program),
        .host_ns = fallback.host_ns,
        .latency_ns = fallback.latency_ns,
        .load_ns = device->is_emulated ? 0 : fallback.load_ns,
        .cache_bytes = device->l2_bytes,
        .multiprocessors = device->multiprocessors,
        .registers_per_multiprocessor = device->registers_per_multiprocessor,
        .threads_per_multiprocessor = device->threads_per_multiprocessor,
        .blocks_per_multiprocessor = device->blocks_per_multiprocessor,
        .shared_per_multiprocessor = device->shared_per_multiprocessor,
    };
    if (device->memory_clock_khz && device->bus_width_bits)
        projection.bytes_per_ns = 2.0 * device->memory_clock_khz * 1e3 * (device->bus_width_bits / 8.0) *
                                  1e-9 * fallback.bandwidth_share;
    enum { SCHEDULERS = 4 }; /* of a multiprocessor, since compute capability 5.0 */
    if (!device->is_emulated)
        projection.warps_per_ns = (double)device->multiprocessors * SCHEDULERS * device->clock_khz * 1e-6;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        const struct program_launch *launch = &program->launches[i];
        if (launch->end_ns && (double)launch->time_ns < projection.floor_ns)
            projection.floor_ns = (double)launch->time_ns;
        if (!launch->memop && launch->record->host_ns < projection.host_ns)
            projection.host_ns = launch->record->host_ns;
    }
    return projection;
}

uint32_t projection_blocks(const struct projection *projection, const struct projection_kernel *kernel,
                           uint32_t *most)
{
    enum { WARP = 32, REGISTER_UNIT = 256, SHARED_RESERVED = 1024 };
    uint32_t warps = (kernel->threads + WARP - 1) / WARP;
    uint32_t per_warp = (kernel->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    *most = warps ? projection->threads_per_multiprocessor / (warps * WARP) : 0;
    if (projection->blocks_per_multiprocessor && projection->blocks_per_multiprocessor < *most)
        *most = projection->blocks_per_multiprocessor;
    uint32_t blocks = *most;
    if (per_warp && projection->registers_per_multiprocessor / (per_warp * warps) < blocks)
        blocks = projection->registers_per_multiprocessor / (per_warp * warps);
    if (kernel->static_shared && projection->shared_per_multiprocessor &&
        projection->shared_per_multiprocessor / (kernel->static_shared + SHARED_RESERVED) < blocks)
        blocks = projection->shared_per_multiprocessor / (kernel->static_shared + SHARED_RESERVED);
    return blocks;
}

double projection_occupancy(const struct projection *projection, const struct projection_kernel *kernel)
{
    uint32_t most, blocks = projection_blocks(projection, kernel, &most);
    return most && blocks < most ? (double)blocks / most : 1;
}

double projection_held(const struct projection *projection, uint64_t block_bytes, uint64_t blocks,
                       const struct projection_kernel *kernel)
{
    uint32_t most;
    double resident = (double)projection->multiprocessors * projection_blocks(projection, kernel, &most);
    double live = (double)block_bytes * (resident < (double)blocks ? resident : (double)blocks);
    double room = projection->cache_bytes * fallback.cache_share;
    double held =
        room > 0 && live < 2 * room ? 2 - live / room : 0; /* all up to room, nothing from twice that on */
    return held < 1 ? held : 1;
}

double projection_cached(const struct projection *projection, uint64_t block_bytes, uint64_t blocks,
                         const struct projection_kernel *kernel)
{
    return projection_held(projection, block_bytes, blocks, kernel) * fallback.cached_gain;
}

/* At least so long: 14 halo fusions of two dimensions on an H200 took 1.0 to 1.8 times that. Their longer time, of instructions or of
 * traffic, was a third to nine tenths of what they took. */
static double staged_ns(const struct projection_kernel *kernel, double resident)
{
    const double together = 2, enough = 0.75, by_residence = 0.9;
    double moved = kernel->moved_ns;
    if (resident < enough) moved *= pow(enough / (resident > 0.01 ? resident : 0.01), by_residence);
    return pow(pow(moved, together) + pow(kernel->issued_ns, together), 1 / together);
}

/* Loads that a thread waits for take as long as they take, so that fewer threads move less at a time: by less than in proportion, as a
 * fused kernel's threads have more loads under way. 20 groups on an H200 with 40 to 75% of their members' threads took 1.0 to 1.4
 * times what their traffic promised, those of most loads a thread less. Without it, two groups of a weather model's column loops took
 * 1.2 and 1.5 times what was promised, and up to 1.45 times what their members took. */
static double fewer_threads(const struct projection_kernel *kernel, double share)
{
    const double by_share = 0.5;
    /* Memory-bound kernels lose bandwidth below about half of the threads: of two kernels in one each thread
     * waits for the loads of both, one after the other. Loops have more loads under way. */
    const double enough_occupancy = kernel->has_loops ? 0.25 : 0.5, least = 0.01;
    if (share < least) share = least;
    double slower = share < enough_occupancy ? enough_occupancy / share : 1;
    double than_alone =
        !kernel->fits && kernel->alone_share > share ? pow(kernel->alone_share / share, by_share) : 1;
    return fmax(slower, than_alone);
}

struct projected projection_group(const struct projection *projection, const uint64_t *member_ns,
                                  uint32_t count, const struct projection_kernel *kernel)
{
    /* Rows of a tile of 16 x 8 x 8 cells and its border are short: seven groups on an H200 took 0.97 to 1.27 times what was promised without
     * this. */
    const double deep = 1.15;
    struct projected projected = {0};
    double body = 0;
    for (uint32_t i = 0; i < count; i++) {
        double time = (double)member_ns[i];
        projected.original_ns += time;
        body += time > projection->floor_ns ? time - projection->floor_ns : 0;
    }
    projected.original_ns += (count - 1) * projection->gap_ns;
    const double most_saved = 0.9;
    double saved = kernel->saved_ns < most_saved * body ? kernel->saved_ns : most_saved * body;
    double share = projection_occupancy(projection, kernel);
    double added = kernel->repeated_ns + kernel->waiting_ns + fallback.either_cost * kernel->either_ns +
                   fallback.apart_cost * kernel->apart_ns;
    double fused = (body - saved + added) * fewer_threads(kernel, share);
    double least = staged_ns(kernel, share);
    projected.fused_ns =
        projection->floor_ns + (fused > least ? fused : least) * (kernel->is_deep ? deep : 1);
    return projected;
}
