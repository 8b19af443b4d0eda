/* SPDX-License-Identifier: Apache-2.0
 * usage: renamed PTX plan FOLDER | renamed PTX run OPERATIONS | renamed PTX random SEED COUNT
 * A program that rewrites arrays, and the plan that fuses it, made by hand; for any driver. All that it reads
 * back must be what a model on the host says. An operation is a letter: f  gather and store: rewrites x whole
 * b  cross and inside: rewrites the inside of y t  touch x      T  touch y                     x, y, z  read
 * it back (z: what both groups write besides) e  edges of y are written, by a stream that nothing orders but
 * what comes before and after 0, 1, 2  go on in that stream, ordered by an event s  wait for the stream w
 * sleep      m  take all memory that is said to be free, and free it */
#include "common/hash.h"
#include "common/plan_build.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WIDTH = 20,
    HEIGHT = 12,
    DEPTH = 10,
    N = WIDTH * HEIGHT * DEPTH,
    BLOCK = 128,
    GRID = (N + BLOCK - 1) / BLOCK
};
enum { X, Y, Z, ARRAYS };

#define DRIVER_CALLS(CALL)                                                                                   \
    CALL(cuInit, "cuInit")                                                                                   \
    CALL(cuDeviceGet, "cuDeviceGet")                                                                         \
    CALL(cuDeviceGetName, "cuDeviceGetName")                                                                 \
    CALL(cuDeviceGetAttribute, "cuDeviceGetAttribute")                                                       \
    CALL(cuDriverGetVersion, "cuDriverGetVersion")                                                           \
    CALL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                                               \
    CALL(cuCtxSetCurrent, "cuCtxSetCurrent")                                                                 \
    CALL(cuModuleLoadData, "cuModuleLoadData")                                                               \
    CALL(cuModuleGetFunction, "cuModuleGetFunction")                                                         \
    CALL(cuFuncGetAttribute, "cuFuncGetAttribute")                                                           \
    CALL(cuMemAlloc, "cuMemAlloc_v2")                                                                        \
    CALL(cuMemFree, "cuMemFree_v2")                                                                          \
    CALL(cuMemGetInfo, "cuMemGetInfo_v2")                                                                    \
    CALL(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                                                          \
    CALL(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                                                          \
    CALL(cuMemcpyHtoD, "cuMemcpyHtoD_v2")                                                                    \
    CALL(cuStreamCreate, "cuStreamCreate")                                                                   \
    CALL(cuStreamSynchronize, "cuStreamSynchronize")                                                         \
    CALL(cuStreamWaitEvent, "cuStreamWaitEvent")                                                             \
    CALL(cuEventCreate, "cuEventCreate")                                                                     \
    CALL(cuEventRecord, "cuEventRecord")                                                                     \
    CALL(cuCtxSynchronize, "cuCtxSynchronize")                                                               \
    CALL(cuLaunchKernel, "cuLaunchKernel")
static struct {
#define CALL(function, symbol) __typeof__(&function) function;
    DRIVER_CALLS(CALL)
#undef CALL
} driver;

#define OK(call)                                                                                             \
    do {                                                                                                     \
        CUresult ok_result = driver.call;                                                                    \
        if (ok_result != CUDA_SUCCESS) fail(#call, (int)ok_result);                                          \
    } while (0)
static void fail(const char *what, int number)
{
    fprintf(stderr, "renamed: %s: %d\n", what, number);
    exit(1);
}

static CUdevice device;
static CUmodule module;
static char *ptx;

static char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!size || fclose(file)) fail(path, 0);
    return text;
}

static void start(const char *path)
{
    CUcontext context;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) fail("no libcuda.so.1", 0);
#define CALL(function, symbol)                                                                               \
    *(void **)&driver.function = dlsym(library, symbol);                                                     \
    if (!driver.function) fail(symbol, 0);
    DRIVER_CALLS(CALL)
#undef CALL
    ptx = read_file(path);
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ptx));
}

static CUfunction function(const char *name)
{
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

/* --- the plan --- */

static uint32_t add_kernel(struct plan_builder *builder, const char *name, uint32_t parameter_bytes)
{
    static const CUfunction_attribute wanted[] = {
        CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES};
    int got[3];
    for (int i = 0; i < 3; i++) OK(cuFuncGetAttribute(&got[i], wanted[i], function(name)));
    struct plan_kernel kernel = {.module = plan_build_module(builder, hash_bytes(ptx, strlen(ptx))),
                                 .name = plan_build_string(builder, name),
                                 .registers = (uint32_t)got[0],
                                 .static_shared = (uint32_t)got[1],
                                 .local_bytes = (uint32_t)got[2],
                                 .parameter_bytes = parameter_bytes};
    return plan_build_kernel(builder, &kernel);
}

struct recipe {
    const char *first, *second, *fused;
    uint32_t parameter_bytes, fused_bytes;
    int64_t from, to; /* the bytes written */
    struct plan_rename rename;
};

/* Two members with the same parameters: the array, the one besides, and numbers that must be as they are
 * here. */
static void add_group(struct plan_builder *builder, const struct recipe *recipe)
{
    static const uint32_t numbers[3] = {WIDTH, HEIGHT, DEPTH}, one = N;
    unsigned char mask[32] = {0}, value[32] = {0};
    uint32_t size = recipe->parameter_bytes;
    const struct guard_check same[] = {
        {.kind = GUARD_DIFFERENCE, .step_a = 0, .step_b = 1},
        {.kind = GUARD_DIFFERENCE, .step_a = 0, .offset_a = 8, .step_b = 1, .offset_b = 8}};
    const struct plan_parameter all = {0, 0, 0, size};
    const char *const names[] = {recipe->first, recipe->second};
    const struct plan_variant variant = {.grid = {GRID, 1, 1},
                                         .block = {BLOCK, 1, 1},
                                         .parameter_bytes = recipe->fused_bytes,
                                         .registers = 32};
    memset(mask + 16, 0xff, size - 16);
    memcpy(value + 16, size == 20 ? &one : numbers, size - 16);
    plan_build_group(builder, recipe->fused, 0, 1000, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct plan_step step = {.kernel = add_kernel(builder, names[i], size),
                                 .grid = {GRID, 1, 1},
                                 .block = {BLOCK, 1, 1},
                                 .arguments_size = size};
        plan_build_step(builder, &step, mask, value, same, 2 * i);
    }
    struct plan_effect effect = {.is_exact = 1, .from = recipe->from, .to = recipe->to};
    plan_build_effect(builder, &effect, NULL);
    effect.offset = 8;
    plan_build_effect(builder, &effect, NULL);
    /* the first one reads the array and writes the one besides, the second one the other way round */
    for (uint32_t step = 0; step < 2; step++)
        for (uint32_t offset = 0; offset <= 8; offset += 8) {
            bool is_written = step ? !offset : offset;
            bool is_part = step && !offset;
            struct plan_effect touch = {.kind = is_written ? PLAN_TOUCH_WRITTEN : PLAN_TOUCH_READ,
                                        .step = step,
                                        .offset = offset,
                                        .is_exact = 1,
                                        .from = is_part ? recipe->from : 0,
                                        .to = is_part ? recipe->to : 4 * N};
            plan_build_effect(builder, &touch, NULL);
        }
    plan_build_variant(builder, &variant, recipe->fused, ptx, strlen(ptx) + 1, &all, 1, NULL, 0);
    plan_build_rename(builder, &recipe->rename);
}

static void write_plan(const char *folder)
{
    enum { ROW = 4 * WIDTH, FIRST = 4 * (WIDTH * HEIGHT + WIDTH + 1) };
    const struct recipe whole = {.first = "gather",
                                 .second = "store",
                                 .fused = "gather_store",
                                 .parameter_bytes = 20,
                                 .fused_bytes = 40,
                                 .to = 4 * N,
                                 .rename = {.bytes = 4 * N, .destination_offset = 24}};
    const struct recipe box = {.first = "cross",
                               .second = "inside",
                               .fused = "cross_inside",
                               .parameter_bytes = 28,
                               .fused_bytes = 48,
                               .from = FIRST,
                               .to = 4 * N - FIRST,
                               .rename = {.bytes = 4 * N,
                                          .destination_offset = 32,
                                          .flags = PLAN_RENAME_PARTIAL,
                                          .written = {.from = FIRST,
                                                      .width = ROW - 8,
                                                      .row_pitch = ROW,
                                                      .rows = HEIGHT - 2,
                                                      .layers = DEPTH - 2,
                                                      .layer_rows = HEIGHT}}};
    struct arena *arena = arena_create();
    struct plan_builder *builder = plan_build_start(arena);
    char name[64] = "", error[256];
    int major, minor, version;
    OK(cuDeviceGetName(name, sizeof name, device));
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    OK(cuDriverGetVersion(&version));
    plan_build_device(builder, name, (uint32_t)major, (uint32_t)minor, (uint32_t)version,
                      dlsym(RTLD_DEFAULT, "emuActivitySubscribe") || strstr(name, "emulator"));
    add_group(builder, &whole);
    add_group(builder, &box);
    if (!plan_build_write(builder, folder, error, sizeof error)) fail(error, 0);
    arena_free(arena);
}

/* --- the program --- */

static struct {
    CUfunction gather, store, cross, inside, touch;
    CUdeviceptr arrays[ARRAYS];
    CUstream streams[4]; /* the last one for edges */
    CUevent event;
    int stream;
    uint32_t model[ARRAYS][N], edge;
} program;

static void prepare(void)
{
    static uint32_t zeros[N];
    program.gather = function("gather");
    program.store = function("store");
    program.cross = function("cross");
    program.inside = function("inside");
    program.touch = function("touch");
    for (int i = 1; i < 4; i++) OK(cuStreamCreate(&program.streams[i], i == 1 ? 0 : CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&program.event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < ARRAYS; i++) OK(cuMemAlloc(&program.arrays[i], sizeof zeros));
    for (uint32_t i = 0; i < N; i++) program.model[X][i] = program.model[Y][i] = i * 2654435761u;
    for (int i = 0; i < ARRAYS; i++) OK(cuMemcpyHtoD(program.arrays[i], program.model[i], sizeof zeros));
}

static void launch(CUfunction kernel, void **arguments)
{
    OK(cuLaunchKernel(kernel, GRID, 1, 1, BLOCK, 1, 1, 0, program.streams[program.stream], arguments, NULL));
}

static void use_whole(void)
{
    uint32_t n = N, *x = program.model[X], *z = program.model[Z];
    void *arguments[] = {&program.arrays[X], &program.arrays[Z], &n};
    launch(program.gather, arguments);
    launch(program.store, arguments);
    for (int i = 0; i < N; i++) z[i] = x[i] + x[(i + 1) % N];
    for (int i = 0; i < N; i++) x[i] = 3 * z[i] + 1;
}

static bool is_inside(int i)
{
    int x = i % WIDTH, y = i / WIDTH % HEIGHT, z = i / WIDTH / HEIGHT;
    return x > 0 && x + 1 < WIDTH && y > 0 && y + 1 < HEIGHT && z > 0 && z + 1 < DEPTH;
}

static void use_box(void)
{
    enum { LAYER = WIDTH * HEIGHT };
    uint32_t width = WIDTH, height = HEIGHT, depth = DEPTH, *y = program.model[Y], *z = program.model[Z];
    void *arguments[] = {&program.arrays[Y], &program.arrays[Z], &width, &height, &depth};
    launch(program.cross, arguments);
    launch(program.inside, arguments);
    for (int i = 0; i < N; i++)
        if (is_inside(i))
            z[i] = y[i - 1] + y[i + 1] + y[i - WIDTH] + y[i + WIDTH] + y[i - LAYER] + y[i + LAYER];
    for (int i = 0; i < N; i++)
        if (is_inside(i)) y[i] = z[i] + 1;
}

static void touch(int array)
{
    uint32_t n = N;
    void *arguments[] = {&program.arrays[array], &n};
    launch(program.touch, arguments);
    for (int i = 0; i < N; i++) program.model[array][i] += 5;
}

static void look(int array)
{
    uint32_t got[N];
    OK(cuMemcpyDtoHAsync(got, program.arrays[array], sizeof got, program.streams[program.stream]));
    OK(cuStreamSynchronize(program.streams[program.stream]));
    for (int i = 0; i < N; i++)
        if (got[i] != program.model[array][i])
            fail("an element of the array differs: xyz", array * 100000 + i);
}

static void order(CUstream earlier, CUstream later)
{
    OK(cuEventRecord(program.event, earlier));
    OK(cuStreamWaitEvent(later, program.event, 0));
}

/* The first row, which the box neither reads nor writes: uses run beside. */
static void write_edges(void)
{
    static uint32_t row[WIDTH];
    CUstream mine = program.streams[3], other = program.streams[program.stream];
    OK(cuStreamSynchronize(mine)); /* row is free */
    program.edge++;
    for (uint32_t i = 0; i < WIDTH; i++) row[i] = program.model[Y][i] = program.edge * 77777 + i;
    order(other, mine);
    use_box();
    OK(cuMemcpyHtoDAsync(program.arrays[Y], row, sizeof row, mine));
    use_box();
    order(mine, other);
}

static void go_on_in(int stream)
{
    if (stream != program.stream) order(program.streams[program.stream], program.streams[stream]);
    program.stream = stream;
}

static void take_memory(void)
{
    size_t left, total;
    CUdeviceptr memory;
    OK(cuMemGetInfo(&left, &total));
    OK(cuMemAlloc(&memory, left));
    OK(cuMemFree(memory));
}

static void operate(char letter)
{
    switch (letter) {
    case 'f':
        use_whole();
        break;
    case 'b':
        use_box();
        break;
    case 't':
        touch(X);
        break;
    case 'T':
        touch(Y);
        break;
    case 'x':
        look(X);
        break;
    case 'y':
        look(Y);
        break;
    case 'z':
        look(Z);
        break;
    case 'e':
        write_edges();
        break;
    case '0':
    case '1':
    case '2':
        go_on_in(letter - '0');
        break;
    case 's':
        OK(cuStreamSynchronize(program.streams[program.stream]));
        break;
    case 'w':
        usleep(20000);
        break;
    case 'm':
        take_memory();
        break;
    default:
        fail("no such operation", letter);
    }
}

static void operate_at_random(unsigned seed, int count)
{
    static const char letters[] = "fffffffbbbbbbbttTxyze012sw";
    srand(seed);
    while (count--) {
        char letter = letters[(unsigned)rand() % (sizeof letters - 1)];
        for (int times = letter == 'f' || letter == 'b' ? 1 + rand() % 4 : 1; times; times--) operate(letter);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) fail("usage: renamed PTX plan FOLDER | run OPERATIONS | random SEED COUNT", argc);
    start(argv[1]);
    if (!strcmp(argv[2], "plan")) {
        write_plan(argv[3]);
        return 0;
    }
    prepare();
    if (!strcmp(argv[2], "random") && argc > 4)
        operate_at_random((unsigned)atoi(argv[3]), atoi(argv[4]));
    else
        for (const char *at = argv[3]; *at; at++) operate(*at);
    for (int i = 0; i < ARRAYS; i++) look(i);
    return 0;
}
