/* SPDX-License-Identifier: Apache-2.0
 * Flow-insensitive: a register stands for all of its definitions, which errs on the safe side. */
#include "fuser/analysis/product.h"

#include <stdlib.h>

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
