/* SPDX-License-Identifier: Apache-2.0
 * Bounds the work of isl, in operations of its own, so that what is found does not depend on the machine.
 * What is asked beyond a bound is answered with an error, which every caller takes for "not proved". A quota
 * inside another has operations of its own; the outer one goes on with what it had left. */
#ifndef KFUSE_FUSER_SOLVER_QUOTA_H
#define KFUSE_FUSER_SOLVER_QUOTA_H

#include <isl/ctx.h>
#include <stdbool.h>

/* Operations for a question that a memo keeps (memo.h). Of a hundred programs' questions none that took 50 ms and was answered took
 * a fifth of it. */
enum { QUOTA_QUESTION = 100000 };

struct quota {
    isl_ctx *ctx;
    unsigned long left; /* of the caller's own bound: 0: it has none; 1: nothing */
};
struct quota quota_begin(isl_ctx *ctx, unsigned long operations);
void quota_end(const struct quota *quota);
/* Operations since the count began anew, up to a sixty-fourth too few. 0 once isl was told to give up. */
unsigned long quota_spent(isl_ctx *ctx);
bool quota_is_used_up(isl_ctx *ctx);

/* A question whose answer a memo may have. Whether it has makes no difference: asked when nothing is left, it
 * is not answered, and unless it is, nothing is left. quota_ask: false: it is not to be asked. */
bool quota_ask(struct quota *quota, isl_ctx *ctx);
void quota_answer(const struct quota *quota, bool is_known);

#endif
