/* SPDX-License-Identifier: Apache-2.0
 * Records of launches for a profiler (activity.h). They are delivered when the entry point that ran the
 * launch has given the lock back, because the subscriber has locks of its own. */
#include "emulator/driver.h"

#include <stdlib.h>

static emu_activity_callback activity_callback;
static void *activity_context;
static _Thread_local uint64_t activity_tag;
static _Thread_local struct emu_activity *activity_list;
static _Thread_local size_t activity_count, activity_capacity;

__attribute__((visibility("default"))) int emuActivitySubscribe(emu_activity_callback callback,
                                                                void *context);
__attribute__((visibility("default"))) void emuActivityTag(uint64_t tag);

int emuActivitySubscribe(emu_activity_callback callback, void *context)
{
    driver_lock();
    activity_callback = callback;
    activity_context = context;
    driver_unlock();
    return 0;
}

void emuActivityTag(uint64_t tag)
{
    activity_tag = tag;
}

uint64_t driver_activity_tag(void)
{
    return activity_tag;
}

void driver_activity_add(const struct emu_activity *activity)
{
    if (!activity_callback) return;
    if (activity_count == activity_capacity) {
        size_t capacity = activity_capacity ? activity_capacity * 2 : 16;
        struct emu_activity *grown = realloc(activity_list, capacity * sizeof *grown);
        if (!grown) return;
        activity_list = grown;
        activity_capacity = capacity;
    }
    activity_list[activity_count++] = *activity;
}

void driver_activity_deliver(void)
{
    if (activity_count == 0) return;
    size_t count = activity_count;
    struct emu_activity *list = activity_list;
    activity_list = NULL;
    activity_count = activity_capacity = 0;
    emu_activity_callback callback = activity_callback;
    for (size_t i = 0; callback && i < count; i++) callback(activity_context, &list[i]);
    free(list);
}
