/* SPDX-License-Identifier: Apache-2.0
 * From a legal group to a compiled kernel: CUDA C whose member bodies are inline assembly
 * with registers renamed, compiled by NVRTC (loaded with dlopen, so that a missing one is a message, not a
 * crash). */
#ifndef KFUSE_FUSER_CODEGEN_CODEGEN_H
#define KFUSE_FUSER_CODEGEN_CODEGEN_H

#include "fuser/codegen/compiler.h"
#include "fuser/codegen/contraction.h"
#include "fuser/fusion/group.h"

struct codegen_parameter { /* one parameter of the fused kernel, copied from a member's parameter buffer */
    uint32_t member, source_offset, size, alignment;
    uint32_t destination_offset; /* in the fused kernel's parameter buffer */
    bool is_copy;                /* a whole parameter of the member, which it reads at addresses */
    bool is_distance; /* of the group's i-th rename, at 16 i what is added to an address in the array for its
                         old contents, at 16 i + 8 for the new; member and source_offset mean nothing */
    bool
        is_arrivals; /* the number of the stream's counter, less than PLAN_ARRIVALS (last_block.h); the same */
};
/* Parameters that are known to be equal by a guard need only be passed once: the caller's table, may be NULL.
 */
struct codegen_alias {
    uint32_t member, offset;           /* this 8-byte pointer ... */
    uint32_t same_member, same_offset; /* ... equals this one of an earlier member */
};
/* The machine code that a member is known to have in the program. */
struct codegen_reference {
    const void *cubin; /* NULL: none is known */
    size_t cubin_size;
    const char *kernel;
    const struct contraction
        *contractions; /* one an instruction of the member (recover.h); NULL: none are known */
    bool is_emulated;  /* PTX itself runs, and no compiler contracts it */
};
struct codegen_request {
    const struct group *group;
    const char *name; /* of the kernel: a C identifier that contains the members' names */
    uint32_t sm;      /* 90 */
    uint32_t
        least_blocks;     /* that a multiprocessor's registers must have room for; 0: as the compiler likes */
    bool frees_registers; /* of the least that its members asked for themselves (.minnctapersm) */
    bool is_general;      /* written without what is known of its launches */
    bool has_one_version; /* no stage is written twice */
    const struct codegen_alias *aliases;
    uint32_t alias_count;
    const struct codegen_reference *references; /* one a member, may be NULL */
    const struct compiler *compiler;            /* NULL: NVRTC runs in this process */
};

struct codegen_result {
    struct arena *arena;
    const char *source; /* CUDA C, always set when codegen could write it */
    const char *ptx;
    const void *cubin;
    size_t cubin_size;
    const char *entry; /* extern "C" name */
    uint32_t registers, static_shared, local_bytes, spill_bytes;
    uint32_t instructions; /* of its machine code, each counted once; 0: not known */
    /* of a halo fusion, one a stage: the version of its code that most blocks run; NULL: not known */
    double *stage_instructions;
    /* one a stage (stage_version.h): most blocks run an interior version; there is a general one beside it. NULL: no stages */
    bool *has_interior, *is_twice;
    bool *is_idle;           /* one a member: the interior version runs nothing of it */
    uint32_t dynamic_shared; /* that it must be launched with; above 48 KiB the function must be told first */
    struct codegen_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    const char *error;    /* NULL, or why not: NVRTC missing, its log, spills, ... with the next step */
    bool may_contract;    /* the compiler has a choice: code is compared with that of the members */
    bool is_specialized;  /* to what is known of its launches */
    bool folds_functions; /* it may have approximations of constants that the compiler computed */
    const char *unproven; /* NULL, or why its machine code could not be compared with that of its members */
    bool has_no_compiler; /* the error is that there is no NVRTC: no group can be compiled */
};
/* Writes the source only. */
void codegen_write(const struct codegen_request *request, struct codegen_result *result);
/* codegen_write, then NVRTC. Where a member asked for more blocks at once than the group's registers leave
 * room for, it does not get them. A group that spills nevertheless is an error. */
void codegen_compile(const struct codegen_request *request, struct codegen_result *result);
void codegen_result_clear(struct codegen_result *result);

#endif
