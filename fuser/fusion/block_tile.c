/* SPDX-License-Identifier: Apache-2.0
 * See block_tile.h. Array by array: the uses of it, the box of what is stored, which loads find all their
 * bytes there, which stores need not go to memory. */
#include "fuser/fusion/block_tile.h"

#include "fuser/fusion/space_pattern.h"

#include <stdlib.h>
#include <string.h>

enum {
    TILE_OPERATIONS = 200000, /* of isl, for one array */
    TILE_POINTS = 1 << 22,    /* instances that are looked at, for one array */
    TILE_WIDEST = 16,         /* bytes of one access */
    TILE_SHARED = 228 << 10,  /* of a multiprocessor; each block takes RESERVED more than it asks for */
    TILE_RESERVED = 1 << 10,
    TILE_THREADS = 2048,       /* of a multiprocessor */
    TILE_ENOUGH_THREADS = 512, /* of them; below, memory is not kept busy */
};

struct tiling {
    struct group *group;
    struct space *space;
    struct tile_uses uses; /* of the array that is looked at */
    uint32_t array;
};

/* --- uses of an array ------------------------------------------------------------------------------------
 */

static const struct ptx_instruction *instruction_of(const struct tiling *tiling,
                                                    const struct placed_access *placed)
{
    const struct ptx_function *function = tiling->group->members[placed->member].summary->function;
    return &function->instructions[placed->access->instruction];
}

static const struct array_binding *binding_of(const struct tiling *tiling, const struct placed_access *placed)
{
    return &tiling->group->members[placed->member].bindings[placed->access->base];
}

static bool has_holes(const struct ptx_operand *vector)
{
    for (uint32_t e = 0; e < vector->element_count; e++)
        if (vector->elements[e].kind == PTX_OPERAND_NONE) return true;
    return false;
}

/* It makes this one access, at an address in a register: the same instruction can do it in shared memory. */
static bool is_movable(const struct tiling *tiling, const struct placed_access *placed)
{
    const struct ptx_instruction *instruction = instruction_of(tiling, placed);
    const struct access_summary *summary = tiling->group->members[placed->member].summary;
    uint32_t count = 0;
    for (uint32_t i = 0; i < summary->access_count; i++)
        count += summary->accesses[i].instruction == placed->access->instruction;
    if (count != 1 || placed->access->is_uncached_order ||
        !access_has_word(&summary->bases[placed->access->base]))
        return false;
    if (instruction->opcode != PTX_OP_LD && instruction->opcode != PTX_OP_ST) return false;
    if (instruction->space != PTX_GLOBAL && instruction->space != PTX_GENERIC) return false;
    if (ptx_has_modifier(instruction, PTX_MOD_CV) || ptx_has_modifier(instruction, PTX_MOD_WT) ||
        ptx_has_modifier(instruction, PTX_MOD_MMIO) || ptx_has_modifier(instruction, PTX_MOD_VOLATILE))
        return false;
    const struct ptx_operand *address = &instruction->operands[instruction->opcode == PTX_OP_LD];
    uint32_t bytes = instruction->type_count == 1 ? ptx_type_bytes(instruction->types[0]) : 0;
    return instruction->operand_count == 2 &&
           !has_holes(&instruction->operands[instruction->opcode == PTX_OP_ST]) &&
           address->kind == PTX_OPERAND_ADDRESS && address->reg >= 0 &&
           (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && placed->access->width <= TILE_WIDEST &&
           placed->access->width == bytes * instruction->vector;
}

static bool is_forwarded(const struct group *group, const struct placed_access *placed)
{
    const struct group_forward *forward =
        group_forward_to(group, placed->member, placed->access->instruction);
    return forward && !forward->first;
}

/* Takes part of its memory's life: not dropped, not forwarded. */
static bool is_made(const struct tiling *tiling, const struct placed_access *placed)
{
    uint32_t instruction = placed->access->instruction;
    if (placed->access->kind == ACCESS_READ) return !is_forwarded(tiling->group, placed);
    return !group_drops(tiling->group, placed->member, instruction);
}

static bool add_use(struct tiling *tiling, const struct placed_access *placed)
{
    const struct access *access = placed->access;
    struct tile_use *use = &tiling->uses.list[tiling->uses.count++];
    bool is_movable_one = is_movable(tiling, placed);
    *use = (struct tile_use){.placed = placed, .is_store = access->kind == ACCESS_WRITE};
    if (access->kind == ACCESS_ATOMIC || (use->is_store && !is_movable_one)) return false;
    use->is_certain = use->is_store && access->address_is_exact && access->domain_is_exact;
    use->is_global = use->is_store;
    bool is_partly_forwarded =
        !use->is_store && group_forward_to(tiling->group, placed->member, access->instruction);
    if (is_movable_one && !is_partly_forwarded)
        use->is_known = space_pattern_open(&use->pattern, tiling->uses.arena, tiling->space, placed);
    return use->is_known || !use->is_store;
}

/* False: the array can have no tile. */
static bool collect_uses(struct tiling *tiling)
{
    uint32_t capacity = 0, loads = 0;
    for (uint32_t member = 0; member < tiling->group->member_count; member++)
        capacity += tiling->group->members[member].summary->access_count;
    tiling->uses.list = arena_calloc(tiling->uses.arena, capacity + 1, sizeof *tiling->uses.list);
    for (uint32_t member = 0; tiling->uses.list && member < tiling->group->member_count; member++)
        for (uint32_t i = 0; i < tiling->group->members[member].summary->access_count; i++) {
            const struct placed_access *placed = &tiling->space->accesses[member][i];
            const struct array_binding *binding = binding_of(tiling, placed);
            if (binding->array != tiling->array || !is_made(tiling, placed)) continue;
            if (!binding->is_plain || !add_use(tiling, placed)) return false;
            loads +=
                tiling->uses.list[tiling->uses.count - 1].is_known && placed->access->kind == ACCESS_READ;
        }
    return loads > 0;
}

/* --- which loads are served ------------------------------------------------------------------------------
 */

struct cover {
    const struct group_block_tile *tile;
    unsigned char *written; /* by place: surely, by the block */
    uint32_t width;
};

static bool is_covered(void *context, uint32_t thread, int64_t byte)
{
    const struct cover *cover = context;
    (void)thread;
    for (uint32_t k = 0; k < cover->width; k++) {
        uint32_t place = tile_place(cover->tile, byte + k);
        if (place == UINT32_MAX || !cover->written[place]) return false;
    }
    return true;
}

static bool write_cover(void *context, uint32_t thread, int64_t byte)
{
    const struct cover *cover = context;
    (void)thread;
    for (uint32_t k = 0; k < cover->width; k++) {
        uint32_t place = tile_place(cover->tile, byte + k);
        if (place != UINT32_MAX) cover->written[place] = 1;
    }
    return true;
}

/* In a block: goes on with what members up to `last` write, and takes back is_served where a byte is not
 * written yet. */
static void serve_in_block(struct tiling *tiling, struct cover *cover, const uint32_t *block, uint32_t last)
{
    const struct tile_uses *uses = &tiling->uses;
    for (uint32_t first = 0, end; first < uses->count; first = end) {
        for (end = first;
             end < uses->count && uses->list[end].placed->member == uses->list[first].placed->member;)
            end++;
        for (uint32_t i = first; i < end; i++) {
            struct tile_use *use = &uses->list[i];
            cover->width = use->placed->access->width;
            if (use->is_served) use->is_served = pattern_visit(&use->pattern, block, is_covered, cover);
        }
        for (uint32_t i = first; i < end && uses->list[i].placed->member <= last; i++) {
            const struct tile_use *use = &uses->list[i];
            cover->width = use->placed->access->width;
            if (use->is_certain) pattern_visit(&use->pattern, block, write_cover, cover);
        }
    }
}

/* A place moves with the block as its origin does. */
static bool moves_along(const struct group_block_tile *tile, struct tile_use *use)
{
    for (unsigned d = 0; d < 3; d++) {
        if (use->pattern.step[d] == tile->step[2 - d]) continue;
        if (!use->pattern.is_any[d] || !pattern_set_step(&use->pattern, d, tile->step[2 - d])) return false;
    }
    return true;
}

static bool serve_loads(struct tiling *tiling, const struct group_block_tile *tile, uint32_t last)
{
    struct tile_uses *uses = &tiling->uses;
    size_t places = (size_t)tile->layers * tile->rows * tile->width;
    struct cover cover = {.tile = tile, .written = malloc(places + 1)};
    if (!cover.written) return false;
    for (uint32_t i = 0; i < uses->count; i++)
        uses->list[i].is_served = !uses->list[i].is_store && uses->list[i].is_known &&
                                  uses->list[i].placed->member <= last && moves_along(tile, &uses->list[i]);
    for (uint32_t class = 0; class < uses->classes.count; class ++) {
        memset(cover.written, 0, places);
        serve_in_block(tiling, &cover, uses->classes.blocks[class], last);
    }
    free(cover.written);
    return true;
}

static bool last_served(const struct tile_uses *uses, uint32_t *last)
{
    bool found = false;
    for (uint32_t i = 0; i < uses->count; i++) {
        if (!uses->list[i].is_served) continue;
        if (!found || uses->list[i].placed->member > *last) *last = uses->list[i].placed->member;
        found = true;
    }
    return found;
}

/* --- stores that need not go to memory -------------------------------------------------------------------
 */

/* Nobody reads in memory what the store writes: loads of its member and of later ones are served where they
 * meet it. */
static bool is_unread(const struct tiling *tiling, const struct tile_use *store)
{
    for (uint32_t i = 0; i < tiling->uses.count; i++) {
        const struct tile_use *load = &tiling->uses.list[i];
        if (load->is_store || load->is_served || load->placed->member < store->placed->member) continue;
        if (space_overlap(tiling->space, store->placed, load->placed) != OVERLAP_NONE) return false;
    }
    return true;
}

/* In a block: takes back that a store may be left out, where later members do not surely write each of its
 * bytes. Theirs may be left out, too: the last one of a byte never is. */
static void overwrite_in_block(struct tiling *tiling, const struct group_block_tile *tile,
                               struct cover *cover, const uint32_t *block)
{
    const struct tile_uses *uses = &tiling->uses;
    for (uint32_t end = uses->count, first; end > 0; end = first) {
        for (first = end;
             first > 0 && uses->list[first - 1].placed->member == uses->list[end - 1].placed->member;)
            first--;
        for (uint32_t i = first; i < end; i++) {
            struct tile_use *use = &uses->list[i];
            cover->width = use->placed->access->width;
            if (use->is_store && !use->is_global)
                use->is_global = !pattern_visit(&use->pattern, block, is_covered, cover);
        }
        for (uint32_t i = first; i < end; i++) {
            struct tile_use *use = &uses->list[i];
            cover->width = use->placed->access->width;
            if (use->is_certain && moves_along(tile, use))
                pattern_visit(&use->pattern, block, write_cover, cover);
        }
    }
}

static bool leave_out_stores(struct tiling *tiling, struct group_block_tile *tile, uint32_t last)
{
    struct tile_uses *uses = &tiling->uses;
    size_t places = (size_t)tile->layers * tile->rows * tile->width;
    struct cover cover = {.tile = tile, .written = malloc(places + 1)};
    if (!cover.written) return false;
    tile->is_private = true;
    for (uint32_t i = 0; i < uses->count; i++) {
        struct tile_use *use = &uses->list[i];
        bool is_read = use->is_store && !is_unread(tiling, use);
        use->is_global = use->is_store && (is_read || use->placed->member > last);
        if (is_read && use->placed->member <= last) tile->is_private = false;
    }
    for (uint32_t class = 0; class < uses->classes.count; class ++) {
        memset(cover.written, 0, places);
        overwrite_in_block(tiling, tile, &cover, uses->classes.blocks[class]);
    }
    free(cover.written);
    return true;
}

static bool is_in_tile(const struct tile_use *use, uint32_t last)
{
    return use->is_store ? use->placed->member <= last : use->is_served;
}

/* --- whether it is profitable --- */

static uint64_t resident_threads(const struct tiling *tiling, uint64_t shared)
{
    const uint32_t *block = tiling->space->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2],
             blocks = TILE_SHARED / (shared + TILE_RESERVED);
    return blocks * threads < TILE_THREADS ? blocks * threads : TILE_THREADS;
}

/* Enough threads are left on a multiprocessor, or as many as there were. */
static bool is_affordable(const struct tiling *tiling, uint64_t without, uint64_t with)
{
    uint64_t left = resident_threads(tiling, with);
    return with <= GROUP_MOST_DYNAMIC &&
           (left >= TILE_ENOUGH_THREADS || (left && left == resident_threads(tiling, without)));
}

/* What is stored there for nothing costs time: a block loads a quarter of what it stores, at least. */
static bool is_profitable(const struct tiling *tiling, uint32_t last)
{
    uint64_t loaded = 0, stored = 0;
    for (uint32_t i = 0; i < tiling->uses.count; i++) {
        const struct tile_use *use = &tiling->uses.list[i];
        uint64_t bytes = use->pattern.instances * use->placed->access->width;
        if (is_in_tile(use, last)) *(use->is_store ? &stored : &loaded) += bytes;
    }
    return 4 * loaded >= stored;
}

/* --- the tile of an array --------------------------------------------------------------------------------
 */

static bool find_classes(struct tiling *tiling)
{
    struct tile_uses *uses = &tiling->uses;
    const struct pattern **patterns = arena_calloc(uses->arena, uses->count + 1, sizeof *patterns);
    uint64_t points = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; patterns && i < uses->count; i++) {
        const struct pattern *pattern = &uses->list[i].pattern;
        if (!uses->list[i].is_known) continue;
        if (pattern->points > TILE_POINTS || (points += pattern->points) > TILE_POINTS) return false;
        patterns[count++] = pattern;
    }
    return patterns && pattern_classify(&uses->classes, uses->arena, patterns, count) &&
           points * uses->classes.count <= TILE_POINTS;
}

/* From block to block all stores up to a member move alike. */
static bool stores_move_along(const struct tiling *tiling, struct group_block_tile *tile, uint32_t last)
{
    const struct tile_uses *uses = &tiling->uses;
    for (uint32_t i = 0; i < uses->count; i++)
        for (unsigned d = 0; uses->list[i].is_store && uses->list[i].placed->member <= last && d < 3; d++)
            if (!uses->list[i].pattern.is_any[d]) tile->step[2 - d] = uses->list[i].pattern.step[d];
    for (uint32_t i = 0; i < uses->count; i++)
        if (uses->list[i].is_store && uses->list[i].placed->member <= last &&
            !moves_along(tile, &uses->list[i]))
            return false;
    return true;
}

/* The loads that a tile serves decide how long it lives, and that which stores it has. */
static bool find_lifetime(struct tiling *tiling, struct group_block_tile *tile, uint32_t *last, uint32_t most)
{
    *last = tiling->group->member_count - 1;
    for (uint32_t end = UINT32_MAX; *last != end;) {
        end = *last;
        *tile = (struct group_block_tile){.array = tiling->array};
        if (!stores_move_along(tiling, tile, end) || !tile_box_smallest(tile, &tiling->uses, end, most) ||
            !serve_loads(tiling, tile, end) || !last_served(&tiling->uses, last))
            return false;
    }
    return tile_box_pad(tile, &tiling->uses, most) && leave_out_stores(tiling, tile, *last);
}

struct row {
    const struct group_block_tile *tile;
    int64_t behind;
};

static bool is_in_row(void *context, uint32_t thread, int64_t byte)
{
    const struct row *row = context;
    (void)thread;
    return tile_place(row->tile, byte) % row->tile->width >= row->behind;
}

static const struct ptx_operand *address_of(const struct tiling *tiling, const struct tile_use *use)
{
    return &instruction_of(tiling, use->placed)->operands[!use->is_store];
}

/* Accesses through one register in one row have their places a constant apart. */
static uint32_t find_behind(const struct tiling *tiling, const struct group_block_tile *tile, uint32_t index,
                            uint32_t last)
{
    const struct tile_uses *uses = &tiling->uses;
    const struct tile_use *use = &uses->list[index];
    const struct ptx_operand *address = address_of(tiling, use);
    int64_t least = address->value;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct tile_use *other = &uses->list[i];
        if (other->placed->member != use->placed->member || !is_in_tile(other, last)) continue;
        const struct ptx_operand *near = address_of(tiling, other);
        if (near->reg == address->reg && near->value < least) least = near->value;
    }
    struct row row = {tile, address->value - least};
    for (uint32_t class = 0; row.behind && class < uses->classes.count; class ++)
        if (!pattern_visit(&use->pattern, uses->classes.blocks[class], is_in_row, &row)) return 0;
    return (uint32_t)row.behind;
}

static bool add_tile(struct tiling *tiling, const struct group_block_tile *tile, uint32_t last)
{
    struct group *group = tiling->group;
    uint32_t count = group->tile_access_count;
    group->block_tiles = arena_grow(group->arena, group->block_tiles, group->block_tile_count,
                                    group->block_tile_count + 1, sizeof *group->block_tiles);
    group->tile_accesses = arena_grow(group->arena, group->tile_accesses, count, count + tiling->uses.count,
                                      sizeof *group->tile_accesses);
    if (!group->block_tiles || !group->tile_accesses) return false;
    for (uint32_t i = 0; i < tiling->uses.count; i++) {
        const struct tile_use *use = &tiling->uses.list[i];
        const struct placed_access *placed = use->placed;
        if (!is_in_tile(use, last)) continue;
        group->tile_accesses[count++] = (struct group_tile_access){
            .member = placed->member,
            .instruction = placed->access->instruction,
            .tile = group->block_tile_count,
            .behind = find_behind(tiling, tile, i, last),
            .is_global = use->is_global,
        };
    }
    group->tile_access_count = count;
    group->block_tiles[group->block_tile_count++] = *tile;
    return true;
}

/* False when memory is out. */
static bool try_array(struct tiling *tiling)
{
    struct group_block_tile tile = {0};
    uint32_t last = 0;
    uint64_t without = group_shared_bytes(tiling->group);
    struct quota quota = quota_begin(tiling->space->ctx, TILE_OPERATIONS);
    bool found = without < GROUP_MOST_DYNAMIC && collect_uses(tiling) && find_classes(tiling) &&
                 find_lifetime(tiling, &tile, &last, (uint32_t)(GROUP_MOST_DYNAMIC - without)) &&
                 is_profitable(tiling, last) &&
                 is_affordable(tiling, without, without + group_tile_bytes(&tile));
    quota_end(&quota);
    return !found || add_tile(tiling, &tile, last);
}

static bool is_new_array(const struct group *group, uint32_t member, uint32_t base)
{
    uint32_t array = group->members[member].bindings[base].array;
    for (uint32_t m = 0; m <= member; m++)
        for (uint32_t b = 0; b < (m < member ? group->members[m].summary->base_count : base); b++)
            if (group->members[m].bindings[b].array == array) return false;
    return true;
}

bool block_tile_choose(struct group *group, struct space *space)
{
    bool done = true;
    if (group->stage_count || group->rename_count || space->reach != OVERLAP_BLOCK) return true;
    for (uint32_t member = 0; done && member < group->member_count; member++)
        for (uint32_t base = 0; done && base < group->members[member].summary->base_count; base++) {
            if (!is_new_array(group, member, base)) continue;
            struct tiling tiling = {.group = group, .space = space};
            tiling.array = group->members[member].bindings[base].array;
            tiling.uses.arena = arena_create();
            done = tiling.uses.arena && try_array(&tiling);
            arena_free(tiling.uses.arena);
        }
    return done;
}
