/* SPDX-License-Identifier: Apache-2.0
 * A remembered list of guards says what the list says, for random lists, operands and allocations; and is not evaluated where
 * nothing has changed. */
#include "interpose/guard_cache.h"
#include "tests/referee/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STEPS = 3, WORDS = 4, ALLOCATIONS = 4, CHECKS = 40, SPACE = 0x1000 };
static uint64_t words[STEPS][WORDS];
static struct {
    uint64_t size[ALLOCATIONS], generation, asked;
} memory;

static bool find(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    (void)context;
    uint64_t index = address / SPACE;
    memory.asked++;
    if (index >= ALLOCATIONS) return false;
    *start = index * SPACE;
    *size = memory.size[index];
    return address - *start < *size;
}

static uint64_t generation(const void *context)
{
    (void)context;
    return memory.generation;
}

static const unsigned char *const arguments[STEPS] = {
    (const unsigned char *)words[0], (const unsigned char *)words[1], (const unsigned char *)words[2]};
static const uint32_t sizes[STEPS] = {sizeof words[0], sizeof words[1], sizeof words[2]};
static const struct guard_view view = {.arguments = arguments,
                                       .argument_sizes = sizes,
                                       .steps = STEPS,
                                       .allocation = find,
                                       .open_allocation = find,
                                       .generation = generation};

/* Of words 0 and 1, arrays; of words 2 and 3, numbers. */
static struct guard_check random_check(struct random *random)
{
    static const uint16_t kinds[] = {GUARD_VALUE,  GUARD_BETWEEN, GUARD_DIFFERENCE, GUARD_DISJOINT,
                                     GUARD_INSIDE, GUARD_ALIGNED, GUARD_APART,      GUARD_DISJOINT};
    struct guard_check check = {.kind = kinds[random_below(random, 8)],
                                .step_a = (uint16_t)random_below(random, STEPS),
                                .step_b = (uint16_t)random_below(random, STEPS),
                                .offset_a = 8 * (uint32_t)random_below(random, 2),
                                .offset_b = 8 * (uint32_t)random_below(random, 2)};
    switch (check.kind) {
    case GUARD_VALUE:
    case GUARD_BETWEEN:
        check.size = random_below(random, 2) ? 4 : 8;
        check.offset_a = 16 + 8 * (uint32_t)random_below(random, 2);
        check.value[1] = 1 + (int64_t)random_below(random, 2);
        break;
    case GUARD_DIFFERENCE:
        check.step_b = check.step_a;
        check.offset_b = check.offset_a;
        break;
    case GUARD_ALIGNED:
        check.value[0] = 16;
        break;
    default:
        check.value[1] = 0x80;
        check.value[2] = 0x100;
        check.value[3] = 0x180;
    }
    return check;
}

static void change_something(struct random *random)
{
    uint64_t what = random_below(random, 8), step = random_below(random, STEPS);
    if (what == 0) {
        memory.size[random_below(random, ALLOCATIONS)] = random_below(random, 4) ? 0x200 : 0x40;
        memory.generation++;
    } else if (what < 3) {
        words[step][2 + random_below(random, 2)] = random_below(random, 4) ? 0 : 1 + random_below(random, 3);
    } else {
        words[step][random_below(random, 2)] = SPACE * random_below(random, ALLOCATIONS + 1) +
                                               (random_below(random, 4) ? 0 : 8 * random_below(random, 4));
    }
}

/* Lists that hold now and then: checks that fail where nothing is unusual are left out. */
static uint32_t random_list(struct random *random, struct guard_check *checks)
{
    uint32_t count = 0, wanted = 1 + (uint32_t)random_below(random, CHECKS);
    for (int i = 0; i < ALLOCATIONS; i++) memory.size[i] = 0x200;
    for (int step = 0; step < STEPS; step++)
        for (int word = 0; word < WORDS; word++)
            words[step][word] = word < 2 ? (uint64_t)(step + word) % 4 * SPACE : 0;
    memory.generation++;
    for (uint32_t tries = 0; count < wanted && tries < 400; tries++) {
        checks[count] = random_check(random);
        count += guard_holds(&checks[count], 1, &view);
    }
    return count;
}

static void says_what_the_list_says(void **state)
{
    struct random random = {17};
    uint64_t held = 0, unasked = 0;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct guard_check checks[CHECKS];
        struct guard_cache cache = {0};
        uint32_t count = random_list(&random, checks);
        for (int i = 0; i < 100; i++) {
            bool wanted = guard_holds(checks, count, &view);
            uint64_t asked = memory.asked;
            assert_int_equal(guard_cache_holds(&cache, checks, count, &view), wanted);
            held += wanted;
            unasked += wanted && memory.asked == asked;
            change_something(&random);
        }
        guard_cache_free(&cache);
    }
    assert_true(held > 10000 && unasked > 1000);
}

static bool holds(struct guard_cache *cache, const struct guard_check *checks, uint32_t count, uint64_t asked)
{
    memory.asked = 0;
    bool is_held = guard_cache_holds(cache, checks, count, &view);
    assert_int_equal(memory.asked, asked);
    return is_held;
}

/* All lie in an allocation, all are apart: two arrays that are swapped are asked for twice, until one is freed. */
static void is_asked_once(void **state)
{
    struct guard_check checks[16];
    struct guard_cache cache = {0};
    (void)state;
    for (uint32_t i = 0; i < 16; i++)
        checks[i] = (struct guard_check){.kind = i < 4 ? GUARD_INSIDE : GUARD_DISJOINT,
                                         .offset_a = 0,
                                         .offset_b = 8,
                                         .value = {0, 0x80, 0, 0x80}};
    for (int i = 0; i < ALLOCATIONS; i++) memory.size[i] = 0x100;
    words[0][0] = 0;
    words[0][1] = SPACE;
    /* address 0 is the first allocation's here */
    assert_true(holds(&cache, checks, 16, 4));
    assert_true(holds(&cache, checks, 16, 0));
    words[0][0] = SPACE;
    words[0][1] = 0;
    assert_true(holds(&cache, checks, 16, 4));
    for (int i = 0; i < 10; i++) {
        uint64_t swapped = words[0][0];
        words[0][0] = words[0][1];
        words[0][1] = swapped;
        words[0][2]++; /* nobody's operand */
        assert_true(holds(&cache, checks, 16, 0));
    }
    memory.size[0] = memory.size[1] = 0x40;
    memory.generation++;
    assert_false(holds(&cache, checks, 16, 1));
    memory.size[0] = memory.size[1] = 0x100;
    memory.generation++;
    assert_true(holds(&cache, checks, 16, 4));
    guard_cache_free(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_list_says),
        cmocka_unit_test(is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
