/* SPDX-License-Identifier: Apache-2.0
 * Compiles a fused kernel and accepts it only when it does not spill and contracts as its members do. */
#include "fuser/codegen/issue.h"
#include "fuser/codegen/machine_code.h"
#include "fuser/codegen/source.h"
#include "fuser/kernel/product.h"

#include <stdlib.h>
#include <string.h>

/* What ptxas -v says of the kernel, e.g.
 *   ptxas info    : Compiling entry function 'f' for 'sm_90'
 *       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *   ptxas info    : Used 10 registers, used 0 barriers, 16 bytes smem, 388 bytes cmem[0] */
static bool read_resources(const char *log, const char *entry, struct codegen_result *result)
{
    char *wanted = arena_printf(result->arena, "entry function '%s'", entry);
    const char *text = wanted ? strstr(log, wanted) : NULL;
    if (!text) return false;
    const char *frame = strstr(text, " bytes stack frame"), *used = strstr(text, "Used ");
    if (!used || sscanf(used, "Used %u registers", &result->registers) != 1) return false;
    if (frame && frame < used) {
        uint32_t stores = 0, loads = 0;
        const char *start = frame;
        while (start > text && start[-1] >= '0' && start[-1] <= '9') start--;
        sscanf(start, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads",
               &result->local_bytes, &stores, &loads);
        result->spill_bytes = stores + loads;
    }
    const char *end = strchr(used, '\n'), *shared = strstr(used, " bytes smem");
    if (shared && (!end || shared < end)) {
        while (shared > used && shared[-1] >= '0' && shared[-1] <= '9') shared--;
        result->static_shared = (uint32_t)strtoul(shared, NULL, 10);
    }
    return true;
}

/* A member compiled alone; `uses`: how many members it stands for. Without the stores that the group drops
 * and whose values go nowhere: what only they needed is not in the fused kernel either. */
struct alone {
    const struct ptx_function *function;
    uint32_t uses, member;
    struct group_drop *drops;
    uint32_t drop_count;
    char name[32];
    const struct codegen_reference *reference; /* its code in the program, or NULL: it is compiled */
};

/* In registers or in shared memory. */
static bool is_handed_on(const struct group *group, const struct group_drop *drop)
{
    if (group_tile_access_of(group, drop->member, drop->instruction)) return true;
    for (uint32_t i = 0; i < group->tile_count; i++)
        if (group->tiles[i].member == drop->member && group->tiles[i].instruction == drop->instruction)
            return true;
    for (uint32_t i = 0; i < group->forward_count; i++)
        if (group->forwards[i].from_member == drop->member &&
            group->forwards[i].from_instruction == drop->instruction)
            return true;
    return false;
}

static bool find_dead_stores(const struct group *group, uint32_t member, struct alone *alone,
                             struct arena *arena)
{
    alone->drops = arena_calloc(arena, group->drop_count + 1, sizeof *alone->drops);
    for (uint32_t i = 0; alone->drops && i < group->drop_count; i++) {
        if (group->drops[i].member != member || is_handed_on(group, &group->drops[i])) continue;
        alone->drops[alone->drop_count++] = (struct group_drop){0, group->drops[i].instruction};
    }
    return alone->drops;
}

/* How often the fused kernel has a member's code. */
static uint32_t copies_of(const struct codegen_request *request, const struct codegen_result *result,
                          uint32_t member)
{
    if (!result->is_twice || group_runs_last(request->group, member)) return 1;
    bool is_twice = result->is_twice[group_stage_of(request->group, member) - request->group->stages];
    return 1 + (is_twice && !result->is_idle[member]);
}

/* Fills alone, which has room for every member; the count, or 0 when memory is out. */
static uint32_t distinct_members(const struct codegen_request *request, const struct codegen_result *result,
                                 struct alone *alone, struct arena *arena)
{
    const struct group *group = request->group;
    uint32_t count = 0;
    for (uint32_t member = 0; member < group->member_count; member++) {
        struct alone *own = &alone[count];
        *own = (struct alone){.function = group->members[member].summary->function,
                              .uses = copies_of(request, result, member),
                              .member = member};
        if (!find_dead_stores(group, member, own, arena)) return 0;
        const struct codegen_reference *reference = request->references ? &request->references[member] : NULL;
        if (reference && reference->cubin && !own->drop_count) own->reference = reference;
        uint32_t i = 0;
        while (i < count && (alone[i].function != own->function || alone[i].drop_count || own->drop_count))
            i++;
        if (i < count) {
            alone[i].uses += own->uses;
        } else {
            snprintf(own->name, sizeof own->name, "alone_%u", count);
            count++;
        }
    }
    return count;
}

static bool write_alone(const struct codegen_request *request, const struct alone *alone, struct arena *arena,
                        FILE *out)
{
    const struct group *group = request->group;
    struct bound_launch member = group->members[alone->member];
    const struct access_summary *summary = member.summary = group_launch_of(group, alone->member);
    struct remap same = {.kind = REMAP_SAME, .guard = REMAP_GUARD_NONE};
    struct group single = {.member_count = 1,
                           .members = &member,
                           .remaps = &same,
                           .drops = alone->drops,
                           .drop_count = alone->drop_count,
                           .arena = arena};
    memcpy(single.grid, summary->grid, sizeof single.grid);
    memcpy(single.block, summary->block, sizeof single.block);
    struct codegen_request own = *request;
    struct codegen_result scratch = {.arena = arena};
    own.group = &single;
    own.name = alone->name;
    own.is_general = true;
    own.aliases = NULL;
    own.alias_count = 0;
    own.references = request->references ? &request->references[alone->member] : NULL;
    return source_write_kernel(&own, &scratch, out);
}

static bool count_alone(const struct nvrtc_output *parts, const struct alone *alone,
                        struct machine_code_counts *counts)
{
    if (alone->reference)
        return machine_code_count(alone->reference->cubin, alone->reference->cubin_size,
                                  alone->reference->kernel, counts);
    return machine_code_count(parts->cubin, parts->cubin_size, alone->name, counts);
}

/* Adds up what the members have. NULL, or why that is not known. */
static const char *add_counts(const struct nvrtc_output *parts, const struct alone *alone,
                              uint32_t alone_count, struct machine_code_counts *sum)
{
    struct machine_code_counts own;
    *sum = (struct machine_code_counts){0};
    for (uint32_t i = 0; i < alone_count; i++) {
        if (!count_alone(parts, &alone[i], &own)) return "the code of a member cannot be read";
        for (int class = 0; class < MACHINE_CODE_CLASSES; class ++)
            sum->of[class] += own.of[class] * alone[i].uses;
        sum->functions += own.functions * alone[i].uses;
        if (own.unknown && !sum->unknown) sum->first_unknown = own.first_unknown;
        sum->unknown += own.unknown;
    }
    return NULL;
}

static const char *compare_counts(struct codegen_result *result, const struct machine_code_counts *fused,
                                  const struct machine_code_counts *sum)
{
    for (int class = 0; class < MACHINE_CODE_CLASSES; class ++)
        if (fused->of[class] != sum->of[class])
            return arena_printf(
                result->arena,
                "not bit-exact for certain: the fused kernel has %lld %s instructions, its members "
                "together have %lld; the group is left apart",
                (long long)fused->of[class], machine_code_class_name(class), (long long)sum->of[class]);
    if (fused->unknown || sum->unknown)
        result->unproven = arena_printf(
            result->arena, "the machine code has instructions of unknown meaning (opcode 0x%03x)",
            fused->unknown ? fused->first_unknown : sum->first_unknown);
    return NULL;
}

/* `sm_90`, or `sm_90a` when a member was made for that. */
static const char *architecture_of(const struct codegen_request *request, struct arena *arena)
{
    const char *suffix = "";
    for (uint32_t member = 0; member < request->group->member_count; member++) {
        const struct ptx_module *module = request->group->members[member].summary->function->module;
        size_t length = module->target ? strlen(module->target) : 0;
        if (module->sm == request->sm && length && module->target[length - 1] == 'a') suffix = "a";
    }
    return arena_printf(arena, "sm_%u%s", request->sm, suffix);
}

/* What the members have together, each compiled alone where its code is not known. NULL, or why not. */
static const char *count_members(const struct codegen_request *request, struct codegen_result *result,
                                 struct machine_code_counts *sum)
{
    struct arena *arena = result->arena;
    struct alone *alone = arena_calloc(arena, request->group->member_count, sizeof *alone);
    char *text = NULL;
    size_t length;
    FILE *out = alone ? open_memstream(&text, &length) : NULL;
    if (!out) return "out of memory";
    uint32_t count = distinct_members(request, result, alone, arena), compiled = 0;
    bool written = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (alone[i].reference) continue;
        written = write_alone(request, &alone[i], arena, out) && written;
        compiled++;
    }
    struct nvrtc_output parts = {.error = written ? NULL : "the members could not be compiled alone"};
    if (fclose(out)) parts.error = "out of memory";
    if (!parts.error && compiled)
        compiler_compile(request->compiler, arena, "members.cu", text, architecture_of(request, arena), 0,
                         &parts);
    free(text);
    return parts.error ? parts.error : add_counts(&parts, alone, count, sum);
}

static bool has_approximations(const struct group *group)
{
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct ptx_function *function = group->members[member].summary->function;
        for (uint32_t i = 0; i < function->instruction_count; i++)
            if (product_is_approximate(&function->instructions[i])) return true;
    }
    return false;
}

/* NULL when contraction in the fused kernel is that of its members, else why the group is rejected. The
 * device's approximations, too, are as many as in the members: of what becomes a constant in the group (a
 * word, or a value that one member has for another) the assembler computes them itself, and rounds otherwise.
 * Fewer may also be equal ones that have become one. */
static const char *check_code(const struct codegen_request *request, struct codegen_result *result)
{
    bool approximates = has_approximations(request->group);
    bool is_counted = result->may_contract && !request->group->expansions;
    if (result->may_contract && !is_counted) /* the compiler unrolls the members' loops as it likes */
        result->unproven =
            "iterations of its members' loops are taken apart, so that their machine code is no measure";
    if (!is_counted && !approximates) return NULL;
    struct machine_code_counts fused, sum;
    const char *error = count_members(request, result, &sum);
    if (error) return error;
    if (!machine_code_count(result->cubin, result->cubin_size, result->entry, &fused))
        return "the compiled kernel cannot be read";
    bool is_same = fused.functions == sum.functions;
    result->folds_functions =
        approximates && (result->is_specialized ? !is_same : fused.functions < sum.functions);
    return is_counted ? compare_counts(result, &fused, &sum) : NULL;
}

static uint32_t count_instructions(const struct codegen_result *result)
{
    struct machine_code_counts counts;
    bool is_read = machine_code_count(result->cubin, result->cubin_size, result->entry, &counts);
    return is_read ? (uint32_t)counts.instructions : 0;
}

static void compile(const struct codegen_request *request, struct codegen_result *result)
{
    struct nvrtc_output output;
    codegen_write(request, result);
    if (result->error) return;
    compiler_compile(request->compiler, result->arena,
                     arena_printf(result->arena, "group-%s.cu", request->name), result->source,
                     architecture_of(request, result->arena), 0, &output);
    result->error = output.error;
    result->has_no_compiler = output.is_missing;
    if (result->error) return;
    result->ptx = output.ptx;
    result->cubin = output.cubin;
    result->cubin_size = output.cubin_size;
    if (!read_resources(output.log, result->entry, result)) {
        result->error =
            arena_printf(result->arena, "NVRTC did not report the kernel's resources: %s", output.log);
        return;
    }
    result->instructions = count_instructions(result);
    if (result->is_twice) result->stage_instructions = issue_count(result->arena, result, request->group);
    if (result->spill_bytes)
        result->error =
            arena_printf(result->arena, "the fused kernel needs more than %u registers and spills %u bytes",
                         result->registers, result->spill_bytes);
    else
        result->error = check_code(request, result);
}

/* Again, with less of what may have been the reason for other approximations than the members'. */
static void compile_again(const struct codegen_request *request, bool is_general,
                          struct codegen_result *result)
{
    struct codegen_request other = *request;
    other.is_general = is_general;
    other.has_one_version = true;
    codegen_result_clear(result);
    compile(&other, result);
}

static bool is_twice(const struct codegen_request *request, const struct codegen_result *result)
{
    bool is = false;
    for (uint32_t s = 0; result->is_twice && s < request->group->stage_count; s++) is |= result->is_twice[s];
    return is;
}

/* A group that may have computed constants is written without interior versions, which leave branches out, and then without
 * what is known of its launches; where that is not the reason, it has to be verified. One that spills is written once, too. */
static void compile_unfolded(const struct codegen_request *request, struct codegen_result *result)
{
    struct codegen_request other = *request;
    compile(request, result);
    if (result->spill_bytes && !request->least_blocks && !source_least_blocks(request->group)) {
        other.least_blocks = 1; /* else the assembler spills a word to have more threads at a time */
        request = &other;
        codegen_result_clear(result);
        compile(request, result);
    }
    bool spills = result->spill_bytes && request->least_blocks <= 1;
    if (is_twice(request, result) && (spills || (!result->error && result->folds_functions)))
        compile_again(request, false, result);
    if (!result->error && result->folds_functions && result->is_specialized)
        compile_again(request, true, result);
    if (!result->error && result->folds_functions && !result->unproven)
        result->unproven = "the compiler may have computed approximations of constants in it, by other rules "
                           "than the device";
}

void codegen_compile(const struct codegen_request *request, struct codegen_result *result)
{
    compile_unfolded(request, result);
    if (!result->spill_bytes || request->frees_registers || !source_least_blocks(request->group)) return;
    struct codegen_request freed = *request;
    freed.frees_registers = true;
    codegen_result_clear(result);
    compile_unfolded(&freed, result);
}
