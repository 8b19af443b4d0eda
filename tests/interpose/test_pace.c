/* SPDX-License-Identifier: Apache-2.0
 * What depends on how fast host and device are, and on how long a run is, against the fake driver: graphs of few launches, and
 * groups that short runs measure. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/measured.h"
#include "tests/interpose/replay_program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* --- the device is behind --- */

static void plan_graphs(void)
{
    use_plan(&(struct fixture){.groups = 0});
    unsetenv("KFUSE_CHAINS");
}

/* Each kernel has been launched, and the host has waited. */
static void start_slow(unsigned launch_us)
{
    start_program_on_own_clock();
    OK(launch_c(0x5000, NULL));
    OK(cuCtxSynchronize());
    fake_slow_launch(launch_us);
    fake_stay(100000);
}

/* A kernel between two sets, each time after a while. */
static size_t graphs_of(unsigned kernels, unsigned launches, unsigned pause_us)
{
    fake_clear();
    for (unsigned i = 0; i < launches; i++) {
        for (unsigned k = 0; k < kernels; k++) OK(launch_c(0x5000, NULL));
        OK(cuMemsetD32Async(0x1000, 1, 4, NULL));
        if (pause_us) fake_stay(pause_us);
        if (i + 100 == launches) fake_clear();
    }
    return lines(0, "graph ");
}

/* What a graph saves nobody misses then; of many launches, it is left as it is. */
static void device_is_behind(void)
{
    start_slow(20);
    CHECK(graphs_of(1, 500, 50) > 50);
    fake_set_busy(1);
    CHECK(graphs_of(1, 500, 50) == 0);
    CHECK(graphs_of(32, 500, 50) > 100);
    fake_set_busy(0);
    CHECK(graphs_of(1, 500, 50) > 50);
}

/* Launches by themselves would take the host longer than the device. */
static void device_is_fast(void)
{
    start_slow(200);
    fake_set_busy(1);
    CHECK(graphs_of(1, 500, 0) > 50);
}

/* --- short runs --- */

static struct measured measured;

static void plan_brief(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB});
    setenv("KFUSE_MEASURE", "1", 1);
}

/* Rounds of earlier runs that say neither. */
static void plan_undecided(void)
{
    plan_brief();
    remember_measured((struct measured_group){
        .round_count = 3, .rounds = {{3000000, 2000000}, {3000000, 2000000}, {3000000, 3500000}}});
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A round takes 16 us or more: 0.5% of 3.2 ms; and 28 at most: 2.5% of 1.1. */
static void short_run(bool is_measured)
{
    int64_t begun, now;
    start_program_on_own_clock();
    fake_set_time("ab", 1000);
    use_ab();
    begun = now = now_ns();
    while (now - begun < 2500000) {
        use_ab();
        now = now_ns();
    }
    CHECK(is_measured == (lines(0, "cuEventRecord") > 0));
}

static void measured_at_once(void)
{
    short_run(true);
}

static void measured_later(void)
{
    short_run(false);
}

static void after_short(int status)
{
    struct plan plan;
    char error[512], path[4096];
    EXPECT(status == 0);
    if (!plan_map(&plan, preload_folder(), error, sizeof error)) exit(1);
    measured_start(&measured, "fake device", 13000);
    measured_path(path, sizeof path, preload_folder(), "fake device", 13000, false);
    measured_read(&measured, path);
    const struct measured_group *group =
        measured_find(&measured, measured_identity_of(&plan, 0), plan.header->check);
    EXPECT(group && group->round_count);
    plan_unmap(&plan);
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"the device is behind", device_is_behind, plan_graphs, NULL},
        {"the same, and it is fast", device_is_fast, plan_graphs, NULL},
        {"a short run, the first one", measured_at_once, plan_brief, after_short},
        {"a short run, after others that measured", measured_later, plan_undecided, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
