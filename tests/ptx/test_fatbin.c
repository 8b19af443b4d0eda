/* SPDX-License-Identifier: Apache-2.0
 * Containers made here, whole and damaged: what is written is found again, what is broken is skipped. */
#include "common/image.h"
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lz4.h>
#include <zstd.h>

static const char text_90[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n// a text that compresses: aaaaaaaaaaaaaaaa\n";

struct container {
    _Alignas(8) unsigned char bytes[8192];
    size_t size;
};

static void begin(struct container *container)
{
    struct fatbin_header header = {
        .magic = (uint32_t)FATBIN_MAGIC, .version = 1, .header_size = sizeof header};
    memset(container, 0, sizeof *container);
    memcpy(container->bytes, &header, sizeof header);
    container->size = sizeof header;
}

static void append(struct container *container, struct fatbin_entry entry, const void *payload, size_t size)
{
    entry.version = 0x101;
    entry.header_size = sizeof entry;
    entry.padded_size = (size + 7) & ~(size_t)7;
    memcpy(container->bytes + container->size, &entry, sizeof entry);
    memcpy(container->bytes + container->size + sizeof entry, payload, size);
    container->size += sizeof entry + entry.padded_size;
    ((struct fatbin_header *)container->bytes)->size = container->size - sizeof(struct fatbin_header);
}

static void append_zstd(struct container *container, const char *text, uint32_t sm, uint64_t claimed)
{
    char packed[1024];
    size_t size = ZSTD_compress(packed, sizeof packed, text, strlen(text) + 1, 3);
    assert_false(ZSTD_isError(size));
    struct fatbin_entry entry = {.kind = FATBIN_PTX,
                                 .sm = sm,
                                 .flags = FATBIN_ZSTD,
                                 .compressed_size = (uint32_t)size,
                                 .uncompressed_size = claimed};
    append(container, entry, packed, size);
}

static void append_lz4(struct container *container, const char *text, uint32_t sm)
{
    char packed[1024];
    int size = LZ4_compress_default(text, packed, (int)strlen(text) + 1, sizeof packed);
    struct fatbin_entry entry = {.kind = FATBIN_PTX,
                                 .sm = sm,
                                 .flags = FATBIN_LZ4,
                                 .compressed_size = (uint32_t)size,
                                 .uncompressed_size = strlen(text) + 1};
    append(container, entry, packed, (size_t)size);
}

static void reads_what_it_writes(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    struct ptx_machine_code *cubins;
    size_t size;
    void *image = ptx_fatbin_write(arena, 90, text_90, "\177ELF code", 9, &size);
    assert_int_equal(ptx_texts_of_image(arena, image, size, &texts), 1);
    assert_string_equal(texts[0].text, text_90);
    assert_int_equal(texts[0].length, strlen(text_90));
    assert_int_equal(texts[0].sm, 90);
    assert_int_equal(ptx_machine_code_of_image(arena, image, size, &cubins), 1);
    assert_memory_equal(cubins[0].bytes, "\177ELF code", 9);
    assert_int_equal(cubins[0].sm, 90);
    struct image examined = image_examine(image, SIZE_MAX);
    assert_int_equal(examined.size, size);
    image = ptx_fatbin_write(arena, 90, NULL, "\177ELF", 4, &size);
    assert_int_equal(ptx_texts_of_image(arena, image, size, &texts), 0);
    arena_free(arena);
}

/* The driver crashes on a PTX entry that has no options (580.159): they stand behind the entry, empty. */
static void writes_options_of_ptx(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    size_t size;
    struct image image = image_examine(ptx_fatbin_write(arena, 90, text_90, NULL, 0, &size), SIZE_MAX);
    const struct fatbin_entry *entry = image_next_entry(&image, NULL);
    uint32_t options[2];
    assert_non_null(entry);
    assert_int_equal(entry->options_offset, sizeof *entry);
    assert_true(entry->options_offset + sizeof options <= entry->header_size);
    memcpy(options, (const char *)entry + entry->options_offset, sizeof options);
    assert_in_range(options[0], entry->options_offset + sizeof options, entry->header_size - 1);
    assert_int_equal(options[1], 0);
    assert_int_equal(entry->major, 8);
    assert_int_equal(entry->minor, 4);
    arena_free(arena);
}

static void follows_a_wrapper_in_memory(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    size_t size;
    struct fatbin_wrapper wrapper = {.magic = FATBIN_WRAPPER_MAGIC,
                                     .version = 1,
                                     .data = ptx_fatbin_write(arena, 90, text_90, NULL, 0, &size)};
    assert_int_equal(ptx_texts_of_image(arena, &wrapper, SIZE_MAX, &texts), 1);
    assert_int_equal(ptx_texts_of_image(arena, &wrapper, sizeof wrapper, &texts), 0);
    arena_free(arena);
}

static void unpacks_and_skips_the_broken(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct container container;
    struct ptx_text *texts;
    begin(&container);
    append_zstd(&container, text_90, 90, sizeof text_90);
    append_zstd(&container, "claims too little", 1, 3);
    append_zstd(&container, "claims too much", 2, UINT64_MAX);
    append_lz4(&container, text_90, 80);
    append(&container,
           (struct fatbin_entry){.kind = FATBIN_PTX, .sm = 3, .flags = FATBIN_ZSTD, .compressed_size = 8},
           "nonsense", 8);
    append(&container, (struct fatbin_entry){.kind = 77}, "other", 5);
    append(&container, (struct fatbin_entry){.kind = FATBIN_PTX, .sm = 100}, text_90, sizeof text_90);
    assert_int_equal(ptx_texts_of_image(arena, container.bytes, container.size, &texts), 3);
    assert_int_equal(texts[0].sm, 90);
    assert_int_equal(texts[1].sm, 80);
    assert_int_equal(texts[2].sm, 100);
    for (int i = 0; i < 3; i++) assert_string_equal(texts[i].text, text_90);
    assert_ptr_equal(ptx_text_for(texts, 3, 90), &texts[0]);
    assert_ptr_equal(ptx_text_for(texts, 3, 89), &texts[1]);
    assert_ptr_equal(ptx_text_for(texts, 3, 120), &texts[2]);
    assert_null(ptx_text_for(texts, 3, 75));
    arena_free(arena);
}

static void takes_plain_text(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    assert_int_equal(ptx_texts_of_image(arena, text_90, SIZE_MAX, &texts), 1);
    assert_int_equal(texts[0].sm, 90);
    assert_int_equal(ptx_texts_of_image(arena, text_90, 20, &texts), 1); /* no NUL within the limit */
    assert_int_equal(texts[0].length, 20);
    arena_free(arena);
}

/* Every length, and every byte set to 0 and to 255: the sanitizers watch. */
static void survives_damage(void **state)
{
    (void)state;
    struct container container;
    begin(&container);
    append_zstd(&container, text_90, 90, sizeof text_90);
    append_lz4(&container, text_90, 80);
    for (size_t size = 0; size <= container.size; size++) {
        struct arena *arena = arena_create();
        struct ptx_text *texts;
        unsigned char *copy = malloc(size + 1); /* exact, so that reading on is seen */
        memcpy(copy, container.bytes, size);
        ptx_texts_of_image(arena, copy, size, &texts);
        free(copy);
        arena_free(arena);
    }
    for (size_t i = 0; i < 2 * container.size; i++) {
        struct arena *arena = arena_create();
        struct ptx_text *texts;
        struct ptx_machine_code *cubins;
        unsigned char *copy = malloc(container.size);
        memcpy(copy, container.bytes, container.size);
        copy[i / 2] = i % 2 ? 0xff : 0;
        assert_in_range(ptx_texts_of_image(arena, copy, container.size, &texts), 0, 2);
        ptx_machine_code_of_image(arena, copy, container.size, &cubins);
        free(copy);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(writes_options_of_ptx),
        cmocka_unit_test(follows_a_wrapper_in_memory),
        cmocka_unit_test(unpacks_and_skips_the_broken),
        cmocka_unit_test(takes_plain_text),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
