/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose loops end by data, and that write, or add up, where data say: programs in which a group must take
 * them for more than they do. The tables are arrays of the program, which replays fill otherwise. */
#include "tests/referee/kernel_writer.h"

#include <string.h>

/* d, with a slot's digit: a loop over elements of that array, as long as data say; with another digit behind it, its
 * own element of that one is written in each iteration. e: adds to its own element, by an atomic of floating point.
 * Element $: one that data choose for each thread, no two the same. */
static const struct kernel_scene scenes[] = {
    /* loops that end by data */
    {{"L r0= w1=", "L d2 r1= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L d24 r1= w3="}, false, FIT_ANY},
    {{"L r0= d2 w1=", "L d3 r1= w4="}, false, FIT_ANY},
    {{"L d2 w1=", "L r1= w1=", "L r1= w4="}, false, FIT_ANY},
    /* what they store may be stored or not */
    {{"L r0= w1=", "L d21", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1= w3=", "L d21 w4=", "L r1= r3= w3="}, false, FIT_ANY},
    {{"L d21", "L r0= w1=", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L d31"}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= d3 w2=", "L r2= w1="}, false, FIT_ANY},
    /* with a border, and blocks */
    {{"L r0= d3 w1=", "L r1+ w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1+ d3 w2=", "L r2= w4="}, false, FIT_ANY},
    {{"L d2 w1=", "B r1= x w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L d21", "L r1+ w3="}, false, FIT_ANY},
    /* of what a member has written */
    {{"L r0= w1=", "L d1 w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r0= d1 w2=", "L r2= w3="}, false, FIT_ANY},
    /* writes anywhere */
    {{"L r0= w1=", "L r1= w2$"}, false, FIT_ANY},
    {{"L r0= w2$", "L r1= w3=", "L r3= w4="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= w2$", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r3= w1$", "L r1= w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r3= w1$"}, false, FIT_ANY},
    {{"L r0= w1= w3=", "L r1= w2$ w1=", "L r1= r3= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r0= w4$", "L r1= w1=", "L r1= w2="}, false, FIT_ANY},
    {{"L r0= w1$", "L r2= w1=", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1= w4$", "L r1+ w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1+ w4$ w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= d3 w2$", "L r1= w4="}, false, FIT_ANY},
    {{"L r0= w0=", "L r0+ w1$"}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r2= w3=", "L r4= w0$"}, false, FIT_ANY},
    /* sums */
    {{"L r0= w1=", "L r1= e2"}, false, FIT_ANY},
    {{"L r0= w1= e3", "L r1= w2=", "L r2= w4="}, false, FIT_ANY},
    {{"L r0= e1", "L r2= e1", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r2= e1", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= e1", "L r2= w1=", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1+ e2 w3=", "L r3= w4="}, false, FIT_ANY},
    {{"L r0= w1= e3", "L r1+ w2="}, false, FIT_ANY},
};

const struct kernel_scene *kernel_draw_by_data(struct random *random)
{
    return &scenes[random_below(random, sizeof scenes / sizeof *scenes)];
}

enum { TABLE = 64 }; /* elements of a table that a loop may look at, for all threads */

static struct kernel_access *add_access(struct writer *writer, struct kernel_access access)
{
    struct kernel *kernel = writer->kernel;
    kernel->accesses[kernel->access_count] = access;
    return &kernel->accesses[kernel->access_count++];
}

/* The head of a loop over j, whose values are below TABLE; it ends, whatever the table g has. */
static void write_head(struct writer *writer)
{
    static const char *const heads[] = {
        /* rows of a sparse matrix; their ends are loaded once, or each time */
        "for (int j = (int)((unsigned)g[i] & 7u); j < (int)((unsigned)g[63 - (int)(i & 63)] & 15u); j++) {\n",
        "for (int j = (int)((unsigned)g[i & 63] & 15u); j < (int)((unsigned)g[(i + 1) & 63] & 31u); j++) {\n",
        /* a list */
        "for (unsigned j = (unsigned)g[i] & 63u; j > 3; j = (unsigned)g[j] % j) {\n",
        /* the first element that is like this */
        "for (int j = 0; j < 40 && ((unsigned)g[j] & 3u) != 1u; j++) {\n",
        /* steps that data decide, and such that grow */
        "for (int j = (int)(i & 7); j < 64; j += (int)((unsigned)g[j] & 7u) + 1) {\n",
        "for (int j = 1; j < 64; j *= 2) {\n",
        "for (int j = 63; j > 0; j >>= 1) {\n",
        /* a search */
        "for (int from = 0, to = 63, j = 31; from < to; j = (from + to) / 2)\n"
        "if (((unsigned)g[j] & 255u) < (unsigned)i) from = j + 1; else { to = j;\n",
    };
    if (random_chance(writer->random, 70)) kernel_say(writer, "#pragma unroll 1\n");
    kernel_say(writer, "%s", heads[random_below(writer->random, sizeof heads / sizeof *heads)]);
}

void kernel_write_by_data(struct writer *writer, uint32_t from, uint32_t to)
{
    struct kernel *kernel = writer->kernel;
    const char *type = kernel_value_type(writer);
    if (kernel->access_count + 5 > KERNEL_ACCESSES || !kernel_draw_index(writer)) return;
    uint32_t table = kernel->pointer_count - 1, value = writer->values++;
    add_access(writer, (struct kernel_access){.pointer = table, .map = MAP_GATHER, .c = TABLE - 1});
    add_access(writer, (struct kernel_access){.pointer = from, .map = MAP_GATHER, .c = TABLE - 1});
    kernel_say(writer, "%s v%u = %s;\n", type, value, value ? "v0" : "s");
    write_head(writer);
    kernel_say(writer, "v%u += (%s)p%u[j];\n", value, type, from);
    if (to != from) {
        add_access(writer, (struct kernel_access){.pointer = to, .is_write = true});
        writer->is_written[to] = true;
        kernel_say(writer, "p%u[i] = (%s)%s(v%u);\n", to, kernel->pointers[to].type->name,
                   kernel_stored(writer, to), value);
    }
    kernel_say(writer, "}\n");
}

/* Each element has one thread that adds to it: any other sum of several would depend on their order. */
void kernel_write_sum_up(struct writer *writer, uint32_t pointer)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->access_count + 2 > KERNEL_ACCESSES || !writer->values) return;
    struct kernel_access *access = add_access(
        writer,
        (struct kernel_access){.pointer = pointer,
                               .map = random_of(writer->random, MAP_OWN, MAP_OWN, MAP_REVERSE, MAP_SHIFT),
                               .c = 1,
                               .is_write = true});
    writer->is_written[pointer] = true;
    kernel_say(writer, "atomicAdd(&");
    kernel_write_element(writer, access);
    kernel_say(writer, ", (%s)v%u);\n", kernel->pointers[pointer].type->name,
               random_below(writer->random, writer->values));
}

void kernel_choose_chosen(struct writer *writer, struct kernel_access *access)
{
    uint32_t pointer = access->pointer;
    struct kernel *kernel = writer->kernel;
    if (kernel->access_count + 2 > KERNEL_ACCESSES) return;
    if (!writer->has_index && !kernel_draw_index(writer)) return;
    access->map = MAP_CHOSEN;
    access->pointer = pointer;
    add_access(writer, (struct kernel_access){.pointer = writer->index_pointer, .map = MAP_CONSTANT});
}
