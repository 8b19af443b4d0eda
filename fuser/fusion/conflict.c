/* SPDX-License-Identifier: Apache-2.0
 * Classes a pair of launches by its conflicts. Needs both summaries in one isl context. */
#include "fuser/fusion/last_block.h"
#include "fuser/fusion/rename.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Whether any two threads conflict, by the first accesses that do; those, and unknown ones, are noted. */
static isl_bool any_conflict(struct memo *memo, struct touches *of_p, struct touches *of_q,
                             struct conflict *conflict)
{
    const struct bound_launch *p = of_p->launch, *q = of_q->launch;
    for (uint32_t i = 0; i < p->summary->access_count; i++)
        for (uint32_t j = 0; j < q->summary->access_count; j++) {
            const struct access *a = &p->summary->accesses[i], *b = &q->summary->accesses[j];
            if (!overlap_may_conflict(p, a, q, b)) continue;
            conflict->access_p = i;
            conflict->access_q = j;
            if (p->bindings[a->base].array != q->bindings[b->base].array) return isl_bool_error;
            const struct touch *first = touches_get(memo, of_p, i), *second = touches_get(memo, of_q, j);
            if (!first->bytes || !second->bytes) return isl_bool_error;
            isl_bool apart = overlap_is_empty(memo, first, second);
            if (apart != isl_bool_true) return isl_bool_not(apart);
        }
    return isl_bool_false;
}

static isl_bool conflict_anywhere(struct memo *memo, const struct bound_launch *p,
                                  const struct bound_launch *q, struct conflict *conflict)
{
    struct touches of_p, of_q;
    bool is_open = touches_open(&of_p, p);
    is_open = touches_open(&of_q, q) && is_open;
    struct quota quota = quota_begin(memo->ctx, CONFLICT_OPERATIONS);
    isl_bool found = is_open ? any_conflict(memo, &of_p, &of_q, conflict) : isl_bool_error;
    quota_end(&quota);
    touches_close(&of_p);
    touches_close(&of_q);
    return found;
}

bool conflict_may_be(struct memo *memo, const struct bound_launch *p, const struct bound_launch *q,
                     struct conflict *conflict)
{
    return any_may_conflict(p, q) && conflict_anywhere(memo, p, q, conflict) != isl_bool_false;
}

static void describe_class(struct conflict *conflict, const struct group *group, const struct space *space)
{
    const char *p = group->members[0].summary->function->name, *q = group->members[1].summary->function->name;
    bool is_thread = space->reach == OVERLAP_SAME;
    conflict->in_one_block = space->is_one_block;
    if (space->is_one_block) {
        conflict->class = CONFLICT_BLOCK;
        snprintf(conflict->reason, sizeof conflict->reason, "%s", group->refusal);
    } else if (group->rename_count) {
        conflict->class = CONFLICT_RENAMED;
        snprintf(conflict->reason, sizeof conflict->reason,
                 "kernel %s may write into a second buffer what kernel %s still needs", q, p);
    } else if (group->stage_count) {
        conflict->class = CONFLICT_HALO;
        snprintf(conflict->reason, sizeof conflict->reason,
                 "a block of kernel %s can compute what it needs of kernel %s", q, p);
    } else {
        conflict->class = is_thread ? CONFLICT_THREAD : CONFLICT_BLOCK;
        snprintf(conflict->reason, sizeof conflict->reason, "kernels %s and %s meet only within one %s", p, q,
                 is_thread ? "thread" : "block");
    }
}

static void classify(struct memo *memo, const struct bound_launch *p, const struct bound_launch *q,
                     struct conflict *conflict)
{
    struct bound_launch members[2] = {*p, *q};
    struct group group = {.members = members, .member_count = 2, .is_part = true, .arena = arena_create()};
    struct space space;
    struct placement_failure failure;
    if (group.arena && rename_place_all(&group, &space, memo, &failure)) {
        describe_class(conflict, &group, &space);
        group_forget_stages(&group);
        space_clear(&space);
    } else if (group.arena && group.refusal) {
        conflict->class = failure.is_unknown ? CONFLICT_UNKNOWN : CONFLICT_OTHER;
        conflict->access_p = failure.access_p;
        conflict->access_q = failure.access_q;
        conflict->has_witness = failure.has_witness;
        conflict->witness = failure.witness;
        snprintf(conflict->reason, sizeof conflict->reason, "%s", group.refusal);
    }
    arena_free(group.arena);
}

/* What is added up in an open order must be whole before it is touched again: a thread of the other launch would see a
 * part of it, or change what comes of it. */
static void check_order(const struct bound_launch *p, const struct bound_launch *q, struct conflict *conflict)
{
    uint32_t of_p, of_q;
    if (!overlap_unordered(p, q, &of_p, &of_q)) return;
    conflict->class = CONFLICT_OTHER;
    conflict->access_p = of_p;
    conflict->access_q = of_q;
    snprintf(conflict->reason, sizeof conflict->reason,
             "a floating-point atomic, whose order is open: kernel %s line %u and kernel %s line %u may "
             "touch the same bytes",
             p->summary->function->name, p->summary->accesses[of_p].line, q->summary->function->name,
             q->summary->accesses[of_q].line);
}

/* The first launch must have ended before the other one begins. */
static void check_loops(const struct bound_launch *p, const struct bound_launch *q, struct conflict *conflict)
{
    uint32_t load, write;
    bool is_second = overlap_ends_loop(q, p, &load, &write);
    if (!is_second && !overlap_ends_loop(p, q, &load, &write)) return;
    const struct bound_launch *reader = is_second ? q : p, *writer = is_second ? p : q;
    conflict->class = CONFLICT_OTHER;
    conflict->access_p = is_second ? write : load;
    conflict->access_q = is_second ? load : write;
    snprintf(conflict->reason, sizeof conflict->reason,
             "a loop of kernel %s ends by what line %u loads, and kernel %s line %u may write that",
             reader->summary->function->name, reader->summary->accesses[load].line,
             writer->summary->function->name, writer->summary->accesses[write].line);
}

/* Behind all of p, whatever it touches. The reason stays: it is why no other kind serves. */
static void check_last_block(const struct memo *memo, const struct bound_launch *p,
                             const struct bound_launch *q, struct conflict *conflict)
{
    uint32_t of_p, of_q;
    if (!overlap_unordered(p, q, &of_p, &of_q) && last_block_serves(memo, q, SPACE_BLOCK_MOST))
        conflict->class = CONFLICT_LAST_BLOCK;
}

void conflict_between(struct memo *memo, const struct bound_launch *p, const struct bound_launch *q,
                      struct conflict *conflict)
{
    memset(conflict, 0, sizeof *conflict);
    conflict->shared_bytes = shared_bytes(p, q);
    conflict->class = CONFLICT_NONE;
    snprintf(conflict->reason, sizeof conflict->reason,
             "kernels %s and %s have no byte in common that one writes", p->summary->function->name,
             q->summary->function->name);
    if (!any_may_conflict(p, q)) return;
    isl_bool found = conflict_anywhere(memo, p, q, conflict);
    if (found == isl_bool_true) {
        conflict->class = CONFLICT_UNKNOWN;
        classify(memo, p, q, conflict);
        if (conflict->class <= CONFLICT_RENAMED) check_loops(p, q, conflict);
        if (conflict->class <= CONFLICT_RENAMED) check_order(p, q, conflict);
    } else if (found == isl_bool_error) {
        const struct access *a = &p->summary->accesses[conflict->access_p];
        const struct access *b = &q->summary->accesses[conflict->access_q];
        const char *detail = a->reason ? a->reason : b->reason ? b->reason : "the test was given up";
        conflict->class = CONFLICT_UNKNOWN;
        snprintf(conflict->reason, sizeof conflict->reason,
                 "kernel %s line %u and kernel %s line %u may touch the same bytes of one array: %s",
                 p->summary->function->name, a->line, q->summary->function->name, b->line, detail);
    }
    if (conflict->class > CONFLICT_RENAMED) check_last_block(memo, p, q, conflict);
}
