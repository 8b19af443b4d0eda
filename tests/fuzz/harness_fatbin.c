/* SPDX-License-Identifier: Apache-2.0
 * Load images and files that hold them: texts and machine code. */
#include "common/image.h"
#include "ptx/ptx.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned sink;

static void touch(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += i + 512 < size ? 512 : 1) sink += ((const unsigned char *)bytes)[i];
}

static void touch_texts(const struct ptx_text *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(texts[i].text) > texts[i].length) abort();
        touch(texts[i].text, texts[i].length + 1);
    }
    ptx_text_for(texts, count, 90);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    struct ptx_machine_code *cubins;
    const char *error;
    unsigned char *image = malloc(size + !size); /* aligned, and where the address sanitizer sees its end */
    if (!arena || !image) abort();
    memcpy(image, bytes, size);
    if (image_examine(image, size).size > size) abort();
    uint32_t count = ptx_texts_of_image(arena, image, size, &texts);
    touch_texts(texts, count);
    count = ptx_machine_code_of_image(arena, image, size, &cubins);
    for (uint32_t i = 0; i < count; i++) touch(cubins[i].bytes, cubins[i].size);
    free(image);
    count = ptx_texts_of_file(arena, memory_file_path(bytes, size), &texts, &error);
    if (!count && !error) abort();
    touch_texts(texts, count);
    arena_free(arena);
    return 0;
}
