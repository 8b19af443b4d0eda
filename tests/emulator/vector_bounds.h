/* SPDX-License-Identifier: Apache-2.0
 * Which difference between a recorded result and the emulator's the PTX ISA allows (vector_bounds.def). */
#ifndef KFUSE_TESTS_EMULATOR_VECTOR_BOUNDS_H
#define KFUSE_TESTS_EMULATOR_VECTOR_BOUNDS_H

#include "tests/emulator/vectors.h"

/* Whether the mnemonic has a bound; all others are exact. */
bool vector_is_approximate(const char *mnemonic);
/* The n-th mnemonic with a bound; NULL: there are fewer. */
const char *vector_approximate(unsigned n);
/* Whether both results of one row are within the form's bound of each other: got is correctly rounded. */
bool vector_is_near(const struct emu_form *form, const uint64_t operands[VECTOR_OPERANDS], uint64_t got,
                    uint64_t expected);

#endif
