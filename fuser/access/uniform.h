/* SPDX-License-Identifier: Apache-2.0
 * Which parts of a kernel all threads of a block, or of a warp, reach together. A barrier anywhere else would
 * wait in a fused kernel for threads that have gone on to the next member, where in the program they had left
 * the launch: such a member is early-exit divergent, and code is made for it that counts them. Divergence
 * analysis over the control flow graph (Karrenberg, Hack: Improving Performance of OpenCL on CPUs, section
 * 4.2), sharpened by what is known of the branches of this one launch. Internal to fuser/access. */
#ifndef KFUSE_FUSER_ACCESS_UNIFORM_H
#define KFUSE_FUSER_ACCESS_UNIFORM_H

#include "fuser/access/analysis.h"

/* Sets the summary's is_exit_divergent. NULL, or why blocks of this launch cannot run whole in a fused
 * kernel: a barrier or a warp collective that some threads of a warp may not reach, with the PTX line. Needs
 * iterations_walk. */
const char *uniform_check(struct analysis *analysis);

#endif
