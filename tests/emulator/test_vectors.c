/* SPDX-License-Identifier: Apache-2.0
 * Golden vectors: every form that the emulator runs was recorded on a GPU (golden_vectors.zst), and gives the
 * same results here, bit for bit or within the bound of vector_bounds.def. Forms that are not in
 * emulator/forms.def are refused. KFUSE_VECTORS names another recording. */
#include "emulator/exec.h"
#include "emulator/memory.h"
#include "tests/emulator/vector_bounds.h"
#include "tests/emulator/vector_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAID_MOST = 200, MODULE_TEXT = 2 * VECTOR_TEXT };

struct recording {
    struct vector_record *records;
    uint32_t count;
    uint64_t in, out;
};

/* Special registers that differ between machines or launches: their vectors would say nothing. */
static const struct {
    enum ptx_special special;
    const char *why;
} unrecorded_specials[] = {
    {PTX_SPECIAL_CLOCK, "time"},
    {PTX_SPECIAL_CLOCK_HI, "time"},
    {PTX_SPECIAL_CLOCK64, "time"},
    {PTX_SPECIAL_GLOBALTIMER, "time"},
    {PTX_SPECIAL_GLOBALTIMER_LO, "time"},
    {PTX_SPECIAL_GLOBALTIMER_HI, "time"},
    {PTX_SPECIAL_WARPID, "the scheduler's choice -- ISA 10.4"},
    {PTX_SPECIAL_NWARPID, "the device's size"},
    {PTX_SPECIAL_SMID, "the scheduler's choice"},
    {PTX_SPECIAL_NSMID, "the device's size"},
    {PTX_SPECIAL_GRIDID, "counts a process's launches"},
    {PTX_SPECIAL_TOTAL_SMEM_SIZE, "has the driver's own kilobyte in it"},
};

/* Where the recording driver's code is not what the PTX says: those bits of the results are not compared. */
static const struct driver_fault {
    const char *mnemonic;
    uint64_t first, second; /* bits */
    const char *why;
} driver_faults[] = {
#define WORD "an argument's word is replaced as a whole: what was stored before beside this is lost"
    {"st.param.b8", 0xffffff00, 0, WORD},
    {"st.param.u8", 0xffffff00, 0, WORD},
    {"st.param.s8", 0xffffff00, 0, WORD},
    {"st.param.b16", 0xffff0000, 0, WORD},
    {"st.param.u16", 0xffff0000, 0, WORD},
    {"st.param.s16", 0xffff0000, 0, WORD},
    {"st.param.v2.b8", 0xffff0000, 0, WORD},
    {"st.param.v2.u8", 0xffff0000, 0, WORD},
    {"st.param.v2.s8", 0xffff0000, 0, WORD},
#define UPPER "adds zero to the upper half"
    {"atom.shared.add.noftz.f16x2", 0, 0xffff0000, UPPER},
    {"atom.shared.add.noftz.bf16x2", 0, 0xffff0000, UPPER},
    {"red.shared.add.noftz.f16x2", 0, 0xffff0000, UPPER},
    {"red.shared.add.noftz.bf16x2", 0, 0xffff0000, UPPER},
};

/* NULL: all bits are compared. */
static const struct driver_fault *fault_of(const char *mnemonic)
{
    for (size_t i = 0; i < sizeof driver_faults / sizeof *driver_faults; i++) {
        if (strcmp(driver_faults[i].mnemonic, mnemonic) == 0) return &driver_faults[i];
    }
    return NULL;
}

static bool run_form(const struct emu_form *form, const struct recording *recording)
{
    static char text[MODULE_TEXT];
    char *error;
    struct {
        uint64_t in, out, fixed[2];
    } parameters = {recording->in, recording->out, {VECTOR_FIXED, ~VECTOR_FIXED}};
    strcpy(text, vector_module_head(vector_is_old(form)));
    vector_kernel(form, 0, text + strlen(text));
    vector_inputs(form, (uint64_t(*)[VECTOR_OPERANDS])(uintptr_t)recording->in);
    memset((void *)(uintptr_t)recording->out, 0xff, sizeof(struct vector_result) * VECTOR_ROWS);
    struct emu_program *program = emu_program_load(form->mnemonic, text, &error);
    assert_non_null(program);
    const struct emu_kernel *kernel = emu_program_kernel(program, "run0");
    assert_non_null(kernel);
    struct emu_settings settings = {.workers = 1, .step_limit = 1 << 24};
    struct emu_launch launch = {.kernel = kernel,
                                .grid = {VECTOR_ROWS / VECTOR_BLOCK, 1, 1},
                                .block = {VECTOR_BLOCK, 1, 1},
                                .parameters = &parameters};
    struct emu_counts counts;
    struct emu_fault fault;
    bool is_good = emu_run(&settings, &launch, &counts, &fault, NULL, NULL);
    if (!is_good) fprintf(stderr, "%s\n", fault.message);
    emu_program_unload(program);
    return is_good;
}

/* The count of rows that differ; the first one is said. */
static uint32_t compare_form(const struct emu_form *form, const struct recording *recording,
                             const struct vector_record *record, bool is_said)
{
    const struct vector_result *got = (const struct vector_result *)(uintptr_t)recording->out;
    const uint64_t(*rows)[VECTOR_OPERANDS] = (const uint64_t(*)[VECTOR_OPERANDS])(uintptr_t)recording->in;
    bool is_approximate = vector_is_approximate(form->mnemonic);
    const struct driver_fault *fault = fault_of(form->mnemonic);
    uint64_t first = fault ? ~fault->first : UINT64_MAX, second = fault ? ~fault->second : UINT64_MAX;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < VECTOR_ROWS; i++) {
        const struct vector_result *expected = &record->results[i];
        bool is_first = is_approximate ? vector_is_near(form, rows[i], got[i].first, expected->first)
                                       : ((got[i].first ^ expected->first) & first) == 0;
        if (is_first && ((got[i].second ^ expected->second) & second) == 0) continue;
        if (wrong++ == 0 && is_said)
            fprintf(stderr, "%s %s: row %u: %llx %llx %llx %llx gives %llx %llx, not %llx %llx\n",
                    form->mnemonic, form->operands, i, (unsigned long long)rows[i][0],
                    (unsigned long long)rows[i][1], (unsigned long long)rows[i][2],
                    (unsigned long long)rows[i][3], (unsigned long long)got[i].first,
                    (unsigned long long)got[i].second, (unsigned long long)expected->first,
                    (unsigned long long)expected->second);
    }
    return wrong;
}

/* The forms with vectors, in forms.def's order */
static const struct emu_form *next_form(uint32_t *place)
{
    uint32_t count;
    const struct emu_form *forms = emu_forms(&count);
    assert_non_null(forms);
    while (*place < count && forms[*place].registers == NULL) ++*place;
    return *place < count ? &forms[(*place)++] : NULL;
}

static void compare_all(const struct recording *recording)
{
    uint32_t place = 0, index = 0, wrong = 0;
    for (const struct emu_form *form; (form = next_form(&place)) != NULL; index++) {
        assert_true(index < recording->count);
        uint32_t rows = run_form(form, recording)
                            ? compare_form(form, recording, &recording->records[index], wrong < SAID_MOST)
                            : VECTOR_ROWS;
        if (rows > 0 && wrong++ < SAID_MOST) fprintf(stderr, "    %u rows differ\n", rows);
    }
    fprintf(stderr, "%u forms, %u differ\n", index, wrong);
    assert_int_equal(wrong, 0);
}

static void test_results(void **state)
{
    compare_all(*state);
}

/* the same without AVX2 and FMA */
static void test_results_plain(void **state)
{
    setenv("KFUSE_EMULATOR_PLAIN", "1", 1);
    compare_all(*state);
    unsetenv("KFUSE_EMULATOR_PLAIN");
}

/* Every form has its record, every record its form, and all of them were taken by the driver. */
static void test_every_form_is_recorded(void **state)
{
    const struct recording *recording = *state;
    uint32_t place = 0, index = 0, wrong = 0;
    for (const struct emu_form *form; (form = next_form(&place)) != NULL; index++) {
        const struct vector_record *record = index < recording->count ? &recording->records[index] : NULL;
        bool is_same = record != NULL && record->identity == vector_identity(form) &&
                       strcmp(record->mnemonic, form->mnemonic) == 0;
        if (is_same && record->status == VECTOR_RECORDED) continue;
        if (wrong++ < SAID_MOST)
            fprintf(stderr, "%s %s: %s\n", form->mnemonic, form->operands,
                    !is_same                            ? "no vector: record them again"
                    : record->status == VECTOR_REJECTED ? "the driver did not compile it"
                                                        : "its launch failed");
    }
    assert_int_equal(recording->count, index);
    assert_int_equal(wrong, 0);
}

static bool has_form(const char *start)
{
    uint32_t place = 0;
    size_t length = strlen(start);
    for (const struct emu_form *form; (form = next_form(&place)) != NULL;) {
        if (strncmp(form->mnemonic, start, length) == 0 &&
            (form->mnemonic[length] == 0 || form->mnemonic[length] == '.'))
            return true;
    }
    return false;
}

static bool is_unrecorded(const char *mnemonic)
{
    uint32_t count;
    const struct emu_form *forms = emu_forms(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (forms[i].registers == NULL && strcmp(forms[i].mnemonic, mnemonic) == 0) return true;
    }
    return false;
}

/* opcodes.def says of each opcode whether it is emulated: then it has a vector, or a reason why not. */
static void test_every_opcode(void **state)
{
    (void)state;
    for (int i = PTX_OP_UNKNOWN + 1; i < PTX_OPCODE_COUNT; i++) {
        const struct ptx_opcode_info *info = ptx_opcode_info((enum ptx_opcode)i);
        if ((has_form(info->name) || is_unrecorded(info->name)) != info->is_emulated)
            fail_msg("%s", info->name);
    }
}

static void test_every_special_register(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name, text) text,
        PTX_SPECIALS(X)
#undef X
    };
    for (int i = 0; i < PTX_SPECIAL_OTHER; i++) {
        uint32_t place = 0;
        bool is_known = false;
        for (const struct emu_form *form; (form = next_form(&place)) != NULL;) {
            const char *operand = strrchr(form->operands, ' ');
            is_known |= strchr(form->operands, '@') == NULL && strcmp(operand + 1, names[i]) == 0;
        }
        for (size_t k = 0; k < sizeof unrecorded_specials / sizeof *unrecorded_specials; k++)
            is_known |= unrecorded_specials[k].special == (enum ptx_special)i;
        if (!is_known) fail_msg("%s has no vector", names[i]);
    }
}

/* What an instruction may have beside its form: each in one vector at least. */
static void test_every_hint(void **state)
{
    (void)state;
    static const char *const names[] = {
#define PTX_MODIFIER(name, text) [PTX_MOD_##name] = text,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
    };
    for (int i = PTX_MOD_NONE + 1; i < PTX_MODIFIER_COUNT; i++) {
        uint32_t place = 0;
        bool is_known = !emu_form_is_hint((enum ptx_modifier)i);
        char word[64];
        snprintf(word, sizeof word, ".%s.", names[i]);
        for (const struct emu_form *form; !is_known && (form = next_form(&place)) != NULL;)
            is_known = strstr(form->mnemonic, word) != NULL;
        if (!is_known) fail_msg("%s has no vector", names[i]);
    }
}

static void test_every_bound(void **state)
{
    (void)state;
    for (unsigned i = 0; vector_approximate(i) != NULL; i++) assert_true(has_form(vector_approximate(i)));
    uint32_t place = 0;
    for (const struct emu_form *form; (form = next_form(&place)) != NULL;) {
        bool is_approximate =
            strstr(form->mnemonic, ".approx") != NULL || strstr(form->mnemonic, ".full") != NULL;
        if (is_approximate != vector_is_approximate(form->mnemonic)) fail_msg("%s", form->mnemonic);
    }
}

/* What PTX does not have, or the emulator does not run, is refused and not taken for its neighbour. */
static void test_other_forms_are_refused(void **state)
{
    static const struct emu_form refused[] = {
        {"add.rn.s32", "ttt", "%d, %a, %b"},
        {"add.sat.u32", "ttt", "%d, %a, %b"},
        {"mul.s32", "ttt", "%d, %a, %b"},
        {"min.relu.u32", "ttt", "%d, %a, %b"},
        {"cvt.rn.s32.f32", "tu", "%d, %a"},
        {"cvt.rn.satfinite.f16.f32", "tu", "%d, %a"},
        {"set.lt.f32.f16x2", "tuu", "%d, %a, %b"},
        {"mad24.hi.sat.s32", "tttt", "%d, %a, %b, %c"},
        {"atom.global.add.s64", "ttt", "%d, [%out], %b"},
        {"ld.global.v8.b32", "tl", "%d, [%in]"},
        {"fma.f32", "tttt", "%d, %a, %b, %c"},
        {"abs.u32", "tt", "%d, %a"},
        {"redux.sync.add.f32", "tt", "%d, %a, -1"},
        {"barrier.cluster.arrive", "i", "{ @; }"},
        {"add.rn.bf16.ftz", "ttt", "%d, %a, %b"},
        {"neg.u32", "tt", "%d, %a"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (run_form(&refused[i], *state)) fail_msg("%s runs", refused[i].mnemonic);
    }
}

static int open_recording(void **state)
{
    static struct recording recording;
    char path[1024];
    const char *other = getenv("KFUSE_VECTORS"), *source = getenv("top_srcdir"), *origin;
    bool is_whole;
    snprintf(path, sizeof path, "%s/tests/emulator/golden_vectors.zst", source ? source : ".");
    struct vector_reader *reader = vector_file_open(other ? other : path, &origin);
    if (reader == NULL) return fprintf(stderr, "%s cannot be read\n", other ? other : path);
    fprintf(stderr, "%s\n", origin);
    uint32_t capacity = 0;
    do {
        if (recording.count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            recording.records = realloc(recording.records, capacity * sizeof *recording.records);
            assert_non_null(recording.records);
        }
    } while (vector_file_next(reader, &recording.records[recording.count], &is_whole) && ++recording.count);
    vector_file_close(reader);
    if (!is_whole) return fprintf(stderr, "the recording is not whole\n");
    recording.in = emu_memory_allocate(sizeof(uint64_t) * VECTOR_OPERANDS * VECTOR_ROWS, EMU_MEMORY_DEVICE);
    recording.out = emu_memory_allocate(sizeof(struct vector_result) * VECTOR_ROWS, EMU_MEMORY_DEVICE);
    *state = &recording;
    return 0;
}

static int close_recording(void **state)
{
    struct recording *recording = *state;
    emu_memory_release(recording->in);
    emu_memory_release(recording->out);
    free(recording->records);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_is_recorded),
        cmocka_unit_test(test_every_opcode),
        cmocka_unit_test(test_every_special_register),
        cmocka_unit_test(test_every_hint),
        cmocka_unit_test(test_every_bound),
        cmocka_unit_test(test_other_forms_are_refused),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_results_plain),
    };
    if (!emu_memory_open(1ull << 30)) return 1;
    return cmocka_run_group_tests(tests, open_recording, close_recording);
}
