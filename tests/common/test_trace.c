/* SPDX-License-Identifier: Apache-2.0
 * Traces: what is written is read back; whatever is done to the file, the reader stops at the damage. */
#include "common/trace.h"
#include "tests/common/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { FILE_LIMIT = 1 << 20 };
static unsigned char file_bytes[FILE_LIMIT];

static size_t read_file(void)
{
    FILE *file = fopen(temporary_path, "rb");
    assert_non_null(file);
    size_t size = fread(file_bytes, 1, sizeof file_bytes, file);
    fclose(file);
    return size;
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(temporary_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static struct trace_writer *open_writer(void)
{
    const char *error = NULL;
    struct trace_writer *writer = trace_writer_open(temporary_path, &error);
    assert_non_null(writer);
    return writer;
}

/* One record of each kind that has a payload, and a wall and an end. */
static void write_sample(void)
{
    struct trace_writer *writer = open_writer();
    struct trace_device device = {.compute_major = 9, .name = "H100"};
    struct trace_module module = {.module = 1, .options_size = 4, .image_size = 5, .stored_size = 5};
    struct trace_kernel kernel = {.kernel = 1, .module = 1, .parameter_count = 1, .parameter_bytes = 8};
    struct {
        struct trace_parameter parameter;
        char name[5];
    } parameters = {{0, 8}, "axpy"};
    struct trace_launch launch = {
        .sequence = 7, .kernel = 1, .grid = {2, 1, 1}, .block = {32, 1, 1}, .arguments_size = 8};
    struct trace_variable variable = {.module = 1, .address = 0x1000, .size = 4};
    struct trace_contents contents = {.sequence = 6, .address = 0x1000, .size = 4};
    struct trace_wall wall = {.sequence = 8};
    struct trace_end end = {.sequence = 9, .launches = 1};
    assert_true(trace_write(writer, TRACE_DEVICE, &device, NULL, 0));
    assert_true(trace_write(writer, TRACE_MODULE, &module, "-O3 .text", 9));
    assert_true(trace_write(writer, TRACE_KERNEL, &kernel, &parameters, sizeof parameters));
    assert_true(trace_write(writer, TRACE_VARIABLE, &variable, "size", 5));
    assert_true(trace_write(writer, TRACE_CONTENTS, &contents, "\1\2\3\4", 4));
    assert_true(trace_write(writer, TRACE_LAUNCH, &launch, "arguments", 8));
    assert_true(trace_write(writer, TRACE_WALL, &wall, "cuCtxSynchronize", 17));
    assert_true(trace_write(writer, TRACE_END, &end, NULL, 0));
    trace_writer_close(writer);
}

enum { SAMPLE_RECORDS = 8 };

/* What a record claims lies inside it. */
static void check_claims(const struct trace_view *view)
{
    const struct trace_module *module = view->fixed;
    const struct trace_kernel *kernel = view->fixed;
    if (view->kind == TRACE_LAUNCH)
        assert_true(((const struct trace_launch *)view->fixed)->arguments_size <= view->payload_size);
    if (view->kind == TRACE_MODULE)
        assert_true((uint64_t)module->options_size + module->stored_size <= view->payload_size);
    if (view->kind == TRACE_KERNEL)
        assert_non_null(
            memchr((const struct trace_parameter *)view->payload + kernel->parameter_count, 0,
                   view->payload_size - kernel->parameter_count * sizeof(struct trace_parameter)));
    if (view->kind == TRACE_WALL) assert_non_null(memchr(view->payload, 0, view->payload_size));
}

/* Reads everything; touches every byte that the reader hands out. */
static unsigned count_records(uint64_t *damaged)
{
    char error[256];
    struct trace_view view;
    volatile unsigned char sum = 0;
    unsigned count = 0;
    struct trace_reader *reader = trace_reader_open(temporary_path, error, sizeof error);
    if (!reader) {
        assert_non_null(strstr(error, temporary_path));
        *damaged = 0;
        return 0;
    }
    while (trace_next(reader, &view)) {
        check_claims(&view);
        for (size_t i = 0; i < view.payload_size; i++) sum += ((const unsigned char *)view.payload)[i];
        count++;
    }
    *damaged = trace_damaged_bytes(reader);
    trace_reader_close(reader);
    return count;
}

static void reads_back_what_was_written(void **state)
{
    (void)state;
    char error[256];
    struct trace_view view;
    write_sample();
    struct trace_reader *reader = trace_reader_open(temporary_path, error, sizeof error);
    assert_non_null(reader);
    assert_true(trace_next(reader, &view));
    assert_int_equal(view.kind, TRACE_DEVICE);
    assert_string_equal(((const struct trace_device *)view.fixed)->name, "H100");
    assert_true(trace_next(reader, &view));
    assert_int_equal(view.kind, TRACE_MODULE);
    assert_memory_equal((const char *)view.payload + 4, ".text", 5);
    assert_true(trace_next(reader, &view));
    assert_string_equal((const char *)view.payload + sizeof(struct trace_parameter), "axpy");
    assert_true(trace_next(reader, &view));
    assert_true(trace_next(reader, &view));
    assert_true(trace_next(reader, &view));
    assert_int_equal(((const struct trace_launch *)view.fixed)->sequence, 7);
    assert_memory_equal(view.payload, "argument", 8);
    assert_true(trace_next(reader, &view));
    assert_string_equal(view.payload, "cuCtxSynchronize");
    assert_true(trace_next(reader, &view));
    assert_false(trace_next(reader, &view));
    assert_int_equal(trace_damaged_bytes(reader), 0);
    trace_reader_close(reader);
}

static void is_readable_up_to_any_cut(void **state)
{
    (void)state;
    write_sample();
    size_t size = read_file();
    unsigned most = 0;
    for (size_t cut = 0; cut <= size; cut++) {
        uint64_t damaged;
        write_file(file_bytes, cut);
        unsigned count = count_records(&damaged);
        assert_in_range(count, most, most + 1); /* grows by whole records */
        most = count;
    }
    assert_int_equal(most, SAMPLE_RECORDS);
}

static void stops_at_any_flipped_byte(void **state)
{
    (void)state;
    write_sample();
    size_t size = read_file();
    for (size_t at = 0; at < size; at++) {
        uint64_t damaged;
        file_bytes[at] ^= 0x41;
        write_file(file_bytes, size);
        unsigned count = count_records(&damaged);
        assert_true(count < SAMPLE_RECORDS);
        assert_true(count == 0 || damaged > 0);
        file_bytes[at] ^= 0x41;
    }
}

/* Damage that the check does not see: sizes inside a record are made wrong and the check right again. */
static void never_reads_outside_a_record(void **state)
{
    (void)state;
    write_sample();
    size_t size = read_file();
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (size_t start = sizeof(struct trace_file_header); start < size;) {
        struct trace_record record;
        memcpy(&record, file_bytes + start, sizeof record);
        for (size_t at = start + sizeof record; at < start + record.size; at++)
            for (size_t i = 0; i < sizeof values; i++) {
                struct trace_record changed = record;
                unsigned char kept = file_bytes[at];
                uint64_t damaged;
                file_bytes[at] = values[i];
                changed.check = hash_check(file_bytes + start + sizeof record, record.size - sizeof record);
                memcpy(file_bytes + start, &changed, sizeof changed);
                write_file(file_bytes, size);
                count_records(&damaged);
                file_bytes[at] = kept;
            }
        memcpy(file_bytes + start, &record, sizeof record);
        start += record.size;
    }
}

static void expect_refused(enum trace_kind kind, const void *fixed, const void *payload, size_t payload_size)
{
    uint64_t damaged;
    struct trace_writer *writer = open_writer();
    assert_true(trace_write(writer, kind, fixed, payload, payload_size));
    trace_writer_close(writer);
    assert_int_equal(count_records(&damaged), 0);
    assert_true(damaged > 0);
}

static void refuses_sizes_beyond_the_payload(void **state)
{
    (void)state;
    struct trace_launch launch = {.arguments_size = 17};
    expect_refused(TRACE_LAUNCH, &launch, "0123456789abcdef", 16);
    struct trace_module module = {.options_size = 9, .image_size = 8, .stored_size = 8};
    expect_refused(TRACE_MODULE, &module, "0123456789abcdef", 16);
    module = (struct trace_module){.image_size = 8, .stored_size = 7};
    expect_refused(TRACE_MODULE, &module, "0123456789abcdef", 16);
    struct trace_kernel kernel = {.parameter_count = 2, .parameter_bytes = 16};
    expect_refused(TRACE_KERNEL, &kernel, (struct trace_parameter[]){{0, 8}, {8, 8}}, 16); /* no name */
    struct {
        struct trace_parameter parameter;
        char name[8];
    } parameters = {{8, 9}, "k"};
    kernel.parameter_count = 1;
    expect_refused(TRACE_KERNEL, &kernel, &parameters, sizeof parameters);
    struct trace_contents contents = {.size = UINT64_MAX};
    expect_refused(TRACE_CONTENTS, &contents, "01234567", 8);
    struct trace_wall wall = {0};
    expect_refused(TRACE_WALL, &wall, "cuCtxSyn", 8);
    struct trace_copy copy = {.source_kind = 99};
    expect_refused(TRACE_COPY, &copy, NULL, 0);
    struct trace_end end = {.reason = 99};
    expect_refused(TRACE_END, &end, NULL, 0);
}

static void survives_random_bytes(void **state)
{
    (void)state;
    srandom(1);
    for (int round = 0; round < 300; round++) {
        uint64_t damaged;
        size_t size = (size_t)random() % 400;
        for (size_t i = 0; i < size; i++) file_bytes[i] = (unsigned char)random();
        if (round % 2 && size >= sizeof(struct trace_file_header)) {
            struct trace_file_header header = {
                .magic = TRACE_MAGIC, .version = TRACE_VERSION, .header_size = sizeof header};
            memcpy(file_bytes, &header, sizeof header);
            if (size >= 32)
                file_bytes[16] = (unsigned char)(random() % TRACE_KINDS), memset(file_bytes + 17, 0, 3);
        }
        write_file(file_bytes, size);
        assert_int_equal(count_records(&damaged), 0);
    }
}

/* A process that is killed leaves everything up to its last wall. */
static void a_killed_recording_stays_usable(void **state)
{
    (void)state;
    int ready[2];
    uint64_t damaged;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        const char *error;
        struct trace_writer *writer = trace_writer_open(temporary_path, &error);
        struct trace_launch launch = {.kernel = 1};
        struct trace_wall wall = {.sequence = 11};
        for (int i = 0; writer && i < 10; i++) trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0);
        if (writer) trace_write(writer, TRACE_WALL, &wall, "cuCtxSynchronize", 17);
        if (write(ready[1], "", 1) == 1) pause();
        _exit(1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(count_records(&damaged), 11);
    assert_int_equal(damaged, 0);
}

/* Without walls, what is older than 100 ms of activity is in the file. */
static void writes_through_while_active(void **state)
{
    (void)state;
    uint64_t damaged;
    struct trace_launch launch = {.kernel = 1};
    struct trace_writer *writer = open_writer();
    assert_true(trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0));
    assert_int_equal(count_records(&damaged), 0);
    nanosleep(&(struct timespec){.tv_nsec = 120 * 1000 * 1000}, NULL);
    assert_true(trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0));
    assert_int_equal(count_records(&damaged), 2);
    trace_writer_close(writer);
}

static void large_records_and_many_records_survive(void **state)
{
    (void)state;
    uint64_t damaged;
    size_t size = 300 * 1000;
    char *image = calloc(1, size);
    struct trace_module module = {.image_size = size, .stored_size = size};
    struct trace_launch launch = {.kernel = 1};
    struct trace_writer *writer = open_writer();
    for (int i = 0; i < 1000; i++) assert_true(trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0));
    assert_true(trace_write(writer, TRACE_MODULE, &module, image, size));
    for (int i = 0; i < 1000; i++) assert_true(trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0));
    trace_writer_close(writer);
    assert_int_equal(count_records(&damaged), 2001);
    assert_int_equal(damaged, 0);
    free(image);
}

static void a_trace_in_use_is_not_overwritten(void **state)
{
    (void)state;
    const char *error = NULL;
    struct trace_writer *writer = open_writer();
    assert_null(trace_writer_open(temporary_path, &error));
    assert_non_null(strstr(error, "another process"));
    trace_writer_close(writer);
    assert_null(trace_writer_open("/nonexistent/app.kftrace", &error));
    assert_non_null(error);
    assert_null(trace_writer_open("/dev/null", &error));
    assert_non_null(strstr(error, "regular"));
}

/* A file size limit ends the recording; SIGXFSZ would end the program. */
static void a_size_limit_ends_recording_without_a_signal(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const char *error;
        struct rlimit limit = {4096, 4096};
        struct trace_launch launch = {.kernel = 1};
        struct trace_writer *writer = trace_writer_open(temporary_path, &error);
        setrlimit(RLIMIT_FSIZE, &limit);
        bool written = true;
        for (int i = 0; writer && i < 2000; i++)
            written = trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0);
        _exit(writer && !written ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The program closes every descriptor and opens a file of its own under our number. */
static void a_stolen_descriptor_is_left_alone(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const char *error;
        struct trace_launch launch = {.kernel = 1};
        struct trace_writer *writer = trace_writer_open(temporary_path, &error);
        for (int i = 3; i < 64; i++) close(i);
        FILE *own = tmpfile();
        if (!own) _exit(2);
        for (int i = 0; i < 2000; i++) trace_write(writer, TRACE_LAUNCH, &launch, NULL, 0);
        fseek(own, 0, SEEK_END);
        _exit(ftell(own) == 0 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void says_what_is_wrong_and_what_to_do(void **state)
{
    (void)state;
    char error[256];
    write_file("#!/bin/sh\necho something else entirely\n", 38);
    assert_null(trace_reader_open(temporary_path, error, sizeof error));
    assert_non_null(strstr(error, temporary_path));
    assert_non_null(strstr(error, "not a kfuse trace"));
    assert_non_null(strstr(error, "kfuse record"));
    write_file("", 0);
    assert_null(trace_reader_open(temporary_path, error, sizeof error));
    assert_non_null(strstr(error, "made no CUDA call"));
    assert_null(trace_reader_open("/nonexistent", error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent"));
    assert_null(trace_reader_open("/tmp", error, sizeof error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(is_readable_up_to_any_cut),
        cmocka_unit_test(stops_at_any_flipped_byte),
        cmocka_unit_test(never_reads_outside_a_record),
        cmocka_unit_test(refuses_sizes_beyond_the_payload),
        cmocka_unit_test(survives_random_bytes),
        cmocka_unit_test(a_killed_recording_stays_usable),
        cmocka_unit_test(writes_through_while_active),
        cmocka_unit_test(large_records_and_many_records_survive),
        cmocka_unit_test(a_trace_in_use_is_not_overwritten),
        cmocka_unit_test(a_size_limit_ends_recording_without_a_signal),
        cmocka_unit_test(a_stolen_descriptor_is_left_alone),
        cmocka_unit_test(says_what_is_wrong_and_what_to_do),
    };
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
