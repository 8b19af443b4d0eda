/* SPDX-License-Identifier: Apache-2.0
 * Load images: what each kind looks like, and that damaged ones are never read outside their limit (every
 * image lies in a heap block of its exact size, so that the address sanitizer sees the end). */
#include "common/image.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LIMIT = 1024 };
static unsigned char bytes[LIMIT];
static size_t size;

static void *add(const void *from, size_t count)
{
    assert_true(size + count <= LIMIT);
    void *to = memcpy(bytes + size, from, count);
    size += count;
    return to;
}

/* A container with one entry of the given kind and payload size. */
static void add_container(uint16_t kind, uint32_t payload)
{
    unsigned char zeros[256] = {0};
    uint32_t padded = (payload + 7) & ~7u;
    struct fatbin_entry entry = {.kind = kind,
                                 .version = 0x101,
                                 .header_size = sizeof entry,
                                 .padded_size = padded,
                                 .compressed_size = payload,
                                 .sm = 90,
                                 .flags = FATBIN_64BIT | FATBIN_ZSTD};
    struct fatbin_header header = {.magic = (uint32_t)FATBIN_MAGIC,
                                   .version = 1,
                                   .header_size = sizeof header,
                                   .size = sizeof entry + padded};
    add(&header, sizeof header);
    add(&entry, sizeof entry);
    add(zeros, padded);
}

static void add_elf(void)
{
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                         .e_ehsize = sizeof header,
                         .e_shoff = sizeof header,
                         .e_shnum = 2,
                         .e_shentsize = sizeof(Elf64_Shdr)};
    Elf64_Shdr sections[2] = {
        {.sh_type = SHT_NULL},
        {.sh_type = SHT_PROGBITS, .sh_offset = sizeof header + sizeof sections, .sh_size = 40}};
    add(&header, sizeof header);
    add(sections, sizeof sections);
    add("the forty bytes of a kernel's code .....", 40);
}

static int begin(void **state)
{
    (void)state;
    size = 0;
    memset(bytes, 0, sizeof bytes);
    return 0;
}

/* Examines a heap copy of exactly count bytes and walks its entries, touching every payload. */
static struct image examine(size_t count, unsigned *entries)
{
    unsigned char *copy = malloc(count + !count);
    volatile unsigned char sum = 0;
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    struct image image = image_examine(copy, count);
    assert_true(image.size <= count);
    *entries = 0;
    for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(&image, entry)); ++*entries)
        for (uint64_t i = 0; i < entry->padded_size; i++)
            sum += ((const unsigned char *)entry)[entry->header_size + i];
    free(copy);
    image.bytes = NULL;
    return image;
}

static void text_is_ptx(void **state)
{
    (void)state;
    unsigned entries;
    add(".version 9.0\n.target sm_90\n", 28);
    struct image image = examine(size, &entries);
    assert_int_equal(image.kind, IMAGE_PTX);
    assert_int_equal(image.size, 27);
    assert_true(image.has_ptx);
    image = image_examine(bytes, SIZE_MAX);
    assert_int_equal(image.size, 27);
}

static void an_elf_ends_with_its_last_section(void **state)
{
    (void)state;
    unsigned entries;
    add_elf();
    size_t whole = size;
    add("what follows in memory", 22);
    struct image image = examine(size, &entries);
    assert_int_equal(image.kind, IMAGE_ELF);
    assert_int_equal(image.size, whole);
    assert_false(image.has_ptx);
    assert_int_equal(image_examine(bytes, SIZE_MAX).size, whole);
}

static void an_elf_header_does_not_reach_out(void **state)
{
    (void)state;
    unsigned entries;
    add_elf();
    ((Elf64_Ehdr *)bytes)->e_ehsize = UINT16_MAX;
    assert_int_equal(examine(size, &entries).size, size);
}

static void containers_may_follow_each_other(void **state)
{
    (void)state;
    unsigned entries;
    add_container(FATBIN_ELF, 41);
    add_container(FATBIN_PTX, 80);
    struct image image = examine(size, &entries);
    assert_int_equal(image.kind, IMAGE_FATBIN);
    assert_int_equal(image.size, size);
    assert_int_equal(entries, 2);
    assert_true(image.has_ptx);
}

static void code_alone_has_no_ptx(void **state)
{
    (void)state;
    unsigned entries;
    add_container(FATBIN_ELF, 64);
    struct image image = examine(size, &entries);
    assert_false(image.has_ptx);
    assert_int_equal(entries, 1);
}

static void a_wrapper_points_to_its_container(void **state)
{
    (void)state;
    add_container(FATBIN_PTX, 24);
    struct fatbin_wrapper wrapper = {.magic = FATBIN_WRAPPER_MAGIC, .version = 1, .data = bytes};
    struct image image = image_examine(&wrapper, SIZE_MAX);
    assert_int_equal(image.kind, IMAGE_FATBIN);
    assert_ptr_equal(image.bytes, bytes);
    assert_int_equal(image.size, size);
    assert_false(image.is_relocatable);
    wrapper.version = 2;
    assert_true(image_examine(&wrapper, SIZE_MAX).is_relocatable);
}

static void a_pointer_in_a_file_is_not_followed(void **state)
{
    (void)state;
    struct fatbin_wrapper wrapper = {.magic = FATBIN_WRAPPER_MAGIC, .version = 1, .data = (void *)0x1234};
    assert_int_equal(image_examine(&wrapper, sizeof wrapper).kind, IMAGE_UNKNOWN);
    wrapper.data = &wrapper; /* in memory: a circle */
    assert_int_equal(image_examine(&wrapper, SIZE_MAX).kind, IMAGE_UNKNOWN);
    wrapper.data = NULL;
    assert_int_equal(image_examine(&wrapper, SIZE_MAX).kind, IMAGE_UNKNOWN);
}

static void nothing_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(image_examine(NULL, SIZE_MAX).kind, IMAGE_UNKNOWN);
    assert_int_equal(image_examine("", 1).kind, IMAGE_UNKNOWN);
    assert_int_equal(image_examine("\1\2\3\4\5\6\7\10", 8).kind, IMAGE_UNKNOWN);
}

static void headers_that_go_nowhere_end_the_walk(void **state)
{
    (void)state;
    add_container(FATBIN_PTX, 24);
    size_t first = size;
    add_container(FATBIN_PTX, 24);
    struct image image = {.kind = IMAGE_FATBIN, .bytes = bytes, .size = size};
    struct fatbin_header *second = (struct fatbin_header *)(bytes + first);
    const struct fatbin_entry *entry = image_next_entry(&image, NULL);
    assert_non_null(image_next_entry(&image, entry));
    second->header_size = 0; /* would never move on */
    assert_null(image_next_entry(&image, entry));
    second->header_size = UINT16_MAX;
    assert_null(image_next_entry(&image, entry));
}

/* Every byte takes edge values, and every cut: sizes stay inside, walks end. */
static void damage_is_never_followed(void (*build)(void))
{
    static const unsigned char values[] = {0x00, 0x01, 0x07, 0x40, 0x7f, 0x80, 0xff};
    unsigned entries;
    build();
    for (size_t cut = 0; cut <= size; cut++) examine(cut, &entries);
    for (size_t at = 0; at < size; at++) {
        unsigned char kept = bytes[at];
        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            examine(size, &entries);
            assert_true(entries <= 2);
        }
        bytes[at] = kept;
    }
}

static void build_containers(void)
{
    add_container(FATBIN_PTX, 24);
    add_container(FATBIN_ELF, 40);
}

static void damaged_containers(void **state)
{
    (void)state;
    damage_is_never_followed(build_containers);
}

static void damaged_elf(void **state)
{
    (void)state;
    damage_is_never_followed(add_elf);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(text_is_ptx),
        TEST(an_elf_ends_with_its_last_section),
        TEST(an_elf_header_does_not_reach_out),
        TEST(containers_may_follow_each_other),
        TEST(code_alone_has_no_ptx),
        TEST(a_wrapper_points_to_its_container),
        TEST(a_pointer_in_a_file_is_not_followed),
        TEST(nothing_is_unknown),
        TEST(headers_that_go_nowhere_end_the_walk),
        TEST(damaged_containers),
        TEST(damaged_elf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
