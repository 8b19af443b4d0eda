/* SPDX-License-Identifier: Apache-2.0
 * kfuse report of a plan folder: its groups with what they gain, and what a run used of them. */
#include "tools/report.h"
#include "common/symbol.h"
#include "tools/commands.h"
#include "tools/plan_file.h"
#include "common/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counters and uses of groups that a run wrote: lines "KEY VALUE" and "group NAME uses N". An object, or NULL
 * after a message. */
static json_t *read_stats(const char *path)
{
    char line[4096], name[2048];
    unsigned long long value;
    FILE *file = fopen(path, "r");
    if (!file) {
        command_error("report", "%s: %s; 'kfuse run --stats %s' writes it", path, strerror(errno), path);
        return NULL;
    }
    json_t *stats = json_object(), *groups = json_object();
    json_object_set_new(stats, "groups", groups);
    for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
        if (!strncmp(line, "verified ", 9)) continue; /* report_verified reads them */
        if (sscanf(line, "group %2047s uses %llu", name, &value) == 2) {
            json_object_set_new(groups, name, json_integer((json_int_t)value));
        } else if (sscanf(line, "%2047s %llu", name, &value) == 2) {
            json_object_set_new(stats, name, json_integer((json_int_t)value));
        } else {
            command_error("report", "%s:%u: not a counter; 'kfuse run --stats FILE' writes such files", path,
                          number);
            json_decref(stats);
            stats = NULL;
            break;
        }
    }
    fclose(file);
    return stats;
}

static void print_change(const char *what, double before, double after, const char *unit)
{
    printf("%s: %.*f%s become %.*f%s", what, *unit ? 3 : 0, before, unit, *unit ? 3 : 0, after, unit);
    if (after > 0) printf(" (%.2fx)", before / after);
    printf("\n");
}

static void print_head(const char *directory, const json_t *plan, const struct plan *binary)
{
    const struct plan_header *header = binary->header;
    printf("%s: for %s%s (compute %u.%u), from %s\n", directory, header->device_name,
           header->is_emulated ? ", emulated" : "", header->compute_major, header->compute_minor,
           plan_file_text(json_object_get(plan, "trace"), "file"));
    print_change("launches", (double)plan_file_number(plan, "launches_before"),
                 (double)plan_file_number(plan, "launches_after"), "");
    printf("launches analysed: %lld\n", plan_file_number(plan, "launches_analysed"));
    print_change("device time, projected", (double)plan_file_number(plan, "original_ns") / 1e6,
                 (double)plan_file_number(plan, "planned_ns") / 1e6, " ms");
    printf("windows: %lld\n", plan_file_number(plan, "windows"));
}

static void print_groups(const json_t *plan, const json_t *stats)
{
    size_t i;
    json_t *group;
    const json_t *groups = json_object_get(plan, "groups");
    if (!json_array_size(groups)) {
        printf("\nNo group pays. 'kfuse explain' says why kernels stay apart.\n");
        return;
    }
    printf("\n%8s %7s %11s %11s %7s %13s%s  %s\n", "uses", "members", "apart us", "fused us", "gain",
           "bytes saved", stats ? "  used in run" : "", "group");
    json_array_foreach(groups, i, group)
    {
        double apart = (double)plan_file_number(group, "original_ns") / 1e3;
        double fused = (double)plan_file_number(group, "projected_ns") / 1e3;
        const char *name = plan_file_text(group, "name");
        printf("%8lld %7zu %11.2f %11.2f %6.2fx %13lld", plan_file_number(group, "uses"),
               json_array_size(json_object_get(group, "members")), apart, fused,
               fused > 0 ? apart / fused : 0.0, plan_file_number(group, "bytes_saved"));
        if (stats) printf(" %12lld", plan_file_number(json_object_get(stats, "groups"), name));
        printf("  %s\n", name);
    }
}

/* The argument for every kernel that is a member; and the groups that have none for one. */
static void print_exactness(const json_t *plan)
{
    size_t g, m;
    json_t *group, *member, *seen = json_object();
    char key[32], name[256];
    json_array_foreach(json_object_get(plan, "groups"), g, group)
        json_array_foreach(json_object_get(group, "members"), m, member)
    {
        snprintf(key, sizeof key, "%lld", plan_file_number(member, "kernel"));
        if (json_object_get(seen, key) || !*plan_file_text(member, "exactness")) continue;
        if (!json_object_size(seen)) printf("\nmembers, and why their results are those of the program:\n");
        json_object_set_new(seen, key, json_true());
        printf("  %s: %s\n", symbol_name(plan_file_text(member, "name"), name, sizeof name),
               plan_file_text(member, "exactness"));
    }
    json_decref(seen);
    json_array_foreach(json_object_get(plan, "groups"), g, group)
    {
        if (!*plan_file_text(group, "to_be_verified")) continue;
        printf("  %s runs only after verification (kfuse run --verify): %s\n", plan_file_text(group, "name"),
               plan_file_text(group, "to_be_verified"));
    }
}

/* The launches that no group replaces, by reason. */
static void print_apart(const json_t *plan)
{
    enum { MOST_SHOWN = 5 };
    size_t i;
    json_t *row;
    const json_t *apart = json_object_get(plan, "apart");
    if (!json_array_size(apart)) return;
    printf("\nlaunches that run as they are:\n");
    json_array_foreach(apart, i, row)
    {
        if (i == MOST_SHOWN) break;
        char text[4096];
        printf("%8lld  %s\n", plan_file_number(row, "launches"),
               symbol_names_in(plan_file_text(row, "reason"), text, sizeof text));
    }
    if (i < json_array_size(apart))
        printf("          and %zu more reasons: see plan.json\n", json_array_size(apart) - i);
}

/* Counters as the run named them; and groups that the plan does not have: then it is another plan's run. */
static void print_run(const json_t *plan, json_t *stats)
{
    const char *key;
    json_t *value, *group;
    size_t i;
    printf("\nthe run:\n");
    json_object_foreach(stats, key, value) if (json_is_integer(value))
        printf("  %-16s %lld\n", key, (long long)json_integer_value(value));
    json_object_foreach(json_object_get(stats, "groups"), key, value)
    {
        bool is_known = false;
        json_array_foreach(json_object_get(plan, "groups"), i, group) is_known |=
            !strcmp(plan_file_text(group, "name"), key);
        if (!is_known) printf("  %s is no group of this plan: the run used another one\n", key);
    }
}

int report_plan(const char *directory, const char *stats_path)
{
    char error[4096 + 256];
    struct plan binary;
    json_t *stats = NULL, *plan = plan_file_open("report", directory);
    if (!plan) return COMMAND_FAILED;
    if (!plan_map(&binary, directory, error, sizeof error)) {
        json_decref(plan);
        return command_error("report", "%s", error);
    }
    if (stats_path) stats = read_stats(stats_path);
    if (!stats_path || stats) {
        print_head(directory, plan, &binary);
        print_groups(plan, stats);
        report_measured(directory, &binary);
        print_exactness(plan);
        print_apart(plan);
        report_apart(plan);
    }
    if (stats) print_run(plan, stats);
    if (stats)
        report_verified(stats_path, NULL);
    else if (!stats_path && snprintf(error, sizeof error, "%s/verified", directory) < (int)sizeof error)
        report_verified(error, &binary.header->check);
    int status = stats_path && !stats ? COMMAND_FAILED : COMMAND_DONE;
    json_decref(stats);
    json_decref(plan);
    plan_unmap(&binary);
    return status;
}
