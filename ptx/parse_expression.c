/* SPDX-License-Identifier: Apache-2.0
 * Constant integer expressions -- ISA 4.5.4 to 4.5.6: 64 bits, C's operators and precedence, WARP_SZ. */
#include "ptx/parser.h"

enum { DEEPEST_EXPRESSION = 64, UNARY = 11 };

struct expression_value {
    uint64_t bits;
    bool is_unsigned;
};

struct binary_operator {
    char text[3];
    int precedence; /* higher binds tighter; 0: none */
};

static const struct binary_operator operators[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"|", 3},
    {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

static struct expression_value parse_binary(struct ptx_parser *parser, int precedence, unsigned depth);

/* The lexer gives single characters: an operator of two is two tokens without a gap. */
static const struct binary_operator *operator_at(const struct ptx_parser *parser)
{
    if (parser->token.kind != PTX_TOKEN_PUNCTUATION) return NULL;
    const char *at = parser->token.span.text;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const char *text = operators[i].text;
        if (*at == text[0] && (!text[1] || (at + 1 < parser->lexer.end && at[1] == text[1])))
            return &operators[i];
    }
    return NULL;
}

static struct expression_value cast_or_group(struct ptx_parser *parser, unsigned depth)
{
    struct expression_value value;
    ptx_expect(parser, '(');
    bool is_s64 = ptx_at_dotted(parser, ".s64"), is_u64 = ptx_at_dotted(parser, ".u64");
    if (is_s64 || is_u64) {
        ptx_advance(parser);
        ptx_expect(parser, ')');
        value = parse_binary(parser, UNARY, depth + 1);
        value.is_unsigned = is_u64;
        return value;
    }
    value = parse_binary(parser, 0, depth + 1);
    ptx_expect(parser, ')');
    return value;
}

static struct expression_value parse_unary(struct ptx_parser *parser, unsigned depth)
{
    struct expression_value value = {0, false};
    if (depth > DEEPEST_EXPRESSION) {
        ptx_fail(parser, "expression is nested too deeply");
    } else if (parser->token.kind == PTX_TOKEN_INTEGER) {
        value.bits = parser->token.value;
        value.is_unsigned = parser->token.is_unsigned || value.bits > INT64_MAX;
        ptx_advance(parser);
    } else if (parser->token.kind == PTX_TOKEN_WORD && ptx_span_is(parser->token.span, "WARP_SZ")) {
        value.bits = 32;
        ptx_advance(parser);
    } else if (ptx_at(parser, '(')) {
        value = cast_or_group(parser, depth);
    } else if (ptx_accept(parser, '-')) {
        value = parse_unary(parser, depth + 1);
        value.bits = 0 - value.bits;
    } else if (ptx_accept(parser, '+')) {
        value = parse_unary(parser, depth + 1);
    } else if (ptx_accept(parser, '~')) {
        value = parse_unary(parser, depth + 1);
        value.bits = ~value.bits;
    } else if (ptx_accept(parser, '!')) {
        value.bits = !parse_unary(parser, depth + 1).bits;
    } else {
        ptx_fail(parser, "expected a number");
    }
    return value;
}

static uint64_t divide(struct ptx_parser *parser, struct expression_value left, struct expression_value right,
                       bool is_unsigned, bool wants_remainder)
{
    if (!right.bits) {
        ptx_fail(parser, "division by zero");
        return 0;
    }
    if (is_unsigned) return wants_remainder ? left.bits % right.bits : left.bits / right.bits;
    if (right.bits == UINT64_MAX) return wants_remainder ? 0 : 0 - left.bits; /* INT64_MIN / -1 would trap */
    int64_t a = (int64_t)left.bits, b = (int64_t)right.bits;
    return (uint64_t)(wants_remainder ? a % b : a / b);
}

static uint64_t shift_right(struct expression_value left, uint64_t count)
{
    bool is_negative = !left.is_unsigned && (int64_t)left.bits < 0;
    if (count > 63) return is_negative ? UINT64_MAX : 0;
    uint64_t shifted = left.bits >> count;
    return is_negative && count ? shifted | UINT64_MAX << (64 - count) : shifted;
}

static bool is_less(struct expression_value left, struct expression_value right, bool is_unsigned)
{
    return is_unsigned ? left.bits < right.bits : (int64_t)left.bits < (int64_t)right.bits;
}

static struct expression_value apply(struct ptx_parser *parser, const char *text,
                                     struct expression_value left, struct expression_value right)
{
    bool is_unsigned = left.is_unsigned || right.is_unsigned;
    struct expression_value value = {0, is_unsigned};
    switch (text[0] + (text[1] << 8)) {
    case '+':
        value.bits = left.bits + right.bits;
        break;
    case '-':
        value.bits = left.bits - right.bits;
        break;
    case '*':
        value.bits = left.bits * right.bits;
        break;
    case '/':
        value.bits = divide(parser, left, right, is_unsigned, false);
        break;
    case '%':
        value.bits = divide(parser, left, right, is_unsigned, true);
        break;
    case '&':
        value.bits = left.bits & right.bits;
        break;
    case '|':
        value.bits = left.bits | right.bits;
        break;
    case '^':
        value.bits = left.bits ^ right.bits;
        break;
    case '<' + ('<' << 8):
        value.bits = right.bits > 63 ? 0 : left.bits << right.bits;
        break;
    case '>' + ('>' << 8):
        value.bits = shift_right(left, right.bits);
        value.is_unsigned = left.is_unsigned;
        break;
    case '<':
        value.bits = is_less(left, right, is_unsigned);
        break;
    case '>':
        value.bits = is_less(right, left, is_unsigned);
        break;
    case '<' + ('=' << 8):
        value.bits = !is_less(right, left, is_unsigned);
        break;
    case '>' + ('=' << 8):
        value.bits = !is_less(left, right, is_unsigned);
        break;
    case '=' + ('=' << 8):
        value.bits = left.bits == right.bits;
        break;
    case '!' + ('=' << 8):
        value.bits = left.bits != right.bits;
        break;
    case '&' + ('&' << 8):
        value.bits = left.bits && right.bits;
        break;
    case '|' + ('|' << 8):
        value.bits = left.bits || right.bits;
        break;
    }
    return value;
}

static struct expression_value parse_conditional(struct ptx_parser *parser, struct expression_value condition,
                                                 unsigned depth)
{
    struct expression_value yes = parse_binary(parser, 0, depth + 1);
    ptx_expect(parser, ':');
    struct expression_value no = parse_binary(parser, 0, depth + 1);
    struct expression_value value = condition.bits ? yes : no;
    value.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return value;
}

/* Operators that bind tighter than precedence; 0: all, and ?: */
static struct expression_value parse_binary(struct ptx_parser *parser, int precedence, unsigned depth)
{
    struct expression_value left = parse_unary(parser, depth);
    const struct binary_operator *operator;
    while ((operator= operator_at(parser)) && operator->precedence> precedence) {
        ptx_advance(parser);
        if (operator->text[1]) ptx_advance(parser);
        struct expression_value right = parse_binary(parser, operator->precedence, depth + 1);
        left = apply(parser, operator->text, left, right);
    }
    return !precedence && ptx_accept(parser, '?') ? parse_conditional(parser, left, depth) : left;
}

int64_t ptx_parse_expression(struct ptx_parser *parser)
{
    return (int64_t)parse_binary(parser, 0, 0).bits;
}

int64_t ptx_parse_term(struct ptx_parser *parser)
{
    return (int64_t)parse_binary(parser, 9, 0).bits;
}
