/* SPDX-License-Identifier: Apache-2.0
 * The bound on wall-clock time. A phase of the plan has until a share of it; at its end isl is told to give
 * up whatever it is at, and everybody who asks is told that time is over. What was decided by then holds;
 * what isl answers afterwards is nobody's answer, and is thrown away. Only here does a plan depend on the
 * speed of the machine. */
#ifndef KFUSE_FUSER_SOLVER_DEADLINE_H
#define KFUSE_FUSER_SOLVER_DEADLINE_H

#include <isl/ctx.h>
#include <stdbool.h>
#include <time.h>

/* In this order; each goes on until its share of the time is over, also when the one before took longer. */
enum deadline_phase {
    DEADLINE_ANALYSE, /* launches */
    DEADLINE_SEARCH,  /* decisions about groups */
    DEADLINE_COMPILE,
    DEADLINE_DEFERRED, /* forms that leave ranges stale */
    DEADLINE_EXPLAIN,
    DEADLINE_PHASES
};

struct deadline {
    isl_ctx *ctx;
    double start, most; /* seconds; most 0: no bound */
    enum deadline_phase phase;
    bool was_cut[DEADLINE_PHASES]; /* time was over before the phase was done */
    timer_t timer;
    bool has_timer;
};

double deadline_now(void); /* seconds of a clock that only goes on */
/* start: since when time is counted. In no phase yet: nothing is bounded. */
void deadline_open(struct deadline *deadline, isl_ctx *ctx, double start, double most);
void deadline_close(struct deadline *deadline);
/* From now on the bound is that of this phase. */
void deadline_enter(struct deadline *deadline, enum deadline_phase phase);
/* Nothing is bounded from here on. */
void deadline_leave(struct deadline *deadline);
/* Seconds of the phase that are left, at least 0; a large number without a bound. */
double deadline_left(const struct deadline *deadline);
/* Whether the phase's time is over; remembers that it was cut. NULL: never. */
bool deadline_is_over(struct deadline *deadline);
/* What phases are called, for people; "" for one that was not cut. */
extern const char *const deadline_phase_names[DEADLINE_PHASES];

#endif
