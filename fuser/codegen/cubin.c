/* SPDX-License-Identifier: Apache-2.0
 * Sections, symbols and relocations of a cubin. A kernel NAME has .text.NAME, .nv.constantN.NAME,
 * .nv.shared.NAME, .rela.text.NAME. */
#include "fuser/codegen/cubin.h"

#include <stdio.h>
#include <string.h>

bool cubin_open(struct cubin *cubin, const void *bytes, size_t size)
{
    Elf64_Ehdr header;
    *cubin = (struct cubin){.bytes = bytes, .size = size};
    if (size < sizeof header) return false;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size ||
        (size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum || header.e_shstrndx >= header.e_shnum)
        return false;
    /* the second byte from ABI version 8 on, the first before */
    cubin->sm = (header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 : header.e_flags) & 0xff;
    cubin->sections = cubin->bytes + header.e_shoff;
    cubin->section_count = header.e_shnum;
    memcpy(&cubin->names, cubin->sections + header.e_shstrndx * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
    return cubin->names.sh_offset <= size && cubin->names.sh_size <= size - cubin->names.sh_offset &&
           cubin->names.sh_size && !cubin->bytes[cubin->names.sh_offset + cubin->names.sh_size - 1];
}

/* The section's header, with no bytes when they do not lie in the file. */
static Elf64_Shdr section_at(const struct cubin *cubin, uint32_t index)
{
    Elf64_Shdr section;
    memcpy(&section, cubin->sections + index * sizeof section, sizeof section);
    if (section.sh_type == SHT_NOBITS) return section;
    if (section.sh_offset > cubin->size || section.sh_size > cubin->size - section.sh_offset)
        section.sh_offset = section.sh_size = 0;
    return section;
}

static const char *section_name(const struct cubin *cubin, const Elf64_Shdr *section)
{
    if (section->sh_name >= cubin->names.sh_size) return "";
    return (const char *)cubin->bytes + cubin->names.sh_offset + section->sh_name;
}

/* Whether the name is PREFIX followed by KERNEL. */
static bool is_named(const char *name, const char *prefix, const char *kernel)
{
    size_t length = strlen(prefix);
    return !strncmp(name, prefix, length) && !strcmp(name + length, kernel);
}

static bool find_section(const struct cubin *cubin, const char *prefix, const char *kernel, Elf64_Shdr *found,
                         uint32_t *index)
{
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        *found = section_at(cubin, i);
        if (!is_named(section_name(cubin, found), prefix, kernel)) continue;
        if (index) *index = i;
        return true;
    }
    return false;
}

static bool symbol_at(const struct cubin *cubin, uint64_t number, Elf64_Sym *symbol)
{
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        Elf64_Shdr table = section_at(cubin, i);
        if (table.sh_type != SHT_SYMTAB) continue;
        if (number >= table.sh_size / sizeof *symbol) return false;
        memcpy(symbol, cubin->bytes + table.sh_offset + number * sizeof *symbol, sizeof *symbol);
        return true;
    }
    return false;
}

static size_t own_size(const struct cubin *cubin, uint32_t text, size_t size)
{
    Elf64_Sym symbol;
    for (uint64_t i = 0; symbol_at(cubin, i, &symbol); i++) {
        if (symbol.st_shndx != text || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        if (symbol.st_value > 0 && symbol.st_value < size) size = symbol.st_value;
    }
    return size;
}

bool cubin_find_code(const struct cubin *cubin, const char *kernel, struct cubin_code *code)
{
    Elf64_Shdr section;
    uint32_t index;
    if (!find_section(cubin, ".text.", kernel, &section, &index)) return false;
    if (section.sh_type == SHT_NOBITS || !section.sh_size || section.sh_size % CUBIN_INSTRUCTION_BYTES)
        return false;
    *code = (struct cubin_code){.bytes = cubin->bytes + section.sh_offset,
                                .size = section.sh_size,
                                .own_size = own_size(cubin, index, section.sh_size),
                                .section = index};
    return true;
}

/* Reads the note: u32 version, then offsets of the object's name, the tool's, its version, its build and its
 * options in the strings that follow. Linking leaves a note of each tool. */
static const char *tool_string(const unsigned char *description, size_t size, unsigned which)
{
    enum { WORDS = 6 };
    uint32_t words[WORDS];
    if (size < sizeof words) return NULL;
    memcpy(words, description, sizeof words);
    const char *strings = (const char *)description + sizeof words;
    size_t length = size - sizeof words;
    if (words[1 + which] >= length || !memchr(strings + words[1 + which], 0, length - words[1 + which]))
        return NULL;
    return strings + words[1 + which];
}

const char *cubin_assembler(const struct cubin *cubin, const char **options)
{
    enum { NAME = 1, VERSION = 2, OPTIONS = 4 };
    Elf64_Shdr section;
    *options = NULL;
    if (!find_section(cubin, ".note.nv.tkinfo", "", &section, NULL) || section.sh_type == SHT_NOBITS)
        return NULL;
    const unsigned char *at = cubin->bytes + section.sh_offset;
    for (size_t left = section.sh_size; left >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, at, sizeof note);
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull, size = ((uint64_t)note.n_descsz + 3) & ~3ull;
        if (name + size > left - sizeof note) return NULL;
        const char *tool = tool_string(at + sizeof note + name, note.n_descsz, NAME);
        if (tool && !strcmp(tool, "ptxas")) {
            const char *version = tool_string(at + sizeof note + name, note.n_descsz, VERSION);
            *options = tool_string(at + sizeof note + name, note.n_descsz, OPTIONS);
            const char *number = version ? strrchr(version, 'V') : NULL;
            return number ? number : version;
        }
        at += sizeof note + name + size;
        left -= sizeof note + name + size;
    }
    return NULL;
}

static bool has_option(const char *options, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = options; at && (at = strstr(at, option)); at += length)
        if ((at == options || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
    return false;
}

bool cubin_is_debug(const struct cubin *cubin)
{
    const char *options;
    Elf64_Shdr section;
    cubin_assembler(cubin, &options);
    return has_option(options, "-g") || find_section(cubin, ".debug_info", "", &section, NULL);
}

static const char *symbol_name(const struct cubin *cubin, const Elf64_Sym *symbol)
{
    Elf64_Shdr strings;
    if (!find_section(cubin, ".strtab", "", &strings, NULL) || strings.sh_type == SHT_NOBITS) return "";
    const char *text = (const char *)cubin->bytes + strings.sh_offset;
    if (symbol->st_name >= strings.sh_size ||
        !memchr(text + symbol->st_name, 0, strings.sh_size - symbol->st_name))
        return "";
    return text + symbol->st_name;
}

static uint64_t relocations_of(const struct cubin *cubin, const char *kernel, Elf64_Shdr *section)
{
    if (find_section(cubin, ".rela.text.", kernel, section, NULL) && section->sh_type == SHT_RELA)
        return section->sh_size / sizeof(Elf64_Rela);
    if (find_section(cubin, ".rel.text.", kernel, section, NULL) && section->sh_type == SHT_REL)
        return section->sh_size / sizeof(Elf64_Rel);
    return 0;
}

static Elf64_Rela relocation_at(const struct cubin *cubin, const Elf64_Shdr *section, uint64_t index)
{
    Elf64_Rela relocation = {0}; /* begins with an Elf64_Rel */
    size_t size = section->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    memcpy(&relocation, cubin->bytes + section->sh_offset + index * size, size);
    return relocation;
}

/* Functions inside a kernel's section carry the kernel's name: only their place is compared. */
static bool same_target(const struct cubin *a, uint64_t symbol_a, const struct cubin *b, uint64_t symbol_b)
{
    Elf64_Sym x, y;
    if (!symbol_at(a, symbol_a, &x) || !symbol_at(b, symbol_b, &y)) return false;
    if (ELF64_ST_TYPE(x.st_info) != ELF64_ST_TYPE(y.st_info) || x.st_value != y.st_value) return false;
    return ELF64_ST_TYPE(x.st_info) == STT_FUNC || !strcmp(symbol_name(a, &x), symbol_name(b, &y));
}

static bool same_relocations(const struct cubin *a, const char *kernel_a, const struct cubin *b,
                             const char *kernel_b)
{
    Elf64_Shdr first, second;
    uint64_t count = relocations_of(a, kernel_a, &first);
    if (count != relocations_of(b, kernel_b, &second)) return false;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Rela x = relocation_at(a, &first, i), y = relocation_at(b, &second, i);
        if (x.r_offset != y.r_offset || x.r_addend != y.r_addend ||
            ELF64_R_TYPE(x.r_info) != ELF64_R_TYPE(y.r_info) ||
            !same_target(a, ELF64_R_SYM(x.r_info), b, ELF64_R_SYM(y.r_info)))
            return false;
    }
    return true;
}

static bool same_section(const struct cubin *a, const char *kernel_a, const struct cubin *b,
                         const char *kernel_b, const char *prefix)
{
    Elf64_Shdr x, y;
    bool has_first = find_section(a, prefix, kernel_a, &x, NULL);
    if (has_first != find_section(b, prefix, kernel_b, &y, NULL)) return false;
    if (!has_first) return true;
    if (x.sh_size != y.sh_size || x.sh_type != y.sh_type) return false;
    return x.sh_type == SHT_NOBITS || !memcmp(a->bytes + x.sh_offset, b->bytes + y.sh_offset, x.sh_size);
}

static const char *code_difference(struct arena *arena, const struct cubin_code *a,
                                   const struct cubin_code *b)
{
    uint32_t differing = 0;
    if (a->size != b->size)
        return arena_printf(arena, "%zu instructions against %zu", a->size / CUBIN_INSTRUCTION_BYTES,
                            b->size / CUBIN_INSTRUCTION_BYTES);
    for (size_t at = 0; at < a->size; at += CUBIN_INSTRUCTION_BYTES)
        differing += memcmp(a->bytes + at, b->bytes + at, CUBIN_INSTRUCTION_BYTES) != 0;
    if (!differing) return NULL;
    return arena_printf(arena, "%u of %zu instructions differ", differing, a->size / CUBIN_INSTRUCTION_BYTES);
}

const char *cubin_difference(struct arena *arena, const struct cubin *a, const char *kernel_a,
                             const struct cubin *b, const char *kernel_b)
{
    struct cubin_code first, second;
    if (!cubin_find_code(a, kernel_a, &first) || !cubin_find_code(b, kernel_b, &second))
        return "its code cannot be read";
    const char *difference = code_difference(arena, &first, &second);
    if (difference) return difference;
    if (!same_relocations(a, kernel_a, b, kernel_b)) return "relocations differ";
    char prefix[] = ".nv.constant0.";
    for (char *digit = strchr(prefix, '0'); *digit <= '9'; (*digit)++)
        if (!same_section(a, kernel_a, b, kernel_b, prefix)) return "constants differ";
    return same_section(a, kernel_a, b, kernel_b, ".nv.shared.") ? NULL : "shared memory differs";
}

bool cubin_uses_variables(const struct cubin *cubin, const char *kernel)
{
    Elf64_Shdr section;
    Elf64_Sym symbol;
    uint64_t count = relocations_of(cubin, kernel, &section);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = ELF64_R_SYM(relocation_at(cubin, &section, i).r_info);
        if (!symbol_at(cubin, number, &symbol) || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return true;
    }
    return false;
}
