/* SPDX-License-Identifier: Apache-2.0
 * Verification; see verify.h. Everything but the start and the writing of results happens with the queue's
 * lock. */
#include "interpose/verify.h"

#include "common/log.h"
#include "common/own_write.h"
#include "common/setting.h"
#include "interpose/gate.h"
#include "interpose/shim.h"
#include "interpose/track.h"
#include "interpose/verify_memory.h"
#include "interpose/verify_rest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_USES = 3, MOST_USES = 1000000, DEFAULT_MIB = 256, DEFAULT_WAIT_MS = 5000 };

struct verified_group {
    _Atomic uint64_t uses, mismatches, bytes;
    atomic_bool is_over; /* verified, or off */
    char reason[160];    /* why it is off; set before is_over */
};

static struct verify {
    uint32_t uses; /* that each variant must pass; 0: verification is off */
    uint64_t limit;
    unsigned wait_ms;
    const struct plan *plan;
    char directory[PATH_MAX];
    struct verified_group *groups;
    uint32_t *left;             /* by variant of the plan: uses that must still be verified */
    _Atomic uint32_t pending;   /* groups that are not over */
    _Atomic(CUcontext) context; /* in which work has been submitted */
    _Atomic(const char *) end;  /* why nothing is verified any more, or NULL */
    struct verify_memory memory;
} verify;

/* --- start --- */

bool verify_is_asked(void)
{
    return setting_is_on("KFUSE_VERIFY");
}

static uint32_t most_ranges(const struct plan *plan)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        const struct plan_group *group = &plan->groups[i];
        uint32_t words = 0;
        for (uint32_t v = 0; v < group->variant_count; v++)
            if (plan->variants[group->first_variant + v].parameter_bytes / 8 > words)
                words = plan->variants[group->first_variant + v].parameter_bytes / 8;
        if (2 * group->effect_count + words > most) most = 2 * group->effect_count + words;
    }
    return most;
}

bool verify_start(const struct plan *plan, const char *directory)
{
    const uint32_t groups = plan->header->groups.count;
    if (!verify_is_asked()) return true;
    long uses = setting_number("KFUSE_VERIFY", 1, MOST_USES, DEFAULT_USES);
    verify.limit = (uint64_t)setting_number("KFUSE_VERIFY_MIB", 0, INT_MAX, DEFAULT_MIB) << 20;
    verify.wait_ms = (unsigned)setting_number("KFUSE_VERIFY_WAIT_MS", 0, INT_MAX, DEFAULT_WAIT_MS);
    verify.plan = plan;
    snprintf(verify.directory, sizeof verify.directory, "%s", directory);
    verify.groups = calloc((size_t)groups + 1, sizeof *verify.groups);
    verify.left = calloc((size_t)plan->header->variants.count + 1, sizeof *verify.left);
    if (!verify.groups || !verify.left || !verify_memory_reserve(&verify.memory, most_ranges(plan)))
        return false;
    for (uint32_t i = 0; i < plan->header->variants.count; i++) verify.left[i] = (uint32_t)uses;
    atomic_store(&verify.pending, groups);
    verify.uses = (uint32_t)uses;
    return true;
}

bool verify_allows(const struct plan_group *group)
{
    return verify.uses || !(group->flags & PLAN_NEEDS_VERIFICATION);
}

/* --- what is over --- */

/* When that was the last one, calls take their fast path: not before the gate is open again. */
static void end_group(uint32_t group)
{
    if (atomic_exchange(&verify.groups[group].is_over, true)) return;
    if (atomic_fetch_sub(&verify.pending, 1) == 1) shim_attention_clear(ATTENTION_VERIFY);
}

__attribute__((format(printf, 2, 3))) static enum verify_outcome give_up(uint32_t group, const char *format,
                                                                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verify.groups[group].reason, sizeof verify.groups[group].reason, format, arguments);
    va_end(arguments);
    return VERIFY_IMPOSSIBLE;
}

const char *verify_reason(uint32_t group)
{
    return verify.groups[group].reason;
}

void verify_forget(uint32_t group)
{
    if (!verify.uses || atomic_load(&verify.groups[group].is_over)) return;
    give_up(group, "it could not be used");
    end_group(group);
}

bool verify_wants(uint32_t group, uint32_t variant)
{
    return verify.uses && verify.left[verify.plan->groups[group].first_variant + variant];
}

/* Memory that others may write from now on, whatever this process waits for. */
void verify_notice(enum entry entry)
{
    static const enum entry sharing[] = {ENTRY_cuIpcGetMemHandle, ENTRY_cuCtxEnablePeerAccess,
                                         ENTRY_cuMulticastBindAddr, ENTRY_cuMemGetHandleForAddressRange,
                                         ENTRY_cuPointerSetAttribute};
    for (size_t i = 0; i < sizeof sharing / sizeof sharing[0]; i++)
        if (entry == sharing[i]) atomic_store(&verify.end, "the program shares device memory with others");
}

/* Only one context is waited for. */
static const char several_contexts[] = "the program uses several contexts";

void verify_notice_context(void)
{
    CUcontext first = NULL, context = track_current_context();
    if (!context || atomic_compare_exchange_strong(&verify.context, &first, context) || first == context)
        return;
    atomic_store(&verify.end, several_contexts);
}

/* Also those of other devices, whose streams may copy. */
static bool has_many_contexts(void)
{
    uint32_t contexts = 0;
    int devices = 0;
    if (REAL(cuDeviceGetCount)(&devices) != CUDA_SUCCESS) devices = 0;
    for (CUdevice device = 0; device < devices; device++) {
        unsigned flags = 0;
        int is_active = 0;
        if (REAL(cuDevicePrimaryCtxGetState)(device, &flags, &is_active) == CUDA_SUCCESS && is_active)
            contexts++;
    }
    return contexts > 1;
}

/* --- the memory of a use --- */

static const char *collect_written(const struct verify_use *use)
{
    const struct plan_group *group = &verify.plan->groups[use->group];
    verify_memory_clear(&verify.memory);
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &verify.plan->effects[group->first_effect + i];
        uint64_t pointer, start, size;
        bool is_unordered = effect->kind == PLAN_WRITES_UNORDERED;
        if (effect->kind != PLAN_WRITES && !is_unordered) continue;
        if (is_unordered && group->flags & PLAN_NEEDS_VERIFICATION)
            return "the order of its floating-point atomics is open: no two runs need agree";
        memcpy(&pointer, use->arguments[effect->step] + effect->offset, sizeof pointer);
        uint64_t from = pointer + (uint64_t)effect->from, to = pointer + (uint64_t)effect->to;
        if (!track_memory_written(from, &start, &size) || to < from || to - start > size)
            return "it writes memory that is not a plain device allocation";
        if (!effect->is_exact) from = start, to = start + size;
        verify_memory_add(&verify.memory, from, to, !is_unordered);
    }
    return verify.memory.count ? NULL : "the plan does not say what it writes: plan again";
}

/* All that the group was given pointers to. */
static void collect_watched(const struct verify_use *use)
{
    for (uint32_t at = 0; at + 8 <= use->parameters_size; at += 8) {
        uint64_t pointer, start, size;
        memcpy(&pointer, use->parameters + at, sizeof pointer);
        if (track_memory_written(pointer, &start, &size))
            verify_memory_watch(&verify.memory, start, start + size, verify.limit);
    }
}

static bool collect(const struct verify_use *use)
{
    struct verified_group *group = &verify.groups[use->group];
    const char *reason = collect_written(use);
    uint64_t needed = verify_memory_needed(&verify.memory);
    if (reason) {
        give_up(use->group, "%s", reason);
        return false;
    }
    if (needed > verify.limit) {
        give_up(use->group, "it needs %llu MiB on the host, KFUSE_VERIFY_MIB is %llu",
                (unsigned long long)((needed + (1 << 20) - 1) >> 20),
                (unsigned long long)(verify.limit >> 20));
        return false;
    }
    collect_watched(use);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < verify.memory.count; i++)
        if (verify.memory.ranges[i].is_written)
            bytes += verify.memory.ranges[i].end - verify.memory.ranges[i].start;
    atomic_store(&group->bytes, bytes);
    if (verify_memory_map(&verify.memory)) return true;
    give_up(use->group, "out of memory on the host");
    return false;
}

/* --- one use --- */

/* "byte 12 of what the argument at 8 of scale points to": the first effect around the address. */
static void describe(const struct verify_use *use, uint64_t address, char *text, size_t size)
{
    const struct plan_group *group = &verify.plan->groups[use->group];
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &verify.plan->effects[group->first_effect + i];
        const struct plan_step *step = &verify.plan->steps[group->first_step + effect->step];
        uint64_t pointer, start = 0, size = 0;
        memcpy(&pointer, use->arguments[effect->step] + effect->offset, sizeof pointer);
        int64_t distance = (int64_t)(address - pointer);
        if (effect->is_exact ? distance < effect->from || distance >= effect->to
                             : !track_memory_written(pointer, &start, &size) || address - start >= size)
            continue;
        snprintf(text, size, "byte %lld from the pointer at offset %u of the arguments of %s",
                 (long long)distance, effect->offset,
                 verify.plan->strings + verify.plan->kernels[step->kernel].name);
        return;
    }
    snprintf(text, size, "the byte at %llx, outside what the group may write", (unsigned long long)address);
}

static void log_members(const struct verify_use *use)
{
    const struct plan_group *group = &verify.plan->groups[use->group];
    char text[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < group->step_count && used < sizeof text; i++) {
        const struct plan_step *step = &verify.plan->steps[group->first_step + i];
        if (step->role != PLAN_MEMBER) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, " %s",
                                 verify.plan->strings + verify.plan->kernels[step->kernel].name);
    }
    log_write(LOG_WARNING, "verify", "group %s is of%s", verify.plan->strings + group->name, text);
}

static enum verify_outcome differs(const struct verify_use *use, const struct verify_difference *difference)
{
    char place[512];
    describe(use, difference->address, place, sizeof place);
    atomic_fetch_add(&verify.groups[use->group].mismatches, 1);
    log_members(use);
    log_write(LOG_WARNING, "verify", "%s is 0x%02x, must be 0x%02x", place, difference->is,
              difference->must_be);
    return give_up(use->group, "its result differs from that of its members%s",
                   difference->is_nan ? " in which NaN it is" : "");
}

static enum verify_outcome failed(const struct verify_use *use, const char *what, CUresult result)
{
    return give_up(use->group, "%s failed with CUDA error %d", what, (int)result);
}

/* The members have run, and their result is saved. */
static enum verify_outcome run_fused(const struct verify_use *use)
{
    struct verify_difference difference = {0};
    enum verify_outcome outcome = VERIFY_SAME;
    CUresult result = verify_memory_put_before(&verify.memory);
    if (result == CUDA_SUCCESS) result = use->run_fused();
    if (result == CUDA_SUCCESS) result = REAL(cuCtxSynchronize)();
    if (result == CUDA_SUCCESS) result = verify_memory_compare(&verify.memory, true, &difference);
    if (result != CUDA_SUCCESS)
        outcome = failed(use, "its launch", result);
    else if (difference.is_found)
        outcome = differs(use, &difference);
    if (outcome != VERIFY_SAME) shim_remember_error(verify_memory_put_result(&verify.memory));
    return outcome;
}

/* The device is at rest, and nobody else gets at it. */
static enum verify_outcome run_both(const struct verify_use *use)
{
    struct verify_difference difference = {0};
    CUresult result = verify_memory_save_before(&verify.memory);
    if (result != CUDA_SUCCESS) {
        use->run_members();
        return failed(use, "a copy from the device", result);
    }
    result = use->run_members();
    if (result != CUDA_SUCCESS) return failed(use, "a member's launch", result);
    result = REAL(cuCtxSynchronize)();
    if (result != CUDA_SUCCESS) {
        shim_remember_error(result);
        return failed(use, "a member", result);
    }
    result = verify_memory_save_result(&verify.memory);
    if (result == CUDA_SUCCESS) result = verify_memory_compare(&verify.memory, false, &difference);
    if (result != CUDA_SUCCESS) return failed(use, "a copy from the device", result);
    if (difference.is_found)
        return give_up(use->group, "its members write outside what the plan says, at %llx",
                       (unsigned long long)difference.address);
    return run_fused(use);
}

static void end_all(const char *reason)
{
    const char *none = NULL;
    if (!atomic_compare_exchange_strong(&verify.end, &none, reason)) return;
    log_write(LOG_WARNING, "verify", "nothing more is verified: %s", reason);
}

/* With the gate closed. Whatever comes of it, the members have run or are run here. */
static enum verify_outcome run_inside(const struct verify_use *use)
{
    CUresult result = CUDA_SUCCESS;
    if (track_is_capturing() || shim_is_latched()) {
        use->run_members();
        return VERIFY_LATER;
    }
    if (has_many_contexts())
        end_all(several_contexts);
    else if (!verify_rest(use->context, verify.wait_ms, &result))
        end_all("the device does not come to rest");
    const char *end = atomic_load(&verify.end);
    if (end || result != CUDA_SUCCESS) {
        shim_remember_error(result);
        use->run_members();
        return end ? give_up(use->group, "%s", end) : failed(use, "an earlier launch", result);
    }
    return run_both(use);
}

static enum verify_outcome run_gated(const struct verify_use *use)
{
    if (!gate_close(verify.wait_ms)) {
        end_all("another thread is in a call of the driver that does not return");
        use->run_members();
        return give_up(use->group, "%s", atomic_load(&verify.end));
    }
    enum verify_outcome outcome = run_inside(use);
    gate_open();
    return outcome;
}

static enum verify_outcome run_in_context(const struct verify_use *use)
{
    CUcontext current = track_current_context();
    bool is_pushed = current != use->context && REAL(cuCtxPushCurrent_v2)(use->context) == CUDA_SUCCESS;
    enum verify_outcome outcome = run_gated(use);
    if (is_pushed) REAL(cuCtxPopCurrent_v2)(&current);
    return outcome;
}

static enum verify_outcome run(const struct verify_use *use)
{
    const char *end = atomic_load(&verify.end);
    if (shim_is_latched() || track_is_capturing() || gate_is_inside()) {
        use->run_members();
        return VERIFY_LATER;
    }
    if (end) give_up(use->group, "%s", end);
    if (end || !collect(use)) {
        use->run_members();
        return VERIFY_IMPOSSIBLE;
    }
    enum verify_outcome outcome = run_in_context(use);
    verify_memory_unmap(&verify.memory);
    return outcome;
}

/* One more use of that variant was as it must be. True when no variant of the group needs another. */
static bool is_enough(const struct verify_use *use)
{
    const struct plan_group *group = &verify.plan->groups[use->group];
    uint32_t *left = verify.left + group->first_variant;
    bool is_more = --left[use->variant] > 0;
    atomic_fetch_add(&verify.groups[use->group].uses, 1);
    for (uint32_t i = 0; i < group->variant_count; i++) is_more |= left[i] > 0;
    return !is_more;
}

enum verify_outcome verify_run(const struct verify_use *use)
{
    enum verify_outcome outcome = run(use);
    if (outcome == VERIFY_IMPOSSIBLE || (outcome == VERIFY_SAME && is_enough(use))) end_group(use->group);
    return outcome;
}

/* --- results --- */

void verify_write_stats(FILE *file)
{
    if (!verify.uses) return;
    for (uint32_t i = 0; i < verify.plan->header->groups.count; i++) {
        struct verified_group *group = &verify.groups[i];
        bool is_over = atomic_load(&group->is_over);
        fprintf(file, "verified %s uses %llu mismatches %llu bytes %llu",
                verify.plan->strings + verify.plan->groups[i].name,
                (unsigned long long)atomic_load(&group->uses),
                (unsigned long long)atomic_load(&group->mismatches),
                (unsigned long long)atomic_load(&group->bytes));
        fprintf(file, "%s%s\n", is_over && group->reason[0] ? " because " : "", is_over ? group->reason : "");
    }
}

static bool has_results(void)
{
    for (uint32_t i = 0; i < verify.plan->header->groups.count; i++)
        if (atomic_load(&verify.groups[i].uses) || atomic_load(&verify.groups[i].is_over)) return true;
    return false;
}

/* The text of the file, to be freed. */
static char *results_text(size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    if (!file) return NULL;
    fprintf(file, "plan %016llx\n", (unsigned long long)verify.plan->header->check);
    verify_write_stats(file);
    if (!fclose(file)) return text;
    free(text);
    return NULL;
}

/* A folder that cannot be written is no fault: --stats has the same. A process that has come to no group
 * leaves what another one has written. */
void verify_finish(void)
{
    char path[PATH_MAX + 16], temporary[PATH_MAX + 48];
    size_t size = 0;
    if (!verify.uses || !has_results()) return;
    snprintf(path, sizeof path, "%s/verified", verify.directory);
    snprintf(temporary, sizeof temporary, "%s/.verified.%ld", verify.directory, (long)getpid());
    char *text = results_text(&size);
    int file = text ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    bool is_written = file >= 0 && own_write(file, text, size);
    free(text);
    if (file >= 0 && close(file)) is_written = false;
    if (is_written && !rename(temporary, path)) return;
    log_write(LOG_INFO, "verify", "%s cannot be written: %s", path, strerror(errno));
    if (file >= 0) unlink(temporary);
}

void verify_fork_child(void)
{
    verify.uses = 0;
    verify_rest_fork_child();
}
