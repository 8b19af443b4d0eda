/* SPDX-License-Identifier: Apache-2.0
 * Names of registers in functions that were made of others. Of one file each. */
#ifndef KFUSE_TESTS_ANALYSIS_NEW_REGISTERS_H
#define KFUSE_TESTS_ANALYSIS_NEW_REGISTERS_H

#include "ptx/ptx.h"

#include <stdio.h>

static const struct ptx_function *original;

/* Those that the original lacks, by the order of their appearance. */
static const char *name_of(void *context, const struct ptx_function *function, int32_t reg)
{
    static char names[64][8];
    (void)context;
    uint32_t number = (uint32_t)reg - original->register_count;
    if (reg < (int32_t)original->register_count) return function->registers[reg].name;
    assert_true(number < 64);
    snprintf(names[number], sizeof names[number], "N%u", number);
    return names[number];
}

#endif
