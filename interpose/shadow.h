/* SPDX-License-Identifier: Apache-2.0
 * Device memory that this library has for itself: second buffers for arrays that fused kernels rename
 * (rename.h). Nobody else here allocates any. Buffers are made at first need, in the current context, by the
 * driver's own allocator; kept; and given back all together when the program's own allocation fails.
 *
 * How much: KFUSE_SHADOW_MB, or an eighth of the device's memory, in all; and for a new one never more than
 * half of what is free at that moment.
 *
 * A buffer that is put back may still be in use by work of its stream. It is taken again for the same stream,
 * whose order keeps them apart, or when that work is done; nothing is ever waited for.
 *
 * All with the queue's lock, but shadow_bytes. */
#ifndef KFUSE_INTERPOSE_SHADOW_H
#define KFUSE_INTERPOSE_SHADOW_H

#include "interpose/entry.h"

#include <stdint.h>

/* A buffer in which address and the bytes behind it have a place of the same alignment: that place. 0: there
 * is none to be had. */
CUdeviceptr shadow_take(CUdeviceptr address, uint64_t bytes, CUstream stream);
/* place: as shadow_take returned it. */
void shadow_put(CUdeviceptr place);
/* The stream is about to go; its number may come again while its work still runs. */
void shadow_stream_gone(CUstream stream);
/* Frees every buffer, in the current context; none is taken. */
void shadow_free(void);
/* The context is gone, and all buffers with it; or this is the child of a fork. */
void shadow_forget(void);

/* That are allocated now; any thread. */
uint64_t shadow_bytes(void);

#endif
