/* SPDX-License-Identifier: Apache-2.0
 * What launches begin a pattern: a test without a lock, made before a launch is packed and the queue's lock
 * is taken. It only filters: what it lets through may still fit no pattern, what it stops fits none. Groups
 * of a kernel whose shapes fall into one slot share one entry, which tests the argument bits that all of them
 * want alike.
 *
 * Entries are never changed or freed once they are published. starts_create is called once, before all
 * others; starts_switch and starts_bind with the queue's lock; starts_may_fit by anyone. */
#ifndef KFUSE_INTERPOSE_STARTS_H
#define KFUSE_INTERPOSE_STARTS_H

#include "common/plan.h"
#include "common/trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STARTS_SLOT_BITS = 6, STARTS_SLOTS = 1 << STARTS_SLOT_BITS, STARTS_WORDS = 4 };
struct starts_word { /* 4 bytes at offset in the parameter, & mask, must equal value */
    uint32_t parameter, offset, mask, value;
};
struct starts_entry {
    uint32_t shape, shape_mask;             /* as for words; mask 0: several shapes share the slot */
    const struct starts_word *end;          /* of the words that are used */
    struct starts_word words[STARTS_WORDS]; /* those that tell most first */
    struct starts_entry *next;              /* made before it */
};
struct starts_table {
    _Atomic(const struct starts_entry *) slots[STARTS_SLOTS]; /* NULL: nothing begins so */
};
/* By kernel of the plan; NULL: no pattern begins with it. */
extern struct starts_table **starts_tables;

/* False when memory is out. The plan must stay. */
bool starts_create(const struct plan *plan);
/* A group is on, or off, from now on. */
void starts_switch(uint32_t group, bool is_on);
/* Where the arguments of a kernel of the plan lie: until this is known, only shapes are tested. The array
 * must stay. */
bool starts_is_bound(uint32_t kernel);
void starts_bind(uint32_t kernel, const struct trace_parameter *parameters, uint32_t count);

/* A number for grid, block and dynamic shared memory; others may have the same. */
static inline uint32_t starts_shape(uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                                    uint32_t block_y, uint32_t block_z, uint32_t shared)
{
    return grid_x * 0x9e3779b1u + grid_y * 0x85ebca77u + grid_z * 0xc2b2ae3du + block_x * 0x27d4eb2fu +
           block_y * 0x165667b1u + block_z * 0xcc9e2d51u + shared * 0x1b873593u;
}

static inline bool starts_words_fit(const struct starts_entry *entry, void **parameters)
{
    for (const struct starts_word *word = entry->words; word != entry->end; word++) {
        uint32_t bits;
        memcpy(&bits, (const char *)parameters[word->parameter] + word->offset, sizeof bits);
        if ((bits & word->mask) != word->value) return false;
    }
    return true;
}

/* parameters: the launch's; of one with a packed buffer, which has none, only the shape is tested. */
static inline bool starts_may_fit(const struct starts_table *table, uint32_t shape, void **parameters)
{
    const struct starts_entry *entry =
        atomic_load_explicit(&table->slots[shape >> (32 - STARTS_SLOT_BITS)], memory_order_acquire);
    if (!entry || ((shape ^ entry->shape) & entry->shape_mask)) return false;
    return !parameters || starts_words_fit(entry, parameters);
}

#endif
