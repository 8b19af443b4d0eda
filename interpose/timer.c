/* SPDX-License-Identifier: Apache-2.0
 * The timer thread. While launches are being held it looks every KFUSE_HOLD_US, so that holding costs no
 * system call; after a while without any it sleeps until it is woken. */
#include "interpose/timer.h"

#include "common/setting.h"
#include "interpose/shim.h"
#include "interpose/token.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

enum { DEFAULT_HOLD_US = 100, LONGEST_HOLD_US = 60000000, IDLE_LOOKS = 50, SLACK_NS = 1000 };

static struct {
    const struct timer_source *source;
    struct timespec period;
    _Atomic uint32_t is_asleep;
    atomic_bool is_started;
} timer;

static void sleep_until_held(void)
{
    atomic_store(&timer.is_asleep, 1);
    while (atomic_load(&timer.is_asleep) && !timer.source->oldest()) futex_wait(&timer.is_asleep, 1, NULL);
    atomic_store(&timer.is_asleep, 0);
}

static void *timer_main(void *unused)
{
    uint64_t seen = 0;
    unsigned idle = 0;
    (void)unused;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    prctl(PR_SET_NAME, "kfuse timer");
    for (;;) {
        nanosleep(&timer.period, NULL);
        uint64_t oldest = timer.source->oldest();
        if (oldest && oldest == seen) timer.source->release(oldest);
        seen = oldest;
        idle = oldest ? 0 : idle + 1;
        if (idle > IDLE_LOOKS) {
            sleep_until_held();
            idle = 0;
        }
    }
    return NULL;
}

bool timer_start(const struct timer_source *source)
{
    sigset_t all, before;
    pthread_t thread;
    if (atomic_load_explicit(&timer.is_started, memory_order_relaxed)) return true;
    timer.source = source;
    long period = setting_number("KFUSE_HOLD_US", 1, LONGEST_HOLD_US, DEFAULT_HOLD_US);
    timer.period = (struct timespec){period / 1000000, period % 1000000 * 1000};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_running = pthread_create(&thread, NULL, timer_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_running) pthread_detach(thread);
    atomic_store(&timer.is_started, is_running);
    if (!is_running) shim_latch("no thread can be started that would release held launches");
    return is_running;
}

void timer_held(void)
{
    if (!atomic_load(&timer.is_asleep)) return;
    atomic_store(&timer.is_asleep, 0);
    futex_wake(&timer.is_asleep);
}

void timer_fork_child(void)
{
    atomic_store(&timer.is_started, false);
    atomic_store(&timer.is_asleep, 0);
}
