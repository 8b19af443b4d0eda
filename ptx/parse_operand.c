/* SPDX-License-Identifier: Apache-2.0
 * Operands -- ISA 6: registers, numbers, special registers, names, addresses, vectors, lists, pairs. */
#include "ptx/parser.h"

#include <string.h>

enum { DEEPEST_OPERAND = 4 };

/* `.x` after a register: its component plus one. Others (`.b0`, `.h1`) are kept as text. */
static uint8_t component_of(struct ptx_span dotted)
{
    static const char *const names[] = {".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a"};
    for (uint8_t i = 0; i < 8; i++)
        if (ptx_span_is(dotted, names[i])) return (uint8_t)(i % 4 + 1);
    return PTX_COMPONENT_OTHER;
}

static bool at_adjacent_dotted(const struct ptx_parser *parser)
{
    return parser->token.kind == PTX_TOKEN_DOTTED && parser->token.is_adjacent;
}

/* ISA 10; the component belongs to the name: `%tid.x` */
static void parse_special(struct ptx_parser *parser, struct ptx_operand *operand, struct ptx_span word)
{
    operand->kind = PTX_OPERAND_SPECIAL;
    operand->reg = -1;
    operand->special = ptx_find_special(word);
    if (at_adjacent_dotted(parser)) {
        ptx_advance(parser);
        struct ptx_span whole = ptx_span_since(parser, word.text);
        enum ptx_special special = ptx_find_special(whole);
        operand->special = special == PTX_SPECIAL_COUNT && operand->special == PTX_SPECIAL_OTHER
                               ? PTX_SPECIAL_OTHER
                               : special;
    }
    if (operand->special == PTX_SPECIAL_COUNT) {
        ptx_fail(parser, "%.*s is not declared", (int)word.length, word.text);
        operand->special = PTX_SPECIAL_OTHER;
    }
}

/* A variable, a function, a table or something of another module. */
static void resolve_symbol(struct ptx_parser *parser, struct ptx_operand *operand, struct ptx_span word)
{
    const struct ptx_binding *binding = ptx_scope_find(parser->scope, word);
    if (!binding) binding = ptx_scope_find(parser->module->names, word);
    operand->kind = PTX_OPERAND_SYMBOL;
    operand->reg = -1;
    if (binding && binding->kind == PTX_BINDING_VARIABLE) {
        operand->variable = binding->object;
        operand->symbol = operand->variable->name;
    } else if (binding && binding->kind == PTX_BINDING_FUNCTION) {
        operand->symbol = ((const struct ptx_function *)binding->object)->name;
    } else if (binding && binding->kind == PTX_BINDING_TABLE) {
        operand->symbol = binding->object;
        operand->label = (int32_t)binding->index;
    } else {
        operand->symbol = ptx_copy_span(parser, word);
    }
}

/* A word that is a register, a special register, `_` or a symbol. */
static void parse_name(struct ptx_parser *parser, struct ptx_operand *operand)
{
    struct ptx_span word = ptx_expect_word(parser);
    uint32_t depth = 0;
    operand->reg = ptx_scope_find_register(parser->scope, word, &depth);
    if (operand->reg >= 0) {
        const struct ptx_binding *other = ptx_scope_find(parser->scope, word);
        if (other && other->kind != PTX_BINDING_REGISTER && other->depth > depth) {
            resolve_symbol(parser, operand, word);
            return;
        }
        operand->kind = PTX_OPERAND_REGISTER;
        if (at_adjacent_dotted(parser)) {
            operand->component = component_of(parser->token.span);
            ptx_advance(parser);
        }
    } else if (word.length == 1 && *word.text == '_') {
        operand->kind = PTX_OPERAND_NONE;
    } else if (*word.text == '%') {
        parse_special(parser, operand, word);
    } else {
        resolve_symbol(parser, operand, word);
    }
}

/* `+ 8`, `- 4`, `+ -4`, any number of them */
static int64_t parse_offset(struct ptx_parser *parser)
{
    uint64_t offset = 0;
    while (ptx_at(parser, '+') || ptx_at(parser, '-')) {
        bool is_negative = ptx_at(parser, '-');
        ptx_advance(parser);
        uint64_t term = (uint64_t)ptx_parse_term(parser);
        offset += is_negative ? 0 - term : term;
    }
    return (int64_t)offset;
}

static void parse_number(struct ptx_parser *parser, struct ptx_operand *operand, bool is_negative)
{
    operand->kind = PTX_OPERAND_FLOAT;
    operand->is_float64 = parser->token.kind == PTX_TOKEN_FLOAT64;
    uint64_t sign = operand->is_float64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    operand->value = (int64_t)(parser->token.value ^ (is_negative ? sign : 0));
    ptx_advance(parser);
}

/* Elements up to the closing character, separated by commas. */
static void parse_elements(struct ptx_parser *parser, struct ptx_operand *operand, char close, unsigned depth)
{
    uint32_t first = parser->operands.count;
    while (!ptx_at(parser, close)) {
        struct ptx_operand element = {.reg = -1, .label = -1};
        ptx_parse_operand(parser, PTX_OP_UNKNOWN, &element, depth + 1);
        *(struct ptx_operand *)ptx_buffer_add(parser, &parser->operands, sizeof element) = element;
        if (!ptx_accept(parser, ',')) break;
    }
    operand->element_count = parser->operands.count - first;
    operand->elements = ptx_buffer_take(parser, &parser->operands, first, sizeof *operand->elements);
    ptx_expect(parser, close);
}

/* [a], [a + 4], [4], and textures' [a, {x, y}] -- ISA 6.4.1 */
static void parse_address(struct ptx_parser *parser, struct ptx_operand *operand, unsigned depth)
{
    ptx_advance(parser);
    if (parser->token.kind == PTX_TOKEN_WORD && !ptx_span_is(parser->token.span, "WARP_SZ")) {
        parse_name(parser, operand);
        if (operand->kind == PTX_OPERAND_SPECIAL || operand->kind == PTX_OPERAND_NONE)
            ptx_fail(parser, "no address");
        operand->value = parse_offset(parser);
    } else {
        operand->value = ptx_parse_expression(parser);
    }
    operand->kind = PTX_OPERAND_ADDRESS;
    if (ptx_accept(parser, ','))
        parse_elements(parser, operand, ']', depth);
    else
        ptx_expect(parser, ']');
}

static void parse_label(struct ptx_parser *parser, struct ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_LABEL;
    operand->text = ptx_expect_word(parser); /* resolved when its scope closes: parse_body.c */
}

/* d|p -- ISA 9.7.6, 9.7.9.6 */
static void parse_second_half(struct ptx_parser *parser, struct ptx_operand *operand, unsigned depth)
{
    struct ptx_operand *halves = ptx_parser_alloc(parser, 2, sizeof *halves);
    halves[0] = *operand;
    halves[0].text = ptx_span_since(parser, operand->text.text);
    ptx_advance(parser);
    halves[1].reg = halves[1].label = -1;
    ptx_parse_operand(parser, PTX_OP_UNKNOWN, &halves[1], depth + 1);
    *operand = (struct ptx_operand){.kind = PTX_OPERAND_PAIR,
                                    .reg = -1,
                                    .label = -1,
                                    .elements = halves,
                                    .element_count = 2,
                                    .text = operand->text};
}

static void parse_word_operand(struct ptx_parser *parser, struct ptx_operand *operand, unsigned depth)
{
    parse_name(parser, operand);
    if (operand->kind == PTX_OPERAND_SYMBOL) operand->value = parse_offset(parser);
    if (ptx_at(parser, '|') && depth < DEEPEST_OPERAND) parse_second_half(parser, operand, depth);
}

/* !p, -r, and numbers with a sign */
static void parse_signed(struct ptx_parser *parser, struct ptx_operand *operand)
{
    struct ptx_lexer ahead = parser->lexer;
    struct ptx_token next = ptx_lex(&ahead);
    bool is_name = next.kind == PTX_TOKEN_WORD && !ptx_span_is(next.span, "WARP_SZ");
    bool is_float = next.kind == PTX_TOKEN_FLOAT32 || next.kind == PTX_TOKEN_FLOAT64;
    if (is_name && !ptx_at(parser, '~')) {
        operand->is_negated = !ptx_at(parser, '+');
        ptx_advance(parser);
        parse_name(parser, operand);
    } else if (is_float) {
        bool is_negative = ptx_at(parser, '-');
        ptx_advance(parser);
        parse_number(parser, operand, is_negative);
    } else {
        operand->kind = PTX_OPERAND_INTEGER;
        operand->value = ptx_parse_expression(parser);
    }
}

void ptx_parse_operand(struct ptx_parser *parser, enum ptx_opcode opcode, struct ptx_operand *operand,
                       unsigned depth)
{
    const char *start = parser->token.span.text;
    operand->text.text = start;
    operand->reg = operand->label = -1;
    if (depth > DEEPEST_OPERAND) ptx_fail(parser, "operand is nested too deeply");
    switch (parser->token.kind) {
    case PTX_TOKEN_WORD:
        if (opcode == PTX_OP_BRA) {
            parse_label(parser, operand);
        } else if (ptx_span_is(parser->token.span, "WARP_SZ")) {
            operand->kind = PTX_OPERAND_INTEGER;
            operand->value = ptx_parse_expression(parser);
        } else {
            parse_word_operand(parser, operand, depth);
        }
        break;
    case PTX_TOKEN_INTEGER:
        operand->kind = PTX_OPERAND_INTEGER;
        operand->value = ptx_parse_expression(parser);
        break;
    case PTX_TOKEN_FLOAT32:
    case PTX_TOKEN_FLOAT64:
        parse_number(parser, operand, false);
        break;
    case PTX_TOKEN_PUNCTUATION:
        if (ptx_at(parser, '[')) {
            parse_address(parser, operand, depth);
        } else if (ptx_accept(parser, '{')) {
            operand->kind = PTX_OPERAND_VECTOR;
            parse_elements(parser, operand, '}', depth);
        } else if (opcode == PTX_OP_CALL && ptx_accept(parser, '(')) {
            operand->kind = PTX_OPERAND_LIST;
            parse_elements(parser, operand, ')', depth);
        } else {
            parse_signed(parser, operand);
        }
        break;
    case PTX_TOKEN_DOTTED:
    case PTX_TOKEN_STRING:
    case PTX_TOKEN_BAD:
    case PTX_TOKEN_END:
        ptx_fail(parser, "expected an operand");
        break;
    }
    if (operand->kind != PTX_OPERAND_LABEL) operand->text = ptx_span_since(parser, start);
}
