/* SPDX-License-Identifier: Apache-2.0
 * Traces: as they are, and with the check of every record made right, so that the fuzzer gets behind it.
 * Records are handed to what trusts the reader: the printer of `kfuse report`, and the planner's program. */
#include "common/trace.h"
#include "fuser/planner/program.h"
#include "tests/fuzz/harness.h"
#include "tools/trace_text.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned sink;

static void read_records(const char *path, FILE *out)
{
    char error[256];
    struct trace_view view;
    struct trace_reader *reader = trace_reader_open(path, error, sizeof error);
    if (!reader) return;
    while (trace_next(reader, &view)) {
        for (size_t i = 0; i < view.payload_size; i++) sink += ((const unsigned char *)view.payload)[i];
        trace_text_print(out, &view);
    }
    sink += (unsigned)trace_damaged_bytes(reader);
    trace_reader_close(reader);
}

/* As that of so many runs. */
static void read_program(const char *path, uint32_t runs)
{
    char error[256];
    struct program *program = program_read(
        runs_open((const char *[]){path, path}, runs, false, error, sizeof error), error, sizeof error);
    if (!program) return;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        struct program_kernel *kernel = &program->kernels[i];
        if (!program_function(program, kernel) && !kernel->refusal) abort();
    }
    program_free(program);
}

static void read_file(const void *bytes, size_t size)
{
    static FILE *out;
    const char *path = memory_file_path(bytes, size);
    if (!out) out = fopen("/dev/null", "w");
    if (!out) abort();
    read_records(path, out);
    read_program(path, 1);
    read_program(path, 2);
}

/* Makes the checks right, as far as records can be told apart. */
static void mend(unsigned char *bytes, size_t size)
{
    struct trace_file_header header;
    struct trace_record record;
    if (size < sizeof header) return;
    memcpy(&header, bytes, sizeof header);
    for (size_t at = header.header_size; at <= size && size - at >= sizeof record; at += record.size) {
        memcpy(&record, bytes + at, sizeof record);
        if (record.size < sizeof record || record.size > size - at) return;
        record.check = hash_check(bytes + at + sizeof record, record.size - sizeof record);
        memcpy(bytes + at, &record, sizeof record);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    unsigned char *mended = malloc(size + !size);
    if (!mended) abort();
    memcpy(mended, bytes, size);
    mend(mended, size);
    if (memcmp(mended, bytes, size)) read_file(bytes, size);
    read_file(mended, size);
    free(mended);
    return 0;
}
