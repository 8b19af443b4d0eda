/* SPDX-License-Identifier: Apache-2.0
 * kfuse explain: tells from a plan's plan.json (fuser/planner/planner.h) why its groups are fused and why
 * neighbouring kernels are not. */
#include "tools/commands.h"
#include "common/symbol.h"
#include "tools/explain.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_help(void)
{
    printf(
        "usage: kfuse explain [OPTION]... DIR [GROUP]\n"
        "Tell why the groups of the plan in DIR are fused, and why neighbouring kernels are not.\n"
        "With GROUP, everything about that group.\n\n"
        "  -s, --source        groups and kernels as C that a person can read; with a name, that one alone\n"
        "  -p, --pairs         only the pairs of neighbouring launches, with shapes, values and next steps\n"
        "  -h, --help          print this text\n");
}

void explain_shape(const json_t *shape)
{
    for (size_t i = 0; i < json_array_size(shape); i++)
        printf("%s%lld", i ? "x" : "", (long long)json_integer_value(json_array_get(shape, i)));
}

const char *explain_kernel_name(const json_t *plan, long long id, char *name)
{
    size_t i;
    json_t *kernel;
    const char *symbol = "?";
    json_array_foreach(json_object_get(plan, "kernels"), i, kernel)
    {
        if (plan_file_number(kernel, "id") == id) symbol = plan_file_text(kernel, "name");
    }
    return symbol_name(symbol, name, EXPLAIN_NAME_SIZE);
}

static void print_microseconds(const char *label, long long ns)
{
    printf("%s%lld.%03lld us", label, ns / 1000, ns % 1000);
}

static void print_gain(const json_t *group)
{
    long long original = plan_file_number(group, "original_ns"),
              projected = plan_file_number(group, "projected_ns");
    print_microseconds("  a use: ", original);
    print_microseconds(" apart, ", projected);
    printf(" fused (projected)");
    if (projected > 0) printf(", %.2fx", (double)original / (double)projected);
    printf("; %lld bytes of traffic saved", plan_file_number(group, "bytes_saved"));
    if (plan_file_number(group, "bytes_cached"))
        printf(", %lld left to caches", plan_file_number(group, "bytes_cached"));
    printf("; %lld uses recorded\n", plan_file_number(group, "uses"));
}

static void print_list(const json_t *group, const char *key, const char *title)
{
    size_t i;
    json_t *item;
    const json_t *list = json_object_get(group, key);
    if (json_array_size(list) == 0) return;
    printf("  %s:\n", title);
    json_array_foreach(list, i, item)
        printf("    %s\n", json_is_string(item) ? json_string_value(item) : "?");
}

static void print_members(const json_t *group)
{
    size_t i;
    json_t *member;
    char name[EXPLAIN_NAME_SIZE];
    const json_t *remaps = json_object_get(group, "remaps");
    printf("  members, in order:\n");
    json_array_foreach(json_object_get(group, "members"), i, member)
    {
        if (json_is_true(json_object_get(member, "barrier_before"))) printf("    (a barrier of the block)\n");
        printf("    %s  grid ", symbol_name(plan_file_text(member, "name"), name, sizeof name));
        explain_shape(json_object_get(member, "grid"));
        printf(" block ");
        explain_shape(json_object_get(member, "block"));
        const char *remap = json_string_value(json_array_get(remaps, i));
        printf("%s%s\n", remap ? "  threads: " : "", remap ? remap : "");
        if (*plan_file_text(member, "exactness")) printf("      %s\n", plan_file_text(member, "exactness"));
        if (*plan_file_text(member, "loops")) printf("      %s\n", plan_file_text(member, "loops"));
    }
    json_array_foreach(json_object_get(group, "passed_over"), i, member) printf(
        "  passed over: %s (issued %s the group)\n",
        symbol_name(plan_file_text(member, "name"), name, sizeof name), plan_file_text(member, "role"));
}

static void print_group(const json_t *group, bool in_full)
{
    printf("group %s: %zu launches become one\n", plan_file_text(group, "name"),
           json_array_size(json_object_get(group, "members")));
    print_members(group);
    if (json_is_string(json_object_get(group, "to_be_verified")))
        printf("  runs only after verification (kfuse run --verify): %s\n",
               plan_file_text(group, "to_be_verified"));
    print_list(group, "unordered", "sums whose bits depend on the order of threads, as without kfuse");
    print_list(group, "handed_on", "values that a block hands on in shared memory");
    print_list(group, "stale", "not stored, but made again should anybody want it");
    print_gain(group);
    if (!in_full) return;
    printf("  grid ");
    explain_shape(json_object_get(group, "grid"));
    printf(" block ");
    explain_shape(json_object_get(group, "block"));
    printf(", %lld registers, source %s\n", plan_file_number(group, "registers"),
           plan_file_text(group, "source"));
    print_list(group, "forwards", "values that pass in registers");
    print_list(group, "served", "values kept in shared memory");
    print_list(group, "renamed", "written into a second buffer, as its old contents are still read");
    print_list(group, "drops", "stores that are overwritten in the group and left out");
    print_list(group, "guards", "legal while");
}

static void print_refusals(const json_t *plan)
{
    size_t i;
    json_t *kernel;
    char name[EXPLAIN_NAME_SIZE];
    json_array_foreach(json_object_get(plan, "kernels"), i, kernel)
    {
        const char *refusal = json_string_value(json_object_get(kernel, "refusal"));
        const char *no_member = json_string_value(json_object_get(kernel, "no_member"));
        symbol_name(plan_file_text(kernel, "name"), name, sizeof name);
        if (refusal)
            printf("kernel %s is left alone: %s\n", name, refusal);
        else if (no_member)
            printf("kernel %s cannot be a member: %s\n", name, no_member);
    }
}

static void print_plan(const json_t *plan)
{
    size_t i;
    json_t *group;
    const json_t *groups = json_object_get(plan, "groups");
    printf("%lld launches become %lld; device time ", plan_file_number(plan, "launches_before"),
           plan_file_number(plan, "launches_after"));
    print_microseconds("", plan_file_number(plan, "original_ns"));
    print_microseconds(" becomes ", plan_file_number(plan, "planned_ns"));
    printf(" (projected); %zu group%s\n\n", json_array_size(groups), json_array_size(groups) == 1 ? "" : "s");
    json_array_foreach(groups, i, group)
    {
        print_group(group, false);
        printf("\n");
    }
    print_refusals(plan);
    explain_pairs(plan, false);
}

int command_explain(int argc, char **argv)
{
    static const struct option options[] = {{"source", no_argument, NULL, 's'},
                                            {"pairs", no_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    bool only_pairs = false, is_source = false;
    while ((option = getopt_long(argc, argv, "psh", options, NULL)) != -1) switch (option) {
        case 'p':
            only_pairs = true;
            break;
        case 's':
            is_source = true;
            break;
        case 'h':
            print_help();
            return COMMAND_DONE;
        default:
            return command_usage("explain", NULL);
        }
    if (argc - optind < 1 || argc - optind > 2)
        return command_usage("explain", "name a plan folder, and a group at most");

    const char *folder = argv[optind];
    json_t *plan = plan_file_open("explain", folder);
    if (!plan) return COMMAND_FAILED;
    int status = COMMAND_DONE;
    const char *wanted = argv[optind + 1];
    if (is_source)
        status = explain_source(plan, folder, wanted);
    else if (only_pairs)
        explain_pairs(plan, true);
    else if (!wanted)
        print_plan(plan);
    else {
        size_t i;
        json_t *group;
        bool is_found = false;
        json_array_foreach(json_object_get(plan, "groups"), i, group)
        {
            if (strcmp(plan_file_text(group, "name"), wanted) != 0) continue;
            print_group(group, true);
            is_found = true;
        }
        if (!is_found)
            status = command_error("explain", "%s: no group %s; 'kfuse explain %s' lists them", folder,
                                   wanted, folder);
    }
    json_decref(plan);
    return status;
}
