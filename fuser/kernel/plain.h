/* SPDX-License-Identifier: Apache-2.0
 * A kernel in the form that all later parts see: calls are replaced by what they call (inline.h), parameters are read
 * by name, accesses whose array threads choose are several (chosen_arrays.h), and loads whose address data choose are two
 * (chosen_loads.h).
 *
 * Kernels that take a struct or closure by value read it through its address (`mov.b64 %rd1, f_param_0;
 * ld.param.f64 %fd1, [%rd1+16]`), through a generic address (`cvta.param`), or through a copy in local memory. Where
 * the offset follows from the PTX, each such read becomes `ld.param [f_param_0+16]`. Where it does not (an index that
 * varies), an address of the parameter stays, in the parameter space; addresses that nobody reads through any more are
 * set to 0. A local variable that is a copy of one parameter and nothing else is that parameter. Instructions keep their
 * number, line and text. */
#ifndef KFUSE_FUSER_KERNEL_PLAIN_H
#define KFUSE_FUSER_KERNEL_PLAIN_H

#include "fuser/kernel/ssa.h"

/* The function itself where nothing is to be done, or memory is out; else a copy in the arena, of the same name, module
 * and parameters. */
const struct ptx_function *plain_function(struct arena *arena, const struct ptx_function *function);
/* Whether the two have other instructions by the same numbers. */
bool plain_is_renumbered(const struct ptx_function *function, const struct ptx_function *plain);
/* Only its parameters, of one that calls nothing any more. */
const struct ptx_function *plain_parameters(struct arena *arena, const struct ptx_function *function);
/* NULL, or why another kernel may not get the parameters of a function in plain form as a copy elsewhere: what is done
 * with an address of one. Sets the instruction. */
const char *plain_obstacle(struct arena *arena, const struct ssa *ssa, uint32_t *instruction);

#endif
