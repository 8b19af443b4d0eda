/* SPDX-License-Identifier: Apache-2.0
 * Judges programs: compiled by NVRTC, run alone, recorded, planned, replayed under random schedules with the
 * race report on; and every launch's accesses held against the analysis. */
#ifndef KFUSE_TESTS_REFEREE_JUDGE_H
#define KFUSE_TESTS_REFEREE_JUDGE_H

#include "common/arena.h"
#include "tests/referee/witness.h"

#include <stdbool.h>
#include <stdint.h>

struct judge { /* what to judge with */
    char tools[4096], player[4096], library[4096],
        emulator[4096]; /* kfuse, player, libkfuse.so, folder of libcuda */
    char folder[4096];  /* for files of this worker */
    uint64_t seed;      /* of the schedules */
    uint32_t jobs;      /* cores that a plan takes */
    uint32_t schedules; /* replays of each program in random order, besides one in order */
    bool is_gpu; /* the machine's own driver in place of the emulator: no schedules, no race report; and
                  * modules are fatbins with machine code and PTX, as nvcc makes them */
    bool takes_any_nan; /* two NaNs of double precision are equal: which of two a sum returns is the
                         * assembler's choice on a GPU */
    bool skips_soundness;
    int64_t dies_at; /* number of a program at which the worker is to die, for the test of that; -1 */
};

struct judge_program { /* one program of a batch */
    const char *text;
    uint32_t number;
    const struct script *script; /* of text; of the compiled text once there is one */
    const char *ptx, *image;     /* image: NULL, or the file of a fatbin */
    bool is_failed, is_fused;
    bool has_other_nans;           /* some result was equal only because NaNs are */
    bool has_barriers, has_border; /* used a group of inner-block fusion, of halo fusion */
    bool has_share;                /* used one in which a block runs its share of a member */
    bool hands_on;                 /* used one that hands values on in shared memory */
    struct witness_log log;        /* of what was watched */
    uint32_t watched, compared;    /* launches held against the analysis; accesses of them that are exact */
    const char *why;               /* one line, of a failure; begins with a word for its kind */
};
struct judge_refusal {
    const char *reason;
    uint64_t pairs;
};
struct judge_group { /* of the plan */
    const char *name, *fusion;
    bool hands_on, has_share;
};
struct batch {
    struct arena *arena;
    struct judge_program *programs;
    uint32_t count;
    bool has_two_runs; /* is its plan made of */
    struct judge_refusal refusals[256];
    uint32_t refusal_count;
    struct judge_group groups[1024];
    uint32_t group_count;
};

/* Reads every program of text. NULL with a message in error. The arena is the batch's. */
struct batch *batch_read(const char *text, const char **error);
void batch_free(struct batch *batch);
void batch_fail(struct batch *batch, struct judge_program *program, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Everything; the results are in the batch's programs. */
void judge_batch(const struct judge *judge, struct batch *batch);
/* Whether two texts of failures are of one kind. */
bool judge_same_kind(const char *why, const char *other);
bool judge_has_failed(const struct batch *batch);
void judge_count_refusal(struct batch *batch, const char *reason, uint64_t pairs);

/* compile.c: gives every program its PTX, all of them in one compilation, or its fatbin; those that do not
 * compile fail. */
void compile_batch(const struct judge *judge, struct batch *batch);
/* observe.c: runs the program in this process, its launches watched; what the player would print. */
char *observe_program(struct batch *batch, struct judge_program *program);
/* refusals.c: adds up the reasons in a plan (NULL: not again), and marks the programs that used a group, by
 * the statistics of a replay. */
void refusals_read(struct batch *batch, const char *plan, const char *statistics);

/* shrink.c: the smallest text found that still fails in the same way, by leaving lines out; text is of one
 * program, or of several where one alone does not fail. In the arena of the caller. */
const char *shrink(const struct judge *judge, struct arena *arena, const char *text, const char *why);

/* What a run counts of uses that left ranges stale. */
extern const char judge_left_stale[];

#endif
