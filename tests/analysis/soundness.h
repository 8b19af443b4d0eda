/* SPDX-License-Identifier: Apache-2.0
 * Holds an access analysis against what a launch did: every access to global memory that the emulator saw must lie in
 * the relation of its instruction, and where the analysis claims to be exact, the accesses must be the same, instance
 * for instance. */
#ifndef KFUSE_TESTS_ANALYSIS_SOUNDNESS_H
#define KFUSE_TESTS_ANALYSIS_SOUNDNESS_H

#include "emulator/exec.h"
#include "fuser/access/access.h"

struct soundness_base { /* where a base of the summary points in this run */
    uint64_t address;
    uint64_t start, end; /* of the allocation around it */
};

struct soundness { /* what is observed of one launch; zeroed by the caller but for summary and bases */
    const struct access_summary *summary;
    const struct soundness_base *bases; /* one a base of the summary; of an UNKNOWN one ignored */
    struct soundness_event *events;
    size_t count, capacity;
};

/* An emu_watch with a struct soundness as its context. */
void soundness_watch(void *context, const struct ptx_instruction *instruction, const uint32_t block[3],
                     const uint32_t thread[3], uint64_t address, uint32_t bytes, bool is_write);
/* After the launch. Messages go to standard error; returns how many were wrong. Frees what was observed. *compared: accesses
 * of the summary that were compared for equality. */
unsigned soundness_check(struct soundness *soundness, unsigned *compared);

#endif
