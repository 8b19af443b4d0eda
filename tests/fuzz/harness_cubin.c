/* SPDX-License-Identifier: Apache-2.0
 * Machine code: every kernel that a cubin names, read in all ways, and compared with itself and the others.
 */
#include "fuser/codegen/cubin.h"
#include "fuser/codegen/machine_code.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned sink;

static void touch_text(const char *text)
{
    if (text) sink += (unsigned)strlen(text);
}

/* The name behind .text. of the section, or NULL. */
static const char *kernel_at(const struct cubin *cubin, uint32_t index)
{
    static const char prefix[] = ".text.";
    Elf64_Shdr section;
    memcpy(&section, cubin->sections + index * sizeof section, sizeof section);
    if (section.sh_name >= cubin->names.sh_size) return NULL;
    const char *name = (const char *)cubin->bytes + cubin->names.sh_offset + section.sh_name;
    return strncmp(name, prefix, sizeof prefix - 1) ? NULL : name + sizeof prefix - 1;
}

static void read_kernel(struct arena *arena, const struct cubin *cubin, const char *kernel)
{
    struct cubin_code code;
    struct machine_code_counts counts;
    if (cubin_find_code(cubin, kernel, &code)) {
        if (code.own_size > code.size) abort();
        for (size_t i = 0; i < code.size; i++) sink += code.bytes[i];
        touch_text(cubin_difference(arena, cubin, kernel, cubin, kernel));
    }
    sink += machine_code_count(cubin->bytes, cubin->size, kernel, &counts);
    sink += cubin_uses_variables(cubin, kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { KERNELS = 4 };
    struct arena *arena = arena_create();
    struct cubin cubin;
    const char *options, *before = NULL;
    unsigned kernels = 0;
    if (!arena) abort();
    if (cubin_open(&cubin, bytes, size)) {
        touch_text(cubin_assembler(&cubin, &options));
        touch_text(options);
        sink += cubin_is_debug(&cubin);
        for (uint32_t i = 0; i < cubin.section_count && kernels < KERNELS; i++) {
            const char *kernel = kernel_at(&cubin, i);
            if (!kernel) continue;
            read_kernel(arena, &cubin, kernel);
            if (before) touch_text(cubin_difference(arena, &cubin, before, &cubin, kernel));
            before = kernel;
            kernels++;
        }
    }
    arena_free(arena);
    return 0;
}
