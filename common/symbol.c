/* SPDX-License-Identifier: Apache-2.0
 * See symbol.h. */
#include "common/symbol.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk { /* over the <source-name>s of a symbol, outermost first */
    const char *at;
    bool is_nested;
};

/* at: where the names start; a symbol that is not mangled has none. */
static struct walk walk_begin(const char *symbol)
{
    struct walk walk = {.at = ""};
    if (strncmp(symbol, "_Z", 2) != 0) return walk;
    walk.at = symbol + 2;
    const char *local =
        *walk.at == 'Z' ? strrchr(symbol, 'E') : NULL; /* of a function: _ZZ <encoding> E <name> */
    if (local) walk.at = local + 1;
    walk.is_nested = *walk.at == 'N';
    walk.at += walk.is_nested;
    walk.at += *walk.at == 'L'; /* static */
    return walk;
}

/* One <source-name>: a length and as many characters. NULL at the end. */
static const char *walk_next(struct walk *walk, size_t *length)
{
    char *name;
    if (*walk->at < '1' || *walk->at > '9') return NULL;
    unsigned long count = strtoul(walk->at, &name, 10);
    if (count > strlen(name)) return NULL;
    *length = count;
    walk->at = walk->is_nested ? name + count : "";
    return name;
}

const char *symbol_name(const char *symbol, char *text, size_t size)
{
    struct walk walk = walk_begin(symbol);
    size_t length, used = 0;
    snprintf(text, size, "%s", symbol);
    for (const char *name; used < size && (name = walk_next(&walk, &length));)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? "::" : "", (int)length, name);
    return text;
}

static bool is_part_of_name(char letter)
{
    return letter == '_' || letter == '$' || isalnum((unsigned char)letter);
}

const char *symbol_names_in(const char *text, char *out, size_t size)
{
    char symbol[1024], name[1024];
    size_t used = 0;
    for (size_t length; *text && used + 1 < size; text += length) {
        for (length = 0; is_part_of_name(text[length]);) length++;
        bool is_symbol = !strncmp(text, "_Z", 2) && length < sizeof symbol;
        if (!length) length = 1;
        snprintf(symbol, sizeof symbol, "%.*s", (int)length, text);
        const char *shown = is_symbol ? symbol_name(symbol, name, sizeof name) : text;
        used += (size_t)snprintf(out + used, size - used, "%.*s",
                                 is_symbol ? (int)strlen(shown) : (int)length, shown);
    }
    out[used < size ? used : size - 1] = 0;
    return out;
}

const char *symbol_last_name(const char *symbol, size_t *length)
{
    struct walk walk = walk_begin(symbol);
    const char *last = symbol;
    size_t found;
    *length = strlen(symbol);
    for (const char *name; (name = walk_next(&walk, &found)); last = name) *length = found;
    return last;
}
