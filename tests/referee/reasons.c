/* SPDX-License-Identifier: Apache-2.0
 * See reasons.h. The player's calls for each operation decide what may stand between two launches. */
#include "tests/referee/reasons.h"

#include <stdio.h>
#include <string.h>

#define BETWEEN   "between them: "
#define NOT_PLAIN "it uses memory that is not a plain device allocation"

struct state { /* of the arrays, when a launch is made */
    uint64_t sizes[SCRIPT_ARRAYS];
    uint32_t own; /* s0: 1: the thread's own default stream, 2: one that the program has made */
};
struct neighbour {
    const struct script_operation *operation;
    bool uses_other_memory; /* one of its pointers is not into a plain allocation */
    uint32_t own;           /* likewise; the player's launches that fail are in none */
};

/* --- what stands between --- */

enum { WITH_STREAM = SCRIPT_OPERATIONS }; /* besides the kinds: a sync or a read of one stream */
#define BIT(kind)  ((uint64_t)1 << SCRIPT_##kind)
#define STREAM_BIT ((uint64_t)1 << WITH_STREAM)

/* The program has this where it does one of these. */
static const struct {
    const char *reason; /* how it begins */
    uint64_t kinds;
} calls[] = {
    {"the program frees memory", BIT(FREE)},
    {"the program writes a module variable", BIT(VARIABLE) | BIT(AIM) | BIT(PUT)},
    {"the program copies memory",
     BIT(FILL) | BIT(COPY) | BIT(READ) | BIT(VARIABLE) | BIT(POINT) | BIT(AIM) | BIT(PUT) | BIT(POLL)},
    {"the program sets memory", BIT(SET) | BIT(ALLOC) | BIT(PUT)},
    {"the program records or awaits an event", BIT(RECORD) | BIT(WAIT) | BIT(JOIN)},
    {"cuCtxSynchronize", BIT(SYNC) | BIT(ALLOC) | BIT(RELOAD) | BIT(RENEW)},
    {"cuStreamSynchronize", STREAM_BIT},
    {"cuStreamQuery", BIT(QUERY) | BIT(AWAIT)},
    {"cuStreamCreate", BIT(STREAM) | BIT(RENEW)},
    {"cuStreamDestroy", BIT(RENEW)},
    {"cuEvent", BIT(RECORD) | BIT(JOIN)},
    {"cuLaunchHostFunc", BIT(CALL) | BIT(HOLD)},
    {"cuModule", BIT(RELOAD) | BIT(VARIABLE) | BIT(AIM) | BIT(PUT)},
    {"cuMemAlloc", BIT(ALLOC)},
    {"cuMemFree", BIT(FREE)},
};

static uint64_t bits_of(const struct script_operation *operation)
{
    uint64_t bits = (uint64_t)1 << operation->kind;
    bool waits =
        operation->kind == SCRIPT_SYNC || operation->kind == SCRIPT_READ || operation->kind == SCRIPT_POLL;
    return waits && operation->has_stream ? bits | STREAM_BIT : bits;
}

static bool stands_between(const struct neighbour pair[2], uint64_t between, const char *what)
{
    const struct script_operation *first = pair[0].operation, *second = pair[1].operation;
    if (strcmp(what, "they are on two streams") == 0)
        return first->stream != second->stream || pair[0].own != pair[1].own || (between & BIT(RENEW));
    if (strstr(what, "per-thread default stream")) return pair[0].own == 1 || pair[1].own == 1;
    if (strcmp(what, "the launch failed") == 0)
        return first->kind == SCRIPT_BAD || second->kind == SCRIPT_BAD;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(what, calls[i].reason, strlen(calls[i].reason)) == 0) return between & calls[i].kinds;
    return false;
}

/* --- launches --- */

static const char *kernel_of(const struct script_operation *operation)
{
    return operation->kind == SCRIPT_BAD ? operation->name : operation->launch->kernel;
}

static bool is_launch_of(const struct script_operation *operation, const struct reasons_launch *wanted)
{
    static const uint32_t bad[2][3] = {{1, 1, 1}, {4096, 1, 1}};
    bool is_bad = operation->kind == SCRIPT_BAD;
    const uint32_t *grid = is_bad ? bad[0] : operation->launch->grid;
    const uint32_t *block = is_bad ? bad[1] : operation->launch->block;
    return strcmp(kernel_of(operation), wanted->kernel) == 0 &&
           memcmp(grid, wanted->grid, sizeof wanted->grid) == 0 &&
           memcmp(block, wanted->block, sizeof wanted->block) == 0;
}

static bool uses_other_memory(const struct state *state, const struct script_launch *launch)
{
    for (uint32_t i = 0; launch && i < launch->pointer_count; i++) {
        uint32_t array = launch->pointers[i].array;
        int64_t offset;
        memcpy(&offset, launch->arguments + launch->pointers[i].offset, sizeof offset);
        if (offset < 0 || (uint64_t)offset >= state->sizes[array]) return true;
    }
    return false;
}

static void follow(struct state *state, const struct script_operation *operation)
{
    uint32_t array = operation->place.array;
    if (operation->kind == SCRIPT_STREAM && !operation->stream) state->own = operation->seed;
    if (operation->kind == SCRIPT_FREE) state->sizes[array] = 0;
    if (operation->kind != SCRIPT_ALLOC) return;
    state->sizes[array] = operation->bytes;
}

static bool is_true(const struct neighbour pair[2], uint64_t between, const char *reason)
{
    if (strncmp(reason, BETWEEN, strlen(BETWEEN)) == 0)
        return stands_between(pair, between, reason + strlen(BETWEEN));
    for (int i = 0; i < 2; i++) { /* "kernel NAME, line N: it uses ..." */
        const char *kernel = kernel_of(pair[i].operation);
        size_t length = strlen(kernel);
        if (strncmp(reason + strlen("kernel "), kernel, length) == 0 &&
            strchr(",:", reason[strlen("kernel ") + length]) && pair[i].uses_other_memory)
            return true;
    }
    return false;
}

/* Such neighbours of which the reason is true, in the recorded part of the program or in all of it. */
static uint64_t count_true(const struct script *script, bool is_whole, const struct reasons_launch *first,
                           const struct reasons_launch *second, const char *reason)
{
    struct state state = {0};
    struct neighbour pair[2] = {0};
    uint64_t between = 0, found = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        const struct script_operation *operation = &script->operations[i];
        if (operation->kind == SCRIPT_REPLAY && is_whole) continue;
        if (operation->kind == SCRIPT_REPLAY) break;
        follow(&state, operation);
        if (operation->kind != SCRIPT_LAUNCH && operation->kind != SCRIPT_BAD) {
            between |= bits_of(operation);
            continue;
        }
        pair[0] = pair[1];
        pair[1] = (struct neighbour){operation, uses_other_memory(&state, operation->launch),
                                     operation->kind == SCRIPT_LAUNCH && !operation->stream ? state.own : 0};
        found += pair[0].operation && is_launch_of(pair[0].operation, first) &&
                 is_launch_of(operation, second) && is_true(pair, between, reason);
        between = 0;
    }
    return found;
}

enum reasons_verdict reasons_check(const struct script *script, bool has_two_runs,
                                   const struct reasons_launch *first, const struct reasons_launch *second,
                                   const char *reason, uint64_t count)
{
    bool is_memory = strncmp(reason, "kernel ", 7) == 0 && strstr(reason, ": " NOT_PLAIN);
    if (!is_memory && strncmp(reason, BETWEEN, strlen(BETWEEN)) != 0) return REASONS_OTHER;
    uint64_t found = count_true(script, false, first, second, reason);
    if (has_two_runs) found += count_true(script, true, first, second, reason);
    return found >= count ? REASONS_TRUE : REASONS_UNTRUE;
}
