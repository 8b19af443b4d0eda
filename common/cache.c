/* SPDX-License-Identifier: Apache-2.0
 * The user's cache folder. */
#include "common/cache.h"
#include "common/setting.h"

#include <stdio.h>

bool cache_folder(char *folder, size_t size)
{
    const char *own = setting_text("KFUSE_CACHE");
    const char *cache = setting_text("XDG_CACHE_HOME"), *home = setting_text("HOME");
    int length = -1;
    if (own)
        length = snprintf(folder, size, "%s", own);
    else if (cache)
        length = snprintf(folder, size, "%s/kfuse", cache);
    else if (home)
        length = snprintf(folder, size, "%s/.cache/kfuse", home);
    return length >= 0 && (size_t)length < size;
}
