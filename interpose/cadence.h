/* SPDX-License-Identifier: Apache-2.0
 * What a program launches between uses of a group comes again after some uses: a time step has several. Stretches of uses (measure.h)
 * are alike where each has whole such periods; else one has more of what comes once a step than another.
 * Told by the number of launches that the program has made at each use. All with the queue's lock. */
#ifndef KFUSE_INTERPOSE_CADENCE_H
#define KFUSE_INTERPOSE_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { CADENCE_MOST = 96 }; /* uses that are looked at */
struct cadence {            /* zeros at first */
    uint32_t count;
    uint64_t launches[CADENCE_MOST]; /* so far, at each use */
};

void cadence_note(struct cadence *cadence, uint64_t launches);
/* Of stretches of so many uses, one after the other: from each one's first use to its last, the program has launched as much. True
 * where it is not known. */
bool cadence_alike(const struct cadence *cadence, uint32_t length, uint32_t stretches);
/* The least number of uses after which the same comes again, in those from first to before end; 0: none that is seen there. */
uint32_t cadence_period(const struct cadence *cadence, uint32_t first, uint32_t end);

#endif
