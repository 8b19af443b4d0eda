/* SPDX-License-Identifier: Apache-2.0
 * Makes a module print from what the parser understood, where ptx_print_module prints what was written. */
#ifndef KFUSE_TESTS_PTX_REBUILD_H
#define KFUSE_TESTS_PTX_REBUILD_H

#include "ptx/ptx.h"

/* Mnemonics are spelled again from opcode, types, space, vector and modifiers, in the order of the words in
 * the text; numbers are printed from their values. Returns how many mnemonics say something that the
 * instruction's fields do not hold, or the other way round: each is named on stderr. */
unsigned rebuild_module(struct ptx_module *module);

#endif
