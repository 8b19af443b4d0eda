/* SPDX-License-Identifier: Apache-2.0
 * See reroll.h. */
#include "fuser/kernel/reroll.h"

#include <string.h>

enum { MOST_ADDED = 16, MOST_RUNS = 4 * RUN_MOST_UNROLLED };
struct finding {
    struct arena *arena, *kept;
    struct symbolic_function of;
    struct symbolic_run run;
    uint32_t compare;                         /* the loop's own */
    uint32_t index;                           /* the register that holds it, at the loop's header */
    uint32_t copies;                          /* of the body in the loop */
    uint32_t memories[MOST_RUNS];             /* by number of iterations */
    uint32_t *first_visit[RUN_MOST_UNROLLED]; /* by number of iterations modulo the copies */
    struct form *growths;                     /* register -> by how much a turn of the loop lets it grow */
};

static uint32_t last_of(const struct finding *finding, uint32_t block)
{
    const struct ptx_block *at = &finding->of.dominators->cfg->blocks[block];
    return at->first + at->count - 1;
}

static const struct ptx_instruction *instruction_of(const struct finding *finding, uint32_t number)
{
    return &finding->of.function->instructions[number];
}

/* --- which loop --- */

static bool is_plain_compare(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_SETP && instruction->operand_count == 3 && instruction->guard < 0 &&
           instruction->operands[1].kind == PTX_OPERAND_REGISTER;
}

static bool is_same_limit(const struct finding *finding, uint32_t a, uint32_t b)
{
    const struct ptx_operand *of_a = &instruction_of(finding, a)->operands[2],
                             *of_b = &instruction_of(finding, b)->operands[2];
    if (of_a->kind != of_b->kind) return false;
    if (of_a->kind == PTX_OPERAND_INTEGER) return of_a->value == of_b->value;
    return of_a->kind == PTX_OPERAND_REGISTER && of_a->reg >= 0 && of_b->reg >= 0 &&
           ssa_use(finding->of.ssa, a, of_a->reg) == ssa_use(finding->of.ssa, b, of_b->reg);
}

/* The comparison with the loop's limit that decides before it. */
static bool find_guard(struct finding *finding)
{
    const struct ptx_cfg *cfg = finding->of.dominators->cfg;
    bool found = false;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (!dominators_is_reachable(finding->of.dominators, b) ||
            finding->of.forest->loop_of[b] != LOOPS_NONE ||
            !dominators_dominates(finding->of.dominators, b, finding->of.header))
            continue;
        for (uint32_t i = cfg->blocks[b].first; !found && i < cfg->blocks[b].first + cfg->blocks[b].count;
             i++)
            if (is_plain_compare(instruction_of(finding, i)) && is_same_limit(finding, i, finding->compare)) {
                finding->of.guard = i;
                found = true;
            }
    }
    return found;
}

static bool find_compare(struct finding *finding)
{
    const struct ptx_instruction *branch = instruction_of(finding, last_of(finding, finding->of.latch));
    if (branch->opcode != PTX_OP_BRA || branch->guard < 0) return false;
    const struct ssa_value *value =
        &finding->of.ssa
             ->values[ssa_use(finding->of.ssa, last_of(finding, finding->of.latch), branch->guard)];
    finding->compare = value->instruction;
    return value->kind == SSA_DEFINITION && is_plain_compare(instruction_of(finding, value->instruction)) &&
           finding->of.dominators->cfg->block_of[value->instruction] == finding->of.latch;
}

/* A loop that lies in no other. */
static bool select_loop(struct finding *finding, int32_t loop)
{
    const struct loop *info = &finding->of.forest->loops[loop];
    finding->of.latch = loops_latch(finding->of.forest, loop);
    finding->of.header = info->header;
    return info->parent == LOOPS_NONE && info->header && finding->of.latch != UINT32_MAX &&
           find_compare(finding) && find_guard(finding);
}

static bool examine(struct symbolic_function *of, struct arena *arena, const struct ptx_function *function)
{
    const char *reason = NULL;
    of->function = function;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    of->dominators = dominators;
    of->forest = dominators ? loops_build(arena, dominators, &reason) : NULL;
    of->ssa = of->forest ? ssa_build(arena, dominators) : NULL;
    return of->ssa && !liveness_compute(&of->liveness, arena, of->ssa);
}

/* --- runs --- */

static bool is_live(const struct symbolic_function *of, uint32_t reg)
{
    return liveness_of(&of->liveness, of->header, (int32_t)reg);
}

/* By how much a register grows from the loop's first visit to the second; 0, too. */
static bool growth(const struct symbolic_run *run, uint32_t reg, struct form *by)
{
    uint32_t from = run->visits[0][reg], to = run->visits[1][reg];
    const struct form *a = symbols_get_form(run->symbols, from), *b = symbols_get_form(run->symbols, to);
    *by = b ? *b : form_of_constant(64, 0);
    if (from == to) return *by = form_of_constant(b ? b->bits : 64, 0), from;
    if (!b || !b->count) return false; /* a comparison with a constant might be another one in later turns */
    return a && a->bits == b->bits && form_add(by, a, UINT64_MAX);
}

static struct form *find_growths(struct finding *finding, const struct symbolic_function *of)
{
    struct form *growths = arena_calloc(finding->arena, of->function->register_count + 1, sizeof *growths);
    for (uint32_t r = 0; growths && r < of->function->register_count; r++)
        if (is_live(of, r) && !growth(&finding->run, r, &growths[r])) return NULL;
    return growths;
}

static bool forms_are_same(const struct form *a, const struct form *b)
{
    struct form difference = *a;
    return a->bits == b->bits && form_add(&difference, b, UINT64_MAX) && !difference.count &&
           !difference.constant;
}

/* Runs whose numbers of iterations are equal modulo the copies begin the loop alike. */
static bool begins_alike(const struct symbolic_function *of, const struct symbolic_run *run, uint32_t **first)
{
    if (!run->visit_count) return true;
    if (!*first) *first = run->visits[0];
    for (uint32_t r = 0; r < of->function->register_count; r++)
        if (is_live(of, r) && (*first)[r] != run->visits[0][r]) return false;
    return true;
}

/* How many iterations a turn of the loop has: by how many steps one of the registers that hold the index grows. */
static uint32_t index_register(const struct symbolic_function *of, const struct symbolic_run *run)
{
    uint32_t steps;
    for (uint32_t r = 0; r < of->function->register_count && run->visit_count; r++)
        if (is_live(of, r) && symbolic_steps(run, run->visits[0][r], &steps)) return r;
    return UINT32_MAX;
}

static bool run_with(struct finding *finding, const struct symbolic_function *of, uint32_t iterations)
{
    finding->run.iterations = iterations;
    return symbolic_run(of, &finding->run);
}

static uint32_t runs_of(const struct finding *finding)
{
    return 4 * finding->run.period;
}

/* What a number of whole turns leaves, the iterations that are left for no whole one have been done before. */
static bool begins_as_left(const struct finding *finding, uint32_t iterations)
{
    return !finding->run.visit_count ||
           finding->run.visit_memories[0] == finding->memories[iterations % finding->copies];
}

static bool run_original(struct finding *finding)
{
    uint32_t from, to;
    if (!run_with(finding, &finding->of, 1) || !finding->run.step || finding->run.period < 2) return false;
    finding->copies = finding->run.period;
    for (uint32_t n = 0; n < runs_of(finding); n++) {
        if (!run_with(finding, &finding->of, n) || finding->run.period != finding->copies ||
            finding->run.visit_count != n / finding->copies ||
            !begins_alike(&finding->of, &finding->run, &finding->first_visit[n % finding->copies]) ||
            !begins_as_left(finding, n))
            return false;
        finding->memories[n] = finding->run.memory;
    }
    finding->index = index_register(&finding->of, &finding->run);
    finding->growths = find_growths(finding, &finding->of);
    return finding->growths && finding->index != UINT32_MAX &&
           symbolic_steps(&finding->run, finding->run.visits[0][finding->index], &from) &&
           symbolic_steps(&finding->run, finding->run.visits[1][finding->index], &to) &&
           to - from == finding->copies;
}

/* --- the rolled function --- */

struct writing {
    struct finding *finding;
    struct ptx_function *function;
};

/* Another label before an instruction. */
static bool label_before(struct writing *writing, struct ptx_operand *target, uint32_t instruction)
{
    struct ptx_function *function = writing->function;
    const char *name = arena_printf(writing->finding->kept, "$kfuse_rolled_%u", function->label_count);
    if (!name) return false;
    target->label = (int32_t)function->label_count;
    target->symbol = NULL;
    target->text = (struct ptx_span){name, (uint32_t)strlen(name)};
    function->labels[function->label_count++] = (struct ptx_label){name, instruction};
    return true;
}

/* As the loop's last branch, to another place; without its predicate unless it is kept. */
static bool write_branch(struct writing *writing, uint32_t at, uint32_t to, bool is_kept)
{
    struct ptx_operand *target = arena_calloc(writing->finding->kept, 1, sizeof *target);
    struct ptx_instruction branch =
        *instruction_of(writing->finding, last_of(writing->finding, writing->finding->of.latch));
    if (!target) return false;
    *target = branch.operands[0];
    branch.operands = target;
    branch.operand_count = 1;
    if (!is_kept) branch.guard = -1, branch.guard_negated = false;
    writing->function->instructions[at] = branch;
    return label_before(writing, target, to);
}

static uint32_t append(struct writing *writing, const struct ptx_instruction *like)
{
    struct ptx_operand *operands =
        arena_calloc(writing->finding->kept, like->operand_count + 1, sizeof *operands);
    struct ptx_instruction *to = &writing->function->instructions[writing->function->instruction_count];
    if (!operands) return UINT32_MAX;
    memcpy(operands, like->operands, like->operand_count * sizeof *operands);
    *to = *like;
    to->operands = operands;
    return writing->function->instruction_count++;
}

static bool is_in_loop(const struct finding *finding, uint32_t number)
{
    return loops_contains_block(finding->of.forest, finding->of.forest->loop_of[finding->of.header],
                                finding->of.dominators->cfg->block_of[number]);
}

static bool is_growth(const struct finding *finding, const struct ptx_operand *operand, const struct form *by)
{
    struct form times = form_of_constant(by->bits, 0);
    const struct form *form;
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0 || operand->is_negated ||
        operand->component)
        return false;
    form = symbols_get_form(finding->run.symbols, finding->run.visits[0][operand->reg]);
    return form && form->bits == by->bits && form_add(&times, form, finding->copies) &&
           forms_are_same(&times, by);
}

/* Adds to a register what one iteration adds, as an addition of the loop does. */
static bool append_step(struct writing *writing, uint32_t reg, const struct form *by)
{
    struct finding *finding = writing->finding;
    for (uint32_t i = 0; i < finding->of.function->instruction_count; i++) {
        const struct ptx_instruction *like = instruction_of(finding, i);
        if (like->opcode != PTX_OP_ADD || like->operand_count != 3 || like->guard >= 0 ||
            !is_in_loop(finding, i))
            continue;
        for (uint32_t k = 1; k < 3; k++) {
            if (!is_growth(finding, &like->operands[k], by) ||
                like->operands[3 - k].kind != PTX_OPERAND_REGISTER)
                continue;
            uint32_t at = append(writing, like);
            if (at == UINT32_MAX) return false;
            struct ptx_operand *operands = writing->function->instructions[at].operands;
            operands[0].reg = operands[3 - k].reg = (int32_t)reg;
            return true;
        }
    }
    return false;
}

/* Where the first copy ends: behind its last store, or where ways meet behind that. */
static uint32_t find_cut(const struct finding *finding)
{
    uint32_t stores = 0, seen = 0, at = UINT32_MAX;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < finding->of.function->instruction_count; i++) {
            if (!ptx_is_store(instruction_of(finding, i)) || !is_in_loop(finding, i)) continue;
            if (!pass)
                stores++;
            else if (++seen == stores / finding->copies)
                at = i;
        }
    if (!stores || stores % finding->copies) return UINT32_MAX;
    uint32_t block = finding->of.dominators->cfg->block_of[at];
    if (dominators_dominates(finding->of.dominators, block, finding->of.latch)) return at + 1;
    for (int32_t next = (int32_t)block; next >= 0; next = finding->of.forest->postdominator[next])
        if (dominators_dominates(finding->of.dominators, (uint32_t)next, finding->of.latch))
            return finding->of.dominators->cfg->blocks[next].first;
    return UINT32_MAX;
}

/* The code behind the first copy: the next index, and the jump back. */
static bool append_end(struct writing *writing)
{
    struct finding *finding = writing->finding;
    const struct ptx_block *latch = &finding->of.dominators->cfg->blocks[finding->of.latch];
    uint32_t leaves =
        latch->successors[0] == finding->of.header ? latch->successors[1] : latch->successors[0];
    for (uint32_t r = 0; r < finding->of.function->register_count; r++) {
        struct form by;
        if (!is_live(&finding->of, r)) continue;
        if (!growth(&finding->run, r, &by)) return false;
        if ((by.count || by.constant) && !append_step(writing, r, &by)) return false;
        if (writing->function->instruction_count > finding->of.function->instruction_count + MOST_ADDED - 4)
            return false;
    }
    uint32_t compare = append(writing, instruction_of(finding, finding->compare));
    if (compare == UINT32_MAX) return false;
    writing->function->instructions[compare].operands[1].reg = (int32_t)finding->index;
    uint32_t back = writing->function->instruction_count++, on = writing->function->instruction_count++;
    uint32_t header = finding->of.dominators->cfg->blocks[finding->of.header].first;
    bool jumps = latch->successors[0] == finding->of.header; /* where the predicate holds */
    return write_branch(writing, back, jumps ? header : finding->of.dominators->cfg->blocks[leaves].first,
                        true) &&
           write_branch(writing, on, jumps ? finding->of.dominators->cfg->blocks[leaves].first : header,
                        false);
}

static bool was_decided(const struct symbolic_run *run, uint32_t branch)
{
    for (uint32_t d = 0; d < run->decision_count; d++)
        if (run->decisions[d].branch == branch) return true;
    return false;
}

/* Ways that lead to other copies are closed: but for the guard's, all take those of a whole number of turns. */
static bool close_ways(struct writing *writing)
{
    struct finding *finding = writing->finding;
    if (!run_with(finding, &finding->of, 0) || finding->run.decision_count > RUN_DECISIONS) return false;
    struct symbolic_run none = finding->run; /* without an iteration */
    if (!run_with(finding, &finding->of, 3 * finding->copies) || finding->run.decision_count > RUN_DECISIONS)
        return false;
    for (uint32_t d = 0; d < finding->run.decision_count; d++) {
        const struct decision *decision = &finding->run.decisions[d];
        const struct ptx_cfg *cfg = finding->of.dominators->cfg;
        const struct ptx_block *block = &cfg->blocks[cfg->block_of[decision->branch]];
        if (was_decided(&none, decision->branch)) continue;
        if (!write_branch(writing, decision->branch,
                          cfg->blocks[block->successors[decision->is_taken ? 0 : 1]].first, false))
            return false;
    }
    return true;
}

static struct ptx_function *copy_function(struct finding *finding)
{
    const struct ptx_function *function = finding->of.function;
    struct ptx_function *copy = arena_alloc(finding->kept, sizeof *copy);
    struct ptx_instruction *instructions =
        arena_calloc(finding->kept, function->instruction_count + MOST_ADDED, sizeof *instructions);
    struct ptx_label *labels =
        arena_calloc(finding->kept, function->label_count + RUN_DECISIONS + 3, sizeof *labels);
    if (!copy || !instructions || !labels) return NULL;
    memcpy(instructions, function->instructions, function->instruction_count * sizeof *instructions);
    if (function->label_count) memcpy(labels, function->labels, function->label_count * sizeof *labels);
    *copy = *function;
    copy->instructions = instructions;
    copy->labels = labels;
    return copy;
}

static struct ptx_function *roll(struct finding *finding)
{
    struct writing writing = {finding, copy_function(finding)};
    uint32_t cut = find_cut(finding), end = finding->of.function->instruction_count;
    bool is = writing.function && cut != UINT32_MAX && close_ways(&writing) && append_end(&writing) &&
              write_branch(&writing, cut, end, false);
    return is ? writing.function : NULL;
}

/* --- the proof --- */

/* Without what no thread comes to. numbers: of the instructions that are left, by what they were. */
static bool compact(struct finding *finding, struct ptx_function *function, uint32_t *numbers)
{
    struct symbolic_function of = {.header = 0};
    uint32_t count = 0;
    if (!examine(&of, finding->arena, function)) return false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        numbers[i] = count;
        if (dominators_is_reachable(of.dominators, of.dominators->cfg->block_of[i]))
            function->instructions[count++] = function->instructions[i];
    }
    numbers[function->instruction_count] = count;
    for (uint32_t l = 0; l < function->label_count; l++)
        function->labels[l].instruction = numbers[function->labels[l].instruction];
    function->instruction_count = count;
    return true;
}

/* sum += times * by for each turn, of which there are so many that only a name stands for it. */
static bool add_turns(struct finding *finding, struct form *sum, const struct form *by, uint64_t times)
{
    struct form turns = form_of_constant(by->bits, 0);
    for (uint32_t i = 0; i <= by->count; i++) {
        uint32_t atom = i < by->count ? by->terms[i].atom : 0;
        uint64_t factor = i < by->count ? by->terms[i].factor : by->constant;
        uint32_t product = symbols_operation(finding->run.symbols, (uint32_t[]){TAG_TURN, atom}, 2);
        struct form term = form_of_atom(by->bits, product);
        if (!product || !form_add(&turns, &term, factor)) return false;
    }
    return form_add(sum, &turns, times);
}

/* The registers as a turn finds them, which has had any number of turns before it: from the first one's, by growths. */
static uint32_t *begin_turn(struct finding *finding, const struct symbolic_function *of,
                            const uint32_t *first, const struct form *growths, uint64_t times)
{
    uint32_t *registers = arena_calloc(finding->arena, of->function->register_count + 1, sizeof *registers);
    for (uint32_t r = 0; registers && r < of->function->register_count; r++) {
        const struct form *form = symbols_get_form(finding->run.symbols, first[r]);
        if (!is_live(of, r)) continue;
        registers[r] = first[r];
        if (!growths[r].count && !growths[r].constant) continue;
        struct form sum = form ? *form : form_of_constant(growths[r].bits, 0);
        if (!form || !add_turns(finding, &sum, &growths[r], times)) return NULL;
        registers[r] = symbols_form(finding->run.symbols, &sum);
    }
    return registers;
}

/* They have grown by so many times the growths. */
static bool have_grown(struct finding *finding, const struct symbolic_function *of, const uint32_t *before,
                       const uint32_t *after, const struct form *growths, uint64_t times)
{
    for (uint32_t r = 0; r < of->function->register_count; r++) {
        const struct form *a = symbols_get_form(finding->run.symbols, before[r]),
                          *b = symbols_get_form(finding->run.symbols, after[r]);
        if (!is_live(of, r)) continue;
        if (!growths[r].count && !growths[r].constant) {
            if (before[r] != after[r]) return false;
            continue;
        }
        struct form sum = a ? *a : growths[r];
        if (!a || !b || !form_add(&sum, &growths[r], times) || !forms_are_same(&sum, b)) return false;
    }
    return true;
}

static bool run_turns(struct finding *finding, const struct symbolic_function *of, uint32_t *registers,
                      const struct form *growths, uint32_t count, uint32_t *memory)
{
    uint32_t *before = arena_calloc(finding->arena, of->function->register_count + 1, sizeof *before);
    if (!before) return false;
    memcpy(before, registers, of->function->register_count * sizeof *before);
    *memory = symbols_operation(finding->run.symbols, (uint32_t[]){TAG_START, 1}, 2);
    for (uint32_t t = 0; t < count; t++)
        if (!symbolic_turn(of, &finding->run, registers, memory)) return false;
    return have_grown(finding, of, before, registers, growths, count);
}

/* A turn of the loop, whichever it is, that begins a number of iterations modulo the copies behind the first one, does what as many
 * turns of the rolled loop do, and either begins the next as it began. */
static bool turns_are_same(struct finding *finding, const struct symbolic_function *of,
                           const struct form *growths, const uint32_t *const *visits, uint32_t begun)
{
    uint32_t memory, memory_rolled, first = finding->run.first;
    uint32_t *registers = begin_turn(finding, &finding->of, finding->first_visit[begun], finding->growths, 1),
             *rolled = begin_turn(finding, of, visits[begun], growths, finding->copies);
    if (!registers || !rolled || registers[finding->index] != rolled[finding->index]) return false;
    finding->run.first = registers[finding->index];
    finding->run.iterations = finding->copies;
    bool are = run_turns(finding, &finding->of, registers, finding->growths, 1, &memory) &&
               run_turns(finding, of, rolled, growths, finding->copies, &memory_rolled) &&
               memory == memory_rolled;
    finding->run.first = first;
    return are;
}

/* The rolled loop: a visit an iteration, which finds what one iteration less leaves. */
static bool run_rolled(struct finding *finding, const struct symbolic_function *of, uint32_t iterations,
                       uint32_t **first)
{
    if (!run_with(finding, of, iterations) || finding->run.visit_count != iterations) return false;
    for (uint32_t v = 0; v < iterations && v < RUN_VISITS; v++)
        if (finding->run.visit_memories[v] != finding->memories[v]) return false;
    return begins_alike(of, &finding->run, first) && finding->run.memory == finding->memories[iterations];
}

static bool is_proved(struct finding *finding, struct ptx_function *rolled)
{
    struct symbolic_function of = {.header = 0};
    const uint32_t *visits[RUN_MOST_UNROLLED];
    uint32_t *first = NULL, header = finding->of.dominators->cfg->blocks[finding->of.header].first;
    uint32_t *numbers = arena_calloc(finding->arena, rolled->instruction_count + 1, sizeof *numbers);
    if (!numbers || !compact(finding, rolled, numbers) || !examine(&of, finding->arena, rolled)) return false;
    of.header = of.dominators->cfg->block_of[numbers[header]];
    of.guard = numbers[finding->of.guard];
    of.latch = loops_latch(of.forest, of.forest->loop_of[of.header]);
    bool is = of.forest->loop_of[of.header] != LOOPS_NONE && of.latch != UINT32_MAX;
    for (uint32_t n = 0; is && n < runs_of(finding); n++) is = run_rolled(finding, &of, n, &first);
    const struct form *growths = is ? find_growths(finding, &of) : NULL;
    for (uint32_t v = 0; growths && v < finding->copies; v++) visits[v] = finding->run.visits[v];
    for (uint32_t r = 0; is && growths && r < finding->copies; r++)
        is = turns_are_same(finding, &of, growths, visits, r);
    return is && growths;
}

/* --- all of it --- */

static const struct ptx_function *find_in(struct finding *finding, const struct ptx_function *function)
{
    if (function->table_count || !examine(&finding->of, finding->arena, function)) return NULL;
    for (int32_t l = 0; l < (int32_t)finding->of.forest->loop_count; l++) {
        struct ptx_function *rolled = NULL;
        if (!select_loop(finding, l)) continue;
        finding->run = (struct symbolic_run){.symbols = finding->run.symbols, .arena = finding->arena};
        memset(finding->first_visit, 0, sizeof finding->first_visit);
        if (run_original(finding)) rolled = roll(finding);
        if (rolled && is_proved(finding, rolled)) return rolled;
    }
    return NULL;
}

const struct reroll *reroll_find(struct arena *arena, const struct ptx_function *function)
{
    struct arena *scratch = arena_create();
    struct reroll *reroll = arena_calloc(arena, 1, sizeof *reroll);
    struct finding *finding = scratch ? arena_calloc(scratch, 1, sizeof *finding) : NULL;
    struct symbols *symbols = symbols_open(arena);
    if (finding && reroll && symbols) {
        *finding = (struct finding){.arena = scratch, .kept = arena, .run = {.symbols = symbols}};
        reroll->function = find_in(finding, function);
        reroll->run = finding->run;
        memset(reroll->run.visits, 0, sizeof reroll->run.visits);
    }
    arena_free(scratch);
    if (reroll && reroll->function) return reroll;
    symbols_close(symbols);
    return NULL;
}

void reroll_close(const struct reroll *reroll)
{
    if (reroll) symbols_close(reroll->run.symbols);
}
