/* SPDX-License-Identifier: Apache-2.0
 * Guards: each kind of check, true, false, outside the arguments, and where addresses wrap around. */
#include "common/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* Two allocations: [0x1000, 0x2000) and [0x8000, 0x9000). */
static bool find_allocation(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    (void)context;
    *start = address >= 0x8000 ? 0x8000 : 0x1000;
    *size = 0x1000;
    return address - *start < *size;
}

struct arguments {
    uint64_t pointer;
    uint32_t count;
    uint8_t small, rest[3];
};

/* Step 0 gets pointer a, step 1 pointer b. */
static bool holds(struct guard_check check, uint64_t a, uint64_t b)
{
    struct arguments first = {a, 1000, 7, {0}}, second = {b, 0xffffffff, 255, {0}};
    const unsigned char *arguments[] = {(unsigned char *)&first, (unsigned char *)&second};
    const uint32_t sizes[] = {sizeof first, sizeof second};
    struct guard_view view = {arguments, sizes, 2, find_allocation, NULL, NULL, NULL};
    return guard_holds(&check, 1, &view);
}

static void no_checks_hold(void **state)
{
    (void)state;
    struct guard_view nothing = {0};
    assert_true(guard_holds(NULL, 0, &nothing));
}

static void value(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_VALUE, .size = 4, .offset_a = 8, .value = {1000}};
    assert_true(holds(check, 0, 0));
    check.step_a = 1;
    assert_false(holds(check, 0, 0));
    check.value[0] = 0xffffffff; /* read without a sign */
    assert_true(holds(check, 0, 0));
    check = (struct guard_check){.kind = GUARD_VALUE, .size = 1, .offset_a = 12, .value = {7}};
    assert_true(holds(check, 0, 0));
    check = (struct guard_check){.kind = GUARD_VALUE, .size = 8, .value = {-1}};
    assert_true(holds(check, UINT64_MAX, 0));
    check.size = 0;
    assert_false(holds(check, UINT64_MAX, 0));
    check.size = 3;
    assert_false(holds(check, UINT64_MAX, 0));
    check.size = 16;
    assert_false(holds(check, UINT64_MAX, 0));
}

static void nothing_outside_the_arguments_holds(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_VALUE, .size = 8, .offset_a = 8};
    assert_false(holds(check, 0, 0)); /* there and not 0 */
    for (uint32_t offset = 9; offset < 40; offset++) {
        check.offset_a = offset;
        assert_false(holds(check, 0, 0));
    }
    check.offset_a = UINT32_MAX - 3; /* offset + size wraps */
    assert_false(holds(check, 0, 0));
    check = (struct guard_check){.kind = GUARD_VALUE, .size = 8, .step_a = 2};
    assert_false(holds(check, 0, 0)); /* has not arrived */
    check = (struct guard_check){.kind = GUARD_DIFFERENCE, .step_b = 2};
    assert_false(holds(check, 0, 0));
    check = (struct guard_check){.kind = GUARD_DIFFERENCE, .step_b = 1, .offset_b = 9};
    assert_false(holds(check, 0, 0));
    check = (struct guard_check){.kind = GUARD_KINDS};
    assert_false(holds(check, 0, 0));
}

static void difference(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_DIFFERENCE, .step_b = 1, .value = {0x100}};
    assert_true(holds(check, 0x1000, 0x1100));
    assert_false(holds(check, 0x1100, 0x1000));
    check.value[0] = -0x100;
    assert_true(holds(check, 0x1100, 0x1000));
    check.value[0] = 0;
    assert_true(holds(check, 0x1000, 0x1000));
    assert_false(holds(check, 0x1000, 0x1001));
}

static void disjoint(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_DISJOINT, .step_b = 1, .value = {0, 256, 0, 256}};
    assert_true(holds(check, 0x1000, 0x1100));
    assert_true(holds(check, 0x1100, 0x1000));
    assert_false(holds(check, 0x1000, 0x10ff));
    assert_false(holds(check, 0x10ff, 0x1000));
    assert_false(holds(check, 0x1000, 0x1000));
    check = (struct guard_check){.kind = GUARD_DISJOINT, .step_b = 1, .value = {-8, 0, 0, 8}};
    assert_true(holds(check, 0x1000, 0x1000));
    assert_false(holds(check, 4, 0x1000)); /* starts before address 0 */
    check = (struct guard_check){.kind = GUARD_DISJOINT, .step_b = 1, .value = {0, 16, 0, 16}};
    assert_false(holds(check, UINT64_MAX - 4, 0x1000)); /* ends after the last address */
    check.value[1] = -16;                               /* ends before it starts */
    assert_false(holds(check, 0x1000, 0x8000));
}

static void inside(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_INSIDE, .value = {0, 0x1000}};
    assert_true(holds(check, 0x1000, 0));
    assert_false(holds(check, 0x1001, 0));
    assert_false(holds(check, 0x3000, 0));
    check = (struct guard_check){.kind = GUARD_INSIDE, .value = {-16, 16}};
    assert_true(holds(check, 0x1010, 0));
    assert_false(holds(check, 0x100f, 0));
    assert_false(holds(check, 8, 0));
    check = (struct guard_check){.kind = GUARD_INSIDE, .value = {0, INT64_MAX}};
    assert_false(holds(check, 0x1000, 0));
    assert_false(holds(check, UINT64_MAX - 1, 0));
    check = (struct guard_check){.kind = GUARD_INSIDE,
                                 .value = {0, 0x7000 + 16}}; /* reaches into the second one */
    assert_false(holds(check, 0x1000, 0));
}

static void apart(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_APART, .step_b = 1, .value = {0, 0, 0, 16}};
    assert_true(holds(check, 0x1000, 0x8000));
    assert_true(holds(check, 0x1000, 0x2000));
    assert_true(holds(check, 0x8000, 0x1000));
    assert_true(holds(check, 0x8000, 0x7ff0));
    assert_false(holds(check, 0x8000, 0x7ff1)); /* reaches into the allocation */
    assert_false(holds(check, 0x1000, 0x1ff8));
    assert_false(holds(check, 0x1010, 0x8000)); /* not where it begins */
    assert_false(holds(check, 0x3000, 0x8000)); /* no allocation */
    assert_false(holds(check, 0x1000, UINT64_MAX - 4));
    check.value[0] = 0x10;
    assert_true(holds(check, 0x1010, 0x8000));
    assert_false(holds(check, 0x1000, 0x8000));
}

static void aligned(void **state)
{
    (void)state;
    struct guard_check check = {.kind = GUARD_ALIGNED, .value = {16}};
    assert_true(holds(check, 0x1010, 0));
    assert_false(holds(check, 0x1008, 0));
    check.value[0] = 0;
    assert_false(holds(check, 0x1000, 0));
    check.value[0] = -16;
    assert_false(holds(check, 0x1000, 0));
}

static void without_allocations_nothing_is_inside(void **state)
{
    (void)state;
    uint64_t pointer = 0x1000;
    const unsigned char *arguments[] = {(unsigned char *)&pointer};
    const uint32_t size = 8;
    struct guard_view view = {arguments, &size, 1, NULL, NULL, NULL, NULL};
    struct guard_check check = {.kind = GUARD_INSIDE, .value = {0, 1}};
    assert_false(guard_holds(&check, 1, &view));
}

/* The one kind of memory is not taken for the other. */
static void memory_is_of_the_kind(void **state)
{
    (void)state;
    uint64_t pointer = 0x1000;
    const unsigned char *arguments[] = {(unsigned char *)&pointer};
    const uint32_t size = 8;
    struct guard_view private_memory = {arguments, &size, 1, find_allocation, NULL, NULL, NULL};
    struct guard_view open_memory = {arguments, &size, 1, NULL, find_allocation, NULL, NULL};
    struct guard_check check = {.kind = GUARD_INSIDE, .size = GUARD_OPEN, .value = {0, 16}};
    assert_true(guard_holds(&check, 1, &open_memory));
    assert_false(guard_holds(&check, 1, &private_memory));
    check.size = GUARD_PRIVATE;
    assert_true(guard_holds(&check, 1, &private_memory));
    assert_false(guard_holds(&check, 1, &open_memory));
}

static void all_checks_must_hold(void **state)
{
    (void)state;
    uint64_t pointer = 0x1000;
    const unsigned char *arguments[] = {(unsigned char *)&pointer};
    const uint32_t size = 8;
    struct guard_view view = {arguments, &size, 1, find_allocation, NULL, NULL, NULL};
    struct guard_check checks[] = {{.kind = GUARD_ALIGNED, .value = {16}},
                                   {.kind = GUARD_INSIDE, .value = {0, 16}}};
    assert_true(guard_holds(checks, 2, &view));
    checks[1].value[1] = 0x1001;
    assert_false(guard_holds(checks, 2, &view));
    assert_true(guard_holds(checks, 1, &view));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_checks_hold),
        cmocka_unit_test(value),
        cmocka_unit_test(nothing_outside_the_arguments_holds),
        cmocka_unit_test(difference),
        cmocka_unit_test(disjoint),
        cmocka_unit_test(inside),
        cmocka_unit_test(apart),
        cmocka_unit_test(aligned),
        cmocka_unit_test(without_allocations_nothing_is_inside),
        cmocka_unit_test(memory_is_of_the_kind),
        cmocka_unit_test(all_checks_must_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
