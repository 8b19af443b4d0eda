/* SPDX-License-Identifier: Apache-2.0
 * PTX text to tokens -- ISA 4.2 to 4.5. */
#include "ptx/lexer.h"

#include <stdlib.h>
#include <string.h>

enum { IS_SPACE = 1, IS_WORD = 2, IS_DIGIT = 4, IS_START = 8, IS_HEX = 16 };

static const unsigned char character_class[256] = {
    [' '] = IS_SPACE,
    ['\t'] = IS_SPACE,
    ['\r'] = IS_SPACE,
    ['\n'] = IS_SPACE,
    ['\f'] = IS_SPACE,
    ['\v'] = IS_SPACE,
    ['0' ... '9'] = IS_WORD | IS_DIGIT | IS_HEX,
    ['a' ... 'f'] = IS_WORD | IS_START | IS_HEX,
    ['g' ... 'z'] = IS_WORD | IS_START,
    ['A' ... 'F'] = IS_WORD | IS_START | IS_HEX,
    ['G' ... 'Z'] = IS_WORD | IS_START,
    ['_'] = IS_WORD | IS_START,
    ['$'] = IS_WORD | IS_START,
    ['%'] = IS_START,
};

static bool is(char c, unsigned class)
{
    return character_class[(unsigned char)c] & class;
}

bool ptx_span_is(struct ptx_span span, const char *word)
{
    size_t length = strlen(word);
    return span.length == length && !memcmp(span.text, word, length);
}

/* Past white space and comments -- ISA 4.2. */
static void skip_blanks(struct ptx_lexer *lexer)
{
    const char *at = lexer->at, *end = lexer->end;
    while (at < end) {
        if (is(*at, IS_SPACE)) {
            lexer->line += *at++ == '\n';
        } else if (*at == '/' && at + 1 < end && at[1] == '/') {
            while (at < end && *at != '\n') at++;
        } else if (*at == '/' && at + 1 < end && at[1] == '*') {
            for (at += 2; at < end && !(*at == '*' && at + 1 < end && at[1] == '/'); at++)
                lexer->line += *at == '\n';
            at = at < end ? at + 2 : end;
        } else {
            break;
        }
    }
    lexer->at = at;
}

static const char *skip_class(const char *at, const char *end, unsigned class)
{
    while (at < end && is(*at, class)) at++;
    return at;
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX -- ISA 4.5.2 */
static bool lex_float_bits(struct ptx_token *token, const char *at, const char *end)
{
    size_t digits = (at[1] | 32) == 'f' ? 8 : 16;
    const char *stop = skip_class(at + 2, end, IS_WORD);
    char copy[17] = {0};
    if ((size_t)(stop - at - 2) != digits || skip_class(at + 2, stop, IS_HEX) != stop) return false;
    memcpy(copy, at + 2, digits);
    token->kind = digits == 8 ? PTX_TOKEN_FLOAT32 : PTX_TOKEN_FLOAT64;
    token->value = strtoull(copy, NULL, 16);
    token->span.length = (uint32_t)(stop - at);
    return true;
}

/* Decimal floats, as in C -- ISA 4.5.2 */
static bool lex_decimal_float(struct ptx_token *token, const char *at, const char *end)
{
    const char *stop = skip_class(at, end, IS_DIGIT);
    bool is_float = false;
    char copy[64];
    if (stop < end && *stop == '.') {
        is_float = true;
        stop = skip_class(stop + 1, end, IS_DIGIT);
    }
    if (stop < end && (*stop | 32) == 'e') {
        const char *exponent = stop + 1;
        if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
        if (exponent < end && is(*exponent, IS_DIGIT)) {
            is_float = true;
            stop = skip_class(exponent, end, IS_DIGIT);
        }
    }
    if (!is_float || (size_t)(stop - at) >= sizeof copy) return false;
    memcpy(copy, at, (size_t)(stop - at));
    copy[stop - at] = 0;
    double number = strtod(copy, NULL);
    memcpy(&token->value, &number, sizeof number);
    token->kind = PTX_TOKEN_FLOAT64;
    token->span.length = (uint32_t)(stop - at);
    return true;
}

/* Hexadecimal, octal, binary, decimal, each with U -- ISA 4.5.1 */
static void lex_integer(struct ptx_token *token, const char *at, const char *end)
{
    unsigned base = 10;
    const char *digits = at, *stop = skip_class(at, end, IS_WORD);
    token->span.length = (uint32_t)(stop - at);
    if (stop > digits + 1 && (stop[-1] | 32) == 'u') {
        token->is_unsigned = true;
        stop--;
    }
    if (stop - at > 2 && *at == '0' && (at[1] | 32) == 'x') {
        base = 16;
        digits += 2;
    } else if (stop - at > 2 && *at == '0' && (at[1] | 32) == 'b') {
        base = 2;
        digits += 2;
    } else if (stop - at > 1 && *at == '0') {
        base = 8;
        digits++;
    }
    token->kind = PTX_TOKEN_INTEGER;
    for (; digits < stop; digits++) {
        unsigned digit = *digits <= '9' ? (unsigned)(*digits - '0') : (unsigned)((*digits | 32) - 'a') + 10;
        uint64_t before = token->value;
        token->value = before * base + digit;
        if (!is(*digits, IS_HEX) || digit >= base || before > (UINT64_MAX - digit) / base) {
            token->kind = PTX_TOKEN_BAD;
            return;
        }
    }
}

static void lex_number(struct ptx_token *token, const char *at, const char *end)
{
    if (at + 1 < end && *at == '0' && ((at[1] | 32) == 'f' || (at[1] | 32) == 'd')) {
        if (lex_float_bits(token, at, end)) return;
        token->kind = PTX_TOKEN_BAD;
        token->span.length = 2;
        return;
    }
    bool is_hexadecimal = at + 1 < end && *at == '0' && (at[1] | 32) == 'x';
    if (!is_hexadecimal && lex_decimal_float(token, at, end)) return;
    lex_integer(token, at, end);
}

/* `.L1::evict_last`: words joined by :: belong to one token. */
static const char *skip_dotted(const char *at, const char *end)
{
    at = skip_class(at + 1, end, IS_WORD);
    while (end - at > 2 && at[0] == ':' && at[1] == ':' && is(at[2], IS_WORD))
        at = skip_class(at + 2, end, IS_WORD);
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"' && *at != '\n'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end && *at == '"' ? at + 1 : at;
}

struct ptx_token ptx_lex(struct ptx_lexer *lexer)
{
    const char *before = lexer->at, *end = lexer->end;
    skip_blanks(lexer);
    const char *at = lexer->at, *stop = at + 1;
    struct ptx_token token = {.is_adjacent = at == before, .line = lexer->line, .span = {.text = at}};
    if (at >= end) return token;
    token.kind = PTX_TOKEN_PUNCTUATION;
    if (is(*at, IS_START)) {
        stop = skip_class(at + 1, end, IS_WORD);
        /* a % alone is the operator */
        if (*at != '%' || stop > at + 1) token.kind = PTX_TOKEN_WORD;
    } else if (*at == '.' && at + 1 < end && is(at[1], IS_WORD)) {
        token.kind = PTX_TOKEN_DOTTED;
        stop = skip_dotted(at, end);
    } else if (is(*at, IS_DIGIT)) {
        lex_number(&token, at, end);
        stop = at + token.span.length;
    } else if (*at == '"') {
        token.kind = PTX_TOKEN_STRING;
        stop = skip_string(at, end);
    } else if (*at <= ' ' || *at > '~') {
        token.kind = PTX_TOKEN_BAD;
    }
    token.span.length = (uint32_t)(stop - at);
    lexer->at = stop;
    return token;
}

/* Directives that stand only outside functions: a body that reaches one has lost its closing brace. */
static bool starts_function(const char *at, const char *end)
{
    static const char *const words[] = {".entry", ".func", ".visible", ".weak"};
    struct ptx_span span = {at, (uint32_t)(skip_class(at + 1, end, IS_WORD) - at)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_span_is(span, words[i])) return true;
    return false;
}

const char *ptx_closing_brace(const char *open, const char *end, const char **stop)
{
    struct ptx_lexer lexer = {open, end, 0};
    size_t depth = 0;
    while (skip_blanks(&lexer), lexer.at < end) {
        char c = *lexer.at;
        if (c == '{') depth++;
        if (c == '}' && --depth == 0) return lexer.at;
        if (c == '.' && starts_function(lexer.at, end)) break;
        if (c == '"')
            lexer.at = skip_string(lexer.at, end);
        else if (is(c, IS_WORD)) /* with its modifiers: `ld.weak` */
            for (lexer.at = skip_class(lexer.at, end, IS_WORD); lexer.at < end && *lexer.at == '.';)
                lexer.at = skip_dotted(lexer.at, end);
        else
            lexer.at++;
    }
    *stop = lexer.at;
    return NULL;
}
