/* SPDX-License-Identifier: Apache-2.0
 * Forwards and drops. Members of which a fused thread runs several threads take no part. Accesses
 * of other threads need no look: the group is legal, so whatever touches these bytes in another member is the
 * same thread. */
#include "fuser/fusion/forward.h"
#include "fuser/kernel/product.h"

#include <stdlib.h>
#include <string.h>

static const struct ptx_function *function_of(const struct space *space, uint32_t member)
{
    return space->members[member].summary->function;
}

static const struct ptx_instruction *instruction_of(const struct space *space,
                                                    const struct placed_access *access)
{
    return &function_of(space, access->member)->instructions[access->access->instruction];
}

static uint32_t access_count(const struct space *space, uint32_t member)
{
    return space->members[member].summary->access_count;
}

/* The fused thread makes exactly this access, once in each instance, whenever its domain says so. */
static bool is_exact(const struct space *space, const struct placed_access *access)
{
    return access->access->address_is_exact && access->access->domain_is_exact &&
           !access->access->is_uncached_order && access->access->relation &&
           !remap_is_repeated(&space->remaps[access->member]);
}

bool forward_is_certain(const struct space *space, const struct placed_access *access)
{
    return access->access->is_once && is_exact(space, access);
}

static bool may_touch(struct space *space, const struct placed_access *a, const struct placed_access *b)
{
    return space_overlap(space, a, b) != OVERLAP_NONE;
}

/* Whether one fused thread may make access `between` after `first` and before `last`. */
static bool lies_between(const struct order *orders, const struct placed_access *first,
                         const struct placed_access *between, const struct placed_access *last)
{
    uint32_t at = between->access->instruction;
    if (between->member < first->member || between->member > last->member) return false;
    if (between->member == first->member &&
        !order_may_follow(&orders[first->member], first->access->instruction, at))
        return false;
    return between->member != last->member ||
           order_may_follow(&orders[last->member], at, last->access->instruction);
}

/* One element of a vector, or the scalar itself, fits the register that holds it bit for bit. */
static bool element_is_raw(const struct ptx_function *function, const struct ptx_operand *operand,
                           uint32_t bytes, bool is_source)
{
    if (operand->kind == PTX_OPERAND_INTEGER || operand->kind == PTX_OPERAND_FLOAT) return is_source;
    return operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0 && !operand->component &&
           ptx_type_bytes(function->registers[operand->reg].type) == bytes &&
           function->registers[operand->reg].type != PTX_PRED;
}

/* Not to be fetched again is what a forward is about. */
static bool wants_memory(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_CV) || ptx_has_modifier(instruction, PTX_MOD_WT) ||
           ptx_has_modifier(instruction, PTX_MOD_MMIO) || ptx_has_modifier(instruction, PTX_MOD_VOLATILE);
}

static bool value_is_raw(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    bool is_source = ptx_is_store(instruction);
    uint32_t bytes = instruction->type_count ? ptx_type_bytes(instruction->types[0]) : 0;
    if (bytes != 2 && bytes != 4 && bytes != 8) return false;
    if (!is_source && !ptx_is_load(instruction)) return false;
    if (instruction->operand_count < 2) return false;
    const struct ptx_operand *value = &instruction->operands[is_source ? 1 : 0];
    if (instruction->vector <= 1) return element_is_raw(function, value, bytes, is_source);
    if (value->kind != PTX_OPERAND_VECTOR || value->element_count != instruction->vector) return false;
    for (uint32_t i = 0; i < value->element_count; i++)
        if (!element_is_raw(function, &value->elements[i], bytes, is_source)) return false;
    return true;
}

/* Both loads fill registers of one width with the same extension: the register passes whole. */
static bool loads_match(const struct ptx_function *first, const struct ptx_instruction *source,
                        const struct ptx_function *second, const struct ptx_instruction *load)
{
    if (!ptx_is_load(source) || source->types[0] != load->types[0] || source->vector > 1) return false;
    const struct ptx_operand *a = &source->operands[0], *b = &load->operands[0];
    if (a->kind != PTX_OPERAND_REGISTER || b->kind != PTX_OPERAND_REGISTER || a->component || b->component)
        return false;
    uint32_t bytes = ptx_type_bytes(first->registers[a->reg].type);
    return bytes == ptx_type_bytes(second->registers[b->reg].type) &&
           (bytes == 2 || bytes == 4 || bytes == 8);
}

static bool values_match(struct space *space, const struct placed_access *from,
                         const struct placed_access *to)
{
    const struct ptx_instruction *source = instruction_of(space, from), *load = instruction_of(space, to);
    const struct ptx_function *first = function_of(space, from->member),
                              *second = function_of(space, to->member);
    if (wants_memory(source) || wants_memory(load)) return false;
    if (source->vector != load->vector || !source->type_count || !load->type_count ||
        ptx_type_bytes(source->types[0]) != ptx_type_bytes(load->types[0]))
        return false;
    return loads_match(first, source, second, load) ||
           (value_is_raw(first, source) && value_is_raw(second, load));
}

/* A byte lies in a wider register, whose upper bits a load from memory, or from a tile, makes anew, each by its own sign. */
static bool is_byte(struct space *space, const struct placed_access *access)
{
    const struct ptx_instruction *instruction = instruction_of(space, access);
    const struct ptx_function *function = function_of(space, access->member);
    const struct ptx_operand *value =
        instruction->operand_count == 2 ? &instruction->operands[ptx_is_store(instruction) ? 1 : 0] : NULL;
    if (!value || instruction->vector > 1 || instruction->type_count != 1 ||
        ptx_type_bytes(instruction->types[0]) != 1 || wants_memory(instruction))
        return false;
    if (value->kind == PTX_OPERAND_INTEGER) return ptx_is_store(instruction);
    if (value->kind != PTX_OPERAND_REGISTER || value->reg < 0 || value->component) return false;
    uint32_t bytes = ptx_type_bytes(function->registers[value->reg].type);
    return bytes == 2 || bytes == 4;
}

bool forward_is_element(struct space *space, const struct placed_access *from, const struct placed_access *to)
{
    const struct ptx_instruction *source = instruction_of(space, from);
    if (ptx_is_store(source) && is_byte(space, from) && is_byte(space, to)) return true;
    return source->vector <= 1 && ptx_is_store(source) &&
           value_is_raw(function_of(space, from->member), source) && values_match(space, from, to);
}

/* In an early-exit divergent member, barriers of several branches wait for each other: the code does not tell
 * when other threads make the access. */
static bool is_at_any_time(struct space *space, const struct placed_access *other,
                           const struct placed_access *to)
{
    return space->members[other->member].summary->is_exit_divergent &&
           space_overlap(space, other, to) > OVERLAP_SAME;
}

static bool in_one_stage(const struct space *space, uint32_t a, uint32_t b)
{
    return !space->stages || space->stages[a] == space->stages[b];
}

static bool written_between(struct space *space, const struct order *orders, const struct placed_access *from,
                            const struct placed_access *to)
{
    for (uint32_t member = from->member; member <= to->member; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *other = &space->accesses[member][i];
            if (!placed_writes(other)) continue;
            if (is_at_any_time(space, other, to)) return true;
            if (other == from || !lies_between(orders, from, other, to)) continue;
            if (may_touch(space, other, to)) return true;
        }
    return false;
}

/* What it leaves in a register may be used elsewhere; if not, the reload stays: ptxas forwards what was
 * stored, without contracting. */
static bool may_pass(const struct space *space, const struct placed_access *from)
{
    return !placed_writes(from) ||
           access_product(space->members[from->member].summary, from->access->instruction) != PRODUCT_BLOCKED;
}

static bool written_in_iterations(struct space *space, struct joining *joining,
                                  const struct placed_access *from, const struct placed_access *to,
                                  uint32_t distance)
{
    for (uint32_t member = from->member; member <= to->member; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *other = &space->accesses[member][i];
            if (placed_writes(other) && join_meets_between(joining, from, other, to, distance)) return true;
        }
    return false;
}

/* It holds the load's bytes in each iteration but the first, which is found. */
static bool holds_in_iterations(struct space *space, struct joining *joining,
                                const struct placed_access *from, const struct placed_access *load,
                                uint32_t distance, uint32_t *first)
{
    int32_t shift = join_shift(joining, from, load, distance);
    *first = 0;
    if (!join_covers(joining, from, load, distance, 0)) {
        if (shift >= 0 || instruction_of(space, load)->guard >= 0) return false;
        *first = (uint32_t)-shift;
        if (!join_covers(joining, from, load, distance, *first)) return false;
    }
    return !written_in_iterations(space, joining, from, load, distance);
}

/* The latest access of an earlier member that certainly holds the load's bytes in the iterations of a joined
 * loop. */
static const struct placed_access *joined_source(struct space *space, struct joining *joining,
                                                 const struct placed_access *load,
                                                 struct group_forward *forward)
{
    for (uint32_t distance = 0; distance <= JOIN_MOST_SHIFT; distance++)
        for (uint32_t member = load->member; member-- > 0;)
            for (uint32_t i = access_count(space, member); i-- > 0;) {
                const struct placed_access *from = &space->accesses[member][i];
                uint32_t first;
                if (!join_is_shared(joining, from, load) || from->access->kind == ACCESS_ATOMIC) continue;
                if (!is_exact(space, from) || !values_match(space, from, load)) continue;
                if (!holds_in_iterations(space, joining, from, load, distance, &first)) continue;
                *forward = (struct group_forward){.distance = distance, .first = first};
                return may_pass(space, from) ? from : NULL;
            }
    return NULL;
}

/* Cells that store nothing, as another cell does, do not run (halo.h, rule 8). */
static bool runs_everywhere(const struct group *group, const struct space *space, uint32_t member)
{
    for (uint32_t i = 0; i < group->kept_count; i++)
        if (group->kept[i].member == member) return !space->remaps[member].coordinates;
    return true;
}

/* The latest access of an earlier member that certainly holds the load's bytes in a register. */
static const struct placed_access *forward_source(const struct group *group, struct space *space,
                                                  const struct order *orders, struct joining *joining,
                                                  const struct placed_access *load,
                                                  struct group_forward *forward)
{
    *forward = (struct group_forward){0};
    if (!load->access->is_once) return joined_source(space, joining, load, forward);
    for (uint32_t member = load->member; member-- > 0 && in_one_stage(space, member, load->member);)
        for (uint32_t i = access_count(space, member); i-- > 0;) {
            const struct placed_access *from = &space->accesses[member][i];
            if (from->access->kind == ACCESS_ATOMIC || !forward_is_certain(space, from)) continue;
            if (!runs_everywhere(group, space, member)) continue;
            if (!values_match(space, from, load) || !space_covers(space, from, load)) continue;
            if (!join_keeps_order(joining, from, load) || written_between(space, orders, from, load))
                continue;
            return may_pass(space, from) ? from : NULL;
        }
    return NULL;
}

static void add_forward(struct group *group, struct space *space, const struct placed_access *from,
                        const struct placed_access *load, struct group_forward iterated)
{
    struct group_forward *forward = &group->forwards[group->forward_count];
    *forward = (struct group_forward){.from_member = from->member,
                                      .from_instruction = from->access->instruction,
                                      .to_member = load->member,
                                      .to_instruction = load->access->instruction,
                                      .distance = iterated.distance,
                                      .first = iterated.first};
    if (placed_writes(from)) {
        forward->round_product =
            access_product(space->members[from->member].summary, from->access->instruction) == PRODUCT_ROUND;
    } else {
        /* a load that is itself forwarded: take the value from where it comes */
        const struct group_forward *root = group_forward_to(group, from->member, from->access->instruction);
        if (root && !root->distance &&
            !root->first) { /* raw, or loads of one type all the way: both kinds compose */
            forward->from_member = root->from_member;
            forward->from_instruction = root->from_instruction;
            forward->round_product = root->round_product;
        }
    }
    group->forward_count++;
}

/* Expanded members have as many values at a time as their loops were unrolled: what lies in a tile is read
 * there again. */
static bool is_at_hand(const struct group *group, const struct placed_access *load)
{
    return group->expansions && group_fetch_to(group, load->member, load->access->instruction);
}

static void find_forwards(struct group *group, struct space *space, const struct order *orders,
                          struct joining *joining)
{
    for (uint32_t member = 1; member < space->member_count; member++) {
        if (remap_is_repeated(&space->remaps[member])) continue;
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *load = &space->accesses[member][i];
            const struct access *access = load->access;
            if (access->kind != ACCESS_READ || !access->address_is_exact || access->is_uncached_order ||
                !access->relation)
                continue;
            if (is_at_hand(group, load)) continue;
            struct group_forward iterated;
            const struct placed_access *from = forward_source(group, space, orders, joining, load, &iterated);
            if (from) add_forward(group, space, from, load, iterated);
        }
    }
}

/* It reads nothing in memory that a member wrote: what it has from tiles is all of that (halo.h, rule 1). */
static bool is_served(const struct group *group, const struct placed_access *load)
{
    const struct group_forward *forward = group_forward_to(group, load->member, load->access->instruction);
    return (forward && !forward->first) || group_fetch_to(group, load->member, load->access->instruction);
}

/* No thread reads in memory what the store writes before the overwriter does its work. */
static bool unread_until(const struct group *group, struct space *space, const struct order *orders,
                         const struct placed_access *store, const struct placed_access *overwriter)
{
    for (uint32_t member = store->member; member <= overwriter->member; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *other = &space->accesses[member][i];
            if (other->access->kind == ACCESS_WRITE || other == store || other == overwriter) continue;
            enum overlap overlap = space_overlap(space, other, store);
            if (overlap == OVERLAP_NONE || is_served(group, other)) continue;
            if (overlap == OVERLAP_SAME && !lies_between(orders, store, other, overwriter)) continue;
            return false;
        }
    return true;
}

/* No thread reads in the same iteration what the store writes, before the overwriter does its work, but by
 * forwards. */
static bool unread_in_iteration(const struct group *group, struct space *space, struct joining *joining,
                                const struct placed_access *store, const struct placed_access *overwriter)
{
    for (uint32_t member = store->member; member <= overwriter->member; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *other = &space->accesses[member][i];
            if (other->access->kind == ACCESS_WRITE) continue;
            enum overlap overlap = space_overlap(space, other, store);
            if (overlap == OVERLAP_NONE || is_served(group, other)) continue;
            if (overlap != OVERLAP_SAME || join_meets_between(joining, store, other, overwriter, 0))
                return false;
        }
    return true;
}

/* Of a store in a joined loop: an overwriter in each iteration. */
static bool is_overwritten_in_iteration(const struct group *group, struct space *space,
                                        struct joining *joining, const struct placed_access *store)
{
    for (uint32_t member = store->member + 1; member < space->member_count; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *later = &space->accesses[member][i];
            if (later->access->kind != ACCESS_WRITE || !join_is_shared(joining, store, later) ||
                !is_exact(space, later) || join_shift(joining, later, store, 0) != 0 ||
                !join_covers(joining, later, store, 0, 0))
                continue;
            if (unread_in_iteration(group, space, joining, store, later)) return true;
        }
    return false;
}

bool forward_may_leave_out(const struct access_summary *summary, const struct access *access)
{
    const struct ptx_instruction *instruction = &summary->function->instructions[access->instruction];
    return access->kind == ACCESS_WRITE && access->address_is_exact && !access->is_uncached_order &&
           access->relation && ptx_is_store(instruction) && !wants_memory(instruction) &&
           access_product(summary, access->instruction) != PRODUCT_BLOCKED;
}

static bool may_drop(const struct group *group, struct space *space, const struct order *orders,
                     struct joining *joining, const struct placed_access *store)
{
    if (remap_is_repeated(&space->remaps[store->member]) ||
        !forward_may_leave_out(space->members[store->member].summary, store->access))
        return false;
    if (is_overwritten_in_iteration(group, space, joining, store)) return true;
    for (uint32_t member = store->member + 1; member < space->member_count; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *later = &space->accesses[member][i];
            if (later->access->kind != ACCESS_WRITE || !forward_is_certain(space, later)) continue;
            if (space_covers(space, later, store) && unread_until(group, space, orders, store, later))
                return true;
        }
    return false;
}

static void find_drops(struct group *group, struct space *space, const struct order *orders,
                       struct joining *joining)
{
    for (uint32_t member = 0; member < space->member_count; member++)
        for (uint32_t i = 0; i < access_count(space, member); i++) {
            const struct placed_access *store = &space->accesses[member][i];
            if (!may_drop(group, space, orders, joining, store)) continue;
            group->drops[group->drop_count++] = (struct group_drop){member, store->access->instruction};
        }
}

bool forward_values(struct group *group, struct space *space, const struct order *orders,
                    struct joining *joining)
{
    uint32_t capacity = 1;
    for (uint32_t member = 0; member < space->member_count; member++) capacity += access_count(space, member);
    group->forwards = arena_calloc(group->arena, capacity, sizeof *group->forwards);
    group->drops = arena_calloc(group->arena, capacity, sizeof *group->drops);
    if (!group->forwards || !group->drops) return false;
    group->forward_count = group->drop_count = 0;
    find_forwards(group, space, orders, joining);
    find_drops(group, space, orders, joining);
    return true;
}
