/* SPDX-License-Identifier: Apache-2.0
 * Finds a fused shape and a remap for each member such that all conflicts stay within one fused thread, and
 * describes the conflict that stands in the way when there is none. */
#include "fuser/analysis/frame.h"
#include "fuser/analysis/witness.h"

#include <stdio.h>
#include <string.h>

enum { PLACE_OPERATIONS = 500000 }; /* of isl, for one fused shape */

/* True when the member, placed by this kind, has no conflict across threads with those placed before. */
static bool place_legally(struct frame *frame, uint32_t member, enum remap_kind kind,
                          struct frame_failure *failure);

static const char *array_name(const struct bound_launch *launch, const struct access *access, char *text,
                              size_t size)
{
    const struct access_base *base = &launch->summary->bases[access->base];
    uint32_t array = launch->bindings[access->base].array;
    if (base->kind == ACCESS_BASE_VARIABLE)
        snprintf(text, size, "variable %s", base->variable);
    else if (base->kind == ACCESS_BASE_ARGUMENT)
        snprintf(text, size, "array %u (its argument at byte %u)", array, base->argument_offset);
    else
        snprintf(text, size, "array %u", array);
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

/* The threads of both launches that share a byte and do not fall into one fused thread. */
static bool find_witness(struct frame *frame, const struct placed_access *a, const struct placed_access *b,
                         struct frame_failure *failure)
{
    isl_map *bytes_a = overlap_thread_bytes(&frame->members[a->member], a->access);
    isl_map *bytes_b = overlap_thread_bytes(&frame->members[b->member], b->access);
    bool found = false;
    if (bytes_a && bytes_b) {
        isl_map *pairs = overlap_relation(bytes_a, a->access->width, bytes_b, b->access->width);
        isl_map *together = isl_map_apply_range(isl_map_reverse(isl_map_copy(frame->maps[a->member])),
                                                isl_map_copy(frame->maps[b->member]));
        found = witness_find(isl_map_subtract(pairs, together), &frame->members[a->member], a->access,
                             &frame->members[b->member], b->access, &failure->witness);
    }
    isl_map_free(bytes_a);
    isl_map_free(bytes_b);
    return found;
}

static void describe(struct frame *frame, const struct placed_access *a, const struct placed_access *b,
                     struct frame_failure *failure)
{
    const struct bound_launch *p = &frame->members[a->member], *q = &frame->members[b->member];
    char array[160];
    failure->p = a->member;
    failure->q = b->member;
    failure->access_p = a->index;
    failure->access_q = b->index;
    failure->is_unknown = frame_overlap(frame, a, b) == OVERLAP_UNKNOWN;
    failure->has_witness = !failure->is_unknown && find_witness(frame, a, b, failure);
    int length =
        snprintf(failure->reason, sizeof failure->reason, "kernel %s line %u %s %s, kernel %s line %u %s it",
                 p->summary->function->name, a->access->line, access_verb(a->access),
                 array_name(p, a->access, array, sizeof array), q->summary->function->name, b->access->line,
                 access_verb(b->access));
    if (length < 0 || (size_t)length >= sizeof failure->reason) return;
    char *rest = failure->reason + length;
    size_t room = sizeof failure->reason - (size_t)length;
    const struct access *unbounded = !a->access->relation   ? a->access
                                     : !b->access->relation ? b->access
                                                            : NULL;
    const int32_t *s = failure->witness.p, *t = failure->witness.q;
    if (failure->has_witness)
        snprintf(
            rest, room,
            " from another thread: e.g. block (%d,%d,%d) thread (%d,%d,%d) of %s and block (%d,%d,%d) thread "
            "(%d,%d,%d) of %s, at byte %lld",
            s[2], s[1], s[0], s[5], s[4], s[3], p->summary->function->name, t[2], t[1], t[0], t[5], t[4],
            t[3], q->summary->function->name, (long long)failure->witness.byte);
    else if (unbounded)
        snprintf(rest, room, ", at an address that is not known%s%s", unbounded->reason ? ": " : "",
                 unbounded->reason ? unbounded->reason : "");
    else
        snprintf(rest, room, ", perhaps from another thread: the test was given up");
}

static bool place_legally(struct frame *frame, uint32_t member, enum remap_kind kind,
                          struct frame_failure *failure)
{
    if (!frame_place(frame, member, kind)) return false;
    for (uint32_t other = 0; other < frame->member_count; other++) {
        if (other == member || !frame->maps[other]) continue;
        const struct placed_access *a, *b;
        if (!frame_violation(frame, other < member ? other : member, other < member ? member : other, &a, &b))
            continue;
        if (!failure->reason[0]) describe(frame, a, b, failure);
        frame_unplace(frame, member);
        return false;
    }
    return true;
}

static bool place_member(struct frame *frame, uint32_t member, struct frame_failure *failure)
{
    if (remap_shapes_equal(frame->members[member].summary, frame->grid, frame->block))
        return place_legally(frame, member, REMAP_SAME, failure) ||
               place_legally(frame, member, REMAP_AFFINE, failure);
    static const enum remap_kind kinds[] = {REMAP_GLOBAL, REMAP_LINEAR, REMAP_STRIDE, REMAP_AFFINE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (place_legally(frame, member, kinds[i], failure)) return true;
    return false;
}

/* Members of the frame's own shape first: they are its anchors. */
static bool place_members(struct frame *frame, struct frame_failure *failure)
{
    for (int anchors = 1; anchors >= 0; anchors--)
        for (uint32_t member = 0; member < frame->member_count; member++) {
            bool is_anchor = remap_shapes_equal(frame->members[member].summary, frame->grid, frame->block);
            if (is_anchor == (anchors == 1) && !place_member(frame, member, failure)) return false;
        }
    return true;
}

struct shape {
    uint32_t grid[3], block[3];
};

static uint32_t shape_add(struct shape *shapes, uint32_t count, const uint32_t grid[3],
                          const uint32_t block[3])
{
    for (uint32_t i = 0; i < count; i++)
        if (!memcmp(shapes[i].grid, grid, sizeof shapes[i].grid) &&
            !memcmp(shapes[i].block, block, sizeof shapes[i].block))
            return count;
    memcpy(shapes[count].grid, grid, sizeof shapes[count].grid);
    memcpy(shapes[count].block, block, sizeof shapes[count].block);
    return count + 1;
}

/* The shapes to try: the largest member's block over the union of all extents, then each member's own shape
 * from the most threads to the fewest. shapes has room for member_count + 1. */
static uint32_t candidate_shapes(const struct bound_launch *members, uint32_t member_count,
                                 struct shape *shapes)
{
    uint32_t count = 0;
    const struct access_summary *anchor = members[0].summary;
    uint32_t grid[3];
    for (uint32_t member = 1; member < member_count; member++) {
        const struct access_summary *summary = members[member].summary;
        if (remap_threads(summary->grid, summary->block) > remap_threads(anchor->grid, anchor->block))
            anchor = summary;
    }
    for (int d = 0; d < 3; d++) {
        uint64_t extent = 0;
        for (uint32_t member = 0; member < member_count; member++) {
            uint64_t own = (uint64_t)members[member].summary->grid[d] * members[member].summary->block[d];
            if (own > extent) extent = own;
        }
        grid[d] = (uint32_t)((extent + anchor->block[d] - 1) / anchor->block[d]);
    }
    if (remap_threads(grid, anchor->block) <= 2 * remap_threads(anchor->grid, anchor->block))
        count = shape_add(shapes, count, grid, anchor->block);
    uint64_t bound = UINT64_MAX;
    for (;;) {
        uint64_t most = 0;
        for (uint32_t member = 0; member < member_count; member++) {
            uint64_t threads = remap_threads(members[member].summary->grid, members[member].summary->block);
            if (threads < bound && threads > most) most = threads;
        }
        if (!most) return count;
        for (uint32_t member = 0; member < member_count; member++) {
            const struct access_summary *summary = members[member].summary;
            if (remap_threads(summary->grid, summary->block) == most)
                count = shape_add(shapes, count, summary->grid, summary->block);
        }
        bound = most;
    }
}

bool frame_find(struct frame *frame, isl_ctx *ctx, struct arena *arena, const struct bound_launch *members,
                uint32_t member_count, struct frame_failure *failure)
{
    memset(failure, 0, sizeof *failure);
    struct shape *shapes = arena_calloc(arena, member_count + 1, sizeof *shapes);
    uint32_t count = shapes ? candidate_shapes(members, member_count, shapes) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!frame_open(frame, ctx, arena, members, member_count, shapes[i].grid, shapes[i].block)) break;
        struct quota quota = quota_begin(ctx, PLACE_OPERATIONS);
        bool placed = place_members(frame, failure);
        quota_end(&quota);
        if (placed) return true;
        frame_clear(frame);
    }
    if (!failure->reason[0])
        snprintf(failure->reason, sizeof failure->reason,
                 "no fused shape runs the threads of all members once");
    return false;
}
