/* SPDX-License-Identifier: Apache-2.0
 * The queue of held launches; see queue.h. */
#include "interpose/queue_parts.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/arrivals.h"
#include "interpose/blocked.h"
#include "interpose/chain.h"
#include "interpose/contents.h"
#include "interpose/gate.h"
#include "interpose/home_stream.h"
#include "interpose/issue.h"
#include "interpose/measure.h"
#include "interpose/own_stream.h"
#include "interpose/screen.h"
#include "interpose/shadow.h"
#include "interpose/shim.h"
#include "interpose/starts.h"
#include "interpose/through.h"
#include "interpose/timer.h"
#include "interpose/queue_lock.h"
#include "interpose/variables.h"
#include "interpose/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct queue queue;

static __thread bool has_lock;

/* --- the queue's lock --- */

/* The flag is set all the while the lock may be this thread's: a signal's handler that calls CUDA or exit in
 * between must not wait for what its own thread has. */
void queue_enter(void)
{
    has_lock = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (queue_lock_try(&queue.lock)) return;
    gate_step_out();
    queue_lock_take(&queue.lock);
    gate_step_in();
}

void queue_leave(void)
{
    queue_lock_give(&queue.lock);
    atomic_signal_fence(memory_order_seq_cst);
    has_lock = false;
}

/* In an ORIGINAL stretch (measure.h), in the middle of a pattern: other calls end it, as they would end
 * holding. */
static inline bool is_watching(void)
{
    return __builtin_expect(atomic_load_explicit(&queue.watched, memory_order_relaxed), 0);
}

/* The ticket of what other calls must come here first for, or 0. */
static uint64_t announced(void)
{
    uint64_t chained = chain_oldest();
    if (chained) return chained;
    if (queue.count) return queue.held[0].ticket;
    return rename_is_on() ? queue.renamed : 0;
}

static __attribute__((noinline)) void hold_nothing(void)
{
    shim_latch("no thread can be started that would release held launches");
    queue_drain();
    chain_submit();
    atomic_store(&queue.oldest, 0);
}

bool queue_has_lock(void)
{
    return has_lock;
}

/* What chains have goes to the driver, but where a launch goes on with them. Tells other threads and the timer whether anything is
 * held. The bit stays when the queue runs empty, since
 * the next launch will likely be held too: a flush that finds nothing takes it away. */
void queue_publish(void)
{
    if (!queue.goes_on) chain_submit();
    queue.goes_on = false;
    uint64_t oldest = announced();
    uint64_t before = atomic_load_explicit(&queue.oldest, memory_order_relaxed);
    bool is_wanted = deferred_is_pending() || is_watching() || chain_has_grown();
    if (is_wanted && !shim_has_attention(ATTENTION_QUEUE)) shim_attention_set(ATTENTION_QUEUE);
    if (oldest == before) return;
    if (before || !oldest) {
        atomic_store_explicit(&queue.oldest, oldest, memory_order_release);
        return;
    }
    if (!shim_has_attention(ATTENTION_QUEUE)) shim_attention_set(ATTENTION_QUEUE);
    atomic_store(&queue.oldest, oldest); /* in one order with the timer's going to sleep and ending */
    if (!timer_held()) hold_nothing();
}

enum { LOOKS_AWAY = 1000 /* of the timer */, TIMER_LOSS = 8 };

/* --- matching --- */

/* Takes the first launches out, keeping every buffer in use by one of the entries. */
static void drop(uint32_t count)
{
    for (uint32_t i = count; i < queue.count; i++) {
        struct held gone = queue.held[i - count];
        queue.held[i - count] = queue.held[i];
        queue.held[i] = gone;
    }
    queue.count -= count;
    match_start(&queue.state);
}

typedef bool take_function(const struct match *match, struct match_state *state,
                           const struct match_launch *launch, const struct guard_view *view);
static inline bool take_by(take_function *take)
{
    uint32_t depth = queue.state.depth;
    struct held *held = &queue.held[depth];
    queue.arguments[depth] = held->arguments;
    queue.sizes[depth] = held->words_size;
    held->launch.arguments = held->arguments;
    queue.view.steps = depth + 1;
    return take(queue.match, &queue.state, &held->launch, &queue.view);
}

static bool take_next(void)
{
    return take_by(match_take);
}

/* --- what needs not be held any longer --- */

/* Issues all that need not be held any longer. With has_new the last launch has just arrived, and what a
 * pattern can take stays; false when that launch is not held but left to the caller, all before it being
 * issued. Else everything goes. */
static bool issue_matched(bool has_new)
{
    while (queue.count) {
        while (queue.state.depth < queue.count && take_next()) continue;
        bool is_taken = queue.state.depth == queue.count;
        if (is_taken && has_new && !match_is_final(queue.match, &queue.state)) return true;
        bool is_known = queue.state.group >= 0 && queue_is_bystander((uint32_t)queue.state.group);
        if (queue.state.group >= 0 && !is_known) {
            uint32_t depth = queue.state.group_depth;
            measure_keeps_apart((uint32_t)queue.state.group) ? issue_apart() : issue_group();
            drop(depth);
        } else if (has_new && queue.count == 1 && !(is_known && (rename_is_on() || deferred_is_pending()))) {
            issue_meet_alone(is_known);
            queue.is_known = is_known;
            drop(1);
            return false;
        } else if (is_known) {
            bool was_held = !has_new || queue.count > 1;
            issue_bystander();
            if (was_held) queue_account(-1);
            drop(1);
        } else {
            issue_original(&queue.held[0]);
            shim_count(COUNT_DRAINED);
            queue_account(-1);
            drop(1);
        }
    }
    return true;
}

/* --- what is followed without being held --- */

/* A pattern is complete; is_new: its last launch is not yet with the driver. True when now it is. */
static bool end_watched(bool is_new)
{
    const struct held *last = &queue.held[queue.state.group_depth - 1];
    if ((uint32_t)queue.state.group != measure_turn.target) {
        if (!queue_is_bystander((uint32_t)queue.state.group)) measure_met_rival();
        return false;
    }
    if (!measure_watches() || measure_is_late(queue.watched_ns, queue.state.group_depth)) return false;
    is_new = is_new && measure_wants_mark();
    if (is_new) held_launch(last);
    measure_watched(last->stream);
    issue_disable_losers();
    return is_new;
}

/* As issue_matched, for launches that are with the driver already, but for the last one with has_new: whether a pattern takes
 * that is noted. */
static bool watch_matched(bool has_new)
{
    bool is_issued = false;
    while (queue.count) {
        while (queue.state.depth < queue.count && take_next()) continue;
        bool is_taken = queue.state.depth == queue.count;
        if (is_taken && has_new && !match_is_final(queue.match, &queue.state)) break;
        uint32_t depth = queue.state.group >= 0 ? queue.state.group_depth : 1;
        if (has_new && queue.count == 1 && !queue.state.depth) queue.is_known = false;
        if (queue.state.group >= 0) is_issued = end_watched(has_new && depth == queue.count);
        drop(depth);
    }
    return is_issued;
}

static void set_watched(uint32_t count)
{
    queue.count = 0;
    atomic_store_explicit(&queue.watched, count, memory_order_relaxed);
}

/* Nothing more will come of the pattern. */
static void end_watching(void)
{
    if (!is_watching()) return;
    queue.count = queue.watched;
    watch_matched(false);
    set_watched(0);
}

/* In any thread: the launches go to the context in which they were made. What is pending stays so. */
static void drain_held(void)
{
    if (!announced()) return;
    bool is_pushed = queue_push_context();
    issue_matched(false);
    issue_restore();
    queue_pop_context(is_pushed);
}

void queue_drain(void)
{
    end_watching();
    drain_held();
}

/* What has been materialised is there for who is ordered behind the use by the host alone: by a wait that was
 * over after it. Then nothing that waits for the host stands before the rematerialisation. */
static void await_materialised(void)
{
    chain_submit();
    if (home_on() && home_unsettled())
        home_settle();
    else if (queue.has_waited)
        shim_remember_error(REAL(cuCtxSynchronize)());
}

static void materialise(bool others)
{
    if (!deferred_is_pending() && !(others && home_on() && home_unsettled())) return;
    bool is_pushed = queue_push_context();
    deferred_materialise_all();
    if (others || is_pushed) await_materialised();
    queue_pop_context(is_pushed);
}

/* Work is about to go to a stream; all that it may touch is materialised. */
static void meet_stream(CUstream stream)
{
    if (!home_on()) return;
    bool is_pushed = queue_push_context();
    if (is_pushed) home_lose();
    home_meet(is_pushed ? HOME_ANY : stream);
    queue_pop_context(is_pushed);
}

/* Work that may wait for somebody is about to go to the driver. Nothing is pending. */
static void meet_unknown(CUstream stream)
{
    through_meet_unknown();
    if (home_on()) home_meet_unknown(stream);
}

/* What this thread has not given the device, nobody has. */
bool queue_is_alone(void)
{
    return queue_knows_thread && !queue_has_threads() && !deferred_is_forbidden() && !queue.has_streams;
}

bool queue_bars(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD && (!own_stream_on() || !queue_is_alone() || through_on());
}

/* The wait that was passed is made up for. */
void queue_settle(void)
{
    if (!through_owes()) return;
    queue_drain();
    bool is_pushed = queue_push_context();
    chain_submit();
    CUresult result = REAL(cuCtxSynchronize)();
    queue_pop_context(is_pushed);
    if (deferred_is_pending()) queue.has_waited = true;
    queue_is_alone() ? through_waited() : through_settled();
    shim_remember_error(result);
    if (shim_has_attention(ATTENTION_ERROR)) through_meet_unknown(); /* waits tell of it again */
}

/* In another context nothing is ordered behind what is under way. */
static void settle_for_others(void)
{
    if (through_owes() && track_current_context() != queue.context) queue_settle();
}

void queue_drain_and_materialise(bool others)
{
    queue_drain();
    materialise(others);
}

/* --- holding --- */

/* Each context has such a stream. */
static bool is_of_context(CUstream stream)
{
    return queue_same_stream(stream, NULL) || stream == CU_STREAM_PER_THREAD;
}

/* Nothing that is held belongs to another context or to a capture: both can change only by calls that flush,
 * except that the default stream is that of the current context. */
static bool is_holdable(CUstream stream, bool is_first)
{
    bool is_default = is_of_context(stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!is_first && !is_default) return true;
    if (track_current_context() != queue.context) {
        shim_latch("a second context launches kernels of the plan");
        return false;
    }
    if (!is_first) return true;
    return REAL(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Copies the launch behind those that are held. */
static inline __attribute__((always_inline)) bool append(const struct record_shape *shape,
                                                         const struct track_kernel *kernel, uint32_t index)
{
    struct held *held = &queue.held[queue.count];
    long size =
        track_kernel_arguments(kernel, shape->parameters, shape->extra, held->arguments, queue.buffer_size);
    if (size < 0 || queue.count + 1 >= queue.capacity) return false;
    held->function = shape->function;
    held->stream = shape->stream;
    held->memop = queue.plan->kernels[index].memop;
    held->memop_width = queue.plan->kernels[index].memop_width;
    held->launch.kernel = index;
    memcpy(held->launch.grid, shape->grid, sizeof held->launch.grid);
    memcpy(held->launch.block, shape->block, sizeof held->launch.block);
    held->launch.dynamic_shared = shape->dynamic_shared;
    held->launch.arguments_size = held->words_size = (uint32_t)size;
    if (queue.plan->kernels[index].variable_count && !queue_append_variables(held, kernel, index))
        return false;
    if (queue.plan->kernels[index].sum_count && !queue_append_sums(held, index)) return false;
    held->ticket = ++queue.tickets;
    queue.count++;
    return true;
}

/* The one launch that is held is the caller's to make, and followed. Chains begin with each use, so that they come again: originals
 * are to be as fast as they would be without the group. */
static void begin_watching(void)
{
    chain_cut();
    set_watched(queue.count);
    queue.watched_ns = blocked_clock_ns();
    drain_held();
    materialise(false);
}

static uint64_t oldest(void)
{
    return atomic_load(&queue.oldest);
}

/* What is away holds nothing up: a loop whose host waits for the device makes its next use some time. Only
 * who watches the array by other means than the driver would miss it for so long. In the timer's thread. */
static bool may_stay_away(uint64_t ticket)
{
    static uint64_t seen;
    static uint32_t looks;
    if (ticket != seen) looks = 0;
    seen = ticket;
    return ++looks < LOOKS_AWAY;
}

static void release(uint64_t ticket)
{
    queue_enter();
    if (announced() == ticket && chain_oldest()) {
        chain_submit_late();
        queue.goes_on = true;
        queue_publish();
    } else if (announced() == ticket && (queue.count || !may_stay_away(ticket))) {
        if (queue.count) {
            shim_count(COUNT_TIMER);
            queue_account(-TIMER_LOSS);
        }
        queue_drain();
        queue_publish();
    }
    queue_leave();
}

enum watch_outcome { WATCH_CALLER, WATCH_ISSUED, WATCH_HOLD };
/* A launch in the middle of a pattern that is followed. WATCH_CALLER: it is the caller's to make, and all is
 * ready for it. WATCH_HOLD: it goes on with none, and may be held. */
static enum watch_outcome watch(const struct record_shape *shape, const struct track_kernel *kernel,
                                uint32_t index)
{
    bool goes_on = queue_same_stream(queue.held[0].stream, shape->stream);
    if (!goes_on || !is_holdable(shape->stream, false)) {
        end_watching();
        return WATCH_HOLD;
    }
    drain_held();
    materialise(false);
    meet_stream(shape->stream);
    queue.count = queue.watched;
    if (!append(shape, kernel, index)) {
        end_watching();
        return WATCH_HOLD;
    }
    bool is_issued = watch_matched(true), is_fresh = queue.count == 1;
    if (is_fresh) drop(1);
    set_watched(queue.count);
    return is_issued ? WATCH_ISSUED : is_fresh ? WATCH_HOLD : WATCH_CALLER;
}

/* Before a launch of which nothing is known. */
static void give_way(void)
{
    queue.is_memop ? queue_drain() : queue_drain_and_materialise(false);
}

/* With the lock. False: the launch is the caller's to make, and all is ready for it. */
static bool hold(const struct record_shape *shape, const struct track_kernel *kernel, uint32_t index)
{
    if (queue_bars(shape->stream)) {
        queue.is_known = false;
        give_way();
        return false;
    }
    if (is_watching()) {
        queue.is_known = true;
        enum watch_outcome outcome = watch(shape, kernel, index);
        if (outcome != WATCH_HOLD) return outcome == WATCH_ISSUED;
    }
    queue.is_known = false;
    if (queue.count && !queue_same_stream(queue.held[0].stream, shape->stream)) queue_drain();
    if (rename_is_on() && !queue_same_stream(rename_stream(), shape->stream)) issue_restore();
    bool is_first = !queue.count;
    if (!starts_is_bound(index)) starts_bind(index, kernel->parameters, kernel->record.parameter_count);
    if (!append(shape, kernel, index)) {
        give_way();
        return false;
    }
    if (is_first && !take_next()) {
        drop(1);
        give_way();
        return false;
    }
    if (!is_holdable(shape->stream, is_first)) {
        if (!--queue.count) match_start(&queue.state);
        give_way();
        return false;
    }
    if (!issue_matched(true)) return false;
    if (queue.count == 1 && atomic_load_explicit(&queue.paused, memory_order_relaxed)) { /* since just now */
        drop(1);
        give_way();
        return false;
    }
    if (measure_goes_ahead() && queue.count == 1 &&
        match_follows(queue.match, &queue.state, measure_turn.target)) {
        begin_watching();
        queue.is_known = true;
        return false;
    }
    shim_count(COUNT_HELD);
    return true;
}

/* With the lock: the usual way of hold, for a launch in the middle of a pattern. False: nothing is done. */
static bool follow(const struct record_shape *shape, const struct track_kernel *kernel, uint32_t index)
{
    if (queue.state.only == MATCH_NONE || queue.state.depth != queue.count) return false;
    if (queue.held[0].stream != shape->stream || queue_bars(shape->stream) || !append(shape, kernel, index))
        return false;
    bool is_default = is_of_context(shape->stream);
    if ((!is_default || track_current_context() == queue.context) && take_by(match_take_only)) return true;
    queue.count--;
    return false;
}

static void pass_by(CUstream stream);
static bool may_hold(const struct record_shape *shape, const struct track_kernel *kernel, int32_t index)
{
    if (index < 0 || (shape->flags & ~TRACE_LAUNCH_PER_THREAD) || shim_is_latched() || track_is_capturing())
        return false;
    if (!atomic_load_explicit(&queue.groups_on, memory_order_acquire)) return false;
    if (shape->dynamic_shared + (uint64_t)kernel->record.static_shared > QUEUE_PLAIN_SHARED) return false;
    if (queue_bars(shape->stream)) return false;
    return oldest() || deferred_is_pending() || is_watching() || queue_may_start(shape, (uint32_t)index);
}

/* Before a launch that begins no pattern: it is not held. */
static bool meet_stranger(void)
{
    measure_note_wait();
    queue.is_known = false;
    if (announced() || deferred_is_pending() || is_watching()) queue_drain_and_materialise(false);
    return false;
}

bool queue_launch(const struct record_shape *shape, const struct track_kernel *kernel, int32_t index)
{
    if (has_lock) return false;
    queue_meet_thread();
    queue_meet_stream(shape->stream);
    bool may = may_hold(shape, kernel, index);
    if (!may && !queue_may_chain(shape, kernel)) {
        if (shim_has_attention(ATTENTION_QUEUE)) pass_by(shape->stream);
        return false;
    }
    queue_enter();
    if (may && follow(shape, kernel, (uint32_t)index)) {
        queue_leave();
        shim_count(COUNT_HELD);
        return true;
    }
    queue.goes_on = may ? hold(shape, kernel, (uint32_t)index) : meet_stranger();
    if (!queue.goes_on) {
        queue.is_known ? settle_for_others() : queue_settle();
        meet_stream(shape->stream);
        if (!queue.is_known) meet_unknown(shape->stream);
        queue.goes_on = queue_may_chain(shape, kernel) && queue_take_in_chain(shape, kernel);
    }
    bool is_held = queue.goes_on;
    queue_publish();
    queue_leave();
    return is_held;
}

/* A stranger is left to queue_touch, which knows what it touches. */
enum memop_outcome queue_memop(const struct record_shape *shape, const struct track_kernel *kernel,
                               int32_t index)
{
    if (has_lock) return MEMOP_OTHER;
    queue_meet_thread();
    if (!may_hold(shape, kernel, index)) return MEMOP_OTHER;
    queue_enter();
    queue.is_memop = true;
    bool is_held = follow(shape, kernel, (uint32_t)index) || hold(shape, kernel, (uint32_t)index);
    queue.is_memop = false;
    queue.goes_on = is_held;
    if (is_held) shim_count(COUNT_LAUNCHES);
    enum memop_outcome outcome = is_held ? MEMOP_TAKEN : queue.is_known ? MEMOP_READY : MEMOP_OTHER;
    if (outcome == MEMOP_READY) {
        settle_for_others();
        meet_stream(shape->stream);
    }
    queue_publish();
    queue_leave();
    return outcome;
}

/* The bit is a leftover of an earlier group: taken away only with the lock, and only if that costs no
 * waiting. */
static void forget_attention(void)
{
    has_lock = true; /* as in enter */
    atomic_signal_fence(memory_order_seq_cst);
    if (queue_lock_try(&queue.lock)) {
        end_watching();
        if (!announced()) chain_submit(); /* it begins with short ones again */
        if (!announced() && !deferred_is_pending() && !queue_wants_calls())
            shim_attention_clear(ATTENTION_QUEUE);
        queue_lock_give(&queue.lock);
    }
    atomic_signal_fence(memory_order_seq_cst);
    has_lock = false;
}

/* Nothing is to be done; takes the bit away. */
static bool is_idle(void)
{
    if (has_lock) return true;
    if (atomic_load_explicit(&queue.oldest, memory_order_acquire) || deferred_is_pending() ||
        through_owes() || own_stream_has_lent())
        return false;
    forget_attention();
    return true;
}

/* Before what gives the stream work of which the plan does not know. It may wait for the host, so no wait is owed by then. */
static void pass_by(CUstream stream)
{
    measure_note_wait();
    if (home_on() || !is_idle()) {
        queue_enter();
        queue_drain_and_materialise(false);
        meet_stream(stream);
        own_stream_join();
        queue_settle();
        meet_unknown(stream);
        queue_publish();
        queue_leave();
        forget_attention();
    }
    through_meet_unknown(); /* the work comes behind what has been waited for */
}

void queue_flush(void)
{
    if (through_on() || own_stream_on() || home_on()) queue_meet_thread();
    pass_by(HOME_ANY);
}

/* Before a call that waits, asks or marks. */
static void look_on(bool waits)
{
    if (is_idle() || (!oldest() && !through_owes() && !own_stream_has_lent())) return;
    queue_enter();
    queue_drain();
    own_stream_join();
    if (waits)
        queue_settle();
    else
        settle_for_others();
    queue_publish();
    queue_leave();
    forget_attention();
}

void queue_mark(void)
{
    if (through_on() || own_stream_on()) queue_meet_thread();
    look_on(false);
    through_meet_unknown();
}

static void wait_behind(bool settles)
{
    measure_note_wait();
    if (deferred_is_pending()) queue.has_waited = true;
    look_on(settles);
}

void queue_wait(void)
{
    wait_behind(true);
}

/* That all of the program's launches go to. */
static bool is_only_stream(CUstream stream)
{
    return queue_is_alone() && queue_same_stream(stream, NULL) && queue.context &&
           track_current_context() == queue.context && !track_is_capturing();
}

bool queue_pass_wait(CUstream stream)
{
    bool passes = false;
    if (through_on() && !has_lock) {
        queue_meet_thread();
        queue_enter(); /* another thread may be making up for the last one */
        deferred_look_at_news();
        passes = through_on() && is_only_stream(stream) && !shim_is_latched() && through_pass();
        queue_leave();
    }
    if (!passes) wait_behind(false);
    return passes;
}

/* The thread's own stream needs no making. */
static bool is_rest_done(void)
{
    return !through_has_unknown() || REAL(cuStreamQuery)(CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
}

static void note_wait(CUstream stream, bool for_all)
{
    queue_enter();
    bool is_working = queue_knows_thread && !queue_has_threads();
    if (home_on() && is_working && track_current_context() == queue.context) home_waited(stream, for_all);
    queue_leave();
}

void queue_waited(CUstream stream, bool for_all, CUresult result)
{
    if (has_lock || result != CUDA_SUCCESS) return;
    if (home_on()) note_wait(stream, for_all);
    if (!through_on() || !is_only_stream(stream)) return;
    if (for_all || is_rest_done()) through_waited();
}

void queue_touch(const struct deferred_touch *touches, uint32_t count, CUstream stream)
{
    measure_note_wait();
    queue_meet_stream(stream);
    if (!home_on() && is_idle()) return;
    queue_enter();
    queue_drain();
    own_stream_join();
    bool is_pushed = queue_push_context(), has_materialised = false;
    for (uint32_t i = 0; i < count; i++) has_materialised |= deferred_resolve_touch(&touches[i], !is_pushed);
    if (has_materialised && is_pushed) await_materialised();
    if (is_pushed) home_lose();
    home_meet(is_pushed ? HOME_ANY : stream);
    queue_pop_context(is_pushed);
    settle_for_others();
    queue_publish();
    queue_leave();
    forget_attention();
}

void queue_finish(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; waited < 1000 && !has_lock; waited++) {
        if (queue_lock_try(&queue.lock)) {
            has_lock = true;
            queue_drain();
            queue_publish();
            measure_finish();
            queue_leave();
            return;
        }
        nanosleep(&pause, NULL);
    }
    log_write(LOG_WARNING, "queue", "at exit another thread is still in the driver with what was held");
}

/* --- start --- */

bool queue_start(const struct plan *plan)
{
    static const struct timer_source source = {oldest, release};
    queue.match = match_create(plan);
    if (!queue.match || !queue_reserve(plan) || !starts_create(plan) || !variables_start(plan) ||
        !deferred_start(plan) || !memop_start(plan))
        return false;
    if (!chain_start()) return false;
    through_start();
    own_stream_start();
    contents_start(plan);
    queue.plan = plan;
    /* Where launches wait for the device, the host may look at managed memory behind each. */
    bool is_open = !setting_is_on("CUDA_LAUNCH_BLOCKING");
    queue.view = (struct guard_view){.arguments = queue.arguments,
                                     .argument_sizes = queue.sizes,
                                     .allocation = track_memory_plain,
                                     .open_allocation = is_open ? track_memory_open : NULL,
                                     .generation = track_memory_generation};
    match_start(&queue.state);
    timer_prepare(&source);
    return true;
}

void queue_fork_child(void)
{
    atomic_store(&queue.lock, QUEUE_LOCK_FREE);
    atomic_store(&queue.oldest, 0);
    atomic_store(&queue.groups_on, 0);
    set_watched(0);
    has_lock = false;
    chain_fork_child();
    measure_fork_child();
    screen_forget();
    through_fork_child();
    own_stream_is_on = own_stream_is_lent = false;
    rename_forget();
    shadow_forget();
    arrivals_forget();
    deferred_forget();
    home_end();
    home_forget();
    timer_fork_child();
}
