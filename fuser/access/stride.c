/* SPDX-License-Identifier: Apache-2.0
 * See stride.h. */
#include "fuser/access/stride.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

/* The first byte that a thread in the middle of the launch touches, moved on by one along an axis. */
static bool byte_of(const struct access_summary *summary, const struct access *access, int moved,
                    int64_t *byte)
{
    isl_set *thread = isl_set_universe(isl_space_domain(isl_map_get_space(access->relation)));
    isl_size count = isl_set_dim(thread, isl_dim_set);
    for (int axis = 0; axis < 3; axis++) {
        bool is_along = axis == moved, by_thread = summary->block[axis] > 1;
        uint32_t block = summary->grid[axis] / 2;
        if (is_along && !by_thread) block = block + 1 < summary->grid[axis] ? block + 1 : block - 1;
        thread = isl_set_fix_si(thread, isl_dim_set, (unsigned)(2 - axis), (int)block);
        thread = isl_set_fix_si(thread, isl_dim_set, (unsigned)(5 - axis), is_along && by_thread);
    }
    for (int d = ACCESS_THREAD_DIMENSIONS; d < count; d++)
        thread = isl_set_fix_si(thread, isl_dim_set, (unsigned)d, 0);
    isl_set *bytes = isl_set_apply(thread, isl_map_copy(access->relation));
    isl_val *value = isl_set_plain_get_val_if_fixed(bytes, isl_dim_set, 0);
    bool is_known = value && isl_val_is_int(value) == isl_bool_true;
    if (is_known) *byte = isl_val_get_num_si(value);
    isl_val_free(value);
    isl_set_free(bytes);
    return is_known;
}

bool access_strides(const struct access_summary *summary, const struct access *access, int64_t strides[3])
{
    int64_t here, there;
    if (!access->relation || !byte_of(summary, access, -1, &here)) return false;
    for (int axis = 0; axis < 3; axis++) {
        strides[axis] = 0;
        if ((uint64_t)summary->grid[axis] * summary->block[axis] == 1) continue;
        if (!byte_of(summary, access, axis, &there)) return false;
        strides[axis] = there > here ? there - here : here - there;
    }
    return true;
}
