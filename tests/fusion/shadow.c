/* SPDX-License-Identifier: Apache-2.0
 * See shadow.h. */
#include "tests/fusion/shadow.h"

#include "fuser/fusion/group_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void say_members(FILE *out, const struct bound_launch *members, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++)
        fprintf(out, "%s%s<%u,%u,%u>", m ? " " : "", members[m].summary->function->name,
                members[m].summary->grid[0], members[m].summary->grid[1], members[m].summary->block[0]);
}

static void say_instance(FILE *out, const int64_t *instance, uint32_t count)
{
    fprintf(out, "(");
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%lld", i ? " " : "", (long long)instance[i]);
    fprintf(out, ")");
}

static void say_refusal(FILE *out, const struct check_group *check, const struct check_refusal *refusal)
{
    fprintf(out, " | %s: access %d", check_rule_text(refusal->rule), (int)refusal->a);
    if (refusal->rule != CHECK_BARRIER)
        fprintf(out, " of member %u", check->statements[check->accesses[refusal->a].statement].member);
    say_instance(out, refusal->instance_a, refusal->count_a);
    if (refusal->b == CHECK_NONE) return;
    fprintf(out, ", access %d of member %u", (int)refusal->b,
            check->statements[check->accesses[refusal->b].statement].member);
    say_instance(out, refusal->instance_b, refusal->count_b);
}

/* --- The same with a fault: what the test is to see. */
enum spoil { SPOIL_BARRIERS, SPOIL_SOURCES, SPOIL_DROPS, SPOIL_LAGS, SPOILS };
static const char *const spoil_names[SPOILS] = {"no barriers", "a source of the turn before",
                                                "a last store left out", "no shifts"};

/* False where there is nothing to spoil. All in the arena. */
static bool spoil_group(struct group *group, enum spoil spoil, struct arena *arena)
{
    bool *barriers = arena_calloc(arena, group->member_count + 1, sizeof *barriers), is_spoiled = false;
    struct group_forward *forwards = arena_calloc(arena, group->forward_count + 1, sizeof *forwards);
    struct group_drop *drops = arena_calloc(arena, group->drop_count + 1, sizeof *drops);
    const struct access_summary *last = group->members[group->member_count - 1].summary;
    switch (spoil) {
    case SPOIL_BARRIERS:
        for (uint32_t m = 0; group->barriers && m < group->member_count; m++)
            is_spoiled |= group->barriers[m];
        group->barriers = barriers;
        return is_spoiled;
    case SPOIL_SOURCES:
        for (uint32_t i = 0; i < group->forward_count; i++) {
            forwards[i] = group->forwards[i];
            is_spoiled |= group_is_repeated(group, &forwards[i]);
            forwards[i].distance += group_is_repeated(group, &forwards[i]);
        }
        group->forwards = forwards;
        return is_spoiled;
    case SPOIL_DROPS:
        for (uint32_t i = 0; i < group->drop_count; i++) drops[i] = group->drops[i];
        for (uint32_t i = 0; !is_spoiled && i < last->access_count; i++) {
            is_spoiled = last->accesses[i].kind == ACCESS_WRITE &&
                         !group_drops(group, group->member_count - 1, last->accesses[i].instruction);
            drops[group->drop_count] =
                (struct group_drop){group->member_count - 1, last->accesses[i].instruction};
        }
        group->drops = drops;
        group->drop_count++;
        return is_spoiled;
    case SPOIL_LAGS:
        for (uint32_t i = 0; i < group->join_count; i++)
            for (uint32_t m = 0; m < group->joins[i].member_count; m++)
                for (uint32_t loop = 0; loop < group->joins[i].loop_count; loop++) {
                    is_spoiled |= group->joins[i].members[m].shifts[loop] != 0;
                    group->joins[i].members[m].shifts[loop] = 0;
                }
        return is_spoiled;
    case SPOILS:
        break;
    }
    return false;
}

/* The lags are put back. */
static void keep_lags(const struct group *group, uint32_t *lags, bool is_back)
{
    for (uint32_t i = 0; i < group->join_count; i++)
        for (uint32_t m = 0; m < group->joins[i].member_count; m++)
            for (uint32_t loop = 0; loop < group->joins[i].loop_count; loop++) {
                uint32_t *lag = &group->joins[i].members[m].shifts[loop];
                *(is_back ? lag : lags) = *(is_back ? lags : lag);
                lags++;
            }
}

static void try_spoiled(FILE *out, struct memo *memo, const struct group *group)
{
    enum { MOST_LAGS = 4096 };
    for (enum spoil spoil = 0; spoil < SPOILS; spoil++) {
        struct arena *arena = arena_create();
        uint32_t *lags = arena_calloc(arena, MOST_LAGS, sizeof *lags);
        struct group spoiled = *group;
        struct check_refusal refusal;
        keep_lags(group, lags, false);
        if (spoil_group(&spoiled, spoil, arena)) {
            struct group_schedule schedule = group_schedule_open(memo, &spoiled);
            bool is_legal = !schedule.untold && check_group(&schedule.check, &refusal);
            fprintf(out, "spoiled %s, test %s\n", spoil_names[spoil],
                    schedule.untold ? schedule.untold
                    : is_legal      ? "accepts"
                                    : "refuses");
            group_schedule_close(&schedule);
        }
        keep_lags(group, lags, true);
        arena_free(arena);
    }
}

void shadow_group(struct memo *memo, const struct bound_launch *members, uint32_t member_count,
                  const struct group *group)
{
    const char *path = getenv("KFUSE_TEST_SHADOW");
    FILE *out = path ? fopen(path, "a") : NULL;
    struct check_refusal refusal;
    if (!out) return;
    double began = milliseconds();
    struct group_schedule schedule = group->refusal ? group_schedule_propose(memo, members, member_count)
                                                    : group_schedule_open(memo, group);
    bool is_legal = !schedule.untold && check_group(&schedule.check, &refusal);
    fprintf(out, "kinds %s, test %s%s | %s | %.1f ms | ", group->refusal ? "refuse" : "accept",
            schedule.untold   ? "untold: "
            : is_legal        ? "accepts"
            : refusal.gave_up ? "gives up"
                              : "refuses",
            schedule.untold ? schedule.untold : "", group->refusal ? "-" : group_fusion(group),
            milliseconds() - began);
    say_members(out, members, member_count);
    if (!schedule.untold && !is_legal) say_refusal(out, &schedule.check, &refusal);
    if (group->refusal) fprintf(out, " | %s", group->refusal);
    fprintf(out, "\n");
    if (is_legal && !group->refusal) try_spoiled(out, memo, group);
    fclose(out);
    group_schedule_close(&schedule);
}
