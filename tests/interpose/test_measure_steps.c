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

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"a loser whose uses differ in what comes between", loses_in_steps, plan_measured,
         after_loser_in_steps},
        {"a loser whose members are those of another group", loses_twice, plan_members_at_two_places, NULL},
        {"the same, and the other gains", loses_once, plan_members_at_two_places, after_losing_once},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
