/* SPDX-License-Identifier: Apache-2.0
 * See overlap.h. Bytes are counted in the largest unit that both accesses
 * keep to (their common element, mostly), so that widths do not blow the relations up. */
#include "fuser/access/overlap.h"

#include "fuser/solver/quota.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/point.h>
#include <isl/space.h>
#include <isl/stride_info.h>
#include <isl/val.h>
#include <string.h>
#include <stdlib.h>

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

/* { [x] -> [u] : x = residue + unit u } */
static __isl_give isl_map *units(isl_ctx *ctx, int64_t residue, int64_t unit)
{
    isl_local_space *space = isl_local_space_from_space(isl_space_set_alloc(ctx, 0, 1));
    isl_aff *byte =
        isl_aff_scale_val(isl_aff_var_on_domain(space, isl_dim_set, 0), isl_val_int_from_si(ctx, unit));
    return isl_map_reverse(
        isl_map_from_aff(isl_aff_add_constant_val(byte, isl_val_int_from_si(ctx, residue))));
}

/* { [x] -> [y] : x - before < y < x + behind } */
static __isl_give isl_map *near(isl_ctx *ctx, int64_t before, int64_t behind)
{
    isl_space *space = isl_space_alloc(ctx, 0, 1, 1);
    isl_map *map = isl_map_universe(isl_space_copy(space));
    isl_local_space *local = isl_local_space_from_space(space);
    for (int side = 0; side < 2; side++) {
        isl_constraint *bound = isl_constraint_alloc_inequality(isl_local_space_copy(local));
        bound = isl_constraint_set_coefficient_si(bound, isl_dim_out, 0, side ? -1 : 1);
        bound = isl_constraint_set_coefficient_si(bound, isl_dim_in, 0, side ? 1 : -1);
        bound =
            isl_constraint_set_constant_val(bound, isl_val_int_from_si(ctx, (side ? behind : before) - 1));
        map = isl_map_add_constraint(map, bound);
    }
    isl_local_space_free(local);
    return map;
}

static int64_t start_of(const struct touch *touch)
{
    return touch->from == INT64_MIN ? 0 : touch->from;
}

/* Takes the value. */
static int64_t known_or(__isl_take isl_val *value, int64_t otherwise)
{
    int64_t number = value && isl_val_is_int(value) ? isl_val_get_num_si(value) : otherwise;
    isl_val_free(value);
    return number;
}

__isl_give isl_map *overlap_moved(__isl_take isl_map *bytes, int64_t distance)
{
    if (!bytes || !distance) return bytes;
    isl_space *byte = isl_space_range(isl_map_get_space(bytes));
    isl_aff *back = isl_aff_var_on_domain(isl_local_space_from_space(byte), isl_dim_set, 0);
    back = isl_aff_add_constant_val(back, isl_val_int_from_si(isl_map_get_ctx(bytes), -distance));
    return isl_map_preimage_range_multi_aff(bytes, isl_multi_aff_from_aff(back));
}

static void measure(struct touch *touch, __isl_keep isl_map *bytes)
{
    isl_set *all = isl_map_wrap(isl_map_copy(bytes));
    int byte = (int)isl_map_dim(bytes, isl_dim_in);
    touch->stride = image_stride(bytes, &touch->residue);
    touch->from = known_or(isl_set_dim_min_val(isl_set_copy(all), byte), INT64_MIN);
    touch->to = known_or(isl_set_dim_max_val(all, byte), INT64_MAX);
}

/* By the same bytes in the launch's own threads, if need be. */
static void measure_own(struct memo *memo, struct touch *touch, const struct bound_launch *launch,
                        const struct access *access)
{
    isl_map *bytes = overlap_thread_bytes(launch, access);
    struct touch own = touch_of(memo, bytes, touch->width);
    touch->stride = own.stride, touch->residue = own.residue, touch->from = own.from, touch->to = own.to;
    isl_map_free(bytes);
}

static struct touch find_touch(struct memo *memo, __isl_keep isl_map *bytes, uint32_t width,
                               const struct bound_launch *launch, const struct access *access)
{
    struct touch touch = {.bytes = bytes, .width = width, .stride = 1, .from = INT64_MIN, .to = INT64_MAX};
    if (!bytes) return touch;
    struct memo_question question = {.kind = MEMO_TOUCH, .words = {memo_number(memo, bytes)}};
    struct quota quota;
    if (!quota_ask(&quota, memo->ctx)) return touch;
    const int64_t *known = question.words[0] ? memo_numbers(memo, &question) : NULL;
    if (known) {
        touch.stride = known[0], touch.residue = known[1], touch.from = known[2], touch.to = known[3];
        touch.number = (uint32_t)known[4];
    } else {
        if (launch)
            measure_own(memo, &touch, launch, access);
        else
            measure(&touch, bytes);
        isl_map *canonical = overlap_moved(isl_map_copy(bytes), -start_of(&touch));
        touch.number = memo_number(memo, canonical);
        isl_map_free(canonical);
        if (question.words[0])
            memo_keep_numbers(
                memo, &question,
                (int64_t[MEMO_NUMBERS]){touch.stride, touch.residue, touch.from, touch.to, touch.number});
    }
    quota_answer(&quota, true);
    return touch;
}

struct touch touch_of(struct memo *memo, __isl_keep isl_map *bytes, uint32_t width)
{
    return find_touch(memo, bytes, width, NULL, NULL);
}

struct touch touch_of_all(struct memo *memo, __isl_keep isl_map *bytes, const struct bound_launch *launch,
                          const struct access *access)
{
    return find_touch(memo, bytes, access->width, launch, access);
}

/* What is kept about two touches; how they lie to each other counts, not where they are. */
static struct memo_question question_of(enum memo_kind kind, const struct touch *a, const struct touch *b)
{
    return (struct memo_question){
        .kind = kind,
        .words = {a->number, a->width, b->number, b->width, (uint64_t)(start_of(b) - start_of(a))}};
}

/* By where the bytes lie; nothing is asked of isl. */
static bool lie_apart(const struct touch *a, const struct touch *b)
{
    return (a->to < b->from && b->from - a->to >= (int64_t)a->width) ||
           (b->to < a->from && a->from - b->to >= (int64_t)b->width);
}

/* The largest unit that both accesses keep to. */
static int64_t common_unit(const struct touch *a, const struct touch *b)
{
    int64_t apart = a->residue - b->residue;
    uint64_t unit = overlap_common_divisor((uint64_t)a->stride, (uint64_t)b->stride);
    unit = overlap_common_divisor(unit, (uint64_t)(apart < 0 ? -apart : apart));
    return (int64_t)overlap_common_divisor(overlap_common_divisor(unit, a->width), b->width);
}

__isl_give isl_set *overlap_all_bytes(__isl_take isl_set *first, uint32_t width)
{
    isl_map *bytes = near(isl_set_get_ctx(first), 1, width);
    return isl_set_apply(first, bytes);
}

__isl_give isl_map *overlap_relation(const struct touch *a, const struct touch *b)
{
    isl_ctx *ctx = isl_map_get_ctx(a->bytes);
    int64_t unit = common_unit(a, b);
    isl_map *scale = units(ctx, a->residue % unit, unit);
    isl_map *units_a = isl_map_apply_range(isl_map_copy(a->bytes), isl_map_copy(scale));
    isl_map *units_b = isl_map_apply_range(isl_map_copy(b->bytes), scale);
    if (a->width != unit || b->width != unit) {
        isl_map *shared = near(ctx, b->width / unit, a->width / unit);
        units_a = isl_map_apply_range(units_a, shared);
    }
    return isl_map_apply_range(units_a, isl_map_reverse(units_b));
}

/* { [thread of a -> thread of b] -> [byte of a -> byte of b] }: they share a byte. Nothing is eliminated,
 * which is what takes long in overlap_relation. */
static __isl_give isl_map *sharing(const struct touch *a, const struct touch *b)
{
    int64_t unit = common_unit(a, b);
    isl_map *both = isl_map_flat_product(isl_map_copy(a->bytes), isl_map_copy(b->bytes));
    if (a->width == unit && b->width == unit) return isl_map_equate(both, isl_dim_out, 0, isl_dim_out, 1);
    isl_local_space *space = isl_local_space_from_space(isl_map_get_space(both));
    for (int end = 0; end < 2; end++) { /* a < b + width_b, then b < a + width_a */
        isl_constraint *less = isl_constraint_alloc_inequality(isl_local_space_copy(space));
        less = isl_constraint_set_coefficient_si(less, isl_dim_out, 0, end ? 1 : -1);
        less = isl_constraint_set_coefficient_si(less, isl_dim_out, 1, end ? -1 : 1);
        less = isl_constraint_set_constant_si(less, (int)(end ? a->width : b->width) - 1);
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

isl_bool overlap_is_empty(struct memo *memo, const struct touch *a, const struct touch *b)
{
    enum { NOWHERE = 1, SOMEWHERE, GIVEN_UP };
    struct quota quota;
    if (lie_apart(a, b)) return isl_bool_true;
    struct memo_question question = question_of(MEMO_MEET, a, b);
    bool is_known = a->number && b->number;
    if (!quota_ask(&quota, memo->ctx)) return isl_bool_error;
    uint32_t answer = is_known ? memo_value(memo, &question) : 0;
    if (!answer) {
        isl_map *shared = sharing(a, b);
        isl_bool empty = isl_map_is_empty(shared);
        isl_map_free(shared);
        answer = empty < 0 ? GIVEN_UP : empty ? NOWHERE : SOMEWHERE;
        if (is_known) memo_keep_value(memo, &question, answer);
    }
    quota_answer(&quota, answer != GIVEN_UP);
    return answer == GIVEN_UP ? isl_bool_error : answer == NOWHERE ? isl_bool_true : isl_bool_false;
}

/* Most accesses are told apart by where they begin and end, without isl. */
static bool sticks_out(const struct touch *inner, const struct touch *outer)
{
    bool is_known = inner->from != INT64_MIN && inner->to != INT64_MAX;
    return is_known && (inner->from < outer->from || inner->to > outer->to);
}

/* Sets the flag where a coefficient is large. */
static isl_stat look_for_large(__isl_take isl_constraint *constraint, void *is_large)
{
    const int64_t large = INT64_C(1) << 36;
    const enum isl_dim_type types[] = {isl_dim_in, isl_dim_out, isl_dim_div};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int d = 0; d < isl_constraint_dim(constraint, types[t]); d++) {
            isl_val *factor = isl_val_abs(isl_constraint_get_coefficient_val(constraint, types[t], d));
            if (isl_val_cmp_si(factor, large) > 0) *(bool *)is_large = true;
            isl_val_free(factor);
        }
    isl_constraint_free(constraint);
    return isl_stat_ok;
}

static isl_stat look_into(__isl_take isl_basic_map *piece, void *is_large)
{
    isl_stat done = isl_basic_map_foreach_constraint(piece, look_for_large, is_large);
    isl_basic_map_free(piece);
    return done;
}

/* What isl does with large numbers takes a hundred times as long, operation for operation, and seldom ends. */
static void hurry(struct memo *memo, __isl_keep isl_map *a, __isl_keep isl_map *b)
{
    enum { FEW_OPERATIONS = 5000 };
    bool is_large = false;
    if (isl_map_foreach_basic_map(a, look_into, &is_large) == isl_stat_ok &&
        isl_map_foreach_basic_map(b, look_into, &is_large) == isl_stat_ok && is_large)
        isl_ctx_set_max_operations(memo->ctx, FEW_OPERATIONS);
}

bool overlap_covers(struct memo *memo, const struct touch *outer, const struct touch *inner)
{
    enum { COVERS = 1, STICKS_OUT, GIVEN_UP };
    struct quota quota;
    if (sticks_out(inner, outer)) return false;
    struct memo_question question = question_of(MEMO_COVERS, outer, inner);
    bool is_known = outer->number && inner->number;
    if (!quota_ask(&quota, memo->ctx)) return false;
    uint32_t answer = is_known ? memo_value(memo, &question) : 0;
    if (!answer) {
        hurry(memo, inner->bytes, outer->bytes);
        isl_bool is_subset = isl_map_is_subset(inner->bytes, outer->bytes);
        answer = is_subset < 0 ? GIVEN_UP : is_subset ? COVERS : STICKS_OUT;
        if (is_known) memo_keep_value(memo, &question, answer);
    }
    quota_answer(&quota, answer != GIVEN_UP);
    return answer == COVERS;
}

/* From a point of the relation that isl has found to see that there is one: whether both threads differ there in one
 * of these coordinates. */
static bool differs_at(__isl_keep isl_point *point, unsigned count, unsigned from, unsigned to)
{
    bool differs = false;
    for (unsigned d = from; d < to && !differs; d++) {
        isl_val *one = isl_point_get_coordinate_val(point, isl_dim_set, (int)d);
        isl_val *other = isl_point_get_coordinate_val(point, isl_dim_set, (int)(count + d));
        differs = one && other && isl_val_ne(one, other);
        isl_val_free(one);
        isl_val_free(other);
    }
    return differs;
}

/* What one point tells: OVERLAP_NONE where there is none, OVERLAP_OTHER, or UNTESTED. */
static enum overlap test_point(__isl_keep isl_map *shared, bool by_block)
{
    enum overlap result = OVERLAP_UNTESTED;
    unsigned count = (unsigned)isl_map_dim(shared, isl_dim_in) / 2;
    isl_point *point = isl_set_sample_point(isl_map_wrap(isl_map_copy(shared)));
    if (point && isl_point_is_void(point) == isl_bool_true)
        result = OVERLAP_NONE;
    else if (point && differs_at(point, count, 0, by_block ? 3 : count))
        result = OVERLAP_OTHER;
    isl_point_free(point);
    return result;
}

static enum overlap test(const struct touch *a, const struct touch *b, enum overlap reach)
{
    isl_map *shared = sharing(a, b);
    bool by_block = reach == OVERLAP_BLOCK;
    enum overlap result = test_point(shared, by_block);
    if (result != OVERLAP_UNTESTED) {
        isl_map_free(shared);
        return result;
    }
    result = OVERLAP_UNKNOWN;
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

/* Whether some pair of threads fulfils one of these conditions. */
static isl_bool any_fulfils(__isl_keep isl_map *shared, isl_map *const *conditions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        isl_map *both = isl_map_intersect(isl_map_copy(shared), isl_map_copy(conditions[i]));
        isl_bool empty = isl_map_is_empty(both);
        isl_map_free(both);
        if (empty != isl_bool_true) return isl_bool_not(empty);
    }
    return isl_bool_false;
}

static enum overlap test_apart(const struct touch *a, const struct touch *b,
                               const struct overlap_apart *apart, enum overlap reach)
{
    isl_map *shared = sharing(a, b);
    uint32_t blocks = reach == OVERLAP_BLOCK ? apart->block_count : 0, first = apart->block_count;
    enum overlap result = OVERLAP_UNKNOWN;
    isl_bool block = any_fulfils(shared, apart->conditions, blocks);
    isl_bool thread = block == isl_bool_false
                          ? any_fulfils(shared, apart->conditions + first, apart->count - first)
                          : isl_bool_false;
    isl_bool empty =
        block == isl_bool_false && thread == isl_bool_false ? isl_map_is_empty(shared) : isl_bool_false;
    if (block == isl_bool_true)
        result = OVERLAP_OTHER;
    else if (thread == isl_bool_true)
        result = reach == OVERLAP_BLOCK ? OVERLAP_BLOCK : OVERLAP_OTHER;
    else if (block == isl_bool_false && thread == isl_bool_false && empty >= 0)
        result = empty ? OVERLAP_NONE : OVERLAP_SAME;
    isl_map_free(shared);
    return result;
}

static int32_t coordinate(__isl_keep isl_point *point, int dimension)
{
    return (int32_t)known_or(isl_point_get_coordinate_val(point, isl_dim_set, dimension), 0);
}

struct sampled {
    const struct touch *a, *b;
    const struct overlap_apart *apart;
};
enum { BOTH_THREADS = 2 * ACCESS_THREAD_DIMENSIONS };

/* Takes the relation. */
static bool sample(__isl_take isl_map *shared, int32_t threads[BOTH_THREADS])
{
    isl_point *point = isl_set_sample_point(isl_map_wrap(shared));
    bool found = point && isl_point_is_void(point) == isl_bool_false;
    for (int d = 0; found && d < BOTH_THREADS; d++) threads[d] = coordinate(point, d);
    isl_point_free(point);
    return found;
}

/* numbers[0]: whether there is one; behind it, both threads. */
static void find_sample(const void *user, struct memo_found *found)
{
    const struct sampled *of = user;
    int32_t threads[BOTH_THREADS] = {0};
    isl_map *shared = sharing(of->a, of->b);
    for (uint32_t i = 0; shared && i < of->apart->count && !found->numbers[0]; i++)
        found->numbers[0] =
            sample(isl_map_intersect(isl_map_copy(shared), isl_map_copy(of->apart->conditions[i])), threads);
    isl_map_free(shared);
    _Static_assert(sizeof threads <= sizeof found->numbers - sizeof found->numbers[0], "has room");
    memcpy(&found->numbers[1], threads, sizeof threads);
}

bool overlap_sample_apart(struct memo *memo, const struct touch *a, const struct touch *b,
                          const struct overlap_apart *apart, int32_t thread_a[ACCESS_THREAD_DIMENSIONS],
                          int32_t thread_b[ACCESS_THREAD_DIMENSIONS])
{
    const struct sampled sampled = {a, b, apart};
    struct memo_question question = question_of(MEMO_SAMPLE, a, b);
    if (!b->number) question.words[0] = 0;
    question.words[6] = apart->name.low, question.words[7] = apart->name.high;
    struct memo_found found = memo_ask(memo, &question, find_sample, &sampled);
    const int32_t *threads = (const int32_t *)&found.numbers[1];
    memcpy(thread_a, threads, ACCESS_THREAD_DIMENSIONS * sizeof *threads);
    memcpy(thread_b, threads + ACCESS_THREAD_DIMENSIONS, ACCESS_THREAD_DIMENSIONS * sizeof *threads);
    return found.numbers[0];
}

static enum overlap ask(struct memo *memo, const struct touch *a, const struct touch *b,
                        const struct overlap_apart *apart, enum overlap reach)
{
    struct quota quota;
    if (lie_apart(a, b)) return OVERLAP_NONE;
    struct memo_question question = question_of(MEMO_OVERLAP, a, b);
    question.words[5] = reach;
    if (apart) question.words[6] = apart->name.low, question.words[7] = apart->name.high;
    bool is_known = a->number && b->number;
    if (!quota_ask(&quota, memo->ctx)) return OVERLAP_UNKNOWN;
    enum overlap overlap = is_known ? (enum overlap)memo_value(memo, &question) : OVERLAP_UNTESTED;
    if (overlap == OVERLAP_UNTESTED) {
        overlap = apart ? test_apart(a, b, apart, reach) : test(a, b, reach);
        if (is_known) memo_keep_value(memo, &question, overlap);
    }
    quota_answer(&quota, overlap != OVERLAP_UNKNOWN);
    return overlap;
}

enum overlap overlap_test(struct memo *memo, const struct touch *a, const struct touch *b, enum overlap reach)
{
    return ask(memo, a, b, NULL, reach);
}

enum overlap overlap_test_apart(struct memo *memo, const struct touch *a, const struct touch *b,
                                const struct overlap_apart *apart, enum overlap reach)
{
    return ask(memo, a, b, apart, reach);
}

__isl_give isl_map *overlap_thread_bytes(const struct bound_launch *launch, const struct access *access)
{
    if (!access->relation) return NULL;
    isl_map *bytes = access_thread_relation(access);
    return overlap_moved(bytes, launch->bindings[access->base].offset);
}

bool touches_open(struct touches *touches, const struct bound_launch *launch)
{
    *touches = (struct touches){launch, calloc(launch->summary->access_count + 1, sizeof *touches->of)};
    return touches->of;
}

void touches_close(struct touches *touches)
{
    for (uint32_t i = 0; touches->of && i < touches->launch->summary->access_count; i++)
        isl_map_free(touches->of[i].bytes);
    free(touches->of);
    *touches = (struct touches){0};
}

const struct touch *touches_get(struct memo *memo, struct touches *touches, uint32_t index)
{
    const struct access *access = &touches->launch->summary->accesses[index];
    struct touch *touch = &touches->of[index];
    if (!touch->width) *touch = touch_of(memo, overlap_thread_bytes(touches->launch, access), access->width);
    return touch;
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

bool overlap_ends_loop(const struct bound_launch *p, const struct bound_launch *q, uint32_t *load,
                       uint32_t *write)
{
    for (*load = 0; *load < p->summary->access_count; ++*load)
        for (*write = 0; p->summary->accesses[*load].ends_loop && *write < q->summary->access_count; ++*write)
            if (overlap_may_conflict(p, &p->summary->accesses[*load], q, &q->summary->accesses[*write]))
                return true;
    return false;
}

bool overlap_unordered(const struct bound_launch *p, const struct bound_launch *q, uint32_t *of_p,
                       uint32_t *of_q)
{
    for (*of_p = 0; *of_p < p->summary->access_count; ++*of_p)
        for (*of_q = 0; *of_q < q->summary->access_count; ++*of_q) {
            const struct access *a = &p->summary->accesses[*of_p], *b = &q->summary->accesses[*of_q];
            if ((a->is_unordered || b->is_unordered) && overlap_may_share(p, a, q, b)) return true;
        }
    return false;
}
