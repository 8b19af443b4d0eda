/* SPDX-License-Identifier: Apache-2.0
 * Who waits for whom: host functions, calls that return before or after the work is done, ends of the
 * process. Every example runs in a process of its own, with a limit of time. driver.sh runs it again with
 * KFUSE_EMULATOR=seed=N. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

/* add: adds n to each word of x. spin: never ends. wait: until *flag is n, then adds 1 to *x. set: stores n.
 */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u32 n)\n{\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d1, [x]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4;\n"
    "  add.s64 %d1, %d1, %d2; ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r1; st.global.u32 [%d1], %r3; "
    "ret;\n}\n"
    ".visible .entry spin()\n{\n"
    "  .reg .b32 %r; mov.u32 %r, 0;\nagain:\n  add.u32 %r, %r, 1; bra again;\n}\n"
    ".visible .entry wait(.param .u64 x, .param .u64 flag, .param .u32 n)\n{\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p;\n"
    "  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [flag]; ld.param.u32 %r1, [n];\n"
    "again:\n  ld.volatile.global.u32 %r2, [%d2]; setp.ne.u32 %p, %r2, %r1; @%p bra again;\n"
    "  atom.global.add.u32 %r3, [%d1], 1; ret;\n}\n"
    ".visible .entry set(.param .u64 x, .param .u32 n)\n{\n"
    "  .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [x]; ld.param.u32 %r, [n];\n"
    "  st.volatile.global.u32 [%d], %r; ret;\n}\n";

enum { WORDS = 32, SECONDS = 10 };

static CUfunction add_kernel, spin_kernel, wait_kernel, set_kernel;
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
    must(cuModuleGetFunction(&wait_kernel, module, "wait"));
    must(cuModuleGetFunction(&set_kernel, module, "set"));
}

static CUresult add(CUdeviceptr x, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &n};
    return cuLaunchKernel(add_kernel, 1, 1, 1, WORDS, 1, 1, 0, stream, arguments, NULL);
}

/* One thread that adds 1 to *x when *flag has become n. */
static CUresult await(CUdeviceptr x, CUdeviceptr flag, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &flag, &n};
    return cuLaunchKernel(wait_kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

static CUresult set(CUdeviceptr x, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &n};
    return cuLaunchKernel(set_kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
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

/* --- kernels that wait for each other
 * ------------------------------------------------------------------------------------------------ */

/* x, a flag and a second one, zeroed, and two streams that don't wait for the legacy one. */
static CUdeviceptr words;
static CUstream streams[2];

static void open_streams(void)
{
    open_device();
    must(cuMemAlloc(&words, 4 * WORDS));
    must(cuMemsetD32(words, 0, WORDS));
    must(cuCtxSynchronize());
    for (int i = 0; i < 2; i++) must(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

static void expect(uint32_t word, uint32_t value)
{
    uint32_t out;
    must(cuMemcpyDtoH(&out, words + 4 * word, sizeof out));
    good(out == value);
}

static void waits_for_a_later_kernel(void)
{
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    good(cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY);
    must(set(words + 4, 7, streams[1]));
    must(cuStreamSynchronize(streams[0]));
    expect(0, 1);
}

static void waits_for_a_later_copy(void)
{
    uint32_t seven = 7;
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    must(cuMemcpyHtoDAsync(words + 4, &seven, sizeof seven, streams[1]));
    must(cuCtxSynchronize());
    expect(0, 1);
    must(await(words, words + 8, 7, streams[0]));
    must(cuMemcpyHtoD(words + 8, &seven,
                      sizeof seven)); /* the legacy stream, for which the other isn't blocked */
    must(cuStreamSynchronize(streams[0]));
    expect(0, 2);
}

/* Two kernels that each wait for what the other one's stream does next. */
static void answer_each_other(void)
{
    open_streams();
    for (uint32_t i = 1; i <= 5; i++) {
        must(await(words, words + 4, i, streams[0]));
        must(set(words + 8, i, streams[0]));
        must(set(words + 4, i, streams[1]));
        must(await(words, words + 8, i, streams[1]));
    }
    must(cuCtxSynchronize());
    expect(0, 10);
}

/* The host sees what a kernel writes, and answers, without a call of the driver. */
static void host_answers_in_memory(void)
{
    volatile uint32_t *host;
    open_streams();
    must(cuMemAllocHost((void **)&host, 4 * WORDS));
    host[0] = host[1] = host[2] = 0;
    for (uint32_t i = 1; i <= 2; i++) {
        must(await((CUdeviceptr)host, (CUdeviceptr)(host + 1), i, streams[0]));
        must(set((CUdeviceptr)(host + 2), i, streams[0]));
        host[1] = i;
        while (host[2] != i) continue;
        good(host[0] == i);
    }
}

/* The host polls the driver until a stream whose kernel waits is done. */
static void host_polls_the_driver(void)
{
    CUevent event;
    open_streams();
    must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(await(words, words + 4, 7, streams[0]));
    must(cuEventRecord(event, streams[0]));
    for (int i = 0; i < 10; i++) good(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    must(set(words + 4, 7, streams[1]));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) continue;
    must(cuEventQuery(event));
    expect(0, 1);
}

static void *set_later(void *unused)
{
    (void)unused;
    usleep(100000);
    must(cuCtxSetCurrent(context));
    must(set(words + 4, 7, streams[1]));
    must(cuStreamSynchronize(streams[1]));
    return NULL;
}

/* One thread waits for a kernel that waits for what another thread launches. */
static void threads_do_not_block_each_other(void)
{
    pthread_t thread;
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    good(pthread_create(&thread, NULL, set_later, NULL) == 0);
    must(cuStreamSynchronize(streams[0]));
    good(pthread_join(thread, NULL) == 0);
    expect(0, 1);
}

/* What is ordered behind the waiting kernel does not overtake it: its stream, an event, the legacy stream. */
static void order_is_kept_meanwhile(void)
{
    CUstream blocking;
    CUevent event;
    open_streams();
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(await(words, words + 4, 7, blocking));
    must(cuEventRecord(event, blocking));
    must(cuStreamWaitEvent(streams[1], event, 0));
    must(await(words, words, 1,
               blocking)); /* x is 1 when the first has ended, and never again after the others */
    must(await(words, words, 2, NULL));
    must(await(words, words, 3, blocking));
    must(await(words, words, 4, blocking));
    must(set(words + 4, 7, streams[0]));
    must(set(words + 8, 1, streams[1]));
    must(cuCtxSynchronize());
    expect(0, 5);
    expect(2, 1);
}

/* Destroying a stream does not wait for it: its work goes on, and is waited for with the context's. */
static void a_stream_leaves_with_work(void)
{
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    must(set(words + 8, 3, streams[0]));
    must(cuStreamDestroy(streams[0]));
    good(cuStreamQuery(streams[0]) == CUDA_ERROR_INVALID_HANDLE);
    must(set(words + 4, 7, streams[1]));
    must(cuCtxSynchronize());
    expect(0, 1);
    expect(2, 3);
}

/* A fault elsewhere in the context ends a kernel that waits. */
static void ends_with_the_context(void)
{
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    (void)set(16, 1, streams[1]);
    good(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* With a limit of steps, what would wait for ever ends with an error: a kernel, and a stream. */
static void ends_at_the_limit(void)
{
    open_streams();
    must(await(words, words + 4, 7, streams[0]));
    (void)set(words + 8, 1, streams[1]);
    good(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_TIMEOUT);
}

static void held_at_the_limit(void)
{
    open_streams();
    must(cuStreamWaitValue32(streams[0], words + 4, 7, CU_STREAM_WAIT_VALUE_EQ));
    must(set(words + 8, 1, streams[0]));
    good(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_TIMEOUT);
}

static const struct {
    const char *name;
    void (*example)(void);
} limited[] = {{"ends", ends_at_the_limit}, {"held", held_at_the_limit}};

/* In a process that begins with the setting. */
static void test_limit_of_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            const char *given = getenv("KFUSE_EMULATOR");
            char options[100];
            snprintf(options, sizeof options, "%.60s,quiet,steps=1000000", given ? given : "quiet");
            setenv("KFUSE_EMULATOR", options, 1);
            execl("/proc/self/exe", "test_streams", limited[i].name, NULL);
            _exit(99);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
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
EXAMPLE(waits_for_a_later_kernel)
EXAMPLE(waits_for_a_later_copy)
EXAMPLE(answer_each_other)
EXAMPLE(host_answers_in_memory)
EXAMPLE(host_polls_the_driver)
EXAMPLE(threads_do_not_block_each_other)
EXAMPLE(order_is_kept_meanwhile)
EXAMPLE(a_stream_leaves_with_work)
EXAMPLE(ends_with_the_context)

int main(int count, char **arguments)
{
    for (size_t i = 0; count > 1 && i < sizeof limited / sizeof *limited; i++) {
        if (strcmp(arguments[1], limited[i].name) != 0) continue;
        alarm(SECONDS);
        limited[i].example();
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behind_a_gate),
        cmocka_unit_test(test_beside_a_gate),
        cmocka_unit_test(test_calls_from_a_host_function),
        cmocka_unit_test(test_exit_in_a_host_function),
        cmocka_unit_test(test_exit_in_a_signal_handler),
        cmocka_unit_test(test_waits_for_host_memory),
        cmocka_unit_test(test_legacy_stream_and_others),
        cmocka_unit_test(test_waits_for_a_later_kernel),
        cmocka_unit_test(test_waits_for_a_later_copy),
        cmocka_unit_test(test_answer_each_other),
        cmocka_unit_test(test_host_answers_in_memory),
        cmocka_unit_test(test_host_polls_the_driver),
        cmocka_unit_test(test_threads_do_not_block_each_other),
        cmocka_unit_test(test_order_is_kept_meanwhile),
        cmocka_unit_test(test_a_stream_leaves_with_work),
        cmocka_unit_test(test_ends_with_the_context),
        cmocka_unit_test(test_limit_of_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
