/* SPDX-License-Identifier: Apache-2.0
 * Scenes: kernels that belong together, so that a program surely has what a kind of fusion must get right. */
#include "tests/referee/kernel_writer.h"

#include <string.h>

static const struct kernel_scene scenes[] = {
    /* neighbours: what is read from a border */
    {{"L r0= w1=", "L r1* w2="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1+ w2=", "L r2= w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1+ r1- w2=", "L r2* r0= w3="}, true, FIT_ANY},
    {{"L r0= w1=?", "L r1* w2="}, true, FIT_ANY},
    {{"L r0= w1=U w3= w1=?", "L r1+ w2=", "L r2* w4="}, true, FIT_ANY},
    {{"L r0= w1=U w1=!", "L r1+ w2="}, false, FIT_ANY},
    {{"L r0= w1=! w3= w1=?", "L r1* w2="}, true, FIT_ANY},
    {{"L r0= w1=U w3= w1=!", "L r1* w2="}, false, FIT_ANY},
    {{"L r0= w1= a5", "L r1+ w2=", "L r2* w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1+ w0=", "L r0* w2="}, true, FIT_ANY},
    {{"L r0= w1= w3=", "L r1+ w2= w3+", "L r2* w4="}, true, FIT_ANY},
    /* what is overwritten while it is still read */
    {{"L r0* w1=", "L r1= w0="}, true, FIT_ANY},
    {{"L r0+ w1=", "L r1= w0=?"}, true, FIT_ANY},
    {{"L r0= w0=", "L r0+ w1="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1* w0="}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0=", "L r0= w2="}, true, FIT_ANY},
    {{"L r0+ r2= w1=", "L r1= w0= w2="}, true, FIT_ANY},
    {{"L r0- w1=", "L r1= r0= w0=", "L r0= r0= w0="}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0=?", "L r3= w0="}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0= r0="}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0=I", "L r0= w2=", "L r2= w0="}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0=I r3= w0=%"}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0=%"}, true, FIT_ANY},
    {{"L r0* w1=", "L r1= w0= w3= r0= w2="}, true, FIT_ANY},
    /* small kernels write borders between large ones */
    {{"L r0= w1=I", "S r1y w1a r1d w1z", "L r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1d w1a r1y w1z", "L r1+ r1- w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1y w1a r1d w1z", "S r1y w1a r1d w1z", "L r1* r1- w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1d w1a", "S r1y w1z", "L r1* r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=I w3=I", "S r1y w1a r1d w1z", "S r3y w3a r3d w3z", "L r1+ r3* w2="}, true, FIT_LONG},
    {{"L r0= w1=", "S r1d w1a", "L r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r3a w1a", "L r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=?", "S r1y w1a r1d w1z", "L r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1y w1a%", "L r1* w2="}, true, FIT_LONG},
    {{"S r0y w0a r0d w0z", "L r0* w1=", "L r1= w2="}, true, FIT_LONG},
    {{"L r0* w1=I", "S r1y w1a r1d w1z", "L r1* w0=I"}, true, FIT_LONG},
    {{"L r0* w1=I", "L r1= w0=I", "S r0y w0a r0d w0z"}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1y w1a r1d w1z", "L r1* w2=I", "S r2y w2a r2d w2z", "L r2* w3="}, true, FIT_LONG},
    /* the first elements alone: blocks that have none of them may have some in their border */
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w1=", "SH r3= w1=", "L r1- w2="}, false, FIT_LONG},
    {{"L r0= w3=", "SH r3= w1=", "L r1- w2=", "L r2= w4="}, false, FIT_LONG},
    {{"L r0= w1= w3=", "SH r3= w1=", "L r1- r3= w2=", "L r2* w4="}, false, FIT_LONG},
    {{"L r0= w1= w3=", "SH r3= w1=", "L r1- r3= w2=", "L r2* w4="}, false, FIT_LONG},
    {{"SH r0= w1=", "L r1- w2="}, false, FIT_LONG},
    /* and, within the blocks of the launches, something that tiles of another size cut in two */
    {{"L r0= w1=", "L r1+ r3+G w2=", "L r2= w3="}, false, FIT_CROOKED},
    {{"L r0= w1=? w4=", "L r1+G r4+ w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1= w4=", "L r5= w1= r1=A w2=", "L r2+G r4+ w3="}, false, FIT_CROOKED},
    /* blocks */
    {{"L r0= w1=", "L r1= r1b w2=", "L r2= r2b w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1b r1= w2=", "L r2= w1=", "L r1= r1b w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1b r1= w2=", "L r2= w1b", "L r1= r1b w3="}, false, FIT_WHOLE},
    {{"L r0= w1=", "L r1b r1= w2=", "L r2= w1=?", "L r1= r1b w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r2= w1=%", "L r1= r1b w3="}, true, FIT_ANY},
    {{"L r0= w1=?", "L r1= r1b w2="}, true, FIT_ANY},
    {{"L r0= w1=%", "L r1= r1b w2="}, true, FIT_ANY},
    {{"L r0= w1=?", "L r1b r1= w2=", "L r2= w1=", "L r1= r1b w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1b r1= w2=", "L r2= w1=%", "L r1= r1b w3="}, true, FIT_ANY},
    {{"L r0= w1=! w1=?", "L r1b r1= w2="}, true, FIT_ANY},
    {{"B r0= w1= x w2=", "B r1b r2= x w3=", "B r3b r2b x w4="}, false, FIT_ANY},
    /* the last block reads behind what the first one writes, and that is overwritten */
    {{"L r0= w1=", "L r1b r1+G w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1+G w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1+G w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1+G w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1+G w2=", "L r2= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1= w2=", "L r1+G r2= w3=", "L r3= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1= w2=", "L r1+G r2= w3=", "L r3= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1= w2=", "L r1+G r2= w3=", "L r3= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1= w2=", "L r1+G r2= w3=", "L r3= w1="}, false, FIT_CROOKED},
    {{"L r0= w1=", "L r1b r1= w2=", "L r1+G r2= w3=", "L r3= w1="}, false, FIT_CROOKED},
    {{"L r0= w1= w4=", "L r1b r1+G w2=", "L r2= r4= w1="}, false, FIT_CROOKED},
    {{"L r0= w1= w4=", "L r4= w1b", "L r1= r4= w2="}, false, FIT_WHOLE},
    {{"B r0= x w1=", "B r1= x w2="}, false, FIT_ANY},
    {{"B r0= x w1=", "B r3= x x k w2="}, false, FIT_ANY},
    {{"BD r0= x x k w1=", "B r3= x k w2="}, false, FIT_ANY},
    {{"BD r0= x y w1=", "BD r1= x k x w2="}, false, FIT_ANY},
    {{"BD r0= x y w1=", "BD r1= x k x w2="}, false, FIT_ANY},
    {{"BD r0= x k x w1=", "BD r1= x x k w2="}, false, FIT_ANY},
    {{"L r0= w1=", "BD r1= x k x k w2="}, false, FIT_ANY},
    {{"BD r0= x x k w1=", "L r1= w2=", "BD r2= x k x w3="}, false, FIT_ANY},
    {{"BR r0= x x w1=", "B r3= x w2="}, false, FIT_WARPS},
    {{"BR r0= u w1=", "B r3= x w2="}, false, FIT_WARPS},
    {{"B r0= z w1=", "B r3= x w2="}, false, FIT_WARPS},
    {{"B r0= w1= r2f v", "B r1= x w3=", "B r3= x w4="}, false, FIT_WARPS},
    {{"L r0= w1=W", "B r2= h1 w3="}, false, FIT_WARPS},
    /* threads alone */
    {{"L r0= w1=", "L r2= w1=%", "L r1= w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r0= r2= w1=%"}, true, FIT_ANY},
    {{"L r0= w1= w3=", "L r1= r2= w3=% w4=", "L r3= w5="}, true, FIT_ANY},
    {{"L r0= w1=", "L r1= w2=", "L r2= r3= w1=%"}, true, FIT_ANY},
    {{"L r0| w1|", "L r1| w2|"}, false, FIT_ANY},
    {{"L r0= w1=", "L r1o# w2="}, false, FIT_ANY},
    {{"T r0= w1=", "L r1= w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r2= w3=", "L r1= w4=", "L r3= w5="}, true, FIT_ANY},
    /* elements that data name: of what nobody writes, then of what the first one wrote */
    {{"L r0= w1=", "L r2@ r1= w3=", "L r1@ w4="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1= r2@ w1="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1@ w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1@ w2="}, false, FIT_ANY},
    {{"L r0= w1=?", "L r1@ r0= w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=?", "L r1@ r0= w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=?", "L r1@ r0= w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=?", "L r1@ r0= w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1= w2=", "L r2= w3=", "L r3@ r1= w4="}, false, FIT_ANY},
    {{"L r0= w1= w2=", "L r2= w3=", "L r3@ r1= w4="}, false, FIT_ANY},
};

/* Data keep threads from storing what neighbours read; and elements that two kernels write in different threads. */
static const struct kernel_scene by_chance[] = {
    /* data keep threads from storing what neighbours read: then it is what it was before, unless another kernel writes it */
    {{"L r0= w1=%", "L r1* w2="}, true, FIT_ANY},
    {{"L r0= w1=%", "L r1+ r1- w2=", "L r2= w3="}, true, FIT_ANY},
    {{"L r0= w1=%", "L r1* w2=%", "L r2* w3="}, true, FIT_ANY},
    {{"L r0= w1=", "L r2= w1=%", "L r1* w3="}, true, FIT_ANY},
    {{"L r0= w1=% w1=?", "L r1* w3="}, true, FIT_ANY},
    {{"L r0= w1=%", "L r1* w2=", "L r3= w1="}, true, FIT_ANY},
    {{"L r0= w1=%", "L r1* w2=", "L r1= w1=%"}, true, FIT_ANY},
    {{"L r0= w1=%", "S r1y w1a r1d w1z", "L r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=%", "S r1d w1a", "L r1* w2=", "L r2* r1- w3="}, true, FIT_LONG},
    /* two sides have a corner, with a value of each */
    {{"L r0= w1=I", "S r3a w1a r3z w1z", "S r1d w1a r1y w1z", "L r1- r1* w2="}, true, FIT_LONG},
    {{"L r0= w1=I", "S r1d w1a", "S r3a w1a", "S r1y w1z", "L r1* r1* w2="}, true, FIT_LONG},
    {{"S r3a w1a", "S r1d w1z", "L r1* w2="}, true, FIT_LONG},
};

/* Threads with several elements before and after threads with one each. */
static const struct kernel_scene shares[] = {
    {{"C r0= w1=", "L r1= w2="}, false, FIT_ANY},
    {{"L r0= w1=", "C r1= w2="}, false, FIT_ANY},
    {{"C r0= w1=", "L r1= w1=", "C r1= w2="}, false, FIT_ANY},
    {{"C r0= w1=", "L r1= w0="}, false, FIT_ANY},
    {{"L r0= w1= w3=", "C r1= w2=", "L r2= r3= w4="}, false, FIT_ANY},
    {{"C r0= w1=?", "L r1= w2="}, false, FIT_ANY},
    {{"C r0= w1=", "L r1= w1=!", "L r1= w2="}, false, FIT_ANY},
    {{"C r0= w1=", "L r1+ w2="}, false, FIT_ANY},
    {{"C r0= w1=", "B r1= x w2="}, false, FIT_ANY},
    {{"B r0= x w1=", "C r1= w2="}, false, FIT_ANY},
    {{"B r0= x w1=", "C r1= w2=", "B r2= x w3="}, false, FIT_ANY},
    {{"BR r0= u w1=", "C r1= w2=", "L r2= w3="}, false, FIT_WARPS},
    {{"C r0= a5 w1=", "L r1= w2=", "L r5= w3="}, false, FIT_ANY},
    {{"C r0= w1=", "T r1= w2="}, false, FIT_ANY},
};

/* Lines of threads over rows, longer than a border along the line may be. */
static const struct kernel_scene rows[] = {
    {{"L r0= w1=", "L r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1n r1n r1n w2="}, false, FIT_ANY},
    {{"L r0n w1=", "L r1n r1= w2=", "L r2n w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1N r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1N w2=", "L r2n w3="}, false, FIT_ANY},
    {{"L r0= w1=?", "L r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=%", "L r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=I w3=", "L r1n r3n w2="}, false, FIT_ANY},
    {{"L r0= w1=U w3= w1=?", "L r1n w2=", "L r2n w4="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1s w2=", "L r2n w3="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1s w2s", "L r2n w3="}, false, FIT_ANY},
    {{"L r0= w1= w2=", "L r1n w2s", "L r2n w3="}, false, FIT_ANY},
    {{"L r0n w1=", "L r1= w0="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1n w0=", "L r0= w2="}, false, FIT_ANY},
    {{"L r0= w1= a5", "L r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1n w2=", "B r2= x w3="}, false, FIT_ANY},
    {{"L r0= w1=", "T r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1n r3@ w2="}, false, FIT_ANY},
    {{"L r0= w1=G", "L r1n w2="}, false, FIT_ANY},
    {{"L r0= w1=G w3=", "L r1n r3n w2="}, false, FIT_ANY},
    {{"L r0= w1=", "L r1n w2=G", "L r2n w3="}, false, FIT_ANY},
};

/* A few layers of rows, of one line of threads, and a thread for a cell of all of them. */
static const struct kernel_scene layers[] = {
    {{"P r0s r0i w1h w1i w1j w1l", "L r1n r1= w2s"}, false, FIT_ANY},
    {{"P r0s r0n w1h w1i w1j w1l", "L r1n r1n r3s w2=", "L r2= w3="}, false, FIT_ANY},
    {{"P r0s r0i w1=", "L r1m r0s w2=", "L r2n w3="}, false, FIT_ANY},
    {{"P r0s r0n w1=", "L r1m w2s", "L r2s w3="}, false, FIT_ANY},
    {{"L r0s w1=", "P r1h r1i r0s w2=", "L r2m r1= w3="}, false, FIT_ANY},
    {{"L r0s w1=", "P r1h r1j r1n r0s w2=", "L r2m r0= w3="}, false, FIT_ANY},
    {{"P r0s r0i w1h w1i w1j w1l", "L r1n r0s w2=", "P r2h r2i r2n w3=", "L r3m w4="}, false, FIT_ANY},
    {{"P r0s r0i w1=%", "L r1m r0s w2="}, false, FIT_ANY},
    {{"P r0s w1h% w1i w1j w1l", "L r1n r0s w2="}, false, FIT_ANY},
    {{"P r0s r0i w1=?", "L r1m r0s w2="}, false, FIT_ANY},
    {{"L r0s w1=", "P r1h r1i r0s w1h", "L r1n w2="}, false, FIT_ANY},
    {{"L r0s w1=", "P r1h r1n r0s w2=", "L r2m w1="}, false, FIT_ANY},
    {{"P r0s r0i w1h w1i w1j w1l", "L r1n w0="}, false, FIT_ANY},
    {{"P r0s w1h a5", "L r1n r1m r0s w2="}, false, FIT_ANY},
};

/* Tiles: what a block loads it stages in shared memory, where threads read what others have loaded. Some write what they stage; some
 * meet otherwise, too. */
static const struct kernel_scene tiles[] = {
    {{"L r0= w1=", "B r1= g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"B r0= g w1=", "B r1= g w2="}, false, FIT_ANY},
    {{"B r0= g w1=", "B r1+ g w2=", "B r2= g w3="}, false, FIT_ANY},
    {{"BR r0= g w1=", "BR r1= g w2="}, false, FIT_ANY},
    {{"BR r0= g w1=", "L r1+ w2=", "BR r2= g w3="}, false, FIT_ANY},
    {{"BD r0= g w1=", "BD r1= g w2="}, false, FIT_ANY},
    {{"BD r0= g r2= g w1=", "BD r1= g r1= g w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= g w1=", "L r1= w2="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= g w2= w1=", "L r1= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= g r1=A g w2="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1=? g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1=I g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1=U g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1=% g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r3@ r1= g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= g x w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= g w2=", "L r2= w1=", "B r1= g w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1= r2= g w1= w3=", "L r1= r3= w4="}, false, FIT_ANY},
    {{"L r0* w1=", "B r1* g w2=", "L r2= w3="}, false, FIT_ANY},
    {{"L r0= w1=", "B r1+ r1- g w2=", "L r2* w3="}, false, FIT_ANY},
};

/* Sweeps: what two groups leave stale of one array, of which the one writes an edge that the other does not. */
static const struct kernel_scene sweeps[] = {
    {{"L r0= w1=", "L r1* w2=", "/L r3= w1=I", "L r1=I w4=I"}, true, FIT_LONG},
    {{"L r0= w1=", "L r1+ w2=", "/L r3= w1=I", "L r1=I w4=I"}, true, FIT_LONG},
    {{"L r0= w1= w5=", "L r1* r5+ w2=", "/L r3= w1=I w5=", "L r1=I r5* w4=I"}, true, FIT_LONG},
    {{"L r0= w1=", "L r1- w2=", "/L r3= w1=U", "L r1=U w4=U"}, true, FIT_LONG},
    {{"L r3= w1=I", "L r1=I w4=I", "/L r0= w1=", "L r1* w2=", "L r1= w5="}, true, FIT_LONG},
};

/* Updates in place, which a group renames, and what stands between its uses: borders, readers, other groups; some of which may not be
 * given the other buffer. */
static const struct kernel_scene in_place[] = {
    {{"S r0y w0a r0d w0z", "L r0* w1=", "L r1= w0=I"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "S r0y w0a r0d w0z", "S r0d w2a"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=", "S r0y w3a"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=", "S r0y w0a"}, true, FIT_LONG},
    {{"L r0* w1=I", "L r1= w0=I", "B r0= x w3="}, false, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "L r3@ r0= w4="}, false, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "L r0@ w4="}, false, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "S r0y w0a", "L r0* w2=", "L r2= w0=I"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "S r0y w0a", "L r0* w1=I", "L r1= w0=I"}, true, FIT_LONG},
    {{"L r0* r3* w1= w2=", "L r1= r2= w0= w3=", "S r0y w0a r3d w3z"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "S r5a w0a%"}, true, FIT_LONG},
    {{"L r0* w1=", "L r1= w0=I", "S r0d w0a", "L r1= w4="}, true, FIT_LONG},
};

/* Sweeps that each update every other element, from its neighbours, which a group renames: what a launch reads is new, old, or of both
 * kinds. In the last ones it has been written in the same launch. */
static const struct kernel_scene colours[] = {
    {{"L r01E r0=E w0=E", "L r01! r0=! w0=!"}, true, FIT_LONG},
    {{"L r01! w0=!", "L r01E r3=E w0=E"}, true, FIT_LONG},
    {{"L r01E r3=E w0=E", "L r01! r3=! w0=!", "L r0* w2="}, true, FIT_LONG},
    {{"L r01E r0=E w0=E", "S r0d w0a", "L r01! r0=! w0=!"}, true, FIT_LONG},
    {{"L r01E w0=E", "S r0d w0a r0y w0z", "L r01! r0=! w0=!", "S r0d w0a r0y w0z"}, true, FIT_LONG},
    {{"L r01E w0=E", "L r0= w1=", "L r01! r0=! w0=!"}, true, FIT_LONG},
    {{"L r01E w0=E", "L r0* w1=", "L r01! r1=! w0=!"}, true, FIT_LONG},
    {{"L r01E w0=E w0=EA", "L r0= w1=", "L r01! w0=!"}, true, FIT_LONG},
    {{"L r01E w0=E", "L r01! r0=! w0=!", "L r01E r0=E w0=E"}, true, FIT_LONG},
    {{"L r01E w0=E", "L r01! w0=! r0=!A w1=!"}, true, FIT_LONG},
    {{"L r01E r0=E w0=E r0=EA w1=E", "L r01! w0=! r0=!A w1=!"}, true, FIT_LONG},
};

/* Threads that each have several elements, a grid's threads apart, beside threads with one each. */
static const struct kernel_scene strides[] = {
    {{"G r0= w1=", "L r1* w2="}, false, FIT_LONG},
    {{"L r0= w1=", "G r1* w2="}, false, FIT_LONG},
    {{"G r0= w1=", "G r1* w2=", "G r2= w3="}, false, FIT_LONG},
    {{"L r0= w1=", "G r1* w2=", "L r2* w3="}, false, FIT_LONG},
    {{"G r0* w1=", "G r1= w0="}, false, FIT_LONG},
    {{"G r0* w1=", "G r1= w0=I", "S r0y w0a r0d w0z"}, false, FIT_LONG},
    {{"G r0= w1=?", "L r1* w2="}, false, FIT_LONG},
    {{"G r0= w1=%", "G r1+ w2="}, false, FIT_LONG},
    {{"G r0b w1=", "L r1* w2="}, false, FIT_LONG},
    {{"G r0k r0= w0=", "L r0* w1="}, false, FIT_LONG},
    {{"G r0k r0= w0=", "L r0* w1="}, false, FIT_LONG},
    {{"G r0k r0= w0=A", "L r0* w1="}, false, FIT_LONG},
    {{"L r2= w0=", "G r0k r0= w0=", "L r0* w1="}, false, FIT_LONG},
    {{"G r0= w1k w1=", "L r1* w2="}, false, FIT_LONG},
    {{"G r0= w1= a5", "L r1* w2="}, false, FIT_LONG},
    {{"G r0= w1=", "B r1= x w2="}, false, FIT_LONG},
    {{"C r0= w1=", "G r1= w2=", "L r2* w3="}, false, FIT_LONG},
    {{"G r0= w1=", "L r1@ r1= w2="}, false, FIT_LONG},
    {{"G r2@ r0= w1=", "L r1* w3="}, false, FIT_LONG},
};

static const struct kernel_scene *draw_rows(struct random *random, struct kernel_theme *theme)
{
    theme->row = random_of(random, 67, 67, 81, 70, 96, 128);
    if (random_chance(random, 30)) {
        theme->row = random_of(random, 7, 9, 10);
        theme->layer = theme->row * random_of(random, 10, 11, 13);
    }
    return &rows[random_below(random, sizeof rows / sizeof *rows)];
}

static const struct kernel_scene *draw_layers(struct random *random, struct kernel_theme *theme)
{
    theme->row = random_of(random, 7, 9, 10);
    theme->layer = theme->row * random_of(random, 6, 10, 11, 13);
    theme->layers = random_of(random, 2, 3, 4, 4);
    return &layers[random_below(random, sizeof layers / sizeof *layers)];
}

static const struct kernel_scene *draw_scene(struct random *random, struct kernel_theme *theme)
{
    if (random_chance(random, theme->unseen_scenes)) return kernel_draw_unseen(random, theme);
    if (random_chance(random, 5)) return &sweeps[random_below(random, sizeof sweeps / sizeof *sweeps)];
    if (random_chance(random, 5)) return &in_place[random_below(random, sizeof in_place / sizeof *in_place)];
    if (random_chance(random, 5)) return &colours[random_below(random, sizeof colours / sizeof *colours)];
    if (random_chance(random, 6)) return &strides[random_below(random, sizeof strides / sizeof *strides)];
    if (random_chance(random, 6)) return &tiles[random_below(random, sizeof tiles / sizeof *tiles)];
    if (random_chance(random, 8))
        return &by_chance[random_below(random, sizeof by_chance / sizeof *by_chance)];
    if (random_chance(random, 8)) return draw_layers(random, theme);
    if (random_chance(random, 15)) return kernel_draw_by_data(random);
    if (random_chance(random, 47)) return kernel_draw_loops(random, theme);
    if (random_chance(random, 15)) return draw_rows(random, theme);
    if (random_chance(random, 12)) return &shares[random_below(random, sizeof shares / sizeof *shares)];
    return &scenes[random_below(random, sizeof scenes / sizeof *scenes)];
}

/* Kinds of fusion share the programs out, not scenes. */
void kernel_draw_scene(struct random *random, struct kernel_theme *theme)
{
    const struct kernel_scene *scene = draw_scene(random, theme);
    theme->scene = scene;
    theme->is_flat = scene->may_be_flat && random_chance(random, 30);
    theme->block = (uint32_t)random_of(random, 32, 64, 96, 128, 256);
    if (scene->fit == FIT_CROOKED) theme->block = (uint32_t)random_of(random, 96, 96, 160, 256);
    if (scene->fit == FIT_WARPS && theme->block < 64) theme->block = 96;
    if (scene->fit == FIT_LONG && theme->block > 128) theme->block = 64;
    theme->stride_blocks = (uint32_t)random_of(random, 1, 1, 2, 3);
    int32_t block = (int32_t)theme->block;
    if (scene->fit == FIT_WHOLE)
        theme->length = block * random_of(random, 1, 2, 3);
    else if (scene->fit == FIT_WARPS)
        theme->length = block * random_of(random, 1, 2) + 32;
    else
        theme->length = random_of(random, 256, 300, 320, 384, 500);
    if (theme->has_loops) theme->length = random_of(random, 60, 96, 100, 160);
    if (scene->fit == FIT_LONG) theme->length = random_of(random, 160, 256, 300, 384, 384, 500);
    if (theme->row) /* of whole rows or not, also one element more, or fewer */
        theme->length = theme->row * random_of(random, 3, 4, 5, 6) + random_of(random, 0, 0, 1, -1, 30);
    if (theme->layers)
        theme->length = theme->layer * theme->layers;
    else if (theme->layer)
        theme->length = theme->layer * random_of(random, 3, 4) + random_of(random, 0, 0, 1, -1, 17);
    theme->border = random_of(random, 1, 1, 1, 2, 3);
    if (!theme->has_loops && !theme->is_unseen && random_chance(random, 20))
        theme->levels_of = (uint32_t)random_of(random, -1, -1, 2, 7, 9, 1, 6);
    theme->has_rings = theme->levels_of && random_chance(random, 40);
    theme->turn = random_below(random, KERNEL_SLOTS);
    while (theme->scene_length < KERNEL_SCENE_MOST && scene->kernels[theme->scene_length])
        theme->scene_length++;
}

uint32_t kernel_scene_first(const struct kernel_theme *theme)
{
    for (uint32_t i = 1; theme->scene && i < theme->scene_length; i++)
        if (theme->scene->kernels[i][0] == '/') return i;
    return 0;
}

const char *kernel_scene_text(const struct kernel_theme *theme, uint32_t index)
{
    const char *text = theme->scene->kernels[index];
    return text + (*text == '/');
}

static const char *text_of(const struct writer *writer)
{
    return kernel_scene_text(writer->theme, writer->kernel->scene - 1);
}

void kernel_choose_scene_shape(struct writer *writer)
{
    struct kernel *kernel = writer->kernel;
    const char *text = text_of(writer);
    if (*text == 'S') {
        kernel->limit = !writer->theme->is_flat ? 'w' : random_chance(writer->random, 50) ? 'n' : 'h';
        kernel->width = text[1] == 'H' ? random_of(writer->random, 128, 256, 256) : writer->theme->border;
    }
    if (*text == 'P') {
        kernel->limit = 'w';
        kernel->width = writer->theme->layer;
    }
    kernel->shape = *text == 'S'             ? KERNEL_LINE
                    : *text == 'B'           ? KERNEL_BLOCK
                    : *text == 'C'           ? KERNEL_CHUNK
                    : *text == 'G'           ? KERNEL_STRIDE
                    : writer->theme->is_flat ? KERNEL_PLANE
                                             : KERNEL_LINE;
    kernel->is_tall = *text == 'T';
    kernel->is_plain = true;
    kernel->is_column = writer->theme->has_loops;
    kernel->index =
        *text == 'B' || *text == 'S' || *text == 'P' ? 'i' : "iiil"[random_below(writer->random, 4)];
    kernel->value = writer->theme->value;
    kernel->returns = text[1] == 'R' || kernel->limit || (*text != 'B' && random_chance(writer->random, 40));
    kernel->is_dynamic = text[1] == 'D';
    /* what cells are no threads, only the launch then says */
    kernel->is_exact = writer->theme->row && *text == 'L' && random_chance(writer->random, 30);
}

static uint32_t pointer_to(struct writer *writer, uint32_t slot, bool is_other)
{
    struct kernel *kernel = writer->kernel;
    for (uint32_t p = 0; p < kernel->pointer_count && !is_other; p++)
        if (kernel->slots[p] == slot + 1) return p;
    if (kernel->pointer_count == KERNEL_POINTERS) return 0;
    kernel->pointers[kernel->pointer_count].type = kernel_draw_type(writer);
    kernel->slots[kernel->pointer_count] = (unsigned char)(slot + 1);
    return kernel->pointer_count++;
}

/* In a line, as many elements as the border has; in a plane, one row or column of it. */
static void choose_edge(struct writer *writer, struct kernel_access *access, char element)
{
    int32_t width = writer->kernel->limit == 'w' ? writer->kernel->width : 1;
    bool is_behind = element == 'z' || element == 'y', is_inside = element == 'd' || element == 'y';
    access->c = is_behind ? -width * (1 + is_inside) : width * is_inside;
    access->map = writer->kernel->limit == 'n'   ? MAP_EDGE_ROW
                  : writer->kernel->limit == 'h' ? MAP_EDGE_COLUMN
                  : is_behind                    ? MAP_END
                                                 : MAP_SHIFT;
}

/* By row and column, or by numbers, which know of no rows. */
static void choose_neighbour(struct writer *writer, struct kernel_access *access, bool may_be_layer)
{
    struct random *random = writer->random;
    int32_t row = writer->theme->row, layer = writer->theme->layer;
    access->map = random_of(random, MAP_CELL, MAP_CELL, MAP_CLAMP, MAP_CLAMP, MAP_WRAP);
    access->row = row;
    access->c = random_of(random, -1, 1, 1, -1, 2, 0);
    access->d = random_of(random, 0, 0, -1, 1);
    if (layer && may_be_layer) access->c *= layer / row;
    if (access->map == MAP_CELL) return;
    access->c = access->c * row + access->d;
    if (access->map == MAP_WRAP && access->c <= 0) access->c = row;
}

/* In a plane, neighbours are to the right or below. */
static void choose_element(struct writer *writer, struct kernel_access *access, uint32_t slot, char element)
{
    static const char components[] = "hijl";
    struct random *random = writer->random;
    bool is_plane = writer->kernel->shape == KERNEL_PLANE;
    if (element == '*') element = "+++--~~^"[random_below(random, 8)];
    switch (element) {
    case 'a':
    case 'z':
    case 'd':
    case 'y':
        choose_edge(writer, access, element);
        break;
    case '+':
        access->map = is_plane && random_chance(random, 60) ? MAP_OFFSET : MAP_SHIFT;
        access->c = random_of(random, 1, 1, 1, 2, access->map == MAP_OFFSET ? 1 : 7);
        break;
    case '-':
        access->map = MAP_CLAMP;
        access->c = random_of(random, -1, -1, -3);
        if (random_chance(random, 50)) break;
        access->map = MAP_SHIFT;
        access->c = -1;
        access->guard = GUARD_INNER;
        break;
    case '~':
        access->map = is_plane ? MAP_CLAMP : MAP_WRAP;
        access->c = random_of(random, 1, 1, 5);
        break;
    case '^':
        access->map = MAP_CLAMP;
        access->c = random_of(random, 1, 2, -3);
        break;
    case 'k':
        access->map = MAP_SHIFT;
        access->c = (int32_t)(writer->theme->block * writer->theme->stride_blocks);
        break;
    case '1':
        access->map = MAP_CLAMP;
        access->c = random_of(random, -1, 1);
        break;
    case 'b':
        access->map = MAP_IN_BLOCK;
        access->c = random_of(random, 1, 1, 2, 16, 31);
        break;
    case 'f':
        access->map = MAP_WARP;
        break;
    case '|':
        access->map = MAP_COLUMN;
        access->c = 0;
        access->trips = -1;
        break;
    case 'n':
    case 'N':
        choose_neighbour(writer, access, element == 'N');
        break;
    case 's':
        access->map = MAP_SPLIT;
        access->d = random_of(random, 2, 2, 1, 3);
        access->c = writer->theme->row - access->d;
        break;
    case '@':
        access->map = kernel_draw_index(writer) ? MAP_ROAM : MAP_OWN;
        access->c = random_of(random, 31, 127, 127);
        break;
    case '$':
        kernel_choose_chosen(writer, access);
        break;
    case 'h':
    case 'i':
    case 'j':
    case 'l':
        access->map = MAP_SHIFT;
        access->c = (int32_t)(strchr(components, element) - components) % writer->theme->layers *
                    writer->theme->layer;
        break;
    case 'm':
        access->map = MAP_MODULO;
        access->c = writer->theme->layer;
        break;
    case 'o':
        access->map = MAP_TIMES;
        access->c = 2;
        access->d = random_of(random, 1, 3, 3, 2);
        writer->kernel->pointers[access->pointer].type = kernel_half_type(writer);
        break;
    default:
        access->map = MAP_OWN;
        if (!is_plane && !writer->kernel->limit && slot < 32 && writer->theme->levels_of >> slot & 1)
            access->map = writer->theme->has_rings ? MAP_RING : MAP_OFFSET;
    }
}

static enum kernel_guard draw_guard(struct random *random, char letter)
{
    static const char letters[] = "?!U%#GWIE";
    const enum kernel_guard guards[] = {
        (enum kernel_guard)random_of(random, GUARD_ODD, GUARD_EVEN, GUARD_BELOW, GUARD_BELOW),
        GUARD_ODD,
        GUARD_BELOW,
        GUARD_DATA,
        GUARD_INNER,
        GUARD_IN_BLOCK,
        GUARD_FIRST_WARP,
        GUARD_INSIDE,
        GUARD_EVEN};
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? guards[found - letters] : GUARD_NONE;
}

static void write_access(struct writer *writer, const char *token)
{
    struct kernel *kernel = writer->kernel;
    if (kernel->access_count + 2 > KERNEL_ACCESSES) return;
    struct kernel_access *access = &kernel->accesses[kernel->access_count++];
    size_t length = strcspn(token, " ");
    bool is_other = token[length - 1] == 'A';
    *access = (struct kernel_access){.pointer = pointer_to(writer, (uint32_t)(token[1] - '0'), is_other),
                                     .guard = length > 3 ? draw_guard(writer->random, token[3]) : GUARD_NONE,
                                     .is_write = *token == 'w'};
    kernel_draw_constants(writer, access);
    choose_element(writer, access, (uint32_t)(token[1] - '0'), token[2]);
    if (length > 3 && token[3] == 'U') access->d = writer->theme->length * 3 / 4 | 1; /* and unlikely */
    if (access->guard == GUARD_INSIDE) access->d = writer->theme->is_flat ? 1 : writer->theme->border;
    if (access->guard == GUARD_IN_BLOCK && access->map == MAP_OWN)
        access->c = random_of(writer->random, 1, 7, 31); /* the element has no use for it */
    kernel_set_in_loop(writer, access, token[2]);
    if (!access->is_write) {
        kernel_write_load(writer, access);
        return;
    }
    bool is_copied = *text_of(writer) == 'S' && random_chance(writer->random, 65);
    if (!is_copied && random_chance(writer->random, 30)) kernel_write_compute(writer);
    if (!is_copied) kernel_write_mixture(writer);
    kernel_write_store(writer, access);
}

/* The other warps read what was in the first one's cells, and then that writes them. */
static void write_handover(struct writer *writer, uint32_t slot)
{
    struct kernel *kernel = writer->kernel;
    uint32_t pointer = pointer_to(writer, slot, false), from = writer->values - 1, to = writer->values++;
    const char *type = kernel_value_type(writer), *element = kernel->pointers[pointer].type->name;
    bool is_turned = random_chance(writer->random, 50);
    if (kernel->access_count + 2 > KERNEL_ACCESSES) return;
    kernel->accesses[kernel->access_count++] = (struct kernel_access){
        .pointer = pointer, .map = MAP_FIRST, .guard = GUARD_OTHER_WARPS, .is_handed = true};
    kernel->accesses[kernel->access_count++] =
        (struct kernel_access){.pointer = pointer, .guard = GUARD_FIRST_WARP, .is_write = true};
    writer->is_written[pointer] = writer->is_parted = true;
    kernel_say(writer, "%s v%u = 0;\nif (threadIdx.x %s 32) {\n", type, to, is_turned ? ">=" : "<");
    for (int side = 0; side < 2; side++) {
        if (side == is_turned)
            kernel_say(writer, "__syncthreads();\nif (in) p%u[i] = (%s)%s(v%u);\n", pointer, element,
                       kernel_stored(writer, pointer), from);
        else
            kernel_say(writer,
                       "if (in) v%u = (%s)p%u[i - threadIdx.x + threadIdx.x %% 32];\n__syncthreads();\n", to,
                       type, pointer);
        kernel_say(writer, side ? "}\n" : "} else {\n");
    }
}

static void write_token(struct writer *writer, const char *token)
{
    static const char meetings[] = "xyzuvkqg";
    const char *found = strchr(meetings, *token);
    if (strchr("{[(}", *token)) {
        kernel_write_loop(writer, *token);
    } else if (*token == 'c') {
        kernel_write_sum(writer);
    } else if (*token == 'r' || *token == 'w') {
        write_access(writer, token);
    } else if (*token == 'a') {
        uint32_t pointer = writer->kernel->pointer_count;
        kernel_write_atomic(writer);
        if (writer->kernel->pointer_count > pointer)
            writer->kernel->slots[pointer] = (unsigned char)(token[1] - '0' + 1);
    } else if (*token == 'e') {
        kernel_write_sum_up(writer, pointer_to(writer, (uint32_t)(token[1] - '0'), false));
    } else if (*token == 'd') {
        uint32_t from = pointer_to(writer, (uint32_t)(token[1] - '0'), false);
        bool stores = token[2] >= '0' && token[2] <= '9';
        kernel_write_by_data(writer, from,
                             stores ? pointer_to(writer, (uint32_t)(token[2] - '0'), false) : from);
    } else if (*token == 'h') {
        write_handover(writer, (uint32_t)(token[1] - '0'));
    } else if (found) {
        kernel_write_meeting(writer, (enum kernel_meeting)(found - meetings));
    }
}

void kernel_write_scene(struct writer *writer)
{
    for (const char *token = strchr(text_of(writer), ' '); token; token = strchr(token, ' '))
        write_token(writer, ++token);
}
