/* SPDX-License-Identifier: Apache-2.0
 * What is found of a launch, as a thing by itself: released, and asked. */
#include "fuser/access/analysis.h"
#include "fuser/access/expansion.h"
#include "fuser/access/line.h"

#include <string.h>

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

/* --- what rests on another --- */

bool access_summary_add_word(struct access_summary *summary, struct access_words word)
{
    struct access_words *words = arena_calloc(summary->arena, summary->word_count + 1, sizeof *words);
    uint32_t count = 0, from = word.offset, to = word.offset + word.size;
    if (!words) return false;
    for (uint32_t i = 0; i < summary->word_count; i++) {
        const struct access_words *own = &summary->words[i];
        if (own->offset + own->size <= from) words[count++] = *own;
        if (own->offset + own->size <= from || own->offset >= to) continue;
        if (own->offset < from) from = own->offset;
        if (own->offset + own->size > to) to = own->offset + own->size;
    }
    words[count++] = (struct access_words){from, to - from};
    for (uint32_t i = 0; i < summary->word_count; i++)
        if (summary->words[i].offset >= to) words[count++] = summary->words[i];
    summary->words = words;
    summary->word_count = count;
    return true;
}

static int compare_contents(const struct access_contents *a, const struct access_contents *b)
{
    int order = strcmp(a->variable, b->variable);
    if (order) return order;
    if (a->words.offset != b->words.offset) return a->words.offset < b->words.offset ? -1 : 1;
    return (a->words.size > b->words.size) - (a->words.size < b->words.size);
}

/* In order; twice the same does no harm. */
static bool add_contents(struct access_summary *summary, const struct access_contents *contents)
{
    struct access_contents *grown = arena_grow(summary->arena, summary->contents, summary->content_count,
                                               summary->content_count + 1, sizeof *grown);
    uint32_t at = summary->content_count;
    if (!grown) return false;
    for (; at > 0 && compare_contents(&grown[at - 1], contents) > 0; at--) grown[at] = grown[at - 1];
    grown[at] = *contents;
    grown[at].variable = arena_strdup(summary->arena, contents->variable);
    summary->contents = grown;
    summary->content_count++;
    return grown[at].variable;
}

static bool add_pointer(struct access_summary *summary, const struct access_base *base)
{
    for (uint32_t b = 0; b < summary->base_count; b++)
        if (summary->bases[b].kind == ACCESS_BASE_ARGUMENT && summary->bases[b].pointer == base->pointer)
            return true;
    struct access_base *grown = arena_grow(summary->arena, summary->bases, summary->base_count,
                                           summary->base_count + 1, sizeof *grown);
    if (!grown) return false;
    grown[summary->base_count++] = (struct access_base){.kind = ACCESS_BASE_ARGUMENT,
                                                        .argument_offset = base->pointer,
                                                        .pointer = base->pointer,
                                                        .is_bounded = true};
    summary->bases = grown;
    return true;
}

bool access_summary_rest_on(struct access_summary *summary, const struct access_summary *other)
{
    bool is = true;
    for (uint32_t i = 0; is && i < other->word_count; i++)
        is = access_summary_add_word(summary, other->words[i]);
    for (uint32_t i = 0; is && i < other->content_count; i++) is = add_contents(summary, &other->contents[i]);
    for (uint32_t b = 0; is && b < other->base_count; b++)
        if (other->bases[b].kind == ACCESS_BASE_ARGUMENT) is = add_pointer(summary, &other->bases[b]);
    return is;
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
