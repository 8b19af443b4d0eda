/* SPDX-License-Identifier: Apache-2.0
 * Any text through the front end and back: for tests that feed it garbage. */
#ifndef KFUSE_TESTS_PTX_REREAD_H
#define KFUSE_TESTS_PTX_REREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Parses, builds the control flow of every function, prints, parses what was printed, prints that. A text
 * that was read without complaint must print the same twice: false, with both prints on stderr, when it does
 * not. Ends the process when memory is out or a promise of ptx.h is broken. */
bool reread_is_stable(const char *text, size_t length);

#endif
