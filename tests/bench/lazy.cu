/* SPDX-License-Identifier: Apache-2.0
 * A program of temporaries: t1 = a + b, t2 = t1 b, out = t2 - a, step after step, in several forms, and after
 * each step what --then says, a letter each. What it reads it adds up and prints. */
#include "bench/bench.h"
#include "tests/bench/driver_call.h"
#include <thread>
#include <utility>

static int n;
static size_t bytes;
static float *a, *b, *t1, *t2, *out, *spare, *second, *other1, *other2, *host;
static cudaStream_t work, other, third; /* what the program works in: the default stream, or one of its own */
static bool is_beside;                  /* the default stream and work do not wait for each other */
static volatile int *flag;              /* of the host */
static cudaEvent_t event;

__global__ void add(int n, const float *x, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

__global__ void multiply(int n, const float *x, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] * y[i];
}

__global__ void subtract(int n, const float *x, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] - y[i];
}

/* Two results at once. */
__global__ void both(int n, const float *x, const float *y, float *sum, float *difference)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = x[i] + y[i];
    difference[i] = x[i] - y[i];
}

__global__ void halve(int n, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}

/* The first half from the second. */
__global__ void fold(int n, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) x[i] = 0.5f * x[i + n / 2];
}

/* Every byte of its arrays may be touched. */
__global__ void scatter(int n, const float *at, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[(unsigned)at[i] % n] = 1;
}

/* But for the middle. */
__global__ void ends(int n, const float *x, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4 || (i >= n - n / 4 && i < n)) z[i] = x[i] + y[i];
}

/* Where data say so. */
__global__ void where(int n, const float *x, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 2) z[i] = x[i];
}

/* Both ends at once, where data say so. */
__global__ void turn(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = n - 1 - i;
    if (i >= n / 2 || x[i] + x[k] < 4) return;
    y[i] += x[k];
    y[k] += x[i];
}

#define ON(stream, kernel, ...) kernel<<<(n + 127) / 128, 128, 0, stream>>>(n, __VA_ARGS__)
#define RUN(kernel, ...)        ON(work, kernel, __VA_ARGS__)

/* Until the host says so. */
__global__ void wait_for(volatile int *flag)
{
    while (!*flag) continue;
}

/* Around what goes to the default stream. */
static void meet(void)
{
    if (!is_beside) return;
    CHECK(cudaStreamSynchronize(work));
    CHECK(cudaStreamSynchronize(0));
}

static void tell(const char *name, const float *array)
{
    double sum = 0;
    meet();
    CHECK(cudaMemcpy(host, array, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) sum += host[i] * (i % 7 + 1);
    printf("%s %a\n", name, sum);
}

static void write(float *array, size_t from, size_t count, int step)
{
    for (size_t i = 0; i < count; i++) host[i] = (float)(step + (int)(i % 11));
    meet();
    CHECK(cudaMemcpy(array + from, host, count * sizeof *host, cudaMemcpyHostToDevice));
    meet();
}

static void nothing(void *)
{
}

static void make_plain(int)
{
    RUN(add, a, b, t1);
    RUN(multiply, t1, b, t2);
    RUN(subtract, t2, a, out);
}

/* The launch that makes t1 makes something else, too. */
static void make_both(int)
{
    RUN(both, a, b, t1, second);
    RUN(multiply, t1, b, t2);
    RUN(subtract, t2, a, out);
}

/* What t1 is made of is overwritten in the end. */
static void make_update(int step)
{
    make_plain(step);
    RUN(halve, a);
}

/* Other temporaries in every second step. */
static void make_alternate(int step)
{
    float *first = step % 2 ? other1 : t1, *next = step % 2 ? other2 : t2;
    RUN(add, a, b, first);
    RUN(multiply, first, b, next);
    RUN(subtract, next, a, out);
}

/* Two groups, whose temporaries lie in one allocation; the second one comes later. */
static void make_arena(int step)
{
    RUN(add, a, b, t1);
    RUN(multiply, t1, b, t2);
    CHECK(cudaDeviceSynchronize());
    if (step < 2) return;
    RUN(add, b, a, other1);
    RUN(subtract, other1, b, second);
    CHECK(cudaDeviceSynchronize());
}

/* A launch that no fused kernel can have as a member comes between the members, and reads what they make. */
static void make_peek(int)
{
    RUN(add, a, b, t1);
    RUN(turn, t1, spare);
    RUN(multiply, t1, b, t2);
    RUN(subtract, t2, a, out);
}

/* It changes what t1 is made of. */
static void make_spoil(int)
{
    RUN(add, a, b, t1);
    RUN(turn, b, a);
    RUN(multiply, t1, b, t2);
    RUN(subtract, t2, b, out);
}

/* It does so before the members. */
static void make_before(int step)
{
    RUN(turn, b, a);
    make_plain(step);
}

/* Another group makes the ends of t1 alone. */
static void make_ends(int)
{
    RUN(add, a, b, t1);
    RUN(subtract, t1, b, out);
    CHECK(cudaDeviceSynchronize());
    RUN(ends, b, b, t1);
    RUN(ends, t1, a, second);
    CHECK(cudaDeviceSynchronize());
}

/* One temporary alone. */
static void make_single(int)
{
    RUN(add, a, b, t1);
    RUN(multiply, t1, b, out);
}

/* Another group makes it anew, and somebody reads that. */
static void make_handed(int step)
{
    make_single(step);
    CHECK(cudaDeviceSynchronize());
    RUN(add, b, b, t1);
    RUN(subtract, t1, a, second);
    CHECK(cudaDeviceSynchronize());
    RUN(turn, t1, spare);
    CHECK(cudaDeviceSynchronize());
}

/* The other group reads it before. */
static void make_read(int step)
{
    make_single(step);
    CHECK(cudaDeviceSynchronize());
    RUN(subtract, t1, b, second);
    RUN(add, b, b, t1);
    CHECK(cudaDeviceSynchronize());
}

static const struct form {
    const char *name;
    void (*make)(int step);
} forms[] = {{"plain", make_plain},         {"both", make_both},     {"update", make_update},
             {"alternate", make_alternate}, {"arena", make_arena},   {"peek", make_peek},
             {"spoil", make_spoil},         {"before", make_before}, {"ends", make_ends},
             {"single", make_single},       {"handed", make_handed}, {"read", make_read}};

/* A graph that copies t1. */
static void launch_graph(void)
{
    static CUgraphExec executable;
    if (!executable) {
        CUgraph graph;
        CUgraphNode node;
        CUcontext context;
        CUDA_MEMCPY3D copy = {};
        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = (CUdeviceptr)t1;
        copy.dstDevice = (CUdeviceptr)spare;
        copy.WidthInBytes = bytes;
        copy.Height = copy.Depth = 1;
        if (DRIVER_CALL(cuCtxGetCurrent)(&context) || DRIVER_CALL(cuGraphCreate)(&graph, 0) ||
            DRIVER_CALL(cuGraphAddMemcpyNode)(&node, graph, NULL, 0, &copy, context) ||
            DRIVER_CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0))
            exit(1);
    }
    if (DRIVER_CALL(cuGraphLaunch)(executable, (CUstream)work)) exit(1);
    tell("spare", spare);
}

/* Until the host says so, in the other stream; event comes behind. */
static void begin_waiting(void)
{
    *flag = 0;
    wait_for<<<1, 1, 0, other>>>(flag);
    CHECK(cudaEventRecord(event, other));
}

static void end_waiting(void)
{
    *flag = 1;
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaStreamSynchronize(work));
}

/* While work waits for the host in the other stream, a third one reads what was made before. */
static void wait_in_work(void)
{
    static bool is_waiting;
    if (is_waiting) {
        CHECK(cudaStreamSynchronize(work));
        CHECK(cudaStreamWaitEvent(work, event, 0));
        CHECK(cudaMemcpyAsync(spare, t1, bytes, cudaMemcpyDeviceToDevice, third));
        CHECK(cudaStreamSynchronize(third));
        end_waiting();
    }
    begin_waiting();
    CHECK(cudaStreamSynchronize(work));
    is_waiting = true;
}

/* A copy that was there before the next step waits until the host says so, behind it. */
static void copy_late(void)
{
    static bool is_waiting;
    if (is_waiting) {
        CHECK(cudaStreamSynchronize(work));
        end_waiting();
        tell("spare", spare);
    }
    begin_waiting();
    CHECK(cudaMemcpyAsync(spare, t1, bytes, cudaMemcpyDeviceToDevice, other));
    is_waiting = true;
}

/* Work waits for the default stream, and that for the other one. */
static void wait_in_default(void)
{
    static cudaEvent_t behind;
    if (behind) {
        CHECK(cudaEventRecord(behind, work));
        CHECK(cudaStreamWaitEvent(third, behind, 0));
        CHECK(cudaMemcpyAsync(spare, t1, bytes, cudaMemcpyDeviceToDevice, third));
        end_waiting();
    } else {
        CHECK(cudaEventCreate(&behind));
    }
    begin_waiting();
    CHECK(cudaStreamSynchronize(work));
    CHECK(cudaMemsetAsync(second, 0, bytes));
}

static void then(char letter, int step)
{
    if (strchr("QHUPzZdcfFG", letter)) meet();
    switch (letter) {
    case 't':
        tell("t1", t1);
        break;
    case 'u':
        tell("t2", t2);
        break;
    case 'v':
        tell("other1", other1);
        break;
    case 'q':
        tell("second", second);
        break;
    case 'Q':
        CHECK(cudaMemset(second, step, bytes));
        break;
    case 'H': /* the last quarter */
        CHECK(cudaMemcpy(spare, t1 + n - n / 4, n / 4 * sizeof *t1, cudaMemcpyDeviceToDevice));
        tell("spare", spare);
        break;
    case 'o':
        tell("out", out);
        break;
    case 'A':
        write(a, 0, n, step);
        break;
    case 'B':
        write(b, n / 3, 5, step);
        break;
    case 'U':
        write(t2, 0, n, step);
        break;
    case 'P':
        write(t2, n / 2, n / 4, step);
        break;
    case 'z':
        CHECK(cudaMemset(t1, step, bytes));
        break;
    case 'Z':
        CHECK(cudaMemset(t1, step, bytes));
        CHECK(cudaMemset(t2, step, bytes));
        break;
    case 'd':
        CHECK(cudaMemcpy2D(t2, 64, t1, 64, 32, n / 16, cudaMemcpyDeviceToDevice));
        break;
    case 'c':
        CHECK(cudaMemcpy(spare, t1, bytes, cudaMemcpyDeviceToDevice));
        tell("spare", spare);
        break;
    case 'f':
        CHECK(cudaFree(t1));
        CHECK(cudaMalloc((void **)&t1, bytes));
        CHECK(cudaMemset(t1, 1, bytes));
        break;
    case 'F':
        CHECK(cudaFree(t2));
        CHECK(cudaMalloc((void **)&t2, bytes));
        CHECK(cudaMemset(t2, 1, bytes));
        break;
    case 'G': /* what t1 and t2 are made of */
        CHECK(cudaFree(b));
        tell("t2", t2);
        CHECK(cudaMalloc((void **)&b, bytes));
        write(b, 0, n, step);
        break;
    case 'l':
        launch_graph();
        break;
    case 's':
        CHECK(cudaDeviceSynchronize());
        break;
    case 'e':
        CHECK(cudaEventRecord(event, work));
        CHECK(cudaEventSynchronize(event));
        break;
    case 'b':
        RUN(subtract, out, b, spare);
        break;
    case 'r':
        RUN(subtract, t1, b, spare);
        tell("spare", spare);
        break;
    case 'w':
        RUN(subtract, t2, out, a);
        break;
    case 'g':
        RUN(fold, t2);
        break;
    case 'x':
        RUN(scatter, t1, spare);
        tell("spare", spare);
        break;
    case 'h':
        CHECK(cudaLaunchHostFunc(work, nothing, NULL));
        break;
    case 'i': {
        cudaPointerAttributes attributes;
        CHECK(cudaPointerGetAttributes(&attributes, t1));
        break;
    }
    case 'I': { /* the emulator says no, which is as good */
        CUipcMemHandle handle;
        DRIVER_CALL(cuIpcGetMemHandle)(&handle, (CUdeviceptr)t1);
        break;
    }
    case 'k':
        if (!other) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
        CHECK(cudaEventRecord(event, work));
        CHECK(cudaStreamWaitEvent(other, event, 0));
        ON(other, subtract, t1, t2, spare);
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'S': /* ordered by the host alone */
        CHECK(cudaDeviceSynchronize());
        if (!other) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
        ON(other, subtract, t1, t2, spare);
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'y': /* ordered by an event that the host has waited for */
        CHECK(cudaEventRecord(event, work));
        CHECK(cudaEventSynchronize(event));
        ON(other, subtract, t1, t2, spare);
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'Y': /* the same of a copy */
        CHECK(cudaEventRecord(event, work));
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaMemcpyAsync(spare, t1, bytes, cudaMemcpyDeviceToDevice, other));
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'm': /* made again for its own stream, while another one has been told that all is done */
        CHECK(cudaStreamSynchronize(work));
        RUN(subtract, t1, b, second);
        ON(other, subtract, t1, t2, spare);
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'X': /* the other stream writes what t1 is made of */
        CHECK(cudaStreamSynchronize(work));
        ON(other, halve, a);
        CHECK(cudaStreamSynchronize(other));
        break;
    case 'p': /* beside what the thread does */
        begin_waiting();
        std::thread([] {
            CHECK(cudaMemcpyAsync(spare, out, bytes, cudaMemcpyDeviceToDevice, third));
        }).join();
        CHECK(cudaStreamSynchronize(third));
        end_waiting();
        break;
    case 'a':
        wait_in_work();
        break;
    case 'N':
        copy_late();
        break;
    case 'D':
        wait_in_default();
        break;
    case 'V': /* by a launch that no plan knows */
        CHECK(cudaStreamSynchronize(work));
        ON(other, both, t1, t2, spare, second);
        CHECK(cudaStreamSynchronize(other));
        tell("spare", spare);
        break;
    case 'W': /* the next step is in the third stream */
        CHECK(cudaStreamSynchronize(work));
        std::swap(work, third);
        break;
    case 'M': /* the stream goes, and another one looks */
        CHECK(cudaStreamSynchronize(work));
        CHECK(cudaStreamDestroy(work));
        CHECK(cudaMemcpyAsync(spare, t1, bytes, cudaMemcpyDeviceToDevice, third));
        CHECK(cudaStreamSynchronize(third));
        CHECK(cudaStreamCreateWithFlags(&work, is_beside ? cudaStreamNonBlocking : cudaStreamDefault));
        break;
    case 'J': /* unknown, and waits */
        *flag = 0;
        wait_for<<<1, 1, 0, work>>>(flag);
        *flag = 1;
        break;
    case 'E': /* fails, and changes nothing */
        if (cudaMemset(t1, 0, (size_t)1 << 40) == cudaSuccess) exit(1);
        cudaGetLastError();
        break;
    case '1': /* a launch alone overwrites t1 */
        RUN(add, b, b, t1);
        break;
    case '2': /* the first half, by the same kernel */
        add<<<(n / 2 + 127) / 128, 128, 0, work>>>(n / 2, b, b, t1);
        break;
    case '3': /* what it reads itself */
        RUN(add, t1, b, t1);
        break;
    case '4':
        RUN(where, b, t1);
        break;
    case '5': /* but for one element */
        add<<<(n + 127) / 128, 128, 0, work>>>(n - 1, b, b, t1 + 1);
        break;
    case '6':
        RUN(ends, b, b, t1);
        break;
    case '7': /* all of it fails, and changes nothing */
        add<<<(n + 127) / 128, 128, 1 << 20, work>>>(n, b, b, t1);
        cudaGetLastError();
        break;
    case 'T':
        std::thread([] { tell("t1", t1); }).join();
        break;
    default:
        fprintf(stderr, "lazy: no such letter: %c\n", letter);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 8, 1, NULL, 0, 0};
    const char *letters = "", *name = "plain";
    const struct form *form = NULL;
    long size = 4096, kind = 0;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in each array"},
        {"stream", &kind, NULL, NULL,
         "work in: 1 a stream of its own, 2 one that waits for no other, 3 as 1, the other stream likewise"},
        {"form", NULL, &name, NULL,
         "of a step: plain, both, update, alternate, arena, peek, spoil, before, ends, single, handed or "
         "read"},
        {"then", NULL, &letters, NULL, "what follows a step, a letter each"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Temporaries, and who looks at them.", own);
    for (const struct form &candidate : forms)
        if (!strcmp(candidate.name, name)) form = &candidate;
    if (!form) {
        fprintf(stderr, "lazy: no such form: %s\n", name);
        return 2;
    }
    n = (int)size;
    bytes = n * sizeof *a;
    host = (float *)malloc(bytes);
    for (float **array : {&a, &b, &t1, &t2, &out, &spare, &second, &other1, &other2}) {
        CHECK(cudaMalloc((void **)array, bytes));
        bench_clear(*array, bytes);
    }
    if (form->make == make_arena) {
        CHECK(cudaMalloc((void **)&t1, 3 * bytes));
        bench_clear(t1, 3 * bytes);
        other1 = t1 + n;
        second = t1 + 2 * n;
    }
    CHECK(cudaEventCreate(&event));
    CHECK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocDefault));
    is_beside = kind == 2;
    if (kind) {
        CHECK(cudaStreamCreateWithFlags(&work, is_beside ? cudaStreamNonBlocking : cudaStreamDefault));
        CHECK(cudaStreamCreateWithFlags(&other, kind == 3 ? cudaStreamDefault : cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    }
    write(a, 0, n, 2);
    write(b, 0, n, -3);
    for (int step = 0; step < bench.steps; step++) {
        form->make(step);
        for (const char *letter = letters; *letter; letter++) then(*letter, step);
    }
    *flag = 1;
    CHECK(cudaDeviceSynchronize());
    const struct result results[] = {
        {"t1", t1, bytes},         {"t2", t2, bytes},         {"out", out, bytes},    {"a", a, bytes},
        {"second", second, bytes}, {"other1", other1, bytes}, {"spare", spare, bytes}};
    bench_results(&bench, results, 7);
    return 0;
}
