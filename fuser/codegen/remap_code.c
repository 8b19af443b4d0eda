/* SPDX-License-Identifier: Apache-2.0
 * Coordinates are 32-bit where the launch has fewer than 2^31 threads (or threads along the dimension).
 * Divisors are constants. */
#include "fuser/codegen/remap_code.h"
#include "fuser/codegen/relation_text.h"
#include "fuser/codegen/stage_code.h"
#include "fuser/fusion/coarsening.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <stdlib.h>

/* Of isl, for one member's coordinates; what it gives up does not compile. */
enum { AFFINE_OPERATIONS = 200000 };

static const char *index_type(uint64_t extent)
{
    return extent < (uint64_t)1 << 31 ? "unsigned int" : "unsigned long long";
}

/* An empty condition holds for every thread. */
static void open_guard(enum remap_guard guard, FILE *out, const char *condition)
{
    if (guard == REMAP_GUARD_NONE || !*condition)
        fprintf(out, "        {\n");
    else if (guard == REMAP_GUARD_LEAVE)
        fprintf(out, "        if (!(%s)) return;\n        {\n", condition);
    else
        fprintf(out, "        if (%s) {\n", condition);
}

static void write_global_axis(const struct body *body, int d, FILE *out)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    bool is_equal = body->group->block[d] == summary->block[d];
    char axis = "xyz"[d];
    if (body->specials[PTX_SPECIAL_TID_X + d] && is_equal)
        fprintf(out, "        const unsigned int tid_%c = threadIdx.%c;\n", axis, axis);
    else if (body->specials[PTX_SPECIAL_TID_X + d])
        fprintf(out, "        const unsigned int tid_%c = global_%c %% %uu;\n", axis, axis,
                summary->block[d]);
    if (body->specials[PTX_SPECIAL_CTAID_X + d] && is_equal)
        fprintf(out, "        const unsigned int ctaid_%c = blockIdx.%c;\n", axis, axis);
    else if (body->specials[PTX_SPECIAL_CTAID_X + d])
        fprintf(out, "        const unsigned int ctaid_%c = global_%c / %uu;\n", axis, axis,
                summary->block[d]);
}

static void write_global(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    const struct access_summary *summary = group->members[body->member].summary;
    char condition[256] = "";
    int length = 0;
    for (int d = 0; d < 3; d++) {
        char axis = "xyz"[d];
        uint64_t fused = (uint64_t)group->grid[d] * group->block[d];
        uint64_t own = (uint64_t)summary->grid[d] * summary->block[d];
        if (fused == 1) {
            fprintf(out, "        const unsigned int global_%c = 0;\n", axis);
            continue;
        }
        fprintf(out, "        const %s global_%c = (%s)blockIdx.%c * %uu + threadIdx.%c;\n",
                index_type(fused), axis, index_type(fused), axis, group->block[d], axis);
        if (fused > own)
            length += snprintf(condition + length, sizeof condition - (size_t)length, "%sglobal_%c < %lluu",
                               length ? " && " : "", axis, (unsigned long long)own);
    }
    fprintf(out, "        (void)global_x, (void)global_y, (void)global_z;\n");
    open_guard(group->remaps[body->member].guard, out, condition);
    for (int d = 0; d < 3; d++) write_global_axis(body, d, out);
}

static void write_fused_id(const struct group *group, bool is_one_block, FILE *out, const char *type)
{
    const uint32_t *grid = group->grid, *block = group->block;
    if (is_one_block) {
        fprintf(out, "        const %s fused_id = (threadIdx.z * %uu + threadIdx.y) * %uu + threadIdx.x;\n",
                type, block[1], block[0]);
        return;
    }
    fprintf(
        out,
        "        const %s fused_id = ((%s)((blockIdx.z * %uu + blockIdx.y) * (%s)%uu + blockIdx.x)) * %uu +\n"
        "            (threadIdx.z * %uu + threadIdx.y) * %uu + threadIdx.x;\n",
        type, type, grid[1], type, grid[0], block[0] * block[1] * block[2], block[1], block[0]);
}

/* tid and ctaid of the member's thread `linear`, or of the thread of a block that are known. */
static void write_decomposition(const struct body *body, FILE *out)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    uint32_t block_threads = summary->block[0] * summary->block[1] * summary->block[2];
    uint64_t thread_weight = 1, block_weight = 1;
    if (!body->group->remaps[body->member].keeps_blocks)
        fprintf(out, "        const unsigned int in_block = linear %% %uu, block = linear / %uu;\n",
                block_threads, block_threads);
    for (int d = 0; d < 3; d++) {
        char axis = "xyz"[d];
        if (body->specials[PTX_SPECIAL_TID_X + d])
            fprintf(out, "        const unsigned int tid_%c = in_block / %lluu %% %uu;\n", axis,
                    (unsigned long long)thread_weight, summary->block[d]);
        if (body->specials[PTX_SPECIAL_CTAID_X + d])
            fprintf(out, "        const unsigned int ctaid_%c = block / %lluu %% %uu;\n", axis,
                    (unsigned long long)block_weight, summary->grid[d]);
        thread_weight *= summary->block[d];
        block_weight *= summary->grid[d];
    }
    fprintf(out, "        (void)in_block, (void)block;\n");
}

static void write_linear(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    const struct access_summary *summary = group->members[body->member].summary;
    bool runs_last = group_runs_last(group, body->member);
    unsigned long long fused = runs_last ? group->last_threads : remap_threads(group->grid, group->block);
    unsigned long long own = remap_threads(summary->grid, summary->block);
    const char *type = index_type(fused + own);
    write_fused_id(group, runs_last, out, type);
    if (group->remaps[body->member].kind == REMAP_STRIDE) {
        fprintf(out,
                "#pragma unroll 1\n        for (%s linear = fused_id; linear < %lluu; linear += %lluu) {\n",
                type, own, fused);
    } else {
        char condition[64] = "";
        if (fused > own) snprintf(condition, sizeof condition, "fused_id < %lluu", own);
        open_guard(group->remaps[body->member].guard, out, condition);
        fprintf(out, "        const %s linear = fused_id;\n", type);
    }
    write_decomposition(body, out);
}

/* Threads of a block that has too many end here: they take part in no barrier of the member's. */
static void write_inter_block(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    const struct remap *remap = &group->remaps[body->member];
    const struct access_summary *summary = group->members[body->member].summary;
    unsigned long long own = remap_threads(summary->grid, summary->block);
    uint32_t own_block = summary->block[0] * summary->block[1] * summary->block[2];
    fprintf(out, "        {\n        const unsigned int beside = blockIdx.x - %uu;\n", remap->first_block);
    if (remap->keeps_blocks) {
        if (own_block < group->block[0]) fprintf(out, "        if (threadIdx.x >= %uu) return;\n", own_block);
        fprintf(out, "        const unsigned int in_block = threadIdx.x, block = beside;\n");
    } else {
        const char *type = index_type(own + group->block[0]);
        fprintf(out, "        const %s linear = (%s)beside * %uu + threadIdx.x;\n", type, type,
                group->block[0]);
        if (own % group->block[0]) fprintf(out, "        if (linear >= %lluu) return;\n", own);
    }
    write_decomposition(body, out);
}

/* --- coarsening
 * --------------------------------------------------------------------------------------------- */

static uint64_t box_cells(const struct coarsening *coarsening)
{
    return (uint64_t)coarsening->box[0] * coarsening->box[1] * coarsening->box[2];
}

/* The cell's coordinate along d, and what has to be asked so that it is one. */
static void write_coarsening_axis(const struct group *group, const struct coarsening *coarsening, int d,
                                  FILE *out, FILE *conditions)
{
    uint64_t weight = 1;
    uint32_t extent = coarsening->extents[d];
    int64_t least = coarsening->origin[d], most = least + coarsening->box[d] - 1;
    for (int k = 0; k < d; k++) weight *= coarsening->box[k];
    fprintf(out, "        const int cell_%c = %lld", "xyz"[d], (long long)least);
    if (coarsening->box[d] > 1)
        fprintf(out, " + (int)(number / %lluu %% %uu)", (unsigned long long)weight, coarsening->box[d]);
    for (int k = 0; k < 3; k++) {
        int64_t step = coarsening->step[k][d], last = step * (int64_t)(group->grid[k] - 1);
        if (step) fprintf(out, " + %lld * (int)blockIdx.%c", (long long)step, "xyz"[k]);
        *(last < 0 ? &least : &most) += last;
    }
    fprintf(out, ";\n");
    if (least < 0) fprintf(conditions, " && cell_%c >= 0", "xyz"[d]);
    if (most >= extent) fprintf(conditions, " && cell_%c < %u", "xyz"[d], extent);
}

static void write_coarsening_conditions(const struct body *body, const struct coarsening *coarsening,
                                        FILE *out)
{
    const struct group *group = body->group;
    uint64_t full = (uint64_t)coarsening->extents[0] * coarsening->extents[1] * coarsening->extents[2];
    uint32_t threads = group->block[0] * group->block[1] * group->block[2];
    char *string = NULL;
    size_t length;
    FILE *conditions = open_memstream(&string, &length);
    if (!conditions) return;
    for (int d = 0; d < 3; d++) write_coarsening_axis(group, coarsening, d, out, conditions);
    if (!coarsening->of_blocks && (uint64_t)coarsening->passes * threads > box_cells(coarsening))
        fprintf(conditions, " && number < %lluu", (unsigned long long)box_cells(coarsening));
    if (full > coarsening->cells)
        fprintf(conditions, " && cell_x + %u * cell_y + %u * cell_z < %llu", coarsening->extents[0],
                coarsening->extents[0] * coarsening->extents[1], (unsigned long long)coarsening->cells);
    bool is_any = !fclose(conditions) && length;
    fprintf(out, "        (void)cell_x, (void)cell_y, (void)cell_z;\n");
    if (is_any) fprintf(out, "        if (!(%s)) continue;\n", string + sizeof " && " - 1);
    free(string);
}

/* weight: threads of a block of the member per step along d. */
static void write_coarsening_coordinate(const struct body *body, const struct coarsening *coarsening, int d,
                                        const char *cell, uint64_t weight, FILE *out)
{
    uint32_t extent = body->group->members[body->member].summary->block[d];
    char axis = "xyz"[d];
    if (body->specials[PTX_SPECIAL_CTAID_X + d]) {
        fprintf(out, "        const unsigned int ctaid_%c = %s", axis, cell);
        fprintf(out, coarsening->of_blocks ? ";\n" : " / %uu;\n", extent);
    }
    if (!body->specials[PTX_SPECIAL_TID_X + d]) return;
    if (coarsening->of_blocks)
        fprintf(out, "        const unsigned int tid_%c = fused_tid / %lluu %% %uu;\n", axis,
                (unsigned long long)weight, extent);
    else
        fprintf(out, "        const unsigned int tid_%c = %s %% %uu;\n", axis, cell, extent);
}

static void write_coarsening(const struct body *body, FILE *out)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    const struct coarsening *coarsening = body->group->remaps[body->member].coarsening;
    const uint32_t *block = body->group->block;
    bool is_cut = coarsening_is_cut(coarsening, summary);
    fprintf(out,
            "        const unsigned int fused_tid = (threadIdx.z * %uu + threadIdx.y) * %uu + threadIdx.x;\n"
            "#pragma unroll 1\n        for (unsigned int pass = 0; pass < %uu; pass++) {\n",
            block[1], block[0], coarsening->passes);
    if (coarsening->of_blocks && summary->has_shared) {
        fprintf(out, "        if (pass) {\n");
        body_write_barrier(body, out);
        fprintf(out, "        }\n");
    }
    if (coarsening->of_blocks)
        fprintf(out, "        const unsigned int number = pass;\n");
    else
        fprintf(out, "        const unsigned int number = fused_tid + pass * %uu;\n",
                block[0] * block[1] * block[2]);
    write_coarsening_conditions(body, coarsening, out);
    uint64_t weight = 1;
    for (int d = 0; d < 3; d++) {
        const char *cell =
            !is_cut ? arena_printf(body->arena, "(unsigned int)cell_%c", "xyz"[d])
            : d     ? "0u"
                    : arena_printf(body->arena, "(unsigned int)(cell_x + %u * cell_y + %u * cell_z)",
                                   coarsening->extents[0], coarsening->extents[0] * coarsening->extents[1]);
        write_coarsening_coordinate(body, coarsening, d, cell, weight, out);
        weight *= summary->block[d];
    }
    fprintf(out, "        (void)fused_tid;\n");
}

static void write_affine(const struct body *body, FILE *out)
{
    const struct group *group = body->group;
    const struct remap *remap = &group->remaps[body->member];
    static const char *const targets[] = {"ctaid_z", "ctaid_y", "ctaid_x", "tid_z", "tid_y", "tid_x"};
    const char *type = remap_threads(group->grid, group->block) < (uint64_t)1 << 31 ? "int" : "long long";
    isl_set *run = isl_pw_multi_aff_domain(isl_pw_multi_aff_copy(remap->coordinates));
    char bounds[512];
    snprintf(
        bounds, sizeof bounds,
        "[bz, by, bx, tz, ty, tx] -> { : 0 <= bz < %u and 0 <= by < %u and 0 <= bx < %u and 0 <= tz < %u and "
        "0 <= ty < %u and 0 <= tx < %u }",
        group->grid[2], group->grid[1], group->grid[0], group->block[2], group->block[1], group->block[0]);
    struct quota quota = quota_begin(isl_set_get_ctx(run), AFFINE_OPERATIONS);
    isl_set *context = isl_set_read_from_str(isl_set_get_ctx(run), bounds);
    isl_set *domain = isl_set_gist(relation_text_set(run), isl_set_copy(context));
    isl_set_free(run);
    isl_ast_build *build = isl_ast_build_from_context(context);
    char *condition = relation_text(isl_ast_build_expr_from_set(build, domain));
    fprintf(out,
            "        const %s bz = blockIdx.z, by = blockIdx.y, bx = blockIdx.x, tz = threadIdx.z, ty = "
            "threadIdx.y, "
            "tx = threadIdx.x;\n        (void)bz, (void)by, (void)bx, (void)tz, (void)ty, (void)tx;\n",
            type);
    bool is_told = condition;
    open_guard(remap->guard, out, condition ? condition : "0");
    for (int d = 0; d < 6; d++) {
        int special = d < 3 ? PTX_SPECIAL_CTAID_X + 2 - d : PTX_SPECIAL_TID_X + 5 - d;
        if (!body->specials[special]) continue;
        char *text = relation_text_value(build, remap->coordinates, d);
        fprintf(out, "        const unsigned int %s = %s;\n", targets[d], text ? text : "0");
        is_told &= text != NULL;
        free(text);
    }
    if (!is_told)
        fprintf(out, "#error kernel %s: which of its threads a fused one runs takes isl too long to tell\n",
                body->function->name);
    free(condition);
    isl_ast_build_free(build);
    quota_end(&quota);
}

uint32_t remap_code_open(const struct body *body, FILE *out)
{
    if (body->group->remaps[body->member].kind == REMAP_SAME) return 0;
    if (body->group->remaps[body->member].kind == REMAP_CELLS) return stage_code_open_member(body, out);
    fprintf(out, "    {\n");
    switch (body->group->remaps[body->member].kind) {
    case REMAP_SAME:
        break;
    case REMAP_GLOBAL:
        write_global(body, out);
        break;
    case REMAP_LINEAR:
    case REMAP_STRIDE:
        write_linear(body, out);
        break;
    case REMAP_AFFINE:
        write_affine(body, out);
        break;
    case REMAP_COARSENED:
        write_coarsening(body, out);
        break;
    case REMAP_INTER_BLOCK:
        write_inter_block(body, out);
        break;
    case REMAP_CELLS:
        break;
    }
    return 2;
}

void remap_code_prelude(const struct group *group, FILE *out)
{
    for (uint32_t member = 0; member < group->member_count; member++) {
        if (!group->remaps[member].coordinates) continue;
        fprintf(out, "#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))\n");
        return;
    }
}
