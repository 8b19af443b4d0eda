/* SPDX-License-Identifier: Apache-2.0
 * Compiles the C that kernels are decompiled to, and runs both, the kernel and its C, on the emulator with
 * the same data: they must leave the same bytes. And every memory access of the kernel must have been written
 * once. For all kernels of the golden files of the analysis that have a launch in their comments, or of the
 * files named. */
#include "emulator/memory.h"
#include "fuser/codegen/nvrtc.h"
#include "fuser/decompile/decompile.h"
#include "fuser/kernel/plain.h"
#include "tests/analysis/launch_run.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_SEEDS = 2, LEAST_COMPARED = 90 };

struct counts {
    bool are_drawn; /* the kernels: their integers overflow, which C leaves undefined: so comparisons may go
                       astray */
    unsigned launches, compared, wrong;
};

/* Why the text cannot be compiled alone: PTX that C has no words for, or a variable of the module. */
static const char *why_no_c(const struct ptx_module *module, const struct counts *counts, const char *text)
{
    if (strstr(text, "asm(")) return "asm";
    if (counts->are_drawn && (strstr(text, " < ") || strstr(text, " >= "))) return "a comparison";
    if (strstr(text, "_sync_")) return "an operation of a warp";
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (strstr(text, module->variables[i]->name)) return module->variables[i]->name;
    return NULL;
}

/* What the C calls by its mnemonic. */
static const char prelude[] =
    "#define BY_MNEMONIC(name, text, type) \\\n"
    "    static __device__ type name(type a, type b) \\\n"
    "    { type d; asm(text \" %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b)); return d; }\n"
    "#define BY_MNEMONIC_3(name, text, type) \\\n"
    "    static __device__ type name(type a, type b, type c) \\\n"
    "    { type d; asm(text \" %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c)); return d; }\n"
    "BY_MNEMONIC(add_sat_s32, \"add.sat.s32\", int)\n"
    "BY_MNEMONIC(add_u16x2, \"add.u16x2\", unsigned)\n"
    "BY_MNEMONIC(min_u16x2, \"min.u16x2\", unsigned)\n"
    "BY_MNEMONIC(min_relu_s32, \"min.relu.s32\", int)\n"
    "BY_MNEMONIC(shr_u32, \"shr.u32\", unsigned)\n"
    "BY_MNEMONIC(shr_s32, \"shr.s32\", int)\n"
    "BY_MNEMONIC(shl_b32, \"shl.b32\", unsigned)\n"
    "BY_MNEMONIC_3(mad_hi_sat_s32, \"mad.hi.sat.s32\", int)\n"
    "BY_MNEMONIC_3(bfe_s32, \"bfe.s32\", int)\n"
    "BY_MNEMONIC_3(bfe_u32, \"bfe.u32\", unsigned)\n"
    "static __device__ unsigned bfi_b32(unsigned a, unsigned b, unsigned c, unsigned d)\n"
    "{ unsigned e; asm(\"bfi.b32 %0, %1, %2, %3, %4;\" : \"=r\"(e) : \"r\"(a), \"r\"(b), \"r\"(c), "
    "\"r\"(d)); return e; }\n"
    "static __device__ unsigned mov_b32(unsigned short a, unsigned short b) { return (unsigned)b << 16 | a; "
    "}\n"
    "static __device__ long mov_b64(unsigned a, unsigned b) { return (long)b << 32 | a; }\n"
    "static __device__ unsigned short shl_b16(unsigned short a, unsigned b)\n"
    "{ unsigned short d; asm(\"shl.b16 %0, %1, %2;\" : \"=h\"(d) : \"h\"(a), \"r\"(b)); return d; }\n";

static const char *decompiled(struct arena *arena, const struct ptx_function *function, struct counts *counts)
{
    char *text = NULL;
    size_t size;
    const char *reason = NULL;
    unsigned char *shown = arena_calloc(arena, function->instruction_count + 1, 1);
    const struct decompile_options options = {.shown = shown};
    FILE *out = open_memstream(&text, &size);
    if (!decompile_kernel(out, arena, function, &options, &reason)) {
        fprintf(stderr, "%s: %s\n", function->name, reason);
        counts->wrong++;
    }
    fclose(out);
    const char *kept = arena_strdup(arena, text);
    free(text);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *at = &function->instructions[i];
        bool is_access = (ptx_is_load(at) || ptx_is_store(at) || ptx_is_atomic(at)) && at->space != PTX_PARAM;
        if (!is_access || shown[i] == 1) continue;
        fprintf(stderr, "%s, line %u: written %u times\n", function->name, at->line, shown[i]);
        counts->wrong++;
    }
    return kept;
}

/* The one kernel of a text. */
static const char *entry_of(struct ptx_module *module)
{
    for (uint32_t i = 0; module && i < module->function_count; i++)
        if (module->functions[i]->is_entry) return module->functions[i]->name;
    return NULL;
}

static bool run(struct emu_program *program, const char *kernel, struct launch_line *line, uint32_t seed,
                uint64_t *starts)
{
    struct emu_settings settings = {.step_limit = 100000000};
    struct emu_counts counts;
    struct emu_fault fault = {0};
    struct emu_launch launch = {.kernel = emu_program_kernel(program, kernel),
                                .dynamic_shared = line->shared,
                                .parameters = line->arguments};
    memcpy(launch.grid, line->grid, sizeof launch.grid);
    memcpy(launch.block, line->block, sizeof launch.block);
    if (!launch.kernel || !launch_place(program, line, seed, starts)) return false;
    bool is_done = emu_run(&settings, &launch, &counts, &fault, NULL, NULL);
    if (!is_done) fprintf(stderr, "%s: %s\n", line->kernel, fault.message);
    return is_done;
}

static bool same_bytes(const struct launch_line *line, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < line->buffer_count; i++)
        if (memcmp((void *)(uintptr_t)a[i], (void *)(uintptr_t)b[i], line->buffers[i].size)) return false;
    return true;
}

static void compare(struct emu_program *original, struct emu_program *again, const char *entry,
                    struct launch_line *line, const char *text, struct counts *counts)
{
    uint64_t starts[LAUNCH_FILE_POINTERS] = {0}, others[LAUNCH_FILE_POINTERS] = {0};
    for (uint32_t seed = 0; seed < DATA_SEEDS; seed++) {
        bool is_same = run(original, line->kernel, line, seed, starts) &&
                       run(again, entry, line, seed, others) && same_bytes(line, starts, others);
        if (!is_same) {
            fprintf(stderr, "%s: its C leaves other bytes:\n%s\n", line->kernel, text);
            counts->wrong++;
            return;
        }
        launch_release(line, starts);
        launch_release(line, others);
    }
    counts->compared++;
}

static void check_launch(struct ptx_module *module, struct emu_program *original, struct launch_line *line,
                         struct counts *counts)
{
    struct arena *arena = arena_create();
    const struct ptx_function *function = plain_function(arena, ptx_find_function(module, line->kernel));
    struct nvrtc_output compiled;
    char *load_error = NULL;
    const char *error = NULL, *text = decompiled(arena, function, counts),
               *why = why_no_c(module, counts, text);
    counts->launches++;
    if (why) {
        printf("%s: not compiled: %s\n", line->kernel, why);
        arena_free(arena);
        return;
    }
    nvrtc_compile(arena, line->kernel, arena_printf(arena, "%s%s", prelude, text), "compute_90", 0,
                  &compiled);
    if (compiled.is_missing) exit(77);
    struct ptx_module *again =
        compiled.ptx ? ptx_parse("again", compiled.ptx, strlen(compiled.ptx), &error) : NULL;
    struct emu_program *program = again ? emu_program_load("again", compiled.ptx, &load_error) : NULL;
    if (program)
        compare(original, program, entry_of(again), line, text, counts);
    else {
        fprintf(stderr, "%s: its C does not compile: %s\n%s\n", line->kernel,
                compiled.error ? compiled.error : load_error, text);
        counts->wrong++;
    }
    if (program) emu_program_unload(program);
    if (again) ptx_module_free(again);
    arena_free(arena);
}

static void check_file(const char *path, struct counts *counts)
{
    const char *error = NULL;
    char *text = launch_file_read(path), *load_error = NULL;
    struct ptx_module *module = ptx_parse(path, text, strlen(text), &error);
    struct emu_program *program = emu_program_load(path, text, &load_error);
    struct launch_line *line = calloc(1, sizeof *line);
    if (!module || error || !program || !line) {
        fprintf(stderr, "%s: %s\n", path, error ? error : load_error ? load_error : "out of memory");
        exit(1);
    }
    for (const char *cursor = text; launch_file_next(&cursor, line);)
        if (line->may_run) check_launch(module, program, line, counts);
    emu_program_unload(program);
    ptx_module_free(module);
    free(line);
    free(text);
}

int main(int count, char **arguments)
{
    struct counts counts = {.are_drawn = count > 1};
    glob_t files = {0};
    char pattern[4096];
    const char *source = getenv("top_srcdir");
    if (!emu_memory_open((uint64_t)1 << 30)) return 99;
    for (int i = 1; i < count; i++) check_file(arguments[i], &counts);
    snprintf(pattern, sizeof pattern, "%s/tests/analysis/*.ptx", source ? source : ".");
    if (count == 1 && glob(pattern, 0, NULL, &files) != 0) return 1;
    for (size_t f = 0; f < files.gl_pathc; f++) check_file(files.gl_pathv[f], &counts);
    globfree(&files);
    printf("%u launches, %u compared, %u wrong\n", counts.launches, counts.compared, counts.wrong);
    return counts.wrong > 0 || (count == 1 && counts.compared < LEAST_COMPARED);
}
