/* SPDX-License-Identifier: Apache-2.0
 * Compares two cubins section by section: compare_code FIRST SECOND. A kernel's sections are those whose
 * names end in its name: its code (.text), constant banks, .nv.info, shared memory, relocations. One line a
 * kernel: `same NAME` or `differs NAME: SECTION`; what belongs to no kernel (variables, symbols, other
 * functions) is compared too and named only where it differs. Exit status 1: something differs; 2: no cubin.
 */
#include "tests/ptx/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL, or in what they differ. */
static const char *difference(const struct section *a, const struct cubin *other)
{
    struct section b;
    if (!cubin_find(other, a->name, &b)) return "is missing";
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
        struct section section = cubin_section(a, i);
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
        const char *kernel = kernel_of(cubin_section(cubin, i).name);
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
        struct section section = cubin_section(a, i);
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
    struct cubin a = cubin_read(argv[1]), b = cubin_read(argv[2]);
    unsigned differing = 0;
    for (unsigned i = 0; i < a.count; i++) {
        const char *kernel = kernel_of(cubin_section(&a, i).name);
        if (kernel) differing += !compare_kernel(&a, &b, kernel);
    }
    differing += compare_rest(&a, &b);
    free(a.bytes);
    free(b.bytes);
    return differing != 0;
}
