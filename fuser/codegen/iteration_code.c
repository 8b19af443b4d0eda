/* SPDX-License-Identifier: Apache-2.0
 * A member that runs one iteration of its loops (expansion.h). The register `turn` says which; at a loop's
 * header, `ahead` is how many iterations its counters are moved on, `past` that the iteration is one of a
 * later loop. */
#include "fuser/access/expansion.h"
#include "fuser/codegen/body_code.h"

static void write_registers(struct body_writer *writer, const struct expansion_loop *loop)
{
    uint32_t m = writer->body->member;
    body_code_line(writer, ".reg .pred %%m%u_past_%u;", m, loop->header);
    body_code_line(writer, ".reg .b16 %%m%u_ahead_%u_2, %%m%u_step_%u_2;", m, loop->header, m, loop->header);
    body_code_line(writer, ".reg .b32 %%m%u_ahead_%u_4, %%m%u_step_%u_4;", m, loop->header, m, loop->header);
    body_code_line(writer, ".reg .b64 %%m%u_ahead_%u_8, %%m%u_step_%u_8;", m, loop->header, m, loop->header);
}

/* Adds what one iteration adds, or as many as `ahead` says. */
static void write_step(struct body_writer *writer, const struct expansion_loop *loop,
                       const struct expansion_step *step, bool is_ahead)
{
    const struct body *body = writer->body;
    uint32_t m = body->member, h = loop->header;
    uint32_t bytes = ptx_type_bytes(body->function->registers[step->reg].type), bits = bytes * 8;
    const char *addend = step->addend->kind == PTX_OPERAND_REGISTER
                             ? body->registers[step->addend->reg]
                             : arena_printf(body->arena, "%lld", (long long)step->addend->value);
    body_code_line(writer, "mov.b%u %%m%u_step_%u_%u, %s;", bits, m, h, bytes, addend);
    if (step->times > 1)
        body_code_line(writer, "mul.lo.s%u %%m%u_step_%u_%u, %%m%u_step_%u_%u, %u;", bits, m, h, bytes, m, h,
                       bytes, step->times);
    if (is_ahead)
        body_code_line(writer, "mul.lo.s%u %%m%u_step_%u_%u, %%m%u_step_%u_%u, %%m%u_ahead_%u_%u;", bits, m,
                       h, bytes, m, h, bytes, m, h, bytes);
    body_code_line(writer, "%s.s%u %s, %s, %%m%u_step_%u_%u;", step->is_subtracted ? "sub" : "add", bits,
                   body->registers[step->reg], body->registers[step->reg], m, h, bytes);
}

/* From the last iteration to what comes behind the loop. */
static void write_results(struct body_writer *writer, const struct expansion_loop *loop)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < loop->result_count; i++)
        body_code_line(writer, "mov.b%u %s, %s;",
                       8 * ptx_type_bytes(body->function->registers[loop->results[i].reg].type),
                       body->registers[loop->results[i].reg], body->registers[loop->results[i].from]);
    for (uint32_t i = 0; i < loop->last_step_count; i++)
        write_step(writer, loop, &loop->last_steps[i], false);
    for (uint32_t i = 0; i < loop->step_count; i++) write_step(writer, loop, &loop->steps[i], false);
}

static void write_header(struct body_writer *writer, const struct expansion_loop *loop)
{
    uint32_t m = writer->body->member, h = loop->header;
    bool is_passed = expansion_is_passed(writer->body->expansion, loop);
    write_registers(writer, loop);
    if (loop->first) { /* the iteration is one of a loop that this thread does not enter */
        body_code_line(writer, "setp.lt.u32 %%m%u_past_%u, %%m%u_turn, %u;", m, h, m, loop->first);
        body_code_line(writer, "@%%m%u_past_%u bra m%u_end;", m, h, m);
    }
    body_code_line(writer, "sub.u32 %%m%u_ahead_%u_4, %%m%u_turn, %u;", m, h, m, loop->first);
    if (is_passed) {
        body_code_line(writer, "setp.ge.u32 %%m%u_past_%u, %%m%u_ahead_%u_4, %u;", m, h, m, h,
                       loop->iterations);
        body_code_line(writer, "@%%m%u_past_%u mov.u32 %%m%u_ahead_%u_4, %u;", m, h, m, h,
                       loop->iterations - 1);
    }
    body_code_line(writer, "cvt.u16.u32 %%m%u_ahead_%u_2, %%m%u_ahead_%u_4;", m, h, m, h);
    body_code_line(writer, "cvt.u64.u32 %%m%u_ahead_%u_8, %%m%u_ahead_%u_4;", m, h, m, h);
    for (uint32_t i = 0; i < loop->step_count; i++) write_step(writer, loop, &loop->steps[i], true);
    if (!is_passed) return;
    body_code_line(writer, "@!%%m%u_past_%u bra m%u_run_%u;", m, h, m, h);
    write_results(writer, loop);
    body_code_line(writer, "bra m%u_past_%u;", m, h);
    body_code_line(writer, "m%u_run_%u:", m, h);
}

bool iteration_code_write(struct body_writer *writer, uint32_t index)
{
    const struct expansion *expansion = writer->body->expansion;
    const struct ptx_cfg *cfg = expansion->cfg;
    uint32_t block = cfg->block_of[index], m = writer->body->member;
    const struct ptx_block *info = &cfg->blocks[block];
    const struct expansion_loop *begins = expansion_loop_at(expansion, block);
    const struct expansion_loop *ends = expansion_loop_left_at(expansion, block);
    if (begins && index == info->first) write_header(writer, begins);
    if (begins && writer->body->function->instructions[index].opcode == PTX_OP_PRAGMA) return true;
    if (!ends || index + 1 != info->first + info->count) return false;
    body_code_line(writer, "bra m%u_end;", m);
    if (expansion_is_passed(expansion, ends)) body_code_line(writer, "m%u_past_%u:", m, ends->header);
    return true;
}
