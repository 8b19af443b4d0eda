/* SPDX-License-Identifier: Apache-2.0
 * The legality test on schedules of the size that programs have: a pair of 7-point stencils on 400^3, in overlapped tiles
 * and marching with a ring of planes. KFUSE_TEST_TIMES prints milliseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/check.h"

#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOADS = 7 };

struct pair { /* p stores B at each cell, q loads it at the cell and its six neighbours */
    struct check_group group;
    struct schedule_space orders[2];
    struct check_statement statements[2];
    struct check_storage storage;
    struct check_access accesses[3 + LOADS];
};
struct tiling {
    bool is_marching;
    int border, barriers, ring, shift; /* barriers: of a turn; shift: turns that q is late */
};

static __attribute__((format(printf, 2, 3))) isl_map *map_of(isl_ctx *ctx, const char *format, ...)
{
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    isl_map *map = isl_map_read_from_str(ctx, text);
    if (!map) fail_msg("no relation: %s", text);
    return map;
}

static isl_map *order_of(isl_ctx *ctx, int member)
{
    return map_of(ctx,
                  "{ [z, y, x] -> [%d, bz, by, bx, 0, ty, tx] : z = bz and y = 8 by + ty and x = 32 bx + tx "
                  "and 0 <= ty < 8 and "
                  "0 <= tx < 32 and 0 <= z < 400 and 0 <= y < 400 and 0 <= x < 416 }",
                  member);
}

static isl_map *bytes_of(isl_ctx *ctx, int from, const int *offset)
{
    return map_of(ctx,
                  "{ [z, y, x] -> [1280000*(z + %d) + 3200*(y + %d) + 8*(x + %d)] : %d <= z < %d and %d <= y "
                  "< %d and %d <= x < %d }",
                  offset[0], offset[1], offset[2], from, 400 - from, from, 400 - from, from, 400 - from);
}

/* Tiles of 32 x 8 cells; marching: chunks of 64 planes. */
static isl_map *images_of(isl_ctx *ctx, const struct tiling *tiling, int border, int from, int stage,
                          int shift)
{
    char time[100];
    int planes = tiling->is_marching ? 64 : 4;
    if (tiling->is_marching)
        snprintf(time, sizeof time, "%d*(z + %d) + %d, %d", tiling->barriers, shift, stage, stage);
    else
        snprintf(time, sizeof time, "%d, z", stage);
    return map_of(
        ctx,
        "{ [z, y, x] -> [0, BZ, BY, BX, 0, T, U, %s] : %d <= z < %d and %d <= y < %d and %d <= x < %d and "
        "0 <= BZ < %d and 0 <= BY < 50 and 0 <= BX < 13 and %d BZ - %d <= z < %d BZ + %d and "
        "8 BY - %d <= y < 8 BY + %d and 32 BX - %d <= x < 32 BX + %d and T = y - 8 BY + 2 and U = x - 32 BX "
        "+ 2 }",
        time, from, 400 - from, from, 400 - from, from, 400 - from, (400 + planes - 1) / planes, planes,
        border, planes, planes + border, border, 8 + border, border, 32 + border);
}

static void add(struct pair *pair, enum access_kind kind, uint32_t statement, uint32_t array, isl_map *bytes)
{
    uint32_t number = pair->group.access_count++;
    pair->accesses[number] = (struct check_access){.kind = kind,
                                                   .statement = statement,
                                                   .position = number,
                                                   .array = array,
                                                   .is_plain = true,
                                                   .bytes = bytes,
                                                   .width = 8,
                                                   .is_exact = true,
                                                   .is_certain = true,
                                                   .from = CHECK_NONE,
                                                   .into = CHECK_NONE,
                                                   .source = CHECK_NONE};
}

static const int offsets[LOADS][3] = {{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0},
                                      {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};

/* q loads where p has stored. */
static void pair_open(struct pair *pair, isl_ctx *ctx, const struct tiling *tiling)
{
    memset(pair, 0, sizeof *pair);
    pair->group = (struct check_group){.ctx = ctx,
                                       .member_count = 2,
                                       .orders = pair->orders,
                                       .space = {2, {SCHEDULE_BLOCK, SCHEDULE_NONE}},
                                       .block = {36, 12, 1},
                                       .statements = pair->statements,
                                       .statement_count = 2,
                                       .storages = &pair->storage,
                                       .storage_count = 1,
                                       .accesses = pair->accesses};
    pair->statements[0] = (struct check_statement){
        0,
        order_of(ctx, 0),
        {images_of(ctx, tiling, tiling->border, 1, 0, 0), images_of(ctx, tiling, 0, 1, 0, 0)}};
    pair->statements[1] =
        (struct check_statement){1, order_of(ctx, 1), {images_of(ctx, tiling, 0, 2, 1, tiling->shift), NULL}};
    pair->storage.cells =
        tiling->is_marching
            ? map_of(ctx,
                     "{ [l, BZ, BY, BX, tz, ty, tx, byte] -> [s, y, x] : exists z, e : byte = 1280000 z + "
                     "3200 y + 8 x and "
                     "0 <= y < 400 and 0 <= x < 400 and z = %d e + s and 0 <= s < %d }",
                     tiling->ring, tiling->ring)
            : map_of(ctx, "{ [l, BZ, BY, BX, tz, ty, tx, byte] -> [byte - 5120000 BZ - 25600 BY - 256 BX] }");
    add(pair, ACCESS_READ, 0, 0, bytes_of(ctx, 1, offsets[0]));
    add(pair, ACCESS_WRITE, 0, 1, bytes_of(ctx, 1, offsets[0]));
    for (int i = 0; i < LOADS; i++) {
        add(pair, ACCESS_READ, 1, 1, bytes_of(ctx, 2, offsets[i]));
        struct check_access *load = &pair->accesses[pair->group.access_count - 1];
        load->from = 0;
        load->source = 1;
        load->to_source = map_of(ctx, "{ [z, y, x] -> [z + %d, y + %d, x + %d] }", offsets[i][0],
                                 offsets[i][1], offsets[i][2]);
    }
    pair->accesses[1].into = 0;
    add(pair, ACCESS_WRITE, 1, 2, bytes_of(ctx, 2, offsets[0]));
}

static void pair_close(struct pair *pair)
{
    for (int s = 0; s < 2; s++) {
        isl_map_free(pair->statements[s].order);
        isl_map_free(pair->statements[s].schedule.images);
        isl_map_free(pair->statements[s].schedule.owners);
    }
    for (uint32_t i = 0; i < pair->group.access_count; i++) {
        isl_map_free(pair->accesses[i].bytes);
        isl_map_free(pair->accesses[i].to_source);
    }
    isl_map_free(pair->storage.cells);
}

static bool is_legal(isl_ctx *ctx, const struct tiling *tiling, struct check_refusal *refusal)
{
    struct pair pair;
    pair_open(&pair, ctx, tiling);
    clock_t began = clock();
    bool legal = check_group(&pair.group, refusal);
    if (getenv("KFUSE_TEST_TIMES"))
        printf("%s border %d ring %d barriers %d shift %d: %s%s, %.1f ms\n",
               tiling->is_marching ? "marching" : "tiles", tiling->border, tiling->ring, tiling->barriers,
               tiling->shift, legal ? "legal" : check_rule_text(refusal->rule),
               !legal && refusal->gave_up ? " (gave up)" : "",
               (double)(clock() - began) * 1e3 / CLOCKS_PER_SEC);
    pair_close(&pair);
    return legal;
}

static void refuses(isl_ctx *ctx, const struct tiling *tiling, enum check_rule rule)
{
    struct check_refusal refusal;
    assert_false(is_legal(ctx, tiling, &refusal));
    assert_false(refusal.gave_up);
    assert_int_equal(refusal.rule, rule);
}

static void accepts(isl_ctx *ctx, const struct tiling *tiling)
{
    struct check_refusal refusal;
    assert_true(is_legal(ctx, tiling, &refusal));
}

static void tiles_need_a_border(void **state)
{
    accepts(*state, &(struct tiling){.border = 1});
    refuses(*state, &(struct tiling){.border = 0}, CHECK_STORAGE);
}

/* With a barrier behind each stage, three planes are enough; with one between the stages alone, it takes four. */
static void a_ring_is_as_long_as_its_barriers_allow(void **state)
{
    for (int ring = 2; ring < 5; ring++)
        for (int barriers = 1; barriers < 3; barriers++) {
            const struct tiling tiling = {true, 1, barriers, ring, 1};
            if (ring >= (barriers == 2 ? 3 : 4))
                accepts(*state, &tiling);
            else
                refuses(*state, &tiling, CHECK_STORAGE);
        }
    refuses(*state, &(struct tiling){true, 1, 2, 4, 0}, CHECK_STORAGE);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_need_a_border),
        cmocka_unit_test(a_ring_is_as_long_as_its_barriers_allow),
    };
    isl_ctx *ctx = isl_ctx_alloc();
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tests[i].initial_state = ctx;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    isl_ctx_free(ctx);
    return failed;
}
