/* SPDX-License-Identifier: Apache-2.0
 * See chain_graph.h. */
#include "interpose/chain_graph.h"

#include "interpose/blocked.h"
#include "interpose/own_stream.h"
#include "interpose/relaxed.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* else uthash exits */
#include <uthash.h>

enum {
    SEQUENCES = 4096,
    SHARE = 16,       /* of a sample in a mean */
    RISE = 1024,      /* of the least, by which it rises with each sample */
    DOUBT_SHARE = 64, /* of a mean, by which it falls where nothing can measure it again */
    MAKING = 8,       /* launches that a graph's making costs beside its own */
    /* The part that graphs may cost before they have saved it: of the time so far, or of what they would have saved. */
    OF_TIME = 128,
    OF_MISSED = 8,
    REFUSALS = 16 /* by a driver that makes no graph at all */
};
/* What is assumed of the host until it is known. */
static const int64_t DIRECT_NS = 4000, LAUNCH_NS = 3000, UPDATE_NS = 500, MAKING_NS = 10000;
/* What a process's first graph takes: 300 to 600 us on an H100. */
static const int64_t FIRST_NS = 500000;

struct node {
    CUgraphNode handle;
    CUDA_KERNEL_NODE_PARAMS parameters;
    struct chain_launch last; /* with its arguments */
};
struct key {
    uint64_t sequence, count;
    CUstream stream;
};
struct sequence {
    struct key key;
    int64_t missed_ns; /* that a graph would have saved so far */
    bool is_refused;   /* by the driver */
    bool is_uploaded;  /* it has been launched: the first time takes longer */
    CUgraph graph;
    CUgraphExec executable; /* NULL: there is none yet */
    struct node *nodes;
    UT_hash_handle hh;
};

/* What the host takes: for a launch by itself, for a graph's, for new arguments of a node, and to make a graph for each of its
 * launches and MAKING more. Zero: not known. */
struct costs {
    int64_t direct_ns, launch_ns, update_ns, making_ns;
    int64_t least_ns; /* of late, for a launch by itself: one that waited for no room */
};
static struct graphs {
    struct sequence *sequences;
    _Atomic uint32_t count; /* of graphs */
    uint32_t refusals;      /* since one was made */
    bool is_full;           /* there was no room for one: all begin anew */
    struct costs costs;
    /* making all graphs so far, and what they have saved; since the first launch */
    int64_t spent_ns, saved_ns, missed_ns, begun_ns;
} graphs;

/* --- what it costs --- */

/* A mean of late, in which one that waits for room in the driver's queue counts little. */
static void note(int64_t *mean, int64_t sample, int64_t assumed)
{
    if (!*mean) *mean = assumed;
    if (sample > 2 * *mean) sample = 2 * *mean;
    *mean += (sample - *mean) / SHARE;
    if (*mean < SHARE) *mean = SHARE;
}

static int64_t known(int64_t mean, int64_t assumed)
{
    return mean ? mean : assumed;
}

void chain_graph_note_direct(int64_t took_ns)
{
    if (!graphs.begun_ns) graphs.begun_ns = shim_now_ns();
    note(&graphs.costs.direct_ns, took_ns, DIRECT_NS);
    int64_t *least_ns = &graphs.costs.least_ns;
    *least_ns += *least_ns / RISE;
    if (!*least_ns || took_ns < *least_ns) *least_ns = took_ns;
}

int64_t chain_graph_direct_ns(void)
{
    return known(graphs.costs.least_ns, DIRECT_NS);
}

/* What a graph saves the host, where so many launches have other arguments than the last time. */
static int64_t saving(uint32_t launches, uint32_t updates)
{
    const struct costs *costs = &graphs.costs;
    return launches * known(costs->direct_ns, DIRECT_NS) - known(costs->launch_ns, LAUNCH_NS) -
           updates * known(costs->update_ns, UPDATE_NS);
}

/* What a graph was measured to cost, when launches waited for room in the driver's queue perhaps, is doubted ever more where it keeps
 * graphs from being launched: else nothing would measure it again. */
static bool pays(uint32_t launches, uint32_t updates)
{
    if (saving(launches, updates) > 0) return true;
    graphs.costs.launch_ns -= graphs.costs.launch_ns / DOUBT_SHARE;
    graphs.costs.update_ns -= graphs.costs.update_ns / DOUBT_SHARE;
    return false;
}

bool chain_graph_is_vain(void)
{
    return saving(CHAIN_LONGEST, CHAIN_LONGEST) <= 0 || graphs.refusals >= REFUSALS;
}

/* A graph is made when its sequence would have saved what making it costs, so that never much more is lost than was to be gained;
 * and when all of them, if none were used again, would have cost no more than a small part of the time so far, or of what graphs would
 * have saved in it. */
static bool is_due(struct sequence *sequence)
{
    uint32_t count = (uint32_t)sequence->key.count;
    int64_t saved_ns = saving(count, count / 2),
            cost_ns = known(graphs.costs.making_ns, MAKING_NS) * (count + MAKING);
    if (saved_ns > 0) sequence->missed_ns += saved_ns, graphs.missed_ns += saved_ns;
    if (sequence->missed_ns <= cost_ns) return false;
    int64_t of_time = (shim_now_ns() - graphs.begun_ns) / OF_TIME, of_missed = graphs.missed_ns / OF_MISSED;
    int64_t spared_ns = graphs.saved_ns + (of_time > of_missed ? of_time : of_missed);
    return graphs.spent_ns + (graphs.spent_ns ? cost_ns : FIRST_NS) <= spared_ns;
}

/* --- graphs --- */

/* A node, unlike a launch, must be told of which kind the handle is. False: it is not known, as of all but the latest where an image
 * was loaded several times. */
static bool fill(CUDA_KERNEL_NODE_PARAMS *to, const struct chain_launch *launch)
{
    const struct track_kernel *kernel = track_kernel_find(launch->function);
    *to = (CUDA_KERNEL_NODE_PARAMS){.gridDimX = launch->grid[0],
                                    .gridDimY = launch->grid[1],
                                    .gridDimZ = launch->grid[2],
                                    .blockDimX = launch->block[0],
                                    .blockDimY = launch->block[1],
                                    .blockDimZ = launch->block[2],
                                    .sharedMemBytes = launch->shared};
    bool is_latest = kernel && kernel->handle == launch->function;
    if (is_latest && kernel->is_library_kernel)
        to->kern = (CUkernel)launch->function;
    else
        to->func = launch->function;
    return !kernel || is_latest || kernel->function == launch->function;
}

/* The driver copies the arguments. */
typedef CUresult hand_over(struct sequence *sequence, uint32_t index,
                           const CUDA_KERNEL_NODE_PARAMS *parameters);
static CUresult with_arguments(struct sequence *sequence, uint32_t index, const struct chain_launch *launch,
                               hand_over *call)
{
    size_t size = launch->size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUDA_KERNEL_NODE_PARAMS parameters = sequence->nodes[index].parameters;
    parameters.extra = size ? extra : NULL;
    return call(sequence, index, &parameters);
}

static CUresult add_node(struct sequence *sequence, uint32_t index, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    const CUgraphNode *before = index ? &sequence->nodes[index - 1].handle : NULL;
    return REAL(cuGraphAddKernelNode_v2)(&sequence->nodes[index].handle, sequence->graph, before, index > 0,
                                         parameters);
}

static CUresult update_node(struct sequence *sequence, uint32_t index,
                            const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    return REAL(cuGraphExecKernelNodeSetParams_v2)(sequence->executable, sequence->nodes[index].handle,
                                                   parameters);
}

static void remember(struct node *node, const struct chain_launch *launch)
{
    void *arguments = node->last.arguments;
    node->last = *launch;
    node->last.arguments = arguments;
    memcpy(arguments, launch->arguments, launch->size);
}

/* A module may be unloaded, a stream destroyed or an attribute set in the middle of a capture. */
static void give_to_driver(struct sequence *sequence)
{
    CUstreamCaptureMode mode = relaxed_begin();
    if (sequence->executable) REAL(cuGraphExecDestroy)(sequence->executable);
    REAL(cuGraphDestroy)(sequence->graph);
    relaxed_end(mode);
}

static void unmake(struct sequence *sequence, bool is_context_gone)
{
    if (!is_context_gone && sequence->graph) give_to_driver(sequence);
    for (uint32_t i = 0; sequence->nodes && i < sequence->key.count; i++)
        free(sequence->nodes[i].last.arguments);
    free(sequence->nodes);
    if (sequence->executable) graphs.count--;
    sequence->executable = NULL;
    sequence->graph = NULL;
    sequence->nodes = NULL;
    sequence->is_uploaded = false;
}

static bool make_nodes(struct sequence *sequence, const struct chain_launch *launches)
{
    sequence->nodes = calloc(sequence->key.count, sizeof *sequence->nodes);
    if (!sequence->nodes || REAL(cuGraphCreate)(&sequence->graph, 0) != CUDA_SUCCESS) return false;
    for (uint32_t i = 0; i < sequence->key.count; i++) {
        struct node *node = &sequence->nodes[i];
        node->last.arguments = malloc(launches[i].size + 1);
        if (!node->last.arguments) return false;
        if (!fill(&node->parameters, &launches[i])) return false;
        remember(node, &launches[i]);
        if (with_arguments(sequence, i, &launches[i], add_node) != CUDA_SUCCESS) return false;
    }
    return true;
}

static bool make(struct sequence *sequence, const struct chain_launch *launches)
{
    graphs.is_full = graphs.count >= CHAIN_GRAPHS;
    if (graphs.is_full) return false;
    int64_t begun_ns = shim_now_ns();
    CUstreamCaptureMode mode = relaxed_begin(); /* another thread's capture may begin meanwhile */
    bool is_made =
        make_nodes(sequence, launches) &&
        REAL(cuGraphInstantiateWithFlags)(&sequence->executable, sequence->graph, 0) == CUDA_SUCCESS;
    relaxed_end(mode);
    int64_t took_ns = shim_now_ns() - begun_ns;
    if (is_made) {
        if (graphs.spent_ns)
            note(&graphs.costs.making_ns, took_ns / ((int64_t)sequence->key.count + MAKING), MAKING_NS);
        graphs.spent_ns += took_ns;
        graphs.count++;
        graphs.refusals = 0;
        return true;
    }
    sequence->executable = NULL;
    unmake(sequence, false);
    sequence->is_refused = true;
    graphs.refusals++;
    return false;
}

/* --- launching --- */

static bool is_same(const struct node *node, const struct chain_launch *launch)
{
    return !memcmp(node->last.arguments, launch->arguments, launch->size);
}

/* Other launches may have the same hash. */
static bool fits(const struct sequence *sequence, const struct chain_launch *launches)
{
    for (uint32_t i = 0; i < sequence->key.count; i++) {
        const struct chain_launch *last = &sequence->nodes[i].last;
        if (!chain_is_same(last, &launches[i]) || last->size != launches[i].size) return false;
    }
    return true;
}

static uint32_t count_updates(const struct sequence *sequence, const struct chain_launch *launches)
{
    uint32_t updates = 0;
    for (uint32_t i = 0; i < sequence->key.count; i++) updates += !is_same(&sequence->nodes[i], &launches[i]);
    return updates;
}

static bool update(struct sequence *sequence, const struct chain_launch *launches)
{
    for (uint32_t i = 0; i < sequence->key.count; i++) {
        if (is_same(&sequence->nodes[i], &launches[i])) continue;
        if (with_arguments(sequence, i, &launches[i], update_node) != CUDA_SUCCESS) return false;
        remember(&sequence->nodes[i], &launches[i]);
    }
    return true;
}

static bool launch(struct sequence *sequence, const struct chain_launch *launches, uint32_t updates)
{
    int64_t begun_ns = shim_now_ns();
    bool is_done = !updates || update(sequence, launches);
    int64_t updated_ns = shim_now_ns(), waited_ns = blocked_begin();
    is_done = is_done && REAL(cuGraphLaunch)(sequence->executable, own_stream_here(sequence->key.stream)) ==
                             CUDA_SUCCESS;
    blocked_end_graph(waited_ns, (uint32_t)sequence->key.count);
    if (!is_done) {
        unmake(sequence, false);
        sequence->is_refused = true;
        return false;
    }
    if (sequence->is_uploaded && updates)
        note(&graphs.costs.update_ns, (updated_ns - begun_ns) / updates, UPDATE_NS);
    if (sequence->is_uploaded) {
        note(&graphs.costs.launch_ns, shim_now_ns() - updated_ns, LAUNCH_NS);
        graphs.saved_ns += saving((uint32_t)sequence->key.count, updates);
    } else {
        graphs.spent_ns += shim_now_ns() - updated_ns;
    }
    sequence->is_uploaded = true;
    return true;
}

static struct sequence *find(const struct chain_launch *launches, uint32_t count, uint64_t hash)
{
    struct key key = {hash, count, launches[0].stream == CU_STREAM_LEGACY ? NULL : launches[0].stream};
    struct sequence *sequence;
    if (HASH_COUNT(graphs.sequences) >= SEQUENCES || graphs.is_full) chain_graph_forget(false);
    HASH_FIND(hh, graphs.sequences, &key, sizeof key, sequence);
    if (sequence) return sequence;
    sequence = calloc(1, sizeof *sequence);
    if (!sequence) return NULL;
    sequence->key = key;
    HASH_ADD(hh, graphs.sequences, key, sizeof key, sequence);
    if (!sequence->hh.tbl) { /* memory was out */
        free(sequence);
        return NULL;
    }
    return sequence;
}

bool chain_graph_launch(const struct chain_launch *launches, uint32_t count, uint64_t hash, bool always)
{
    struct sequence *sequence = find(launches, count, hash);
    if (!sequence || sequence->is_refused) return false;
    if (sequence->executable && !fits(sequence, launches)) return false;
    uint32_t updates = sequence->executable ? count_updates(sequence, launches) : 0;
    if (!sequence->executable && !always && !is_due(sequence)) return false;
    if (sequence->executable && !always && !pays(count, updates)) return false;
    if (!sequence->executable && !make(sequence, launches)) return false;
    return launch(sequence, launches, updates);
}

void chain_graph_forget(bool is_context_gone)
{
    struct sequence *sequence, *next;
    HASH_ITER(hh, graphs.sequences, sequence, next)
    {
        HASH_DEL(graphs.sequences, sequence);
        unmake(sequence, is_context_gone);
        free(sequence);
    }
    graphs.is_full = false;
}

uint32_t chain_graph_count(void)
{
    return graphs.count;
}
