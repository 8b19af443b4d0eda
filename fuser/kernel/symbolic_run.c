/* SPDX-License-Identifier: Apache-2.0
 * See symbolic_run.h. */
#include "fuser/kernel/symbolic_run.h"

#include <string.h>

enum { MOST_STEPS = 200000, MOST_DEPTH = 24, MOST_WORDS = 48, MOST_TIMES = 1024 };
struct state {
    uint32_t *registers, memory;
    bool has_returned;
};
struct runner {
    const struct symbolic_function *of;
    struct symbolic_run *run;
    uint32_t steps, depth, count; /* count: the atom */
    bool is_turn;
};
struct words {
    uint32_t of[MOST_WORDS], count;
};

static void put(struct words *words, uint32_t word)
{
    if (words->count < MOST_WORDS) words->of[words->count] = word;
    words->count++;
}

static uint32_t close_words(struct symbols *symbols, const struct words *words)
{
    return words->count > MOST_WORDS ? SYMBOL_NONE : symbols_operation(symbols, words->of, words->count);
}

static uint32_t make(struct symbols *symbols, uint32_t count, const uint32_t *words)
{
    return symbols_operation(symbols, words, count);
}
#define MAKE(symbols, ...)                                                                                   \
    make(symbols, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

static uint32_t truth(struct symbols *symbols, bool is)
{
    return MAKE(symbols, is ? TAG_TRUE : TAG_FALSE);
}

/* 1, 0, or -1: neither. */
static int constant_of(const struct symbols *symbols, uint32_t predicate)
{
    struct operation operation = symbols_get_operation(symbols, predicate);
    if (!operation.count || (operation.words[0] != TAG_TRUE && operation.words[0] != TAG_FALSE)) return -1;
    return operation.words[0] == TAG_TRUE;
}

/* Integers that are forms: their bits; 0: another type. */
static uint32_t form_bits(enum ptx_type type)
{
    if (type == PTX_B32 || type == PTX_U32 || type == PTX_S32) return 32;
    return type == PTX_B64 || type == PTX_U64 || type == PTX_S64 ? 64 : 0;
}

/* --- operands --- */

static uint32_t variable_address(struct runner *runner, const struct ptx_operand *operand)
{
    uint64_t pointer = (uint64_t)(uintptr_t)operand->variable;
    if (!operand->variable) return SYMBOL_NONE;
    return MAKE(runner->run->symbols, TAG_VARIABLE, (uint32_t)pointer, (uint32_t)(pointer >> 32),
                (uint32_t)operand->value, (uint32_t)((uint64_t)operand->value >> 32));
}

static uint32_t special(struct runner *runner, const struct ptx_operand *operand, uint32_t bits)
{
    if (operand->special > PTX_SPECIAL_NCTAID_Z || bits != 32) return SYMBOL_NONE;
    struct form form =
        form_of_atom(bits, MAKE(runner->run->symbols, TAG_SPECIAL, (uint32_t)operand->special));
    return symbols_form(runner->run->symbols, &form);
}

/* Not of integers, or of so many bits. */
static uint32_t value_of_register(const struct runner *runner, const struct state *state, int32_t reg,
                                  uint32_t bits)
{
    uint32_t value = reg < 0 ? SYMBOL_NONE : state->registers[reg];
    const struct form *form = symbols_get_form(runner->run->symbols, value);
    return form && bits && form->bits != bits ? SYMBOL_NONE : value;
}

/* bits: of integers, else 0. */
static uint32_t value_of(struct runner *runner, const struct state *state, const struct ptx_operand *operand,
                         uint32_t bits)
{
    struct symbols *symbols = runner->run->symbols;
    struct form constant = form_of_constant(bits, (uint64_t)operand->value);
    if (operand->component || operand->element_count || operand->is_negated) return SYMBOL_NONE;
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        return value_of_register(runner, state, operand->reg, bits);
    case PTX_OPERAND_INTEGER:
        if (!bits) constant.bits = 64;
        constant.constant = bits ? constant.constant : (uint64_t)operand->value;
        return symbols_form(symbols, &constant);
    case PTX_OPERAND_FLOAT:
        return MAKE(symbols, TAG_FLOAT, operand->is_float64, (uint32_t)operand->value,
                    (uint32_t)((uint64_t)operand->value >> 32));
    case PTX_OPERAND_SPECIAL:
        return special(runner, operand, bits);
    case PTX_OPERAND_SYMBOL:
        return variable_address(runner, operand);
    default:
        return SYMBOL_NONE;
    }
}

static bool form_of_operand(struct runner *runner, const struct state *state,
                            const struct ptx_operand *operand, uint32_t bits, struct form *form)
{
    uint32_t value = value_of(runner, state, operand, bits);
    const struct form *found = symbols_get_form(runner->run->symbols, value);
    if (!value || (found && found->bits != bits)) return false;
    *form = found ? *found : form_of_atom(bits, value);
    return true;
}

static uint32_t address_of(struct runner *runner, const struct state *state,
                           const struct ptx_operand *operand)
{
    if (operand->reg < 0) return variable_address(runner, operand);
    const struct form *base = symbols_get_form(runner->run->symbols, state->registers[operand->reg]);
    struct form form = base ? *base : form_of_atom(64, state->registers[operand->reg]);
    if (!state->registers[operand->reg] || operand->element_count) return SYMBOL_NONE;
    form.constant += (uint64_t)operand->value;
    if (form.bits == 32) form.constant = (uint32_t)form.constant;
    return symbols_form(runner->run->symbols, &form);
}

/* --- what the number of iterations decides --- */

static bool is_form(const struct symbolic_run *run, uint32_t value, const struct form *form)
{
    const struct form *other = symbols_get_form(run->symbols, value);
    if (!other) return false;
    struct form resized = form_resize(other, form->bits), difference = *form;
    return (other->bits == form->bits || other->bits == 64) && form_add(&difference, &resized, UINT64_MAX) &&
           !difference.count && !difference.constant;
}

/* limit - first - 1, so that the quotient is the count less 1. */
static bool is_count(struct runner *runner, const struct form *dividend, const struct form *divisor)
{
    struct symbolic_run *run = runner->run;
    const struct form *limit = symbols_get_form(run->symbols, run->limit),
                      *first = symbols_get_form(run->symbols, run->first);
    if (!limit || !first || limit->bits < dividend->bits || !divisor->count || !run->iterations ||
        runner->is_turn)
        return false;
    struct form distance = form_resize(limit, dividend->bits), from = form_resize(first, dividend->bits);
    if (!form_add(&distance, &from, UINT64_MAX)) return false;
    distance.constant -= 1;
    if (distance.bits == 32) distance.constant = (uint32_t)distance.constant;
    if (!form_add(&distance, dividend, UINT64_MAX) || distance.count || distance.constant) return false;
    if (run->step) return is_form(run, run->step, divisor);
    run->step = divisor->bits == limit->bits ? symbols_form(run->symbols, divisor) : SYMBOL_NONE;
    return run->step;
}

bool symbolic_steps(const struct symbolic_run *run, uint32_t form, uint32_t *steps)
{
    const struct form *at = symbols_get_form(run->symbols, form),
                      *step = symbols_get_form(run->symbols, run->step),
                      *first = symbols_get_form(run->symbols, run->first);
    if (!at || !first || at->bits != first->bits) return false;
    struct form distance = *at;
    if (!form_add(&distance, first, UINT64_MAX)) return false;
    *steps = 0;
    if (!distance.count && !distance.constant) return true;
    if (!step || step->bits != at->bits || !step->count) return false;
    uint64_t factor = form_factor(&distance, step->terms[0].atom), of_step = step->terms[0].factor;
    if (!factor || factor % of_step || factor / of_step > MOST_STEPS) return false;
    *steps = (uint32_t)(factor / of_step);
    return form_add(&distance, step, (uint64_t)0 - *steps) && !distance.count && !distance.constant;
}

/* The count, plus a constant. */
static bool is_of_count(const struct runner *runner, const struct form *form, int64_t *plus)
{
    *plus = form->bits == 32 ? (int32_t)form->constant : (int64_t)form->constant;
    return form->count == 1 && form->terms[0].atom == runner->count && form->terms[0].factor == 1 &&
           *plus >= -1 && *plus < RUN_MOST_UNROLLED && runner->run->iterations + *plus >= 0;
}

static bool note_period(struct symbolic_run *run, uint64_t period)
{
    if (period > RUN_MOST_UNROLLED) return false;
    while (run->period < period) run->period *= 2;
    return true;
}

enum relation { NO_RELATION, LT, LE, GT, GE, EQ, NE };
static enum relation relation_of(const struct ptx_instruction *instruction)
{
    static const struct {
        enum ptx_modifier modifier;
        enum relation relation;
    } table[] = {{PTX_MOD_LT, LT}, {PTX_MOD_LE, LE}, {PTX_MOD_GT, GT}, {PTX_MOD_GE, GE}, {PTX_MOD_LO, LT},
                 {PTX_MOD_LS, LE}, {PTX_MOD_HI, GT}, {PTX_MOD_HS, GE}, {PTX_MOD_EQ, EQ}, {PTX_MOD_NE, NE}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (ptx_has_modifier(instruction, table[i].modifier)) return table[i].relation;
    return NO_RELATION;
}

static bool holds(enum relation relation, int64_t a, int64_t b)
{
    switch (relation) {
    case LT:
        return a < b;
    case LE:
        return a <= b;
    case GT:
        return a > b;
    case GE:
        return a >= b;
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case NO_RELATION:
        break;
    }
    return false;
}

/* index < limit and its likes: 1, 0, or -1: another comparison. */
static int decide_index(struct runner *runner, enum relation relation, bool is_signed, const struct form *a,
                        const struct form *b)
{
    struct symbolic_run *run = runner->run;
    uint32_t of_a = symbols_form(run->symbols, a), of_b = symbols_form(run->symbols, b), steps;
    bool is_less = relation == LT || relation == GE; /* index on the left */
    if (!is_signed || (!is_less && relation != GT && relation != LE)) return -1;
    if ((is_less ? of_b : of_a) != run->limit || !symbolic_steps(run, is_less ? of_a : of_b, &steps) ||
        steps > run->iterations || /* where it may wrap */
        (runner->is_turn && steps == run->iterations))
        return -1;
    bool goes_on = steps < run->iterations;
    return relation == LT || relation == GT ? goes_on : !goes_on;
}

/* The count against a constant. */
static int decide_count(struct runner *runner, enum relation relation, const struct form *a,
                        const struct form *b)
{
    int64_t plus, with = b->bits == 32 ? (int32_t)b->constant : (int64_t)b->constant;
    if (b->count || !is_of_count(runner, a, &plus) || with < 0 || with > INT32_MAX || relation == NO_RELATION)
        return -1;
    int64_t from = with - plus + (relation != LT && relation != GE); /* from this count on it is decided */
    if (from > 0 && !note_period(runner->run, (uint64_t)from)) return -1;
    return holds(relation, runner->run->iterations + plus, with);
}

static int decide(struct runner *runner, uint32_t number, const struct form *a, const struct form *b)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    enum relation relation = relation_of(instruction);
    bool is_signed = ptx_type_is_signed(instruction->types[0]);
    if (number == runner->of->guard) {
        bool is_swapped = relation == GT || relation == LE; /* limit > index */
        runner->run->first = symbols_form(runner->run->symbols, is_swapped ? b : a);
        runner->run->limit = symbols_form(runner->run->symbols, is_swapped ? a : b);
    }
    int is = runner->run->limit ? decide_index(runner, relation, is_signed, a, b) : -1;
    if (is < 0 && !a->count && !b->count && a->constant < INT32_MAX && b->constant < INT32_MAX &&
        relation != NO_RELATION)
        return holds(relation, (int64_t)a->constant, (int64_t)b->constant);
    return is < 0 ? decide_count(runner, relation, a, b) : is;
}

/* --- instructions --- */

/* As the instruction reads it; 0: no integer of 32 or 64. */
static uint32_t bits_of_operand(const struct ptx_instruction *instruction, uint32_t number)
{
    bool is_shift = instruction->opcode == PTX_OP_SHL || instruction->opcode == PTX_OP_SHR;
    if (is_shift && number == 2) return 32;
    if (ptx_has_modifier(instruction, PTX_MOD_WIDE) && number == 3) return 64;
    return form_bits(instruction->types[instruction->type_count - 1]);
}

static uint32_t compute(struct runner *runner, const struct state *state, uint32_t number, uint32_t result)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    struct words words = {.count = 0};
    bool is_known = true;
    put(&words, TAG_RESULT);
    put(&words, result);
    put(&words, TAG_COMPUTE);
    put(&words, (uint32_t)instruction->opcode | (uint32_t)instruction->space << 16 |
                    (uint32_t)instruction->vector << 24);
    for (int t = 0; t < 3; t++)
        put(&words, t < instruction->type_count ? (uint32_t)instruction->types[t] : 0);
    for (int m = 0; m < PTX_MODIFIER_WORDS; m++) {
        put(&words, (uint32_t)instruction->modifiers[m]);
        put(&words, (uint32_t)(instruction->modifiers[m] >> 32));
    }
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        const struct ptx_operand *operand = &instruction->operands[i];
        uint32_t count = operand->kind == PTX_OPERAND_VECTOR ? operand->element_count : 1;
        for (uint32_t e = 0; e < count; e++) {
            const struct ptx_operand *of =
                operand->kind == PTX_OPERAND_VECTOR ? &operand->elements[e] : operand;
            uint32_t bits = bits_of_operand(instruction, i);
            uint32_t value = value_of(runner, state, of, bits);
            is_known = is_known && value;
            put(&words, value);
        }
    }
    return is_known ? close_words(runner->run->symbols, &words) : SYMBOL_NONE;
}

static uint32_t as_value(struct runner *runner, const struct ptx_instruction *instruction, uint32_t operation)
{
    uint32_t bits = form_bits(instruction->types[0]);
    if (bits == 32 && ptx_has_modifier(instruction, PTX_MOD_WIDE)) bits = 64;
    if (instruction->opcode == PTX_OP_SETP) return operation;
    if (!bits || !operation || symbols_get_form(runner->run->symbols, operation)) return operation;
    struct form form = form_of_atom(bits, operation);
    return symbols_form(runner->run->symbols, &form);
}

/* By which the index is known in sums: an atom of first, but not of step. */
static const struct form_term *pivot_of(const struct symbolic_run *run)
{
    const struct form *first = symbols_get_form(run->symbols, run->first),
                      *step = symbols_get_form(run->symbols, run->step);
    for (uint32_t i = 0; first && i < first->count; i++)
        if (!step || !form_factor(step, first->terms[i].atom)) return &first->terms[i];
    return NULL;
}

/* So many times first + k * step, where there are k iterations at least; and the rest. 0: no multiple. */
static int64_t take_index(const struct symbolic_run *run, struct form *form)
{
    const struct form *first = symbols_get_form(run->symbols, run->first),
                      *step = symbols_get_form(run->symbols, run->step);
    const struct form_term *pivot = pivot_of(run);
    if (!pivot || first->bits != 32) return 0;
    struct form index = form_resize(first, 64), rest = *form;
    int64_t times = (int64_t)form_factor(form, pivot->atom) / (int64_t)form_factor(&index, pivot->atom),
            steps = 0;
    if (!times || times > MOST_TIMES || times < -MOST_TIMES || !form_add(&rest, &index, (uint64_t)-times))
        return 0;
    if (step && step->count == 1 && !step->constant && step->terms[0].factor == 1)
        steps = (int64_t)form_factor(&rest, step->terms[0].atom);
    if (steps % times || steps / times < 0 || steps / times > run->iterations) return 0;
    if (steps && !form_add(&rest, step, (uint64_t)-steps)) return 0;
    for (uint32_t i = 0; i < index.count; i++)
        if (form_factor(&rest, index.terms[i].atom)) return 0;
    *form = rest;
    return times;
}

/* Launches bound it: parameters, extents and numbers of threads, and products of these, none of them the index. */
static bool is_simple(const struct symbolic_run *run, const struct form *form)
{
    bool is = form;
    for (uint32_t i = 0; is && i < form->count; i++) {
        struct operation atom = symbols_get_operation(run->symbols, form->terms[i].atom);
        is = atom.count && (atom.words[0] == TAG_PARAMETER || atom.words[0] == TAG_SPECIAL);
        if (is || !atom.count || atom.words[0] != TAG_PRODUCT) continue;
        const struct form *a = symbols_get_form(run->symbols, atom.words[2]),
                          *b = symbols_get_form(run->symbols, atom.words[3]);
        is = atom.words[2] != run->first && atom.words[3] != run->first && a && b && a->count <= 1 &&
             b->count <= 1 && is_simple(run, a) && is_simple(run, b);
    }
    return is;
}

/* Of the index a multiple and what does not depend on the iteration; of_index: how often. */
static bool is_bounded(const struct runner *runner, struct form *form, int64_t *of_index)
{
    const struct symbolic_run *run = runner->run;
    const struct form *step = symbols_get_form(run->symbols, run->step);
    const struct form_term *pivot = pivot_of(run);
    *of_index = take_index(run, form);
    if (!is_simple(run, form) || (pivot && form_factor(form, pivot->atom))) return false;
    if (!step || !step->count || !form_factor(form, step->terms[0].atom)) return true;
    return form->count == 1 && !form->constant && !*of_index &&
           (form->terms[0].factor == 1 || form->terms[0].factor == UINT64_MAX);
}

/* A number of 32 bits read as one of 64. Of numbers that a launch does not bound, it is nothing that sums could be made
 * of. */
static bool widen(struct runner *runner, struct form *form, bool is_signed)
{
    struct symbolic_run *run = runner->run;
    struct form wide = form_resize(form, 64), rest = wide;
    struct widened widened = {.is_signed = is_signed};
    int64_t plus;
    if (!form->count && (is_signed || (int64_t)wide.constant >= 0)) return *form = wide, true;
    if (is_of_count(runner, form, &plus) && plus <= 0) return *form = wide, true; /* less than the limit */
    if (!is_bounded(runner, &rest, &widened.of_index)) {
        *form = form_of_atom(64, MAKE(run->symbols, TAG_WIDE, is_signed, symbols_form(run->symbols, form)));
        return form->terms[0].atom;
    }
    *form = wide;
    widened.rest = symbols_form(run->symbols, &rest);
    for (uint32_t i = 0; i < run->widened_count; i++)
        if (run->widened[i].rest == widened.rest && run->widened[i].of_index == widened.of_index &&
            run->widened[i].is_signed <= is_signed)
            return true;
    if (run->widened_count == RUN_WIDENED) return false;
    run->widened[run->widened_count++] = widened;
    return widened.rest;
}

static bool multiply(struct form *product, const struct form *a, const struct form *b)
{
    const struct form *constant = a->count ? b : a, *other = a->count ? a : b;
    *product = form_of_constant(a->bits, 0);
    return !constant->count && form_add(product, other, constant->constant);
}

/* Of those that make forms; the result among them. */
static uint32_t operands_of(enum ptx_opcode opcode)
{
    switch ((int)opcode) {
    case PTX_OP_NEG:
    case PTX_OP_NOT:
    case PTX_OP_CVT:
        return 2;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_SHL:
    case PTX_OP_MUL:
    case PTX_OP_DIV:
    case PTX_OP_AND:
        return 3;
    case PTX_OP_MAD:
        return 4;
    }
    return 0;
}

/* Of integers, as forms. False: it is none. */
static bool compute_form(struct runner *runner, const struct state *state, uint32_t number,
                         struct form *result)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    const struct ptx_operand *operands = instruction->operands;
    enum ptx_type type = instruction->types[instruction->type_count - 1];
    uint32_t bits = form_bits(type), count = instruction->operand_count;
    bool is_wide = ptx_has_modifier(instruction, PTX_MOD_WIDE), is_signed = ptx_type_is_signed(type);
    struct form parts[3];
    int64_t plus;
    for (int m = PTX_MOD_NONE + 1; m < PTX_MODIFIER_COUNT; m++)
        if (m != PTX_MOD_LO && m != PTX_MOD_WIDE && ptx_has_modifier(instruction, (enum ptx_modifier)m))
            return false;
    if (!bits || count != operands_of(instruction->opcode) || (is_wide && bits != 32)) return false;
    for (uint32_t i = 1; i < count; i++)
        if (!form_of_operand(runner, state, &operands[i], bits_of_operand(instruction, i), &parts[i - 1]))
            return false;
    *result = parts[0];
    switch ((int)instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return form_add(result, &parts[1], instruction->opcode == PTX_OP_ADD ? 1 : UINT64_MAX);
    case PTX_OP_NEG:
    case PTX_OP_NOT:
        *result = form_of_constant(bits, instruction->opcode == PTX_OP_NOT ? UINT64_MAX : 0);
        return form_add(result, &parts[0], UINT64_MAX);
    case PTX_OP_SHL:
        *result = form_of_constant(bits, 0);
        return !parts[1].count && parts[1].constant < 32 &&
               form_add(result, &parts[0], UINT64_C(1) << parts[1].constant);
    case PTX_OP_CVT: {
        uint32_t to = form_bits(instruction->types[0]);
        if (to != bits && to == 64) return widen(runner, result, is_signed);
        *result = form_resize(result, to ? to : bits);
        return to;
    }
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (parts[0].count && parts[1].count) return false;
        if (is_wide && (!widen(runner, &parts[0], is_signed) || !widen(runner, &parts[1], is_signed)))
            return false;
        return multiply(result, &parts[0], &parts[1]) &&
               (instruction->opcode == PTX_OP_MUL || form_add(result, &parts[2], 1));
    case PTX_OP_DIV:
        if (is_signed || !runner->run->limit || !is_count(runner, &parts[0], &parts[1])) return false;
        *result = form_of_atom(bits, runner->count);
        result->constant = form_of_constant(bits, UINT64_MAX).constant;
        return true;
    case PTX_OP_AND:
        if (parts[1].count || !is_of_count(runner, &parts[0], &plus) ||
            parts[1].constant >= RUN_MOST_UNROLLED || (parts[1].constant & (parts[1].constant + 1)) ||
            !note_period(runner->run, parts[1].constant + 1))
            return false;
        *result = form_of_constant(bits, (uint64_t)(runner->run->iterations + plus) & parts[1].constant);
        return true;
    }
    return false;
}

/* The product of two numbers in mad, so that sums of it are forms. */
static bool compute_mad(struct runner *runner, const struct state *state, uint32_t number,
                        struct form *result)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    uint32_t bits = form_bits(instruction->types[0]);
    struct form parts[3];
    if (instruction->opcode != PTX_OP_MAD && instruction->opcode != PTX_OP_MUL) return false;
    if (!ptx_has_modifier(instruction, PTX_MOD_LO) || !bits ||
        instruction->operand_count != operands_of(instruction->opcode))
        return false;
    for (uint32_t i = 1; i < instruction->operand_count; i++)
        if (!form_of_operand(runner, state, &instruction->operands[i], bits, &parts[i - 1])) return false;
    uint32_t a = symbols_form(runner->run->symbols, &parts[0]),
             b = symbols_form(runner->run->symbols, &parts[1]);
    uint32_t product = MAKE(runner->run->symbols, TAG_PRODUCT, bits, a < b ? a : b, a < b ? b : a);
    *result = form_of_atom(bits, product);
    return a && b && product && (instruction->opcode == PTX_OP_MUL || form_add(result, &parts[2], 1));
}

static uint32_t compute_setp(struct runner *runner, const struct state *state, uint32_t number)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    uint32_t bits = form_bits(instruction->types[0]);
    struct form a, b;
    if (instruction->operand_count != 3 || instruction->operands[0].kind != PTX_OPERAND_REGISTER)
        return SYMBOL_NONE;
    if (bits && instruction->type_count == 1 &&
        form_of_operand(runner, state, &instruction->operands[1], bits, &a) &&
        form_of_operand(runner, state, &instruction->operands[2], bits, &b)) {
        int is = decide(runner, number, &a, &b);
        if (is >= 0) return truth(runner->run->symbols, is);
    }
    return compute(runner, state, number, 0);
}

/* and, or, not of predicates, one of which is decided. */
static uint32_t compute_logic(struct runner *runner, const struct state *state, uint32_t number)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    enum ptx_opcode opcode = instruction->opcode;
    if (instruction->types[0] != PTX_PRED || instruction->operand_count != 3 ||
        (opcode != PTX_OP_AND && opcode != PTX_OP_OR))
        return SYMBOL_NONE;
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t value = value_of(runner, state, &instruction->operands[i], 0);
        int is = constant_of(runner->run->symbols, value);
        if (is < 0) continue;
        if (is == (opcode == PTX_OP_OR)) return value;
        return value_of(runner, state, &instruction->operands[3 - i], 0);
    }
    return SYMBOL_NONE;
}

static bool is_weak(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                               PTX_MOD_RELEASE, PTX_MOD_MMIO};
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (ptx_has_modifier(instruction, strong[i])) return false;
    return true;
}

static uint32_t load(struct runner *runner, const struct state *state, uint32_t number, uint32_t result)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    const struct ptx_operand *address = &instruction->operands[1];
    struct symbols *symbols = runner->run->symbols;
    bool is_fixed = instruction->space == PTX_PARAM || instruction->space == PTX_CONST ||
                    ptx_has_modifier(instruction, PTX_MOD_NC);
    uint32_t at = address_of(runner, state, address), bits = form_bits(instruction->types[0]);
    if (instruction->operand_count != 2 || !is_weak(instruction) || !at) return SYMBOL_NONE;
    if (instruction->space == PTX_SHARED || instruction->space == PTX_LOCAL) return SYMBOL_NONE;
    if (instruction->space == PTX_PARAM && address->reg < 0 && address->variable && bits &&
        instruction->vector < 2)
        return MAKE(symbols, TAG_PARAMETER, address->variable->offset + (uint32_t)address->value, bits / 8);
    return MAKE(symbols, TAG_RESULT, result, PTX_OP_LD,
                (uint32_t)instruction->space | (uint32_t)instruction->vector << 16,
                (uint32_t)instruction->types[0], is_fixed ? SYMBOL_NONE : state->memory, at);
}

static bool store(struct runner *runner, struct state *state, uint32_t number)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    if (instruction->operand_count != 2 || !is_weak(instruction)) return false;
    if (instruction->space != PTX_GLOBAL && instruction->space != PTX_GENERIC) return false;
    struct words words = {.count = 0};
    uint32_t at = address_of(runner, state, &instruction->operands[0]);
    const struct ptx_operand *from = &instruction->operands[1];
    uint32_t bits = form_bits(instruction->types[0]),
             count = from->kind == PTX_OPERAND_VECTOR ? from->element_count : 1;
    put(&words, PTX_OP_ST);
    put(&words, (uint32_t)instruction->space | (uint32_t)instruction->types[0] << 16);
    put(&words, state->memory);
    put(&words, at);
    for (uint32_t e = 0; e < count; e++) {
        uint32_t value =
            value_of(runner, state, from->kind == PTX_OPERAND_VECTOR ? &from->elements[e] : from, bits);
        if (!value) return false;
        put(&words, value);
    }
    state->memory = at ? close_words(runner->run->symbols, &words) : SYMBOL_NONE;
    return state->memory;
}

static uint32_t result_of(struct runner *runner, const struct state *state, uint32_t number, uint32_t result)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    struct form form;
    uint32_t value;
    if (ptx_is_load(instruction)) return load(runner, state, number, result);
    if (instruction->opcode == PTX_OP_SETP) return compute_setp(runner, state, number);
    if (instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2 &&
        instruction->operands[0].kind == PTX_OPERAND_REGISTER && !instruction->operands[1].element_count)
        return value_of(runner, state, &instruction->operands[1], form_bits(instruction->types[0]));
    if (compute_form(runner, state, number, &form) || compute_mad(runner, state, number, &form))
        return symbols_form(runner->run->symbols, &form);
    value = compute_logic(runner, state, number);
    return value ? value : compute(runner, state, number, result);
}

/* Its results follow from its operands, and from memory where it is a load. */
static bool is_function(const struct ptx_instruction *instruction)
{
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    if (!instruction->operand_count || !instruction->type_count || !info->has_destination) return false;
    if (instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
        instruction->opcode == PTX_OP_MADC || ptx_has_modifier(instruction, PTX_MOD_CC))
        return false;
    return info->class == PTX_CLASS_ARITHMETIC || instruction->opcode == PTX_OP_LD;
}

/* Integers as wide as the register. */
static bool write_register(struct runner *runner, struct state *state, int32_t reg, uint32_t value)
{
    const struct form *form = symbols_get_form(runner->run->symbols, value);
    if (reg < 0 || (form && 8 * ptx_type_bytes(runner->of->function->registers[reg].type) != form->bits))
        return false;
    state->registers[reg] = value;
    return true;
}

static bool step(struct runner *runner, struct state *state, uint32_t number)
{
    const struct ptx_instruction *instruction = &runner->of->function->instructions[number];
    if (++runner->steps > MOST_STEPS || instruction->guard >= 0 || ptx_is_atomic(instruction)) return false;
    if (ptx_is_store(instruction)) return store(runner, state, number);
    if (instruction->opcode == PTX_OP_PRAGMA) return true;
    if (!is_function(instruction)) return false;
    const struct ptx_operand *to = &instruction->operands[0];
    uint32_t count = to->kind == PTX_OPERAND_VECTOR ? to->element_count : 1, values[8];
    if (count > 8 || (to->kind != PTX_OPERAND_VECTOR && to->kind != PTX_OPERAND_REGISTER)) return false;
    for (uint32_t e = 0; e < count; e++) {
        values[e] = as_value(runner, instruction, result_of(runner, state, number, e));
        if (!values[e]) return false;
    }
    for (uint32_t e = 0; e < count; e++) {
        int32_t reg = to->kind == PTX_OPERAND_VECTOR ? to->elements[e].reg : to->reg;
        if (to->component || !write_register(runner, state, reg, values[e])) return false;
    }
    return true;
}

/* --- ways --- */

static bool walk(struct runner *runner, struct state *state, uint32_t block, int32_t stop);

static uint32_t *copy_registers(struct runner *runner, const uint32_t *registers)
{
    size_t size = (runner->of->function->register_count + 1) * sizeof *registers;
    uint32_t *copy = arena_alloc(runner->run->arena, size);
    if (copy) memcpy(copy, registers, size);
    return copy;
}

static uint32_t choose(struct symbols *symbols, uint32_t predicate, uint32_t a, uint32_t b)
{
    const struct form *form = symbols_get_form(symbols, a);
    if (a == b || !a || !b) return a == b ? a : SYMBOL_NONE;
    uint32_t choice = MAKE(symbols, TAG_CHOICE, predicate, a, b);
    if (!form || !choice) return choice;
    struct form of = form_of_atom(form->bits, choice);
    return symbols_form(symbols, &of);
}

/* Both ways, which meet behind the block. */
static bool take_both(struct runner *runner, struct state *state, uint32_t block, uint32_t predicate,
                      uint32_t *next)
{
    const struct ptx_block *at = &runner->of->dominators->cfg->blocks[block];
    int32_t meeting = runner->of->forest->postdominator[block];
    struct state other = {copy_registers(runner, state->registers), state->memory, false};
    if (meeting < 0 || !other.registers || ++runner->depth > MOST_DEPTH) return false;
    for (uint32_t s = 0; s < 2; s++)
        if (loops_is_back_edge(runner->of->forest, block, at->successors[s])) return false;
    if (!walk(runner, state, at->successors[0], meeting) || !walk(runner, &other, at->successors[1], meeting))
        return false;
    runner->depth--;
    if (state->has_returned || other.has_returned) return false;
    for (uint32_t r = 0; r < runner->of->function->register_count; r++)
        state->registers[r] =
            choose(runner->run->symbols, predicate, state->registers[r], other.registers[r]);
    state->memory = choose(runner->run->symbols, predicate, state->memory, other.memory);
    *next = (uint32_t)meeting;
    return state->memory;
}

static void note_decision(struct symbolic_run *run, uint32_t branch, bool is_taken)
{
    if (run->visit_count) return;
    if (run->decision_count < RUN_DECISIONS)
        run->decisions[run->decision_count] = (struct decision){branch, is_taken};
    run->decision_count++;
}

static bool leave(struct runner *runner, struct state *state, uint32_t block, uint32_t *next)
{
    const struct ptx_block *at = &runner->of->dominators->cfg->blocks[block];
    uint32_t last = at->first + at->count - 1;
    const struct ptx_instruction *instruction = &runner->of->function->instructions[last];
    *next = at->successor_count ? at->successors[0] : UINT32_MAX;
    if (at->successor_count == 1) return true;
    if (at->successor_count != 2 || instruction->opcode != PTX_OP_BRA || instruction->guard < 0) return false;
    uint32_t predicate = state->registers[instruction->guard];
    int is = constant_of(runner->run->symbols, predicate);
    if (!predicate) return false;
    if (is < 0) {
        if (instruction->guard_negated) /* the first successor is taken where it is false */
            predicate = MAKE(runner->run->symbols, TAG_COMPUTE, PTX_OP_NOT, predicate);
        return take_both(runner, state, block, predicate, next);
    }
    bool is_taken = is != instruction->guard_negated;
    note_decision(runner->run, last, is_taken);
    *next = at->successors[is_taken ? 0 : 1];
    return true;
}

static bool visit(struct runner *runner, const struct state *state)
{
    struct symbolic_run *run = runner->run;
    if (run->visit_count < RUN_VISITS &&
        !(run->visits[run->visit_count] = copy_registers(runner, state->registers)))
        return false;
    if (run->visit_count < RUN_VISITS) run->visit_memories[run->visit_count] = state->memory;
    run->visit_count++;
    return !runner->depth; /* the loop begins whatever data say */
}

static bool walk(struct runner *runner, struct state *state, uint32_t block, int32_t stop)
{
    const struct ptx_cfg *cfg = runner->of->dominators->cfg;
    while ((int32_t)block != stop && !state->has_returned) {
        const struct ptx_block *at = &cfg->blocks[block];
        if (++runner->steps > MOST_STEPS) return false;
        if (block == runner->of->header && !runner->is_turn && !visit(runner, state)) return false;
        if (!at->count) { /* the end */
            state->has_returned = true;
            break;
        }
        for (uint32_t i = at->first; i < at->first + at->count; i++) {
            const struct ptx_instruction *instruction = &runner->of->function->instructions[i];
            if (ptx_is_return(instruction)) {
                if (instruction->guard >= 0) return false;
                state->has_returned = true;
                return true;
            }
            if (!ptx_is_branch(instruction) && !step(runner, state, i)) return false;
        }
        if (runner->is_turn && block == runner->of->latch) return state->has_returned = true, !runner->depth;
        if (!leave(runner, state, block, &block)) return false;
    }
    return true;
}

bool symbolic_run(const struct symbolic_function *function, struct symbolic_run *run)
{
    struct runner runner = {.of = function, .run = run, .count = MAKE(run->symbols, TAG_COUNT)};
    struct state state = {.memory = MAKE(run->symbols, TAG_START)};
    state.registers =
        arena_calloc(run->arena, function->function->register_count + 1, sizeof *state.registers);
    if (!run->period) run->period = 1;
    run->visit_count = run->decision_count = 0;
    run->memory = SYMBOL_NONE;
    if (!state.registers || !walk(&runner, &state, 0, LOOPS_NONE) || !state.has_returned) return false;
    run->memory = state.memory;
    return true;
}

bool symbolic_turn(const struct symbolic_function *function, struct symbolic_run *run, uint32_t *registers,
                   uint32_t *memory)
{
    struct runner runner = {
        .of = function, .run = run, .count = MAKE(run->symbols, TAG_COUNT), .is_turn = true};
    struct state state = {.registers = registers, .memory = *memory};
    if (!walk(&runner, &state, function->header, LOOPS_NONE) || !state.has_returned) return false;
    *memory = state.memory;
    return true;
}
