/* SPDX-License-Identifier: Apache-2.0
 * A chained hash table whose chains have the newest binding first: an inner scope hides an outer one, and
 * closing a scope unlinks the newest bindings in reverse. */
#include "ptx/scope.h"

#include <string.h>

enum { NO_BINDING = UINT32_MAX, FIRST_BUCKETS = 64, MOST_SCOPES = 256 };

struct ptx_scope {
    struct arena *arena;
    struct ptx_binding *bindings;
    uint32_t count, capacity;
    uint32_t *buckets, bucket_count;
    uint32_t marks[MOST_SCOPES], depth; /* deeper scopes share the last mark's fate */
};

static uint32_t hash_of(struct ptx_span name)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < name.length; i++) hash = (hash ^ (unsigned char)name.text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static void link_binding(struct ptx_scope *scope, uint32_t index)
{
    struct ptx_binding *binding = &scope->bindings[index];
    uint32_t *bucket = &scope->buckets[binding->hash & (scope->bucket_count - 1)];
    binding->next = *bucket;
    *bucket = index;
}

static bool grow(struct ptx_scope *scope)
{
    uint32_t capacity = scope->capacity ? scope->capacity * 2 : FIRST_BUCKETS;
    void *bindings =
        arena_grow(scope->arena, scope->bindings, scope->count, capacity, sizeof *scope->bindings);
    void *buckets = arena_calloc(scope->arena, capacity, sizeof *scope->buckets);
    if (!bindings || !buckets) return false;
    scope->bindings = bindings;
    scope->buckets = buckets;
    scope->capacity = scope->bucket_count = capacity;
    memset(buckets, 0xff, capacity * sizeof *scope->buckets);
    for (uint32_t i = 0; i < scope->count; i++) link_binding(scope, i);
    return true;
}

struct ptx_scope *ptx_scope_create(struct arena *arena)
{
    struct ptx_scope *scope = arena_alloc(arena, sizeof *scope);
    if (!scope) return NULL;
    scope->arena = arena;
    return grow(scope) ? scope : NULL;
}

void ptx_scope_clear(struct ptx_scope *scope)
{
    while (scope->count) {
        struct ptx_binding *last = &scope->bindings[--scope->count];
        scope->buckets[last->hash & (scope->bucket_count - 1)] = last->next;
    }
    scope->depth = 0;
}

void ptx_scope_open(struct ptx_scope *scope)
{
    if (scope->depth < MOST_SCOPES) scope->marks[scope->depth] = scope->count;
    scope->depth++;
}

void ptx_scope_close(struct ptx_scope *scope)
{
    if (!scope->depth || --scope->depth >= MOST_SCOPES) return;
    while (scope->count > scope->marks[scope->depth]) {
        struct ptx_binding *last = &scope->bindings[--scope->count];
        scope->buckets[last->hash & (scope->bucket_count - 1)] = last->next;
    }
}

uint32_t ptx_scope_depth(const struct ptx_scope *scope)
{
    return scope->depth;
}

bool ptx_scope_add(struct ptx_scope *scope, struct ptx_binding binding)
{
    if (scope->count == scope->capacity && !grow(scope)) return false;
    binding.hash = hash_of(binding.name);
    binding.depth = scope->depth;
    scope->bindings[scope->count] = binding;
    link_binding(scope, scope->count++);
    return true;
}

/* Ranges have names of their own: `%p<4>` does not hide a register `%p`. */
static struct ptx_binding *find(const struct ptx_scope *scope, struct ptx_span name, bool is_range)
{
    uint32_t hash = hash_of(name);
    for (uint32_t i = scope->buckets[hash & (scope->bucket_count - 1)]; i != NO_BINDING;) {
        struct ptx_binding *binding = &scope->bindings[i];
        if (binding->hash == hash && binding->name.length == name.length &&
            (binding->kind == PTX_BINDING_RANGE) == is_range &&
            !memcmp(binding->name.text, name.text, name.length))
            return binding;
        i = binding->next;
    }
    return NULL;
}

struct ptx_binding *ptx_scope_find(const struct ptx_scope *scope, struct ptx_span name)
{
    return find(scope, name, false);
}

/* `%r12` as number 12 of the range `%r`, or 2 of `%r1`: the digits may be split anywhere -- ISA 5.4.4. */
static const struct ptx_binding *find_range(const struct ptx_scope *scope, struct ptx_span name,
                                            uint32_t *number)
{
    const struct ptx_binding *found = NULL;
    uint64_t value = 0, power = 1;
    for (uint32_t i = name.length; i-- > 1;) {
        char digit = name.text[i];
        if (digit < '0' || digit > '9' || power > 1000000000) break;
        value += (uint64_t)(digit - '0') * power;
        power *= 10;
        bool has_leading_zero = digit == '0' && i + 1 < name.length;
        bool is_digit_next = name.text[i - 1] >= '0' && name.text[i - 1] <= '9';
        if (has_leading_zero) continue;
        const struct ptx_binding *range = find(scope, (struct ptx_span){name.text, i}, true);
        if (range && value < range->count && (!found || range->depth > found->depth)) {
            found = range;
            *number = (uint32_t)value;
        }
        if (!is_digit_next) break;
    }
    return found;
}

int32_t ptx_scope_find_register(const struct ptx_scope *scope, struct ptx_span name, uint32_t *depth)
{
    uint32_t number = 0;
    const struct ptx_binding *range = find_range(scope, name, &number);
    const struct ptx_binding *alone = find(scope, name, false);
    if (alone && alone->kind != PTX_BINDING_REGISTER) alone = NULL;
    if (alone && (!range || alone->depth >= range->depth)) {
        *depth = alone->depth;
        return (int32_t)alone->index;
    }
    if (!range) return -1;
    *depth = range->depth;
    return (int32_t)(range->index + number);
}
