/* SPDX-License-Identifier: Apache-2.0
 * Log: formats one line on the stack and writes it with one write. */
#include "common/log.h"
#include "common/outlet.h"
#include "common/own_write.h"
#include "common/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct own_file log_file = {.descriptor = -1};
static enum log_level log_limit = LOG_INFO;

void log_open(void)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *path = setting_text("KFUSE_LOG"), *level = setting_text("KFUSE_LOG_LEVEL");
    struct stat status;
    if (path) log_file = outlet_of(path).stream;
    if (path && log_file.descriptor < 0) {
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
        if (file >= 0 && !fstat(file, &status)) log_file = own_file_of(file, &status);
    }
    for (int i = 0; level && i < 4; i++)
        if (!strcmp(level, names[i])) log_limit = (enum log_level)i;
}

bool log_enabled(enum log_level level)
{
    return log_file.descriptor >= 0 && level <= log_limit;
}

void log_write(enum log_level level, const char *domain, const char *format, ...)
{
    if (!log_enabled(level)) return;
    int saved = errno;
    char line[1024];
    int used = snprintf(line, sizeof line, "kfuse: %s: ", domain);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    if (more >= 0) line[length++] = '\n';
    /* A log that cannot be written has nobody to tell. */
    if (own_file_is_ours(&log_file)) own_write(log_file.descriptor, line, length);
    errno = saved;
}
