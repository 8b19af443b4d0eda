/* SPDX-License-Identifier: Apache-2.0
 * Members whose loops are joined, as one statement: segment by segment (struct group_join). A way from one
 * segment to a later one leaves the number of the block that it leads to in the register `at`; what lies
 * between does not run, and the segment of that block begins with it. In a loop the predicate `in` says that
 * the member iterates again; `turn` counts, for those that are shifted. */
#include "fuser/codegen/body_code.h"

#include <string.h>

#define OPERAND BODY_OPERAND

struct joined {
    struct body_writer writer; /* its body: the member that is written */
    struct body *bodies;
    const struct group_join *join;
};

static const struct group_joined *current(const struct joined *joined)
{
    return &joined->join->members[joined->writer.body - joined->bodies];
}

static uint32_t number(const struct joined *joined)
{
    return joined->writer.body->member;
}

static uint32_t exit_block(const struct ptx_cfg *cfg)
{
    return cfg->block_count - 1;
}

static uint32_t target_of(const struct ptx_cfg *cfg, const struct ptx_instruction *branch)
{
    uint32_t at = cfg->function->labels[branch->operands[0].label].instruction;
    return at < cfg->function->instruction_count ? cfg->block_of[at] : exit_block(cfg);
}

/* A path to this block stays in the segment, and in the iteration. */
static bool stays(const struct group_joined *own, uint32_t target, uint32_t segment)
{
    return target != exit_block(own->cfg) && own->segments[target] == segment &&
           (segment % 2 == 0 || target != own->headers[segment / 2]);
}

/* No thread reaches the block, or it is the header of no loop. */
static bool is_idle(const struct joined *joined, uint32_t block)
{
    if (block == GROUP_NO_LOOP) return true;
    const struct access_summary *summary =
        joined->writer.body->group->members[joined->writer.body->member].summary;
    return joined->writer.body->is_specialized && summary->is_idle && summary->is_idle[block];
}

/* --- ways from block to block ----------------------------------------------------------------------------
 */

/* To another segment, or in a loop's to the next iteration. */
static void write_leap(struct joined *joined, const char *guard, uint32_t segment, uint32_t target)
{
    if (is_idle(joined, target)) return;
    bool is_back = segment % 2 && target == current(joined)->headers[segment / 2];
    if (!is_back) body_code_line(&joined->writer, "%smov.u32 %%m%u_at, %u;", guard, number(joined), target);
    if (!is_back && segment % 2)
        body_code_line(&joined->writer, "%ssetp.ne.u32 %%m%u_in, 0, 0;", guard, number(joined));
    body_code_line(&joined->writer, "%sbra m%u_S%u;", guard, number(joined), segment);
}

/* The block's last instruction jumps back in the loop that is written. */
static bool is_latch(const struct joined *joined, uint32_t block, uint32_t segment)
{
    return segment % 2 && current(joined)->latches[segment / 2] == block;
}

/* Where a thread goes on that takes no jump at the block's end. */
static void write_fall(struct joined *joined, uint32_t block, uint32_t segment)
{
    const struct group_joined *own = current(joined);
    const struct ptx_block *info = &own->cfg->blocks[block];
    const struct ptx_instruction *last =
        info->count ? &own->cfg->function->instructions[info->first + info->count - 1] : NULL;
    uint32_t next = block + 1;
    if (is_latch(joined, block, segment)) {
        body_code_line(&joined->writer, "bra m%u_S%u;", number(joined), segment);
        return;
    }
    if (last && last->guard < 0 && (ptx_is_return(last) || last->opcode == PTX_OP_BRA)) return;
    if (!stays(own, next, segment)) write_leap(joined, "", segment, next);
}

/* The way back is the joined loop's own: `in` remembers it, or (LAST_OF_EVEN) it is taken at once. */
enum latch_kind { LATCH_REMEMBERS, LATCH_NOTHING, LATCH_JUMPS };

static void write_latch(struct joined *joined, const struct ptx_instruction *branch, uint32_t segment,
                        enum latch_kind kind)
{
    const char *predicate = joined->writer.body->registers[branch->guard];
    if (kind == LATCH_REMEMBERS)
        body_code_line(&joined->writer, "%s.pred %%m%u_in, %s;", branch->guard_negated ? "not" : "mov",
                       number(joined), predicate);
    else if (kind == LATCH_JUMPS)
        body_code_line(&joined->writer, "@%s%s bra m%u_J%u;", branch->guard_negated ? "!" : "", predicate,
                       joined->bodies->member, segment);
}

/* Instructions of a block. */
static void write_range(struct joined *joined, uint32_t block, uint32_t from, uint32_t end, uint32_t segment,
                        enum latch_kind latch)
{
    const struct group_joined *own = current(joined);
    const struct ptx_function *function = own->cfg->function;
    const struct ptx_block *info = &own->cfg->blocks[block];
    for (uint32_t i = from; i < end; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum access_branch branch = body_code_branch(joined->writer.body, i);
        const char *guard =
            branch == ACCESS_BRANCH_ALWAYS ? "" : body_code_guard(&joined->writer, instruction);
        for (uint32_t label = 0; label < function->label_count; label++)
            if (function->labels[label].instruction == i)
                body_code_line(&joined->writer, "m%u_L%u:", number(joined), label);
        bool is_last = i + 1 == info->first + info->count;
        if (instruction->opcode == PTX_OP_PRAGMA && segment % 2 && block == own->headers[segment / 2])
            continue; /* stands at the head of the joined loop */
        if (is_last && is_latch(joined, block, segment))
            write_latch(joined, instruction, segment, latch);
        else if (body_code_exit(joined->writer.body, i))
            body_code_instruction(&joined->writer, i);
        else if (ptx_is_return(instruction))
            write_leap(joined, guard, segment, exit_block(own->cfg));
        else if (branch == ACCESS_BRANCH_NEVER ||
                 (instruction->opcode == PTX_OP_BRA && is_idle(joined, target_of(own->cfg, instruction))))
            continue;
        else if (instruction->opcode == PTX_OP_BRA && stays(own, target_of(own->cfg, instruction), segment))
            body_code_line(&joined->writer, "%sbra m%u_B%u;", guard, number(joined),
                           target_of(own->cfg, instruction));
        else if (instruction->opcode == PTX_OP_BRA)
            write_leap(joined, guard, segment, target_of(own->cfg, instruction));
        else
            body_code_instruction(&joined->writer, i);
    }
}

static void write_block(struct joined *joined, uint32_t block, uint32_t segment, enum latch_kind latch)
{
    const struct ptx_block *info = &current(joined)->cfg->blocks[block];
    body_code_line(&joined->writer, "m%u_B%u:", number(joined), block);
    write_range(joined, block, info->first, info->first + info->count, segment, latch);
    write_fall(joined, block, segment);
}

/* --- segments --------------------------------------------------------------------------------------------
 */

/* The block leaves the kernel, or does not jump, where the program jumped. */
static bool jumps_to_nowhere(const struct joined *joined, uint32_t block, uint32_t successor)
{
    const struct ptx_block *info = &current(joined)->cfg->blocks[block];
    if (!info->count || !body_code_exit(joined->writer.body, info->first + info->count - 1)) return false;
    bool returns =
        ptx_is_return(&current(joined)->cfg->function->instructions[info->first + info->count - 1]);
    return returns ? successor == exit_block(current(joined)->cfg) : successor == info->successors[0];
}

/* `at` holds a block of this segment or a later one, by a way from an earlier segment; UINT32_MAX: one of
 * several. */
static uint32_t pending(const struct joined *joined, uint32_t segment)
{
    const struct group_joined *own = current(joined);
    uint32_t found = joined->writer.body->is_apart ? exit_block(own->cfg) : UINT32_MAX;
    for (uint32_t b = 0; b < exit_block(own->cfg); b++) {
        const struct ptx_block *info = &own->cfg->blocks[b];
        for (uint32_t s = 0; s < info->successor_count; s++) {
            uint32_t target = info->successors[s];
            bool is_end = target == exit_block(own->cfg);
            if (own->segments[b] >= segment || (own->segments[target] < segment && !is_end)) continue;
            if (jumps_to_nowhere(joined, b, target) || is_idle(joined, b) || is_idle(joined, target))
                continue;
            if (found != UINT32_MAX && found != target) return UINT32_MAX;
            found = target;
        }
    }
    return found;
}

/* Goes to the block of the segment that `at` holds, or past the segment. */
static void write_entries(struct joined *joined, uint32_t segment)
{
    const struct group_joined *own = current(joined);
    uint32_t only = pending(joined, segment);
    for (uint32_t b = 0; b < exit_block(own->cfg); b++) {
        bool is_entered = false;
        for (uint32_t p = 0; p < own->cfg->blocks[b].predecessor_count; p++)
            is_entered |= own->segments[own->cfg->blocks[b].predecessors[p]] != segment;
        if (own->segments[b] != segment || !is_entered || is_idle(joined, b)) continue;
        if (only == b) {
            body_code_line(&joined->writer, "bra m%u_B%u;", number(joined), b);
            return;
        }
        if (only != UINT32_MAX) continue;
        body_code_line(&joined->writer, "setp.eq.u32 %%m%u_in, %%m%u_at, %u;", number(joined), number(joined),
                       b);
        body_code_line(&joined->writer, "@%%m%u_in bra m%u_B%u;", number(joined), number(joined), b);
    }
    body_code_line(&joined->writer, "bra m%u_S%u;", number(joined), segment);
}

static void write_blocks(struct joined *joined, uint32_t segment, enum latch_kind latch)
{
    const struct group_joined *own = current(joined);
    for (uint32_t b = 0; b < exit_block(own->cfg); b++)
        if (own->segments[b] == segment && !is_idle(joined, b)) write_block(joined, b, segment, latch);
    body_code_line(&joined->writer, "m%u_S%u:", number(joined), segment);
}

/* A segment between loops. */
static void write_code(struct joined *joined, uint32_t segment)
{
    if (segment)
        write_entries(joined, segment);
    else if (joined->writer.body->is_apart)
        write_leap(joined, arena_printf(joined->writer.body->arena, "@!%%m%u_runs_0 ", number(joined)), 0,
                   exit_block(current(joined)->cfg));
    write_blocks(joined, segment, LATCH_NOTHING);
}

static void select_body(struct joined *joined, uint32_t index)
{
    joined->writer.body = &joined->bodies[index];
}

/* `in`: the member enters the loop. What comes after the loop is known then. */
static void write_loop_entry(struct joined *joined, uint32_t loop)
{
    const struct group_joined *own = current(joined);
    uint32_t header = own->headers[loop], m = number(joined);
    if (header == GROUP_NO_LOOP)
        body_code_line(&joined->writer, "setp.ne.u32 %%m%u_in, 0, 0;", m);
    else if (pending(joined, 2 * loop + 1) == header)
        body_code_line(&joined->writer, "setp.eq.u32 %%m%u_in, 0, 0;", m);
    else
        body_code_line(&joined->writer, "setp.eq.u32 %%m%u_in, %%m%u_at, %u;", m, m, header);
    if (own->latches[loop] != UINT32_MAX && header != GROUP_NO_LOOP)
        body_code_line(&joined->writer, "@%%m%u_in mov.u32 %%m%u_at, %u;", m, m, own->latches[loop] + 1);
}

static bool has_pragma(const struct group_join *join, uint32_t loop)
{
    for (uint32_t i = 0; i < join->member_count; i++) {
        const struct ptx_cfg *cfg = join->members[i].cfg;
        if (join->members[i].headers[loop] == GROUP_NO_LOOP) continue;
        const struct ptx_block *header = &cfg->blocks[join->members[i].headers[loop]];
        for (uint32_t k = header->first; k < header->first + header->count; k++)
            if (cfg->function->instructions[k].opcode == PTX_OP_PRAGMA) return true;
    }
    return false;
}

/* How many iterations back the value is used. */
static uint32_t history_of(const struct joined *joined, const struct body_value *value)
{
    const struct group *group = joined->bodies->group;
    uint32_t most = 0;
    for (uint32_t i = 0; i < group->forward_count; i++) {
        const struct group_forward *forward = &group->forwards[i];
        if (forward->from_member == value->member && forward->from_instruction == value->instruction &&
            forward->distance > most)
            most = forward->distance;
    }
    return most;
}

/* At the beginning of an iteration: values become those of the one before. */
static void write_rotation(struct joined *joined, uint32_t segment)
{
    const struct body *body = joined->writer.body;
    const struct group_joined *own = current(joined);
    for (uint32_t i = 0; i < body->output_count; i++) {
        const struct body_value *value = &body->outputs[i];
        if (own->segments[own->cfg->block_of[value->instruction]] != segment) continue;
        for (uint32_t distance = history_of(joined, value); distance > 0; distance--) {
            const char *to = body_code_old(body->arena, value, distance);
            if (distance > 1)
                body_code_line(&joined->writer, "mov.b%u %s, %s;", value->bytes * 8, to,
                               body_code_old(body->arena, value, distance - 1));
            else
                body_code_line(&joined->writer, "mov.b%u %s, " OPERAND "%u;", value->bytes * 8, to,
                               body->first_output + i);
        }
    }
}

static bool is_waiting(const struct joined *joined, uint32_t loop)
{
    return current(joined)->shifts[loop] || current(joined)->is_prologue_delayed[loop];
}

/* A member that is shifted begins in this iteration, or goes on, or goes past. */
static void write_beginning(struct joined *joined, uint32_t loop)
{
    const struct group_joined *own = current(joined);
    uint32_t m = number(joined), first = joined->bodies->member, segment = 2 * loop + 1;
    body_code_line(&joined->writer, "setp.eq.u32 %%m%u_now, %%m%u_turn, %u;", m, first, own->shifts[loop]);
    if (own->is_prologue_delayed[loop]) {
        body_code_line(&joined->writer, "@!%%m%u_now bra m%u_W%u;", m, m, segment);
        write_code(joined, 2 * loop);
    }
    body_code_line(&joined->writer, "@%%m%u_now setp.eq.u32 %%m%u_in, %%m%u_at, %u;", m, m, m,
                   own->headers[loop]);
    if (own->latches[loop] != UINT32_MAX) {
        body_code_line(&joined->writer, "and.pred %%m%u_now, %%m%u_now, %%m%u_in;", m, m, m);
        body_code_line(&joined->writer, "@%%m%u_now mov.u32 %%m%u_at, %u;", m, m, own->latches[loop] + 1);
    }
    body_code_line(&joined->writer, "m%u_W%u:", m, segment);
}

/* An iteration of a loop of the same trip count whose iterations are cut: each body is one block. */
static void write_chunks(struct joined *joined, uint32_t loop)
{
    const struct group_join *join = joined->join;
    for (uint32_t chunk = 0; chunk < join->chunks[loop]; chunk++)
        for (uint32_t i = 0; i < join->member_count; i++) {
            select_body(joined, i);
            const struct group_joined *own = current(joined);
            uint32_t block = own->headers[loop];
            if (block == GROUP_NO_LOOP) continue;
            uint32_t from = chunk ? own->cuts[loop][chunk - 1] : own->cfg->blocks[block].first;
            write_range(joined, block, from, own->cuts[loop][chunk], 2 * loop + 1,
                        i + 1 == join->member_count ? LATCH_JUMPS : LATCH_NOTHING);
        }
}

static void write_iteration(struct joined *joined, uint32_t loop)
{
    const struct group_join *join = joined->join;
    uint32_t segment = 2 * loop + 1;
    bool is_plain = join->has_same_trip_count[loop];
    for (uint32_t i = 0; i < join->member_count; i++) {
        select_body(joined, i);
        uint32_t m = number(joined);
        bool is_last = i + 1 == join->member_count;
        if (is_idle(joined, current(joined)->headers[loop]) && !current(joined)->is_prologue_delayed[loop])
            continue;
        if (is_waiting(joined, loop)) write_beginning(joined, loop);
        if (!is_plain) body_code_line(&joined->writer, "@!%%m%u_in bra m%u_S%u;", m, m, segment);
        if (!is_idle(joined, current(joined)->headers[loop]))
            body_code_line(&joined->writer, "bra m%u_B%u;", m, current(joined)->headers[loop]);
        write_blocks(joined, segment, !is_plain ? LATCH_REMEMBERS : is_last ? LATCH_JUMPS : LATCH_NOTHING);
    }
}

/* Another iteration, if a member iterates again or waits. One jump: the assembler makes less of several. */
static void write_return(struct joined *joined, uint32_t loop)
{
    uint32_t first = joined->bodies->member;
    body_code_line(&joined->writer, "setp.ne.u32 %%m%u_again, 0, 0;", first);
    for (uint32_t i = 0; i < joined->join->member_count; i++) {
        select_body(joined, i);
        body_code_line(&joined->writer, "or.pred %%m%u_again, %%m%u_again, %%m%u_in;", first, first,
                       first + i);
        if (!is_waiting(joined, loop)) continue;
        body_code_line(&joined->writer, "setp.lt.u32 %%m%u_now, %%m%u_turn, %u;", first + i, first,
                       current(joined)->shifts[loop]);
        body_code_line(&joined->writer, "or.pred %%m%u_again, %%m%u_again, %%m%u_now;", first, first,
                       first + i);
    }
    body_code_line(&joined->writer, "@%%m%u_again bra m%u_J%u;", first, first, 2 * loop + 1);
}

/* No member enters it, and none waits for it. */
static bool is_idle_loop(struct joined *joined, uint32_t loop)
{
    for (uint32_t i = 0; i < joined->join->member_count; i++) {
        select_body(joined, i);
        if (!is_idle(joined, current(joined)->headers[loop]) || current(joined)->is_prologue_delayed[loop])
            return false;
    }
    return true;
}

static void write_loop(struct joined *joined, uint32_t loop)
{
    const struct group_join *join = joined->join;
    uint32_t segment = 2 * loop + 1, first = joined->bodies->member;
    if (is_idle_loop(joined, loop)) return;
    for (uint32_t i = 0; i < join->member_count; i++) {
        select_body(joined, i);
        if (!is_waiting(joined, loop)) {
            write_loop_entry(joined, loop);
            continue;
        }
        body_code_line(&joined->writer, "setp.ne.u32 %%m%u_in, 0, 0;", first + i);
    }
    if (join->has_same_trip_count[loop])
        body_code_line(&joined->writer, "@!%%m%u_in bra m%u_K%u;", first, first, segment);
    body_code_line(&joined->writer, "mov.u32 %%m%u_turn, 0xffffffff;", first);
    body_code_line(&joined->writer, "m%u_J%u:", first, segment);
    if (has_pragma(join, loop)) body_code_line(&joined->writer, ".pragma \"nounroll\";");
    body_code_line(&joined->writer, "add.u32 %%m%u_turn, %%m%u_turn, 1;", first, first);
    for (uint32_t i = 0; i < join->member_count; i++) {
        select_body(joined, i);
        write_rotation(joined, segment);
    }
    if (join->chunks[loop] > 1)
        write_chunks(joined, loop);
    else
        write_iteration(joined, loop);
    if (!join->has_same_trip_count[loop]) write_return(joined, loop);
    body_code_line(&joined->writer, "m%u_K%u:", first, segment);
}

static void write_segment(struct joined *joined, uint32_t segment)
{
    for (uint32_t i = 0; i < joined->join->member_count; i++) {
        select_body(joined, i);
        bool is_prologue_delayed =
            segment / 2 < joined->join->loop_count && current(joined)->is_prologue_delayed[segment / 2];
        if (!is_prologue_delayed) write_code(joined, segment);
    }
}

static void write_registers(struct joined *joined)
{
    const struct body *body = joined->writer.body;
    uint32_t m = number(joined);
    if (body == joined->bodies) {
        body_code_line(&joined->writer, ".reg .b32 %%m%u_turn;", m);
        body_code_line(&joined->writer, ".reg .pred %%m%u_again;", m);
    }
    body_code_line(&joined->writer, ".reg .b32 %%m%u_at;", m);
    body_code_line(&joined->writer, ".reg .pred %%m%u_in, %%m%u_now, %%m%u_first;", m, m, m);
    for (uint32_t i = 0; i < body->output_count; i++)
        for (uint32_t distance = history_of(joined, &body->outputs[i]); distance > 0; distance--)
            body_code_line(&joined->writer, ".reg .b%u %s;", body->outputs[i].bytes * 8,
                           body_code_old(body->arena, &body->outputs[i], distance));
}

/* --- the statement ---------------------------------------------------------------------------------------
 */

static void write_operands(struct joined *joined, body_word_name *word_name, void *context)
{
    const struct body_writer *writer = &joined->writer;
    const char *separator = "";
    fprintf(writer->out, "%s    :", writer->indentation);
    for (uint32_t i = 0; i < joined->join->member_count; i++) {
        select_body(joined, i);
        separator = body_code_outputs(&joined->writer, separator, '+');
    }
    fprintf(writer->out, "\n%s    :", writer->indentation);
    separator = " ";
    for (uint32_t i = 0; i < joined->join->member_count; i++) {
        select_body(joined, i);
        separator = body_code_inputs(&joined->writer, separator, word_name, context);
    }
    body_code_close(writer, separator);
}

void joined_write(struct body *bodies, const struct group_join *join, FILE *out, const char *indentation,
                  body_word_name *word_name, void *context)
{
    struct joined joined = {
        .writer = body_code_open(bodies, out, indentation), .bodies = bodies, .join = join};
    uint32_t operand = 0;
    for (uint32_t i = 0; i < join->member_count; i++) {
        bodies[i].first_output = operand;
        operand += bodies[i].output_count;
    }
    fprintf(out, "%sasm volatile(\n", indentation);
    body_code_line(&joined.writer, "{");
    for (uint32_t i = 0; i < join->member_count; i++) {
        select_body(&joined, i);
        body_code_declarations(&joined.writer);
        write_registers(&joined);
    }
    for (uint32_t i = 0; i < join->member_count; i++) {
        select_body(&joined, i);
        operand = body_code_copies(&joined.writer, operand);
    }
    for (uint32_t segment = 0; segment <= 2 * join->loop_count; segment++)
        if (segment % 2)
            write_loop(&joined, segment / 2);
        else
            write_segment(&joined, segment);
    body_code_line(&joined.writer, "}");
    write_operands(&joined, word_name, context);
}
