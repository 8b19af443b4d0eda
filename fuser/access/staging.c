/* SPDX-License-Identifier: Apache-2.0
 * See staging.h. The function is analysed with numbers for the addresses of its shared variables, each far from the others. */
#include "fuser/access/staging.h"

#include "fuser/access/analysis.h"
#include "fuser/access/overlap.h"

#include <isl/constraint.h>
#include <stdlib.h>
#include <string.h>

enum {
    VARIABLE_SHIFT = 20,
    MOST_VARIABLES = 64,
    MOST_BARRIERS = 16,
    MOST_STORES = 256,
    MOST_DEPTH = 16,
    MOST_ORIGINS = 16
};

struct chain { /* conversions, the last one first */
    uint32_t of[STAGING_MOST_CONVERSIONS], count;
};
struct origin { /* of the values that a store stores */
    isl_set *instances;
    uint32_t load; /* UINT32_MAX: a number */
    isl_map *bytes;
    uint32_t argument;
    const struct ptx_operand *number;
    struct chain chain;
};
struct store {
    uint32_t instruction, phase, width;
    isl_map *bytes;
    struct origin origins[MOST_ORIGINS];
    uint32_t origin_count;
};
struct finding {
    struct staging *staging;
    struct analysis *analysis;
    const struct ptx_function *function; /* without the numbers */
    const struct ptx_variable *variables[MOST_VARIABLES];
    uint32_t widths[MOST_VARIABLES], variable_count;
    uint32_t barriers[MOST_BARRIERS], barrier_count;
    bool *is_behind[MOST_BARRIERS]; /* block -> the barrier may be run before it */
    struct store *stores;
    uint32_t store_count;
    bool is_told;
};

/* --- the function with numbers ----------------------------------------------------------------------- */

/* All arrays of no size lie in one place. */
static int64_t number_of(struct finding *finding, const struct ptx_variable *variable)
{
    uint32_t v = 0;
    while (v < finding->variable_count && finding->variables[v] != variable &&
           (finding->variables[v]->size || variable->size))
        v++;
    if (v == MOST_VARIABLES) return 0;
    if (v == finding->variable_count) finding->variables[finding->variable_count++] = variable;
    return (int64_t)(v + 1) << VARIABLE_SHIFT;
}

static bool number_operand(struct finding *finding, const struct ptx_instruction *instruction,
                           struct ptx_operand *operand)
{
    if (operand->element_count || !operand->variable || operand->variable->space != PTX_SHARED)
        return !operand->element_count || !ptx_address_operand(instruction) ||
               ptx_address_operand(instruction) != operand;
    int64_t number = number_of(finding, operand->variable);
    bool is_move = instruction->opcode == PTX_OP_MOV && instruction->type_count == 1 &&
                   ptx_type_bytes(instruction->types[0]) == 4;
    if (!number || operand->reg >= 0 || (!is_move && instruction->space != PTX_SHARED)) return false;
    operand->variable = NULL;
    operand->symbol = NULL;
    operand->value += number;
    operand->text = (struct ptx_span){0};
    if (operand->kind == PTX_OPERAND_SYMBOL) operand->kind = PTX_OPERAND_INTEGER;
    return true;
}

static bool names_shared(const struct ptx_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((operands[i].variable && operands[i].variable->space == PTX_SHARED) ||
            names_shared(operands[i].elements, operands[i].element_count))
            return true;
    return false;
}

static const struct ptx_function *with_numbers(struct finding *finding, struct arena *arena)
{
    const struct ptx_function *function = finding->function;
    struct ptx_function *copy = arena_alloc(arena, sizeof *copy);
    struct ptx_instruction *instructions =
        arena_calloc(arena, function->instruction_count + 1, sizeof *instructions);
    if (!copy || !instructions) return NULL;
    memcpy(instructions, function->instructions, function->instruction_count * sizeof *instructions);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        struct ptx_instruction *instruction = &instructions[i];
        if (!names_shared(instruction->operands, instruction->operand_count)) continue;
        struct ptx_operand *operands = arena_calloc(arena, instruction->operand_count, sizeof *operands);
        if (!operands) return NULL;
        memcpy(operands, instruction->operands, instruction->operand_count * sizeof *operands);
        instruction->operands = operands;
        for (uint32_t k = 0; k < instruction->operand_count; k++)
            if (!number_operand(finding, instruction, &operands[k])) return NULL;
    }
    *copy = *function;
    copy->instructions = instructions;
    return copy;
}

bool staging_may_be(const struct ptx_function *function)
{
    bool stores = false, loads = false, waits = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
        bool is_shared = instruction->space == PTX_SHARED;
        stores |= is_shared && ptx_is_store(instruction);
        loads |= is_shared && ptx_is_load(instruction);
        waits |= ptx_is_block_barrier(instruction);
        if (class == PTX_CLASS_WARP || class == PTX_CLASS_FENCE || class == PTX_CLASS_ATOMIC ||
            (is_shared && !ptx_is_store(instruction) && !ptx_is_load(instruction)))
            return false;
    }
    return stores && loads && waits;
}

/* --- barriers ---------------------------------------------------------------------------------------- */

static uint32_t block_of(const struct finding *finding, uint32_t instruction)
{
    return finding->analysis->cfg->block_of[instruction];
}

static void walk_behind(const struct finding *finding, bool *is_behind, uint32_t from, uint32_t *stack)
{
    const struct ptx_cfg *cfg = finding->analysis->cfg;
    uint32_t depth = 0;
    stack[depth++] = from;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            if (is_behind[block->successors[s]]) continue;
            is_behind[block->successors[s]] = true;
            stack[depth++] = block->successors[s];
        }
    }
}

/* In no loop, and for all threads of the block that are still there. */
static bool is_plain_barrier(const struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    return instruction->guard < 0 && instruction->operand_count == 1 &&
           instruction->operands[0].kind == PTX_OPERAND_INTEGER && instruction->operands[0].value == 0 &&
           !ptx_has_modifier(instruction, PTX_MOD_RED) && !ptx_has_modifier(instruction, PTX_MOD_ARRIVE) &&
           !ptx_has_modifier(instruction, PTX_MOD_CLUSTER) &&
           finding->analysis->forest->loop_of[block_of(finding, number)] == LOOPS_NONE;
}

static bool find_barriers(struct finding *finding)
{
    struct analysis *analysis = finding->analysis;
    uint32_t blocks = analysis->cfg->block_count;
    uint32_t *stack = arena_calloc(analysis->arena, blocks + 1, sizeof *stack);
    for (uint32_t i = 0; stack && i < finding->function->instruction_count; i++) {
        if (!ptx_is_block_barrier(&finding->function->instructions[i]) ||
            !dominators_is_reachable(analysis->dominators, block_of(finding, i)))
            continue;
        bool *is_behind = arena_calloc(analysis->arena, blocks + 1, sizeof *is_behind);
        if (!is_behind || finding->barrier_count == MOST_BARRIERS || !is_plain_barrier(finding, i))
            return false;
        walk_behind(finding, is_behind, block_of(finding, i), stack);
        finding->is_behind[finding->barrier_count] = is_behind;
        finding->barriers[finding->barrier_count++] = i;
    }
    return stack;
}

/* How many barriers a thread has passed that comes to the instruction; false: that depends on its way. */
static bool find_phase(const struct finding *finding, uint32_t instruction, uint32_t *phase)
{
    uint32_t block = block_of(finding, instruction);
    *phase = 0;
    for (uint32_t b = 0; b < finding->barrier_count; b++) {
        uint32_t barrier = finding->barriers[b], own = block_of(finding, barrier);
        bool comes_before = own == block ? barrier < instruction
                                         : dominators_dominates(finding->analysis->dominators, own, block);
        if (!comes_before && own != block && finding->is_behind[b][block]) return false;
        *phase += comes_before;
    }
    return true;
}

/* --- accesses ---------------------------------------------------------------------------------------- */

static bool is_plain_access(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                               PTX_MOD_RELEASE, PTX_MOD_MMIO};
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (ptx_has_modifier(instruction, strong[i])) return false;
    return (instruction->opcode == PTX_OP_LD || instruction->opcode == PTX_OP_ST) &&
           instruction->operand_count == 2 && instruction->type_count == 1;
}

/* The bytes that hull spans lie in one variable, all of whose accesses are so wide. */
static bool fits_variable(struct finding *finding, const struct range *hull, uint32_t width)
{
    wide v = (hull->low >> VARIABLE_SHIFT) - 1;
    if (v < 0 || v >= (wide)finding->variable_count) return false;
    const struct ptx_variable *variable = finding->variables[v];
    wide size = variable->size ? (wide)variable->size : (wide)finding->analysis->input->dynamic_shared;
    if (size > 1 << VARIABLE_SHIFT || hull->high + width > ((v + 1) << VARIABLE_SHIFT) + size) return false;
    if (!finding->widths[v]) finding->widths[v] = width;
    return finding->widths[v] == width;
}

static unsigned depth_of(const struct analysis *analysis, uint32_t block)
{
    int32_t loop = analysis->forest->loop_of[block];
    return loop == LOOPS_NONE ? 0 : analysis->forest->loops[loop].depth;
}

/* The address of a register and a number, as a number of 32 bits. */
static isl_pw_aff *address_form(struct analysis *analysis, const struct ptx_operand *operand,
                                struct range *range)
{
    const struct value *value;
    if (operand->reg < 0) {
        *range = range_point(operand->value);
        return affine_constant(analysis, operand->value);
    }
    struct ptx_operand reg = {
        .kind = PTX_OPERAND_REGISTER, .reg = operand->reg, .component = operand->component};
    value = operand_value(analysis, &reg, 32);
    if (value->kind != VALUE_INTEGER) return NULL;
    sources_use(analysis, value->sources);
    isl_pw_aff *form = value_as_unsigned(analysis, value, range);
    *range = range_add(*range, range_point(operand->value));
    return form ? affine_shift(analysis, form, operand->value) : NULL;
}

/* { L[...] -> [number of the byte] }; NULL: not known. *is_idle: no thread runs it. */
static isl_map *describe(struct finding *finding, uint32_t number, bool *is_exact, bool *is_idle)
{
    struct analysis *analysis = finding->analysis;
    const struct ptx_instruction *instruction = &analysis->function->instructions[number];
    const struct ptx_operand *operand = ptx_address_operand(instruction);
    struct range range;
    isl_map *bytes = NULL;
    instances_enter(analysis, block_of(finding, number));
    analysis->instruction = number;
    struct instances run = access_instances(analysis, instruction);
    *is_exact = run.is_exact;
    *is_idle = isl_set_is_empty(run.set) == isl_bool_true;
    isl_pw_aff *form = operand && run.set && !*is_idle ? address_form(analysis, operand, &range) : NULL;
    if (form) affine_bounds(analysis, form, run.set, &range);
    if (form && fits_variable(finding, &range, ptx_access_bytes(instruction)))
        bytes = access_relation(analysis, form, run.set, depth_of(analysis, analysis->block));
    else
        isl_pw_aff_free(form);
    isl_set_free(run.set);
    return bytes;
}

/* --- what stores store ------------------------------------------------------------------------------- */

/* Takes the instances. */
static bool add_origin(struct store *store, struct origin source)
{
    if (store->origin_count == MOST_ORIGINS || !source.instances ||
        (source.load != UINT32_MAX && !source.bytes)) {
        isl_set_free(source.instances);
        isl_map_free(source.bytes);
        return false;
    }
    store->origins[store->origin_count++] = source;
    return true;
}

/* A number of the store's own kind. */
static bool add_number(const struct finding *finding, struct store *store, const struct ptx_operand *operand,
                       isl_set *instances)
{
    enum ptx_type type = finding->function->instructions[store->instruction].types[0];
    bool is_float = operand->kind == PTX_OPERAND_FLOAT;
    if (is_float != ptx_type_is_float(type) || (is_float && operand->is_float64 != (type == PTX_F64))) {
        isl_set_free(instances);
        return false;
    }
    return add_origin(store, (struct origin){.instances = instances, .load = UINT32_MAX, .number = operand});
}

static const struct access *access_of(const struct finding *finding, uint32_t instruction)
{
    const struct access_summary *summary = finding->analysis->summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction) return &summary->accesses[i];
    return NULL;
}

/* The element of a vector that the register gets. */
static uint32_t element_of(const struct ptx_instruction *load, int32_t reg)
{
    const struct ptx_operand *to = &load->operands[0];
    for (uint32_t e = 0; e < to->element_count; e++)
        if (to->elements[e].reg == reg) return e;
    return 0;
}

static bool add_loaded(struct finding *finding, struct store *store, const struct ssa_value *value,
                       isl_set *instances, const struct chain *chain)
{
    struct analysis *analysis = finding->analysis;
    const struct ptx_instruction *load = &finding->function->instructions[value->instruction];
    const struct access *access = access_of(finding, value->instruction);
    uint32_t bytes = ptx_type_bytes(load->types[0]);
    const struct access_base *base = access ? &analysis->summary->bases[access->base] : NULL;
    bool is_known = access && access->relation && access->address_is_exact &&
                    (chain->count || bytes == store->width) && load->space == PTX_GLOBAL &&
                    is_plain_access(load) && base->kind == ACCESS_BASE_ARGUMENT && access_has_word(base) &&
                    analysis->forest->loop_of[block_of(finding, value->instruction)] ==
                        analysis->forest->loop_of[block_of(finding, store->instruction)];
    if (!is_known) {
        isl_set_free(instances);
        return false;
    }
    int64_t distance = (int64_t)element_of(load, value->reg) * bytes;
    return add_origin(store, (struct origin){.instances = instances,
                                             .load = value->instruction,
                                             .bytes = overlap_moved(isl_map_copy(access->relation), distance),
                                             .argument = base->argument_offset,
                                             .chain = *chain});
}

static bool trace(struct finding *finding, struct store *store, uint32_t value, isl_set *instances,
                  const struct chain *chain, unsigned depth);

/* As the store's relation has them. */
static isl_set *in_loop(const struct finding *finding, const struct store *store, isl_set *set)
{
    struct analysis *analysis = finding->analysis;
    unsigned kept = ACCESS_THREAD_DIMENSIONS + depth_of(analysis, block_of(finding, store->instruction));
    set = isl_set_project_out(set, isl_dim_set, kept, analysis->dimensions - kept);
    return isl_set_set_tuple_name(set, "L");
}

static bool trace_phi(struct finding *finding, struct store *store, const struct ssa_value *phi,
                      isl_set *instances, const struct chain *chain, unsigned depth)
{
    struct analysis *analysis = finding->analysis;
    const struct ptx_block *block = &analysis->cfg->blocks[phi->block];
    int32_t loop = analysis->forest->loop_of[phi->block];
    bool is = loop == analysis->forest->loop_of[block_of(finding, store->instruction)];
    for (uint32_t p = 0; is && p < block->predecessor_count; p++) {
        uint32_t from = block->predecessors[p];
        if (!dominators_is_reachable(analysis->dominators, from)) continue;
        if (loops_is_back_edge(analysis->forest, from, phi->block) ||
            (p > 0 && block->predecessors[p - 1] == from)) {
            is = false;
            break;
        }
        struct instances edge = instances_of_edge(analysis, from, phi->block, loop);
        isl_set *set = isl_set_intersect(isl_set_copy(instances), in_loop(finding, store, edge.set));
        isl_bool is_empty = isl_set_is_empty(set);
        is = edge.is_exact && is_empty != isl_bool_error;
        if (is && !is_empty)
            is = trace(finding, store, phi->arguments[p], isl_set_copy(set), chain, depth + 1);
        isl_set_free(set);
    }
    isl_set_free(instances);
    return is;
}

/* A number of the width that is stored, from a register or as it is. */
static bool is_move(const struct store *store, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *operands = instruction->operands;
    return instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2 &&
           instruction->type_count == 1 && operands[0].kind == PTX_OPERAND_REGISTER &&
           !operands[1].is_negated && !operands[1].component &&
           ptx_type_bytes(instruction->types[0]) == store->width;
}

static bool is_conversion(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_CVT && instruction->operand_count == 2 &&
           instruction->operands[0].kind == PTX_OPERAND_REGISTER &&
           instruction->operands[1].kind == PTX_OPERAND_REGISTER && !instruction->operands[0].component &&
           !instruction->operands[1].component && !instruction->operands[1].is_negated;
}

/* Of an instruction's result. Takes the instances. */
static bool trace_definition(struct finding *finding, struct store *store, const struct ssa_value *value,
                             isl_set *instances, const struct chain *chain, unsigned depth)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[value->instruction];
    const struct ptx_operand *from = instruction->operand_count == 2 ? &instruction->operands[1] : NULL;
    struct chain longer = *chain;
    if (ptx_is_load(instruction)) return add_loaded(finding, store, value, instances, chain);
    if (!chain->count && is_move(store, instruction) &&
        (from->kind == PTX_OPERAND_FLOAT || from->kind == PTX_OPERAND_INTEGER))
        return add_number(finding, store, from, instances);
    if (is_conversion(instruction) && chain->count < STAGING_MOST_CONVERSIONS &&
        (chain->count || ptx_type_bytes(instruction->types[0]) == store->width))
        longer.of[longer.count++] = value->instruction;
    else if (chain->count || !is_move(store, instruction) || from->kind != PTX_OPERAND_REGISTER)
        from = NULL;
    if (from)
        return trace(finding, store, ssa_use(finding->analysis->ssa, value->instruction, from->reg),
                     instances, &longer, depth + 1);
    isl_set_free(instances);
    return false;
}

/* Takes the instances. */
static bool trace(struct finding *finding, struct store *store, uint32_t value, isl_set *instances,
                  const struct chain *chain, unsigned depth)
{
    const struct ssa_value *info = &finding->analysis->ssa->values[value];
    if (depth < MOST_DEPTH && info->kind == SSA_PHI)
        return trace_phi(finding, store, info, instances, chain, depth);
    if (depth < MOST_DEPTH && info->kind == SSA_DEFINITION &&
        finding->function->instructions[info->instruction].guard < 0)
        return trace_definition(finding, store, info, instances, chain, depth);
    isl_set_free(instances);
    return false;
}

static bool add_store(struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    struct store *store = &finding->stores[finding->store_count];
    bool is_exact, is_idle;
    if (finding->store_count == MOST_STORES || !is_plain_access(instruction) || instruction->vector != 1)
        return false;
    *store = (struct store){.instruction = number, .width = ptx_access_bytes(instruction)};
    finding->store_count++;
    if (!find_phase(finding, number, &store->phase)) return false;
    store->bytes = describe(finding, number, &is_exact, &is_idle);
    if (is_idle) return true;
    if (!store->bytes || !is_exact) return false;
    const struct ptx_operand *from = &instruction->operands[1];
    isl_set *instances = isl_map_domain(isl_map_copy(store->bytes));
    if (from->kind == PTX_OPERAND_FLOAT || from->kind == PTX_OPERAND_INTEGER)
        return add_number(finding, store, from, instances);
    if (from->kind == PTX_OPERAND_REGISTER && !from->component && !from->is_negated)
        return trace(finding, store, ssa_use(finding->analysis->ssa, number, from->reg), instances,
                     &(struct chain){.count = 0}, 0);
    isl_set_free(instances);
    return false;
}

/* --- what loads read --------------------------------------------------------------------------------- */

struct piece {
    isl_map *bytes; /* { L -> [byte] }, or { L -> [0] } of a number */
    struct staged_piece staged;
    bool is_taken;
};
struct reading { /* of one load */
    struct finding *finding;
    isl_map *bytes;
    uint32_t phase, width;
    struct piece pieces[STAGING_MOST_PIECES];
    uint32_t piece_count;
};

/* { L -> L' : in one block }, and what they access is the same byte */
static isl_map *writers_of(const struct reading *reading, const struct store *store)
{
    isl_map *map =
        isl_map_apply_range(isl_map_copy(reading->bytes), isl_map_reverse(isl_map_copy(store->bytes)));
    for (int d = 0; map && d < 3; d++) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    return map;
}

static isl_map *sum_map(isl_ctx *ctx, const struct staged_sum *sum)
{
    isl_space *space = isl_space_alloc(ctx, 0, ACCESS_THREAD_DIMENSIONS, 1);
    space = isl_space_set_tuple_name(space, isl_dim_in, "L");
    isl_constraint *equal = isl_constraint_alloc_equality(isl_local_space_from_space(isl_space_copy(space)));
    equal = isl_constraint_set_coefficient_si(equal, isl_dim_out, 0, -1);
    equal = isl_constraint_set_constant_val(equal, isl_val_int_from_si(ctx, sum->constant));
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++)
        equal =
            isl_constraint_set_coefficient_val(equal, isl_dim_in, d, isl_val_int_from_si(ctx, sum->of[d]));
    return isl_map_add_constraint(isl_map_universe(space), equal);
}

static bool small_number(__isl_take isl_val *value, int64_t *number)
{
    bool is = isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT32_MIN) >= 0 &&
              isl_val_cmp_si(value, INT32_MAX) <= 0;
    if (is) *number = isl_val_get_num_si(value);
    isl_val_free(value);
    return is;
}

/* byte = sum, where the constraint says just that. */
static bool read_equality(isl_constraint *constraint, struct staged_sum *sum)
{
    int64_t out;
    isl_val *constant = isl_constraint_get_constant_val(constraint);
    if (isl_constraint_is_equality(constraint) != isl_bool_true ||
        isl_constraint_is_div_constraint(constraint) == isl_bool_true ||
        !small_number(isl_constraint_get_coefficient_val(constraint, isl_dim_out, 0), &out) ||
        (out != 1 && out != -1) || isl_val_is_int(constant) != isl_bool_true ||
        isl_val_cmp_si(constant, INT32_MAX) > 0 || isl_val_cmp_si(constant, -(long)INT32_MAX) < 0) {
        isl_val_free(constant);
        return false;
    }
    sum->constant = -out * isl_val_get_num_si(constant);
    isl_val_free(constant);
    for (int d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) {
        if (!small_number(isl_constraint_get_coefficient_val(constraint, isl_dim_in, d), &sum->of[d]))
            return false;
        sum->of[d] *= -out;
    }
    return true;
}

/* The bytes as a sum of the thread's coordinates. */
static bool find_sum(isl_map *bytes, struct staged_sum *sum)
{
    bool found = false;
    isl_basic_map *hull = isl_map_affine_hull(isl_map_copy(bytes));
    isl_constraint_list *list = hull ? isl_basic_map_get_constraint_list(hull) : NULL;
    isl_size count = list ? isl_constraint_list_size(list) : 0;
    for (int i = 0; !found && i < count && isl_basic_map_dim(hull, isl_dim_div) == 0; i++) {
        isl_constraint *constraint = isl_constraint_list_get_constraint(list, i);
        found = read_equality(constraint, sum);
        isl_constraint_free(constraint);
    }
    isl_constraint_list_free(list);
    isl_basic_map_free(hull);
    return found;
}

/* Takes the bytes, which are NULL for a number, and the threads. */
static bool keep_piece(struct reading *reading, const struct origin *origin, isl_set *threads, isl_map *bytes)
{
    struct piece *piece = &reading->pieces[reading->piece_count];
    bool is_number = origin->load == UINT32_MAX;
    if (!threads || (!bytes && !is_number) || reading->piece_count == STAGING_MOST_PIECES) {
        isl_set_free(threads);
        isl_map_free(bytes);
        return false;
    }
    *piece = (struct piece){.bytes = bytes,
                            .staged = {.threads = threads,
                                       .load = origin->load,
                                       .argument = origin->argument,
                                       .number = origin->number,
                                       .conversion_count = origin->chain.count}};
    memcpy(piece->staged.conversions, origin->chain.of, sizeof piece->staged.conversions);
    reading->piece_count++;
    return is_number || find_sum(bytes, &piece->staged.from);
}

/* Where no one sum tells the bytes, as of an index that is clamped: each part with its own. Takes the bytes. */
static bool keep_parts(struct reading *reading, const struct origin *origin, isl_map *bytes)
{
    struct staged_sum sum;
    if (find_sum(bytes, &sum))
        return keep_piece(reading, origin, isl_set_coalesce(isl_map_domain(isl_map_copy(bytes))), bytes);
    bytes = isl_map_make_disjoint(bytes);
    isl_basic_map_list *list = bytes ? isl_map_get_basic_map_list(bytes) : NULL;
    isl_size count = list ? isl_basic_map_list_size(list) : 0;
    bool is = count > 1;
    for (int i = 0; is && i < count; i++) {
        isl_map *part = isl_map_from_basic_map(isl_basic_map_list_get_basic_map(list, i));
        is = keep_piece(reading, origin, isl_map_domain(isl_map_copy(part)), part);
    }
    isl_basic_map_list_free(list);
    isl_map_free(bytes);
    return is;
}

/* Takes the writers. */
static bool add_piece(struct reading *reading, const struct origin *origin, isl_map *writers)
{
    if (origin->load == UINT32_MAX)
        return keep_piece(reading, origin, isl_set_coalesce(isl_map_domain(writers)), NULL);
    return keep_parts(reading, origin,
                      isl_map_coalesce(isl_map_apply_range(writers, isl_map_copy(origin->bytes))));
}

/* What the store gives to whom, once a thread. *threads: those that have their byte already. */
static bool add_pieces(struct reading *reading, const struct store *store, isl_set **threads)
{
    if (!store->bytes) return true; /* no thread runs it */
    isl_map *writers = writers_of(reading, store);
    isl_bool is_empty = isl_map_is_empty(writers);
    if (is_empty != isl_bool_false) {
        isl_map_free(writers);
        return is_empty == isl_bool_true;
    }
    isl_set *own = isl_map_domain(isl_map_copy(writers));
    bool is = store->phase < reading->phase && store->width == reading->width &&
              isl_map_is_single_valued(writers) == isl_bool_true &&
              isl_set_is_disjoint(own, *threads) == isl_bool_true;
    *threads = isl_set_union(*threads, own);
    for (uint32_t s = 0; is && s < store->origin_count; s++) {
        isl_map *part =
            isl_map_intersect_range(isl_map_copy(writers), isl_set_copy(store->origins[s].instances));
        isl_bool is_none = isl_map_is_empty(part);
        if (is_none == isl_bool_false)
            is = add_piece(reading, &store->origins[s], part);
        else
            isl_map_free(part);
        is = is && is_none != isl_bool_error;
    }
    isl_map_free(writers);
    return is;
}

/* --- pieces that are one ----------------------------------------------------------------------------- */

/* The same instruction, but for its registers. */
static bool is_same_operation(const struct finding *finding, uint32_t a, uint32_t b)
{
    const struct ptx_instruction *first = &finding->function->instructions[a],
                                 *second = &finding->function->instructions[b];
    return first->mnemonic.length == second->mnemonic.length &&
           !memcmp(first->mnemonic.text, second->mnemonic.text, first->mnemonic.length);
}

static bool converts_alike(const struct finding *finding, const struct staged_piece *a,
                           const struct staged_piece *b)
{
    bool does = a->conversion_count == b->conversion_count &&
                (!a->conversion_count || finding->function->instructions[a->load].types[0] ==
                                             finding->function->instructions[b->load].types[0]);
    for (uint32_t i = 0; does && i < a->conversion_count; i++)
        does = is_same_operation(finding, a->conversions[i], b->conversions[i]);
    return does;
}

/* The other piece's bytes follow the same sum. */
static bool follows(const struct finding *finding, const struct piece *piece, const struct piece *other)
{
    if (piece->staged.load == UINT32_MAX || other->staged.load == UINT32_MAX)
        return piece->staged.load == other->staged.load &&
               piece->staged.number->kind == other->staged.number->kind &&
               piece->staged.number->value == other->staged.number->value;
    if (piece->staged.argument != other->staged.argument ||
        !converts_alike(finding, &piece->staged, &other->staged))
        return false;
    isl_map *sum = sum_map(isl_map_get_ctx(other->bytes), &piece->staged.from);
    bool does = isl_map_is_subset(other->bytes, sum) == isl_bool_true;
    isl_map_free(sum);
    return does;
}

/* Whose sum most pieces follow. */
static uint32_t find_leader(const struct reading *reading)
{
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t p = 0; p < reading->piece_count; p++) {
        uint32_t count = 0;
        if (reading->pieces[p].is_taken) continue;
        for (uint32_t q = 0; q < reading->piece_count; q++)
            count += !reading->pieces[q].is_taken &&
                     follows(reading->finding, &reading->pieces[p], &reading->pieces[q]);
        /* of a few threads alone, a sum may be any of several */
        count = 4 * count + 2 * (reading->pieces[p].staged.load != UINT32_MAX) + (p == 0);
        if (count <= most) continue;
        most = count;
        best = p;
    }
    return best;
}

static void join_pieces(struct reading *reading, struct staged_load *load)
{
    for (uint32_t leader = find_leader(reading); leader != UINT32_MAX; leader = find_leader(reading)) {
        struct staged_piece *joined = &load->pieces[load->piece_count++];
        *joined = reading->pieces[leader].staged;
        joined->threads = isl_set_copy(joined->threads);
        reading->pieces[leader].is_taken = true;
        for (uint32_t p = 0; p < reading->piece_count; p++) {
            struct piece *piece = &reading->pieces[p];
            if (piece->is_taken || !follows(reading->finding, &reading->pieces[leader], piece)) continue;
            joined->threads = isl_set_union(joined->threads, isl_set_copy(piece->staged.threads));
            piece->is_taken = true;
        }
        joined->threads = isl_set_coalesce(joined->threads);
    }
}

static bool add_load(struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    struct reading reading = {.finding = finding, .width = ptx_access_bytes(instruction)};
    bool is_exact, is_idle;
    if (finding->staging->load_count == STAGING_MOST_LOADS || !is_plain_access(instruction) ||
        instruction->vector != 1 || instruction->guard >= 0 ||
        finding->analysis->forest->loop_of[block_of(finding, number)] != LOOPS_NONE ||
        !find_phase(finding, number, &reading.phase))
        return false;
    reading.bytes = describe(finding, number, &is_exact, &is_idle);
    struct staged_load *load = &finding->staging->loads[finding->staging->load_count++];
    isl_set *all = reading.bytes ? isl_map_domain(isl_map_copy(reading.bytes)) : NULL;
    isl_set *told = all ? isl_set_empty(isl_set_get_space(all)) : NULL;
    bool is = told;
    *load = (struct staged_load){.instruction = number, .threads = all};
    for (uint32_t s = 0; is && s < finding->store_count; s++)
        is = add_pieces(&reading, &finding->stores[s], &told);
    is = is && isl_set_is_subset(all, told) == isl_bool_true;
    if (is) join_pieces(&reading, load);
    for (uint32_t p = 0; p < reading.piece_count; p++) {
        isl_map_free(reading.pieces[p].bytes);
        isl_set_free(reading.pieces[p].staged.threads);
    }
    isl_set_free(told);
    isl_map_free(reading.bytes);
    return is;
}

/* --- the whole --------------------------------------------------------------------------------------- */

static bool add_all(struct finding *finding, bool stores)
{
    bool is = true;
    for (uint32_t i = 0; is && i < finding->function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &finding->function->instructions[i];
        if (instruction->space != PTX_SHARED ||
            !dominators_is_reachable(finding->analysis->dominators, block_of(finding, i)))
            continue;
        if (ptx_is_store(instruction) == stores) is = stores ? add_store(finding, i) : add_load(finding, i);
    }
    return is;
}

static void visit(struct analysis *analysis, void *context)
{
    struct finding *finding = context;
    if (analysis->summary->no_member || analysis->summary->has_local || analysis->summary->has_atomic) return;
    finding->analysis = analysis;
    finding->stores = arena_calloc(analysis->arena, MOST_STORES, sizeof *finding->stores);
    finding->is_told =
        finding->stores && find_barriers(finding) && add_all(finding, true) && add_all(finding, false);
    for (uint32_t s = 0; finding->stores && s < finding->store_count; s++) {
        isl_map_free(finding->stores[s].bytes);
        for (uint32_t k = 0; k < finding->stores[s].origin_count; k++) {
            isl_set_free(finding->stores[s].origins[k].instances);
            isl_map_free(finding->stores[s].origins[k].bytes);
        }
    }
}

bool staging_find(isl_ctx *ctx, const struct launch_input *input, struct staging *staging)
{
    *staging = (struct staging){.arena = arena_create()};
    struct finding *finding = staging->arena ? arena_calloc(staging->arena, 1, sizeof *finding) : NULL;
    if (!finding) return false;
    staging->loads = arena_calloc(staging->arena, STAGING_MOST_LOADS, sizeof *staging->loads);
    *finding = (struct finding){.staging = staging, .function = input->function};
    struct launch_input numbered = *input;
    numbered.function = staging->loads ? with_numbers(finding, staging->arena) : NULL;
    numbered.shift_count = 0;
    if (!numbered.function) return false;
    staging->summary = access_analyse_with(ctx, &numbered, visit, finding);
    return staging->summary && !staging->summary->refusal && finding->is_told && staging->load_count;
}

void staging_close(struct staging *staging)
{
    for (uint32_t i = 0; i < staging->load_count; i++) {
        isl_set_free(staging->loads[i].threads);
        for (uint32_t p = 0; p < staging->loads[i].piece_count; p++)
            isl_set_free(staging->loads[i].pieces[p].threads);
    }
    access_summary_free(staging->summary);
    arena_free(staging->arena);
}
