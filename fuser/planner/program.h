/* SPDX-License-Identifier: Apache-2.0
 * The recorded program: its traces in memory, launches resolved against the allocations that lived at the time
 * and cut into windows. Each run begins with no memory, and with module variables as their images have them.
 * Everything belongs to the program's arena; argument bytes stay in the mapped traces.
 */
#ifndef KFUSE_FUSER_PLANNER_PROGRAM_H
#define KFUSE_FUSER_PLANNER_PROGRAM_H

#include "common/arena.h"
#include "common/memop.h"
#include "common/plan.h"
#include "common/trace.h"
#include "fuser/access/access.h"
#include "fuser/codegen/compiler.h"
#include "fuser/planner/runs.h"
#include "ptx/ptx.h"

#include <stdbool.h>
#include <stdint.h>

struct program_module {
    const struct trace_module *record; /* NULL: a number that no record explains */
    const unsigned char *options;      /* options_size bytes */
    const void *image;                 /* stored_size bytes, or NULL */
    struct ptx_module *ptx;            /* parsed when first asked for */
    const char *refusal;               /* why none of its kernels can be fused */
    bool is_examined;
    struct ptx_machine_code
        *loaded;                /* the image's code for the device: one, or several that it may choose from */
    uint32_t loaded_count;      /* 0: the driver compiles the PTX */
    bool is_other_architecture; /* the PTX was made for another architecture than the loaded code */
    struct nvrtc_output
        reference; /* of the launched kernels compiled alone, once is_compiled: see exactness.c */
    bool is_compiled;
};
struct exactness;

struct program_kernel {
    const struct trace_kernel *record;
    const struct trace_parameter *parameters;
    const char *name;
    const struct ptx_function *function; /* NULL with a refusal; in plain form: see plain.h */
    const struct ptx_function *original; /* as the PTX has it */
    bool is_rewritten;                   /* calls, or chosen loads: else both have the same instructions */
    const char *refusal;
    /* NULL, or what is said of launches that are not analysed because one took too long */
    const char *takes_too_long;
    bool is_examined;
    const struct exactness *exactness; /* NULL until asked for: see exactness.h */
    struct exactness_of *copies;       /* the same, of copies of its function */
    uint64_t launches, time_ns;        /* over the whole trace; time of the launches that have one */
    uint64_t timed_launches;
    struct plan_sum
        *sums; /* words besides its arguments: addresses (shift.h), contents of variables (contents.h) */
    uint32_t sum_count;
    struct launch_shift *shifts; /* words that do no more than shift addresses, once shifts_are_known */
    uint32_t shift_count;
    bool shifts_are_known;
    const unsigned char *halves; /* of the words of its arguments, once halves_are_known (pointer_words.h) */
    bool halves_are_known;
};

struct program_pointer { /* an 8-byte word of the arguments that points into an allocation */
    uint32_t offset;     /* in the parameter buffer */
    uint32_t array;      /* number of the allocation, counted over the whole trace */
    int64_t array_offset, array_size;
    bool is_plain, is_private; /* see struct array_binding */
};

struct program_launch {
    const struct trace_launch *record;
    enum memop_kind memop; /* a set or a copy, seen as a launch (memop.h) */
    const unsigned char *arguments;
    struct program_pointer *pointers;
    uint32_t pointer_count;
    uint32_t window;
    const char *boundary; /* of the first launch of a window: what ended the one before; NULL: nothing did */
    bool is_first;        /* of its run */
    /* host time between the end of the launch call before it in its window and this call, but what it takes
     * to load a kernel, where it is launched again */
    uint32_t gap_ns;
    bool is_behind_wait; /* which runs pass through: the device was idle before it */
    uint64_t time_ns;    /* device time, 0: not known */
    uint64_t start_ns, end_ns;
};

/* What happens to memory between launches. */
enum program_event_kind {
    PROGRAM_READS,   /* [from, to) of the array */
    PROGRAM_WRITES,  /* some of it, or all */
    PROGRAM_FREES,   /* the array */
    PROGRAM_UNKNOWN, /* anything may be read and written */
};
struct program_event {
    uint32_t before; /* the launch that comes next */
    enum program_event_kind kind;
    uint32_t array;
    int64_t from, to;
};

struct program {
    struct arena *arena;
    const struct compiler *compiler; /* NULL: NVRTC runs in this process */
    struct runs *runs;
    uint32_t run_count; /* that were recorded */
    struct trace_device device;
    bool has_device;
    struct program_module *modules; /* by trace number; 0 unused */
    uint32_t module_count;
    struct program_kernel *kernels; /* likewise */
    uint32_t kernel_count;
    uint32_t first_memop;            /* kernels from here on are memory operations (memop.h); 0: none */
    struct program_launch *launches; /* in order of the trace */
    uint32_t launch_count, window_count;
    struct program_event *events; /* in order of the trace */
    uint32_t event_count;
    struct program_variable *variables; /* that the program looked up: contents.h */
    uint32_t variable_count;
    uint64_t contents_bytes; /* of all their versions */
    bool has_streams;        /* kernels are launched in several, or in a thread's own default one */
    bool has_others; /* launches in streams that are no default ones, launches or copies by a second thread */
    uint64_t record_count; /* of all kinds */
    bool is_whole_run;     /* the recording ended because the program did; of each run */
    double seconds;        /* from first to last arrival, in all */
};

/* Takes the runs over. NULL with a message in error; where there are none (NULL), the message is there. */
struct program *program_read(struct runs *runs, char *error, size_t error_size);
void program_free(struct program *program);
/* Why this launch must stay as it is, whatever its kernel, or NULL. */
const char *program_special_launch(const struct program *program, const struct trace_launch *record);
/* The kernel's PTX function, or NULL; kernel->refusal then says why, with the next step where there is one.
 */
const struct ptx_function *program_function(struct program *program, struct program_kernel *kernel);

#endif
