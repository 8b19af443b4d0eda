/* SPDX-License-Identifier: Apache-2.0
 * Load images told apart and measured: by example, and cut off or damaged at every byte. */
#include "common/image.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct sample {
    struct fatbin_header header;
    struct fatbin_entry ptx;
    char text[24];
    struct fatbin_entry code;
    char machine[16];
};

static struct sample make_sample(void)
{
    struct sample sample = {
        .header = {.magic = (uint32_t)FATBIN_MAGIC, .version = 1, .header_size = 16},
        .ptx = {.kind = FATBIN_PTX, .header_size = 64, .padded_size = 24, .compressed_size = 20, .flags = FATBIN_ZSTD},
        .code = {.kind = FATBIN_ELF, .header_size = 64, .padded_size = 16},
    };
    sample.header.size = sizeof sample - sizeof sample.header;
    return sample;
}

static void measures_containers(void **state)
{
    (void)state;
    struct sample row[3] = {make_sample(), make_sample()};
    struct image image = image_examine(row, sizeof row);
    assert_int_equal(image.kind, IMAGE_FATBIN);
    assert_int_equal(image.size, 2 * sizeof *row); /* the third one is zeros */
    assert_true(image.has_ptx);
    const struct fatbin_entry *entry = image_next_entry(&image, NULL);
    assert_ptr_equal(entry, &row[0].ptx);
    assert_ptr_equal(entry = image_next_entry(&image, entry), &row[0].code);
    assert_ptr_equal(entry = image_next_entry(&image, entry), &row[1].ptx);
    assert_ptr_equal(entry = image_next_entry(&image, entry), &row[1].code);
    assert_null(image_next_entry(&image, entry));
    assert_int_equal(image_examine(row, SIZE_MAX).size, sizeof *row); /* nothing says that more may be read */
}

static void follows_wrappers_in_memory_only(void **state)
{
    (void)state;
    struct sample sample = make_sample();
    struct fatbin_wrapper wrapper = {.magic = FATBIN_WRAPPER_MAGIC, .version = 2, .data = &sample};
    struct image image = image_examine(&wrapper, SIZE_MAX);
    assert_int_equal(image.kind, IMAGE_FATBIN);
    assert_ptr_equal(image.bytes, &sample);
    assert_true(image.is_relocatable);
    assert_int_equal(image_examine(&wrapper, sizeof wrapper).kind, IMAGE_UNKNOWN);
    wrapper.data = &wrapper;
    assert_int_equal(image_examine(&wrapper, SIZE_MAX).kind, IMAGE_UNKNOWN);
    wrapper.data = NULL;
    assert_int_equal(image_examine(&wrapper, SIZE_MAX).kind, IMAGE_UNKNOWN);
}

static void knows_text(void **state)
{
    (void)state;
    static const char text[] = "//\n.version 9.0\n";
    struct image image = image_examine(text, SIZE_MAX);
    assert_int_equal(image.kind, IMAGE_PTX);
    assert_int_equal(image.size, strlen(text));
    assert_int_equal(image_examine(text, 5).size, 5);
    assert_int_equal(image_examine("\1\2\3\4", 4).kind, IMAGE_UNKNOWN);
    assert_int_equal(image_examine("", 1).kind, IMAGE_UNKNOWN);
    assert_int_equal(image_examine(NULL, SIZE_MAX).kind, IMAGE_UNKNOWN);
}

struct cubin {
    Elf64_Ehdr header;
    char code[40];
    Elf64_Shdr sections[2];
};

static struct cubin make_cubin(void)
{
    struct cubin cubin = {.header = {.e_ehsize = sizeof(Elf64_Ehdr),
                                     .e_shoff = offsetof(struct cubin, sections),
                                     .e_shentsize = sizeof(Elf64_Shdr),
                                     .e_shnum = 2}};
    memcpy(cubin.header.e_ident, ELFMAG, SELFMAG);
    cubin.header.e_ident[EI_CLASS] = ELFCLASS64;
    cubin.sections[1].sh_type = SHT_PROGBITS;
    cubin.sections[1].sh_offset = offsetof(struct cubin, code);
    cubin.sections[1].sh_size = 40;
    return cubin;
}

static void measures_cubins(void **state)
{
    (void)state;
    struct cubin cubin = make_cubin();
    struct image image = image_examine(&cubin, SIZE_MAX);
    assert_int_equal(image.kind, IMAGE_ELF);
    assert_int_equal(image.size, sizeof cubin);
    cubin.sections[1].sh_size = 4000;
    assert_int_equal(image_examine(&cubin, sizeof cubin).kind, IMAGE_UNKNOWN);
    assert_int_equal(image_examine(&cubin, SIZE_MAX).size, offsetof(struct cubin, code) + 4000);
    cubin = make_cubin();
    cubin.header.e_ehsize = 0xffff; /* must not make the image longer than what may be read */
    assert_int_equal(image_examine(&cubin, sizeof cubin).kind, IMAGE_UNKNOWN);
}

/* Whatever the bytes say, an image and its entries lie inside them. */
static void check_inside(const unsigned char *bytes, size_t size)
{
    struct image image = image_examine(bytes, size);
    assert_true(image.kind == IMAGE_UNKNOWN || image.size <= size);
    for (const struct fatbin_entry *entry = NULL; (entry = image_next_entry(&image, entry));) {
        size_t at = (size_t)((const unsigned char *)entry - bytes);
        assert_true(at <= size && entry->header_size + entry->padded_size <= size - at);
    }
}

static void damage(const void *whole, size_t size)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t length = 0; length <= size; length++) {
        unsigned char *exact = malloc(length + !length);
        memcpy(exact, whole, length);
        check_inside(exact, length);
        free(exact);
    }
    unsigned char *exact = malloc(size);
    for (size_t i = 0; i < size * sizeof values; i++) {
        memcpy(exact, whole, size);
        exact[i / sizeof values] = values[i % sizeof values];
        check_inside(exact, size);
    }
    free(exact);
}

static void survives_damage(void **state)
{
    (void)state;
    struct sample sample[2] = {make_sample(), make_sample()};
    struct cubin cubin = make_cubin();
    struct fatbin_wrapper wrapper = {.magic = FATBIN_WRAPPER_MAGIC, .version = 1, .data = (void *)0x1234};
    damage(sample, sizeof sample);
    damage(&cubin, sizeof cubin);
    damage(&wrapper, sizeof wrapper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_containers), cmocka_unit_test(follows_wrappers_in_memory_only),
        cmocka_unit_test(knows_text),          cmocka_unit_test(measures_cubins),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
