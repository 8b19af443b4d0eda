/* SPDX-License-Identifier: Apache-2.0
 * What runs have measured of a plan's groups (common/measured.h), beside what was projected, for kfuse
 * report. */
#include "common/measured.h"
#include "tools/report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char *verdict(const struct gain *gain)
{
    return gain_loses(gain) ? "loses" : gain_wins(gain) ? "gains" : "open";
}

static void print_group(const struct plan *plan, uint32_t index, const struct measured_group *group)
{
    char interval[64] = "-";
    struct gain gain = measured_gain(group);
    if (gain.count > 1) snprintf(interval, sizeof interval, "%.2f to %.2f", gain.low / 1e3, gain.high / 1e3);
    printf("%6u %8llu %12.2f %11.2f  %-20s %-7s  %s\n", group->round_count, (unsigned long long)group->uses,
           (double)plan->groups[index].projected_gain_ns / 1e3, gain.mean / 1e3, interval, verdict(&gain),
           plan->strings + plan->groups[index].name);
}

static void print_groups(const struct plan *plan, const struct measured *measured)
{
    unsigned groups = 0;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        const struct measured_group *group =
            measured_find(measured, measured_identity_of(plan, i), plan->header->check);
        if (!group || !group->round_count) continue;
        if (!groups++)
            printf("\nmeasured in place, a use:\n%6s %8s %12s %11s  %-20s %-7s  %s\n", "rounds", "uses",
                   "projected us", "measured us", "interval of 95%", "verdict", "group");
        print_group(plan, i, group);
    }
}

void report_measured(const char *directory, const struct plan *plan)
{
    char path[PATH_MAX];
    const struct plan_header *header = plan->header;
    struct measured *measured = malloc(sizeof *measured);
    if (!measured) return;
    measured_start(measured, header->device_name, header->driver_version);
    for (int in_cache = 0; in_cache < 2; in_cache++)
        if (measured_path(path, sizeof path, directory, header->device_name, header->driver_version,
                          in_cache))
            measured_read(measured, path);
    print_groups(plan, measured);
    free(measured);
}
