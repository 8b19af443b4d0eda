/* SPDX-License-Identifier: Apache-2.0
 * Around calls of this library's own that would spoil a stream capture, in this thread or another one. */
#ifndef KFUSE_INTERPOSE_RELAXED_H
#define KFUSE_INTERPOSE_RELAXED_H

#include "interpose/entry.h"

static inline CUstreamCaptureMode relaxed_begin(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return mode;
}

static inline void relaxed_end(CUstreamCaptureMode mode)
{
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

#endif
