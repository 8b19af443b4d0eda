/* SPDX-License-Identifier: Apache-2.0
 * What isl has answered, kept from space to space: a program's groups are tried in many lengths and shapes,
 * which ask the same questions of the same relations. Relations are compared by what they say, so that a memo
 * may outlive the launches it heard of. A question has operations of its own (quota_ask), and that it could
 * not be answered with them is an answer, too: so an answer is the same whatever was asked before, and by
 * which process. */
#ifndef KFUSE_FUSER_SOLVER_MEMO_H
#define KFUSE_FUSER_SOLVER_MEMO_H

#include "fuser/solver/answers.h"

#include <isl/map.h>
#include <isl/set.h>
#include <stdbool.h>
#include <stdint.h>

struct memo {
    isl_ctx *ctx;
    struct memo_relation *relations; /* uthash by hash and number */
    struct memo_answer *answers;     /* uthash by question */
    struct memo_relation **by_number;
    uint32_t relation_count, number_capacity;
    struct answers *shared;  /* with other processes, which have numbers of their own; may be NULL */
    bool without_halo;       /* halo fusions are not looked for */
    bool without_one_block;  /* nor launches of one block */
    bool without_last_block; /* nor members that the last block runs */
    /* Blocks of halo fusions march (halo_march.h) so many layers, wherever they can; 0: where it pays; UINT32_MAX: never */
    uint32_t march_layers;
};
/* words: what is asked, unused ones 0. */
enum memo_kind {
    MEMO_REMAP = 1,
    MEMO_BYTES,
    MEMO_TOUCH,
    MEMO_MEET,
    MEMO_OVERLAP,
    MEMO_COVERS,
    MEMO_AFFINE,
    MEMO_TEXT,
    MEMO_PATTERN,
    MEMO_SAMPLE,
    MEMO_CELLS,
    MEMO_PLACE,
    MEMO_SOURCE,
    MEMO_REST,
    MEMO_MEETING,
    MEMO_LEAVE,
    MEMO_NEAREST,
    MEMO_EXPLICIT
};
enum { MEMO_NUMBERS = 7 };
struct memo_question {
    uint64_t kind, words[12];
};

/* The ctx must outlive the memo. Release with memo_close. */
struct memo memo_open(isl_ctx *ctx);
void memo_close(struct memo *memo);
/* A relation's number: equal ones, as far as isl sees at once, have the same. 0: none, the memo is full.
 * NULL: 0. */
uint32_t memo_number(struct memo *memo, __isl_keep isl_map *relation);
/* The relation that was kept under this question, or NULL. */
__isl_give isl_map *memo_relation(struct memo *memo, const struct memo_question *question);
/* The relation that isl reads from this text; NULL: isl gave up. */
__isl_give isl_map *memo_read(struct memo *memo, const char *text);
/* The number that was kept under this question, or 0. */
uint32_t memo_value(struct memo *memo, const struct memo_question *question);
/* The numbers that were kept under this question, or NULL; valid until the memo is closed. */
const int64_t *memo_numbers(struct memo *memo, const struct memo_question *question);
/* Keep an answer; without memory, nothing is kept. A relation that is NULL (isl gave up) is not kept. */
void memo_keep_relation(struct memo *memo, const struct memo_question *question,
                        __isl_keep isl_map *relation);
void memo_keep_value(struct memo *memo, const struct memo_question *question, uint32_t value);
void memo_keep_numbers(struct memo *memo, const struct memo_question *question,
                       const int64_t numbers[MEMO_NUMBERS]);
/* What is found once and kept, whatever it is. relation: to be freed; NULL as well where there is none, or isl gave up. */
struct memo_found {
    isl_map *relation;
    int64_t numbers[MEMO_NUMBERS];
};
typedef void memo_find(const void *user, struct memo_found *found);
/* The question about one or two relations, and a word; not kept (words[0] is 0) where one has no number. b may be NULL. */
struct memo_question memo_question_of(struct memo *memo, enum memo_kind kind, __isl_keep isl_map *a,
                                      __isl_keep isl_map *b, uint64_t word);
/* What was kept under this question, or is found now, with QUOTA_QUESTION operations at most. */
struct memo_found memo_ask(struct memo *memo, const struct memo_question *question, memo_find *find,
                           const void *user);
/* The same set, with its existential variables as integer divisions (isl_set_compute_divs). Takes the set; NULL: not found. */
__isl_give isl_set *memo_explicit(struct memo *memo, __isl_take isl_set *set);
/* The bytes that were kept under this question, or NULL; valid until the memo is closed. */
const void *memo_bytes(struct memo *memo, const struct memo_question *question);
/* A copy of them is kept. */
void memo_keep_bytes(struct memo *memo, const struct memo_question *question, const void *bytes, size_t size);

#endif
