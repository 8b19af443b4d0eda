/* SPDX-License-Identifier: Apache-2.0
 * Guesses what assemblers do, each sum with a product in it contracted, and looks at the code. Where no guess
 * is right, each candidate is tried alone, all forms in one compilation; then those that changed nothing
 * together. */
#include "fuser/codegen/recover.h"

#include "fuser/codegen/machine_code.h"
#include "fuser/codegen/reference.h"
#include "fuser/kernel/product.h"

#include <string.h>

enum { MOST_FORMS = 64 };

/* An instruction of one of the functions. */
struct place {
    const struct ptx_function *function;
    uint32_t first; /* entry of the function's first instruction */
    const uint32_t *
        definitions; /* a register of the function: the only instruction that writes it, or PRODUCT_NOWHERE */
};

struct recovery {
    const struct compiler *compiler;
    struct arena *arena;
    const struct callees *callees;
    const struct cubin *loaded;
    uint32_t sm, max_registers;
    struct place *places; /* by entry of a form */
    const struct contraction *forms[MOST_FORMS];
    uint32_t form_count;
};

/* --- forms: the kernel with these choices --- */

static struct contraction *new_form(const struct recovery *recovery, const struct contraction *like)
{
    size_t count = recovery->callees->instruction_count + 1;
    struct contraction *form = arena_calloc(recovery->arena, count, sizeof *form);
    if (form && like) memcpy(form, like, count * sizeof *form);
    return form;
}

static bool add_form(struct recovery *recovery, const struct contraction *form)
{
    if (!form || recovery->form_count == MOST_FORMS) return false;
    recovery->forms[recovery->form_count++] = form;
    return true;
}

/* Compiles the forms and forgets them; same[i]: the code of form i is the loaded one; counts, unless NULL: of all its code. */
static bool try_forms(struct recovery *recovery, bool *same, struct machine_code_counts *counts)
{
    struct nvrtc_output output;
    struct cubin ours;
    uint32_t count = recovery->form_count;
    recovery->form_count = 0;
    if (!count) return true;
    const struct ptx_function *kernel = recovery->callees->functions[0];
    reference_compile_forms(recovery->compiler, recovery->arena, recovery->callees, recovery->forms, count,
                            recovery->sm, recovery->max_registers, &output);
    if (output.error || !cubin_open(&ours, output.cubin, output.cubin_size)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = reference_form_name(recovery->arena, kernel, i);
        same[i] = name && !cubin_difference(recovery->arena, recovery->loaded, kernel->name, &ours, name);
        if (counts && (!name || !machine_code_count_all(output.cubin, output.cubin_size, name, &counts[i]) ||
                       counts[i].unknown))
            return false;
    }
    return true;
}

/* --- sums with a product in them --- */

static void note_definition(uint32_t *definitions, const struct ptx_operand *operand, uint32_t instruction)
{
    if (operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0) {
        uint32_t *definition = &definitions[operand->reg];
        *definition = *definition == UINT32_MAX - 1 ? instruction : PRODUCT_NOWHERE;
    }
    for (uint32_t i = 0; i < operand->element_count; i++)
        note_definition(definitions, &operand->elements[i], instruction);
}

static const uint32_t *definitions_of(struct arena *arena, const struct ptx_function *function)
{
    uint32_t *definitions = arena_calloc(arena, function->register_count + 1, sizeof *definitions);
    if (!definitions) return NULL;
    for (uint32_t r = 0; r < function->register_count; r++) definitions[r] = UINT32_MAX - 1;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->operand_count && ptx_opcode_info(instruction->opcode)->has_destination)
            note_definition(definitions, &instruction->operands[0], i);
    }
    return definitions;
}

static bool find_places(struct recovery *recovery)
{
    const struct callees *callees = recovery->callees;
    uint32_t entry = 0;
    recovery->places =
        arena_calloc(recovery->arena, callees->instruction_count + 1, sizeof *recovery->places);
    for (uint32_t f = 0; recovery->places && f < callees->count; f++) {
        const struct ptx_function *function = callees->functions[f];
        struct place place = {function, entry, definitions_of(recovery->arena, function)};
        if (!place.definitions) return false;
        for (uint32_t i = 0; i < function->instruction_count; i++) recovery->places[entry++] = place;
    }
    return recovery->places;
}

static const struct ptx_instruction *instruction_of(const struct recovery *recovery, uint32_t entry)
{
    const struct place *place = &recovery->places[entry];
    return &place->function->instructions[entry - place->first];
}

static bool is_free_sum(const struct ptx_instruction *instruction)
{
    return product_may_contract(instruction) && instruction->opcode != PTX_OP_MUL;
}

/* Contracts the product that is this operand of the sum, if it is one. other_factor: where a sign has to
 * change, it is the second factor's. The code is compared, so a product whose factors have changed meanwhile
 * does no harm. */
static bool contract(const struct recovery *recovery, uint32_t sum, uint8_t summand, bool other_factor,
                     struct contraction *form)
{
    const struct place *place = &recovery->places[sum];
    const struct ptx_instruction *instruction = instruction_of(recovery, sum);
    if (instruction->operand_count != 3) return false;
    const struct ptx_operand *operand = &instruction->operands[summand];
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0) return false;
    uint32_t product = place->definitions[operand->reg];
    if (product >= place->function->instruction_count) return false;
    const struct ptx_instruction *factors = &place->function->instructions[product];
    if (factors->opcode != PTX_OP_MUL || !product_may_contract(factors) ||
        !contraction_fits(factors, instruction))
        return false;
    uint8_t negated = 0;
    if (instruction->opcode == PTX_OP_SUB) negated = summand == 1 ? 3 : 1 + other_factor;
    form[sum] = (struct contraction){.summand = summand, .negated = negated, .product = product};
    return true;
}

/* --- the whole kernel at once --- */

/* Every sum with a product in it is contracted, by this operand (0: none is) or else the other; all else is
 * rounded. */
static struct contraction *guess(const struct recovery *recovery, uint8_t preferred, bool other_factor)
{
    struct contraction *form = new_form(recovery, NULL);
    for (uint32_t i = 0; form && i < recovery->callees->instruction_count; i++) {
        const struct ptx_instruction *instruction = instruction_of(recovery, i);
        if (!product_may_contract(instruction)) continue;
        bool is_contracted = preferred && is_free_sum(instruction) &&
                             (contract(recovery, i, preferred, other_factor, form) ||
                              contract(recovery, i, 3 - preferred, other_factor, form));
        form[i].round = !is_contracted;
    }
    return form;
}

static bool is_known(const struct recovery *recovery, const struct contraction *form)
{
    for (uint32_t i = 0; i < recovery->form_count; i++)
        if (!memcmp(recovery->forms[i], form, recovery->callees->instruction_count * sizeof *form))
            return true;
    return false;
}

static const struct contraction *guess_whole(struct recovery *recovery)
{
    static const struct {
        uint8_t preferred;
        bool other_factor;
    } guesses[] = {{1, false}, {2, false}, {1, true}, {2, true}, {0, false}};
    enum { GUESSES = sizeof guesses / sizeof guesses[0] };
    const struct contraction *forms[GUESSES];
    bool same[GUESSES] = {false};
    for (uint32_t i = 0; i < GUESSES; i++) {
        const struct contraction *form = guess(recovery, guesses[i].preferred, guesses[i].other_factor);
        if (form && is_known(recovery, form)) continue;
        forms[recovery->form_count] = form;
        if (!add_form(recovery, form)) return NULL;
    }
    uint32_t count = recovery->form_count;
    if (!try_forms(recovery, same, NULL)) return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (same[i]) return forms[i];
    return NULL;
}

/* --- one by one --- */

/* Each product and sum rounded alone, then together those that changed nothing. */
static const struct contraction *round_apart(struct recovery *recovery)
{
    uint32_t candidates[MOST_FORMS], count = 0, recovered = 0;
    bool same[MOST_FORMS];
    struct contraction *together = new_form(recovery, NULL);
    for (uint32_t i = 0; together && i < recovery->callees->instruction_count; i++) {
        if (!product_may_contract(instruction_of(recovery, i))) continue;
        struct contraction *alone = new_form(recovery, NULL);
        if (!add_form(recovery, alone)) return NULL;
        alone[i].round = true;
        candidates[count++] = i;
    }
    if (!together || !try_forms(recovery, same, NULL)) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        together[candidates[i]].round = same[i];
        recovered += same[i];
    }
    if (recovered < 2) return together;
    return add_form(recovery, together) && try_forms(recovery, same, NULL) && same[0] ? together : NULL;
}

/* Every sum that rounded leaves free, with each product that may be contracted into it; the first form that
 * changes nothing goes into whole. False when there is none for a sum. */
static bool contract_apart(struct recovery *recovery, const struct contraction *rounded,
                           struct contraction *whole)
{
    uint32_t sums[MOST_FORMS], count = 0;
    bool same[MOST_FORMS];
    const struct contraction *forms[MOST_FORMS];
    for (uint32_t i = 0; i < recovery->callees->instruction_count; i++) {
        if (!is_free_sum(instruction_of(recovery, i)) || rounded[i].round) continue;
        for (int choice = 0; choice < 4; choice++) {
            struct contraction *alone = new_form(recovery, rounded);
            if (!alone) return false;
            if (!contract(recovery, i, 1 + choice / 2, choice % 2, alone)) continue;
            if (choice % 2 && alone[i].negated != 2) continue; /* as with the first factor */
            if (count == MOST_FORMS || !add_form(recovery, alone)) return false;
            sums[count] = i;
            forms[count++] = alone;
        }
    }
    if (!try_forms(recovery, same, NULL)) return false;
    for (uint32_t k = 0; k < count; k++)
        if (same[k] && !whole[sums[k]].summand) whole[sums[k]] = forms[k][sums[k]];
    for (uint32_t i = 0; i < recovery->callees->instruction_count; i++) {
        const struct ptx_instruction *instruction = instruction_of(recovery, i);
        if (!product_may_contract(instruction) || rounded[i].round) continue;
        if (is_free_sum(instruction) && !whole[i].summand) return false;
        whole[i].round = !whole[i].summand;
    }
    return true;
}

/* NULL: what is free then is not found, or is another code. */
static const struct contraction *contract_whole(struct recovery *recovery, const struct contraction *rounded)
{
    bool same = false;
    struct contraction *whole = new_form(recovery, rounded);
    recovery->form_count = 0;
    if (!whole || !contract_apart(recovery, rounded, whole)) return NULL;
    recovery->form_count = 0;
    return add_form(recovery, whole) && try_forms(recovery, &same, NULL) && same ? whole : NULL;
}

/* --- by counts --- */

/* In which operands of a free sum a product may be contracted: bits 1 and 2. */
static unsigned products_of(const struct recovery *recovery, uint32_t entry, struct contraction *scratch)
{
    if (!is_free_sum(instruction_of(recovery, entry))) return 0;
    unsigned operands = 0;
    for (uint8_t k = 1; k <= 2; k++) operands |= contract(recovery, entry, k, false, scratch) ? 1u << k : 0;
    return operands;
}

/* Counts do not see which product it is, nor with what factors. So that it can be no other: */

static bool is_parameter(const struct ptx_function *function, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (&function->parameters[i] == variable) return true;
    return false;
}

/* No product that the assembler could contract, however it gets there. */
static bool is_no_product(const struct place *place, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_FLOAT) return true;
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0) return false;
    uint32_t definition = place->definitions[operand->reg];
    if (definition >= place->function->instruction_count) return false;
    const struct ptx_instruction *instruction = &place->function->instructions[definition];
    switch ((int)instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_FMA:
        return true;
    case PTX_OP_MOV:
        return instruction->operands[1].kind == PTX_OPERAND_FLOAT;
    case PTX_OP_MUL:
    case PTX_OP_DIV:
        return ptx_has_modifier(instruction, PTX_MOD_RN);
    case PTX_OP_LD:
        return instruction->space == PTX_GLOBAL || instruction->space == PTX_CONST ||
               (instruction->space == PTX_PARAM && place->function->is_entry &&
                is_parameter(place->function, instruction->operands[1].variable));
    }
    return false;
}

/* The block lies within a jump back, or what is there is not known. */
static bool may_repeat(const struct ptx_cfg *cfg, uint32_t block)
{
    for (uint32_t b = block; b < cfg->block_count; b++)
        for (uint32_t i = 0; i < cfg->blocks[b].successor_count; i++)
            if (cfg->blocks[b].successors[i] <= block) return true;
    return false;
}

/* What was multiplied is still there at the sum: written once, and not anew between them. */
static bool keeps_factors(const struct recovery *recovery, const struct place *place, uint32_t product,
                          uint32_t sum)
{
    const char *reason;
    const struct ptx_instruction *factors = &place->function->instructions[product];
    const struct ptx_cfg *cfg = ptx_cfg_build(recovery->arena, place->function, &reason);
    if (!cfg || product >= sum || factors->guard >= 0) return false;
    if (cfg->block_of[product] != cfg->block_of[sum] &&
        (may_repeat(cfg, cfg->block_of[product]) || may_repeat(cfg, cfg->block_of[sum])))
        return false;
    for (int k = 1; k <= 2; k++) {
        if (factors->operands[k].kind == PTX_OPERAND_FLOAT) continue;
        if (factors->operands[k].kind != PTX_OPERAND_REGISTER || factors->operands[k].reg < 0) return false;
        uint32_t definition = place->definitions[factors->operands[k].reg];
        if (definition >= place->function->instruction_count || (definition >= product && definition <= sum))
            return false;
    }
    return true;
}

static bool can_be_no_other(const struct recovery *recovery, uint32_t sum,
                            const struct contraction *contraction, bool is_told)
{
    const struct place *place = &recovery->places[sum];
    const struct ptx_operand *other = &instruction_of(recovery, sum)->operands[3 - contraction->summand];
    return (is_told || is_no_product(place, other)) &&
           keeps_factors(recovery, place, contraction->product, sum - place->first);
}

/* The code has less that is contracted. */
static bool has_less(const struct machine_code_counts *counts, const struct machine_code_counts *than)
{
    return counts->of[MACHINE_CODE_FFMA] < than->of[MACHINE_CODE_FFMA] ||
           counts->of[MACHINE_CODE_DFMA] < than->of[MACHINE_CODE_DFMA];
}

/* As much is contracted. Products and sums that are rounded may be known to be others that the code has already. */
static bool has_as_much(const struct machine_code_counts *counts, const struct machine_code_counts *as)
{
    return !has_less(counts, as) && !has_less(as, counts) &&
           counts->of[MACHINE_CODE_FMUL] <= as->of[MACHINE_CODE_FMUL] &&
           counts->of[MACHINE_CODE_FADD] <= as->of[MACHINE_CODE_FADD] &&
           counts->of[MACHINE_CODE_DMUL] <= as->of[MACHINE_CODE_DMUL] &&
           counts->of[MACHINE_CODE_DADD] <= as->of[MACHINE_CODE_DADD];
}

struct settling {
    uint32_t sums[MOST_FORMS], count; /* that may be contracted */
    bool is_contracted[MOST_FORMS];
    struct machine_code_counts free; /* of the code that has all choices */
};

/* A sum is contracted if less is once it is rounded alone. False: there are too many, or the loaded code is another one as it is. */
static bool find_contracted(struct recovery *recovery, struct settling *settling)
{
    bool same[MOST_FORMS];
    struct machine_code_counts counts[MOST_FORMS];
    struct contraction *scratch = new_form(recovery, NULL);
    if (!scratch || !add_form(recovery, new_form(recovery, NULL))) return false;
    for (uint32_t i = 0; i < recovery->callees->instruction_count; i++) {
        if (!products_of(recovery, i, scratch)) continue;
        struct contraction *alone = new_form(recovery, NULL);
        if (!add_form(recovery, alone)) return false;
        alone[i].round = true;
        settling->sums[settling->count++] = i;
    }
    if (!try_forms(recovery, same, counts) || !same[0]) return false;
    if (counts[0].of[MACHINE_CODE_HALF])
        return false; /* its products, sums and both in one are counted as one class */
    settling->free = counts[0];
    for (uint32_t k = 0; k < settling->count; k++)
        settling->is_contracted[k] = has_less(&counts[1 + k], &counts[0]);
    return true;
}

/* Which of two products goes into the sum: the one with which the code is the loaded one, as with the other it is not. 0: neither. */
static uint8_t operand_of(struct recovery *recovery, uint32_t sum)
{
    bool same[4] = {false};
    for (int choice = 0; choice < 4; choice++) {
        struct contraction *alone = new_form(recovery, NULL);
        if (!alone || !contract(recovery, sum, (uint8_t)(1 + choice / 2), choice % 2, alone)) return 0;
        if (!add_form(recovery, alone)) return 0;
    }
    if (!try_forms(recovery, same, NULL)) return 0;
    bool is_first = same[0] || same[1], is_second = same[2] || same[3];
    return is_first == is_second ? 0 : is_first ? 1 : 2;
}

/* Of large code one change may move much else about. Then counts say what is contracted, of each sum alone, and of all together. */
static const struct contraction *settle_by_counts(struct recovery *recovery)
{
    struct settling settling = {.count = 0};
    struct machine_code_counts counts;
    bool same;
    struct contraction *whole = new_form(recovery, NULL), *scratch = new_form(recovery, NULL);
    recovery->form_count = 0;
    if (!whole || !scratch || !find_contracted(recovery, &settling)) return NULL;
    for (uint32_t k = 0; k < settling.count; k++) {
        uint32_t sum = settling.sums[k];
        if (!settling.is_contracted[k]) continue;
        unsigned operands = products_of(recovery, sum, scratch);
        bool has_two = operands == (1u << 1 | 1u << 2);
        uint8_t operand = has_two ? operand_of(recovery, sum) : (uint8_t)(operands / 2);
        if (!operand || !contract(recovery, sum, operand, false, whole) ||
            !can_be_no_other(recovery, sum, &whole[sum], has_two))
            return NULL;
    }
    for (uint32_t i = 0; i < recovery->callees->instruction_count; i++)
        if (product_may_contract(instruction_of(recovery, i))) whole[i].round = !whole[i].summand;
    return add_form(recovery, whole) && try_forms(recovery, &same, &counts) &&
                   has_as_much(&counts, &settling.free)
               ? whole
               : NULL;
}

const struct contraction *recover_contractions(const struct compiler *compiler, struct arena *arena,
                                               const struct callees *callees, const struct cubin *loaded,
                                               uint32_t sm, uint32_t max_registers)
{
    struct recovery recovery = {.compiler = compiler,
                                .arena = arena,
                                .callees = callees,
                                .loaded = loaded,
                                .sm = sm,
                                .max_registers = max_registers};
    if (!find_places(&recovery)) return NULL;
    const struct contraction *guessed = guess_whole(&recovery), *rounded, *whole;
    if (guessed) return guessed;
    recovery.form_count = 0;
    rounded = round_apart(&recovery);
    whole = rounded ? contract_whole(&recovery, rounded) : NULL;
    if (!whole) whole = settle_by_counts(&recovery);
    return whole ? whole : rounded;
}
