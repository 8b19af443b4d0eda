/* SPDX-License-Identifier: Apache-2.0
 * A driver library that has nothing to offer but its look-ups: it prints each on standard error, with the
 * function that was asked. Whoever calls anything else is told that there is no device. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NO_DEVICE = 100 };
typedef int look_up(const char *symbol, void **function, int version, uint64_t flags, void *status);

static int nothing(void)
{
    return NO_DEVICE;
}

static void print(const char *asked, const char *symbol, int version, uint64_t flags, const void *status)
{
    fprintf(stderr, "%s \"%s\" %d %llu%s\n", asked, symbol, version, (unsigned long long)flags,
            status ? " status" : "");
}

static int look_up_11(const char *symbol, void **function, int version, uint64_t flags);
static look_up look_up_12;
static void answer(const char *symbol, void **function, int version)
{
    *function = *symbol ? (void *)nothing : NULL;
    if (!strcmp(symbol, "cuGetProcAddress"))
        *function = version >= 12000 ? (void *)look_up_12 : (void *)look_up_11;
}

static int look_up_11(const char *symbol, void **function, int version, uint64_t flags)
{
    print("11", symbol, version, flags, NULL);
    answer(symbol, function, version);
    return 0;
}

static int look_up_12(const char *symbol, void **function, int version, uint64_t flags, void *status)
{
    print("12", symbol, version, flags, status);
    answer(symbol, function, version);
    return 0;
}

__attribute__((visibility("default"))) look_up cuGetProcAddress_v2;
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, void *status)
{
    print("exported", symbol, version, flags, status);
    answer(symbol, function, version);
    return *symbol ? 0 : 500;
}
