/* SPDX-License-Identifier: Apache-2.0
 * A wave in a box with absorbing walls, as many codes have it: one kernel for the inside, six for the walls,
 * each over a region of its own of the same array, and one that adds a source at a point. Nothing is gained
 * by fusing these into one row: what they read of the old field the caches serve, and each has threads of its
 * own. */
#include "bench/bench.h"

static int size;
static float *now, *next, *damping;
enum { WALL = 16, RADIUS = 4 };

struct box {
    int x, y, z, nx, ny, nz;
};

static __device__ float laplacian(const float *u, long at, long row, long plane)
{
    const float weights[] = {-2.847222f, 1.6f, -0.2f, 0.02539683f, -0.001785714f};
    float sum = 3.0f * weights[0] * u[at];
    for (int r = 1; r <= RADIUS; r++)
        sum += weights[r] * (u[at - r] + u[at + r] + u[at - r * row] + u[at + r * row] + u[at - r * plane] +
                             u[at + r * plane]);
    return sum;
}

__global__ void inside(const float *u, float *v, int size, struct box box)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= box.nx || y >= box.ny || z >= box.nz) return;
    long row = size, plane = (long)size * size, at = (box.z + z) * plane + (box.y + y) * row + box.x + x;
    v[at] = 2.0f * u[at] - v[at] + 0.1f * laplacian(u, at, row, plane);
}

__global__ void wall(const float *u, float *v, const float *damping, int size, struct box box)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= box.nx || y >= box.ny || z >= box.nz) return;
    long row = size, plane = (long)size * size, at = (box.z + z) * plane + (box.y + y) * row + box.x + x;
    float d = damping[at];
    v[at] = ((2.0f - d) * u[at] - (1.0f - d) * v[at] + 0.1f * laplacian(u, at, row, plane)) / (1.0f + d);
}

__global__ void add_source(float *v, long at, float amount)
{
    if (threadIdx.x == 0) v[at] += amount;
}

static void launch(bool is_inside, struct box box)
{
    dim3 threads(32, 4, 1), blocks((box.nx + 31) / 32, (box.ny + 3) / 4, box.nz);
    if (is_inside)
        inside<<<blocks, threads>>>(now, next, size, box);
    else
        wall<<<blocks, threads>>>(now, next, damping, size, box);
}

static void step(void *context, long number)
{
    int from = RADIUS, to = size - RADIUS, all = to - from, core = all - 2 * WALL, low = from + WALL,
        high = to - WALL;
    (void)context;
    launch(true, {low, low, low, core, core, core});
    launch(false, {from, from, from, all, all, WALL});
    launch(false, {from, from, high, all, all, WALL});
    launch(false, {from, from, low, all, WALL, core});
    launch(false, {from, high, low, all, WALL, core});
    launch(false, {from, low, low, WALL, core, core});
    launch(false, {high, low, low, WALL, core, core});
    add_source<<<1, 32>>>(next, ((long)size / 2 * size + size / 2) * size + size / 2,
                          number < 20 ? 1.0f : 0.0f);
    float *old = now;
    now = next;
    next = old;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 4, 1, NULL, 0, 0};
    long own_size = 48;
    const struct option own[] = {
        {"size", &own_size, NULL, NULL, "points in each direction"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "A wave in a box whose walls are regions of their own.", own);
    size = (int)own_size;
    size_t bytes = sizeof(float) * size * size * size;
    float *host = (float *)malloc(bytes);
    for (size_t i = 0; i < bytes / sizeof *host; i++) host[i] = 0.001f * (float)(i % 101);
    for (float **array : {&now, &next, &damping}) {
        CHECK(cudaMalloc((void **)array, bytes));
        CHECK(cudaMemcpy(*array, host, bytes, cudaMemcpyHostToDevice));
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, NULL);
    CHECK(cudaDeviceSynchronize());
    const struct result results[] = {{"now", now, bytes}, {"next", next, bytes}};
    bench_results(&bench, results, 2);
    return 0;
}
