// SPDX-License-Identifier: Apache-2.0
// One stream writes, another reads. With the argument "event" the reader waits for the writer's event, with "legacy" the
// two meet in the legacy default stream, and without one the program is wrong. Prints the sum that was read.
#include <cstdio>
#include <cstring>
enum { N = 512 };
__global__ void write(int *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void sum(const int *x, int *result)
{
    atomicAdd(result, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    unsigned flags = strcmp(how, "legacy") ? cudaStreamNonBlocking : cudaStreamDefault;
    cudaStream_t writer, reader;
    cudaEvent_t written;
    int *x, result = -1;
    cudaStreamCreateWithFlags(&writer, flags);
    cudaStreamCreateWithFlags(&reader, flags);
    cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
    cudaMalloc(&x, (N + 1) * sizeof(int));
    cudaMemset(x, 0, (N + 1) * sizeof(int));
    cudaDeviceSynchronize();
    write<<<N / 64, 64, 0, writer>>>(x);
    cudaEventRecord(written, writer);
    if (!strcmp(how, "event")) cudaStreamWaitEvent(reader, written, 0);
    if (!strcmp(how, "legacy")) cudaMemsetAsync(x + N, 0, sizeof(int), 0);
    sum<<<N / 64, 64, 0, reader>>>(x, x + N);
    cudaDeviceSynchronize();
    cudaMemcpy(&result, x + N, sizeof result, cudaMemcpyDeviceToHost);
    printf("%d\n", result);
    return cudaGetLastError() != cudaSuccess;
}
