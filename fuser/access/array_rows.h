/* SPDX-License-Identifier: Apache-2.0
 * Bytes of an array by layer, row and place in the row. Two launches that each write every other element of rows write all of them
 * together: of sets of bytes isl finds that out late or never, of rows and places at once.
 *
 * Sound: where the places of all accesses, from the least to the greatest, are no more than a row has bytes, and the rows no more
 * than a layer has, two bytes are the same exactly when layer, row and place are. Nothing rests on the rows being the program's. */
#ifndef KFUSE_FUSER_ACCESS_ARRAY_ROWS_H
#define KFUSE_FUSER_ACCESS_ARRAY_ROWS_H

#include "fuser/access/array_range.h"

#define ARRAY_ROWS_NONE ((int64_t)1 << 44) /* a pitch, where there is only one row, or layer */
struct array_rows {
    int64_t start;      /* byte of the array that has layer, row and place 0 */
    int64_t row, layer; /* bytes from one to the next */
    int64_t unit;       /* bytes that are touched together or not at all */
};

/* In which all that the launches touch of the range has its place; false: there are none, or one alone, or isl gave up. */
bool array_rows_find(const struct bound_launch *launches, uint32_t count, const struct array_range *range,
                     struct array_rows *rows);
/* All that the access touches, { [layer, row, place] }, places in units; NULL: not known. Owned. */
__isl_give isl_set *array_rows_bytes(const struct array_rows *rows, const struct bound_launch *launch,
                                     const struct access *access);

struct array_extent {
    int64_t least, most;
};
/* Of one coordinate; false: there is none, or isl gave up. isl (0.25) may be wrong of sets that have a part without a point: ask
 * whether all lies there. */
bool array_rows_extent(__isl_keep isl_set *bytes, int coordinate, struct array_extent *extent);

#endif
