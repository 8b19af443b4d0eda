/* SPDX-License-Identifier: Apache-2.0
 * What fused kernels owe; see debt.h. */
#include "interpose/debt.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEBTS_MOST = 32,
    READS_MOST = 64, /* of one recipe */
    CREDIT_START = 8,
    CREDIT_MOST = 16,
    CREDIT_PAID = 4, /* what a debt that is paid takes; one that is dropped brings 1 */
    STORED_MOST = 500,
    INCURRED_A_LOOK = 256
};

struct span {
    uint64_t from, to;
};
struct debt {
    uint32_t group, stale_count, read_count, launch_count;
    struct span stale[PLAN_STALES_LIMIT], reads[READS_MOST];
    struct held *launches; /* the recipe, in order */
};
static struct {
    const struct plan *plan;
    struct debt debts[DEBTS_MOST];
    int32_t *credit;  /* by group; below 0: it leaves nothing stale for a while */
    uint32_t *stored; /* by group: uses since then */
    uint64_t incurred;
    _Atomic bool is_forbidden;
    bool spoils; /* each use */
} owed;

_Atomic uint32_t debt_count;

/* --- ranges --- */

static bool meet(const struct span *a, const struct span *b)
{
    return a->from < b->to && b->from < a->to;
}

static bool contains(const struct span *outer, const struct span *inner)
{
    return outer->from <= inner->from && inner->to <= outer->to;
}

static uint64_t pointer_at(const struct debt_use *use, uint32_t step, uint32_t offset)
{
    uint64_t pointer;
    memcpy(&pointer, use->arguments[step] + offset, sizeof pointer);
    return pointer;
}

static struct span stale_span(const struct debt_use *use, const struct plan_stale *stale)
{
    uint64_t from = pointer_at(use, stale->step, stale->offset) + (uint64_t)stale->from;
    return (struct span){from, from + stale->bytes};
}

/* Anywhere in an allocation: the whole; in none, everything. */
static struct span touched_span(const struct debt_use *use, const struct plan_effect *effect)
{
    uint64_t pointer = pointer_at(use, effect->step, effect->offset), start, size;
    if (effect->is_exact)
        return (struct span){pointer + (uint64_t)effect->from, pointer + (uint64_t)effect->to};
    if (track_memory_plain(NULL, pointer, &start, &size)) return (struct span){start, start + size};
    return (struct span){0, UINT64_MAX};
}

static const struct plan_variant *lazy_form(uint32_t group)
{
    const struct plan_group *planned = &owed.plan->groups[group];
    const struct plan_variant *variant = &owed.plan->variants[planned->first_variant];
    return planned->variant_count && variant->stale_count ? variant : NULL;
}

/* --- the end of a debt --- */

static void take_out(uint32_t index)
{
    uint32_t last = --debt_count;
    struct debt gone = owed.debts[index];
    owed.debts[index] = owed.debts[last];
    owed.debts[last] = gone; /* its buffers stay in use by an entry */
}

static void drop(uint32_t index)
{
    int32_t *credit = &owed.credit[owed.debts[index].group];
    if (*credit < CREDIT_MOST) ++*credit;
    take_out(index);
}

static void launch_recipe(const struct debt *debt)
{
    for (uint32_t i = 0; i < debt->launch_count; i++) {
        CUresult result = held_launch(&debt->launches[i]);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED) /* at exit nobody will look */
            shim_latch("an array that a fused kernel had not stored could not be made again");
    }
}

static void pay(uint32_t index)
{
    struct debt *debt = &owed.debts[index];
    int32_t *credit = &owed.credit[debt->group];
    bool had_credit = *credit >= 0;
    *credit -= CREDIT_PAID;
    if (had_credit && *credit < 0)
        log_write(LOG_INFO, "debt", "group %s stores everything for a while: what it left out was wanted",
                  owed.plan->strings + owed.plan->groups[debt->group].name);
    shim_count(COUNT_PAID);
    launch_recipe(debt);
    take_out(index);
}

void debt_pay_all(void)
{
    while (debt_count) pay(debt_count - 1);
}

void debt_forget(void)
{
    debt_count = 0;
}

bool debt_is_forbidden(void)
{
    return atomic_load_explicit(&owed.is_forbidden, memory_order_relaxed);
}

void debt_forbid(const char *reason)
{
    if (!atomic_exchange(&owed.is_forbidden, true))
        log_write(LOG_INFO, "debt", "fused kernels store everything from now on: %s", reason);
}

static int is_carrier(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const names[] = {"libibverbs.so", "libmpi",    "libnvshmem",   "libcufile.so",
                                        "libucp.so",     "libucs.so", "libfabric.so", "libpsm2.so"};
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) *(bool *)context = true;
    return 0;
}

void debt_look_around(void)
{
    bool has_any = false;
    if (debt_is_forbidden()) return;
    dl_iterate_phdr(is_carrier, &has_any);
    if (has_any) debt_forbid("a library is loaded that hands device memory to network cards");
}

/* --- what is about to happen --- */

static bool is_touched(const struct debt *debt, const struct span *span, bool is_written)
{
    for (uint32_t i = 0; i < debt->stale_count; i++)
        if (meet(&debt->stale[i], span)) return true;
    for (uint32_t i = 0; is_written && i < debt->read_count; i++)
        if (meet(&debt->reads[i], span)) return true;
    return false;
}

static bool lies_in(const struct debt *debt, const struct span *span)
{
    for (uint32_t i = 0; i < debt->stale_count; i++)
        if (!contains(span, &debt->stale[i])) return false;
    return true;
}

/* The use writes what is stale, reading nothing of it before: all of it, or the same bytes again. */
static bool is_overwritten(const struct debt *debt, const struct debt_use *use)
{
    const struct plan_variant *form = lazy_form(use->group);
    for (uint32_t i = 0; i < debt->stale_count; i++) {
        bool is = false;
        for (uint32_t j = 0; form && j < form->stale_count && !is; j++) {
            const struct plan_stale *stale = &owed.plan->stales[form->first_stale + j];
            struct span span = stale_span(use, stale);
            bool is_same = debt->group == use->group && i == j && contains(&debt->stale[i], &span);
            is = (is_same || stale->flags & PLAN_STALE_COMPLETE) && contains(&span, &debt->stale[i]);
        }
        if (!is) return false;
    }
    return true;
}

static bool is_touched_by(const struct debt *debt, const struct debt_use *use)
{
    const struct plan_group *group = &owed.plan->groups[use->group];
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &owed.plan->effects[group->first_effect + i];
        if (effect->kind == PLAN_WRITES) continue;
        struct span span = touched_span(use, effect);
        if (is_touched(debt, &span, effect->kind == PLAN_TOUCH_WRITTEN)) return true;
    }
    return false;
}

void debt_meet(const struct debt_use *use)
{
    for (uint32_t i = debt_count; i-- > 0;) {
        if (is_overwritten(&owed.debts[i], use))
            drop(i);
        else if (is_touched_by(&owed.debts[i], use))
            pay(i);
    }
}

bool debt_meet_touch(const struct debt_touch *touch, bool is_own)
{
    struct span span = {touch->address, touch->address + touch->bytes};
    bool has_paid = false;
    for (uint32_t i = debt_count; touch->bytes && i-- > 0;) {
        if (touch->is_freed && is_own && lies_in(&owed.debts[i], &span)) {
            drop(i);
        } else if (is_touched(&owed.debts[i], &span, touch->is_written)) {
            pay(i);
            has_paid = true;
        }
    }
    return has_paid;
}

/* --- a new debt --- */

static uint32_t count_reads(const struct plan_group *group, uint32_t recipe)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &owed.plan->effects[group->first_effect + i];
        reads += effect->kind == PLAN_TOUCH_READ && recipe >> effect->step & 1;
    }
    return reads;
}

/* After so many uses that stored everything it may try again. */
static bool has_credit(uint32_t group)
{
    if (owed.credit[group] >= 0) return true;
    if (++owed.stored[group] < STORED_MOST) return false;
    owed.stored[group] = 0;
    owed.credit[group] = 0;
    return true;
}

bool debt_fits(const struct debt_use *use)
{
    const struct plan_variant *form = lazy_form(use->group);
    CUstream stream = use->held[0].stream;
    if (debt_is_forbidden() || !has_credit(use->group) || (stream && stream != CU_STREAM_LEGACY))
        return false;
    if (count_reads(&owed.plan->groups[use->group], form->recipe) > READS_MOST) return false;
    for (uint32_t i = 0; i < form->stale_count; i++) {
        struct span span = stale_span(use, &owed.plan->stales[form->first_stale + i]);
        uint64_t start, size;
        if (!track_memory_plain(NULL, span.from, &start, &size) || span.to - start > size) return false;
    }
    return true;
}

/* Into the entry's own buffer. */
static void keep_launch(struct debt *debt, const struct held *held)
{
    struct held *own = &debt->launches[debt->launch_count++];
    unsigned char *arguments = own->arguments;
    *own = *held;
    own->arguments = arguments;
    memcpy(arguments, held->arguments, held->launch.arguments_size);
}

void debt_incur(const struct debt_use *use)
{
    const struct plan_group *group = &owed.plan->groups[use->group];
    const struct plan_variant *form = lazy_form(use->group);
    if (debt_count == DEBTS_MOST) pay(0);
    struct debt *debt = &owed.debts[debt_count];
    debt->group = use->group;
    debt->stale_count = form->stale_count;
    debt->read_count = debt->launch_count = 0;
    for (uint32_t i = 0; i < form->stale_count; i++)
        debt->stale[i] = stale_span(use, &owed.plan->stales[form->first_stale + i]);
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &owed.plan->effects[group->first_effect + i];
        if (effect->kind == PLAN_TOUCH_READ && form->recipe >> effect->step & 1)
            debt->reads[debt->read_count++] = touched_span(use, effect);
    }
    for (uint32_t i = 0; i < group->step_count; i++)
        if (form->recipe >> i & 1) keep_launch(debt, &use->held[i]);
    shim_count(COUNT_STALE);
    debt_count++;
    if (owed.spoils) debt_spoil_last();
    if (++owed.incurred % INCURRED_A_LOOK == 0) debt_look_around();
}

/* --- spoiling --- */

void debt_make_last(void)
{
    launch_recipe(&owed.debts[debt_count - 1]);
}

/* Of all stale ranges, one behind the other. */
static bool read_ranges(const struct debt *debt, unsigned char *to)
{
    for (uint32_t i = 0; i < debt->stale_count; i++) {
        uint64_t bytes = debt->stale[i].to - debt->stale[i].from;
        if (REAL(cuMemcpyDtoH_v2)(to, debt->stale[i].from, bytes) != CUDA_SUCCESS) return false;
        to += bytes;
    }
    return true;
}

static bool write_ranges(const struct debt *debt, const unsigned char *from)
{
    for (uint32_t i = 0; i < debt->stale_count; i++) {
        uint64_t bytes = debt->stale[i].to - debt->stale[i].from;
        if (REAL(cuMemcpyHtoD_v2)(debt->stale[i].from, from, bytes) != CUDA_SUCCESS) return false;
        from += bytes;
    }
    return true;
}

/* What the recipe makes of ranges that were one value throughout. */
static bool make_over(const struct debt *debt, unsigned char ground, unsigned char *result)
{
    for (uint32_t i = 0; i < debt->stale_count; i++) {
        const struct span *span = &debt->stale[i];
        if (REAL(cuMemsetD8_v2)(span->from, ground, span->to - span->from) != CUDA_SUCCESS) return false;
    }
    launch_recipe(debt);
    return read_ranges(debt, result);
}

/* Over two different grounds the recipe leaves the same where it writes; all other bytes are as they were. */
static bool spoil(const struct debt *debt)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < debt->stale_count; i++) bytes += debt->stale[i].to - debt->stale[i].from;
    unsigned char *was = malloc(3 * bytes + 1), *over_zeros = was + bytes, *over_ones = over_zeros + bytes;
    bool is_read = was && read_ranges(debt, was);
    bool is_made = is_read && make_over(debt, 0, over_zeros) && make_over(debt, 0xff, over_ones);
    for (uint64_t i = 0; is_made && i < bytes; i++)
        if (over_zeros[i] == over_ones[i]) was[i] = (unsigned char)~over_ones[i];
    bool is_written = is_read && write_ranges(debt, was);
    free(was);
    return is_made && is_written;
}

void debt_spoil_last(void)
{
    if (!spoil(&owed.debts[debt_count - 1])) pay(debt_count - 1);
}

/* --- start --- */

/* The largest recipe, and the bytes of its largest step. */
static void find_room(const struct plan *plan, uint32_t *launches, uint32_t *bytes)
{
    *launches = *bytes = 0;
    for (uint32_t g = 0; g < plan->header->groups.count; g++) {
        const struct plan_variant *form = lazy_form(g);
        if (!form) continue;
        uint32_t count = (uint32_t)__builtin_popcount(form->recipe);
        if (count > *launches) *launches = count;
        for (uint32_t i = 0; i < plan->groups[g].step_count; i++) {
            uint32_t size = plan->steps[plan->groups[g].first_step + i].arguments_size;
            if (form->recipe >> i & 1 && size > *bytes) *bytes = size;
        }
    }
    *bytes = (*bytes + 7) & ~7u;
}

bool debt_start(const struct plan *plan)
{
    uint32_t launches, bytes;
    owed.plan = plan;
    owed.spoils = setting_is_on("KFUSE_SPOIL_STALE");
    find_room(plan, &launches, &bytes);
    owed.credit = calloc((size_t)plan->header->groups.count + 1, sizeof *owed.credit);
    owed.stored = calloc((size_t)plan->header->groups.count + 1, sizeof *owed.stored);
    struct held *held = calloc((size_t)launches * DEBTS_MOST + 1, sizeof *held);
    unsigned char *buffers = malloc((size_t)launches * DEBTS_MOST * bytes + 1);
    if (!owed.credit || !owed.stored || !held || !buffers) return false;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) owed.credit[i] = CREDIT_START;
    for (uint32_t i = 0; i < launches * DEBTS_MOST; i++) held[i].arguments = buffers + (size_t)i * bytes;
    for (uint32_t i = 0; i < DEBTS_MOST; i++) owed.debts[i].launches = held + (size_t)i * launches;
    return true;
}
