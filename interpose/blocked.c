/* SPDX-License-Identifier: Apache-2.0
 * See blocked.h. */
#include "interpose/blocked.h"

#include <stdatomic.h>

enum {
    FIRST_CALLS = 32,
    WAIT_NS = 10000, /* a call that waits takes so much longer than SHORTEST_TIMES the shortest */
    SHORTEST_TIMES = 3
};

static struct blocked {
    _Atomic int64_t shortest_ns[BLOCKED_KINDS]; /* of a call; 0: none yet */
    _Atomic int64_t total_ns;                   /* that calls waited */
    _Atomic uint32_t calls;
    atomic_bool is_wanted;
} blocked;

void blocked_start(void)
{
    shim_attention_set(ATTENTION_MEASURE);
}

void blocked_watch(bool is_wanted)
{
    atomic_store(&blocked.is_wanted, is_wanted);
    if (is_wanted)
        shim_attention_set(ATTENTION_MEASURE);
    else if (atomic_load(&blocked.calls) >= FIRST_CALLS)
        shim_attention_clear(ATTENTION_MEASURE);
}

void blocked_end_slowly(int64_t begun_ns, uint32_t kind, uint32_t launches)
{
    int64_t took_ns = shim_now_ns() - begun_ns, shortest_ns = atomic_load(&blocked.shortest_ns[kind]);
    int64_t alone_ns = launches * atomic_load(&blocked.shortest_ns[BLOCKED_LAUNCH]);
    if (!shortest_ns || took_ns < shortest_ns)
        atomic_store(&blocked.shortest_ns[kind], shortest_ns = took_ns);
    if (alone_ns && alone_ns < shortest_ns) shortest_ns = alone_ns;
    if (took_ns > SHORTEST_TIMES * shortest_ns + WAIT_NS)
        atomic_fetch_add(&blocked.total_ns, took_ns - shortest_ns);
    if (atomic_fetch_add(&blocked.calls, 1) + 1 == FIRST_CALLS && !atomic_load(&blocked.is_wanted))
        shim_attention_clear(ATTENTION_MEASURE);
}

int64_t blocked_clock_ns(void)
{
    return shim_now_ns() - atomic_load(&blocked.total_ns);
}
