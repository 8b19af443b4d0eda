/* SPDX-License-Identifier: Apache-2.0
 * Arena allocator: a list of blocks, each at least 64 KiB, bumped from the front. */
#include "common/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK = 64 * 1024, ARENA_ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(ARENA_ALIGNMENT) char bytes[];
};

struct arena {
    struct arena_block *blocks;
};

struct arena *arena_create(void)
{
    return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
    if (!arena) return;
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

static struct arena_block *arena_add_block(struct arena *arena, size_t size)
{
    size_t capacity = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    struct arena_block *block = calloc(1, sizeof *block + capacity);
    if (!block) return NULL;
    block->size = capacity;
    bool is_large = capacity > ARENA_BLOCK && arena->blocks;
    struct arena_block **place =
        is_large ? &arena->blocks->next : &arena->blocks; /* the open block stays in front */
    block->next = *place;
    *place = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) block = arena_add_block(arena, size);
    if (!block) return NULL;
    void *result = block->bytes + block->used;
    block->used += size;
    return result;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(arena, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void *arena_grow(struct arena *arena, const void *old, size_t count, size_t capacity, size_t size)
{
    void *grown = arena_calloc(arena, capacity, size);
    if (grown && count) memcpy(grown, old, count * size);
    return grown;
}
