/* SPDX-License-Identifier: Apache-2.0
 * Whether launches that are held are let go while the program calls nothing: what a host that waits for
 * memory to change relies on. No result shows it, so the emulated driver is asked who issued what has run. */
#ifndef KFUSE_TESTS_REFEREE_HELD_H
#define KFUSE_TESTS_REFEREE_HELD_H

#include <stdbool.h>

/* At the start, with the driver's handle. Nothing is watched on another driver, or with a long hold. */
void held_watch(void *driver);
/* What another thread of the program issues is the program's too. */
void held_tag_thread(void);
/* In the program's thread, before and after it waits for the device, while it may still be holding. */
void held_before_wait(void);
void held_after_wait(void);
/* Several waits had to issue launches, and nobody else has ever issued any. */
bool held_for_ever(void);

#endif
