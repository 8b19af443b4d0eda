/* SPDX-License-Identifier: Apache-2.0
 * What is found of a launch, as a thing by itself: released, and asked. */
#include "fuser/access/analysis.h"
#include "fuser/access/expansion.h"
#include "fuser/access/line.h"

void access_summary_clear(struct access_summary *summary)
{
    for (uint32_t a = 0; a < summary->access_count; a++) isl_map_free(summary->accesses[a].relation);
    for (uint32_t b = 0; b < summary->round_count; b++) isl_set_free(summary->rounds[b]);
    for (uint32_t i = 0; summary->ways && i < summary->function->instruction_count; i++) {
        isl_set_free(summary->ways[i].taken);
        isl_set_free(summary->ways[i].otherwise);
    }
    isl_set_free(summary->threads);
    isl_set_free(summary->effective);
    summary->ways = NULL;
    summary->rounds = NULL;
    summary->round_count = 0;
    summary->threads = summary->effective = NULL;
    summary->accesses = NULL;
    summary->bases = NULL;
    summary->access_count = summary->base_count = 0;
}

static void free_expansion(struct expansion *expansion)
{
    if (!expansion) return;
    struct access_summary *summary = &expansion->summary;
    for (uint32_t i = 0; i < summary->access_count; i++) isl_map_free(summary->accesses[i].relation);
    isl_set_free(summary->threads);
    isl_set_free(summary->effective);
}

static void free_line(struct line *line, uint32_t access_count)
{
    if (!line) return;
    for (uint32_t i = 0; line->bytes && i < access_count; i++) isl_map_free(line->bytes[i]);
    for (struct line_cut *cut = line->cuts; cut; cut = cut->next) {
        for (uint32_t i = 0; cut->relations && i < access_count; i++) isl_map_free(cut->relations[i]);
        isl_set_free(cut->threads);
        isl_set_free(cut->effective);
    }
}

void access_summary_free(struct access_summary *summary)
{
    if (!summary) return;
    if (summary->expansion) free_expansion(*summary->expansion);
    if (summary->line) free_line(*summary->line, summary->access_count);
    access_summary_clear(summary);
    arena_free(summary->arena);
}

enum product_state access_product(const struct access_summary *summary, uint32_t store)
{
    unsigned char *product = summary->products ? &summary->products[store] : NULL;
    if (product && *product) return (enum product_state)(*product - 1);
    enum product_state state = product_of_store(summary->function, store, NULL);
    if (product) *product = (unsigned char)(1 + state);
    return state;
}

isl_map *access_thread_relation(const struct access *access)
{
    if (!access->relation) return NULL;
    isl_map *map = isl_map_copy(access->relation);
    isl_size count = isl_map_dim(map, isl_dim_in);
    if (count > ACCESS_THREAD_DIMENSIONS) {
        map = isl_map_project_out(map, isl_dim_in, ACCESS_THREAD_DIMENSIONS,
                                  (unsigned)count - ACCESS_THREAD_DIMENSIONS);
        map = isl_map_set_tuple_name(map, isl_dim_in, "L");
    }
    return isl_map_coalesce(map);
}

uint64_t access_traffic(const struct access_summary *summary, const struct access *access)
{
    const struct access_base *base = &summary->bases[access->base];
    uint64_t bytes = access->width, hull = UINT64_MAX;
    for (int i = 0; i < 3; i++) bytes *= (uint64_t)summary->grid[i] * summary->block[i];
    if (base->is_bounded && base->to > base->from) hull = (uint64_t)(base->to - base->from);
    if (!access->is_once && !access->most_instances && hull != UINT64_MAX) return hull;
    if (!access->is_once && __builtin_mul_overflow(bytes, access->most_instances, &bytes)) return hull;
    return bytes < hull ? bytes : hull;
}

static bool names(const struct ptx_operand *operands, uint32_t count, const struct ptx_variable *variable)
{
    for (uint32_t o = 0; o < count; o++)
        if (operands[o].variable == variable ||
            names(operands[o].elements, operands[o].element_count, variable))
            return true;
    return false;
}

/* With what alignment may take. */
static uint64_t size_if_shared(const struct ptx_function *function, const struct ptx_variable *variable)
{
    if (variable->space != PTX_SHARED) return 0;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (names(function->instructions[i].operands, function->instructions[i].operand_count, variable))
            return variable->size + variable->alignment;
    return 0;
}

uint64_t access_shared_bytes(const struct access_summary *summary)
{
    const struct ptx_function *function = summary->function;
    uint64_t bytes = summary->dynamic_shared;
    for (uint32_t i = 0; i < function->variable_count; i++)
        bytes += size_if_shared(function, function->variables[i]);
    for (uint32_t i = 0; function->module && i < function->module->variable_count; i++)
        bytes += size_if_shared(function, function->module->variables[i]);
    return bytes;
}
