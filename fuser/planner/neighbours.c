/* SPDX-License-Identifier: Apache-2.0
 * See neighbours.h. Each situation of two neighbouring launches is looked at once: the first question of
 * decide() that has an answer tells what keeps them apart. */
#include "fuser/planner/neighbours.h"
#include "fuser/planner/ahead.h"
#include "fuser/planner/draft.h"
#include "fuser/planner/group_code.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct neighbours {
    struct search *search;
    uint32_t first; /* launch; the other one follows */
    uint32_t step;  /* of the group, if any, that the first launch is */
    enum neighbours_kind kind;
    const struct search_group *group; /* FUSED, PASSED: that both are steps of */
    const struct conflict *conflict;  /* NULL: not known */
    const char *reason;
    struct projected projected; /* of both together, or 0 */
};

static const struct program_launch *launch_of(const struct neighbours *pair, uint32_t which)
{
    return &pair->search->program->launches[pair->first + which];
}

static const char *plain_name(const struct neighbours *pair, uint32_t which)
{
    const struct program *program = pair->search->program;
    return group_code_plain_name(pair->search->arena,
                                 program->kernels[launch_of(pair, which)->record->kernel].name);
}

static bool conclude(struct neighbours *pair, enum neighbours_kind kind, const char *reason)
{
    pair->kind = kind;
    pair->reason = reason ? reason : "out of memory";
    return true;
}

/* --- the questions: true when they are answered -------------------------------------------------------- */

static const struct search_group *kept_group(const struct neighbours *pair, uint32_t which)
{
    const struct search_group *group = pair->search->group_of[pair->first + which];
    return group && group->is_kept ? group : NULL;
}

static bool is_together(struct neighbours *pair)
{
    const struct search_group *group = kept_group(pair, 0);
    if (!group || pair->step + 1 == group->step_count) return false;
    const enum plan_step_role *roles = &group->roles[pair->step];
    pair->group = group;
    if (roles[0] == PLAN_MEMBER && roles[1] == PLAN_MEMBER) return conclude(pair, NEIGHBOURS_FUSED, "");
    uint32_t passed = roles[0] == PLAN_MEMBER;
    return conclude(pair, NEIGHBOURS_PASSED,
                    arena_printf(pair->search->arena, "%s is issued %s the group, which passes over it",
                                 plain_name(pair, passed),
                                 roles[passed] == PLAN_BEFORE ? "before" : "after"));
}

static bool is_across_windows(struct neighbours *pair)
{
    const struct program_launch *second = launch_of(pair, 1);
    if (launch_of(pair, 0)->window == second->window) return false;
    return conclude(pair, NEIGHBOURS_WINDOW,
                    arena_printf(pair->search->arena, "between them: %s", second->boundary));
}

static bool has_refused_kernel(struct neighbours *pair)
{
    for (uint32_t which = 0; which < 2; which++) {
        const char *refusal = search_class(pair->search, pair->first + which)->refusal;
        if (!refusal) continue;
        bool is_named = !strncmp(refusal, "kernel ", strlen("kernel "));
        return conclude(
            pair, NEIGHBOURS_KERNEL,
            is_named ? refusal
                     : arena_printf(pair->search->arena, "kernel %s: %s", plain_name(pair, which), refusal));
    }
    return false;
}

static bool has_place(struct neighbours *pair)
{
    for (uint32_t which = 0; which < 2; which++) {
        const char *keeps_place = search_class(pair->search, pair->first + which)->keeps_place;
        if (keeps_place) return conclude(pair, NEIGHBOURS_PLACE, keeps_place);
    }
    return false;
}

/* The first access of a launch through a base. */
static const struct access *access_through(const struct bound_launch *launch, uint32_t base)
{
    for (uint32_t i = 0; i < launch->summary->access_count; i++)
        if (launch->summary->accesses[i].base == base) return &launch->summary->accesses[i];
    return NULL;
}

static bool has_obstacle(struct neighbours *pair)
{
    struct search *search = pair->search;
    for (uint32_t which = 0; which < 2; which++) {
        uint32_t base, launch = pair->first + which;
        const char *obstacle = draft_obstacle(search, launch, &base);
        if (!obstacle) continue;
        struct bound_launch bound = pairs_launch(search->pairs, launch);
        const struct access *access = bound.bindings ? access_through(&bound, base) : NULL;
        const char *where = access ? arena_printf(search->arena, ", line %u", access->line) : "";
        const char *why = access && !access->relation ? access->reason : NULL;
        return conclude(pair, NEIGHBOURS_MEMORY,
                        arena_printf(search->arena, "kernel %s%s: %s%s%s", plain_name(pair, which), where,
                                     obstacle, why ? ": " : "", why ? why : ""));
    }
    return false;
}

static bool has_no_member(struct neighbours *pair)
{
    for (uint32_t which = 0; which < 2; which++) {
        const char *no_member = search_class(pair->search, pair->first + which)->no_member;
        if (no_member) return conclude(pair, NEIGHBOURS_MEMBER, no_member);
    }
    return false;
}

static bool comes_once(struct neighbours *pair)
{
    const char *why = draft_why_once(pair->search, pair->first, pair->first + 1);
    return why && conclude(pair, NEIGHBOURS_ONCE, why);
}

static bool conflicts(struct neighbours *pair)
{
    const struct conflict *conflict = pairs_conflict(pair->search->pairs, pair->first, pair->first + 1);
    if (!conflict && deadline_is_over(pair->search->deadline))
        return conclude(pair, NEIGHBOURS_DROPPED, pair->search->classes->too_late);
    if (!conflict) return conclude(pair, NEIGHBOURS_CONFLICT, NULL);
    pair->conflict = conflict;
    bool loses = draft_loses_in_one_block(pair->search, conflict, pair->first, pair->first + 1);
    if (conflict->class <= CONFLICT_LAST_BLOCK && !loses) return false;
    return conclude(pair, conflict->class == CONFLICT_UNKNOWN ? NEIGHBOURS_ADDRESS : NEIGHBOURS_CONFLICT,
                    conflict->reason);
}

static const char *projection_text(const struct neighbours *pair)
{
    const struct projected *projected = &pair->projected;
    if (projected->original_ns <= 0) return "";
    return arena_printf(pair->search->arena, " (projected: %.3f us apart, %.3f us fused)",
                        projected->original_ns * 1e-3, projected->fused_ns * 1e-3);
}

/* The group that the first launch ends, or that launch alone, with the next one: refused, or given up, or
 * others gain more. */
static bool is_given_up(struct neighbours *pair)
{
    struct search_trial trial;
    struct arena *arena = pair->search->arena;
    const struct search_group *before = kept_group(pair, 0), *after = kept_group(pair, 1);
    search_try_longer(pair->search, pair->first, &trial);
    pair->projected = trial.projected;
    const char *numbers = projection_text(pair);
    const char *subject =
        before ? arena_printf(arena, "group %s with %s", before->name, plain_name(pair, 1)) : "together";
    if (trial.refusal)
        return conclude(pair, trial.is_legal ? NEIGHBOURS_GAIN : NEIGHBOURS_GROUP,
                        arena_printf(arena, "%s: %s%s", subject, trial.refusal, numbers));
    if (after && !before)
        return conclude(pair, NEIGHBOURS_CHOICE,
                        arena_printf(arena, "group %s gains more than these two%s", after->name, numbers));
    if (trial.given_up)
        return conclude(pair, NEIGHBOURS_DROPPED,
                        arena_printf(arena, "%s%s: given up, because %s", subject, numbers, trial.given_up));
    return conclude(pair, NEIGHBOURS_CHOICE,
                    arena_printf(arena, "%s%s: other groups gain more", subject, numbers));
}

static void decide(struct neighbours *pair)
{
    if (is_together(pair) || is_across_windows(pair) || has_refused_kernel(pair) || has_place(pair) ||
        has_obstacle(pair) || has_no_member(pair) || comes_once(pair) || conflicts(pair))
        return;
    is_given_up(pair);
}

/* --- as JSON -------------------------------------------------------------------------------------------- */

static json_t *three(const uint32_t values[3])
{
    return json_pack("[i,i,i]", (int)values[0], (int)values[1], (int)values[2]);
}

static json_t *kernel_json(const struct neighbours *pair, uint32_t which)
{
    const struct trace_launch *record = launch_of(pair, which)->record;
    return json_pack("{s:i,s:o,s:o}", "kernel", (int)record->kernel, "grid", three(record->grid), "block",
                     three(record->block));
}

/* One side of a conflict: the access, and the thread of the example. */
static json_t *side_json(const struct bound_launch *launch, uint32_t index, const int32_t *thread)
{
    static const char *const verbs[] = {
        [ACCESS_READ] = "reads", [ACCESS_WRITE] = "writes", [ACCESS_ATOMIC] = "updates"};
    const struct access *access = &launch->summary->accesses[index];
    const struct access_base *base = &launch->summary->bases[access->base];
    json_t *side = json_pack("{s:i,s:s,s:i}", "line", (int)access->line, "access", verbs[access->kind],
                             "bytes", (int)access->width);
    if (base->kind == ACCESS_BASE_ARGUMENT)
        json_object_set_new(side, "argument", json_integer(base->argument_offset));
    if (base->kind == ACCESS_BASE_VARIABLE)
        json_object_set_new(side, "variable", json_string(base->variable));
    if (!thread) return side;
    json_object_set_new(side, "in_block", json_pack("[i,i,i]", thread[2], thread[1], thread[0]));
    json_object_set_new(side, "thread", json_pack("[i,i,i]", thread[5], thread[4], thread[3]));
    return side;
}

static json_t *conflict_json(const struct neighbours *pair)
{
    const struct conflict *conflict = pair->conflict;
    if (pair->kind != NEIGHBOURS_CONFLICT && pair->kind != NEIGHBOURS_ADDRESS) return json_null();
    if (!conflict) return json_null();
    struct bound_launch p = pairs_launch(pair->search->pairs, pair->first),
                        q = pairs_launch(pair->search->pairs, pair->first + 1);
    if (!p.summary->access_count || !q.summary->access_count) return json_null();
    bool is_seen = conflict->has_witness;
    const struct array_binding *binding = &p.bindings[p.summary->accesses[conflict->access_p].base];
    json_t *json =
        json_pack("{s:i,s:o,s:o}", "array", (int)binding->array, "first",
                  side_json(&p, conflict->access_p, is_seen ? conflict->witness.p : NULL), "second",
                  side_json(&q, conflict->access_q, is_seen ? conflict->witness.q : NULL));
    if (is_seen) json_object_set_new(json, "byte", json_integer(binding->offset + conflict->witness.byte));
    return json;
}

static uint32_t member_of_step(const struct search_group *group, uint32_t step)
{
    uint32_t member = 0;
    while (group->member_steps[member] < step) member++;
    return member;
}

static void append(json_t *list, const char *text)
{
    json_array_append_new(list, json_string(text ? text : ""));
}

static bool stores_to_tile(const struct group *group, uint32_t member, uint32_t tile)
{
    for (uint32_t i = 0; i < group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &group->tile_accesses[i];
        const struct ptx_function *function = group->members[tiled->member].summary->function;
        if (tiled->member == member && tiled->tile == tile &&
            ptx_is_store(&function->instructions[tiled->instruction]))
            return true;
    }
    return false;
}

/* What the block of member m hands on to the next, and what then need not go to memory. */
static void append_handed(struct arena *arena, const struct group *group, uint32_t m, json_t *list)
{
    for (uint32_t i = 0; i < group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &group->tile_accesses[i];
        const struct ptx_instruction *instruction =
            &group->members[tiled->member].summary->function->instructions[tiled->instruction];
        if (tiled->member == m + 1 && ptx_is_load(instruction) && stores_to_tile(group, m, tiled->tile))
            append(list, arena_printf(arena, "line %u takes what the block stored in shared memory",
                                      instruction->line));
        if (tiled->member == m && ptx_is_store(instruction) && !tiled->is_global)
            append(list,
                   arena_printf(arena, "line %u stores nothing in memory: it is overwritten in the group",
                                instruction->line));
    }
}

/* What passes between two members, and which stores of the first the group leaves out. */
static json_t *values_json(const struct neighbours *pair)
{
    json_t *list = json_array();
    struct arena *arena = pair->search->arena;
    if (pair->kind != NEIGHBOURS_FUSED) return list;
    const struct group *group = pair->group->group;
    uint32_t m = member_of_step(pair->group, pair->step);
    if (group->barriers && group->barriers[m + 1]) append(list, "a barrier of the block between them");
    const struct ptx_instruction *from = pair->group->bound[m].summary->function->instructions;
    const struct ptx_instruction *to = pair->group->bound[m + 1].summary->function->instructions;
    for (uint32_t i = 0; i < group->forward_count; i++) {
        const struct group_forward *forward = &group->forwards[i];
        if (forward->from_member == m && forward->to_member == m + 1)
            append(list, arena_printf(arena, "line %u to line %u in a register%s",
                                      from[forward->from_instruction].line, to[forward->to_instruction].line,
                                      group_is_repeated(group, forward) ? ", in each iteration" : ""));
    }
    for (uint32_t i = 0; i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        const struct group_tile *tile = &group->tiles[fetch->tile];
        if (tile->member == m && fetch->to_member == m + 1)
            append(list, arena_printf(arena, "line %u to line %u in shared memory, %+d,%+d,%+d cells away",
                                      from[tile->instruction].line, to[fetch->to_instruction].line,
                                      fetch->offset[0], fetch->offset[1], fetch->offset[2]));
    }
    append_handed(arena, group, m, list);
    for (uint32_t i = 0; i < group->drop_count; i++)
        if (group->drops[i].member == m)
            append(list, arena_printf(arena, "line %u stores nothing: it is overwritten in the group",
                                      from[group->drops[i].instruction].line));
    return list;
}

static json_t *pair_json(const struct neighbours *pair)
{
    static const struct {
        const char *name, *next_step;
    } kinds[] = {
#define NEIGHBOURS(name, text, next_step) [NEIGHBOURS_##name] = {text, next_step},
#include "fuser/planner/neighbours.def"
#undef NEIGHBOURS
    };
    static const char *const classes[] = {[CONFLICT_NONE] = "none",
                                          [CONFLICT_THREAD] = "thread",
                                          [CONFLICT_HALO] = "halo",
                                          [CONFLICT_RENAMED] = "renamed",
                                          [CONFLICT_BLOCK] = "block",
                                          [CONFLICT_OTHER] = "other",
                                          [CONFLICT_LAST_BLOCK] = "last block",
                                          [CONFLICT_UNKNOWN] = "possible"};
    bool is_together = pair->group != NULL;
    json_t *json =
        json_pack("{s:o,s:o,s:i,s:i,s:s}", "first", kernel_json(pair, 0), "second", kernel_json(pair, 1),
                  "count", 0, "time_ns", 0, "outcome", kinds[pair->kind].name);
    json_object_set_new(json, "class",
                        pair->conflict ? json_string(classes[pair->conflict->class]) : json_null());
    json_object_set_new(json, "group", is_together ? json_string(pair->group->name) : json_null());
    json_object_set_new(json, "fusion",
                        is_together ? json_string(group_fusion(pair->group->group)) : json_null());
    json_object_set_new(json, "values", values_json(pair));
    json_object_set_new(json, "reason",
                        pair->kind == NEIGHBOURS_FUSED ? json_null() : json_string(pair->reason));
    json_object_set_new(json, "conflict", conflict_json(pair));
    json_object_set_new(json, "next_step",
                        kinds[pair->kind].next_step ? json_string(kinds[pair->kind].next_step) : json_null());
    return json;
}

/* --- all of them ---------------------------------------------------------------------------------------- */

struct neighbours_row { /* by the situation, and by the text of its object: situations of which the same is
                           said share one */
    struct hash128 key;
    json_t *json;
    UT_hash_handle hh;
};

static bool situation_of(const struct neighbours *pair, struct hash128 *key)
{
    struct search *search = pair->search;
    const struct search_group *groups[2] = {kept_group(pair, 0), kept_group(pair, 1)};
    bool is_same_window = launch_of(pair, 0)->window == launch_of(pair, 1)->window;
    const char *boundary = is_same_window ? "" : launch_of(pair, 1)->boundary;
    struct {
        struct hash128 launches, boundary;
        uint64_t groups[2], step;
        uint32_t shapes[2][2][3]; /* launches that are not looked at share a class whatever they are */
    } words = {.boundary = hash_bytes(boundary, strlen(boundary)),
               .groups = {(uint64_t)(uintptr_t)groups[0], (uint64_t)(uintptr_t)groups[1]},
               .step = pair->step};
    for (uint32_t which = 0; which < 2; which++) {
        const struct trace_launch *record = launch_of(pair, which)->record;
        memcpy(words.shapes[which][0], record->grid, sizeof record->grid);
        memcpy(words.shapes[which][1], record->block, sizeof record->block);
    }
    if (!pairs_key(search->pairs, (uint32_t[]){pair->first, pair->first + 1}, 2, &words.launches))
        return false;
    *key = hash_bytes(&words, sizeof words);
    return true;
}

static struct neighbours_row *add_row(struct arena *arena, struct neighbours_row **rows,
                                      const struct hash128 *key, json_t *json)
{
    struct neighbours_row *row = arena_calloc(arena, 1, sizeof *row);
    if (!row) return NULL;
    row->key = *key;
    row->json = json;
    HASH_ADD(hh, *rows, key, sizeof row->key, row);
    return row;
}

/* The row of a new situation: one of the list, or a new one at its end. */
static struct neighbours_row *find_row(struct neighbours *pair, struct neighbours_row **rows,
                                       const struct hash128 *situation, json_t *list)
{
    decide(pair);
    struct neighbours_row *row;
    struct arena *arena = pair->search->arena;
    json_t *json = pair_json(pair);
    char *text = json_dumps(json, JSON_COMPACT);
    if (!text) {
        json_decref(json);
        return NULL;
    }
    struct hash128 key = hash_bytes(text, strlen(text));
    free(text);
    HASH_FIND(hh, *rows, &key, sizeof key, row);
    if (row) {
        json_decref(json);
        return add_row(arena, rows, situation, row->json);
    }
    json_array_append_new(list, json);
    return add_row(arena, rows, &key, json) ? add_row(arena, rows, situation, json) : NULL;
}

/* In a worker: what a pair asks. */
static void look(void *context, uint32_t number)
{
    struct neighbours pair = ((const struct neighbours *)context)[number];
    decide(&pair);
}

/* Of every two neighbouring launches, in the search's arena; NULL when memory is out. */
static struct neighbours *find_pairs(struct search *search)
{
    uint32_t count = search->program->launch_count;
    struct neighbours *pairs = arena_calloc(search->arena, count + 1, sizeof *pairs);
    for (uint32_t i = 0, step = 0; pairs && i + 1 < count; i++) {
        pairs[i] = (struct neighbours){.search = search, .first = i};
        const struct search_group *group = kept_group(&pairs[i], 0);
        pairs[i].step = group ? step : 0;
        step = group && step + 1 < group->step_count ? step + 1 : 0;
    }
    return pairs;
}

static void add_to(json_t *json, const char *key, uint64_t more)
{
    json_int_t so_far = json_integer_value(json_object_get(json, key));
    json_object_set_new(json, key, json_integer(so_far + (json_int_t)more));
}

/* What the shorter of the launch and the next one takes. */
static uint64_t shorter_ns(struct search *search, uint32_t launch)
{
    uint64_t first = search_launch_time(search, launch), second = search_launch_time(search, launch + 1);
    return first < second ? first : second;
}

json_t *neighbours_json(struct search *search)
{
    struct neighbours_row *rows = NULL, *row, *next;
    json_t *list = json_array();
    struct neighbours *pairs = find_pairs(search);
    if (pairs) ahead_look(search, search->program->launch_count - 1, look, pairs);
    for (uint32_t i = 0; pairs && i + 1 < search->program->launch_count; i++) {
        struct neighbours pair = pairs[i];
        struct hash128 situation;
        if (launch_of(&pair, 1)->is_first) continue;
        if (!situation_of(&pair, &situation)) break;
        HASH_FIND(hh, rows, &situation, sizeof situation, row);
        if (!row) row = find_row(&pair, &rows, &situation, list);
        if (!row) break;
        add_to(row->json, "count", 1);
        add_to(row->json, "time_ns", shorter_ns(search, i));
    }
    ahead_end(search);
    HASH_ITER(hh, rows, row, next) HASH_DEL(rows, row);
    return list;
}
