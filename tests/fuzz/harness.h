/* SPDX-License-Identifier: Apache-2.0
 * What every harness of a reader offers: linked with a coverage-guided fuzzer (tests/fuzz/run), or with
 * replay.c, which feeds it files. One file a reader: harness_READER.c. A fault is a crash, a sanitizer's
 * report, a hang or an abort. */
#ifndef KFUSE_TESTS_FUZZ_HARNESS_H
#define KFUSE_TESTS_FUZZ_HARNESS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes as a file of the reader's format. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* For readers that want a path: memory_file.c. The one file of the process, in memory, then holds these
 * bytes; returns its path. */
const char *memory_file_path(const void *bytes, size_t size);

#endif
