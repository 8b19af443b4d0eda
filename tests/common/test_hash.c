/* SPDX-License-Identifier: Apache-2.0
 * Hashes are part of the file formats: the values themselves must never change. */
#include "common/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* From xxHash's own specification: XXH3 of nothing, seed 0. */
static void known_values(void **state)
{
    (void)state;
    char text[33];
    assert_true(hash_check("", 0) == 0x2d06800538d394c2u);
    hash_text(hash_bytes("", 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
}

static void every_byte_counts(void **state)
{
    (void)state;
    unsigned char bytes[600] = {0};
    for (size_t size = 1; size <= sizeof bytes; size += 7) {
        struct hash128 before = hash_bytes(bytes, size);
        uint64_t check = hash_check(bytes, size);
        assert_true(hash_equal(before, hash_bytes(bytes, size)));
        assert_false(hash_equal(before, hash_bytes(bytes, size - 1)));
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= 1;
            assert_false(hash_equal(before, hash_bytes(bytes, size)));
            assert_true(check != hash_check(bytes, size));
            bytes[at] ^= 1;
        }
    }
}

static void both_halves_are_compared(void **state)
{
    (void)state;
    assert_true(hash_equal((struct hash128){1, 2}, (struct hash128){1, 2}));
    assert_false(hash_equal((struct hash128){1, 2}, (struct hash128){1, 3}));
    assert_false(hash_equal((struct hash128){1, 2}, (struct hash128){0, 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(both_halves_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
