/* SPDX-License-Identifier: Apache-2.0
 * What draws the statements of a kernel, as CUDA C and as data: kernel.c; kernel_step.c for those of a time
 * step, kernel_scene.c for those of a scene, kernel_block.c where threads of a block meet. */
#ifndef KFUSE_TESTS_REFEREE_KERNEL_WRITER_H
#define KFUSE_TESTS_REFEREE_KERNEL_WRITER_H

#include "tests/referee/kernel.h"

#include <stddef.h>

struct text {
    char bytes[8192];
    size_t size;
};

struct writer {
    struct kernel *kernel;
    struct random *random;
    const struct kernel_theme *theme;
    struct text text;
    uint32_t values; /* v0, v1 ... */
    bool is_parted;  /* barriers no longer wait for the whole block */
    uint32_t kept;   /* 0, or 1 more than the number of a shared array that does not change any more */
    bool has_index;  /* of a gather */
    uint32_t index_pointer;
    bool is_written[KERNEL_POINTERS];
    char loop;                             /* the letter of the loop that is being written, or 0 */
    uint32_t values_outside, kept_outside; /* of it */
    uint32_t program, index;
};

__attribute__((format(printf, 2, 3))) void kernel_say(struct writer *writer, const char *format, ...);
const char *kernel_value_type(const struct writer *writer);
const struct kernel_type *kernel_draw_type(struct writer *writer);
const struct kernel_type *
kernel_half_type(const struct writer *writer); /* half as wide as the kernel's values */
/* The pointer whose elements, touched at i, say where a gather reads. One a kernel; false where there is none
 * to have. */
bool kernel_draw_index(struct writer *writer);
/* The numbers of an access whose map and guard are known. */
void kernel_draw_constants(struct writer *writer, struct kernel_access *access);

/* One statement. Of a value there is one more behind it; access may be NULL: none. */
void kernel_write_load(struct writer *writer, struct kernel_access *access);
void kernel_write_compute(struct writer *writer);
void kernel_write_inline(struct writer *writer);
void kernel_write_store(struct writer *writer, struct kernel_access *access);
const char *kernel_stored(const struct writer *writer, uint32_t pointer);
void kernel_write_atomic(struct writer *writer);

/* kernel_access.c: the next access, or NULL: there is no room, or it would write a constant; the element that
 * it means, the condition under which it is made, and the loop around it, as C */
struct kernel_access *kernel_draw_access(struct writer *writer, bool is_write);
void kernel_write_element(struct writer *writer, const struct kernel_access *access);
void kernel_write_guard(struct writer *writer, const struct kernel_access *access);
void kernel_write_trips(struct writer *writer, const struct kernel_access *access);
const struct kernel_type *kernel_int_type(void);
const struct kernel_type *kernel_double_type(void);
bool kernel_is_vector(const struct writer *writer, const struct kernel_access *access);

/* kernel_struct.c: how the arguments in a struct are read; its type and what goes with it; the parameter; the first
 * lines of the kernel */
enum kernel_struct kernel_draw_struct(const struct writer *writer);
void kernel_write_struct_type(struct writer *writer);
void kernel_write_struct_parameter(struct writer *writer);
void kernel_write_struct_parts(struct writer *writer);

/* kernel_constant.c: which of the scalars are in variables; the first lines of the kernel */
void kernel_draw_constant_scalars(struct writer *writer);
void kernel_write_constants(struct writer *writer);

/* kernel_block.c */
enum kernel_meeting {
    MEETING_TURNED,
    MEETING_TREE,
    MEETING_PARTED_TREE, /* not all warps reach its barriers */
    MEETING_SIDE,        /* on one side of a branch that all take */
    MEETING_LOADED,      /* for those only that have loaded more than 1; by warp, the program sees to that */
    MEETING_KEPT,        /* looks again at what was shared earlier */
    MEETING_WARP,        /* a shuffle */
    MEETING_NEAR         /* the last value, of a thread beside */
};
void kernel_write_meeting(struct writer *writer, enum kernel_meeting meeting);
void kernel_write_exchange(struct writer *writer);

/* kernel_unseen.c: what is hidden of the kernel, whose shape is drawn; at its end, which pointers
 * are; the whole of a kernel that sets a flag, reads a clock or is of another module, false where it is not
 * one */
const struct kernel_scene *kernel_draw_unseen(struct random *random, struct kernel_theme *theme);
void kernel_draw_sight(struct writer *writer);
void kernel_hide_pointers(struct writer *writer);
bool kernel_write_special(struct writer *writer);

/* kernel_scene.c */
void kernel_choose_scene_shape(struct writer *writer);
void kernel_write_scene(struct writer *writer);

/* A kernel is a letter for its shape and statements, with blanks between them. Shapes: L, a line; T, one in
 * blocks of two dimensions; G, a grid-stride loop; B, one that shares memory in its blocks; BR, where threads behind the end return
 * at once; BD, with dynamic shared memory too; S, a few threads for the border of the arrays of the others,
 * in planes a row or a column; SH, those of the first blocks of a line alone; P, a thread for a cell of all layers; U, a line of which something
 * is hidden; F and K, one thread that sets a flag, or reads a clock. A statement r or w, with a slot's
 * digit, a letter for the element and perhaps one for a guard, reads or writes the array in the slot; A at
 * its end: through another pointer. a, with a slot's digit, counts there by atomics. x y z u v k q g are the
 * meetings of enum kernel_meeting; h, with a slot's digit, hands over from the first warp to the others.
 * Elements: own (=), behind (+), before (-), near (*), in the block (b), the warp's first (f), the column
 * (|), half of an element (o), the thread's next one in a grid-stride loop (k), a neighbour in rows (n) or in layers of rows (N), a part of each row (s), the cell of all layers (m); in P, that of a layer (h i j l); in
 * S, of the border before (a) and behind (z), inside beside it (d, y). Guards: inside the border (I), and
 * odd (!), odd or even or below a bound (?), below a bound (U), data (%), inner (#), both in one block (G),
 * the first warp (W). Before the shape, / : a wait or an event stands before the kernel. Loops: kernel_loop.c. A scene whose faults few others show stands in its table several
 * times. */
struct kernel_scene {
    const char *kernels[KERNEL_SCENE_MOST];
    bool may_be_flat; /* as planes */
    enum kernel_fit fit;
};

/* kernel_loop.c: a scene; the beginning or end of a loop; an access in one */
const struct kernel_scene *kernel_draw_loops(struct random *random, struct kernel_theme *theme);
void kernel_write_loop(struct writer *writer, char letter);
void kernel_write_sum(struct writer *writer);
void kernel_set_in_loop(const struct writer *writer, struct kernel_access *access, char element);

/* kernel_data.c: a scene; a loop over elements of a pointer's array, which stores through another one (or the same one:
 * it does not); a sum in floating point; makes it an access to an element that data choose, where that can be had */
const struct kernel_scene *kernel_draw_by_data(struct random *random);
void kernel_write_by_data(struct writer *writer, uint32_t from, uint32_t to);
void kernel_write_sum_up(struct writer *writer, uint32_t pointer);
void kernel_choose_chosen(struct writer *writer, struct kernel_access *access);

/* Of all values, so that the compiler keeps the loads. */
void kernel_write_mixture(struct writer *writer);
/* kernel_step.c: reads 0 and 1, writes 2, often 3, and sometimes places of 2 again. */
void kernel_write_step(struct writer *writer);

#endif
