/* SPDX-License-Identifier: Apache-2.0
 * Reads launches from the comments of a PTX file. */
#include "tests/analysis/launch_file.h"

#include "fuser/kernel/plain.h"

#include <stdlib.h>
#include <string.h>

char *launch_file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);

    if (!file || !text) {
        perror(path);
        exit(2);
    }
    for (size_t got; (got = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
        size += got;
        if (capacity - size < 2) text = realloc(text, capacity *= 2);
        if (!text) exit(2);
    }
    fclose(file);
    text[size] = '\0';
    return text;
}

static void malformed(const char *line)
{
    fprintf(stderr, "malformed launch line: %.80s\n", line);
    exit(2);
}

static void put(unsigned char *bytes, uint32_t capacity, uint32_t *size, const void *value, uint32_t width,
                const char *line)
{
    *size = (*size + width - 1) / width * width;
    if (*size + width > capacity) malformed(line);
    memcpy(bytes + *size, value, width);
    *size += width;
}

static void put_field(struct launch_line *line, unsigned char *bytes, uint32_t capacity, uint32_t *size,
                      const char *field)
{
    const char *number = strchr(field, ':');

    if (!number) malformed(field);
    number++;
    if (field[0] == 'p') {
        struct launch_buffer *buffer = &line->buffers[line->buffer_count];
        uint64_t nothing = 0;
        if (line->buffer_count == LAUNCH_FILE_POINTERS) malformed(field);
        put(bytes, capacity, size, &nothing, 8, field);
        const char *modulus = strchr(number, ':'), *inside = strchr(number, '@');
        *buffer = (struct launch_buffer){.offset = *size - 8,
                                         .size = strtoull(number, NULL, 0),
                                         .modulus = modulus ? (uint32_t)strtoul(modulus + 1, NULL, 0) : 8,
                                         .inside = inside ? strtoull(inside + 1, NULL, 0) : 0};
        line->pointers[line->buffer_count++].offset = buffer->offset;
    } else if (field[0] == 'f') {
        double wide = strtod(number, NULL);
        float narrow = (float)wide;
        if (strncmp(field, "f32", 3) == 0)
            put(bytes, capacity, size, &narrow, 4, field);
        else
            put(bytes, capacity, size, &wide, 8, field);
    } else {
        long long value = strtoll(number, NULL, 0);
        int bits = atoi(field + 1);
        if (bits != 8 && bits != 16 && bits != 32 && bits != 64) malformed(field);
        put(bytes, capacity, size, &value, (uint32_t)bits / 8, field);
    }
}

static void parse_variable(struct launch_line *line, const char *text)
{
    uint32_t index = line->variable_count++, size = 0;
    int used = 0;
    char field[64];

    if (index == LAUNCH_FILE_VARIABLES || sscanf(text, "%63s%n", line->names[index], &used) != 1)
        malformed(text);
    for (text += used; sscanf(text, " %63[^ \n]%n", field, &used) == 1; text += used) {
        put_field(line, line->contents[index], sizeof line->contents[index], &size, field);
        if (text[used] == '\n') break;
    }
    line->variables[index] =
        (struct launch_variable){.name = line->names[index], .contents = line->contents[index], .size = size};
}

static void parse_launch(struct launch_line *line, const char *text)
{
    int used = 0;
    char field[64];

    if (sscanf(text, "%255s grid %u %u %u block %u %u %u%n", line->kernel, &line->grid[0], &line->grid[1],
               &line->grid[2], &line->block[0], &line->block[1], &line->block[2], &used) != 7)
        malformed(text);
    text += used;
    if (sscanf(text, " shared %u%n", &line->shared, &used) == 1) text += used;
    used = 0;
    if (sscanf(text, " args%n", &used) == 0 && used > 0) text += used;
    while (*text != '\n' && sscanf(text, " %63[^ \n]%n", field, &used) == 1) {
        put_field(line, line->arguments, sizeof line->arguments, &line->size, field);
        text += used;
    }
}

bool launch_file_next(const char **cursor, struct launch_line *line)
{
    /* Variables stay from one launch to the next. */
    line->size = line->buffer_count = line->shared = 0;
    memset(line->arguments, 0, sizeof line->arguments);
    while (**cursor) {
        const char *text = *cursor, *end = strchr(text, '\n');
        *cursor = end ? end + 1 : text + strlen(text);
        if (strncmp(text, "// variable ", 12) == 0) parse_variable(line, text + 12);
        line->may_run = strncmp(text, "// launch ", 10) == 0;
        if (line->may_run || strncmp(text, "// analyse ", 11) == 0) {
            parse_launch(line, text + (line->may_run ? 10 : 11));
            return true;
        }
    }
    return false;
}

void launch_file_input(const struct launch_line *line, const struct ptx_module *module,
                       struct launch_input *input)
{
    const struct ptx_function *function = ptx_find_function(module, line->kernel);
    *input = (struct launch_input){.function = function ? plain_function(module->arena, function) : NULL,
                                   .dynamic_shared = line->shared,
                                   .arguments = line->arguments,
                                   .arguments_size = line->size,
                                   .pointers = line->pointers,
                                   .pointer_count = line->buffer_count,
                                   .variables = line->variables,
                                   .variable_count = line->variable_count};
    memcpy(input->grid, line->grid, sizeof input->grid);
    memcpy(input->block, line->block, sizeof input->block);
    if (!input->function) malformed(line->kernel);
}
