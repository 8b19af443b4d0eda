/* SPDX-License-Identifier: Apache-2.0
 * What a warp's frame holds beside registers: constants, parameters, special registers -- ISA 10. */
#include "emulator/machine.h"

enum { FRAME_SM_COUNT = 132 };

static void frame_fill(const struct worker *worker, struct warp *warp, uint32_t slot, uint32_t width,
                       uint64_t value)
{
    if (width == 0)
        *(uint32_t *)(warp->frame + slot) = (uint32_t)value;
    else
        worker->lanes->fill(width)(warp->frame + slot, NULL, NULL, NULL, NULL, value);
}

static void frame_put(struct warp *warp, const struct code_slot *slot, uint32_t lane, uint64_t value)
{
    memcpy(warp->frame + slot->slot + (size_t)lane * slot->width, &value, slot->width);
}

/* The same in every thread of a launch. */
static bool frame_launch_value(const struct machine *machine, enum ptx_special special, uint64_t *value)
{
    const struct emu_launch *launch = machine->launch;
    switch ((int)special) {
    case PTX_SPECIAL_NTID_X:
        *value = launch->block[0];
        return true;
    case PTX_SPECIAL_NTID_Y:
        *value = launch->block[1];
        return true;
    case PTX_SPECIAL_NTID_Z:
        *value = launch->block[2];
        return true;
    case PTX_SPECIAL_NCTAID_X:
        *value = launch->grid[0];
        return true;
    case PTX_SPECIAL_NCTAID_Y:
        *value = launch->grid[1];
        return true;
    case PTX_SPECIAL_NCTAID_Z:
        *value = launch->grid[2];
        return true;
    case PTX_SPECIAL_NWARPID:
        *value = machine->warps;
        return true;
    case PTX_SPECIAL_NSMID:
        *value = FRAME_SM_COUNT;
        return true;
    case PTX_SPECIAL_GRIDID:
        *value = 1;
        return true;
    case PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
        *value = launch->dynamic_shared;
        return true;
    case PTX_SPECIAL_TOTAL_SMEM_SIZE:
        *value = machine->shared_bytes;
        return true;
    }
    return false;
}

static bool frame_lane_value(enum ptx_special special, uint32_t lane, uint64_t *value)
{
    uint32_t below = (1u << lane) - 1;
    switch ((int)special) {
    case PTX_SPECIAL_LANEID:
        *value = lane;
        return true;
    case PTX_SPECIAL_LANEMASK_EQ:
        *value = 1u << lane;
        return true;
    case PTX_SPECIAL_LANEMASK_LT:
        *value = below;
        return true;
    case PTX_SPECIAL_LANEMASK_LE:
        *value = below | 1u << lane;
        return true;
    case PTX_SPECIAL_LANEMASK_GT:
        *value = ~(below | 1u << lane);
        return true;
    case PTX_SPECIAL_LANEMASK_GE:
        *value = ~below;
        return true;
    }
    return false;
}

void frame_fill_launch(struct worker *worker, struct warp *warp)
{
    const struct code *code = worker->code;
    const unsigned char *parameters = worker->machine->launch->parameters;
    for (uint32_t i = 0; i < code->constant_count; i++)
        frame_fill(worker, warp, code->constants[i].slot, code->constants[i].width, code->constants[i].value);
    for (uint32_t i = 0; i < code->parameter_count; i++) {
        const struct code_parameter *parameter = &code->parameters[i];
        uint64_t bits = 0;
        memcpy(&bits, parameters + parameter->offset, parameter->bytes);
        if (parameter->is_signed && parameter->bytes < 8)
            bits = (uint64_t)((int64_t)(bits << (64 - 8 * parameter->bytes)) >> (64 - 8 * parameter->bytes));
        frame_fill(worker, warp, parameter->slot, parameter->width, bits);
    }
    for (uint32_t i = 0; i < code->special_count; i++) {
        const struct code_slot *slot = &code->specials[i];
        uint64_t value;
        if (frame_launch_value(worker->machine, slot->special, &value))
            frame_fill(worker, warp, slot->slot, slot->width, value);
        for (uint32_t lane = 0; lane < LANE_COUNT && frame_lane_value(slot->special, lane, &value); lane++)
            frame_put(warp, slot, lane, value);
    }
}

/* The threads from first on: what block_thread says, without its divisions. */
static void frame_threads(const struct machine *machine, uint32_t first, uint32_t threads[LANE_COUNT][3])
{
    const uint32_t *block = machine->launch->block;
    uint32_t next[3];
    block_thread(machine, first, next);
    for (uint32_t lane = 0; lane < LANE_COUNT; lane++) {
        memcpy(threads[lane], next, sizeof next);
        if (++next[0] < block[0]) continue;
        next[0] = 0;
        if (++next[1] < block[1]) continue;
        next[1] = 0;
        next[2]++;
    }
}

void frame_fill_warp(struct worker *worker, struct warp *warp)
{
    const struct code *code = worker->code;
    uint32_t threads[LANE_COUNT][3];
    bool is_known = false;
    for (uint32_t i = 0; i < code->special_count; i++) {
        const struct code_slot *slot = &code->specials[i];
        int axis = (int)slot->special - PTX_SPECIAL_TID_X;
        if (slot->special == PTX_SPECIAL_WARPID)
            frame_fill(worker, warp, slot->slot, slot->width, warp->index);
        if (axis < 0 || axis > 2) continue;
        if (!is_known) frame_threads(worker->machine, warp->index * LANE_COUNT, threads);
        is_known = true;
        for (uint32_t lane = 0; lane < LANE_COUNT; lane++) frame_put(warp, slot, lane, threads[lane][axis]);
    }
}

void frame_fill_block(struct worker *worker, struct warp *warp)
{
    const struct code *code = worker->code;
    for (uint32_t i = 0; i < code->special_count; i++) {
        const struct code_slot *slot = &code->specials[i];
        int axis = (int)slot->special - PTX_SPECIAL_CTAID_X;
        if (axis >= 0 && axis <= 2) frame_fill(worker, warp, slot->slot, slot->width, worker->block[axis]);
        if (slot->special == PTX_SPECIAL_SMID)
            frame_fill(worker, warp, slot->slot, slot->width, worker->block_number % FRAME_SM_COUNT);
    }
}

/* The clocks count the warp's steps: deterministic, and they always move. */
void frame_clock(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    uint64_t ticks = ++warp->steps, now = worker->machine->launch->clock_ns + ticks / 2, value = ticks;
    uint64_t values[LANE_COUNT];
    switch ((int)step->extra) {
    case PTX_SPECIAL_CLOCK_HI:
        value = ticks >> 32;
        break;
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
        value = now;
        break;
    case PTX_SPECIAL_GLOBALTIMER_HI:
        value = now >> 32;
        break;
    }
    worker->lanes->fill(step->width)(values, NULL, NULL, NULL, NULL, value);
    worker->lanes->blend(warp->frame + step->d, values, mask, step->width);
}
