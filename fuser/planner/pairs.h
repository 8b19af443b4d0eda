/* SPDX-License-Identifier: Apache-2.0
 * Pairwise summaries, computed once: conflicts between two launches depend only on their classes and on how
 * their pointers relate (which are in one piece of an allocation, and how far apart: pieces.h). The same canonical text names
 * a slice of launches. */
#ifndef KFUSE_FUSER_PLANNER_PAIRS_H
#define KFUSE_FUSER_PLANNER_PAIRS_H

#include "fuser/fusion/group.h"
#include "fuser/planner/launch_class.h"
#include "fuser/planner/planner.h"
#include "fuser/solver/answers.h"

struct pairs {
    struct launch_classes *classes;
    struct answers *answers;
    struct pair_entry *entries;            /* uthash by key */
    const struct array_binding **bindings; /* per launch, made when first asked for */
    uint32_t computed;                     /* those that may meet, which take time */
    struct group_entry *groups;            /* uthash by key of the members */
    struct memo memo;                      /* of pairs and groups */
    bool skips_asked;                      /* in a worker: what another process is asked is not waited for */
};

/* Answers of other processes are those of the program's compiler, where it has one. */
bool pairs_open(struct pairs *pairs, struct launch_classes *classes, const struct planner_options *options);
void pairs_close(struct pairs *pairs);
/* The launch as conflict_between and group_decide want it. Only for launches of a class without a refusal. */
struct bound_launch pairs_launch(struct pairs *pairs, uint32_t launch);
/* The conflict between two launches, earlier first. Owned by pairs. NULL when memory is out, or time is over.
 */
const struct conflict *pairs_conflict(struct pairs *pairs, uint32_t earlier, uint32_t later);
/* Names the situation of these launches: equal keys, equal decisions. False when memory is out. */
bool pairs_key(struct pairs *pairs, const uint32_t *launches, uint32_t count, struct hash128 *key);
/* The same for launches that do the same in other places of their arrays (launch_class.h), hashed with the
 * kind of question. */
bool pairs_like_key(struct pairs *pairs, const uint32_t *launches, uint32_t count, uint64_t kind,
                    struct hash128 *key);
/* Of the kind of question that is asked of these launches. */
struct hash128 pairs_question_key(struct hash128 key, uint64_t kind);
/* Form of a group: any kind that is legal; not one of one block; with members in blocks of their own; or with members from this one
 * on in the last block. */
enum { PAIRS_ANY_FORM = 0, PAIRS_INTER_BLOCK = UINT32_MAX - 1, PAIRS_NOT_ONE_BLOCK = UINT32_MAX };
/* What group_decide says of these launches as members, or the function of its form; a situation is decided once. bound: they, bound, which must outlive pairs. Owned by pairs; NULL when memory is out, or time is over. */
struct group *pairs_group(struct pairs *pairs, const uint32_t *launches, const struct bound_launch *bound,
                          uint32_t count, uint32_t form);

#endif
