/* SPDX-License-Identifier: Apache-2.0
 * A group as C: its members one after the other, in the names of the group's arrays, with the values that
 * pass between them. */
#include "fuser/decompile/group.h"
#include "fuser/access/expansion.h"
#include "fuser/access/line.h"
#include "fuser/decompile/decompile.h"

#include <isl/printer.h>
#include <stdlib.h>
#include <string.h>

struct group_text {
    struct arena *arena;
    const struct group *group;
    uint32_t member;
    struct group_array { /* distinct addresses that members get */
        uint32_t array;
        int64_t offset;
    } * arrays;
    uint32_t array_count;
};

/* --- names -----------------------------------------------------------------------------------------------
 */

static uint32_t array_number(struct group_text *text, const struct array_binding *binding)
{
    uint32_t number = 0;
    while (number < text->array_count &&
           (text->arrays[number].array != binding->array || text->arrays[number].offset != binding->offset))
        number++;
    if (number == text->array_count)
        text->arrays[text->array_count++] = (struct group_array){binding->array, binding->offset};
    return number;
}

static const char *parameter_name(void *context, uint32_t offset)
{
    struct group_text *text = context;
    const struct bound_launch *bound = &text->group->members[text->member];
    for (uint32_t b = 0; b < bound->summary->base_count; b++)
        if (bound->summary->bases[b].kind == ACCESS_BASE_ARGUMENT &&
            bound->summary->bases[b].argument_offset == offset)
            return arena_printf(text->arena, "a%u", array_number(text, &bound->bindings[b]));
    const struct ptx_function *function = bound->summary->function;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ptx_variable *parameter = &function->parameters[i];
        if (offset < parameter->offset || offset >= parameter->offset + parameter->size) continue;
        return parameter->is_array
                   ? arena_printf(text->arena, "m%u_p%u.at%u", text->member, i, offset - parameter->offset)
                   : arena_printf(text->arena, "m%u_p%u", text->member, i);
    }
    return NULL;
}

static uint32_t line_of(const struct group *group, uint32_t member, uint32_t instruction)
{
    return group->members[member].summary->function->instructions[instruction].line;
}

static const char *value_name(struct group_text *text, uint32_t member, uint32_t instruction)
{
    return arena_printf(text->arena, "m%u_line%u", member, line_of(text->group, member, instruction));
}

/* --- what becomes of loads and stores ---------------------------------------------------------------------
 */

static const char *tile_element(struct group_text *text, const struct group_fetch *fetch)
{
    const int32_t *offset = fetch->offset;
    if (!offset[0] && !offset[1] && !offset[2]) return arena_printf(text->arena, "tile%u[cell]", fetch->tile);
    return arena_printf(text->arena, "tile%u[cell%+d,%+d,%+d]", fetch->tile, offset[0], offset[1], offset[2]);
}

static void place_load(struct group_text *text, uint32_t instruction, struct decompile_place *place)
{
    const struct group *group = text->group;
    const struct group_forward *forward = group_forward_to(group, text->member, instruction);
    if (forward) {
        place->value = value_name(text, forward->from_member, forward->from_instruction);
        if (forward->round_product) place->comment = "its product is rounded there";
        if (forward->distance)
            place->comment = arena_printf(text->arena, "of %u turn%s before%s", forward->distance,
                                          forward->distance > 1 ? "s" : "",
                                          forward->first ? "; at first it is loaded" : "");
    }
    for (uint32_t i = 0; !forward && i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (fetch->to_member != text->member || fetch->to_instruction != instruction) continue;
        const char *element = tile_element(text, fetch);
        place->value = place->value ? arena_printf(text->arena, "%s or %s", place->value, element) : element;
        if (!fetch->is_whole) place->comment = "where a cell stored that; else the array";
    }
    const struct group_tile_access *tiled = group_tile_access_of(group, text->member, instruction);
    if (tiled) place->value = arena_printf(text->arena, "tile%u[place]", tiled->tile);
    for (uint32_t i = 0; i < group->demote_count && !place->comment && !tiled; i++)
        if (group->demotes[i].member == text->member && group->demotes[i].instruction == instruction)
            place->comment = "no longer through the read-only cache";
}

static bool is_recomputed(const struct group *group, uint32_t member)
{
    return group->remaps[member].is_recomputed;
}

static void place_store(struct group_text *text, uint32_t instruction, struct decompile_place *place)
{
    const struct group *group = text->group;
    for (uint32_t t = 0; t < group->tile_count; t++)
        if (group->tiles[t].member == text->member && group->tiles[t].instruction == instruction)
            place->also = arena_printf(text->arena, "tile%u[cell]", t);
    const struct group_tile_access *tiled = group_tile_access_of(group, text->member, instruction);
    if (tiled) place->also = arena_printf(text->arena, "tile%u[place]", tiled->tile);
    place->is_dropped = group_drops(group, text->member, instruction) || (tiled && !tiled->is_global);
    if (place->is_dropped)
        place->comment = "a later store of the group overwrites it";
    else if (group_kept_of(group, text->member, instruction))
        place->comment = "only what is not left stale";
    else if (is_recomputed(group, text->member))
        place->comment = "for the cells of this block's own tile only";
}

static void place_access(void *context, uint32_t instruction, struct decompile_place *place)
{
    struct group_text *text = context;
    const struct group *group = text->group;
    const struct ptx_instruction *at =
        &group->members[text->member].summary->function->instructions[instruction];
    if (ptx_is_load(at))
        place_load(text, instruction, place);
    else if (ptx_is_store(at))
        place_store(text, instruction, place);
    for (uint32_t i = 0; i < group->forward_count; i++) {
        if (group->forwards[i].from_member != text->member ||
            group->forwards[i].from_instruction != instruction)
            continue;
        const char *value = value_name(text, text->member, instruction);
        place->also = place->also ? arena_printf(text->arena, "%s = %s", place->also, value) : value;
        break;
    }
}

/* --- text --------------------------------------------------------------------------------------------------
 */

static void write_arrays(struct group_text *text, FILE *out)
{
    const struct group *group = text->group;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct bound_launch *bound = &group->members[m];
        for (uint32_t b = 0; b < bound->summary->base_count; b++)
            if (bound->summary->bases[b].kind == ACCESS_BASE_ARGUMENT)
                array_number(text, &bound->bindings[b]);
    }
    for (uint32_t a = 0; a < text->array_count; a++) {
        fprintf(out, "    /* a%u: array %u", a, text->arrays[a].array);
        if (text->arrays[a].offset) fprintf(out, " from byte %lld", (long long)text->arrays[a].offset);
        for (uint32_t m = 0; m < group->member_count; m++)
            for (uint32_t b = 0; b < group->members[m].summary->base_count; b++) {
                const struct bound_launch *bound = &group->members[m];
                const struct access_base *base = &bound->summary->bases[b];
                if (base->kind != ACCESS_BASE_ARGUMENT || array_number(text, &bound->bindings[b]) != a)
                    continue;
                if (!base->is_read && !base->is_written) continue;
                fprintf(out, "; member %u %s%s%s it", m, base->is_read ? "reads" : "",
                        base->is_read && base->is_written ? " and " : "", base->is_written ? "writes" : "");
            }
        fprintf(out, " */\n");
    }
}

static void write_threads(struct group_text *text, FILE *out)
{
    static const char *const texts[] = {
        [REMAP_SAME] = "the same block and thread",
        [REMAP_GLOBAL] =
            "blockIdx and threadIdx stand for the thread with the same place in the whole launch",
        [REMAP_LINEAR] =
            "blockIdx and threadIdx stand for the thread with the same number in the whole launch",
        [REMAP_STRIDE] = "for each of several threads in turn, as many apart as the group has",
        [REMAP_AFFINE] = "blockIdx and threadIdx stand for",
        [REMAP_COARSENED] = "for each of several threads in turn, of those that are the block's share",
        [REMAP_CELLS] = "blockIdx and threadIdx stand for the thread of the cell",
        [REMAP_INTER_BLOCK] = "in blocks of its own, from this one on"};
    const struct remap *remap = &text->group->remaps[text->member];
    fprintf(out, "; %s", texts[remap->kind]);
    const struct expansion *expansion = group_expansion_of(text->group, text->member);
    if (expansion)
        fprintf(out, ", which runs one of the %u turns of its loop%s: the one with the cell's number along z",
                expansion->iterations, expansion->loop_count > 1 ? "s" : "");
    const struct line_cut *cut = group_cut_of(text->group, text->member);
    if (cut)
        fprintf(out, ", of rows of %u threads in which the launch's line is cut, %u a layer", cut->row,
                cut->rows);
    if (remap->kind == REMAP_INTER_BLOCK) fprintf(out, ": %u, %u of them", remap->first_block, remap->blocks);
    if (remap->kind != REMAP_AFFINE || !remap->coordinates) return;
    char *map = isl_pw_multi_aff_to_str(remap->coordinates);
    fprintf(out, " %s", map ? map : "?");
    free(map);
}

static bool write_member(struct group_text *text, FILE *out, unsigned depth, const char **reason)
{
    const struct ptx_function *function = text->group->members[text->member].summary->function;
    const char *prefix = arena_printf(text->arena, "m%u_", text->member);
    const struct decompile_names names = {parameter_name, place_access, prefix, text};
    const struct decompile_options options = {.is_body = true,
                                              .depth = depth,
                                              .names = &names,
                                              .leave = arena_printf(text->arena, "m%u_end", text->member)};
    fprintf(out, "\n%*s/* member %u: %s", 4 * (int)depth, "", text->member, function->name);
    write_threads(text, out);
    const struct group_join *join = group_join_of(text->group, text->member);
    bool has_loops = join && join->members[text->member - join->first_member].headers[0] != GROUP_NO_LOOP;
    if (join)
        fprintf(out,
                has_loops ? "; its loops run with those of members %u to %u, iteration by iteration"
                          : "; it runs before the loops of members %u to %u",
                join->first_member, join->first_member + join->member_count - 1);
    for (uint32_t loop = 0; join && loop < join->loop_count; loop++)
        if (join->members[text->member - join->first_member].shifts[loop])
            fprintf(out, "; loop %u lags by %u", loop + 1,
                    join->members[text->member - join->first_member].shifts[loop]);
    fprintf(out, " */\n");
    return decompile_kernel(out, text->arena, function, &options, reason);
}

static void open_stage(const struct group *group, uint32_t stage, FILE *out)
{
    const int32_t *low = group->stages[stage].low, *high = group->stages[stage].high;
    const uint32_t *tile = group->tile;
    bool is_flat = group->stages[stage].is_flat;
    if (group->march)
        fprintf(out, "    /* its layer turn - %u along %c, if there is one */\n",
                group->stages[stage].first_turn, "xyz"[group->march]);
    else if (stage)
        fprintf(out, "    __syncthreads();\n");
    fprintf(out, "    for (each cell of %sa tile of %ux%ux%u", group->march ? "a layer of " : "", tile[0],
            tile[1], tile[2]);
    if (is_recomputed(group, group->stages[stage].first_member))
        fprintf(out, " and of a border of %u+%u, %u+%u, %u+%u around it", low[0], high[0], low[1], high[1],
                low[2], is_flat ? 0 : high[2]);
    if (is_flat) fprintf(out, ", of one layer");
    fprintf(out, ") {");
}

static void close_march(FILE *out)
{
    fprintf(out, "    __syncthreads();\n    }\n");
}

static void end_head(const struct group *group, FILE *out)
{
    if (group->march) close_march(out);
    fprintf(out,
            "    /* the last of all blocks to come here goes on, with %u threads: one block for what follows "
            "*/\n",
            group->last_threads);
    fprintf(out, "    if (!is_last_block() || tid >= %u) return;\n", group->last_threads);
}

bool decompile_group(FILE *out, struct arena *arena, const struct group *group, const char *name,
                     const char **reason)
{
    struct group_text text = {.arena = arena, .group = group};
    uint32_t bases = 0, stage = 0;
    for (uint32_t m = 0; m < group->member_count; m++) bases += group->members[m].summary->base_count;
    text.arrays = arena_calloc(arena, bases + 1, sizeof *text.arrays);
    if (!text.arrays) {
        *reason = "memory is out";
        return false;
    }
    const uint32_t *grid = group->grid, *block = group->block;
    fprintf(out, "/* %u launches in one: grid %ux%ux%u, block %ux%ux%u */\n__global__ void %s(...)\n{\n",
            group->member_count, grid[0], grid[1], grid[2], block[0], block[1], block[2], name);
    write_arrays(&text, out);
    if (group->forward_count)
        fprintf(out, "    /* mI_lineN: what member I loads or stores in line N, kept in a register */\n");
    for (uint32_t t = 0; t < group->tile_count; t++)
        fprintf(out, "    /* tile%u: shared memory, %u bytes a cell: what member %u stores in line %u */\n",
                t, group->tiles[t].bytes, group->tiles[t].member,
                line_of(group, group->tiles[t].member, group->tiles[t].instruction));
    for (uint32_t t = 0; t < group->block_tile_count; t++)
        fprintf(out,
                "    /* tile%u: shared memory, %u row%s of %u bytes: what the block stores of array %u; "
                "place: there, of the "
                "array's element */\n",
                t, group->block_tiles[t].layers * group->block_tiles[t].rows,
                group->block_tiles[t].rows > 1 ? "s" : "", group->block_tiles[t].width,
                group->block_tiles[t].array);
    if (group->march) fprintf(out, "    for (int turn = 0; ..; turn++) {\n");
    for (text.member = 0; text.member < group->member_count; text.member++) {
        if (group->last_first == text.member && text.member) end_head(group, out);
        bool begins = stage < group->stage_count && group->stages[stage].first_member == text.member;
        if (begins) open_stage(group, stage, out);
        bool waits = group->barriers && group->barriers[text.member];
        if (waits && text.member) fprintf(out, "    __syncthreads();\n");
        bool is_deep = group->stage_count && !group_runs_last(group, text.member);
        if (!write_member(&text, out, is_deep ? 2 : 1, reason)) return false;
        bool ends = stage < group->stage_count &&
                    text.member + 1 == group->stages[stage].first_member + group->stages[stage].member_count;
        if (!ends) continue;
        fprintf(out, "    }\n");
        stage++;
    }
    if (group->march && !group->last_first) close_march(out);
    fprintf(out, "}\n");
    return !ferror(out);
}
