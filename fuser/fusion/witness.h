/* SPDX-License-Identifier: Apache-2.0
 * A concrete example of a conflict: two threads and a byte that both touch. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_WITNESS_H
#define KFUSE_FUSER_FUSION_WITNESS_H

#include "fuser/fusion/conflict.h"

/* Takes one of the pairs of threads { thread of p -> thread of q } in which a of p and b of q meet, and the
 * first byte that they share. False when there is none, isl gave up, or the two accesses, evaluated at these
 * threads, do not both touch that byte. */
bool witness_take(__isl_take isl_map *pairs, const struct bound_launch *p, const struct access *a,
                  const struct bound_launch *q, const struct access *b, struct conflict_witness *witness);
/* The same of two threads that are known: the byte. */
bool witness_complete(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                      const struct access *b, struct conflict_witness *witness);
/* Whether the thread touches the byte of the array by this access, as its relation says. */
bool witness_touches(const struct bound_launch *launch, const struct access *access, const int32_t thread[6],
                     int64_t byte);

#endif
