/* SPDX-License-Identifier: Apache-2.0
 * A program by lot. It has rounds: what is recorded is two rounds of one sequence with other data; what is
 * only replayed is the sequence again, and variants of it: other scalars, arrays, shapes, order. */
#include "tests/referee/generate.h"

#include "tests/referee/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILLER = 40, KERNELS_MOST = 8, ITEMS_MOST = 48, STREAMS_MOST = 4, NULL_STREAM = 0 };

enum item_kind {
    ITEM_LAUNCH,
    ITEM_FILL,
    ITEM_SET,
    ITEM_COPY,
    ITEM_READ,
    ITEM_SYNC,
    ITEM_QUERY,
    ITEM_PAUSE,
    ITEM_ALLOCATE,
    ITEM_RELOAD,
    ITEM_TABLE,
    ITEM_BAD,
    ITEM_CALL
};
struct item {
    enum item_kind kind;
    struct launch launch;
    struct launch_place place, source;
    int64_t bytes;
    uint32_t stream, seed;
    bool has_stream; /* else the call without one */
};
struct sequence {
    uint32_t count;
    struct item items[ITEMS_MOST];
};

struct generator {
    struct arena *arena;
    struct random random;
    uint32_t number;
    struct kernel_theme theme;
    struct kernel *kernels[KERNELS_MOST];
    uint32_t kernel_count, stream_count;
    struct launch_arrays arrays;
    bool is_blocking[STREAMS_MOST]; /* the null stream waits for it and it for the null stream */
    /* What stream wrote an array last, and which ones have read it since; -1: none, or all is done. */
    int32_t writer[LAUNCH_ARRAYS];
    bool has_read[LAUNCH_ARRAYS][STREAMS_MOST];
    uint32_t event;
    bool has_filler; /* an array that nobody uses, so that others come to lie elsewhere */
    char *text;
    size_t size, capacity;
};

__attribute__((format(printf, 2, 3))) static void say(struct generator *generator, const char *format, ...)
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

/* --- launches --- */

static void choose_plane(struct generator *generator, struct kernel_numbers *numbers)
{
    static const uint32_t blocks[][2] = {{32, 4}, {16, 16}, {8, 8}, {32, 1}, {64, 2}, {16, 4}};
    struct random *random = &generator->random;
    const uint32_t *block = blocks[random_below(random, 6)];
    numbers->n = generator->theme.width - (random_chance(random, 20) ? 1 : 0);
    numbers->h = generator->theme.height - (random_chance(random, 20) ? 1 : 0);
    if (numbers->h < 1) numbers->h = 1;
    numbers->m = generator->theme.width;
    numbers->block[0] = block[0];
    numbers->block[1] = block[1];
    numbers->grid[0] = ((uint32_t)numbers->n + block[0] - 1) / block[0];
    numbers->grid[1] = ((uint32_t)numbers->h + block[1] - 1) / block[1];
}

static void choose_numbers(struct generator *generator, const struct kernel *kernel, int32_t length,
                           struct kernel_numbers *numbers)
{
    struct random *random = &generator->random;
    uint32_t block = generator->theme.block;
    if (random_chance(random, 22)) block = (uint32_t)random_of(random, 32, 64, 96, 128, 256);
    if (random_chance(random, 15)) length -= (int32_t)random_below(random, 20);
    length = length < 4 ? 4 : length;
    *numbers = (struct kernel_numbers){.n = length,
                                       .m = random_of(random, 2, 3, 4),
                                       .o = random_of(random, 0, 1, 2, 8, 32),
                                       .h = 1,
                                       .grid = {1, 1, 1},
                                       .block = {block, 1, 1}};
    numbers->s = (float)random_of(random, -3, -1, 1, 2, 3, 5) / 4.0f;
    numbers->t = (float)random_of(random, -2, 0, 1, 2, 7) / 8.0f;
    uint32_t per_block = block * (kernel->shape == KERNEL_CHUNK ? (uint32_t)numbers->m : 1);
    numbers->grid[0] = ((uint32_t)length + per_block - 1) / per_block;
    if (kernel->shape == KERNEL_STRIDE && random_chance(random, 60))
        numbers->grid[0] = 1 + random_below(random, 3);
    if (random_chance(random, 8)) numbers->grid[0]++;
    if (kernel->is_exact) {
        if ((uint32_t)length < block) numbers->block[0] = block = 32;
        numbers->grid[0] = (uint32_t)length / block ? (uint32_t)length / block : 1;
        numbers->n = (int32_t)(numbers->grid[0] * block);
    }
    if (kernel->shape == KERNEL_PLANE) choose_plane(generator, numbers);
    if (kernel->is_tall) {
        numbers->block[1] = (uint32_t)random_of(random, 1, 2, 4, 8);
        numbers->block[0] /= numbers->block[1];
    }
    if (kernel->is_wide && !kernel->is_exact) {
        numbers->grid[1] = 2;
        numbers->grid[0] = (numbers->grid[0] + 1) / 2;
    }
}

/* Shorter where the arrays are too small for what the kernel touches. */
static bool draw_launch(struct generator *generator, const struct kernel *kernel, struct launch *launch)
{
    *launch = (struct launch){.kernel = kernel};
    launch->stream = generator->stream_count > 1 && random_chance(&generator->random, 40)
                         ? random_below(&generator->random, generator->stream_count)
                         : generator->stream_count - 1;
    for (int32_t length = generator->theme.length; length >= 8; length /= 2) {
        choose_numbers(generator, kernel, length, &launch->numbers);
        if (launch_bind(launch, &generator->arrays, &generator->random)) return true;
        if (kernel->shape == KERNEL_PLANE) break;
    }
    return false;
}

/* --- other items --- */

static struct launch_place draw_range(struct generator *generator, int64_t *bytes)
{
    struct random *random = &generator->random;
    uint32_t array = random_below(random, generator->arrays.count);
    int64_t size = generator->arrays.sizes[array], offset = 0;
    *bytes = size;
    if (random_chance(random, 50)) {
        offset = (int64_t)random_below(random, (uint32_t)size / 16) * 8;
        *bytes = 8 * (1 + (int64_t)random_below(random, (uint32_t)((size - offset) / 8)));
    }
    return (struct launch_place){array, offset};
}

static void draw_other(struct generator *generator, struct item *item)
{
    struct random *random = &generator->random;
    static const enum item_kind kinds[] = {ITEM_FILL,   ITEM_FILL,  ITEM_SET,   ITEM_SET,      ITEM_COPY,
                                           ITEM_COPY,   ITEM_READ,  ITEM_READ,  ITEM_READ,     ITEM_SYNC,
                                           ITEM_SYNC,   ITEM_QUERY, ITEM_PAUSE, ITEM_ALLOCATE, ITEM_ALLOCATE,
                                           ITEM_RELOAD, ITEM_TABLE, ITEM_TABLE, ITEM_BAD,      ITEM_CALL};
    int64_t bytes;
    *item = (struct item){.kind = kinds[random_below(random, sizeof kinds / sizeof *kinds)],
                          .seed = random_below(random, 1000),
                          .has_stream = random_chance(random, 50)};
    item->stream = item->has_stream ? random_below(random, generator->stream_count) : NULL_STREAM;
    item->place = draw_range(generator, &item->bytes);
    item->source = draw_range(generator, &bytes);
    if (item->kind != ITEM_COPY) return;
    if (bytes < item->bytes) item->bytes = bytes;
    if (item->source.array == item->place.array) item->kind = ITEM_READ;
}

/* Most of what stands beside a launch is about an array of it. */
static void aim(struct generator *generator, struct item *item, const struct launch *launch)
{
    uint32_t pointer = random_below(&generator->random, launch->kernel->pointer_count);
    uint32_t array = launch->places[pointer].array;
    if (launch->kernel->pointers[pointer].variable || random_chance(&generator->random, 30)) return;
    if (item->kind == ITEM_COPY && item->source.array == array) return;
    item->place = (struct launch_place){array, 0};
    if (item->kind != ITEM_COPY || item->bytes > generator->arrays.sizes[array])
        item->bytes = generator->arrays.sizes[array];
    if (item->kind == ITEM_COPY &&
        item->source.offset + item->bytes > generator->arrays.sizes[item->source.array])
        item->bytes = generator->arrays.sizes[item->source.array] - item->source.offset;
}

static void add_item(struct sequence *sequence, const struct item *item)
{
    if (sequence->count < ITEMS_MOST) sequence->items[sequence->count++] = *item;
}

static void draw_sequence(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    uint32_t launches = generator->kernel_count + random_below(random, 3);
    uint32_t others = random_chance(random, 40) ? 0 : 14; /* percent */
    struct item item;
    for (uint32_t i = 0; i < launches; i++) {
        uint32_t k = i < generator->kernel_count ? i : random_below(random, generator->kernel_count);
        item = (struct item){.kind = ITEM_LAUNCH};
        if (!draw_launch(generator, generator->kernels[k], &item.launch)) continue;
        item.stream = item.launch.stream;
        add_item(sequence, &item);
        if (!random_chance(random, others)) continue;
        const struct launch launch = item.launch;
        draw_other(generator, &item);
        aim(generator, &item, &launch);
        add_item(sequence, &item);
    }
    if (random_chance(random, 50)) {
        item = (struct item){.kind = ITEM_SYNC};
        add_item(sequence, &item);
    }
}

/* --- variants --- */

static void change_data(struct generator *generator, struct sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct item *item = &sequence->items[i];
        item->seed += 17;
        if (item->kind != ITEM_LAUNCH || random_chance(&generator->random, 50)) continue;
        item->launch.numbers.s += 0.25f;
        item->launch.numbers.t -= 0.125f;
    }
}

static void swap_items(struct sequence *sequence, uint32_t i)
{
    if (i + 1 >= sequence->count) return;
    struct item kept = sequence->items[i];
    sequence->items[i] = sequence->items[i + 1];
    sequence->items[i + 1] = kept;
}

static void change_numbers(struct generator *generator, struct launch *launch)
{
    struct random *random = &generator->random;
    struct launch changed = *launch;
    struct kernel_numbers *numbers = &changed.numbers;
    uint32_t what = random_below(random, 4);
    if (what == 0)
        numbers->o = random_of(random, 0, 1, 2, 3, 8, 16);
    else if (what == 1 && !launch->kernel->is_exact && numbers->n > 4)
        numbers->n -= 1 + (int32_t)random_below(random, (uint32_t)numbers->n / 2);
    else if (what == 2 && !launch->kernel->is_exact)
        numbers->grid[0] += 1;
    else
        choose_numbers(generator, launch->kernel, generator->theme.length, numbers);
    if (launch_is_sound(&changed, &generator->arrays)) *launch = changed;
}

static bool move_places(struct generator *generator, struct launch *launch, uint32_t from,
                        struct launch_place to)
{
    for (uint32_t p = 0; p < launch->kernel->pointer_count; p++) {
        if (launch->kernel->pointers[p].variable || launch->places[p].array != from) continue;
        launch->places[p].array = to.array;
        launch->places[p].offset += to.offset;
    }
    return launch_is_sound(launch, &generator->arrays);
}

/* What was one array becomes a part of another, in every launch: distances stay, what was apart may overlap.
 */
static void merge_arrays(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    uint32_t from = random_below(random, generator->arrays.count);
    const struct launch_place to = {random_below(random, generator->arrays.count),
                                    16 * random_of(random, 0, 0, 1, 4, 16)};
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct launch moved = sequence->items[i].launch;
        if (sequence->items[i].kind == ITEM_LAUNCH && !move_places(generator, &moved, from, to)) return;
    }
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->items[i].kind == ITEM_LAUNCH)
            move_places(generator, &sequence->items[i].launch, from, to);
}

static void change_something(struct generator *generator, struct sequence *sequence)
{
    struct random *random = &generator->random;
    if (!sequence->count) return;
    uint32_t at = random_below(random, sequence->count), what = random_below(random, 100);
    struct item *item = &sequence->items[at], other;
    if (what < 12) {
        swap_items(sequence, at);
    } else if (what < 20) {
        memmove(item, item + 1, (sequence->count-- - at - 1) * sizeof *item);
    } else if (what < 48 && sequence->count < ITEMS_MOST) {
        draw_other(generator, &other);
        if (item->kind == ITEM_LAUNCH) aim(generator, &other, &item->launch);
        memmove(item + 1, item, (sequence->count++ - at) * sizeof *item);
        *item = other;
    } else if (item->kind == ITEM_LAUNCH && what < 53) {
        item->launch.stream = item->stream = random_below(random, generator->stream_count);
    } else if (item->kind == ITEM_LAUNCH && what < 76) {
        launch_bind_one(&item->launch, &generator->arrays, random,
                        random_below(random, item->launch.kernel->pointer_count));
    } else if (item->kind == ITEM_LAUNCH && what < 86) {
        merge_arrays(generator, sequence);
    } else if (item->kind == ITEM_LAUNCH) {
        change_numbers(generator, &item->launch);
    }
}

/* --- text --- */

static bool is_ordered_anyway(const struct generator *generator, uint32_t a, uint32_t b)
{
    return (a == NULL_STREAM && generator->is_blocking[b]) || (b == NULL_STREAM && generator->is_blocking[a]);
}

static void wait_for(struct generator *generator, uint32_t before, uint32_t stream)
{
    if (before == stream) return;
    if (is_ordered_anyway(generator, before, stream) && random_chance(&generator->random, 60)) return;
    uint32_t event = generator->event++ % 200;
    say(generator, "record e%u s%u\nwait e%u s%u\n", event, before, event, stream);
}

static void touch(struct generator *generator, uint32_t array, bool writes, uint32_t stream)
{
    if (generator->writer[array] >= 0) wait_for(generator, (uint32_t)generator->writer[array], stream);
    for (uint32_t other = 0; writes && other < generator->stream_count; other++) {
        if (generator->has_read[array][other]) wait_for(generator, other, stream);
        generator->has_read[array][other] = false;
    }
    if (writes)
        generator->writer[array] = (int32_t)stream;
    else
        generator->has_read[array][stream] = true;
}

static void forget_order(struct generator *generator)
{
    for (uint32_t a = 0; a < LAUNCH_ARRAYS; a++) {
        generator->writer[a] = -1;
        memset(generator->has_read[a], 0, sizeof generator->has_read[a]);
    }
}

static void say_bits(struct generator *generator, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    say(generator, " f%x", bits);
}

static void say_pointer(struct generator *generator, const struct launch *launch, uint32_t pointer)
{
    say(generator, " a%u%+lld", launch->places[pointer].array, (long long)launch->places[pointer].offset);
}

static void say_launch(struct generator *generator, const struct launch *launch)
{
    const struct kernel *kernel = launch->kernel;
    const struct kernel_numbers *numbers = &launch->numbers;
    for (uint32_t a = 0; a < generator->arrays.count + 2; a++) {
        bool writes = launch_touches(launch, a, true);
        if (writes || launch_touches(launch, a, false)) touch(generator, a, writes, launch->stream);
    }
    say(generator, "launch %s %u %u %u %u %u %u 0 s%u", kernel->name, numbers->grid[0], numbers->grid[1],
        numbers->grid[2], numbers->block[0], numbers->block[1], numbers->block[2], launch->stream);
    if (kernel->has_struct) {
        say(generator, " {");
        say_pointer(generator, launch, 0);
        say(generator, " i%d", numbers->n);
        say_bits(generator, numbers->s);
        say(generator, " }");
    }
    for (uint32_t p = kernel->has_struct; p < kernel->pointer_count; p++)
        if (!kernel->pointers[p].variable) say_pointer(generator, launch, p);
    if (!kernel->has_struct) say(generator, " i%d", numbers->n);
    say(generator, " i%d i%d i%d", numbers->m, numbers->o, numbers->h);
    if (!kernel->has_struct) say_bits(generator, numbers->s);
    say_bits(generator, numbers->t);
    say(generator, "\n");
}

static char data_type(const struct generator *generator, uint32_t seed)
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
    uint32_t array = item->place.array;
    long long size = generator->arrays.sizes[array];
    if (generator->stream_count > 1 || item->seed % 8 == 7) {
        say(generator, "sync\n");
        forget_order(generator);
    }
    say(generator, "free a%u\n", array);
    if (item->seed % 4 == 1) say(generator, "query s0\n");
    if (item->seed % 4 == 2) {
        say(generator, generator->has_filler ? "free a%d\n" : "alloc a%d %lld\n", FILLER, size);
        generator->has_filler = !generator->has_filler;
    }
    say(generator, "alloc a%u %lld\n", array, size);
}

static void say_item(struct generator *generator, const struct item *item)
{
    const struct launch_place *place = &item->place, *source = &item->source;
    switch (item->kind) {
    case ITEM_LAUNCH:
        say_launch(generator, &item->launch);
        break;
    case ITEM_FILL:
        touch(generator, place->array, true, item->stream);
        say(generator, "fill a%u%+lld %lld %c %u", place->array, (long long)place->offset,
            (long long)item->bytes, data_type(generator, item->seed), item->seed);
        say_stream(generator, item);
        break;
    case ITEM_SET:
        touch(generator, place->array, true, item->stream);
        say(generator, "set a%u%+lld %lld %u", place->array, (long long)place->offset, (long long)item->bytes,
            item->seed % 64);
        say_stream(generator, item);
        break;
    case ITEM_COPY:
        touch(generator, place->array, true, item->stream);
        touch(generator, source->array, false, item->stream);
        say(generator, "copy a%u%+lld a%u%+lld %lld", place->array, (long long)place->offset, source->array,
            (long long)source->offset, (long long)item->bytes);
        say_stream(generator, item);
        break;
    case ITEM_READ:
        touch(generator, place->array, false, item->stream);
        say(generator, "read a%u%+lld %lld", place->array, (long long)place->offset, (long long)item->bytes);
        say_stream(generator, item);
        break;
    case ITEM_SYNC:
        say(generator, "sync");
        say_stream(generator, item);
        if (!item->has_stream) forget_order(generator);
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
        forget_order(generator);
        break;
    case ITEM_TABLE: {
        bool is_constant = item->seed % 2;
        if (!generator->theme.has_tables) break;
        touch(generator, generator->arrays.count + is_constant, true, NULL_STREAM);
        say(generator, "variable %c%u %lld f %u\n", is_constant ? 'c' : 't', generator->number,
            (long long)generator->arrays.sizes[generator->arrays.count + is_constant], item->seed);
        break;
    }
    case ITEM_BAD:
        say(generator, "bad %s\n", generator->kernels[0]->name);
        break;
    case ITEM_CALL:
        say(generator, "call s%u\n", item->stream);
        break;
    }
}

static void say_sequence(struct generator *generator, const struct sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->count; i++) say_item(generator, &sequence->items[i]);
}

/* --- the program --- */

static void draw_theme(struct generator *generator)
{
    struct random *random = &generator->random;
    struct kernel_theme *theme = &generator->theme;
    theme->length = random_of(random, 32, 64, 100, 128, 200, 256, 256, 300, 500, 640);
    theme->width = random_of(random, 4, 8, 16, 20, 32);
    theme->height = theme->length / theme->width;
    theme->block = (uint32_t)random_of(random, 32, 64, 64, 96, 128, 128, 256);
    theme->other_type = random_below(random, 100);
    theme->has_tables = random_chance(random, 15);
    theme->value = "ffffdddii"[random_below(random, 9)];
}

static void draw_arrays(struct generator *generator)
{
    struct random *random = &generator->random;
    int64_t size = generator->theme.length * (generator->theme.value == 'd' ? 8 : 4);
    size = (size + 15) / 16 * 16;
    bool has_others = random_chance(random, 10); /* memory that is not a plain allocation */
    for (uint32_t a = 0; a < generator->arrays.count; a++) {
        generator->arrays.sizes[a] = size * random_of(random, 1, 1, 1, 2, 2, 4);
        if (random_chance(random, 20)) generator->arrays.sizes[a] += 16 * random_of(random, 1, 2, 33);
        const char *kind = !has_others || random_chance(random, 60) ? ""
                           : random_chance(random, 50)              ? " managed"
                                                                    : " async";
        say(generator, "alloc a%u %lld%s\nfill a%u+0 %lld %c %u\n", a, (long long)generator->arrays.sizes[a],
            kind, a, (long long)generator->arrays.sizes[a], data_type(generator, a + generator->number),
            a + generator->number);
    }
}

static void draw_streams(struct generator *generator)
{
    struct random *random = &generator->random;
    generator->stream_count = 1;
    if (random_chance(random, 45)) generator->stream_count = (uint32_t)random_of(random, 2, 2, 3, 4);
    for (uint32_t s = 1; s < generator->stream_count; s++) {
        generator->is_blocking[s] = random_chance(random, 40);
        say(generator, "stream s%u %d\n", s, !generator->is_blocking[s]);
    }
    say(generator, "sync\n"); /* the arrays' first contents came in the null stream */
}

static void draw_kernels(struct generator *generator)
{
    generator->kernel_count = 2 + random_below(&generator->random, KERNELS_MOST - 1);
    say(generator, "source\n");
    if (generator->theme.has_tables) {
        generator->arrays.sizes[generator->arrays.count] = 2 * generator->theme.length * 4;
        generator->arrays.sizes[generator->arrays.count + 1] = KERNEL_CONSTANTS * 4;
        say(generator, "__device__ float t%u[%d];\n__constant__ float c%u[%d];\n", generator->number,
            2 * generator->theme.length, generator->number, KERNEL_CONSTANTS);
    }
    for (uint32_t k = 0; k < generator->kernel_count; k++) {
        generator->kernels[k] =
            kernel_draw(generator->arena, &generator->random, &generator->theme, generator->number, k);
        if (!generator->kernels[k]) abort();
        say(generator, "%s", generator->kernels[k]->text);
    }
    say(generator, "end\n");
}

static void draw_rounds(struct generator *generator)
{
    struct sequence *sequence = arena_alloc(generator->arena, sizeof *sequence);
    struct sequence *variant = arena_alloc(generator->arena, sizeof *variant);
    if (!sequence || !variant) abort();
    forget_order(generator);
    draw_sequence(generator, sequence);
    say_sequence(generator, sequence);
    change_data(generator, sequence);
    say_sequence(generator, sequence);
    say(generator, "replay\n");
    say_sequence(generator, sequence);
    for (uint32_t round = 0, rounds = 3 + random_below(&generator->random, 3); round < rounds; round++) {
        *variant = *sequence;
        for (uint32_t i = 0, changes = 1 + random_below(&generator->random, 3); i < changes; i++)
            change_something(generator, variant);
        say_sequence(generator, variant);
        change_data(generator, sequence);
    }
    say_sequence(generator, sequence);
}

const char *generate_script(struct arena *arena, uint64_t seed, uint32_t number)
{
    struct generator generator = {.arena = arena, .number = number};
    generator.random.state = seed * 0x9e3779b97f4a7c15u + number;
    random_next(&generator.random);
    generator.random.state ^= random_next(&generator.random);
    say(&generator, "program %u\n", number);
    draw_theme(&generator);
    generator.arrays.count = 2 + random_below(&generator.random, 4);
    draw_kernels(&generator);
    draw_arrays(&generator);
    draw_streams(&generator);
    draw_rounds(&generator);
    say(&generator, "done\n");
    const char *text = arena_strndup(arena, generator.text, generator.size);
    free(generator.text);
    return text;
}
