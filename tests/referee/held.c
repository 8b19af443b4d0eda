/* SPDX-License-Identifier: Apache-2.0
 * Launches carry the tag of the thread that issues them: none is that of another thread than the program's.
 */
#include "tests/referee/held.h"

#include "emulator/activity.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_PROGRAM = 1, TAG_WAIT, PAUSE_US = 20000, LATE_MOST = 2, LONG_US = 1000 };

static struct {
    emu_activity_tag tag; /* NULL: nothing is watched */
    atomic_uint by_others, by_wait;
    unsigned late_waits;
} held;

static void note(void *unused, const struct emu_activity *activity)
{
    (void)unused;
    if (activity->tag == 0) atomic_fetch_add(&held.by_others, 1);
    if (activity->tag == TAG_WAIT) atomic_fetch_add(&held.by_wait, 1);
}

void held_watch(void *driver)
{
    const char *hold = getenv("KFUSE_HOLD_US");
    void *subscribe = dlsym(driver, "emuActivitySubscribe"), *tag = dlsym(driver, "emuActivityTag");
    emu_activity_subscribe start;
    if (!hold || atol(hold) > LONG_US || !subscribe || !tag) return;
    memcpy(&start, &subscribe, sizeof start);
    memcpy(&held.tag, &tag, sizeof held.tag);
    start(note, NULL);
    held.tag(TAG_PROGRAM);
}

void held_tag_thread(void)
{
    if (held.tag) held.tag(TAG_PROGRAM);
}

void held_before_wait(void)
{
    if (!held.tag) return;
    usleep(PAUSE_US);
    atomic_store(&held.by_wait, 0);
    held.tag(TAG_WAIT);
}

void held_after_wait(void)
{
    if (!held.tag) return;
    held.tag(TAG_PROGRAM);
    if (atomic_load(&held.by_wait)) held.late_waits++;
}

bool held_for_ever(void)
{
    return held.late_waits > LATE_MOST && !atomic_load(&held.by_others);
}
