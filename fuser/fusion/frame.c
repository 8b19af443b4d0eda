/* SPDX-License-Identifier: Apache-2.0
 * Members seen from the threads of a fused launch; every answer is kept per pair of access shapes. */
#include "fuser/fusion/apart.h"
#include "fuser/fusion/coarsening.h"

#include <string.h>

/* Of isl. A remap takes few where there is one; where many accesses meet, it takes long to see that there is
 * none. */
enum { AFFINE_OPERATIONS = 50000 };

bool frame_open(struct frame *frame, struct memo *memo, struct arena *arena,
                const struct bound_launch *members, uint32_t member_count, const uint32_t grid[3],
                const uint32_t block[3])
{
    memset(frame, 0, sizeof *frame);
    frame->ctx = memo->ctx;
    frame->memo = memo;
    frame->arena = arena;
    frame->members = members;
    frame->member_count = member_count;
    frame->reach = OVERLAP_SAME;
    memcpy(frame->grid, grid, sizeof frame->grid);
    memcpy(frame->block, block, sizeof frame->block);
    frame->remaps = arena_calloc(arena, member_count, sizeof *frame->remaps);
    frame->maps = arena_calloc(arena, member_count, sizeof(isl_map *));
    frame->accesses = arena_calloc(arena, member_count, sizeof(struct placed_access *));
    frame->own = arena_calloc(arena, member_count, sizeof *frame->own);
    return frame->remaps && frame->maps && frame->accesses && frame->own;
}

void frame_clear(struct frame *frame)
{
    for (uint32_t member = 0; frame->maps && member < frame->member_count; member++)
        frame_unplace(frame, member);
    for (uint32_t member = 0; frame->own && member < frame->member_count; member++)
        touches_close(&frame->own[member]);
    for (uint32_t shape = 0; shape < frame->shape_count; shape++)
        isl_map_free(frame->shapes[shape].touch.bytes);
    memset(frame, 0, sizeof *frame);
}

static bool tables_grow(struct frame *frame)
{
    uint32_t old = frame->table_size, size = old ? old * 2 : 32;
    unsigned char *overlaps = arena_calloc(frame->arena, size, size);
    unsigned char *covers = arena_calloc(frame->arena, size, size);
    struct frame_shape *shapes =
        arena_grow(frame->arena, frame->shapes, frame->shape_count, size, sizeof *frame->shapes);
    if (!overlaps || !covers || !shapes) return false;
    for (uint32_t row = 0; row < old; row++) {
        memcpy(overlaps + (size_t)row * size, frame->overlaps + (size_t)row * old, old);
        memcpy(covers + (size_t)row * size, frame->covers + (size_t)row * old, old);
    }
    frame->overlaps = overlaps;
    frame->covers = covers;
    frame->shapes = shapes;
    frame->table_size = frame->shape_capacity = size;
    return true;
}

/* Every thread of the member is run. */
static bool runs_all(const struct remap *remap)
{
    return remap->kind != REMAP_AFFINE && remap->kind != REMAP_COARSENED && remap->kind != REMAP_CELLS;
}

/* Takes bytes; the index of the shape, or UINT32_MAX when memory is out. */
static uint32_t shape_intern(struct frame *frame, uint32_t member, const struct access *access,
                             __isl_take isl_map *bytes)
{
    const struct bound_launch *launch = &frame->members[member];
    const struct array_binding *binding = &launch->bindings[access->base];
    uint32_t width = access->width;
    struct touch touch = runs_all(&frame->remaps[member]) ? touch_of_all(frame->memo, bytes, launch, access)
                                                          : touch_of(frame->memo, bytes, width);
    for (uint32_t index = 0; index < frame->shape_count; index++) {
        const struct frame_shape *shape = &frame->shapes[index];
        if (shape->array != binding->array || shape->touch.width != width || !shape->touch.bytes != !bytes)
            continue;
        if (shape->touch.number != touch.number || shape->touch.from != touch.from) continue;
        if (bytes && !touch.number && isl_map_plain_is_equal(shape->touch.bytes, bytes) != isl_bool_true)
            continue;
        isl_map_free(bytes);
        return index;
    }
    if (frame->shape_count == frame->table_size && !tables_grow(frame)) {
        isl_map_free(bytes);
        return UINT32_MAX;
    }
    frame->shapes[frame->shape_count] =
        (struct frame_shape){.array = binding->array, .is_plain = binding->is_plain, .touch = touch};
    return frame->shape_count++;
}

/* From the member's threads to the fused ones. */
static __isl_give isl_map *placed_bytes(const struct frame *frame, uint32_t member, __isl_take isl_map *bytes)
{
    if (frame->remaps[member].kind == REMAP_SAME) return isl_map_set_tuple_name(bytes, isl_dim_in, "F");
    return isl_map_coalesce(isl_map_apply_range(isl_map_copy(frame->maps[member]), bytes));
}

/* { F -> [byte] }: the access as the fused threads make it. */
static __isl_give isl_map *frame_bytes(const struct frame *frame, uint32_t member,
                                       const struct access *access)
{
    const struct bound_launch *launch = &frame->members[member];
    struct memo_question question = {.kind = MEMO_BYTES,
                                     .words = {memo_number(frame->memo, frame->maps[member]),
                                               memo_number(frame->memo, access->relation),
                                               (uint64_t)launch->bindings[access->base].offset}};
    bool is_known = question.words[0] && question.words[1];
    struct quota quota;
    if (!access->relation || !quota_ask(&quota, frame->ctx)) return NULL;
    isl_map *bytes = is_known ? memo_relation(frame->memo, &question) : NULL;
    if (!bytes) {
        bytes = placed_bytes(frame, member, overlap_thread_bytes(launch, access));
        if (is_known) memo_keep_relation(frame->memo, &question, bytes);
    }
    quota_answer(&quota, bytes);
    return bytes;
}

/* The member's threads as a function of fused threads, from its conflicts with all members that are placed.
 */
static __isl_give isl_map *affine_relation(struct frame *frame, uint32_t member)
{
    const struct bound_launch *own = &frame->members[member];
    isl_map *all = NULL;
    for (uint32_t other = 0; other < frame->member_count; other++) {
        if (!frame->maps[other] || other == member) continue;
        for (uint32_t i = 0; i < frame->members[other].summary->access_count; i++) {
            const struct placed_access *placed = &frame->accesses[other][i];
            const struct touch *touch = &frame->shapes[placed->shape].touch;
            for (uint32_t j = 0; touch->bytes && j < own->summary->access_count; j++) {
                const struct access *access = &own->summary->accesses[j];
                if (!overlap_may_conflict(&frame->members[other], placed->access, own, access)) continue;
                isl_map *own_bytes = overlap_thread_bytes(own, access);
                if (!own_bytes) return isl_map_free(all);
                struct touch own_touch = touch_of(frame->memo, own_bytes, access->width);
                isl_map *pairs = overlap_relation(touch, &own_touch);
                isl_map_free(own_bytes);
                all = all ? isl_map_union(all, pairs) : pairs;
            }
        }
    }
    return all ? isl_map_coalesce(all) : NULL;
}

/* Each fused thread runs at most one thread of the member, each effective thread is run, none twice. The
 * quickest question comes first. */
static bool is_legal_remap(const struct access_summary *summary, __isl_keep isl_map *map)
{
    isl_set *run = isl_map_range(isl_map_copy(map));
    isl_bool covered = isl_set_is_subset(summary->effective, run);
    isl_set_free(run);
    return covered == isl_bool_true && isl_map_is_single_valued(map) == isl_bool_true &&
           isl_map_is_injective(map) == isl_bool_true;
}

static bool affine_is_legal(struct memo *memo, const struct access_summary *summary, __isl_keep isl_map *map)
{
    enum { LEGAL = 1, ILLEGAL, GIVEN_UP };
    struct quota quota;
    if (!map) return false;
    isl_map *effective = isl_set_identity(isl_set_copy(summary->effective));
    struct memo_question question = {.kind = MEMO_AFFINE,
                                     .words = {memo_number(memo, map), memo_number(memo, effective)}};
    isl_map_free(effective);
    bool is_known = question.words[0] && question.words[1];
    if (!quota_ask(&quota, memo->ctx)) return false;
    uint32_t answer = is_known ? memo_value(memo, &question) : 0;
    if (!answer) {
        bool is_legal = is_legal_remap(summary, map);
        answer = is_legal ? LEGAL : quota_is_used_up(memo->ctx) ? GIVEN_UP : ILLEGAL;
        if (is_known) memo_keep_value(memo, &question, answer);
    }
    quota_answer(&quota, answer != GIVEN_UP);
    return answer == LEGAL;
}

static bool place_accesses(struct frame *frame, uint32_t member)
{
    const struct access_summary *summary = frame->members[member].summary;
    struct placed_access *placed = arena_calloc(frame->arena, summary->access_count + 1, sizeof *placed);
    if (!placed) return false;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        placed[i] = (struct placed_access){.access = access, .member = member, .index = i};
        placed[i].shape = shape_intern(frame, member, access, frame_bytes(frame, member, access));
        if (placed[i].shape == UINT32_MAX) return false;
    }
    frame->accesses[member] = placed;
    return true;
}

bool frame_place(struct frame *frame, uint32_t member, enum remap_kind kind)
{
    const struct access_summary *summary = frame->members[member].summary;
    struct remap *remap = &frame->remaps[member];
    isl_map *map;
    remap->kind = kind;
    if (kind == REMAP_AFFINE) {
        struct quota quota = quota_begin(frame->ctx, AFFINE_OPERATIONS);
        map = affine_relation(frame, member);
        if (!affine_is_legal(frame->memo, summary, map)) map = isl_map_free(map);
        quota_end(&quota);
    } else if (kind == REMAP_COARSENED) {
        remap->coarsening = coarsening_find(frame, member);
        map = remap->coarsening ? coarsening_map(frame, member, remap->coarsening) : NULL;
    } else {
        map = remap_relation(frame->memo, kind, frame->grid, frame->block, summary);
    }
    frame->maps[member] = map;
    if (map && place_accesses(frame, member)) return true;
    frame_unplace(frame, member);
    return false;
}

bool frame_settle(struct frame *frame, uint32_t member)
{
    struct remap *remap = &frame->remaps[member];
    if (remap->kind != REMAP_AFFINE) return true;
    struct quota quota = quota_begin(frame->ctx, AFFINE_OPERATIONS);
    remap->coordinates = isl_pw_multi_aff_from_map(isl_map_copy(frame->maps[member]));
    quota_end(&quota);
    if (!remap->coordinates) frame_unplace(frame, member);
    return remap->coordinates;
}

bool frame_place_by(struct frame *frame, uint32_t member, __isl_take isl_map *map)
{
    frame_unplace(frame, member);
    frame->remaps[member].kind = REMAP_CELLS;
    frame->maps[member] = map;
    if (map && place_accesses(frame, member)) return true;
    frame_unplace(frame, member);
    return false;
}

void frame_unplace(struct frame *frame, uint32_t member)
{
    frame->maps[member] = isl_map_free(frame->maps[member]);
    frame->remaps[member].coordinates = isl_pw_multi_aff_free(frame->remaps[member].coordinates);
    frame->remaps[member].own = isl_set_free(frame->remaps[member].own);
    frame->remaps[member].sparse = isl_set_free(frame->remaps[member].sparse);
    frame->accesses[member] = NULL;
}

/* NULL: memory is out. */
static const struct touch *own_touch(struct frame *frame, const struct placed_access *access)
{
    struct touches *touches = &frame->own[access->member];
    if (!touches->of && !touches_open(touches, &frame->members[access->member])) return NULL;
    return touches_get(frame->memo, touches, access->index);
}

/* No threads of the members touch one byte, wherever they are placed. Which isl can mostly tell at once, where from
 * a frame it takes long. */
static bool never_meet(struct frame *frame, const struct touch *a, const struct touch *b)
{
    struct quota quota = quota_begin(frame->ctx, QUOTA_QUESTION);
    bool apart = overlap_is_empty(frame->memo, a, b) == isl_bool_true;
    quota_end(&quota);
    return apart;
}

/* In the members' own threads where that can be, else in those of the frame. */
static enum overlap find_overlap(struct frame *frame, const struct placed_access *a,
                                 const struct placed_access *b)
{
    const struct frame_shape *first = &frame->shapes[a->shape], *second = &frame->shapes[b->shape];
    struct overlap_apart apart;
    if (first->array != second->array)
        return first->is_plain || second->is_plain ? OVERLAP_NONE : OVERLAP_UNKNOWN;
    if (!first->touch.bytes || !second->touch.bytes) return OVERLAP_UNKNOWN;
    const struct touch *own_a = own_touch(frame, a), *own_b = own_touch(frame, b);
    bool is_known = own_a && own_b && own_a->bytes && own_b->bytes;
    if (is_known && never_meet(frame, own_a, own_b)) return OVERLAP_NONE;
    if (is_known && apart_open(&apart, frame, a->member, b->member)) {
        enum overlap overlap = overlap_test_apart(frame->memo, own_a, own_b, &apart, frame->reach);
        apart_close(&apart);
        return overlap;
    }
    return overlap_test(frame->memo, &first->touch, &second->touch, frame->reach);
}

enum overlap frame_overlap(struct frame *frame, const struct placed_access *a, const struct placed_access *b)
{
    if (!overlap_may_share(&frame->members[a->member], a->access, &frame->members[b->member], b->access))
        return OVERLAP_NONE;
    unsigned char *known = &frame->overlaps[(size_t)a->shape * frame->table_size + b->shape];
    if (*known == OVERLAP_UNTESTED) {
        *known = (unsigned char)find_overlap(frame, a, b);
        frame->overlaps[(size_t)b->shape * frame->table_size + a->shape] = *known;
    }
    return *known;
}

/* Most accesses are told apart by where they begin and end, without isl. */
static bool sticks_out(const struct touch *inner, const struct touch *outer)
{
    bool is_known = inner->from != INT64_MIN && inner->to != INT64_MAX;
    return is_known && (inner->from < outer->from || inner->to > outer->to);
}

bool frame_covers(struct frame *frame, const struct placed_access *outer, const struct placed_access *inner)
{
    const struct frame_shape *from = &frame->shapes[outer->shape], *to = &frame->shapes[inner->shape];
    if (from->array != to->array || from->touch.width != to->touch.width) return false;
    if (!from->touch.bytes || !to->touch.bytes) return false;
    unsigned char *known = &frame->covers[(size_t)outer->shape * frame->table_size + inner->shape];
    if (!*known)
        *known = outer->shape == inner->shape ||
                         (!sticks_out(&to->touch, &from->touch) &&
                          isl_map_is_subset(to->touch.bytes, from->touch.bytes) == isl_bool_true)
                     ? 2
                     : 1;
    return *known == 2;
}

bool frame_violation(struct frame *frame, uint32_t p, uint32_t q, const struct placed_access **access_p,
                     const struct placed_access **access_q)
{
    const struct access_summary *first = frame->members[p].summary, *second = frame->members[q].summary;
    for (uint32_t i = 0; i < first->access_count; i++)
        for (uint32_t j = 0; j < second->access_count; j++) {
            if (first->accesses[i].kind == ACCESS_READ && second->accesses[j].kind == ACCESS_READ) continue;
            *access_p = &frame->accesses[p][i];
            *access_q = &frame->accesses[q][j];
            if (frame_overlap(frame, *access_p, *access_q) > frame->reach) return true;
        }
    return false;
}
