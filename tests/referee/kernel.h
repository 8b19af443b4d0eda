/* SPDX-License-Identifier: Apache-2.0
 * A random kernel: its CUDA C, and the same accesses as data, so that a launch of it can be enumerated. */
#ifndef KFUSE_TESTS_REFEREE_KERNEL_H
#define KFUSE_TESTS_REFEREE_KERNEL_H

#include "common/arena.h"
#include "tests/referee/random.h"

enum { KERNEL_POINTERS = 5, KERNEL_ACCESSES = 16 };

enum kernel_shape {                /* how threads share the elements out */
                    KERNEL_LINE,   /* thread i has element i; a guard, a return or an exact fit */
                    KERNEL_STRIDE, /* a grid-stride loop */
                    KERNEL_CHUNK,  /* thread i has m elements in turn: i * m + j */
                    KERNEL_PLANE,  /* thread (x, y) */
                    KERNEL_BLOCK,  /* as LINE, with values exchanged in the block or the warp */
                    KERNEL_SHAPES
};
enum kernel_map {                     /* element that an access touches */
                  MAP_OWN,            /* i */
                  MAP_SHIFT,          /* i + c */
                  MAP_OFFSET,         /* i + o, o an argument */
                  MAP_TIMES,          /* c * i + d */
                  MAP_REVERSE,        /* n - 1 - i */
                  MAP_NEGATIVE,       /* -1 - i */
                  MAP_HALF,           /* i / c */
                  MAP_SPLIT,          /* i / c * (c + d) + i % c */
                  MAP_MODULO,         /* i % c */
                  MAP_WRAP,           /* (i + c) % n */
                  MAP_RING,           /* (i + o) % n */
                  MAP_UPWIND,         /* i + (v > 1 ? c : d), where v is a value and d is `other` */
                  MAP_CLAMP,          /* min(max(i + c, 0), n - 1) */
                  MAP_CONSTANT,       /* c */
                  MAP_XOR,            /* i ^ c */
                  MAP_ROW,            /* i * c + j, j a loop's counter */
                  MAP_COLUMN,         /* j * n + i */
                  MAP_LEVEL,          /* (j + c) * n + i */
                  MAP_BESIDE,         /* (j + c) * n + i + d */
                  MAP_NEAREST,        /* (j + c) * n + min(max(i + d, 0), n - 1) */
                  MAP_LEVEL_IN_BLOCK, /* (j + c) * n + min(i - t + (t + d) % b, n - 1) */
                  MAP_WINDOW,         /* i + j */
                  MAP_TURNED,         /* x * h + y */
                  MAP_MIRROR,         /* max(i - 2 * (i % c), 0) */
                  MAP_BACK,           /* max(i - j, 0) */
                  MAP_GATHER,         /* index[i] & c */
                  MAP_ROAM,           /* 3 * (index[i] & c) / 2, as a float: nobody sees how far */
                  MAP_CHOSEN,         /* (i + index[0] % 97) % n: no two threads have the same */
                  MAP_IN_BLOCK, /* min(i - t + (t + c) % b, n - 1), t the thread of a block of b; in a PLANE x
                                   so, and y with c + 1 */
                  MAP_WARP,     /* min(i - t % 32, n - 1) */
                  MAP_FIRST,    /* i - t + t % 32 */
                  MAP_END,      /* n + i + c */
                  MAP_EDGE_ROW, /* r * m + i, r is c from the top, or h + c */
                  MAP_EDGE_COLUMN, /* i * m + r, r is c from the left, or n + c */
                  MAP_CELL, /* of rows of `row` elements: min(min(max(i / row + c, 0), (n - 1) / row) * row + min(max(i %
                               row + d, 0), row - 1), n - 1) */
                  KERNEL_MAPS
};
enum kernel_guard {
    GUARD_NONE,
    GUARD_INNER,
    GUARD_EVEN,
    GUARD_ODD,
    GUARD_BELOW,
    GUARD_FROM_OFFSET,
    GUARD_DATA,
    GUARD_IN_BLOCK,    /* t + c < b */
    GUARD_FIRST_WARP,  /* t < 32 */
    GUARD_OTHER_WARPS, /* t >= 32 */
    GUARD_INSIDE,      /* d from all edges, or further */
    KERNEL_GUARDS
};

enum kernel_role { /* in a time step, which has one array for the state */
                   ROLE_NONE,
                   ROLE_SOURCE,     /* sets the state */
                   ROLE_DERIVE,     /* another array from the state, cell by cell */
                   ROLE_NEIGHBOURS, /* another array from neighbours in the latest one */
                   ROLE_UPDATE,     /* the state in place, from the latest one */
                   KERNEL_ROLES
};
enum kernel_habit {                /* of all kernels of a time step */
                    HABIT_MASKED,  /* sources set every other cell, or a part */
                    HABIT_TWICE,   /* some cells are written once more */
                    HABIT_COUNTED, /* an atomic counter */
                    HABIT_TWO,     /* two arrays are written */
                    HABIT_SHIFTED, /* sources write the next cell */
                    KERNEL_HABITS
};

enum kernel_sight { /* what the analysis sees of a kernel, and what else there is to it */
                    SIGHT_WHOLE,
                    SIGHT_TABLE,    /* pointers come from a table in memory, */
                    SIGHT_VARIABLE, /* or from a variable of the module */
                    SIGHT_CALL,     /* reads by functions that are chosen when it runs */
                    SIGHT_BARE,     /* of a module without PTX (script_library) */
                    SIGHT_DEBUG,    /* of one that was compiled for debugging */
                    SIGHT_VOLATILE, /* all its accesses */
                    SIGHT_FENCE,    /* before it stores */
                    SIGHT_RELEASE,  /* its stores are releases */
                    SIGHT_FLAG,     /* one thread sets a flag that the host polls */
                    SIGHT_CLOCK     /* one thread reads a clock */
};
enum kernel_struct { /* how a kernel reads a struct of arguments */
                     STRUCT_NONE,
                     STRUCT_NAMED,    /* by its parts, known when it is compiled */
                     STRUCT_IN_PLACE, /* through its address */
                     STRUCT_EITHER,   /* through an address in it, one of two */
                     STRUCT_GENERIC,  /* through a generic address, in a function */
                     STRUCT_COPY,     /* of a copy in local memory, in a function */
                     STRUCT_CHANGED,  /* of one that is written before */
                     KERNEL_STRUCTS
};
enum kernel_fit { /* of a scene's arrays */
                  FIT_ANY,
                  FIT_WHOLE,   /* whole blocks */
                  FIT_WARPS,   /* whole warps, not whole blocks */
                  FIT_CROOKED, /* blocks that are no power of two, or large */
                  FIT_LONG     /* many tiles */
};

struct kernel_type {
    const char *name;
    uint32_t size;
};
struct kernel_pointer {
    const struct kernel_type *type;
    bool is_read_only; /* const __restrict__ */
    char variable;     /* 0, or no array but the program's one t or c: a table of the module, __device__ or
                        * __constant__;     q: likewise, of pointers; z: of pointers, in memory; f: the flag; k:
                        * what     clocks showed */
    uint32_t entry;    /* 0, or from 1 which element of q or z it is, in place of an argument */
};
struct kernel_access {
    uint32_t pointer;
    enum kernel_map map;
    enum kernel_guard guard;
    int32_t c, d, trips; /* trips: of the loop over j; -1: m, an argument */
    int32_t from;        /* of that loop: where it begins */
    int32_t row;         /* of MAP_CELL */
    int32_t other;       /* of MAP_UPWIND */
    bool is_by_element;  /* likewise: which the element itself decides, in place of a value */
    bool is_in_loop;     /* in one with others: kernel_loop.c */
    bool is_write, is_atomic, is_volatile;
    uint32_t
        twin; /* one more than the pointer that odd elements take in place of this one, or 0; they have an access of their own */
    bool is_handed; /* reads what the first warp writes, behind a barrier, to the same array */
};
struct kernel {
    const char *name, *text;
    enum kernel_shape shape;
    char index;             /* type of the element index: i, u or l */
    bool is_exact, returns; /* every thread has an element; the others return at once */
    bool is_tall, is_wide;  /* blocks, or the grid, have a second dimension; elements are counted through */
    bool is_plain;          /* mostly one element a thread, all launches alike: what fuses in long groups */
    bool is_stencil;        /* plain, and reads neighbours: what fuses with a border */
    bool is_column;         /* plain, and loops over the levels of its column */
    bool is_backward;       /* a line that counts down */
    bool is_dynamic;        /* has its shared arrays in dynamic shared memory */
    char limit; /* a line with a few threads beside large ones: how many, n, h or w (width); else 0 */
    int32_t width;
    enum kernel_role role;                /* of a stencil */
    uint32_t scene;                       /* 0, or from 1 its place in the theme's scene */
    unsigned char slots[KERNEL_POINTERS]; /* 0, or from 1 which array of the scene a pointer is to */
    enum kernel_sight sight;
    bool keeps_place;              /* its name ends in _stays: it may be no step of a group */
    enum kernel_struct has_struct; /* pointer 0, n and s come in one */
    char scalars[8];               /* the others, in their order: letters of n, m, o, h, s, t; v, a
                           * flag's next value */
    char scalar_types[8];          /* c, h, i, l or f: 8, 16, 32 and 64 bits, float */
    bool is_constant[8];           /* it is no argument, but in a __constant__ variable of the module */
    uint32_t constant_entry;       /* of the table, where o is */

    struct kernel_pointer pointers[KERNEL_POINTERS];
    struct kernel_access accesses[KERNEL_ACCESSES];
    uint32_t pointer_count, access_count;
    char value; /* type of what is computed: f, d or i */
};

/* What the maps and guards see in one launch. */
struct kernel_numbers {
    int32_t n, m, o; /* of a PLANE: width, pitch (m) and h = height */
    int32_t h;
    float s, t;
    uint32_t grid[3], block[3];
};

/* What one kernel is to fit: the usual length of arrays and so on. */
struct kernel_theme {
    int32_t length, width, height;
    uint32_t plain, stencils, columns, blocks; /* percent of the kernels that are */
    uint32_t memops;                           /* percent of the launches with a set or a copy behind them */
    bool has_steps, is_flat; /* stencils have the roles of a time step, in this order; as planes */
    enum kernel_role order[4];
    enum kernel_habit habit;
    const struct kernel_scene *scene; /* or NULL: kernel_scene.c */
    uint32_t scene_length, turn;      /* slot s is array s + turn */
    int32_t row, layer; /* elements of a row, and of a layer (0: there is but one), of a scene in a line */
    int32_t layers;     /* 0: as many as there are */
    int32_t levels, border;      /* border: elements at each end of a line, rows or columns of a plane */
    bool has_loops, is_unrolled; /* a scene with loops over levels; mostly unrolled by nvcc */
    uint32_t stride_blocks;      /* of launches with grid-stride loops, in a scene that has such */
    uint32_t block, other_type;  /* other_type: an index of a type that many arrays of the program have */
    char value;
    bool has_tables;        /* the program has t and c */
    bool has_calls;         /* it has kernel_called */
    bool has_choices;       /* accesses whose pointer threads choose */
    bool has_upwind;        /* loads beside the own element go by a value where to */
    bool has_constants;     /* it has u and b: kernel_constant.c */
    uint32_t unseen;        /* percent of the kernels outside of scenes that hide something */
    uint32_t unseen_scenes; /* percent of the scenes that are kernel_unseen.c's */
    bool has_streams;       /* the program may have */
    bool is_unseen;         /* such a scene */
    bool may_wait;          /* in which a launch might wait for a group */
    bool has_events;        /* between steps one is recorded, in place of a wait */
    uint32_t
        levels_of; /* slots of scenes, a bit each, whose elements lie by a number of the round further on */
    bool
        has_rings; /* which wrap around, so that the number does more than shift; then many rounds are recorded */
    char extra; /* 0, or the letter of one more kernel, F or K, between the others, and which one it is */
    uint32_t extra_index;
};
enum { KERNEL_HIDDEN_MOST = 2 /* of the pointers of one kernel */, KERNEL_ENTRIES = 32 /* of q and z */ };
enum { KERNEL_SCENE_MOST = 5, KERNEL_SLOTS = 6 };
/* u and b have so many elements each, of 4 and 8 bytes. */
enum { KERNEL_CONSTANT_VARIABLES = 2, KERNEL_CONSTANT_TABLE = 4, KERNEL_CONSTANT_BYTES = 32 };
#define KERNEL_CONSTANT_NAMES "ub"
enum { KERNEL_CONSTANTS = 16, KERNEL_SHARED_BYTES = 2048 /* of a dynamic array */ };

/* The length, the block and so on are what the scene needs. */
void kernel_draw_scene(struct random *random, struct kernel_theme *theme);
const char *kernel_scene_text(const struct kernel_theme *theme, uint32_t index);
/* So many launches of the scene stand before a wait or an event; 0: all do. */
uint32_t kernel_scene_first(const struct kernel_theme *theme);

/* Functions that kernels of a program may call, as CUDA C. */
extern const char kernel_called[];
/* What those of SIGHT_CALL call, and those of SIGHT_RELEASE. */
extern const char kernel_called_by_pointer[], kernel_released[];
/* Whether an array of its own module, and no argument. */
bool kernel_is_variable(const struct kernel_pointer *pointer);
/* What kernels of double precision store goes through no_nan(), -1 in place of a NaN, where it is narrowed, and
 * else through one_nan(), which is one of these two: that, for programs in which a kernel looks at bits; or the
 * value as it is. */
extern const char kernel_no_nan[], kernel_one_nan[], kernel_any_nan[];
/* Whether it reads anything but doubles. */
bool kernel_looks_at_bits(const struct kernel *kernel);
struct kernel *kernel_draw(struct arena *arena, struct random *random, const struct kernel_theme *theme,
                           uint32_t program, uint32_t index);

/* Where a kernel finds a scalar that is_constant. */
struct kernel_constant {
    uint32_t variable, offset, size;
};
struct kernel_constant kernel_constant_of(const struct kernel *kernel, uint32_t scalar);

/* Calls visit for every access of every thread: thread is its number in the launch, from and to the bytes,
 * relative to the pointer. Accesses that data decides are visited as if they all happened; for_any: any
 * thread may touch any of the bytes. Ends early when visit says false, and returns what it said. */
typedef bool (*kernel_visit)(void *context, const struct kernel_access *access, int32_t thread, int64_t from,
                             int64_t to, bool for_any);
bool kernel_enumerate(const struct kernel *kernel, const struct kernel_numbers *numbers, kernel_visit visit,
                      void *context);

#endif
