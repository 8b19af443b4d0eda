/* SPDX-License-Identifier: Apache-2.0
 * See launch_run.h. */
#include "tests/analysis/launch_run.h"

#include "emulator/memory.h"

#include <string.h>

static void fill(uint64_t start, const struct launch_buffer *buffer, uint32_t seed)
{
    uint32_t *words = (uint32_t *)(uintptr_t)start;
    uint32_t state = seed * 2654435761u + buffer->offset + 1;

    for (uint64_t w = 0; w < buffer->size / 4; w++) {
        state = state * 1664525u + 1013904223u;
        words[w] = buffer->modulus ? (state >> 8) % buffer->modulus : 0;
    }
}

bool launch_place(struct emu_program *program, struct launch_line *line, uint32_t seed, uint64_t *starts)
{
    for (uint32_t b = 0; b < line->buffer_count; b++) {
        const struct launch_buffer *buffer = &line->buffers[b];
        starts[b] = emu_memory_allocate(buffer->size, EMU_MEMORY_DEVICE);
        if (!starts[b]) return false;
        fill(starts[b], buffer, seed);
        uint64_t pointer = starts[b] + buffer->inside;
        memcpy(line->arguments + buffer->offset, &pointer, sizeof pointer);
    }
    for (uint32_t v = 0; v < line->variable_count; v++) {
        const struct launch_variable *variable = &line->variables[v];
        uint64_t address, size;
        if (emu_program_variable(program, variable->name, &address, &size))
            memcpy((void *)(uintptr_t)address, variable->contents,
                   size < variable->size ? size : variable->size);
    }
    return true;
}

void launch_release(const struct launch_line *line, const uint64_t *starts)
{
    for (uint32_t b = 0; b < line->buffer_count; b++) emu_memory_release(starts[b]);
}
