/* SPDX-License-Identifier: Apache-2.0
 * Prints a PTX file through the parser: print_module FILE. Reports on stderr what could not be read; exit 1
 * then. With -q nothing is printed, only counted; with -r it is printed from what was understood (rebuild.h).
 */
#include "tests/ptx/rebuild.h"

#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        long size = ftell(file);
        rewind(file);
        text = size >= 0 ? malloc((size_t)size + 1) : NULL;
        *length = text ? fread(text, 1, (size_t)size, file) : 0;
    }
    if (file) fclose(file);
    return text;
}

static unsigned report(const struct ptx_function *function, unsigned long *instructions)
{
    unsigned bad = 0;
    if (function->unreadable) {
        fprintf(stderr, "unreadable: %s: %s\n", function->name, function->unreadable);
        bad++;
    }
    *instructions += function->instruction_count;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->opcode != PTX_OP_UNKNOWN) continue;
        fprintf(stderr, "unknown: line %u: %.*s\n", instruction->line, (int)instruction->text.length,
                instruction->text.text);
        bad++;
    }
    return bad;
}

int main(int argc, char **argv)
{
    bool is_quiet = argc == 3 && !strcmp(argv[1], "-q"), is_rebuilt = argc == 3 && !strcmp(argv[1], "-r");
    size_t length = 0;
    char *text = argc > 1 ? read_file(argv[argc - 1], &length) : NULL;
    if (!text) {
        fprintf(stderr, "usage: print_module [-q | -r] FILE\n");
        return 2;
    }
    const char *error;
    struct ptx_module *module = ptx_parse(argv[argc - 1], text, length, &error);
    free(text);
    if (!module) return 2;
    unsigned bad = 0;
    unsigned long instructions = 0;
    if (error) {
        fprintf(stderr, "module: %s\n", error);
        bad++;
    }
    for (uint32_t i = 0; i < module->function_count; i++) bad += report(module->functions[i], &instructions);
    if (is_rebuilt) bad += rebuild_module(module);
    if (is_quiet)
        printf("%u functions, %lu instructions\n", module->function_count, instructions);
    else
        ptx_print_module(stdout, module);
    ptx_module_free(module);
    return bad != 0;
}
