/* SPDX-License-Identifier: Apache-2.0
 * See group_schedule.h. */
#include "fuser/fusion/group_schedule.h"
#include "fuser/fusion/space.h"
#include "fuser/kernel/order.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

enum { TIME_STAGE, TIME_RUN, TIME_SEGMENT, TIME_TURN, TIME_PART, TIME_MEMBER, TIMES };
enum { ORDER_TIMES = 3, ITERATION = ACCESS_THREAD_DIMENSIONS, MOST_PARTS = 64 };

struct builder {
    struct group_schedule *schedule;
    struct memo *memo;
    const struct bound_launch *members;
    const struct group *group; /* NULL: a proposal */
    uint32_t member_count;
    uint32_t grid[3], block[3];
    isl_map **maps; /* { F[bz..tx] -> L }, one a member */
    uint32_t *stages;
    uint32_t *first_access; /* of a member */
    uint32_t *lags;         /* one a statement */
    struct check_statement *statements;
    struct check_access *accesses;
    struct check_storage *storages;
    struct check_barrier *barriers;
    struct schedule_space *orders;
};
/* Code of a member that runs in one piece. */
struct piece {
    uint32_t segment, part;
};

static bool builder_open(struct builder *builder, struct group_schedule *schedule, struct memo *memo,
                         const struct bound_launch *members, uint32_t member_count)
{
    uint32_t count = 0;
    struct arena *arena = schedule->arena;
    *builder = (struct builder){
        .schedule = schedule, .memo = memo, .members = members, .member_count = member_count};
    for (uint32_t m = 0; m < member_count; m++) count += members[m].summary->access_count;
    builder->maps = arena_calloc(arena, member_count, sizeof(isl_map *));
    builder->stages = arena_calloc(arena, member_count, sizeof *builder->stages);
    builder->first_access = arena_calloc(arena, member_count, sizeof *builder->first_access);
    builder->statements = arena_calloc(arena, count + member_count, sizeof *builder->statements);
    builder->lags = arena_calloc(arena, count + member_count, sizeof *builder->lags);
    builder->barriers = arena_calloc(arena, member_count, sizeof *builder->barriers);
    builder->orders = arena_calloc(arena, member_count, sizeof *builder->orders);
    builder->accesses = arena_calloc(arena, 2 * count + 1, sizeof *builder->accesses);
    builder->storages = arena_calloc(arena, count + 1, sizeof *builder->storages);
    return builder->maps && builder->stages && builder->first_access && builder->statements &&
           builder->barriers && builder->orders && builder->accesses && builder->storages;
}

static const struct group_joined *joined_of(const struct builder *builder, uint32_t m)
{
    const struct group_join *join = builder->group ? group_join_of(builder->group, m) : NULL;
    return join ? &join->members[m - join->first_member] : NULL;
}

static uint32_t part_of(const struct group_join *join, const struct group_joined *joined, uint32_t loop,
                        uint32_t instruction)
{
    uint32_t part = 0;
    if (!join->chunks || join->chunks[loop] < 2 || !joined->cuts[loop]) return 0;
    while (part + 1 < join->chunks[loop] && instruction >= joined->cuts[loop][part]) part++;
    return part;
}

static struct piece piece_of(const struct builder *builder, uint32_t m, uint32_t instruction)
{
    const struct group_joined *joined = joined_of(builder, m);
    struct piece piece = {0};
    if (!joined) return piece;
    piece.segment = joined->segments[joined->cfg->block_of[instruction]];
    if (piece.segment % 2)
        piece.part = part_of(group_join_of(builder->group, m), joined, piece.segment / 2, instruction);
    return piece;
}

/* { [x...] -> [number, x...] }, and so many coordinates more, all 0. */
static __isl_give isl_map *around(__isl_take isl_map *map, uint32_t number, uint32_t more)
{
    map = isl_map_reset_tuple_id(map, isl_dim_out);
    map = isl_map_insert_dims(map, isl_dim_out, 0, 1);
    map = isl_map_fix_si(map, isl_dim_out, 0, (int)number);
    return isl_map_add_dims(map, isl_dim_out, more);
}

/* The iteration, a coordinate of the instance behind the thread: from 0 in a joined loop, else 0. */
static __isl_give isl_map *with_iteration(__isl_take isl_map *map, bool is_in_loop)
{
    map = isl_map_reset_tuple_id(map, isl_dim_in);
    map = isl_map_add_dims(map, isl_dim_in, 1);
    return is_in_loop ? isl_map_lower_bound_si(map, isl_dim_in, ITERATION, 0)
                      : isl_map_fix_si(map, isl_dim_in, ITERATION, 0);
}

/* Coordinate of a point: the iteration, and so much more. */
static __isl_give isl_map *at_iteration(__isl_take isl_map *map, uint32_t coordinate, uint32_t more)
{
    isl_constraint *same = isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(map)));
    same = isl_constraint_set_coefficient_si(same, isl_dim_out, (int)coordinate, 1);
    same = isl_constraint_set_coefficient_si(same, isl_dim_in, ITERATION, -1);
    same = isl_constraint_set_constant_si(same, -(int)more);
    return isl_map_add_constraint(map, same);
}

static __isl_give isl_map *fix_time(__isl_take isl_map *map, uint32_t component, uint32_t value)
{
    return isl_map_fix_si(map, isl_dim_out, SCHEDULE_PLACE + component, (int)value);
}

static void add_statement(struct builder *builder, uint32_t m, struct piece piece)
{
    const struct access_summary *summary = builder->members[m].summary;
    const struct group_joined *joined = joined_of(builder, m);
    const struct group_join *join = joined ? group_join_of(builder->group, m) : NULL;
    uint32_t number = builder->schedule->check.statement_count++, loop = piece.segment / 2;
    bool is_in_loop = piece.segment % 2,
         is_late = join && !is_in_loop && loop < join->loop_count && joined->is_prologue_delayed[loop];
    uint32_t lag = joined && (is_in_loop || is_late) ? joined->shifts[loop] : 0;
    isl_map *order = around(isl_set_identity(isl_set_copy(summary->threads)), m, ORDER_TIMES);
    order = fix_time(fix_time(with_iteration(order, is_in_loop), 0, piece.segment), 2, piece.part);
    isl_map *images = around(isl_map_reverse(isl_map_copy(builder->maps[m])), 0, TIMES);
    images = fix_time(with_iteration(images, is_in_loop), TIME_STAGE, builder->stages[m]);
    images = fix_time(fix_time(images, TIME_RUN, join ? join->first_member : m), TIME_SEGMENT,
                      piece.segment + is_late);
    images = fix_time(fix_time(images, TIME_PART, piece.part), TIME_MEMBER, m);
    builder->statements[number] =
        (struct check_statement){m,
                                 at_iteration(order, SCHEDULE_PLACE + 1, 0),
                                 {at_iteration(images, SCHEDULE_PLACE + TIME_TURN, lag), NULL}};
    builder->lags[number] = lag;
}

/* The inner loops' counters are left out; of code outside of joined loops, all are. NULL: any byte. */
static __isl_give isl_map *instance_bytes(const struct bound_launch *launch, const struct access *access,
                                          bool is_in_loop)
{
    isl_map *bytes = isl_map_copy(access->relation);
    unsigned count = (unsigned)isl_map_dim(bytes, isl_dim_in), kept = ITERATION + is_in_loop;
    if (count < kept) return isl_map_free(bytes);
    bytes = isl_map_reset_tuple_id(isl_map_project_out(bytes, isl_dim_in, kept, count - kept), isl_dim_in);
    if (!is_in_loop) bytes = with_iteration(bytes, false);
    return overlap_moved(bytes, launch->bindings[access->base].offset);
}

/* Any byte that its base may reach, where the access is not known. */
static __isl_give isl_map *bytes_of(const struct bound_launch *launch, const struct access *access,
                                    bool is_in_loop)
{
    const struct access_base *base = &launch->summary->bases[access->base];
    isl_map *bytes = access->relation ? instance_bytes(launch, access, is_in_loop) : NULL;
    if (bytes || !base->is_bounded) return bytes;
    int64_t offset = launch->bindings[access->base].offset;
    isl_ctx *ctx = isl_set_get_ctx(launch->summary->threads);
    bytes = isl_map_add_dims(isl_map_from_domain(isl_set_copy(launch->summary->threads)), isl_dim_out, 1);
    isl_val *from = isl_val_int_from_si(ctx, base->from + offset - access->width + 1);
    bytes = isl_map_lower_bound_val(with_iteration(bytes, is_in_loop), isl_dim_out, 0, from);
    return isl_map_upper_bound_val(bytes, isl_dim_out, 0, isl_val_int_from_si(ctx, base->to + offset - 1));
}

static void set_access(struct builder *builder, uint32_t m, uint32_t i, uint32_t statement, bool is_in_loop)
{
    const struct bound_launch *launch = &builder->members[m];
    const struct access *access = &launch->summary->accesses[i];
    const struct array_binding *binding = &launch->bindings[access->base];
    unsigned count = access->relation ? (unsigned)isl_map_dim(access->relation, isl_dim_in) : 0;
    bool is_one = count == ITERATION + (unsigned)is_in_loop;
    builder->accesses[builder->first_access[m] + i] =
        (struct check_access){.kind = access->kind,
                              .statement = statement,
                              .position = i,
                              .array = binding->array,
                              .is_plain = binding->is_plain,
                              .bytes = bytes_of(launch, access, is_in_loop),
                              .width = access->width,
                              .is_exact = is_one && access->address_is_exact,
                              .is_certain = access->domain_is_exact,
                              .keeps_order = access->is_uncached_order,
                              .from = CHECK_NONE,
                              .into = CHECK_NONE,
                              .source = CHECK_NONE};
}

/* One thread may make access j after access i, in one instance. */
static bool may_follow(const struct builder *builder, uint32_t m, const struct order *order, uint32_t i,
                       uint32_t j)
{
    const struct access *accesses = builder->members[m].summary->accesses;
    uint32_t a = accesses[i].instruction, b = accesses[j].instruction;
    const struct group_joined *joined = joined_of(builder, m);
    struct piece first = piece_of(builder, m, a), second = piece_of(builder, m, b);
    if (first.segment != second.segment) return first.segment < second.segment;
    if (first.segment % 2 == 0) return order_may_follow(order, a, b);
    uint32_t from = joined->cfg->block_of[a], to = joined->cfg->block_of[b];
    if (from == to && a < b) return true;
    struct arena *arena = builder->schedule->arena;
    unsigned char *seen = arena_calloc(arena, joined->cfg->block_count, 1);
    uint32_t *stack = arena_calloc(arena, joined->cfg->block_count + 1, sizeof *stack);
    if (!seen || !stack) return true;
    order_walk(joined->cfg, from, joined->headers[first.segment / 2], NULL, seen, stack);
    return seen[to];
}

/* By how many come surely first. Accesses in one inner loop have one position: neither comes first. */
static bool find_positions(struct builder *builder, uint32_t m)
{
    const struct access_summary *summary = builder->members[m].summary;
    struct check_access *accesses = &builder->accesses[builder->first_access[m]];
    struct order order;
    if (!order_open(&order, builder->schedule->arena, summary->function)) return false;
    for (uint32_t j = 0; j < summary->access_count; j++) {
        accesses[j].position = 0;
        for (uint32_t i = 0; i < summary->access_count; i++)
            accesses[j].position +=
                may_follow(builder, m, &order, i, j) && !may_follow(builder, m, &order, j, i);
    }
    return true;
}

/* Statements in the order of segments and parts. */
static void add_member(struct builder *builder, uint32_t m)
{
    const struct access_summary *summary = builder->members[m].summary;
    const struct group_join *join = builder->group ? group_join_of(builder->group, m) : NULL;
    struct check_group *check = &builder->schedule->check;
    builder->first_access[m] = check->access_count;
    check->access_count += summary->access_count;
    for (struct piece piece = {0}; piece.segment <= (join ? 2 * join->loop_count : 0); piece.segment++)
        for (piece.part = 0; piece.part < MOST_PARTS; piece.part++) {
            bool is_new = !piece.segment && !piece.part && summary->has_barrier;
            if (is_new) add_statement(builder, m, piece);
            if (is_new)
                builder->barriers[check->barrier_count++] = (struct check_barrier){
                    check->statement_count - 1,
                    isl_map_domain(isl_map_copy(builder->statements[check->statement_count - 1].order))};
            for (uint32_t i = 0; i < summary->access_count; i++) {
                struct piece own = piece_of(builder, m, summary->accesses[i].instruction);
                if (own.segment != piece.segment || own.part != piece.part) continue;
                if (!is_new) add_statement(builder, m, piece);
                is_new = true;
                set_access(builder, m, i, check->statement_count - 1, piece.segment % 2);
            }
        }
}

static const char *finish(struct builder *builder)
{
    struct check_group *check = &builder->schedule->check;
    *check = (struct check_group){.ctx = builder->memo->ctx,
                                  .member_count = builder->member_count,
                                  .orders = builder->orders,
                                  .space = {TIMES, {[TIME_STAGE] = SCHEDULE_BLOCK}},
                                  .statements = builder->statements,
                                  .storages = builder->storages,
                                  .accesses = builder->accesses,
                                  .barriers = builder->barriers};
    memcpy(check->block, builder->block, sizeof check->block);
    for (uint32_t m = 0; m < builder->member_count; m++) {
        builder->orders[m] = (struct schedule_space){.time_count = ORDER_TIMES};
        add_member(builder, m);
        if (!find_positions(builder, m)) return "memory is out";
    }
    return NULL;
}

static void drop_maps(struct builder *builder)
{
    for (uint32_t m = 0; builder->maps && m < builder->member_count; m++) isl_map_free(builder->maps[m]);
}

/* --- What passes in registers, what is left out */
static struct check_access *access_at(const struct builder *builder, uint32_t member, uint32_t instruction)
{
    const struct access_summary *summary = builder->members[member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction)
            return &builder->accesses[builder->first_access[member] + i];
    return NULL;
}

/* { instance of a -> instance of b } that one fused thread runs, in turns so far apart; < 0: in any. */
static __isl_give isl_map *same_thread(const struct builder *builder, const struct check_access *a,
                                       const struct check_access *b, int32_t distance)
{
    uint32_t p = builder->statements[a->statement].member, q = builder->statements[b->statement].member;
    isl_map *link =
        isl_map_apply_range(isl_map_reverse(isl_map_copy(builder->maps[p])), isl_map_copy(builder->maps[q]));
    link = isl_map_reset_tuple_id(isl_map_reset_tuple_id(link, isl_dim_in), isl_dim_out);
    link = isl_map_add_dims(isl_map_add_dims(link, isl_dim_in, 1), isl_dim_out, 1);
    if (distance < 0) return link;
    int more = (int)builder->lags[a->statement] - (int)builder->lags[b->statement] - distance;
    isl_constraint *turns =
        isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(link)));
    turns = isl_constraint_set_coefficient_si(turns, isl_dim_out, ITERATION, 1);
    turns = isl_constraint_set_coefficient_si(turns, isl_dim_in, ITERATION, -1);
    return isl_map_add_constraint(link, isl_constraint_set_constant_si(turns, -more));
}

/* In the first iterations it loads, by an access of its own. */
static void split_load(struct builder *builder, struct check_access *load, uint32_t first)
{
    struct check_access *rest = &builder->accesses[builder->schedule->check.access_count++];
    *rest = *load;
    rest->bytes = isl_map_upper_bound_si(isl_map_copy(load->bytes), isl_dim_in, ITERATION, (int)first - 1);
    load->bytes = isl_map_lower_bound_si(load->bytes, isl_dim_in, ITERATION, (int)first);
}

static bool add_forward(struct builder *builder, const struct group_forward *forward)
{
    struct check_group *check = &builder->schedule->check;
    struct check_access *source = access_at(builder, forward->from_member, forward->from_instruction);
    struct check_access *load = access_at(builder, forward->to_member, forward->to_instruction);
    if (!source || !load || !source->bytes || !load->bytes) return false;
    if (source->into == CHECK_NONE) {
        const char *cells = "{ [l, bz, by, bx, tz, ty, tx, byte] -> [0] }";
        source->into = check->storage_count;
        builder->storages[check->storage_count++] =
            (struct check_storage){true, isl_map_read_from_str(builder->memo->ctx, cells)};
    }
    if (forward->distance) { /* the registers move on: each value has its own */
        struct check_storage *storage = &builder->storages[source->into];
        isl_map_free(storage->cells);
        storage->cells =
            isl_map_read_from_str(builder->memo->ctx, "{ [l, bz, by, bx, tz, ty, tx, byte] -> [byte] }");
    }
    if (forward->first) split_load(builder, load, forward->first);
    load->from = source->into;
    load->source = (uint32_t)(source - builder->accesses);
    load->to_source = same_thread(builder, load, source, (int32_t)forward->distance);
    return true;
}

/* Each byte that the store touches is one that the other begins at, in the same thread. */
static bool overwrites(const struct check_access *store, const struct check_access *later,
                       __isl_keep isl_map *link)
{
    isl_map *bytes = isl_map_apply_range(isl_map_copy(link), isl_map_copy(later->bytes));
    bool is_same = isl_map_is_subset(store->bytes, bytes) == isl_bool_true;
    isl_map_free(bytes);
    return is_same;
}

static bool is_behind(const struct builder *builder, const struct check_access *later,
                      const struct check_access *store)
{
    uint32_t p = builder->statements[store->statement].member,
             q = builder->statements[later->statement].member;
    return q > p || (q == p && later->statement == store->statement && later->position > store->position);
}

static bool add_drop(struct builder *builder, const struct group_drop *drop)
{
    struct check_access *store = access_at(builder, drop->member, drop->instruction);
    if (!store || !store->bytes) return false;
    store->is_left_out = true;
    for (uint32_t i = 0; i < builder->schedule->check.access_count; i++) {
        struct check_access *later = &builder->accesses[i];
        if (later->kind != ACCESS_WRITE || later->array != store->array || later->width < store->width ||
            !later->is_exact || !later->is_certain || !is_behind(builder, later, store))
            continue;
        isl_map *link = later->bytes ? same_thread(builder, store, later, -1) : NULL;
        if (link && !later->is_left_out && overwrites(store, later, link)) {
            isl_map *bytes =
                isl_map_apply_range(isl_map_copy(store->bytes), isl_map_reverse(isl_map_copy(later->bytes)));
            store->source = (uint32_t)(later - builder->accesses);
            store->to_source = isl_map_intersect(link, bytes);
            return true;
        }
        isl_map_free(link);
    }
    return true; /* nothing overwrites it: the test shall say so */
}

static const char *pass_values(struct builder *builder, const struct group *group)
{
    for (uint32_t i = 0; i < group->forward_count; i++)
        if (!add_forward(builder, &group->forwards[i])) return "a value that passes has no access";
    for (uint32_t i = group->drop_count; i; i--) /* later ones first */
        if (!add_drop(builder, &group->drops[i - 1])) return "a store that is left out has no access";
    return NULL;
}

/* --- Of a group */
static const char *kind_untold(const struct group *group)
{
    if (group->refusal) return "refused";
    if (group->stage_count) return "halo";
    if (group->last_first) return "last block";
    if (group->is_inter_block) return "blocks of their own";
    if (group->tile_access_count) return "tiles of blocks";
    for (uint32_t m = 0; m < group->member_count; m++) {
        if (group->remaps[m].kind == REMAP_COARSENED) return "coarsened blocks";
        if (group->expansions && group->expansions[m]) return "iterations as threads";
    }
    return NULL;
}

static __isl_give isl_map *map_of(const struct builder *builder, const struct remap *remap, uint32_t m)
{
    if (remap->kind == REMAP_AFFINE)
        return remap->coordinates ? isl_map_from_pw_multi_aff(isl_pw_multi_aff_copy(remap->coordinates))
                                  : NULL;
    return remap_relation(builder->memo, remap->kind, builder->grid, builder->block,
                          builder->members[m].summary);
}

/* Threads that have left a member with divergent exits wait for the others, if all blocks of the group run it. */
static bool ends_with_barrier(const struct group *group, uint32_t m)
{
    const struct access_summary *summary = group->members[m].summary;
    return summary->is_exit_divergent && !memcmp(summary->grid, group->grid, sizeof group->grid);
}

static const char *build(struct builder *builder, const struct group *group)
{
    uint32_t stage = 0;
    builder->group = group;
    memcpy(builder->grid, group->grid, sizeof builder->grid);
    memcpy(builder->block, group->block, sizeof builder->block);
    for (uint32_t m = 0; m < group->member_count; m++) {
        stage += group->barriers && group->barriers[m];
        builder->stages[m] = stage;
        builder->maps[m] = map_of(builder, &group->remaps[m], m);
        if (!builder->maps[m]) return "no map";
        stage += ends_with_barrier(group, m);
    }
    const char *why = finish(builder);
    return why ? why : pass_values(builder, group);
}

struct group_schedule group_schedule_open(struct memo *memo, const struct group *group)
{
    struct group_schedule schedule = {.arena = arena_create(), .untold = kind_untold(group)};
    struct builder builder;
    if (schedule.untold) return schedule;
    if (!schedule.arena || !builder_open(&builder, &schedule, memo, group->members, group->member_count)) {
        schedule.untold = "memory is out";
        return schedule;
    }
    schedule.untold = build(&builder, group);
    drop_maps(&builder);
    return schedule;
}

/* --- Of any launches */
static __isl_give isl_map *first_map(const struct builder *builder, uint32_t m)
{
    static const enum remap_kind kinds[] = {REMAP_SAME, REMAP_GLOBAL, REMAP_LINEAR, REMAP_STRIDE};
    isl_map *map = NULL;
    for (uint32_t i = 0; !map && i < sizeof kinds / sizeof kinds[0]; i++)
        map = remap_relation(builder->memo, kinds[i], builder->grid, builder->block,
                             builder->members[m].summary);
    return map;
}

static const char *propose(struct builder *builder)
{
    const struct access_summary *largest = builder->members[0].summary;
    for (uint32_t m = 0; m < builder->member_count; m++) {
        const struct access_summary *summary = builder->members[m].summary;
        if (summary->refusal || summary->no_member || summary->whole_block) return "a member that cannot be";
        if (remap_threads(summary->grid, summary->block) > remap_threads(largest->grid, largest->block))
            largest = summary;
    }
    memcpy(builder->grid, largest->grid, sizeof builder->grid);
    memcpy(builder->block, largest->block, sizeof builder->block);
    for (uint32_t m = 0; m < builder->member_count; m++) {
        builder->stages[m] = m;
        builder->maps[m] = first_map(builder, m);
        if (!builder->maps[m]) return "no map";
    }
    return finish(builder);
}

struct group_schedule group_schedule_propose(struct memo *memo, const struct bound_launch *members,
                                             uint32_t member_count)
{
    struct group_schedule schedule = {.arena = arena_create()};
    struct builder builder;
    if (!schedule.arena || !builder_open(&builder, &schedule, memo, members, member_count)) {
        schedule.untold = "memory is out";
        return schedule;
    }
    schedule.untold = propose(&builder);
    drop_maps(&builder);
    return schedule;
}

void group_schedule_close(struct group_schedule *schedule)
{
    const struct check_group *check = &schedule->check;
    for (uint32_t i = 0; i < check->statement_count; i++) {
        isl_map_free(check->statements[i].order);
        isl_map_free(check->statements[i].schedule.images);
    }
    for (uint32_t i = 0; i < check->access_count; i++) {
        isl_map_free(check->accesses[i].bytes);
        isl_map_free(check->accesses[i].to_source);
    }
    for (uint32_t i = 0; i < check->storage_count; i++) isl_map_free(check->storages[i].cells);
    for (uint32_t i = 0; i < check->barrier_count; i++) isl_set_free(check->barriers[i].instances);
    arena_free(schedule->arena);
    *schedule = (struct group_schedule){0};
}
