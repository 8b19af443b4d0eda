/* SPDX-License-Identifier: Apache-2.0
 * Writes a trace: records are collected in a buffer and written with write(2) when it is half full, at
 * records that a killed recording must not lose, and when 100 ms have passed. Runs inside other people's
 * programs: it raises no signal (SIGPIPE, SIGXFSZ) and never writes to a descriptor that the program has
 * closed and used again. */
#include "common/trace.h"
#include "common/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024, FLUSH_BYTES = BUFFER_BYTES / 2, FLUSH_NS = 100 * 1000 * 1000 };

struct trace_writer {
    pthread_mutex_t lock;
    struct own_file file;
    uint64_t written; /* bytes in the file */
    uint64_t flushed_ns;
    size_t used;
    bool failed;
    unsigned char buffer[BUFFER_BYTES];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Opens without touching what is in the file, so that a trace that is still being written survives. */
static int open_file(const char *path, struct stat *status, const char **error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (file < 0) {
        *error = strerrordesc_np(errno);
        return -1;
    }
    *error = NULL;
    if (fstat(file, status) || !S_ISREG(status->st_mode))
        *error = "not a regular file";
    else if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        *error = "another process is recording to this file";
    else if (ftruncate(file, 0))
        *error = "the file could not be emptied";
    if (!*error) return file;
    close(file);
    return -1;
}

struct trace_writer *trace_writer_open(const char *path, const char **error)
{
    struct stat status;
    int file = open_file(path, &status, error);
    if (file < 0) return NULL;
    struct trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        *error = "out of memory";
        close(file);
        return NULL;
    }
    pthread_mutex_init(&writer->lock, NULL);
    writer->file = own_file_of(file, &status);
    writer->flushed_ns = now_ns();
    struct trace_file_header header = {
        .magic = TRACE_MAGIC, .version = TRACE_VERSION, .header_size = sizeof header};
    memcpy(writer->buffer, &header, sizeof header);
    writer->used = sizeof header;
    if (trace_writer_flush(writer)) return writer;
    *error = "the first bytes could not be written";
    trace_writer_close(writer);
    return NULL;
}

/* Whether writing size bytes reaches our file and raises no signal. */
static bool may_write(const struct trace_writer *writer, size_t size)
{
    struct rlimit limit;
    if (!own_file_is_ours(&writer->file)) return false;
    if (getrlimit(RLIMIT_FSIZE, &limit)) return false;
    return limit.rlim_cur == RLIM_INFINITY || writer->written + size <= limit.rlim_cur;
}

static bool write_bytes(struct trace_writer *writer, const void *bytes, size_t size)
{
    const char *from = bytes;
    if (writer->failed || !may_write(writer, size)) {
        writer->failed = true;
        return false;
    }
    while (size) {
        ssize_t written = pwrite(writer->file.descriptor, from, size, (off_t)writer->written);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            writer->failed = true;
            return false;
        }
        from += written;
        size -= (size_t)written;
        writer->written += (uint64_t)written;
    }
    return true;
}

static bool flush(struct trace_writer *writer, uint64_t now)
{
    size_t used = writer->used;
    writer->used = 0;
    writer->flushed_ns = now;
    return write_bytes(writer, writer->buffer, used);
}

/* A record too large for the buffer goes to the file straight away, through a copy of its own. */
static void *record_place(struct trace_writer *writer, size_t size)
{
    if (size > BUFFER_BYTES - writer->used && !flush(writer, now_ns())) return NULL;
    return size <= BUFFER_BYTES ? writer->buffer + writer->used : malloc(size);
}

static void fill_record(unsigned char *to, size_t size, enum trace_kind kind, const void *fixed,
                        const void *payload, size_t payload_size)
{
    struct trace_record record = {.kind = kind, .size = (uint32_t)size};
    size_t fixed_size = trace_fixed_size(kind), used = sizeof record + fixed_size + payload_size;
    memcpy(to + sizeof record, fixed, fixed_size);
    if (payload_size) memcpy(to + sizeof record + fixed_size, payload, payload_size);
    memset(to + used, 0, size - used);
    record.check = hash_check(to + sizeof record, size - sizeof record);
    memcpy(to, &record, sizeof record);
}

static bool must_not_be_lost(enum trace_kind kind)
{
    return kind == TRACE_DEVICE || kind == TRACE_MODULE || kind == TRACE_KERNEL || kind == TRACE_WALL ||
           kind == TRACE_END;
}

static bool write_record(struct trace_writer *writer, enum trace_kind kind, const void *fixed,
                         const void *payload, size_t payload_size)
{
    size_t size = (sizeof(struct trace_record) + trace_fixed_size(kind) + payload_size + 7) & ~(size_t)7;
    unsigned char *to = record_place(writer, size);
    if (!to) return false;
    fill_record(to, size, kind, fixed, payload, payload_size);
    if (size > BUFFER_BYTES) {
        bool written = write_bytes(writer, to, size);
        free(to);
        return written;
    }
    writer->used += size;
    uint64_t now = now_ns();
    if (writer->used < FLUSH_BYTES && now - writer->flushed_ns < FLUSH_NS && !must_not_be_lost(kind))
        return true;
    return flush(writer, now);
}

bool trace_write(struct trace_writer *writer, enum trace_kind kind, const void *fixed, const void *payload,
                 size_t payload_size)
{
    if (kind <= TRACE_NONE || kind >= TRACE_KINDS || payload_size > UINT32_MAX / 2) return false;
    int saved = errno;
    pthread_mutex_lock(&writer->lock);
    bool written = !writer->failed && write_record(writer, kind, fixed, payload, payload_size);
    writer->failed |= !written;
    pthread_mutex_unlock(&writer->lock);
    errno = saved;
    return written;
}

bool trace_writer_flush(struct trace_writer *writer)
{
    int saved = errno;
    pthread_mutex_lock(&writer->lock);
    bool written = flush(writer, now_ns());
    pthread_mutex_unlock(&writer->lock);
    errno = saved;
    return written;
}

void trace_writer_close(struct trace_writer *writer)
{
    trace_writer_flush(writer);
    if (own_file_is_ours(&writer->file)) close(writer->file.descriptor);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

void trace_writer_abandon(struct trace_writer *writer)
{
    if (own_file_is_ours(&writer->file)) close(writer->file.descriptor);
}
