/* SPDX-License-Identifier: Apache-2.0
 * What an inner-thread group saves: loads that get their value in a register, stores that are dropped; and
 * which jumps to a member's end lead out of the whole kernel. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_FORWARD_H
#define KFUSE_FUSER_FUSION_FORWARD_H

#include "fuser/fusion/space.h"
#include "fuser/fusion/join.h"
#include "fuser/kernel/order.h"

/* Fills the group's forwards and drops. False only when memory is out. */
bool forward_values(struct group *group, struct space *space, const struct order *orders,
                    struct joining *joining);
/* The fused thread makes exactly this access, once, whenever its domain says so. */
bool forward_is_certain(const struct space *space, const struct placed_access *access);
/* A load and a store of one scalar, whose raw bits the load's register takes as they are. */
bool forward_is_element(struct space *space, const struct placed_access *from,
                        const struct placed_access *to);
/* A plain store that may be left out where nobody wants what it stores: see product.h. */
bool forward_may_leave_out(const struct access_summary *summary, const struct access *access);
/* Fills the group's exits and the guards of the space's remaps. */
bool exit_decide(struct group *group, struct space *space, const struct order *orders);

#endif
