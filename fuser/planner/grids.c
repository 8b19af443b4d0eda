/* SPDX-License-Identifier: Apache-2.0
 * Launches of one kernel, grid and block are of one shape; shapes that follow each other with one grid form a set. */
#include "fuser/planner/grids.h"

#include <string.h>
#include <uthash.h>

enum loops { LOOPS_OTHER, LOOPS_OF_GRID, LOOPS_KEEP_GRID };

struct shape {
    struct shape_key {
        uint32_t kernel, grid[3], block[3];
    } key;
    const struct loop_form *form;
    uint32_t launches;
    bool keeps_grid;      /* of the set */
    struct shape *parent; /* of the set; NULL: it stands for it */
    UT_hash_handle hh;
};
struct
    loop_form { /* of a kernel in launches of one block, and of grids with extents of 1 along the same axes */
    struct loop_form_key {
        uint32_t kernel, block[3], ones;
    } key;
    enum loops loops;
    struct grid_strides found; /* LOOPS_OF_GRID */
    UT_hash_handle hh;
};
struct neighbours_key {
    const struct shape *first, *second;
};
struct neighbours { /* how often a launch of the one shape stands before one of the other */
    struct neighbours_key key;
    uint32_t count;
    UT_hash_handle hh;
};
struct grids {
    struct loop_form *forms;
    struct shape *shapes;
    struct neighbours *neighbours;
};
/* Where fewer of their launches than one in so many are neighbours, as the one is run before a loop that the other is in, the one is
 * no reason for what becomes of the other. */
enum { NEIGHBOURS_LEAST = 4 };

static struct shape_key key_of(const struct trace_launch *launch)
{
    struct shape_key key;
    memset(&key, 0, sizeof key);
    key.kernel = launch->kernel;
    memcpy(key.grid, launch->grid, sizeof key.grid);
    memcpy(key.block, launch->block, sizeof key.block);
    return key;
}

static struct shape *find(const struct grids *grids, const struct trace_launch *launch)
{
    struct shape_key key = key_of(launch);
    struct shape *shape;
    HASH_FIND(hh, grids->shapes, &key, sizeof key, shape);
    return shape;
}

/* Threads that iterate, and then add up what they have seen. */
static bool threads_meet(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (ptx_is_block_barrier(instruction) || ptx_is_atomic(instruction) ||
            instruction->space == PTX_SHARED || instruction->opcode == PTX_OP_SHFL)
            return true;
    }
    return false;
}

static enum loops find_loops(struct program *program, const struct shape_key *shape,
                             struct grid_strides *found)
{
    const struct ptx_function *function = program_function(program, &program->kernels[shape->kernel]);
    if (!function || !grid_stride_may_be(function)) return LOOPS_OTHER;
    if (grid_strides_find(program->arena, function, shape->grid, shape->block, found)) return LOOPS_OF_GRID;
    return threads_meet(function) ? LOOPS_KEEP_GRID : LOOPS_OTHER;
}

static const struct loop_form *form_of(struct program *program, struct grids *grids,
                                       const struct shape_key *shape)
{
    struct loop_form_key key = {.kernel = shape->kernel};
    struct loop_form *form;
    for (int axis = 0; axis < 3; axis++) key.ones |= (uint32_t)(shape->grid[axis] == 1) << axis;
    memcpy(key.block, shape->block, sizeof key.block);
    HASH_FIND(hh, grids->forms, &key, sizeof key, form);
    if (form || !(form = arena_calloc(program->arena, 1, sizeof *form))) return form;
    form->key = key;
    form->loops = find_loops(program, shape, &form->found);
    HASH_ADD(hh, grids->forms, key, sizeof form->key, form);
    return form;
}

static struct shape *shape_of(struct program *program, struct grids *grids, const struct trace_launch *launch)
{
    struct shape *shape = find(grids, launch);
    if (shape || !(shape = arena_calloc(program->arena, 1, sizeof *shape))) return shape;
    shape->key = key_of(launch);
    shape->form = form_of(program, grids, &shape->key);
    if (!shape->form) return NULL;
    shape->keeps_grid = shape->form->loops == LOOPS_KEEP_GRID;
    HASH_ADD(hh, grids->shapes, key, sizeof shape->key, shape);
    return shape;
}

static struct shape *root_of(const struct shape *shape)
{
    while (shape->parent) shape = shape->parent;
    return (struct shape *)shape;
}

static bool have_one_grid(const struct shape *a, const struct shape *b)
{
    return a->form->loops != LOOPS_OTHER && b->form->loops != LOOPS_OTHER &&
           !memcmp(a->key.grid, b->key.grid, sizeof a->key.grid) &&
           !memcmp(a->key.block, b->key.block, sizeof a->key.block);
}

static void count_neighbours(struct program *program, struct grids *grids, const struct shape *a,
                             const struct shape *b)
{
    struct neighbours *found;
    struct neighbours_key key = {a, b};
    if (a == b || !have_one_grid(a, b)) return;
    HASH_FIND(hh, grids->neighbours, &key, sizeof key, found);
    if (!found && (found = arena_calloc(program->arena, 1, sizeof *found))) {
        found->key = key;
        HASH_ADD(hh, grids->neighbours, key, sizeof found->key, found);
    }
    if (found) found->count++;
}

static void keep_together(const struct neighbours *neighbours)
{
    struct shape *first = root_of(neighbours->key.first), *second = root_of(neighbours->key.second);
    uint32_t a = neighbours->key.first->launches, b = neighbours->key.second->launches;
    if (first == second || (uint64_t)neighbours->count * NEIGHBOURS_LEAST < (a > b ? a : b)) return;
    second->parent = first;
    first->keeps_grid |= second->keeps_grid;
}

struct grids *grids_find(struct program *program)
{
    struct grids *grids = arena_calloc(program->arena, 1, sizeof *grids);
    const struct shape *before = NULL;
    uint32_t window = UINT32_MAX;
    for (uint32_t i = 0; grids && i < program->launch_count; i++) {
        const struct program_launch *launch = &program->launches[i];
        if (launch->memop) continue;
        struct shape *shape = shape_of(program, grids, launch->record);
        if (shape) shape->launches++;
        if (before && shape && launch->window == window) count_neighbours(program, grids, before, shape);
        before = shape;
        window = launch->window;
    }
    for (struct neighbours *pair = grids ? grids->neighbours : NULL; pair; pair = pair->hh.next)
        keep_together(pair);
    return grids;
}

void grids_free(struct grids *grids)
{
    if (!grids) return;
    for (struct loop_form *form = grids->forms; form; form = form->hh.next) grid_strides_close(&form->found);
    HASH_CLEAR(hh, grids->forms);
    HASH_CLEAR(hh, grids->shapes);
    HASH_CLEAR(hh, grids->neighbours);
}

const struct grid_strides *grids_loops(const struct grids *grids, const struct trace_launch *launch)
{
    const struct shape *shape = grids ? find(grids, launch) : NULL;
    bool is = shape && shape->form->loops == LOOPS_OF_GRID && !root_of(shape)->keeps_grid;
    return is ? &shape->form->found : NULL;
}
