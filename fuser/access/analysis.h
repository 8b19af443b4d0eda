/* SPDX-License-Identifier: Apache-2.0
 * Inside of the access analysis: one launch's state, abstract values, and what the passes offer each other.
 *
 * All forms and sets live in one space { L[bz, by, bx, tz, ty, tx, i1 .. iD] } with D the deepest nesting of loops: a
 * loop of depth d counts with dimension first_counter + d - 1. A value of a shallower loop does not depend on the later
 * ones. Where words of the arguments are tried as shifts, they are dimensions between tx and i1, without bounds: what no
 * range of a value decides involves them, and they are given up (shifts.c).
 *
 * Integers are modular: the form of an integer of N bits is any integer congruent to the register modulo 2^N.
 * Sums, differences, products by constants and truncations need no proof; whatever must see the register's own value
 * (comparison, extension, division, an address) asks for value_as_signed or value_as_unsigned, which prove it. */
#ifndef KFUSE_FUSER_ACCESS_ANALYSIS_H
#define KFUSE_FUSER_ACCESS_ANALYSIS_H

#include "fuser/access/access.h"
#include "fuser/access/range.h"
#include "fuser/kernel/loops.h"
#include "fuser/kernel/ssa.h"

#include <isl/aff.h>
#include <isl/space.h>
#include <isl/val.h>

enum {
    ANALYSIS_PIECE_LIMIT = 32,   /* pieces of a form before it is given up */
    ANALYSIS_SET_LIMIT = 16,     /* the same for a set */
    ANALYSIS_DIVISION_LIMIT = 8, /* integer divisions in one piece of a form or set */
    ANALYSIS_COUNTER_BITS = 48,  /* no thread runs a loop this many times: days on any device */
    ANALYSIS_LOOP_DEPTH_LIMIT = 8,
    ANALYSIS_OPERATIONS = 50000,       /* isl's quota for one value or one block's domain */
    ANALYSIS_ALL_OPERATIONS = 5000000, /* the same for a launch: nested loops are walked many times */
    ANALYSIS_QUOTA_FAILURES = 12,      /* values given up for time before the launch is refused */
};

enum value_kind { VALUE_UNKNOWN, VALUE_INTEGER, VALUE_POINTER, VALUE_PREDICATE };

struct value { /* immutable; isl objects belong to the analysis */
    enum value_kind kind;
    uint8_t bits;       /* width of the register; 1: predicate */
    uint8_t zeros;      /* INTEGER: this many low bits are known to be 0 */
    bool is_address;    /* UNKNOWN: may have been computed from a pointer */
    isl_pw_aff *form;   /* INTEGER; POINTER: offset from the base, or NULL: unknown */
    struct range range; /* of form, wherever the value is defined */
    /* INTEGER, or NULL: form is floor(numerator * multiplier / 2^shift), modulo 2^bits */
    isl_pw_aff *numerator;
    struct range numerator_range;
    wide multiplier;
    unsigned shift;
    /* INTEGER, or NULL: form is residue's numerator minus its quotient, or floor(half of this), modulo 2^bits */
    const struct value *residue;
    bool residue_is_halved;
    /* UNKNOWN, or NULL: the bitwise or of these, in the loop where it was computed */
    const struct value *either[2];
    int32_t either_loop;
    uint32_t base; /* POINTER: index in the analysis's bases */
    /* PREDICATE: supersets of where it is true and false; exact when disjoint */
    isl_set *when_true, *when_false;
    const uint64_t *sources; /* bit set: which known words of arguments or variables it was computed from */
    const char *reason;      /* UNKNOWN, or POINTER without form: why */
};

enum base_kind { BASE_ARGUMENT, BASE_VARIABLE, BASE_LOCAL, BASE_SHARED, BASE_PARAMETER, BASE_UNKNOWN };
struct base {
    enum base_kind kind;
    uint32_t argument_offset;
    const char *variable;
    enum ptx_space space; /* VARIABLE */
    bool is_not_null;     /* ARGUMENT: a comparison with NULL was decided by it */
};

struct source {           /* a known word: argument bytes, or bytes of a module variable */
    const char *variable; /* NULL: arguments */
    uint32_t offset, size;
    bool is_used;
};

struct exported_value { /* a value as it is after the loops that it was computed in */
    int32_t loop;       /* the loop in which it may be used */
    const struct value *value;
    struct exported_value *next;
};

struct instances { /* a set of instances: a superset of those that are reached, or just those */
    isl_set *set;
    bool is_exact;
    uint32_t culprit; /* not exact: the instruction whose condition depends on data */
};
struct block_state {
    struct instances in;     /* what enters */
    struct instances *edges; /* what leaves, one a successor */
};
struct loop_state {
    struct instances entry; /* of the loop around: what enters */
    wide last_counter;      /* bound on the counter */
};

struct analysis {
    isl_ctx *ctx;
    const struct launch_input *input;
    const struct ptx_function *function;
    struct arena *arena;
    struct access_summary *summary;
    struct ptx_cfg *cfg;
    struct dominators *dominators;
    struct loop_forest *forest;
    struct ssa *ssa;
    unsigned dimensions;
    unsigned first_counter; /* of these; behind the threads' come those of the input's shifts */
    isl_space *space;
    isl_set *threads; /* in space: the launch, counters free */
    struct block_state *blocks;
    struct loop_state *loops;
    const struct value **values; /* SSA value -> its abstract value, or NULL */
    struct exported_value **exported;
    bool *is_relevant; /* SSA value -> feeds an address or a branch */
    bool *ends_loop;   /* instruction -> a load that decides when a loop ends; NULL: none does */
    struct base *bases;
    uint32_t base_count, base_capacity;
    struct source *sources;
    uint32_t source_count, source_capacity;
    struct owned { /* isl objects to free at the end */
        isl_pw_aff *form;
        isl_set *set;
        struct owned *next;
    } * owned;
    isl_set *empty_set, *universe;
    uint32_t block, instruction;  /* where evaluation is */
    isl_set *domain;              /* of that block; borrowed */
    bool is_optimistic;           /* loop bounds are being guessed: nothing wraps, to be proved afterwards */
    bool trusts_device_variables; /* loads of __device__ variables give their known contents */
    bool used_device_variable;
    uint32_t quota_failures;
    uint64_t operations, most_operations; /* of isl */
    const char *refusal;
};

/* --- affine.c: forms --------------------------------------------------------------------------------- */
__isl_give isl_val *affine_value(struct analysis *analysis, wide number);
__isl_give isl_pw_aff *affine_constant(struct analysis *analysis, wide number);
__isl_give isl_pw_aff *affine_dimension(struct analysis *analysis, unsigned position);
__isl_give isl_pw_aff *affine_scale(struct analysis *analysis, __isl_take isl_pw_aff *form, wide factor);
__isl_give isl_pw_aff *affine_shift(struct analysis *analysis, __isl_take isl_pw_aff *form, wide summand);
__isl_give isl_pw_aff *affine_floor_divide(struct analysis *analysis, __isl_take isl_pw_aff *form,
                                           wide divisor);
__isl_give isl_pw_aff *affine_modulo(struct analysis *analysis, __isl_take isl_pw_aff *form, wide modulus);
/* form < bound ? below : above */
__isl_give isl_pw_aff *affine_split(struct analysis *analysis, __isl_keep isl_pw_aff *form, wide bound,
                                    __isl_take isl_pw_aff *below, __isl_take isl_pw_aff *above);
/* Bounds of form over set; false when there is none or isl gave up. */
bool affine_bounds(struct analysis *analysis, __isl_keep isl_pw_aff *form, __isl_keep isl_set *set,
                   struct range *range);
bool affine_involves_from(__isl_keep isl_pw_aff *form, unsigned position);
/* The set with dimensions from position on set free. */
__isl_give isl_set *affine_forget_from(struct analysis *analysis, __isl_take isl_set *set, unsigned position);
/* Within the limits of pieces and divisions. */
bool affine_is_simple(__isl_keep isl_pw_aff *form);
bool affine_is_simple_set(__isl_keep isl_set *set);
unsigned affine_counter(const struct analysis *analysis, int32_t loop); /* dimension of a loop's counter */
/* Clears an isl error (quota) and counts it. */
void affine_recover(struct analysis *analysis);
void affine_begin(struct analysis *analysis); /* starts a new quota */
bool affine_number(__isl_take isl_val *value, wide *number);

/* --- value.c: abstract values ------------------------------------------------------------------------ */
/* Every constructor takes its isl arguments; a NULL among them (isl gave up) gives an unknown value. */
const struct value *value_unknown(struct analysis *analysis, unsigned bits, bool is_address,
                                  const char *reason);
const struct value *value_integer(struct analysis *analysis, unsigned bits, __isl_take isl_pw_aff *form,
                                  struct range range, const uint64_t *sources);
const struct value *value_number(struct analysis *analysis, unsigned bits, wide number,
                                 const uint64_t *sources);
/* floor(numerator * multiplier / 2^shift), in small numbers where that is a division by a constant */
const struct value *value_quotient(struct analysis *analysis, unsigned bits, __isl_take isl_pw_aff *numerator,
                                   struct range numerator_range, wide multiplier, unsigned shift,
                                   const uint64_t *sources);
/* A copy of an integer with these notes (zeros, numerator .. residue_is_halved). */
const struct value *value_annotate(struct analysis *analysis, const struct value *value, struct value notes);
/* The same value, computed from these words too. */
const struct value *value_with_sources(struct analysis *analysis, const struct value *value,
                                       const uint64_t *sources);
/* Range of a noted quotient, or difference, as a number; false when there is none. */
bool value_quotient_range(const struct value *value, struct range *range);
bool value_residue_range(const struct value *value, struct range *range);
/* form NULL: unknown offset, with the reason */
const struct value *value_pointer(struct analysis *analysis, uint32_t base, __isl_take isl_pw_aff *form,
                                  struct range range, const uint64_t *sources, const char *reason);
const struct value *value_predicate(struct analysis *analysis, __isl_take isl_set *when_true,
                                    __isl_take isl_set *when_false, const uint64_t *sources);
const struct value *value_unknown_predicate(struct analysis *analysis);
/* True, or false, everywhere. */
const struct value *value_truth(struct analysis *analysis, bool is_true, const uint64_t *sources);
/* An unknown result of the current instruction. */
const struct value *value_give_up(struct analysis *analysis, const struct value *const *operands,
                                  unsigned count, unsigned bits, const char *why);
unsigned value_register_bits(const struct analysis *analysis, int32_t reg);
/* The register's value as a number: a form owned by the caller, or NULL when no proof is found. */
__isl_give isl_pw_aff *value_as_signed(struct analysis *analysis, const struct value *value,
                                       struct range *range);
__isl_give isl_pw_aff *value_as_unsigned(struct analysis *analysis, const struct value *value,
                                         struct range *range);
/* A register that holds one number everywhere; is_signed says how to read it. */
bool value_is_number(const struct value *value, bool is_signed, wide *number);
/* Known to be one and the same, by the look of their forms. */
bool value_is_same(const struct value *a, const struct value *b);
bool value_is_exact(struct analysis *analysis, const struct value *predicate, __isl_keep isl_set *domain);
const uint64_t *sources_join(struct analysis *analysis, const uint64_t *a, const uint64_t *b);
const uint64_t *sources_of(struct analysis *analysis, const char *variable, uint32_t offset, uint32_t size);
void sources_use(struct analysis *analysis, const uint64_t *sources);

struct candidate { /* value on set */
    isl_set *set;  /* borrowed */
    const struct value *value;
};
/* One of several values, by disjoint sets; unknown where they are not. */
const struct value *value_merge(struct analysis *analysis, const struct candidate *candidates,
                                uint32_t count);

/* --- reason.c ---------------------------------------------------------------------------------------- */
/* "kernel f, line 12: ... -- why", in the arena. */
const char *reason_at(struct analysis *analysis, uint32_t instruction, const char *why);

/* --- bases.c ----------------------------------------------------------------------------------------- */
/* A pointer that lies so far behind the base's beginning. */
const struct value *bases_pointer(struct analysis *analysis, struct base base, int64_t offset);

/* --- instances.c: of blocks and edges ---------------------------------------------------------------- */
/* The instances that take an edge, as seen from `loop`: counters of loops inside it forgotten. The set is the caller's. */
struct instances instances_of_edge(struct analysis *analysis, uint32_t from, uint32_t to, int32_t loop);
void instances_set_entry(struct analysis *analysis, uint32_t block, struct instances in);
/* Makes block the place where evaluation is. */
void instances_enter(struct analysis *analysis, uint32_t block);

/* --- exports.c: values across loops ------------------------------------------------------------------ */
/* A value as seen from `loop`: after the loops inside it that it was computed in. */
const struct value *exports_value_in(struct analysis *analysis, uint32_t ssa_value, int32_t loop);
/* The value of a phi without its back edges, as seen from `loop`. */
const struct value *exports_phi(struct analysis *analysis, uint32_t phi, int32_t loop);

/* --- integer.c, predicate.c: opcodes ----------------------------------------------------------------- */
typedef const struct value *evaluate_opcode(struct analysis *analysis,
                                            const struct ptx_instruction *instruction,
                                            const struct value *const *operands, unsigned bits);
extern evaluate_opcode integer_add, integer_subtract, integer_multiply, integer_multiply_add,
    integer_shift_left, integer_shift_right, integer_and, integer_or, integer_xor, integer_not,
    integer_negate, integer_absolute, integer_divide, integer_remainder, integer_minimum, integer_maximum,
    integer_convert, integer_extract, integer_insert, integer_move, integer_select;
/* predicate_compare_contrary is q of setp p|q, which combines the contrary of the comparison. */
extern evaluate_opcode predicate_compare, predicate_compare_contrary, predicate_and, predicate_or,
    predicate_xor, predicate_not;
/* For callers that have operands as values. */
const struct value *integer_sum(struct analysis *analysis, const struct value *a, const struct value *b,
                                unsigned bits);

/* --- operand.c: operands, as read at the current instruction ----------------------------------------- */
/* bits: of an immediate. Never NULL. */
const struct value *operand_value(struct analysis *analysis, const struct ptx_operand *operand,
                                  unsigned bits);
const struct value *operand_guard(struct analysis *analysis, const struct ptx_instruction *instruction);
const struct value *operand_address(struct analysis *analysis, const struct ptx_operand *operand);

/* --- memory.c: loads --------------------------------------------------------------------------------- */
const struct value *memory_load(struct analysis *analysis, const struct ptx_instruction *instruction,
                                unsigned element, unsigned bits);

/* --- evaluate.c: instructions ------------------------------------------------------------------------ */
/* Defines what the current instruction writes to reg. */
const struct value *evaluate_definition(struct analysis *analysis, uint32_t ssa_value);
/* The value is computed from its operands; else it is unknown whatever they are. */
bool evaluate_is_followed(const struct ptx_instruction *instruction);

/* --- induction.c ------------------------------------------------------------------------------------- */
/* The value of a loop header's phi: init + step * counter, or unknown. */
const struct value *induction_value(struct analysis *analysis, uint32_t phi, const struct value *initial,
                                    int32_t loop);

/* --- domains.c: path conditions ---------------------------------------------------------------------- */
/* The instances of the body of `loop` that come to block, other than by a back edge. The set is the caller's; NULL: isl
 * gave up. */
struct instances domains_find_entry(struct analysis *analysis, uint32_t block, int32_t loop);
/* The values of the block's instructions, and its edges. */
void domains_walk_block(struct analysis *analysis, uint32_t block);

/* --- iterations.c: the function, loop by loop -------------------------------------------------------- */
/* Fills blocks, loops and values; false with analysis->refusal. */
bool iterations_walk(struct analysis *analysis);

/* --- shifts.c: words that only shift addresses -------------------------------------------------------- */
/* What a load of such a word gives; NULL: it is none. */
const struct value *shifts_load(struct analysis *analysis, uint32_t offset, uint32_t size, unsigned bits);
/* Words that the set depends on do more. */
void shifts_note(struct analysis *analysis, __isl_keep isl_set *set);
/* The address without the words' part, whose factors are set, and the range of what is left. */
__isl_give isl_pw_aff *shifts_take(struct analysis *analysis, __isl_take isl_pw_aff *form, int64_t *factors,
                                   struct range *range);
/* Words with a factor do more. */
void shifts_refuse(struct analysis *analysis, const int64_t *factors);
/* Instances without the words' dimensions. */
__isl_give isl_set *shifts_drop(const struct analysis *analysis, __isl_take isl_set *set);

/* --- legality.c: what bars a launch ------------------------------------------------------------------ */
/* First statement that makes the launch impossible to analyse, or NULL; fills the summary's flags and no_member. */
const char *legality_check(struct analysis *analysis);

/* --- waiting.c: loops that may wait for another thread --------------------------------------------------- */
/* The load or atomic for which a loop may wait, or -1. Fills ends_loop where there are loops. */
int64_t waiting_find(struct analysis *analysis);

/* --- access.c ------------------------------------------------------------------------------------------ */
/* Sees the analysis of a launch once all is found. */
typedef void access_visit(struct analysis *analysis, void *context);
/* As access_analyse. */
struct access_summary *access_analyse_with(isl_ctx *ctx, const struct launch_input *input,
                                           access_visit *visit, void *context);
/* { L[bz, by, bx, tz, ty, tx, i0, ...] -> [form] } on the domain, with so many loops. NULL: isl gave up. */
__isl_give isl_map *access_relation(struct analysis *analysis, __isl_take isl_pw_aff *form,
                                    __isl_keep isl_set *domain, unsigned depth);
/* The instances that run the current instruction, its guard included. The set is the caller's. */
struct instances access_instances(struct analysis *analysis, const struct ptx_instruction *instruction);

/* --- access_summary.c -------------------------------------------------------------------------------- */
/* Without accesses, bases, threads and rounds, which are released. */
void access_summary_clear(struct access_summary *summary);

#endif
