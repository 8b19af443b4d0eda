/* SPDX-License-Identifier: Apache-2.0
 * PTX texts in files: executables and libraries (section .nv_fatbin), fatbins, PTX. Maps the file while it
 * reads. */
#include "common/image.h"
#include "ptx/ptx.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct collection {
    struct arena *arena;
    struct ptx_text *texts;
    uint32_t count, capacity;
};

static void collect_image(struct collection *collection, const void *bytes, size_t size)
{
    struct ptx_text *texts;
    uint32_t count = ptx_texts_of_image(collection->arena, bytes, size, &texts);
    if (!count) return;
    if (collection->count + count > collection->capacity) {
        uint32_t capacity = 2 * (collection->count + count);
        struct ptx_text *grown =
            arena_grow(collection->arena, collection->texts, collection->count, capacity, sizeof *grown);
        if (!grown) return;
        collection->texts = grown;
        collection->capacity = capacity;
    }
    memcpy(collection->texts + collection->count, texts, count * sizeof *texts);
    collection->count += count;
}

/* Containers in a row, each on its own, so that padding or a broken one between them costs nothing else. */
static void collect_containers(struct collection *collection, const unsigned char *bytes, size_t size)
{
    struct fatbin_header header;
    for (size_t at = 0; size - at >= sizeof header;) {
        memcpy(&header, bytes + at, sizeof header);
        uint64_t left = size - at, length = header.header_size + header.size;
        if (header.magic != (uint32_t)FATBIN_MAGIC || header.size > left || length > left) {
            at += 8;
            if (at > size) return;
            continue;
        }
        collect_image(collection, bytes + at, (size_t)length);
        at += length ? (size_t)length : 8;
    }
}

/* The section's bytes inside the file; false when it reaches out of it. */
static bool read_section(const unsigned char *bytes, size_t size, const Elf64_Ehdr *header, unsigned index,
                         Elf64_Shdr *section)
{
    if (header->e_shentsize != sizeof *section || header->e_shoff > size) return false;
    if ((uint64_t)(index + 1) * sizeof *section > size - header->e_shoff) return false;
    memcpy(section, bytes + header->e_shoff + (uint64_t)index * sizeof *section, sizeof *section);
    if (section->sh_type == SHT_NOBITS) return true;
    return section->sh_offset <= size && section->sh_size <= size - section->sh_offset;
}

static bool has_name(const unsigned char *bytes, const Elf64_Shdr *names, const Elf64_Shdr *section,
                     const char *name)
{
    size_t length = strlen(name) + 1;
    return section->sh_name < names->sh_size && names->sh_size - section->sh_name >= length &&
           !memcmp(bytes + names->sh_offset + section->sh_name, name, length);
}

static void collect_elf(struct collection *collection, const unsigned char *bytes, size_t size)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (size < sizeof header) return;
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return;
    if (!read_section(bytes, size, &header, header.e_shstrndx, &names) || names.sh_type == SHT_NOBITS) return;
    for (unsigned i = 0; i < header.e_shnum; i++)
        if (read_section(bytes, size, &header, i, &section) && section.sh_type != SHT_NOBITS &&
            has_name(bytes, &names, &section, ".nv_fatbin"))
            collect_containers(collection, bytes + section.sh_offset, section.sh_size);
}

static void collect_file(struct collection *collection, const unsigned char *bytes, size_t size)
{
    uint32_t magic = 0;
    if (size >= sizeof magic) memcpy(&magic, bytes, sizeof magic);
    if (magic == (uint32_t)FATBIN_MAGIC)
        collect_containers(collection, bytes, size);
    else if (size >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG))
        collect_elf(collection, bytes, size);
    else if (magic != FATBIN_WRAPPER_MAGIC)
        collect_image(collection, bytes, size);
}

/* NULL with *error set when the file cannot be read; an empty file maps to nothing. */
static const void *map_file(struct arena *arena, const char *path, size_t *size, const char **error)
{
    struct stat status = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_open = file >= 0 && !fstat(file, &status);
    *size = (size_t)status.st_size;
    void *bytes = MAP_FAILED;
    if (is_open && !S_ISREG(status.st_mode))
        *error = arena_printf(arena, "%s: not a regular file", path);
    else if (is_open && !*size)
        *error = arena_printf(arena, "%s: the file is empty", path);
    else if (is_open)
        bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED && !*error) *error = arena_printf(arena, "%s: %s", path, strerror(errno));
    if (file >= 0) close(file);
    return bytes == MAP_FAILED ? NULL : bytes;
}

uint32_t ptx_texts_of_file(struct arena *arena, const char *path, struct ptx_text **texts, const char **error)
{
    struct collection collection = {.arena = arena};
    size_t size;
    *error = NULL;
    *texts = NULL;
    const void *bytes = map_file(arena, path, &size, error);
    if (!bytes) return 0;
    collect_file(&collection, bytes, size);
    munmap((void *)bytes, size);
    if (!collection.count)
        *error = arena_printf(
            arena, "%s: no PTX inside (a program must be built with PTX: nvcc -arch=sm_NN, not -arch=native)",
            path);
    *texts = collection.texts;
    return collection.count;
}
