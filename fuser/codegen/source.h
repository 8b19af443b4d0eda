/* SPDX-License-Identifier: Apache-2.0
 * Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_SOURCE_H
#define KFUSE_FUSER_CODEGEN_SOURCE_H

#include "fuser/codegen/codegen.h"

/* Writes one kernel and fills the result's parameters; needs result->arena. False with result->error set. */
bool source_write_kernel(const struct codegen_request *request, struct codegen_result *result, FILE *out);
/* The most blocks a multiprocessor that a member asked for, with blocks of the fused size; 0: none did. */
uint32_t source_least_blocks(const struct group *group);

#endif
