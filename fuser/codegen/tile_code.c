/* SPDX-License-Identifier: Apache-2.0
 * See tile_code.h. Addresses are followed in their low 32 bits: no tile is that large. Registers of member m,
 * tile t: %m_t_from, the block's origin in the array; %m_t_gap, how far that is from the tile in shared
 * memory. */
#include "fuser/codegen/tile_code.h"

#include <string.h>

static const struct group_block_tile *tile_of(const struct body *body, const struct body_tile *own)
{
    return &body->group->block_tiles[own->tile];
}

static const struct access *access_of(const struct body *body, uint32_t instruction)
{
    const struct access_summary *summary = body->group->members[body->member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].instruction == instruction) return &summary->accesses[i];
    return NULL;
}

static bool has_tile(const struct body *body, uint32_t tile)
{
    for (uint32_t i = 0; i < body->tile_count; i++)
        if (body->tiles[i].tile == tile) return true;
    return false;
}

static const struct ptx_operand *address_of(const struct ptx_instruction *instruction)
{
    return &instruction->operands[ptx_is_store(instruction) ? 0 : 1];
}

static struct body_anchor anchor_of(const struct body *body, const struct group_tile_access *tiled)
{
    const struct ptx_operand *address = address_of(&body->function->instructions[tiled->instruction]);
    return (struct body_anchor){tiled->tile, address->reg, address->value - tiled->behind};
}

static bool is_same_anchor(const struct body_anchor *a, const struct body_anchor *b)
{
    return a->tile == b->tile && a->reg == b->reg && a->constant == b->constant;
}

/* The anchor's index, or anchor_count. */
static uint32_t find_anchor(const struct body *body, const struct group_tile_access *tiled)
{
    struct body_anchor wanted = anchor_of(body, tiled);
    uint32_t i = 0;
    while (i < body->anchor_count && !is_same_anchor(&body->anchors[i], &wanted)) i++;
    return i;
}

/* Each register and constant that several accesses have. */
static bool collect_anchors(struct body *body)
{
    const struct group *group = body->group;
    body->anchors = arena_calloc(body->arena, group->tile_access_count + 1, sizeof *body->anchors);
    for (uint32_t i = 0; body->anchors && i < group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &group->tile_accesses[i];
        if (tiled->member != body->member || find_anchor(body, tiled) < body->anchor_count) continue;
        struct body_anchor own = anchor_of(body, tiled);
        uint32_t uses = 0;
        for (uint32_t k = i; k < group->tile_access_count && group->tile_accesses[k].member == body->member;
             k++) {
            struct body_anchor other = anchor_of(body, &group->tile_accesses[k]);
            uses += is_same_anchor(&own, &other);
        }
        if (uses > 1) body->anchors[body->anchor_count++] = own;
    }
    return body->anchors;
}

bool tile_code_collect(struct body *body)
{
    const struct group *group = body->group;
    const struct bound_launch *launch = &group->members[body->member];
    body->tiles = arena_calloc(body->arena, group->block_tile_count + 1, sizeof *body->tiles);
    for (uint32_t i = 0; body->tiles && i < group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &group->tile_accesses[i];
        if (tiled->member != body->member || has_tile(body, tiled->tile)) continue;
        uint32_t base = access_of(body, tiled->instruction)->base, word = 0;
        struct body_word wanted = {launch->summary->bases[base].argument_offset, PTX_U64, 8};
        if (!body_add_word(body, wanted)) return body_refuse(body, NULL, "out of memory");
        while (memcmp(&body->words[word], &wanted, sizeof wanted)) word++;
        body->tiles[body->tile_count++] = (struct body_tile){
            .tile = tiled->tile,
            .word = word,
            .distance = group->block_tiles[tiled->tile].origin - launch->bindings[base].offset};
    }
    return (body->tiles && collect_anchors(body)) || body_refuse(body, NULL, "out of memory");
}

void tile_code_begin(struct body_writer *writer)
{
    const struct body *body = writer->body;
    uint32_t m = body->member;
    for (uint32_t i = 0; i < body->anchor_count; i++)
        body_code_line(writer, ".reg .b32 %%m%u_tile_of_%u;", m, i);
    if (body->tile_count)
        body_code_line(writer, ".reg .b32 %%m%u_tile_at, %%m%u_tile_row, %%m%u_tile_layer;", m, m, m);
    for (uint32_t i = 0; i < body->tile_count; i++) {
        const struct body_tile *own = &body->tiles[i];
        const struct group_block_tile *tile = tile_of(body, own);
        body_code_line(writer, ".reg .b32 %%m%u_%u_from, %%m%u_%u_gap;", m, own->tile, m, own->tile);
        body_code_line(writer, "cvt.u32.u64 %%m%u_%u_from, %%m%u_word_%u;", m, own->tile, m, own->word);
        body_code_line(writer, "add.u32 %%m%u_%u_from, %%m%u_%u_from, %u;", m, own->tile, m, own->tile,
                       (uint32_t)own->distance);
        for (int d = 0; d < 3; d++) {
            if (!tile->step[d]) continue;
            body_code_line(writer, "mov.u32 %%m%u_tile_at, %%ctaid.%c;", m, "xyz"[d]);
            body_code_line(writer, "mad.lo.u32 %%m%u_%u_from, %%m%u_tile_at, %u, %%m%u_%u_from;", m,
                           own->tile, m, (uint32_t)tile->step[d], m, own->tile);
        }
        body_code_line(writer, "mov.u32 %%m%u_tile_at, %s_shared+%llu;", m, body->kernel,
                       (unsigned long long)own->offset);
        body_code_line(writer, "sub.u32 %%m%u_%u_gap, %%m%u_%u_from, %%m%u_tile_at;", m, own->tile, m,
                       own->tile, m);
    }
}

/* number / divisor as the high half of a product with *factor, shifted by the result, for all numbers below
 * the limit. */
static uint32_t reciprocal(uint32_t divisor, uint64_t limit, uint32_t *factor)
{
    for (uint32_t shift = 0; shift < 31; shift++) {
        unsigned __int128 whole = (unsigned __int128)1 << (32 + shift);
        unsigned __int128 up = (whole + divisor - 1) / divisor, excess = up * divisor - whole;
        if (up > UINT32_MAX || excess * limit >= whole) continue;
        *factor = (uint32_t)up;
        return shift;
    }
    return UINT32_MAX;
}

/* to: tile_at / divisor, for distances of `count` times that at most. */
static void write_quotient(struct body_writer *writer, const char *to, uint32_t divisor, uint32_t count)
{
    uint32_t m = writer->body->member, factor = 0;
    if (!(divisor & (divisor - 1))) {
        body_code_line(writer, "shr.u32 %%m%u_tile_%s, %%m%u_tile_at, %d;", m, to, m, __builtin_ctz(divisor));
        return;
    }
    uint32_t shift = reciprocal(divisor, (uint64_t)count * divisor, &factor);
    if (shift == UINT32_MAX) {
        body_code_line(writer, "div.u32 %%m%u_tile_%s, %%m%u_tile_at, %u;", m, to, m, divisor);
        return;
    }
    body_code_line(writer, "mul.hi.u32 %%m%u_tile_%s, %%m%u_tile_at, %u;", m, to, m, factor);
    if (shift) body_code_line(writer, "shr.u32 %%m%u_tile_%s, %%m%u_tile_%s, %u;", m, to, m, to, shift);
}

/* tile_at: the low half of the address. A constant that stands in the instruction is added here: what lies
 * before it need be no address. */
static void write_address(struct body_writer *writer, int32_t reg, int64_t constant)
{
    uint32_t m = writer->body->member;
    body_code_line(writer, "cvt.u32.u64 %%m%u_tile_at, %s;", m, writer->body->registers[reg]);
    if (constant)
        body_code_line(writer, "add.u32 %%m%u_tile_at, %%m%u_tile_at, %u;", m, m, (uint32_t)constant);
}

/* to: the address in shared memory of that array element's place. */
static void write_place(struct body_writer *writer, uint32_t index, int32_t reg, int64_t constant,
                        const char *to)
{
    const struct group_block_tile *tile = &writer->body->group->block_tiles[index];
    uint32_t m = writer->body->member;
    if (tile->pitch || tile->layer_pitch) {
        write_address(writer, reg, constant);
        body_code_line(writer, "sub.u32 %%m%u_tile_at, %%m%u_tile_at, %%m%u_%u_from;", m, m, m, index);
    }
    if (tile->layer_pitch) {
        write_quotient(writer, "layer", tile->layer_pitch, tile->layers);
        body_code_line(writer, "mad.lo.u32 %%m%u_tile_at, %%m%u_tile_layer, %u, %%m%u_tile_at;", m, m,
                       0u - tile->layer_pitch, m);
    }
    if (tile->pitch) write_quotient(writer, "row", tile->pitch, tile->rows);
    write_address(writer, reg, constant);
    body_code_line(writer, "sub.u32 %s, %%m%u_tile_at, %%m%u_%u_gap;", to, m, m, index);
    if (tile->pitch)
        body_code_line(writer, "mad.lo.u32 %s, %%m%u_tile_row, %u, %s;", to, m, tile->row_bytes - tile->pitch,
                       to);
    if (tile->layer_pitch)
        body_code_line(writer, "mad.lo.u32 %s, %%m%u_tile_layer, %u, %s;", to, m,
                       tile->rows * tile->row_bytes - tile->layer_pitch, to);
}

static const char *anchor_name(const struct body *body, uint32_t anchor)
{
    return arena_printf(body->arena, "%%m%u_tile_of_%u", body->member, anchor);
}

static bool writes_register(const struct ptx_instruction *instruction, int32_t reg)
{
    if (!ptx_opcode_info(instruction->opcode)->has_destination || !instruction->operand_count) return false;
    const struct ptx_operand *to = &instruction->operands[0];
    if (to->kind == PTX_OPERAND_REGISTER) return to->reg == reg;
    for (uint32_t e = 0; e < to->element_count; e++)
        if (to->elements[e].kind == PTX_OPERAND_REGISTER && to->elements[e].reg == reg) return true;
    return false;
}

void tile_code_follow(struct body_writer *writer, uint32_t index)
{
    const struct body *body = writer->body;
    for (uint32_t i = 0; i < body->anchor_count; i++) {
        const struct body_anchor *anchor = &body->anchors[i];
        if (writes_register(&body->function->instructions[index], anchor->reg))
            write_place(writer, anchor->tile, anchor->reg, anchor->constant, anchor_name(body, i));
    }
}

static struct ptx_span mnemonic_of(struct arena *arena, const struct ptx_instruction *instruction)
{
    char vector[8] = "";
    if (instruction->vector > 1) snprintf(vector, sizeof vector, ".v%u", instruction->vector);
    char *text = arena_printf(arena, "%s.shared%s.%s", ptx_is_store(instruction) ? "st" : "ld", vector,
                              ptx_type_name(instruction->types[0]));
    return (struct ptx_span){text, text ? (uint32_t)strlen(text) : 0};
}

void tile_code_write(struct body_writer *writer, uint32_t index, const struct group_tile_access *access)
{
    const struct body *body = writer->body;
    struct ptx_instruction instruction = body->function->instructions[index];
    struct ptx_operand *operands = arena_calloc(body->arena, instruction.operand_count, sizeof *operands);
    uint32_t at = ptx_is_store(&instruction) ? 0 : 1, anchor = find_anchor(body, access);
    if (!operands) return;
    memcpy(operands, instruction.operands, instruction.operand_count * sizeof *operands);
    const char *place = arena_printf(body->arena, "%%m%u_tile_at", body->member);
    if (anchor < body->anchor_count)
        place = anchor_name(body, anchor);
    else
        write_place(writer, access->tile, operands[at].reg, operands[at].value, place);
    operands[at].value = anchor < body->anchor_count ? access->behind : 0;
    operands[at].reg = -1;
    operands[at].symbol = place;
    instruction.operands = operands;
    instruction.mnemonic = mnemonic_of(body->arena, &instruction);
    body_code_print(writer, &instruction, NULL);
}
