/* SPDX-License-Identifier: Apache-2.0
 * What is known of entry points of the driver by their names alone. */
#ifndef KFUSE_COMMON_DRIVER_CALL_H
#define KFUSE_COMMON_DRIVER_CALL_H

#include <stdbool.h>

/* No memory of the device changes by this call, nor by what it submits. False of names that are not known. */
bool driver_call_writes_nothing(const char *name);
/* What is submitted behind it may wait for the host, or for others. False of names that are not known. */
bool driver_call_holds_up(const char *name);

#endif
