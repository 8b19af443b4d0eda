/* SPDX-License-Identifier: Apache-2.0
 * The kfuse command: finds the subcommand in one table and runs it. */
#include "config.h"
#include "tools/commands.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"record", command_record, "run a program and write what it launches into a trace"},
    {"plan", command_plan, "make a plan from a trace"},
    {"run", command_run, "run a program with fused kernels"},
    {"report", command_report, "what a trace holds, or what a plan found and gains"},
    {"explain", command_explain, "why kernels were fused, or why not"},
    {"ptx", command_ptx, "what the analysis sees in a file's PTX"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

int command_error(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "kfuse %s: ", name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return COMMAND_FAILED;
}

int command_usage(const char *name, const char *format, ...)
{
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "kfuse %s: ", name);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    fprintf(stderr, "Try 'kfuse %s --help'.\n", name);
    return COMMAND_USAGE;
}

bool command_number(const char *text, uint32_t *value)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    *value = (uint32_t)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= UINT32_MAX;
}

static void print_help(FILE *out)
{
    fprintf(out, "usage: kfuse COMMAND [OPTION]... [ARGUMENT]...\n"
                 "Speed up an unmodified CUDA program by fusing its kernels.\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n'kfuse COMMAND --help' tells about one of them. Usual order:\n"
                 "  kfuse record -o app.kftrace -- ./app\n"
                 "  kfuse plan -o app.kfplan app.kftrace\n"
                 "  kfuse run -p app.kfplan -- ./app\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)) {
        print_help(stdout);
        return COMMAND_DONE;
    }
    if (name && strcmp(name, "--version") == 0) {
        printf("%s\n", PACKAGE_STRING);
        return COMMAND_DONE;
    }
    for (int i = 0; name && i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) {
            char title[32]; /* what getopt puts before its messages */
            snprintf(title, sizeof title, "kfuse %s", name);
            argv[1] = title;
            int status = commands[i].run(argc - 1, argv + 1);
            if (fflush(stdout) != 0 && status == COMMAND_DONE)
                status = command_error(commands[i].name, "standard output cannot be written");
            return status;
        }
    if (name) fprintf(stderr, "kfuse: %s: no such command\n\n", name);
    print_help(stderr);
    return COMMAND_USAGE;
}
