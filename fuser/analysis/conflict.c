/* SPDX-License-Identifier: Apache-2.0
 * Classes a pair of launches by its conflicts. Needs both summaries in one isl context. */
#include "fuser/analysis/frame.h"

#include <stdio.h>
#include <string.h>

enum { CONFLICT_OPERATIONS = 500000 }; /* of isl */

/* Bytes that both launches may touch, from the hulls of their bases; each base of p is counted once. */
static uint64_t shared_bytes(const struct bound_launch *p, const struct bound_launch *q)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < p->summary->base_count; i++) {
        const struct access_base *a = &p->summary->bases[i];
        uint64_t best = 0;
        for (uint32_t j = 0; j < q->summary->base_count; j++) {
            const struct access_base *b = &q->summary->bases[j];
            if (p->bindings[i].array != q->bindings[j].array) continue;
            int64_t from_a = a->is_bounded ? a->from + p->bindings[i].offset : 0;
            int64_t to_a = a->is_bounded ? a->to + p->bindings[i].offset : p->bindings[i].size;
            int64_t from_b = b->is_bounded ? b->from + q->bindings[j].offset : 0;
            int64_t to_b = b->is_bounded ? b->to + q->bindings[j].offset : q->bindings[j].size;
            int64_t from = from_a > from_b ? from_a : from_b, to = to_a < to_b ? to_a : to_b;
            if (to > from && (uint64_t)(to - from) > best) best = (uint64_t)(to - from);
        }
        total += best;
    }
    return total;
}

static bool any_may_conflict(const struct bound_launch *p, const struct bound_launch *q)
{
    for (uint32_t i = 0; i < p->summary->access_count; i++)
        for (uint32_t j = 0; j < q->summary->access_count; j++)
            if (overlap_may_conflict(p, &p->summary->accesses[i], q, &q->summary->accesses[j])) return true;
    return false;
}

/* All conflicting pairs of threads; NULL with the accesses named when one of them is not known. */
static __isl_give isl_map *conflict_relation(const struct bound_launch *p, const struct bound_launch *q,
                                             struct conflict *conflict)
{
    isl_map *all = NULL;
    for (uint32_t i = 0; i < p->summary->access_count; i++)
        for (uint32_t j = 0; j < q->summary->access_count; j++) {
            const struct access *a = &p->summary->accesses[i], *b = &q->summary->accesses[j];
            if (!overlap_may_conflict(p, a, q, b)) continue;
            conflict->access_p = i;
            conflict->access_q = j;
            isl_map *bytes_a = overlap_thread_bytes(p, a), *bytes_b = overlap_thread_bytes(q, b),
                    *pairs = NULL;
            bool one_array = p->bindings[a->base].array == q->bindings[b->base].array;
            if (bytes_a && bytes_b && one_array)
                pairs = overlap_relation(bytes_a, a->width, bytes_b, b->width);
            isl_map_free(bytes_a);
            isl_map_free(bytes_b);
            if (!pairs) return isl_map_free(all);
            /* accesses of one shape, as in u[i] = u[i] + 1, repeat the same pairs */
            if (all && isl_map_plain_is_equal(all, pairs) == isl_bool_true)
                isl_map_free(pairs);
            else
                all = all ? isl_map_coalesce(isl_map_union(all, pairs)) : pairs;
            if (!all) return NULL;
        }
    return all;
}

static bool within_blocks(const struct bound_launch *p, const struct bound_launch *q,
                          __isl_keep isl_map *threads)
{
    for (int d = 0; d < 3; d++)
        if (p->summary->grid[d] != q->summary->grid[d]) return false;
    isl_map *same = isl_map_universe(isl_map_get_space(threads));
    for (int d = 0; d < 3; d++) same = isl_map_equate(same, isl_dim_in, d, isl_dim_out, d);
    isl_bool within = isl_map_is_subset(threads, same);
    isl_map_free(same);
    return within == isl_bool_true;
}

static void classify(const struct bound_launch *p, const struct bound_launch *q, struct conflict *conflict)
{
    struct bound_launch members[2] = {*p, *q};
    struct frame frame;
    struct frame_failure failure;
    struct arena *arena = arena_create();
    if (arena && frame_find(&frame, isl_map_get_ctx(conflict->threads), arena, members, 2, &failure)) {
        conflict->class = CONFLICT_THREAD;
        snprintf(conflict->reason, sizeof conflict->reason, "kernels %s and %s meet only within one thread",
                 p->summary->function->name, q->summary->function->name);
        frame_clear(&frame);
    } else if (arena) {
        conflict->class = failure.is_unknown                       ? CONFLICT_UNKNOWN
                          : within_blocks(p, q, conflict->threads) ? CONFLICT_BLOCK
                                                                   : CONFLICT_OTHER;
        conflict->access_p = failure.access_p;
        conflict->access_q = failure.access_q;
        conflict->has_witness = failure.has_witness;
        memcpy(conflict->witness_p, failure.witness_p, sizeof conflict->witness_p);
        memcpy(conflict->witness_q, failure.witness_q, sizeof conflict->witness_q);
        snprintf(conflict->reason, sizeof conflict->reason, "%s", failure.reason);
    }
    arena_free(arena);
}

void conflict_between(const struct bound_launch *p, const struct bound_launch *q, struct conflict *conflict)
{
    memset(conflict, 0, sizeof *conflict);
    conflict->shared_bytes = shared_bytes(p, q);
    conflict->class = CONFLICT_NONE;
    snprintf(conflict->reason, sizeof conflict->reason,
             "kernels %s and %s have no byte in common that one writes", p->summary->function->name,
             q->summary->function->name);
    if (!any_may_conflict(p, q)) return;
    struct quota quota = quota_begin(isl_set_get_ctx(p->summary->threads), CONFLICT_OPERATIONS);
    conflict->threads = conflict_relation(p, q, conflict);
    isl_bool empty = conflict->threads ? isl_map_is_empty(conflict->threads) : isl_bool_error;
    quota_end(&quota);
    if (empty == isl_bool_false) {
        conflict->class = CONFLICT_UNKNOWN;
        classify(p, q, conflict);
    } else if (empty == isl_bool_error) {
        const struct access *a = &p->summary->accesses[conflict->access_p];
        const struct access *b = &q->summary->accesses[conflict->access_q];
        const char *detail = a->reason ? a->reason : b->reason ? b->reason : "the test was given up";
        conflict->class = CONFLICT_UNKNOWN;
        snprintf(conflict->reason, sizeof conflict->reason,
                 "kernel %s line %u and kernel %s line %u may touch the same bytes of one array: %s",
                 p->summary->function->name, a->line, q->summary->function->name, b->line, detail);
    }
    if (empty != isl_bool_false) conflict->threads = isl_map_free(conflict->threads);
}

void conflict_clear(struct conflict *conflict)
{
    conflict->threads = isl_map_free(conflict->threads);
}
