/* SPDX-License-Identifier: Apache-2.0
 * Flow-insensitive: a register stands for all of its definitions, which errs on the safe side. */
#include "fuser/kernel/product.h"

#include <stdlib.h>
#include <string.h>

/* True when a register was not marked before. */
static bool mark_operand(const struct ptx_operand *operand, bool *registers)
{
    bool is_new = false;
    if (operand->reg >= 0 && operand->kind == PTX_OPERAND_REGISTER) {
        is_new = !registers[operand->reg];
        registers[operand->reg] = true;
    }
    for (uint32_t i = 0; i < operand->element_count; i++)
        is_new |= mark_operand(&operand->elements[i], registers);
    return is_new;
}

static bool touches(const struct ptx_operand *operand, const bool *registers)
{
    if ((operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS) &&
        operand->reg >= 0 && registers[operand->reg])
        return true;
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (touches(&operand->elements[i], registers)) return true;
    return false;
}

static bool has_destination(const struct ptx_instruction *instruction)
{
    return instruction->operand_count && ptx_opcode_info(instruction->opcode)->has_destination;
}

static bool writes_any(const struct ptx_instruction *instruction, const bool *registers)
{
    return has_destination(instruction) && touches(&instruction->operands[0], registers);
}

static bool reads_any(const struct ptx_instruction *instruction, const bool *registers, uint32_t first)
{
    for (uint32_t i = first; i < instruction->operand_count; i++)
        if (touches(&instruction->operands[i], registers)) return true;
    return false;
}

/* The result holds the bits, or the negated or chosen bits, of an operand. */
static bool passes_value(const struct ptx_instruction *instruction)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_MOV:
    case PTX_OP_NEG:
    case PTX_OP_ABS:
    case PTX_OP_SELP:
    case PTX_OP_SLCT:
    case PTX_OP_COPYSIGN:
        return true;
    }
    return false;
}

static bool has_float_type(const struct ptx_instruction *instruction)
{
    return instruction->type_count && ptx_type_is_float(instruction->types[0]);
}

static bool is_rounded(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_RN) || ptx_has_modifier(instruction, PTX_MOD_RZ) ||
           ptx_has_modifier(instruction, PTX_MOD_RM) || ptx_has_modifier(instruction, PTX_MOD_RP);
}

/* A product that ptxas is free to contract. Fast divisions end in one that no modifier rounds. */
static bool is_fast_division(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_DIV && has_float_type(instruction) && !is_rounded(instruction);
}

static bool is_product(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_MUL && has_float_type(instruction) && !is_rounded(instruction);
}

/* Marks every register that the value may come from; products[i] for each product among their definitions. */
static enum product_state find_sources(const struct ptx_function *function, bool *sources, bool *products)
{
    bool any = false;
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *instruction = &function->instructions[i];
            if (products[i] || !writes_any(instruction, sources)) continue;
            if (is_fast_division(instruction) || instruction->opcode == PTX_OP_CALL ||
                instruction->opcode == PTX_OP_UNKNOWN)
                return PRODUCT_BLOCKED;
            if (is_product(instruction)) {
                products[i] = any = grown = true;
            } else if (passes_value(instruction)) {
                for (uint32_t k = 1; k < instruction->operand_count; k++)
                    grown |= mark_operand(&instruction->operands[k], sources);
            }
        }
    }
    return any ? PRODUCT_ROUND : PRODUCT_NONE;
}

/* Every use of the products, through moves and the like, is the value of a store. */
static bool only_stored(const struct ptx_function *function, const bool *products, bool *derived)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (products[i]) mark_operand(&function->instructions[i].operands[0], derived);
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *instruction = &function->instructions[i];
            bool is_store = ptx_is_store(instruction) &&
                            (instruction->space == PTX_GLOBAL || instruction->space == PTX_GENERIC);
            if (!reads_any(instruction, derived, has_destination(instruction) ? 1 : 0)) continue;
            if (is_store && !touches(&instruction->operands[0], derived)) continue;
            if (!passes_value(instruction)) return false;
            grown |= mark_operand(&instruction->operands[0], derived);
        }
    }
    return true;
}

enum product_state product_of_store(const struct ptx_function *function, uint32_t store, bool *round)
{
    const struct ptx_instruction *instruction = &function->instructions[store];
    if (instruction->operand_count < 2) return PRODUCT_BLOCKED;
    bool *sources = calloc(function->register_count + 1, 1),
         *derived = calloc(function->register_count + 1, 1);
    bool *products = calloc(function->instruction_count + 1, 1);
    enum product_state state = PRODUCT_BLOCKED;
    if (sources && derived && products) {
        mark_operand(&instruction->operands[1], sources);
        state = find_sources(function, sources, products);
        if (state == PRODUCT_ROUND && !only_stored(function, products, derived)) state = PRODUCT_BLOCKED;
        for (uint32_t i = 0; round && state == PRODUCT_ROUND && i < function->instruction_count; i++)
            if (products[i]) round[i] = true;
    }
    free(sources);
    free(derived);
    free(products);
    return state;
}

/* A new value, or none: products end here. Selections and bit operations pass them on; so do conversions
 * between floating-point types. */
static bool computes_value(const struct ptx_instruction *instruction)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_FMA:
    case PTX_OP_MAD:
    case PTX_OP_DIV:
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
        return has_float_type(instruction);
    case PTX_OP_SETP:
    case PTX_OP_SET:
    case PTX_OP_TESTP:
        return true;
    case PTX_OP_CVT:
        return instruction->type_count == 2 &&
               ptx_type_is_float(instruction->types[0]) != ptx_type_is_float(instruction->types[1]);
    }
    return false;
}

/* These are one instruction of the device, the same for every compiler unless it knows the operand; the
 * others are expanded. */
static bool is_hardware_function(const struct ptx_instruction *instruction)
{
    if (instruction->types[0] != PTX_F32 && instruction->types[0] != PTX_F64) return false;
    switch ((int)instruction->opcode) {
    case PTX_OP_RCP:
    case PTX_OP_RSQRT:
    case PTX_OP_EX2:
    case PTX_OP_LG2:
        return ptx_has_modifier(instruction, PTX_MOD_FTZ);
    case PTX_OP_TANH:
        return true;
    }
    return false;
}

bool product_is_approximate(const struct ptx_instruction *instruction)
{
    return has_float_type(instruction) &&
           (ptx_has_modifier(instruction, PTX_MOD_APPROX) || ptx_has_modifier(instruction, PTX_MOD_FULL));
}

static bool is_expansion(const struct ptx_instruction *instruction)
{
    if (!has_float_type(instruction)) return false;
    return (product_is_approximate(instruction) && !is_hardware_function(instruction)) ||
           is_fast_division(instruction);
}

static bool is_sum(const struct ptx_instruction *instruction)
{
    return (instruction->opcode == PTX_OP_ADD || instruction->opcode == PTX_OP_SUB) &&
           has_float_type(instruction) && !is_rounded(instruction);
}

bool product_may_contract(const struct ptx_instruction *instruction)
{
    return is_product(instruction) || is_sum(instruction);
}

/* The last instruction from which control may go back: what stands before it may run again after it. */
static uint32_t last_backward_branch(const struct ptx_function *function)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (ptx_is_branch(&function->instructions[i])) {
            const struct ptx_instruction *branch = &function->instructions[i];
            for (uint32_t k = 0; k < branch->operand_count; k++) {
                int32_t label = branch->operands[k].label;
                bool is_known = branch->operands[k].kind == PTX_OPERAND_LABEL && label >= 0;
                if (!is_known || function->labels[label].instruction <= i) last = i;
            }
        }
    return last;
}

/* Marks all that may hold the value of one product; the first sum that it reaches. */
static uint32_t follow_product(const struct ptx_function *function, uint32_t product, uint32_t last_branch,
                               bool *holds)
{
    uint32_t stored = PRODUCT_NOWHERE; /* the first instruction that may put it into memory */
    mark_operand(&function->instructions[product].operands[0], holds);
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *instruction = &function->instructions[i];
            uint32_t first = has_destination(instruction) ? 1 : 0;
            bool reads = reads_any(instruction, holds, first);
            if (reads && is_sum(instruction)) return i;
            enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
            bool is_memory = class == PTX_CLASS_MEMORY || class == PTX_CLASS_ATOMIC;
            if (reads && is_memory && !ptx_is_load(instruction) && i < stored) {
                stored = i;
                grown = true;
            }
            if (is_memory && first)
                reads |= stored != PRODUCT_NOWHERE && (i > stored || last_branch >= stored);
            if (reads && first && !computes_value(instruction))
                grown |= mark_operand(&instruction->operands[0], holds);
        }
    }
    return PRODUCT_NOWHERE;
}

bool product_find_choice(const struct ptx_function *function, struct product_choice *choice)
{
    bool *holds = malloc(function->register_count + 1);
    uint32_t last_branch = last_backward_branch(function);
    *choice = (struct product_choice){PRODUCT_NOWHERE, PRODUCT_NOWHERE, PRODUCT_NOWHERE};
    bool followed = holds;
    for (uint32_t i = 0; followed && i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->opcode == PTX_OP_CALL || instruction->opcode == PTX_OP_UNKNOWN) followed = false;
        if (is_expansion(instruction) && choice->expansion == PRODUCT_NOWHERE) choice->expansion = i;
        if (!is_product(instruction) || choice->sum != PRODUCT_NOWHERE) continue;
        memset(holds, 0, function->register_count + 1);
        choice->sum = follow_product(function, i, last_branch, holds);
        choice->product = choice->sum == PRODUCT_NOWHERE ? PRODUCT_NOWHERE : i;
    }
    free(holds);
    return followed;
}
