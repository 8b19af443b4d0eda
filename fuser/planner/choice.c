/* SPDX-License-Identifier: Apache-2.0
 * The groups that gain most over the program, by dynamic programming over its launches, chosen anew as groups
 * are dropped, cut and compiled. */
#include "fuser/planner/ahead.h"
#include "fuser/planner/holding.h"
#include "fuser/planner/measurements.h"
#include "fuser/planner/redirect.h"
#include "fuser/planner/rivals.h"
#include "fuser/planner/search_memo.h"
#include "fuser/planner/situations.h"
#include "fuser/planner/verdict.h"
#include "fuser/planner/profit.h"

#include <string.h>

/* The last is a rival of the others. */
static struct search_group *candidate_at(struct search *search, uint32_t launch, uint32_t candidate)
{
    if (candidate < SEARCH_CANDIDATES) return search_candidate(search, search->memo_of[launch], candidate);
    struct search_group *rival = search->rival_of[launch];
    return rival && rival->is_compiled && !rival->refusal ? rival : NULL;
}

/* The launches of a situation's longest group, wherever it recurs. */
static void cover(struct search *search, uint32_t first, bool *is_covered)
{
    const struct search_group *group = search->memo_of[first]->groups[CANDIDATE_LONGEST];
    uint32_t count = search->program->launch_count;
    for (uint32_t i = first; group && i < count; i++)
        for (uint32_t k = 0; search->situations.of[i] == first && k < group->step_count && i + k < count; k++)
            is_covered[i + k] = true;
}

/* Of what recurs, first what the groups found so far do not have: those of neighbours have the same launches, so that these are most
 * of a plan, and soon found. */
static bool look_beside_groups(struct search *search)
{
    bool *is_covered = arena_calloc(search->arena, search->program->launch_count + 1, sizeof *is_covered);
    for (uint32_t i = 0; is_covered && i < search->situations.recurring; i++) {
        uint32_t first = search->situations.launches[i];
        if (is_covered[first]) continue;
        if (!search_look(search, first)) return false;
        cover(search, first, is_covered);
    }
    return is_covered;
}

static bool look_at_all(struct search *search)
{
    const struct situations *situations = &search->situations;
    if (!look_beside_groups(search)) return false;
    for (uint32_t i = 0; i < situations->count; i++) {
        if (search->options->progress)
            search->options->progress(search->options->context, "searching groups", i, situations->count);
        if (!search_look(search, situations->launches[i])) return false;
    }
    for (uint32_t i = 0; i < search->program->launch_count; i++)
        if (!search_look(search, i)) return false;
    return true;
}

/* gain_from[i]: the most that groups of launch i and those after it gain. Of equal choices the first group
 * wins. */
static bool weigh(struct search *search)
{
    const double equal = 1 - 1e-9;
    uint32_t count = search->program->launch_count;
    double *gain_from = search->gain_from;
    if (!look_at_all(search)) return false;
    for (uint32_t i = count; i-- > 0;) {
        search->start_of[i] = NULL;
        gain_from[i] = gain_from[i + 1];
        for (uint32_t candidate = 0; candidate <= SEARCH_CANDIDATES; candidate++) {
            struct search_group *group = candidate_at(search, i, candidate);
            double taken = group ? profit_of(search, group) + gain_from[i + group->step_count] : 0;
            bool is_better = search->start_of[i] ? taken > gain_from[i] : taken >= gain_from[i] * equal;
            if (!group || !is_better) continue;
            search->start_of[i] = group;
            gain_from[i] = taken;
        }
    }
    return true;
}

static void extend_chain(struct search *search, struct search_group *group, uint32_t first)
{
    const struct program_launch *launches = search->program->launches;
    uint32_t end = group->chain_end, last = end - group->step_count;
    bool goes_on = group->uses && launches[first].window == launches[end - 1].window &&
                   redirect_goes_on(search, group, last, end, first, &group->mirrors);
    if (!goes_on) {
        group->chains++;
        group->chain_length = 0;
    }
    if (++group->chain_length % 2)
        group->restores++;
    else
        group->restores--;
    group->chain_end = first + group->step_count;
}

/* As its uses have turned out. */
static void update_copying(const struct search *search, struct search_group *group)
{
    double before = group->copying_ns;
    const struct profit_copies copies = {group->restores, group->chains, group->mirrors};
    group->copying_ns = verdict_copying_ns(search, group->verdict, &copies) / (double)group->uses;
    group->projected.fused_ns += group->copying_ns - before;
}

static void use_group(struct search *search, struct search_group *group, uint32_t first)
{
    if (group->verdict->rename_count) extend_chain(search, group, first);
    group->uses++;
    for (uint32_t i = 0; i < group->step_count; i++) {
        search->group_of[first + i] = group;
        if (i == 0) continue;
        uint32_t gap = search->program->launches[first + i].gap_ns;
        group->gap_ns_sum[i] += gap;
        if (gap > group->largest_gap_ns) group->largest_gap_ns = gap;
    }
}

/* The step that is waited for longest. */
static uint32_t slowest_step(const struct search_group *group)
{
    uint32_t slowest = 1;
    for (uint32_t i = 2; i < group->step_count; i++)
        if (group->gap_ns_sum[i] > group->gap_ns_sum[slowest]) slowest = i;
    return slowest;
}

static const char waits_too_long[] =
    "holding the launches would leave the device idle for longer than the gain";

static const char takes_others[] =
    "in replay it would take launches from groups that gain more, as it begins earlier";

static const char *why_it_loses(const struct search *search, const struct search_group *group)
{
    if (search->options->keeps_losing) return NULL;
    if (group->copying_ns > 0 && !profit_is_enough(search, &group->projected)) return search_copied_too_often;
    if (!holding_is_profitable(search, group)) return waits_too_long;
    return profit_covers_loading(search, group, profit_of(search, group), group->uses)
               ? NULL
               : search_used_too_rarely;
}

/* The groups that gain most over the program; their uses are counted anew. */
static bool choose(struct search *search)
{
    struct program *program = search->program;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        group->uses = group->chains = group->restores = group->mirrors = group->largest_gap_ns = 0;
        memset(group->gap_ns_sum, 0, sizeof group->gap_ns_sum);
    }
    for (uint32_t i = 0; i < program->launch_count; i++) {
        search->group_of[i] = NULL;
        search->reason_of[i] = NULL;
    }
    if (!weigh(search)) return false;
    for (uint32_t i = 0; i < program->launch_count;) {
        struct search_group *group = search->start_of[i];
        if (group)
            use_group(search, group, i);
        else if (search_candidate(search, search->memo_of[i], 0))
            search->reason_of[i] = "groups that start with later launches gain more";
        else
            search->reason_of[i] = search->memo_of[i]->reason;
        i += group ? group->step_count : 1;
    }
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->uses) update_copying(search, search->groups[i]);
    holding_follow(search);
    return true;
}

/* Drops the used group that gains least over the run among those that lose, or cuts it where it waits for the
 * host; its launches get another chance in others. False when none loses. */
static bool drop_least(struct search *search)
{
    struct search_group *least = NULL;
    const char *refusal = NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        const char *why = group->uses ? why_it_loses(search, group) : NULL;
        if (!why) continue;
        if (least &&
            profit_of(search, group) * (double)group->uses >= profit_of(search, least) * (double)least->uses)
            continue;
        least = group;
        refusal = why;
    }
    if (!least) return false;
    least->refusal = refusal;
    least->is_dropped = refusal == search_used_too_rarely;
    least->cut =
        refusal == waits_too_long ? slowest_step(least) : least->member_steps[least->member_count - 1];
    return true;
}

/* Compiles the used group that gains most over the run. False when all are compiled. */
static bool compile_most(struct search *search)
{
    struct search_group *most = NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->uses || group->is_compiled) continue;
        if (!most ||
            profit_of(search, group) * (double)group->uses > profit_of(search, most) * (double)most->uses)
            most = group;
    }
    if (most) ahead_compile(search, most);
    if (most) search_compile(search, most);
    return most != NULL;
}

/* What is not compiled by now will not be. False when there is no such group in use. */
static bool drop_uncompiled(struct search *search)
{
    bool has_dropped = false;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->uses || group->is_compiled) continue;
        group->refusal = search->classes->too_late;
        group->is_dropped = has_dropped = deadline_is_over(search->deadline);
    }
    return has_dropped;
}

/* Compiles another group, while there is time. False when the groups in use are final. */
static bool compile_more(struct search *search)
{
    return deadline_left(search->deadline) > 0 ? compile_most(search) : drop_uncompiled(search);
}

/* Drops a group that takes launches from others that gain more, once the choice has been made with it. False where there is none, or
 * no time. */
static bool weigh_rivals(struct search *search)
{
    if (deadline_left(search->deadline) > 0 && rivals_offer(search)) return true;
    struct search_group *rival = deadline_left(search->deadline) > 0 ? rivals_worst(search) : NULL;
    if (!rival) return false;
    rival->refusal = takes_others;
    rival->is_dropped = true;
    return true;
}

bool search_open(struct search *search, const struct planner_options *options, struct pairs *pairs)
{
    struct program *program = pairs->classes->program;
    *search = (struct search){.options = options,
                              .program = program,
                              .classes = pairs->classes,
                              .pairs = pairs,
                              .arena = program->arena,
                              .error = "out of memory",
                              .deadline = pairs->classes->deadline,
                              .projection = projection_calibrate(program)};
    search->group_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->group_of);
    search->reason_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->reason_of);
    search->memo_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->memo_of);
    search->gain_from = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->gain_from);
    search->start_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->start_of);
    search->rival_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->rival_of);
    if (!search->rival_of) return false;
    return search->group_of && search->reason_of && search->memo_of && search->gain_from && search->start_of;
}

bool search_run(struct search *search, const struct planner_options *options, struct pairs *pairs)
{
    if (!search_open(search, options, pairs) || !measurements_read(search) ||
        !situations_find(search, &search->situations))
        return false;
    search->error = NULL;
    deadline_enter(search->deadline, DEADLINE_SEARCH);
    ahead_search(search);
    do {
        if (!choose(search)) search->error = "out of memory";
        deadline_enter(search->deadline, DEADLINE_COMPILE);
    } while (!search->error && (drop_least(search) || compile_more(search) || weigh_rivals(search)));
    ahead_end(search);
    for (uint32_t i = 0; i < search->group_count; i++)
        search->groups[i]->is_kept = search->groups[i]->uses && search->groups[i]->is_compiled;
    return !search->error;
}
