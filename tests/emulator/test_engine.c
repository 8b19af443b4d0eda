/* SPDX-License-Identifier: Apache-2.0
 * Kernels that nvcc compiled (engine_kernels.cu) compute what C computes: control flow, barriers, warps,
 * atomics, memory spaces, calls; in the fixed order and in random ones. */
#include "tests/emulator/engine_fixture.h"

enum { SEEDS = 5 };

static int expected_branches(int i, int value)
{
    int sum = 0;
    for (int k = 0; k < value; k++) {
        if (k % 3 == 0) continue;
        if (k > 20 && (i & 1)) break;
        sum += (k & 1) ? k * i : -k;
    }
    switch (value & 7) {
    case 0:
        return sum + 100;
    case 1:
        return sum - 7;
    case 2:
        return sum * 3;
    case 3:
        return sum ^ 0x55;
    case 4:
        return ~sum;
    case 5:
        return (int)((unsigned)sum << 2);
    }
    return sum + i;
}

static void test_branches(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    int *in = fixture_memory(sizeof(int) * 384), *out = fixture_memory(sizeof(int) * 384);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        for (int i = 0; i < COUNT; i++) {
            in[i] = i % 50 - 5;
            out[i] = -99;
        }
        assert_true(fixture_run("branches", 3, 100, 0, 2, ADDRESS(out), ADDRESS(in)));
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[i], in[i] < 0 ? -99 : expected_branches(i, in[i]));
    }
    fixture_free(in);
    fixture_free(out);
}

static void test_reduction(void **state)
{
    (void)state;
    int *in = fixture_memory(4096), *out = fixture_memory(64);
    for (int i = 0; i < 1000; i++) in[i] = i * i;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        memset(out, 0, 64);
        assert_true(fixture_run("reduce", 4, 256, 0, 3, ADDRESS(out), ADDRESS(in), 1000ull));
        for (int b = 0; b < 4; b++) {
            int sum = 0;
            for (int i = b * 256; i < b * 256 + 256 && i < 1000; i++) sum += i * i;
            assert_int_equal(out[b], sum);
        }
    }
    fixture_free(in);
    fixture_free(out);
}

static void test_barriers(void **state)
{
    (void)state;
    int *out = fixture_memory(4096);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        assert_true(fixture_run("early_exit", 1, 128, 0, 1, ADDRESS(out)));
        for (int i = 0; i < 128; i += 2) assert_int_equal(out[i], (i + 2) % 128);
        assert_true(fixture_run("barrier_votes", 1, 100, 0, 1, ADDRESS(out)));
        for (int i = 0; i < 100; i++) assert_int_equal(out[i], 34 * 4 + 2 + 1);
        assert_true(fixture_run("named_barriers", 1, 128, 0, 1, ADDRESS(out)));
        for (int i = 0; i < 128; i++) assert_int_equal(out[i], i / 64 * 64 + (i + 4 * 33) % 64 + 4);
        assert_true(fixture_run("handshake", 1, 64, 0, 1, ADDRESS(out)));
        assert_int_equal(out[63], 63);
    }
    fixture_free(out);
}

static void test_shuffles(void **state)
{
    (void)state;
    int *out = fixture_memory(64 * 12 * sizeof(int));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        assert_true(fixture_run("shuffles", 1, 64, 0, 1, ADDRESS(out)));
        for (int t = 0; t < 64; t++) {
            const int *row = out + t * 12;
            int lane = t % 32, first = t - lane;
            unsigned same = 0, ballot = 0;
            for (int k = 0; k < 32; k++) {
                same |= (unsigned)(k / 7 == lane / 7) << k;
                ballot |= (unsigned)(k % 5 == 0) << k;
            }
            assert_int_equal(row[0], (first + 5) * 3);
            assert_int_equal(row[1], (lane < 3 ? t : t - 3) * 3);
            assert_int_equal(row[2], (lane % 8 > 3 ? t : t + 4) * 3);
            assert_int_equal(row[3], (first + (lane ^ 9)) * 3);
            assert_int_equal(row[4], (first + lane / 16 * 16 + (lane + 1) % 16) * 3);
            assert_true((unsigned)row[5] == ballot);
            assert_int_equal(row[6], 1);
            assert_true((unsigned)row[7] == same);
            assert_int_equal(row[8], 0);
            assert_int_equal(row[9], 31 * 16);
            assert_int_equal(row[10], -9);
            if (lane >= 10)
                assert_int_equal(row[11], (first + (lane ^ 1)) * 3);
            else if (seed == 0)
                assert_int_equal(row[11], 0x3ff);
        }
    }
    fixture_free(out);
}

static void test_atomics(void **state)
{
    (void)state;
    enum { BLOCKS = 200, THREADS = 256, ALL = BLOCKS * THREADS };
    int *counters = fixture_memory(64);
    float *sum = fixture_memory(4);
    double *sum64 = fixture_memory(8);
    uint64_t *big = fixture_memory(8);
    for (int has_sums = 0; has_sums < 2; has_sums++) {
        fixture.settings.workers = 2;
        memset(counters, 0, 64);
        counters[5] = -1;
        *big = 0;
        assert_true(fixture_run("atomics", BLOCKS, THREADS, 0, 4, ADDRESS(counters),
                                has_sums ? ADDRESS(sum) : 0ull, ADDRESS(sum64), ADDRESS(big)));
        assert_int_equal(counters[0], ALL);
        assert_int_equal(counters[1], ALL - 1);
        assert_int_equal(counters[2], -(ALL - 1));
        assert_int_equal(counters[3], 0);
        assert_int_equal(counters[4], -1);
        assert_int_equal(counters[5], (int)0xffff0000);
        assert_int_equal(counters[6], 2 * ALL);
        assert_true(*big == ALL * 0x100000001ull);
    }
    assert_true(*sum == ALL / 2 && *sum64 == ALL / 4);
    assert_int_equal(counters[7], ALL % 100);
    assert_int_equal(counters[8], 2 * ALL);
    assert_int_equal(counters[9] + counters[10], (int)((int64_t)ALL * (ALL - 1) / 2));
    fixture_free(counters);
    fixture_free(sum);
    fixture_free(sum64);
    fixture_free(big);
}

/* integer atomics without results run on several workers */
static void test_atomics_workers(void **state)
{
    (void)state;
    uint32_t *order = fixture_memory(4 * 65536), *count = fixture_memory(4);
    fixture.settings.workers = 4;
    assert_true(fixture_run("count_up", 256, 256, 0, 2, ADDRESS(count), ADDRESS(order)));
    assert_int_equal(*count, 65536);
    for (uint32_t i = 0; i < 65536; i++)
        assert_int_equal(order[i], i); /* results matter: one worker, in order */
    fixture_free(order);
    fixture_free(count);
}

static void test_spaces(void **state)
{
    (void)state;
    int *out = fixture_memory(1024);
    double *values = fixture_memory(1024);
    assert_true(fixture_run("dynamic_shared", 1, 64, 256, 1, ADDRESS(out)));
    for (int i = 0; i < 64; i++) assert_int_equal(out[i], (63 - i) * 2 + 5);
    assert_true(fixture_run("local_array", 1, 64, 0, 2, ADDRESS(out), 3ull));
    for (int t = 0; t < 64; t++) {
        int a[32], s = 0;
        for (int k = 0; k < 32; k++) a[(k * 7 + 3) & 31] = k + t;
        for (int k = 0; k < 32; k++) s = (int)((unsigned)s * 3 + (unsigned)a[(k + t) & 31]);
        assert_int_equal(out[t], s);
    }
    struct {
        double *out;
        struct {
            double scale;
            int offset;
            short step[3];
            char tag;
        } settings;
    } parameters = {values, {2.5, -100, {10, 20, 30}, 'A'}};
    assert_true(fixture_run_packed("variables", 1, 48, 0, &parameters));
    static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (int i = 0; i < 48; i++)
        assert_true(values[i] == 2.5 * table[i & 7] - 100 + 10 * (i % 3 + 1) + 'A' + 17);
    for (int use_shared = 0; use_shared < 2; use_shared++) {
        memset(out, 0, 1024);
        assert_true(fixture_run("generic", 1, 64, 0, 2, ADDRESS(out), (uint64_t)use_shared));
        for (int i = 0; i < 64; i++) {
            int at = use_shared ? (i ^ 1) + 10 : i & 1 ? (i & 3) + 11 : 10;
            int own = use_shared ? i + 10 : i, last = !use_shared && (i & 3) == 3 ? 14 : 4;
            assert_int_equal(out[i], at + last + own);
        }
    }
    fixture_free(out);
    fixture_free(values);
}

static void test_vectors(void **state)
{
    (void)state;
    float(*in)[4] = fixture_memory(1024), (*out)[4] = fixture_memory(1024);
    unsigned char *bytes = fixture_memory(64);
    short(*shorts)[2] = fixture_memory(256);
    for (int i = 0; i < 40; i++) {
        bytes[i] = (unsigned char)(i * 6);
        for (int k = 0; k < 4; k++) in[i][k] = (float)(i + k * 100);
    }
    assert_true(
        fixture_run("vectors", 1, 40, 0, 4, ADDRESS(out), ADDRESS(in), ADDRESS(bytes), ADDRESS(shorts)));
    for (int i = 0; i < 40; i++) {
        assert_true(out[i][0] == in[i][0] + bytes[i] && out[i][1] == in[i][1] && out[i][2] == in[i][2]);
        assert_true(out[i][3] == in[i][1] * in[i][2]);
        assert_int_equal(shorts[i][0], -i);
        assert_int_equal(shorts[i][1], (signed char)bytes[i]);
    }
    assert_int_equal(fixture.counts.load_bytes, 40 * 16 + 64);
    assert_int_equal(fixture.counts.store_bytes, 40 * 16 + 160);
    fixture_free(in);
    fixture_free(out);
    fixture_free(bytes);
    fixture_free(shorts);
}

static void test_calls(void **state)
{
    (void)state;
    int *out = fixture_memory(256);
    float *values = fixture_memory(256);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        assert_true(fixture_run("calls", 1, 64, 0, 2, ADDRESS(out), 40ull));
        for (int t = 0; t < 64; t++) {
            int s = t * (t + 1) / 2;
            assert_int_equal(out[t], t < 40 ? s + 2 * (t + s) : -1 + 2 * t);
        }
        assert_true(fixture_run("indirect", 1, 64, 0, 1, ADDRESS(values)));
        for (int t = 0; t < 64; t++)
            assert_true(values[t] == (t % 3 == 0   ? (float)t / 2
                                      : t % 3 == 1 ? (float)t * 2
                                                   : (float)t * 2 + 1));
    }
    fixture_free(out);
    fixture_free(values);
}

/* lanes of a warp take a lock one after the other: a lane that spins must not keep the holder from going on
 */
static void test_lock(void **state)
{
    (void)state;
    int *words = fixture_memory(8);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture.settings.seed = seed;
        words[0] = words[1] = 0;
        fixture.settings.step_limit = 100000000;
        assert_true(fixture_run("locked", 2, 64, 0, 2, ADDRESS(words), ADDRESS(words + 1)));
        assert_int_equal(words[1], 128);
    }
    fixture_free(words);
}

static void test_info(void **state)
{
    (void)state;
    struct emu_kernel_info info;
    uint64_t address, size;
    emu_kernel_info(emu_program_kernel(fixture.program, "reduce"), &info);
    assert_int_equal(info.static_shared, 1024);
    assert_int_equal(info.parameter_count, 3);
    assert_int_equal(info.parameter_bytes, 20);
    assert_int_equal(info.constant_bytes, 32);
    assert_int_equal(info.max_threads, 1024);
    assert_in_range(info.registers, 8, 24);
    emu_kernel_info(emu_program_kernel(fixture.program, "many_values"), &info); /* 160 are alive at once */
    assert_int_equal(info.max_threads, 1024);
    assert_int_equal(info.registers, 64);
    emu_kernel_info(emu_program_kernel(fixture.program, "local_array"), &info);
    assert_int_equal(info.local_bytes, 128);
    assert_true(emu_program_variable(fixture.program, "variable", &address, &size));
    assert_int_equal(size, 4);
    assert_int_equal(*(int *)(uintptr_t)address, 17);
    assert_false(emu_program_variable(fixture.program, "nothing", &address, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_branches, fixture_reset),
        cmocka_unit_test_setup(test_reduction, fixture_reset),
        cmocka_unit_test_setup(test_barriers, fixture_reset),
        cmocka_unit_test_setup(test_shuffles, fixture_reset),
        cmocka_unit_test_setup(test_atomics, fixture_reset),
        cmocka_unit_test_setup(test_atomics_workers, fixture_reset),
        cmocka_unit_test_setup(test_spaces, fixture_reset),
        cmocka_unit_test_setup(test_vectors, fixture_reset),
        cmocka_unit_test_setup(test_calls, fixture_reset),
        cmocka_unit_test_setup(test_lock, fixture_reset),
        cmocka_unit_test_setup(test_info, fixture_reset),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
