/* SPDX-License-Identifier: Apache-2.0
 * A launch as the program made it, kept to be made later. */
#ifndef KFUSE_INTERPOSE_HELD_H
#define KFUSE_INTERPOSE_HELD_H

#include "interpose/entry.h"
#include "interpose/match.h"

struct held {
    struct match_launch launch;
    CUfunction function;
    CUstream stream;
    uint32_t memop, memop_width; /* as in plan_kernel: then there is no function */
    unsigned char *arguments;    /* the words of the step (plan_words_size), in a buffer of its owner */
    uint32_t words_size;
    uint64_t ticket; /* counts held launches; 0 is none */
};

/* A launch with packed arguments: in a chain where it can be (chain.h), else at once. */
CUresult held_launch_packed(CUfunction function, const uint32_t grid[3], const uint32_t block[3],
                            uint32_t shared, CUstream stream, void *arguments, size_t size);
/* At once, behind nothing that a chain still has. */
struct chain_launch;
CUresult held_launch_directly(const struct chain_launch *launch);
/* Makes the launch; an error is remembered for the program. */
CUresult held_launch(const struct held *held);

#endif
