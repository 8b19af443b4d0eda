/* SPDX-License-Identifier: Apache-2.0
 * Whether holding is profitable: patterns that begin, and do not end, are an account that runs low. */
#include "interpose/queue_parts.h"

#include "common/log.h"
#include "interpose/measure.h"
#include "interpose/starts.h"

enum { BALANCE_LIMIT = 256, SHORTEST_PAUSE = 1000, LONGEST_PAUSE = 1000000 };

/* With the lock. Holding that mostly comes to nothing stops for a while, and for longer the next time. */
void queue_account(int32_t gain)
{
    queue.balance += gain;
    if (queue.balance > BALANCE_LIMIT) {
        queue.balance = BALANCE_LIMIT;
        queue.pause = 0;
    }
    if (queue.balance >= -BALANCE_LIMIT) return;
    queue.balance = 0;
    queue.pause = queue.pause ? 2 * queue.pause : SHORTEST_PAUSE;
    if (queue.pause > LONGEST_PAUSE) queue.pause = LONGEST_PAUSE;
    atomic_store_explicit(&queue.paused, queue.pause, memory_order_relaxed);
    log_write(LOG_INFO, "queue", "patterns begin and do not end: nothing is held for %u launches",
              queue.pause);
    measure_break("holding pauses");
}

/* A launch that finds the queue empty. */
bool queue_may_start(const struct record_shape *shape, uint32_t index)
{
    const unsigned *grid = shape->grid, *block = shape->block;
    uint32_t mixed =
        starts_shape(grid[0], grid[1], grid[2], block[0], block[1], block[2], shape->dynamic_shared);
    const struct starts_table *table = starts_tables[index];
    if (!table || !starts_may_fit(table, mixed, shape->parameters)) return false;
    uint32_t paused = atomic_load_explicit(&queue.paused, memory_order_relaxed);
    if (!paused) return true;
    atomic_store_explicit(&queue.paused, paused - 1, memory_order_relaxed);
    return false;
}
