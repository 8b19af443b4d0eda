/* SPDX-License-Identifier: Apache-2.0
 * Renamed arrays; see rename.h. */
#include "interpose/rename.h"

#include "interpose/chain.h"
#include "interpose/own_stream.h"
#include "interpose/shadow.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <string.h>

enum {
    RANGES_MOST = 2 * PLAN_RENAMES_LIMIT,
    MIRRORS_MOST = 32,                   /* boxes of a range */
    MOVES_MOST = 2 * RENAME_EFFECTS_MOST /* words of one use, and of what makes again what it leaves stale */
};

struct range {
    CUdeviceptr address, shadow; /* shadow: where it begins in its second buffer */
    uint64_t bytes;
    const struct plan_rename *rename; /* of the use that began it */
    bool is_away;
    struct plan_box mirrors[MIRRORS_MOST]; /* written beside the uses, from the range's first byte on */
    uint32_t mirror_count;
};

static struct {
    struct range ranges[RANGES_MOST]; /* with their buffers */
    CUstream stream;
    struct move {
        unsigned char *word;
        uint32_t range;
        uint64_t distance;
    } moves[MOVES_MOST]; /* of the launches that go to the driver now */
    uint32_t move_count;
} renames;

uint32_t rename_ranges;

CUstream rename_stream(void)
{
    return renames.stream;
}

struct rename_place rename_place(uint32_t range)
{
    const struct range *of = &renames.ranges[range];
    return (struct rename_place){of->address, of->shadow, of->bytes, of->is_away};
}

bool rename_has_mirrors(uint32_t range)
{
    return renames.ranges[range].mirror_count;
}

static CUstream stream_here(void)
{
    return own_stream_here(renames.stream);
}

/* --- ranges --- */

static uint64_t word_at(const struct rename_use *use, uint32_t step, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, use->held[step].arguments + offset, sizeof word);
    return word;
}

static uint32_t own_count(const struct rename_use *use)
{
    return use->variant ? use->variant->rename_count : 0;
}

static struct range own_range(const struct rename_use *use, uint32_t index)
{
    const struct plan_rename *rename = &use->plan->renames[use->variant->first_rename + index];
    return (struct range){.address = word_at(use, rename->step, rename->offset) + (uint64_t)rename->from,
                          .bytes = rename->bytes,
                          .rename = rename};
}

static bool is_plain(const struct range *range)
{
    uint64_t start, size;
    return track_memory_plain(NULL, range->address, &start, &size) &&
           range->bytes <= size - (range->address - start);
}

static bool are_apart(const struct range *a, const struct range *b)
{
    return a->address + a->bytes <= b->address || b->address + b->bytes <= a->address;
}

static bool is_partial(const struct range *range)
{
    return range->rename->flags & PLAN_RENAME_PARTIAL;
}

/* Uses of both write the same bytes of the same range. */
static bool is_same(const struct range *a, const struct range *b)
{
    return a->address == b->address && a->bytes == b->bytes && is_partial(a) == is_partial(b) &&
           !memcmp(&a->rename->written, &b->rename->written, sizeof a->rename->written);
}

enum relation { APART, INSIDE, ACROSS };
static enum relation relation_of(const struct rename_use *use, const struct plan_effect *effect,
                                 const struct range *range)
{
    uint64_t pointer = word_at(use, effect->step, effect->offset), start, size;
    struct range touched = {.address = pointer + (uint64_t)effect->from,
                            .bytes = (uint64_t)(effect->to - effect->from)};
    if (!effect->is_exact) {
        if (!track_memory_plain(NULL, pointer, &start, &size)) return ACROSS;
        touched = (struct range){.address = start, .bytes = size};
    }
    if (are_apart(&touched, range)) return APART;
    bool is_inside = effect->is_exact && touched.address >= range->address &&
                     touched.address - range->address + touched.bytes <= range->bytes;
    return is_inside ? INSIDE : ACROSS;
}

static bool is_touch(const struct plan_effect *effect)
{
    return effect->kind == PLAN_TOUCH_READ || effect->kind == PLAN_TOUCH_WRITTEN;
}

static enum plan_step_role role_of(const struct rename_use *use, const struct plan_effect *effect)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    return (enum plan_step_role)use->plan->steps[group->first_step + effect->step].role;
}

/* Of what is renamed along with the range, for others' sake, members touch nothing. */
static bool is_beside(const struct rename_use *use, const struct range *range)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    const struct plan_rename *rename = range->rename;
    const struct range inner = {.address = range->address + rename->before,
                                .bytes = range->bytes - rename->before - rename->behind};
    if (!rename->before && !rename->behind) return true;
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &use->plan->effects[group->first_effect + i];
        if (is_touch(effect) && role_of(use, effect) == PLAN_MEMBER &&
            relation_of(use, effect, range) != APART && relation_of(use, effect, &inner) != INSIDE)
            return false;
    }
    return true;
}

bool rename_fits(const struct rename_use *use)
{
    for (uint32_t i = 0; i < own_count(use); i++) {
        const struct range range = own_range(use, i);
        if (!is_plain(&range) || !is_beside(use, &range)) return false;
        for (uint32_t j = 0; j < i; j++) {
            const struct range other = own_range(use, j);
            if (!are_apart(&range, &other)) return false;
        }
    }
    return true;
}

/* --- launches that go on with what is on --- */

static struct range *find_range(const struct range *own)
{
    for (uint32_t i = 0; i < rename_ranges; i++)
        if (is_same(&renames.ranges[i], own)) return &renames.ranges[i];
    return NULL;
}

/* The use reads the range in one buffer, and writes it in the other. */
static bool is_own(const struct rename_use *use, const struct range *range)
{
    for (uint32_t i = 0; i < own_count(use); i++) {
        const struct range own = own_range(use, i);
        if (is_same(&own, range)) return true;
    }
    return false;
}

static bool is_noted(const struct range *range, const struct plan_box *box)
{
    for (uint32_t i = 0; i < range->mirror_count; i++)
        if (!memcmp(&range->mirrors[i], box, sizeof *box)) return true;
    return false;
}

/* Rows of the one are parts of rows of the other. */
static bool is_in_box(const struct plan_box *inner, const struct plan_box *outer)
{
    if (inner->from < outer->from || !outer->row_pitch) return false;
    uint64_t at = inner->from - outer->from, column = at % outer->row_pitch, row = at / outer->row_pitch;
    bool is_plain = inner->layers == 1 && outer->layers == 1 &&
                    (inner->rows == 1 || inner->row_pitch == outer->row_pitch);
    return is_plain && column + inner->width <= outer->width && row + inner->rows <= outer->rows;
}

/* The i-th box that the touch writes is to be copied: it is set. */
static bool is_new_mirror(const struct rename_use *use, const struct plan_effect *effect,
                          const struct range *range, uint32_t i, struct plan_box *box)
{
    *box = use->plan->boxes[effect->first_box + i];
    box->from += word_at(use, effect->step, effect->offset) + (uint64_t)effect->from - range->address;
    return !is_in_box(box, &range->rename->written) && !is_noted(range, box);
}

/* What is written of a range that uses do not write whole is known, and there is room to note it. */
static bool may_write(const struct rename_use *use, const struct plan_effect *effect,
                      const struct range *range, uint32_t *room)
{
    struct plan_box box;
    if (effect->kind == PLAN_TOUCH_READ || !is_partial(range)) return true;
    for (uint32_t i = 0; i < effect->box_count; i++)
        if (is_new_mirror(use, effect, range, i, &box) && !(*room)--) return false;
    return effect->box_count;
}

/* A fused kernel may have one parameter for equal pointers of its members, and one place in an array for all of a member's: all that
 * lie in an allocation are moved, or none. A launch has one word, whatever it touches through it. */
static bool is_divided(const struct rename_use *use, const struct plan_effect *effect,
                       const struct range *range)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    struct range whole = *range;
    uint64_t start, size;
    if (!track_memory_plain(NULL, range->address, &start, &size)) return true;
    whole.address = start;
    whole.bytes = size;
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *other = &use->plan->effects[group->first_effect + i];
        if (!is_touch(other) || relation_of(use, other, range) == INSIDE) continue;
        bool is_same_word = other->step == effect->step && other->offset == effect->offset;
        bool are_members = role_of(use, effect) == PLAN_MEMBER && role_of(use, other) == PLAN_MEMBER;
        if (is_same_word || (use->variant && are_members && relation_of(use, other, &whole) != APART))
            return true;
    }
    return false;
}

static bool is_done(const struct rename_use *use, const struct plan_effect *effect)
{
    return use->is_behind && role_of(use, effect) != PLAN_AFTER;
}

static bool goes_on(const struct rename_use *use, const struct range *range)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    bool is_its_own = is_own(use, range);
    uint32_t room = MIRRORS_MOST - range->mirror_count;
    for (uint32_t i = 0; !is_its_own && i < own_count(use); i++) {
        const struct range own = own_range(use, i);
        if (!are_apart(&own, range)) return false;
    }
    for (uint32_t i = 0; i < group->effect_count; i++) {
        const struct plan_effect *effect = &use->plan->effects[group->first_effect + i];
        if (!is_touch(effect) || is_done(use, effect)) continue;
        enum relation relation = relation_of(use, effect, range);
        enum plan_step_role role = role_of(use, effect);
        if (relation == APART || (is_its_own && role == PLAN_MEMBER)) continue;
        if ((is_its_own && role == PLAN_AFTER) || relation == ACROSS || !use->is_alone ||
            !(effect->flags & PLAN_TOUCH_MOVABLE) || !may_write(use, effect, range, &room) ||
            is_divided(use, effect, range))
            return false;
    }
    return true;
}

uint32_t rename_in_the_way(const struct rename_use *use)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    bool is_other = use->stream != renames.stream || group->effect_count > RENAME_EFFECTS_MOST;
    for (uint32_t i = rename_ranges; i-- > 0;)
        if (is_other || !goes_on(use, &renames.ranges[i])) return i;
    return RENAME_NONE;
}

static void move_word(unsigned char *word, uint32_t range, uint64_t distance)
{
    uint64_t value;
    for (uint32_t i = 0; i < renames.move_count; i++)
        if (renames.moves[i].word == word) return;
    memcpy(&value, word, sizeof value);
    value += distance;
    memcpy(word, &value, sizeof value);
    renames.moves[renames.move_count++] = (struct move){word, range, distance};
}

static void undo_moves(uint32_t range)
{
    for (uint32_t i = renames.move_count; i-- > 0;) {
        struct move *move = &renames.moves[i];
        if (move->range == range) {
            uint64_t value;
            memcpy(&value, move->word, sizeof value);
            value -= move->distance;
            memcpy(move->word, &value, sizeof value);
            *move = renames.moves[--renames.move_count];
        } else if (move->range > range) {
            move->range--;
        }
    }
}

static void note_written(const struct rename_use *use, const struct plan_effect *effect, struct range *range)
{
    struct plan_box box;
    if (effect->kind != PLAN_TOUCH_WRITTEN || !is_partial(range)) return;
    for (uint32_t i = 0; i < effect->box_count; i++)
        if (is_new_mirror(use, effect, range, i, &box)) range->mirrors[range->mirror_count++] = box;
}

void rename_move(const struct rename_use *use)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    for (uint32_t r = 0; r < rename_ranges; r++) {
        struct range *range = &renames.ranges[r];
        bool is_its_own = is_own(use, range);
        for (uint32_t i = 0; i < group->effect_count; i++) {
            const struct plan_effect *effect = &use->plan->effects[group->first_effect + i];
            bool is_members = is_its_own && role_of(use, effect) != PLAN_BEFORE;
            if (!is_touch(effect) || is_members || is_done(use, effect)) continue;
            if (relation_of(use, effect, range) != INSIDE) continue;
            note_written(use, effect, range);
            if (!range->is_away) continue;
            shim_count(COUNT_REDIRECTED);
            move_word(use->held[effect->step].arguments + effect->offset, r, range->shadow - range->address);
        }
    }
}

void rename_move_members(const struct rename_use *use, uint32_t steps)
{
    const struct plan_group *group = &use->plan->groups[use->group];
    for (uint32_t o = 0; o < own_count(use); o++) {
        const struct range own = own_range(use, o);
        struct range *range = find_range(&own);
        for (uint32_t i = 0; range && i < group->effect_count; i++) {
            const struct plan_effect *effect = &use->plan->effects[group->first_effect + i];
            if (!is_touch(effect) || !(steps >> effect->step & 1)) continue;
            bool is_old = effect->step < own.rename->step;
            if (range->is_away == is_old && relation_of(use, effect, range) == INSIDE)
                move_word(use->held[effect->step].arguments + effect->offset,
                          (uint32_t)(range - renames.ranges), range->shadow - range->address);
        }
    }
}

void rename_settle(void)
{
    renames.move_count = 0;
}

/* --- copies --- */

static CUresult copy_rows(const struct plan_box *box, CUdeviceptr to, CUdeviceptr from)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t layer = 0; layer < box->layers; layer++)
        for (uint32_t row = 0; row < box->rows && result == CUDA_SUCCESS; row++) {
            uint64_t at = ((uint64_t)layer * box->layer_rows + row) * box->row_pitch;
            result = REAL(cuMemcpyDtoDAsync_v2)(to + at, from + at, box->width, stream_here());
        }
    return result;
}

/* Drivers may refuse a pitch that is not their own. */
static CUresult copy_box(const struct plan_box *box, CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from,
                                .srcPitch = box->row_pitch,
                                .srcHeight = box->layers > 1 ? box->layer_rows : box->rows,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = to,
                                .dstPitch = box->row_pitch,
                                .dstHeight = box->layers > 1 ? box->layer_rows : box->rows,
                                .WidthInBytes = box->width,
                                .Height = box->rows,
                                .Depth = box->layers};
    bool is_one = box->rows == 1 && box->layers == 1;
    if (!is_one && REAL(cuMemcpy3DAsync_v2)(&copy, stream_here()) == CUDA_SUCCESS) return CUDA_SUCCESS;
    return copy_rows(box, to, from);
}

/* What launches beside the uses have written of the range, in the buffer that is current. */
static CUresult copy_mirrors(struct range *range, bool is_back)
{
    CUresult result = CUDA_SUCCESS;
    CUdeviceptr to = is_back ? range->address : range->shadow,
                from = is_back ? range->shadow : range->address;
    if (range->mirror_count) chain_cut();
    for (uint32_t i = 0; i < range->mirror_count && result == CUDA_SUCCESS; i++) {
        result = copy_box(&range->mirrors[i], to + range->mirrors[i].from, from + range->mirrors[i].from);
        shim_count(COUNT_MIRRORED);
    }
    if (result == CUDA_SUCCESS) range->mirror_count = 0;
    return result;
}

/* --- a use --- */

static void put_buffer(uint32_t range)
{
    shadow_put(renames.ranges[range].shadow);
    rename_ranges--;
    for (uint32_t i = range; i < rename_ranges; i++) renames.ranges[i] = renames.ranges[i + 1];
}

/* Bytes that a use does not write are read in both buffers. */
static bool make_equal(const struct range *range)
{
    if (!is_partial(range)) return true;
    chain_cut();
    return REAL(cuMemcpyDtoDAsync_v2)(range->shadow, range->address, range->bytes, stream_here()) ==
           CUDA_SUCCESS;
}

/* The range is the last one then. */
static bool start(const struct range *own, CUstream stream)
{
    struct range *range = &renames.ranges[rename_ranges];
    if (rename_ranges == RANGES_MOST) return false;
    *range = *own;
    range->is_away = false;
    range->mirror_count = 0;
    range->shadow = shadow_take(range->address, range->bytes, stream);
    if (!range->shadow) return false;
    renames.stream = stream;
    rename_ranges++;
    if (make_equal(range)) return true;
    put_buffer(rename_ranges - 1);
    return false;
}

bool rename_own_place(const struct rename_use *use, uint32_t i, struct rename_place *place, uint32_t *range)
{
    if (i >= own_count(use)) return false;
    const struct range own = own_range(use, i);
    const struct range *found = find_range(&own);
    *range = found ? (uint32_t)(found - renames.ranges) : RENAME_NONE;
    *place = (struct rename_place){.address = own.address, .bytes = own.bytes};
    if (found) *place = rename_place(*range);
    return true;
}

bool rename_begin(const struct rename_use *use, unsigned char *parameters)
{
    for (uint32_t i = 0; i < own_count(use); i++) {
        const struct range own = own_range(use, i);
        if (!find_range(&own) && !start(&own, use->stream)) return false;
        struct range *range = find_range(&own);
        if (copy_mirrors(range, range->is_away) != CUDA_SUCCESS) return false;
        const uint64_t here = 0, away = range->shadow - range->address;
        unsigned char *distances = parameters + own.rename->destination_offset;
        memcpy(distances, range->is_away ? &away : &here, sizeof away);
        memcpy(distances + 8, range->is_away ? &here : &away, sizeof away);
    }
    return true;
}

void rename_done(const struct rename_use *use, bool keeps_buffers)
{
    shim_count(COUNT_RENAMED);
    for (uint32_t i = 0; i < own_count(use); i++) {
        const struct range own = own_range(use, i);
        struct range *range = find_range(&own);
        range->is_away = !range->is_away;
        if (range->is_away || is_partial(range) || keeps_buffers) continue;
        undo_moves((uint32_t)(range - renames.ranges));
        put_buffer((uint32_t)(range - renames.ranges));
    }
}

/* --- the end --- */

static void copy_back(struct range *range)
{
    const struct plan_box *box = &range->rename->written;
    CUresult result;
    chain_cut();
    if (is_partial(range))
        result = copy_box(box, range->address + box->from, range->shadow + box->from);
    else
        result = REAL(cuMemcpyDtoDAsync_v2)(range->address, range->shadow, range->bytes, stream_here());
    if (result == CUDA_SUCCESS) result = copy_mirrors(range, true);
    shim_count(COUNT_RESTORES);
    shim_remember_error(result);
    if (result != CUDA_SUCCESS) shim_latch("a renamed array could not be copied back");
}

unsigned rename_end_range(uint32_t range)
{
    bool is_away = renames.ranges[range].is_away;
    if (is_away) copy_back(&renames.ranges[range]);
    undo_moves(range);
    put_buffer(range);
    return is_away;
}

unsigned rename_end(void)
{
    unsigned copies = 0;
    while (rename_ranges) copies += rename_end_range(rename_ranges - 1);
    return copies;
}

void rename_forget(void)
{
    rename_ranges = renames.move_count = 0;
}
