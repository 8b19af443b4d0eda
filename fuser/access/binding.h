/* SPDX-License-Identifier: Apache-2.0
 * A launch whose pointers are known to lead to arrays. */
#ifndef KFUSE_FUSER_ACCESS_BINDING_H
#define KFUSE_FUSER_ACCESS_BINDING_H

#include "fuser/access/access.h"

/* Where a base of a launch points: two bases can touch the same byte only in one array. Arrays are device
 * allocations or module variables, numbered by the caller; offset: of the base's address from the start of
 * the array, bytes. */
struct array_binding {
    uint32_t array;
    int64_t offset;
    int64_t size;    /* of the array */
    bool is_plain;   /* an allocation of this process or a module variable; else it aliases every non-plain */
    bool is_private; /* the host sees it by calls alone: not managed, and no stream frees it */
};
struct bound_launch {
    const struct access_summary *summary;
    const struct array_binding *bindings; /* one a base, in order */
};

#endif
