/* SPDX-License-Identifier: Apache-2.0
 * What search.c (which groups there are) and choice.c (which of them are taken) share. */
#ifndef KFUSE_FUSER_PLANNER_SEARCH_MEMO_H
#define KFUSE_FUSER_PLANNER_SEARCH_MEMO_H

#include "fuser/planner/search.h"

#include <uthash.h>

/* What may start in a situation: the group that gains most; where that is a halo fusion, one that gets along
 * without; where it passes over launches, one that does not; where it may be one of one block, one that is not; where launches of few threads are in its way, one that has them run in
 * its last block; where launches have nothing to do with each other, one in which each has blocks of its own; where its code turns out to gain much less than was expected, a shorter one. */
enum search_candidate {
    CANDIDATE_LONGEST,
    CANDIDATE_WITHOUT_HALO,
    CANDIDATE_UNBROKEN,
    CANDIDATE_LARGE,
    CANDIDATE_LAST_BLOCK,
    CANDIDATE_INTER_BLOCK,
    CANDIDATE_SHORTER,
    SEARCH_CANDIDATES
};
struct search_memo {
    struct hash128 key;
    struct search_group *groups[SEARCH_CANDIDATES];
    bool has_no_shorter;
    const char *reason; /* why the first is no larger, or is none */
    UT_hash_handle hh;
};

/* Names the situation at this launch. False when memory is out. */
bool search_situation(struct search *search, uint32_t first, struct hash128 *key);
/* What starts at this launch: looked up by the situation of the launches that a group could reach. NULL when
 * memory is out. */
struct search_memo *search_look(struct search *search, uint32_t first);
/* In a worker: asks what search_look will ask of pairs, but for what others are asked at the time. */
void search_look_at_pairs(struct search *search, uint32_t first);
/* In a worker: search_look, given up where another process is asked for a verdict at the time. False: it was. */
bool search_look_unasked(struct search *search, uint32_t first);
/* In a worker: asks for the verdict that search_look may come to with so many members less. */
void search_look_at_fewer(struct search *search, uint32_t first, uint32_t left_out);
/* A group that may start in this situation as things stand; NULL, of the first with the reason in the memo.
 */
struct search_group *search_candidate(struct search *search, struct search_memo *memo, uint32_t candidate);
/* Compiles the group; planned->refusal: it does not compile well, or loses then. */
void search_compile(struct search *search, struct search_group *planned);
/* In a worker: compiles what would be left of the group, were it refused and cut to so many members, at least 2 and fewer than
 * it has. The memo stays as it is. */
void search_compile_fewer(struct search *search, struct search_memo *memo, uint32_t candidate,
                          uint32_t members);
/* The refusal of a group that is dropped without a smaller one in its place. */
extern const char search_used_too_rarely[];
/* The refusal of one that loses by that. */
extern const char search_copied_too_often[];

#endif
