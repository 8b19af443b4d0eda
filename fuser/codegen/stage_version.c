/* SPDX-License-Identifier: Apache-2.0
 * Sets of cells and of blocks have no tuple names here. */
#include "fuser/codegen/stage_version.h"
#include "fuser/access/line.h"
#include "fuser/solver/quota.h"

#include <isl/ilp.h>
#include <isl/point.h>
#include <isl/val.h>
#include <string.h>

enum { VERSION_OPERATIONS = 500000, MOST_CUTS = 48, LEAST_SHARE = 8, THREAD_Z = 3 };

static isl_set *read_set(isl_ctx *ctx, const char *head, const int64_t from[3], const int64_t end[3])
{
    char text[320];
    snprintf(text, sizeof text, "{ %s : %lld <= x < %lld and %lld <= y < %lld and %lld <= z < %lld }", head,
             (long long)from[0], (long long)end[0], (long long)from[1], (long long)end[1], (long long)from[2],
             (long long)end[2]);
    return isl_set_read_from_str(ctx, text);
}

static void all_patches(const struct group *group, uint32_t all[3])
{
    for (int d = 0; d < 3; d++) all[d] = group_patches(group, d);
}

/* In the version's boxes of the blocks from low to end. */
static isl_set *cells_of(const struct group *group, const struct stage_version *version,
                         const uint32_t low[3], const uint32_t end[3], isl_ctx *ctx)
{
    int64_t from[3], to[3];
    for (int d = 0; d < 3; d++) {
        from[d] = (int64_t)low[d] * group_patch(group, d) - version->border_low[d];
        to[d] = (int64_t)end[d] * group_patch(group, d) + version->border_high[d];
    }
    return read_set(ctx, "[0, 0, 0, z, y, x]", from, to);
}

static isl_set *blocks_of(const uint32_t low[3], const uint32_t end[3], isl_ctx *ctx)
{
    int64_t from[3] = {low[0], low[1], low[2]}, to[3] = {end[0], end[1], end[2]};
    return read_set(ctx, "[z, y, x, 0, 0, 0]", from, to);
}

isl_map *stage_version_blocks(const struct group *group, const int32_t border_low[3],
                              const int32_t border_high[3], isl_ctx *ctx)
{
    char text[512];
    int length = snprintf(text, sizeof text, "{ F[0, 0, 0, tz, ty, tx] -> [bz, by, bx, 0, 0, 0] : ");
    for (int d = 0; d < 3; d++) {
        char axis = "xyz"[d];
        int32_t patch = (int32_t)group_patch(group, d), low = group_patch_border(group, border_low, d),
                high = group_patch_border(group, border_high, d);
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "%s%d b%c - %d <= t%c < %d b%c + %d and %d <= b%c < %d", d ? " and " : "", patch,
                           axis, low, axis, patch, axis, patch + high, low - border_low[d], axis,
                           (int32_t)group_patches(group, d) + border_high[d] - high);
    }
    snprintf(text + length, sizeof text - (size_t)length, " }");
    return isl_map_read_from_str(ctx, text);
}

isl_set *stage_version_running(const struct group *group, uint32_t member)
{
    const struct remap *remap = &group->remaps[member];
    return remap->coordinates ? isl_pw_multi_aff_domain(isl_pw_multi_aff_copy(remap->coordinates)) : NULL;
}

/* Whatever its coordinates are. */
static isl_set *running_cells(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    const struct line_cut *cut = group_cut_of(group, member);
    isl_set *running = stage_version_running(group, member);
    if (!running && cut) running = isl_set_copy(cut->threads);
    if (running) return isl_set_reset_tuple_id(running);
    int64_t zero[3] = {0}, end[3];
    for (int d = 0; d < 3; d++) end[d] = (int64_t)summary->grid[d] * summary->block[d];
    return read_set(isl_set_get_ctx(summary->threads), "[0, 0, 0, z, y, x]", zero, end);
}

static bool is_disjoint(__isl_keep isl_set *cells, __isl_take isl_set *running)
{
    bool is = isl_set_is_disjoint(cells, running) == isl_bool_true;
    isl_set_free(running);
    return is;
}

/* --- blocks that are interior ------------------------------------------------------------------------------------------ */

static bool is_same_load(const struct group_fetch *a, const struct group_fetch *b)
{
    return a->to_member == b->to_member && a->to_instruction == b->to_instruction;
}

/* Of the block in the middle of the launch: interior blocks are as this one is. */
static isl_set *middle_cells(const struct group *group, const struct stage_version *version, isl_ctx *ctx)
{
    uint32_t low[3], end[3];
    for (int d = 0; d < 3; d++) low[d] = group_patches(group, d) / 2, end[d] = low[d] + 1;
    return cells_of(group, version, low, end, ctx);
}

/* Of those of this one's load, the fetch that serves it in the middle of the launch; NULL: none does, there. */
static const struct group_fetch *usual_fetch(const struct group *group, const struct stage_version *version,
                                             const struct group_fetch *own)
{
    for (const struct group_fetch *fetch = group->fetches; fetch < group->fetches + group->fetch_count;
         fetch++) {
        if (!is_same_load(fetch, own)) continue;
        if (!fetch->covered) return fetch;
        isl_set *covered = isl_set_reset_tuple_id(isl_set_copy(fetch->covered));
        isl_set *middle = middle_cells(group, version, isl_set_get_ctx(covered));
        bool serves = isl_set_is_subset(middle, covered) == isl_bool_true;
        isl_set_free(middle);
        isl_set_free(covered);
        if (serves) return fetch;
    }
    return NULL;
}

static bool is_first_of_load(const struct group *group, const struct group_fetch *fetch)
{
    for (const struct group_fetch *other = group->fetches; other < fetch; other++)
        if (is_same_load(other, fetch)) return false;
    return true;
}

enum stage_version_use stage_version_use(const struct group *group, const struct stage_version *version,
                                         uint32_t member)
{
    isl_set *running = running_cells(group, member);
    bool all_run = isl_set_is_subset(version->cells, running) == isl_bool_true;
    if (is_disjoint(version->cells, running)) return STAGE_VERSION_IDLE;
    return all_run ? STAGE_VERSION_ALL_RUN : STAGE_VERSION_OTHER;
}

/* The cells that run the member and have each of its loads served; NULL: not all are, anywhere. */
static isl_set *good_cells(const struct group *group, const struct stage_version *version, uint32_t member)
{
    isl_set *good = running_cells(group, member);
    for (uint32_t i = 0; good && i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (fetch->to_member != member || !is_first_of_load(group, fetch)) continue;
        fetch = usual_fetch(group, version, fetch);
        if (!fetch) return isl_set_free(good);
        if (fetch->covered)
            good = isl_set_intersect(good, isl_set_reset_tuple_id(isl_set_copy(fetch->covered)));
    }
    return good;
}

/* The cells, of all boxes, that do not do what those of interior blocks do with the member. */
static isl_set *bad_cells(const struct group *group, const struct stage_version *version, uint32_t member,
                          __isl_keep isl_set *cells)
{
    isl_set *running = running_cells(group, member);
    isl_set *middle = middle_cells(group, version, isl_set_get_ctx(cells));
    bool is_idle = is_disjoint(middle, isl_set_copy(running));
    isl_set_free(middle);
    if (is_idle) return isl_set_intersect(running, isl_set_copy(cells));
    isl_set_free(running);
    isl_set *good = good_cells(group, version, member);
    return good ? isl_set_subtract(isl_set_copy(cells), good) : isl_set_copy(cells);
}

/* The blocks with a cell beyond their dense border that runs. */
static isl_set *blocks_of_sparse(const struct group *group, const struct group_stage *stage,
                                 const struct stage_version *version)
{
    const struct remap *remap = &group->remaps[stage->first_member];
    isl_ctx *ctx = isl_set_get_ctx(group->members[stage->first_member].summary->threads);
    isl_map *beyond =
        isl_map_subtract(stage_version_blocks(group, stage->low, stage->high, ctx),
                         stage_version_blocks(group, version->border_low, version->border_high, ctx));
    isl_set *cells =
        isl_set_intersect(isl_set_copy(remap->sparse), stage_version_running(group, stage->first_member));
    return isl_set_apply(isl_set_reset_tuple_id(cells), isl_map_reset_tuple_id(beyond, isl_dim_in));
}

/* The blocks with a bad cell in their box for some member. */
static isl_set *edge_blocks(const struct group *group, const struct group_stage *stage,
                            const struct stage_version *version)
{
    isl_ctx *ctx = isl_set_get_ctx(group->members[stage->first_member].summary->threads);
    uint32_t all[3];
    all_patches(group, all);
    isl_set *cells = cells_of(group, version, (uint32_t[3]){0}, all, ctx);
    isl_set *bad = isl_set_empty(isl_set_get_space(cells));
    for (uint32_t m = stage->first_member; m < stage->first_member + stage->member_count; m++)
        bad = isl_set_union(bad, bad_cells(group, version, m, cells));
    isl_set_free(cells);
    isl_map *blocks = isl_map_reset_tuple_id(
        stage_version_blocks(group, version->border_low, version->border_high, ctx), isl_dim_in);
    isl_set *edges = isl_set_apply(isl_set_coalesce(bad), blocks);
    if (group->remaps[stage->first_member].sparse)
        edges = isl_set_union(edges, blocks_of_sparse(group, stage, version));
    return isl_set_coalesce(edges);
}

/* Leaves the block out, on the side where that costs least. */
static void cut_off(__isl_keep isl_point *block, uint32_t low[3], uint32_t end[3])
{
    double least = 2;
    int along = 0;
    bool is_low = true;
    uint32_t at[3];
    for (int d = 0; d < 3; d++) {
        isl_val *value = isl_point_get_coordinate_val(block, isl_dim_set, 2 - d);
        at[d] = (uint32_t)isl_val_get_num_si(value);
        isl_val_free(value);
        double extent = end[d] - low[d], before = (at[d] + 1 - low[d]) / extent,
               behind = (end[d] - at[d]) / extent;
        if (before < least) least = before, along = d, is_low = true;
        if (behind < least) least = behind, along = d, is_low = false;
    }
    if (is_low)
        low[along] = at[along] + 1;
    else
        end[along] = at[along];
}

static double block_count(const uint32_t low[3], const uint32_t end[3])
{
    double count = 1;
    for (int d = 0; d < 3; d++) count *= end[d] > low[d] ? end[d] - low[d] : 0;
    return count;
}

/* From the first to the last along the dimension; 0: isl gave up. */
static double span(__isl_keep isl_set *blocks, int d)
{
    isl_val *first = isl_set_dim_min_val(isl_set_copy(blocks), 2 - d),
            *last = isl_set_dim_max_val(isl_set_copy(blocks), 2 - d);
    bool is_known =
        first && last && isl_val_is_int(first) == isl_bool_true && isl_val_is_int(last) == isl_bool_true;
    double blocks_between = is_known ? isl_val_get_d(last) - isl_val_get_d(first) + 1 : 0;
    isl_val_free(first);
    isl_val_free(last);
    return blocks_between;
}

/* What is no edge block of the layer, from low to end, lies in a small part of it. */
static bool is_edge_layer(__isl_keep isl_set *edges, const uint32_t low[3], const uint32_t end[3])
{
    const double most = 0.25;
    isl_set *rest = isl_set_subtract(blocks_of(low, end, isl_set_get_ctx(edges)), isl_set_copy(edges));
    bool is_edge = isl_set_is_empty(rest) == isl_bool_true;
    for (int d = 0; !is_edge && d < 3; d++) {
        double extent = span(rest, d);
        is_edge = extent > 0 && extent <= most * (end[d] - low[d]);
    }
    isl_set_free(rest);
    return is_edge;
}

/* Takes the outermost layer away on a side where it has little but edge blocks. */
static bool peel(__isl_keep isl_set *edges, uint32_t low[3], uint32_t end[3])
{
    for (int side = 0; side < 6; side++) {
        int d = side / 2;
        uint32_t first[3] = {low[0], low[1], low[2]}, last[3] = {end[0], end[1], end[2]};
        if (side % 2)
            first[d] = end[d] - 1;
        else
            last[d] = low[d] + 1;
        if (!is_edge_layer(edges, first, last)) continue;
        if (side % 2)
            end[d]--;
        else
            low[d]++;
        return true;
    }
    return false;
}

/* A box of blocks without those of the set, from the whole grid on; false: isl gave up, or too many cuts. */
static bool leave_out(__isl_keep isl_set *edges, uint32_t low[3], uint32_t end[3])
{
    for (int cut = 0; cut < MOST_CUTS && block_count(low, end) > 0; cut++) {
        if (peel(edges, low, end)) continue;
        isl_set *left = isl_set_intersect(isl_set_copy(edges), blocks_of(low, end, isl_set_get_ctx(edges)));
        isl_bool is_done = isl_set_is_empty(left);
        isl_point *block = is_done == isl_bool_false ? isl_set_sample_point(left) : NULL;
        if (is_done != isl_bool_false) isl_set_free(left);
        bool is_found = block && isl_point_is_void(block) == isl_bool_false;
        if (is_found) cut_off(block, low, end);
        isl_point_free(block);
        if (is_done == isl_bool_true) return true;
        if (!is_found) return false;
    }
    return false;
}

struct stage_version stage_version_general(const struct group *group, const struct group_stage *stage)
{
    struct stage_version version = {0};
    all_patches(group, version.end);
    memcpy(version.border_low, stage->low, sizeof version.border_low);
    memcpy(version.border_high, stage->high, sizeof version.border_high);
    isl_ctx *ctx = isl_set_get_ctx(group->members[stage->first_member].summary->threads);
    version.cells = cells_of(group, &version, version.low, version.end, ctx);
    return version;
}

void stage_version_clear(struct stage_version *version)
{
    isl_set_free(version->cells);
    version->cells = NULL;
}

/* A member of which few cells run beyond the dense border has a stage of its own. */
bool stage_version_interior(const struct group *group, const struct group_stage *stage,
                            struct stage_version *version)
{
    isl_ctx *ctx = isl_set_get_ctx(group->members[stage->first_member].summary->threads);
    uint32_t all[3];
    all_patches(group, all);
    *version = (struct stage_version){.is_interior = true, .end = {all[0], all[1], all[2]}};
    bool is_sparse = group->remaps[stage->first_member].sparse;
    if (is_sparse && stage->member_count > 1) return false;
    for (int d = 0; d < 3; d++) {
        version->border_low[d] = group_patch_border(group, is_sparse ? stage->dense_low : stage->low, d);
        version->border_high[d] = group_patch_border(group, is_sparse ? stage->dense_high : stage->high, d);
    }
    struct quota quota = quota_begin(ctx, VERSION_OPERATIONS);
    isl_set *edges = edge_blocks(group, stage, version);
    bool found = edges && leave_out(edges, version->low, version->end) &&
                 LEAST_SHARE * block_count(version->low, version->end) >= block_count((uint32_t[3]){0}, all);
    isl_set_free(edges);
    if (found) version->cells = cells_of(group, version, version->low, version->end, ctx);
    quota_end(&quota);
    return version->cells;
}

/* --- what a body need not ask ------------------------------------------------------------------------------------------ */

/* The threads that a member runs in these blocks, as cells of its own launch. */
static isl_set *threads_of(const struct stage_version *version, const struct body *body)
{
    const struct remap *remap = &body->group->remaps[body->member];
    isl_set *cells =
        isl_set_intersect(isl_set_copy(version->cells), running_cells(body->group, body->member));
    if (!remap->coordinates) return cells;
    isl_map *threads = isl_map_from_pw_multi_aff(isl_pw_multi_aff_copy(remap->coordinates));
    threads = isl_map_reset_tuple_id(isl_map_reset_tuple_id(threads, isl_dim_in), isl_dim_out);
    return isl_set_apply(cells, threads);
}

/* Threads of the launch, as its cells. */
static isl_set *as_cells(const struct body *body, __isl_keep isl_set *threads)
{
    const struct access_summary *launch = group_launch_of(body->group, body->member);
    const struct line_cut *cut = group_cut_of(body->group, body->member);
    if (cut) return isl_set_reset_tuple_id(line_cut_threads(launch, cut, threads));
    char text[256];
    snprintf(text, sizeof text,
             "{ [bz, by, bx, tz, ty, tx] -> [0, 0, 0, %u bz + tz, %u by + ty, %u bx + tx] }",
             launch->block[2], launch->block[1], launch->block[0]);
    isl_map *cells = isl_map_read_from_str(isl_set_get_ctx(threads), text);
    return isl_set_apply(isl_set_reset_tuple_id(isl_set_copy(threads)), cells);
}

static bool none_goes(const struct body *body, __isl_keep isl_set *running, __isl_keep isl_set *way)
{
    isl_set *going = isl_set_intersect(isl_set_copy(running), as_cells(body, way));
    bool is_empty = isl_set_is_empty(going) == isl_bool_true;
    isl_set_free(going);
    return is_empty;
}

static void choose_branches(const struct stage_version *version, struct body *body)
{
    const struct access_summary *launch = group_launch_of(body->group, body->member);
    uint32_t count = body->function->instruction_count;
    if (!body->branches || !launch->ways || body->expansion) return;
    enum access_branch *branches = arena_calloc(body->arena, count + 1, sizeof *branches);
    if (!branches) return;
    memcpy(branches, body->branches, count * sizeof *branches);
    struct quota quota = quota_begin(isl_set_get_ctx(version->cells), VERSION_OPERATIONS);
    isl_set *running = threads_of(version, body);
    for (uint32_t i = 0; running && i < count; i++) {
        const struct access_ways *ways = &launch->ways[i];
        if (!ways->taken || !ways->otherwise) continue;
        if (none_goes(body, running, ways->taken))
            branches[i] = ACCESS_BRANCH_NEVER;
        else if (none_goes(body, running, ways->otherwise))
            branches[i] = ACCESS_BRANCH_ALWAYS;
    }
    isl_set_free(running);
    quota_end(&quota);
    body->branches = branches;
}

/* Where isl gives up, asking is right in any block; a masked store may not have been made. */
static enum body_served served_in(const struct group *group, const struct group_fetch *fetch,
                                  const struct group_fetch *usual)
{
    if (!usual || (usual == fetch && group->tiles[fetch->tile].is_masked)) return BODY_SERVED_ASKED;
    return usual == fetch ? BODY_SERVED_ALWAYS : BODY_SERVED_NEVER;
}

static void choose_fetches(const struct stage_version *version, struct body *body)
{
    const struct group *group = body->group;
    for (uint32_t i = 0; i < body->fetch_count; i++) {
        const struct group_fetch *own = body->fetches[i];
        if (!own->covered)
            body->served[i] = BODY_SERVED_ALWAYS;
        else if (!version->is_interior)
            body->served[i] = BODY_SERVED_ASKED;
        else
            body->served[i] = served_in(group, own, usual_fetch(group, version, own));
    }
}

void stage_version_choose(const struct stage_version *version, struct body *body)
{
    const struct access_summary *summary = group_launch_of(body->group, body->member);
    body->version = version;
    body->branches = body->is_specialized ? summary->branches : NULL;
    if (!version) return;
    choose_fetches(version, body);
    choose_branches(version, body);
}
