/* SPDX-License-Identifier: Apache-2.0
 * PTX files with launches in their comments, for the tests of the analysis:
 *   // launch KERNEL grid X Y Z block X Y Z args p:BYTES i32:N u32:N i64:N u64:N f32:N f64:N ...
 *   // variable NAME i32:N ...          (contents known to the analysis)
 * `analyse` instead of `launch`: not to be run. Fields lie at natural alignment, in order, structs included. p:BYTES is a pointer to an allocation of that size,
 * p:BYTES:M one whose 32-bit words hold pseudo-random numbers below M (8 unless told); p:BYTES:M@N starts N bytes inside. */
#ifndef KFUSE_TESTS_ANALYSIS_LAUNCH_FILE_H
#define KFUSE_TESTS_ANALYSIS_LAUNCH_FILE_H

#include "fuser/access/access.h"

enum { LAUNCH_FILE_BYTES = 4096, LAUNCH_FILE_POINTERS = 32, LAUNCH_FILE_VARIABLES = 8 };

struct launch_buffer {
    uint32_t offset; /* of the pointer in the arguments */
    uint64_t size;
    uint32_t modulus;
    uint64_t inside; /* the pointer's distance from the start */
};
struct launch_line {
    char kernel[256];
    uint32_t grid[3], block[3], shared;
    bool may_run; /* false: written `analyse` instead of `launch`, for it goes out of bounds */
    unsigned char arguments[LAUNCH_FILE_BYTES];
    uint32_t size;
    struct launch_buffer buffers[LAUNCH_FILE_POINTERS];
    uint32_t buffer_count;
    struct launch_pointer pointers[LAUNCH_FILE_POINTERS];
    char names[LAUNCH_FILE_VARIABLES][64];
    unsigned char contents[LAUNCH_FILE_VARIABLES][256];
    struct launch_variable variables[LAUNCH_FILE_VARIABLES];
    uint32_t variable_count;
};
/* Text of a file, NUL-terminated; exits with a message when it cannot be read. */
char *launch_file_read(const char *path);
/* The next launch after *cursor (which starts at the text), with all variables before it; false when there is none.
 * Exits with a message on a malformed line. */
bool launch_file_next(const char **cursor, struct launch_line *line);
void launch_file_input(const struct launch_line *line, const struct ptx_module *module,
                       struct launch_input *input);

#endif
