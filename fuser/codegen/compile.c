/* SPDX-License-Identifier: Apache-2.0
 * Compiles a fused kernel and accepts it only when it does not spill and contracts as its members do. */
#include "fuser/codegen/machine_code.h"
#include "fuser/codegen/nvrtc.h"
#include "fuser/codegen/source.h"

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

/* One kernel a distinct function of the group, alone: `count` receives how many members are that function. */
struct alone {
    const struct ptx_function *function;
    uint32_t uses, member;
    char name[32];
};

static uint32_t distinct_functions(const struct group *group, struct alone *alone)
{
    uint32_t count = 0;
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct ptx_function *function = group->members[member].summary->function;
        uint32_t i = 0;
        while (i < count && alone[i].function != function) i++;
        if (i == count) {
            alone[count] = (struct alone){.function = function, .member = member};
            snprintf(alone[count].name, sizeof alone[count].name, "alone_%u", count);
            count++;
        }
        alone[i].uses++;
    }
    return count;
}

static bool write_alone(const struct codegen_request *request, const struct alone *alone, struct arena *arena,
                        FILE *out)
{
    const struct group *group = request->group;
    const struct access_summary *summary = group->members[alone->member].summary;
    struct remap same = {.kind = REMAP_SAME, .guard = REMAP_GUARD_NONE};
    struct group single = {
        .member_count = 1, .members = &group->members[alone->member], .remaps = &same, .arena = arena};
    memcpy(single.grid, summary->grid, sizeof single.grid);
    memcpy(single.block, summary->block, sizeof single.block);
    struct codegen_request own = *request;
    struct codegen_result scratch = {.arena = arena};
    own.group = &single;
    own.name = alone->name;
    own.aliases = NULL;
    own.alias_count = 0;
    return source_write_kernel(&own, &scratch, out);
}

static const char *compare_counts(struct codegen_result *result, const struct nvrtc_output *parts,
                                  const struct alone *alone, uint32_t alone_count)
{
    for (int class = 0; class < MACHINE_CODE_CLASSES; class ++) {
        int64_t expected = 0;
        int64_t fused = machine_code_count(result->cubin, result->cubin_size, result->entry, class);
        for (uint32_t i = 0; i < alone_count; i++) {
            int64_t own = machine_code_count(parts->cubin, parts->cubin_size, alone[i].name, class);
            if (own < 0 || fused < 0) return "the compiled kernel cannot be read";
            expected += own * alone[i].uses;
        }
        if (fused != expected)
            return arena_printf(
                result->arena,
                "not bit-exact for certain: the fused kernel has %lld %s instructions, its members "
                "together have %lld; the group is left apart",
                (long long)fused, machine_code_class_name(class), (long long)expected);
    }
    return NULL;
}

/* NULL when contraction in the fused kernel is that of its members, else why the group is rejected. */
static const char *check_contraction(const struct codegen_request *request, struct codegen_result *result)
{
    struct arena *arena = result->arena;
    struct alone *alone = arena_calloc(arena, request->group->member_count, sizeof *alone);
    char *text = NULL;
    size_t length;
    FILE *out = alone ? open_memstream(&text, &length) : NULL;
    if (!out) return "out of memory";
    uint32_t count = distinct_functions(request->group, alone);
    bool written = true;
    for (uint32_t i = 0; i < count; i++) written = write_alone(request, &alone[i], arena, out) && written;
    struct nvrtc_output parts = {.error = "the members could not be compiled alone"};
    if (!fclose(out) && written) nvrtc_compile(arena, "members.cu", text, request->sm, 0, &parts);
    free(text);
    return parts.error ? parts.error : compare_counts(result, &parts, alone, count);
}

void codegen_compile(const struct codegen_request *request, struct codegen_result *result)
{
    struct nvrtc_output output;
    codegen_write(request, result);
    if (result->error) return;
    nvrtc_compile(result->arena, arena_printf(result->arena, "group-%s.cu", request->name), result->source,
                  request->sm, request->max_registers, &output);
    result->error = output.error;
    if (result->error) return;
    result->ptx = output.ptx;
    result->cubin = output.cubin;
    result->cubin_size = output.cubin_size;
    if (!read_resources(output.log, result->entry, result)) {
        result->error =
            arena_printf(result->arena, "NVRTC did not report the kernel's resources: %s", output.log);
        return;
    }
    if (result->spill_bytes)
        result->error =
            arena_printf(result->arena, "the fused kernel needs more than %u registers and spills %u bytes",
                         result->registers, result->spill_bytes);
    else
        result->error = check_contraction(request, result);
}
