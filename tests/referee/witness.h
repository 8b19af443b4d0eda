/* SPDX-License-Identifier: Apache-2.0
 * What the threads of a program's launches were seen to touch, kept so that the planner's reasons can be
 * checked: where one names two threads that share a byte, they must have done so. */
#ifndef KFUSE_TESTS_REFEREE_WITNESS_H
#define KFUSE_TESTS_REFEREE_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct witness_touch {
    uint32_t kernel, line; /* number of the kernel in its program; of the PTX */
    uint16_t thread[6];    /* block x y z, thread x y z */
    uint32_t bytes;
    uint64_t start; /* address of the array or variable; 0: none, and place is an address */
    uint64_t place; /* from its start */
    bool is_write;
};
struct witness_log {
    struct witness_touch *touches;
    uint32_t *exact_lines; /* kernel << 20 | line, of accesses that claim to be exact */
    size_t count, capacity;
    uint32_t exact_count, exact_capacity;
    bool is_sorted;
};

void witness_add(struct witness_log *log, const struct witness_touch *touch);
void witness_add_exact(struct witness_log *log, uint32_t kernel, uint32_t line);
void witness_free(struct witness_log *log);

enum witness_verdict {
    WITNESS_NONE,     /* the reason names no threads */
    WITNESS_SEEN,     /* they were seen */
    WITNESS_POSSIBLE, /* not seen; the analysis does not claim to know those accesses exactly */
    WITNESS_UNTRUE    /* not seen, though both accesses claim to be exact */
};
enum witness_verdict witness_check(struct witness_log *log, const char *reason);
/* The program's number in the first kernel's name of a reason; false when it names none. */
bool witness_program(const char *reason, uint32_t *program);

#endif
