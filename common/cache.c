/* SPDX-License-Identifier: Apache-2.0
 * The user's cache folder. */
#include "common/cache.h"

#include <stdio.h>
#include <stdlib.h>

bool cache_folder(char *folder, size_t size)
{
    const char *own = getenv("KFUSE_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (own && *own)
        length = snprintf(folder, size, "%s", own);
    else if (cache && *cache)
        length = snprintf(folder, size, "%s/kfuse", cache);
    else if (home && *home)
        length = snprintf(folder, size, "%s/.cache/kfuse", home);
    return length >= 0 && (size_t)length < size;
}
