// SPDX-License-Identifier: Apache-2.0
// What a program sees of the runtime, one line a fact: results of kernels and copies, error numbers of wrong calls,
// properties. cudart_calls.txt is what it must print.
#include <cstdio>
#include <cstring>
#include <thread>
#include <cuda_runtime.h>

__device__ int scale = 2;
__constant__ int table[4] = {1, 2, 3, 4};
__managed__ int managed = 5;

__global__ void fill(int *out, int n, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i * scale + table[i & 3] + add + managed;
}

__global__ void count(int *out)
{
    extern __shared__ int part[];
    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, part[blockDim.x - 1]);
}

enum { N = 1000 };
static int host[N];

static cudaError_t say(const char *what, cudaError_t error)
{
    printf("%s: %d %s\n", what, (int)error, cudaGetErrorName(error));
    return error;
}
#define SAY(call) say(#call, call)

static int sum(const int *device)
{
    int total = 0;
    SAY(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) total += host[i];
    return total;
}

static void launches(int *device)
{
    fill<<<(N + 127) / 128, 128>>>(device, N, 1);
    SAY(cudaGetLastError());
    printf("sum %d\n", sum(device));
    int n = N, add = 7;
    void *arguments[] = {&device, &n, &add};
    SAY(cudaLaunchKernel((const void *)fill, dim3(8), dim3(128), arguments, 0, 0));
    printf("sum %d\n", sum(device));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(128);
    SAY(cudaLaunchKernelEx(&config, fill, device, n, 9));
    printf("sum %d\n", sum(device));
    fill<<<1, 2048>>>(device, N, 1);
    SAY(cudaPeekAtLastError());
    SAY(cudaGetLastError());
    SAY(cudaGetLastError());
    fill<<<0, 32>>>(device, N, 1);
    SAY(cudaGetLastError());
    count<<<1, 32, 100000>>>(device);
    SAY(cudaGetLastError());
    SAY(cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    SAY(cudaMemset(device, 0, 4));
    count<<<3, 32, 100000>>>(device);
    SAY(cudaGetLastError());
    sum(device);
    printf("counted %d\n", host[0]);
    SAY(cudaLaunchKernel((const void *)host, dim3(1), dim3(1), arguments, 0, 0));
    cudaKernel_t kernel;
    SAY(cudaGetKernel(&kernel, (const void *)fill));
    cudaFunction_t function;
    SAY(cudaGetFuncBySymbol(&function, (const void *)fill));
    printf("handles %d %d\n", kernel != nullptr, function != nullptr);
    cudaGetLastError();
}

static void symbols(int *device)
{
    int three = 3, values[4] = {10, 20, 30, 40}, back[4] = {};
    void *address = nullptr;
    size_t size = 0;
    SAY(cudaMemcpyToSymbol(scale, &three, sizeof three));
    SAY(cudaMemcpyToSymbol(table, values, 8, 4));
    SAY(cudaMemcpyFromSymbol(back, table, sizeof back));
    printf("table %d %d %d %d\n", back[0], back[1], back[2], back[3]);
    SAY(cudaMemcpyToSymbol(table, values, 8, 12));
    SAY(cudaMemcpyToSymbol(table, values, 8, 0, cudaMemcpyDeviceToHost));
    SAY(cudaGetSymbolSize(&size, table));
    SAY(cudaGetSymbolAddress(&address, scale));
    printf("size %zu, an address %d\n", size, address != nullptr);
    SAY(cudaMemcpy(back, address, 4, cudaMemcpyDefault));
    printf("scale %d\n", back[0]);
    SAY(cudaGetSymbolAddress(&address, host));
    managed = 100;
    fill<<<8, 128>>>(device, N, 0);
    printf("sum %d\n", sum(device));
    printf("managed %d\n", managed);
    cudaGetLastError();
}

static void copies(int *device)
{
    int *pitched, *second, *pinned;
    size_t pitch;
    SAY(cudaMallocPitch((void **)&pitched, &pitch, 40, 10));
    SAY(cudaMalloc((void **)&second, sizeof host));
    SAY(cudaMallocHost((void **)&pinned, sizeof host));
    for (int i = 0; i < N; i++) host[i] = i;
    SAY(cudaMemcpy2D(pitched, pitch, host, 40, 40, 10, cudaMemcpyHostToDevice));
    SAY(cudaMemset2D(pitched, pitch, 0, 8, 5));
    SAY(cudaMemcpy2D(pinned, 40, pitched, pitch, 40, 10, cudaMemcpyDeviceToHost));
    int total = 0;
    for (int i = 0; i < 100; i++) total += pinned[i];
    printf("rows %d\n", total);
    SAY(cudaMemcpy2D(pitched, 8, host, 40, 40, 10, cudaMemcpyHostToDevice));
    SAY(cudaMemcpyAsync(second, device, sizeof host, cudaMemcpyDeviceToDevice));
    SAY(cudaMemsetAsync(second, 1, 40));
    SAY(cudaMemcpyAsync(pinned, second, sizeof host, cudaMemcpyDeviceToHost));
    SAY(cudaDeviceSynchronize());
    printf("bytes %x %d\n", pinned[0], pinned[10] != 0x01010101);
    SAY(cudaMemcpy(second, host, 4, (cudaMemcpyKind)9));
    SAY(cudaMemcpy(second, host, 0, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms slices = {};
    slices.srcPtr = make_cudaPitchedPtr(host, 40, 10, 5);
    slices.dstPtr = make_cudaPitchedPtr(second, 40, 10, 5);
    slices.extent = make_cudaExtent(40, 5, 4);
    slices.kind = cudaMemcpyHostToDevice;
    SAY(cudaMemcpy3D(&slices));
    printf("sum %d\n", sum(second));
    cudaPointerAttributes attributes;
    const void *pointers[] = {second, pinned, host, &managed};
    for (const void *pointer : pointers) {
        SAY(cudaPointerGetAttributes(&attributes, pointer));
        printf("pointer %d %d %d %d\n", attributes.type, attributes.device, attributes.devicePointer == pointer,
               attributes.hostPointer == pointer);
    }
    SAY(cudaFreeHost(pinned));
    SAY(cudaFree(second));
    SAY(cudaFree(pitched));
    SAY(cudaFree(nullptr));
    SAY(cudaFreeHost(nullptr));
    void *none = host;
    SAY(cudaMalloc(&none, 0));
    printf("nothing %d\n", none == nullptr);
    SAY(cudaMalloc(&none, (size_t)1 << 50));
    SAY(cudaMallocAsync(&none, 4096, 0));
    SAY(cudaFreeAsync(none, 0));
    SAY(cudaHostRegister(host, sizeof host, cudaHostRegisterMapped));
    SAY(cudaHostGetDevicePointer(&none, host, 0));
    SAY(cudaHostUnregister(host));
    cudaGetLastError();
}

static void CUDART_CB add_one(void *data)
{
    ++*(int *)data;
}

static void CUDART_CB add_two(cudaStream_t, cudaError_t error, void *data)
{
    *(int *)data += error == cudaSuccess ? 2 : 100;
}

static void streams(int *device)
{
    cudaStream_t stream, other;
    cudaEvent_t start, stop;
    float milliseconds = -1;
    int calls = 0, priority = 9;
    unsigned flags = 9;
    SAY(cudaStreamCreate(&stream));
    SAY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    SAY(cudaStreamGetFlags(other, &flags));
    SAY(cudaStreamGetPriority(other, &priority));
    printf("flags %u priority %d\n", flags, priority);
    SAY(cudaEventCreate(&start));
    SAY(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    SAY(cudaEventRecord(start, stream));
    fill<<<8, 128, 0, stream>>>(device, N, 1);
    SAY(cudaEventRecord(stop, stream));
    SAY(cudaStreamWaitEvent(other, stop, 0));
    SAY(cudaLaunchHostFunc(other, add_one, &calls));
    SAY(cudaStreamAddCallback(other, add_two, &calls, 0));
    SAY(cudaStreamSynchronize(other));
    SAY(cudaEventSynchronize(stop));
    SAY(cudaEventQuery(stop));
    SAY(cudaStreamQuery(stream));
    SAY(cudaEventElapsedTime(&milliseconds, start, stop));
    printf("calls %d, time passed %d\n", calls, milliseconds > 0);
    SAY(cudaEventElapsedTime(nullptr, start, stop));
    cudaGetLastError();

    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAY(cudaStreamIsCapturing(stream, &status));
    fill<<<8, 128, 0, stream>>>(device, N, 50);
    SAY(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaGraphGetNodes(graph, nullptr, &nodes));
    printf("capturing %d, nodes %zu\n", status, nodes);
    SAY(cudaGraphInstantiate(&exec, graph, 0));
    memset(host, 0, sizeof host);
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaStreamSynchronize(stream));
    printf("from the graph %d %d\n", host[0], host[N - 1]);
    SAY(cudaGraphExecDestroy(exec));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaEventDestroy(start));
    SAY(cudaEventDestroy(stop));
    SAY(cudaStreamDestroy(stream));
    SAY(cudaStreamDestroy(other));
}

static void properties()
{
    int device = -1, devices = 0, value = 0, version = 0, blocks = 0;
    size_t limit = 0, free_bytes = 0, total = 0;
    cudaDeviceProp found;
    SAY(cudaGetDeviceCount(&devices));
    SAY(cudaGetDevice(&device));
    SAY(cudaSetDevice(devices));
    cudaGetLastError();
    printf("device %d of %d\n", device, devices);
    SAY(cudaGetDeviceProperties(&found, 0));
    printf("%d.%d, %d lanes, %zu and %zu bytes shared, %d registers, %zu constant\n", found.major, found.minor,
           found.warpSize, found.sharedMemPerBlock, found.sharedMemPerBlockOptin, found.regsPerBlock,
           found.totalConstMem);
    printf("%d x %d threads, %d x %d x %d blocks\n", found.maxThreadsDim[0], found.maxThreadsDim[2],
           found.maxGridSize[0], found.maxGridSize[1], found.maxGridSize[2]);
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    SAY(cudaRuntimeGetVersion(&version));
    printf("%d %d\n", value, version);
    SAY(cudaDriverGetVersion(&version));
    SAY(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    SAY(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    printf("%d %zu\n", version, limit);
    SAY(cudaMemGetInfo(&free_bytes, &total));
    printf("free %d\n", free_bytes > 0 && free_bytes <= total);
    cudaFuncAttributes attributes;
    SAY(cudaFuncGetAttributes(&attributes, fill));
    printf("%d threads, %zu shared, %d dynamic, ptx %d\n", attributes.maxThreadsPerBlock, attributes.sharedSizeBytes,
           attributes.maxDynamicSharedSizeBytes, attributes.ptxVersion);
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 128, 0));
    printf("%d blocks\n", blocks);
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult result;
    SAY(cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, cudaEnableDefault, &result));
    printf("entry %d %d\n", entry != nullptr, result);
    SAY(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, cudaEnableDefault, &result));
    printf("entry %d %d\n", entry != nullptr, result);
    const int errors[] = {0, 1, 2, 9, 700, 12345};
    for (int error : errors)
        printf("%s, %s\n", cudaGetErrorName((cudaError_t)error), cudaGetErrorString((cudaError_t)error));
    cudaArray_t array;
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<int>();
    printf("channel %d %d\n", channel.x, channel.f);
    SAY(cudaMallocArray(&array, &channel, 4, 4));
    SAY(cudaMallocArray(&array, &channel, 4, 4));
    cudaGetLastError();
}

int main()
{
    int *device;
    SAY(cudaPeekAtLastError());
    if (SAY(cudaMalloc((void **)&device, sizeof host)) != cudaSuccess) return 1;
    launches(device);
    symbols(device);
    copies(device);
    streams(device);
    properties();
    std::thread([device] {
        SAY(cudaFree((void *)1));
        fill<<<8, 128>>>(device, N, 2);
        printf("in a thread %d\n", sum(device));
        SAY(cudaGetLastError());
    }).join();
    SAY(cudaGetLastError());
    SAY(cudaDeviceReset());
    SAY(cudaMalloc((void **)&device, sizeof host));
    SAY(cudaMemset(device, 0, sizeof host));
    count<<<3, 32, 128>>>(device);
    printf("after a reset %d\n", sum(device));
    return 0;
}
