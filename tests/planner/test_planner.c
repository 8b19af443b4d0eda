/* SPDX-License-Identifier: Apache-2.0
 * Plans of written traces: the same bytes twice, what ends a window, what holding costs, what is refused and
 * what is said of it. */
#include "fuser/fusion/group.h"
#include "fuser/planner/planner.h"
#include "common/plan.h"
#include "tests/planner/written_trace.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { A = 0x7f0000000000, ARRAY = 4096, B = A + ARRAY, LONG_GAP_NS = 1000000 };
static char folder[] = "/tmp/kfuse-test-planner-XXXXXX";
static char trace_path[64], plan_path[64], other_path[64];
static struct written_trace trace;
static struct planner_summary summary;
static uint32_t max_members;
static char error[1024];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(trace_path, sizeof trace_path, "%s/app.kftrace", folder);
    snprintf(plan_path, sizeof plan_path, "%s/app.kfplan", folder);
    snprintf(other_path, sizeof other_path, "%s/other.kfplan", folder);
    return 0;
}

static int empty_folder(const char *path)
{
    char name[512];
    DIR *files = opendir(path);
    if (!files) return 0;
    for (struct dirent *file; (file = readdir(files));) {
        snprintf(name, sizeof name, "%s/%s", path, file->d_name);
        unlink(name);
    }
    closedir(files);
    return rmdir(path);
}

static int forget_plans(void **state)
{
    (void)state;
    return empty_folder(plan_path) || empty_folder(other_path);
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(trace_path) || rmdir(folder);
}

static bool plan_to(const char *path)
{
    struct planner_options options;
    planner_defaults(&options);
    options.trace_paths = &(const char *){trace_path};
    options.trace_count = 1;
    options.plan_path = path;
    options.max_members = max_members;
    options.only = ~(1u << GROUP_ONE_BLOCK); /* the launches are small */
    error[0] = '\0';
    return planner_run(&options, &summary, error, sizeof error);
}

static void start(void)
{
    written_start(&trace, trace_path, IMAGE_PTX);
    written_array(&trace, A, ARRAY);
    written_array(&trace, B, ARRAY);
}

static void two_launches(uint64_t first, uint64_t second)
{
    written_launch(&trace, WRITTEN_SCALE, first, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCALE, second, 2.0f, WRITTEN_N);
}

static void assert_planned(uint64_t before, uint64_t after)
{
    written_end(&trace);
    if (!plan_to(plan_path)) fail_msg("%s", error);
    assert_int_equal(summary.launches_before, before);
    assert_int_equal(summary.launches_after, after);
}

/* The whole file, which the caller frees. */
static char *contents_of(const char *directory, const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

static void assert_same_file(const char *name)
{
    size_t size, other_size;
    char *bytes = contents_of(plan_path, name, &size), *other = contents_of(other_path, name, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other, size);
    free(bytes);
    free(other);
}

static void assert_said(const char *text)
{
    size_t size;
    char *json = contents_of(plan_path, "plan.json", &size);
    if (!strstr(json, text)) fail_msg("not in plan.json: %s\n%s", text, json);
    free(json);
}

static void test_same_trace_same_plan(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        two_launches(A, A);
        written_launch(&trace, WRITTEN_BARRIER, B, 1.0f, WRITTEN_N);
        two_launches(A, B);
        written_wall(&trace);
    }
    written_end(&trace);
    assert_true(plan_to(plan_path));
    assert_true(summary.groups > 0);
    assert_true(plan_to(other_path));
    assert_same_file("plan.json");
    assert_same_file("plan.bin");
    struct dirent *file;
    DIR *files = opendir(plan_path);
    unsigned sources = 0;
    while ((file = readdir(files)))
        if (strstr(file->d_name, ".cu")) {
            assert_same_file(file->d_name);
            sources++;
        }
    closedir(files);
    assert_int_equal(sources, summary.groups);
}

static void test_plan_can_be_mapped(void **state)
{
    struct plan plan;
    (void)state;
    start();
    two_launches(A, A);
    written_launch(&trace, WRITTEN_BARRIER, B, 1.0f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCALE, A, 3.0f, WRITTEN_N);
    assert_planned(4, 2);
    if (!plan_map(&plan, plan_path, error, sizeof error)) fail_msg("%s", error);
    assert_int_equal(plan.header->groups.count, 1);
    assert_int_equal(plan.groups[0].step_count, 4);
    assert_int_equal(plan.steps[1].role, PLAN_MEMBER);
    assert_int_equal(plan.steps[2].role, PLAN_BEFORE);
    assert_int_equal(plan.variants[0].grid[0], (WRITTEN_N + WRITTEN_THREADS - 1) / WRITTEN_THREADS);
    assert_string_equal(plan.header->device_name, "a device");
    plan_unmap(&plan);
}

/* It needs the first, and the last needs it: it can stand on no side of a fused kernel. */
static void test_needed_in_between(void **state)
{
    (void)state;
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_BARRIER, A, 1.0f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCALE, A, 3.0f, WRITTEN_N);
    assert_planned(3, 3);
}

static void test_windows(void **state)
{
    (void)state;
    start(); /* nothing between: the reference */
    two_launches(A, A);
    assert_planned(2, 1);
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_wall(&trace);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(2, 2);
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    trace.stream = 1;
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(2, 2);
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    trace.thread = 2;
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(2, 2);
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_free(&trace, B);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(2, 2);
}

static void test_a_slow_host_is_not_waited_for(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        two_launches(A, A);
        written_wall(&trace);
    }
    assert_planned(6, 3);
    /* the device would stand still for as long as the first member could run */
    enum { LARGE = 1 << 26 };
    written_start(&trace, trace_path, IMAGE_PTX);
    written_array(&trace, A, 4ull * LARGE);
    trace.kernel_ns = LONG_GAP_NS;
    for (int i = 0; i < 3; i++) {
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        trace.now_ns += LONG_GAP_NS;
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        written_wall(&trace);
    }
    assert_planned(6, 6);
    assert_said("holding the launches would leave the device idle");
    /* but once, when the kernel is loaded */
    written_start(&trace, trace_path, IMAGE_PTX);
    written_array(&trace, A, 4ull * LARGE);
    trace.kernel_ns = LONG_GAP_NS;
    for (int i = 0; i < 3; i++) {
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        if (!i) trace.now_ns += 100 * LONG_GAP_NS;
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        written_wall(&trace);
    }
    assert_planned(6, 3);
    /* only between pairs is the host slow: the pairs stay */
    start();
    for (int i = 0; i < 6; i++) {
        two_launches(A, A);
        trace.now_ns += LONG_GAP_NS;
    }
    assert_planned(12, 6);
}

/* Pairs, each kernel of which takes a little longer than the host takes to the next one. */
static void pairs_of_long_kernels(bool waits, bool is_emulated)
{
    enum { PAIRS = 8, LARGE = 1 << 28, LONGER = LONG_GAP_NS / 20 };
    if (is_emulated)
        written_start_emulated(&trace, trace_path);
    else
        written_start(&trace, trace_path, IMAGE_PTX);
    written_array(&trace, A, 4ull * LARGE);
    trace.kernel_ns = LONG_GAP_NS + LONGER;
    for (int i = 0; i < 2 * PAIRS; i++) {
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        trace.now_ns += LONG_GAP_NS;
        if (waits && i % 2) written_wall(&trace);
    }
}

static void test_a_device_that_is_behind_is_not_idle(void **state)
{
    (void)state;
    max_members = 2;
    pairs_of_long_kernels(true, false);
    assert_planned(16, 16);
    pairs_of_long_kernels(false, false);
    assert_planned(16, 8);
    max_members = 0;
}

/* An emulated device's clock stands while the host works. */
static void test_an_emulated_device_is_never_idle(void **state)
{
    (void)state;
    pairs_of_long_kernels(true, true);
    assert_planned(16, 8);
}

/* Most of their time is not the traffic that fusing spares: a millisecond of theirs moves what takes a quarter. */
static void test_long_kernels_that_move_little(void **state)
{
    enum { LARGE = 1 << 26 };
    (void)state;
    start();
    written_array(&trace, A, 4ull * LARGE);
    trace.kernel_ns = LONG_GAP_NS;
    for (int i = 0; i < 3; i++) {
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, LARGE);
        written_launch(&trace, WRITTEN_SCALE, A, 2.0f, LARGE);
        trace.now_ns += LONG_GAP_NS;
        written_wall(&trace);
    }
    assert_planned(6, 3);
    assert_true(summary.planned_ns > summary.original_ns * 3 / 4);
}

/* What the others no longer move is none of the long one's time. */
static void test_a_member_saves_its_own_time(void **state)
{
    enum { SHORT_NS = 3000, LONG_NS = 100000 };
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        trace.kernel_ns = LONG_NS;
        written_launch(&trace, WRITTEN_FROM_ONE, B, 0.5f, WRITTEN_N);
        trace.kernel_ns = SHORT_NS;
        two_launches(A, A);
        written_wall(&trace);
    }
    assert_planned(9, 3);
    assert_true(summary.planned_ns > 3 * LONG_NS);
}

/* One use in a whole run does not win back the loading of a group's code, which is then not compiled either;
 * many do, and so does a run that goes on. */
static void test_loading_must_pay(void **state)
{
    (void)state;
    setenv("KFUSE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    start();
    trace.end = TRACE_END_EXIT;
    two_launches(A, A);
    assert_planned(2, 2);
    unsetenv("KFUSE_NVRTC");
    assert_said("too rarely");
    start();
    trace.end = TRACE_END_EXIT;
    for (int i = 0; i < 200; i++) {
        two_launches(A, A);
        written_wall(&trace);
    }
    assert_planned(400, 200);
}

/* Groups of a loop of seven launches are two iterations, not sixteen launches, so that all are uses of one. */
static void test_whole_iterations(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 7; k++) written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N - k);
    assert_planned(28, 2);
    assert_int_equal(summary.groups, 1);
}

/* The third launch on A joins the first two in a group that passes over those on B, which gain more as one themselves: the first
 * two stay a group. */
static void test_a_group_that_passes_over_nothing(void **state)
{
    enum { SHORT_NS = 3000, LONG_NS = 12000 };
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        trace.kernel_ns = SHORT_NS;
        two_launches(A, A);
        trace.kernel_ns = LONG_NS;
        for (int k = 0; k < 3; k++) written_launch(&trace, WRITTEN_SCALE, B, 0.5f, WRITTEN_N - 1);
        trace.kernel_ns = SHORT_NS;
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
        written_wall(&trace);
    }
    assert_planned(18, 6);
}

/* The launches of a group that is dropped get another chance: here in the pair that all other windows use. Replay makes it of the first
 * two; the search had not tried it there, but where the last two begin. */
static void test_launches_of_a_dropped_group(void **state)
{
    (void)state;
    start();
    trace.end = TRACE_END_EXIT;
    for (int i = 0; i < 200; i++) {
        two_launches(A, A);
        written_wall(&trace);
    }
    two_launches(A, A);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(403, 202);
    assert_int_equal(summary.groups, 1);
    assert_said("\"launches_analysed\": 403");
    assert_said("\"launches\": 1,\n   \"reason\": \"the program waits, copies or allocates before its next");
}

/* A kernel that is no member is analysed for each of its shapes only where a group could pass over it. */
static void test_launches_that_need_no_analysis(void **state)
{
    (void)state;
    start();
    for (uint32_t n = 1; n < 5; n++) written_launch(&trace, WRITTEN_BARRIER, B, 0.5f, 100 * n);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    for (uint32_t n = 5; n < 8; n++) written_launch(&trace, WRITTEN_BARRIER, B, 0.5f, 100 * n);
    assert_planned(8, 8);
    assert_int_equal(summary.kernels_analysed, 2);
    assert_said("\"launches_analysed\": 8");
    assert_said("a barrier that not all threads of the block wait at");
    start();
    written_launch(&trace, WRITTEN_BARRIER, B, 0.5f, 100);
    written_wall(&trace);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_BARRIER, B, 0.5f, 200);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    assert_planned(4, 3);
}

/* A pointer that lies in the array before the one that is meant, as when elements are counted from 1. */
static void test_pointer_outside_its_array(void **state)
{
    (void)state;
    start();
    written_launch(&trace, WRITTEN_FROM_ONE, A, 0.5f, ARRAY / 4 - 1);
    written_launch(&trace, WRITTEN_FROM_ONE, A, 0.5f, ARRAY / 4 - 1);
    assert_planned(2, 1);
    start();
    written_launch(&trace, WRITTEN_SCALE, B, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_FROM_ONE, B - 4, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCALE, B, 0.5f, WRITTEN_N);
    assert_planned(3, 3);
    assert_said("it may reach beyond the allocation that a pointer of its arguments lies in");
    start();
    written_launch(&trace, WRITTEN_SCALE, A + 4, 0.5f, ARRAY / 4); /* its last element is B's first */
    written_launch(&trace, WRITTEN_SCALE, A + 4, 0.5f, ARRAY / 4);
    assert_planned(2, 2);
}

/* Where an allocation's end was not recorded, the new one over its place holds all pointers. */
static void test_array_over_another(void **state)
{
    (void)state;
    start();
    written_array(&trace, A - 4096, 65536);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_FROM_ONE, A - 8, 0.5f, WRITTEN_N);
    assert_planned(
        2, 1); /* the second one's threads find in tiles what others wrote, and write into a second buffer */
}

/* Padding makes an address in another array of the number before it. */
static void test_padding_like_a_pointer(void **state)
{
    const uint32_t upper = 0x7f23;
    (void)state;
    start();
    written_array(&trace, A, ARRAY);
    written_array(&trace, (uint64_t)upper << 32, 1 << 20);
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_padded(&trace, A, WRITTEN_N, upper);
    assert_planned(2, 1);
}

static void assert_without_ptx(enum image_kind kind, const char *next_step)
{
    written_start(&trace, trace_path, kind);
    written_array(&trace, A, ARRAY);
    two_launches(A, A);
    assert_planned(2, 2);
    assert_int_equal(summary.groups, 0);
    assert_int_equal(summary.kernels, 1);
    assert_int_equal(summary.kernels_analysed, 0);
    assert_non_null(strstr(summary.refusal, next_step));
}

static void test_module_without_ptx(void **state)
{
    (void)state;
    assert_without_ptx(IMAGE_FATBIN, "scale: its module holds no PTX: build it with -arch=sm_");
    assert_without_ptx(IMAGE_ELF,
                       "scale: its module is machine code without PTX: load PTX, or, where a cache");
}

static void test_no_launch(void **state)
{
    (void)state;
    start();
    written_end(&trace);
    assert_false(plan_to(plan_path));
    assert_non_null(strstr(error, trace_path));
    assert_non_null(strstr(error, "no kernel launch was recorded"));
    assert_int_equal(access(plan_path, F_OK), -1);
}

static void test_without_nvrtc(void **state)
{
    (void)state;
    setenv("KFUSE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    start();
    two_launches(A, A);
    written_end(&trace);
    bool is_planned = plan_to(plan_path);
    start(); /* nothing to compile: nothing is missing */
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_end(&trace);
    bool is_other_planned = plan_to(other_path);
    unsetenv("KFUSE_NVRTC");
    assert_false(is_planned);
    assert_int_equal(access(plan_path, F_OK), -1);
    assert_true(is_other_planned);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget_plans)
    const struct CMUnitTest tests[] = {
        TEST(test_same_trace_same_plan),
        TEST(test_plan_can_be_mapped),
        TEST(test_needed_in_between),
        TEST(test_windows),
        TEST(test_a_slow_host_is_not_waited_for),
        TEST(test_a_device_that_is_behind_is_not_idle),
        TEST(test_an_emulated_device_is_never_idle),
        TEST(test_long_kernels_that_move_little),
        TEST(test_a_member_saves_its_own_time),
        TEST(test_loading_must_pay),
        TEST(test_whole_iterations),
        TEST(test_a_group_that_passes_over_nothing),
        TEST(test_launches_of_a_dropped_group),
        TEST(test_launches_that_need_no_analysis),
        TEST(test_pointer_outside_its_array),
        TEST(test_array_over_another),
        TEST(test_padding_like_a_pointer),
        TEST(test_module_without_ptx),
        TEST(test_no_launch),
        TEST(test_without_nvrtc),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
