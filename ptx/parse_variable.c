/* SPDX-License-Identifier: Apache-2.0
 * Variable declarations -- ISA 5.4: attributes, type, name, dimensions, initial value. */
#include "ptx/parser.h"

enum { OPAQUE_BYTES = 8 }; /* .texref, .samplerref, .surfref -- ISA 5.3 */
#define LARGEST_VARIABLE (UINT64_C(1) << 48)

/* .attribute(.managed) -- ISA 5.4.8 */
static void parse_attribute(struct ptx_parser *parser, struct ptx_variable *variable)
{
    ptx_advance(parser);
    ptx_expect(parser, '(');
    for (unsigned depth = 1; depth && parser->token.kind != PTX_TOKEN_END;) {
        if (ptx_at(parser, '(')) depth++;
        if (ptx_at(parser, ')')) depth--;
        if (ptx_at_dotted(parser, ".managed")) variable->is_managed = true;
        ptx_advance(parser);
    }
}

/* .ptr .global .align 8: says what a parameter points to -- ISA 4.5.1 (Kernel Parameter Attributes) */
static void skip_pointer_attributes(struct ptx_parser *parser)
{
    ptx_advance(parser);
    while (parser->token.kind == PTX_TOKEN_DOTTED) {
        bool is_alignment = ptx_at_dotted(parser, ".align");
        ptx_advance(parser);
        if (is_alignment) ptx_parse_expression(parser);
    }
}

static void parse_alignment(struct ptx_parser *parser, struct ptx_variable *variable)
{
    ptx_advance(parser);
    int64_t alignment = ptx_parse_expression(parser);
    if (alignment < 1 || alignment > 1 << 20 || alignment & (alignment - 1))
        ptx_fail(parser, "alignment is no power of two");
    else
        variable->alignment = (uint32_t)alignment;
}

static bool is_opaque_type(struct ptx_span word)
{
    return ptx_span_is(word, ".texref") || ptx_span_is(word, ".samplerref") || ptx_span_is(word, ".surfref");
}

/* Everything between the state space and the name. */
static void parse_type(struct ptx_parser *parser, struct ptx_variable *variable, struct ptx_shape *shape)
{
    shape->vector = 1;
    while (parser->token.kind == PTX_TOKEN_DOTTED) {
        const struct ptx_word *word = ptx_find_dotted(parser->words, parser->token.span);
        if (ptx_at_dotted(parser, ".align")) {
            parse_alignment(parser, variable);
            continue;
        }
        if (ptx_at_dotted(parser, ".attribute")) {
            parse_attribute(parser, variable);
            continue;
        }
        if (ptx_at_dotted(parser, ".ptr")) {
            skip_pointer_attributes(parser);
            continue;
        }
        if (word && word->kinds & PTX_WORD_TYPE)
            variable->type = word->type;
        else if (word && word->modifier == PTX_MOD_V2)
            shape->vector = 2;
        else if (word && word->modifier == PTX_MOD_V4)
            shape->vector = 4;
        else if (word && word->modifier == PTX_MOD_V8)
            shape->vector = 8;
        else if (is_opaque_type(parser->token.span))
            shape->unit = OPAQUE_BYTES;
        else
            ptx_fail(parser, "not part of a declaration");
        ptx_advance(parser);
    }
    if (!shape->unit) shape->unit = ptx_type_bytes(variable->type);
    if (!shape->unit) ptx_fail(parser, "declaration without a type");
}

static void parse_dimensions(struct ptx_parser *parser, struct ptx_shape *shape)
{
    while (ptx_accept(parser, '[')) {
        if (shape->count == 8) ptx_fail(parser, "too many dimensions");
        if (parser->error) return;
        uint64_t *dimension = &shape->dimensions[shape->count++];
        if (!ptx_at(parser, ']')) {
            *dimension = (uint64_t)ptx_parse_expression(parser);
            if (*dimension > LARGEST_VARIABLE) ptx_fail(parser, "array is too large");
        } else if (shape->count > 1) {
            ptx_fail(parser, "only the first dimension may be open");
        }
        ptx_expect(parser, ']');
    }
}

static uint64_t size_of(struct ptx_parser *parser, const struct ptx_shape *shape)
{
    uint64_t size = (uint64_t)shape->unit * shape->vector;
    for (uint32_t i = 0; i < shape->count; i++)
        if (__builtin_mul_overflow(size, shape->dimensions[i], &size) || size > LARGEST_VARIABLE) {
            ptx_fail(parser, "array is too large");
            return 0;
        }
    return size;
}

struct ptx_variable *ptx_parse_variable(struct ptx_parser *parser, enum ptx_space space, const char *start)
{
    struct ptx_variable *variable = ptx_parser_alloc(parser, 1, sizeof *variable);
    struct ptx_shape shape = {0};
    variable->space = space;
    variable->line = parser->token.line;
    parse_type(parser, variable, &shape);
    if (!variable->alignment) variable->alignment = shape.unit * shape.vector;
    variable->name = ptx_copy_span(parser, ptx_expect_word(parser));
    parse_dimensions(parser, &shape);
    variable->is_array = shape.count;
    variable->vector = (uint8_t)shape.vector;
    variable->size = size_of(parser, &shape);
    if (ptx_accept(parser, '=')) ptx_parse_initial(parser, variable, &shape);
    variable->text = ptx_span_since(parser, start);
    return variable;
}
