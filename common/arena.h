/* SPDX-License-Identifier: Apache-2.0
 * Arena: memory that is taken piece by piece and freed whole.
 * Not thread safe: one arena belongs to one kernel, module or plan. */
#ifndef KFUSE_COMMON_ARENA_H
#define KFUSE_COMMON_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* A new arena, or NULL when memory is out. */
struct arena *arena_create(void);
/* Frees the arena and everything taken from it; NULL is allowed. */
void arena_free(struct arena *arena);
/* size bytes, zeroed, aligned to 16; NULL when memory is out. Owned by the arena. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size bytes, zeroed; NULL on overflow or when memory is out. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of length bytes of text. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_strdup(struct arena *arena, const char *text);
/* printf into the arena. */
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments);
/* Grows an arena array: returns a pointer to capacity * size bytes whose first count elements are those of old. */
void *arena_grow(struct arena *arena, const void *old, size_t count, size_t capacity, size_t size);

#endif
