/* SPDX-License-Identifier: Apache-2.0
 * Kernels that find sizes and offsets in `__constant__` variables of the module: u has n, h and m, b a table with o. */
#include "tests/referee/kernel_writer.h"

#include <string.h>

void kernel_draw_constant_scalars(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    struct random own = {writer->random->state ^ 0x2c1b3c6du}; /* what else is drawn stays what it was */
    if (!writer->theme->has_constants || !random_chance(&own, 75)) return;
    for (uint32_t i = 0; kernel->scalars[i]; i++)
        kernel->is_constant[i] = strchr("nhmo", kernel->scalars[i]) && random_chance(&own, 70);
    kernel->constant_entry = random_below(&own, KERNEL_CONSTANT_TABLE);
}

struct kernel_constant kernel_constant_of(const struct kernel *kernel, uint32_t scalar)
{
    if (kernel->scalars[scalar] == 'o')
        return (struct kernel_constant){1, 8 * kernel->constant_entry, sizeof(int64_t)};
    return (struct kernel_constant){0,
                                    kernel->scalars[scalar] == 'n'   ? 0
                                    : kernel->scalars[scalar] == 'h' ? 4
                                                                     : 8,
                                    sizeof(int32_t)};
}

void kernel_write_constants(struct writer *writer)
{
    const struct kernel *kernel = writer->kernel;
    for (uint32_t i = 0; kernel->scalars[i]; i++) {
        if (!kernel->is_constant[i]) continue;
        struct kernel_constant place = kernel_constant_of(kernel, i);
        kernel_say(writer, "%s %c = %c%u[%u];\n", place.variable ? "long long" : "int", kernel->scalars[i],
                   KERNEL_CONSTANT_NAMES[place.variable], writer->program, place.offset / place.size);
    }
}
