/* SPDX-License-Identifier: Apache-2.0
 * Settings: what the environment says to the preloaded library (libkfuse.7 lists the variables). */
#ifndef KFUSE_COMMON_SETTING_H
#define KFUSE_COMMON_SETTING_H

#include <stdbool.h>

/* NULL when it is not set, or empty, and in a process with raised privileges (setuid, capabilities). */
const char *setting_text(const char *variable);
/* Set, and neither empty nor 0. */
bool setting_is_on(const char *variable);
/* otherwise: also, with a line in the log, in place of what is no number from least to most. */
long setting_number(const char *variable, long least, long most, long otherwise);

#endif
