/* SPDX-License-Identifier: Apache-2.0
 * Plans for tests of replay, made by hand for the fake driver. One module, kernels a(pointer, int),
 * b(pointer, pointer), c(pointer) and d(pointer), which uses the variable v, each launched with 4 blocks of
 * 32 threads. */
#ifndef KFUSE_TESTS_PLAN_FIXTURE_H
#define KFUSE_TESTS_PLAN_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#define FIXTURE_IMAGE ".version 8.0 // the program's module"
#define FIXTURE_A     "a:8,4"
#define FIXTURE_B     "b:8,8"
#define FIXTURE_C     "_Z1cPf:8"
#define FIXTURE_D     "d:8"

enum fixture_groups {
    FIXTURE_RENAME =
        64, /* a b: renamed(pointer of a, second of b, two distances); 256 bytes at a's pointer */
    FIXTURE_BOX =
        128, /* a b: the same, but only 3 rows of 16 bytes are written there, from byte 80, 64 apart */
    FIXTURE_BOX_BB = 256, /* b b: the same at the first one's first pointer */
    FIXTURE_LAZY = 512, /* a b, where b's first pointer is a's: lazy(pointer, int, pointer), which leaves 256
                           bytes at a's pointer stale, that a writes whole; or ab */
    FIXTURE_DD = 32,    /* d d, with one v: dd(pointer of the first, address of v) */
    FIXTURE_AB = 1,     /* a b, where b's first pointer is a's: ab(pointer, int, pointer) */
    FIXTURE_ABC = 2,    /* a b c: abc(pointer, pointer) of a and c */
    FIXTURE_BCB = 4,    /* b c b with c passed over, before: bb(pointer, pointer) */
    FIXTURE_BCA = 8,    /* b c a with c passed over, after: ba(pointer, pointer) */
    FIXTURE_CAB = 1024, /* c a b with c passed over, before: the members of AB, and its kernel */
    FIXTURE_CC =
        16, /* c c, where both lie inside one allocation of at least 4096 bytes: cc(pointer, pointer) */
};
struct fixture {
    uint32_t groups;         /* enum fixture_groups */
    const char *device;      /* NULL: the fake driver's */
    uint32_t driver_version; /* 0: the fake driver's */
    uint32_t flags;          /* of the groups */
    bool gains_nothing;      /* as projected, or else a microsecond */
    uint32_t takes_ns;       /* a use of a group, as projected */
    uint32_t written; /* bytes that the first launch of each group writes at its first pointer; 0: not said */
    uint32_t registers;   /* of the kernels; 0: what the fake driver says */
    int compared;         /* what a's int must be; 0: anything */
    const char *image;    /* NULL: FIXTURE_IMAGE */
    const char *variable; /* of d; NULL: v */
};
/* Writes directory/plan.bin and plan.json; exits when that fails. */
void fixture_write(const struct fixture *fixture, const char *directory);

#endif
