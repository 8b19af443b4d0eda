/* SPDX-License-Identifier: Apache-2.0
 * Boxes of bytes: which sets are some, and what two have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/box.h"

#include <isl/ctx.h>
#include <stdlib.h>
#include <string.h>

/* --- of sets --- */

static void expect_box(isl_ctx *ctx, const char *text, bool is_one, struct group_box expected)
{
    struct group_box box;
    isl_set *set = isl_set_read_from_str(ctx, text);
    assert_int_equal(box_of(set, &box), is_one);
    if (is_one) {
        assert_int_equal(box.from, expected.from);
        assert_int_equal(box.width, expected.width);
        assert_int_equal(box.rows, expected.rows);
        assert_int_equal(box.layers, expected.layers);
        if (box.rows > 1) assert_int_equal(box.row_pitch, expected.row_pitch);
        if (box.layers > 1) assert_int_equal(box.layer_rows, expected.layer_rows);
    }
    isl_set_free(set);
}

static void sets_are_boxes_or_not(void **state)
{
    (void)state;
    isl_ctx *ctx = isl_ctx_alloc();
    expect_box(ctx, "{ [x] : 16 <= x < 400 }", true, (struct group_box){16, 384, 0, 1, 1, 0});
    expect_box(ctx, "{ [x] : exists r : 8 <= x - 100 r < 92 and 1 <= r < 9 }", true,
               (struct group_box){108, 84, 100, 8, 1, 0});
    expect_box(ctx, "{ [x] : exists r, l : 4 <= x - 40 r - 400 l < 36 and 1 <= r < 9 and 2 <= l < 5 }", true,
               (struct group_box){844, 32, 40, 8, 3, 10});
    /* Its first part has no point. */
    expect_box(
        ctx,
        "{ [r] : exists e0, e1: 10 <= r <= 90 and 20 e0 >= r - 3 and 20 e0 <= r - 2 and 20 e1 >= r - 8 "
        "and 20 e1 <= r - 7; [x] : 100 <= x < 400 }",
        true, (struct group_box){100, 300, 0, 1, 1, 0});
    expect_box(ctx, "{ [x] : 0 <= x < 10 or 30 <= x < 41 }", false, (struct group_box){0});
    expect_box(ctx, "{ [x] : exists r : 0 <= x - 100 r < 50 + r and 0 <= r < 9 }", false,
               (struct group_box){0});
    expect_box(ctx, "{ [x] : exists r : 0 <= x - 100 r < 50 and 0 <= r < 9 and r != 3 }", false,
               (struct group_box){0});
    isl_ctx_free(ctx);
}

/* --- two boxes --- */

enum { BYTES = 1200, PAIRS = 20000 };

static unsigned below(unsigned limit)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

static void fill(const struct group_box *box, unsigned char bytes[BYTES])
{
    memset(bytes, 0, BYTES);
    for (uint32_t l = 0; l < box->layers; l++)
        for (uint32_t r = 0; r < box->rows; r++)
            memset(bytes + box->from + (l * box->layer_rows + r) * box->row_pitch, 1, box->width);
}

/* In rows of 20 bytes, layers of 6 rows, so that neither wraps, from byte 300 on at most. */
static struct group_box any_box(void)
{
    unsigned x = below(8), y = below(3), width = 1 + below(12), rows = 1 + below(4), layers = 1 + below(3);
    struct group_box box = {.from = 240 + (int)(below(3) * 120 + y * 20 + x),
                            .width = width,
                            .row_pitch = 20,
                            .rows = rows,
                            .layers = layers,
                            .layer_rows = layers > 1 ? 6 : rows};
    if (rows == 1 && layers == 1) box.row_pitch = box.width;
    return box;
}

static bool is_part(const unsigned char part[BYTES], const unsigned char whole[BYTES])
{
    for (int i = 0; i < BYTES; i++)
        if (part[i] && !whole[i]) return false;
    return true;
}

static void what_two_have_in_common(void **state)
{
    static unsigned char in_a[BYTES], in_b[BYTES], in_meet[BYTES];
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        const struct group_box a = any_box(), b = any_box();
        struct group_box meet;
        unsigned common = 0;
        fill(&a, in_a);
        fill(&b, in_b);
        for (int k = 0; k < BYTES; k++) common += in_a[k] && in_b[k];
        assert_int_equal(box_covers(&a, &b), is_part(in_b, in_a));
        assert_int_equal(box_meet(&a, &b, &meet), common > 0);
        if (!common) continue;
        fill(&meet, in_meet);
        assert_int_equal(box_bytes(&meet), common);
        assert_true(is_part(in_meet, in_a) && is_part(in_meet, in_b));
    }
}

static void other_pitches(void **state)
{
    const struct group_box a = {0, 8, 20, 4, 1, 4}, b = {0, 8, 24, 4, 1, 4}, all = {0, 400, 400, 1, 1, 1};
    struct group_box meet;
    (void)state;
    assert_false(box_covers(&a, &b) || box_meet(&a, &b, &meet));
    assert_true(box_covers(&all, &a) && box_covers(&all, &b));
    assert_false(box_covers(&a, &all));
}

static void as_sets(void **state)
{
    isl_ctx *ctx = isl_ctx_alloc();
    (void)state;
    for (int i = 0; i < 200; i++) {
        const struct group_box box = any_box();
        struct group_box found;
        if (box.rows == 1 && box.layers > 1) continue; /* found as rows */
        isl_set *set = box_set(ctx, &box);
        assert_true(box_of(set, &found));
        assert_true(box_covers(&box, &found) && box_covers(&found, &box));
        isl_set_free(set);
    }
    isl_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_boxes_or_not),
        cmocka_unit_test(what_two_have_in_common),
        cmocka_unit_test(other_pitches),
        cmocka_unit_test(as_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
