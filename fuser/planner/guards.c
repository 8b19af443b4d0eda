/* SPDX-License-Identifier: Apache-2.0
 * Guards from bindings: pointers into one piece of a recorded allocation keep their distances; pieces and arrays that were apart,
 * one of them written, stay apart; every array lies in a tracked allocation; launches that share a variable
 * use one instance of its module. How far every step reaches from its pointers is known, or it
 * goes anywhere in an allocation (roams), to whose beginning the pointer leads. That is then apart from all that is
 * written, and where it is written itself from all else. */
#include "fuser/planner/guards.h"

#include "fuser/access/pieces.h"
#include "fuser/planner/contents.h"
#include "fuser/planner/redirect.h"
#include "fuser/planner/shift.h"

#include <string.h>

struct pointer { /* one base of one step */
    uint32_t step, base, offset, array;
    int64_t array_offset;
    int64_t from, to; /* of its accesses */
    bool is_read, is_written, is_unordered, is_variable, is_sum,
        roams; /* roams: goes anywhere in the array */
    enum guard_memory memory;
};

struct
    array_use { /* all pointers into one piece of an allocation (pieces.h); ranges are relative to the first one */
    const struct pointer *first;
    int64_t from, to; /* hull of the accesses */
    int64_t low,
        high; /* hull of the pointers themselves; low > high: there is none, but sums (shift.h), which may lie anywhere */
    bool is_written, roams;
};

struct making {
    struct search *search;
    const struct search_group *group;
    struct group_conditions *conditions;
    struct pointer *pointers;
    uint32_t pointer_count;
    struct bound_launch *bound; /* the steps; pieces are arrays */
    struct array_use *arrays;
    uint32_t array_count, checks_capacity;
};

static void add_check(struct making *making, struct guard_check check)
{
    uint32_t step = check.step_a > check.step_b ? check.step_a : check.step_b;
    struct step_condition *condition = &making->conditions->steps[step];
    condition->checks[condition->check_count++] = check;
}

static bool is_sum(const struct access_summary *summary, const struct access_base *base)
{
    return base->argument_offset >= variables_offset(summary->function, summary->variables.count);
}

static void collect_pointers(struct making *making)
{
    for (uint32_t s = 0; s < making->group->step_count; s++) {
        struct bound_launch bound = making->bound[s];
        for (uint32_t b = 0; b < bound.summary->base_count; b++) {
            const struct access_base *base = &bound.summary->bases[b];
            const struct array_binding *binding = &bound.bindings[b];
            if (!access_has_word(base)) continue;
            making->pointers[making->pointer_count++] =
                (struct pointer){.step = s,
                                 .base = b,
                                 .offset = base->argument_offset,
                                 .array = binding->array,
                                 .array_offset = binding->offset,
                                 .from = base->from,
                                 .to = base->to,
                                 .is_variable = base->kind == ACCESS_BASE_VARIABLE,
                                 .memory = binding->is_private ? GUARD_PRIVATE : GUARD_OPEN,
                                 .roams = !base->is_bounded,
                                 .is_sum = is_sum(bound.summary, base),
                                 .is_read = base->is_read,
                                 .is_written = base->is_written,
                                 .is_unordered = base->is_unordered};
        }
    }
}

static void merge_pointer(struct array_use *use, const struct pointer *pointer)
{
    int64_t distance = pointer->array_offset - use->first->array_offset;
    if (distance + pointer->from < use->from) use->from = distance + pointer->from;
    if (distance + pointer->to > use->to) use->to = distance + pointer->to;
    if (!pointer->is_sum && distance < use->low) use->low = distance;
    if (!pointer->is_sum && distance > use->high) use->high = distance;
    use->is_written |= pointer->is_written;
    use->roams |= pointer->roams;
}

static void collect_arrays(struct making *making)
{
    for (uint32_t i = 0; i < making->pointer_count; i++) {
        const struct pointer *pointer = &making->pointers[i];
        struct array_use *use = making->arrays, *end = making->arrays + making->array_count;
        while (use < end && use->first->array != pointer->array) use++;
        if (use == end) {
            *use = (struct array_use){.first = pointer,
                                      .from = pointer->from,
                                      .to = pointer->to,
                                      .low = pointer->is_sum ? INT64_MAX : 0,
                                      .high = pointer->is_sum ? INT64_MIN : 0,
                                      .is_written = pointer->is_written,
                                      .roams = pointer->roams};
            making->array_count++;
            continue;
        }
        merge_pointer(use, pointer);
        add_check(making, (struct guard_check){.kind = GUARD_DIFFERENCE,
                                               .step_a = (uint16_t)use->first->step,
                                               .offset_a = use->first->offset,
                                               .step_b = (uint16_t)pointer->step,
                                               .offset_b = pointer->offset,
                                               .value = {pointer->array_offset - use->first->array_offset}});
    }
}

/* Variables are none of the allocations, in which all other arrays lie. */
static void keep_inside(struct making *making, const struct array_use *use)
{
    if (use->first->is_variable) return;
    struct guard_check check = {.kind = GUARD_INSIDE,
                                .size = (uint16_t)use->first->memory,
                                .step_a = (uint16_t)use->first->step,
                                .step_b = (uint16_t)use->first->step,
                                .offset_a = use->first->offset};
    check.value[0] = use->from < use->low ? use->from : use->low;
    check.value[1] = use->to > use->high ? use->to : use->high + 1;
    if (check.value[0] < check.value[1]) add_check(making, check);
}

/* What roams has no hull: that its pointers lie elsewhere will do, as it has its own allocation for itself. */
static void add_pair(struct making *making, enum guard_check_kind kind, const struct array_use *a,
                     const struct array_use *b, int64_t first, int64_t second)
{
    int64_t from = b->roams && b->low < b->from ? b->low : b->from;
    int64_t to = b->roams && b->high >= b->to ? b->high + 1 : b->to;
    add_check(making, (struct guard_check){.kind = (uint16_t)kind,
                                           .size = (uint16_t)a->first->memory,
                                           .step_a = (uint16_t)a->first->step,
                                           .step_b = (uint16_t)b->first->step,
                                           .offset_a = a->first->offset,
                                           .offset_b = b->first->offset,
                                           .value = {first, second, from, to}});
}

/* A pointer that roams leads to the beginning of its allocation, whoever else there is: that nobody is elsewhere. */
static void keep_whole(struct making *making, const struct array_use *use)
{
    int64_t start = -use->first->array_offset;
    if (!use->roams || use->first->is_variable) return;
    add_check(making, (struct guard_check){.kind = GUARD_APART,
                                           .size = (uint16_t)use->first->memory,
                                           .step_a = (uint16_t)use->first->step,
                                           .step_b = (uint16_t)use->first->step,
                                           .offset_a = use->first->offset,
                                           .offset_b = use->first->offset,
                                           .value = {use->first->array_offset, 0, start, start}});
}

/* An array that is gone over anywhere has its whole allocation for itself. */
static void keep_apart(struct making *making, const struct array_use *a, const struct array_use *b)
{
    if (!a->is_written && !b->is_written) return;
    if (a->first->is_variable || b->first->is_variable) return;
    if (!a->roams && !b->roams) add_pair(making, GUARD_DISJOINT, a, b, a->from, a->to);
    if (a->roams) add_pair(making, GUARD_APART, a, b, a->first->array_offset, 0);
    if (b->roams) add_pair(making, GUARD_APART, b, a, b->first->array_offset, 0);
}

/* Words that shift addresses stay in the range that the launch was analysed for. */
static void keep_shifts(struct making *making, uint32_t step)
{
    const struct launch_class *class = search_class(making->search, making->group->launches[step]);
    for (uint32_t k = 0; k < class->shift_count; k++)
        if (class->summary->shifting >> k & 1)
            add_check(making, (struct guard_check){.kind = GUARD_BETWEEN,
                                                   .size = (uint16_t) class->shifts[k].size,
                                                   .step_a = (uint16_t)step,
                                                   .step_b = (uint16_t)step,
                                                   .offset_a = class->shifts[k].offset,
                                                   .value = {class->shifts[k].low, class->shifts[k].high}});
}

/* Words of variables have the values that the analysis was given, and the code has. */
static void keep_contents(struct making *making, uint32_t step, const struct access_summary *summary)
{
    const struct program *program = making->search->program;
    const struct program_launch *launch = &program->launches[making->group->launches[step]];
    for (uint32_t i = 0; i < summary->content_count; i++)
        add_check(making, (struct guard_check){.kind = GUARD_VALUE,
                                               .size = (uint16_t)summary->contents[i].words.size,
                                               .step_a = (uint16_t)step,
                                               .step_b = (uint16_t)step,
                                               .offset_a = contents_offset(
                                                   &program->kernels[launch->record->kernel], summary, i),
                                               .value = {(int64_t)summary->contents[i].value}});
}

static bool fill_masks(struct making *making)
{
    struct search *search = making->search;
    for (uint32_t s = 0; s < making->group->step_count; s++) {
        const struct program_launch *launch = &search->program->launches[making->group->launches[s]];
        const struct access_summary *summary =
            pairs_launch(search->pairs, making->group->launches[s]).summary;
        struct step_condition *condition = &making->conditions->steps[s];
        condition->mask = arena_alloc(search->arena, launch->record->arguments_size + 1);
        condition->value = arena_alloc(search->arena, launch->record->arguments_size + 1);
        condition->checks = arena_calloc(search->arena, making->checks_capacity, sizeof *condition->checks);
        if (!condition->mask || !condition->value || !condition->checks) return false;
        for (uint32_t w = 0; w < summary->word_count; w++) {
            const struct access_words *words = &summary->words[w];
            memset(condition->mask + words->offset, 0xff, words->size);
            memcpy(condition->value + words->offset, launch->arguments + words->offset, words->size);
        }
        keep_shifts(making, s);
        keep_contents(making, s, summary);
    }
    return true;
}

/* What the members write of an array, as one range from its first pointer; false when they only read it. */
static bool written_range(const struct making *making, const struct array_use *use,
                          struct plan_effect *effect)
{
    bool is_written = false;
    for (uint32_t i = 0; i < making->pointer_count; i++) {
        const struct pointer *pointer = &making->pointers[i];
        if (pointer->array != use->first->array || !pointer->is_written) continue;
        if (making->group->roles[pointer->step] != PLAN_MEMBER) continue;
        int64_t distance = pointer->array_offset - use->first->array_offset;
        if (!is_written || distance + pointer->from < effect->from) effect->from = distance + pointer->from;
        if (!is_written || distance + pointer->to > effect->to) effect->to = distance + pointer->to;
        effect->is_exact &= !pointer->roams;
        if (pointer->is_unordered) effect->kind = PLAN_WRITES_UNORDERED;
        is_written = true;
    }
    if (!effect->is_exact) effect->from = effect->to = 0;
    return is_written;
}

struct plan_box plan_box_of(const struct group_box *box)
{
    return (struct plan_box){.from = (uint64_t)box->from,
                             .width = box->width,
                             .row_pitch = box->row_pitch,
                             .rows = box->rows,
                             .layers = box->layers,
                             .layer_rows = box->layer_rows};
}

/* Only replay's renames ask for it (interpose/rename.h). */
static bool is_redirected(const struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->is_kept && search->groups[i]->group->rename_count) return true;
    return false;
}

/* How it can be given the address of another buffer. */
static void note_redirection(struct making *making, const struct pointer *pointer, struct plan_effect *effect)
{
    struct group_conditions *conditions = making->conditions;
    struct group_box boxes[REDIRECT_BOXES];
    uint32_t launch = making->group->launches[pointer->step], count = 0;
    if (!effect->is_exact || !redirect_may_move(making->search, launch, pointer->base)) return;
    effect->flags = PLAN_TOUCH_MOVABLE;
    if (pointer->is_written) count = redirect_boxes(making->search, launch, pointer->base, boxes);
    effect->first_box = conditions->box_count;
    effect->box_count = count;
    for (uint32_t i = 0; i < count; i++) conditions->boxes[conditions->box_count++] = plan_box_of(&boxes[i]);
}

static void note_effects(struct making *making)
{
    bool is_asked = is_redirected(making->search);
    struct group_conditions *conditions = making->conditions;
    for (uint32_t i = 0; i < making->array_count; i++) {
        const struct array_use *use = &making->arrays[i];
        struct plan_effect effect = {
            .kind = PLAN_WRITES, .step = use->first->step, .offset = use->first->offset, .is_exact = true};
        if (written_range(making, use, &effect)) conditions->effects[conditions->effect_count++] = effect;
    }
    for (uint32_t i = 0; i < making->pointer_count; i++) {
        const struct pointer *pointer = &making->pointers[i];
        if (!pointer->is_written && !pointer->is_read) continue;
        struct plan_effect *effect = &conditions->effects[conditions->effect_count++];
        *effect = (struct plan_effect){.kind = pointer->is_written ? PLAN_TOUCH_WRITTEN : PLAN_TOUCH_READ,
                                       .step = pointer->step,
                                       .offset = pointer->offset,
                                       .is_exact = !pointer->roams,
                                       .from = pointer->roams ? 0 : pointer->from,
                                       .to = pointer->roams ? 0 : pointer->to};
        if (is_asked) note_redirection(making, pointer, effect);
    }
}

struct group_conditions *guards_make(struct search *search, const struct search_group *group)
{
    struct arena *arena = search->arena;
    struct making making = {.search = search, .group = group};
    uint32_t bases = 0;
    uint32_t contents = 0;
    for (uint32_t s = 0; s < group->step_count; s++) {
        const struct access_summary *summary = pairs_launch(search->pairs, group->launches[s]).summary;
        bases += summary->base_count;
        contents += summary->content_count;
    }
    making.checks_capacity = bases * (bases + 2) + ACCESS_MOST_SHIFTS + contents + 1;
    making.conditions = arena_calloc(arena, 1, sizeof *making.conditions);
    making.pointers = arena_calloc(arena, bases + 1, sizeof *making.pointers);
    making.arrays = arena_calloc(arena, bases + 1, sizeof *making.arrays);
    making.bound = arena_calloc(arena, group->step_count, sizeof *making.bound);
    if (!making.conditions || !making.pointers || !making.arrays || !making.bound) return NULL;
    for (uint32_t s = 0; s < group->step_count; s++)
        making.bound[s] = pairs_launch(search->pairs, group->launches[s]);
    if (!pieces_part(arena, making.bound, group->step_count)) return NULL;
    making.conditions->steps = arena_calloc(arena, group->step_count, sizeof *making.conditions->steps);
    making.conditions->effects = arena_calloc(arena, 2 * bases + 1, sizeof *making.conditions->effects);
    making.conditions->boxes =
        arena_calloc(arena, REDIRECT_BOXES * bases + 1, sizeof *making.conditions->boxes);
    if (!making.conditions->steps || !making.conditions->effects || !making.conditions->boxes ||
        !fill_masks(&making))
        return NULL;
    collect_pointers(&making);
    collect_arrays(&making);
    for (uint32_t i = 0; i < making.array_count; i++) {
        keep_inside(&making, &making.arrays[i]);
        keep_whole(&making, &making.arrays[i]);
        for (uint32_t j = 0; j < i; j++) keep_apart(&making, &making.arrays[j], &making.arrays[i]);
    }
    note_effects(&making);
    return making.conditions;
}

/* A word of a step. */
static const char *word_text(struct search *search, const struct search_group *group, uint32_t step,
                             uint32_t offset)
{
    const struct access_summary *summary = pairs_launch(search->pairs, group->launches[step]).summary;
    for (uint32_t v = 0; v < summary->variables.count; v++)
        if (variables_offset(summary->function, v) == offset)
            return arena_printf(search->arena, "&%s(%u)", summary->variables.items[v]->name, step);
    const struct program_kernel *kernel =
        &search->program->kernels[search_class(search, group->launches[step])->kernel];
    for (uint32_t i = 0; i < kernel->sum_count; i++)
        if (variables_offset(summary->function, summary->variables.count + i) == offset)
            return shift_sum_text(search->arena, &kernel->sums[i], arena_printf(search->arena, "%u:", step));
    return arena_printf(search->arena, "p(%u:%u)", step, offset);
}

const char *guards_text(struct search *search, const struct search_group *group,
                        const struct guard_check *check)
{
    struct arena *arena = search->arena;
    const char *a = word_text(search, group, check->step_a, check->offset_a);
    const char *b =
        guard_is_pair(check->kind) ? word_text(search, group, check->step_b, check->offset_b) : "";
    const long long value[4] = {check->value[0], check->value[1], check->value[2], check->value[3]};
    switch ((enum guard_check_kind)check->kind) {
    case GUARD_VALUE:
        return arena_printf(arena, "%s has the %u-byte value %lld", a, check->size, value[0]);
    case GUARD_BETWEEN:
        return arena_printf(arena, "i(%u:%u) is from %lld to %lld", check->step_a, check->offset_a, value[0],
                            value[1]);
    case GUARD_DIFFERENCE:
        return arena_printf(arena, "%s is %s%+lld", b, a, value[0]);
    case GUARD_DISJOINT:
        return arena_printf(arena, "[%s%+lld, %s%+lld) and [%s%+lld, %s%+lld) are disjoint", a, value[0], a,
                            value[1], b, value[2], b, value[3]);
    case GUARD_INSIDE:
        return arena_printf(arena, "[%s%+lld, %s%+lld) lies in one device allocation", a, value[0], a,
                            value[1]);
    case GUARD_ALIGNED:
        return arena_printf(arena, "%s is a multiple of %lld", a, value[0]);
    case GUARD_APART:
        return arena_printf(
            arena, "the allocation of %s, which begins at %s%+lld, and [%s%+lld, %s%+lld) are disjoint", a, a,
            -value[0], b, value[2], b, value[3]);
    case GUARD_KINDS:
        break;
    }
    return "";
}
