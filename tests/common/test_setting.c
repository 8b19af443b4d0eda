/* SPDX-License-Identifier: Apache-2.0
 * Settings from the environment: what is unset, empty or no number. */
#include "common/setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RAISED_NOT = 9 };

static long number(const char *text)
{
    if (text)
        setenv("KFUSE_TEST", text, 1);
    else
        unsetenv("KFUSE_TEST");
    return setting_number("KFUSE_TEST", 1, 1000, 7);
}

static void numbers_have_bounds(void **state)
{
    (void)state;
    assert_int_equal(number("1"), 1);
    assert_int_equal(number("1000"), 1000);
    static const char *const wrong[] = {NULL, "", "0", "1001", "-1", "x", "5x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_int_equal(number(wrong[i]), 7);
}

static void switches_are_off_by_nothing_and_0(void **state)
{
    (void)state;
    static const char *const off[] = {"", "0"}, *const on[] = {"1", "yes", "00"};
    for (int i = 0; i < 2; i++) {
        setenv("KFUSE_TEST", off[i], 1);
        assert_false(setting_is_on("KFUSE_TEST"));
    }
    for (int i = 0; i < 3; i++) {
        setenv("KFUSE_TEST", on[i], 1);
        assert_true(setting_is_on("KFUSE_TEST"));
    }
    unsetenv("KFUSE_TEST");
    assert_false(setting_is_on("KFUSE_TEST"));
    assert_null(setting_text("KFUSE_TEST"));
}

/* This program again, as one that gives its user another identity. */
static void raised_privileges_hide_the_environment(void **state)
{
    (void)state;
    char command[512];
    char path[64];
    if (geteuid()) skip();
    setenv("KFUSE_TEST", "1", 1);
    snprintf(path, sizeof path, "/tmp/kfuse-test-setting-%ld", (long)getpid());
    snprintf(command, sizeof command, "cp -L /proc/%ld/exe %s && chown 4242 %s && chmod u+s %s && %s raised",
             (long)getpid(), path, path, path, path);
    int status = system(command);
    unlink(path);
    unsetenv("KFUSE_TEST");
    if (WEXITSTATUS(status) == RAISED_NOT) skip(); /* a file system without such programs */
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "raised")) /* at once: a sanitizer that looks around at exit may not */
        _exit(!getauxval(AT_SECURE) ? RAISED_NOT : setting_text("KFUSE_TEST") != NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_bounds),
        cmocka_unit_test(switches_are_off_by_nothing_and_0),
        cmocka_unit_test(raised_privileges_hide_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
