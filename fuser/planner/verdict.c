/* SPDX-License-Identifier: Apache-2.0
 * See verdict.h. A search counts each verdict once, whoever found it. */
#include "fuser/planner/verdict.h"

#include "fuser/planner/dead_stores.h"
#include "fuser/planner/profit.h"

#include <string.h>

struct message { /* and the refusal behind it, with its NUL; empty: legal */
    uint64_t kind, has_stages, may_save_more, has_repeats, rename_count, refused_from;
    struct group_rename renames[RENAME_MOST];
    double saved_ns, dead_ns;
    struct projected projected;
};

static uint32_t find_members(const struct search_group *planned, uint32_t members[SEARCH_MOST_STEPS])
{
    for (uint32_t m = 0; m < planned->member_count; m++)
        members[m] = planned->launches[planned->member_steps[m]];
    return planned->member_count;
}

bool verdict_carry_out(struct search *search, struct search_group *planned)
{
    uint32_t members[SEARCH_MOST_STEPS], count = find_members(planned, members);
    if (planned->group) return true;
    planned->group = pairs_group(search->pairs, members, planned->bound, count, planned->form);
    if (planned->group && !planned->group->refusal) profit_choose_block_tiles(search, planned);
    return planned->group && !planned->group->refusal;
}

double verdict_copying_ns(const struct search *search, const struct verdict *verdict,
                          const struct profit_copies *copies)
{
    struct group_rename renames[RENAME_MOST];
    memcpy(renames, verdict->renames, sizeof renames);
    const struct group group = {.renames = renames, .rename_count = verdict->rename_count};
    return profit_copying_ns(search, &group, copies);
}

/* As this process finds; false when memory is out, or time is over. */
static bool judge(struct search *search, const struct search_group *planned, struct verdict *verdict)
{
    struct search_group tried = *planned;
    tried.group = NULL;
    tried.copying_ns = 0;
    bool is_legal = verdict_carry_out(search, &tried);
    const struct group *group = tried.group;
    if (!group) return false;
    verdict->refusal = group->refusal;
    verdict->refused_from = group->refused_from;
    if (!is_legal) return true;
    verdict->kind = group_kind(group);
    verdict->has_stages = group->stage_count;
    for (uint32_t i = 0; i < group->rename_count; i++, verdict->rename_count++)
        verdict->renames[i] = group->renames[i];
    for (uint32_t m = 0; m < group->member_count; m++)
        verdict->has_repeats |= remap_is_repeated(&group->remaps[m]);
    verdict->may_save_more =
        group->stage_count || group->bytes_cached || group->rename_count || group->block_tile_count;
    verdict->dead_ns = dead_stores_ns(search, &tried, group);
    verdict->saved_ns = profit_saved_ns(search, &tried, group) + verdict->dead_ns;
    verdict->projected = profit_project(search, &tried, verdict->saved_ns);
    return true;
}

static void tell(struct search *search, struct hash128 key, struct hash128 like,
                 const struct verdict *verdict)
{
    struct message message = {.kind = verdict->kind,
                              .has_stages = verdict->has_stages,
                              .rename_count = verdict->rename_count,
                              .refused_from = verdict->refused_from,
                              .may_save_more = verdict->may_save_more,
                              .has_repeats = verdict->has_repeats,
                              .saved_ns = verdict->saved_ns,
                              .dead_ns = verdict->dead_ns,
                              .projected = verdict->projected};
    const char *refusal = verdict->refusal ? verdict->refusal : "";
    memcpy(message.renames, verdict->renames, sizeof message.renames);
    size_t size = strlen(refusal) + 1;
    char *bytes = arena_alloc(search->arena, sizeof message + size);
    if (!bytes) {
        answers_forget(search->pairs->answers, key);
        return;
    }
    memcpy(bytes, &message, sizeof message);
    memcpy(bytes + sizeof message, refusal, size);
    answers_give(search->pairs->answers, key, bytes, sizeof message + size);
    if (!verdict->refusal) answers_give(search->pairs->answers, like, bytes, sizeof message + size);
}

static void hear(const void *bytes, struct verdict *verdict)
{
    struct message message;
    const char *refusal = (const char *)bytes + sizeof message;
    memcpy(&message, bytes, sizeof message);
    verdict->refusal = *refusal ? refusal : NULL;
    verdict->kind = (enum group_kind)message.kind;
    verdict->has_stages = message.has_stages;
    verdict->rename_count = (uint32_t)message.rename_count;
    verdict->refused_from = (uint32_t)message.refused_from;
    memcpy(verdict->renames, message.renames, sizeof verdict->renames);
    verdict->may_save_more = message.may_save_more;
    verdict->has_repeats = message.has_repeats;
    verdict->saved_ns = message.saved_ns;
    verdict->dead_ns = message.dead_ns;
    verdict->projected = message.projected;
}

/* What some process finds, of these members or, unless they are refused, of others alike: a refusal names
 * bytes. */
static bool find(struct search *search, const struct search_group *planned, struct hash128 like,
                 struct verdict *verdict)
{
    struct answers *answers = search->pairs->answers;
    const void *bytes;
    size_t size;
    struct hash128 key = pairs_question_key(verdict->key, 'v');
    if (deadline_is_over(search->deadline)) return false;
    bool is_known = answers_look(answers, like, &bytes, &size);
    double wait = search->skips_asked ? 0 : deadline_left(search->deadline);
    enum answers_state state = is_known ? ANSWERS_FOUND : answers_ask(answers, key, wait, &bytes, &size);
    if (state == ANSWERS_FOUND) {
        hear(bytes, verdict);
        return true;
    }
    if (state == ANSWERS_NONE && search->skips_asked) {
        search->has_skipped = true;
        return false;
    }
    bool is_judged = judge(search, planned, verdict);
    if (state == ANSWERS_MINE && is_judged) tell(search, key, like, verdict);
    if (state == ANSWERS_MINE && !is_judged) answers_forget(answers, key);
    return is_judged;
}

static struct hash128 both(struct hash128 a, struct hash128 b)
{
    const struct hash128 words[] = {a, b};
    return hash_bytes(words, sizeof words);
}

const struct verdict *verdict_of(struct search *search, const struct search_group *planned)
{
    uint32_t members[SEARCH_MOST_STEPS], count = find_members(planned, members);
    struct hash128 key, like;
    struct verdict *verdict;
    if (!pairs_key(search->pairs, members, count, &key) ||
        !pairs_like_key(search->pairs, members, count, 'V', &like))
        return NULL;
    struct hash128 after = dead_stores_name(search, planned);
    if (planned->form != PAIRS_ANY_FORM) after = pairs_question_key(after, planned->form);
    key = both(key, after);
    like = both(like, after);
    HASH_FIND(hh, search->verdicts, &key, sizeof key, verdict);
    if (verdict) return verdict;
    verdict = arena_calloc(search->arena, 1, sizeof *verdict);
    if (!verdict) return NULL;
    verdict->key = key;
    if (!find(search, planned, like, verdict)) return NULL;
    HASH_ADD(hh, search->verdicts, key, sizeof key, verdict);
    search->decided++;
    return verdict;
}
