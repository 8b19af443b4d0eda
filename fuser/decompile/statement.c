/* SPDX-License-Identifier: Apache-2.0
 * One instruction as a statement. */
#include "fuser/decompile/code.h"

#include <stdlib.h>
#include <string.h>

struct decompile_place statement_place(const struct code *code, uint32_t instruction)
{
    struct decompile_place place = {NULL, NULL, NULL, false};
    const struct decompile_names *names = code->options->names;
    if (names && names->place) names->place(names->context, instruction, &place);
    return place;
}

bool statement_is_placed(const struct code *code, uint32_t instruction)
{
    struct decompile_place place = statement_place(code, instruction);
    return place.value || place.also || place.comment || place.is_dropped;
}

bool statement_has_effect(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    if (instruction->opcode == PTX_OP_PRAGMA) return false;
    if (ptx_is_branch(instruction) || ptx_is_return(instruction)) return false; /* flow.c */
    if (ptx_is_load(instruction)) return !registers_is_parameter(instruction) || instruction->vector > 1;
    return class != PTX_CLASS_ARITHMETIC || (!expression_is_known(instruction));
}

/* --- as PTX, with the names of the C variables -----------------------------------------------------------
 */

static const char *register_name(void *context, const struct ptx_function *function, int32_t reg)
{
    (void)function;
    struct code *code = context;
    struct text text = expression_register(code, reg);
    return text.precedence == PRECEDENCE_PRIMARY ? text.string
                                                 : arena_printf(code->arena, "(%s)", text.string);
}

/* C does not see the assignment. */
static void declare_above(struct code *code, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_REGISTER) code->registers[operand->reg].is_hoisted = true;
    for (uint32_t i = 0; i < operand->element_count; i++) declare_above(code, &operand->elements[i]);
}

static const char *verbatim(struct code *code, uint32_t instruction)
{
    char *text = NULL;
    size_t size;
    const struct ptx_names names = {.reg = register_name, .context = code};
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return "";
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    if (at->operand_count && ptx_opcode_info(at->opcode)->has_destination)
        declare_above(code, &at->operands[0]);
    if (at->opcode == PTX_OP_CALL && at->operand_count) declare_above(code, &at->operands[0]);
    ptx_print_instruction(stream, code->function, at, &names);
    fclose(stream);
    const char *result = arena_printf(code->arena, "asm(\"%s\");", text);
    free(text);
    return result;
}

/* --- memory ----------------------------------------------------------------------------------------------
 */

/* "x = x + y" is "x += y": of integers, where the order of sums makes no difference. */
static const char *shortened(struct code *code, const struct code_register *info, const char *value)
{
    size_t length = strlen(info->name);
    if (ptx_type_is_float(info->type) || strncmp(value, info->name, length) || strlen(value) < length + 3)
        return NULL;
    const char *rest = value + length + 3;
    bool is_sum = !strncmp(value + length, " + ", 3), is_difference = !strncmp(value + length, " - ", 3);
    if (!is_sum && (!is_difference || strchr(rest, ' '))) return NULL;
    if (strpbrk(rest, "?<>&|^=")) return NULL;
    return arena_printf(code->arena, "%s %c= %s;", info->name, is_sum ? '+' : '-', rest);
}

static const char *assigned(struct code *code, int32_t reg, const char *value)
{
    const struct code_register *info = &code->registers[reg];
    bool is_declared = info->definition == CODE_NONE || info->is_hoisted;
    const char *change = is_declared ? shortened(code, info, value) : NULL;
    if (change) return change;
    const char *type = is_declared ? "" : registers_type(info);
    const char *space = is_declared || info->pointer != CODE_NONE ? "" : " ";
    return arena_printf(code->arena, "%s%s%s = %s;", type, space, info->name, value);
}

static const char *with_comment(struct code *code, const char *text, const char *comment)
{
    return comment ? arena_printf(code->arena, "%s /* %s */", text, comment) : text;
}

/* An element of a vector of the first element's type, as what its register is. */
static const char *as_register(struct code *code, enum ptx_type first, enum ptx_type type, const char *part)
{
    if (ptx_type_is_float(first) == ptx_type_is_float(type) || ptx_type_bytes(type) < 4) return part;
    const char *name = type == PTX_F32    ? "__int_as_float"
                       : type == PTX_F64  ? "__longlong_as_double"
                       : first == PTX_F64 ? "__double_as_longlong"
                                          : "__float_as_int";
    return arena_printf(code->arena, "%s(%s)", name, part);
}

/* A vector's elements are known by their names in it, those that have several definitions are assigned. */
static const char *load_vector(struct code *code, uint32_t instruction, const char *value)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    const struct ptx_operand *to = &at->operands[0];
    const struct decompile_names *names = code->options->names;
    const char *vector =
        arena_printf(code->arena, "%sv%u", names && names->prefix ? names->prefix : "", at->line);
    const char *text = arena_printf(code->arena, "auto %s = %s;", vector, value);
    enum ptx_type first = to->element_count && to->elements[0].kind == PTX_OPERAND_REGISTER
                              ? code->registers[to->elements[0].reg].type
                              : types_result(at);
    for (uint32_t i = 0; i < to->element_count; i++) {
        if (to->elements[i].kind != PTX_OPERAND_REGISTER) continue;
        struct code_register *info = &code->registers[to->elements[i].reg];
        const char *part = i < 4 ? arena_printf(code->arena, "%s.%c", vector, "xyzw"[i])
                                 : arena_printf(code->arena, "%s.s%u", vector, i);
        part = as_register(code, first, info->type, part);
        bool is_alias = info->definition_count == 1 && at->guard < 0 && !info->is_hoisted;
        info->alias = is_alias ? part : NULL;
        if (!is_alias) text = arena_printf(code->arena, "%s\n%s = %s;", text, info->name, part);
    }
    return text;
}

/* Parts of a struct of parameters: the registers are known by those names, where they have no other
 * definition. */
static const char *load_parameters(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    const struct ptx_operand *to = &at->operands[0], *from = &at->operands[1];
    const char *text = NULL;
    for (uint32_t i = 0; i < to->element_count; i++) {
        if (to->elements[i].kind != PTX_OPERAND_REGISTER) continue;
        struct code_register *info = &code->registers[to->elements[i].reg];
        uint32_t bytes = ptx_type_bytes(types_result(at));
        const char *part =
            expression_parameter(code, from->variable->offset + (uint32_t)from->value + i * bytes);
        bool is_alias = info->definition_count == 1 && at->guard < 0 && !info->is_hoisted;
        info->alias = is_alias ? part : NULL;
        if (is_alias) continue;
        text =
            arena_printf(code->arena, "%s%s%s = %s;", text ? text : "", text ? "\n" : "", info->name, part);
    }
    return text;
}

static const char *load(struct code *code, uint32_t instruction)
{
    const struct ptx_operand *to = &code->function->instructions[instruction].operands[0];
    struct decompile_place place = statement_place(code, instruction);
    const char *element = address_element(code, instruction).string,
               *value = place.value ? place.value : element;
    bool is_vector = to->kind != PTX_OPERAND_REGISTER;
    const char *text = is_vector ? load_vector(code, instruction, value) : assigned(code, to->reg, value);
    text = with_comment(code, text, place.comment);
    if (place.value) text = arena_printf(code->arena, "%s /* not %s */", text, element);
    if (place.also && !is_vector)
        text = arena_printf(code->arena, "%s\n%s = %s;", text, place.also, code->registers[to->reg].name);
    return text;
}

static const char *store(struct code *code, uint32_t instruction)
{
    struct decompile_place place = statement_place(code, instruction);
    const char *element = address_element(code, instruction).string;
    const struct ptx_operand *from = &code->function->instructions[instruction].operands[1];
    struct text stored = expression_operand(code, instruction, 1);
    bool is_pointer = from->kind == PTX_OPERAND_REGISTER && code->registers[from->reg].pointer != CODE_NONE;
    const char *value = is_pointer ? text_cast(code, "long", stored).string : stored.string, *kept = NULL;
    if (place.also) {
        kept = arena_printf(code->arena, "%s = %s;\n", place.also, value);
        value = place.also;
    }
    const char *text = arena_printf(code->arena, place.is_dropped ? "/* not stored: %s = %s; */" : "%s = %s;",
                                    element, value);
    return with_comment(code, arena_printf(code->arena, "%s%s", kept ? kept : "", text), place.comment);
}

static const char *atomic(struct code *code, uint32_t instruction)
{
    static const struct {
        enum ptx_modifier modifier;
        const char *name;
    } operations[] = {{PTX_MOD_ADD, "atomicAdd"}, {PTX_MOD_MIN, "atomicMin"}, {PTX_MOD_MAX, "atomicMax"},
                      {PTX_MOD_AND, "atomicAnd"}, {PTX_MOD_OR, "atomicOr"},   {PTX_MOD_XOR, "atomicXor"},
                      {PTX_MOD_INC, "atomicInc"}, {PTX_MOD_DEC, "atomicDec"}, {PTX_MOD_EXCH, "atomicExch"},
                      {PTX_MOD_CAS, "atomicCAS"}};
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    bool has_result = at->opcode == PTX_OP_ATOM;
    const char *name = NULL;
    for (size_t i = 0; !name && i < sizeof operations / sizeof *operations; i++)
        if (ptx_has_modifier(at, operations[i].modifier)) name = operations[i].name;
    int32_t reg = has_result ? registers_destination(at) : CODE_NONE;
    bool is_unused = has_result && at->operands[0].kind == PTX_OPERAND_NONE;
    if (!name || at->vector > 1 || (has_result && reg == CODE_NONE && !is_unused)) return NULL;
    const char *element = address_element(code, instruction).string,
               *where = element[0] == '*' ? element + 1 : NULL;
    const char *call = where ? arena_printf(code->arena, "%s(%s", name, where)
                             : arena_printf(code->arena, "%s(&%s", name, element);
    for (uint32_t i = has_result ? 2 : 1; i < at->operand_count; i++)
        call = arena_printf(code->arena, "%s, %s", call, expression_operand(code, instruction, i).string);
    call = arena_printf(code->arena, "%s)", call);
    return reg == CODE_NONE ? arena_printf(code->arena, "%s;", call) : assigned(code, reg, call);
}

/* --- all -------------------------------------------------------------------------------------------------
 */

static bool is_block_barrier(const struct ptx_instruction *instruction)
{
    bool is_barrier = instruction->opcode == PTX_OP_BAR || instruction->opcode == PTX_OP_BARRIER;
    return is_barrier && ptx_has_modifier(instruction, PTX_MOD_SYNC) && instruction->operand_count == 1 &&
           instruction->operands[0].kind == PTX_OPERAND_INTEGER && instruction->operands[0].value == 0;
}

static const char *fence(const struct ptx_instruction *instruction)
{
    if (instruction->opcode != PTX_OP_MEMBAR) return NULL;
    return ptx_has_modifier(instruction, PTX_MOD_SYS)   ? "__threadfence_system();"
           : ptx_has_modifier(instruction, PTX_MOD_CTA) ? "__threadfence_block();"
                                                        : "__threadfence();";
}

/* A warp's operations: "r1 = shfl_sync_down_b32(&is1, r2, 4, 31, 0xffffffff);" NULL: not such a one. */
static const char *collective(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    if (ptx_opcode_info(at->opcode)->class != PTX_CLASS_WARP || !at->operand_count) return NULL;
    const struct ptx_operand *to = &at->operands[0];
    bool is_pair = to->kind == PTX_OPERAND_PAIR && to->element_count == 2;
    if (is_pair) {
        declare_above(code, to);
        to = &to->elements[0];
    }
    if (to->kind != PTX_OPERAND_REGISTER || to->component || !ptx_opcode_info(at->opcode)->has_destination)
        return NULL;
    return assigned(code, to->reg, expression_by_mnemonic(code, instruction).string);
}

/* setp p|q: q is made of the contrary; first, if p is made of p. */
static const char *two_predicates(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    const struct ptx_operand *to = &at->operands[0];
    if (at->opcode != PTX_OP_SETP || to->kind != PTX_OPERAND_PAIR || to->element_count != 2) return NULL;
    const struct ptx_operand *p = &to->elements[0], *q = &to->elements[1];
    if (p->kind != PTX_OPERAND_REGISTER || q->kind != PTX_OPERAND_REGISTER) return NULL;
    declare_above(code, to);
    const char *first = assigned(code, p->reg, expression_comparison(code, instruction, false).string);
    const char *second = assigned(code, q->reg, expression_comparison(code, instruction, true).string);
    bool takes_p = at->operand_count == 4 && at->operands[3].kind == PTX_OPERAND_REGISTER &&
                   at->operands[3].reg == p->reg;
    return arena_printf(code->arena, "%s\n%s", takes_p ? second : first, takes_p ? first : second);
}

/* mov.b32 {a, b}, c: parts of a register, the low one first. */
static const char *parts(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    const struct ptx_operand *to = &at->operands[0];
    const char *text = NULL;
    if (at->opcode != PTX_OP_MOV || to->kind != PTX_OPERAND_VECTOR ||
        at->operands[1].kind != PTX_OPERAND_REGISTER)
        return NULL;
    unsigned bits = 8 * ptx_type_bytes(types_result(at)) / to->element_count;
    for (uint32_t i = 0; i < to->element_count; i++) {
        const struct ptx_operand *element = &to->elements[i];
        if (element->kind == PTX_OPERAND_NONE) continue;
        if (element->kind != PTX_OPERAND_REGISTER || ptx_type_is_float(code->registers[element->reg].type))
            return NULL;
    }
    declare_above(code, to);
    struct text whole = expression_operand(code, instruction, 1);
    for (uint32_t i = 0; i < to->element_count; i++) {
        if (to->elements[i].kind != PTX_OPERAND_REGISTER) continue;
        const struct code_register *info = &code->registers[to->elements[i].reg];
        const char *shifted = i ? arena_printf(code->arena, "(%s >> %u)",
                                               expression_within(code, whole, PRECEDENCE_SHIFT), i * bits)
                                : expression_within(code, whole, PRECEDENCE_UNARY);
        text = arena_printf(code->arena, "%s%s%s = (%s)%s;", text ? text : "", text ? "\n" : "", info->name,
                            types_name(info->type), shifted);
    }
    return text;
}

static const char *unguarded(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    int32_t reg = registers_destination(at);
    const char *text = NULL;
    bool is_named = registers_is_parameter(at);
    if (is_named && at->vector > 1 && !registers_overlap(code, instruction))
        return load_parameters(code, instruction);
    if (ptx_is_load(at) && (!is_named || at->vector > 1) && at->operand_count == 2 &&
        (reg != CODE_NONE || at->operands[0].kind == PTX_OPERAND_VECTOR))
        return load(code, instruction);
    if (ptx_is_store(at) && at->space != PTX_PARAM && at->operand_count == 2) return store(code, instruction);
    if (ptx_is_atomic(at)) text = atomic(code, instruction);
    if (!text) text = collective(code, instruction);
    if (!text) text = two_predicates(code, instruction);
    if (!text) text = parts(code, instruction);
    if (is_block_barrier(at)) text = "__syncthreads();";
    if (!text) text = fence(at);
    if (text) return text;
    if (reg != CODE_NONE && (is_named || expression_is_known(at)))
        return assigned(code, reg, expression_of(code, instruction).string);
    if (ptx_opcode_info(at->opcode)->class == PTX_CLASS_MEMORY || ptx_is_atomic(at))
        code->lines[0] = instruction, code->line_count = 1;
    return verbatim(code, instruction);
}

const char *statement_of(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    code->at = instruction;
    code->line_count = 0;
    const char *text = unguarded(code, instruction);
    if (!text || at->guard < 0 || !strncmp(text, "asm(", strlen("asm("))) return text;
    struct text condition = expression_condition(code, at->guard, at->guard_negated);
    return arena_printf(code->arena, strchr(text, '\n') ? "if (%s) {\n%s\n}" : "if (%s) %s", condition.string,
                        text);
}
