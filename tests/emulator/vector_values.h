/* SPDX-License-Identifier: Apache-2.0
 * Values that golden vectors have as inputs. */
#ifndef KFUSE_TESTS_EMULATOR_VECTOR_VALUES_H
#define KFUSE_TESTS_EMULATOR_VECTOR_VALUES_H

#include "ptx/ptx.h"

/* The value of an operand (from 0) in a row, as the type's bits; above them are other bits. */
uint64_t vector_value(enum ptx_type type, unsigned row, unsigned operand);
/* The same of a shift amount or a bit position: 0 to 70, and some beyond. */
uint64_t vector_amount(unsigned row, unsigned operand);

#endif
