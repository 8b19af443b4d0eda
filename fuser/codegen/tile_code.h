/* SPDX-License-Identifier: Apache-2.0
 * Stores to block tiles and loads from them (struct group_block_tile), beside or in place of those of global
 * memory. */
#ifndef KFUSE_FUSER_CODEGEN_TILE_CODE_H
#define KFUSE_FUSER_CODEGEN_TILE_CODE_H

#include "fuser/codegen/body_code.h"

/* Gives the member the words that it needs for its tiles; false with body->error set. */
bool tile_code_collect(struct body *body);
/* Registers, and what is computed once: where the block's part of each array begins. */
void tile_code_begin(struct body_writer *writer);
/* Behind an instruction: what is kept of the registers that it writes. */
void tile_code_follow(struct body_writer *writer, uint32_t index);
/* The access of an instruction, in shared memory; its own guard is kept. */
void tile_code_write(struct body_writer *writer, uint32_t index, const struct group_tile_access *access);

#endif
