/* SPDX-License-Identifier: Apache-2.0
 * What `__constant__` variables hold: words of launches that guards compare (common/plan.h, PLAN_CONTENTS). The host alone
 * writes them, so this follows the host's calls. Known are what a module begins with, and copies from the host that the call
 * waits for. Any other call that may write a variable makes its bytes unknown, until such a copy overwrites them; so does
 * the end of a module, since another may take its place. A launch with an unknown word is not held.
 *
 * Launches and copies may stand behind something that waits for the host (driver_call_holds_up): a copy that is made later
 * overtakes them. From such a call until the context has been waited for, copies make nothing known, and no word is known. A copy or a
 * set that the host does not wait for may be done later, too, but concerns its own variable alone.
 *
 * Nothing is followed where the plan has no such words: then this costs a load at each copy. By any thread. */
#ifndef KFUSE_INTERPOSE_CONTENTS_H
#define KFUSE_INTERPOSE_CONTENTS_H

#include "common/plan.h"
#include "interpose/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool contents_are_followed; /* set before the program's first call of the driver that matters here */

void contents_start(const struct plan *plan);
/* A copy or a set has been submitted: bytes from `to` on may have changed. from: what the host holds was copied, and the call has
 * waited for that; 0: not so. */
void contents_written_slowly(uint64_t to, uint64_t from, uint64_t bytes);
static inline void contents_written(uint64_t to, uint64_t from, uint64_t bytes)
{
    if (contents_are_followed) contents_written_slowly(to, from, bytes);
}
/* A call of which no more than its name is known. */
void contents_meet(enum entry entry);
/* Before and behind a wait for all work of the context that the driver has made. */
uint64_t contents_wait_begins(void);
void contents_waited(uint64_t begun, CUresult result);
/* The word of the variable at this address. False: not known. */
bool contents_word(uint64_t variable, const struct plan_sum *word, uint64_t *value);
void contents_fork_child(void);

#endif
