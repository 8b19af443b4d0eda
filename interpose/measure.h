/* SPDX-License-Identifier: Apache-2.0
 * Measuring in place: whether a group's fused kernel is faster than its members where the program runs. A
 * group that is measured to lose is used no more.
 *
 * What is compared: the plan with the group and the plan without it, by the device's clock. Uses of a group
 * come in stretches of at least 8 (3 in the first rounds, where a use takes long), of a length that varies, so that it cannot keep
 * step with the program. In
 * a FUSED stretch all is as always. In an ORIGINAL one launches that may begin the group's pattern go to the
 * driver at once, as launches outside of the plan do: what is away is restored, what is pending is
 * materialised. They are matched all the same (queue.c, watch), so that uses are counted by the same rules.
 * Events are recorded in the stream behind the first and the last use of a stretch; the time between them,
 * over the uses, is the period of a use. Whatever a use brings lies in it: holding, rematerialisations,
 * copies back, what the program does in between. What the change from one stretch to the other brings (a copy
 * back that the program did not cause) lies before the end of a first use, and is not counted.
 *
 * Groups may begin with the same launches. Once launches that went ahead as the target's have turned out to be
 * another group's, the target's are held in ORIGINAL stretches, too, until it is known whose they are; then
 * they go to the driver, as originals. The other group is fused as always.
 *
 * Launches of either stretch go to the driver in chains (chain.h). In an ORIGINAL one these begin with each use; else few would come
 * again in so short a stretch, and have graphs.
 *
 * A device that is far behind the host runs a stretch of originals from what it has in store, however long
 * the host takes for their launches. So the period is what the host took, where that is more, in a
 * stretch in which the program has not waited: going on so, the device would wait for it. (A device that is
 * emulated has another time than the host.) What launches wait for room in the driver's queue is none of
 * the host's time (blocked.h).
 *
 * Where uses differ in what the program does between them, a stretch has whole periods of that (cadence.h): of six uses a time step
 * one is followed by what comes once a step. A round whose stretches are not alike does not count, and tells the period. After a
 * few such rounds the program has none, and all count.
 *
 * A round is three stretches, FUSED, ORIGINAL, FUSED; its gain is the original period less the mean of the
 * two others, so that what changes slowly cancels. One group is measured at a time: all other groups are used
 * as always in each of the three, and their uses between this one's uses are time of the program. A stretch
 * in which the program is not the same is no measure, and ends the round: another group's use came as
 * originals, a use of the group came fused in an ORIGINAL stretch, another group was switched off, holding
 * paused, a capture. A group whose rounds end so time and again is measured no more in this run.
 *
 * A group rests while it is expected to gain nothing: as projected, or by each of two rounds or more; or because another group of the
 * same kernels, at another place of the program, has been measured to lose, until a round says otherwise.
 * Its launches are held, and go to the driver as originals when a use is complete; in FUSED stretches it is
 * tried, one round at a time.
 *
 * A host that is a thousand launches ahead of its device hears late of what it has measured. While enough rounds
 * for a verdict are under way, the group runs as originals (WAITING) as far as the price below allows.
 *
 * A group whose first uses take longer than its members did when recorded (screen.h) rests as well, until a round says otherwise.
 *
 * The verdict (common/gain.h): a trimmed mean of the rounds' gains with its interval of 95% by Student's t.
 * Below zero, with 3 rounds at least: the group loses, and is off for the rest of the run, and in later runs
 * with the same plan. The rounds of earlier runs count (common/measured.h).
 *
 * The price: what is recorded, and the uses that do not run as is expected to be faster, times the difference:
 * originals of a group that gains, and fused ones of a group that rests. A round begins only
 * where all rounds together stay below 0.5% of the time since the first use of any group, and those of the
 * group below 0.5% of the time since its own first; 2.5% until the group has rounds for a verdict, in this run or earlier ones: a
 * projection is worth less than that, and uses that take long would else never be measured in short runs. (That time is the host's,
 * or what the uses so far take the device as projected, where that is more: a host may be ahead by all of it.) Of a group that is
 * known to gain, no more than one use in 512 runs as originals. A use that is not measured costs a compare and a decrement.
 *
 * How it could give a wrong result. It changes no launch, only whether it is held. An event is one more thing
 * in the stream of a launch that was just made: in the default stream, where other threads' work in other
 * streams would be ordered by it, none is recorded once there is a second thread. None is recorded in a
 * stream that is being captured; none is made or asked while a capture is under way, and these calls are made
 * in the relaxed mode of captures, for one that begins meanwhile. How it could hang: nothing is ever waited
 * for. Events are asked, at later uses and at exit, whether they are there; rounds whose events are not yet
 * stay pending, a few at a time, and no round begins without room. How it could be slow: a round that is
 * begun and never ended costs what its ORIGINAL stretch has; a group that is not used any more leaves its
 * turn to others. Events belong to the queue's context, and are forgotten with it; the child of a fork
 * measures nothing.
 *
 * KFUSE_MEASURE: 0: nothing is measured, read or written. always: round after round, in stretches of 4 uses,
 * whatever it costs; nothing is written and no group is switched off (for tests). held: the same, and
 * originals are held. Nothing is measured where
 * groups are verified (KFUSE_VERIFY).
 *
 * All with the queue's lock, but for what the start and the loading of code ask. */
#ifndef KFUSE_INTERPOSE_MEASURE_H
#define KFUSE_INTERPOSE_MEASURE_H

#include "common/plan.h"
#include "interpose/entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum measure_phase { MEASURE_IDLE, MEASURE_FUSED, MEASURE_ORIGINAL, MEASURE_FUSED_AGAIN, MEASURE_WAITING };
enum { MEASURE_NONE = UINT32_MAX };

/* For the inline functions below. */
struct measure_turn {
    enum measure_phase phase;
    uint32_t target; /* the group that is measured, or MEASURE_NONE */
    uint32_t left;   /* uses of it until something is to be done */
    uint32_t skip;   /* uses of others until then */
    bool has_rivals; /* the target: its launches are held in ORIGINAL stretches, too */
};
extern struct measure_turn measure_turn;
extern atomic_bool measure_has_waited; /* the program, in this stretch */
extern bool *measure_rests;            /* by group; NULL: nothing is measured */

/* Reads what earlier runs have measured. The plan must stay. False when memory is out. */
bool measure_start(const struct plan *plan, const char *directory);
/* Earlier runs have found that the group loses. */
bool measure_is_loser(uint32_t group);

/* Uses of the target run as originals. */
static inline bool measure_watches(void)
{
    return __builtin_expect(measure_turn.phase == MEASURE_ORIGINAL || measure_turn.phase == MEASURE_WAITING,
                            0);
}
/* Launches of the target's pattern go to the driver at once. */
static inline bool measure_goes_ahead(void)
{
    return measure_watches() && !measure_turn.has_rivals;
}
/* This use, whose launches are all held, is to run as originals. */
static inline bool measure_keeps_apart(uint32_t group)
{
    if (group == measure_turn.target) return measure_watches() && measure_turn.has_rivals;
    return measure_rests && measure_rests[group];
}
/* A use of the target, in whatever form. */
void measure_note_use(void);
/* A use of the group has been issued fused: something is to be done. */
static inline bool measure_is_due(uint32_t group)
{
    if (group != measure_turn.target) return !--measure_turn.skip;
    measure_note_use();
    return measure_watches() || !--measure_turn.left;
}
/* Then: does it. uses: of the group so far, in this run. */
void measure_used(uint32_t group, uint64_t uses, CUstream stream);

/* An event will be recorded behind the use that is about to end: its last launch must come before. */
bool measure_wants_mark(void);
/* A use of the target has run as originals. */
void measure_watched(CUstream stream);
/* The same of any group, all of whose launches have been held. uses: as above. */
void measure_kept_apart(uint32_t group, uint64_t uses, CUstream stream);
/* The last of so many launches of the target's pattern comes so late that holding would have ended: no use.
 */
bool measure_is_late(int64_t begun_ns, uint32_t launches);

/* An event of ours may be recorded in the stream. */
bool measure_may_mark(CUstream stream);

/* The program waits for the device, or may. By anyone. */
static inline void measure_note_wait(void)
{
    atomic_store_explicit(&measure_has_waited, true, memory_order_relaxed);
}
/* What has gone to the driver as the target's was another group's: this round does not count, and later ones
 * hold. */
void measure_met_rival(void);
/* The program is not the same in this round: it does not count. */
void measure_break(const char *reason);
/* It is to be measured, and nothing is known of it yet. */
bool measure_lacks_rounds(uint32_t group);
/* Its fused kernel takes longer than its members did, by so much: it rests until a round says otherwise. */
void measure_suspect(uint32_t group, double longer_ns);
/* A group that loses, and is to be switched off; MEASURE_NONE: there is none. */
uint32_t measure_next_loser(void);

/* At exit: writes what this run has measured. */
void measure_finish(void);
/* Of the queue's context. By anyone. */
bool measure_has_events(void);
/* The queue's context is gone, or about to go: its events with it. */
void measure_context_gone(void);
void measure_fork_child(void);

#endif
