/* SPDX-License-Identifier: Apache-2.0
 * Instructions that work across a warp -- ISA 9.7.9.6 (shfl), 9.7.13 (vote, match, redux, elect, activemask).
 */
#include "emulator/machine.h"

static uint32_t collective_first(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

uint32_t collective_missing(const struct warp *warp, const struct step *step, uint32_t mask)
{
    if (step->warp->member_mask == UINT32_MAX) return 0;
    uint32_t members = ((const uint32_t *)(warp->frame + step->warp->member_mask))[collective_first(mask)];
    return members & ~warp->exited & ~mask;
}

/* The lane whose value the shuffle takes, and whether it is in range -- ISA 9.7.9.6, its pseudo code */
static uint32_t collective_shuffle_source(const struct ptx_instruction *source, uint32_t lane, uint32_t b,
                                          uint32_t c, bool *is_in_range)
{
    uint32_t clamp = c & 31, segment = c >> 8 & 31;
    b &= 31;
    uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int32_t from = (int32_t)lane;
    if (ptx_has_modifier(source, PTX_MOD_UP)) {
        from = (int32_t)lane - (int32_t)b;
        *is_in_range = from >= (int32_t)most;
    } else if (ptx_has_modifier(source, PTX_MOD_DOWN)) {
        from = (int32_t)(lane + b);
        *is_in_range = from <= (int32_t)most;
    } else if (ptx_has_modifier(source, PTX_MOD_BFLY)) {
        from = (int32_t)(lane ^ b);
        *is_in_range = from <= (int32_t)most;
    } else {
        from = (int32_t)(least | (b & ~segment));
        *is_in_range = from <= (int32_t)most;
    }
    return *is_in_range ? (uint32_t)from : lane;
}

static void collective_shuffle(const struct warp *warp, const struct step *step, uint32_t *values,
                               uint32_t *in_range, uint32_t mask)
{
    const uint32_t *a = (const uint32_t *)(warp->frame + step->warp->value);
    const uint32_t *b = (const uint32_t *)(warp->frame + step->warp->second);
    const uint32_t *c = (const uint32_t *)(warp->frame + step->warp->third);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = collective_first(rest);
        bool is_in_range;
        uint32_t from = collective_shuffle_source(step->source, lane, b[lane], c[lane], &is_in_range);
        values[lane] = a[from & 31];
        *in_range |= (uint32_t)is_in_range << lane;
    }
}

static uint32_t collective_vote(const struct step *step, uint32_t predicate, uint32_t mask)
{
    uint32_t yes = predicate & mask;
    if (ptx_has_modifier(step->source, PTX_MOD_BALLOT)) return yes;
    if (ptx_has_modifier(step->source, PTX_MOD_ANY)) return yes != 0;
    if (ptx_has_modifier(step->source, PTX_MOD_UNI)) return yes == 0 || yes == mask;
    return yes == mask;
}

static uint64_t collective_value(const struct warp *warp, const struct step_warp *operands, uint32_t lane)
{
    const unsigned char *slot = warp->frame + operands->value;
    return operands->width == 8 ? ((const uint64_t *)slot)[lane] : ((const uint32_t *)slot)[lane];
}

static void collective_match(const struct warp *warp, const struct step *step, uint32_t *values,
                             uint32_t *all, uint32_t mask)
{
    bool is_all = ptx_has_modifier(step->source, PTX_MOD_ALL);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = collective_first(rest), same = 0;
        for (uint32_t other = mask; other != 0; other &= other - 1) {
            uint32_t place = collective_first(other);
            same |= (uint32_t)(collective_value(warp, step->warp, place) ==
                               collective_value(warp, step->warp, lane))
                    << place;
        }
        values[lane] = !is_all ? same : same == mask ? mask : 0;
        *all |= (uint32_t)(same == mask) << lane;
    }
}

static uint32_t collective_reduce(const struct warp *warp, const struct step *step, uint32_t mask)
{
    const uint32_t *values = (const uint32_t *)(warp->frame + step->warp->value);
    uint32_t result = values[collective_first(mask)];
    bool is_signed = ptx_type_is_signed(step->source->types[0]);
    for (uint32_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        uint32_t value = values[collective_first(rest)];
        bool is_less = is_signed ? (int32_t)value < (int32_t)result : value < result;
        if (ptx_has_modifier(step->source, PTX_MOD_ADD))
            result += value;
        else if (ptx_has_modifier(step->source, PTX_MOD_MIN))
            result = is_less ? value : result;
        else if (ptx_has_modifier(step->source, PTX_MOD_MAX))
            result = is_less ? result : value;
        else if (ptx_has_modifier(step->source, PTX_MOD_AND))
            result &= value;
        else if (ptx_has_modifier(step->source, PTX_MOD_OR))
            result |= value;
        else
            result ^= value;
    }
    return result;
}

static void collective_fill(uint32_t *values, uint32_t value)
{
    for (uint32_t i = 0; i < LANE_COUNT; i++) values[i] = value;
}

bool collective_run(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    uint32_t values[LANE_COUNT] = {0}, predicate = 0, lane = collective_first(mask);
    uint32_t members = mask;
    if (step->warp->member_mask != UINT32_MAX)
        members = ((const uint32_t *)(warp->frame + step->warp->member_mask))[lane] & mask;
    if (members == 0) members = mask;
    switch ((int)step->source->opcode) {
    case PTX_OP_SHFL:
        collective_shuffle(warp, step, values, &predicate, mask);
        break;
    case PTX_OP_VOTE: {
        uint32_t vote = collective_vote(step, *(const uint32_t *)(warp->frame + step->warp->value), members);
        collective_fill(values, step->width == 0 && vote ? ALL_LANES : vote);
        break;
    }
    case PTX_OP_MATCH:
        collective_match(warp, step, values, &predicate, members);
        break;
    case PTX_OP_REDUX:
        collective_fill(values, collective_reduce(warp, step, members));
        break;
    case PTX_OP_ELECT:
        collective_fill(values, collective_first(members));
        predicate = 1u << collective_first(members);
        break;
    case PTX_OP_ACTIVEMASK:
        collective_fill(values, mask);
        break;
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        if (worker->races != NULL) races_warp(worker, warp, members);
        return true;
    }
    worker->lanes->blend(warp->frame + step->d, values, mask, step->width);
    if (step->warp->predicate_out != UINT32_MAX)
        worker->lanes->blend(warp->frame + step->warp->predicate_out, &predicate, mask, 0);
    return true;
}
