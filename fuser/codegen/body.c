/* SPDX-License-Identifier: Apache-2.0
 * What a body is made of: names in C and in PTX, words, and why it cannot be carried. */
#include "fuser/codegen/body.h"

const char *body_value_name(struct arena *arena, const struct body_value *value)
{
    if (value->element == BODY_MADE)
        return arena_printf(arena, "m%u_made_%u", value->member, value->instruction);
    return arena_printf(arena, "m%u_value_%u_%u", value->member, value->instruction, value->element);
}

/* Layers of a ring lie at no fixed distance from each other. */
static int32_t layer_of(const struct body *body, const struct group_fetch *fetch)
{
    return body->group->march ? fetch->offset[body->group->march] : 0;
}

static uint32_t tile_of(const struct body *body, const struct group_fetch *fetch)
{
    return body->group->tiles[fetch->tile].kept_in;
}

const char *body_tile_name(const struct body *body, const struct group_fetch *fetch)
{
    int32_t layer = layer_of(body, fetch);
    return arena_printf(body->arena,
                        layer < 0 ? "m%u_tile_%u_before_%d"
                        : layer   ? "m%u_tile_%u_behind_%d"
                                  : "m%u_tile_%u",
                        body->member, tile_of(body, fetch), layer < 0 ? -layer : layer);
}

bool body_is_first_fetch(const struct body *body, uint32_t index)
{
    const struct group_fetch *own = body->fetches[index];
    for (uint32_t i = 0; i < index; i++)
        if (tile_of(body, body->fetches[i]) == tile_of(body, own) &&
            layer_of(body, body->fetches[i]) == layer_of(body, own))
            return false;
    return true;
}

const char *body_covered_name(const struct body *body, uint32_t index)
{
    return arena_printf(body->arena, "m%u_covered_%u_%u", body->member, body->fetches[index]->to_instruction,
                        index);
}

uint32_t body_fetch_bytes(const struct body *body, const struct group_fetch *fetch)
{
    return body->group->tiles[fetch->tile].bytes;
}

const char *body_c_type(uint32_t bytes)
{
    return bytes == 1   ? "unsigned char"
           : bytes == 2 ? "unsigned short"
           : bytes == 4 ? "unsigned int"
                        : "unsigned long long";
}

bool body_uses_shared(const struct body *body)
{
    return body->shared_count || body->tile_count;
}

bool body_reads_copy(const struct ptx_instruction *instruction)
{
    const struct ptx_operand *address = ptx_is_load(instruction) ? ptx_address_operand(instruction) : NULL;
    return address && instruction->space == PTX_PARAM && address->reg >= 0;
}

static const char coordinate_names[][8] = {"tid_x",   "tid_y",    "tid_z",    "ntid_x",
                                           "ntid_y",  "ntid_z",   "ctaid_x",  "ctaid_y",
                                           "ctaid_z", "nctaid_x", "nctaid_y", "nctaid_z"};

static bool is_extent(enum ptx_special special)
{
    return (special >= PTX_SPECIAL_NTID_X && special <= PTX_SPECIAL_NTID_Z) ||
           special >= PTX_SPECIAL_NCTAID_X;
}

const char *body_coordinate(const struct body *body, int special)
{
    if (special < PTX_SPECIAL_TID_X || special > PTX_SPECIAL_NCTAID_Z || !body->specials[special] ||
        is_extent((enum ptx_special)special))
        return NULL;
    return coordinate_names[special - PTX_SPECIAL_TID_X];
}

void body_write_barrier(const struct body *body, FILE *out)
{
    fprintf(out, body->is_ragged ? "\n    asm volatile(\"barrier.sync 0;\" : : : \"memory\");\n"
                                 : "\n    __syncthreads();\n");
}

bool body_refuse(struct body *body, const struct ptx_instruction *instruction, const char *why)
{
    body->error = arena_printf(body->arena, "kernel %s, line %u: %s (%.*s)", body->function->name,
                               instruction ? instruction->line : body->function->line, why,
                               instruction ? (int)instruction->mnemonic.length : 0,
                               instruction ? instruction->mnemonic.text : "");
    return false;
}

bool body_add_word(struct body *body, struct body_word word)
{
    for (uint32_t i = 0; i < body->word_count; i++)
        if (body->words[i].offset == word.offset && body->words[i].type == word.type &&
            body->words[i].register_bytes == word.register_bytes)
            return true;
    body->words = arena_grow(body->arena, body->words, body->word_count, body->word_count + 1, sizeof word);
    if (!body->words) return false;
    body->words[body->word_count++] = word;
    return true;
}
