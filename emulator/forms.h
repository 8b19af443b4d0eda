/* SPDX-License-Identifier: Apache-2.0
 * The instruction forms that the emulator runs (forms.def): looked up when a kernel is decoded, and listed
 * for the golden vectors. */
#ifndef KFUSE_EMULATOR_FORMS_H
#define KFUSE_EMULATOR_FORMS_H

#include "ptx/ptx.h"

struct emu_form {
    const char *mnemonic, *registers, *operands; /* see forms.def; registers NULL: it has no vector, operands
                                                  * says why */
};

/* Every form, in forms.def's order, with all alternatives written out. NULL when memory is out or the
 * table has a word that the parser does not know. */
const struct emu_form *emu_forms(uint32_t *count);
/* Whether the opcode with these types, spaces and modifiers is one of them. */
bool emu_form_is_known(const struct ptx_instruction *instruction);
/* Whether a memory instruction's modifier changes only its cost, its order, or who sees it when. */
bool emu_form_is_hint(enum ptx_modifier modifier);

#endif
