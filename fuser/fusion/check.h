/* SPDX-License-Identifier: Apache-2.0
 * The legality test: whether what a fused launch makes of several launches (members) leaves every load its source and
 * every byte its last store. It knows no kind of fusion: a kind proposes a schedule (schedule.h), the test accepts or
 * refuses. Each rule is asked of isl as the emptiness of a set of violating pairs, in the space of both instances (with
 * their bytes and points), or of a pair and the source of one; what isl cannot answer within CHECK_OPERATIONS refuses.
 *
 * A statement is code of a member whose instances are scheduled as one; the accesses of an instance run by position (those
 * of one position in any order: they are in a loop inside).
 * Each access goes to memory, unless it is `left_out` or served `from` a storage. A storage is a register or an array in
 * shared memory, of each thread or block its own; its cells follow from the point's place and the byte.
 *
 * 1. Memory: two accesses to a byte, one of them a write, run in the order they had. A read that is recomputed meets no
 * write whose order was open. Loads with an order of their own keep it towards all accesses.
 * 2. Source: a load that is served gets the exact bytes of its source: in the original order a store before it, with no
 * write between, or another load, with each write before both or behind both. The source has an image in the load's block (or thread) before it, which fills the same cell,
 * and what else fills that cell runs before the source or behind the load. (So writers of a cell that are unordered are
 * both before the source, or behind the load: a rule about them is not needed.)
 * 3. Final contents: every store has one owner. One that is left out is overwritten by an exact store to the same bytes,
 * which is made in memory, and no load reads them in memory before that.
 * 4. Barriers: the barriers that are the members' own are reached by all threads of the block at one time, if by any.
 * 5. Atomics are never recomputed.
 *
 * Not yet: copies seen through to what they copied; second buffers (renaming) other than as arrays of their own; stores
 * that a later launch makes; a source of several stores, each with a part of the bytes; lanes of a warp. */
#ifndef KFUSE_FUSER_FUSION_CHECK_H
#define KFUSE_FUSER_FUSION_CHECK_H

#include "fuser/access/access.h"
#include "fuser/fusion/schedule.h"

enum {
    CHECK_OPERATIONS = 400000, /* of isl, for one question */
    CHECK_NONE = UINT32_MAX,
    CHECK_MOST_INSTANCE = 12, /* coordinates */
};

struct check_statement {
    uint32_t member;
    isl_map *order; /* { I -> [member, bz..tx, time...] }: in its own launch */
    struct schedule schedule;
};
struct check_storage {
    bool is_of_thread; /* else of the block */
    isl_map *cells;    /* { [launch, bz..tx, byte] -> [cell...] }, a function; of a block: of no thread */
};
struct check_access {
    enum access_kind kind;
    uint32_t statement, position;
    uint32_t array;
    bool is_plain;       /* else it aliases every array that is not */
    isl_map *bytes;      /* { I -> [first byte] } from the array's start; NULL: any byte */
    uint32_t width;      /* bytes */
    bool is_exact;       /* each instance of the relation that is made touches just its image */
    bool is_certain;     /* all of them are made */
    bool keeps_order;    /* towards every other access */
    bool is_left_out;    /* a store: not made in memory */
    uint32_t from, into; /* storages: that serves a load; that gets the value. CHECK_NONE */
    uint32_t
        source; /* of a served load, the access; of a store that is left out, the one that overwrites it */
    isl_map *to_source; /* { I -> I of the source }; where it is needed */
};
struct check_barrier { /* a barrier of a member's own: these instances of the statement reach it */
    uint32_t statement;
    isl_set *instances;
};
/* Everything is borrowed. All orders have as many components of time. */
struct check_group {
    isl_ctx *ctx;
    uint32_t member_count;
    const struct schedule_space *orders; /* one a member */
    struct schedule_space space;
    uint32_t block[3]; /* of the fused launches, x y z */
    const struct check_statement *statements;
    uint32_t statement_count;
    const struct check_storage *storages;
    uint32_t storage_count;
    const struct check_access *accesses;
    uint32_t access_count;
    const struct check_barrier *barriers;
    uint32_t barrier_count;
};

enum check_rule {
    CHECK_MEMORY,
    CHECK_RECOMPUTED,
    CHECK_ORDER,
    CHECK_SOURCE,  /* it is not the source of the load in the original order */
    CHECK_STORAGE, /* the load does not find its source's value */
    CHECK_FINAL,
    CHECK_LEFT_OUT,
    CHECK_BARRIER,
    CHECK_ATOMIC,
    CHECK_SHAPE, /* the group is not well-formed */
};
struct check_refusal {
    enum check_rule rule;
    bool gave_up;              /* isl did, or memory is out */
    uint32_t a, b;             /* accesses; a barrier's: a alone, its number. CHECK_NONE: none */
    uint32_t count_a, count_b; /* coordinates of the witness; 0: none */
    int64_t instance_a[CHECK_MOST_INSTANCE], instance_b[CHECK_MOST_INSTANCE];
};

/* True: legal. Else *refusal says the first rule that is broken, or that was not answered. */
bool check_group(const struct check_group *group, struct check_refusal *refusal);
/* The rule in words. */
const char *check_rule_text(enum check_rule rule);

#endif
