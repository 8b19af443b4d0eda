/* SPDX-License-Identifier: Apache-2.0
 * The parts of a statement of inline assembly, for the two that make one: body_write.c of one
 * member, joined.c of several. */
#ifndef KFUSE_FUSER_CODEGEN_BODY_CODE_H
#define KFUSE_FUSER_CODEGEN_BODY_CODE_H

#include "fuser/codegen/body.h"

#define BODY_OPERAND "\001" /* stands for the % of an operand number */

struct body_writer {
    const struct body *body;
    FILE *out;
    const char *indentation;
    struct ptx_names names;
    char text[64];
};
struct body_writer body_code_open(const struct body *body, FILE *out, const char *indentation);
/* One line of PTX. */
void body_code_line(struct body_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The instruction with the names of the fused kernel; guard: in place of its own, NULL: its own. */
void body_code_print(struct body_writer *writer, const struct ptx_instruction *instruction,
                     const char *guard);
/* `@%p ` or nothing */
const char *body_code_guard(const struct body_writer *writer, const struct ptx_instruction *instruction);
extern const char
    body_code_place[]; /* the symbol that stands for the register with an address that is computed */
/* Operands in the order of their numbers; they take and return what separates them. modifier: + for values that
 * were set before, = for others. */
const char *body_code_outputs(struct body_writer *writer, const char *separator, char modifier);
const char *body_code_inputs(struct body_writer *writer, const char *separator, body_word_name *word_name,
                             void *context);
/* Ends the statement behind its inputs. */
void body_code_close(const struct body_writer *writer, const char *separator);

/* --- iteration_code.c */
/* Of an expanded member: writes what comes before the instruction where a loop begins; true where it wrote
 * what stands in its place. */
bool iteration_code_write(struct body_writer *writer, uint32_t index);

/* --- body_write.c */
void body_code_declarations(struct body_writer *writer);
/* Copies inputs, which begin with this operand; the number of the one behind them. */
uint32_t body_code_copies(struct body_writer *writer, uint32_t operand);
/* The instruction as it is in the group: forwarded, dropped, rounded ... */
void body_code_instruction(struct body_writer *writer, uint32_t index);
/* Of a branch that the member's body may write as it is known to go. */
enum access_branch body_code_branch(const struct body *body, uint32_t instruction);
const struct group_exit *body_code_exit(const struct body *body, uint32_t instruction);
/* The register that has what the value was so many iterations before. */
const char *body_code_old(struct arena *arena, const struct body_value *value, uint32_t distance);

#endif
