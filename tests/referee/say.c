/* SPDX-License-Identifier: Apache-2.0
 * Writes items as text (script.h). Launches and other items of several streams that touch one array are
 * ordered by events. */
#include "tests/referee/sequence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(struct generator *generator, const char *format, ...)
{
    for (;;) {
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(generator->text + generator->size, generator->capacity - generator->size,
                               format, arguments);
        va_end(arguments);
        if (length < 0) abort();
        if (generator->size + (size_t)length < generator->capacity) {
            generator->size += (size_t)length;
            return;
        }
        generator->capacity = 2 * generator->capacity + (size_t)length;
        generator->text = realloc(generator->text, generator->capacity);
        if (!generator->text) abort();
    }
}

static bool is_ordered_anyway(const struct generator *generator, uint32_t a, uint32_t b)
{
    return (a == NULL_STREAM && generator->is_blocking[b]) || (b == NULL_STREAM && generator->is_blocking[a]);
}

static void record(struct generator *generator, uint32_t stream)
{
    int32_t event = (int32_t)(generator->event++ % 200);
    for (uint32_t s = 0; s < STREAMS_MOST; s++)
        if (generator->recorded[s] == event) generator->recorded[s] = -1;
    generator->recorded[stream] = event;
    memcpy(generator->known_by_event[stream], generator->known[stream], sizeof generator->known[stream]);
    generator->known_by_event[stream][stream] = generator->clocks[stream];
    say(generator, "record e%d s%u\n", generator->recorded[stream], stream);
}

/* For what the stream before did at that time. */
static void wait_for(struct generator *generator, uint32_t before, uint32_t time, uint32_t stream)
{
    uint32_t *known = generator->known[stream];
    if (before == stream || known[before] >= time) return;
    if (is_ordered_anyway(generator, before, stream) && random_chance(&generator->random, 60)) return;
    if (generator->recorded[before] < 0) record(generator, before);
    say(generator, "wait e%d s%u\n", generator->recorded[before], stream);
    generator->recorded[stream] = -1;
    for (uint32_t s = 0; s < STREAMS_MOST; s++)
        if (known[s] < generator->known_by_event[before][s]) known[s] = generator->known_by_event[before][s];
}

void sequence_touch(struct generator *generator, uint32_t array, bool writes, uint32_t stream)
{
    if (generator->writer[array] >= 0)
        wait_for(generator, (uint32_t)generator->writer[array], generator->written[array], stream);
    for (uint32_t other = 0; writes && other < generator->stream_count; other++) {
        wait_for(generator, other, generator->read[array][other], stream);
        generator->read[array][other] = 0;
    }
    generator->recorded[stream] = -1;
    uint32_t time = ++generator->clocks[stream];
    if (writes) {
        generator->writer[array] = (int32_t)stream;
        generator->written[array] = time;
    } else {
        generator->read[array][stream] = time;
    }
}

void say_forget_order(struct generator *generator)
{
    for (uint32_t a = 0; a < LAUNCH_ARRAYS; a++) {
        generator->writer[a] = -1;
        memset(generator->read[a], 0, sizeof generator->read[a]);
    }
    for (uint32_t s = 0; s < STREAMS_MOST; s++) generator->recorded[s] = -1;
}

/* The host knows that a stream has done all. */
static void forget_stream(struct generator *generator, uint32_t stream)
{
    for (uint32_t a = 0; a < LAUNCH_ARRAYS; a++) {
        if (generator->writer[a] == (int32_t)stream) generator->writer[a] = -1;
        generator->read[a][stream] = 0;
    }
}

static void say_bits(struct generator *generator, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    say(generator, " f%x", bits);
}

void say_place(struct generator *generator, const struct launch_place *place)
{
    const struct launch_place *home = &generator->homes[place->array];
    say(generator, " a%u%+lld", home->array, (long long)(home->offset + place->offset));
}

static void say_scalar(struct generator *generator, const struct launch *launch, uint32_t scalar)
{
    const struct kernel_numbers *numbers = &launch->numbers;
    char name = launch->kernel->scalars[scalar];
    int32_t whole = name == 'n'   ? numbers->n
                    : name == 'm' ? numbers->m
                    : name == 'o' ? numbers->o
                    : name == 'v' ? (int32_t)generator->flag
                                  : numbers->h;
    if (name == 's' || name == 't')
        say_bits(generator, name == 's' ? numbers->s : numbers->t);
    else
        say(generator, " %c%d", launch->kernel->scalar_types[scalar], whole);
}

/* Writes the addresses that the launch takes from a table, where others are there. */
static void point_entries(struct generator *generator, const struct launch *launch)
{
    const struct kernel *kernel = launch->kernel;
    bool is_table = kernel->sight == SIGHT_TABLE;
    uint32_t array = launch_own(&generator->arrays, is_table ? 'z' : 'q');
    for (uint32_t p = 0; p < kernel->pointer_count; p++) {
        if (!kernel->pointers[p].entry) continue;
        uint32_t entry = kernel->pointers[p].entry - 1;
        struct launch_place *pointed = &generator->pointed[is_table][entry];
        if (generator->is_pointed[is_table][entry] && pointed->array == launch->places[p].array &&
            pointed->offset == launch->places[p].offset)
            continue;
        *pointed = launch->places[p];
        generator->is_pointed[is_table][entry] = true;
        bool has_stream = is_table && random_chance(&generator->random, 50);
        sequence_touch(generator, array, true, has_stream ? launch->stream : NULL_STREAM);
        if (is_table) {
            say(generator, "point");
            say_place(generator, &(struct launch_place){array, 8 * entry});
        } else {
            say(generator, "aim q%u+%u", generator->number, 8 * entry);
        }
        say_place(generator, pointed);
        if (has_stream) say(generator, " s%u", launch->stream);
        say(generator, "\n");
    }
}

/* The allocation is a new one. */
static void forget_pointed(struct generator *generator, uint32_t allocation)
{
    for (uint32_t i = 0; i < 2 * KERNEL_ENTRIES; i++) {
        uint32_t home =
            generator->homes[generator->pointed[i / KERNEL_ENTRIES][i % KERNEL_ENTRIES].array].array;
        if (home == allocation) generator->is_pointed[i / KERNEL_ENTRIES][i % KERNEL_ENTRIES] = false;
    }
}

/* As kernel_struct.c declares it. */
static void say_struct(struct generator *generator, const struct launch *launch)
{
    const struct kernel_numbers *numbers = &launch->numbers;
    bool is_named = launch->kernel->has_struct == STRUCT_NAMED, is_second = numbers->o & 1;
    say(generator, is_named ? " {" : " { h%d h-3 h%d", numbers->n & 3, is_second);
    say_place(generator, &launch->places[0]);
    if (is_named)
        say(generator, " i%d", numbers->n);
    else
        say(generator, " i%d i%d", numbers->n - 2 * is_second, numbers->n - 2 * !is_second);
    say_bits(generator, numbers->s);
    for (int32_t j = 0; !is_named && j < 5; j++) say_bits(generator, numbers->s * 0.25f + (float)(2 * j - 3));
    say(generator, " }");
}

static void say_launch(struct generator *generator, const struct launch *launch)
{
    const struct kernel *kernel = launch->kernel;
    const struct kernel_numbers *numbers = &launch->numbers;
    point_entries(generator, launch);
    contents_before(generator, launch);
    for (uint32_t a = 0; a < generator->arrays.count + LAUNCH_OWN; a++) {
        bool writes = launch_touches(launch, a, true);
        if (writes || launch_touches(launch, a, false)) sequence_touch(generator, a, writes, launch->stream);
    }
    say(generator, "launch %s %u %u %u %u %u %u %d s%u", kernel->name, numbers->grid[0], numbers->grid[1],
        numbers->grid[2], numbers->block[0], numbers->block[1], numbers->block[2],
        kernel->is_dynamic ? KERNEL_SHARED_BYTES : 0, launch->stream);
    if (kernel->has_struct) say_struct(generator, launch);
    for (uint32_t p = kernel->has_struct ? 1 : 0; p < kernel->pointer_count; p++)
        if (!kernel_is_variable(&kernel->pointers[p]) && !kernel->pointers[p].entry)
            say_place(generator, &launch->places[p]);
    if (kernel->sight == SIGHT_FLAG) {
        generator->flag++;
        memcpy(generator->known_by_flag, generator->known[launch->stream], sizeof generator->known_by_flag);
        generator->known_by_flag[launch->stream] = generator->clocks[launch->stream];
    }
    for (uint32_t i = 0; kernel->scalars[i]; i++)
        if (!kernel->is_constant[i]) say_scalar(generator, launch, i);
    say(generator, "\n");
}

/* Nothing where what is polled for does not say that the array is filled. */
static void say_poll(struct generator *generator, const struct item *item)
{
    uint32_t array = item->place.array;
    int32_t writer = generator->writer[array];
    if (!generator->flag || (writer >= 0 && generator->written[array] > generator->known_by_flag[writer]))
        return;
    say(generator, "poll");
    say_place(generator, &(struct launch_place){launch_own(&generator->arrays, 'f'), 0});
    say(generator, " %u", generator->flag);
    say_place(generator, &item->place);
    say(generator, " %lld s%u%s\n", (long long)item->bytes, item->stream, item->seed % 3 ? "" : " thread");
}

char say_data_type(const struct generator *generator, uint32_t seed)
{
    char type = generator->theme.value;
    if (seed % 5 == 0) return type == 'f' ? 'F' : type == 'd' ? 'D' : 'b';
    return type;
}

static void say_stream(struct generator *generator, const struct item *item)
{
    if (item->has_stream)
        say(generator, " s%u\n", item->stream);
    else
        say(generator, "\n");
}

/* Frees an array and allocates it again, at the same address or another. */
static void say_allocate(struct generator *generator, const struct item *item)
{
    uint32_t array = generator->homes[item->place.array].array;
    long long size = array == POOL ? generator->pool_size : generator->arrays.sizes[array];
    if (generator->stream_count > 1 || item->seed % 8 == 7) {
        say(generator, "sync\n");
        say_forget_order(generator);
    }
    forget_pointed(generator, array);
    say(generator, "free a%u\n", array);
    if (item->seed % 4 == 1) say(generator, "query s0\n");
    if (item->seed % 4 == 2) {
        say(generator, generator->has_filler ? "free a%d\n" : "alloc a%d %lld\n", FILLER, size);
        generator->has_filler = !generator->has_filler;
    }
    say(generator, "alloc a%u %lld\n", array, size);
}

static void say_join(struct generator *generator, uint32_t stream)
{
    record(generator, stream);
    say(generator, "join e%d\n", generator->recorded[stream]);
    forget_stream(generator, stream);
}

static void say_item(struct generator *generator, const struct item *item)
{
    const struct launch_place *place = &item->place, *source = &item->source;
    switch (item->kind) {
    case ITEM_LAUNCH:
        say_launch(generator, &item->launch);
        break;
    case ITEM_FILL:
        sequence_touch(generator, place->array, true, item->stream);
        say(generator, "fill");
        say_place(generator, place);
        say(generator, " %lld %c %u", (long long)item->bytes, say_data_type(generator, item->seed),
            item->seed);
        say_stream(generator, item);
        break;
    case ITEM_SET:
        sequence_touch(generator, place->array, true, item->stream);
        say(generator, "set");
        say_place(generator, place);
        say(generator, " %lld %u", (long long)item->bytes, item->seed % 64);
        say_stream(generator, item);
        break;
    case ITEM_COPY:
        sequence_touch(generator, place->array, true, item->stream);
        sequence_touch(generator, source->array, false, item->stream);
        say(generator, "copy");
        say_place(generator, place);
        say_place(generator, source);
        say(generator, " %lld", (long long)item->bytes);
        say_stream(generator, item);
        break;
    case ITEM_READ:
        sequence_touch(generator, place->array, false, item->stream);
        say(generator, "read");
        say_place(generator, place);
        say(generator, " %lld", (long long)item->bytes);
        say_stream(generator, item);
        forget_stream(generator, item->stream);
        break;
    case ITEM_SYNC:
        say(generator, "sync");
        say_stream(generator, item);
        if (item->has_stream)
            forget_stream(generator, item->stream);
        else
            say_forget_order(generator);
        break;
    case ITEM_QUERY:
        say(generator, "query s%u\n", item->stream);
        break;
    case ITEM_PAUSE:
        say(generator, "pause %u\n", 50 + item->seed % 200);
        break;
    case ITEM_ALLOCATE:
        say_allocate(generator, item);
        break;
    case ITEM_RELOAD:
        say(generator, "reload\n");
        memset(generator->is_pointed[0], 0, sizeof generator->is_pointed[0]);
        contents_reload(generator);
        say_forget_order(generator);
        break;
    case ITEM_TABLE: {
        bool is_constant = item->seed % 2;
        if (!generator->theme.has_tables) break;
        sequence_touch(generator, generator->arrays.count + is_constant, true, NULL_STREAM);
        say(generator, "variable %c%u %lld f %u\n", is_constant ? 'c' : 't', generator->number,
            (long long)generator->arrays.sizes[generator->arrays.count + is_constant], item->seed);
        break;
    }
    case ITEM_BAD:
        say(generator, "bad %s\n", generator->kernels[0]->name);
        break;
    case ITEM_CALL:
        say(generator, "call s%u\n", item->stream);
        if (item->seed % 4 == 0) break;
        say(generator, "await\n");
        forget_stream(generator, item->stream);
        break;
    case ITEM_MARK:
        record(generator, item->stream);
        break;
    case ITEM_POLL:
        say_poll(generator, item);
        break;
    case ITEM_JOIN:
        say_join(generator, item->stream);
        break;
    case ITEM_RENEW:
        if (item->stream == NULL_STREAM) break;
        say(generator, "renew s%u\n", item->stream);
        say_forget_order(generator);
        break;
    }
}

void say_results(struct generator *generator)
{
    say(generator, "sync\n");
    say_forget_order(generator);
    for (uint32_t a = 0; a < generator->arrays.count; a++) {
        say(generator, "read");
        say_place(generator, &(struct launch_place){a, 0});
        say(generator, " %lld\n", (long long)generator->arrays.sizes[a]);
    }
}

void say_sequence(struct generator *generator, const struct sequence *sequence)
{
    bool is_behind_host = contents_begin_behind_host(generator, sequence);
    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct item *item = &sequence->items[i];
        if (is_behind_host && item->kind == ITEM_SYNC) break;
        say_item(generator, item);
        bool changes = i + 1 < sequence->count && item[1].stream != item->stream;
        if (changes && item->kind == ITEM_LAUNCH && random_chance(&generator->random, 4))
            record(generator, item->stream); /* what waits for it may come behind other launches */
    }
    if (is_behind_host) contents_end_behind_host(generator);
}
