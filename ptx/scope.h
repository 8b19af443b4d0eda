/* SPDX-License-Identifier: Apache-2.0
 * Names and what they stand for, with scopes that open and close -- ISA 5.4, 9.7.12 (braces). Private to
 * ptx/. */
#ifndef KFUSE_PTX_SCOPE_H
#define KFUSE_PTX_SCOPE_H

#include "ptx/ptx.h"

enum ptx_binding_kind {
    PTX_BINDING_REGISTER, /* index */
    PTX_BINDING_RANGE,    /* `%r<12>`: index of the first, count */
    PTX_BINDING_LABEL,    /* index */
    PTX_BINDING_VARIABLE,
    PTX_BINDING_FUNCTION,
    PTX_BINDING_TABLE, /* .branchtargets and .callprototype */
    PTX_BINDING_SEEN,  /* a name that is taken in this function */
};
struct ptx_binding {
    struct ptx_span name;
    enum ptx_binding_kind kind;
    uint32_t index, count;
    const void *object; /* VARIABLE, FUNCTION */
    uint32_t hash, depth, next;
};

struct ptx_scope; /* owned by its arena */
struct ptx_scope *ptx_scope_create(struct arena *arena);
/* Forgets everything but keeps the memory. */
void ptx_scope_clear(struct ptx_scope *scope);
void ptx_scope_open(struct ptx_scope *scope);
/* Forgets what was added since the matching open. */
void ptx_scope_close(struct ptx_scope *scope);
uint32_t ptx_scope_depth(const struct ptx_scope *scope);
/* False when memory is out. The name is not copied. */
bool ptx_scope_add(struct ptx_scope *scope, struct ptx_binding binding);
/* The innermost binding of a name that is no range, or NULL. The pointer holds until the next add. */
struct ptx_binding *ptx_scope_find(const struct ptx_scope *scope, struct ptx_span name);
/* The register that a name stands for, alone or in a range; -1: none. *depth receives the scope's depth. */
int32_t ptx_scope_find_register(const struct ptx_scope *scope, struct ptx_span name, uint32_t *depth);

#endif
