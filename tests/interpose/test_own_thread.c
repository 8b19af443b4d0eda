/* SPDX-License-Identifier: Apache-2.0
 * A thread that ends when there is nothing to do: no work is lost, however its end and new work meet. */
#include "interpose/own_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { ROUNDS = 5000, LONGEST_PAUSE_NS = 400000, PATIENCE_NS = 50000, LIMIT_S = 30 };

static _Atomic uint32_t asked, done, at_work, together;

static bool has_work(void)
{
    return atomic_load(&asked) != atomic_load(&done);
}

static void work(void)
{
    if (atomic_fetch_add(&at_work, 1)) atomic_fetch_add(&together, 1);
    while (has_work()) atomic_store(&done, atomic_load(&asked));
    atomic_fetch_sub(&at_work, 1);
}

static struct own_thread thread = {.state = OWN_THREAD_ENDED,
                                   .name = "test",
                                   .patience_ns = PATIENCE_NS,
                                   .has_work = has_work,
                                   .work = work};

static bool is_done_in_time(void)
{
    time_t start = time(NULL);
    while (has_work() && time(NULL) - start < LIMIT_S) nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    return !has_work();
}

static void no_work_is_lost(void **state)
{
    (void)state;
    unsigned made = 0;
    for (int i = 0; i < ROUNDS; i++) {
        made += atomic_load(&thread.state) == OWN_THREAD_ENDED;
        atomic_fetch_add(&asked, 1);
        assert_true(own_thread_needed(&thread));
        assert_true(is_done_in_time());
        nanosleep(&(struct timespec){.tv_nsec = rand() % LONGEST_PAUSE_NS}, NULL);
    }
    assert_true(made > 1);
    assert_int_equal(atomic_load(&together), 0);
}

static void it_ends(void **state)
{
    (void)state;
    time_t start = time(NULL);
    while (atomic_load(&thread.state) != OWN_THREAD_ENDED && time(NULL) - start < LIMIT_S)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&thread.state), OWN_THREAD_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_work_is_lost), cmocka_unit_test(it_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
