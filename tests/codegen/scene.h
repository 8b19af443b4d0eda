/* SPDX-License-Identifier: Apache-2.0
 * A scene: a few launches on a few arrays, analysed, fused, compiled and run on the emulator, originals and
 * fused kernel, on the same random data; memory must end up the same, bit for bit. */
#ifndef KFUSE_TESTS_CODEGEN_SCENE_H
#define KFUSE_TESTS_CODEGEN_SCENE_H

#include "fuser/codegen/codegen.h"

enum scene_argument_kind { SCENE_END, SCENE_POINTER, SCENE_INT, SCENE_FLOAT, SCENE_DOUBLE, SCENE_BYTES };
struct scene_argument {
    enum scene_argument_kind kind;
    uint32_t array, offset; /* POINTER */
    int32_t integer;
    double number;
    const void *bytes; /* BYTES: as many as the parameter has */
};
#define POINTER(index)                                                                                       \
    {                                                                                                        \
        .kind = SCENE_POINTER, .array = (index)                                                              \
    }
#define POINTER_AT(index, bytes)                                                                             \
    {                                                                                                        \
        .kind = SCENE_POINTER, .array = (index), .offset = (bytes)                                           \
    }
#define INT(value)                                                                                           \
    {                                                                                                        \
        .kind = SCENE_INT, .integer = (value)                                                                \
    }
#define FLOAT(value)                                                                                         \
    {                                                                                                        \
        .kind = SCENE_FLOAT, .number = (value)                                                               \
    }
#define DOUBLE(value)                                                                                        \
    {                                                                                                        \
        .kind = SCENE_DOUBLE, .number = (value)                                                              \
    }
#define BYTES(address)                                                                                       \
    {                                                                                                        \
        .kind = SCENE_BYTES, .bytes = (address)                                                              \
    }

enum { SCENE_LAUNCHES = 16, SCENE_ARRAYS = 6 };
struct scene_launch {
    const char *kernel;
    uint32_t grid[3], block[3];
    struct scene_argument arguments[8];
};
struct scene_array {
    uint32_t bytes;
    char element; /* f, d: random numbers; b: random bytes */
};
struct scene {
    struct scene_launch launches[SCENE_LAUNCHES];
    struct scene_array arrays[SCENE_ARRAYS];
    const char *module;    /* NULL: kernels.ptx */
    uint32_t march_layers; /* of memo.h */
    bool in_one_block;     /* that kind of fusion is looked for, in place of halos */
    uint32_t last_first;   /* 0, or as group_decide_last_block has it, without halos */
    bool inter_block;      /* as group_decide_inter_block has it */
};

/* Arrays of random numbers, and a launch of planes, for those that these suit. */
enum { SCENE_ARRAY_BYTES = 64 << 10 };
#define SCENE_FLOATS                                                                                         \
    {                                                                                                        \
        SCENE_ARRAY_BYTES, 'f'                                                                               \
    }
#define SCENE_DOUBLES                                                                                        \
    {                                                                                                        \
        SCENE_ARRAY_BYTES, 'd'                                                                               \
    }
#define SCENE_PLANE(x, y) .grid = {x, y, 1}, .block = {32, 4, 1}

/* Everything that was made of a scene; free with scene_close. */
struct scene_run {
    isl_ctx *ctx;
    struct memo memo;
    struct arena *arena;
    struct ptx_module *module;
    uint32_t launch_count;
    struct bound_launch members[SCENE_LAUNCHES];
    unsigned char *arguments[SCENE_LAUNCHES];
    uint64_t addresses[SCENE_ARRAYS]; /* on the emulated device */
    struct group *group;
};
/* Analyses the launches and decides the group. Fails the test when a launch is refused. */
void scene_open(struct scene_run *run, const struct scene *scene);
/* Compiles the group, runs originals and fused kernel, compares all arrays. False when the compiled kernel
 * was rejected because its contraction is not certain to be that of its members. */
bool scene_compare(struct scene_run *run, const struct scene *scene);
/* The same where an assembler contracts products into sums, originals and members alike
 * (fuser/codegen/contraction.h). False also when there is nothing to contract, or it could not be recovered. */
bool scene_compare_contracted(struct scene_run *run, const struct scene *scene);
void scene_close(struct scene_run *run);

#endif
