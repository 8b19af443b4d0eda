/* SPDX-License-Identifier: Apache-2.0
 * Where what a load reads comes from: of the members before, the last one that writes a byte, and where that
 * one copies it from another store's element, that store. */
#include "fuser/fusion/forward.h"
#include "fuser/fusion/halo_parts.h"
#include "fuser/fusion/halo_source.h"
#include "fuser/kernel/order.h"
#include "fuser/kernel/ssa.h"

enum { TAKE_OPERATIONS = 20000 }; /* of isl, for one store and one load: with many divisions each is dear */

struct search {
    struct halo *halo;
    struct halo_load *load; /* that asks, in the end */
    bool through_copies;
    bool is_trial; /* there is another attempt: what fails is no hazard */
};

static bool refuse(const struct search *search, const struct placed_access *store,
                   const struct placed_access *load, const char *why)
{
    return !search->is_trial && halo_refuse(search->halo, store, load, why);
}

void halo_clear_load(struct halo_load *load)
{
    for (uint32_t i = 0; i < load->writer_count; i++) {
        isl_map_free(load->writers[i].source);
        isl_map_free(load->writers[i].masked);
    }
    load->writer_count = 0;
    load->rest = isl_map_free(load->rest);
}

bool halo_is_masked(const struct halo *halo, const struct placed_access *store)
{
    const struct access *access = store->access;
    return access->kind == ACCESS_WRITE && access->is_once && access->relation && access->address_is_exact &&
           !access->domain_is_exact && !access->is_uncached_order &&
           !group_expansion_of(halo->group, store->member) && !group_cut_of(halo->group, store->member);
}

/* --- copies ------------------------------------------------------------------------------------------ */

/* The instruction that alone makes the value which a store stores, or UINT32_MAX. */
static uint32_t definition_of_value(const struct halo *halo, const struct placed_access *store)
{
    const struct ptx_function *function = halo_summary(halo, store->member)->function;
    const struct ptx_operand *value = &function->instructions[store->access->instruction].operands[1];
    const char *reason;
    struct ptx_cfg *cfg = ptx_cfg_build(halo->space->arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(halo->space->arena, cfg) : NULL;
    struct ssa *ssa = dominators ? ssa_build(halo->space->arena, dominators) : NULL;
    if (!ssa || value->kind != PTX_OPERAND_REGISTER || value->component) return UINT32_MAX;
    const struct ssa_value *made = &ssa->values[ssa_use(ssa, store->access->instruction, value->reg)];
    bool is_alone = made->kind == SSA_DEFINITION && made->previous == SSA_NO_VALUE;
    return is_alone ? made->instruction : UINT32_MAX;
}

/* Of one element, for each thread that its domain, which may be a superset, has. */
static bool is_certain_load(const struct placed_access *load)
{
    return load->access->kind == ACCESS_READ && load->access->is_once && load->access->address_is_exact &&
           !load->access->is_uncached_order;
}

/* What a member writes it does not read: then a load reads what it did before the launch. */
static bool is_of_before(const struct halo *halo, const struct placed_access *load)
{
    for (uint32_t i = 0; i < halo_summary(halo, load->member)->access_count; i++) {
        const struct placed_access *other = &halo->space->accesses[load->member][i];
        if (placed_writes(other) && space_overlap(halo->space, other, load) != OVERLAP_NONE) return false;
    }
    return true;
}

/* The load of the same thread whose element the store writes as it is; NULL: there is none. */
static const struct placed_access *copied_load(const struct halo *halo, const struct placed_access *store)
{
    if (group_expansion_of(halo->group, store->member)) return NULL;
    uint32_t instruction = definition_of_value(halo, store);
    for (uint32_t i = 0; instruction != UINT32_MAX && i < halo_summary(halo, store->member)->access_count;
         i++) {
        const struct placed_access *load = &halo->space->accesses[store->member][i];
        if (load->access->instruction != instruction) continue;
        bool is_copy = is_certain_load(load) && load->access->width == store->access->width &&
                       forward_is_element(halo->space, store, load) && is_of_before(halo, load);
        return is_copy ? load : NULL;
    }
    return NULL;
}

/* --- twins --------------------------------------------------------------------------------------------- */

bool halo_are_twins(const struct halo *halo, const struct placed_access *store,
                    const struct placed_access *of)
{
    for (uint32_t i = 0; i < halo->twin_count; i++)
        if (halo->twins[i].store == store && halo->twins[i].of == of) return true;
    return false;
}

/* The store is a twin of one that the load's bytes are known to come from. */
static bool is_twin(struct halo *halo, const struct halo_load *load, const struct placed_access *store,
                    __isl_keep isl_map *source)
{
    const struct placed_access *of = NULL;
    isl_map *bytes = halo->space->shapes[store->shape].touch.bytes;
    for (uint32_t i = 0; i < load->writer_count && !of; i++) {
        const struct halo_writer *writer = &load->writers[i];
        if (writer->store->member == store->member &&
            (halo_is_masked(halo, store) || halo_is_masked(halo, writer->store)) &&
            forward_is_element(halo->space, store, load->load) &&
            isl_map_is_subset(source, writer->source) == isl_bool_true &&
            isl_map_is_equal(bytes, halo->space->shapes[writer->store->shape].touch.bytes) == isl_bool_true)
            of = writer->store;
    }
    if (!of || halo_are_twins(halo, store, of)) return of;
    struct halo_twin *twins =
        arena_grow(halo->space->arena, halo->twins, halo->twin_count, halo->twin_count + 1, sizeof *twins);
    if (!twins) return false;
    halo->twins = twins;
    halo->twins[halo->twin_count++] = (struct halo_twin){store, of};
    return true;
}

/* --- the last writer --------------------------------------------------------------------------------- */

static bool find(struct search *search, const struct placed_access *load, isl_map **rest);

/* Takes the source. */
static bool add_writer(struct search *search, const struct placed_access *store, __isl_take isl_map *source)
{
    struct halo_load *load = search->load;
    uint32_t i = 0, count = load->writer_count;
    while (i < count && load->writers[i].store != store) i++;
    if (i < count) {
        load->writers[i].source = isl_map_coalesce(isl_map_union(load->writers[i].source, source));
        return load->writers[i].source;
    }
    struct halo_writer *writers =
        arena_grow(search->halo->space->arena, load->writers, count, count + 1, sizeof *writers);
    if (!writers) {
        isl_map_free(source);
        return false;
    }
    load->writers = writers;
    load->writers[load->writer_count++] = (struct halo_writer){store, source, NULL};
    return source;
}

/* served: of the cells that ask. Takes the source. */
static bool add_masked_writer(struct search *search, const struct placed_access *store,
                              __isl_take isl_map *source, __isl_keep isl_map *bytes,
                              __isl_keep isl_set *served)
{
    struct halo_load *load = search->load;
    if (!add_writer(search, store, source)) return false;
    struct halo_writer *writer = load->writers;
    while (writer->store != store) writer++;
    isl_map *masked = isl_map_intersect_domain(isl_map_copy(bytes), isl_set_copy(served));
    writer->masked = writer->masked ? isl_map_coalesce(isl_map_union(writer->masked, masked)) : masked;
    return writer->masked;
}

/* The store's element in place of which its own source is read. False: it is no copy of what the group
 * writes. */
static bool follow(struct search *search, const struct placed_access *store, __isl_keep isl_map *source)
{
    const struct placed_access *copied = copied_load(search->halo, store);
    if (!copied) return false;
    struct halo_load found = {.load = search->load->load};
    struct search deeper = {search->halo, &found, true, true};
    isl_map *bytes = isl_map_copy(search->halo->space->shapes[copied->shape].touch.bytes);
    isl_map *rest = isl_map_apply_range(isl_map_copy(source), bytes);
    isl_set *asked = isl_map_domain(isl_map_copy(source)), *read = isl_map_domain(isl_map_copy(rest));
    bool is_followed = isl_set_is_equal(asked, read) == isl_bool_true && find(&deeper, copied, &rest) &&
                       isl_map_is_empty(rest) == isl_bool_true;
    isl_set_free(asked);
    isl_set_free(read);
    isl_map_free(rest);
    for (uint32_t i = 0; is_followed && i < found.writer_count; i++)
        is_followed = add_writer(search, found.writers[i].store, isl_map_copy(found.writers[i].source));
    halo_clear_load(&found);
    return is_followed;
}

struct taking {
    isl_map *rest, *source;
};

static void find_left(const void *user, struct memo_found *found)
{
    const struct taking *taking = user;
    isl_set *served = isl_map_domain(isl_map_copy(taking->source));
    struct quota quota = quota_begin(isl_map_get_ctx(taking->rest), TAKE_OPERATIONS);
    found->relation = isl_map_coalesce(isl_map_subtract_domain(isl_map_copy(taking->rest), served));
    quota_end(&quota);
}

/* What the source does not have of the rest, which it takes; NULL: that takes isl too long. */
static __isl_give isl_map *take(struct memo *memo, __isl_take isl_map *rest, __isl_keep isl_map *source)
{
    const struct taking taking = {rest, source};
    struct memo_question question = memo_question_of(memo, MEMO_REST, rest, source, 0);
    struct memo_found found = memo_ask(memo, &question, find_left, &taking);
    isl_map_free(rest);
    return found.relation;
}

/* Takes from *rest what the store writes of it. left: what this member finds of it. */
static bool find_in_store(struct search *search, const struct placed_access *store,
                          const struct placed_access *load, __isl_keep isl_map *left, isl_map **rest)
{
    struct halo *halo = search->halo;
    isl_map *source;
    if (!halo_source_cells(halo->space, left, load->access->width, store, &source))
        return refuse(search, store, load, "the element read is not one thread's alone");
    if (!source) return true;
    bool is_fit = false, is_known = false;
    isl_set *served = isl_map_domain(isl_map_copy(source)), *now = isl_map_domain(isl_map_copy(*rest));
    bool is_masked = !search->is_trial && halo_is_masked(halo, store);
    if ((!forward_is_certain(halo->space, store) && !is_masked) || !is_certain_load(load))
        refuse(search, store, load, "not one element once a thread");
    else if (!forward_is_element(halo->space, store, load))
        refuse(search, store, load, "elements differ");
    else if (isl_map_plain_is_equal(left, *rest) != isl_bool_true &&
             isl_set_is_subset(served, now) != isl_bool_true)
        is_known = (!search->is_trial && is_twin(halo, search->load, store, source)) ||
                   refuse(search, store, load, "it reads what two stores write");
    else
        is_fit = true;
    isl_set_free(now);
    *rest = take(halo->space->memo, *rest, source);
    if (!*rest) is_fit = refuse(search, store, load, "it takes too long to tell what else the load reads");
    bool is_added = is_known && *rest;
    if (is_fit && is_masked)
        is_added = add_masked_writer(search, store, isl_map_copy(source), left, served);
    else if (is_fit)
        is_added = (search->through_copies && follow(search, store, source)) ||
                   add_writer(search, store, isl_map_copy(source));
    isl_set_free(served);
    isl_map_free(source);
    return is_added;
}

/* *rest: { cell that asks -> [byte] }, which `load` reads for it. */
static bool find(struct search *search, const struct placed_access *load, isl_map **rest)
{
    struct space *space = search->halo->space;
    bool found = *rest;
    for (uint32_t m = load->member; found && m-- > 0 && isl_map_plain_is_empty(*rest) != isl_bool_true;) {
        isl_map *left = isl_map_copy(*rest);
        for (uint32_t i = 0; found && i < halo_summary(search->halo, m)->access_count; i++) {
            const struct placed_access *store = &space->accesses[m][i];
            if (!placed_writes(store)) continue;
            enum overlap overlap = space_overlap(space, store, load);
            if (overlap == OVERLAP_NONE) continue;
            found = overlap == OVERLAP_UNKNOWN ? refuse(search, store, load, "an address that is not known")
                                               : find_in_store(search, store, load, left, rest);
        }
        isl_map_free(left);
        found = found && *rest;
    }
    return found;
}

/* A write that the thread which loads makes after it. */
static bool comes_after(struct halo *halo, const struct placed_access *write,
                        const struct placed_access *load)
{
    struct order order;
    return order_open(&order, halo->space->arena, halo_summary(halo, load->member)->function) &&
           !order_may_follow(&order, write->access->instruction, load->access->instruction);
}

/* The member itself may write the load's bytes before it reads them. */
static const struct placed_access *own_writer(struct halo *halo, const struct placed_access *load)
{
    for (uint32_t i = 0; i < halo_summary(halo, load->member)->access_count; i++) {
        const struct placed_access *other = &halo->space->accesses[load->member][i];
        if (!placed_writes(other)) continue;
        enum overlap overlap = space_overlap(halo->space, other, load);
        if (overlap == OVERLAP_NONE || (overlap == OVERLAP_SAME && comes_after(halo, other, load))) continue;
        return other;
    }
    return NULL;
}

static bool find_all(struct halo *halo, struct halo_load *load, bool through_copies)
{
    struct search search = {halo, load, through_copies, false};
    const struct placed_access *other = own_writer(halo, load->load);
    if (other) return halo_refuse(halo, other, load->load, "it is written again before it is read");
    load->rest = isl_map_copy(halo->space->shapes[load->load->shape].touch.bytes);
    if (!find(&search, load->load, &load->rest)) return false;
    isl_bool is_whole = isl_map_is_empty(load->rest);
    if (is_whole == isl_bool_true) load->rest = isl_map_free(load->rest);
    return is_whole != isl_bool_error;
}

static bool has_several_members(const struct halo_load *load)
{
    for (uint32_t i = 1; i < load->writer_count; i++)
        if (load->writers[i].store->member != load->writers[0].store->member) return true;
    return false;
}

bool halo_find_writers(struct halo *halo, struct halo_load *load)
{
    bool found = find_all(halo, load, false);
    if (!found || !has_several_members(load)) return found;
    halo_clear_load(load);
    return find_all(halo, load, true);
}
