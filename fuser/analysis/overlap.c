/* SPDX-License-Identifier: Apache-2.0
 * Which threads of two launches touch the same byte. Bytes are counted in the largest unit that both accesses
 * keep to (their common element, mostly), so that widths do not blow the relations up. */
#include "fuser/analysis/frame.h"

#include <isl/aff.h>
#include <isl/stride_info.h>
#include <isl/val.h>
#include <stdio.h>

static uint64_t common_divisor(uint64_t a, uint64_t b)
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

__isl_give isl_map *overlap_relation(__isl_keep isl_map *a, uint32_t width_a, __isl_keep isl_map *b,
                                     uint32_t width_b)
{
    isl_ctx *ctx = isl_map_get_ctx(a);
    int64_t residue_a, residue_b;
    uint64_t unit =
        common_divisor((uint64_t)image_stride(a, &residue_a), (uint64_t)image_stride(b, &residue_b));
    int64_t apart = residue_a - residue_b;
    unit = common_divisor(unit, (uint64_t)(apart < 0 ? -apart : apart));
    unit = common_divisor(common_divisor(unit, width_a), width_b);
    int64_t residue = residue_a % (int64_t)unit;
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
