/* SPDX-License-Identifier: Apache-2.0
 * Reachability between blocks of a member's control flow graph. */
#include "fuser/kernel/order.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_BLOCKS_MAX = 4096 };

/* The edge to successors[i] is the one that a closed exit would take. */
static bool is_closed_edge(const struct ptx_cfg *cfg, const struct ptx_block *block, uint32_t i,
                           const bool *closed)
{
    if (!closed || !block->count || !closed[block->first + block->count - 1]) return false;
    if (ptx_is_return(&cfg->function->instructions[block->first + block->count - 1]))
        return block->successors[i] == cfg->block_count - 1;
    return i == 0;
}

void order_walk(const struct ptx_cfg *cfg, uint32_t from, uint32_t wall, const bool *closed,
                unsigned char *seen, uint32_t *stack)
{
    uint32_t depth = 0;
    stack[depth++] = from;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i < block->successor_count; i++) {
            uint32_t next = block->successors[i];
            if (seen[next] || next == wall || is_closed_edge(cfg, block, i, closed)) continue;
            seen[next] = 1;
            stack[depth++] = next;
        }
    }
}

bool order_open(struct order *order, struct arena *arena, const struct ptx_function *function)
{
    const char *reason;
    memset(order, 0, sizeof *order);
    order->function = function;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    if (!cfg || cfg->block_count > ORDER_BLOCKS_MAX) return true;
    order->reachable = arena_calloc(arena, cfg->block_count, cfg->block_count);
    uint32_t *stack = calloc(cfg->block_count + 1, sizeof *stack);
    for (uint32_t block = 0; order->reachable && stack && block < cfg->block_count; block++)
        order_walk(cfg, block, UINT32_MAX, NULL, order->reachable + (size_t)block * cfg->block_count, stack);
    if (order->reachable && stack) order->cfg = cfg;
    free(stack);
    return order->cfg;
}

bool order_may_follow(const struct order *order, uint32_t earlier, uint32_t later)
{
    if (!order->cfg) return true;
    uint32_t from = order->cfg->block_of[earlier], to = order->cfg->block_of[later];
    if (from == to && earlier < later) return true;
    return order->reachable[(size_t)from * order->cfg->block_count + to];
}

/* The instruction at index, or the one that it jumps to without condition, ends the member. */
static bool ends_member(const struct ptx_function *function, uint32_t index)
{
    for (uint32_t hops = 0; hops < 8; hops++) {
        while (index < function->instruction_count && function->instructions[index].opcode == PTX_OP_PRAGMA)
            index++;
        if (index >= function->instruction_count) return true;
        const struct ptx_instruction *instruction = &function->instructions[index];
        if (instruction->guard >= 0) return false;
        if (ptx_is_return(instruction)) return true;
        if (instruction->opcode != PTX_OP_BRA || !instruction->operand_count ||
            instruction->operands[0].kind != PTX_OPERAND_LABEL)
            return false;
        index = function->labels[instruction->operands[0].label].instruction;
    }
    return false;
}

bool order_is_exit(const struct ptx_function *function, uint32_t index)
{
    const struct ptx_instruction *instruction = &function->instructions[index];
    if (instruction->guard < 0) return false;
    if (ptx_is_return(instruction)) return true;
    return instruction->opcode == PTX_OP_BRA && instruction->operand_count &&
           instruction->operands[0].kind == PTX_OPERAND_LABEL &&
           ends_member(function, function->labels[instruction->operands[0].label].instruction);
}

bool order_exits_decide(const struct order *order, uint32_t instruction, bool *exits)
{
    const struct ptx_cfg *cfg = order->cfg;
    if (!cfg || order->function->instructions[instruction].guard >= 0) return false;
    for (uint32_t i = 0; i < order->function->instruction_count; i++)
        exits[i] = order_is_exit(order->function, i) && !order_may_follow(order, instruction, i);
    uint32_t target = cfg->block_of[instruction], end = cfg->block_count - 1;
    unsigned char *seen = calloc(cfg->block_count, 1);
    uint32_t *stack = calloc(cfg->block_count + 1, sizeof *stack);
    bool decides = false;
    if (seen && stack) {
        if (target != 0) order_walk(cfg, 0, target, exits, seen, stack);
        decides = !seen[end];
    }
    free(seen);
    free(stack);
    return decides;
}
