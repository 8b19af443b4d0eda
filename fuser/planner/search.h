/* SPDX-License-Identifier: Apache-2.0
 * The search. For every launch, the group that starts there and gains most (profit.h) is grown greedily: it
 * sees launches only through their classes and pairwise conflicts; a candidate that looks legal pair by pair
 * is then decided whole. Where that is a halo fusion, there is a second candidate without; where it passes over
 * launches, one that does not, as others may gain more with those; and where its code disappoints, a shorter one. Equal situations
 * are decided once (search.c). Which of these groups are chosen is then exact: dynamic programming over the
 * launches (choice.c). Groups that are not profitable over the whole run are dropped, the others compiled,
 * those that gain most first; after each they are chosen anew. */
#ifndef KFUSE_FUSER_PLANNER_SEARCH_H
#define KFUSE_FUSER_PLANNER_SEARCH_H

#include "fuser/planner/crew.h"
#include "common/plan.h"
#include "fuser/codegen/codegen.h"
#include "fuser/fusion/rename.h"
#include "fuser/planner/pairs.h"
#include "fuser/planner/planner.h"
#include "fuser/planner/projection.h"

enum {
    SEARCH_MOST_STEPS = 64,
    SEARCH_MOST_DEPENDENT =
        32, /* of a group whose members may depend on each other; a rematerialisation has a bit for each step */
    SEARCH_MOST_PASSED = 8,
    SEARCH_PREFIX_MOST = 8 /* launches before a group that become steps of it (deferred_prefix.c) */
};

struct search_group { /* a group as planned; launches are those of its first use */
    const char *name;
    uint32_t launches[SEARCH_MOST_STEPS];
    enum plan_step_role roles[SEARCH_MOST_STEPS];
    uint32_t step_count;
    uint32_t member_steps[SEARCH_MOST_STEPS]; /* member -> step */
    uint32_t member_count;
    uint32_t form;                 /* as pairs_group's */
    struct bound_launch *bound;    /* members */
    const struct verdict *verdict; /* once it is judged */
    struct group *group;           /* once it is used: verdict_carry_out */
    struct codegen_result code;
    struct projected projected;
    uint64_t uses;
    uint64_t
        gap_ns_sum[SEARCH_MOST_STEPS]; /* host time before each step but the first, summed over the uses */
    uint32_t largest_gap_ns;
    double held_apart_ns,
        held_gain_ns; /* of all uses: how long they take apart, and less fused (holding.h) */
    /* With renamed ranges: uses that follow each other in one window are a chain, where launches between let it go on. */
    uint32_t chain_end, chain_length; /* of the last one: the launch behind it, uses */
    uint64_t chains, restores; /* restores: chains of an odd length, after which the ranges are copied back */
    uint64_t mirrors;          /* what launches between uses write there, and is copied to the other buffer */
    struct {
        int64_t before, behind;
    } widened[RENAME_MOST];             /* bytes that are renamed along with each range (redirect.h) */
    double copying_ns;                  /* what that costs a use, on average: part of projected.fused_ns */
    bool is_compiled, is_ahead;         /* is_ahead: a crew was given it to compile */
    bool disappoints;                   /* compiled, it gains much less than was expected */
    const struct exactness **exactness; /* one a member, once compiled */
    const char *unproven;               /* why it must be verified on the device first, or NULL */
    const char *refusal;                /* why it did not compile well, loses, or was dropped */
    uint32_t cut;                     /* refused: the step before which the smaller group in its place ends */
    bool is_dropped;                  /* not profitable over the run: no smaller group in its place */
    bool is_kept;                     /* in the plan */
    struct search_deferred *deferred; /* the form that leaves ranges stale, or NULL: deferred.h */
    struct overwrites *overwrites;    /* once it is asked: overwrites.h */
};
/* Of the group in a plan: its kind (enum plan_group_flags). */
static inline uint32_t search_flags(const struct search_group *group)
{
    bool is_any = group->form == PAIRS_ANY_FORM || group->form == PAIRS_NOT_ONE_BLOCK;
    return group->form == PAIRS_INTER_BLOCK ? PLAN_INTER_BLOCK : is_any ? 0 : PLAN_LAST_BLOCK;
}

struct situations { /* situations.h */
    uint32_t *launches, count;
    uint32_t recurring; /* so many of them, the first */
    uint32_t *of;       /* launch -> the first one of its situation */
};

struct search {
    const struct planner_options *options;
    struct program *program;
    struct launch_classes *classes;
    struct pairs *pairs;
    struct projection projection;
    struct arena *arena;
    struct search_group **groups;
    uint32_t group_count, group_capacity;
    struct deadline *deadline;
    struct crew crew;      /* at work ahead of the search: ahead.h */
    bool crew_compiles;    /* that is what it is at */
    uint32_t crew_certain; /* its first tasks: the rest is for those who would be idle */
    bool skips_asked,
        has_skipped; /* in a worker: a verdict that another process is asked for is not waited for */
    uint32_t decided, compiled; /* drafts that were decided whole, groups that were compiled */
    struct verdict *verdicts;   /* uthash: verdict.h */
    struct situations situations;
    struct search_memo *memo;             /* uthash: situation -> group or reason */
    struct search_memo **memo_of;         /* launch -> its situation */
    const struct search_group **group_of; /* launch -> the group that has it as a step, or NULL */
    double *gain_from;                    /* launch -> most that it and those after it can gain, ns */
    struct search_group *
        *start_of; /* launch -> the group that starts here in the best choice from here, or NULL */
    struct search_group *
        *rival_of;          /* launch -> a group that the search did not try here, or NULL: rivals.h */
    const char **reason_of; /* launch -> why it starts no group, or NULL */
    struct search_group *bystanders; /* launches that are no step of a group: one step each, no code */
    uint32_t bystander_count;
    struct search_cover *covers; /* overwrites.h: those that the recorded program shows */
    uint32_t cover_count, cover_capacity;
    struct redirect **redirects;     /* by class: redirect.h */
    const struct measured *measured; /* by runs, where a group of those lost; or NULL: measurements.h */
    const char *error;               /* after search_run failed: why, with the next step */
};

static inline const struct launch_class *search_class(const struct search *search, uint32_t launch)
{
    return launch_class_of(search->classes, launch);
}
/* Before any of the below. False, with search->error set: memory is out. Release with search_free. */
bool search_open(struct search *search, const struct planner_options *options, struct pairs *pairs);
/* Opens it, and searches. False with search->error set: memory is out, or a group was chosen and there is no compiler for it. */
bool search_run(struct search *search, const struct planner_options *options, struct pairs *pairs);
void search_free(struct search *search);
/* After the search: why the group that ends with this launch (or the launch alone) does not go on with the
 * next one. is_legal: with a text, it is refused for what it costs, else nothing stands against it. */
struct search_trial {
    const char *refusal;
    bool is_legal;
    const char *given_up;       /* what was said of a longer group when it was given up, or NULL */
    struct projected projected; /* of the longer group, or 0 where no projection was needed */
};
void search_try_longer(struct search *search, uint32_t launch, struct search_trial *trial);
/* Of a group that moves as much less as this one: the group's own, or a form of it. */
struct projected search_projected(struct search *search, const struct search_group *planned,
                                  const struct group *group);
/* Files it. False when memory is out. */
bool search_add_group(struct search *search, struct search_group *planned);
/* Device time of a launch: its class's mean, or an estimate from its traffic; 0 when there is neither. */
uint64_t search_launch_time(struct search *search, uint32_t launch);

#endif
