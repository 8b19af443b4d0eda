/* SPDX-License-Identifier: Apache-2.0
 * What became of a batch's neighbouring launches: reasons in the plan, uses in the statistics of a replay. */
#include "tests/referee/judge.h"
#include "tests/referee/reasons.h"
#include "tests/referee/script.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers and names of kernels vary: they become N and K. */
static void plain_reason(const char *reason, char *plain, size_t size)
{
    size_t used = 0;
    while (*reason && used + 1 < size) {
        unsigned program, kernel;
        int length = 0;
        if (*reason == 'p' && sscanf(reason, "p%uk%u%n", &program, &kernel, &length) == 2 && length) {
            plain[used++] = 'K';
            reason += length;
        } else if (isdigit((unsigned char)*reason)) {
            plain[used++] = 'N';
            while (isdigit((unsigned char)*reason)) reason++;
        } else {
            plain[used++] = *reason++;
        }
    }
    plain[used] = 0;
}

/* Of "line N: ld.global.uN %rN, [%rdN]; \u2014 why" the operands are left out, and examples are. */
static void shorten(char *plain)
{
    char *example = strstr(plain, ": e.g. "), *dash = strstr(plain, "; \u2014 ");
    if (example) *example = 0;
    if (example || !dash) return;
    char *line = dash;
    while (line > plain && strncmp(line, "line N: ", 8) != 0) line--;
    char *opcode = line + 8;
    while (*opcode == '@' || *opcode == '%') /* a guard */
        opcode += strcspn(opcode, " \t") + 1;
    char *end = opcode + strcspn(opcode, " \t;");
    if (line > plain && end < dash) memmove(end, dash + 1, strlen(dash + 1) + 1);
}

/* A reason that names two threads must be true of them. */
static void check_reason(struct batch *batch, const char *reason)
{
    static const char *const words[] = {
        [WITNESS_SEEN] = "(reason) names threads that were seen to share a byte",
        [WITNESS_POSSIBLE] =
            "(reason) names threads that were not seen to share a byte: the access is a superset",
        [WITNESS_UNTRUE] = "(reason) untrue",
    };
    uint32_t number;
    const char *named = strstr(reason, "kernel p"); /* behind what the planner says of a group */
    if (named) reason = named;
    if (!witness_program(reason, &number)) return;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct judge_program *program = &batch->programs[i];
        if (program->number != number || !program->log.count) continue;
        enum witness_verdict verdict = witness_check(&program->log, reason);
        if (verdict == WITNESS_NONE) continue;
        judge_count_refusal(batch, words[verdict], 1);
        if (verdict == WITNESS_UNTRUE) batch_fail(batch, program, "reason: %s", reason);
    }
}

static void read_three(const json_t *list, uint32_t values[3])
{
    for (size_t i = 0; i < 3; i++) values[i] = (uint32_t)json_integer_value(json_array_get(list, i));
}

static struct reasons_launch launch_of(const json_t *kernels, const json_t *side)
{
    struct reasons_launch launch = {.kernel = ""};
    json_int_t wanted = json_integer_value(json_object_get(side, "kernel"));
    const json_t *kernel;
    size_t index;
    json_array_foreach(kernels, index, kernel)
    {
        if (json_integer_value(json_object_get(kernel, "id")) == wanted)
            launch.kernel = json_string_value(json_object_get(kernel, "name"));
    }
    read_three(json_object_get(side, "grid"), launch.grid);
    read_three(json_object_get(side, "block"), launch.block);
    return launch;
}

/* A reason that the program's text decides must be true of it; of neighbours in two programs nothing is said.
 */
static void check_neighbours(struct batch *batch, const json_t *kernels, const json_t *pair,
                             const char *reason)
{
    struct reasons_launch first = launch_of(kernels, json_object_get(pair, "first"));
    struct reasons_launch second = launch_of(kernels, json_object_get(pair, "second"));
    uint64_t count = (uint64_t)json_integer_value(json_object_get(pair, "count"));
    unsigned number, other;
    if (sscanf(first.kernel, "p%uk", &number) != 1 || sscanf(second.kernel, "p%uk", &other) != 1 ||
        number != other)
        return;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct judge_program *program = &batch->programs[i];
        if (program->number != number || program->is_failed) continue;
        enum reasons_verdict verdict =
            reasons_check(program->script, batch->has_two_runs, &first, &second, reason, count);
        if (verdict == REASONS_OTHER) continue;
        judge_count_refusal(batch,
                            verdict == REASONS_TRUE ? "(reason) says what the program's text has"
                                                    : "(reason) is not what the program's text has",
                            1);
        if (verdict == REASONS_UNTRUE)
            batch_fail(batch, program, "reason: %s, then %s: %s", first.kernel, second.kernel, reason);
    }
}

static bool has_share(const json_t *group)
{
    const json_t *remap;
    size_t member;
    json_array_foreach(json_object_get(group, "remaps"), member, remap)
    {
        const char *text = json_string_value(remap);
        if (text && strstr(text, "in each block a share")) return true;
    }
    return false;
}

/* Kernels whose place others may rely on are no steps of any group. */
static void check_places(struct batch *batch, const json_t *steps)
{
    const json_t *step;
    size_t index;
    json_array_foreach(steps, index, step)
    {
        const char *name = json_string_value(json_object_get(step, "name"));
        const char *end = name ? strstr(name, "_stays") : NULL;
        unsigned number;
        if (!end || strcmp(end, "_stays") != 0 || sscanf(name, "p%uk", &number) != 1) continue;
        for (uint32_t i = 0; i < batch->count; i++)
            if (batch->programs[i].number == number)
                batch_fail(batch, &batch->programs[i], "place: %s is a step of a group", name);
    }
}

static void read_plan(struct batch *batch, const char *plan)
{
    char path[4200], plain[256], unproven[300];
    snprintf(path, sizeof path, "%s/plan.json", plan);
    json_t *root = json_load_file(path, 0, NULL), *pair, *group;
    size_t index;
    json_array_foreach(json_object_get(root, "groups"), index, group)
    {
        const char *reason = json_string_value(json_object_get(group, "to_be_verified"));
        plain_reason(reason ? reason : "nothing", plain, sizeof plain);
        shorten(plain);
        snprintf(unproven, sizeof unproven, "(group) to be verified: %s", plain);
        judge_count_refusal(batch, unproven, 1);
        const char *fusion = json_string_value(json_object_get(group, "fusion"));
        const char *name = json_string_value(json_object_get(group, "name"));
        check_places(batch, json_object_get(group, "members"));
        check_places(batch, json_object_get(group, "passed_over"));
        fusion = arena_strdup(batch->arena, fusion ? fusion : "of no kind");
        judge_count_refusal(batch, arena_printf(batch->arena, "(group) %s", fusion), 1);
        if (name && strstr(name, "_after_"))
            judge_count_refusal(batch, "(group) launches before it wait for it", 1);
        if (name && batch->group_count < sizeof batch->groups / sizeof *batch->groups)
            batch->groups[batch->group_count++] = (struct judge_group){
                arena_strdup(batch->arena, name), fusion,
                json_array_size(json_object_get(group, "handed_on")) > 0, has_share(group)};
    }
    json_array_foreach(json_object_get(root, "pairs"), index, pair)
    {
        const char *reason = json_string_value(json_object_get(pair, "reason"));
        bool is_fused = json_is_string(json_object_get(pair, "group"));
        if (reason && !is_fused) check_reason(batch, reason);
        if (reason && !is_fused) check_neighbours(batch, json_object_get(root, "kernels"), pair, reason);
        plain_reason(is_fused ? "(fused)" : reason ? reason : "(none)", plain, sizeof plain);
        shorten(plain);
        judge_count_refusal(batch, plain, (uint64_t)json_integer_value(json_object_get(pair, "count")));
    }
    json_array_foreach(json_object_get(root, "kernels"), index,
                       group) if (json_array_size(json_object_get(group, "sums")))
        judge_count_refusal(batch, "(group) a kernel's addresses, shifted", 1);
    json_decref(root);
}

static void note_use(const struct batch *batch, struct judge_program *program, const char *line)
{
    program->is_fused = true;
    for (uint32_t i = 0; i < batch->group_count; i++) {
        const struct judge_group *group = &batch->groups[i];
        size_t length = strlen(group->name);
        if (strncmp(line, "group ", 6) || strncmp(line + 6, group->name, length) || line[6 + length] != ' ')
            continue;
        program->has_barriers |= !strcmp(group->fusion, "inner-block");
        program->hands_on |= group->hands_on;
        program->has_share |= group->has_share;
        program->has_border |= !strncmp(group->fusion, "halo", strlen("halo"));
    }
}

const char judge_left_stale[] = "(uses) that left ranges stale";

static void read_line(struct batch *batch, const char *line)
{
    static const struct {
        const char *format, *text;
    } counts[] = {{"renamed %llu", "(uses) with a second buffer"},
                  {"redirected %llu", "(pointers) of launches that went on with a second buffer"},
                  {"mirrored %llu", "(pieces) copied from buffer to buffer"},
                  {"stale %llu", judge_left_stale},
                  {"paid %llu", "(uses) after which stale ranges were made again"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        unsigned long long count;
        if (sscanf(line, counts[i].format, &count) == 1 && count)
            judge_count_refusal(batch, counts[i].text, count);
    }
    unsigned program;
    unsigned long long uses = 0, mismatches = 0;
    bool is_use = sscanf(line, "group g%*u_p%uk%*[^ ] uses %llu", &program, &uses) == 2;
    bool is_verified =
        sscanf(line, "verified g%*u_p%uk%*[^ ] uses %llu mismatches %llu", &program, &uses, &mismatches) == 3;
    for (uint32_t i = 0; i < batch->count && (is_use || is_verified); i++) {
        if (batch->programs[i].number != program) continue;
        if (uses) note_use(batch, &batch->programs[i], line);
        if (mismatches && strstr(line, "in which NaN it is"))
            judge_count_refusal(batch, "(group) verified: other NaNs in double precision", 1);
        else if (mismatches)
            batch_fail(batch, &batch->programs[i], "verify: %.*s", (int)strcspn(line, "\n"), line);
    }
}

static void read_statistics(struct batch *batch, const char *text)
{
    for (const char *line = text; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : "")
        read_line(batch, line);
}

void refusals_read(struct batch *batch, const char *plan, const char *statistics)
{
    if (plan) read_plan(batch, plan);
    char *text = script_read_file(statistics);
    if (text) read_statistics(batch, text);
    free(text);
    for (uint32_t i = 0; plan && i < batch->count; i++) {
        const struct judge_program *program = &batch->programs[i];
        if (program->has_barriers) judge_count_refusal(batch, "(programs) inner-block", 1);
        if (program->has_border) judge_count_refusal(batch, "(programs) halo", 1);
        if (program->has_share) judge_count_refusal(batch, "(programs) shares of a member", 1);
        if (program->hands_on) judge_count_refusal(batch, "(programs) values handed on in shared memory", 1);
        if (program->has_barriers || program->has_border)
            judge_count_refusal(batch, "(programs) any kind but inner-thread", 1);
    }
}
