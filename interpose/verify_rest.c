/* SPDX-License-Identifier: Apache-2.0
 * A thread that synchronises a context on request: should it never come back, nobody but itself is stuck. */
#include "interpose/verify_rest.h"

#include "interpose/own_thread.h"
#include "interpose/queue_lock.h"

static struct {
    _Atomic uint32_t asked, answered;
    CUcontext context;
    CUresult result;
} rest;

static bool is_asked(void)
{
    return atomic_load(&rest.asked) != atomic_load(&rest.answered);
}

static void answer(void)
{
    while (is_asked()) {
        uint32_t asked = atomic_load(&rest.asked);
        rest.result = REAL(cuCtxSetCurrent)(rest.context);
        if (rest.result == CUDA_SUCCESS) rest.result = REAL(cuCtxSynchronize)();
        atomic_store(&rest.answered, asked);
        futex_wake(&rest.answered);
    }
}

static struct own_thread thread = {.state = OWN_THREAD_ENDED,
                                   .name = "kfuse verify",
                                   .patience_ns = OWN_THREAD_PATIENCE_NS,
                                   .has_work = is_asked,
                                   .work = answer};

bool verify_rest(CUcontext context, unsigned milliseconds, CUresult *result)
{
    struct timespec deadline = deadline_in(milliseconds), left;
    rest.context = context;
    uint32_t asked = atomic_fetch_add(&rest.asked, 1) + 1;
    if (!own_thread_needed(&thread)) {
        atomic_store(&rest.answered, asked);
        return false;
    }
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
    own_thread_fork_child(&thread);
    atomic_store(&rest.asked, 0);
    atomic_store(&rest.answered, 0);
}
