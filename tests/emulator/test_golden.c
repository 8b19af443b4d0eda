/* SPDX-License-Identifier: Apache-2.0
 * Every form of golden_cases.def gives the results that an H100 gave (golden_results.txt), bit for bit. */
#include "emulator/exec.h"
#include "emulator/memory.h"
#include "tests/emulator/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE_BYTES = 4096 };

/* False with a line on standard error when the emulator's results differ. */
static bool check_case(uint32_t index, const char *line, uint64_t in, uint64_t out)
{
    char text[GOLDEN_TEXT], *error;
    uint64_t parameters[2] = {in, out};
    golden_ptx(index, text);
    golden_inputs(index, (uint64_t(*)[3])(uintptr_t)in);
    struct emu_program *program = emu_program_load(golden_name(index), text, &error);
    assert_non_null(program);
    const struct emu_kernel *kernel = emu_program_kernel(program, "run");
    assert_non_null(kernel);
    struct emu_settings settings = {.workers = 1};
    struct emu_launch launch = {
        .kernel = kernel, .grid = {1, 1, 1}, .block = {GOLDEN_ROWS, 1, 1}, .parameters = parameters};
    struct emu_counts counts;
    struct emu_fault fault;
    bool is_good = emu_run(&settings, &launch, &counts, &fault, NULL, NULL);
    if (!is_good) fprintf(stderr, "%s: %s\n", golden_name(index), fault.message);
    const uint64_t *rows = (const uint64_t *)(uintptr_t)in, *results = (const uint64_t *)(uintptr_t)out;
    for (unsigned i = 0; is_good && i < GOLDEN_ROWS; i++) {
        char *end;
        uint64_t expected = strtoull(line, &end, 16);
        assert_ptr_not_equal(line, end);
        line = end;
        if (expected != results[i]) {
            fprintf(stderr, "%s: row %u: %llx %llx %llx gives %llx, not %llx\n", golden_name(index), i,
                    (unsigned long long)rows[3 * i], (unsigned long long)rows[3 * i + 1],
                    (unsigned long long)rows[3 * i + 2], (unsigned long long)results[i],
                    (unsigned long long)expected);
            is_good = false;
        }
    }
    emu_program_unload(program);
    return is_good;
}

static void test_golden(void **state)
{
    (void)state;
    char path[1024], line[LINE_BYTES];
    const char *source = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/emulator/golden_results.txt", source ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    uint64_t in = emu_memory_allocate(24 * GOLDEN_ROWS, EMU_MEMORY_DEVICE);
    uint64_t out = emu_memory_allocate(8 * GOLDEN_ROWS, EMU_MEMORY_DEVICE);
    unsigned wrong = 0, checked = 0;
    for (uint32_t i = 0; i < golden_count(); i++) {
        assert_non_null(fgets(line, sizeof line, file));
        if (line[0] == '-') continue;
        checked++;
        wrong += !check_case(i, line, in, out);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    emu_memory_release(in);
    emu_memory_release(out);
    fprintf(stderr, "%u forms, %u differ\n", checked, wrong);
    assert_true(checked > 500);
    assert_int_equal(wrong, 0);
}

/* the same without AVX2 and FMA */
static void test_golden_plain(void **state)
{
    setenv("KFUSE_EMULATOR_PLAIN", "1", 1);
    test_golden(state);
    unsetenv("KFUSE_EMULATOR_PLAIN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_golden_plain)};
    if (!emu_memory_open(1ull << 30)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
