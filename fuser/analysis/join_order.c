/* SPDX-License-Identifier: Apache-2.0
 * What accesses in joined loops touch in which iteration. Answers are kept by access shape, as a frame does.
 */
#include "fuser/analysis/joining.h"

#include "fuser/analysis/dominators.h"

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
    if (!shapes) return false;
    joining->shapes = shapes;
    for (int question = 0; question < JOINING_QUESTIONS; question++) {
        unsigned char *table = arena_calloc(joining->arena, size, size);
        if (!table) return false;
        for (uint32_t row = 0; row < old; row++)
            memcpy(table + (size_t)row * size, joining->answers[question] + (size_t)row * old, old);
        joining->answers[question] = table;
    }
    joining->table_size = size;
    return true;
}

/* { F[.., iteration] -> [byte] }; the member's threads are the fused ones. NULL: any byte. */
static __isl_give isl_map *iteration_bytes(const struct bound_launch *launch, const struct access *access)
{
    isl_map *bytes = isl_map_copy(access->relation);
    isl_size count = bytes ? isl_map_dim(bytes, isl_dim_in) : 0;
    if (count <= ITERATION) return isl_map_free(bytes);
    bytes = isl_map_project_out(bytes, isl_dim_in, ITERATION + 1, (unsigned)count - ITERATION - 1);
    bytes = isl_map_set_tuple_name(bytes, isl_dim_in, "F");
    bytes = isl_map_set_dim_name(bytes, isl_dim_in, ITERATION, "i");
    int64_t offset = launch->bindings[access->base].offset;
    isl_val *constant = isl_val_int_from_si(isl_map_get_ctx(bytes), offset);
    isl_aff *shifted = isl_aff_var_on_domain(
        isl_local_space_from_space(isl_space_range(isl_map_get_space(bytes))), isl_dim_set, 0);
    shifted = isl_aff_add_constant_val(shifted, constant);
    return isl_map_coalesce(isl_map_apply_range(bytes, isl_map_from_aff(shifted)));
}

/* Takes bytes. False when memory is out. */
static bool shape_intern(struct joining *joining, const struct bound_launch *launch,
                         const struct access *access, uint32_t *index)
{
    const struct array_binding *binding = &launch->bindings[access->base];
    isl_map *bytes = iteration_bytes(launch, access);
    *index = JOINING_NO_SHAPE;
    if (!bytes) return true;
    for (uint32_t i = 0; i < joining->shape_count; i++) {
        const struct joining_shape *shape = &joining->shapes[i];
        if (shape->array != binding->array || shape->width != access->width ||
            isl_map_plain_is_equal(shape->bytes, bytes) != isl_bool_true)
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
    joining->shapes[joining->shape_count++] =
        (struct joining_shape){.array = binding->array, .width = access->width, .bytes = bytes};
    return true;
}

bool joining_describe(struct joining *joining, uint32_t member, const struct group_joined *joined)
{
    const struct bound_launch *launch = &joining->frame->members[member];
    const struct access_summary *summary = launch->summary;
    struct joining_access *accesses =
        arena_calloc(joining->arena, summary->access_count + 1, sizeof *accesses);
    for (uint32_t i = 0; accesses && i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        isl_size count = access->relation ? isl_map_dim(access->relation, isl_dim_in) : 0;
        accesses[i].segment = joined->segments[joined->cfg->block_of[access->instruction]];
        accesses[i].shape = JOINING_NO_SHAPE;
        accesses[i].is_innermost = count == ITERATION + 1;
        if (accesses[i].segment % 2 && !shape_intern(joining, launch, access, &accesses[i].shape))
            return false;
    }
    joining->accesses[member] = accesses;
    return accesses;
}

void joining_forget(struct joining *joining)
{
    for (uint32_t i = 0; i < joining->shape_count; i++) isl_map_free(joining->shapes[i].bytes);
    joining->shape_count = 0;
}

/* --- questions -------------------------------------------------------------------------------------------
 */

static bool meet(const struct joining_shape *a, const struct joining_shape *b, enum joining_question question)
{
    isl_map *pairs = overlap_relation(a->bytes, a->width, b->bytes, b->width);
    for (int d = 0; d < ITERATION; d++) pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
    pairs = question == JOINING_LATER ? isl_map_order_gt(pairs, isl_dim_in, ITERATION, isl_dim_out, ITERATION)
                                      : isl_map_equate(pairs, isl_dim_in, ITERATION, isl_dim_out, ITERATION);
    isl_bool empty = isl_map_is_empty(pairs);
    isl_map_free(pairs);
    return empty != isl_bool_true;
}

static bool ask(struct joining *joining, uint32_t a, uint32_t b, enum joining_question question)
{
    const struct joining_shape *from = &joining->shapes[a], *to = &joining->shapes[b];
    unsigned char *known = &joining->answers[question][(size_t)a * joining->table_size + b];
    if (!*known && question == JOINING_COVERS)
        *known = from->array == to->array && from->width == to->width &&
                         (a == b || isl_map_is_subset(to->bytes, from->bytes) == isl_bool_true)
                     ? 2
                     : 1;
    else if (!*known)
        *known = meet(from, to, question) ? 2 : 1;
    return *known == 2;
}

static const struct joining_access *access_of(const struct joining *joining,
                                              const struct placed_access *placed)
{
    return &joining->accesses[placed->member][placed->index];
}

/* a before b becomes a after b for some instances of one thread. */
static bool changes_places(struct joining *joining, const struct placed_access *a,
                           const struct placed_access *b)
{
    const struct joining_access *own_a = access_of(joining, a), *own_b = access_of(joining, b);
    if (own_a->segment != own_b->segment) return own_a->segment > own_b->segment;
    if (own_a->segment % 2 == 0) return false;
    return own_a->shape == JOINING_NO_SHAPE || own_b->shape == JOINING_NO_SHAPE ||
           ask(joining, own_a->shape, own_b->shape, JOINING_LATER);
}

bool joining_is_legal(struct joining *joining, uint32_t p, uint32_t q)
{
    struct frame *frame = joining->frame;
    for (uint32_t i = 0; i < frame->members[p].summary->access_count; i++)
        for (uint32_t j = 0; j < frame->members[q].summary->access_count; j++) {
            const struct placed_access *a = &frame->accesses[p][i], *b = &frame->accesses[q][j];
            if (!frame_writes(a) && !frame_writes(b)) continue;
            enum overlap overlap = frame_overlap(frame, a, b);
            if (overlap == OVERLAP_NONE) continue;
            if (overlap != OVERLAP_SAME || changes_places(joining, a, b)) return false;
        }
    return true;
}

/* An access made in every iteration, of which is known for which instances: they are the loop's. */
static const struct joining_shape *witness_of(const struct joining *joining, uint32_t member,
                                              const struct group_joined *joined, uint32_t loop)
{
    const struct access_summary *summary = joining->frame->members[member].summary;
    const struct dominators *dominators = dominators_build(joining->arena, joined->cfg);
    for (uint32_t i = 0; dominators && i < summary->access_count; i++) {
        const struct joining_access *own = &joining->accesses[member][i];
        const struct access *access = &summary->accesses[i];
        if (own->segment != 2 * loop + 1 || !own->is_innermost || own->shape == JOINING_NO_SHAPE) continue;
        if (!access->domain_is_exact || summary->function->instructions[access->instruction].guard >= 0)
            continue;
        if (dominators_dominates(dominators, joined->cfg->block_of[access->instruction],
                                 joined->latches[loop]))
            return &joining->shapes[own->shape];
    }
    return NULL;
}

bool joining_is_even(const struct joining *joining, const struct group_join *join, uint32_t p, uint32_t q,
                     uint32_t loop)
{
    const struct joining_shape *a = witness_of(joining, p, &join->members[p - join->first_member], loop);
    const struct joining_shape *b = witness_of(joining, q, &join->members[q - join->first_member], loop);
    if (!a || !b) return false;
    isl_set *iterations_a = isl_map_domain(isl_map_copy(a->bytes));
    isl_set *iterations_b = isl_map_domain(isl_map_copy(b->bytes));
    isl_bool equal = isl_set_is_equal(iterations_a, iterations_b);
    isl_set_free(iterations_a);
    isl_set_free(iterations_b);
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

bool join_keeps_order(const struct joining *joining, const struct placed_access *a,
                      const struct placed_access *b)
{
    return !common_join(joining, a, b) || access_of(joining, a)->segment <= access_of(joining, b)->segment;
}

bool join_covers(struct joining *joining, const struct placed_access *outer,
                 const struct placed_access *inner)
{
    return ask(joining, access_of(joining, outer)->shape, access_of(joining, inner)->shape, JOINING_COVERS);
}

bool join_may_touch(struct joining *joining, const struct placed_access *a, const struct placed_access *b)
{
    const struct joining_access *own_a = access_of(joining, a), *own_b = access_of(joining, b);
    if (frame_overlap(joining->frame, a, b) == OVERLAP_NONE) return false;
    return own_a->shape == JOINING_NO_SHAPE || own_b->shape == JOINING_NO_SHAPE ||
           ask(joining, own_a->shape, own_b->shape, JOINING_SAME);
}

/* There is a way from a to b that does not go round the joined loop. */
static bool follows_in_iteration(const struct joining *joining, uint32_t member, uint32_t a, uint32_t b)
{
    const struct group_join *join = group_join_of(joining->group, member);
    const struct group_joined *joined = &join->members[member - join->first_member];
    const struct ptx_cfg *cfg = joined->cfg;
    uint32_t from = cfg->block_of[a], to = cfg->block_of[b], depth = 0;
    uint32_t header = joined->headers[joined->segments[from] / 2];
    if (from == to && a < b) return true;
    unsigned char *seen = calloc(cfg->block_count, 1);
    uint32_t *stack = calloc(cfg->block_count + 1, sizeof *stack);
    if (!seen || !stack) goto found;
    stack[depth++] = from;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i < block->successor_count; i++) {
            uint32_t next = block->successors[i];
            if (next == header || seen[next]) continue;
            if (next == to) goto found;
            seen[next] = 1;
            stack[depth++] = next;
        }
    }
    free(seen);
    free(stack);
    return false;
found:
    free(seen);
    free(stack);
    return true;
}

bool join_lies_between(const struct joining *joining, const struct placed_access *first,
                       const struct placed_access *between, const struct placed_access *last)
{
    if (between->member < first->member || between->member > last->member) return false;
    if (access_of(joining, between)->segment != access_of(joining, first)->segment) return false;
    if (between->member == first->member &&
        !follows_in_iteration(joining, first->member, first->access->instruction,
                              between->access->instruction))
        return false;
    return between->member != last->member ||
           follows_in_iteration(joining, last->member, between->access->instruction,
                                last->access->instruction);
}
