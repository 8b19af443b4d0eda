/* SPDX-License-Identifier: Apache-2.0
 * Writing inside a program: no signal of ours reaches it, and none of its own is lost. */
#include "common/own_write.h"
#include "tests/common/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t caught[NSIG];

static void catch (int number)
{
    caught[number]++;
}

static int closed_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    return ends[1];
}

static bool is_pending(int number)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, number);
}

static void a_closed_pipe_is_an_error(void **state)
{
    (void)state;
    int out = closed_pipe();
    signal(SIGPIPE, catch);
    assert_false(own_write(out, "text", 4));
    assert_int_equal(errno, EPIPE);
    assert_int_equal(caught[SIGPIPE], 0);
    assert_false(is_pending(SIGPIPE));
    assert_int_equal(raise(SIGPIPE), 0); /* the program's own still comes through */
    assert_int_equal(caught[SIGPIPE], 1);
    close(out);
}

static void what_the_program_has_pending_stays(void **state)
{
    (void)state;
    int out = closed_pipe();
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    signal(SIGPIPE, catch);
    caught[SIGPIPE] = 0;
    sigprocmask(SIG_BLOCK, &one, NULL);
    assert_int_equal(raise(SIGPIPE), 0);
    assert_false(own_write(out, "text", 4));
    assert_true(is_pending(SIGPIPE));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    assert_int_equal(caught[SIGPIPE], 1);
    close(out);
}

static void a_limit_of_files_is_an_error(void **state)
{
    (void)state;
    struct rlimit before, limit;
    static const char text[64];
    off_t offset = 0;
    int file = open(temporary_path, O_RDWR | O_TRUNC);
    assert_true(file >= 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100;
    signal(SIGXFSZ, catch);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool first = own_write_at(file, text, sizeof text, &offset);
    bool second = own_write_at(file, text, sizeof text, &offset);
    int error = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(first);
    assert_false(second);
    assert_int_equal(error, EFBIG);
    assert_int_equal(offset, 100);
    assert_int_equal(caught[SIGXFSZ], 0);
    assert_false(is_pending(SIGXFSZ));
    close(file);
}

static void a_full_pipe_is_not_waited_for_long(void **state)
{
    (void)state;
    enum { MORE_THAN_FITS = 1 << 22 };
    int ends[2];
    char *bytes = calloc(1, MORE_THAN_FITS);
    assert_non_null(bytes);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_false(own_write(ends[1], bytes, MORE_THAN_FITS));
    assert_int_equal(errno, EAGAIN);
    free(bytes);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_pipe_is_an_error),
        cmocka_unit_test(what_the_program_has_pending_stays),
        cmocka_unit_test(a_limit_of_files_is_an_error),
        cmocka_unit_test(a_full_pipe_is_not_waited_for_long),
    };
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
