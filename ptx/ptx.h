/* SPDX-License-Identifier: Apache-2.0
 * PTX as data: modules, functions, instructions. The front end of emulator and fuser alike.
 * Source: PTX ISA 9.0. The parser never gives up on a module: an instruction that it does not know keeps its text
 * and has opcode PTX_OP_UNKNOWN; a function that it cannot read has `unreadable` set and no instructions. Everything
 * belongs to the module's arena. Registers have one id a declaration (scopes are resolved), so names may repeat;
 * variables and labels of nested scopes whose names repeat in a function get a name of their own (`NAME$2`). */
#ifndef KFUSE_PTX_PTX_H
#define KFUSE_PTX_PTX_H

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(NAME, spelling, bytes) -- ISA 5.2 */
/* clang-format off */
#define PTX_TYPES(X)                                                                                              \
    X(B8, "b8", 1) X(B16, "b16", 2) X(B32, "b32", 4) X(B64, "b64", 8) X(B128, "b128", 16)                         \
    X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8)                                             \
    X(S8, "s8", 1) X(S16, "s16", 2) X(S32, "s32", 4) X(S64, "s64", 8)                                             \
    X(F16, "f16", 2) X(F16X2, "f16x2", 4) X(BF16, "bf16", 2) X(BF16X2, "bf16x2", 4) X(TF32, "tf32", 4)            \
    X(F32, "f32", 4) X(F64, "f64", 8) X(F32X2, "f32x2", 8) X(U16X2, "u16x2", 4) X(S16X2, "s16x2", 4)              \
    X(E4M3, "e4m3", 1) X(E5M2, "e5m2", 1) X(E4M3X2, "e4m3x2", 2) X(E5M2X2, "e5m2x2", 2)                           \
    X(PRED, "pred", 1)
/* clang-format on */
enum ptx_type {
    PTX_NO_TYPE,
#define X(name, text, bytes) PTX_##name,
    PTX_TYPES(X)
#undef X
        PTX_TYPE_COUNT
};
unsigned ptx_type_bytes(enum ptx_type type);
const char *ptx_type_name(enum ptx_type type);
bool ptx_type_is_float(enum ptx_type type);
bool ptx_type_is_signed(enum ptx_type type);

/* State spaces -- ISA 5.1. GENERIC: a memory instruction that names none. */
enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM, PTX_CONST, PTX_SPACE_COUNT };

/* Special registers -- ISA 10. X(NAME, spelling) */
/* clang-format off */
#define PTX_SPECIALS(X)                                                                                           \
    X(TID_X, "%tid.x") X(TID_Y, "%tid.y") X(TID_Z, "%tid.z")                                                      \
    X(NTID_X, "%ntid.x") X(NTID_Y, "%ntid.y") X(NTID_Z, "%ntid.z")                                                \
    X(CTAID_X, "%ctaid.x") X(CTAID_Y, "%ctaid.y") X(CTAID_Z, "%ctaid.z")                                          \
    X(NCTAID_X, "%nctaid.x") X(NCTAID_Y, "%nctaid.y") X(NCTAID_Z, "%nctaid.z")                                    \
    X(LANEID, "%laneid") X(WARPID, "%warpid") X(NWARPID, "%nwarpid") X(SMID, "%smid") X(NSMID, "%nsmid")          \
    X(GRIDID, "%gridid") X(CLOCK, "%clock") X(CLOCK_HI, "%clock_hi") X(CLOCK64, "%clock64")                       \
    X(GLOBALTIMER, "%globaltimer") X(GLOBALTIMER_LO, "%globaltimer_lo") X(GLOBALTIMER_HI, "%globaltimer_hi")      \
    X(LANEMASK_EQ, "%lanemask_eq") X(LANEMASK_LT, "%lanemask_lt") X(LANEMASK_LE, "%lanemask_le")                  \
    X(LANEMASK_GT, "%lanemask_gt") X(LANEMASK_GE, "%lanemask_ge")                                                 \
    X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size") X(TOTAL_SMEM_SIZE, "%total_smem_size")                             \
    X(OTHER, "") /* every other one: kept by its text */
/* clang-format on */
enum ptx_special {
#define X(name, text) PTX_SPECIAL_##name,
    PTX_SPECIALS(X)
#undef X
        PTX_SPECIAL_COUNT
};

/* Opcodes: ptx/opcodes.def, one row an opcode; see there for the columns. */
enum ptx_opcode {
    PTX_OP_UNKNOWN,
#define PTX_OPCODE(name, ...) PTX_OP_##name,
#include "ptx/opcodes.def"
#undef PTX_OPCODE
    PTX_OPCODE_COUNT
};
enum ptx_opcode_class {
    PTX_CLASS_ARITHMETIC, /* a function of its operands */
    PTX_CLASS_MEMORY,     /* ld, st, and the like */
    PTX_CLASS_ATOMIC,     /* atom, red */
    PTX_CLASS_CONTROL,    /* bra, ret, exit, call, brx */
    PTX_CLASS_BARRIER,    /* bar, barrier */
    PTX_CLASS_FENCE,      /* membar, fence */
    PTX_CLASS_WARP,       /* shfl, vote, match, redux, activemask, elect, warpsync */
    PTX_CLASS_OTHER,      /* textures, asynchronous copies, traps, clocks, pseudo-statements */
};
struct ptx_opcode_info {
    const char *name;
    enum ptx_opcode_class class;
    bool may_fuse;        /* whitelist: may stand in a member of an inner-thread fusion */
    bool has_destination; /* operand 0 is written */
    bool is_emulated;     /* the emulator runs it (some types may still be missing) */
};
const struct ptx_opcode_info *ptx_opcode_info(enum ptx_opcode opcode);

/* Modifiers that are neither types nor state spaces: ptx/modifiers.def, one X(NAME, "spelling") each, e.g. .lo .hi
 * .wide .rn .rz .ftz .sat .approx .full .ge .and .uni .volatile .relaxed .acquire .gpu .cta .sys .nc .ca .cg .sync
 * .aligned .up .down .bfly .idx .add .exch .cas .to .v2 .v4 .v8 ... */
enum ptx_modifier {
    PTX_MOD_NONE,
#define PTX_MODIFIER(name, text) PTX_MOD_##name,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
    PTX_MODIFIER_COUNT
};
enum { PTX_MODIFIER_WORDS = 4 };

struct ptx_scope;

struct ptx_span { /* a piece of the module's text */
    const char *text;
    uint32_t length;
};

struct ptx_variable {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t alignment;
    uint64_t size;   /* bytes; 0 for an unsized extern array (dynamic shared memory) */
    uint32_t offset; /* parameters: in the parameter buffer (ISA 4.5.1: natural or .align, in order) */
    bool is_extern, is_visible, is_managed;
    bool is_array;                /* declared with [] */
    uint8_t vector;               /* elements of a .v2 or .v4 declaration, else 1 */
    const unsigned char *initial; /* size bytes, or NULL for zeros */
    struct ptx_relocation { /* initial values that are addresses: 8 bytes at offset hold symbol + addend */
        uint64_t offset;
        const char *symbol;
        int64_t addend;
        bool is_generic;
    } * relocations;
    uint32_t relocation_count;
    uint32_t line;
    struct ptx_span text; /* the whole declaration */
};

struct ptx_register {
    const char *name; /* with the % */
    enum ptx_type type;
    uint8_t vector; /* elements: 1, or 2 or 4 of `.reg .v4 .f32 a` */
};

enum ptx_operand_kind {
    PTX_OPERAND_NONE, /* `_` */
    PTX_OPERAND_REGISTER,
    PTX_OPERAND_INTEGER, /* value: sign-extended to 64 bits */
    PTX_OPERAND_FLOAT,   /* value: the bits as written (0f 32, 0d 64, decimal: 64-bit double) */
    PTX_OPERAND_SPECIAL, /* special */
    PTX_OPERAND_SYMBOL,  /* variable or function by name, with offset: `a`, `a+4` */
    PTX_OPERAND_ADDRESS, /* [register + offset], [symbol + offset], [offset]; textures' [a, more, ...] */
    PTX_OPERAND_VECTOR,  /* {a, b, ...}: elements */
    PTX_OPERAND_LIST,    /* (a, b, ...): call's lists */
    PTX_OPERAND_PAIR,    /* a|b : elements, 2 */
    PTX_OPERAND_LABEL,   /* label */
};
enum { PTX_COMPONENT_OTHER = 5 }; /* a video instruction's .b0 .h1 ...: only in the operand's text */
struct ptx_operand {
    enum ptx_operand_kind kind;
    bool is_negated; /* !%p, or -%r */
    bool is_float64; /* FLOAT written as 0d or decimal */
    enum ptx_special special;
    int32_t reg;       /* REGISTER, ADDRESS: index in registers, -1: none */
    int32_t label;     /* LABEL: index in labels; SYMBOL of a table: index in tables; else -1 */
    uint8_t component; /* .x .y .z .w of a vector register plus one; 0: none; PTX_COMPONENT_OTHER */
    const struct ptx_variable *variable; /* SYMBOL, ADDRESS: resolved, or NULL (a function, or unresolved) */
    const char *symbol;                  /* SYMBOL, ADDRESS: its name, or NULL */
    int64_t value;                       /* INTEGER, FLOAT; SYMBOL and ADDRESS: the byte offset */
    struct ptx_operand *elements;        /* VECTOR, LIST, PAIR */
    uint32_t element_count;
    struct ptx_span text; /* as written; a number is printed as written unless this is empty */
};

struct ptx_instruction {
    enum ptx_opcode opcode;
    enum ptx_type types[3]; /* in order of appearance: cvt.rzi.s32.f32 has S32, F32 */
    uint8_t type_count;
    enum ptx_space space; /* memory, atom, cvta, isspacep: as written, else GENERIC */
    uint8_t vector;       /* 1, 2, 4 or 8 */
    uint64_t modifiers[PTX_MODIFIER_WORDS];
    int32_t guard; /* predicate register of @%p, or -1 */
    bool guard_negated;
    uint32_t operand_count;
    struct ptx_operand *operands;
    uint32_t line;                     /* in the module's text, from 1 */
    uint32_t source_file, source_line; /* of the last .loc, 0: none */
    struct ptx_span mnemonic;          /* `ld.global.nc.f32` */
    struct ptx_span text;              /* guard to semicolon */
};
static inline bool ptx_has_modifier(const struct ptx_instruction *instruction, enum ptx_modifier modifier)
{
    return instruction->modifiers[modifier / 64] >> (modifier % 64) & 1;
}

struct ptx_label {
    const char *name;
    uint32_t instruction; /* index that it stands before; may be instruction_count */
};

struct ptx_table { /* .branchtargets, .calltargets or .callprototype -- ISA 11.3 */
    const char *name;
    int32_t *labels; /* .branchtargets: indices in labels */
    uint32_t label_count;
    struct ptx_span text; /* from the directive to the semicolon */
};

struct ptx_function {
    const char *name;
    struct ptx_module *module;
    bool is_entry, is_visible, is_extern, is_weak;
    bool is_declaration;    /* has no body */
    const char *unreadable; /* why it could not be read, with the line; NULL: it was */
    struct ptx_variable *parameters;
    uint32_t parameter_count, parameter_bytes;
    struct ptx_variable *returns;
    uint32_t return_count;
    struct ptx_register *registers;
    uint32_t register_count;
    struct ptx_variable **variables; /* declared inside: shared, local, and .param of calls */
    uint32_t variable_count;
    struct ptx_instruction *instructions;
    uint32_t instruction_count;
    struct ptx_label *labels;
    uint32_t label_count;
    struct ptx_table *tables;
    uint32_t table_count;
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg; /* 0: not given */
    /* the performance directives between the parameter list and the body, as text */
    struct ptx_span directives;
    struct ptx_span text;
    uint32_t line;
};

struct ptx_module {
    struct arena *arena;
    const char *name; /* for messages: a file's, or what the caller gave */
    const char *text; /* NUL-terminated, owned */
    size_t length;
    uint32_t version_major, version_minor;
    const char *target; /* `sm_90` */
    uint32_t sm;        /* 90 */
    bool is_debug;      /* .target ... debug */
    uint32_t address_size;
    struct ptx_variable **variables;
    uint32_t variable_count;
    struct ptx_function **functions; /* declarations too */
    uint32_t function_count;
    /* what follows the architecture but debug: `, texmode_independent`, or empty */
    const char *target_options;
    struct ptx_span *extras; /* other statements: .alias, .pragma */
    uint32_t extra_count;
    struct ptx_scope *names; /* private: for ptx_find_function and ptx_find_variable */
};

/* Reads PTX text (copied). Never NULL except when memory is out; *error receives the first syntax error outside any
 * function (module level), or NULL; it belongs to the module's arena. */
struct ptx_module *ptx_parse(const char *name, const char *text, size_t length, const char **error);
void ptx_module_free(struct ptx_module *module);
/* A definition before its declarations. */
const struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name);
const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name);

/* Printing. names replaces what a caller wants renamed: any callback may be NULL or return NULL for "as it was". */
struct ptx_names {
    const char *(*reg)(void *context, const struct ptx_function *function, int32_t reg);
    const char *(*special)(void *context, enum ptx_special special);
    const char *(*label)(void *context, const struct ptx_function *function, int32_t label);
    const char *(*symbol)(void *context, const char *symbol);
    void *context;
};
/* One instruction, guard to semicolon, without a newline. */
void ptx_print_instruction(FILE *out, const struct ptx_function *function,
                           const struct ptx_instruction *instruction, const struct ptx_names *names);
/* A whole function or module that ptxas accepts; registers are declared again, by id where names repeat. */
void ptx_print_function(FILE *out, const struct ptx_function *function);
void ptx_print_module(FILE *out, const struct ptx_module *module);

/* --- control flow: cfg.c ----------------------------------------------------------------------------------- */
struct ptx_block {
    uint32_t first, count; /* instructions */
    uint32_t *successors;  /* a conditional bra: [0] taken, [1] fall through */
    uint32_t successor_count;
    uint32_t *predecessors;
    uint32_t predecessor_count;
};
struct ptx_cfg {
    const struct ptx_function *function;
    struct ptx_block *blocks; /* block 0 is the entry; the last one is a virtual exit without instructions */
    uint32_t block_count;
    uint32_t *block_of; /* instruction -> block */
};
/* A predicated ret, exit or bra ends a block; other predicated instructions do not. NULL with *reason set when there
 * is control flow that cannot be followed (brx.idx without a table). */
struct ptx_cfg *ptx_cfg_build(struct arena *arena, const struct ptx_function *function, const char **reason);

/* --- predicates on instructions: instruction.c -------------------------------------------------------------- */
bool ptx_is_load(const struct ptx_instruction *instruction); /* ld, ldu; not atomics */
bool ptx_is_store(const struct ptx_instruction *instruction);
bool ptx_is_atomic(const struct ptx_instruction *instruction); /* atom, red */
/* The first operand that is an address, or NULL. */
const struct ptx_operand *ptx_address_operand(const struct ptx_instruction *instruction);
bool ptx_is_branch(const struct ptx_instruction *instruction);        /* bra, brx */
bool ptx_is_return(const struct ptx_instruction *instruction);        /* ret, exit */
bool ptx_is_block_barrier(const struct ptx_instruction *instruction); /* not of a warp */
/* bytes that a memory instruction moves: type times vector */
uint32_t ptx_access_bytes(const struct ptx_instruction *instruction);

/* --- fatbins: fatbin.c --------------------------------------------------------------------------------------- */
/* PTX texts in a load image, an executable or a library: every one, decompressed (zstd, LZ4). Malformed entries are
 * skipped. The texts belong to the arena. */
struct ptx_text {
    const char *text; /* NUL-terminated */
    size_t length;
    uint32_t sm;
};
struct ptx_machine_code { /* a cubin inside the image; decompressed */
    const void *bytes;
    size_t size;
    uint32_t sm;
};
/* Returns the count; *texts may be NULL when 0. */
uint32_t ptx_texts_of_image(struct arena *arena, const void *bytes, size_t size, struct ptx_text **texts);
uint32_t ptx_machine_code_of_image(struct arena *arena, const void *bytes, size_t size,
                                   struct ptx_machine_code **cubins);
/* The text that the driver would compile for a device of this architecture: the highest sm not above it, or NULL. */
const struct ptx_text *ptx_text_for(const struct ptx_text *texts, uint32_t count, uint32_t sm);
/* All load images in an ELF executable or shared library (section .nv_fatbin), a cubin, a fatbin or a PTX file. */
uint32_t ptx_texts_of_file(struct arena *arena, const char *path, struct ptx_text **texts,
                           const char **error);
/* Writes a container with one PTX and one ELF entry, uncompressed; either may be NULL. Result in the arena. */
void *ptx_fatbin_write(struct arena *arena, uint32_t sm, const char *ptx, const void *elf, size_t elf_size,
                       size_t *size);

#endif
