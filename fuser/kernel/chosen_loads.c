/* SPDX-License-Identifier: Apache-2.0
 * See chosen_loads.h. An address is computed anew right before its load, from values that are still in their
 * registers there. */
#include "fuser/kernel/chosen_loads.h"

#include "fuser/kernel/from_data.h"
#include "fuser/kernel/product.h"

#include <string.h>

enum {
    MOST_STEPS = 256,      /* looked at for one address */
    MOST_NEW = 64,         /* instructions for one load */
    MOST_LOADS = 64,       /* split in one function */
    MOST_TRIES = 256,      /* loads whose address data choose */
    MOST_DEFINITIONS = 16, /* of a register that is read again */
    MOST_WALKS = 4096,     /* through the blocks, for one function */
};

struct condition { /* under which a choice falls on its first alternative */
    uint32_t value;
    int32_t reg;
};
struct join { /* of two ways, at the beginning of a block */
    bool is_known, is_one;
    struct condition condition;
    uint32_t ways[2]; /* by predecessor: 0, under the condition, or 1 */
};
struct renewed { /* a value that is computed anew, or found to be as it was */
    uint32_t value;
    uint32_t behind; /* so many new instructions */
    struct ptx_operand operand;
};
struct split { /* of one load */
    uint32_t load, count;
    struct ptx_instruction *instructions; /* what stands in place of it */
};
struct splitting {
    struct arena *arena;
    const struct ptx_function *function;
    const struct ssa *ssa;
    bool *comes_from_data;           /* by value */
    uint32_t *definitions, *next;    /* by register, by value: what the register is given somewhere; 0 ends */
    struct join *joins;              /* by block, as they are asked for */
    uint32_t *stack, *stamps, walks; /* of is_reached, by block; the stamp is the walk's number */
    struct ptx_register *registers;
    uint32_t register_count, register_capacity;
    struct split splits[MOST_LOADS];
    uint32_t split_count, tries;
    /* the load that is looked at */
    uint32_t load, steps;
    struct condition condition;
    bool is_first; /* alternative */
    struct ptx_instruction *instructions;
    uint32_t instruction_count;
    struct renewed renewed[MOST_STEPS];
    uint32_t renewed_count;
};

/* --- choices ----------------------------------------------------------------------------------------- */

static const struct ptx_instruction *definition_of(const struct splitting *splitting, uint32_t value)
{
    const struct ssa_value *definition = &splitting->ssa->values[value];
    return definition->kind == SSA_DEFINITION ? &splitting->function->instructions[definition->instruction]
                                              : NULL;
}

/* What the operand of the value's instruction is. */
static uint32_t value_read(const struct splitting *splitting, uint32_t value, int32_t reg)
{
    return ssa_use(splitting->ssa, splitting->ssa->values[value].instruction, reg);
}

static bool is_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && !operand->component && !operand->is_negated;
}

/* A function of its operands that can be computed again; rounded sums are not, as exactness.c counts them. */
static bool is_pure(const struct ptx_instruction *instruction)
{
    bool has_carry = instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
                     instruction->opcode == PTX_OP_MADC || ptx_has_modifier(instruction, PTX_MOD_CC);
    if (ptx_opcode_info(instruction->opcode)->class != PTX_CLASS_ARITHMETIC || instruction->guard >= 0 ||
        has_carry || product_may_contract(instruction) || !instruction->operand_count ||
        !is_register(&instruction->operands[0]))
        return false;
    for (uint32_t i = 1; i < instruction->operand_count; i++)
        if (!is_register(&instruction->operands[i]) && instruction->operands[i].kind != PTX_OPERAND_INTEGER)
            return false;
    return true;
}

/* Of an argument: an array's address, mostly. It is the same wherever it is loaded; what a call has returned is not. */
static bool is_argument(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *from = &instruction->operands[1];
    if (instruction->opcode != PTX_OP_LD || instruction->space != PTX_PARAM || instruction->guard >= 0 ||
        instruction->vector != 1 || instruction->operand_count != 2 ||
        !is_register(&instruction->operands[0]) || from->kind != PTX_OPERAND_ADDRESS || from->reg >= 0)
        return false;
    for (uint32_t i = 0; i < function->variable_count; i++)
        if (function->variables[i] == from->variable) return false;
    return true;
}

static bool is_selection(const struct ptx_instruction *instruction)
{
    return instruction && instruction->opcode == PTX_OP_SELP && instruction->operand_count == 4 &&
           is_pure(instruction);
}

/* By which of the branch's ways, 0 taken, control came to the join from this predecessor; -1: by either. */
static int way_from(const struct dominators *dominators, uint32_t branch, uint32_t join, uint32_t from)
{
    const struct ptx_block *blocks = dominators->cfg->blocks, *block = &blocks[branch];
    for (int way = 0; way < 2; way++) {
        uint32_t next = block->successors[way];
        if (next == join && from == branch) return way;
        if (next != join && blocks[next].predecessor_count == 1 &&
            dominators_dominates(dominators, next, from))
            return way;
    }
    return -1;
}

/* Whether the two ways of one branch meet at the block, and by which of them control comes from where. */
static bool examine_join(const struct splitting *splitting, uint32_t at, struct join *join)
{
    const struct dominators *dominators = splitting->ssa->dominators;
    const struct ptx_block *blocks = dominators->cfg->blocks;
    int32_t above = dominators->parent[at];
    if (blocks[at].predecessor_count != 2 || above < 0) return false;
    const struct ptx_block *block = &blocks[above];
    if (!block->count || block->successor_count != 2 || block->successors[0] == block->successors[1])
        return false;
    uint32_t last = block->first + block->count - 1;
    const struct ptx_instruction *branch = &splitting->function->instructions[last];
    int ways[2];
    for (int p = 0; p < 2; p++)
        ways[p] = way_from(dominators, (uint32_t)above, at, blocks[at].predecessors[p]);
    if (branch->opcode != PTX_OP_BRA || branch->guard < 0 || ways[0] < 0 || ways[0] + ways[1] != 1)
        return false;
    join->condition = (struct condition){ssa_use(splitting->ssa, last, branch->guard), branch->guard};
    for (int p = 0; p < 2; p++) join->ways[p] = (uint32_t)ways[p] ^ branch->guard_negated;
    return true;
}

/* A phi where the two ways of one branch meet. arguments: for the condition, and against it. */
static bool is_join(const struct splitting *splitting, const struct ssa_value *phi,
                    struct condition *condition, uint32_t *arguments)
{
    if (phi->kind != SSA_PHI) return false;
    struct join *join = &splitting->joins[phi->block];
    if (!join->is_known) join->is_one = examine_join(splitting, phi->block, join);
    join->is_known = true;
    if (!join->is_one) return false;
    *condition = join->condition;
    for (int p = 0; p < 2; p++) arguments[join->ways[p]] = phi->arguments[p];
    return true;
}

static bool is_by_data(const struct splitting *splitting, const struct condition *condition)
{
    return condition->value != SSA_NO_VALUE && splitting->comes_from_data[condition->value];
}

/* The first choice by data that the value comes from. */
static bool find_choice(struct splitting *splitting, uint32_t value)
{
    const struct ssa_value *definition = &splitting->ssa->values[value];
    const struct ptx_instruction *instruction = definition_of(splitting, value);
    uint32_t arguments[2];
    if (value == SSA_NO_VALUE || ++splitting->steps > MOST_STEPS) return false;
    if (!instruction)
        return is_join(splitting, definition, &splitting->condition, arguments) &&
               is_by_data(splitting, &splitting->condition);
    if (is_selection(instruction)) {
        int32_t reg = instruction->operands[3].reg;
        splitting->condition = (struct condition){value_read(splitting, value, reg), reg};
        if (is_by_data(splitting, &splitting->condition)) return true;
    }
    for (uint32_t i = 1; is_pure(instruction) && i < instruction->operand_count; i++)
        if (is_register(&instruction->operands[i]) &&
            find_choice(splitting, value_read(splitting, value, instruction->operands[i].reg)))
            return true;
    return false;
}

static bool has_choice(struct splitting *splitting, uint32_t value)
{
    struct condition kept = splitting->condition;
    bool is_found = find_choice(splitting, value);
    splitting->condition = kept;
    return is_found;
}

/* --- values that are still there --------------------------------------------------------------------- */

static uint32_t block_of(const struct splitting *splitting, uint32_t instruction)
{
    return splitting->ssa->dominators->cfg->block_of[instruction];
}

/* From the end of a block to the load's, and not through another block; or there were too many such questions. */
static bool is_reached(struct splitting *splitting, uint32_t from, uint32_t around)
{
    const struct ptx_cfg *cfg = splitting->ssa->dominators->cfg;
    uint32_t to = block_of(splitting, splitting->load), count = 0;
    if (splitting->walks == MOST_WALKS) return true;
    uint32_t stamp = ++splitting->walks;
    splitting->stack[count++] = from;
    while (count) {
        const struct ptx_block *block = &cfg->blocks[splitting->stack[--count]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            uint32_t next = block->successors[s];
            if (next == around || splitting->stamps[next] == stamp) continue;
            if (next == to) return true;
            splitting->stamps[next] = stamp;
            splitting->stack[count++] = next;
        }
    }
    return false;
}

/* Where the register gets the value: `at` in its block; a phi's is before the first instruction. */
struct origin {
    uint32_t block;
    int64_t at;
};
static struct origin origin_of(const struct splitting *splitting, uint32_t value)
{
    const struct ssa_value *definition = &splitting->ssa->values[value];
    return (struct origin){definition->block,
                           definition->kind == SSA_PHI ? -1 : (int64_t)definition->instruction};
}

/* Between the value's last origin and the load, the register may be written there. */
static bool may_come_between(struct splitting *splitting, struct origin origin, uint32_t writer)
{
    uint32_t block = block_of(splitting, writer), to = block_of(splitting, splitting->load);
    if (block == origin.block) {
        if ((int64_t)writer <= origin.at) return false;
        return block != to || writer < splitting->load;
    }
    if (to == origin.block) return false;
    return (block == to && writer < splitting->load) || is_reached(splitting, block, origin.block);
}

static bool is_still_there(struct splitting *splitting, uint32_t value)
{
    const struct ssa *ssa = splitting->ssa;
    struct origin origin = origin_of(splitting, value);
    uint32_t to = block_of(splitting, splitting->load), others = 0;
    if (value == SSA_NO_VALUE || !dominators_dominates(ssa->dominators, origin.block, to) ||
        (origin.block == to && origin.at >= (int64_t)splitting->load))
        return false;
    for (uint32_t v = splitting->definitions[ssa->values[value].reg]; v; v = splitting->next[v]) {
        const struct ssa_value *other = &ssa->values[v];
        if (v == value) continue;
        if (++others > MOST_DEFINITIONS || may_come_between(splitting, origin, other->instruction))
            return false;
    }
    return true;
}

/* --- instructions anew ------------------------------------------------------------------------------- */

static struct ptx_operand operand_of(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .reg = reg, .label = -1};
}

/* As the load stands in the text. */
static struct ptx_instruction *append(struct splitting *splitting, const struct ptx_instruction *like)
{
    const struct ptx_instruction *load = &splitting->function->instructions[splitting->load];
    if (splitting->instruction_count == MOST_NEW) return NULL;
    struct ptx_instruction *made = &splitting->instructions[splitting->instruction_count++];
    *made = *like;
    made->operands = arena_calloc(splitting->arena, like->operand_count, sizeof *made->operands);
    if (!made->operands) return NULL;
    memcpy(made->operands, like->operands, like->operand_count * sizeof *made->operands);
    made->line = load->line;
    made->source_file = load->source_file;
    made->source_line = load->source_line;
    made->text = load->text;
    return made;
}

/* -1: memory is out */
static int32_t add_register(struct splitting *splitting, int32_t like)
{
    if (splitting->register_count == splitting->register_capacity) {
        uint32_t capacity = 2 * splitting->register_capacity + 16;
        void *grown = arena_grow(splitting->arena, splitting->registers, splitting->register_count, capacity,
                                 sizeof *splitting->registers);
        if (!grown) return -1;
        splitting->registers = grown;
        splitting->register_capacity = capacity;
    }
    splitting->registers[splitting->register_count] = splitting->function->registers[like];
    return (int32_t)splitting->register_count++;
}

/* A number in a register like that one: not every operand may be a number. */
static bool put_number(struct splitting *splitting, int32_t like, struct ptx_operand *number)
{
    static const struct {
        uint32_t bytes;
        enum ptx_type type;
        const char *mnemonic;
    } moves[] = {{2, PTX_B16, "mov.b16"}, {4, PTX_B32, "mov.b32"}, {8, PTX_B64, "mov.b64"}};
    struct ptx_operand operands[2] = {operand_of(-1), *number};
    struct ptx_instruction move = {.opcode = PTX_OP_MOV,
                                   .type_count = 1,
                                   .vector = 1,
                                   .guard = -1,
                                   .operand_count = 2,
                                   .operands = operands};
    uint32_t bytes = ptx_type_bytes(splitting->function->registers[like].type);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        if (moves[i].bytes != bytes) continue;
        move.types[0] = moves[i].type;
        move.mnemonic = (struct ptx_span){moves[i].mnemonic, (uint32_t)strlen(moves[i].mnemonic)};
    }
    operands[0].reg = move.mnemonic.text ? add_register(splitting, like) : -1;
    *number = operands[0];
    return number->reg >= 0 && append(splitting, &move);
}

static bool renew(struct splitting *splitting, uint32_t value, struct ptx_operand *renewed);

static bool renew_operand(struct splitting *splitting, uint32_t value, const struct ptx_operand *operand,
                          struct ptx_operand *renewed)
{
    *renewed = *operand;
    return !is_register(operand) || renew(splitting, value_read(splitting, value, operand->reg), renewed);
}

/* The instruction once more, where its operands are others now, or its result is no longer there. */
static bool renew_definition(struct splitting *splitting, uint32_t value, struct ptx_operand *renewed)
{
    const struct ptx_instruction *instruction = definition_of(splitting, value);
    struct ptx_operand operands[8];
    bool is_same = true;
    if ((!is_pure(instruction) && !is_argument(splitting->function, instruction)) ||
        instruction->operand_count > sizeof operands / sizeof *operands)
        return false;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        if (!renew_operand(splitting, value, &instruction->operands[i], &operands[i])) return false;
        is_same &= operands[i].kind == instruction->operands[i].kind &&
                   operands[i].reg == instruction->operands[i].reg;
    }
    *renewed = operand_of(instruction->operands[0].reg);
    if (is_same && is_still_there(splitting, value)) return true;
    struct ptx_instruction *made = append(splitting, instruction);
    int32_t reg = made ? add_register(splitting, instruction->operands[0].reg) : -1;
    if (reg < 0) return false;
    memcpy(made->operands + 1, operands + 1, (instruction->operand_count - 1) * sizeof *operands);
    *renewed = made->operands[0] = operand_of(reg);
    return true;
}

/* The alternative's register can stand wherever the selection's does. */
static bool is_of_class(const struct splitting *splitting, const struct ptx_instruction *selection,
                        uint32_t which)
{
    const struct ptx_register *registers = splitting->function->registers;
    const struct ptx_operand *chosen = &selection->operands[1 + which];
    return !is_register(chosen) || ptx_type_is_float(registers[chosen->reg].type) ==
                                       ptx_type_is_float(registers[selection->operands[0].reg].type);
}

/* What was begun for a value in vain, and what was renewed by it. */
static void drop_behind(struct splitting *splitting, uint32_t instructions)
{
    if (splitting->instruction_count == instructions) return;
    splitting->instruction_count = instructions;
    uint32_t count = 0;
    for (uint32_t i = 0; i < splitting->renewed_count; i++)
        if (splitting->renewed[i].behind <= instructions) splitting->renewed[count++] = splitting->renewed[i];
    splitting->renewed_count = count;
}

static bool renew_choice(struct splitting *splitting, uint32_t value, bool *is_choice,
                         struct ptx_operand *renewed)
{
    const struct ptx_instruction *instruction = definition_of(splitting, value);
    struct condition condition = {0};
    uint32_t arguments[2], which = splitting->is_first ? 0 : 1;
    *is_choice = false;
    if (is_selection(instruction)) {
        *is_choice = value_read(splitting, value, instruction->operands[3].reg) == splitting->condition.value;
        return *is_choice && is_of_class(splitting, instruction, which) &&
               renew_operand(splitting, value, &instruction->operands[1 + which], renewed) &&
               (renewed->kind == PTX_OPERAND_REGISTER ||
                put_number(splitting, instruction->operands[0].reg, renewed));
    }
    if (instruction) return false;
    *is_choice = is_join(splitting, &splitting->ssa->values[value], &condition, arguments) &&
                 condition.value == splitting->condition.value;
    return *is_choice && renew(splitting, arguments[which], renewed);
}

/* The register that has the value at the load, on the one side of the condition. */
static bool renew(struct splitting *splitting, uint32_t value, struct ptx_operand *renewed)
{
    bool is_choice, is_renewed;
    uint32_t kept = splitting->instruction_count;
    for (uint32_t i = 0; i < splitting->renewed_count; i++) {
        if (splitting->renewed[i].value != value) continue;
        *renewed = splitting->renewed[i].operand;
        return true;
    }
    if (value == SSA_NO_VALUE || ++splitting->steps > MOST_STEPS) return false;
    is_renewed = renew_choice(splitting, value, &is_choice, renewed);
    if (!is_choice) {
        is_renewed = definition_of(splitting, value) && renew_definition(splitting, value, renewed);
        if (!is_renewed) drop_behind(splitting, kept);
        if (!is_renewed && !has_choice(splitting, value) && is_still_there(splitting, value)) {
            *renewed = operand_of(splitting->ssa->values[value].reg);
            is_renewed = true;
        }
    }
    if (is_renewed && splitting->renewed_count < MOST_STEPS)
        splitting->renewed[splitting->renewed_count++] =
            (struct renewed){value, splitting->instruction_count, *renewed};
    return is_renewed;
}

/* --- loads ------------------------------------------------------------------------------------------- */

/* Of global memory, weak: each may run or not. */
static bool is_load(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                               PTX_MOD_MMIO};
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (ptx_has_modifier(instruction, strong[i])) return false;
    return instruction->opcode == PTX_OP_LD && instruction->guard < 0 && instruction->operand_count == 2 &&
           (instruction->space == PTX_GLOBAL || instruction->space == PTX_GENERIC) &&
           instruction->operands[1].kind == PTX_OPERAND_ADDRESS && instruction->operands[1].reg >= 0;
}

/* The load from the address on one side, behind what computes that. */
static bool add_load(struct splitting *splitting, uint32_t address, bool is_first)
{
    const struct ptx_instruction *load = &splitting->function->instructions[splitting->load];
    struct ptx_operand operand;
    splitting->is_first = is_first;
    splitting->renewed_count = splitting->steps = 0;
    if (!renew(splitting, address, &operand)) return false;
    struct ptx_instruction *made = append(splitting, load);
    if (!made) return false;
    made->operands[1].reg = operand.reg;
    made->guard = splitting->condition.reg;
    made->guard_negated = !is_first;
    return true;
}

static void split_load(struct splitting *splitting, uint32_t at)
{
    const struct ptx_instruction *load = &splitting->function->instructions[at];
    if (!is_load(load) || splitting->split_count == MOST_LOADS || splitting->tries == MOST_TRIES) return;
    uint32_t address = ssa_use(splitting->ssa, at, load->operands[1].reg),
             registers = splitting->register_count;
    splitting->load = at;
    splitting->steps = splitting->instruction_count = 0;
    if (!find_choice(splitting, address)) return;
    splitting->tries++;
    if (!is_still_there(splitting, splitting->condition.value)) return;
    splitting->instructions = arena_calloc(splitting->arena, MOST_NEW, sizeof *splitting->instructions);
    if (splitting->instructions && add_load(splitting, address, true) && add_load(splitting, address, false))
        splitting->splits[splitting->split_count++] =
            (struct split){at, splitting->instruction_count, splitting->instructions};
    else
        splitting->register_count = registers;
}

/* --- the function ------------------------------------------------------------------------------------ */

static bool list_definitions(struct splitting *splitting)
{
    const struct ssa *ssa = splitting->ssa;
    splitting->definitions =
        arena_calloc(splitting->arena, splitting->function->register_count + 1, sizeof(uint32_t));
    splitting->next = arena_calloc(splitting->arena, ssa->value_count + 1, sizeof(uint32_t));
    if (!splitting->definitions || !splitting->next) return false;
    for (uint32_t v = 1; v < ssa->value_count; v++) {
        if (ssa->values[v].kind != SSA_DEFINITION) continue;
        splitting->next[v] = splitting->definitions[ssa->values[v].reg];
        splitting->definitions[ssa->values[v].reg] = v;
    }
    return true;
}

static bool open_blocks(struct splitting *splitting)
{
    uint32_t count = splitting->ssa->dominators->cfg->block_count;
    splitting->joins = arena_calloc(splitting->arena, count, sizeof *splitting->joins);
    splitting->stack = arena_calloc(splitting->arena, count + 1, sizeof *splitting->stack);
    splitting->stamps = arena_calloc(splitting->arena, count, sizeof *splitting->stamps);
    splitting->comes_from_data = from_data_find(splitting->arena, splitting->ssa);
    return splitting->joins && splitting->stack && splitting->stamps && splitting->comes_from_data;
}

/* Labels stand before what replaces the instruction that they stood before. */
static bool rebuild(const struct splitting *splitting, struct ptx_function *copy)
{
    const struct ptx_function *function = splitting->function;
    uint32_t total = function->instruction_count, count = 0, next = 0;
    for (uint32_t i = 0; i < splitting->split_count; i++) total += splitting->splits[i].count - 1;
    copy->instructions = arena_calloc(splitting->arena, total + 1, sizeof *copy->instructions);
    copy->labels = arena_calloc(splitting->arena, function->label_count + 1, sizeof *copy->labels);
    uint32_t *places = arena_calloc(splitting->arena, function->instruction_count + 1, sizeof *places);
    if (!copy->instructions || !copy->labels || !places) return false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        places[i] = count;
        if (next < splitting->split_count && splitting->splits[next].load == i) {
            const struct split *split = &splitting->splits[next++];
            memcpy(copy->instructions + count, split->instructions,
                   split->count * sizeof *copy->instructions);
            count += split->count;
        } else {
            copy->instructions[count++] = function->instructions[i];
        }
    }
    places[function->instruction_count] = count;
    for (uint32_t i = 0; i < function->label_count; i++)
        copy->labels[i] =
            (struct ptx_label){function->labels[i].name, places[function->labels[i].instruction]};
    copy->instruction_count = count;
    copy->registers = splitting->registers;
    copy->register_count = splitting->register_count;
    return true;
}

static bool examine(struct splitting *splitting)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(splitting->arena, splitting->function, &reason);
    struct dominators *dominators = cfg ? dominators_build(splitting->arena, cfg) : NULL;
    splitting->ssa = dominators ? ssa_build(splitting->arena, dominators) : NULL;
    return splitting->ssa && list_definitions(splitting) && open_blocks(splitting);
}

const struct ptx_function *chosen_loads_split(struct arena *arena, const struct ptx_function *function)
{
    struct splitting *splitting = arena_calloc(arena, 1, sizeof *splitting);
    if (!splitting) return function;
    splitting->arena = arena;
    splitting->function = function;
    splitting->registers = function->registers;
    splitting->register_count = splitting->register_capacity = function->register_count;
    if (!function->instruction_count || !examine(splitting)) return function;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (dominators_is_reachable(splitting->ssa->dominators, block_of(splitting, i)))
            split_load(splitting, i);
    struct ptx_function *copy = splitting->split_count ? arena_alloc(arena, sizeof *copy) : NULL;
    if (!copy) return function;
    *copy = *function;
    return rebuild(splitting, copy) ? copy : function;
}
