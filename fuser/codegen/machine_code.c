/* SPDX-License-Identifier: Apache-2.0
 * Reads section .text.KERNEL of a cubin. */
#include "fuser/codegen/machine_code.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum {
    INSTRUCTION_BYTES = 16,
    OPCODE_MASK = 0x1ff,
    FORM_SHIFT = 9,
    FORM_REGISTERS = 1,
    FIRST_SOURCE_SHIFT = 24,
    SECOND_SOURCE_SHIFT = 32,
    ZERO_REGISTER = 255
};

static const struct {
    uint32_t opcode;
    enum machine_code_class class;
} opcodes[] = {
#define MACHINE_OPCODE(opcode, class, name) {opcode, MACHINE_CODE_##class},
#include "fuser/codegen/machine_code.def"
#undef MACHINE_OPCODE
};

static const Elf64_Shdr *sections_of(const unsigned char *bytes, size_t size, Elf64_Ehdr *header)
{
    if (size < sizeof *header) return NULL;
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64) return NULL;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > size || header->e_shoff % 8 ||
        (size - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum ||
        header->e_shstrndx >= header->e_shnum)
        return NULL;
    return (const Elf64_Shdr *)(bytes + header->e_shoff);
}

/* ptxas appends the toolkit's slow paths (division, square root) to a kernel as functions of their own, once
 * however often they are called: only what stands before the first one is the kernel's. */
static size_t own_length(const unsigned char *bytes, size_t size, const Elf64_Shdr *sections, uint32_t count,
                         uint32_t text)
{
    size_t length = sections[text].sh_size;
    for (uint32_t i = 0; i < count; i++) {
        const Elf64_Shdr *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_offset > size ||
            table->sh_size > size - table->sh_offset)
            continue;
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, bytes + table->sh_offset + at, sizeof symbol);
            if (symbol.st_shndx != text || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
            if (symbol.st_value > 0 && symbol.st_value < length) length = symbol.st_value;
        }
    }
    return length;
}

static const unsigned char *find_text(const unsigned char *bytes, size_t size, const char *kernel,
                                      size_t *length)
{
    Elf64_Ehdr header;
    const Elf64_Shdr *sections = sections_of(bytes, size, &header);
    char wanted[1024];
    if (!sections || (size_t)snprintf(wanted, sizeof wanted, ".text.%s", kernel) >= sizeof wanted)
        return NULL;
    const Elf64_Shdr *names = &sections[header.e_shstrndx];
    if (names->sh_offset > size || names->sh_size > size - names->sh_offset) return NULL;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        size_t name_bytes = strlen(wanted) + 1;
        if (section->sh_name > names->sh_size || names->sh_size - section->sh_name < name_bytes) continue;
        if (memcmp(bytes + names->sh_offset + section->sh_name, wanted, name_bytes)) continue;
        if (section->sh_offset > size || section->sh_size > size - section->sh_offset) return NULL;
        *length = own_length(bytes, size, sections, header.e_shnum, i);
        return bytes + section->sh_offset;
    }
    return NULL;
}

/* HFMA2 R, -RZ, RZ, constant loads a constant; FADD R, -R, -RZ negates: whether ptxas needs one depends on
 * where the value goes. The second source is a register in one operand form only. */
static int is_move(uint64_t word)
{
    uint64_t form = word >> FORM_SHIFT & 7;
    if ((word >> FIRST_SOURCE_SHIFT & 0xff) == ZERO_REGISTER) return 1;
    return form == FORM_REGISTERS && (word >> SECOND_SOURCE_SHIFT & 0xff) == ZERO_REGISTER;
}

int64_t machine_code_count(const void *cubin, size_t size, const char *kernel, enum machine_code_class class)
{
    size_t length = 0;
    const unsigned char *text = find_text(cubin, size, kernel, &length);
    if (!text) return -1;
    int64_t count = 0;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= length; at += INSTRUCTION_BYTES) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
            if (opcodes[i].class == class && opcodes[i].opcode == (word & OPCODE_MASK))
                count += !is_move(word);
    }
    return count;
}

const char *machine_code_class_name(enum machine_code_class class)
{
    static const char *const names[] = {
        [MACHINE_CODE_FMUL] = "FMUL",           [MACHINE_CODE_FADD] = "FADD", [MACHINE_CODE_FFMA] = "FFMA",
        [MACHINE_CODE_DMUL] = "DMUL",           [MACHINE_CODE_DADD] = "DADD", [MACHINE_CODE_DFMA] = "DFMA",
        [MACHINE_CODE_HALF] = "half-precision",
    };
    return names[class];
}
