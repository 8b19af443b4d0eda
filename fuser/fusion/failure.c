/* SPDX-License-Identifier: Apache-2.0
 * Describes the conflict that stands in the way of a space: kernels, array, lines of PTX, a pair of threads.
 */
#include "fuser/fusion/apart.h"
#include "fuser/fusion/witness.h"

#include <stdio.h>
#include <stdlib.h>

enum { DESCRIBE_OPERATIONS = 200000 }; /* of isl */

static const char *array_name(const struct bound_launch *launch, const struct access *access, char *text,
                              size_t size)
{
    const struct access_base *base = &launch->summary->bases[access->base];
    if (base->kind == ACCESS_BASE_VARIABLE)
        snprintf(text, size, "variable %s", base->variable);
    else if (base->kind == ACCESS_BASE_ARGUMENT)
        snprintf(text, size, "the array of its argument at byte %u", base->pointer);
    else
        snprintf(text, size, "an array");
    return text;
}

static const char *access_verb(const struct access *access)
{
    switch (access->kind) {
    case ACCESS_READ:
        return "reads";
    case ACCESS_WRITE:
        return "writes";
    case ACCESS_ATOMIC:
        return "updates";
    }
    return "touches";
}

/* By the relation between the members' threads, which can take isl long. */
static bool find_composed(struct space *space, const struct placed_access *a, const struct placed_access *b,
                          const struct touch *touch_a, const struct touch *touch_b,
                          struct conflict_witness *witness)
{
    struct quota quota = quota_begin(space->ctx, DESCRIBE_OPERATIONS);
    isl_map *pairs = overlap_relation(touch_a, touch_b);
    isl_map *together = isl_map_apply_range(isl_map_reverse(isl_map_copy(space->maps[a->member])),
                                            isl_map_copy(space->maps[b->member]));
    bool found = witness_take(isl_map_subtract(pairs, together), &space->members[a->member], a->access,
                              &space->members[b->member], b->access, witness);
    quota_end(&quota);
    return found;
}

/* The threads of both launches that share a byte and do not fall into one fused thread. */
static bool find_witness(struct space *space, const struct placed_access *a, const struct placed_access *b,
                         struct placement_failure *failure)
{
    struct conflict_witness *witness = &failure->witness;
    const struct bound_launch *p = &space->members[a->member], *q = &space->members[b->member];
    isl_map *bytes_a = overlap_thread_bytes(p, a->access), *bytes_b = overlap_thread_bytes(q, b->access);
    struct overlap_apart apart;
    bool found = false;
    if (bytes_a && bytes_b) {
        struct touch touch_a = touch_of(space->memo, bytes_a, a->access->width),
                     touch_b = touch_of(space->memo, bytes_b, b->access->width);
        if (apart_open_members(&apart, space, a->member, b->member)) {
            found = overlap_sample_apart(space->memo, &touch_a, &touch_b, &apart, witness->p, witness->q) &&
                    witness_complete(p, a->access, q, b->access, witness);
            apart_close(&apart);
        } else {
            found = find_composed(space, a, b, &touch_a, &touch_b, witness);
        }
    }
    isl_map_free(bytes_a);
    isl_map_free(bytes_b);
    return found;
}

/* The text, from what the failure has. No array's number: other launches may lie alike, on other arrays. */
static void write_reason(const struct bound_launch *p, const struct access *a, const struct bound_launch *q,
                         const struct access *b, struct placement_failure *failure)
{
    char array[160];
    int length =
        snprintf(failure->reason, sizeof failure->reason, "kernel %s line %u %s %s, kernel %s line %u %s it",
                 p->summary->function->name, a->line, access_verb(a), array_name(p, a, array, sizeof array),
                 q->summary->function->name, b->line, access_verb(b));
    if (length < 0 || (size_t)length >= sizeof failure->reason) return;
    char *rest = failure->reason + length;
    size_t room = sizeof failure->reason - (size_t)length;
    const struct access *unbounded = !a->relation ? a : !b->relation ? b : NULL;
    const int32_t *s = failure->witness.p, *t = failure->witness.q;
    if (failure->has_witness)
        snprintf(
            rest, room,
            " from another thread: e.g. block (%d,%d,%d) thread (%d,%d,%d) of %s and block (%d,%d,%d) thread "
            "(%d,%d,%d) of %s, %lld bytes behind that pointer",
            s[2], s[1], s[0], s[5], s[4], s[3], p->summary->function->name, t[2], t[1], t[0], t[5], t[4],
            t[3], q->summary->function->name, (long long)failure->witness.byte);
    else if (unbounded)
        snprintf(rest, room, ", at an address that is not known%s%s", unbounded->reason ? ": " : "",
                 unbounded->reason ? unbounded->reason : "");
    else
        snprintf(rest, room, ", perhaps from another thread: the test was given up");
}

void failure_describe(struct space *space, const struct placed_access *a, const struct placed_access *b,
                      struct placement_failure *failure)
{
    failure->hazards[0] = (struct placement_hazard){a->member, b->member, a->index, b->index};
    failure->hazard_count = 1;
    failure->p = a->member;
    failure->q = b->member;
    failure->last = a->member > b->member ? a->member : b->member;
    failure->access_p = a->index;
    failure->access_q = b->index;
    failure->is_unknown = space_overlap(space, a, b) == OVERLAP_UNKNOWN;
    failure->has_witness = !failure->is_unknown && find_witness(space, a, b, failure);
    write_reason(&space->members[a->member], a->access, &space->members[b->member], b->access, failure);
}

/* Threads of two blocks that touch one byte through these accesses of two members. */
static bool meet_across_blocks(struct memo *memo, struct touches *of_p, uint32_t i, struct touches *of_q,
                               uint32_t j, struct placement_failure *failure)
{
    const struct bound_launch *p = of_p->launch, *q = of_q->launch;
    const struct access *a = &p->summary->accesses[i], *b = &q->summary->accesses[j];
    if (!overlap_may_conflict(p, a, q, b)) return false;
    const struct touch *touch_a = touches_get(memo, of_p, i), *touch_b = touches_get(memo, of_q, j);
    if (!touch_a->bytes || !touch_b->bytes) return false;
    if (overlap_test(memo, touch_a, touch_b, OVERLAP_BLOCK) != OVERLAP_OTHER) return false;
    isl_map *pairs = overlap_relation(touch_a, touch_b);
    isl_map *block = isl_map_universe(isl_map_get_space(pairs));
    for (int d = 0; d < 3; d++) block = isl_map_equate(block, isl_dim_in, d, isl_dim_out, d);
    return witness_take(isl_map_subtract(pairs, block), p, a, q, b, &failure->witness);
}

static bool describe_pair(struct memo *memo, struct touches *of_p, struct touches *of_q,
                          struct placement_failure *failure)
{
    const struct access_summary *p = of_p->launch->summary, *q = of_q->launch->summary;
    for (uint32_t i = 0; i < p->access_count; i++)
        for (uint32_t j = 0; j < q->access_count; j++) {
            if (!meet_across_blocks(memo, of_p, i, of_q, j, failure)) continue;
            failure->access_p = i;
            failure->access_q = j;
            failure->has_witness = true;
            write_reason(of_p->launch, &p->accesses[i], of_q->launch, &q->accesses[j], failure);
            return true;
        }
    return false;
}

/* The first two members that meet across blocks; what stands in the way is that blocks stay whole. */
static bool describe_blocks(struct memo *memo, const struct bound_launch *members, uint32_t member_count,
                            struct placement_failure *failure)
{
    struct touches *touches = calloc(member_count, sizeof *touches);
    bool is_open = touches, found = false;
    for (uint32_t m = 0; is_open && m < member_count; m++) is_open = touches_open(&touches[m], &members[m]);
    for (uint32_t q = 1; is_open && q < member_count && !found; q++)
        for (uint32_t p = 0; p < q && !found; p++) {
            found = describe_pair(memo, &touches[p], &touches[q], failure);
            if (found) failure->p = p, failure->q = q;
        }
    for (uint32_t m = 0; touches && m < member_count; m++) touches_close(&touches[m]);
    free(touches);
    return found;
}

void failure_describe_shapes(struct memo *memo, const struct bound_launch *members, uint32_t member_count,
                             struct placement_failure *failure)
{
    const char *tie = NULL;
    for (uint32_t member = 0; member < member_count && !tie; member++)
        tie = members[member].summary->whole_block;
    if (tie && describe_blocks(memo, members, member_count, failure)) return;
    snprintf(failure->reason, sizeof failure->reason,
             "no fused shape runs the threads of all members once%s%s",
             tie ? " and keeps the blocks that must stay whole: " : "", tie ? tie : "");
}
