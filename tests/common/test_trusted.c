/* SPDX-License-Identifier: Apache-2.0
 * What nobody but its user can have written is trusted. What belongs to others can be had by root only. */
#include "common/trusted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SOMEBODY = 4242 };

static char folder[PATH_MAX]; /* new for every test; where it begins */
static char why[PATH_MAX + 128];

static int start(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kfuse-test-trusted-XXXXXX");
    return mkdtemp(folder) && !chdir(folder) && !mkdir("plan", 0700) && !mkdir("open", 0700) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") || system(command);
}

static void make_file(const char *path, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
}

static void set_mode(const char *path, mode_t mode)
{
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_trusted(const char *path, int flags)
{
    int file = trusted_open(path, flags, why, sizeof why);
    if (file < 0) fail_msg("%s: %s, %s", path, strerror(errno), why);
    assert_string_equal(why, "");
    close(file);
}

/* named: the end of the path that is told. */
static void assert_refused(const char *path, const char *named, const char *remedy)
{
    char told[2 * PATH_MAX];
    assert_int_equal(trusted_open(path, 0, why, sizeof why), -1);
    assert_int_equal(errno, EPERM);
    snprintf(told, sizeof told, "%s%s ", folder, named);
    if (strncmp(why, told, strlen(told)) || !strstr(why, remedy)) fail_msg("%s: %s", path, why);
}

static void assert_missing(const char *path, int error)
{
    assert_int_equal(trusted_open(path, 0, why, sizeof why), -1);
    assert_int_equal(errno, error);
    assert_string_equal(why, "");
}

static void ones_own_is_trusted(void **state)
{
    char path[PATH_MAX + 16];
    (void)state;
    make_file("plan/file", 0644);
    assert_trusted("plan", O_DIRECTORY);
    assert_trusted("plan/", O_DIRECTORY);
    assert_trusted(".", O_DIRECTORY);
    assert_trusted("plan/..//plan/./file", 0);
    snprintf(path, sizeof path, "%s/plan/file", folder);
    assert_trusted(path, 0);
    assert_trusted("/", O_DIRECTORY);
}

static void errors_are_the_systems(void **state)
{
    (void)state;
    make_file("plan/file", 0600);
    assert_missing("plan/other", ENOENT);
    assert_missing("plan/file/other", ENOTDIR);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_missing("loop", ELOOP);
    assert_int_equal(trusted_open("plan/file", O_DIRECTORY, why, sizeof why), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void what_others_may_write_is_not(void **state)
{
    (void)state;
    make_file("plan/file", 0602);
    assert_refused("plan/file", "/plan/file", "chmod go-w");
    set_mode("plan/file", 0600);
    set_mode("plan", 0702);
    assert_refused("plan", "/plan", "chmod go-w");
    assert_refused("plan/file", "/plan", "chmod go-w");
    set_mode("plan", 01777);
    assert_refused("plan", "/plan", "chmod go-w");
    assert_trusted("plan/file", 0); /* on the way nobody can exchange it */
}

static void links_are_followed_with_care(void **state)
{
    (void)state;
    make_file("plan/file", 0600);
    make_file("open/file", 0600);
    assert_int_equal(symlink("plan", "link"), 0);
    assert_int_equal(symlink("../open/file", "plan/out"), 0);
    assert_trusted("link/file", 0);
    assert_trusted("plan/out", 0);
    set_mode("open", 0707);
    assert_refused("plan/out", "/open", "chmod go-w");
    assert_int_equal(unlink("plan/out"), 0);
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/plan", folder);
    assert_int_equal(symlink(path, "open/back"), 0);
    assert_refused("open/back/file", "/open", "chmod go-w"); /* through a link that others may change */
}

static void names_in_a_folder_are_walked_too(void **state)
{
    (void)state;
    make_file("plan/file", 0600);
    make_file("open/file", 0600);
    assert_int_equal(symlink("../open/file", "plan/out"), 0);
    set_mode("open", 0707);
    int plan = trusted_open("plan", O_DIRECTORY, why, sizeof why);
    assert_true(plan >= 0);
    int file = trusted_open_in(plan, "plan", "file", why, sizeof why);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(trusted_open_in(plan, "plan", "out", why, sizeof why), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(why, "chmod go-w"));
    set_mode("plan/file", 0606);
    assert_int_equal(trusted_open_in(plan, "plan", "file", why, sizeof why), -1);
    assert_non_null(strstr(why, "plan/file"));
    close(plan);
}

static void a_group_of_others_may_not_write(void **state)
{
    (void)state;
    if (geteuid()) skip();
    make_file("plan/file", 0600);
    assert_int_equal(chown("plan", 0, SOMEBODY), 0);
    set_mode("plan", 0750);
    assert_trusted("plan/file", 0);
    set_mode("plan", 0770);
    assert_refused("plan/file", "/plan", "chmod g-w");
    assert_int_equal(chown("plan", 0, 0), 0); /* root's own */
    set_mode("plan", 0770);
    assert_trusted("plan/file", 0);
}

static void what_belongs_to_others_is_not(void **state)
{
    (void)state;
    if (geteuid()) skip();
    make_file("plan/file", 0600);
    assert_int_equal(chown("plan/file", SOMEBODY, SOMEBODY), 0);
    assert_refused("plan/file", "/plan/file", "another user");
    assert_int_equal(chown("plan/file", 0, 0), 0);
    assert_int_equal(chown("plan", SOMEBODY, SOMEBODY), 0);
    assert_refused("plan/file", "/plan", "another user");
    assert_int_equal(symlink("open", "link"), 0);
    assert_int_equal(lchown("link", SOMEBODY, SOMEBODY), 0);
    assert_refused("link", "/link", "another user");
    assert_false(trusted_owner(SOMEBODY));
    setenv("KFUSE_TRUST", "7,4242", 1);
    assert_trusted("link", 0);
    assert_trusted("plan/file", 0);
    setenv("KFUSE_TRUST", "4,x,4242", 1);
    assert_false(trusted_owner(SOMEBODY));
    unsetenv("KFUSE_TRUST");
}

/* A user's own group by its number, where no file knows either; not another one. */
static void somebody_trusts_his_own(void **state)
{
    (void)state;
    if (geteuid()) skip();
    make_file("plan/file", 0660);
    set_mode(folder, 0755);
    set_mode("plan", 0770);
    assert_int_equal(chown("plan/file", SOMEBODY, SOMEBODY), 0);
    assert_int_equal(chown("plan", SOMEBODY, SOMEBODY), 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    int file = trusted_open("plan/file", 0, why, sizeof why);
    int error = errno;
    assert_int_equal(seteuid(0), 0);
    if (file < 0) fail_msg("%s, %s", strerror(error), why);
    close(file);
    assert_int_equal(chown("plan/file", SOMEBODY, SOMEBODY + 1), 0);
    set_mode("plan/file", 0660);
    assert_int_equal(seteuid(SOMEBODY), 0);
    file = trusted_open("plan/file", 0, why, sizeof why);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(file, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ones_own_is_trusted),
        TEST(errors_are_the_systems),
        TEST(what_others_may_write_is_not),
        TEST(links_are_followed_with_care),
        TEST(names_in_a_folder_are_walked_too),
        TEST(a_group_of_others_may_not_write),
        TEST(what_belongs_to_others_is_not),
        TEST(somebody_trusts_his_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
