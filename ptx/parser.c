/* SPDX-License-Identifier: Apache-2.0
 * The parser's ground floor: tokens, memory, buffers, errors, expectations. */
#include "ptx/parser.h"

#include <stdarg.h>
#include <string.h>

void ptx_advance(struct ptx_parser *parser)
{
    parser->last_end = parser->token.span.text + parser->token.span.length;
    if (!parser->error) parser->token = ptx_lex(&parser->lexer);
}

void ptx_fail(struct ptx_parser *parser, const char *format, ...)
{
    if (parser->error) return;
    va_list arguments;
    va_start(arguments, format);
    const char *what = arena_vprintf(parser->arena, format, arguments);
    va_end(arguments);
    struct ptx_span near = parser->token.span;
    uint32_t shown = near.length < 40 ? near.length : 40;
    if (what)
        parser->error = arena_printf(parser->arena, "%s:%u: %s near `%.*s`", parser->module->name,
                                     parser->token.line, what, (int)shown, near.text);
    if (!parser->error) longjmp(parser->memory_is_out, 1);
    parser->token.kind = PTX_TOKEN_END;
}

void *ptx_parser_alloc(struct ptx_parser *parser, size_t count, size_t size)
{
    void *memory = arena_calloc(parser->arena, count, size);
    if (!memory) longjmp(parser->memory_is_out, 1);
    return memory;
}

void *ptx_buffer_add(struct ptx_parser *parser, struct ptx_buffer *buffer, size_t size)
{
    if (buffer->count == buffer->capacity) {
        uint32_t capacity = buffer->capacity ? buffer->capacity * 2 : 16;
        void *items = arena_grow(parser->arena, buffer->items, buffer->count, capacity, size);
        if (!items) longjmp(parser->memory_is_out, 1);
        buffer->items = items;
        buffer->capacity = capacity;
    }
    return memset((char *)buffer->items + size * buffer->count++, 0, size);
}

void *ptx_buffer_take(struct ptx_parser *parser, struct ptx_buffer *buffer, uint32_t first, size_t size)
{
    uint32_t count = buffer->count - first;
    buffer->count = first;
    if (!count) return NULL;
    return memcpy(ptx_parser_alloc(parser, count, size), (char *)buffer->items + size * first, size * count);
}

void ptx_bind(struct ptx_parser *parser, struct ptx_scope *scope, struct ptx_binding binding)
{
    if (!ptx_scope_add(scope, binding)) longjmp(parser->memory_is_out, 1);
}

const char *ptx_copy_span(struct ptx_parser *parser, struct ptx_span span)
{
    const char *copy = arena_strndup(parser->arena, span.text, span.length);
    if (!copy) longjmp(parser->memory_is_out, 1);
    return copy;
}

bool ptx_accept(struct ptx_parser *parser, char punctuation)
{
    if (!ptx_at(parser, punctuation)) return false;
    ptx_advance(parser);
    return true;
}

void ptx_expect(struct ptx_parser *parser, char punctuation)
{
    if (!ptx_accept(parser, punctuation)) ptx_fail(parser, "expected `%c`", punctuation);
}

struct ptx_span ptx_expect_word(struct ptx_parser *parser)
{
    struct ptx_span span = parser->token.span;
    if (parser->token.kind == PTX_TOKEN_WORD)
        ptx_advance(parser);
    else
        ptx_fail(parser, "expected a name");
    return span;
}

struct ptx_span ptx_span_since(const struct ptx_parser *parser, const char *start)
{
    const char *end = parser->last_end > start ? parser->last_end : start;
    return (struct ptx_span){start, (uint32_t)(end - start)};
}

void ptx_skip_balanced(struct ptx_parser *parser, char open, char close)
{
    size_t depth = 0;
    while (parser->token.kind != PTX_TOKEN_END) {
        if (ptx_at(parser, open)) depth++;
        if (ptx_at(parser, close) && --depth == 0) {
            ptx_advance(parser);
            return;
        }
        ptx_advance(parser);
    }
    ptx_fail(parser, "missing `%c`", close);
}
