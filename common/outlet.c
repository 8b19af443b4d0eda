/* SPDX-License-Identifier: Apache-2.0
 * See outlet.h. */
#include "common/outlet.h"

#include "common/own_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STREAMS = 32 };

/* The number of a descriptor that the path names, or -1. */
static int named_stream(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    char *end;
    if (!strcmp(path, "-") || !strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(folders[i]);
        if (strncmp(path, folders[i], length)) continue;
        long number = strtol(path + length, &end, 10);
        if (end != path + length && !*end && number >= 0 && number < 1 << 20) return (int)number;
    }
    return -1;
}

int outlet_open_stream(const struct stat *status)
{
    struct stat stream;
    for (int i = 0; i < STREAMS; i++)
        if (!fstat(i, &stream) && stream.st_dev == status->st_dev && stream.st_ino == status->st_ino &&
            (fcntl(i, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return i;
    return -1;
}

struct outlet outlet_of(const char *path)
{
    struct outlet outlet = {.path = path, .stream.descriptor = -1};
    struct stat status;
    int stream = named_stream(path);
    if (stream < 0 && !stat(path, &status)) stream = outlet_open_stream(&status);
    if (stream >= 0 && !fstat(stream, &status)) outlet.stream = own_file_of(stream, &status);
    return outlet;
}

/* What the program has printed comes first, unless writing it would end the program: that is for the
 * program's own end. */
static void flush_printed(int stream)
{
    struct rlimit limit;
    struct stat printed, ours;
    struct pollfd closed = {.fd = stream, .events = POLLOUT};
    if (fstat(fileno(stdout), &printed) || fstat(stream, &ours) || printed.st_dev != ours.st_dev ||
        printed.st_ino != ours.st_ino || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY ||
        poll(&closed, 1, 0) != 1 || closed.revents & (POLLERR | POLLHUP | POLLNVAL) || ftrylockfile(stdout))
        return;
    fflush_unlocked(stdout);
    funlockfile(stdout);
}

static bool write_stream(int stream, const void *bytes, size_t size)
{
    flush_printed(stream);
    return own_write(stream, bytes, size);
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
    struct stat status;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (file < 0) return false;
    bool is_written = !fstat(file, &status) && (!S_ISREG(status.st_mode) || !ftruncate(file, 0)) &&
                      own_write(file, bytes, size);
    int error = errno;
    close(file);
    errno = error;
    return is_written;
}

bool outlet_write(const struct outlet *outlet, const void *bytes, size_t size)
{
    struct stat status;
    int stream = outlet->stream.descriptor;
    bool is_named = stream >= 0 || named_stream(outlet->path) >= 0;
    if (is_named && (stream < 0 || !own_file_is_ours(&outlet->stream))) {
        errno = EBADF; /* closed: the number may be another file's now */
        return false;
    }
    if (stream < 0 && !stat(outlet->path, &status)) stream = outlet_open_stream(&status);
    return stream >= 0 ? write_stream(stream, bytes, size) : write_file(outlet->path, bytes, size);
}
