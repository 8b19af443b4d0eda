/* SPDX-License-Identifier: Apache-2.0
 * Compiles the kernels of a batch in one call of NVRTC, as its time is spent on the call, and cuts the PTX
 * up. */
#include "fuser/codegen/nvrtc.h"
#include "ptx/ptx.h"
#include "tests/referee/judge.h"
#include "tests/referee/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char architecture[] = "compute_90";

/* t7, c7, d7, q7, u7 or b7 of program 7 */
static bool declares_variable(const char *line, size_t length, uint32_t number)
{
    for (const char *letter = "tcdqub"; *letter; letter++) {
        char name[32];
        snprintf(name, sizeof name, " %c%u[", *letter, number);
        if (memmem(line, length, name, strlen(name))) return true;
    }
    return false;
}

/* Variables of the module stand before some entry. */
static size_t cut_variables(const char *from, const char *to, uint32_t number, char *text)
{
    size_t size = 0;
    while (from < to) {
        const char *end = memchr(from, '\n', (size_t)(to - from));
        size_t length = end ? (size_t)(end + 1 - from) : (size_t)(to - from);
        if (declares_variable(from, length, number)) {
            memcpy(text + size, from, length);
            size += length;
        }
        from += length;
    }
    return size;
}

static const char *entry_of(const char *chunk, const char *end)
{
    const char *entry = strstr(chunk, ".visible .entry");
    return entry && entry < end ? entry : end;
}

/* One module for each program: the head of the text, its variables, and the entries that are named after the
 * program. */
static const char *cut_out(struct arena *arena, const char *ptx, uint32_t number)
{
    static const char mark[] = "\t// .globl\t";
    const char *first = strstr(ptx, mark);
    char prefix[32];
    if (!first) return NULL;
    snprintf(prefix, sizeof prefix, "p%uk", number);
    char *text = arena_alloc(arena, strlen(ptx) + 1);
    if (!text) return NULL;
    size_t size = (size_t)(first - ptx);
    memcpy(text, ptx, size);
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = first, *next; at; at = next) {
            next = strstr(at + 1, mark);
            const char *end = next ? next : at + strlen(at), *entry = entry_of(at, end);
            if (pass == 0) {
                size += cut_variables(at, entry, number, text + size);
            } else if (strncmp(at + strlen(mark), prefix, strlen(prefix)) == 0) {
                memcpy(text + size, entry, (size_t)(end - entry));
                size += (size_t)(end - entry);
            }
        }
    return text;
}

static const char *compile_text(struct batch *batch, const char *source, const char **error)
{
    struct nvrtc_output output;
    nvrtc_compile(batch->arena, "random.cu", source, architecture, 0, &output);
    *error = output.error;
    return output.error ? NULL : output.ptx;
}

static void compile_one(struct batch *batch, struct judge_program *program)
{
    const char *error, *ptx = compile_text(batch, program->script->source, &error);
    program->ptx = ptx;
    if (!ptx) batch_fail(batch, program, "compile: %.*s", 200, error);
}

/* Machine code and PTX in one file, as nvcc puts them into a program. */
static void compile_image(const struct judge *judge, struct batch *batch, struct judge_program *program)
{
    struct nvrtc_output output;
    size_t size = 0;
    if (!program->script->source) return;
    nvrtc_compile(batch->arena, "random.cu", program->script->source, "sm_90", 0, &output);
    const void *fatbin =
        output.error ? NULL
                     : ptx_fatbin_write(batch->arena, 90, output.ptx, output.cubin, output.cubin_size, &size);
    const char *path = arena_printf(batch->arena, "%s/%u.fatbin", judge->folder, program->number);
    FILE *file = fatbin ? fopen(path, "we") : NULL;
    bool is_written = file && fwrite(fatbin, 1, size, file) == size;
    if (file && fclose(file)) is_written = false;
    program->ptx = output.ptx;
    program->image = path;
    if (!is_written)
        batch_fail(batch, program, "compile: %.*s", 200, output.error ? output.error : "no file");
}

/* Functions of one name may be in several programs, and are not cut out. */
static bool stands_alone(const struct judge_program *program)
{
    return program->script->source && strstr(program->script->source, "__noinline__");
}

void compile_batch(const struct judge *judge, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count && judge->is_gpu; i++)
        compile_image(judge, batch, &batch->programs[i]);
    if (judge->is_gpu) return;
    size_t size = 1;
    const char *error, *ptx;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct judge_program *program = &batch->programs[i];
        program->ptx = program->script->ptx;
        if (program->script->source) size += strlen(program->script->source);
    }
    char *source = arena_alloc(batch->arena, size), *at = source;
    for (uint32_t i = 0; source && i < batch->count; i++)
        if (batch->programs[i].script->source && !stands_alone(&batch->programs[i]))
            at = stpcpy(at, batch->programs[i].script->source);
    ptx = source && *source ? compile_text(batch, source, &error) : NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct judge_program *program = &batch->programs[i];
        if (program->ptx || !program->script->source) continue;
        if (ptx && !stands_alone(program)) program->ptx = cut_out(batch->arena, ptx, program->number);
        if (!program->ptx) compile_one(batch, program);
    }
}
