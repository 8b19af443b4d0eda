/* SPDX-License-Identifier: Apache-2.0
 * Whether a point lies in an isl set, decided by arithmetic on the set's constraints: a launch has more
 * accesses than isl can be asked about one by one. */
#ifndef TESTS_ANALYSIS_MEMBERS_H
#define TESTS_ANALYSIS_MEMBERS_H

#include <isl/set.h>
#include <stdbool.h>
#include <stdint.h>

struct members;

/* Takes the set, of any number of dimensions, without parameters. Where its numbers are too large for that
 * arithmetic, isl is asked after all. */
struct members *members_new(isl_set *set);
/* point: a number for each dimension of the set. */
bool members_has(const struct members *members, const int64_t *point);
void members_free(struct members *members);

#endif
