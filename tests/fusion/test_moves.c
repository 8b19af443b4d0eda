/* SPDX-License-Identifier: Apache-2.0
 * Relations of cells and places as moves: random ones, of rows that follow each other, periodic and clamped borders, say what they
 * said, and agree where isl says that they do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/halo_moves.h"

#include <isl/ctx.h>
#include <isl/set.h>
#include <stdio.h>
#include <stdlib.h>

enum { RELATIONS = 40 };

static int below(int limit)
{
    return rand() % limit;
}

static isl_map *read_part(isl_ctx *ctx, const char *condition)
{
    char text[512];
    snprintf(text, sizeof text,
             "{ F[0, 0, 0, z, y, x] -> F[0, 0, 0, v, u, t] : 0 <= z < 2 and 0 <= v < 2 and -2 <= y <= 9 and "
             "-2 <= x <= 9 and "
             "0 <= u < 8 and 0 <= t < 8 and %s }",
             condition);
    isl_map *map = isl_map_read_from_str(ctx, text);
    assert_non_null(map);
    return map;
}

/* A translation; one element, whose number is congruent; a clamped cell. */
static isl_map *part(isl_ctx *ctx)
{
    char text[256];
    int a = below(5) - 2, b = below(5) - 2;
    switch (below(4)) {
    case 0:
        snprintf(text, sizeof text, "v = z and u = y + %d and t = x + %d", a, b);
        break;
    case 1:
        snprintf(text, sizeof text, "64 v + 8 u + t = 64 z + 8 y + x + %d", 8 * a + b);
        break;
    case 2:
        snprintf(text, sizeof text, "v = z and exists k : 8 u + t = 8 y + x + %d + 64 k", 8 * a + b);
        break;
    default:
        snprintf(text, sizeof text, "v = z and u = y and (t = x + %d or (x >= %d and t = 7))", a,
                 4 + below(3));
    }
    return read_part(ctx, text);
}

static isl_map *relation(isl_ctx *ctx)
{
    isl_map *map = part(ctx);
    for (int parts = below(3); parts > 0; parts--) map = isl_map_union(map, part(ctx));
    return below(2) ? isl_map_coalesce(map) : map;
}

static void say_what_they_said(void **state)
{
    (void)state;
    isl_ctx *ctx = isl_ctx_alloc();
    srand(1);
    for (int i = 0; i < RELATIONS; i++) {
        isl_map *map = relation(ctx), *moves = halo_moves_coalesce(isl_map_copy(map));
        assert_int_equal(isl_map_is_equal(map, moves), isl_bool_true);
        isl_map_free(map);
        isl_map_free(moves);
    }
    isl_ctx_free(ctx);
}

static bool agree(isl_map *a, isl_map *b)
{
    isl_map *both = isl_map_union(isl_map_copy(a), isl_map_copy(b));
    isl_set *common = isl_set_intersect(isl_map_domain(isl_map_copy(a)), isl_map_domain(isl_map_copy(b)));
    both = isl_map_intersect_domain(both, common);
    bool is = isl_map_is_single_valued(both) == isl_bool_true;
    isl_map_free(both);
    return is;
}

/* Of functions, as cells have one place each. */
static void agree_as_isl_says(void **state)
{
    (void)state;
    isl_ctx *ctx = isl_ctx_alloc();
    int agreed = 0, single = 0;
    srand(2);
    for (int i = 0; i < RELATIONS; i++) {
        isl_map *a = relation(ctx);
        bool is_single = isl_map_is_single_valued(a) == isl_bool_true;
        assert_int_equal(halo_moves_agree(a, a), is_single);
        single += is_single;
        isl_map *b = below(2) ? relation(ctx) : isl_map_intersect(isl_map_copy(a), part(ctx));
        isl_map *of_a = isl_map_lexmin(a), *of_b = isl_map_lexmin(b);
        bool is = agree(of_a, of_b);
        assert_int_equal(halo_moves_agree(of_a, of_b), is);
        agreed += is;
        isl_map_free(of_a);
        isl_map_free(of_b);
    }
    assert_true(agreed > 2 && agreed < RELATIONS - 2);
    assert_true(single > 2 && single < RELATIONS - 2);
    isl_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(say_what_they_said),
        cmocka_unit_test(agree_as_isl_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
