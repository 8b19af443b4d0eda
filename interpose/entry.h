/* SPDX-License-Identifier: Apache-2.0
 * Entry points of the driver: the table (driver.def), the real functions behind it, and the routes by which
 * programs reach them. A route is decided by the pointer that the real library returns, never by a name. */
#ifndef KFUSE_INTERPOSE_ENTRY_H
#define KFUSE_INTERPOSE_ENTRY_H

/* Every ABI symbol under its own name, the per-thread default stream ones included. */
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>

enum entry {
#define ENTRY(symbol, class) ENTRY_##symbol,
#include "interpose/driver.def"
#undef ENTRY
    ENTRY_COUNT,
    ENTRY_UNKNOWN = 512, /* stubs for what has no row: as many as stubs.S makes */
    ENTRY_SLOTS = ENTRY_COUNT + ENTRY_UNKNOWN
};

enum entry_class { ENTRY_IS_PASS, ENTRY_IS_FLUSH, ENTRY_IS_TRACKED, ENTRY_IS_LAUNCH };

/* The real functions; never NULL after entry_resolve. */
extern void *entry_real[ENTRY_SLOTS];
#define REAL(symbol) ((__typeof__(&symbol))entry_real[ENTRY_##symbol])

/* Finds the real driver library and fills entry_real. Without a library every entry returns
 * CUDA_ERROR_NO_DEVICE, and the next call tries again. Thread safe. */
bool entry_resolve(void);
bool entry_is_resolved(void);
/* A function of the real library by its exported name, or NULL. */
void *entry_lookup(const char *name);
const char *entry_name(enum entry entry);
enum entry_class entry_class(enum entry entry);

/* What a program gets in place of a pointer that the real library returned under that name. */
void *entry_route(void *pointer, const char *name);

void entry_fork_child(void);
/* dlsym of the C library. */
void *entry_find_dlsym(void);

#endif
