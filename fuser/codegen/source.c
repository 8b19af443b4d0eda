/* SPDX-License-Identifier: Apache-2.0
 * The fused kernel as CUDA C: parameters, the variables that carry forwarded values, the members one after
 * the other. */
#include "fuser/codegen/source.h"
#include "common/plan.h"
#include "fuser/codegen/remap_code.h"
#include "fuser/codegen/stage_code.h"
#include "fuser/kernel/product.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_ALIGNMENT = 16 }; /* the widest access */

struct source {
    const struct codegen_request *request;
    struct codegen_result *result;
    struct body *bodies;
    const char **names;  /* of kernel parameters, in order */
    const char ***words; /* [member][word] -> a parameter's name, or a number */
    const char *arrivals;
};

static uint32_t align_up(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Follows the table of equal pointers to the first member that has this one. */
static void resolve_alias(const struct codegen_request *request, uint32_t *member, uint32_t *offset)
{
    for (uint32_t hops = 0; hops <= request->alias_count; hops++) {
        uint32_t i = 0;
        while (i < request->alias_count &&
               (request->aliases[i].member != *member || request->aliases[i].offset != *offset))
            i++;
        if (i == request->alias_count) return;
        *member = request->aliases[i].same_member;
        *offset = request->aliases[i].same_offset;
    }
}

static uint32_t append_parameter(struct source *source, struct codegen_parameter parameter, const char *name)
{
    struct codegen_result *result = source->result;
    uint32_t count = result->parameter_count;
    result->parameters =
        arena_grow(result->arena, result->parameters, count, count + 1, sizeof *result->parameters);
    source->names = arena_grow(result->arena, source->names, count, count + 1, sizeof *source->names);
    if (!result->parameters || !source->names) return UINT32_MAX;
    parameter.destination_offset = align_up(result->parameter_bytes, parameter.alignment);
    result->parameters[count] = parameter;
    source->names[count] = name;
    result->parameter_bytes = parameter.destination_offset + align_up(parameter.size, parameter.alignment);
    result->parameter_count = count + 1;
    return name ? count : UINT32_MAX;
}

static uint32_t add_parameter(struct source *source, uint32_t member, uint32_t offset, uint32_t size)
{
    struct codegen_result *result = source->result;
    if (size == 8) resolve_alias(source->request, &member, &offset);
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        const struct codegen_parameter *known = &result->parameters[i];
        if (known->member == member && known->source_offset == offset && known->size == size &&
            !known->is_copy)
            return i;
    }
    const char *name = offset < BODY_DISTANCE
                           ? arena_printf(result->arena, "m%u_at_%u_%u", member, offset, size)
                           : arena_printf(result->arena, "range%u_%s", (offset - BODY_DISTANCE) / 16,
                                          offset % 16 ? "new" : "old");
    return append_parameter(source,
                            (struct codegen_parameter){.member = member,
                                                       .source_offset = offset,
                                                       .size = size,
                                                       .alignment = size,
                                                       .is_distance = offset >= BODY_DISTANCE},
                            name);
}

/* Whole parameters of a member, which it reads at addresses. */
static bool add_copies(struct source *source, struct body *body)
{
    for (uint32_t i = 0; i < body->copy_count; i++) {
        const struct ptx_variable *from = body->copies[i].parameter;
        const char *name = arena_printf(source->result->arena, "m%u_copy_%u", body->member, i);
        struct codegen_parameter copy = {.member = body->member,
                                         .source_offset = from->offset,
                                         .size = (uint32_t)from->size,
                                         .alignment = from->alignment ? from->alignment : 1,
                                         .is_copy = true};
        if (append_parameter(source, copy, name) == UINT32_MAX) return false;
        body->copies[i].parameter_name = name;
    }
    return true;
}

/* Where no product feeds a sum, rounding each changes nothing in the program, and takes all choice from the
 * compiler of the fused kernel. */
static bool take_choice(struct body *body)
{
    struct product_choice choice;
    if (!product_find_choice(body->function, &choice) || choice.sum != PRODUCT_NOWHERE ||
        choice.expansion != PRODUCT_NOWHERE)
        return false;
    for (uint32_t i = 0; i < body->function->instruction_count; i++)
        body->round[i] |= product_may_contract(&body->function->instructions[i]);
    return true;
}

/* Something that may be contracted is not rounded yet, or expanded as the compiler likes. */
static bool leaves_choice(const struct body *body)
{
    struct product_choice choice;
    for (uint32_t i = 0; i < body->function->instruction_count; i++)
        if (product_may_contract(&body->function->instructions[i]) && !body->round[i] &&
            !(body->contractions && body->contractions[i].summand))
            return true;
    return !product_find_choice(body->function, &choice) || choice.expansion != PRODUCT_NOWHERE;
}

/* Where every use has the same value in it, as a number; NULL: it is a parameter. An assembler that knows how
 * often a pipeline turns puts its loads where they come too late. */
static const char *fixed_word(const struct body *body, const struct body_word *word)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    uint32_t bytes = ptx_type_bytes(word->type);
    uint64_t value = 0;
    if (!body->is_specialized || summary->has_pipeline || !summary->arguments ||
        word->offset >= BODY_DISTANCE)
        return NULL;
    for (uint32_t i = 0; i < summary->word_count; i++) {
        const struct access_words *known = &summary->words[i];
        if (word->offset < known->offset || word->offset + bytes > known->offset + known->size) continue;
        memcpy(&value, summary->arguments + word->offset, bytes);
        return arena_printf(body->arena, "(%s)%lluu", body_c_type(bytes), (unsigned long long)value);
    }
    return NULL;
}

static bool collect_words(struct source *source, const struct body *body)
{
    const char **words = arena_calloc(source->result->arena, body->word_count + 1, sizeof *words);
    source->words[body->member] = words;
    for (uint32_t i = 0; words && i < body->word_count; i++) {
        uint32_t offset = body->words[i].offset;
        words[i] = fixed_word(body, &body->words[i]);
        if (words[i]) continue;
        uint32_t index = add_parameter(source, offset < BODY_DISTANCE ? body->member : 0, offset,
                                       ptx_type_bytes(body->words[i].type));
        if (index == UINT32_MAX) return false;
        words[i] = source->names[index];
    }
    return words;
}

static bool add_arrivals(struct source *source)
{
    struct codegen_parameter counter = {.size = 4, .alignment = 4, .is_arrivals = true};
    source->arrivals = "arrivals";
    return append_parameter(source, counter, source->arrivals) != UINT32_MAX;
}

static bool collect(struct source *source)
{
    const struct group *group = source->request->group;
    struct arena *arena = source->result->arena;
    source->bodies = arena_calloc(arena, group->member_count, sizeof *source->bodies);
    source->words = arena_calloc(arena, group->member_count, sizeof *source->words);
    if (!source->bodies || !source->words) return false;
    for (uint32_t rename = 0; rename < group->rename_count; rename++)
        for (int is_new = 0; is_new < 2; is_new++)
            if (add_parameter(source, 0, body_distance_offset(rename, is_new), 8) == UINT32_MAX) return false;
    for (uint32_t member = 0; member < group->member_count; member++) {
        struct body *body = &source->bodies[member];
        if (!body_collect(body, arena, group, member, source->request->name)) {
            source->result->error = body->error;
            return false;
        }
        const struct group_join *join = group_join_of(group, member);
        bool is_beside = join && member > join->first_member;
        if (!body_lay_out_shared(body, is_beside ? body[-1].shared_end : 0)) {
            source->result->error = body->error;
            return false;
        }
        bool has_choice = !take_choice(body);
        const struct codegen_reference *reference =
            source->request->references ? &source->request->references[member] : NULL;
        if (reference) body->contractions = reference->contractions;
        for (uint32_t i = 0; body->contractions && i < body->function->instruction_count; i++)
            body->round[i] |= body->contractions[i].round;
        bool is_emulated = reference && reference->is_emulated;
        source->result->may_contract |= !is_emulated && has_choice && leaves_choice(body);
    }
    source->result->is_specialized = !source->result->may_contract && !source->request->is_general;
    for (uint32_t member = 0; member < group->member_count; member++) {
        source->bodies[member].is_specialized = source->result->is_specialized;
        stage_version_choose(NULL, &source->bodies[member]);
        if (!collect_words(source, &source->bodies[member]) || !add_copies(source, &source->bodies[member]))
            return false;
    }
    if (group->last_first && !add_arrivals(source)) return false;
    if (source->result->parameter_bytes <= PLAN_PARAMETERS_LIMIT) return true;
    source->result->error =
        arena_printf(source->result->arena, "its members take %u bytes of parameters: a kernel may have %d",
                     source->result->parameter_bytes, PLAN_PARAMETERS_LIMIT);
    return false;
}

static const char *word_name(void *context, const struct body *body, uint32_t index)
{
    const struct source *source = context;
    return source->words[body->member][index];
}

static uint32_t block_threads(const uint32_t block[3])
{
    return block[0] * block[1] * block[2];
}

uint32_t source_least_blocks(const struct group *group)
{
    uint32_t least = 0;
    for (uint32_t member = 0; member < group_head_count(group); member++) {
        const struct ptx_function *function = group->members[member].summary->function;
        if (function->minnctapersm > least && block_threads(function->maxntid) == block_threads(group->block))
            least = function->minnctapersm;
    }
    return least;
}

/* Copies have a type of their own, and stay in the parameter space. */
static void write_parameter(const struct source *source, uint32_t index, FILE *out)
{
    const struct codegen_parameter *parameter = &source->result->parameters[index];
    const char *name = source->names[index];
    if (parameter->is_copy)
        fprintf(out, "const __grid_constant__ struct %s_%s %s", source->request->name, name, name);
    else
        fprintf(out, "%s %s", body_c_type(parameter->size), name);
}

static void write_copy_types(const struct source *source, FILE *out)
{
    const struct codegen_result *result = source->result;
    for (uint32_t i = 0; i < result->parameter_count; i++)
        if (result->parameters[i].is_copy)
            fprintf(out, "struct __align__(%u) %s_%s { unsigned char bytes[%u]; };\n",
                    result->parameters[i].alignment, source->request->name, source->names[i],
                    result->parameters[i].size);
}

static void write_signature(const struct source *source, FILE *out)
{
    const struct codegen_result *result = source->result;
    const struct group *group = source->request->group;
    uint32_t least = source->request->frees_registers ? 0 : source_least_blocks(group);
    if (least < source->request->least_blocks) least = source->request->least_blocks;
    fprintf(out, "extern \"C\" __global__ void __launch_bounds__(%u", block_threads(group->block));
    if (least) fprintf(out, ", %u", least);
    fprintf(out, ")\n%s(", source->request->name);
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        if (i) fprintf(out, ", ");
        write_parameter(source, i, out);
    }
    fprintf(out, ")\n{\n");
}

/* A forwarded value starts as zero: threads that skip its source never use it, but C must see it defined. */
static void write_values(const struct body *body, FILE *out)
{
    for (uint32_t i = 0; i < body->output_count; i++)
        fprintf(out, "    %s %s = 0;\n", body_c_type(body->outputs[i].bytes),
                body_value_name(body->arena, &body->outputs[i]));
}

static void write_heading(const struct body *body, FILE *out)
{
    const struct access_summary *summary = group_launch_of(body->group, body->member);
    const struct ptx_function *function = body->function;
    uint32_t last = function->instruction_count ? function->instructions[function->instruction_count - 1].line
                                                : function->line;
    fprintf(out, "\n    /* member %u: %s, grid (%u,%u,%u), block (%u,%u,%u), PTX lines %u-%u */\n",
            body->member, function->name, summary->grid[0], summary->grid[1], summary->grid[2],
            summary->block[0], summary->block[1], summary->block[2], function->line, last);
    write_values(body, out);
}

static void write_member(struct source *source, const struct body *body, FILE *out)
{
    write_heading(body, out);
    uint32_t braces = remap_code_open(body, out);
    body_write(body, out, braces ? "        " : "    ", word_name, source);
    if (braces) fprintf(out, "        }\n    }\n");
}

/* Which thread of the member the fused thread is, and whether it is one. */
static void write_coordinates(const struct body *body, FILE *out)
{
    uint32_t member = body->member;
    fprintf(out, "    unsigned int m%u_runs = 0", member);
    for (int special = 0; special < PTX_SPECIAL_COUNT; special++)
        if (body_coordinate(body, special))
            fprintf(out, ", m%u_%s = 0", member, body_coordinate(body, special));
    fprintf(out, ";\n");
    uint32_t braces = remap_code_open(body, out);
    fprintf(out, "        m%u_runs = 1;\n", member);
    for (int special = 0; special < PTX_SPECIAL_COUNT; special++)
        if (body_coordinate(body, special))
            fprintf(out, "        m%u_%s = %s;\n", member, body_coordinate(body, special),
                    body_coordinate(body, special));
    if (braces) fprintf(out, "        }\n    }\n");
}

static void write_join(struct source *source, const struct group_join *join, FILE *out)
{
    struct body *bodies = &source->bodies[join->first_member];
    for (uint32_t i = 0; i < join->member_count; i++) {
        write_heading(&bodies[i], out);
        if (bodies[i].is_apart) write_coordinates(&bodies[i], out);
    }
    fprintf(out, "    /* their loops joined, iteration by iteration */\n");
    joined_write(bodies, join, out, "    ", word_name, source);
}

static void write_tables(const struct body *body, FILE *out)
{
    for (uint32_t i = 0; i < body->table_count; i++) {
        const struct ptx_variable *variable = body->tables[i].variable;
        fprintf(out, "extern \"C\" %s __attribute__((used)) __align__(%u) unsigned char %s[%llu] = {",
                variable->space == PTX_CONST ? "__constant__" : "__device__",
                variable->alignment ? variable->alignment : 1, body->tables[i].name,
                (unsigned long long)variable->size);
        for (uint64_t byte = 0; variable->initial && byte < variable->size; byte++)
            fprintf(out, "%s%u,", byte % 24 ? "" : "\n    ", variable->initial[byte]);
        fprintf(out, "};\n");
    }
}

/* Behind what members have of shared memory, which they have in turn, or in a join a part each. Returns the
 * end. */
static uint64_t lay_out_tiles(struct source *source, uint64_t end)
{
    const struct group *group = source->request->group;
    for (uint32_t tile = 0; tile < group->block_tile_count; tile++) {
        end = (end + TILE_ALIGNMENT - 1) / TILE_ALIGNMENT * TILE_ALIGNMENT;
        for (uint32_t member = 0; member < group->member_count; member++)
            for (uint32_t i = 0; i < source->bodies[member].tile_count; i++)
                if (source->bodies[member].tiles[i].tile == tile)
                    source->bodies[member].tiles[i].offset = end;
        end += group_tile_bytes(&group->block_tiles[tile]);
    }
    return end;
}

/* One array for all shared memory; more than a kernel may declare is dynamic. */
static bool write_shared(struct source *source, FILE *out)
{
    const struct group *group = source->request->group;
    uint64_t bytes = 0, alignment = TILE_ALIGNMENT;
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct body *body = &source->bodies[member];
        if (body->shared_end > bytes) bytes = body->shared_end;
        for (uint32_t i = 0; i < body->shared_count; i++)
            if (body->shared[i].variable->alignment > alignment)
                alignment = body->shared[i].variable->alignment;
    }
    bytes = lay_out_tiles(source, bytes);
    bool is_dynamic = bytes > GROUP_MOST_SHARED && group->block_tile_count;
    if (bytes > (is_dynamic ? GROUP_MOST_DYNAMIC : GROUP_MOST_SHARED)) {
        source->result->error = arena_printf(
            source->result->arena, "its members use %llu bytes of shared memory: a kernel may %s %d",
            (unsigned long long)bytes, is_dynamic ? "have" : "declare",
            is_dynamic ? GROUP_MOST_DYNAMIC : GROUP_MOST_SHARED);
        return false;
    }
    char extent[24] = "";
    source->result->dynamic_shared = is_dynamic ? (uint32_t)bytes : 0;
    if (!is_dynamic) snprintf(extent, sizeof extent, "%llu", (unsigned long long)bytes);
    if (bytes)
        fprintf(out,
                "extern \"C\" { %s__shared__ __attribute__((used)) __align__(%llu) unsigned char "
                "%s_shared[%s]; }\n",
                is_dynamic ? "extern " : "", (unsigned long long)alignment, source->request->name, extent);
    return true;
}

/* version: of a stage; members that are idle in it have their variables alone. NULL: of the whole launch. */
static void write_members(struct source *source, const struct stage_version *version, uint32_t first,
                          uint32_t end, FILE *out)
{
    const struct group *group = source->request->group;
    for (uint32_t member = first; member < end;) {
        const struct group_join *join = group_join_of(group, member);
        if (group->barriers && group->barriers[member]) body_write_barrier(&source->bodies[member], out);
        if (join)
            write_join(source, join, out);
        else if (version && version->is_interior && source->result->is_idle[member])
            write_heading(&source->bodies[member], out);
        else
            write_member(source, &source->bodies[member], out);
        member += join ? join->member_count : 1;
    }
}

/* Members in blocks of their own, in this order: each block asks for few of the others. */
static void write_beside(struct source *source, const uint32_t *order, uint32_t count, FILE *out)
{
    uint32_t half = count / 2;
    if (count == 1) {
        write_member(source, &source->bodies[order[0]], out);
        return;
    }
    fprintf(out, "    if (blockIdx.x < %uu) {\n", source->request->group->remaps[order[half]].first_block);
    write_beside(source, order, half, out);
    fprintf(out, "    } else {\n");
    write_beside(source, order + half, count - half, out);
    fprintf(out, "    }\n");
}

static bool write_all_beside(struct source *source, FILE *out)
{
    const struct group *group = source->request->group;
    uint32_t *order = arena_calloc(source->result->arena, group->member_count, sizeof *order);
    for (uint32_t m = 0; order && m < group->member_count; m++) {
        uint32_t at = m;
        for (; at && group->remaps[order[at - 1]].first_block > group->remaps[m].first_block; at--)
            order[at] = order[at - 1];
        order[at] = m;
    }
    if (order) write_beside(source, order, group->member_count, out);
    return order;
}

static void write_version(struct source *source, uint32_t index, const struct stage_version *version,
                          FILE *out)
{
    const struct group *group = source->request->group;
    const struct group_stage *stage = &group->stages[index];
    uint32_t end = stage->first_member + stage->member_count;
    for (uint32_t m = stage->first_member; m < end; m++) stage_version_choose(version, &source->bodies[m]);
    stage_code_open_cells(group, version, index, out);
    write_members(source, version, stage->first_member, end, out);
    stage_code_close_cells(group, version, source->result->arena, index, out);
}

static bool is_everywhere(const struct group *group, const struct stage_version *version)
{
    bool is = true;
    for (int d = 0; d < 3; d++) is &= !version->low[d] && version->end[d] == group_patches(group, d);
    return is && !group->march; /* layers lie before the first, and behind the last */
}

/* Notes the members of which the interior version runs nothing, and counts them; more than there are: of some it is not known. */
static uint32_t find_idle(struct source *source, const struct group_stage *stage,
                          const struct stage_version *interior)
{
    uint32_t count = 0;
    bool is_known = true;
    for (uint32_t m = stage->first_member; m < stage->first_member + stage->member_count; m++) {
        enum stage_version_use use = stage_version_use(source->request->group, interior, m);
        source->result->is_idle[m] = use == STAGE_VERSION_IDLE;
        count += use == STAGE_VERSION_IDLE;
        is_known &= use != STAGE_VERSION_OTHER;
    }
    return is_known ? count : stage->member_count + 1;
}

/* Code of which sums and products are counted is written once, and what no block would run at all as if some did. */
static bool find_interior(struct source *source, uint32_t index, struct stage_version *interior)
{
    const struct group *group = source->request->group;
    struct codegen_result *result = source->result;
    const struct group_stage *stage = &group->stages[index];
    bool may_have = result->is_specialized && !source->request->has_one_version && result->has_interior &&
                    result->is_twice && result->is_idle;
    if (!may_have || !stage_version_interior(group, stage, interior)) return false;
    uint32_t idle = find_idle(source, stage, interior);
    bool is_idle = idle == stage->member_count, is_alone = is_everywhere(group, interior);
    result->has_interior[index] = idle <= stage->member_count && (!is_idle || !is_alone);
    result->is_twice[index] = result->has_interior[index] && !is_idle && !is_alone;
    if (result->has_interior[index]) return true;
    memset(&result->is_idle[stage->first_member], 0, stage->member_count * sizeof *result->is_idle);
    stage_version_clear(interior);
    return false;
}

static void write_stage(struct source *source, uint32_t index, FILE *out)
{
    const struct group *group = source->request->group;
    struct stage_version general = stage_version_general(group, &group->stages[index]), interior;
    bool is_conditional = stage_code_open(group, index, out);
    bool has_interior = find_interior(source, index, &interior);
    bool has_both = has_interior && !is_everywhere(group, &interior);
    if (has_both) stage_code_version(group, &interior, out);
    if (has_interior && source->result->is_twice[index] == has_both)
        write_version(source, index, &interior, out);
    if (has_both) fprintf(out, "    } else {\n");
    if (has_both || !has_interior) write_version(source, index, &general, out);
    if (has_both) fprintf(out, "    }\n");
    if (has_interior) stage_version_clear(&interior);
    stage_version_clear(&general);
    stage_code_close(group, index, is_conditional, out);
}

/* The last block goes on, in the threads that have something to do (last_block.h). The counter is zero again behind it. Threads of
 * a warp may come apart. */
static void write_arrival(const struct source *source, FILE *out)
{
    const struct group *group = source->request->group;
    const uint32_t *grid = group->grid, *block = group->block, last = grid[0] * grid[1] * grid[2] - 1;
    fprintf(out, "\n    /* the last of all blocks to arrive goes on */");
    body_write_barrier(&source->bodies[group->last_first], out);
    fprintf(out,
            "    const unsigned int in_block = (threadIdx.z * %uu + threadIdx.y) * %uu + threadIdx.x;\n"
            "    unsigned int is_last = 0;\n"
            "    if (in_block == 0) {\n"
            "        unsigned int before;\n"
            "        asm volatile(\"atom.release.gpu.global.inc.u32 %%0, [%%1], %u;\"\n"
            "                     : \"=r\"(before) : \"l\"(__cvta_generic_to_global(&%s_arrivals[%s])) : "
            "\"memory\");\n"
            "        is_last = before == %uu;\n"
            "        if (is_last) asm volatile(\"fence.acq_rel.gpu;\" : : : \"memory\");\n"
            "    }\n"
            "    asm volatile(\"{ .reg .pred p; setp.ne.u32 p, %%0, 0; barrier.red.or.pred p, 0, p; selp.u32 "
            "%%0, 1, 0, p; }\"\n"
            "                 : \"+r\"(is_last) : : \"memory\");\n"
            "    if (!is_last) return;\n",
            block[1], block[0], last, source->request->name, source->arrivals, last);
    if (group->last_threads < block_threads(block))
        fprintf(out, "    if (in_block >= %uu) return;\n", group->last_threads);
}

/* The kernel alone, without prelude. */
static bool write_kernel(struct source *source, FILE *out)
{
    if (!write_shared(source, out)) return false;
    const struct group *group = source->request->group;
    for (uint32_t member = 0; member < group->member_count; member++)
        write_tables(&source->bodies[member], out);
    write_copy_types(source, out);
    if (group->last_first)
        fprintf(out, "extern \"C\" __device__ unsigned int %s_arrivals[%d];\n", source->request->name,
                PLAN_ARRIVALS);
    write_signature(source, out);
    if (group->stage_count) {
        source->result->has_interior = arena_calloc(source->result->arena, group->stage_count, sizeof(bool));
        source->result->is_twice = arena_calloc(source->result->arena, group->stage_count, sizeof(bool));
        source->result->is_idle = arena_calloc(source->result->arena, group->member_count, sizeof(bool));
    }
    stage_code_tiles(group, out);
    if (group->is_inter_block && !write_all_beside(source, out)) {
        source->result->error = "out of memory";
        return false;
    }
    if (!group->stage_count && !group->is_inter_block)
        write_members(source, NULL, 0, group_head_count(group), out);
    stage_code_open_march(group, out);
    for (uint32_t stage = 0; stage < group->stage_count; stage++) write_stage(source, stage, out);
    stage_code_close_march(group, out);
    if (group->last_first) {
        write_arrival(source, out);
        write_members(source, NULL, group->last_first, group->member_count, out);
    }
    fprintf(out, "}\n");
    return true;
}

bool source_write_kernel(const struct codegen_request *request, struct codegen_result *result, FILE *out)
{
    struct source source = {.request = request, .result = result};
    if (request->group->refusal) {
        result->error = request->group->refusal;
        return false;
    }
    if (!collect(&source)) {
        if (!result->error) result->error = "out of memory";
        return false;
    }
    return write_kernel(&source, out);
}

void codegen_write(const struct codegen_request *request, struct codegen_result *result)
{
    char *text = NULL;
    size_t length;
    memset(result, 0, sizeof *result);
    result->arena = arena_create();
    FILE *out = result->arena ? open_memstream(&text, &length) : NULL;
    if (!out) {
        result->error = "out of memory";
        return;
    }
    fprintf(out, "/* Fused by kfuse; each member's arithmetic is the PTX that it was. */\n");
    remap_code_prelude(request->group, out);
    bool written = source_write_kernel(request, result, out);
    if (!fclose(out) && written) result->source = arena_strdup(result->arena, text);
    free(text);
    if (written && !result->source) result->error = "out of memory";
    if (result->source) result->entry = arena_strdup(result->arena, request->name);
}

void codegen_result_clear(struct codegen_result *result)
{
    arena_free(result->arena);
    memset(result, 0, sizeof *result);
}
