/* SPDX-License-Identifier: Apache-2.0
 * What a program writes into its `__constant__` variables: before a launch what it is to find there, and now and then
 * something else, which no launch sees. Drawn by numbers of its own, so that all else stays what it was. */
#include "tests/referee/sequence.h"

#include <string.h>

enum { CALLS = 12 /* percent */ };
enum way { WAY_HOST, WAY_PINNED, WAY_SET, WAY_DEVICE };
static const char *const ways[] = {
    [WAY_HOST] = "host", [WAY_PINNED] = "pinned", [WAY_SET] = "set", [WAY_DEVICE] = "device"};

static uint32_t element_size(uint32_t variable)
{
    return variable ? sizeof(int64_t) : sizeof(int32_t);
}

static uint32_t whole_size(uint32_t variable)
{
    return KERNEL_CONSTANT_TABLE * element_size(variable);
}

static void begin(struct generator *generator)
{
    const int32_t first[4] = {generator->theme.length, generator->theme.height, generator->theme.levels, 3};
    const int64_t second[KERNEL_CONSTANT_TABLE] = {0, 8, generator->has_initial, 2};
    memset(generator->contents, 0, sizeof generator->contents);
    if (generator->has_initial) memcpy(generator->contents[0].bytes, first, sizeof first);
    memcpy(generator->contents[1].bytes, second, sizeof second);
}

void contents_declare(struct generator *generator)
{
    generator->own.state = generator->random.state ^ 0x1b56c4e9u;
    generator->has_initial = random_chance(&generator->own, 60);
    if (!generator->theme.has_constants) return;
    begin(generator);
    for (uint32_t v = 0; v < KERNEL_CONSTANT_VARIABLES; v++) {
        const unsigned char *bytes = generator->contents[v].bytes;
        say(generator, "__constant__ %s %c%u[4]", v ? "long long" : "int", KERNEL_CONSTANT_NAMES[v],
            generator->number);
        for (uint32_t i = 0; i < 4 && (v || generator->has_initial); i++) {
            int32_t value;
            memcpy(&value, bytes + i * element_size(v), sizeof value);
            say(generator, "%s%d", i ? ", " : " = {", value);
        }
        say(generator, v || generator->has_initial ? "};\n" : ";\n");
    }
}

void contents_reload(struct generator *generator)
{
    if (generator->theme.has_constants) begin(generator);
}

/* --- one write --- */

struct write {
    uint32_t variable, from, to; /* bytes of it */
    enum way way;
    bool has_stream;
    uint32_t stream;
};

static void draw_way(struct generator *generator, const struct launch *launch, struct write *write)
{
    struct random *own = &generator->own;
    uint32_t odd = generator->is_replayed ? 55 : 6; /* percent that are not known afterwards */
    write->way = WAY_HOST;
    write->has_stream = false;
    write->stream = NULL_STREAM;
    if (!random_chance(own, odd)) return;
    write->way = (enum way)random_of(own, WAY_HOST, WAY_HOST, WAY_SET, WAY_DEVICE);
    write->has_stream = write->way == WAY_HOST || random_chance(own, 60);
    if (!write->has_stream) return;
    write->stream = random_chance(own, 60) ? launch->stream : random_below(own, generator->stream_count);
}

static void say_bytes(struct generator *generator, const struct write *write)
{
    uint32_t from = write->from, to = write->to;
    if (write->way == WAY_SET) from = from / 4 * 4, to = (to + 3) / 4 * 4;
    say(generator, "put %c%u+%u %s ", KERNEL_CONSTANT_NAMES[write->variable], generator->number, from,
        ways[write->way]);
    for (uint32_t i = from; i < to; i++)
        say(generator, "%02x", generator->contents[write->variable].bytes[i]);
    if (write->has_stream) say(generator, " s%u", write->stream);
    say(generator, "\n");
}

static void say_write(struct generator *generator, const struct write *write)
{
    if (write->has_stream && generator->is_replayed && random_chance(&generator->own, CALLS))
        say(generator, "call s%u\n", write->stream);
    sequence_touch(generator, launch_own(&generator->arrays, KERNEL_CONSTANT_NAMES[write->variable]), true,
                   write->stream);
    say_bytes(generator, write);
    generator->contents[write->variable].is_odd = write->way != WAY_HOST || write->has_stream;
}

/* Bytes that differ, all of its elements from there to there, or the whole. */
static void draw_part(struct generator *generator, struct write *write, uint32_t from, uint32_t to)
{
    uint32_t size = element_size(write->variable), what = random_below(&generator->own, 100);
    write->from = what < 30 ? from : what < 70 ? from / size * size : 0;
    write->to = what < 30 ? to : what < 70 ? (to + size - 1) / size * size : whole_size(write->variable);
}

/* Bytes that no launch sees, or sees when they have been overwritten. */
static void write_something(struct generator *generator, const struct launch *launch, uint32_t variable)
{
    struct write write = {.variable = variable};
    unsigned char *bytes = generator->contents[variable].bytes;
    uint32_t size = element_size(variable), at = size * random_below(&generator->own, KERNEL_CONSTANT_TABLE);
    int64_t value = 0;
    memcpy(&value, bytes + at, size);
    value += random_of(&generator->own, 0, 0, 1, -1, 256, 5);
    memcpy(bytes + at, &value, size);
    draw_part(generator, &write, at, at + size);
    draw_way(generator, launch, &write);
    say_write(generator, &write);
}

/* One that no other stream waits for, and that waits for none; or 0. */
static uint32_t stream_apart(const struct generator *generator)
{
    uint32_t stream = 0;
    for (uint32_t s = 1; s < generator->stream_count; s++)
        if (!generator->is_blocking[s]) stream = s;
    return stream;
}

/* The device has done all. */
static void say_sync(struct generator *generator)
{
    say(generator, "sync\n");
    say_forget_order(generator);
}

/* The copy waits for the host, and comes after one of what was there before, which is made later. */
static bool write_overtaken(struct generator *generator, struct write *write, const unsigned char *before)
{
    unsigned char *bytes = generator->contents[write->variable].bytes, after[KERNEL_CONSTANT_BYTES];
    uint32_t apart = stream_apart(generator);
    if (!generator->is_replayed || !apart || !random_chance(&generator->own, 15)) return false;
    memcpy(after, bytes, sizeof after);
    say_sync(generator);
    say(generator, "hold s%u\n", apart);
    *write = (struct write){write->variable, 0, write->to, WAY_PINNED, true, apart};
    say_bytes(generator, write);
    memcpy(bytes, before, sizeof after);
    write->way = WAY_HOST;
    write->has_stream = false;
    say_bytes(generator, write);
    memcpy(bytes, after, sizeof after);
    say(generator, "open\n");
    say_sync(generator);
    generator->contents[write->variable].is_odd = true;
    return true;
}

int32_t *contents_number(struct launch *launch, uint32_t scalar)
{
    struct kernel_numbers *numbers = &launch->numbers;
    char name = launch->kernel->scalars[scalar];
    return name == 'n' ? &numbers->n : name == 'm' ? &numbers->m : name == 'o' ? &numbers->o : &numbers->h;
}

static bool uses(const struct kernel *kernel, uint32_t variable)
{
    bool is_used = false;
    for (uint32_t i = 0; kernel->scalars[i]; i++)
        is_used |= kernel->is_constant[i] && kernel_constant_of(kernel, i).variable == variable;
    return is_used;
}

/* What the launch is to find, where the variable has something else. */
static void write_wanted(struct generator *generator, const struct launch *launch, uint32_t variable)
{
    const struct kernel *kernel = launch->kernel;
    struct launch copy = *launch;
    struct write write = {.variable = variable};
    struct generator_contents *contents = &generator->contents[variable];
    uint32_t from = KERNEL_CONSTANT_BYTES, to = 0;
    unsigned char before[KERNEL_CONSTANT_BYTES];
    memcpy(before, contents->bytes, sizeof before);
    for (uint32_t i = 0; kernel->scalars[i]; i++) {
        struct kernel_constant place = kernel_constant_of(kernel, i);
        int64_t value = *contents_number(&copy, i);
        if (!kernel->is_constant[i] || place.variable != variable) continue;
        for (uint32_t b = 0; b < place.size; b++) {
            unsigned char byte = (unsigned char)(value >> 8 * b), *held = &contents->bytes[place.offset + b];
            if (*held == byte) continue;
            *held = byte;
            if (place.offset + b < from) from = place.offset + b;
            if (place.offset + b >= to) to = place.offset + b + 1;
        }
    }
    bool is_equal = from >= to;
    bool is_settled = is_equal && contents->is_odd && random_chance(&generator->own, 30);
    if (is_equal && !is_settled && !random_chance(&generator->own, 2)) return;
    if (is_equal) from = 0, to = whole_size(variable);
    draw_part(generator, &write, from, to);
    draw_way(generator, launch, &write);
    if (!is_equal && write_overtaken(generator, &write, before)) return;
    if (is_settled) /* known again, where nothing is held up */
        write = (struct write){.variable = variable, .to = whole_size(variable)};
    say_write(generator, &write);
}

void contents_agree(struct generator *generator, struct sequence *sequence, uint32_t first)
{
    int32_t common[KERNEL_CONSTANT_VARIABLES][KERNEL_CONSTANT_TABLE];
    bool is_known[KERNEL_CONSTANT_VARIABLES][KERNEL_CONSTANT_TABLE] = {{false}};
    for (uint32_t turn = 0; turn < sequence->count; turn++) {
        struct item *item = &sequence->items[(first + turn) % sequence->count];
        if (item->kind != ITEM_LAUNCH) continue;
        struct launch changed = item->launch;
        for (uint32_t s = 0; changed.kernel->scalars[s]; s++) {
            if (!changed.kernel->is_constant[s]) continue;
            struct kernel_constant place = kernel_constant_of(changed.kernel, s);
            uint32_t entry = place.offset / place.size;
            int32_t *number = contents_number(&changed, s);
            if (is_known[place.variable][entry])
                *number = common[place.variable][entry];
            else
                common[place.variable][entry] = *number;
            is_known[place.variable][entry] = true;
        }
        if (launch_is_sound(&changed, &generator->arrays)) item->launch = changed;
    }
}

static bool is_apart(struct generator *generator, const struct sequence *sequence, uint32_t stream)
{
    bool has_any = false;
    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct item *item = &sequence->items[i];
        if (item->kind == ITEM_SYNC && i + 1 == sequence->count) continue;
        if (item->kind != ITEM_LAUNCH || item->stream != stream) return false;
        if (item->launch.kernel->sight != SIGHT_WHOLE) return false;
        for (uint32_t v = 0; v < KERNEL_CONSTANT_VARIABLES; v++) has_any |= uses(item->launch.kernel, v);
    }
    return has_any && generator->is_replayed;
}

/* False: two launches are to find different values. */
static bool note_wanted(const struct launch *launch, struct generator_contents *contents,
                        bool is_wanted[][KERNEL_CONSTANT_BYTES])
{
    struct launch copy = *launch;
    for (uint32_t i = 0; copy.kernel->scalars[i]; i++) {
        if (!copy.kernel->is_constant[i]) continue;
        struct kernel_constant place = kernel_constant_of(copy.kernel, i);
        int64_t value = *contents_number(&copy, i);
        for (uint32_t b = 0; b < place.size; b++) {
            unsigned char *byte = &contents[place.variable].bytes[place.offset + b];
            bool *is_noted = &is_wanted[place.variable][place.offset + b];
            if (*is_noted && *byte != (unsigned char)(value >> 8 * b)) return false;
            *byte = (unsigned char)(value >> 8 * b);
            *is_noted = true;
        }
    }
    return true;
}

void contents_move_apart(struct generator *generator, struct sequence *sequence)
{
    uint32_t apart = stream_apart(generator), count = 0;
    if (!apart) return;
    for (uint32_t i = 0; i < sequence->count; i++) {
        struct item *item = &sequence->items[i];
        if (item->kind != ITEM_LAUNCH) continue;
        item->stream = item->launch.stream = apart;
        sequence->items[count++] = *item;
    }
    sequence->count = count;
}

bool contents_begin_behind_host(struct generator *generator, const struct sequence *sequence)
{
    uint32_t apart = stream_apart(generator);
    bool is_wanted[KERNEL_CONSTANT_VARIABLES][KERNEL_CONSTANT_BYTES] = {{false}};
    if (!apart || !is_apart(generator, sequence, apart) || !random_chance(&generator->own, 60)) return false;
    memcpy(generator->later, generator->contents, sizeof generator->later);
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->items[i].kind == ITEM_LAUNCH &&
            !note_wanted(&sequence->items[i].launch, generator->later, is_wanted))
            return false;
    say_sync(generator);
    say(generator, "hold s%u\n", apart);
    generator->is_behind_host = true;
    return true;
}

void contents_end_behind_host(struct generator *generator)
{
    generator->is_behind_host = false;
    memcpy(generator->contents, generator->later, sizeof generator->contents);
    for (uint32_t v = 0; v < KERNEL_CONSTANT_VARIABLES; v++) {
        struct write write = {.variable = v, .to = whole_size(v)};
        say_bytes(generator, &write);
        generator->contents[v].is_odd = true;
    }
    say(generator, "open\n");
    say_sync(generator);
}

void contents_before(struct generator *generator, const struct launch *launch)
{
    if (generator->is_behind_host) return;
    for (uint32_t v = 0; v < KERNEL_CONSTANT_VARIABLES; v++) {
        if (!uses(launch->kernel, v)) continue;
        if (random_chance(&generator->own, generator->is_replayed ? 4 : 1))
            write_something(generator, launch, v);
        write_wanted(generator, launch, v);
    }
    /* an event that a write records is none behind the launch */
    for (uint32_t v = 0; v < KERNEL_CONSTANT_VARIABLES; v++)
        if (uses(launch->kernel, v))
            sequence_touch(generator, launch_own(&generator->arrays, KERNEL_CONSTANT_NAMES[v]), false,
                           launch->stream);
}
