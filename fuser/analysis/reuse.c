/* SPDX-License-Identifier: Apache-2.0
 * See reuse.h. Blocks of different kinds of accesses are compared by what all their threads touch. */
#include "fuser/analysis/reuse.h"

enum { REUSE_OPERATIONS = 200000 }; /* of isl, for one group */

struct reuse {
    struct group *group;
    struct frame *frame;
    isl_map **blocks;      /* a shape's { block -> byte }; NULL: not computed, or any byte */
    unsigned char *within; /* shape by shape: 0 untested, 1 no, 2 yes */
};

static __isl_keep isl_map *block_bytes(struct reuse *reuse, uint32_t shape)
{
    if (!reuse->blocks[shape] && reuse->frame->shapes[shape].bytes)
        reuse->blocks[shape] =
            isl_map_project_out(isl_map_copy(reuse->frame->shapes[shape].bytes), isl_dim_in, 3, 3);
    return reuse->blocks[shape];
}

/* Each block's bytes of the one are among its bytes of the other. */
static bool is_within(struct reuse *reuse, const struct placed_access *inner,
                      const struct placed_access *outer)
{
    const struct frame_shape *shapes = reuse->frame->shapes;
    if (shapes[inner->shape].array != shapes[outer->shape].array) return false;
    if (shapes[inner->shape].width != shapes[outer->shape].width) return false;
    unsigned char *known = &reuse->within[(size_t)inner->shape * reuse->frame->shape_count + outer->shape];
    if (!*known) {
        isl_map *a = block_bytes(reuse, inner->shape), *b = block_bytes(reuse, outer->shape);
        *known = a && b && isl_map_is_subset(a, b) == isl_bool_true ? 2 : 1;
    }
    return *known == 2;
}

/* An earlier member leaves the access's bytes in the cache: for a load any access does, for a store only a
 * store, since what is written goes to memory once. */
static bool is_cached(struct reuse *reuse, const struct placed_access *access)
{
    const struct frame *frame = reuse->frame;
    for (uint32_t member = 0; member < access->member; member++)
        for (uint32_t i = 0; i < frame->members[member].summary->access_count; i++) {
            const struct placed_access *earlier = &frame->accesses[member][i];
            if (frame_writes(access) && !frame_writes(earlier)) continue;
            if (frame_writes(earlier) && group_drops(reuse->group, member, earlier->access->instruction))
                continue;
            if (is_within(reuse, access, earlier)) return true;
        }
    return false;
}

bool reuse_find(struct group *group, struct frame *frame)
{
    struct reuse reuse = {.group = group, .frame = frame};
    uint32_t capacity = 0;
    for (uint32_t member = 1; member < group->member_count; member++)
        capacity += group->members[member].summary->access_count;
    group->cached = arena_calloc(group->arena, capacity + 1, sizeof *group->cached);
    reuse.blocks = arena_calloc(group->arena, frame->shape_count + 1, sizeof(isl_map *));
    reuse.within = arena_calloc(group->arena, frame->shape_count + 1, frame->shape_count + 1);
    if (!group->cached || !reuse.blocks || !reuse.within) return false;
    struct quota quota = quota_begin(frame->ctx, REUSE_OPERATIONS);
    for (uint32_t member = 1; member < group->member_count; member++)
        for (uint32_t i = 0; i < group->members[member].summary->access_count; i++) {
            const struct placed_access *access = &frame->accesses[member][i];
            if (is_cached(&reuse, access))
                group->cached[group->cached_count++] =
                    (struct group_cached){member, access->access->instruction};
        }
    quota_end(&quota);
    for (uint32_t shape = 0; shape < frame->shape_count; shape++) isl_map_free(reuse.blocks[shape]);
    return true;
}
