/* SPDX-License-Identifier: Apache-2.0
 * Reads a cubin and finds its sections. */
#include "tests/ptx/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool condition, const char *path, const char *what)
{
    if (condition) return;
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

struct cubin cubin_read(const char *path)
{
    struct cubin cubin = {0};
    Elf64_Ehdr header;
    FILE *file = fopen(path, "rb");
    require(file && !fseek(file, 0, SEEK_END), path, "cannot be read");
    cubin.size = (size_t)ftell(file);
    rewind(file);
    cubin.bytes = malloc(cubin.size + 1);
    require(cubin.bytes && fread(cubin.bytes, 1, cubin.size, file) == cubin.size, path, "cannot be read");
    fclose(file);
    require(cubin.size >= sizeof header, path, "too short");
    memcpy(&header, cubin.bytes, sizeof header);
    require(!memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64, path,
            "no ELF file");
    require(header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shoff % 8 == 0 &&
                header.e_shoff <= cubin.size &&
                (cubin.size - header.e_shoff) / sizeof(Elf64_Shdr) >= header.e_shnum &&
                header.e_shstrndx < header.e_shnum,
            path, "its table of sections is damaged");
    cubin.sections = (const Elf64_Shdr *)(cubin.bytes + header.e_shoff);
    cubin.count = header.e_shnum;
    for (unsigned i = 0; i < cubin.count; i++)
        require(cubin.sections[i].sh_type == SHT_NOBITS ||
                    (cubin.sections[i].sh_offset <= cubin.size &&
                     cubin.sections[i].sh_size <= cubin.size - cubin.sections[i].sh_offset),
                path, "a section lies outside the file");
    cubin.names = (const char *)cubin.bytes + cubin.sections[header.e_shstrndx].sh_offset;
    return cubin;
}

struct section cubin_section(const struct cubin *cubin, unsigned index)
{
    const Elf64_Shdr *header = &cubin->sections[index];
    bool has_bytes = header->sh_type != SHT_NOBITS;
    return (struct section){cubin->names + header->sh_name, header,
                            has_bytes ? cubin->bytes + header->sh_offset : NULL};
}

bool cubin_find(const struct cubin *cubin, const char *name, struct section *section)
{
    for (unsigned i = 0; i < cubin->count; i++) {
        *section = cubin_section(cubin, i);
        if (!strcmp(section->name, name)) return true;
    }
    return false;
}
