/* SPDX-License-Identifier: Apache-2.0
 * A launch of a line of threads (grid and block along x alone), whose threads mostly stand for the elements
 * of rows: seen by the thread's number i in the launch, and cut in rows and layers. Thread i = x + row * (y +
 * rows * z) is then the thread (x, y, z) of one block, of as many as there are cells.
 *
 * The cut launch is not another program: it names the same threads otherwise, one for one, and each keeps the
 * tid and ctaid that it had. So any row is right, whatever the array's is. What could go wrong:
 * 1. the last row, and the last layer, may have cells that are no threads: `threads` leaves them out, and so
 * does code, which asks for the number;
 * 2. in the number, neighbours of a row's end are cells of the next row: the relations say so, as they are the
 * launch's own, renamed. Nothing is taken from how an index is computed;
 * 3. numbers, and those of cells that are no threads, must fit 31 bits, in which code counts them. */
#ifndef KFUSE_FUSER_ACCESS_LINE_H
#define KFUSE_FUSER_ACCESS_LINE_H

#include "fuser/access/access.h"

struct line_form { /* how an access moves from thread to thread in the middle of the launch */
    bool is_known;
    int64_t start, step;  /* first byte, as if thread 0 moved on by steps, too */
    uint32_t row, rows;   /* threads after which it jumps; rows after which it jumps again; 0: it does not */
    int64_t pitch, layer; /* bytes from row to row, from layer to layer, where it does */
};
struct line {
    uint64_t threads;
    isl_map **bytes;         /* by access: { [i, counters] -> [byte] }; NULL where its relation is */
    struct line_form *forms; /* by access */
    struct line_cut *cuts;   /* that were asked for */
};
struct line_cut {
    uint32_t row, rows; /* cells of a row, rows of a layer */
    uint32_t extents[3];
    bool is_refused;
    isl_map **relations; /* by access: those of the cut launch, { L[0, 0, 0, z, y, x, counters] -> [byte] } */
    isl_set *threads, *effective;
    struct line_cut *next;
};

static inline bool line_is(const struct access_summary *summary)
{
    return summary->grid[1] == 1 && summary->grid[2] == 1 && summary->block[1] == 1 && summary->block[2] == 1;
}
/* Found once for a summary of a line, which owns it. NULL: too many threads, or isl gave up. */
const struct line *line_analyse(const struct access_summary *summary);
/* The same, of a line that is cut; layers of `rows` rows, 0: one layer. NULL as above. */
const struct line_cut *line_cut(const struct access_summary *summary, uint32_t row, uint32_t rows);
/* A set of threads { L[0, 0, bx, 0, 0, tx] } as cells of the cut { L[0, 0, 0, z, y, x] }. */
__isl_give isl_set *line_cut_threads(const struct access_summary *summary, const struct line_cut *cut,
                                     __isl_keep isl_set *threads);

#endif
