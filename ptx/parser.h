/* SPDX-License-Identifier: Apache-2.0
 * The parser's state and the functions that its files share. Private to ptx/. Errors are sticky: after
 * ptx_fail every token is PTX_TOKEN_END, so each loop ends and only the place that recovers looks at `error`.
 */
#ifndef KFUSE_PTX_PARSER_H
#define KFUSE_PTX_PARSER_H

#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "ptx/scope.h"
#include "ptx/words.h"

#include <setjmp.h>

struct ptx_buffer { /* grows in the arena, is used again for the next function */
    void *items;
    uint32_t count, capacity;
};

struct ptx_pending { /* a label that was named before it was seen */
    struct ptx_span name;
    int32_t *slot;
    uint32_t line;
};

struct ptx_parser {
    struct ptx_module *module;
    struct arena *arena;
    struct ptx_words *words;
    struct ptx_lexer lexer;
    struct ptx_token token; /* the one to be read next */
    const char *last_end;   /* where the token before it ended */
    const char *error;
    jmp_buf memory_is_out;
    uint64_t read_again;      /* bytes that recovery went back over */
    uint64_t register_budget; /* how many more registers the module may declare */
    uint64_t initial_budget;  /* how many more bytes its initial values may take */
    /* of the function that is being read */
    struct ptx_function *function;
    struct ptx_scope *scope; /* its names */
    struct ptx_scope *taken; /* its variables and labels, whatever their scope */
    struct ptx_buffer registers, variables, instructions, labels, tables, operands, pending, pending_marks;
    uint32_t source_file, source_line;
    bool has_register_parameters;
    /* of the module */
    struct ptx_buffer module_variables, functions, extras;
};

/* parser.c: tokens, memory, errors */
void ptx_advance(struct ptx_parser *parser);
void ptx_fail(struct ptx_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *ptx_parser_alloc(struct ptx_parser *parser, size_t count, size_t size);
/* A zeroed item at the end of the buffer; it moves with the next one. */
void *ptx_buffer_add(struct ptx_parser *parser, struct ptx_buffer *buffer, size_t size);
/* A copy in the arena of the items from first on; the buffer keeps those before. NULL when there are none. */
void *ptx_buffer_take(struct ptx_parser *parser, struct ptx_buffer *buffer, uint32_t first, size_t size);
void ptx_bind(struct ptx_parser *parser, struct ptx_scope *scope, struct ptx_binding binding);
const char *ptx_copy_span(struct ptx_parser *parser, struct ptx_span span);
/* Reads what is expected, or fails. */
void ptx_expect(struct ptx_parser *parser, char punctuation);
struct ptx_span ptx_expect_word(struct ptx_parser *parser);
struct ptx_span ptx_span_since(const struct ptx_parser *parser, const char *start);
static inline bool ptx_at(const struct ptx_parser *parser, char punctuation)
{
    return parser->token.kind == PTX_TOKEN_PUNCTUATION && *parser->token.span.text == punctuation;
}
static inline bool ptx_at_dotted(const struct ptx_parser *parser, const char *word)
{
    return parser->token.kind == PTX_TOKEN_DOTTED && ptx_span_is(parser->token.span, word);
}
/* Reads the punctuation if it is there. */
bool ptx_accept(struct ptx_parser *parser, char punctuation);
/* Skips `( ... )` or `{ ... }`, nested. */
void ptx_skip_balanced(struct ptx_parser *parser, char open, char close);

/* parse_expression.c */
int64_t ptx_parse_expression(struct ptx_parser *parser);
/* One that binds tighter than + and -: what follows `[%rd1 +`. */
int64_t ptx_parse_term(struct ptx_parser *parser);

/* parse_variable.c: the current token is the state space */
struct ptx_variable *ptx_parse_variable(struct ptx_parser *parser, enum ptx_space space, const char *start);
/* parse_initial.c: after the `=`. unit: bytes of an element; dimensions as declared, [0] 0: not given. */
struct ptx_shape {
    uint64_t dimensions[8];
    uint32_t count, vector, unit;
};
void ptx_parse_initial(struct ptx_parser *parser, struct ptx_variable *variable,
                       const struct ptx_shape *shape);

/* parse_operand.c */
void ptx_parse_operand(struct ptx_parser *parser, enum ptx_opcode opcode, struct ptx_operand *operand,
                       unsigned depth);
/* parse_instruction.c */
void ptx_parse_instruction(struct ptx_parser *parser);
/* parse_function.c: after linkage; the current token is .entry or .func */
void ptx_parse_function(struct ptx_parser *parser, const char *start, bool is_visible, bool is_extern,
                        bool is_weak);
/* parse_body.c: from the opening brace to the closing one */
void ptx_parse_body(struct ptx_parser *parser);
/* Makes a name that is free in this function: the name itself, or NAME$2, NAME$3, ... */
const char *ptx_unique_name(struct ptx_parser *parser, struct ptx_span name);
/* .loc, .file and .section -- ISA 11.5 */
bool ptx_skip_debug_directive(struct ptx_parser *parser);

#endif
