/* SPDX-License-Identifier: Apache-2.0
 * First uses, timed by themselves; see screen.h. */
#include "interpose/screen.h"

#include "interpose/chain.h"
#include "interpose/measure.h"
#include "interpose/queue_parts.h"
#include "interpose/relaxed.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <stdlib.h>

enum {
    LOOKS = 2, /* of a group */
    PENDING_MOST = 16,
    LONG_NS = 20000,   /* members that take less are not looked at: what lies between two events would show */
    NOISE_NS = 10000,  /* what events and the host add to a launch */
    LONGER_SHARE = 10, /* a tenth */
    QUERY_WAIT_NS = 100000, /* from one question for an event to the next */
};

enum stage { STAGE_DONE, STAGE_FRESH /* not used yet */, STAGE_LOOKS };

struct candidate {
    enum stage stage;
    uint32_t begun, ended; /* looks */
    float least_ms;
};

struct look {
    uint32_t group;
    CUevent events[2];
};

uint32_t screen_open;

static struct screen {
    const struct plan *plan;
    struct candidate *groups;
    struct look looks[PENDING_MOST]; /* pending ones from first on */
    uint32_t first, pending;
    int64_t query_ns; /* no event is asked for before */
    bool has_events;
} screen;

static double apart_ns(uint32_t group)
{
    const struct plan_group *of = &screen.plan->groups[group];
    return (double)of->projected_ns + (double)of->projected_gain_ns;
}

static bool is_candidate(uint32_t group)
{
    const struct plan_group *of = &screen.plan->groups[group];
    return !(of->flags & PLAN_BYSTANDER) && of->projected_gain_ns && apart_ns(group) >= LONG_NS;
}

bool screen_start(const struct plan *plan)
{
    screen.plan = plan;
    screen.groups = calloc((size_t)plan->header->groups.count + 1, sizeof *screen.groups);
    if (!screen.groups) return false;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        if (!measure_lacks_rounds(i) || !is_candidate(i)) continue;
        screen.groups[i].stage = STAGE_FRESH;
        screen_open++;
    }
    return true;
}

static void leave(uint32_t group)
{
    if (screen.groups[group].stage == STAGE_DONE) return;
    screen.groups[group].stage = STAGE_DONE;
    screen_open--;
}

void screen_forget(void)
{
    screen.pending = screen_open = 0;
    screen.has_events = false;
}

bool screen_has_events(void)
{
    return screen.has_events;
}

static bool make_events(void)
{
    bool is_made = true;
    CUstreamCaptureMode mode = relaxed_begin();
    for (uint32_t i = 0; i < PENDING_MOST; i++)
        for (uint32_t j = 0; is_made && j < 2; j++)
            is_made = REAL(cuEventCreate)(&screen.looks[i].events[j], CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    relaxed_end(mode);
    screen.has_events = is_made;
    if (!is_made) screen_forget();
    return is_made;
}

/* Of the look that comes next. */
static bool record(CUstream stream, uint32_t end)
{
    chain_cut();
    bool is_pushed = queue_push_context();
    bool is_done = screen.has_events || make_events();
    const struct look *look = &screen.looks[(screen.first + screen.pending) % PENDING_MOST];
    is_done = is_done && REAL(cuEventRecord)(look->events[end], stream) == CUDA_SUCCESS;
    queue_pop_context(is_pushed);
    if (!is_done) screen_forget();
    return is_done;
}

bool screen_begin(uint32_t group, CUstream stream)
{
    struct candidate *of = &screen.groups[group];
    if (of->stage == STAGE_DONE) return false;
    if (of->stage == STAGE_FRESH) {
        of->stage = STAGE_LOOKS;
        return false;
    }
    if (of->begun == LOOKS || screen.pending == PENDING_MOST || !measure_may_mark(stream)) return false;
    screen.looks[(screen.first + screen.pending) % PENDING_MOST].group = group;
    return record(stream, 0);
}

void screen_end(CUstream stream)
{
    if (!screen_open || !measure_may_mark(stream) || !record(stream, 1)) return;
    const struct look *look = &screen.looks[(screen.first + screen.pending++) % PENDING_MOST];
    screen.groups[look->group].begun++;
}

/* True when that was the group's last look. */
static bool take_look(const struct look *look)
{
    struct candidate *of = &screen.groups[look->group];
    float ms;
    if (REAL(cuEventElapsedTime)(&ms, look->events[0], look->events[1]) == CUDA_SUCCESS && ms > 0 &&
        (of->least_ms <= 0 || ms < of->least_ms))
        of->least_ms = ms;
    return ++of->ended == LOOKS;
}

static bool is_longer(uint32_t group, double *longer_ns)
{
    *longer_ns = (double)screen.groups[group].least_ms * 1e6 - apart_ns(group);
    return *longer_ns > NOISE_NS + apart_ns(group) / LONGER_SHARE;
}

/* Of the oldest look; true when its group is suspected. */
static bool read_look(CUresult *status, uint32_t *group, double *longer_ns)
{
    const struct look *look = &screen.looks[screen.first];
    *status = REAL(cuEventQuery)(look->events[1]);
    if (*status == CUDA_ERROR_NOT_READY) return false;
    *group = look->group;
    bool is_last = take_look(look);
    screen.first = (screen.first + 1) % PENDING_MOST;
    screen.pending--;
    if (!is_last) return false;
    leave(*group);
    return is_longer(*group, longer_ns);
}

bool screen_next_suspect(uint32_t *group, double *longer_ns)
{
    if (!screen.pending || track_is_capturing()) return false;
    int64_t now = shim_now_ns();
    if (now < screen.query_ns) return false;
    bool is_suspected = false, is_pushed = queue_push_context();
    CUstreamCaptureMode mode = relaxed_begin();
    CUresult status = CUDA_SUCCESS;
    while (screen.pending && !is_suspected && status != CUDA_ERROR_NOT_READY)
        is_suspected = read_look(&status, group, longer_ns);
    relaxed_end(mode);
    queue_pop_context(is_pushed);
    if (!is_suspected) screen.query_ns = now + QUERY_WAIT_NS;
    return is_suspected;
}
