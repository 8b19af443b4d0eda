/* SPDX-License-Identifier: Apache-2.0
 * The queue, and who else works with the device: threads, streams, others with whom memory is shared; see queue.h. */
#include "interpose/queue_parts.h"

#include "interpose/home_stream.h"

void queue_defer_nothing(const char *reason)
{
    bool is_done = deferred_is_forbidden() && !deferred_is_pending() && !through_owes() && !home_on();
    if (queue_has_lock() || is_done) return;
    queue_enter();
    deferred_forbid(reason);
    if (deferred_is_pending() || home_on()) queue_drain_and_materialise(true);
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

/* What is pending is in the legacy stream. Where its rematerialisation is not done at once, that is waited for by each stream that
 * is made until it is: the program may order them behind the use alone. */
void queue_meet_streams(void)
{
    const char *reason = "the program makes a stream of its own";
    if (queue_has_lock() || queue.has_streams) return;
    queue_enter();
    queue.has_streams = true;
    queue_drain_and_materialise(false);
    own_stream_end(reason);
    queue_settle();
    bool is_pushed = queue_push_context();
    if (!track_is_capturing()) home_look_back();
    if (track_is_capturing() || !home_looks_settled())
        deferred_forbid(reason);
    else if (deferred_is_planned() && !deferred_is_forbidden())
        home_start();
    queue_pop_context(is_pushed);
    queue_publish();
    queue_leave();
}

void queue_new_stream(CUstream stream)
{
    if (queue_has_lock() || (!home_on() && !home_unsettled())) return;
    queue_enter();
    home_on() ? home_add_stream(stream) : home_settle_on_device(stream);
    queue_leave();
}
