/* SPDX-License-Identifier: Apache-2.0
 * Streams that write values to memory and wait for values there. driver.sh runs it again with
 * KFUSE_EMULATOR=seed=N. */
#include "tests/emulator/driver_fixture.h"

static CUstream first, second;
static CUdeviceptr words; /* 8 of 8 bytes */

static int open_streams(void **state)
{
    open_device(state);
    must(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc(&words, 64));
    return 0;
}

static int clear(void **state)
{
    (void)state;
    must(cuMemsetD8(words, 0, 64));
    must(cuCtxSynchronize());
    return 0;
}

static uint64_t word(int index)
{
    uint64_t out;
    must(cuMemcpyDtoH(&out, words + 8 * (CUdeviceptr)index, sizeof out));
    return out;
}

static void a_stream_waits_for_another(void **state)
{
    (void)state;
    must(cuStreamWaitValue32(first, words, 5, CU_STREAM_WAIT_VALUE_EQ));
    must(note(words + 16, 7, first));
    assert_int_equal(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
    assert_int_equal(word(2), 0);
    must(cuStreamWriteValue32(second, words, 4, CU_STREAM_WRITE_VALUE_DEFAULT));
    must(cuStreamSynchronize(second));
    assert_int_equal(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
    must(cuStreamWriteValue32(second, words, 5, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    must(cuStreamSynchronize(first));
    assert_int_equal(word(0), 5); /* 4 bytes, no more */
    assert_int_equal(word(2), 7ull << 32 | 1);
}

struct condition {
    unsigned flags;
    uint64_t is, wanted;
    bool in32, in64; /* whether it holds */
};
static const struct condition conditions[] = {
    {CU_STREAM_WAIT_VALUE_GEQ, 5, 5, true, true},
    {CU_STREAM_WAIT_VALUE_GEQ, 4, 5, false, false},
    {CU_STREAM_WAIT_VALUE_GEQ, 1, 0xfffffffe, true, false}, /* cyclic */
    {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffffe, 1, false, true},
    {CU_STREAM_WAIT_VALUE_GEQ, 2, UINT64_MAX, true, true},
    {CU_STREAM_WAIT_VALUE_EQ, 7, 7, true, true},
    {CU_STREAM_WAIT_VALUE_EQ, 0x100000007, 7, true, false},
    {CU_STREAM_WAIT_VALUE_AND, 6, 4, true, true},
    {CU_STREAM_WAIT_VALUE_AND, 6, 9, false, false},
    {CU_STREAM_WAIT_VALUE_AND, 1ull << 40, 1ull << 40 | 1, false, true},
    {CU_STREAM_WAIT_VALUE_NOR, 0xf0, 0x0f, true, true},
    {CU_STREAM_WAIT_VALUE_NOR, 0xffff0000, 0xffff, false, true},
    {CU_STREAM_WAIT_VALUE_NOR, UINT64_MAX - 1, 1, false, false},
};

static void conditions_are_those_of_the_manual(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof conditions / sizeof *conditions; i++) {
        const struct condition *c = &conditions[i / 2];
        bool holds = i % 2 ? c->in64 : c->in32;
        must(cuStreamWriteValue64(second, words, c->is, 0));
        must(cuStreamSynchronize(second));
        if (i % 2)
            must(cuStreamWaitValue64(first, words, c->wanted, c->flags));
        else
            must(cuStreamWaitValue32(first, words, (uint32_t)c->wanted, c->flags));
        if (holds) must(cuStreamSynchronize(first));
        if (cuStreamQuery(first) != (holds ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY))
            fail_msg("row %zu, %d bits", i / 2, i % 2 ? 64 : 32);
        /* what any of the conditions is content with */
        uint64_t enough = c->flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : c->wanted;
        must(cuStreamWriteValue64(second, words, enough, 0));
        must(cuStreamSynchronize(first));
    }
}

static void the_host_may_write_it(void **state)
{
    (void)state;
    volatile uint32_t *host;
    must(cuMemAllocHost((void **)&host, 16));
    host[0] = host[1] = 0;
    must(cuStreamWaitValue32(first, (CUdeviceptr)host, 3, CU_STREAM_WAIT_VALUE_GEQ));
    must(cuStreamWriteValue32(first, (CUdeviceptr)(host + 1), 9, 0));
    assert_int_equal(host[1], 0);
    host[0] = 4;
    while (host[1] != 9) continue;
    must(cuStreamSynchronize(first));
    must(cuMemFreeHost((void *)host));
}

static void a_batch_is_in_order(void **state)
{
    (void)state;
    CUstreamBatchMemOpParams batch[4] = {0};
    batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    batch[0].writeValue.address = words;
    batch[0].writeValue.value = 1;
    batch[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    batch[1].waitValue.address = words + 8;
    batch[1].waitValue.value64 = 1ull << 33;
    batch[2].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    batch[3].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[3].writeValue.address = words + 16;
    batch[3].writeValue.value64 = 1ull << 34;
    must(cuStreamBatchMemOp(first, 4, batch, 0));
    must(cuStreamWaitValue32(second, words, 1, CU_STREAM_WAIT_VALUE_EQ));
    must(cuStreamSynchronize(second));
    assert_int_equal(word(2), 0);
    must(cuStreamWriteValue64(second, words + 8, 1ull << 33, 0));
    must(cuStreamSynchronize(first));
    assert_int_equal(word(2), 1ull << 34);
    batch[3].writeValue.address += 1; /* refused whole */
    assert_int_equal(cuStreamBatchMemOp(first, 4, batch, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamBatchMemOp(first, 4, batch, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamBatchMemOp(first, 256, batch, 0), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamQuery(first));
}

static void a_graph_has_them(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphNodeType type;
    size_t count = 1;
    must(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuStreamWaitValue32(first, words, 2, CU_STREAM_WAIT_VALUE_EQ));
    must(cuStreamWriteValue32(first, words + 8, 6, 0));
    must(cuStreamEndCapture(first, &graph));
    must(cuGraphGetRootNodes(graph, &node, &count));
    must(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    must(cuGraphInstantiate(&exec, graph, 0));
    must(cuGraphLaunch(exec, first));
    assert_int_equal(word(1), 0);
    must(cuStreamWriteValue32(second, words, 2, 0));
    must(cuStreamSynchronize(first));
    assert_int_equal(word(1), 6);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

static void arguments_are_checked(void **state)
{
    (void)state;
    int value = 0;
    uint32_t pageable = 0;
    assert_int_equal(cuStreamWriteValue32(first, words + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWriteValue64(first, words + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWriteValue32(first, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWriteValue32(first, (CUdeviceptr)&pageable, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWriteValue32(first, words, 0, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWaitValue32(first, words, 0, 4), CUDA_ERROR_INVALID_VALUE);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    if (!value)
        assert_int_equal(cuStreamWaitValue32(first, words, 0, CU_STREAM_WAIT_VALUE_FLUSH),
                         CUDA_ERROR_NOT_SUPPORTED);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    assert_int_equal(value, 1);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    assert_int_equal(value, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stream_waits_for_another, clear),
        cmocka_unit_test_setup(conditions_are_those_of_the_manual, clear),
        cmocka_unit_test_setup(the_host_may_write_it, clear),
        cmocka_unit_test_setup(a_batch_is_in_order, clear),
        cmocka_unit_test_setup(a_graph_has_them, clear),
        cmocka_unit_test_setup(arguments_are_checked, clear),
    };
    return cmocka_run_group_tests_name("values", tests, open_streams, NULL);
}
