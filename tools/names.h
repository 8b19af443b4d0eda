/* SPDX-License-Identifier: Apache-2.0
 * Kernel names for people. */
#ifndef KFUSE_TOOLS_NAMES_H
#define KFUSE_TOOLS_NAMES_H

#include <stddef.h>

/* The name in the source of a kernel whose C++ symbol this is, without template arguments and parameters:
 * _ZN3app4stepEPfi is app::step. Any other symbol is returned as it is. The result is in text, cut to size.
 */
const char *names_short(const char *symbol, char *text, size_t size);

#endif
