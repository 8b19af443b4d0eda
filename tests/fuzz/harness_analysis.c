/* SPDX-License-Identifier: Apache-2.0
 * A launch of every kernel of a PTX text: its accesses are found or refused with a reason. Arguments are
 * small numbers; the 8-byte parameters are pointers. */
#include "fuser/access/access.h"
#include "fuser/kernel/plain.h"
#include "tests/fuzz/harness.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4096, POINTERS = 16, KERNELS = 4 };

static void analyse(isl_ctx *ctx, const struct ptx_function *function)
{
    unsigned char *arguments = malloc(BUFFER);
    struct launch_pointer pointers[POINTERS];
    struct launch_input input = {.function = plain_function(function->module->arena, function),
                                 .grid = {3, 2, 1},
                                 .block = {32, 2, 1},
                                 .arguments = arguments,
                                 .arguments_size = function->parameter_bytes,
                                 .pointers = pointers};
    if (!arguments) abort();
    for (unsigned i = 0; i < BUFFER; i++) arguments[i] = i % 4 ? 0 : (unsigned char)(100 + i);
    for (uint32_t i = 0; i < function->parameter_count && input.pointer_count < POINTERS; i++)
        if (function->parameters[i].size == 8)
            pointers[input.pointer_count++] = (struct launch_pointer){function->parameters[i].offset};
    struct access_summary *summary = access_analyse(ctx, &input);
    if (!summary) abort();
    access_summary_free(summary);
    free(arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *error;
    struct ptx_module *module = ptx_parse("fuzz", (const char *)bytes, size, &error);
    isl_ctx *ctx = isl_ctx_alloc();
    unsigned analysed = 0;
    if (!module || !ctx) abort();
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    for (uint32_t i = 0; i < module->function_count && analysed < KERNELS; i++) {
        const struct ptx_function *function = module->functions[i];
        bool is_usable = function->is_entry && !function->is_declaration && !function->unreadable;
        if (!is_usable || function->parameter_bytes > BUFFER) continue;
        analyse(ctx, function);
        analysed++;
    }
    isl_ctx_free(ctx);
    ptx_module_free(module);
    return 0;
}
