/* SPDX-License-Identifier: Apache-2.0
 * See exactness_copy.h. An instruction of the function that the copy lacks stands for nothing, or is another turn of one that it has:
 * then both compute the same of the same, by all that is seen of their operands. */
#include "fuser/planner/exactness_copy.h"

#include "common/hash.h"
#include "fuser/kernel/product.h"
#include "fuser/kernel/ssa.h"

#include <string.h>

enum { SEEN_DEPTH = 4 };

/* PRODUCT_NOWHERE: this one is not in the function. */
static uint32_t find_in(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].text.text == instruction->text.text) return i;
    return PRODUCT_NOWHERE;
}

/* Where an instruction of the copy comes from. */
struct origin {
    const struct ptx_function *function; /* NULL: from none of them */
    uint32_t index;
    const struct contraction *contractions; /* the function's */
};

static struct origin find_origin(const struct callees *callees, const struct contraction *contractions,
                                 const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < callees->count; i++) {
        const struct ptx_function *function = callees->functions[i];
        uint32_t index = find_in(function, instruction);
        if (index != PRODUCT_NOWHERE)
            return (struct origin){function, index, contractions + callees_first(callees, i)};
    }
    return (struct origin){0};
}

/* The product that goes into a sum of the copy, among several of a function that is called more than once: what the sum adds is its
 * result. PRODUCT_NOWHERE: there is none, or another instruction writes there, too. */
static uint32_t find_product(const struct ptx_function *copy, const struct ptx_instruction *original,
                             const struct ptx_operand *summand)
{
    uint32_t found = PRODUCT_NOWHERE;
    for (uint32_t i = 0; i < copy->instruction_count; i++) {
        const struct ptx_instruction *instruction = &copy->instructions[i];
        const struct ptx_operand *to = instruction->operands;
        if (!instruction->operand_count || !ptx_opcode_info(instruction->opcode)->has_destination ||
            to->kind != PTX_OPERAND_REGISTER || to->reg != summand->reg)
            continue;
        if (found != PRODUCT_NOWHERE || instruction->text.text != original->text.text) return PRODUCT_NOWHERE;
        found = i;
    }
    return found;
}

/* Whether a product may reach a sum, once some have no choice any more, or the compiler expands something. */
static bool leaves_choice(struct arena *arena, const struct ptx_function *function, const bool *recovered)
{
    struct product_choice choice;
    struct ptx_function rounded = *function;
    size_t size = function->instruction_count * sizeof *function->instructions;
    rounded.instructions = arena_alloc(arena, size + 1);
    if (!rounded.instructions) return true;
    memcpy(rounded.instructions, function->instructions, size);
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (recovered[i])
            rounded.instructions[i].modifiers[PTX_MOD_RN / 64] |= UINT64_C(1) << PTX_MOD_RN % 64;
    return !product_find_choice(&rounded, &choice) || choice.sum != PRODUCT_NOWHERE ||
           choice.expansion != PRODUCT_NOWHERE;
}

/* --- instructions that compute alike --- */

static struct hash128 mix(struct hash128 hash, const void *data, size_t size)
{
    struct hash128 own = hash_bytes(data, size);
    uint64_t words[4] = {hash.low, hash.high, own.low, own.high};
    return hash_bytes(words, sizeof words);
}

/* What is seen of the value that an instruction computes: operations on operations, down to loads, numbers and what ways bring. */
static struct hash128 see(const struct ssa *ssa, uint32_t instruction, unsigned depth)
{
    const struct ptx_function *function = ssa->dominators->cfg->function;
    const struct ptx_instruction *own = &function->instructions[instruction];
    struct hash128 hash = hash_bytes(own->mnemonic.text, own->mnemonic.length);
    if (!depth || ptx_is_load(own)) return hash;
    for (uint32_t k = 1; k < own->operand_count; k++) {
        const struct ptx_operand *operand = &own->operands[k];
        uint64_t is[2] = {operand->kind, operand->is_negated};
        hash = mix(hash, is, sizeof is);
        if (operand->kind == PTX_OPERAND_FLOAT || operand->kind == PTX_OPERAND_INTEGER)
            hash = mix(hash, &operand->value, sizeof operand->value);
        if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0) continue;
        const struct ssa_value *value = &ssa->values[ssa_use(ssa, instruction, operand->reg)];
        struct hash128 of = {0, value->kind};
        if (value->kind == SSA_DEFINITION) of = see(ssa, value->instruction, depth - 1);
        hash = mix(hash, &of, sizeof of);
    }
    return hash;
}

static bool is_same(const struct contraction *a, const struct contraction *b)
{
    return a->round == b->round && a->summand == b->summand && a->negated == b->negated;
}

struct seen {
    struct hash128 hash;
    uint32_t instruction;
};

/* All that compute alike are contracted alike. */
static bool are_alike(const struct ssa *ssa, const struct contraction *contractions, struct seen *seen)
{
    const struct ptx_function *function = ssa->dominators->cfg->function;
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!product_may_contract(&function->instructions[i]) ||
            !dominators_is_reachable(ssa->dominators, ssa->dominators->cfg->block_of[i]))
            continue;
        seen[count] = (struct seen){see(ssa, i, SEEN_DEPTH), i};
        for (uint32_t k = 0; k < count; k++)
            if (hash_equal(seen[k].hash, seen[count].hash) &&
                !is_same(&contractions[i], &contractions[seen[k].instruction]))
                return false;
        count++;
    }
    return true;
}

/* Some product or sum of the function is not in the copy. */
static bool lacks_any(const struct ptx_function *function, const struct ptx_function *copy)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (product_may_contract(&function->instructions[i]) &&
            find_in(copy, &function->instructions[i]) == PRODUCT_NOWHERE)
            return true;
    return false;
}

static bool is_told(struct arena *arena, const struct ptx_function *function,
                    const struct contraction *contractions, const struct ptx_function *copy)
{
    const char *reason = NULL;
    if (!lacks_any(function, copy)) return true;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    const struct ssa *ssa = dominators ? ssa_build(arena, dominators) : NULL;
    struct seen *seen = arena_calloc(arena, function->instruction_count + 1, sizeof *seen);
    return ssa && seen && are_alike(ssa, contractions, seen);
}

/* What the origin's code does, of the copy's instruction. False where that cannot be told. */
static bool tell(const struct origin *origin, const struct ptx_function *copy, uint32_t index,
                 struct contraction *own)
{
    const struct ptx_instruction *instruction = &copy->instructions[index];
    if (!origin->function) return instruction->opcode != PTX_OP_MUL;
    if (origin->function->instructions[origin->index].opcode != instruction->opcode) return false;
    *own = origin->contractions[origin->index];
    if (!own->summand) return true;
    own->product = find_product(copy, &origin->function->instructions[own->product],
                                &instruction->operands[own->summand]);
    return own->product != PRODUCT_NOWHERE;
}

const struct contraction *exactness_copy(struct arena *arena, const struct callees *callees,
                                         const struct contraction *contractions,
                                         const struct ptx_function *copy)
{
    struct contraction *own = arena_calloc(arena, copy->instruction_count + 1, sizeof *own);
    bool *is_recovered = arena_calloc(arena, copy->instruction_count + 1, sizeof *is_recovered);
    if (!contractions || !own || !is_recovered) return NULL;
    for (uint32_t i = 0; i < callees->count; i++)
        if (!is_told(arena, callees->functions[i], contractions + callees_first(callees, i), copy))
            return NULL;
    for (uint32_t i = 0; i < copy->instruction_count; i++) {
        if (!product_may_contract(&copy->instructions[i])) continue;
        struct origin origin = find_origin(callees, contractions, &copy->instructions[i]);
        if (!tell(&origin, copy, i, &own[i])) return NULL;
        is_recovered[i] = origin.function && (own[i].round || copy->instructions[i].opcode != PTX_OP_MUL);
    }
    return leaves_choice(arena, copy, is_recovered) ? NULL : own;
}
