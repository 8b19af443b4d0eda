/* SPDX-License-Identifier: Apache-2.0
 * What accesses in joined loops touch in which iteration. Answers are kept by access shape, as a space does.
 */
#include "fuser/fusion/joining.h"

#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATION = ACCESS_THREAD_DIMENSIONS }; /* its place in a shape's domain */

static bool tables_grow(struct joining *joining)
{
    uint32_t old = joining->table_size, size = old ? old * 2 : 16;
    struct joining_shape *shapes =
        arena_grow(joining->arena, joining->shapes, joining->shape_count, size, sizeof *shapes);
    isl_set **distances = arena_calloc(joining->arena, (size_t)size * size, sizeof(isl_set *));
    if (!shapes || !distances) return false;
    for (uint32_t row = 0; row < old; row++)
        memcpy(distances + (size_t)row * size, joining->distances + (size_t)row * old,
               old * sizeof(isl_set *));
    joining->shapes = shapes;
    joining->distances = distances;
    joining->table_size = size;
    return true;
}

/* Of the member's threads, as the fused threads do it; takes and returns { [.., iteration] -> [byte] }. */
static __isl_give isl_map *seen_from_space(const struct space *space, uint32_t member,
                                           __isl_take isl_map *bytes)
{
    if (space->remaps[member].kind == REMAP_SAME) return bytes;
    isl_map *remap = isl_map_add_dims(isl_map_copy(space->maps[member]), isl_dim_in, 1);
    remap = isl_map_add_dims(remap, isl_dim_out, 1);
    remap = isl_map_equate(remap, isl_dim_in, ITERATION, isl_dim_out, ITERATION);
    remap = isl_map_reset_tuple_id(isl_map_reset_tuple_id(remap, isl_dim_in), isl_dim_out);
    return isl_map_apply_range(remap, isl_map_reset_tuple_id(bytes, isl_dim_in));
}

/* { F[.., iteration] -> [byte] }. NULL: any byte. */
static __isl_give isl_map *iteration_bytes(const struct space *space, uint32_t member,
                                           const struct access *access, bool is_in_loop)
{
    const struct bound_launch *launch = &space->members[member];
    isl_map *bytes = isl_map_copy(access->relation);
    isl_size count = bytes ? isl_map_dim(bytes, isl_dim_in) : 0;
    if (!bytes) return NULL;
    if (is_in_loop && count <= ITERATION) return isl_map_free(bytes);
    if (is_in_loop) {
        bytes = isl_map_project_out(bytes, isl_dim_in, ITERATION + 1, (unsigned)count - ITERATION - 1);
    } else {
        bytes = isl_map_project_out(bytes, isl_dim_in, ITERATION, (unsigned)count - ITERATION);
        bytes = isl_map_fix_si(isl_map_add_dims(bytes, isl_dim_in, 1), isl_dim_in, ITERATION, 0);
    }
    bytes = isl_map_set_tuple_name(seen_from_space(space, member, bytes), isl_dim_in, "F");
    bytes = isl_map_set_dim_name(bytes, isl_dim_in, ITERATION, "i");
    return isl_map_coalesce(overlap_moved(bytes, launch->bindings[access->base].offset));
}

/* False when memory is out. */
static bool shape_intern(struct joining *joining, uint32_t member, const struct access *access,
                         bool is_in_loop, uint32_t *index)
{
    const struct array_binding *binding = &joining->space->members[member].bindings[access->base];
    isl_map *bytes = iteration_bytes(joining->space, member, access, is_in_loop);
    *index = JOINING_NO_SHAPE;
    if (!bytes) return true;
    for (uint32_t i = 0; i < joining->shape_count; i++) {
        const struct joining_shape *shape = &joining->shapes[i];
        if (shape->array != binding->array || shape->touch.width != access->width ||
            isl_map_plain_is_equal(shape->touch.bytes, bytes) != isl_bool_true)
            continue;
        isl_map_free(bytes);
        *index = i;
        return true;
    }
    if (joining->shape_count == joining->table_size && !tables_grow(joining)) {
        isl_map_free(bytes);
        return false;
    }
    *index = joining->shape_count;
    joining->shapes[joining->shape_count++] = (struct joining_shape){
        .array = binding->array, .touch = touch_of(joining->space->memo, bytes, access->width)};
    return true;
}

bool joining_describe(struct joining *joining, uint32_t member, const struct group_joined *joined)
{
    const struct bound_launch *launch = &joining->space->members[member];
    const struct access_summary *summary = launch->summary;
    struct joining_access *accesses =
        arena_calloc(joining->arena, summary->access_count + 1, sizeof *accesses);
    for (uint32_t i = 0; accesses && i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        isl_size count = access->relation ? isl_map_dim(access->relation, isl_dim_in) : 0;
        accesses[i].segment = joined->segments[joined->cfg->block_of[access->instruction]];
        bool is_in_loop = accesses[i].segment % 2;
        accesses[i].is_innermost = is_in_loop && count == ITERATION + 1;
        if (!shape_intern(joining, member, access, is_in_loop, &accesses[i].shape)) return false;
    }
    joining->accesses[member] = accesses;
    return accesses;
}

void joining_forget(struct joining *joining)
{
    for (uint32_t i = 0; i < joining->shape_count; i++) isl_map_free(joining->shapes[i].touch.bytes);
    for (size_t i = 0; i < (size_t)joining->table_size * joining->table_size; i++)
        isl_set_free(joining->distances[i]);
    joining->shape_count = joining->table_size = 0;
}

/* --- how many iterations apart ---------------------------------------------------------------------------
 */

static __isl_give isl_set *find_distances(const struct joining_shape *a, const struct joining_shape *b)
{
    isl_map *pairs = overlap_relation(&a->touch, &b->touch);
    for (int d = 0; d < ITERATION; d++) pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
    pairs = isl_map_project_out(pairs, isl_dim_in, 0, ITERATION);
    pairs = isl_map_project_out(pairs, isl_dim_out, 0, ITERATION);
    pairs = isl_map_reset_tuple_id(isl_map_reset_tuple_id(pairs, isl_dim_in), isl_dim_out);
    return isl_set_coalesce(isl_map_deltas(pairs));
}

/* Some thread touches a byte with b in an iteration that is low to high behind the one in which it does with
 * a. */
static bool are_apart(struct joining *joining, uint32_t a, uint32_t b, int32_t low, int32_t high)
{
    if (low > high) return false;
    if (a == JOINING_NO_SHAPE || b == JOINING_NO_SHAPE) return true;
    isl_set **known = &joining->distances[(size_t)a * joining->table_size + b];
    if (!*known) *known = find_distances(&joining->shapes[a], &joining->shapes[b]);
    isl_set *within = isl_set_copy(*known);
    if (low > INT32_MIN) within = isl_set_lower_bound_si(within, isl_dim_set, 0, low);
    if (high < INT32_MAX) within = isl_set_upper_bound_si(within, isl_dim_set, 0, high);
    isl_bool empty = isl_set_is_empty(within);
    isl_set_free(within);
    return empty != isl_bool_true;
}

/* --- legality --------------------------------------------------------------------------------------------
 */

static const struct joining_access *access_of(const struct joining *joining,
                                              const struct placed_access *placed)
{
    return &joining->accesses[placed->member][placed->index];
}

/* The segment in which it runs: of a delayed prologue, the loop's. */
static uint32_t segment_of(const struct group_joined *joined, uint32_t loop_count,
                           const struct joining_access *access)
{
    uint32_t loop = access->segment / 2;
    bool is_prologue_delayed =
        access->segment % 2 == 0 && loop < loop_count && joined->is_prologue_delayed[loop];
    return access->segment + is_prologue_delayed;
}

/* a of p keeps its place before b of q. Lets q be shifted, or its prologue be delayed, where that helps. */
static bool order_pair(struct joining *joining, const struct group_join *join, const struct placed_access *a,
                       const struct placed_access *b)
{
    struct group_joined *p = &join->members[a->member - join->first_member];
    struct group_joined *q = &join->members[b->member - join->first_member];
    const struct joining_access *own_a = access_of(joining, a), *own_b = access_of(joining, b);
    uint32_t loop = own_b->segment / 2, first = segment_of(p, join->loop_count, own_a);
    if (own_b->segment + 1 == first && own_b->segment % 2 == 0) q->is_prologue_delayed[loop] = true;
    uint32_t second = segment_of(q, join->loop_count, own_b);
    if (first != second) return first < second;
    if (first % 2 == 0) return true;
    for (; q->shifts[loop] <= JOIN_MOST_SHIFT; q->shifts[loop]++)
        if (!are_apart(joining, own_a->shape, own_b->shape, INT32_MIN,
                       (int32_t)p->shifts[loop] - (int32_t)q->shifts[loop] - 1))
            return true;
    return false;
}

bool joining_order(struct joining *joining, const struct group_join *join, uint32_t p, uint32_t q)
{
    struct space *space = joining->space;
    for (uint32_t i = 0; i < space->members[p].summary->access_count; i++)
        for (uint32_t j = 0; j < space->members[q].summary->access_count; j++) {
            const struct placed_access *a = &space->accesses[p][i], *b = &space->accesses[q][j];
            if (!placed_writes(a) && !placed_writes(b)) continue;
            enum overlap overlap = space_overlap(space, a, b);
            if (overlap == OVERLAP_NONE) continue;
            if (overlap != OVERLAP_SAME || !order_pair(joining, join, a, b)) return false;
        }
    return true;
}

bool joining_meet_in_iteration(struct joining *joining, const struct placed_access *a,
                               const struct placed_access *b)
{
    return are_apart(joining, access_of(joining, a)->shape, access_of(joining, b)->shape, 0, 0);
}

/* { F[.., iteration] -> [] }: the iterations that fused threads begin for the member. NULL: not known. */
static __isl_give isl_map *rounds_of(const struct joining *joining, uint32_t member,
                                     const struct group_joined *joined, uint32_t loop)
{
    const struct access_summary *summary = joining->space->members[member].summary;
    if (joined->latches[loop] == UINT32_MAX || !summary->rounds) return NULL;
    isl_set *rounds = isl_set_copy(summary->rounds[joined->headers[loop]]);
    isl_map *map = rounds ? isl_map_from_domain(rounds) : NULL;
    return map ? isl_map_set_tuple_name(seen_from_space(joining->space, member, map), isl_dim_in, "F") : NULL;
}

bool joining_has_same_trip_count(const struct joining *joining, const struct group_join *join, uint32_t p,
                                 uint32_t q, uint32_t loop)
{
    const struct group_joined *first = &join->members[p - join->first_member];
    const struct group_joined *second = &join->members[q - join->first_member];
    if (first->shifts[loop] || second->shifts[loop] || first->is_prologue_delayed[loop] ||
        second->is_prologue_delayed[loop])
        return false;
    isl_map *a = rounds_of(joining, p, first, loop), *b = rounds_of(joining, q, second, loop);
    isl_bool equal = a && b ? isl_map_is_equal(a, b) : isl_bool_false;
    isl_map_free(a);
    isl_map_free(b);
    return equal == isl_bool_true;
}

/* --- join.h ----------------------------------------------------------------------------------------------
 */

static const struct group_join *common_join(const struct joining *joining, const struct placed_access *a,
                                            const struct placed_access *b)
{
    const struct group_join *join = group_join_of(joining->group, a->member);
    return join && join == group_join_of(joining->group, b->member) ? join : NULL;
}

bool join_is_shared(const struct joining *joining, const struct placed_access *a,
                    const struct placed_access *b)
{
    if (!common_join(joining, a, b)) return false;
    const struct joining_access *own_a = access_of(joining, a), *own_b = access_of(joining, b);
    return own_a->segment % 2 && own_a->segment == own_b->segment && own_a->is_innermost &&
           own_b->is_innermost && own_a->shape != JOINING_NO_SHAPE && own_b->shape != JOINING_NO_SHAPE;
}

static const struct group_joined *joined_of(const struct joining *joining, const struct placed_access *access)
{
    const struct group_join *join = group_join_of(joining->group, access->member);
    return &join->members[access->member - join->first_member];
}

bool join_keeps_order(const struct joining *joining, const struct placed_access *a,
                      const struct placed_access *b)
{
    const struct group_join *join = common_join(joining, a, b);
    if (!join) return true;
    const struct group_joined *p = joined_of(joining, a), *q = joined_of(joining, b);
    uint32_t first = segment_of(p, join->loop_count, access_of(joining, a));
    uint32_t second = segment_of(q, join->loop_count, access_of(joining, b));
    if (first != second || first % 2 == 0) return first <= second;
    return p->shifts[first / 2] <= q->shifts[first / 2];
}

int32_t join_shift(const struct joining *joining, const struct placed_access *outer,
                   const struct placed_access *inner, uint32_t distance)
{
    uint32_t loop = access_of(joining, outer)->segment / 2;
    return (int32_t)joined_of(joining, inner)->shifts[loop] -
           (int32_t)joined_of(joining, outer)->shifts[loop] - (int32_t)distance;
}

bool join_covers(struct joining *joining, const struct placed_access *outer,
                 const struct placed_access *inner, uint32_t distance, uint32_t first)
{
    uint32_t from = access_of(joining, outer)->shape, to = access_of(joining, inner)->shape;
    const struct joining_shape *a = &joining->shapes[from], *b = &joining->shapes[to];
    int32_t shift = join_shift(joining, outer, inner, distance);
    if (a->array != b->array || a->touch.width != b->touch.width ||
        !are_apart(joining, from, to, -shift, -shift))
        return false;
    if (from == to && shift == 0) return true;
    isl_map *bytes = isl_map_lower_bound_si(isl_map_copy(b->touch.bytes), isl_dim_in, ITERATION, (int)first);
    isl_multi_aff *moved = isl_multi_aff_identity_on_domain_space(isl_space_domain(isl_map_get_space(bytes)));
    isl_aff *iteration = isl_multi_aff_get_aff(moved, ITERATION);
    moved = isl_multi_aff_set_aff(moved, ITERATION, isl_aff_add_constant_si(iteration, shift));
    bytes = isl_map_apply_domain(bytes, isl_map_from_multi_aff(moved));
    isl_bool covered = isl_map_is_subset(bytes, a->touch.bytes);
    isl_map_free(bytes);
    return covered == isl_bool_true;
}

bool joining_follows(const struct joining *joining, uint32_t member, uint32_t a, uint32_t b)
{
    const struct group_join *join = group_join_of(joining->group, member);
    const struct group_joined *joined = &join->members[member - join->first_member];
    const struct ptx_cfg *cfg = joined->cfg;
    uint32_t from = cfg->block_of[a], to = cfg->block_of[b];
    uint32_t header = joined->headers[joined->segments[from] / 2];
    if (from == to && a < b) return true;
    unsigned char *seen = calloc(cfg->block_count, 1);
    uint32_t *stack = calloc(cfg->block_count + 1, sizeof *stack);
    bool follows = true;
    if (seen && stack) {
        order_walk(cfg, from, header, NULL, seen, stack);
        follows = seen[to];
    }
    free(seen);
    free(stack);
    return follows;
}

bool join_meets_between(struct joining *joining, const struct placed_access *first,
                        const struct placed_access *between, const struct placed_access *last,
                        uint32_t distance)
{
    const struct group_join *join = group_join_of(joining->group, first->member);
    const struct joining_access *own = access_of(joining, between);
    uint32_t segment = access_of(joining, first)->segment, loop = segment / 2;
    if (between->member < first->member || between->member > last->member) return false;
    if (segment_of(joined_of(joining, between), join->loop_count, own) != segment) return false;
    if (space_overlap(joining->space, between, last) == OVERLAP_NONE) return false;
    bool is_prologue_delayed =
        own->segment != segment; /* it runs before its member's iteration at that time */
    bool follows =
        between->member != first->member ||
        (!is_prologue_delayed &&
         joining_follows(joining, first->member, first->access->instruction, between->access->instruction));
    bool precedes =
        between->member != last->member || is_prologue_delayed ||
        joining_follows(joining, last->member, between->access->instruction, last->access->instruction);
    int32_t shift =
        (int32_t)joined_of(joining, between)->shifts[loop] - (int32_t)joined_of(joining, last)->shifts[loop];
    return are_apart(joining, own->shape, access_of(joining, last)->shape, shift + (precedes ? 0 : 1),
                     shift + (int32_t)distance - (follows ? 0 : 1));
}
