/* SPDX-License-Identifier: Apache-2.0
 * Each candidate is rounded alone, all forms in one compilation; then those that changed nothing together. */
#include "fuser/codegen/settle.h"

#include "fuser/codegen/reference.h"

#include "fuser/analysis/product.h"

enum { MOST_CANDIDATES = 64 };

struct settling {
    struct arena *arena;
    const struct ptx_function *function;
    const struct cubin *loaded;
    uint32_t sm, max_registers;
};

/* Compiles the kernel once for each set of flags; same[i]: its code is the loaded one. */
static bool try_rounding(const struct settling *settling, const bool *const *rounds, uint32_t count,
                         bool *same)
{
    struct nvrtc_output output;
    struct cubin ours;
    reference_compile_rounded(settling->arena, settling->function, rounds, count, settling->sm,
                              settling->max_registers, &output);
    if (output.error || !cubin_open(&ours, output.cubin, output.cubin_size)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = reference_rounded_name(settling->arena, settling->function, i);
        same[i] = name &&
                  !cubin_difference(settling->arena, settling->loaded, settling->function->name, &ours, name);
    }
    return true;
}

const bool *settle_rounding(struct arena *arena, const struct ptx_function *function,
                            const struct cubin *loaded, uint32_t sm, uint32_t max_registers)
{
    const struct settling settling = {arena, function, loaded, sm, max_registers};
    const bool *rounds[MOST_CANDIDATES];
    uint32_t candidates[MOST_CANDIDATES], count = 0, settled = 0;
    bool same[MOST_CANDIDATES],
        *together = arena_calloc(arena, function->instruction_count + 1, sizeof(bool));
    for (uint32_t i = 0; together && i < function->instruction_count; i++) {
        if (!product_may_contract(&function->instructions[i])) continue;
        bool *alone = arena_calloc(arena, function->instruction_count + 1, sizeof(bool));
        if (!alone || count == MOST_CANDIDATES) return NULL;
        alone[i] = true;
        candidates[count] = i;
        rounds[count++] = alone;
    }
    if (!together || (count && !try_rounding(&settling, rounds, count, same))) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        together[candidates[i]] = same[i];
        settled += same[i];
    }
    rounds[0] = together;
    if (settled > 1 && (!try_rounding(&settling, rounds, 1, same) || !same[0])) return NULL;
    return together;
}
