/* SPDX-License-Identifier: Apache-2.0
 * See shift.h. */
#include "fuser/planner/shift.h"

#include <string.h>

enum { MOST_SUMS = 64 /* of a kernel */ };
/* How many times what was recorded a value may be. Runs are far longer than what is recorded of them, but where numbers of 32
 * bits are multiplied, the largest may be too much. */
static const int64_t rooms[] = {1 << 20, 1 << 12, 1 << 6, 1};

/* --- candidates --- */

static bool read_word(const struct program_launch *launch, uint32_t offset, uint32_t size, int64_t *value)
{
    if ((uint64_t)offset + size > launch->record->arguments_size) return false;
    for (uint32_t p = 0; p < launch->pointer_count; p++)
        if (launch->pointers[p].offset < offset + size && offset < launch->pointers[p].offset + 8)
            return false;
    *value = plan_term_of(&(struct plan_term){.offset = offset, .size = size}, launch->arguments);
    return true;
}

/* Sets the range of what was recorded. False: not a word that differs. */
static bool find_range(const struct program *program, uint32_t kernel, struct launch_shift *shift)
{
    bool has_any = false;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        const struct program_launch *launch = &program->launches[i];
        int64_t value;
        if (launch->record->kernel != kernel) continue;
        if (!read_word(launch, shift->offset, shift->size, &value)) return false;
        if (!has_any || value < shift->low) shift->low = value;
        if (!has_any || value > shift->high) shift->high = value;
        has_any = true;
    }
    return has_any && shift->low < shift->high;
}

static void add_candidate(const struct program *program, uint32_t kernel, struct launch_shift shift,
                          struct launch_shift *shifts, uint32_t *count)
{
    for (uint32_t k = 0; k < *count; k++)
        if (shifts[k].offset < shift.offset + shift.size && shift.offset < shifts[k].offset + shifts[k].size)
            return;
    if (*count < ACCESS_MOST_SHIFTS && find_range(program, kernel, &shift)) shifts[(*count)++] = shift;
}

static const struct ptx_variable *parameter_of(const struct ptx_function *function,
                                               const struct ptx_operand *operand)
{
    const struct ptx_variable *named = operand->variable;
    for (uint32_t p = 0; named && named->space == PTX_PARAM && p < function->parameter_count; p++)
        if (!strcmp(function->parameters[p].name, named->name)) return &function->parameters[p];
    return NULL;
}

/* Integers of 4 or 8 bytes that are loaded as such. */
static uint32_t find_candidates(const struct program *program, uint32_t kernel,
                                const struct ptx_function *function, struct launch_shift *shifts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->opcode != PTX_OP_LD || instruction->space != PTX_PARAM ||
            instruction->operand_count < 2)
            continue;
        const struct ptx_operand *from = &instruction->operands[1];
        const struct ptx_variable *parameter = parameter_of(function, from);
        enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
        uint32_t size = ptx_type_bytes(type), elements = instruction->operands[0].element_count;
        if (!parameter || from->value < 0 || (size != 4 && size != 8) || ptx_type_is_float(type)) continue;
        for (uint32_t e = 0; e < (elements ? elements : 1); e++)
            add_candidate(program, kernel,
                          (struct launch_shift){
                              .offset = parameter->offset + (uint32_t)from->value + e * size, .size = size},
                          shifts, &count);
    }
    return count;
}

/* Later launches may have larger numbers, such as those of later steps. */
static void widen(struct launch_shift *shift, int64_t room)
{
    const int64_t most = shift->size == 4 ? INT32_MAX : INT64_C(1) << 40;
    int64_t high = 1;
    while (high < most / 2 && high / room < shift->high) high *= 2;
    if (shift->low > 0) shift->low = 0;
    if (shift->high < high) shift->high = high - 1;
}

/* --- which of them --- */

static bool is_as_good(const struct access_summary *shifted, const struct access_summary *plain)
{
    if (shifted->access_count != plain->access_count || !shifted->no_member != !plain->no_member ||
        !shifted->no_whole_block != !plain->no_whole_block || !shifted->keeps_place != !plain->keeps_place)
        return false;
    for (uint32_t i = 0; i < plain->access_count; i++) {
        const struct access *a = &shifted->accesses[i], *b = &plain->accesses[i];
        if (a->instruction != b->instruction || !a->relation != !b->relation ||
            a->address_is_exact < b->address_is_exact || a->domain_is_exact < b->domain_is_exact ||
            shifted->bases[a->base].is_bounded < plain->bases[b->base].is_bounded)
            return false;
    }
    return true;
}

/* Nothing is said more exactly without shifts. */
static bool is_exact(const struct access_summary *summary)
{
    bool exact = !summary->refusal && !summary->shaping && summary->shifting && !summary->no_member &&
                 !summary->no_whole_block && !summary->keeps_place;
    for (uint32_t i = 0; exact && i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        exact = access->relation && access->address_is_exact && access->domain_is_exact &&
                summary->bases[access->base].is_bounded;
    }
    return exact;
}

static void drop_shaping(struct launch_shift *shifts, uint32_t *count, uint32_t shaping)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < *count; k++)
        if (!(shaping >> k & 1)) shifts[kept++] = shifts[k];
    *count = kept;
}

/* NULL: none of them. */
static struct access_summary *try_shifts(isl_ctx *ctx, struct launch_input input, struct launch_shift *shifts,
                                         uint32_t *count, const struct access_summary *plain)
{
    while (*count) {
        input.shifts = shifts;
        input.shift_count = *count;
        struct access_summary *summary = access_analyse(ctx, &input);
        if (!summary || summary->refusal || (!summary->shaping && !summary->shifting)) {
            access_summary_free(summary);
            break;
        }
        if (!summary->shaping && is_as_good(summary, plain)) return summary;
        uint32_t shaping = summary->shaping;
        access_summary_free(summary);
        if (!shaping) break;
        drop_shaping(shifts, count, shaping);
    }
    *count = 0;
    return NULL;
}

static struct access_summary *find_shifts(struct program *program, struct program_kernel *kernel,
                                          uint32_t number, isl_ctx *ctx, const struct launch_input *input,
                                          const struct access_summary *plain)
{
    struct launch_shift recorded[ACCESS_MOST_SHIFTS];
    uint32_t candidates = find_candidates(program, number, input->function, recorded);
    struct access_summary *summary = NULL;
    kernel->shifts_are_known = true;
    kernel->shifts = arena_calloc(program->arena, ACCESS_MOST_SHIFTS, sizeof *kernel->shifts);
    for (size_t i = 0; kernel->shifts && candidates && !summary && i < sizeof rooms / sizeof *rooms; i++) {
        kernel->shift_count = candidates;
        memcpy(kernel->shifts, recorded, sizeof recorded);
        for (uint32_t k = 0; k < candidates && rooms[i] > 1; k++) widen(&kernel->shifts[k], rooms[i]);
        summary = try_shifts(ctx, *input, kernel->shifts, &kernel->shift_count, plain);
    }
    return summary;
}

/* --- sums --- */

static bool find_sum(struct program *program, struct program_kernel *kernel, const struct plan_sum *sum,
                     uint32_t *index)
{
    for (*index = 0; *index < kernel->sum_count; (*index)++)
        if (!memcmp(&kernel->sums[*index], sum, sizeof *sum)) return true;
    if (kernel->sum_count == MOST_SUMS) return false;
    struct plan_sum *grown = arena_grow(program->arena, kernel->sums, kernel->sum_count,
                                        kernel->sum_count + 1, sizeof *kernel->sums);
    if (!grown) return false;
    grown[kernel->sum_count++] = *sum;
    kernel->sums = grown;
    return true;
}

static bool has_factor(const struct access_base *base)
{
    for (uint32_t k = 0; k < ACCESS_MOST_SHIFTS; k++)
        if (base->factors[k]) return true;
    return false;
}

/* The bases that are shifted get words of their own. */
static bool name_sums(struct program *program, struct program_kernel *kernel, struct access_summary *summary)
{
    for (uint32_t b = 0; b < summary->base_count; b++) {
        struct access_base *base = &summary->bases[b];
        struct plan_sum sum = {.kind = PLAN_SUM, .pointer = base->pointer};
        uint32_t index;
        if (!has_factor(base)) continue;
        for (uint32_t k = 0; k < kernel->shift_count; k++)
            if (base->factors[k])
                sum.terms[sum.term_count++] =
                    (struct plan_term){kernel->shifts[k].offset, kernel->shifts[k].size, base->factors[k]};
        if (!find_sum(program, kernel, &sum, &index)) return false;
        base->argument_offset = variables_offset(summary->function, summary->variables.count + index);
    }
    return true;
}

/* --- the whole --- */

/* As other launches of the kernel were, where that tells all. */
static struct access_summary *analyse_as_before(isl_ctx *ctx, const struct program_kernel *kernel,
                                                struct launch_input input)
{
    input.shifts = kernel->shifts;
    input.shift_count = kernel->shift_count;
    struct access_summary *summary = access_analyse(ctx, &input);
    if (summary && is_exact(summary)) return summary;
    access_summary_free(summary);
    return NULL;
}

/* As another launch of the kernel was, or not at all. */
static struct access_summary *try_known(isl_ctx *ctx, const struct program_kernel *kernel,
                                        const struct launch_input *input, const struct access_summary *plain)
{
    struct launch_shift shifts[ACCESS_MOST_SHIFTS];
    uint32_t count = kernel->shift_count;
    memcpy(shifts, kernel->shifts, count * sizeof *shifts);
    struct access_summary *summary = try_shifts(ctx, *input, shifts, &count, plain);
    if (!summary || count == kernel->shift_count) return summary;
    access_summary_free(summary);
    return NULL;
}

struct access_summary *shift_analyse(struct program *program, struct launch_class *class, isl_ctx *ctx,
                                     const struct launch_input *input)
{
    struct program_kernel *kernel = &program->kernels[class->kernel];
    bool is_whole = input->arguments_size == input->function->parameter_bytes;
    bool is_known = kernel->shifts_are_known && kernel->shift_count;
    struct access_summary *plain = NULL, *shifted = NULL;
    if (is_whole && is_known) shifted = analyse_as_before(ctx, kernel, *input);
    if (!shifted) plain = access_analyse(ctx, input);
    bool may_have = plain && !plain->refusal && is_whole;
    if (may_have && !kernel->shifts_are_known)
        shifted = find_shifts(program, kernel, class->kernel, ctx, input, plain);
    else if (may_have && is_known)
        shifted = try_known(ctx, kernel, input, plain);
    if (shifted && !name_sums(program, kernel, shifted)) {
        access_summary_free(shifted);
        shifted = NULL;
        if (!plain) plain = access_analyse(ctx, input);
    }
    if (!shifted) return plain;
    access_summary_free(plain);
    class->shifts = kernel->shifts;
    class->shift_count = kernel->shift_count;
    return shifted;
}

bool shift_fits(const struct launch_class *class, const struct program_launch *launch)
{
    for (uint32_t k = 0; k < class->shift_count; k++) {
        const struct launch_shift *shift = &class->shifts[k];
        int64_t value;
        if (!(class->summary->shifting >> k & 1)) continue;
        if (!read_word(launch, shift->offset, shift->size, &value) || value < shift->low ||
            value > shift->high)
            return false;
    }
    return true;
}

int64_t shift_of(const struct launch_class *class, const struct access_base *base,
                 const struct program_launch *launch)
{
    int64_t sum = 0, value;
    for (uint32_t k = 0; k < class->shift_count; k++)
        if (base->factors[k] && read_word(launch, class->shifts[k].offset, class->shifts[k].size, &value))
            sum += base->factors[k] * value;
    return sum;
}

const char *shift_sum_text(struct arena *arena, const struct plan_sum *sum, const char *of)
{
    if (sum->kind == PLAN_CONTENTS)
        return arena_printf(arena, "v(%s%u)+%u", of, sum->pointer, sum->terms[0].offset);
    char *text = arena_printf(arena, "p(%s%u)", of, sum->pointer);
    for (uint32_t i = 0; text && i < sum->term_count; i++)
        text = arena_printf(arena, "%s%+lld*i(%s%u)", text, (long long)sum->terms[i].factor, of,
                            sum->terms[i].offset);
    return text;
}
