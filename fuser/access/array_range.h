/* SPDX-License-Identifier: Apache-2.0
 * Ranges of arrays that a group touches: the hull of bases whose hulls overlap, of all members. What is done
 * to arrays (renaming, leaving them stale) is done to such ranges. */
#ifndef KFUSE_FUSER_ACCESS_ARRAY_RANGE_H
#define KFUSE_FUSER_ACCESS_ARRAY_RANGE_H

#include "fuser/access/binding.h"

enum { ARRAY_RANGE_FIRST_NEW = 1u << 29 }; /* arrays from this number on are new contents (rename.h) */
#define ARRAY_RANGE_UNKNOWN UINT32_MAX     /* the array of an address that may lie in any */

struct array_range { /* of an array, in bytes from its start */
    uint32_t array;
    int64_t from, to;
    uint32_t writer; /* the first member that writes it, once array_range_find_writer has been asked */
};

/* A pointer among the arguments with a hull, into a plain allocation. */
bool array_range_is_known(const struct access_base *base, const struct array_binding *binding);
/* Of the base: it may be part of a larger range. */
struct array_range array_range_of(const struct bound_launch *launch, uint32_t base);
/* So many bytes from `from` on, seen from the pointer that the launch has in this word, which one of its bases has. */
struct array_range array_range_behind(const struct bound_launch *launch, uint32_t argument_offset,
                                      int64_t from, int64_t bytes);
/* What the launch may touch through the base: all, where it has no hull. */
struct array_range array_range_reach(const struct bound_launch *launch, uint32_t base);
/* They may have a byte in common. */
bool array_range_meet(const struct array_range *a, const struct array_range *b);
bool array_range_holds(const struct array_range *range, const struct bound_launch *launch, uint32_t base);
/* Widens the range to all bases that overlap it; false when one of the array's is not known. */
bool array_range_close(const struct bound_launch *members, uint32_t count, struct array_range *range);
/* Sets the writer; false when there is none, or some member has atomics. */
bool array_range_find_writer(const struct bound_launch *members, uint32_t count, struct array_range *range);
bool array_range_writes_through(const struct access_summary *summary, uint32_t base);
/* All that the access touches, { [byte] } of the array; NULL: not known. */
__isl_give isl_set *array_range_bytes(const struct bound_launch *launch, const struct access *access);

#endif
