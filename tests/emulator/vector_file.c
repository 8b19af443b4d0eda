/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads the file of recorded vectors; see the header for its format. */
#include "tests/emulator/vector_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 19, WINDOW_LOG = 24, HEADER_BYTES = 1 + 8 + 3 };

/* The bytes that hold every value of a column; above them all have `filling`. */
static unsigned column_width(const uint64_t *values, uint64_t filling)
{
    unsigned width = 0;
    for (unsigned i = 0; i < VECTOR_ROWS; i++) {
        while (width < 8 && (values[2 * i] ^ filling) >> 8 * width != 0) width++;
    }
    return width == 3 ? 4 : width > 4 ? 8 : width;
}

static size_t put_column(unsigned char *out, const uint64_t *values, unsigned width)
{
    for (unsigned i = 0; i < VECTOR_ROWS; i++) memcpy(out + (size_t)i * width, &values[2 * i], width);
    return (size_t)VECTOR_ROWS * width;
}

static size_t put_record(unsigned char *out, const struct vector_record *record)
{
    size_t length = strlen(record->mnemonic), size = 0;
    const uint64_t *values = &record->results[0].first;
    bool has_results = record->status == VECTOR_RECORDED;
    unsigned first = has_results ? column_width(values, 0) : 0;
    unsigned second = has_results ? column_width(values + 1, UINT64_MAX) : 0;
    out[size++] = (unsigned char)length;
    memcpy(out + size, record->mnemonic, length);
    size += length;
    memcpy(out + size, &record->identity, 8);
    size += 8;
    out[size++] = (unsigned char)record->status;
    out[size++] = (unsigned char)first;
    out[size++] = (unsigned char)second;
    size += put_column(out + size, values, first);
    return size + put_column(out + size, values + 1, second);
}

static size_t compress_records(void *to, size_t capacity, const void *from, size_t size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL) return 0;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG);
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    size_t result = ZSTD_compress2(context, to, capacity, from, size);
    ZSTD_freeCCtx(context);
    return ZSTD_isError(result) ? 0 : result;
}

bool vector_file_write(const char *path, const char *origin, const struct vector_record *records,
                       uint32_t count)
{
    size_t most = (size_t)count * (HEADER_BYTES + VECTOR_NAME + sizeof records->results), size = 0;
    unsigned char *plain = malloc(most), *packed = malloc(ZSTD_compressBound(most));
    bool is_good = false;
    for (uint32_t i = 0; plain != NULL && i < count; i++) size += put_record(plain + size, &records[i]);
    size_t packed_size =
        plain && packed ? compress_records(packed, ZSTD_compressBound(most), plain, size) : 0;
    FILE *file = packed_size ? fopen(path, "wb") : NULL;
    if (file != NULL) {
        fprintf(file, "%s\n", origin);
        is_good = fwrite(packed, 1, packed_size, file) == packed_size;
        is_good &= fclose(file) == 0;
    }
    free(plain);
    free(packed);
    return is_good;
}

struct vector_reader {
    char *origin; /* the whole file, its line ended */
    unsigned char *plain;
    size_t size, place;
};

static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (file == NULL) return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (*size = (size_t)ftell(file)) < 1u << 30 &&
        fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc(*size + 1);
    if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

struct vector_reader *vector_file_open(const char *path, const char **origin)
{
    struct vector_reader *reader = calloc(1, sizeof *reader);
    size_t size = 0;
    if (reader == NULL) return NULL;
    reader->origin = read_whole(path, &size);
    char *line = reader->origin ? memchr(reader->origin, '\n', size) : NULL;
    size_t head = line ? (size_t)(line - reader->origin) + 1 : size;
    unsigned long long plain = line ? ZSTD_getFrameContentSize(line + 1, size - head) : 0;
    if (plain > 0 && plain < 1u << 30) reader->plain = malloc(plain);
    if (reader->plain != NULL) reader->size = ZSTD_decompress(reader->plain, plain, line + 1, size - head);
    if (reader->plain == NULL || ZSTD_isError(reader->size)) {
        vector_file_close(reader);
        return NULL;
    }
    *line = 0;
    *origin = reader->origin;
    return reader;
}

static void take_column(const unsigned char *in, uint64_t *values, unsigned width, uint64_t filling)
{
    for (unsigned i = 0; i < VECTOR_ROWS; i++) {
        values[2 * i] = filling;
        memcpy(&values[2 * i], in + (size_t)i * width, width);
    }
}

bool vector_file_next(struct vector_reader *reader, struct vector_record *record, bool *is_whole)
{
    const unsigned char *in = reader->plain + reader->place;
    size_t left = reader->size - reader->place;
    *is_whole = left == 0;
    if (left == 0 || left < HEADER_BYTES + (size_t)in[0] || in[0] >= VECTOR_NAME) return false;
    size_t length = in[0];
    memcpy(record->mnemonic, in + 1, length);
    record->mnemonic[length] = 0;
    memcpy(&record->identity, in + 1 + length, 8);
    record->status = in[length + 9];
    unsigned first = in[length + 10], second = in[length + 11];
    size_t size = HEADER_BYTES + length + (size_t)VECTOR_ROWS * (first + second);
    if (first > 8 || second > 8 || left < size) return false;
    take_column(in + HEADER_BYTES + length, &record->results[0].first, first, 0);
    take_column(in + HEADER_BYTES + length + (size_t)VECTOR_ROWS * first, &record->results[0].second, second,
                UINT64_MAX);
    reader->place += size;
    return true;
}

void vector_file_close(struct vector_reader *reader)
{
    free(reader->origin);
    free(reader->plain);
    free(reader);
}
