/* SPDX-License-Identifier: Apache-2.0
 * PTX negates no operand: a sign changes by an instruction of its own, which the assembler folds into the
 * next. */
#include "fuser/codegen/contraction.h"

#include "fuser/codegen/mnemonic.h"
#include "fuser/kernel/product.h"

#include <string.h>

/* `.ftz.f32` of `add.ftz.f32` */
static struct ptx_span suffix_of(const struct ptx_instruction *instruction)
{
    struct ptx_span mnemonic = instruction->mnemonic;
    const char *dot = memchr(mnemonic.text, '.', mnemonic.length);
    uint32_t before = dot ? (uint32_t)(dot - mnemonic.text) : mnemonic.length;
    return (struct ptx_span){mnemonic.text + before, mnemonic.length - before};
}

static bool is_text(struct ptx_span span, const char *text)
{
    return span.length == strlen(text) && !memcmp(span.text, text, span.length);
}

bool contraction_fits(const struct ptx_instruction *product, const struct ptx_instruction *sum)
{
    static const char *const suffixes[] = {".f32", ".f64", ".ftz.f32"};
    struct ptx_span suffix = suffix_of(sum);
    if (product->operand_count != 3 || sum->operand_count != 3) return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (is_text(suffix, suffixes[i]) && is_text(suffix_of(product), suffixes[i])) return true;
    return false;
}

static struct ptx_span span_of(const char *text)
{
    return (struct ptx_span){text, text ? (uint32_t)strlen(text) : 0};
}

/* scratch = - operand */
static bool negate(struct arena *arena, const struct ptx_instruction *sum, const struct ptx_operand *scratch,
                   const struct ptx_operand *operand, struct ptx_instruction *part)
{
    struct ptx_operand *operands = arena_calloc(arena, 2, sizeof *operands);
    if (!operands) return false;
    operands[0] = *scratch;
    operands[1] = *operand;
    *part = *sum;
    part->opcode = PTX_OP_NEG;
    part->mnemonic = span_of(sum->types[0] == PTX_F64 ? "neg.f64" : "neg.f32");
    part->operands = operands;
    part->operand_count = 2;
    return true;
}

/* a * b + c, of the product's factors and the sum's other operand */
static struct ptx_operand *operands_of(struct arena *arena, const struct ptx_function *function,
                                       const struct contraction *own, const struct ptx_instruction *sum)
{
    const struct ptx_instruction *product = &function->instructions[own->product];
    struct ptx_operand *operands = arena_calloc(arena, 4, sizeof *operands);
    if (!operands) return NULL;
    operands[0] = sum->operands[0];
    operands[1] = product->operands[1];
    operands[2] = product->operands[2];
    operands[3] = sum->operands[3 - own->summand];
    return operands;
}

uint32_t contraction_parts(struct arena *arena, const struct ptx_function *function,
                           const struct contraction *contractions, uint32_t index,
                           const struct ptx_operand *scratch, struct ptx_instruction parts[2])
{
    const struct contraction *own = &contractions[index];
    const struct ptx_instruction *sum = &function->instructions[index];
    uint32_t count = 0;
    parts[0] = *sum;
    if (own->round) parts[0].mnemonic = mnemonic_round(arena, sum->mnemonic);
    if (!own->summand) return parts[0].mnemonic.length != 0;
    struct ptx_operand *operands = operands_of(arena, function, own, sum);
    if (!operands) return 0;
    if (own->negated) {
        if (!negate(arena, sum, scratch, &operands[own->negated], &parts[count++])) return 0;
        operands[own->negated] = *scratch;
    }
    struct ptx_span suffix = suffix_of(sum);
    parts[count] = *sum;
    parts[count].opcode = PTX_OP_FMA;
    parts[count].mnemonic = span_of(arena_printf(arena, "fma.rn%.*s", (int)suffix.length, suffix.text));
    parts[count].operands = operands;
    parts[count].operand_count = 4;
    return parts[count].mnemonic.length ? count + 1 : 0;
}

bool contraction_leaves_choice(const struct ptx_function *function, const struct contraction *contractions)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (product_may_contract(&function->instructions[i]) && !contractions[i].round &&
            !contractions[i].summand)
            return true;
    return false;
}

bool contraction_needs_scratch(const struct ptx_function *function, const struct contraction *contractions)
{
    for (uint32_t i = 0; contractions && i < function->instruction_count; i++)
        if (contractions[i].negated) return true;
    return false;
}

/* Two more registers, for either type one. */
static bool add_scratch(struct arena *arena, const struct ptx_function *function,
                        struct ptx_function *changed)
{
    changed->registers = arena_calloc(arena, function->register_count + 2, sizeof *changed->registers);
    if (!changed->registers) return false;
    if (function->register_count)
        memcpy(changed->registers, function->registers,
               function->register_count * sizeof *changed->registers);
    changed->registers[changed->register_count++] = (struct ptx_register){"%kfuse_negated_f32", PTX_F32, 1};
    changed->registers[changed->register_count++] = (struct ptx_register){"%kfuse_negated_f64", PTX_F64, 1};
    return true;
}

bool contraction_apply(struct arena *arena, const struct ptx_function *function,
                       const struct contraction *contractions, struct ptx_function *changed)
{
    uint32_t label = 0;
    *changed = *function;
    changed->instruction_count = 0;
    changed->instructions =
        arena_calloc(arena, 2 * function->instruction_count + 2, sizeof *changed->instructions);
    changed->labels = arena_calloc(arena, function->label_count + 1, sizeof *changed->labels);
    if (!changed->instructions || !changed->labels || !add_scratch(arena, function, changed)) return false;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        for (; label < function->label_count && function->labels[label].instruction <= i; label++)
            changed->labels[label] =
                (struct ptx_label){function->labels[label].name, changed->instruction_count};
        if (i == function->instruction_count) break;
        bool is_double =
            function->instructions[i].type_count && function->instructions[i].types[0] == PTX_F64;
        struct ptx_operand scratch = {.kind = PTX_OPERAND_REGISTER,
                                      .reg = (int32_t)(function->register_count + is_double),
                                      .label = -1};
        uint32_t count = contraction_parts(arena, function, contractions, i, &scratch,
                                           &changed->instructions[changed->instruction_count]);
        if (!count) return false;
        changed->instruction_count += count;
    }
    return true;
}
