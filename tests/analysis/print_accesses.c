/* SPDX-License-Identifier: Apache-2.0
 * Prints the accesses of every launch in a PTX file's comments.
 *   print_accesses FILE.ptx
 *   print_accesses -t FILE.ptx            the time of each analysis
 *   print_accesses -c EXPECTED FILE.ptx   compares with an earlier output: relations as sets, all else as
 * text, since versions of isl write one relation in different ways */
#include "tests/analysis/launch_file.h"

#include <isl/options.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_launch(FILE *out, isl_ctx *ctx, const struct launch_input *input, bool timed)
{
    struct timespec before, after;

    clock_gettime(CLOCK_MONOTONIC, &before);
    struct access_summary *summary = access_analyse(ctx, input);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (!summary) exit(1);
    if (timed)
        fprintf(out, "%s %.1f ms\n", input->function->name,
                1e3 * (double)(after.tv_sec - before.tv_sec) +
                    1e-6 * (double)(after.tv_nsec - before.tv_nsec));
    else
        access_print(out, summary);
    access_summary_free(summary);
}

static void print_file(FILE *out, isl_ctx *ctx, const char *path, bool timed)
{
    const char *error = NULL;
    struct launch_line *line = calloc(1, sizeof *line);
    char *text = launch_file_read(path);
    struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);

    if (!line || !module || error) {
        fprintf(stderr, "%s: %s\n", path, error ? error : "out of memory");
        exit(1);
    }
    for (const char *cursor = text; launch_file_next(&cursor, line);) {
        struct launch_input input;
        launch_file_input(line, module, &input);
        print_launch(out, ctx, &input, timed);
    }
    ptx_module_free(module);
    free(text);
    free(line);
}

static bool is_same_line(isl_ctx *ctx, const char *expected, const char *actual)
{
    const char *a = strchr(expected, '{'), *b = strchr(actual, '{');
    bool same = strcmp(expected, actual) == 0;

    if (same || !a || !b || a - expected != b - actual ||
        strncmp(expected, actual, (size_t)(a - expected)) != 0)
        return same;
    if (strncmp(expected, "effective", 9) == 0) {
        isl_set *left = isl_set_read_from_str(ctx, a), *right = isl_set_read_from_str(ctx, b);
        same = left && right && isl_set_is_equal(left, right) == isl_bool_true;
        isl_set_free(left);
        isl_set_free(right);
    } else if (strncmp(expected, "    {", 5) == 0) {
        isl_map *left = isl_map_read_from_str(ctx, a), *right = isl_map_read_from_str(ctx, b);
        same = left && right && isl_map_is_equal(left, right) == isl_bool_true;
        isl_map_free(left);
        isl_map_free(right);
    }
    return same;
}

static int compare(isl_ctx *ctx, const char *expected_path, char *actual)
{
    char *expected = launch_file_read(expected_path), *left_rest = NULL, *right_rest = NULL;
    char *left = strtok_r(expected, "\n", &left_rest), *right = strtok_r(actual, "\n", &right_rest);
    int different = 0;

    for (unsigned number = 1; (left || right) && different < 10; number++) {
        if (!left || !right || !is_same_line(ctx, left, right)) {
            printf("%s:%u:\n-%s\n+%s\n", expected_path, number, left ? left : "(end)",
                   right ? right : "(end)");
            different++;
        }
        left = left ? strtok_r(NULL, "\n", &left_rest) : NULL;
        right = right ? strtok_r(NULL, "\n", &right_rest) : NULL;
    }
    free(expected);
    return different > 0;
}

int main(int count, char **arguments)
{
    bool timed = count == 3 && strcmp(arguments[1], "-t") == 0;
    bool compares = count == 4 && strcmp(arguments[1], "-c") == 0;
    isl_ctx *ctx = isl_ctx_alloc();
    char *output = NULL;
    size_t size = 0;
    int status = 0;

    if ((count != 2 && !timed && !compares) || !ctx) {
        fputs("usage: print_accesses [-t | -c EXPECTED] FILE.ptx\n", stderr);
        return 2;
    }
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    FILE *out = compares ? open_memstream(&output, &size) : stdout;
    if (!out) return 2;
    print_file(out, ctx, arguments[count - 1], timed);
    if (compares) {
        fclose(out);
        status = compare(ctx, arguments[2], output);
        free(output);
    }
    isl_ctx_free(ctx);
    return status;
}
