/* SPDX-License-Identifier: Apache-2.0
 * Loads whose address data choose, as upwind differences have them: `q[u > 0 ? i - 1 : i]`. Where the choice is a selp,
 * or where two ways meet again behind one branch, and one condition makes it, such a load becomes two, each under that
 * condition:
 *
 *     selp.b32 %r3, -1, 0, %p1;                      add.s32 %n1, %r2, -1; ... @%p1  ld.global.f64 %fd1, [%n2];
 *     add.s32 %r4, %r2, %r3; ...               =>    add.s32 %n3, %r2, 0;  ... @!%p1 ld.global.f64 %fd1, [%n4];
 *     ld.global.f64 %fd1, [%rd5];
 *
 * Each has an address that follows from the thread's number, so that the launch reaches known bytes. The value is the
 * same, bit for bit: one of the two runs, from the address that the original has. Conditions that no load decides are
 * left alone, since the analysis understands them as they are (fuser/access/value.c). */
#ifndef KFUSE_FUSER_KERNEL_CHOSEN_LOADS_H
#define KFUSE_FUSER_KERNEL_CHOSEN_LOADS_H

#include "ptx/ptx.h"

/* The function itself where there is no such load, or memory is out; else a copy in the arena, of the same name, module
 * and parameters. What is new has the number of the load's line, and its text. */
const struct ptx_function *chosen_loads_split(struct arena *arena, const struct ptx_function *function);

#endif
