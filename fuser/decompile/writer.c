/* SPDX-License-Identifier: Apache-2.0
 * See writer.h. */
#include "fuser/decompile/writer.h"

#include <string.h>

enum { TEXT_WIDTH = 92, LINE_COLUMN = 92, LINES_APART = 8, MOST_SCOPES = 256 };

struct writer {
    FILE *out; /* NULL: only scopes are looked at */
    struct code *code;
    const struct flow *flow;
    unsigned depth;
    uint32_t scopes[MOST_SCOPES], scope_count, last_scope;
    unsigned since_line; /* lines since the last one with a number */
    uint32_t labelled;   /* block of the last label */
};

/* Before a word that begins an operand, or behind a comma. */
static bool is_good_cut(const char *text, size_t space)
{
    bool is_operator = strchr("+-*/%<>=!&|^?:", text[space + 1]) && text[space + 1];
    return text[space - 1] == ',' || (is_operator && (text[space + 2] == ' ' || text[space + 3] == ' '));
}

/* Where to cut a line that is longer than room; 0: nowhere. */
static size_t cut_of(const char *text, size_t room)
{
    size_t good = 0, any = 0;
    for (size_t i = 1; text[i] && (i <= room || !any); i++) {
        if (text[i] != ' ') continue;
        any = i;
        if (i <= room && is_good_cut(text, i)) good = i;
    }
    return good ? good : any;
}

void writer_line(FILE *out, unsigned depth, const char *text, const char *lines)
{
    unsigned indentation = 4 * depth;
    while (strlen(text) + indentation > TEXT_WIDTH) {
        size_t cut = cut_of(text, TEXT_WIDTH - indentation % TEXT_WIDTH);
        if (!cut) break;
        fprintf(out, "%*s%.*s\n", (int)indentation, "", (int)cut, text);
        text += cut + 1;
        indentation = 4 * depth + 8;
    }
    int width = LINE_COLUMN > indentation ? (int)(LINE_COLUMN - indentation) : 0;
    if (lines)
        fprintf(out, "%*s%-*s // %s\n", (int)indentation, "", width, text, lines);
    else
        fprintf(out, "%*s%s\n", (int)indentation, "", text);
}

/* --- scopes ----------------------------------------------------------------------------------------------
 */

static void open_scope(struct writer *writer)
{
    writer->depth++;
    if (writer->scope_count < MOST_SCOPES) writer->scopes[writer->scope_count] = ++writer->last_scope;
    writer->scope_count++;
}

static void close_scope(struct writer *writer)
{
    writer->depth--;
    writer->scope_count--;
}

static bool is_open(const struct writer *writer, uint32_t scope)
{
    for (uint32_t i = 0; i < writer->scope_count && i < MOST_SCOPES; i++)
        if (writer->scopes[i] == scope) return true;
    return scope == 0;
}

/* What was just written refers to these; those declared in a scope that has ended must be declared above. */
static void note_references(struct writer *writer)
{
    struct code *code = writer->code;
    for (uint32_t i = 0; !writer->out && i < code->seen_count; i++) {
        struct code_register *info = &code->registers[code->seen[i]];
        if (info->definition_count != 1 || !is_open(writer, info->scope)) info->is_hoisted = true;
    }
    code->seen_count = 0;
}

static void note_result(struct writer *writer, const struct ptx_operand *to, bool is_guarded)
{
    if (to->kind == PTX_OPERAND_REGISTER) {
        struct code_register *info = &writer->code->registers[to->reg];
        bool is_inner = writer->scope_count && writer->scope_count <= MOST_SCOPES;
        info->scope = is_inner ? writer->scopes[writer->scope_count - 1] : 0;
        if (!writer->out && (info->definition_count != 1 || is_guarded)) info->is_hoisted = true;
    }
    for (uint32_t i = 0; i < to->element_count; i++) note_result(writer, &to->elements[i], is_guarded);
}

static void note_definition(struct writer *writer, uint32_t instruction)
{
    const struct ptx_instruction *at = &writer->code->function->instructions[instruction];
    if (at->operand_count && ptx_opcode_info(at->opcode)->has_destination)
        note_result(writer, &at->operands[0], at->guard >= 0);
}

/* --- lines -----------------------------------------------------------------------------------------------
 */

static const char *line_numbers(struct writer *writer, uint32_t instruction, bool is_first)
{
    struct code *code = writer->code;
    const struct ptx_instruction *instructions = code->function->instructions;
    const char *list = NULL;
    for (uint32_t i = 0; i < code->line_count; i++) {
        if (code->options->shown) code->options->shown[code->lines[i]]++;
        list = list ? arena_printf(code->arena, "%s %u", list, instructions[code->lines[i]].line)
                    : arena_printf(code->arena, "%u", instructions[code->lines[i]].line);
    }
    if (!list && (is_first || writer->since_line >= LINES_APART))
        list = arena_printf(code->arena, "(%u)", instructions[instruction].line);
    writer->since_line = list ? 0 : writer->since_line + 1;
    return list;
}

static void plain_line(struct writer *writer, const char *text)
{
    if (writer->out) writer_line(writer->out, writer->depth, text, NULL);
}

/* A line that ends in a condition, whose memory accesses it shows. */
static void line_with(struct writer *writer, uint32_t instruction, const char *text)
{
    note_references(writer);
    if (writer->out) writer_line(writer->out, writer->depth, text, line_numbers(writer, instruction, false));
}

static void write_statement(struct writer *writer, uint32_t instruction, bool is_first)
{
    struct code *code = writer->code;
    const char *text = statement_of(code, instruction);
    note_definition(writer, instruction);
    note_references(writer);
    if (!writer->out || !text) return;
    const char *lines = line_numbers(writer, instruction, is_first);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1, lines = NULL)
        writer_line(writer->out, writer->depth, arena_strndup(code->arena, text, (size_t)(end - text)),
                    lines);
    writer_line(writer->out, writer->depth, text, lines);
}

bool writer_shows(const struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    int32_t reg = registers_destination(at);
    if (at->opcode == PTX_OP_PRAGMA || ptx_is_branch(at) || ptx_is_return(at)) return false;
    if (reg == CODE_NONE) return statement_has_effect(at);
    const struct code_register *info = &code->registers[reg];
    if (info->definition != CODE_NONE && (info->is_folded || registers_is_plain(code, reg))) return false;
    return statement_has_effect(at) || info->references > 0;
}

static bool block_is_empty(const struct code *code, uint32_t block)
{
    const struct ptx_block *info = &code->cfg->blocks[block];
    for (uint32_t i = info->first; i < info->first + info->count; i++)
        if (writer_shows(code, i)) return false;
    return true;
}

static void write_block(struct writer *writer, uint32_t block)
{
    const struct ptx_block *info = &writer->code->cfg->blocks[block];
    bool is_first = true;
    for (uint32_t i = info->first; i < info->first + info->count; i++) {
        if (!writer_shows(writer->code, i)) continue;
        write_statement(writer, i, is_first);
        is_first = false;
    }
}

/* --- nodes ------------------------------------------------------------------------------------------------
 */

static void write_nodes(struct writer *writer, const struct flow_node *node);

static uint32_t branch_of(const struct writer *writer, uint32_t block)
{
    const struct ptx_block *info = &writer->code->cfg->blocks[block];
    return info->first + info->count - 1;
}

static const char *condition_of(struct writer *writer, uint32_t block, bool is_negated)
{
    struct code *code = writer->code;
    uint32_t at = branch_of(writer, block);
    const struct ptx_instruction *branch = &code->function->instructions[at];
    code->at = at;
    code->line_count = 0;
    return expression_condition(code, branch->guard, branch->guard_negated != is_negated).string;
}

static void write_scope(struct writer *writer, const struct flow_node *node)
{
    open_scope(writer);
    write_nodes(writer, node);
    close_scope(writer);
}

static bool is_simple(const struct flow_node *node)
{
    return node && !node->next && node->kind >= FLOW_GOTO;
}

static const char *label_of(const struct writer *writer, uint32_t block)
{
    const struct decompile_names *names = writer->code->options->names;
    return arena_printf(writer->code->arena, "%sL%u", names && names->prefix ? names->prefix : "",
                        writer->code->function->instructions[writer->code->cfg->blocks[block].first].line);
}

static const char *jump_text(const struct writer *writer, const struct flow_node *node)
{
    const char *leave = writer->code->options->leave;
    if (node->kind == FLOW_RETURN && leave) {
        writer->code->has_left = true;
        return arena_printf(writer->code->arena, "goto %s;", leave);
    }
    if (node->kind == FLOW_GOTO)
        return arena_printf(writer->code->arena, "goto %s;", label_of(writer, node->target));
    return node->kind == FLOW_BREAK ? "break;" : node->kind == FLOW_CONTINUE ? "continue;" : "return;";
}

static void write_if(struct writer *writer, const struct flow_node *node)
{
    struct arena *arena = writer->code->arena;
    if (!node->first && !node->second) return;
    bool is_negated = !node->first || (!is_simple(node->first) && is_simple(node->second));
    const struct flow_node *yes = is_negated ? node->second : node->first,
                           *no = is_negated ? node->first : node->second;
    const char *condition = condition_of(writer, node->block, is_negated);
    uint32_t branch = branch_of(writer, node->block);
    if (is_simple(yes)) {
        line_with(writer, branch, arena_printf(arena, "if (%s) %s", condition, jump_text(writer, yes)));
        write_nodes(writer, no); /* it is only come to otherwise */
        return;
    }
    line_with(writer, branch, arena_printf(arena, "if (%s) {", condition));
    write_scope(writer, yes);
    if (no) {
        plain_line(writer, "} else {");
        write_scope(writer, no);
    }
    plain_line(writer, "}");
}

static bool continues(const struct flow_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FLOW_CONTINUE) return true;
        if (node->kind != FLOW_LOOP && (continues(node->first) || continues(node->second))) return true;
    }
    return false;
}

/* The branch that ends a loop with one way out at its end: `do { } while`. */
static struct flow_node *last_exit(const struct flow_node *loop)
{
    struct flow_node *last = loop->first;
    while (last && last->next) last = last->next;
    if (!last || last->kind != FLOW_IF || continues(loop->first)) return NULL;
    bool first_leaves = last->first && last->first->kind == FLOW_BREAK && !last->second;
    bool second_leaves = last->second && last->second->kind == FLOW_BREAK && !last->first;
    return first_leaves || second_leaves ? last : NULL;
}

static void write_until(struct writer *writer, const struct flow_node *loop, const struct flow_node *exit)
{
    struct flow_node *node = loop->first;
    plain_line(writer, "do {");
    open_scope(writer);
    for (; node != exit; node = node->next) {
        struct flow_node alone = *node;
        alone.next = NULL;
        write_nodes(writer, &alone);
    }
    close_scope(writer);
    const char *condition = condition_of(writer, exit->block, exit->first != NULL);
    line_with(writer, branch_of(writer, exit->block),
              arena_printf(writer->code->arena, "} while (%s);", condition));
}

static void write_loop(struct writer *writer, const struct flow_node *loop)
{
    const struct flow_node *exit = last_exit(loop), *head = loop->first;
    const struct flow_node *test = head ? head->next : NULL;
    bool is_while = test && test->kind == FLOW_IF && block_is_empty(writer->code, head->block) &&
                    !writer->flow->is_label[head->block];
    bool first_leaves = is_while && is_simple(test->first) && test->first->kind == FLOW_BREAK;
    bool second_leaves = is_while && is_simple(test->second) && test->second->kind == FLOW_BREAK;
    if (exit) {
        write_until(writer, loop, exit);
    } else if (first_leaves || second_leaves) {
        const char *condition = condition_of(writer, test->block, first_leaves);
        line_with(writer, branch_of(writer, test->block),
                  arena_printf(writer->code->arena, "while (%s) {", condition));
        open_scope(writer);
        write_nodes(writer, first_leaves ? test->second : test->first);
        write_nodes(writer, test->next);
        close_scope(writer);
        plain_line(writer, "}");
    } else {
        plain_line(writer, "for (;;) {");
        write_scope(writer, loop->first);
        plain_line(writer, "}");
    }
}

static void write_switch(struct writer *writer, const struct flow_node *node)
{
    struct code *code = writer->code;
    code->at = branch_of(writer, node->block);
    code->line_count = 0;
    const char *index = expression_operand(code, code->at, 0).string;
    uint32_t number = 0;
    line_with(writer, code->at,
              arena_printf(code->arena, "switch (%s) { /* of its table of labels */", index));
    for (const struct flow_node *branch = node->first; branch; branch = branch->next) {
        plain_line(writer, arena_printf(code->arena, "case %u: {", number++));
        write_scope(writer, branch->first);
        plain_line(writer, "} break;");
    }
    plain_line(writer, "}");
}

static void write_label(struct writer *writer, const struct flow_node *node)
{
    bool is_place = node->kind == FLOW_LOOP || node->kind == FLOW_BLOCK;
    if (!is_place || !writer->flow->is_label[node->block] || !writer->out || writer->labelled == node->block)
        return;
    writer->labelled = node->block;
    fprintf(writer->out, "%s:;\n", label_of(writer, node->block));
}

static void write_nodes(struct writer *writer, const struct flow_node *node)
{
    for (; node; node = node->next) {
        write_label(writer, node);
        switch (node->kind) {
        case FLOW_BLOCK:
            write_block(writer, node->block);
            break;
        case FLOW_IF:
            write_if(writer, node);
            break;
        case FLOW_SWITCH:
            write_switch(writer, node);
            break;
        case FLOW_LOOP:
            write_loop(writer, node);
            break;
        case FLOW_CASE:
            break;
        case FLOW_GOTO:
        case FLOW_BREAK:
        case FLOW_CONTINUE:
        case FLOW_RETURN:
            plain_line(writer, jump_text(writer, node));
            break;
        }
    }
}

void writer_write(FILE *out, struct code *code, const struct flow *flow)
{
    struct writer writer = {
        .out = out, .code = code, .flow = flow, .depth = code->options->depth, .labelled = UINT32_MAX};
    code->seen_count = 0;
    write_nodes(&writer, flow->body);
}
