/* SPDX-License-Identifier: Apache-2.0
 * The recorder against a fake source of activity (the emulator's interface). Every scenario records in a
 * child process; the parent reads the trace that it left. */
#include "common/log.h"
#include "emulator/activity.h"
#include "profiler/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/kfuse-test-recorder-XXXXXX";
static char trace_path[128], log_path[128];

/* --- a device that runs what was launched when it is waited for
 * --------------------------------------------- */
enum { PENDING = 100000 };
static emu_activity_callback fake_callback;
static void *fake_context;
static _Thread_local uint64_t fake_tag;
static uint64_t pending[PENDING];
static uint32_t pending_count;

static int fake_subscribe(emu_activity_callback callback, void *context)
{
    fake_callback = callback;
    fake_context = context;
    return 0;
}

static void fake_set_tag(uint64_t tag)
{
    fake_tag = tag;
}

static void *fake_driver(const char *name)
{
    if (!strcmp(name, "emuActivitySubscribe")) return (void *)fake_subscribe;
    return !strcmp(name, "emuActivityTag") ? (void *)fake_set_tag : NULL;
}

static void *real_driver(const char *name)
{
    (void)name;
    return NULL;
}

static void launch(uint32_t kernel)
{
    if (!recorder_is_active) return;
    struct trace_launch launch = {
        .kernel = kernel, .grid = {4, 1, 1}, .block = {64, 1, 1}, .arguments_size = 16};
    recorder_launch_begin(&launch);
    uint32_t at = __atomic_fetch_add(&pending_count, 1, __ATOMIC_RELAXED);
    if (fake_tag) pending[at % PENDING] = fake_tag;
    recorder_launch_end(&launch, "sixteen bytes...");
}

static void synchronise(void)
{
    struct trace_wall wall = {.is_whole_context = 1};
    if (recorder_is_active) recorder_wall(&wall, "cuCtxSynchronize");
    for (uint32_t i = 0; i < pending_count; i++) {
        struct emu_activity activity = {.start_ns = 100 * i, .end_ns = 100 * i + 50, .tag = pending[i]};
        if (fake_callback && pending[i]) fake_callback(fake_context, &activity);
        pending[i] = 0;
    }
    pending_count = 0;
}

/* --- what a trace holds
 * --------------------------------------------------------------------------------------- */
struct contents {
    unsigned count[TRACE_KINDS];
    unsigned matched; /* activities of recorded launches */
    uint64_t damaged;
    struct trace_end end;
};

static struct contents read_trace(void)
{
    static unsigned char launched[PENDING];
    struct contents contents = {0};
    struct trace_view view;
    char error[256];
    memset(launched, 0, sizeof launched);
    struct trace_reader *reader = trace_reader_open(trace_path, error, sizeof error);
    assert_non_null(reader);
    while (trace_next(reader, &view)) {
        const struct trace_launch *launch = view.fixed;
        const struct trace_activity *activity = view.fixed;
        contents.count[view.kind]++;
        if (view.kind == TRACE_LAUNCH) {
            assert_true(launch->sequence < PENDING);
            assert_false(launched[launch->sequence]); /* numbers are unique */
            launched[launch->sequence] = 1;
        }
        if (view.kind == TRACE_ACTIVITY) contents.matched += launched[activity->sequence];
        if (view.kind == TRACE_END) contents.end = *(const struct trace_end *)view.fixed;
    }
    contents.damaged = trace_damaged_bytes(reader);
    trace_reader_close(reader);
    return contents;
}

static const char *read_log(void)
{
    static char text[8192];
    FILE *file = fopen(log_path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = 0;
    if (file) fclose(file);
    return text;
}

/* Runs the scenario in a child, which must end with status 0. */
static struct contents record(int (*scenario)(void), void *(*driver)(const char *))
{
    int status;
    unlink(log_path);
    unlink(trace_path);
    pid_t child = fork();
    if (child == 0) {
        setenv("KFUSE_LOG", log_path, 1);
        log_open();
        int result = recorder_open(trace_path, driver) ? scenario() : 9;
        exit(result);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return read_trace();
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(trace_path, sizeof trace_path, "%s/app.kftrace", folder);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(trace_path);
    unlink(log_path);
    return rmdir(folder);
}

/* --- scenarios
 * ------------------------------------------------------------------------------------------------ */

static int every_call(void)
{
    struct trace_parameter parameters[] = {{0, 8}, {8, 8}};
    recorder_device(&(struct trace_device){.name = "fake"});
    recorder_module(&(struct trace_module){.module = 1, .options_size = 4, .image_size = 6, .stored_size = 6},
                    "-O3 ", ".entry");
    recorder_module(&(struct trace_module){.module = 2, .image_size = 6}, NULL, NULL);
    recorder_kernel(&(struct trace_kernel){.kernel = 1, .parameter_count = 2, .parameter_bytes = 16},
                    parameters, "axpy");
    recorder_kernel(&(struct trace_kernel){.kernel = 2}, NULL, "empty");
    recorder_variable(&(struct trace_variable){.size = 4}, "size");
    recorder_contents(&(struct trace_contents){.size = 4}, "1234");
    recorder_allocate(&(struct trace_allocate){.kind = TRACE_MEMORY_DEVICE});
    recorder_copy(&(struct trace_copy){.size = 64});
    recorder_set(&(struct trace_set){.size = 64});
    recorder_event(&(struct trace_event){.event = 1});
    for (int i = 0; i < 3; i++) launch(1);
    synchronise();
    recorder_free(&(struct trace_free){.address = 1});
    recorder_close(TRACE_END_EXIT);
    recorder_close(TRACE_END_EXIT);
    return recorder_is_active;
}

static void records_every_call(void **state)
{
    (void)state;
    struct contents contents = record(every_call, fake_driver);
    for (int kind = TRACE_NONE + 1; kind < TRACE_KINDS; kind++) assert_true(contents.count[kind] > 0);
    assert_int_equal(contents.count[TRACE_LAUNCH], 3);
    assert_int_equal(contents.count[TRACE_MODULE], 2);
    assert_int_equal(contents.matched, 3);
    assert_int_equal(contents.count[TRACE_END], 1);
    assert_int_equal(contents.end.reason, TRACE_END_EXIT);
    assert_int_equal(contents.end.launches, 3);
    assert_int_equal(contents.damaged, 0);
}

static int periodic_program(void)
{
    for (uint32_t i = 0; i < 37; i++) launch(100 + i);
    for (int step = 0; step < 4000; step++) {
        for (uint32_t kernel = 1; kernel <= 5; kernel++) launch(kernel);
        if (step % 3 == 0) synchronise();
    }
    return recorder_is_active; /* without a call to close */
}

static void stops_when_the_program_repeats_itself(void **state)
{
    (void)state;
    struct contents contents = record(periodic_program, fake_driver);
    assert_int_equal(contents.count[TRACE_END], 1);
    assert_int_equal(contents.end.reason, TRACE_END_PERIODIC);
    assert_in_range(contents.count[TRACE_LAUNCH], 1000, 1200);
    assert_int_equal(contents.matched, contents.count[TRACE_LAUNCH]); /* the last ones' times were awaited */
    assert_int_equal(contents.end.launches, contents.count[TRACE_LAUNCH]);
    assert_non_null(strstr(read_log(), "repeat every 5"));
}

static int silent_program(void) /* launches without an end and never waits */
{
    for (int step = 0; step < 4000; step++) launch((uint32_t)step % 7);
    recorder_close(TRACE_END_EXIT);
    return recorder_is_active;
}

static void a_stopped_recording_keeps_its_reason_at_exit(void **state)
{
    (void)state;
    struct contents contents = record(silent_program, fake_driver);
    assert_int_equal(contents.end.reason, TRACE_END_PERIODIC);
    assert_in_range(contents.count[TRACE_LAUNCH], 1000, 1200);
}

static int varied_program(void)
{
    for (uint32_t i = 0; i < 3000; i++) launch(i);
    synchronise();
    recorder_close(TRACE_END_EXIT);
    return recorder_is_active;
}

static void stops_after_the_set_count(void **state)
{
    (void)state;
    setenv("KFUSE_RECORD_LAUNCHES", "250", 1);
    struct contents contents = record(varied_program, fake_driver);
    unsetenv("KFUSE_RECORD_LAUNCHES");
    assert_int_equal(contents.count[TRACE_LAUNCH], 250);
    assert_int_equal(contents.end.reason, TRACE_END_LIMIT);
    assert_int_equal(contents.matched, 250);
}

static void a_count_of_zero_records_everything(void **state)
{
    (void)state;
    setenv("KFUSE_RECORD_LAUNCHES", "0", 1);
    struct contents contents = record(silent_program, fake_driver);
    unsetenv("KFUSE_RECORD_LAUNCHES");
    assert_int_equal(contents.count[TRACE_LAUNCH], 4000);
    assert_int_equal(contents.end.reason, TRACE_END_EXIT);
}

static void no_source_costs_only_the_times(void **state)
{
    (void)state;
    setenv("KFUSE_CUPTI_PLUGIN", "/nonexistent/libkfuse-cupti.so", 1);
    struct contents contents = record(varied_program, real_driver);
    unsetenv("KFUSE_CUPTI_PLUGIN");
    assert_int_equal(contents.count[TRACE_LAUNCH], 3000);
    assert_int_equal(contents.count[TRACE_ACTIVITY], 0);
    assert_int_equal(contents.end.reason, TRACE_END_EXIT);
    assert_non_null(strstr(read_log(), "/nonexistent/libkfuse-cupti.so"));
    assert_non_null(strstr(read_log(), "KFUSE_CUPTI_PLUGIN"));
}

static void *launch_many(void *unused)
{
    for (uint32_t i = 0; i < 500; i++) launch(i);
    return unused;
}

static int threaded_program(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, launch_many, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    synchronise();
    recorder_close(TRACE_END_EXIT);
    return recorder_is_active;
}

static void threads_may_launch_at_once(void **state)
{
    (void)state;
    struct contents contents = record(threaded_program, fake_driver);
    assert_int_equal(contents.count[TRACE_LAUNCH], 2000);
    assert_int_equal(contents.matched, 2000);
    assert_int_equal(contents.damaged, 0);
}

static int forking_program(void)
{
    int status;
    launch(1);
    pid_t child = fork();
    if (child == 0) {
        launch(2);
        recorder_close(TRACE_END_EXIT);
        _exit(recorder_is_active);
    }
    waitpid(child, &status, 0);
    launch(3);
    recorder_close(TRACE_END_EXIT);
    return status;
}

static void a_forked_child_does_not_record(void **state)
{
    (void)state;
    struct contents contents = record(forking_program, fake_driver);
    assert_int_equal(contents.count[TRACE_LAUNCH], 2);
    assert_int_equal(contents.count[TRACE_END], 1);
    assert_int_equal(contents.damaged, 0);
}

static int full_disk_program(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){8192, 8192});
    for (uint32_t i = 0; i < 3000; i++) launch(i);
    return recorder_is_active;
}

/* A child that outlives the recording program does not keep the trace from being recorded again. */
static int leaving_program(void)
{
    int hold[2], ready[2];
    char byte = 0;
    if (pipe(hold) || pipe(ready)) return 8;
    if (fork() == 0) {
        close(hold[1]);
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        _exit(read(hold[0], &byte, 1) == 1 ? 0 : 1); /* until the parent has ended */
    }
    if (read(ready[0], &byte, 1) != 1) return 8;
    launch(1);
    recorder_close(TRACE_END_EXIT);
    const char *error;
    struct trace_writer *again = trace_writer_open(trace_path, &error);
    return again ? (trace_writer_close(again), 0) : 7;
}

static void a_forked_child_lets_go_of_the_trace(void **state)
{
    (void)state;
    record(leaving_program, fake_driver);
}

static void a_full_disk_ends_the_recording_only(void **state)
{
    (void)state;
    struct contents contents = record(full_disk_program, fake_driver);
    assert_int_equal(contents.count[TRACE_END], 0);
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    int status;
    unlink(log_path);
    pid_t child = fork();
    if (child == 0) {
        setenv("KFUSE_LOG", log_path, 1);
        log_open();
        exit(recorder_open("/nonexistent/app.kftrace", fake_driver) || recorder_is_active);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_non_null(strstr(read_log(), "/nonexistent/app.kftrace"));
    assert_non_null(strstr(read_log(), "KFUSE_RECORD"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_every_call),
        cmocka_unit_test(stops_when_the_program_repeats_itself),
        cmocka_unit_test(a_stopped_recording_keeps_its_reason_at_exit),
        cmocka_unit_test(stops_after_the_set_count),
        cmocka_unit_test(a_count_of_zero_records_everything),
        cmocka_unit_test(no_source_costs_only_the_times),
        cmocka_unit_test(threads_may_launch_at_once),
        cmocka_unit_test(a_forked_child_does_not_record),
        cmocka_unit_test(a_forked_child_lets_go_of_the_trace),
        cmocka_unit_test(a_full_disk_ends_the_recording_only),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
