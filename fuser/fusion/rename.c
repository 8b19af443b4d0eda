/* SPDX-License-Identifier: Apache-2.0
 * Gives the new contents of a range an array of its own: see rename.h. */
#include "fuser/fusion/rename.h"
#include "fuser/access/array_rows.h"
#include "fuser/fusion/box.h"
#include "fuser/fusion/halo.h"
#include "fuser/kernel/order.h"

#include <isl/space.h>

#include <stdio.h>
#include <string.h>

enum {
    RENAME_OPERATIONS = 500000, /* of isl, for one range */
    /* which loads are of old contents, where there are no rows: of every other cell isl seldom knows, and takes seconds */
    OLD_OPERATIONS = 50000,
};

enum contents {
    CONTENTS_NEW,
    CONTENTS_OLD,
    CONTENTS_BOTH, /* new where a member before has written, else old: no access to memory has both */
};
/* A range that is to be renamed. Sets of bytes have coordinates of rows, where it has such. */
struct renaming {
    const struct group *group;
    struct memo *memo;
    struct array_range range;
    struct array_rows rows;
    bool has_rows;
    bool is_all_new;          /* loads of members behind the writer must be of new contents */
    enum contents **contents; /* by member behind the writer: NULL, or by access */
};

static __isl_give isl_set *bytes_of(const struct renaming *of, const struct bound_launch *launch,
                                    const struct access *access)
{
    return of->has_rows ? array_rows_bytes(&of->rows, launch, access) : array_range_bytes(launch, access);
}

static bool are_apart(const struct renaming *of, const struct bound_launch *launch, const struct access *a,
                      const struct access *b)
{
    isl_set *both = isl_set_intersect(bytes_of(of, launch, a), bytes_of(of, launch, b));
    bool are = both && isl_set_is_empty(both) == isl_bool_true;
    isl_set_free(both);
    return are;
}

/* What it loads there, these accesses of the member or all of them, it has not written before. */
static bool reads_before_writing(const struct renaming *of, uint32_t member, const bool *reads)
{
    const struct bound_launch *launch = &of->group->members[member];
    const struct access_summary *summary = launch->summary;
    struct order order;
    if (!order_open(&order, of->group->arena, summary->function)) return false;
    for (uint32_t i = 0; i < summary->access_count; i++)
        for (uint32_t j = 0; j < summary->access_count; j++) {
            const struct access *write = &summary->accesses[i], *read = &summary->accesses[j];
            if (write->kind == ACCESS_READ || read->kind != ACCESS_READ || (reads && !reads[j])) continue;
            if (!array_range_holds(&of->range, launch, write->base) ||
                !array_range_holds(&of->range, launch, read->base))
                continue;
            if (!summary->whole_block && !order_may_follow(&order, write->instruction, read->instruction))
                continue;
            if (!are_apart(of, launch, write, read)) return false;
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
static __isl_give isl_set *bytes_touched(const struct renaming *of, uint32_t member, bool is_write,
                                         bool for_certain)
{
    const struct bound_launch *launch = &of->group->members[member];
    isl_set *all = isl_set_empty(
        isl_space_set_alloc(isl_set_get_ctx(launch->summary->threads), 0, of->has_rows ? 3 : 1));
    for (uint32_t i = 0; i < launch->summary->access_count; i++) {
        const struct access *access = &launch->summary->accesses[i];
        if ((access->kind != ACCESS_READ) != is_write || !array_range_holds(&of->range, launch, access->base))
            continue;
        if (for_certain && (!access->address_is_exact || !access->domain_is_exact)) continue;
        all = isl_set_union(all, bytes_of(of, launch, access));
    }
    return isl_set_coalesce(all);
}

/* Rule 4. */
static bool reads_are_known(const struct renaming *of)
{
    for (uint32_t m = 0; m < of->group->member_count; m++)
        for (uint32_t i = 0; i < of->group->members[m].summary->access_count; i++) {
            const struct access *access = &of->group->members[m].summary->accesses[i];
            bool is_known = access->address_is_exact && access->domain_is_exact;
            if (access->kind == ACCESS_READ && !is_known &&
                array_range_holds(&of->range, &of->group->members[m], access->base))
                return false;
        }
    return true;
}

/* Some of what the member writes there it may not write, or elsewhere. */
static bool writes_by_chance(const struct renaming *of, uint32_t member)
{
    const struct bound_launch *launch = &of->group->members[member];
    for (uint32_t i = 0; i < launch->summary->access_count; i++) {
        const struct access *access = &launch->summary->accesses[i];
        if (access->kind != ACCESS_READ && array_range_holds(&of->range, launch, access->base) &&
            (!access->address_is_exact || !access->domain_is_exact))
            return true;
    }
    return false;
}

/* Rule 3: all that the writer and later members write; NULL: not known. */
static __isl_give isl_set *bytes_written(const struct renaming *of)
{
    isl_set *all = bytes_touched(of, of->range.writer, true, true);
    for (uint32_t m = of->range.writer + 1; m < of->group->member_count; m++)
        all = isl_set_union(all, bytes_touched(of, m, true, true));
    all = memo_explicit(of->memo, isl_set_coalesce(all));
    for (uint32_t m = of->range.writer; all && m < of->group->member_count; m++)
        if (writes_by_chance(of, m) && !is_subset(bytes_touched(of, m, true, false), all))
            all = isl_set_free(all);
    return all;
}

/* What members before one write for certain, and at most. */
struct before {
    isl_set *surely, *perhaps;
};

static struct before before_first(const struct renaming *of)
{
    return (struct before){bytes_touched(of, of->range.writer, true, true),
                           bytes_touched(of, of->range.writer, true, false)};
}

static void before_add(struct before *before, const struct renaming *of, uint32_t member)
{
    before->surely = isl_set_union(before->surely, bytes_touched(of, member, true, true));
    before->perhaps = isl_set_union(before->perhaps, bytes_touched(of, member, true, false));
}

static void before_free(struct before *before)
{
    isl_set_free(before->surely);
    isl_set_free(before->perhaps);
}

/* An instruction has the same contents with all of its accesses. */
static bool are_of_one_kind(const struct renaming *of, const struct bound_launch *launch,
                            const enum contents *contents)
{
    const struct access *accesses = launch->summary->accesses;
    for (uint32_t i = 0; i < launch->summary->access_count; i++)
        for (uint32_t j = 0; contents[i] && j < launch->summary->access_count; j++)
            if (accesses[j].instruction == accesses[i].instruction && contents[j] != contents[i] &&
                array_range_holds(&of->range, launch, accesses[j].base))
                return false;
    return true;
}

/* False where it is not known what has been written. */
static bool contents_of(const struct renaming *of, const struct bound_launch *launch,
                        const struct access *access, const struct before *before, __isl_keep isl_set *written,
                        enum contents *contents)
{
    isl_set *bytes = isl_set_intersect(bytes_of(of, launch, access), isl_set_copy(written));
    isl_set *perhaps = isl_set_intersect(isl_set_copy(bytes), isl_set_copy(before->perhaps));
    bool is_new = is_subset(isl_set_copy(bytes), before->surely);
    *contents = is_new ? CONTENTS_NEW : CONTENTS_BOTH;
    if (!is_new && perhaps && !of->is_all_new && isl_set_is_empty(perhaps) == isl_bool_true)
        *contents = CONTENTS_OLD;
    bool is_known =
        *contents != CONTENTS_BOTH || (!of->is_all_new && is_subset(isl_set_copy(perhaps), before->surely));
    isl_set_free(bytes);
    isl_set_free(perhaps);
    return is_known;
}

static bool add_reads(const enum contents *contents, uint32_t count, bool *reads)
{
    for (uint32_t i = 0; reads && i < count; i++) reads[i] = contents[i] != CONTENTS_NEW;
    return reads;
}

/* Rule 5, of one member: NULL when all its accesses are of new contents. */
static bool find_contents(const struct renaming *of, uint32_t member, const struct before *before,
                          __isl_keep isl_set *written)
{
    const struct bound_launch *launch = &of->group->members[member];
    uint32_t count = launch->summary->access_count;
    enum contents *contents = arena_calloc(of->group->arena, count + 1, sizeof *contents);
    bool has_old = false, is_known = contents;
    for (uint32_t i = 0; is_known && i < count; i++) {
        const struct access *access = &launch->summary->accesses[i];
        if (access->kind != ACCESS_READ || !array_range_holds(&of->range, launch, access->base)) continue;
        is_known = contents_of(of, launch, access, before, written, &contents[i]);
        has_old |= contents[i] != CONTENTS_NEW;
    }
    if (!is_known || !has_old) return is_known;
    bool *reads = arena_calloc(of->group->arena, count + 1, sizeof *reads);
    of->contents[member] = contents;
    return are_of_one_kind(of, launch, contents) && add_reads(contents, count, reads) &&
           reads_before_writing(of, member, reads);
}

static bool reads_have_contents(const struct renaming *of, __isl_keep isl_set *written)
{
    struct before before = before_first(of);
    bool have = before.surely && before.perhaps;
    for (uint32_t m = of->range.writer + 1; have && m < of->group->member_count; m++) {
        have = find_contents(of, m, &before, written);
        before_add(&before, of, m);
    }
    before_free(&before);
    return have;
}

static bool find_box(const struct renaming *of, __isl_keep isl_set *written, struct group_box *box)
{
    return of->has_rows ? box_of_rows(written, &of->rows, box) : box_of(written, box);
}

static bool writes_are_known(const struct renaming *of, struct group_box *box)
{
    isl_set *written = bytes_written(of);
    bool are_known =
        written && reads_have_contents(of, written) && (find_box(of, written, box) || of->group->is_part);
    box->from -= of->range.from;
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

/* The accesses of a base that are of new contents get a base of their own. False: there are none. */
static bool split_base(struct access_summary *summary, uint32_t base, const enum contents *contents)
{
    bool reads_old = false;
    struct access_base *old = &summary->bases[base], *new = &summary->bases[summary->base_count];
    *new = *old;
    new->is_read = new->is_written = false;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        struct access *access = &summary->accesses[i];
        if (access->base != base) continue;
        reads_old |= contents[i] == CONTENTS_OLD;
        if (contents[i] == CONTENTS_OLD) continue;
        access->base = summary->base_count;
        access->rest_is_old = contents[i] == CONTENTS_BOTH;
        new->is_read |= access->kind == ACCESS_READ;
        new->is_written |= access->kind != ACCESS_READ;
    }
    old->is_written = false;
    old->is_read &= reads_old;
    return new->is_read || new->is_written;
}

/* A member that has both gets such bases in the range twice: it reads old contents through the one, and has new ones through the
 * other. */
static bool split(struct group *group, struct bound_launch *launch, const struct array_range *range,
                  uint32_t array, const enum contents *contents)
{
    const struct access_summary *from = launch->summary;
    uint32_t count = from->base_count;
    struct access_summary *summary = arena_alloc(group->arena, sizeof *summary);
    struct access_base *bases = arena_calloc(group->arena, 2 * count + 1, sizeof *bases);
    struct array_binding *bindings = arena_calloc(group->arena, 2 * count + 1, sizeof *bindings);
    struct access *accesses = arena_calloc(group->arena, from->access_count + 1, sizeof *accesses);
    if (!summary || !bases || !bindings || !accesses) return false;
    memcpy(bases, from->bases, count * sizeof *bases);
    memcpy(bindings, launch->bindings, count * sizeof *bindings);
    memcpy(accesses, from->accesses, from->access_count * sizeof *accesses);
    *summary = *from;
    summary->bases = bases;
    summary->accesses = accesses;
    for (uint32_t b = 0; b < count; b++) {
        if (!array_range_holds(range, launch, b) || !split_base(summary, b, contents)) continue;
        bindings[summary->base_count] = bindings[b];
        bindings[summary->base_count++].array = array;
    }
    *launch = (struct bound_launch){summary, bindings};
    return true;
}

/* The first that writes reads what was there. */
static bool split_writer(struct group *group, struct bound_launch *launch, const struct array_range *range,
                         uint32_t array)
{
    enum contents *contents = arena_calloc(group->arena, launch->summary->access_count + 1, sizeof *contents);
    for (uint32_t i = 0; contents && i < launch->summary->access_count; i++)
        if (launch->summary->accesses[i].kind == ACCESS_READ) contents[i] = CONTENTS_OLD;
    return contents && split(group, launch, range, array, contents);
}

static bool view_member(struct group *group, struct bound_launch *launch, const struct array_range *range,
                        uint32_t array, const enum contents *contents)
{
    return contents ? split(group, launch, range, array, contents) : rebind(group, launch, range, array);
}

static bool add_view(struct group *group, const struct array_range *range, const struct group_box *written,
                     enum contents *const *contents)
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
        if (m == range->writer ? !split_writer(group, &view[m], range, array)
                               : !view_member(group, &view[m], range, array, contents[m]))
            return false;
    group->renames = renames;
    group->renames[group->rename_count++] = rename;
    group->members = view;
    return true;
}

static bool is_of_new(const struct renaming *of, uint32_t member, uint32_t access)
{
    const enum contents *contents = of->contents[member];
    if (member != of->range.writer)
        return member > of->range.writer && !(contents && contents[access] == CONTENTS_OLD);
    return of->group->members[member].summary->accesses[access].kind != ACCESS_READ;
}

/* The range of an access, and who writes it: rule 1. */
static bool find_range(struct renaming *of, uint32_t member, uint32_t access)
{
    const struct group *group = of->group;
    const struct bound_launch *launch = &group->members[member];
    uint32_t base = launch->summary->accesses[access].base;
    if (!array_range_is_known(&launch->summary->bases[base], &launch->bindings[base])) return false;
    of->range = array_range_of(launch, base);
    of->contents = arena_calloc(group->arena, group->member_count, sizeof *of->contents);
    return of->contents && array_range_close(group->members, group->member_count, &of->range) &&
           array_range_find_writer(group->members, group->member_count, &of->range);
}

static bool follows_rules(struct renaming *of, unsigned long operations, struct group_box *written)
{
    *written = (struct group_box){0};
    memset(of->contents, 0, of->group->member_count * sizeof *of->contents);
    struct quota quota = quota_begin(of->memo->ctx, operations);
    bool follows = reads_before_writing(of, of->range.writer, NULL) && writes_are_known(of, written);
    quota_end(&quota);
    bool is_partial = written->width < (uint64_t)(of->range.to - of->range.from);
    return follows && (!is_partial || reads_are_known(of));
}

/* By rows, where there are some, and by bytes. */
static bool follows_rules_either_way(struct renaming *of, struct group_box *written)
{
    struct quota quota = quota_begin(of->memo->ctx, RENAME_OPERATIONS);
    of->has_rows = array_rows_find(of->group->members, of->group->member_count, &of->range, &of->rows);
    quota_end(&quota);
    if (of->has_rows && follows_rules(of, RENAME_OPERATIONS, written)) return true;
    of->has_rows = false;
    of->is_all_new = true;
    if (follows_rules(of, RENAME_OPERATIONS, written)) return true;
    of->is_all_new = false;
    return follows_rules(of, OLD_OPERATIONS, written);
}

/* Renames the range in which two accesses conflict; false where it cannot be, or would not part them. */
static bool part(struct group *group, struct memo *memo, const struct placement_hazard *hazard)
{
    const struct bound_launch *p = &group->members[hazard->p], *q = &group->members[hazard->q];
    struct renaming of = {.group = group, .memo = memo};
    struct group_box written = {0};
    if (group->rename_count == RENAME_MOST ||
        p->bindings[p->summary->accesses[hazard->access_p].base].array !=
            q->bindings[q->summary->accesses[hazard->access_q].base].array)
        return false;
    return find_range(&of, hazard->p, hazard->access_p) && follows_rules_either_way(&of, &written) &&
           is_of_new(&of, hazard->p, hazard->access_p) != is_of_new(&of, hazard->q, hazard->access_q) &&
           add_view(group, &of.range, &written, of.contents);
}

/* What the one has written the other loads: both are of the new contents, however the range is renamed. */
static bool is_flow(const struct group *group, const struct placement_hazard *hazard)
{
    const struct access *p = &group->members[hazard->p].summary->accesses[hazard->access_p],
                        *q = &group->members[hazard->q].summary->accesses[hazard->access_q];
    return hazard->p < hazard->q && p->kind != ACCESS_READ && q->kind == ACCESS_READ;
}

/* False when one of the hazards cannot be dissolved, or there is none. */
static bool part_all(struct group *group, struct memo *memo, const struct placement_failure *failure)
{
    if (failure->has_more) return false;
    for (uint32_t i = 0; i < failure->hazard_count; i++)
        if (is_flow(group, &failure->hazards[i])) return false;
    for (uint32_t i = 0; i < failure->hazard_count; i++)
        if (!part(group, memo, &failure->hazards[i])) return false;
    return failure->hazard_count;
}

enum { BY_HALO, BY_ROWS, WITHIN, KINDS }; /* whose failures say what to rename, in this order */

static bool reads_both(const struct group *group)
{
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++)
            if (group->members[m].summary->accesses[i].rest_is_old) return true;
    return false;
}

static bool find_any(struct group *group, struct space *space, struct memo *memo,
                     struct placement_failure failures[KINDS])
{
    struct arena *arena = group->arena;
    const struct bound_launch *members = group->members;
    uint32_t count = group->member_count;
    bool has_both = reads_both(group); /* a part of which only tiles can have */
    if (has_both) failures[WITHIN] = (struct placement_failure){0};
    return (!has_both && space_place_all(space, memo, arena, members, count, &failures[WITHIN])) ||
           halo_place_all(group, space, memo, &failures[BY_HALO]) ||
           (!has_both && space_place_coarsened(space, memo, arena, members, count)) ||
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

/* What the kind of fusion that gets furthest stumbles over. Members of several shapes are none within threads. */
static uint32_t refused_from(const struct placement_failure failures[KINDS])
{
    uint32_t last = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (failures[kind].reason[0] && !failures[kind].last && kind != WITHIN) return 0;
        if (failures[kind].last > last) last = failures[kind].last;
    }
    return last ? last + 1 : 0;
}

bool rename_place_all(struct group *group, struct space *space, struct memo *memo,
                      struct placement_failure *failure)
{
    const struct bound_launch *members = group->members;
    struct placement_failure failures[KINDS] = {0}, again[KINDS] = {0};
    bool found = find_any(group, space, memo, failures);
    *failure = failures[WITHIN];
    if (found) return true;
    if (group->last_first) { /* nothing is renamed (last_block.h, rule 5) */
        group->refusal =
            failures[WITHIN].reason[0] ? refusal_of(group, failures) : "it is in no thread, and in no block";
        return false;
    }
    group->refusal = refusal_of(group, failures);
    group->refused_from = refused_from(failures);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct placement_failure *next = &failures[kind];
        for (uint32_t tries = 0; tries < RENAME_MOST && part_all(group, memo, next); tries++) {
            if (find_any(group, space, memo, again)) return true;
            next = &again[kind];
        }
        group->members = members;
        group->rename_count = 0;
    }
    return !memo->without_one_block && space_place_in_one_block(space, memo, group->arena, members,
                                                                group->member_count, SPACE_BLOCK_MOST);
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
            bool is_of_new = binding->array == rename->array;
            *is_new = is_of_new && !access->rest_is_old;
            if (is_of_new || array_range_holds(&range, launch, access->base)) return rename;
        }
    }
    return NULL;
}
