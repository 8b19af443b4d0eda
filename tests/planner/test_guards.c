/* SPDX-License-Identifier: Apache-2.0
 * Guards that the planner makes of recorded launches hold for launches that differ in nothing that matters,
 * and for no others; and the projection that groups are chosen by. */
#include "fuser/planner/guards.h"
#include "fuser/planner/situations.h"
#include "tests/common/temporary.h"
#include "tests/planner/written_trace.h"

#include <math.h>
#include <isl/options.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum {
    A = 0x7f0000000000,
    ARRAY = 8192,
    B = A + 2 * ARRAY,
    ELSEWHERE = A + 100 * ARRAY,
    BYTES = 4 * WRITTEN_N
};
enum { POINTER = 0, FACTOR = 8, COUNT = 12, ARGUMENTS = 16 }; /* offsets */
static struct written_trace trace;

static void start(void)
{
    written_start(&trace, temporary_path, IMAGE_PTX);
    written_array(&trace, A, ARRAY);
    written_array(&trace, B, ARRAY);
}

/* --- a search, and the conditions of its only group --- */
struct planned {
    struct planner_options options;
    struct program *program;
    isl_ctx *ctx;
    struct deadline deadline;
    struct launch_classes classes;
    struct pairs pairs;
    struct search search;
    const struct group_conditions *conditions;
};

static struct runs *open_runs(char *error, size_t size)
{
    return runs_open(&(const char *){temporary_path}, 1, false, error, size);
}

static void read_trace(struct planned *planned)
{
    char error[512];
    memset(planned, 0, sizeof *planned);
    written_end(&trace);
    planner_defaults(&planned->options);
    planned->options.only = ~(1u << GROUP_INTER_BLOCK); /* a second group of launches that share nothing */
    planned->program = program_read(open_runs(error, sizeof error), error, sizeof error);
    if (!planned->program) fail_msg("%s", error);
    planned->ctx = isl_ctx_alloc();
    isl_options_set_on_error(planned->ctx, ISL_ON_ERROR_CONTINUE);
    deadline_open(&planned->deadline, planned->ctx, deadline_now(), 0);
    assert_true(launch_classes_build(&planned->classes, planned->program, &planned->deadline,
                                     &(struct launch_watch){0}));
    assert_true(pairs_open(&planned->pairs, &planned->classes, &(struct planner_options){0}));
}

static void plan(struct planned *planned)
{
    read_trace(planned);
    if (!search_run(&planned->search, &planned->options, &planned->pairs))
        fail_msg("%s", planned->search.error);
    assert_int_equal(planned->search.group_count, 1);
    planned->conditions = guards_make(&planned->search, planned->search.groups[0]);
    assert_non_null(planned->conditions);
}

static void clear(struct planned *planned)
{
    search_free(&planned->search);
    pairs_close(&planned->pairs);
    launch_classes_free(&planned->classes);
    isl_ctx_free(planned->ctx);
    program_free(planned->program);
}

/* --- launches to try them on --- */
struct tried {
    uint64_t pointer;
    float factor;
    uint32_t n;
};

static bool in_an_array(const void *context, uint64_t address, uint64_t *start_of, uint64_t *size)
{
    static const uint64_t arrays[] = {A, B, ELSEWHERE, ELSEWHERE + ARRAY};
    (void)context;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (address >= arrays[i] && address - arrays[i] < ARRAY) {
            *start_of = arrays[i];
            *size = ARRAY;
            return true;
        }
    return false;
}

static bool words_agree(const struct step_condition *condition, const unsigned char *arguments)
{
    for (uint32_t i = 0; i < ARGUMENTS; i++)
        if ((arguments[i] & condition->mask[i]) != condition->value[i]) return false;
    return true;
}

/* Whether two launches match, step by step as in replay. */
static bool matches(const struct planned *planned, struct tried first, struct tried second)
{
    const unsigned char *arguments[2] = {(unsigned char *)&first, (unsigned char *)&second};
    const uint32_t sizes[2] = {ARGUMENTS, ARGUMENTS};
    for (uint32_t step = 0; step < 2; step++) {
        const struct step_condition *condition = &planned->conditions->steps[step];
        const struct guard_view view = {arguments, sizes, step + 1, in_an_array, in_an_array, NULL, NULL};
        if (!words_agree(condition, arguments[step])) return false;
        if (!guard_holds(condition->checks, condition->check_count, &view)) return false;
    }
    return true;
}

/* The first step alone. */
static bool holds_at(const struct planned *planned, struct tried first)
{
    const unsigned char *arguments[1] = {(unsigned char *)&first};
    const uint32_t sizes[1] = {ARGUMENTS};
    const struct step_condition *condition = &planned->conditions->steps[0];
    const struct guard_view view = {arguments, sizes, 1, in_an_array, in_an_array, NULL, NULL};
    return guard_holds(condition->checks, condition->check_count, &view);
}

/* The plan of two launches that scale an array each. */
static void plan_pair(struct planned *planned, uint64_t first, uint64_t second)
{
    start();
    written_launch(&trace, WRITTEN_SCALE, first, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCALE, second, 2.0f, WRITTEN_N);
    plan(planned);
}

#define TRIED(pointer_, factor_, n_) ((struct tried){(uint64_t)(pointer_), factor_, n_})

static uint32_t count_of(const struct planned *planned, enum plan_effect_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < planned->conditions->effect_count; i++)
        count += planned->conditions->effects[i].kind == kind;
    return count;
}

static void test_one_array(void **state)
{
    struct planned planned;
    (void)state;
    plan_pair(&planned, A, A);
    const uint32_t n = WRITTEN_N;
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_true(matches(&planned, TRIED(A, 7.0f, n), TRIED(A, -1.0f, n)));
    assert_true(matches(&planned, TRIED(ELSEWHERE + 64, 0.5f, n), TRIED(ELSEWHERE + 64, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n - 1), TRIED(A, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A, 2.0f, n + 1)));
    assert_true(matches(&planned, TRIED(A + ARRAY - BYTES, 0.5f, n), TRIED(A + ARRAY - BYTES, 2.0f, n)));
    const uint64_t last = A + ARRAY - BYTES + 4; /* beyond the end by one element */
    assert_false(matches(&planned, TRIED(last, 0.5f, n), TRIED(last, 2.0f, n)));
    assert_false(matches(&planned, TRIED(0, 0.5f, n), TRIED(0, 2.0f, n)));
    assert_int_equal(count_of(&planned, PLAN_WRITES), 1);
    assert_int_equal(planned.conditions->effects[0].from, 0);
    assert_int_equal(planned.conditions->effects[0].to, BYTES);
    assert_true(planned.conditions->effects[0].is_exact);
    clear(&planned);
}

static void test_two_arrays(void **state)
{
    struct planned planned;
    (void)state;
    plan_pair(&planned, A, B);
    const uint32_t n = WRITTEN_N;
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_true(matches(&planned, TRIED(B, 0.5f, n), TRIED(ELSEWHERE, 2.0f, n)));
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES - 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_false(matches(&planned, TRIED(B + 8, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_int_equal(count_of(&planned, PLAN_WRITES), 2);
    clear(&planned);
}

/* Two halves of one allocation stay apart, as two arrays do; parts that overlap stay as far from each other as they were. */
static void test_parts_of_an_array(void **state)
{
    struct planned planned;
    (void)state;
    plan_pair(&planned, A, A + BYTES);
    const uint32_t n = WRITTEN_N;
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES, 2.0f, n)));
    assert_true(matches(&planned, TRIED(B + 16, 0.5f, n), TRIED(B + 16 + BYTES, 2.0f, n)));
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES + 4, 2.0f, n)));
    assert_true(matches(&planned, TRIED(A + BYTES, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(B + 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES - 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A + 4, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A + ARRAY - BYTES, 0.5f, n), TRIED(A + ARRAY, 2.0f, n)));
    assert_int_equal(count_of(&planned, PLAN_WRITES), 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(planned.conditions->effects[i].from, 0);
        assert_int_equal(planned.conditions->effects[i].to, BYTES);
    }
    clear(&planned);
    plan_pair(&planned, A, A + BYTES - 4);
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES - 4, 2.0f, n)));
    assert_true(matches(&planned, TRIED(B + 16, 0.5f, n), TRIED(B + 16 + BYTES - 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + BYTES - 8, 2.0f, n)));
    assert_int_equal(count_of(&planned, PLAN_WRITES), 1);
    assert_int_equal(planned.conditions->effects[0].to, 2 * BYTES - 4);
    clear(&planned);
}

/* Whoever writes anywhere in an allocation has it alone, from its first byte on. */
static void test_written_anywhere(void **state)
{
    struct planned planned;
    (void)state;
    start();
    written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCATTER, B, 2.0f, WRITTEN_N);
    plan(&planned);
    const uint32_t n = WRITTEN_N;
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_true(matches(&planned, TRIED(B, 0.5f, n), TRIED(ELSEWHERE, 1.0f, n)));
    assert_true(matches(&planned, TRIED(A + BYTES, 0.5f, n), TRIED(ELSEWHERE + ARRAY, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(B + 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(B + ARRAY - BYTES, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_int_equal(count_of(&planned, PLAN_WRITES), 2);
    for (uint32_t i = 0; i < planned.conditions->effect_count; i++) {
        const struct plan_effect *effect = &planned.conditions->effects[i];
        assert_int_equal(effect->is_exact, effect->step == 0);
        assert_int_equal(effect->to, effect->step == 0 ? BYTES : 0);
    }
    clear(&planned);
    start();
    written_launch(&trace, WRITTEN_SCATTER, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_SCATTER, B, 2.0f, WRITTEN_N);
    plan(&planned);
    assert_true(matches(&planned, TRIED(A, 0.5f, n), TRIED(B, 2.0f, n)));
    assert_true(matches(&planned, TRIED(ELSEWHERE, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A, 0.5f, n), TRIED(A + 4, 2.0f, n)));
    assert_false(matches(&planned, TRIED(A + 4, 0.5f, n), TRIED(B, 2.0f, n)));
    /* also where it is the only array, as of a bystander */
    struct search_group alone = {.step_count = 1, .launches = {1}, .roles = {PLAN_MEMBER}};
    planned.conditions = guards_make(&planned.search, &alone);
    assert_non_null(planned.conditions);
    assert_true(holds_at(&planned, TRIED(ELSEWHERE, 2.0f, n)));
    assert_false(holds_at(&planned, TRIED(ELSEWHERE + 4, 2.0f, n)));
    clear(&planned);
}

/* What a launch that is passed over writes is not the group's. */
static void test_effects_are_the_members(void **state)
{
    struct planned planned;
    (void)state;
    start();
    written_launch(&trace, WRITTEN_SCALE, B, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_BARRIER, A, 0.5f, WRITTEN_N);
    written_launch(&trace, WRITTEN_FROM_ONE, B, 2.0f, WRITTEN_N - 1);
    plan(&planned);
    assert_int_equal(planned.search.groups[0]->step_count, 3);
    assert_int_equal(count_of(&planned, PLAN_WRITES), 1);
    assert_int_equal(planned.conditions->effects[0].step, 0);
    assert_int_equal(planned.conditions->effects[0].from, 0);
    assert_int_equal(planned.conditions->effects[0].to, BYTES);
    assert_int_equal(count_of(&planned, PLAN_TOUCH_WRITTEN), 3);
    clear(&planned);
}

static void test_what_is_guarded(void **state)
{
    struct planned planned;
    (void)state;
    plan_pair(&planned, A, A);
    const uint32_t n = WRITTEN_N;
    for (uint32_t step = 0; step < 2; step++) {
        const struct step_condition *condition = &planned.conditions->steps[step];
        for (uint32_t i = POINTER; i < COUNT; i++) assert_int_equal(condition->mask[i], 0);
        for (uint32_t i = COUNT; i < ARGUMENTS; i++) assert_int_equal(condition->mask[i], 0xff);
        assert_memory_equal(condition->value + COUNT, &n, sizeof n);
    }
    clear(&planned);
}

/* --- projection --- */
static const struct projection model = {.bytes_per_ns = 2000,
                                        .floor_ns = 1500,
                                        .gap_ns = 1000,
                                        .host_ns = 3000,
                                        .registers_per_multiprocessor = 65536,
                                        .shared_per_multiprocessor = 64 << 10,
                                        .threads_per_multiprocessor = 2048};

static double fused_ns(struct projection_kernel kernel)
{
    static const uint64_t times[3] = {2500, 4500, 1500}; /* bodies of 1000, 3000 and 0 */
    struct projected projected = projection_group(&model, times, 3, &kernel);
    assert_float_equal(projected.original_ns, 8500 + 2 * 1000, 1e-6);
    return projected.fused_ns;
}

static void test_projection(void **state)
{
    (void)state;
    assert_float_equal(fused_ns((struct projection_kernel){0}), 1500 + 4000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.saved_ns = 1000}), 1500 + 3000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.saved_ns = -2000}), 1500 + 6000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.repeated_ns = 700}), 1500 + 4700, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.waiting_ns = 700}), 1500 + 4700, 1e-6);
    /* Instructions take as long as they take, beside memory's time; what its traffic takes at least adds to them in part, and more
     * where half of the threads are resident. */
    assert_float_equal(fused_ns((struct projection_kernel){.issued_ns = 3900}), 1500 + 4000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.issued_ns = 9000}), 1500 + 9000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.issued_ns = 9000, .moved_ns = 1}), 1500 + 9000,
                       1);
    assert_float_equal(fused_ns((struct projection_kernel){.issued_ns = 9000, .moved_ns = 9000}),
                       1500 + 9000 * sqrt(2), 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.moved_ns = 9000, .registers = 64, .threads = 256}),
        1500 + 9000 * pow(0.75 / 0.5, 0.9), 1e-6);
    /* half of the threads that its members have apart, but where all of its blocks are resident; short rows */
    assert_float_equal(
        fused_ns((struct projection_kernel){.alone_share = 1, .registers = 64, .threads = 256}),
        1500 + 4000 * sqrt(2), 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.alone_share = 0.25, .registers = 64, .threads = 256}),
        1500 + 4000, 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.alone_share = 1, .fits = true, .registers = 64, .threads = 256}),
        1500 + 4000, 1e-6);
    assert_float_equal(fused_ns((struct projection_kernel){.is_deep = true}), 1500 + 4000 * 1.15, 1e-6);
    /* never more than nine tenths of the bodies */
    assert_float_equal(fused_ns((struct projection_kernel){.saved_ns = 4000}), 1500 + 400, 1e-6);
    /* a block of 256 threads is alone on its multiprocessor, an eighth of the threads: 255 registers, much of
     * shared memory; half of the threads are wanted, a quarter where they have loops */
    assert_float_equal(fused_ns((struct projection_kernel){.registers = 255, .threads = 256}),
                       1500 + 4 * 4000, 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.registers = 255, .threads = 256, .has_loops = true}),
        1500 + 2 * 4000, 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.static_shared = 48 << 10, .registers = 32, .threads = 256}),
        1500 + 4 * 4000, 1e-6);
    assert_float_equal(
        fused_ns((struct projection_kernel){.static_shared = 8 << 10, .registers = 32, .threads = 256}),
        1500 + 4000, 1e-6);
}

/* Twice what once is done at the beginning, and three steps: what the device takes longest for first, then what comes once. */
static void test_situations(void **state)
{
    struct planned planned;
    (void)state;
    start();
    trace.kernel_ns = 50000;
    for (int i = 0; i < 2; i++) written_launch(&trace, WRITTEN_SCALE, B, 0.5f, WRITTEN_N / 2 + (uint32_t)i);
    written_wall(&trace);
    for (int i = 0; i < 3; i++) {
        trace.kernel_ns = 1000;
        written_launch(&trace, WRITTEN_FROM_ONE, A, 0.5f, WRITTEN_N);
        trace.kernel_ns = 3000;
        written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
        written_wall(&trace);
    }
    read_trace(&planned);
    assert_true(search_open(&planned.search, &planned.options, &planned.pairs));
    assert_true(situations_find(&planned.search, &planned.search.situations));
    const struct situations *found = &planned.search.situations;
    static const uint32_t expected[] = {3, 2, 0, 1}, of[] = {0, 1, 2, 3, 2, 3, 2, 3};
    assert_int_equal(found->count, 4);
    assert_int_equal(found->recurring, 2);
    assert_memory_equal(found->launches, expected, sizeof expected);
    assert_memory_equal(found->of, of, sizeof of);
    clear(&planned);
}

static void test_calibration(void **state)
{
    char error[512];
    (void)state;
    start();
    trace.kernel_ns = 1000;
    for (int i = 0; i < 5; i++) written_launch(&trace, WRITTEN_SCALE, A, 0.5f, WRITTEN_N);
    written_end(&trace);
    struct program *program = program_read(open_runs(error, sizeof error), error, sizeof error);
    assert_non_null(program);
    struct projection measured = projection_calibrate(program);
    assert_float_equal(measured.floor_ns, 1000, 1e-6);
    assert_float_equal(measured.gap_ns, 2000 + 100 - 1000, 1e-6);
    assert_float_equal(measured.host_ns, 2000, 1e-6);
    assert_float_equal(measured.bytes_per_ns, 2 * 2.619 * 640 * 0.89, 1);
    assert_int_equal(measured.threads_per_multiprocessor, 2048);
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_array),         cmocka_unit_test(test_two_arrays),
        cmocka_unit_test(test_parts_of_an_array), cmocka_unit_test(test_effects_are_the_members),
        cmocka_unit_test(test_written_anywhere),  cmocka_unit_test(test_what_is_guarded),
        cmocka_unit_test(test_projection),        cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_situations),
    };
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
