/* SPDX-License-Identifier: Apache-2.0
 * Two hash tables: see memo.h. */
#include "fuser/solver/memo.h"
#include "fuser/solver/quota.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { MEMO_MOST = 50000 }; /* relations, and answers: some hundred megabytes at the worst */

struct memo_relation {
    uint32_t hash, number;
    isl_map *relation;
    struct hash128 name; /* of what isl prints, when first needed: the same in all processes */
    bool has_name;
    struct memo_relation *next; /* of the same hash */
    UT_hash_handle hh;
};
struct memo_answer {
    struct memo_question question;
    isl_map *relation;
    uint32_t value;
    int64_t numbers[MEMO_NUMBERS];
    void *bytes;
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
    free(memo->by_number);
    HASH_ITER(hh, memo->answers, answer, after)
    {
        HASH_DEL(memo->answers, answer);
        isl_map_free(answer->relation);
        free(answer->bytes);
        free(answer);
    }
}

static bool has_room(struct memo *memo)
{
    if (memo->relation_count == MEMO_MOST) return false;
    if (memo->relation_count + 1 < memo->number_capacity) return true;
    uint32_t capacity = memo->number_capacity ? 2 * memo->number_capacity : 256;
    struct memo_relation **grown = realloc(memo->by_number, capacity * sizeof(struct memo_relation *));
    if (!grown) return false;
    memo->by_number = grown;
    memo->number_capacity = capacity;
    return true;
}

static uint32_t number_of(struct memo *memo, __isl_keep isl_map *relation)
{
    uint32_t hash = isl_map_get_hash(relation);
    struct memo_relation *first = NULL;
    HASH_FIND(hh, memo->relations, &hash, sizeof hash, first);
    for (struct memo_relation *entry = first; entry; entry = entry->next)
        if (isl_map_plain_is_equal(entry->relation, relation) == isl_bool_true) return entry->number;
    struct memo_relation *entry = has_room(memo) ? calloc(1, sizeof *entry) : NULL;
    if (!entry) return 0;
    *entry = (struct memo_relation){
        .hash = hash, .number = ++memo->relation_count, .relation = isl_map_copy(relation)};
    memo->by_number[entry->number] = entry;
    if (first) {
        entry->next = first->next;
        first->next = entry;
    } else {
        HASH_ADD(hh, memo->relations, hash, sizeof hash, entry);
    }
    return entry->number;
}

/* What it takes depends on what was asked before, so it counts for nobody. */
uint32_t memo_number(struct memo *memo, __isl_keep isl_map *relation)
{
    struct quota quota = quota_begin(memo->ctx, 0);
    uint32_t number = relation ? number_of(memo, relation) : 0;
    quota_end(&quota);
    return number;
}

/* --- what other processes have answered --- */

/* Which words of a question are relations' numbers, bit by bit; 0: its answers are not shared. */
static uint32_t numbers_in(const struct memo_question *question)
{
    switch (question->kind) {
    case MEMO_MEET:
    case MEMO_OVERLAP:
    case MEMO_COVERS:
        return 5;
    case MEMO_AFFINE:
        return 3;
    }
    return 0;
}

static bool name_of(struct memo *memo, uint64_t number, struct hash128 *name)
{
    struct memo_relation *relation = memo->by_number[number];
    if (!relation->has_name) {
        struct quota quota = quota_begin(memo->ctx, 0); /* counts for nobody */
        char *text = isl_map_to_str(relation->relation);
        quota_end(&quota);
        if (!text) return false;
        relation->name = hash_bytes(text, strlen(text));
        relation->has_name = true;
        free(text);
    }
    *name = relation->name;
    return true;
}

/* False: this question is not shared. */
static bool shared_key(struct memo *memo, const struct memo_question *question, struct hash128 *key)
{
    uint32_t numbers = memo->shared ? numbers_in(question) : 0;
    struct {
        struct memo_question question;
        struct hash128 names[3];
    } whole = {.question = *question};
    for (uint32_t word = 0; word < 3; word++)
        if (numbers >> word & 1) {
            if (!name_of(memo, question->words[word], &whole.names[word])) return false;
            whole.question.words[word] = 0;
        }
    *key = hash_bytes(&whole, sizeof whole);
    return numbers;
}

static struct memo_answer *find(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = NULL;
    HASH_FIND(hh, memo->answers, question, sizeof *question, answer);
    return answer;
}

static struct memo_answer *add(struct memo *memo, const struct memo_question *question)
{
    if (isl_ctx_aborted(memo->ctx)) return NULL; /* isl was told to give up: that is no answer */
    struct memo_answer *answer = HASH_COUNT(memo->answers) < MEMO_MOST ? calloc(1, sizeof *answer) : NULL;
    if (!answer) return NULL;
    answer->question = *question;
    HASH_ADD(hh, memo->answers, question, sizeof *question, answer);
    return answer;
}

static void keep_value(struct memo *memo, const struct memo_question *question, uint32_t value)
{
    struct memo_answer *answer = add(memo, question);
    if (answer) answer->value = value;
}

__isl_give isl_map *memo_relation(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? isl_map_copy(answer->relation) : NULL;
}

void memo_keep_relation(struct memo *memo, const struct memo_question *question, __isl_keep isl_map *relation)
{
    struct memo_answer *answer = relation ? add(memo, question) : NULL;
    if (answer) answer->relation = isl_map_copy(relation);
}

__isl_give isl_map *memo_read(struct memo *memo, const char *text)
{
    struct hash128 hash = hash_bytes(text, strlen(text));
    struct memo_question question = {.kind = MEMO_TEXT, .words = {hash.low, hash.high}};
    struct quota quota;
    if (!quota_ask(&quota, memo->ctx)) return NULL;
    isl_map *relation = memo_relation(memo, &question);
    if (!relation) {
        relation = isl_map_read_from_str(memo->ctx, text);
        memo_keep_relation(memo, &question, relation);
    }
    quota_answer(&quota, relation);
    return relation;
}

uint32_t memo_value(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    struct hash128 key;
    const void *known;
    size_t size;
    uint32_t value = 0;
    if (answer) return answer->value;
    if (!shared_key(memo, question, &key) || !answers_look(memo->shared, key, &known, &size)) return 0;
    memcpy(&value, known, sizeof value);
    keep_value(memo, question, value);
    return value;
}

const int64_t *memo_numbers(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? answer->numbers : NULL;
}

void memo_keep_value(struct memo *memo, const struct memo_question *question, uint32_t value)
{
    struct hash128 key;
    keep_value(memo, question, value);
    if (isl_ctx_aborted(memo->ctx) || !shared_key(memo, question, &key)) return;
    answers_give(memo->shared, key, &value, sizeof value);
}

void memo_keep_numbers(struct memo *memo, const struct memo_question *question,
                       const int64_t numbers[MEMO_NUMBERS])
{
    struct memo_answer *answer = add(memo, question);
    if (answer) memcpy(answer->numbers, numbers, sizeof answer->numbers);
}

struct memo_question memo_question_of(struct memo *memo, enum memo_kind kind, __isl_keep isl_map *a,
                                      __isl_keep isl_map *b, uint64_t word)
{
    struct memo_question question = {.kind = kind,
                                     .words = {memo_number(memo, a), b ? memo_number(memo, b) : 0, word}};
    if (b && !question.words[1]) question.words[0] = 0;
    return question;
}

struct memo_found memo_ask(struct memo *memo, const struct memo_question *question, memo_find *find_it,
                           const void *user)
{
    struct memo_found found = {0};
    struct memo_answer *answer = question->words[0] ? find(memo, question) : NULL;
    if (!answer) {
        struct quota quota = quota_begin(memo->ctx, QUOTA_QUESTION);
        find_it(user, &found);
        quota_end(&quota);
        answer = question->words[0] ? add(memo, question) : NULL;
        if (!answer) return found;
        answer->relation = found.relation;
        memcpy(answer->numbers, found.numbers, sizeof answer->numbers);
    }
    memcpy(found.numbers, answer->numbers, sizeof found.numbers);
    found.relation = isl_map_copy(answer->relation);
    return found;
}

static void make_explicit(const void *user, struct memo_found *found)
{
    found->relation = isl_map_from_range(isl_set_compute_divs(isl_set_copy((isl_set *)user)));
}

__isl_give isl_set *memo_explicit(struct memo *memo, __isl_take isl_set *set)
{
    isl_map *named = isl_map_from_range(isl_set_copy(set));
    struct memo_question question = memo_question_of(memo, MEMO_EXPLICIT, named, NULL, 0);
    struct memo_found found = memo_ask(memo, &question, make_explicit, set);
    isl_map_free(named);
    isl_set_free(set);
    return isl_map_range(found.relation);
}

const void *memo_bytes(struct memo *memo, const struct memo_question *question)
{
    struct memo_answer *answer = find(memo, question);
    return answer ? answer->bytes : NULL;
}

void memo_keep_bytes(struct memo *memo, const struct memo_question *question, const void *bytes, size_t size)
{
    void *copy = malloc(size);
    struct memo_answer *answer = copy ? add(memo, question) : NULL;
    if (!answer) {
        free(copy);
        return;
    }
    answer->bytes = memcpy(copy, bytes, size);
}
