/* SPDX-License-Identifier: Apache-2.0
 * Golden vectors: the PTX of a form, and its inputs: special values of the operand's type first, then pairs
 * of them, then pseudo-random ones of several kinds. The same types have the same inputs, in every form. */
#include "tests/emulator/vectors.h"

#include "tests/emulator/vector_values.h"

#include <stdio.h>
#include <string.h>

enum { MNEMONIC_WORD = 32 };

/* The n-th type of a mnemonic, from 0; PTX_NO_TYPE: it has fewer. */
static enum ptx_type mnemonic_type(const char *mnemonic, unsigned n)
{
    for (const char *word = strchr(mnemonic, '.'); word != NULL; word = strchr(word + 1, '.')) {
        size_t length = strcspn(word + 1, ".");
        for (int i = PTX_NO_TYPE + 1; i < PTX_TYPE_COUNT; i++) {
            const char *name = ptx_type_name((enum ptx_type)i);
            if (strlen(name) == length && memcmp(name, word + 1, length) == 0 && n-- == 0)
                return (enum ptx_type)i;
        }
    }
    return PTX_NO_TYPE;
}

/* What a letter of forms.def's registers column stands for. */
static enum ptx_type letter_type(const struct emu_form *form, char letter)
{
    enum ptx_type first = mnemonic_type(form->mnemonic, 0), second = mnemonic_type(form->mnemonic, 1);
    switch (letter) {
    case 't':
        return first;
    case 'u':
        return second;
    case 'w':
        return ptx_type_bytes(first) == 2 ? PTX_B32 : PTX_B64;
    case 'h':
        return PTX_B16;
    case 'i':
    case 's':
        return PTX_B32;
    case 'l':
        return PTX_B64;
    case 'p':
        return PTX_PRED;
    }
    return PTX_NO_TYPE;
}

static unsigned type_bits(enum ptx_type type) /* of its register */
{
    unsigned bits = 8 * ptx_type_bytes(type);
    return type == PTX_PRED ? 1 : bits == 8 ? 16 : bits;
}

enum ptx_type vector_result_type(const struct emu_form *form)
{
    return letter_type(form, form->registers[0]);
}

bool vector_is_old(const struct emu_form *form)
{
    return form->operands[0] == '!';
}

#define HEAD(version, target)                                                                                \
    ".version " version "\n.target " target "\n.address_size 64\n"                                           \
    ".const .align 16 .b64 fixed[16] = {0x8081828384858687, 0x0f1e2d3c4b5a6978, 1, -1, "                     \
    "0x7fffffff80000000,\n"                                                                                  \
    "  0x7ff0000000000001, 0x123456789abcdef, 0xfedcba9876543210, 0x7f800001ff812345, 0xff80ff7f7f80fe,\n"   \
    "  0x8000000000000000, 0x7fffffffffffffff, 0x3ff0000000000000, 0xc0ffee, 0xfff8000000000000, 42};\n"     \
    ".visible .func (.param .b32 z) twice(.param .b32 x, .param .b32 y)\n{\n    .reg .b32 %x, %y;\n"         \
    "    ld.param.b32 %x, [x];\n    ld.param.b32 %y, [y];\n    mad.lo.u32 %x, %x, 2, %y;\n"                  \
    "    st.param.b32 [z], %x;\n    ret;\n}\n"                                                               \
    ".visible .func (.param .b64 z) folded(.param .align 16 .b8 x[16])\n{\n    .reg .b64 %x, %y;\n"          \
    "    ld.param.v2.b64 {%x, %y}, [x];\n    mul.lo.u64 %y, %y, 3;\n    xor.b64 %x, %x, %y;\n"               \
    "    st.param.b64 [z], %x;\n    ret;\n}\n"

const char *vector_module_head(bool is_old)
{
    return is_old ? HEAD("6.0", "sm_60") : HEAD("8.6", "sm_90");
}

struct text {
    char *bytes;
    size_t length;
};

static void text_add(struct text *text, const char *piece, size_t length)
{
    if (text->length + length + 1 > VECTOR_TEXT) length = VECTOR_TEXT - 1 - text->length;
    memcpy(text->bytes + text->length, piece, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

static void text_put(struct text *text, const char *piece)
{
    text_add(text, piece, strlen(piece));
}

/* %a and the like, from the row's words */
static void put_operands(struct text *text, const struct emu_form *form)
{
    char line[160];
    for (unsigned i = 1; form->registers[0] != 0 && i < 5 && form->registers[i] != 0; i++) {
        unsigned bits = type_bits(letter_type(form, form->registers[i]));
        snprintf(line, sizeof line,
                 "    .reg .b%u %%%c;\n    ld.global.b64 %%w, [%%in+%u];\n    %s %%%c, %%w;\n", bits,
                 "dabce"[i], 8 * (i - 1),
                 bits == 64   ? "mov.b64"
                 : bits == 32 ? "cvt.u32.u64"
                              : "cvt.u16.u64",
                 "dabce"[i]);
        text_put(text, line);
    }
}

/* @ is the mnemonic, but in a guard; # the width of the first type's register */
static void put_statements(struct text *text, const struct emu_form *form)
{
    const char *rest = form->operands + vector_is_old(form);
    char bits[8];
    snprintf(bits, sizeof bits, "%u", type_bits(mnemonic_type(form->mnemonic, 0)));
    text_put(text, "    ");
    if (strchr(rest, '@') == NULL) {
        text_put(text, form->mnemonic);
        text_put(text, " ");
        text_put(text, rest);
        text_put(text, ";\n");
        return;
    }
    for (; *rest != 0; rest++) {
        if (*rest == '@' && rest[1] != '%' && rest[1] != '!')
            text_put(text, form->mnemonic);
        else if (*rest == '#')
            text_put(text, bits);
        else
            text_add(text, rest, 1);
    }
    text_put(text, "\n");
}

static void put_result(struct text *text, const struct emu_form *form)
{
    unsigned bits = type_bits(vector_result_type(form));
    if (form->registers[0] == '-') return;
    text_put(text, bits == 1    ? "    selp.b64 %w, 1, 0, %d;\n"
                   : bits == 64 ? "    mov.b64 %w, %d;\n"
                   : bits == 32 ? "    cvt.u64.u32 %w, %d;\n"
                                : "    cvt.u64.u16 %w, %d;\n");
    text_put(text, "    st.global.b64 [%out], %w;\n");
}

void vector_kernel(const struct emu_form *form, uint32_t number, char bytes[VECTOR_TEXT])
{
    struct text text = {.bytes = bytes};
    char line[160];
    snprintf(
        line, sizeof line,
        ".visible .entry run%u(.param .u64 p_in, .param .u64 p_out, .param .align 16 .b8 p_fixed[16])\n{\n",
        number);
    text_put(&text, line);
    text_put(&text,
             "    .shared .align 16 .b8 room[2048];\n    .reg .b64 %in, %out, %w;\n"
             "    .reg .b32 %n, %odd, %room;\n    .reg .pred %p;\n"
             "    mov.u32 %n, %tid.x;\n    mov.u32 %room, room;\n    mad.lo.u32 %room, %n, 16, %room;\n"
             "    mov.u32 %odd, %ctaid.x;\n    mad.lo.u32 %n, %odd, 128, %n;\n"
             "    and.b32 %odd, %n, 1;\n    setp.ne.u32 %p, %odd, 0;\n"
             "    ld.param.u64 %in, [p_in];\n    ld.param.u64 %out, [p_out];\n"
             "    mad.wide.u32 %in, %n, 32, %in;\n    mad.wide.u32 %out, %n, 16, %out;\n");
    put_operands(&text, form);
    unsigned bits = type_bits(vector_result_type(form));
    snprintf(line, sizeof line, bits == 1 ? "    .reg .pred %%d;\n" : "    .reg .b%u %%d;\n", bits);
    if (form->registers[0] != '-') text_put(&text, line);
    put_statements(&text, form);
    put_result(&text, form);
    text_put(&text, "    ret;\n}\n");
}

void vector_inputs(const struct emu_form *form, uint64_t rows[VECTOR_ROWS][VECTOR_OPERANDS])
{
    size_t count = strlen(form->registers);
    for (unsigned i = 0; i < VECTOR_ROWS; i++) {
        for (unsigned k = 0; k < VECTOR_OPERANDS; k++) {
            bool is_used = k + 1 < count;
            bool is_amount = is_used && form->registers[k + 1] == 's';
            enum ptx_type type = is_used ? letter_type(form, form->registers[k + 1]) : PTX_B64;
            rows[i][k] = is_amount ? vector_amount(i, k) : vector_value(type, i, k);
        }
    }
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

uint64_t vector_identity(const struct emu_form *form)
{
    static char text[VECTOR_TEXT];
    static uint64_t rows[VECTOR_ROWS][VECTOR_OPERANDS];
    vector_kernel(form, 0, text);
    vector_inputs(form, rows);
    uint64_t hash = hash_bytes(0xcbf29ce484222325, text, strlen(text));
    return hash_bytes(hash, rows, sizeof rows);
}
