/* SPDX-License-Identifier: Apache-2.0
 * First pass over a member's body: what it needs from outside, and whether it can be carried at all. */
#include "fuser/codegen/body.h"
#include "fuser/codegen/tile_code.h"
#include "fuser/kernel/global_index.h"
#include "fuser/kernel/places.h"
#include "fuser/kernel/product.h"

#include <string.h>

static uint32_t register_bytes(const struct body *body, const struct ptx_operand *operand)
{
    return ptx_type_bytes(body->function->registers[operand->reg].type);
}

static bool collect_parameter_load(struct body *body, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = &instruction->operands[0], *address = &instruction->operands[1];
    uint32_t bytes = ptx_type_bytes(instruction->types[0]);
    if (body_reads_copy(instruction)) return true;
    if (address->kind != PTX_OPERAND_ADDRESS || !address->variable)
        return body_refuse(body, instruction, "a parameter is read at an address that is not constant");
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return body_refuse(body, instruction, "a parameter of this type cannot be passed");
    uint32_t count = to->kind == PTX_OPERAND_VECTOR ? to->element_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *element = to->kind == PTX_OPERAND_VECTOR ? &to->elements[i] : to;
        if (element->kind == PTX_OPERAND_NONE) continue;
        uint32_t width = element->kind == PTX_OPERAND_REGISTER ? register_bytes(body, element) : 0;
        if (width != 2 && width != 4 && width != 8)
            return body_refuse(body, instruction, "a parameter is read into a register of this type");
        struct body_word word = {.offset = address->variable->offset + (uint32_t)address->value + i * bytes,
                                 .type = instruction->types[0],
                                 .register_bytes = width};
        if (!body_add_word(body, word)) return body_refuse(body, instruction, "out of memory");
    }
    return true;
}

static bool collect_special(struct body *body, const struct ptx_instruction *instruction,
                            enum ptx_special special)
{
    const struct group *group = body->group;
    const struct access_summary *summary = group->members[body->member].summary;
    bool is_same = group->remaps[body->member].kind == REMAP_SAME;
    bool is_whole = is_same || summary->whole_block; /* that has been placed so */
    if (special >= PTX_SPECIAL_TID_X && special <= PTX_SPECIAL_NCTAID_Z) {
        body->specials[special] = !is_same;
        return true;
    }
    bool is_lane = special == PTX_SPECIAL_LANEID ||
                   (special >= PTX_SPECIAL_LANEMASK_EQ && special <= PTX_SPECIAL_LANEMASK_GT);
    if (is_lane && is_whole) return true;
    return body_refuse(body, instruction, "reads a special register that fusing would change");
}

/* The address of a parameter is only ever moved to a register: see plain.h. */
static bool add_copy(struct body *body, const struct ptx_instruction *instruction,
                     const struct ptx_variable *parameter)
{
    uint32_t count = body->copy_count;
    if (instruction->opcode != PTX_OP_MOV)
        return body_refuse(body, instruction, "uses the address of a parameter for more than to load");
    for (uint32_t i = 0; i < count; i++)
        if (body->copies[i].parameter == parameter) return true;
    body->copies = arena_grow(body->arena, body->copies, count, count + 1, sizeof *body->copies);
    const char *name = arena_printf(body->arena, "%%m%u_copy_%u", body->member, count);
    if (!body->copies || !name) return body_refuse(body, instruction, "out of memory");
    body->copies[body->copy_count++] = (struct body_copy){.parameter = parameter, .name = name};
    return true;
}

static bool add_table(struct body *body, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < body->table_count; i++)
        if (body->tables[i].variable == variable) return true;
    body->tables =
        arena_grow(body->arena, body->tables, body->table_count, body->table_count + 1, sizeof *body->tables);
    if (!body->tables) return false;
    const char *name = arena_printf(body->arena, "%s_m%u%s", body->kernel, body->member, variable->name);
    body->tables[body->table_count++] = (struct body_table){variable, name};
    return name;
}

static uint64_t align_up(uint64_t end, uint64_t alignment)
{
    return (end + alignment - 1) / alignment * alignment;
}

static uint64_t dynamic_alignment(const struct body *body)
{
    uint64_t alignment = 16;
    for (uint32_t i = 0; i < body->shared_count; i++)
        if (body->shared[i].variable->size == 0 && body->shared[i].variable->alignment > alignment)
            alignment = body->shared[i].variable->alignment;
    return alignment;
}

bool body_lay_out_shared(struct body *body, uint64_t from)
{
    uint64_t end = from;
    for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
        if (is_dynamic) end = align_up(end, dynamic_alignment(body));
        for (uint32_t i = 0; i < body->shared_count; i++) {
            const struct ptx_variable *variable = body->shared[i].variable;
            uint64_t alignment = variable->alignment ? variable->alignment : 1;
            if ((variable->size == 0) != is_dynamic) continue;
            if (!is_dynamic) end = align_up(end, alignment);
            body->shared[i].name =
                arena_printf(body->arena, "%s_shared+%llu", body->kernel, (unsigned long long)end);
            if (!body->shared[i].name) return body_refuse(body, NULL, "out of memory");
            if (!is_dynamic) end += variable->size;
        }
    }
    body->shared_end =
        body->shared_count ? end + body->group->members[body->member].summary->dynamic_shared : from;
    return true;
}

static bool add_shared(struct body *body, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < body->shared_count; i++)
        if (body->shared[i].variable == variable) return true;
    body->shared = arena_grow(body->arena, body->shared, body->shared_count, body->shared_count + 1,
                              sizeof *body->shared);
    if (!body->shared) return false;
    body->shared[body->shared_count++] = (struct body_shared){variable, NULL};
    return true;
}

static bool collect_operand(struct body *body, const struct ptx_instruction *instruction,
                            const struct ptx_operand *operand)
{
    if (operand->reg >= 0 && (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS))
        body->registers[operand->reg] = "";
    if (operand->kind == PTX_OPERAND_SPECIAL && !collect_special(body, instruction, operand->special))
        return false;
    if (operand->kind == PTX_OPERAND_SYMBOL || (operand->kind == PTX_OPERAND_ADDRESS && operand->symbol)) {
        if (!operand->variable)
            return body_refuse(body, instruction, "names a function or an unknown symbol");
        if (places_is_parameter(body->function, operand->variable)) {
            bool is_address = operand->kind == PTX_OPERAND_SYMBOL;
            if (!is_address && instruction->space != PTX_PARAM)
                return body_refuse(body, instruction, "reads a parameter as other memory");
            if (is_address && !add_copy(body, instruction, operand->variable)) return false;
        } else if (variables_is_table(operand->variable)) {
            if (!add_table(body, operand->variable)) return body_refuse(body, instruction, "out of memory");
        } else if (operand->variable->space == PTX_SHARED) {
            if (!add_shared(body, operand->variable)) return body_refuse(body, instruction, "out of memory");
        } else if (operand->variable->space != PTX_LOCAL && !variables_is_one(operand->variable)) {
            return body_refuse(body, instruction, "names a variable of another kind");
        }
    }
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (!collect_operand(body, instruction, &operand->elements[i])) return false;
    return true;
}

static bool collect_instruction(struct body *body, const struct ptx_instruction *instruction)
{
    if (instruction->opcode == PTX_OP_UNKNOWN || !ptx_opcode_info(instruction->opcode)->may_fuse)
        return body_refuse(body, instruction, "an instruction that cannot stand in a fused kernel");
    if (instruction->guard >= 0) body->registers[instruction->guard] = "";
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (!collect_operand(body, instruction, &instruction->operands[i])) return false;
    if (instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM)
        return collect_parameter_load(body, instruction);
    return true;
}

/* Registers keep their names behind the member's prefix; a name that stands for several gets its id as well.
 */
static bool name_registers(struct body *body)
{
    const struct ptx_function *function = body->function;
    for (uint32_t i = 0; i < function->register_count; i++) {
        if (!body->registers[i]) continue;
        if (function->registers[i].vector > 1) return body_refuse(body, NULL, "a vector register");
        const char *name = function->registers[i].name;
        if (*name == '%') name++;
        body->registers[i] = arena_printf(body->arena, "%%m%u_%s_%u", body->member, name, i);
        if (!body->registers[i]) return body_refuse(body, NULL, "out of memory");
    }
    for (uint32_t i = 0; i < function->variable_count; i++)
        if (function->variables[i]->space != PTX_LOCAL && function->variables[i]->space != PTX_SHARED)
            return body_refuse(body, NULL, "declares a variable that is neither local nor shared");
    return true;
}

static bool add_value(struct body *body, struct body_value **values, uint32_t *count, struct body_value value)
{
    for (uint32_t i = 0; i < *count; i++)
        if (!memcmp(&(*values)[i], &value, sizeof value)) return true;
    *values = arena_grow(body->arena, *values, *count, *count + 1, sizeof value);
    if (!*values) return false;
    (*values)[(*count)++] = value;
    return true;
}

/* A store's value has the width of its type; a load's that of the register, which may be wider. */
static uint32_t value_bytes(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = &instruction->operands[0];
    if (ptx_is_load(instruction) && to->kind == PTX_OPERAND_REGISTER)
        return ptx_type_bytes(function->registers[to->reg].type);
    return ptx_type_bytes(instruction->types[0]);
}

static bool collect_forwards(struct body *body)
{
    for (uint32_t i = 0; i < body->group->forward_count; i++) {
        const struct group_forward *forward = &body->group->forwards[i];
        if (forward->in_place) continue;
        const struct ptx_function *source = body->group->members[forward->from_member].summary->function;
        const struct ptx_instruction *from = &source->instructions[forward->from_instruction];
        uint32_t elements = from->vector > 1 ? from->vector : 1;
        for (uint32_t element = 0; element < elements; element++) {
            struct body_value value = {forward->from_member, forward->from_instruction, element,
                                       value_bytes(source, from)};
            if (forward->from_member == body->member &&
                !add_value(body, &body->outputs, &body->output_count, value))
                return body_refuse(body, NULL, "out of memory");
            const struct group_join *join = group_join_of(body->group, body->member);
            bool is_joined = join && join == group_join_of(body->group, forward->from_member);
            if (forward->to_member == body->member && !is_joined &&
                !add_value(body, &body->inputs, &body->input_count, value))
                return body_refuse(body, NULL, "out of memory");
        }
    }
    return true;
}

/* Stores that fill tiles, loads that are served from them. */
static bool collect_tiles(struct body *body)
{
    const struct group *group = body->group;
    body->is_apart = group_join_of(group, body->member) && group->remaps[body->member].kind != REMAP_SAME;
    body->is_recomputed = group->remaps[body->member].is_recomputed;
    body->fetches = arena_calloc(body->arena, group->fetch_count + 1, sizeof *body->fetches);
    body->served = arena_calloc(body->arena, group->fetch_count + 1, sizeof *body->served);
    if (!body->fetches || !body->served) return body_refuse(body, NULL, "out of memory");
    for (uint32_t i = 0; i < group->fetch_count; i++)
        if (group->fetches[i].to_member == body->member)
            body->fetches[body->fetch_count++] = &group->fetches[i];
    for (uint32_t i = 0; i < group->tile_count; i++) {
        const struct group_tile *tile = &group->tiles[i];
        if (tile->member != body->member) continue;
        struct body_value value = {tile->member, group->tiles[tile->kept_in].instruction, 0,
                                   tile->bytes == 1 ? 2 : tile->bytes}; /* there are no registers of a byte */
        const struct body_value made = {tile->member, value.instruction, BODY_MADE, 2};
        if (!add_value(body, &body->outputs, &body->output_count, value) ||
            (tile->is_masked && !add_value(body, &body->outputs, &body->output_count, made)))
            return body_refuse(body, NULL, "out of memory");
    }
    return true;
}

/* Products behind forwarded and dropped stores: see fuser/kernel/product.h. */
static void collect_rounding(struct body *body)
{
    for (uint32_t i = 0; i < body->group->forward_count; i++) {
        const struct group_forward *forward = &body->group->forwards[i];
        if (forward->from_member == body->member && forward->round_product)
            product_of_store(body->function, forward->from_instruction, body->round);
    }
    const struct access_summary *summary = body->group->members[body->member].summary;
    for (uint32_t i = 0; i < body->group->drop_count; i++) {
        uint32_t store = body->group->drops[i].instruction;
        if (body->group->drops[i].member == body->member && access_product(summary, store) == PRODUCT_ROUND)
            product_of_store(body->function, store, body->round);
    }
}

static bool collect_distances(struct body *body)
{
    const struct group *group = body->group;
    const struct access_summary *summary = group->members[body->member].summary;
    if (!group->rename_count) return true;
    body->distances = arena_calloc(body->arena, body->function->instruction_count + 1, sizeof(char *));
    for (uint32_t i = 0; body->distances && i < summary->access_count; i++) {
        bool is_new;
        uint32_t instruction = summary->accesses[i].instruction, index = 0;
        const struct group_rename *rename = group_rename_of(group, body->member, instruction, &is_new);
        if (!rename) continue;
        uint32_t offset = body_distance_offset((uint32_t)(rename - group->renames), is_new);
        if (!body_add_word(body, (struct body_word){offset, PTX_U64, 8})) break;
        while (body->words[index].offset != offset) index++;
        body->distances[instruction] = arena_printf(body->arena, "%%m%u_word_%u", body->member, index);
    }
    return body->distances || body_refuse(body, NULL, "out of memory");
}

bool body_collect(struct body *body, struct arena *arena, const struct group *group, uint32_t member,
                  const char *kernel)
{
    memset(body, 0, sizeof *body);
    body->arena = arena;
    body->group = group;
    body->member = member;
    body->kernel = kernel;
    body->function = group->members[member].summary->function;
    body->expansion = group_expansion_of(group, member);
    if (body->function->unreadable) return body_refuse(body, NULL, body->function->unreadable);
    body->registers = arena_calloc(arena, body->function->register_count + 1, sizeof(char *));
    body->round = arena_calloc(arena, body->function->instruction_count + 1, sizeof(bool));
    body->is_moved = arena_calloc(arena, body->function->instruction_count + 1, sizeof(bool));
    if (!body->registers || !body->round || !body->is_moved) return body_refuse(body, NULL, "out of memory");
    for (uint32_t i = 0; i < body->function->instruction_count; i++)
        if (!collect_instruction(body, &body->function->instructions[i])) return false;
    for (int d = 0; d < 3 && group->stage_count; d++)
        body->is_global[d] = global_index_is_all(body->function, d);
    collect_rounding(body);
    uint32_t end =
        member + (group->remaps[member].kind == REMAP_COARSENED); /* passes are behind each other */
    for (uint32_t m = 0; m < end; m++) body->is_ragged |= group->members[m].summary->is_exit_divergent;
    return collect_distances(body) && body_collect_variables(body) && name_registers(body) &&
           collect_forwards(body) && collect_tiles(body) && tile_code_collect(body);
}
