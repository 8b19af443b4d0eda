/* SPDX-License-Identifier: Apache-2.0
 * The search: see search.h. Which drafts are groups, and which groups a way through the program takes. */
#include "fuser/analysis/traffic.h"
#include "fuser/planner/group_code.h"

#include <string.h>
#include <uthash.h>

/* A program whose situations never repeat is given up after this much work, some twenty seconds each. */
enum { SEARCH_MOST_SETTLED = 3000, SEARCH_MOST_COMPILED = 256 };

/* What may start in a situation: the group that gains most, and where that is a halo fusion, one that gets
 * along without. */
enum { CANDIDATES = 2 };
struct search_memo {
    struct hash128 key;
    struct search_group *groups[CANDIDATES];
    const char *reason; /* why the first is no larger, or is none */
    UT_hash_handle hh;
};

static bool collect_members(struct search *search, const struct draft *draft, struct search_group *planned)
{
    planned->step_count = draft->count;
    planned->member_count = 0;
    planned->bound = arena_calloc(search->arena, draft->count, sizeof *planned->bound);
    if (!planned->bound) return false;
    for (uint32_t i = 0; i < draft->count; i++) {
        planned->launches[i] = draft->first + i;
        planned->roles[i] = draft->roles[i];
        if (!draft->is_member[i]) continue;
        planned->member_steps[planned->member_count] = i;
        planned->bound[planned->member_count++] = pairs_launch(search->pairs, draft->first + i);
    }
    return true;
}

/* Recorded device time; where there is none, the time that the launch's traffic takes. */
uint64_t search_launch_time(struct search *search, uint32_t launch)
{
    uint64_t time = launch_class_time(search_class(search, launch));
    if (time || search_class(search, launch)->refusal) return time;
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    double bytes = 0;
    for (uint32_t i = 0; i < bound.summary->base_count; i++) {
        const struct access_base *base = &bound.summary->bases[i];
        int64_t extent = base->is_bounded ? base->to - base->from : bound.bindings[i].size;
        bytes += (double)extent * (base->is_read + base->is_written);
    }
    return (uint64_t)(search->projection.floor_ns + bytes / search->projection.bytes_per_ns);
}

static uint64_t member_traffic(const struct search_group *planned)
{
    uint64_t bytes = 0;
    for (uint32_t m = 0; m < planned->member_count; m++) {
        const struct access_summary *summary = planned->bound[m].summary;
        bytes += traffic_of_launch(summary);
    }
    return bytes;
}

/* Threads that the borders of tiles run again compute again; what they load again counts as traffic. */
static double repeated_ns(const struct search *search, const struct search_group *planned,
                          const uint64_t *times)
{
    double sum = 0;
    for (uint32_t m = 0; planned->group && m < planned->member_count; m++) {
        double traffic_ns =
            (double)traffic_of_launch(planned->bound[m].summary) / search->projection.bytes_per_ns;
        double computing = (double)times[m] - search->projection.floor_ns - traffic_ns;
        if (computing > 0) sum += traffic_repeated(planned->group, m) * computing;
    }
    return sum;
}

/* Of members some of whose loads take what lies in a tile, or else in memory. */
static double either_ns(const struct search *search, const struct group *group, const uint64_t *times)
{
    double sum = 0;
    for (uint32_t m = 0; m < group->member_count; m++) {
        bool looks = false;
        for (uint32_t i = 0; i < group->fetch_count; i++)
            looks |= group->fetches[i].to_member == m && group->fetches[i].covered;
        if (looks && (double)times[m] > search->projection.floor_ns)
            sum += (double)times[m] - search->projection.floor_ns;
    }
    return sum;
}

static uint32_t shared_of(const struct search_group *planned)
{
    return planned->code.static_shared + planned->code.dynamic_shared;
}

static bool has_loops(const struct search_group *planned)
{
    for (uint32_t m = 0; m < planned->member_count; m++)
        if (planned->bound[m].summary->has_loop) return true;
    return false;
}

/* What its blocks need of a multiprocessor: before it is compiled, what its members do, each alone. */
static struct projection_kernel kernel_of(struct search *search, const struct search_group *planned)
{
    const uint32_t *block = planned->group->block;
    struct projection_kernel kernel = {.registers = planned->code.registers,
                                       .static_shared = shared_of(planned),
                                       .has_loops = has_loops(planned),
                                       .threads = block[0] * block[1] * block[2]};
    for (uint32_t m = 0; !planned->is_compiled && m < planned->member_count; m++) {
        const struct launch_class *class = search_class(search, planned->launches[planned->member_steps[m]]);
        const struct trace_kernel *record = search->program->kernels[class->kernel].record;
        if (record->registers > kernel.registers) kernel.registers = record->registers;
        if (record->static_shared > kernel.static_shared) kernel.static_shared = record->static_shared;
    }
    if (!planned->is_compiled && planned->group->block_tile_count)
        kernel.static_shared = (uint32_t)group_shared_bytes(planned->group);
    return kernel;
}

/* Traffic that no longer goes to memory, as far as that is known to save time. */
static int64_t saved_by(struct search *search, const struct search_group *planned, const struct group *group)
{
    uint64_t blocks = (uint64_t)group->grid[0] * group->grid[1] * group->grid[2];
    struct projection_kernel kernel = kernel_of(search, planned);
    double share = projection_cached(&search->projection, group->block_bytes, blocks, &kernel);
    return group->bytes_saved + (int64_t)(share * (double)group->bytes_cached);
}

/* Copying renamed ranges back at the end of so many chains of uses, and forth at the beginning. */
static double copying_ns(const struct search *search, const struct group *group, uint64_t restores,
                         uint64_t chains)
{
    double sum = 0;
    for (uint32_t i = 0; i < group->rename_count; i++) {
        const struct group_rename *rename = &group->renames[i];
        double one = search->projection.floor_ns + search->projection.gap_ns +
                     2 * (double)rename->bytes / search->projection.bytes_per_ns;
        sum += one * (double)(restores + (rename->is_partial ? chains : 0));
    }
    return sum;
}

/* The same launches follow at once: uses of the group may be a chain. */
static bool repeats(const struct search *search, const struct search_group *planned)
{
    const struct program *program = search->program;
    uint32_t first = planned->launches[0], steps = planned->step_count;
    if (first + 2 * steps > program->launch_count) return false;
    for (uint32_t i = first; i < first + steps; i++)
        if (search_class(search, i) != search_class(search, i + steps) ||
            program->launches[i].window != program->launches[i + steps].window)
            return false;
    return true;
}

/* bytes_saved: of the group, or what it may save before it is decided. */
static struct projected project(struct search *search, const struct search_group *planned,
                                int64_t bytes_saved)
{
    uint64_t times[SEARCH_MOST_STEPS], traffic = member_traffic(planned);
    for (uint32_t m = 0; m < planned->member_count; m++)
        times[m] = search_launch_time(search, planned->launches[planned->member_steps[m]]);
    struct projection_kernel kernel = {.registers = planned->code.registers,
                                       .static_shared = shared_of(planned),
                                       .has_loops = has_loops(planned)};
    if (planned->group) {
        const uint32_t *block = planned->group->block;
        kernel.threads = block[0] * block[1] * block[2];
        kernel.repeated_ns = repeated_ns(search, planned, times);
        kernel.either_ns = either_ns(search, planned->group, times);
    }
    kernel.share_saved = traffic ? (double)bytes_saved / (double)traffic : 0;
    struct projected projected = projection_group(&search->projection, times, planned->member_count, &kernel);
    projected.fused_ns += planned->copying_ns;
    return projected;
}

/* Of the fused kernel, where its blocks need what is known so far. */
static double resident_ns(struct search *search, const struct search_group *planned)
{
    uint64_t times[SEARCH_MOST_STEPS], traffic = member_traffic(planned);
    for (uint32_t m = 0; m < planned->member_count; m++)
        times[m] = search_launch_time(search, planned->launches[planned->member_steps[m]]);
    struct projection_kernel kernel = kernel_of(search, planned);
    kernel.share_saved = traffic ? (double)saved_by(search, planned, planned->group) / (double)traffic : 0;
    return projection_group(&search->projection, times, planned->member_count, &kernel).fused_ns;
}

/* Shared memory that hands values on saves traffic, and takes room from other blocks. */
static void choose_block_tiles(struct search *search, const struct search_group *planned)
{
    struct group *group = planned->group;
    uint32_t most = search->program->device.shared_per_block_optin;
    if (!group->found_block_tiles) return;
    group_use_block_tiles(group, true);
    bool fits = !most || group_shared_bytes(group) <= most;
    double with = resident_ns(search, planned);
    group_use_block_tiles(group, false);
    group_use_block_tiles(group,
                          fits && (search->options->keeps_losing || with <= resident_ns(search, planned)));
}

struct projected search_projected(struct search *search, const struct search_group *planned,
                                  const struct group *group)
{
    return project(search, planned, saved_by(search, planned, group));
}

static bool gains_enough(const struct search *search, const struct projected *projected)
{
    return search->options->keeps_losing ||
           projected->original_ns - projected->fused_ns > search->options->margin * projected->original_ns;
}

static void release_group(struct search_group *planned)
{
    codegen_result_clear(&planned->code);
    planned->group = NULL;
}

static double gain_of(const struct search_group *group)
{
    return group ? group->projected.original_ns - group->projected.fused_ns : 0;
}

static const char used_too_rarely[] =
    "it is used too rarely to win back the time that loading its code takes";

/* A group that is used once or twice in a whole run must win back the time that loading its code takes. */
static bool loading_pays(const struct search *search, double gain, uint64_t uses)
{
    return search->options->keeps_losing || !search->program->is_whole_run ||
           gain * (double)uses > search->projection.load_ns;
}

/* Uses that the recorded run has room for: each takes a launch of the class of every member. */
static uint64_t most_uses(const struct search *search, const struct search_group *planned)
{
    uint64_t most = UINT64_MAX;
    for (uint32_t m = 0; m < planned->member_count; m++) {
        const struct launch_class *class = search_class(search, planned->launches[planned->member_steps[m]]);
        uint64_t members = 0;
        for (uint32_t n = 0; n < planned->member_count; n++)
            members += search_class(search, planned->launches[planned->member_steps[n]]) == class;
        if (class->launches / members < most) most = class->launches / members;
    }
    return most;
}

static bool is_wanted(const struct search *search, const struct group *group)
{
    const char *fusion = group_fusion(group), *names = search->options->only;
    for (size_t length; names; names = names[length] ? names + length + 1 : NULL) {
        length = strcspn(names, ",");
        if (length == strlen(fusion) && !strncmp(names, fusion, length)) return true;
    }
    return !search->options->only;
}

/* Why the draft as it is cannot be a group, or NULL. *bytes_saved: in, what a group of these members and more
 * saves, taken as the most that this one can; out, what this one does. */
static const char *decide_whole(struct search *search, struct search_group *planned, int64_t *bytes_saved)
{
    static const char gains_little[] = "the projected gain is below the margin";
    struct projected most = project(search, planned, *bytes_saved);
    if (!gains_enough(search, &most)) return gains_little;
    if (!loading_pays(search, most.original_ns - most.fused_ns, most_uses(search, planned)))
        return used_too_rarely;
    uint32_t members[SEARCH_MOST_STEPS], decided = search->pairs->decided;
    for (uint32_t m = 0; m < planned->member_count; m++)
        members[m] = planned->launches[planned->member_steps[m]];
    planned->group = pairs_group(search->pairs, members, planned->bound, planned->member_count);
    search->settled += search->pairs->decided - decided;
    if (!planned->group) return "out of memory";
    if (planned->group->refusal) return planned->group->refusal;
    if (!is_wanted(search, planned->group)) return "it is a fusion of a kind that the plan is to do without";
    choose_block_tiles(search, planned);
    if (!repeats(search, planned)) planned->copying_ns = copying_ns(search, planned->group, 1, 1);
    planned->projected = project(search, planned, saved_by(search, planned, planned->group));
    /* A border costs: without its last member, a halo fusion may save more. Fewer members find more in a
     * cache. */
    bool may_save_more = planned->group->stage_count || planned->group->bytes_cached ||
                         planned->group->rename_count || planned->group->block_tile_count;
    *bytes_saved = may_save_more ? INT64_MAX : planned->group->bytes_saved;
    return gains_enough(search, &planned->projected) ? NULL : gains_little;
}

/* The draft as it is, as a group; NULL with the draft's reason. */
static struct search_group *settle_whole(struct draft *draft, int64_t *bytes_saved)
{
    struct search *search = draft->search;
    struct search_group *planned = arena_calloc(search->arena, 1, sizeof *planned);
    if (!planned || !draft_assign_roles(draft) || !collect_members(search, draft, planned)) {
        draft->reason = "out of memory";
        return NULL;
    }
    planned->name = group_code_name(search, draft);
    const char *refusal = decide_whole(search, planned, bytes_saved);
    if (!refusal) return planned;
    draft->reason = arena_strdup(search->arena, refusal);
    release_group(planned);
    return NULL;
}

/* Decides the draft whole, then without its last member, and so on, until one pays; on from a halo fusion
 * while that gains, as fewer members may need no border. Not compiled yet. */
static struct search_group *settle(struct draft *draft)
{
    struct search *search = draft->search;
    struct search_group *best = NULL;
    int64_t bytes_saved = INT64_MAX;
    while (draft_members(draft) >= 2) {
        if (search->settled == SEARCH_MOST_SETTLED) {
            draft->reason = "the trace holds too many different situations to plan them all";
            break;
        }
        struct search_group *planned = settle_whole(draft, &bytes_saved);
        bool is_better = planned && (!best || gain_of(planned) > gain_of(best));
        struct search_group *worse = is_better ? best : planned;
        if (worse) release_group(worse);
        if (best && !is_better) break;
        if (is_better) best = planned;
        if (best && !best->group->stage_count && !best->group->rename_count) break;
        draft->is_member[draft->count - 1] = false;
        draft_trim(draft);
    }
    return best;
}

bool search_add_group(struct search *search, struct search_group *planned)
{
    if (search->group_count == search->group_capacity) {
        uint32_t capacity = search->group_capacity ? 2 * search->group_capacity : 16;
        void *grown =
            arena_grow(search->arena, search->groups, search->group_count, capacity, sizeof planned);
        if (!grown) return false;
        search->groups = grown;
        search->group_capacity = capacity;
    }
    search->groups[search->group_count++] = planned;
    return true;
}

/* Two situations may settle on one group: steps, roles and pointers alike. */
static struct search_group *known_group(struct search *search, const struct search_group *planned)
{
    struct hash128 key, other;
    if (!pairs_key(search->pairs, planned->launches, planned->step_count, &key)) return NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (group->step_count != planned->step_count) continue;
        if (memcmp(group->roles, planned->roles, planned->step_count * sizeof *planned->roles)) continue;
        if (pairs_key(search->pairs, group->launches, group->step_count, &other) && hash_equal(key, other))
            return group;
    }
    return NULL;
}

/* Settles a draft and files the group, or the one that is known already, in the memo. */
static void file_draft(struct draft *draft, struct search_memo *memo, uint32_t candidate)
{
    struct search *search = draft->search;
    struct search_group *planned = settle(draft), *known = planned ? known_group(search, planned) : NULL;
    memo->groups[candidate] = NULL;
    if (candidate == 0) memo->reason = draft->reason;
    if (known) {
        release_group(planned);
        memo->groups[candidate] = known;
    } else if (planned && search_add_group(search, planned)) {
        memo->groups[candidate] = planned;
    }
}

/* Leaves out the first member that meets neighbouring threads of one before it, and those behind it. */
static void cut_at_halo(struct draft *draft)
{
    for (uint32_t q = 1; q < draft->count; q++)
        for (uint32_t p = 0; p < q; p++) {
            if (!draft->is_member[p] || !draft->is_member[q]) continue;
            const struct conflict *conflict =
                pairs_conflict(draft->search->pairs, draft->first + p, draft->first + q);
            if (!conflict || conflict->class != CONFLICT_HALO) continue;
            draft->count = q;
            draft_trim(draft);
            return;
        }
}

static struct search_memo *decide(struct search *search, uint32_t first, struct hash128 key)
{
    struct search_memo *memo = arena_calloc(search->arena, 1, sizeof *memo);
    if (!memo) return NULL;
    memo->key = key;
    struct draft draft = {.search = search, .first = first};
    memo->reason = search_class(search, first)->no_member;
    if (!memo->reason) memo->reason = draft_why_no_step(search, first);
    if (!memo->reason) {
        draft_grow(&draft);
        struct draft other = draft;
        file_draft(&draft, memo, 0);
        cut_at_halo(&other);
        if (memo->groups[0] && memo->groups[0]->group->stage_count && draft_members(&other) >= 2)
            file_draft(&other, memo, 1);
    }
    HASH_ADD(hh, search->memo, key, sizeof key, memo);
    return memo;
}

/* A refused group loses the members from its cut on and is decided again. */
static void shrink(struct search *search, struct search_memo *memo, uint32_t candidate)
{
    const struct search_group *planned = memo->groups[candidate];
    struct draft draft = {.search = search, .first = planned->launches[0], .count = planned->cut};
    for (uint32_t m = 0; m < planned->member_count; m++)
        if (planned->member_steps[m] < planned->cut) draft.is_member[planned->member_steps[m]] = true;
    draft_trim(&draft);
    draft.reason = planned->refusal;
    file_draft(&draft, memo, candidate);
}

static void compile_group(struct search *search, struct search_group *planned)
{
    if (search->compiled++ == SEARCH_MOST_COMPILED) {
        planned->refusal = "the trace holds too many different groups to compile them all";
        planned->is_dropped = true;
        return;
    }
    group_code_compile(search, planned);
    planned->refusal = planned->code.error;
    planned->cut = planned->member_steps[planned->member_count - 1];
    if (planned->code.has_no_compiler) search->error = planned->code.error;
    if (planned->refusal) return;
    planned->projected = project(search, planned, saved_by(search, planned, planned->group));
    if (!gains_enough(search, &planned->projected))
        planned->refusal = "its registers leave too few threads: the projected gain is below the margin";
    planned->is_compiled = !planned->refusal;
}

/* What starts at this launch: looked up by the situation of the launches that a group could reach. */
static struct search_memo *look(struct search *search, uint32_t first)
{
    if (search->memo_of[first]) return search->memo_of[first];
    uint32_t slice[SEARCH_MOST_STEPS], count = 0;
    const struct program *program = search->program;
    for (uint32_t i = first; i < program->launch_count && count < SEARCH_MOST_STEPS; i++) {
        if (program->launches[i].window != program->launches[first].window) break;
        slice[count++] = i;
        if (search_class(search, i)->refusal) break;
    }
    struct hash128 key;
    struct search_memo *memo;
    if (!pairs_key(search->pairs, slice, count, &key)) return NULL;
    HASH_FIND(hh, search->memo, &key, sizeof key, memo);
    return search->memo_of[first] = memo ? memo : decide(search, first, key);
}

/* A group that may start in this situation as things stand; NULL, of the first with the reason in the memo.
 */
static struct search_group *candidate_of(struct search *search, struct search_memo *memo, uint32_t candidate)
{
    struct search_group **group = &memo->groups[candidate];
    while (*group && (*group)->refusal && !(*group)->is_dropped) shrink(search, memo, candidate);
    if (!*group || !(*group)->is_dropped) return *group;
    if (candidate == 0) memo->reason = (*group)->refusal;
    return NULL;
}

/* gain_from[i]: the most that groups of launch i and those after it gain. Of equal ways the first group wins.
 */
static bool weigh(struct search *search)
{
    const double equal = 1 - 1e-9;
    uint32_t count = search->program->launch_count;
    double *gain_from = search->gain_from;
    for (uint32_t i = 0; i < count; i++) {
        if (search->options->progress)
            search->options->progress(search->options->context, "searching groups", i, count);
        if (!look(search, i)) return false;
    }
    for (uint32_t i = count; i-- > 0;) {
        search->start_of[i] = NULL;
        gain_from[i] = gain_from[i + 1];
        for (uint32_t candidate = 0; candidate < CANDIDATES; candidate++) {
            struct search_group *group = candidate_of(search, search->memo_of[i], candidate);
            double taken = group ? gain_of(group) + gain_from[i + group->step_count] : 0;
            bool is_better = search->start_of[i] ? taken > gain_from[i] : taken >= gain_from[i] * equal;
            if (!group || !is_better) continue;
            search->start_of[i] = group;
            gain_from[i] = taken;
        }
    }
    return true;
}

static void extend_chain(const struct program *program, struct search_group *group, uint32_t first)
{
    bool goes_on = group->uses && group->chain_end == first &&
                   program->launches[first].window == program->launches[first - 1].window;
    if (!goes_on) {
        group->chains++;
        group->chain_length = 0;
    }
    if (++group->chain_length % 2)
        group->restores++;
    else
        group->restores--;
    group->chain_end = first + group->step_count;
}

/* As its uses have turned out. */
static void settle_copying(const struct search *search, struct search_group *group)
{
    double before = group->copying_ns;
    group->copying_ns =
        copying_ns(search, group->group, group->restores, group->chains) / (double)group->uses;
    group->projected.fused_ns += group->copying_ns - before;
}

static void use_group(struct search *search, struct search_group *group, uint32_t first)
{
    extend_chain(search->program, group, first);
    group->uses++;
    for (uint32_t i = 0; i < group->step_count; i++) {
        search->group_of[first + i] = group;
        if (i == 0) continue;
        uint32_t gap = search->program->launches[first + i].gap_ns;
        group->gap_ns_sum[i] += gap;
        if (gap > group->largest_gap_ns) group->largest_gap_ns = gap;
    }
}

/* Holding the first members while the host prepares the last one must not cost more than it gains. Unfused, a
 * use of the group ends when the host has made all its launches and the last one has run, or when the device
 * has run them all, whichever is later; fused, the host makes one launch after the last arrival. */
static bool holding_pays(const struct search *search, const struct search_group *group)
{
    double gaps = 0;
    for (uint32_t i = 1; i < group->step_count; i++)
        gaps += (double)group->gap_ns_sum[i] / (double)group->uses;
    double host = search->projection.host_ns;
    const struct projected *projected = &group->projected;
    double unfused_host = gaps + group->step_count * host + search->projection.floor_ns;
    double unfused_device = host + projected->original_ns;
    double unfused = unfused_host > unfused_device ? unfused_host : unfused_device;
    return gaps + host + projected->fused_ns <= unfused * (1 - search->options->margin);
}

/* The step that is waited for longest. */
static uint32_t slowest_step(const struct search_group *group)
{
    uint32_t slowest = 1;
    for (uint32_t i = 2; i < group->step_count; i++)
        if (group->gap_ns_sum[i] > group->gap_ns_sum[slowest]) slowest = i;
    return slowest;
}

static const char waits_too_long[] =
    "holding the launches would leave the device idle for longer than the gain";

static const char copied_too_often[] =
    "what it writes into a second buffer would have to be copied back too often";

static const char *why_it_loses(const struct search *search, const struct search_group *group)
{
    if (search->options->keeps_losing) return NULL;
    if (group->copying_ns > 0 && !gains_enough(search, &group->projected)) return copied_too_often;
    if (!holding_pays(search, group)) return waits_too_long;
    return loading_pays(search, gain_of(group), group->uses) ? NULL : used_too_rarely;
}

/* The way through the program that gains most; uses of groups are counted anew. */
static bool choose(struct search *search)
{
    struct program *program = search->program;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        group->uses = group->chains = group->restores = group->largest_gap_ns = 0;
        memset(group->gap_ns_sum, 0, sizeof group->gap_ns_sum);
    }
    for (uint32_t i = 0; i < program->launch_count; i++) {
        search->group_of[i] = NULL;
        search->reason_of[i] = NULL;
    }
    if (!weigh(search)) return false;
    for (uint32_t i = 0; i < program->launch_count;) {
        struct search_group *group = search->start_of[i];
        if (group)
            use_group(search, group, i);
        else if (candidate_of(search, search->memo_of[i], 0))
            search->reason_of[i] = "groups that start with later launches gain more";
        else
            search->reason_of[i] = search->memo_of[i]->reason;
        i += group ? group->step_count : 1;
    }
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->uses) settle_copying(search, search->groups[i]);
    return true;
}

/* Drops the used group that gains least over the run among those that lose, or cuts it where it waits for the
 * host; its launches get another chance in others. False when none loses. */
static bool drop_least(struct search *search)
{
    struct search_group *least = NULL;
    const char *refusal = NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        const char *why = group->uses ? why_it_loses(search, group) : NULL;
        if (!why) continue;
        if (least && gain_of(group) * (double)group->uses >= gain_of(least) * (double)least->uses) continue;
        least = group;
        refusal = why;
    }
    if (!least) return false;
    least->refusal = refusal;
    least->is_dropped = refusal == used_too_rarely;
    least->cut =
        refusal == waits_too_long ? slowest_step(least) : least->member_steps[least->member_count - 1];
    return true;
}

/* Compiles the used group that gains most over the run. False when all are compiled. */
static bool compile_most(struct search *search)
{
    struct search_group *most = NULL;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->uses || group->is_compiled) continue;
        if (!most || gain_of(group) * (double)group->uses > gain_of(most) * (double)most->uses) most = group;
    }
    if (most) compile_group(search, most);
    return most != NULL;
}

bool search_run(struct search *search, const struct planner_options *options, struct pairs *pairs)
{
    struct program *program = pairs->classes->program;
    *search = (struct search){.options = options,
                              .program = program,
                              .classes = pairs->classes,
                              .pairs = pairs,
                              .arena = program->arena,
                              .error = "out of memory",
                              .projection = projection_calibrate(program)};
    search->group_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->group_of);
    search->reason_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->reason_of);
    search->memo_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->memo_of);
    search->gain_from = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->gain_from);
    search->start_of = arena_calloc(search->arena, program->launch_count + 1, sizeof *search->start_of);
    if (!search->group_of || !search->reason_of || !search->memo_of || !search->gain_from ||
        !search->start_of)
        return false;
    search->error = NULL;
    do {
        if (!choose(search)) search->error = "out of memory";
    } while (!search->error && (drop_least(search) || compile_most(search)));
    for (uint32_t i = 0; i < search->group_count; i++)
        search->groups[i]->is_kept = search->groups[i]->uses && search->groups[i]->is_compiled;
    return !search->error;
}

static void try_draft(struct draft *draft, struct search_trial *trial)
{
    struct search *search = draft->search;
    int64_t bytes_saved = INT64_MAX;
    struct search_group *planned = arena_calloc(search->arena, 1, sizeof *planned);
    if (!planned || !collect_members(search, draft, planned)) {
        trial->refusal = "out of memory";
        return;
    }
    const char *refusal = decide_whole(search, planned, &bytes_saved);
    trial->refusal = refusal ? arena_strdup(search->arena, refusal) : NULL;
    trial->is_legal = !planned->group || !planned->group->refusal;
    trial->projected = planned->projected;
    release_group(planned);
}

/* The launch that is passed over and must come before the draft's last one, but after another member. */
static const char *why_no_roles(const struct draft *draft)
{
    struct search *search = draft->search;
    uint32_t last = draft->first + draft->count - 1;
    for (uint32_t launch = draft->first; launch < last; launch++) {
        if (draft->is_member[launch - draft->first]) continue;
        const struct conflict *conflict = pairs_conflict(search->pairs, launch, last);
        if (!conflict || conflict->class == CONFLICT_NONE) continue;
        const struct access_summary *p = search_class(search, launch)->summary,
                                    *q = search_class(search, last)->summary;
        return arena_printf(
            search->arena,
            "it passes over kernel %s, line %u: what that touches after a member did, kernel %s line "
            "%u touches too",
            p->function->name, p->accesses[conflict->access_p].line, q->function->name,
            q->accesses[conflict->access_q].line);
    }
    return "what it passes over can run neither before nor after it";
}

void search_try_longer(struct search *search, uint32_t launch, struct search_trial *trial)
{
    const struct search_group *group = search->group_of[launch];
    uint32_t steps = group ? group->step_count : 1;
    struct draft draft = {.search = search, .first = launch + 1 - steps, .count = steps + 1};
    const struct search_memo *memo = search->memo_of[draft.first];
    *trial = (struct search_trial){.given_up = memo ? memo->reason : NULL};
    if (steps == SEARCH_MOST_STEPS || (group && group->member_count >= search->options->max_members)) {
        trial->refusal = "the group before it has as many members as one may have";
        return;
    }
    for (uint32_t i = 0; i < steps; i++) draft.is_member[i] = !group || group->roles[i] == PLAN_MEMBER;
    draft.is_member[steps] = true;
    if (draft_assign_roles(&draft))
        try_draft(&draft, trial);
    else
        trial->refusal = why_no_roles(&draft);
}

void search_free(struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++) release_group(search->groups[i]);
    HASH_CLEAR(hh, search->memo);
}
