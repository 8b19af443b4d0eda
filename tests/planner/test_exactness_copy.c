/* SPDX-License-Identifier: Apache-2.0
 * What a kernel's code contracts, told of a copy of its function in which an unrolled loop is written as it was. */
#include "fuser/planner/exactness_copy.h"
#include "fuser/kernel/product.h"
#include "fuser/kernel/reroll.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* The kernel of this name in unrolled.ptx, and its copy. */
struct fixture {
    struct arena *arena;
    struct ptx_module *module;
    const struct ptx_function *function;
    const struct reroll *reroll;
    struct contraction *contractions;
};

static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    *length = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

static void open_fixture(struct fixture *fixture)
{
    const char *source = getenv("top_srcdir"), *error = NULL;
    char path[4096];
    size_t length;
    snprintf(path, sizeof path, "%s/tests/analysis/unrolled.ptx", source ? source : ".");
    char *text = read_text(path, &length);
    *fixture = (struct fixture){.arena = arena_create(), .module = ptx_parse(path, text, length, &error)};
    free(text);
    assert_non_null(fixture->module);
    fixture->function = ptx_find_function(fixture->module, "products");
    assert_non_null(fixture->function);
    fixture->reroll = reroll_find(fixture->arena, fixture->function);
    assert_non_null(fixture->reroll);
    fixture->contractions =
        arena_calloc(fixture->arena, fixture->function->instruction_count, sizeof *fixture->contractions);
}

static void close_fixture(struct fixture *fixture)
{
    reroll_close(fixture->reroll);
    ptx_module_free(fixture->module);
    arena_free(fixture->arena);
}

/* Products are rounded, or each is contracted into the sum behind it. Copies of the loop's body, in order. */
static uint32_t contract_all(struct fixture *fixture)
{
    uint32_t product = 0, sums = 0;
    for (uint32_t i = 0; i < fixture->function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &fixture->function->instructions[i];
        if (!product_may_contract(instruction)) continue;
        if (instruction->opcode == PTX_OP_MUL) {
            fixture->contractions[i].round = true;
            product = i;
        } else {
            fixture->contractions[i] = (struct contraction){.summand = 1, .product = product};
            sums++;
        }
    }
    return sums;
}

static const struct contraction *tell(const struct fixture *fixture, const struct ptx_function *copy)
{
    struct callees callees;
    return callees_find(fixture->arena, fixture->function, &callees)
               ? exactness_copy(fixture->arena, &callees, fixture->contractions, copy)
               : NULL;
}

static void tells_of_each_instruction(void **state)
{
    struct fixture fixture;
    uint32_t sums = 0;
    (void)state;
    open_fixture(&fixture);
    assert_true(contract_all(&fixture) >= 4);
    const struct ptx_function *copy = fixture.reroll->function;
    const struct contraction *told = tell(&fixture, copy);
    assert_non_null(told);
    for (uint32_t i = 0; i < copy->instruction_count; i++) {
        const struct ptx_instruction *instruction = &copy->instructions[i];
        bool may = product_may_contract(instruction), is_product = instruction->opcode == PTX_OP_MUL;
        assert_int_equal(told[i].round, may && is_product);
        assert_int_equal(told[i].summand, may && !is_product);
        if (!told[i].summand) continue;
        sums++;
        assert_int_equal(copy->instructions[told[i].product].opcode, PTX_OP_MUL);
        assert_int_equal(copy->instructions[told[i].product].operands[0].reg, instruction->operands[1].reg);
    }
    assert_int_equal(sums, 1);
    close_fixture(&fixture);
}

static void refuses_turns_that_differ(void **state)
{
    (void)state;
    for (uint32_t other = 0; other < 5; other++) {
        struct fixture fixture;
        uint32_t sum = 0;
        open_fixture(&fixture);
        contract_all(&fixture);
        for (uint32_t i = 0; i < fixture.function->instruction_count; i++)
            if (fixture.contractions[i].summand && sum++ == other)
                fixture.contractions[i] = (struct contraction){.round = true};
        assert_true(sum > other);
        assert_null(tell(&fixture, fixture.reroll->function));
        close_fixture(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_of_each_instruction),
        cmocka_unit_test(refuses_turns_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
