/* SPDX-License-Identifier: Apache-2.0
 * One instruction -- ISA 9.1, 9.3: guard, opcode, dotted words, operands, semicolon. What the tables do not
 * know stays as text. */
#include "ptx/parser.h"

/* @p or @!p -- ISA 9.3 */
static void parse_guard(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    uint32_t depth;
    instruction->guard = -1;
    if (!ptx_accept(parser, '@')) return;
    instruction->guard_negated = ptx_accept(parser, '!');
    struct ptx_span name = ptx_expect_word(parser);
    instruction->guard = ptx_scope_find_register(parser->scope, name, &depth);
    if (instruction->guard < 0) ptx_fail(parser, "guard %.*s is not declared", (int)name.length, name.text);
}

static bool add_dotted(struct ptx_instruction *instruction, const struct ptx_word *word)
{
    if (!word) return false;
    if (word->kinds & PTX_WORD_TYPE && instruction->type_count < 3)
        instruction->types[instruction->type_count++] = word->type;
    if (word->kinds & PTX_WORD_SPACE && instruction->space == PTX_GENERIC) instruction->space = word->space;
    if (!(word->kinds & PTX_WORD_MODIFIER)) return true;
    instruction->modifiers[word->modifier / 64] |= UINT64_C(1) << (word->modifier % 64);
    if (word->modifier == PTX_MOD_V2) instruction->vector = 2;
    if (word->modifier == PTX_MOD_V4) instruction->vector = 4;
    if (word->modifier == PTX_MOD_V8) instruction->vector = 8;
    return true;
}

/* Opcode and dotted words; false when one of them is not in the tables. */
static bool parse_mnemonic(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    const char *start = parser->token.span.text;
    const struct ptx_word *word = ptx_find_opcode(parser->words, ptx_expect_word(parser));
    bool is_known = word;
    if (word) instruction->opcode = word->opcode;
    instruction->vector = 1;
    while (parser->token.kind == PTX_TOKEN_DOTTED) {
        is_known &= add_dotted(instruction, ptx_find_dotted(parser->words, parser->token.span));
        ptx_advance(parser);
    }
    instruction->mnemonic = ptx_span_since(parser, start);
    if (!is_known) instruction->opcode = PTX_OP_UNKNOWN;
    return is_known;
}

static void parse_operands(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    uint32_t first = parser->operands.count;
    while (!ptx_at(parser, ';')) {
        struct ptx_operand operand = {0};
        ptx_parse_operand(parser, instruction->opcode, &operand, 0);
        *(struct ptx_operand *)ptx_buffer_add(parser, &parser->operands, sizeof operand) = operand;
        if (!ptx_accept(parser, ',')) break;
    }
    if (!ptx_at(parser, ';')) ptx_fail(parser, "expected `;`");
    instruction->operand_count = parser->operands.count - first;
    instruction->operands = ptx_buffer_take(parser, &parser->operands, first, sizeof *instruction->operands);
}

/* Nothing is known about its operands: up to the semicolon. */
static void skip_operands(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    instruction->operands = NULL;
    instruction->operand_count = 0;
    while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ';')) {
        if (ptx_at(parser, '{'))
            ptx_skip_balanced(parser, '{', '}');
        else
            ptx_advance(parser);
    }
    if (!ptx_at(parser, ';')) ptx_fail(parser, "expected `;`");
}

/* An unknown instruction may still have operands of the usual forms; if not, it is text alone. */
static void parse_unknown(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    struct ptx_lexer lexer = parser->lexer;
    struct ptx_token token = parser->token;
    const char *last_end = parser->last_end;
    uint32_t operand_count = parser->operands.count;
    parse_operands(parser, instruction);
    if (!parser->error) return;
    parser->error = NULL;
    parser->lexer = lexer;
    parser->token = token;
    parser->last_end = last_end;
    parser->operands.count = operand_count;
    skip_operands(parser, instruction);
}

static void note_labels(struct ptx_parser *parser, struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (instruction->operands[i].kind != PTX_OPERAND_LABEL) continue;
        struct ptx_pending *pending = ptx_buffer_add(parser, &parser->pending, sizeof *pending);
        pending->name = instruction->operands[i].text;
        pending->slot = &instruction->operands[i].label;
        pending->line = instruction->line;
    }
}

void ptx_parse_instruction(struct ptx_parser *parser)
{
    const char *start = parser->token.span.text;
    struct ptx_instruction instruction = {
        .line = parser->token.line, .source_file = parser->source_file, .source_line = parser->source_line};
    parse_guard(parser, &instruction);
    if (parser->token.kind != PTX_TOKEN_WORD) {
        ptx_fail(parser, "expected an instruction");
        return;
    }
    if (parse_mnemonic(parser, &instruction))
        parse_operands(parser, &instruction);
    else
        parse_unknown(parser, &instruction);
    ptx_expect(parser, ';');
    instruction.text = ptx_span_since(parser, start);
    if (parser->error) return;
    note_labels(parser, &instruction);
    *(struct ptx_instruction *)ptx_buffer_add(parser, &parser->instructions, sizeof instruction) =
        instruction;
}
