/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic, comparison and selection: which lane operation, on which slots -- ISA 9.7.1 to 9.7.8. */
#include "emulator/decode.h"

#include <fenv.h>

static unsigned decode_form(const struct ptx_instruction *instruction)
{
    static const struct {
        enum ptx_modifier modifier;
        unsigned form;
    } forms[] = {
        {PTX_MOD_FTZ, LANE_FTZ},
        {PTX_MOD_SAT, LANE_SAT},
        {PTX_MOD_LO, LANE_LO},
        {PTX_MOD_HI, LANE_HI},
        {PTX_MOD_WIDE, LANE_WIDE},
        {PTX_MOD_APPROX, LANE_APPROX},
        {PTX_MOD_PROPAGATE_NAN, LANE_NAN},
        {PTX_MOD_WRAP, LANE_WRAP},
        {PTX_MOD_L, LANE_LEFT},
        {PTX_MOD_RELU, LANE_RELU},
        {PTX_MOD_SHIFTAMT, LANE_SHIFTAMT},
        {PTX_MOD_XORSIGN, LANE_XORSIGN},
    };
    unsigned form = LANE_PLAIN;
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++)
        form |= ptx_has_modifier(instruction, forms[i].modifier) ? forms[i].form : 0;
    return form;
}

/* FE_TONEAREST unless the instruction says otherwise */
static int decode_rounding(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_RZ)   ? FE_TOWARDZERO
           : ptx_has_modifier(instruction, PTX_MOD_RM) ? FE_DOWNWARD
           : ptx_has_modifier(instruction, PTX_MOD_RP) ? FE_UPWARD
                                                       : FE_TONEAREST;
}

static void decode_round_last(struct decoder *decoder, int rounding)
{
    struct step *step = &decoder->code->steps[decoder->code->count - 1];
    if (rounding != FE_TONEAREST) {
        step->kind = STEP_LANES_ROUNDED;
        step->rounding = rounding;
    }
}

struct decode_operands { /* slots of d and up to four sources */
    uint32_t d, width;
    uint32_t sources[4];
};

/* Types of the sources of opcodes whose operands do not all have the instruction's type. */
static enum ptx_type decode_source_type(const struct ptx_instruction *instruction, unsigned index)
{
    enum ptx_type type = instruction->types[0];
    switch ((int)instruction->opcode) {
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_BFE:
        return index >= 1 ? PTX_U32 : type;
    case PTX_OP_BFI:
        return index >= 2 ? PTX_U32 : type;
    case PTX_OP_SLCT:
        return index == 2 ? instruction->types[1] : type;
    case PTX_OP_MAD:
        if (index == 2 && ptx_has_modifier(instruction, PTX_MOD_WIDE))
            return ptx_type_bytes(type) == 2 ? PTX_B32 : PTX_B64;
        return type;
    }
    return type;
}

static bool decode_operands(struct decoder *decoder, const struct ptx_instruction *instruction, unsigned most,
                            struct decode_operands *operands)
{
    if (instruction->operand_count < 2 || instruction->type_count < 1)
        return decode_fail(decoder, "operands are missing");
    *operands =
        (struct decode_operands){.sources = {decoder->sink, decoder->sink, decoder->sink, decoder->sink}};
    for (unsigned i = 0; i < most && i + 1 < instruction->operand_count; i++)
        operands->sources[i] =
            decode_source(decoder, &instruction->operands[i + 1], decode_source_type(instruction, i));
    operands->d = decode_destination(decoder, &instruction->operands[0], &operands->width);
    if (operands->width == DECODE_NONE) operands->width = 8;
    return decoder->code->fault == NULL;
}

static bool decode_emit(struct decoder *decoder, lane_op run, const struct decode_operands *operands,
                        uint64_t extra)
{
    return decode_lanes(decoder, run, operands->width, operands->d, operands->sources[0],
                        operands->sources[1], operands->sources[2], operands->sources[3], extra);
}

static uint8_t decode_float_cost(enum ptx_opcode opcode)
{
    switch ((int)opcode) {
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        return 2;
    case PTX_OP_NEG:
    case PTX_OP_ABS:
    case PTX_OP_COPYSIGN:
    case PTX_OP_TESTP:
        return 0;
    }
    return 1;
}

static uint64_t decode_testp(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier properties[] = {PTX_MOD_FINITE,     PTX_MOD_INFINITE, PTX_MOD_NUMBER,
                                                   PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,   PTX_MOD_SUBNORMAL};
    uint64_t property = 0;
    while (property < 5 && !ptx_has_modifier(instruction, properties[property])) property++;
    return property;
}

static bool decode_float(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct decode_operands operands;
    enum ptx_type type = instruction->types[0];
    unsigned form = decode_form(instruction);
    if (instruction->type_count > 1 || !decode_operands(decoder, instruction, 3, &operands))
        return decode_fail(decoder, "operands of several types are not emulated");
    uint64_t extra = instruction->opcode == PTX_OP_TESTP ? decode_testp(instruction) : form;
    if (!decode_emit(decoder, decoder->lanes->floating(instruction->opcode, type, form & ~(unsigned)LANE_SAT),
                     &operands, extra))
        return false;
    decoder->code->steps[decoder->code->count - 1].float_operations = decode_float_cost(instruction->opcode);
    decode_round_last(decoder, decode_rounding(instruction));
    if (!(form & LANE_SAT)) return true;
    return decode_lanes(decoder, decoder->lanes->saturate(type), operands.width, operands.d, operands.d,
                        decoder->sink, decoder->sink, decoder->sink, 0);
}

static bool decode_half(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct decode_operands operands;
    if (instruction->type_count > 1 || decode_rounding(instruction) != FE_TONEAREST ||
        !decode_operands(decoder, instruction, 3, &operands))
        return decode_fail(decoder, "this form is not emulated");
    if (!decode_emit(decoder, decoder->lanes->half(instruction->opcode, instruction->types[0]), &operands,
                     (uint64_t)instruction->opcode << 16 | decode_form(instruction)))
        return false;
    decoder->code->steps[decoder->code->count - 1].float_operations = decode_float_cost(instruction->opcode);
    return true;
}

/* add.cc, addc, mad.lo.cc, madc ...: the carry is kept in a slot of its own -- ISA 9.7.2 */
static bool decode_carry(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    const struct lanes *lanes = decoder->lanes;
    enum ptx_type type = instruction->types[0];
    enum ptx_opcode opcode = instruction->opcode;
    bool is_product = opcode == PTX_OP_MAD || opcode == PTX_OP_MADC;
    bool takes = opcode == PTX_OP_ADDC || opcode == PTX_OP_SUBC || opcode == PTX_OP_MADC;
    enum ptx_opcode sum = opcode == PTX_OP_SUB || opcode == PTX_OP_SUBC ? PTX_OP_SUBC : PTX_OP_ADDC;
    struct decode_operands operands;
    if (!decode_operands(decoder, instruction, 3, &operands)) return false;
    uint32_t x = operands.sources[0], y = operands.sources[1];
    uint32_t none = sum == PTX_OP_SUBC ? decoder->always : decode_constant(decoder, 0, 0);
    uint32_t in = takes ? decoder->carry : none;
    if (is_product) {
        uint32_t product = decode_temporary(decoder, operands.width);
        lane_op multiply = lanes->integer(PTX_OP_MUL, type, PTX_NO_TYPE, decode_form(instruction));
        if (!decode_lanes(decoder, multiply, operands.width, product, x, y, x, x, 0)) return false;
        x = product;
        y = operands.sources[2];
    }
    bool gives = ptx_has_modifier(instruction, PTX_MOD_CC);
    uint32_t carry = gives ? decode_temporary(decoder, 0) : 0;
    if (gives &&
        !decode_lanes(decoder, lanes->integer(sum, type, PTX_NO_TYPE, LANE_CARRY), 0, carry, x, y, in, in, 0))
        return false;
    if (!decode_lanes(decoder, lanes->integer(sum, type, PTX_NO_TYPE, LANE_PLAIN), operands.width, operands.d,
                      x, y, in, decoder->sink, 0))
        return false;
    return !gives || decode_lanes(decoder, lanes->predicate(PTX_OP_MOV), 0, decoder->carry, carry, carry,
                                  carry, carry, 0);
}

static uint64_t decode_permute_mode(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier modes[] = {PTX_MOD_NONE, PTX_MOD_F4E, PTX_MOD_B4E, PTX_MOD_RC8,
                                              PTX_MOD_ECL,  PTX_MOD_ECR, PTX_MOD_RC16};
    for (uint64_t i = 1; i < sizeof modes / sizeof *modes; i++) {
        if (ptx_has_modifier(instruction, modes[i])) return i;
    }
    return 0;
}

static uint64_t decode_integer_extra(const struct ptx_instruction *instruction)
{
    bool wraps = ptx_has_modifier(instruction, PTX_MOD_WRAP);
    switch ((int)instruction->opcode) {
    case PTX_OP_PRMT:
        return decode_permute_mode(instruction);
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
        return (ptx_type_is_signed(instruction->types[0]) ? 1 : 0) |
               (ptx_type_is_signed(instruction->types[1]) ? 2 : 0) |
               (ptx_has_modifier(instruction, PTX_MOD_HI) ? 4 : 0);
    case PTX_OP_SLCT:
        return ptx_has_modifier(instruction, PTX_MOD_FTZ);
    case PTX_OP_BFIND:
        return ptx_has_modifier(instruction, PTX_MOD_SHIFTAMT);
    }
    return wraps;
}

static bool decode_integer(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct decode_operands operands;
    enum ptx_opcode opcode = instruction->opcode;
    enum ptx_type type = instruction->types[0],
                  second = instruction->type_count > 1 ? instruction->types[1] : type;
    if (opcode == PTX_OP_ADDC || opcode == PTX_OP_SUBC || opcode == PTX_OP_MADC ||
        ptx_has_modifier(instruction, PTX_MOD_CC))
        return decode_carry(decoder, instruction);
    if (!decode_operands(decoder, instruction, 4, &operands)) return false;
    return decode_emit(decoder, decoder->lanes->integer(opcode, type, second, decode_form(instruction)),
                       &operands, decode_integer_extra(instruction));
}

/* lop3{.or|.and}.b32 d{|p}, a, b, c, table{, q} -- ISA 9.7.8.6 */
static bool decode_lop3(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t sources[3], width = 4;
    if (instruction->operand_count < 5 || instruction->operands[4].kind != PTX_OPERAND_INTEGER)
        return decode_fail(decoder, "operands are missing");
    for (uint32_t i = 0; i < 3; i++)
        sources[i] = decode_source(decoder, &instruction->operands[i + 1], PTX_B32);
    const struct ptx_operand *first = &instruction->operands[0];
    bool has_predicate = first->kind == PTX_OPERAND_PAIR;
    uint32_t d = decode_destination(decoder, has_predicate ? &first->elements[0] : first, &width);
    if (width == DECODE_NONE) width = 4;
    lane_op run = decoder->lanes->integer(PTX_OP_LOP3, PTX_B32, PTX_NO_TYPE, LANE_PLAIN);
    uint32_t result = has_predicate ? decode_temporary(decoder, 4) : d;
    if (!decode_lanes(decoder, run, 4, result, sources[0], sources[1], sources[2], sources[2],
                      (uint64_t)instruction->operands[4].value & 0xff))
        return false;
    if (!has_predicate) return true;
    uint32_t q = instruction->operand_count > 5 ? decode_source(decoder, &instruction->operands[5], PTX_PRED)
                                                : decoder->always,
             ignored;
    uint64_t combine = ptx_has_modifier(instruction, PTX_MOD_AND) ? LANE_AND : LANE_OR;
    uint32_t p = decode_destination(decoder, &first->elements[1], &ignored);
    return decode_lanes(decoder, decoder->lanes->compare(LANE_EQ, PTX_U32, LANE_PLAIN), 0, p, result,
                        decode_constant(decoder, 4, 0), q, q, combine << LANE_COMBINE_SHIFT | LANE_INVERT) &&
           decode_lanes(decoder, decoder->lanes->move(4), 4, d, result, result, result, result, 0);
}

static bool decode_predicate(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    struct decode_operands operands;
    return decode_operands(decoder, instruction, 2, &operands) &&
           decode_emit(decoder, decoder->lanes->predicate(instruction->opcode), &operands, 0);
}

bool decode_arithmetic(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    if (instruction->type_count == 0) return decode_fail(decoder, "an instruction without a type");
    switch ((int)instruction->types[0]) {
    case PTX_PRED:
        return decode_predicate(decoder, instruction);
    case PTX_F32:
    case PTX_F64:
        break;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2:
        return decode_half(decoder, instruction);
    default:
        return instruction->opcode == PTX_OP_LOP3 ? decode_lop3(decoder, instruction)
                                                  : decode_integer(decoder, instruction);
    }
    if (instruction->opcode != PTX_OP_SLCT) return decode_float(decoder, instruction);
    struct decode_operands operands;
    enum ptx_type bits = instruction->types[0] == PTX_F32 ? PTX_B32 : PTX_B64;
    return decode_operands(decoder, instruction, 3, &operands) &&
           decode_emit(decoder, decoder->lanes->integer(PTX_OP_SLCT, bits, instruction->types[1], LANE_PLAIN),
                       &operands, decode_integer_extra(instruction));
}
