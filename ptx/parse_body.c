/* SPDX-License-Identifier: Apache-2.0
 * A function's body -- ISA 4.3: declarations, labels, instructions, nested scopes. Labels are resolved when
 * the scope that they could stand in closes. */
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST_SCOPE = 200 };

const char *ptx_unique_name(struct ptx_parser *parser, struct ptx_span name)
{
    struct ptx_binding *taken = ptx_scope_find(parser->taken, name);
    const char *unique = ptx_copy_span(parser, name);
    while (ptx_scope_find(parser->taken, (struct ptx_span){unique, (uint32_t)strlen(unique)})) {
        unique = arena_printf(parser->arena, "%.*s$%u", (int)name.length, name.text, ++taken->count);
        if (!unique) longjmp(parser->memory_is_out, 1);
    }
    ptx_bind(parser, parser->taken,
             (struct ptx_binding){
                 .name = {unique, (uint32_t)strlen(unique)}, .kind = PTX_BINDING_SEEN, .count = 1});
    return unique;
}

/* `%r<12>` declares %r0 to %r11 -- ISA 5.4.4 (Parameterized Variable Names) */
static void declare_range(struct ptx_parser *parser, struct ptx_register template, struct ptx_span prefix)
{
    int64_t count = ptx_parse_term(parser); /* binds tighter than the closing > */
    ptx_expect(parser, '>');
    if (count < 0 || (uint64_t)count > parser->register_budget) ptx_fail(parser, "too many registers");
    if (parser->error) return;
    parser->register_budget -= (uint64_t)count;
    ptx_bind(parser, parser->scope,
             (struct ptx_binding){.name = prefix,
                                  .kind = PTX_BINDING_RANGE,
                                  .index = parser->registers.count,
                                  .count = (uint32_t)count});
    size_t room = prefix.length + 11;
    char *names = count ? ptx_parser_alloc(parser, (size_t)count, room) : NULL;
    for (int64_t i = 0; i < count; i++, names += room) {
        snprintf(names, room, "%.*s%u", (int)prefix.length, prefix.text, (unsigned)i);
        struct ptx_register *reg = ptx_buffer_add(parser, &parser->registers, sizeof *reg);
        *reg = template;
        reg->name = names;
    }
}

static void declare_register(struct ptx_parser *parser, struct ptx_register template, struct ptx_span name)
{
    struct ptx_binding binding = {
        .name = name, .kind = PTX_BINDING_REGISTER, .index = parser->registers.count};
    struct ptx_register *reg = ptx_buffer_add(parser, &parser->registers, sizeof *reg);
    *reg = template;
    reg->name = ptx_copy_span(parser, name);
    ptx_bind(parser, parser->scope, binding);
}

/* .reg .b32 %r<12>, %x; -- ISA 5.1.1 */
static void parse_registers(struct ptx_parser *parser)
{
    struct ptx_register template = {.vector = 1};
    for (ptx_advance(parser); parser->token.kind == PTX_TOKEN_DOTTED; ptx_advance(parser)) {
        const struct ptx_word *word = ptx_find_dotted(parser->words, parser->token.span);
        if (word && word->kinds & PTX_WORD_TYPE)
            template.type = word->type;
        else if (word && word->modifier == PTX_MOD_V2)
            template.vector = 2;
        else if (word && word->modifier == PTX_MOD_V4)
            template.vector = 4;
        else
            ptx_fail(parser, "not part of a register's type");
    }
    if (template.type == PTX_NO_TYPE) ptx_fail(parser, "registers without a type");
    do {
        struct ptx_span name = ptx_expect_word(parser);
        if (ptx_accept(parser, '<'))
            declare_range(parser, template, name);
        else if (!parser->error)
            declare_register(parser, template, name);
    } while (ptx_accept(parser, ','));
    ptx_expect(parser, ';');
}

static void parse_body_variable(struct ptx_parser *parser, enum ptx_space space)
{
    const char *start = parser->token.span.text;
    ptx_advance(parser);
    struct ptx_variable *variable = ptx_parse_variable(parser, space, start);
    ptx_expect(parser, ';');
    if (parser->error) return;
    variable->text = ptx_span_since(parser, start);
    struct ptx_span name = {variable->name, (uint32_t)strlen(variable->name)};
    variable->name = ptx_unique_name(parser, name);
    ptx_bind(parser, parser->scope,
             (struct ptx_binding){.name = name, .kind = PTX_BINDING_VARIABLE, .object = variable});
    *(struct ptx_variable **)ptx_buffer_add(parser, &parser->variables, sizeof variable) = variable;
}

/* Up to the semicolon: the whole table is its text. -- ISA 11.3 */
static void skip_table(struct ptx_parser *parser)
{
    while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ';') && !ptx_at(parser, '}'))
        ptx_advance(parser);
}

static void parse_targets(struct ptx_parser *parser, struct ptx_table *table)
{
    struct ptx_buffer names = {0};
    do {
        struct ptx_pending *pending = ptx_buffer_add(parser, &names, sizeof *pending);
        pending->line = parser->token.line;
        pending->name = ptx_expect_word(parser);
    } while (ptx_accept(parser, ','));
    if (parser->error) return;
    table->label_count = names.count;
    table->labels = ptx_parser_alloc(parser, names.count, sizeof *table->labels);
    for (uint32_t i = 0; i < names.count; i++) {
        struct ptx_pending *pending = ptx_buffer_add(parser, &parser->pending, sizeof *pending);
        *pending = ((struct ptx_pending *)names.items)[i];
        pending->slot = &table->labels[i];
    }
}

/* NAME: .branchtargets A, B; and .calltargets, .callprototype -- ISA 11.3 */
static void parse_table(struct ptx_parser *parser, struct ptx_span name)
{
    struct ptx_table table = {.name = ptx_unique_name(parser, name)};
    const char *start = parser->token.span.text;
    bool has_labels = ptx_at_dotted(parser, ".branchtargets");
    if (!has_labels && !ptx_at_dotted(parser, ".calltargets") && !ptx_at_dotted(parser, ".callprototype")) {
        ptx_fail(parser, "directive cannot follow a label");
        return;
    }
    ptx_advance(parser);
    if (has_labels)
        parse_targets(parser, &table);
    else
        skip_table(parser);
    ptx_expect(parser, ';');
    table.text = ptx_span_since(parser, start);
    ptx_bind(
        parser, parser->scope,
        (struct ptx_binding){
            .name = name, .kind = PTX_BINDING_TABLE, .index = parser->tables.count, .object = table.name});
    *(struct ptx_table *)ptx_buffer_add(parser, &parser->tables, sizeof table) = table;
}

static void declare_label(struct ptx_parser *parser, struct ptx_span name)
{
    const struct ptx_binding *before = ptx_scope_find(parser->scope, name);
    if (before && before->kind == PTX_BINDING_LABEL && before->depth == ptx_scope_depth(parser->scope)) {
        ptx_fail(parser, "label %.*s stands twice", (int)name.length, name.text);
        return;
    }
    uint32_t index = parser->labels.count;
    struct ptx_label *label = ptx_buffer_add(parser, &parser->labels, sizeof *label);
    label->instruction = parser->instructions.count;
    const char *unique = ptx_unique_name(parser, name);
    ((struct ptx_label *)parser->labels.items)[index].name = unique;
    ptx_bind(parser, parser->scope,
             (struct ptx_binding){.name = name, .kind = PTX_BINDING_LABEL, .index = index});
}

/* `name:`? A dot right after a word says that it is an opcode. */
static bool at_label(const struct ptx_parser *parser)
{
    if (parser->token.kind != PTX_TOKEN_WORD) return false;
    if (parser->lexer.at < parser->lexer.end && *parser->lexer.at == '.') return false;
    struct ptx_lexer ahead = parser->lexer;
    struct ptx_token next = ptx_lex(&ahead);
    return next.kind == PTX_TOKEN_PUNCTUATION && *next.span.text == ':';
}

static void parse_label(struct ptx_parser *parser)
{
    struct ptx_span name = ptx_expect_word(parser);
    ptx_expect(parser, ':');
    if (parser->token.kind == PTX_TOKEN_DOTTED &&
        (ptx_at_dotted(parser, ".branchtargets") || ptx_at_dotted(parser, ".calltargets") ||
         ptx_at_dotted(parser, ".callprototype")))
        parse_table(parser, name);
    else
        declare_label(parser, name);
}

/* .pragma "nounroll"; -- ISA 11.4: keeps its place */
static void parse_pragma(struct ptx_parser *parser)
{
    struct ptx_instruction pragma = {.opcode = PTX_OP_PRAGMA,
                                     .guard = -1,
                                     .vector = 1,
                                     .line = parser->token.line,
                                     .source_file = parser->source_file,
                                     .source_line = parser->source_line,
                                     .mnemonic = parser->token.span};
    const char *start = parser->token.span.text;
    do ptx_advance(parser);
    while (parser->token.kind == PTX_TOKEN_STRING || ptx_at(parser, ','));
    ptx_expect(parser, ';');
    pragma.text = ptx_span_since(parser, start);
    *(struct ptx_instruction *)ptx_buffer_add(parser, &parser->instructions, sizeof pragma) = pragma;
}

static void parse_directive(struct ptx_parser *parser)
{
    const struct ptx_word *word = ptx_find_dotted(parser->words, parser->token.span);
    if (ptx_at_dotted(parser, ".reg"))
        parse_registers(parser);
    else if (word && word->kinds & PTX_WORD_SPACE)
        parse_body_variable(parser, word->space);
    else if (ptx_at_dotted(parser, ".pragma"))
        parse_pragma(parser);
    else if (!ptx_skip_debug_directive(parser))
        ptx_fail(parser, "unknown directive");
}

static void open_scope(struct ptx_parser *parser)
{
    ptx_expect(parser, '{');
    if (ptx_scope_depth(parser->scope) >= DEEPEST_SCOPE) ptx_fail(parser, "scopes are nested too deeply");
    ptx_scope_open(parser->scope);
    *(uint32_t *)ptx_buffer_add(parser, &parser->pending_marks, sizeof(uint32_t)) = parser->pending.count;
}

/* Gives this scope's labels to the branches that named them; the others wait for the scope around it. */
static void resolve_labels(struct ptx_parser *parser, uint32_t first)
{
    struct ptx_pending *pending = parser->pending.items;
    uint32_t kept = first;
    for (uint32_t i = first; i < parser->pending.count; i++) {
        const struct ptx_binding *label = ptx_scope_find(parser->scope, pending[i].name);
        if (label && label->kind == PTX_BINDING_LABEL && label->depth == ptx_scope_depth(parser->scope))
            *pending[i].slot = (int32_t)label->index;
        else
            pending[kept++] = pending[i];
    }
    parser->pending.count = kept;
}

/* The closing brace is read by the caller: after the last one another text begins. */
static void close_scope(struct ptx_parser *parser)
{
    resolve_labels(parser, ((uint32_t *)parser->pending_marks.items)[--parser->pending_marks.count]);
    ptx_scope_close(parser->scope);
}

static void parse_statement(struct ptx_parser *parser)
{
    if (ptx_at(parser, '{')) {
        open_scope(parser);
    } else if (ptx_at(parser, '}')) {
        close_scope(parser);
        ptx_advance(parser);
    } else if (parser->token.kind == PTX_TOKEN_DOTTED) {
        parse_directive(parser);
    } else if (at_label(parser)) {
        parse_label(parser);
    } else if (!ptx_accept(parser, ';')) {
        ptx_parse_instruction(parser);
    }
}

void ptx_parse_body(struct ptx_parser *parser)
{
    parser->pending.count = parser->pending_marks.count = 0;
    open_scope(parser);
    while (parser->pending_marks.count && parser->token.kind != PTX_TOKEN_END) parse_statement(parser);
    if (parser->pending_marks.count) ptx_fail(parser, "missing `}`");
    if (parser->error || !parser->pending.count) return;
    const struct ptx_pending *missing = parser->pending.items;
    parser->token.line = missing->line;
    ptx_fail(parser, "there is no label %.*s", (int)missing->name.length, missing->name.text);
}
