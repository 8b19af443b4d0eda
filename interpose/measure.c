/* SPDX-License-Identifier: Apache-2.0
 * Measuring in place; see measure.h. What was measured before, and is kept: at start and at exit alone. */
#include "interpose/measure.h"

#include "common/log.h"
#include "common/measured.h"
#include "common/setting.h"
#include "interpose/blocked.h"
#include "interpose/cadence.h"
#include "interpose/chain.h"
#include "interpose/own_stream.h"
#include "interpose/queue_parts.h"
#include "interpose/relaxed.h"
#include "interpose/shim.h"
#include "interpose/timer.h"
#include "interpose/verify.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_USES = 8, /* of a stretch */
    EARLY_USES =
        3, /* the same of the first rounds of a group whose uses take long: what they differ by shows soon */
    EARLY_ROUNDS = 6,
    LONG_NS = 20000, /* a use, as projected */
    REST_LEAST = 2,  /* rounds that say so, of a group that was projected to gain, until it rests */
    ALWAYS_USES = 4, /* the same with KFUSE_MEASURE=always */
    ALWAYS_LOOKS = 16,
    STRETCHES = 3, /* of a round */
    MARKS = 2 * STRETCHES,
    ROUNDS_PENDING = 4,
    SKIP = 32,     /* uses from one look at the clock to the next, at most */
    SKIP_RARE = 2, /* the same where looks were long apart */
    RARE_NS = 1000000,
    WAIT_MOST = 4096, /* uses as originals while a verdict is under way */
    IDLE_LOOKS = 256, /* of others, without a use of the target */
    BROKEN_MOST = 16, /* rounds of a group, one after the other */
    UNLIKE_MOST = 4,  /* rounds whose stretches are not alike, until such count as well */
    LONGEST_USES = CADENCE_MOST / STRETCHES,
    WINNER_SHARE = 512, /* uses of a winner for one that runs as originals */
    MARK_NS = 2000,     /* what an event costs the host and the device, its reading included */
    SHARE = 200,        /* of the time, for one part that measuring takes */
    FIRST_SHARE = 40,   /* the same until a verdict is possible */
    TWICE_HOLD = 2,     /* the timer looks twice at what it releases */
    LAUNCH_NS = 10000,  /* a call of the driver takes less, and holding takes none */
    QUERY_NS = 1000,    /* what it costs to ask for an event that is not there */
    QUERY_WAIT_NS = 1000000
};

struct group {
    int64_t begun_ns;               /* its first use, or 0 */
    uint64_t marks;                 /* recorded */
    uint64_t originals;             /* uses as originals */
    uint64_t tries;                 /* fused uses of rounds of a group that rests */
    uint64_t fused;                 /* its uses that are not originals, at the last look */
    uint32_t broken;                /* rounds since the last that was not */
    uint32_t unlike;                /* rounds whose stretches were not alike */
    double suspected_ns;            /* that a use is taken to lose, as one of the same members does; or 0 */
    uint32_t period;                /* uses after which the program does the same again; 0: not known */
    bool is_over, is_losing;        /* is_over: nothing more is measured in this run */
    bool has_rivals;                /* groups that begin with the same launches */
    struct gain gain;               /* of earlier runs and this one, in ns */
    struct measured_group all, own; /* rounds of earlier runs and this one; of this one */
};

struct round {
    uint32_t group;             /* MEASURE_NONE: free */
    uint32_t uses;              /* of each stretch */
    int64_t host_ns[STRETCHES]; /* that the host took for it, or 0: it has waited */
    CUevent events[MARKS];
};

struct measure_turn measure_turn = {.target = MEASURE_NONE, .skip = UINT32_MAX};
atomic_bool measure_has_waited;
bool *measure_rests;

static struct measure {
    bool is_on, is_always;
    bool has_rivals; /* every group is taken to have some */
    const struct plan *plan;
    char directory[PATH_MAX];
    struct group *groups;
    struct round rounds[ROUNDS_PENDING]; /* pending ones from first on, then the one that is under way */
    uint32_t first, pending;
    atomic_bool has_events;
    bool is_rare;           /* uses are: the clock is looked at more often */
    bool has_begun;         /* the stretch has had its first use */
    uint32_t marks;         /* of the round under way */
    uint32_t length;        /* uses in each of its stretches */
    uint32_t late;          /* uses in the stretch that were too late to count */
    struct cadence cadence; /* of the round under way */
    uint32_t random;
    uint32_t idle_looks, idle_left;
    int64_t begun_ns;   /* first use of any group */
    int64_t looked_ns;  /* at the clock, last */
    int64_t query_ns;   /* no event is asked for before */
    double spent_ns;    /* of all groups */
    uint32_t losers;    /* that are still to be switched off */
    uint64_t stretches; /* measured */
} measure;

/* --- what a group is measured to gain --- */

static double projected_ns(uint32_t group)
{
    return (double)measure.plan->groups[group].projected_gain_ns;
}

/* One round says more than a projection. */
static double expected_ns(uint32_t group)
{
    const struct gain *gain = &measure.groups[group].gain;
    return gain->count ? gain->mean : projected_ns(group);
}

/* The best round says how little a group may lose: a pause of the host makes others worse. */
static double best_ns(uint32_t group)
{
    const struct measured_group *all = &measure.groups[group].all;
    double suspected = measure.groups[group].suspected_ns,
           best = suspected > 0 ? -suspected : projected_ns(group);
    for (uint32_t i = 0; i < all->round_count; i++) {
        double gain = ((double)all->rounds[i].original_ps - (double)all->rounds[i].fused_ps) / 1e3;
        if (!i || gain > best) best = gain;
    }
    return best;
}

/* What so many uses cost that do not run as is expected to be faster. */
static double price_ns(uint32_t group, uint64_t originals, uint64_t tries)
{
    if (measure_rests[group]) return (double)tries * -best_ns(group);
    double expected = expected_ns(group);
    return expected > 0 ? (double)originals * expected : 0;
}

static double spent_ns(uint32_t group)
{
    const struct group *own = &measure.groups[group];
    return (double)own->marks * MARK_NS + price_ns(group, own->originals, own->tries);
}

/* One round alone may be a pause of the host: it ends a rest, and begins none. */
static void decide_rest(uint32_t group)
{
    bool is_known = measure.groups[group].all.round_count >= REST_LEAST || projected_ns(group) <= 0 ||
                    measure.groups[group].suspected_ns > 0;
    measure_rests[group] = !measure.is_always && is_known && best_ns(group) <= 0;
}

/* The next member's kernel from this step on; the step behind it. */
static uint32_t next_member(const struct plan_group *group, uint32_t *step)
{
    while (*step < group->step_count) {
        const struct plan_step *of = &measure.plan->steps[group->first_step + (*step)++];
        if (of->role == PLAN_MEMBER) return of->kernel;
    }
    return UINT32_MAX;
}

static bool have_same_members(const struct plan_group *a, const struct plan_group *b)
{
    uint32_t at_a = 0, at_b = 0, kernel;
    if ((a->flags ^ b->flags) & PLAN_KINDS) return false;
    do {
        kernel = next_member(a, &at_a);
        if (kernel != next_member(b, &at_b)) return false;
    } while (kernel != UINT32_MAX);
    return true;
}

/* Groups of the same kernels, which a time step has at several places, may lose as well: until there are rounds of their own they
 * rest. */
static void suspect_others(uint32_t loser)
{
    const struct plan_group *groups = measure.plan->groups;
    for (uint32_t i = 0; i < measure.plan->header->groups.count; i++) {
        struct group *other = &measure.groups[i];
        if (i == loser || other->all.round_count || !have_same_members(&groups[i], &groups[loser])) continue;
        other->suspected_ns = -measure.groups[loser].gain.mean;
        decide_rest(i);
    }
}

bool measure_lacks_rounds(uint32_t group)
{
    return measure.is_on && !measure.is_always && !measure.groups[group].all.round_count;
}

void measure_suspect(uint32_t group, double longer_ns)
{
    struct group *own = &measure.groups[group];
    if (!measure_lacks_rounds(group)) return;
    own->suspected_ns = longer_ns;
    log_write(
        LOG_INFO, "measure",
        "group %s rests until it is measured: a launch takes %.2f us longer than its members when recorded",
        measure.plan->strings + measure.plan->groups[group].name, longer_ns / 1e3);
    measure_break("a group rests");
    decide_rest(group);
}

static void append_round(struct measured_group *rounds, const struct measured_round *round)
{
    if (rounds->round_count == GAIN_MOST)
        memmove(rounds->rounds, rounds->rounds + 1, --rounds->round_count * sizeof *round);
    rounds->rounds[rounds->round_count++] = *round;
}

static void judge(uint32_t group)
{
    struct group *own = &measure.groups[group];
    own->gain = measured_gain(&own->all);
    decide_rest(group);
    if (!gain_loses(&own->gain) || measure.is_always || own->is_losing) return;
    own->is_losing = own->is_over = true;
    measure.losers++;
    suspect_others(group);
    log_write(LOG_INFO, "measure",
              "group %s is off: a use takes %.2f us longer with it (%.2f to %.2f us, %u rounds; projected "
              "%.2f us less)",
              measure.plan->strings + measure.plan->groups[group].name, -own->gain.mean / 1e3,
              -own->gain.high / 1e3, -own->gain.low / 1e3, own->gain.count, projected_ns(group) / 1e3);
}

/* --- calls of the driver --- */

static void end_measuring(const char *reason)
{
    if (!measure.is_on) return;
    log_write(LOG_INFO, "measure", "nothing more is measured: %s", reason);
    measure.is_on = false;
    measure.pending = 0;
    measure_turn = (struct measure_turn){.target = MEASURE_NONE, .skip = UINT32_MAX};
    blocked_watch(false);
}

static bool make_events(void)
{
    bool is_made = true, is_pushed = queue_push_context();
    CUstreamCaptureMode mode = relaxed_begin();
    for (uint32_t i = 0; i < ROUNDS_PENDING; i++)
        for (uint32_t j = 0; is_made && j < MARKS; j++)
            is_made = REAL(cuEventCreate)(&measure.rounds[i].events[j], CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    relaxed_end(mode);
    queue_pop_context(is_pushed);
    measure.has_events = is_made;
    if (!is_made) end_measuring("no events are to be had");
    return is_made;
}

/* In ps a use. */
static bool read_period(const struct round *round, uint32_t stretch, uint64_t *period)
{
    float ms;
    const CUevent *events = &round->events[2 * stretch];
    if (REAL(cuEventElapsedTime)(&ms, events[0], events[1]) != CUDA_SUCCESS || !(ms >= 0)) return false;
    double ns = (double)ms * 1e6, host_ns = (double)round->host_ns[stretch];
    if (host_ns > ns && !measure.plan->header->is_emulated) ns = host_ns;
    *period = (uint64_t)(ns * 1e3 / (round->uses - 1) + 0.5);
    return true;
}

/* Every stretch ended behind the one before. */
static CUresult read_round(const struct round *round, struct measured_round *result)
{
    uint64_t periods[STRETCHES];
    CUresult status = REAL(cuEventQuery)(round->events[MARKS - 1]);
    for (uint32_t i = 0; status == CUDA_SUCCESS && i < STRETCHES; i++)
        if (!read_period(round, i, &periods[i])) status = CUDA_ERROR_UNKNOWN;
    if (status == CUDA_SUCCESS)
        *result =
            (struct measured_round){.original_ps = periods[1], .fused_ps = (periods[0] + periods[2]) / 2};
    return status;
}

static void take_round(const struct round *round, const struct measured_round *result)
{
    struct group *own = &measure.groups[round->group];
    double before = spent_ns(round->group);
    append_round(&own->all, result);
    append_round(&own->own, result);
    own->own.uses += STRETCHES * round->uses;
    judge(round->group);
    measure.spent_ns += spent_ns(round->group) - before;
}

/* Those whose events are there. */
static void read_rounds(int64_t now)
{
    if (!measure.pending || now < measure.query_ns || track_is_capturing()) return;
    bool is_pushed = queue_push_context();
    CUstreamCaptureMode mode = relaxed_begin();
    while (measure.pending) {
        struct measured_round result;
        const struct round *round = &measure.rounds[measure.first];
        CUresult status = read_round(round, &result);
        if (status == CUDA_ERROR_NOT_READY) {
            measure.query_ns = now + QUERY_WAIT_NS;
            measure.spent_ns += QUERY_NS;
            break;
        }
        if (status == CUDA_SUCCESS) take_round(round, &result);
        measure.first = (measure.first + 1) % ROUNDS_PENDING;
        measure.pending--;
    }
    relaxed_end(mode);
    queue_pop_context(is_pushed);
}

bool measure_may_mark(CUstream stream)
{
    CUstreamCaptureStatus status;
    if (queue_has_threads() && queue_same_stream(stream, NULL)) return false;
    if (stream == CU_STREAM_PER_THREAD && !own_stream_is_here) return false;
    return !track_is_capturing() && REAL(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/* --- rounds --- */

static struct round *current(void)
{
    return &measure.rounds[(measure.first + measure.pending) % ROUNDS_PENDING];
}

/* In an order without a period that a program could have. */
static uint32_t any_below(uint32_t limit)
{
    measure.random = measure.random * 1664525 + 1013904223;
    return (measure.random >> 16) % limit;
}

static uint32_t next_skip(void)
{
    return measure.is_always ? 1 : 1 + any_below(measure.is_rare ? SKIP_RARE : SKIP);
}

static void end_turn(void)
{
    measure_turn = (struct measure_turn){.target = MEASURE_NONE, .skip = next_skip()};
    blocked_watch(false);
}

void measure_break(const char *reason)
{
    if (measure_turn.phase == MEASURE_IDLE) return;
    if (measure_turn.phase == MEASURE_WAITING) {
        end_turn();
        return;
    }
    struct group *own = &measure.groups[measure_turn.target];
    if (++own->broken == BROKEN_MOST && !measure.is_always) own->is_over = true;
    log_write(LOG_DEBUG, "measure", "group %s: round broken in stretch %u, %u uses before its end: %s%s",
              measure.plan->strings + measure.plan->groups[measure_turn.target].name, measure.marks / 2,
              measure_turn.left, reason, own->is_over ? "; measured no more" : "");
    end_turn();
}

void measure_met_rival(void)
{
    struct group *own = &measure.groups[measure_turn.target];
    if (measure_turn.phase == MEASURE_IDLE) return;
    own->has_rivals = true;
    measure_break("another group began with the same launches");
}

/* At the begin and at the end of a stretch. */
static void note_host_time(void)
{
    int64_t *host_ns = &current()->host_ns[measure.marks / 2], now = blocked_clock_ns();
    bool is_begin = measure.marks % 2 == 0;
    bool has_waited = atomic_exchange_explicit(&measure_has_waited, false, memory_order_relaxed);
    *host_ns = is_begin ? now : has_waited ? 0 : now - *host_ns;
}

/* Behind the use that has just been issued. False: the round is over. */
static bool mark(CUstream stream)
{
    struct group *own = &measure.groups[measure_turn.target];
    if (!measure_may_mark(stream)) {
        measure_break("no event may be recorded in the stream");
        return false;
    }
    chain_cut();
    bool is_pushed = queue_push_context();
    CUresult result = REAL(cuEventRecord)(current()->events[measure.marks], stream);
    queue_pop_context(is_pushed);
    if (result != CUDA_SUCCESS) {
        end_measuring("an event cannot be recorded");
        return false;
    }
    note_host_time();
    measure.marks++;
    own->marks++;
    measure.spent_ns += MARK_NS;
    if (measure.marks % 2 == 0) shim_count(COUNT_STRETCHES);
    return true;
}

static void begin_stretch(enum measure_phase phase)
{
    measure_turn.phase = phase;
    measure_turn.left = 1;
    measure.has_begun = false;
    measure.late = 0;
}

/* Since the time of the host; of a device that is far behind, what it has been given to do. */
static double elapsed_ns(uint32_t group, int64_t begun_ns, int64_t now)
{
    const struct group *own = &measure.groups[group];
    double host = (double)(now - begun_ns);
    double given = (double)(own->fused + own->originals) * (double)measure.plan->groups[group].projected_ns;
    return host >= given || measure.plan->header->is_emulated ? host : given;
}

static bool stays_within(uint32_t group, double next_ns, int64_t now)
{
    const struct group *own = &measure.groups[group];
    double share = own->gain.count < GAIN_LEAST ? FIRST_SHARE : SHARE;
    return (measure.spent_ns + next_ns) * share <= elapsed_ns(group, measure.begun_ns, now) &&
           (spent_ns(group) + next_ns) * share <= elapsed_ns(group, own->begun_ns, now);
}

/* Rounds that are under way may bring a verdict, and one more use as originals can be afforded. */
static bool may_wait(uint32_t group, int64_t now)
{
    const struct group *own = &measure.groups[group];
    if (!measure.is_on || !measure.pending || own->is_over || own->gain.count + measure.pending < GAIN_LEAST)
        return false;
    return measure.is_always || (!gain_wins(&own->gain) && stays_within(group, price_ns(group, 1, 0), now));
}

void measure_note_use(void)
{
    const struct shim_count_slot *slot = shim_own_counts;
    cadence_note(&measure.cadence,
                 slot ? atomic_load_explicit(&slot->counts[COUNT_LAUNCHES], memory_order_relaxed) : 0);
}

/* A stretch has more of what comes once in several uses than another one. What comes is learnt from it, or from a longer round. */
static bool is_unlike(struct group *own)
{
    uint32_t length = measure.length;
    if (measure.is_always || cadence_alike(&measure.cadence, length, STRETCHES)) return false;
    if (own->unlike == UNLIKE_MOST) return false;
    own->unlike++;
    own->period = cadence_period(&measure.cadence, 0, STRETCHES * length);
    if (!own->period) own->period = cadence_period(&measure.cadence, length, 2 * length);
    return true;
}

/* The round's events lie in the stream. */
static void end_round(void)
{
    struct round *round = current();
    if (is_unlike(&measure.groups[measure_turn.target])) {
        log_write(LOG_DEBUG, "measure", "group %s: stretches that are not alike; period %u",
                  measure.plan->strings + measure.plan->groups[measure_turn.target].name,
                  measure.groups[measure_turn.target].period);
        end_turn();
        return;
    }
    round->group = measure_turn.target;
    round->uses = measure.length;
    measure.groups[round->group].broken = 0;
    measure.pending++;
    if (!may_wait(round->group, shim_now_ns())) {
        end_turn();
        return;
    }
    measure_turn.phase = MEASURE_WAITING;
    measure_turn.left = measure.is_always ? ALWAYS_USES : WAIT_MOST;
    measure.late = 0;
}

/* A use with which a stretch begins or ends. */
static void bound_stretch(CUstream stream)
{
    if (!mark(stream)) return;
    if (!measure.has_begun) {
        measure.has_begun = true;
        measure_turn.left = measure.length - 1;
    } else if (measure_turn.phase == MEASURE_FUSED_AGAIN) {
        end_round();
    } else {
        begin_stretch(measure_turn.phase == MEASURE_FUSED ? MEASURE_ORIGINAL : MEASURE_FUSED_AGAIN);
    }
}

/* Fused uses that a round brings. */
static uint32_t tries_of(uint32_t group, uint32_t length)
{
    return measure_rests[group] ? (STRETCHES - 1) * length : 0;
}

/* The next round of the group would stay within the bounds. */
static bool is_affordable(uint32_t group, uint64_t uses, uint32_t length, int64_t now)
{
    struct group *own = &measure.groups[group];
    own->fused = uses;
    if (!own->begun_ns) own->begun_ns = now;
    if (!measure.begun_ns) measure.begun_ns = now;
    if (measure.is_always) return true;
    if (gain_wins(&own->gain) && (own->originals + length) * WINNER_SHARE > uses) return false;
    return stays_within(group, MARKS * MARK_NS + price_ns(group, length, tries_of(group, length)), now);
}

/* As many and one more, as the first is not counted, that whole periods are at least the least. */
static uint32_t whole_periods(uint32_t period, uint32_t least)
{
    uint32_t length = 1 + (least - 1 + period - 1) / period * period;
    return length > LONGEST_USES ? 0 : length;
}

/* Less than twice the least, or whole periods. Where none is seen in a round, later ones are longer. */
static uint32_t next_length(uint32_t group)
{
    const struct group *own = &measure.groups[group];
    bool is_early = measure.groups[group].all.round_count < EARLY_ROUNDS &&
                    measure.plan->groups[group].projected_ns >= LONG_NS;
    uint32_t least = is_early ? EARLY_USES : LEAST_USES;
    if (measure.is_always) return ALWAYS_USES;
    uint32_t whole = own->period > 1 ? whole_periods(own->period, least) : 0;
    if (whole) return whole;
    for (uint32_t i = 0; i < own->unlike && own->unlike < UNLIKE_MOST; i++) least *= 2;
    uint32_t length = least + any_below(least);
    return length < LONGEST_USES ? length : LONGEST_USES;
}

/* A use has just been issued: fused, where the group does not rest. */
static void begin_round(uint32_t group, CUstream stream)
{
    struct group *own = &measure.groups[group];
    double before = spent_ns(group);
    own->tries += tries_of(group, measure.length);
    measure.spent_ns += spent_ns(group) - before;
    measure.marks = measure.idle_looks = measure.cadence.count = 0;
    measure_turn.target = group;
    measure_turn.has_rivals = measure.has_rivals || own->has_rivals;
    blocked_watch(true);
    begin_stretch(MEASURE_FUSED);
    if (measure_rests[group]) return;
    measure_note_use();
    bound_stretch(stream);
}

static void try_round(uint32_t group, uint64_t uses, CUstream stream)
{
    int64_t now = shim_now_ns();
    measure.is_rare = now - measure.looked_ns > RARE_NS;
    measure.looked_ns = now;
    read_rounds(now);
    if (!measure.is_on || measure.groups[group].is_over || !queue.groups[group].is_on ||
        measure.pending >= (measure_rests[group] ? 1 : ROUNDS_PENDING))
        return;
    measure.length = next_length(group);
    if (!is_affordable(group, uses, measure.length, now) || !measure_may_mark(stream)) return;
    if (!measure.has_events && !make_events()) return;
    begin_round(group, stream);
}

/* Others are used, and the target is not. */
static void look_whether_idle(void)
{
    if (measure_turn.left != measure.idle_left) measure.idle_looks = 0;
    measure.idle_left = measure_turn.left;
    if (++measure.idle_looks == (measure.is_always ? ALWAYS_LOOKS : IDLE_LOOKS))
        measure_break("the group is not used any more");
}

void measure_used(uint32_t group, uint64_t uses, CUstream stream)
{
    if (group == measure_turn.target) {
        if (measure_watches() || !queue.groups[group].is_on)
            measure_break("a use came fused among originals");
        else
            bound_stretch(stream);
        return;
    }
    measure_turn.skip = next_skip();
    if (!measure.is_on)
        measure_turn.skip = UINT32_MAX;
    else if (measure_turn.phase == MEASURE_IDLE)
        try_round(group, uses, stream);
    else
        look_whether_idle();
}

bool measure_wants_mark(void)
{
    return measure_turn.phase == MEASURE_ORIGINAL && measure_turn.left == 1;
}

static void wait_on(uint32_t group)
{
    int64_t now = shim_now_ns();
    read_rounds(now);
    if (!--measure_turn.left || !may_wait(group, now)) end_turn();
}

static void count_original(uint32_t group)
{
    double before = spent_ns(group);
    measure.groups[group].originals++;
    measure.spent_ns += spent_ns(group) - before;
}

void measure_watched(CUstream stream)
{
    count_original(measure_turn.target);
    measure_note_use();
    if (measure_turn.phase == MEASURE_WAITING)
        wait_on(measure_turn.target);
    else if (!--measure_turn.left)
        bound_stretch(stream);
}

void measure_kept_apart(uint32_t group, uint64_t uses, CUstream stream)
{
    if (group == measure_turn.target) {
        measure_watched(stream);
        return;
    }
    count_original(group);
    if (!--measure_turn.skip) measure_used(group, uses, stream);
}

bool measure_is_late(int64_t begun_ns, uint32_t launches)
{
    int64_t limit = TWICE_HOLD * timer_period_ns() + (int64_t)launches * LAUNCH_NS;
    if (blocked_clock_ns() - begun_ns <= limit) return false;
    if (++measure.late > measure.length) measure_break("uses take longer than launches are held");
    return true;
}

uint32_t measure_next_loser(void)
{
    for (uint32_t i = 0; measure.losers && i < measure.plan->header->groups.count; i++) {
        if (!measure.groups[i].is_losing || !queue.groups[i].is_on) continue;
        if (measure_turn.phase != MEASURE_IDLE)
            end_turn(); /* without it others may be used at other launches, or not at all */
        measure.losers--;
        return i;
    }
    measure.losers = 0;
    return MEASURE_NONE;
}

/* --- start and end --- */

bool measure_is_loser(uint32_t group)
{
    return measure.groups && measure.groups[group].is_losing;
}

/* Of the two places. */
static void read_files(struct measured *measured)
{
    char path[PATH_MAX];
    const struct plan_header *header = measure.plan->header;
    measured_start(measured, header->device_name, header->driver_version);
    for (int in_cache = 0; in_cache < 2; in_cache++)
        if (measured_path(path, sizeof path, measure.directory, header->device_name, header->driver_version,
                          in_cache))
            measured_read(measured, path);
}

static void take_earlier(const struct measured *measured)
{
    for (uint32_t i = 0; i < measure.plan->header->groups.count; i++) {
        struct group *group = &measure.groups[i];
        const struct measured_group *earlier =
            measured_find(measured, group->all.identity, measure.plan->header->check);
        if (!earlier) continue;
        group->all = *earlier;
        group->gain = measured_gain(&group->all);
        group->is_losing = group->is_over = gain_loses(&group->gain) && !measure.is_always;
    }
}

bool measure_start(const struct plan *plan, const char *directory)
{
    const char *setting = setting_text("KFUSE_MEASURE");
    if ((setting && !setting_is_on("KFUSE_MEASURE")) || verify_is_asked()) return true;
    struct measured *measured = malloc(sizeof *measured);
    measure.groups = calloc((size_t)plan->header->groups.count + 1, sizeof *measure.groups);
    measure_rests = calloc((size_t)plan->header->groups.count + 1, sizeof *measure_rests);
    if (!measured || !measure.groups || !measure_rests) {
        free(measured);
        return false;
    }
    measure.has_rivals = setting && !strcmp(setting, "held");
    measure.is_always = measure.has_rivals || (setting && !strcmp(setting, "always"));
    measure.plan = plan;
    if (!realpath(directory, measure.directory))
        measure.directory[0] = 0; /* the program may change its folder */
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        struct measured_group *group = &measure.groups[i].all;
        group->identity = measured_identity_of(plan, i);
        group->plan = plan->header->check;
        measure.groups[i].own = *group;
    }
    read_files(measured);
    take_earlier(measured);
    free(measured);
    for (uint32_t i = 0; i < plan->header->groups.count; i++) decide_rest(i);
    for (uint32_t i = 0; i < plan->header->groups.count; i++)
        if (measure.groups[i].is_losing) suspect_others(i);
    measure.is_on = true;
    blocked_start();
    measure_turn.skip = 1;
    return true;
}

static bool has_own(void)
{
    for (uint32_t i = 0; i < measure.plan->header->groups.count; i++)
        if (measure.groups[i].own.round_count) return true;
    return false;
}

/* What others have written meanwhile stays. */
static bool write_file(struct measured *measured, bool in_cache)
{
    char path[PATH_MAX];
    const struct plan_header *header = measure.plan->header;
    if (!measured_path(path, sizeof path, measure.directory, header->device_name, header->driver_version,
                       in_cache))
        return false;
    measured_start(measured, header->device_name, header->driver_version);
    measured_read(measured, path);
    for (uint32_t i = 0; i < header->groups.count; i++)
        if (measure.groups[i].own.round_count) measured_add(measured, &measure.groups[i].own);
    return measured_write(measured, path);
}

void measure_finish(void)
{
    if (!measure.groups) return;
    measure.query_ns = 0;
    read_rounds(shim_now_ns());
    measure.is_on = false;
    if (measure.is_always || !has_own()) return;
    struct measured *measured = malloc(sizeof *measured);
    if (!measured || (!write_file(measured, false) && !write_file(measured, true)))
        log_write(LOG_INFO, "measure", "what was measured cannot be kept beside %s", measure.directory);
    free(measured);
}

bool measure_has_events(void)
{
    return atomic_load_explicit(&measure.has_events, memory_order_relaxed);
}

void measure_context_gone(void)
{
    end_measuring("the context is gone");
}

void measure_fork_child(void)
{
    measure.is_on = false;
    measure.groups = NULL;
    measure.pending = 0;
    measure_turn = (struct measure_turn){.target = MEASURE_NONE, .skip = UINT32_MAX};
}
