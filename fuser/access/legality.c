/* SPDX-License-Identifier: Apache-2.0
 * What bars a launch from being analysed (refusal), or from being a member of an inner-thread fusion
 * (no_member). */
#include "fuser/access/analysis.h"
#include "fuser/kernel/inline.h"
#include "fuser/kernel/plain.h"

static bool accesses_shared(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;

    return instruction->space == PTX_SHARED && (class == PTX_CLASS_MEMORY || class == PTX_CLASS_ATOMIC);
}

/* Memory that no relation can describe. */
static const char *refusal_of(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    switch ((int)instruction->opcode) {
    case PTX_OP_UNKNOWN:
        return "an instruction that is not known: it may touch any memory";
    case PTX_OP_CALL:
        return inline_obstacle(function, instruction);
    case PTX_OP_CP:
        return "copies memory asynchronously";
    case PTX_OP_MULTIMEM:
        return "multicast memory";
    case PTX_OP_WMMA:
        return instruction->space != PTX_SHARED && ptx_address_operand(instruction)
                   ? "a warp loads or stores a matrix"
                   : NULL;
    case PTX_OP_DISCARD:
        return "discards memory";
    case PTX_OP_SUST:
    case PTX_OP_SURED:
        return "writes to a surface";
    case PTX_OP_TENSORMAP:
        return "tensor maps";
    case PTX_OP_GRIDDEPCONTROL:
        return "waits for or releases another launch";
    case PTX_OP_CLUSTERLAUNCHCONTROL:
        return "takes over blocks of the launch";
    case PTX_OP_TCGEN05:
    case PTX_OP_WGMMA:
        return "asynchronous matrix instructions";
    }
    return NULL;
}

static const char *barred_special(enum ptx_special special)
{
    switch (special) {
    case PTX_SPECIAL_WARPID:
    case PTX_SPECIAL_NWARPID:
        return "depends on which warp runs it";
    case PTX_SPECIAL_SMID:
    case PTX_SPECIAL_NSMID:
        return "depends on which multiprocessor runs it";
    case PTX_SPECIAL_GRIDID:
        return "depends on the launch's number";
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_CLOCK_HI:
    case PTX_SPECIAL_CLOCK64:
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return "reads a clock";
    case PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
    case PTX_SPECIAL_TOTAL_SMEM_SIZE:
        return "depends on the size of shared memory";
    case PTX_SPECIAL_OTHER:
        return "reads a special register that a fused kernel would change";
    case PTX_SPECIAL_LANEID:
    case PTX_SPECIAL_LANEMASK_EQ:
    case PTX_SPECIAL_LANEMASK_LT:
    case PTX_SPECIAL_LANEMASK_LE:
    case PTX_SPECIAL_LANEMASK_GT:
    case PTX_SPECIAL_LANEMASK_GE: /* whole blocks keep their warps */
    case PTX_SPECIAL_TID_X:
    case PTX_SPECIAL_TID_Y:
    case PTX_SPECIAL_TID_Z:
    case PTX_SPECIAL_NTID_X:
    case PTX_SPECIAL_NTID_Y:
    case PTX_SPECIAL_NTID_Z:
    case PTX_SPECIAL_CTAID_X:
    case PTX_SPECIAL_CTAID_Y:
    case PTX_SPECIAL_CTAID_Z:
    case PTX_SPECIAL_NCTAID_X:
    case PTX_SPECIAL_NCTAID_Y:
    case PTX_SPECIAL_NCTAID_Z:
    case PTX_SPECIAL_COUNT:
        break;
    }
    return NULL;
}

/* Specials whose value is the moment at which it is read. */
static bool reads_clock(const struct ptx_operand *operands, uint32_t count)
{
    static const enum ptx_special clocks[] = {PTX_SPECIAL_CLOCK,          PTX_SPECIAL_CLOCK_HI,
                                              PTX_SPECIAL_CLOCK64,        PTX_SPECIAL_GLOBALTIMER,
                                              PTX_SPECIAL_GLOBALTIMER_LO, PTX_SPECIAL_GLOBALTIMER_HI};
    for (uint32_t o = 0; o < count; o++) {
        const struct ptx_operand *operand = &operands[o];
        for (size_t c = 0; operand->kind == PTX_OPERAND_SPECIAL && c < sizeof clocks / sizeof clocks[0]; c++)
            if (operand->special == clocks[c]) return true;
        if (reads_clock(operand->elements, operand->element_count)) return true;
    }
    return false;
}

/* Whether the host, another stream or another device may have been promised an order by it: a fence, or an
 * access that is ordered or meant for the whole system, to memory that they can see (PTX ISA, memory
 * consistency model). */
static bool orders_memory(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier ordering[] = {PTX_MOD_VOLATILE, PTX_MOD_MMIO,    PTX_MOD_ACQUIRE,
                                                 PTX_MOD_RELEASE,  PTX_MOD_ACQ_REL, PTX_MOD_SYS};
    bool is_seen = instruction->space != PTX_SHARED && instruction->space != PTX_LOCAL &&
                   instruction->space != PTX_PARAM && instruction->space != PTX_CONST;
    if (ptx_opcode_info(instruction->opcode)->class == PTX_CLASS_FENCE) return true;
    if (!is_seen || (!ptx_is_load(instruction) && !ptx_is_store(instruction) && !ptx_is_atomic(instruction)))
        return false;
    for (size_t m = 0; m < sizeof ordering / sizeof ordering[0]; m++)
        if (ptx_has_modifier(instruction, ordering[m])) return true;
    return false;
}

static const char *place_of(const struct ptx_instruction *instruction)
{
    if (orders_memory(instruction)) return "others may rely on what has been done before it, or wait for it";
    return reads_clock(instruction->operands, instruction->operand_count) ? "reads a clock" : NULL;
}

static bool is_result_used(const struct analysis *analysis, const struct ptx_instruction *instruction)
{
    uint32_t index = (uint32_t)(instruction - analysis->function->instructions);
    const struct ssa_list *definitions = &analysis->ssa->definitions[index];

    for (uint32_t d = 0; d < definitions->count; d++)
        if (ssa_is_used(analysis->ssa, definitions->items[d].value)) return true;
    return false;
}

static const char *barred_memory(const struct analysis *analysis, const struct ptx_instruction *instruction)
{
    if (!ptx_is_load(instruction) && !ptx_is_store(instruction) && !ptx_is_atomic(instruction)) return NULL;
    if (ptx_has_modifier(instruction, PTX_MOD_VOLATILE) || ptx_has_modifier(instruction, PTX_MOD_MMIO))
        return "volatile: it may wait for another thread";
    if (ptx_is_atomic(instruction)) {
        enum ptx_type type =
            instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_NO_TYPE;
        if (ptx_type_is_float(type) && instruction->space == PTX_SHARED)
            return "a floating-point atomic in shared memory: its order shows in the result";
        if (ptx_has_modifier(instruction, PTX_MOD_CAS) || ptx_has_modifier(instruction, PTX_MOD_EXCH))
            return "an atomic exchange: its order shows in the result";
        if (is_result_used(analysis, instruction))
            return "an atomic whose result is used: it shows the order of threads";
        return NULL;
    }
    if (ptx_has_modifier(instruction, PTX_MOD_ACQUIRE) || ptx_has_modifier(instruction, PTX_MOD_RELEASE) ||
        ptx_has_modifier(instruction, PTX_MOD_RELAXED))
        return "talks to other threads of the launch";
    return NULL;
}

static const char *barred_operands(const struct ptx_operand *operands, uint32_t count)
{
    for (uint32_t o = 0; o < count; o++) {
        const char *why = operands[o].kind == PTX_OPERAND_SPECIAL
                              ? barred_special(operands[o].special)
                              : barred_operands(operands[o].elements, operands[o].element_count);
        if (why) return why;
    }
    return NULL;
}

/* bar.sync, bar.red over all threads of the block, and bar.warp.sync. */
static const char *barred_barrier(const struct ptx_instruction *instruction)
{
    bool is_reduction = ptx_has_modifier(instruction, PTX_MOD_RED);
    uint32_t at = is_reduction ? 1 : 0, most = is_reduction ? 3 : 1;
    if (instruction->guard >= 0) return "a barrier under a predicate";
    if (ptx_has_modifier(instruction, PTX_MOD_WARP)) return NULL;
    if (ptx_has_modifier(instruction, PTX_MOD_ARRIVE) || ptx_has_modifier(instruction, PTX_MOD_CLUSTER))
        return "a barrier that not all threads of the block wait at";
    if (instruction->operand_count <= at || instruction->operand_count > most ||
        instruction->operands[at].kind != PTX_OPERAND_INTEGER || instruction->operands[at].value != 0)
        return "a barrier that not all threads of the block wait at";
    return NULL;
}

/* What ties the threads of a block together: its blocks must stay whole in a fused kernel. */
static const char *tie_of(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    if (class == PTX_CLASS_BARRIER) return "a barrier of the block";
    if (class == PTX_CLASS_WARP) return "a warp collective";
    if (accesses_shared(instruction)) return "shared memory";
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct ptx_operand *operand = &instruction->operands[o];
        if (operand->variable && operand->variable->space == PTX_SHARED) return "shared memory";
        if (operand->kind == PTX_OPERAND_SPECIAL &&
            (operand->special == PTX_SPECIAL_LANEID ||
             (operand->special >= PTX_SPECIAL_LANEMASK_EQ && operand->special <= PTX_SPECIAL_LANEMASK_GT)))
            return "it depends on where in its warp the thread is";
    }
    return NULL;
}

/* Takes the carry of an instruction of another block: what runs between them in a fused kernel is not known.
 */
static bool takes_foreign_carry(const struct analysis *analysis, uint32_t index)
{
    const struct ptx_instruction *instructions = analysis->function->instructions;
    enum ptx_opcode opcode = instructions[index].opcode;
    if (opcode != PTX_OP_ADDC && opcode != PTX_OP_SUBC && opcode != PTX_OP_MADC) return false;
    uint32_t first = analysis->cfg->blocks[analysis->cfg->block_of[index]].first;
    while (index-- > first)
        if (ptx_has_modifier(&instructions[index], PTX_MOD_CC) && instructions[index].guard < 0) return false;
    return true;
}

static const char *no_member_of(const struct analysis *analysis, const struct ptx_instruction *instruction)
{
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    const char *why = barred_memory(analysis, instruction);

    if (why) return why;
    switch (info->class) {
    case PTX_CLASS_BARRIER:
        why = barred_barrier(instruction);
        if (why) return why;
        break;
    case PTX_CLASS_WARP:
        if (instruction->guard >= 0) return "a warp collective under a predicate";
        break;
    case PTX_CLASS_FENCE:
        return "a fence";
    case PTX_CLASS_ARITHMETIC:
    case PTX_CLASS_MEMORY:
    case PTX_CLASS_ATOMIC:
    case PTX_CLASS_CONTROL:
    case PTX_CLASS_OTHER:
        break;
    }
    if (!info->may_fuse) return "not on the list of instructions that may be fused";
    if (takes_foreign_carry(analysis, (uint32_t)(instruction - analysis->function->instructions)))
        return "takes a carry from far away";
    return barred_operands(instruction->operands, instruction->operand_count);
}

static void note_flags(struct access_summary *summary, const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;

    summary->has_barrier = summary->has_barrier || class == PTX_CLASS_BARRIER;
    summary->has_warp_collective = summary->has_warp_collective || class == PTX_CLASS_WARP;
    summary->has_atomic = summary->has_atomic || class == PTX_CLASS_ATOMIC;
    summary->has_shared = summary->has_shared || accesses_shared(instruction);
    summary->has_local = summary->has_local || (class == PTX_CLASS_MEMORY && instruction->space == PTX_LOCAL);
}

const char *legality_check(struct analysis *analysis)
{
    struct access_summary *summary = analysis->summary;
    const struct ptx_function *function = analysis->function;

    for (uint32_t k = 0; k < function->instruction_count; k++) {
        const struct ptx_instruction *instruction = &function->instructions[k];
        if (!dominators_is_reachable(analysis->dominators, analysis->cfg->block_of[k])) continue;
        const char *why = refusal_of(function, instruction);
        if (why) return reason_at(analysis, k, why);
        note_flags(summary, instruction);
        why = place_of(instruction);
        if (why && !summary->keeps_place) summary->keeps_place = reason_at(analysis, k, why);
        if (summary->no_member) continue;
        why = no_member_of(analysis, instruction);
        if (why) summary->no_member = reason_at(analysis, k, why);
        why = tie_of(instruction);
        if (why && !summary->whole_block) summary->whole_block = reason_at(analysis, k, why);
    }
    summary->has_loop = analysis->forest->loop_count > 0;
    int64_t load = waiting_find(analysis);
    if (!summary->keeps_place && load >= 0)
        summary->keeps_place = reason_at(analysis, (uint32_t)load,
                                         "a loop ends by what it loads: it may wait for another thread");
    if (!summary->no_member) summary->no_member = summary->keeps_place;
    uint32_t taken = 0;
    const char *why = summary->no_member ? NULL : plain_obstacle(analysis->arena, analysis->ssa, &taken);
    if (why) summary->no_member = reason_at(analysis, taken, why);
    if (!summary->no_member && function->module && function->module->is_debug)
        summary->no_member =
            arena_printf(analysis->arena, "kernel %s: compiled for debugging (-G)", function->name);
    return NULL;
}
