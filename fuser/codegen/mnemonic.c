/* SPDX-License-Identifier: Apache-2.0
 * See mnemonic.h. */
#include "fuser/codegen/mnemonic.h"

#include <string.h>

struct ptx_span mnemonic_change(struct arena *arena, struct ptx_span old, const char *remove,
                                const char *insert)
{
    char *text = arena_printf(arena, "%.*s", (int)old.length, old.text);
    if (text && remove) {
        size_t length = strlen(remove);
        for (char *found = strstr(text, remove); found; found = strstr(found + 1, remove)) {
            if (found[length] != '.' && found[length] != '\0') continue;
            memmove(found, found + length, strlen(found + length) + 1);
            break;
        }
    }
    char *dot = text && insert ? strchr(text, '.') : NULL;
    if (dot) text = arena_printf(arena, "%.*s%s%s", (int)(dot - text), text, insert, dot);
    return text ? (struct ptx_span){text, (uint32_t)strlen(text)} : (struct ptx_span){"", 0};
}

struct ptx_span mnemonic_round(struct arena *arena, struct ptx_span mnemonic)
{
    return mnemonic_change(arena, mnemonic, NULL, ".rn");
}
