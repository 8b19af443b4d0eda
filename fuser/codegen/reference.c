/* SPDX-License-Identifier: Apache-2.0
 * NVRTC takes no PTX. So the module's text is carried by an assembly statement that closes the function
 * around it and opens another one at its end: the assembler sees the text as it was. */
#include "fuser/codegen/reference.h"

#include <ctype.h>
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
static bool print_body(const struct ptx_module *module, FILE *out)
{
    static const char last[] = ".address_size";
    char *text = NULL;
    size_t length;
    FILE *whole = open_memstream(&text, &length);
    if (!whole) return false;
    ptx_print_module(whole, module);
    bool is_written = !fclose(whole);
    const char *body = is_written ? strstr(text, last) : NULL;
    if (body) body = strchr(body, '\n');
    if (body) fputs(body, out);
    free(text);
    return body;
}

static bool is_of_a_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* The text with each function's name replaced by that of its form. False when memory is out. */
static bool print_renamed(struct arena *arena, const char *text, const struct callees *callees, uint32_t form,
                          FILE *out)
{
    while (*text) {
        size_t length = 0;
        while (is_of_a_name(text[length])) length++;
        const char *name = NULL;
        for (uint32_t i = 0; length && i < callees->count; i++) {
            const struct ptx_function *function = callees->functions[i];
            if (strlen(function->name) != length || memcmp(text, function->name, length)) continue;
            name = reference_form_name(arena, function, form);
            if (!name) return false;
        }
        if (!length) length = 1;
        fprintf(out, "%.*s", name ? (int)strlen(name) : (int)length, name ? name : text);
        text += length;
    }
    return true;
}

/* The functions' texts with these choices, under other names. */
static bool print_form(struct arena *arena, const struct callees *callees,
                       const struct contraction *contractions, uint32_t form, FILE *out)
{
    bool is_printed = true;
    for (uint32_t i = callees->count; is_printed && i-- > 0;) {
        struct ptx_function changed;
        char *text = NULL;
        size_t length;
        if (!contraction_apply(arena, callees->functions[i], contractions + callees_first(callees, i),
                               &changed))
            return false;
        FILE *whole = open_memstream(&text, &length);
        if (!whole) return false;
        ptx_print_function(whole, &changed);
        is_printed = !fclose(whole) && print_renamed(arena, text, callees, form, out);
        fputs("\n", out);
        free(text);
    }
    return is_printed;
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

struct forms {
    const struct callees *callees;
    const struct contraction *const *of;
    uint32_t count;
};

static bool print_all(struct arena *arena, const struct ptx_module *selected, const struct forms *forms,
                      FILE *out)
{
    bool is_printed = selected->functions && print_body(selected, out);
    for (uint32_t i = 0; is_printed && i < forms->count; i++)
        is_printed = print_form(arena, forms->callees, forms->of[i], i, out);
    return is_printed;
}

/* Compiles these kernels of the module as they are, and forms of one of its kernels. */
static void compile_all(const struct compiler *compiler, struct arena *arena, const struct ptx_module *module,
                        const struct ptx_function *const *kernels, uint32_t kernel_count,
                        const struct forms *forms, uint32_t sm, uint32_t max_registers,
                        struct nvrtc_output *output)
{
    struct ptx_module selected = select_kernels(arena, module, kernels, kernel_count);
    const char *architecture = module->sm == sm ? module->target : arena_printf(arena, "sm_%u", sm);
    char *body = NULL, *source = NULL;
    size_t length;
    FILE *out = open_memstream(&body, &length);
    bool is_printed = out && print_all(arena, &selected, forms, out);
    if (out && fclose(out)) is_printed = false;
    if (is_printed) source = carry(body);
    *output = (struct nvrtc_output){.error = "out of memory"};
    if (source && architecture)
        compiler_compile(compiler, arena, "alone.cu", source, architecture, max_registers, output);
    free(source);
    free(body);
}

void reference_compile(const struct compiler *compiler, struct arena *arena, const struct ptx_module *module,
                       const struct ptx_function *const *kernels, uint32_t kernel_count, uint32_t sm,
                       uint32_t max_registers, struct nvrtc_output *output)
{
    const struct forms none = {0};
    compile_all(compiler, arena, module, kernels, kernel_count, &none, sm, max_registers, output);
}

const char *reference_form_name(struct arena *arena, const struct ptx_function *function, uint32_t form)
{
    return arena_printf(arena, "%s_form_%u", function->name, form);
}

void reference_compile_forms(const struct compiler *compiler, struct arena *arena,
                             const struct callees *callees, const struct contraction *const *forms,
                             uint32_t count, uint32_t sm, uint32_t max_registers, struct nvrtc_output *output)
{
    const struct forms all = {callees, forms, count};
    compile_all(compiler, arena, callees->functions[0]->module, NULL, 0, &all, sm, max_registers, output);
}
