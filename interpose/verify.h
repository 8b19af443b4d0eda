/* SPDX-License-Identifier: Apache-2.0
 * Verification (KFUSE_VERIFY=N): the first N uses of each compiled form of a group run twice, and every byte
 * that its members write is compared. Until then nothing of a group counts but what its members did.
 *
 * A use, by the thread that issues it, which has the queue's lock; the launches passed over before it are in
 * the driver:
 * 1. gate_close: no other thread is in a call that could submit work, none gets into one
 * 2. the context comes to rest: all streams, also those that the program's libraries made
 * 3. the write set (the plan's effects, as ranges of memory) is copied to the host: before
 * 4. the members run, as the program launched them; the write set is copied to the host: result
 * 5. before is put back; the fused kernel runs; the write set is compared with result
 * 6. equal: all goes on from there. Different, or any error: result is put back, and the group is off
 * 7. gate_open. What the fused form leaves stale was made for the comparison; it is pending all the same, and
 * its bytes are replaced by their complement (deferred_spoil_last): a later reader that nobody notices shows
 * in the results
 *
 * The members' inputs are what they were for both runs: whatever they read and nobody writes has not changed,
 * and what they write has been put back. Memory that the group was given pointers to but must not write is
 * compared with what it was, too, as far as it fits.
 *
 * How it could go wrong, and what keeps it from that:
 * - It hangs. Nothing is waited for without an end but the members and the fused kernel themselves, with
 *   nothing else on the device. Another thread may be in a call that does not return, or a stream may wait
 *   for this very thread (a host function, a value in memory, a kernel that spins): 1 and 2 give up after
 *   KFUSE_VERIFY_WAIT_MS, and then nothing more is verified in this process. 2 is a cuCtxSynchronize in a
 *   thread of our own.
 * - It ends a capture by synchronising. None is begun inside the gate; with one under way the members run,
 *   unverified, until another use.
 * - It overwrites what others write. The write set is put back as a whole, so nobody else may write into it
 *   meanwhile: not this process (1, 2); once memory has been shared with another process or device, or work
 *   goes to a second context, nothing is verified.
 * - It hides an error or makes one. Steps 3 and before: the members run as always. Later: the result is put
 *   back if it is known. What the driver said is remembered for the call that reports errors of earlier
 *   launches. A fused kernel that kills the context kills it here as it would without verification.
 * - It takes too much memory. Twice the write set on the host, and one buffer to compare, at most
 *   KFUSE_VERIFY_MIB in all, given back after each use; a larger one is not verified. No device memory.
 * - It says equal of what is not. Whole ranges are compared by memcmp, and where the plan does not know which
 *   bytes of an allocation are written (an effect that is not exact), the whole of it. What floating-point atomics
 *   add up is not compared, as no two runs need agree, and a group that has any is off where it is to be trusted
 *   for its results alone (PLAN_NEEDS_VERIFICATION). What a fused kernel writes
 *   where it was given no pointer to is not seen.
 *
 * A group that cannot be verified runs as its members, for good. */
#ifndef KFUSE_INTERPOSE_VERIFY_H
#define KFUSE_INTERPOSE_VERIFY_H

#include "common/plan.h"
#include "interpose/entry.h"

#include <stdio.h>

enum verify_outcome {
    VERIFY_SAME,      /* the fused kernel has run, and did what the members do */
    VERIFY_LATER,     /* the members have run; another use will do */
    VERIFY_IMPOSSIBLE /* the members have run, or their result is there again; the group is to be off. Why is
                         in verify_reason */
};

struct verify_use {
    uint32_t group, variant; /* variant: of the group */
    CUcontext context;
    const unsigned char *const *arguments; /* by step of the group */
    const unsigned char *parameters;       /* of the fused kernel */
    uint32_t parameters_size;
    CUresult (*run_members)(void);
    CUresult (*run_fused)(void);
};

/* KFUSE_VERIFY is set. */
bool verify_is_asked(void);
/* Prepares for this plan, when it is asked; false when memory is out. */
bool verify_start(const struct plan *plan, const char *directory);
/* The group may be used without, or will be verified. */
bool verify_allows(const struct plan_group *group);
/* The next use must be verified. One load when nothing is. */
bool verify_wants(uint32_t group, uint32_t variant);
enum verify_outcome verify_run(const struct verify_use *use);
const char *verify_reason(uint32_t group);
/* The group is off for another reason. */
void verify_forget(uint32_t group);

/* A call without a hook is about to be made, inside the gate. */
void verify_notice(enum entry entry);
/* A call goes through the gate, in the current context. */
void verify_notice_context(void);

/* Lines "verified NAME uses N mismatches N bytes N", with " because TEXT" at the end where the group is off.
 */
void verify_write_stats(FILE *file);
/* At exit: the same lines to DIRECTORY/verified, for `kfuse report`. */
void verify_finish(void);

void verify_fork_child(void);

#endif
