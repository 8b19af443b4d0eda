/* SPDX-License-Identifier: Apache-2.0
 * Loops over the levels of a column, with several accesses in each: programs whose loops are joined, or must
 * not be. */
#include "tests/referee/kernel_writer.h"

#include <string.h>

/* In a scene's text, { begins a loop over all levels, [ one from the second on, ( one from the top down, }
 * ends it. Inside, = is this level, _ the one below, ' the one above; + < > are a neighbouring column of
 * those three; b this level in another
 * column of the block; c adds the latest value to one from before the loop, for what comes behind it. */
static const struct kernel_scene scenes[] = {
    {{"L { r0= w1= }", "L { r0= r1= w2= }", "L { r0= r2= w3= }"}, false, FIT_ANY},
    /* stores that are overwritten, and some that are not, or read before */
    {{"L { r0= w1= }", "L { r1= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1= w1=! }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=% }", "L { r1= w3= r2= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=! }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=! }", "L { r1= w2= }", "L { r3= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= w2= }", "L { r2= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= w2= }", "L { r2= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= w2= }", "L { r2= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= w2= }", "L { r2= w1= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1= r3= w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1=% }", "L { r1= w2= }", "L { r3= w1= }", "L { r1= w4= }"}, false, FIT_ANY},
    {{"L { r0= w1=% }", "L { r1= w2= }", "L { r3= w1= }", "L { r1= w4= }"}, false, FIT_ANY},
    {{"L { r0= w1=% }", "L { r1= w2= }", "L { r3= w1= }", "L { r1= w4= }"}, false, FIT_ANY},
    /* other iterations */
    {{"L { r0= w1= }", "L [ r1= r1_ w2= }"}, false, FIT_ANY},
    {{"L [ r0= r0_ w1= }", "L [ r1= r1_ w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1' r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L ( r1= w2= }"}, false, FIT_ANY},
    {{"L ( r0= w1= }", "L ( r1= r1' w2= }"}, false, FIT_ANY},
    {{"L [ r0= w1= w1_ }", "L { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r0' w1= }", "L { r1= r2= w0= }"}, false, FIT_ANY},
    {{"L [ r0= r0_ w1= }", "L { r1= w0= }", "L [ r1_ w3= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L [ r1_ w1= }", "L { r1= w2= }"}, false, FIT_ANY},
    /* before and behind */
    {{"L { r0= w1= } w3=", "L r3= w4= { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w3= { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w4= { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w4= { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w4= { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w1= { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= r1= w1= }", "L r1= w1= { r0= r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L r1= w4= { r0= r4= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= w3= }", "L r1= r3= w4= { r3= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= w3= }", "L r1= r3= w4= { r3= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= w3= }", "L r1= r3= w4= { r3= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= w3= }", "L r1= r3= w4= { r3= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L r1= w1= { r0= w2= }", "L { r2= w5= }"}, false, FIT_ANY},
    {{"L { r0= w1= } w1=", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= } r4= w3=", "L r4= w2= { r1= w5= }"}, false, FIT_ANY},
    {{"L { r1= w2= } r1= w3=", "L { r2= w1= }"}, false, FIT_ANY},
    /* two loops */
    {{"L { r0= w1= } { r1= w2= }", "L { r1= w3= } { r2= w4= }"}, false, FIT_ANY},
    {{"L { r0= w1= } { r3= w2= }", "L { r0= r2= w4= } { r1= w5= }"}, false, FIT_ANY},
};

/* Threads meet, in the loop or around it. */
static const struct kernel_scene tiles[] = {
    {{"B { r0= q w1= }", "B { r0= c } x w2="}, false, FIT_ANY},
    {{"B { r0= q w1= }", "B { r0= c } y w2=", "B { r0= c } x w3="}, false, FIT_ANY},
    {{"B { r0= c } x w1=", "B { r0= r3= c } x w2="}, false, FIT_ANY},
    {{"B { r0= c } y w1=", "B { r0= c } x k w2=", "B { r0= c } q w3="}, false, FIT_ANY},
    {{"B r3= x { r0= c w1= } k w4=", "B { r0= r1= c } x w2="}, false, FIT_ANY},
    {{"B r3= x { r0= q c } k w4=", "BD r4= x { r0= c } x w2="}, false, FIT_ANY},
    {{"BD { r0= c } x w1=", "B { r0= c } x w2=", "L { r0= w4= }"}, false, FIT_ANY},
    {{"B { r0= c } q w1=", "B { r0= q c } x w2="}, false, FIT_ANY},
    {{"B r3= x w1=", "L { r0= w2= }", "B { r0= c } x w4="}, false, FIT_ANY},
    {{"B r3= x w1=", "B { r0= c } x w2=", "L { r0= w4= }", "B r5= x w1="}, false, FIT_ANY},
    {{"B r3= x w1=", "L { r0= w2= }", "B { r0= c } r1= x w4="}, false, FIT_ANY},
    {{"B r3= x w1=", "L r1= { r0= w2= }", "B { r2= c } r1= x w4="}, false, FIT_ANY},
    {{"B r3= x w1=", "L r1= { r0= w2= }", "B { r2= c } r1= x w4="}, false, FIT_ANY},
    {{"B r3= x w1=", "L r1= { r0= w2= }", "B { r2= c } r1= x w4="}, false, FIT_ANY},
    {{"L { r0= w2= }", "B { r0= r2= c } x w1=", "B r1= x w4="}, false, FIT_ANY},
    {{"L { r0= w2= }", "B { r0= r2= c } x w1=", "B r1= x w4="}, false, FIT_ANY},
    {{"L { r0= w2= }", "B { r0= r2= c } x w1=", "B r1= x w4="}, false, FIT_ANY},
    {{"B { r0= x w1= }", "L { r0= w4= }", "B { r0= w2= c } x w3="}, false, FIT_ANY},
    {{"B { r0= q w1= }", "B [ r0= q c } x w2="}, false, FIT_ANY},
    {{"B [ r0= c } x w1=", "B { r0= c } x w2="}, false, FIT_ANY},
    {{"L { r0= w1= }", "B r1= x { r0= r1= c } k w2="}, false, FIT_ANY},
    {{"B { r0= c } u w1=", "B { r0= c } x w2="}, false, FIT_WARPS},
    {{"B { r0= c } u w1=", "B { r0= c } y w2=", "B { r0= c } q w3="}, false, FIT_WARPS},
    {{"B { r0= c } x w1=", "B { r0= c } x w2=", "L r2= w4="}, false, FIT_ANY},
    {{"B r5= x w3=", "L { r0= w1= }", "L r5= w4=", "B { r1= c } r4= x w2="}, false, FIT_ANY},
    {{"L { r0= w1= }", "L r1= w4=", "L { r1= w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1= w2= }", "L r2= w4="}, false, FIT_ANY},
    {{"B { r0= c w1= }", "L { r1= w2= }", "L r3= w4="}, false, FIT_ANY},
    {{"B { r0=% c } x w1=", "B { r0=! c } x w2="}, false, FIT_ANY},
    /* handed on within the block */
    {{"L { r0= w1= }", "L { r1b w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1b w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1b r1= w2= }", "L { r2b w3= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1b w2= }", "L { r2= w1= }", "L { r1b w3= }"}, false, FIT_ANY},
    {{"L { r0= w1=? }", "L { r1b w2= }"}, false, FIT_ANY},
    {{"L [ r0= w1= }", "L { r1b w2= }"}, false, FIT_ANY},
    {{"L { r0= w1= }", "L { r1= w1=? }", "L { r1b w2= }"}, false, FIT_ANY},
    {{"B { r0= w1= c } x w4=", "B { r1b c } x w2="}, false, FIT_ANY},
};

/* Columns beside each other: iterations with a border. */
static const struct kernel_scene beside[] = {
    {{"L { r0= w1= }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1= r1+ w2= }", "L { r2+ w3= }"}, false, FIT_LONG},
    {{"L { r0= r3= w1= }", "L { r1+ r0= w2= w4= }"}, false, FIT_LONG},
    {{"L { r0= w1= w4= }", "L { r1+ r4+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ r1+ w2= }", "L { r2= w4= }"}, false, FIT_LONG},
    {{"L r3= { r0= w1= }", "L r3= { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= }", "L { r2= w2= }"}, false, FIT_LONG},
    {{"L { r0= w1=? }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1=! w3= }", "L { r1+ w2=% }"}, false, FIT_LONG},
    {{"L { r0= w1=% }", "L { r1+ w2= }"}, false, FIT_LONG},
    /* other levels */
    {{"L { r0= w1= }", "L { r1> r1= w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L [ r1< r1+ w2= }"}, false, FIT_LONG},
    {{"L [ r0= r0_ w1= }", "L [ r1+ w2= }"}, false, FIT_LONG},
    {{"L ( r0= w1= }", "L ( r1+ w2= }"}, false, FIT_LONG},
    {{"L ( r0= w1= }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= } { r3= w2= }", "L { r1+ w4= } { r2+ w5= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w4= } [ r1< w5= }"}, false, FIT_LONG},
    /* what does not come apart */
    {{"L { r0= w1= }", "L { r1+ w0= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w1= }"}, false, FIT_LONG},
    {{"L r1= { r0= w1= }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L [ r0= w1= w1_ }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= } w1=", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= } w4=", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= c w1= }", "L { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ c w2= } w4="}, false, FIT_LONG},
};

/* Columns beside each other too, but one turn of a loop touches what another one writes: they have an order.
 */
static const struct kernel_scene turns[] = {
    {{"L { r0= w1= }", "L [ r1+ r2_ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L [ r1= r1+ r2_ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L [ r2_ w2= r1+ w3= }"}, false, FIT_LONG},
    {{"L ( r0= w1= }", "L ( r1+ r2' w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L ( r1+ r2' w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ r2' w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= }", "L [ r2= r3_ w3= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= }", "L [ r2+ r3_ w3= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L [ r1+ w2= r3_ w3=? }"}, false, FIT_LONG},
    {{"L { r0= r3= w1= }", "L [ r1+ r0= r2_ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= w4= }", "L [ r1+ r4+ r2_ w2= }"}, false, FIT_LONG},
    {{"L ( r0= w1= }", "L ( r1+ w2= r3' w3= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ r3' w3= w2= }"}, false, FIT_LONG},
    /* both write it */
    {{"L { r0= w1= }", "L [ r1+ w2= w2_ }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= w2'? }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= } { r0= w2= }"}, false, FIT_LONG},
    /* turns of two loops */
    {{"L { r0= w1= }", "L { r1+ w2= } { r2= w3= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ w2= } [ r2_ w3= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L { r1+ r2= w3= } { r0= w2= }"}, false, FIT_LONG},
    /* and what is done before */
    {{"L { r0= w1= }", "L r2= { r1+ w2= }"}, false, FIT_LONG},
    {{"L { r0= w1= }", "L r2= r3= { r1+ w2= }"}, false, FIT_LONG},
};

const struct kernel_scene *kernel_draw_loops(struct random *random, struct kernel_theme *theme)
{
    theme->has_loops = true;
    uint32_t kind = random_below(random, 100);
    theme->is_unrolled = random_chance(random, kind < 15 ? 12 : 45);
    theme->levels =
        theme->is_unrolled ? random_of(random, 4, 5, 6, 8, 9, 9) : random_of(random, 3, 4, 5, 6, 8, 9);
    if (kind < 15) return &turns[random_below(random, sizeof turns / sizeof *turns)];
    if (kind < 35) return &beside[random_below(random, sizeof beside / sizeof *beside)];
    if (kind < 67) return &tiles[random_below(random, sizeof tiles / sizeof *tiles)];
    return &scenes[random_below(random, sizeof scenes / sizeof *scenes)];
}

void kernel_write_sum(struct writer *writer)
{
    if (writer->loop && writer->values > writer->values_outside)
        kernel_say(writer, "v%u += v%u;\n", writer->values_outside - 1, writer->values - 1);
}

/* nvcc unrolls by 4 what it may. */
void kernel_write_loop(struct writer *writer, char letter)
{
    if (letter == '}') {
        kernel_say(writer, "}\n");
        writer->values = writer->values_outside;
        writer->kept = writer->kept_outside;
        writer->loop = 0;
        return;
    }
    if (!writer->values) /* for what comes behind it */
        kernel_say(writer, "%s v%u = s;\n", kernel_value_type(writer), writer->values++);
    writer->values_outside = writer->values;
    writer->kept_outside = writer->kept;
    writer->loop = letter;
    if (random_chance(writer->random, writer->theme->is_unrolled ? 8 : 92))
        kernel_say(writer, "#pragma unroll 1\n");
    if (letter == '(')
        kernel_say(writer, "for (int j = m - 1; j >= 0; j--) {\n");
    else
        kernel_say(writer, "for (int j = %d; j < m; j++) {\n", letter == '[');
}

void kernel_set_in_loop(const struct writer *writer, struct kernel_access *access, char element)
{
    if (!writer->loop) return;
    access->map = MAP_LEVEL;
    access->c = element == '_' || element == '<' ? -1 : element == '\'' || element == '>';
    if (strchr("+<>", element)) {
        bool is_inner = random_chance(writer->random, 40);
        access->map = is_inner ? MAP_BESIDE : MAP_NEAREST;
        access->guard = is_inner ? GUARD_INNER : GUARD_NONE;
        access->d = is_inner ? random_of(writer->random, -1, 1) : random_of(writer->random, -2, -1, 1, 1, 3);
    }
    if (element == 'b') {
        access->map = MAP_LEVEL_IN_BLOCK;
        access->d = random_of(writer->random, 1, 1, 2, 16, 31);
    }
    access->trips = -1;
    access->from = writer->loop == '[';
    access->is_in_loop = true;
}
