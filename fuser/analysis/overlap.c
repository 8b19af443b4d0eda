/* SPDX-License-Identifier: Apache-2.0
 * Which threads of two launches touch the same byte. Bytes are counted in the largest unit that both accesses
 * keep to (their common element, mostly), so that widths do not blow the relations up. */
#include "fuser/analysis/frame.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/stride_info.h>
#include <isl/val.h>
#include <stdio.h>

uint64_t overlap_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The bytes of the image are `residue` modulo the result; 1 when isl cannot tell. */
static int64_t image_stride(__isl_keep isl_map *map, int64_t *residue)
{
    int64_t stride = 1;
    *residue = 0;
    isl_stride_info *info = isl_map_get_range_stride_info(map, 0);
    if (!info) return 1;
    isl_val *value = isl_stride_info_get_stride(info);
    isl_aff *offset = isl_stride_info_get_offset(info);
    if (value && isl_val_is_int(value) && isl_val_is_pos(value) && offset && isl_aff_is_cst(offset)) {
        isl_val *constant = isl_aff_get_constant_val(offset);
        if (constant && isl_val_is_int(constant)) {
            stride = isl_val_get_num_si(value);
            *residue = isl_val_get_num_si(constant);
        }
        isl_val_free(constant);
    }
    isl_val_free(value);
    isl_aff_free(offset);
    isl_stride_info_free(info);
    return stride;
}

static __isl_give isl_map *map_from_text(isl_ctx *ctx, const char *format, long long a, long long b)
{
    char text[160];
    snprintf(text, sizeof text, format, a, b);
    return isl_map_read_from_str(ctx, text);
}

/* The largest unit that both accesses keep to. *residue: of the first one's bytes. */
static int64_t common_unit(__isl_keep isl_map *a, uint32_t width_a, __isl_keep isl_map *b, uint32_t width_b,
                           int64_t *residue)
{
    int64_t residue_b;
    uint64_t unit =
        overlap_common_divisor((uint64_t)image_stride(a, residue), (uint64_t)image_stride(b, &residue_b));
    int64_t apart = *residue - residue_b;
    unit = overlap_common_divisor(unit, (uint64_t)(apart < 0 ? -apart : apart));
    unit = overlap_common_divisor(overlap_common_divisor(unit, width_a), width_b);
    *residue %= (int64_t)unit;
    return (int64_t)unit;
}

__isl_give isl_map *overlap_relation(__isl_keep isl_map *a, uint32_t width_a, __isl_keep isl_map *b,
                                     uint32_t width_b)
{
    isl_ctx *ctx = isl_map_get_ctx(a);
    int64_t residue, unit = common_unit(a, width_a, b, width_b, &residue);
    isl_map *scale = map_from_text(ctx, "{ [x] -> [u] : x = %lld + %lld u }", residue, (long long)unit);
    isl_map *units_a = isl_map_apply_range(isl_map_copy(a), isl_map_copy(scale));
    isl_map *units_b = isl_map_apply_range(isl_map_copy(b), scale);
    if (width_a != unit || width_b != unit) {
        isl_map *near = map_from_text(ctx, "{ [u] -> [v] : u - %lld < v < u + %lld }",
                                      width_b / (long long)unit, width_a / (long long)unit);
        units_a = isl_map_apply_range(units_a, near);
    }
    return isl_map_apply_range(units_a, isl_map_reverse(units_b));
}

/* { [thread of a -> thread of b] -> [byte of a -> byte of b] }: they share a byte. Nothing is eliminated,
 * which is what takes long in overlap_relation. */
static __isl_give isl_map *sharing(__isl_keep isl_map *a, uint32_t width_a, __isl_keep isl_map *b,
                                   uint32_t width_b)
{
    int64_t residue, unit = common_unit(a, width_a, b, width_b, &residue);
    isl_map *both = isl_map_flat_product(isl_map_copy(a), isl_map_copy(b));
    if (width_a == unit && width_b == unit) return isl_map_equate(both, isl_dim_out, 0, isl_dim_out, 1);
    isl_local_space *space = isl_local_space_from_space(isl_map_get_space(both));
    for (int end = 0; end < 2; end++) { /* a < b + width_b, then b < a + width_a */
        isl_constraint *less = isl_constraint_alloc_inequality(isl_local_space_copy(space));
        less = isl_constraint_set_coefficient_si(less, isl_dim_out, 0, end ? 1 : -1);
        less = isl_constraint_set_coefficient_si(less, isl_dim_out, 1, end ? -1 : 1);
        less = isl_constraint_set_constant_si(less, (int)(end ? width_a : width_b) - 1);
        both = isl_map_add_constraint(both, less);
    }
    isl_local_space_free(space);
    return both;
}

/* Whether both threads may differ in one of these coordinates. */
static isl_bool may_differ(__isl_keep isl_map *shared, unsigned from, unsigned to)
{
    unsigned count = (unsigned)isl_map_dim(shared, isl_dim_in) / 2;
    for (unsigned d = from; d < to; d++)
        for (int end = 0; end < 2; end++) {
            unsigned less = end ? count + d : d, more = end ? d : count + d;
            isl_map *beyond =
                isl_map_order_lt(isl_map_copy(shared), isl_dim_in, (int)less, isl_dim_in, (int)more);
            isl_bool empty = isl_map_is_empty(beyond);
            isl_map_free(beyond);
            if (empty != isl_bool_true) return isl_bool_not(empty);
        }
    return isl_bool_false;
}

enum overlap overlap_test(__isl_keep isl_map *a, uint32_t width_a, __isl_keep isl_map *b, uint32_t width_b,
                          enum overlap reach)
{
    isl_map *shared = sharing(a, width_a, b, width_b);
    bool by_block = reach == OVERLAP_BLOCK;
    enum overlap result = OVERLAP_UNKNOWN;
    isl_bool block = by_block ? may_differ(shared, 0, 3) : isl_bool_false;
    isl_bool thread = block == isl_bool_false ? may_differ(shared, by_block ? 3 : 0, 6) : isl_bool_false;
    isl_bool empty =
        block == isl_bool_false && thread == isl_bool_false ? isl_map_is_empty(shared) : isl_bool_false;
    if (block == isl_bool_true)
        result = OVERLAP_OTHER;
    else if (thread == isl_bool_true)
        result = by_block ? OVERLAP_BLOCK : OVERLAP_OTHER;
    else if (block == isl_bool_false && thread == isl_bool_false && empty >= 0)
        result = empty ? OVERLAP_NONE : OVERLAP_SAME;
    isl_map_free(shared);
    return result;
}

__isl_give isl_map *overlap_thread_bytes(const struct bound_launch *launch, const struct access *access)
{
    if (!access->relation) return NULL;
    isl_map *bytes = access_thread_relation(access);
    if (!bytes) return NULL;
    int64_t offset = launch->bindings[access->base].offset;
    if (offset == 0) return bytes;
    return isl_map_apply_range(bytes,
                               map_from_text(isl_map_get_ctx(bytes), "{ [x] -> [x + %lld] }", offset, 0));
}

bool overlap_may_share(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                       const struct access *b)
{
    const struct array_binding *bound_a = &p->bindings[a->base], *bound_b = &q->bindings[b->base];
    if (bound_a->array != bound_b->array) return !bound_a->is_plain && !bound_b->is_plain;
    const struct access_base *base_a = &p->summary->bases[a->base], *base_b = &q->summary->bases[b->base];
    if (!base_a->is_bounded || !base_b->is_bounded) return true;
    return base_a->from + bound_a->offset < base_b->to + bound_b->offset &&
           base_b->from + bound_b->offset < base_a->to + bound_a->offset;
}

bool overlap_may_conflict(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                          const struct access *b)
{
    if (a->kind == ACCESS_READ && b->kind == ACCESS_READ) return false;
    return overlap_may_share(p, a, q, b);
}
