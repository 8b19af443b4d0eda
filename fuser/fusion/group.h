/* SPDX-License-Identifier: Apache-2.0
 * Legality of a group. Inner-thread: members run one after the other inside one thread of the fused kernel.
 * Inner-block: the same, with barriers between members whose threads meet within one block.
 * Halo: a block computes what it needs of the earlier members, its neighbours' part included, keeps it in
 * shared memory, and goes on with the later ones. Decides the fused grid and block, each member's remap,
 * which values pass in registers or shared memory, which stores can be dropped. */
#ifndef KFUSE_FUSER_FUSION_GROUP_H
#define KFUSE_FUSER_FUSION_GROUP_H

#include "fuser/fusion/conflict.h"

enum remap_kind {
    REMAP_SAME,   /* fused (block, thread) is the member's (block, thread): shapes are equal */
    REMAP_GLOBAL, /* per dimension, block * ntid + tid is equal; threads beyond the member's launch skip it */
    REMAP_LINEAR, /* the linear id over the whole launch is equal, and the member runs once a fused thread */
    REMAP_STRIDE, /* fused thread f of F runs the member's linear threads f, f + F, f + 2F, ... in turn */
    REMAP_AFFINE, /* a quasi-affine function from the conflict relation: coordinates */
    REMAP_COARSENED, /* a fused block runs a box of the member's threads, or of its blocks, in passes: coarsening.h */
    REMAP_CELLS,       /* halo: a stage's thread runs the members' threads cell by cell: struct group_stage */
    REMAP_INTER_BLOCK, /* fused blocks of its own run the member's threads, or its blocks: inter_block.h */
};
enum remap_guard { /* what becomes of fused threads that have no thread of the member to run */
                   REMAP_GUARD_SKIP,  /* they go on with the next member */
                   REMAP_GUARD_LEAVE, /* they have nothing to do later either: they leave the fused kernel */
                   REMAP_GUARD_NONE,  /* there are none */
};
/* The member's launch as cells, x y z: its threads, or its blocks. A line of them may be cut in rows of
 * extents[0], and in layers of extents[1] rows. */
struct coarsening {
    bool of_blocks;
    uint32_t extents[3];
    uint64_t cells;     /* in all: fewer than the extents say where the last row is not full */
    uint32_t box[3];    /* of one fused block */
    int64_t origin[3];  /* of fused block 0's box */
    int64_t step[3][3]; /* [d]: from block to block along d, in cells x y z */
    uint32_t passes;
};
struct remap {
    enum remap_kind kind;
    const struct coarsening *coarsening; /* COARSENED */
    isl_pw_multi_aff *coordinates; /* AFFINE: { F[bz..tx] -> L[bz..tx] } on the threads that run the member;
                                      CELLS: from cells to the member's threads, as cells of its own launch,
                                      or NULL where they are the same; else NULL */
    bool is_recomputed; /* CELLS: runs for other cells than its own, too: only its own store to memory */
    /* CELLS, recomputed: its own cells, where they are not those that have its threads' coordinates */
    isl_set *own;
    isl_set *sparse; /* CELLS, recomputed: of the cells beyond the dense border, those that run */
    uint32_t first_block, blocks; /* INTER_BLOCK: which, along x */
    bool keeps_blocks;            /* INTER_BLOCK: one of them is one of the member's */
    enum remap_guard guard;
};
/* Of a launch. */
uint64_t remap_threads(const uint32_t grid[3], const uint32_t block[3]);
/* A fused thread may run several threads of the member. */
static inline bool remap_is_repeated(const struct remap *remap)
{
    return remap->kind == REMAP_STRIDE || remap->kind == REMAP_COARSENED;
}

struct group_forward { /* the load gets its value in a register from an earlier access of the group, same
                          bytes */
    uint32_t from_member, from_instruction; /* a store (its stored value) or a load (its loaded value) */
    uint32_t to_member, to_instruction; /* a load; widths, types' sizes and vectors equal. Both in no loop, or
                                           both in one joined loop: then in each iteration */
    bool round_product; /* the stored value may be an unrounded product with no other use: give it .rn */
    uint32_t distance;  /* in a joined loop: the value of so many iterations before */
    uint32_t first;     /* and only from this iteration of the load's loop on: before, it loads */
    bool in_place;      /* in a joined loop: the register that has it still has it then */
};
struct group_drop { /* a store that is overwritten by the same thread in the group, unread in between except
                       by forwards */
    uint32_t member, instruction;
};
/* A store that only some cells make: halo, those whose bytes are not all left stale (stale.h), nor overwritten in another cell
 * (halo.h). */
struct group_kept {
    uint32_t member, instruction;
    isl_set *cells; /* { F }: of those that run their own thread, the ones that store */
    double share;   /* of what the store moves, about */
};
struct group_cached { /* its block has just touched the same bytes for an earlier member: a cache serves it */
    uint32_t member, instruction;
};
struct group_demote { /* ld.global.nc of an array that another member writes: a plain ld.global */
    uint32_t member, instruction;
};
/* A conditional jump to the member's end (or predicated ret). Without these, each member would test again
 * what the first one has tested, and no load could move up over the branches. */
enum group_exit_kind {
    GROUP_EXIT_ALL,   /* threads that leave here have nothing to do in later members: they leave the fused
                         kernel */
    GROUP_EXIT_NEVER, /* no thread that arrives at the member leaves here: the jump goes away */
};
struct group_exit {
    uint32_t member, instruction;
    enum group_exit_kind kind;
};

/* Halo fusion. A cell is a thread of a launch as block * ntid + tid along each dimension, x y z; in isl it is
 * F[0, 0, 0, z, y, x]. The cells of the group are cut into tiles, one a block of the fused kernel. A stage
 * runs its members for all cells of the tile and of a border around it, in turn by the block's threads; then
 * comes a barrier. Of the border's outer part, beyond the dense one, few cells run. Border cells belong to
 * other blocks' tiles, where their global stores are made; those beyond the launch stand for the cells that a
 * periodic or clamped index leads to.
 *
 * Marching: a block goes along one axis, layer by layer. In each turn every stage runs one layer of its box, or none; a barrier
 * comes after the turn. A stage's tiles are rings of layers (halo_march.h). */
struct group_stage {
    uint32_t first_member, member_count;
    /* Cells of the border before and behind the tile: below 0 where the stage's box ends within the tile. Of the part of it that runs
     * in every tile: at most those. */
    int32_t low[3], high[3], dense_low[3], dense_high[3];
    bool is_flat;        /* the tile has all layers of cells along z, the stage's box one: halo.h, rule 9 */
    double sparse;       /* cells that run beyond it, as a share of all */
    uint32_t first_turn; /* marching: in which it runs the first layer of its box */
    uint32_t ring;       /* marching: layers that its tiles hold; layer l of the box lies in place l % ring */
    /* of a recomputed small member: how often its threads run again, as time goes; 0: the border tells */
    double repeats;
};
/* Cells of its box along d, in a tile of so many; and of the dense part. */
static inline uint32_t group_stage_extent(const struct group_stage *stage, const uint32_t tile[3], int d)
{
    return (uint32_t)((int32_t)tile[d] + stage->low[d] + stage->high[d]);
}
static inline uint32_t group_stage_dense(const struct group_stage *stage, const uint32_t tile[3], int d)
{
    return (uint32_t)((int32_t)tile[d] + stage->dense_low[d] + stage->dense_high[d]);
}
struct group_tile { /* what a store leaves in shared memory: one element for every cell of its stage */
    uint32_t member, instruction, bytes;
    /* The tile that has room for it: itself, or that of another store of the member, as no thread makes both (the two branches of
     * a condition). */
    uint32_t kept_in;
    /* Data may keep a cell from storing: a byte beside each place says whether it has. Where it has not, loads go to memory. */
    bool is_masked;
};
/* A load that takes its value from the tile, at the cell that lies offset away. One with several stores as
 * its source has a fetch for each, of disjoint cells. */
struct group_fetch {
    uint32_t to_member, to_instruction, tile;
    int32_t offset[3];
    isl_set *covered; /* the cells for which the tile has it; NULL: all that load */
    bool is_whole;    /* the load's fetches have, together, what each cell loads: none goes to memory */
};

/* Members whose loops run together. The first and the last have loops, each that has any as many of them, in
 * order; the code before the first is segment 0, loop l (from 0) is segment 2l + 1, what can only be reached
 * from it and not from the next is segment 2l
 * +
 * 2. The fused kernel runs segment by segment, and in each the members in order; a loop's segment iteration
 * by iteration, in each of which every member runs one of its own: in iteration t the one with number t less
 * the member's shift. A member that does not enter the loop, or has left it, is passed over. What a member
 * does before the loop, its prologue, may be delayed: then it runs in the joint iteration in which its first
 * one does. What has no loop, between others, is in segment
 * 0. join.h */
enum { GROUP_NO_LOOP = UINT32_MAX };
struct group_joined { /* one member */
    const struct ptx_cfg *cfg;
    uint32_t *segments;          /* block -> its segment */
    uint32_t *headers, *latches; /* blocks, one a loop. A latch ends with the only jump back, and the only way
                                    out; UINT32_MAX: the loop has no such block. GROUP_NO_LOOP: no loop */
    uint32_t *shifts;            /* one a loop */
    bool *is_prologue_delayed;   /* one a loop: segment 2l */
    uint32_t **cuts;             /* one a loop that is cut: where the unroll chunks end, instructions */
};
struct group_join {
    uint32_t first_member, member_count, loop_count;
    struct group_joined *members;
    /* one a loop: no shifts, and each thread iterates it equally often in every member, or in none */
    bool *has_same_trip_count;
    uint32_t
        *chunks; /* one a loop: of an iteration; every member's first unroll chunk runs, then every member's
                        second, .. */
};

enum {
    GROUP_LAYERS_CACHED = 8
}; /* of a block that marches: what it touches of more is no longer in its cache */

enum {
    GROUP_MOST_SHARED = 48 << 10,   /* bytes of shared memory that a kernel may declare */
    GROUP_MOST_DYNAMIC = 227 << 10, /* that a block can have on the devices that have most */
};

/* Inner-block fusion: bytes of an array that a block stores and a later member loads, in its shared memory
 * (block_tile.h). Of a byte at distance d from the block's origin, d / layer_pitch is the layer; of the rest,
 * that / pitch the row, and what then remains the column. */
struct group_block_tile {
    uint32_t array;
    int64_t origin, step[3]; /* of block 0, from the array's start; from block to block, x y z */
    uint32_t layer_pitch,
        pitch; /* from layer to layer in the array, and from row to row; 0: there is but one */
    uint32_t layers, rows, width; /* rows of a layer; width: bytes of a row that are used */
    uint32_t row_bytes;           /* of a row in the tile */
    bool is_private; /* no load of the group reads in memory what the tile's stores leave there */
};
struct group_tile_access { /* stores that go to the tile, loads that come from it; members in order */
    uint32_t member, instruction, tile;
    uint32_t
        behind; /* of the constant in its address: its place is so far behind that of the address without */
    bool is_global; /* a store: it goes to global memory, too, unless it is among the drops as well */
};

/* Rows of width bytes, row_pitch from one to the next; layers of so many rows, layer_rows rows from one to
 * the next. from: its first byte. */
struct group_box {
    int64_t from;
    uint64_t width, row_pitch;
    uint32_t rows, layers, layer_rows;
};
/* A range of an array whose new contents go into another buffer than the old: rename.h. */
struct group_rename {
    uint32_t array, of;       /* the new contents' number in the members' bindings; the old one's */
    uint32_t member;          /* the first that writes it, by a pointer */
    uint32_t argument_offset; /* among its words */
    int64_t from, start;      /* the range's first byte, seen from the pointer, and from the array's start */
    uint64_t bytes;
    bool is_partial;          /* some of them are not written: the second buffer must begin as a copy */
    struct group_box written; /* from the range's first byte; partial or not */
};

struct line_cut;
struct group_cut { /* of a member: NULL, or how its line of threads is cut in rows (line.h), and its launch */
    const struct line_cut *cut;
    const struct access_summary *line;
};

/* Where blocks march: the load also asks for what it reads stride bytes behind, which is what the thread a layer further reads; not in
 * the last layer that loads (prefetch.h). */
struct group_prefetch {
    uint32_t member, instruction;
    int32_t stride, last;
};

struct expansion;
struct group {
    uint32_t member_count;
    const struct bound_launch *members; /* with arrays renamed, a view of those that were given */
    const struct expansion *
        *expansions; /* one a member: halo, its cells are iterations of its loops, and its summary
                                       is that of the expanded launch (expansion.h); or NULL. NULL: none is */
    /* one a member: halo, its cells are those of rows, and its summary is that of the cut launch. NULL: none is */
    const struct group_cut *cuts;
    uint32_t grid[3], block[3];
    struct remap *remaps; /* one a member */
    bool *barriers;       /* one a member: a barrier of the fused block comes before it; NULL: none */
    bool is_one_block;    /* its launch is one block, and whatever conflicts has a barrier between */
    /* Members from here on run in the block that is the last to have run those before, in its first so many threads
     * (last_block.h); 0: none do. */
    uint32_t last_first, last_threads;
    bool is_inter_block; /* each member has blocks of its own (inter_block.h) */
    bool is_tied;        /* a block's threads wait for each other: none may leave the fused kernel early */
    struct group_forward *forwards;
    uint32_t forward_count;
    struct group_drop *drops;
    uint32_t drop_count;
    struct group_kept *kept;
    uint32_t kept_count;
    struct group_cached *cached;
    uint32_t cached_count;
    struct group_demote *demotes;
    uint32_t demote_count;
    struct group_exit *exits;
    uint32_t exit_count;
    struct group_join *joins; /* in order, disjoint */
    uint32_t join_count;
    const char **unjoined;      /* one a member: why its loops are not joined with those of members before;
                                   NULL: they are, or it or the one before has none, or there are stages */
    struct group_stage *stages; /* halo; none: inner-thread */
    uint32_t stage_count;
    struct group_tile *tiles;
    uint32_t tile_count;
    struct group_fetch *fetches;
    uint32_t fetch_count;
    struct group_prefetch *prefetches;
    uint32_t prefetch_count;
    struct group_block_tile *block_tiles;
    uint32_t block_tile_count;
    struct group_tile_access *tile_accesses;
    uint32_t tile_access_count;
    uint32_t found_block_tiles, found_tile_accesses; /* the counts, used or not */
    struct group_rename *renames;
    uint32_t rename_count;
    bool is_part; /* asked of two launches: in a larger group more may be written, which makes a box of it */
    uint32_t cells[3], tile[3]; /* of the whole group, of one block: x y z */
    bool has_all_layers;        /* halo: a tile has all cells along z: halo.h, rule 9 */
    int march;                  /* halo: the axis along which blocks march, 1 or 2; 0: they do not */
    int64_t bytes_saved;        /* traffic that fusing saves, all threads: traffic.h */
    uint64_t bytes_cached;      /* of what is left, traffic that caches serve when they hold block_bytes of */
    uint64_t block_bytes;       /* each block that is resident: the different bytes that one touches */
    /* of a refused one: of its first so many members, the last one stands against it; 0: not known */
    uint32_t refused_from;
    const char *refusal; /* NULL: legal; else why not, with kernels, array, PTX lines and a pair of threads */
    struct arena *arena;
};
/* members: 1 or more, in program order; kept by reference (but see expansion). Never NULL except out of
 * memory. */
struct group *group_decide(struct memo *memo, const struct bound_launch *members, uint32_t member_count);
/* The same of the members before last_first, those from there on in the last block (last_block.h); neither is none. */
struct group *group_decide_last_block(struct memo *memo, const struct bound_launch *members,
                                      uint32_t member_count, uint32_t last_first);
/* The same of members in blocks of their own (inter_block.h). */
struct group *group_decide_inter_block(struct memo *memo, const struct bound_launch *members,
                                       uint32_t member_count);
/* How the load gets its value, and whether the store is left out. NULL: not so; a load's first fetch. */
const struct group_forward *group_forward_to(const struct group *group, uint32_t member,
                                             uint32_t instruction);
const struct group_fetch *group_fetch_to(const struct group *group, uint32_t member, uint32_t instruction);
const struct group_prefetch *group_prefetch_of(const struct group *group, uint32_t member,
                                               uint32_t instruction);
/* The range that the instruction's access lies in, and which contents it has to do with; or NULL. */
const struct group_rename *group_rename_of(const struct group *group, uint32_t member, uint32_t instruction,
                                           bool *is_new);
bool group_drops(const struct group *group, uint32_t member, uint32_t instruction);
const struct group_kept *group_kept_of(const struct group *group, uint32_t member, uint32_t instruction);
const struct group_tile_access *group_tile_access_of(const struct group *group, uint32_t member,
                                                     uint32_t instruction);
/* Bytes of shared memory of the group's members at a time, and with block tiles. */
uint64_t group_shared_bytes(const struct group *group);
uint64_t group_tile_bytes(const struct group_block_tile *tile);
/* Values are handed on in shared memory as was found legal, or not at all; what the group saves is measured
 * again. */
void group_use_block_tiles(struct group *group, bool is_on);
static inline bool group_runs_last(const struct group *group, uint32_t member)
{
    return group->last_first && member >= group->last_first;
}
/* Members that all blocks run. */
static inline uint32_t group_head_count(const struct group *group)
{
    return group->last_first ? group->last_first : group->member_count;
}
/* The join that the member is in, or NULL. */
const struct group_join *group_join_of(const struct group *group, uint32_t member);
/* The value passes in each iteration of a joined loop. */
bool group_is_repeated(const struct group *group, const struct group_forward *forward);
bool group_caches(const struct group *group, uint32_t member, uint32_t instruction);
/* What a group is called: group_fusions has the names in this order, and a NULL behind the last. */
enum group_kind {
    GROUP_INNER_THREAD,
    GROUP_JOINED_LOOPS,
    GROUP_INNER_BLOCK,
    GROUP_HALO,
    GROUP_HALO_IN_ITERATIONS,
    GROUP_ONE_BLOCK,
    GROUP_LAST_BLOCK,
    GROUP_INTER_BLOCK,
};
extern const char *const group_fusions[];
enum group_kind group_kind(const struct group *group);
const char *group_fusion(const struct group *group);
/* Of a halo fusion. Cells, and borders of a stage's box, of what a block runs at a time: its tile, or of that one layer. And how
 * many of these there are. */
uint32_t group_patch(const struct group *group, int d);
uint32_t group_patches(const struct group *group, int d);
int32_t group_patch_border(const struct group *group, const int32_t border[3], int d);
const struct group_stage *group_stage_of(const struct group *group, uint32_t member);
const struct expansion *group_expansion_of(const struct group *group, uint32_t member); /* or NULL */
const struct line_cut *group_cut_of(const struct group *group, uint32_t member);        /* or NULL */
/* The member's launch, in its own shape where it is cut. */
const struct access_summary *group_launch_of(const struct group *group, uint32_t member);
/* It has no stages, tiles and fetches any more. */
void group_forget_stages(struct group *group);
void group_free(struct group *group);

#endif
