/* SPDX-License-Identifier: Apache-2.0
 * Where traces and plans lie that no one named: $KFUSE_CACHE, $XDG_CACHE_HOME/kfuse or ~/.cache/kfuse. */
#ifndef KFUSE_COMMON_CACHE_H
#define KFUSE_COMMON_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* False when none of the variables is set, or the path does not fit. The folder need not exist. */
bool cache_folder(char *folder, size_t size);

#endif
