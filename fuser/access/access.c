/* SPDX-License-Identifier: Apache-2.0
 * The access analysis of one launch: runs the passes in order and turns what they found into relations. */
#include "fuser/access/uniform.h"

#include <stdlib.h>
#include <string.h>

enum { HULL_BITS = 47 }; /* no allocation is larger: an access that may reach further is not bounded */

/* --- state ------------------------------------------------------------------------------------------- */

static void free_isl(struct analysis *analysis)
{
    for (struct owned *owned = analysis->owned; owned; owned = owned->next) {
        isl_pw_aff_free(owned->form);
        isl_set_free(owned->set);
    }
    for (uint32_t b = 0; analysis->blocks && b < analysis->cfg->block_count; b++) {
        isl_set_free(analysis->blocks[b].in.set);
        for (uint32_t s = 0; s < analysis->cfg->blocks[b].successor_count; s++)
            isl_set_free(analysis->blocks[b].edges[s].set);
    }
    for (uint32_t l = 0; analysis->loops && l < analysis->forest->loop_count; l++)
        isl_set_free(analysis->loops[l].entry.set);
    isl_set_free(analysis->threads);
    isl_set_free(analysis->universe);
    isl_set_free(analysis->empty_set);
    isl_space_free(analysis->space);
}

static isl_space *instance_space(isl_ctx *ctx, unsigned first_counter, unsigned dimensions)
{
    static const char *const names[ACCESS_THREAD_DIMENSIONS] = {"bz", "by", "bx", "tz", "ty", "tx"};
    isl_space *space = isl_space_set_alloc(ctx, 0, dimensions);
    char counter[16];

    for (unsigned d = 0; d < dimensions; d++) {
        if (d < first_counter)
            snprintf(counter, sizeof counter, "w%u", d - ACCESS_THREAD_DIMENSIONS);
        else
            snprintf(counter, sizeof counter, "i%u", d - first_counter);
        space =
            isl_space_set_dim_name(space, isl_dim_set, d, d < ACCESS_THREAD_DIMENSIONS ? names[d] : counter);
    }
    return isl_space_set_tuple_name(space, isl_dim_set, "L");
}

static isl_set *all_threads(const struct launch_input *input, isl_space *space)
{
    const uint32_t extents[ACCESS_THREAD_DIMENSIONS] = {input->grid[2],  input->grid[1],  input->grid[0],
                                                        input->block[2], input->block[1], input->block[0]};
    isl_set *set = isl_set_universe(space);

    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++) {
        set = isl_set_lower_bound_si(set, isl_dim_set, d, 0);
        set = isl_set_upper_bound_si(set, isl_dim_set, d, extents[d] ? (int)(extents[d] - 1) : 0);
    }
    return set;
}

static bool allocate_state(struct analysis *analysis)
{
    struct arena *arena = analysis->arena;
    const struct ptx_cfg *cfg = analysis->cfg;

    analysis->blocks = arena_calloc(arena, cfg->block_count, sizeof *analysis->blocks);
    analysis->loops = arena_calloc(arena, analysis->forest->loop_count + 1, sizeof *analysis->loops);
    analysis->values = arena_calloc(arena, analysis->ssa->value_count, sizeof *analysis->values);
    analysis->exported = arena_calloc(arena, analysis->ssa->value_count, sizeof *analysis->exported);
    analysis->is_relevant = arena_calloc(arena, analysis->ssa->value_count, sizeof *analysis->is_relevant);
    analysis->bases = arena_calloc(arena, 8, sizeof *analysis->bases);
    if (!analysis->blocks || !analysis->loops || !analysis->values || !analysis->exported ||
        !analysis->is_relevant || !analysis->bases)
        return false;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        struct block_state *state = &analysis->blocks[b];
        uint32_t count = cfg->blocks[b].successor_count + 1;
        state->edges = arena_calloc(arena, count, sizeof *state->edges);
        if (!state->edges) return false;
    }
    analysis->base_capacity = 8;
    analysis->bases[analysis->base_count++] = (struct base){.kind = BASE_UNKNOWN};
    analysis->first_counter = ACCESS_THREAD_DIMENSIONS + analysis->input->shift_count;
    analysis->dimensions = analysis->first_counter + analysis->forest->max_depth;
    affine_begin(analysis);
    analysis->space = instance_space(analysis->ctx, analysis->first_counter, analysis->dimensions);
    analysis->threads = all_threads(analysis->input, isl_space_copy(analysis->space));
    analysis->universe = isl_set_universe(isl_space_copy(analysis->space));
    analysis->empty_set = isl_set_empty(isl_space_copy(analysis->space));
    return true;
}

/* --- what needs to be known -------------------------------------------------------------------------- */

static void mark_relevant(struct analysis *analysis, uint32_t *stack, uint32_t depth)
{
    const struct ssa *ssa = analysis->ssa;

#define PUSH(number)                                                                                         \
    do {                                                                                                     \
        uint32_t pushed = (number);                                                                          \
        if (pushed != SSA_NO_VALUE && !analysis->is_relevant[pushed]) {                                      \
            analysis->is_relevant[pushed] = true;                                                            \
            stack[depth++] = pushed;                                                                         \
        }                                                                                                    \
    } while (0)
    while (depth > 0) {
        const struct ssa_value *value = &ssa->values[stack[--depth]];
        if (value->kind == SSA_PHI) {
            for (uint32_t p = 0; p < analysis->cfg->blocks[value->block].predecessor_count; p++)
                PUSH(value->arguments[p]);
        } else if (value->kind == SSA_DEFINITION) {
            const struct ptx_instruction *instruction = &analysis->function->instructions[value->instruction];
            const struct ssa_list *uses = &ssa->uses[value->instruction];
            PUSH(value->previous);
            for (uint32_t u = 0; u < uses->count; u++)
                if (evaluate_is_followed(instruction) || uses->items[u].reg == instruction->guard)
                    PUSH(uses->items[u].value);
        }
    }
#undef PUSH
}

/* Guards of branches and memory instructions, and addresses. */
static bool find_relevant(struct analysis *analysis)
{
    uint32_t *stack = arena_calloc(analysis->arena, analysis->ssa->value_count + 1, sizeof *stack);
    const struct ptx_function *function = analysis->function;

    if (!stack) return false;
    for (uint32_t k = 0; k < function->instruction_count; k++) {
        const struct ptx_instruction *instruction = &function->instructions[k];
        const struct ptx_operand *address = ptx_address_operand(instruction);
        bool ends = ptx_is_branch(instruction) || ptx_is_return(instruction);
        int32_t registers[3] = {ends || address ? instruction->guard : -1, address ? address->reg : -1,
                                instruction->opcode == PTX_OP_BRX && instruction->operand_count
                                    ? instruction->operands[0].reg
                                    : -1};
        for (unsigned r = 0; r < 3; r++) {
            uint32_t value = registers[r] >= 0 ? ssa_use(analysis->ssa, k, registers[r]) : SSA_NO_VALUE;
            if (value == SSA_NO_VALUE || analysis->is_relevant[value]) continue;
            analysis->is_relevant[value] = true;
            stack[0] = value;
            mark_relevant(analysis, stack, 1);
        }
    }
    return true;
}

/* --- relations --------------------------------------------------------------------------------------- */

/* Where a fused kernel finds the base's address among the launch's words. */
static uint32_t word_of(const struct access_summary *summary, const struct base *base)
{
    if (base->kind != BASE_VARIABLE) return base->argument_offset;
    for (uint32_t v = 0; v < summary->variables.count; v++)
        if (strcmp(summary->variables.items[v]->name, base->variable) == 0)
            return variables_offset(summary->function, v);
    return ACCESS_NO_WORD;
}

static uint32_t summary_base(struct analysis *analysis, const struct base *base, const int64_t *factors)
{
    struct access_summary *summary = analysis->summary;
    struct access_base found = {.kind = base->kind == BASE_ARGUMENT   ? ACCESS_BASE_ARGUMENT
                                        : base->kind == BASE_VARIABLE ? ACCESS_BASE_VARIABLE
                                                                      : ACCESS_BASE_UNKNOWN,
                                .argument_offset = word_of(summary, base),
                                .pointer = base->argument_offset,
                                .variable = base->variable,
                                .is_bounded = true};

    if (factors) memcpy(found.factors, factors, sizeof found.factors);
    for (uint32_t b = 0; b < summary->base_count; b++) {
        const struct access_base *other = &summary->bases[b];
        bool same_name = !found.variable || (other->variable && strcmp(other->variable, found.variable) == 0);
        if (other->kind == found.kind && other->argument_offset == found.argument_offset && same_name &&
            !memcmp(other->factors, found.factors, sizeof found.factors))
            return b;
    }
    struct access_base *bases = arena_grow(analysis->arena, summary->bases, summary->base_count,
                                           summary->base_count + 1, sizeof *bases);
    if (!bases) return 0;
    summary->bases = bases;
    summary->bases[summary->base_count] = found;
    return summary->base_count++;
}

static void widen_base(struct access_base *base, const struct access *access, const struct range *hull)
{
    bool is_first = !base->is_read && !base->is_written;

    base->is_read = base->is_read || access->kind != ACCESS_WRITE;
    base->is_written = base->is_written || access->kind != ACCESS_READ;
    base->is_unordered = base->is_unordered || access->is_unordered;
    if (!hull || hull->low < -wide_power(HULL_BITS) || hull->high > wide_power(HULL_BITS)) {
        base->is_bounded = false;
        base->from = base->to = 0;
    }
    if (!base->is_bounded) return;
    int64_t from = (int64_t)hull->low, to = (int64_t)hull->high + access->width;
    base->from = is_first || from < base->from ? from : base->from;
    base->to = is_first || to > base->to ? to : base->to;
}

isl_map *access_relation(struct analysis *analysis, isl_pw_aff *form, isl_set *domain, unsigned depth)
{
    isl_map *map = isl_map_from_pw_aff(isl_pw_aff_intersect_domain(form, isl_set_copy(domain)));
    unsigned kept = ACCESS_THREAD_DIMENSIONS + depth, inner = analysis->first_counter + depth;

    map = isl_map_project_out(map, isl_dim_in, inner, analysis->dimensions - inner);
    map = isl_map_project_out(map, isl_dim_in, ACCESS_THREAD_DIMENSIONS,
                              analysis->first_counter - ACCESS_THREAD_DIMENSIONS);
    map = isl_map_set_tuple_name(map, isl_dim_in, "L");
    for (unsigned d = 0; d < kept; d++) {
        unsigned from =
            d < ACCESS_THREAD_DIMENSIONS ? d : d - ACCESS_THREAD_DIMENSIONS + analysis->first_counter;
        const char *name = isl_space_get_dim_name(analysis->space, isl_dim_set, from);
        map = isl_map_set_dim_name(map, isl_dim_in, d, name);
    }
    return isl_map_coalesce(map);
}

static bool is_ordered(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier ordered[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                                PTX_MOD_RELEASE,  PTX_MOD_ACQ_REL, PTX_MOD_MMIO};

    for (size_t m = 0; m < sizeof ordered / sizeof ordered[0]; m++)
        if (ptx_has_modifier(instruction, ordered[m]))
            return !ptx_is_atomic(instruction) || ordered[m] != PTX_MOD_RELAXED;
    return false;
}

static bool is_unordered(const struct ptx_instruction *instruction)
{
    return ptx_is_atomic(instruction) && instruction->type_count &&
           ptx_type_is_float(instruction->types[instruction->type_count - 1]);
}

static void note_effective(struct analysis *analysis, isl_set *domain)
{
    struct access_summary *summary = analysis->summary;
    isl_set *threads = isl_set_project_out(isl_set_copy(domain), isl_dim_set, ACCESS_THREAD_DIMENSIONS,
                                           analysis->dimensions - ACCESS_THREAD_DIMENSIONS);

    threads = isl_set_reset_space(threads, isl_set_get_space(summary->threads));
    isl_set *effective = isl_set_coalesce(isl_set_union(isl_set_copy(summary->effective), threads));
    if (!effective || !affine_is_simple_set(effective)) {
        /* A superset will do: any thread. */
        isl_set_free(effective);
        affine_recover(analysis);
        effective = isl_set_copy(summary->threads);
    }
    isl_set_free(summary->effective);
    summary->effective = effective;
}

static bool add_access(struct analysis *analysis, struct access access, const struct base *base,
                       const int64_t *factors, const struct range *hull)
{
    struct access_summary *summary = analysis->summary;

    if (summary->access_count % 16 == 0) {
        void *grown = arena_grow(analysis->arena, summary->accesses, summary->access_count,
                                 summary->access_count + 16, sizeof access);
        if (!grown) {
            isl_map_free(access.relation);
            return false;
        }
        summary->accesses = grown;
    }
    access.base = summary_base(analysis, base, factors);
    widen_base(&summary->bases[access.base], &access, hull);
    summary->accesses[summary->access_count++] = access;
    return true;
}

/* An atomic through a generic address turns out to be one in the block's memory. */
static void bar_unordered(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    struct access_summary *summary = analysis->summary;
    if (!is_unordered(instruction) || summary->no_member) return;
    summary->no_member = reason_at(analysis, analysis->instruction,
                                   "a floating-point atomic in shared memory: its order shows in the result");
}

/* Memory that is not the launch's alone; false: local, shared or parameters. */
static bool is_listed(struct analysis *analysis, const struct ptx_instruction *instruction,
                      const struct value *address)
{
    if (instruction->space == PTX_PARAM || instruction->space == PTX_LOCAL ||
        instruction->space == PTX_SHARED)
        return false;
    if (address->kind != VALUE_POINTER) return true;
    enum base_kind kind = analysis->bases[address->base].kind;
    if (kind == BASE_LOCAL) analysis->summary->has_local = true;
    if (kind == BASE_SHARED) analysis->summary->has_shared = true;
    if (kind == BASE_SHARED) bar_unordered(analysis, instruction);
    return kind != BASE_LOCAL && kind != BASE_SHARED && kind != BASE_PARAMETER;
}

/* Fills relation, factors and hull; false: the address is not affine. */
static bool describe_address(struct analysis *analysis, const struct value *address, isl_set *domain,
                             struct access *access, int64_t *factors, struct range *hull)
{
    struct range range;
    int32_t loop = analysis->forest->loop_of[analysis->block];
    isl_pw_aff *form = address->kind == VALUE_POINTER ? value_as_signed(analysis, address, &range) : NULL;

    if (!form) {
        access->reason = address->reason
                             ? address->reason
                             : reason_at(analysis, access->instruction, "an address without a base");
        return false;
    }
    form = shifts_take(analysis, form, factors, &range);
    *hull = range;
    affine_bounds(analysis, form, domain, hull);
    access->relation =
        access_relation(analysis, form, domain, loop == LOOPS_NONE ? 0 : analysis->forest->loops[loop].depth);
    if (!access->relation) {
        affine_recover(analysis);
        access->reason = reason_at(analysis, access->instruction, "its relation takes too long to compute");
        return false;
    }
    sources_use(analysis, address->sources);
    access->address_is_exact = true;
    return true;
}

/* The instances that run the current instruction, its guard included. */
struct instances access_instances(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    struct instances run = analysis->blocks[analysis->block].in;

    run.set = isl_set_copy(run.set);
    if (instruction->guard < 0) return run;
    const struct value *guard = operand_guard(analysis, instruction);
    if (run.is_exact) run.culprit = analysis->instruction;
    run.is_exact = run.is_exact && value_is_exact(analysis, guard, run.set);
    if (guard->kind != VALUE_PREDICATE) return run;
    sources_use(analysis, guard->sources);
    run.set = isl_set_coalesce(isl_set_intersect(run.set, isl_set_copy(guard->when_true)));
    return run;
}

/* Of a thread, inside the loop; 0: not known. */
static uint64_t most_instances(const struct analysis *analysis, int32_t loop)
{
    enum { MOST = 1 << 30 };
    uint64_t count = 1;

    for (; loop != LOOPS_NONE; loop = analysis->forest->loops[loop].parent) {
        if (analysis->loops[loop].last_counter < 0 || analysis->loops[loop].last_counter >= MOST) return 0;
        count *= (uint64_t)analysis->loops[loop].last_counter + 1;
        if (count > MOST) return 0;
    }
    return count;
}

static bool describe_access(struct analysis *analysis, uint32_t index)
{
    const struct ptx_instruction *instruction = &analysis->function->instructions[index];
    const struct ptx_operand *operand = ptx_address_operand(instruction);
    struct access access = {.instruction = index,
                            .line = instruction->line,
                            .width = ptx_access_bytes(instruction),
                            .kind = ptx_is_atomic(instruction)  ? ACCESS_ATOMIC
                                    : ptx_is_store(instruction) ? ACCESS_WRITE
                                                                : ACCESS_READ,
                            .ends_loop = analysis->ends_loop && analysis->ends_loop[index],
                            .is_unordered = is_unordered(instruction),
                            .is_uncached_order = is_ordered(instruction),
                            .was_staged = analysis->input->was_staged && analysis->input->was_staged[index]};
    struct range hull;
    int64_t factors[ACCESS_MOST_SHIFTS] = {0};

    analysis->block = analysis->cfg->block_of[index];
    analysis->instruction = index;
    analysis->domain = analysis->blocks[analysis->block].in.set;
    affine_begin(analysis);
    struct instances run = access_instances(analysis, instruction);
    access.domain_is_exact = run.is_exact;
    const struct value *address =
        operand ? operand_address(analysis, operand) : value_unknown(analysis, 64, true, NULL);
    bool done = true;
    if (run.set && isl_set_is_empty(run.set) != isl_bool_true && is_listed(analysis, instruction, address)) {
        access.is_once = analysis->forest->loop_of[analysis->block] == LOOPS_NONE;
        access.most_instances = most_instances(analysis, analysis->forest->loop_of[analysis->block]);
        shifts_note(analysis, run.set);
        bool is_affine = describe_address(analysis, address, run.set, &access, factors, &hull);
        const struct base *base = &analysis->bases[address->kind == VALUE_POINTER ? address->base : 0];
        if (base->kind != BASE_ARGUMENT) shifts_refuse(analysis, factors);
        if (!access.domain_is_exact && !access.reason)
            access.reason =
                reason_at(analysis, run.culprit, "whether it is run depends on this, and this on data");
        if (access.kind != ACCESS_READ) note_effective(analysis, run.set);
        done = add_access(analysis, access, base, is_affine ? factors : NULL, is_affine ? &hull : NULL);
    }
    isl_set_free(run.set);
    return done;
}

static bool is_memory(const struct ptx_instruction *instruction)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_SULD:
        return true; /* reads that may be anywhere */
    }
    return ptx_is_load(instruction) || ptx_is_store(instruction) || ptx_is_atomic(instruction);
}

/* --- words ------------------------------------------------------------------------------------------- */

static int compare_sources(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    int order = strcmp(a->variable ? a->variable : "", b->variable ? b->variable : "");

    if (order != 0) return order;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static uint64_t value_of(const struct analysis *analysis, const struct source *source)
{
    const struct launch_input *input = analysis->input;
    uint64_t value = 0;
    for (uint32_t i = 0; i < input->variable_count; i++)
        if (input->variables[i].contents && !strcmp(input->variables[i].name, source->variable))
            memcpy(&value, input->variables[i].contents + source->offset,
                   source->size < sizeof value ? source->size : sizeof value);
    return value;
}

/* Sources that were used, sorted, overlaps joined: those of the arguments, and those of variables. */
static bool collect_words(struct analysis *analysis)
{
    struct access_summary *summary = analysis->summary;
    uint32_t count = analysis->source_count;

    summary->word_count = summary->content_count = 0;
    summary->words = arena_calloc(analysis->arena, count + 1, sizeof *summary->words);
    summary->contents = arena_calloc(analysis->arena, count + 1, sizeof *summary->contents);
    if (!summary->words || !summary->contents) return false;
    if (count > 0) qsort(analysis->sources, count, sizeof *analysis->sources, compare_sources);
    for (uint32_t s = 0; s < count; s++) {
        const struct source *source = &analysis->sources[s];
        struct access_words word = {source->offset, source->size};
        if (!source->is_used) continue;
        if (source->variable) {
            summary->contents[summary->content_count++] =
                (struct access_contents){source->variable, word, value_of(analysis, source)};
            continue;
        }
        struct access_words *last = summary->word_count ? &summary->words[summary->word_count - 1] : NULL;
        if (last && word.offset < last->offset + last->size) {
            uint32_t end = word.offset + word.size;
            if (end > last->offset + last->size) last->size = end - last->offset;
        } else {
            summary->words[summary->word_count++] = word;
        }
    }
    return true;
}

/* --- the whole --------------------------------------------------------------------------------------- */

static bool build_structure(struct analysis *analysis)
{
    const char *reason = NULL;

    analysis->refusal = "out of memory";
    analysis->cfg = ptx_cfg_build(analysis->arena, analysis->function, &reason);
    if (analysis->cfg) analysis->dominators = dominators_build(analysis->arena, analysis->cfg);
    if (analysis->dominators) analysis->forest = loops_build(analysis->arena, analysis->dominators, &reason);
    if (reason)
        analysis->refusal = arena_printf(analysis->arena, "kernel %s: %s", analysis->function->name, reason);
    if (!analysis->forest) return false;
    if (analysis->forest->max_depth > ANALYSIS_LOOP_DEPTH_LIMIT) {
        analysis->refusal = arena_printf(analysis->arena, "kernel %s: loops nested %u deep",
                                         analysis->function->name, analysis->forest->max_depth);
        return false;
    }
    analysis->ssa = ssa_build(analysis->arena, analysis->dominators);
    if (!analysis->ssa) return false;
    analysis->refusal = NULL;
    return true;
}

static bool describe_accesses(struct analysis *analysis)
{
    const struct ptx_function *function = analysis->function;

    for (uint32_t k = 0; k < function->instruction_count; k++) {
        if (!is_memory(&function->instructions[k])) continue;
        if (!dominators_is_reachable(analysis->dominators, analysis->cfg->block_of[k])) continue;
        if (!describe_access(analysis, k)) {
            analysis->refusal = "out of memory";
            return false;
        }
    }
    for (uint32_t b = 0; b < analysis->base_count; b++)
        if (analysis->bases[b].kind == BASE_ARGUMENT && analysis->bases[b].is_not_null)
            summary_base(analysis, &analysis->bases[b], NULL);
    return true;
}

/* Whether the launch may write a device variable whose contents were taken to be what the host wrote. */
static bool writes_trusted_variable(const struct analysis *analysis)
{
    const struct access_summary *summary = analysis->summary;

    if (!analysis->used_device_variable) return false;
    for (uint32_t b = 0; b < summary->base_count; b++)
        if (summary->bases[b].is_written && summary->bases[b].kind != ACCESS_BASE_ARGUMENT) return true;
    return false;
}

static void find_idle_blocks(struct analysis *analysis)
{
    bool *idle = arena_calloc(analysis->arena, analysis->cfg->block_count, sizeof *idle);

    affine_begin(analysis);
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++)
        shifts_note(analysis, analysis->blocks[b].in.set);
    for (uint32_t b = 0; idle && b < analysis->cfg->block_count; b++)
        idle[b] = isl_set_is_empty(analysis->blocks[b].in.set) == isl_bool_true;
    affine_recover(analysis);
    analysis->summary->is_idle = idle;
}

/* It decides whether a loop is left, or begun again. */
static bool decides_on_loop(const struct analysis *analysis, uint32_t block)
{
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    for (uint32_t i = 0; i < info->successor_count; i++)
        if (!loops_contains_block(analysis->forest, analysis->forest->loop_of[block], info->successors[i]) ||
            loops_is_back_edge(analysis->forest, block, info->successors[i]))
            return true;
    return false;
}

/* A flag for each loop; NULL: memory is out. */
static const bool *find_pipelines(struct analysis *analysis)
{
    const struct loop_forest *forest = analysis->forest;
    bool *is_pipeline = arena_calloc(analysis->arena, forest->loop_count + 1, sizeof *is_pipeline);
    for (uint32_t i = 0; is_pipeline && i < analysis->function->instruction_count; i++) {
        if (!ptx_is_block_barrier(&analysis->function->instructions[i])) continue;
        int32_t loop = forest->loop_of[analysis->cfg->block_of[i]];
        for (; loop != LOOPS_NONE; loop = forest->loops[loop].parent)
            is_pipeline[loop] = analysis->summary->has_pipeline = true;
    }
    return is_pipeline;
}

static bool is_never(const struct instances *edge)
{
    return isl_set_is_empty(edge->set) == isl_bool_true;
}

/* The threads of a set of instances in no loop. */
static isl_set *threads_in(const struct analysis *analysis, const struct instances *instances)
{
    isl_set *set = shifts_drop(analysis, isl_set_copy(instances->set));
    isl_size dimensions = isl_set_dim(set, isl_dim_set);
    if (dimensions > ACCESS_THREAD_DIMENSIONS)
        set = isl_set_project_out(set, isl_dim_set, ACCESS_THREAD_DIMENSIONS,
                                  (unsigned)dimensions - ACCESS_THREAD_DIMENSIONS);
    return isl_set_coalesce(isl_set_set_tuple_name(set, "L"));
}

/* Guards that hold for all threads, as of sizes that blocks divide, or for none. Those of a pipeline keep
 * loads where its author put them. */
static void decide_branches(struct analysis *analysis)
{
    enum { TAKEN, OTHERWISE, WAYS }; /* successors of a block that ends so */
    const struct ptx_function *function = analysis->function;
    const bool *is_pipeline = find_pipelines(analysis), *is_idle = analysis->summary->is_idle;
    enum access_branch *branches =
        arena_calloc(analysis->arena, function->instruction_count + 1, sizeof *branches);
    struct access_ways *ways = arena_calloc(analysis->arena, function->instruction_count + 1, sizeof *ways);

    for (uint32_t b = 0; branches && ways && is_pipeline && is_idle && b < analysis->cfg->block_count; b++) {
        const struct ptx_block *info = &analysis->cfg->blocks[b];
        uint32_t last = info->first + info->count - 1;
        int32_t loop = analysis->forest->loop_of[b];
        if (!info->count || info->successor_count != WAYS ||
            info->successors[TAKEN] == info->successors[OTHERWISE])
            continue;
        if (function->instructions[last].opcode != PTX_OP_BRA || function->instructions[last].guard < 0)
            continue;
        if (is_idle[b] || decides_on_loop(analysis, b) || (loop != LOOPS_NONE && is_pipeline[loop])) continue;
        const struct instances *edges = analysis->blocks[b].edges;
        affine_begin(analysis);
        branches[last] = is_never(&edges[TAKEN])       ? ACCESS_BRANCH_NEVER
                         : is_never(&edges[OTHERWISE]) ? ACCESS_BRANCH_ALWAYS
                                                       : ACCESS_BRANCH_OPEN;
        if (branches[last] == ACCESS_BRANCH_OPEN && loop == LOOPS_NONE)
            ways[last] = (struct access_ways){threads_in(analysis, &edges[TAKEN]),
                                              threads_in(analysis, &edges[OTHERWISE])};
        affine_recover(analysis);
    }
    analysis->summary->branches = branches;
    analysis->summary->ways = ways;
}

/* How often threads iterate the outermost loops. */
static void find_rounds(struct analysis *analysis)
{
    struct access_summary *summary = analysis->summary;
    const struct loop_forest *forest = analysis->forest;
    unsigned kept = ACCESS_THREAD_DIMENSIONS + 1;

    summary->rounds = arena_calloc(analysis->arena, analysis->cfg->block_count, sizeof *summary->rounds);
    summary->round_count = summary->rounds ? analysis->cfg->block_count : 0;
    affine_begin(analysis);
    for (uint32_t loop = 0; summary->rounds && loop < forest->loop_count; loop++) {
        uint32_t header = forest->loops[loop].header;
        const struct instances *in = &analysis->blocks[header].in;
        if (forest->loops[loop].parent != LOOPS_NONE || !in->is_exact || !in->set) continue;
        isl_set *set = shifts_drop(analysis, isl_set_copy(in->set));
        set = isl_set_project_out(set, isl_dim_set, kept,
                                  ACCESS_THREAD_DIMENSIONS + analysis->dimensions - analysis->first_counter -
                                      kept);
        summary->rounds[header] = isl_set_coalesce(set);
    }
    affine_recover(analysis);
}

static const unsigned char *copy_arguments(const struct analysis *analysis)
{
    const struct launch_input *input = analysis->input;
    unsigned char *arguments = arena_alloc(analysis->arena, input->arguments_size + 1);
    if (arguments && input->arguments_size) memcpy(arguments, input->arguments, input->arguments_size);
    return arguments;
}

static bool run_passes(struct analysis *analysis)
{
    struct access_summary *summary = analysis->summary;

    summary->arguments = copy_arguments(analysis);
    if (!build_structure(analysis)) return false;
    if (!allocate_state(analysis) || !find_relevant(analysis)) {
        analysis->refusal = "out of memory";
        return false;
    }
    analysis->refusal = legality_check(analysis);
    if (analysis->refusal) return false;
    isl_space *space = instance_space(analysis->ctx, ACCESS_THREAD_DIMENSIONS, ACCESS_THREAD_DIMENSIONS);
    summary->effective = isl_set_empty(isl_space_copy(space));
    summary->threads = all_threads(analysis->input, space);
    if (!iterations_walk(analysis) || !describe_accesses(analysis)) return false;
    if (summary->whole_block && !summary->no_member) summary->no_whole_block = uniform_check(analysis);
    if (!collect_words(analysis)) return false;
    find_idle_blocks(analysis);
    decide_branches(analysis);
    find_rounds(analysis);
    if (summary->effective && summary->threads) return true;
    analysis->refusal = arena_printf(analysis->arena, "kernel %s: isl gave up", analysis->function->name);
    return false;
}

struct visitor {
    access_visit *visit; /* or NULL */
    void *context;
};

static bool analyse_once(isl_ctx *ctx, const struct launch_input *input, struct access_summary *summary,
                         bool trust, const struct visitor *visitor, bool *retry)
{
    struct analysis analysis = {.ctx = ctx,
                                .input = input,
                                .function = input->function,
                                .arena = summary->arena,
                                .summary = summary,
                                .most_operations =
                                    input->most_operations ? input->most_operations : ANALYSIS_ALL_OPERATIONS,
                                .trusts_device_variables = trust};

    *summary = (struct access_summary){
        .arena = summary->arena,
        .function = input->function,
        .expansion = arena_calloc(summary->arena, 1, sizeof *summary->expansion),
        .line = arena_calloc(summary->arena, 1, sizeof *summary->line),
        .products = arena_calloc(summary->arena, input->function->instruction_count + 1, 1)};
    memcpy(summary->grid, input->grid, sizeof summary->grid);
    memcpy(summary->block, input->block, sizeof summary->block);
    summary->dynamic_shared = input->dynamic_shared;
    summary->is_regridded = input->is_regridded;
    summary->is_unstaged = input->was_staged;
    bool done =
        variables_collect(summary->arena, input->function, &summary->variables) && run_passes(&analysis);
    *retry = done && writes_trusted_variable(&analysis);
    if (done && !*retry && visitor->visit) {
        visitor->visit(&analysis, visitor->context);
        done = collect_words(&analysis); /* it may have used more */
    }
    if (!done) summary->refusal = analysis.refusal ? analysis.refusal : "out of memory";
    free_isl(&analysis);
    if (!done || *retry) access_summary_clear(summary);
    return done;
}

struct access_summary *access_analyse(isl_ctx *ctx, const struct launch_input *input)
{
    return access_analyse_with(ctx, input, NULL, NULL);
}

struct access_summary *access_analyse_with(isl_ctx *ctx, const struct launch_input *input,
                                           access_visit *visit, void *context)
{
    const struct visitor visitor = {visit, context};
    struct arena *arena = arena_create();
    struct access_summary *summary = arena ? arena_alloc(arena, sizeof *summary) : NULL;
    unsigned long callers_quota = isl_ctx_get_max_operations(ctx);
    bool retry;

    if (!summary) {
        arena_free(arena);
        return NULL;
    }
    summary->arena = arena;
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
    if (callers_quota == 0) isl_ctx_set_max_operations(ctx, ANALYSIS_OPERATIONS);
    analyse_once(ctx, input, summary, true, &visitor, &retry);
    if (retry) analyse_once(ctx, input, summary, false, &visitor, &retry);
    isl_ctx_reset_error(ctx);
    isl_ctx_set_max_operations(ctx, callers_quota);
    isl_ctx_reset_operations(ctx);
    return summary;
}
