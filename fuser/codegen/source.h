/* SPDX-License-Identifier: Apache-2.0
 * Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_SOURCE_H
#define KFUSE_FUSER_CODEGEN_SOURCE_H

#include "fuser/codegen/codegen.h"

/* Writes one kernel and fills the result's parameters; needs result->arena. False with result->error set. */
bool source_write_kernel(const struct codegen_request *request, struct codegen_result *result, FILE *out);

#endif
