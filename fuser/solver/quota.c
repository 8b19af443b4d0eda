/* SPDX-License-Identifier: Apache-2.0
 * Integer sets can take exponential time: no question may hold up the plan of a whole program. */
#include "fuser/solver/quota.h"

#include <isl/val.h>

enum { MOST_BITS = 40 };

/* isl does not tell its count, but whether it has come to a bound. */
static bool has_come_to(isl_ctx *ctx, unsigned long operations)
{
    isl_ctx_set_max_operations(ctx, operations);
    isl_val *probe = isl_val_int_from_si(ctx, 0);
    isl_val_free(probe);
    return !probe;
}

unsigned long quota_spent(isl_ctx *ctx)
{
    unsigned long most = isl_ctx_get_max_operations(ctx), low = 0, high = 1;
    enum isl_error error = isl_ctx_last_error(ctx);
    if (isl_ctx_aborted(ctx)) return 0;
    while (high >> MOST_BITS == 0 && has_come_to(ctx, high)) low = high, high *= 2;
    while (high - low > 1 + low / 64) {
        unsigned long middle = low + (high - low) / 2;
        if (has_come_to(ctx, middle))
            low = middle;
        else
            high = middle;
    }
    isl_ctx_set_max_operations(ctx, most);
    if (error == isl_error_none) isl_ctx_reset_error(ctx);
    return low;
}

bool quota_is_used_up(isl_ctx *ctx)
{
    return isl_ctx_last_error(ctx) == isl_error_quota || isl_ctx_get_max_operations(ctx) == 1;
}

struct quota quota_begin(isl_ctx *ctx, unsigned long operations)
{
    unsigned long most = isl_ctx_get_max_operations(ctx), spent = most ? quota_spent(ctx) : 0;
    struct quota quota = {ctx, most > spent + 1 ? most - spent : most ? 1 : 0};
    isl_ctx_set_max_operations(ctx, operations);
    isl_ctx_reset_operations(ctx);
    return quota;
}

void quota_end(const struct quota *quota)
{
    isl_ctx_reset_error(quota->ctx);
    isl_ctx_set_max_operations(quota->ctx, quota->left);
    isl_ctx_reset_operations(quota->ctx);
}

bool quota_ask(struct quota *quota, isl_ctx *ctx)
{
    if (quota_is_used_up(ctx)) return false;
    *quota = quota_begin(ctx, QUOTA_QUESTION);
    return true;
}

void quota_answer(const struct quota *quota, bool is_known)
{
    quota_end(quota);
    if (!is_known && quota->left) isl_ctx_set_max_operations(quota->ctx, 1);
}
