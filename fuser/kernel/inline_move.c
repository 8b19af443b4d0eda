/* SPDX-License-Identifier: Apache-2.0
 * See inline_move.h. A piece of one byte lies zero-extended in a register of two. */
#include "fuser/kernel/inline_move.h"

#include <string.h>

#define ADD(output, name, item)                                                                              \
    add(output, (void **)&(output)->name##s, &(output)->name##_count, &(output)->name##_capacity, &(item),   \
        sizeof(item))

static bool add(struct inline_output *output, void **items, uint32_t *count, uint32_t *capacity,
                const void *item, size_t size)
{
    if (*count == *capacity) {
        uint32_t larger = *capacity ? 2 * *capacity : 64;
        void *grown = arena_grow(output->arena, *items, *count, larger, size);
        if (!grown) {
            output->has_failed = true;
            return false;
        }
        *items = grown;
        *capacity = larger;
    }
    memcpy((char *)*items + *count * size, item, size);
    (*count)++;
    return true;
}

uint32_t inline_add_register(struct inline_output *output, struct ptx_register reg)
{
    ADD(output, register, reg);
    return output->register_count - 1;
}

uint32_t inline_add_label(struct inline_output *output, const char *name)
{
    struct ptx_label label = {name, 0};
    if (!name) output->has_failed = true;
    ADD(output, label, label);
    return output->label_count - 1;
}

bool inline_add_variable(struct inline_output *output, const struct ptx_variable *variable)
{
    for (uint32_t i = 0; i < output->variable_count; i++)
        if (output->variables[i] == variable) return true;
    return ADD(output, variable, variable);
}

bool inline_add_instruction(struct inline_output *output, const struct ptx_instruction *instruction)
{
    return ADD(output, instruction, *instruction);
}

bool inline_add_table(struct inline_output *output, struct ptx_table table, uint32_t first_label)
{
    int32_t *labels = arena_calloc(output->arena, table.label_count + 1, sizeof *labels);
    if (!labels) return false;
    for (uint32_t i = 0; table.labels && i < table.label_count; i++)
        labels[i] = table.labels[i] + (int32_t)first_label;
    if (table.labels) table.labels = labels;
    return ADD(output, table, table);
}

void inline_set_label(struct inline_output *output, uint32_t label)
{
    output->labels[label].instruction = output->instruction_count;
}

void inline_take(struct inline_output *output, struct ptx_function *function)
{
    function->registers = output->registers;
    function->register_count = output->register_count;
    function->variables = (struct ptx_variable **)output->variables;
    function->variable_count = output->variable_count;
    function->instructions = output->instructions;
    function->instruction_count = output->instruction_count;
    function->labels = output->labels;
    function->label_count = output->label_count;
    function->tables = output->tables;
    function->table_count = output->table_count;
}

/* --- instructions that were not there -------------------------------------------------------------- */

static struct ptx_span span_of(const char *text)
{
    return (struct ptx_span){text, text ? (uint32_t)strlen(text) : 0};
}

/* With the place's guard and words for messages. */
static struct ptx_instruction made(const struct ptx_instruction *place, enum ptx_opcode opcode,
                                   struct ptx_span mnemonic, struct ptx_operand *operands, uint32_t count)
{
    return (struct ptx_instruction){.opcode = opcode,
                                    .vector = 1,
                                    .guard = -1,
                                    .operand_count = count,
                                    .operands = operands,
                                    .line = place->line,
                                    .source_file = place->source_file,
                                    .source_line = place->source_line,
                                    .mnemonic = mnemonic,
                                    .text = place->text};
}

bool inline_add_branch(struct inline_output *output, const struct ptx_instruction *place, int32_t guard,
                       bool is_negated, uint32_t label)
{
    struct ptx_operand *target = arena_calloc(output->arena, 1, sizeof *target);
    if (!target) return false;
    *target = (struct ptx_operand){.kind = PTX_OPERAND_LABEL, .reg = -1, .label = (int32_t)label};
    struct ptx_instruction branch = made(place, PTX_OP_BRA, span_of("bra"), target, 1);
    branch.guard = guard;
    branch.guard_negated = guard >= 0 && is_negated;
    return inline_add_instruction(output, &branch);
}

struct ptx_span inline_local_mnemonic(struct arena *arena, struct ptx_span mnemonic)
{
    static const char space[] = ".param";
    const char *text = arena_strndup(arena, mnemonic.text, mnemonic.length);
    const char *found = text ? strstr(text, space) : NULL;
    if (!found) return (struct ptx_span){0};
    return span_of(arena_printf(arena, "%.*s.local%s", (int)(found - text), text, found + sizeof space - 1));
}

/* --- moves ----------------------------------------------------------------------------------------- */

static enum ptx_type bits_of(uint32_t bytes)
{
    return bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : PTX_B16;
}

static enum ptx_type number_of(uint32_t bytes, bool is_signed)
{
    static const enum ptx_type types[2][9] = {{[1] = PTX_U8, [2] = PTX_U16, [4] = PTX_U32, [8] = PTX_U64},
                                              {[1] = PTX_S8, [2] = PTX_S16, [4] = PTX_S32, [8] = PTX_S64}};
    return types[is_signed][bytes];
}

static bool add_move(struct inline_output *output, const struct inline_access *access, enum ptx_type to_type,
                     enum ptx_type from_type, struct ptx_operand to, struct ptx_operand from)
{
    const struct ptx_instruction *place = access->instruction;
    struct ptx_operand *operands = arena_calloc(output->arena, 2, sizeof *operands);
    bool is_plain = to_type == from_type;
    const char *name =
        is_plain ? arena_printf(output->arena, "mov.%s", ptx_type_name(to_type))
                 : arena_printf(output->arena, "cvt.%s.%s", ptx_type_name(to_type), ptx_type_name(from_type));
    if (!operands || !name) return false;
    operands[0] = to;
    operands[1] = from;
    struct ptx_instruction move = made(place, is_plain ? PTX_OP_MOV : PTX_OP_CVT, span_of(name), operands, 2);
    move.types[0] = to_type;
    move.types[1] = from_type;
    move.type_count = is_plain ? 1 : 2;
    move.guard = place->guard < 0 ? -1 : place->guard + (int32_t)access->first_register;
    move.guard_negated = place->guard_negated;
    return inline_add_instruction(output, &move);
}

/* The piece, new or known; a load may take the low bytes of one. NULL: it is none of those that there are, or
 * memory is out. */
static const struct inline_piece *find_piece(struct inline_output *output, const struct inline_access *access,
                                             int64_t offset, uint32_t bytes, enum ptx_type type)
{
    uint32_t count = *access->piece_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct inline_piece *piece = &(*access->pieces)[i];
        bool is_low = piece->bytes > bytes && !ptx_is_store(access->instruction) &&
                      !ptx_type_is_float(output->registers[piece->reg].type);
        if (piece->offset == offset && (piece->bytes == bytes || is_low)) return piece;
        if (piece->offset < offset + bytes && offset < piece->offset + piece->bytes) return NULL;
    }
    struct inline_piece *grown = arena_grow(output->arena, *access->pieces, count, count + 1, sizeof *grown);
    struct ptx_register reg = {.name = arena_printf(output->arena, "%%passed_%u", output->register_count),
                               .type = type,
                               .vector = 1};
    if (!grown || !reg.name) {
        output->has_failed = true;
        return NULL;
    }
    grown[count] = (struct inline_piece){offset, bytes, (int32_t)inline_add_register(output, reg)};
    *access->pieces = grown;
    *access->piece_count = count + 1;
    return &grown[count];
}

/* The type of the register that holds all of a piece: floating point stays so, for people's sake. */
static enum ptx_type type_of(const struct inline_output *output, const struct ptx_operand *operand,
                             uint32_t bytes)
{
    enum ptx_type type =
        operand->kind == PTX_OPERAND_REGISTER ? output->registers[operand->reg].type : PTX_NO_TYPE;
    if (operand->kind == PTX_OPERAND_FLOAT) type = bytes == 8 ? PTX_F64 : PTX_F32;
    bool is_float = (type == PTX_F32 || type == PTX_F64) && ptx_type_bytes(type) == bytes;
    return is_float ? type : bits_of(bytes);
}

/* Between two registers of one width, or from a number. */
static bool copy_bits(struct inline_output *output, const struct inline_access *access, struct ptx_operand to,
                      struct ptx_operand from, uint32_t bytes)
{
    enum ptx_type type = type_of(output, &from, bytes);
    if (from.kind == PTX_OPERAND_REGISTER && type != type_of(output, &to, bytes)) type = bits_of(bytes);
    return add_move(output, access, type, type, to, from);
}

static struct ptx_operand register_operand(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .reg = reg, .label = -1};
}

static bool move_in(struct inline_output *output, const struct inline_access *access,
                    const struct inline_piece *piece, struct ptx_operand from, uint32_t width)
{
    struct ptx_operand to = register_operand(piece->reg);
    if (from.kind == PTX_OPERAND_REGISTER && piece->bytes == 1)
        return add_move(output, access, PTX_U16, PTX_U8, to, from);
    if (from.kind == PTX_OPERAND_REGISTER && width > piece->bytes)
        return add_move(output, access, number_of(piece->bytes, false), number_of(width, false), to, from);
    if (from.kind == PTX_OPERAND_INTEGER && piece->bytes == 1) {
        from.value &= 0xff;
        from.text.length = 0;
    }
    return copy_bits(output, access, to, from, piece->bytes);
}

static bool move_out(struct inline_output *output, const struct inline_access *access,
                     const struct inline_piece *piece, struct ptx_operand to, uint32_t width, uint32_t bytes,
                     bool is_signed)
{
    struct ptx_operand from = register_operand(piece->reg);
    if (width == piece->bytes) return copy_bits(output, access, to, from, width);
    uint32_t taken = width == bytes ? piece->bytes : bytes;
    return add_move(output, access, number_of(width, is_signed), number_of(taken, is_signed), to, from);
}

static bool is_movable(const struct ptx_operand *operand, uint32_t width, uint32_t bytes)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        return width >= bytes && width <= 8 && !operand->component;
    case PTX_OPERAND_INTEGER:
        return true;
    case PTX_OPERAND_FLOAT:
        return bytes == (operand->is_float64 ? 8 : 4);
    default:
        return false;
    }
}

enum inline_outcome inline_move(struct inline_output *output, const struct inline_access *access)
{
    const struct ptx_instruction *instruction = access->instruction;
    bool is_store = ptx_is_store(instruction);
    enum ptx_type type =
        instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_NO_TYPE;
    uint32_t bytes = ptx_type_bytes(type);
    bool is_usual = instruction->operand_count >= 2 && bytes > 0 && bytes <= 8 && access->offset >= 0 &&
                    access->offset <= UINT16_MAX;
    if (!is_usual) return INLINE_MIXED;
    const struct ptx_operand *value = &instruction->operands[is_store];
    uint32_t count = value->kind == PTX_OPERAND_VECTOR ? value->element_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_operand operand = value->kind == PTX_OPERAND_VECTOR ? value->elements[i] : *value;
        if (operand.kind == PTX_OPERAND_NONE) continue;
        uint32_t width = 0;
        if (operand.kind == PTX_OPERAND_REGISTER) {
            operand.reg += (int32_t)access->first_register;
            width = ptx_type_bytes(output->registers[operand.reg].type);
        }
        if (!is_movable(&operand, width, bytes)) return INLINE_MIXED;
        const struct inline_piece *piece =
            find_piece(output, access, access->offset + i * bytes, bytes, type_of(output, &operand, bytes));
        if (!piece) return output->has_failed ? INLINE_FAILED : INLINE_MIXED;
        bool done = is_store
                        ? move_in(output, access, piece, operand, width)
                        : move_out(output, access, piece, operand, width, bytes, ptx_type_is_signed(type));
        if (!done) return INLINE_FAILED;
    }
    return INLINE_MOVED;
}
