/* SPDX-License-Identifier: Apache-2.0
 * Barriers and warp-wide instructions -- ISA 9.7.9.6, 9.7.13. */
#include "emulator/decode.h"

static bool decode_warp_barrier(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct step_warp *warp = arena_alloc(decoder->arena, sizeof *warp);
    *warp = (struct step_warp){DECODE_NONE, DECODE_NONE, DECODE_NONE, DECODE_NONE, DECODE_NONE, 4};
    if (instruction->operand_count != 1) return decode_fail(decoder, "operands are missing");
    warp->member_mask = decode_source(decoder, &instruction->operands[0], PTX_B32);
    decode_step(decoder, STEP_WARP)->warp = warp;
    return true;
}

static bool decode_reduction(struct decoder *decoder, const struct ptx_instruction *instruction,
                             struct step_barrier *barrier, uint32_t *d, uint32_t *width)
{
    const struct ptx_operand *last = &instruction->operands[instruction->operand_count - 1];
    barrier->operation = ptx_has_modifier(instruction, PTX_MOD_POPC)  ? PTX_MOD_POPC
                         : ptx_has_modifier(instruction, PTX_MOD_AND) ? PTX_MOD_AND
                                                                      : PTX_MOD_OR;
    barrier->kind = BARRIER_REDUCE;
    barrier->predicate = decode_source(decoder, last, PTX_PRED);
    *d = decode_destination(decoder, &instruction->operands[0], width);
    return true;
}

bool decode_barrier(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (ptx_has_modifier(instruction, PTX_MOD_WARP)) return decode_warp_barrier(decoder, instruction);
    if (ptx_has_modifier(instruction, PTX_MOD_CLUSTER))
        return decode_fail(decoder, "clusters are not emulated");
    struct step_barrier *barrier = arena_alloc(decoder->arena, sizeof *barrier);
    bool is_reduction = ptx_has_modifier(instruction, PTX_MOD_RED);
    uint32_t first = is_reduction ? 1 : 0, last = instruction->operand_count - first, d = decoder->sink,
             width = 4;
    if (instruction->operand_count < (is_reduction ? 3u : 1u))
        return decode_fail(decoder, "operands are missing");
    barrier->kind = ptx_has_modifier(instruction, PTX_MOD_ARRIVE) ? BARRIER_ARRIVE : BARRIER_SYNC;
    if (is_reduction) decode_reduction(decoder, instruction, barrier, &d, &width);
    barrier->id = decode_source(decoder, &instruction->operands[first], PTX_U32);
    barrier->count = DECODE_NONE;
    if (last > first + 1) barrier->count = decode_source(decoder, &instruction->operands[first + 1], PTX_U32);
    struct step *step = decode_step(decoder, STEP_BARRIER);
    step->barrier = barrier;
    step->d = d;
    step->width = (uint8_t)(width == DECODE_NONE ? 4 : width);
    return true;
}

/* Splits d|p and sets the step's destination. */
static struct step *decode_warp_step(struct decoder *decoder, const struct ptx_operand *first,
                                     struct step_warp *warp)
{
    uint32_t width, ignored, d;
    if (first->kind == PTX_OPERAND_PAIR) {
        d = decode_destination(decoder, &first->elements[0], &width);
        if (first->elements[1].kind != PTX_OPERAND_NONE)
            warp->predicate_out = decode_destination(decoder, &first->elements[1], &ignored);
    } else {
        d = decode_destination(decoder, first, &width);
    }
    struct step *step = decode_step(decoder, STEP_WARP);
    step->warp = warp;
    step->d = d;
    step->width = (uint8_t)(width == DECODE_NONE ? 4 : width);
    return step;
}

static bool decode_vote(struct decoder *decoder, const struct ptx_instruction *instruction,
                        struct step_warp *warp)
{
    warp->value = decode_source(decoder, &instruction->operands[1], PTX_PRED);
    return true;
}

bool decode_warp(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct step_warp *warp = arena_alloc(decoder->arena, sizeof *warp);
    *warp = (struct step_warp){DECODE_NONE, DECODE_NONE, DECODE_NONE, DECODE_NONE, DECODE_NONE, 4};
    const struct ptx_operand *operands = instruction->operands;
    uint32_t count = instruction->operand_count;
    bool is_sync = ptx_has_modifier(instruction, PTX_MOD_SYNC);
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_B32;
    if (count < 1) return decode_fail(decoder, "operands are missing");
    switch ((int)instruction->opcode) {
    case PTX_OP_SHFL:
        if (count < (is_sync ? 5u : 4u)) return decode_fail(decoder, "operands are missing");
        warp->value = decode_source(decoder, &operands[1], PTX_B32);
        warp->second = decode_source(decoder, &operands[2], PTX_B32);
        warp->third = decode_source(decoder, &operands[3], PTX_B32);
        break;
    case PTX_OP_VOTE:
        if (count < (is_sync ? 3u : 2u) || !decode_vote(decoder, instruction, warp))
            return decode_fail(decoder, "operands are missing");
        break;
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
        if (count < 3 || ptx_type_is_float(type)) return decode_fail(decoder, "this form is not emulated");
        warp->width = (uint8_t)ptx_type_bytes(type);
        warp->value = decode_source(decoder, &operands[1], type);
        break;
    case PTX_OP_ELECT:
        is_sync = true;
        break;
    case PTX_OP_ACTIVEMASK:
        is_sync = false;
        break;
    }
    if (is_sync) warp->member_mask = decode_source(decoder, &operands[count - 1], PTX_B32);
    decode_warp_step(decoder, &operands[0], warp);
    return true;
}
