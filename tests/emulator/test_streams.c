/* SPDX-License-Identifier: Apache-2.0
 * Who waits for whom: host functions, calls that return before or after the work is done, ends of the
 * process. Every example runs in a process of its own, with a limit of time. driver.sh runs it again with
 * KFUSE_EMULATOR=seed=N. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

/* add: adds n to each word of x. spin: never ends. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u32 n)\n{\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d1, [x]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4;\n"
    "  add.s64 %d1, %d1, %d2; ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r1; st.global.u32 [%d1], %r3; "
    "ret;\n}\n"
    ".visible .entry spin()\n{\n"
    "  .reg .b32 %r; mov.u32 %r, 0;\nagain:\n  add.u32 %r, %r, 1; bra again;\n}\n";

enum { WORDS = 32, SECONDS = 10 };

static CUfunction add_kernel, spin_kernel;
static CUcontext context;

/* In a child: what fails ends it with the line as the status, which is what the test compares. */
static void check(int line, int is_good)
{
    if (!is_good) _exit(line % 250 + 1);
}
#define good(condition) check(__LINE__, condition)
#define must(call)      good((call) == CUDA_SUCCESS)

static void open_device(void)
{
    CUmodule module;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&add_kernel, module, "add"));
    must(cuModuleGetFunction(&spin_kernel, module, "spin"));
}

static CUresult add(CUdeviceptr x, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &n};
    return cuLaunchKernel(add_kernel, 1, 1, 1, WORDS, 1, 1, 0, stream, arguments, NULL);
}

/* The exit status of a process that runs the example, or 256 + the signal that ended it. */
static int outcome(void (*example)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        example();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* --- host functions
 * ------------------------------------------------------------------------------------------------ */

static atomic_int gate, passed;

static void CUDA_CB wait_at_gate(void *data)
{
    (void)data;
    while (!atomic_load(&gate)) usleep(1000);
    atomic_store(&passed, 1);
}

/* A launch behind a host function returns; the host may then let the function go on. */
static void behind_a_gate(void)
{
    CUstream stream;
    CUdeviceptr x;
    uint32_t out[WORDS], in[WORDS];
    open_device();
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemsetD32(x, 1, WORDS));
    must(cuCtxSynchronize());
    must(cuLaunchHostFunc(stream, wait_at_gate, NULL));
    must(add(x, 2, stream));
    for (int i = 0; i < WORDS; i++) in[i] = 10;
    must(cuMemcpyHtoDAsync(x, in, sizeof in / 2, stream)); /* pageable: read at the call */
    memset(in, 0, sizeof in);
    must(add(x, 3, stream));
    good(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    must(cuStreamSynchronize(stream));
    good(atomic_load(&passed) == 1);
    must(cuMemcpyDtoH(out, x, sizeof out));
    good(out[0] == 13 && out[WORDS - 1] == 6);
}

/* Another stream goes on meanwhile. */
static void beside_a_gate(void)
{
    CUstream held, free;
    CUdeviceptr x;
    CUevent event;
    uint32_t out[WORDS];
    open_device();
    must(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemsetD32Async(x, 1, WORDS, free));
    must(cuLaunchHostFunc(held, wait_at_gate, NULL));
    must(cuEventRecord(event, held));
    must(add(x, 2, free));
    must(cuStreamSynchronize(free));
    good(atomic_load(&passed) == 0);
    good(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    must(cuStreamWaitEvent(free, event, 0));
    must(add(x, 4, free));
    atomic_store(&gate, 1);
    must(cuMemcpyDtoHAsync(out, x, sizeof out, free));
    good(out[0] == 7 && atomic_load(&passed) == 1);
}

static CUresult seen;

static void CUDA_CB call_the_driver(void *data)
{
    (void)data;
    (void)cuCtxSetCurrent(context);
    seen = cuCtxSynchronize();
}

static void calls_from_a_host_function(void)
{
    open_device();
    must(cuLaunchHostFunc(NULL, call_the_driver, NULL));
    must(cuCtxSynchronize());
    good(seen == CUDA_ERROR_NOT_PERMITTED);
}

/* --- ends
 * ----------------------------------------------------------------------------------------------------------
 */

static void synchronise_at_exit(void)
{
    good(cuCtxSynchronize() == CUDA_ERROR_DEINITIALIZED);
}

static void CUDA_CB leave(void *data)
{
    (void)data;
    exit(0);
}

static void exit_in_a_host_function(void)
{
    atexit(synchronise_at_exit);
    open_device();
    must(cuLaunchHostFunc(NULL, leave, NULL));
    must(cuCtxSynchronize());
    good(0);
}

static void leave_by_signal(int signal)
{
    (void)signal;
    exit(0);
}

static void exit_in_a_signal_handler(void)
{
    atexit(synchronise_at_exit);
    open_device();
    signal(SIGVTALRM, leave_by_signal);
    struct itimerval soon = {.it_value = {.tv_usec = 100000}};
    setitimer(ITIMER_VIRTUAL, &soon, NULL);
    must(cuLaunchKernel(spin_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    must(cuCtxSynchronize());
    good(0);
}

/* --- calls that wait
 * ------------------------------------------------------------------------------------------------ */

/* Sets of host and managed memory, and copies between host memory, are done when the call returns. */
static void waits_for_host_memory(void)
{
    uint32_t *pinned, *managed, *other;
    open_device();
    must(cuMemAllocHost((void **)&pinned, 4 * WORDS));
    must(cuMemAllocHost((void **)&other, 4 * WORDS));
    must(cuMemAllocManaged((CUdeviceptr *)&managed, 4 * WORDS, CU_MEM_ATTACH_GLOBAL));
    must(cuMemsetD32((CUdeviceptr)pinned, 7, WORDS));
    good(pinned[WORDS - 1] == 7);
    must(cuMemsetD2D8((CUdeviceptr)managed, 4, 1, 4, WORDS));
    good(managed[WORDS - 1] == 0x01010101);
    must(cuMemcpyAsync((CUdeviceptr)other, (CUdeviceptr)pinned, 4 * WORDS, NULL));
    good(other[WORDS - 1] == 7);
}

/* The legacy stream and blocking streams wait for each other; non-blocking ones wait for nobody. */
static void legacy_stream_and_others(void)
{
    CUstream blocking, apart;
    uint32_t *x, *y;
    open_device();
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    must(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    must(cuMemAllocHost((void **)&x, 4 * WORDS));
    must(cuMemAllocHost((void **)&y, 4 * WORDS));
    memset(x, 0, 4 * WORDS);
    memset(y, 0, 4 * WORDS);
    must(cuLaunchHostFunc(apart, wait_at_gate, NULL));
    must(add((CUdeviceptr)y, 1, apart));
    must(add((CUdeviceptr)x, 1, blocking));
    must(cuMemcpy((CUdeviceptr)x + 4, (CUdeviceptr)x, 4)); /* in the legacy stream: behind the launch */
    good(x[1] == 1);
    must(add((CUdeviceptr)x, 5, NULL));
    must(cuStreamSynchronize(blocking)); /* nothing of its own is left */
    must(add((CUdeviceptr)x, 5, blocking));
    must(cuStreamSynchronize(blocking)); /* waits for the legacy stream, not for the one apart */
    good(x[0] == 11 && y[0] == 0 && atomic_load(&passed) == 0);
    atomic_store(&gate, 1);
    must(cuCtxSynchronize());
    good(y[0] == 1);
}

#define EXAMPLE(name)                                                                                        \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        assert_int_equal(outcome(name), 0);                                                                  \
    }
EXAMPLE(behind_a_gate)
EXAMPLE(beside_a_gate)
EXAMPLE(calls_from_a_host_function)
EXAMPLE(exit_in_a_host_function)
EXAMPLE(exit_in_a_signal_handler)
EXAMPLE(waits_for_host_memory)
EXAMPLE(legacy_stream_and_others)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behind_a_gate),
        cmocka_unit_test(test_beside_a_gate),
        cmocka_unit_test(test_calls_from_a_host_function),
        cmocka_unit_test(test_exit_in_a_host_function),
        cmocka_unit_test(test_exit_in_a_signal_handler),
        cmocka_unit_test(test_waits_for_host_memory),
        cmocka_unit_test(test_legacy_stream_and_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
