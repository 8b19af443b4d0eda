/* SPDX-License-Identifier: Apache-2.0
 * The file of recorded vectors: a line of text that says where and when, then one zstd frame of records:
 *   byte length, mnemonic; u64 identity; byte status; byte width of first; byte width of second; results.
 * Numbers are little-endian. Results: all rows' first, then all rows' second; a width of 0 stands for none
 * (first 0, second UINT64_MAX); the bytes of second beyond its width are 0xff. */
#ifndef KFUSE_TESTS_EMULATOR_VECTOR_FILE_H
#define KFUSE_TESTS_EMULATOR_VECTOR_FILE_H

#include "tests/emulator/vectors.h"

enum vector_status {
    VECTOR_PENDING,
    VECTOR_RECORDED,
    VECTOR_REJECTED, /* the driver did not compile it */
    VECTOR_FAILED,   /* the launch failed */
};

struct vector_record {
    char mnemonic[VECTOR_NAME];
    uint64_t identity;
    enum vector_status status;
    struct vector_result results[VECTOR_ROWS];
};

/* False: cannot be written. */
bool vector_file_write(const char *path, const char *origin, const struct vector_record *records,
                       uint32_t count);

struct vector_reader;
/* NULL: it cannot be read. *origin is the first line; it belongs to the reader. */
struct vector_reader *vector_file_open(const char *path, const char **origin);
/* The next record; false at the end. *is_whole says whether the end is one. */
bool vector_file_next(struct vector_reader *reader, struct vector_record *record, bool *is_whole);
void vector_file_close(struct vector_reader *reader);

#endif
