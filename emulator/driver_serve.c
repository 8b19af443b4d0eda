/* SPDX-License-Identifier: Apache-2.0
 * The thread that goes on with kernels while no thread of the program waits in the driver: a host that polls
 * memory must see what a kernel writes there. It begins at the first kernel that does not end in the call
 * that launches it. With a seed it steps in only after the program has made no call for a while, so that the
 * seed alone decides as long as the program calls. */
#include "emulator/driver.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SERVE_NAP = 50, SERVE_NAPS = 20 /* of quiet, with a seed */, SERVE_END = 2000 /* milliseconds */ };

static bool serve_has_thread;
static atomic_bool serve_is_busy;

/* With a seed: whether no entry point has been called for long. */
static bool serve_may_run(uint64_t *calls, unsigned *quiet)
{
    if (!driver.options.seed) return true;
    *quiet = *calls == driver.calls ? *quiet + 1 : 0;
    *calls = driver.calls;
    return *quiet >= SERVE_NAPS;
}

static void *serve(void *unused)
{
    uint64_t calls = 0;
    unsigned quiet = 0;
    (void)unused;
    driver_lock();
    while (!driver_is_closed()) {
        atomic_store(&serve_is_busy, true);
        bool has_run = serve_may_run(&calls, &quiet) && !driver_is_closed() && driver_run_some();
        if (!has_run && driver_is_idle()) {
            atomic_store(&serve_is_busy, false);
            driver_pause(NEWS_WORK);
            continue;
        }
        driver_unlock();
        driver_activity_deliver();
        atomic_store(&serve_is_busy, false);
        if (!has_run) usleep(1000 * (driver.options.seed && quiet < SERVE_NAPS ? SERVE_NAP : 1));
        driver_lock();
        driver_let_others();
    }
    driver_unlock();
    return NULL;
}

void driver_serve(void)
{
    if (serve_has_thread) {
        driver_wake(NEWS_WORK);
        return;
    }
    pthread_t thread;
    sigset_t all, before; /* the program's signals are not for this thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    serve_has_thread = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (serve_has_thread) pthread_detach(thread);
}

void driver_serve_end(void)
{
    for (int i = 0; i < SERVE_END && atomic_load(&serve_is_busy); i++) usleep(1000);
}
