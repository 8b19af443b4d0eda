/* SPDX-License-Identifier: Apache-2.0
 * The objects behind handles. Memory that held an object is never given back, and is not used again before
 * many others of its kind have gone, so that a stale handle is recognised. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t object_magic = 0x6b667573652d656d;

static const size_t object_sizes[DRIVER_KINDS] = {
    [DRIVER_CONTEXT] = sizeof(struct driver_context), [DRIVER_MODULE] = sizeof(struct driver_module),
    [DRIVER_LIBRARY] = sizeof(struct driver_library), [DRIVER_FUNCTION] = sizeof(struct driver_function),
    [DRIVER_KERNEL] = sizeof(struct driver_kernel),   [DRIVER_STREAM] = sizeof(struct driver_stream),
    [DRIVER_EVENT] = sizeof(struct driver_event),     [DRIVER_GRAPH] = sizeof(struct driver_graph),
    [DRIVER_NODE] = sizeof(struct driver_node),       [DRIVER_EXEC] = sizeof(struct driver_graph),
    [DRIVER_POOL] = sizeof(struct driver_object),     [DRIVER_PHYSICAL] = sizeof(struct driver_physical),
};
enum { OBJECTS_APART = 64 };
static struct { /* free ones, oldest first */
    struct driver_object *first, *last;
    unsigned count;
} object_free[DRIVER_KINDS];

void *driver_object_create(enum driver_kind kind)
{
    struct driver_object *object = object_free[kind].first;
    if (object_free[kind].count > OBJECTS_APART) {
        object_free[kind].first = object->next;
        object_free[kind].count--;
    } else {
        object = malloc(object_sizes[kind]);
    }
    if (!object) return NULL;
    memset(object, 0, object_sizes[kind]);
    object->magic = object_magic;
    object->kind = kind;
    return object;
}

void driver_object_destroy(void *handle)
{
    struct driver_object *object = handle;
    if (!object) return;
    enum driver_kind kind = object->kind;
    object->kind = DRIVER_FREE;
    object->next = NULL;
    if (object_free[kind].count++)
        object_free[kind].last->next = object;
    else
        object_free[kind].first = object;
    object_free[kind].last = object;
}

bool driver_object_is(const void *handle, enum driver_kind kind)
{
    const struct driver_object *object = handle;
    return object && (uintptr_t)object % _Alignof(struct driver_object) == 0 && (uintptr_t)object >= 4096 &&
           object->magic == object_magic && object->kind == kind;
}
