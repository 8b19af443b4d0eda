/* SPDX-License-Identifier: Apache-2.0
 * Why a kernel that is carried as PTX computes the bits that the program's own kernel does (doc/exactness.md).
 * The reference is the machine code that the program runs: the image's code for the device, or what the
 * driver's compiler makes of the image's PTX where it holds none. Decided once a kernel; what is compiled is
 * compiled once a module. */
#ifndef KFUSE_FUSER_PLANNER_EXACTNESS_H
#define KFUSE_FUSER_PLANNER_EXACTNESS_H

#include "fuser/planner/program.h"

enum exactness_kind {
    EXACTNESS_EMULATED,  /* the device runs the PTX itself */
    EXACTNESS_NO_CHOICE, /* no compiler has a choice: no unrounded product reaches an unrounded sum */
    EXACTNESS_SAME_CODE, /* our compiler makes the program's code of the PTX, byte for byte */
    EXACTNESS_UNPROVEN,  /* its groups must be verified on the device that they run on */
};
struct exactness {
    enum exactness_kind kind;
    const char *text;   /* "exact: ..." or "to be verified: ..." */
    const char *kernel; /* SAME_CODE: the name of its code in cubin */
    const void *cubin;
    size_t cubin_size;
    const struct contraction
        *contractions; /* SAME_CODE: what is known of its code (fuser/codegen/recover.h), or NULL */
};

struct exactness_of { /* of a copy of a kernel's function */
    struct exactness exactness;
    const struct ptx_function *copy;
    struct exactness_of *next;
};

/* The kernel has a function (program_function). Never NULL except when memory is out. */
const struct exactness *exactness_of(struct program *program, struct program_kernel *kernel);
/* The same, where a member runs a function that was made of the kernel's (kernel/grid_stride.h, for one). Its instructions may be
 * others, and have other numbers. */
const struct exactness *exactness_of_copy(struct program *program, struct program_kernel *kernel,
                                          const struct ptx_function *copy);

#endif
