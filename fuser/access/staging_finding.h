/* SPDX-License-Identifier: Apache-2.0
 * Inside of staging: what its parts tell each other. */
#ifndef KFUSE_FUSER_ACCESS_STAGING_FINDING_H
#define KFUSE_FUSER_ACCESS_STAGING_FINDING_H

#include "fuser/access/analysis.h"
#include "fuser/access/staging.h"

enum {
    STAGING_VARIABLE_SHIFT = 20, /* of the number that stands for a variable's address */
    STAGING_MOST_VARIABLES = 64,
    STAGING_MOST_BARRIERS = 16,
    STAGING_MOST_STORES = 256,
    STAGING_MOST_ORIGINS = 16
};

struct chain { /* conversions, the last one first */
    uint32_t of[STAGING_MOST_CONVERSIONS], count;
};
struct origin { /* of the values that a store stores */
    isl_set *instances;
    uint32_t load; /* UINT32_MAX: a number */
    isl_map *bytes;
    uint32_t argument;
    uint64_t number;
    struct chain chain;
};
struct store {
    uint32_t instruction, phase, width;
    isl_map *bytes;
    struct origin origins[STAGING_MOST_ORIGINS];
    uint32_t origin_count;
};
struct finding {
    struct staging *staging;
    struct analysis *analysis;
    const struct ptx_function *function; /* without the numbers */
    const struct ptx_variable *variables[STAGING_MOST_VARIABLES];
    uint32_t widths[STAGING_MOST_VARIABLES], variable_count;
    uint32_t barriers[STAGING_MOST_BARRIERS], barrier_count;
    bool *is_behind[STAGING_MOST_BARRIERS]; /* block -> the barrier may be run before it */
    struct store *stores;
    uint32_t store_count;
    bool is_told;
};

/* --- staging_phase.c --- */
/* False: some barrier is not for all threads that come to it. */
bool staging_find_barriers(struct finding *finding);
uint32_t staging_block_of(const struct finding *finding, uint32_t instruction);
/* How many barriers a thread has passed that comes to the instruction; false: that depends on its way. */
bool staging_phase(const struct finding *finding, uint32_t instruction, uint32_t *phase);

/* --- staging_store.c --- */
bool staging_is_plain(const struct ptx_instruction *instruction);
/* { L[...] -> [number of the byte] }; NULL: not known. *is_idle: no thread runs it. */
isl_map *staging_describe(struct finding *finding, uint32_t number, bool *is_exact, bool *is_idle);
/* What the store stores. False: it is not told. */
bool staging_add_store(struct finding *finding, uint32_t number);

/* --- staging_load.c --- */
/* What the load reads. False: it is not told. */
bool staging_add_load(struct finding *finding, uint32_t number);
/* A number of 32 bits with a sign; false: another one. */
bool staging_number(__isl_take isl_val *value, int64_t *number);
/* What both pieces load, of this function, is converted alike. */
bool staging_converts_alike(const struct ptx_function *function, const struct staged_piece *a,
                            const struct staged_piece *b);

#endif
