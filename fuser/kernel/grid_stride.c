/* SPDX-License-Identifier: Apache-2.0
 * See grid_stride.h. */
#include "fuser/kernel/grid_stride.h"
#include "fuser/kernel/from_data.h"
#include "fuser/kernel/liveness.h"

#include <string.h>

struct finding {
    struct arena *arena, *kept; /* for what is found; for the copy */
    const struct ptx_function *function;
    const struct ptx_cfg *cfg;
    const struct dominators *dominators;
    const struct loop_forest *forest;
    const struct ssa *ssa;
    const uint32_t *grid, *block;
    int axis;
    struct stride_loop {
        int32_t loop;
        uint32_t latch, index; /* block; value */
    } loops[GRID_STRIDE_LOOPS];
    uint32_t loop_count;
    bool *is_raw; /* value -> follows from where the thread is along x, other than by the index */
};

/* --- special registers --- */

enum coordinate { NO_COORDINATE, TID, CTAID, NCTAID, FELLOW, OTHER };

static enum coordinate coordinate_of(const struct ptx_operand *operand, int axis)
{
    int special = (int)operand->special;
    if (operand->kind != PTX_OPERAND_SPECIAL) return NO_COORDINATE;
    if (special == PTX_SPECIAL_TID_X + axis) return TID;
    if (special == PTX_SPECIAL_CTAID_X + axis) return CTAID;
    if (special == PTX_SPECIAL_NCTAID_X + axis) return NCTAID;
    return special >= PTX_SPECIAL_TID_X && special <= PTX_SPECIAL_NCTAID_Z ? FELLOW : OTHER;
}

static bool names(const struct ptx_operand *operand, int axis, enum coordinate coordinate)
{
    if (coordinate_of(operand, axis) == coordinate) return true;
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (names(&operand->elements[i], axis, coordinate)) return true;
    return false;
}

static bool instruction_names(const struct ptx_instruction *instruction, int axis, enum coordinate coordinate)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (names(&instruction->operands[i], axis, coordinate)) return true;
    return false;
}

static bool any_names(const struct ptx_function *function, int axis, enum coordinate coordinate)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (instruction_names(&function->instructions[i], axis, coordinate)) return true;
    return false;
}

/* --- numbers as sums of the thread's coordinates --- */

struct sum { /* constant + tid * of_tid + ctaid * of_ctaid + nctaid * of_nctaid, none of it less than 0 */
    int64_t constant, of_tid, of_ctaid, of_nctaid;
};
enum { SUM_DEPTH = 16, MOST_FACTOR = GRID_STRIDE_MOST_FIRST };

static bool sum_of(const struct finding *finding, uint32_t value, unsigned depth, struct sum *sum);

static bool sum_of_special(const struct finding *finding, const struct ptx_operand *operand, struct sum *sum)
{
    int special = (int)operand->special, axis = (special - PTX_SPECIAL_TID_X) % 3;
    switch (coordinate_of(operand, finding->axis)) {
    case TID:
        sum->of_tid = 1;
        return true;
    case CTAID:
        sum->of_ctaid = 1;
        return true;
    case NCTAID:
        sum->of_nctaid = 1;
        return true;
    case FELLOW:
        if (special < PTX_SPECIAL_NTID_X) return finding->block[axis] == 1; /* tid: it is 0 */
        if (special < PTX_SPECIAL_CTAID_X) return sum->constant = finding->block[axis], true;
        if (special < PTX_SPECIAL_NCTAID_X) return finding->grid[axis] == 1;
        return sum->constant = 1, finding->grid[axis] == 1;
    case NO_COORDINATE:
    case OTHER:
        break;
    }
    return false;
}

static bool sum_of_operand(const struct finding *finding, uint32_t instruction,
                           const struct ptx_operand *operand, unsigned depth, struct sum *sum)
{
    *sum = (struct sum){0};
    if (operand->is_negated || operand->component || operand->element_count) return false;
    switch ((int)operand->kind) {
    case PTX_OPERAND_INTEGER:
        sum->constant = operand->value;
        return operand->value >= 0 && operand->value <= MOST_FACTOR;
    case PTX_OPERAND_SPECIAL:
        return sum_of_special(finding, operand, sum);
    case PTX_OPERAND_REGISTER:
        return operand->reg >= 0 &&
               sum_of(finding, ssa_use(finding->ssa, instruction, operand->reg), depth, sum);
    }
    return false;
}

static bool is_constant(const struct sum *sum)
{
    return !sum->of_tid && !sum->of_ctaid && !sum->of_nctaid;
}

static bool multiply(struct sum *sum, const struct sum *other)
{
    if (!is_constant(other)) {
        struct sum factor = *sum;
        *sum = *other;
        return is_constant(&factor) && multiply(sum, &factor);
    }
    int64_t factor = other->constant;
    *sum = (struct sum){sum->constant * factor, sum->of_tid * factor, sum->of_ctaid * factor,
                        sum->of_nctaid * factor};
    return factor <= MOST_FACTOR && sum->constant <= MOST_FACTOR && sum->of_tid <= MOST_FACTOR &&
           sum->of_ctaid <= MOST_FACTOR && sum->of_nctaid <= MOST_FACTOR;
}

static void add(struct sum *sum, const struct sum *other)
{
    sum->constant += other->constant;
    sum->of_tid += other->of_tid;
    sum->of_ctaid += other->of_ctaid;
    sum->of_nctaid += other->of_nctaid;
}

static bool is_integer(enum ptx_type type, uint32_t bytes)
{
    return !ptx_type_is_float(type) && ptx_type_bytes(type) >= bytes;
}

/* Itself, and whole. */
static bool is_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0 && !operand->is_negated &&
           !operand->component && !operand->element_count;
}

/* Integers of 32 bits and more; none but the plain operation. The numbers are less than 2^31 (regrid.h asks it), so
 * that no conversion of these changes them. */
static bool is_plain(const struct ptx_instruction *instruction)
{
    if (instruction->guard >= 0 || !instruction->type_count || !instruction->operand_count) return false;
    if (!is_register(&instruction->operands[0])) return false;
    for (int m = PTX_MOD_NONE + 1; m < PTX_MODIFIER_COUNT; m++)
        if (m != PTX_MOD_LO && m != PTX_MOD_WIDE && ptx_has_modifier(instruction, (enum ptx_modifier)m))
            return false;
    for (int t = 0; t < instruction->type_count; t++)
        if (!is_integer(instruction->types[t], 4)) return false;
    return true;
}

static bool sum_of_definition(const struct finding *finding, uint32_t number, unsigned depth, struct sum *sum)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    struct sum parts[3];
    uint32_t count = instruction->operand_count;
    if (!is_plain(instruction) || count < 2 || count > 4) return false;
    for (uint32_t i = 1; i < count; i++)
        if (!sum_of_operand(finding, number, &instruction->operands[i], depth, &parts[i - 1])) return false;
    *sum = parts[0];
    switch ((int)instruction->opcode) {
    case PTX_OP_MOV:
    case PTX_OP_CVT:
        return count == 2;
    case PTX_OP_ADD:
        add(sum, &parts[1]);
        return count == 3;
    case PTX_OP_MUL:
        return count == 3 && multiply(sum, &parts[1]);
    case PTX_OP_MAD:
        if (count != 4 || !multiply(sum, &parts[1])) return false;
        add(sum, &parts[2]);
        return true;
    case PTX_OP_SHL:
        if (count != 3 || !is_constant(&parts[1]) || parts[1].constant >= 20) return false;
        parts[1].constant = INT64_C(1) << parts[1].constant;
        return multiply(sum, &parts[1]);
    }
    return false;
}

static bool sum_of(const struct finding *finding, uint32_t value, unsigned depth, struct sum *sum)
{
    const struct ssa_value *info = &finding->ssa->values[value];
    return depth < SUM_DEPTH && info->kind == SSA_DEFINITION && info->previous == SSA_NO_VALUE &&
           sum_of_definition(finding, info->instruction, depth + 1, sum);
}

/* --- the index --- */

static bool is_conversion(const struct ptx_instruction *instruction)
{
    return (instruction->opcode == PTX_OP_MOV || instruction->opcode == PTX_OP_CVT) &&
           is_plain(instruction) && instruction->operand_count == 2 && is_register(&instruction->operands[1]);
}

/* Behind moves and conversions, of numbers less than 2^31. */
static uint32_t strip(const struct finding *finding, uint32_t value)
{
    for (unsigned depth = 0; depth < SUM_DEPTH; depth++) {
        const struct ssa_value *info = &finding->ssa->values[value];
        if (info->kind != SSA_DEFINITION || info->previous != SSA_NO_VALUE) return value;
        const struct ptx_instruction *instruction = &finding->function->instructions[info->instruction];
        if (!is_conversion(instruction)) return value;
        value = ssa_use(finding->ssa, info->instruction, instruction->operands[1].reg);
    }
    return value;
}

static bool is_stride(const struct finding *finding, uint32_t instruction, const struct ptx_operand *operand)
{
    struct sum sum;
    return sum_of_operand(finding, instruction, operand, 0, &sum) && !sum.constant && !sum.of_tid &&
           !sum.of_ctaid && sum.of_nctaid == finding->block[finding->axis];
}

static bool is_index(const struct finding *finding, uint32_t index, uint32_t instruction,
                     const struct ptx_operand *operand)
{
    return is_register(operand) && strip(finding, ssa_use(finding->ssa, instruction, operand->reg)) == index;
}

/* index + nctaid * ntid */
static bool is_next(const struct finding *finding, uint32_t index, uint32_t value)
{
    value = strip(finding, value);
    const struct ssa_value *info = &finding->ssa->values[value];
    if (info->kind != SSA_DEFINITION || info->previous != SSA_NO_VALUE) return false;
    const struct ptx_instruction *instruction = &finding->function->instructions[info->instruction];
    const struct ptx_operand *operands = instruction->operands;
    if (!is_plain(instruction)) return false;
    if (instruction->opcode == PTX_OP_ADD && instruction->operand_count == 3)
        return (is_index(finding, index, info->instruction, &operands[1]) &&
                is_stride(finding, info->instruction, &operands[2])) ||
               (is_index(finding, index, info->instruction, &operands[2]) &&
                is_stride(finding, info->instruction, &operands[1]));
    struct sum product, factor;
    return instruction->opcode == PTX_OP_MAD && instruction->operand_count == 4 &&
           is_index(finding, index, info->instruction, &operands[3]) &&
           sum_of_operand(finding, info->instruction, &operands[1], 0, &product) &&
           sum_of_operand(finding, info->instruction, &operands[2], 0, &factor) &&
           multiply(&product, &factor) && !product.constant && !product.of_tid && !product.of_ctaid &&
           product.of_nctaid == finding->block[finding->axis];
}

static bool is_first(const struct finding *finding, uint32_t value)
{
    struct sum sum;
    return sum_of(finding, value, 0, &sum) && sum.constant <= GRID_STRIDE_MOST_FIRST && sum.of_tid == 1 &&
           sum.of_ctaid == finding->block[finding->axis] && !sum.of_nctaid;
}

static bool is_index_phi(const struct finding *finding, const struct stride_loop *loop, uint32_t value)
{
    const struct ptx_block *header = &finding->cfg->blocks[finding->forest->loops[loop->loop].header];
    const struct ssa_value *phi = &finding->ssa->values[value];
    bool is = header->predecessor_count > 1;
    for (uint32_t p = 0; is && p < header->predecessor_count; p++)
        is = header->predecessors[p] == loop->latch ? is_next(finding, value, phi->arguments[p])
                                                    : is_first(finding, phi->arguments[p]);
    return is;
}

/* Rule 2. */
static bool find_index(const struct finding *finding, const struct liveness *liveness,
                       struct stride_loop *loop)
{
    uint32_t header = finding->forest->loops[loop->loop].header;
    const struct ssa_list *phis = &finding->ssa->phis[header];
    loop->index = SSA_NO_VALUE;
    for (uint32_t i = 0; i < phis->count; i++) {
        uint32_t value = phis->items[i].value;
        if (!liveness_of(liveness, header, phis->items[i].reg)) continue;
        if (loop->index != SSA_NO_VALUE || !is_index_phi(finding, loop, value)) return false;
        loop->index = value;
    }
    return loop->index != SSA_NO_VALUE;
}

static bool find_indices(struct finding *finding)
{
    struct liveness liveness;
    if (liveness_compute(&liveness, finding->arena, finding->ssa)) return false;
    for (uint32_t l = 0; l < finding->loop_count; l++)
        if (!find_index(finding, &liveness, &finding->loops[l])) return false;
    return true;
}

/* --- what follows from the coordinates --- */

/* All loops but those inside others are such. */
static bool is_in_loop(const struct finding *finding, uint32_t block)
{
    return finding->forest->loop_of[block] != LOOPS_NONE;
}

/* The loop that lies in no other, or LOOPS_NONE. */
static int32_t loop_at(const struct finding *finding, uint32_t block)
{
    return loops_child_towards(finding->forest, LOOPS_NONE, finding->forest->loop_of[block]);
}

/* What a loop has left, its last iteration has: another one in the copy (rule 2). */
static bool is_raw_in(const struct finding *finding, uint32_t value, uint32_t block)
{
    const struct ssa_value *info = &finding->ssa->values[value];
    int32_t loop = info->kind == SSA_UNDEFINED ? LOOPS_NONE : loop_at(finding, info->block);
    return finding->is_raw[value] || (loop != LOOPS_NONE && loop != loop_at(finding, block));
}

static bool any_is_raw(const struct finding *finding, uint32_t instruction)
{
    const struct ssa_list *list = &finding->ssa->uses[instruction];
    for (uint32_t i = 0; i < list->count; i++)
        if (is_raw_in(finding, list->items[i].value, finding->cfg->block_of[instruction])) return true;
    return false;
}

static bool names_coordinate(const struct finding *finding, const struct ptx_instruction *instruction)
{
    for (int c = TID; c <= NCTAID; c++)
        if (instruction_names(instruction, finding->axis, (enum coordinate)c)) return true;
    return false;
}

static bool mark(struct finding *finding, uint32_t value)
{
    for (uint32_t l = 0; l < finding->loop_count; l++)
        if (value == finding->loops[l].index) return false;
    if (finding->is_raw[value]) return false;
    return finding->is_raw[value] = true;
}

static bool mark_definitions(struct finding *finding, uint32_t instruction)
{
    const struct ssa_list *list = &finding->ssa->definitions[instruction];
    bool is_raw = any_is_raw(finding, instruction);
    is_raw = is_raw || names_coordinate(finding, &finding->function->instructions[instruction]);
    bool has_more = false;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t value = list->items[i].value;
        if (is_raw ||
            is_raw_in(finding, finding->ssa->values[value].previous, finding->cfg->block_of[instruction]))
            has_more |= mark(finding, value);
    }
    return has_more;
}

/* Ways that threads take outside of the loop may follow from their coordinates; in it, they do not (rule 3). */
static bool mark_phis(struct finding *finding, uint32_t block)
{
    const struct ssa_list *phis = &finding->ssa->phis[block];
    bool has_more = false, is_raw = !is_in_loop(finding, block);
    for (uint32_t i = 0; i < phis->count; i++) {
        const struct ssa_value *phi = &finding->ssa->values[phis->items[i].value];
        bool follows = is_raw;
        for (uint32_t p = 0; p < finding->cfg->blocks[block].predecessor_count; p++)
            follows |= is_raw_in(finding, phi->arguments[p], block);
        if (follows) has_more |= mark(finding, phis->items[i].value);
    }
    return has_more;
}

static bool mark_raw(struct finding *finding)
{
    finding->is_raw = arena_calloc(finding->arena, finding->ssa->value_count + 1, sizeof *finding->is_raw);
    for (bool has_more = finding->is_raw; has_more;) {
        has_more = false;
        for (uint32_t b = 0; b < finding->cfg->block_count; b++) {
            const struct ptx_block *block = &finding->cfg->blocks[b];
            if (!dominators_is_reachable(finding->dominators, b)) continue;
            has_more |= mark_phis(finding, b);
            for (uint32_t i = block->first; i < block->first + block->count; i++)
                has_more |= mark_definitions(finding, i);
        }
    }
    return finding->is_raw;
}

/* --- rules 1, 3 and 4 --- */

static uint32_t last_of(const struct finding *finding, uint32_t block)
{
    return finding->cfg->blocks[block].first + finding->cfg->blocks[block].count - 1;
}

/* It only computes registers from registers. */
static bool is_computation(const struct ptx_instruction *instruction)
{
    return instruction->operand_count && ptx_opcode_info(instruction->opcode)->has_destination &&
           !ptx_is_load(instruction) && !ptx_is_store(instruction) && !ptx_is_atomic(instruction) &&
           !ptx_is_branch(instruction) && instruction->opcode != PTX_OP_CALL;
}

/* The jump back. */
static bool is_end(const struct finding *finding, uint32_t number)
{
    for (uint32_t l = 0; l < finding->loop_count; l++)
        if (number == last_of(finding, finding->loops[l].latch)) return true;
    return false;
}

/* Outside of the loops: from one place, where all threads that come to a loop do. */
static bool load_fits(const struct finding *finding, uint32_t number, uint32_t block)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    if (!ptx_is_load(instruction) || instruction->space == PTX_PARAM || instruction->space == PTX_CONST)
        return true;
    bool comes_to_loop = false;
    for (uint32_t l = 0; l < finding->loop_count; l++)
        comes_to_loop |= dominators_dominates(finding->dominators, block,
                                              finding->forest->loops[finding->loops[l].loop].header);
    return comes_to_loop && instruction->guard < 0 && !any_is_raw(finding, number) &&
           !names_coordinate(finding, instruction);
}

/* What it leaves follows from other threads too, or from which of them are there. */
static bool meets_others(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    return class == PTX_CLASS_WARP || class == PTX_CLASS_BARRIER || class == PTX_CLASS_FENCE;
}

static bool instruction_fits(const struct finding *finding, uint32_t number, uint32_t block)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    bool inside = is_in_loop(finding, block);
    if (ptx_is_atomic(instruction) || instruction->opcode == PTX_OP_CALL || meets_others(instruction))
        return false;
    if (!inside) return !ptx_is_store(instruction) && load_fits(finding, number, block);
    if (ptx_is_return(instruction) || instruction->opcode == PTX_OP_TRAP) return false;
    if (is_end(finding, number) || is_computation(instruction)) return true;
    return !any_is_raw(finding, number) && !names_coordinate(finding, instruction);
}

static bool all_fit(const struct finding *finding)
{
    for (uint32_t b = 0; b < finding->cfg->block_count; b++) {
        const struct ptx_block *block = &finding->cfg->blocks[b];
        if (!dominators_is_reachable(finding->dominators, b)) continue;
        for (uint32_t i = block->first; i < block->first + block->count; i++)
            if (!instruction_fits(finding, i, b)) return false;
    }
    return true;
}

static bool ends_by_data(const struct finding *finding)
{
    const bool *is_data = from_data_find(finding->arena, finding->ssa);
    for (uint32_t l = 0; is_data && l < finding->loop_count; l++) {
        const struct ssa_list *uses = &finding->ssa->uses[last_of(finding, finding->loops[l].latch)];
        for (uint32_t i = 0; i < uses->count; i++)
            if (is_data[uses->items[i].value]) return true;
    }
    return !is_data;
}

static bool find_loops(struct finding *finding)
{
    for (int32_t l = 0; l < (int32_t)finding->forest->loop_count; l++) {
        const struct loop *info = &finding->forest->loops[l];
        struct stride_loop *loop = &finding->loops[finding->loop_count];
        if (info->parent != LOOPS_NONE) continue;
        if (finding->loop_count == GRID_STRIDE_LOOPS || !info->header) return false;
        *loop = (struct stride_loop){.loop = l, .latch = loops_latch(finding->forest, l)};
        if (loop->latch == UINT32_MAX) return false;
        finding->loop_count++;
    }
    return finding->loop_count;
}

static bool examine(struct finding *finding)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(finding->arena, finding->function, &reason);
    struct dominators *dominators = cfg ? dominators_build(finding->arena, cfg) : NULL;
    finding->cfg = cfg;
    finding->dominators = dominators;
    finding->forest = dominators ? loops_build(finding->arena, dominators, &reason) : NULL;
    finding->ssa = finding->forest ? ssa_build(finding->arena, dominators) : NULL;
    return finding->ssa;
}

/* --- the copy --- */

/* The jump back goes to the instruction behind it. */
static bool go_on(const struct finding *finding, struct ptx_function *copy, uint32_t last)
{
    struct ptx_operand *target = arena_calloc(finding->kept, 1, sizeof *target);
    const char *name = arena_printf(finding->kept, "$kfuse_once_%u", last);
    if (!target || !name) return false;
    struct ptx_instruction *instruction = &copy->instructions[last];
    *target = instruction->operands[0];
    target->label = (int32_t)copy->label_count;
    target->symbol = NULL;
    target->text = (struct ptx_span){name, (uint32_t)strlen(name)};
    copy->labels[copy->label_count++] = (struct ptx_label){name, last + 1};
    instruction->operands = target;
    instruction->operand_count = 1;
    instruction->guard = -1;
    instruction->guard_negated = false;
    return true;
}

static const struct ptx_function *copy_once(const struct finding *finding)
{
    const struct ptx_function *function = finding->function;
    struct ptx_function *copy = arena_alloc(finding->kept, sizeof *copy);
    struct ptx_instruction *instructions =
        arena_calloc(finding->kept, function->instruction_count + 1, sizeof *instructions);
    struct ptx_label *labels =
        arena_calloc(finding->kept, function->label_count + finding->loop_count, sizeof *labels);
    if (!copy || !instructions || !labels) return NULL;
    memcpy(instructions, function->instructions, function->instruction_count * sizeof *instructions);
    if (function->label_count) memcpy(labels, function->labels, function->label_count * sizeof *labels);
    *copy = *function;
    copy->instructions = instructions;
    copy->labels = labels;
    for (uint32_t l = 0; l < finding->loop_count; l++)
        if (!go_on(finding, copy, last_of(finding, finding->loops[l].latch))) return NULL;
    return copy;
}

bool grid_stride_may_be(const struct ptx_function *function)
{
    bool jumps_back = false;
    for (uint32_t i = 0; i < function->instruction_count && !jumps_back; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        for (uint32_t k = 0; ptx_is_branch(instruction) && k < instruction->operand_count; k++) {
            const struct ptx_operand *to = &instruction->operands[k];
            jumps_back |= to->kind == PTX_OPERAND_LABEL && to->label >= 0 &&
                          (uint32_t)to->label < function->label_count &&
                          function->labels[to->label].instruction <= i;
        }
    }
    for (int axis = 0; axis < GRID_STRIDE_AXES; axis++)
        if (jumps_back && any_names(function, axis, NCTAID)) return true;
    return false;
}

static bool find_along(struct arena *arena, struct arena *kept, const struct ptx_function *function, int axis,
                       const uint32_t grid[3], const uint32_t block[3], struct grid_stride *found)
{
    struct finding finding = {
        .arena = arena, .kept = kept, .function = function, .axis = axis, .grid = grid, .block = block};
    if (!any_names(function, axis, NCTAID) || !examine(&finding) || !find_loops(&finding) ||
        !find_indices(&finding) || !mark_raw(&finding) || !all_fit(&finding) || ends_by_data(&finding))
        return false;
    *found = (struct grid_stride){.axis = axis, .count = finding.loop_count, .once = copy_once(&finding)};
    for (uint32_t l = 0; l < finding.loop_count; l++)
        found->headers[l] = finding.forest->loops[finding.loops[l].loop].header;
    return found->once;
}

static bool find_all(struct arena *arena, const struct ptx_function *function, const uint32_t grid[3],
                     const uint32_t block[3], struct grid_strides *found)
{
    struct arena *scratch = arena_create();
    for (bool has_more = scratch; has_more && found->count < GRID_STRIDE_AXES;) {
        has_more = false;
        for (int axis = 0; axis < GRID_STRIDE_AXES && !has_more; axis++)
            has_more = find_along(scratch, arena, function, axis, grid, block, &found->of[found->count]);
        if (has_more) function = found->of[found->count++].once;
    }
    arena_free(scratch);
    return found->count;
}

bool grid_strides_find(struct arena *arena, const struct ptx_function *function, const uint32_t grid[3],
                       const uint32_t block[3], struct grid_strides *found)
{
    *found = (struct grid_strides){0};
    if (!grid_stride_may_be(function) || any_names(function, 0, OTHER)) return false;
    if (find_all(arena, function, grid, block, found)) return true;
    found->rolled = reroll_find(arena, function);
    if (found->rolled && find_all(arena, found->rolled->function, grid, block, found)) return true;
    grid_strides_close(found);
    return false;
}

void grid_strides_close(struct grid_strides *found)
{
    reroll_close(found->rolled);
    found->rolled = NULL;
}
