/* SPDX-License-Identifier: Apache-2.0
 * Deferred stores as the recorded program would have them: see deferred.h. */
#include "fuser/planner/deferred.h"

#include "fuser/planner/ahead.h"
#include "fuser/planner/draft.h"
#include "fuser/planner/group_code.h"
#include "fuser/planner/overwrites.h"
#include "fuser/planner/profit.h"
#include "fuser/planner/redirect.h"

#include <string.h>

enum {
    STORES_MOST = 32,
    BYSTANDERS_MOST = 128,
    NARROWED_MOST = 4,
    MATERIALISED_SHARE = 8 /* one in so many may be materialised */
};

struct deferred_store { /* of one use */
    struct search_group *group;
    uint32_t first; /* launch */
};
struct playing {
    struct search *search;
    struct deferred_store stores[STORES_MOST];
    uint32_t deferred_count;
    uint32_t now; /* the launch, or the first of the use, that is being made; DEFERRED_NONE: another event */
    struct hash128 keys[BYSTANDERS_MOST]; /* situations of the search's bystanders */
};

/* --- what launches touch --- */

static struct bound_launch member_of(struct search *search, const struct deferred_store *store,
                                     uint32_t member)
{
    return pairs_launch(search->pairs, store->first + store->group->member_steps[member]);
}

/* Where the range lies in this use. */
static struct array_range stale_at(struct search *search, const struct deferred_store *store, uint32_t index)
{
    const struct stale_range *stale = &store->group->deferred->stale.ranges[index];
    struct bound_launch writer = member_of(search, store, stale->range.writer);
    return array_range_behind(&writer, stale->argument_offset, stale->from,
                              stale->range.to - stale->range.from);
}

/* Where the group renames: the rematerialisation finds there what it needs, until the chain of uses ends. */
static bool is_renamed(struct search *search, const struct deferred_store *store,
                       const struct array_range *reach)
{
    for (uint32_t i = 0; i < store->group->group->rename_count; i++) {
        struct array_range range = redirect_range(search, store->group, i, store->first);
        if (array_range_meet(&range, reach)) return true;
    }
    return false;
}

/* What its rematerialisation reads, but for what it has written itself, meets the range. */
static bool is_needed(struct search *search, const struct deferred_store *store,
                      const struct array_range *range)
{
    for (uint32_t m = 0; m < store->group->member_count; m++) {
        if (!(store->group->deferred->stale.rematerialisation >> m & 1)) continue;
        struct bound_launch member = member_of(search, store, m);
        for (uint32_t b = 0; b < member.summary->base_count; b++) {
            struct array_range reach = array_range_reach(&member, b);
            if (member.summary->bases[b].is_read && array_range_meet(&reach, range) &&
                !is_renamed(search, store, &reach))
                return true;
        }
    }
    return false;
}

/* Notes which ranges are wanted. */
static bool is_touched(struct search *search, const struct deferred_store *store,
                       const struct array_range *range, bool is_written)
{
    struct search_deferred *deferred = store->group->deferred;
    bool is = false, is_input = is_written && is_needed(search, store, range);
    for (uint32_t i = 0; i < deferred->stale.count; i++) {
        if (!deferred->stale.ranges[i].is_stale) continue;
        struct array_range stale = stale_at(search, store, i);
        if (!is_input && !array_range_meet(&stale, range)) continue;
        deferred->wanted[i]++;
        is = true;
    }
    return is;
}

/* --- deferred stores --- */

static void materialise(struct playing *playing, uint32_t index)
{
    playing->stores[index].group->deferred->materialised++;
    playing->stores[index] = playing->stores[--playing->deferred_count];
}

static void drop(struct playing *playing, uint32_t index)
{
    playing->stores[index] = playing->stores[--playing->deferred_count];
}

static void materialise_all(struct playing *playing)
{
    while (playing->deferred_count) {
        const struct deferred_store *store = &playing->stores[0];
        for (uint32_t i = 0; i < store->group->deferred->stale.count; i++)
            store->group->deferred->wanted[i]++;
        materialise(playing, 0);
    }
}

static void materialise_touched(struct playing *playing, const struct array_range *range, bool is_written)
{
    for (uint32_t i = playing->deferred_count; i-- > 0;) {
        const struct deferred_store *store = &playing->stores[i];
        if (!is_touched(playing->search, store, range, is_written)) continue;
        if (is_written && is_needed(playing->search, store, range))
            store->group->deferred->spoiler = playing->now;
        materialise(playing, i);
    }
}

/* All that it has stale lies in the range. */
static bool is_covered(struct search *search, const struct deferred_store *store,
                       const struct array_range *range)
{
    for (uint32_t i = 0; i < store->group->deferred->stale.count; i++) {
        if (!store->group->deferred->stale.ranges[i].is_stale) continue;
        struct array_range stale = stale_at(search, store, i);
        if (range->array != stale.array || range->from > stale.from || stale.to > range->to) return false;
    }
    return true;
}

static void drop_covered(struct playing *playing, const struct array_range *range)
{
    for (uint32_t i = playing->deferred_count; i-- > 0;)
        if (is_covered(playing->search, &playing->stores[i], range)) drop(playing, i);
}

/* Drops those of which the use, or the bystander, writes all that they have stale, reading nothing of it before. */
static void drop_overwritten(struct playing *playing, struct search_group *by, uint32_t first)
{
    for (uint32_t i = playing->deferred_count; i-- > 0;) {
        const struct deferred_store *store = &playing->stores[i];
        const struct stale *stale = &store->group->deferred->stale;
        bool is_overwritten = true;
        for (uint32_t r = 0; r < stale->count; r++) {
            if (!stale->ranges[r].is_stale) continue;
            const struct overwrites_stale of = {store->group, r, stale_at(playing->search, store, r)};
            is_overwritten &= overwrites_meet(playing->search, by, first, &of);
        }
        if (is_overwritten) drop(playing, i);
    }
}

/* --- the recorded program --- */

static void touch_launch(struct playing *playing, uint32_t launch)
{
    struct bound_launch bound = pairs_launch(playing->search->pairs, launch);
    for (uint32_t b = 0; b < bound.summary->base_count; b++) {
        const struct access_base *base = &bound.summary->bases[b];
        struct array_range reach = array_range_reach(&bound, b);
        if (base->is_read || base->is_written) materialise_touched(playing, &reach, base->is_written);
    }
}

/* What has spoiled the deferred store before stands a little before this use. */
static void note_prefix(const struct playing *playing, struct search_deferred *deferred, uint32_t first)
{
    const struct program_launch *launches = playing->search->program->launches;
    uint32_t spoiler = deferred->spoiler;
    deferred->spoiler = DEFERRED_NONE;
    if (deferred->prefix_is_tried || spoiler == DEFERRED_NONE || spoiler >= first) return;
    if (launches[spoiler].window != launches[first].window || first - spoiler > SEARCH_PREFIX_MOST) return;
    if (first - spoiler <= deferred->prefix) return;
    deferred->prefix = first - spoiler;
    deferred->prefix_at = first;
}

/* A set or a copy that is in another stream than the kernels waits for what it may meet (home_stream.h). */
static bool is_elsewhere(const struct playing *playing, uint32_t launch)
{
    const struct program_launch *launches = playing->search->program->launches;
    return launches[launch].record->stream != launches[playing->stores[0].first].record->stream;
}

/* The launch is one of the plan's bystanders from now on. NULL: there is no more room. */
static struct search_group *bystander_of(struct playing *playing, uint32_t launch)
{
    struct search *search = playing->search;
    struct hash128 key;
    if (!pairs_key(search->pairs, &launch, 1, &key)) return NULL;
    for (uint32_t i = 0; i < search->bystander_count; i++)
        if (!memcmp(&playing->keys[i], &key, sizeof key)) return &search->bystanders[i];
    if (search->bystander_count == BYSTANDERS_MOST) return NULL;
    struct search_group *next = &search->bystanders[search->bystander_count];
    playing->keys[search->bystander_count++] = key;
    *next = (struct search_group){.launches = {launch}, .step_count = 1, .member_count = 1};
    return next;
}

/* Launches that a chain of uses with second buffers goes on over. */
static void note_between(struct playing *playing, struct search_group *group, uint32_t first)
{
    struct search *search = playing->search;
    uint32_t end = group->chain_end;
    uint64_t copies = 0;
    bool goes_on =
        group->chain_length && redirect_goes_on(search, group, end - group->step_count, end, first, &copies);
    for (uint32_t i = playing->deferred_count; !goes_on && i-- > 0;)
        if (playing->stores[i].group == group) materialise(playing, i);
    for (uint32_t i = end; goes_on && i < first; i++) {
        const struct search_group *between = search->group_of[i];
        if (!between || !between->is_kept) bystander_of(playing, i);
    }
    group->chain_length = 1;
    group->chain_end = first + group->step_count;
}

static void use_group(struct playing *playing, struct search_group *group, uint32_t first)
{
    const struct deferred_store use = {group, first};
    if (group->group->rename_count) note_between(playing, group, first);
    if (playing->deferred_count && is_elsewhere(playing, first)) materialise_all(playing);
    drop_overwritten(playing, group, first);
    for (uint32_t i = 0; i < group->step_count; i++) touch_launch(playing, first + i);
    if (!group->deferred) return;
    note_prefix(playing, group->deferred, first);
    if (playing->deferred_count == STORES_MOST) materialise(playing, 0);
    playing->stores[playing->deferred_count++] = use;
    group->deferred->deferrals++;
}

static void make_launch(struct playing *playing, uint32_t launch)
{
    struct search_group *bystander = NULL;
    if (!playing->deferred_count) return;
    if (draft_may_stand_by(playing->search, launch) && !is_elsewhere(playing, launch))
        bystander = bystander_of(playing, launch);
    if (!bystander) {
        materialise_all(playing);
        return;
    }
    drop_overwritten(playing, bystander, launch);
    touch_launch(playing, launch);
}

static void make_event(struct playing *playing, const struct program_event *event)
{
    struct array_range range = {.array = event->array, .from = event->from, .to = event->to};
    playing->now = DEFERRED_NONE;
    if (event->kind == PROGRAM_UNKNOWN) {
        materialise_all(playing);
        return;
    }
    if (event->kind == PROGRAM_FREES) range.from = INT64_MIN, range.to = INT64_MAX;
    if (event->kind == PROGRAM_FREES) drop_covered(playing, &range);
    materialise_touched(playing, &range, event->kind != PROGRAM_READS);
}

static void reset(struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_deferred *deferred = search->groups[i]->deferred;
        search->groups[i]->chain_length = 0;
        if (!deferred) continue;
        deferred->deferrals = deferred->materialised = 0;
        deferred->spoiler = DEFERRED_NONE;
        deferred->prefix = 0;
        memset(deferred->wanted, 0, sizeof deferred->wanted);
        memset(deferred->overwritten, 0, sizeof deferred->overwritten);
    }
}

static void play(struct playing *playing)
{
    struct search *search = playing->search;
    const struct program *program = search->program;
    uint32_t event = 0;
    playing->deferred_count = search->bystander_count = search->cover_count = 0;
    reset(search);
    for (uint32_t i = 0; i < program->launch_count;) {
        while (event < program->event_count && program->events[event].before <= i)
            make_event(playing, &program->events[event++]);
        struct search_group *group = (struct search_group *)search->group_of[i];
        playing->now = i;
        if (group && group->is_kept) {
            use_group(playing, group, i);
            i += group->step_count;
        } else {
            make_launch(playing, i++);
        }
    }
    while (event < program->event_count) make_event(playing, &program->events[event++]);
}

/* --- what is left stale --- */

/* A launch that comes after the fused kernel changes what a member of the rematerialisation has read. */
static void keep_inputs(const struct search_group *group, struct stale *stale,
                        const struct array_range *written)
{
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t b = 0; stale->rematerialisation >> m & 1 && b < group->bound[m].summary->base_count;
             b++) {
            struct array_range reach = array_range_reach(&group->bound[m], b);
            if (group->bound[m].summary->bases[b].is_read && array_range_meet(&reach, written))
                stale_store(group->group, stale, m);
        }
}

/* What a launch that is passed over touches is stored. */
static void spare_reach(struct search *search, const struct search_group *group,
                        const struct array_range *reach)
{
    struct stale *stale = &group->deferred->stale;
    const struct deferred_store use = {(struct search_group *)group, group->launches[0]};
    for (uint32_t i = 0; i < stale->count; i++) {
        struct array_range range = stale_at(search, &use, i);
        if (array_range_meet(reach, &range)) stale->ranges[i].is_stale = false;
    }
    stale_restrict(group->group, stale);
}

/* Launches that are passed over have nothing to do with it. */
static void spare_passed(struct search *search, const struct search_group *group)
{
    struct stale *stale = &group->deferred->stale;
    for (uint32_t s = 0; s < group->step_count; s++) {
        if (group->roles[s] == PLAN_MEMBER) continue;
        if (!draft_may_stand_by(search, group->launches[s])) {
            for (uint32_t i = 0; i < stale->count; i++) stale->ranges[i].is_stale = false;
            stale_restrict(group->group, stale);
            continue;
        }
        struct bound_launch bound = pairs_launch(search->pairs, group->launches[s]);
        for (uint32_t b = 0; b < bound.summary->base_count; b++) {
            struct array_range reach = array_range_reach(&bound, b);
            spare_reach(search, group, &reach);
            if (bound.summary->bases[b].is_written && group->roles[s] == PLAN_AFTER)
                keep_inputs(group, stale, &reach);
        }
    }
}

static void give_up(struct search_group *group)
{
    stale_group_free(group->deferred->group);
    codegen_result_clear(&group->deferred->code);
    group->deferred = NULL;
}

/* True when some were. */
static bool store_narrowed(const struct search_group *group, struct stale *stale)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < stale->count; i++) {
        if (!stale->ranges[i].is_stale || !stale->ranges[i].left.width) continue;
        stale->ranges[i].is_stale = false;
        has_changed = true;
    }
    stale_restrict(group->group, stale);
    return has_changed;
}

/* What is made again where ranges are renamed is made by launches whose words point to the right buffer. */
static void store_unmoved(struct search *search, const struct search_group *group, struct stale *stale)
{
    const struct group *decided = group->group;
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t b = 0; decided->rename_count && b < group->bound[m].summary->base_count; b++) {
            struct array_range reach = array_range_reach(&group->bound[m], b);
            uint32_t launch = group->launches[group->member_steps[m]];
            for (uint32_t i = 0; i < decided->rename_count && stale->rematerialisation >> m & 1; i++) {
                struct array_range range = redirect_range(search, group, i, group->launches[0]);
                if (array_range_meet(&range, &reach) && !redirect_may_move(search, launch, b))
                    stale_store(decided, stale, m);
            }
        }
}

/* After the ranges have changed. None are left, or memory is out: no deferring form. */
static void form(struct search *search, struct search_group *group)
{
    struct search_deferred *deferred = group->deferred;
    stale_group_free(deferred->group);
    codegen_result_clear(&deferred->code);
    do {
        bool has_bits = group->step_count <= SEARCH_MOST_DEPENDENT;
        deferred->group = has_bits && deferred->stale.rematerialisation
                              ? stale_group(group->group, &deferred->stale, search->arena)
                              : NULL;
    } while (!deferred->group && store_narrowed(group, &deferred->stale));
    if (!deferred->group) give_up(group);
}

/* As some process finds. Arrays have their own numbers, so the question names the launches. */
static void find_stale(struct search *search, const struct search_group *group, struct stale *stale)
{
    struct answers *answers = search->pairs->answers;
    uint64_t words[SEARCH_MOST_STEPS + 2] = {'s', group->group->block_tile_count};
    for (uint32_t m = 0; m < group->member_count; m++)
        words[2 + m] = group->launches[group->member_steps[m]] + 1;
    struct hash128 key = hash_bytes(words, sizeof words);
    const void *known;
    size_t size;
    enum answers_state state = answers_ask(answers, key, deadline_left(search->deadline), &known, &size);
    if (state == ANSWERS_FOUND) {
        memcpy(stale, known, sizeof *stale);
        return;
    }
    stale_collect(&search->pairs->memo, group->group, stale);
    bool in_time = !deadline_is_over(search->deadline); /* else isl may have given up */
    if (state == ANSWERS_MINE && in_time) answers_give(answers, key, stale, sizeof *stale);
    if (state == ANSWERS_MINE && !in_time) answers_forget(answers, key);
}

/* In a worker. */
static void look(void *context, uint32_t number)
{
    struct search *search = context;
    const struct search_group *group = search->groups[search->group_count - 1 - number];
    struct stale stale;
    if (group->is_kept) find_stale(search, group, &stale);
}

static bool begin(struct search *search, struct search_group *group)
{
    struct search_deferred *deferred = arena_calloc(search->arena, 1, sizeof *deferred);
    if (!deferred) return false;
    find_stale(search, group, &deferred->stale);
    if (deadline_is_over(search->deadline)) return true; /* isl may have given up: no deferring form */
    group->deferred = deferred;
    spare_passed(search, group);
    store_unmoved(search, group, &deferred->stale);
    form(search, group);
    return true;
}

static double rematerialisation_ns(struct search *search, const struct search_group *group)
{
    double sum = 0;
    for (uint32_t m = 0; m < group->member_count; m++)
        if (group->deferred->stale.rematerialisation >> m & 1)
            sum += (double)search_launch_time(search, group->launches[group->member_steps[m]]);
    return sum;
}

/* Once in a run is not often: at its end. */
static bool is_often_materialised(const struct search *search, const struct search_deferred *deferred)
{
    return deferred->materialised > search->program->run_count &&
           deferred->materialised * MATERIALISED_SHARE > deferred->deferrals;
}

static bool is_profitable(struct search *search, struct search_group *group)
{
    struct search_deferred *deferred = group->deferred;
    deferred->projected = search_projected(search, group, deferred->group);
    double gain = group->projected.fused_ns - deferred->projected.fused_ns;
    double cost = (double)deferred->materialised * rematerialisation_ns(search, group);
    if (deferred->deferrals) deferred->projected.fused_ns += cost / (double)deferred->deferrals;
    if (search->options->keeps_losing) return true;
    double loading =
        search->program->is_whole_run ? search->projection.load_ns * search->program->run_count : 0;
    double all = gain * (double)deferred->deferrals - cost - loading;
    return all > search->options->margin * group->projected.fused_ns * (double)deferred->deferrals &&
           !is_often_materialised(search, deferred);
}

/* Those that the next use overwrites in part leave that part stale alone. */
static bool narrow(struct search_group *group)
{
    struct search_deferred *deferred = group->deferred;
    bool has_changed = false;
    for (uint32_t i = 0; i < deferred->stale.count; i++) {
        if (!deferred->stale.ranges[i].is_stale || !deferred->overwritten[i].width ||
            deferred->narrowed[i]++ >= NARROWED_MOST)
            continue;
        has_changed |= stale_narrow(group->group, &deferred->stale, i, &deferred->overwritten[i]);
    }
    return has_changed;
}

/* The range that is wanted most is stored. */
static void store_more(struct search_group *group)
{
    struct search_deferred *deferred = group->deferred;
    uint32_t most = UINT32_MAX;
    for (uint32_t i = 0; i < deferred->stale.count; i++)
        if (deferred->stale.ranges[i].is_stale && deferred->wanted[i] &&
            (most == UINT32_MAX || deferred->wanted[i] > deferred->wanted[most]))
            most = i;
    for (uint32_t i = 0; i < deferred->stale.count; i++)
        if (most == UINT32_MAX || i == most) deferred->stale.ranges[i].is_stale = false;
    stale_restrict(group->group, &deferred->stale);
}

/* *has_changed: some group leaves less stale than before. */
static void improve(struct search *search, bool *has_changed)
{
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->is_kept || !group->deferred) continue;
        bool has_narrowed = is_often_materialised(search, group->deferred) && narrow(group);
        if (!has_narrowed && is_profitable(search, group)) continue;
        if (!has_narrowed) store_more(group);
        *has_changed = true;
        form(search, group);
    }
}

/* Launches before a group become steps of it where fewer stores are materialised so. */
static bool lengthen(struct search *search, bool *has_changed)
{
    for (uint32_t i = 0, count = search->group_count; i < count && !*has_changed; i++) {
        struct search_group *group = search->groups[i];
        if (!group->is_kept || !group->deferred || !group->deferred->prefix) continue;
        if (deadline_is_over(search->deadline)) return true;
        group->deferred->projected = search_projected(search, group, group->deferred->group);
        if (!deferred_prefix(search, group, has_changed)) return false;
        if (*has_changed && !begin(search, search->groups[search->group_count - 1])) return false;
    }
    return true;
}

static bool compile(struct search *search, bool *has_changed)
{
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        struct search_deferred *deferred = group->deferred;
        if (!group->is_kept || !deferred || deferred->code.source) continue;
        const char *name = arena_printf(search->arena, "%s_lazy", group->name);
        if (!name) return false;
        group_code_compile_form(search, group, deferred->group, name, &deferred->code);
        if (!deferred->code.error && !deadline_is_over(search->deadline)) continue;
        *has_changed = true;
        give_up(group);
    }
    return true;
}

static bool name_bystanders(struct search *search)
{
    for (uint32_t i = 0; i < search->bystander_count; i++) {
        struct search_group *group = &search->bystanders[i];
        uint32_t launch = group->launches[0];
        const struct program_kernel *kernel =
            &search->program->kernels[search->program->launches[launch].record->kernel];
        const char *plain = group_code_plain_name(search->arena, kernel->name);
        group->name = arena_printf(search->arena, "b%u_%s", i, plain ? plain : "");
        group->bound = arena_calloc(search->arena, 1, sizeof *group->bound);
        if (!group->name || !group->bound) return false;
        group->bound[0] = pairs_launch(search->pairs, launch);
    }
    return true;
}

/* Groups that were to gain by what they do not store, and store too much after all. */
static void drop_losing(struct search *search, bool *has_changed)
{
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        const struct projected *projected = group->deferred ? &group->deferred->projected : &group->projected;
        if (!group->is_kept || profit_is_enough(search, projected)) continue;
        if (group->deferred) give_up(group);
        group->is_kept = false;
        *has_changed = true;
    }
}

bool deferred_choose(struct search *search)
{
    struct playing playing = {.search = search};
    if (search->program->has_streams || search->options->stores_all) return true;
    search->bystanders = arena_calloc(search->arena, BYSTANDERS_MOST, sizeof *search->bystanders);
    if (!search->bystanders) return false;
    deadline_enter(search->deadline, DEADLINE_DEFERRED);
    ahead_look(search, search->group_count, look, search);
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->is_kept) continue;
        group->projected = search_projected(search, group, group->group);
        if (!begin(search, group)) return false;
    }
    ahead_end(search);
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        play(&playing);
        if (!lengthen(search, &has_changed)) return false;
        if (!has_changed) improve(search, &has_changed);
        if (!has_changed && !compile(search, &has_changed)) return false;
        if (!has_changed) drop_losing(search, &has_changed);
    }
    return name_bystanders(search);
}

void deferred_free(struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->deferred) give_up(search->groups[i]);
}
