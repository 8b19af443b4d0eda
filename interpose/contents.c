/* SPDX-License-Identifier: Apache-2.0
 * See contents.h. Variables that were written, each with a state a byte. */
#include "interpose/contents.h"

#include "common/driver_call.h"
#include "interpose/record.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum state { INITIAL, KNOWN, UNKNOWN };
struct variable {
    uint64_t start, size;
    unsigned char *bytes, *states; /* size of each */
    uint64_t slow; /* the number of the last copy here that may be done later than those behind it */
};

bool contents_are_followed;
static struct contents {
    pthread_mutex_t lock;
    struct variable *variables;
    uint32_t count;
    uint64_t unloads;
    bool is_rewritten; /* what modules begin with may have been overwritten */
    bool is_lost;      /* nothing is known any more: memory was out, or variables overlap */
    /* Calls that hold up what follows, and copies that may be done later, are numbered together: the last one, the last one that
     * holds up, and those that are over. */
    uint64_t count_made, gate, opened;
    pthread_t made_by;
    bool has_makers; /* several threads: a wait by one may begin while another is about to submit */
} contents = {.lock = PTHREAD_MUTEX_INITIALIZER};

void contents_start(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->header->sums.count; i++)
        if (plan->sums[i].kind == PLAN_CONTENTS) contents_are_followed = true;
    if (contents_are_followed) shim_attention_set(ATTENTION_CONTENTS);
}

/* With the lock. */
static void forget_all(void)
{
    for (uint32_t i = 0; i < contents.count; i++)
        memset(contents.variables[i].states, UNKNOWN, contents.variables[i].size);
}

/* With the lock. Before the call. Its number. */
static uint64_t note_call(void)
{
    contents.has_makers |= contents.count_made && !pthread_equal(contents.made_by, pthread_self());
    contents.made_by = pthread_self();
    return ++contents.count_made;
}

/* With the lock. Nothing that was submitted may be held up. */
static bool is_open(void)
{
    return contents.gate <= contents.opened;
}

uint64_t contents_wait_begins(void)
{
    if (!contents_are_followed) return 0;
    pthread_mutex_lock(&contents.lock);
    uint64_t begun = contents.count_made;
    pthread_mutex_unlock(&contents.lock);
    return begun;
}

void contents_waited(uint64_t begun, CUresult result)
{
    if (!begun || result != CUDA_SUCCESS) return;
    pthread_mutex_lock(&contents.lock);
    if (!contents.has_makers && pthread_equal(contents.made_by, pthread_self())) contents.opened = begun;
    pthread_mutex_unlock(&contents.lock);
}

/* With the lock. */
static void follow_unloads(void)
{
    uint64_t unloads = atomic_load_explicit(&track_unloads, memory_order_acquire);
    if (unloads != contents.unloads) forget_all();
    contents.unloads = unloads;
}

static struct variable *add(const struct track_range *range)
{
    struct variable *grown = realloc(contents.variables, (contents.count + 1) * sizeof *grown);
    struct variable variable = {.start = range->start, .size = range->size};
    if (grown) contents.variables = grown;
    variable.bytes = calloc(1, range->size);
    variable.states = calloc(1, range->size);
    contents.is_lost |= !grown || !variable.bytes || !variable.states;
    if (contents.is_lost) return NULL;
    contents.variables[contents.count] = variable;
    return &contents.variables[contents.count++];
}

/* The variable of these bounds; others that lie there are of modules that are gone. */
static struct variable *find(const struct track_range *range)
{
    struct variable *found = NULL;
    for (uint32_t i = 0; i < contents.count; i++) {
        struct variable *variable = &contents.variables[i];
        if (variable->start == range->start && variable->size == range->size)
            found = variable;
        else if (variable->start < range->start + range->size &&
                 range->start < variable->start + variable->size)
            contents.is_lost = true;
    }
    return found ? found : add(range);
}

/* The host may read there. */
static bool is_host(uint64_t address)
{
    enum trace_memory_kind kind = record_memory_kind(address);
    return kind == TRACE_MEMORY_HOST || kind == TRACE_MEMORY_PAGEABLE;
}

void contents_written_slowly(uint64_t to, uint64_t from, uint64_t bytes)
{
    struct track_range range;
    if (!bytes || !track_memory_find(to, &range) || range.kind != TRACE_MEMORY_VARIABLE ||
        range.size > PLAN_CONTENTS_LIMIT)
        return;
    bool is_known = from && is_host(from);
    uint64_t offset = to - range.start, left = range.size - offset, size = bytes < left ? bytes : left;
    pthread_mutex_lock(&contents.lock);
    follow_unloads();
    struct variable *variable = find(&range);
    if (variable && !from) variable->slow = note_call();
    is_known = is_known && is_open() && variable && variable->slow <= contents.opened;
    if (variable) memset(variable->states + offset, is_known ? KNOWN : UNKNOWN, size);
    if (is_known) memcpy(variable->bytes + offset, (const void *)(uintptr_t)from, size);
    pthread_mutex_unlock(&contents.lock);
}

void contents_meet(enum entry entry)
{
    if (!contents_are_followed) return;
    bool is_named = entry < ENTRY_COUNT;
    pthread_mutex_lock(&contents.lock);
    if (!is_named || driver_call_holds_up(entry_name(entry))) contents.gate = note_call();
    if (!is_named || !driver_call_writes_nothing(entry_name(entry))) {
        forget_all();
        contents.is_rewritten = true;
    }
    pthread_mutex_unlock(&contents.lock);
}

/* With the lock: that which has been written and holds the byte, or NULL. */
static const struct variable *find_at(uint64_t address)
{
    for (uint32_t i = 0; i < contents.count; i++)
        if (address - contents.variables[i].start < contents.variables[i].size) return &contents.variables[i];
    return NULL;
}

/* With the lock. False: not known. */
static bool read_byte(const struct variable *variable, uint64_t offset, unsigned char initial,
                      unsigned char *byte)
{
    enum state state = variable && offset < variable->size ? variable->states[offset] : INITIAL;
    *byte = state == KNOWN ? variable->bytes[offset] : initial;
    return state == KNOWN || (state == INITIAL && !contents.is_rewritten);
}

bool contents_word(uint64_t variable, const struct plan_sum *word, uint64_t *value)
{
    const struct plan_term *term = &word->terms[0];
    *value = 0;
    pthread_mutex_lock(&contents.lock);
    bool is_known = is_open();
    follow_unloads();
    const struct variable *written = find_at(variable);
    for (unsigned i = 0; is_known && i < term->size; i++) {
        unsigned char byte;
        is_known =
            read_byte(written, term->offset + i, (unsigned char)((uint64_t)term->factor >> 8 * i), &byte);
        if (is_known) *value |= (uint64_t)byte << 8 * i;
    }
    is_known = is_known && !contents.is_lost;
    pthread_mutex_unlock(&contents.lock);
    return is_known;
}

void contents_fork_child(void)
{
    pthread_mutex_init(&contents.lock, NULL);
}
