/* SPDX-License-Identifier: Apache-2.0
 * Log: one line an event, to the file named by KFUSE_LOG ("-" is standard error), else nowhere.
 * Safe in any thread and in a preloaded library: it never allocates, exits, or prints unasked. */
#ifndef KFUSE_COMMON_LOG_H
#define KFUSE_COMMON_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Reads KFUSE_LOG and KFUSE_LOG_LEVEL (error, warning, info, debug; info unless told). Call once. */
void log_open(void);
bool log_enabled(enum log_level level);
/* domain: the module that speaks, e.g. "queue". One line "kfuse: domain: text" is written whole. */
void log_write(enum log_level level, const char *domain, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
