/* SPDX-License-Identifier: Apache-2.0
 * Mnemonics word by word: every word must come from a field, and every field must have been a word. */
#include "tests/ptx/rebuild.h"

#include <string.h>

static const char *const modifier_names[PTX_MODIFIER_COUNT] = {
#define PTX_MODIFIER(name, text) [PTX_MOD_##name] = text,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
};
static const char *const space_names[PTX_SPACE_COUNT] = {
    [PTX_GENERIC] = "",    [PTX_GLOBAL] = "global", [PTX_SHARED] = "shared",
    [PTX_LOCAL] = "local", [PTX_PARAM] = "param",   [PTX_CONST] = "const",
};

struct fields { /* of one instruction: what no word has spelled yet */
    struct ptx_instruction left;
    uint8_t next_type;
};

static bool is_word(struct ptx_span word, const char *name)
{
    return name && strlen(name) == word.length && !memcmp(name, word.text, word.length);
}

static const char *spell_type(struct fields *fields, struct ptx_span word)
{
    if (fields->next_type == fields->left.type_count) return NULL;
    const char *name = ptx_type_name(fields->left.types[fields->next_type]);
    if (!is_word(word, name)) return NULL;
    fields->next_type++;
    return name;
}

static const char *spell_vector(struct fields *fields, struct ptx_span word)
{
    static const char *const names[] = {[2] = "v2", [4] = "v4", [8] = "v8"};
    uint8_t vector = fields->left.vector;
    if (vector >= sizeof names / sizeof *names || !is_word(word, names[vector])) return NULL;
    fields->left.vector = 1;
    return names[vector];
}

/* The fields hold one space; asynchronous copies and the like name a second one, from which they read. */
static bool is_second_space(const struct fields *fields, struct ptx_span word)
{
    bool has_two = ptx_opcode_info(fields->left.opcode)->class == PTX_CLASS_OTHER;
    return has_two && fields->left.space == PTX_GENERIC && is_word(word, space_names[PTX_GLOBAL]);
}

static const char *spell_space(struct fields *fields, struct ptx_span word)
{
    if (is_second_space(fields, word)) return space_names[PTX_GLOBAL];
    const char *name = space_names[fields->left.space];
    size_t length = strlen(name);
    if (!length || word.length < length || memcmp(word.text, name, length)) return NULL;
    if (word.length > length && word.text[length] != ':') return NULL; /* `.shared::cta` is a modifier too */
    fields->left.space = PTX_GENERIC;
    return name;
}

static const char *spell_modifier(struct fields *fields, struct ptx_span word)
{
    for (unsigned i = 1; i < PTX_MODIFIER_COUNT; i++) {
        if (!ptx_has_modifier(&fields->left, i) || !is_word(word, modifier_names[i])) continue;
        fields->left.modifiers[i / 64] &= ~(UINT64_C(1) << (i % 64));
        return modifier_names[i];
    }
    return NULL;
}

/* Vectors, and spaces with something behind `::`, are modifiers besides. */
static const char *spell(struct fields *fields, struct ptx_span word)
{
    const char *name = spell_type(fields, word);
    if (name) return name;
    const char *vector = spell_vector(fields, word), *space = spell_space(fields, word);
    name = spell_modifier(fields, word);
    if (name || vector) return name;
    return space && is_word(word, space) ? space : NULL;
}

static bool is_all_spelled(const struct fields *fields)
{
    uint64_t modifiers = 0;
    for (unsigned i = 0; i < PTX_MODIFIER_WORDS; i++) modifiers |= fields->left.modifiers[i];
    return !modifiers && fields->next_type == fields->left.type_count && fields->left.vector <= 1 &&
           fields->left.space == PTX_GENERIC;
}

/* Words are separated by dots. */
static bool next_word(struct ptx_span *mnemonic, struct ptx_span *word)
{
    if (!mnemonic->length) return false;
    const char *end = memchr(mnemonic->text, '.', mnemonic->length);
    uint32_t length = end ? (uint32_t)(end - mnemonic->text) : mnemonic->length;
    *word = (struct ptx_span){mnemonic->text, length};
    mnemonic->text += length + (end != NULL);
    mnemonic->length -= length + (end != NULL);
    return true;
}

static bool rebuild_mnemonic(struct ptx_module *module, struct ptx_instruction *instruction)
{
    struct fields fields = {.left = *instruction};
    struct ptx_span left = instruction->mnemonic, word;
    if (instruction->opcode == PTX_OP_UNKNOWN || instruction->opcode == PTX_OP_PRAGMA) return true;
    const char *name = next_word(&left, &word) ? ptx_opcode_info(instruction->opcode)->name : NULL;
    if (!is_word(word, name)) return false;
    const char *spelled = arena_strdup(module->arena, name);
    while (next_word(&left, &word)) {
        name = spell(&fields, word);
        if (!name) return false;
        spelled = arena_printf(module->arena, "%s.%s", spelled, name);
    }
    instruction->mnemonic = (struct ptx_span){spelled, (uint32_t)strlen(spelled)};
    return is_all_spelled(&fields);
}

static void forget_numbers(struct ptx_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_number = operands[i].kind == PTX_OPERAND_INTEGER || operands[i].kind == PTX_OPERAND_FLOAT;
        if (is_number) operands[i].text.length = 0;
        forget_numbers(operands[i].elements, operands[i].element_count);
    }
}

unsigned rebuild_module(struct ptx_module *module)
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        struct ptx_function *function = module->functions[i];
        for (uint32_t j = 0; j < function->instruction_count; j++) {
            struct ptx_instruction *instruction = &function->instructions[j];
            forget_numbers(instruction->operands, instruction->operand_count);
            if (rebuild_mnemonic(module, instruction)) continue;
            fprintf(stderr, "line %u: not as understood: %.*s\n", instruction->line,
                    (int)instruction->text.length, instruction->text.text);
            wrong++;
        }
    }
    return wrong;
}
