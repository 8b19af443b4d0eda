/* SPDX-License-Identifier: Apache-2.0
 * Streams, events, threads and host functions. driver.sh runs it again with KFUSE_EMULATOR=seed=N, where
 * operations of different streams are reordered. */
#include "tests/emulator/driver_fixture.h"
#include <pthread.h>

static void events_tell_time(void **state)
{
    (void)state;
    CUevent start, end, untimed;
    CUdeviceptr x;
    float none, some;
    must(cuEventCreate(&start, CU_EVENT_DEFAULT));
    must(cuEventCreate(&end, CU_EVENT_DEFAULT));
    must(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&x, 1 << 20));
    must(cuMemsetD8(x, 0, 1 << 20));
    must(cuEventQuery(start)); /* never recorded: complete */
    assert_int_equal(cuEventElapsedTime(&none, start, end), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventRecord(start, NULL));
    for (int i = 0; i < 4; i++) must(step(x, 1 << 18, NULL));
    must(cuEventRecord(end, NULL));
    must(cuEventRecord(untimed, NULL));
    must(cuEventSynchronize(end));
    must(cuEventElapsedTime(&some, start, end));
    assert_true(some > 0.004f && some < 10.0f); /* 4 kernels of 2 us or more */
    must(cuEventElapsedTime(&none, start, start));
    assert_true(none == 0);
    must(cuEventSynchronize(untimed));
    assert_int_equal(cuEventElapsedTime(&some, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventDestroy(start));
    must(cuEventDestroy(end));
    must(cuEventDestroy(untimed));
    must(cuMemFree(x));
}

static bool has_seed(void)
{
    const char *options = getenv("KFUSE_EMULATOR");
    return options && strstr(options, "seed=");
}

static uint32_t place(const uint32_t list[8], uint32_t mark)
{
    for (uint32_t i = 0; i < list[0]; i++)
        if (list[1 + i] == mark) return i;
    fail_msg("mark %u is missing", mark);
    return 0;
}

/* 1 and 2 in one stream, 3 in another after an event behind 1, 4 in a third, 5 in the legacy stream after
 * all. */
static void streams_keep_their_order(void **state)
{
    (void)state;
    CUstream stream[3];
    CUevent event;
    CUdeviceptr list;
    uint32_t first[8] = {0}, got[8];
    bool has_varied = false;
    for (int i = 0; i < 3; i++) must(cuStreamCreate(&stream[i], CU_STREAM_DEFAULT));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&list, sizeof got));
    for (int round = 0; round < 30; round++) {
        must(cuMemsetD32(list, 0, 8));
        must(note(list, 1, stream[0]));
        must(cuEventRecord(event, stream[0]));
        must(note(list, 2, stream[0]));
        must(cuStreamWaitEvent(stream[1], event, 0));
        must(note(list, 3, stream[1]));
        must(note(list, 4, stream[2]));
        must(note(list, 5, NULL));
        must(cuMemcpyDtoH(got, list, sizeof got));
        assert_int_equal(got[0], 5);
        assert_true(place(got, 1) < place(got, 2));
        assert_true(place(got, 1) < place(got, 3));
        assert_int_equal(place(got, 5), 4);
        if (round == 0) memcpy(first, got, sizeof got);
        has_varied |= memcmp(first, got, sizeof got) != 0;
    }
    if (has_seed()) assert_true(has_varied);
    for (int i = 0; i < 3; i++) must(cuStreamDestroy(stream[i]));
    must(cuEventDestroy(event));
    must(cuMemFree(list));
}

enum { NOTES = 24, ROUNDS = 30 };

static CUresult note_often(CUdeviceptr list, uint32_t mark, CUstream stream)
{
    void *arguments[] = {&list, &mark};
    return cuLaunchKernel(gpu.note, NOTES, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

/* How often another mark follows in the list of two launches. */
static int changes(CUdeviceptr list)
{
    uint32_t got[2 * NOTES + 1];
    int count = 0;
    must(cuMemcpyDtoH(got, list, sizeof got));
    assert_int_equal(got[0], 2 * NOTES);
    for (int i = 2; i <= 2 * NOTES; i++) count += got[i] != got[i - 1];
    return count;
}

/* Launches that nothing orders mix with a seed; those that a stream, an event or the legacy stream orders
 * don't. */
static void kernels_mix_where_they_may(void **state)
{
    (void)state;
    CUstream stream[2];
    CUevent event;
    CUdeviceptr list;
    int mixed = 0, apart = 0;
    for (int i = 0; i < 2; i++) must(cuStreamCreate(&stream[i], CU_STREAM_DEFAULT));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&list, (2 * NOTES + 1) * 4));
    for (int round = 0; round < 4 * ROUNDS; round++) {
        must(cuMemsetD32(list, 0, 2 * NOTES + 1));
        must(note_often(list, 1, stream[0]));
        if (round % 4 == 1) must(cuEventRecord(event, stream[0]));
        if (round % 4 == 1) must(cuStreamWaitEvent(stream[1], event, 0));
        must(note_often(list, 2, round % 4 == 2 ? stream[0] : round % 4 == 3 ? NULL : stream[1]));
        must(cuCtxSynchronize());
        if (round % 4 != 0)
            assert_int_equal(changes(list), 1);
        else if (changes(list) > 1)
            mixed++;
        else
            apart++;
    }
    assert_true(has_seed() ? mixed > 2 && apart > 2 : mixed == 0);
    for (int i = 0; i < 2; i++) must(cuStreamDestroy(stream[i]));
    must(cuEventDestroy(event));
    must(cuMemFree(list));
}

typedef CUresult (*stream_id_function)(CUstream stream, unsigned long long *id);

static void per_thread_entry_points_use_another_default_stream(void **state)
{
    (void)state;
    stream_id_function plain, per_thread;
    unsigned long long legacy, own, told;
    must(cuGetProcAddress("cuStreamGetId", (void **)&plain, 12000, 0, NULL));
    must(cuGetProcAddress("cuStreamGetId", (void **)&per_thread, 12000,
                          CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    must(plain(NULL, &legacy));
    must(per_thread(NULL, &own));
    must(plain(CU_STREAM_PER_THREAD, &told));
    assert_int_equal(own, told);
    assert_int_not_equal(own, legacy);
    must(plain(NULL, &told));
    assert_int_equal(told, legacy);
}

enum { THREADS = 4, THREAD_STEPS = 50 };

struct work {
    CUdeviceptr x;
    CUresult result;
    int calls;
};

static void CUDA_CB count_call(void *data)
{
    ++*(int *)data;
}

static void *work_in_own_stream(void *data)
{
    struct work *work = data;
    CUresult result = cuCtxSetCurrent(gpu.context);
    for (int i = 0; result == CUDA_SUCCESS && i < THREAD_STEPS; i++) {
        result = step(work->x, 64, CU_STREAM_PER_THREAD);
        if (result == CUDA_SUCCESS) result = cuLaunchHostFunc(CU_STREAM_PER_THREAD, count_call, &work->calls);
    }
    if (result == CUDA_SUCCESS) result = cuStreamSynchronize(CU_STREAM_PER_THREAD);
    work->result = result;
    return NULL;
}

static void threads_work_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct work work[THREADS] = {0};
    uint32_t out[64];
    for (int t = 0; t < THREADS; t++) {
        must(cuMemAlloc(&work[t].x, sizeof out));
        must(cuMemsetD32(work[t].x, (unsigned)t, 64));
    }
    must(cuCtxSynchronize());
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, work_in_own_stream, &work[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        must(work[t].result);
        assert_int_equal(work[t].calls, THREAD_STEPS);
        must(cuMemcpyDtoH(out, work[t].x, sizeof out));
        for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], stepped((uint32_t)t, i, THREAD_STEPS));
        must(cuMemFree(work[t].x));
    }
}

static void host_functions_run_in_order(void **state)
{
    (void)state;
    CUstream stream;
    int calls = 0;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 3; i++) must(cuLaunchHostFunc(stream, count_call, &calls));
    must(cuStreamSynchronize(stream));
    assert_int_equal(calls, 3);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) continue;
    must(cuStreamQuery(stream));
    must(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_tell_time),
        cmocka_unit_test(streams_keep_their_order),
        cmocka_unit_test(kernels_mix_where_they_may),
        cmocka_unit_test(per_thread_entry_points_use_another_default_stream),
        cmocka_unit_test(threads_work_side_by_side),
        cmocka_unit_test(host_functions_run_in_order),
    };
    return cmocka_run_group_tests_name("streams", tests, open_device, NULL);
}
