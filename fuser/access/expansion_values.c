/* SPDX-License-Identifier: Apache-2.0
 * What passes from one iteration of a loop to the next in registers, as steps: see expansion.h, rule 2. */
#include "fuser/access/expansion.h"
#include "fuser/kernel/ssa.h"

enum { MOST_STEPS = 64 };

bool expansion_refuse(struct expanding *expanding, uint32_t instruction, const char *why)
{
    const struct ptx_function *function = expanding->summary->function;
    expanding->why = arena_printf(expanding->arena, "kernel %s line %u: %s", function->name,
                                  function->instructions[instruction].line, why);
    if (!expanding->why) expanding->why = "memory is out";
    return false;
}

/* Fills writers: of the loop, an instruction that writes the register, or UINT32_MAX. */
static bool find_writers(struct expanding *expanding, int32_t loop)
{
    const struct ptx_cfg *cfg = expanding->cfg;
    uint32_t registers = cfg->function->register_count;
    expanding->writers = arena_calloc(expanding->arena, registers + 1, sizeof *expanding->writers);
    if (!expanding->writers) return expansion_refuse(expanding, 0, "memory is out");
    for (uint32_t r = 0; r < registers; r++) expanding->writers[r] = UINT32_MAX;
    for (uint32_t i = 0; i < cfg->function->instruction_count; i++) {
        if (!loops_contains_block(expanding->forest, loop, cfg->block_of[i])) continue;
        for (uint32_t k = 0; k < expanding->ssa->definitions[i].count; k++)
            expanding->writers[expanding->ssa->definitions[i].items[k].reg] = i;
    }
    return true;
}

static bool is_plain_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0 && !operand->component &&
           !operand->is_negated;
}

static bool is_fixed(const struct expanding *expanding, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_INTEGER) return true;
    return is_plain_register(operand) && expanding->writers[operand->reg] == UINT32_MAX;
}

static bool has_modifiers(const struct ptx_instruction *instruction)
{
    for (int word = 0; word < PTX_MODIFIER_WORDS; word++)
        if (instruction->modifiers[word]) return true;
    return false;
}

/* Of a whole register of 2, 4 or 8 bytes. */
static bool is_whole_integer(const struct expanding *expanding, const struct ptx_instruction *instruction)
{
    const struct ptx_register *registers = expanding->cfg->function->registers;
    if (instruction->type_count != 1 || instruction->guard >= 0 || has_modifiers(instruction)) return false;
    unsigned bytes = ptx_type_bytes(instruction->types[0]);
    return !ptx_type_is_float(instruction->types[0]) && (bytes == 2 || bytes == 4 || bytes == 8) &&
           is_plain_register(&instruction->operands[0]) &&
           ptx_type_bytes(registers[instruction->operands[0].reg].type) == bytes;
}

/* The operand in which the value of the iteration before comes in; the other one is the step's. NULL:
 * neither. */
static const struct ptx_operand *follow(const struct expanding *expanding,
                                        const struct ptx_instruction *instruction,
                                        struct expansion_step *step)
{
    const struct ptx_operand *operands = instruction->operands;
    step->addend = NULL;
    if (!is_whole_integer(expanding, instruction)) return NULL;
    if (instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2)
        return is_plain_register(&operands[1]) ? &operands[1] : NULL;
    bool adds = instruction->opcode == PTX_OP_ADD;
    if ((!adds && instruction->opcode != PTX_OP_SUB) || instruction->operand_count != 3) return NULL;
    step->is_subtracted = !adds;
    if (is_plain_register(&operands[1]) && is_fixed(expanding, &operands[2])) {
        step->addend = &operands[2];
        return &operands[1];
    }
    if (!adds || !is_plain_register(&operands[2]) || !is_fixed(expanding, &operands[1])) return NULL;
    step->addend = &operands[1];
    return &operands[2];
}

struct steps {
    struct expansion_step *items;
    uint32_t count;
};

/* Unrolled loops add the same several times. */
static bool repeats_step(struct steps *steps, const struct expansion_step *step)
{
    struct expansion_step *last = steps->count ? &steps->items[steps->count - 1] : NULL;
    if (!last || last->reg != step->reg || last->is_subtracted != step->is_subtracted ||
        last->addend->kind != step->addend->kind || last->addend->reg != step->addend->reg ||
        last->addend->value != step->addend->value)
        return false;
    last->times++;
    return true;
}

static bool add_step(const struct expanding *expanding, struct steps *steps,
                     const struct expansion_step *step)
{
    if (repeats_step(steps, step)) return true;
    struct expansion_step *items =
        arena_grow(expanding->arena, steps->items, steps->count, steps->count + 1, sizeof *items);
    if (!items) return false;
    steps->items = items;
    steps->items[steps->count++] = *step;
    return true;
}

/* From a value of the iteration, the register's, back to what comes into it: a phi of the header, or
 * SSA_NO_VALUE. */
static uint32_t find_start(const struct expanding *expanding, int32_t number, int32_t reg, uint32_t value,
                           struct steps *steps)
{
    const struct ssa *ssa = expanding->ssa;
    uint32_t header = expanding->forest->loops[number].header;
    for (uint32_t count = 0; count <= MOST_STEPS; count++) {
        const struct ssa_value *definition = &ssa->values[value];
        struct expansion_step step = {.reg = reg, .times = 1};
        if (definition->kind == SSA_PHI && definition->block == header) return value;
        if (definition->kind != SSA_DEFINITION || definition->previous) return SSA_NO_VALUE;
        if (!loops_contains_block(expanding->forest, number, definition->block)) return SSA_NO_VALUE;
        const struct ptx_operand *from =
            follow(expanding, &expanding->cfg->function->instructions[definition->instruction], &step);
        if (!from || (step.addend && !add_step(expanding, steps, &step))) return SSA_NO_VALUE;
        value = ssa_use(ssa, definition->instruction, from->reg);
    }
    return SSA_NO_VALUE;
}

/* The value that the latch sends back for a phi of the header. */
static uint32_t value_sent_back(const struct expanding *expanding, const struct expansion_loop *loop,
                                uint32_t phi)
{
    const struct ptx_block *header = &expanding->cfg->blocks[loop->header];
    for (uint32_t p = 0; p < header->predecessor_count; p++)
        if (header->predecessors[p] == loop->latch) return expanding->ssa->values[phi].arguments[p];
    return SSA_NO_VALUE;
}

static uint32_t phi_of(const struct expanding *expanding, const struct expansion_loop *loop, int32_t reg)
{
    const struct ssa_list *phis = &expanding->ssa->phis[loop->header];
    for (uint32_t i = 0; i < phis->count; i++)
        if (phis->items[i].reg == reg) return phis->items[i].value;
    return SSA_NO_VALUE;
}

/* The register is read in the iterations to come: it moves on by steps. */
static bool find_carried(struct expanding *expanding, int32_t number, int32_t reg,
                         struct expansion_loop *loop)
{
    uint32_t phi = phi_of(expanding, loop, reg);
    struct steps steps = {loop->steps, loop->step_count};
    bool found =
        phi && find_start(expanding, number, reg, value_sent_back(expanding, loop, phi), &steps) == phi;
    loop->steps = steps.items;
    loop->step_count = steps.count;
    return found || expansion_refuse(expanding, expanding->writers[reg],
                                     "a value passes to the next iteration that is no counter");
}

/* The register is read behind the loop, and written anew by each iteration, from one that is carried. */
static bool find_result(struct expanding *expanding, int32_t number, int32_t reg, struct expansion_loop *loop)
{
    uint32_t phi = phi_of(expanding, loop, reg);
    struct steps steps = {loop->last_steps, loop->last_step_count};
    uint32_t start = phi ? find_start(expanding, number, reg, value_sent_back(expanding, loop, phi), &steps)
                         : SSA_NO_VALUE;
    struct expansion_result *results = arena_grow(expanding->arena, loop->results, loop->result_count,
                                                  loop->result_count + 1, sizeof *results);
    if (!start || start == phi || !results)
        return expansion_refuse(expanding, expanding->writers[reg],
                                "a value that is no counter is used behind the loop");
    loop->last_steps = steps.items;
    loop->last_step_count = steps.count;
    loop->results = results;
    loop->results[loop->result_count++] = (struct expansion_result){reg, expanding->ssa->values[start].reg};
    return true;
}

bool expansion_find_steps(struct expanding *expanding, int32_t number, bool is_passed,
                          struct expansion_loop *loop)
{
    if (!find_writers(expanding, number)) return false;
    for (int32_t reg = 0; reg < (int32_t)expanding->cfg->function->register_count; reg++) {
        if (expanding->writers[reg] == UINT32_MAX) continue;
        if (liveness_of(&expanding->liveness, loop->header, reg)) {
            if (!find_carried(expanding, number, reg, loop)) return false;
        } else if (is_passed && liveness_of(&expanding->liveness, loop->latch + 1, reg)) {
            if (!find_result(expanding, number, reg, loop)) return false;
        }
    }
    return true;
}
