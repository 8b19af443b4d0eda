/* SPDX-License-Identifier: Apache-2.0
 * Inside of join.c, which finds loops and joins them, and join_order.c, which answers what happens in their
 * iterations. */
#ifndef KFUSE_FUSER_FUSION_JOINING_H
#define KFUSE_FUSER_FUSION_JOINING_H

#include "fuser/fusion/join.h"

#define JOINING_NO_SHAPE UINT32_MAX
struct joining_access {
    uint32_t segment;
    uint32_t shape;    /* JOINING_NO_SHAPE: any byte. Before a loop, as in iteration 0 of that */
    bool is_innermost; /* in no loop inside the joined one */
};
struct joining {
    struct group *group;
    struct space *space;
    struct arena *arena;
    struct joining_access **accesses; /* a member's, in program order; NULL: not looked at */
    struct joining_shape {
        uint32_t array;
        struct touch touch; /* of F[bz, by, bx, tz, ty, tx, iteration] */
    } * shapes;
    uint32_t shape_count, table_size;
    isl_set **distances; /* shape by shape, { [iteration of b - iteration of a] : one thread's touch a byte };
                            NULL: not asked */
};

/* Fills joining->accesses[member]; false when memory is out. */
bool joining_describe(struct joining *joining, uint32_t member, const struct group_joined *joined);
/* No two of their accesses that conflict change places; both are described, and p comes first. Where q must
 * be shifted for that, or its prologue delayed, sets that. */
bool joining_order(struct joining *joining, const struct group_join *join, uint32_t p, uint32_t q);
/* The loop has as many iterations in both, in every thread: proved. */
bool joining_has_same_trip_count(const struct joining *joining, const struct group_join *join, uint32_t p,
                                 uint32_t q, uint32_t loop);
/* Some thread touches a byte with both in one iteration; both are in one loop. */
bool joining_meet_in_iteration(struct joining *joining, const struct placed_access *a,
                               const struct placed_access *b);
/* There is a path from one instruction of the member to another that does not iterate the joined loop, which
 * both are in. */
bool joining_follows(const struct joining *joining, uint32_t member, uint32_t a, uint32_t b);
void joining_forget(struct joining *joining);

#endif
