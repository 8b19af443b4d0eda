/* SPDX-License-Identifier: Apache-2.0
 * Pairwise summaries in a hash table. A key hashes, in order, every launch's class and every base's array
 * (numbered by first appearance), offset from the first base in that array, array size and kind. */
#include "fuser/planner/pairs.h"

#include "fuser/access/pieces.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* A program whose pairs never repeat is given up after this many, some ten seconds of work: what is left
 * counts as conflicting. */
enum { PAIRS_MOST = 4000 };

struct pair_entry {
    struct hash128 key;
    struct conflict conflict;
    UT_hash_handle hh;
};

struct group_entry {
    struct hash128 key;
    struct group *group;
    UT_hash_handle hh;
};

struct key_words { /* grows as needed; hashed at the end */
    uint64_t *words;
    size_t count, capacity;
    bool failed;
};

struct seen_array {
    uint32_t array;
    int64_t offset;
};

bool pairs_open(struct pairs *pairs, struct launch_classes *classes, const struct planner_options *options)
{
    const struct compiler *compiler = classes->program->compiler;
    struct answers *answers = compiler ? compiler->answers : NULL;
    *pairs = (struct pairs){.classes = classes, .answers = answers, .memo = memo_open(classes->ctx)};
    pairs->memo.shared = answers;
    pairs->memo.without_halo = options->without_halo;
    pairs->memo.march_layers = options->march_layers;
    pairs->memo.without_one_block = options->only && !(options->only >> GROUP_ONE_BLOCK & 1);
    pairs->memo.without_last_block = options->only && !(options->only >> GROUP_LAST_BLOCK & 1);
    pairs->bindings = calloc(classes->program->launch_count + 1, sizeof *pairs->bindings);
    return pairs->bindings;
}

void pairs_close(struct pairs *pairs)
{
    struct pair_entry *entry, *next;
    HASH_ITER(hh, pairs->entries, entry, next)
    {
        HASH_DEL(pairs->entries, entry);
        free(entry);
    }
    struct group_entry *decided, *after;
    HASH_ITER(hh, pairs->groups, decided, after)
    {
        HASH_DEL(pairs->groups, decided);
        group_free(decided->group);
        free(decided);
    }
    free(pairs->bindings);
    memo_close(&pairs->memo);
}

struct bound_launch pairs_launch(struct pairs *pairs, uint32_t launch)
{
    if (!pairs->bindings[launch]) pairs->bindings[launch] = launch_bindings(pairs->classes, launch);
    return (struct bound_launch){launch_class_of(pairs->classes, launch)->summary, pairs->bindings[launch]};
}

static void key_add(struct key_words *key, uint64_t word)
{
    if (key->failed) return;
    if (key->count == key->capacity) {
        size_t capacity = key->capacity ? 2 * key->capacity : 64;
        uint64_t *grown = realloc(key->words, capacity * sizeof *grown);
        if (!grown) {
            key->failed = true;
            return;
        }
        key->words = grown;
        key->capacity = capacity;
    }
    key->words[key->count++] = word;
}

/* array: number of the array or of the piece. */
static void key_add_binding(struct key_words *key, const struct array_binding *binding, uint32_t array,
                            int64_t moved, struct seen_array *seen, uint32_t *seen_count)
{
    uint32_t number = 0;
    int64_t offset = binding->offset + moved;
    while (number < *seen_count && seen[number].array != array) number++;
    if (number == *seen_count) seen[(*seen_count)++] = (struct seen_array){array, offset};
    key_add(key, number);
    key_add(key, (uint64_t)(offset - seen[number].offset));
    key_add(key, (uint64_t)binding->size);
    key_add(key, binding->is_plain);
    key_add(key, binding->is_private);
}

/* Bound launches of classes that are not refused, and how many bases they have. */
static uint32_t bind_all(struct pairs *pairs, const uint32_t *launches, uint32_t count,
                         struct bound_launch *bound)
{
    uint32_t bases = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (launch_class_of(pairs->classes, launches[i])->refusal) continue;
        bound[i] = pairs_launch(pairs, launches[i]);
        if (!bound[i].bindings) return UINT32_MAX;
        bases += bound[i].summary->base_count;
    }
    return bases;
}

/* by_like: by the classes that those of the launches are like. */
static bool find_key(struct pairs *pairs, const uint32_t *launches, uint32_t count, bool by_like,
                     struct hash128 *result)
{
    struct key_words key = {0};
    struct bound_launch *bound = calloc(count + 1, sizeof *bound);
    uint32_t bases = bound ? bind_all(pairs, launches, count, bound) : UINT32_MAX, seen_count = 0, at = 0;
    struct seen_array *seen = bases < UINT32_MAX ? calloc(bases + 1, sizeof *seen) : NULL;
    uint32_t *numbers = seen ? calloc(bases + 1, sizeof *numbers) : NULL;
    key.failed = !numbers || !pieces_number(bound, count, numbers);
    for (uint32_t i = 0; i < count && !key.failed; i++) {
        const struct launch_class *class = launch_class_of(pairs->classes, launches[i]);
        key_add(&key, by_like ? class->like->id : class->id);
        for (uint32_t b = 0; bound[i].summary && b < bound[i].summary->base_count; b++)
            key_add_binding(&key, &bound[i].bindings[b], numbers[at++],
                            by_like && class->moved ? class->moved[b] : 0, seen, &seen_count);
    }
    if (!key.failed) *result = hash_bytes(key.words, key.count * sizeof *key.words);
    free(key.words);
    free(numbers);
    free(seen);
    free(bound);
    return !key.failed;
}

bool pairs_key(struct pairs *pairs, const uint32_t *launches, uint32_t count, struct hash128 *result)
{
    return find_key(pairs, launches, count, false, result);
}

bool pairs_like_key(struct pairs *pairs, const uint32_t *launches, uint32_t count, uint64_t kind,
                    struct hash128 *result)
{
    if (!find_key(pairs, launches, count, true, result)) return false;
    *result = pairs_question_key(*result, kind);
    return true;
}

struct hash128 pairs_question_key(struct hash128 key, uint64_t kind)
{
    uint64_t words[3] = {key.low, key.high, kind};
    return hash_bytes(words, sizeof words);
}

/* What some process finds, of these launches or, unless they are refused, of others alike: a refusal names
 * bytes. False when time is over, or another process is asked and not waited for. */
static bool find_conflict(struct pairs *pairs, struct hash128 key, uint32_t earlier, uint32_t later,
                          struct conflict *conflict)
{
    struct hash128 like;
    struct deadline *deadline = pairs->classes->deadline;
    struct bound_launch p = pairs_launch(pairs, earlier), q = pairs_launch(pairs, later);
    const void *known;
    size_t size;
    if (deadline_is_over(deadline) || !pairs_like_key(pairs, (uint32_t[]){earlier, later}, 2, 'P', &like))
        return false;
    key = pairs_question_key(key, 'p');
    if (answers_look(pairs->answers, like, &known, &size)) {
        memcpy(conflict, known, sizeof *conflict);
        return true;
    }
    double wait = pairs->skips_asked ? 0 : deadline_left(deadline);
    enum answers_state state = answers_ask(pairs->answers, key, wait, &known, &size);
    if (state == ANSWERS_FOUND) {
        memcpy(conflict, known, sizeof *conflict);
        return true;
    }
    if (state == ANSWERS_NONE && pairs->skips_asked) return false;
    conflict_between(&pairs->memo, &p, &q, conflict);
    bool in_time = !deadline_is_over(deadline); /* else isl may have given up */
    if (state == ANSWERS_MINE && in_time) answers_give(pairs->answers, key, conflict, sizeof *conflict);
    if (in_time && conflict->class < CONFLICT_OTHER)
        answers_give(pairs->answers, like, conflict, sizeof *conflict);
    if (state == ANSWERS_MINE && !in_time) answers_forget(pairs->answers, key);
    return in_time;
}

const struct conflict *pairs_conflict(struct pairs *pairs, uint32_t earlier, uint32_t later)
{
    struct hash128 key;
    struct pair_entry *entry;
    if (!pairs_key(pairs, (uint32_t[]){earlier, later}, 2, &key)) return NULL;
    HASH_FIND(hh, pairs->entries, &key, sizeof key, entry);
    if (entry) return &entry->conflict;
    entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->key = key;
    if (pairs->computed == PAIRS_MOST) {
        entry->conflict =
            (struct conflict){.class = CONFLICT_UNKNOWN,
                              .reason = "the trace holds too many different pairs to look at them all"};
    } else if (!find_conflict(pairs, key, earlier, later, &entry->conflict)) {
        free(entry);
        return NULL;
    }
    HASH_ADD(hh, pairs->entries, key, sizeof key, entry);
    if (entry->conflict.class != CONFLICT_NONE && pairs->computed < PAIRS_MOST) pairs->computed++;
    return &entry->conflict;
}

static struct group *decide(struct pairs *pairs, const struct bound_launch *bound, uint32_t count,
                            uint32_t form)
{
    struct memo *memo = &pairs->memo;
    if (form == PAIRS_INTER_BLOCK) return group_decide_inter_block(memo, bound, count);
    if (form != PAIRS_ANY_FORM && form != PAIRS_NOT_ONE_BLOCK)
        return group_decide_last_block(memo, bound, count, form);
    bool was_without = memo->without_one_block;
    memo->without_one_block |= form == PAIRS_NOT_ONE_BLOCK;
    struct group *group = group_decide(memo, bound, count);
    memo->without_one_block = was_without;
    return group;
}

/* NULL when memory is out, or time is over. */
static struct group *decide_in_time(struct pairs *pairs, const struct bound_launch *bound, uint32_t count,
                                    uint32_t form)
{
    struct deadline *deadline = pairs->classes->deadline;
    struct group *group = deadline_is_over(deadline) ? NULL : decide(pairs, bound, count, form);
    if (!deadline_is_over(deadline)) return group;
    group_free(group); /* isl may have given up */
    return NULL;
}

struct group *pairs_group(struct pairs *pairs, const uint32_t *launches, const struct bound_launch *bound,
                          uint32_t count, uint32_t form)
{
    struct hash128 key;
    struct group_entry *entry;
    if (!pairs_key(pairs, launches, count, &key)) return NULL;
    if (form != PAIRS_ANY_FORM) key = pairs_question_key(key, form);
    HASH_FIND(hh, pairs->groups, &key, sizeof key, entry);
    if (entry) return entry->group;
    struct arena *arena = pairs->classes->program->arena;
    struct bound_launch *parted = arena_calloc(arena, count + 1, sizeof *parted);
    if (!parted) return NULL;
    memcpy(parted, bound, count * sizeof *parted);
    if (!pieces_part(arena, parted, count)) return NULL;
    entry = calloc(1, sizeof *entry);
    struct group *group = entry ? decide_in_time(pairs, parted, count, form) : NULL;
    if (!group) {
        free(entry);
        return NULL;
    }
    *entry = (struct group_entry){.key = key, .group = group};
    HASH_ADD(hh, pairs->groups, key, sizeof key, entry);
    return group;
}
