/* SPDX-License-Identifier: Apache-2.0
 * The search: see search.h. Which drafts are groups. */
#include "fuser/planner/draft.h"
#include "fuser/planner/group_code.h"
#include "fuser/planner/measurements.h"
#include "fuser/planner/redirect.h"
#include "fuser/planner/search_memo.h"
#include "fuser/planner/verdict.h"
#include "fuser/planner/profit.h"

#include <math.h>
#include <string.h>

/* A program whose situations never repeat is given up after this much work, some twenty seconds each. */
enum { SEARCH_MOST_DECIDED = 3000, SEARCH_MOST_COMPILED = 256 };
static const double DISAPPOINTS = 0.7; /* of the gain that was expected before there was code */

static bool collect_members(struct search *search, const struct draft *draft, struct search_group *planned)
{
    planned->step_count = draft->count;
    planned->member_count = 0;
    planned->form = draft->is_inter_block     ? PAIRS_INTER_BLOCK
                    : draft->not_in_one_block ? PAIRS_NOT_ONE_BLOCK
                                              : PAIRS_ANY_FORM;
    planned->bound = arena_calloc(search->arena, draft->count, sizeof *planned->bound);
    if (!planned->bound) return false;
    for (uint32_t i = 0; i < draft->count; i++) {
        planned->launches[i] = draft->first + i;
        planned->roles[i] = draft->roles[i];
        if (!draft->is_member[i]) continue;
        bool is_last = draft->last_step && i >= draft->last_step;
        if (is_last && planned->form == PAIRS_ANY_FORM) planned->form = planned->member_count;
        planned->member_steps[planned->member_count] = i;
        planned->bound[planned->member_count++] = pairs_launch(search->pairs, draft->first + i);
    }
    return true;
}

static void release_group(struct search_group *planned)
{
    codegen_result_clear(&planned->code);
    planned->group = NULL;
}

const char search_used_too_rarely[] =
    "it is used too rarely to win back the time that loading its code takes";
const char search_copied_too_often[] =
    "what it writes into a second buffer would have to be copied back too often";

static bool is_wanted(const struct search *search, enum group_kind kind)
{
    return !search->options->only || search->options->only >> kind & 1;
}

/* Why there is no answer. */
static const char *why_nothing(struct search *search)
{
    return deadline_is_over(search->deadline) ? search->classes->too_late : "out of memory";
}

/* Why the draft as it is cannot be a group, or NULL. *saved_ns: in, what a group of these members and more
 * saves, taken as the most that this one can; out, what this one does. */
static const char *decide_whole(struct search *search, struct search_group *planned, double *saved_ns)
{
    static const char gains_little[] = "the projected gain is below the margin";
    struct projected most = profit_project(search, planned, *saved_ns);
    if (!profit_is_enough(search, &most)) return gains_little;
    if (!profit_covers_loading(search, planned, most.original_ns - most.fused_ns,
                               profit_most_uses(search, planned)))
        return search_used_too_rarely;
    const char *measured = measurements_refusal(search, planned, most.original_ns);
    if (measured) return measured;
    const struct verdict *verdict = planned->verdict = verdict_of(search, planned);
    if (!verdict) return why_nothing(search);
    if (verdict->refusal) return verdict->refusal;
    if (!is_wanted(search, verdict->kind)) return "it is a fusion of a kind that the plan is to do without";
    /* Where the same launches follow, uses may be a chain. */
    if (verdict->rename_count && !redirect_comes_again(search, planned, planned->launches[0]))
        planned->copying_ns = verdict_copying_ns(search, verdict, &(struct profit_copies){1, 1, 0});
    planned->projected = verdict->projected;
    planned->projected.fused_ns += planned->copying_ns;
    /* A border costs: without its last member, a halo fusion may save more. Fewer members find more in a
     * cache. */
    *saved_ns = verdict->may_save_more || verdict->has_repeats ? INFINITY : verdict->saved_ns;
    return profit_is_enough(search, &planned->projected) ? NULL : gains_little;
}

/* The draft as it is, as a group; NULL with the draft's reason. */
static struct search_group *decide_draft(struct draft *draft, double *saved_ns)
{
    struct search *search = draft->search;
    struct search_group *planned = arena_calloc(search->arena, 1, sizeof *planned);
    if (!planned || !draft_assign_roles(draft) || !collect_members(search, draft, planned)) {
        draft->reason = "out of memory";
        return NULL;
    }
    const char *refusal = decide_whole(search, planned, saved_ns);
    draft->is_illegal = planned->verdict && planned->verdict->refusal;
    draft->refused_from = draft->is_illegal ? planned->verdict->refused_from : 0;
    if (!refusal) return planned;
    draft->reason = arena_strdup(search->arena, refusal);
    release_group(planned);
    return NULL;
}

static void keep_members(struct draft *draft, uint32_t count)
{
    for (uint32_t i = 0; i < draft->count; i++)
        if (draft->is_member[i] && count)
            count--;
        else
            draft->is_member[i] = false;
    draft_trim(draft);
}

/* Why nothing more is decided, or NULL. */
static const char *why_enough(struct search *search)
{
    if (search->decided == SEARCH_MOST_DECIDED)
        return "the trace holds too many different situations to plan them all";
    if (search->has_skipped) return "another process is at it";
    return deadline_is_over(search->deadline) ? search->classes->too_late : NULL;
}

/* How many members of an illegal draft to try: those up to the one that its verdict stumbles over, without which more may be
 * renamed than with those behind it; then those before. Where none tells, fewer are legal where more are, as a rule. */
static uint32_t members_to_try(uint32_t legal, uint32_t illegal, uint32_t refused_from)
{
    if (refused_from > legal && refused_from < illegal) return refused_from;
    return refused_from == illegal ? illegal - 1 : (legal + illegal) / 2;
}

/* Of an illegal draft, as many of its first members as are legal together. */
static void cut_to_legal(struct draft *draft)
{
    uint32_t legal = 1, illegal = draft_members(draft), refused_from = draft->refused_from;
    while (illegal - legal > 1 && !why_enough(draft->search)) {
        struct draft cut = *draft;
        uint32_t members = members_to_try(legal, illegal, refused_from);
        double saved_ns = INFINITY;
        keep_members(&cut, members);
        struct search_group *planned = decide_draft(&cut, &saved_ns);
        if (planned) release_group(planned);
        refused_from = cut.refused_from;
        if (cut.is_illegal) {
            illegal = members;
            draft->reason = cut.reason;
        } else {
            legal = members;
        }
    }
    keep_members(draft, legal);
}

/* Steps in time: of one repetition, two and so on, what gains most for each launch; until they are illegal, or gain less. The draft is
 * left with one, which is decided in any case. */
static struct search_group *best_in_time(struct draft *draft)
{
    struct search *search = draft->search;
    struct search_group *best = NULL;
    uint32_t period = draft->period, most = draft->count;
    bool goes_on = true;
    for (uint32_t count = period; goes_on && count <= most && !why_enough(search); count += period) {
        struct draft shorter = *draft;
        double saved_ns = INFINITY;
        keep_members(&shorter, count);
        struct search_group *planned = decide_draft(&shorter, &saved_ns);
        bool is_better = planned && (!best || profit_of(search, planned) * best->step_count >
                                                  profit_of(search, best) * planned->step_count);
        struct search_group *worse = is_better ? best : planned;
        if (worse) release_group(worse);
        goes_on = is_better || (!best && !shorter.is_illegal);
        if (is_better) best = planned;
    }
    keep_members(draft, period);
    draft->period = 0;
    return best;
}

/* Decides the draft whole, then without its last member, and so on, until one is profitable; on from a halo
 * fusion while that gains, as fewer members may need no border. Not compiled yet. */
static struct search_group *best_of_draft(struct draft *draft)
{
    struct search *search = draft->search;
    struct search_group *best = draft->period ? best_in_time(draft) : NULL;
    double saved_ns = INFINITY;
    if (best) return best;
    while (draft_members(draft) >= 2) {
        const char *enough = why_enough(search);
        if (enough) {
            draft->reason = enough;
            break;
        }
        struct search_group *planned = decide_draft(draft, &saved_ns);
        bool is_better = planned && (!best || profit_of(search, planned) > profit_of(search, best));
        struct search_group *worse = is_better ? best : planned;
        if (worse) release_group(worse);
        if (best && !is_better) break;
        if (is_better) best = planned;
        if (best && !best->verdict->has_stages && !best->verdict->rename_count && !best->verdict->has_repeats)
            break;
        if (draft->is_illegal)
            cut_to_legal(draft);
        else
            keep_members(draft, draft_members(draft) - 1);
    }
    return best;
}

bool search_add_group(struct search *search, struct search_group *planned)
{
    if (search->group_count == search->group_capacity) {
        uint32_t capacity = search->group_capacity ? 2 * search->group_capacity : 16;
        void *grown =
            arena_grow(search->arena, search->groups, search->group_count, capacity, sizeof planned);
        if (!grown) return false;
        search->groups = grown;
        search->group_capacity = capacity;
    }
    search->groups[search->group_count++] = planned;
    return true;
}

/* Two situations may lead to one group: steps, roles and pointers alike. */
static struct search_group *known_group(struct search *search, const struct search_group *planned)
{
    struct hash128 key, other;
    if (!pairs_key(search->pairs, planned->launches, planned->step_count, &key)) return NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (group->step_count != planned->step_count || group->form != planned->form) continue;
        if (memcmp(group->roles, planned->roles, planned->step_count * sizeof *planned->roles)) continue;
        if (pairs_key(search->pairs, group->launches, group->step_count, &other) && hash_equal(key, other))
            return group;
    }
    return NULL;
}

/* Settles a draft and files the group, or the one that is known already, in the memo. */
static void file_draft(struct draft *draft, struct search_memo *memo, uint32_t candidate)
{
    struct search *search = draft->search;
    struct search_group *planned = best_of_draft(draft),
                        *known = planned ? known_group(search, planned) : NULL;
    memo->groups[candidate] = NULL;
    if (candidate == CANDIDATE_LONGEST) memo->reason = draft->reason;
    if (known) {
        release_group(planned);
        memo->groups[candidate] = known;
    } else if (planned && (planned->name = group_code_name(search, planned)) &&
               search_add_group(search, planned)) {
        memo->groups[candidate] = planned;
    }
}

/* Leaves out the first member that meets neighbouring threads of one before it, and those behind it. */
static void cut_at_halo(struct draft *draft)
{
    for (uint32_t q = 1; q < draft->count; q++)
        for (uint32_t p = 0; p < q; p++) {
            if (!draft->is_member[p] || !draft->is_member[q]) continue;
            const struct conflict *conflict =
                pairs_conflict(draft->search->pairs, draft->first + p, draft->first + q);
            if (!conflict || conflict->class != CONFLICT_HALO) continue;
            draft->count = q;
            draft_trim(draft);
            return;
        }
}

/* Leaves out all from the first launch on that is passed over: where the group as a whole takes it from others that gain more. */
static void cut_at_passed(struct draft *draft)
{
    uint32_t count = 0;
    while (count < draft->count && draft->is_member[count]) count++;
    draft->count = count;
}

/* Grows a draft anew where some launches meet in one block alone. */
static bool grow_beyond_one_block(struct draft *draft)
{
    if (!draft->meets_in_one_block) return false;
    *draft = (struct draft){.search = draft->search, .first = draft->first, .not_in_one_block = true};
    draft_grow(draft);
    return draft_members(draft) >= 2;
}

/* Grows a draft anew where some launch could have run in its last block. False where none does. */
static bool grow_to_last_block(struct draft *draft)
{
    if (!draft->may_run_last) return false;
    *draft = (struct draft){.search = draft->search, .first = draft->first, .takes_last = true};
    draft_grow(draft);
    return draft->last_step && draft_members(draft) >= 2;
}

/* Grows a draft anew of launches that have nothing to do with each other. */
static bool grow_inter_block(struct draft *draft)
{
    if (!is_wanted(draft->search, GROUP_INTER_BLOCK)) return false;
    *draft = (struct draft){.search = draft->search, .first = draft->first, .is_inter_block = true};
    draft_grow(draft);
    return draft_members(draft) >= 2;
}

static struct search_memo *decide(struct search *search, uint32_t first, struct hash128 key)
{
    struct search_memo *memo = arena_calloc(search->arena, 1, sizeof *memo);
    if (!memo) return NULL;
    memo->key = key;
    struct draft draft = {.search = search, .first = first};
    memo->reason = search_class(search, first)->no_member;
    if (!memo->reason) memo->reason = draft_why_no_step(search, first);
    if (!memo->reason) memo->reason = why_enough(search);
    if (!memo->reason) {
        draft_grow(&draft);
        if (!draft.reason) draft.reason = why_enough(search);
        struct draft other = draft, next = draft, large = draft, last = draft, beside = draft;
        file_draft(&draft, memo, CANDIDATE_LONGEST);
        const struct search_group *longest = memo->groups[CANDIDATE_LONGEST];
        cut_at_halo(&other);
        if (longest && longest->verdict->has_stages && draft_members(&other) >= 2)
            file_draft(&other, memo, CANDIDATE_WITHOUT_HALO);
        cut_at_passed(&next);
        if (longest && longest->step_count > next.count && next.count >= 2)
            file_draft(&next, memo, CANDIDATE_UNBROKEN);
        if (grow_beyond_one_block(&large) && !why_enough(search)) file_draft(&large, memo, CANDIDATE_LARGE);
        if (grow_to_last_block(&last) && !why_enough(search)) file_draft(&last, memo, CANDIDATE_LAST_BLOCK);
        if (grow_inter_block(&beside) && !why_enough(search))
            file_draft(&beside, memo, CANDIDATE_INTER_BLOCK);
    }
    HASH_ADD(hh, search->memo, key, sizeof key, memo);
    return memo;
}

void search_look_at_pairs(struct search *search, uint32_t first)
{
    struct draft draft = {.search = search, .first = first};
    if (search_class(search, first)->no_member || draft_why_no_step(search, first)) return;
    search->pairs->skips_asked = true;
    draft_grow(&draft);
    grow_to_last_block(&draft);
    grow_inter_block(&draft);
    search->pairs->skips_asked = false;
}

bool search_look_unasked(struct search *search, uint32_t first)
{
    search->skips_asked = true;
    struct search_memo *memo = search_look(search, first);
    bool has_skipped = search->has_skipped;
    search->skips_asked = search->has_skipped = false;
    if (!memo || !has_skipped) return memo;
    HASH_DEL(search->memo, memo);
    search->memo_of[first] = NULL;
    return false;
}

void search_look_at_fewer(struct search *search, uint32_t first, uint32_t left_out)
{
    struct draft draft = {.search = search, .first = first};
    double saved_ns = INFINITY;
    if (search_class(search, first)->no_member || draft_why_no_step(search, first)) return;
    draft_grow(&draft);
    uint32_t members = draft_members(&draft);
    if (members < left_out + 2 || why_enough(search)) return;
    keep_members(&draft, members - left_out);
    struct search_group *planned = decide_draft(&draft, &saved_ns);
    if (planned) release_group(planned);
}

static void take_form(struct draft *draft, const struct search_group *planned)
{
    draft->not_in_one_block = planned->form == PAIRS_NOT_ONE_BLOCK;
    draft->is_inter_block = planned->form == PAIRS_INTER_BLOCK;
    if (planned->form != PAIRS_ANY_FORM && !draft->not_in_one_block && !draft->is_inter_block)
        draft->last_step = planned->member_steps[planned->form];
}

/* The group's steps before the cut. */
static struct draft cut_group(struct search *search, const struct search_group *planned, uint32_t cut)
{
    struct draft draft = {.search = search, .first = planned->launches[0], .count = cut};
    take_form(&draft, planned);
    for (uint32_t m = 0; m < planned->member_count; m++)
        if (planned->member_steps[m] < cut) draft.is_member[planned->member_steps[m]] = true;
    draft_trim(&draft);
    return draft;
}

/* A refused group loses the members from its cut on and is decided again. */
static void shrink(struct search *search, struct search_memo *memo, uint32_t candidate)
{
    const struct search_group *planned = memo->groups[candidate];
    struct draft draft = cut_group(search, planned, planned->cut);
    draft.reason = planned->refusal;
    file_draft(&draft, memo, candidate);
    if (memo->groups[candidate] && planned->is_ahead) memo->groups[candidate]->is_ahead = true;
}

/* Of a group that gains much less than was expected, its members but the last; and so on. */
static void look_shorter(struct search *search, struct search_memo *memo)
{
    const struct search_group *shorter = memo->groups[CANDIDATE_SHORTER],
                              *of = shorter ? shorter : memo->groups[CANDIDATE_LONGEST];
    if (memo->has_no_shorter || !of || of->refusal || !of->disappoints) return;
    struct draft draft = cut_group(search, of, of->member_steps[of->member_count - 1]);
    memo->groups[CANDIDATE_SHORTER] = NULL;
    if (draft_members(&draft) >= 2) file_draft(&draft, memo, CANDIDATE_SHORTER);
    memo->has_no_shorter = !memo->groups[CANDIDATE_SHORTER];
}

/* Of a group that is refused. What takes too long, spills as much as several members hold, or loses much, is cut in half: what is
 * compiled for nothing takes longest. */
static uint32_t members_to_keep(const struct search_group *planned)
{
    enum { MUCH = 256 }; /* bytes of a thread */
    const double far = 1.1;
    const struct projected *projected = &planned->projected;
    bool is_far = planned->code.error == compiler_too_long || planned->code.spill_bytes >= MUCH ||
                  projected->fused_ns > far * projected->original_ns;
    return is_far ? (planned->member_count + 1) / 2 : planned->member_count - 1;
}

void search_compile_fewer(struct search *search, struct search_memo *memo, uint32_t candidate,
                          uint32_t members)
{
    struct search_group *whole = memo->groups[candidate];
    const char *refusal = whole->refusal;
    uint32_t cut = whole->cut;
    whole->cut = whole->member_steps[members];
    shrink(search, memo, candidate);
    struct search_group *fewer = memo->groups[candidate];
    if (fewer && !fewer->is_compiled && !fewer->refusal) search_compile(search, fewer);
    memo->groups[candidate] = whole;
    whole->refusal = refusal;
    whole->cut = cut;
}

void search_compile(struct search *search, struct search_group *planned)
{
    if (search->compiled++ == SEARCH_MOST_COMPILED) {
        planned->refusal = "the trace holds too many different groups to compile them all";
        planned->is_dropped = true;
        return;
    }
    bool is_there = verdict_carry_out(search, planned);
    if (is_there) group_code_compile(search, planned);
    if (deadline_is_over(search->deadline)) { /* isl may have given up in the middle */
        planned->refusal = search->classes->too_late;
        planned->is_dropped = true;
        return;
    }
    planned->refusal = is_there ? planned->code.error : "out of memory";
    planned->cut = planned->member_steps[members_to_keep(planned)];
    if (planned->code.has_no_compiler) search->error = planned->code.error;
    if (planned->refusal) return;
    double expected = planned->projected.original_ns - planned->projected.fused_ns;
    planned->projected = profit_project(
        search, planned, profit_saved_ns(search, planned, planned->group) + planned->verdict->dead_ns);
    if (!profit_is_enough(search, &planned->projected)) {
        planned->refusal =
            "it needs too many registers or instructions: the projected gain is below the margin";
        planned->cut = planned->member_steps[members_to_keep(planned)];
    }
    planned->is_compiled = !planned->refusal;
    planned->disappoints =
        planned->projected.original_ns - planned->projected.fused_ns < DISAPPOINTS * expected;
}

bool search_situation(struct search *search, uint32_t first, struct hash128 *key)
{
    uint32_t slice[SEARCH_MOST_STEPS], count = 0;
    const struct program *program = search->program;
    for (uint32_t i = first; i < program->launch_count && count < SEARCH_MOST_STEPS; i++) {
        if (program->launches[i].window != program->launches[first].window ||
            draft_why_once(search, first, i))
            break;
        slice[count++] = i;
        if (search_class(search, i)->refusal) break;
    }
    struct {
        struct hash128 slice;
        uint64_t most_members; /* which launches behind the slice decide */
    } situation;
    if (!pairs_key(search->pairs, slice, count, &situation.slice)) return false;
    situation.most_members = draft_most_members(&(struct draft){.search = search, .first = first});
    *key = hash_bytes(&situation, sizeof situation);
    return true;
}

struct search_memo *search_look(struct search *search, uint32_t first)
{
    struct hash128 key;
    struct search_memo *memo;
    if (search->memo_of[first]) return search->memo_of[first];
    if (!search_situation(search, first, &key)) return NULL;
    HASH_FIND(hh, search->memo, &key, sizeof key, memo);
    return search->memo_of[first] = memo ? memo : decide(search, first, key);
}

/* A group that may start in this situation as things stand; NULL, of the first with the reason in the memo.
 */
struct search_group *search_candidate(struct search *search, struct search_memo *memo, uint32_t candidate)
{
    struct search_group **group = &memo->groups[candidate];
    if (candidate == CANDIDATE_SHORTER) look_shorter(search, memo);
    while (*group && (*group)->refusal && !(*group)->is_dropped) shrink(search, memo, candidate);
    if (!*group || !(*group)->is_dropped) return *group;
    if (candidate == CANDIDATE_LONGEST) memo->reason = (*group)->refusal;
    return NULL;
}

static void try_draft(struct draft *draft, struct search_trial *trial)
{
    struct search *search = draft->search;
    double saved_ns = INFINITY;
    struct search_group *planned = arena_calloc(search->arena, 1, sizeof *planned);
    if (!planned || !collect_members(search, draft, planned)) {
        trial->refusal = "out of memory";
        return;
    }
    const char *refusal = decide_whole(search, planned, &saved_ns);
    trial->refusal = refusal ? arena_strdup(search->arena, refusal) : NULL;
    trial->is_legal = !planned->verdict || !planned->verdict->refusal;
    trial->projected = planned->projected;
    release_group(planned);
}

/* The launch that is passed over and must come before the draft's last one, but after another member. */
static const char *why_no_roles(const struct draft *draft)
{
    struct search *search = draft->search;
    uint32_t last = draft->first + draft->count - 1;
    for (uint32_t launch = draft->first; launch < last; launch++) {
        if (draft->is_member[launch - draft->first]) continue;
        const struct conflict *conflict = pairs_conflict(search->pairs, launch, last);
        if (!conflict || conflict->class == CONFLICT_NONE) continue;
        const struct access_summary *p = search_class(search, launch)->summary,
                                    *q = search_class(search, last)->summary;
        return arena_printf(
            search->arena,
            "it passes over kernel %s, line %u: what that touches after a member did, kernel %s line "
            "%u touches too",
            p->function->name, p->accesses[conflict->access_p].line, q->function->name,
            q->accesses[conflict->access_q].line);
    }
    return "what it passes over can run neither before nor after it";
}

/* Why no group that starts there is taken; NULL: one may be, and others gain more. */
static const char *why_given_up(const struct search *search, const struct search_memo *memo)
{
    const char *why = memo ? memo->reason : NULL;
    for (uint32_t candidate = 0; memo && candidate < SEARCH_CANDIDATES; candidate++) {
        const struct search_group *group = memo->groups[candidate];
        if (!group || group->is_dropped) continue;
        if (profit_of(search, group) > 0) return NULL;
        if (group->copying_ns > 0) why = search_copied_too_often;
    }
    return why;
}

void search_try_longer(struct search *search, uint32_t launch, struct search_trial *trial)
{
    const struct search_group *group = search->group_of[launch];
    uint32_t steps = group ? group->step_count : 1;
    struct draft draft = {.search = search, .first = launch + 1 - steps, .count = steps + 1};
    const struct search_memo *memo = search->memo_of[draft.first];
    *trial = (struct search_trial){.given_up = why_given_up(search, memo)};
    if (steps == SEARCH_MOST_STEPS || (group && group->member_count >= draft_most_members(&draft))) {
        trial->refusal = "the group before it has as many members as one may have";
        return;
    }
    trial->refusal = why_enough(search);
    if (trial->refusal) return;
    for (uint32_t i = 0; i < steps; i++) draft.is_member[i] = !group || group->roles[i] == PLAN_MEMBER;
    if (group) take_form(&draft, group);
    draft.is_member[steps] = true;
    if (draft_assign_roles(&draft))
        try_draft(&draft, trial);
    else
        trial->refusal = why_no_roles(&draft);
}

void search_free(struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++) release_group(search->groups[i]);
    HASH_CLEAR(hh, search->memo);
    HASH_CLEAR(hh, search->verdicts);
}
