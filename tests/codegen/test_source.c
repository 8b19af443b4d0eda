/* SPDX-License-Identifier: Apache-2.0
 * The text of a fused kernel, against chain.golden.cu; and what its machine code counts. Set
 * KFUSE_TEST_ACCEPT to write the golden file again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/codegen/machine_code.h"
#include "tests/codegen/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct scene chain = {
    {{"chain_step", {4, 1, 1}, {256, 1, 1}, {POINTER(0), FLOAT(3.0), FLOAT(1.0), INT(1000)}},
     {"chain_step", {8, 1, 1}, {128, 1, 1}, {POINTER(0), FLOAT(2.0), FLOAT(0.5), INT(1000)}}},
    {{4096, 'f'}}};
static const struct codegen_alias alias = {1, 0, 0, 0};

/* Nothing is left to choose; 1000 elements leave threads idle, 1024 none. */
#define ADDS(n)                                                                                              \
    {                                                                                                        \
        {{"add", {4, 1, 1}, {256, 1, 1}, {POINTER(0), POINTER(1), POINTER(2), INT(n)}},                      \
         {"add_to", {4, 1, 1}, {256, 1, 1}, {POINTER(0), POINTER(3), INT(n)}}},                              \
        {                                                                                                    \
            {4096, 'f'}, {4096, 'f'}, {4096, 'f'},                                                           \
            {                                                                                                \
                4096, 'f'                                                                                    \
            }                                                                                                \
        }                                                                                                    \
    }
static const struct scene ragged = ADDS(1000), even = ADDS(1024);
static const struct scene counted = {
    {{"square_and_shift", {4, 1, 1}, {256, 1, 1}, {POINTER(0), POINTER(1), FLOAT(1.0), INT(1000)}},
     {"square_and_shift", {4, 1, 1}, {256, 1, 1}, {POINTER(2), POINTER(3), FLOAT(1.0), INT(1000)}}},
    {{4096, 'f'}, {4096, 'f'}, {4096, 'f'}, {4096, 'f'}}};

/* The device approximates the root of a constant otherwise than a compiler computes it. */
static const struct scene root_of_word = {
    {{"add", {4, 1, 1}, {256, 1, 1}, {POINTER(0), POINTER(1), POINTER(2), INT(1024)}},
     {"by_root", {4, 1, 1}, {256, 1, 1}, {POINTER(3), POINTER(0), INT(1024)}}},
    {{4096, 'f'}, {4096, 'f'}, {4096, 'f'}, {4096, 'f'}}};
static const struct scene root_of_constant = {
    {{"sevens", {4, 1, 1}, {256, 1, 1}, {POINTER(0), INT(1024)}},
     {"roots", {4, 1, 1}, {256, 1, 1}, {POINTER(1), POINTER(0), INT(1024)}}},
    {{4096, 'f'}, {4096, 'f'}}};
static const struct scene roots_of_elements = {
    {{"add", {4, 1, 1}, {256, 1, 1}, {POINTER(0), POINTER(1), POINTER(2), INT(1024)}},
     {"roots", {4, 1, 1}, {256, 1, 1}, {POINTER(3), POINTER(0), INT(1024)}}},
    {{4096, 'f'}, {4096, 'f'}, {4096, 'f'}, {4096, 'f'}}};

static char *read_text(const char *path)
{
    char *text = calloc(1, 1 << 16);
    FILE *file = fopen(path, "r");
    assert_non_null(text);
    if (file) {
        assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
        fclose(file);
    }
    return text;
}

static void the_source_is_as_kept(void **state)
{
    const char *top = getenv("top_srcdir");
    char path[4096];
    struct scene_run run;
    struct codegen_result result;
    (void)state;
    scene_open(&run, &chain);
    struct codegen_request request = {
        .group = run.group, .name = "chain_of_two", .sm = 90, .aliases = &alias, .alias_count = 1};
    codegen_write(&request, &result);
    assert_null(result.error);
    snprintf(path, sizeof path, "%s/tests/codegen/chain.golden.cu", top ? top : ".");
    if (getenv("KFUSE_TEST_ACCEPT")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(result.source, file);
        fclose(file);
    }
    char *golden = read_text(path);
    assert_string_equal(result.source, golden);
    free(golden);
    codegen_result_clear(&result);
    scene_close(&run);
}

static void parameters_are_words_of_the_members(void **state)
{
    struct scene_run run;
    struct codegen_result result;
    (void)state;
    scene_open(&run, &chain);
    struct codegen_request request = {
        .group = run.group, .name = "chain_of_two", .sm = 90, .aliases = &alias, .alias_count = 1};
    codegen_write(&request, &result);
    assert_int_equal(result.parameter_count, 5); /* one pointer for both; a and b each; n is known */
    for (uint32_t i = 0; i < result.parameter_count; i++) {
        const struct codegen_parameter *parameter = &result.parameters[i];
        assert_int_equal(parameter->destination_offset % parameter->alignment, 0);
        assert_true(parameter->destination_offset + parameter->size <= result.parameter_bytes);
        assert_true(parameter->size == 4 || parameter->member == 0);
    }
    codegen_result_clear(&result);
    scene_close(&run);
}

static void assert_written_for(const struct scene *scene, uint32_t parameters, const char *there,
                               const char *missing)
{
    struct scene_run run;
    struct codegen_result result;
    scene_open(&run, scene);
    struct codegen_request request = {.group = run.group, .name = "two", .sm = 90};
    codegen_write(&request, &result);
    assert_int_equal(result.may_contract, scene == &counted);
    assert_int_equal(result.parameter_count, parameters);
    if (!strstr(result.source, there)) fail_msg("no %s in %s", there, result.source);
    if (missing && strstr(result.source, missing)) fail_msg("%s in %s", missing, result.source);
    codegen_result_clear(&result);
    scene_close(&run);
}

static void what_is_known_of_launches_is_no_parameter(void **state)
{
    (void)state;
    assert_written_for(&ragged, 5, "\"r\"((unsigned int)(unsigned int)1000u)", "_at_24_4");
    assert_written_for(&ragged, 5, "exit;", NULL); /* threads without an element leave */
    assert_written_for(&even, 5, "\"r\"((unsigned int)(unsigned int)1024u)", "exit;");
    assert_written_for(&even, 5, "m1_end:", "bra");
    assert_written_for(&counted, 8, "m0_at_20_4",
                       "1000u"); /* as many operations as in the members themselves */
}

static void assert_approximated(const struct scene *scene, bool is_specialized, bool is_proven)
{
    struct scene_run run;
    struct codegen_result result;
    scene_open(&run, scene);
    struct codegen_request request = {.group = run.group, .name = "two", .sm = 90};
    codegen_compile(&request, &result);
    if (result.error) fail_msg("%s", result.error);
    assert_int_equal(result.is_specialized, is_specialized);
    if (is_proven == !!result.unproven) fail_msg("%s", result.unproven ? result.unproven : "proven");
    struct machine_code_counts counts;
    assert_true(machine_code_count(result.cubin, result.cubin_size, "two", &counts));
    assert_int_equal(counts.functions, is_proven);
    codegen_result_clear(&result);
    scene_close(&run);
}

static void the_device_approximates(void **state)
{
    (void)state;
    assert_approximated(&roots_of_elements, true, true);
    assert_approximated(&root_of_word, false, true);
    assert_approximated(&root_of_constant, false, false);
}

static void machine_code_is_counted(void **state)
{
    struct scene_run run;
    struct codegen_result result;
    (void)state;
    scene_open(&run, &chain);
    struct codegen_request request = {.group = run.group, .name = "chain_of_two", .sm = 90};
    codegen_compile(&request, &result);
    if (result.error) fail_msg("%s", result.error);
    struct machine_code_counts counts;
    assert_true(machine_code_count(result.cubin, result.cubin_size, "chain_of_two", &counts));
    assert_int_equal(counts.of[MACHINE_CODE_FFMA], 2);
    assert_int_equal(counts.of[MACHINE_CODE_DFMA], 0);
    assert_int_equal(counts.unknown, 0);
    assert_false(machine_code_count(result.cubin, result.cubin_size, "another", &counts));
    assert_true(result.registers > 0 && result.registers < 64);
    assert_int_equal(result.spill_bytes, 0);
    codegen_result_clear(&result);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_is_as_kept),
        cmocka_unit_test(parameters_are_words_of_the_members),
        cmocka_unit_test(what_is_known_of_launches_is_no_parameter),
        cmocka_unit_test(the_device_approximates),
        cmocka_unit_test(machine_code_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
