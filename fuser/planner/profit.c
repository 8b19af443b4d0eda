/* SPDX-License-Identifier: Apache-2.0
 * The projection (projection.h) of a group from what the trace and its analysis say of its members. */
#include "fuser/planner/profit.h"

#include "fuser/access/stride.h"
#include "fuser/fusion/space.h"
#include "fuser/fusion/traffic.h"

#include <math.h>

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

/* What is neither a launch's floor nor traffic. */
static double computing_ns(const struct search *search, const struct access_summary *summary, uint64_t time)
{
    double traffic = (double)traffic_of_launch(summary) / search->projection.bytes_per_ns;
    double computing = (double)time - search->projection.floor_ns - traffic;
    return computing > 0 ? computing : 0;
}

/* Most blocks of the member's stage run its interior version. */
static bool is_mostly_interior(const struct search_group *planned, uint32_t member)
{
    const struct group *group = planned->group;
    return planned->code.has_interior &&
           planned->code.has_interior[group_stage_of(group, member) - group->stages];
}

/* Threads that the borders of tiles run again compute again; what they load again counts as traffic. What interior blocks
 * compute is what they issue. */
static double repeated_ns(const struct search *search, const struct search_group *planned,
                          const uint64_t *times)
{
    double sum = 0;
    for (uint32_t m = 0; m < group_head_count(planned->group); m++)
        if (!is_mostly_interior(planned, m))
            sum += traffic_repeated(planned->group, m) *
                   computing_ns(search, planned->bound[m].summary, times[m]);
    return sum;
}

/* Threads that keep memory busy with a load each: half of those that the device has room for. */
static double enough_threads(const struct projection *projection)
{
    double room = (double)projection->multiprocessors * projection->threads_per_multiprocessor;
    return room > 0 ? room / 2 : 131072;
}

static double busy_threads(const struct search *search, const uint32_t grid[3], const uint32_t block[3])
{
    double threads = (double)remap_threads(grid, block), enough = enough_threads(&search->projection);
    return threads < enough ? threads : enough;
}

/* It loads something from memory that no thread has loaded before: half of what its threads load, at least.
 */
static bool waits_for_memory(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    double threads = (double)remap_threads(summary->grid, summary->block);
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if ((double)access_traffic(summary, access) < threads * access->width / 2) continue;
        if (access->kind == ACCESS_READ && !group_tile_access_of(group, member, access->instruction))
            return true;
    }
    return false;
}

/* Threads that run several of a member's in turn. Where those would have filled the device, and these do
 * less, it takes longer by so much: to compute, and where it loads, for its traffic too, or for waiting. */
static double waiting_ns(const struct search *search, const struct group *group, const uint64_t *times)
{
    double sum = 0, fused = busy_threads(search, group->grid, group->block);
    for (uint32_t m = 0; m < group_head_count(group); m++) {
        const struct access_summary *summary = group->members[m].summary;
        double own = busy_threads(search, summary->grid, summary->block);
        if (!remap_is_repeated(&group->remaps[m]) || own <= fused) continue;
        double once = computing_ns(search, summary, times[m]);
        if (waits_for_memory(group, m)) {
            double loading = (double)times[m] - search->projection.floor_ns;
            once = loading > search->projection.latency_ns ? loading : search->projection.latency_ns;
        }
        sum += (own / fused - 1) * once;
    }
    return sum;
}

/* Of members some of whose loads take what lies in a tile, or else in memory. Where most blocks are interior, few look, but for what
 * data may have kept from the tile; until it is compiled, they are taken to be. */
static double either_ns(const struct search *search, const struct search_group *planned,
                        const uint64_t *times)
{
    const struct group *group = planned->group;
    double sum = 0;
    for (uint32_t m = 0; m < group_head_count(group); m++) {
        bool looks = false, is_inside = !planned->code.has_interior || is_mostly_interior(planned, m);
        for (uint32_t i = 0; i < group->fetch_count; i++) {
            const struct group_fetch *fetch = &group->fetches[i];
            looks |= fetch->to_member == m && !fetch->is_whole &&
                     (!is_inside || group->tiles[fetch->tile].is_masked);
        }
        if (looks && (double)times[m] > search->projection.floor_ns)
            sum += (double)times[m] - search->projection.floor_ns;
    }
    return sum;
}

/* Members to or from which values pass, or what the caches hold: a bit each. */
static uint64_t linked_members(const struct group *group)
{
    const double little = 0.05;
    uint64_t linked = 0;
    for (uint32_t m = 0; m < group->member_count; m++)
        if (traffic_spared(group, m) > little) linked |= UINT64_C(1) << m;
    for (uint32_t i = 0; i < group->forward_count; i++)
        if (linked >> group->forwards[i].to_member & 1)
            linked |= UINT64_C(1) << group->forwards[i].from_member;
    for (uint32_t i = 0; i < group->fetch_count; i++)
        if (linked >> group->fetches[i].to_member & 1)
            linked |= UINT64_C(1) << group->tiles[group->fetches[i].tile].member;
    for (uint32_t i = 0; i < group->tile_access_count; i++)
        linked |= UINT64_C(1) << group->tile_accesses[i].member;
    for (uint32_t i = 0; i < group->cached_count; i++) { /* by which member is not told: by all before it */
        uint32_t to = group->cached[i].member;
        if (linked >> to & 1) linked |= (UINT64_C(1) << to) - 1;
    }
    return linked;
}

static double apart_ns(const struct search *search, const struct group *group, const uint64_t *times)
{
    double sum = 0;
    uint64_t linked = linked_members(group);
    if (group_head_count(group) == 1) return 0;
    for (uint32_t m = 0; m < group_head_count(group); m++)
        if (!(linked >> m & 1) && (double)times[m] > search->projection.floor_ns)
            sum += (double)times[m] - search->projection.floor_ns;
    return sum;
}

static uint32_t shared_of(const struct search_group *planned)
{
    return planned->code.static_shared + planned->code.dynamic_shared;
}

static bool has_loops(const struct search_group *planned)
{
    uint32_t count = planned->group ? group_head_count(planned->group) : planned->member_count;
    for (uint32_t m = 0; m < count; m++)
        if (planned->bound[m].summary->has_loop) return true;
    return false;
}

/* What a launch alone needs of a multiprocessor. */
static struct projection_kernel kernel_alone(const struct search *search, uint32_t launch)
{
    const struct trace_launch *record = search->program->launches[launch].record;
    const struct trace_kernel *kernel = search->program->kernels[search_class(search, launch)->kernel].record;
    return (struct projection_kernel){.threads = record->block[0] * record->block[1] * record->block[2],
                                      .registers = kernel->registers,
                                      .static_shared = kernel->static_shared + record->dynamic_shared};
}

/* Of so many blocks, those that are resident at a time. */
static double resident_blocks(const struct projection *projection, const struct projection_kernel *kernel,
                              double blocks)
{
    uint32_t most;
    double room = (double)projection_blocks(projection, kernel, &most) * projection->multiprocessors;
    return room > 0 && room < blocks ? room : blocks;
}

/* Of a multiprocessor's threads, that are resident where its members run apart: by their times. */
static double alone_share(const struct search *search, const struct search_group *planned,
                          const uint64_t *times)
{
    const struct projection *projection = &search->projection;
    double sum = 0, all = 0;
    for (uint32_t m = 0; m < group_head_count(planned->group); m++) {
        struct projection_kernel alone = kernel_alone(search, planned->launches[planned->member_steps[m]]);
        const uint32_t *grid = planned->bound[m].summary->grid;
        double blocks = (double)grid[0] * grid[1] * grid[2], share = projection_occupancy(projection, &alone),
               room = resident_blocks(projection, &alone, INFINITY);
        sum += (double)times[m] * (blocks < room ? share * blocks / room : share);
        all += (double)times[m];
    }
    return all > 0 ? sum / all : 0;
}

/* Of its registers and shared memory follows how many of its threads are resident; beside that, those of its members apart. */
static void set_residence(const struct search *search, const struct search_group *planned,
                          const uint64_t *times, struct projection_kernel *kernel)
{
    const uint32_t *block = planned->group->block, *grid = planned->group->grid;
    double blocks = (double)grid[0] * grid[1] * grid[2];
    kernel->threads = block[0] * block[1] * block[2];
    kernel->fits = resident_blocks(&search->projection, kernel, blocks) == blocks;
    kernel->alone_share = alone_share(search, planned, times);
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

/* How much longer a byte of its accesses takes than one of accesses that are words: a warp's access of bytes is one, too. */
static double narrowness(const struct access_summary *summary)
{
    const double word = 4;
    double bytes = 0, as_words = 0;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        double moved = (double)access_traffic(summary, access);
        bytes += moved;
        as_words += access->width < word ? moved * word / access->width : moved;
    }
    return bytes > 0 ? as_words / bytes : 1;
}

/* Of the member's time, what may be its traffic's: waiting for a load once, and else kernels reach this share of the bandwidth at least,
 * or do not wait for memory. A step of Gaussian elimination in blocks of 16 threads reaches a sixteenth on an H100. One of many waves
 * of threads that reaches less than half waits for loads that no group spares: a gather through lists of neighbours, on an H200. */
static double moving_ns(const struct search *search, const struct access_summary *summary, double time,
                        double traffic)
{
    const double least_share = 1.0 / 32, least_of_many = 0.5, many_waves = 4;
    const struct projection *projection = &search->projection;
    double threads = (double)remap_threads(summary->grid, summary->block);
    bool is_many = threads > many_waves * 2 * enough_threads(projection);
    double share = is_many ? least_of_many / narrowness(summary) : least_share;
    double own = time - projection->floor_ns;
    double most = projection->latency_ns + traffic / projection->bytes_per_ns / share;
    return own < most ? own : most;
}

double profit_saved_ns(struct search *search, const struct search_group *planned, const struct group *group)
{
    uint64_t blocks = (uint64_t)group->grid[0] * group->grid[1] * group->grid[2];
    struct projection_kernel kernel = kernel_of(search, planned);
    double share = projection_cached(&search->projection, group->block_bytes, blocks, &kernel), sum = 0;
    for (uint32_t m = 0; m < planned->member_count; m++) {
        double time = (double)search_launch_time(search, planned->launches[planned->member_steps[m]]);
        double traffic = (double)traffic_of_launch(planned->bound[m].summary);
        double saved = traffic_saved_of(group, m) + share * traffic_cached_of(group, m);
        if (traffic > 0 && time > search->projection.floor_ns)
            sum += moving_ns(search, planned->bound[m].summary, time, traffic) * saved / traffic;
    }
    return sum;
}

double profit_copying_ns(const struct search *search, const struct group *group,
                         const struct profit_copies *copies)
{
    double least = search->projection.floor_ns + search->projection.gap_ns,
           sum = least * (double)copies->mirrors;
    for (uint32_t i = 0; i < group->rename_count; i++) {
        const struct group_rename *rename = &group->renames[i];
        double one = least + 2 * (double)rename->bytes / search->projection.bytes_per_ns;
        sum += one * (double)(copies->restores + (rename->is_partial ? copies->chains : 0));
    }
    return sum;
}

/* Each stage of a halo fusion runs its part of the code for all of its cells. */
static double issued_ns(const struct search *search, const struct search_group *planned)
{
    /* Of general code, some lies behind branches that few take. Six stencils of two dimensions on an H100, one to eight in a
     * kernel, took 0.7 to 0.9 of this; with divisions 1.3. Of interior code all runs, and integers take twice as long as they are
     * issued: one stencil, four to eight times in a kernel, took 1.4 to 1.5. */
    const double run_general = 0.9, run_interior = 1.45;
    enum { WARP = 32 };
    const struct group *group = planned->group;
    const double *counts = planned->code.stage_instructions;
    double begun = 0;
    if (!group->stage_count || search->projection.warps_per_ns <= 0) return 0;
    for (uint32_t k = 0; k < group->stage_count; k++) {
        const struct group_stage *stage = &group->stages[k];
        uint64_t cells = 1, layers = 1;
        for (int d = 0; d < 3; d++)
            *(d && d == group->march ? &layers : &cells) *= group_stage_dense(stage, group->tile, d);
        double own = counts ? counts[k] : (double)planned->code.instructions / group->stage_count;
        double run = counts && planned->code.has_interior[k] ? run_interior : run_general;
        begun += (double)((cells + WARP - 1) / WARP * layers) * own * run;
    }
    double blocks = (double)group->grid[0] * group->grid[1] * group->grid[2];
    return blocks * begun / search->projection.warps_per_ns;
}

/* What is left of its members' traffic, at the device's bandwidth. */
static double moved_ns(const struct search *search, const struct search_group *planned,
                       const struct projection_kernel *kernel)
{
    const struct group *group = planned->group;
    uint64_t blocks = (uint64_t)group->grid[0] * group->grid[1] * group->grid[2];
    double held = projection_held(&search->projection, group->block_bytes, blocks, kernel), bytes = 0;
    for (uint32_t m = 0; m < planned->member_count; m++)
        bytes += (double)traffic_of_launch(planned->bound[m].summary) - traffic_saved_of(group, m) -
                 held * traffic_cached_of(group, m);
    return bytes > 0 ? bytes / search->projection.bytes_per_ns : 0;
}

/* --- members in blocks of their own --- */

double profit_share_of_device(struct search *search, uint32_t launch)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    const struct projection *projection = &search->projection;
    if (!bound.bindings) return 1;
    struct projection_kernel kernel = kernel_alone(search, launch);
    const uint32_t *grid = bound.summary->grid;
    double blocks = (double)grid[0] * grid[1] * grid[2];
    double of_room = blocks / resident_blocks(projection, &kernel, INFINITY),
           of_threads = (double)remap_threads(grid, bound.summary->block) / enough_threads(projection),
           share = of_room > of_threads ? of_room : of_threads;
    return share < 1 ? share : 1;
}

/* How much longer the member takes where fewer of its threads are resident than alone. A launch that leaves room may have more of
 * them than keep memory busy; of one that fills the device each counts, as little is gained beside it: a gather at half of its threads
 * took a third longer on an H200. */
static double slower_beside(struct search *search, const struct search_group *planned,
                            const struct projection_kernel *kernel, uint32_t m)
{
    const struct projection *projection = &search->projection;
    const struct access_summary *summary = planned->bound[m].summary;
    const struct remap *remap = &planned->group->remaps[m];
    struct projection_kernel alone = kernel_alone(search, planned->launches[planned->member_steps[m]]);
    double all = (double)remap_threads(summary->grid, summary->block), enough = enough_threads(projection);
    double own = resident_blocks(projection, &alone, all / alone.threads) * alone.threads;
    double fused = resident_blocks(projection, kernel, remap->blocks) * all / remap->blocks;
    bool leaves_room = profit_share_of_device(search, planned->launches[planned->member_steps[m]]) < 1;
    if (leaves_room && own > enough) own = enough;
    return own > fused ? own / fused : 1;
}

/* Members run at a time as far as each leaves room, and move what they do alone; blocks take their time to begin.
 * planned->group NULL: at best. */
static double inter_block_ns(struct search *search, const struct search_group *planned,
                             const struct projection_kernel *kernel, const uint64_t *times)
{
    const double block_ns = 0.7; /* an H200 begins 1.6 blocks a ns */
    const double beside =
        1.05; /* on an H200, twelve groups with a large member took 0.97 to 1.29 times what was projected without this */
    double longest = 0, together = 0, moving = 0;
    for (uint32_t m = 0; m < planned->member_count; m++) {
        double body = (double)times[m] - search->projection.floor_ns;
        if (body < 0) body = 0;
        if (planned->group) body *= slower_beside(search, planned, kernel, m);
        double traffic =
            (double)traffic_of_launch(planned->bound[m].summary) / search->projection.bytes_per_ns;
        moving += traffic < body ? traffic : body;
        if (body > longest) longest = body;
        together += body * profit_share_of_device(search, planned->launches[planned->member_steps[m]]);
    }
    double beginning = planned->group ? block_ns * planned->group->grid[0] : 0;
    return search->projection.floor_ns + fmax(beside * fmax(longest, together), fmax(moving, beginning));
}

/* Of the sectors that an access of all its threads moves, in one multiprocessor. */
static double in_one_block_ns(const struct access_summary *summary, const struct access *access)
{
    /* Eight dependent kernels of 32 to 16,384 threads on an H100: neighbours side by side, and rows apart. */
    const double row_bytes_per_ns = 125, far_bytes_per_ns = 42, sector = 32;
    double threads = (double)remap_threads(summary->grid, summary->block), bytes = access->width;
    int64_t strides[3];
    bool is_known = access_strides(summary, access, strides);
    bool is_row = is_known && strides[0] <= access->width;
    if (!is_row && bytes < sector) bytes = sector;
    double rounds = (double)access_traffic(summary, access) / (threads * access->width);
    return (rounds > 1 ? rounds : 1) * threads * bytes / (is_row ? row_bytes_per_ns : far_bytes_per_ns);
}

/* A member of a launch of one block: it waits for its own loads and for the others at the barrier, and what one multiprocessor
 * moves takes it longer than all of them. */
static double member_in_one_block_ns(const struct search *search, const struct access_summary *summary,
                                     double time, double fused)
{
    const double step_ns = 500; /* as above */
    double passes = (double)remap_threads(summary->grid, summary->block) / fused,
           own = time - search->projection.floor_ns;
    bool was_one = summary->grid[0] * summary->grid[1] * summary->grid[2] == 1;
    double sum = step_ns + (own > 0 ? own : 0) * (passes > 1 ? passes : 1);
    for (uint32_t i = 0; i < summary->access_count && !was_one; i++) /* one has moved it so before */
        sum += in_one_block_ns(summary, &summary->accesses[i]);
    return sum;
}

static double one_block_ns(const struct search *search, const struct group *group, uint32_t first,
                           double fused, const uint64_t *times)
{
    double sum = 0;
    for (uint32_t m = first; m < group->member_count; m++)
        sum += member_in_one_block_ns(search, group->members[m].summary, (double)times[m], fused);
    return sum;
}

double profit_share_in_one_block(struct search *search, uint32_t launch)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    double time = (double)search_launch_time(search, launch);
    if (search->options->keeps_losing) return 0;
    uint32_t threads = bound.bindings ? space_one_block_threads(&bound, 1, SPACE_BLOCK_MOST) : 0;
    return threads ? member_in_one_block_ns(search, bound.summary, time, threads) /
                         (time + search->projection.gap_ns)
                   : INFINITY;
}

/* Its blocks arrive at the counter: each waits there for what it has stored, and for the answer, while those beside it go on; the
 * last one runs the members of few threads. */
static double last_block_ns(const struct search *search, const struct group *group,
                            const struct projection_kernel *kernel, const uint64_t *times)
{
    const double arrive_ns = 1000, turn_ns = 300, block_ns = 1;
    uint32_t most;
    double blocks = (double)group->grid[0] * group->grid[1] * group->grid[2];
    double resident =
        (double)projection_blocks(&search->projection, kernel, &most) * search->projection.multiprocessors;
    double turns = resident > 0 ? blocks / resident : 0;
    double counting = turn_ns * turns > block_ns * blocks ? turn_ns * turns : block_ns * blocks;
    return arrive_ns + counting + one_block_ns(search, group, group->last_first, group->last_threads, times);
}

/* As a member that the last block runs costs before. */
static double tail_apart_ns(const struct search *search, const struct group *group, const uint64_t *times)
{
    double sum = 0;
    for (uint32_t m = group->last_first; m < group->member_count; m++)
        sum += (double)times[m] + search->projection.gap_ns;
    return sum;
}

struct projected profit_project(struct search *search, const struct search_group *planned, double saved_ns)
{
    uint64_t times[SEARCH_MOST_STEPS];
    for (uint32_t m = 0; m < planned->member_count; m++)
        times[m] = search_launch_time(search, planned->launches[planned->member_steps[m]]);
    struct projection_kernel kernel = {.registers = planned->code.registers,
                                       .static_shared = shared_of(planned),
                                       .has_loops = has_loops(planned)};
    if (planned->group) {
        set_residence(search, planned, times, &kernel);
        kernel.is_deep = planned->group->stage_count && planned->group->tile[2] > 1;
        kernel.repeated_ns = repeated_ns(search, planned, times);
        kernel.waiting_ns = waiting_ns(search, planned->group, times);
        kernel.either_ns = either_ns(search, planned, times);
        kernel.apart_ns = apart_ns(search, planned->group, times);
        kernel.issued_ns = issued_ns(search, planned);
        if (kernel.issued_ns > 0) kernel.moved_ns = moved_ns(search, planned, &kernel);
    }
    kernel.saved_ns = saved_ns;
    const struct group *group = planned->group;
    uint32_t count = group ? group_head_count(group) : planned->member_count;
    struct projected projected = projection_group(&search->projection, times, count, &kernel);
    if (group && group->is_one_block)
        projected.fused_ns =
            search->projection.floor_ns +
            one_block_ns(search, group, 0, (double)remap_threads(group->grid, group->block), times);
    if (group && group->last_first) {
        projected.original_ns += tail_apart_ns(search, group, times);
        projected.fused_ns += last_block_ns(search, group, &kernel, times);
    }
    if (planned->form == PAIRS_INTER_BLOCK) {
        if (group) kernel = kernel_of(search, planned);
        projected.fused_ns = inter_block_ns(search, planned, &kernel, times);
    }
    projected.fused_ns += planned->copying_ns;
    return projected;
}

/* Of the fused kernel, where its blocks need what is known so far. */
static double resident_ns(struct search *search, const struct search_group *planned)
{
    uint64_t times[SEARCH_MOST_STEPS];
    for (uint32_t m = 0; m < planned->member_count; m++)
        times[m] = search_launch_time(search, planned->launches[planned->member_steps[m]]);
    struct projection_kernel kernel = kernel_of(search, planned);
    set_residence(search, planned, times, &kernel);
    kernel.saved_ns = profit_saved_ns(search, planned, planned->group);
    return projection_group(&search->projection, times, planned->member_count, &kernel).fused_ns;
}

void profit_choose_block_tiles(struct search *search, const struct search_group *planned)
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
    return profit_project(search, planned, profit_saved_ns(search, planned, group));
}

bool profit_is_enough(const struct search *search, const struct projected *projected)
{
    return search->options->keeps_losing ||
           projected->original_ns - projected->fused_ns > search->options->margin * projected->original_ns;
}

double profit_of(const struct search *search, const struct search_group *group)
{
    const double little_ns = 1e-3;
    double gain = group ? group->projected.original_ns - group->projected.fused_ns : 0;
    double least = group && search->options->keeps_losing ? little_ns * group->member_count : gain;
    return gain > least ? gain : least;
}

bool profit_covers_loading(const struct search *search, const struct search_group *planned, double gain,
                           uint64_t uses)
{
    bool is_all = search->program->is_whole_run || search_class(search, planned->launches[0])->comes_once;
    return search->options->keeps_losing || !is_all ||
           gain * (double)uses > search->projection.load_ns * search->program->run_count;
}

uint64_t profit_most_uses(const struct search *search, const struct search_group *planned)
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
