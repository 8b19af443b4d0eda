/* SPDX-License-Identifier: Apache-2.0
 * Pieces of allocations. Array libraries hand out parts of a large allocation, at other places each time. Which of what launches touch
 * lies in one allocation then says nothing. What matters is what overlaps: a piece is what a set of ranges that meet, one by one, covers
 * of an allocation. Two pieces are as two arrays, as long as they stay apart; within one, distances count. */
#ifndef KFUSE_FUSER_ACCESS_PIECES_H
#define KFUSE_FUSER_ACCESS_PIECES_H

#include "common/arena.h"
#include "fuser/access/binding.h"

#include <stdbool.h>

/* Sets the number of the array, or of the piece of it, that each base leads to: those of the first launch, then those of the next.
 * An array's first piece has the array's own number, others have numbers that no array has. A base's range is what it touches and the
 * pointer itself; where that is not
 * bounded, or the array may alias others, the whole array. False when memory is out. */
bool pieces_number(const struct bound_launch *launches, uint32_t count, uint32_t *numbers);
/* Pieces become arrays: launches get bindings of their own, in the arena, where an array has several. */
bool pieces_part(struct arena *arena, struct bound_launch *launches, uint32_t count);

#endif
