/* SPDX-License-Identifier: Apache-2.0
 * Reads programs; what a fill writes. Used by the referee and by the player. */
#include "tests/referee/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct arena *arena;
    const char *error, *line; /* line: the one that is read */
    struct script *script;
};

static const char *const operation_names[SCRIPT_OPERATIONS] = {
    [SCRIPT_ALLOC] = "alloc",   [SCRIPT_FREE] = "free",     [SCRIPT_STREAM] = "stream",
    [SCRIPT_LAUNCH] = "launch", [SCRIPT_FILL] = "fill",     [SCRIPT_SET] = "set",
    [SCRIPT_COPY] = "copy",     [SCRIPT_READ] = "read",     [SCRIPT_VARIABLE] = "variable",
    [SCRIPT_SYNC] = "sync",     [SCRIPT_RECORD] = "record", [SCRIPT_WAIT] = "wait",
    [SCRIPT_QUERY] = "query",   [SCRIPT_PAUSE] = "pause",   [SCRIPT_RELOAD] = "reload",
    [SCRIPT_BAD] = "bad",       [SCRIPT_CALL] = "call",     [SCRIPT_AWAIT] = "await",
    [SCRIPT_JOIN] = "join",     [SCRIPT_RENEW] = "renew",   [SCRIPT_POINT] = "point",
    [SCRIPT_AIM] = "aim",       [SCRIPT_PUT] = "put",       [SCRIPT_HOLD] = "hold",
    [SCRIPT_OPEN] = "open",     [SCRIPT_POLL] = "poll",     [SCRIPT_REPLAY] = "replay",
};

static bool fail(struct reader *reader, const char *what)
{
    if (!reader->error)
        reader->error = arena_printf(reader->arena, "%s: %.*s", what,
                                     reader->line ? (int)strcspn(reader->line, "\n") : 0, reader->line);
    return false;
}

/* --- words --- */

static const char *next_word(struct reader *reader, char **rest)
{
    char *word = strsep(rest, " ");
    while (word && !*word) word = strsep(rest, " ");
    if (!word) fail(reader, "a word is missing");
    return word ? word : "";
}

static int64_t number_of(struct reader *reader, const char *text, char **end)
{
    char *stop;
    int64_t number = strtoll(text, &stop, 10);
    if (stop == text || (!end && *stop)) fail(reader, "not a number");
    if (end) *end = stop;
    return number;
}

static uint32_t handle_of(struct reader *reader, const char *text, char letter, uint32_t count)
{
    if (*text != letter) fail(reader, "another kind of handle is wanted");
    int64_t number = *text ? number_of(reader, text + 1, NULL) : 0;
    if (number < 0 || number >= count) fail(reader, "a handle's number is too large");
    return reader->error ? 0 : (uint32_t)number;
}

static struct script_place place_of(struct reader *reader, const char *text)
{
    struct script_place place = {0, 0};
    char *end = "";
    if (*text != 'a') fail(reader, "not an array");
    int64_t array = *text ? number_of(reader, text + 1, &end) : 0;
    if (array < 0 || array >= SCRIPT_ARRAYS) fail(reader, "no such array");
    if (*end) place.offset = number_of(reader, end, NULL);
    if (!reader->error) place.array = (uint32_t)array;
    return place;
}

/* --- launches --- */

static void align(struct script_launch *launch, uint32_t size)
{
    launch->size = (launch->size + size - 1) / size * size;
}

static void put(struct reader *reader, struct script_launch *launch, const void *bytes, uint32_t size)
{
    align(launch, size);
    if (launch->size + size > SCRIPT_ARGUMENT_BYTES) {
        fail(reader, "too many arguments");
        return;
    }
    memcpy(launch->arguments + launch->size, bytes, size);
    launch->size += size;
}

static void put_scalar(struct reader *reader, struct script_launch *launch, const char *word)
{
    uint64_t bits = strtoull(word + 1, NULL, 16);
    uint32_t low = (uint32_t)bits;
    int64_t number = strchr("chil", *word) ? number_of(reader, word + 1, NULL) : 0;
    int32_t narrow = (int32_t)number;
    int16_t half = (int16_t)number;
    int8_t byte = (int8_t)number;
    switch (*word) {
    case 'c':
        put(reader, launch, &byte, sizeof byte);
        break;
    case 'h':
        put(reader, launch, &half, sizeof half);
        break;
    case 'i':
        put(reader, launch, &narrow, sizeof narrow);
        break;
    case 'l':
        put(reader, launch, &number, sizeof number);
        break;
    case 'f':
        put(reader, launch, &low, sizeof low);
        break;
    case 'd':
        put(reader, launch, &bits, sizeof bits);
        break;
    default:
        fail(reader, "not an argument");
    }
}

static void put_pointer(struct reader *reader, struct script_launch *launch, const char *word)
{
    struct script_place place = place_of(reader, word);
    put(reader, launch, &place.offset, sizeof place.offset);
    if (launch->pointer_count == SCRIPT_POINTERS) {
        fail(reader, "too many pointers");
        return;
    }
    launch->pointers[launch->pointer_count].offset = launch->size - (uint32_t)sizeof place.offset;
    launch->pointers[launch->pointer_count++].array = place.array;
}

static void read_arguments(struct reader *reader, struct script_launch *launch, char *rest)
{
    bool is_struct = false;
    while (rest && *rest && !reader->error) {
        const char *word = next_word(reader, &rest);
        if (strchr("{}", *word)) {
            is_struct = *word == '{';
            align(launch, 8); /* every struct here holds a pointer */
            if (!is_struct) continue;
        }
        if (*word == '{') {
            if (launch->parameter_count < SCRIPT_PARAMETERS)
                launch->parameters[launch->parameter_count++] = launch->size;
            continue;
        }
        uint32_t before = launch->size;
        if (*word == 'a')
            put_pointer(reader, launch, word);
        else
            put_scalar(reader, launch, word);
        uint32_t alignment = *word == 'c' ? 1 : *word == 'h' ? 2 : *word == 'i' || *word == 'f' ? 4 : 8;
        if (is_struct) continue;
        if (launch->parameter_count == SCRIPT_PARAMETERS)
            fail(reader, "too many parameters");
        else
            launch->parameters[launch->parameter_count++] = (before + alignment - 1) / alignment * alignment;
    }
}

static void read_launch(struct reader *reader, struct script_operation *operation, char *rest)
{
    struct script_launch *launch = arena_alloc(reader->arena, sizeof *launch);
    if (!launch) {
        fail(reader, "out of memory");
        return;
    }
    operation->launch = launch;
    launch->kernel = arena_strdup(reader->arena, next_word(reader, &rest));
    for (int i = 0; i < 3; i++) launch->grid[i] = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
    for (int i = 0; i < 3; i++)
        launch->block[i] = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
    launch->shared = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
    operation->stream = handle_of(reader, next_word(reader, &rest), 's', SCRIPT_STREAMS);
    read_arguments(reader, launch, rest);
    reader->script->launch_count++;
}

/* --- operations --- */

static void read_optional_stream(struct reader *reader, struct script_operation *operation, char *rest)
{
    operation->has_stream = rest && *rest;
    if (operation->has_stream) operation->stream = handle_of(reader, rest, 's', SCRIPT_STREAMS);
}

/* NAME or NAME+OFFSET */
static void read_variable(struct reader *reader, struct script_operation *operation, const char *word)
{
    size_t length = strcspn(word, "+");
    operation->name = arena_strndup(reader->arena, word, length);
    if (word[length]) operation->place.offset = number_of(reader, word + length, NULL);
}

static void read_put(struct reader *reader, struct script_operation *operation, char **rest)
{
    read_variable(reader, operation, next_word(reader, rest));
    operation->type = *next_word(reader, rest);
    const char *digits = next_word(reader, rest);
    operation->bytes = strlen(digits) / 2;
    if (operation->bytes > SCRIPT_PUT_BYTES) fail(reader, "too many bytes");
    for (uint64_t i = 0; i < operation->bytes && !reader->error; i++)
        if (sscanf(digits + 2 * i, "%2hhx", &operation->data[i]) != 1) fail(reader, "no bytes");
    read_optional_stream(reader, operation, *rest);
}

static void read_poll(struct reader *reader, struct script_operation *operation, char **rest)
{
    operation->place = place_of(reader, next_word(reader, rest));
    operation->seed = (uint32_t)number_of(reader, next_word(reader, rest), NULL);
    operation->source = place_of(reader, next_word(reader, rest));
    operation->bytes = (uint64_t)number_of(reader, next_word(reader, rest), NULL);
    operation->stream = handle_of(reader, next_word(reader, rest), 's', SCRIPT_STREAMS);
    operation->has_stream = true;
    operation->is_threaded = *rest && **rest;
}

static void read_operands(struct reader *reader, struct script_operation *operation, char *rest)
{
    switch (operation->kind) {
    case SCRIPT_ALLOC:
    case SCRIPT_FREE:
        operation->place = place_of(reader, next_word(reader, &rest));
        if (operation->kind == SCRIPT_ALLOC)
            operation->bytes = (uint64_t)number_of(reader, next_word(reader, &rest), NULL);
        if (rest && *rest) operation->type = *rest; /* managed, async */
        break;
    case SCRIPT_STREAM:
        operation->stream = handle_of(reader, next_word(reader, &rest), 's', SCRIPT_STREAMS);
        operation->seed = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
        break;
    case SCRIPT_LAUNCH:
        read_launch(reader, operation, rest);
        break;
    case SCRIPT_VARIABLE:
        operation->name = arena_strdup(reader->arena, next_word(reader, &rest));
        operation->bytes = (uint64_t)number_of(reader, next_word(reader, &rest), NULL);
        operation->type = *next_word(reader, &rest);
        operation->seed = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
        break;
    case SCRIPT_FILL:
    case SCRIPT_SET:
    case SCRIPT_COPY:
    case SCRIPT_READ:
        operation->place = place_of(reader, next_word(reader, &rest));
        if (operation->kind == SCRIPT_COPY) operation->source = place_of(reader, next_word(reader, &rest));
        operation->bytes = (uint64_t)number_of(reader, next_word(reader, &rest), NULL);
        if (operation->kind == SCRIPT_FILL) operation->type = *next_word(reader, &rest);
        if (operation->kind == SCRIPT_FILL || operation->kind == SCRIPT_SET)
            operation->seed = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
        read_optional_stream(reader, operation, rest);
        break;
    case SCRIPT_POINT:
        operation->place = place_of(reader, next_word(reader, &rest));
        operation->source = place_of(reader, next_word(reader, &rest));
        operation->bytes = sizeof(uint64_t);
        read_optional_stream(reader, operation, rest);
        break;
    case SCRIPT_AIM:
        read_variable(reader, operation, next_word(reader, &rest));
        operation->source = place_of(reader, next_word(reader, &rest));
        break;
    case SCRIPT_PUT:
        read_put(reader, operation, &rest);
        break;
    case SCRIPT_POLL:
        read_poll(reader, operation, &rest);
        break;
    case SCRIPT_RECORD:
    case SCRIPT_WAIT:
        operation->event = handle_of(reader, next_word(reader, &rest), 'e', SCRIPT_EVENTS);
        operation->stream = handle_of(reader, next_word(reader, &rest), 's', SCRIPT_STREAMS);
        break;
    case SCRIPT_JOIN:
        operation->event = handle_of(reader, next_word(reader, &rest), 'e', SCRIPT_EVENTS);
        break;
    case SCRIPT_RENEW:
        operation->stream = handle_of(reader, next_word(reader, &rest), 's', SCRIPT_STREAMS);
        break;
    case SCRIPT_BAD:
        operation->name = arena_strdup(reader->arena, next_word(reader, &rest));
        break;
    case SCRIPT_CALL:
    case SCRIPT_HOLD:
    case SCRIPT_SYNC:
    case SCRIPT_QUERY:
        read_optional_stream(reader, operation, rest);
        break;
    case SCRIPT_PAUSE:
        operation->seed = (uint32_t)number_of(reader, next_word(reader, &rest), NULL);
        break;
    case SCRIPT_OPEN:
    case SCRIPT_AWAIT:
    case SCRIPT_RELOAD:
    case SCRIPT_REPLAY:
    case SCRIPT_OPERATIONS:
        break;
    }
}

static bool read_operation(struct reader *reader, uint32_t capacity, uint32_t line_number)
{
    struct script *script = reader->script;
    char *rest = arena_strndup(reader->arena, reader->line, strcspn(reader->line, "\n"));
    if (!rest || script->count == capacity) return fail(reader, "out of memory");
    const char *name = next_word(reader, &rest);
    struct script_operation *operation = &script->operations[script->count];
    for (int kind = 0; kind < SCRIPT_OPERATIONS; kind++) {
        if (strcmp(name, operation_names[kind]) != 0) continue;
        operation->kind = (enum script_operation_kind)kind;
        operation->line = line_number;
        operation->number = script->count++;
        read_operands(reader, operation, rest);
        return !reader->error;
    }
    return fail(reader, "no such operation");
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool is_line(const char *line, const char *text)
{
    size_t length = strcspn(line, "\n");
    return strlen(text) == length && memcmp(line, text, length) == 0;
}

/* Text up to a line "end", and moves *line to that line. */
static const char *read_text(struct reader *reader, const char **line, uint32_t *line_number)
{
    const char *start = next_line(*line), *at = start;
    for (; *at && !is_line(at, "end"); at = next_line(at)) ++*line_number;
    if (!*at) fail(reader, "a text without end");
    *line = at;
    ++*line_number;
    return arena_strndup(reader->arena, start, (size_t)(at - start));
}

static uint32_t count_lines(const char *from)
{
    uint32_t count = 1;
    for (; *from && !is_line(from, "done"); from = next_line(from)) count++;
    return count;
}

struct script *script_read(struct arena *arena, const char **cursor, const char **error)
{
    const char *line = *cursor;
    struct script *script = arena_alloc(arena, sizeof *script);
    *error = NULL;
    while (*line && (*line == '#' || *line == '\n')) line = next_line(line);
    if (!*line) return NULL;
    struct reader reader = {.arena = arena, .line = line, .script = script};
    uint32_t capacity = count_lines(line), line_number = 0;
    script->operations = arena_calloc(arena, capacity, sizeof *script->operations);
    script->text = line;
    if (sscanf(line, "program %u", &script->number) != 1) fail(&reader, "not a program");
    for (line = next_line(line); *line && !is_line(line, "done") && !reader.error; line = next_line(line)) {
        line_number++;
        reader.line = line;
        if (*line == '#' || *line == '\n') continue;
        if (is_line(line, "source"))
            script->source = read_text(&reader, &line, &line_number);
        else if (strncmp(line, "image ", 6) == 0)
            script->image = arena_strndup(arena, line + 6, strcspn(line + 6, "\n"));
        else if (is_line(line, "ptx"))
            script->ptx = read_text(&reader, &line, &line_number);
        else
            read_operation(&reader, capacity, line_number);
    }
    if (!*line && !reader.error) fail(&reader, "a program without done");
    *cursor = next_line(line);
    script->text_size = (size_t)(*cursor - script->text);
    *error = reader.error;
    return reader.error ? NULL : script;
}

/* --- data --- */

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static double number_for(uint64_t *state, bool has_specials)
{
    static const double specials[] = {
        0.0,     -0.0, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1e-42,
        -3e-320, 1e30, -65504,          16777217};
    if (has_specials && draw(state) % 8 == 0) return specials[draw(state) % 10];
    return (double)((int32_t)draw(state) >> 8) / (1 << 21);
}

void script_data(unsigned char *bytes, uint64_t size, char type, uint32_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    memset(bytes, 0, size);
    for (uint64_t at = 0; at < size;) {
        double wide = number_for(&state, type == 'F' || type == 'D');
        float narrow = (float)wide;
        int32_t small = (int32_t)(draw(&state) >> 8) % 2000 - 500;
        uint32_t any = draw(&state);
        const void *from = &any;
        uint64_t width = sizeof any;
        if (type == 'd' || type == 'D') from = &wide, width = sizeof wide;
        if (type == 'f' || type == 'F') from = &narrow;
        if (type == 'i') from = &small;
        if (width > size - at) width = size - at;
        memcpy(bytes + at, from, width);
        at += width;
    }
}

/* --- the other module --- */

#define LIBRARY(name, target)                                                                                \
    ".version 8.0\n.target " target "\n.address_size 64\n.visible .entry " name                              \
    "(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<7>;\n"            \
    ".reg .b64 %rd<6>;\nld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nld.param.u32 %r1, [n];\n"      \
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"                                  \
    "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra end;\n"                            \
    "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"                     \
    "ld.global.u32 %r6, [%rd4];\nst.global.u32 [%rd5], %r6;\nend:\nret;\n}\n"

/* A compilation unit of a language, and no more: a driver refuses a debug build that has none. */
#define DEBUG_INFO                                                                                           \
    ".section .debug_abbrev\n{\n.b8 1\n.b8 17\n.b8 0\n.b8 19\n.b8 5\n.b8 0\n.b8 0\n.b8 0\n}\n"               \
    ".section .debug_info\n{\n.b32 10\n.b8 2\n.b8 0\n.b32 .debug_abbrev\n.b8 8\n.b8 1\n.b8 4\n.b8 0\n}\n"

const char *script_library(const char *kernel)
{
    if (strcmp(kernel, "bare") == 0) return LIBRARY("bare", "sm_90");
    return strcmp(kernel, "debug") == 0 ? LIBRARY("debug", "sm_90, debug") DEBUG_INFO : NULL;
}

char *script_read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    size_t size = 0, capacity = 1 << 16, got;
    char *text = malloc(capacity + 1);
    while (text && (got = fread(text + size, 1, capacity - size, file)) > 0) {
        size += got;
        if (size < capacity) continue;
        capacity *= 2;
        char *grown = realloc(text, capacity + 1);
        if (!grown) free(text);
        text = grown;
    }
    fclose(file);
    if (text) text[size] = 0;
    return text;
}
