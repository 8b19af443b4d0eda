/* SPDX-License-Identifier: Apache-2.0
 * Relations are from cells, F[0, 0, 0, z, y, x], which are threads of the member here, to bytes. */
#include "fuser/fusion/prefetch.h"

#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

enum { PREFETCH_OPERATIONS = 200000, CELL_Z = 3, MOST_STRIDE = 1 << 30 };

struct candidate {
    struct group_prefetch prefetch;
    uint32_t array;
    int64_t byte; /* that the cell in the middle loads */
};

static unsigned dimension_of(int axis)
{
    return (unsigned)(CELL_Z + 2 - axis);
}

static bool byte_at(__isl_keep isl_map *bytes, const uint32_t cell[3], int64_t *byte)
{
    isl_map *own = isl_map_copy(bytes);
    for (int d = 0; d < 3; d++) own = isl_map_fix_si(own, isl_dim_in, dimension_of(d), (int)cell[d]);
    isl_set *range = isl_map_range(own);
    isl_val *value = isl_set_plain_get_val_if_fixed(range, isl_dim_set, 0);
    bool is_known = value && isl_val_is_int(value) == isl_bool_true;
    if (is_known) *byte = isl_val_get_num_si(value);
    isl_val_free(value);
    isl_set_free(range);
    return is_known;
}

/* The last layer that has threads which load. */
static bool last_layer(__isl_keep isl_map *bytes, int axis, int64_t *last)
{
    isl_val *value = isl_set_dim_max_val(isl_map_domain(isl_map_copy(bytes)), (int)dimension_of(axis));
    bool is_known = value && isl_val_is_int(value) == isl_bool_true;
    if (is_known) *last = isl_val_get_num_si(value);
    isl_val_free(value);
    return is_known;
}

/* Every cell that loads before the last layer has one a layer further, which loads so many bytes behind. */
static bool moves_evenly(__isl_keep isl_map *bytes, int axis, int64_t stride, int64_t last)
{
    isl_ctx *ctx = isl_map_get_ctx(bytes);
    char text[256];
    snprintf(text, sizeof text, "{ F[a, b, c, z, y, x] -> F[a, b, c, z + %d, y + %d, x] }", axis == 2,
             axis == 1);
    isl_map *further = isl_map_read_from_str(ctx, text);
    snprintf(text, sizeof text, "{ [b] -> [b + %lld] }", (long long)stride);
    isl_map *behind = isl_map_reset_tuple_id(isl_map_read_from_str(ctx, text), isl_dim_in);
    isl_map *moved =
        isl_map_upper_bound_si(isl_map_copy(bytes), isl_dim_in, dimension_of(axis), (int)last - 1);
    moved = isl_map_apply_range(isl_map_apply_domain(moved, further), behind);
    bool is = isl_map_is_subset(moved, bytes) == isl_bool_true;
    isl_map_free(moved);
    return is;
}

static bool is_candidate(const struct group *group, const struct space *space,
                         const struct placed_access *load, struct candidate *candidate)
{
    const struct access *access = load->access;
    __isl_keep isl_map *bytes = space->shapes[load->shape].touch.bytes;
    uint32_t middle[3];
    int64_t next, last;
    bool is_exact = access->address_is_exact && access->domain_is_exact;
    if (access->kind != ACCESS_READ || !is_exact || !bytes) return false;
    const struct group_fetch *fetch = group_fetch_to(group, load->member, access->instruction);
    if (fetch || group_forward_to(group, load->member, access->instruction)) return false;
    for (int d = 0; d < 3; d++) middle[d] = group->cells[d] / 2;
    if (!byte_at(bytes, middle, &candidate->byte) || !last_layer(bytes, group->march, &last)) return false;
    middle[group->march]++;
    if (!byte_at(bytes, middle, &next)) return false;
    int64_t stride = next - candidate->byte;
    if (stride <= 0 || stride > MOST_STRIDE || last > INT32_MAX ||
        !moves_evenly(bytes, group->march, stride, last))
        return false;
    candidate->array = space->shapes[load->shape].array;
    candidate->prefetch =
        (struct group_prefetch){load->member, access->instruction, (int32_t)stride, (int32_t)last};
    return true;
}

/* Those of an array that lie before another one's are not wanted. */
static void add(struct group *group, const struct candidate *candidates, uint32_t count, uint32_t own)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_before = candidates[i].byte > candidates[own].byte ||
                         (candidates[i].byte == candidates[own].byte && i < own);
        if (candidates[i].array == candidates[own].array && is_before) return;
    }
    group->prefetches[group->prefetch_count++] = candidates[own].prefetch;
}

bool prefetch_list(struct group *group, const struct space *space, const bool *placed_apart)
{
    uint32_t most = 1, count = 0;
    for (uint32_t m = 0; m < group->member_count; m++) most += group->members[m].summary->access_count;
    struct candidate *candidates = arena_calloc(space->arena, most, sizeof *candidates);
    group->prefetches = arena_calloc(group->arena, most, sizeof *group->prefetches);
    if (!candidates || !group->prefetches) return false;
    struct quota quota = quota_begin(space->ctx, PREFETCH_OPERATIONS);
    for (uint32_t m = 0; m < group->member_count && group->march; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count && !placed_apart[m]; i++)
            count += is_candidate(group, space, &space->accesses[m][i], &candidates[count]);
    quota_end(&quota);
    for (uint32_t i = 0; i < count; i++) add(group, candidates, count, i);
    return true;
}
