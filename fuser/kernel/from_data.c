/* SPDX-License-Identifier: Apache-2.0
 * See from_data.h: forwards, from value to user. */
#include "fuser/kernel/from_data.h"

struct user { /* of a value; 0 ends the list */
    uint32_t value, next;
};
struct flow {
    const struct ssa *ssa;
    struct user *users;
    uint32_t *first; /* by value */
    uint32_t used;   /* from 1 on */
};

static uint32_t predecessors_of(const struct ssa *ssa, const struct ssa_value *phi)
{
    return ssa->dominators->cfg->blocks[phi->block].predecessor_count;
}

static uint32_t count_uses(const struct ssa *ssa)
{
    uint32_t total = 1;
    for (uint32_t v = 1; v < ssa->value_count; v++) {
        const struct ssa_value *value = &ssa->values[v];
        if (value->kind == SSA_PHI) total += predecessors_of(ssa, value);
        if (value->kind == SSA_DEFINITION) total += ssa->uses[value->instruction].count + 1;
    }
    return total;
}

static void add_user(struct flow *flow, uint32_t of, uint32_t user)
{
    flow->users[++flow->used] = (struct user){user, flow->first[of]};
    flow->first[of] = flow->used;
}

static void add_users(struct flow *flow, uint32_t v)
{
    const struct ssa_value *value = &flow->ssa->values[v];
    if (value->kind == SSA_PHI)
        for (uint32_t p = 0; p < predecessors_of(flow->ssa, value); p++)
            add_user(flow, value->arguments[p], v);
    if (value->kind != SSA_DEFINITION) return;
    const struct ssa_list *uses = &flow->ssa->uses[value->instruction];
    for (uint32_t u = 0; u < uses->count; u++) add_user(flow, uses->items[u].value, v);
    if (value->previous) add_user(flow, value->previous, v);
}

static bool reads_data(const struct ssa *ssa, const struct ssa_value *value)
{
    if (value->kind != SSA_DEFINITION) return false;
    const struct ptx_instruction *instruction =
        &ssa->dominators->cfg->function->instructions[value->instruction];
    return (ptx_is_load(instruction) && instruction->space != PTX_PARAM && instruction->space != PTX_CONST) ||
           ptx_is_atomic(instruction);
}

bool *from_data_find(struct arena *arena, const struct ssa *ssa)
{
    uint32_t count = ssa->value_count, top = 0;
    struct flow flow = {.ssa = ssa};
    bool *is_from_data = arena_calloc(arena, count + 1, sizeof *is_from_data);
    uint32_t *stack = arena_calloc(arena, count + 1, sizeof *stack);
    flow.first = arena_calloc(arena, count + 1, sizeof *flow.first);
    flow.users = arena_calloc(arena, (size_t)count_uses(ssa) + 1, sizeof *flow.users);
    if (!is_from_data || !stack || !flow.first || !flow.users) return NULL;
    for (uint32_t v = 1; v < count; v++) {
        add_users(&flow, v);
        is_from_data[v] = reads_data(ssa, &ssa->values[v]);
        if (is_from_data[v]) stack[top++] = v;
    }
    while (top) {
        uint32_t value = stack[--top];
        for (uint32_t u = flow.first[value]; u; u = flow.users[u].next) {
            uint32_t user = flow.users[u].value;
            if (!is_from_data[user]) stack[top++] = user;
            is_from_data[user] = true;
        }
    }
    return is_from_data;
}
