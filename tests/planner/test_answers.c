/* SPDX-License-Identifier: Apache-2.0
 * Answers that a crew gives: each question is answered once, what a dead worker was asked is open again, and
 * nothing waits for ever. */
#include "fuser/planner/crew.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct hash128 key_of(uint32_t question)
{
    return hash_bytes(&question, sizeof question);
}

static void square(void *context, uint32_t task)
{
    struct answers *answers = context;
    const void *bytes;
    size_t size;
    uint32_t answer = task * task;
    if (answers_ask(answers, key_of(task), 10, &bytes, &size) == ANSWERS_MINE)
        answers_give(answers, key_of(task), &answer, sizeof answer);
}

static void test_a_crew_answers(void **state)
{
    enum { TASKS = 1000 };
    (void)state;
    struct answers *answers = answers_open();
    struct crew crew;
    assert_non_null(answers);
    crew_start(&crew, answers, 3, TASKS, square, answers);
    assert_int_equal(crew.count, 3);
    for (uint32_t task = TASKS; task-- > 0;) {
        const void *bytes;
        size_t size;
        square(answers, task);
        assert_int_equal(answers_ask(answers, key_of(task), 0, &bytes, &size), ANSWERS_FOUND);
        assert_int_equal(size, sizeof task);
        uint32_t answer;
        memcpy(&answer, bytes, sizeof answer);
        assert_int_equal(answer, task * task);
    }
    crew_end(&crew);
    answers_close(answers);
}

static void die_while_asked(void *context, uint32_t task)
{
    struct answers *answers = context;
    const void *bytes;
    size_t size;
    answers_ask(answers, key_of(task), 10, &bytes, &size);
    raise(SIGKILL);
}

static void wait_for(struct answers *answers, uint32_t question, enum answers_state expected)
{
    const void *bytes;
    size_t size;
    assert_int_equal(answers_ask(answers, key_of(question), 60, &bytes, &size), expected);
}

static void test_a_dead_workers_question_is_open(void **state)
{
    (void)state;
    struct answers *answers = answers_open();
    struct crew crew;
    assert_non_null(answers);
    crew_start(&crew, answers, 2, 2, die_while_asked, answers);
    wait_for(answers, 0, ANSWERS_MINE);
    wait_for(answers, 1, ANSWERS_MINE);
    crew_end(&crew);
    answers_close(answers);
}

static void never_answer(void *context, uint32_t task)
{
    struct answers *answers = context;
    const void *bytes;
    size_t size;
    answers_ask(answers, key_of(task), 10, &bytes, &size);
    answers_give(answers, key_of(task + 100), "", 1);
    pause();
}

static void test_waiting_ends(void **state)
{
    (void)state;
    struct answers *answers = answers_open();
    struct crew crew;
    const void *bytes;
    size_t size;
    assert_non_null(answers);
    crew_start(&crew, answers, 1, 1, never_answer, answers);
    for (int i = 0; i < 6000 && !answers_look(answers, key_of(100), &bytes, &size); i++) usleep(10000);
    assert_int_equal(answers_ask(answers, key_of(0), 0.05, &bytes, &size), ANSWERS_NONE);
    crew_end(&crew);
    assert_int_equal(answers_ask(answers, key_of(0), 0.05, &bytes, &size), ANSWERS_MINE);
    answers_forget(answers, key_of(0));
    assert_false(answers_look(answers, key_of(0), &bytes, &size));
    answers_close(answers);
}

static void say_it_lives(void *context, uint32_t task)
{
    answers_give(context, key_of(task + 200), "", 1);
    pause();
}

/* Whoever comes after a dead worker under its number was not asked. */
static void test_a_later_worker_owes_nothing(void **state)
{
    (void)state;
    struct answers *answers = answers_open();
    struct crew crew, later;
    const void *bytes;
    size_t size;
    assert_non_null(answers);
    crew_start(&crew, answers, 1, 1, never_answer, answers);
    for (int i = 0; i < 6000 && !answers_look(answers, key_of(100), &bytes, &size); i++) usleep(10000);
    crew_end(&crew);
    crew_start(&later, answers, 1, 1, say_it_lives, answers);
    for (int i = 0; i < 6000 && !answers_look(answers, key_of(200), &bytes, &size); i++) usleep(10000);
    assert_int_equal(answers_ask(answers, key_of(0), 0.05, &bytes, &size), ANSWERS_MINE);
    crew_end(&later);
    answers_close(answers);
}

static void test_without_a_table(void **state)
{
    (void)state;
    const void *bytes;
    size_t size;
    struct crew crew;
    assert_int_equal(answers_ask(NULL, key_of(0), 1, &bytes, &size), ANSWERS_NONE);
    answers_give(NULL, key_of(0), "", 1);
    crew_start(&crew, NULL, 4, 4, square, NULL);
    assert_int_equal(crew.count, 0);
    crew_end(&crew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crew_answers),  cmocka_unit_test(test_a_dead_workers_question_is_open),
        cmocka_unit_test(test_waiting_ends),    cmocka_unit_test(test_a_later_worker_owes_nothing),
        cmocka_unit_test(test_without_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
