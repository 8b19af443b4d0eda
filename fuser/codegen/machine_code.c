/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of a kernel's instructions, by the table in machine_code.def. */
#include "fuser/codegen/machine_code.h"

#include "fuser/codegen/cubin.h"

#include <stdbool.h>
#include <string.h>

enum {
    OPCODE_MASK = 0x1ff,
    FORM_SHIFT = 9,
    FORM_REGISTERS = 1,
    OPCODE_MUFU = 0x108,
    FIRST_SOURCE_SHIFT = 24,
    SECOND_SOURCE_SHIFT = 32,
    ZERO_REGISTER = 255
};

static const struct opcode {
    uint32_t opcode, first_sm, last_sm;
    enum machine_code_class class;
} opcodes[] = {
#define MACHINE_OPCODE(opcode, first, last, class, name) {opcode, first, last, MACHINE_CODE_##class},
#include "fuser/codegen/machine_code.def"
#undef MACHINE_OPCODE
};

static const struct opcode *find_opcode(uint32_t opcode, uint32_t sm)
{
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
        if (opcodes[i].opcode == opcode && sm >= opcodes[i].first_sm && sm <= opcodes[i].last_sm)
            return &opcodes[i];
    return NULL;
}

/* HFMA2 R, -RZ, RZ, constant loads a constant; FADD R, -R, -RZ negates: whether ptxas needs one depends on
 * where the value goes. The second source is a register in one operand form only. */
static bool is_move(uint64_t word)
{
    uint64_t form = word >> FORM_SHIFT & 7;
    if ((word >> FIRST_SOURCE_SHIFT & 0xff) == ZERO_REGISTER) return true;
    return form == FORM_REGISTERS && (word >> SECOND_SOURCE_SHIFT & 0xff) == ZERO_REGISTER;
}

static void count_instruction(uint64_t word, uint32_t sm, struct machine_code_counts *counts)
{
    const struct opcode *opcode = find_opcode(word & OPCODE_MASK, sm);
    counts->instructions++;
    counts->functions += (word & OPCODE_MASK) == OPCODE_MUFU;
    if (!opcode && !counts->unknown++) counts->first_unknown = word & OPCODE_MASK;
    if (opcode && opcode->class < MACHINE_CODE_CLASSES) counts->of[opcode->class] += !is_move(word);
}

static bool count_code(const void *bytes, size_t size, const char *kernel, bool is_all,
                       struct machine_code_counts *counts)
{
    struct cubin cubin;
    struct cubin_code code;
    *counts = (struct machine_code_counts){0};
    if (!cubin_open(&cubin, bytes, size) || !cubin_find_code(&cubin, kernel, &code)) return false;
    size_t end = is_all ? code.size : code.own_size;
    for (size_t at = 0; at + CUBIN_INSTRUCTION_BYTES <= end; at += CUBIN_INSTRUCTION_BYTES) {
        uint64_t word;
        memcpy(&word, code.bytes + at, sizeof word);
        count_instruction(word, cubin.sm, counts);
    }
    return true;
}

bool machine_code_count(const void *bytes, size_t size, const char *kernel,
                        struct machine_code_counts *counts)
{
    return count_code(bytes, size, kernel, false, counts);
}

bool machine_code_count_all(const void *bytes, size_t size, const char *kernel,
                            struct machine_code_counts *counts)
{
    return count_code(bytes, size, kernel, true, counts);
}

const char *machine_code_class_name(enum machine_code_class class)
{
    static const char *const names[] = {
        [MACHINE_CODE_FMUL] = "FMUL",           [MACHINE_CODE_FADD] = "FADD",  [MACHINE_CODE_FFMA] = "FFMA",
        [MACHINE_CODE_DMUL] = "DMUL",           [MACHINE_CODE_DADD] = "DADD",  [MACHINE_CODE_DFMA] = "DFMA",
        [MACHINE_CODE_HALF] = "half-precision", [MACHINE_CODE_NONE] = "other",
    };
    return names[class];
}
