/* SPDX-License-Identifier: Apache-2.0
 * Hashes: a thin cover over xxHash's header-only XXH3. */
#include "common/hash.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct hash128 hash_bytes(const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (struct hash128){.low = hash.low64, .high = hash.high64};
}

uint64_t hash_check(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

bool hash_equal(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

void hash_text(struct hash128 hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
