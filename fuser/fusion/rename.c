/* SPDX-License-Identifier: Apache-2.0
 * Gives the new contents of a range an array of its own: see rename.h. */
#include "fuser/fusion/rename.h"
#include "fuser/access/array_range.h"
#include "fuser/fusion/box.h"
#include "fuser/fusion/halo.h"
#include "fuser/kernel/order.h"

#include <isl/space.h>

#include <stdio.h>
#include <string.h>

enum { RENAME_OPERATIONS = 500000 }; /* of isl, for one range */

static bool are_apart(const struct bound_launch *launch, const struct access *a, const struct access *b)
{
    isl_set *both = isl_set_intersect(array_range_bytes(launch, a), array_range_bytes(launch, b));
    bool are = both && isl_set_is_empty(both) == isl_bool_true;
    isl_set_free(both);
    return are;
}

/* Rule 2. */
static bool reads_before_writing(const struct group *group, const struct array_range *range)
{
    const struct bound_launch *launch = &group->members[range->writer];
    const struct access_summary *summary = launch->summary;
    struct order order;
    if (!order_open(&order, group->arena, summary->function)) return false;
    for (uint32_t i = 0; i < summary->access_count; i++)
        for (uint32_t j = 0; j < summary->access_count; j++) {
            const struct access *write = &summary->accesses[i], *read = &summary->accesses[j];
            if (write->kind == ACCESS_READ || read->kind != ACCESS_READ) continue;
            if (!array_range_holds(range, launch, write->base) ||
                !array_range_holds(range, launch, read->base))
                continue;
            if (!summary->whole_block && !order_may_follow(&order, write->instruction, read->instruction))
                continue;
            if (!are_apart(launch, write, read)) return false;
        }
    return true;
}

static bool is_subset(__isl_take isl_set *part, __isl_keep isl_set *whole)
{
    bool is = part && isl_set_is_subset(part, whole) == isl_bool_true;
    isl_set_free(part);
    return is;
}

/* What the member writes, or reads, of the range: for certain, or at most. NULL: not known. */
static __isl_give isl_set *bytes_touched(const struct group *group, const struct array_range *range,
                                         uint32_t member, bool is_write, bool for_certain)
{
    const struct bound_launch *launch = &group->members[member];
    isl_set *all = isl_set_empty(isl_space_set_alloc(isl_set_get_ctx(launch->summary->threads), 0, 1));
    for (uint32_t i = 0; i < launch->summary->access_count; i++) {
        const struct access *access = &launch->summary->accesses[i];
        if ((access->kind != ACCESS_READ) != is_write || !array_range_holds(range, launch, access->base))
            continue;
        if (for_certain && (!access->address_is_exact || !access->domain_is_exact)) continue;
        all = isl_set_union(all, array_range_bytes(launch, access));
    }
    return isl_set_coalesce(all);
}

/* Rule 4. */
static bool reads_are_known(const struct group *group, const struct array_range *range)
{
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            bool is_known = access->address_is_exact && access->domain_is_exact;
            if (access->kind == ACCESS_READ && !is_known &&
                array_range_holds(range, &group->members[m], access->base))
                return false;
        }
    return true;
}

/* Rule 3: all that the writer and later members write; NULL: not known. */
static __isl_give isl_set *bytes_written(const struct group *group, const struct array_range *range)
{
    isl_set *all = bytes_touched(group, range, range->writer, true, true);
    for (uint32_t m = range->writer + 1; m < group->member_count; m++)
        all = isl_set_union(all, bytes_touched(group, range, m, true, true));
    all = isl_set_compute_divs(isl_set_coalesce(all));
    for (uint32_t m = range->writer; all && m < group->member_count; m++)
        if (!is_subset(bytes_touched(group, range, m, true, false), all)) all = isl_set_free(all);
    return all;
}

/* Rule 5: of what is written in the end, later members read what has been written before them. */
static bool reads_are_of_new(const struct group *group, const struct array_range *range,
                             __isl_keep isl_set *written)
{
    isl_set *before = bytes_touched(group, range, range->writer, true, true);
    bool are_new = before;
    for (uint32_t m = range->writer + 1; are_new && m < group->member_count; m++) {
        if (isl_set_is_subset(written, before) == isl_bool_true) break;
        isl_set *read = bytes_touched(group, range, m, false, false);
        are_new = is_subset(isl_set_intersect(read, isl_set_copy(written)), before);
        before = isl_set_union(before, bytes_touched(group, range, m, true, true));
    }
    isl_set_free(before);
    return are_new;
}

static bool writes_are_known(const struct group *group, const struct array_range *range,
                             struct group_box *box)
{
    isl_set *written = bytes_written(group, range);
    bool are_known =
        written && reads_are_of_new(group, range, written) && (box_of(written, box) || group->is_part);
    box->from -= range->from;
    isl_set_free(written);
    return are_known;
}

/* --- the view ------------------------------------------------------------------------------------------ */

/* New contents in place of old: all of the member's bases in the range. */
static bool rebind(struct group *group, struct bound_launch *launch, const struct array_range *range,
                   uint32_t array)
{
    uint32_t count = launch->summary->base_count;
    struct array_binding *bindings = arena_calloc(group->arena, count + 1, sizeof *bindings);
    if (!bindings) return false;
    memcpy(bindings, launch->bindings, count * sizeof *bindings);
    for (uint32_t b = 0; b < count; b++)
        if (array_range_holds(range, launch, b)) bindings[b].array = array;
    launch->bindings = bindings;
    return true;
}

/* The writer gets every base in the range twice: it reads through the one, and writes through the other. */
static bool split(struct group *group, struct bound_launch *launch, const struct array_range *range,
                  uint32_t array)
{
    const struct access_summary *from = launch->summary;
    uint32_t count = from->base_count, next = count;
    struct access_summary *summary = arena_alloc(group->arena, sizeof *summary);
    struct access_base *bases = arena_calloc(group->arena, 2 * count + 1, sizeof *bases);
    struct array_binding *bindings = arena_calloc(group->arena, 2 * count + 1, sizeof *bindings);
    struct access *accesses = arena_calloc(group->arena, from->access_count + 1, sizeof *accesses);
    if (!summary || !bases || !bindings || !accesses) return false;
    memcpy(bases, from->bases, count * sizeof *bases);
    memcpy(bindings, launch->bindings, count * sizeof *bindings);
    memcpy(accesses, from->accesses, from->access_count * sizeof *accesses);
    for (uint32_t b = 0; b < count; b++) {
        if (!array_range_holds(range, launch, b) || !array_range_writes_through(from, b)) continue;
        bases[next] = bases[b];
        bindings[next] = bindings[b];
        bindings[next].array = array;
        bases[next].is_read = bases[b].is_written = false;
        for (uint32_t i = 0; i < from->access_count; i++)
            if (accesses[i].base == b && accesses[i].kind == ACCESS_WRITE) accesses[i].base = next;
        next++;
    }
    *summary = *from;
    summary->bases = bases;
    summary->base_count = next;
    summary->accesses = accesses;
    *launch = (struct bound_launch){summary, bindings};
    return true;
}

static bool add_view(struct group *group, const struct array_range *range, const struct group_box *written)
{
    uint32_t array = ARRAY_RANGE_FIRST_NEW + group->rename_count, base = 0;
    const struct bound_launch *writer = &group->members[range->writer];
    while (!array_range_holds(range, writer, base) || !array_range_writes_through(writer->summary, base))
        base++;
    struct group_rename rename = {
        .array = array,
        .of = range->array,
        .member = range->writer,
        .argument_offset = writer->summary->bases[base].argument_offset,
        .from = range->from - writer->bindings[base].offset,
        .start = range->from,
        .bytes = (uint64_t)(range->to - range->from),
        .is_partial = written->width < (uint64_t)(range->to - range->from),
        .written = *written,
    };
    struct bound_launch *view = arena_calloc(group->arena, group->member_count, sizeof *view);
    struct group_rename *renames = arena_grow(group->arena, group->renames, group->rename_count,
                                              group->rename_count + 1, sizeof *renames);
    if (!view || !renames) return false;
    memcpy(view, group->members, group->member_count * sizeof *view);
    for (uint32_t m = range->writer; m < group->member_count; m++)
        if (m == range->writer ? !split(group, &view[m], range, array)
                               : !rebind(group, &view[m], range, array))
            return false;
    group->renames = renames;
    group->renames[group->rename_count++] = rename;
    group->members = view;
    return true;
}

/* Renames the range in which two accesses conflict; false where it cannot be, or would not part them. */
static bool part(struct group *group, struct memo *memo, const struct placement_hazard *hazard)
{
    const struct bound_launch *p = &group->members[hazard->p], *q = &group->members[hazard->q];
    const struct access *a = &p->summary->accesses[hazard->access_p],
                        *b = &q->summary->accesses[hazard->access_q];
    const struct access_base *base = &p->summary->bases[a->base];
    const struct array_binding *binding = &p->bindings[a->base];
    if (group->rename_count == RENAME_MOST || !array_range_is_known(base, binding) ||
        binding->array != q->bindings[b->base].array)
        return false;
    struct array_range range = array_range_of(p, a->base);
    if (!array_range_close(group->members, group->member_count, &range) ||
        !array_range_find_writer(group->members, group->member_count, &range)) /* rule 1 */
        return false;
    bool a_is_new = hazard->p > range.writer || (hazard->p == range.writer && a->kind != ACCESS_READ);
    bool b_is_new = hazard->q > range.writer || (hazard->q == range.writer && b->kind != ACCESS_READ);
    if (a_is_new == b_is_new) return false;
    struct group_box written = {0};
    struct quota quota = quota_begin(memo->ctx, RENAME_OPERATIONS);
    bool are_known = reads_before_writing(group, &range) && writes_are_known(group, &range, &written);
    quota_end(&quota);
    bool is_partial = written.width < (uint64_t)(range.to - range.from);
    return are_known && (!is_partial || reads_are_known(group, &range)) && add_view(group, &range, &written);
}

/* False when one of the hazards cannot be dissolved, or there is none. */
static bool part_all(struct group *group, struct memo *memo, const struct placement_failure *failure)
{
    for (uint32_t i = 0; i < failure->hazard_count; i++)
        if (!part(group, memo, &failure->hazards[i])) return false;
    return failure->hazard_count && !failure->has_more;
}

enum { BY_HALO, BY_ROWS, WITHIN, KINDS }; /* whose failures say what to rename, in this order */

static bool find_any(struct group *group, struct space *space, struct memo *memo,
                     struct placement_failure failures[KINDS])
{
    struct arena *arena = group->arena;
    const struct bound_launch *members = group->members;
    uint32_t count = group->member_count;
    return space_place_all(space, memo, arena, members, count, &failures[WITHIN]) ||
           halo_place_all(group, space, memo, &failures[BY_HALO]) ||
           space_place_coarsened(space, memo, arena, members, count) ||
           halo_place_rows(group, space, memo, &failures[BY_ROWS]);
}

static const char *refusal_of(const struct group *group, const struct placement_failure failures[KINDS])
{
    const char *why = arena_strdup(group->arena, failures[WITHIN].reason);
    if (failures[BY_HALO].reason[0])
        why = arena_printf(group->arena, "%s; no halo fusion: %s", why, failures[BY_HALO].reason);
    if (failures[BY_ROWS].reason[0])
        why = arena_printf(group->arena, "%s; nor one of rows: %s", why, failures[BY_ROWS].reason);
    return why;
}

bool rename_place_all(struct group *group, struct space *space, struct memo *memo,
                      struct placement_failure *failure)
{
    const struct bound_launch *members = group->members;
    struct placement_failure failures[KINDS] = {0}, again[KINDS] = {0};
    bool found = find_any(group, space, memo, failures);
    *failure = failures[WITHIN];
    if (found) return true;
    group->refusal = refusal_of(group, failures);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct placement_failure *next = &failures[kind];
        for (uint32_t tries = 0; tries < RENAME_MOST && part_all(group, memo, next); tries++) {
            if (find_any(group, space, memo, again)) return true;
            next = &again[kind];
        }
        group->members = members;
        group->rename_count = 0;
    }
    return space_place_in_one_block(space, memo, group->arena, members, group->member_count);
}

const struct group_rename *group_rename_of(const struct group *group, uint32_t member, uint32_t instruction,
                                           bool *is_new)
{
    const struct bound_launch *launch = &group->members[member];
    for (uint32_t i = 0; group->rename_count && i < launch->summary->access_count; i++) {
        const struct access *access = &launch->summary->accesses[i];
        if (access->instruction != instruction) continue;
        const struct array_binding *binding = &launch->bindings[access->base];
        for (uint32_t r = 0; r < group->rename_count; r++) {
            const struct group_rename *rename = &group->renames[r];
            const struct array_range range = {
                .array = rename->of, .from = rename->start, .to = rename->start + (int64_t)rename->bytes};
            *is_new = binding->array == rename->array;
            if (*is_new || array_range_holds(&range, launch, access->base)) return rename;
        }
    }
    return NULL;
}
