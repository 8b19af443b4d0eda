/* SPDX-License-Identifier: Apache-2.0
 * Shifts and rings: see halo_march.h. Both are of stages, so that all tiles of a stage turn alike. */
#include "fuser/fusion/halo_march.h"

enum { MOST_RING = 64 };

static bool is_dense(const struct group *group, int axis)
{
    bool has_border = false;
    for (uint32_t s = 0; s < group->stage_count; s++) {
        const struct group_stage *stage = &group->stages[s];
        if (stage->low[axis] != stage->dense_low[axis] || stage->high[axis] != stage->dense_high[axis])
            return false;
        has_border |= stage->low[axis] || stage->high[axis];
    }
    return has_border;
}

static uint32_t source_stage(const struct group *group, const struct group_fetch *fetch)
{
    return (uint32_t)(group_stage_of(group, group->tiles[fetch->tile].member) - group->stages);
}

static bool is_of_stage(const struct group *group, const struct group_fetch *fetch, uint32_t stage)
{
    return group_stage_of(group, fetch->to_member) == &group->stages[stage];
}

/* The least one that the stage's loads and the stage before allow. */
static int64_t shift_of(const struct group *group, const int64_t *shifts, uint32_t stage, int axis)
{
    int64_t shift = stage ? shifts[stage - 1] + 1 : 0;
    for (uint32_t i = 0; i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (!is_of_stage(group, fetch, stage)) continue;
        int64_t least = shifts[source_stage(group, fetch)] + fetch->offset[axis] + 1;
        if (least > shift) shift = least;
    }
    return shift;
}

static int64_t ring_of(const struct group *group, const int64_t *shifts, uint32_t stage, int axis)
{
    int64_t ring = 1;
    for (uint32_t i = 0; i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (source_stage(group, fetch) != stage) continue;
        uint32_t to = (uint32_t)(group_stage_of(group, fetch->to_member) - group->stages);
        int64_t least = shifts[to] - shifts[stage] - fetch->offset[axis] + 1;
        if (least > ring) ring = least;
    }
    return ring;
}

bool halo_march_order(struct group *group, int axis)
{
    int64_t *shifts = arena_calloc(group->arena, group->stage_count + 1, sizeof *shifts), first = 0;
    if (!shifts || !is_dense(group, axis)) return false;
    for (uint32_t s = 0; s < group->stage_count; s++) {
        shifts[s] = shift_of(group, shifts, s, axis);
        int64_t own = shifts[s] - group->stages[s].low[axis];
        if (own < first) first = own;
    }
    for (uint32_t s = 0; s < group->stage_count; s++) {
        struct group_stage *stage = &group->stages[s];
        int64_t ring = ring_of(group, shifts, s, axis);
        if (ring > MOST_RING) return false;
        stage->ring = (uint32_t)ring;
        stage->first_turn = (uint32_t)(shifts[s] - stage->low[axis] - first);
    }
    return true;
}

uint32_t halo_march_turns(const struct group *group, int axis, uint32_t layers)
{
    uint32_t turns = 0;
    for (uint32_t s = 0; s < group->stage_count; s++) {
        const struct group_stage *stage = &group->stages[s];
        uint32_t end = stage->first_turn + stage->low[axis] + layers + stage->high[axis];
        if (end > turns) turns = end;
    }
    return turns;
}
