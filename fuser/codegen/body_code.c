/* SPDX-License-Identifier: Apache-2.0
 * Lines are made as plain PTX and quoted when written; the byte BODY_OPERAND stands for the % of an operand number. */
#include "fuser/codegen/body_code.h"

#include <stdlib.h>
#include <string.h>

const char body_code_place[] = "place inside a variable, or of renamed contents";

/* One line of PTX as a line of the string constant. */
static void write_quoted(struct body_writer *writer, const char *line)
{
    fprintf(writer->out, "%s    \"", writer->indentation);
    for (; *line; line++) {
        switch (*line) {
        case '%':
            fputs("%%", writer->out);
            break;
        case '\001':
            fputc('%', writer->out);
            break;
        case '"':
        case '\\':
            fprintf(writer->out, "\\%c", *line);
            break;
        case '\n':
        case '\t':
            fputc(' ', writer->out);
            break;
        default:
            fputc(*line, writer->out);
        }
    }
    fputs("\\n\"\n", writer->out);
}

void body_code_line(struct body_writer *writer, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length >= 0) write_quoted(writer, line);
    free(line);
}

static const char *name_register(void *context, const struct ptx_function *function, int32_t reg)
{
    const struct body_writer *writer = context;
    (void)function;
    return writer->body->registers[reg];
}

static const char *name_special(void *context, enum ptx_special special)
{
    struct body_writer *writer = context;
    const struct access_summary *summary = group_launch_of(writer->body->group, writer->body->member);
    if (special > PTX_SPECIAL_NCTAID_Z || !writer->body->specials[special]) return NULL;
    if (special >= PTX_SPECIAL_NTID_X && special <= PTX_SPECIAL_NTID_Z)
        snprintf(writer->text, sizeof writer->text, "%u", summary->block[special - PTX_SPECIAL_NTID_X]);
    else if (special == PTX_SPECIAL_NCTAID_Z && writer->body->expansion)
        snprintf(writer->text, sizeof writer->text, "1"); /* summary->grid has the iterations */
    else if (special >= PTX_SPECIAL_NCTAID_X)
        snprintf(writer->text, sizeof writer->text, "%u", summary->grid[special - PTX_SPECIAL_NCTAID_X]);
    else
        snprintf(writer->text, sizeof writer->text, "%%m%u_%s", writer->body->member,
                 body_coordinate(writer->body, (int)special));
    return writer->text;
}

static const char *name_label(void *context, const struct ptx_function *function, int32_t label)
{
    struct body_writer *writer = context;
    (void)function;
    snprintf(writer->text, sizeof writer->text, "m%u_L%d", writer->body->member, label);
    return writer->text;
}

static const char *name_symbol(void *context, const char *symbol)
{
    struct body_writer *writer = context;
    if (*symbol == '%') return symbol; /* a register of ours */
    if (symbol == body_code_place)
        return arena_printf(writer->body->arena, "%%m%u_place", writer->body->member);
    for (uint32_t i = 0; i < writer->body->table_count; i++)
        if (!strcmp(writer->body->tables[i].variable->name, symbol)) return writer->body->tables[i].name;
    for (uint32_t i = 0; i < writer->body->shared_count; i++)
        if (!strcmp(writer->body->shared[i].variable->name, symbol)) return writer->body->shared[i].name;
    for (uint32_t i = 0; i < writer->body->variable_count; i++)
        if (!strcmp(writer->body->variables[i].variable->name, symbol))
            return writer->body->variables[i].name;
    for (uint32_t i = 0; i < writer->body->copy_count; i++)
        if (!strcmp(writer->body->copies[i].parameter->name, symbol)) return writer->body->copies[i].name;
    return arena_printf(writer->body->arena, "m%u_%s", writer->body->member, symbol);
}

struct body_writer body_code_open(const struct body *body, FILE *out, const char *indentation)
{
    struct body_writer writer = {.body = body, .out = out, .indentation = indentation};
    writer.names = (struct ptx_names){
        .reg = name_register, .special = name_special, .label = name_label, .symbol = name_symbol};
    return writer;
}

void body_code_print(struct body_writer *writer, const struct ptx_instruction *instruction, const char *guard)
{
    struct ptx_instruction printed = *instruction;
    char *line = NULL;
    size_t length;
    FILE *text = open_memstream(&line, &length);
    if (!text) return;
    writer->names.context = writer;
    if (guard) printed.guard = -1;
    if (guard) fputs(guard, text);
    ptx_print_instruction(text, writer->body->function, &printed, &writer->names);
    if (!fclose(text)) write_quoted(writer, line);
    free(line);
}

const char *body_code_guard(const struct body_writer *writer, const struct ptx_instruction *instruction)
{
    if (instruction->guard < 0) return "";
    return arena_printf(writer->body->arena, "@%s%s ", instruction->guard_negated ? "!" : "",
                        writer->body->registers[instruction->guard]);
}

static char constraint_of(uint32_t bytes)
{
    return bytes == 2 ? 'h' : bytes == 4 ? 'r' : 'l';
}

/* The C value that fills a register of the wider of both widths, extended as the load would. */
static void write_word_operand(const struct body_writer *writer, const struct body_word *word,
                               const char *name)
{
    static const char *const extended[] = {[2] = "short", [4] = "int", [8] = "long long"};
    static const char *const narrow[] = {[1] = "signed char", [2] = "short", [4] = "int", [8] = "long long"};
    bool is_signed = ptx_type_is_signed(word->type);
    if (is_signed)
        fprintf(writer->out, "\"%c\"((unsigned %s)(%s)(%s)%s)", constraint_of(word->register_bytes),
                extended[word->register_bytes], extended[word->register_bytes],
                narrow[ptx_type_bytes(word->type)], name);
    else
        fprintf(writer->out, "\"%c\"((unsigned %s)%s)", constraint_of(word->register_bytes),
                extended[word->register_bytes], name);
}

const char *body_code_outputs(struct body_writer *writer, const char *separator, char modifier)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < body->output_count; i++, separator = ",")
        fprintf(writer->out, "%s \"%c%c\"(%s)", separator, modifier, constraint_of(body->outputs[i].bytes),
                body_value_name(body->arena, &body->outputs[i]));
    return separator;
}

const char *body_code_inputs(struct body_writer *writer, const char *separator, body_word_name *word_name,
                             void *context)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < body->word_count; i++, separator = ", ") {
        fputs(separator, writer->out);
        write_word_operand(writer, &body->words[i], word_name(context, body, i));
    }
    for (uint32_t i = 0; i < body->copy_count; i++, separator = ", ")
        fprintf(writer->out, "%s\"l\"(&%s)", separator, body->copies[i].parameter_name);
    for (uint32_t i = 0; i < body->input_count; i++, separator = ", ")
        fprintf(writer->out, "%s\"%c\"(%s)", separator, constraint_of(body->inputs[i].bytes),
                body_value_name(body->arena, &body->inputs[i]));
    for (uint32_t i = 0; i < body->fetch_count; i++) {
        const struct group_fetch *fetch = body->fetches[i];
        if (body_is_first_fetch(body, i)) {
            fprintf(writer->out, "%s\"r\"(%s)", separator, body_tile_name(body, fetch));
            separator = ", ";
        }
        if (body->served[i] != BODY_SERVED_ASKED) continue;
        fprintf(writer->out, "%s\"r\"(%s)", separator, body_covered_name(body, i));
        separator = ", ";
    }
    if (body->is_recomputed) {
        fprintf(writer->out, "%s\"r\"(own)", separator);
        separator = ", ";
    }
    for (uint32_t i = 0; i < body->group->prefetch_count; i++) {
        if (body->group->prefetches[i].member != body->member) continue;
        fprintf(writer->out, "%s\"r\"(m%u_further_%u)", separator, body->member, i);
        separator = ", ";
    }
    for (uint32_t i = 0; i < body->group->kept_count; i++) {
        if (body->group->kept[i].member != body->member) continue;
        fprintf(writer->out, "%s\"r\"(m%u_kept_%u)", separator, body->member, i);
        separator = ", ";
    }
    if (body->is_apart) {
        fprintf(writer->out, "%s\"r\"(m%u_runs)", separator, body->member);
        separator = ", ";
    }
    if (body->expansion) {
        fprintf(writer->out, "%s\"r\"(gz)", separator);
        separator = ", ";
    }
    for (int special = PTX_SPECIAL_TID_X; special <= PTX_SPECIAL_NCTAID_Z; special++) {
        const char *name = body_coordinate(body, special);
        if (!name) continue;
        if (body->is_apart)
            fprintf(writer->out, "%s\"r\"(m%u_%s)", separator, body->member, name);
        else
            fprintf(writer->out, "%s\"r\"(%s)", separator, name);
        separator = ", ";
    }
    if (!body_uses_shared(body)) return separator;
    /* names the array, which NVRTC would leave out otherwise */
    fprintf(writer->out, "%s\"l\"(%s_shared)", separator, body->kernel);
    return ", ";
}

/* NVRTC takes %% for two characters where a statement has no operand. */
void body_code_close(const struct body_writer *writer, const char *separator)
{
    bool has_none = !strcmp(separator, " ");
    fprintf(writer->out, "%s\n%s    : \"memory\");\n", has_none ? " \"n\"(0)" : "", writer->indentation);
}
