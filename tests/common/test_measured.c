/* SPDX-License-Identifier: Apache-2.0
 * Files of measurements: what is written is read again; what nobody should believe is not. */
#include "common/measured.h"
#include "tests/common/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define DEVICE "a device"
enum { DRIVER = 13000 };

static struct measured *measured;

/* In a folder of its own; the name is valid until the next call. */
static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s.%s", temporary_path, name);
    return path;
}

static struct measured_group group_of(uint64_t identity, uint64_t plan, uint32_t rounds, uint64_t fused_ps)
{
    struct measured_group group = {.identity = {identity, ~identity}, .plan = plan, .uses = 30};
    for (; group.round_count < rounds; group.round_count++)
        group.rounds[group.round_count] = (struct measured_round){1000000, fused_ps + group.round_count};
    return group;
}

static void start(void)
{
    measured_start(measured, DEVICE, DRIVER);
}

/* It holds anything. */
static bool reads(const char *path, const char *device, uint32_t driver_version)
{
    measured_start(measured, device, driver_version);
    measured_read(measured, path);
    return measured->group_count;
}

static void add(uint64_t identity, uint64_t plan, uint32_t rounds, uint64_t fused_ps)
{
    struct measured_group group = group_of(identity, plan, rounds, fused_ps);
    measured_add(measured, &group);
}

static void round_trip(void **state)
{
    (void)state;
    const char *path = path_of("trip");
    start();
    add(1, 7, 3, 2000000);
    add(UINT64_MAX, 8, GAIN_MOST, 10);
    assert_true(measured_write(measured, path));
    assert_true(reads(path, DEVICE, DRIVER));
    assert_int_equal(measured->group_count, 2);
    const struct measured_group *first = measured_find(measured, (struct hash128){1, ~UINT64_C(1)}, 7);
    assert_true(first && first->round_count == 3 && first->uses == 30);
    struct gain gain = measured_gain(first);
    assert_true(gain_loses(&gain) && (int)gain.mean == -1000);
    assert_true((int)measured_mean_ns(first, false) == 1000);
    assert_null(measured_find(measured, (struct hash128){1, ~UINT64_C(1)}, 8));
    assert_non_null(measured_find(measured, (struct hash128){1, ~UINT64_C(1)}, 0));
    /* of another device, or driver */
    assert_false(reads(path, "another", DRIVER));
    assert_false(reads(path, DEVICE, DRIVER + 1));
    unlink(path);
    assert_false(reads(path, DEVICE, DRIVER));
}

static void later_rounds_count(void **state)
{
    (void)state;
    const struct hash128 identity = {5, ~UINT64_C(5)};
    start();
    add(5, 7, GAIN_MOST, 2000000);
    add(6, 7, 1, 1);
    add(5, 7, 2, 500000);
    assert_int_equal(measured->group_count, 2);
    const struct measured_group *group = measured_find(measured, identity, 7);
    assert_ptr_equal(group, &measured->groups[1]); /* measured last */
    assert_int_equal(group->round_count, GAIN_MOST);
    assert_int_equal(group->uses, 60);
    assert_int_equal(group->rounds[0].fused_ps, 2000002);
    assert_int_equal(group->rounds[GAIN_MOST - 1].fused_ps, 500001);
    add(5, 9, 1, 3); /* with another plan */
    assert_int_equal(measured_find(measured, identity, 0)->plan, 9);
    for (uint64_t i = 100; i < 100 + 2 * MEASURED_GROUPS; i++) add(i, 7, 1, 1);
    assert_int_equal(measured->group_count, MEASURED_GROUPS);
    assert_null(measured_find(measured, identity, 0));
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(text, file) >= 0 && !fclose(file));
}

#define HEAD  "kfuse measured 3\ndevice " DEVICE "\ndriver 13000\n"
#define NAME  "0000000000000000000000000000000a"
#define RIGHT "group " NAME " plan 0000000000000007 uses 9 rounds 1 5:6\n"

/* Groups that are read of such a file. */
static uint32_t groups_in(const char *text)
{
    const char *path = path_of("text");
    write_text(path, text);
    reads(path, DEVICE, DRIVER);
    unlink(path);
    return measured->group_count;
}

static void garbage(void **state)
{
    static const char *const lines[] = {"group",
                                        "group " NAME,
                                        "group " NAME " plan 7 uses 9 rounds 2 5:6\n",
                                        "group " NAME " plan 7 uses 9 rounds 33 5:6\n",
                                        "group " NAME " plan 7 uses 9 rounds 1 5:6 7:8\n",
                                        "group " NAME " plan 7 uses 9 rounds 1 5;6\n",
                                        "group " NAME " plan 7 uses 9 rounds -1 5:6\n",
                                        "group " NAME " plan 7 uses 9 rounds 1 5:99999999999999999999999\n",
                                        "group x plan 7 uses 9 rounds 1 5:6\n",
                                        "\n",
                                        "\377\376\n"};
    char text[20000];
    (void)state;
    assert_int_equal(groups_in(HEAD RIGHT), 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, HEAD "%s", lines[i]);
        assert_int_equal(groups_in(text), 0);
        snprintf(text, sizeof text, HEAD RIGHT "%s", lines[i]);
        assert_int_equal(groups_in(text), 1);
    }
    assert_int_equal(groups_in(""), 0);
    assert_int_equal(groups_in("kfuse measured 2\ndevice " DEVICE "\ndriver 13000\n" RIGHT), 0);
    assert_int_equal(groups_in("kfuse measured 3\n" RIGHT), 0);
    memset(text, 'x', sizeof text); /* a line without an end */
    memcpy(text, HEAD, sizeof HEAD - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(groups_in(text), 0);
}

static void untrusted(void **state)
{
    char path[4096];
    (void)state;
    snprintf(path, sizeof path, "%s", path_of("untrusted"));
    write_text(path, HEAD RIGHT);
    assert_true(reads(path, DEVICE, DRIVER));
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(reads(path, DEVICE, DRIVER));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody waits for a writer */
    assert_false(reads(path, DEVICE, DRIVER));
    unlink(path);
    assert_false(measured_write(measured, "/nonexistent/folder/file"));
}

static void identities_differ(void **state)
{
    const unsigned char mask[8] = {0xff}, value[8] = {3}, other[8] = {4};
    const struct hash128 none = {0};
    struct measured_step step = {.kernel = "k",
                                 .grid = {4, 1, 1},
                                 .block = {32, 1, 1},
                                 .arguments_size = 8,
                                 .mask = mask,
                                 .value = value};
    struct measured_step changed = step;
    (void)state;
    struct hash128 first = measured_identity(none, &step), beside = measured_identity_begin(PLAN_INTER_BLOCK);
    assert_true(hash_equal(none, measured_identity_begin(PLAN_NEEDS_VERIFICATION)));
    assert_false(hash_equal(none, beside));
    assert_false(hash_equal(beside, measured_identity_begin(PLAN_LAST_BLOCK)));
    assert_true(hash_equal(first, measured_identity(none, &changed)));
    assert_false(hash_equal(first, measured_identity(first, &step)));
    changed.value = other;
    assert_false(hash_equal(first, measured_identity(none, &changed)));
    changed = step;
    changed.grid[2] = 2;
    assert_false(hash_equal(first, measured_identity(none, &changed)));
    changed = step;
    changed.kernel = "l";
    assert_false(hash_equal(first, measured_identity(none, &changed)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(later_rounds_count),
                                       cmocka_unit_test(garbage), cmocka_unit_test(untrusted),
                                       cmocka_unit_test(identities_differ)};
    measured = malloc(sizeof *measured);
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
