/* SPDX-License-Identifier: Apache-2.0
 * Reads a trace: maps the file and hands out its records one by one, each after its check and every size in
 * it. */
#include "common/trace.h"
#include "common/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_reader {
    const unsigned char *bytes;
    size_t size, at;
};

static bool ends_in_payload(const struct trace_view *view, size_t start)
{
    return start < view->payload_size &&
           memchr((const char *)view->payload + start, 0, view->payload_size - start) != NULL;
}

/* Parameters follow each other in their buffer. */
static bool is_kernel_whole(const struct trace_view *view)
{
    const struct trace_kernel *kernel = view->fixed;
    const struct trace_parameter *parameters = view->payload;
    if (kernel->parameter_count > view->payload_size / sizeof *parameters) return false;
    uint32_t end = 0;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (parameters[i].offset < end || parameters[i].offset > kernel->parameter_bytes ||
            parameters[i].size > kernel->parameter_bytes - parameters[i].offset)
            return false;
        end = parameters[i].offset + parameters[i].size;
    }
    return ends_in_payload(view, kernel->parameter_count * sizeof *parameters);
}

static bool is_module_whole(const struct trace_view *view)
{
    const struct trace_module *module = view->fixed;
    if (module->stored_size && module->stored_size != module->image_size) return false;
    return module->options_size <= view->payload_size &&
           module->stored_size <= view->payload_size - module->options_size;
}

static bool is_copy_whole(const struct trace_copy *copy)
{
    return copy->destination_kind <= TRACE_MEMORY_VARIABLE && copy->source_kind <= TRACE_MEMORY_VARIABLE;
}

/* Every size, index and text of the record lies inside it. */
static bool is_whole(const struct trace_view *view)
{
    switch (view->kind) {
    case TRACE_DEVICE:
        return memchr(((const struct trace_device *)view->fixed)->name, 0,
                      sizeof(((struct trace_device *)0)->name));
    case TRACE_MODULE:
        return is_module_whole(view);
    case TRACE_KERNEL:
        return is_kernel_whole(view);
    case TRACE_VARIABLE:
    case TRACE_WALL:
        return ends_in_payload(view, 0);
    case TRACE_CONTENTS:
        return ((const struct trace_contents *)view->fixed)->size <= view->payload_size;
    case TRACE_LAUNCH:
        return ((const struct trace_launch *)view->fixed)->arguments_size <= view->payload_size;
    case TRACE_ALLOCATE:
        return ((const struct trace_allocate *)view->fixed)->kind <= TRACE_MEMORY_VARIABLE;
    case TRACE_COPY:
        return is_copy_whole(view->fixed);
    case TRACE_EVENT:
        return ((const struct trace_event *)view->fixed)->kind <= TRACE_EVENT_WAIT;
    case TRACE_END:
        return ((const struct trace_end *)view->fixed)->reason <= TRACE_END_ERROR;
    case TRACE_FREE:
    case TRACE_SET:
    case TRACE_ACTIVITY:
        return true;
    case TRACE_NONE:
    case TRACE_KINDS:
        break;
    }
    return false;
}

bool trace_next(struct trace_reader *reader, struct trace_view *view)
{
    struct trace_record record;
    size_t left = reader->size - reader->at;
    const unsigned char *at = reader->bytes + reader->at;
    if (left < sizeof record) return false;
    memcpy(&record, at, sizeof record);
    if (record.kind <= TRACE_NONE || record.kind >= TRACE_KINDS) return false;
    size_t head = sizeof record + trace_fixed_size(record.kind);
    if (record.size < head || record.size > left || record.size % 8) return false;
    if (hash_check(at + sizeof record, record.size - sizeof record) != record.check) return false;
    *view = (struct trace_view){.kind = (enum trace_kind)record.kind,
                                .fixed = at + sizeof record,
                                .payload = at + head,
                                .payload_size = record.size - head};
    if (!is_whole(view)) return false;
    reader->at += record.size;
    return true;
}

uint64_t trace_damaged_bytes(const struct trace_reader *reader)
{
    return reader->size - reader->at;
}

/* NULL, or what is wrong with the file, which is closed. */
static const char *map_file(struct trace_reader *reader, int file)
{
    struct stat status;
    if (file < 0) return strerror(errno);
    if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
        close(file);
        return "not a file";
    }
    reader->size = (size_t)status.st_size;
    if (reader->size < sizeof(struct trace_file_header)) {
        close(file);
        return reader->size ? "not a kfuse trace (too short)"
                            : "empty: the program made no CUDA call while it was recorded";
    }
    void *bytes = mmap(NULL, reader->size, PROT_READ, MAP_PRIVATE, file, 0);
    int reason = errno;
    close(file);
    if (bytes == MAP_FAILED) return strerror(reason);
    reader->bytes = bytes;
    return NULL;
}

static const char *check_header(struct trace_reader *reader)
{
    struct trace_file_header header;
    memcpy(&header, reader->bytes, sizeof header);
    if (memcmp(header.magic, TRACE_MAGIC, sizeof header.magic)) return "not a kfuse trace";
    if (header.version != TRACE_VERSION) return "a trace of another version of kfuse";
    if (header.header_size < sizeof header || header.header_size % 8 || header.header_size > reader->size)
        return "a trace with a damaged header";
    reader->at = header.header_size;
    return NULL;
}

static struct trace_reader *read_file(const char *path, int file, char *error, size_t error_size)
{
    const char *wrong = NULL;
    struct trace_reader *reader = calloc(1, sizeof *reader);
    if (reader)
        wrong = map_file(reader, file);
    else if (file >= 0)
        close(file);
    if (reader && !wrong) wrong = check_header(reader);
    if (reader && !wrong) return reader;
    snprintf(error, error_size, "%s: %s; record one with `kfuse record -o FILE -- PROGRAM`", path,
             reader ? wrong : "out of memory");
    if (reader) trace_reader_close(reader);
    return NULL;
}

struct trace_reader *trace_reader_open(const char *path, char *error, size_t error_size)
{
    return read_file(path, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error, error_size);
}

struct trace_reader *trace_reader_open_trusted(const char *path, char *error, size_t error_size)
{
    int file = trusted_open(path, 0, error, error_size);
    if (file < 0 && error[0]) return NULL;
    return read_file(path, file, error, error_size);
}

void trace_reader_close(struct trace_reader *reader)
{
    if (reader->bytes) munmap((void *)reader->bytes, reader->size);
    free(reader);
}
