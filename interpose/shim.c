/* SPDX-License-Identifier: Apache-2.0
 * Modes and life of the preloaded library. KFUSE_RECORD, KFUSE_PLAN or neither decide what it does; the
 * decision falls at the program's first successful cuInit, so that processes which never use a GPU touch no
 * file. */
#include "interpose/shim.h"

#include "common/cache.h"
#include "common/log.h"
#include "common/outlet.h"
#include "common/setting.h"
#include "common/trusted.h"
#include "common/waits.h"
#include "interpose/contents.h"
#include "interpose/gate.h"
#include "interpose/own_thread.h"
#include "interpose/queue.h"
#include "interpose/record.h"
#include "interpose/replay.h"
#include "interpose/track.h"
#include "interpose/verify.h"
#include "profiler/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum shim_mode { MODE_UNDECIDED, MODE_WAITING, MODE_OFF, MODE_RECORD, MODE_REPLAY };

_Atomic uint32_t shim_attention = ATTENTION_START;
atomic_bool shim_has_latched;
struct shim_count_slot shim_counts[COUNT_SLOTS];
__thread struct shim_count_slot *shim_own_counts;

static struct shim {
    pthread_once_t opened;
    atomic_flag has_begun;
    pthread_mutex_t lock; /* of the decision in the default mode */
    _Atomic int mode;
    _Atomic int error;                       /* CUresult */
    bool is_child;                           /* of a fork: nothing of ours runs any more */
    struct outlet stats;                     /* path NULL: none */
    char pending[PATH_MAX], final[PATH_MAX]; /* a trace under its temporary name and its own; or empty */
} shim = {.opened = PTHREAD_ONCE_INIT, .has_begun = ATOMIC_FLAG_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

void shim_attention_set(uint32_t bits)
{
    atomic_fetch_or_explicit(&shim_attention, bits, memory_order_seq_cst);
}

void shim_attention_clear(uint32_t bits)
{
    atomic_fetch_and_explicit(&shim_attention, ~bits, memory_order_seq_cst);
}

/* --- latch and errors --- */

static void latch(enum log_level level, const char *reason)
{
    shim_count(COUNT_REFUSED);
    if (atomic_exchange(&shim_has_latched, true)) return;
    log_write(level, "shim", "launches pass through unchanged from now on: %s", reason);
}

void shim_latch(const char *reason)
{
    latch(LOG_WARNING, reason);
}

void shim_latch_quietly(const char *reason)
{
    latch(LOG_DEBUG, reason);
}

void shim_latch_format(const char *format, ...)
{
    char reason[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    shim_latch(reason);
}

void shim_remember_error(CUresult error)
{
    int none = CUDA_SUCCESS;
    if (error == CUDA_SUCCESS || error == CUDA_ERROR_DEINITIALIZED) return;
    through_meet_unknown();
    if (atomic_compare_exchange_strong(&shim.error, &none, (int)error)) shim_attention_set(ATTENTION_ERROR);
}

CUresult shim_take_error(CUresult result)
{
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) return result;
    shim_attention_clear(ATTENTION_ERROR); /* first: an error that comes now sets it again */
    CUresult earlier = (CUresult)atomic_exchange(&shim.error, CUDA_SUCCESS);
    return earlier != CUDA_SUCCESS ? earlier : result;
}

/* --- flushing --- */

void shim_flush(void)
{
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (shim_has_attention(ATTENTION_QUEUE)) queue_flush();
}

void shim_wait(void)
{
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (shim_has_attention(ATTENTION_QUEUE)) queue_wait();
}

bool shim_pass_wait(CUstream stream)
{
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    return shim_has_attention(ATTENTION_QUEUE) && queue_pass_wait(stream);
}

void shim_mark(void)
{
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (shim_has_attention(ATTENTION_QUEUE)) queue_mark();
}

void shim_copy(const struct shim_copy *copy)
{
    const struct deferred_touch touches[] = {{.address = copy->from, .bytes = copy->from ? copy->bytes : 0},
                                             {.address = copy->to, .bytes = copy->bytes, .is_written = true}};
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (shim_has_attention(ATTENTION_QUEUE)) queue_touch(touches, 2, copy->stream);
}

void shim_free(uint64_t address, CUstream stream)
{
    uint64_t start, size;
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
    if (!shim_has_attention(ATTENTION_QUEUE)) return;
    if (track_memory_plain(NULL, address, &start, &size) && start == address)
        queue_touch(&(struct deferred_touch){start, size, .is_written = true, .is_freed = true}, 1, stream);
    else
        queue_flush();
}

void shim_wall(enum entry entry)
{
    if (waits_only(entry_name(entry)))
        shim_wait();
    else
        shim_flush();
    record_wall(entry_name(entry), NULL, true);
}

/* --- the span that launches take --- */

atomic_bool shim_has_span;
static struct span {
    _Atomic int64_t begin_ns, end_ns;
} span;

int64_t shim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void shim_span_begin(void)
{
    int64_t none = 0, now = shim_now_ns();
    shim_attention_clear(ATTENTION_SPAN);
    if (!atomic_compare_exchange_strong(&span.begin_ns, &none, now)) return;
    atomic_store(&span.end_ns, now);
    atomic_store(&shim_has_span, true);
}

void shim_span_extend(void)
{
    atomic_store_explicit(&span.end_ns, shim_now_ns(), memory_order_relaxed);
}

/* --- start --- */

static void fork_child(void)
{
    shim.is_child = true;
    atomic_store(&shim_has_latched, true);
    atomic_store(&shim.mode, MODE_OFF);
    atomic_store(&shim.error, CUDA_SUCCESS);
    recorder_is_active = false;
    shim_attention_clear(ATTENTION_QUEUE | ATTENTION_ERROR | ATTENTION_RECORD | ATTENTION_SPAN |
                         ATTENTION_VERIFY | ATTENTION_MEASURE | ATTENTION_CONTENTS);
    contents_fork_child();
    entry_fork_child();
    track_fork_child();
    queue_fork_child();
    gate_fork_child();
    verify_fork_child();
}

static void open_once(void)
{
    log_open();
    pthread_atfork(NULL, NULL, fork_child);
    const char *stats = setting_text("KFUSE_STATS");
    if (stats) {
        shim.stats = outlet_of(stats);
        shim_attention_set(ATTENTION_SPAN);
    }
    if (getauxval(AT_SECURE)) { /* nothing is read from the environment, which says where plans are */
        atomic_store(&shim.mode, MODE_OFF);
        shim_latch_quietly("the process has raised privileges");
    } else if (setting_is_on("KFUSE_DISABLE")) {
        atomic_store(&shim.mode, MODE_OFF);
        shim_latch("KFUSE_DISABLE is set");
    } else if (verify_is_asked()) {
        shim_attention_set(ATTENTION_VERIFY);
    }
}

void shim_open(void)
{
    pthread_once(&shim.opened, open_once);
}

static void shim_exit(void);

/* Not by pthread_once: what is opened here may call cuInit itself. */
void shim_begin(void)
{
    const char *trace = setting_text("KFUSE_RECORD"), *plan = setting_text("KFUSE_PLAN");
    if (shim.is_child || atomic_load(&shim.mode) == MODE_OFF || atomic_flag_test_and_set(&shim.has_begun))
        return;
    if (trace)
        atomic_store(&shim.mode, record_open(trace) ? MODE_RECORD : MODE_OFF);
    else if (plan)
        atomic_store(&shim.mode, replay_open(plan) ? MODE_REPLAY : MODE_OFF);
    else
        atomic_store(&shim.mode, MODE_WAITING);
    if (atomic_load(&shim.mode) != MODE_WAITING && !replay_is_on()) shim_attention_clear(ATTENTION_VERIFY);
    shim_exit_first();
}

/* Handlers run in reverse order: ours must come before those of the driver and of CUPTI, which both register
 * theirs while they start. */
void shim_exit_first(void)
{
    atexit(shim_exit);
}

/* --- the default mode: the user's cache folder --- */

/* Like mkdir -p. */
static bool make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_there) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Made if need be. False: it cannot be used, as the log says. */
static bool is_cache_usable(char *folder)
{
    char why[PATH_MAX + 128] = "";
    int opened = make_folder(folder) ? trusted_open(folder, O_DIRECTORY, why, sizeof why) : -1;
    if (opened >= 0) close(opened);
    if (opened >= 0) return true;
    if (why[0])
        shim_latch_format("%s; or set KFUSE_CACHE to another folder", why);
    else
        shim_latch_format("the folder %s cannot be used: %s; set KFUSE_CACHE to one that can", folder,
                          strerror(errno));
    return false;
}

static enum shim_mode decide(const char *key)
{
    char folder[PATH_MAX - 128], plan[PATH_MAX];
    if (!cache_folder(folder, sizeof folder)) {
        shim_latch("no folder for traces and plans: set KFUSE_CACHE");
        return MODE_OFF;
    }
    if (!is_cache_usable(folder)) return MODE_OFF;
    snprintf(plan, sizeof plan, "%s/%s.kfplan", folder, key);
    if (access(plan, F_OK) == 0) return replay_open(plan) ? MODE_REPLAY : MODE_OFF;
    snprintf(shim.final, sizeof shim.final, "%s/%s.kftrace", folder, key);
    if (access(shim.final, F_OK) == 0) {
        log_write(LOG_INFO, "shim", "%s waits for `kfuse plan`", shim.final);
        return MODE_OFF;
    }
    if (access(folder, W_OK)) {
        shim_latch_format("the folder %s cannot be written: %s; set KFUSE_CACHE to one that can", folder,
                          strerror(errno));
        return MODE_OFF;
    }
    snprintf(shim.pending, sizeof shim.pending, "%s/.%s.%ld.kftrace", folder, key, (long)getpid());
    return record_open(shim.pending) ? MODE_RECORD : MODE_OFF;
}

void shim_consider_module(const char *hash_text)
{
    if (atomic_load_explicit(&shim.mode, memory_order_acquire) != MODE_WAITING || shim_is_latched()) return;
    pthread_mutex_lock(&shim.lock);
    if (atomic_load(&shim.mode) == MODE_WAITING) {
        atomic_store(&shim.mode, decide(hash_text));
        if (!replay_is_on()) shim_attention_clear(ATTENTION_VERIFY);
    }
    pthread_mutex_unlock(&shim.lock);
}

/* --- exit --- */

struct shim_count_slot *shim_take_counts(void)
{
    shim_own_counts = &shim_counts[track_thread_id() % COUNT_SLOTS];
    return shim_own_counts;
}

static unsigned long long total(enum shim_counter counter)
{
    uint64_t sum = 0;
    for (int i = 0; i < COUNT_SLOTS; i++) sum += atomic_load(&shim_counts[i].counts[counter]);
    return sum;
}

static void write_stats(void)
{
    static const char *const names[COUNT_KINDS] = {
        [COUNT_LAUNCHES] = "launches",     [COUNT_ISSUED] = "issued",
        [COUNT_FUSED] = "fused",           [COUNT_HELD] = "held",
        [COUNT_DRAINED] = "drained",       [COUNT_TIMER] = "timer_releases",
        [COUNT_REFUSED] = "refused",       [COUNT_RENAMED] = "renamed",
        [COUNT_RESTORES] = "restores",     [COUNT_MIRRORED] = "mirrored",
        [COUNT_REDIRECTED] = "redirected", [COUNT_STALE] = "stale",
        [COUNT_MATERIALISED] = "paid",     [COUNT_STRETCHES] = "measured_stretches",
        [COUNT_LOSERS] = "switched_off",   [COUNT_PASSED] = "waits_passed",
        [COUNT_CHAINS] = "chains",         [COUNT_CHAINED] = "chained"};
    char *text = NULL;
    size_t size = 0;
    FILE *file = shim.stats.path ? open_memstream(&text, &size) : NULL;
    if (!file) return;
    for (int i = 0; i < COUNT_KINDS; i++) fprintf(file, "%s %llu\n", names[i], total((enum shim_counter)i));
    fprintf(file, "span_us %lld\n",
            (long long)(atomic_load(&span.end_ns) - atomic_load(&span.begin_ns)) / 1000);
    replay_write_stats(file);
    verify_write_stats(file);
    if (fclose(file) || !outlet_write(&shim.stats, text, size))
        log_write(LOG_WARNING, "shim", "%s cannot be written: %s", shim.stats.path, strerror(errno));
    free(text);
}

/* At exit, before the driver goes; and when the library is unloaded. Twice is once. */
static void shim_exit(void)
{
    static atomic_bool is_done;
    if (shim.is_child || atomic_load(&shim.mode) == MODE_UNDECIDED || atomic_exchange(&is_done, true)) return;
    own_thread_exits();
    bool was_latched =
        atomic_exchange(&shim_has_latched, true); /* first: other threads may go on launching */
    if (shim_has_attention(ATTENTION_QUEUE) || replay_is_on()) queue_finish();
    recorder_close(TRACE_END_EXIT);
    shim_attention_clear(ATTENTION_RECORD);
    if (shim.pending[0] && rename(shim.pending, shim.final))
        log_write(LOG_WARNING, "shim", "%s cannot be named %s: %s", shim.pending, shim.final,
                  strerror(errno));
    write_stats();
    if (!was_latched && total(COUNT_LAUNCHES) && !total(COUNT_HELD)) replay_tell_unused();
    verify_finish();
}

__attribute__((destructor)) static void shim_destructor(void)
{
    shim_exit();
}
