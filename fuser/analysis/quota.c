/* SPDX-License-Identifier: Apache-2.0
 * Integer sets can take exponential time: no question may hold up the plan of a whole program. */
#include "fuser/analysis/frame.h"

#include <isl/ctx.h>

struct quota quota_begin(isl_ctx *ctx, unsigned long operations)
{
    struct quota quota = {ctx, isl_ctx_get_max_operations(ctx)};
    isl_ctx_set_max_operations(ctx, quota.before && quota.before < operations ? quota.before : operations);
    isl_ctx_reset_operations(ctx);
    return quota;
}

void quota_end(const struct quota *quota)
{
    isl_ctx_reset_error(quota->ctx);
    isl_ctx_set_max_operations(quota->ctx, quota->before);
    isl_ctx_reset_operations(quota->ctx);
}
