/* SPDX-License-Identifier: Apache-2.0
 * Load images: what a program hands to cuModuleLoadData or cuLibraryLoadData, told apart and measured without
 * decompressing anything. Layouts: fatbin wrapper and container as nvcc 13.0 writes them. */
#ifndef KFUSE_COMMON_IMAGE_H
#define KFUSE_COMMON_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
    IMAGE_UNKNOWN,
    IMAGE_PTX,    /* NUL-terminated PTX text */
    IMAGE_ELF,    /* a cubin */
    IMAGE_FATBIN, /* one or more fatbin containers in a row */
};

enum { FATBIN_WRAPPER_MAGIC = 0x466243B1, FATBIN_MAGIC = (int)0xBA55ED50 };
enum fatbin_entry_kind { FATBIN_PTX = 1, FATBIN_ELF = 2 };
enum fatbin_flags { FATBIN_64BIT = 1, FATBIN_LINUX = 0x10, FATBIN_LZ4 = 0x2000, FATBIN_ZSTD = 0x8000 };

struct fatbin_wrapper {
    uint32_t magic, version; /* version 1: data points to a container; 2: relocatable, not fusible */
    const void *data;
    const void *prelinked;
};

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of the entries that follow the header, bytes */
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t padded_size; /* of the payload; the next entry starts at header_size + padded_size */
    uint32_t compressed_size, options_offset;
    uint16_t minor, major;
    uint32_t sm;
    uint32_t name_offset, name_length;
    uint64_t flags;
    uint64_t zero;
    uint64_t uncompressed_size;
};
_Static_assert(sizeof(struct fatbin_header) == 16, "fatbin header");
_Static_assert(sizeof(struct fatbin_entry) == 64, "fatbin entry");

struct image {
    enum image_kind kind;
    const void *bytes; /* the wrapper removed; belongs to whoever owns the image */
    size_t size;       /* PTX: without the NUL */
    bool has_ptx;
    bool is_relocatable; /* wrapper version 2 */
};

/* Measures the image at address, trusting only its own lengths, as the driver does.
 * limit: bytes that may be read, or SIZE_MAX when the caller's contract gives none. A wrapper's pointer is followed
 * only then: in the bytes of a file it means nothing. */
struct image image_examine(const void *address, size_t limit);
/* Steps through the entries of a fatbin image: pass NULL first; NULL at the end or at the first malformed entry.
 * The payload follows the entry at header_size and lies inside the image. Entries that are not aligned to 8 bytes end
 * the walk. */
const struct fatbin_entry *image_next_entry(const struct image *image, const struct fatbin_entry *entry);

#endif
