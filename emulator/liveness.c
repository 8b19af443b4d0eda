/* SPDX-License-Identifier: Apache-2.0
 * An estimate of the registers that a compiler would give a kernel: the most 32-bit registers live at once,
 * and some for the stack pointer, addresses and the like. Backward data flow over the instructions, to the
 * fixed point. */
#include "emulator/engine.h"

#include <stdlib.h>
#include <string.h>

enum { LIVENESS_OVERHEAD = 4, LIVENESS_LEAST = 8, LIVENESS_MOST = 255 };

struct liveness {
    const struct ptx_function *function;
    const struct ptx_cfg *cfg;
    uint32_t words;
    uint64_t *in; /* by block: registers live at its start */
    uint64_t *now;
};

static void liveness_set(uint64_t *bits, int32_t reg)
{
    if (reg >= 0) bits[reg / 64] |= 1ull << (reg % 64);
}

static void liveness_use(uint64_t *bits, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS)
        liveness_set(bits, operand->reg);
    for (uint32_t i = 0; i < operand->element_count; i++) liveness_use(bits, &operand->elements[i]);
}

static void liveness_define(uint64_t *bits, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0 && operand->component == 0)
        bits[operand->reg / 64] &= ~(1ull << (operand->reg % 64));
    for (uint32_t i = 0; i < operand->element_count; i++) liveness_define(bits, &operand->elements[i]);
}

static void liveness_instruction(uint64_t *bits, const struct ptx_instruction *instruction)
{
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    bool has_destination = info != NULL && info->has_destination && instruction->operand_count > 0;
    if (has_destination && instruction->guard < 0) liveness_define(bits, &instruction->operands[0]);
    for (uint32_t i = has_destination ? 1 : 0; i < instruction->operand_count; i++)
        liveness_use(bits, &instruction->operands[i]);
    liveness_set(bits, instruction->guard);
}

static uint32_t liveness_weight(const struct liveness *liveness, const uint64_t *bits)
{
    uint32_t weight = 0;
    for (uint32_t word = 0; word < liveness->words; word++) {
        for (uint64_t rest = bits[word]; rest != 0; rest &= rest - 1) {
            uint32_t reg = word * 64 + (uint32_t)__builtin_ctzll(rest);
            enum ptx_type type = liveness->function->registers[reg].type;
            weight += type == PTX_PRED ? 0 : (ptx_type_bytes(type) + 3) / 4;
        }
    }
    return weight;
}

/* Goes through a block backwards; returns the most live at once. True in *changed when its start changed. */
static uint32_t liveness_block(struct liveness *liveness, uint32_t index, bool is_counting, bool *changed)
{
    const struct ptx_block *block = &liveness->cfg->blocks[index];
    uint64_t *now = liveness->now, *in = liveness->in + (size_t)index * liveness->words;
    uint32_t most = 0;
    memset(now, 0, liveness->words * sizeof *now);
    for (uint32_t i = 0; i < block->successor_count; i++) {
        const uint64_t *next = liveness->in + (size_t)block->successors[i] * liveness->words;
        for (uint32_t word = 0; word < liveness->words; word++) now[word] |= next[word];
    }
    for (uint32_t i = block->count; i-- > 0;) {
        liveness_instruction(now, &liveness->function->instructions[block->first + i]);
        uint32_t weight = is_counting ? liveness_weight(liveness, now) : 0;
        most = weight > most ? weight : most;
    }
    if (memcmp(in, now, liveness->words * sizeof *now) != 0) {
        memcpy(in, now, liveness->words * sizeof *now);
        *changed = true;
    }
    return most;
}

/* Solves the equations; false when the control flow cannot be followed or memory is out. */
static bool liveness_solve(struct liveness *liveness, struct arena *arena,
                           const struct ptx_function *function)
{
    const char *reason;
    *liveness = (struct liveness){.function = function, .words = (function->register_count + 63) / 64};
    liveness->cfg = arena ? ptx_cfg_build(arena, function, &reason) : NULL;
    if (liveness->cfg == NULL || liveness->words == 0) return false;
    liveness->in =
        arena_calloc(arena, (size_t)liveness->cfg->block_count * liveness->words, sizeof *liveness->in);
    liveness->now = arena_calloc(arena, liveness->words, sizeof *liveness->now);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = liveness->cfg->block_count; i-- > 0;) liveness_block(liveness, i, false, &changed);
    }
    return true;
}

uint32_t liveness_registers(const struct ptx_function *function)
{
    struct arena *arena = arena_create();
    struct liveness liveness;
    uint32_t most = 0;
    if (liveness_solve(&liveness, arena, function)) {
        for (uint32_t i = 0; i < liveness.cfg->block_count; i++) {
            bool changed;
            uint32_t here = liveness_block(&liveness, i, true, &changed);
            most = here > most ? here : most;
        }
    }
    arena_free(arena);
    most += LIVENESS_OVERHEAD;
    if (function->maxnreg != 0 && most > function->maxnreg) most = function->maxnreg;
    return most < LIVENESS_LEAST ? LIVENESS_LEAST : most > LIVENESS_MOST ? LIVENESS_MOST : most;
}

void liveness_undefined(const struct ptx_function *function, bool *undefined)
{
    struct arena *arena = arena_create();
    struct liveness liveness;
    bool is_solved = liveness_solve(&liveness, arena, function);
    for (uint32_t i = 0; i < function->register_count; i++)
        undefined[i] = !is_solved || (liveness.in[i / 64] >> (i % 64) & 1);
    arena_free(arena);
}
