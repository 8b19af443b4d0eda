/* SPDX-License-Identifier: Apache-2.0
 * Values that a launch's blocks stage in shared memory: what each load from there reads, told by the reading thread. Tiles of
 * stencils and of filters are such.
 *
 * A load from shared memory is told where, for each thread that runs it, exactly one thread of its block, in exactly one iteration,
 * is the last that stores the byte that is read before a barrier that the reading thread has passed since. Nobody stores it between
 * that barrier and the next. What is stored must
 * have been loaded from global memory, perhaps converted, or be a number: then the reading thread may as well load the one, or
 * have the other.
 *
 * Stores count where all is known of them: which threads run them, and where they store. Everything in shared memory is accessed by
 * sums of its variable's address, and in one width, inside the variable; loads lie in no loop. Else nothing is told. */
#ifndef KFUSE_FUSER_ACCESS_STAGING_H
#define KFUSE_FUSER_ACCESS_STAGING_H

#include "fuser/access/access.h"

enum { STAGING_MOST_CONVERSIONS = 3, STAGING_MOST_PIECES = 16, STAGING_MOST_LOADS = 128 };

struct staged_sum { /* constant + of[0] * ctaid.z + of[1] * ctaid.y + ... + of[5] * tid.x */
    int64_t constant, of[ACCESS_THREAD_DIMENSIONS];
};
struct staged_piece { /* what some of the threads read */
    isl_set *threads; /* { L[bz, by, bx, tz, ty, tx] } */
    /* The load from global memory whose value it is; UINT32_MAX: it is a number. */
    uint32_t load;
    uint32_t argument;      /* of the load: the word of the arguments that points to its array */
    struct staged_sum from; /* bytes behind that pointer */
    uint32_t conversions[STAGING_MOST_CONVERSIONS],
        conversion_count; /* of what is loaded: instructions, the last one first */
    uint64_t number;      /* its bits, as wide as what is read */
};
struct staged_load {
    uint32_t instruction;
    isl_set *threads; /* that run it, or more */
    struct staged_piece
        pieces[STAGING_MOST_PIECES]; /* disjoint; together all threads. The first: most kinds of them. */
    uint32_t piece_count;
};
struct staging { /* of a function in plain form */
    struct arena *arena;
    struct access_summary *summary; /* of a launch, as its words and contents must be guarded */
    struct staged_load *loads;      /* from shared memory: all, in order */
    uint32_t load_count;
};

/* The function stages something, by its look. */
bool staging_may_be(const struct ptx_function *function);
/* Of a launch; false: something is not told, or memory is out. staging_close, in either case. */
bool staging_find(isl_ctx *ctx, const struct launch_input *input, struct staging *staging);
void staging_close(struct staging *staging);

#endif
