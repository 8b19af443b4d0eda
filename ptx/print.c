/* SPDX-License-Identifier: Apache-2.0
 * IR to text that ptxas accepts. Scopes are flat: registers whose names repeat are printed with their id. */
#include "ptx/ptx.h"
#include "ptx/scope.h"
#include "ptx/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const space_words[PTX_SPACE_COUNT] = {
    [PTX_GENERIC] = "",     [PTX_GLOBAL] = ".global", [PTX_SHARED] = ".shared",
    [PTX_LOCAL] = ".local", [PTX_PARAM] = ".param",   [PTX_CONST] = ".const",
};

static void print_span(FILE *out, struct ptx_span span)
{
    fwrite(span.text, 1, span.length, out);
}

static void print_register(FILE *out, const struct ptx_function *function, int32_t reg,
                           const struct ptx_names *names)
{
    const char *name = names && names->reg ? names->reg(names->context, function, reg) : NULL;
    fputs(name ? name : function->registers[reg].name, out);
}

static void print_symbol(FILE *out, const char *symbol, const struct ptx_names *names)
{
    const char *name = names && names->symbol ? names->symbol(names->context, symbol) : NULL;
    fputs(name ? name : symbol, out);
}

static void print_label(FILE *out, const struct ptx_function *function, int32_t label,
                        const struct ptx_names *names)
{
    const char *name = names && names->label ? names->label(names->context, function, label) : NULL;
    fputs(name ? name : function->labels[label].name, out);
}

static void print_special(FILE *out, const struct ptx_operand *operand, const struct ptx_names *names)
{
    const char *name = names && names->special ? names->special(names->context, operand->special) : NULL;
    if (name)
        fputs(name, out);
    else if (operand->special == PTX_SPECIAL_OTHER)
        print_span(out, operand->text);
    else
        fputs(ptx_special_name(operand->special), out);
}

static void print_number(FILE *out, const struct ptx_operand *operand)
{
    if (operand->text.length)
        print_span(out, operand->text);
    else if (operand->kind == PTX_OPERAND_INTEGER)
        fprintf(out, "%" PRId64, operand->value);
    else if (operand->is_float64)
        fprintf(out, "0d%016" PRIX64, (uint64_t)operand->value);
    else
        fprintf(out, "0f%08" PRIX64, (uint64_t)operand->value & UINT32_MAX);
}

/* `.x`, or the selector of a video instruction as it was */
static void print_component(FILE *out, const struct ptx_operand *operand)
{
    if (!operand->component) return;
    if (operand->component < PTX_COMPONENT_OTHER) {
        fprintf(out, ".%c", "xyzw"[operand->component - 1]);
        return;
    }
    const char *dot = memchr(operand->text.text, '.', operand->text.length);
    if (dot) fwrite(dot, 1, operand->text.length - (size_t)(dot - operand->text.text), out);
}

static void print_operand(FILE *out, const struct ptx_function *function, const struct ptx_operand *operand,
                          const struct ptx_names *names);

static void print_elements(FILE *out, const struct ptx_function *function, const struct ptx_operand *operand,
                           const char *separator, const struct ptx_names *names)
{
    for (uint32_t i = 0; i < operand->element_count; i++) {
        if (i) fputs(separator, out);
        print_operand(out, function, &operand->elements[i], names);
    }
}

static void print_address(FILE *out, const struct ptx_function *function, const struct ptx_operand *operand,
                          const struct ptx_names *names)
{
    fputc('[', out);
    if (operand->reg >= 0)
        print_register(out, function, operand->reg, names);
    else if (operand->symbol)
        print_symbol(out, operand->symbol, names);
    if (operand->reg < 0 && !operand->symbol)
        fprintf(out, "%" PRId64, operand->value);
    else if (operand->value)
        fprintf(out, "+%" PRId64, operand->value);
    if (operand->element_count) fputs(", ", out);
    print_elements(out, function, operand, ", ", names);
    fputc(']', out);
}

static void print_operand(FILE *out, const struct ptx_function *function, const struct ptx_operand *operand,
                          const struct ptx_names *names)
{
    if (operand->is_negated) fputc(operand->text.length && *operand->text.text == '-' ? '-' : '!', out);
    switch (operand->kind) {
    case PTX_OPERAND_NONE:
        fputc('_', out);
        break;
    case PTX_OPERAND_REGISTER:
        print_register(out, function, operand->reg, names);
        print_component(out, operand);
        break;
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_FLOAT:
        print_number(out, operand);
        break;
    case PTX_OPERAND_SPECIAL:
        print_special(out, operand, names);
        break;
    case PTX_OPERAND_SYMBOL:
        print_symbol(out, operand->symbol, names);
        if (operand->value) fprintf(out, "+%" PRId64, operand->value);
        break;
    case PTX_OPERAND_ADDRESS:
        print_address(out, function, operand, names);
        break;
    case PTX_OPERAND_VECTOR:
        fputc('{', out);
        print_elements(out, function, operand, ", ", names);
        fputc('}', out);
        break;
    case PTX_OPERAND_LIST:
        fputc('(', out);
        print_elements(out, function, operand, ", ", names);
        fputc(')', out);
        break;
    case PTX_OPERAND_PAIR:
        print_elements(out, function, operand, "|", names);
        break;
    case PTX_OPERAND_LABEL:
        print_label(out, function, operand->label, names);
        break;
    }
}

void ptx_print_instruction(FILE *out, const struct ptx_function *function,
                           const struct ptx_instruction *instruction, const struct ptx_names *names)
{
    bool is_text = instruction->opcode == PTX_OP_PRAGMA ||
                   (instruction->opcode == PTX_OP_UNKNOWN && !instruction->operand_count);
    if (is_text) {
        print_span(out, instruction->text);
        return;
    }
    if (instruction->guard >= 0) {
        fputs(instruction->guard_negated ? "@!" : "@", out);
        print_register(out, function, instruction->guard, names);
        fputc(' ', out);
    }
    print_span(out, instruction->mnemonic);
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        fputs(i ? ", " : " ", out);
        print_operand(out, function, &instruction->operands[i], names);
    }
    fputc(';', out);
}

/* --- whole functions --- */

struct flat_names { /* what ptx_print_function calls registers: NULL keeps the name */
    const char **registers;
};

static const char *flat_register(void *context, const struct ptx_function *function, int32_t reg)
{
    (void)function;
    return ((const struct flat_names *)context)->registers[reg];
}

/* The second register of a name gets `NAME$ID`. False when memory is out. */
static bool name_registers(struct arena *arena, const struct ptx_function *function, struct flat_names *flat)
{
    struct ptx_scope *seen = ptx_scope_create(arena);
    flat->registers = arena_calloc(arena, function->register_count, sizeof *flat->registers);
    if (!seen || !flat->registers) return false;
    for (uint32_t i = 0; i < function->register_count; i++) {
        const char *name = function->registers[i].name;
        struct ptx_span span = {name, (uint32_t)strlen(name)};
        if (ptx_scope_find(seen, span)) {
            flat->registers[i] = arena_printf(arena, "%s$%u", name, i);
            if (!flat->registers[i]) return false;
        } else if (!ptx_scope_add(seen, (struct ptx_binding){.name = span, .kind = PTX_BINDING_SEEN})) {
            return false;
        }
    }
    return true;
}

/* How many registers from first on are NAME0, NAME1, ... of one type: they print as NAME<count>. */
static uint32_t run_of(const struct ptx_function *function, const struct flat_names *flat, uint32_t first)
{
    const struct ptx_register *registers = function->registers;
    size_t length = strlen(registers[first].name);
    if (flat->registers[first] || length < 2 || registers[first].name[length - 1] != '0') return 0;
    uint32_t count = 0;
    for (; first + count < function->register_count; count++) {
        const struct ptx_register *reg = &registers[first + count];
        char number[12];
        snprintf(number, sizeof number, "%u", count);
        if (flat->registers[first + count] || reg->type != registers[first].type ||
            reg->vector != registers[first].vector || strncmp(reg->name, registers[first].name, length - 1) ||
            strcmp(reg->name + length - 1, number))
            break;
    }
    return count;
}

static void print_registers(FILE *out, const struct ptx_function *function, const struct flat_names *flat)
{
    for (uint32_t i = 0; i < function->register_count;) {
        const struct ptx_register *reg = &function->registers[i];
        const char *name = flat->registers[i] ? flat->registers[i] : reg->name;
        fputs("\t.reg ", out);
        if (reg->vector > 1) fprintf(out, ".v%u ", reg->vector);
        uint32_t run = run_of(function, flat, i);
        if (run > 1)
            fprintf(out, ".%s %.*s<%u>;\n", ptx_type_name(reg->type), (int)strlen(name) - 1, name, run);
        else
            fprintf(out, ".%s %s;\n", ptx_type_name(reg->type), name);
        i += run > 1 ? run : 1;
    }
}

static void print_variable(FILE *out, const struct ptx_variable *variable)
{
    uint32_t element = ptx_type_bytes(variable->type) * variable->vector;
    if (variable->initial || !element) {
        fprintf(out, "\t%.*s\n", (int)variable->text.length, variable->text.text);
        return;
    }
    fprintf(out, "\t%s .align %u ", space_words[variable->space], variable->alignment);
    if (variable->vector > 1) fprintf(out, ".v%u ", variable->vector);
    fprintf(out, ".%s %s", ptx_type_name(variable->type), variable->name);
    if (variable->is_array && variable->size)
        fprintf(out, "[%" PRIu64 "]", variable->size / element);
    else if (variable->is_array)
        fputs("[]", out);
    fputs(";\n", out);
}

static void print_table(FILE *out, const struct ptx_function *function, const struct ptx_table *table)
{
    fprintf(out, "%s: ", table->name);
    if (!table->labels) {
        print_span(out, table->text);
    } else {
        fputs(".branchtargets ", out);
        for (uint32_t i = 0; i < table->label_count; i++) {
            if (i) fputs(", ", out);
            print_label(out, function, table->labels[i], NULL);
        }
        fputc(';', out);
    }
    fputc('\n', out);
}

/* Labels come in the order of the instructions that they stand before. */
static void print_instructions(FILE *out, const struct ptx_function *function, const struct ptx_names *names)
{
    uint32_t label = 0;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        while (label < function->label_count && function->labels[label].instruction <= i)
            fprintf(out, "%s:\n", function->labels[label++].name);
        if (i == function->instruction_count) return;
        fputc('\t', out);
        ptx_print_instruction(out, function, &function->instructions[i], names);
        fputc('\n', out);
    }
}

static void print_body(FILE *out, struct arena *arena, const struct ptx_function *function)
{
    struct flat_names flat;
    struct ptx_names names = {.reg = flat_register, .context = &flat};
    if (!name_registers(arena, function, &flat)) return;
    fputs("\n{\n", out);
    print_registers(out, function, &flat);
    for (uint32_t i = 0; i < function->variable_count; i++) print_variable(out, function->variables[i]);
    for (uint32_t i = 0; i < function->table_count; i++) print_table(out, function, &function->tables[i]);
    print_instructions(out, function, &names);
    fputs("}\n", out);
}

void ptx_print_function(FILE *out, const struct ptx_function *function)
{
    if (function->unreadable || function->is_declaration) {
        print_span(out, function->text);
        fputc('\n', out);
        return;
    }
    const char *header_end = function->directives.text + function->directives.length;
    fwrite(function->text.text, 1, (size_t)(header_end - function->text.text), out);
    struct arena *arena = arena_create();
    if (arena) print_body(out, arena, function);
    arena_free(arena);
}

void ptx_print_module(FILE *out, const struct ptx_module *module)
{
    uint32_t variable = 0, function = 0, extra = 0;
    fprintf(out, ".version %u.%u\n.target %s%s\n.address_size %u\n\n", module->version_major,
            module->version_minor, module->target, module->target_options, module->address_size);
    for (;;) { /* what stands first in the text comes first */
        const char *a = variable < module->variable_count ? module->variables[variable]->text.text : NULL;
        const char *b = function < module->function_count ? module->functions[function]->text.text : NULL;
        const char *c = extra < module->extra_count ? module->extras[extra].text : NULL;
        if (!a && !b && !c) return;
        if (a && (!b || a < b) && (!c || a < c)) {
            print_span(out, module->variables[variable++]->text);
            fputc('\n', out);
        } else if (b && (!c || b < c)) {
            ptx_print_function(out, module->functions[function++]);
        } else {
            print_span(out, module->extras[extra++]);
            fputc('\n', out);
        }
    }
}
