/* SPDX-License-Identifier: Apache-2.0
 * What a run with --verify found, for kfuse report: lines "verified NAME uses N mismatches N bytes N [because
 * TEXT]", in the file that the run left in the plan folder, or among its counters. */
#include "tools/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct verified_line {
    char name[2048];
    unsigned long long uses, mismatches, bytes;
    const char *reason; /* in the text; empty: none */
};

static bool parse(char *text, struct verified_line *line)
{
    int end = 0;
    text[strcspn(text, "\n")] = 0;
    if (sscanf(text, "verified %2047s uses %llu mismatches %llu bytes %llu%n", line->name, &line->uses,
               &line->mismatches, &line->bytes, &end) != 4 ||
        !end)
        return false;
    line->reason = text + end;
    if (!strncmp(line->reason, " because ", 9)) line->reason += 9;
    return true;
}

static void print_line(const struct verified_line *line)
{
    const char *state = line->reason[0] ? "no" : line->uses ? "yes" : "-";
    printf("%8llu %11llu %13llu  %-8s  %s%s%s\n", line->uses, line->mismatches, line->bytes, state,
           line->name, line->reason[0] ? ": " : "", line->reason);
}

static bool is_of_plan(FILE *file, uint64_t check)
{
    uint64_t found;
    return fscanf(file, "plan %" SCNx64 "\n", &found) == 1 && found == check;
}

void report_verified(const char *path, const uint64_t *check)
{
    char text[4096];
    struct verified_line line;
    unsigned groups = 0, verified = 0;
    unsigned long long uses = 0, mismatches = 0;
    FILE *file = fopen(path, "r");
    if (!file) return;
    bool is_usable = !check || is_of_plan(file, *check);
    while (is_usable && fgets(text, sizeof text, file)) {
        if (!parse(text, &line)) continue;
        if (!groups++)
            printf("\nverified on the last run with --verify:\n%8s %11s %13s  %-8s  %s\n", "uses",
                   "mismatches", "bytes", "verified", "group");
        print_line(&line);
        verified += line.uses && !line.reason[0];
        uses += line.uses;
        mismatches += line.mismatches;
    }
    if (groups)
        printf("%u of %u groups verified, %llu uses, %llu mismatches\n", verified, groups, uses, mismatches);
    fclose(file);
}
