/* SPDX-License-Identifier: Apache-2.0
 * A member's body as one inline-assembly statement: the PTX it was, registers and labels renamed, parameters,
 * thread coordinates and forwarded values as operands. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_BODY_H
#define KFUSE_FUSER_CODEGEN_BODY_H

#include "fuser/codegen/codegen.h"

/* The distance to the old or new contents of a renamed range (struct group_rename) stands among the words, at
 * an offset that no parameter buffer has. */
enum { BODY_DISTANCE = 1u << 30 };
static inline uint32_t body_distance_offset(uint32_t rename, bool is_new)
{
    return BODY_DISTANCE + 16 * rename + 8 * is_new;
}
/* A word of a member's parameter buffer that its body loads. */
struct body_word {
    uint32_t offset;
    enum ptx_type type;      /* of the load */
    uint32_t register_bytes; /* of the register that receives it, extended */
};
/* One register of a forwarded value: all forwards from one source share it. */
struct body_value {
    uint32_t member, instruction, element, bytes;
};
enum { BODY_MADE = UINT32_MAX }; /* in place of an element: whether the store was made, 0 or 1, in 2 bytes */
/* A read-only table of the mathematical library (__cudart_...), defined again beside the fused kernel. */
struct body_table {
    const struct ptx_variable *variable;
    const char *name;
};
/* A variable of the program's module, used in its place: its address is a word of the launch. */
struct body_variable {
    const struct ptx_variable *variable;
    uint32_t word;
    const char *name; /* of the register that holds the address */
};
/* A parameter that the body reads at addresses which are not constant: the fused kernel has a copy. */
struct body_copy {
    const struct ptx_variable *parameter;
    const char *name;           /* of the register that holds its address in the parameter space */
    const char *parameter_name; /* of the fused kernel's; set with the words' names */
};
/* A shared variable of a member: bytes of the fused kernel's one shared array, which members use in turn,
 * those of a join side by side. */
struct body_shared {
    const struct ptx_variable *variable;
    const char *name; /* the array's, and the offset in it */
};
/* A block tile that the member stores to or loads from. */
struct body_tile {
    uint32_t tile, word; /* word: a pointer into the array */
    int64_t distance;    /* from that pointer to the origin of block 0 */
    uint64_t offset; /* of the tile in the fused kernel's shared array; set when all members are laid out */
};
/* Whether the tile has what the load of a fetch reads. */
enum body_served { BODY_SERVED_ASKED, BODY_SERVED_ALWAYS, BODY_SERVED_NEVER };
/* A register whose place in a tile is kept beside it, since several accesses lie behind it in one row. */
struct body_anchor {
    uint32_t tile;
    int32_t reg;
    int64_t constant; /* added to the register */
};
struct body {
    struct arena *arena;
    const struct group *group;
    uint32_t member;
    const struct ptx_function *function;
    struct body_word *words;
    uint32_t word_count;
    bool specials[PTX_SPECIAL_COUNT]; /* thread coordinates that must be passed */
    bool is_global[3];                /* x y z: for the thread's global index alone (global_index.h) */
    struct body_value *outputs, *inputs;
    uint32_t output_count, input_count;
    /* to what is known of its launches: words that are always the same are numbers, blocks that no thread
     * reaches are left out, branches go as they always do. Sums and products are not counted then */
    bool is_specialized;
    uint32_t first_output;              /* operand number of the first output in the statement */
    const struct group_fetch **fetches; /* loads that are served from tiles */
    uint32_t fetch_count;
    const struct stage_version
        *version;             /* of the stage's code, that is being written; NULL: there are no stages */
    enum body_served *served; /* one a fetch, in this version */
    const enum access_branch *branches; /* the same, one an instruction; NULL: nothing is known */
    bool is_apart;      /* of a join, and not run by every thread, or by others: variables say so, m1_runs,
                      m1_tid_x .. */
    bool is_recomputed; /* stores only where the variable `own` is 1 */
    const struct expansion
        *expansion; /* runs one iteration of its loops: the variable `gz` says which; or NULL */
    /* after an early-exit divergent member: threads of a warp may arrive at barriers one by one */
    bool is_ragged;
    struct body_table *tables;
    uint32_t table_count;
    struct body_variable *variables;
    uint32_t variable_count;
    struct body_copy *copies;
    uint32_t copy_count;
    const char **distances; /* an instruction: the register of what is added to its address; NULL: nothing */
    bool *is_moved; /* an instruction: constant memory that it uses is the program's, which is global memory
                       here */
    struct body_shared *shared;
    uint32_t shared_count;
    uint64_t shared_end; /* of its part of the array */
    struct body_tile *tiles;
    uint32_t tile_count;
    struct body_anchor *anchors;
    uint32_t anchor_count;
    const char *kernel;     /* name of the fused kernel: a prefix for tables and the shared array */
    const char **registers; /* new names; NULL: not used */
    bool *round;            /* an instruction: give it .rn */
    const struct contraction *contractions; /* one an instruction, NULL: not known; round has theirs */
    const char *error;
};

/* Collects what the member's body needs; false with body->error set when it cannot be carried. */
bool body_collect(struct body *body, struct arena *arena, const struct group *group, uint32_t member,
                  const char *kernel);
/* Lays out the member's shared arrays from this byte of the fused kernel's array on. Dynamic shared memory
 * (arrays without a size, all at one address) lies behind the static. False with body->error set. */
bool body_lay_out_shared(struct body *body, uint64_t from);
/* --- variables.c: part of body_collect */
/* A load of a __constant__ variable that has one value in every use. value: as its register has it. */
bool body_known_constant(const struct body *body, uint32_t index, uint64_t *value);
/* Gives every variable of the module a word; false with body->error set. */
bool body_collect_variables(struct body *body);
/* False with body->error set. */
bool body_refuse(struct body *body, const struct ptx_instruction *instruction, const char *why);
bool body_add_word(struct body *body, struct body_word word);

/* The instruction loads from a parameter at an address in a register. */
bool body_reads_copy(const struct ptx_instruction *instruction);
/* The C expression of the kernel parameter that holds body->words[index]. */
typedef const char *body_word_name(void *context, const struct body *body, uint32_t index);
/* Writes the whole statement, each line behind the indentation. The group's bodies lie in one array, by
 * member. */
void body_write(const struct body *body, FILE *out, const char *indentation, body_word_name *word_name,
                void *context);
/* The same for all members of a join, in one statement; body: its first. Sets their first_output. */
void joined_write(struct body *body, const struct group_join *join, FILE *out, const char *indentation,
                  body_word_name *word_name, void *context);
/* It has to do with the fused kernel's shared array. */
bool body_uses_shared(const struct body *body);
/* The name of a coordinate that the body takes, `tid_x`; NULL: it does not. */
const char *body_coordinate(const struct body *body, int special);
/* A barrier of the block before the member. */
void body_write_barrier(const struct body *body, FILE *out);
/* The C variable of a forwarded value, e.g. `m0_value_17_0`. */
const char *body_value_name(struct arena *arena, const struct body_value *value);
const char *body_c_type(uint32_t bytes);
/* C variables: the address in shared memory of the cell's own place in the fetch's tile, where blocks march in the layer that it
 * reads; whether that has what the load of a fetch reads. */
const char *body_tile_name(const struct body *body, const struct group_fetch *fetch);
const char *body_covered_name(const struct body *body, uint32_t index);
/* No fetch before has this tile, and layer. */
bool body_is_first_fetch(const struct body *body, uint32_t index);
uint32_t body_fetch_bytes(const struct body *body, const struct group_fetch *fetch);

#endif
