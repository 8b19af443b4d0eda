/* SPDX-License-Identifier: Apache-2.0
 * Names from C++ symbols, and from what only looks like one. */
#include "common/symbol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *symbol, *name, *last;
} symbols[] = {
    {"plain", "plain", "plain"},
    {"_Z4stepPfi", "step", "step"},
    {"_ZL4stepPfi", "step", "step"},
    {"_ZN3app4stepEPfi", "app::step", "step"},
    {"_ZN3app4stepIfEEvPT_", "app::step", "step"},
    {"_ZZ6reducePPKfiE4part", "part", "part"},
    {"_ZZN3app6reduceEPPKfiE4part", "part", "part"},
    {"_Z99999999999999999999x", "_Z99999999999999999999x", "_Z99999999999999999999x"},
    {"_Z5abc", "_Z5abc", "_Z5abc"},
    {"_ZN3app9abE", "app", "app"},
    {"_Z", "_Z", "_Z"},
    {"", "", ""},
};

static void names_are_those_in_the_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        char text[64], last[64];
        size_t length;
        const char *at = symbol_last_name(symbols[i].symbol, &length);
        snprintf(last, sizeof last, "%.*s", (int)length, at);
        assert_string_equal(symbol_name(symbols[i].symbol, text, sizeof text), symbols[i].name);
        assert_string_equal(last, symbols[i].last);
    }
}

static void names_are_cut_to_size(void **state)
{
    (void)state;
    char text[8];
    assert_string_equal(symbol_name("_ZN3app4stepEPfi", text, sizeof text), "app::st");
    assert_string_equal(symbol_name("much_too_long", text, sizeof text), "much_to");
}

static void names_in_a_text(void **state)
{
    char text[64];
    (void)state;
    assert_string_equal(
        symbol_names_in("kernel _ZN3app4fluxEPf, then _Z4stepPfi: a_Z4stepv", text, sizeof text),
        "kernel app::flux, then step: a_Z4stepv");
    assert_string_equal(symbol_names_in("_Z4stepPfi", text, 4), "ste");
    assert_string_equal(symbol_names_in("a text that is cut", text, 7), "a text");
    assert_string_equal(symbol_names_in("", text, sizeof text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_in_the_source),
        cmocka_unit_test(names_in_a_text),
        cmocka_unit_test(names_are_cut_to_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
