/* SPDX-License-Identifier: Apache-2.0
 * Settings from the environment. */
#include "common/setting.h"

#include "common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *setting_text(const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

bool setting_is_on(const char *variable)
{
    const char *text = setting_text(variable);
    return text && strcmp(text, "0") != 0;
}

long setting_number(const char *variable, long least, long most, long otherwise)
{
    const char *text = setting_text(variable);
    char *end;
    int saved = errno;
    if (!text) return otherwise;
    errno = 0;
    long number = strtol(text, &end, 10);
    bool is_number = !errno && !*end;
    errno = saved;
    if (is_number && number >= least && number <= most) return number;
    log_write(LOG_WARNING, "setting", "%s=%s is no number from %ld to %ld: using %ld", variable, text, least,
              most, otherwise);
    return otherwise;
}
