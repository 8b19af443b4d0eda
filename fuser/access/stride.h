/* SPDX-License-Identifier: Apache-2.0
 * How an access moves from thread to thread of its launch. */
#ifndef KFUSE_FUSER_ACCESS_STRIDE_H
#define KFUSE_FUSER_ACCESS_STRIDE_H

#include "fuser/access/access.h"

/* Bytes from a thread in the middle of the launch to the next one along x, y and z, in the first iteration of loops; 0: there is
 * no next one. Never negative. False where that cannot be told. It is of one place, and so a hint. */
bool access_strides(const struct access_summary *summary, const struct access *access, int64_t strides[3]);

#endif
