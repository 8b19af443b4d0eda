/* SPDX-License-Identifier: Apache-2.0
 * The tables of the PTX language and one open hash table over them, made once for every module that is
 * parsed. */
#include "ptx/words.h"
#include "ptx/lexer.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bytes;
} types[PTX_TYPE_COUNT] = {[PTX_NO_TYPE] = {"", 0},
#define X(name, text, bytes) [PTX_##name] = {text, bytes},
                           PTX_TYPES(X)
#undef X
};

static const struct ptx_opcode_info opcodes[PTX_OPCODE_COUNT] = {
    [PTX_OP_UNKNOWN] = {"", PTX_CLASS_OTHER, false, false, false},
#define PTX_OPCODE(name, text, class, may_fuse, has_destination, is_emulated)                                \
    [PTX_OP_##name] = {text, PTX_CLASS_##class, may_fuse, has_destination, is_emulated},
#include "ptx/opcodes.def"
#undef PTX_OPCODE
};

static const char *const modifiers[PTX_MODIFIER_COUNT] = {
#define PTX_MODIFIER(name, text) [PTX_MOD_##name] = text,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
};
_Static_assert(PTX_MODIFIER_COUNT <= 64 * PTX_MODIFIER_WORDS, "modifiers do not fit into an instruction");

static const char *const spaces[PTX_SPACE_COUNT] = {
    [PTX_GENERIC] = "",    [PTX_GLOBAL] = "global", [PTX_SHARED] = "shared",
    [PTX_LOCAL] = "local", [PTX_PARAM] = "param",   [PTX_CONST] = "const",
};

static const char *const specials[PTX_SPECIAL_COUNT] = {
#define X(name, text) [PTX_SPECIAL_##name] = text,
    PTX_SPECIALS(X)
#undef X
};

/* ISA 10: those without a constant; a trailing * stands for anything. */
static const char *const other_specials[] = {
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid*",
    "%nclusterid*",
    "%cluster_*",
    "%is_explicit_cluster",
    "%envreg*",
    "%pm*",
    "%reserved_smem_*",
    "%aggr_smem_size",
    "%current_graph_exec",
};

unsigned ptx_type_bytes(enum ptx_type type)
{
    return types[type].bytes;
}

const char *ptx_type_name(enum ptx_type type)
{
    return types[type].name;
}

bool ptx_type_is_float(enum ptx_type type)
{
    switch (type) {
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2:
    case PTX_TF32:
    case PTX_F32:
    case PTX_F64:
    case PTX_F32X2:
    case PTX_E4M3:
    case PTX_E5M2:
    case PTX_E4M3X2:
    case PTX_E5M2X2:
        return true;
    case PTX_NO_TYPE:
    case PTX_B8:
    case PTX_B16:
    case PTX_B32:
    case PTX_B64:
    case PTX_B128:
    case PTX_U8:
    case PTX_U16:
    case PTX_U32:
    case PTX_U64:
    case PTX_S8:
    case PTX_S16:
    case PTX_S32:
    case PTX_S64:
    case PTX_U16X2:
    case PTX_S16X2:
    case PTX_PRED:
    case PTX_TYPE_COUNT:
        break;
    }
    return false;
}

bool ptx_type_is_signed(enum ptx_type type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64 || type == PTX_S16X2;
}

const struct ptx_opcode_info *ptx_opcode_info(enum ptx_opcode opcode)
{
    return &opcodes[opcode];
}

const char *ptx_special_name(enum ptx_special special)
{
    return specials[special];
}

enum { WORD_SLOTS = 2048 };
_Static_assert(2 * (PTX_OPCODE_COUNT + PTX_MODIFIER_COUNT + PTX_TYPE_COUNT) < WORD_SLOTS, "words: too many");

struct ptx_words {
    struct ptx_word slots[WORD_SLOTS];
};

/* Opcodes and dotted words live in one table: their kinds keep them apart. */
static struct ptx_word *slot_of(struct ptx_words *words, const char *text, size_t length, bool is_opcode)
{
    uint32_t hash = 2166136261u + is_opcode;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    for (uint32_t i = (hash ^ hash >> 15) % WORD_SLOTS;; i = (i + 1) % WORD_SLOTS) {
        struct ptx_word *word = &words->slots[i];
        if (!word->kinds) return word;
        if (word->text.length == length && !!(word->kinds & PTX_WORD_OPCODE) == is_opcode &&
            !memcmp(word->text.text, text, length))
            return word;
    }
}

static struct ptx_word *add_word(struct ptx_words *words, const char *text, unsigned kind)
{
    struct ptx_word *word = slot_of(words, text, strlen(text), kind == PTX_WORD_OPCODE);
    word->text = (struct ptx_span){text, (uint32_t)strlen(text)};
    word->kinds |= kind;
    return word;
}

struct ptx_words *ptx_words_create(struct arena *arena)
{
    struct ptx_words *words = arena_alloc(arena, sizeof *words);
    if (!words) return NULL;
    for (int i = PTX_OP_UNKNOWN + 1; i < PTX_OPCODE_COUNT; i++)
        add_word(words, opcodes[i].name, PTX_WORD_OPCODE)->opcode = (enum ptx_opcode)i;
    for (int i = PTX_NO_TYPE + 1; i < PTX_TYPE_COUNT; i++)
        add_word(words, types[i].name, PTX_WORD_TYPE)->type = (enum ptx_type)i;
    for (int i = PTX_GENERIC + 1; i < PTX_SPACE_COUNT; i++)
        add_word(words, spaces[i], PTX_WORD_SPACE)->space = (enum ptx_space)i;
    for (int i = PTX_MOD_NONE + 1; i < PTX_MODIFIER_COUNT; i++)
        add_word(words, modifiers[i], PTX_WORD_MODIFIER)->modifier = (enum ptx_modifier)i;
    static const struct {
        const char *text;
        enum ptx_space space;
    } parts[] = {
        {"shared::cta", PTX_SHARED},
        {"shared::cluster", PTX_SHARED},
        {"param::entry", PTX_PARAM},
        {"param::func", PTX_PARAM},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_word(words, parts[i].text, PTX_WORD_SPACE)->space = parts[i].space;
    return words;
}

const struct ptx_word *ptx_find_opcode(const struct ptx_words *words, struct ptx_span word)
{
    const struct ptx_word *found = slot_of((struct ptx_words *)words, word.text, word.length, true);
    return found->kinds ? found : NULL;
}

const struct ptx_word *ptx_find_dotted(const struct ptx_words *words, struct ptx_span word)
{
    const struct ptx_word *found = slot_of((struct ptx_words *)words, word.text + 1, word.length - 1, false);
    return found->kinds ? found : NULL;
}

enum ptx_special ptx_find_special(struct ptx_span text)
{
    for (int i = 0; i < PTX_SPECIAL_OTHER; i++)
        if (ptx_span_is(text, specials[i])) return (enum ptx_special)i;
    for (size_t i = 0; i < sizeof other_specials / sizeof *other_specials; i++) {
        const char *name = other_specials[i];
        size_t length = strlen(name);
        if (name[length - 1] == '*' ? text.length >= length && !memcmp(text.text, name, length - 1)
                                    : ptx_span_is(text, name))
            return PTX_SPECIAL_OTHER;
    }
    return PTX_SPECIAL_COUNT;
}
