/* SPDX-License-Identifier: Apache-2.0
 * plan.json: layout in planner.h. Keys keep their order, so that equal plans are equal files. */
#include "config.h"
#include "fuser/access/expansion.h"
#include "fuser/access/line.h"
#include "fuser/planner/exactness.h"
#include "fuser/planner/group_code.h"
#include "fuser/planner/guards.h"
#include "fuser/planner/deferred.h"
#include "fuser/planner/neighbours.h"
#include "fuser/planner/plan_source.h"
#include "fuser/planner/plan_write.h"
#include "fuser/planner/redirect.h"
#include "fuser/planner/shift.h"

#include <jansson.h>
#include <string.h>
#include <uthash.h>

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *three(const uint32_t values[3])
{
    return json_pack("[i,i,i]", (int)values[0], (int)values[1], (int)values[2]);
}

static const struct program_kernel *kernel_of(const struct search *search, uint32_t launch)
{
    return &search->program->kernels[search->program->launches[launch].record->kernel];
}

/* The first reason that some class of this kernel has, so that the table of kernels can show one. */
static const char *first_reason(const struct search *search, uint32_t kernel, bool refusal)
{
    for (uint32_t i = 0; i < search->classes->count; i++) {
        const struct launch_class *class = search->classes->classes[i];
        const char *reason = !refusal ? class->no_member : class->is_spared ? NULL : class->refusal;
        if (class->kernel == kernel && class->launches && reason) return reason;
    }
    return NULL;
}

static json_t *sums_json(const struct search *search, const struct program_kernel *kernel)
{
    json_t *sums = json_array();
    for (uint32_t i = 0; i < kernel->sum_count; i++)
        json_array_append_new(sums, text_or_null(shift_sum_text(search->arena, &kernel->sums[i], "")));
    return sums;
}

static json_t *kernels_json(const struct search *search)
{
    json_t *kernels = json_array();
    for (uint32_t k = 0; k < search->program->kernel_count; k++) {
        const struct program_kernel *kernel = &search->program->kernels[k];
        if (!kernel->record || !kernel->launches) continue;
        json_array_append_new(
            kernels,
            json_pack("{s:i,s:s,s:i,s:I,s:i,s:I,s:o,s:o,s:o,s:o}", "id", (int)k, "name", kernel->name,
                      "module", (int)kernel->record->module, "launches", (json_int_t)kernel->launches,
                      "registers", (int)kernel->record->registers, "time_ns", (json_int_t)kernel->time_ns,
                      "readable", text_or_null(plan_source_kernel_file(search, k)), "sums",
                      sums_json(search, kernel), "refusal", text_or_null(first_reason(search, k, true)),
                      "no_member", text_or_null(first_reason(search, k, false))));
    }
    return kernels;
}

static const char *cells_text(const struct search *search, const struct group *group, uint32_t member)
{
    const struct group_stage *stage = group_stage_of(group, member);
    const uint32_t *tile = group->tile;
    const int32_t *low = stage->low, *high = stage->high;
    const struct expansion *expansion = group_expansion_of(group, member);
    const char *text = arena_printf(search->arena, "those of a tile of %ux%ux%u", tile[0], tile[1], tile[2]);
    if (group->march)
        text = arena_printf(search->arena, "%s, layer by layer along %c", text, "xyz"[group->march]);
    if (group->remaps[member].is_recomputed)
        text = arena_printf(search->arena, "%s and of a border of %u+%u, %u+%u, %u+%u around it", text,
                            low[0], high[0], low[1], high[1], low[2], stage->is_flat ? 0 : high[2]);
    if (stage->is_flat) text = arena_printf(search->arena, "%s, of one layer", text);
    const struct line_cut *cut = group_cut_of(group, member);
    if (cut)
        text = arena_printf(search->arena, "%s; its line of threads is cut in %u rows of %u", text,
                            cut->extents[1] * cut->extents[2], cut->row);
    if (!expansion) return text;
    return arena_printf(search->arena, "%s; along z the %u turns of its loop%s", text, expansion->iterations,
                        expansion->loop_count > 1 ? "s" : "");
}

static const char *coarsening_text(struct arena *arena, const struct coarsening *coarsening)
{
    return arena_printf(arena, "in each block a share of %ux%ux%u %s, in %u pass%s", coarsening->box[0],
                        coarsening->box[1], coarsening->box[2], coarsening->of_blocks ? "blocks" : "threads",
                        coarsening->passes, coarsening->passes > 1 ? "es" : "");
}

static const char *remap_text(const struct search *search, const struct group *group, uint32_t member)
{
    const struct remap *remap = &group->remaps[member];
    switch (remap->kind) {
    case REMAP_SAME:
        return "same block and thread";
    case REMAP_GLOBAL:
        return "same global coordinates, other blocks";
    case REMAP_LINEAR:
        return "same linear thread number";
    case REMAP_STRIDE:
        return "several threads in turn, a stride apart";
    case REMAP_COARSENED:
        return coarsening_text(search->arena, remap->coarsening);
    case REMAP_CELLS:
        return cells_text(search, group, member);
    case REMAP_INTER_BLOCK:
        return arena_printf(search->arena, "%s, in blocks %u to %u",
                            remap->keeps_blocks ? "same thread of the block" : "same linear thread number",
                            remap->first_block, remap->first_block + remap->blocks - 1);
    case REMAP_AFFINE:
        break;
    }
    char *text = isl_pw_multi_aff_to_str(remap->coordinates);
    const char *copy = arena_printf(search->arena, "affine: %s", text ? text : "?");
    free(text);
    return copy;
}

static const char *threads_text(const struct search *search, const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    const char *text = remap_text(search, group, member);
    if (group_runs_last(group, member)) text = arena_printf(search->arena, "in the last block: %s", text);
    if (!summary->is_regridded) return text;
    if (summary->is_unstaged)
        return arena_printf(search->arena, "%s; what it stages in shared memory is read where it lies", text);
    return arena_printf(search->arena, "%s; a thread for each iteration of its grid-stride loop", text);
}

static uint32_t line_of(const struct search_group *group, uint32_t member, uint32_t instruction)
{
    return group->bound[member].summary->function->instructions[instruction].line;
}

static const char *turns_text(const struct search *search, const struct group *group,
                              const struct group_forward *forward)
{
    struct arena *arena = search->arena;
    if (!group_is_repeated(group, forward)) return "";
    const char *from = forward->distance ? arena_printf(arena, ", of %u before", forward->distance) : "";
    const char *first = forward->first ? arena_printf(arena, ", but in the first %u", forward->first) : "";
    return arena_printf(arena, " in each iteration%s%s", from, first);
}

static json_t *forwards_json(const struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    for (uint32_t i = 0; i < planned->group->forward_count; i++) {
        const struct group_forward *forward = &planned->group->forwards[i];
        json_array_append_new(
            texts,
            json_string(arena_printf(
                search->arena, "member %u line %u gets its value from member %u line %u%s%s",
                forward->to_member, line_of(planned, forward->to_member, forward->to_instruction),
                forward->from_member, line_of(planned, forward->from_member, forward->from_instruction),
                turns_text(search, planned->group, forward),
                forward->round_product ? " (product rounded)" : "")));
    }
    return texts;
}

static json_t *fetches_json(const struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    for (uint32_t i = 0; i < planned->group->fetch_count; i++) {
        const struct group_fetch *fetch = &planned->group->fetches[i];
        const struct group_tile *tile = &planned->group->tiles[fetch->tile];
        const char *text = arena_printf(
            search->arena, "member %u line %u takes what member %u line %u stores, %+d,%+d,%+d cells away%s",
            fetch->to_member, line_of(planned, fetch->to_member, fetch->to_instruction), tile->member,
            line_of(planned, tile->member, tile->instruction), fetch->offset[0], fetch->offset[1],
            fetch->offset[2], fetch->covered ? ", where that stores" : "");
        json_array_append_new(texts, json_string(text));
    }
    return texts;
}

static json_t *renames_json(struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    for (uint32_t i = 0; i < planned->group->rename_count; i++) {
        const struct group_rename *rename = &planned->group->renames[i];
        const struct array_range at = redirect_range(search, planned, i, planned->launches[0]);
        json_array_append_new(
            texts, json_string(arena_printf(
                       search->arena, "array %u, %llu bytes from byte %lld on: from member %u on%s", at.array,
                       (unsigned long long)rename->bytes, (long long)at.from, rename->member,
                       rename->is_partial ? ", which leaves some as they were" : "")));
    }
    return texts;
}

/* The program's array that the access touches. */
static uint32_t array_of(const struct search_group *planned, const struct group_tile_access *tiled)
{
    const struct bound_launch *bound = &planned->bound[tiled->member];
    for (uint32_t i = 0; i < bound->summary->access_count; i++)
        if (bound->summary->accesses[i].instruction == tiled->instruction)
            return bound->bindings[bound->summary->accesses[i].base].array;
    return 0;
}

static json_t *block_tiles_json(const struct search *search, const struct search_group *planned)
{
    const struct group *group = planned->group;
    json_t *texts = json_array();
    for (uint32_t t = 0; t < group->block_tile_count; t++) {
        const struct group_block_tile *tile = &group->block_tiles[t];
        uint32_t loads = 0, stores = 0, kept_out = 0, array = 0;
        for (uint32_t i = 0; i < group->tile_access_count; i++) {
            const struct group_tile_access *access = &group->tile_accesses[i];
            const struct ptx_function *function = planned->bound[access->member].summary->function;
            if (access->tile != t) continue;
            array = array_of(planned, access);
            bool is_store = ptx_is_store(&function->instructions[access->instruction]);
            *(is_store ? &stores : &loads) += 1;
            kept_out += is_store && !access->is_global;
        }
        json_array_append_new(texts,
                              json_string(arena_printf(
                                  search->arena,
                                  "array %u, %u rows of %u bytes: %u loads take what %u stores leave, %u of "
                                  "which go nowhere else",
                                  array, tile->layers * tile->rows, tile->width, loads, stores, kept_out)));
    }
    return texts;
}

/* Of the form that leaves ranges stale. */
static json_t *stale_json(const struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    const struct stale *stale = planned->deferred ? &planned->deferred->stale : NULL;
    for (uint32_t i = 0; stale && i < stale->count; i++) {
        const struct stale_range *range = &stale->ranges[i];
        if (!range->is_stale) continue;
        struct array_range at =
            array_range_behind(&planned->bound[range->range.writer], range->argument_offset, range->from,
                               range->range.to - range->range.from);
        json_array_append_new(
            texts,
            json_string(arena_printf(
                search->arena, "array %u, %lld bytes from byte %lld on: members 0x%x make it again", at.array,
                (long long)(at.to - at.from), (long long)at.from, stale->rematerialisation)));
    }
    return texts;
}

/* Of the form that is used as a rule. */
static const struct projected *projected_of(const struct search_group *group)
{
    return group->deferred ? &group->deferred->projected : &group->projected;
}

static json_t *drops_json(const struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    for (uint32_t i = 0; i < planned->group->drop_count; i++) {
        const struct group_drop *drop = &planned->group->drops[i];
        json_array_append_new(
            texts,
            json_string(arena_printf(search->arena, "member %u line %u: store overwritten by the same thread",
                                     drop->member, line_of(planned, drop->member, drop->instruction))));
    }
    return texts;
}

static json_t *guards_json(struct search *search, const struct search_group *planned)
{
    json_t *texts = json_array();
    const struct group_conditions *conditions = guards_make(search, planned);
    for (uint32_t s = 0; conditions && s < planned->step_count; s++) {
        const struct access_summary *summary = pairs_launch(search->pairs, planned->launches[s]).summary;
        for (uint32_t w = 0; w < summary->word_count; w++)
            json_array_append_new(
                texts, json_string(arena_printf(search->arena,
                                                "bytes %u to %u of the arguments of step %u are as recorded",
                                                summary->words[w].offset,
                                                summary->words[w].offset + summary->words[w].size - 1, s)));
        const struct launch_class *class = search_class(search, planned->launches[s]);
        for (uint32_t w = 0; w < class->open_count; w++)
            json_array_append_new(
                texts, json_string(arena_printf(
                           search->arena, "bytes %u to %u of the arguments of step %u may be any",
                           class->open[w].offset, class->open[w].offset + class->open[w].size - 1, s)));
        for (uint32_t c = 0; c < conditions->steps[s].check_count; c++)
            json_array_append_new(texts,
                                  json_string(guards_text(search, planned, &conditions->steps[s].checks[c])));
    }
    return texts;
}

/* What became of its loops and those of members before, or NULL. */
static const char *loops_text(const struct search *search, const struct group *group, uint32_t member)
{
    uint32_t values = 0;
    const struct group_join *join = group_join_of(group, member);
    if (group->unjoined && group->unjoined[member])
        return arena_printf(search->arena, "loops not joined with those of members before: %s",
                            group->unjoined[member]);
    if (!join || member == join->first_member ||
        join->members[member - join->first_member].headers[0] == GROUP_NO_LOOP)
        return NULL;
    for (uint32_t i = 0; i < group->forward_count; i++)
        values += group->forwards[i].to_member == member && group_is_repeated(group, &group->forwards[i]);
    return arena_printf(search->arena,
                        "loops joined with those of members before: %u values pass in registers", values);
}

static void append_steps(const struct search *search, const struct search_group *planned, json_t *members,
                         json_t *passed, json_t *remaps)
{
    static const char *const role_names[] = {"member", "before", "after"};
    uint32_t member = 0;
    for (uint32_t s = 0; s < planned->step_count; s++) {
        const struct trace_launch *record = search->program->launches[planned->launches[s]].record;
        const char *name = kernel_of(search, planned->launches[s])->name;
        if (planned->roles[s] == PLAN_MEMBER) {
            json_array_append_new(members, json_pack("{s:i,s:s,s:o,s:o,s:b,s:s?,s:s}", "kernel",
                                                     (int)record->kernel, "name", name, "grid",
                                                     three(record->grid), "block", three(record->block),
                                                     "barrier_before", planned->group->barriers[member],
                                                     "loops", loops_text(search, planned->group, member),
                                                     "exactness", planned->exactness[member]->text));
            json_array_append_new(remaps, json_string(threads_text(search, planned->group, member++)));
        } else {
            json_array_append_new(passed, json_pack("{s:i,s:s,s:s}", "kernel", (int)record->kernel, "name",
                                                    name, "role", role_names[planned->roles[s]]));
        }
    }
}

static json_t *unordered_json(struct search *search, const struct search_group *planned)
{
    json_t *list = json_array();
    for (uint32_t m = 0; m < planned->member_count; m++) {
        const struct access_summary *summary = planned->bound[m].summary;
        for (uint32_t i = 0; i < summary->access_count; i++)
            if (summary->accesses[i].is_unordered)
                json_array_append_new(
                    list, json_string(arena_printf(search->arena, "%s line %u", summary->function->name,
                                                   summary->accesses[i].line)));
    }
    return list;
}

static json_t *group_json(struct search *search, const struct search_group *planned)
{
    json_t *members = json_array(), *passed = json_array(), *remaps = json_array();
    append_steps(search, planned, members, passed, remaps);
    json_t *group = json_object();
    json_object_set_new(group, "name", json_string(planned->name));
    json_object_set_new(group, "source",
                        json_string(arena_printf(search->arena, "group-%s.cu", planned->name)));
    json_object_set_new(group, "readable", json_string(plan_source_group_file(search, planned)));
    json_object_set_new(group, "fusion", json_string(group_fusion(planned->group)));
    json_object_set_new(group, "uses", json_integer((json_int_t)planned->uses));
    json_object_set_new(group, "members", members);
    json_object_set_new(group, "passed_over", passed);
    json_object_set_new(group, "grid", three(planned->group->grid));
    json_object_set_new(group, "block", three(planned->group->block));
    json_object_set_new(group, "remaps", remaps);
    json_object_set_new(group, "to_be_verified", text_or_null(planned->unproven));
    json_object_set_new(group, "unordered", unordered_json(search, planned));
    json_object_set_new(group, "registers", json_integer(planned->code.registers));
    json_object_set_new(group, "original_ns", json_integer((json_int_t)projected_of(planned)->original_ns));
    json_object_set_new(group, "projected_ns", json_integer((json_int_t)(projected_of(planned)->fused_ns)));
    json_object_set_new(
        group, "bytes_saved",
        json_integer(
            (json_int_t)(planned->deferred ? planned->deferred->group : planned->group)->bytes_saved));
    json_object_set_new(group, "bytes_cached", json_integer((json_int_t)planned->group->bytes_cached));
    json_object_set_new(group, "forwards", forwards_json(search, planned));
    json_object_set_new(group, "served", fetches_json(search, planned));
    json_object_set_new(group, "handed_on", block_tiles_json(search, planned));
    json_object_set_new(group, "renamed", renames_json(search, planned));
    json_object_set_new(group, "stale", stale_json(search, planned));
    json_object_set_new(group, "made_again",
                        json_integer((json_int_t)(planned->deferred ? planned->deferred->materialised : 0)));
    json_object_set_new(group, "drops", drops_json(search, planned));
    json_object_set_new(group, "guards", guards_json(search, planned));
    return group;
}

struct reason_row {
    const char *text;
    json_int_t launches;
    UT_hash_handle hh;
};

static int compare_reasons(struct reason_row *a, struct reason_row *b)
{
    if (a->launches != b->launches) return a->launches < b->launches ? 1 : -1;
    return strcmp(a->text, b->text);
}

/* Why a launch that no group replaces is on its own. */
static const char *apart_reason(const struct search *search, uint32_t launch)
{
    const struct launch_class *class = search_class(search, launch);
    const struct search_group *group = search->group_of[launch];
    if (class->refusal) return class->refusal;
    if (class->no_member) return class->no_member;
    if (group) return group->refusal ? group->refusal : "a group passes over it";
    if (search->reason_of[launch]) return search->reason_of[launch];
    return "the program waits, copies or allocates before its next launch";
}

static void count_reason(struct search *search, struct reason_row **rows, const char *text)
{
    struct reason_row *row;
    HASH_FIND_STR(*rows, text, row);
    if (!row) {
        row = arena_calloc(search->arena, 1, sizeof *row);
        if (!row) return;
        row->text = text;
        HASH_ADD_KEYPTR(hh, *rows, row->text, strlen(row->text), row);
    }
    row->launches++;
}

/* The reasons of all launches that no group replaces, the most frequent first. */
static json_t *apart_json(struct search *search)
{
    struct reason_row *rows = NULL, *row, *next;
    json_t *list = json_array();
    for (uint32_t i = 0, step = 0; i < search->program->launch_count; i++) {
        const struct search_group *group = search->group_of[i];
        if (!group || !group->is_kept) {
            count_reason(search, &rows, apart_reason(search, i));
            continue;
        }
        if (group->roles[step] != PLAN_MEMBER) count_reason(search, &rows, apart_reason(search, i));
        step = step + 1 < group->step_count ? step + 1 : 0;
    }
    HASH_SORT(rows, compare_reasons);
    HASH_ITER(hh, rows, row, next)
    {
        json_array_append_new(list, json_pack("{s:I,s:s}", "launches", row->launches, "reason", row->text));
        HASH_DEL(rows, row);
    }
    return list;
}

/* A launch was spared because the analysis of another one of its kernel said that it may be. */
static bool is_understood(const struct launch_class *class)
{
    return !class->refusal || class->is_spared;
}

static uint64_t count_analysed(const struct search *search)
{
    uint64_t analysed = 0;
    for (uint32_t i = 0; i < search->program->launch_count; i++)
        analysed += is_understood(search_class(search, i));
    return analysed;
}

static void count_kernels(struct search *search, struct planner_summary *summary)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < search->program->kernel_count; k++) {
        const struct program_kernel *kernel = &search->program->kernels[k];
        if (!kernel->record || !kernel->launches) continue;
        const char *refusal = first_reason(search, k, true);
        summary->kernels++;
        summary->kernels_analysed += !refusal;
        if (!refusal || kernel->launches <= most) continue;
        most = kernel->launches;
        snprintf(summary->refusal, sizeof summary->refusal, "%s: %s",
                 group_code_plain_name(search->arena, kernel->name), refusal);
    }
}

static void count_launches(struct search *search, struct planner_summary *summary)
{
    summary->launches_before = summary->launches_after = search->program->launch_count;
    double original = 0, planned = 0;
    for (uint32_t i = 0; i < search->program->launch_count; i++) {
        const struct program_launch *launch = &search->program->launches[i];
        original += (double)(launch->time_ns ? launch->time_ns : search_launch_time(search, i));
        if (i && launch->window == search->program->launches[i - 1].window)
            original += search->projection.gap_ns;
    }
    planned = original;
    for (uint32_t i = 0; i < search->group_count; i++) {
        const struct search_group *group = search->groups[i];
        if (!group->is_kept) continue;
        summary->groups++;
        summary->launches_after -= group->uses * (group->member_count - 1);
        double gain =
            (double)group->uses * (projected_of(group)->original_ns - projected_of(group)->fused_ns);
        planned -= gain;
        if (!group->unproven) continue;
        summary->unverified++;
        if (gain > 0) summary->unverified_ns += (uint64_t)gain;
    }
    summary->original_ns = (uint64_t)original;
    summary->planned_ns = (uint64_t)(planned > 0 ? planned : 0);
    count_kernels(search, summary);
}

static json_t *files_json(struct search *search)
{
    uint32_t count;
    const char **names = plan_files(search, &count);
    json_t *files = json_array();
    for (uint32_t i = 0; i < count; i++) json_array_append_new(files, json_string(names[i]));
    return files;
}

/* The phases that time cut, so that what the plan has depends on the machine's speed. */
static json_t *phases_cut(const struct search *search, struct planner_summary *summary)
{
    json_t *list = json_array();
    for (int phase = 0; phase < DEADLINE_PHASES; phase++) {
        if (!search->deadline->was_cut[phase]) continue;
        json_array_append_new(list, json_string(deadline_phase_names[phase]));
        if (!summary->cut) summary->cut = deadline_phase_names[phase];
    }
    return list;
}

char *plan_json(struct search *search, const char *trace_name, struct planner_summary *summary)
{
    const struct trace_device *device = &search->program->device;
    deadline_enter(search->deadline, DEADLINE_EXPLAIN);
    count_launches(search, summary);
    json_t *groups = json_array();
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->is_kept) json_array_append_new(groups, group_json(search, search->groups[i]));
    json_t *root = json_object();
    json_object_set_new(root, "format", json_integer(PLAN_VERSION));
    json_object_set_new(root, "kfuse", json_string(PACKAGE_VERSION));
    json_object_set_new(
        root, "trace",
        json_pack("{s:s,s:b}", "file", trace_name, "damaged", summary->trace_damaged_bytes != 0));
    json_object_set_new(root, "device",
                        json_pack("{s:s,s:i,s:i,s:i,s:b}", "name", device->name, "compute_major",
                                  (int)device->compute_major, "compute_minor", (int)device->compute_minor,
                                  "driver_version", (int)device->driver_version, "emulated",
                                  (int)device->is_emulated));
    json_object_set_new(root, "launches_before", json_integer((json_int_t)summary->launches_before));
    json_object_set_new(root, "launches_after", json_integer((json_int_t)summary->launches_after));
    json_object_set_new(root, "launches_analysed", json_integer((json_int_t)count_analysed(search)));
    json_object_set_new(root, "original_ns", json_integer((json_int_t)summary->original_ns));
    json_object_set_new(root, "planned_ns", json_integer((json_int_t)summary->planned_ns));
    json_object_set_new(root, "windows", json_integer(search->program->window_count));
    json_object_set_new(root, "files", files_json(search));
    json_object_set_new(root, "kernels", kernels_json(search));
    json_object_set_new(root, "groups", groups);
    json_object_set_new(root, "apart", apart_json(search));
    json_object_set_new(root, "pairs", neighbours_json(search));
    json_object_set_new(root, "out_of_time", phases_cut(search, summary));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    return text;
}
