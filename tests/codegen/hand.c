/* SPDX-License-Identifier: Apache-2.0
 * Builds access summaries from relations written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/hand.h"

#include <isl/ilp.h>
#include <isl/val.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path)
{
    FILE *stream = fopen(path, "r");
    char *text = NULL;
    size_t length;
    FILE *whole = open_memstream(&text, &length);
    assert_true(stream && whole);
    for (int c; (c = getc(stream)) != EOF;) putc(c, whole);
    fclose(stream);
    fclose(whole);
    return text;
}

static void put_part(FILE *out, const char *line, regmatch_t part)
{
    if (part.rm_so >= 0) fwrite(line + part.rm_so, 1, (size_t)(part.rm_eo - part.rm_so), out);
}

enum { GUARD = 1, OPERATION, FLUSH, TYPE, RESULT, FIRST, SECOND, THIRD_TOO, THIRD, PARTS };

/* a * b + c, or, of a sum, 1.25 * a + b */
static void put_split(FILE *out, const char *line, const regmatch_t *part)
{
    bool is_fused = part[THIRD].rm_so >= 0, is_double = line[part[TYPE].rm_so + 1] == '6';
    const struct {
        const char *before;
        int part;
    } pieces[] = {{"\t{ .reg .", TYPE},
                  {" %split; ", GUARD},
                  {"mul", FLUSH},
                  {".", TYPE},
                  {" %split, ", FIRST},
                  {is_fused    ? ", "
                   : is_double ? ", 0d3FF4000000000000"
                               : ", 0f3FA00000",
                   is_fused ? SECOND : PARTS},
                  {"; ", GUARD},
                  {"", is_fused ? PARTS : OPERATION},
                  {is_fused ? "add" : "", FLUSH},
                  {".", TYPE},
                  {" ", RESULT},
                  {", %split, ", is_fused ? THIRD : SECOND}};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        fputs(pieces[i].before, out);
        if (pieces[i].part < PARTS) put_part(out, line, part[pieces[i].part]);
    }
    fputs("; }\n", out);
}

/* Each fused multiply-add, and each sum, as a product and a sum, in its line: an assembler contracts them. */
static char *split_text(char *text)
{
    static const char sums[] = "^[\t ]*(@!?%p[0-9]+[\t ]+)?(fma[.]rn|add|sub)([.]ftz)?[.](f32|f64)[\t ]+"
                               "([^,]+), ([^,]+), ([^,;]+)(, ([^;]+))?;$";
    regex_t pattern;
    regmatch_t part[PARTS];
    char *split = NULL;
    size_t length;
    FILE *out = open_memstream(&split, &length);
    assert_true(out && !regcomp(&pattern, sums, REG_EXTENDED));
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        if (regexec(&pattern, line, PARTS, part, 0))
            fprintf(out, "%s\n", line);
        else
            put_split(out, line, part);
    }
    regfree(&pattern);
    fclose(out);
    free(text);
    return split;
}

struct ptx_module *hand_module(const char *file)
{
    const char *top = getenv("top_srcdir"), *error = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/codegen/%s", top ? top : ".", file);
    char *text = read_text(path);
    if (getenv("KFUSE_TEST_CONTRACTED")) text = split_text(text);
    struct ptx_module *module = ptx_parse(file, text, strlen(text), &error);
    free(text);
    assert_non_null(module);
    assert_null(error);
    return module;
}

static isl_set *all_threads(isl_ctx *ctx, const struct hand_launch *launch)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "{ L[bz, by, bx, tz, ty, tx] : 0 <= bz < %u and 0 <= by < %u and 0 <= bx < %u and 0 <= tz < %u and "
        "0 <= ty < %u and 0 <= tx < %u }",
        launch->grid[2], launch->grid[1], launch->grid[0], launch->block[2], launch->block[1],
        launch->block[0]);
    return isl_set_read_from_str(ctx, text);
}

static uint32_t find_base(struct access_summary *summary, uint32_t argument)
{
    for (uint32_t i = 0; i < summary->base_count; i++)
        if (summary->bases[i].argument_offset == argument) return i;
    summary->bases[summary->base_count] = (struct access_base){.kind = ACCESS_BASE_ARGUMENT,
                                                               .argument_offset = argument,
                                                               .from = INT64_MAX,
                                                               .to = INT64_MIN,
                                                               .is_bounded = true};
    return summary->base_count++;
}

static void extend_hull(struct access_base *base, const struct access *access)
{
    if (!access->relation) {
        base->is_bounded = false;
        return;
    }
    isl_set *bytes = isl_map_range(isl_map_copy(access->relation));
    isl_val *low = isl_set_dim_min_val(isl_set_copy(bytes), 0), *high = isl_set_dim_max_val(bytes, 0);
    if (isl_val_get_num_si(low) < base->from) base->from = isl_val_get_num_si(low);
    if (isl_val_get_num_si(high) + access->width > base->to)
        base->to = isl_val_get_num_si(high) + access->width;
    isl_val_free(low);
    isl_val_free(high);
}

static bool is_global_access(const struct ptx_instruction *instruction)
{
    return (ptx_is_load(instruction) || ptx_is_store(instruction) || ptx_is_atomic(instruction)) &&
           instruction->space == PTX_GLOBAL;
}

static void add_access(struct access_summary *summary, uint32_t index, const struct hand_access *hand,
                       isl_set *threads)
{
    const struct ptx_instruction *instruction = &summary->function->instructions[index];
    struct access *access = &summary->accesses[summary->access_count++];
    access->kind = ptx_is_store(instruction)    ? ACCESS_WRITE
                   : ptx_is_atomic(instruction) ? ACCESS_ATOMIC
                                                : ACCESS_READ;
    access->instruction = index;
    access->line = instruction->line;
    access->width = ptx_access_bytes(instruction);
    access->base = find_base(summary, hand->argument);
    access->address_is_exact = hand->relation;
    access->domain_is_exact = hand->relation && !hand->is_vague;
    access->is_once = true;
    if (hand->relation) {
        access->relation = isl_map_read_from_str(isl_set_get_ctx(threads), hand->relation);
        assert_non_null(access->relation);
        access->relation = isl_map_intersect_domain(access->relation, isl_set_copy(threads));
    }
    extend_hull(&summary->bases[access->base], access);
    if (access->kind == ACCESS_READ) return;
    isl_set *domain = hand->relation ? isl_map_domain(isl_map_copy(access->relation)) : isl_set_copy(threads);
    summary->effective = summary->effective ? isl_set_union(summary->effective, domain) : domain;
}

struct bound_launch hand_bind(isl_ctx *ctx, struct arena *arena, const struct ptx_module *module,
                              const struct hand_launch *launch)
{
    struct access_summary *summary = arena_alloc(arena, sizeof *summary);
    summary->function = ptx_find_function(module, launch->kernel);
    assert_non_null(summary->function);
    memcpy(summary->grid, launch->grid, sizeof summary->grid);
    memcpy(summary->block, launch->block, sizeof summary->block);
    summary->accesses = arena_calloc(arena, 8, sizeof *summary->accesses);
    summary->bases = arena_calloc(arena, 8, sizeof *summary->bases);
    summary->threads = all_threads(ctx, launch);
    for (uint32_t i = 0; i < summary->function->instruction_count; i++) {
        if (!is_global_access(&summary->function->instructions[i])) continue;
        assert_true(summary->access_count < 8);
        add_access(summary, i, &launch->accesses[summary->access_count], summary->threads);
    }
    if (!summary->effective) summary->effective = isl_set_empty(isl_set_get_space(summary->threads));
    struct array_binding *bindings = arena_calloc(arena, 8, sizeof *bindings);
    for (uint32_t i = 0; i < summary->base_count; i++)
        bindings[i] = (struct array_binding){
            .array = launch->arrays[i], .size = 1 << 30, .is_plain = true, .is_private = true};
    return (struct bound_launch){summary, bindings};
}

void hand_release(struct bound_launch *launch)
{
    const struct access_summary *summary = launch->summary;
    for (uint32_t i = 0; i < summary->access_count; i++) isl_map_free(summary->accesses[i].relation);
    isl_set_free(summary->threads);
    isl_set_free(summary->effective);
}
