/* SPDX-License-Identifier: Apache-2.0
 * Prints the accesses of every launch in a PTX file's comments: print_accesses FILE.ptx. With -t the time of
 * each. */
#include "tests/analysis/launch_file.h"

#include <isl/options.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int count, char **arguments)
{
    bool timed = count > 2 && strcmp(arguments[1], "-t") == 0;
    const char *path = arguments[count - 1], *error = NULL;
    struct launch_line *line = calloc(1, sizeof *line);
    isl_ctx *ctx = isl_ctx_alloc();

    if (count < 2 || !line || !ctx) return 2;
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    char *text = launch_file_read(path);
    struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
    if (!module || error) {
        fprintf(stderr, "%s: %s\n", path, error ? error : "out of memory");
        return 1;
    }
    for (const char *cursor = text; launch_file_next(&cursor, line);) {
        struct launch_input input;
        struct timespec before, after;
        launch_file_input(line, module, &input);
        clock_gettime(CLOCK_MONOTONIC, &before);
        struct access_summary *summary = access_analyse(ctx, &input);
        clock_gettime(CLOCK_MONOTONIC, &after);
        if (!summary) return 1;
        if (timed)
            printf("%s %.1f ms\n", line->kernel,
                   1e3 * (double)(after.tv_sec - before.tv_sec) +
                       1e-6 * (double)(after.tv_nsec - before.tv_nsec));
        else
            access_print(stdout, summary);
        access_summary_free(summary);
    }
    ptx_module_free(module);
    isl_ctx_free(ctx);
    free(text);
    free(line);
    return 0;
}
