/* SPDX-License-Identifier: Apache-2.0
 * kfuse report of a plan folder: what keeps neighbouring launches apart, and how much device time it is about. */
#include "tools/explain.h"
#include "tools/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_apart(const json_t *pair)
{
    const char *outcome = plan_file_text(pair, "outcome");
    return strcmp(outcome, "fused") != 0 && strcmp(outcome, "passed over") != 0;
}

static int by_time(const void *a, const void *b)
{
    long long first = plan_file_number(*(json_t *const *)a, "time_ns"),
              second = plan_file_number(*(json_t *const *)b, "time_ns");
    return (first < second) - (first > second);
}

static void print_pair(const json_t *plan, const json_t *pair)
{
    char first[EXPLAIN_NAME_SIZE], second[EXPLAIN_NAME_SIZE];
    explain_kernel_name(plan, plan_file_number(json_object_get(pair, "first"), "kernel"), first);
    explain_kernel_name(plan, plan_file_number(json_object_get(pair, "second"), "kernel"), second);
    printf("%10.3f ms %7lld times  %s, then %s\n", (double)plan_file_number(pair, "time_ns") / 1e6,
           plan_file_number(pair, "count"), first, second);
    printf("%27s", "");
    explain_reason(pair, first, second);
    printf("\n");
    if (json_is_string(json_object_get(pair, "next_step")))
        printf("%27snext step: %s\n", "", plan_file_text(pair, "next_step"));
}

void report_apart(const json_t *plan)
{
    enum { MOST_SHOWN = 8 };
    size_t i, count = 0;
    json_t *pair;
    const json_t *pairs = json_object_get(plan, "pairs");
    json_t **apart = calloc(json_array_size(pairs) + 1, sizeof(json_t *));
    if (!apart) return;
    json_array_foreach(pairs, i, pair) if (is_apart(pair) && plan_file_number(pair, "time_ns"))
        apart[count++] = pair;
    qsort(apart, count, sizeof *apart, by_time);
    if (count) printf("\nneighbours that stay apart, by the device time of the shorter launch:\n");
    for (i = 0; i < count && i < MOST_SHOWN; i++) print_pair(plan, apart[i]);
    if (i < count) printf("%27sand %zu more: kfuse explain tells of all\n", "", count - i);
    free(apart);
}
