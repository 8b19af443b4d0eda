/* SPDX-License-Identifier: Apache-2.0
 * The queue, and who else works with the device: threads, streams, others with whom memory is shared; see queue.h. */
#include "interpose/queue_parts.h"

#include "interpose/home_stream.h"

void queue_defer_nothing(const char *reason)
{
    if (queue_has_lock() || (deferred_is_forbidden() && !through_owes())) return;
    queue_enter();
    deferred_forbid(reason);
    if (deferred_is_pending() || home_unsettled()) queue_drain_and_materialise(true);
    if (own_stream_on()) queue_drain(); /* into the own stream, where this is its thread */
    own_stream_end(reason);
    queue_settle();
    home_end();
    queue_publish();
    queue_leave();
}

__thread bool queue_knows_thread;
void queue_new_thread(void)
{
    static atomic_flag has_one = ATOMIC_FLAG_INIT;
    queue_knows_thread = true;
    own_stream_is_here = !atomic_flag_test_and_set(&has_one);
    if (own_stream_is_here) return;
    atomic_store(&queue.has_threads, true);
    queue_defer_nothing("a second thread works with the device");
}

void queue_end_through(const char *reason)
{
    if (!through_on() || queue_has_lock()) return;
    queue_enter();
    queue_settle();
    through_end(reason);
    queue_publish();
    queue_leave();
}

/* --- streams --- */

/* What is pending is in the legacy stream. Where the host has waited since, a wait for it ends; else the program may order the new
 * stream behind it by an event that stands before the rematerialisation. */
bool queue_meet_streams(void)
{
    const char *reason = "the program makes a stream of its own";
    bool is_pending = deferred_is_pending();
    if (queue_has_lock() || queue.has_streams) return false;
    if (deferred_is_forbidden() || (is_pending && !queue.has_waited)) {
        queue_defer_nothing(reason);
        return is_pending;
    }
    queue_enter();
    queue.has_streams = true;
    queue_drain_and_materialise(true);
    own_stream_end(reason);
    queue_settle();
    if (deferred_is_planned()) home_start();
    queue_publish();
    queue_leave();
    return false;
}

/* An event that the program has recorded before may order the stream behind a use, not behind its
 * rematerialisation. */
void queue_new_stream(CUstream stream)
{
    CUevent event;
    if (queue_has_lock() || REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
    if (REAL(cuEventRecord)(event, NULL) == CUDA_SUCCESS) REAL(cuStreamWaitEvent)(stream, event, 0);
    REAL(cuEventDestroy_v2)(event);
}

void queue_await_event(CUstream stream)
{
    if (!home_on() || queue_has_lock()) return;
    queue_meet_thread();
    queue_enter();
    if (home_may_wait(stream)) {
        queue_drain_and_materialise(false);
        home_meet_unknown();
    }
    queue_publish();
    queue_leave();
}
