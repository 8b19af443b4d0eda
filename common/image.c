/* SPDX-License-Identifier: Apache-2.0
 * Load images: magic numbers and lengths only. Layout of fatbins: see image.h; of ELF: elf.h. */
#include "common/image.h"

#include <elf.h>
#include <string.h>

static size_t elf_size(const unsigned char *bytes, size_t limit)
{
    Elf64_Ehdr header;
    if (limit < sizeof header) return 0;
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shoff > limit || header.e_phoff > limit) return 0;
    uint64_t end = sizeof header, table;
    table = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    if (header.e_shoff < limit && table > end && table <= limit) end = table;
    table = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
    if (header.e_phoff < limit && table > end && table <= limit) end = table;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        uint64_t at = header.e_shoff + (uint64_t)i * header.e_shentsize;
        if (at > limit || limit - at < sizeof section) return 0;
        memcpy(&section, bytes + at, sizeof section);
        if (section.sh_type == SHT_NOBITS) continue;
        if (section.sh_offset > limit || section.sh_size > limit - section.sh_offset) return 0;
        if (section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
    }
    return end;
}

/* Containers may follow each other: the image ends before the first thing that is none. */
static size_t containers_size(const unsigned char *bytes, size_t limit)
{
    size_t size = 0;
    struct fatbin_header header;
    while (limit - size >= sizeof header) {
        memcpy(&header, bytes + size, sizeof header);
        if (header.magic != (uint32_t)FATBIN_MAGIC || header.header_size < sizeof header) break;
        if (header.header_size > limit - size || header.size > limit - size - header.header_size) break;
        size += header.header_size + header.size;
        if (limit == SIZE_MAX) break; /* nothing says that more may be read */
    }
    return size;
}

const struct fatbin_entry *image_next_entry(const struct image *image, const struct fatbin_entry *entry)
{
    const unsigned char *start = image->bytes, *end = start + image->size, *at;
    if (image->kind != IMAGE_FATBIN) return NULL;
    at = entry ? (const unsigned char *)entry + entry->header_size + entry->padded_size : start;
    while ((size_t)(end - at) >= sizeof(struct fatbin_header)) {
        uint32_t magic;
        memcpy(&magic, at, sizeof magic);
        size_t left = (size_t)(end - at);
        if (magic == (uint32_t)FATBIN_MAGIC) {
            struct fatbin_header header;
            memcpy(&header, at, sizeof header);
            if (header.header_size < sizeof header || header.header_size > left) return NULL;
            at += header.header_size;
            continue;
        }
        const struct fatbin_entry *next = (const struct fatbin_entry *)at;
        if ((uintptr_t)at % _Alignof(struct fatbin_entry)) return NULL; /* nothing writes such files */
        if (left < sizeof *next || next->header_size < sizeof *next || next->header_size > left) return NULL;
        if (next->padded_size > left - next->header_size) return NULL;
        if (next->compressed_size > next->padded_size) return NULL;
        return next;
    }
    return NULL;
}

static bool looks_like_text(const unsigned char *bytes, size_t limit)
{
    for (size_t i = 0; i < limit && i < 16; i++) {
        if (bytes[i] == 0) return i > 0;
        if (bytes[i] > 126 || (bytes[i] < 32 && !strchr("\t\n\r\f\v", bytes[i]))) return false;
    }
    return limit > 0;
}

struct image image_examine(const void *address, size_t limit)
{
    struct image image = {.bytes = address};
    if (!address || limit < 4) return image;
    uint32_t magic;
    memcpy(&magic, address, sizeof magic);
    if (magic == FATBIN_WRAPPER_MAGIC && limit >= sizeof(struct fatbin_wrapper)) {
        struct fatbin_wrapper wrapper;
        memcpy(&wrapper, address, sizeof wrapper);
        memcpy(&magic, limit == SIZE_MAX && wrapper.data ? wrapper.data : address, sizeof magic);
        if (magic == FATBIN_WRAPPER_MAGIC) return image; /* one inside another, or the bytes of a file */
        image = image_examine(wrapper.data, SIZE_MAX);
        image.is_relocatable = wrapper.version == 2;
        return image;
    }
    if (magic == (uint32_t)FATBIN_MAGIC) {
        image.size = containers_size(address, limit);
        image.kind = image.size ? IMAGE_FATBIN : IMAGE_UNKNOWN;
        for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(&image, entry));)
            image.has_ptx |= entry->kind == FATBIN_PTX;
    } else if (!memcmp(address, ELFMAG, SELFMAG)) {
        image.size = elf_size(address, limit);
        image.kind = image.size ? IMAGE_ELF : IMAGE_UNKNOWN;
    } else if (looks_like_text(address, limit)) {
        image.kind = IMAGE_PTX;
        image.has_ptx = true;
        image.size = limit == SIZE_MAX ? strlen(address) : strnlen(address, limit);
    }
    return image;
}
