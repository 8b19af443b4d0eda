/* SPDX-License-Identifier: Apache-2.0
 * A thread that synchronises a context on request: should it never come back, nobody but itself is stuck. */
#include "interpose/verify_rest.h"

#include "interpose/token.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

static struct {
    bool is_started;
    _Atomic uint32_t asked, answered;
    CUcontext context;
    CUresult result;
} rest;

static void *rest_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "kfuse verify");
    for (uint32_t done = 0;;) {
        uint32_t asked = atomic_load(&rest.asked);
        if (asked == done) {
            futex_wait(&rest.asked, asked, NULL);
            continue;
        }
        rest.result = REAL(cuCtxSetCurrent)(rest.context);
        if (rest.result == CUDA_SUCCESS) rest.result = REAL(cuCtxSynchronize)();
        done = asked;
        atomic_store(&rest.answered, done);
        futex_wake(&rest.answered);
    }
    return NULL;
}

static bool start(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (rest.is_started) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rest.is_started = pthread_create(&thread, NULL, rest_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rest.is_started) pthread_detach(thread);
    return rest.is_started;
}

bool verify_rest(CUcontext context, unsigned milliseconds, CUresult *result)
{
    struct timespec deadline = deadline_in(milliseconds), left;
    if (!start()) return false;
    rest.context = context;
    uint32_t asked = atomic_fetch_add(&rest.asked, 1) + 1;
    futex_wake(&rest.asked);
    for (;;) {
        uint32_t answered = atomic_load(&rest.answered);
        if (answered == asked) break;
        if (!deadline_left(&deadline, &left)) return false;
        futex_wait(&rest.answered, answered, &left);
    }
    *result = rest.result;
    return true;
}

void verify_rest_fork_child(void)
{
    rest.is_started = false;
    atomic_store(&rest.asked, 0);
    atomic_store(&rest.answered, 0);
}
