/* SPDX-License-Identifier: Apache-2.0
 * Two hash tables: see memo.h. */
#include "fuser/analysis/memo.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { MEMO_MOST = 50000 }; /* relations, and answers: some hundred megabytes at the worst */

struct memo_relation {
    uint32_t hash, number;
    isl_map *relation;
    struct memo_relation *next; /* of the same hash */
    UT_hash_handle hh;
};
struct memo_answer {
    struct memo_question question;
    isl_map *relation;
    uint32_t value;
    int64_t numbers[MEMO_NUMBERS];
    UT_hash_handle hh;
};

struct memo memo_open(isl_ctx *ctx)
{
    return (struct memo){.ctx = ctx};
}

void memo_close(struct memo *memo)
{
    struct memo_relation *first, *next;
    struct memo_answer *answer, *after;
    HASH_ITER(hh, memo->relations, first, next)
    {
        HASH_DEL(memo->relations, first);
        for (struct memo_relation *entry = first, *rest; entry; entry = rest) {
            rest = entry->next;
            isl_map_free(entry->relation);
            free(entry);
        }
    }
    HASH_ITER(hh, memo->answers, answer, after)
    {
        HASH_DEL(memo->answers, answer);
        isl_map_free(answer->relation);
        free(answer);
    }
}

uint32_t memo_number(struct memo *memo, __isl_keep isl_map *relation)
{
    if (!relation) return 0;
    uint32_t hash = isl_map_get_hash(relation);
    struct memo_relation *first = NULL;
    HASH_FIND(hh, memo->relations, &hash, sizeof hash, first);
    for (struct memo_relation *entry = first; entry; entry = entry->next)
        if (isl_map_plain_is_equal(entry->relation, relation) == isl_bool_true) return entry->number;
    struct memo_relation *entry = memo->relation_count < MEMO_MOST ? calloc(1, sizeof *entry) : NULL;
    if (!entry) return 0;
    *entry = (struct memo_relation){
        .hash = hash, .number = ++memo->relation_count, .relation = isl_map_copy(relation)};
    if (first) {
        entry->next = first->next;
        first->next = entry;
    } else {
        HASH_ADD(hh, memo->relations, hash, sizeof hash, entry);
    }
    return entry->number;
}

static struct memo_answer *find(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = NULL;
    HASH_FIND(hh, memo->answers, question, sizeof *question, answer);
    return answer;
}

__isl_give isl_map *memo_relation(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? isl_map_copy(answer->relation) : NULL;
}

uint32_t memo_value(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? answer->value : 0;
}

const int64_t *memo_numbers(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? answer->numbers : NULL;
}

static struct memo_answer *add(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = HASH_COUNT(memo->answers) < MEMO_MOST ? calloc(1, sizeof *answer) : NULL;
    if (!answer) return NULL;
    answer->question = *question;
    HASH_ADD(hh, memo->answers, question, sizeof *question, answer);
    return answer;
}

void memo_keep_relation(struct memo *memo, const struct memo_question *question, __isl_keep isl_map *relation)
{
    struct memo_answer *answer = relation ? add(memo, question) : NULL;
    if (answer) answer->relation = isl_map_copy(relation);
}

void memo_keep_value(struct memo *memo, const struct memo_question *question, uint32_t value)
{
    struct memo_answer *answer = add(memo, question);
    if (answer) answer->value = value;
}

void memo_keep_numbers(struct memo *memo, const struct memo_question *question,
                       const int64_t numbers[MEMO_NUMBERS])
{
    struct memo_answer *answer = add(memo, question);
    if (answer) memcpy(answer->numbers, numbers, sizeof answer->numbers);
}
