/* SPDX-License-Identifier: Apache-2.0
 * Members seen from the threads of a fused launch; every answer is kept per pair of access shapes. */
#include "fuser/fusion/apart.h"
#include "fuser/fusion/coarsening.h"

#include <string.h>

/* Of isl. A remap takes few where there is one; where many accesses meet, it takes long to see that there is
 * none. */
enum { AFFINE_OPERATIONS = 50000 };

bool space_open(struct space *space, struct memo *memo, struct arena *arena,
                const struct bound_launch *members, uint32_t member_count, const uint32_t grid[3],
                const uint32_t block[3])
{
    memset(space, 0, sizeof *space);
    space->ctx = memo->ctx;
    space->memo = memo;
    space->arena = arena;
    space->members = members;
    space->member_count = member_count;
    space->reach = OVERLAP_SAME;
    memcpy(space->grid, grid, sizeof space->grid);
    memcpy(space->block, block, sizeof space->block);
    space->remaps = arena_calloc(arena, member_count, sizeof *space->remaps);
    space->maps = arena_calloc(arena, member_count, sizeof(isl_map *));
    space->accesses = arena_calloc(arena, member_count, sizeof(struct placed_access *));
    space->own = arena_calloc(arena, member_count, sizeof *space->own);
    return space->remaps && space->maps && space->accesses && space->own;
}

void space_clear(struct space *space)
{
    for (uint32_t member = 0; space->maps && member < space->member_count; member++)
        space_unplace(space, member);
    for (uint32_t member = 0; space->own && member < space->member_count; member++)
        touches_close(&space->own[member]);
    for (uint32_t shape = 0; shape < space->shape_count; shape++)
        isl_map_free(space->shapes[shape].touch.bytes);
    memset(space, 0, sizeof *space);
}

static bool tables_grow(struct space *space)
{
    uint32_t old = space->table_size, size = old ? old * 2 : 32;
    unsigned char *overlaps = arena_calloc(space->arena, size, size);
    unsigned char *covers = arena_calloc(space->arena, size, size);
    struct space_shape *shapes =
        arena_grow(space->arena, space->shapes, space->shape_count, size, sizeof *space->shapes);
    if (!overlaps || !covers || !shapes) return false;
    for (uint32_t row = 0; row < old; row++) {
        memcpy(overlaps + (size_t)row * size, space->overlaps + (size_t)row * old, old);
        memcpy(covers + (size_t)row * size, space->covers + (size_t)row * old, old);
    }
    space->overlaps = overlaps;
    space->covers = covers;
    space->shapes = shapes;
    space->table_size = space->shape_capacity = size;
    return true;
}

/* Every thread of the member is run. */
static bool runs_all(const struct remap *remap)
{
    return remap->kind != REMAP_AFFINE && remap->kind != REMAP_COARSENED && remap->kind != REMAP_CELLS;
}

/* Takes bytes; the index of the shape, or UINT32_MAX when memory is out. */
static uint32_t shape_intern(struct space *space, uint32_t member, const struct access *access,
                             __isl_take isl_map *bytes)
{
    const struct bound_launch *launch = &space->members[member];
    const struct array_binding *binding = &launch->bindings[access->base];
    uint32_t width = access->width;
    struct touch touch = runs_all(&space->remaps[member]) ? touch_of_all(space->memo, bytes, launch, access)
                                                          : touch_of(space->memo, bytes, width);
    for (uint32_t index = 0; index < space->shape_count; index++) {
        const struct space_shape *shape = &space->shapes[index];
        if (shape->array != binding->array || shape->touch.width != width || !shape->touch.bytes != !bytes)
            continue;
        if (shape->touch.number != touch.number || shape->touch.from != touch.from) continue;
        if (bytes && !touch.number && isl_map_plain_is_equal(shape->touch.bytes, bytes) != isl_bool_true)
            continue;
        isl_map_free(bytes);
        return index;
    }
    if (space->shape_count == space->table_size && !tables_grow(space)) {
        isl_map_free(bytes);
        return UINT32_MAX;
    }
    space->shapes[space->shape_count] =
        (struct space_shape){.array = binding->array, .is_plain = binding->is_plain, .touch = touch};
    return space->shape_count++;
}

/* From the member's threads to the fused ones. */
static __isl_give isl_map *placed_bytes(const struct space *space, uint32_t member, __isl_take isl_map *bytes)
{
    if (space->remaps[member].kind == REMAP_SAME) return isl_map_set_tuple_name(bytes, isl_dim_in, "F");
    return isl_map_coalesce(isl_map_apply_range(isl_map_copy(space->maps[member]), bytes));
}

/* { F -> [byte] }: the access as the fused threads make it. */
static __isl_give isl_map *space_bytes(const struct space *space, uint32_t member,
                                       const struct access *access)
{
    const struct bound_launch *launch = &space->members[member];
    struct memo_question question = {.kind = MEMO_BYTES,
                                     .words = {memo_number(space->memo, space->maps[member]),
                                               memo_number(space->memo, access->relation),
                                               (uint64_t)launch->bindings[access->base].offset}};
    bool is_known = question.words[0] && question.words[1];
    struct quota quota;
    if (!access->relation || !quota_ask(&quota, space->ctx)) return NULL;
    isl_map *bytes = is_known ? memo_relation(space->memo, &question) : NULL;
    if (!bytes) {
        bytes = placed_bytes(space, member, overlap_thread_bytes(launch, access));
        if (is_known) memo_keep_relation(space->memo, &question, bytes);
    }
    quota_answer(&quota, bytes);
    return bytes;
}

/* Two accesses that may conflict: what a placed member touches, and, in its own threads, one that is to be placed. */
struct meeting {
    const struct touch *placed;
    struct touch own; /* borrows the bytes of own_bytes */
};
struct meetings {
    struct meeting *all;
    uint32_t count, capacity;
    isl_map **own_bytes; /* by access of the member, where it is needed */
};

static bool add_meeting(struct space *space, struct meetings *meetings, const struct meeting *meeting)
{
    if (meetings->count == meetings->capacity) {
        uint32_t capacity = meetings->capacity ? 2 * meetings->capacity : 64;
        void *grown =
            arena_grow(space->arena, meetings->all, meetings->count, capacity, sizeof *meetings->all);
        if (!grown) return false;
        meetings->all = grown;
        meetings->capacity = capacity;
    }
    meetings->all[meetings->count++] = *meeting;
    return true;
}

/* False: an address is not known, or memory is out. */
static bool find_meetings(struct space *space, uint32_t member, struct meetings *meetings)
{
    const struct bound_launch *own = &space->members[member];
    for (uint32_t other = 0; other < space->member_count; other++)
        for (uint32_t i = 0;
             space->maps[other] && other != member && i < space->members[other].summary->access_count; i++) {
            const struct placed_access *placed = &space->accesses[other][i];
            const struct touch *touch = &space->shapes[placed->shape].touch;
            for (uint32_t j = 0; touch->bytes && j < own->summary->access_count; j++) {
                const struct access *access = &own->summary->accesses[j];
                isl_map **bytes = &meetings->own_bytes[j];
                if (!overlap_may_conflict(&space->members[other], placed->access, own, access)) continue;
                if (!*bytes) *bytes = overlap_thread_bytes(own, access);
                if (!*bytes) return false;
                const struct meeting meeting = {touch, touch_of(space->memo, *bytes, access->width)};
                if (!add_meeting(space, meetings, &meeting)) return false;
            }
        }
    return meetings->count;
}

static void find_threads(const void *user, struct memo_found *found)
{
    const struct meetings *meetings = user;
    for (uint32_t i = 0; i < meetings->count; i++) {
        isl_map *pairs = overlap_relation(meetings->all[i].placed, &meetings->all[i].own);
        found->relation = found->relation ? isl_map_union(found->relation, pairs) : pairs;
    }
    found->relation = isl_map_coalesce(found->relation);
}

static struct memo_question meetings_question(struct space *space, const struct meetings *meetings)
{
    uint32_t *words = arena_alloc(space->arena, 4 * meetings->count * sizeof *words);
    struct memo_question question = {.kind = MEMO_MEETING};
    for (uint32_t i = 0; words && i < meetings->count; i++) {
        const struct meeting *meeting = &meetings->all[i];
        uint32_t placed = memo_number(space->memo, meeting->placed->bytes),
                 own = memo_number(space->memo, meeting->own.bytes);
        if (!placed || !own) return question;
        memcpy(words + 4 * i, (uint32_t[]){placed, meeting->placed->width, own, meeting->own.width},
               4 * sizeof *words);
    }
    if (!words) return question;
    struct hash128 hash = hash_bytes(words, 4 * meetings->count * sizeof *words);
    question.words[0] = 1, question.words[1] = hash.low, question.words[2] = hash.high;
    return question;
}

/* The member's threads as a function of fused threads, from its conflicts with all members that are placed.
 */
static __isl_give isl_map *affine_relation(struct space *space, uint32_t member)
{
    uint32_t count = space->members[member].summary->access_count;
    struct meetings meetings = {.own_bytes = arena_calloc(space->arena, count + 1, sizeof(isl_map *))};
    isl_map *threads = NULL;
    if (meetings.own_bytes && find_meetings(space, member, &meetings)) {
        const struct memo_question question = meetings_question(space, &meetings);
        threads = memo_ask(space->memo, &question, find_threads, &meetings).relation;
    }
    for (uint32_t i = 0; meetings.own_bytes && i < count; i++) isl_map_free(meetings.own_bytes[i]);
    return threads;
}

/* Of one pair of threads, neither is in another pair: for neighbours, who meet several, that tells at once. */
static bool seems_one_to_one(__isl_keep isl_map *map)
{
    isl_map *pair = isl_map_from_basic_map(isl_map_sample(isl_map_copy(map)));
    isl_set *fused = isl_map_domain(isl_map_copy(pair)), *own = isl_map_range(pair);
    isl_set *run = isl_set_apply(isl_set_copy(fused), isl_map_copy(map));
    isl_set *running = isl_set_apply(isl_set_copy(own), isl_map_reverse(isl_map_copy(map)));
    bool is_alone =
        isl_set_is_subset(run, own) == isl_bool_true && isl_set_is_subset(running, fused) == isl_bool_true;
    isl_set_free(fused);
    isl_set_free(own);
    isl_set_free(run);
    isl_set_free(running);
    return is_alone;
}

/* Each fused thread runs at most one thread of the member, each effective thread is run, none twice. The
 * quickest question comes first. */
static bool is_legal_remap(const struct access_summary *summary, __isl_keep isl_map *map)
{
    if (!seems_one_to_one(map)) return false;
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

static bool place_accesses(struct space *space, uint32_t member)
{
    const struct access_summary *summary = space->members[member].summary;
    struct placed_access *placed = arena_calloc(space->arena, summary->access_count + 1, sizeof *placed);
    if (!placed) return false;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        placed[i] = (struct placed_access){.access = access, .member = member, .index = i};
        placed[i].shape = shape_intern(space, member, access, space_bytes(space, member, access));
        if (placed[i].shape == UINT32_MAX) return false;
    }
    space->accesses[member] = placed;
    return true;
}

bool space_place(struct space *space, uint32_t member, enum remap_kind kind)
{
    const struct access_summary *summary = space->members[member].summary;
    struct remap *remap = &space->remaps[member];
    isl_map *map;
    remap->kind = kind;
    if (kind == REMAP_AFFINE) {
        struct quota quota = quota_begin(space->ctx, AFFINE_OPERATIONS);
        map = affine_relation(space, member);
        if (!affine_is_legal(space->memo, summary, map)) map = isl_map_free(map);
        quota_end(&quota);
    } else if (kind == REMAP_COARSENED) {
        remap->coarsening = coarsening_derive(space, member);
        map = remap->coarsening ? coarsening_map(space, member, remap->coarsening) : NULL;
    } else {
        map = remap_relation(space->memo, kind, space->grid, space->block, summary);
    }
    space->maps[member] = map;
    if (map && place_accesses(space, member)) return true;
    space_unplace(space, member);
    return false;
}

bool space_complete(struct space *space, uint32_t member)
{
    struct remap *remap = &space->remaps[member];
    if (remap->kind != REMAP_AFFINE) return true;
    struct quota quota = quota_begin(space->ctx, AFFINE_OPERATIONS);
    remap->coordinates = isl_pw_multi_aff_from_map(isl_map_copy(space->maps[member]));
    quota_end(&quota);
    if (!remap->coordinates) space_unplace(space, member);
    return remap->coordinates;
}

bool space_place_by(struct space *space, uint32_t member, __isl_take isl_map *map)
{
    space_unplace(space, member);
    space->remaps[member].kind = REMAP_CELLS;
    space->maps[member] = map;
    if (map && place_accesses(space, member)) return true;
    space_unplace(space, member);
    return false;
}

void space_unplace(struct space *space, uint32_t member)
{
    space->maps[member] = isl_map_free(space->maps[member]);
    space->remaps[member].coordinates = isl_pw_multi_aff_free(space->remaps[member].coordinates);
    space->remaps[member].own = isl_set_free(space->remaps[member].own);
    space->remaps[member].sparse = isl_set_free(space->remaps[member].sparse);
    space->accesses[member] = NULL;
}

/* NULL: memory is out. */
static const struct touch *own_touch(struct space *space, const struct placed_access *access)
{
    struct touches *touches = &space->own[access->member];
    if (!touches->of && !touches_open(touches, &space->members[access->member])) return NULL;
    return touches_get(space->memo, touches, access->index);
}

/* No threads of the members touch one byte, wherever they are placed. Which isl can mostly tell at once,
 * where from a space it takes long. */
static bool never_meet(struct space *space, const struct touch *a, const struct touch *b)
{
    struct quota quota = quota_begin(space->ctx, QUOTA_QUESTION);
    bool apart = overlap_is_empty(space->memo, a, b) == isl_bool_true;
    quota_end(&quota);
    return apart;
}

/* In the members' own threads where that can be, else in those of the space. */
static enum overlap find_overlap_of_threads(struct space *space, const struct placed_access *a,
                                            const struct placed_access *b)
{
    const struct space_shape *first = &space->shapes[a->shape], *second = &space->shapes[b->shape];
    struct overlap_apart apart;
    if (first->array != second->array)
        return first->is_plain || second->is_plain ? OVERLAP_NONE : OVERLAP_UNKNOWN;
    if (!first->touch.bytes || !second->touch.bytes) return OVERLAP_UNKNOWN;
    const struct touch *own_a = own_touch(space, a), *own_b = own_touch(space, b);
    bool is_known = own_a && own_b && own_a->bytes && own_b->bytes;
    if (is_known && never_meet(space, own_a, own_b)) return OVERLAP_NONE;
    if (is_known && apart_open(&apart, space, a->member, b->member)) {
        enum overlap overlap = overlap_test_apart(space->memo, own_a, own_b, &apart, space->reach);
        apart_close(&apart);
        return overlap;
    }
    return overlap_test(space->memo, &first->touch, &second->touch, space->reach);
}

static enum overlap find_overlap(struct space *space, const struct placed_access *a,
                                 const struct placed_access *b)
{
    return space->is_one_block ? OVERLAP_BLOCK : find_overlap_of_threads(space, a, b);
}

enum overlap space_overlap(struct space *space, const struct placed_access *a, const struct placed_access *b)
{
    if (!overlap_may_share(&space->members[a->member], a->access, &space->members[b->member], b->access))
        return OVERLAP_NONE;
    unsigned char *known = &space->overlaps[(size_t)a->shape * space->table_size + b->shape];
    if (*known == OVERLAP_UNTESTED) {
        *known = (unsigned char)find_overlap(space, a, b);
        space->overlaps[(size_t)b->shape * space->table_size + a->shape] = *known;
    }
    return *known;
}

bool space_covers(struct space *space, const struct placed_access *outer, const struct placed_access *inner)
{
    const struct space_shape *from = &space->shapes[outer->shape], *to = &space->shapes[inner->shape];
    if (from->array != to->array || from->touch.width != to->touch.width) return false;
    if (!from->touch.bytes || !to->touch.bytes) return false;
    unsigned char *known = &space->covers[(size_t)outer->shape * space->table_size + inner->shape];
    if (!*known)
        *known =
            outer->shape == inner->shape || overlap_covers(space->memo, &from->touch, &to->touch) ? 2 : 1;
    return *known == 2;
}

bool space_violation(struct space *space, uint32_t p, uint32_t q, const struct placed_access **access_p,
                     const struct placed_access **access_q)
{
    const struct access_summary *first = space->members[p].summary, *second = space->members[q].summary;
    for (uint32_t i = 0; i < first->access_count; i++)
        for (uint32_t j = 0; j < second->access_count; j++) {
            if (first->accesses[i].kind == ACCESS_READ && second->accesses[j].kind == ACCESS_READ) continue;
            *access_p = &space->accesses[p][i];
            *access_q = &space->accesses[q][j];
            if (space_overlap(space, *access_p, *access_q) > space->reach) return true;
        }
    return false;
}
