/* SPDX-License-Identifier: Apache-2.0
 * A kernel as C: signature, declarations, body. See decompile.h. */
#include "fuser/decompile/decompile.h"
#include "fuser/decompile/writer.h"

#include <string.h>

/* --- what must be written ----------------------------------------------------------------------------------
 */

struct demand { /* instructions whose statements are wanted */
    uint32_t *list, count;
    bool *is_wanted;
};

static void want(struct code *code, struct demand *demand, uint32_t instruction)
{
    bool is_reachable = dominators_is_reachable(code->dominators, code->cfg->block_of[instruction]);
    if (!is_reachable || demand->is_wanted[instruction]) return;
    demand->is_wanted[instruction] = true;
    demand->list[demand->count++] = instruction;
}

/* Writes one statement to count the registers that it refers to by name. */
static void count_references(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    code->at = instruction;
    code->line_count = 0;
    code->seen_count = 0;
    bool is_flow = ptx_is_branch(at) || ptx_is_return(at);
    if (!is_flow)
        statement_of(code, instruction);
    else if (at->guard >= 0)
        expression_condition(code, at->guard, false);
    if (at->opcode == PTX_OP_BRX) expression_operand(code, instruction, 0);
}

/* From what has an effect back to what that refers to. */
static bool find_needed(struct code *code)
{
    const struct ptx_function *function = code->function;
    struct demand demand = {
        .list = arena_calloc(code->arena, function->instruction_count + 1, sizeof *demand.list),
        .is_wanted = arena_calloc(code->arena, function->instruction_count + 1, sizeof *demand.is_wanted)};
    code->seen = arena_calloc(code->arena, function->register_count + 1, sizeof *code->seen);
    if (!demand.list || !demand.is_wanted || !code->seen) return false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *at = &function->instructions[i];
        if (statement_has_effect(at) || ptx_is_branch(at) || ptx_is_return(at)) want(code, &demand, i);
    }
    code->is_counting = true;
    for (uint32_t next = 0; next < demand.count; next++) {
        count_references(code, demand.list[next]);
        for (uint32_t s = 0; s < code->seen_count; s++)
            for (uint32_t d = 0; d < code->registers[code->seen[s]].definition_count; d++)
                want(code, &demand, code->definitions[code->seen[s]][d]);
    }
    code->is_counting = false;
    code->seen = NULL;
    return true;
}

/* --- declarations ------------------------------------------------------------------------------------------
 */

/* The declared type, or that of the loads of the whole parameter. */
static enum ptx_type parameter_type(const struct code *code, const struct ptx_variable *parameter)
{
    const struct ptx_function *function = code->function;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *at = &function->instructions[i];
        int32_t reg = registers_destination(at);
        if (!ptx_is_load(at) || at->space != PTX_PARAM || reg == CODE_NONE ||
            at->operands[1].variable != parameter)
            continue;
        if (ptx_type_bytes(code->registers[reg].type) == ptx_type_bytes(parameter->type))
            return code->registers[reg].type;
    }
    return types_plain(parameter->type);
}

static const char *pointer_text(struct code *code, uint32_t offset)
{
    uint32_t word = offset / 4;
    return arena_printf(code->arena, "%s%s *", code->is_written[word] ? "" : "const ",
                        types_name(code->elements[word]));
}

/* The register that receives what lies at this offset of a struct, or NULL. */
static const struct ptx_operand *part_of(const struct ptx_instruction *at,
                                         const struct ptx_variable *parameter, uint32_t offset)
{
    if (!ptx_is_load(at) || at->space != PTX_PARAM || at->operand_count != 2 ||
        at->operands[1].variable != parameter)
        return NULL;
    int64_t inside = (int64_t)offset - at->operands[1].value, bytes = ptx_type_bytes(types_result(at));
    const struct ptx_operand *to = &at->operands[0];
    if (inside == 0 && to->kind == PTX_OPERAND_REGISTER) return to;
    if (to->kind != PTX_OPERAND_VECTOR || inside < 0 || inside % bytes || inside / bytes >= to->element_count)
        return NULL;
    return &to->elements[inside / bytes];
}

/* The C type of what the kernel reads at this offset of a struct, and its size; NULL: it reads nothing there.
 */
static const char *part_type(struct code *code, const struct ptx_variable *parameter, uint32_t offset,
                             uint32_t *bytes)
{
    for (uint32_t i = 0; i < code->function->instruction_count; i++) {
        const struct ptx_instruction *at = &code->function->instructions[i];
        const struct ptx_operand *to = part_of(at, parameter, offset);
        if (!to || to->kind != PTX_OPERAND_REGISTER) continue;
        uint32_t place = parameter->offset + offset;
        *bytes = ptx_type_bytes(types_result(at));
        if (code->is_pointer[place / 4]) return pointer_text(code, place);
        enum ptx_type type = code->registers[to->reg].type;
        if (ptx_type_bytes(type) != *bytes) type = types_plain(types_result(at));
        return arena_printf(code->arena, "%s ", types_name(type));
    }
    return NULL;
}

static const char *struct_name(struct code *code, uint32_t parameter)
{
    return arena_printf(code->arena, "%s_p%u", expression_symbol(code, code->function->name), parameter);
}

/* "struct step_p0 { int at0; char skip4[4]; double at8; };": the parts that are read. */
static void write_struct(FILE *out, struct code *code, uint32_t number)
{
    const struct ptx_variable *parameter = &code->function->parameters[number];
    const char *text =
        arena_printf(code->arena, "struct __align__(%u) %s {",
                     parameter->alignment ? parameter->alignment : 1, struct_name(code, number));
    uint32_t end = 0, bytes = 0;
    for (uint32_t offset = 0; offset <= parameter->size; offset++) {
        const char *type = offset < parameter->size ? part_type(code, parameter, offset, &bytes) : NULL;
        if (!type && offset < parameter->size) continue;
        if (offset > end) text = arena_printf(code->arena, "%s char skip%u[%u];", text, end, offset - end);
        if (!type || offset < end) continue;
        text = arena_printf(code->arena, "%s %sat%u;", text, type, offset);
        end = offset + bytes;
    }
    writer_line(out, code->options->depth - 1, arena_printf(code->arena, "%s };", text), NULL);
}

static void write_signature(FILE *out, struct code *code)
{
    const struct ptx_function *function = code->function;
    const char *text =
        arena_printf(code->arena, "__global__ void %s(", expression_symbol(code, function->name));
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *parameter = &function->parameters[i];
        if (parameter->is_array) write_struct(out, code, i);
        const char *type =
            parameter->is_array ? arena_printf(code->arena, "struct %s ", struct_name(code, i))
            : code->is_pointer[parameter->offset / 4]
                ? pointer_text(code, parameter->offset)
                : arena_printf(code->arena, "%s ", types_name(parameter_type(code, parameter)));
        const char *name = expression_parameter(code, parameter->offset);
        text =
            arena_printf(code->arena, "%s%s%s%.*s", text, i ? ", " : "", type, (int)strcspn(name, "."), name);
    }
    writer_line(out, code->options->depth - 1, arena_printf(code->arena, "%s)", text), NULL);
}

static void write_variables(FILE *out, struct code *code)
{
    for (uint32_t i = 0; i < code->function->variable_count; i++) {
        const struct ptx_variable *variable = code->function->variables[i];
        if (variable->space != PTX_SHARED && variable->space != PTX_LOCAL) continue;
        enum ptx_type type = code->variable_elements[i] ? code->variable_elements[i] : variable->type;
        unsigned bytes = ptx_type_bytes(type) ? ptx_type_bytes(type) : 1;
        const char *name = expression_symbol(code, variable->name);
        const char *space = variable->is_extern             ? "extern __shared__ "
                            : variable->space == PTX_SHARED ? "__shared__ "
                                                            : "";
        const char *count =
            variable->size ? arena_printf(code->arena, "%u", (unsigned)(variable->size / bytes)) : "";
        writer_line(out, code->options->depth,
                    arena_printf(code->arena, "%s%s %s[%s];", space, types_name(type), name, count), NULL);
    }
}

/* Registers that are assigned in several places, or read outside of the braces in which they are assigned. */
static void write_registers(FILE *out, struct code *code)
{
    bool *is_done = arena_calloc(code->arena, code->function->register_count + 1, sizeof *is_done);
    for (uint32_t first = 0; is_done && first < code->function->register_count; first++) {
        const char *type = registers_type(&code->registers[first]), *list = NULL;
        for (uint32_t r = first; r < code->function->register_count; r++) {
            const struct code_register *info = &code->registers[r];
            if (is_done[r] || !info->is_hoisted || info->is_folded || strcmp(registers_type(info), type))
                continue;
            is_done[r] = true;
            bool is_pointer = info->pointer != CODE_NONE;
            list = list ? arena_printf(code->arena, "%s, %s%s", list, is_pointer ? "*" : "", info->name)
                        : arena_printf(code->arena, "%s%s%s", type, is_pointer ? "" : " ", info->name);
        }
        if (list) writer_line(out, code->options->depth, arena_printf(code->arena, "%s;", list), NULL);
    }
}

/* --- the whole
 * ---------------------------------------------------------------------------------------------- */

static bool open_code(struct code *code, const char **reason)
{
    const struct ptx_function *function = code->function;
    struct arena *arena = code->arena;
    size_t words = function->parameter_bytes / 4 + 2;
    *reason = "memory is out";
    code->registers = arena_calloc(arena, function->register_count + 1, sizeof *code->registers);
    code->is_pointer = arena_calloc(arena, words, sizeof *code->is_pointer);
    code->is_written = arena_calloc(arena, words, sizeof *code->is_written);
    code->elements = arena_calloc(arena, words, sizeof *code->elements);
    code->variable_elements = arena_calloc(arena, function->variable_count + 1, sizeof(enum ptx_type));
    if (!code->registers || !code->is_pointer || !code->is_written || !code->elements ||
        !code->variable_elements)
        return false;
    code->cfg = ptx_cfg_build(arena, function, reason);
    if (!code->cfg) return false;
    *reason = "memory is out";
    code->dominators = dominators_build(arena, code->cfg);
    return code->dominators && registers_collect(code) && types_infer(code) && pointers_infer(code) &&
           find_needed(code);
}

bool decompile_kernel(FILE *out, struct arena *arena, const struct ptx_function *function,
                      const struct decompile_options *options, const char **reason)
{
    struct decompile_options inner = *options;
    inner.depth += !options->is_body;
    struct code code = {.arena = arena, .function = function, .options = &inner};
    if (function->unreadable) {
        *reason = function->unreadable;
        return false;
    }
    if (!open_code(&code, reason)) return false;
    fold_registers(&code);
    struct flow *flow = flow_build(arena, code.dominators);
    code.seen = arena_calloc(arena, function->register_count + 1, sizeof *code.seen);
    if (!flow || !code.seen) return false;
    writer_write(NULL, &code, flow);
    if (options->title)
        writer_line(out, options->depth, arena_printf(arena, "/* %s */", options->title), NULL);
    if (!options->is_body) {
        write_signature(out, &code);
        writer_line(out, options->depth, "{", NULL);
    }
    write_variables(out, &code);
    write_registers(out, &code);
    writer_write(out, &code, flow);
    if (code.has_left) writer_line(out, inner.depth, arena_printf(arena, "%s:;", options->leave), NULL);
    if (!options->is_body) writer_line(out, options->depth, "}", NULL);
    *reason = NULL;
    return !ferror(out);
}
