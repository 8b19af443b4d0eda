/* SPDX-License-Identifier: Apache-2.0
 * Constant propagation over the SSA graph, from nothing upwards: a place changes from NOT_YET to a known one, to one of
 * unknown offset, of unknown variable, to OTHER. */
#include "fuser/kernel/places.h"

bool places_is_parameter(const struct ptx_function *function, const struct ptx_variable *variable)
{
    return variable >= function->parameters && variable < function->parameters + function->parameter_count;
}

static bool names_parameter(const struct ptx_function *function, const struct ptx_operand *operands,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].kind == PTX_OPERAND_SYMBOL && places_is_parameter(function, operands[i].variable))
            return true;
        if (names_parameter(function, operands[i].elements, operands[i].element_count)) return true;
    }
    return false;
}

bool places_are_taken(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (names_parameter(function, instruction->operands, instruction->operand_count)) return true;
    }
    return false;
}

/* --- what an instruction computes -------------------------------------------------------------------- */

static const struct place not_yet = {.kind = PLACE_NOT_YET}, other = {.kind = PLACE_OTHER};

static bool is_address(const struct place *place)
{
    return place->kind == PLACE_PARAMETER || place->kind == PLACE_LOCAL;
}

static struct place symbol_place(const struct ptx_function *function, const struct ptx_operand *operand)
{
    const struct ptx_variable *variable = operand->variable;
    struct place place = {.variable = variable, .is_known = true, .offset = operand->value};
    if (!variable) return other;
    if (places_is_parameter(function, variable))
        place.kind = PLACE_PARAMETER;
    else if (variable->space == PTX_LOCAL)
        place.kind = PLACE_LOCAL;
    else
        return other;
    return place;
}

struct place places_of_operand(const struct places *places, uint32_t instruction,
                               const struct ptx_operand *operand)
{
    if (operand->is_negated || operand->component) return other;
    switch ((int)operand->kind) {
    case PTX_OPERAND_INTEGER:
        return (struct place){.kind = PLACE_NUMBER, .offset = operand->value};
    case PTX_OPERAND_SYMBOL:
        return symbol_place(places->function, operand);
    case PTX_OPERAND_REGISTER:
        return places->of[ssa_use(places->ssa, instruction, operand->reg)];
    }
    return other;
}

static struct place moved_by(struct place place, const struct place *distance, int sign)
{
    if (distance->kind == PLACE_NOT_YET || place.kind == PLACE_NOT_YET) return not_yet;
    if (place.kind == PLACE_OTHER || is_address(distance)) return other;
    if (distance->kind == PLACE_NUMBER && (place.kind == PLACE_NUMBER || place.is_known)) {
        uint64_t step = (uint64_t)distance->offset;
        place.offset = (int64_t)((uint64_t)place.offset + (sign < 0 ? 0 - step : step));
        return place;
    }
    if (place.kind == PLACE_NUMBER) return other;
    place.is_known = false;
    place.offset = 0;
    return place;
}

static struct place sum_of(const struct place *a, const struct place *b)
{
    return is_address(a) ? moved_by(*a, b, 1) : moved_by(*b, a, 1);
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->kind == b->kind && a->is_generic == b->is_generic && a->is_known == b->is_known &&
           a->variable == b->variable && a->offset == b->offset;
}

static struct place joined(struct place a, const struct place *b)
{
    if (a.kind == PLACE_NOT_YET || is_same(&a, b)) return *b;
    if (b->kind == PLACE_NOT_YET) return a;
    if (a.kind != b->kind || !is_address(&a) || a.is_generic != b->is_generic) return other;
    a.is_known = false;
    a.offset = 0;
    if (a.variable != b->variable) a.variable = NULL;
    return a;
}

static struct place converted(const struct ptx_instruction *instruction, struct place place)
{
    bool is_to = ptx_has_modifier(instruction, PTX_MOD_TO);
    enum ptx_space own = place.kind == PLACE_LOCAL ? PTX_LOCAL : PTX_PARAM;
    if (place.kind == PLACE_NOT_YET) return place;
    if (!is_address(&place) || instruction->space != own || place.is_generic != is_to) return other;
    place.is_generic = !is_to;
    return place;
}

static struct place result_of(const struct places *places, uint32_t index)
{
    const struct ptx_instruction *instruction = &places->function->instructions[index];
    const struct ptx_operand *operands = instruction->operands;
    struct place p[4] = {not_yet, not_yet, not_yet, not_yet};
    bool is_long = operands[0].kind == PTX_OPERAND_REGISTER && instruction->type_count &&
                   ptx_type_bytes(places->function->registers[operands[0].reg].type) == 8;
    if (!is_long || instruction->operand_count > 4) return other;
    for (uint32_t o = 1; o < instruction->operand_count; o++)
        p[o] = places_of_operand(places, index, &operands[o]);
    bool is_plain = ptx_type_bytes(instruction->types[0]) == 8 && !ptx_type_is_float(instruction->types[0]) &&
                    !ptx_has_modifier(instruction, PTX_MOD_CC);
    switch ((int)instruction->opcode) {
    case PTX_OP_MOV:
        return is_plain ? p[1] : other;
    case PTX_OP_ADD:
        return is_plain ? sum_of(&p[1], &p[2]) : other;
    case PTX_OP_SUB:
        return is_plain ? moved_by(p[1], &p[2], -1) : other;
    case PTX_OP_SELP:
        return is_plain ? joined(p[1], &p[2]) : other;
    case PTX_OP_CVTA:
        return converted(instruction, p[1]);
    case PTX_OP_MAD: /* of 64 bits, or .wide: the summand has all of them */
        return is_address(&p[1]) || is_address(&p[2]) || ptx_has_modifier(instruction, PTX_MOD_CC)
                   ? other
                   : moved_by(p[3], &other, 1);
    }
    return other;
}

static struct place value_place(const struct places *places, const struct ssa_value *value)
{
    struct place place = not_yet;
    if (value->kind == SSA_PHI) {
        uint32_t count = places->ssa->dominators->cfg->blocks[value->block].predecessor_count;
        for (uint32_t i = 0; i < count; i++) place = joined(place, &places->of[value->arguments[i]]);
        return place;
    }
    place = result_of(places, value->instruction);
    return value->previous ? joined(place, &places->of[value->previous]) : place;
}

bool places_find(struct places *places, struct arena *arena, const struct ssa *ssa)
{
    *places = (struct places){.function = ssa->dominators->cfg->function, .ssa = ssa};
    places->of = arena_calloc(arena, ssa->value_count + 1, sizeof *places->of);
    if (!places->of) return false;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t v = 1; v < ssa->value_count; v++) {
            struct place place = value_place(places, &ssa->values[v]);
            has_changed |= !is_same(&place, &places->of[v]);
            places->of[v] = place;
        }
    }
    return true;
}

/* --- what is done with it ---------------------------------------------------------------------------- */

struct place places_of_access(const struct places *places, uint32_t index)
{
    const struct ptx_instruction *instruction = &places->function->instructions[index];
    const struct ptx_operand *address = ptx_address_operand(instruction);
    if (!address || address->component) return other;
    if (address->reg < 0) return address->symbol ? symbol_place(places->function, address) : other;
    struct place place = places->of[ssa_use(places->ssa, index, address->reg)];
    enum ptx_space own = place.kind == PLACE_LOCAL ? PTX_LOCAL : PTX_PARAM;
    if (!is_address(&place) || instruction->space != (place.is_generic ? PTX_GENERIC : own)) return other;
    place.offset = place.is_known ? (int64_t)((uint64_t)place.offset + (uint64_t)address->value) : 0;
    return place;
}

static bool is_ordered(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_VOLATILE) || ptx_has_modifier(instruction, PTX_MOD_MMIO) ||
           ptx_has_modifier(instruction, PTX_MOD_RELAXED) || ptx_has_modifier(instruction, PTX_MOD_ACQUIRE) ||
           ptx_has_modifier(instruction, PTX_MOD_RELEASE);
}

/* Two addresses of one variable keep their order, wherever it lies. */
static bool is_comparison(const struct places *places, uint32_t index)
{
    const struct ptx_instruction *instruction = &places->function->instructions[index];
    if (instruction->opcode != PTX_OP_SETP || instruction->operand_count != 3) return false;
    struct place a = places_of_operand(places, index, &instruction->operands[1]),
                 b = places_of_operand(places, index, &instruction->operands[2]);
    return a.kind == b.kind && a.is_generic == b.is_generic && a.variable && a.variable == b.variable;
}

static const char either[] = "an address that may be a parameter's or another";

static const char *obstacle_at(const struct places *places, enum place_kind kind, uint32_t index)
{
    const struct ptx_instruction *instruction = &places->function->instructions[index];
    const struct ssa_list *definitions = &places->ssa->definitions[index];
    bool is_used = false;
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct ptx_operand *operand = &instruction->operands[o];
        bool is_result = o == 0 && definitions->count;
        bool is_own =
            operand->kind != PTX_OPERAND_ADDRESS && places_of_operand(places, index, operand).kind == kind;
        for (uint32_t e = 0; e < operand->element_count; e++)
            is_own |= places_of_operand(places, index, &operand->elements[e]).kind == kind;
        is_used |= !is_result && is_own;
    }
    const struct ptx_operand *address = ptx_address_operand(instruction);
    bool is_reached =
        address && address->reg >= 0 && places->of[ssa_use(places->ssa, index, address->reg)].kind == kind;
    if (is_reached) {
        bool is_access = places_of_access(places, index).kind == kind && !is_ordered(instruction);
        if (kind == PLACE_PARAMETER && !ptx_is_load(instruction)) return "writes to a parameter";
        if (!is_access || ptx_is_atomic(instruction) ||
            (!ptx_is_load(instruction) && !ptx_is_store(instruction)))
            return "uses the address of a parameter for another space";
    }
    if (!is_used || is_comparison(places, index)) return NULL;
    if (instruction->opcode == PTX_OP_SELP && definitions->count == 1 &&
        places->of[definitions->items[0].value].kind != kind)
        return either;
    bool is_passed_on = definitions->count == 1 && places->of[definitions->items[0].value].kind == kind;
    return is_passed_on ? NULL : "uses the address of a parameter for more than to load";
}

/* One of several addresses, of which only some are of this kind. */
static bool is_mixed(const struct places *places, enum place_kind kind, const struct ssa_value *value)
{
    const struct ptx_cfg *cfg = places->ssa->dominators->cfg;
    bool has_own = places->of[value->previous].kind == kind;
    for (uint32_t i = 0; value->kind == SSA_PHI && i < cfg->blocks[value->block].predecessor_count; i++)
        has_own |= places->of[value->arguments[i]].kind == kind;
    return has_own;
}

const char *places_obstacle(const struct places *places, enum place_kind kind, uint32_t *instruction)
{
    const struct ssa *ssa = places->ssa;
    const struct ptx_cfg *cfg = ssa->dominators->cfg;
    for (uint32_t i = 0; i < places->function->instruction_count; i++) {
        if (!dominators_is_reachable(ssa->dominators, cfg->block_of[i])) continue;
        const char *why = obstacle_at(places, kind, i);
        *instruction = i;
        if (why) return why;
    }
    for (uint32_t v = 1; v < ssa->value_count; v++) {
        const struct ssa_value *value = &ssa->values[v];
        if (places->of[v].kind == kind || !is_mixed(places, kind, value) || !ssa_is_used(ssa, v)) continue;
        *instruction = value->kind == SSA_PHI ? cfg->blocks[value->block].first : value->instruction;
        return either;
    }
    return NULL;
}
