/* SPDX-License-Identifier: Apache-2.0
 * Loads and stores of which threads choose the array: a boundary kernel that treats all fields of a model takes the pointer by
 * blockIdx.z. Where ways meet, the pointer is one of several parameters, and an access through it may be anywhere. Such an access
 * becomes several, one for each array, each for the threads that have chosen it:
 *
 *     mov.u64 %rd3, %rd1; bra L;          mov.u64 %rd3, %rd1; mov.u32 %c, 0; bra L;
 *     mov.u64 %rd3, %rd2;                 mov.u64 %rd3, %rd2; mov.u32 %c, 1;
 *     L:                            =>    L: setp.eq.u32 %q0, %c, 0; ld.param.u64 %n0, [a]; setp.eq.u32 %q1, %c, 1; ...
 *     add.s64 %rd4, %rd3, %rd9;           add.s64 %rd4, %rd3, %rd9; add.s64 %m0, %n0, %rd9; add.s64 %m1, %n1, %rd9;
 *     st.global.f32 [%rd4], %f1;          @%q0 st.global.f32 [%m0], %f1; @%q1 st.global.f32 [%m1], %f1;
 *
 * So does one behind a selp of pointers. Exactly one of them runs, with the address that the original has. */
#ifndef KFUSE_FUSER_KERNEL_CHOSEN_ARRAYS_H
#define KFUSE_FUSER_KERNEL_CHOSEN_ARRAYS_H

#include "ptx/ptx.h"

/* The function itself where there is no such access, or memory is out; else a copy in the arena, of the same name, module and
 * parameters. What is new has the number of the line of what it stands beside, and its text. */
const struct ptx_function *chosen_arrays_split(struct arena *arena, const struct ptx_function *function);

#endif
