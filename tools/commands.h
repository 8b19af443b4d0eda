/* SPDX-License-Identifier: Apache-2.0
 * The subcommands of kfuse: one file each. A command gets its own name as argv[0] and returns the exit
 * status: 0 done, 1 failed, 2 wrong usage. Errors go to standard error, once, and name the file and what to
 * do. */
#ifndef KFUSE_TOOLS_COMMANDS_H
#define KFUSE_TOOLS_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

enum command_status { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

int command_record(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_run(int argc, char **argv);
int command_report(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_ptx(int argc, char **argv);

/* "kfuse NAME: text" on standard error; returns COMMAND_FAILED. */
int command_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A mistake in the arguments: adds where to read more; returns COMMAND_USAGE. format NULL: getopt has spoken.
 */
int command_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads a whole decimal number, 0 to UINT32_MAX; false for any other text. */
bool command_number(const char *text, uint32_t *value);

#endif
