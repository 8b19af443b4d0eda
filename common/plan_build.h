/* SPDX-License-Identifier: Apache-2.0
 * The one way to write plan.bin: used by the planner and by tests. Append in this order: strings, modules and
 * kernels at any time (equal ones are stored once); then group by group: plan_build_group, its steps in
 * order, its effects and variants, each variant followed by its renames and stale ranges. A plan without
 * groups is legal. Everything belongs to the arena. Running out of memory is remembered and reported by
 * plan_build_write. */
#ifndef KFUSE_COMMON_PLAN_BUILD_H
#define KFUSE_COMMON_PLAN_BUILD_H

#include "common/arena.h"
#include "common/plan.h"

struct plan_builder;

/* NULL when memory is out. */
struct plan_builder *plan_build_start(struct arena *arena);
/* The device that the plan is for; name is cut at 63 bytes. */
void plan_build_device(struct plan_builder *builder, const char *name, uint32_t compute_major,
                       uint32_t compute_minor, uint32_t driver_version, bool is_emulated);
/* hash: of plan.json as written beside plan.bin. */
void plan_build_source(struct plan_builder *builder, struct hash128 hash);

/* Return the offset or index that the structs of plan.h want; interned. String 0 is "". */
uint32_t plan_build_string(struct plan_builder *builder, const char *text);
uint32_t plan_build_module(struct plan_builder *builder, struct hash128 hash);
/* Variables of a kernel, in order: the first one's index. */
uint32_t plan_build_variables(struct plan_builder *builder, const char *const *names, uint32_t count);
/* The same of its sums. */
uint32_t plan_build_sums(struct plan_builder *builder, const struct plan_sum *sums, uint32_t count);
uint32_t plan_build_kernel(struct plan_builder *builder, const struct plan_kernel *kernel);

/* Begins a group; what follows belongs to it. Returns its index. */
uint32_t plan_build_group(struct plan_builder *builder, const char *name, uint32_t flags,
                          uint64_t projected_gain_ns, uint64_t projected_ns);
/* step: mask, first_guard and guard_count are filled here. mask and value: step->arguments_size bytes each;
 * both may be NULL: any arguments. guards may name this step and earlier ones only. Returns the step's number
 * in its group. */
uint32_t plan_build_step(struct plan_builder *builder, const struct plan_step *step,
                         const unsigned char *mask, const unsigned char *value,
                         const struct guard_check *guards, uint32_t guard_count);
/* first_box is filled here: effect->box_count boxes. */
void plan_build_effect(struct plan_builder *builder, const struct plan_effect *effect,
                       const struct plan_box *boxes);
/* first_cover and cover_count are filled here. covers: they may name stale ranges of groups to come. */
void plan_build_overwrite(struct plan_builder *builder, const struct plan_overwrite *overwrite,
                          const struct plan_cover *covers, uint32_t cover_count);
/* variant: entry, code, code_size and the ranges of guards, parameters, renames and stale ranges are filled
 * here; guards may name any step of the group. code: a load image; equal ones are stored once. */
void plan_build_variant(struct plan_builder *builder, const struct plan_variant *variant, const char *entry,
                        const void *code, size_t code_size, const struct plan_parameter *parameters,
                        uint32_t parameter_count, const struct guard_check *guards, uint32_t guard_count);
/* Of the variant added last. */
void plan_build_rename(struct plan_builder *builder, const struct plan_rename *rename);
void plan_build_stale(struct plan_builder *builder, const struct plan_stale *stale);

/* The whole file in the arena, header and check included; NULL with a message in error. */
void *plan_build_bytes(struct plan_builder *builder, size_t *size, char *error, size_t error_size);
/* Writes DIRECTORY/plan.bin (the folder exists) in one step: a temporary name, then a rename. False with a
 * message in error (file, what is wrong, what to do). */
bool plan_build_write(struct plan_builder *builder, const char *directory, char *error, size_t error_size);

#endif
