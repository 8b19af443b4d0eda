/* SPDX-License-Identifier: Apache-2.0
 * Launches whose accesses are written down by hand, so that conflicts, groups and code can be tested apart
 * from the analysis of PTX. */
#ifndef KFUSE_TESTS_CODEGEN_HAND_H
#define KFUSE_TESTS_CODEGEN_HAND_H

#include "fuser/fusion/group.h"

/* One global access of the kernel, in order: { L[bz, by, bx, tz, ty, tx] -> [byte] }, through the pointer
 * argument at this offset. */
struct hand_access {
    uint32_t argument;
    const char *relation; /* NULL: unknown */
    bool is_vague;        /* the domain is not exact: data decide */
};
struct hand_launch {
    const char *kernel;
    uint32_t grid[3], block[3];
    struct hand_access accesses[8]; /* ends at argument UINT32_MAX or with the kernel's accesses */
    uint32_t arrays[4];             /* of bases in order of first use */
};
/* Reads a PTX file of the test folder. Where KFUSE_TEST_CONTRACTED is set, with products and sums for fused
 * multiply-adds. */
struct ptx_module *hand_module(const char *file);
/* Fails the test when kernel and accesses do not fit. Lives as long as the arena. */
struct bound_launch hand_bind(isl_ctx *ctx, struct arena *arena, const struct ptx_module *module,
                              const struct hand_launch *launch);
void hand_release(struct bound_launch *launch);

#endif
