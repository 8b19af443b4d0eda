/* SPDX-License-Identifier: Apache-2.0
 * See uniform.h. */
#include "fuser/access/uniform.h"

#include <string.h>

enum { WARP_THREADS = 32 };
enum extent { EXTENT_BLOCK, EXTENT_WARP }; /* whose threads should act alike */

struct uniform {
    struct analysis *analysis;
    enum extent extent;
    struct dominators *after; /* post-dominators: dominators of the graph with its edges turned round */
    bool *differs;            /* SSA value -> perhaps not the same in all threads */
    bool *is_part;            /* block -> perhaps entered by some of the threads only */
    bool *is_join;            /* block -> threads that went different ways meet here */
    bool *is_marked;          /* block -> its branch divides the threads, and what it divides is marked */
    unsigned char *branches;  /* block -> what its sets say: 0 untested, 1 alike, 2 perhaps not */
    bool *seen;               /* block -> from the branch that is being marked */
    uint32_t *stack;
};

/* The exit comes first, as an entry must. */
static uint32_t turned(const struct ptx_cfg *cfg, uint32_t block)
{
    return (block + 1) % cfg->block_count;
}

static uint32_t *turned_list(struct arena *arena, const struct ptx_cfg *cfg, const uint32_t *blocks,
                             uint32_t count)
{
    uint32_t *list = arena_calloc(arena, count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++) list[i] = turned(cfg, blocks[i]);
    return list;
}

static struct dominators *find_postdominators(struct arena *arena, const struct ptx_cfg *cfg)
{
    struct ptx_cfg *graph = arena_calloc(arena, 1, sizeof *graph);
    if (!graph) return NULL;
    graph->block_count = cfg->block_count;
    graph->blocks = arena_calloc(arena, cfg->block_count, sizeof *graph->blocks);
    for (uint32_t b = 0; graph->blocks && b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        struct ptx_block *reverse = &graph->blocks[turned(cfg, b)];
        reverse->successor_count = block->predecessor_count;
        reverse->successors = turned_list(arena, cfg, block->predecessors, block->predecessor_count);
        reverse->predecessor_count = block->successor_count;
        reverse->predecessors = turned_list(arena, cfg, block->successors, block->successor_count);
        if (!reverse->successors || !reverse->predecessors) return NULL;
    }
    return graph->blocks ? dominators_build(arena, graph) : NULL;
}

/* { L -> L' }: two threads of one block, or warp, in the same iteration of every loop. */
static __isl_give isl_map *together(const struct uniform *uniform)
{
    struct analysis *analysis = uniform->analysis;
    const uint32_t *block = analysis->input->block;
    isl_map *map = isl_map_universe(isl_space_map_from_set(isl_space_copy(analysis->space)));
    for (unsigned d = 0; d < analysis->dimensions; d++)
        if (d < 3 || d >= ACCESS_THREAD_DIMENSIONS) map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    if (uniform->extent == EXTENT_BLOCK) return map;
    isl_pw_aff *linear = affine_dimension(analysis, 5);
    linear = isl_pw_aff_add(linear, affine_scale(analysis, affine_dimension(analysis, 4), block[0]));
    linear = isl_pw_aff_add(linear,
                            affine_scale(analysis, affine_dimension(analysis, 3), (wide)block[0] * block[1]));
    isl_map *warp = isl_map_from_pw_aff(affine_floor_divide(analysis, linear, WARP_THREADS));
    isl_map *threads = isl_map_reverse(isl_map_copy(warp));
    return isl_map_intersect(map, isl_map_apply_range(warp, threads));
}

/* By the sets of instances for which the branch is taken, and not: no two threads that act together differ.
 */
static bool sets_agree(const struct uniform *uniform, uint32_t block)
{
    struct analysis *analysis = uniform->analysis;
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    instances_enter(analysis, block);
    analysis->instruction = info->first + info->count - 1;
    const struct value *guard =
        operand_guard(analysis, &analysis->function->instructions[analysis->instruction]);
    if (guard->kind != VALUE_PREDICATE || !analysis->domain) return false;
    isl_set *taken = isl_set_intersect(isl_set_copy(analysis->domain), isl_set_copy(guard->when_true));
    isl_set *passed = isl_set_intersect(isl_set_copy(analysis->domain), isl_set_copy(guard->when_false));
    isl_set *with_taken = isl_set_apply(taken, together(uniform));
    bool agree = isl_set_is_disjoint(with_taken, passed) == isl_bool_true;
    isl_set_free(with_taken);
    isl_set_free(passed);
    if (!agree) affine_recover(analysis);
    return agree;
}

static bool branch_is_alike(struct uniform *uniform, uint32_t block)
{
    const struct analysis *analysis = uniform->analysis;
    const struct ptx_block *info = &analysis->cfg->blocks[block];
    if (info->successor_count < 2) return true;
    uint32_t last = info->first + info->count - 1;
    const struct ssa_list *uses = &analysis->ssa->uses[last];
    bool differs = false;
    for (uint32_t u = 0; u < uses->count; u++) differs = differs || uniform->differs[uses->items[u].value];
    if (!differs) return true;
    if (info->successor_count > 2 || analysis->function->instructions[last].guard < 0) return false;
    if (!uniform->branches[block]) uniform->branches[block] = sets_agree(uniform, block) ? 1 : 2;
    return uniform->branches[block] == 1;
}

static bool set_flag(bool *flag)
{
    bool is_new = !*flag;
    *flag = true;
    return is_new;
}

/* From a branch that divides the threads until they all meet again, through what other branches divide too:
 * their threads meet earlier. */
static void mark_parts(struct uniform *uniform, uint32_t branch)
{
    const struct ptx_cfg *cfg = uniform->analysis->cfg;
    int32_t meeting = uniform->after->parent[turned(cfg, branch)];
    uint32_t depth = 0;
    memset(uniform->seen, 0, cfg->block_count * sizeof *uniform->seen);
    uniform->stack[depth++] = branch;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[uniform->stack[--depth]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            uint32_t next = block->successors[s];
            if ((int32_t)turned(cfg, next) == meeting) {
                uniform->is_join[next] = true;
            } else if (set_flag(&uniform->seen[next])) {
                uniform->is_part[next] = true;
                uniform->stack[depth++] = next;
            }
        }
    }
}

static bool operand_differs(const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_SPECIAL)
        return operand->special < PTX_SPECIAL_NTID_X || operand->special > PTX_SPECIAL_NCTAID_Z;
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (operand_differs(&operand->elements[i])) return true;
    return false;
}

/* Whatever is not computed from its operands alone may differ, but for parameters. */
static bool result_differs(const struct uniform *uniform, uint32_t index)
{
    const struct ptx_instruction *instruction = &uniform->analysis->function->instructions[index];
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    const struct ssa_list *uses = &uniform->analysis->ssa->uses[index];
    bool is_parameter = instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM;
    if (class != PTX_CLASS_ARITHMETIC && !is_parameter) return true;
    for (uint32_t u = 0; u < uses->count; u++)
        if (uniform->differs[uses->items[u].value]) return true;
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (operand_differs(&instruction->operands[o])) return true;
    return false;
}

static bool phi_differs(const struct uniform *uniform, const struct ssa_value *phi)
{
    if (uniform->is_join[phi->block]) return true;
    for (uint32_t p = 0; p < uniform->analysis->cfg->blocks[phi->block].predecessor_count; p++)
        if (uniform->differs[phi->arguments[p]]) return true;
    return false;
}

/* What is set where only some threads get may be old or new later on. */
static bool spread_values(struct uniform *uniform)
{
    const struct ssa *ssa = uniform->analysis->ssa;
    bool changed = false;
    for (uint32_t v = 1; v < ssa->value_count; v++) {
        const struct ssa_value *value = &ssa->values[v];
        if (value->kind == SSA_UNDEFINED || uniform->differs[v]) continue;
        bool differs = uniform->is_part[value->block] || uniform->differs[value->previous];
        if (!differs)
            differs = value->kind == SSA_PHI ? phi_differs(uniform, value)
                                             : result_differs(uniform, value->instruction);
        uniform->differs[v] = differs;
        changed |= differs;
    }
    return changed;
}

static void spread(struct uniform *uniform)
{
    const struct analysis *analysis = uniform->analysis;
    bool changed = true;
    while (changed) {
        changed = spread_values(uniform);
        for (uint32_t b = 0; b < analysis->cfg->block_count; b++) {
            if (uniform->is_marked[b] || !dominators_is_reachable(analysis->dominators, b) ||
                branch_is_alike(uniform, b))
                continue;
            changed = uniform->is_marked[b] = true;
            mark_parts(uniform, b);
        }
    }
}

static bool allocate(struct uniform *uniform)
{
    struct arena *arena = uniform->analysis->arena;
    uint32_t blocks = uniform->analysis->cfg->block_count;
    uniform->differs = arena_calloc(arena, uniform->analysis->ssa->value_count, sizeof *uniform->differs);
    uniform->is_part = arena_calloc(arena, blocks, sizeof *uniform->is_part);
    uniform->is_join = arena_calloc(arena, blocks, sizeof *uniform->is_join);
    uniform->is_marked = arena_calloc(arena, blocks, sizeof *uniform->is_marked);
    uniform->branches = arena_calloc(arena, blocks, sizeof *uniform->branches);
    uniform->seen = arena_calloc(arena, blocks, sizeof *uniform->seen);
    uniform->stack = arena_calloc(arena, blocks + 1, sizeof *uniform->stack);
    uniform->after = find_postdominators(arena, uniform->analysis->cfg);
    return uniform->differs && uniform->is_part && uniform->is_join && uniform->is_marked &&
           uniform->branches && uniform->seen && uniform->stack && uniform->after;
}

/* A barrier counts warps: an H100 stops with an illegal instruction where parts of one arrive apart. */
static bool waits_for(const struct ptx_instruction *instruction, enum extent extent)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    return ptx_is_block_barrier(instruction) ||
           (extent == EXTENT_WARP && (class == PTX_CLASS_WARP || class == PTX_CLASS_BARRIER));
}

static bool has_any(const struct analysis *analysis, enum extent extent)
{
    for (uint32_t k = 0; k < analysis->function->instruction_count; k++)
        if (waits_for(&analysis->function->instructions[k], extent)) return true;
    return false;
}

/* The first instruction that only some of the threads that it waits for may reach; NULL: none. */
static const char *find_divergent(struct analysis *analysis, enum extent extent, const char *what,
                                  bool *found)
{
    struct uniform uniform = {.analysis = analysis, .extent = extent};
    *found = false;
    if (!has_any(analysis, extent)) return NULL;
    if (!allocate(&uniform)) return "out of memory";
    for (uint32_t b = 0; b < analysis->cfg->block_count; b++)
        if (dominators_is_reachable(analysis->dominators, b) &&
            uniform.after->position[turned(analysis->cfg, b)] == DOMINATORS_NONE)
            return reason_at(analysis, analysis->cfg->blocks[b].first, "a loop that never ends");
    spread(&uniform);
    for (uint32_t k = 0; k < analysis->function->instruction_count; k++) {
        const struct ptx_instruction *instruction = &analysis->function->instructions[k];
        if (!waits_for(instruction, extent) || !uniform.is_part[analysis->cfg->block_of[k]]) continue;
        *found = true;
        if (extent == EXTENT_WARP || ptx_has_modifier(instruction, PTX_MOD_RED))
            return reason_at(analysis, k, what);
    }
    return NULL;
}

const char *uniform_check(struct analysis *analysis)
{
    bool is_parted;
    const char *why = find_divergent(analysis, EXTENT_BLOCK,
                                     "some threads of a block may not come by this, or leave before it",
                                     &analysis->summary->is_exit_divergent);
    return why ? why
               : find_divergent(analysis, EXTENT_WARP,
                                "some threads of a warp may not come by this, or leave before it",
                                &is_parted);
}
