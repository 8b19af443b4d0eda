/* SPDX-License-Identifier: Apache-2.0
 * See chain.h. */
#include "interpose/chain.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/chain_backlog.h"
#include "interpose/chain_graph.h"
#include "interpose/held.h"
#include "interpose/queue_parts.h"
#include "interpose/shim.h"
#include "interpose/track.h"
#include "interpose/verify.h"

#include <stdlib.h>
#include <string.h>

enum {
    CUT = 16,       /* launches, from which on a chain ends where another one has begun */
    STREAMS = 8,    /* that may have chains */
    KNOWN = 4096,   /* kernels and shapes that were launched; a power of two */
    RECORDS = 1024, /* of how soon the host goes on; a power of two */
    SOON_NS = 10000,
    SURE = 3, /* the level of a record */
    LATES_MOST = 12,
    BALANCE = 4096, /* launches */
    LONGEST_PAUSE = 1 << 24
};
static const uint64_t TICKETS = UINT64_C(1) << 63; /* apart from those of the queue */

atomic_bool chain_is_on;
static struct chain {
    struct chain_launch launches[CHAIN_LONGEST];
    unsigned char *arguments; /* CHAIN_ARGUMENTS of each */
    uint32_t count;
    uint64_t sequence; /* hash of their shapes */
    CUcontext context; /* NULL: none has chains yet */
    CUdevice device;   /* of it */
    bool always;

    uint32_t limit;  /* the length of this chain */
    uint64_t anchor; /* shape of the first launch of a chain that was not cut short; 0: none yet */

    uint64_t taken;
    struct chain_launch
        known[KNOWN]; /* without stream and arguments; size: since_forgotten at the time, else it is free */
    size_t since_forgotten; /* counts */
    CUstream streams[STREAMS];
    uint32_t stream_count;

    struct record {
        int16_t level;       /* above zero, the host goes on soon; below, nothing waits behind the kernel */
        unsigned char lates; /* that the timer had to come, of late */
    } records[RECORDS];      /* of a kernel behind another */
    uint64_t last;           /* shape of the last launch */
    uint32_t record;         /* its record */
    int64_t last_ns;

    int32_t balance; /* launches in graphs less those by themselves */
    uint32_t pause, paused;
} chain;

/* --- what may be taken --- */

static struct chain_launch *find_known(const struct chain_launch *launch, uint64_t shape)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct chain_launch *slot = &chain.known[(shape + i) & (KNOWN - 1)];
        if (slot->size != chain.since_forgotten || chain_is_same(slot, launch)) return slot;
    }
    return &chain.known[shape & (KNOWN - 1)];
}

static bool is_known_in(const struct chain_launch *slot, const struct chain_launch *launch)
{
    return slot->size == chain.since_forgotten && chain_is_same(slot, launch);
}

static bool is_known(const struct chain_launch *launch, uint64_t shape)
{
    return is_known_in(find_known(launch, shape), launch);
}

void chain_note(const struct chain_launch *launch, int64_t took_ns)
{
    struct chain_launch *slot = find_known(launch, chain_shape(launch));
    if (is_known_in(slot, launch) && took_ns)
        chain_graph_note_direct(took_ns); /* the first time, code is loaded */
    *slot = *launch;
    slot->arguments = NULL;
    slot->size = chain.since_forgotten;
}

/* Of the context of the chains, and without a priority, which kernels in a graph would lose. */
static bool is_like_default(CUstream stream)
{
    int priority;
    CUcontext context;
    CUgreenCtx part;
    return REAL(cuStreamGetPriority)(stream, &priority) == CUDA_SUCCESS && !priority &&
           REAL(cuStreamGetCtx)(stream, &context) == CUDA_SUCCESS && context == chain.context &&
           (REAL(cuStreamGetGreenCtx)(stream, &part) != CUDA_SUCCESS || !part);
}

static bool is_plain_stream(CUstream stream)
{
    if (!stream || stream == CU_STREAM_LEGACY) return true;
    if (stream == CU_STREAM_PER_THREAD) return !queue_bars(stream);
    for (uint32_t i = 0; i < chain.stream_count; i++)
        if (chain.streams[i] == stream) return true;
    if (chain.stream_count == STREAMS || !is_like_default(stream)) return false;
    chain.streams[chain.stream_count++] = stream;
    return true;
}

static bool is_in_context(void)
{
    CUcontext current = track_current_context();
    if (!chain.context && REAL(cuCtxGetDevice)(&chain.device) == CUDA_SUCCESS) chain.context = current;
    return current && current == chain.context;
}

static bool is_taken(const struct chain_launch *launch, uint64_t shape)
{
    if (!chain_on() || shim_is_latched() || track_is_capturing()) return false;
    if (chain.paused) {
        chain.paused--;
        return false;
    }
    return launch->size <= CHAIN_ARGUMENTS && is_known(launch, shape) && is_in_context() &&
           is_plain_stream(launch->stream);
}

/* --- when it goes to the driver --- */

void chain_end(const char *reason)
{
    if (atomic_exchange(&chain_is_on, false)) log_write(LOG_INFO, "chain", "no more chains: %s", reason);
}

static void account(int32_t launches)
{
    chain.balance += launches;
    if (chain.balance > BALANCE) {
        chain.balance = BALANCE;
        chain.pause = 0;
    }
    if (chain.balance >= -BALANCE || chain.always) return;
    chain.balance = 0;
    chain.pause = chain.pause ? 2 * chain.pause : BALANCE;
    if (chain.pause > LONGEST_PAUSE) chain.pause = LONGEST_PAUSE;
    chain.paused = chain.pause;
    if (chain_graph_is_vain()) chain_end("launches by themselves cost the host less");
}

static void launch_each(void)
{
    for (uint32_t i = 0; i < chain.count; i++) {
        const struct chain_launch *launch = &chain.launches[i];
        shim_remember_error(held_launch_directly(launch));
    }
}

static bool push_context(void)
{
    return chain.context && track_current_context() != chain.context &&
           REAL(cuCtxPushCurrent_v2)(chain.context) == CUDA_SUCCESS;
}

static void pop_context(bool is_pushed)
{
    CUcontext context;
    if (is_pushed) REAL(cuCtxPopCurrent_v2)(&context);
}

static bool is_too_short(void)
{
    return chain.count < CHAIN_BACKLOG_SHORT && !chain.always && chain_backlog_is_deep();
}

static void submit(void)
{
    bool is_pushed = push_context();
    if (is_too_short()) {
        launch_each();
    } else if (chain_graph_launch(chain.launches, chain.count, chain.sequence, chain.always)) {
        account((int32_t)chain.count);
        shim_count(COUNT_CHAINS);
        for (uint32_t i = 0; i < chain.count; i++) shim_count(COUNT_CHAINED);
        for (uint32_t i = 0; i < chain.count; i++) shim_count(COUNT_ISSUED);
    } else {
        launch_each();
        account(-(int32_t)chain.count);
    }
    if (!chain.always) chain_backlog_look(chain.launches[0].stream, chain.taken, chain_graph_direct_ns());
    pop_context(is_pushed);
    chain.count = 0;
    chain.sequence = 0;
}

/* The host goes on, or asks for what the chain has. */
static void note_pace(int64_t now_ns)
{
    if (!chain.last_ns) return;
    struct record *record = &chain.records[chain.record];
    bool is_soon = chain.always || now_ns - chain.last_ns < SOON_NS;
    if (is_soon && record->level < SURE) record->level++;
    if (!is_soon && record->level > -4) record->level -= 2;
    if (record->level == SURE && record->lates) record->lates--;
    chain.last_ns = 0;
}

/* The host may have polled what the kernel writes: it is tried again ever more seldom. */
static void note_late(void)
{
    struct record *record = &chain.records[chain.record];
    if (record->lates < LATES_MOST) record->lates++;
    record->level = (int16_t) - (2 << record->lates);
    chain.last_ns = 0;
}

bool chain_has_grown(void)
{
    return chain.limit > 1;
}

/* The device may be idle from here on. */
static void begin_again(void)
{
    chain.limit = 1;
    chain.anchor = 0;
}

void chain_submit(void)
{
    if (!chain.count && chain.limit <= 1) return;
    note_pace(shim_now_ns());
    if (chain.count) submit();
    begin_again();
}

void chain_cut(void)
{
    if (chain.count) submit();
}

void chain_submit_late(void)
{
    if (!chain.count) return;
    note_late();
    submit();
    begin_again();
}

/* --- taking --- */

static void append(const struct chain_launch *launch, uint64_t shape)
{
    struct chain_launch *to = &chain.launches[chain.count];
    unsigned char *arguments = chain.arguments + (size_t)chain.count * CHAIN_ARGUMENTS;
    *to = *launch;
    to->arguments = arguments;
    memcpy(arguments, launch->arguments, launch->size);
    chain.sequence = chain_mix(chain.sequence, shape);
    chain.count++;
    chain.taken++;
}

static bool is_full(void)
{
    return chain.count == chain.limit;
}

/* Chains grow while nothing but launches comes; then they end where their period does. */
static void go_on(void)
{
    submit();
    if (chain.limit < CHAIN_LONGEST) chain.limit *= 2;
}

bool chain_take(const struct chain_launch *launch)
{
    uint64_t shape = chain_shape(launch);
    if (!is_taken(launch, shape)) return false;
    if (chain.count && !queue_same_stream(chain.launches[0].stream, launch->stream)) chain_submit();
    int64_t now_ns = shim_now_ns();
    note_pace(now_ns);
    if (chain.count >= CUT && shape == chain.anchor) submit();
    if (!chain.count && chain.limit == CHAIN_LONGEST && !chain.anchor) chain.anchor = shape;
    append(launch, shape);
    chain.record = (uint32_t)(chain_mix(chain.last, shape) & (RECORDS - 1));
    chain.last = shape;
    chain.last_ns = now_ns;
    if (is_full()) {
        go_on();
    } else if (chain.records[chain.record].level < 0) {
        submit();
        begin_again();
    }
    return true;
}

uint64_t chain_oldest(void)
{
    return chain.count ? TICKETS | (chain.taken - chain.count + 1) : 0;
}

/* --- start and end --- */

bool chain_is_wanted(void)
{
    const char *setting = setting_text("KFUSE_CHAINS");
    return !(setting && !strcmp(setting, "0")) && !verify_is_asked() &&
           !setting_is_on("CUDA_LAUNCH_BLOCKING");
}

bool chain_start(void)
{
    if (!chain_is_wanted()) return true;
    const char *setting = setting_text("KFUSE_CHAINS");
    chain.always = setting && !strcmp(setting, "always");
    chain.arguments = malloc((size_t)CHAIN_LONGEST * CHAIN_ARGUMENTS);
    chain.limit = 1;
    chain.since_forgotten = 1;
    if (!chain.arguments) return false;
    atomic_store(&chain_is_on, true);
    return true;
}

bool chain_has_graphs(void)
{
    return chain_graph_count() > 0;
}

static void forget(bool is_context_gone)
{
    bool is_pushed = !is_context_gone && push_context();
    chain_graph_forget(is_context_gone);
    pop_context(is_pushed);
    chain.since_forgotten++;
    chain.stream_count = 0;
}

void chain_forget(void)
{
    forget(false);
}

void chain_forget_stream(CUstream stream)
{
    for (uint32_t i = 0; i < chain.stream_count; i++)
        if (chain.streams[i] == stream) {
            forget(false);
            return;
        }
}

static void end_context(bool is_gone)
{
    forget(is_gone);
    chain_backlog_forget(is_gone);
    chain.context = NULL;
    chain.count = 0;
    chain.sequence = 0;
}

void chain_context_goes(CUcontext context)
{
    if (chain.context && chain.context == context) end_context(false);
}

void chain_device_gone(CUdevice device)
{
    if (chain.context && chain.device == device) end_context(true);
}

void chain_fork_child(void)
{
    atomic_store(&chain_is_on, false);
    chain.count = 0;
}
