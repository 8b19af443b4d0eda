/* SPDX-License-Identifier: Apache-2.0
 * Guesses what assemblers do, each sum with a product in it contracted, and looks at the code. Where no guess
 * is right, each candidate is tried alone, all forms in one compilation; then those that changed nothing
 * together. */
#include "fuser/codegen/recover.h"

#include "fuser/codegen/reference.h"
#include "fuser/kernel/product.h"

#include <string.h>

enum { MOST_FORMS = 64 };

struct recovery {
    const struct compiler *compiler;
    struct arena *arena;
    const struct ptx_function *function;
    const struct cubin *loaded;
    uint32_t sm, max_registers;
    uint32_t *definitions; /* a register: the only instruction that writes it, or PRODUCT_NOWHERE */
    const struct contraction *forms[MOST_FORMS];
    uint32_t form_count;
};

/* --- forms: the kernel with these choices --- */

static struct contraction *new_form(const struct recovery *recovery, const struct contraction *like)
{
    size_t count = recovery->function->instruction_count + 1;
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

/* Compiles the forms and forgets them; same[i]: the code of form i is the loaded one. */
static bool try_forms(struct recovery *recovery, bool *same)
{
    struct nvrtc_output output;
    struct cubin ours;
    uint32_t count = recovery->form_count;
    recovery->form_count = 0;
    if (!count) return true;
    reference_compile_forms(recovery->compiler, recovery->arena, recovery->function, recovery->forms, count,
                            recovery->sm, recovery->max_registers, &output);
    if (output.error || !cubin_open(&ours, output.cubin, output.cubin_size)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = reference_form_name(recovery->arena, recovery->function, i);
        same[i] = name &&
                  !cubin_difference(recovery->arena, recovery->loaded, recovery->function->name, &ours, name);
    }
    return true;
}

/* --- sums with a product in them --- */

static void note_definition(struct recovery *recovery, const struct ptx_operand *operand,
                            uint32_t instruction)
{
    if (operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0) {
        uint32_t *definition = &recovery->definitions[operand->reg];
        *definition = *definition == UINT32_MAX - 1 ? instruction : PRODUCT_NOWHERE;
    }
    for (uint32_t i = 0; i < operand->element_count; i++)
        note_definition(recovery, &operand->elements[i], instruction);
}

static bool find_definitions(struct recovery *recovery)
{
    const struct ptx_function *function = recovery->function;
    recovery->definitions = arena_calloc(recovery->arena, function->register_count + 1, sizeof(uint32_t));
    if (!recovery->definitions) return false;
    for (uint32_t r = 0; r < function->register_count; r++) recovery->definitions[r] = UINT32_MAX - 1;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->operand_count && ptx_opcode_info(instruction->opcode)->has_destination)
            note_definition(recovery, &instruction->operands[0], i);
    }
    return true;
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
    const struct ptx_function *function = recovery->function;
    const struct ptx_instruction *instruction = &function->instructions[sum];
    if (instruction->operand_count != 3) return false;
    const struct ptx_operand *operand = &instruction->operands[summand];
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0) return false;
    uint32_t product = recovery->definitions[operand->reg];
    if (product >= function->instruction_count) return false;
    const struct ptx_instruction *factors = &function->instructions[product];
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
    for (uint32_t i = 0; form && i < recovery->function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &recovery->function->instructions[i];
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
        if (!memcmp(recovery->forms[i], form, recovery->function->instruction_count * sizeof *form))
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
    if (!try_forms(recovery, same)) return NULL;
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
    for (uint32_t i = 0; together && i < recovery->function->instruction_count; i++) {
        if (!product_may_contract(&recovery->function->instructions[i])) continue;
        struct contraction *alone = new_form(recovery, NULL);
        if (!add_form(recovery, alone)) return NULL;
        alone[i].round = true;
        candidates[count++] = i;
    }
    if (!together || !try_forms(recovery, same)) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        together[candidates[i]].round = same[i];
        recovered += same[i];
    }
    if (recovered < 2) return together;
    return add_form(recovery, together) && try_forms(recovery, same) && same[0] ? together : NULL;
}

/* Every sum that rounded leaves free, with each product that may be contracted into it; the first form that
 * changes nothing goes into whole. False when there is none for a sum. */
static bool contract_apart(struct recovery *recovery, const struct contraction *rounded,
                           struct contraction *whole)
{
    const struct ptx_function *function = recovery->function;
    uint32_t sums[MOST_FORMS], count = 0;
    bool same[MOST_FORMS];
    const struct contraction *forms[MOST_FORMS];
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!is_free_sum(&function->instructions[i]) || rounded[i].round) continue;
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
    if (!try_forms(recovery, same)) return false;
    for (uint32_t k = 0; k < count; k++)
        if (same[k] && !whole[sums[k]].summand) whole[sums[k]] = forms[k][sums[k]];
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (!product_may_contract(instruction) || rounded[i].round) continue;
        if (is_free_sum(instruction) && !whole[i].summand) return false;
        whole[i].round = !whole[i].summand;
    }
    return true;
}

const struct contraction *recover_contractions(const struct compiler *compiler, struct arena *arena,
                                               const struct ptx_function *function,
                                               const struct cubin *loaded, uint32_t sm,
                                               uint32_t max_registers)
{
    struct recovery recovery = {.compiler = compiler,
                                .arena = arena,
                                .function = function,
                                .loaded = loaded,
                                .sm = sm,
                                .max_registers = max_registers};
    if (!find_definitions(&recovery)) return NULL;
    const struct contraction *guessed = guess_whole(&recovery), *rounded;
    if (guessed) return guessed;
    recovery.form_count = 0;
    rounded = round_apart(&recovery);
    if (!rounded) return NULL;
    bool same = false;
    struct contraction *whole = new_form(&recovery, rounded);
    recovery.form_count = 0;
    if (!whole || !contract_apart(&recovery, rounded, whole)) return rounded;
    recovery.form_count = 0;
    return add_form(&recovery, whole) && try_forms(&recovery, &same) && same ? whole : rounded;
}
