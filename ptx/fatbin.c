/* SPDX-License-Identifier: Apache-2.0
 * PTX texts and machine code in load images: entries found by common/image.h, decompressed here. A malformed
 * entry is skipped. Also writes a container of one PTX text and one cubin. */
#include "common/image.h"
#include "ptx/ptx.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LARGEST_ENTRY (UINT64_C(1) << 30)
#define LARGEST_IMAGE (UINT64_C(2) << 30) /* all entries that are asked for, decompressed */

/* No byte of LZ4 stands for more than 255; a zstd block takes 4 bytes or more and stands for 128 KiB at most: memory is
 * not taken for a size that is only claimed. */
static bool is_size_possible(const struct fatbin_entry *entry, uint64_t bytes)
{
    enum { LZ4_GROWTH = 255, ZSTD_GROWTH = (128 << 10) / 4 };
    uint64_t growth = entry->flags & FATBIN_ZSTD ? ZSTD_GROWTH : entry->flags & FATBIN_LZ4 ? LZ4_GROWTH : 1;
    if (bytes > LARGEST_ENTRY || entry->compressed_size > LARGEST_ENTRY) return false;
    return growth == 1 || bytes <= growth * entry->compressed_size;
}

/* The payload of an entry, decompressed, with a NUL behind it. NULL: malformed, memory is out, or more than *budget,
 * from which it is taken. */
static char *entry_payload(struct arena *arena, const struct fatbin_entry *entry, size_t *size,
                           uint64_t *budget)
{
    const char *payload = (const char *)entry + entry->header_size;
    bool is_zstd = entry->flags & FATBIN_ZSTD, is_lz4 = entry->flags & FATBIN_LZ4;
    uint64_t bytes = is_zstd || is_lz4 ? entry->uncompressed_size : entry->padded_size;
    if (!is_size_possible(entry, bytes) || (is_zstd && is_lz4) || bytes > *budget) return NULL;
    *budget -= bytes;
    char *result = arena_alloc(arena, bytes + 1);
    if (!result) return NULL;
    *size = bytes;
    if (is_zstd) {
        size_t written = ZSTD_decompress(result, bytes, payload, entry->compressed_size);
        return !ZSTD_isError(written) && written == bytes ? result : NULL;
    }
    if (is_lz4) {
        int written = LZ4_decompress_safe(payload, result, (int)entry->compressed_size, (int)bytes);
        return written >= 0 && (uint64_t)written == bytes ? result : NULL;
    }
    return memcpy(result, payload, bytes);
}

static uint32_t count_entries(const struct image *image, enum fatbin_entry_kind kind)
{
    uint32_t count = 0;
    for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(image, entry));)
        count += entry->kind == kind;
    return count;
}

/* The number behind `.target sm_` -- ISA 11.1.2; 0: none */
static uint32_t sm_of_text(const char *text)
{
    const char *target = strstr(text, ".target");
    target = target ? target + strlen(".target") : NULL;
    while (target && (*target == ' ' || *target == '\t')) target++;
    return target && !strncmp(target, "sm_", 3) ? (uint32_t)strtoul(target + 3, NULL, 10) : 0;
}

static uint32_t text_of_plain_image(struct arena *arena, const struct image *image, struct ptx_text **texts)
{
    struct ptx_text *text = arena_alloc(arena, sizeof *text);
    char *copy = arena_strndup(arena, image->bytes, image->size);
    if (!text || !copy) return 0;
    *text = (struct ptx_text){copy, image->size, sm_of_text(copy)};
    *texts = text;
    return 1;
}

uint32_t ptx_texts_of_image(struct arena *arena, const void *bytes, size_t size, struct ptx_text **texts)
{
    struct image image = image_examine(bytes, size);
    *texts = NULL;
    if (image.kind == IMAGE_PTX) return text_of_plain_image(arena, &image, texts);
    uint32_t entries = count_entries(&image, FATBIN_PTX), count = 0;
    struct ptx_text *result = entries ? arena_calloc(arena, entries, sizeof *result) : NULL;
    if (!result) return 0;
    uint64_t budget = LARGEST_IMAGE;
    for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(&image, entry));) {
        size_t length;
        char *text = entry->kind == FATBIN_PTX ? entry_payload(arena, entry, &length, &budget) : NULL;
        if (text) result[count++] = (struct ptx_text){text, strlen(text), entry->sm};
    }
    *texts = count ? result : NULL;
    return count;
}

/* A cubin's architecture is in e_flags: the second byte from ABI version 8 on, the first before. */
static uint32_t sm_of_cubin(const void *bytes, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header) return 0;
    memcpy(&header, bytes, sizeof header);
    return (header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 : header.e_flags) & 0xff;
}

uint32_t ptx_machine_code_of_image(struct arena *arena, const void *bytes, size_t size,
                                   struct ptx_machine_code **cubins)
{
    struct image image = image_examine(bytes, size);
    uint32_t entries = image.kind == IMAGE_ELF ? 1 : count_entries(&image, FATBIN_ELF), count = 0;
    struct ptx_machine_code *result = entries ? arena_calloc(arena, entries, sizeof *result) : NULL;
    *cubins = NULL;
    if (!result) return 0;
    if (image.kind == IMAGE_ELF) {
        void *copy = arena_alloc(arena, image.size);
        if (copy)
            result[count++] = (struct ptx_machine_code){memcpy(copy, image.bytes, image.size), image.size,
                                                        sm_of_cubin(image.bytes, image.size)};
    }
    uint64_t budget = LARGEST_IMAGE;
    for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(&image, entry));) {
        size_t length;
        char *code = entry->kind == FATBIN_ELF ? entry_payload(arena, entry, &length, &budget) : NULL;
        if (code) result[count++] = (struct ptx_machine_code){code, length, entry->sm};
    }
    *cubins = count ? result : NULL;
    return count;
}

const struct ptx_text *ptx_text_for(const struct ptx_text *texts, uint32_t count, uint32_t sm)
{
    const struct ptx_text *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (texts[i].sm <= sm && (!best || texts[i].sm > best->sm)) best = &texts[i];
    return best;
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

/* What the driver reads of a PTX entry without asking whether it is there: the compiler's options, none here.
 */
struct ptx_options {
    uint32_t offset, length; /* of the text, from the entry's start */
    char text[8];
};

static unsigned char *write_entry(unsigned char *at, struct fatbin_entry entry, const void *payload,
                                  size_t size)
{
    struct ptx_options options = {.offset = sizeof entry + offsetof(struct ptx_options, text)};
    bool has_options = entry.kind == FATBIN_PTX;
    entry.version = 0x101;
    entry.header_size = sizeof entry + (has_options ? sizeof options : 0);
    entry.options_offset = has_options ? sizeof entry : 0;
    entry.padded_size = padded(size);
    entry.flags = FATBIN_64BIT | FATBIN_LINUX;
    memcpy(at, &entry, sizeof entry);
    if (has_options) memcpy(at + sizeof entry, &options, sizeof options);
    memcpy(at + entry.header_size, payload, size);
    return at + entry.header_size + padded(size);
}

/* The version of the text's language: an entry says it too. */
static void version_of_text(const char *text, struct fatbin_entry *entry)
{
    const char *version = strstr(text, ".version");
    char *dot;
    if (!version) return;
    entry->major = (uint16_t)strtoul(version + strlen(".version"), &dot, 10);
    if (*dot == '.') entry->minor = (uint16_t)strtoul(dot + 1, NULL, 10);
}

void *ptx_fatbin_write(struct arena *arena, uint32_t sm, const char *ptx, const void *elf, size_t elf_size,
                       size_t *size)
{
    size_t ptx_size = ptx ? strlen(ptx) + 1 : 0, entries = 0;
    if (ptx) entries += sizeof(struct fatbin_entry) + sizeof(struct ptx_options) + padded(ptx_size);
    if (elf) entries += sizeof(struct fatbin_entry) + padded(elf_size);
    struct fatbin_header header = {
        .magic = (uint32_t)FATBIN_MAGIC, .version = 1, .header_size = sizeof header, .size = entries};
    unsigned char *result = arena_alloc(arena, sizeof header + entries), *at = result;
    if (!result) return NULL;
    memcpy(at, &header, sizeof header);
    at += sizeof header;
    if (elf) { /* as nvcc writes it: 1.8 */
        struct fatbin_entry entry = {.kind = FATBIN_ELF, .major = 1, .minor = 8, .sm = sm};
        at = write_entry(at, entry, elf, elf_size);
    }
    if (ptx) {
        struct fatbin_entry entry = {.kind = FATBIN_PTX, .sm = sm};
        version_of_text(ptx, &entry);
        at = write_entry(at, entry, ptx, ptx_size);
    }
    *size = sizeof header + entries;
    return result;
}
