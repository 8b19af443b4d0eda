/* SPDX-License-Identifier: Apache-2.0
 * Basic blocks and the edges between them. Needs a readable function; everything is taken from the arena. */
#include "ptx/ptx.h"

static bool ends_block(const struct ptx_instruction *instruction)
{
    return ptx_is_branch(instruction) || ptx_is_return(instruction);
}

/* The table of a brx.idx -- ISA 9.7.12.3; NULL when it names none. */
static const struct ptx_table *targets_of(const struct ptx_function *function,
                                          const struct ptx_instruction *instruction)
{
    if (instruction->opcode != PTX_OP_BRX || instruction->operand_count < 2) return NULL;
    if (instruction->operands[1].kind != PTX_OPERAND_SYMBOL || instruction->operands[1].label < 0)
        return NULL;
    const struct ptx_table *table = &function->tables[instruction->operands[1].label];
    return table->labels ? table : NULL;
}

static bool goes_to_label(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_BRA && instruction->operand_count == 1 &&
           instruction->operands[0].kind == PTX_OPERAND_LABEL;
}

/* Why an instruction's targets cannot be followed; NULL: they can. */
static const char *unknown_flow(struct arena *arena, const struct ptx_function *function,
                                const struct ptx_instruction *instruction)
{
    bool is_lost = instruction->opcode == PTX_OP_BRX   ? !targets_of(function, instruction)
                   : instruction->opcode == PTX_OP_BRA ? !goes_to_label(instruction)
                                                       : false;
    if (!is_lost) return NULL;
    return arena_printf(arena, "%s:%u: a branch whose targets are not known: %.*s", function->module->name,
                        instruction->line, (int)instruction->text.length, instruction->text.text);
}

/* Marks the first instruction of every block. */
static void mark_leaders(const struct ptx_function *function, unsigned char *leaders)
{
    uint32_t count = function->instruction_count;
    leaders[0] = 1;
    for (uint32_t i = 0; i < function->label_count; i++) leaders[function->labels[i].instruction] = 1;
    for (uint32_t i = 0; i < count; i++)
        if (ends_block(&function->instructions[i])) leaders[i + 1] = 1;
}

static bool make_blocks(struct arena *arena, struct ptx_cfg *cfg)
{
    const struct ptx_function *function = cfg->function;
    uint32_t count = function->instruction_count, blocks = 0;
    unsigned char *leaders = arena_alloc(arena, (size_t)count + 1);
    if (!leaders) return false;
    mark_leaders(function, leaders);
    for (uint32_t i = 0; i < count; i++) blocks += leaders[i];
    if (!count) blocks = 1; /* the entry, empty */
    cfg->block_count = blocks + 1;
    cfg->blocks = arena_calloc(arena, cfg->block_count, sizeof *cfg->blocks);
    cfg->block_of = arena_calloc(arena, (size_t)count + 1, sizeof *cfg->block_of);
    if (!cfg->blocks || !cfg->block_of) return false;
    uint32_t block = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (leaders[i] && i) block++;
        if (leaders[i]) cfg->blocks[block].first = i;
        cfg->blocks[block].count++;
        cfg->block_of[i] = block;
    }
    cfg->block_of[count] = cfg->block_count - 1; /* what stands at the very end */
    cfg->blocks[cfg->block_count - 1].first = count;
    return true;
}

static uint32_t block_of_label(const struct ptx_cfg *cfg, int32_t label)
{
    return cfg->block_of[cfg->function->labels[label].instruction];
}

/* Targets in order, then the fall through; a table names a block once. */
static bool add_successors(struct arena *arena, struct ptx_cfg *cfg, uint32_t index, uint32_t *seen)
{
    struct ptx_block *block = &cfg->blocks[index];
    uint32_t exit = cfg->block_count - 1;
    const struct ptx_instruction *last =
        block->count ? &cfg->function->instructions[block->first + block->count - 1] : NULL;
    const struct ptx_table *table = last ? targets_of(cfg->function, last) : NULL;
    block->successors = arena_calloc(arena, table ? table->label_count + 1 : 2, sizeof *block->successors);
    if (!block->successors) return false;
    for (uint32_t i = 0; table && i < table->label_count; i++) {
        uint32_t target = block_of_label(cfg, table->labels[i]);
        if (seen[target] == index + 1) continue;
        seen[target] = index + 1;
        block->successors[block->successor_count++] = target;
    }
    if (last && goes_to_label(last))
        block->successors[block->successor_count++] = block_of_label(cfg, last->operands[0].label);
    if (last && ptx_is_return(last)) block->successors[block->successor_count++] = exit;
    bool falls_through = !last || !ends_block(last) || last->guard >= 0;
    if (falls_through && !(table && seen[index + 1] == index + 1))
        block->successors[block->successor_count++] = index + 1;
    return true;
}

static bool add_predecessors(struct arena *arena, struct ptx_cfg *cfg)
{
    for (uint32_t i = 0; i < cfg->block_count; i++)
        for (uint32_t j = 0; j < cfg->blocks[i].successor_count; j++)
            cfg->blocks[cfg->blocks[i].successors[j]].predecessor_count++;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        struct ptx_block *block = &cfg->blocks[i];
        block->predecessors = arena_calloc(arena, block->predecessor_count, sizeof *block->predecessors);
        if (block->predecessor_count && !block->predecessors) return false;
        block->predecessor_count = 0;
    }
    for (uint32_t i = 0; i < cfg->block_count; i++)
        for (uint32_t j = 0; j < cfg->blocks[i].successor_count; j++) {
            struct ptx_block *successor = &cfg->blocks[cfg->blocks[i].successors[j]];
            successor->predecessors[successor->predecessor_count++] = i;
        }
    return true;
}

struct ptx_cfg *ptx_cfg_build(struct arena *arena, const struct ptx_function *function, const char **reason)
{
    *reason = function->unreadable;
    if (function->unreadable) return NULL;
    for (uint32_t i = 0; i < function->instruction_count && !*reason; i++)
        *reason = unknown_flow(arena, function, &function->instructions[i]);
    if (*reason) return NULL;
    *reason = "memory is out";
    struct ptx_cfg *cfg = arena_alloc(arena, sizeof *cfg);
    if (!cfg) return NULL;
    cfg->function = function;
    if (!make_blocks(arena, cfg)) return NULL;
    uint32_t *seen = arena_calloc(arena, cfg->block_count, sizeof *seen);
    if (!seen) return NULL;
    for (uint32_t i = 0; i + 1 < cfg->block_count; i++)
        if (!add_successors(arena, cfg, i, seen)) return NULL;
    if (!add_predecessors(arena, cfg)) return NULL;
    *reason = NULL;
    return cfg;
}
