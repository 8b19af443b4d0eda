/* SPDX-License-Identifier: Apache-2.0
 * Files of what groups were measured to gain (interpose/measure.h writes them, `kfuse report` and the planner
 * read them). One file a device and driver: measured-KEY in the plan folder, or measured-FOLDER-KEY in the
 * user's cache folder where the former cannot be written. Text:
 *
 *     kfuse measured 3
 *     device NAME
 *     driver VERSION
 *     group IDENTITY plan CHECK uses N rounds N ORIGINAL:FUSED ...
 *
 * IDENTITY names the situation, whatever the plan (measured_identity); CHECK is plan_header.check of the plan
 * whose fused kernel was measured. ORIGINAL and FUSED are the periods of a use in ps, round by round, the
 * latest last; uses: how many were in all stretches. The line of a group that was measured later stands
 * behind. Lines that make no sense are left out. */
#ifndef KFUSE_COMMON_MEASURED_H
#define KFUSE_COMMON_MEASURED_H

#include "common/gain.h"
#include "common/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MEASURED_GROUPS = 256 /* lines in a file; the latest are kept */ };
#define MEASURED_NAME "measured-" /* files in a plan folder that begin so */

struct measured_round {
    uint64_t original_ps, fused_ps;
};
struct measured_group {
    struct hash128 identity;
    uint64_t plan, uses;
    uint32_t round_count; /* at most GAIN_MOST */
    struct measured_round rounds[GAIN_MOST];
};
struct measured {
    char device[64];
    uint32_t driver_version, group_count;
    struct measured_group groups[MEASURED_GROUPS];
};

/* One step of a group, for its identity. */
struct measured_step {
    struct hash128 module;
    const char *kernel;
    uint32_t role, grid[3], block[3], dynamic_shared, arguments_size;
    const unsigned char *mask, *value; /* arguments_size bytes each */
    const struct guard_check *guards;
    uint32_t guard_count;
};
/* Of a group with these flags (enum plan_group_flags), without its steps. */
struct hash128 measured_identity_begin(uint32_t flags);
/* Extends the identity of the steps before. */
struct hash128 measured_identity(struct hash128 before, const struct measured_step *step);
struct hash128 measured_identity_of(const struct plan *plan, uint32_t group);

/* The file's path: of two, with in_cache the other one. False where there is none. */
bool measured_path(char *path, size_t size, const char *directory, const char *device,
                   uint32_t driver_version, bool in_cache);
/* Empty, for this device and driver. */
void measured_start(struct measured *measured, const char *device, uint32_t driver_version);
/* Adds what the file has; nothing where it is not there, not ours, or of another device or driver. */
void measured_read(struct measured *measured, const char *path);
/* The same of a file that is open. */
void measured_read_stream(struct measured *measured, FILE *file);
/* What was measured last of the group: with this plan, or with plan 0 with any, in rounds. NULL: nothing. */
const struct measured_group *measured_find(const struct measured *measured, struct hash128 identity,
                                           uint64_t plan);
/* Adds rounds, and puts the group behind all others. */
void measured_add(struct measured *measured, const struct measured_group *group);
/* Whole or not at all. */
bool measured_write(const struct measured *measured, const char *path);

/* In ns a use. */
struct gain measured_gain(const struct measured_group *group);
double measured_mean_ns(const struct measured_group *group, bool is_fused);

#endif
