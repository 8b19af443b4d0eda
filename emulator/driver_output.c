/* SPDX-License-Identifier: Apache-2.0
 * What kernels print is kept until a call waits for the device, or a launch, as the CUDA C++ Programming
 * Guide says ("Formatted Output"); at most as many bytes as the context's limit, of which the newest stay.
 * Failed assertions go to standard error. */
#include "emulator/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output_text {
    char *start;
    size_t length, capacity;
};
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER; /* kernels print from several threads */
static struct output_text output_plain, output_errors;
static atomic_bool output_is_there; /* so that a call that finds nothing is cheap */

/* The oldest lines make room for more bytes. */
static void output_drop(struct output_text *text, size_t more, size_t most)
{
    if (text->length + more <= most) return;
    size_t excess = text->length + more - most;
    const char *line =
        excess < text->length ? memchr(text->start + excess, '\n', text->length - excess) : NULL;
    size_t kept = line ? text->length - (size_t)(line + 1 - text->start) : 0;
    if (kept) memmove(text->start, line + 1, kept);
    text->length = kept;
}

static void output_add(struct output_text *text, const char *bytes, size_t length)
{
    if (text->length + length > text->capacity) {
        size_t capacity = 2 * (text->length + length);
        char *grown = realloc(text->start, capacity);
        if (!grown) return;
        text->start = grown;
        text->capacity = capacity;
    }
    memcpy(text->start + text->length, bytes, length);
    text->length += length;
}

void driver_output_print(void *context, bool is_error, const char *bytes, size_t length)
{
    const struct driver_context *owner = context;
    struct output_text *text = is_error ? &output_errors : &output_plain;
    pthread_mutex_lock(&output_lock);
    output_drop(text, length, owner->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
    output_add(text, bytes, length);
    atomic_store(&output_is_there, true);
    pthread_mutex_unlock(&output_lock);
}

static void output_write(struct output_text *text, FILE *file)
{
    if (text->length) fwrite(text->start, 1, text->length, file);
    text->length = 0;
}

void driver_output_flush(void)
{
    if (!atomic_load(&output_is_there)) return;
    pthread_mutex_lock(&output_lock);
    atomic_store(&output_is_there, false);
    output_write(&output_plain, stdout);
    output_write(&output_errors, stderr);
    pthread_mutex_unlock(&output_lock);
}
