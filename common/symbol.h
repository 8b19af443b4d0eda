/* SPDX-License-Identifier: Apache-2.0
 * Names in the source from C++ symbols (Itanium ABI, 5.1: <encoding> of plain, nested and local names),
 * without template arguments and parameters. */
#ifndef KFUSE_COMMON_SYMBOL_H
#define KFUSE_COMMON_SYMBOL_H

#include <stddef.h>

/* _ZN3app4stepEPfi is app::step; any other symbol is itself. The result is in text, cut to size. */
const char *symbol_name(const char *symbol, char *text, size_t size);
/* The same for each symbol in a text. The result is in out, cut to size. */
const char *symbol_names_in(const char *text, char *out, size_t size);
/* The innermost name, in the symbol itself: `step` of _ZN3app4stepEPf, `part` of _ZZ6reducePPKfiE4part; any
 * other symbol is itself. */
const char *symbol_last_name(const char *symbol, size_t *length);

#endif
