/* SPDX-License-Identifier: Apache-2.0
 * See chosen_arrays.h. */
#include "fuser/kernel/chosen_arrays.h"

#include "fuser/kernel/ssa.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ARRAYS = 16,   /* that one pointer may be of */
    MOST_ACCESSES = 64, /* that one pointer's become */
    MOST_DEPTH = 8,     /* of choices in choices */
};

struct insertion { /* before the instruction: at is twice its number; behind it: and one more */
    uint32_t at, order;
    struct ptx_instruction instruction;
};

struct choosing {
    struct arena *arena;
    const struct ptx_function *function;
    const struct ssa *ssa;
    struct ptx_register *registers;
    uint32_t register_count, register_capacity;
    struct insertion *insertions;
    uint32_t insertion_count, insertion_capacity;
    bool *is_replaced; /* by instruction */
    bool has_failed;   /* memory is out */
    /* the pointer that is looked at */
    uint32_t loads[MOST_ARRAYS], load_count; /* instructions that load the arrays' addresses, one each */
    bool to_global;                          /* the addresses are converted before they meet */
    int32_t *copies; /* by value: the first of load_count registers in `room`, plus one; 0: none */
    int32_t *room;
    uint32_t room_count, room_capacity;
    int32_t guards[MOST_ARRAYS];
};

/* --- what the pointer may be --------------------------------------------------------------------------- */

static const struct ptx_instruction *instruction_of(const struct choosing *choosing, uint32_t value)
{
    const struct ssa_value *definition = &choosing->ssa->values[value];
    return definition->kind == SSA_DEFINITION ? &choosing->function->instructions[definition->instruction]
                                              : NULL;
}

static bool is_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && !operand->component && !operand->is_negated;
}

static bool is_plain(const struct ptx_instruction *instruction, enum ptx_opcode opcode, uint32_t operands)
{
    return instruction->opcode == opcode && instruction->guard < 0 &&
           instruction->operand_count == operands && is_register(&instruction->operands[0]);
}

static bool is_address_load(const struct ptx_instruction *instruction)
{
    return is_plain(instruction, PTX_OP_LD, 2) && instruction->space == PTX_PARAM &&
           instruction->vector == 1 && ptx_type_bytes(instruction->types[0]) == 8 &&
           instruction->operands[1].kind == PTX_OPERAND_ADDRESS && instruction->operands[1].reg < 0;
}

static bool is_to_global(const struct ptx_instruction *instruction)
{
    return is_plain(instruction, PTX_OP_CVTA, 2) && ptx_has_modifier(instruction, PTX_MOD_TO) &&
           instruction->space == PTX_GLOBAL && is_register(&instruction->operands[1]);
}

static bool loads_same(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->variable == b->variable && a->value == b->value && a->symbol && b->symbol &&
           !strcmp(a->symbol, b->symbol);
}

/* The array's number; -1: there are too many. */
static int number_of(struct choosing *choosing, uint32_t load)
{
    const struct ptx_instruction *instructions = choosing->function->instructions;
    for (uint32_t i = 0; i < choosing->load_count; i++)
        if (loads_same(&instructions[choosing->loads[i]].operands[1], &instructions[load].operands[1]))
            return (int)i;
    if (choosing->load_count == MOST_ARRAYS) return -1;
    choosing->loads[choosing->load_count] = load;
    return (int)choosing->load_count++;
}

/* Ways that meet, none of them around a loop. */
static bool is_join(const struct choosing *choosing, const struct ssa_value *phi)
{
    const struct dominators *dominators = choosing->ssa->dominators;
    const struct ptx_block *block = &dominators->cfg->blocks[phi->block];
    for (uint32_t p = 0; p < block->predecessor_count; p++)
        if (!dominators_is_reachable(dominators, block->predecessors[p]) ||
            dominators_dominates(dominators, phi->block, block->predecessors[p]))
            return false;
    return block->predecessor_count > 1;
}

static bool is_selection(const struct ptx_instruction *instruction)
{
    return is_plain(instruction, PTX_OP_SELP, 4) && is_register(&instruction->operands[1]) &&
           is_register(&instruction->operands[2]) && is_register(&instruction->operands[3]);
}

/* Behind moves and the conversion; converted: how it has been so far. */
static uint32_t source_of(const struct choosing *choosing, uint32_t value, bool *converted)
{
    for (uint32_t steps = 0; value != SSA_NO_VALUE && steps < MOST_DEPTH; steps++) {
        const struct ptx_instruction *instruction = instruction_of(choosing, value);
        bool converts = instruction && is_to_global(instruction);
        if (!instruction ||
            (!converts && (!is_plain(instruction, PTX_OP_MOV, 2) || !is_register(&instruction->operands[1]))))
            return value;
        *converted |= converts;
        value =
            ssa_use(choosing->ssa, choosing->ssa->values[value].instruction, instruction->operands[1].reg);
    }
    return SSA_NO_VALUE;
}

/* Notes the arrays that the value may be of. Of those that meet, all are converted, or none is. */
static bool find_arrays(struct choosing *choosing, uint32_t value, bool converted, uint32_t depth)
{
    const struct ssa *ssa = choosing->ssa;
    value = source_of(choosing, value, &converted);
    if (value == SSA_NO_VALUE || depth == MOST_DEPTH) return false;
    const struct ssa_value *definition = &ssa->values[value];
    const struct ptx_instruction *instruction = instruction_of(choosing, value);
    if (instruction && is_address_load(instruction)) {
        if (choosing->load_count && converted != choosing->to_global) return false;
        choosing->to_global = converted;
        return number_of(choosing, definition->instruction) >= 0;
    }
    if (instruction && is_selection(instruction)) {
        for (uint32_t way = 1; way <= 2; way++)
            if (!find_arrays(choosing, ssa_use(ssa, definition->instruction, instruction->operands[way].reg),
                             converted, depth + 1))
                return false;
        return true;
    }
    if (definition->kind != SSA_PHI || !is_join(choosing, definition)) return false;
    uint32_t count = ssa->dominators->cfg->blocks[definition->block].predecessor_count;
    for (uint32_t p = 0; p < count; p++)
        if (!find_arrays(choosing, definition->arguments[p], converted, depth + 1)) return false;
    return true;
}

/* --- new instructions ------------------------------------------------------------------------------------ */

static struct ptx_operand of_register(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .reg = reg, .label = -1};
}

static struct ptx_operand of_number(int64_t number)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_INTEGER, .reg = -1, .label = -1, .value = number};
}

static int32_t add_register(struct choosing *choosing, enum ptx_type type)
{
    if (choosing->register_count == choosing->register_capacity) {
        uint32_t capacity = 2 * choosing->register_capacity + 16;
        struct ptx_register *grown =
            arena_alloc(choosing->arena, capacity * sizeof *grown); /* the function's own stay as they are */
        if (!grown) {
            choosing->has_failed = true;
            return 0;
        }
        memcpy(grown, choosing->registers, choosing->register_count * sizeof *grown);
        choosing->registers = grown;
        choosing->register_capacity = capacity;
    }
    const char *name = arena_printf(choosing->arena, "%%kfuse_chosen_%u", choosing->register_count);
    choosing->has_failed |= !name;
    choosing->registers[choosing->register_count] = (struct ptx_register){name, type, 1};
    return (int32_t)choosing->register_count++;
}

/* Its place in the text is that of the instruction beside it. */
static void insert(struct choosing *choosing, uint32_t beside, bool is_behind,
                   struct ptx_instruction instruction, const struct ptx_operand *operands, uint32_t count)
{
    const struct ptx_instruction *place = &choosing->function->instructions[beside];
    if (choosing->insertion_count == choosing->insertion_capacity) {
        uint32_t capacity = 2 * choosing->insertion_capacity + 64;
        void *grown = arena_grow(choosing->arena, choosing->insertions, choosing->insertion_count, capacity,
                                 sizeof *choosing->insertions);
        choosing->has_failed |= !grown;
        if (!grown) return;
        choosing->insertions = grown;
        choosing->insertion_capacity = capacity;
    }
    instruction.operands = arena_calloc(choosing->arena, count + 1, sizeof *operands);
    choosing->has_failed |= !instruction.operands;
    if (!instruction.operands) return;
    memcpy(instruction.operands, operands, count * sizeof *operands);
    instruction.operand_count = count;
    instruction.line = place->line;
    instruction.source_file = place->source_file;
    instruction.source_line = place->source_line;
    instruction.text = place->text;
    uint32_t order = choosing->insertion_count++;
    choosing->insertions[order] = (struct insertion){2 * beside + is_behind, order, instruction};
}

static const struct form {
    const char *mnemonic;
    enum ptx_opcode opcode;
    enum ptx_type type;
    enum ptx_modifier modifier;
} forms[] = {
    {"mov.u32", PTX_OP_MOV, PTX_U32, PTX_MOD_NONE},
    {"setp.eq.u32", PTX_OP_SETP, PTX_U32, PTX_MOD_EQ},
    {"selp.b32", PTX_OP_SELP, PTX_B32, PTX_MOD_NONE},
};

static void insert_new(struct choosing *choosing, uint32_t beside, bool is_behind, enum ptx_opcode opcode,
                       const struct ptx_operand *operands, uint32_t count)
{
    const struct form *form = forms;
    while (form->opcode != opcode) form++;
    struct ptx_instruction instruction = {.opcode = opcode,
                                          .types = {form->type},
                                          .type_count = 1,
                                          .vector = 1,
                                          .guard = -1,
                                          .mnemonic = {form->mnemonic, (uint32_t)strlen(form->mnemonic)}};
    if (form->modifier != PTX_MOD_NONE)
        instruction.modifiers[form->modifier / 64] |= UINT64_C(1) << form->modifier % 64;
    insert(choosing, beside, is_behind, instruction, operands, count);
}

/* --- which of them ------------------------------------------------------------------------------------------ */

static bool is_control(const struct ptx_instruction *instruction)
{
    return ptx_opcode_info(instruction->opcode)->class == PTX_CLASS_CONTROL;
}

/* At the end of the block, before it is left. */
static void insert_at_end(struct choosing *choosing, uint32_t block, int32_t which, struct ptx_operand number)
{
    const struct ptx_block *of = &choosing->ssa->dominators->cfg->blocks[block];
    if (!of->count) choosing->has_failed = true;
    if (!of->count) return;
    uint32_t last = of->first + of->count - 1;
    insert_new(choosing, last, !is_control(&choosing->function->instructions[last]), PTX_OP_MOV,
               (struct ptx_operand[]){of_register(which), number}, 2);
}

/* The number of the array that the value is of, as an operand that holds where the value does. find_arrays has said that it is of
 * some. A phi's register gets it on each way; a selection's right behind it. */
static struct ptx_operand tell_which(struct choosing *choosing, uint32_t value)
{
    const struct ssa *ssa = choosing->ssa;
    bool converted = false;
    value = source_of(choosing, value, &converted);
    const struct ssa_value *definition = &ssa->values[value];
    const struct ptx_instruction *instruction = instruction_of(choosing, value);
    if (instruction && is_address_load(instruction))
        return of_number(number_of(choosing, definition->instruction));
    int32_t which = add_register(choosing, PTX_B32);
    if (instruction) {
        struct ptx_operand operands[4] = {of_register(which)};
        for (uint32_t way = 1; way <= 2; way++)
            operands[way] =
                tell_which(choosing, ssa_use(ssa, definition->instruction, instruction->operands[way].reg));
        operands[3] = instruction->operands[3];
        /* before it, as what it writes may be what it reads */
        insert_new(choosing, definition->instruction, false, PTX_OP_SELP, operands, 4);
        return of_register(which);
    }
    const struct ptx_block *block = &ssa->dominators->cfg->blocks[definition->block];
    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        if (p && block->predecessors[p] == block->predecessors[p - 1]) continue;
        insert_at_end(choosing, block->predecessors[p], which,
                      tell_which(choosing, definition->arguments[p]));
    }
    return of_register(which);
}

/* --- addresses and accesses --------------------------------------------------------------------------------- */

static bool has_copies(const struct choosing *choosing, uint32_t value)
{
    return value != SSA_NO_VALUE && choosing->copies[value];
}

static int32_t copy_of(const struct choosing *choosing, uint32_t value, uint32_t array)
{
    return choosing->room[(uint32_t)choosing->copies[value] - 1 + array];
}

/* A register for each array. */
static void make_copies(struct choosing *choosing, uint32_t value)
{
    if (choosing->room_count + choosing->load_count > choosing->room_capacity) {
        uint32_t capacity = 2 * choosing->room_capacity + 64;
        int32_t *grown =
            arena_grow(choosing->arena, choosing->room, choosing->room_count, capacity, sizeof *grown);
        choosing->has_failed |= !grown;
        if (!grown) return;
        choosing->room = grown;
        choosing->room_capacity = capacity;
    }
    choosing->copies[value] = (int32_t)choosing->room_count + 1;
    for (uint32_t i = 0; i < choosing->load_count; i++)
        choosing->room[choosing->room_count++] = add_register(choosing, PTX_B64);
}

/* A sum, a move or a conversion of the pointer, which is operand *which. */
static bool is_address_step(const struct choosing *choosing, uint32_t at, uint32_t *which)
{
    const struct ptx_instruction *instruction = &choosing->function->instructions[at];
    uint32_t found = 0;
    switch ((int)instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_MAD:
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        break;
    default:
        return false;
    }
    if (instruction->guard >= 0 || !is_register(&instruction->operands[0]) ||
        ptx_has_modifier(instruction, PTX_MOD_CC))
        return false;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        const struct ptx_operand *operand = &instruction->operands[i];
        if (!is_register(operand) && operand->kind != PTX_OPERAND_INTEGER) return false;
        if (!is_register(operand) || !has_copies(choosing, ssa_use(choosing->ssa, at, operand->reg)))
            continue;
        if (found) return false;
        found = i;
    }
    *which = found;
    return found && (instruction->opcode != PTX_OP_MAD || found == 3);
}

static uint32_t value_defined(const struct choosing *choosing, uint32_t at)
{
    const struct ssa_list *definitions = &choosing->ssa->definitions[at];
    return definitions->count == 1 ? definitions->items[0].value : SSA_NO_VALUE;
}

static bool is_access(const struct choosing *choosing, uint32_t at)
{
    const struct ptx_instruction *instruction = &choosing->function->instructions[at];
    if (!ptx_is_load(instruction) && !ptx_is_store(instruction) && !ptx_is_atomic(instruction)) return false;
    const struct ptx_operand *address = ptx_address_operand(instruction);
    return address && address->kind == PTX_OPERAND_ADDRESS && address->reg >= 0 && instruction->guard < 0 &&
           (instruction->space == PTX_GLOBAL || instruction->space == PTX_GENERIC) &&
           !choosing->is_replaced[at] && has_copies(choosing, ssa_use(choosing->ssa, at, address->reg));
}

/* Marks the addresses that are made of the pointer, and counts what is accessed by them. */
static uint32_t follow(struct choosing *choosing)
{
    const struct ssa *ssa = choosing->ssa;
    uint32_t accesses = 0, which;
    for (bool has_more = true; has_more && !choosing->has_failed;) {
        has_more = false;
        accesses = 0;
        for (uint32_t b = 0; b < ssa->dominators->order_count; b++) {
            const struct ptx_block *block = &ssa->dominators->cfg->blocks[ssa->dominators->order[b]];
            for (uint32_t at = block->first; at < block->first + block->count; at++) {
                uint32_t value = value_defined(choosing, at);
                accesses += is_access(choosing, at);
                if (value == SSA_NO_VALUE || has_copies(choosing, value) ||
                    !is_address_step(choosing, at, &which))
                    continue;
                make_copies(choosing, value);
                has_more = true;
            }
        }
    }
    return accesses;
}

static void copy_step(struct choosing *choosing, uint32_t at, uint32_t which)
{
    const struct ptx_instruction *instruction = &choosing->function->instructions[at];
    uint32_t value = value_defined(choosing, at),
             from = ssa_use(choosing->ssa, at, instruction->operands[which].reg);
    struct ptx_operand operands[8];
    if (instruction->operand_count > sizeof operands / sizeof *operands) return;
    memcpy(operands, instruction->operands, instruction->operand_count * sizeof *operands);
    for (uint32_t i = 0; i < choosing->load_count; i++) {
        operands[0] = of_register(copy_of(choosing, value, i));
        operands[which] = of_register(copy_of(choosing, from, i));
        /* before it: what it reads may be in the register that it writes */
        insert(choosing, at, false, *instruction, operands, instruction->operand_count);
    }
}

static void copy_access(struct choosing *choosing, uint32_t at)
{
    struct ptx_instruction instruction = choosing->function->instructions[at];
    const struct ptx_operand *address = ptx_address_operand(&choosing->function->instructions[at]);
    uint32_t place = (uint32_t)(address - instruction.operands),
             value = ssa_use(choosing->ssa, at, address->reg);
    struct ptx_operand operands[8];
    if (instruction.operand_count > sizeof operands / sizeof *operands) return;
    memcpy(operands, instruction.operands, instruction.operand_count * sizeof *operands);
    for (uint32_t i = 0; i < choosing->load_count; i++) {
        operands[place].reg = copy_of(choosing, value, i);
        instruction.guard = choosing->guards[i];
        insert(choosing, at, false, instruction, operands, instruction.operand_count);
    }
    choosing->is_replaced[at] = true;
}

/* The conversion that the addresses have had before they met. */
static const struct ptx_instruction *conversion(const struct choosing *choosing)
{
    for (uint32_t i = 0; choosing->to_global && i < choosing->function->instruction_count; i++)
        if (is_to_global(&choosing->function->instructions[i])) return &choosing->function->instructions[i];
    return NULL;
}

/* The numbers' predicates and the arrays' addresses, where the value is there. */
static void begin_arrays(struct choosing *choosing, uint32_t value, struct ptx_operand which)
{
    const struct ssa_value *definition = &choosing->ssa->values[value];
    const struct ptx_instruction *converts = conversion(choosing);
    bool is_phi = definition->kind == SSA_PHI;
    uint32_t at =
        is_phi ? choosing->ssa->dominators->cfg->blocks[definition->block].first : definition->instruction;
    for (uint32_t i = 0; i < choosing->load_count; i++) {
        const struct ptx_instruction *load = &choosing->function->instructions[choosing->loads[i]];
        struct ptx_operand address = of_register(copy_of(choosing, value, i));
        choosing->guards[i] = add_register(choosing, PTX_PRED);
        insert_new(choosing, at, !is_phi, PTX_OP_SETP,
                   (struct ptx_operand[]){of_register(choosing->guards[i]), which, of_number(i)}, 3);
        insert(choosing, at, !is_phi, *load, (struct ptx_operand[]){address, load->operands[1]}, 2);
        if (converts) insert(choosing, at, !is_phi, *converts, (struct ptx_operand[]){address, address}, 2);
    }
}

static void choose(struct choosing *choosing, uint32_t value)
{
    const struct dominators *dominators = choosing->ssa->dominators;
    uint32_t which, registers = choosing->register_count;
    choosing->load_count = choosing->room_count = 0;
    if (!find_arrays(choosing, value, false, 0) || choosing->load_count < 2) return;
    memset(choosing->copies, 0, choosing->ssa->value_count * sizeof *choosing->copies);
    make_copies(choosing, value);
    uint32_t accesses = follow(choosing);
    if (!accesses || accesses * choosing->load_count > MOST_ACCESSES) choosing->register_count = registers;
    if (choosing->register_count == registers || choosing->has_failed) return;
    begin_arrays(choosing, value, tell_which(choosing, value));
    for (uint32_t b = 0; b < dominators->order_count; b++) {
        const struct ptx_block *block = &dominators->cfg->blocks[dominators->order[b]];
        for (uint32_t at = block->first; at < block->first + block->count; at++) {
            uint32_t defined = value_defined(choosing, at);
            if (is_access(choosing, at))
                copy_access(choosing, at);
            else if (defined != value && has_copies(choosing, defined) &&
                     is_address_step(choosing, at, &which))
                copy_step(choosing, at, which);
        }
    }
}

/* --- the function ------------------------------------------------------------------------------------------- */

static int compare_insertions(const void *a, const void *b)
{
    const struct insertion *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Labels stand before what stands before their instruction. */
static bool rebuild(struct choosing *choosing, struct ptx_function *copy)
{
    const struct ptx_function *function = choosing->function;
    uint32_t count = 0, next = 0, total = function->instruction_count + choosing->insertion_count;
    copy->instructions = arena_calloc(choosing->arena, total + 1, sizeof *copy->instructions);
    copy->labels = arena_calloc(choosing->arena, function->label_count + 1, sizeof *copy->labels);
    uint32_t *places = arena_calloc(choosing->arena, function->instruction_count + 1, sizeof *places);
    if (!copy->instructions || !copy->labels || !places) return false;
    qsort(choosing->insertions, choosing->insertion_count, sizeof *choosing->insertions, compare_insertions);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        places[i] = count;
        while (next < choosing->insertion_count && choosing->insertions[next].at == 2 * i)
            copy->instructions[count++] = choosing->insertions[next++].instruction;
        if (!choosing->is_replaced[i]) copy->instructions[count++] = function->instructions[i];
        while (next < choosing->insertion_count && choosing->insertions[next].at == 2 * i + 1)
            copy->instructions[count++] = choosing->insertions[next++].instruction;
    }
    places[function->instruction_count] = count;
    for (uint32_t i = 0; i < function->label_count; i++)
        copy->labels[i] =
            (struct ptx_label){function->labels[i].name, places[function->labels[i].instruction]};
    copy->instruction_count = count;
    copy->registers = choosing->registers;
    copy->register_count = choosing->register_count;
    return true;
}

/* Hardly any kernel has a pointer that is chosen: what has no phi or selection of 8 bytes has none. */
static bool may_choose(const struct choosing *choosing, uint32_t value)
{
    const struct ssa_value *definition = &choosing->ssa->values[value];
    if (definition->kind == SSA_UNDEFINED || definition->reg < 0 ||
        ptx_type_bytes(choosing->function->registers[definition->reg].type) != 8)
        return false;
    const struct ptx_instruction *instruction = instruction_of(choosing, value);
    return instruction ? is_selection(instruction) : definition->kind == SSA_PHI;
}

const struct ptx_function *chosen_arrays_split(struct arena *arena, const struct ptx_function *function)
{
    const char *reason = NULL;
    struct choosing *choosing = arena_calloc(arena, 1, sizeof *choosing);
    struct ptx_cfg *cfg =
        choosing && function->instruction_count ? ptx_cfg_build(arena, function, &reason) : NULL;
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    const struct ssa *ssa = dominators ? ssa_build(arena, dominators) : NULL;
    if (!ssa) return function;
    *choosing = (struct choosing){.arena = arena, .function = function, .ssa = ssa};
    choosing->registers = function->registers;
    choosing->register_count = choosing->register_capacity = function->register_count;
    choosing->is_replaced =
        arena_calloc(arena, function->instruction_count + 1, sizeof *choosing->is_replaced);
    choosing->copies = arena_calloc(arena, ssa->value_count + 1, sizeof *choosing->copies);
    if (!choosing->is_replaced || !choosing->copies) return function;
    for (uint32_t v = 1; v < ssa->value_count; v++)
        if (may_choose(choosing, v)) choose(choosing, v);
    struct ptx_function *copy = choosing->insertion_count ? arena_alloc(arena, sizeof *copy) : NULL;
    if (!copy || choosing->has_failed) return function;
    *copy = *function;
    return rebuild(choosing, copy) ? copy : function;
}
