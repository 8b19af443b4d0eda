/* SPDX-License-Identifier: Apache-2.0
 * Initial values -- ISA 5.4.4: numbers, nested braces, addresses with generic(), addends and byte masks. */
#include "ptx/parser.h"

#include <string.h>

struct initial {
    struct ptx_parser *parser;
    struct ptx_variable *variable;
    const struct ptx_shape *shape;
    unsigned char *bytes;
    uint64_t capacity, cursor, used; /* used: one past the last byte that was reached */
    bool is_open;                    /* the first dimension is not given: grows */
    struct ptx_buffer relocations;
};

/* Zeroed, or NULL after an error: what a few characters may claim has a limit. */
static unsigned char *take_bytes(struct ptx_parser *parser, uint64_t size)
{
    if (size > parser->initial_budget) {
        ptx_fail(parser, "the module's initial values are too large");
        return NULL;
    }
    parser->initial_budget -= size;
    return ptx_parser_alloc(parser, size, 1);
}

/* Makes room for size bytes at the cursor. */
static bool reserve(struct initial *initial, uint64_t size)
{
    uint64_t end = initial->cursor + size;
    if (end > initial->used) initial->used = end;
    if (end <= initial->capacity) return true;
    if (!initial->is_open) {
        ptx_fail(initial->parser, "more initial values than %s has room for", initial->variable->name);
        return false;
    }
    uint64_t capacity = initial->capacity * 2 > end ? initial->capacity * 2 : end + 64;
    unsigned char *bytes = take_bytes(initial->parser, capacity);
    if (!bytes) return false;
    if (initial->capacity) memcpy(bytes, initial->bytes, initial->capacity);
    initial->bytes = bytes;
    initial->capacity = capacity;
    return true;
}

/* The low bytes of value, as many as an element has; a wider one is filled with zeros. */
static void put(struct initial *initial, uint64_t value)
{
    if (!reserve(initial, initial->shape->unit)) return;
    size_t size = initial->shape->unit < sizeof value ? initial->shape->unit : sizeof value;
    memcpy(initial->bytes + initial->cursor, &value, size);
    initial->cursor += initial->shape->unit;
}

static void put_double(struct initial *initial, double number)
{
    float narrow = (float)number;
    uint64_t bits = 0;
    if (initial->variable->type == PTX_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &number, sizeof number);
    put(initial, bits);
}

/* 0f.., 0d.. and decimal, converted to the variable's type */
static void parse_float(struct initial *initial, bool is_negative)
{
    struct ptx_parser *parser = initial->parser;
    uint64_t bits = parser->token.value;
    if (parser->token.kind == PTX_TOKEN_FLOAT32) {
        uint32_t single_bits = (uint32_t)bits ^ (is_negative ? UINT32_C(1) << 31 : 0);
        float single;
        memcpy(&single, &single_bits, sizeof single);
        if (initial->variable->type == PTX_F64)
            put_double(initial, single);
        else
            put(initial, single_bits); /* not through double: it would quieten a NaN */
    } else {
        double number;
        memcpy(&number, &bits, sizeof number);
        put_double(initial, is_negative ? -number : number);
    }
    ptx_advance(parser);
}

/* NAME or generic(NAME), with an addend. The mask tells which of the address's bytes the element takes. */
static void parse_address(struct initial *initial, uint64_t mask)
{
    struct ptx_parser *parser = initial->parser;
    struct ptx_span name = ptx_expect_word(parser);
    bool is_generic = ptx_span_is(name, "generic") && ptx_accept(parser, '(');
    if (is_generic) {
        name = ptx_expect_word(parser);
        ptx_expect(parser, ')');
    }
    uint64_t addend = 0;
    while (ptx_at(parser, '+') || ptx_at(parser, '-')) {
        bool is_negative = ptx_at(parser, '-');
        ptx_advance(parser);
        uint64_t term = (uint64_t)ptx_parse_term(parser);
        addend += is_negative ? 0 - term : term;
    }
    if (parser->error) return;
    uint64_t offset = initial->cursor;
    put(initial, 0);
    if (!(mask & 1) || parser->error) return; /* the other bytes of an address that has been noted */
    struct ptx_relocation *relocation = ptx_buffer_add(parser, &initial->relocations, sizeof *relocation);
    relocation->offset = offset;
    relocation->symbol = ptx_copy_span(parser, name);
    relocation->addend = (int64_t)addend;
    relocation->is_generic = is_generic;
}

static void parse_integer(struct initial *initial)
{
    struct ptx_parser *parser = initial->parser;
    bool is_literal = parser->token.kind == PTX_TOKEN_INTEGER;
    int64_t value = ptx_parse_expression(parser);
    if (is_literal && ptx_accept(parser, '(')) { /* 0xFF00(NAME) */
        parse_address(initial, (uint64_t)value);
        ptx_expect(parser, ')');
    } else if (ptx_type_is_float(initial->variable->type)) {
        put_double(initial, (double)value);
    } else {
        put(initial, (uint64_t)value);
    }
}

static void parse_scalar(struct initial *initial)
{
    struct ptx_parser *parser = initial->parser;
    bool is_negative = false;
    if (ptx_at(parser, '-')) {
        struct ptx_lexer ahead = parser->lexer;
        struct ptx_token next = ptx_lex(&ahead);
        is_negative = next.kind == PTX_TOKEN_FLOAT32 || next.kind == PTX_TOKEN_FLOAT64;
        if (is_negative) ptx_advance(parser);
    }
    if (parser->token.kind == PTX_TOKEN_FLOAT32 || parser->token.kind == PTX_TOKEN_FLOAT64)
        parse_float(initial, is_negative);
    else if (parser->token.kind == PTX_TOKEN_WORD && !ptx_span_is(parser->token.span, "WARP_SZ"))
        parse_address(initial, 1);
    else
        parse_integer(initial);
}

/* Bytes of what a brace of this depth encloses; 0: open. */
static uint64_t level_size(const struct ptx_shape *shape, uint32_t depth)
{
    uint64_t size = (uint64_t)shape->unit * shape->vector;
    for (uint32_t i = depth; i < shape->count; i++) size *= shape->dimensions[i];
    return size;
}

static void parse_braces(struct initial *initial)
{
    struct ptx_parser *parser = initial->parser;
    uint64_t starts[16];
    uint32_t depth = 0, deepest = initial->shape->count + (initial->shape->vector > 1);
    do {
        if (ptx_accept(parser, '{')) {
            if (depth >= deepest) {
                ptx_fail(parser, "too many braces");
                return;
            }
            starts[depth++] = initial->cursor;
        } else if (ptx_accept(parser, '}')) {
            uint64_t size = level_size(initial->shape, --depth);
            if (size) {
                initial->cursor = starts[depth];
                if (!reserve(initial, size)) return;
                initial->cursor += size;
            }
            ptx_accept(parser, ',');
        } else {
            parse_scalar(initial);
            if (!ptx_at(parser, '}')) ptx_expect(parser, ',');
        }
        if (parser->token.kind == PTX_TOKEN_END) ptx_fail(parser, "missing `}`");
    } while (depth && !parser->error);
}

/* Samplers and the like: { addr_mode_0 = wrap, ... }. The text alone is kept. */
static bool skip_opaque(struct ptx_parser *parser, struct ptx_variable *variable)
{
    if (variable->type != PTX_NO_TYPE) return false;
    if (ptx_at(parser, '{'))
        ptx_skip_balanced(parser, '{', '}');
    else
        ptx_advance(parser);
    return true;
}

void ptx_parse_initial(struct ptx_parser *parser, struct ptx_variable *variable,
                       const struct ptx_shape *shape)
{
    struct initial initial = {.parser = parser, .variable = variable, .shape = shape};
    if (parser->error || skip_opaque(parser, variable)) return;
    initial.is_open = shape->count && !shape->dimensions[0];
    initial.capacity = variable->size;
    if (initial.capacity) initial.bytes = take_bytes(parser, initial.capacity);
    if (parser->error) return;
    if (ptx_at(parser, '{'))
        parse_braces(&initial);
    else
        parse_scalar(&initial);
    if (initial.is_open) variable->size = initial.used;
    variable->initial = initial.bytes;
    variable->relocation_count = initial.relocations.count;
    variable->relocations = initial.relocations.items;
}
