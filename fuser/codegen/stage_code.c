/* SPDX-License-Identifier: Apache-2.0
 * Variables: lx ly lz, the cell's place in the stage's box; tx ty tz, the cell in the launch (negative or
 * beyond its end in a border); gx gy gz, the member's thread. */
#include "fuser/codegen/stage_code.h"
#include "fuser/access/line.h"
#include "fuser/codegen/relation_text.h"
#include "fuser/codegen/stage_version.h"
#include "fuser/fusion/halo_march.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <stdlib.h>
#include <string.h>

/* Of the cells that a block runs at a time: where it marches, those of one layer. */
static uint32_t box(const struct group *group, const struct group_stage *stage, int d)
{
    return (uint32_t)(group_patch_border(group, stage->low, d) + (int32_t)group_patch(group, d) +
                      group_patch_border(group, stage->high, d));
}

static uint32_t box_cells(const struct group *group, const struct group_stage *stage)
{
    return box(group, stage, 0) * box(group, stage, 1) * box(group, stage, 2);
}

void stage_code_tiles(const struct group *group, FILE *out)
{
    for (uint32_t i = 0; i < group->tile_count; i++) {
        if (group->tiles[i].kept_in != i) continue;
        const struct group_stage *stage = group_stage_of(group, group->tiles[i].member);
        fprintf(out, "    __shared__ %s tile_%u[%u];\n", body_c_type(group->tiles[i].bytes), i,
                box_cells(group, stage) * (group->march ? stage->ring : 1));
        if (group->tiles[i].is_masked)
            fprintf(out, "    __shared__ unsigned char made_%u[%u];\n", i,
                    box_cells(group, stage) * (group->march ? stage->ring : 1));
    }
}

void stage_code_open_march(const struct group *group, FILE *out)
{
    char axis = "xyz"[group->march];
    uint32_t chunk = group->tile[group->march], all = group->cells[group->march];
    if (!group->march) return;
    fprintf(out, "\n    /* so many layers along %c; in each turn a layer of every stage */\n", axis);
    fprintf(out, "    const int layers = min(%d, %d - (int)blockIdx.%c * %d);\n", chunk, all, axis, chunk);
    fprintf(out, "#pragma unroll 1\n    for (int turn = 0; turn < layers + %d; turn++) {\n",
            halo_march_turns(group, group->march, 0));
}

void stage_code_close_march(const struct group *group, FILE *out)
{
    if (group->march) fprintf(out, "    __syncthreads();\n    }\n");
}

/* The layer of the stage's box that runs in this turn; and the patch of cells that does. */
static void write_layer(const struct group *group, const struct group_stage *stage, FILE *out)
{
    int d = group->march;
    char axis = "xyz"[d];
    fprintf(out, "    const int l%c = turn - %u;\n", axis, stage->first_turn);
    fprintf(out, "    const int t%c = (int)blockIdx.%c * %d + l%c - %d;\n", axis, axis, (int)group->tile[d],
            axis, stage->low[d]);
    for (int other = 0; other < 3; other++)
        fprintf(out, "    const int b%c = %s%c;\n", "xyz"[other], other == d ? "t" : "blockIdx.",
                "xyz"[other]);
    fprintf(out, "    (void)bx, (void)by, (void)bz;\n");
    fprintf(out, "    if (l%c >= 0 && l%c < layers + %d", axis, axis, stage->low[d] + stage->high[d]);
}

/* The condition under which a block has cells of the stage to run: boundary members concern few blocks. NULL
 * when all have, or too much is to be asked. */
static char *busy_blocks(const struct group *group, const struct group_stage *stage)
{
    enum { LONGEST = 400 };
    isl_set *cells = NULL;
    for (uint32_t i = 0; i < stage->member_count; i++) {
        isl_set *run = stage_version_running(group, stage->first_member + i);
        if (!run) {
            isl_set_free(cells);
            return NULL;
        }
        cells = cells ? isl_set_union(cells, run) : run;
    }
    if (!cells) return NULL;
    isl_map *blocks = stage_version_blocks(group, stage->low, stage->high, isl_set_get_ctx(cells));
    isl_set *grid = isl_map_range(isl_map_copy(blocks)), *busy = isl_set_apply(cells, blocks);
    isl_set *all = relation_text_set(grid);
    isl_set *named = isl_set_coalesce(isl_set_gist(relation_text_set(busy), isl_set_copy(all)));
    isl_set_free(grid);
    isl_set_free(busy);
    char *text = NULL;
    if (isl_set_plain_is_universe(named) != isl_bool_true) {
        isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(all));
        text = relation_text(isl_ast_build_expr_from_set(build, isl_set_copy(named)));
        isl_ast_build_free(build);
    }
    isl_set_free(named);
    isl_set_free(all);
    if (text && strlen(text) <= LONGEST) return text;
    free(text);
    return NULL;
}

bool stage_code_open(const struct group *group, uint32_t index, FILE *out)
{
    const struct group_stage *stage = &group->stages[index];
    char *busy = busy_blocks(group, stage);
    fprintf(out, "\n    /* stage %u: %u x %u x %u cells */\n", index, box(group, stage, 0),
            box(group, stage, 1), box(group, stage, 2));
    fprintf(out, "    {\n");
    if (group->march) {
        write_layer(group, stage, out);
        fprintf(out, busy ? " && (%s)) {\n" : ") {\n", busy);
        free(busy);
        return true;
    }
    fprintf(out, "    const int bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;\n"
                 "    (void)bx, (void)by, (void)bz;\n");
    if (busy) fprintf(out, "    if (%s) {\n", busy);
    free(busy);
    return busy;
}

void stage_code_version(const struct group *group, const struct stage_version *version, FILE *out)
{
    const char *separator = "";
    fprintf(out, "    if (");
    for (int d = 0; d < 3; d++) {
        if (version->low[d] || (d == group->march && d))
            fprintf(out, "%sb%c >= %d", separator, "xyz"[d], version -> low[d]), separator = " && ";
        if (version->end[d] < group_patches(group, d) || (d == group->march && d))
            fprintf(out, "%sb%c < %d", separator, "xyz"[d], version -> end[d]), separator = " && ";
    }
    fprintf(out, ") {\n");
}

/* The extents of a version's boxes. */
static void version_box(const struct group *group, const struct stage_version *version, uint32_t extents[3])
{
    for (int d = 0; d < 3; d++)
        extents[d] =
            (uint32_t)(group_patch_border(group, version->border_low, d) + (int32_t)group_patch(group, d) +
                       group_patch_border(group, version->border_high, d));
}

/* All cells that the stage has a tile for run, in order. */
static bool is_whole(const struct group *group, const struct group_stage *stage,
                     const struct stage_version *version)
{
    uint32_t run[3];
    version_box(group, version, run);
    return run[0] == box(group, stage, 0) && run[1] == box(group, stage, 1) && run[2] == box(group, stage, 2);
}

/* The stages in whose tiles a place moves on with the cell, a bit each: those that the stage loads from, and its own. */
static uint64_t moving_tiles(const struct group *group, const struct group_stage *stage,
                             const struct stage_version *version)
{
    uint64_t moving = is_whole(group, stage, version) ? 0 : UINT64_C(1) << (stage - group->stages);
    for (uint32_t i = 0; i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (group_stage_of(group, fetch->to_member) != stage) continue;
        moving |= UINT64_C(1) << (group_stage_of(group, group->tiles[fetch->tile].member) - group->stages);
    }
    return moving;
}

/* So that what lies between can be found in the compiler's PTX (issue.h): a layer may have no more cells than the block threads, and
 * no loop then. No instruction comes of it. */
static void write_mark(const struct group *group, const char *what, uint32_t stage, FILE *out)
{
    if (group->march)
        fprintf(out,
                "    asm volatile(\"{ .reg .b32 %%%%" STAGE_MARK "%s_%u; mov.b32 %%%%" STAGE_MARK
                "%s_%u, %%0; }\" : : \"n\"(0));\n",
                what, stage, what, stage);
}

void stage_code_open_cells(const struct group *group, const struct stage_version *version, uint32_t index,
                           FILE *out)
{
    const struct group_stage *stage = &group->stages[index];
    uint32_t threads = group->block[0], run[3];
    int32_t first[3];
    uint64_t moving = moving_tiles(group, stage, version);
    version_box(group, version, run);
    write_mark(group, "begin", index, out);
    for (int d = 0; d < 3; d++) first[d] = stage->low[d] - version->border_low[d];
    fprintf(out, "    {\n    int lx = threadIdx.x %% %uu + %d;\n", run[0], first[0]);
    if (run[1] * run[2] > 1)
        fprintf(out, "    int ly = threadIdx.x / %uu %% %uu + %d;\n", run[0], run[1], first[1]);
    else if (group->march != 1)
        fprintf(out, "    const int ly = %d;\n", first[1]);
    if (run[2] > 1)
        fprintf(out, "    int lz = threadIdx.x / %uu + %d;\n", run[0] * run[1], first[2]);
    else if (group->march != 2)
        fprintf(out, "    const int lz = %d;\n", first[2]);
    for (uint32_t s = 0; s < group->stage_count; s++)
        if (moving >> s & 1)
            fprintf(out, "    unsigned int at_%u = (%s * %u + %s) * %u + lx;\n", s,
                    group->march == 2 || group->stages[s].is_flat ? "0" : "lz",
                    box(group, &group->stages[s], 1), group->march == 1 ? "0" : "ly",
                    box(group, &group->stages[s], 0));
    fprintf(out, "#pragma unroll 1\n    for (unsigned int cell = threadIdx.x; cell < %uu; cell += %uu) {\n",
            run[0] * run[1] * run[2], threads);
    for (int d = 0; d < 3; d++)
        if (!d || d != group->march)
            fprintf(out, "    const int t%c = (int)(blockIdx.%c * %uu) + l%c - %d;\n", "xyz"[d], "xyz"[d],
                    group -> tile[d], "xyz"[d], stage -> low[d]);
    fprintf(out, "    (void)lx, (void)ly, (void)lz, (void)tx, (void)ty, (void)tz;\n");
}

/* The place in a tile moves on with the cell: by whole cells, and from one row or layer of the box to the next by what the
 * tile's has more. */
static void write_moves(const struct group *group, uint64_t moving, const uint32_t by[3], FILE *out)
{
    for (uint32_t s = 0; s < group->stage_count; s++) {
        if (!(moving >> s & 1)) continue;
        uint32_t x = box(group, &group->stages[s], 0), y = box(group, &group->stages[s], 1);
        uint32_t layers = group->stages[s].is_flat ? 0 : by[2];
        fprintf(out, ", at_%u += %uu", s, (layers * y + by[1]) * x + by[0]);
    }
}

/* The cell so many behind this one as the block has threads, without a division. */
static void write_next_cell(const struct group *group, const struct group_stage *stage,
                            const struct stage_version *version, FILE *out)
{
    uint32_t threads = group->block[0], run[3];
    int32_t end[3];
    uint64_t moving = moving_tiles(group, stage, version);
    version_box(group, version, run);
    for (int d = 0; d < 3; d++) end[d] = stage->low[d] - version->border_low[d] + (int32_t)run[d];
    const uint32_t by[3] = {threads % run[0], run[1] * run[2] > 1 ? threads / run[0] % run[1] : 0,
                            run[2] > 1 ? threads / (run[0] * run[1]) : 0};
    fprintf(out, "    lx += %u", by[0]);
    if (by[1]) fprintf(out, ", ly += %u", by[1]);
    if (by[2]) fprintf(out, ", lz += %u", by[2]);
    write_moves(group, moving, by, out);
    fprintf(out, ";\n");
    if (run[1] * run[2] == 1) return;
    fprintf(out, "    if (lx >= %d) lx -= %u, ly++", end[0], run[0]);
    write_moves(group, moving, (uint32_t[]){0u - run[0], 1, 0}, out);
    fprintf(out, ";\n");
    if (run[2] == 1) return;
    fprintf(out, "    if (ly >= %d) ly -= %u, lz++", end[1], run[1]);
    write_moves(group, moving, (uint32_t[]){0, 0u - run[1], 1}, out);
    fprintf(out, ";\n");
}

/* What the place in a tile of the stage begins with: that of the layer so many behind the one that runs. */
static void write_ring_place(const struct group *group, const struct group_stage *stage, uint32_t behind,
                             FILE *out)
{
    if (group->march)
        fprintf(out, " + (l%c + %uu) %% %uu * %uu", "xyz"[group->march], behind, stage -> ring,
                box_cells(group, stage));
}

void stage_code_close_cells(const struct group *group, const struct stage_version *version,
                            struct arena *arena, uint32_t index, FILE *out)
{
    const struct group_stage *stage = &group->stages[index];
    char place[24] = "cell";
    if (!is_whole(group, stage, version)) snprintf(place, sizeof place, "at_%u", index);
    for (uint32_t i = 0; i < group->tile_count; i++) {
        const struct group_tile *tile = &group->tiles[i];
        if (group_stage_of(group, tile->member) != stage || tile->kept_in != i) continue;
        struct body_value value = {tile->member, tile->instruction, 0, tile->bytes};
        fprintf(out, "    tile_%u[%s", i, place);
        write_ring_place(group, stage, 0, out);
        fprintf(out, "] = %s;\n", body_value_name(arena, &value));
        if (!tile->is_masked) continue;
        value.element = BODY_MADE;
        fprintf(out, "    made_%u[%s", i, place);
        write_ring_place(group, stage, 0, out);
        fprintf(out, "] = %s;\n", body_value_name(arena, &value));
    }
    write_next_cell(group, stage, version, out);
    fprintf(out, "    }\n    }\n");
    write_mark(group, "end", index, out);
}

void stage_code_close(const struct group *group, uint32_t index, bool is_conditional, FILE *out)
{
    if (index + 1 < group->stage_count && !group->march) fprintf(out, "    __syncthreads();\n");
    fprintf(out, is_conditional ? "    }\n    }\n" : "    }\n");
}

/* --- the thread that a cell runs
 * ------------------------------------------------------------------------------ */

/* What is known of the cells that run the code. */
static __isl_give isl_ast_build *build_of(const struct body *body)
{
    return isl_ast_build_from_context(relation_text_set(body->version->cells));
}

/* The condition of a set over parameters, as C. */
static char *condition_text(isl_ast_build *build, __isl_take isl_set *set)
{
    return relation_text(isl_ast_build_expr_from_set(build, set));
}

/* Whether it is in the tile, or in so much of the border. */
static void write_inside(const struct group *group, const struct group_stage *stage, const int32_t low[3],
                         const int32_t high[3], FILE *out)
{
    for (int d = 0; d < 3; d++) {
        int32_t first = stage->low[d] - low[d], end = stage->low[d] + (int32_t)group->tile[d] + high[d];
        if (first) fprintf(out, " && l%c >= %d", "xyz"[d], first);
        if (high[d] < stage->high[d]) fprintf(out, " && l%c < %d", "xyz"[d], end);
    }
}

/* Whether the cell is in the tile, and has its own thread. */
static void write_own(const struct group *group, const struct remap *remap, const struct group_stage *stage,
                      isl_ast_build *build, FILE *out)
{
    fprintf(out, "        const unsigned int own = ");
    if (remap->own) {
        char *condition = condition_text(build, relation_text_set(remap->own));
        fprintf(out, "(%s)", condition ? condition : "#error");
        free(condition);
    } else {
        fprintf(out, "gx == tx && gy == ty && gz == tz");
    }
    write_inside(group, stage, (int32_t[3]){0}, (int32_t[3]){0}, out);
    fprintf(out, ";\n");
}

/* Of the border's outer part, the cells that somebody needs. */
static void write_sparse(const struct group *group, const struct remap *remap,
                         const struct group_stage *stage, isl_ast_build *build, FILE *out)
{
    char *condition = condition_text(build, isl_set_coalesce(relation_text_set(remap->sparse)));
    fprintf(out, " && ((1");
    write_inside(group, stage, stage->dense_low, stage->dense_high, out);
    fprintf(out, ") || (%s))", condition ? condition : "#error");
    free(condition);
}

/* Whether the cell runs; in interior blocks all do. */
static void write_running(const struct body *body, const struct group_stage *stage, isl_ast_build *build,
                          FILE *out)
{
    const struct remap *remap = &body->group->remaps[body->member];
    isl_set *run = stage_version_running(body->group, body->member);
    char *condition = condition_text(build, isl_set_coalesce(relation_text_set(run)));
    isl_set_free(run);
    fprintf(out, "        if ((%s)", condition ? condition : "#error");
    if (remap->sparse) write_sparse(body->group, remap, stage, build, out);
    fprintf(out, ") {\n");
    free(condition);
}

/* By the relation: a recomputed member, or a small one. */
static void write_related(const struct body *body, const struct group_stage *stage, FILE *out)
{
    const struct remap *remap = &body->group->remaps[body->member];
    isl_ast_build *build = build_of(body);
    if (body->version->is_interior)
        fprintf(out, "        {\n");
    else
        write_running(body, stage, build, out);
    for (int d = 0; d < 3; d++) {
        char *text = relation_text_value(build, remap->coordinates, 5 - d);
        fprintf(out, "        const int g%c = %s;\n", "xyz"[d], text ? text : "#error");
        free(text);
    }
    if (remap->is_recomputed) write_own(body->group, remap, stage, build, out);
    isl_ast_build_free(build);
}

/* The cell's number along its line. */
static void write_number(const struct line_cut *cut, char of, FILE *out)
{
    fprintf(out, "%cx + %cy * %uu + %cz * %uu", of, of, cut->row, of, cut->row * cut->rows);
}

/* Of a line that is cut in rows, the last row and the last layer need not be full. */
static void write_before_end(const struct body *body, FILE *out)
{
    const struct line_cut *cut = group_cut_of(body->group, body->member);
    const struct access_summary *line = group_launch_of(body->group, body->member);
    uint64_t threads = remap_threads(line->grid, line->block);
    if (!cut || threads == (uint64_t)cut->extents[0] * cut->extents[1] * cut->extents[2]) return;
    fprintf(out, " && ");
    write_number(cut, 't', out);
    fprintf(out, " < %llu", (unsigned long long)threads);
}

static void write_narrow(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    const struct access_summary *summary = group->members[body->member].summary;
    fprintf(out, "        if (1");
    for (int d = 0; d < 3; d++) {
        uint64_t own = (uint64_t)summary->grid[d] * summary->block[d];
        if (!body->version->is_interior && (uint64_t)group->grid[d] * group->tile[d] > own)
            fprintf(out, " && t%c < %llu", "xyz"[d], (unsigned long long)own);
    }
    if (!body->version->is_interior) write_before_end(body, out);
    fprintf(out, ") {\n        const int gx = tx, gy = ty, gz = tz;\n");
}

/* The kernel only wants ctaid * ntid + tid. */
static void write_global(char axis, const char *index, FILE *out)
{
    fprintf(out, "        const unsigned int tid_%c = (unsigned int)%s, ctaid_%c = 0;\n", axis, index, axis);
}

/* Of a thread by its number along the line. */
static void write_line_coordinates(const struct body *body, const struct line_cut *cut, FILE *out)
{
    const struct access_summary *line = group_launch_of(body->group, body->member);
    fprintf(out, "        const unsigned int line = ");
    write_number(cut, 'g', out);
    fprintf(out, ";\n        (void)line;\n");
    if (body->is_global[0])
        write_global('x', "line", out);
    else if (body->specials[PTX_SPECIAL_TID_X])
        fprintf(out, "        const unsigned int tid_x = line %% %uu;\n", line->block[0]);
    if (body->specials[PTX_SPECIAL_CTAID_X] && !body->is_global[0])
        fprintf(out, "        const unsigned int ctaid_x = line / %uu;\n", line->block[0]);
    for (int d = 1; d < 3; d++) {
        if (body->specials[PTX_SPECIAL_TID_X + d])
            fprintf(out, "        const unsigned int tid_%c = 0;\n", "xyz"[d]);
        if (body->specials[PTX_SPECIAL_CTAID_X + d])
            fprintf(out, "        const unsigned int ctaid_%c = 0;\n", "xyz"[d]);
    }
}

static void write_coordinates(const struct body *body, FILE *out)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    const struct line_cut *cut = group_cut_of(body->group, body->member);
    fprintf(out, "        (void)gx, (void)gy, (void)gz;\n");
    if (cut) write_line_coordinates(body, cut, out);
    for (int d = 0; !cut && d < 3; d++) {
        char axis = "xyz"[d];
        if (body->is_global[d] && !(d == 2 && body->expansion)) {
            write_global(axis, (const char *[]){"gx", "gy", "gz"}[d], out);
            continue;
        }
        if (body->specials[PTX_SPECIAL_TID_X + d])
            fprintf(out, "        const unsigned int tid_%c = (unsigned int)g%c %% %uu;\n", axis, axis,
                    summary->block[d]);
        if (body->specials[PTX_SPECIAL_CTAID_X + d])
            fprintf(out, "        const unsigned int ctaid_%c = (unsigned int)g%c / %uu;\n", axis, axis,
                    d == 2 && body->expansion ? summary->grid[2] : summary->block[d]);
    }
}

/* --- loads that are served
 * ------------------------------------------------------------------------------------ */

static const struct group_stage *source_stage(const struct body *body, const struct group_fetch *fetch)
{
    return group_stage_of(body->group, body->group->tiles[fetch->tile].member);
}

/* The cells of the source's stage begin before those of the load's: never negative, unless the tile has all layers along z. A flat
 * one's place has no layer. */
static int32_t shift_of(const struct body *body, const struct group_fetch *fetch, int d)
{
    const struct group_stage *from = source_stage(body, fetch),
                             *to = group_stage_of(body->group, body->member);
    if (d == 2 && from->is_flat) return 0;
    return fetch->offset[d] + from->low[d] - to->low[d];
}

int32_t stage_code_distance(const struct body *body, const struct group_fetch *fetch)
{
    const struct group *group = body->group;
    const struct group_stage *from = source_stage(body, fetch);
    int32_t shift[3], x = (int32_t)box(group, from, 0), y = (int32_t)box(group, from, 1);
    for (int d = 0; d < 3; d++) shift[d] = d && d == group->march ? 0 : shift_of(body, fetch, d);
    return ((shift[2] * y + shift[1]) * x + shift[0]) * (int32_t)body_fetch_bytes(body, fetch);
}

static void write_fetch(const struct body *body, uint32_t index, FILE *out)
{
    const struct group *group = body->group;
    const struct group_fetch *fetch = body->fetches[index];
    const struct group_stage *from = source_stage(body, fetch);
    if (body_is_first_fetch(body, index)) {
        fprintf(out,
                "        const unsigned int %s =\n"
                "            (unsigned int)__cvta_generic_to_shared(&tile_%u[at_%u",
                body_tile_name(body, fetch), group->tiles[fetch->tile].kept_in,
                (uint32_t)(from - group->stages));
        if (group->march) write_ring_place(group, from, (uint32_t)shift_of(body, fetch, group->march), out);
        fprintf(out, "]);\n");
    }
    if (body->served[index] != BODY_SERVED_ASKED) return;
    isl_ast_build *build = build_of(body);
    char *condition = condition_text(build, relation_text_set(fetch->covered));
    fprintf(out, "        const unsigned int %s = %s", body_covered_name(body, index),
            condition ? condition : "#error");
    if (group->tiles[fetch->tile].is_masked) {
        fprintf(out, " ? made_%u[at_%u", group->tiles[fetch->tile].kept_in, (uint32_t)(from - group->stages));
        if (group->march) write_ring_place(group, from, (uint32_t)shift_of(body, fetch, group->march), out);
        fprintf(out, " + %d] : 0", stage_code_distance(body, fetch) / (int32_t)body_fetch_bytes(body, fetch));
    }
    fprintf(out, ";\n");
    free(condition);
    isl_ast_build_free(build);
}

/* Whether the thread a layer further runs in the block's next turn, and loads. */
static void write_further(const struct body *body, const struct group_stage *stage, FILE *out)
{
    const struct group *group = body->group;
    char axis = "xyz"[group->march];
    for (uint32_t i = 0; i < group->prefetch_count; i++)
        if (group->prefetches[i].member == body->member)
            fprintf(out, "        const unsigned int m%u_further_%u = g%c < %d && l%c + 1 < layers + %u;\n",
                    body->member, i, axis, group->prefetches[i].last, axis,
                    stage->low[group->march] + stage->high[group->march]);
}

/* Whether the cell stores what others leave stale. */
static void write_kept(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    for (uint32_t i = 0; i < group->kept_count; i++) {
        if (group->kept[i].member != body->member) continue;
        isl_ast_build *build = build_of(body);
        char *condition = condition_text(build, relation_text_set(group->kept[i].cells));
        fprintf(out, "        const unsigned int m%u_kept_%u = %s(%s);\n", body->member, i,
                body->is_recomputed ? "own && " : "", condition ? condition : "#error");
        free(condition);
        isl_ast_build_free(build);
    }
}

uint32_t stage_code_open_member(const struct body *body, FILE *out)
{
    const struct group_stage *stage = group_stage_of(body->group, body->member);
    fprintf(out, "    {\n");
    if (body->group->remaps[body->member].coordinates)
        write_related(body, stage, out);
    else
        write_narrow(body, out);
    write_coordinates(body, out);
    for (uint32_t i = 0; i < body->fetch_count; i++) write_fetch(body, i, out);
    write_further(body, stage, out);
    write_kept(body, out);
    return 2;
}
