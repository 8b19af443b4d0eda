/* SPDX-License-Identifier: Apache-2.0
 * Host functions of the program (cuLaunchHostFunc, cuStreamAddCallback): one thread of the driver runs them,
 * one after the other, without the lock. */
#include "emulator/driver.h"

#include <pthread.h>
#include <signal.h>

enum { HOST_MOMENT = 100 }; /* milliseconds */

_Thread_local bool driver_is_in_host_function;
static _Thread_local bool host_is_this_thread;
static struct driver_stream *host_first, *host_last;
static bool host_has_thread;

/* With the lock, which is given back meanwhile. The stream is marked as running: nothing overtakes the
 * function. */
static void host_call(struct driver_stream *stream)
{
    struct driver_callback host = stream->first->host;
    CUresult error = stream->context->error;
    bool was_inside = driver_is_in_host_function;
    driver_is_in_host_function = true;
    driver_unlock();
    if (host.callback)
        host.callback((CUstream)stream, error, host.data);
    else if (error == CUDA_SUCCESS)
        host.function(host.data);
    driver_lock();
    driver_is_in_host_function = was_inside;
    driver_finish(stream);
}

static void *host_serve(void *unused)
{
    (void)unused;
    host_is_this_thread = true;
    driver_lock();
    for (;;) {
        while (!host_first) driver_pause(NEWS_HOST);
        struct driver_stream *stream = host_first;
        host_first = stream->next_host;
        host_call(stream);
        if (!driver.options.seed) driver_run_ready();
        driver_unlock();
        driver_activity_deliver();
        driver_lock();
    }
    return NULL;
}

static bool host_thread(void)
{
    pthread_t thread;
    sigset_t all, before; /* the program's signals are not for this thread */
    if (host_has_thread) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    host_has_thread = pthread_create(&thread, NULL, host_serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (host_has_thread) pthread_detach(thread);
    return host_has_thread;
}

void driver_host_start(struct driver_stream *stream)
{
    uint64_t sequence = stream->first->sequence;
    struct timespec deadline = {0};
    if (!host_thread()) {
        host_call(stream);
        return;
    }
    stream->next_host = NULL;
    if (host_first)
        host_last->next_host = stream;
    else
        host_first = stream;
    host_last = stream;
    driver_wake(NEWS_HOST);
    while (!host_is_this_thread && stream->completed < sequence)
        if (!driver_pause_for(NEWS_DONE, &deadline, HOST_MOMENT)) break;
}
