/* SPDX-License-Identifier: Apache-2.0
 * See staging.h: accesses to shared memory, and what stores store there. */
#include "fuser/access/overlap.h"
#include "fuser/access/staging_finding.h"

enum { MOST_DEPTH = 16 };

/* --- accesses ---------------------------------------------------------------------------------------- */

bool staging_is_plain(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                               PTX_MOD_RELEASE,  PTX_MOD_MMIO,    PTX_MOD_CV,
                                               PTX_MOD_WT};
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (ptx_has_modifier(instruction, strong[i])) return false;
    return (instruction->opcode == PTX_OP_LD || instruction->opcode == PTX_OP_ST) &&
           instruction->operand_count == 2 && instruction->type_count == 1;
}

/* The bytes that hull spans lie in one variable, all of whose accesses are so wide. */
static bool fits_variable(struct finding *finding, const struct range *hull, uint32_t width)
{
    wide v = (hull->low >> STAGING_VARIABLE_SHIFT) - 1;
    if (v < 0 || v >= (wide)finding->variable_count) return false;
    const struct ptx_variable *variable = finding->variables[v];
    wide size = variable->size ? (wide)variable->size : (wide)finding->analysis->input->dynamic_shared;
    if (size > 1 << STAGING_VARIABLE_SHIFT || hull->high + width > ((v + 1) << STAGING_VARIABLE_SHIFT) + size)
        return false;
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
isl_map *staging_describe(struct finding *finding, uint32_t number, bool *is_exact, bool *is_idle)
{
    struct analysis *analysis = finding->analysis;
    const struct ptx_instruction *instruction = &analysis->function->instructions[number];
    const struct ptx_operand *operand = ptx_address_operand(instruction);
    struct range range;
    isl_map *bytes = NULL;
    instances_enter(analysis, staging_block_of(finding, number));
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
    if (store->origin_count == STAGING_MOST_ORIGINS || !source.instances ||
        (source.load != UINT32_MAX && !source.bytes)) {
        isl_set_free(source.instances);
        isl_map_free(source.bytes);
        return false;
    }
    store->origins[store->origin_count++] = source;
    return true;
}

/* The bits that a number has in memory. */
static bool add_number(struct store *store, const struct ptx_operand *operand, isl_set *instances)
{
    bool fits = operand->kind == PTX_OPERAND_INTEGER || store->width == (operand->is_float64 ? 8u : 4u);
    uint64_t mask = store->width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * store->width) - 1;
    if (fits)
        return add_origin(store, (struct origin){.instances = instances,
                                                 .load = UINT32_MAX,
                                                 .number = (uint64_t)operand->value & mask});
    isl_set_free(instances);
    return false;
}

static const struct access *access_of(const struct finding *finding, uint32_t instruction)
{
    const struct access_summary *summary = finding->analysis->summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction) return &summary->accesses[i];
    return NULL;
}

/* The element of a vector that the register gets. UINT32_MAX: another one. */
static uint32_t element_of(const struct ptx_instruction *load, int32_t reg)
{
    const struct ptx_operand *to = &load->operands[0];
    for (uint32_t e = 0; e < to->element_count; e++)
        if (to->elements[e].reg == reg) return e;
    return to->element_count || to->reg != reg ? UINT32_MAX : 0;
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
                    staging_is_plain(load) && element_of(load, value->reg) != UINT32_MAX &&
                    base->kind == ACCESS_BASE_ARGUMENT && access_has_word(base) &&
                    analysis->forest->loop_of[staging_block_of(finding, value->instruction)] ==
                        analysis->forest->loop_of[staging_block_of(finding, store->instruction)];
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
    unsigned kept =
        ACCESS_THREAD_DIMENSIONS + depth_of(analysis, staging_block_of(finding, store->instruction));
    set = isl_set_project_out(set, isl_dim_set, kept, analysis->dimensions - kept);
    return isl_set_set_tuple_name(set, "L");
}

static bool trace_phi(struct finding *finding, struct store *store, const struct ssa_value *phi,
                      isl_set *instances, const struct chain *chain, unsigned depth)
{
    struct analysis *analysis = finding->analysis;
    const struct ptx_block *block = &analysis->cfg->blocks[phi->block];
    int32_t loop = analysis->forest->loop_of[phi->block];
    bool is = loop == analysis->forest->loop_of[staging_block_of(finding, store->instruction)];
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

/* As wide as what is stored, or wider. */
static bool is_move_of_number(const struct store *store, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *from = &instruction->operands[1];
    return instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2 &&
           instruction->type_count == 1 &&
           ((from->kind == PTX_OPERAND_INTEGER && ptx_type_bytes(instruction->types[0]) >= store->width) ||
            (from->kind == PTX_OPERAND_FLOAT && ptx_type_bytes(instruction->types[0]) == store->width));
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
    if (!chain->count && is_move_of_number(store, instruction)) return add_number(store, from, instances);
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

bool staging_add_store(struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    struct store *store = &finding->stores[finding->store_count];
    bool is_exact, is_idle;
    if (finding->store_count == STAGING_MOST_STORES || !staging_is_plain(instruction) ||
        instruction->vector != 1)
        return false;
    *store = (struct store){.instruction = number, .width = ptx_access_bytes(instruction)};
    finding->store_count++;
    if (!staging_phase(finding, number, &store->phase)) return false;
    store->bytes = staging_describe(finding, number, &is_exact, &is_idle);
    if (is_idle) return true;
    if (!store->bytes || !is_exact) return false;
    const struct ptx_operand *from = &instruction->operands[1];
    isl_set *instances = isl_map_domain(isl_map_copy(store->bytes));
    if (from->kind == PTX_OPERAND_FLOAT || from->kind == PTX_OPERAND_INTEGER)
        return add_number(store, from, instances);
    if (from->kind == PTX_OPERAND_REGISTER && !from->component && !from->is_negated)
        return trace(finding, store, ssa_use(finding->analysis->ssa, number, from->reg), instances,
                     &(struct chain){.count = 0}, 0);
    isl_set_free(instances);
    return false;
}
