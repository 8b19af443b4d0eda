/* SPDX-License-Identifier: Apache-2.0
 * Tokens of PTX text -- ISA 4. Private to ptx/. */
#ifndef KFUSE_PTX_LEXER_H
#define KFUSE_PTX_LEXER_H

#include "ptx/ptx.h"

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,        /* identifiers, with their leading % $ _ */
    PTX_TOKEN_DOTTED,      /* `.global`, `.L1::evict_last`, `.2d`: with the dot */
    PTX_TOKEN_INTEGER,     /* value; is_unsigned */
    PTX_TOKEN_FLOAT32,     /* 0f: value holds the 32 bits */
    PTX_TOKEN_FLOAT64,     /* 0d or decimal: value holds the 64 bits */
    PTX_TOKEN_STRING,      /* with its quotes */
    PTX_TOKEN_PUNCTUATION, /* one character: text[0] */
    PTX_TOKEN_BAD,         /* a character or a number that is none of these */
};

struct ptx_token {
    enum ptx_token_kind kind;
    bool is_unsigned;
    bool is_adjacent; /* nothing stands between it and the token before */
    uint32_t line;
    struct ptx_span span;
    uint64_t value;
};

struct ptx_lexer {
    const char *at, *end; /* text, NUL-terminated at or after end */
    uint32_t line;
};

struct ptx_token ptx_lex(struct ptx_lexer *lexer);
/* Finds the brace that closes the one at open, without making tokens. NULL when a function begins or the text
 * ends first; *stop is then that place. */
const char *ptx_closing_brace(const char *open, const char *end, const char **stop);
bool ptx_span_is(struct ptx_span span, const char *word);

#endif
