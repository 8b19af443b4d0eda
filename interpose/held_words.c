/* SPDX-License-Identifier: Apache-2.0
 * The words of a held launch behind its arguments (plan_words_size): addresses of variables, and sums. */
#include "interpose/queue_parts.h"

#include "interpose/contents.h"
#include "interpose/variables.h"

#include <string.h>

bool queue_append_variables(struct held *held, const struct track_kernel *kernel, uint32_t index)
{
    uint32_t at = (held->words_size + 7) & ~7u, bytes = 8 * queue.plan->kernels[index].variable_count;
    if (at + bytes > queue.buffer_size || track_current_context() != queue.context) return false;
    memset(held->arguments + held->words_size, 0, at - held->words_size);
    held->words_size = at + bytes;
    return variables_put(index, kernel, held->function, held->arguments + at);
}

/* The contents of a variable, whose address is among the words. */
static bool append_contents(struct held *held, const struct plan_kernel *kernel, const struct plan_sum *word,
                            uint32_t at)
{
    uint64_t variable, value;
    uint32_t variables = (kernel->parameter_bytes + 7) & ~7u;
    memcpy(&variable, held->arguments + variables + 8 * word->pointer, sizeof variable);
    if (!contents_word(variable, word, &value)) return false;
    memcpy(held->arguments + at, &value, sizeof value);
    return true;
}

/* Addresses that the kernel makes of its arguments, and contents of variables, for guards and fused kernels. */
bool queue_append_sums(struct held *held, uint32_t index)
{
    const struct plan_kernel *kernel = &queue.plan->kernels[index];
    uint32_t at = (held->words_size + 7) & ~7u, end = at + 8 * kernel->sum_count;
    if (end > queue.buffer_size || held->launch.arguments_size < kernel->parameter_bytes) return false;
    memset(held->arguments + held->words_size, 0, at - held->words_size);
    for (uint32_t i = 0; i < kernel->sum_count; i++, at += 8) {
        const struct plan_sum *sum = &queue.plan->sums[kernel->first_sum + i];
        if (sum->kind == PLAN_CONTENTS) {
            if (!append_contents(held, kernel, sum, at)) return false;
            continue;
        }
        uint64_t address = plan_sum_of(sum, held->arguments);
        memcpy(held->arguments + at, &address, sizeof address);
    }
    held->words_size = end;
    return true;
}
