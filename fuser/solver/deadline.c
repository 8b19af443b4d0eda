/* SPDX-License-Identifier: Apache-2.0
 * A timer whose signal has isl give up: see deadline.h. The handler finds the context in the signal. */
#include "fuser/solver/deadline.h"

#include <signal.h>
#include <string.h>

const char *const deadline_phase_names[DEADLINE_PHASES] = {
    [DEADLINE_ANALYSE] = "analysing launches", [DEADLINE_SEARCH] = "searching groups",
    [DEADLINE_COMPILE] = "compiling groups",   [DEADLINE_DEFERRED] = "choosing what is left stale",
    [DEADLINE_EXPLAIN] = "explaining",
};

/* By when a phase must be done, as a share of all time. */
static const double shares[DEADLINE_PHASES] = {
    [DEADLINE_ANALYSE] = 0.35,  [DEADLINE_SEARCH] = 0.65, [DEADLINE_COMPILE] = 0.9,
    [DEADLINE_DEFERRED] = 0.95, [DEADLINE_EXPLAIN] = 1.0,
};

double deadline_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void give_up(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (info->si_code == SI_TIMER) isl_ctx_abort(info->si_value.sival_ptr);
}

void deadline_open(struct deadline *deadline, isl_ctx *ctx, double start, double most)
{
    *deadline = (struct deadline){.ctx = ctx, .start = start, .most = most, .phase = DEADLINE_PHASES};
    if (most <= 0) return;
    struct sigaction action = {.sa_sigaction = give_up, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_ptr = ctx};
    deadline->has_timer =
        !sigaction(SIGALRM, &action, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &deadline->timer);
}

static void arm(struct deadline *deadline, double seconds)
{
    if (!deadline->has_timer) return;
    struct itimerspec at = {.it_value.tv_sec = (time_t)seconds};
    at.it_value.tv_nsec = (long)(1e9 * (seconds - (double)at.it_value.tv_sec));
    timer_settime(deadline->timer, 0, &at, NULL);
}

void deadline_leave(struct deadline *deadline)
{
    arm(deadline, 0);
    deadline->phase = DEADLINE_PHASES;
    isl_ctx_resume(deadline->ctx);
    isl_ctx_reset_error(deadline->ctx);
}

void deadline_close(struct deadline *deadline)
{
    deadline_leave(deadline);
    if (deadline->has_timer) timer_delete(deadline->timer);
    deadline->has_timer = false;
}

void deadline_enter(struct deadline *deadline, enum deadline_phase phase)
{
    if (deadline->most <= 0 || deadline->phase == phase) return;
    deadline_leave(deadline);
    deadline->phase = phase;
    double left = deadline_left(deadline);
    if (left > 0)
        arm(deadline, left);
    else
        isl_ctx_abort(deadline->ctx);
}

double deadline_left(const struct deadline *deadline)
{
    const double forever = 1e9;
    if (deadline->most <= 0 || deadline->phase == DEADLINE_PHASES) return forever;
    double left = deadline->start + shares[deadline->phase] * deadline->most - deadline_now();
    return left > 0 ? left : 0;
}

bool deadline_is_over(struct deadline *deadline)
{
    if (!deadline || deadline_left(deadline) > 0) return false;
    deadline->was_cut[deadline->phase] = true;
    isl_ctx_abort(deadline->ctx);
    return true;
}
