/* SPDX-License-Identifier: Apache-2.0
 * What one launch reads and writes in global memory, as isl relations. A launch is analysed with
 * its concrete grid, block and integer arguments; the pointers in its arguments stay symbolic bases.
 *
 * Instance spaces: { L[bz, by, bx, tz, ty, tx, i0, i1, ...] }: block, thread, and the counters (from 0) of the loops around the
 * instruction, outermost first. An access maps an instance to the first byte that it touches, relative to the base:
 * { L[...] -> [byte] }, the bytes [byte, byte + width) are touched. */
#ifndef KFUSE_FUSER_ACCESS_ACCESS_H
#define KFUSE_FUSER_ACCESS_ACCESS_H

#include "fuser/kernel/product.h"
#include "fuser/kernel/variables.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <stdbool.h>
#include <stdint.h>

enum { ACCESS_THREAD_DIMENSIONS = 6 };

struct launch_pointer { /* an 8-byte word of the arguments that points into a device allocation */
    uint32_t offset;
};
struct launch_variable { /* a module variable whose contents the host wrote and the trace holds */
    const char *name;
    const unsigned char *contents; /* NULL: unknown */
    uint64_t size;
};
struct access_words { /* bytes of the arguments */
    uint32_t offset, size;
};
enum { ACCESS_MOST_SHIFTS = 4 };
/* A word of the arguments, a signed integer of 4 or 8 bytes, that may have any value of a range. */
struct launch_shift {
    uint32_t offset, size;
    int64_t low, high;
};
struct launch_input {
    const struct ptx_function *function;
    uint32_t grid[3], block[3], dynamic_shared;
    const unsigned char *arguments;
    uint32_t arguments_size;
    const struct launch_pointer *pointers; /* in order of offset */
    uint32_t pointer_count;
    const struct launch_variable *variables;
    uint32_t variable_count;
    uint64_t most_operations; /* of isl; 0: five million */
    /* Words that are taken to do no more than shift addresses, until they are seen to do more (`shaping` of the
     * summary): then the others must be tried alone. No pointers; ACCESS_MOST_SHIFTS at most. */
    const struct launch_shift *shifts;
    uint32_t shift_count;
    /* Bytes that may have any value: what is loaded of them is not known. No pointers, none of the shifts. */
    const struct access_words *open;
    uint32_t open_count;
    bool is_regridded; /* another grid than the program's, or other threads that load: regrid.h, unstage.h */
    const bool
        *was_staged; /* by instruction, or NULL: loads that other threads run in the program (unstage.h) */
};

enum { ACCESS_NO_WORD = UINT32_MAX };
enum access_base_kind { ACCESS_BASE_ARGUMENT, ACCESS_BASE_VARIABLE, ACCESS_BASE_UNKNOWN };
struct access_base {
    enum access_base_kind kind;
    /* Of the pointer among the launch's words: ARGUMENT: in the parameter buffer; VARIABLE: behind it (variables.h), or
     * ACCESS_NO_WORD for a table of the mathematical library, which a fused kernel has itself. */
    uint32_t argument_offset;
    uint32_t
        pointer; /* ARGUMENT: of the pointer itself, where a sum has a word of its own (planner/shift.h) */
    const char *variable; /* VARIABLE: name */
    /* ARGUMENT: everything through it lies by the sum of factors[i] times the i-th of the input's shifts behind the
     * pointer: relations and hulls are from there. */
    int64_t factors[ACCESS_MOST_SHIFTS];
    /* Hull of all accesses through it, bytes relative to the base: [from, to). is_bounded false: anything in the
     * allocation that the pointer lies in. Neither read nor written, [0, 0): the kernel's flow depends on the pointer's
     * lying in an allocation. */
    int64_t from, to;
    bool is_bounded, is_read, is_written;
    bool is_unordered; /* written by such accesses */
};

/* The fused kernel finds the base's address in a word of the launch. */
static inline bool access_has_word(const struct access_base *base)
{
    return base->kind != ACCESS_BASE_UNKNOWN && base->argument_offset != ACCESS_NO_WORD;
}

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };
struct access {
    enum access_kind kind;
    uint32_t instruction;    /* index in the function */
    uint32_t line;           /* in the PTX text */
    uint32_t base;           /* index in bases */
    uint32_t width;          /* bytes a thread touches: type times vector */
    isl_map *relation;       /* over-approximation of instances and bytes; NULL: any byte of the allocation */
    bool address_is_exact;   /* each instance in the domain touches exactly its image */
    bool domain_is_exact;    /* the domain is exactly the instances that execute; else a superset */
    bool is_once;            /* in no loop: at most one instance a thread */
    uint64_t most_instances; /* of a thread, at most; 0: not known */
    bool ends_loop; /* a load in a loop that decides when it ends: only of what nobody writes meanwhile */
    /* A floating-point atomic: what it leaves depends on the order of the launch's threads, which is open. Nothing else in a
     * group touches that, so that whatever comes of it may come of the launch alone. */
    bool is_unordered;
    bool is_uncached_order; /* volatile, relaxed, acquire, release: keeps its order and is never forwarded */
    bool was_staged;        /* as its input says of the instruction */
    bool rest_is_old;       /* what no member before has written it reads from the old contents (rename.h) */
    const char *reason;     /* of what is not exact, with the PTX line; NULL */
};

/* of the threads that reach it, in any iteration */
enum access_branch {
    ACCESS_BRANCH_OPEN,   /* not known, or no branch with a guard */
    ACCESS_BRANCH_NEVER,  /* none takes it */
    ACCESS_BRANCH_ALWAYS, /* all do */
};

/* Of a branch with a guard, in no loop: the threads that may go either way { L[bz, by, bx, tz, ty, tx] }; both NULL: not known. */
struct access_ways {
    isl_set *taken, *otherwise;
};

struct access_contents { /* the same, of a module variable whose contents were given */
    const char *variable;
    struct access_words words;
    uint64_t value; /* that they are wherever the summary holds */
};

struct access_summary {
    struct arena *arena; /* owns everything here but the isl objects */
    const struct ptx_function *function;
    uint32_t grid[3], block[3], dynamic_shared;
    bool is_regridded; /* as its input */
    bool is_unstaged;  /* it has loads that were staged: unstage.h */
    /* NULL, or why the launch cannot be analysed at all ("kernel f, line 12: ..."): then nothing below is valid. */
    const char *refusal;
    bool takes_too_long; /* refused for that: other launches of the kernel will take as long */
    /* NULL, or which instruction keeps the kernel from being a member of any fusion (not on the whitelist, volatile, ...).
     * It may still be passed over. */
    const char *no_member;
    /* NULL, or what the order of launches may matter for beyond their data: a fence, an access that is ordered or meant
     * for the whole system, a loop that may wait, a clock. No launch is moved past such a one. Then no_member is set. */
    const char *keeps_place;
    /* NULL, or what ties the threads of a block together (a barrier, shared memory, a warp collective): as a member, each
     * of its blocks must be run by one block of the fused kernel, thread by thread. */
    const char *whole_block;
    bool is_exit_divergent;     /* whole_block: threads may leave before a barrier that others wait at */
    const char *no_whole_block; /* NULL, or why the blocks of this very launch cannot be run so */
    struct variables variables; /* that the kernel names */
    struct access *accesses;    /* global memory only, in program order */
    uint32_t access_count;
    struct access_base *bases;
    uint32_t base_count;
    uint32_t shaping, shifting; /* shifts, a bit each: those that do more; those that some factor is of */
    struct access_words *words; /* whose values the analysis used: they must be guarded; sorted, disjoint */
    uint32_t word_count;
    /* of the launch, a copy: what words are the same wherever the summary holds */
    const unsigned char *arguments;
    struct access_contents *contents; /* sorted by variable, then offset */
    uint32_t content_count;
    isl_set *threads;   /* { L[bz, by, bx, tz, ty, tx] }: the whole launch */
    isl_set *effective; /* threads that may execute a store or atomic; a superset */
    /* Block of the control flow graph -> where it is the header of an outermost loop, just the iterations that are begun
     * { L[bz, by, bx, tz, ty, tx, i] }; NULL: not known, or another block. */
    isl_set **rounds;
    uint32_t round_count; /* of blocks */
    /* block of the control flow graph (ptx_cfg_build) -> no thread reaches it; NULL: not known */
    bool *is_idle;
    enum access_branch *branches; /* by instruction; NULL: not known */
    struct access_ways *ways;     /* the same, of those that are open */
    bool has_barrier, has_shared, has_local, has_warp_collective, has_atomic, has_loop;
    /* a loop with a barrier of the block, in which loads may stand early for the next iteration */
    bool has_pipeline;
    struct expansion **expansion; /* a place for what expansion.h finds */
    struct line **line;           /* and for what line.h finds */
    unsigned char *products;      /* and for what access_product finds, by instruction: 0, or 1 and that */
};

/* Analyses one launch. Only NULL when memory is out. isl errors become a refusal. The ctx must have
 * isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE). Every value has a quota of isl operations of its own (the caller's,
 * isl_ctx_set_max_operations, where one is set): a value that runs into it is unknown, too many of them are a refusal.
 * The ctx's count of operations and last error are reset. */
struct access_summary *access_analyse(isl_ctx *ctx, const struct launch_input *input);
/* Before the module of its function. */
void access_summary_free(struct access_summary *summary);
/* What product_of_store (kernel/product.h) says of one of its stores; asked once. */
enum product_state access_product(const struct access_summary *summary, uint32_t store);
/* What the one says holds only where what the other says does, of the same launch: words and contents that this one rests on, and
 * pointers that lead to allocations, are added. False when memory is out. */
bool access_summary_rest_on(struct access_summary *summary, const struct access_summary *other);
/* The same of bytes of the arguments. */
bool access_summary_add_word(struct access_summary *summary, struct access_words word);
/* The access with the loop counters projected out: { L[6] -> [byte] }; NULL if relation is NULL. */
__isl_give isl_map *access_thread_relation(const struct access *access);
/* Bytes that all threads move through this access, an estimate: once an instance, or the hull of its base where that
 * is less or the number of instances is not known. */
uint64_t access_traffic(const struct access_summary *summary, const struct access *access);
/* Bytes of shared memory of a block, with what alignment may take. */
uint64_t access_shared_bytes(const struct access_summary *summary);
/* For people: IR, blocks, loops, affine forms and relations. Used by `kfuse ptx` and golden tests. */
void access_print(FILE *out, const struct access_summary *summary);

#endif
