/* SPDX-License-Identifier: Apache-2.0
 * Kernels of which the analysis cannot see all, or with an order that their data do not show, and the scenes
 * that they stand in. */
#include "tests/referee/kernel_writer.h"

#include <string.h>

/* --- scenes --- */

/* Kernels that rewrite take two arrays together, so that each step has other values. A temporary, and
 * somewhere around it a launch that nobody sees through (U): it reads what the step before has left, or
 * changes what the step is to read. */
static const struct kernel_scene unseen[] = {
    {{"L r0= r3= w0=", "U r1= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r1= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r3= r0= w0=", "U r1= r5= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"U r1= w5=", "L r0= r3= w0=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r0= w1=", "U r1= w5=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r0= w1=", "L r1= w2=", "U r1= w5="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "U r1= w5=", "L r0= r3= w0="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "U r1= w5="}, true, FIT_ANY},
    {{"L r0= r3= w1=", "L r1= w2=", "U r1= r5= w5="}, true, FIT_ANY},
    {{"L r4= w0=", "L r0= w1=", "L r1= w2=", "U r1= w5="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "U r3= w0="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r0= r3= w0=", "U r1= w5="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r3= w1=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r0= w1=", "U r3= w0=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r2= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r1= w5=", "L r0= w1=", "L r1+ w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r1+ w5=", "L r0= w1=", "U r3= w4=", "L r1= w2="}, true, FIT_ANY},
};

/* What the next use of the group behind reads is changed right before it: launches there might wait for the
 * group (deferred_prefix.c), if they were seen through. */
static const struct kernel_scene waiting[] = {
    {{"L r0= r3= w0=", "U r1= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r1= r5= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r4= r0= w0=", "U r1= w5=", "L r0= w1=", "L r1= r3= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "U r3= w4=", "U r1= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
};

/* Temporaries whose readers and inputs are all seen; beside some stands a launch that has nothing to do with
 * them, until a replay gives it their arrays. */
static const struct kernel_scene temporaries[] = {
    {{"L r0= w1=", "L r1= w2=", "L r3= w5="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r3= w5="}, true, FIT_ANY},
    {{"L r3= w5=", "L r0= r4= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r3+ w5=", "L r3= w4="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r1= w5=", "L r0= w1=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r0= w1=", "L r1= w2=", "L r1= w5="}, true, FIT_ANY},
    {{"L r3= r0= w0=", "L r0= w1=", "L r3= w4=", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r2= w0="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "B r1= x w5="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r1+ w0="}, true, FIT_ANY},
    {{"L r0= w1=?", "L r1= w2=", "L r1= w3="}, true, FIT_ANY},
    {{"L r0= r1= w1=", "L r1= w2=", "L r0= r3= w0="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w3=", "L r3= w2=", "L r3= w4="}, true, FIT_ANY},
};

/* The host polls what F sets, and reads what the one before has filled (sequence.c). */
static const struct kernel_scene flags[] = {
    {{"L r0= r1= w1=", "F", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r3= w0=", "L r0= w1=", "F", "L r1= w2="}, true, FIT_ANY},
    {{"L r0= r1= w1=", "F", "L r1+ w2="}, true, FIT_ANY},
    {{"L r0= r1= w1=", "F", "L r1= w2=", "L r2= w3="}, true, FIT_ANY},
};

static const struct kernel_scene clocks[] = {
    {{"L r0= w1=", "K", "L r1= w2="}, true, FIT_ANY},
    {{"K", "L r0= w1=", "L r1= w2=", "K"}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "K", "L r2= w3="}, true, FIT_ANY},
};

const struct kernel_scene *kernel_draw_unseen(struct random *random, struct kernel_theme *theme)
{
    uint32_t what = random_below(random, 100);
    theme->is_unseen = true;
    theme->has_events = random_chance(random, 70);
    if (theme->has_streams) {
        if (what < 60) return &flags[random_below(random, sizeof flags / sizeof *flags)];
        if (what < 75) return &clocks[random_below(random, sizeof clocks / sizeof *clocks)];
    } else if (what < 35) {
        return &temporaries[random_below(random, sizeof temporaries / sizeof *temporaries)];
    } else if (what < 60) {
        theme->has_events = theme->may_wait = true;
        return &waiting[random_below(random, sizeof waiting / sizeof *waiting)];
    }
    return &unseen[random_below(random, sizeof unseen / sizeof *unseen)];
}

/* --- how a kernel is hidden --- */

/* A kernel of which nothing but its own statements is left to write. */
static void become_line(struct kernel *kernel)
{
    kernel->shape = KERNEL_LINE;
    kernel->role = ROLE_NONE;
    kernel->index = 'i';
    kernel->is_plain = kernel->returns = true;
    kernel->is_exact = kernel->is_tall = kernel->is_wide = kernel->is_backward = kernel->is_dynamic = false;
    kernel->is_stencil = kernel->is_column = false;
}

void kernel_draw_sight(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    struct random *random = writer->random;
    char letter = kernel->scene ? *kernel_scene_text(writer->theme, kernel->scene - 1)
                  : writer->index == writer->theme->extra_index ? writer->theme->extra
                                                                : 0;
    if (letter == 'F' || letter == 'K') {
        kernel->sight = letter == 'F' ? SIGHT_FLAG : SIGHT_CLOCK;
        become_line(kernel);
        kernel->limit = 'w';
        kernel->width = 1;
    } else if (letter == 'U' && writer->theme->may_wait) {
        kernel->sight = (enum kernel_sight)random_of(random, SIGHT_TABLE, SIGHT_VARIABLE, SIGHT_CALL);
    } else if (letter == 'U') {
        kernel->sight = (enum kernel_sight)random_of(
            random, SIGHT_TABLE, SIGHT_TABLE, SIGHT_VARIABLE, SIGHT_VARIABLE, SIGHT_CALL, SIGHT_CALL,
            SIGHT_BARE, SIGHT_BARE, SIGHT_DEBUG, SIGHT_VOLATILE, SIGHT_FENCE, SIGHT_RELEASE);
        if (kernel->sight == SIGHT_BARE || kernel->sight == SIGHT_DEBUG) become_line(kernel);
    } else if (!kernel->scene && random_chance(random, writer->theme->unseen)) {
        kernel->sight = (enum kernel_sight)random_of(random, SIGHT_TABLE, SIGHT_VARIABLE, SIGHT_CALL,
                                                     SIGHT_FENCE, SIGHT_RELEASE);
    }
}

const char kernel_called_by_pointer[] =
    "template <typename T> __device__ __noinline__ T one_way(const T *from) { return *from; }\n"
    "template <typename T> __device__ __noinline__ T other_way(const T *from) { return *from + (T)1; }\n";

const char kernel_released[] =
    "template <typename T> __device__ __forceinline__ void release(T *to, T value)\n{\n"
    "union { T value; long long d; int w; short h; char b; } as; as.d = 0; as.value = value;\n"
    "if (sizeof value == 8) asm volatile(\"st.release.gpu.b64 [%0], %1;\" ::\"l\"(to), \"l\"(as.d) : "
    "\"memory\");\n"
    "if (sizeof value == 4) asm volatile(\"st.release.gpu.b32 [%0], %1;\" ::\"l\"(to), \"r\"(as.w) : "
    "\"memory\");\n"
    "if (sizeof value == 2) asm volatile(\"st.release.gpu.b16 [%0], %1;\" ::\"l\"(to), \"h\"(as.h) : "
    "\"memory\");\n"
    "if (sizeof value == 1) asm volatile(\"st.release.gpu.b8 [%0], %1;\" ::\"l\"(to), \"r\"((int)as.b) : "
    "\"memory\");\n"
    "}\n";

static const struct kernel_type pointer_type = {"void *", 8}, clock_type = {"long long", 8};

/* Some of its pointers come from an array of pointers in place of arguments. */
void kernel_hide_pointers(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    uint32_t table = kernel->pointer_count, hidden = 0;
    bool is_variable = kernel->sight == SIGHT_VARIABLE;
    if (kernel->sight != SIGHT_TABLE && !is_variable) return;
    uint32_t first = random_below(writer->random, table);
    for (uint32_t i = 0; i < table && table < KERNEL_POINTERS; i++) {
        struct kernel_pointer *pointer = &kernel->pointers[(first + i) % table];
        if (pointer->variable || kernel->access_count == KERNEL_ACCESSES || hidden == KERNEL_HIDDEN_MOST)
            continue;
        if (hidden && random_chance(writer->random, 50)) continue;
        pointer->entry = writer->index * KERNEL_HIDDEN_MOST + ++hidden;
        kernel->accesses[kernel->access_count++] =
            (struct kernel_access){.pointer = table, .map = MAP_CONSTANT, .c = (int32_t)pointer->entry - 1};
    }
    if (!hidden) {
        kernel->sight = SIGHT_WHOLE;
        return;
    }
    kernel->pointers[kernel->pointer_count++] =
        (struct kernel_pointer){.type = &pointer_type, .variable = is_variable ? 'q' : 'z'};
}

/* --- kernels of one kind only --- */

static uint32_t slot_of(const char *text, char letter)
{
    const char *found = strchr(text, letter);
    return found ? (uint32_t)(found[1] - '0') : 0;
}

static void write_library(struct writer *writer, const char *text)
{
    struct kernel *kernel = writer->kernel;
    kernel->name = kernel->sight == SIGHT_BARE ? "bare" : "debug";
    for (uint32_t p = 0; p < 2; p++) {
        kernel->pointers[p].type = kernel_int_type();
        kernel->slots[p] = (unsigned char)(slot_of(text + 1, p ? 'w' : 'r') + 1);
        kernel->accesses[p] = (struct kernel_access){.pointer = p, .map = MAP_OWN, .is_write = p};
    }
    kernel->pointer_count = kernel->access_count = 2;
    strcpy(kernel->scalars, "n");
}

/* What it has in common with the others is that the host may rely on what was done before it. A way is a
 * statement, or PTX that sets the flag, or PTX that is done until the flag is no more than its value. */
static void write_flag(struct writer *writer)
{
    static const char *const ways[] = {
        "__threadfence_system(); *p0 = v;\n",
        "__threadfence(); *p0 = v;\n",
        "*(volatile int *)p0 = v;\n",
        "st.release.gpu.global.u32 [%0], %1;",
        "st.release.gpu.global.u32 [%0], %1;",
        "red.release.gpu.global.max.s32 [%0], %1;",
        "{ .reg .s32 w; atom.release.gpu.global.max.s32 w, [%0], %1; }",
        "red.relaxed.sys.global.max.s32 [%0], %1;",
        "st.relaxed.sys.global.u32 [%0], %1;",
        "ld.relaxed.gpu.global.s32 %0, [%1];",
        "atom.relaxed.gpu.global.max.s32 %0, [%1], 0;",
    };
    struct kernel *kernel = writer->kernel;
    const char *way = ways[random_below(writer->random, sizeof ways / sizeof *ways)];
    if (strchr(way, '='))
        kernel_say(writer, "%s", way);
    else if (strstr(way, "%0, [%1]"))
        kernel_say(writer,
                   "int w; do asm volatile(\"%s\" : \"=r\"(w) : \"l\"(p0) : \"memory\");\n"
                   "while (w > v);\n*p0 = v;\n",
                   way);
    else
        kernel_say(writer, "asm volatile(\"%s\" ::\"l\"(p0), \"r\"(v) : \"memory\");\n", way);
    kernel->pointers[0] = (struct kernel_pointer){.type = kernel_int_type(), .variable = 'f'};
    kernel->accesses[0] = (struct kernel_access){.map = MAP_OWN};
    kernel->accesses[1] = (struct kernel_access){.map = MAP_OWN, .is_write = true};
    kernel->pointer_count = 1;
    kernel->access_count = 2;
    strcpy(kernel->scalars, "nv");
}

static void write_clock(struct writer *writer)
{
    static const char *const ways[] = {
        "p0[I] = clock64();\n", "p0[I] = clock();\n",
        "asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(p0[I]));\n",
        "unsigned w; asm volatile(\"mov.u32 %0, %globaltimer_lo;\" : \"=r\"(w)); p0[I] = w;\n"};
    struct kernel *kernel = writer->kernel;
    const char *way = ways[random_below(writer->random, sizeof ways / sizeof *ways)];
    for (; *way; way++)
        kernel_say(writer, strncmp(way, "%g", 2) ? *way == 'I' ? "%d" : "%c" : "%%%%",
                   *way == 'I' ? (int)writer->index : *way);
    kernel->pointers[0] = (struct kernel_pointer){.type = &clock_type, .variable = 'k'};
    kernel->accesses[0] =
        (struct kernel_access){.map = MAP_CONSTANT, .c = (int32_t)writer->index, .is_write = true};
    kernel->pointer_count = kernel->access_count = 1;
    strcpy(kernel->scalars, "n");
}

bool kernel_write_special(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->sight == SIGHT_BARE || kernel->sight == SIGHT_DEBUG)
        write_library(writer, kernel_scene_text(writer->theme, kernel->scene - 1));
    else if (kernel->sight == SIGHT_FLAG)
        write_flag(writer);
    else if (kernel->sight == SIGHT_CLOCK)
        write_clock(writer);
    else
        return false;
    memset(kernel->scalar_types, 'i', sizeof kernel->scalar_types);
    return true;
}
