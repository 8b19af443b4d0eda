/* SPDX-License-Identifier: Apache-2.0
 * The body of a kernel that is part of a time step: see enum kernel_role. It has arguments 0 to 3, of which
 * launch.c chooses the arrays. */
#include "tests/referee/kernel_writer.h"

static struct kernel_access *step_access(struct writer *writer, uint32_t pointer, enum kernel_map map,
                                         enum kernel_guard guard, bool is_write)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->access_count + 2 > KERNEL_ACCESSES) return NULL;
    struct kernel_access *access = &kernel->accesses[kernel->access_count++];
    *access = (struct kernel_access){.pointer = pointer, .map = map, .guard = guard, .is_write = is_write};
    kernel_draw_constants(writer, access);
    return access;
}

static enum kernel_guard draw_mask(struct writer *writer, uint32_t percent)
{
    if (!random_chance(writer->random, percent)) return GUARD_NONE;
    if (random_chance(writer->random, 5)) return GUARD_DATA;
    return (enum kernel_guard)random_of(writer->random, GUARD_INNER, GUARD_EVEN, GUARD_ODD, GUARD_ODD,
                                        GUARD_ODD, GUARD_ODD, GUARD_ODD, GUARD_BELOW, GUARD_BELOW,
                                        GUARD_FROM_OFFSET);
}

static void write_step_loads(struct writer *writer)
{
    struct random *random = writer->random;
    enum kernel_role role = writer->kernel->role;
    bool is_plane = writer->kernel->shape == KERNEL_PLANE, is_far = role == ROLE_NEIGHBOURS;
    for (uint32_t i = 0, count = is_far ? 2 + random_below(random, 2) : 1; i < count; i++) {
        enum kernel_map map = MAP_OWN;
        if (is_far && random_chance(random, 80))
            map = is_plane ? (enum kernel_map)random_of(random, MAP_SHIFT, MAP_OFFSET, MAP_OFFSET, MAP_CLAMP)
                           : (enum kernel_map)random_of(random, MAP_SHIFT, MAP_WRAP, MAP_CLAMP);
        kernel_write_load(writer, step_access(writer, 0, map, draw_mask(writer, is_far ? 8 : 0), false));
    }
    if (role == ROLE_UPDATE) kernel_write_load(writer, step_access(writer, 2, MAP_OWN, GUARD_NONE, false));
    if (random_chance(random, is_far ? 75 : 45))
        kernel_write_load(writer, step_access(writer, 1, MAP_OWN, GUARD_NONE, false));
}

void kernel_write_mixture(struct writer *writer)
{
    static const char *const between[] = {" + ", " - ", " * s + ", " * s - "};
    uint32_t to = writer->values;
    kernel_say(writer, "%s v%u = ", kernel_value_type(writer), to);
    for (uint32_t from = 0; from < to; from++)
        kernel_say(writer, "v%u%s", from, from + 1 < to ? between[random_below(writer->random, 4)] : ";\n");
    writer->values++;
}

static enum kernel_guard draw_first_mask(struct writer *writer)
{
    bool is_source = writer->kernel->role == ROLE_SOURCE;
    switch (writer->theme->habit) {
    case HABIT_MASKED:
        return draw_mask(writer, is_source ? 85 : 8);
    case HABIT_TWICE:
        return random_chance(writer->random, 60) ? GUARD_BELOW : draw_mask(writer, 30);
    default:
        return draw_mask(writer, is_source ? 20 : 10);
    }
}

static void write_step_stores(struct writer *writer)
{
    struct random *random = writer->random;
    enum kernel_habit habit = writer->theme->habit;
    bool has_two = random_chance(random, habit == HABIT_TWO ? 60 : 12);
    bool is_twice = random_chance(random, habit == HABIT_TWICE ? 50 : 4);
    enum kernel_guard mask = draw_first_mask(writer);
    struct kernel_access *first = step_access(writer, 2, MAP_OWN, mask, true);
    bool is_line = writer->kernel->role == ROLE_SOURCE && writer->kernel->shape == KERNEL_LINE;
    if (first && is_line && random_chance(random, habit == HABIT_SHIFTED ? 50 : 3)) {
        first->map = MAP_SHIFT;
        first->c = random_of(random, 1, 1, 2, 7);
    }
    kernel_write_store(writer, first);
    if (!has_two && !is_twice) return;
    kernel_write_compute(writer);
    kernel_write_store(writer, step_access(writer, 3, MAP_OWN, draw_mask(writer, 10), true));
    if (!is_twice) return;
    kernel_write_compute(writer);
    mask = mask == GUARD_ODD && random_chance(random, 50) ? GUARD_EVEN : draw_mask(writer, 90);
    kernel_write_store(writer, step_access(writer, 2, MAP_OWN, mask, true));
}

void kernel_write_step(struct writer *writer)
{
    struct random *random = writer->random;
    while (writer->kernel->pointer_count < 4)
        writer->kernel->pointers[writer->kernel->pointer_count++].type = kernel_draw_type(writer);
    write_step_loads(writer);
    for (uint32_t i = 0, count = random_below(random, 3); i < count; i++) kernel_write_compute(writer);
    if (random_chance(random, 8)) kernel_write_inline(writer);
    if (random_chance(random, 85)) kernel_write_mixture(writer);
    write_step_stores(writer);
    if (random_chance(random, writer->theme->habit == HABIT_COUNTED ? 30 : 2)) kernel_write_atomic(writer);
}
