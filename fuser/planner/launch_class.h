/* SPDX-License-Identifier: Apache-2.0
 * Launch classes: launches of one kernel that the analysis can't tell apart (same shape, same values of every
 * argument word that shapes addresses or control flow). The analysis runs once a class, and for a kernel that
 * can't be a member, where nothing stands on both sides of a launch that could be fused across it, once in
 * all. */
#ifndef KFUSE_FUSER_PLANNER_LAUNCH_CLASS_H
#define KFUSE_FUSER_PLANNER_LAUNCH_CLASS_H

#include "fuser/fusion/conflict.h"
#include "fuser/planner/program.h"
#include "fuser/solver/deadline.h"

#include <isl/ctx.h>

enum { LAUNCH_CLASS_ALONE = UINT32_MAX };
struct launch_class {
    uint32_t id, kernel; /* kernel: number in the trace */
    uint32_t bucket;     /* the same for launches of one kernel, shape and pointer words; or ALONE */
    const struct program_launch *example;
    struct access_summary *summary; /* NULL with a refusal */
    const char *refusal;            /* nothing may be reordered across such a launch */
    const char *no_member;          /* it may be passed over, not fused */
    const char *keeps_place;        /* nor passed over */
    bool is_spared; /* launches of a kernel that is no member, where no group could pass over them: not
                       analysed */
    /* The first class that touches the same in other places of its arrays (moved.h), or this one, and how
     * much further on this one does, by base. */
    struct launch_class *like;
    const int64_t *moved;
    const struct launch_shift *shifts; /* of the summary's input */
    uint32_t shift_count;
    const struct access_words *open; /* bytes of the arguments that may have any value (varying.h) */
    uint32_t open_count;
    /* Of launches that have other numbers each time, and a plan can't know those to come: a group that has such launches and
     * others, too, would be used once. */
    bool comes_once;
    uint64_t launches, timed_launches, time_ns;
    uint64_t alike_timed_launches, alike_time_ns; /* of all classes that are like this one */
};

struct launch_classes {
    struct program *program;
    isl_ctx *ctx;
    struct deadline *deadline;
    const char *too_late; /* what is said of everything that was not come to in time */
    struct launch_class **classes;
    uint32_t count, capacity;
    struct grids *grids;          /* NULL: launches are seen as they are */
    struct class_bucket *buckets; /* uthash: by kernel, shape and pointer words */
    uint32_t bucket_count;
    uint32_t *of_launch;              /* launch -> class */
    struct written_function *written; /* functions that were made for launches */
    struct class_variable *variables; /* of modules that some launch uses: their arrays' numbers */
    uint32_t variable_count;
};

static inline struct launch_class *launch_class_of(const struct launch_classes *classes, uint32_t launch)
{
    return classes->classes[classes->of_launch[launch]];
}
typedef void launch_progress(void *context, const char *phase, uint32_t done, uint32_t total);
/* Called whenever another launch has its class: so many have theirs, from the first on, but for sets and copies. */
typedef void launch_classes_watch(void *context, struct launch_classes *classes, uint32_t launches);
struct launch_watch { /* functions may be NULL */
    launch_progress *progress;
    launch_classes_watch *classes;
    void *progress_context, *classes_context;
};
/* Classes of every launch of the program. False when memory is out. */
bool launch_classes_build(struct launch_classes *classes, struct program *program, struct deadline *deadline,
                          const struct launch_watch *watch);
/* For a process that looks ahead, while the others are not classed yet: the program ends behind so many launches, and its sets and
 * copies are refused. False when memory is out. */
bool launch_classes_cut(struct launch_classes *classes, uint32_t launches);
/* The launch has the words, contents and shifts that the class was analysed for. */
bool launch_class_fits(struct program *program, const struct launch_class *class,
                       const struct program_launch *launch);
/* A class, still without launches, of those that are as this one but for these bytes, which may have any value. NULL when memory
 * is out. */
struct launch_class *launch_class_open(struct launch_classes *classes, uint32_t launch,
                                       const struct access_words *open, uint32_t count);
/* The launch is of that class from now on. */
void launch_class_move(struct launch_classes *classes, uint32_t launch, struct launch_class *class);
void launch_classes_free(struct launch_classes *classes);
/* Mean device time of one launch of this class or those alike, or 0 when the trace has none. */
uint64_t launch_class_time(const struct launch_class *class);
/* Where a base of its class's summary points in this launch. */
struct array_binding launch_binding(struct launch_classes *classes, const struct access_base *base,
                                    uint32_t launch);
/* Where the bases of a launch point; one binding a base of the class's summary, in the program's arena. */
const struct array_binding *launch_bindings(struct launch_classes *classes, uint32_t launch);

#endif
