/* SPDX-License-Identifier: Apache-2.0
 * What fused kernels have not stored; see deferred.h. */
#include "interpose/deferred.h"
#include "interpose/chain.h"
#include "interpose/home_stream.h"
#include "interpose/rename.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

enum {
    STORES_MOST = 32,
    READS_MOST = 64, /* of one rematerialisation */
    CREDIT_START = 8,
    CREDIT_MOST = 16,
    CREDIT_MATERIALISED = 4, /* what one that is materialised takes; one that is dropped brings 1 */
    STORED_MOST = 500,
    DEFERRED_A_LOOK = 256
};

struct span {
    uint64_t from, to;
};
struct deferred_store {
    uint32_t group, first_stale /* in the plan */, stale_count, read_count, launch_count;
    struct span stale[PLAN_STALES_LIMIT], reads[READS_MOST];
    struct held *launches; /* the rematerialisation, in order */
};
static struct {
    const struct plan *plan;
    struct deferred_store stores[STORES_MOST];
    int32_t *credit;  /* by group; below 0: it leaves nothing stale for a while */
    uint32_t *stored; /* by group: uses since then */
    uint64_t deferrals;
    _Atomic bool is_forbidden;
    bool is_planned, spoils; /* each use */
    bool spares;             /* credit: nobody of the program wants anything */
} deferred;

_Atomic uint32_t deferred_count;

/* --- ranges --- */

static bool meet(const struct span *a, const struct span *b)
{
    return a->from < b->to && b->from < a->to;
}

static bool contains(const struct span *outer, const struct span *inner)
{
    return outer->from <= inner->from && inner->to <= outer->to;
}

static uint64_t pointer_at(const struct deferred_use *use, uint32_t step, uint32_t offset)
{
    uint64_t pointer;
    memcpy(&pointer, use->arguments[step] + offset, sizeof pointer);
    return pointer;
}

static struct span stale_span(const struct deferred_use *use, const struct plan_stale *stale)
{
    uint64_t from = pointer_at(use, stale->step, stale->offset) + (uint64_t)stale->from;
    return (struct span){from, from + stale->bytes};
}

/* Anywhere in an allocation: the whole; in none, everything. */
static struct span touched_span(const struct deferred_use *use, const struct plan_effect *effect)
{
    uint64_t pointer = pointer_at(use, effect->step, effect->offset), start, size;
    if (effect->is_exact)
        return (struct span){pointer + (uint64_t)effect->from, pointer + (uint64_t)effect->to};
    if (track_memory_plain(NULL, pointer, &start, &size)) return (struct span){start, start + size};
    return (struct span){0, UINT64_MAX};
}

/* The group itself renames the range: it reads the old contents in one buffer and writes the new ones to the other. */
static bool renames(const struct deferred_use *use, const struct rename_place *place)
{
    const struct plan_group *group = &deferred.plan->groups[use->group];
    for (uint32_t v = 0; v < group->variant_count; v++) {
        const struct plan_variant *variant = &deferred.plan->variants[group->first_variant + v];
        for (uint32_t i = 0; i < variant->rename_count; i++) {
            const struct plan_rename *rename = &deferred.plan->renames[variant->first_rename + i];
            if (rename->bytes == place->bytes &&
                pointer_at(use, rename->step, rename->offset) + (uint64_t)rename->from == place->address)
                return true;
        }
    }
    return false;
}

/* The buffer in which that is, where a member reads or writes it. Words that others renamed are moved already. */
static struct span actual_span(const struct deferred_use *use, const struct plan_effect *effect,
                               struct span span, bool is_written)
{
    const struct plan_group *group = &deferred.plan->groups[use->group];
    if (deferred.plan->steps[group->first_step + effect->step].role != PLAN_MEMBER) return span;
    for (uint32_t i = 0; i < rename_ranges; i++) {
        const struct rename_place place = rename_place(i);
        if (span.from < place.address || span.to > place.address + place.bytes || !renames(use, &place))
            continue;
        uint64_t distance = place.is_away != is_written ? place.shadow - place.address : 0;
        return (struct span){span.from + distance, span.to + distance};
    }
    return span;
}

static const struct plan_variant *deferring_form(uint32_t group)
{
    const struct plan_group *planned = &deferred.plan->groups[group];
    const struct plan_variant *variant = &deferred.plan->variants[planned->first_variant];
    return planned->variant_count && variant->stale_count ? variant : NULL;
}

/* --- the end of a deferred store --- */

static void take_out(uint32_t index)
{
    uint32_t last = --deferred_count;
    struct deferred_store gone = deferred.stores[index];
    deferred.stores[index] = deferred.stores[last];
    deferred.stores[last] = gone; /* its buffers stay in use by an entry */
}

static void drop(uint32_t index)
{
    int32_t *credit = &deferred.credit[deferred.stores[index].group];
    if (*credit < CREDIT_MOST) ++*credit;
    take_out(index);
}

static void rematerialise(const struct deferred_store *store)
{
    for (uint32_t i = 0; i < store->launch_count; i++) {
        CUresult result = held_launch(&store->launches[i]);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED) /* at exit nobody will look */
            shim_latch("an array that a fused kernel had not stored could not be made again");
    }
}

static void materialise(uint32_t index)
{
    struct deferred_store *store = &deferred.stores[index];
    int32_t *credit = &deferred.credit[store->group];
    bool had_credit = *credit >= 0;
    if (!deferred.spares) *credit -= CREDIT_MATERIALISED;
    if (had_credit && *credit < 0)
        log_write(LOG_INFO, "deferred", "group %s stores everything for a while: what it left out was wanted",
                  deferred.plan->strings + deferred.plan->groups[store->group].name);
    shim_count(COUNT_MATERIALISED);
    rematerialise(store);
    home_materialised();
    take_out(index);
}

void deferred_materialise_all(void)
{
    while (deferred_count) materialise(deferred_count - 1);
}

void deferred_spare(bool spares)
{
    deferred.spares = spares;
}

void deferred_forget(void)
{
    deferred_count = 0;
}

bool deferred_is_forbidden(void)
{
    return atomic_load_explicit(&deferred.is_forbidden, memory_order_relaxed);
}

void deferred_forbid(const char *reason)
{
    if (!atomic_exchange(&deferred.is_forbidden, true))
        log_write(LOG_INFO, "deferred", "fused kernels store everything from now on: %s", reason);
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

void deferred_look_around(void)
{
    bool has_any = false;
    if (deferred_is_forbidden()) return;
    dl_iterate_phdr(is_carrier, &has_any);
    if (has_any) deferred_forbid("a library is loaded that hands device memory to network cards");
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = info->dlpi_adds;
    return 1;
}

void deferred_look_at_news(void)
{
    static unsigned long long seen;
    unsigned long long loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (loads == seen) return;
    seen = loads;
    deferred_look_around();
}

/* --- what is about to happen --- */

static bool is_touched(const struct deferred_store *store, const struct span *span, bool is_written)
{
    for (uint32_t i = 0; i < store->stale_count; i++)
        if (meet(&store->stale[i], span)) return true;
    for (uint32_t i = 0; is_written && i < store->read_count; i++)
        if (meet(&store->reads[i], span)) return true;
    return false;
}

static bool lies_in(const struct deferred_store *store, const struct span *span)
{
    for (uint32_t i = 0; i < store->stale_count; i++)
        if (!contains(span, &store->stale[i])) return false;
    return true;
}

/* One range of the use writes all that this one of the store has stale. */
static bool is_covered(const struct deferred_store *store, uint32_t index, const struct plan_overwrite *by,
                       const struct span *span)
{
    const struct span *stale = &store->stale[index];
    if (by->flags & PLAN_OVERWRITE_COMPLETE && contains(span, stale)) return true;
    for (uint32_t i = 0; i < by->cover_count; i++) {
        const struct plan_cover *cover = &deferred.plan->covers[by->first_cover + i];
        if (cover->stale == store->first_stale + index &&
            stale->from == span->from + (uint64_t)cover->distance)
            return true;
    }
    return false;
}

/* The use writes what is stale, reading nothing of it before. */
static bool is_overwritten(const struct deferred_store *store, const struct deferred_use *use)
{
    const struct plan_group *group = &deferred.plan->groups[use->group];
    for (uint32_t i = 0; i < store->stale_count; i++) {
        bool is = false;
        for (uint32_t j = 0; j < group->overwrite_count && !is; j++) {
            const struct plan_overwrite *by = &deferred.plan->overwrites[group->first_overwrite + j];
            uint64_t from = pointer_at(use, by->step, by->offset) + (uint64_t)by->from;
            is = is_covered(store, i, by, &(struct span){from, from + by->bytes});
        }
        if (!is) return false;
    }
    return true;
}

static bool is_touched_by(const struct deferred_store *store, const struct deferred_use *use)
{
    const struct plan_group *group = &deferred.plan->groups[use->group];
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &deferred.plan->effects[group->first_effect + i];
        if (effect->kind == PLAN_WRITES || effect->kind == PLAN_WRITES_UNORDERED) continue;
        bool is_written = effect->kind == PLAN_TOUCH_WRITTEN;
        struct span span = touched_span(use, effect), read = actual_span(use, effect, span, false),
                    written = actual_span(use, effect, span, true); /* what is written may be read as well */
        if (is_touched(store, &read, false) || (is_written && is_touched(store, &written, true))) return true;
    }
    return false;
}

void deferred_resolve(const struct deferred_use *use)
{
    for (uint32_t i = deferred_count; i-- > 0;)
        if (!is_overwritten(&deferred.stores[i], use) && is_touched_by(&deferred.stores[i], use))
            materialise(i);
}

void deferred_drop(const struct deferred_use *use)
{
    for (uint32_t i = deferred_count; i-- > 0;)
        if (is_overwritten(&deferred.stores[i], use)) drop(i);
}

bool deferred_resolve_touch(const struct deferred_touch *touch, bool is_own)
{
    struct span span = {touch->address, touch->address + touch->bytes};
    bool has_materialised = false;
    for (uint32_t i = deferred_count; touch->bytes && i-- > 0;) {
        if (touch->is_freed && is_own && lies_in(&deferred.stores[i], &span)) {
            drop(i);
        } else if (is_touched(&deferred.stores[i], &span, touch->is_written)) {
            materialise(i);
            has_materialised = true;
        }
    }
    return has_materialised;
}

/* --- a new one --- */

static uint32_t count_reads(const struct plan_group *group, uint32_t rematerialisation)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &deferred.plan->effects[group->first_effect + i];
        reads += effect->kind == PLAN_TOUCH_READ && rematerialisation >> effect->step & 1;
    }
    return reads;
}

/* After so many uses that stored everything it may try again. */
static bool has_credit(uint32_t group)
{
    if (deferred.credit[group] >= 0) return true;
    if (++deferred.stored[group] < STORED_MOST) return false;
    deferred.stored[group] = 0;
    deferred.credit[group] = 0;
    return true;
}

bool deferred_fits(const struct deferred_use *use)
{
    const struct plan_variant *form = deferring_form(use->group);
    if (deferred_is_forbidden() || !has_credit(use->group) ||
        !home_fits(use->held[0].stream, deferred_is_pending()))
        return false;
    if (count_reads(&deferred.plan->groups[use->group], form->rematerialisation) > READS_MOST) return false;
    for (uint32_t i = 0; i < form->stale_count; i++) {
        struct span span = stale_span(use, &deferred.plan->stales[form->first_stale + i]);
        uint64_t start, size;
        if (!track_memory_plain(NULL, span.from, &start, &size) || span.to - start > size) return false;
    }
    return true;
}

/* Into the entry's own buffer. */
static void keep_launch(struct deferred_store *store, const struct held *held)
{
    struct held *own = &store->launches[store->launch_count++];
    unsigned char *arguments = own->arguments;
    *own = *held;
    own->arguments = arguments;
    memcpy(arguments, held->arguments, held->launch.arguments_size);
}

void deferred_add(const struct deferred_use *use)
{
    const struct plan_group *group = &deferred.plan->groups[use->group];
    const struct plan_variant *form = deferring_form(use->group);
    if (deferred_count == STORES_MOST) materialise(0);
    struct deferred_store *store = &deferred.stores[deferred_count];
    store->group = use->group;
    store->first_stale = form->first_stale;
    store->stale_count = form->stale_count;
    store->read_count = store->launch_count = 0;
    for (uint32_t i = 0; i < form->stale_count; i++)
        store->stale[i] = stale_span(use, &deferred.plan->stales[form->first_stale + i]);
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &deferred.plan->effects[group->first_effect + i];
        if (effect->kind == PLAN_TOUCH_READ && form->rematerialisation >> effect->step & 1)
            store->reads[store->read_count++] = touched_span(use, effect);
    }
    for (uint32_t i = 0; i < group->step_count; i++)
        if (form->rematerialisation >> i & 1) keep_launch(store, &use->held[i]);
    shim_count(COUNT_STALE);
    home_take(use->held[0].stream);
    deferred_count++;
    if (deferred.spoils) deferred_spoil_last();
    if (++deferred.deferrals % DEFERRED_A_LOOK == 0) deferred_look_around();
}

/* --- spoiling --- */

/* These copies and sets are in the legacy stream, which may not be the launches'. */
static bool is_through(void)
{
    chain_submit();
    return !home_on() || REAL(cuCtxSynchronize)() == CUDA_SUCCESS;
}

/* Of all stale ranges, one behind the other. */
static bool read_ranges(const struct deferred_store *store, unsigned char *to)
{
    if (!is_through()) return false;
    for (uint32_t i = 0; i < store->stale_count; i++) {
        uint64_t bytes = store->stale[i].to - store->stale[i].from;
        if (REAL(cuMemcpyDtoH_v2)(to, store->stale[i].from, bytes) != CUDA_SUCCESS) return false;
        to += bytes;
    }
    return true;
}

static bool write_ranges(const struct deferred_store *store, const unsigned char *from)
{
    chain_submit();
    for (uint32_t i = 0; i < store->stale_count; i++) {
        uint64_t bytes = store->stale[i].to - store->stale[i].from;
        if (REAL(cuMemcpyHtoD_v2)(store->stale[i].from, from, bytes) != CUDA_SUCCESS) return false;
        from += bytes;
    }
    return is_through();
}

/* What the rematerialisation makes of ranges that were one value throughout. */
static bool make_over(const struct deferred_store *store, unsigned char ground, unsigned char *result)
{
    chain_submit();
    for (uint32_t i = 0; i < store->stale_count; i++) {
        const struct span *span = &store->stale[i];
        if (REAL(cuMemsetD8_v2)(span->from, ground, span->to - span->from) != CUDA_SUCCESS) return false;
    }
    if (!is_through()) return false;
    rematerialise(store);
    return read_ranges(store, result);
}

/* The kernel has not stored this byte of the range. */
static bool is_left(const struct plan_stale *stale, uint64_t byte)
{
    const struct plan_box *left = &stale->left;
    if (!(stale->flags & PLAN_STALE_PARTIAL)) return true;
    if (byte < left->from) return false;
    if (left->rows == 1 && left->layers == 1) return byte - left->from < left->width;
    uint64_t row = (byte - left->from) / left->row_pitch,
             layer = left->layers > 1 ? row / left->layer_rows : 0;
    if (left->layers > 1) row %= left->layer_rows;
    return (byte - left->from) % left->row_pitch < left->width && row < left->rows && layer < left->layers;
}

static bool has_part(const struct deferred_store *store)
{
    for (uint32_t i = 0; i < store->stale_count; i++)
        if (deferred.plan->stales[store->first_stale + i].flags & PLAN_STALE_PARTIAL) return true;
    return false;
}

/* What the kernel has stored of a range that is stale in part stays as it stored it, not as the members write it. */
static bool rematerialise_rest(const struct deferred_store *store)
{
    uint64_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < store->stale_count; i++) bytes += store->stale[i].to - store->stale[i].from;
    unsigned char *stored = malloc(2 * bytes + 1), *made = stored + bytes;
    bool is_read = stored && read_ranges(store, stored);
    rematerialise(store);
    is_read = is_read && read_ranges(store, made);
    for (uint32_t r = 0; is_read && r < store->stale_count; r++)
        for (uint64_t i = 0; i < store->stale[r].to - store->stale[r].from; i++, at++)
            if (!is_left(&deferred.plan->stales[store->first_stale + r], i)) made[at] = stored[at];
    bool is_written = is_read && write_ranges(store, made);
    free(stored);
    return is_written;
}

void deferred_rematerialise_last(void)
{
    const struct deferred_store *store = &deferred.stores[deferred_count - 1];
    if (!has_part(store))
        rematerialise(store);
    else if (!rematerialise_rest(store))
        log_write(LOG_INFO, "deferred", "what a fused kernel stores of a stale range was not compared");
}

/* Over two different grounds the rematerialisation leaves the same where it writes; all other bytes are as
 * they were. */
static bool spoil(const struct deferred_store *store)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < store->stale_count; i++) bytes += store->stale[i].to - store->stale[i].from;
    unsigned char *was = malloc(3 * bytes + 1), *over_zeros = was + bytes, *over_ones = over_zeros + bytes;
    bool is_read = was && read_ranges(store, was);
    bool is_made = is_read && make_over(store, 0, over_zeros) && make_over(store, 0xff, over_ones);
    uint64_t first = 0;
    for (uint32_t r = 0; is_made && r < store->stale_count; r++) {
        uint64_t length = store->stale[r].to - store->stale[r].from;
        const struct plan_stale *stale = &deferred.plan->stales[store->first_stale + r];
        for (uint64_t i = 0, at = first; i < length; i++, at++)
            if (over_zeros[at] == over_ones[at] && is_left(stale, i)) was[at] = (unsigned char)~over_ones[at];
        first += length;
    }
    bool is_written = is_read && write_ranges(store, was);
    free(was);
    return is_made && is_written;
}

void deferred_spoil_last(void)
{
    if (!spoil(&deferred.stores[deferred_count - 1])) materialise(deferred_count - 1);
}

/* --- start --- */

/* The largest rematerialisation, and the bytes of its largest step. */
static void find_room(const struct plan *plan, uint32_t *launches, uint32_t *bytes)
{
    *launches = *bytes = 0;
    for (uint32_t g = 0; g < plan->header->groups.count; g++) {
        const struct plan_variant *form = deferring_form(g);
        if (!form) continue;
        uint32_t count = (uint32_t)__builtin_popcount(form->rematerialisation);
        if (count > *launches) *launches = count;
        for (uint32_t i = 0; i < plan->groups[g].step_count; i++) {
            uint32_t size = plan->steps[plan->groups[g].first_step + i].arguments_size;
            if (form->rematerialisation >> i & 1 && size > *bytes) *bytes = size;
        }
    }
    *bytes = (*bytes + 7) & ~7u;
}

bool deferred_is_planned(void)
{
    return deferred.is_planned;
}

bool deferred_start(const struct plan *plan)
{
    uint32_t launches, bytes;
    deferred.plan = plan;
    deferred.spoils = setting_is_on("KFUSE_SPOIL_STALE");
    find_room(plan, &launches, &bytes);
    deferred.is_planned = launches;
    deferred.credit = calloc((size_t)plan->header->groups.count + 1, sizeof *deferred.credit);
    deferred.stored = calloc((size_t)plan->header->groups.count + 1, sizeof *deferred.stored);
    struct held *held = calloc((size_t)launches * STORES_MOST + 1, sizeof *held);
    unsigned char *buffers = malloc((size_t)launches * STORES_MOST * bytes + 1);
    if (!deferred.credit || !deferred.stored || !held || !buffers) return false;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) deferred.credit[i] = CREDIT_START;
    for (uint32_t i = 0; i < launches * STORES_MOST; i++) held[i].arguments = buffers + (size_t)i * bytes;
    for (uint32_t i = 0; i < STORES_MOST; i++) deferred.stores[i].launches = held + (size_t)i * launches;
    return true;
}
