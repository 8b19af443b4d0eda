/* SPDX-License-Identifier: Apache-2.0
 * player [--replay] [--any-nan] [--dump FOLDER] FILE: runs the compiled programs of a file one after the
 * other through the driver API, like any CUDA program: knows nothing of kfuse. Prints a line for everything
 * that a program could have seen: program NUMBER / read OPERATION HASH / end aN HASH / done NUMBER, or error
 * OPERATION CALL RESULT, the last one. --any-nan: what looks like a NaN in double precision has the same HASH
 * as any other (see the limits in doc/exactness.md); "bits HASH" of the bytes as they are follows. */
#include "common/hash.h"
#include "tests/referee/held.h"
#include "tests/referee/script.h"

#include <cuda.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Name for cuGetProcAddress, exported name, version of the ABI. */
#define PLAYER_CALLS(CALL)                                                                                   \
    CALL(cuInit, cuInit, 2000)                                                                               \
    CALL(cuDeviceGet, cuDeviceGet, 2000)                                                                     \
    CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)                                           \
    CALL(cuCtxSetCurrent, cuCtxSetCurrent, 4000)                                                             \
    CALL(cuCtxSynchronize, cuCtxSynchronize, 2000)                                                           \
    CALL(cuModuleLoadData, cuModuleLoadData, 2000)                                                           \
    CALL(cuModuleUnload, cuModuleUnload, 2000)                                                               \
    CALL(cuModuleGetFunction, cuModuleGetFunction, 2000)                                                     \
    CALL(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020)                                                      \
    CALL(cuMemAlloc, cuMemAlloc_v2, 3020)                                                                    \
    CALL(cuMemAllocManaged, cuMemAllocManaged, 6000)                                                         \
    CALL(cuMemAllocAsync, cuMemAllocAsync, 11020)                                                            \
    CALL(cuLaunchHostFunc, cuLaunchHostFunc, 10000)                                                          \
    CALL(cuMemHostAlloc, cuMemHostAlloc, 2020)                                                               \
    CALL(cuMemFree, cuMemFree_v2, 3020)                                                                      \
    CALL(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020)                                                                \
    CALL(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020)                                                                \
    CALL(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020)                                                                \
    CALL(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020)                                                      \
    CALL(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020)                                                      \
    CALL(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020)                                                      \
    CALL(cuMemsetD8, cuMemsetD8_v2, 3020)                                                                    \
    CALL(cuMemsetD8Async, cuMemsetD8Async, 3020)                                                             \
    CALL(cuMemsetD32, cuMemsetD32_v2, 3020)                                                                  \
    CALL(cuMemsetD32Async, cuMemsetD32Async, 3020)                                                           \
    CALL(cuMemcpy, cuMemcpy, 4000)                                                                           \
    CALL(cuMemcpyAsync, cuMemcpyAsync, 4000)                                                                 \
    CALL(cuStreamCreate, cuStreamCreate, 2000)                                                               \
    CALL(cuStreamDestroy, cuStreamDestroy_v2, 4000)                                                          \
    CALL(cuStreamSynchronize, cuStreamSynchronize, 2000)                                                     \
    CALL(cuStreamQuery, cuStreamQuery, 2000)                                                                 \
    CALL(cuStreamWaitEvent, cuStreamWaitEvent, 3020)                                                         \
    CALL(cuEventCreate, cuEventCreate, 2000)                                                                 \
    CALL(cuEventDestroy, cuEventDestroy_v2, 4000)                                                            \
    CALL(cuEventRecord, cuEventRecord, 2000)                                                                 \
    CALL(cuEventSynchronize, cuEventSynchronize, 2000)                                                       \
    CALL(cuLaunchKernel, cuLaunchKernel, 4000)

enum { POLLS_MOST = 100000, HOLD_TURNS_MOST = 20000 };

struct calls {
#define CALL(name, symbol, version) __typeof__(&symbol) name;
    PLAYER_CALLS(CALL)
#undef CALL
};

static struct player {
    struct calls exported, asked; /* found by dlsym, and by cuGetProcAddress */
    const struct calls *cuda;     /* one of them, by the program's number */
    const struct script *script;
    const struct script_operation *operation;
    const char *dump; /* folder, or NULL */
    CUcontext context;
    bool takes_any_nan;
    CUmodule module, libraries[2]; /* bare, debug; NULL before they are needed */
    CUdeviceptr arrays[SCRIPT_ARRAYS];
    uint64_t sizes[SCRIPT_ARRAYS];
    bool is_pooled[SCRIPT_ARRAYS]; /* of a memory pool */
    bool is_unprinted[SCRIPT_ARRAYS];
    CUdeviceptr scratch; /* a place for each stream: what it copies to variables */
    CUstream streams[SCRIPT_STREAMS];
    CUstream shared; /* of all programs that work in one stream, or NULL */
    CUevent events[SCRIPT_EVENTS];
    unsigned stream_flags[SCRIPT_STREAMS];
    atomic_uint calls; /* of the host's function, so far */
    unsigned calls_asked;
    atomic_bool is_open, is_late;
    /* SCRIPT_PUT_BYTES each of the driver's; a call that copies from the second has copied when it returns, which one from
     * pageable memory need not have */
    unsigned char *pinned, *settled;
    const struct script_operation *held_put; /* from the first, while a stream was held; or NULL */
} player;

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS) return;
    printf("error %u %s %d\n", player.operation ? player.operation->line : 0, call, (int)result);
    fflush(stdout);
    _exit(3);
}
#define TRY(name, ...) check(player.cuda->name(__VA_ARGS__), #name)

static bool find_calls(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return false;
    held_watch(library);
    CUdriverProcAddressQueryResult status;
    __typeof__(&cuGetProcAddress_v2) ask =
        (__typeof__(&cuGetProcAddress_v2))dlsym(library, "cuGetProcAddress_v2");
    if (!ask) return false;
#define CALL(name, symbol, version)                                                                          \
    player.exported.name = (__typeof__(&symbol))dlsym(library, #symbol);                                     \
    if (!player.exported.name) return false;                                                                 \
    void *asked_##name = NULL;                                                                               \
    if (ask(#name, &asked_##name, version, 0, &status) != CUDA_SUCCESS || !asked_##name) return false;       \
    memcpy(&player.asked.name, &asked_##name, sizeof asked_##name);
    PLAYER_CALLS(CALL)
#undef CALL
    return true;
}

/* --- operations --- */

static CUdeviceptr address_of(struct script_place place)
{
    return player.arrays[place.array] + (CUdeviceptr)place.offset;
}

static void forget_nans(unsigned char *bytes, uint64_t size)
{
    static const uint64_t quiet = 0x7ff8000000000000;
    for (uint64_t at = 0; at + sizeof(double) <= size; at += sizeof(double)) {
        double value;
        memcpy(&value, bytes + at, sizeof value);
        if (isnan(value)) memcpy(bytes + at, &quiet, sizeof quiet);
    }
}

static void tell(const char *what, uint32_t number, unsigned char *bytes, uint64_t size)
{
    uint64_t bits = hash_check(bytes, size);
    if (player.takes_any_nan) forget_nans(bytes, size);
    printf("%s%u %016llx", what, number, (unsigned long long)hash_check(bytes, size));
    if (player.takes_any_nan) printf(" bits %016llx", (unsigned long long)bits);
    putchar('\n');
    if (!player.dump) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%u.%.*s%u", player.dump, player.script->number, (int)strcspn(what, " "),
             what, number);
    FILE *file = fopen(path, "we");
    if (!file) return;
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static unsigned char *host_bytes(uint64_t size)
{
    unsigned char *bytes = malloc(size ? size : 1);
    if (!bytes) abort();
    return bytes;
}

static CUfunction function_of(const char *kernel)
{
    const char *library = script_library(kernel);
    CUmodule *module = library ? &player.libraries[*kernel == 'd'] : &player.module;
    CUfunction function;
    TRY(cuModuleGetFunction, &function, *module, kernel);
    return function;
}

static void launch(const struct script_operation *operation)
{
    static unsigned char arguments[SCRIPT_ARGUMENT_BYTES];
    const struct script_launch *wanted = operation->launch;
    void *parameters[SCRIPT_PARAMETERS];
    CUfunction function = function_of(wanted->kernel);
    CUstream stream = player.streams[operation->stream];
    memcpy(arguments, wanted->arguments, wanted->size);
    for (uint32_t i = 0; i < wanted->pointer_count; i++) {
        CUdeviceptr pointer;
        memcpy(&pointer, arguments + wanted->pointers[i].offset, sizeof pointer);
        pointer += player.arrays[wanted->pointers[i].array];
        memcpy(arguments + wanted->pointers[i].offset, &pointer, sizeof pointer);
    }
    for (uint32_t i = 0; i < wanted->parameter_count; i++) parameters[i] = arguments + wanted->parameters[i];
    size_t size = wanted->size;
    void *packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                      CU_LAUNCH_PARAM_END};
    bool is_packed = operation->number % 4 == 3;
    TRY(cuLaunchKernel, function, wanted->grid[0], wanted->grid[1], wanted->grid[2], wanted->block[0],
        wanted->block[1], wanted->block[2], wanted->shared, stream, is_packed ? NULL : parameters,
        is_packed ? packed : NULL);
    memset(arguments, 0xee, sizeof arguments); /* they are the caller's again */
}

static void fill(const struct script_operation *operation)
{
    unsigned char *bytes = host_bytes(operation->bytes);
    script_data(bytes, operation->bytes, operation->type, operation->seed);
    if (operation->has_stream)
        TRY(cuMemcpyHtoDAsync, address_of(operation->place), bytes, operation->bytes,
            player.streams[operation->stream]);
    else
        TRY(cuMemcpyHtoD, address_of(operation->place), bytes, operation->bytes);
    memset(bytes, 0xee, operation->bytes); /* pageable memory may be reused at once */
    free(bytes);
}

static void read_back(const struct script_operation *operation)
{
    unsigned char *bytes = host_bytes(operation->bytes);
    if (operation->has_stream) {
        CUstream stream = player.streams[operation->stream];
        TRY(cuMemcpyDtoHAsync, bytes, address_of(operation->place), operation->bytes, stream);
        TRY(cuStreamSynchronize, stream);
    } else {
        TRY(cuMemcpyDtoH, bytes, address_of(operation->place), operation->bytes);
    }
    tell("read ", operation->number, bytes, operation->bytes);
    free(bytes);
}

static void write_variable(const struct script_operation *operation)
{
    CUdeviceptr address;
    size_t size;
    unsigned char *bytes = host_bytes(operation->bytes);
    script_data(bytes, operation->bytes, operation->type, operation->seed);
    TRY(cuModuleGetGlobal, &address, &size, player.module, operation->name);
    TRY(cuMemcpyHtoD, address, bytes, operation->bytes < size ? operation->bytes : size);
    free(bytes);
}

static void point(const struct script_operation *operation)
{
    CUdeviceptr address = address_of(operation->source), variable;
    size_t size;
    if (operation->kind == SCRIPT_AIM) {
        TRY(cuModuleGetGlobal, &variable, &size, player.module, operation->name);
        TRY(cuMemcpyHtoD, variable + (CUdeviceptr)operation->place.offset, &address, sizeof address);
    } else if (operation->has_stream) {
        TRY(cuMemcpyHtoDAsync, address_of(operation->place), &address, sizeof address,
            player.streams[operation->stream]);
    } else {
        TRY(cuMemcpyHtoD, address_of(operation->place), &address, sizeof address);
    }
}

static void put_from_device(const struct script_operation *operation, CUdeviceptr to)
{
    CUstream stream = player.streams[operation->stream];
    CUdeviceptr scratch = player.scratch + SCRIPT_PUT_BYTES * operation->stream;
    if (operation->has_stream) {
        TRY(cuMemcpyHtoDAsync, scratch, operation->data, operation->bytes, stream);
        TRY(cuMemcpyDtoDAsync, to, scratch, operation->bytes, stream);
    } else {
        TRY(cuMemcpyHtoD, scratch, operation->data, operation->bytes);
        TRY(cuMemcpyDtoD, to, scratch, operation->bytes);
    }
}

static void put_by_sets(const struct script_operation *operation, CUdeviceptr to)
{
    CUstream stream = player.streams[operation->stream];
    for (uint64_t at = 0; at + 4 <= operation->bytes; at += 4) {
        unsigned word;
        memcpy(&word, operation->data + at, sizeof word);
        if (operation->has_stream)
            TRY(cuMemsetD32Async, to + at, word, 1, stream);
        else
            TRY(cuMemsetD32, to + at, word, 1);
    }
}

static void put(const struct script_operation *operation)
{
    CUdeviceptr variable;
    size_t size;
    TRY(cuModuleGetGlobal, &variable, &size, player.module, operation->name);
    CUdeviceptr to = variable + (CUdeviceptr)operation->place.offset;
    if (operation->type == 'd') {
        put_from_device(operation, to);
    } else if (operation->type == 's') {
        put_by_sets(operation, to);
    } else {
        unsigned char own[SCRIPT_PUT_BYTES], *bytes = operation->type == 'p' ? player.pinned : own;
        if (bytes != own && operation->has_stream) player.held_put = operation;
        /* what opens is not ordered behind the copy otherwise */
        if (bytes == own && !operation->has_stream && !atomic_load(&player.is_open)) bytes = player.settled;
        memcpy(bytes, operation->data, sizeof own);
        if (operation->has_stream)
            TRY(cuMemcpyHtoDAsync, to, bytes, operation->bytes, player.streams[operation->stream]);
        else
            TRY(cuMemcpyHtoD, to, bytes, operation->bytes);
        memset(own, 0xee, sizeof own); /* pageable memory may be reused at once */
    }
}

/* A flag that another stream sets orders what the host does next behind what came before the flag. */
static void *poll_flag(void *context)
{
    const struct script_operation *operation = context;
    CUstream stream = player.streams[operation->stream];
    uint32_t flag = operation->seed + 1;
    if (operation->is_threaded) {
        held_tag_thread();
        TRY(cuCtxSetCurrent, player.context);
    }
    for (uint32_t turn = 0; flag != operation->seed; turn++) {
        TRY(cuMemcpyDtoHAsync, &flag, address_of(operation->place), sizeof flag, stream);
        TRY(cuStreamSynchronize, stream);
        if (turn == POLLS_MOST) check(CUDA_ERROR_TIMEOUT, "poll");
    }
    read_back(&(struct script_operation){.number = operation->number,
                                         .place = operation->source,
                                         .bytes = operation->bytes,
                                         .has_stream = true,
                                         .stream = operation->stream});
    return NULL;
}

static void poll(const struct script_operation *operation)
{
    pthread_t thread;
    if (!operation->is_threaded)
        poll_flag((void *)operation);
    else if (pthread_create(&thread, NULL, poll_flag, (void *)operation) || pthread_join(thread, NULL))
        abort();
}

/* Fails at once, and changes nothing. */
static void launch_badly(const struct script_operation *operation)
{
    unsigned char arguments[SCRIPT_ARGUMENT_BYTES] = {0};
    void *parameters[SCRIPT_PARAMETERS];
    for (uint32_t i = 0; i < SCRIPT_PARAMETERS; i++) parameters[i] = arguments;
    CUresult result = player.cuda->cuLaunchKernel(function_of(operation->name), 1, 1, 1, 4096, 1, 1, 0,
                                                  player.shared, parameters, NULL);
    printf("bad %u %d\n", operation->number, (int)result);
}

static void CUDA_CB count_call(void *count)
{
    atomic_fetch_add((atomic_uint *)count, 1);
}

/* A device may let a call of the host wait for what is held in a stream that is nothing to it. */
static void CUDA_CB await_open(void *is_open)
{
    uint32_t turn = 0;
    while (!atomic_load((atomic_bool *)is_open) && turn++ < HOLD_TURNS_MOST) usleep(50);
    if (turn > HOLD_TURNS_MOST) atomic_store(&player.is_late, true);
}

static void hold(CUstream stream)
{
    atomic_store(&player.is_open, false);
    player.held_put = NULL;
    TRY(cuLaunchHostFunc, stream, await_open, &player.is_open);
}

/* What was held came before what the host wrote meanwhile: it is written again. */
static void open_all(void)
{
    atomic_store(&player.is_open, true);
    if (!atomic_exchange(&player.is_late, false) || !player.held_put) return;
    TRY(cuCtxSynchronize);
    put(player.held_put);
}

static void call(CUstream stream)
{
    player.calls_asked++;
    TRY(cuLaunchHostFunc, stream, count_call, &player.calls);
}

/* The emulator's streams move on when they are asked for. */
static void await_calls(void)
{
    while (atomic_load(&player.calls) < player.calls_asked) {
        CUresult result = player.cuda->cuStreamQuery(NULL);
        if (result != CUDA_ERROR_NOT_READY) check(result, "cuStreamQuery");
        sched_yield();
    }
}

static void create_stream(uint32_t stream)
{
    TRY(cuStreamCreate, &player.streams[stream], player.stream_flags[stream]);
}

static void share_stream(void)
{
    if (!player.shared) TRY(cuStreamCreate, &player.shared, CU_STREAM_DEFAULT);
    player.streams[0] = player.shared;
}

/* What was in it may still be running afterwards: nothing of the program waits for that but the context. */
static void renew_stream(uint32_t stream)
{
    if (!player.streams[stream] || player.streams[stream] == player.shared) return;
    TRY(cuStreamDestroy, player.streams[stream]);
    TRY(cuCtxSynchronize);
    create_stream(stream);
}

static void load(void)
{
    char *image = player.script->image ? script_read_file(player.script->image) : NULL;
    TRY(cuModuleLoadData, &player.module, image ? image : player.script->ptx);
    free(image);
}

static void load_libraries(void)
{
    for (uint32_t i = 0; i < player.script->count; i++) {
        const struct script_operation *operation = &player.script->operations[i];
        const char *kernel = operation->launch ? operation->launch->kernel : operation->name;
        const char *library = kernel ? script_library(kernel) : NULL;
        CUmodule *module = library ? &player.libraries[*kernel == 'd'] : NULL;
        if (library && !*module) TRY(cuModuleLoadData, module, library);
    }
}

static void allocate(const struct script_operation *operation)
{
    uint32_t array = operation->place.array;
    if (operation->type == 'm')
        TRY(cuMemAllocManaged, &player.arrays[array], operation->bytes, CU_MEM_ATTACH_GLOBAL);
    else if (operation->type == 'a')
        TRY(cuMemAllocAsync, &player.arrays[array], operation->bytes, NULL);
    else
        TRY(cuMemAlloc, &player.arrays[array], operation->bytes);
    TRY(cuMemsetD8, player.arrays[array], 0, operation->bytes);
    TRY(cuCtxSynchronize);
    player.sizes[array] = operation->bytes;
    player.is_pooled[array] = operation->type == 'a';
    player.is_unprinted[array] = operation->type == 'u';
}

/* cuMemFree does not wait for what still uses memory of a pool. */
static void release(uint32_t array)
{
    if (!player.arrays[array]) return;
    if (player.is_pooled[array]) TRY(cuCtxSynchronize);
    TRY(cuMemFree, player.arrays[array]);
    player.arrays[array] = 0;
}

/* One byte all over: by elements of another width, where the bytes are so many, it is the same. */
static void set(const struct script_operation *operation, CUstream stream)
{
    CUdeviceptr to = address_of(operation->place);
    unsigned value = operation->seed & 0xff, wide = value * 0x01010101u;
    int64_t bytes = operation->bytes;
    bool by_words = !((to | (uint64_t)bytes) & 3) && operation->seed % 3 == 1;
    if (!operation->has_stream)
        by_words ? TRY(cuMemsetD32, to, wide, bytes / 4) : TRY(cuMemsetD8, to, (unsigned char)value, bytes);
    else if (by_words)
        TRY(cuMemsetD32Async, to, wide, bytes / 4, stream);
    else
        TRY(cuMemsetD8Async, to, (unsigned char)value, bytes, stream);
}

static void copy(const struct script_operation *operation, CUstream stream)
{
    CUdeviceptr to = address_of(operation->place), from = address_of(operation->source);
    bool is_general = operation->bytes % 3 == 1;
    if (!operation->has_stream)
        is_general ? TRY(cuMemcpy, to, from, operation->bytes)
                   : TRY(cuMemcpyDtoD, to, from, operation->bytes);
    else if (is_general)
        TRY(cuMemcpyAsync, to, from, operation->bytes, stream);
    else
        TRY(cuMemcpyDtoDAsync, to, from, operation->bytes, stream);
}

static void perform(const struct script_operation *operation)
{
    CUstream stream = player.streams[operation->stream];
    player.operation = operation;
    switch (operation->kind) {
    case SCRIPT_ALLOC:
        allocate(operation);
        break;
    case SCRIPT_FREE:
        release(operation->place.array);
        break;
    case SCRIPT_STREAM:
        player.stream_flags[operation->stream] =
            operation->seed == 1 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
        if (operation->stream)
            create_stream(operation->stream);
        else if (operation->seed == 2)
            share_stream();
        else if (operation->seed)
            player.streams[0] = CU_STREAM_PER_THREAD;
        break;
    case SCRIPT_LAUNCH:
        launch(operation);
        break;
    case SCRIPT_FILL:
        fill(operation);
        break;
    case SCRIPT_SET:
        set(operation, stream);
        break;
    case SCRIPT_COPY:
        copy(operation, stream);
        break;
    case SCRIPT_READ:
        read_back(operation);
        break;
    case SCRIPT_VARIABLE:
        write_variable(operation);
        break;
    case SCRIPT_SYNC:
        atomic_store(&player.is_open, true);
        if (operation->has_stream)
            TRY(cuStreamSynchronize, stream);
        else
            TRY(cuCtxSynchronize);
        break;
    case SCRIPT_RECORD:
        if (!player.events[operation->event])
            TRY(cuEventCreate, &player.events[operation->event], CU_EVENT_DISABLE_TIMING);
        TRY(cuEventRecord, player.events[operation->event], stream);
        break;
    case SCRIPT_WAIT:
        if (player.events[operation->event])
            TRY(cuStreamWaitEvent, stream, player.events[operation->event], 0);
        break;
    case SCRIPT_QUERY: {
        CUresult result = player.cuda->cuStreamQuery(stream);
        if (result != CUDA_ERROR_NOT_READY) check(result, "cuStreamQuery");
        break;
    }
    case SCRIPT_PAUSE:
        usleep(operation->seed);
        break;
    case SCRIPT_RELOAD:
        TRY(cuCtxSynchronize);
        TRY(cuModuleUnload, player.module);
        load();
        break;
    case SCRIPT_BAD:
        launch_badly(operation);
        break;
    case SCRIPT_CALL:
        call(stream);
        break;
    case SCRIPT_HOLD:
        hold(stream);
        break;
    case SCRIPT_OPEN:
        open_all();
        break;
    case SCRIPT_AWAIT:
        await_calls();
        break;
    case SCRIPT_JOIN:
        if (player.events[operation->event]) TRY(cuEventSynchronize, player.events[operation->event]);
        break;
    case SCRIPT_RENEW:
        renew_stream(operation->stream);
        break;
    case SCRIPT_POINT:
    case SCRIPT_AIM:
        point(operation);
        break;
    case SCRIPT_PUT:
        put(operation);
        break;
    case SCRIPT_POLL:
        poll(operation);
        break;
    case SCRIPT_REPLAY:
    case SCRIPT_OPERATIONS:
        break;
    }
}

static void finish(void)
{
    atomic_store(&player.is_open, true);
    held_before_wait();
    TRY(cuCtxSynchronize);
    held_after_wait();
    if (held_for_ever()) {
        printf("error %u launches were held until the program waited for them\n", player.operation->line);
        fflush(stdout);
        _exit(3);
    }
    printf("calls %u\n", atomic_load(&player.calls));
    atomic_store(&player.calls, 0);
    player.calls_asked = 0;
    for (uint32_t array = 0; array < SCRIPT_ARRAYS; array++) {
        if (!player.arrays[array] || player.is_unprinted[array]) continue;
        unsigned char *bytes = host_bytes(player.sizes[array]);
        TRY(cuMemcpyDtoH, bytes, player.arrays[array], player.sizes[array]);
        tell("end a", array, bytes, player.sizes[array]);
        free(bytes);
    }
    for (uint32_t array = 0; array < SCRIPT_ARRAYS; array++) release(array);
    for (uint32_t event = 0; event < SCRIPT_EVENTS; event++) {
        if (player.events[event]) TRY(cuEventDestroy, player.events[event]);
        player.events[event] = NULL;
    }
    player.streams[0] = NULL; /* none of its own */
    for (uint32_t stream = 1; stream < SCRIPT_STREAMS; stream++) {
        if (player.streams[stream]) TRY(cuStreamDestroy, player.streams[stream]);
        player.streams[stream] = NULL;
    }
    TRY(cuModuleUnload, player.module);
    for (int i = 0; i < 2; i++) {
        if (player.libraries[i]) TRY(cuModuleUnload, player.libraries[i]);
        player.libraries[i] = NULL;
    }
}

static void play(const struct script *script, bool is_replay)
{
    player.script = script;
    player.operation = NULL;
    player.cuda = script->number % 2 ? &player.asked : &player.exported;
    printf("program %u\n", script->number);
    fflush(stdout); /* whoever looks for a crash wants to know where */
    load();
    load_libraries();
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->operations[i].kind == SCRIPT_REPLAY && !is_replay) break;
        perform(&script->operations[i]);
    }
    finish();
    printf("done %u\n", script->number);
}

static void open_device(void)
{
    CUdevice device;
    player.cuda = &player.asked;
    TRY(cuInit, 0);
    TRY(cuDeviceGet, &device, 0);
    TRY(cuDevicePrimaryCtxRetain, &player.context, device);
    TRY(cuCtxSetCurrent, player.context);
    TRY(cuMemHostAlloc, (void **)&player.pinned, SCRIPT_PUT_BYTES, 0);
    TRY(cuMemHostAlloc, (void **)&player.settled, SCRIPT_PUT_BYTES, 0);
    TRY(cuMemAlloc, &player.scratch, SCRIPT_PUT_BYTES * SCRIPT_STREAMS);
}

int main(int count, char **arguments)
{
    bool is_replay = false;
    const char *path = NULL, *error = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--replay") == 0)
            is_replay = true;
        else if (strcmp(arguments[i], "--any-nan") == 0)
            player.takes_any_nan = true;
        else if (strcmp(arguments[i], "--dump") == 0 && i + 1 < count)
            player.dump = arguments[++i];
        else
            path = arguments[i];
    }
    char *text = path ? script_read_file(path) : NULL;
    if (!text) {
        fprintf(stderr, "usage: player [--replay] [--any-nan] [--dump FOLDER] FILE\n");
        return 2;
    }
    if (!find_calls()) {
        fprintf(stderr, "player: no CUDA driver\n");
        return 77;
    }
    open_device();
    for (const char *cursor = text;;) {
        struct arena *arena = arena_create();
        const struct script *script = arena ? script_read(arena, &cursor, &error) : NULL;
        if (script) play(script, is_replay);
        arena_free(arena);
        if (!script) break;
    }
    if (error) fprintf(stderr, "player: %s\n", error);
    free(text);
    return error ? 2 : 0;
}
