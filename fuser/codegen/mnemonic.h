/* SPDX-License-Identifier: Apache-2.0
 * Mnemonics with other modifiers. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_MNEMONIC_H
#define KFUSE_FUSER_CODEGEN_MNEMONIC_H

#include "ptx/ptx.h"

/* The mnemonic with a modifier taken out (remove, with its dot) or put in behind the opcode (insert). Either may
 * be NULL. Empty when memory is out. */
struct ptx_span mnemonic_change(struct arena *arena, struct ptx_span old, const char *remove,
                                const char *insert);
/* Of an arithmetic instruction, with .rn put in behind the opcode. */
struct ptx_span mnemonic_round(struct arena *arena, struct ptx_span mnemonic);

#endif
