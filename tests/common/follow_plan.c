/* SPDX-License-Identifier: Apache-2.0
 * Follows every index of a plan, as replay does. */
#include "tests/common/follow_plan.h"
#include "common/image.h"

#include <stdlib.h>
#include <string.h>

static bool is_allocated(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    (void)context;
    *start = address;
    *size = 1;
    return true;
}

/* The same plan in a heap block of its exact size, where the address sanitizer sees its end. */
static struct plan copy_to_heap(const struct plan *plan)
{
    struct plan copy = {.header = malloc(plan->size), .size = plan->size};
    if (!copy.header) abort();
    memcpy((void *)copy.header, plan->header, plan->size);
#define MOVE(name) copy.name = (const void *)((const char *)copy.header + copy.header->name.offset);
    MOVE(modules)
    MOVE(kernels)
    MOVE(groups)
    MOVE(steps)
    MOVE(guards)
    MOVE(masks)
    MOVE(variables)
    MOVE(parameters)
    MOVE(effects)
    MOVE(renames)
    MOVE(stales)
    MOVE(variants)
    MOVE(strings)
    MOVE(code)
#undef MOVE
    return copy;
}

/* Does with an accepted plan what replay does, without any check of its own. */
static uint64_t follow(const struct plan *plan)
{
    uint64_t sum = strlen(plan->header->device_name);
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        const struct plan_group *group = &plan->groups[i];
        const struct plan_step *steps = &plan->steps[group->first_step];
        unsigned char *words[64] = {0};
        uint32_t sizes[64] = {0};
        sum += strlen(plan->strings + group->name);
        for (uint32_t s = 0; s < group->step_count && s < 64; s++) {
            const struct plan_kernel *kernel = &plan->kernels[steps[s].kernel];
            sum += strlen(plan->strings + kernel->name) + plan->modules[kernel->module].hash.low;
            for (uint32_t b = 0; b < 2 * steps[s].arguments_size; b++) sum += plan->masks[steps[s].mask + b];
            for (uint32_t v = 0; v < kernel->variable_count; v++)
                sum += strlen(plan->strings + plan->variables[kernel->first_variable + v].name);
            sizes[s] = plan_words_size(plan, &steps[s]);
            words[s] = calloc(1, sizes[s] + 1);
            if (!words[s]) abort();
            memcpy(words[s], plan->masks + steps[s].mask, steps[s].arguments_size);
            struct guard_view view = {
                (const unsigned char *const *)words, sizes, s + 1, is_allocated, is_allocated, NULL, NULL};
            sum += guard_holds(plan->guards + steps[s].first_guard, steps[s].guard_count, &view);
        }
        for (uint32_t v = 0; v < group->variant_count; v++) {
            const struct plan_variant *variant = &plan->variants[group->first_variant + v];
            unsigned char *fused = malloc(variant->parameter_bytes + 1);
            if (!fused) abort();
            sum += strlen(plan->strings + variant->entry);
            sum += image_examine(plan->code + variant->code, variant->code_size).size;
            for (uint32_t p = 0; p < variant->parameter_count; p++) {
                const struct plan_parameter *parameter = &plan->parameters[variant->first_parameter + p];
                memcpy(fused + parameter->destination_offset,
                       words[parameter->step] + parameter->source_offset, parameter->size);
            }
            for (uint32_t r = 0; r < variant->rename_count; r++) {
                const struct plan_rename *rename = &plan->renames[variant->first_rename + r];
                memcpy(fused + rename->destination_offset, words[rename->step] + rename->offset, 8);
                memcpy(fused + rename->destination_offset + 8, words[rename->step] + rename->offset, 8);
            }
            for (uint32_t r = 0; r < variant->stale_count; r++) {
                const struct plan_stale *stale = &plan->stales[variant->first_stale + r];
                uint64_t pointer;
                memcpy(&pointer, words[stale->step] + stale->offset, sizeof pointer);
                sum += pointer + (uint64_t)stale->from + stale->bytes;
            }
            for (uint32_t r = 0; variant->rematerialisation >> r; r++)
                if (variant->rematerialisation >> r & 1) sum += sizes[r];
            if (variant->stale_count) sum += plan->variants[group->first_variant + v + 1].code;
            free(fused);
        }
        for (uint32_t e = 0; e < group->effect_count; e++) {
            const struct plan_effect *effect = &plan->effects[group->first_effect + e];
            uint64_t pointer;
            memcpy(&pointer, words[effect->step] + effect->offset, sizeof pointer);
            sum += pointer + effect->kind;
        }
        for (uint32_t s = 0; s < 64; s++) free(words[s]);
    }
    return sum;
}

uint64_t follow_plan_copy(const struct plan *plan)
{
    struct plan copy = copy_to_heap(plan);
    uint64_t sum = follow(&copy);
    free((void *)copy.header);
    return sum;
}
