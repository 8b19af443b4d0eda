/* SPDX-License-Identifier: Apache-2.0
 * The C type of each register, from the instructions that write and read it: registers of PTX are mere bits.
 */
#include "fuser/decompile/code.h"

struct votes { /* for one register */
    enum ptx_type floating;
    uint32_t signed_votes, unsigned_votes;
    bool is_predicate, is_bits; /* bits: of logic, which no float has */
};

const char *types_name(enum ptx_type type)
{
    static const char *const names[PTX_TYPE_COUNT] = {
        [PTX_NO_TYPE] = "int",
        [PTX_B8] = "unsigned char",
        [PTX_U8] = "unsigned char",
        [PTX_S8] = "signed char",
        [PTX_B16] = "unsigned short",
        [PTX_U16] = "unsigned short",
        [PTX_S16] = "short",
        [PTX_B32] = "unsigned",
        [PTX_U32] = "unsigned",
        [PTX_S32] = "int",
        [PTX_B64] = "unsigned long",
        [PTX_U64] = "unsigned long",
        [PTX_S64] = "long",
        [PTX_F32] = "float",
        [PTX_F64] = "double",
        [PTX_F16] = "__half",
        [PTX_F16X2] = "__half2",
        [PTX_BF16] = "__nv_bfloat16",
        [PTX_BF16X2] = "__nv_bfloat162",
        [PTX_PRED] = "bool",
        [PTX_B128] = "uint4",
    };
    return names[type] ? names[type] : ptx_type_name(type);
}

enum ptx_type types_plain(enum ptx_type type)
{
    switch (ptx_type_bytes(type)) {
    case 1:
        return type == PTX_B8 ? PTX_U8 : type;
    case 2:
        return type == PTX_B16 ? PTX_U16 : type;
    case 4:
        return type == PTX_B32 ? PTX_U32 : type;
    case 8:
        return type == PTX_B64 ? PTX_U64 : type;
    default:
        return type;
    }
}

static enum ptx_type doubled(enum ptx_type type)
{
    switch (type) {
    case PTX_S16:
        return PTX_S32;
    case PTX_U16:
        return PTX_U32;
    case PTX_S32:
        return PTX_S64;
    case PTX_U32:
        return PTX_U64;
    default:
        return type;
    }
}

enum ptx_type types_result(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
    if (instruction->opcode == PTX_OP_SETP) return PTX_PRED;
    return ptx_has_modifier(instruction, PTX_MOD_WIDE) ? doubled(type) : type;
}

enum ptx_type types_operand(const struct ptx_instruction *instruction, uint32_t operand)
{
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
    enum ptx_type last = instruction->type_count ? instruction->types[instruction->type_count - 1] : type;
    switch (instruction->opcode) {
    case PTX_OP_CVT:
    case PTX_OP_SETP:
    case PTX_OP_SET:
        return operand == 3 ? PTX_PRED : last;
    case PTX_OP_SELP:
        return operand == 3 ? PTX_PRED : type;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return operand == 2 ? PTX_U32 : type;
    case PTX_OP_MAD:
        return operand == 3 ? types_result(instruction) : type;
    default:
        return type;
    }
}

bool types_see_sign(const struct ptx_instruction *instruction)
{
    enum ptx_type type =
        instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_NO_TYPE;
    switch (instruction->opcode) {
    case PTX_OP_SETP:
        return !ptx_has_modifier(instruction, PTX_MOD_EQ) && !ptx_has_modifier(instruction, PTX_MOD_NE);
    case PTX_OP_DIV:
    case PTX_OP_REM:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_SHR:
    case PTX_OP_ABS:
        return true;
    case PTX_OP_CVT:
        return instruction->type_count == 2 && (ptx_type_is_float(instruction->types[0]) ||
                                                ptx_type_bytes(instruction->types[0]) > ptx_type_bytes(type));
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        return ptx_has_modifier(instruction, PTX_MOD_WIDE) || ptx_has_modifier(instruction, PTX_MOD_HI);
    default:
        return false;
    }
}

static void vote(struct votes *votes, enum ptx_type type, bool is_strong)
{
    if (type == PTX_PRED)
        votes->is_predicate = true;
    else if (ptx_type_is_float(type))
        votes->floating = type;
    else if (ptx_type_is_signed(type))
        votes->signed_votes += is_strong ? 16 : 1;
    else if (is_strong && type != types_plain(PTX_NO_TYPE))
        votes->unsigned_votes += 16;
}

static void vote_operands(struct votes *votes, const struct ptx_operand *operand, enum ptx_type type,
                          bool is_strong)
{
    if (operand->kind == PTX_OPERAND_REGISTER) vote(&votes[operand->reg], type, is_strong);
    for (uint32_t i = 0; i < operand->element_count; i++)
        vote_operands(votes, &operand->elements[i], type, is_strong);
}

/* An address is counted as what it is, not as what lies there. */
static bool is_value(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_VECTOR ||
           operand->kind == PTX_OPERAND_PAIR;
}

static bool is_logic(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_LOP3:
    case PTX_OP_PRMT:
        return true;
    default:
        return false;
    }
}

static void vote_instruction(struct votes *votes, const struct ptx_instruction *instruction)
{
    bool sees_sign = types_see_sign(instruction);
    bool has_destination = ptx_opcode_info(instruction->opcode)->has_destination;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (!is_value(&instruction->operands[i])) continue;
        bool is_result = i == 0 && has_destination;
        enum ptx_type type = is_result ? types_result(instruction) : types_operand(instruction, i);
        if (instruction->operands[i].kind == PTX_OPERAND_REGISTER && is_logic(instruction))
            votes[instruction->operands[i].reg].is_bits = true;
        vote_operands(votes, &instruction->operands[i], type,
                      sees_sign && (!is_result || instruction->opcode != PTX_OP_CVT));
    }
}

/* Bits that are moved, chosen, loaded or stored are what they are elsewhere. */
static void spread(const struct ptx_function *function, struct votes *votes)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->opcode != PTX_OP_MOV && instruction->opcode != PTX_OP_SELP) continue;
        enum ptx_type type = types_result(instruction), found = PTX_NO_TYPE;
        uint32_t last = instruction->opcode == PTX_OP_MOV ? 2 : 3;
        if (ptx_type_is_float(type) || type == PTX_PRED || instruction->operand_count < last) continue;
        const struct ptx_operand *operands = instruction->operands;
        for (uint32_t k = 0; k < last; k++)
            if (operands[k].kind == PTX_OPERAND_REGISTER && votes[operands[k].reg].floating &&
                ptx_type_bytes(votes[operands[k].reg].floating) == ptx_type_bytes(type))
                found = votes[operands[k].reg].floating;
        for (uint32_t k = 0; found && k < last; k++) {
            struct votes *other = operands[k].kind == PTX_OPERAND_REGISTER ? &votes[operands[k].reg] : NULL;
            if (other && !other->floating && !other->signed_votes && !other->unsigned_votes &&
                !other->is_bits)
                other->floating = found;
        }
    }
}

static enum ptx_type decide(enum ptx_type declared, const struct votes *votes)
{
    if (votes->is_predicate || declared == PTX_PRED) return PTX_PRED;
    bool is_integer = votes->is_bits || votes->signed_votes + votes->unsigned_votes > 0;
    unsigned bytes = ptx_type_bytes(declared);
    if (ptx_type_is_float(declared)) return declared;
    if (votes->floating && !is_integer && ptx_type_bytes(votes->floating) == bytes) return votes->floating;
    bool is_unsigned = votes->unsigned_votes > votes->signed_votes;
    return bytes == 2   ? is_unsigned ? PTX_U16 : PTX_S16
           : bytes == 8 ? is_unsigned ? PTX_U64 : PTX_S64
           : bytes == 4 ? is_unsigned ? PTX_U32 : PTX_S32
                        : declared;
}

bool types_infer(struct code *code)
{
    const struct ptx_function *function = code->function;
    struct votes *votes = arena_calloc(code->arena, function->register_count + 1, sizeof *votes);
    if (!votes) return false;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        vote_instruction(votes, &function->instructions[i]);
    for (int round = 0; round < 2; round++) spread(function, votes);
    for (uint32_t r = 0; r < function->register_count; r++)
        code->registers[r].type = decide(function->registers[r].type, &votes[r]);
    return true;
}
