/* SPDX-License-Identifier: Apache-2.0
 * Answers that processes share: a table in memory that a process and its children have in common, from the
 * hash of a question to bytes. An answer must follow from its question alone, so that it is the same whoever
 * gives it, and whether anybody did before. A question belongs to the process that asked it first; the others
 * wait for its answer, and take over when it dies. */
#ifndef KFUSE_FUSER_SOLVER_ANSWERS_H
#define KFUSE_FUSER_SOLVER_ANSWERS_H

#include "common/hash.h"

#include <stdbool.h>

enum { ANSWERS_MOST_WORKERS = 256 };

struct answers;
enum answers_state {
    ANSWERS_FOUND, /* by someone */
    ANSWERS_MINE,  /* the caller must answer: answers_give or answers_forget */
    ANSWERS_NONE   /* the caller must answer for itself: there is no room, or waiting took too long */
};

/* NULL: there is no such memory; all functions below take NULL for an empty table without room. */
struct answers *answers_open(void);
/* Only by the process that opened it, without children at work. */
void answers_close(struct answers *answers);
/* In a child, before anything else: which worker it is, from 1 on. */
void answers_join(struct answers *answers, uint32_t worker);
/* FOUND: *bytes, size of them, until answers_close. Waits so many seconds at most for who was asked before.
 */
enum answers_state answers_ask(struct answers *answers, struct hash128 key, double seconds,
                               const void **bytes, size_t *size);
/* Whether somebody has answered; asks nobody. */
bool answers_look(struct answers *answers, struct hash128 key, const void **bytes, size_t *size);
/* A copy of the bytes is kept, unless there is an answer. */
void answers_give(struct answers *answers, struct hash128 key, const void *bytes, size_t size);
/* The question is open again. */
void answers_forget(struct answers *answers, struct hash128 key);
/* Zeroed memory that all processes have at this address, aligned to 16; NULL: there is no more. Never given
 * back. */
void *answers_take(struct answers *answers, size_t size);

#endif
