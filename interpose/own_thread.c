/* SPDX-License-Identifier: Apache-2.0
 * See own_thread.h. */
#include "interpose/own_thread.h"

#include "interpose/queue_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static struct {
    sigset_t program_mask; /* where the last one was made */
} threads;
static __thread bool is_ours;

static bool change(struct own_thread *thread, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&thread->state, &from, to);
}

/* False: to end, as nothing came. */
static bool sleep_until_needed(struct own_thread *thread)
{
    const struct timespec patience = {.tv_nsec = thread->patience_ns};
    atomic_store(&thread->state, OWN_THREAD_SLEEPS);
    if (!thread->has_work()) futex_wait(&thread->state, OWN_THREAD_SLEEPS, &patience);
    if (thread->has_work()) {
        change(thread, OWN_THREAD_SLEEPS, OWN_THREAD_RUNS);
        return true; /* else who has work has done so */
    }
    if (!change(thread, OWN_THREAD_SLEEPS, OWN_THREAD_ENDED)) return true;
    return thread->has_work() && change(thread, OWN_THREAD_ENDED, OWN_THREAD_RUNS);
}

static void *run(void *argument)
{
    struct own_thread *thread = argument;
    is_ours = true;
    prctl(PR_SET_NAME, thread->name);
    do thread->work();
    while (!own_thread_is_last() && sleep_until_needed(thread));
    return NULL;
}

static bool make(struct own_thread *thread)
{
    sigset_t all;
    pthread_t made;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &threads.program_mask);
    bool is_made = pthread_create(&made, NULL, run, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &threads.program_mask, NULL);
    if (is_made) pthread_detach(made);
    return is_made;
}

bool own_thread_summon(struct own_thread *thread)
{
    for (;;) {
        uint32_t state = atomic_load(&thread->state);
        if (state == OWN_THREAD_RUNS) return true;
        if (!change(thread, state, OWN_THREAD_RUNS)) continue;
        if (state == OWN_THREAD_SLEEPS) {
            futex_wake(&thread->state);
            return true;
        }
        if (make(thread)) return true;
        atomic_store(&thread->state, OWN_THREAD_ENDED);
        return false;
    }
}

void own_thread_exits(void)
{
    if (is_ours) pthread_sigmask(SIG_SETMASK, &threads.program_mask, NULL);
}

/* /proc/self/stat: "PID (NAME) STATE ..." of the first thread; the 20th field is how many there are. */
bool own_thread_is_last(void)
{
    char text[512];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) close(file);
    if (size <= 0) return false;
    text[size] = 0;
    const char *at = strrchr(text, ')');
    char state = 0;
    long count = 0;
    int got = at ? sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                          &state, &count)
                 : 0;
    return got == 2 && state == 'Z' && count == 2;
}
