/* SPDX-License-Identifier: Apache-2.0
 * See witness.h. */
#include "fuser/fusion/witness.h"
#include "fuser/access/overlap.h"

#include <isl/point.h>
#include <isl/val.h>
#include <stdio.h>

static int64_t coordinate(__isl_keep isl_point *point, int position)
{
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, position);
    int64_t number = value ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return number;
}

static bool sample_threads(__isl_take isl_map *pairs, struct conflict_witness *witness)
{
    isl_point *point = isl_set_sample_point(isl_map_wrap(pairs));
    bool found = point && isl_point_is_void(point) == isl_bool_false;
    for (int d = 0; found && d < ACCESS_THREAD_DIMENSIONS; d++) {
        witness->p[d] = (int32_t)coordinate(point, d);
        witness->q[d] = (int32_t)coordinate(point, d + ACCESS_THREAD_DIMENSIONS);
    }
    isl_point_free(point);
    return found;
}

/* All bytes of the array that the thread touches by this access; NULL: any. */
static __isl_give isl_set *bytes_of_thread(const struct bound_launch *launch, const struct access *access,
                                           const int32_t thread[6])
{
    isl_map *first = overlap_thread_bytes(launch, access);
    if (!first) return NULL;
    for (unsigned d = 0; d < ACCESS_THREAD_DIMENSIONS; d++)
        first = isl_map_fix_si(first, isl_dim_in, d, thread[d]);
    return overlap_all_bytes(isl_map_range(first), access->width);
}

bool witness_touches(const struct bound_launch *launch, const struct access *access, const int32_t thread[6],
                     int64_t byte)
{
    isl_set *bytes = bytes_of_thread(launch, access, thread);
    if (!bytes) return false;
    isl_val *value = isl_val_int_from_si(isl_set_get_ctx(bytes), byte);
    bytes = isl_set_intersect(bytes, isl_set_from_point(isl_point_set_coordinate_val(
                                         isl_point_zero(isl_set_get_space(bytes)), isl_dim_set, 0, value)));
    bool touches = isl_set_is_empty(bytes) == isl_bool_false;
    isl_set_free(bytes);
    return touches;
}

bool witness_take(__isl_take isl_map *pairs, const struct bound_launch *p, const struct access *a,
                  const struct bound_launch *q, const struct access *b, struct conflict_witness *witness)
{
    return sample_threads(pairs, witness) && witness_complete(p, a, q, b, witness);
}

bool witness_complete(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                      const struct access *b, struct conflict_witness *witness)
{
    isl_set *bytes_p = bytes_of_thread(p, a, witness->p), *bytes_q = bytes_of_thread(q, b, witness->q);
    isl_point *least = isl_set_sample_point(isl_set_lexmin(isl_set_intersect(bytes_p, bytes_q)));
    bool found = least && isl_point_is_void(least) == isl_bool_false;
    if (found) witness->byte = coordinate(least, 0);
    isl_point_free(least);
    found = found && witness_touches(p, a, witness->p, witness->byte) &&
            witness_touches(q, b, witness->q, witness->byte);
    witness->byte -= p->bindings[a->base].offset;
    return found;
}
