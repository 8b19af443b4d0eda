/* SPDX-License-Identifier: Apache-2.0
 * Hashes of byte strings (XXH3). Identities are 128 bits; checks of records are 64. */
#ifndef KFUSE_COMMON_HASH_H
#define KFUSE_COMMON_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t low, high;
};

struct hash128 hash_bytes(const void *bytes, size_t size);
uint64_t hash_check(const void *bytes, size_t size);
bool hash_equal(struct hash128 a, struct hash128 b);
/* 32 lower-case hexadecimal digits and a NUL. */
void hash_text(struct hash128 hash, char text[33]);

#endif
