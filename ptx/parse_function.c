/* SPDX-License-Identifier: Apache-2.0
 * .entry and .func -- ISA 11.1: header, parameters, performance directives, body. A body that cannot be read
 * costs this function only. */
#include "ptx/parser.h"

#include <string.h>

/* ISA 7.1: natural or given alignment, in order */
static void lay_out(struct ptx_variable *parameters, uint32_t count, uint32_t *total)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t mask = parameters[i].alignment - 1;
        offset = (offset + mask) & ~mask;
        parameters[i].offset = (uint32_t)offset;
        offset += parameters[i].size;
        if (offset > UINT32_MAX) offset = UINT32_MAX & ~mask;
    }
    *total = (uint32_t)offset;
}

/* ( .param .u64 a, .param .align 8 .b8 b[16] ) -- ISA 5.1.6 */
static struct ptx_variable *parse_parameters(struct ptx_parser *parser, uint32_t *count)
{
    struct ptx_buffer parameters = {0};
    ptx_expect(parser, '(');
    while (parser->token.kind == PTX_TOKEN_DOTTED) {
        const char *start = parser->token.span.text;
        if (ptx_at_dotted(parser, ".reg"))
            parser->has_register_parameters = true;
        else if (!ptx_at_dotted(parser, ".param"))
            ptx_fail(parser, "expected .param");
        ptx_advance(parser);
        struct ptx_variable *parameter = ptx_parse_variable(parser, PTX_PARAM, start);
        *(struct ptx_variable *)ptx_buffer_add(parser, &parameters, sizeof *parameter) = *parameter;
        if (!ptx_accept(parser, ',')) break;
    }
    ptx_expect(parser, ')');
    *count = parameters.count;
    return parameters.items;
}

static void bind_parameters(struct ptx_parser *parser, const struct ptx_variable *parameters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_span name = {parameters[i].name, (uint32_t)strlen(parameters[i].name)};
        ptx_bind(parser, parser->scope,
                 (struct ptx_binding){.name = name, .kind = PTX_BINDING_VARIABLE, .object = &parameters[i]});
        ptx_unique_name(parser, name);
    }
}

static void parse_header(struct ptx_parser *parser, struct ptx_function *function)
{
    ptx_advance(parser);
    if (ptx_at_dotted(parser, ".attribute")) { /* ISA 11.1.2: .attribute(.unified(..)) */
        ptx_advance(parser);
        ptx_skip_balanced(parser, '(', ')');
    }
    if (!function->is_entry && ptx_at(parser, '('))
        function->returns = parse_parameters(parser, &function->return_count);
    struct ptx_span name = ptx_expect_word(parser);
    if (!parser->error) function->name = ptx_copy_span(parser, name);
    if (ptx_at(parser, '(')) function->parameters = parse_parameters(parser, &function->parameter_count);
    uint32_t ignored;
    lay_out(function->parameters, function->parameter_count, &function->parameter_bytes);
    lay_out(function->returns, function->return_count, &ignored);
}

static uint32_t parse_count(struct ptx_parser *parser)
{
    int64_t value = ptx_parse_expression(parser);
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void parse_dimensions(struct ptx_parser *parser, uint32_t *dimensions)
{
    ptx_advance(parser);
    dimensions[0] = dimensions[1] = dimensions[2] = 1;
    for (int i = 0; i < 3; i++) {
        dimensions[i] = parse_count(parser);
        if (!ptx_accept(parser, ',')) break;
    }
}

/* One performance directive -- ISA 11.4, 11.7; those without a field are kept in the text alone. */
static void parse_directive(struct ptx_parser *parser, struct ptx_function *function)
{
    if (ptx_at_dotted(parser, ".maxntid")) {
        parse_dimensions(parser, function->maxntid);
    } else if (ptx_at_dotted(parser, ".reqntid")) {
        parse_dimensions(parser, function->reqntid);
    } else if (ptx_at_dotted(parser, ".minnctapersm")) {
        ptx_advance(parser);
        function->minnctapersm = parse_count(parser);
    } else if (ptx_at_dotted(parser, ".maxnreg")) {
        ptx_advance(parser);
        function->maxnreg = parse_count(parser);
    } else if (ptx_at_dotted(parser, ".pragma")) {
        while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ';')) ptx_advance(parser);
        ptx_expect(parser, ';');
    } else {
        ptx_advance(parser);
        while (parser->token.kind == PTX_TOKEN_INTEGER || ptx_at(parser, ',')) ptx_advance(parser);
        if (ptx_at(parser, '(')) ptx_skip_balanced(parser, '(', ')');
    }
}

static void parse_directives(struct ptx_parser *parser, struct ptx_function *function)
{
    const char *start = parser->token.span.text;
    function->directives.text = parser->last_end;
    if (parser->token.kind != PTX_TOKEN_DOTTED) return;
    while (parser->token.kind == PTX_TOKEN_DOTTED) parse_directive(parser, function);
    function->directives = ptx_span_since(parser, start);
}

static void forget_body(struct ptx_parser *parser)
{
    struct ptx_buffer *buffers[] = {&parser->registers, &parser->variables, &parser->instructions,
                                    &parser->labels,    &parser->tables,    &parser->operands};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) buffers[i]->count = 0;
    ptx_scope_clear(parser->scope);
    ptx_scope_clear(parser->taken);
    parser->source_file = parser->source_line = 0;
    parser->has_register_parameters = false;
}

static void take_body(struct ptx_parser *parser, struct ptx_function *function)
{
    function->register_count = parser->registers.count;
    function->variable_count = parser->variables.count;
    function->instruction_count = parser->instructions.count;
    function->label_count = parser->labels.count;
    function->table_count = parser->tables.count;
    function->registers = ptx_buffer_take(parser, &parser->registers, 0, sizeof *function->registers);
    function->variables = ptx_buffer_take(parser, &parser->variables, 0, sizeof *function->variables);
    function->instructions =
        ptx_buffer_take(parser, &parser->instructions, 0, sizeof *function->instructions);
    function->labels = ptx_buffer_take(parser, &parser->labels, 0, sizeof *function->labels);
    function->tables = ptx_buffer_take(parser, &parser->tables, 0, sizeof *function->tables);
}

static uint32_t count_lines(const char *from, const char *to)
{
    uint32_t lines = 0;
    while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
        lines++;
        from++;
    }
    return lines;
}

/* Continues behind the function whatever became of it: at is where, end the limit of the text. */
static void leave_function(struct ptx_parser *parser, struct ptx_function *function, const char *at,
                           const char *end, uint32_t line)
{
    if (parser->error) function->unreadable = parser->error;
    parser->error = NULL;
    parser->lexer = (struct ptx_lexer){at, end, line};
    parser->token = (struct ptx_token){.span = {at, 0}};
    ptx_advance(parser);
}

/* The current token is the opening brace, or an error has been met before it. */
static void parse_definition(struct ptx_parser *parser, struct ptx_function *function, const char *open,
                             uint32_t line)
{
    const char *end = parser->lexer.end, *stop = NULL, *close = ptx_closing_brace(open, end, &stop);
    if (!close) ptx_fail(parser, "the body has no closing brace");
    const char *after = close ? close + 1 : stop;
    uint32_t line_after = line + count_lines(open, after);
    parser->lexer.end = after;
    function->text.length = (uint32_t)(after - function->text.text);
    if (!parser->error) {
        bind_parameters(parser, function->returns, function->return_count);
        bind_parameters(parser, function->parameters, function->parameter_count);
        ptx_parse_body(parser);
        if (!parser->error) take_body(parser, function);
    }
    leave_function(parser, function, after, end, line_after);
}

/* After an error in a header: its body's brace, or the semicolon that ends a declaration. */
static const char *find_body(const char *at, const char *end)
{
    while (at < end && *at != '{' && *at != ';') at++;
    return at;
}

static void add_function(struct ptx_parser *parser, struct ptx_function *function)
{
    *(struct ptx_function **)ptx_buffer_add(parser, &parser->functions, sizeof function) = function;
    struct ptx_span name = {function->name, (uint32_t)strlen(function->name)};
    const struct ptx_binding *before = ptx_scope_find(parser->module->names, name);
    bool is_defined = before && before->kind == PTX_BINDING_FUNCTION &&
                      !((const struct ptx_function *)before->object)->is_declaration;
    if (is_defined && function->is_declaration) return;
    ptx_bind(parser, parser->module->names,
             (struct ptx_binding){.name = name, .kind = PTX_BINDING_FUNCTION, .object = function});
}

void ptx_parse_function(struct ptx_parser *parser, const char *start, bool is_visible, bool is_extern,
                        bool is_weak)
{
    struct ptx_function *function = ptx_parser_alloc(parser, 1, sizeof *function);
    const char *end = parser->lexer.end, *at = parser->token.span.text;
    uint32_t line = parser->token.line;
    *function = (struct ptx_function){.name = "",
                                      .module = parser->module,
                                      .is_entry = ptx_at_dotted(parser, ".entry"),
                                      .is_visible = is_visible,
                                      .is_extern = is_extern,
                                      .is_weak = is_weak,
                                      .text = {.text = start},
                                      .line = line};
    forget_body(parser);
    parse_header(parser, function);
    parse_directives(parser, function);
    if (parser->has_register_parameters) ptx_fail(parser, "parameters in registers are not read");
    const char *body = parser->error ? find_body(at, end) : parser->token.span.text;
    uint32_t body_line = line + count_lines(at, body);
    if (body < end && *body == '{') {
        add_function(parser, function);
        parse_definition(parser, function, body, body_line);
        return;
    }
    function->is_declaration = true;
    if (!parser->error && !ptx_at(parser, ';')) ptx_fail(parser, "expected `;` or a body");
    const char *after = body < end ? body + 1 : end;
    function->text.length = (uint32_t)(after - start);
    add_function(parser, function);
    leave_function(parser, function, after, end, body_line);
}
