/* SPDX-License-Identifier: Apache-2.0
 * What a run of the referee found: lines in a file, added by its workers, which are also how a run goes on
 * where it was interrupted; and the table that is made of them. The file's first line says what the run is
 * of. Then, for each batch, in one piece:
 *
 *   fail NUMBER WHY
 *   refusal PAIRS REASON
 *   batch FIRST COUNT PASSED FAILED FUSED WATCHED COMPARED
 */
#ifndef KFUSE_TESTS_REFEREE_TALLY_H
#define KFUSE_TESTS_REFEREE_TALLY_H

#include "tests/referee/judge.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tally_run { /* which programs */
    uint64_t seed;
    uint32_t first, count, batch; /* count 0: of files */
    const char *commit;
};
struct tally {
    uint64_t passed, failed, fused, watched, compared, pairs;
    struct tally_reason {
        char text[256];
        uint64_t pairs;
    } reasons[512];
    uint32_t reason_count;
};

/* Makes the file ready for this run. One that another run has begun (of another commit, build, seed, size of
 * batches, or way to judge) is given another name: PATH.old. False when it can't be written. */
bool tally_open(const char *path, const struct tally_run *run, const struct judge *judge);
/* Adds a batch, in one write. */
void tally_add(const char *path, const struct batch *batch, uint32_t first);
/* Adds what the file parts has of one batch's programs as one batch; why: of a failure besides theirs, or
 * NULL. */
void tally_merge(const char *path, const char *parts, uint32_t first, const char *why);
/* Sums up the file, but for batches that are larger in this run; is_done[i] (may be NULL) for the others. */
void tally_read(struct tally *tally, const char *path, const struct tally_run *run, bool *is_done);
/* of the programs, in percent */
double tally_fused(const struct tally *tally);
void tally_write(FILE *out, struct tally *tally, const struct tally_run *run, const struct judge *judge,
                 double minutes);

#endif
