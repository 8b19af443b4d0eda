/* SPDX-License-Identifier: Apache-2.0
 * Static single assignment: phis by dominance frontiers, then the values that reach each block. */
#include "fuser/kernel/ssa.h"

#include <string.h>

struct definition_site { /* the last value of a register in a block, or its phi there */
    uint32_t block, value;
    struct definition_site *next;
};

struct builder {
    struct ssa *ssa;
    struct arena *arena;
    const struct ptx_cfg *cfg;
    const struct ptx_function *function;
    struct definition_site **sites; /* register -> blocks that define it, phis included */
    bool *is_global;                /* register -> read in a block before a definition there */
    uint32_t *current;              /* register -> value inside the block that is being numbered */
    uint32_t *stamp;                /* register -> block that current belongs to, plus one */
    bool failed;
};

typedef void visit_register(struct builder *builder, uint32_t instruction, int32_t reg);

static void visit_operand(struct builder *builder, uint32_t instruction, const struct ptx_operand *operand,
                          visit_register *visit)
{
    if ((operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS) && operand->reg >= 0)
        visit(builder, instruction, operand->reg);
    for (uint32_t e = 0; e < operand->element_count; e++)
        visit_operand(builder, instruction, &operand->elements[e], visit);
}

/* Operand 0 is written; of a call too (its list of return values), and of a barrier that reduces, whatever the
 * table says. */
static bool writes_first_operand(const struct ptx_instruction *instruction)
{
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    bool is_reduction = info->class == PTX_CLASS_BARRIER && ptx_has_modifier(instruction, PTX_MOD_RED);
    return instruction->operand_count > 0 && instruction->operands[0].kind != PTX_OPERAND_ADDRESS &&
           (info->has_destination || is_reduction);
}

static void visit_reads(struct builder *builder, uint32_t index, visit_register *visit)
{
    const struct ptx_instruction *instruction = &builder->function->instructions[index];

    if (instruction->guard >= 0) visit(builder, index, instruction->guard);
    for (uint32_t o = writes_first_operand(instruction) ? 1 : 0; o < instruction->operand_count; o++)
        visit_operand(builder, index, &instruction->operands[o], visit);
}

static void visit_writes(struct builder *builder, uint32_t index, visit_register *visit)
{
    const struct ptx_instruction *instruction = &builder->function->instructions[index];

    if (writes_first_operand(instruction)) visit_operand(builder, index, &instruction->operands[0], visit);
    /* An opcode that nobody knows may write any register that it names. */
    if (instruction->opcode == PTX_OP_UNKNOWN || instruction->opcode == PTX_OP_CALL)
        for (uint32_t o = 0; o < instruction->operand_count; o++)
            visit_operand(builder, index, &instruction->operands[o], visit);
}

/* A definition that may leave the old value, or part of it, in place. */
static bool keeps_previous(const struct ptx_instruction *instruction, const struct ptx_operand *operand)
{
    if (instruction->guard >= 0 || operand->component != 0) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (operand->elements[e].component != 0) return true;
    return false;
}

static void append(struct builder *builder, struct ssa_list *list, int32_t reg, uint32_t value)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].reg == reg) return;
    if (list->count % 4 == 0) {
        void *items =
            arena_grow(builder->arena, list->items, list->count, list->count + 4, sizeof *list->items);
        if (!items) {
            builder->failed = true;
            return;
        }
        list->items = items;
    }
    list->items[list->count++] = (struct ssa_register){.reg = reg, .value = value};
}

static uint32_t add_value(struct builder *builder, struct ssa_value value)
{
    struct ssa *ssa = builder->ssa;

    if (ssa->value_count == ssa->value_capacity) {
        uint32_t capacity = 2 * ssa->value_capacity + 64;
        void *values =
            arena_grow(builder->arena, ssa->values, ssa->value_count, capacity, sizeof *ssa->values);
        if (!values) {
            builder->failed = true;
            return SSA_NO_VALUE;
        }
        ssa->values = values;
        ssa->value_capacity = capacity;
    }
    ssa->values[ssa->value_count] = value;
    return ssa->value_count++;
}

static struct definition_site *find_site(const struct builder *builder, int32_t reg, uint32_t block)
{
    struct definition_site *site = builder->sites[reg];

    while (site && site->block != block) site = site->next;
    return site;
}

static void add_site(struct builder *builder, int32_t reg, uint32_t block, uint32_t value)
{
    struct definition_site *site = find_site(builder, reg, block);

    if (!site) {
        site = arena_alloc(builder->arena, sizeof *site);
        if (!site) {
            builder->failed = true;
            return;
        }
        *site = (struct definition_site){.block = block, .next = builder->sites[reg]};
        builder->sites[reg] = site;
    }
    site->value = value;
}

/* --- which registers need phis ----------------------------------------------------------------------- */

static void note_read(struct builder *builder, uint32_t instruction, int32_t reg)
{
    if (builder->stamp[reg] != builder->cfg->block_of[instruction] + 1) builder->is_global[reg] = true;
}

static void note_write(struct builder *builder, uint32_t instruction, int32_t reg)
{
    const struct ptx_instruction *info = &builder->function->instructions[instruction];
    uint32_t block = builder->cfg->block_of[instruction];

    if (info->operand_count > 0 && keeps_previous(info, &info->operands[0]))
        note_read(builder, instruction, reg);
    builder->stamp[reg] = block + 1;
    add_site(builder, reg, block, SSA_NO_VALUE);
}

static void collect_sites(struct builder *builder)
{
    const struct dominators *dominators = builder->ssa->dominators;

    for (uint32_t i = 0; i < dominators->order_count; i++) {
        const struct ptx_block *block = &builder->cfg->blocks[dominators->order[i]];
        for (uint32_t k = block->first; k < block->first + block->count; k++) {
            visit_reads(builder, k, note_read);
            visit_writes(builder, k, note_write);
        }
    }
}

/* --- phis -------------------------------------------------------------------------------------------- */

static uint32_t find_phi(const struct builder *builder, uint32_t block, int32_t reg)
{
    const struct ssa_list *phis = &builder->ssa->phis[block];

    for (uint32_t i = 0; i < phis->count; i++)
        if (phis->items[i].reg == reg) return phis->items[i].value;
    return SSA_NO_VALUE;
}

static bool place_phi(struct builder *builder, uint32_t block, int32_t reg)
{
    if (find_phi(builder, block, reg) != SSA_NO_VALUE) return false;
    uint32_t value = add_value(builder, (struct ssa_value){.kind = SSA_PHI, .reg = reg, .block = block});
    struct ssa_value *phi = &builder->ssa->values[value];
    phi->arguments =
        arena_calloc(builder->arena, builder->cfg->blocks[block].predecessor_count + 1, sizeof(uint32_t));
    if (builder->failed || !phi->arguments) {
        builder->failed = true;
        return false;
    }
    append(builder, &builder->ssa->phis[block], reg, value);
    add_site(builder, reg, block, value);
    return true;
}

/* Places phis of one register in the dominance frontier of the blocks on its list, to a fixed point: add_site
 * puts new sites in front, so the walk starts again until nothing is added. */
static void place_phis_of(struct builder *builder, int32_t reg, const struct ssa_list *frontiers)
{
    bool changed = true;

    while (changed && !builder->failed) {
        changed = false;
        for (struct definition_site *site = builder->sites[reg]; site; site = site->next)
            for (uint32_t f = 0; f < frontiers[site->block].count; f++)
                if (place_phi(builder, (uint32_t)frontiers[site->block].items[f].reg, reg)) changed = true;
    }
}

/* Dominance frontiers: block -> blocks, kept in lists of registers for their reg. */
static struct ssa_list *find_frontiers(struct builder *builder)
{
    const struct dominators *dominators = builder->ssa->dominators;
    struct ssa_list *frontiers = arena_calloc(builder->arena, builder->cfg->block_count, sizeof *frontiers);

    for (uint32_t i = 0; frontiers && i < dominators->order_count; i++) {
        uint32_t block = dominators->order[i];
        const struct ptx_block *info = &builder->cfg->blocks[block];
        for (uint32_t p = 0; p < info->predecessor_count; p++) {
            int32_t runner = (int32_t)info->predecessors[p];
            if (!dominators_is_reachable(dominators, (uint32_t)runner)) continue;
            while (runner != DOMINATORS_NONE && runner != dominators->parent[block]) {
                append(builder, &frontiers[runner], (int32_t)block, 0);
                runner = dominators->parent[runner];
            }
        }
    }
    return frontiers;
}

/* --- numbering --------------------------------------------------------------------------------------- */

/* The value of reg at the end of block, or above it in the dominator tree. */
static uint32_t value_at_end(const struct builder *builder, int32_t reg, int32_t block)
{
    if (!builder->sites[reg]) return SSA_NO_VALUE;
    for (; block != DOMINATORS_NONE; block = builder->ssa->dominators->parent[block]) {
        const struct definition_site *site = find_site(builder, reg, (uint32_t)block);
        if (site) return site->value;
    }
    return SSA_NO_VALUE;
}

static uint32_t value_inside(struct builder *builder, uint32_t instruction, int32_t reg)
{
    uint32_t block = builder->cfg->block_of[instruction];

    if (builder->stamp[reg] != block + 1) {
        uint32_t phi = find_phi(builder, block, reg);
        builder->current[reg] =
            phi != SSA_NO_VALUE ? phi : value_at_end(builder, reg, builder->ssa->dominators->parent[block]);
        builder->stamp[reg] = block + 1;
    }
    return builder->current[reg];
}

static void number_read(struct builder *builder, uint32_t instruction, int32_t reg)
{
    append(builder, &builder->ssa->uses[instruction], reg, value_inside(builder, instruction, reg));
}

static void number_write(struct builder *builder, uint32_t instruction, int32_t reg)
{
    const struct ptx_instruction *info = &builder->function->instructions[instruction];
    uint32_t block = builder->cfg->block_of[instruction];
    struct ssa_value definition = {
        .kind = SSA_DEFINITION, .reg = reg, .block = block, .instruction = instruction};

    if (info->operand_count > 0 && keeps_previous(info, &info->operands[0]))
        definition.previous = value_inside(builder, instruction, reg);
    uint32_t value = add_value(builder, definition);
    append(builder, &builder->ssa->definitions[instruction], reg, value);
    builder->current[reg] = value;
    builder->stamp[reg] = block + 1;
    add_site(builder, reg, block, value);
}

/* Dominators come before what they dominate in reverse postorder, so their last values are known. */
static void number_values(struct builder *builder)
{
    const struct dominators *dominators = builder->ssa->dominators;

    memset(builder->stamp, 0, builder->function->register_count * sizeof *builder->stamp);
    for (uint32_t i = 0; i < dominators->order_count; i++) {
        const struct ptx_block *block = &builder->cfg->blocks[dominators->order[i]];
        for (uint32_t k = block->first; k < block->first + block->count; k++) {
            visit_reads(builder, k, number_read);
            visit_writes(builder, k, number_write);
        }
    }
}

static void fill_phis(struct builder *builder)
{
    struct ssa *ssa = builder->ssa;

    for (uint32_t v = 1; v < ssa->value_count; v++) {
        struct ssa_value *phi = &ssa->values[v];
        if (phi->kind != SSA_PHI) continue;
        const struct ptx_block *block = &builder->cfg->blocks[phi->block];
        for (uint32_t p = 0; p < block->predecessor_count; p++)
            if (dominators_is_reachable(ssa->dominators, block->predecessors[p]))
                phi->arguments[p] = value_at_end(builder, phi->reg, (int32_t)block->predecessors[p]);
    }
}

struct ssa *ssa_build(struct arena *arena, const struct dominators *dominators)
{
    const struct ptx_function *function = dominators->cfg->function;
    struct ssa *ssa = arena_alloc(arena, sizeof *ssa);
    struct builder builder = {.ssa = ssa, .arena = arena, .cfg = dominators->cfg, .function = function};
    size_t registers = function->register_count + 1, instructions = function->instruction_count + 1;

    builder.sites = arena_calloc(arena, registers, sizeof *builder.sites);
    builder.is_global = arena_calloc(arena, registers, sizeof *builder.is_global);
    builder.current = arena_calloc(arena, registers, sizeof *builder.current);
    builder.stamp = arena_calloc(arena, registers, sizeof *builder.stamp);
    if (!ssa || !builder.sites || !builder.is_global || !builder.current || !builder.stamp) return NULL;
    ssa->dominators = dominators;
    ssa->arena = arena;
    ssa->uses = arena_calloc(arena, instructions, sizeof *ssa->uses);
    ssa->definitions = arena_calloc(arena, instructions, sizeof *ssa->definitions);
    ssa->phis = arena_calloc(arena, dominators->cfg->block_count, sizeof *ssa->phis);
    if (!ssa->uses || !ssa->definitions || !ssa->phis) return NULL;
    add_value(&builder, (struct ssa_value){.kind = SSA_UNDEFINED, .reg = -1});
    collect_sites(&builder);
    struct ssa_list *frontiers = find_frontiers(&builder);
    if (!frontiers || builder.failed) return NULL;
    for (uint32_t r = 0; r < function->register_count; r++)
        if (builder.is_global[r]) place_phis_of(&builder, (int32_t)r, frontiers);
    number_values(&builder);
    fill_phis(&builder);
    return builder.failed ? NULL : ssa;
}

uint32_t ssa_use(const struct ssa *ssa, uint32_t instruction, int32_t reg)
{
    const struct ssa_list *uses = &ssa->uses[instruction];

    for (uint32_t i = 0; i < uses->count; i++)
        if (uses->items[i].reg == reg) return uses->items[i].value;
    return SSA_NO_VALUE;
}

bool ssa_is_used(const struct ssa *ssa, uint32_t value)
{
    const struct ptx_cfg *cfg = ssa->dominators->cfg;

    for (uint32_t k = 0; k < cfg->function->instruction_count; k++)
        for (uint32_t u = 0; u < ssa->uses[k].count; u++)
            if (ssa->uses[k].items[u].value == value) return true;
    for (uint32_t v = 1; v < ssa->value_count; v++) {
        if (ssa->values[v].kind == SSA_DEFINITION && ssa->values[v].previous == value) return true;
        for (uint32_t p = 0;
             ssa->values[v].kind == SSA_PHI && p < cfg->blocks[ssa->values[v].block].predecessor_count; p++)
            if (ssa->values[v].arguments[p] == value) return true;
    }
    return false;
}
