/* SPDX-License-Identifier: Apache-2.0
 * What launches begin a pattern; see starts.h. Each switch makes a new entry for one slot; the old one stays,
 * since another thread may be reading it, and groups are switched at most twice. */
#include "interpose/starts.h"

#include <stdlib.h>
#include <utlist.h>

struct layout {
    const struct trace_parameter *parameters;
    uint32_t count;
};
static struct starts {
    const struct plan *plan;
    bool *is_on;                  /* by group */
    struct layout *layouts;       /* by kernel of the plan */
    struct starts_entry *entries; /* all that were made, the last first */
} starts;
struct starts_table **starts_tables;

static const struct starts_entry anything = {.end = anything.words}; /* where memory is out */

static const struct plan_step *first_step(uint32_t group)
{
    return &starts.plan->steps[starts.plan->groups[group].first_step];
}

static uint32_t shape_of(const struct plan_step *step)
{
    return starts_shape(step->grid[0], step->grid[1], step->grid[2], step->block[0], step->block[1],
                        step->block[2], step->dynamic_shared);
}

static uint32_t slot_of(const struct plan_step *step)
{
    return shape_of(step) >> (32 - STARTS_SLOT_BITS);
}

/* The next group that is on, from this one on, whose first step lies in that slot; the count of groups when
 * there is none. */
static uint32_t next_in_slot(uint32_t group, uint32_t kernel, uint32_t slot)
{
    uint32_t count = starts.plan->header->groups.count;
    for (; group < count; group++) {
        const struct plan_step *step = first_step(group);
        if (starts.is_on[group] && step->kernel == kernel && slot_of(step) == slot) break;
    }
    return group;
}

/* The bits of 4 bytes of the argument buffer that all groups of the slot want alike; 0: none. */
static uint32_t agreed_bits(uint32_t kernel, uint32_t slot, uint32_t at, uint32_t *value)
{
    uint32_t group = next_in_slot(0, kernel, slot), agreed = UINT32_MAX;
    for (bool is_first = true; agreed && group < starts.plan->header->groups.count; is_first = false) {
        const struct plan_step *step = first_step(group);
        const unsigned char *masks = starts.plan->masks + step->mask;
        uint32_t mask, wanted;
        if (step->arguments_size < at + 4) return 0;
        memcpy(&mask, masks + at, 4);
        memcpy(&wanted, masks + step->arguments_size + at, 4);
        if (is_first) *value = wanted;
        agreed &= mask & ~(*value ^ wanted);
        group = next_in_slot(group + 1, kernel, slot);
    }
    *value &= agreed;
    return agreed;
}

/* Whole numbers say more than alignments, and upper halves are nearly always zero. */
static int telling(const struct starts_word *word)
{
    return 2 * __builtin_popcount(word->mask) + (word->value != 0);
}

static void add_word(struct starts_entry *entry, struct starts_word word)
{
    uint32_t count = (uint32_t)(entry->end - entry->words), at = count;
    while (at && telling(&entry->words[at - 1]) < telling(&word)) at--;
    if (at == STARTS_WORDS) return;
    if (count < STARTS_WORDS) count++;
    memmove(entry->words + at + 1, entry->words + at, (count - 1 - at) * sizeof word);
    entry->end = entry->words + count;
    entry->words[at] = word;
}

static void add_words(struct starts_entry *entry, uint32_t kernel, uint32_t slot)
{
    const struct layout *layout = &starts.layouts[kernel];
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct trace_parameter *parameter = &layout->parameters[i];
        for (uint32_t at = 0; at + 4 <= parameter->size; at += 4) {
            struct starts_word word = {.parameter = i, .offset = at};
            word.mask = agreed_bits(kernel, slot, parameter->offset + at, &word.value);
            if (word.mask) add_word(entry, word);
        }
    }
}

static void add_shape(struct starts_entry *entry, uint32_t kernel, uint32_t slot)
{
    uint32_t group = next_in_slot(0, kernel, slot);
    entry->shape = shape_of(first_step(group));
    entry->shape_mask = UINT32_MAX;
    while ((group = next_in_slot(group + 1, kernel, slot)) < starts.plan->header->groups.count)
        if (shape_of(first_step(group)) != entry->shape) entry->shape_mask = 0;
}

static void publish(uint32_t kernel, uint32_t slot)
{
    const struct starts_entry *published = NULL;
    if (next_in_slot(0, kernel, slot) < starts.plan->header->groups.count) {
        struct starts_entry *entry = calloc(1, sizeof *entry);
        if (entry) {
            entry->end = entry->words;
            LL_PREPEND(starts.entries, entry);
            add_shape(entry, kernel, slot);
            add_words(entry, kernel, slot);
        }
        published = entry ? entry : &anything;
    }
    atomic_store_explicit(&starts_tables[kernel]->slots[slot], published, memory_order_release);
}

bool starts_create(const struct plan *plan)
{
    uint32_t kernels = plan->header->kernels.count, groups = plan->header->groups.count;
    starts.plan = plan;
    starts.is_on = calloc((size_t)groups + 1, sizeof *starts.is_on);
    starts.layouts = calloc((size_t)kernels + 1, sizeof *starts.layouts);
    starts_tables = calloc((size_t)kernels + 1, sizeof *starts_tables);
    if (!starts.is_on || !starts.layouts || !starts_tables) return false;
    for (uint32_t i = 0; i < groups; i++) {
        struct starts_table **table = &starts_tables[first_step(i)->kernel];
        if (!*table) *table = calloc(1, sizeof **table);
        if (!*table) return false;
    }
    return true;
}

void starts_switch(uint32_t group, bool is_on)
{
    const struct plan_step *step = first_step(group);
    starts.is_on[group] = is_on;
    publish(step->kernel, slot_of(step));
}

bool starts_is_bound(uint32_t kernel)
{
    return starts.layouts[kernel].parameters;
}

void starts_bind(uint32_t kernel, const struct trace_parameter *parameters, uint32_t count)
{
    starts.layouts[kernel] = (struct layout){parameters, count};
    for (uint32_t slot = 0; starts_tables[kernel] && slot < STARTS_SLOTS; slot++)
        if (starts_tables[kernel]->slots[slot]) publish(kernel, slot);
}
