/* SPDX-License-Identifier: Apache-2.0
 * Waiting for a context to come to rest, but not for ever. */
#ifndef KFUSE_INTERPOSE_VERIFY_REST_H
#define KFUSE_INTERPOSE_VERIFY_REST_H

#include "interpose/entry.h"

/* False when the context has not come to rest in time, or no thread can be started: then never call it again.
 * Otherwise result is what cuCtxSynchronize returned. One caller at a time. */
bool verify_rest(CUcontext context, unsigned milliseconds, CUresult *result);
void verify_rest_fork_child(void);

#endif
