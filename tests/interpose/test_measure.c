/* SPDX-License-Identifier: Apache-2.0
 * Measuring in place, against the fake driver: which launches are held when, where events lie, who is
 * switched off, and what is remembered. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/measured.h"
#include "tests/interpose/replay_program.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

enum { STRETCH = 4 }; /* with KFUSE_MEASURE=always */

/* --- plans and places --- */

static void plan_always(void)
{
    use_measured(FIXTURE_AB, "always");
}

static void plan_measured(void)
{
    use_measured(FIXTURE_AB, "1");
}

static void plan_promises_nothing(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .gains_nothing = true});
    setenv("KFUSE_MEASURE", "1", 1);
}

static void uses_ab(unsigned count)
{
    for (unsigned i = 0; i < count; i++) use_ab();
}

/* --- stretches --- */

static void alternates(void)
{
    start_program();
    uses_ab(STRETCH);
    CHECK(lines(0, "launch ab") == STRETCH && lines(0, "launch a ") == 0);
    CHECK(lines(0, "cuEventRecord") == 2);
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK_LINE(0, A_LINE("1000 7")); /* at once */
    CHECK(fake_count() == 1);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(1, B_LINE("1000 2000"));
    CHECK_LINE(2, "cuEventRecord"); /* behind the first use */
    uses_ab(STRETCH - 2);
    CHECK(fake_count() == 3 + 2 * (STRETCH - 2));
    use_ab();
    CHECK_LINE(fake_count() - 2, B_LINE("1000 2000"));
    CHECK_LINE(fake_count() - 1, "cuEventRecord"); /* and the last one */
    fake_clear();
    uses_ab(STRETCH);
    CHECK(lines(0, "launch ab") == STRETCH && lines(0, "launch a ") == 0);
    CHECK(lines(0, "cuEventRecord") == 2);
    CHECK_LINE(1, "cuEventRecord");
    CHECK_LINE(fake_count() - 1, "cuEventRecord");
}

/* Uses that take long are first compared by few of them. */
static void begins_with_few(void)
{
    start_program_on_own_clock();
    uses_ab(20);
    CHECK(lines(0, "cuEventRecord") >= 6);
}

/* A pattern that is interrupted is no use, held or not. */
static void interrupted(void)
{
    start_program();
    uses_ab(STRETCH);
    for (int i = 0; i < 3 * STRETCH; i++) {
        OK(launch_a(0x1000, 7, NULL));
        OK(i % 2 ? cuStreamSynchronize(NULL) : launch_c(0x5000, NULL));
        OK(launch_b(0x1000, 0x2000, NULL));
    }
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK(fake_count() == 1); /* not a use yet: the first one of the stretch */
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(2, "cuEventRecord");
}

static void off(void)
{
    start_program();
    uses_ab(100);
    CHECK(lines(0, "launch ab") == 100 && lines(0, "cuEvent") == 0);
}

static void plan_off(void)
{
    use_measured(FIXTURE_AB, "0");
}

/* --- verdicts --- */

static void loses(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 5000000); /* the host takes less */
    fake_set_time("a:", 1000000);
    fake_set_time("b:", 1000000);
    for (int i = 0; i < 8000; i++) {
        use_ab();
        fake_stay(20);
        if (i % 64 == 0) fake_clear();
    }
    fake_clear();
    use_ab();
    CHECK_LINE(0, A_LINE("1000 7"));
    CHECK_LINE(1, B_LINE("1000 2000"));
    CHECK(fake_count() == 2);
}

static void after_loser(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
    EXPECT(stat_of("measured_stretches") >= 9);
    EXPECT(stat_of("fused") <= 3 * 2 * 16 + 3 * 32); /* rounds, and what lies before the first is known */
    EXPECT(file_has("log", "group ab is off: a use takes 3000.00 us longer with it"));
}

static void wins(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 40000);
    fake_set_time("a:", 22000);
    fake_set_time("b:", 22000);
    for (int i = 0; i < 30000; i++) {
        use_ab();
        if (i % 64 == 0) fake_clear();
        if (i % 8 == 0) fake_stay(1);
    }
}

static void after_winner(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 0);
    EXPECT(stat_of("measured_stretches") >= 9);
    EXPECT(stat_of("fused") >= 29700);
}

/* A device that is behind does not see that the host takes longer for the originals; one that is waited for
 * does. */
static void host_is_slow(bool waits)
{
    start_program_on_own_clock();
    fake_set_time("ab", 300000);
    fake_set_time("a:", 100000);
    fake_set_time("b:", 100000);
    fake_slow_launch(400);
    for (int i = 0; i < 400; i++) {
        use_ab();
        if (waits && i % 4 == 0) OK(cuStreamSynchronize(NULL));
    }
}

static void host_is_behind(void)
{
    host_is_slow(false);
}

static void device_is_waited_for(void)
{
    host_is_slow(true);
}

/* The driver's queue fills up: a launch waits until the device has done one of those before, so that two launches wait
 * longer than one. */
static void fill_queue(unsigned uses_before)
{
    start_program_on_own_clock();
    fake_set_time("ab", 300000);
    fake_set_time("a:", 100000);
    fake_set_time("b:", 100000);
    uses_ab(uses_before);
    fake_slow_launch(300);
    for (int i = 0; i < 1000; i++) {
        use_ab();
        if (i % 64 == 0) fake_clear();
    }
}

static void queue_is_full(void)
{
    fill_queue(40);
}

/* Before the first graph of originals. */
static void queue_is_full_early(void)
{
    fill_queue(2);
}

static void plan_measured_in_chains(void)
{
    plan_measured();
    setenv("KFUSE_CHAINS", "always", 1);
}

static void after_host(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 0);
    EXPECT(stat_of("measured_stretches") >= 3);
}

static void after_waits(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
}

/* --- what is remembered --- */

static struct measured measured;

/* One group of the plan in the folder; the plan's check differs by so much. */
static void remember(uint64_t other, uint64_t fused_ps)
{
    struct measured_group group = {.plan = other, .uses = 24};
    for (; group.round_count < 3; group.round_count++)
        group.rounds[group.round_count] = (struct measured_round){2000000, fused_ps};
    remember_measured(group);
}

static void plan_loser(void)
{
    plan_measured();
    remember(0, 3000000);
}

static void plan_other(void)
{
    plan_measured();
    remember(1, 3000000);
}

static void plan_winner(void)
{
    plan_measured();
    remember(0, 1000000);
}

static void is_off_from_the_start(void)
{
    start_program();
    use_ab();
    CHECK_LINE(0, A_LINE("1000 7"));
    CHECK(fake_count() == 2);
}

static void is_on(void)
{
    start_program();
    use_ab();
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
    CHECK(fake_count() == 1);
}

/* What the run measured stands in the file, behind what stood there. */
static void after_written(int status)
{
    char path[4096];
    EXPECT(status == 0);
    EXPECT(measured_path(path, sizeof path, preload_folder(), "fake device", 13000, false));
    measured_start(&measured, "fake device", 13000);
    measured_read(&measured, path);
    EXPECT(measured.group_count == 2);
    EXPECT(measured.groups[0].round_count == 3 && measured.groups[1].round_count >= 3);
    struct gain gain = measured_gain(&measured.groups[1]);
    EXPECT(gain_loses(&gain));
    EXPECT((measured.groups[1].rounds[0].fused_ps + 500000) / 1000000 == 5000); /* milliseconds are floats */
    EXPECT((measured.groups[1].rounds[0].original_ps + 500000) / 1000000 == 2000);
}

/* --- hazards --- */

static void captured(void)
{
    start_program();
    uses_ab(STRETCH + 3);
    fake_clear();
    fake_set_capturing(1);
    uses_ab(2 * STRETCH);
    CHECK(lines(0, "cuEvent") == 0 && lines(0, "launch ab") == 0);
    CHECK(lines(0, "launch a ") == 2 * STRETCH && lines(0, "launch b ") == 2 * STRETCH);
    fake_set_capturing(0);
    OK(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    uses_ab(2 * STRETCH);
    CHECK(lines(0, "cuEvent") == 0);
}

static void no_events(void)
{
    start_program();
    fake_fail_events(2, 0);
    uses_ab(4 * STRETCH);
    CHECK(lines(0, "launch ab") == 4 * STRETCH);
    CHECK(lines(0, "cuEventCreate") == 1);
}

static void no_records(void)
{
    start_program();
    fake_fail_events(0, 2);
    uses_ab(4 * STRETCH);
    CHECK(lines(0, "launch ab") == 4 * STRETCH);
    CHECK(lines(0, "failed cuEventRecord") == 1);
}

static void busy(void)
{
    start_program();
    fake_set_busy(1);
    uses_ab(100 * STRETCH); /* nothing is waited for */
    CHECK(lines(0, "cuEventRecord") == 4 * 6);
}

/* While the verdict is under way the group runs as originals, for little is expected of it. */
static void waits_as_originals(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 5000000);
    fake_set_time("a:", 1000000);
    fake_set_time("b:", 1000000);
    fake_set_busy(1);
    for (int i = 0; i < 3000; i++) {
        use_ab();
        fake_stay(20);
        if (i % 64 == 0) fake_clear();
    }
    fake_clear();
    uses_ab(100);
    CHECK(lines(0, "launch ab") == 0 && lines(0, "launch a ") == 100);
    fake_set_busy(0);
    fake_stay(2000);
    uses_ab(2);
}

static void after_waiting(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
    EXPECT(stat_of("fused") < 300);
}

/* Uses that will take the device long are time, however fast the host issues them. */
static void host_is_ahead(void)
{
    start_program_on_own_clock();
    fake_set_busy(1);
    uses_ab(400);
    CHECK(lines(0, "launch ab") < 200 && lines(0, "cuEventRecord") >= 3 * 6);
}

static void plan_takes_long(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .takes_ns = 7000000});
    setenv("KFUSE_MEASURE", "1", 1);
}

/* What is not expected to gain runs as originals, and is tried. */
static void rests(void)
{
    start_program_on_own_clock();
    fake_set_busy(1); /* nothing is known of it */
    OK(launch_a(0x1000, 7, NULL));
    CHECK(fake_count() == 0); /* held */
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, A_LINE("1000 7"));
    CHECK_LINE(1, B_LINE("1000 2000"));
    for (int i = 0; i < 1000; i++) {
        use_ab();
        fake_stay(20);
    }
    CHECK(lines(0, "cuEventRecord") == 6); /* one round at a time */
    size_t first = 2;
    while (strncmp(fake_line(first), "cuEventRecord", strlen("cuEventRecord"))) first++;
    CHECK(!strncmp(fake_line(first - 1), "launch ab", strlen("launch ab"))); /* what is measured is fused */
    CHECK(lines(0, "launch ab") >= 2 * 8 && lines(0, "launch ab") <= 2 * 16);
}

static void rests_and_wins(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 300000);
    fake_set_time("a:", 200000);
    fake_set_time("b:", 200000);
    for (int i = 0; i < 3000; i++) {
        use_ab();
        fake_stay(20);
    }
}

static void after_resting(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 0);
    EXPECT(stat_of("fused") > 1500);
}

/* One round that loses may be a pause of the host. */
static void goes_on(void)
{
    start_program();
    fake_set_time("ab", 5000000);
    fake_set_time("a:", 1000000);
    fake_set_time("b:", 1000000);
    while (lines(0, "cuEventRecord") < 6) use_ab();
    fake_set_time("ab", 100000);
    fake_clear();
    uses_ab(200);
    CHECK(lines(0, "launch ab") > 150);
}

/* A second round would cost more than may be spent. */
static void rests_and_loses(void)
{
    start_program_on_own_clock();
    fake_set_time("ab", 5000000);
    fake_set_time("a:", 1000000);
    fake_set_time("b:", 1000000);
    for (int i = 0; i < 3000; i++) {
        use_ab();
        fake_stay(20);
    }
    CHECK(lines(0, "cuEventRecord") == 6 && lines(0, "launch ab") <= 2 * 16);
}

static void restores_what_is_away(void)
{
    CUdeviceptr array, other;
    start_program();
    OK(cuMemAlloc_v2(&array, 256));
    OK(cuMemAlloc_v2(&other, 256));
    for (int i = 0; i < STRETCH; i++) {
        CUdeviceptr address = i < STRETCH - 1 ? array : other;
        OK(launch_a(address, 7, NULL));
        OK(launch_b(address, 0x2000, NULL));
    }
    CHECK(lines(0, "cuMemcpyDtoDAsync_v2") == 0);
    fake_clear();
    OK(launch_a(other, 7, NULL));
    CHECK(fake_count() == 3);
    CHECK(lines(0, "cuMemcpyDtoDAsync_v2") == 2); /* of both, first */
    CHECK(!strncmp(fake_line(2), "launch a ", 9));
}

/* Originals that come so late that holding would have ended are no uses; the stretch ends all the same. */
static void late(void)
{
    start_program();
    while (lines(0, "cuEventRecord") < 2) use_ab();
    fake_clear();
    for (int i = 0; i < 2 * STRETCH; i++) {
        OK(launch_a(0x1000, 7, NULL));
        usleep(20000);
        OK(launch_b(0x1000, 0x2000, NULL));
    }
    CHECK(lines(0, "launch ab") == 0 && lines(0, "cuEventRecord") == 0);
    uses_ab(2);
    CHECK(lines(0, "launch ab") > 0);
}

static void plan_short(void)
{
    plan_always();
    setenv("KFUSE_HOLD_US", "2000", 1); /* a machine that is busy stops a thread for less */
}

/* What a fused kernel has left stale is made before an original looks at it. */
static void materialises_what_is_pending(void)
{
    CUdeviceptr array;
    start_program();
    OK(cuMemAlloc_v2(&array, 256));
    for (int i = 0; i < STRETCH; i++) {
        OK(launch_a(array, i, NULL));
        OK(launch_b(array, 0x2000, NULL));
    }
    CHECK(lines(0, "launch lazy") == STRETCH);
    fake_clear();
    OK(launch_a(array, STRETCH, NULL));
    CHECK(fake_count() == 2);
    char line[128];
    for (int i = 0; i < 2; i++) { /* of the last use, then of this one */
        snprintf(line, sizeof line, "launch a 4,1,1 32,1,1 0 0 %llx %x", array, STRETCH - 1 + i);
        CHECK_LINE(i, line);
    }
}

static void plan_lazy(void)
{
    use_measured(FIXTURE_LAZY, "always");
}

static void plan_renamed(void)
{
    use_measured(FIXTURE_RENAME, "always");
}

static void *nothing(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(launch_c(0x7000, NULL));
    return unused;
}

static void a_second_thread(void)
{
    pthread_t thread;
    CUstream stream;
    start_program();
    OK(cuStreamCreate(&stream, 0));
    uses_ab(3);
    CHECK(!pthread_create(&thread, NULL, nothing, NULL) && !pthread_join(thread, NULL));
    fake_clear();
    uses_ab(4 * STRETCH);
    CHECK(lines(0, "cuEventRecord") == 0 && lines(0, "launch ab") == 4 * STRETCH);
    for (int i = 0; i < STRETCH; i++) {
        OK(launch_a(0x1000, 7, stream));
        OK(launch_b(0x1000, 0x2000, stream));
    }
    CHECK(lines(0, "cuEventRecord") == 2);
}

static void the_context_goes(void)
{
    start_program();
    uses_ab(3 * STRETCH);
    OK(cuCtxDestroy_v2(context));
    fake_clear();
    uses_ab(STRETCH);
    CHECK(lines(0, "cuEvent") == 0);
}

static void forks(void)
{
    int status;
    start_program();
    uses_ab(STRETCH);
    OK(launch_a(0x1000, 7, NULL)); /* followed, with the driver already */
    fake_clear();
    pid_t child = fork();
    if (!child) {
        uses_ab(2 * STRETCH);
        CHECK(lines(0, "cuEvent") == 0 && lines(0, "launch ab") == 0);
        CHECK(fake_count() == 4 * STRETCH);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, B_LINE("1000 2000"));
    CHECK_LINE(1, "cuEventRecord");
}

/* --- random programs: the driver sees every launch, in the program's order --- */

enum { LAUNCHES = 20000 };

/* Appends the launches that this line stands for, by letter and by their first argument, or NULL. */
static const char *letters_of(const char *line)
{
    static const char *const kernels[][2] = {
        {"launch abc ", "abc"},  {"launch ab ", "ab"}, {"launch a ", "a"},  {"launch b ", "b"},
        {"launch _Z1cPf ", "c"}, {"launch bb ", "bb"}, {"launch cc ", "cc"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strncmp(line, kernels[i][0], strlen(kernels[i][0]))) return kernels[i][1];
    return NULL;
}

static void check_order(const char *made)
{
    size_t at = 0;
    for (size_t i = 0; i < fake_count(); i++) {
        const char *letters = letters_of(fake_line(i));
        if (!letters) continue;
        CHECK(!strncmp(made + at, letters, strlen(letters)));
        at += strlen(letters);
    }
    CHECK(made[at] == 0);
}

static void at_random(void)
{
    static char made[LAUNCHES + 8];
    uint32_t random = 1, count = 0;
    CUstream streams[2] = {NULL, NULL};
    CUdeviceptr array;
    start_program();
    OK(cuStreamCreate(&streams[1], 0));
    OK(cuMemAlloc_v2(&array, 8192));
    fake_clear();
    while (count < LAUNCHES) {
        random = random * 1664525 + 1013904223;
        uint32_t choice = random >> 16, stream = choice / 64 % 16 == 0;
        const char *const words[] = {"ab", "ab", "ab", "abc", "cc", "a", "aab", "bc"};
        if (choice / 2048 % 8 == 0) OK(cuStreamSynchronize(NULL));
        for (const char *letter = words[choice % 8]; *letter; letter++) {
            made[count++] = *letter;
            OK(*letter == 'a'   ? launch_a(array, 7, streams[stream])
               : *letter == 'b' ? launch_b(array, 0x2000, streams[stream])
                                : launch_c(array, streams[stream]));
        }
    }
    OK(cuStreamSynchronize(NULL));
    check_order(made);
    CHECK(lines(0, "launch ab ") > 100 && lines(0, "launch abc ") > 100 && lines(0, "launch cc ") > 100);
    CHECK(lines(0, "cuEventRecord") > 50);
}

/* Two groups in turns, and it takes the whole of one to tell it from the other. */
static void begin_alike(void)
{
    start_program_on_own_clock();
    fake_set_time("ab:", 5000000);
    fake_set_time("abc:", 2000000); /* no gain costs nothing */
    fake_set_time("a:", 1000000);
    fake_set_time("b:", 1000000);
    for (int i = 0; i < 8000; i++) {
        use_ab();
        use_ab();
        OK(launch_c(0x3000, NULL));
        fake_stay(20);
        if (i % 64 == 0) fake_clear();
    }
}

static void plan_alike(void)
{
    use_measured(FIXTURE_AB | FIXTURE_ABC, "1");
}

static void after_alike(int status)
{
    EXPECT(status == 0);
    EXPECT(stat_of("switched_off") == 1);
    EXPECT(file_has("log", "group ab is off: a use takes 3000.00 us longer with it"));
}

/* The number behind the array: a's own. */
static int value_of(const char *line)
{
    unsigned long long array;
    int value;
    const char *arguments = strstr(line, " 0 0 ");
    return arguments && sscanf(arguments, " 0 0 %llx %x", &array, &value) == 2 ? value : -1;
}

/* Held originals come behind what the use before has left stale: it is a's, with its own number. */
static void settles_before_held_originals(void)
{
    CUdeviceptr array;
    int apart = 0, last = -1;
    start_program();
    OK(cuMemAlloc_v2(&array, 256));
    for (int i = 0; i < 200; i++) {
        OK(launch_a(array, i, NULL));
        OK(launch_b(array, 0x2000, NULL));
        if (i % 5 == 4) OK(launch_c(0x3000, NULL));
    }
    for (size_t i = 0; i < fake_count(); i++) {
        const char *line = fake_line(i);
        if (!strncmp(line, "launch lazy", 11)) last = value_of(line);
        if (strncmp(line, "launch a ", 9)) continue;
        CHECK(last < 0 || value_of(line) == last);
        apart += last < 0;
        last = -1;
    }
    CHECK(apart > STRETCH);
}

static void plan_lazy_alike(void)
{
    use_measured(FIXTURE_LAZY | FIXTURE_ABC, "always");
}

static void plan_several(void)
{
    use_measured(FIXTURE_AB | FIXTURE_ABC | FIXTURE_CC, "always");
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"stretches alternate", alternates, plan_always, NULL},
        {"the first stretches are short", begins_with_few, plan_measured, NULL},
        {"a pattern that is interrupted is no use", interrupted, plan_always, NULL},
        {"nothing is measured where that is off", off, plan_off, NULL},
        {"a loser is switched off", loses, plan_measured, after_loser},
        {"a loser among groups that begin alike", begin_alike, plan_alike, after_alike},
        {"a winner keeps its uses", wins, plan_measured, after_winner},
        {"originals whose launches take long", host_is_behind, plan_measured, after_host},
        {"the same where the program waits", device_is_waited_for, plan_measured, after_waits},
        {"a queue of the driver that is full", queue_is_full, plan_measured, after_waits},
        {"the same, and originals go as graphs", queue_is_full_early, plan_measured_in_chains, after_waits},
        {"a known loser is off from the start", is_off_from_the_start, plan_loser, NULL},
        {"a known winner is on", is_on, plan_winner, NULL},
        {"a loser in another plan is on, and its rounds stay", loses, plan_other, after_written},
        {"nothing is recorded in a capture", captured, plan_always, NULL},
        {"no events are to be had", no_events, plan_always, NULL},
        {"no event can be recorded", no_records, plan_always, NULL},
        {"the device is behind", busy, plan_always, NULL},
        {"a verdict is under way", waits_as_originals, plan_takes_long, after_waiting},
        {"what is not expected to gain", rests, plan_promises_nothing, NULL},
        {"the same, and it loses much", rests_and_loses, plan_promises_nothing, NULL},
        {"the same, and it gains", rests_and_wins, plan_promises_nothing, after_resting},
        {"a round that loses", goes_on, plan_measured, NULL},
        {"the host is far ahead", host_is_ahead, plan_takes_long, NULL},
        {"launches that come late", late, plan_short, NULL},
        {"what is away comes back first", restores_what_is_away, plan_renamed, NULL},
        {"what is pending is materialised first", materialises_what_is_pending, plan_lazy, NULL},
        {"the same before originals that are held", settles_before_held_originals, plan_lazy_alike, NULL},
        {"a second thread", a_second_thread, plan_always, NULL},
        {"the context goes", the_context_goes, plan_always, NULL},
        {"a fork in the middle of a pattern", forks, plan_always, NULL},
        {"random programs", at_random, plan_several, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
