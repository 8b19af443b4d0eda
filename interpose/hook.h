/* SPDX-License-Identifier: Apache-2.0
 * What the wrappers (hook_SYMBOL, called by the stubs of driver.def) share. A wrapper has the type of its
 * symbol. Its shape: shim_enter or shim_enter_flush; GATE, where the call may change device memory; the real
 * call; books, where the call succeeded; shim_result where the call is documented to report errors of earlier
 * launches. */
#ifndef KFUSE_INTERPOSE_HOOK_H
#define KFUSE_INTERPOSE_HOOK_H

#include "interpose/entry.h"
#include "interpose/gate.h"
#include "interpose/record.h"
#include "interpose/replay.h"
#include "interpose/shim.h"
#include "interpose/track.h"

/* Declares a wrapper and begins its definition. */
#define HOOK(symbol, ...)                                                                                    \
    CUresult hook_##symbol(__VA_ARGS__);                                                                     \
    CUresult hook_##symbol(__VA_ARGS__)

/* The stream that a call of this symbol means by its argument; no stream is the default one. */
static inline CUstream hook_stream(const char *symbol, CUstream stream)
{
    size_t length = __builtin_strlen(symbol);
    bool is_per_thread = length > 5 && (!__builtin_strcmp(symbol + length - 5, "_ptsz") ||
                                        !__builtin_strcmp(symbol + length - 5, "_ptds"));
    return is_per_thread && !stream ? CU_STREAM_PER_THREAD : stream;
}

#endif
