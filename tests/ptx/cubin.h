/* SPDX-License-Identifier: Apache-2.0
 * Sections of a cubin, for tests that trust the file's maker. What is no cubin ends the process with
 * status 2. */
#ifndef KFUSE_TESTS_PTX_CUBIN_H
#define KFUSE_TESTS_PTX_CUBIN_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct cubin {
    unsigned char *bytes; /* freed by the caller */
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

struct cubin cubin_read(const char *path);
struct section cubin_section(const struct cubin *cubin, unsigned index);
bool cubin_find(const struct cubin *cubin, const char *name, struct section *section);

#endif
