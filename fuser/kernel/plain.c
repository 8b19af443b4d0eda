/* SPDX-License-Identifier: Apache-2.0
 * Rewrites loads in place; what holds an address follows from places.h. */
#include "fuser/kernel/plain.h"
#include "fuser/kernel/chosen_arrays.h"
#include "fuser/kernel/chosen_loads.h"
#include "fuser/kernel/inline.h"
#include "fuser/kernel/places.h"

#include <string.h>

enum {
    MOST_BYTES = 64,
    MOST_MOVES = 64,
    MOST_STORES = 512 /* to local memory: all are looked at for each load */
};

struct plain {
    struct arena *arena;
    struct ptx_function *copy;
    struct places places;   /* of the copy as it is */
    const uint32_t *stores; /* to local memory */
    uint32_t store_count;
    uint32_t dropped; /* 0, or a register that nobody reads */
};
struct parameter_bytes { /* of one parameter */
    const struct ptx_variable *parameter;
    int64_t offset;
};

static bool examine(struct plain *plain)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(plain->arena, plain->copy, &reason);
    struct dominators *dominators = cfg ? dominators_build(plain->arena, cfg) : NULL;
    struct ssa *ssa = dominators ? ssa_build(plain->arena, dominators) : NULL;
    return ssa && places_find(&plain->places, plain->arena, ssa);
}

static bool is_reachable(const struct plain *plain, uint32_t instruction)
{
    const struct dominators *dominators = plain->places.ssa->dominators;
    return dominators_is_reachable(dominators, dominators->cfg->block_of[instruction]);
}

/* --- instructions anew ------------------------------------------------------------------------------- */

static struct ptx_span span_of(const char *text)
{
    return (struct ptx_span){text, text ? (uint32_t)strlen(text) : 0};
}

/* A load that has nothing but a space, a vector and one type, of a size that a parameter can be passed by. */
static bool is_plain_load(const struct ptx_instruction *instruction)
{
    uint32_t bytes = instruction->type_count == 1 ? ptx_type_bytes(instruction->types[0]) : 0;
    bool is_strong = false;
    for (enum ptx_modifier m = PTX_MOD_NONE; m < PTX_MODIFIER_COUNT; m++)
        is_strong |= m != PTX_MOD_V2 && m != PTX_MOD_V4 && m != PTX_MOD_V8 && m != PTX_MOD_WEAK &&
                     ptx_has_modifier(instruction, m);
    return instruction->opcode == PTX_OP_LD && instruction->operand_count == 2 && !is_strong &&
           (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/* The load as one of the parameter space, from the address that it is given. */
static bool load_parameter(struct plain *plain, struct ptx_instruction *load, struct ptx_operand address)
{
    struct ptx_operand *operands = arena_calloc(plain->arena, 2, sizeof *operands);
    const char *type = ptx_type_name(load->types[0]);
    const char *name = load->vector > 1 ? arena_printf(plain->arena, "ld.param.v%u.%s", load->vector, type)
                                        : arena_printf(plain->arena, "ld.param.%s", type);
    if (!operands || !name) return false;
    operands[0] = load->operands[0];
    operands[1] = address;
    load->operands = operands;
    load->space = PTX_PARAM;
    load->mnemonic = span_of(name);
    load->modifiers[PTX_MOD_WEAK / 64] &= ~(UINT64_C(1) << PTX_MOD_WEAK % 64);
    return true;
}

static bool load_bytes(struct plain *plain, struct ptx_instruction *load, struct parameter_bytes bytes)
{
    return load_parameter(plain, load,
                          (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS,
                                               .reg = -1,
                                               .label = -1,
                                               .variable = bytes.parameter,
                                               .symbol = bytes.parameter->name,
                                               .value = bytes.offset});
}

static bool make_move(struct plain *plain, struct ptx_instruction *instruction, struct ptx_operand from)
{
    struct ptx_operand *operands = arena_calloc(plain->arena, 2, sizeof *operands);
    if (!operands) return false;
    operands[0] = instruction->operands[0];
    operands[1] = from;
    instruction->operands = operands;
    instruction->operand_count = 2;
    instruction->opcode = PTX_OP_MOV;
    instruction->space = PTX_GENERIC;
    instruction->types[0] = PTX_B64;
    instruction->type_count = 1;
    memset(instruction->modifiers, 0, sizeof instruction->modifiers);
    instruction->mnemonic = span_of("mov.b64");
    return true;
}

/* --- known offsets ----------------------------------------------------------------------------------- */

static bool is_inside(const struct place *place, uint32_t bytes)
{
    return place->is_known && place->variable && place->offset >= 0 && bytes <= place->variable->size &&
           (uint64_t)place->offset <= place->variable->size - bytes;
}

static bool name_loads(struct plain *plain)
{
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        struct ptx_instruction *load = &plain->copy->instructions[i];
        if (!is_plain_load(load) || load->operands[1].reg < 0 || !is_reachable(plain, i)) continue;
        struct place place = places_of_access(&plain->places, i);
        if (place.kind != PLACE_PARAMETER || !is_inside(&place, ptx_access_bytes(load))) continue;
        if (!load_bytes(plain, load, (struct parameter_bytes){place.variable, place.offset})) return false;
    }
    return true;
}

/* --- copies in local memory -------------------------------------------------------------------------- */

static const struct ptx_operand *element_of(const struct ptx_operand *operand, uint32_t element)
{
    return operand->kind == PTX_OPERAND_VECTOR ? &operand->elements[element] : operand;
}

/* Through moves, the load of a parameter that the value is. */
static bool find_load(const struct plain *plain, uint32_t value, uint32_t bytes,
                      struct parameter_bytes *found)
{
    const struct ssa *ssa = plain->places.ssa;
    for (int moves = 0; moves < MOST_MOVES; moves++) {
        const struct ssa_value *definition = &ssa->values[value];
        if (definition->kind != SSA_DEFINITION || definition->previous) return false;
        uint32_t at = definition->instruction;
        const struct ptx_instruction *instruction = &plain->copy->instructions[at];
        if (instruction->guard >= 0 || instruction->operand_count != 2) return false;
        const struct ptx_operand *from = &instruction->operands[1];
        if (instruction->opcode == PTX_OP_MOV && from->kind == PTX_OPERAND_REGISTER && !from->component &&
            !from->is_negated && ptx_type_bytes(instruction->types[0]) >= bytes &&
            instruction->operands[0].kind == PTX_OPERAND_REGISTER) {
            value = ssa_use(ssa, at, from->reg);
            continue;
        }
        uint32_t width = instruction->type_count ? ptx_type_bytes(instruction->types[0]) : 0;
        if (!is_plain_load(instruction) || instruction->space != PTX_PARAM || from->reg >= 0 ||
            !places_is_parameter(plain->copy, from->variable) || width < bytes)
            return false;
        for (uint32_t e = 0; e < instruction->vector; e++) {
            const struct ptx_operand *to = element_of(&instruction->operands[0], e);
            if (to->kind != PTX_OPERAND_REGISTER || to->reg != definition->reg) continue;
            *found = (struct parameter_bytes){from->variable, from->value + e * width};
            return true;
        }
        return false;
    }
    return false;
}

static bool comes_before(const struct plain *plain, uint32_t earlier, uint32_t later)
{
    const struct dominators *dominators = plain->places.ssa->dominators;
    uint32_t from = dominators->cfg->block_of[earlier], to = dominators->cfg->block_of[later];
    return from == to ? earlier < later : dominators_dominates(dominators, from, to);
}

/* What the only store to this byte of a local variable copies there, always before the load. */
static bool find_byte(const struct plain *plain, uint32_t load, const struct ptx_variable *variable,
                      int64_t byte, struct parameter_bytes *found)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < plain->store_count; s++) {
        const struct ptx_instruction *store = &plain->copy->instructions[plain->stores[s]];
        struct place place = places_of_access(&plain->places, plain->stores[s]);
        if (place.kind != PLACE_LOCAL || (place.variable && place.variable != variable)) continue;
        if (!place.variable || !place.is_known || !store->type_count) return false;
        uint32_t width = ptx_type_bytes(store->types[0]);
        int64_t inside = byte - place.offset;
        if (inside < 0 || inside >= (int64_t)ptx_access_bytes(store)) continue;
        const struct ptx_operand *value = element_of(&store->operands[1], (uint32_t)inside / width);
        if (count++ || store->guard >= 0 || store->type_count != 1 || value->kind != PTX_OPERAND_REGISTER ||
            value->component || !comes_before(plain, plain->stores[s], load) ||
            !find_load(plain, ssa_use(plain->places.ssa, plain->stores[s], value->reg), width, found))
            return false;
        found->offset += inside % width;
    }
    return count == 1;
}

static bool find_bytes(const struct plain *plain, uint32_t load, const struct place *place, uint32_t bytes,
                       struct parameter_bytes *found)
{
    struct parameter_bytes next;
    for (uint32_t i = 0; i < bytes; i++) {
        if (!find_byte(plain, load, place->variable, place->offset + i, i ? &next : found)) return false;
        if (i && (next.parameter != found->parameter || next.offset != found->offset + i)) return false;
    }
    return (found->parameter->offset + found->offset) % bytes == 0;
}

static bool collect_stores(struct plain *plain)
{
    const struct ptx_function *function = plain->copy;
    uint32_t *stores = arena_calloc(plain->arena, function->instruction_count + 1, sizeof *stores);
    for (uint32_t i = 0; stores && i < function->instruction_count; i++)
        if (ptx_is_store(&function->instructions[i]) && is_reachable(plain, i))
            stores[plain->store_count++] = i;
    plain->stores = stores;
    return stores;
}

static bool has_local(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->variable_count; i++)
        if (function->variables[i]->space == PTX_LOCAL) return true;
    return false;
}

static bool name_copies(struct plain *plain)
{
    uint32_t instruction;
    if (!has_local(plain->copy) || places_obstacle(&plain->places, PLACE_LOCAL, &instruction)) return true;
    if (!collect_stores(plain)) return false;
    if (plain->store_count > MOST_STORES) return true;
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        struct ptx_instruction *load = &plain->copy->instructions[i];
        struct parameter_bytes found;
        if (!is_plain_load(load) || !is_reachable(plain, i)) continue;
        struct place place = places_of_access(&plain->places, i);
        uint32_t bytes = ptx_access_bytes(load);
        if (place.kind != PLACE_LOCAL || bytes > MOST_BYTES || !is_inside(&place, bytes) ||
            !find_bytes(plain, i, &place, bytes, &found))
            continue;
        if (!load_bytes(plain, load, found)) return false;
    }
    return true;
}

/* --- local variables that are copies of one parameter, whole ------------------------------------------ */

struct whole { /* byte b of the variable is byte b + distance of the parameter, or never written */
    const struct ptx_variable *variable, *parameter;
    int64_t distance;
    uint32_t stores;
};

static bool is_at(const struct plain *plain, uint32_t instruction, const struct ptx_variable *variable)
{
    const struct ptx_instruction *access = &plain->copy->instructions[instruction];
    if (!ptx_is_load(access) && !ptx_is_store(access)) return false;
    struct place place = places_of_access(&plain->places, instruction);
    return is_reachable(plain, instruction) && place.kind == PLACE_LOCAL &&
           (!place.variable || place.variable == variable);
}

static bool is_copied(const struct plain *plain, uint32_t at, struct whole *whole)
{
    const struct ptx_instruction *store = &plain->copy->instructions[at];
    struct place place = places_of_access(&plain->places, at);
    if (!place.variable || !place.is_known || store->guard >= 0 || store->type_count != 1) return false;
    uint32_t width = ptx_type_bytes(store->types[0]);
    for (uint32_t e = 0; e < (store->vector > 1 ? store->vector : 1); e++) {
        const struct ptx_operand *value = element_of(&store->operands[1], e);
        struct parameter_bytes from;
        if (value->kind != PTX_OPERAND_REGISTER || value->component ||
            !find_load(plain, ssa_use(plain->places.ssa, at, value->reg), width, &from))
            return false;
        int64_t distance = from.offset - place.offset - e * width;
        if (whole->parameter && (from.parameter != whole->parameter || distance != whole->distance))
            return false;
        whole->parameter = from.parameter;
        whole->distance = distance;
    }
    whole->stores++;
    return true;
}

/* Nothing else is written to it, nor read before; and it lies as the parameter does. */
static bool is_whole(const struct plain *plain, struct whole *whole)
{
    const struct ptx_function *function = plain->copy;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (is_at(plain, i, whole->variable) && ptx_is_store(&function->instructions[i]) &&
            !is_copied(plain, i, whole))
            return false;
    uint32_t alignment = whole->variable->alignment ? whole->variable->alignment : 1;
    if (!whole->stores || whole->distance % alignment || whole->parameter->alignment < alignment)
        return false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!is_at(plain, i, whole->variable) || !ptx_is_load(&function->instructions[i])) continue;
        struct place place = places_of_access(&plain->places, i);
        int64_t from = place.offset + whole->distance;
        int64_t bytes = ptx_access_bytes(&function->instructions[i]);
        bool is_in = !place.is_known || (from >= 0 && from + bytes <= (int64_t)whole->parameter->size);
        if (!place.variable || !is_in || !is_plain_load(&function->instructions[i])) return false;
        for (uint32_t s = 0; s < plain->store_count; s++)
            if (is_at(plain, plain->stores[s], whole->variable) && !comes_before(plain, plain->stores[s], i))
                return false;
    }
    return true;
}

/* The operand as an address in the parameter. */
static struct ptx_operand moved_operand(struct ptx_operand operand, const struct whole *whole)
{
    if (operand.variable != whole->variable) return operand;
    operand.variable = whole->parameter;
    operand.symbol = whole->parameter->name;
    operand.value += whole->distance;
    return operand;
}

/* Its address is moved to registers only; of others, it may be one that is not looked at. */
static bool is_only_moved(const struct plain *plain, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        const struct ptx_instruction *instruction = &plain->copy->instructions[i];
        for (uint32_t o = 0; o < instruction->operand_count; o++) {
            const struct ptx_operand *operand = &instruction->operands[o];
            bool is_move = instruction->opcode == PTX_OP_MOV && operand->kind == PTX_OPERAND_SYMBOL;
            if (operand->variable == variable && !is_move && !is_at(plain, i, variable)) return false;
            if (operand->variable == variable && !is_reachable(plain, i)) return false;
        }
    }
    return true;
}

/* In place of a store that nobody needs: the register is read nowhere. */
static bool leave_out(struct plain *plain, struct ptx_instruction *store)
{
    struct ptx_function *copy = plain->copy;
    struct ptx_operand none = {.kind = PTX_OPERAND_INTEGER, .reg = -1, .label = -1};
    if (!plain->dropped) {
        uint32_t count = copy->register_count;
        struct ptx_register *registers = arena_calloc(plain->arena, count + 1, sizeof *registers);
        if (!registers) return false;
        memcpy(registers, copy->registers, count * sizeof *registers);
        registers[count] = (struct ptx_register){.name = "%dropped", .type = PTX_B64, .vector = 1};
        copy->registers = registers;
        copy->register_count = count + 1;
        plain->dropped = count;
    }
    struct ptx_operand to = {.kind = PTX_OPERAND_REGISTER, .reg = (int32_t)plain->dropped, .label = -1};
    store->operands = &to;
    store->vector = 1;
    return make_move(plain, store, none);
}

static bool holds_local(const struct plain *plain, uint32_t instruction, const struct ptx_variable *variable)
{
    const struct ssa_list *definitions = &plain->places.ssa->definitions[instruction];
    const struct place *place =
        definitions->count == 1 ? &plain->places.of[definitions->items[0].value] : NULL;
    return place && place->kind == PLACE_LOCAL && place->variable == variable;
}

static bool move_whole(struct plain *plain, const struct whole *whole)
{
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        struct ptx_instruction *instruction = &plain->copy->instructions[i];
        bool is_access = is_at(plain, i, whole->variable);
        bool done = true;
        if (is_access && ptx_is_store(instruction))
            done = leave_out(plain, instruction);
        else if (is_access)
            done = load_parameter(plain, instruction, moved_operand(instruction->operands[1], whole));
        else if (holds_local(plain, i, whole->variable) &&
                 (instruction->opcode == PTX_OP_CVTA || instruction->opcode == PTX_OP_MOV))
            done = make_move(plain, instruction, moved_operand(instruction->operands[1], whole));
        if (!done) return false;
    }
    return true;
}

static bool drop_variable(struct plain *plain, const struct ptx_variable *variable)
{
    struct ptx_function *copy = plain->copy;
    struct ptx_variable **kept = arena_calloc(plain->arena, copy->variable_count + 1, sizeof *kept);
    uint32_t count = 0;
    for (uint32_t i = 0; kept && i < copy->variable_count; i++)
        if (copy->variables[i] != variable) kept[count++] = copy->variables[i];
    copy->variables = kept;
    copy->variable_count = count;
    return kept;
}

/* Each such variable's loads are of the parameter, wherever they read. */
static bool move_copies(struct plain *plain)
{
    uint32_t instruction;
    const struct ptx_function before = *plain->copy;
    if (!has_local(plain->copy) || plain->store_count > MOST_STORES ||
        places_obstacle(&plain->places, PLACE_LOCAL, &instruction))
        return true;
    for (uint32_t v = 0; v < before.variable_count; v++) {
        struct whole whole = {.variable = before.variables[v]};
        if (whole.variable->space != PTX_LOCAL || !is_only_moved(plain, whole.variable) ||
            !is_whole(plain, &whole))
            continue;
        if (!move_whole(plain, &whole) || !drop_variable(plain, whole.variable)) return false;
        plain->store_count = 0;
        if (!examine(plain) || !name_loads(plain) || !collect_stores(plain)) return false;
    }
    return true;
}

/* --- addresses that stay ----------------------------------------------------------------------------- */

static void want(bool *wanted, uint32_t value, uint32_t *stack, uint32_t *depth)
{
    if (value == SSA_NO_VALUE || wanted[value]) return;
    wanted[value] = true;
    stack[(*depth)++] = value;
}

static bool holds_parameter(const struct plain *plain, uint32_t instruction)
{
    const struct ssa_list *definitions = &plain->places.ssa->definitions[instruction];
    return definitions->count == 1 && plain->places.of[definitions->items[0].value].kind == PLACE_PARAMETER;
}

/* Values that something but the computing of addresses needs, by SSA value. */
static bool *find_wanted(const struct plain *plain)
{
    const struct ssa *ssa = plain->places.ssa;
    bool *wanted = arena_calloc(plain->arena, ssa->value_count + 1, sizeof *wanted);
    uint32_t *stack = arena_calloc(plain->arena, ssa->value_count + 1, sizeof *stack), depth = 0;
    if (!wanted || !stack) return NULL;
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++)
        for (uint32_t u = 0; !holds_parameter(plain, i) && u < ssa->uses[i].count; u++)
            want(wanted, ssa->uses[i].items[u].value, stack, &depth);
    while (depth) {
        const struct ssa_value *value = &ssa->values[stack[--depth]];
        want(wanted, value->previous, stack, &depth);
        if (value->kind == SSA_PHI) {
            uint32_t count = ssa->dominators->cfg->blocks[value->block].predecessor_count;
            for (uint32_t p = 0; p < count; p++) want(wanted, value->arguments[p], stack, &depth);
        } else if (value->kind == SSA_DEFINITION) {
            const struct ssa_list *uses = &ssa->uses[value->instruction];
            for (uint32_t u = 0; u < uses->count; u++) want(wanted, uses->items[u].value, stack, &depth);
        }
    }
    return wanted;
}

static bool clear_unwanted(struct plain *plain)
{
    const struct ssa *ssa = plain->places.ssa;
    const struct ptx_operand zero = {.kind = PTX_OPERAND_INTEGER, .reg = -1, .label = -1};
    bool *wanted = find_wanted(plain);
    if (!wanted) return false;
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++)
        if (holds_parameter(plain, i) && !wanted[ssa->definitions[i].items[0].value] &&
            !make_move(plain, &plain->copy->instructions[i], zero))
            return false;
    return true;
}

/* All in the parameter space. */
static bool leave_generic(struct plain *plain)
{
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        struct ptx_instruction *instruction = &plain->copy->instructions[i];
        if (!is_reachable(plain, i)) continue;
        if (instruction->opcode == PTX_OP_CVTA && holds_parameter(plain, i)) {
            if (!make_move(plain, instruction, instruction->operands[1])) return false;
        } else if (is_plain_load(instruction) && instruction->space == PTX_GENERIC &&
                   places_of_access(&plain->places, i).kind == PLACE_PARAMETER) {
            if (!load_parameter(plain, instruction, instruction->operands[1])) return false;
        }
    }
    return true;
}

/* A load of a parameter that would not become one of the parameter space, or of it from nobody knows where. */
static bool has_other_load(const struct plain *plain, uint32_t *instruction)
{
    for (uint32_t i = 0; i < plain->copy->instruction_count; i++) {
        const struct ptx_instruction *load = &plain->copy->instructions[i];
        const struct ptx_operand *address = ptx_is_load(load) ? ptx_address_operand(load) : NULL;
        *instruction = i;
        if (!address || address->reg < 0 || !is_reachable(plain, i)) continue;
        bool is_known = places_of_access(&plain->places, i).kind == PLACE_PARAMETER;
        if (is_known ? !is_plain_load(load) : load->space == PTX_PARAM) return true;
    }
    return false;
}

static bool rewrite(struct plain *plain)
{
    uint32_t instruction;
    if (!examine(plain) || !name_loads(plain) || !name_copies(plain) || !move_copies(plain)) return false;
    if (!places_are_taken(plain->copy)) return true;
    if (!examine(plain) || !clear_unwanted(plain)) return false;
    if (!places_are_taken(plain->copy)) return true;
    if (!examine(plain)) return false;
    bool is_opaque =
        places_obstacle(&plain->places, PLACE_PARAMETER, &instruction) || has_other_load(plain, &instruction);
    return is_opaque || leave_generic(plain);
}

const struct ptx_function *plain_parameters(struct arena *arena, const struct ptx_function *function)
{
    struct plain plain = {.arena = arena};
    size_t size = function->instruction_count * sizeof *function->instructions;
    if (!places_are_taken(function) && !has_local(function)) return function;
    plain.copy = arena_alloc(arena, sizeof *plain.copy);
    if (!plain.copy) return function;
    *plain.copy = *function;
    plain.copy->instructions = arena_alloc(arena, size + 1);
    if (!plain.copy->instructions) return function;
    memcpy(plain.copy->instructions, function->instructions, size);
    return rewrite(&plain) ? plain.copy : function;
}

const struct ptx_function *plain_function(struct arena *arena, const struct ptx_function *function)
{
    const struct ptx_function *plain = plain_parameters(arena, inline_calls(arena, function));
    return chosen_loads_split(arena, chosen_arrays_split(arena, plain));
}

/* Each instruction keeps its text; what is new has another one's. */
bool plain_is_renumbered(const struct ptx_function *function, const struct ptx_function *plain)
{
    bool is_same = function->instruction_count == plain->instruction_count;
    for (uint32_t i = 0; is_same && i < plain->instruction_count; i++)
        is_same = function->instructions[i].text.text == plain->instructions[i].text.text;
    return !is_same;
}

static bool has_computed_load(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_operand *address = ptx_address_operand(&function->instructions[i]);
        if (address && address->reg >= 0 && function->instructions[i].space == PTX_PARAM) return true;
    }
    return false;
}

const char *plain_obstacle(struct arena *arena, const struct ssa *ssa, uint32_t *instruction)
{
    struct plain plain = {.arena = arena, .copy = (struct ptx_function *)ssa->dominators->cfg->function};
    if (!places_are_taken(plain.copy) && !has_computed_load(plain.copy)) return NULL;
    *instruction = 0;
    if (!places_find(&plain.places, arena, ssa)) return "out of memory";
    const char *why = places_obstacle(&plain.places, PLACE_PARAMETER, instruction);
    if (why) return why;
    return has_other_load(&plain, instruction) ? "reads a parameter in a way that no other place has" : NULL;
}
