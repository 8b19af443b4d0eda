/* SPDX-License-Identifier: Apache-2.0
 * Lists the PTX texts of a file, one line each: architecture, and how many functions the parser finds in it.
 */
#include "ptx/ptx.h"

int main(int argc, char **argv)
{
    struct arena *arena = arena_create();
    struct ptx_text *texts;
    const char *error = NULL;
    if (argc != 2 || !arena) return 2;
    uint32_t count = ptx_texts_of_file(arena, argv[1], &texts, &error);
    if (error) fprintf(stderr, "%s\n", error);
    for (uint32_t i = 0; i < count; i++) {
        const char *syntax_error;
        struct ptx_module *module = ptx_parse(argv[1], texts[i].text, texts[i].length, &syntax_error);
        printf("sm_%u %u functions %s\n", texts[i].sm, module ? module->function_count : 0,
               syntax_error ? syntax_error : "");
        ptx_module_free(module);
    }
    arena_free(arena);
    return count == 0;
}
