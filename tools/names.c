/* SPDX-License-Identifier: Apache-2.0
 * Names in the source from C++ symbols (Itanium ABI, 5.1: <encoding> of plain and nested names). */
#include "tools/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One <source-name>: a length and as many characters; NULL when it is none. */
static const char *source_name(const char *at, int *length)
{
    char *name;
    if (*at < '1' || *at > '9') return NULL;
    long count = strtol(at, &name, 10);
    if (count <= 0 || (size_t)count > strlen(name)) return NULL;
    *length = (int)count;
    return name;
}

const char *names_short(const char *symbol, char *text, size_t size)
{
    int length;
    size_t used = 0;
    snprintf(text, size, "%s", symbol);
    if (strncmp(symbol, "_Z", 2) != 0) return text;
    const char *at = symbol + 2;
    bool is_nested = *at == 'N';
    if (is_nested) at++;
    if (*at == 'L') at++; /* static */
    for (const char *name; (name = source_name(at, &length)); at = name + length) {
        int written = snprintf(text + used, size - used, "%s%.*s", used ? "::" : "", length, name);
        used += (size_t)written;
        if (!is_nested || used >= size) break;
    }
    return text;
}
