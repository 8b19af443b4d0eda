/* SPDX-License-Identifier: Apache-2.0
 * forms.def: its alternatives written out, and a hash table of what they mean. Made once in a process and
 * kept. */
#include "emulator/forms.h"

#include "ptx/words.h"

#include <pthread.h>
#include <string.h>

enum { FORM_TEXT = 128, FORM_SLOTS = 1 << 14 };

static const struct emu_form form_rows[] = {
#define FORM(mnemonics, registers, operands) {mnemonics, registers, operands},
#define UNRECORDED(mnemonic, why)            {mnemonic, NULL, why},
#include "emulator/forms.def"
#undef FORM
#undef UNRECORDED
};

struct form_key { /* a mnemonic without the order of its words; no holes: it is hashed by its bytes */
    uint64_t modifiers[PTX_MODIFIER_WORDS];
    uint32_t opcode, space, vector, types[3];
};

static struct {
    pthread_once_t once;
    struct arena *arena;
    struct ptx_words *words;
    struct emu_form *forms;
    uint32_t count, capacity;
    bool is_wrong; /* forms.def has a word that the parser does not know */
    struct form_key keys[FORM_SLOTS];
} form_table = {.once = PTHREAD_ONCE_INIT};

bool emu_form_is_hint(enum ptx_modifier modifier)
{
    switch ((int)modifier) {
    case PTX_MOD_WEAK:
    case PTX_MOD_VOLATILE:
    case PTX_MOD_RELAXED:
    case PTX_MOD_ACQUIRE:
    case PTX_MOD_RELEASE:
    case PTX_MOD_ACQ_REL:
    case PTX_MOD_MMIO:
    case PTX_MOD_CTA:
    case PTX_MOD_CLUSTER:
    case PTX_MOD_GPU:
    case PTX_MOD_SYS:
    case PTX_MOD_CG:
    case PTX_MOD_CA:
    case PTX_MOD_CS:
    case PTX_MOD_LU:
    case PTX_MOD_CV:
    case PTX_MOD_WB:
    case PTX_MOD_WT:
    case PTX_MOD_NC:
    case PTX_MOD_L1_EVICT_NORMAL:
    case PTX_MOD_L1_EVICT_UNCHANGED:
    case PTX_MOD_L1_EVICT_FIRST:
    case PTX_MOD_L1_EVICT_LAST:
    case PTX_MOD_L1_NO_ALLOCATE:
    case PTX_MOD_L2_64B:
    case PTX_MOD_L2_128B:
    case PTX_MOD_L2_256B:
    case PTX_MOD_SHARED_CTA:
    case PTX_MOD_PARAM_ENTRY:
    case PTX_MOD_PARAM_FUNC:
        return true;
    }
    return false;
}

static struct form_key form_key_of(const struct ptx_instruction *instruction)
{
    struct form_key key = {.opcode = instruction->opcode, .space = instruction->space};
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    memcpy(key.modifiers, instruction->modifiers, sizeof key.modifiers);
    key.vector = instruction->vector;
    for (uint32_t i = 0; i < instruction->type_count; i++) key.types[i] = instruction->types[i];
    if (class != PTX_CLASS_MEMORY && class != PTX_CLASS_ATOMIC) return key;
    for (int i = PTX_MOD_NONE + 1; i < PTX_MODIFIER_COUNT; i++) {
        if (emu_form_is_hint((enum ptx_modifier)i)) key.modifiers[i / 64] &= ~(UINT64_C(1) << (i % 64));
    }
    return key;
}

/* The slot that holds the key, or the free one where it belongs. */
static struct form_key *form_slot(const struct form_key *key)
{
    const unsigned char *bytes = (const unsigned char *)key;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ bytes[i]) * 16777619u;
    for (uint32_t i = (hash ^ hash >> 15) % FORM_SLOTS;; i = (i + 1) % FORM_SLOTS) {
        struct form_key *slot = &form_table.keys[i];
        if (slot->opcode == PTX_OP_UNKNOWN || memcmp(slot, key, sizeof *key) == 0) return slot;
    }
}

static void form_read_word(struct ptx_instruction *instruction, struct ptx_span span)
{
    const struct ptx_word *word = ptx_find_dotted(form_table.words, span);
    if (word == NULL) {
        form_table.is_wrong = true;
        return;
    }
    if (word->kinds & PTX_WORD_TYPE) instruction->types[instruction->type_count++] = word->type;
    if (word->kinds & PTX_WORD_SPACE) instruction->space = word->space;
    if (!(word->kinds & PTX_WORD_MODIFIER)) return;
    instruction->modifiers[word->modifier / 64] |= UINT64_C(1) << (word->modifier % 64);
    if (word->modifier == PTX_MOD_V2) instruction->vector = 2;
    if (word->modifier == PTX_MOD_V4) instruction->vector = 4;
}

static void form_add_key(const char *mnemonic)
{
    struct ptx_instruction instruction = {.vector = 1};
    size_t length = strcspn(mnemonic, ".");
    const struct ptx_word *opcode =
        ptx_find_opcode(form_table.words, (struct ptx_span){mnemonic, (uint32_t)length});
    if (opcode == NULL) {
        form_table.is_wrong = true;
        return;
    }
    instruction.opcode = opcode->opcode;
    for (const char *word = mnemonic + length; *word != 0; word += length) {
        length = 1 + strcspn(word + 1, ".");
        form_read_word(&instruction, (struct ptx_span){word, (uint32_t)length});
    }
    struct form_key key = form_key_of(&instruction);
    *form_slot(&key) = key;
}

static void form_add(const char *mnemonic, const struct emu_form *row)
{
    if (form_table.count == form_table.capacity) {
        form_table.capacity = form_table.capacity ? form_table.capacity * 2 : 1024;
        form_table.forms = arena_grow(form_table.arena, form_table.forms, form_table.count,
                                      form_table.capacity, sizeof *form_table.forms);
    }
    form_table.forms[form_table.count++] =
        (struct emu_form){arena_strdup(form_table.arena, mnemonic), row->registers, row->operands};
    form_add_key(mnemonic);
}

/* text: length bytes are done; rest: what is to follow, up to its end */
static void form_expand(char text[FORM_TEXT], size_t length, const char *rest, const struct emu_form *row)
{
    size_t plain = strcspn(rest, "{");
    memcpy(text + length, rest, plain);
    length += plain;
    if (rest[plain] == 0) {
        text[length] = 0;
        form_add(text, row);
        return;
    }
    const char *end = strchr(rest + plain, '}'), *choice = rest + plain + 1;
    for (;; choice++) {
        size_t part = strcspn(choice, ",}");
        memcpy(text + length, choice, part);
        form_expand(text, length + part, end + 1, row);
        choice += part;
        if (*choice == '}') break;
    }
}

static void form_table_fill(void)
{
    char text[FORM_TEXT];
    form_table.arena = arena_create();
    form_table.words = form_table.arena ? ptx_words_create(form_table.arena) : NULL;
    if (form_table.words == NULL) return;
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++)
        form_expand(text, 0, form_rows[i].mnemonic, &form_rows[i]);
}

const struct emu_form *emu_forms(uint32_t *count)
{
    pthread_once(&form_table.once, form_table_fill);
    *count = form_table.count;
    return form_table.is_wrong ? NULL : form_table.forms;
}

bool emu_form_is_known(const struct ptx_instruction *instruction)
{
    uint32_t count;
    if (emu_forms(&count) == NULL) return false;
    struct form_key key = form_key_of(instruction);
    return form_slot(&key)->opcode != PTX_OP_UNKNOWN;
}
