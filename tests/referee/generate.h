/* SPDX-License-Identifier: Apache-2.0
 * Draws a program by lot: kernels, arrays, streams, launches and what stands between them. Every launch of it
 * stays inside its arrays and is free of races; launches of several streams that touch one array are ordered
 * by events. */
#ifndef KFUSE_TESTS_REFEREE_GENERATE_H
#define KFUSE_TESTS_REFEREE_GENERATE_H

#include "common/arena.h"

#include <stdint.h>

/* The text of program number of a seed (script.h); in the arena. NULL when memory is out. */
const char *generate_script(struct arena *arena, uint64_t seed, uint32_t number);

#endif
