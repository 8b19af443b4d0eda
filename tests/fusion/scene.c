/* SPDX-License-Identifier: Apache-2.0
 * See scene.h. Relations are written as isl's text. What makes a scene wrong is drawn with it: a border, a ring, a turn, a
 * barrier or an owner that is too little, or a member before another. */
#include "tests/fusion/scene.h"

#include <isl/set.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const scene_names[SCENE_KINDS] = {"any", "served", "halo", "march", "carry"};

/* --- drawing */
static uint32_t draw(struct scene *scene, uint32_t count)
{
    uint64_t x = scene->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) >> 33) % count;
}

static bool chance(struct scene *scene, uint32_t percent)
{
    return draw(scene, 100) < percent;
}

static __attribute__((format(printf, 2, 3))) isl_map *map_of(isl_ctx *ctx, const char *format, ...)
{
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    isl_map *map = isl_map_read_from_str(ctx, text);
    if (!map) {
        fprintf(stderr, "no relation: %s\n", text);
        abort();
    }
    return map;
}

/* --- parts of a group */
static struct check_statement *add_statement(struct scene *scene, uint32_t member, isl_map *order,
                                             isl_map *images, isl_map *owners)
{
    struct check_statement *statement = &scene->statements[scene->group.statement_count++];
    *statement = (struct check_statement){member, order, {images, owners}};
    return statement;
}

static struct check_access *add_access(struct scene *scene, enum access_kind kind, uint32_t array,
                                       isl_map *bytes)
{
    uint32_t statement = scene->group.statement_count - 1;
    struct check_access *access = &scene->accesses[scene->group.access_count++];
    *access = (struct check_access){.kind = kind,
                                    .statement = statement,
                                    .position = scene->group.access_count,
                                    .array = array,
                                    .is_plain = true,
                                    .bytes = bytes,
                                    .width = 2,
                                    .is_exact = true,
                                    .is_certain = true,
                                    .from = CHECK_NONE,
                                    .into = CHECK_NONE,
                                    .source = CHECK_NONE};
    return access;
}

static uint32_t add_storage(struct scene *scene, bool is_of_thread, isl_map *cells)
{
    scene->storages[scene->group.storage_count] = (struct check_storage){is_of_thread, cells};
    return scene->group.storage_count++;
}

/* { instance of a -> instance of b at the same byte } */
static isl_map *link_of(const struct check_access *a, const struct check_access *b)
{
    return isl_map_apply_range(isl_map_copy(a->bytes), isl_map_reverse(isl_map_copy(b->bytes)));
}

/* The load is served where the source has its bytes; where it has not, the load is another access, which reads memory. */
static void serve(struct scene *scene, uint32_t load, uint32_t source, uint32_t storage)
{
    if (scene->group.access_count == SCENE_ACCESSES) return;
    struct check_access *access = &scene->accesses[load];
    struct check_access wrong = *access;
    bool is_wrong = chance(scene, 1);
    if (is_wrong) wrong.bytes = map_of(scene->group.ctx, "{ [y] -> [y + 2] }");
    if (is_wrong) wrong.bytes = isl_map_apply_range(isl_map_copy(access->bytes), wrong.bytes);
    isl_map *link = link_of(&wrong, &scene->accesses[source]);
    if (is_wrong) isl_map_free(wrong.bytes);
    isl_set *linked = isl_map_domain(isl_map_copy(link));
    isl_map *rest = isl_map_subtract_domain(isl_map_copy(access->bytes), isl_set_copy(linked));
    if (isl_map_is_empty(rest) != isl_bool_true) {
        struct check_access *other = &scene->accesses[scene->group.access_count++];
        *other = *access;
        other->bytes = isl_map_copy(rest);
        other->to_source = NULL;
    }
    isl_map_free(rest);
    access->bytes = isl_map_intersect_domain(access->bytes, linked);
    access->from = storage;
    access->source = source;
    access->to_source = link;
    scene->accesses[source].into = storage;
}

/* --- SCENE_ANY, SCENE_SERVED */
enum { BLOCKS = 3, THREADS = 4, TURNS = 3 };
struct launch {
    uint32_t blocks, threads, turns;
    bool has_rows; /* each thread has a row of its own */
};

static void write_element(struct scene *scene, const struct launch *launch, char *text, size_t size)
{
    int global = (int)launch->threads, all = global * (int)launch->blocks;
    int shift = chance(scene, 40) ? (int)draw(scene, 3) - 1 : 0;
    switch (launch->has_rows ? 8 : draw(scene, 10)) {
    case 8:
    case 9:
        snprintf(text, size, "%d*(%d b + t) + i + %d", (int)launch->turns + 1, global, shift);
        break;
    case 0:
    case 1:
    case 2:
        snprintf(text, size, "%d b + t + %d", global, shift);
        break;
    case 3:
        snprintf(text, size, "%d b + t + %d i + %d", global, all, shift);
        break;
    case 4:
        snprintf(text, size, "%d - %d b - t", all - 1, global);
        break;
    case 5:
        snprintf(text, size, "%d b + t + i + %d", global, shift);
        break;
    case 6:
        snprintf(text, size, "b + %d", shift);
        break;
    default:
        snprintf(text, size, "%d t + b", (int)launch->blocks);
    }
}

static void draw_access(struct scene *scene, const struct launch *launch)
{
    static const char *const guards[] = {"", " and t >= 1", " and b = 0", " and i >= 1", " and t + b < 3"};
    char element[100];
    write_element(scene, launch, element, sizeof element);
    uint32_t roll = draw(scene, 100);
    enum access_kind kind = roll < 50 ? ACCESS_READ : roll < 93 ? ACCESS_WRITE : ACCESS_ATOMIC;
    isl_map *bytes =
        map_of(scene->group.ctx,
               "{ [b, t, i] -> [y] : y = 2*(%s) + %u and 0 <= b < %u and 0 <= t < %u and 0 <= i < %u%s }",
               element, chance(scene, 8) ? 1 : 0, launch->blocks, launch->threads, launch->turns,
               chance(scene, 25) ? guards[draw(scene, 5)] : "");
    struct check_access *access = add_access(scene, kind, launch->has_rows ? 0 : draw(scene, 3), bytes);
    access->is_exact = !chance(scene, 5);
    access->is_certain = !chance(scene, 3);
    access->keeps_order = chance(scene, 2);
}

struct plan { /* of a schedule */
    uint32_t style, blocks, threads;
    int rank[SCENE_MEMBERS], lag[SCENE_MEMBERS]; /* which member comes first; turns that it is late */
};

static void draw_plan(struct scene *scene, struct plan *plan, uint32_t members, const struct launch *launches)
{
    enum schedule_barrier kinds[] = {SCHEDULE_NONE, SCHEDULE_BLOCK, SCHEDULE_BLOCK, SCHEDULE_GRID};
    uint32_t most = 1;
    plan->style = draw(scene, 6);
    plan->threads = chance(scene, 60) ? launches[0].threads : 1 + draw(scene, THREADS);
    for (uint32_t m = 0; m < members; m++) {
        uint32_t all = launches[m].blocks * launches[m].threads;
        most = all > most ? all : most;
        plan->rank[m] = (int)m;
        plan->lag[m] = chance(scene, 30) ? (int)draw(scene, 3) - 1 : 0;
    }
    plan->blocks = chance(scene, 70) ? (most + plan->threads - 1) / plan->threads : 1 + draw(scene, BLOCKS);
    if (members > 1 && chance(scene, 8)) plan->rank[0] = 1, plan->rank[1] = 0;
    scene->group.space = (struct schedule_space){.time_count = 3};
    for (int k = 0; k < 3; k++)
        scene->group.space.barriers[k] = kinds[chance(scene, 60) ? 0 : draw(scene, 4)];
    scene->group.block[0] = plan->threads, scene->group.block[1] = scene->group.block[2] = 1;
}

/* Of a loop's body, or of what is behind it. */
static void write_iteration(const struct launch *launch, bool is_behind, bool is_reversed, char *text,
                            size_t size)
{
    if (is_reversed)
        snprintf(text, size, "%u - i", launch->turns);
    else if (is_behind)
        snprintf(text, size, "%u", launch->turns);
    else
        snprintf(text, size, "i");
}

/* { [b, t, i] -> F } */
static isl_map *draw_images(struct scene *scene, const struct plan *plan, uint32_t m,
                            const struct launch *launch, bool is_behind)
{
    char point[300], time[100], iteration[20];
    uint32_t all = plan->blocks * plan->threads;
    write_iteration(launch, is_behind, chance(scene, 15), iteration, sizeof iteration);
    switch (plan->style) {
    case 0:
    case 1:
        snprintf(time, sizeof time, "%d, %s, r", plan->rank[m], iteration);
        break;
    case 2:
        snprintf(time, sizeof time, "%s + %d, %d, r", iteration, plan->lag[m], plan->rank[m]);
        break;
    case 3:
        snprintf(time, sizeof time, "%s + %d, r, %d", iteration, plan->rank[m], plan->rank[m]);
        break;
    case 4:
        snprintf(time, sizeof time, "%d, r, %s", plan->rank[m], iteration);
        break;
    default:
        snprintf(time, sizeof time, "r, %d, %s", plan->rank[m], iteration);
    }
    int l = plan->style == 5 ? plan->rank[m] / 2 : 0;
    bool is_same = launch->threads == plan->threads && launch->blocks <= plan->blocks;
    uint32_t way = draw(scene, 10);
    if (is_same && way < 6)
        snprintf(point, sizeof point, "[%d, 0, 0, b, 0, 0, t, %s] : r = 0 and ", l, time);
    else if (is_same && way < 7)
        snprintf(point, sizeof point, "[%d, 0, 0, b, 0, 0, %u - t, %s] : r = 0 and ", l, plan->threads - 1,
                 time);
    else
        snprintf(point, sizeof point,
                 "[%d, 0, 0, B, 0, 0, T, %s] : exists g : g = %u b + t and g = %u B + T + %u r and 0 <= B < "
                 "%u and "
                 "0 <= T < %u and ",
                 l, time, launch->threads, plan->threads, all, plan->blocks, plan->threads);
    return map_of(scene->group.ctx, "{ [b, t, i] -> %s0 <= b < %u and 0 <= t < %u and 0 <= i < %u }", point,
                  launch->blocks, launch->threads, is_behind ? 1 : launch->turns);
}

static isl_map *draw_order(struct scene *scene, uint32_t m, const struct launch *launch, bool is_behind)
{
    char iteration[20];
    write_iteration(launch, is_behind, false, iteration, sizeof iteration);
    return map_of(scene->group.ctx,
                  "{ [b, t, i] -> [%u, 0, 0, b, 0, 0, t, %s] : 0 <= b < %u and 0 <= t < %u and 0 <= i < %u }",
                  m, iteration, launch->blocks, launch->threads, is_behind ? 1 : launch->turns);
}

static void add_own_barrier(struct scene *scene, uint32_t statement)
{
    isl_set *instances = isl_map_domain(isl_map_copy(scene->statements[statement].order));
    scene->barriers[scene->group.barrier_count++] = (struct check_barrier){statement, instances};
}

static void draw_member(struct scene *scene, const struct plan *plan, uint32_t m, const struct launch *launch)
{
    bool has_barrier = chance(scene, 25), has_end = chance(scene, 15);
    struct launch body = *launch;
    body.has_rows = launch->turns > 1 && chance(scene, 30);
    scene->orders[m] = (struct schedule_space){1, {has_barrier ? SCHEDULE_BLOCK : SCHEDULE_NONE}};
    for (int end = 0; end <= has_end; end++) {
        add_statement(scene, m, draw_order(scene, m, launch, end), draw_images(scene, plan, m, launch, end),
                      NULL);
        struct launch own = body;
        if (end) own.turns = 1;
        for (uint32_t n = 1 + draw(scene, end ? 1 : 3); n; n--) draw_access(scene, &own);
        if (has_barrier && !end) add_own_barrier(scene, scene->group.statement_count - 1);
    }
}

static isl_map *draw_cells(struct scene *scene)
{
    isl_ctx *ctx = scene->group.ctx;
    switch (draw(scene, 4)) {
    case 0:
        return map_of(ctx, "{ [l, bz, by, bx, tz, ty, tx, y] -> [0] }");
    case 1:
        return map_of(ctx,
                      "{ [l, bz, by, bx, tz, ty, tx, y] -> [c] : exists e : c = y - %u e and 0 <= c < %u }",
                      2 * (2 + draw(scene, 3)), 4 + 2 * draw(scene, 4));
    default:
        return map_of(ctx, "{ [l, bz, by, bx, tz, ty, tx, y] -> [y] }");
    }
}

/* Where their instances are the same, the second may touch what the first does. */
static void draw_same(struct scene *scene, const struct check_access *first, struct check_access *second)
{
    isl_set *a = isl_map_domain(isl_map_copy(scene->statements[first->statement].order));
    isl_set *b = isl_map_domain(isl_map_copy(scene->statements[second->statement].order));
    bool is_same = isl_set_is_equal(a, b) == isl_bool_true;
    isl_set_free(a);
    isl_set_free(b);
    if (!is_same || second->to_source || chance(scene, 40)) return;
    isl_map_free(second->bytes);
    second->bytes = isl_map_copy(first->bytes);
    second->array = first->array;
}

static void draw_served(struct scene *scene)
{
    uint32_t count = scene->group.access_count;
    for (uint32_t tries = 0; tries < 6; tries++) {
        uint32_t a = draw(scene, count), b = draw(scene, count);
        struct check_access *first = &scene->accesses[a], *second = &scene->accesses[b];
        bool is_odd = chance(scene, 30);
        if (a == b || (a > b && !is_odd) || first->kind == ACCESS_ATOMIC || second->kind == ACCESS_ATOMIC)
            continue;
        if (first->to_source || first->into != CHECK_NONE || second->into != CHECK_NONE) continue;
        draw_same(scene, first, second);
        if (first->array != second->array) continue;
        if (first->from != CHECK_NONE || second->from != CHECK_NONE || first->is_left_out ||
            second->is_left_out)
            continue;
        if (second->kind == ACCESS_READ && first->into == CHECK_NONE &&
            scene->group.storage_count < SCENE_STORAGES) {
            serve(scene, b, a, add_storage(scene, chance(scene, 50), draw_cells(scene)));
        } else if (second->kind == ACCESS_WRITE && first->kind == ACCESS_WRITE) {
            first->is_left_out = true;
            first->source = b;
            first->to_source = link_of(first, second);
        }
    }
}

static void draw_any(struct scene *scene, bool is_served)
{
    struct launch launches[SCENE_MEMBERS];
    struct plan plan;
    uint32_t members = 1 + draw(scene, 3);
    for (uint32_t m = 0; m < members; m++) {
        bool is_alike = m && chance(scene, 70);
        launches[m] = is_alike ? launches[0]
                               : (struct launch){1 + draw(scene, BLOCKS), 1 + draw(scene, THREADS),
                                                 chance(scene, 50) ? 1 : 1 + draw(scene, TURNS), false};
    }
    draw_plan(scene, &plan, members, launches);
    scene->group.member_count = members;
    for (uint32_t m = 0; m < members; m++) draw_member(scene, &plan, m, &launches[m]);
    if (is_served) draw_served(scene);
}

/* --- Stencils. p stores A at each cell, q loads A at the cell and beside it, and stores C. */
static isl_map *cells_order(struct scene *scene, uint32_t m, uint32_t planes, uint32_t cells)
{
    return map_of(scene->group.ctx,
                  "{ [z, x] -> [%u, 0, 0, B, 0, 0, T, 0] : 0 <= z < %u and 0 <= x < %u and 2 B + T = %u z + "
                  "x and 0 <= T < 2 }",
                  m, planes, cells, cells);
}

/* The same with a loop over the planes. */
static isl_map *loop_order(struct scene *scene, uint32_t m, uint32_t planes, uint32_t cells)
{
    return map_of(scene->group.ctx,
                  "{ [z, x] -> [%u, 0, 0, B, 0, 0, T, z] : 0 <= z < %u and 0 <= x < %u and 2 B + T = x and 0 "
                  "<= T < 2 }",
                  m, planes, cells);
}

static isl_map *cells_bytes(struct scene *scene, uint32_t planes, uint32_t cells, int dz, int dx)
{
    return map_of(
        scene->group.ctx,
        "{ [z, x] -> [2*(%u*(z + %d) + x + %d)] : 0 <= z < %u and 0 <= x < %u and 0 <= z + %d < %u and "
        "0 <= x + %d < %u }",
        cells, dz, dx, planes, cells, dz, planes, dx, cells);
}

struct tiling {
    uint32_t planes, cells, tile; /* cells of a tile along x */
    int border;                   /* of p, in the code */
    bool is_marching;
    int rate, stage, shift; /* marching: the phase is rate * (z + shift) + stage */
};

/* A member with that border; of a halo, its stage is its time. */
static isl_map *tile_images(struct scene *scene, const struct tiling *tiling, int border, int stage,
                            int shift, int from)
{
    char time[100];
    if (tiling->is_marching)
        snprintf(time, sizeof time, "%d*(z + %d) + %d, %d", tiling->rate, shift, stage, stage);
    else
        snprintf(time, sizeof time, "%d, z", stage);
    return map_of(scene->group.ctx,
                  "{ [z, x] -> [0, 0, 0, B, 0, 0, T, %s] : 0 <= z < %u and 0 <= x < %u and 0 <= B < %u and "
                  "%u B - %d <= x < %u B + %u + %d and T = x - %u B + %d }",
                  time, tiling->planes, tiling->cells, (tiling->cells + tiling->tile - 1) / tiling->tile,
                  tiling->tile, border, tiling->tile, tiling->tile, border, tiling->tile, from);
}

static isl_map *draw_owners(struct scene *scene, const struct tiling *tiling, int stage, int shift)
{
    uint32_t roll = draw(scene, 100);
    int border = tiling->border;
    if (roll < 4) return NULL;
    if (roll < 8) { /* the last block owns nothing */
        isl_map *owners = tile_images(scene, tiling, 0, stage, shift, border);
        return isl_map_upper_bound_si(owners, isl_dim_out, SCHEDULE_FIRST_BLOCK + 2, 0);
    }
    if (roll < 11) return tile_images(scene, tiling, 1, stage, shift, border);
    return tile_images(scene, tiling, 0, stage, shift, border);
}

static isl_map *tile_cells(struct scene *scene, const struct tiling *tiling, bool is_ring, uint32_t slots)
{
    isl_ctx *ctx = scene->group.ctx;
    if (is_ring)
        return map_of(
            ctx,
            "{ [l, bz, by, bx, tz, ty, tx, y] -> [s, x] : exists e, z : y = 2*(%u z + x) and 0 <= x < %u and "
            "z = %u e + s and 0 <= s < %u }",
            tiling->cells, tiling->cells, slots, slots);
    if (chance(scene, 6))
        return map_of(ctx,
                      "{ [l, bz, by, bx, tz, ty, tx, y] -> [c] : exists e : c = y - %u e and 0 <= c < %u }",
                      2 * slots, 2 * slots);
    return map_of(ctx, "{ [l, bz, by, bx, tz, ty, tx, y] -> [y - %u bx] }", 2 * tiling->tile);
}

/* p, q, and perhaps a member that overwrites A. */
static void draw_stencil(struct scene *scene, bool is_marching)
{
    struct tiling tiling = {.planes = is_marching ? 3 + draw(scene, 3) : 1,
                            .cells = is_marching ? 3 + draw(scene, 3) : 4 + draw(scene, 6),
                            .tile = 2 + draw(scene, 3),
                            .is_marching = is_marching};
    int needed = 1, reach = is_marching ? (int)draw(scene, 2) : 1;
    needed = is_marching ? reach : 1;
    tiling.border = chance(scene, 80) ? needed : (int)draw(scene, 3);
    tiling.rate = 1 + (int)draw(scene, 2);
    int late = is_marching ? (chance(scene, 80) ? 1 : (int)draw(scene, 3)) : 0;
    uint32_t slots = is_marching ? 2 + draw(scene, 4) : 2 + draw(scene, 8);
    bool has_rewriter = chance(scene, 30), in_place = chance(scene, 5);
    scene->group.member_count = has_rewriter ? 3 : 2;
    for (int m = 0; m < 3; m++) scene->orders[m] = (struct schedule_space){1, {SCHEDULE_NONE}};
    scene->group.space = (struct schedule_space){2, {chance(scene, 92) ? SCHEDULE_BLOCK : SCHEDULE_NONE}};
    scene->group.block[0] = tiling.tile + 2 * (uint32_t)tiling.border;
    scene->group.block[1] = scene->group.block[2] = 1;
    add_statement(scene, 0, cells_order(scene, 0, tiling.planes, tiling.cells),
                  tile_images(scene, &tiling, tiling.border, 0, 0, tiling.border),
                  draw_owners(scene, &tiling, 0, 0));
    add_access(scene, ACCESS_READ, 1,
               cells_bytes(scene, tiling.planes, tiling.cells, 0, chance(scene, 30) ? 1 : 0));
    add_access(scene, ACCESS_WRITE, 0, cells_bytes(scene, tiling.planes, tiling.cells, 0, 0));
    if (chance(scene, 5)) /* what p loads, at any time */
        add_access(scene, ACCESS_WRITE, 1, cells_bytes(scene, tiling.planes, tiling.cells, 0, 1));
    if (chance(scene, 4))
        add_access(scene, ACCESS_ATOMIC, 3, cells_bytes(scene, tiling.planes, tiling.cells, 0, 0));
    int stage = chance(scene, 95) ? 1 : 0;
    add_statement(scene, 1, cells_order(scene, 1, tiling.planes, tiling.cells),
                  tile_images(scene, &tiling, 0, stage, late, tiling.border), NULL);
    uint32_t first = scene->group.access_count;
    for (int d = -1; d < 2; d++)
        add_access(scene, ACCESS_READ, 0, cells_bytes(scene, tiling.planes, tiling.cells, 0, d * reach));
    for (int d = -1; is_marching && d < 2; d += 2)
        add_access(scene, ACCESS_READ, 0, cells_bytes(scene, tiling.planes, tiling.cells, d, 0));
    uint32_t end = scene->group.access_count;
    add_access(scene, ACCESS_WRITE, in_place ? 1 : 2, cells_bytes(scene, tiling.planes, tiling.cells, 0, 0));
    uint32_t storage = add_storage(scene, chance(scene, 4), tile_cells(scene, &tiling, is_marching, slots));
    for (uint32_t load = first; load < end; load++)
        if (!chance(scene, 3)) serve(scene, load, 1, storage);
    if (!has_rewriter) return;
    add_statement(scene, 2, cells_order(scene, 2, tiling.planes, tiling.cells),
                  tile_images(scene, &tiling, 0, chance(scene, 90) ? 2 : 0, late + 1, tiling.border), NULL);
    uint32_t rewriter = scene->group.access_count;
    add_access(scene, ACCESS_WRITE, 0,
               cells_bytes(scene, tiling.planes, chance(scene, 90) ? tiling.cells : tiling.cells - 1, 0, 0));
    if (!chance(scene, 60)) return;
    scene->accesses[1].is_left_out = true;
    scene->accesses[1].source = rewriter;
    scene->accesses[1].to_source = link_of(&scene->accesses[1], &scene->accesses[rewriter]);
}

/* One member marches over planes; each thread keeps what it has loaded in registers that move on. */
static void draw_carry(struct scene *scene)
{
    struct tiling tiling = {
        .planes = 3 + draw(scene, 4), .cells = 2 + draw(scene, 3), .tile = 2, .is_marching = true, .rate = 1};
    uint32_t ahead = draw(scene, 2), slots = 1 + draw(scene, 4);
    bool in_place = chance(scene, 25), has_writer = chance(scene, 30), is_loop = chance(scene, 50);
    isl_ctx *ctx = scene->group.ctx;
    scene->group.member_count = 1 + has_writer;
    for (int m = 0; m < 2; m++) scene->orders[m] = (struct schedule_space){1, {SCHEDULE_NONE}};
    scene->group.space = (struct schedule_space){2, {chance(scene, 50) ? SCHEDULE_BLOCK : SCHEDULE_NONE}};
    scene->group.block[0] = tiling.tile, scene->group.block[1] = scene->group.block[2] = 1;
    if (has_writer) {
        add_statement(scene, 0, cells_order(scene, 0, tiling.planes, tiling.cells),
                      tile_images(scene, &tiling, 0, 0, chance(scene, 80) ? -2 : 0, 0), NULL);
        add_access(scene, ACCESS_WRITE, 0, cells_bytes(scene, tiling.planes, tiling.cells, 0, 0));
    }
    add_statement(scene, has_writer,
                  (is_loop ? loop_order : cells_order)(scene, has_writer, tiling.planes, tiling.cells),
                  tile_images(scene, &tiling, 0, 1, 0, 0), NULL);
    uint32_t filler = scene->group.access_count;
    add_access(scene, ACCESS_READ, 0, cells_bytes(scene, tiling.planes, tiling.cells, (int)ahead, 0));
    add_access(scene, ACCESS_READ, 0, cells_bytes(scene, tiling.planes, tiling.cells, (int)ahead - 1, 0));
    add_access(scene, ACCESS_READ, 0, cells_bytes(scene, tiling.planes, tiling.cells, (int)ahead - 2, 0));
    add_access(scene, ACCESS_WRITE, in_place ? 0 : 2,
               cells_bytes(scene, tiling.planes, tiling.cells, in_place && chance(scene, 50) ? -1 : 0, 0));
    uint32_t storage = add_storage(scene, chance(scene, 90),
                                   map_of(ctx,
                                          "{ [l, bz, by, bx, tz, ty, tx, y] -> [s, x] : exists e, z : y = "
                                          "2*(%u z + x) and 0 <= x < %u and z = %u e + s and 0 <= s < %u }",
                                          tiling.cells, chance(scene, 95) ? tiling.cells : 1, slots, slots));
    serve(scene, filler + 1, filler, storage);
    serve(scene, filler + 2, filler, storage);
}

void scene_draw(struct scene *scene, isl_ctx *ctx, enum scene_kind kind, uint64_t seed)
{
    memset(scene, 0, sizeof *scene);
    scene->state = seed * SCENE_KINDS + kind;
    scene->group = (struct check_group){.ctx = ctx,
                                        .orders = scene->orders,
                                        .statements = scene->statements,
                                        .accesses = scene->accesses,
                                        .storages = scene->storages,
                                        .barriers = scene->barriers};
    switch (kind) {
    case SCENE_ANY:
    case SCENE_SERVED:
        draw_any(scene, kind == SCENE_SERVED);
        break;
    case SCENE_HALO:
    case SCENE_MARCH:
        draw_stencil(scene, kind == SCENE_MARCH);
        break;
    case SCENE_CARRY:
        draw_carry(scene);
        break;
    case SCENE_KINDS:
        break;
    }
}

void scene_close(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->group.statement_count; i++) {
        isl_map_free(scene->statements[i].order);
        isl_map_free(scene->statements[i].schedule.images);
        isl_map_free(scene->statements[i].schedule.owners);
    }
    for (uint32_t i = 0; i < scene->group.access_count; i++) {
        isl_map_free(scene->accesses[i].bytes);
        isl_map_free(scene->accesses[i].to_source);
    }
    for (uint32_t i = 0; i < scene->group.storage_count; i++) isl_map_free(scene->storages[i].cells);
    for (uint32_t i = 0; i < scene->group.barrier_count; i++) isl_set_free(scene->barriers[i].instances);
    memset(scene, 0, sizeof *scene);
}

static void print_map(FILE *out, const char *name, isl_map *map)
{
    char *text = map ? isl_map_to_str(map) : NULL;
    if (text) fprintf(out, "    %s %s\n", name, text);
    free(text);
}

void scene_print(FILE *out, const struct scene *scene)
{
    const struct check_group *group = &scene->group;
    fprintf(out, "  barriers of time");
    for (uint32_t k = 0; k < group->space.time_count; k++) fprintf(out, " %d", (int)group->space.barriers[k]);
    fprintf(out, ", block of %u\n", group->block[0]);
    for (uint32_t i = 0; i < group->statement_count; i++) {
        fprintf(out, "  statement %u of member %u, its barriers %d\n", i, group->statements[i].member,
                (int)group->orders[group->statements[i].member].barriers[0]);
        print_map(out, "order", group->statements[i].order);
        print_map(out, "images", group->statements[i].schedule.images);
        print_map(out, "owners", group->statements[i].schedule.owners);
    }
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct check_access *access = &group->accesses[i];
        fprintf(out, "  access %u of statement %u: %s array %u%s%s%s from %d into %d source %d\n", i,
                access->statement,
                access->kind == ACCESS_READ    ? "loads"
                : access->kind == ACCESS_WRITE ? "stores"
                                               : "atomic",
                access->array, access->is_left_out ? " left out" : "", access->is_exact ? "" : " inexact",
                access->keeps_order ? " keeps order" : "", (int)access->from, (int)access->into,
                (int)access->source);
        print_map(out, "bytes", access->bytes);
        print_map(out, "to source", access->to_source);
    }
    for (uint32_t i = 0; i < group->storage_count; i++)
        print_map(out, group->storages[i].is_of_thread ? "register" : "tile", group->storages[i].cells);
}
