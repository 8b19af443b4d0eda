/* SPDX-License-Identifier: Apache-2.0
 * Traces of several runs are read as one: numbers that mean something in one trace alone are renumbered. */
#include "fuser/planner/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { RUNS = 2, MOST = 64 };
static char folder[] = "/tmp/kfuse-test-XXXXXX", names[RUNS][64];
static const char *const paths[RUNS] = {names[0], names[1]};
static struct trace_writer *writer;
static uint64_t sequence;

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    for (int i = 0; i < RUNS; i++) snprintf(names[i], sizeof names[i], "%s/%d.kftrace", folder, i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int i = 0; i < RUNS; i++) unlink(names[i]);
    return rmdir(folder);
}

static void begin(int run, const char *device_name)
{
    const char *error = NULL;
    writer = trace_writer_open(paths[run], &error);
    assert_non_null(writer);
    sequence = 1;
    struct trace_device device = {.compute_major = 9};
    snprintf(device.name, sizeof device.name, "%s", device_name);
    trace_write(writer, TRACE_DEVICE, &device, NULL, 0);
}

static void module(uint32_t number, uint64_t hash)
{
    const struct trace_module record = {.module = number, .hash = {hash, 1}};
    trace_write(writer, TRACE_MODULE, &record, NULL, 0);
}

static void kernel(uint32_t number, uint32_t module, const char *name)
{
    const struct trace_kernel record = {.kernel = number, .module = module};
    trace_write(writer, TRACE_KERNEL, &record, name, strlen(name) + 1);
}

static void launch(uint32_t kernel)
{
    const struct trace_launch record = {.sequence = sequence, .kernel = kernel};
    const struct trace_activity activity = {.sequence = sequence++};
    trace_write(writer, TRACE_LAUNCH, &record, NULL, 0);
    trace_write(writer, TRACE_ACTIVITY, &activity, NULL, 0);
}

static void variable(uint32_t module)
{
    const struct trace_variable record = {.module = module};
    trace_write(writer, TRACE_VARIABLE, &record, "n", 2);
}

static void end(void)
{
    const struct trace_end record = {.sequence = sequence, .reason = TRACE_END_EXIT};
    trace_write(writer, TRACE_END, &record, NULL, 0);
    trace_writer_close(writer);
}

static char said[MOST][64];
static uint32_t said_count;

/* What a reader of both learns that has numbers: "RUN KIND NUMBER". */
static void note(const struct trace_view *view, uint32_t run)
{
    const struct trace_launch *launched = view->fixed;
    char *text = said[said_count++];
    assert_true(said_count < MOST);
    switch (view->kind) {
    case TRACE_MODULE:
        snprintf(text, sizeof *said, "%u module %u", run, ((const struct trace_module *)view->fixed)->module);
        break;
    case TRACE_KERNEL:
        snprintf(text, sizeof *said, "%u kernel %u of %u", run,
                 ((const struct trace_kernel *)view->fixed)->kernel,
                 ((const struct trace_kernel *)view->fixed)->module);
        break;
    case TRACE_VARIABLE:
        snprintf(text, sizeof *said, "%u variable of %u", run,
                 ((const struct trace_variable *)view->fixed)->module);
        break;
    case TRACE_LAUNCH:
        snprintf(text, sizeof *said, "%u launch %u at %u", run, launched->kernel,
                 (unsigned)launched->sequence);
        break;
    case TRACE_ACTIVITY:
        snprintf(text, sizeof *said, "%u activity at %u", run,
                 (unsigned)((const struct trace_activity *)view->fixed)->sequence);
        break;
    default:
        said_count--;
        break;
    }
}

static struct runs *read_both(void)
{
    char error[256] = "";
    struct trace_view view;
    uint32_t run;
    struct runs *runs = runs_open(paths, RUNS, false, error, sizeof error);
    if (!runs) fail_msg("%s", error);
    said_count = 0;
    while (runs_next(runs, &view, &run)) note(&view, run);
    return runs;
}

static void assert_said(const char *const *expected)
{
    for (uint32_t i = 0; expected[i]; i++) {
        assert_true(i < said_count);
        assert_string_equal(said[i], expected[i]);
    }
}

static void write_first(void)
{
    begin(0, "one");
    module(3, 70);
    kernel(2, 3, "f");
    kernel(5, 3, "g");
    launch(2);
    launch(5);
    end();
}

static void test_numbers(void **state)
{
    (void)state;
    write_first();
    begin(1, "one");
    module(1, 80);
    module(2, 70);
    kernel(1, 1, "f"); /* of another module */
    kernel(2, 2, "g");
    kernel(3, 2, "f");
    kernel(4, 2, "h");
    variable(2);
    variable(1);
    for (uint32_t i = 1; i <= 4; i++) launch(i);
    end();
    struct runs *runs = read_both();
    assert_null(runs_error(runs));
    assert_said((const char *const[]){"0 module 3",      "0 kernel 2 of 3", "0 kernel 5 of 3",
                                      "0 launch 2 at 1", "0 activity at 1", "0 launch 5 at 2",
                                      "0 activity at 2", "1 module 4",      "1 kernel 6 of 4",
                                      "1 kernel 7 of 3", "1 variable of 3", "1 variable of 4",
                                      "1 launch 6 at 4", "1 activity at 4", "1 launch 5 at 5",
                                      "1 activity at 5", "1 launch 2 at 6", "1 activity at 6",
                                      "1 launch 7 at 7", "1 activity at 7", NULL});
    assert_int_equal(said_count, 20);
    runs_close(runs);
}

/* Numbers that no record explains are no other trace's. */
static void test_unexplained(void **state)
{
    (void)state;
    write_first();
    begin(1, "one");
    kernel(5, 3, "f");
    variable(3);
    launch(5);
    launch(2);
    launch(UINT32_MAX);
    end();
    struct runs *runs = read_both();
    assert_null(runs_error(runs));
    assert_string_equal(said[7], "1 kernel 6 of 0");
    assert_string_equal(said[8], "1 variable of 0");
    assert_string_equal(said[9], "1 launch 6 at 4");
    assert_string_equal(said[11], "1 launch 0 at 5");
    assert_string_equal(said[13], "1 launch 0 at 6");
    runs_close(runs);
}

static void test_other_device(void **state)
{
    (void)state;
    write_first();
    begin(1, "two");
    launch(1);
    end();
    struct runs *runs = read_both();
    assert_non_null(runs_error(runs));
    assert_non_null(strstr(runs_error(runs), paths[1]));
    assert_non_null(strstr(runs_error(runs), "one device"));
    assert_int_equal(said_count, 7);
    runs_close(runs);
}

/* The other one is read all the same. */
static void test_damaged(void **state)
{
    (void)state;
    const char *damaged;
    write_first();
    begin(1, "one");
    launch(1);
    end();
    assert_int_equal(truncate(paths[0], 200), 0);
    struct runs *runs = read_both();
    assert_null(runs_error(runs));
    assert_true(runs_damaged_bytes(runs, &damaged) > 0);
    assert_ptr_equal(damaged, paths[0]);
    assert_string_equal(said[said_count - 2], "1 launch 0 at 1");
    runs_close(runs);
}

static void test_missing(void **state)
{
    (void)state;
    char error[256] = "";
    write_first();
    unlink(paths[1]);
    assert_null(runs_open(paths, RUNS, false, error, sizeof error));
    assert_non_null(strstr(error, paths[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_unexplained),
        cmocka_unit_test(test_other_device), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
