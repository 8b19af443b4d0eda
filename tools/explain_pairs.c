/* SPDX-License-Identifier: Apache-2.0
 * What became of neighbouring launches: the rows that fuser/planner/neighbours.c wrote. */
#include "tools/explain.h"
#include "common/symbol.h"

#include <stdio.h>
#include <string.h>

/* One side of a conflict: "update line 31 reads it in block (0,0,0) thread (1,0,0)". */
static void print_side(const char *kernel, const json_t *side, const char *array)
{
    printf("%s line %lld %s %s", kernel, plan_file_number(side, "line"), plan_file_text(side, "access"),
           array);
    const json_t *thread = json_object_get(side, "thread");
    if (!thread) return;
    printf(" in block (");
    for (size_t i = 0; i < 3; i++)
        printf("%s%lld", i ? "," : "",
               (long long)json_integer_value(json_array_get(json_object_get(side, "in_block"), i)));
    printf(") thread (");
    for (size_t i = 0; i < 3; i++)
        printf("%s%lld", i ? "," : "", (long long)json_integer_value(json_array_get(thread, i)));
    printf(")");
}

static void print_conflict(const json_t *conflict, const char *first, const char *second)
{
    char array[96];
    const json_t *side = json_object_get(conflict, "first"), *byte = json_object_get(conflict, "byte");
    const char *variable = plan_file_text(side, "variable");
    if (*variable)
        snprintf(array, sizeof array, "variable %s", variable);
    else
        snprintf(array, sizeof array, "array %lld", plan_file_number(conflict, "array"));
    print_side(first, side, array);
    printf(", ");
    print_side(second, json_object_get(conflict, "second"), "it");
    if (!byte) return;
    printf(", both byte %lld", (long long)json_integer_value(byte));
    long long bytes = plan_file_number(side, "bytes");
    if (bytes > 1 && bytes == plan_file_number(json_object_get(conflict, "second"), "bytes"))
        printf(" (element %lld of %lld bytes)", (long long)json_integer_value(byte) / bytes, bytes);
}

static size_t count_values(const json_t *values, const char *word)
{
    size_t i, count = 0;
    json_t *text;
    json_array_foreach(values, i, text) count +=
        json_is_string(text) && strstr(json_string_value(text), word);
    return count;
}

static void print_count(size_t count, const char *one, const char *several)
{
    if (count) printf(", %zu %s", count, count == 1 ? one : several);
}

static void print_fused(const json_t *pair)
{
    const json_t *values = json_object_get(pair, "values");
    printf("%s in group %s", plan_file_text(pair, "fusion"), plan_file_text(pair, "group"));
    if (count_values(values, "a barrier of the block")) printf(", a barrier between them");
    print_count(count_values(values, " in a register"), "value in a register", "values in registers");
    print_count(count_values(values, " in shared memory"), "load from shared memory",
                "loads from shared memory");
    print_count(count_values(values, " stores nothing"), "store left out", "stores left out");
}

void explain_reason(const json_t *pair, const char *first, const char *second)
{
    char text[4096];
    const json_t *conflict = json_object_get(pair, "conflict");
    if (json_is_object(conflict) && json_object_get(conflict, "byte"))
        print_conflict(conflict, first, second);
    else
        printf("%s", symbol_names_in(plan_file_text(pair, "reason"), text, sizeof text));
}

static void print_line(const json_t *pair, const char *first, const char *second)
{
    const char *outcome = plan_file_text(pair, "outcome");
    const char *title = !strcmp(outcome, "fused") || !strcmp(outcome, "passed over") ? outcome : "apart";
    printf("%s: %s, then %s (%lld times): ", title, first, second, plan_file_number(pair, "count"));
    if (!strcmp(outcome, "fused"))
        print_fused(pair);
    else
        explain_reason(pair, first, second);
    printf("\n");
}

static void print_details(const json_t *pair, const char *first, const char *second)
{
    const char *const keys[] = {"first", "second"}, *const names[] = {first, second};
    for (int i = 0; i < 2; i++) {
        const json_t *side = json_object_get(pair, keys[i]);
        printf("    %s  grid ", names[i]);
        explain_shape(json_object_get(side, "grid"));
        printf(" block ");
        explain_shape(json_object_get(side, "block"));
        printf("\n");
    }
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(pair, "values"), i, value)
        printf("    %s\n", json_is_string(value) ? json_string_value(value) : "?");
    if (json_is_object(json_object_get(pair, "conflict"))) {
        char text[4096];
        printf("    %s\n", symbol_names_in(plan_file_text(pair, "reason"), text, sizeof text));
    }
    if (json_is_string(json_object_get(pair, "next_step")))
        printf("    next step: %s\n", plan_file_text(pair, "next_step"));
}

void explain_pairs(const json_t *plan, bool in_full)
{
    size_t i;
    json_t *pair;
    char first[EXPLAIN_NAME_SIZE], second[EXPLAIN_NAME_SIZE];
    json_array_foreach(json_object_get(plan, "pairs"), i, pair)
    {
        explain_kernel_name(plan, plan_file_number(json_object_get(pair, "first"), "kernel"), first);
        explain_kernel_name(plan, plan_file_number(json_object_get(pair, "second"), "kernel"), second);
        print_line(pair, first, second);
        if (in_full) print_details(pair, first, second);
    }
}
