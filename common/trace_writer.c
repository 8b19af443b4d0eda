/* SPDX-License-Identifier: Apache-2.0
 * Writes a trace: records are collected in a buffer and written with write(2) when it is half full, at
 * records that a killed recording must not lose, and when 100 ms have passed. Runs inside other people's
 * programs: it raises no signal (SIGPIPE, SIGXFSZ) and never writes to a descriptor that the program has
 * closed and used again. */
#include "common/trace.h"
#include "common/outlet.h"
#include "common/own_write.h"
#include "common/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024, FLUSH_BYTES = BUFFER_BYTES / 2, FLUSH_NS = 100 * 1000 * 1000 };

struct trace_writer {
    pthread_mutex_t lock;
    struct own_file file;
    off_t written; /* bytes in the file */
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

/* A file that holds anything but a trace is somebody's. */
static bool is_replaceable(int file, const struct stat *status)
{
    char magic[sizeof TRACE_MAGIC - 1];
    ssize_t size = status->st_size < (off_t)sizeof magic ? (ssize_t)status->st_size : (ssize_t)sizeof magic;
    return pread(file, magic, (size_t)size, 0) == size && !memcmp(magic, TRACE_MAGIC, (size_t)size);
}

/* NULL, or why no trace may be written there. */
static const char *refusal(int file, struct stat *status)
{
    if (fstat(file, status) || !S_ISREG(status->st_mode)) return "not a regular file";
    if (!trusted_owner(status->st_uid)) return "it belongs to another user";
    if (!is_replaceable(file, status)) return "it holds something else than a trace";
    if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return "another process is recording to this file";
    return NULL;
}

/* Opens without touching what is in the file, so that a trace that is still being written survives. */
static int open_file(const char *path, struct stat *status, const char **error)
{
    bool is_output = !stat(path, status) && outlet_open_stream(status) >= 0;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (file < 0) {
        *error = strerrordesc_np(errno);
        return -1;
    }
    *error = refusal(file, status);
    if (!*error && is_output) *error = "the program's own output goes there";
    if (!*error) return file;
    close(file);
    return -1;
}

bool trace_may_write(const char *path, const char **error)
{
    struct stat status;
    int file = open_file(path, &status, error);
    if (file >= 0) close(file);
    return file >= 0;
}

struct trace_writer *trace_writer_open(const char *path, const char **error)
{
    struct stat status;
    int file = open_file(path, &status, error);
    if (file < 0) return NULL;
    struct trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer || ftruncate(file, 0)) {
        *error = writer ? "the file could not be emptied" : "out of memory";
        close(file);
        free(writer);
        return NULL;
    }
    if (status.st_mode & 077) fchmod(file, status.st_mode & 0700); /* an older trace */
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

static bool write_bytes(struct trace_writer *writer, const void *bytes, size_t size)
{
    if (writer->failed || !own_file_is_ours(&writer->file) ||
        !own_write_at(writer->file.descriptor, bytes, size, &writer->written))
        writer->failed = true;
    return !writer->failed;
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
