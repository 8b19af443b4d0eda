/* SPDX-License-Identifier: Apache-2.0
 * Compares two cubins section by section: compare_code FIRST SECOND. A kernel's sections are those whose
 * names end in its name: its code (.text), constant banks, .nv.info, shared memory, relocations. One line a
 * kernel: `same NAME` or `differs NAME: SECTION`; what belongs to no kernel (variables, symbols, other
 * functions) is compared too and named only where it differs. Exit status 1: something differs; 2: no cubin.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cubin {
    unsigned char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned count;
    const char *names;
};
struct section {
    const char *name;
    const Elf64_Shdr *header;
    const unsigned char *bytes; /* NULL: takes no bytes in the file */
};

static void require(bool condition, const char *path, const char *what)
{
    if (condition) return;
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static struct cubin read_cubin(const char *path)
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

static struct section section_at(const struct cubin *cubin, unsigned index)
{
    const Elf64_Shdr *header = &cubin->sections[index];
    bool has_bytes = header->sh_type != SHT_NOBITS;
    return (struct section){cubin->names + header->sh_name, header,
                            has_bytes ? cubin->bytes + header->sh_offset : NULL};
}

static bool find_section(const struct cubin *cubin, const char *name, struct section *section)
{
    for (unsigned i = 0; i < cubin->count; i++) {
        *section = section_at(cubin, i);
        if (!strcmp(section->name, name)) return true;
    }
    return false;
}

/* NULL, or in what they differ. */
static const char *difference(const struct section *a, const struct cubin *other)
{
    struct section b;
    if (!find_section(other, a->name, &b)) return "is missing";
    if (a->header->sh_size != b.header->sh_size) return "has another size";
    if (a->header->sh_type != b.header->sh_type || a->header->sh_flags != b.header->sh_flags ||
        a->header->sh_addralign != b.header->sh_addralign)
        return "has another type";
    /* of code: registers and barriers are in sh_info; of others an index */
    if (!strncmp(a->name, ".text.", 6) && a->header->sh_info != b.header->sh_info)
        return "uses other registers";
    return a->bytes && memcmp(a->bytes, b.bytes, a->header->sh_size) ? "has other bytes" : NULL;
}

static bool belongs_to(const char *section, const char *kernel)
{
    size_t length = strlen(section), suffix = strlen(kernel);
    return length > suffix && section[length - suffix - 1] == '.' &&
           !strcmp(section + length - suffix, kernel);
}

/* An entry has parameters: bank 0 of constants is its own. */
static const char *kernel_of(const char *section)
{
    static const char prefix[] = ".nv.constant0.";
    return strncmp(section, prefix, sizeof prefix - 1) ? NULL : section + sizeof prefix - 1;
}

static bool compare_kernel(const struct cubin *a, const struct cubin *b, const char *kernel)
{
    for (unsigned i = 0; i < a->count; i++) {
        struct section section = section_at(a, i);
        const char *wrong = belongs_to(section.name, kernel) ? difference(&section, b) : NULL;
        if (!wrong) continue;
        printf("differs %s: %s %s\n", kernel, section.name, wrong);
        return false;
    }
    printf("same %s\n", kernel);
    return true;
}

static bool belongs_to_a_kernel(const struct cubin *cubin, const char *name)
{
    for (unsigned i = 0; i < cubin->count; i++) {
        const char *kernel = kernel_of(section_at(cubin, i).name);
        if (kernel && belongs_to(name, kernel)) return true;
    }
    return false;
}

/* What is no kernel's, and what only one of them has. */
static unsigned compare_rest(const struct cubin *a, const struct cubin *b)
{
    unsigned differing = a->count != b->count;
    if (differing) printf("differs: %u sections, not %u\n", b->count, a->count);
    for (unsigned i = 0; i < a->count; i++) {
        struct section section = section_at(a, i);
        const char *wrong = difference(&section, b);
        if (!wrong || belongs_to_a_kernel(a, section.name)) continue;
        printf("differs: %s %s\n", section.name, wrong);
        differing++;
    }
    return differing;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: compare_code FIRST SECOND\n");
        return 2;
    }
    struct cubin a = read_cubin(argv[1]), b = read_cubin(argv[2]);
    unsigned differing = 0;
    for (unsigned i = 0; i < a.count; i++) {
        const char *kernel = kernel_of(section_at(&a, i).name);
        if (kernel) differing += !compare_kernel(&a, &b, kernel);
    }
    differing += compare_rest(&a, &b);
    free(a.bytes);
    free(b.bytes);
    return differing != 0;
}
