/* SPDX-License-Identifier: Apache-2.0
 * NVRTC takes no PTX. So the module's text is carried by an assembly statement that closes the function
 * around it and opens another one at its end: the assembler sees the text as it was. */
#include "fuser/codegen/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(const struct ptx_function *function, const struct ptx_function *const *kernels,
                      uint32_t kernel_count)
{
    if (!function->is_entry) return true;
    for (uint32_t i = 0; i < kernel_count; i++)
        if (kernels[i] == function) return true;
    return false;
}

/* A shallow copy of the module without the other kernels. */
static struct ptx_module select_kernels(struct arena *arena, const struct ptx_module *module,
                                        const struct ptx_function *const *kernels, uint32_t kernel_count)
{
    struct ptx_module selected = *module;
    selected.functions = arena_calloc(arena, module->function_count + 1, sizeof *selected.functions);
    selected.function_count = 0;
    for (uint32_t i = 0; selected.functions && i < module->function_count; i++)
        if (is_wanted(module->functions[i], kernels, kernel_count))
            selected.functions[selected.function_count++] = module->functions[i];
    return selected;
}

static void write_quoted(const char *text, FILE *out)
{
    fputs("\"", out);
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n\"\n\"", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text == '\r' || *text == '\t' ? ' ' : *text, out);
    }
    fputs("\"", out);
}

/* The module's text without its head (.version, .target, .address_size), which NVRTC writes. */
static char *module_body(const struct ptx_module *module)
{
    static const char last[] = ".address_size";
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    ptx_print_module(out, module);
    if (fclose(out)) return text;
    char *body = strstr(text, last);
    body = body ? strchr(body, '\n') : NULL;
    if (body) memmove(text, body, strlen(body) + 1);
    return text;
}

static char *carry(const char *body)
{
    char *source = NULL;
    size_t length;
    FILE *out = open_memstream(&source, &length);
    if (!out) return NULL;
    fputs("extern \"C\" __global__ void kfuse_carrier_head(void)\n{\n    asm volatile(\"ret;\\n}\\n\"\n",
          out);
    write_quoted(body, out);
    fputs("\n\".visible .entry kfuse_carrier_tail()\\n{\\n\");\n}\n", out);
    return fclose(out) ? NULL : source;
}

void reference_compile(struct arena *arena, const struct ptx_module *module,
                       const struct ptx_function *const *kernels, uint32_t kernel_count, uint32_t sm,
                       uint32_t max_registers, struct nvrtc_output *output)
{
    struct ptx_module selected = select_kernels(arena, module, kernels, kernel_count);
    const char *architecture = module->sm == sm ? module->target : arena_printf(arena, "sm_%u", sm);
    char *body = selected.functions ? module_body(&selected) : NULL, *source = body ? carry(body) : NULL;
    *output = (struct nvrtc_output){.error = "out of memory"};
    if (source && architecture) nvrtc_compile(arena, "alone.cu", source, architecture, max_registers, output);
    free(body);
    free(source);
}
