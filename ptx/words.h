/* SPDX-License-Identifier: Apache-2.0
 * What an opcode word or a dotted word means: the tables of types, spaces, opcodes and modifiers, hashed.
 * Private. */
#ifndef KFUSE_PTX_WORDS_H
#define KFUSE_PTX_WORDS_H

#include "ptx/ptx.h"

enum ptx_word_kind { PTX_WORD_OPCODE = 1, PTX_WORD_TYPE = 2, PTX_WORD_SPACE = 4, PTX_WORD_MODIFIER = 8 };
struct ptx_word {
    struct ptx_span text;
    unsigned kinds; /* SPACE and MODIFIER together: `.shared::cta` */
    enum ptx_opcode opcode;
    enum ptx_type type;
    enum ptx_space space;
    enum ptx_modifier modifier;
};

struct ptx_words; /* owned by its arena */
struct ptx_words *ptx_words_create(struct arena *arena);
/* An opcode by its bare word. NULL: unknown. */
const struct ptx_word *ptx_find_opcode(const struct ptx_words *words, struct ptx_span word);
/* A type, space or modifier by its word with the dot. NULL: unknown. */
const struct ptx_word *ptx_find_dotted(const struct ptx_words *words, struct ptx_span word);
/* PTX_SPECIAL_OTHER for those that only have a text; PTX_SPECIAL_COUNT when the ISA has none of that name. */
enum ptx_special ptx_find_special(struct ptx_span text);
const char *ptx_special_name(enum ptx_special special);

#endif
