/* SPDX-License-Identifier: Apache-2.0
 * Sets, and copies within the device, as launches of the program (common/memop.h). They touch known bytes and nobody
 * waits for them, so that they may be members of groups, or be passed over, as any launch.
 *
 * What makes one: the bytes lie in one plain allocation at each end, the two do not overlap, and all of them are
 * touched (no rows with gaps). Other copies and sets end a window, as before.
 *
 * Which thread does which byte is free. A launch is given the shape of its neighbours' (memop_shape): the element, the
 * row and the layer of the nearest launch of its window that touches the same array, and its blocks; so that a byte's
 * threads meet. Operations of one kind and size have one shape in a program, by which replay finds it again. */
#ifndef KFUSE_FUSER_PLANNER_MEMOP_H
#define KFUSE_FUSER_PLANNER_MEMOP_H

#include "common/memop.h"
#include "fuser/planner/launch_class.h"

/* One that the trace has. */
struct memop {
    enum memop_kind kind;
    uint64_t sequence, arrival_ns, bytes;
    uint64_t to, from; /* as in memop_arguments */
    uint32_t context, stream, thread;
    struct program_pointer ends[2]; /* of to, and of a copy's from; offsets are filled in */
};

/* Makes it the launch, in a shape of its own: a line of the widest elements. Its record has no kernel until memop_end.
 * False when memory is out. */
bool memop_launch(struct program *program, const struct memop *memop, struct program_launch *launch);
/* Adds the kernels that these launches are of, when all of the trace has been read. False when memory is out. */
bool memop_end(struct program *program);
/* Gives the launches of memory operations their shapes; the others have their classes. */
bool memop_shape(struct launch_classes *classes);

/* The kind and the element of one of the kernels, or MEMOP_NONE. */
enum memop_kind memop_of_kernel(const struct program *program, uint32_t kernel, uint32_t *width);

#endif
