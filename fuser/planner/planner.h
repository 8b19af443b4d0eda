/* SPDX-License-Identifier: Apache-2.0
 * From a trace to a plan folder (doc/planning.md). Needs no GPU. Deterministic: same trace, same options,
 * same measurements, same bytes.
 *
 * plan.json, for people and for `kfuse report` and `kfuse explain`:
 *   format, kfuse        versions
 *   trace, device        file name and whether the trace was damaged; the recorded device
 *   launches_before, launches_after, original_ns, planned_ns, windows     over the recorded run
 *   out_of_time: [ phase ]     phases that --seconds cut: the plan depends on how fast the machine was
 *   launches_analysed    launches of which the analysis knows what they touch
 *   files: [ name ]      beside plan.json and plan.bin, those that the planner wrote and may replace
 *   apart: [ launches, reason ]     the launches that no group replaces, most frequent reason first
 *   kernels: [ id, name, module, launches, registers, time_ns, readable, refusal, no_member ]
 *       refusals are texts or null; readable: the file that shows it as C, or null
 *   groups:  [ name, fusion (inner-thread, joined loops, inner-block, halo), source, readable, uses, members:
 * [ kernel, name, grid, block, barrier_before, loops, exactness ], passed_over: [ kernel, name, role ], grid,
 * block, stale: [ text ] (ranges that are not stored), made_again (so often in the recorded run), remaps: [
 * text ], to_be_verified, registers, original_ns, projected_ns, bytes_saved, bytes_cached, forwards: [ text
 * ], served: [ text ], drops: [ text ], guards: [ text ] ] loops: what became of them (or null); exactness is
 * the argument of exactness.h; to_be_verified a text (why), or null pairs:   [ first: { kernel (id), grid,
 * block }, second (likewise), count, time_ns (device time of the shorter launches), outcome (of neighbours.def), class (of their conflicts: none, thread,
 * halo, block, other, possible; or null: not asked for), group, fusion (null: apart), values: [ text ] (that
 * pass from the first to the second), reason (null: fused), conflict, next_step (or null) ] neighbouring
 * launches, one row a situation conflict: null, or { array (number), byte, first: { line, access (reads,
 * writes, updates), bytes, argument (offset) or variable (name), in_block, thread: x y z }, second (likewise)
 * }; no byte and threads where none is known */
#ifndef KFUSE_FUSER_PLANNER_PLANNER_H
#define KFUSE_FUSER_PLANNER_PLANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct planner_options {
    const char *const *trace_paths; /* of runs of one program on one device */
    uint32_t trace_count;           /* at least one */
    const char *plan_path;          /* folder; created; an older plan in it is replaced */
    double margin;        /* a group must gain at least this share of its original sum; 0.03 unless told */
    uint32_t max_members; /* of one group; 0: 16, or as many as the loop that they are in has, up to 32 */
    double most_seconds; /* for all of it (deadline.h); what was not come to by then stays apart. 0: no limit;
                          * 600 unless told
                          */
    double since;        /* deadline_now of the start that most_seconds counts from; 0: planner_run's */
    uint32_t jobs;       /* processes at work at a time; 0: one a core. The plan is the same */
    bool keeps_losing; /* groups that are legal but not projected to gain are kept too: for tests of replay */
    bool without_halo; /* halo fusions are not even looked for, since isl died of that */
    uint32_t
        march_layers; /* blocks of halo fusions march so many layers; 0: where it pays; UINT32_MAX: never */
    bool stores_all;  /* no fused kernel leaves a range stale (deferred.h) */
    uint32_t only;    /* bit i: groups of kind i (group_kind) are wanted; 0: all are */
    /* what runs have measured; NULL: what they left beside the older plan, if anything */
    const char *measured_path;
    bool ignores_measured; /* not even that */
    /* Progress of long work, may be NULL: done of total steps of the named phase. */
    void (*progress)(void *context, const char *phase, uint32_t done, uint32_t total);
    void *context;
};
struct planner_summary {
    uint64_t launches_before, launches_after;
    uint64_t original_ns, planned_ns; /* device time of the recorded launches, and projected */
    uint32_t groups, kernels, kernels_analysed;
    uint32_t unverified;    /* groups that run only once they have been verified */
    uint64_t unverified_ns; /* what these gain of the recorded launches' time, projected */
    char refusal[512];      /* the kernel with most launches among those not analysed, and why; or empty */
    uint64_t trace_damaged_bytes; /* that could not be read */
    const char *damaged_trace;    /* the first that has some, or NULL */
    uint32_t runs;
    double seconds;
    const char *cut; /* the first phase that time cut, or NULL */
};
void planner_defaults(struct planner_options *options);
/* False with a message in error: file, what is wrong, what to do. */
bool planner_run(const struct planner_options *options, struct planner_summary *summary, char *error,
                 size_t error_size);

#endif
