/* SPDX-License-Identifier: Apache-2.0
 * See own_write.h. The kernel sends both signals to the thread that writes: they are blocked in it, and what
 * the write has caused is taken back before they are let through again. */
#include "common/own_write.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { FULL_MS = 100 }; /* how long a full pipe that does not block is waited for, at most */

struct shield {
    sigset_t before, pending;
};

static void raise_shield(struct shield *shield)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &ours, &shield->before);
    sigpending(&shield->pending);
}

/* error: what the write ended with, or 0. A signal that was pending already is the program's: it counts once.
 */
static void lower_shield(const struct shield *shield, int error)
{
    const struct timespec now = {0};
    int caused = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (caused && !sigismember(&shield->pending, caused)) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, caused);
        while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR) continue;
    }
    pthread_sigmask(SIG_SETMASK, &shield->before, NULL);
}

static bool is_room_awaited(int descriptor)
{
    struct pollfd full = {.fd = descriptor, .events = POLLOUT};
    return poll(&full, 1, FULL_MS) > 0;
}

/* 0, or what it ended with. */
static int write_all(int descriptor, const char *bytes, size_t size, off_t *offset)
{
    while (size) {
        ssize_t written = offset ? pwrite(descriptor, bytes, size, *offset) : write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN && is_room_awaited(descriptor)) continue;
        if (written <= 0) return written ? errno : EIO;
        bytes += written;
        size -= (size_t)written;
        if (offset) *offset += written;
    }
    return 0;
}

static bool shielded(int descriptor, const void *bytes, size_t size, off_t *offset)
{
    struct shield shield;
    raise_shield(&shield);
    int error = write_all(descriptor, bytes, size, offset);
    lower_shield(&shield, error);
    if (error) errno = error;
    return !error;
}

bool own_write(int descriptor, const void *bytes, size_t size)
{
    return shielded(descriptor, bytes, size, NULL);
}

bool own_write_at(int descriptor, const void *bytes, size_t size, off_t *offset)
{
    return shielded(descriptor, bytes, size, offset);
}
