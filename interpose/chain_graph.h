/* SPDX-License-Identifier: Apache-2.0
 * The graphs of chains (chain.h): one a sequence of kernels and shapes in a stream. Internal to
 * chain.c. With the queue's lock, in the context of the chains. */
#ifndef KFUSE_INTERPOSE_CHAIN_GRAPH_H
#define KFUSE_INTERPOSE_CHAIN_GRAPH_H

#include "interpose/chain.h"

#include <string.h>

/* A hash of the kernel and its shape, and of a sequence of these. Others may have the same: chain_is_same tells them apart. */
static inline uint64_t chain_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}
static inline uint64_t chain_shape(const struct chain_launch *launch)
{
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t hash = chain_mix((uintptr_t)launch->function, (uint64_t)grid[0] << 32 | grid[1]);
    hash = chain_mix(hash, (uint64_t)grid[2] << 32 | launch->shared);
    return chain_mix(hash, (uint64_t)block[0] << 40 ^ (uint64_t)block[1] << 20 ^ block[2]);
}
static inline bool chain_is_same(const struct chain_launch *a, const struct chain_launch *b)
{
    return a->function == b->function && a->shared == b->shared &&
           !memcmp(a->grid, b->grid, sizeof a->grid) && !memcmp(a->block, b->block, sizeof a->block);
}

/* Hands them to the driver as a graph. False: nothing has gone to it, they are to be launched one by one. sequence: of their shapes;
 * always: as KFUSE_CHAINS=always has it. */
bool chain_graph_launch(const struct chain_launch *launches, uint32_t count, uint64_t sequence, bool always);
/* What a launch by itself takes the host. */
void chain_graph_note_direct(int64_t took_ns);
/* The least of late, or what is assumed. */
int64_t chain_graph_direct_ns(void);
/* No length of chain pays on this machine. */
bool chain_graph_is_vain(void);
/* All graphs, and what was counted, go. is_context_gone: the graphs are gone already. */
void chain_graph_forget(bool is_context_gone);
uint32_t chain_graph_count(void);

#endif
