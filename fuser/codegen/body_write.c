/* SPDX-License-Identifier: Apache-2.0
 * Second pass over a member's body: prints the inline-assembly statement. */
#include "fuser/codegen/body_code.h"
#include "fuser/codegen/mnemonic.h"
#include "fuser/codegen/stage_code.h"
#include "fuser/codegen/tile_code.h"
#include "fuser/kernel/places.h"

#include <string.h>

#define OPERAND BODY_OPERAND

static bool is_exit_divergent(const struct body *body)
{
    return body->group->members[body->member].summary->is_exit_divergent;
}

static const char *negated_name(const struct body *body, enum ptx_type type)
{
    return arena_printf(body->arena, "%%m%u_negated_%s", body->member, ptx_type_name(type));
}

void body_code_declarations(struct body_writer *writer)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < body->function->register_count; i++) {
        if (!body->registers[i]) continue;
        enum ptx_type type = body->function->registers[i].type;
        char line[256];
        int length = snprintf(line, sizeof line, ".reg .%s %s", ptx_type_name(type), body->registers[i]);
        uint32_t next = i + 1;
        while (next < body->function->register_count && length > 0 && length < 90) {
            if (body->registers[next]) {
                if (body->function->registers[next].type != type) break;
                length +=
                    snprintf(line + length, sizeof line - (size_t)length, ", %s", body->registers[next]);
            }
            next++;
        }
        body_code_line(writer, "%s;", line);
        i = next - 1;
    }
    if (body->variable_count || body->copy_count || body->distances)
        body_code_line(writer, ".reg .b64 %%m%u_place;", body->member);
    if (contraction_needs_scratch(body->function, body->contractions)) {
        body_code_line(writer, ".reg .f32 %s;", negated_name(body, PTX_F32));
        body_code_line(writer, ".reg .f64 %s;", negated_name(body, PTX_F64));
    }
    if (is_exit_divergent(body)) {
        uint32_t member = body->member;
        body_code_line(writer, ".reg .pred %%m%u_all_gone, %%m%u_gone, %%m%u_here;", member, member, member);
        body_code_line(writer, "setp.eq.u32 %%m%u_gone, 0, 0;", member);
        body_code_line(writer, "setp.ne.u32 %%m%u_here, 0, 0;", member);
    }
    for (uint32_t i = 0; i < body->function->variable_count; i++) {
        const struct ptx_variable *variable = body->function->variables[i];
        if (variable->space == PTX_SHARED) continue;
        body_code_line(writer, ".local .align %u .b8 m%u_%s[%llu];",
                       variable->alignment ? variable->alignment : 1, body->member, variable->name,
                       (unsigned long long)variable->size);
    }
}

/* A predicate from an operand, and one for its use together with an instruction's own guard. */
static uint32_t write_flag(struct body_writer *writer, const char *name, uint32_t index, uint32_t operand)
{
    uint32_t member = writer->body->member;
    body_code_line(writer, ".reg .pred %%m%u_%s_%u, %%m%u_%s_%u_guard;", member, name, index, member, name,
                   index);
    body_code_line(writer, "setp.ne.u32 %%m%u_%s_%u, " OPERAND "%u, 0;", member, name, index, operand);
    return operand + 1;
}

/* Operands are copied before anything else runs: an output may share its register with an input. */
uint32_t body_code_copies(struct body_writer *writer, uint32_t operand)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < body->word_count; i++, operand++) {
        uint32_t bits = body->words[i].register_bytes * 8;
        body_code_line(writer, ".reg .b%u %%m%u_word_%u;", bits, body->member, i);
        body_code_line(writer, "mov.b%u %%m%u_word_%u, " OPERAND "%u;", bits, body->member, i, operand);
    }
    for (uint32_t i = 0; i < body->copy_count; i++, operand++) {
        body_code_line(writer, ".reg .b64 %s;", body->copies[i].name);
        body_code_line(writer, "cvta.to.param.u64 %s, " OPERAND "%u;", body->copies[i].name, operand);
    }
    for (uint32_t i = 0; i < body->input_count; i++, operand++) {
        uint32_t bits = body->inputs[i].bytes * 8;
        body_code_line(writer, ".reg .b%u %%m%u_in_%u;", bits, body->member, i);
        body_code_line(writer, "mov.b%u %%m%u_in_%u, " OPERAND "%u;", bits, body->member, i, operand);
    }
    for (uint32_t i = 0; i < body->fetch_count; i++) {
        if (body_is_first_fetch(body, i)) {
            const char *tile = body_tile_name(body, body->fetches[i]);
            body_code_line(writer, ".reg .b32 %%%s;", tile);
            body_code_line(writer, "mov.b32 %%%s, " OPERAND "%u;", tile, operand++);
        }
        if (body->served[i] != BODY_SERVED_ASKED) continue;
        operand = write_flag(writer, "covered", i, operand);
        body_code_line(writer, ".reg .pred %%m%u_served_%u, %%m%u_served_%u_guard;", body->member, i,
                       body->member, i);
    }
    if (body->is_recomputed) operand = write_flag(writer, "own", 0, operand);
    for (uint32_t i = 0; i < body->group->prefetch_count; i++)
        if (body->group->prefetches[i].member == body->member)
            operand = write_flag(writer, "further", i, operand);
    for (uint32_t i = 0; i < body->group->kept_count; i++)
        if (body->group->kept[i].member == body->member) operand = write_flag(writer, "kept", i, operand);
    if (body->is_apart) operand = write_flag(writer, "runs", 0, operand);
    if (body->expansion) {
        body_code_line(writer, ".reg .b32 %%m%u_turn;", body->member);
        body_code_line(writer, "mov.b32 %%m%u_turn, " OPERAND "%u;", body->member, operand++);
    }
    for (int special = PTX_SPECIAL_TID_X; special <= PTX_SPECIAL_NCTAID_Z; special++) {
        const char *name = body_coordinate(body, special);
        if (!name) continue;
        body_code_line(writer, ".reg .b32 %%m%u_%s;", body->member, name);
        body_code_line(writer, "mov.b32 %%m%u_%s, " OPERAND "%u;", body->member, name, operand++);
    }
    tile_code_begin(writer);
    for (uint32_t i = 0; i < body->output_count; i++)
        if (body->outputs[i].element == BODY_MADE)
            body_code_line(writer, "mov.b16 " OPERAND "%u, 0;", body->first_output + i);
    return operand + body_uses_shared(body);
}

static const struct ptx_operand *element_of(const struct ptx_operand *operand, uint32_t element)
{
    return operand->kind == PTX_OPERAND_VECTOR ? &operand->elements[element] : operand;
}

static void write_parameter_load(struct body_writer *writer, const struct ptx_instruction *instruction)
{
    const struct body *body = writer->body;
    const struct ptx_operand *to = &instruction->operands[0], *address = &instruction->operands[1];
    uint32_t bytes = ptx_type_bytes(instruction->types[0]);
    uint32_t count = to->kind == PTX_OPERAND_VECTOR ? to->element_count : 1;
    for (uint32_t element = 0; element < count; element++) {
        const struct ptx_operand *target = element_of(to, element);
        if (target->kind != PTX_OPERAND_REGISTER) continue;
        uint32_t width = ptx_type_bytes(body->function->registers[target->reg].type);
        uint32_t offset = address->variable->offset + (uint32_t)address->value + element * bytes, i = 0;
        while (body->words[i].offset != offset || body->words[i].type != instruction->types[0] ||
               body->words[i].register_bytes != width)
            i++;
        body_code_line(writer, "%smov.b%u %s, %%m%u_word_%u;", body_code_guard(writer, instruction),
                       width * 8, body->registers[target->reg], body->member, i);
    }
}

/* The body of a member whose outputs are operands of this very statement, or NULL. */
static const struct body *joined_body(const struct body_writer *writer, uint32_t member)
{
    const struct body *own = writer->body;
    const struct group_join *join = group_join_of(own->group, own->member);
    return join && join == group_join_of(own->group, member) ? own - own->member + member : NULL;
}

/* The store's value is one of those that go into the place of that one's. */
static bool shares_place(const struct body *body, uint32_t index, uint32_t with)
{
    const struct group *group = body->group;
    for (uint32_t i = 0; i < group->tile_count; i++)
        if (group->tiles[i].member == body->member && group->tiles[i].instruction == index)
            return group->tiles[group->tiles[i].kept_in].instruction == with;
    return false;
}

/* After a load or before a store: its value goes into the variables of the fused kernel. */
static void write_outputs(struct body_writer *writer, uint32_t index)
{
    const struct body *body = writer->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    for (uint32_t i = 0; i < body->output_count; i++) {
        uint32_t of = body->outputs[i].instruction;
        if (of != index && !shares_place(body, index, of)) continue;
        if (body->outputs[i].element == BODY_MADE) {
            body_code_line(writer, "%smov.b16 " OPERAND "%u, 1;", body_code_guard(writer, instruction),
                           body->first_output + i);
            continue;
        }
        const struct ptx_operand *source =
            element_of(&instruction->operands[ptx_is_store(instruction) ? 1 : 0], body->outputs[i].element);
        const char *text = source->kind == PTX_OPERAND_REGISTER
                               ? body->registers[source->reg]
                               : arena_strndup(body->arena, source->text.text, source->text.length);
        const char *type = source->kind == PTX_OPERAND_FLOAT ? "f" : "b";
        bool is_wider =
            source->kind == PTX_OPERAND_REGISTER && body->outputs[i].bytes == 2 &&
            ptx_type_bytes(body->function->registers[source->reg].type) == 4; /* of a byte, in a tile */
        if (is_wider)
            body_code_line(writer, "%scvt.u16.u32 " OPERAND "%u, %s;", body_code_guard(writer, instruction),
                           body->first_output + i, text);
        else
            body_code_line(writer, "%smov.%s%u " OPERAND "%u, %s;", body_code_guard(writer, instruction),
                           type, body->outputs[i].bytes * 8, body->first_output + i, text);
    }
}

static bool is_demoted(const struct body *body, uint32_t instruction)
{
    for (uint32_t i = 0; i < body->group->demote_count; i++)
        if (body->group->demotes[i].member == body->member &&
            body->group->demotes[i].instruction == instruction)
            return true;
    return false;
}

const struct group_exit *body_code_exit(const struct body *body, uint32_t instruction)
{
    for (uint32_t i = 0; i < body->group->exit_count; i++)
        if (body->group->exits[i].member == body->member && body->group->exits[i].instruction == instruction)
            return &body->group->exits[i];
    return NULL;
}

/* Threads of a warp need not come to the barrier at once: after a loop of a join, those that went other ways
 * meet at the end of the segment for certain, and it may lie in between. */
static bool may_arrive_apart(const struct body *body)
{
    return body->is_ragged || is_exit_divergent(body) || group_join_of(body->group, body->member);
}

/* bar.* wants whole warps (ISA 9.7.13.1). */
static struct ptx_span ragged_mnemonic(struct arena *arena, struct ptx_span mnemonic)
{
    struct ptx_span all = mnemonic_change(arena, mnemonic, ".aligned", NULL);
    if (strncmp(all.text, "bar.", 4)) return all;
    char *text = arena_printf(arena, "barrier%.*s", (int)all.length - 3, all.text + 3);
    return text ? (struct ptx_span){text, (uint32_t)strlen(text)} : all;
}

/* Memory of a constant of the program, which is global memory for others. */
static struct ptx_span moved_mnemonic(struct arena *arena, const struct ptx_instruction *instruction)
{
    const char *space = instruction->opcode == PTX_OP_CVTA ? ".global" : ".global.nc";
    struct ptx_span without = mnemonic_change(arena, instruction->mnemonic, ".const", NULL);
    bool is_to = ptx_has_modifier(instruction, PTX_MOD_TO);
    return is_to ? mnemonic_change(arena, mnemonic_change(arena, without, ".to", NULL), NULL, ".to.global")
                 : mnemonic_change(arena, without, NULL, space);
}

/* The address of a variable or of a copied parameter lies in a register: one that is not its beginning is computed first. */
static void write_variable_sums(struct body_writer *writer, struct ptx_instruction *instruction)
{
    const struct body *body = writer->body;
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct ptx_operand *operand = &instruction->operands[o];
        if (operand->kind != PTX_OPERAND_SYMBOL || !operand->variable || operand->value == 0 ||
            (!variables_is_one(operand->variable) && !places_is_parameter(body->function, operand->variable)))
            continue;
        body_code_line(writer, "add.s64 %%m%u_place, %s, %lld;", body->member,
                       writer->names.symbol(writer, operand->symbol), (long long)operand->value);
        struct ptx_operand *operands =
            arena_calloc(body->arena, instruction->operand_count, sizeof *operands);
        if (!operands) return;
        memcpy(operands, instruction->operands, instruction->operand_count * sizeof *operands);
        operands[o].symbol = body_code_place;
        operands[o].value = 0;
        instruction->operands = operands;
        return;
    }
}

/* Old and new contents of a range lie elsewhere than its array. */
static void write_distance(struct body_writer *writer, struct ptx_instruction *instruction,
                           const char *distance)
{
    const struct body *body = writer->body;
    struct ptx_operand *operands = arena_calloc(body->arena, instruction->operand_count, sizeof *operands);
    if (!operands) return;
    memcpy(operands, instruction->operands, instruction->operand_count * sizeof *operands);
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        if (operands[o].kind != PTX_OPERAND_ADDRESS || operands[o].reg < 0) continue;
        body_code_line(writer, "add.s64 %%m%u_place, %s, %s;", body->member, body->registers[operands[o].reg],
                       distance);
        operands[o].reg = -1;
        operands[o].symbol = body_code_place;
    }
    instruction->operands = operands;
}

/* A sum with a product contracted into it. */
static void write_contracted(struct body_writer *writer, uint32_t index, const char *guard)
{
    const struct body *body = writer->body;
    struct ptx_operand scratch = {.kind = PTX_OPERAND_SYMBOL,
                                  .reg = -1,
                                  .label = -1,
                                  .symbol = negated_name(body, body->function->instructions[index].types[0])};
    struct ptx_instruction parts[2];
    uint32_t count =
        contraction_parts(body->arena, body->function, body->contractions, index, &scratch, parts);
    for (uint32_t i = 0; i < count; i++) body_code_print(writer, &parts[i], guard);
    if (!count) body_code_line(writer, "memory is out;"); /* does not assemble */
}

/* The guard of an instruction that runs only where the flag is set, too (or is not). */
static const char *flagged_guard(struct body_writer *writer, const struct ptx_instruction *instruction,
                                 const char *name, uint32_t index, bool is_set)
{
    struct arena *arena = writer->body->arena;
    const char *flag = arena_printf(arena, "%%m%u_%s_%u", writer->body->member, name, index);
    if (instruction->guard < 0) return arena_printf(arena, "@%s%s ", is_set ? "" : "!", flag);
    body_code_line(writer, "xor.pred %s_guard, %s, %s;", flag, flag, flag);
    body_code_line(writer, "%s%s.pred %s_guard, %s;", body_code_guard(writer, instruction),
                   is_set ? "mov" : "not", flag, flag);
    return arena_printf(arena, "@%s_guard ", flag);
}

/* Before the load, which may overwrite the register of its address. */
static void write_prefetch(struct body_writer *writer, uint32_t index, const struct ptx_instruction *load)
{
    static const struct ptx_span mnemonic = {"prefetch.global.L2", sizeof "prefetch.global.L2" - 1};
    const struct group_prefetch *prefetch =
        group_prefetch_of(writer->body->group, writer->body->member, index);
    if (!prefetch || load->operands[1].kind != PTX_OPERAND_ADDRESS) return;
    struct ptx_operand address = load->operands[1];
    struct ptx_instruction printed = *load;
    address.value += prefetch->stride;
    printed.mnemonic = mnemonic;
    printed.operands = &address;
    printed.operand_count = 1;
    uint32_t number = (uint32_t)(prefetch - writer->body->group->prefetches);
    body_code_print(writer, &printed, flagged_guard(writer, load, "further", number, true));
}

static void write_known(struct body_writer *writer, const struct ptx_instruction *load, uint64_t value,
                        const char *guard)
{
    struct ptx_operand operands[2] = {load->operands[0],
                                      {.kind = PTX_OPERAND_INTEGER, .reg = -1, .value = (int64_t)value}};
    bool is_wide = ptx_type_bytes(writer->body->function->registers[load->operands[0].reg].type) == 8;
    struct ptx_instruction move = *load;
    move.opcode = PTX_OP_MOV;
    move.mnemonic = (struct ptx_span){is_wide ? "mov.b64" : "mov.b32", sizeof "mov.b64" - 1};
    move.operands = operands;
    body_code_print(writer, &move, guard);
}

/* guard: in place of its own; NULL: its own. */
static void write_plain(struct body_writer *writer, uint32_t index, const char *guard)
{
    const struct body *body = writer->body;
    struct ptx_instruction instruction = body->function->instructions[index];
    if (body->contractions && body->contractions[index].summand) {
        write_contracted(writer, index, guard);
        return;
    }
    uint64_t known;
    if (body_known_constant(body, index, &known)) {
        write_known(writer, &instruction, known, guard);
        return;
    }
    if (body->variable_count || body->copy_count) write_variable_sums(writer, &instruction);
    if (body->distances && body->distances[index])
        write_distance(writer, &instruction, body->distances[index]);
    if (body->is_moved[index]) instruction.mnemonic = moved_mnemonic(body->arena, &instruction);
    if (is_demoted(body, index))
        instruction.mnemonic = mnemonic_change(body->arena, instruction.mnemonic, ".nc", NULL);
    if (body->round[index]) instruction.mnemonic = mnemonic_round(body->arena, instruction.mnemonic);
    if (may_arrive_apart(body) && ptx_is_block_barrier(&instruction))
        instruction.mnemonic = ragged_mnemonic(body->arena, instruction.mnemonic);
    write_prefetch(writer, index, &instruction);
    body_code_print(writer, &instruction, guard);
}

/* Where a forwarded value is: an operand, or the register of an iteration before, or one that was copied from
 * an operand. */
static const char *value_text(struct body_writer *writer, const struct body *source, uint32_t index,
                              const struct group_forward *forward)
{
    struct arena *arena = writer->body->arena;
    if (!source) return arena_printf(arena, "%%m%u_in_%u", writer->body->member, index);
    if (!forward->distance) return arena_printf(arena, OPERAND "%u", source->first_output + index);
    return body_code_old(arena, &source->outputs[index], forward->distance);
}

const char *body_code_old(struct arena *arena, const struct body_value *value, uint32_t distance)
{
    return arena_printf(arena, "%%m%u_old_%u_%u_%u", value->member, value->instruction, value->element,
                        distance);
}

/* In the first iterations the value is not there yet: then it loads. */
static const char *write_first_load(struct body_writer *writer, uint32_t index,
                                    const struct group_forward *forward)
{
    const struct group_join *join = group_join_of(writer->body->group, writer->body->member);
    const struct group_joined *own = &join->members[writer->body->member - join->first_member];
    uint32_t member = writer->body->member, loop = own->segments[own->cfg->block_of[index]] / 2;
    body_code_line(writer, "setp.lt.u32 %%m%u_first, %%m%u_turn, %u;", member, join->first_member,
                   forward->first + own->shifts[loop]);
    write_plain(writer, index, arena_printf(writer->body->arena, "@%%m%u_first ", member));
    return arena_printf(writer->body->arena, "@!%%m%u_first ", member);
}

/* From the register of the member that has it. */
static void write_moves(struct body_writer *writer, const struct ptx_instruction *load,
                        const struct group_forward *forward, const char *guard)
{
    const struct body *body = writer->body, *source = joined_body(writer, forward->from_member);
    const struct ptx_instruction *from = &source->function->instructions[forward->from_instruction];
    uint32_t count = load->vector > 1 ? load->vector : 1;
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *value = element_of(&from->operands[ptx_is_store(from) ? 1 : 0], e);
        const struct ptx_operand *target = element_of(&load->operands[0], e);
        body_code_line(writer, "%smov.b%u %s, %s;", guard,
                       ptx_type_bytes(body->function->registers[target->reg].type) * 8,
                       body->registers[target->reg], source->registers[value->reg]);
    }
}

static void write_forwarded_load(struct body_writer *writer, uint32_t index,
                                 const struct group_forward *forward)
{
    const struct body *body = writer->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    const struct body *source = joined_body(writer, forward->from_member);
    const struct body_value *values = source ? source->outputs : body->inputs;
    const char *guard =
        forward->first ? write_first_load(writer, index, forward) : body_code_guard(writer, instruction);
    if (forward->in_place) {
        write_moves(writer, instruction, forward, guard);
        return;
    }
    for (uint32_t i = 0; i < (source ? source->output_count : body->input_count); i++) {
        const struct body_value *value = &values[i];
        if (value->member != forward->from_member || value->instruction != forward->from_instruction)
            continue;
        const struct ptx_operand *target = element_of(&instruction->operands[0], value->element);
        body_code_line(writer, "%smov.b%u %s, %s;", guard, value->bytes * 8, body->registers[target->reg],
                       value_text(writer, source, i, forward));
    }
}

/* The value from the tile that has it; where none has, the load itself, first: its address may lie in the
 * register that it loads. */
static void write_fetches(struct body_writer *writer, uint32_t index, uint32_t first)
{
    const struct body *body = writer->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    uint32_t end = first;
    while (end < body->fetch_count && body->fetches[end]->to_instruction == index) end++;
    uint32_t asked = first;
    while (asked < end && body->served[asked] != BODY_SERVED_ASKED) asked++;
    if (asked < end && !body->fetches[asked]->is_whole) {
        const char *served = arena_printf(body->arena, "%%m%u_served_%u", body->member, asked);
        body_code_line(writer, "mov.pred %s, %%m%u_covered_%u;", served, body->member, asked);
        for (uint32_t i = asked + 1; i < end; i++)
            if (body->served[i] == BODY_SERVED_ASKED)
                body_code_line(writer, "or.pred %s, %s, %%m%u_covered_%u;", served, served, body->member, i);
        write_plain(writer, index, flagged_guard(writer, instruction, "served", asked, false));
    }
    for (uint32_t i = first; i < end; i++) {
        if (body->served[i] == BODY_SERVED_NEVER) continue;
        const char *guard = body->served[i] == BODY_SERVED_ASKED
                                ? flagged_guard(writer, instruction, "covered", i, true)
                                : body_code_guard(writer, instruction);
        uint32_t bytes = body_fetch_bytes(body, body->fetches[i]);
        bool is_signed = bytes == 1 && ptx_type_is_signed(instruction->types[0]); /* the register is wider */
        body_code_line(writer, "%sld.shared.%s%u %s, [%%%s+%d];", guard, is_signed ? "s" : "b", bytes * 8,
                       body->registers[instruction->operands[0].reg], body_tile_name(body, body->fetches[i]),
                       stage_code_distance(body, body->fetches[i]));
    }
}

/* It goes to global memory; other stores are the thread's own. */
static bool is_listed(const struct body *body, uint32_t instruction)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction) return true;
    return false;
}

/* Of an access that is made; NULL: its own. */
static const char *guard_of(struct body_writer *writer, uint32_t index)
{
    const struct body *body = writer->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    const struct group_kept *kept = group_kept_of(body->group, body->member, index);
    if (kept) return flagged_guard(writer, instruction, "kept", (uint32_t)(kept - body->group->kept), true);
    bool is_owners = ptx_is_store(instruction) && body->is_recomputed && is_listed(body, index);
    return is_owners ? flagged_guard(writer, instruction, "own", 0, true) : NULL;
}

static int32_t fetch_to(const struct body *body, uint32_t instruction)
{
    for (uint32_t i = 0; i < body->fetch_count; i++)
        if (body->fetches[i]->to_instruction == instruction) return (int32_t)i;
    return -1;
}

/* A thread that has left a launch no longer counts at its barriers. In a member that threads may leave early,
 * those go on to arrive at barriers until all have left; every barrier tells whether they have. A warp's
 * threads come out of this one by one. */
static void write_departure(struct body_writer *writer)
{
    uint32_t member = writer->body->member;
    body_code_line(writer, "m%u_leave:", member);
    body_code_line(writer, "barrier.red.and.pred %%m%u_all_gone, 0, %%m%u_gone;", member, member);
    body_code_line(writer, "@!%%m%u_all_gone bra m%u_leave;", member, member);
}

enum access_branch body_code_branch(const struct body *body, uint32_t instruction)
{
    return body->branches ? body->branches[instruction] : ACCESS_BRANCH_OPEN;
}

void body_code_instruction(struct body_writer *writer, uint32_t index)
{
    const struct body *body = writer->body;
    const struct ptx_instruction *instruction = &body->function->instructions[index];
    const struct group_forward *forward = group_forward_to(body->group, body->member, index);
    const struct group_exit *leave = body_code_exit(body, index);
    const struct group_tile_access *tiled = group_tile_access_of(body->group, body->member, index);
    int32_t fetch = fetch_to(body, index);
    bool is_store = ptx_is_store(instruction);
    if (is_store) write_outputs(writer, index);
    if (body_code_branch(body, index) == ACCESS_BRANCH_NEVER) return;
    if (leave) {
        if (leave->kind == GROUP_EXIT_ALL)
            body_code_line(writer, "%sexit;", body_code_guard(writer, instruction));
    } else if (body_code_branch(body, index) == ACCESS_BRANCH_ALWAYS) {
        write_plain(writer, index, "");
    } else if (ptx_is_return(instruction)) {
        bool is_last = index + 1 == body->function->instruction_count;
        if (!is_last)
            body_code_line(writer, "%sbra m%u_end;", body_code_guard(writer, instruction), body->member);
    } else if (is_exit_divergent(body) && ptx_is_block_barrier(instruction) &&
               !ptx_has_modifier(instruction, PTX_MOD_RED)) { /* none has left before one with a result */
        body_code_line(writer, "barrier.red.and.pred %%m%u_all_gone, 0, %%m%u_here;", body->member,
                       body->member);
    } else if (instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM &&
               !body_reads_copy(instruction)) {
        write_parameter_load(writer, instruction);
    } else if (forward) {
        write_forwarded_load(writer, index, forward);
    } else if (fetch >= 0) {
        write_fetches(writer, index, (uint32_t)fetch);
    } else if (tiled) {
        if (tiled->is_global && !group_drops(body->group, body->member, index))
            write_plain(writer, index, NULL);
        tile_code_write(writer, index, tiled);
    } else if (!group_drops(body->group, body->member, index)) {
        write_plain(writer, index, guard_of(writer, index));
    }
    if (!is_store) write_outputs(writer, index);
    if (body->anchor_count) tile_code_follow(writer, index);
}

static void write_code(struct body_writer *writer)
{
    const struct ptx_function *function = writer->body->function;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        for (uint32_t label = 0; label < function->label_count; label++)
            if (function->labels[label].instruction == i)
                body_code_line(writer, "m%u_L%u:", writer->body->member, label);
        if (i < function->instruction_count && !(writer->body->expansion && iteration_code_write(writer, i)))
            body_code_instruction(writer, i);
    }
    body_code_line(writer, "m%u_end:", writer->body->member);
    if (is_exit_divergent(writer->body)) write_departure(writer);
}

void body_write(const struct body *body, FILE *out, const char *indentation, body_word_name *word_name,
                void *context)
{
    struct body_writer writer = body_code_open(body, out, indentation);
    fprintf(out, "%sasm volatile(\n", indentation);
    body_code_line(&writer, "{");
    body_code_declarations(&writer);
    body_code_copies(&writer, body->output_count);
    write_code(&writer);
    body_code_line(&writer, "}");
    fprintf(out, "%s    :", indentation);
    /* A value that the body may leave undefined is used nowhere then; what it was before would need a
     * register all the time. All operands have been copied when the first value is set. */
    body_code_outputs(&writer, "", remap_is_repeated(&body->group->remaps[body->member]) ? '+' : '=');
    fprintf(out, "\n%s    :", indentation);
    body_code_close(&writer, body_code_inputs(&writer, " ", word_name, context));
}
