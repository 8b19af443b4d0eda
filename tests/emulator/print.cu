// SPDX-License-Identifier: Apache-2.0
// What kernels print. "device" and "host" print the same lines, from a kernel and from the host; "later" shows when a
// kernel's lines come out, "order" those of many threads, "assert" an assertion that fails, "trap" a trap.
#include <cassert>
#include <climits>
#include <cstdio>
#include <cstring>

struct values {
    int i;
    unsigned u;
    long long ll;
    double d;
    char c;
    const char *s;
    void *p;
};

// The manual's conversions: every type, flag, width, precision and size that C has too.
__host__ __device__ static void lines(values v)
{
    printf("%d %i %5d|%-5d|%05d|%+d|% d\n", v.i, -v.i, v.i, v.i, v.i, v.i, v.i);
    printf("%u %o %x %X %#o %#x %#X\n", v.u, v.u, v.u, v.u, v.u, v.u, v.u);
    printf("%ld %lld %lu %llu %llx %zu\n", (long)v.ll, v.ll, (unsigned long)v.ll, (unsigned long long)v.ll, v.ll,
           (size_t)v.ll);
    printf("%hd %hhd %hu %hhx %lX\n", (short)v.i, (signed char)v.i, (unsigned short)v.u, (unsigned char)v.u, (long)v.ll);
    printf("%f %.2f %10.3f|%-10.1f|%+.0f %e %.3E %g %G %a %A\n", v.d, v.d, v.d, v.d, v.d, v.d, v.d, v.d, v.d, v.d, v.d);
    printf("%f %e %g %F\n", 0.0 / (v.d - v.d), 1e308 * v.d * v.d, -1e300 * v.d * v.d * 1e300, v.d);
    printf("%c|%3c|%-3c|%s|%8s|%-8s|%.2s|%%\n", v.c, v.c, v.c, v.s, v.s, v.s, v.s);
    printf("%*d|%-*d|%*.*f|%.*s\n", 6, v.i, 6, v.i, 9, 3, v.d, 3, v.s);
    printf("%p %p\n", v.p, (void *)0);
    printf("%d%d %f%d %c%lld\n", 1, 2, 3.5, 4, 'x', LLONG_MIN);
    printf("no arguments, 100%%, and a long one: %s%s%s%s\n", v.s, v.s, v.s, v.s);
    printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4,
           5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
}

__constant__ char text[] = "kfuse";
__global__ void print(values v)
{
    v.s = text;
    lines(v);
}
__global__ void results(int *x)
{
    x[0] = printf("two %d %d\n", 1, 2);
    x[1] = printf("none\n");
}
__global__ void count(int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 3 == 0) printf("thread %d of %d\n", i, n);
}
__global__ void check(int n)
{
    assert(threadIdx.x < n);
}
__global__ void trap()
{
    __trap();
}

static int later()
{
    cudaStream_t stream;
    cudaEvent_t event;
    int *x, got[2];
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaMalloc(&x, sizeof got);
    count<<<1, 1, 0, stream>>>(1);
    printf("before the stream is waited for\n");
    cudaStreamSynchronize(stream);
    printf("after\n");
    count<<<1, 1, 0, stream>>>(2);
    cudaEventRecord(event, stream);
    printf("before the event is waited for\n");
    cudaEventSynchronize(event);
    printf("after\n");
    results<<<1, 1>>>(x);
    printf("before a copy\n");
    cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost);
    printf("after: %d %d\n", got[0], got[1]);
    return cudaGetLastError() != cudaSuccess;
}

static int fail(const char *how)
{
    if (strcmp(how, "assert") == 0)
        check<<<2, 4>>>(3);
    else
        trap<<<1, 1>>>();
    cudaError_t first = cudaDeviceSynchronize(), again = cudaDeviceSynchronize();
    int *x;
    printf("%s %s %s\n", cudaGetErrorName(first), cudaGetErrorName(again), cudaGetErrorName(cudaMalloc(&x, 4)));
    return 0;
}

int main(int, char **arguments)
{
    const char *how = arguments[1];
    values v = {42, 0xdeadbeef, -1234567890123, 3.14159265, 'q', "kfuse", (void *)0x1234};
    if (strcmp(how, "later") == 0) return later();
    if (strcmp(how, "assert") == 0 || strcmp(how, "trap") == 0) return fail(how);
    if (strcmp(how, "host") == 0)
        lines(v);
    else if (strcmp(how, "device") == 0)
        print<<<1, 1>>>(v);
    else
        count<<<4, 64>>>(200);
    return cudaDeviceSynchronize() != cudaSuccess;
}
