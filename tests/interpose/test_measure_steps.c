/* SPDX-License-Identifier: Apache-2.0
 * Measuring in place where a time step has several uses: what comes between them differs, and groups of the same members lie at
 * several places. Against the fake driver. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <stdint.h>

static void plan_measured(void)
{
    use_measured(FIXTURE_AB, "1");
}

/* Six uses a step, and once what takes as long as all of them: a stretch of some uses has more of it than another. */
static void loses_in_steps(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 1100000);
    fake_set_time("a:", 500000);
    fake_set_time("b:", 500000);
    fake_set_time("_Z1c", 6000000);
    for (int i = 0; i < 6000; i++) {
        use_ab();
        if (i % 6 == 2) OK(launch_c(0x5000, NULL));
        if (i % 64 == 0) fake_clear();
    }
}

static void after_loser_in_steps(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
    EXPECT(stat_of("fused") <= 600);
    EXPECT(file_has("log", "group ab is off: a use takes 100.00 us longer with it (99.9"));
}

static void plan_members_at_two_places(void)
{
    use_measured(FIXTURE_AB | FIXTURE_CAB, "1");
}

/* What loses at one place rests at the other, until it is tried there. */
static void loses_at_both_places(bool wins_at_second)
{
    start_program_on_own_clock();
    fake_set_time("ab", 1100000);
    fake_set_time("a:", 500000);
    fake_set_time("b:", 500000);
    for (int i = 0; i < 200; i++) use_ab();
    OK(cuStreamSynchronize(NULL));
    fake_clear();
    if (wins_at_second) fake_set_time("ab", 200000);
    for (int i = 0; i < 20; i++) {
        OK(launch_c(0x5000, NULL));
        use_ab();
    }
    CHECK(lines(0, "launch a ") == 20);
    for (int i = 0; wins_at_second && i < 3000; i++) {
        OK(launch_c(0x5000, NULL));
        use_ab();
        if (i % 64 == 0) fake_clear();
    }
}

static void loses_twice(void)
{
    loses_at_both_places(false);
}

static void loses_once(void)
{
    loses_at_both_places(true);
}

static void after_losing_once(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
    EXPECT(stat_of("fused") > 2000);
}

static void plan_screened(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .takes_ns = 400000}); /* and a microsecond apart */
    setenv("KFUSE_MEASURE", "1", 1);
    setenv("KFUSE_LOG_LEVEL", "info", 1);
}

static void fused_takes(unsigned nanoseconds)
{
    fake_set_time("ab", nanoseconds);
    fake_set_time("a:", 200000);
    fake_set_time("b:", 200000);
}

/* Of the first launch nothing is known, two more lie between events. */
static void slow_from_the_start(void)
{
    start_program_on_own_clock();
    fused_takes(500000);
    for (int i = 0; i < 3; i++) use_ab();
    CHECK(lines(0, "launch ab") == 3 && lines(0, "cuEventRecord") == 4);
    fake_clear();
    fake_stay(200);
    use_ab();
    CHECK(lines(0, "launch ab") + lines(0, "launch a ") == 1);
    for (int i = 0; i < 20; i++) use_ab();
    CHECK(lines(0, "launch ab") <= 1 && lines(0, "launch a ") >= 20);
}

static void after_slow(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("log", "group ab rests until it is measured: a launch takes 99.00 us longer"));
}

/* It was slow for a while. */
static void slow_at_first(void)
{
    slow_from_the_start();
    fused_takes(100000);
    for (int i = 0; i < 3000; i++) {
        use_ab();
        fake_stay(20);
        if (i % 64 == 0) fake_clear();
    }
}

static void after_slow_at_first(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 0);
    EXPECT(stat_of("fused") > 1500);
}

static void stays_fused(void)
{
    for (int i = 0; i < 20; i++) {
        use_ab();
        fake_stay(200);
    }
    CHECK(lines(0, "launch ab") >= 15);
}

/* In its first use, which loads code, and once behind that. */
static void slow_by_chance(void)
{
    start_program_on_own_clock();
    fused_takes(5000000);
    for (int i = 0; i < 2; i++) use_ab();
    fused_takes(390000);
    stays_fused();
}

/* As much as events may add is no loss. */
static void hardly_slow(void)
{
    start_program_on_own_clock();
    fused_takes(440000);
    stays_fused();
}

static void screened_in_a_capture(void)
{
    start_program_on_own_clock();
    use_ab();
    fake_set_capturing(1);
    use_ab();
    CHECK(lines(0, "cuEvent") == 0);
    fake_set_capturing(0);
}

static void screened_without_events(void)
{
    start_program_on_own_clock();
    fused_takes(5000000);
    fake_fail_events(2, 0);
    for (int i = 0; i < 5; i++) use_ab();
    CHECK(lines(0, "launch ab") == 5 && lines(0, "cuEventRecord") == 0);
}

static void after_none(int status)
{
    EXPECT(status == 0);
    EXPECT(!file_has("log", "rests until"));
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"a loser whose uses differ in what comes between", loses_in_steps, plan_measured,
         after_loser_in_steps},
        {"a loser whose members are those of another group", loses_twice, plan_members_at_two_places, NULL},
        {"a group that is slow in its first uses", slow_from_the_start, plan_screened, after_slow},
        {"the same, and gains later", slow_at_first, plan_screened, after_slow_at_first},
        {"a group that is slow once", slow_by_chance, plan_screened, after_none},
        {"a group that is hardly slower", hardly_slow, plan_screened, after_none},
        {"a first use in a capture", screened_in_a_capture, plan_screened, after_none},
        {"first uses without events", screened_without_events, plan_screened, after_none},
        {"the same, and the other gains", loses_once, plan_members_at_two_places, after_losing_once},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
