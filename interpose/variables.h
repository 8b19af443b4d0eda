/* SPDX-License-Identifier: Apache-2.0
 * Where the variables of a launch's module are: the words behind its arguments that fused kernels take them
 * by (common/plan.h). A module may be loaded several times; the instance is that of the handle that the
 * program launches. Used with the queue's lock only, in the queue's context. */
#ifndef KFUSE_INTERPOSE_VARIABLES_H
#define KFUSE_INTERPOSE_VARIABLES_H

#include "common/plan.h"
#include "interpose/track.h"

/* False when memory is out. */
bool variables_start(const struct plan *plan);
/* Writes the addresses of the variables of the plan's kernel, variable_count of 8 bytes. False when the
 * driver does not know one of them: then the launch cannot be held. */
bool variables_put(uint32_t kernel, const struct track_kernel *known, CUfunction function, void *words);

#endif
