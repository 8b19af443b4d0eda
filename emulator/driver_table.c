/* SPDX-License-Identifier: Apache-2.0
 * Entry points by name: cuGetProcAddress over the table driver.def. A program asks for a base name and the
 * CUDA version that it was built for, and gets the newest ABI that is not newer. cuda.h is not included: it
 * gives names new meanings. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { DRIVER_MAJOR = 13 };
enum { QUERY_FOUND, QUERY_NOT_FOUND, QUERY_TOO_OLD };
enum { FLAG_LEGACY = 1, FLAG_PER_THREAD = 2 };

#define ENTRY(symbol, base, version, how, target) EXPORT void symbol(void);
#include "emulator/driver.def"
#undef ENTRY

static const struct table_entry {
    const char *symbol, *base;
    int version;
    void (*address)(void);
} table[] = {
#define ENTRY(symbol, base, version, how, target) {#symbol, #base, version, symbol},
#include "emulator/driver.def"
#undef ENTRY
};
enum { TABLE_ROWS = sizeof table / sizeof *table };

static int table_is_thread_variant(const struct table_entry *entry)
{
    const char *suffix = strstr(entry->symbol, "_pt");
    return suffix && (strcmp(suffix, "_ptsz") == 0 || strcmp(suffix, "_ptds") == 0);
}

/* With the per-thread flag, a name that has per-thread variants has no other. */
static int table_has_thread_variant(const char *base)
{
    for (size_t i = 0; i < TABLE_ROWS; i++)
        if (strcmp(table[i].base, base) == 0 && table_is_thread_variant(&table[i])) return 1;
    return 0;
}

static void *table_find(const char *base, int version, uint64_t flags, int *status)
{
    const struct table_entry *best = NULL;
    int is_thread = (flags & FLAG_PER_THREAD) && table_has_thread_variant(base);
    *status = QUERY_NOT_FOUND;
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        const struct table_entry *entry = &table[i];
        if (entry->version == 0 || strcmp(entry->base, base) != 0) continue;
        if (*status == QUERY_NOT_FOUND) *status = QUERY_TOO_OLD;
        if (table_is_thread_variant(entry) != is_thread || entry->version > version) continue;
        if (!best || entry->version > best->version) best = entry;
    }
    if (best) *status = QUERY_FOUND;
    return best ? (void *)best->address : NULL;
}

int cuGetProcAddress_v2_(const char *symbol, void **result, int version, uint64_t flags,
                         int *status) __asm__("cuGetProcAddress_v2") EXPORT;
int cuGetProcAddress_v2_(const char *symbol, void **result, int version, uint64_t flags, int *status)
{
    int known;
    if (!symbol || !result || flags > (FLAG_LEGACY | FLAG_PER_THREAD)) return INVALID_VALUE;
    if (version / 1000 > DRIVER_MAJOR) return INVALID_VALUE;
    *result = table_find(symbol, version, flags, &known);
    if (status) *status = known;
    return *result || status ? SUCCESS : NOT_FOUND;
}

int cuGetProcAddress_(const char *symbol, void **result, int version,
                      uint64_t flags) __asm__("cuGetProcAddress") EXPORT;
int cuGetProcAddress_(const char *symbol, void **result, int version, uint64_t flags)
{
    return cuGetProcAddress_v2_(symbol, result, version, flags, NULL);
}

/* Private tables between NVIDIA's driver and its libraries. */
int cuGetExportTable_(const void **result, const void *identity) __asm__("cuGetExportTable") EXPORT;
int cuGetExportTable_(const void **result, const void *identity)
{
    (void)identity;
    if (result) *result = NULL;
    return NOT_SUPPORTED;
}
