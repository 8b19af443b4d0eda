/* SPDX-License-Identifier: Apache-2.0
 * Numbers by lot: splitmix64. */
#ifndef KFUSE_TESTS_REFEREE_RANDOM_H
#define KFUSE_TESTS_REFEREE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* Below count. */
static inline uint32_t random_below(struct random *random, uint32_t count)
{
    return (uint32_t)((random_next(random) >> 33) % count);
}
/* In percent of the cases. */
static inline bool random_chance(struct random *random, uint32_t percent)
{
    return random_below(random, 100) < percent;
}
/* From a list of numbers. */
#define random_of(random, ...)                                                                               \
    ((const int[]){__VA_ARGS__}[random_below(random, sizeof(int[]){__VA_ARGS__} / sizeof(int))])

#endif
