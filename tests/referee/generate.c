/* SPDX-License-Identifier: Apache-2.0
 * A program by lot. It has rounds: what is recorded is two rounds, or twelve, of one sequence with other data; what is
 * only replayed is the sequence again, and variants of it: other scalars, arrays, shapes, order. */
#include "tests/referee/generate.h"

#include "tests/referee/sequence.h"

#include <stdlib.h>
#include <string.h>

/* Kernels that make up a time step, in their order: s sets the state, d derives, n looks at neighbours, u
 * updates. */
static void draw_steps(struct random *random, struct kernel_theme *theme)
{
    static const char *const orders[KERNEL_HABITS][5] = {
        [HABIT_MASKED] = {"sdnu", "sdnu", "sdnu", "sdns", "dnnu"},
        [HABIT_TWICE] = {"sdnu", "sndn", "dnnu", "ssnu", "snsn"},
        [HABIT_COUNTED] = {"sdnu", "sndn", "dnnu", "ssnu", "sdsn"},
        [HABIT_TWO] = {"sdsn", "ssnu", "sdsn", "sdun", "dnnu"},
        [HABIT_SHIFTED] = {"sdns", "snsu", "sdsn", "sdnu", "dnsu"},
    };
    static const char letters[] = "xsdnu";
    theme->has_steps = true;
    theme->stencils = 94;
    theme->length = random_of(random, 200, 256, 300, 500, 640, 640);
    theme->is_flat = random_chance(random, 35);
    theme->habit = (enum kernel_habit)random_of(random, HABIT_MASKED, HABIT_MASKED, HABIT_MASKED, HABIT_TWICE,
                                                HABIT_TWICE, HABIT_COUNTED, HABIT_TWO, HABIT_TWO, HABIT_TWO,
                                                HABIT_SHIFTED);
    const char *order = orders[theme->habit][random_below(random, 5)];
    for (uint32_t i = 0; i < 4; i++)
        theme->order[i] = (enum kernel_role)(strchr(letters, order[i]) - letters);
}

/* Every third row of programs works in one stream: a trace with several leaves nothing stale (interpose/deferred.h), and a batch of
 * programs is one of both. That stream is the null stream, or one that the row's programs share; or in some it is the thread's own
 * default one, and then nothing is left stale either. */
enum { STREAMLESS_ROW = 40 };

static bool is_streamless(const struct generator *generator)
{
    return generator->number / STREAMLESS_ROW % 3 == 0;
}

static bool is_in_one_stream(const struct generator *generator, uint32_t kind)
{
    return is_streamless(generator) && generator->number / STREAMLESS_ROW / 3 % 3 == kind;
}

static void draw_theme(struct generator *generator)
{
    struct random *random = &generator->random;
    struct kernel_theme *theme = &generator->theme;
    theme->length = random_of(random, 32, 64, 100, 128, 200, 256, 256, 300, 500, 640);
    theme->width = random_of(random, 4, 8, 16, 20, 32);
    theme->block = (uint32_t)random_of(random, 32, 64, 64, 96, 128, 128, 256);
    theme->other_type = random_below(random, 100);
    theme->has_tables = random_chance(random, 16); /* mostly in kernels that are drawn freely */
    theme->has_calls = random_chance(random, 15);
    theme->has_streams = !is_streamless(generator);
    theme->unseen = (uint32_t)random_of(random, 0, 0, 0, 0, 0, 0, 8, 30);
    theme->unseen_scenes = theme->has_streams ? 12 : 45;
    theme->extra = random_chance(random, theme->has_streams ? 70 : 88) ? 0 : "FFK"[random_below(random, 3)];
    theme->plain = (uint32_t)random_of(random, 0, 0, 0, 60, 90);
    theme->memops = (uint32_t)random_of(random, 0, 0, 0, 0, 15, 40);
    theme->stencils = (uint32_t)random_of(random, 0, 50, 80, 90);
    theme->columns = theme->stencils ? 0 : (uint32_t)random_of(random, 0, 80);
    if (!theme->stencils && !theme->columns) theme->blocks = (uint32_t)random_of(random, 0, 40, 80);
    theme->levels = random_of(random, 2, 3, 4);
    if (theme->stencils && random_chance(random, theme->has_tables ? 20 : 75)) draw_steps(random, theme);
    if (random_chance(random, theme->has_tables ? 30 : 85)) {
        theme->stencils = theme->columns = theme->blocks = theme->plain = 0;
        theme->has_steps = false;
        kernel_draw_scene(random, theme);
    }
    theme->height = theme->length / theme->width;
    theme->value = "ffffdddii"[random_below(random, 9)];
    struct random own = {random->state ^ 0x7feb352du};
    theme->has_constants = random_chance(&own, 35);
    theme->has_upwind = random_chance(&own, 30);
    theme->has_choices = random_chance(&own, 15);
}

/* Many programs have one allocation for most of their arrays. */
static void draw_homes(struct generator *generator)
{
    struct random *random = &generator->random;
    uint32_t percent = (uint32_t)random_of(random, 0, 0, 90, 70);
    for (uint32_t a = 0; a < LAUNCH_ARRAYS; a++) {
        generator->homes[a] = (struct launch_place){a, 0};
        if (a >= generator->arrays.count || !random_chance(random, percent)) continue;
        generator->homes[a] = (struct launch_place){POOL, generator->pool_size};
        generator->pool_size += generator->arrays.sizes[a] + 16 * random_of(random, 0, 0, 1, 8);
    }
    if (generator->pool_size) say(generator, "alloc a%d %lld\n", POOL, (long long)generator->pool_size);
}

static int64_t draw_size(struct generator *generator)
{
    struct random *random = &generator->random;
    const struct kernel_theme *theme = &generator->theme;
    int64_t size = theme->length * (theme->value == 'd' ? 8 : 4);
    size = (size + 15) / 16 * 16;
    if (theme->has_loops)
        size *= 12;
    else if (theme->columns || (theme->scene && random_chance(random, 80)))
        size *= 4;
    else if (theme->has_steps || theme->scene)
        size += 512;
    else
        size *= random_of(random, 1, 1, 1, 2, 2, 4);
    return size + (random_chance(random, 20) ? 16 * random_of(random, 1, 2, 33) : 0);
}

static bool has_sight(const struct generator *generator, enum kernel_sight sight)
{
    bool has = false;
    for (uint32_t k = 0; k < generator->kernel_count; k++) has |= generator->kernels[k]->sight == sight;
    return has;
}

/* Addresses and clocks differ from run to run. */
static void add_own_arrays(struct generator *generator)
{
    static const struct {
        char variable, name[12];
        enum kernel_sight sight;
        int64_t size;
    } own[] = {{'f', "", SIGHT_FLAG, 16},
               {'k', " unprinted", SIGHT_CLOCK, 8 * KERNELS_MOST},
               {'z', " unprinted", SIGHT_TABLE, 8 * KERNEL_ENTRIES},
               {'q', "", SIGHT_VARIABLE, 8 * KERNEL_ENTRIES}};
    for (uint32_t i = 0; i < sizeof own / sizeof *own; i++) {
        uint32_t array = launch_own(&generator->arrays, own[i].variable);
        generator->homes[array] = (struct launch_place){OWN + i, 0};
        generator->arrays.sizes[array] = own[i].size;
        if (own[i].variable != 'q' && has_sight(generator, own[i].sight))
            say(generator, "alloc a%u %lld%s\n", OWN + i, (long long)own[i].size, own[i].name);
    }
}

static void draw_arrays(struct generator *generator)
{
    struct random *random = &generator->random;
    bool has_others = random_chance(random, 6); /* memory that is not a plain allocation */
    for (uint32_t a = 0; a < generator->arrays.count; a++) generator->arrays.sizes[a] = draw_size(generator);
    draw_homes(generator);
    add_own_arrays(generator);
    for (uint32_t a = 0; a < generator->arrays.count; a++) {
        long long size = generator->arrays.sizes[a];
        const char *kind = !has_others || random_chance(random, 60) ? ""
                           : random_chance(random, 50)              ? " managed"
                                                                    : " async";
        if (generator->homes[a].array == a) say(generator, "alloc a%u %lld%s\n", a, size, kind);
        say(generator, "fill");
        say_place(generator, &(struct launch_place){a, 0});
        say(generator, " %lld %c %u\n", size, say_data_type(generator, a + generator->number),
            a + generator->number);
    }
}

static void draw_streams(struct generator *generator)
{
    struct random *random = &generator->random;
    generator->stream_count = 1;
    if (random_chance(random, 75)) generator->stream_count = (uint32_t)random_of(random, 2, 3, 3, 3, 4);
    if (has_sight(generator, SIGHT_FLAG) && generator->stream_count == 1) generator->stream_count = 2;
    if (is_streamless(generator)) generator->stream_count = 1;
    generator->spread = (uint32_t)random_of(random, 0, 10, 40);
    if (generator->theme.has_steps || generator->theme.scene) generator->spread /= 4;
    bool is_own = random_chance(random, is_streamless(generator) ? 25 : 10);
    if (is_streamless(generator) && !is_in_one_stream(generator, 2)) is_own = false;
    if (is_own)
        say(generator, "stream s0 1\n"); /* no other stream but the null stream waits for it */
    else if (is_in_one_stream(generator, 1))
        say(generator, "stream s0 2\n");
    for (uint32_t s = 1; s < generator->stream_count; s++) {
        generator->is_blocking[s] = !is_own && random_chance(random, 40);
        say(generator, "stream s%u %d\n", s, !generator->is_blocking[s]);
    }
    say(generator, "sync\n"); /* the arrays' first contents came in the null stream */
}

static void draw_kernels(struct generator *generator)
{
    struct random *random = &generator->random;
    generator->kernel_count = 2 + random_below(random, KERNELS_MOST - 1);
    if (generator->theme.scene)
        generator->kernel_count = generator->theme.scene_length + random_chance(random, 15);
    if (generator->theme.has_steps)
        generator->kernel_count = (uint32_t)random_of(random, 3, 4, 4, 4, 5, 6, 8);
    if (generator->theme.extra && generator->kernel_count < KERNELS_MOST)
        generator->theme.extra_index = generator->kernel_count++;
    else
        generator->theme.extra = 0;
    say(generator, "source\n");
    if (generator->theme.has_tables) {
        generator->arrays.sizes[generator->arrays.count] = 2 * generator->theme.length * 4;
        generator->arrays.sizes[generator->arrays.count + 1] = KERNEL_CONSTANTS * 4;
        say(generator, "__device__ float t%u[%d];\n__constant__ float c%u[%d];\n", generator->number,
            2 * generator->theme.length, generator->number, KERNEL_CONSTANTS);
    }
    contents_declare(generator);
    if (generator->theme.has_calls) say(generator, "%s", kernel_called);
    bool has_bits = false;
    for (uint32_t k = 0; k < generator->kernel_count; k++) {
        generator->kernels[k] =
            kernel_draw(generator->arena, random, &generator->theme, generator->number, k);
        if (!generator->kernels[k]) abort();
        has_bits |= kernel_looks_at_bits(generator->kernels[k]);
    }
    if (has_sight(generator, SIGHT_VARIABLE))
        say(generator, "__device__ void *q%u[%d];\n", generator->number, KERNEL_ENTRIES);
    if (has_sight(generator, SIGHT_CALL)) say(generator, "%s", kernel_called_by_pointer);
    if (has_sight(generator, SIGHT_RELEASE)) say(generator, "%s", kernel_released);
    say(generator, "%s%s", kernel_no_nan, has_bits ? kernel_one_nan : kernel_any_nan);
    for (uint32_t k = 0; k < generator->kernel_count; k++) say(generator, "%s", generator->kernels[k]->text);
    say(generator, "end\n");
}

static void draw_rounds(struct generator *generator)
{
    struct sequence *sequence = arena_alloc(generator->arena, sizeof *sequence);
    struct sequence *variant = arena_alloc(generator->arena, sizeof *variant);
    if (!sequence || !variant) abort();
    say_forget_order(generator);
    sequence_draw(generator, sequence);
    contents_agree(generator, sequence, 0);
    say_sequence(generator, sequence);
    for (uint32_t round = 0, rounds = generator->theme.has_rings ? 11 : 1; round < rounds; round++) {
        vary_data(generator, sequence);
        say_sequence(generator, sequence);
    }
    say(generator, "replay\n");
    generator->is_replayed = true;
    say_sequence(generator, sequence);
    if (random_chance(&generator->random, 30)) /* as in a loop, whose results nobody reads meanwhile */
        for (uint32_t round = 0; round < 6; round++) say_sequence(generator, sequence);
    for (uint32_t round = 0, rounds = 18 + random_below(&generator->random, 7); round < rounds; round++) {
        *variant = *sequence;
        for (uint32_t i = 0, changes = (uint32_t)random_of(&generator->random, 1, 1, 1, 2); i < changes; i++)
            vary_something(generator, variant);
        say_sequence(generator, variant);
        if (random_chance(&generator->random, 60)) say_results(generator);
        vary_data(generator, sequence);
        if (generator->theme.has_constants && random_chance(&generator->random, 50)) {
            *variant = *sequence;
            vary_contents(generator, variant);
            say_sequence(generator, variant);
        }
        if (round % 3 == 2)
            say_sequence(generator, sequence); /* else holding comes to nothing too often, and stops */
    }
}

const char *generate_script(struct arena *arena, uint64_t seed, uint32_t number)
{
    struct generator generator = {.arena = arena, .number = number};
    generator.random.state = seed * 0x9e3779b97f4a7c15u + number;
    random_next(&generator.random);
    generator.random.state ^= random_next(&generator.random);
    say(&generator, "program %u\n", number);
    draw_theme(&generator);
    for (uint32_t k = 0; k < generator.theme.scene_length; k++)
        say(&generator, "# %s\n", kernel_scene_text(&generator.theme, k));
    bool has_steps = generator.theme.has_steps;
    generator.arrays.count =
        has_steps ? 5 + random_below(&generator.random, 4) : 2 + random_below(&generator.random, 6);
    generator.arrays.lanes =
        generator.arrays.count >= 4 && random_chance(&generator.random, has_steps ? 10 : 70) ? LAUNCH_LANES
                                                                                             : 1;
    if (generator.theme.scene) {
        generator.arrays.count = KERNEL_SLOTS + random_below(&generator.random, 2);
        generator.arrays.lanes = 1;
        generator.arrays.turn = generator.theme.turn;
    }
    generator.arrays.latest[1] = 1;
    draw_kernels(&generator);
    draw_arrays(&generator);
    draw_streams(&generator);
    draw_rounds(&generator);
    say(&generator, "done\n");
    const char *text = arena_strndup(arena, generator.text, generator.size);
    free(generator.text);
    return text;
}
