/* SPDX-License-Identifier: Apache-2.0
 * Induction variables: a loop header's phi whose every way round the loop adds one constant. */
#include "fuser/access/analysis.h"

#include <string.h>

enum { CHAIN_LIMIT = 64 };

struct step {
    wide sum;
    const uint64_t *sources;
};

/* Evaluates a value that does not depend on what the loop changes; false when it does. */
static bool is_invariant(struct analysis *analysis, uint32_t value, int32_t loop, unsigned depth)
{
    const struct ssa_value *definition = &analysis->ssa->values[value];

    if (value == SSA_NO_VALUE || depth > CHAIN_LIMIT) return false;
    if (!loops_contains_block(analysis->forest, loop, definition->block)) return true;
    if (definition->kind != SSA_DEFINITION || definition->previous != SSA_NO_VALUE) return false;
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition->instruction];
    if (ptx_opcode_info(instruction->opcode)->class != PTX_CLASS_ARITHMETIC && !ptx_is_load(instruction))
        return false;
    const struct ssa_list *uses = &analysis->ssa->uses[definition->instruction];
    for (uint32_t u = 0; u < uses->count; u++)
        if (!is_invariant(analysis, uses->items[u].value, loop, depth + 1)) return false;
    if (!analysis->values[value]) analysis->values[value] = evaluate_definition(analysis, value);
    return true;
}

static bool constant_operand(struct analysis *analysis, const struct ssa_value *definition,
                             const struct ptx_operand *operand, int32_t loop, unsigned depth,
                             struct step *constant)
{
    if (operand->kind == PTX_OPERAND_INTEGER) {
        *constant = (struct step){.sum = operand->value};
        return true;
    }
    if (operand->kind != PTX_OPERAND_REGISTER || operand->is_negated || operand->component) return false;
    uint32_t value = ssa_use(analysis->ssa, definition->instruction, operand->reg);
    if (!is_invariant(analysis, value, loop, depth)) return false;
    const struct value *known = exports_value_in(analysis, value, loop);
    constant->sources = known->sources;
    return value_is_number(known, true, &constant->sum);
}

static bool find_step(struct analysis *analysis, uint32_t value, uint32_t phi, int32_t loop, unsigned depth,
                      struct step *step);

/* sum = a + sign * b with b constant in the loop */
static bool follow_sum(struct analysis *analysis, const struct ssa_value *definition,
                       const struct ptx_operand *a, const struct ptx_operand *b, int sign, uint32_t phi,
                       int32_t loop, unsigned depth, struct step *step)
{
    struct step constant = {0};

    if (a->kind != PTX_OPERAND_REGISTER || a->is_negated || a->component) return false;
    if (!find_step(analysis, ssa_use(analysis->ssa, definition->instruction, a->reg), phi, loop, depth + 1,
                   step))
        return false;
    if (!constant_operand(analysis, definition, b, loop, depth + 1, &constant)) return false;
    step->sum += sign * constant.sum;
    step->sources = sources_join(analysis, step->sources, constant.sources);
    return true;
}

/* The value of a register that was extended and is cut to its old size again here: the same bits; or
 * SSA_NO_VALUE. */
static uint32_t uncut_value(const struct analysis *analysis, const struct ssa_value *definition)
{
    const struct ptx_instruction *cut = &analysis->function->instructions[definition->instruction];
    const struct ptx_operand *wide_source = &cut->operands[1];

    if (cut->opcode != PTX_OP_CVT || cut->operand_count != 2 || cut->type_count != 2 ||
        wide_source->kind != PTX_OPERAND_REGISTER || wide_source->is_negated || wide_source->component)
        return SSA_NO_VALUE;
    uint32_t extended = ssa_use(analysis->ssa, definition->instruction, wide_source->reg);
    const struct ssa_value *other = &analysis->ssa->values[extended];
    if (extended == SSA_NO_VALUE || other->kind != SSA_DEFINITION || other->previous != SSA_NO_VALUE)
        return SSA_NO_VALUE;
    const struct ptx_instruction *extension = &analysis->function->instructions[other->instruction];
    if (extension->opcode != PTX_OP_CVT || extension->guard >= 0 || extension->operand_count != 2 ||
        extension->type_count != 2 || ptx_type_is_float(cut->types[0]) || ptx_type_is_float(cut->types[1]) ||
        ptx_type_is_float(extension->types[0]) || ptx_type_is_float(extension->types[1]))
        return SSA_NO_VALUE;
    unsigned narrow = ptx_type_bytes(cut->types[0]), broad = ptx_type_bytes(cut->types[1]);
    const struct ptx_operand *source = &extension->operands[1];
    if (narrow >= broad || ptx_type_bytes(extension->types[0]) != broad ||
        ptx_type_bytes(extension->types[1]) != narrow || ptx_has_modifier(cut, PTX_MOD_SAT) ||
        source->kind != PTX_OPERAND_REGISTER || source->is_negated || source->component ||
        value_register_bits(analysis, source->reg) != 8 * narrow)
        return SSA_NO_VALUE;
    return ssa_use(analysis->ssa, other->instruction, source->reg);
}

static bool step_of_definition(struct analysis *analysis, const struct ssa_value *definition, uint32_t phi,
                               int32_t loop, unsigned depth, struct step *step)
{
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition->instruction];
    const struct ptx_operand *operands = instruction->operands;

    if (definition->previous != SSA_NO_VALUE || instruction->guard >= 0) return false;
    if (!evaluate_is_followed(instruction)) return false;
    if (instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2 &&
        operands[1].kind == PTX_OPERAND_REGISTER && !operands[1].component &&
        operands[0].kind == PTX_OPERAND_REGISTER)
        return find_step(analysis, ssa_use(analysis->ssa, definition->instruction, operands[1].reg), phi,
                         loop, depth + 1, step);
    if (instruction->opcode == PTX_OP_CVT)
        return find_step(analysis, uncut_value(analysis, definition), phi, loop, depth + 1, step);
    if (instruction->operand_count != 3) return false;
    if (instruction->opcode == PTX_OP_ADD)
        return follow_sum(analysis, definition, &operands[1], &operands[2], 1, phi, loop, depth, step) ||
               follow_sum(analysis, definition, &operands[2], &operands[1], 1, phi, loop, depth, step);
    if (instruction->opcode == PTX_OP_SUB)
        return follow_sum(analysis, definition, &operands[1], &operands[2], -1, phi, loop, depth, step);
    return false;
}

/* *step: what has been added to the phi when it has become value. */
static bool find_step(struct analysis *analysis, uint32_t value, uint32_t phi, int32_t loop, unsigned depth,
                      struct step *step)
{
    *step = (struct step){0};
    if (value == phi) return true;
    if (value == SSA_NO_VALUE || depth > CHAIN_LIMIT) return false;
    const struct ssa_value *definition = &analysis->ssa->values[value];
    if (!loops_contains_block(analysis->forest, loop, definition->block)) return false;
    if (definition->kind == SSA_DEFINITION)
        return step_of_definition(analysis, definition, phi, loop, depth, step);
    const struct ptx_block *block = &analysis->cfg->blocks[definition->block];
    if (definition->kind != SSA_PHI || analysis->forest->loop_of[definition->block] == LOOPS_NONE)
        return false;
    if (analysis->forest->loops[analysis->forest->loop_of[definition->block]].header == definition->block)
        return false;
    bool found = false;
    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        struct step other;
        if (!dominators_is_reachable(analysis->dominators, block->predecessors[p])) continue;
        if (!find_step(analysis, definition->arguments[p], phi, loop, depth + 8, &other)) return false;
        if (found && other.sum != step->sum) return false;
        if (found) other.sources = sources_join(analysis, step->sources, other.sources);
        *step = other;
        found = true;
    }
    return found;
}

/* The common step of all ways round, from this phi of the header to what the other one, or itself, becomes.
 */
static bool find_common_step(struct analysis *analysis, uint32_t from, uint32_t phi, int32_t loop,
                             struct step *step)
{
    const struct ssa_value *header_phi = &analysis->ssa->values[phi];
    const struct ptx_block *block = &analysis->cfg->blocks[header_phi->block];
    bool found = false;

    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        struct step other;
        if (!loops_is_back_edge(analysis->forest, block->predecessors[p], header_phi->block)) continue;
        if (!find_step(analysis, header_phi->arguments[p], from, loop, 0, &other)) return false;
        if (found && other.sum != step->sum) return false;
        if (found) other.sources = sources_join(analysis, step->sources, other.sources);
        *step = other;
        found = true;
    }
    return found;
}

/* What comes into the loop for a phi of its header, seen from outside. */
static const struct value *start_of(struct analysis *analysis, uint32_t phi, int32_t loop)
{
    isl_set *domain = analysis->domain;
    analysis->domain = analysis->loops[loop].entry.set;
    const struct value *start = exports_phi(analysis, phi, analysis->forest->loops[loop].parent);
    analysis->domain = domain;
    return start;
}

/* --- a counter that is kept twice, as in for (int i = ...; i < n; i += step) with a 64-bit n --- */

/* The conversion that makes value, or NULL: one without conditions, of one register. */
static const struct ptx_instruction *conversion_of(const struct analysis *analysis, uint32_t value)
{
    const struct ssa_value *definition = &analysis->ssa->values[value];

    if (value == SSA_NO_VALUE || definition->kind != SSA_DEFINITION || definition->previous != SSA_NO_VALUE)
        return NULL;
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition->instruction];
    const struct ptx_operand *source = instruction->operand_count == 2 ? &instruction->operands[1] : NULL;
    if (instruction->opcode != PTX_OP_CVT || instruction->guard >= 0 || !source) return NULL;
    if (source->kind != PTX_OPERAND_REGISTER || source->is_negated || source->component) return NULL;
    return instruction;
}

/* On every way round, phi gets by this conversion what the other phi gets. */
static bool converts_each(const struct analysis *analysis, const struct ssa_value *phi,
                          const struct ssa_value *other, const struct ptx_instruction *conversion)
{
    const struct ptx_block *block = &analysis->cfg->blocks[phi->block];

    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        if (!loops_is_back_edge(analysis->forest, block->predecessors[p], phi->block)) continue;
        const struct ptx_instruction *here = conversion_of(analysis, phi->arguments[p]);
        if (!here || here->type_count != 2 || here->types[0] != conversion->types[0] ||
            here->types[1] != conversion->types[1] ||
            memcmp(here->modifiers, conversion->modifiers, sizeof here->modifiers))
            return false;
        uint32_t instruction = analysis->ssa->values[phi->arguments[p]].instruction;
        if (ssa_use(analysis->ssa, instruction, here->operands[1].reg) != other->arguments[p]) return false;
    }
    return true;
}

static const struct ptx_instruction *find_conversion(const struct analysis *analysis, uint32_t phi)
{
    const struct ssa_value *header_phi = &analysis->ssa->values[phi];
    const struct ptx_block *block = &analysis->cfg->blocks[header_phi->block];

    for (uint32_t p = 0; p < block->predecessor_count; p++)
        if (loops_is_back_edge(analysis->forest, block->predecessors[p], header_phi->block))
            return conversion_of(analysis, header_phi->arguments[p]);
    return NULL;
}

/* phi as the conversion of another phi of this header, where it starts as that too; or NULL. */
static const struct value *converted_value(struct analysis *analysis, uint32_t phi,
                                           const struct value *initial, int32_t loop, unsigned bits)
{
    const struct ptx_instruction *conversion = find_conversion(analysis, phi);
    uint32_t header = analysis->forest->loops[loop].header;
    const struct ssa_list *phis = &analysis->ssa->phis[header];

    for (uint32_t i = 0; conversion && i < phis->count; i++) {
        uint32_t other = phis->items[i].value;
        const struct ssa_value *values = analysis->ssa->values;
        if (other == phi || find_conversion(analysis, other)) continue;
        if (!converts_each(analysis, &values[phi], &values[other], conversion)) continue;
        const struct value *start = start_of(analysis, other, loop);
        isl_set *domain = analysis->domain;
        analysis->domain = analysis->loops[loop].entry.set;
        const struct value *converted = integer_convert(analysis, conversion, &start, bits);
        analysis->domain = domain;
        if (!value_is_same(converted, initial)) continue;
        const struct value *counted = induction_value(analysis, other, start, loop);
        return value_with_sources(analysis, integer_convert(analysis, conversion, &counted, bits),
                                  initial->sources);
    }
    return NULL;
}

/* --- an index that is another one's an iteration late, as where planes alternate --- */

/* In the first iteration what it starts with, in each later one the other value, moved. */
static const struct value *late_value(struct analysis *analysis, const struct value *initial,
                                      const struct value *other, wide distance, int32_t loop,
                                      const uint64_t *sources)
{
    isl_pw_aff *counter = affine_dimension(analysis, affine_counter(analysis, loop));
    isl_pw_aff *form = affine_split(analysis, counter, 1, isl_pw_aff_copy(initial->form),
                                    affine_shift(analysis, isl_pw_aff_copy(other->form), distance));
    struct range range = range_union(initial->range, range_add(other->range, range_point(distance)));
    isl_pw_aff_free(counter);
    if (initial->kind == VALUE_POINTER)
        return value_pointer(analysis, initial->base, form, range, sources, NULL);
    return value_integer(analysis, initial->bits, form, range, sources);
}

/* phi as what another phi of this header, an induction variable, was an iteration before; or NULL. */
static const struct value *delayed_value(struct analysis *analysis, uint32_t phi, const struct value *initial,
                                         int32_t loop)
{
    const struct ssa_list *phis = &analysis->ssa->phis[analysis->forest->loops[loop].header];

    for (uint32_t i = 0; initial->form && i < phis->count; i++) {
        uint32_t other = phis->items[i].value;
        struct step delay = {0}, own = {0};
        if (other == phi || !analysis->is_relevant[other]) continue;
        if (!find_common_step(analysis, other, phi, loop, &delay)) continue;
        if (!find_common_step(analysis, other, other, loop, &own)) continue;
        const struct value *counted = induction_value(analysis, other, start_of(analysis, other, loop), loop);
        if (!counted->form || counted->kind != initial->kind || counted->bits != initial->bits ||
            counted->base != initial->base)
            continue;
        const uint64_t *sources = sources_join(analysis, delay.sources, own.sources);
        sources = sources_join(analysis, sources, sources_join(analysis, counted->sources, initial->sources));
        return late_value(analysis, initial, counted, delay.sum - own.sum, loop, sources);
    }
    return NULL;
}

/* Where the next iteration's value comes from, for a person to look at. */
static uint32_t changing_instruction(const struct analysis *analysis, uint32_t phi)
{
    const struct ssa_value *header_phi = &analysis->ssa->values[phi];
    const struct ptx_block *block = &analysis->cfg->blocks[header_phi->block];

    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        const struct ssa_value *next = &analysis->ssa->values[header_phi->arguments[p]];
        if (loops_is_back_edge(analysis->forest, block->predecessors[p], header_phi->block) &&
            next->kind == SSA_DEFINITION)
            return next->instruction;
    }
    return analysis->instruction;
}

const struct value *induction_value(struct analysis *analysis, uint32_t phi, const struct value *initial,
                                    int32_t loop)
{
    unsigned bits = value_register_bits(analysis, analysis->ssa->values[phi].reg);
    struct step step = {0};
    struct range travelled;

    uint32_t instruction = analysis->instruction;
    bool is_induction = bits != 1 && find_common_step(analysis, phi, phi, loop, &step);
    if (!is_induction && bits != 1) {
        const struct value *followed = converted_value(analysis, phi, initial, loop, bits);
        if (!followed) followed = delayed_value(analysis, phi, initial, loop);
        if (followed) return followed;
    }
    analysis->instruction = is_induction ? instruction : changing_instruction(analysis, phi);
    if (!is_induction)
        return value_give_up(analysis, &initial, 1, bits,
                             "changes from one iteration to the next, not by a constant");
    if (step.sum == 0) return value_with_sources(analysis, initial, step.sources);
    if (!initial->form ||
        !range_scale((struct range){0, analysis->loops[loop].last_counter}, step.sum, &travelled))
        return initial->kind == VALUE_POINTER
                   ? initial
                   : value_give_up(analysis, &initial, 1, bits, "starts from something unknown");
    isl_pw_aff *form =
        affine_scale(analysis, affine_dimension(analysis, affine_counter(analysis, loop)), step.sum);
    form = isl_pw_aff_add(form, isl_pw_aff_copy(initial->form));
    struct range range = range_add(initial->range, travelled);
    const uint64_t *sources = sources_join(analysis, initial->sources, step.sources);
    if (initial->kind == VALUE_POINTER)
        return value_pointer(analysis, initial->base, form, range, sources, NULL);
    return value_integer(analysis, bits, form, range, sources);
}
