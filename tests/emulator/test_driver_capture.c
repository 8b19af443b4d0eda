/* SPDX-License-Identifier: Apache-2.0
 * Captures of streams, what spoils them, and what becomes of them when a stream goes. */
#include "tests/emulator/driver_fixture.h"

struct pair {
    CUstream stream, other;
    CUevent event;
};

static void make_pair(struct pair *pair)
{
    must(cuStreamCreate(&pair->stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&pair->other, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&pair->event, CU_EVENT_DISABLE_TIMING));
}

/* The other stream follows what the first has so far. */
static void join_pair(const struct pair *pair)
{
    must(cuEventRecord(pair->event, pair->stream));
    must(cuStreamWaitEvent(pair->other, pair->event, 0));
}

static void drop_pair(const struct pair *pair)
{
    if (pair->stream) must(cuStreamDestroy(pair->stream));
    if (pair->other) must(cuStreamDestroy(pair->other));
    must(cuEventDestroy(pair->event));
}

/* A diamond over two streams, launched twice. */
static void captures_a_graph(void **state)
{
    (void)state;
    enum { N = 200 };
    CUstream one, two;
    CUevent fork, join;
    CUdeviceptr x, y;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    uint32_t out[N];
    size_t count = 0;
    must(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    must(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemAlloc(&y, sizeof out));
    must(cuMemsetD32(y, 0, N));
    must(cuCtxSynchronize());
    must(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemsetD32Async(x, 1, N, one));
    must(cuEventRecord(fork, one));
    must(cuStreamWaitEvent(two, fork, 0));
    must(step(x, N, one));
    must(step(y, N, two));
    must(cuEventRecord(join, two));
    must(cuStreamWaitEvent(one, join, 0));
    must(step(x, N, one));
    must(cuStreamIsCapturing(two, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    must(cuStreamEndCapture(one, &graph));
    must(cuStreamIsCapturing(two, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    must(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    must(cuGraphInstantiate(&exec, graph, 0));
    must(cuGraphDestroy(graph));
    must(cuGraphLaunch(exec, one));
    must(cuGraphLaunch(exec, one));
    must(cuStreamSynchronize(one));
    must(cuMemcpyDtoH(out, x, sizeof out));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], stepped(1, i, 2));
    must(cuMemcpyDtoH(out, y, sizeof out));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], stepped(0, i, 2));
    must(cuGraphExecDestroy(exec));
    must(cuEventDestroy(fork));
    must(cuEventDestroy(join));
    must(cuStreamDestroy(one));
    must(cuStreamDestroy(two));
    must(cuMemFree(x));
    must(cuMemFree(y));
}

static void a_capture_is_spoiled_by_what_it_forbids(void **state)
{
    (void)state;
    struct pair pair;
    CUdeviceptr x, y;
    CUgraph graph;
    CUstreamCaptureStatus status;
    make_pair(&pair);
    must(cuMemAlloc(&x, 128));
    assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must(cuStreamBeginCapture(pair.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuMemAlloc(&y, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must(cuStreamIsCapturing(pair.stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(step(x, 32, pair.stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(pair.stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuStreamBeginCapture(pair.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemAlloc(&y, 16));
    must(step(x, 32, pair.stream));
    must(cuStreamEndCapture(pair.stream, &graph));
    must(cuGraphDestroy(graph));
    assert_int_equal(cuStreamEndCapture(pair.stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    /* a stream that joins and is never joined */
    must(cuStreamBeginCapture(pair.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    join_pair(&pair);
    must(step(x, 32, pair.other));
    assert_int_equal(cuStreamEndCapture(pair.stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    drop_pair(&pair);
    must(cuMemFree(x));
    must(cuMemFree(y));
}

/* A capture ends with the stream that began it: nothing is forbidden any more. */
static void a_destroyed_stream_ends_its_capture(void **state)
{
    (void)state;
    struct pair pair;
    CUdeviceptr x;
    CUstreamCaptureStatus status;
    must(cuMemAlloc(&x, 64));
    make_pair(&pair);
    must(cuStreamBeginCapture(pair.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemsetD8Async(x, 1, 64, pair.stream));
    join_pair(&pair);
    must(cuStreamDestroy(pair.stream));
    must(cuStreamIsCapturing(pair.other, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    must(cuMemFree(x));
    pair.stream = NULL;
    drop_pair(&pair);
}

/* A stream that joined a capture goes: the capture is spoiled, and ends without it. */
static void a_destroyed_stream_leaves_its_capture(void **state)
{
    (void)state;
    struct pair pair;
    CUgraph graph;
    CUdeviceptr x;
    make_pair(&pair);
    must(cuStreamBeginCapture(pair.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    join_pair(&pair);
    must(cuStreamDestroy(pair.other));
    must(cuStreamCreate(&pair.other, CU_STREAM_NON_BLOCKING)); /* may get the memory of the old one */
    must(cuStreamBeginCapture(pair.other, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamEndCapture(pair.stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuMemAlloc(&x, 64));
    must(cuMemsetD8Async(x, 1, 64, pair.other));
    must(cuStreamEndCapture(pair.other, &graph));
    must(cuGraphDestroy(graph));
    must(cuMemFree(x));
    drop_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_a_graph),
        cmocka_unit_test(a_capture_is_spoiled_by_what_it_forbids),
        cmocka_unit_test(a_destroyed_stream_ends_its_capture),
        cmocka_unit_test(a_destroyed_stream_leaves_its_capture),
    };
    return cmocka_run_group_tests_name("captures", tests, open_device, NULL);
}
